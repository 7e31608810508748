// SPDX-License-Identifier: Apache-2.0
/*
 * Many connections over the loopback, both ends with an algorithm.
 *
 *   sockets CC N PORT         idle
 *   sockets CC N PORT busy    the opening ends always have data to send, and the others read it
 *
 * Prints "ready" when all are open, keeps them until it is ended.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(int result, const char* what) {
  if (result < 0) {
    perror(what);
    exit(1);
  }
}

enum { MAX_CONNECTIONS = 1000, WAIT_US = 20000 };
static int opened[MAX_CONNECTIONS], accepted[MAX_CONNECTIONS];

static void keep_busy(int n) {
  static char data[65536];

  for (;;) {
    for (int i = 0; i < n; i++) {
      while (send(opened[i], data, sizeof data, MSG_DONTWAIT) > 0)
        ;
      while (recv(accepted[i], data, sizeof data, MSG_DONTWAIT | MSG_TRUNC) > 0)
        ;
    }
    usleep(WAIT_US);
  }
}

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

  if (argc < 4 || argc > 5 || atoi(argv[2]) > MAX_CONNECTIONS) {
    fprintf(stderr, "usage: sockets CC N PORT [busy]\n");
    return 2;
  }
  address.sin_port = htons((unsigned short)atoi(argv[3]));
  check(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "sockets: SO_REUSEADDR");
  check(bind(listener, (struct sockaddr*)&address, sizeof address), "sockets: bind");
  check(listen(listener, 1), "sockets: listen");
  for (int i = 0; i < atoi(argv[2]); i++) {
    int ends[2] = {socket(AF_INET, SOCK_STREAM, 0), -1};

    check(connect(ends[0], (struct sockaddr*)&address, sizeof address), "sockets: connect");
    ends[1] = accept(listener, NULL, NULL);
    for (int end = 0; end < 2; end++)
      check(setsockopt(ends[end], IPPROTO_TCP, TCP_CONGESTION, argv[1], (socklen_t)strlen(argv[1])),
            argv[1]);
    opened[i] = ends[0];
    accepted[i] = ends[1];
  }
  puts("ready");
  fflush(stdout);
  if (argc == 5) keep_busy(atoi(argv[2]));
  pause();
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bulk transfer between two network namespaces, and how fast it was.
 *
 *	bulk FROM TO ADDRESS ALGORITHM WARM_MS MEASURE_MS
 *
 * A socket in the namespace FROM, with this congestion control, sends to ADDRESS in TO as fast as
 * it may.  Time begins when the connection is there.  What arrives in the first WARM_MS does not
 * count; then the receiver counts for MEASURE_MS.  Prints one line of NAME=NUMBER:
 *
 *	kbps		goodput, kbit/s of payload
 *	warm_kbps	the same before the count begins
 *	pause_ms	the longest time in the count without a byte
 *	retrans		packets that the sender sent again
 *	mrtt_us		the base RTT that the algorithm uses; of others TCP's minimum
 *	rtt_us		TCP's smoothed RTT at the end
 *	cwnd		packets at the end
 *	pace_kbps	pacing rate at the end; 0: none
 *
 * One process has both ends and waits in poll(): the processor goes to TCP.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_BYTES 131072
#define RECEIVED_BYTES 1048576
#define PORT 5000
#define CONNECT_S 60
/* The receiver wakes up for so many bytes: TCP costs more than the reader. */
#define WAKE_BYTES 8192
#define NS_PER_MS 1000000

static void fail(const char* what) {
  fprintf(stderr, "bulk: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec t;

  if (clock_gettime(CLOCK_MONOTONIC, &t)) fail("clock_gettime");
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t milliseconds(const char* text, const char* what) {
  char* end;
  long value = strtol(text, &end, 10);

  if (!*text || *end || value < 1 || value > 3600000) {
    fprintf(stderr, "bulk: %s: %s is not a number from 1 to 3600000\n", what, text);
    exit(2);
  }
  return value;
}

static void enter(const char* name) {
  char path[256];

  snprintf(path, sizeof path, "/run/netns/%s", name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path);
  if (setns(fd, CLONE_NEWNET)) fail(path);
  close(fd);
}

/* Both ends of a connection: the sender's and the receiver's. */
struct ends {
  int from, to;
};

static struct ends connect_ends(char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  struct timeval limit = {.tv_sec = CONNECT_S};
  struct ends ends;
  int on = 1, least = WAKE_BYTES;

  if (inet_pton(AF_INET, argv[3], &address.sin_addr) != 1) {
    fprintf(stderr, "bulk: %s is not an IPv4 address\n", argv[3]);
    exit(2);
  }
  enter(argv[2]);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) fail("socket");
  if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)) fail("SO_REUSEADDR");
  if (setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit)) fail("SO_RCVTIMEO");
  if (bind(listener, (struct sockaddr*)&address, sizeof address)) fail("bind");
  if (listen(listener, 1)) fail("listen");

  enter(argv[1]);
  ends.from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (ends.from < 0) fail("socket");
  if (setsockopt(ends.from, IPPROTO_TCP, TCP_CONGESTION, argv[4], (socklen_t)strlen(argv[4])))
    fail(argv[4]);
  if (setsockopt(ends.from, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit)) fail("SO_SNDTIMEO");
  if (connect(ends.from, (struct sockaddr*)&address, sizeof address)) fail("connect");
  ends.to = accept(listener, NULL, NULL);
  if (ends.to < 0) fail("accept");
  close(listener);
  if (setsockopt(ends.to, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least)) fail("SO_RCVLOWAT");
  if (fcntl(ends.from, F_SETFL, O_NONBLOCK) || fcntl(ends.to, F_SETFL, O_NONBLOCK)) fail("fcntl");
  return ends;
}

/* What one end of a measured time has seen. */
struct count {
  uint64_t warm_bytes, bytes;
  int64_t pause_ns;
};

/* Sends and receives until the time is over. */
static struct count transfer(const struct ends* ends, int64_t warm_ns, int64_t measure_ns) {
  static char chunk[CHUNK_BYTES], dropped[RECEIVED_BYTES];
  const int64_t begin_ns = now_ns() + warm_ns, end_ns = begin_ns + measure_ns;
  int64_t last_ns = begin_ns;
  struct count count = {0};

  for (int64_t t = now_ns(); t < end_ns; t = now_ns()) {
    const int64_t until_ns = (t < begin_ns ? begin_ns : end_ns) - t;
    const struct timespec wait = {.tv_sec = until_ns / 1000000000,
                                  .tv_nsec = until_ns % 1000000000};
    struct pollfd fds[] = {{.fd = ends->to, .events = POLLIN},
                           {.fd = ends->from, .events = POLLOUT}};

    int n_ready = ppoll(fds, 2, &wait, NULL);

    if (n_ready < 0) fail("ppoll");
    /* At the end of a time also what is too little to wake up for. */
    if (fds[0].revents || !n_ready) {
      /* The bytes are dropped where they are: MSG_TRUNC. */
      ssize_t n = recv(ends->to, dropped, sizeof dropped, MSG_TRUNC);

      if (n == 0 || (n < 0 && errno != EAGAIN)) fail("recv");
      if (n > 0 && t < begin_ns) {
        count.warm_bytes += (uint64_t)n;
      } else if (n > 0) {
        count.bytes += (uint64_t)n;
        t = now_ns();
        if (t - last_ns > count.pause_ns) count.pause_ns = t - last_ns;
        last_ns = t;
      }
    }
    if (fds[1].revents) {
      if (send(ends->from, chunk, sizeof chunk, MSG_NOSIGNAL) < 0 && errno != EAGAIN) fail("send");
    }
  }
  if (end_ns - last_ns > count.pause_ns) count.pause_ns = end_ns - last_ns;
  return count;
}

int main(int argc, char** argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: bulk FROM TO ADDRESS ALGORITHM WARM_MS MEASURE_MS\n");
    return 2;
  }
  const int64_t warm_ms = milliseconds(argv[5], "WARM_MS");
  const int64_t measure_ms = milliseconds(argv[6], "MEASURE_MS");
  struct ends ends = connect_ends(argv);
  struct count count = transfer(&ends, warm_ms * NS_PER_MS, measure_ms * NS_PER_MS);
  struct tcp_info info = {0};
  union tcp_cc_info cc = {0};
  socklen_t size = sizeof info, cc_size = sizeof cc;

  if (getsockopt(ends.from, IPPROTO_TCP, TCP_INFO, &info, &size)) fail("TCP_INFO");
  if (getsockopt(ends.from, IPPROTO_TCP, TCP_CC_INFO, &cc, &cc_size)) fail("TCP_CC_INFO");
  const uint32_t mrtt_us = cc_size >= sizeof cc.bbr ? cc.bbr.bbr_min_rtt : info.tcpi_min_rtt;
  const uint64_t pace_kbps =
      info.tcpi_pacing_rate == UINT64_MAX ? 0 : info.tcpi_pacing_rate * 8 / 1000;

  printf("kbps=%" PRIu64 " warm_kbps=%" PRIu64 " pause_ms=%" PRId64
         " retrans=%u mrtt_us=%u rtt_us=%u cwnd=%u pace_kbps=%" PRIu64 "\n",
         count.bytes * 8 / (uint64_t)measure_ms, count.warm_bytes * 8 / (uint64_t)warm_ms,
         count.pause_ns / NS_PER_MS, info.tcpi_total_retrans, mrtt_us, info.tcpi_rtt,
         info.tcpi_snd_cwnd, pace_kbps);

  /* The peer need not wait for what is still queued. */
  const struct linger now = {.l_onoff = 1};
  setsockopt(ends.from, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  return 0;
}

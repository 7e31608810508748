// SPDX-License-Identifier: Apache-2.0
/*
 * Carries a seeded stream over one TCP connection and checks every byte.
 *
 *   xfer recv [-k KEY] PORT
 *   xfer send [-c CC] [-s CC,CC,...] [-w SECONDS] [-k KEY] ADDRESS PORT BYTES SEED
 *
 * The receiver listens on all addresses of both families, takes one connection,
 * compares what arrives with the stream that the seed in the header makes, and
 * answers one byte.  -c asks for an algorithm, -s changes it in equal parts of
 * the transfer, -w keeps the connection open that long afterwards (for ss), -k
 * has each segment signed (TCP-MD5).
 * The sender prints "ok BYTES CC" with the algorithm in use at the end.
 * Exit status: 0 all bytes right, 1 not, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK_BYTES = 65536, ALGORITHMS_MAX = 64 };

struct header {
  uint64_t bytes;
  uint64_t seed;
};

static void fail(const char* what) {
  fprintf(stderr, "xfer: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void usage(void) {
  fprintf(
      stderr,
      "usage: xfer recv [-k KEY] PORT\n"
      "       xfer send [-c CC] [-s CC,CC,...] [-w SECONDS] [-k KEY] ADDRESS PORT BYTES SEED\n");
  exit(2);
}

static uint64_t number(const char* text, const char* name, uint64_t max) {
  char* end;

  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (errno || end == text || *end || value > max) {
    fprintf(stderr, "xfer: %s: %s is not a number up to %" PRIu64 "\n", name, text, max);
    exit(2);
  }
  return value;
}

/* The next chunk of the stream: splitmix64. */
static void make_chunk(uint64_t* state, uint64_t* words) {
  for (size_t i = 0; i < CHUNK_BYTES / sizeof *words; i++) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    words[i] = z ^ (z >> 31);
  }
}

static size_t chunk_of(uint64_t left) { return left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES; }

static void send_all(int fd, const void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = send(fd, (const char*)data + done, size - done, MSG_NOSIGNAL);
    if (n < 0) fail("send");
    done += (size_t)n;
  }
}

static void recv_all(int fd, void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = recv(fd, (char*)data + done, size - done, 0);
    if (n < 0) fail("recv");
    if (n == 0) {
      fprintf(stderr, "xfer: the connection ended early\n");
      exit(1);
    }
    done += (size_t)n;
  }
}

static void set_algorithm(int fd, const char* name) {
  if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name))) fail(name);
}

/* For all peers of the address's family; ::ffff:0.0.0.0 is that of IPv4 on an IPv6 socket. */
static void set_key(int fd, const void* address, size_t size, const char* key) {
  struct tcp_md5sig sig = {.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX,
                           .tcpm_keylen = (uint16_t)strlen(key)};

  memcpy(&sig.tcpm_addr, address, size);
  memcpy(sig.tcpm_key, key, sig.tcpm_keylen);
  if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG_EXT, &sig, sizeof sig)) fail("TCP_MD5SIG_EXT");
}

static int receive(uint16_t port, const char* key) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  static uint64_t expected[CHUNK_BYTES / sizeof(uint64_t)];
  static char got[CHUNK_BYTES];
  struct header header;
  int on = 1;

  int listener = socket(AF_INET6, SOCK_STREAM, 0);
  if (listener < 0) fail("socket");
  if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)) fail("SO_REUSEADDR");
  if (bind(listener, (struct sockaddr*)&address, sizeof address)) fail("bind");
  if (key) {
    struct sockaddr_in6 all = {.sin6_family = AF_INET6};

    set_key(listener, &all, sizeof all, key);
    all.sin6_addr.s6_addr[10] = all.sin6_addr.s6_addr[11] = 0xff;
    set_key(listener, &all, sizeof all, key);
  }
  if (listen(listener, 1)) fail("listen");
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) fail("accept");

  recv_all(fd, &header, sizeof header);
  uint64_t state = header.seed;
  for (uint64_t done = 0; done < header.bytes;) {
    size_t size = chunk_of(header.bytes - done);

    make_chunk(&state, expected);
    recv_all(fd, got, size);
    if (memcmp(got, expected, size)) {
      fprintf(stderr, "xfer: wrong data after byte %" PRIu64 "\n", done);
      return 1;
    }
    done += size;
  }
  send_all(fd, "y", 1);
  /* The sender closes first. */
  return recv(fd, got, 1, 0) == 0 ? 0 : 1;
}

static int connect_to(const char* address, uint16_t port, const char* algorithm, const char* key) {
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
  int is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;

  if (!is_v4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1) {
    fprintf(stderr, "xfer: %s is not an address\n", address);
    exit(2);
  }
  for (int tries = 0;; tries++) {
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);

    if (fd < 0) fail("socket");
    if (algorithm) set_algorithm(fd, algorithm);
    if (key && is_v4)
      set_key(fd, &v4, sizeof v4, key);
    else if (key)
      set_key(fd, &v6, sizeof v6, key);
    if (!(is_v4 ? connect(fd, (struct sockaddr*)&v4, sizeof v4)
                : connect(fd, (struct sockaddr*)&v6, sizeof v6)))
      return fd;
    /* The receiver may not have come to listen() yet. */
    if (errno != ECONNREFUSED || tries == 100) fail("connect");
    close(fd);
    usleep(10000);
  }
}

/* Sends the stream, changing the algorithm between n equal parts of it. */
static void send_stream(int fd, const struct header* header, char* const* algorithms, size_t n) {
  static uint64_t chunk[CHUNK_BYTES / sizeof(uint64_t)];
  uint64_t state = header->seed;
  size_t part = 0;

  send_all(fd, header, sizeof *header);
  for (uint64_t done = 0; done < header->bytes;) {
    size_t size = chunk_of(header->bytes - done);

    while (part < n && done >= header->bytes / n * part) set_algorithm(fd, algorithms[part++]);
    make_chunk(&state, chunk);
    send_all(fd, chunk, size);
    done += size;
  }
}

int main(int argc, char** argv) {
  char* algorithms[ALGORITHMS_MAX];
  const char *algorithm = NULL, *key = NULL;
  unsigned int hold_s = 0;
  size_t n = 0;
  int option;

  int receiving = argc > 1 && !strcmp(argv[1], "recv");

  if (argc < 2 || (!receiving && strcmp(argv[1], "send"))) usage();

  for (optind = 2; (option = getopt(argc, argv, receiving ? "k:" : "c:s:w:k:")) != -1;) {
    switch (option) {
      case 'c':
        algorithm = optarg;
        break;
      case 's':
        for (char* name = strtok(optarg, ","); name && n < ALGORITHMS_MAX; name = strtok(NULL, ","))
          algorithms[n++] = name;
        break;
      case 'w':
        hold_s = (unsigned int)number(optarg, "SECONDS", 3600);
        break;
      case 'k':
        key = optarg;
        if (strlen(key) > TCP_MD5SIG_MAXKEYLEN) usage();
        break;
      default:
        usage();
    }
  }
  if (receiving && argc - optind == 1)
    return receive((uint16_t)number(argv[optind], "PORT", 65535), key);
  if (receiving || argc - optind != 4) usage();

  struct header header = {.bytes = number(argv[optind + 2], "BYTES", UINT64_MAX),
                          .seed = number(argv[optind + 3], "SEED", UINT64_MAX)};
  char in_use[16] = "";
  socklen_t size = sizeof in_use;
  char answer;
  int fd =
      connect_to(argv[optind], (uint16_t)number(argv[optind + 1], "PORT", 65535), algorithm, key);

  send_stream(fd, &header, algorithms, n);
  recv_all(fd, &answer, 1);
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, in_use, &size)) fail("TCP_CONGESTION");
  printf("ok %" PRIu64 " %.*s\n", header.bytes, (int)size, in_use);
  fflush(stdout);
  sleep(hold_s);
  close(fd);
  return 0;
}

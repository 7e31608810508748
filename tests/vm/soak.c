// SPDX-License-Identifier: Apache-2.0
/*
 * Changes the algorithm of all TCP sockets of other programs every few seconds, and looks for
 * connections that stand still.
 *
 *   soak SECONDS SEED NETNS,... ALGORITHM,...
 *
 * Each 2 to 5 s, one of the algorithms becomes the namespaces' default, and each open TCP socket of
 * each program gets one of them: half of the times the same for all.  Every 100 ms all connections
 * of the namespaces are looked at (inet_diag).  One that has data to send, a peer with room for it,
 * and no byte acknowledged meanwhile, stands still.
 *
 * Prints a line for each stop longer than STILL_MS, when it ends, and at the end what was done:
 *
 *   STILL <ms> <port of the server> <algorithm> <state of the socket after STILL_MS>
 *   SOAKED switches= sockets= failed= looks= connections= longest_ms=
 *
 * Exit status: 0, 1 something failed, 2 usage.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100, STILL_MS = 1000, NAMES_MAX = 32, CONNECTIONS_MAX = 4096 };
/* include/net/tcp_states.h */
enum { ESTABLISHED = 1, FIN_WAIT1 = 4, CLOSE_WAIT = 8, LAST_ACK = 9, CLOSING = 11 };

struct connection {
  uint64_t cookie; /* 0: no connection */
  uint64_t acked, moved_ms, seen_ms;
  int waits;
  uint16_t port;
  char algorithm[16];
  char state[320]; /* when it had stood still for STILL_MS */
};

static struct connection connections[CONNECTIONS_MAX];
static char *netns[NAMES_MAX], *algorithms[NAMES_MAX];
static size_t netns_count, algorithms_count;
static uint64_t switches, sockets, failed, looks, seen, longest_ms, chance_state;

static void fail(const char* what) {
  fprintf(stderr, "soak: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void usage(void) {
  fprintf(stderr, "usage: soak SECONDS SEED NETNS,... ALGORITHM,...\n");
  exit(2);
}

static uint64_t number(const char* text) {
  char* end;

  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (errno || end == text || *end) usage();
  return value;
}

static size_t split(char* text, char** names) {
  size_t n = 0;

  for (char* name = strtok(text, ","); name; name = strtok(NULL, ",")) {
    if (n == NAMES_MAX) usage();
    names[n++] = name;
  }
  if (!n) usage();
  return n;
}

static uint64_t now_ms(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* splitmix64: 0..n-1 */
static size_t chance(size_t n) {
  uint64_t z = chance_state += 0x9e3779b97f4a7c15;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return (size_t)((z ^ (z >> 31)) % n);
}

static void enter(const char* name) {
  char path[64];

  snprintf(path, sizeof path, "/run/netns/%s", name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || setns(fd, CLONE_NEWNET)) fail(path);
  close(fd);
}

/* ---- switching ------------------------------------------------------------ */

static void set_default(const char* algorithm) {
  for (size_t i = 0; i < netns_count; i++) {
    enter(netns[i]);
    int fd = open("/proc/sys/net/ipv4/tcp_congestion_control", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, algorithm, strlen(algorithm)) < 0) fail(algorithm);
    close(fd);
  }
}

/* The process may end at any time: nothing of it is sure to be there. */
static void switch_process(int pid, const char* one_for_all) {
  char path[64];

  snprintf(path, sizeof path, "/proc/%d/fd", pid);
  DIR* dir = opendir(path);
  if (!dir) return;
  int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
  for (struct dirent* entry; pidfd >= 0 && (entry = readdir(dir));) {
    char link[32] = "";

    if (readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1) < 0 ||
        strncmp(link, "socket:", 7))
      continue;
    int fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
    int protocol = 0;
    socklen_t size = sizeof protocol;
    if (fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) &&
        protocol == IPPROTO_TCP) {
      const char* name = one_for_all ? one_for_all : algorithms[chance(algorithms_count)];
      if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)))
        failed++;
      else
        sockets++;
    }
    if (fd >= 0) close(fd);
  }
  if (pidfd >= 0) close(pidfd);
  closedir(dir);
}

static void switch_all(void) {
  const char* algorithm = algorithms[chance(algorithms_count)];
  const char* one_for_all = chance(2) ? algorithm : NULL;

  set_default(algorithm);
  switches++;
  DIR* proc = opendir("/proc");
  if (!proc) fail("/proc");
  for (struct dirent* entry; (entry = readdir(proc));) {
    int pid = atoi(entry->d_name);

    if (pid > 0 && pid != getpid()) switch_process(pid, one_for_all);
  }
  closedir(proc);
}

/* ---- looking -------------------------------------------------------------- */

static struct connection* find(uint64_t cookie) {
  struct connection* unused = NULL;

  for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
    if (connections[i].cookie == cookie) return &connections[i];
    if (!unused && !connections[i].cookie) unused = &connections[i];
  }
  if (!unused) {
    fprintf(stderr, "soak: more than %d connections\n", CONNECTIONS_MAX);
    exit(1);
  }
  memset(unused, 0, sizeof *unused);
  unused->cookie = cookie;
  seen++;
  return unused;
}

/* It stood still from moved_ms to now_ms. */
static void stood(const struct connection* c, uint64_t now) {
  uint64_t still_ms = now - c->moved_ms;

  if (still_ms > longest_ms) longest_ms = still_ms;
  if (still_ms > STILL_MS)
    printf("STILL %" PRIu64 " %u %s %s\n", still_ms, (unsigned)c->port, c->algorithm, c->state);
}

/* Of the timers, idiag_timer: 1 retransmission, 4 probes of the window. */
static void describe(struct connection* c, const struct inet_diag_msg* message,
                     const struct tcp_info* info, const char* algorithm) {
  snprintf(
      c->state, sizeof c->state,
      "%s cookie=%" PRIx64 " since_ms=%" PRIu64
      " ca=%u timer=%u/%u expires_ms=%u backoff=%u rto_us=%u rtt_us=%u/%u cwnd=%u "
      "ssthresh=%u unacked=%u sacked=%u lost=%u retrans=%u/%u mss=%u wnd=%u notsent=%u pace=%llu "
      "max_pace=%llu",
      algorithm, c->cookie, c->moved_ms, info->tcpi_ca_state, message->idiag_timer,
      message->idiag_retrans, message->idiag_expires, info->tcpi_backoff, info->tcpi_rto,
      info->tcpi_rtt, info->tcpi_min_rtt, info->tcpi_snd_cwnd, info->tcpi_snd_ssthresh,
      info->tcpi_unacked, info->tcpi_sacked, info->tcpi_lost, info->tcpi_retrans,
      info->tcpi_total_retrans, info->tcpi_snd_mss, info->tcpi_snd_wnd, info->tcpi_notsent_bytes,
      (unsigned long long)info->tcpi_pacing_rate, (unsigned long long)info->tcpi_max_pacing_rate);
}

static void look_at(const struct inet_diag_msg* message, size_t size, uint64_t now) {
  const struct tcp_info* info = NULL;
  const char* algorithm = "";
  int left = (int)(size - sizeof *message);

  for (const struct rtattr* a = (const void*)(message + 1); RTA_OK(a, left);
       a = RTA_NEXT(a, left)) {
    if (a->rta_type == INET_DIAG_INFO && RTA_PAYLOAD(a) >= sizeof *info) info = RTA_DATA(a);
    if (a->rta_type == INET_DIAG_CONG) algorithm = RTA_DATA(a);
  }
  if (!info) return;
  struct connection* c =
      find(((uint64_t)message->id.idiag_cookie[1] << 32 | message->id.idiag_cookie[0]) + 1);
  uint16_t ports[] = {ntohs(message->id.idiag_sport), ntohs(message->id.idiag_dport)};
  int waits = message->idiag_wqueue && info->tcpi_snd_wnd;

  if (!waits || !c->waits || info->tcpi_bytes_acked != c->acked) {
    if (c->waits) stood(c, now);
    c->moved_ms = now;
    c->state[0] = 0;
  }
  if (waits && now - c->moved_ms >= STILL_MS && !c->state[0]) describe(c, message, info, algorithm);
  c->waits = waits;
  c->acked = info->tcpi_bytes_acked;
  c->seen_ms = now;
  /* That of the server is the lower one of all programs here. */
  c->port = ports[0] < ports[1] ? ports[0] : ports[1];
  snprintf(c->algorithm, sizeof c->algorithm, "%s", algorithm);
}

static void look_in(const char* name, uint64_t now) {
  struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
  } request = {.head = {.nlmsg_len = sizeof request,
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .body = {.sdiag_family = AF_INET,
                        .sdiag_protocol = IPPROTO_TCP,
                        .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
                        .idiag_states = 1 << ESTABLISHED | 1 << FIN_WAIT1 | 1 << CLOSE_WAIT |
                                        1 << LAST_ACK | 1 << CLOSING}};
  static _Alignas(struct nlmsghdr) char answer[65536];

  enter(name);
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0 || send(fd, &request, sizeof request, 0) < 0) fail("inet_diag");
  for (int done = 0; !done;) {
    ssize_t n = recv(fd, answer, sizeof answer, 0);

    if (n <= 0) fail("inet_diag");
    for (struct nlmsghdr* h = (struct nlmsghdr*)answer; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
      if (h->nlmsg_type == NLMSG_ERROR) fail("inet_diag");
      if (h->nlmsg_type == NLMSG_DONE) {
        done = 1;
        break;
      }
      look_at(NLMSG_DATA(h), NLMSG_PAYLOAD(h, 0), now);
    }
  }
  close(fd);
}

static void look(void) {
  uint64_t now = now_ms();

  for (size_t i = 0; i < netns_count; i++) look_in(netns[i], now);
  looks++;
  /* A stop that the connection's end has ended counts, too. */
  for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
    struct connection* c = &connections[i];

    if (!c->cookie || c->seen_ms == now) continue;
    if (c->waits) stood(c, c->seen_ms);
    c->cookie = 0;
  }
}

int main(int argc, char** argv) {
  if (argc != 5) usage();
  uint64_t end_ms = now_ms() + number(argv[1]) * 1000, switch_ms = 0;
  chance_state = number(argv[2]);
  netns_count = split(argv[3], netns);
  algorithms_count = split(argv[4], algorithms);
  setvbuf(stdout, NULL, _IOLBF, 0);

  while (now_ms() < end_ms) {
    struct timespec pause = {0, LOOK_MS * 1000000L};

    if (now_ms() >= switch_ms) {
      switch_all();
      switch_ms = now_ms() + 2000 + chance(3001);
    }
    look();
    nanosleep(&pause, NULL);
  }
  printf("SOAKED switches=%" PRIu64 " sockets=%" PRIu64 " failed=%" PRIu64 " looks=%" PRIu64
         " connections=%" PRIu64 " longest_ms=%" PRIu64 "\n",
         switches, sockets, failed, looks, seen, longest_ms);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * What is done to connections, namespaces, links and modules while traffic flows.  Each
 * worker does one kind of thing, some in several threads.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "stress.h"

namespace {

Count switches("TCP_CONGESTION switches of live sockets"),
    options("other options set on live sockets"), infos("TCP_INFO and TCP_CC_INFO read"),
    failed("switches with an allocation that fails"),
    storms("connections opened and closed at once"),
    storm_accepts("connections accepted and closed at once"), syns("SYNs from nobody"),
    resets("resets from nobody"), destroyed("connections destroyed (SOCK_DESTROY)"),
    legal("legal values written to parameters"), illegal("illegal values written to parameters"),
    refused("values that parameters refused"),
    late("values written through descriptors of dying namespaces"),
    counting("changes of count_flows"), lives("namespaces made and destroyed"),
    stopped("PrioPlus sockets left in dying namespaces"),
    stillborn("namespaces that an allocation kept from being made"), removed("modules removed"),
    busy("modules that were in use"), loaded("modules loaded"), links("links down and up"),
    mtus("MTU changes"), routes("route changes"), qdiscs("qdisc changes"),
    devices("links deleted under connections"), dumps("dumps of sockets (inet_diag)"),
    dumped("sockets dumped"), traced("tracepoint switched on or off"),
    trace_bytes("bytes of trace read"), counts_read("reads of delaycc_count"),
    pressures("times of memory pressure"), poor("processes in a small memory cgroup"),
    jumps("clock jumps");

const Pair& some_pair(Chance& chance) { return chance.of(world.pairs); }

int some_end(Chance& chance) {
  const Pair& pair = some_pair(chance);
  return chance.in(2) ? pair.a_fd : pair.b_fd;
}

/* The biggest descriptor that is likely to be in use. */
int top_descriptor() {
  int fd = dup(0);
  if (fd < 0) return 1024;
  close(fd);
  return std::max(fd, 64) + 64;
}

/* ---- sockets -------------------------------------------------------------- */

/* Other threads' sockets, whoever they are: descriptors by chance. */
class Switcher : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    if (steps() % 64 == 0) top_ = top_descriptor();
    auto top = static_cast<uint64_t>(top_);
    for (int i = 0; i < 8; i++) {
      /* Half of the time all threads meet at one socket. */
      uint64_t which = chance.in(2) ? stream_word(now_ms() / 250, 0) : chance.word();
      touch(3 + static_cast<int>(which % top));
    }
    sleep_ms(10);
  }

 private:
  void touch(int fd) {
    switch (chance.below(12)) {
      case 0: {
        int priority = static_cast<int>(chance.below(9));
        if (!setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority)) options++;
        break;
      }
      case 1: {
        unsigned rate =
            chance.in(2) ? ~0U : 1000000 + static_cast<unsigned>(chance.below(100000000));
        if (!setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate)) options++;
        break;
      }
      case 2:
      case 3: {
        char data[512];
        socklen_t size = sizeof data;
        if (!getsockopt(fd, IPPROTO_TCP, chance.in(2) ? TCP_INFO : TCP_CC_INFO, data, &size))
          infos++;
        break;
      }
      case 4: {
        fail_allocation(1 + static_cast<unsigned>(chance.below(4)));
        int err = use_algorithm(fd, some_algorithm(chance));
        fail_allocation(0);
        if (!err) failed++;
        break;
      }
      case 5: {
        int segment = 500 + static_cast<int>(chance.below(900));
        if (!setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment)) options++;
        break;
      }
      default:
        if (!use_algorithm(fd, some_algorithm(chance))) switches++;
    }
  }

  int top_ = 64;
};

/* Opens connections to a port and drops them in every way. */
class Storm : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    if (steps() % 16 == 0) {
      pair_ = chance.below(world.pairs.size());
      enter(world.pairs[pair_].a_fd);
    }
    sockaddr_storage address;
    Family family = static_cast<Family>(chance.below(3));
    socklen_t size = address_of(pair_, true, family, STORM_PORT, &address);
    std::vector<int> fds;
    for (uint64_t n = 1 + chance.below(12); n; n--) {
      int fd = socket(family == IPV4 ? AF_INET : AF_INET6,
                      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (fd < 0) break;
      use_algorithm(fd, some_algorithm(chance));
      if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) && errno != EINPROGRESS) {
        close(fd);
        break;
      }
      fds.push_back(fd);
    }
    if (!chance.in(3)) sleep_ms(static_cast<unsigned>(chance.below(30)));
    for (int fd : fds) {
      linger now = {1, 0};
      if (chance.in(2)) send(fd, "x", 1, MSG_NOSIGNAL);
      if (chance.in(3)) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      close(fd);
      storms++;
    }
    sleep_ms(60);
  }

 private:
  size_t pair_ = 0;
};

class StormServer : public Worker {
 public:
  StormServer(const char* name, uint64_t seed, size_t pair) : Worker(name, seed), pair_(pair) {}

  void begin() override {
    sockaddr_in6 any = {};
    int on = 1;
    enter(world.pairs[pair_].b_fd);
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(STORM_PORT);
    listener_ = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof any) || listen(listener_, 16))
      wrong("a storm's server cannot listen");
  }

  void step() override {
    char byte;
    int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (chance.in(50)) {
      /* A listener stops and starts again. */
      shutdown(listener_, SHUT_RDWR);
      listen(listener_, 16);
    }
    if (fd < 0) {
      sleep_ms(10);
      return;
    }
    storm_accepts++;
    if (chance.in(2)) use_algorithm(fd, some_algorithm(chance));
    if (chance.in(2)) recv(fd, &byte, 1, 0);
    if (chance.in(2)) send(fd, "yes", 3, MSG_NOSIGNAL);
    if (chance.in(4)) shutdown(fd, SHUT_RDWR);
    close(fd);
  }

  void end() override { close(listener_); }

 private:
  size_t pair_;
  int listener_ = -1;
};

/* Segments that no socket has sent: SYNs from addresses that are nobody's, resets. */
class Forger : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    size_t pair = chance.below(world.pairs.size());
    enter(world.pairs[pair].a_fd);
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    if (fd < 0) return;
    bool flood = chance.in(2);
    for (int i = 0; i < 40; i++) forge(fd, pair, flood);
    close(fd);
    sleep_ms(400);
  }

 private:
  void forge(int fd, size_t pair, bool syn) {
    struct {
      iphdr ip;
      tcphdr tcp;
    } packet = {};
    struct {
      uint32_t from, to;
      uint8_t zero, protocol;
      uint16_t length;
      tcphdr tcp;
    } pseudo = {};
    sockaddr_storage to;
    socklen_t size = address_of(pair, true, IPV4, 0, &to);

    packet.ip.version = 4;
    packet.ip.ihl = 5;
    packet.ip.ttl = 64;
    packet.ip.protocol = IPPROTO_TCP;
    packet.ip.daddr = reinterpret_cast<sockaddr_in*>(&to)->sin_addr.s_addr;
    packet.ip.saddr =
        htonl(10U << 24 | static_cast<uint32_t>(pair) << 8 | (syn ? 3 + chance.below(250) : 1));
    packet.tcp.source = htons(static_cast<uint16_t>(32768 + chance.below(28232)));
    packet.tcp.dest = htons(chance.in(2) ? PORT : STORM_PORT);
    packet.tcp.seq = static_cast<uint32_t>(chance.word());
    packet.tcp.ack_seq = syn ? 0 : static_cast<uint32_t>(chance.word());
    packet.tcp.doff = 5;
    packet.tcp.syn = syn;
    packet.tcp.rst = !syn;
    packet.tcp.window = htons(1000);
    pseudo.from = packet.ip.saddr;
    pseudo.to = packet.ip.daddr;
    pseudo.protocol = IPPROTO_TCP;
    pseudo.length = htons(sizeof packet.tcp);
    pseudo.tcp = packet.tcp;
    uint32_t sum = 0;
    uint16_t words[sizeof pseudo / 2];
    memcpy(words, &pseudo, sizeof pseudo);
    for (uint16_t word : words) sum += word;
    sum = (sum & 0xffff) + (sum >> 16);
    packet.tcp.check = static_cast<uint16_t>(~(sum + (sum >> 16)));
    if (sendto(fd, &packet, sizeof packet, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&to), size) <
        0)
      return;
    if (syn)
      syns++;
    else
      resets++;
  }
};

/* ---- readers -------------------------------------------------------------- */

/* What ss does: dumps of all TCP sockets.  Now and then it destroys one. */
class Diag : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    enter(some_end(chance));
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return;
    dump(fd, AF_INET);
    dump(fd, AF_INET6);
    close(fd);
    counts_read += !read_file("/proc/thread-self/net/delaycc_count").empty();
    sleep_ms(200);
  }

 private:
  struct Request {
    nlmsghdr head;
    inet_diag_req_v2 body;
  };

  void dump(int fd, uint8_t family) {
    Request request = {};
    static thread_local char answer[32768];
    std::vector<inet_diag_sockid> victims;

    request.head = {sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0};
    request.body.sdiag_family = family;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = ~0U;
    request.body.idiag_ext = 0xff;
    if (send(fd, &request, sizeof request, 0) < 0) return;
    for (;;) {
      ssize_t n = recv(fd, answer, sizeof answer, 0);
      if (n <= 0) break;
      auto left = static_cast<unsigned>(n);
      for (auto h = reinterpret_cast<nlmsghdr*>(answer); NLMSG_OK(h, left);
           h = NLMSG_NEXT(h, left)) {
        if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
          dumps++;
          for (auto& id : victims) destroy(fd, family, id);
          return;
        }
        auto found = static_cast<inet_diag_msg*>(NLMSG_DATA(h));
        dumped++;
        if (found->idiag_state != 10 /* LISTEN */ && (chance.in(400) || keeps_module(h, found)))
          victims.push_back(found->id);
      }
    }
  }

  /* Of a module that is to go, a socket that no program has any more? */
  static bool keeps_module(const nlmsghdr* h, const inet_diag_msg* found) {
    if (found->idiag_inode || found->idiag_state == 6 /* TIME_WAIT */) return false;
    int left = static_cast<int>(NLMSG_PAYLOAD(h, sizeof *found));
    for (auto a = reinterpret_cast<const rtattr*>(found + 1); RTA_OK(a, left);
         a = RTA_NEXT(a, left)) {
      if (a->rta_type != INET_DIAG_CONG) continue;
      auto name = static_cast<const char*>(RTA_DATA(a));
      if (strstr(name, "-reno")) return true;
      for (auto m : world.modules)
        for (auto& algorithm : m->algorithms)
          if (m->vetoed && algorithm == name) return true;
    }
    return false;
  }

  void destroy(int fd, uint8_t family, const inet_diag_sockid& id) {
    Request request = {};
    char answer[1024];

    request.head = {sizeof request, SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK, 0, 0};
    request.body.sdiag_family = family;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.id = id;
    if (send(fd, &request, sizeof request, 0) < 0 || recv(fd, answer, sizeof answer, 0) < 0) return;
    auto error = static_cast<nlmsgerr*>(NLMSG_DATA(reinterpret_cast<nlmsghdr*>(answer)));
    if (!error->error) destroyed++;
  }
};

class Tracer : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    const std::string tracing = "/sys/kernel/tracing/";
    traced += write_file((tracing + "events/delaycc/enable").c_str(), chance.in(2) ? "1" : "0");
    trace_bytes += read_file((tracing + "trace_pipe").c_str(), 1 << 16).size();
    if (chance.in(8)) trace_bytes += read_file((tracing + "trace").c_str(), 1 << 16).size();
    if (chance.in(20)) write_file((tracing + "trace").c_str(), "");
    sleep_ms(100);
  }

  void end() override { write_file("/sys/kernel/tracing/events/delaycc/enable", "0"); }
};

/* ---- parameters ----------------------------------------------------------- */

/* One of texts, or now and then up to most lines. */
std::string lines_text(Chance& chance, const std::vector<std::string>& texts, uint64_t most,
                       const std::function<std::string(uint64_t)>& line) {
  if (!chance.in(6)) return chance.of(texts);
  std::string text;
  for (uint64_t n = chance.below(most); n; n--) text += line(n);
  return text;
}

std::string paths_text(Chance& chance) {
  static const std::vector<std::string> texts = {
      "10.0.0.0/8 20000, fd00::/16 30000",
      "10.0.1.0/24 8000\n10.0.2.2 9000\nfd00:1::/64 8000",
      "0.0.0.0/0 100000000",
      "\n",
  };
  return lines_text(chance, texts, 400, [&](uint64_t n) {
    return "10." + std::to_string(chance.below(256)) + "." + std::to_string(n % 256) + "." +
           std::to_string(n / 256) + "/32 12000,";
  });
}

std::string memory_text(Chance& chance) {
  static const std::vector<std::string> texts = {
      "10.0.0.2 20000 0 1514 5, fd00::2 30000 1000 1514",
      "10.0.1.2 1000 250000 1514 86400",
      "\n",
  };
  return lines_text(chance, texts, 1024, [](uint64_t n) {
    return "10.9." + std::to_string(n % 256) + "." + std::to_string(n / 256) + " 12000 0 1514\n";
  });
}

/* Writes one value to one of the files.  Through a descriptor if there is one. */
void write_value(Chance& chance, const std::string& path, int fd) {
  static const std::vector<std::string> bad = {
      "",          "-1",     "nonsense",         "99999999999999999999", "2147483648",
      "0x",        "1 2 3",  "10.0.0.0/33 8000", "10.0.0.1/8 8000",      "::ffff:1.2.3.4 9",
      "fd00::/16", ",,,, 1", "\x01\xff",
  };
  static const std::vector<std::string> good = {"0",   "1",    "2",     "5",      "10",
                                                "100", "1000", "10000", "100000", "1000000"};
  bool paths = path.find("base_rtt_paths") != std::string::npos;
  bool memory = path.find("path_memory") == path.size() - strlen("path_memory");
  bool spoil = chance.in(3);
  std::string text = spoil    ? chance.of(bad)
                     : paths  ? paths_text(chance)
                     : memory ? memory_text(chance)
                              : chance.of(good);
  bool own = fd < 0;

  if (own) fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  /* Here and there one that continues another. */
  off_t at = (paths || memory) && chance.in(8) ? 10 : 0;
  if (pwrite(fd, text.data(), text.size(), at) < 0) refused++;
  if (chance.in(3)) {
    char data[4096];
    if (pread(fd, data, sizeof data, 0) < 0) refused++;
  }
  if (own) close(fd);
  if (spoil)
    illegal++;
  else
    legal++;
}

const std::string PARAMETERS = "/proc/sys/net/ipv4/delaycc";

class Writer : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    enter(some_end(chance));
    auto files = files_below(PARAMETERS);
    for (int i = 0; i < 12 && !files.empty(); i++) {
      const std::string& path = chance.of(files);
      std::string before = read_file(path.c_str(), 4096);
      if (chance.in(8)) fail_allocation(1 + static_cast<unsigned>(chance.below(6)));
      write_value(chance, path, -1);
      fail_allocation(0);
      sleep_ms(static_cast<unsigned>(chance.below(20)));
      /* Extremes are not to slow all traffic down for long. */
      if (before.empty() || before == "\n") before = "\n";
      write_file(path.c_str(), before);
    }
    count();
  }

 private:
  void count() {
    const char* values[] = {"0", "1", "2"};
    std::string path = PARAMETERS + "/count_flows";
    if (write_file(path.c_str(), values[chance.below(3)])) counting++;
  }
};

/* ---- namespaces that come and go ------------------------------------------ */

/*
 * A namespace whose sockets use our algorithms over the loopback, or to a neighbour of its own.  A
 * base RTT that is far below the real one makes PrioPlus stop.  Then all of them are closed, some
 * with data that still waits, and the parameters are written through descriptors while it goes.
 */
class Lives : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    if (chance.in(4)) {
      fail_allocation(1 + static_cast<unsigned>(chance.below(250)));
      int fd = unshare_netns();
      fail_allocation(0);
      if (fd < 0) {
        stillborn++;
        return;
      }
      close(fd);
    }
    int own = unshare_netns();
    if (own < 0) {
      stillborn++;
      return;
    }
    set_link_up("lo", true);
    live(own);
    close(own);
    lives++;
    enter(world.pairs[0].a_fd);
    write_late();
  }

  void end() override {
    for (auto& f : files_) close(f.second);
  }

 private:
  void live(int own) {
    std::vector<int> fds;
    uint16_t port = 9000;
    /* Half of them have a neighbour. */
    int other = chance.in(2) ? unshare_netns() : -1;

    if (other >= 0) {
      set_link_up("lo", true);
      set_parameters();
    }
    enter(own);
    set_parameters();
    if (other >= 0 && !add_veth("v", other)) {
      close(other);
      other = -1;
    }
    if (other >= 0) {
      enter(other);
      set_link_address("v", "10.9.0.2");
      set_link_up("v", true);
      lives++;
    }
    int listener = listen_on(port);
    if (other >= 0) {
      enter(own);
      set_link_address("v", "10.9.0.1");
      set_link_up("v", true);
    }
    for (uint64_t n = 4 + chance.below(12); n && !stopping(); n--) {
      int fd = connect_to(port, chance.in(3) ? some_algorithm(chance) : "prioplus", other >= 0);
      if (fd < 0) break;
      fds.push_back(fd);
      int server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (server >= 0) fds.push_back(server);
    }
    static const std::string data(20000, 'd');
    char sink[20000];
    for (int rounds = 0; rounds < 3 && !stopping(); rounds++) {
      for (int fd : fds) {
        send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (chance.in(2)) recv(fd, sink, sizeof sink, MSG_DONTWAIT);
      }
      sleep_ms(5);
    }
    for (auto& path : files_below(PARAMETERS)) {
      if (files_.size() >= 60) break;
      if (!chance.in(8)) continue;
      int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (fd >= 0) files_.emplace_back(path, fd);
    }
    if (other >= 0 && chance.in(2) && delete_link("v")) devices++;
    for (int fd : fds) {
      char algorithm[16] = "";
      socklen_t size = sizeof algorithm;
      linger now = {1, 0};
      getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, &size);
      if (!strncmp(algorithm, "prio", 4)) stopped++;
      /* The others' last data keeps the namespace for a while. */
      if (!chance.in(4)) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      close(fd);
    }
    if (listener >= 0) close(listener);
    if (other >= 0) close(other);
  }

  void set_parameters() {
    write_file((PARAMETERS + "/line_rate_mbps").c_str(), "1000");
    write_file((PARAMETERS + "/base_rtt_ns").c_str(), "1000");
    write_file((PARAMETERS + "/count_flows").c_str(), chance.in(2) ? "1" : "2");
    write_file("/proc/sys/net/ipv4/tcp_orphan_retries", "1");
  }

  static int listen_on(uint16_t port) {
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) || listen(fd, 64))) {
      close(fd);
      return -1;
    }
    return fd;
  }

  int connect_to(uint16_t port, const std::string& algorithm, bool neighbour) {
    bool v4 = neighbour || chance.in(2);
    int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    timeval patience = {2, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    use_algorithm(fd, algorithm);
    sockaddr_in to4 = {};
    sockaddr_in6 to6 = {};
    to4.sin_family = AF_INET;
    to4.sin_port = htons(port);
    to4.sin_addr.s_addr = htonl(neighbour ? 0x0a090002 : INADDR_LOOPBACK);
    to6.sin6_family = AF_INET6;
    to6.sin6_port = htons(port);
    to6.sin6_addr = in6addr_loopback;
    if (v4 ? connect(fd, reinterpret_cast<sockaddr*>(&to4), sizeof to4)
           : connect(fd, reinterpret_cast<sockaddr*>(&to6), sizeof to6)) {
      close(fd);
      return -1;
    }
    return fd;
  }

  void write_late() {
    for (auto& f : files_) {
      for (int i = 0; i < 4; i++) {
        write_value(chance, f.first, f.second);
        late++;
      }
      if (chance.in(2)) {
        close(f.second);
        f.second = -1;
      }
    }
    files_.erase(std::remove_if(files_.begin(), files_.end(), [](auto& f) { return f.second < 0; }),
                 files_.end());
  }

  std::vector<std::pair<std::string, int>> files_;
};

/* ---- modules -------------------------------------------------------------- */

/* Removes a module, and those that need it, under the traffic of the others. */
class Loader : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    /* Mostly one algorithm; now and then what it stands on. */
    size_t n = world.modules.size();
    bool all = chance.in(12);
    size_t first =
               all ? 0 : std::min<size_t>(2, n - 1) + chance.below(n - std::min<size_t>(2, n - 1)),
           last = all ? n - 1 : first;
    for (size_t i = first; i <= last; i++) world.modules[i]->vetoed = true;
    for (int rounds = 0; rounds < 30 && !stopping(); rounds++) {
      leave(first, last);
      bool in_use = false;
      for (size_t i = last + 1; i-- > first;) {
        int err = remove_module(*world.modules[i]);
        if (!err)
          removed++;
        else if (err != -ENOENT)
          in_use = true;
      }
      if (!in_use) break;
      busy++;
      sleep_ms(100);
    }
    sleep_ms(static_cast<unsigned>(chance.below(100)));
    put_back(first, last);
    for (int i = 0; i < 30 && !stopping(); i++) sleep_ms(50);
  }

  void end() override {
    for (auto m : world.modules) m->vetoed = false;
    put_back(0, world.modules.size() - 1);
  }

 private:
  /* All sockets that use one of these take another one. */
  void leave(size_t first, size_t last) {
    int top = top_descriptor();
    for (int fd = 3; fd < top; fd++) {
      char name[16] = "";
      socklen_t size = sizeof name;
      if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size)) continue;
      for (size_t i = first; i <= last; i++) {
        for (auto& algorithm : world.modules[i]->algorithms)
          if (algorithm == name &&
              !use_algorithm(fd, chance.in(2) ? "cubic" : some_algorithm(chance)))
            switches++;
      }
      /* Sockets that a module could not serve use oscar-reno or thetapower-reno, which is the
       * module's, too. */
      if (strstr(name, "-reno")) use_algorithm(fd, "cubic");
    }
  }

  void put_back(size_t first, size_t last) {
    for (size_t i = first; i <= last; i++) {
      int err = load_module(*world.modules[i]);
      if (!err) loaded++;
      /* The kernel may have loaded it: somebody asked for the algorithm. */
      if (err && err != -EEXIST && err != -EBUSY)
        wrong("a module cannot be loaded: " + world.modules[i]->name + ": " + strerror(-err));
      world.modules[i]->vetoed = false;
    }
  }
};

/* ---- links ---------------------------------------------------------------- */

class Links : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    size_t pair = chance.below(world.pairs.size());
    const Pair& p = world.pairs[pair];
    const std::string& end = chance.in(2) ? p.a : p.b;
    std::string n = std::to_string(pair);
    /* A program takes the machine seconds, a system call does not.  Few steps have each kind. */
    switch (steps() < 8 ? steps() * 3 % 8 : chance.below(8)) {
      case 0:
      case 1:
      case 2:
        enter(chance.in(2) ? p.a_fd : p.b_fd);
        set_link_up("v", false);
        sleep_ms(static_cast<unsigned>(chance.below(150)));
        set_link_up("v", true);
        links++;
        break;
      case 3:
      case 4: {
        static const std::vector<int> sizes = {1280, 1400, 4000, 9000};
        enter(chance.in(2) ? p.a_fd : p.b_fd);
        if (set_link_mtu("v", chance.of(sizes))) mtus++;
        /* Full packets of the other end are lost meanwhile: not until their timeouts are minutes.
         */
        sleep_ms(static_cast<unsigned>(chance.below(300)));
        if (set_link_mtu("v", 1500)) mtus++;
        break;
      }
      case 5:
      case 6: {
        static const std::vector<std::string> extras = {
            "", " mtu 1300", " rtt 1ms", " advmss 900", " quickack 1", " mtu lock 1400"};
        ip_batch(end, "route replace 10.0." + n + ".0/24 dev v" + chance.of(extras) +
                          "\nroute replace fd00:" + n + "::/64 dev v" + chance.of(extras) +
                          "\nroute flush cache\n");
        routes++;
        break;
      }
      default:
        set_qdisc(p, static_cast<unsigned>(chance.below(4)));
        qdiscs++;
    }
    sleep_ms(400);
  }
};

/* ---- memory and time ------------------------------------------------------ */

class Pressure : public Worker {
 public:
  using Worker::Worker;

  void begin() override { usual_ = read_file("/proc/sys/net/ipv4/tcp_mem", 100); }

  void step() override {
    if (write_file("/proc/sys/net/ipv4/tcp_mem", chance.in(2) ? "16 64 256" : "64 256 1024"))
      pressures++;
    sleep_ms(static_cast<unsigned>(chance.below(300)));
    write_file("/proc/sys/net/ipv4/tcp_mem", usual_);
    int status = run({"stress", "poor", std::to_string(chance.word() >> 1)});
    /* 126: the group's limit, or the alarm, has ended it. */
    if (status == 0 || status == 126) poor++;
    for (int i = 0; i < 40 && !stopping(); i++) sleep_ms(50);
  }

  void end() override { write_file("/proc/sys/net/ipv4/tcp_mem", usual_); }

 private:
  std::string usual_;
};

class Jumps : public Worker {
 public:
  using Worker::Worker;

  void step() override {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += static_cast<time_t>(chance.below(7200)) - 3600;
    if (t.tv_sec > 0 && !clock_settime(CLOCK_REALTIME, &t)) jumps++;
    sleep_ms(300);
  }
};

}  // namespace

int poor_process(uint64_t seed) {
  static char data[65536];
  Chance chance(seed);
  std::vector<int> fds;

  mkdir("/sys/fs/cgroup/poor", 0755);
  write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
  write_file("/sys/fs/cgroup/poor/memory.max", "2500000");
  write_file("/sys/fs/cgroup/poor/cgroup.procs", std::to_string(getpid()));
  size_t pair = chance.below(PAIRS);
  int netns = open_netns("a" + std::to_string(pair));
  if (netns < 0) return 1;
  enter(netns);
  std::vector<std::string> names;
  std::string available = read_file("/proc/sys/net/ipv4/tcp_available_congestion_control", 4096);
  for (size_t at = 0; at < available.size();) {
    size_t end = available.find_first_of(" \n", at);
    names.push_back(available.substr(at, end - at));
    at = end == std::string::npos ? available.size() : end + 1;
  }
  sockaddr_storage address;
  socklen_t size = address_of(pair, true, IPV4, STORM_PORT, &address);
  for (int i = 0; i < 64; i++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0) break;
    use_algorithm(fd, chance.of(names));
    connect(fd, reinterpret_cast<sockaddr*>(&address), size);
    fds.push_back(fd);
  }
  /* The group's limit makes it slow; what it sends and switches meanwhile is enough. */
  alarm(10);
  uint64_t until = clock_ms() + 1500;
  while (clock_ms() < until)
    for (int fd : fds) {
      if (clock_ms() >= until) break;
      send(fd, data, 1 + chance.below(sizeof data), MSG_NOSIGNAL | MSG_DONTWAIT);
      use_algorithm(fd, chance.of(names));
    }
  return 0;
}

std::vector<Worker*> make_trouble(uint64_t seed) {
  uint64_t n = 1000;
  auto next = [&] { return stream_word(seed, n++); };
  std::vector<Worker*> workers;

  for (int i = 0; i < 3; i++) workers.push_back(new Switcher("switcher", next()));
  for (size_t i = 0; i < world.pairs.size(); i++)
    workers.push_back(new StormServer("storm server", next(), i));
  workers.push_back(new Storm("storm", next()));
  workers.push_back(new Forger("forger", next()));
  workers.push_back(new Diag("diag", next()));
  workers.push_back(new Tracer("tracer", next()));
  for (int i = 0; i < 2; i++) workers.push_back(new Writer("writer", next()));
  for (int i = 0; i < 2; i++) workers.push_back(new Lives("lives", next()));
  workers.push_back(new Loader("loader", next()));
  workers.push_back(new Links("links", next()));
  workers.push_back(new Pressure("pressure", next()));
  workers.push_back(new Jumps("jumps", next()));
  return workers;
}

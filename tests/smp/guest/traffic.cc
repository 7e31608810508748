// SPDX-License-Identifier: Apache-2.0
/*
 * Traffic.  A client connects and sends a header: two seeds, two lengths and how lazy
 * the server shall be.  Then each side sends the stream of its seed and compares what
 * arrives with the stream of the other's.
 *
 * A connection may end early (a reset, an address that is gone): then only what has
 * arrived is compared.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "stress.h"

namespace {

Count opened("connections opened"), accepted("connections accepted"),
    completed("transfers completed"), cut("connections that ended early"),
    refused("connections that could not be opened"), checked("bytes checked"),
    reused("sockets disconnected and connected again"), parked("connections left idle"),
    lazy("receive windows closed by a reader that pauses"),
    rst_ends("connections ended by a reset");

enum { BUFFER = 16384, PARKED_MAX = 250 };

std::atomic<bool> ending{false};
/* Wrong bytes still to be sent. */
std::atomic<int> corrupt{0};

struct Header {
  uint64_t magic, up_seed, up_bytes, down_seed, down_bytes, lazy_ms;
};
constexpr uint64_t MAGIC = 0x64656c6179636373;

struct Connection {
  int fd = -1;
  bool client = false;
  Header header = {};
  size_t header_done = 0;
  uint64_t sent = 0, got = 0;
  uint64_t give_up_at = UINT64_MAX;  // bytes; then it ends early
  uint64_t reads_from_ms = 0;        // lazy until then
  uint64_t moved_ms = 0;
  unsigned how_to_end = 0;
  uint32_t events = 0;

  bool has_header() const { return header_done == sizeof header; }
  uint64_t to_send() const { return client ? header.up_bytes : header.down_bytes; }
  uint64_t to_get() const { return client ? header.down_bytes : header.up_bytes; }
  uint64_t send_seed() const { return client ? header.up_seed : header.down_seed; }
  uint64_t get_seed() const { return client ? header.down_seed : header.up_seed; }
  bool done() const { return has_header() && sent == to_send() && got == to_get(); }
};

void make_stream(uint64_t seed, uint64_t offset, unsigned char* data, size_t size) {
  for (size_t i = 0; i < size;) {
    uint64_t word = stream_word(seed, (offset + i) / 8);
    size_t from = (offset + i) % 8, n = std::min(size - i, 8 - from);
    memcpy(data + i, reinterpret_cast<unsigned char*>(&word) + from, n);
    i += n;
  }
}

/* A connection whose other end was destroyed while the link was down ends, too. */
void keep_alive(int fd) {
  int on = 1, idle_s = 5, interval_s = 2, probes = 5;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* What both sides do with connections: one thread, one epoll. */
class Side : public Worker {
 public:
  Side(const char* name, uint64_t seed, int netns) : Worker(name, seed), netns_(netns) {}

  void begin() override {
    enter(netns_);
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    start();
  }

  void step() override {
    epoll_event events[64];
    int n = epoll_wait(poll_, events, 64, 20);
    for (int i = 0; i < n; i++) {
      auto c = static_cast<Connection*>(events[i].data.ptr);
      if (!c)
        take();
      else
        serve(c);
    }
    wake_lazy();
    each_step();
  }

  void end() override {
    for (auto c : std::set<Connection*>(all_)) drop(c, false);
    close(poll_);
    finish();
  }

  Unfinished unfinished(unsigned still_ms) {
    std::lock_guard<std::mutex> guard(mutex_);
    Unfinished u = {0, 0};
    for (auto c : all_) {
      if (c->done()) continue;
      u.open++;
      if (now_ms() - c->moved_ms > still_ms) u.still++;
    }
    return u;
  }

  void print_unfinished() {
    std::lock_guard<std::mutex> guard(mutex_);
    for (auto c : all_) {
      if (c->done()) continue;
      tcp_info info = {};
      socklen_t size = sizeof info;
      char algorithm[16] = "";
      socklen_t longest = sizeof algorithm - 1;
      getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size);
      getsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, &longest);
      printf(
          "OPEN %s: header %zu bytes, sent %llu of %llu, got %llu of %llu, still for %llu ms, "
          "waits for %#x; %s, state %u, unacked %u, lost %u, retransmits %u, rto %u us\n",
          name(), c->header_done, static_cast<unsigned long long>(c->sent),
          static_cast<unsigned long long>(c->to_send()), static_cast<unsigned long long>(c->got),
          static_cast<unsigned long long>(c->to_get()),
          static_cast<unsigned long long>(now_ms() - c->moved_ms), c->events, algorithm,
          info.tcpi_state, info.tcpi_unacked, info.tcpi_lost, info.tcpi_retransmits, info.tcpi_rto);
    }
  }

 protected:
  virtual void start() {}
  virtual void finish() {}
  virtual void take() {}
  virtual void each_step() {}
  virtual void when_done(Connection* c) = 0;

  void add(Connection* c) {
    epoll_event e = {};
    keep_alive(c->fd);
    c->moved_ms = now_ms();
    c->events = EPOLLIN | EPOLLOUT;
    e.events = c->events;
    e.data.ptr = c;
    epoll_ctl(poll_, EPOLL_CTL_ADD, c->fd, &e);
    std::lock_guard<std::mutex> guard(mutex_);
    all_.insert(c);
  }

  void want(Connection* c, uint32_t events) {
    epoll_event e = {};
    if (c->events == events) return;
    e.events = events;
    e.data.ptr = c;
    /* Who wants nothing would be told again and again that the other end is gone. */
    epoll_ctl(poll_,
              !events      ? EPOLL_CTL_DEL
              : !c->events ? EPOLL_CTL_ADD
                           : EPOLL_CTL_MOD,
              c->fd, &e);
    c->events = events;
  }

  void forget(Connection* c) {
    epoll_ctl(poll_, EPOLL_CTL_DEL, c->fd, nullptr);
    std::lock_guard<std::mutex> guard(mutex_);
    all_.erase(c);
    lazy_.erase(c);
  }

  void drop(Connection* c, bool reset) {
    linger now = {1, 0};
    forget(c);
    if (reset) {
      setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      rst_ends++;
    }
    close(c->fd);
    delete c;
  }

  size_t connections() const { return all_.size(); }
  int poll() const { return poll_; }

 private:
  void serve(Connection* c) {
    if (!receive(c) || !transmit(c)) {
      if (!c->done()) cut++;
      drop(c, chance.in(4));
      return;
    }
    if (c->sent + c->got > c->give_up_at) {
      cut++;
      drop(c, chance.in(2));
      return;
    }
    uint32_t events = 0;
    if (!c->reads_from_ms) events |= EPOLLIN;
    if (!c->has_header() ? c->client : c->sent < c->to_send()) events |= EPOLLOUT;
    want(c, events);
    if (c->done()) when_done(c);
  }

  /* False: the connection has ended. */
  bool receive(Connection* c) {
    unsigned char data[BUFFER], expected[BUFFER];

    if (c->reads_from_ms) return true;
    for (int rounds = 0; rounds < 4; rounds++) {
      ssize_t n;
      if (!c->client && !c->has_header()) {
        n = recv(c->fd, reinterpret_cast<char*>(&c->header) + c->header_done,
                 sizeof c->header - c->header_done, 0);
        if (n > 0) {
          c->header_done += static_cast<size_t>(n);
          c->moved_ms = now_ms();
          if (c->has_header() && !open_header(c)) return false;
          continue;
        }
      } else {
        size_t most = 1 + chance.below(sizeof data);
        n = recv(c->fd, data, most, 0);
        if (n > 0) {
          uint64_t size = static_cast<uint64_t>(n);
          if (c->got + size > c->to_get()) {
            wrong("more bytes than were sent");
            return false;
          }
          make_stream(c->get_seed(), c->got, expected, size);
          if (memcmp(data, expected, size)) {
            wrong("bytes");
            return false;
          }
          checked += size;
          c->got += size;
          c->moved_ms = now_ms();
          continue;
        }
      }
      if (n == 0) return false;
      return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
    }
    return true;
  }

  bool open_header(Connection* c) {
    if (c->header.magic != MAGIC) {
      wrong("bytes of a header");
      return false;
    }
    if (c->header.lazy_ms) pause(c);
    return true;
  }

 protected:
  void pause(Connection* c) {
    lazy++;
    c->reads_from_ms = now_ms() + c->header.lazy_ms;
    lazy_.insert(c);
  }

 private:
  bool transmit(Connection* c) {
    unsigned char data[BUFFER];

    for (int rounds = 0; rounds < 4; rounds++) {
      ssize_t n;
      if (c->client && !c->has_header()) {
        n = send(c->fd, reinterpret_cast<char*>(&c->header) + c->header_done,
                 sizeof c->header - c->header_done, MSG_NOSIGNAL);
        if (n > 0) c->header_done += static_cast<size_t>(n);
      } else if (c->has_header() && c->sent < c->to_send()) {
        size_t size = std::min<uint64_t>(1 + chance.below(sizeof data), c->to_send() - c->sent);
        make_stream(c->send_seed(), c->sent, data, size);
        bool wrong_byte = corrupt > 0;
        if (wrong_byte) data[0] ^= 1;
        n = send(c->fd, data, size, MSG_NOSIGNAL);
        if (n > 0) {
          if (wrong_byte) corrupt--;
          c->sent += static_cast<uint64_t>(n);
        }
      } else {
        return true;
      }
      if (n < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
      c->moved_ms = now_ms();
    }
    return true;
  }

  void wake_lazy() {
    uint64_t now = now_ms();
    for (auto c : std::set<Connection*>(lazy_)) {
      if (now < c->reads_from_ms) continue;
      lazy_.erase(c);
      c->reads_from_ms = 0;
      c->moved_ms = now;
      serve(c);
    }
  }

  int netns_, poll_ = -1;
  std::mutex mutex_;  // of all_, which the main thread reads
  std::set<Connection*> all_, lazy_;
};

class Server : public Side {
 public:
  Server(uint64_t seed, size_t pair) : Side("server", seed, world.pairs[pair].b_fd) {}

 protected:
  void start() override {
    sockaddr_in6 any = {};
    int on = 1, small = 8192;
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(PORT);
    /* One has buffers that a few packets fill. */
    for (int i = 0; i < 2; i++) {
      int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
      if (i) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
      if (bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) || listen(fd, 256))
        wrong(std::string("a server cannot listen: ") + strerror(errno));
      epoll_event e = {};
      e.events = EPOLLIN;
      epoll_ctl(poll(), EPOLL_CTL_ADD, fd, &e);
      listeners_.push_back(fd);
    }
  }

  void finish() override {
    for (int fd : listeners_) close(fd);
  }

  void take() override {
    for (int listener : listeners_) {
      /* Accepted sockets inherit it. */
      if (chance.in(4)) use_algorithm(listener, some_algorithm(chance));
      for (int i = 0; i < 8; i++) {
        int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) break;
        accepted++;
        auto c = new Connection;
        c->fd = fd;
        add(c);
      }
    }
  }

  void when_done(Connection* c) override { want(c, EPOLLIN); }

 private:
  std::vector<int> listeners_;
};

class Client : public Side {
 public:
  Client(uint64_t seed, size_t pair, unsigned connections)
      : Side("client", seed, world.pairs[pair].a_fd), pair_(pair), most_(connections) {}

 protected:
  void each_step() override {
    for (int i = 0; i < 4 && !ending && !stopping() && connections() < most_; i++) open_one(-1);
    while (!parked_.empty() &&
           (parked_.size() > PARKED_MAX || (parked_.front().second < now_ms()))) {
      close(parked_.front().first);
      parked_.pop_front();
    }
  }

  void finish() override {
    for (auto& p : parked_) close(p.first);
  }

  void when_done(Connection* c) override {
    completed++;
    int fd = c->fd;
    switch (c->how_to_end) {
      case 0:
      case 1:
        parked++;
        forget(c);
        delete c;
        parked_.emplace_back(fd, now_ms() + 20000);
        break;
      case 2: {
        /* The same socket for another connection. */
        sockaddr_storage none = {};
        forget(c);
        delete c;
        if (connect(fd, reinterpret_cast<sockaddr*>(&none), sizeof none) || ending) {
          close(fd);
        } else {
          reused++;
          open_one(fd);
        }
        break;
      }
      default:
        drop(c, c->how_to_end == 3);
    }
  }

 private:
  void open_one(int fd) {
    static const int buffers[] = {4096, 16384, 65536};
    sockaddr_storage address;
    socklen_t size = sizeof address;
    Family family;

    if (fd < 0) {
      family = static_cast<Family>(chance.below(3));
      fd = socket(family == IPV4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                  0);
      if (fd < 0) return;
    } else {
      int domain = AF_INET;
      socklen_t n = sizeof domain;
      getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n);
      family = domain == AF_INET ? IPV4 : IPV6;
    }
    if (!chance.in(4)) use_algorithm(fd, some_algorithm(chance));
    int priority = static_cast<int>(chance.below(9));
    setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority);
    if (chance.in(4)) {
      int bytes = buffers[chance.below(3)];
      setsockopt(fd, SOL_SOCKET, chance.in(2) ? SO_RCVBUF : SO_SNDBUF, &bytes, sizeof bytes);
    }

    auto c = new Connection;
    c->fd = fd;
    c->client = true;
    c->header = {
        MAGIC, chance.word(), chance.size(18), chance.word(), chance.in(2) ? chance.size(16) : 0,
        0};
    if (chance.in(12)) c->header.lazy_ms = 200 + chance.below(3000);
    if (chance.in(10)) c->give_up_at = chance.below(c->header.up_bytes + c->header.down_bytes + 1);
    c->how_to_end = static_cast<unsigned>(chance.below(10));

    size = address_of(pair_, true, family, PORT, &address);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) && errno != EINPROGRESS) {
      refused++;
      close(fd);
      delete c;
      return;
    }
    opened++;
    add(c);
    /* The client is sometimes the one that reads late. */
    if (c->header.lazy_ms && chance.in(2)) {
      pause(c);
      c->header.lazy_ms = 0;
    }
  }

  size_t pair_;
  unsigned most_;
  std::deque<std::pair<int, uint64_t>> parked_;
};

std::vector<Side*> sides;

}  // namespace

void let_traffic_end() { ending = true; }

/* Some, as a connection may end before the other side has read one. */
void corrupt_bytes() { corrupt = 32; }

Unfinished unfinished(unsigned still_ms) {
  Unfinished sum = {0, 0};
  for (auto side : sides) {
    Unfinished u = side->unfinished(still_ms);
    sum.open += u.open;
    sum.still += u.still;
  }
  return sum;
}

void print_unfinished() {
  for (auto side : sides) side->print_unfinished();
}

std::vector<Worker*> make_traffic(uint64_t seed, unsigned connections) {
  std::vector<Worker*> workers;
  for (size_t pair = 0; pair < world.pairs.size(); pair++) {
    sides.push_back(new Server(stream_word(seed, 2 * pair), pair));
    sides.push_back(new Client(stream_word(seed, 2 * pair + 1), pair, connections));
  }
  for (auto side : sides) workers.push_back(side);
  return workers;
}

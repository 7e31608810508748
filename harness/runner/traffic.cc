// SPDX-License-Identifier: Apache-2.0
#include "runner/traffic.h"
#include "spec/packet.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace delaycc {
namespace {

// Connections start this far apart, and each is warmed by kWarmChunkBytes every kWarmPeriodNs:
// about 50 Gbit/s of warm-up in all, so that no queue builds on a 100 Gbit/s link.
constexpr int64_t kConnectSpacingNs = 50'000;
// Fewer packets than any initial window: the flow stays application-limited.
constexpr int64_t kWarmChunkBytes = 8192;
constexpr int64_t kWarmPeriodNs = 30'000;
constexpr int64_t kPrepareNs = 10'000;  // before time 0

// A wake-up costs far more than a byte, so the sizes are large; with many flows memory decides.
constexpr size_t kFewFlows = 50;
constexpr int64_t kChunkFewBytes = 1 << 20;
constexpr int64_t kChunkManyBytes = 256 << 10;
// What is sent is this block again and again: it stays in the processor's cache.
constexpr size_t kPayloadBytes = 32 << 10;

// Half of what tcp_rmem allows a connection to queue.
constexpr int kWindowBytes = 8 << 20;

sockaddr_in socket_address(const std::string& address, int port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

template <typename T>
void set_option(int fd, int level, int option, const T& value, const char* what) {
  if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
    throw system_error("setsockopt", what);
}

void set_dscp(int fd, int dscp) { set_option(fd, IPPROTO_IP, IP_TOS, int{dscp << 2}, "IP_TOS"); }

void set_congestion_control(int fd, const std::string& cc) {
  if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc.data(), static_cast<socklen_t>(cc.size())) < 0)
    throw system_error("setsockopt", "TCP_CONGESTION = " + cc);
}

std::string congestion_control(int fd) {
  char name[16] = {};
  socklen_t length = sizeof(name);
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) < 0)
    throw system_error("getsockopt", "TCP_CONGESTION");
  return std::string(name, strnlen(name, sizeof(name)));
}

// A receiver's first window is 64 KB at most, and it grows with what comes in: a first flight of
// more than 44 packets would wait for it. So the window is set as for a connection that is taken
// over from elsewhere.
void open_window(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_REPAIR, int{TCP_REPAIR_ON}, "TCP_REPAIR");
  tcp_repair_window window = {};
  socklen_t length = sizeof(window);
  if (getsockopt(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, &length) < 0)
    throw system_error("getsockopt", "TCP_REPAIR_WINDOW");
  window.rcv_wnd = kWindowBytes;
  set_option(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, window, "TCP_REPAIR_WINDOW");
  set_option(fd, IPPROTO_TCP, TCP_REPAIR, int{TCP_REPAIR_OFF_NO_WP}, "TCP_REPAIR");
  // A larger clamp than before lets what is offered next be as much as that window.
  set_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, int{2 * kWindowBytes}, "TCP_WINDOW_CLAMP");
}

void abort_on_close(int fd) { set_option(fd, SOL_SOCKET, SO_LINGER, linger{1, 0}, "SO_LINGER"); }

void enter(const Fd& netns) {
  if (setns(netns.get(), CLONE_NEWNET) < 0) throw system_error("setns", "network namespace");
}

int new_socket() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw system_error("socket", "TCP");
  return fd;
}

}  // namespace

Traffic::Traffic(const Plan& plan, const std::vector<Fd>& netns, std::function<void()> at_zero)
    : plan_(plan), netns_(netns), at_zero_(std::move(at_zero)) {
  // Of a workload's flows few send at a time.
  const bool few = plan.flows.size() <= kFewFlows || plan.open_windows;
  send_chunk_bytes_ = receive_chunk_bytes_ = few ? kChunkFewBytes : kChunkManyBytes;
  write_bytes_ = send_chunk_bytes_;
  payload_.assign(kPayloadBytes, '\0');

  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) throw system_error("epoll_create1", "");
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (!timer_) throw system_error("timerfd_create", "CLOCK_MONOTONIC");
  watch(EPOLL_CTL_ADD, timer_.get(), EPOLLIN, Kind::kTimer, 0);

  flows_.resize(plan.flows.size());
  for (size_t i = 0; i < flows_.size(); i++) {
    Flow& flow = flows_[i];
    flow.plan = &plan.flows[i];
    flow.record.id = flow.plan->id;
    if (flow.plan->id != static_cast<int>(i))
      throw Error("plan: flow " + std::to_string(i) + " has id " + std::to_string(flow.plan->id));
    if (!flow.plan->connect_at_start) flow.warm_to_send = flow.warm_to_receive = plan.warm_bytes;
    flow.to_send = flow.plan->size_bytes;
  }
  listen_everywhere();
}

void Traffic::schedule_flows() {
  for (size_t i = 0; i < flows_.size(); i++) {
    if (!sends_here(flows_[i])) continue;
    const FlowPlan& flow = *flows_[i].plan;
    if (flow.connect_at_start) {
      schedule(plan_.zero_ns + flow.start_ns, Action::kConnect, i);
    } else {
      schedule(plan_.connect_ns + static_cast<int64_t>(i) * kConnectSpacingNs, Action::kConnect, i);
      schedule(plan_.zero_ns + flow.start_ns, Action::kStart, i);
    }
    for (const auto& [from_ns, bps] : flow.pacing_steps)
      schedule(plan_.zero_ns + from_ns, Action::kPace, i);
    if (flow.stop_ns != kNever) schedule(plan_.zero_ns + flow.stop_ns, Action::kStop, i);
  }
  schedule(plan_.zero_ns - kPrepareNs, Action::kPrepare, 0);
  if (each_period_) schedule(plan_.connect_ns, Action::kPeriod, 0);
}

std::string Traffic::name(const Flow& flow) const {
  return "flow " + std::to_string(flow.plan->id) + " (" + flow.plan->group + ", " +
         plan_.nodes.at(flow.plan->source).name + " -> " +
         plan_.nodes.at(flow.plan->destination).name + ")";
}

void Traffic::watch(int op, int fd, uint32_t events, Kind kind, size_t index) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(kind) << 32 | index;
  if (epoll_ctl(epoll_.get(), op, fd, &event) < 0) throw system_error("epoll_ctl", "");
}

void Traffic::listen_everywhere() {
  std::map<std::pair<int, int>, std::string> wanted;
  for (const Flow& flow : flows_) {
    if (!receives_here(flow)) continue;
    std::string& cc = wanted[{flow.plan->destination, flow.plan->listener}];
    if (!cc.empty() && cc != flow.plan->cc)
      throw Error("plan: " + name(flow) + " shares a listener with flows of " + cc);
    cc = flow.plan->cc;
  }
  for (const auto& [where, cc] : wanted) {
    const auto& [node, number] = where;
    enter(netns_.at(node));
    Fd listener(new_socket());
    const int one = 1;
    set_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, one, "SO_REUSEADDR");
    // dctcp's receiver has to echo marks its own way, so both sides run the algorithm.
    set_congestion_control(listener.get(), cc);
    const sockaddr_in address = socket_address(plan_.nodes[node].address, kServerPort + number);
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0)
      throw system_error("bind", plan_.nodes[node].address);
    if (listen(listener.get(), 4096) < 0) throw system_error("listen", plan_.nodes[node].address);
    watch(EPOLL_CTL_ADD, listener.get(), EPOLLIN, Kind::kListener, listeners_.size());
    listeners_.push_back(std::move(listener));
  }
}

void Traffic::schedule(int64_t at_ns, Action action, size_t flow) {
  timed_.push({at_ns, next_order_++, action, flow});
}

void Traffic::every(int64_t period_ns, std::function<void()> what) {
  period_ns_ = period_ns;
  each_period_ = std::move(what);
}

void Traffic::watch_sockets(std::function<void(size_t flow, int socket)> connected,
                            std::function<void(size_t flow, int socket)> errors,
                            int64_t write_bytes) {
  connected_ = std::move(connected);
  errors_ = std::move(errors);
  write_bytes_ = std::min(write_bytes, send_chunk_bytes_);
}

void Traffic::arm_timer() {
  const int64_t end_ns = plan_.zero_ns + plan_.end_ns;
  const int64_t at_ns = timed_.empty() ? end_ns : std::min(end_ns, timed_.top().at_ns);
  if (at_ns == armed_ns_) return;
  armed_ns_ = at_ns;
  itimerspec when = {};
  when.it_value.tv_sec = at_ns / 1'000'000'000;
  when.it_value.tv_nsec = at_ns % 1'000'000'000;
  // Setting the timer also forgets an expiry, which saves the read().
  if (timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) < 0)
    throw system_error("timerfd_settime", std::to_string(at_ns));
}

void Traffic::run() {
  const int64_t end_ns = plan_.zero_ns + plan_.end_ns;
  schedule_flows();
  arm_timer();
  for (;;) {
    epoll_event events[64];
    const int n = epoll_wait(epoll_.get(), events, 64, -1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("epoll_wait", "");
    bool timer = false;
    for (int i = 0; i < n; i++) {
      const size_t index = events[i].data.u64 & 0xffffffff;
      switch (static_cast<Kind>(events[i].data.u64 >> 32)) {
        case Kind::kTimer:
          timer = true;
          break;
        case Kind::kListener:
          accept(listeners_[index].get());
          break;
        case Kind::kClient:
          if (!flows_[index].client) break;  // stopped earlier in this round
          if (events[i].events & (EPOLLERR | EPOLLHUP)) {
            int error = 0;
            socklen_t length = sizeof(error);
            getsockopt(flows_[index].client.get(), SOL_SOCKET, SO_ERROR, &error, &length);
            // A message in the error queue is no error of the connection.
            if (!errors_ || error != 0 || (events[i].events & EPOLLHUP))
              throw system_error("connection", name(flows_[index]), error);
            errors_(index, flows_[index].client.get());
          }
          if (events[i].events & EPOLLOUT) send_some(index);
          break;
        case Kind::kServer:
          if (events[i].events & (EPOLLERR | EPOLLHUP)) {
            if (!flows_[index].stopped && !stopped_elsewhere(flows_[index]))
              throw Error("connection of " + name(flows_[index]) + " was reset");
            flows_[index].server.reset();
          } else {
            receive_some(index);
          }
          break;
      }
    }
    if (timer) {
      const int64_t now_ns = monotonic_ns();
      if (now_ns >= end_ns) break;
      armed_ns_ = 0;
      run_due(now_ns);
    }
    arm_timer();
  }
  finish();
}

void Traffic::run_due(int64_t now_ns) {
  while (!timed_.empty() && timed_.top().at_ns <= now_ns) {
    const Timed due = timed_.top();
    timed_.pop();
    act(due.action, due.flow);
  }
}

void Traffic::act(Action action, size_t index) {
  switch (action) {
    case Action::kConnect:
      connect(index);
      break;
    case Action::kWarm:
      warm(index);
      break;
    case Action::kPrepare:
      prepare();
      break;
    case Action::kStart:
      start(index);
      break;
    case Action::kPace: {
      Flow& flow = flows_[index];
      pace(flow, flow.plan->pacing_steps.at(flow.next_step++).second);
      break;
    }
    case Action::kStop:
      stop(flows_[index]);
      break;
    case Action::kPeriod:
      each_period_();
      schedule(monotonic_ns() + period_ns_, Action::kPeriod, 0);
      break;
  }
}

void Traffic::connect(size_t index) {
  Flow& flow = flows_[index];
  if (flow.plan->connect_at_start) flow.record.start_ns = monotonic_ns() - plan_.zero_ns;
  enter(netns_.at(flow.plan->source));
  flow.client = Fd(new_socket());
  const int fd = flow.client.get();
  const int one = 1;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, one, "TCP_NODELAY");
  set_congestion_control(fd, flow.plan->cc);
  // The host is there for the next trial: no socket is to go on sending what it has left, in memory
  // and a namespace that stay for it.
  abort_on_close(fd);
  // Before the priority, which it sets, too.
  if (flow.plan->dscp > 0) set_dscp(fd, flow.plan->dscp);
  if (flow.plan->priority >= 0) {
    const int priority = static_cast<int>(flow.plan->priority);
    set_option(fd, SOL_SOCKET, SO_PRIORITY, priority, "SO_PRIORITY");
  }
  if (flow.plan->pacing_bps > 0) pace(flow, flow.plan->pacing_bps);
  const uint32_t unsent = static_cast<uint32_t>(send_chunk_bytes_);
  set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent, "TCP_NOTSENT_LOWAT");
  const sockaddr_in from =
      socket_address(plan_.nodes[flow.plan->source].address, kClientPort + flow.plan->id);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) < 0)
    throw system_error("bind", name(flow));
  const sockaddr_in to = socket_address(plan_.nodes[flow.plan->destination].address,
                                        kServerPort + flow.plan->listener);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) < 0 && errno != EINPROGRESS)
    throw system_error("connect", name(flow));
  watch(EPOLL_CTL_ADD, fd, EPOLLOUT, Kind::kClient, index);
}

ssize_t Traffic::send_payload(const Flow& flow, int64_t bytes) {
  iovec blocks[kChunkFewBytes / kPayloadBytes];
  size_t count = 0;
  for (size_t left = static_cast<size_t>(bytes); left > 0; count++) {
    blocks[count] = {payload_.data(), std::min(left, kPayloadBytes)};
    left -= blocks[count].iov_len;
  }
  msghdr message = {};
  message.msg_iov = blocks;
  message.msg_iovlen = count;
  const ssize_t n = sendmsg(flow.client.get(), &message, MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) throw system_error("send", name(flow));
  return std::max<ssize_t>(n, 0);
}

void Traffic::warm(size_t index) {
  Flow& flow = flows_[index];
  if (flow.warm_to_send == 0) return;
  const int64_t wanted = std::min(kWarmChunkBytes, flow.warm_to_send);
  const ssize_t n = send_payload(flow, wanted);
  flow.warm_to_send -= n;
  if (flow.warm_to_send > 0) schedule(monotonic_ns() + kWarmPeriodNs, Action::kWarm, index);
}

void Traffic::prepare() {
  for (Flow& flow : flows_) {
    if (flow.plan->connect_at_start) continue;
    if (receives_here(flow) && !flow.server)
      throw Error(name(flow) + " was not connected by time 0");
    if (receives_here(flow) && flow.warm_to_receive > 0)
      throw Error(name(flow) +
                  " was not warmed up by time 0: " + std::to_string(flow.warm_to_receive) + " of " +
                  std::to_string(plan_.warm_bytes) + " bytes were not received");
    if (!sends_here(flow)) continue;
    check_congestion_control(flow);
    flow.warm_retransmits = total_retransmits(flow);
  }
  at_zero_();
}

void Traffic::check_congestion_control(Flow& flow) {
  flow.record.cc = congestion_control(flow.client.get());
  if (flow.record.cc != flow.plan->cc)
    throw Error(name(flow) + " runs " + flow.record.cc + " instead of " + flow.plan->cc);
}

void Traffic::start(size_t index) {
  Flow& flow = flows_[index];
  flow.started = true;
  if (!flow.plan->connect_at_start) flow.record.start_ns = monotonic_ns() - plan_.zero_ns;
  // An idle connection takes what it is given, so a short flow needs no more than this.
  if (plan_.open_windows) send_some(index);
  if (flow.to_send != 0) watch(EPOLL_CTL_MOD, flow.client.get(), EPOLLOUT, Kind::kClient, index);
}

// The kernel paces payload.
void Traffic::pace(Flow& flow, int64_t wire_bps) {
  if (!flow.client) return;
  const double payload_share =
      static_cast<double>(plan_.mtu_bytes - kTcpIpBytes) / (plan_.mtu_bytes + kEthernetBytes);
  const auto bytes_per_second =
      static_cast<uint64_t>(static_cast<double>(wire_bps) / 8 * payload_share);
  set_option(flow.client.get(), SOL_SOCKET, SO_MAX_PACING_RATE, bytes_per_second,
             "SO_MAX_PACING_RATE");
}

void Traffic::stop(Flow& flow) {
  if (is_complete(flow)) return;
  flow.record.retransmits = total_retransmits(flow) - flow.warm_retransmits;
  flow.record.stop_ns = monotonic_ns() - plan_.zero_ns;
  flow.stopped = true;
  // Nothing that waits in the send buffer goes out any more.
  abort_on_close(flow.client.get());
  flow.client.reset();
}

bool Traffic::is_complete(const Flow& flow) const {
  if (receives_here(flow)) return flow.record.received_ns >= 0;
  if (flow.plan->size_bytes == kNever || flow.to_send > 0) return false;
  int unacknowledged = 0;
  if (ioctl(flow.client.get(), SIOCOUTQ, &unacknowledged) < 0)
    throw system_error("ioctl", "SIOCOUTQ of " + name(flow));
  return unacknowledged == 0;
}

bool Traffic::stopped_elsewhere(const Flow& flow) const {
  return !sends_here(flow) && flow.plan->stop_ns != kNever;
}

void Traffic::finish() {
  for (Flow& flow : flows_)
    if (flow.client) flow.record.retransmits = total_retransmits(flow) - flow.warm_retransmits;
}

void Traffic::accept(int listener) {
  sockaddr_in peer = {};
  socklen_t length = sizeof(peer);
  Fd server(
      accept4(listener, reinterpret_cast<sockaddr*>(&peer), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!server && errno == EAGAIN) return;
  if (!server) throw system_error("accept4", "");
  const size_t index = static_cast<size_t>(ntohs(peer.sin_port) - kClientPort);
  if (index >= flows_.size())
    throw Error("connection from unknown port " + std::to_string(ntohs(peer.sin_port)));
  Flow& flow = flows_[index];
  flow.server = std::move(server);
  abort_on_close(flow.server.get());
  if (plan_.ack_dscp > 0) set_dscp(flow.server.get(), plan_.ack_dscp);
  expect_more(flow);
  watch(EPOLL_CTL_ADD, flow.server.get(), EPOLLIN, Kind::kServer, index);
  if (plan_.open_windows) {
    open_window(flow.server.get());
    if (sends_here(flow)) warm(index);  // the answer brings the window to the sender
  }
}

void Traffic::send_some(size_t index) {
  Flow& flow = flows_[index];
  if (!flow.started) {  // the connection is up
    watch(EPOLL_CTL_MOD, flow.client.get(), 0, Kind::kClient, index);
    if (connected_) connected_(index, flow.client.get());
    if (flow.plan->connect_at_start) {
      check_congestion_control(flow);
      start(index);
      return;
    }
    if (!plan_.open_windows || !receives_here(flow)) warm(index);
    return;
  }
  int64_t wanted = write_bytes_;
  if (flow.plan->size_bytes != kNever) wanted = std::min(wanted, flow.to_send);
  const ssize_t n = send_payload(flow, wanted);
  if (flow.plan->size_bytes == kNever) return;
  const bool whole = flow.to_send == flow.plan->size_bytes;
  flow.to_send -= n;
  if (flow.to_send == 0 && !(whole && plan_.open_windows))
    watch(EPOLL_CTL_MOD, flow.client.get(), 0, Kind::kClient, index);
}

void Traffic::set_low_water(Flow& flow, int64_t bytes) {
  if (bytes == flow.low_water) return;
  const int value = static_cast<int>(bytes);
  set_option(flow.server.get(), SOL_SOCKET, SO_RCVLOWAT, value, "SO_RCVLOWAT");
  flow.low_water = bytes;
}

void Traffic::receive_some(size_t index) {
  Flow& flow = flows_[index];
  // MSG_TRUNC: TCP drops the data without a copy, so the length is no buffer's.
  const ssize_t n = recv(flow.server.get(), nullptr, size_t{1} << 30, MSG_TRUNC);
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0) throw system_error("recv", name(flow), n == 0 ? ECONNRESET : errno);
  const int64_t now_ns = monotonic_ns() - plan_.zero_ns;
  const int64_t of_warm_up = std::min<int64_t>(n, flow.warm_to_receive);
  flow.warm_to_receive -= of_warm_up;
  flow.record.received_bytes += n - of_warm_up;
  if (flow.warm_to_receive == 0 && flow.record.received_bytes == flow.plan->size_bytes)
    flow.record.received_ns = now_ns;
  else
    expect_more(flow);
}

void Traffic::expect_more(Flow& flow) {
  int64_t left = receive_chunk_bytes_;
  if (flow.warm_to_receive > 0)
    left = flow.warm_to_receive;
  else if (flow.plan->size_bytes != kNever)
    left = std::min(left, flow.plan->size_bytes - flow.record.received_bytes);
  set_low_water(flow, left);
}

int64_t Traffic::total_retransmits(const Flow& flow) const {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  if (getsockopt(flow.client.get(), IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
    throw system_error("getsockopt", "TCP_INFO of " + name(flow));
  return info.tcpi_total_retrans;
}

std::vector<FlowRecord> Traffic::records() const {
  std::vector<FlowRecord> records;
  for (const Flow& flow : flows_) records.push_back(flow.record);
  return records;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/remote.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "backend/host/kernel_algorithms.h"
#include "backend/host/wire.h"
#include "base/posix.h"
#include "runner/host/ack_trace.h"
#include "runner/host/clock.h"
#include "runner/host/host_records.h"
#include "runner/host/kernel_module.h"
#include "runner/host/nic_rtts.h"
#include "runner/host/noise.h"
#include "runner/host/ptp.h"
#include "runner/host/settings.h"
#include "runner/host/tap.h"
#include "runner/network.h"
#include "runner/traffic.h"
#include "stamps/echo.h"
#include "stamps/nic.h"
#include "stamps/trial.h"

namespace delaycc {
namespace {

// Beside what the plan has between connections and time 0: real paths are longer, and hosts busier.
constexpr int64_t kSettleNs = 300'000'000;
constexpr rlim_t kOtherFiles = 64;  // beside those of flows

utsname kernel_name() {
  utsname name;
  if (uname(&name) < 0) throw system_error("uname", "");
  return name;
}

// Whether there was more; frames are complete or not at all.
bool read_some(int fd, FrameReader* reader) {
  char buffer[64 << 10];
  const ssize_t n = read(fd, buffer, sizeof(buffer));
  if (n > 0) reader->add(buffer, static_cast<size_t>(n));
  return n > 0;
}

// What the stamps of a device are, by echoes that `peer` answers.
FoundStamps try_device(const StampOrder& order) {
  try {
    const NicStamping nic(order.device);
    FoundStamps found = {stamping_name(Stamping::kSoftware), nic.trouble()};
    if (!nic.tx() && !nic.rx()) return found;
    Echo echo(order.peer);
    echo.find();
    if (echo.device() != order.device)
      return {found.kind, "packets from " + order.peer + " come through " + echo.device()};
    const StampTrial trial = try_stamps(echo, nic);
    return {stamping_name(trial.stamping), trial.why};
  } catch (const Error& e) {
    return {stamping_name(Stamping::kSoftware), e.what()};
  }
}

int64_t number(const std::string& text) { return strtoll(text.c_str(), nullptr, 10); }

// ---- The process of one trial.

class Worker {
 public:
  Worker(Order order, int fd) : order_(std::move(order)), fd_(fd) {}

  void run() {
    prepare();
    send_frame(fd_, "ready");
    FrameReader reader;
    for (Frame frame;;) {
      while (reader.take(&frame)) {
        if (frame.name == "echo")
          send_frame(fd_, "echoes", flows_to_json("", {}, echoes(number(frame.payload))));
        else if (frame.name == "go")
          send_frame(fd_, "records", pack_records(trial(number(frame.payload))));
        else
          throw Error("a frame \"" + frame.name + "\" is not known");
      }
      if (!read_some(fd_, &reader)) return;
    }
  }

 private:
  // Checks the device against the plan: figures of another network would not say so.
  void prepare() {
    const Plan& plan = order_.plan;
    const NodePlan& node = plan.nodes.at(static_cast<size_t>(order_.node));
    ifindex_ = static_cast<int>(if_nametoindex(order_.device.c_str()));
    if (ifindex_ == 0) throw system_error("device", order_.device);
    if (!has_address(node.address))
      throw Error("device " + order_.device + " does not have the address " + node.address);
    const int mtu = device_mtu();
    if (mtu != plan.mtu_bytes)
      throw Error("device " + order_.device + " has an MTU of " + std::to_string(mtu) +
                  ", hosts.mtu of the scenario is " + std::to_string(plan.mtu_bytes));
    allow_files(2 * plan.flows.size() + kOtherFiles);
    // This namespace is that of the one node which is here.
    netns_.resize(plan.nodes.size());
    netns_.at(static_cast<size_t>(order_.node)) = open_file("/proc/self/ns/net", O_RDONLY);
    trace_ = std::make_unique<AckTrace>(plan.trace);
    tap_ = std::make_unique<Tap>(order_.device, kTapPackets, ifindex_);
    traffic_ = std::make_unique<Traffic>(order_.plan, netns_, [this] {
      offset_ns_ = realtime_offset_ns();
      trace_->clear();
    });
    if (order_.nic_stamps)
      nic_ = std::make_unique<NicRtts>(order_, kTapPackets, ifindex_, traffic_.get());
    traffic_->every(kTakeNs, [this] { take(); });
  }

  void take() {
    tap_->take(&seen_);
    if (nic_) nic_->take();
  }

  static void allow_files(rlim_t wanted) {
    rlimit files = {};
    if (getrlimit(RLIMIT_NOFILE, &files) < 0) throw system_error("getrlimit", "RLIMIT_NOFILE");
    files.rlim_max = std::max(files.rlim_max, wanted);
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
      throw system_error("setrlimit", "RLIMIT_NOFILE = " + std::to_string(files.rlim_max));
  }

  int device_mtu() const {
    const Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = {};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", order_.device.c_str());
    if (!any || ioctl(any.get(), SIOCGIFMTU, &request) < 0)
      throw system_error("SIOCGIFMTU", order_.device);
    return request.ifr_mtu;
  }

  bool has_address(const std::string& wanted) const {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) < 0) throw system_error("getifaddrs", "");
    bool found = false;
    for (const ifaddrs* i = list; i; i = i->ifa_next) {
      if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || order_.device != i->ifa_name)
        continue;
      char text[INET_ADDRSTRLEN];
      const auto* address = reinterpret_cast<const sockaddr_in*>(i->ifa_addr);
      inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
      found = found || wanted == text;
    }
    freeifaddrs(list);
    return found;
  }

  Calibration echoes(int64_t node) const {
    const std::vector<int64_t> rtts = echo_rtts_ns(
        netns_.at(static_cast<size_t>(order_.node)),
        order_.plan.nodes.at(static_cast<size_t>(node)).address, kEchoes, kEchoBudgetNs);
    Calibration result;
    result.base_rtt_ns = rtts.front();
    note_noise(rtts, &result);
    return result;
  }

  Records trial(int64_t zero_ns) {
    Plan& plan = order_.plan;
    // Times of the records are the plan's.
    const int64_t shift_ns = zero_ns - plan.zero_ns;
    const int64_t from_ns = plan.zero_ns - kBeforeNs;
    plan.connect_ns += shift_ns - kSettleNs;
    plan.zero_ns += shift_ns;
    if (monotonic_ns() > plan.connect_ns)
      throw Error("the order to start came " +
                  std::to_string((monotonic_ns() - plan.connect_ns) / 1'000'000) +
                  " ms too late: ssh is slow, or the host busy");
    traffic_->run();
    take();
    tap_->check_complete();
    check_realtime_offset(offset_ns_);
    plan.connect_ns -= shift_ns - kSettleNs;
    plan.zero_ns -= shift_ns;
    for (SeenPacket& packet : seen_) packet.time_ns -= offset_ns_ + shift_ns;
    Records records;
    records.kernel = kernel_name().release;
    records.flows = traffic_->records();
    records.packets = host_records(order_, seen_, from_ns);
    if (nic_) records.nic_rtts = nic_->records(seen_, from_ns);
    records.decisions = parse_trace(trace_->text());
    for (Decision& decision : records.decisions) decision.time_ns -= shift_ns;
    return records;
  }

  Order order_;
  const int fd_;
  int ifindex_ = 0;
  std::vector<Fd> netns_;
  std::unique_ptr<AckTrace> trace_;
  std::unique_ptr<Tap> tap_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<NicRtts> nic_;
  std::vector<SeenPacket> seen_;
  int64_t offset_ns_ = 0;
};

// ---- The process that stays.

class Server {
 public:
  int run() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signal_ = Fd(signalfd(-1, &signals, SFD_CLOEXEC));
    if (!signal_) throw system_error("signalfd", "");
    send_frame(STDOUT_FILENO, "hello", hello());
    try {
      while (step()) {
      }
    } catch (...) {
      end_trial();
      throw;
    }
    end_trial();
    return 0;
  }

 private:
  static std::string hello() {
    Hello hello;
    hello.build = hash_file("/proc/self/exe");
    const utsname name = kernel_name();
    hello.host = name.nodename;
    hello.kernel = std::string(name.release) + " " + name.version;
    hello.root = geteuid() == 0;
    const KernelAlgorithms kernel = find_kernel_algorithms("");
    hello.algorithms.assign(kernel.algorithms.begin(), kernel.algorithms.end());
    for (const auto& [module, file] : kernel.ours) hello.modules[module] = hash_file(file);
    return hello_to_json(hello);
  }

  // So long the command may still be silent.
  int patience_ms(int64_t now_ns) const {
    return static_cast<int>(std::max<int64_t>(kSilenceMs - (now_ns - heard_ns_) / 1'000'000, 0));
  }

  // False: the command is no longer there, or a signal came.
  bool step() {
    pollfd waits[] = {
        {STDIN_FILENO, POLLIN, 0}, {signal_.get(), POLLIN, 0}, {to_worker_.get(), POLLIN, 0}};
    // All of kSilenceMs anew would wait twice when poll() returns within the millisecond.
    const int ready = poll(waits, 3, patience_ms(monotonic_ns()));
    if (ready < 0) throw system_error("poll", "");
    const int64_t now_ns = monotonic_ns();
    if (waits[0].revents) {
      if (!read_some(STDIN_FILENO, &from_command_)) return false;
      heard_ns_ = now_ns;
    }
    if (waits[1].revents || !patience_ms(now_ns)) return false;
    if (waits[2].revents) from_worker();
    for (Frame frame; from_command_.take(&frame);) serve(frame);
    return true;
  }

  void serve(const Frame& frame) {
    if (frame.name == "clock") {
      send_frame(STDOUT_FILENO, "clock", std::to_string(monotonic_ns()));
    } else if (frame.name == "stamps") {
      send_frame(STDOUT_FILENO, "stamps",
                 found_stamps_to_json(try_device(stamp_order_from_json(frame.payload))));
    } else if (frame.name == "ptp") {
      send_frame(STDOUT_FILENO, "ptp",
                 ptp_state_to_json(find_ptp(ptp_order_from_json(frame.payload))));
    } else if (frame.name == "trial") {
      begin_trial(frame.payload);
    } else if (frame.name == "end") {
      send_frame(STDOUT_FILENO, "restored", end_trial());
    } else if (frame.name == "echo" || frame.name == "go") {
      if (to_worker_) send_frame(to_worker_.get(), frame.name, frame.payload);
    } else if (frame.name != "beat") {
      throw Error("a frame \"" + frame.name + "\" is not known");
    }
  }

  void begin_trial(const std::string& text) {
    end_trial();
    try {
      Order order = order_from_json(text);
      for (const std::string& module : order.plan.modules) load_module("", module);
      settings_.set_sysctls(order.plan.nodes.at(static_cast<size_t>(order.node)).sysctls);
      if (!order.qdisc.empty()) settings_.set_qdisc(order.device, order.qdisc);
      if (order.nic_stamps) {
        stamping_ = std::make_unique<NicStamping>(order.device);
        if (!stamping_->tx() || !stamping_->rx())
          throw Error("device " + order.device +
                      " had hardware stamps and has none now: " + stamping_->trouble());
      }
      start_worker(std::move(order));
    } catch (const Error& e) {
      send_frame(STDOUT_FILENO, "error", e.what());
    }
  }

  void start_worker(Order order) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
      throw system_error("socketpair", "");
    to_worker_ = Fd(ends[0]);
    Fd own(ends[1]);
    const pid_t parent = getpid();
    worker_ = fork();
    if (worker_ < 0) throw system_error("fork", "");
    if (worker_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    int status = 0;
    try {
      Worker(std::move(order), own.get()).run();
    } catch (const std::exception& e) {
      status = 1;
      try {
        send_frame(own.get(), "error", e.what());
      } catch (const Error&) {
        // Nobody is there to be told.
      }
    }
    _exit(status);
  }

  void from_worker() {
    const bool more = read_some(to_worker_.get(), &from_worker_);
    for (Frame frame; from_worker_.take(&frame);) {
      told_error_ = told_error_ || frame.name == "error";
      // The connection may be lost while they are sent, and sending then lasts.
      if (frame.name == "records") restore();
      send_frame(STDOUT_FILENO, frame.name, frame.payload);
    }
    if (more) return;
    to_worker_.reset();
    if (!told_error_) send_frame(STDOUT_FILENO, "error", "the process of the trial was ended");
  }

  // What could not be put back, a line each.
  std::string end_trial() {
    if (worker_ > 0) {
      kill(worker_, SIGKILL);
      waitpid(worker_, nullptr, 0);
      remove_lost_traces();
    }
    worker_ = -1;
    to_worker_.reset();
    from_worker_ = FrameReader();
    told_error_ = false;
    restore();
    return std::exchange(troubles_, {});
  }

  void restore() {
    if (stamping_)
      if (const std::string trouble = stamping_->restore(); !trouble.empty())
        troubles_ += trouble + "\n";
    stamping_.reset();
    for (const std::string& trouble : settings_.restore()) troubles_ += trouble + "\n";
  }

  Fd signal_;
  Fd to_worker_;
  pid_t worker_ = -1;
  bool told_error_ = false;
  int64_t heard_ns_ = monotonic_ns();
  FrameReader from_command_;
  FrameReader from_worker_;
  Settings settings_;
  std::unique_ptr<NicStamping> stamping_;  // of the device during a trial
  std::string troubles_;
};

}  // namespace

int serve_remote(const std::string& folder) {
  if (!folder.empty()) {
    unlink((folder + "/runner").c_str());
    rmdir(folder.c_str());
  }
  try {
    return Server().run();
  } catch (const std::exception& e) {
    fprintf(stderr, "delaycc-host-runner: %s\n", e.what());
    return 1;
  }
}

}  // namespace delaycc

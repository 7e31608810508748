// SPDX-License-Identifier: Apache-2.0
//
// Loads an algorithm's BPF program, registers it as "bpf_<name>", carries a checksummed transfer
// with it over a veth pair between two network namespaces, and unloads it.
//
//   bpf_transfer [--algorithm NAME] [--ipv6] [--megabytes N] [--line-rate-mbps N] [--base-rtt-ns N]
//                [--set FIELD=N]... [--run COMMAND [ARGUMENT]...]
//
// Without --line-rate-mbps the program assumes 10 Gbit/s.
// --run carries out a command in place of the transfer, while the algorithm is registered; all that
// follows is the command.
// --set changes a parameter, as `delaycc load`.  Delays between two namespaces
// are mostly the scheduler's, so base RTT and targets are best set far above them: this is a test
// of the mechanism, not of the law.
//
// Prints what the program counted.  Exit status: 0 all is well, 1 a check failed, 77 this machine
// cannot run it (the reason is printed).
#include <linux/types.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bpf/loader.h"

namespace {

constexpr std::uint16_t kPort = 5001;
constexpr int kSkip = 77;
// Of wall time: only what hangs takes so long, on a busy machine, too.
constexpr int kTimeLimitS = 900;

// This machine cannot run the test.
class Unsupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void ThrowErrno(const std::string& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Options {
  std::string algorithm = "oscar";
  bool ipv6 = false;
  std::uint64_t bytes = 64 << 20;
  std::uint32_t line_rate_mbps = 0;  // not told
  std::uint32_t base_rtt_ns = 200000;
  std::vector<delaycc::BpfSetting> parameters;
  std::vector<std::string> command;  // in place of the transfer
};

// What both ends compute of the payload (FNV-1a over 64-bit words).
class Checksum {
 public:
  void Add(std::uint64_t word) { sum_ = (sum_ ^ word) * 1099511628211ULL; }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 14695981039346656037ULL;
};

// The payload: a generator that is its own position's function would hide lost words; this does
// not.
class Payload {
 public:
  std::uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_ = 88172645463325252ULL;
};

// Runs ip(8); only its exit status matters.
void Ip(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv = {"ip"};
  argv.insert(argv.end(), arguments);
  std::string line;
  for (const char* argument : argv) line += std::string(argument) + " ";
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) ThrowErrno("fork");
  if (pid == 0) {
    execvp("ip", const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  int status = 0;
  if (waitpid(pid, &status, 0) < 0) ThrowErrno("waitpid");
  if (status != 0) throw std::runtime_error(line + "failed");
}

bool Registered(const std::string& algorithm) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  for (std::string name; file >> name;)
    if (name == algorithm) return true;
  return false;
}

// An algorithm that is loaded as `delaycc load` does it; the end takes it off the kernel's list.
class Loaded {
 public:
  explicit Loaded(const Options& options) {
    delaycc::BpfLoadOptions load;
    load.settings = options.parameters;
    load.settings.emplace_back("line_rate_mbps", options.line_rate_mbps);
    load.settings.emplace_back("base_rtt_ns", options.base_rtt_ns);
    algorithm_ = delaycc::load_bpf(
        std::string(DELAYCC_BPF_OBJECTS) + "/" + options.algorithm + ".bpf.o", load);
  }
  ~Loaded() {
    try {
      delaycc::unload_bpf(algorithm_);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bpf_transfer: %s\n", error.what());
    }
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const std::string& kernel_name() const { return algorithm_.kernel; }
  std::map<std::string, std::uint64_t> Count() const {
    return delaycc::find_bpf(algorithm_.name).counters;
  }

 private:
  delaycc::BpfAlgorithm algorithm_;
};

sockaddr_storage Address(bool ipv6, const char* text4, const char* text6, socklen_t* length) {
  sockaddr_storage storage = {};
  if (ipv6) {
    auto* address = reinterpret_cast<sockaddr_in6*>(&storage);
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(kPort);
    inet_pton(AF_INET6, text6, &address->sin6_addr);
    *length = sizeof(*address);
  } else {
    auto* address = reinterpret_cast<sockaddr_in*>(&storage);
    address->sin_family = AF_INET;
    address->sin_port = htons(kPort);
    inet_pton(AF_INET, text4, &address->sin_addr);
    *length = sizeof(*address);
  }
  return storage;
}

void NewNamespace() {
  if (unshare(CLONE_NEWNET) != 0) {
    if (errno == EPERM) throw Unsupported("a network namespace needs root");
    ThrowErrno("unshare(CLONE_NEWNET)");
  }
}

void RaiseLink(const char* device, const char* address4, const char* address6) {
  Ip({"addr", "add", address4, "dev", device});
  Ip({"addr", "add", address6, "dev", device, "nodad"});
  Ip({"link", "set", device, "up"});
  Ip({"link", "set", "lo", "up"});
}

void WriteAll(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0) ThrowErrno("write");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void ReadAll(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(fd, at, size);
    if (n < 0) ThrowErrno("read");
    if (n == 0) throw std::runtime_error("read: the other end is gone");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

// The receiver: accepts one connection and returns the checksum of what came.
std::uint64_t Receive(int listener, std::uint64_t bytes) {
  pollfd ready = {listener, POLLIN, 0};
  if (poll(&ready, 1, 20000) != 1) throw std::runtime_error("nobody connected within 20 s");
  const Fd connection(accept(listener, nullptr, nullptr));
  if (connection.get() < 0) ThrowErrno("accept");
  const timeval limit = {30, 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));

  Checksum checksum;
  std::vector<std::uint64_t> buffer(1 << 15);
  for (std::uint64_t left = bytes; left > 0;) {
    const std::size_t want = std::min<std::uint64_t>(left, buffer.size() * sizeof(buffer[0]));
    ReadAll(connection.get(), buffer.data(), want);
    for (std::size_t i = 0; i < want / sizeof(buffer[0]); ++i) checksum.Add(buffer[i]);
    left -= want;
  }
  return checksum.value();
}

// The sender, in its own process and namespace; returns the checksum of what it sent.
std::uint64_t Send(const Options& options, const std::string& algorithm) {
  socklen_t length = 0;
  const sockaddr_storage peer = Address(options.ipv6, "10.77.0.1", "fd77::1", &length);
  const Fd connection(socket(peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connection.get() < 0) ThrowErrno("socket");
  if (setsockopt(connection.get(), IPPROTO_TCP, TCP_CONGESTION, algorithm.c_str(),
                 static_cast<socklen_t>(algorithm.size())) != 0)
    ThrowErrno("setsockopt(TCP_CONGESTION, " + algorithm + ")");
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&peer), length) != 0)
    ThrowErrno("connect");

  Checksum checksum;
  Payload payload;
  std::vector<std::uint64_t> buffer(1 << 15);
  for (std::uint64_t left = options.bytes; left > 0;) {
    const std::size_t size = std::min<std::uint64_t>(left, buffer.size() * sizeof(buffer[0]));
    for (std::size_t i = 0; i < size / sizeof(buffer[0]); ++i) {
      buffer[i] = payload.Next();
      checksum.Add(buffer[i]);
    }
    WriteAll(connection.get(), buffer.data(), size);
    left -= size;
  }

  char name[16] = {};
  socklen_t name_length = sizeof(name);
  if (getsockopt(connection.get(), IPPROTO_TCP, TCP_CONGESTION, name, &name_length) != 0)
    ThrowErrno("getsockopt(TCP_CONGESTION)");
  if (algorithm != name)
    throw std::runtime_error(std::string("the socket runs ") + name + ", not " + algorithm);
  return checksum.value();
}

// The sender's process: waits for its link, sends, reports its checksum.  Never returns.
[[noreturn]] void SenderProcess(const Options& options, const std::string& algorithm, int to_parent,
                                int from_parent) {
  int status = 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    NewNamespace();
    char token = 'n';
    WriteAll(to_parent, &token, 1);
    ReadAll(from_parent, &token, 1);
    RaiseLink("dcc1", "10.77.0.2/24", "fd77::2/64");
    ReadAll(from_parent, &token, 1);
    const std::uint64_t sum = Send(options, algorithm);
    WriteAll(to_parent, &sum, sizeof(sum));
    status = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bpf_transfer: sender: %s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

void Check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void Transfer(const Options& options, const std::string& algorithm) {
  int up[2], down[2];
  if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0) ThrowErrno("pipe2");
  const pid_t sender = fork();
  if (sender < 0) ThrowErrno("fork");
  if (sender == 0) SenderProcess(options, algorithm, up[1], down[0]);
  close(up[1]);
  close(down[0]);
  const Fd from_sender(up[0]), to_sender(down[1]);

  char token = 0;
  NewNamespace();
  ReadAll(from_sender.get(), &token, 1);
  const std::string pid = std::to_string(sender);
  Ip({"link", "add", "dcc0", "type", "veth", "peer", "name", "dcc1", "netns", pid.c_str()});
  WriteAll(to_sender.get(), &token, 1);
  RaiseLink("dcc0", "10.77.0.1/24", "fd77::1/64");

  socklen_t length = 0;
  const sockaddr_storage local = Address(options.ipv6, "10.77.0.1", "fd77::1", &length);
  const Fd listener(socket(local.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) ThrowErrno("socket");
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&local), length) != 0 ||
      listen(listener.get(), 1) != 0)
    ThrowErrno("listen");
  WriteAll(to_sender.get(), &token, 1);

  const std::uint64_t received = Receive(listener.get(), options.bytes);
  std::uint64_t sent = 0;
  ReadAll(from_sender.get(), &sent, sizeof(sent));
  int status = 0;
  if (waitpid(sender, &status, 0) < 0) ThrowErrno("waitpid");
  Check(status == 0, "the sender failed");
  Check(sent == received, "the checksums differ");
}

[[noreturn]] void Execute(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  ThrowErrno("--run: " + command[0]);
}

// The transfer in a process of its own.  This one must live to take the algorithm off the kernel's
// list, whatever happens: a registration outlives its loader.
void TransferGuarded(const Options& options, const std::string& algorithm) {
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  if (sigprocmask(SIG_BLOCK, &signals, &before) != 0) ThrowErrno("sigprocmask");
  const pid_t worker = fork();
  if (worker < 0) ThrowErrno("fork");
  if (worker == 0) {
    int status = 1;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      if (!options.command.empty()) Execute(options.command);
      Transfer(options, algorithm);
      status = 0;
    } catch (const Unsupported& reason) {
      std::printf("skipped: %s\n", reason.what());
      status = kSkip;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bpf_transfer: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }

  const timespec limit = {kTimeLimitS, 0};
  const int signal = sigtimedwait(&signals, nullptr, &limit);
  if (signal != SIGCHLD) kill(worker, SIGKILL);
  int status = 0;
  if (waitpid(worker, &status, 0) < 0) ThrowErrno("waitpid");
  Check(signal >= 0, "no end after " + std::to_string(kTimeLimitS) + " s");
  Check(signal == SIGCHLD, "interrupted");
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkip) throw Unsupported("see above");
  Check(status == 0, "the transfer failed");
}

std::uint64_t Number(const char* option, const char* text, std::uint64_t low, std::uint64_t high) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
    throw std::invalid_argument(std::string(option) + ": " + text + ": wanted " +
                                std::to_string(low) + " .. " + std::to_string(high));
  return value;
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--ipv6") {
      options.ipv6 = true;
    } else if (option == "--algorithm" && i + 1 < argc) {
      options.algorithm = argv[++i];
    } else if (option == "--megabytes" && i + 1 < argc) {
      options.bytes = Number("--megabytes", argv[++i], 1, 100000) << 20;
    } else if (option == "--line-rate-mbps" && i + 1 < argc) {
      options.line_rate_mbps =
          static_cast<std::uint32_t>(Number("--line-rate-mbps", argv[++i], 1, 800000));
    } else if (option == "--base-rtt-ns" && i + 1 < argc) {
      options.base_rtt_ns =
          static_cast<std::uint32_t>(Number("--base-rtt-ns", argv[++i], 0, 1000000000));
    } else if (option == "--run" && i + 1 < argc) {
      options.command.assign(argv + i + 1, argv + argc);
      break;
    } else if (option == "--set" && i + 1 < argc) {
      options.parameters.push_back(delaycc::parse_bpf_setting(argv[++i]));
    } else {
      throw std::invalid_argument(
          option +
          ": usage: bpf_transfer [--algorithm NAME] [--ipv6] "
          "[--megabytes N] [--line-rate-mbps N] [--base-rtt-ns N] [--set FIELD=N]... "
          "[--run COMMAND [ARGUMENT]...]");
    }
  }
  return options;
}

void Run(const Options& options) {
  if (geteuid() != 0) throw Unsupported("loading BPF programs needs root");
  std::string name;
  {
    const Loaded loaded(options);
    name = loaded.kernel_name();
    Check(Registered(name), "the kernel does not list the algorithm");
    TransferGuarded(options, name);
    const auto c = loaded.Count();
    std::cout << "sockets " << c.at("sockets") << " refused " << c.at("refused") << " acks "
              << c.at("acks") << " ns_rtt " << c.at("notes_hit") << " decisions "
              << c.at("decisions") << " losses " << c.at("losses") << " timeouts "
              << c.at("timeouts") << "\n";
    if (!options.command.empty()) return;
    Check(c.at("sockets") == 1, "the program served another number of sockets than one");
    Check(c.at("decisions") > 0, "the program decided nothing");
    Check(c.at("notes_hit") * 2 > c.at("acks"), "most RTTs were not in nanoseconds");
  }
  Check(!Registered(name), "the kernel still lists the algorithm");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(Parse(argc, argv));
    return 0;
  } catch (const Unsupported& reason) {
    std::printf("skipped: %s\n", reason.what());
    return kSkip;
  } catch (const delaycc::BpfUnsupported& reason) {
    std::printf("skipped: %s\n", reason.what());
    return kSkip;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bpf_transfer: %s\n", error.what());
    return 1;
  }
}

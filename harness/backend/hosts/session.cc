// SPDX-License-Identifier: Apache-2.0
#include "backend/hosts/session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <vector>

namespace delaycc {
namespace {

constexpr int kHelloMs = 60'000;
constexpr int kClockMs = 10'000;
constexpr int kPtpMs = 60'000;
constexpr int kRestoreMs = 10'000;
constexpr int kLookMs = 100;  // so often a request to stop is seen
constexpr int kEndMs = 1'000;
constexpr int kClockExchanges = 20;
constexpr size_t kMostLines = 3;

// For the shell of the user there, whichever it is.
std::string quoted(const std::string& script) { return "exec sh -c '" + script + "'"; }

// The shell stays, so that the folder goes even where the runner cannot be started.
std::string upload_command(size_t bytes, const std::string& sudo) {
  const std::string count = std::to_string(bytes);
  return quoted(
      "umask 077; d=$(mktemp -d) || exit 1; "
      "head -c " +
      count +
      " >\"$d/runner\"; "
      "if [ \"$(wc -c <\"$d/runner\")\" -eq " +
      count +
      " ]; then "
      "chmod 700 \"$d/runner\"; " +
      sudo +
      "\"$d/runner\" --remote \"$d\"; fi; "
      "s=$?; rm -rf \"$d\"; exit $s");
}

}  // namespace

Session::Session(const InventoryHost& host, const std::string& ssh_config,
                 const std::string& runner_path, std::string messages,
                 const std::atomic<bool>& stop)
    : host_(host), messages_(std::move(messages)) {
  const std::string image = read_file(runner_path);
  const std::string sudo = host_.sudo ? "sudo -n " : "";
  start(ssh_config, host_.runner.empty() ? upload_command(image.size(), sudo)
                                         : quoted(sudo + host_.runner + " --remote"));
  try {
    for (std::string_view left = image; host_.runner.empty() && !left.empty();) {
      const ssize_t n = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (n < 0) break;  // why shows next
      left.remove_prefix(static_cast<size_t>(n));
    }
    hello_ = hello_from_json(expect("hello", kHelloMs, stop));
    if (hello_.build != hash_hex(image))
      throw error("the runner " + host_.runner + " there is of another build than this delaycc (" +
                  hello_.build.substr(0, 8) + ", here " + hash_hex(image).substr(0, 8) +
                  "); install the same on both, or leave out \"runner\": then it is uploaded");
    if (!hello_.root)
      throw error(
          "the runner there is not root, which sysctls and packets' stamps need; allowed is "
          "ssh = \"root@...\", or sudo = true");
  } catch (...) {
    end();
    throw;
  }
  beats_ = std::thread([this] { beat(); });
}

Session::~Session() {
  {
    std::lock_guard<std::mutex> lock(ending_);
    over_ = true;
  }
  ended_.notify_all();
  if (beats_.joinable()) beats_.join();
  end();
}

void Session::start(const std::string& ssh_config, const std::string& command) {
  // A prompt could not be answered, and a connection that is lost has to show.
  std::vector<std::string> words = {"ssh",
                                    "-T",
                                    "-x",
                                    "-o",
                                    "BatchMode=yes",
                                    "-o",
                                    "ConnectTimeout=20",
                                    "-o",
                                    "ServerAliveInterval=5",
                                    "-o",
                                    "ServerAliveCountMax=3"};
  if (!ssh_config.empty()) words.insert(words.end(), {"-F", ssh_config});
  words.insert(words.end(), {"--", host_.ssh, command});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    throw system_error("socketpair", "");
  socket_ = Fd(ends[0]);
  const Fd theirs(ends[1]);
  const Fd said = open_file(messages_, O_WRONLY | O_CREAT | O_TRUNC);
  ssh_ = fork();
  if (ssh_ < 0) throw system_error("fork", "ssh");
  if (ssh_ > 0) {
    ssh_fd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, ssh_, 0)));
    if (!ssh_fd_) throw system_error("pidfd_open", "ssh");
    return;
  }
  // A group of its own: the ^C of the terminal is for this process, which ends trials in order.
  // That this process ends, ssh sees by its standard input.
  setpgid(0, 0);
  dup2(theirs.get(), STDIN_FILENO);
  dup2(theirs.get(), STDOUT_FILENO);
  dup2(said.get(), STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp("ssh", arguments.data());
  const char message[] = "ssh is not installed: apt-get install openssh-client\n";
  if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0) _exit(126);
  _exit(127);
}

void Session::wait_for_end() const {
  pollfd ended = {ssh_fd_.get(), POLLIN, 0};
  while (poll(&ended, 1, kEndMs) < 0 && errno == EINTR) {
  }
}

void Session::end() {
  socket_.reset();
  wait_for_end();
  kill(ssh_, SIGKILL);
  waitpid(ssh_, nullptr, 0);
}

void Session::beat() {
  std::unique_lock<std::mutex> lock(ending_);
  while (!ended_.wait_for(lock, std::chrono::milliseconds(kBeatMs), [this] { return over_; })) {
    try {
      send("beat");
    } catch (const Error&) {
      return;  // whoever expects something is told
    }
  }
}

void Session::send(std::string_view name, std::string_view payload) {
  std::lock_guard<std::mutex> lock(sending_);
  send_frame(socket_.get(), name, payload);
}

std::string Session::last_words() const {
  std::string text;
  try {
    text = read_file(messages_);
  } catch (const Error&) {
    return "";
  }
  std::string result;
  for (size_t lines = 0; lines < kMostLines && !text.empty(); lines++) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    const size_t begin = text.rfind('\n') + 1;  // 0 where there is none
    const std::string line = text.substr(begin);
    text.resize(begin);
    if (!line.empty()) result = result.empty() ? line : line + "; " + result;
  }
  return result;
}

Frame Session::next_frame(int timeout_ms, const std::atomic<bool>& stop) {
  const int64_t end_ns = monotonic_ns() + int64_t{timeout_ms} * 1'000'000;
  for (Frame frame;;) {
    try {
      if (reader_.take(&frame)) return frame;
    } catch (const Error& e) {
      lost_ = true;
      throw error(e.what() +
                  std::string(" in place of what a runner says; a login there is to print "
                              "nothing"));
    }
    if (stop) throw Interrupted();
    if (monotonic_ns() > end_ns) {
      lost_ = true;
      throw error("no answer within " + std::to_string(timeout_ms / 1000) + " s");
    }
    pollfd wait = {socket_.get(), POLLIN, 0};
    if (poll(&wait, 1, kLookMs) <= 0) continue;
    char buffer[64 << 10];
    const ssize_t n = recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (n > 0) {
      reader_.add(buffer, static_cast<size_t>(n));
      continue;
    }
    lost_ = true;
    // Its last words are written before it ends.
    wait_for_end();
    const std::string words = last_words();
    throw error("ssh: " + (words.empty() ? "the connection has ended" : words));
  }
}

std::string Session::expect(const std::string& name, int timeout_ms,
                            const std::atomic<bool>& stop) {
  Frame frame = next_frame(timeout_ms, stop);
  if (frame.name == name) return std::move(frame.payload);
  if (frame.name == "error") throw error(frame.payload);
  throw error("said \"" + frame.name + "\" where \"" + name + "\" was expected");
}

std::string Session::end_trial() {
  send("end");
  // What the trial has still said before is of no interest.
  const std::atomic<bool> never{false};
  for (;;) {
    Frame frame = next_frame(kRestoreMs, never);
    if (frame.name == "restored") return std::move(frame.payload);
  }
}

ClockOffset Session::compare_clocks(const std::atomic<bool>& stop) {
  ClockOffset best;
  int64_t least_ns = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kClockExchanges; i++) {
    const int64_t before_ns = monotonic_ns();
    send("clock");
    const int64_t there_ns = strtoll(expect("clock", kClockMs, stop).c_str(), nullptr, 10);
    const int64_t after_ns = monotonic_ns();
    if (after_ns - before_ns >= least_ns) continue;
    least_ns = after_ns - before_ns;
    best.error_ns = least_ns / 2 + 1;
    best.offset_ns = there_ns - (before_ns + least_ns / 2);
  }
  return best;
}

PtpState Session::ask_ptp(const std::atomic<bool>& stop) {
  send("ptp", ptp_order_to_json({host_.ptp_socket}));
  PtpState state = ptp_state_from_json(expect("ptp", kPtpMs, stop));
  if (!state.trouble.empty())
    throw error("ptp = true, and PTP does not keep its clock: " + state.trouble);
  return state;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace delaycc {

uint64_t processor_ticks(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  uint64_t ticks = 0;
  try {
    // "pid (name) state ppid ...": the twelfth to the fifteenth word behind the name are utime,
    // stime, and those of children that have ended.
    const std::string stat = read_file(folder + "/stat");
    std::istringstream words(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
    std::string word;
    for (int i = 1; words >> word && i <= 15; i++)
      if (i >= 12) ticks += strtoull(word.c_str(), nullptr, 10);
    std::istringstream children(read_file(folder + "/task/" + std::to_string(pid) + "/children"));
    for (pid_t child = 0; children >> child;) ticks += processor_ticks(child);
  } catch (const Error&) {
    // It has ended, or this kernel does not tell.
  }
  return ticks;
}

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
             const std::string& output, int processor_s) {
  // Everything is allocated before fork(): between fork() and exec() only the child's thread is
  // left of this process.
  std::vector<char*> argv, envp;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  for (const std::string& e : environment) envp.push_back(const_cast<char*>(e.c_str()));
  envp.push_back(nullptr);
  Fd out = open_file(output, O_WRONLY | O_CREAT | O_TRUNC);
  Fd in = open_file("/dev/null", O_RDONLY);
  const pid_t parent = getpid();
  const auto limit_s = static_cast<rlim_t>(processor_s);
  const rlimit processor = {limit_s, limit_s + 5};
  pid_ = fork();
  if (pid_ < 0) throw system_error("fork", arguments.front());
  if (pid_ == 0) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    // Addresses of the lab's stack and heap reach its hash functions.
    personality(ADDR_NO_RANDOMIZE);
    setrlimit(RLIMIT_CPU, &processor);
    dup2(in.get(), 0);
    dup2(out.get(), 1);
    dup2(out.get(), 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) throw system_error("pidfd_open", arguments.front());
}

Child::~Child() {
  kill(-pid_, SIGKILL);
  if (!reaped_) waitpid(pid_, nullptr, 0);
}

int Child::signal() const { return reaped_ && WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }

bool Child::wait_for(int timeout_ms) {
  pollfd poll_fd = {pidfd_.get(), POLLIN, 0};
  if (poll(&poll_fd, 1, timeout_ms) <= 0) return false;
  if (waitpid(pid_, &status_, 0) < 0) throw system_error("waitpid", "");
  reaped_ = true;
  return true;
}

}  // namespace delaycc

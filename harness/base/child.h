// SPDX-License-Identifier: Apache-2.0
// A program that this process starts and ends.
#ifndef DELAYCC_HARNESS_BASE_CHILD_H_
#define DELAYCC_HARNESS_BASE_CHILD_H_

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/posix.h"

namespace delaycc {

// Clock ticks of processor time that a process and all below it have used; 0 once it has ended.
uint64_t processor_ticks(pid_t pid);

// A child in its own process group, killed with all its descendants by its owner. The kernel ends
// it when this process ends, however that happens, and any process of it that uses more than
// `processor_s` seconds of processor time.
class Child {
 public:
  // `arguments[0]` is the program's path; standard output and error go to the file `output`. Throws
  // Error when it cannot be started.
  Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
        const std::string& output, int processor_s);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // That it ended by the limit of processor time.
  bool used_up() const { return signal() == SIGXCPU; }
  // That it ended by; 0: by none, or not yet.
  int signal() const;
  // True when it ended within `timeout_ms`.
  bool wait_for(int timeout_ms);

 private:
  pid_t pid_ = -1;
  Fd pidfd_;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_CHILD_H_

// SPDX-License-Identifier: Apache-2.0
// The lab: each trial is a boot of the lab kernel in virtual time, as a child process.
#ifndef DELAYCC_HARNESS_BACKEND_LAB_LAB_H_
#define DELAYCC_HARNESS_BACKEND_LAB_LAB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace delaycc {

// The lab beside this program, or where DELAYCC_LAB says. Throws Error with the remedy;
// BackendForbidden if it is there, but not for this user.
std::unique_ptr<Backend> find_lab();

// A program that runs in the lab as its init, without a plan.
struct LabProgram {
  std::string init;  // executable, absolute
  // Absolute. Its environment has it as DCC_DIR, and the folder of the lab's modules as
  // DCC_MODULES; it leaves its results there, and the console is kept there.
  std::string directory;
  std::string what;  // a word for it in errors: "the script"
  int memory_mb = 0;
  uint64_t seed = 0;
  int timeout_s = 0;  // of processor time
  // What each look at the clock takes of virtual time: a program that spins until something is
  // ready spins that much less often.
  int clock_read_ns = 0;
};

// Returns when the program has ended and left the file `status` in its directory. Calls `tick` ten
// times a second meanwhile. Throws Error when it left error.txt instead, or nothing, or used more
// than timeout_s; Interrupted once `stop`.
void run_in_lab(const LabProgram& program, const std::function<void()>& tick,
                const std::atomic<bool>& stop);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_LAB_LAB_H_

// SPDX-License-Identifier: Apache-2.0
// One trial in the lab kernel, as a child process.
#ifndef DELAYCC_HARNESS_BACKEND_LAB_LAB_H_
#define DELAYCC_HARNESS_BACKEND_LAB_LAB_H_

#include <atomic>
#include <string>
#include <vector>

#include "base/posix.h"
#include "plan/plan.h"
#include "trace/records.h"

namespace delaycc {

// What a trial is run with. All are absolute paths.
struct Lab {
  std::string kernel;   // the User-Mode Linux executable
  std::string modules;  // folder of *.ko
  std::string runner;   // delaycc-runner

  // By its name or an alias.
  bool has_module(const std::string& name) const;
  // Names of the congestion controls that a trial can use, sorted: those that
  // harness/backend/lab/kernel/lab.config builds into the kernel, and those of the modules
  // tcp_NAME.ko and their aliases. Boots nothing.
  std::vector<std::string> algorithms() const;
  // Hash of the kernel, every module, the runner and this program: what can change a figure.
  std::string build_id() const;
};

// Finds the lab beside this program, or where DELAYCC_LAB says. Throws Error with the remedy;
// LabForbidden if it is there, but not for this user.
class LabForbidden : public Error {
 public:
  using Error::Error;
};
Lab find_lab();

// Writes plan.json into `directory`, boots the lab on it and returns its records. Throws
// Interrupted when `stop` becomes true, else Error with the runner's message or the end of the
// console when the trial failed, used more than `timeout_s` seconds of processor time, or none for
// so many seconds: how long it takes says only how busy the machine is.
Records run_in_lab(const Lab& lab, const Plan& plan, const std::string& directory, int timeout_s,
                   const std::atomic<bool>& stop);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_LAB_LAB_H_

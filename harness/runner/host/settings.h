// SPDX-License-Identifier: Apache-2.0
// What a trial changes on a host that has other work, too, and puts back.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_SETTINGS_H_
#define DELAYCC_HARNESS_RUNNER_HOST_SETTINGS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace delaycc {

// Sysctls, and the root qdisc of one device, of the namespace that the caller is in.
class Settings {
 public:
  Settings() = default;
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() { restore(); }

  // Throws Error naming the sysctl; what was changed before stays changed until restore().
  void set_sysctls(const std::map<std::string, std::string>& values);
  // A qdisc of this kind at the device's root in place of the kernel's own; one that is of this
  // kind stays. Throws Error for a device whose qdisc somebody has set: it could not be put back
  // whole.
  void set_qdisc(const std::string& device, const std::string& kind);
  // Puts everything back, the last change first; what was not possible is in the result. A second
  // call does nothing.
  std::vector<std::string> restore();

 private:
  std::vector<std::pair<std::string, std::string>> sysctls_;  // as they were, in order of change
  int ifindex_ = 0;                                           // of the qdisc; 0: none was set
  std::string device_;
  std::string qdisc_;  // kind before
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_SETTINGS_H_

// SPDX-License-Identifier: Apache-2.0
// Settings into the kernel, or into a file for it.
#ifndef DELAYCC_HARNESS_CALIBRATE_APPLY_H_
#define DELAYCC_HARNESS_CALIBRATE_APPLY_H_

#include <string>
#include <vector>

#include "calibrate/settings.h"

namespace delaycc {

// The folder of the sysctls below net.ipv4.delaycc.
inline constexpr char kSysctlFolder[] = "/proc/sys/net/ipv4/delaycc";

// Whether the sysctl, or the algorithm "oscar", is there: its module is loaded.
bool has_sysctl(const std::string& folder, const std::string& name);

// Writes all settings into `folder`, each read back, or none: when one is refused the others get
// the values that they had. A prefix of base_rtt_paths takes the place of an equal one, and the
// table's others stay. Throws Error naming the sysctl.
void apply_settings(const std::string& folder, const std::vector<Setting>& settings);

// A file for /etc/sysctl.d, with each setting's reason above it. A line of an algorithm that is not
// loaded at boot is no error there.
std::string sysctl_file(const std::string& title, const std::vector<Setting>& settings);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_CALIBRATE_APPLY_H_

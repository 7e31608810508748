// SPDX-License-Identifier: Apache-2.0
// Loading modules into the running kernel.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_KERNEL_MODULE_H_
#define DELAYCC_HARNESS_RUNNER_HOST_KERNEL_MODULE_H_

#include <string>

namespace delaycc {

// From the folder, or for what that lacks, and where it is empty, by modprobe. One that is there
// stays. Throws Error.
void load_module(const std::string& folder, const std::string& wanted);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_KERNEL_MODULE_H_

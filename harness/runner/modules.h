// SPDX-License-Identifier: Apache-2.0
// Kernel modules from a folder of the caller's own.
#ifndef DELAYCC_HARNESS_RUNNER_MODULES_H_
#define DELAYCC_HARNESS_RUNNER_MODULES_H_

#include <string>

namespace delaycc {

// Loads the module of `folder` that is called `wanted` or has that alias, and before it those that
// it needs; what the kernel has already stays. False: the folder has none. Throws Error.
bool insert_module(const std::string& folder, const std::string& wanted);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_MODULES_H_

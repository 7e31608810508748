// SPDX-License-Identifier: Apache-2.0
// What a kernel module's file says of itself, as modprobe reads it.
#ifndef DELAYCC_HARNESS_BASE_MODULE_INFO_H_
#define DELAYCC_HARNESS_BASE_MODULE_INFO_H_

#include <string>
#include <vector>

namespace delaycc {

// Every value of `key` among the "key=value" strings in a module's image.
std::vector<std::string> module_info(const std::string& image, const std::string& key);

// The modules that it needs loaded before it, by its "depends=a,b".
std::vector<std::string> module_dependencies(const std::string& image);

// The module in `directory` that is called `name` or has it as an alias; empty: none.
std::string find_module(const std::string& directory, const std::string& name);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_MODULE_INFO_H_

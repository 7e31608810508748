// SPDX-License-Identifier: Apache-2.0
// The name that a mistyped one was probably meant to be.
#ifndef DELAYCC_HARNESS_BASE_SUGGEST_H_
#define DELAYCC_HARNESS_BASE_SUGGEST_H_

#include <string>
#include <vector>

namespace delaycc {

// The nearest of `names` by characters inserted, deleted, replaced or swapped with their neighbour;
// empty where that takes more than a third of `name`. Of several the first.
std::string nearest_name(const std::string& name, const std::vector<std::string>& names);

// `; the nearest is "oscar"`, or nothing.
std::string nearest_text(const std::string& name, const std::vector<std::string>& names);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_SUGGEST_H_

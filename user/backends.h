// SPDX-License-Identifier: Apache-2.0
// The backends there are: the only place that knows them by name.
#ifndef DELAYCC_USER_BACKENDS_H_
#define DELAYCC_USER_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace delaycc {

inline constexpr char kDefaultBackend[] = "lab";

std::vector<std::string> backend_names();

// `folder` is of a backend that reads one; empty: none was given. Throws ScenarioError for an
// unknown name, or a folder that is missing, too much or without kept trials; Error when the
// backend is not there.
std::unique_ptr<Backend> make_backend(const std::string& name, const std::string& folder);

}  // namespace delaycc

#endif  // DELAYCC_USER_BACKENDS_H_

// SPDX-License-Identifier: Apache-2.0
// The backends there are: the only place that knows them by name.
#ifndef DELAYCC_USER_BACKENDS_H_
#define DELAYCC_USER_BACKENDS_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace delaycc {

inline constexpr char kDefaultBackend[] = "lab";

std::vector<std::string> backend_names();

// Which backend, and what it was given; empty: nothing.
struct BackendChoice {
  std::string name = kDefaultBackend;
  std::string folder;     // of the records, for replay
  std::string inventory;  // a file, for hosts
};

// Throws ScenarioError for an unknown name, for what it needs and was not given, or was given and
// does not need, and for what is wrong with that; Error when the backend is not there; Interrupted
// once `stop`.
std::unique_ptr<Backend> make_backend(const BackendChoice& choice, const std::atomic<bool>& stop);
// The one without a choice.
std::unique_ptr<Backend> make_default_backend();

}  // namespace delaycc

#endif  // DELAYCC_USER_BACKENDS_H_

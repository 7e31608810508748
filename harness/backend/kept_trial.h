// SPDX-License-Identifier: Apache-2.0
// The folder of a kept trial: plan.json, the records (trace/records.h), and origin.json, which says
// what ran the plan.
#ifndef DELAYCC_HARNESS_BACKEND_KEPT_TRIAL_H_
#define DELAYCC_HARNESS_BACKEND_KEPT_TRIAL_H_

#include <string>

#include "backend/backend.h"

namespace delaycc {

// What ran a kept trial, and what its records can show.
struct Origin {
  std::string backend;
  std::string build;
  Capabilities can;
};

// Writes into a folder that is there. Throws Error naming the file.
void keep_trial(const std::string& folder, const Plan& plan, const Backend& backend,
                const Records& records);
// Reads origin.json of the folder. Throws Error naming the file.
Origin read_origin(const std::string& folder);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_KEPT_TRIAL_H_

// SPDX-License-Identifier: Apache-2.0
// The lab: each trial is a boot of the lab kernel in virtual time, as a child process.
#ifndef DELAYCC_HARNESS_BACKEND_LAB_LAB_H_
#define DELAYCC_HARNESS_BACKEND_LAB_LAB_H_

#include <memory>

#include "backend/backend.h"

namespace delaycc {

// The lab beside this program, or where DELAYCC_LAB says. Throws Error with the remedy;
// BackendForbidden if it is there, but not for this user.
std::unique_ptr<Backend> find_lab();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_LAB_LAB_H_

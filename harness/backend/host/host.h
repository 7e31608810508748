// SPDX-License-Identifier: Apache-2.0
// The running kernel: each trial in network namespaces of this machine, in wall time.
#ifndef DELAYCC_HARNESS_BACKEND_HOST_HOST_H_
#define DELAYCC_HARNESS_BACKEND_HOST_HOST_H_

#include <memory>
#include <vector>

#include "backend/backend.h"

namespace delaycc {

// Throws Error naming what this machine lacks, BackendForbidden where this user may not.
std::unique_ptr<Backend> find_host();

// What it needs, there or not. Changes nothing.
std::vector<BackendPart> host_parts();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOST_HOST_H_

// SPDX-License-Identifier: Apache-2.0
// Real hosts, each reached by ssh: each trial between them, over the network as it is.
#ifndef DELAYCC_HARNESS_BACKEND_HOSTS_HOSTS_H_
#define DELAYCC_HARNESS_BACKEND_HOSTS_HOSTS_H_

#include <atomic>
#include <memory>
#include <string>

#include "backend/backend.h"

namespace delaycc {

// Connects to every host of the inventory. Throws ScenarioError for a wrong inventory, Error naming
// the host that cannot be used, Interrupted once `stop`.
std::unique_ptr<Backend> find_hosts(const std::string& inventory, const std::atomic<bool>& stop);

// What it needs of this machine, there or not.
std::vector<BackendPart> hosts_parts();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOSTS_HOSTS_H_

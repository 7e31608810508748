// SPDX-License-Identifier: Apache-2.0
// A plan's nodes and links as network namespaces and veth pairs of the running kernel.
#ifndef DELAYCC_HARNESS_RUNNER_NETWORK_H_
#define DELAYCC_HARNESS_RUNNER_NETWORK_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/posix.h"
#include "plan/plan.h"
#include "runner/netlink.h"

namespace delaycc {

// The next hop of every route: the far end of a link, whatever its name.
inline constexpr char kGateway[] = "169.254.0.1";
inline constexpr int kLoopbackIndex = 1;

// Writes sysctls of the namespace that this thread is in; throws Error naming the sysctl.
void write_sysctls(const std::map<std::string, std::string>& sysctls);

// The value of one, without the line's end; throws Error naming the sysctl.
std::string read_sysctl(const std::string& name);

// Makes a network namespace and enters it. It lasts as long as something refers to it.
Fd new_namespace();
void enter_namespace(const Fd& netns);

// Adds the qdiscs of one end of a link to requests of that end's namespace.
using AddQdiscs =
    std::function<void(const NodePlan& node, const EndPlan& end, NetlinkBatch& batch)>;

// Calls `each` with every end of the plan's links.
template <typename Each>
void each_end(const Plan& plan, Each each) {
  for (const LinkPlan& link : plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) each(*end);
}

// Builds namespaces, links, addresses, neighbours and routes. Returns the namespace of each node;
// the caller's thread is in one of them afterwards. Throws Error.
std::vector<Fd> build_network(const Plan& plan, const AddQdiscs& add_qdiscs);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_NETWORK_H_

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/flow_finder.h"

#include <arpa/inet.h>

namespace delaycc {

FlowFinder::FlowFinder(const Plan& plan) : plan_(plan) {
  for (const NodePlan& node : plan.nodes) {
    in_addr address = {};
    inet_pton(AF_INET, node.address.c_str(), &address);
    addresses_.push_back(address.s_addr);
  }
}

const FlowPlan* FlowFinder::find(const SeenPacket& seen, bool* data) const {
  *data = seen.dport < kClientPort;
  const int id = (*data ? seen.sport : seen.dport) - kClientPort;
  if (id < 0 || static_cast<size_t>(id) >= plan_.flows.size()) return nullptr;
  const FlowPlan& flow = plan_.flows[static_cast<size_t>(id)];
  const uint32_t source = addresses_[static_cast<size_t>(flow.source)];
  const uint32_t destination = addresses_[static_cast<size_t>(flow.destination)];
  const bool its_own = seen.source == (*data ? source : destination) &&
                       seen.destination == (*data ? destination : source);
  return its_own ? &flow : nullptr;
}

}  // namespace delaycc

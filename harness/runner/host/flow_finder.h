// SPDX-License-Identifier: Apache-2.0
// Which flow of an order's plan a packet is of, as a tap of a real host sees it.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_FLOW_FINDER_H_
#define DELAYCC_HARNESS_RUNNER_HOST_FLOW_FINDER_H_

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "runner/host/tap.h"

namespace delaycc {

// Refers to the plan.
class FlowFinder {
 public:
  explicit FlowFinder(const Plan& plan);
  // nullptr: of none. `data`: it goes from the flow's source to its destination.
  const FlowPlan* find(const SeenPacket& seen, bool* data) const;

 private:
  const Plan& plan_;
  std::vector<uint32_t> addresses_;  // by node, in network order
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_FLOW_FINDER_H_

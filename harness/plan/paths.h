// SPDX-License-Identifier: Apache-2.0
// The ways of packets through a plan's network.
#ifndef DELAYCC_HARNESS_PLAN_PATHS_H_
#define DELAYCC_HARNESS_PLAN_PATHS_H_

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace delaycc {

// A step from a node over one of its ports.
struct Hop {
  uint32_t port = 0;  // id
  int ifindex = 0;
  int to = 0;  // node
};

// By the plan's routes. Nodes are numbers of Plan::nodes; destinations are hosts. All throw Error
// where there is no route.
class Paths {
 public:
  // The plan has to stay.
  explicit Paths(const Plan& plan);
  // First hops of the equal paths from a node to a host.
  std::vector<Hop> hops(int node, int destination) const;
  // From one host to another, of equal paths the first.
  std::vector<Hop> path(int source, int destination) const;

 private:
  const Plan& plan_;
  std::vector<std::vector<Hop>> links_;  // by node
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_PLAN_PATHS_H_

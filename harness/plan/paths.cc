// SPDX-License-Identifier: Apache-2.0
#include "plan/paths.h"

#include <string>

#include "base/posix.h"

namespace delaycc {

Paths::Paths(const Plan& plan) : plan_(plan), links_(plan.nodes.size()) {
  for (const LinkPlan& link : plan.links) {
    links_.at(static_cast<size_t>(link.a.node))
        .push_back({link.a.port.id, link.a.ifindex, link.b.node});
    links_.at(static_cast<size_t>(link.b.node))
        .push_back({link.b.port.id, link.b.ifindex, link.a.node});
  }
}

std::vector<Hop> Paths::hops(int node, int destination) const {
  const std::string to = plan_.nodes.at(static_cast<size_t>(destination)).address + "/32";
  std::vector<Hop> result;
  for (const RoutePlan& route : plan_.routes) {
    if (route.node != node || (route.destination != to && route.destination != "default")) continue;
    for (const int ifindex : route.ifindexes)
      for (const Hop& hop : links_.at(static_cast<size_t>(node)))
        if (hop.ifindex == ifindex) result.push_back(hop);
  }
  if (result.empty())
    throw Error("plan: no route from " + plan_.nodes.at(static_cast<size_t>(node)).name + " to " +
                to);
  return result;
}

std::vector<Hop> Paths::path(int source, int destination) const {
  std::vector<Hop> result;
  for (int at = source; at != destination; at = result.back().to) {
    if (result.size() > plan_.links.size())
      throw Error("plan: the routes from " + plan_.nodes.at(static_cast<size_t>(source)).name +
                  " lead in a circle");
    result.push_back(hops(at, destination).front());
  }
  return result;
}

}  // namespace delaycc

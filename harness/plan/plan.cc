// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/posix.h"

namespace delaycc {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PortPlan, id, name, rate_bps, delay_ns, limit_bytes, ecn_bytes,
                                   reorder_delay_ns, seed, loss_ppm, reorder_ppm, log_flags, noise,
                                   delay_steps, interrupt_gap_ns, bands)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EndPlan, node, ifindex, ifname, mac, port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LinkPlan, a, b)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodePlan, name, address, sysctls)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoutePlan, node, destination, ifindexes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowPlan, id, group, source, destination, cc, listener, start_ns,
                                   connect_at_start, stop_ns, size_bytes, priority, dscp,
                                   pacing_bps, pacing_steps, measured, plot_each)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, scenario, algorithm, seed, mtu_bytes, quickack, ack_dscp,
                                   gso, initcwnd, rto_min_ms, warm_bytes, open_windows, connect_ns,
                                   zero_ns, end_ns, trace, memory_mb, modules, sysctls, nodes,
                                   links, routes, flows)

const FlowPlan& first_measured(const Plan& plan) {
  const auto found = std::find_if(plan.flows.begin(), plan.flows.end(),
                                  [](const FlowPlan& flow) { return flow.measured; });
  return found == plan.flows.end() ? plan.flows.front() : *found;
}

bool is_bpf_program(const std::string& cc) { return cc.rfind("bpf_", 0) == 0; }

std::string plan_to_json(const Plan& plan) { return nlohmann::json(plan).dump(1) + "\n"; }

Plan plan_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<Plan>();
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("plan: ") + e.what());
  }
}

}  // namespace delaycc

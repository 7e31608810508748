// SPDX-License-Identifier: Apache-2.0
#include "eval/fluid_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "eval/fluid.h"
#include "spec/packet.h"

namespace delaycc {

std::vector<double> fluid_trial_fct_s(const Scenario& scenario, const Network& network,
                                      const std::vector<WorkloadFlow>& flows) {
  const int mtu = scenario.hosts.mtu_bytes;
  const double mss = mtu - kTcpIpBytes;
  std::map<int, int> link_of_port;
  std::vector<double> rates_bps;
  std::vector<FluidFlow> fluid;
  std::vector<size_t> of_flow;  // of `fluid`
  std::vector<double> fct_s(flows.size());
  for (size_t i = 0; i < flows.size(); i++) {
    const WorkloadFlow& flow = flows[i];
    const auto bytes = static_cast<double>(flow.size_bytes);
    FluidFlow f;
    f.start_s = static_cast<double>(flow.start_ns) / 1e9;
    f.bytes = wire_bytes(bytes, std::ceil(bytes / mss));
    double slowest_bps = std::numeric_limits<double>::infinity();
    for (const int port : network.path(flow.source, flow.destination)) {
      const auto rate_bps = static_cast<double>(network.port(port).rate_bps);
      if (rate_bps == 0) continue;  // infinitely fast
      const auto [link, fresh] = link_of_port.emplace(port, static_cast<int>(link_of_port.size()));
      if (fresh) rates_bps.push_back(rate_bps);
      f.links.push_back(link->second);
      slowest_bps = std::min(slowest_bps, rate_bps);
    }
    const double ideal_s = static_cast<double>(ideal_fct_ns(network, flow.source, flow.destination,
                                                            mtu, flow.size_bytes)) /
                           1e9;
    if (f.links.empty()) {
      fct_s[i] = ideal_s;
      continue;
    }
    f.latency_s = std::max(0.0, ideal_s - f.bytes * 8 / slowest_bps);
    fluid.push_back(std::move(f));
    of_flow.push_back(i);
  }
  const std::vector<double> shared = fluid_fct_s(fluid, rates_bps);
  for (size_t i = 0; i < shared.size(); i++) fct_s[of_flow[i]] = shared[i];
  return fct_s;
}

}  // namespace delaycc

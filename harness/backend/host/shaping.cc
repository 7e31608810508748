// SPDX-License-Identifier: Apache-2.0
#include "backend/host/shaping.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/posix.h"
#include "spec/packet.h"

namespace delaycc {
namespace {

// Twice what Debian's kernel shows under an emulated processor (docs/research/host.md).
constexpr int64_t kTimerLatenessNs = 50'000;
constexpr int64_t kMostBurstFrames = 64;
constexpr uint32_t kUnlimited = std::numeric_limits<uint32_t>::max();

int64_t serialisation_ns(int bytes, uint64_t rate_bps) {
  if (rate_bps == 0) return 0;
  return static_cast<int64_t>(std::ceil(bytes * 8e9 / static_cast<double>(rate_bps)));
}

// What waits behind the packets that the bucket let go, of `bytes` with them. 0 stays 0.
uint32_t waiting_bytes(uint64_t bytes, uint32_t burst_bytes) {
  if (bytes == 0) return 0;
  const uint64_t behind = bytes > burst_bytes ? bytes - burst_bytes : 1;
  return static_cast<uint32_t>(std::min<uint64_t>(behind, kUnlimited));
}

void refuse(const PortPlan& port, const char* key, const char* why) {
  throw Error("backend host: port " + port.name + ": " + key + ": " + why +
              "; the lab can (--backend lab)");
}

}  // namespace

int64_t timer_lateness_ns() {
  return access("/proc/delaycc_lab", F_OK) == 0 ? 0 : kTimerLatenessNs;
}

ShapedNetwork::ShapedNetwork(const Plan& plan, int64_t late_ns)
    : paths_(plan), ports_(plan.links.size() * 2) {
  if (plan.gso)
    throw Error(
        "backend host: hosts.gso = true: packets are told apart by their stamps at both sides of a "
        "queue, and a segment of many packets has one stamp; allowed is false");
  std::set<uint32_t> data;
  for (const LinkPlan& link : plan.links) {
    for (const PortPlan* port : {&link.a.port, &link.b.port}) {
      if (port->id >= ports_.size())
        throw Error("plan: port " + port->name + " has id " + std::to_string(port->id));
      if (!port->noise.empty()) refuse(*port, "noise", "netem's jitter puts packets out of order");
      if (!port->delay_steps.empty())
        refuse(*port, "extra_delay_steps", "netem's delay changes when a process gets to it");
      if (port->interrupt_gap_ns > 0) refuse(*port, "interrupt_gap_ns", "a veth has no interrupts");
      if (port->reorder_ppm > 0) refuse(*port, "reorder", "netem sends a packet ahead, not behind");
      if (port->bands > 0) refuse(*port, "bands", "a queue that takes DSCPs for priorities");
      if (port->log_flags & kPortSpray)
        refuse(*port, "spray", "Linux takes a path for a flow, not for a packet");
    }
  }
  // Ports that data passes, whichever of equal paths it takes.
  std::set<std::pair<int, int>> pairs;
  for (const FlowPlan& flow : plan.flows) pairs.emplace(flow.source, flow.destination);
  std::set<int> senders;
  for (const auto& [source, destination] : pairs) {
    senders.insert(source);
    std::vector<int> at = {source};
    std::set<int> seen = {source};
    while (!at.empty()) {
      const int node = at.back();
      at.pop_back();
      if (node == destination) continue;
      for (const Hop& hop : paths_.hops(node, destination)) {
        data.insert(hop.port);
        if (seen.insert(hop.to).second) at.push_back(hop.to);
      }
    }
  }

  const auto frame = static_cast<uint32_t>(plan.mtu_bytes + kEthernetBytes);
  const auto own_ns = [&](const PortPlan& port) {
    const bool full = data.count(port.id) > 0;
    return static_cast<int64_t>(port.delay_ns) +
           serialisation_ns(full ? static_cast<int>(frame) : kEthernetBytes + kTcpIpBytes,
                            port.rate_bps);
  };
  uplink_ns_ = std::numeric_limits<int64_t>::max();
  for (const LinkPlan& link : plan.links)
    for (const auto& [here, there] : {std::pair(&link.a, &link.b), std::pair(&link.b, &link.a)}) {
      const PortPlan& port = here->port;
      Shaping& shaping = ports_[port.id];
      shaping.host = !plan.nodes.at(static_cast<size_t>(here->node)).address.empty();
      shaping.rate_bps = port.rate_bps;
      const int64_t full_ns = serialisation_ns(static_cast<int>(frame), port.rate_bps);
      const int64_t late_frames = full_ns > 0 ? (late_ns + full_ns - 1) / full_ns : 0;
      const auto burst =
          static_cast<uint32_t>(std::min<int64_t>(1 + late_frames, kMostBurstFrames)) * frame;
      shaping.burst_bytes = burst;
      shaping.loss_ppm = port.loss_ppm;
      if (shaping.host) {
        if (port.loss_ppm > 0)
          refuse(port, "loss",
                 "a host's own port has no netem, which would hide the queue from TCP");
        shaping.limit_bytes = kUnlimited;
        if (senders.count(here->node)) uplink_ns_ = std::min(uplink_ns_, own_ns(port));
        continue;
      }
      shaping.limit_bytes =
          port.limit_bytes ? std::max(waiting_bytes(port.limit_bytes, burst), frame) : kUnlimited;
      shaping.mark_bytes = waiting_bytes(port.ecn_bytes, burst);
      if (!plan.nodes.at(static_cast<size_t>(there->node)).address.empty())
        shaping.uplink_ns = own_ns(there->port);
      shaping.wire_ns = own_ns(port) + shaping.uplink_ns;
    }
  if (senders.empty()) uplink_ns_ = 0;
}

int64_t ShapedNetwork::path_ns(int source, int destination) const {
  int64_t sum = 0;
  for (const Hop& hop : paths_.path(source, destination)) sum += ports_.at(hop.port).wire_ns;
  return sum;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "backend/hosts/one_way.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace delaycc {
namespace {

void note(std::optional<int64_t>* least_ns, int64_t ns) {
  *least_ns = std::min(least_ns->value_or(ns), ns);
}

}  // namespace

std::vector<OneWay> least_one_way(const Plan& plan, const std::vector<FlowPorts>& ports,
                                  const std::vector<PacketRecord>& packets) {
  std::map<int, int64_t> delay_ns;  // by port: an ACK is recorded so long before it comes
  for (const LinkPlan& link : plan.links)
    for (const EndPlan* end : {&link.a, &link.b})
      delay_ns[static_cast<int>(end->port.id)] = static_cast<int64_t>(end->port.delay_ns);
  // When packets left and came first, by the number behind their last byte.
  std::vector<std::unordered_map<uint32_t, int64_t>> sent_ns(ports.size()), came_ns(ports.size());
  for (const PacketRecord& packet : packets) {
    const auto flow = static_cast<size_t>(packet.sport - kClientPort);
    if (packet.sport < kClientPort || flow >= ports.size() || packet.payload_bytes == 0) continue;
    const uint32_t end = packet.seq + packet.payload_bytes;
    const auto at_ns = static_cast<int64_t>(packet.arrival_ns);
    if (packet.port_id == ports[flow].host_port)
      sent_ns[flow].emplace(end, at_ns);
    else if (!ports[flow].passed.empty() && packet.port_id == ports[flow].passed.back())
      came_ns[flow].emplace(end, at_ns);
  }
  std::vector<OneWay> least(ports.size());
  for (size_t flow = 0; flow < ports.size(); flow++)
    for (const auto& [end, at_ns] : came_ns[flow])
      if (const auto sent = sent_ns[flow].find(end); sent != sent_ns[flow].end())
        note(&least[flow].there_ns, at_ns - sent->second);
  for (const PacketRecord& packet : packets) {
    const auto flow = static_cast<size_t>(packet.dport - kClientPort);
    if (packet.dport < kClientPort || flow >= ports.size()) continue;
    if (packet.port_id != ports[flow].return_port) continue;
    if (const auto came = came_ns[flow].find(packet.ack_seq); came != came_ns[flow].end())
      note(&least[flow].back_ns,
           static_cast<int64_t>(packet.arrival_ns) + delay_ns[packet.port_id] - came->second);
  }
  return least;
}

}  // namespace delaycc

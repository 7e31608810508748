// SPDX-License-Identifier: Apache-2.0
// From a topology's few numbers to nodes, links, addresses and routes.
#ifndef DELAYCC_HARNESS_PLAN_TOPOLOGY_H_
#define DELAYCC_HARNESS_PLAN_TOPOLOGY_H_

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "spec/packet.h"
#include "spec/scenario.h"

namespace delaycc {

inline constexpr int kAckFrameBytes = kEthernetBytes + kTcpIpBytes;

struct Network {
  std::vector<NodePlan> nodes;
  std::vector<LinkPlan> links;
  std::vector<RoutePlan> routes;
  std::map<std::string, std::vector<int>> groups;  // of hosts, for selectors
  int bottleneck_port = -1;                        // -1: the topology has no single one

  PortPlan& port(int id);
  const PortPlan& port(int id) const;
  int port_named(const std::string& name) const;  // -1: none
  // Ports that a packet of `source` to `destination` passes; of equal paths the first.
  std::vector<int> path(int source, int destination) const;
  // "senders", "senders[2]", "senders[0-7]". Throws Error that says what is allowed.
  std::vector<int> select(const std::string& selector) const;

  std::vector<std::vector<std::pair<int, int>>> next_hop;  // [node][host] -> first (port, node)
};

// Throws Error when base_rtt_ns is below the serialisation time.
Network build_network(const TopologySpec& spec, const HostsSpec& hosts);

// Time for `bytes` at `rate_bps`, rounded up to whole nanoseconds as the port does; 0 for rate 0.
int64_t serialisation_ns(int64_t bytes, uint64_t rate_bps);

// RTT of one full packet and its ACK between two idle hosts.
int64_t base_rtt_ns(const Network& network, int source, int destination, int mtu_bytes);
// That of the longest path.
int64_t longest_base_rtt_ns(const Network& network, int mtu_bytes);

// Time from the first byte written to the last byte of `size_bytes` received on an idle path by a
// sender that is limited by nothing but the links.
int64_t ideal_fct_ns(const Network& network, int source, int destination, int mtu_bytes,
                     int64_t size_bytes);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_PLAN_TOPOLOGY_H_

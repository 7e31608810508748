// SPDX-License-Identifier: Apache-2.0
#include "plan/topology.h"

#include <gtest/gtest.h>

#include <set>

namespace delaycc {
namespace {

TopologySpec dumbbell(int senders) {
  TopologySpec spec;
  spec.senders = senders;
  spec.base_rtt_ns = 12000;
  return spec;
}

TEST(Topology, DumbbellPathHasThreePortsWithTheBottleneckInTheMiddle) {
  const Network network = build_network(dumbbell(3), HostsSpec());
  const int sender = network.select("senders[2]").at(0);
  const int receiver = network.select("receivers").at(0);
  const std::vector<int> path = network.path(sender, receiver);
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path[1], network.bottleneck_port);
  EXPECT_EQ(network.port(path[1]).name, "left->right");
}

TEST(Topology, SpreadsTheBaseRttWithinOneNanosecondPerWire) {
  for (int64_t wanted : {12000, 20480, 100001}) {
    TopologySpec spec = dumbbell(2);
    spec.base_rtt_ns = wanted;
    const Network network = build_network(spec, HostsSpec());
    const int64_t got = base_rtt_ns(network, network.select("senders[0]").at(0),
                                    network.select("receivers").at(0), 1500);
    EXPECT_LE(got, wanted);
    EXPECT_GT(got, wanted - 6);
  }
}

TEST(Topology, RefusesABaseRttBelowSerialisation) {
  TopologySpec spec = dumbbell(1);
  spec.base_rtt_ns = 100;
  try {
    build_network(spec, HostsSpec());
    FAIL();
  } catch (const Error& e) {
    // Three hops of 1514 and 66 bytes at 100 Gbit/s: 3 * (122 + 6) ns.
    EXPECT_NE(std::string(e.what()).find("allowed is at least 384"), std::string::npos) << e.what();
  }
}

TEST(Topology, SerialisationRoundsUp) {
  EXPECT_EQ(serialisation_ns(1514, 100'000'000'000), 122);
  EXPECT_EQ(serialisation_ns(1250, 100'000'000'000), 100);
  EXPECT_EQ(serialisation_ns(1514, 0), 0);
}

TEST(Topology, LoneFlowTakesItsLatencyAndItsSerialisation) {
  TopologySpec spec = dumbbell(1);
  spec.base_rtt_ns = 0;
  spec.link.delay_ns = spec.host_link.delay_ns = spec.bottleneck.delay_ns = 1000;
  spec.bottleneck.rate_gbps = 10;
  const Network network = build_network(spec, HostsSpec());
  const int from = network.select("senders").at(0), to = network.select("receivers").at(0);
  // One full packet: 121.12 + 1211.2 + 121.12 ns on three servers, 1 us on three wires.
  EXPECT_EQ(ideal_fct_ns(network, from, to, 1500, 1448), 1454 + 3000);
  // Ten: nine more at the slowest server.
  EXPECT_NEAR(static_cast<double>(ideal_fct_ns(network, from, to, 1500, 14480)),
              122 + 12112 + 122 + 3000, 2);
  // One full and a short one of 166 bytes: it waits behind the full one at the slow server.
  EXPECT_NEAR(static_cast<double>(ideal_fct_ns(network, from, to, 1500, 1548)),
              121.12 + 1211.2 + 132.8 + 13.28 + 3000, 1);
}

TEST(Topology, OnEqualLinksAShortLastPacketCannotOvertake) {
  const Network network = build_network(dumbbell(1), HostsSpec());
  const int from = network.select("senders").at(0), to = network.select("receivers").at(0);
  // At every server the last packet finds the one before, whose service has just begun.
  const int64_t full = ideal_fct_ns(network, from, to, 1500, 14480);
  const int64_t shorter = ideal_fct_ns(network, from, to, 1500, 14480 - 1348);
  EXPECT_NEAR(static_cast<double>(full - shorter), 1348 * 8e-2, 1);
}

TEST(Topology, AHostsOwnPortDropsNothing) {
  TopologySpec spec = dumbbell(2);
  spec.link.buffer_bytes = spec.host_link.buffer_bytes = spec.bottleneck.buffer_bytes = 100'000;
  const Network network = build_network(spec, HostsSpec());
  const int from = network.select("senders").at(0), to = network.select("receivers").at(0);
  const std::vector<int> path = network.path(from, to);
  EXPECT_EQ(network.port(path.front()).limit_bytes, 0u);
  for (size_t i = 1; i < path.size(); i++) EXPECT_EQ(network.port(path[i]).limit_bytes, 100'000u);
}

TEST(Topology, SelectsPartsOfAGroup) {
  const Network network = build_network(dumbbell(5), HostsSpec());
  EXPECT_EQ(network.select("senders").size(), 5u);
  EXPECT_EQ(network.select("senders[1-3]").size(), 3u);
  EXPECT_EQ(network.select("hosts").size(), 6u);
  for (const char* wrong : {"senders[5]", "senders[3-1]", "senders[x]", "servers", "senders[1-9]"})
    EXPECT_THROW(network.select(wrong), Error) << wrong;
}

TEST(Topology, FatTreeReachesEveryHostAndSpreadsOverEqualPaths) {
  TopologySpec spec;
  spec.kind = TopologyKind::kFatTree;
  spec.k = 4;
  spec.base_rtt_ns = 12000;
  const Network network = build_network(spec, HostsSpec());
  const std::vector<int> hosts = network.select("hosts");
  ASSERT_EQ(hosts.size(), 16u);
  EXPECT_EQ(network.nodes.size(), 36u);
  EXPECT_EQ(network.links.size() * 2, 96u);
  for (int a : hosts)
    for (int b : hosts)
      if (a != b) {
        const size_t hops = network.path(a, b).size();
        EXPECT_TRUE(hops == 2 || hops == 4 || hops == 6) << hops;
      }
  // The shorter paths have the longest one's share of wires.
  EXPECT_EQ(longest_base_rtt_ns(network, 1500), base_rtt_ns(network, hosts[0], hosts[15], 1500));
  EXPECT_NEAR(static_cast<double>(longest_base_rtt_ns(network, 1500)), 12000, 12);
  EXPECT_NEAR(static_cast<double>(base_rtt_ns(network, hosts[0], hosts[2], 1500)), 8000, 8);
  EXPECT_NEAR(static_cast<double>(base_rtt_ns(network, hosts[0], hosts[1], 1500)), 4000, 4);
  // An edge switch has two ways up, and hashes more fields than the layer above.
  std::map<std::string, std::set<size_t>> widths;
  for (const RoutePlan& route : network.routes) {
    const std::string& name = network.nodes[route.node].name;
    if (name == "pod0-edge0") widths["edge"].insert(route.ifindexes.size());
    if (name == "core0") widths["core"].insert(route.ifindexes.size());
  }
  EXPECT_EQ(widths["edge"], (std::set<size_t>{1, 2}));
  EXPECT_EQ(widths["core"], (std::set<size_t>{1}));
  for (const NodePlan& node : network.nodes) {
    const auto fields = node.sysctls.find("net.ipv4.fib_multipath_hash_fields");
    if (node.name == "pod0-edge0") {
      EXPECT_EQ(fields->second, "55");
    } else if (node.name == "pod0-agg0") {
      EXPECT_EQ(fields->second, "48");
    }
  }
}

TEST(Topology, ParkingLotAndLeafSpineReachEveryHost) {
  for (TopologyKind kind : {TopologyKind::kParkingLot, TopologyKind::kLeafSpine}) {
    TopologySpec spec;
    spec.kind = kind;
    spec.bottlenecks = 3;
    spec.hosts = 2;
    spec.leaves = 3;
    spec.spines = 2;
    spec.base_rtt_ns = 20000;
    const Network network = build_network(spec, HostsSpec());
    for (int a : network.select("hosts"))
      for (int b : network.select("hosts"))
        if (a != b) {
          EXPECT_FALSE(network.path(a, b).empty());
        }
  }
}

TEST(Topology, AddressesNamesAndPortIdsAreUnique) {
  const Network network = build_network(dumbbell(1000), HostsSpec());
  std::set<std::string> addresses, macs;
  std::set<int> ifindexes;
  for (const NodePlan& node : network.nodes)
    if (!node.address.empty()) {
      EXPECT_TRUE(addresses.insert(node.address).second) << node.address;
    }
  for (size_t i = 0; i < network.links.size(); i++)
    for (const EndPlan* end : {&network.links[i].a, &network.links[i].b}) {
      EXPECT_TRUE(macs.insert(end->mac).second);
      EXPECT_TRUE(ifindexes.insert(end->ifindex).second);
      EXPECT_EQ(network.port(static_cast<int>(end->port.id)).name, end->port.name);
    }
}

}  // namespace
}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "backend/hosts/one_way.h"

#include <gtest/gtest.h>

namespace delaycc {
namespace {

constexpr int kHostPort = 1, kSwitchPort = 2, kReturnPort = 3;
constexpr int kFlow = 1;
constexpr int64_t kReturnDelayNs = 700;

Plan plan() {
  Plan plan;
  LinkPlan link;
  link.a.port.id = kHostPort;
  link.b.port.id = kReturnPort;
  link.b.port.delay_ns = kReturnDelayNs;
  plan.links.push_back(link);
  return plan;
}

std::vector<FlowPorts> ports() { return {{}, {kHostPort, kReturnPort, {kSwitchPort}}}; }

PacketRecord data(int port, int64_t at_ns, uint32_t seq) {
  PacketRecord packet = {};
  packet.arrival_ns = packet.depart_ns = static_cast<uint64_t>(at_ns);
  packet.seq = seq;
  packet.payload_bytes = 1000;
  packet.sport = kClientPort + kFlow;
  packet.port_id = static_cast<uint16_t>(port);
  return packet;
}

PacketRecord ack(int64_t comes_ns, uint32_t ack_seq) {
  PacketRecord packet = {};
  packet.arrival_ns = packet.depart_ns = static_cast<uint64_t>(comes_ns - kReturnDelayNs);
  packet.ack_seq = ack_seq;
  packet.dport = kClientPort + kFlow;
  packet.port_id = kReturnPort;
  return packet;
}

// The receiver's clock is `ahead_ns` before the sender's; 20 us there, 10 us back.
std::vector<PacketRecord> seen(int64_t ahead_ns) {
  return {data(kHostPort, 1'000'000, 5000),
          data(kSwitchPort, 1'025'000 + ahead_ns, 5000),
          ack(1'035'000, 6000),
          data(kHostPort, 1'100'000, 6000),
          data(kSwitchPort, 1'120'000 + ahead_ns, 6000),
          ack(1'130'000, 7000)};
}

TEST(OneWay, IsTheLeastOfEachDirection) {
  const std::vector<OneWay> least = least_one_way(plan(), ports(), seen(0));
  ASSERT_EQ(least.size(), 2u);
  EXPECT_FALSE(least[0].there_ns || least[0].back_ns);
  EXPECT_EQ(least[kFlow].there_ns, 20'000);
  EXPECT_EQ(least[kFlow].back_ns, 10'000);
}

TEST(OneWay, OfAClockThatIsAheadOrBehindIsBelowZeroOneWay) {
  EXPECT_EQ(least_one_way(plan(), ports(), seen(15'000))[kFlow].back_ns, -5'000);
  EXPECT_EQ(least_one_way(plan(), ports(), seen(-30'000))[kFlow].there_ns, -10'000);
}

TEST(OneWay, CountsAPacketThatWasSentAgainFromItsFirstTime) {
  std::vector<PacketRecord> packets = seen(0);
  packets.push_back(data(kHostPort, 1'119'000, 6000));
  EXPECT_EQ(least_one_way(plan(), ports(), packets)[kFlow].there_ns, 20'000);
}

TEST(OneWay, KnowsNothingWithoutTheLogOfTheSendersPort) {
  const std::vector<FlowPorts> unlogged = {{}, {-1, -1, {kSwitchPort}}};
  const OneWay least = least_one_way(plan(), unlogged, seen(0))[kFlow];
  EXPECT_FALSE(least.there_ns || least.back_ns);
}

}  // namespace
}  // namespace delaycc

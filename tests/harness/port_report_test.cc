// SPDX-License-Identifier: Apache-2.0
#include "run/port_report.h"

#include <gtest/gtest.h>

#include <utility>

#include "report/report.h"

namespace delaycc {
namespace {

constexpr uint64_t kDelayNs = 1000;
constexpr uint64_t kZeroNs = 5'000'000'000;

const std::map<int, LoggedPort> kPorts = {
    {1, {"h1-eth0", "s1-eth1", 12'000'000'000, kDelayNs}},
    {2, {"s1-eth1", "h1-eth0", 12'000'000'000, kDelayNs}},
};

// 1 us of the port's time.
PacketRecord data(uint64_t arrival_ns, uint64_t depart_ns, uint32_t seq, uint32_t backlog) {
  PacketRecord p = {};
  p.arrival_ns = kZeroNs + arrival_ns;
  p.depart_ns = kZeroNs + depart_ns;
  p.seq = seq;
  p.payload_bytes = 1448;
  p.len_bytes = 1500;
  p.backlog_bytes = backlog;
  p.sport = 4000;
  p.dport = 5201;
  p.port_id = 1;
  return p;
}

PacketRecord ack(uint64_t depart_ns, uint32_t ack_seq) {
  PacketRecord p = {};
  p.arrival_ns = p.depart_ns = kZeroNs + depart_ns;
  p.ack_seq = ack_seq;
  p.len_bytes = 66;
  p.sport = 5201;
  p.dport = 4000;
  p.port_id = 2;
  return p;
}

PacketRecord dropped(PacketRecord p) {
  p.depart_ns = 0;
  p.flags = kPacketDropTail;
  return p;
}

std::vector<PortFigures> figures(const std::vector<PacketRecord>& packets) {
  return port_report(packets, kPorts, "", "", {}).figures;
}

TEST(PortReport, RatesLeavePausesOut) {
  // Two packets in 2 us, nothing for 50 ms, two more in 2 us.
  const std::vector<PacketRecord> packets = {data(0, 1000, 0, 1500), data(0, 2000, 1448, 3000),
                                             data(50'000'000, 50'001'000, 2896, 1500),
                                             data(50'000'000, 50'002'000, 4344, 3000)};
  const std::vector<PortFigures> found = figures(packets);
  ASSERT_EQ(found.size(), 1u);
  // 6000 bytes; 50.002 ms less the pause from the second's end to where the third's service begins.
  EXPECT_DOUBLE_EQ(found[0].mean_gbps, 6000 * 8 / 4000.0);
  EXPECT_DOUBLE_EQ(found[0].utilisation, 1);
  EXPECT_DOUBLE_EQ(found[0].queue_mean_bytes, 2250);
  EXPECT_DOUBLE_EQ(found[0].queue_max_bytes, 3000);
}

PacketRecord back(PacketRecord p) {
  std::swap(p.sport, p.dport);
  p.port_id = 2;
  return p;
}

TEST(PortReport, AnEndThatSendsAcksAndAFewMessagesHasTheRateOfTheMessages) {
  std::vector<PacketRecord> packets;
  for (uint32_t i = 0; i < 100; i++) {
    packets.push_back(data(i * 1000, (i + 1) * 1000, i * 1448, 1500));
    packets.push_back(ack(i * 1000 + 500, (i + 1) * 1448));
  }
  // Two alone, 10 ms apart.
  for (const uint64_t at_ns : {200'000, 10'200'000})
    packets.push_back(back(data(at_ns, at_ns + 1000, 7, 1500)));
  const std::vector<PortFigures> found = figures(packets);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].name, "s1-eth1");
  EXPECT_DOUBLE_EQ(found[1].utilisation, 1);
}

TEST(PortReport, AnEndWithNextToNoDataIsNotShown) {
  std::vector<PacketRecord> packets;
  for (uint32_t i = 0; i < 2000; i++) {
    packets.push_back(data(i * 1000, (i + 1) * 1000, i * 1448, 1500));
    packets.push_back(ack(i * 1000 + 500, (i + 1) * 1448));
  }
  packets.push_back(back(data(3'000'000, 3'001'000, 7, 1500)));
  EXPECT_EQ(figures(packets).size(), 1u);
}

TEST(PortReport, RttsAreFromTheFirstTransmissionToTheArrivalOfTheAck) {
  std::vector<PacketRecord> packets = {data(0, 1000, 100, 1500), ack(9000, 1548),
                                       dropped(data(20'000, 0, 1548, 3000)),
                                       data(40'000, 41'000, 1548, 1500), ack(49'000, 2996)};
  const std::vector<PortFigures> found = figures(packets);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].drops, 1);
  EXPECT_EQ(found[0].packets, 2);
  // 10 us, and 30 us for the one that was lost first.
  EXPECT_DOUBLE_EQ(found[0].rtt_p50_us, 10);
  EXPECT_DOUBLE_EQ(found[0].rtt_p99_us, 30);
}

TEST(PortReport, SequenceNumbersMayWrap) {
  const uint32_t last = 0xffffffff - 1000;
  const std::vector<PacketRecord> packets = {data(0, 1000, last, 1500), ack(5000, last + 1448),
                                             data(6000, 7000, last + 1448, 1500),
                                             ack(11'000, last + 2896)};
  EXPECT_DOUBLE_EQ(figures(packets)[0].rtt_p99_us, 6);
}

TEST(PortReport, WithoutDataThereIsNothingToReport) {
  EXPECT_TRUE(figures({ack(0, 1)}).empty());
  EXPECT_TRUE(port_report({ack(0, 1)}, kPorts, "t", "", {}).page.empty());
  // A port that nobody named.
  PacketRecord other = data(0, 1000, 0, 1500);
  other.port_id = 9;
  EXPECT_TRUE(figures({other}).empty());
}

TEST(PortReport, ThePageTakesItsData) {
  std::vector<PacketRecord> packets;
  for (uint32_t i = 0; i < 100; i++) {
    packets.push_back(data(i * 1000, (i + 1) * 1000, i * 1448, 1500));
    if (i % 10 == 9) packets.push_back(dropped(data(i * 1000, 0, i * 1448, 3000)));
    packets.push_back(ack(i * 1000, (i + 1) * 1448));
  }
  const nlohmann::json report = port_report(packets, kPorts, "my script", "repeat", {"note"}).page;
  EXPECT_NO_THROW(validate_report(report));
  EXPECT_EQ(report.at("order"), nlohmann::json({"h1-eth0"}));
  const auto& rates = report.at("curves").at("h1-eth0").at("rates");
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_EQ(rates[0].at("label"), "4000 to 5201");
  EXPECT_EQ(report.at("notes").back(), "note");
}

}  // namespace
}  // namespace delaycc

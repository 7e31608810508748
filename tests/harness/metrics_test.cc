// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/statistics.h"
#include "metrics/catalogue.h"
#include "metrics/curves.h"
#include "metrics/recovery.h"

namespace delaycc {
namespace {

constexpr uint64_t kRate = 100'000'000'000;  // 12.5 bytes/ns
constexpr int64_t kZero = 4'000'000'000;
constexpr uint32_t kFrame = 1250;  // 100 ns at kRate
constexpr uint16_t kPayload = 1000;

// A trial on a synthetic log: flow i has host port 10 + i and return port 20 + i, port 0 is the
// bottleneck.
class SyntheticTrial {
 public:
  SyntheticTrial(int flows, int64_t end_ns) {
    trial.plan.zero_ns = kZero;
    trial.plan.end_ns = end_ns;
    Measurement& m = trial.measurement;
    m.bottleneck_port = 0;
    m.bottleneck_bps = kRate;
    m.port_delay_ns.assign(40, 1000);
    m.measure.duration_ns = m.measure.to_ns = end_ns;
    for (int i = 0; i < flows; i++) {
      FlowPlan flow;
      flow.id = i;
      flow.group = "group" + std::to_string(i);
      flow.measured = true;
      trial.plan.flows.push_back(flow);
      m.host_port.push_back(10 + i);
      m.return_port.push_back(20 + i);
      m.ideal_fct_ns.push_back(-1);
      FlowRecord record;
      record.id = i;
      record.start_ns = 0;
      records.flows.push_back(record);
    }
  }

  PacketRecord& add(int port, int flow, bool data, int64_t arrival_ns, int64_t depart_ns) {
    PacketRecord event = {};
    event.arrival_ns = static_cast<uint64_t>(kZero + arrival_ns);
    event.depart_ns = static_cast<uint64_t>(kZero + depart_ns);
    event.len_bytes = event.backlog_bytes = kFrame;
    event.port_id = static_cast<uint16_t>(port);
    event.payload_bytes = data ? kPayload : 0;
    event.sport = static_cast<uint16_t>(data ? kClientPort + flow : kServerPort);
    event.dport = static_cast<uint16_t>(data ? kServerPort : kClientPort + flow);
    records.packets.push_back(event);
    return records.packets.back();
  }

  // Packets of `flow` leave the bottleneck back to back in [from, to), every `stride`-th slot.
  void stream(int flow, int64_t from_ns, int64_t to_ns, int stride = 1, int offset = 0) {
    uint32_t seq = next_seq[flow];
    for (int64_t t = from_ns + offset * 100; t + 100 <= to_ns; t += 100 * stride) {
      add(0, flow, true, t, t + 100).seq = seq;
      seq += kPayload;
    }
    next_seq[flow] = seq;
  }

  // A key of [measure]; a time is in nanoseconds.
  void set(const char* key, const MeasureValue& value) {
    trial.measurement.measure.parameters[key] = value;
  }

  TrialResult compute() {
    std::stable_sort(records.packets.begin(), records.packets.end(),
                     [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
    return compute_metrics(trial, records);
  }

  CompiledTrial trial;
  Records records;
  std::map<int, uint32_t> next_seq;
};

TEST(Metrics, FullLinkHasUtilisationOneAndItsPayloadAsGoodput) {
  SyntheticTrial t(1, 100'000);
  t.stream(0, 0, 100'000);
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("utilisation").value, 1);
  EXPECT_NEAR(r.metrics.at("goodput_gbps").value, 80, 0.1);
  EXPECT_EQ(r.metrics.at("drops").value, 0);
}

TEST(Metrics, ExcludedTimeDoesNotCount) {
  SyntheticTrial t(1, 100'000);
  t.stream(0, 0, 40'000);
  t.stream(0, 60'000, 100'000);
  t.trial.measurement.measure.exclude_ns = {{40'000, 60'000}};
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("utilisation").value, 1);
}

TEST(Metrics, RepeatedBytesAreNoGoodput) {
  SyntheticTrial t(1, 10'000);
  t.stream(0, 0, 5'000);
  t.next_seq[0] = 0;
  t.stream(0, 5'000, 10'000);
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("utilisation").value, 1);
  EXPECT_NEAR(r.metrics.at("goodput_gbps").value, 40, 1);
}

TEST(Metrics, DroppedPacketsNeitherQueueNorDepart) {
  SyntheticTrial t(1, 10'000);
  PacketRecord& event = t.add(0, 0, true, 1000, 0);
  event.depart_ns = 0;
  event.flags = kPacketDropTail;
  const TrialResult r = t.compute();
  EXPECT_EQ(r.metrics.at("drops").value, 1);
  EXPECT_EQ(r.metrics.at("utilisation").value, 0);
  EXPECT_EQ(r.metrics.count("rtt_p50_us"), 0u) << "a metric without a sample is absent";
}

TEST(Metrics, QueueIsSampledOnTheMicrosecondGrid) {
  const std::vector<QueuedPacket> packets = {
      {100, 1'900, 1000}, {200, 2'900, 500}, {2'000, 3'900, 200}};
  EXPECT_EQ(queue_curve(packets, 5'000), (std::vector<uint32_t>{0, 1500, 700, 200, 0}));
}

TEST(Metrics, QueueCountsThePacketInServiceWhole) {
  SyntheticTrial t(1, 100'000);
  t.stream(0, 0, 100'000);  // back to back, so that none ever waits
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("utilisation").value, 1);
  EXPECT_DOUBLE_EQ(r.metrics.at("queue_mean_bytes").value, kFrame);
  EXPECT_DOUBLE_EQ(r.metrics.at("queue_max_bytes").value, kFrame);
}

TEST(Metrics, QueueStatisticsAreOfTheirOwnWindow) {
  SyntheticTrial t(1, 10'000);
  // 2500 bytes from 2 us to 6 us, and a spike of 50000 before.
  t.add(0, 0, true, 500, 900).backlog_bytes = 50'000;
  PacketRecord& long_one = t.add(0, 0, true, 2'000, 6'000);
  long_one.len_bytes = long_one.backlog_bytes = 2'500;
  t.set("queue_us", std::vector<TimeSpan>{{2'000, 10'000}});
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("queue_mean_bytes").value, 1250);
  EXPECT_DOUBLE_EQ(r.metrics.at("queue_sd_bytes").value, 1250);
  EXPECT_EQ(r.metrics.at("queue_max_bytes").value, 2500);
  EXPECT_EQ(r.metrics.at("queue_min_bytes").value, 0);
  EXPECT_EQ(r.metrics.at("queue_peak_bytes").value, 50'000);
}

TEST(Metrics, IdleTimeIsWhatTheBottleneckDidNotServe) {
  SyntheticTrial t(1, 10'000);
  // 1250 bytes take 100 ns; two of them are served in the measured time, one partly.
  for (const int64_t depart : {1'000, 5'000, 9'950}) {
    PacketRecord& packet = t.add(0, 0, true, depart - 200, depart);
    packet.len_bytes = packet.backlog_bytes = 1'250;
  }
  t.trial.measurement.measure.from_ns = 2'000;
  t.trial.measurement.measure.to_ns = 9'900;
  EXPECT_NEAR(t.compute().metrics.at("idle_us").value, 7.9 - 0.15, 1e-9);
}

TEST(Metrics, RttsAreOfTheirOwnWindow) {
  SyntheticTrial t(1, 100'000);
  for (int i = 0; i < 2; i++) {
    t.add(10, 0, true, 1'000 + 50'000 * i, 1'100 + 50'000 * i).seq =
        static_cast<uint32_t>(i) * kPayload;
    t.add(20, 0, false, 11'000 + 60'000 * i, 11'000 + 60'000 * i).ack_seq =
        static_cast<uint32_t>(i + 1) * kPayload;
  }
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("rtt_p999_us").value, 21);
  t.set("rtt_us", std::vector<TimeSpan>{{0, 50'000}});
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("rtt_p999_us").value, 11);
}

TEST(Metrics, LossRatioIsOfTheDataPacketsThatCameToTheBottleneck) {
  SyntheticTrial t(1, 10'000);
  t.stream(0, 0, 800);  // eight packets
  t.add(0, 0, true, 1'000, 0).flags = kPacketDropTail;
  t.add(0, 0, true, 1'100, 0).flags = kPacketDropTail;
  t.add(0, 0, false, 1'200, 1'300);                      // an ACK of the other direction
  t.add(10, 0, true, 1'300, 0).flags = kPacketDropTail;  // at a host
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("loss_ratio").value, 0.2);
}

TEST(Suppression, RunsFromTheFirstStartToTheLastPacketThatWaitedLong) {
  SyntheticTrial t(2, 100'000);
  t.records.flows[0].start_ns = 3'000;
  t.records.flows[1].start_ns = 2'000;
  t.set("suppress_delay_us", int64_t{5'000});
  t.set("suppress_hold_us", int64_t{10'000});
  t.add(0, 0, true, 10'000, 10'100);
  t.add(0, 0, true, 11'000, 16'100);  // waited 5000
  t.add(0, 1, true, 20'000, 25'300);
  t.add(0, 1, true, 30'000, 35'099);  // waited 4999
  t.add(0, 1, true, 60'000, 70'000);  // a later event
  const MetricValue value = t.compute().metrics.at("suppress_us");
  EXPECT_DOUBLE_EQ(value.value, 25.3 - 2);
  EXPECT_FALSE(value.missed);
  t.set("suppress_hold_us", int64_t{50'000});
  EXPECT_TRUE(t.compute().metrics.at("suppress_us").missed) << "the hold never passed";
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("suppress_us").value, 98);
}

TEST(Suppression, IsZeroWithoutCongestionAndAbsentWhereNotAskedFor) {
  SyntheticTrial t(1, 10'000);
  t.stream(0, 0, 5'000);
  EXPECT_EQ(t.compute().metrics.count("suppress_us"), 0u);
  t.set("suppress_delay_us", int64_t{1'000});
  EXPECT_EQ(t.compute().metrics.at("suppress_us").value, 0);
  EXPECT_FALSE(t.compute().metrics.at("suppress_us").missed);
}

TEST(Suppression, CountsFromTheEventWhereThereIsOne) {
  SyntheticTrial t(1, 100'000);
  t.trial.measurement.event.present = true;
  t.trial.measurement.event.at_ns = 20'000;
  t.set("suppress_delay_us", int64_t{5'000});
  t.add(0, 0, true, 1'000, 16'000);  // before the event
  t.add(0, 0, true, 30'000, 37'000);
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("suppress_us").value, 17);
}

TEST(ServiceCurve, CountsAPacketInProportionWhileItIsServed) {
  ServiceCurve curve(kRate);
  curve.add(1000, 1250);
  curve.add(2000, 1250);
  EXPECT_EQ(curve.bytes_until(900), 0);
  EXPECT_EQ(curve.bytes_until(950), 625);
  EXPECT_EQ(curve.bytes_until(1000), 1250);
  EXPECT_EQ(curve.bytes_until(1500), 1250);
  EXPECT_EQ(curve.bytes_until(5000), 2500);
}

// Full rate, a gap from 1000 us to `back_ns`, full rate again.
MetricValue recovery_after_gap(int64_t back_ns, int64_t horizon_ns) {
  ServiceCurve curve(kRate);
  for (int64_t t = 0; t < 2'000'000; t += 100)
    if (t < 1'000'000 || t >= back_ns) curve.add(t + 100, kFrame);
  return recovery_ns(curve, kRate, 1'000'000, horizon_ns, 6'000, 0.95);
}

TEST(Recovery, RunsToTheStartOfTheFirstWindowThatStaysGood) {
  // A window of 6 us may have 5 % of it, 300 ns, without service.
  EXPECT_NEAR(recovery_after_gap(1'020'000, 1'500'000).value, 20'000 - 300, 100);
  EXPECT_FALSE(recovery_after_gap(1'020'000, 1'500'000).missed);
}

TEST(Recovery, IsZeroWithoutALoss) { EXPECT_EQ(recovery_after_gap(1'000'000, 1'500'000).value, 0); }

TEST(Recovery, IsTheHorizonAndMissedWhenTheRateDoesNotComeBack) {
  const MetricValue value = recovery_after_gap(1'900'000, 1'290'000);
  EXPECT_EQ(value.value, 290'000);
  EXPECT_TRUE(value.missed);
}

TEST(Recovery, ALaterDipMovesIt) {
  ServiceCurve curve(kRate);
  for (int64_t t = 0; t < 300'000; t += 100)
    if (t < 100'000 || (t >= 120'000 && t < 200'000) || t >= 203'000) curve.add(t + 100, kFrame);
  EXPECT_NEAR(recovery_ns(curve, kRate, 100'000, 290'000, 6'000, 0.95).value, 103'000 - 300, 100);
}

TEST(Metrics, EventIsTheTrueStopOfTheLastFlow) {
  SyntheticTrial t(3, 200'000);
  t.stream(0, 0, 200'000);
  t.trial.measurement.event.present = true;
  t.trial.measurement.event.stop_of = "burst";
  t.trial.measurement.event.recovers = "group0";
  t.trial.plan.flows[1].group = t.trial.plan.flows[2].group = "burst";
  t.records.flows[1].stop_ns = 50'000;
  t.records.flows[2].stop_ns = 51'234;
  EXPECT_EQ(t.compute().event_ns, 51'234);
  t.records.flows[2].stop_ns = -1;
  const TrialResult r = t.compute();
  EXPECT_EQ(r.event_ns, -1);
  EXPECT_EQ(r.metrics.count("recover_us"), 0u);
}

TEST(Rtt, RunsFromTheHostsPortToTheDeliveryOfTheAck) {
  SyntheticTrial t(1, 100'000);
  t.add(10, 0, true, 1'000, 1'100).seq = 5000;
  t.add(20, 0, false, 11'000, 11'010).ack_seq = 5000 + kPayload;
  // Delivered 1000 ns of wire after departure.
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("rtt_p50_us").value, 11.01);
}

TEST(Rtt, RunsFromTheFirstTransmissionOfAPacketThatWasSentTwice) {
  SyntheticTrial t(1, 100'000);
  t.add(10, 0, true, 1'000, 1'100).seq = 0;
  t.add(10, 0, true, 2'000, 2'100).seq = kPayload;
  t.add(10, 0, true, 30'000, 30'100).seq = 0;
  t.add(20, 0, false, 40'000, 40'010).ack_seq = 2 * kPayload;
  const TrialResult r = t.compute();
  // Delivered at 41.01 us: 40.01 us after the first transmission of the lost packet, 39.01 after
  // that of the packet that waited for it.
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_p99_us").value, 40.01);
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_p50_us").value, 39.01);
}

TEST(Rtt, EachPacketThatAnAckCoversHasOne) {
  SyntheticTrial t(1, 100'000);
  t.add(10, 0, true, 1'000, 1'100).seq = 0;
  t.add(10, 0, true, 2'000, 2'100).seq = kPayload;
  t.add(20, 0, false, 11'000, 11'000).ack_seq = 2 * kPayload;
  t.add(20, 0, false, 50'000, 50'000).ack_seq = 2 * kPayload;  // again: no further sample
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_p50_us").value, 10);
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_p999_us").value, 11);
}

TEST(Rtt, NewBytesBehindRepeatedOnesAreAFirstTransmission) {
  SyntheticTrial t(1, 100'000);
  t.add(10, 0, true, 1'000, 1'100).seq = 0;
  t.add(10, 0, true, 20'000, 20'100).seq = kPayload / 2;
  t.add(20, 0, false, 30'000, 30'000).ack_seq = kPayload + kPayload / 2;
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_p50_us").value, 11);
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_p999_us").value, 30);
}

TEST(Rtt, AnAckThatEndsInsideASegmentGivesNone) {
  SyntheticTrial t(1, 100'000);
  t.add(10, 0, true, 1'000, 1'100).seq = 0;
  t.add(20, 0, false, 11'000, 11'010).ack_seq = 10;
  EXPECT_EQ(t.compute().metrics.count("rtt_p50_us"), 0u);
}

TEST(Rtt, ByNicsIsOfMeasuredFlowsInTheMeasuredTimeAndWhatTheHostAddsIsTheRest) {
  SyntheticTrial t(2, 100'000);
  t.trial.plan.flows[1].measured = false;
  t.records.nic_rtts = {{kZero - 1, 1, 1, kClientPort},
                        {kZero + 10'000, 12'000, 12'500, kClientPort},
                        {kZero + 20'000, 13'000, 16'000, kClientPort},
                        {kZero + 30'000, 1, 1, kClientPort + 1}};
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_nic_packets").value, 2);
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_nic_p50_us").value, 12);
  EXPECT_DOUBLE_EQ(r.metrics.at("rtt_nic_p99_us").value, 13);
  EXPECT_DOUBLE_EQ(r.metrics.at("host_noise_p50_us").value, 0.5);
  EXPECT_DOUBLE_EQ(r.metrics.at("host_noise_p999_us").value, 3);
  t.records.nic_rtts.clear();
  EXPECT_EQ(t.compute().metrics.count("rtt_nic_p50_us"), 0u) << "absent, and not 0";
}

TEST(Rtt, SequenceNumbersWrap) {
  SyntheticTrial t(1, 100'000);
  for (int i = 0; i < 4; i++)
    t.add(10, 0, true, 1'000 * (i + 1), 1'000 * (i + 1) + 100).seq =
        0xffffff00u + static_cast<uint32_t>(i) * kPayload;
  for (int i = 0; i < 4; i++)
    t.add(20, 0, false, 11'000 + 1'000 * i, 11'000 + 1'000 * i).ack_seq =
        0xffffff00u + static_cast<uint32_t>(i + 1) * kPayload;
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("rtt_p999_us").value, 11);
}

TEST(Coverage, CountsEachByteOnce) {
  StreamCoverage c;
  EXPECT_EQ(c.add(0xfffffff0u, 0x20), 0x20u);
  EXPECT_EQ(c.add(0xfffffff0u, 0x20), 0u);
  EXPECT_EQ(c.add(0x30, 0x10), 0x10u);  // leaves a hole [0x10, 0x30)
  EXPECT_EQ(c.add(0x18, 0x08), 0x08u);  // inside the hole
  EXPECT_EQ(c.add(0x10, 0x40), 0x28u);  // the rest of the hole and 0x10 above
  EXPECT_EQ(c.add(0x00, 0x50), 0u);
}

TEST(Fairness, EqualSharesHaveIndexOneAndOneHogHasOneOverN) {
  SyntheticTrial t(2, 400'000);
  t.stream(0, 0, 200'000, 2, 0);
  t.stream(1, 0, 200'000, 2, 1);
  t.stream(0, 200'000, 400'000);
  t.set("jain_window_us", int64_t{10'000});
  EXPECT_NEAR(t.compute().metrics.at("jain").value, (1 + 0.5) / 2, 1e-9);
  EXPECT_TRUE(t.compute().metrics.at("jain_time_us").missed);
}

TEST(Fairness, TimeRunsFromTheLastArrivalToTheFairRest) {
  SyntheticTrial t(2, 500'000);
  t.records.flows[1].start_ns = 100'000;
  t.stream(0, 0, 150'000);
  t.stream(0, 150'000, 500'000, 2, 0);
  t.stream(1, 150'000, 500'000, 2, 1);
  t.set("jain_window_us", int64_t{10'000});
  const MetricValue value = t.compute().metrics.at("jain_time_us");
  EXPECT_FALSE(value.missed);
  // Fair from 150 us on, seen by windows that end a little later.
  EXPECT_GT(value.value, 50);
  EXPECT_LT(value.value, 62);
}

TEST(Fairness, OneFlowHasNone) {
  SyntheticTrial t(1, 100'000);
  t.stream(0, 0, 100'000);
  EXPECT_EQ(t.compute().metrics.count("jain"), 0u);
}

TEST(Completion, SlowdownIsAgainstTheIdealAndUnfinishedFlowsAreMissed) {
  SyntheticTrial t(2, 100'000);
  for (int i = 0; i < 2; i++) {
    t.trial.plan.flows[i].size_bytes = 1000;
    t.trial.measurement.ideal_fct_ns[i] = 10'000;
    t.records.flows[i].start_ns = 10'000;
  }
  t.records.flows[0].received_ns = 30'000;
  t.records.flows[1].received_ns = 50'000;
  TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("fct_mean_us").value, 30);
  EXPECT_DOUBLE_EQ(r.metrics.at("fct_p99_us").value, 40);
  EXPECT_DOUBLE_EQ(r.metrics.at("slowdown_mean").value, 3);
  EXPECT_FALSE(r.metrics.at("fct_mean_us").missed);
  t.records.flows[1].received_ns = -1;
  r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("fct_p99_us").value, 90);
  EXPECT_TRUE(r.metrics.at("fct_p99_us").missed);
}

TEST(Completion, AQuantileIsALowerBoundOnlyWhereAnUnfinishedFlowCouldMoveIt) {
  constexpr int kFlows = 100;
  SyntheticTrial t(kFlows, 1'000'000);
  for (int i = 0; i < kFlows; i++) {
    t.trial.plan.flows[i].size_bytes = 1000;
    t.trial.measurement.ideal_fct_ns[i] = 10'000;
    t.records.flows[i].start_ns = 10'000;
    t.records.flows[i].received_ns = 20'000 + 1'000 * i;
  }
  const auto missed = [&](const char* name) { return t.compute().metrics.at(name).missed; };
  // The slowest has not ended: only the mean and what reaches it do not know how long it takes.
  t.records.flows[kFlows - 1].received_ns = -1;
  EXPECT_TRUE(missed("fct_mean_us"));
  EXPECT_TRUE(missed("slowdown_mean"));
  EXPECT_TRUE(missed("fct_p999_us"));
  for (const char* name : {"fct_p50_us", "fct_p95_us", "fct_p99_us", "slowdown_p99"})
    EXPECT_FALSE(missed(name)) << name;
  // One that began late has waited for less than most others took.
  t.records.flows[kFlows - 1].start_ns = 980'000;
  EXPECT_TRUE(missed("fct_p50_us"));
}

TEST(Queue, AServerWithPrioritiesDoesNotKeepTheOrder) {
  // The second packet goes before the first; the third has not left by the end.
  const std::vector<QueuedPacket> packets = {
      {0, 5'000, 100}, {500, 2'000, 10}, {1'500, int64_t{1} << 61, 1}};
  const std::vector<uint32_t> expected = {100, 110, 101, 101, 101, 1, 1};
  EXPECT_EQ(queue_curve(packets, 7'000), expected);

  SyntheticTrial t(2, 100'000);
  t.set("jain_window_us", int64_t{10'000});
  t.add(0, 0, true, 0, 50'000);
  t.add(0, 1, true, 0, 1'000);
  t.add(0, 0, true, 0, 0).depart_ns = kNotDeparted;
  const TrialResult r = t.compute();
  EXPECT_NEAR(r.metrics.at("utilisation").value, 0.002, 1e-6);
  EXPECT_EQ(r.queue_bytes.back(), kFrame);
}

TEST(Completion, IsAlsoGivenForEachClassOfSizes) {
  SyntheticTrial t(5, 1'000'000);
  Measurement& m = t.trial.measurement;
  m.flow_sets = {{"small", FlowSet::Kind::kClass, 0},
                 {"medium", FlowSet::Kind::kClass, 1},
                 {"large", FlowSet::Kind::kClass, 2}};
  m.size_class = {0, 0, 2, 2, -1};
  m.request.assign(5, -1);
  m.uniform.assign(5, 0.5);
  m.log_weight.assign(5, 0);
  for (int i = 0; i < 4; i++) {
    t.trial.plan.flows[i].size_bytes = i < 2 ? 1000 : 1'000'000;
    m.ideal_fct_ns[i] = 10'000;
    t.records.flows[i].start_ns = 10'000;
    t.records.flows[i].received_ns = 10'000 + 20'000 * (i + 1);
  }
  TrialResult r = t.compute();
  EXPECT_EQ(r.metrics.at("flows").value, 4);
  EXPECT_EQ(r.metrics.at("small.flows").value, 2);
  EXPECT_EQ(r.metrics.at("medium.flows").value, 0);
  EXPECT_EQ(r.metrics.count("medium.fct_mean_us"), 0u);
  EXPECT_DOUBLE_EQ(r.metrics.at("fct_mean_us").value, 50);
  EXPECT_DOUBLE_EQ(r.metrics.at("small.fct_mean_us").value, 30);
  EXPECT_DOUBLE_EQ(r.metrics.at("small.fct_p50_us").value, 20);
  EXPECT_DOUBLE_EQ(r.metrics.at("small.slowdown_p999").value, 4);
  EXPECT_DOUBLE_EQ(r.metrics.at("large.fct_mean_us").value, 70);
  EXPECT_EQ(r.metrics.at("unfinished").value, 0);
  // One of two unfinished is a lower bound; none finished gives nothing but the counts.
  t.records.flows[3].received_ns = -1;
  r = t.compute();
  EXPECT_EQ(r.metrics.at("large.unfinished").value, 1);
  EXPECT_TRUE(r.metrics.at("large.fct_mean_us").missed);
  EXPECT_DOUBLE_EQ(r.metrics.at("large.fct_p99_us").value, 990);
  EXPECT_FALSE(r.metrics.at("small.fct_mean_us").missed);
  t.records.flows[2].received_ns = -1;
  r = t.compute();
  EXPECT_EQ(r.metrics.at("large.flows").value, 2);
  EXPECT_EQ(r.metrics.count("large.fct_mean_us"), 0u);
}

TEST(Completion, KeepsResponsesOfIncastsApartFromTheBackground) {
  // Two small flows of the background, then two requests with two responses each.
  WorkloadSpec workload;
  workload.present = true;
  workload.load = 0.3;
  workload.classes = {{"small", 100'000}, {"large", -1}};
  workload.incast.fan_in = 2;
  SyntheticTrial t(6, 1'000'000);
  Measurement& m = t.trial.measurement;
  m.flow_sets = flow_sets(workload);
  m.size_class = {0, 0, -1, -1, -1, -1};
  m.request = {-1, -1, 0, 0, 1, 1};
  m.uniform.assign(6, 0.5);
  m.log_weight.assign(6, 0);
  const int64_t fct_us[] = {20, 40, 100, 300, 500, 200};
  for (size_t i = 0; i < 6; i++) {
    t.trial.plan.flows[i].size_bytes = 20'000;
    m.ideal_fct_ns[i] = 10'000;
    // The second response of a request starts a microsecond after the first.
    t.records.flows[i].start_ns = 10'000 + (i > 1 && i % 2 ? 1000 : 0);
    t.records.flows[i].received_ns = t.records.flows[i].start_ns + fct_us[i] * 1000;
  }
  TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("small.slowdown_mean").value, 3);
  EXPECT_EQ(r.metrics.at("small.flows").value, 2);
  EXPECT_DOUBLE_EQ(r.metrics.at("background.slowdown_mean").value, 3);
  EXPECT_DOUBLE_EQ(r.metrics.at("incast.fct_mean_us").value, 275);
  EXPECT_EQ(r.metrics.at("incast.flows").value, 4);
  EXPECT_EQ(r.metrics.at("flows").value, 6);
  EXPECT_EQ(r.metrics.at("requests").value, 2);
  EXPECT_DOUBLE_EQ(r.metrics.at("request_mean_us").value, (301 + 500) / 2.0);
  EXPECT_DOUBLE_EQ(r.metrics.at("request_p50_us").value, 301);
  EXPECT_DOUBLE_EQ(r.metrics.at("request_p99_us").value, 500);
  EXPECT_FALSE(r.metrics.at("request_mean_us").missed);
  EXPECT_EQ(r.samples[3].request, 0);
  // A response that is not complete: neither is its request.
  t.records.flows[2].received_ns = -1;
  r = t.compute();
  EXPECT_EQ(r.metrics.at("unfinished_requests").value, 1);
  EXPECT_TRUE(r.metrics.at("request_mean_us").missed);
  EXPECT_DOUBLE_EQ(r.metrics.at("request_p99_us").value, 990);
  EXPECT_FALSE(r.metrics.at("small.slowdown_mean").missed);
}

TEST(Completion, WeighsAFlowByTheFlowsThatHadStartedWhenItEnded) {
  SyntheticTrial t(3, 1'000'000);
  Measurement& m = t.trial.measurement;
  m.flow_sets = {{"small", FlowSet::Kind::kClass, 0}};
  m.size_class.assign(3, 0);
  m.request.assign(3, -1);
  m.uniform.assign(3, 0.5);
  m.log_weight = {0.5, -0.25, 1};
  for (int i = 0; i < 3; i++) {
    FlowPlan& flow = t.trial.plan.flows[i];
    flow.size_bytes = 1000;
    flow.start_ns = 10'000 * (i + 1);
    m.ideal_fct_ns[i] = 1000;
    t.records.flows[i].start_ns = flow.start_ns;
  }
  t.records.flows[0].received_ns = 15'000;  // before the second starts
  t.records.flows[1].received_ns = 90'000;
  t.records.flows[2].received_ns = -1;  // until the end
  const std::vector<FlowSample> samples = flow_samples(t.trial, t.records);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_DOUBLE_EQ(samples[0].log_weight, 0.5);
  EXPECT_DOUBLE_EQ(samples[1].log_weight, 1.25);
  EXPECT_DOUBLE_EQ(samples[2].log_weight, 1.25);
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("log_ratio").value, 1.25);
  m.log_weight.assign(3, 0);
  EXPECT_EQ(t.compute().metrics.count("log_ratio"), 0u);
}

TEST(Metrics, ThoseOfAClassAreKnownByTheirDottedName) {
  EXPECT_STREQ(find_metric("small.fct_p99_us")->name, "fct_p99_us");
  EXPECT_STREQ(find_metric("fct_p99_us")->unit, "us");
  EXPECT_EQ(find_metric("small.jain"), nullptr);
  EXPECT_EQ(find_metric("nosuch"), nullptr);
}

TEST(Catalogue, EveryMetricAndKeyIsDeclaredOnceAndWhole) {
  std::set<std::string> names;
  for (const MetricInfo& metric : all_metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name << " is declared twice";
    EXPECT_STRNE(metric.label, "") << metric.name;
    EXPECT_TRUE(metric.records &
                (kFlowRecords | kBottleneckPackets | kEndPackets | kEchoRecords | kNicRtts))
        << metric.name;
  }
  for (const MetricFamily* family : metric_families())
    if (!family->metrics.empty()) {
      EXPECT_NE(family->metrics.front().text, nullptr) << family->name;
    }
  names.clear();
  for (const Parameter& parameter : all_parameters())
    EXPECT_TRUE(names.insert(parameter.key).second) << parameter.key << " is declared twice";
  for (const Parameter& parameter : all_parameters()) {
    EXPECT_TRUE(!parameter.needs || names.count(parameter.needs)) << parameter.key;
    EXPECT_STRNE(parameter.text, "") << parameter.key;
  }
}

TEST(Catalogue, AFamilyGivesOnlyWhatItDeclares) {
  const MetricFamily family = {
      "toy", {{"toy", "", "Toy", Better::kNeither, kEndPackets, "a toy"}}, {}, nullptr};
  TrialResult result;
  MetricSink(family, kFlowRecords | kBottleneckPackets, result).set("toy", 1);
  EXPECT_TRUE(result.metrics.empty()) << "the trial lacks the records";
  MetricSink sink(family, kFlowRecords | kEndPackets, result);
  sink.set("toy", 2, true);
  EXPECT_EQ(result.metrics.at("toy").value, 2);
  EXPECT_TRUE(result.metrics.at("toy").missed);
  EXPECT_THROW(sink.set("toys", 1), Error);
  EXPECT_THROW(sink.set("toy", 1, false, "small"), Error) << "it is not of classes";
}

TEST(Catalogue, AKeyThatIsNotGivenHasItsDefault) {
  const Parameter time = Parameter::time_us("t_us", 0, 1.5, "");
  const Parameter none = Parameter::time_us("n_us", 0, -1, "");
  MeasureSpec measure;
  EXPECT_EQ(time.ns(measure), 1500);
  EXPECT_EQ(none.ns(measure), kNever);
  EXPECT_FALSE(time.is_set(measure));
  measure.parameters = {{"t_us", int64_t{1500}}, {"n_us", int64_t{0}}};
  EXPECT_FALSE(time.is_set(measure)) << "the default, said";
  EXPECT_TRUE(none.is_set(measure));
  EXPECT_EQ(none.ns(measure), 0);
}

TEST(Metrics, WithoutALogThereAreThoseOfFlowsOnly) {
  SyntheticTrial t(1, 100'000);
  t.trial.measurement.log = LogChoice::kNone;
  t.trial.plan.flows[0].size_bytes = 1000;
  t.trial.measurement.ideal_fct_ns[0] = 10'000;
  t.records.flows[0].received_ns = 30'000;
  const TrialResult r = t.compute();
  EXPECT_EQ(r.metrics.count("fct_mean_us"), 1u);
  EXPECT_EQ(r.metrics.count("utilisation"), 0u);
  EXPECT_EQ(r.metrics.count("drops"), 0u);
  EXPECT_TRUE(r.queue_bytes.empty());
}

TEST(Completion, IsAbsentWithoutSizedFlows) {
  SyntheticTrial t(1, 100'000);
  EXPECT_EQ(t.compute().metrics.count("fct_mean_us"), 0u);
  EXPECT_EQ(t.compute().metrics.count("slowdown_p99"), 0u);
}

TEST(Gradient, IsHeldAgainstTheRatesOfThePlan) {
  SyntheticTrial t(2, 100'000);
  t.set("gradient_of", std::string("group0"));
  t.trial.plan.flows[0].pacing_bps = 50'000'000'000;
  t.trial.plan.flows[1].pacing_bps = 100'000'000'000;
  t.trial.plan.flows[1].pacing_steps = {{50'000, 50'000'000'000}};
  // The queue grows by half a second per second, then stands; the RTTs say so exactly.
  for (int64_t i = 0; i < 80; i++) {
    const int64_t sent = i * 1000;
    t.add(10, 0, true, sent, sent).seq = static_cast<uint32_t>(i) * kPayload;
    t.add(20, 0, false, sent + 10'000 + std::min<int64_t>(sent, 50'000) / 2, 0).ack_seq =
        static_cast<uint32_t>(i + 1) * kPayload;
    t.records.packets.back().depart_ns = t.records.packets.back().arrival_ns;
  }
  // Decisions that are right before the step, and wrong by 0.5 after it.
  for (int64_t i = 0; i < 10; i++)
    t.records.decisions.push_back({kZero + 10'000 + i * 10'000, 10'000, 0.5, kClientPort});
  t.records.decisions.push_back({kZero + 20'000, 10'000, -7, kClientPort + 1});  // another flow's
  const TrialResult r = t.compute();
  EXPECT_DOUBLE_EQ(r.metrics.at("gradient_mse").value, 0.125);
  EXPECT_GT(r.metrics.at("gradient_ewma_mse").value, 0);
  EXPECT_LT(r.metrics.at("gradient_ewma_mse").value, 0.05);
  EXPECT_DOUBLE_EQ(r.metrics.at("gradient_gain").value,
                   r.metrics.at("gradient_ewma_mse").value / r.metrics.at("gradient_mse").value);
}

TEST(Gradient, TakesTheLastRttOfPacketsThatLeaveAsOnePiece) {
  SyntheticTrial t(1, 100'000);
  t.set("gradient_of", std::string("group0"));
  t.trial.plan.flows[0].pacing_bps = 100'000'000'000;
  // Pairs whose second packets see the same delay throughout, as the plan's rates say they should.
  for (int64_t i = 0; i < 80; i++) {
    const int64_t sent = i / 2 * 2000;
    t.add(10, 0, true, sent, sent).seq = static_cast<uint32_t>(i) * kPayload;
    t.add(20, 0, false, sent + (i % 2 == 0 ? 10'000 : 13'000), 0).ack_seq =
        static_cast<uint32_t>(i + 1) * kPayload;
    t.records.packets.back().depart_ns = t.records.packets.back().arrival_ns;
  }
  t.records.decisions.push_back({kZero + 20'000, 10'000, 1, kClientPort});
  EXPECT_DOUBLE_EQ(t.compute().metrics.at("gradient_ewma_mse").value, 0);
}

void expect_one(const std::vector<Decision>& decisions, const Decision& wanted) {
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].time_ns, wanted.time_ns);
  EXPECT_EQ(decisions[0].sport, wanted.sport);
  EXPECT_EQ(decisions[0].rtt_ns, wanted.rtt_ns);
  EXPECT_EQ(decisions[0].gradient, wanted.gradient);
}

TEST(Trace, ReadsDecisionsAndPassesOverTheRest) {
  const auto decisions = parse_trace(
      "# tracer: nop\n#\n"
      "  <idle>-0  [000] ..s..     4.001985: ack: name=oscar sport=10007 dport=5001 rtt_ns=11997 "
      "delay_ns=11990 gradient_q16=-32768 ratio_ppm=1000000 branch=13\n"
      "  <idle>-0  [000] ..s..     4.001990: other: sport=1\n");
  expect_one(decisions, {4'001'985'000, 11997, -0.5, 10007});
  EXPECT_THROW(parse_trace(" x 4.0: ack: name=oscar sport=1 rtt_ns=2\n"), Error);
}

TEST(Trace, ReadsWhatProgramsPrintAndNotWhatOthersDo) {
  const auto decisions = parse_trace(
      "  python3-5945    [001] ...11  3813.562869: bpf_trace_printk: ack: name=bpf_swift "
      "sport=36566 dport=46409 rtt_ns=67862 gradient_q16=16384 cwnd_milli=82562 branch=4\n"
      "  python3-5945    [001] ...11  3813.562870: bpf_trace_printk: another program's: ack\n");
  expect_one(decisions, {3'813'562'869'000, 67862, 0.25, 36566});
}

TEST(Rates, AreBinnedPerGroup) {
  SyntheticTrial t(2, 40'000);
  t.set("bin_ns", int64_t{10'000});
  t.stream(0, 0, 20'000);
  t.stream(1, 20'000, 40'000, 2);
  const TrialResult r = t.compute();
  ASSERT_EQ(r.rates.size(), 2u);
  EXPECT_EQ(r.rates[0].label, "group0");
  EXPECT_DOUBLE_EQ(r.rates[0].gbps.at(1), 100);
  EXPECT_DOUBLE_EQ(r.rates[0].gbps.at(2), 0);
  EXPECT_DOUBLE_EQ(r.rates[1].gbps.at(3), 50);
}

TEST(MeasuredTime, LeavesOutOverlappingExclusions) {
  EXPECT_EQ(measured_time(0, 100, {{50, 60}, {10, 20}, {55, 70}, {90, 200}}),
            (std::vector<TimeSpan>{{0, 10}, {20, 50}, {70, 90}}));
}

TEST(Statistics, IntervalIsStudents) {
  const Summary s = summarise({1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(s.mean, 3);
  // t(0.975, 4) = 2.776445, sd = sqrt(2.5).
  EXPECT_NEAR(s.ci95, 2.776445 * 1.5811388 / 2.2360680, 1e-5);
  EXPECT_EQ(s.n, 5);
  EXPECT_EQ(s.max, 5);
  EXPECT_EQ(summarise({7}).ci95, 0);
}

TEST(Statistics, PercentileIsTheNearestRank) {
  std::vector<double> v = {5, 1, 4, 2, 3};
  EXPECT_EQ(percentile(v, 0.5), 3);
  EXPECT_EQ(percentile(v, 0.99), 5);
  EXPECT_EQ(percentile(v, 0.2), 1);
  EXPECT_EQ(percentile(v, 0.21), 2);
}

TEST(Statistics, JainIndex) {
  EXPECT_DOUBLE_EQ(jain_index({1, 1, 1, 1}), 1);
  EXPECT_DOUBLE_EQ(jain_index({1, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({0, 0}), 0);
}

// Flow 1 has the higher priority and is to have the link from 1 ms to 2 ms.
SyntheticTrial two_priorities() {
  SyntheticTrial t(2, 3'000'000);
  t.trial.plan.flows[0].priority = 2;
  t.trial.plan.flows[1].priority = 6;
  t.records.flows[1].start_ns = 1'000'000;
  t.records.flows[1].stop_ns = 2'000'000;
  return t;
}

TEST(Priorities, TimesAndShareAreThoseOfTheHighestThatSends) {
  SyntheticTrial t = two_priorities();
  t.stream(0, 0, 1'050'000);
  t.stream(1, 1'050'000, 2'000'000);
  t.stream(0, 2'080'000, 3'000'000);
  const TrialResult r = t.compute();
  // 85 % of a window of 10 us, and the first window ends 10 us after the step.
  EXPECT_NEAR(r.metrics.at("takeover_us").value, 50 + 8.5, 1);
  EXPECT_NEAR(r.metrics.at("giveback_us").value, 80 + 8.5, 1);
  EXPECT_FALSE(r.metrics.at("takeover_us").missed);
  EXPECT_DOUBLE_EQ(r.metrics.at("top_share").value, 1);
  EXPECT_DOUBLE_EQ(r.metrics.at("top_share_min").value, 1);
  // Without the 300 us after each change, in one of which the link was idle for 80 us; and with
  // them.
  EXPECT_NEAR(r.metrics.at("top_utilisation").value, 1, 1e-3);
  EXPECT_NEAR(r.metrics.at("priority_utilisation").value, 2.92 / 3, 1e-3);
}

TEST(Priorities, ALowerOneThatStillSendsTakesFromTheShare) {
  SyntheticTrial t = two_priorities();
  t.stream(0, 0, 1'000'000);
  t.stream(1, 1'000'000, 1'900'000);
  t.stream(0, 1'900'000, 3'000'000);
  const TrialResult r = t.compute();
  // 0.3 ms after each change: 0.7 ms each, of which 0.1 ms went to the wrong one.
  EXPECT_NEAR(r.metrics.at("top_share").value, 2.0 / 2.1, 1e-3);
  EXPECT_NEAR(r.metrics.at("top_share_min").value, 0, 1e-3);
}

TEST(Priorities, AHighestOneThatNeverGetsThereCountsAsMissed) {
  SyntheticTrial t = two_priorities();
  t.stream(0, 0, 3'000'000, 2, 0);
  t.stream(1, 1'000'000, 2'000'000, 2, 1);
  const TrialResult r = t.compute();
  EXPECT_TRUE(r.metrics.at("takeover_us").missed);
  EXPECT_NEAR(r.metrics.at("takeover_us").value, 1000, 1);
}

TEST(Priorities, CompletionIsHeldAgainstStrictPriorities) {
  SyntheticTrial t(3, 1'000'000);
  // The high one from 100 us on; the two low ones share what it leaves.
  const int64_t payload = 1448 * 100, wire = 1514 * 100;
  const double one_ns = static_cast<double>(wire) * 8e9 / t.trial.measurement.bottleneck_bps;
  const int64_t latency_ns = 5'000;
  for (int i = 0; i < 3; i++) {
    t.trial.plan.flows[i].size_bytes = payload;
    t.trial.plan.flows[i].priority = i == 2;
    t.trial.plan.flows[i].start_ns = t.records.flows[i].start_ns = i == 2 ? 10'000 : 0;
    t.trial.measurement.ideal_fct_ns[i] = static_cast<int64_t>(one_ns) + latency_ns;
    t.records.flows[i].received_ns = static_cast<int64_t>(i == 2 ? one_ns : 3 * one_ns) +
                                     t.records.flows[i].start_ns + latency_ns;
  }
  EXPECT_NEAR(t.compute().metrics.at("priority_fct_gap").value, 0, 1e-3);
  t.records.flows[2].received_ns += static_cast<int64_t>(one_ns) + latency_ns;
  EXPECT_NEAR(t.compute().metrics.at("priority_fct_gap").value, 1, 1e-3);
  t.trial.plan.flows[0].stop_ns = 500'000;
  EXPECT_EQ(t.compute().metrics.count("priority_fct_gap"), 0u);
}

TEST(Priorities, AreNotMeasuredWhereAllFlowsHaveTheSame) {
  SyntheticTrial t(2, 1'000'000);
  t.trial.plan.flows[0].priority = t.trial.plan.flows[1].priority = 3;
  t.stream(0, 0, 1'000'000);
  EXPECT_EQ(t.compute().metrics.count("top_share"), 0u);
}

}  // namespace
}  // namespace delaycc

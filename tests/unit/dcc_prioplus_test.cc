// SPDX-License-Identifier: Apache-2.0
#include "dcc_prioplus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

dcc_prioplus_params Params(u32 priority = 7) {
  dcc_prioplus_params params;
  dcc_prioplus_params_default(&params);
  params.priority = priority;
  params.seed = 12345;
  return params;
}

dcc_prioplus_params Paper(u32 priority = 7) {
  dcc_prioplus_params params = Params(priority);
  params.paper = 1;
  return params;
}

// One flow at 100 Gbit/s and 12 us; level 8 by default: D_target 44 us, D_limit 46.4 us.
class Flow {
 public:
  explicit Flow(dcc_prioplus_params p = Params(),
                dcc_path path = {100000000000ULL, 12000, 1500, 0, 0})
      : path(path), params(p) {
    dcc_prioplus_init(&state, &path, &params, &control);
  }

  bool Ack(u32 rtt_ns, u32 flags = 0, u32 inflight_bytes = 0xffffffff) {
    now_ns += 120;
    const dcc_ack ack = {now_ns, now_ns - rtt_ns, rtt_ns, 1500, inflight_bytes, flags, 0};
    return dcc_prioplus_ack(&state, &path, &params, &ack, &control);
  }
  // One acknowledgment that ends an RTT of this delay.
  bool Round(u32 rtt_ns) {
    now_ns += rtt_ns + 1;
    return Ack(rtt_ns);
  }
  bool Reply(u32 rtt_ns) {
    now_ns += rtt_ns;
    return Ack(rtt_ns, DCC_ACK_PROBE);
  }
  void Over(u32 rtt_ns) {
    Round(rtt_ns);
    Ack(rtt_ns);
  }
  // As a level that has filled its channel for a while.
  void Settle(double packets) {
    for (int i = 0; i < 6; ++i) {
      Set(packets);
      Round(state.target_ns);
    }
    Set(packets);
  }
  void Loss() { dcc_prioplus_loss(&state, &path, &params, now_ns, &control); }

  void Set(double packets) { state.flow.cwnd_q24 = static_cast<u64>(packets * 16777216.0); }
  double cwnd() const { return static_cast<double>(state.flow.cwnd_q24) / 16777216.0; }
  double hold() const { return static_cast<double>(state.flow.hold_q24) / 16777216.0; }
  double step() const { return static_cast<double>(state.flow.step_q24) / 16777216.0; }
  double flows() const { return state.flow.flows_q8 / 256.0; }
  bool stopped() const { return dcc_prioplus_probes(&state.flow); }

  dcc_path path;
  dcc_prioplus_params params;
  dcc_prioplus state;
  dcc_control control;
  u64 now_ns = 1000000000;
};

TEST(PrioplusParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_prioplus_params params = Params();
    change(params);
    return !dcc_prioplus_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.levels = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.levels = 65; }));
  EXPECT_TRUE(refused([](auto& p) { p.channel_a_ns = 99; }));
  EXPECT_TRUE(refused([](auto& p) { p.channel_a_ns = 10000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.channel_b_ns = 10000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.unlimited_from = 65; }));
  EXPECT_TRUE(refused([](auto& p) { p.medium_from = 66; }));
  EXPECT_TRUE(refused([](auto& p) { p.high_from = 66; }));
  EXPECT_TRUE(refused([](auto& p) { p.ls_low_ppm = 999; }));
  EXPECT_TRUE(refused([](auto& p) { p.ls_medium_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.ls_high_ppm = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.tolerance_ns = 10000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.paper = 2; }));
  EXPECT_TRUE(refused([](auto& p) { p.dual_rtt = 2; }));
  EXPECT_TRUE(refused([](auto& p) { p.max_flows = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.max_flows = 65537; }));
  EXPECT_TRUE(refused([](auto& p) { p.resume_milli = 9; }));
  EXPECT_TRUE(refused([](auto& p) { p.ai_ppm = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.beta_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.max_mdf_ppm = 1000001; }));
}

TEST(PrioplusChannels, FollowThePapersFormulas) {
  for (u32 priority = 0; priority < 8; ++priority) {
    const Flow flow(Params(priority));
    EXPECT_EQ(flow.state.target_ns, 12000 + (priority + 1) * 4000) << priority;
    EXPECT_EQ(flow.state.limit_ns, flow.state.target_ns + 2400) << priority;
  }
}

TEST(PrioplusChannels, APriorityAboveTheHighestLevelIsTheHighest) {
  EXPECT_EQ(Flow(Params(4000000000)).state.target_ns, 44000u);
}

TEST(PrioplusChannels, LevelsFromTheGivenOneOnHaveNoLimit) {
  dcc_prioplus_params params = Params(7);
  params.unlimited_from = 8;
  Flow flow(params);
  flow.Settle(20);
  for (int i = 0; i < 100; ++i) flow.Over(500000);
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusChannels, BHasTheMeasuredNoise) {
  const Flow flow(Params(1), {100000000000, 15000, 1500, 3000, 0});
  EXPECT_EQ(flow.state.target_ns, 15000u + 2 * 7000);
  EXPECT_EQ(flow.state.limit_ns, flow.state.target_ns + 1600 + 3800);
  EXPECT_EQ(flow.state.idle_ns, 15000u + 3800);
}

TEST(PrioplusChannels, WhatMayBeNoiseIsNoQueue) {
  dcc_prioplus_params params = Params(3);
  EXPECT_EQ(Flow(params).state.idle_ns, 13000u);
  params.channel_b_ns = 7000;
  EXPECT_EQ(Flow(params).state.idle_ns, 19000u);
  params.tolerance_ns = 2000;
  EXPECT_EQ(Flow(params).state.idle_ns, 14000u);
}

// The line is a device's, the path may be a thousand times slower.
TEST(PrioplusChannels, AreNotNarrowerThanThePathsGrain) {
  const dcc_path path = {10000000000ULL, 5000000, 1500, 0, 1000000};
  Flow flow(Params(0), path);
  EXPECT_EQ(flow.state.target_ns, 5000000u + 1000800u);
  EXPECT_EQ(flow.state.limit_ns, 5000000u + 1000800u + 500800u);
  EXPECT_EQ(flow.state.idle_ns, 5000000u + 250000u);
  dcc_prioplus_params told = Params(0);
  told.tolerance_ns = 5000;
  EXPECT_EQ(Flow(told, path).state.idle_ns, 5005000u);
  told.channel_a_ns = 2000000;
  EXPECT_EQ(Flow(told, path).state.target_ns, 5000000u + 2000800u);
}

TEST(PrioplusChannels, AreAFifthOfThePathAndTwoPacketsAtLeast) {
  dcc_prioplus_params paper = Params(0);
  paper.paper = 1;
  dcc_path path = {};
  path.wire_bytes = 1250;
  path.line_rate_bps = 1000000000;  // 10 us a packet
  path.base_rtt_ns = 1000000;
  EXPECT_EQ(Flow(Params(0), path).state.channel_ns, 200000u + 800u);
  EXPECT_EQ(Flow(paper, path).state.channel_ns, 20000u + 800u) << "as listed";
  path.noise_ns = 100000;
  EXPECT_EQ(Flow(Params(0), path).state.channel_ns, 180000u + 100800u) << "noise is no path";
  path.noise_ns = 0;
  path.base_rtt_ns = 40000;
  EXPECT_EQ(Flow(Params(0), path).state.channel_ns, 20000u + 800u) << "two packets at least";
  path.base_rtt_ns = 12000;
  path.line_rate_bps = 100000000000;
  EXPECT_EQ(Flow(Params(0), path).state.channel_ns, 3200u + 800u) << "as configured";
}

TEST(PrioplusStart, AHighLevelSendsAtOnceALowOneProbes) {
  const Flow high(Params(7)), low(Params(0));
  EXPECT_FALSE(high.stopped());
  EXPECT_EQ(high.control.probe_ns, 0u);
  EXPECT_NEAR(high.cwnd(), 100, 0.1) << "W_LS of a high level is a BDP";
  EXPECT_TRUE(low.stopped());
  EXPECT_EQ(low.control.probe_ns, 1u) << "at once";
}

TEST(PrioplusStart, TheProbeOfAnIdlePathStartsWithTheLevelsStep) {
  Flow low(Params(0)), medium(Params(4));
  EXPECT_TRUE(low.Reply(11900));
  EXPECT_NEAR(low.cwnd(), 12.5, 0.01);
  EXPECT_EQ(low.control.probe_ns, 0u);
  medium.Reply(11900);
  EXPECT_NEAR(medium.cwnd(), 25, 0.01);
}

TEST(PrioplusStart, StaysStoppedWhileAHigherLevelSends) {
  Flow flow(Params(0));
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(flow.Reply(44000));
    EXPECT_GE(flow.control.probe_ns, 44000u - 16000u) << "not before the queue can have fallen";
    // A probe saves the time of two packets at least.
    EXPECT_LE(flow.control.probe_ns, 44000u + 240u - 16000u + 12000u);
  }
}

TEST(PrioplusProbe, TimesOfTwoFlowsDiffer) {
  dcc_prioplus_params other = Params(0);
  other.seed = 999;
  Flow a(Params(0)), b(other);
  int equal = 0;
  for (int i = 0; i < 20; ++i) {
    a.Reply(44000);
    b.Reply(44000);
    equal += a.control.probe_ns == b.control.probe_ns;
  }
  EXPECT_LT(equal, 3);
}

TEST(PrioplusProbe, ASeedOfZeroWhichWouldStayZeroIsOne) {
  dcc_prioplus_params zero = Params(), one = Params();
  zero.seed = 0;
  one.seed = 1;
  Flow a(zero), b(one);
  for (int i = 0; i < 5; ++i) {
    a.Over(60000);
    b.Over(60000);
    a.Reply(60000);
    b.Reply(60000);
    EXPECT_EQ(a.control.probe_ns, b.control.probe_ns);
  }
  EXPECT_NE(a.state.flow.random, 1u) << "numbers were drawn";
}

TEST(PrioplusProbe, AReplyToAFlowThatSendsIsIgnored) {
  Flow flow;
  const dcc_control before = flow.control;
  EXPECT_FALSE(flow.Reply(12000));
  EXPECT_EQ(flow.control.cwnd_q16, before.cwnd_q16);
}

TEST(PrioplusProbe, IsTakenForAFullPacket) {
  // 1.2 us a packet: over three hops a probe is 3.4 us faster.  D_limit is 19.4 us.
  Flow flow(Paper(0), {10000000000ULL, 13000, 1514, 0, 0});
  flow.Reply(9600);
  ASSERT_FALSE(flow.stopped());
  flow.Over(30000);
  flow.Reply(16100);
  EXPECT_TRUE(flow.stopped());
  flow.Reply(9600);
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusProbe, DataInItsPlaceCountsAsItIs) {
  Flow flow(Paper(0), {10000000000ULL, 13000, 1514, 0, 0});
  const u32 data = DCC_ACK_PROBE | DCC_ACK_PROBE_DATA;
  flow.Ack(13000, data);
  ASSERT_FALSE(flow.stopped());
  flow.Over(30000);
  flow.Ack(19500, data);
  EXPECT_TRUE(flow.stopped());
  flow.Ack(13000, data);
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusStop, OnASlowLineThePacketBehindAnotherIsNoReasonToStop) {
  // A packet takes 121 us, thirty channels of 4 us.
  Flow flow(Paper(0), {100000000ULL, 1000000, 1514, 0, 0});
  flow.Ack(1000000, DCC_ACK_PROBE | DCC_ACK_PROBE_DATA);
  flow.Over(1000000 + 2 * 121120);
  EXPECT_FALSE(flow.stopped());
  flow.Over(1000000 + 4 * 121120);
  EXPECT_TRUE(flow.stopped());
}

TEST(PrioplusProbe, OnASlowPathOfOneHopAProbeIsNotTakenForAQueueAboveTheLimit) {
  Flow flow(Paper(0), {100000000ULL, 1000000, 1514, 0, 0});
  flow.Reply(1000000 - 116000);
  EXPECT_FALSE(flow.stopped()) << "two hops are assumed";
}

TEST(PrioplusProbe, AnotherBaseRttForgetsWhatProbesTook) {
  // The handshake's RTT first, then that of a full packet over two hops of 100 Mbit/s.
  Flow flow(Paper(0), {100000000ULL, 1000000, 1514, 0, 0});
  flow.path.base_rtt_ns = 1230000;
  flow.Ack(1230000, DCC_ACK_PROBE | DCC_ACK_PROBE_DATA);
  ASSERT_FALSE(flow.stopped());
  flow.Over(2000000);
  ASSERT_TRUE(flow.stopped());
  flow.Reply(1000000);
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusIncrease, ANewFlowsLinearStartTakesAStepInEachRtt) {
  Flow flow(Params(4));
  flow.Reply(11900);
  const double w_ls = flow.cwnd();
  double sent = w_ls;  // each packet finds the window of the RTT before in flight
  for (int i = 1; i <= 4; ++i) {
    const double window = flow.cwnd();
    flow.now_ns += 12001;
    flow.Ack(12000, 0, static_cast<u32>(sent * 1500));
    flow.Ack(12000, 0, static_cast<u32>(window * 1500));
    sent = window;
    EXPECT_NEAR(flow.cwnd(), w_ls * (i + 1), 1) << i;
  }
}

TEST(PrioplusStop, OneLongDelayIsNoise) {
  Flow flow(Paper());
  flow.Round(60000);
  flow.Ack(44000);
  flow.Ack(60000);
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusStop, TwoLongDelaysInARowStopTheFlow) {
  Flow flow(Paper());
  flow.Over(60000);
  EXPECT_TRUE(flow.stopped());
  EXPECT_GE(flow.control.probe_ns, 16000u);
  EXPECT_LE(flow.control.probe_ns, 28001u);
}

// Packets that a host held back come together: each RTT is shorter than the one before.
TEST(PrioplusStop, LongDelaysThatFallAreNoReasonToStop) {
  Flow flow;
  flow.Settle(10);
  flow.Round(51000);
  for (const u32 rtt_ns : {50880, 50760, 50640, 46500}) flow.Ack(rtt_ns);
  EXPECT_FALSE(flow.stopped());
  flow.Ack(46500);
  EXPECT_TRUE(flow.stopped());
}

TEST(PrioplusPaper, LongDelaysThatFallStopTheFlow) {
  Flow flow(Paper());
  flow.Settle(10);
  flow.Round(51000);
  flow.Ack(50000);
  EXPECT_TRUE(flow.stopped());
}

TEST(PrioplusStop, WhatArrivesWhileStoppedChangesNothing) {
  Flow flow(Paper());
  flow.Over(60000);
  const u64 probe_ns = flow.control.probe_ns;
  EXPECT_FALSE(flow.Ack(12000));
  EXPECT_FALSE(flow.Ack(80000));
  flow.Loss();
  EXPECT_TRUE(flow.stopped());
  EXPECT_EQ(flow.control.probe_ns, probe_ns);
}

TEST(PrioplusStop, AcksOfPacketsFromBeforeTheStopAreIgnoredAfterIt) {
  Flow flow(Paper());
  flow.Over(60000);
  flow.Reply(11900);
  EXPECT_FALSE(flow.Ack(30000));
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusStop, ATinyWindowAboveTheTargetStops) {
  Flow flow(Paper());
  flow.Set(0.05);
  flow.Round(45000);
  EXPECT_TRUE(flow.stopped());
}

// 50 us at 100 Gbit/s are 416.7 packets.
TEST(PrioplusPaper, EstimatesTheFlowsFromItsShareOfTheFlight) {
  Flow flow(Paper());
  flow.Set(10);
  flow.Over(50000);
  // The first sample went through Swift: 1 - 0.8 * 6 / 50.
  EXPECT_NEAR(flow.flows(), 416.7 / (10 * 0.904), 0.2);
}

TEST(PrioplusPaper, NeverEstimatesMoreThanTheMaximumNorFromLessThanAPacket) {
  Flow flow(Paper());
  flow.Set(0.2);
  flow.Over(50000);
  EXPECT_NEAR(flow.flows(), 416.7, 0.5);
  dcc_prioplus_params params = Paper();
  params.max_flows = 30;
  Flow few(params);
  few.Set(1);
  few.Over(50000);
  EXPECT_EQ(few.flows(), 30);
}

TEST(PrioplusPaper, ResumesAtNoQueueWithItsPartOfTheStep) {
  Flow flow(Paper());
  flow.Set(10);
  flow.Over(50000);
  const double n = flow.flows();
  flow.Reply(11900);
  EXPECT_NEAR(flow.cwnd(), 100 / n, 0.05);
}

TEST(PrioplusPaper, ResumesInMidRangeWithHalfAPacket) {
  Flow flow(Paper());
  flow.Over(50000);
  flow.Reply(20000);
  EXPECT_FALSE(flow.stopped());
  EXPECT_EQ(flow.cwnd(), 0.5);
}

TEST(PrioplusPaper, HalvesTheFlowsWhenNoQueueLastsLongerThanTheyWouldNeed) {
  dcc_prioplus_params params = Paper(0);  // W_LS an eighth of a BDP
  params.high_from = 1;
  params.ls_high_ppm = 125000;
  Flow flow(params);
  flow.Set(10);
  flow.Over(50000);
  const double n = flow.flows();
  flow.Reply(11900);
  for (int i = 0; i < 7; ++i) flow.Round(12000);
  EXPECT_EQ(flow.flows(), n);
  flow.Round(12000);
  EXPECT_NEAR(flow.flows(), n / 2, 0.01);
  for (int i = 0; i < 30; ++i) flow.Round(12000);
  EXPECT_EQ(flow.flows(), 1) << "and never below one";
}

TEST(PrioplusIncrease, AddsTheStepEachRttAtNoQueue) {
  Flow flow(Paper(4));
  flow.Reply(11900);
  flow.Set(30);
  flow.Round(12000);
  EXPECT_NEAR(flow.cwnd(), 30 + 25, 0.1);
  flow.Ack(12000);
  EXPECT_NEAR(flow.cwnd(), 55, 0.1) << "once per RTT";
}

TEST(PrioplusIncrease, RaisesTheDelayToTheTargetInOneRttAndWaitsAnother) {
  Flow flow(Paper());
  flow.Set(50);
  flow.Round(40000);  // 10 % below 44 us
  EXPECT_NEAR(flow.step(), 5, 0.01);
  for (int i = 0; i < 50; ++i) flow.Ack(40000);
  EXPECT_NEAR(flow.cwnd(), 55, 0.4);
  flow.Round(40000);
  EXPECT_EQ(flow.step(), 0) << "the effect is not to be seen yet";
  flow.Round(40000);
  EXPECT_GT(flow.step(), 5) << "set anew, not added up";
  EXPECT_LT(flow.step(), 6);
}

TEST(PrioplusIncrease, AddsAtMostHalfOfTheWindow) {
  Flow flow(Paper());
  flow.Set(50);
  flow.Round(14000);
  EXPECT_NEAR(flow.step(), 25, 0.01);
}

TEST(PrioplusIncrease, WithoutDualRttEachRttIncreases) {
  dcc_prioplus_params params = Paper();
  params.dual_rtt = 0;
  Flow flow(params);
  flow.Set(50);
  flow.Round(40000);
  flow.Round(40000);
  EXPECT_GT(flow.step(), 0);
}

TEST(PrioplusIncrease, AFlowThatDoesNotUseItsWindowDoesNotGrow) {
  Flow flow(Paper());
  for (int i = 0; i < 3; ++i) {
    flow.Set(200);
    flow.now_ns += 50000;
    flow.Ack(12000, 0, 100 * 1500);
  }
  EXPECT_EQ(flow.cwnd(), 200);
  flow.now_ns += 50000;
  flow.Ack(12000, DCC_ACK_APP_LIMITED);
  EXPECT_EQ(flow.cwnd(), 200);
}

TEST(PrioplusIncrease, InTheChannelSwiftDecides) {
  Flow flow;
  flow.Set(50);
  flow.Round(45000);
  EXPECT_NEAR(flow.cwnd(), 50 * (1 - 0.8 * 1000 / 45000), 0.01);
  flow.Ack(45000);
  EXPECT_NEAR(flow.cwnd(), 50 * (1 - 0.8 * 1000 / 45000), 0.01) << "once per base RTT";
}

TEST(PrioplusHold, FourRttsInTheChannelAreSettled) {
  Flow flow;
  for (int i = 0; i < 3; ++i) {
    flow.Set(12);
    flow.Round(44000);
    EXPECT_EQ(flow.hold(), 0);
  }
  flow.Set(12);
  flow.Round(44000);
  EXPECT_NEAR(flow.hold(), 12, 0.1);
  EXPECT_NEAR(flow.flows(), 366.7 / 12, 0.3) << "D_target rate / w_hold";
}

TEST(PrioplusHold, YieldingLeavesTheEstimateAlone) {
  Flow flow(Params(5));
  flow.Reply(11900);
  flow.Settle(10);
  const double n = flow.flows();
  // The queue grows, Swift squeezes the window, then the limit is passed.
  flow.Set(1);
  flow.Over(44000);
  EXPECT_TRUE(flow.stopped());
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_PRIOPLUS_YIELD));
  EXPECT_EQ(flow.flows(), n);
  EXPECT_NEAR(flow.hold(), 10, 0.1);
}

TEST(PrioplusHold, ANewFlowCutsItsWindowBeforeItStops) {
  Flow flow;
  flow.Set(100);
  flow.Over(88000);
  EXPECT_FALSE(flow.stopped());
  // The first of two long delays is the base core's: 1 - 0.8 * 44 / 88 of the window.
  EXPECT_NEAR(flow.cwnd(), 60 * 44. / 88, 0.01);
  EXPECT_EQ(flow.flows(), 1) << "in part the lower levels' packets";
  EXPECT_FALSE(flow.Ack(88000)) << "sent before the cut";
  flow.Over(88000);
  EXPECT_GT(flow.flows(), 733.3 / 30);
  flow.Over(88000);
  EXPECT_FALSE(flow.stopped());
  flow.Over(88000);
  EXPECT_TRUE(flow.stopped()) << "three cuts have not helped";
}

TEST(PrioplusHold, YieldsAgainWithoutSettlingAgainAtItsWindow) {
  for (const double window : {9.9, 50.0}) {
    Flow flow(Params(5));
    flow.Reply(11900);
    flow.Settle(10);
    flow.Over(60000);
    const double n = flow.flows();
    flow.Reply(11900);
    flow.Reply(11900);
    ASSERT_FALSE(flow.stopped());
    flow.Set(window);
    flow.Over(60000);
    if (window < 10) {
      EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_PRIOPLUS_YIELD));
      EXPECT_EQ(flow.flows(), n);
    } else {
      EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_PRIOPLUS_STOP));
      EXPECT_GE(flow.flows(), n);
    }
    EXPECT_NEAR(flow.hold(), 10, 0.1);
  }
}

TEST(PrioplusHold, DoesNotResumeInTheMiddleOfAQueueAfterYielding) {
  Flow flow(Params(5));
  flow.Reply(11900);
  flow.Settle(10);
  flow.Over(40000);
  for (int i = 0; i < 7; ++i) {
    flow.Reply(20000);
    ASSERT_TRUE(flow.stopped()) << i;
    ASSERT_GT(flow.control.probe_ns, 0u);
  }
  flow.Reply(20000);
  EXPECT_FALSE(flow.stopped()) << "a queue that stays is a lower level's";
}

TEST(PrioplusHold, ResumesAtOnceAfterTheNextLevel) {
  Flow flow(Params(5));  // D_target 36 us
  flow.Reply(11900);
  flow.Settle(10);
  flow.Over(40000);
  flow.Reply(40000);
  flow.Reply(11900);
  EXPECT_FALSE(flow.stopped());
  // 80 % of the part of the window that stood in the queue.
  EXPECT_NEAR(flow.cwnd(), 0.8 * 10 * 24 / 36, 0.1);
}

TEST(PrioplusHold, WaitsForThoseBetweenItAndALevelFarAbove) {
  Flow flow(Params(1));  // D_target 20 us
  flow.Reply(11900);
  flow.Settle(10);
  flow.Over(44000);  // six levels above
  flow.Reply(11900);
  EXPECT_TRUE(flow.stopped());
  EXPECT_GE(flow.control.probe_ns, 3 * 24000u);
  EXPECT_LE(flow.control.probe_ns, 3 * 24000u + 4001u);
  flow.Reply(11900);
  EXPECT_FALSE(flow.stopped()) << "confirmed";
}

TEST(PrioplusHold, AsksTwiceWhetherTheHigherLevelFailedToCome) {
  Flow flow(Params(5));
  flow.Reply(11900);
  flow.Settle(10);
  flow.Over(40000);
  flow.Reply(11900);
  EXPECT_TRUE(flow.stopped()) << "its own leaving has emptied the queue";
  EXPECT_GE(flow.control.probe_ns, 12000u);
  flow.Reply(11900);
  EXPECT_FALSE(flow.stopped());
}

TEST(PrioplusHold, AsksTheLessOftenTheFurtherTheHighestLevelIs) {
  for (const u32 priority : {6u, 5u, 4u}) {
    Flow flow((Params(priority)));
    flow.Reply(11900);
    flow.Settle(10);
    flow.Over(60000);
    flow.Reply(44000);
    EXPECT_GE(flow.control.probe_ns, (6 - priority) * 24000u);
    EXPECT_LE(flow.control.probe_ns, (6 - priority) * 24000u + (7 - priority) * 4000u + 12241u);
  }
}

TEST(PrioplusHold, IncreasesMoreEachTimeThatItDidNotReachTheChannel) {
  Flow flow(Params(5));
  flow.Reply(11900);
  flow.Settle(2);
  double last = 0;
  for (int i = 0; i < 8; ++i) {
    flow.Set(2);
    flow.Round(30000);
    if (flow.step() == 0) continue;  // every second RTT
    EXPECT_GE(flow.step(), last);
    last = flow.step();
  }
  EXPECT_GT(last, 1) << "half of the window, which the listing would add at most";
}

TEST(PrioplusHold, ALevelGrowsByASixteenthOfA) {
  // A = 3.2 us: 200 ns, which are 200 / 44000 of each window.
  for (const double packets : {4.0, 12.0, 64.0}) {
    Flow flow;
    flow.Settle(packets);
    flow.Set(packets);
    flow.Round(dcc_prioplus_aim_ns(&flow.state) - 1);
    EXPECT_NEAR((flow.cwnd() - packets) * packets, packets * 200 / 44000, packets * 1e-4);
  }
}

TEST(PrioplusHold, ASmallerShareAimsHigher) {
  // The line sends 366.7 packets in D_target: the logarithm of n, less 4, tenths of A.
  const auto aim_ns = [](double packets) {
    Flow flow;
    flow.Settle(packets);
    flow.Set(packets);
    return static_cast<double>(dcc_prioplus_aim_ns(&flow.state)) - flow.state.target_ns;
  };
  EXPECT_EQ(aim_ns(1000), -4 * 320);
  EXPECT_NEAR(aim_ns(366.7), -4 * 320, 1);
  EXPECT_NEAR(aim_ns(366.7 / 16), 0, 1);
  EXPECT_NEAR(aim_ns(366.7 / 64), 2 * 320, 1);
  EXPECT_EQ(aim_ns(0.5), 3 * 320);
}

TEST(PrioplusHold, TheAimIsDTargetUntilAFlowIsSettled) {
  Flow flow, listed(Paper());
  flow.Set(4);
  EXPECT_EQ(dcc_prioplus_aim_ns(&flow.state), flow.state.target_ns);
  for (int i = 0; i < 8; ++i) {
    listed.Set(4);
    listed.Round(listed.state.target_ns);
  }
  EXPECT_EQ(dcc_prioplus_aim_ns(&listed.state), listed.state.target_ns);
}

TEST(PrioplusHold, ASettledFlowsAdaptiveIncreaseIsToItsAim) {
  Flow flow;
  flow.Settle(366);
  for (int i = 0; i < 2; ++i) {
    flow.Set(366);
    flow.Round(flow.state.target_ns - 4 * 320);
    EXPECT_NEAR(flow.step(), 0, 0.02);
  }
}

TEST(PrioplusHold, ASettledFlowsAdaptiveIncreaseDoublesUntilItReachesItsAim) {
  Flow flow;
  flow.Settle(20);
  // Within the channel, 200 ns below its aim.
  const u32 delay_ns = dcc_prioplus_aim_ns(&flow.state) - 200;
  double steps[5];
  for (double& step : steps) {
    flow.Set(20);
    flow.Round(delay_ns);
    if (!flow.state.flow.odd) {
      flow.Set(20);
      flow.Round(delay_ns);
    }
    step = flow.step();
  }
  // At first its window's part of the delay, which is more.
  EXPECT_NEAR(steps[0], 20.0 * 200 / 44000, 0.01);
  EXPECT_NEAR(steps[3], 2 * steps[2], 0.01);
  EXPECT_NEAR(steps[4], 2 * steps[3], 0.01);
  flow.Round(delay_ns + 300);
  EXPECT_EQ(flow.state.flow.tries, 0);
}

TEST(PrioplusBaseRtt, AFlowThatALongerPathHasStoppedBeginsAnew) {
  // Configured as 12 us; a probe has found more, by more than half of a channel or by less.
  for (const u32 base_ns : {20000u, 14001u, 14000u}) {
    Flow flow(Params(0));
    flow.Reply(11760);
    flow.Settle(20);
    flow.Over(20000);
    ASSERT_TRUE(flow.stopped());
    ASSERT_GT(flow.hold(), 0);
    flow.path.base_rtt_ns = base_ns;
    flow.Reply(30000);
    EXPECT_EQ(flow.hold() > 0, base_ns == 14000);
    EXPECT_EQ(flow.flows() > 1, base_ns == 14000);
  }
}

namespace {

// Flows of one queue, in whole RTTs; the queue varies by a packet.
void Share(std::vector<Flow>& flows, int rtts) {
  for (int i = 0; i < rtts; ++i) {
    double flight = i % 2 ? 1 : -1;
    for (const Flow& each : flows) flight += each.cwnd();
    for (Flow& each : flows) {
      const double delay_ns = std::max<double>(each.path.base_rtt_ns, flight * 120);
      each.now_ns += static_cast<u64>(delay_ns);
      const auto rtt_ns = static_cast<u32>(delay_ns);
      const auto bytes = static_cast<u32>(each.cwnd() * 1500);
      const dcc_ack ack = {each.now_ns, each.now_ns - rtt_ns, rtt_ns, bytes, 0xffffffff, 0, 0};
      dcc_prioplus_ack(&each.state, &each.path, &each.params, &ack, &each.control);
      ASSERT_FALSE(each.stopped()) << i;
    }
  }
}

}  // namespace

TEST(PrioplusHold, TheSharesOfALevelBecomeEqual) {
  std::vector<Flow> flows(2);
  flows[0].Settle(300);
  flows[1].Settle(4);
  Share(flows, 3000);
  EXPECT_GT(flows[1].cwnd(), 0.8 * flows[0].cwnd());
}

TEST(PrioplusHold, AFlowOfALittleLongerBaseRttDoesNotTakeTheLevel) {
  std::vector<Flow> flows(15);
  flows.emplace_back(Params(), dcc_path{100000000000ULL, 12100, 1500, 0, 0});
  for (Flow& each : flows) each.Settle(22);
  Share(flows, 5000);
  // A third of a halving: a quarter more, were the base core exact.
  EXPECT_LT(flows.back().cwnd(), 2 * flows[0].cwnd());
  EXPECT_GT(flows.back().cwnd(), flows[0].cwnd());
}

// 10 Gbit/s is what a device says.
Flow UnknownLineFlow(dcc_prioplus_params params = Params()) {
  dcc_path path = {10000000000ULL, 80000000, 1500, 0, 0};
  path.delay_floor_ns = 10000000;
  Flow flow(params, path);
  flow.state.flow.state = DCC_PRIOPLUS_SENDS;
  flow.state.flow.fresh = 0;
  flow.Set(8000);
  return flow;
}

// The window after an RTT of this delay with so many packets in flight.
double After(Flow flow, u32 rtt_ns, u32 packets, u32 flags = 0) {
  flow.now_ns += rtt_ns + 1;
  flow.Ack(rtt_ns, flags, packets * 1500);
  return flow.cwnd();
}

TEST(PrioplusUnknownLine, TheWindowIsAtMostFourTimesWhatWasInFlight) {
  EXPECT_NEAR(After(UnknownLineFlow(), 80000000, 100), 402, 0.5);
  EXPECT_NEAR(After(UnknownLineFlow(), 80000000, 40000), 8000 + 66667, 70)
      << "W_LS of the highest class";
}

TEST(PrioplusUnknownLine, InAQueueItIsAnEighthMoreThanWhatWasInFlight) {
  EXPECT_NEAR(After(UnknownLineFlow(), 100000000, 800), 902, 1);
}

TEST(PrioplusUnknownLine, AWindowThatTheApplicationDoesNotUseIsKept) {
  EXPECT_EQ(After(UnknownLineFlow(), 80000000, 100, DCC_ACK_APP_LIMITED), 8000);
}

TEST(PrioplusUnknownLine, TheFirstFlightAfterAStopSaysNothing) {
  Flow flow = UnknownLineFlow();
  flow.state.flow.fresh = 2;
  EXPECT_GE(After(flow, 80000000, 1), 8000);
}

TEST(PrioplusUnknownLine, OnAConfiguredLineTheWindowIsKept) {
  Flow flow = UnknownLineFlow();
  flow.path.delay_floor_ns = 0;
  EXPECT_GE(After(flow, 80000000, 100), 8000);
  EXPECT_GE(After(UnknownLineFlow(Paper()), 80000000, 100), 8000);
}

TEST(Prioplus, ALossCutsOncePerRtt) {
  Flow flow;
  flow.Set(40);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 20, 1e-6);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 20, 1e-6);
  flow.now_ns += 12000;
  dcc_prioplus_rto(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_NEAR(flow.cwnd(), 10, 1e-6);
}

TEST(Prioplus, TakesUpAChangedPriorityWithTheNextAck) {
  Flow flow;
  flow.params.priority = 0;
  flow.Ack(12000);
  EXPECT_EQ(flow.state.target_ns, 16000u);
}

TEST(Prioplus, RestartsAsANewFlow) {
  Flow flow(Params(0));
  flow.Reply(11900);
  flow.Settle(20);
  dcc_prioplus_restart(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_TRUE(flow.stopped()) << "a low level asks before it sends";
  EXPECT_EQ(flow.control.probe_ns, 1u);
  EXPECT_EQ(flow.hold(), 0);
}

TEST(Prioplus, OwnStateFitsTcpsBytes) { EXPECT_LE(sizeof(dcc_prioplus_flow), 104u); }

}  // namespace

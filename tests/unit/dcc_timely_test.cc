// SPDX-License-Identifier: Apache-2.0
#include "dcc_timely.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace {

dcc_path TenGigabit() { return {10000000000ULL, 5000, 1000, 0, 0}; }

class Flow {
 public:
  explicit Flow(u32 patched, dcc_path path = TenGigabit()) : path(path) {
    dcc_timely_params_default(&params);
    params.patched = patched;
    params.start_kbps = 1000000;
    Start();
  }
  void Start() { dcc_timely_init(&state, &path, &params, &control); }

  bool Ack(u32 rtt_ns, u64 after_ns, u32 flags = 0, u32 bytes = 1000) {
    now_ns += after_ns;
    const dcc_ack ack = {now_ns, now_ns - rtt_ns, rtt_ns, bytes, 10000, flags, 0};
    return dcc_timely_ack(&state, &path, &params, &ack, &control);
  }
  // One segment at full rate, all of it with this RTT.
  void Segment(u32 rtt_ns, u32 flags = 0, u32 bytes = 64000) {
    ASSERT_TRUE(Ack(rtt_ns, dcc_rate_interval_ns(64000, state.rate_q8, 5000), flags, bytes));
  }
  // T_low and T_high of a flow that starts now.
  std::pair<u32, u32> Thresholds() {
    Start();
    return {state.t_low_ns, state.t_high_ns};
  }
  void Loss() { dcc_timely_loss(&state, &path, &params, now_ns, &control); }
  void Rto() { dcc_timely_rto(&state, &path, &params, now_ns, &control); }
  double mbps() const { return control.pacing_bps / 1e6; }
  u32 branch() const { return state.last.branch; }

  dcc_path path;
  dcc_timely_params params;
  dcc_timely state;
  dcc_control control;
  u64 now_ns = 1000000000;
};

TEST(TimelyParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_timely_params params;
    dcc_timely_params_default(&params);
    change(params);
    return !dcc_timely_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.patched = 2; }));
  EXPECT_TRUE(refused([](auto& p) { p.alpha_ppm = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.alpha_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.beta_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.t_low_ns = 999; }));
  EXPECT_TRUE(refused([](auto& p) { p.t_high_ns = 2000000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.rtt_ref_ns = 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.delta_kbps = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.hai_events = 1001; }));
  EXPECT_TRUE(refused([](auto& p) { p.min_rate_kbps = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.start_kbps = 800000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.seg_bytes = 999; }));
  EXPECT_FALSE(refused([](auto& p) { p.beta_ppm = 0; }));
  EXPECT_FALSE(refused([](auto& p) { p.hai_events = 0; }));
}

TEST(Timely, StartsAtLineRateAndThePatchAtAnEighthOfIt) {
  Flow timely(0), patched(1);
  timely.params.start_kbps = patched.params.start_kbps = 0;
  timely.Start();
  patched.Start();
  EXPECT_EQ(timely.control.pacing_bps, 10000000000ULL);
  EXPECT_EQ(patched.control.pacing_bps, 1250000000ULL);
}

TEST(Timely, DecidesOncePerSegmentAtItsRate) {
  Flow flow(0);
  flow.params.delta_kbps = 1;
  int decisions = 0;
  for (int i = 0; i < 6400; ++i) decisions += flow.Ack(100000, 8000);  // 1 Gbit/s
  EXPECT_NEAR(decisions, 100, 2);
}

TEST(Timely, DecidesNotMoreThanOncePerBaseRtt) {
  Flow flow(0);
  flow.params.seg_bytes = 1000;  // 800 ns at line rate
  flow.params.start_kbps = 10000000;
  flow.Start();
  int decisions = 0;
  for (int i = 0; i < 1000; ++i) decisions += flow.Ack(10000, 1000);
  EXPECT_NEAR(decisions, 200, 2);
}

class BothVersions : public ::testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(TimelyAndPatched, BothVersions, ::testing::Range<u32>(0, 2));

TEST_P(BothVersions, GrowsByDeltaBelowTLow) {
  Flow flow(GetParam());
  flow.Segment(49000);
  flow.Segment(49999);
  EXPECT_NEAR(flow.mbps(), 1020, 0.01);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_BELOW);
}

TEST_P(BothVersions, FallsAboveTHighHoweverTheGradientIs) {
  Flow flow(GetParam());
  flow.Segment(900000);
  flow.Segment(1000000);
  const double before = flow.mbps();
  flow.Segment(625000);  // a steep fall; T_high / RTT = 0.8
  EXPECT_NEAR(flow.mbps(), before * (1 - (GetParam() ? 0.008 : 0.8) * 0.2), 0.01);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_ABOVE);
}

TEST(TimelyThresholds, AreThoseOfThePaperWhereThePathIsShorter) {
  Flow flow(0, {10000000000ULL, 49999, 1000, 0, 0});
  EXPECT_EQ(flow.Thresholds(), std::make_pair(50000u, 500000u));
}

TEST(TimelyThresholds, AreAboveABaseRttThatIsLonger) {
  Flow flow(1, {10000000000ULL, 50000, 1000, 0, 0});
  EXPECT_EQ(flow.Thresholds(), std::make_pair(62500u, 500000u));
  EXPECT_EQ(flow.state.ref_ns, 62500u);
  flow.path.base_rtt_ns = 20000000;
  EXPECT_EQ(flow.Thresholds(), std::make_pair(25000000u, 45000000u));
  flow.path.base_rtt_ns = 1000000000;
  flow.path.delay_floor_ns = 0xffffffff;
  EXPECT_EQ(flow.Thresholds(), std::make_pair(2000000000u, 2000000000u));
}

TEST(TimelyThresholds, LeaveTheGrainOfASlowPath) {
  // 20 Mbit/s, 100 us: two packets are 1.2 ms, which are cut to two base RTTs.
  Flow flow(0, {10000000000ULL, 100000, 1500, 0, 200000});
  EXPECT_EQ(flow.Thresholds(), std::make_pair(300000u, 700000u));
  // The user's are the user's where they are longer.
  flow.params.t_low_ns = 300001;
  flow.params.t_high_ns = 400000;
  EXPECT_EQ(flow.Thresholds(), std::make_pair(300001u, 400000u));
}

TEST(Timely, AConstantRttBetweenTheThresholdsIsAReasonToGrow) {
  Flow flow(0);
  flow.Segment(400000);
  flow.Segment(400000);
  EXPECT_NEAR(flow.mbps(), 1020, 0.01);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_FALLING);
}

TEST(Timely, FromTheFifthFallInARowOnItGrowsFivefold) {
  Flow flow(0);
  for (int i = 0; i < 4; ++i) flow.Segment(100000);
  EXPECT_NEAR(flow.mbps(), 1040, 0.01);
  flow.Segment(100000);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_HAI);
  EXPECT_NEAR(flow.mbps(), 1090, 0.01);
  flow.Segment(101000);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_RISING);
  flow.Segment(90000);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_FALLING) << "the row begins anew";
}

TEST(Timely, WithoutHaiItGrowsByDeltaForEver) {
  Flow flow(0);
  flow.params.hai_events = 0;
  for (int i = 0; i < 20; ++i) flow.Segment(100000);
  EXPECT_NEAR(flow.mbps(), 1200, 0.01);
}

TEST(Timely, FallsInProportionToTheGradient) {
  Flow flow(0);
  flow.Segment(100000);
  const double before = flow.mbps();
  flow.Segment(101000);  // 0.875 * 1 us / 5 us
  EXPECT_NEAR(flow.state.last.gradient_q16 / 65536.0, 0.175, 0.001);
  EXPECT_NEAR(flow.mbps(), before * (1 - 0.8 * 0.175), 0.1);
}

TEST(Timely, NoDecisionTakesMoreThanHalf) {
  Flow flow(0);
  flow.Segment(100000);
  const double before = flow.mbps();
  flow.Segment(300000);
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01);
}

// q* = RTT_ref + N delta RTT_ref / (beta C): for N = 40 at 10 Gbit/s 300 us.
TEST(PatchedTimely, StandsStillAtItsFixedPoint) {
  Flow flow(1);
  flow.params.start_kbps = 250000;
  flow.Start();
  for (int i = 0; i < 50; ++i) flow.Segment(300000);
  EXPECT_NEAR(flow.mbps(), 250, 0.5);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_WEIGHTED);
}

TEST(PatchedTimely, AboveTheFixedPointTheFasterFlowGivesWay) {
  Flow fast(1), slow(1);
  fast.params.start_kbps = 500000;
  slow.params.start_kbps = 100000;
  fast.Start();
  slow.Start();
  for (int i = 0; i < 50; ++i) {
    fast.Segment(300000);
    slow.Segment(300000);
  }
  EXPECT_LT(fast.mbps(), 450);
  EXPECT_GT(slow.mbps(), 150);
}

TEST(PatchedTimely, TheGradientIsTheWeight) {
  Flow rising(1), falling(1);
  rising.Segment(200000);
  falling.Segment(200000);
  const double before = rising.mbps();
  rising.Segment(210000);   // error 3.2, weight 1
  falling.Segment(190000);  // weight 0
  EXPECT_NEAR(rising.mbps(), before * (1 - 0.008 * 3.2), 0.1);
  EXPECT_NEAR(falling.mbps(), before + 10, 0.01);
}

TEST_P(BothVersions, AnUnusedRateDoesNotGrow) {
  Flow flow(GetParam());
  for (int i = 0; i < 10; ++i) flow.Segment(20000, DCC_ACK_APP_LIMITED, 40000);
  EXPECT_NEAR(flow.mbps(), 1010, 0.01) << "the first decision has no span to count over";
  EXPECT_EQ(flow.branch(), DCC_TIMELY_UNUSED);
}

TEST_P(BothVersions, AMarkThatTheFlowsRateBeliesIsIgnored) {
  Flow flow(GetParam());
  for (int i = 0; i < 10; ++i) flow.Segment(20000, DCC_ACK_APP_LIMITED, 60000);
  EXPECT_NEAR(flow.mbps(), 1100, 0.01);
}

TEST_P(BothVersions, AnUnusedRateStillFallsAboveTHigh) {
  Flow flow(GetParam());
  for (int i = 0; i < 10; ++i) flow.Segment(2000000, DCC_ACK_APP_LIMITED, 1000);
  EXPECT_LT(flow.mbps(), 970);
}

TEST_P(BothVersions, LossHalvesOncePerRttAndCostsAnEighthWithoutAQueue) {
  Flow flow(GetParam());
  flow.Segment(200000);
  const double before = flow.mbps();
  flow.Loss();
  flow.Loss();
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01);
  flow.now_ns += 200000;
  flow.Loss();
  EXPECT_NEAR(flow.mbps(), before / 4, 0.01);
  Flow idle(GetParam());
  idle.Segment(20000);
  idle.Loss();
  EXPECT_NEAR(idle.mbps(), 1010 * 7 / 8.0, 0.01);
  EXPECT_EQ(idle.branch(), DCC_TIMELY_LOSS);
}

TEST_P(BothVersions, ATimeoutLeavesAPacketPerRtt) {
  Flow flow(GetParam());
  flow.Segment(100000);
  flow.Rto();
  EXPECT_NEAR(flow.mbps(), 80, 0.1);
  EXPECT_EQ(flow.branch(), DCC_TIMELY_RTO);
}

TEST_P(BothVersions, KeepsItsRateOverAPauseAndForgetsTheGradient) {
  Flow flow(GetParam());
  flow.Segment(100000);
  flow.Segment(140000);
  const double before = flow.mbps();
  dcc_timely_restart(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_EQ(flow.mbps(), before);
  flow.Segment(300000);
  EXPECT_EQ(flow.state.last.gradient_q16, 0);
}

TEST_P(BothVersions, NeverBelowTheFloorNorAboveTheLine) {
  Flow flow(GetParam());
  flow.params.min_rate_kbps = 5000;
  for (int i = 0; i < 3000; ++i) flow.Segment(4000000);
  EXPECT_NEAR(flow.mbps(), 5, 1e-6);
  flow.params.delta_kbps = 1000000;
  for (int i = 0; i < 100; ++i) flow.Segment(6000);
  EXPECT_NEAR(flow.mbps(), 10000, 1e-6);
}

TEST_P(BothVersions, TheWindowLeavesTwiceTheRoomThatTheRateNeeds) {
  Flow flow(GetParam());
  flow.params.start_kbps = 800000;
  flow.Start();
  flow.params.delta_kbps = 1;
  flow.Segment(40000);
  // 800 Mbit/s * 40 us are 4 packets.
  EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0, 10, 0.01);
}

TEST_P(BothVersions, AQueueAboveTHighDoesNotWidenTheWindow) {
  Flow flow(GetParam());
  flow.Segment(500000);
  flow.Segment(50000000);
  EXPECT_LT(flow.control.cwnd_q16 / 65536.0, 2 + 2 * 1010 * 500 / 8000.0);
}

TEST_P(BothVersions, FollowsAChangeOfParametersAtTheNextDecision) {
  Flow flow(GetParam());
  flow.Segment(20000);
  flow.params.delta_kbps = 100000;
  const double before = flow.mbps();
  flow.Segment(20000);
  EXPECT_NEAR(flow.mbps(), before + 100, 0.01);
}

}  // namespace

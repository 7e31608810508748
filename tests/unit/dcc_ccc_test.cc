// SPDX-License-Identifier: Apache-2.0
#include "dcc_ccc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

constexpr double kOne = DCC_CCC_SHARE_ONE;
constexpr u32 kBase = 20000;

dcc_path DataCenter() { return {25000000000ULL, kBase, 1514, 0, 0}; }

// One flow under a core.
class Flow {
 public:
  explicit Flow(bool paper = false, dcc_path path = DataCenter()) : path(path) {
    dcc_ccc_params_default(&params);
    params.paper = paper;
    dcc_ccc_init(&state, &path, &params, &control);
  }

  bool Ack(u32 rtt_ns, u64 itv_ns, u32 flags = 0) {
    now_ns += itv_ns;
    dcc_ack ack = {};
    ack.now_ns = now_ns;
    ack.send_ns = now_ns - rtt_ns;
    ack.rtt_ns = rtt_ns;
    ack.acked_bytes = path.wire_bytes;
    ack.flags = flags;
    return dcc_ccc_ack(&state, &path, &params, &ack, &control);
  }
  // A queue that stands at q for so many acknowledgments.
  void Stand(u32 q_ns, u64 itv_ns, int acks) {
    for (int i = 0; i < acks; ++i) Ack(kBase + q_ns, itv_ns);
  }
  void Loss() { dcc_ccc_loss(&state, &path, &params, now_ns, &control); }
  void Rto() { dcc_ccc_rto(&state, &path, &params, now_ns, &control); }

  void SetRate(double share) { state.flow.rate_q30 = static_cast<u32>(share * kOne); }
  double rate() const { return state.flow.rate_q30 / kOne; }
  double basis() const { return state.flow.basis_q30 / kOne; }
  double window() const { return static_cast<double>(control.cwnd_q16) / 65536; }
  u32 region() const { return state.flow.region; }

  dcc_path path;
  dcc_ccc_params params;
  dcc_ccc state;
  dcc_control control;
  u64 now_ns = 1000000000;
};

TEST(CccParameters, DefaultsAreValid) {
  dcc_ccc_params params;
  dcc_ccc_params_default(&params);
  EXPECT_TRUE(dcc_ccc_params_valid(&params));
  EXPECT_EQ(params.q_b_ns, 0u);
  EXPECT_EQ(params.gamma_ppm, 200000u);
}

TEST(CccParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_ccc_params params;
    dcc_ccc_params_default(&params);
    change(params);
    return !dcc_ccc_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.q_b_ns = DCC_CCC_Q_B_MIN_NS - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.q_b_ns = DCC_CCC_Q_B_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.gamma_ppm = DCC_CCC_GAMMA_MAX_PPM + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.r_min_kbps = DCC_CCC_R_MIN_MAX_KBPS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.paper = 2; }));
  EXPECT_FALSE(refused([](auto& p) { p.q_b_ns = 0; }));
  EXPECT_FALSE(refused([](auto& p) { p.q_b_ns = DCC_CCC_Q_B_MIN_NS; }));
}

TEST(CccParameters, AutomaticQueueingDelayIsAQuarterOfTheBaseRttAnd5UsAtLeast) {
  Flow flow(false, {25000000000ULL, 80000, 1514, 0, 0});
  EXPECT_EQ(flow.state.scale.q_b_ns, 20000u);
  flow.path.base_rtt_ns = 12000;
  flow.Ack(12000, 1000);
  EXPECT_EQ(flow.state.scale.q_b_ns, DCC_CCC_Q_B_NS);
  flow.path.base_rtt_ns = 90000;
  flow.path.noise_ns = 10000;
  flow.Ack(90000, 1000);
  EXPECT_EQ(flow.state.scale.q_b_ns, 20000u + 10000u) << "noise is no path";
  flow.params.q_b_ns = 1000;
  flow.Ack(90000, 1000);
  EXPECT_EQ(flow.state.scale.q_b_ns, 1000u + 10000u) << "as configured";
}

TEST(CccParameters, TheQueueHeldIsLongerByTheNoise) {
  Flow flow(true, {25000000000ULL, 20000, 1514, 4000, 0});
  flow.Ack(20000, 1000);
  EXPECT_EQ(flow.state.scale.q_b_ns, DCC_CCC_Q_B_NS + 4000);
  // The same base RTT with other noise in it.
  flow.path.noise_ns = 1000;
  flow.Ack(20000, 1000);
  EXPECT_EQ(flow.state.scale.q_b_ns, DCC_CCC_Q_B_NS + 1000);
  flow.params.q_b_ns = DCC_CCC_Q_B_MAX_NS;
  flow.Ack(24000, 1000);
  EXPECT_EQ(flow.state.scale.q_b_ns, DCC_CCC_Q_B_MAX_NS);
}

TEST(CccParameters, TheQueueHeldIsThePathsGrainAtLeast) {
  dcc_ccc_params p;
  dcc_ccc_params_default(&p);
  dcc_path path = {10000000000ULL, 5000000, 1514, 0, 1250000};
  dcc_ccc_scale k;
  dcc_ccc_derive(&k, &path, &p);
  EXPECT_EQ(k.q_b_ns, 1250000u);
  p.q_b_ns = 2000000;
  dcc_ccc_derive(&k, &path, &p);
  EXPECT_EQ(k.q_b_ns, 2000000u);
  path.delay_floor_ns = 0xffffffff;
  EXPECT_TRUE(dcc_ccc_stale(&k, &path, &p));
  dcc_ccc_derive(&k, &path, &p);
  EXPECT_EQ(k.q_b_ns, DCC_CCC_Q_B_MAX_NS);
}

TEST(CccParameters, TheQueueHeldIsTwoPacketsTimeAtLeast) {
  const auto held_ns = [](u64 line_rate_bps, u32 wire_bytes, u32 q_b_ns) {
    Flow flow(true, {line_rate_bps, 1000000, wire_bytes, 0, 0});
    flow.params.q_b_ns = q_b_ns;
    flow.Ack(1000000, 1000);
    return flow.state.scale.q_b_ns;
  };
  EXPECT_EQ(held_ns(100000000, 1500, 5000), 240000u);
  EXPECT_EQ(held_ns(100000000, 1500, 300000), 300000u);
  EXPECT_EQ(held_ns(1000000000, 1500, 5000), 24000u);
  EXPECT_EQ(held_ns(25000000000, 1500, 5000), 5000u);
  EXPECT_EQ(held_ns(25000000000, 1514, 1000), 1000u);
  EXPECT_EQ(held_ns(1000000, 65535, 5000), DCC_CCC_Q_B_MAX_NS);
}

TEST(CccParameters, AutomaticLeastRateIsAPacketInSixRtts) {
  Flow flow;
  EXPECT_NEAR(flow.state.scale.min_q30 / kOne * 25e9, 1514 * 8e9 / kBase / 6, 1e6);
  flow.params.r_min_kbps = 250000;
  flow.Ack(kBase, 1000);
  EXPECT_NEAR(flow.state.scale.min_q30 / kOne, 0.01, 1e-6);
}

class CccEither : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PaperAndDefault, CccEither, ::testing::Bool());

TEST_P(CccEither, StartsAtLineRateWithOneBdp) {
  const Flow flow(GetParam());
  EXPECT_EQ(flow.control.pacing_bps, 25000000000ULL);
  EXPECT_NEAR(flow.window(), 25e9 * kBase * 1e-9 / 8 / 1514, 0.01);
  EXPECT_EQ(flow.control.probe_ns, 0u);
}

TEST_P(CccEither, AloneOnTheLinkStaysAtLineRate) {
  Flow flow(GetParam());
  flow.Stand(0, 484, 2000);
  EXPECT_EQ(flow.control.pacing_bps, 25000000000ULL);
}

TEST_P(CccEither, ALoneFlowFindsTheWholeIdleLinkFromATenth) {
  Flow flow(GetParam());
  flow.Stand(10000, 484, 100);  // has met a queue
  flow.SetRate(0.1);
  // Acknowledgments come as the flow sends; the gradient ends at zero exactly.
  for (int i = 0; i < 2000 && flow.rate() < 1; ++i)
    flow.Ack(kBase, static_cast<u64>(485 / flow.rate()));
  EXPECT_EQ(flow.rate(), 1);
  EXPECT_EQ(flow.state.flow.gradient_q16, 0);
}

TEST_P(CccEither, LocatesTheRegionsOfFigure4) {
  const auto region_at = [](u32 q_ns, double gradient) {
    Flow flow(GetParam());
    flow.params.gamma_ppm = 0;
    flow.Ack(kBase + q_ns - static_cast<u32>(static_cast<s32>(gradient * 1000)), 1000);
    flow.Ack(kBase + q_ns, 1000);
    return flow.region();
  };
  EXPECT_EQ(region_at(2000, -0.3), DCC_CCC_H1I);
  EXPECT_EQ(region_at(2000, 0.0), DCC_CCC_H2I);
  EXPECT_EQ(region_at(2000, 0.3), DCC_CCC_H2I);
  EXPECT_EQ(region_at(2000, 0.9), DCC_CCC_H1D) << "0.5 log2(5/2) is 0.66";
  EXPECT_EQ(region_at(10000, 0.3), DCC_CCC_H2D);
  EXPECT_EQ(region_at(10000, -0.3), DCC_CCC_AD) << "0.5 log2(5/10) is -0.5";
  EXPECT_EQ(region_at(10000, -0.7), DCC_CCC_AI);
  EXPECT_EQ(region_at(100000, -1.0), DCC_CCC_AD) << "Ai ends at four q_B";
}

// Two flows meet at line rate: the queue grows by a second per second, then stands at a full
// window, then falls.
TEST_P(CccEither, AMeetingOfTwoLeadsThroughH2iAndH1dToH2d) {
  Flow flow(GetParam());
  std::vector<u32> path;
  for (u32 q = 0; q < 15000; q += 968) {
    flow.Ack(kBase + q, 968);
    if (path.empty() || path.back() != flow.region()) path.push_back(flow.region());
  }
  EXPECT_EQ(path, (std::vector<u32>{DCC_CCC_H2I, DCC_CCC_H1D, DCC_CCC_H2D}));
  EXPECT_LT(flow.rate(), 0.95);
}

TEST_P(CccEither, NeverGoesBelowTheLeastRate) {
  Flow flow(GetParam());
  for (int i = 0; i < 1000; ++i) flow.Ack(kBase + 1000000 + 20000 * static_cast<u32>(i), 1000000);
  EXPECT_EQ(flow.state.flow.rate_q30, flow.state.scale.min_q30);
}

TEST_P(CccEither, ASampleWithoutAnRttChangesNothing) {
  Flow flow(GetParam());
  flow.Stand(8000, 1000, 10);
  const dcc_ccc before = flow.state;
  EXPECT_FALSE(flow.Ack(kBase + 500000, 1000, DCC_ACK_NO_RTT));
  EXPECT_FALSE(flow.Ack(kBase + 500000, 1000, DCC_ACK_DELAYED));
  EXPECT_EQ(flow.state.flow.rate_q30, before.flow.rate_q30);
  EXPECT_EQ(flow.state.flow.ack_ns, before.flow.ack_ns);
}

TEST_P(CccEither, TwoAcknowledgmentsAtOnceDivideByNothing) {
  Flow flow(GetParam());
  flow.Stand(8000, 1000, 10);
  EXPECT_FALSE(flow.Ack(kBase + 9000, 0));
  EXPECT_TRUE(flow.Ack(kBase + 9000, 1000));
}

TEST_P(CccEither, AClockThatGoesBackStartsTheGradientAnew) {
  Flow flow(GetParam());
  for (u32 q = 0; q < 9000; q += 900) flow.Ack(kBase + q, 1000);
  EXPECT_GT(flow.state.flow.gradient_q16, 50000);
  flow.now_ns -= 500000;
  flow.Ack(kBase + 9000, 1000);
  EXPECT_EQ(flow.state.flow.gradient_q16, 0);
}

TEST_P(CccEither, ATimeoutLeavesAPacketPerRtt) {
  Flow flow(GetParam());
  flow.Stand(0, 484, 10);
  flow.Rto();
  EXPECT_NEAR(flow.window(), 1, 0.01);
  EXPECT_EQ(flow.region(), DCC_CCC_RTO);
}

TEST_P(CccEither, RestartsAsANewFlow) {
  Flow flow(GetParam());
  flow.Stand(30000, 5000, 50);
  dcc_ccc_restart(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_EQ(flow.rate(), 1);
  EXPECT_EQ(flow.region(), DCC_CCC_START);
}

TEST_P(CccEither, ANewPathTakesEffectAtTheNextAcknowledgment) {
  Flow flow(GetParam());
  flow.Stand(0, 484, 10);
  flow.path.line_rate_bps = 100000000000ULL;
  flow.Ack(kBase, 484);
  EXPECT_EQ(flow.control.pacing_bps, 100000000000ULL);
}

TEST_P(CccEither, ASlowerPathLimitsTheControlEvenWithoutATimeBetweenAcknowledgments) {
  Flow flow(GetParam());
  flow.Stand(0, 484, 10);
  flow.path.line_rate_bps = 1000000000;
  EXPECT_TRUE(flow.Ack(kBase, 0));
  EXPECT_EQ(flow.control.pacing_bps, 1000000000ULL);
}

// ---- the rules ---------------------------------------------------------------

TEST(CccRules, DecreasesByAQuarterPerRttWhereTheQueueIsLong) {
  Flow flow(true);
  flow.SetRate(0.5);
  flow.Stand(50000, kBase, 1);  // the first sample has no gradient and counts one RTT
  EXPECT_EQ(flow.region(), DCC_CCC_H2D);
  EXPECT_NEAR(flow.rate(), 0.375, 1e-4);
}

TEST(CccRules, ALongPauseCountsAsOneRtt) {
  Flow flow(true);
  flow.SetRate(0.5);
  flow.Stand(50000, kBase, 1);
  flow.Stand(50000, 100 * kBase, 1);
  EXPECT_NEAR(flow.rate(), 0.28125, 1e-4);
}

TEST(CccRules, AnalyticalStepIsEquation8) {
  Flow flow(true);
  flow.params.gamma_ppm = 0;
  flow.Ack(kBase + 8800, 2000);
  flow.SetRate(0.2);
  flow.Ack(kBase + 7200, 2000);  // q_v = -0.8, and 5.6 us an interval later
  EXPECT_EQ(flow.region(), DCC_CCC_AI);
  const double ahead = 7200 - 0.8 * 2000;
  const double segments = 12 + (5000 / 4096.0 - 1) - (12 + (ahead / 4096 - 1));
  const double step = 1514 * 8 / (kBase * 1e-9) / 25e9;
  EXPECT_NEAR(flow.rate(), 0.2 + (0.5 * segments + 0.8) * step, 1e-5);
}

TEST(CccRules, AnalyticalStepTakesAQueueThatWillBeGoneForANanosecond) {
  Flow flow(true);
  flow.params.gamma_ppm = 0;
  flow.Ack(kBase + 11100, 2000);
  flow.SetRate(0.2);
  flow.Ack(kBase + 5100, 6000);  // q_v = -1
  EXPECT_EQ(flow.region(), DCC_CCC_AI);
  const double segments = 12 + (5000 / 4096.0 - 1);
  const double step = 1514 * 8 / (kBase * 1e-9) / 25e9;
  EXPECT_NEAR(flow.rate(), 0.2 + (0.5 * segments + 1) * step, 1e-5);
}

TEST(CccRules, RatesAboveTheReferenceDoNotRise) {
  Flow flow(true);
  flow.SetRate(0.5);
  flow.Stand(3000, 1000, 20);  // Irr = 0.4 R_l
  EXPECT_EQ(flow.region(), DCC_CCC_H2I);
  EXPECT_NEAR(flow.rate(), 0.5, 1e-6);
  flow.SetRate(0.3);
  flow.Stand(3000, 1000, 20);
  EXPECT_GT(flow.rate(), 0.3);
}

TEST(CccRules, ARateThatIsTheReferenceStaysAndOneBelowItRises) {
  for (const u32 below : {0, 64}) {
    Flow flow;
    flow.Stand(1000, 1000, 100);
    const dcc_ccc_scale& scale = flow.state.scale;
    const u32 before = ((DCC_RATIO_ONE - dcc_ccc_over_q24(1000, &scale.per_q_b)) << 6) - below;
    flow.state.flow.rate_q30 = before;
    flow.state.flow.basis_q30 = DCC_CCC_SHARE_ONE;
    flow.Ack(kBase + 1000, 1000);
    EXPECT_EQ(flow.region(), static_cast<u32>(DCC_CCC_H2I));
    if (below) {
      EXPECT_GT(flow.state.flow.rate_q30, before);
    } else {
      EXPECT_EQ(flow.state.flow.rate_q30, before);
    }
  }
}

TEST(CccRules, TheCurveItselfBrakes) {
  Flow flow;
  flow.Stand(2000, 1000, 100);
  EXPECT_EQ(dcc_ccc_find_region(&flow.state, 1), static_cast<u32>(DCC_CCC_H2I));
  EXPECT_EQ(dcc_ccc_find_region(&flow.state, 0), static_cast<u32>(DCC_CCC_H1D));
  EXPECT_EQ(dcc_ccc_find_region(&flow.state, -1), static_cast<u32>(DCC_CCC_H1D));
}

TEST(CccRules, AnEmptyQueueDoublesTheStepOncePerRtt) {
  Flow flow(true);
  flow.SetRate(0.01);
  flow.Stand(0, 1000, 65);
  EXPECT_EQ(flow.state.flow.doublings, 3);
  flow.Stand(2000, 1000, 1);
  EXPECT_EQ(flow.state.flow.doublings, 0);
}

TEST(CccRules, AShortDelayDoesNotEndTheDoubling) {
  const auto after = [](bool paper, u32 delay_ns) {
    Flow flow(paper);
    flow.SetRate(0.01);
    flow.Stand(0, 1000, 65);
    flow.Stand(delay_ns, 1000, 1);
    return int{flow.state.flow.doublings};
  };
  EXPECT_EQ(after(false, 1100), 3);
  EXPECT_EQ(after(false, DCC_CCC_Q_B_NS / 2), 0);
  EXPECT_EQ(after(true, 1100), 0);
}

TEST(CccRules, TheBasisIsTheMeanOfFiveCalmRatesOnLeavingA) {
  Flow flow(true);
  flow.params.gamma_ppm = 0;
  flow.Stand(2000, 1000, 1);
  for (double rate : {0.9, 0.1, 0.2, 0.3, 0.4, 0.5}) {
    flow.SetRate(rate);
    flow.Ack(kBase + 2000, 1000);  // Irr is 0.6: rates stay for a moment
    flow.state.flow.rate_q30 = static_cast<u32>(rate * kOne);
  }
  EXPECT_NEAR(flow.basis(), 1, 1e-6) << "not before a sample in A";
  flow.Ack(kBase + 8000, 12000);
  flow.Ack(kBase + 7000, 2000);  // falls: Ad or Ai
  flow.Ack(kBase + 2000, 6000);
  EXPECT_NEAR(flow.basis(), 0.3, 0.01);
}

// ---- the differences -----------------------------------------------------------

TEST(CccDefault, AWindowIsAtLeastAPacketAndThePaceHoldsBack) {
  for (const bool paper : {true, false}) {
    Flow flow(paper);
    flow.SetRate(0.01);  // 0.41 packets per RTT
    flow.Ack(kBase + 5001, 48000);
    EXPECT_NEAR(flow.window(), paper ? 0.41 : 1, 0.01);
    EXPECT_NEAR(static_cast<double>(flow.control.pacing_bps), 250e6, 1e6);
  }
}

TEST(CccDefault, ABusyLinksShareIsNotGivenAway) {
  for (const bool paper : {true, false}) {
    Flow flow(paper);
    // A hundred flows: a packet comes back each 48.4 us, a hundredth of the link.
    for (int i = 0; i < 40; ++i) flow.Ack(kBase + 1000000 + 48000 * static_cast<u32>(i), 48448);
    if (paper)
      EXPECT_LT(flow.rate(), 0.0045);
    else
      EXPECT_NEAR(flow.rate(), 0.0084, 0.0002) << "7/8 of it, less the drift";
  }
}

TEST(CccDefault, AnAcknowledgmentOfManyPacketsIsAShareOfMany) {
  Flow flow;
  for (int i = 0; i < 60; ++i) {
    flow.now_ns += 48448;
    const dcc_ack ack = {flow.now_ns, flow.now_ns - 900000, 900000, 4 * 1514, 0, 0, 0};
    dcc_ccc_ack(&flow.state, &flow.path, &flow.params, &ack, &flow.control);
  }
  EXPECT_NEAR(flow.rate(), 0.026, 0.001) << "7/8 of 0.04, less the drift";
}

TEST(CccDefault, UnequalRatesDriftTogetherWhereTheQueueStands) {
  for (const bool paper : {true, false}) {
    Flow large(paper), small(paper);
    for (Flow* flow : {&large, &small}) flow->Stand(6000, 1000, 2);  // has met a queue
    large.SetRate(0.6);
    small.SetRate(0.2);
    // Both see 4 us for 2 ms; Irr is a fifth of the line.
    large.Stand(4000, 800, 2500);
    small.Stand(4000, 2400, 833);
    if (paper)
      EXPECT_GT(large.rate() / small.rate(), 2.5);
    else
      EXPECT_LT(large.rate() / small.rate(), 1.1);
  }
}

TEST(CccDefault, DriftNeedsAQueue) {
  Flow flow;
  flow.Stand(900, 484, 5000);  // within 5 % of RTT_min
  EXPECT_EQ(flow.rate(), 1);
}

TEST(CccDefault, TheFirstIncreaseAfterABrakeTakesTheRateAsBasis) {
  for (const bool paper : {true, false}) {
    Flow flow(paper);
    for (u32 q = 0; q < 60000; q += 2000) flow.Ack(kBase + q, 20000);  // down from line rate
    flow.SetRate(0.02);
    flow.Ack(kBase + 100, 20000);
    EXPECT_NEAR(flow.basis(), paper ? 1 : 0.02, 1e-4);
  }
}

TEST(CccDefault, TheBasisIsTheRateUntilThenAndStaysFromThenOn) {
  Flow flow;
  flow.SetRate(0.01);
  flow.Stand(0, 1000, 50);
  const double before = flow.rate();
  flow.Stand(0, 1000, 1);
  EXPECT_EQ(flow.basis(), before) << "no decrease yet";
  for (u32 q = 0; q < 60000; q += 2000) flow.Ack(kBase + q, 20000);
  flow.SetRate(0.02);
  flow.Stand(100, 20000, 10);
  EXPECT_GT(flow.rate(), 0.03);
  EXPECT_NEAR(flow.basis(), 0.02, 1e-4);
}

TEST(CccDefault, ALossIsLeftToTheDelay) {
  Flow flow;
  flow.Stand(1000, 484, 10);
  const u32 before = flow.state.flow.rate_q30;
  flow.Loss();
  EXPECT_EQ(flow.state.flow.rate_q30, before);
}

TEST(CccDefault, SlopeHalvesTheDecreaseNearTheGoalAndKeepsItFarAway) {
  const auto after = [](bool paper, u32 q_ns) {
    Flow flow(paper);
    flow.SetRate(0.5);
    flow.Stand(q_ns, kBase, 1);
    return flow.rate();
  };
  EXPECT_NEAR(after(true, 7500), 0.5 * (1 - 0.125), 1e-4);
  // Irr is 0: the drift takes a fifth of r^2 beside it.
  EXPECT_NEAR(after(false, 7500), 0.5 * (1 - 0.0625) - 0.05, 1e-4);
  EXPECT_NEAR(after(false, 50000), after(true, 50000) - 0.05, 1e-4);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "dcc_oscar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr double kOne = DCC_RATIO_ONE;

dcc_path DataCenter() { return {100000000000ULL, 12000, 1500, 0, 0}; }

enum Algorithm { kOscar = 0, kOscarPaper = 1 };

dcc_oscar_params Params(u32 paper) {
  dcc_oscar_params params;
  dcc_oscar_params_default(&params);
  params.paper = paper;
  return params;
}

// One flow under a core; time goes on with each packet.
class Flow {
 public:
  explicit Flow(u32 paper, dcc_path path = DataCenter()) : path(path), params(Params(paper)) {
    dcc_oscar_init(&state, &path, &params, &control);
  }

  // Acknowledges a packet sent spacing_ns after the one before.
  bool Ack(u32 rtt_ns, u64 spacing_ns, u32 inflight_bytes, u32 flags = 0) {
    send_ns += spacing_ns;
    now_ns = send_ns + rtt_ns;
    const dcc_ack ack = {now_ns, send_ns, rtt_ns, path.wire_bytes, inflight_bytes, flags, 0};
    return dcc_oscar_ack(&state, &path, &params, &ack, &control);
  }

  // Constant delay and inflight until the next decision.
  void Decide(u32 rtt_ns, u64 spacing_ns, u32 inflight_bytes, u32 flags = 0) {
    for (int i = 0; i < 1000; ++i)
      if (Ack(rtt_ns, spacing_ns, inflight_bytes, flags)) return;
    FAIL() << "no decision in 1000 packets";
  }

  void Loss() { dcc_oscar_loss(&state, &path, &params, now_ns, &control); }
  void Rto() { dcc_oscar_rto(&state, &path, &params, now_ns, &control); }

  // From now on packets are sent under the last control.
  void SkipToNow() { send_ns = now_ns; }

  double u() const { return state.u_q24 / kOne; }

  dcc_path path;
  dcc_oscar_params params;
  dcc_oscar state;
  dcc_control control;
  u64 send_ns = 1000000000;
  u64 now_ns = 1000000000;
};

TEST(OscarParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_oscar_params params;
    dcc_oscar_params_default(&params);
    change(params);
    return !dcc_oscar_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.target_delay_ns = DCC_OSCAR_TARGET_MIN_NS - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.target_delay_ns = DCC_OSCAR_TARGET_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.target_queue_ns = DCC_OSCAR_QUEUE_MIN_NS - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.target_queue_ns = DCC_OSCAR_QUEUE_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.tau_ns = DCC_OSCAR_TAU_MIN_NS - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.tau_ns = DCC_OSCAR_TAU_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.u_ai_ppm = DCC_OSCAR_U_AI_MAX_PPM + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.u_hai_ppm = DCC_OSCAR_U_HAI_MAX_PPM + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.u_hai_ppm = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.flow_scaling_ppm = DCC_OSCAR_FLOW_SCALING_MAX_PPM + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.paper = 2; }));
  EXPECT_FALSE(refused([](auto& p) { p.target_delay_ns = DCC_OSCAR_TARGET_MIN_NS; }));
  EXPECT_FALSE(refused([](auto& p) { p.target_queue_ns = DCC_OSCAR_QUEUE_MAX_NS; }));
  EXPECT_FALSE(refused([](auto& p) { p.tau_ns = DCC_OSCAR_TAU_MAX_NS; }));
}

// Base RTTs that differ a little, as the hops of a fabric do, have one target queue.
TEST(OscarParameters, TheQueueOfNearlyEqualPathsIsTheSame) {
  for (u32 base_ns : {DCC_PATH_RTT_MIN_NS, 4000u, 12000u, 14400u, 19199u})
    EXPECT_EQ(dcc_oscar_default_queue_ns(base_ns, 0), 6000u) << base_ns;
  for (u32 base_ns : {19200u, 20000u, 24000u, 38399u})
    EXPECT_EQ(dcc_oscar_default_queue_ns(base_ns, 0), 12000u) << base_ns;
  for (u64 base_ns = 19200; base_ns <= DCC_PATH_RTT_MAX_NS; base_ns = base_ns * 21 / 20) {
    const u64 queue_ns = dcc_oscar_default_queue_ns(static_cast<u32>(base_ns), 0);
    EXPECT_LE(queue_ns * 8, base_ns * 5) << base_ns;
    EXPECT_GT(queue_ns * 16, base_ns * 5) << base_ns;
  }
  // Noise in the base RTT changes no step.
  EXPECT_EQ(dcc_oscar_default_queue_ns(12000 + 16000, 16000), 6000u + 8000u);
  EXPECT_EQ(dcc_oscar_default_queue_ns(DCC_PATH_RTT_MIN_NS, 0xffffffff),
            6000u + DCC_PATH_RTT_MIN_NS / 2);
}

TEST(OscarParameters, PathsOfEveryLengthCanHaveOneQueue) {
  for (u32 base_ns : {4000u, 12000u, 40000u}) {
    Flow flow(kOscar, {100000000000, base_ns, 1500, 0, 0});
    flow.params.target_queue_ns = 7000;
    dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
    EXPECT_EQ(flow.state.scale.target_ns, base_ns + 7000);
    flow.params.target_delay_ns = 100000;
    dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
    EXPECT_EQ(flow.state.scale.target_ns, 100000u);
  }
}

class OscarBoth : public ::testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(DefaultAndPaper, OscarBoth, ::testing::Values(kOscar, kOscarPaper));

TEST_P(OscarBoth, StartsAtLineRateWithOneBdp) {
  const Flow flow(GetParam());
  EXPECT_EQ(flow.control.pacing_bps, 100000000000ULL);
  EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0, 100, 0.01);
  EXPECT_EQ(flow.control.probe_ns, 0u);
}

TEST_P(OscarBoth, AloneOnTheLinkStaysAtLineRate) {
  Flow flow(GetParam());
  for (int i = 0; i < 100; ++i) flow.Decide(12000, 120, 150000);
  EXPECT_EQ(flow.state.u_q24, DCC_RATIO_ONE);
  EXPECT_EQ(flow.control.pacing_bps, 100000000000ULL);
}

TEST_P(OscarBoth, DecidesOncePerTau) {
  Flow flow(GetParam());
  int decisions = 0;
  for (int i = 0; i < 5000; ++i) decisions += flow.Ack(18000, 120, 100000);
  EXPECT_NEAR(decisions, 5000 * 120 / 6000, 3);
}

// Ten flows start at line rate with a BDP each: the delay is ten base RTTs, and one decision
// brings each to its tenth.
TEST_P(OscarBoth, OneDecisionAfterAnIncastGivesTheFairShare) {
  Flow flow(GetParam());
  flow.Decide(120000, 120, 150000);
  EXPECT_NEAR(flow.u(), 0.101, 0.002);
  EXPECT_EQ(flow.state.last.delay_ns, 120000u);
  EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0, 0.101 * 150, 0.3);
}

// While the queue still rises the gradient knows the same before the delay does.
TEST_P(OscarBoth, TheGradientSeesAnIncastWhileTheQueueRises) {
  Flow flow(GetParam());
  u32 rtt_ns = 20000;
  while (!flow.Ack(rtt_ns, 120, 150000)) rtt_ns += 9 * 120;
  EXPECT_NEAR(flow.state.last.gradient_q16 / 65536.0, 9, 0.05);
  EXPECT_LT(flow.u(), 0.12);
}

TEST_P(OscarBoth, AtTheTargetNothingButTheAdditiveTermChanges) {
  Flow flow(GetParam());
  flow.Decide(120000, 120, 150000);
  const double share = flow.u();
  flow.SkipToNow();
  // Ten such flows: 22.5 KB of 225 KB each, at the target of 18 us.
  flow.Decide(18000, 1200, static_cast<u32>(share * 225000));
  EXPECT_NEAR(flow.u(), share + 0.001, 0.003);
}

TEST_P(OscarBoth, SendsMoreWhenTheQueueIsEmpty) {
  Flow flow(GetParam());
  flow.Decide(120000, 120, 150000);
  const u64 before = flow.control.pacing_bps;
  flow.SkipToNow();
  u64 highest = 0;
  for (int i = 0; i < 4; ++i) {
    flow.Decide(12500, 1200, 15000);
    highest = std::max(highest, flow.control.pacing_bps);
  }
  EXPECT_GT(highest, before + before / 25);
}

TEST_P(OscarBoth, AnApplicationLimitedFlowKeepsItsShareBelowTheTarget) {
  Flow flow(GetParam());
  flow.Decide(36000, 120, 150000);
  const double before = flow.u();
  for (int i = 0; i < 50; ++i) flow.Decide(14000, 1500, 3000, DCC_ACK_APP_LIMITED);
  EXPECT_GE(flow.u(), before * 0.999);
  EXPECT_LE(flow.u(), before * 1.1);
}

TEST_P(OscarBoth, AnApplicationLimitedFlowGetsItsAdditiveTermFromTheTargetOn) {
  for (const u32 rtt_ns : {17999, 18000}) {
    Flow flow(GetParam());
    flow.Decide(36000, 120, 150000);
    flow.SkipToNow();
    const u32 before = flow.state.u_q24;
    flow.Decide(rtt_ns, 1500, 3000, DCC_ACK_APP_LIMITED);
    EXPECT_EQ(flow.state.u_q24, before + (rtt_ns < 18000 ? 0 : dcc_ppm_to_q24(1000))) << rtt_ns;
  }
}

TEST_P(OscarBoth, AnApplicationLimitedFlowStillYieldsAboveTheTarget) {
  Flow flow(GetParam());
  for (int i = 0; i < 10; ++i) flow.Decide(36000, 1500, 3000, DCC_ACK_APP_LIMITED);
  EXPECT_LT(flow.u(), 0.6);
}

TEST_P(OscarBoth, LossAboveTheTargetHalvesOncePerRtt) {
  Flow flow(GetParam());
  flow.Decide(30000, 120, 150000);
  const double before = flow.u();
  flow.Loss();
  EXPECT_NEAR(flow.u(), before / 2, 1e-6);
  flow.Loss();
  flow.Loss();
  EXPECT_NEAR(flow.u(), before / 2, 1e-6);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_OSCAR_LOSS));
}

TEST_P(OscarBoth, LossBelowTheTargetCostsAnEighth) {
  Flow flow(GetParam());
  flow.Decide(15000, 120, 187500);
  flow.Loss();
  EXPECT_NEAR(flow.u(), 0.875, 1e-6);
}

TEST_P(OscarBoth, LossWithAQueueOfAMicrosecondIsNotCongestionAndWithALongerOneIs) {
  for (const u32 rtt_ns : {12500, 13000, 13001}) {
    Flow flow(GetParam());
    flow.Decide(rtt_ns, 120, 162500);
    flow.Loss();
    EXPECT_EQ(flow.state.u_q24, rtt_ns <= 13000 ? DCC_RATIO_ONE : DCC_RATIO_ONE / 8 * 7) << rtt_ns;
  }
}

TEST_P(OscarBoth, PacketsSentBeforeALossDoNotUndoTheReaction) {
  Flow flow(GetParam());
  flow.Decide(15000, 120, 187500);
  flow.Loss();  // 15 us after the last packet was sent
  const double after = flow.u();
  for (int i = 0; i < 125; ++i) EXPECT_FALSE(flow.Ack(15000, 120, 187500));
  EXPECT_EQ(flow.u(), after);
}

TEST_P(OscarBoth, EveryRttOfLossesStillLeavesDecisionsBetween) {
  Flow flow(GetParam());
  for (int i = 0; i < 20000; ++i) {
    flow.Ack(12100, 120, 150000);
    if (i % 100 == 0) flow.Loss();
  }
  EXPECT_GT(flow.u(), 0.9) << "1 % of random loss must not stop a flow";
}

TEST_P(OscarBoth, ATimeoutLeavesOnePacket) {
  Flow flow(GetParam());
  flow.Rto();
  EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0, 1, 0.01);
  flow.Rto();
  EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0, 1, 0.01);
}

TEST_P(OscarBoth, ATimeoutNeverRaisesAWindowBelowOnePacket) {
  Flow flow(GetParam());
  flow.Decide(100000000, 120, 1500);
  ASSERT_LT(flow.control.cwnd_q16, DCC_WINDOW_ONE);
  const u64 before = flow.control.cwnd_q16;
  flow.Rto();
  EXPECT_EQ(flow.control.cwnd_q16, before);
}

TEST_P(OscarBoth, RestartsAtLineRate) {
  Flow flow(GetParam());
  flow.Decide(120000, 120, 150000);
  dcc_oscar_restart(&flow.state, &flow.path, &flow.params, flow.send_ns + 1000000, &flow.control);
  EXPECT_EQ(flow.state.u_q24, DCC_RATIO_ONE);
  EXPECT_EQ(flow.control.pacing_bps, 100000000000ULL);
  EXPECT_EQ(flow.state.batch.count, 0u);
}

TEST_P(OscarBoth, TakesUpAChangedPathWithoutLosingItsShare) {
  Flow flow(GetParam());
  flow.Decide(120000, 120, 150000);
  const u32 share = flow.state.u_q24;
  flow.path.line_rate_bps = 40000000000ULL;
  flow.path.base_rtt_ns = 20000;
  flow.Decide(120000, 1200, 15000);
  EXPECT_EQ(flow.state.u_q24, share);
  EXPECT_NEAR(static_cast<double>(flow.control.pacing_bps), share / kOne * 40e9, 1e6);
  flow.Decide(60000, 1200, 15000);
  EXPECT_EQ(flow.state.scale.base_ns, 20000u);
}

TEST_P(OscarBoth, RttOfZeroAndOfTheLargestValueStayWithinBounds) {
  for (const u32 rtt_ns : {0u, 0xffffffffu}) {
    Flow flow(GetParam());
    for (int i = 0; i < 5000; ++i) flow.Ack(rtt_ns, 120, 150000);
    EXPECT_GE(flow.state.u_q24, DCC_OSCAR_RATIO_MIN);
    EXPECT_LE(flow.state.u_q24, DCC_RATIO_ONE);
    EXPECT_GE(flow.control.cwnd_q16, 1u);
  }
}

TEST_P(OscarBoth, OnePacketPerRttStillGetsDecisions) {
  Flow flow(GetParam());
  flow.Rto();
  flow.send_ns += 1000000;
  int decisions = 0;
  for (int i = 0; i < 300; ++i) decisions += flow.Ack(18000, 18000, 1500);
  EXPECT_GE(decisions, 90);
}

TEST_P(OscarBoth, EveryRateAndRttGivesASaneControl) {
  for (const u64 rate : {1000000ULL, 10000000000ULL, 800000000000ULL}) {
    for (const u32 rtt : {1000u, 12000u, 1000000u, 1000000000u}) {
      for (const u32 wire : {64u, 1500u, 65535u}) {
        Flow flow(GetParam(), {rate, rtt, wire, 0, 0});
        const double bdp = static_cast<double>(rate) / 8e9 * rtt / wire;
        EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0, bdp, bdp * 1e-4 + 1.0 / 32768);
        const u64 spacing = std::max<u64>(1, wire * 8000000000ULL / rate);
        for (int i = 0; i < 300; ++i)
          flow.Ack(std::min(4000000000u, rtt + rtt / 2), spacing,
                   static_cast<u32>(std::min(bdp * wire + wire, 4e9)));
        EXPECT_LE(flow.control.pacing_bps, rate);
        EXPECT_GE(flow.control.pacing_bps, 1000u);
        // oscar never saw less than its target, and may have that much in flight.
        EXPECT_LE(flow.control.cwnd_q16 / 65536.0,
                  bdp * (GetParam() ? 1.0001 : 1.5001) + 1.0 / 32768);
      }
    }
  }
}

TEST(Oscar, ABaseRttToldTooLowDoesNotCapALoneFlow) {
  // 12 us of path, told as 9.6: the delay of an idle link.
  for (const u32 paper : {0u, 1u}) {
    dcc_path path = DataCenter();
    const double bytes_per_ns = static_cast<double>(path.line_rate_bps) / 8e9;
    path.base_rtt_ns = 9600;
    Flow flow(paper, path);
    flow.state.u_q24 = DCC_RATIO_ONE;
    for (int i = 0; i < 300; ++i) flow.Ack(12000, 120, static_cast<u32>(12000 * bytes_per_ns));
    flow.state.u_q24 = DCC_RATIO_ONE;
    dcc_oscar_control(&flow.state, &flow.control);
    EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0 * path.wire_bytes,
                (paper ? 9600 : 12000) * bytes_per_ns, path.wire_bytes);
  }
}

TEST(Oscar, TheCapIsNeverAboveTheTargetsWindow) {
  Flow flow(0);
  for (int i = 0; i < 300; ++i) flow.Ack(100000, 120, 1500);
  flow.state.u_q24 = DCC_RATIO_ONE;
  dcc_oscar_control(&flow.state, &flow.control);
  EXPECT_EQ(flow.control.cwnd_q16, flow.state.scale.target_window_q16);
  // A link that was once seen idle: one BDP.
  for (int i = 0; i < 300; ++i) flow.Ack(flow.path.base_rtt_ns, 120, 1500);
  flow.state.u_q24 = DCC_RATIO_ONE;
  flow.state.probe.phase = DCC_OSCAR_PROBE_NONE;
  dcc_oscar_control(&flow.state, &flow.control);
  EXPECT_EQ(flow.control.cwnd_q16, flow.state.scale.bdp_window_q16);
}

TEST(Oscar, FlowScalingLowersTheTargetWithEachDoublingOfTheShareAboveASixteenth) {
  Flow flow(0);
  flow.params.flow_scaling_ppm = 500000;
  dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
  const auto target = [&](double u) {
    dcc_oscar_set_ratio(&flow.state, 1, static_cast<u32>(u * kOne), DCC_OSCAR_NEAR);
    return flow.state.scale.target_ns;
  };
  // 12 us and 6 us of queue, of which a half in four parts.
  EXPECT_EQ(target(1), 15000u);
  EXPECT_EQ(target(0.5), 15750u);
  EXPECT_EQ(target(0.25), 16500u);
  EXPECT_EQ(target(1.0 / 16), 18000u);
  EXPECT_EQ(target(0.001), 18000u);
  target(0.25);
  dcc_oscar_control(&flow.state, &flow.control);
  EXPECT_NEAR(flow.control.cwnd_q16 / 65536.0 * flow.path.wire_bytes, 16500 * 12.5 / 4, 1);
}

TEST(Oscar, WhereNoiseIsMeasuredLargerSharesAimLower) {
  const auto target = [](u32 base_ns, u32 noise_ns, double u, u32 queue_ns = 0, u32 ppm = 0,
                         u32 delay_floor_ns = 0) {
    Flow flow(0);
    flow.path.delay_floor_ns = delay_floor_ns;
    flow.path.base_rtt_ns = base_ns;
    flow.path.noise_ns = noise_ns;
    flow.params.target_queue_ns = queue_ns;
    flow.params.flow_scaling_ppm = ppm;
    dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
    dcc_oscar_set_ratio(&flow.state, 1, static_cast<u32>(u * kOne), DCC_OSCAR_NEAR);
    return flow.state.scale.target_ns;
  };
  // A queue of 8 us, half of it for the whole link.
  EXPECT_EQ(target(16000, 4000, 1.0 / 16), 24000u);
  EXPECT_EQ(target(16000, 4000, 0.25), 22000u);
  EXPECT_EQ(target(16000, 4000, 1), 20000u);
  // 13 us; 28 - 21 us of it, and 4 of 14 us.
  EXPECT_EQ(target(28000, 14000, 1), 41000u - 6500u);
  EXPECT_EQ(target(28000, 16000, 1), 42000u - 4000u);
  EXPECT_EQ(target(28000, 20000, 1), 44000u) << "long noise: none";
  EXPECT_EQ(target(16000, 4000, 1, 7000), 23000u) << "a queue that is told is kept";
  EXPECT_EQ(target(16000, 4000, 1, 0, 1), 24000u) << "next to none, as told";
  EXPECT_EQ(target(16000, 4000, 1, 0, 0, 2), 24000u) << "nobody has told the line rate";
}

TEST(Oscar, FlowScalingStaysWithAChangedPath) {
  Flow flow(0);
  flow.params.flow_scaling_ppm = 500000;
  flow.Decide(16000, 480, 40000);
  ASSERT_EQ(flow.state.scale.params.flow_scaling_ppm, 500000u);
  flow.path.base_rtt_ns = 20000;
  flow.Decide(26000, 480, 40000);
  const u32 queue_ns = flow.state.scale.target_ns - 20000;
  EXPECT_LT(queue_ns, 10000u);
  EXPECT_EQ(flow.state.scale.target_ns,
            dcc_oscar_scaled_target_ns(&flow.state.scale, dcc_oscar_scaling_ns(&flow.state.scale),
                                       flow.state.u_q24));
}

TEST(OscarPaper, HasNoFlowScaling) {
  Flow flow(1);
  flow.params.flow_scaling_ppm = 500000;
  dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
  EXPECT_EQ(flow.state.scale.target_ns, 18000u);
}

TEST(OscarPaper, UsesTheSmallerLoopAboveTheTarget) {
  Flow flow(kOscarPaper);
  // Falling at -0.5 from far above: delay says 1/4 of inflight's ratio, the gradient twice the
  // rate.
  u32 rtt_ns = 50000;
  while (!flow.Ack(rtt_ns, 120, 150000)) rtt_ns -= 60;
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_OSCAR_DOWN_WINDOW));
  EXPECT_NEAR(flow.u(), 150000 / (48500 * 12.5) + 0.001, 0.002);
}

TEST(OscarPaper, UsesTheSmallerLoopAtTheTargetItself) {
  Flow below(kOscarPaper), at(kOscarPaper);
  // A fifth of the target's window in flight, sent at half of the line.
  below.Decide(17999, 240, 45000);
  at.Decide(18000, 240, 45000);
  EXPECT_NEAR(below.u(), 0.501, 0.02);
  EXPECT_NEAR(at.u(), 0.201, 0.001);
}

TEST(OscarPaper, UsesTheLargerLoopBelowTheTarget) {
  Flow flow(kOscarPaper);
  flow.Decide(120000, 120, 150000);
  u32 rtt_ns = 17000;
  while (!flow.Ack(rtt_ns, 600, 30000)) rtt_ns -= 300;
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_OSCAR_UP_RATE));
  // Sent at a fifth of the line while the queue fell at half of it: 0.2 / (1 - 0.5).
  EXPECT_NEAR(flow.u(), 0.401, 0.02);
}

// One of two flows at the target: half the line each, 18 us.  Batches so long that none closes in
// the tests that follow: what happens then is the drain's prediction alone.
Flow HalfTheLine() {
  Flow flow(kOscar);
  flow.params.tau_ns = 24000;
  dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
  flow.Decide(24000, 120, 150000);
  flow.SkipToNow();
  for (int i = 0; i < 3; ++i) flow.Decide(18000, 240, 112500);
  return flow;
}

TEST(OscarDefault, HandsOutTheIdleShareAtTheAckThatShowsTheQueueEmpty) {
  Flow flow = HalfTheLine();
  ASSERT_NEAR(flow.u(), 0.5, 0.02);
  const double before = flow.u();
  u32 rtt_ns = 18000;
  for (; rtt_ns > flow.state.scale.empty_ns; rtt_ns -= 120) {
    flow.Ack(rtt_ns, 240, 112500);
    ASSERT_EQ(flow.u(), before) << "not while the queue still falls, at " << rtt_ns;
  }
  ASSERT_TRUE(flow.Ack(rtt_ns, 240, 112500));
  EXPECT_GT(flow.u(), 0.95);
}

// A path of 18 us in one queue with paths of 20 us, which hold 12 us of it.
TEST(OscarDefault, APathJustShortOfTheNextQueueTakesItWhereItStaysAndUntilItIsEmpty) {
  Flow flow(kOscar, {100000000000, 18000, 1500, 0, 0});
  ASSERT_EQ(flow.state.scale.target_ns, 24000u);
  for (int i = 0; i < 63; ++i) flow.Decide(30000, 480, 50000);
  EXPECT_EQ(flow.state.scale.target_ns, 24000u);
  flow.Decide(26000, 480, 50000);
  for (int i = 0; i < 63; ++i) flow.Decide(30000, 480, 50000);
  EXPECT_EQ(flow.state.scale.target_ns, 24000u) << "not in a row";
  flow.Decide(30000, 480, 50000);
  EXPECT_EQ(flow.state.scale.target_ns, 30000u);
  EXPECT_EQ(flow.state.scale.queue_ns, 12000u);
  flow.path.base_rtt_ns = 18100;
  flow.Decide(30000, 480, 50000);
  EXPECT_EQ(flow.state.scale.target_ns, 30100u) << "it stays with a changed path";
  for (int i = 0; i < 50; ++i) flow.Decide(22000, 480, 50000);
  EXPECT_EQ(flow.state.scale.target_ns, 30100u);
  for (int i = 0; i < 2; ++i) flow.Decide(18100, 480, 50000);
  EXPECT_EQ(flow.state.scale.target_ns, 24100u);
}

TEST(Oscar, OnlyAnAutomaticQueueOfAToldLineJustShortOfTheNextOneGetsLonger) {
  const auto target = [](u32 base_ns, u32 paper, u32 queue_ns, u32 delay_floor_ns) {
    Flow flow(paper, {100000000000, base_ns, 1500, 0, delay_floor_ns});
    flow.params.target_queue_ns = queue_ns;
    dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
    for (int i = 0; i < 100; ++i) flow.Decide(base_ns + 12000, 480, 50000);
    return flow.state.scale.target_ns - base_ns;
  };
  EXPECT_EQ(target(14400, kOscar, 0, 0), 12000u);
  EXPECT_EQ(target(14300, kOscar, 0, 0), 6000u);
  EXPECT_EQ(target(12000, kOscar, 0, 0), 6000u);
  EXPECT_EQ(target(18000, kOscar, 6000, 0), 6000u);
  EXPECT_EQ(target(18000, kOscar, 0, 4500), 6000u);
  EXPECT_EQ(target(18000, kOscarPaper, 0, 0), 6000u);
}

// The ratio of a flow with a share of 40 Gbit/s, after its packets found the queue like this and
// the last one found none.
double AfterDrain(double share, const std::vector<u32>& delays_ns) {
  Flow flow(kOscar, {40000000000, 12000, 1500, 0, 0});
  dcc_oscar_set_ratio(&flow.state, 0, static_cast<u32>(share * kOne), DCC_OSCAR_NEAR);
  for (const u32 delay_ns : delays_ns) flow.Ack(delay_ns, static_cast<u64>(300 / share), 3000);
  return flow.u();
}

// A share s and a slope of -0.5 predict s / (1 - 0.5) = 0.1.
TEST(OscarDefault, ADrainThatFewPacketsSawMayFreeUpToFiveTimesThePrediction) {
  EXPECT_NEAR(AfterDrain(0.05, {18000, 18000, 15000, 12000}), 5 * 0.1, 0.005);
}

TEST(OscarDefault, ADrainThatHoldsAWholeIntervalOfAFlowsPacketsIsTrusted) {
  EXPECT_NEAR(AfterDrain(0.05, {18000, 17000, 14000, 12000}), 1.25 * 0.1, 0.002);
  EXPECT_NEAR(AfterDrain(0.05, {18000, 17000, 14000, 13500, 12000}), 1.25 * 0.1, 0.002);
  EXPECT_GT(AfterDrain(0.05, {18000, 17000, 12000, 12000}), 0.5) << "it ended within";
}

TEST(OscarDefault, AFlowOfManyPacketsTakesASixteenthToAQuarterMoreThanPredicted) {
  const auto margin_of = [](double share) {
    Flow flow(kOscar, {40000000000, 12000, 1500, 0, 0});
    dcc_oscar_set_ratio(&flow.state, 0, static_cast<u32>(share * kOne), DCC_OSCAR_NEAR);
    for (const u32 delay_ns : {18000, 18000, 15000, 12000})
      flow.Ack(delay_ns, static_cast<u64>(300 / share), 3000);
    return dcc_oscar_margin_q24(&flow.state) / kOne;
  };
  EXPECT_NEAR(margin_of(0.15), 0.25, 0.001);
  EXPECT_NEAR(margin_of(0.5), 1.0 / 16, 0.001);
}

TEST(OscarDefault, ADrainAfterALongQueueHandsOutNothing) {
  Flow flow = HalfTheLine();
  flow.Ack(flow.state.scale.high_ns + 1, 240, 112500);
  const double before = flow.u();
  for (u32 rtt_ns = 18000; rtt_ns > 12000; rtt_ns -= 240) flow.Ack(rtt_ns, 240, 112500);
  EXPECT_EQ(flow.u(), before);
}

TEST(OscarDefault, APauseOfItsOwnIsNoDrain) {
  Flow flow = HalfTheLine();
  const double before = flow.u();
  for (u32 rtt_ns = 18000; rtt_ns > 16000; rtt_ns -= 120) flow.Ack(rtt_ns, 240, 112500);
  flow.Ack(12000, 8000, 112500);
  for (int i = 0; i < 5; ++i) flow.Ack(12000, 240, 112500);
  EXPECT_EQ(flow.u(), before);
}

// A flow at a tenth of the line that finds the queue empty.
class OscarProbe : public ::testing::Test {
 protected:
  OscarProbe() : flow_(kOscar) {
    flow_.Decide(120000, 120, 150000);
    flow_.SkipToNow();
    flow_.send_ns += 60000;
    for (int i = 0; i < 100 && flow_.state.probe.phase == DCC_OSCAR_PROBE_NONE; ++i)
      flow_.Decide(12000, 1200, 15000);
  }

  // Lets the probe end; its packets then come back with the delays that echo gives for the time
  // since it began.
  template <typename Echo>
  void Judge(Echo echo) {
    const u64 from = flow_.state.probe.from_ns;
    for (int i = 0; i < 200 && flow_.state.probe.phase != DCC_OSCAR_PROBE_NONE; ++i) {
      const u64 send = flow_.send_ns + 600;
      flow_.Ack(send < from ? 12000 : echo(send - from), 600, 15000);
      if (flow_.state.last.branch == DCC_OSCAR_PROBE_FREE) return;
    }
  }

  Flow flow_;
};

TEST_F(OscarProbe, BeginsOnAnEmptyBatchAtTwiceTheRate) {
  EXPECT_NEAR(flow_.u(), 0.103, 0.003) << "u itself stays";
  EXPECT_NEAR(static_cast<double>(flow_.control.pacing_bps), 2 * flow_.u() * 100e9, 3e8);
  EXPECT_GE(flow_.control.cwnd_q16 / 65536.0, 2 * flow_.u() * 100);
}

TEST_F(OscarProbe, EndsAfterAQuarterOfABaseRttAndAwaitsItsEcho) {
  const u64 length = flow_.state.probe.to_ns - flow_.state.probe.from_ns;
  EXPECT_EQ(length, 3000u);
  while (flow_.state.probe.phase == DCC_OSCAR_PROBE_SENDING) flow_.Ack(12000, 600, 15000);
  EXPECT_NEAR(static_cast<double>(flow_.control.pacing_bps), flow_.u() * 100e9, 1e8);
}

TEST_F(OscarProbe, ThatMeetsNoQueueDoublesAndTriesAgain) {
  const double before = flow_.u();
  Judge([](u64) { return 12000u; });
  EXPECT_NEAR(flow_.u(), 2 * before, 0.01);
  EXPECT_NEAR(static_cast<double>(flow_.control.pacing_bps), 4 * before * 100e9, 1e9);
}

// Others send 0.9 of the line beside the probe's 0.2: the queue grows at 0.1.
TEST_F(OscarProbe, ThatMeetsAQueueLeavesTheRatioAsItIs) {
  const double before = flow_.u();
  Judge([](u64 since) { return static_cast<u32>(13000 + since / 10); });
  EXPECT_NEAR(flow_.u(), before, 0.002);
  EXPECT_NEAR(static_cast<double>(flow_.control.pacing_bps), flow_.u() * 100e9, 1e6)
      << "no next probe";
}

TEST_F(OscarProbe, IsGivenUpOnALossAndOnATimeout) {
  Flow again = flow_;
  flow_.Rto();
  EXPECT_EQ(flow_.state.probe.phase, DCC_OSCAR_PROBE_NONE);
  again.state.last.delay_ns = 20000;
  again.Loss();
  EXPECT_EQ(again.state.probe.phase, DCC_OSCAR_PROBE_NONE);
}

TEST(OscarDefault, HoldsItsShareWhileALongQueueDrains) {
  Flow flow(kOscar);
  flow.Decide(120000, 120, 150000);
  flow.SkipToNow();
  const double before = flow.u();
  // The others have cut too: what stands in the queue are old packets.
  u32 rtt_ns = 70000;
  for (int i = 0; i < 60; ++i) flow.Ack(rtt_ns -= 600, 1200, 15000);
  EXPECT_NEAR(flow.u(), before, 0.05);
}

TEST(OscarDefault, AddsMoreThanHalfOfUaiPerTauThoughItsReferenceIsThreeDecisionsOld) {
  Flow flow(kOscar);
  flow.Decide(24000, 120, 150000);
  flow.SkipToNow();
  const u64 begin = flow.now_ns;
  const double before = flow.u();
  for (int i = 0; i < 100; ++i) flow.Decide(18000, 240, 112500);
  const double per_tau = (flow.u() - before) / static_cast<double>(flow.now_ns - begin) * 6000;
  EXPECT_GT(per_tau, 0.0005);
  EXPECT_LT(per_tau, 0.0011);
}

TEST(OscarDefault, StepsMostAtASixthOfTheLineAndUaiInAnIncastAndForALargeShare) {
  Flow flow(kOscar);
  const auto steps = [&flow](double u) {
    flow.state.u_q24 = static_cast<u32>(u * kOne);
    return static_cast<double>(dcc_oscar_ai_step(&flow.state)) / flow.state.scale.u_ai_q24;
  };
  EXPECT_NEAR(steps(1.0 / 6), 10.0 / 3, 0.01);
  EXPECT_NEAR(steps(0.1), 2.4, 0.01);
  EXPECT_NEAR(steps(0.25), 2.5, 0.01);
  EXPECT_NEAR(steps(0.0001), 1, 0.01);
  EXPECT_NEAR(steps(0.4), 1, 0.01);
  EXPECT_NEAR(steps(1), 1, 0.01);
}

TEST(OscarDefault, ASmallFlowGainsMoreOfItselfThanALargerOneAtLeastAsWithUaiAlone) {
  Flow flow(kOscar);
  const auto growth = [&flow](double u) {
    flow.state.u_q24 = static_cast<u32>(u * kOne);
    return dcc_oscar_ai_step(&flow.state) / kOne / u;
  };
  const double u_ai = flow.state.scale.u_ai_q24 / kOne;
  for (double u = 0.005; u < 0.9; u += 0.005)
    EXPECT_GE(growth(u) - growth(u + 0.005), (u_ai / u - u_ai / (u + 0.005)) * 0.99 - 1e-5) << u;
}

TEST(OscarDefault, AdditiveStepsFitTheirTypeAtTheLargestUai) {
  Flow flow(kOscar);
  flow.params.u_ai_ppm = DCC_OSCAR_U_AI_MAX_PPM;
  dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
  for (const double u : {1.0, 1.0 / 6, 0.0001}) {
    flow.state.u_q24 = static_cast<u32>(u * kOne);
    EXPECT_NEAR(dcc_oscar_ai_step(&flow.state) / kOne,
                0.1 * std::max(1.0, std::min(1 + 14 * u, 5 - 10 * u)), 0.001);
  }
}

// Flows that have u of the link among them, all at one delay: the sum of their windows.
double JainAfter(std::vector<double> shares, u64 duration_ns) {
  std::vector<Flow> flows;
  for (const double share : shares) {
    flows.emplace_back(kOscar);
    Flow& flow = flows.back();
    flow.state.u_q24 = static_cast<u32>(share * kOne);
    std::fill_n(flow.state.history.ratio_q24, DCC_OSCAR_RATIOS, flow.state.u_q24);
  }
  for (const u64 end = flows[0].send_ns + duration_ns; flows[0].send_ns < end;) {
    double sum = 0;
    for (const Flow& flow : flows) sum += flow.u();
    const double rtt = 18000 * std::max(sum, 0.7);
    for (Flow& flow : flows)  // a batch of each: a little more than tau
      flow.Decide(static_cast<u32>(rtt), 1210, static_cast<u32>(flow.u() * rtt * 12.5));
  }
  double sum = 0, squares = 0;
  for (const Flow& flow : flows) {
    sum += flow.u();
    squares += flow.u() * flow.u();
  }
  return sum * sum / squares / static_cast<double>(flows.size());
}

TEST(OscarDefault, ANewcomerWithHalfOfTheLinkIsLevelWithTheOthersIn1800Us) {
  for (const size_t n : {3u, 4u, 5u, 6u}) {
    std::vector<double> shares(n, 0.5 / static_cast<double>(n - 1));
    shares[0] = 0.5;
    EXPECT_GE(JainAfter(shares, 1800000), 0.99) << n;
    EXPECT_LT(JainAfter(shares, 100000), 0.97) << n;
  }
}

TEST(OscarDefault, TheMeanExcessHoldsTheLongestTarget) {
  Flow flow(kOscar, {10000000, 1000000000, 1500, 0, 0});
  flow.params.target_delay_ns = DCC_OSCAR_TARGET_MAX_NS;
  dcc_oscar_init(&flow.state, &flow.path, &flow.params, &flow.control);
  for (int i = 0; i < 100; ++i) flow.Decide(2300000000, 1200000, 2500000);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_OSCAR_NEAR));
  EXPECT_GT(flow.state.steer.excess_ns, 4000000000);
}

}  // namespace

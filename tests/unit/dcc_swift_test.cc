// SPDX-License-Identifier: Apache-2.0
#include "dcc_swift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

dcc_swift_params Params() {
  dcc_swift_params params;
  dcc_swift_params_default(&params);
  return params;
}

// One flow at 100 Gbit/s and 12 us; time goes on with each packet.
class Flow {
 public:
  explicit Flow(dcc_swift_params p = Params(), dcc_path path = {100000000000ULL, 12000, 1500, 0, 0})
      : path(path), params(p) {
    dcc_swift_init(&state, &path, &params, &control);
  }

  bool Ack(u32 rtt_ns, u32 acked_bytes = 1500, u32 flags = 0) {
    now_ns += 120;
    const dcc_ack ack = {now_ns, now_ns - rtt_ns, rtt_ns, acked_bytes, inflight_bytes, flags, 0};
    return dcc_swift_ack(&state, &path, &params, &ack, &control);
  }
  void Loss() { dcc_swift_loss(&state, &path, &params, now_ns, &control); }
  void Rto() { dcc_swift_rto(&state, &path, &params, now_ns, &control); }
  void Wait(u64 ns) { now_ns += ns; }

  void Set(double packets) { state.cwnd_q24 = static_cast<u64>(packets * 16777216.0); }
  double cwnd() const { return static_cast<double>(state.cwnd_q24) / 16777216.0; }
  double Target(double packets) const {
    return dcc_swift_target_ns(&state, static_cast<u64>(packets * 16777216.0));
  }

  dcc_path path;
  dcc_swift_params params;
  dcc_swift state;
  dcc_control control;
  u64 now_ns = 1000000000;
  u32 inflight_bytes = 4000000000;
};

TEST(SwiftParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_swift_params params = Params();
    change(params);
    return !dcc_swift_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.base_target_ns = DCC_SWIFT_TARGET_MIN_NS - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.base_target_ns = DCC_SWIFT_TARGET_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.hops = DCC_SWIFT_HOPS_MAX + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.hop_scale_ns = DCC_SWIFT_HOP_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.flow_scaling = 2; }));
  EXPECT_TRUE(refused([](auto& p) { p.fs_range_ns = DCC_SWIFT_FS_RANGE_MIN_NS - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.fs_range_ns = DCC_SWIFT_FS_RANGE_MAX_NS + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.fs_min_cwnd_milli = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.fs_max_cwnd_milli = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.fs_max_cwnd_milli = DCC_SWIFT_FS_CWND_MAX_MILLI + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.ai_milli = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.ai_milli = DCC_SWIFT_AI_MAX_MILLI + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.beta_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.max_mdf_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.initial_cwnd_packets = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.hai_rounds = 1001; }));
  EXPECT_FALSE(refused([](auto& p) { p.base_target_ns = DCC_SWIFT_TARGET_MIN_NS; }));
}

TEST(Swift, StartsWithOneBdpAndTheLine) {
  const Flow flow;
  EXPECT_NEAR(flow.cwnd(), 100, 0.01);
  EXPECT_NEAR(static_cast<double>(flow.control.cwnd_q16) / 65536, 100, 0.01);
  EXPECT_EQ(flow.control.pacing_bps, 200000000000ULL) << "the window is the limit, not the pace";
  EXPECT_EQ(flow.control.probe_ns, 0u);
}

TEST(Swift, StartsWithTheWindowThatTheParameterSays) {
  dcc_swift_params params = Params();
  params.initial_cwnd_packets = 7;
  EXPECT_EQ(Flow(params).cwnd(), 7);
}

TEST(SwiftTarget, FollowsTheBaseRttWhenItIsNotGiven) {
  const Flow flow;
  EXPECT_EQ(flow.Target(1000), 15000) << "1.25 base RTTs";
  EXPECT_EQ(flow.Target(0.01), 15000 + 24000) << "and 2 for the smallest windows";
}

TEST(SwiftTarget, LeavesRoomForTheNoiseThatIsInTheBaseRtt) {
  const dcc_path noisy = {100000000000, 16000, 1500, 4000, 0};
  EXPECT_EQ(Flow(Params(), noisy).Target(1000), 24000);
  dcc_swift_params told = Params();
  told.base_target_ns = 19000;
  EXPECT_EQ(Flow(told, noisy).Target(1000), 19000);
}

// alpha = 24 us / (1 / sqrt(0.1) - 1 / sqrt(100)) = 7837 ns, beta = -784 ns.
TEST(SwiftTarget, GrowsWithTheInverseRootOfTheWindow) {
  const Flow flow;
  for (const double cwnd : {0.2, 0.5, 1.0, 4.0, 9.0, 25.0, 81.0})
    EXPECT_NEAR(flow.Target(cwnd), 15000 + 7837.2 / std::sqrt(cwnd) - 783.7, 2) << cwnd;
  EXPECT_EQ(flow.Target(0.1), 39000);
  EXPECT_EQ(flow.Target(100), 15000);
}

TEST(SwiftTarget, DoesNotDependOnTheWindowWithoutFlowScaling) {
  dcc_swift_params params = Params();
  params.flow_scaling = 0;
  const Flow flow(params);
  EXPECT_EQ(flow.Target(0.01), 15000);
  EXPECT_EQ(flow.Target(1000), 15000);
}

TEST(SwiftTarget, AddsItsPartForEachHop) {
  dcc_swift_params params = Params();
  params.base_target_ns = 20000;
  params.hops = 5;
  params.hop_scale_ns = 700;
  EXPECT_EQ(Flow(params).Target(1000), 23500);
}

TEST(SwiftTarget, IsNeverOneThatAnIdlePathDoesNotMeet) {
  dcc_swift_params params = Params();
  params.base_target_ns = 5000;
  EXPECT_EQ(Flow(params).Target(1000), 12750);
}

TEST(Swift, AWindowOfAcksBelowTheTargetAddsAi) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(flow.Ack(12000));
  EXPECT_NEAR(flow.cwnd(), 21, 0.03);
}

// A window of ACKs, of packets that left within the RTT before.
void Round(Flow& flow, u32 rtt_ns) {
  flow.Wait(rtt_ns);
  for (int i = static_cast<int>(flow.cwnd()); i > 0; --i) flow.Ack(rtt_ns);
}

TEST(SwiftHai, AnIdleLineDoublesTheIncreaseUpToAnEighthOfTheWindow) {
  dcc_swift_params large = Params();
  large.fs_max_cwnd_milli = 10000;
  Flow flow(large, {100000000000ULL, 60000, 1500, 0, 0});
  flow.Set(100);
  std::vector<double> steps;
  for (int i = 0; i < 10; ++i) {
    const double before = flow.cwnd();
    Round(flow, 60000);
    steps.push_back(flow.cwnd() - before);
  }
  // The first round has no mean yet; three idle ones; then twice as much with each.
  const double usual[] = {1, 1, 1, 2, 4, 8};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(steps[i], usual[i], 0.4) << i;
  const double eighth = flow.cwnd() / 9;
  EXPECT_NEAR(steps[9], eighth, 1);
}

TEST(SwiftHai, AMeanThatIsAQueueEndsIt) {
  Flow flow;
  flow.Set(40);
  for (int i = 0; i < 6; ++i) Round(flow, 12000);
  ASSERT_GT(flow.state.idle_rounds, 3u);
  // Target 15.4 us: a quarter of the way there is 12.85.
  Round(flow, 13000);
  Round(flow, 13000);
  EXPECT_EQ(flow.state.idle_rounds, 0u);
  const double before = flow.cwnd();
  Round(flow, 13000);
  EXPECT_NEAR(flow.cwnd() - before, 1, 0.1);
}

TEST(SwiftHai, KnowsAnIdlePathThatIsLongerThanItsBaseRtt) {
  Flow flow(Params(), {100000000000ULL, 10800, 1500, 0, 0});
  flow.Set(30);
  for (int i = 0; i < 6; ++i) Round(flow, 12000);
  EXPECT_GT(flow.state.idle_rounds, 3u);
}

TEST(SwiftHai, TheTargetIsAboveAnIdlePathThatIsAFifthLongerThanTold) {
  Flow flow(Params(), {100000000000ULL, 9600, 1500, 0, 0});
  flow.Set(90);
  flow.Ack(12000);
  EXPECT_EQ(flow.state.last.target_ns, 12750u);
  flow.Ack(12700);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_SWIFT_INCREASE));
  // Not above any queue in which the flow began.
  Flow queued;
  queued.Set(90);
  queued.Ack(20000);
  EXPECT_EQ(queued.state.last.target_ns, 15000u + 15000u / 16);
  dcc_swift_params paper = Params();
  paper.hai_rounds = 0;
  Flow as_published(paper, {100000000000ULL, 9600, 1500, 0, 0});
  as_published.Set(100);
  as_published.Ack(12000);
  EXPECT_EQ(as_published.state.last.target_ns, 12000u);
}

TEST(SwiftHai, AWindowThatIsNotUsedCountsNoIdleRound) {
  Flow flow;
  flow.Set(40);
  flow.inflight_bytes = 15000;
  for (int i = 0; i < 6; ++i) Round(flow, 12000);
  EXPECT_EQ(flow.state.idle_rounds, 0u);
  EXPECT_EQ(flow.cwnd(), 40);
}

TEST(SwiftHai, WithoutIt) {
  dcc_swift_params params = Params();
  params.hai_rounds = 0;
  Flow flow(params);
  flow.Set(40);
  for (int i = 0; i < 12; ++i) Round(flow, 12000);
  EXPECT_NEAR(flow.cwnd(), 52, 0.5);
}

TEST(Swift, OneAckOfManyPacketsAddsAsMuchAsManyAcks) {
  Flow flow;
  flow.Set(20);
  flow.Ack(12000, 20 * 1500);
  EXPECT_NEAR(flow.cwnd(), 21, 1e-4);
}

TEST(Swift, BelowOnePacketEachAckAddsAi) {
  Flow flow;
  flow.Set(0.25);
  flow.Ack(12000);
  EXPECT_NEAR(flow.cwnd(), 1.25, 1e-6);
}

TEST(Swift, DecreasesByTheDistanceFromTheTarget) {
  Flow flow;
  flow.Ack(12000);
  flow.Set(200);
  flow.Ack(20000);  // target 15 us: 0.8 * 5 / 20
  EXPECT_NEAR(flow.cwnd(), 200 * (1 - 0.8 * 5 / 20), 1e-3);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_SWIFT_DECREASE));
}

TEST(Swift, NeverDecreasesByMoreThanTheLimit) {
  Flow flow;
  flow.Set(200);
  flow.Ack(1000000);
  EXPECT_NEAR(flow.cwnd(), 100, 1e-3);
}

TEST(Swift, DecreasesOncePerRtt) {
  Flow flow;
  flow.Set(200);
  flow.Ack(20000);
  const double after = flow.cwnd();
  for (int i = 0; i < 160; ++i) {  // 19.2 us
    flow.Ack(20000);
    ASSERT_EQ(flow.cwnd(), after);
    ASSERT_EQ(flow.state.last.branch, static_cast<u32>(DCC_SWIFT_HOLD));
  }
  flow.Wait(700);
  flow.Ack(20000);
  EXPECT_LT(flow.cwnd(), after);
}

TEST(Swift, ANewFlowMayDecreaseAtOnceThoughTheClockHasJustBegun) {
  Flow flow;
  flow.now_ns = 0;
  flow.Set(200);
  flow.Ack(20000);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_SWIFT_DECREASE));
}

TEST(Swift, AnApplicationLimitedFlowDoesNotGrowButShrinks) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 50; ++i) flow.Ack(12000, 1500, DCC_ACK_APP_LIMITED);
  EXPECT_EQ(flow.cwnd(), 20);
  flow.Ack(40000, 1500, DCC_ACK_APP_LIMITED);
  EXPECT_LT(flow.cwnd(), 20);
}

TEST(Swift, AWindowThatIsNotUsedDoesNotGrow) {
  Flow flow;
  flow.Set(20);
  flow.inflight_bytes = 9 * 1500;
  for (int i = 0; i < 50; ++i) flow.Ack(12000);
  EXPECT_EQ(flow.cwnd(), 20);
  flow.inflight_bytes = 10 * 1500;
  flow.Ack(12000);
  EXPECT_GT(flow.cwnd(), 20);
}

TEST(Swift, ALossTakesTheLimitOncePerRtt) {
  Flow flow;
  flow.Ack(12000);
  flow.Set(40);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 20, 1e-6);
  flow.Wait(11999);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 20, 1e-6);
  flow.Wait(1);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 10, 1e-6);
}

TEST(Swift, ALossAndTheDelayOfTheSameRttCutOnce) {
  Flow flow;
  flow.Set(40);
  flow.Loss();
  flow.Ack(100000);
  EXPECT_NEAR(flow.cwnd(), 20, 1e-6);
}

TEST(Swift, FiveTimeoutsInARowLeaveTheSmallestWindow) {
  Flow flow;
  flow.Set(64);
  for (const double expected : {32.0, 16.0, 8.0, 4.0}) {
    flow.Wait(200000000);
    flow.Rto();
    EXPECT_NEAR(flow.cwnd(), expected, 1e-6);
  }
  flow.Wait(200000000);
  flow.Rto();
  EXPECT_EQ(flow.state.cwnd_q24, DCC_SWIFT_CWND_MIN);
}

TEST(Swift, AnAckBetweenTimeoutsBeginsTheCountAnew) {
  Flow flow;
  flow.Set(64);
  for (int i = 0; i < 4; ++i) {
    flow.Wait(200000000);
    flow.Rto();
  }
  flow.Ack(0, 1500, DCC_ACK_NO_RTT);
  flow.Wait(200000000);
  flow.Rto();
  EXPECT_NEAR(flow.cwnd(), 2, 1e-6);
}

TEST(Swift, RestartsAsANewFlow) {
  Flow flow;
  flow.Set(3);
  dcc_swift_restart(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_NEAR(flow.cwnd(), 100, 0.01);
}

TEST(Swift, TakesUpAChangedPathAndParametersWithTheNextAck) {
  Flow flow;
  flow.Set(20);
  flow.path.base_rtt_ns = 40000;
  flow.Ack(45000);
  EXPECT_GT(flow.cwnd(), 20) << "45 us is below 1.25 times 40 us";
  flow.params.base_target_ns = 42500;
  flow.params.flow_scaling = 0;
  flow.Ack(45000);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_SWIFT_DECREASE));
}

TEST(Swift, AiIsNotLostInALargeWindow) {
  dcc_swift_params params = Params();
  params.ai_milli = 100;
  params.hai_rounds = 0;
  Flow flow(params, {800000000000ULL, 1000000, 1500, 0, 0});
  const double before = flow.cwnd();  // 66667 packets
  for (int i = 0; i < 66667; ++i) flow.Ack(1000000);
  EXPECT_NEAR(flow.cwnd() - before, 0.1, 0.005);
}

// What a core on top of this one needs: the steps, without state.
TEST(SwiftSteps, IncreaseTakesAnAiOfItsOwn) {
  const u64 cwnd = 50 * DCC_SWIFT_CWND_ONE;
  const u64 grown = dcc_swift_increase(cwnd, 3 * 65536, DCC_WINDOW_ONE);
  EXPECT_NEAR(static_cast<double>(grown - cwnd) / 16777216.0, 3.0 / 50, 1e-6);
}

TEST(SwiftSteps, DecreaseTakesATargetOfItsOwn) {
  const u64 after = dcc_swift_decrease(100 * DCC_SWIFT_CWND_ONE, 30000, 24000,
                                       dcc_ppm_to_q24(800000), dcc_ppm_to_q24(500000));
  EXPECT_NEAR(static_cast<double>(after) / 16777216.0, 84, 1e-4);
}

// Many flows on one link by the paper's arithmetic: the queue stands near the target.
TEST(Swift, HoldsTheDelayOfAFluidLinkAtTheTarget) {
  for (const int flows : {1, 4, 16}) {
    Flow flow;
    double delay = 12000, sum = 0;
    int samples = 0;
    for (int rtt = 0; rtt < 2000; ++rtt) {
      const int acks = std::max(1, static_cast<int>(flow.cwnd()));
      for (int i = 0; i < acks; ++i) flow.Ack(static_cast<u32>(delay));
      flow.Wait(static_cast<u64>(std::max(0.0, delay - acks * 120)));
      delay = std::max(12000.0, flow.cwnd() * flows * 120);
      if (rtt > 1000) {
        sum += delay / flow.state.last.target_ns;
        ++samples;
      }
    }
    EXPECT_NEAR(sum / samples, 1, 0.08) << flows;
  }
}

}  // namespace

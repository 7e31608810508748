// SPDX-License-Identifier: Apache-2.0
#include "dcc_ledbat.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

dcc_ledbat_params Params() {
  dcc_ledbat_params params;
  dcc_ledbat_params_default(&params);
  return params;
}

dcc_ledbat_params Unfiltered() {
  dcc_ledbat_params params = Params();
  params.filter_samples = 1;
  return params;
}

// One flow at 100 Gbit/s and 12 us, TARGET 3 us; time goes on with each packet.
class Flow {
 public:
  explicit Flow(dcc_ledbat_params p = Unfiltered(),
                dcc_path path = {100000000000ULL, 12000, 1500, 0, 0})
      : path(path), params(p) {
    dcc_ledbat_init(&state, &path, &params, &control);
  }

  bool Ack(u32 rtt_ns, u32 acked_bytes = 1500, u32 flags = 0, u32 inflight_bytes = 0xffffffff) {
    now_ns += 120;
    const dcc_ack ack = {now_ns, now_ns - rtt_ns, rtt_ns, acked_bytes, inflight_bytes, flags, 0};
    return dcc_ledbat_ack(&state, &path, &params, &ack, &control);
  }
  void Loss() { dcc_ledbat_loss(&state, &path, &params, now_ns, &control); }
  void Rto() { dcc_ledbat_rto(&state, &path, &params, now_ns, &control); }
  void Restart() { dcc_ledbat_restart(&state, &path, &params, now_ns, &control); }
  void Wait(u64 ns) { now_ns += ns; }

  void Set(double packets) { state.cwnd_q24 = static_cast<u64>(packets * 16777216.0); }
  double cwnd() const { return static_cast<double>(state.cwnd_q24) / 16777216.0; }

  dcc_path path;
  dcc_ledbat_params params;
  dcc_ledbat state;
  dcc_control control;
  u64 now_ns = 1000000000;
};

TEST(LedbatParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_ledbat_params params = Params();
    change(params);
    return !dcc_ledbat_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.target_ns = 999; }));
  EXPECT_TRUE(refused([](auto& p) { p.target_ns = 100000001; })) << "the RFC's bound";
  EXPECT_TRUE(refused([](auto& p) { p.gain_milli = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.gain_milli = DCC_LEDBAT_GAIN_MAX_MILLI + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.allowed_increase_packets = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.allowed_increase_packets = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.min_cwnd_milli = 3; }));
  EXPECT_TRUE(refused([](auto& p) { p.min_cwnd_milli = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.initial_cwnd_packets = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.filter_samples = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.filter_samples = 9; }));
  EXPECT_TRUE(refused([](auto& p) { p.base_history = 11; }));
  EXPECT_FALSE(refused([](auto& p) { p.target_ns = 100000000; }));
}

TEST(LedbatTarget, IsAQuarterOfTheBaseRttWhereTheLineIsFast) {
  EXPECT_EQ(Flow().state.target_ns, 3000u);
}

TEST(LedbatTarget, IsTheTimeOfEightPacketsWhereTheLineIsSlow) {
  EXPECT_EQ(Flow(Params(), {10000000000ULL, 12000, 1500, 0, 0}).state.target_ns, 9600u);
}

TEST(LedbatTarget, IsNeverMoreThanTheRfcAllows) {
  EXPECT_EQ(Flow(Params(), {1000000, 1000000000, 65535, 0, 0}).state.target_ns, 100000000u);
}

TEST(Ledbat, StartsWithOneBdpAndNoOtherLimit) {
  const Flow flow;
  EXPECT_NEAR(flow.cwnd(), 100, 0.01);
  EXPECT_EQ(flow.control.pacing_bps, 200000000000ULL);
  EXPECT_EQ(flow.control.probe_ns, 0u);
}

TEST(Ledbat, StartsWithTheRfcsWindowIfToldTo) {
  dcc_ledbat_params params = Params();
  params.initial_cwnd_packets = 2;
  EXPECT_EQ(Flow(params).cwnd(), 2);
}

TEST(Ledbat, GrowsByGainPacketsPerRttOnAnIdlePath) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(flow.Ack(12000));
  EXPECT_NEAR(flow.cwnd(), 21, 0.03);
}

TEST(Ledbat, GrowsByHalfAsMuchHalfwayToTheTarget) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 20; ++i) flow.Ack(13500);
  EXPECT_NEAR(flow.cwnd(), 20.5, 0.02);
}

TEST(Ledbat, StandsStillAtTheTarget) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 1000; ++i) flow.Ack(15000);
  EXPECT_EQ(flow.cwnd(), 20);
}

TEST(Ledbat, ShrinksAboveTheTargetInProportion) {
  Flow flow;
  flow.Set(100);
  for (int i = 0; i < 100; ++i) flow.Ack(15000 + 6000);  // two targets above
  EXPECT_NEAR(flow.cwnd(), 98, 0.05);
}

TEST(Ledbat, GainScalesBothWays) {
  dcc_ledbat_params params = Unfiltered();
  params.gain_milli = 500;
  Flow flow(params);
  flow.Set(20);
  for (int i = 0; i < 20; ++i) flow.Ack(12000);
  EXPECT_NEAR(flow.cwnd(), 20.5, 0.02);
  for (int i = 0; i < 20; ++i) flow.Ack(18000);
  EXPECT_NEAR(flow.cwnd(), 20, 0.05);
}

TEST(Ledbat, OneAckOfManyPacketsMovesAsMuchAsManyAcks) {
  Flow flow;
  flow.Set(20);
  flow.Ack(12000, 20 * 1500);
  EXPECT_NEAR(flow.cwnd(), 21, 1e-4);
}

TEST(Ledbat, OneAckTakesAtMostHalfOfTheWindow) {
  Flow flow;
  flow.Set(20);
  flow.Ack(4000000000, 2000 * 1500);
  EXPECT_NEAR(flow.cwnd(), 10, 1e-6);
}

TEST(Ledbat, ARoundTripTakesAtMostHalfOfTheWindow) {
  Flow flow;
  flow.Set(20);
  // All sent before the first of them came back.
  for (int i = 0; i < 100; ++i) flow.Ack(400000);
  EXPECT_NEAR(flow.cwnd(), 10, 1e-6);
  flow.Wait(400000);
  for (int i = 0; i < 100; ++i) flow.Ack(400000);
  EXPECT_NEAR(flow.cwnd(), 5, 1e-6);
}

TEST(Ledbat, DoesNotGrowAboveWhatWasInFlightByMoreThanItMay) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 100; ++i) flow.Ack(12000, 1500, 0, 20 * 1500);
  EXPECT_NEAR(flow.cwnd(), 21, 1e-6);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_LEDBAT_FLIGHT));
}

TEST(Ledbat, AFirstPacketAloneInFlightDoesNotShrinkTheWindow) {
  Flow flow;
  flow.Ack(12000, 1500, 0, 1500);
  EXPECT_NEAR(flow.cwnd(), 100, 0.01);
}

TEST(Ledbat, AnApplicationLimitedFlowDoesNotGrowButShrinks) {
  Flow flow;
  flow.Set(20);
  for (int i = 0; i < 50; ++i) flow.Ack(12000, 1500, DCC_ACK_APP_LIMITED);
  EXPECT_EQ(flow.cwnd(), 20);
  flow.Ack(40000, 1500, DCC_ACK_APP_LIMITED);
  EXPECT_LT(flow.cwnd(), 20);
}

TEST(LedbatFilter, ASingleLongDelayAmongShortOnesIsNotSeen) {
  Flow flow(Params());
  flow.Set(50);
  for (int i = 0; i < 10; ++i) flow.Ack(12500);
  flow.Ack(500000);
  EXPECT_EQ(flow.state.last.queue_ns, 500u);
  for (int i = 0; i < 3; ++i) flow.Ack(500000);
  EXPECT_EQ(flow.state.last.queue_ns, 488000u) << "four in a row are";
}

TEST(LedbatFilter, TakesAsManySamplesAsConfigured) {
  for (const u32 samples : {1, 2, 8}) {
    dcc_ledbat_params params = Params();
    params.filter_samples = samples;
    Flow flow(params);
    flow.Set(50);
    for (int i = 0; i < 10; ++i) flow.Ack(12500);
    for (u32 i = 1; i < samples; ++i) flow.Ack(500000);
    EXPECT_EQ(flow.state.last.queue_ns, 500u) << samples;
    flow.Ack(500000);
    EXPECT_EQ(flow.state.last.queue_ns, 488000u) << samples;
  }
}

TEST(LedbatFilter, TakesNoMoreSamplesThanTheWindowHasPackets) {
  Flow flow(Params());
  flow.Set(1.5);
  flow.Ack(12500);
  flow.Set(1.5);
  flow.Ack(20000);
  EXPECT_EQ(flow.state.last.queue_ns, 8000u);
}

TEST(LedbatBase, IsThePathsUnlessAHistoryIsWanted) {
  Flow flow;
  flow.Ack(10000);
  flow.Ack(13000);
  EXPECT_EQ(flow.state.last.queue_ns, 1000u);
}

TEST(LedbatBase, HistoryTakesTheSmallestDelayOfItsMinutes) {
  dcc_ledbat_params params = Unfiltered();
  params.base_history = 2;
  Flow flow(params);
  flow.Wait(60000000000);
  flow.Ack(11000);
  flow.Ack(20000);
  EXPECT_EQ(flow.state.last.queue_ns, 9000u);
  flow.Wait(60000000000);
  flow.Ack(19000);
  EXPECT_EQ(flow.state.last.queue_ns, 8000u) << "the minute before still counts";
  flow.Wait(60000000000);
  flow.Ack(20000);
  EXPECT_EQ(flow.state.last.queue_ns, 1000u) << "two minutes before does not";
}

TEST(LedbatBase, HistorySurvivesAPauseButNotAnotherPath) {
  dcc_ledbat_params params = Unfiltered();
  params.base_history = 10;
  Flow flow(params);
  flow.Ack(9000);
  flow.Restart();
  flow.Ack(12000);
  EXPECT_EQ(flow.state.last.queue_ns, 3000u);
  flow.path.base_rtt_ns = 20000;
  flow.Restart();
  flow.Ack(22000);
  EXPECT_EQ(flow.state.last.queue_ns, 0u);
}

TEST(Ledbat, ALossHalvesTheWindowOncePerRtt) {
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

TEST(Ledbat, ATimeoutLeavesOnePacketOrLess) {
  Flow flow;
  flow.Set(64);
  flow.Rto();
  EXPECT_EQ(flow.cwnd(), 1);
  flow.Set(0.25);
  flow.Rto();
  EXPECT_EQ(flow.cwnd(), 0.25);
}

TEST(Ledbat, NeverGoesBelowItsSmallestWindow) {
  dcc_ledbat_params params = Unfiltered();
  params.min_cwnd_milli = 2000;
  Flow flow(params);
  flow.Set(3);
  for (int i = 0; i < 100; ++i) flow.Ack(10000000);
  EXPECT_EQ(flow.cwnd(), 2);
  flow.Loss();
  EXPECT_EQ(flow.cwnd(), 2);
}

TEST(Ledbat, RestartsAsANewFlow) {
  Flow flow;
  flow.Set(3);
  flow.Restart();
  EXPECT_NEAR(flow.cwnd(), 100, 0.01);
}

TEST(Ledbat, TakesUpAChangedPathAndParametersWithTheNextAck) {
  Flow flow;
  flow.Set(20);
  flow.path.base_rtt_ns = 40000;
  flow.Ack(45000);
  EXPECT_GT(flow.cwnd(), 20) << "5 us of queue are below a quarter of 40 us";
  flow.params.target_ns = 2000;
  flow.Ack(45000);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_LEDBAT_DECREASE));
}

// What a core on top of this one needs: the steps, without state.
TEST(LedbatSteps, TheStepIsGainTimesTheDistanceAsAFractionOfTheTarget) {
  constexpr u64 kOne = DCC_LEDBAT_CWND_ONE;
  EXPECT_EQ(dcc_ledbat_up_q24(kOne, 0, 4000), kOne);
  EXPECT_EQ(dcc_ledbat_up_q24(3 * kOne, 3000, 4000), 3 * kOne / 4);
  EXPECT_EQ(dcc_ledbat_up_q24(kOne, 4000, 4000), 0u);
  EXPECT_EQ(dcc_ledbat_down_q24(kOne, 4000, 4000), 0u);
  EXPECT_EQ(dcc_ledbat_down_q24(2 * kOne, 10000, 4000), 3 * kOne);
  EXPECT_EQ(dcc_ledbat_down_q24(kOne, 0xffffffff, 1), DCC_LEDBAT_STEP_MAX_Q24);
  EXPECT_EQ(dcc_ledbat_down_q24(kOne, 5, 0), 5 * kOne) << "no division by zero";
}

TEST(LedbatSteps, IncreaseAndDecreaseTakeStepsOfTheirOwn) {
  const u64 cwnd = 50 * DCC_LEDBAT_CWND_ONE;
  const u64 up = dcc_ledbat_increase(cwnd, 3 * DCC_LEDBAT_CWND_ONE, DCC_WINDOW_ONE);
  const u64 down = dcc_ledbat_decrease(cwnd, 6 * DCC_LEDBAT_CWND_ONE, DCC_WINDOW_ONE);
  EXPECT_NEAR(static_cast<double>(up - cwnd) / 16777216.0, 3.0 / 50, 1e-6);
  EXPECT_NEAR(static_cast<double>(cwnd - down) / 16777216.0, 6.0 / 50, 1e-6);
}

// Few flows on one link by the RFC's arithmetic: the queue stands at TARGET.
TEST(Ledbat, HoldsTheQueueOfAFluidLinkAtTheTarget) {
  for (const int flows : {1, 4, 8}) {
    Flow flow;
    double delay = 12000, sum = 0;
    int samples = 0;
    for (int rtt = 0; rtt < 3000; ++rtt) {
      const int acks = std::max(1, static_cast<int>(flow.cwnd()));
      for (int i = 0; i < acks; ++i) flow.Ack(static_cast<u32>(delay));
      flow.Wait(static_cast<u64>(std::max(0.0, delay - acks * 120)));
      delay = std::max(12000.0, flow.cwnd() * flows * 120);
      if (rtt > 2000) {
        sum += delay;
        ++samples;
      }
    }
    EXPECT_NEAR(sum / samples, 15000, 150) << flows;
  }
}

TEST(Ledbat, AClockThatGoesBackKeepsNoOldBase) {
  dcc_ledbat_params params = Unfiltered();
  params.base_history = 1;
  Flow flow(params);
  flow.Wait(60000000000);
  flow.Ack(9000);
  flow.now_ns = 1000;
  flow.Ack(900);
  EXPECT_EQ(flow.state.last.queue_ns, 0u);
  flow.Ack(12000);
  EXPECT_EQ(flow.state.last.queue_ns, 11100u);
}

}  // namespace

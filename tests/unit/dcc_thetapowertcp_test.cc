// SPDX-License-Identifier: Apache-2.0
#include "dcc_thetapowertcp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

dcc_thetapowertcp_params Params() {
  dcc_thetapowertcp_params params;
  dcc_thetapowertcp_params_default(&params);
  return params;
}

// One flow at 100 Gbit/s and 12 us, which acknowledges a packet each 120 ns.
class Flow {
 public:
  explicit Flow(dcc_thetapowertcp_params p = Params(),
                dcc_path path = {100000000000ULL, 12000, 1500, 0, 0})
      : path(path), params(p) {
    dcc_thetapowertcp_init(&state, &path, &params, &control);
  }

  bool Ack(u32 rtt_ns, u64 spacing_ns = 120, u32 flags = 0) {
    now_ns += spacing_ns;
    const dcc_ack ack = {now_ns, now_ns - rtt_ns, rtt_ns, path.wire_bytes, 15000, flags, 0};
    return dcc_thetapowertcp_ack(&state, &path, &params, &ack, &control);
  }
  // Constant delay for so long; returns the number of decisions.
  int Hold(u32 rtt_ns, u64 time_ns, u64 spacing_ns = 120) {
    int decisions = 0;
    for (u64 t = 0; t < time_ns; t += spacing_ns) decisions += Ack(rtt_ns, spacing_ns);
    return decisions;
  }
  void Loss() { dcc_thetapowertcp_loss(&state, &path, &params, now_ns, &control); }
  void Rto() { dcc_thetapowertcp_rto(&state, &path, &params, now_ns, &control); }

  void Set(double packets) { state.cwnd_q24 = static_cast<u64>(packets * 16777216.0); }
  double cwnd() const { return static_cast<double>(state.cwnd_q24) / 16777216.0; }
  double power() const { return static_cast<double>(state.power_q24) / 16777216.0; }

  dcc_path path;
  dcc_thetapowertcp_params params;
  dcc_thetapowertcp state;
  dcc_control control;
  u64 now_ns = 1000000000;
};

TEST(ThetaPowerTcpParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_thetapowertcp_params params = Params();
    change(params);
    return !dcc_thetapowertcp_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.gamma_ppm = DCC_THETAPOWERTCP_GAMMA_MIN_PPM - 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.gamma_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.beta_bytes = DCC_THETAPOWERTCP_BETA_MAX_BYTES + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.flows = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.flows = DCC_THETAPOWERTCP_FLOWS_MAX + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.min_current_ppm = 999; }));
  EXPECT_TRUE(refused([](auto& p) { p.min_current_ppm = 1000001; }));
  EXPECT_FALSE(refused([](auto& p) { p.min_current_ppm = 1000; }));
}

TEST(ThetaPowerTcp, StartsWithOneBdpAtLineRate) {
  const Flow flow;
  EXPECT_NEAR(flow.cwnd(), 100, 0.001);
  EXPECT_EQ(flow.control.pacing_bps, 100000000000ULL);
  EXPECT_EQ(flow.control.probe_ns, 0u);
}

TEST(ThetaPowerTcp, BetaIsTheBdpOverTheFlowsUnlessItIsGiven) {
  EXPECT_NEAR(static_cast<double>(Flow().state.beta_q24) / 16777216.0, 100.0 / 64, 1e-4);
  dcc_thetapowertcp_params params = Params();
  params.beta_bytes = 4500;
  EXPECT_NEAR(static_cast<double>(Flow(params).state.beta_q24) / 16777216.0, 3, 1e-6);
}

TEST(ThetaPowerTcp, DecidesOncePerRtt) {
  Flow flow;
  EXPECT_NEAR(flow.Hold(18000, 1800000), 100, 2);
}

TEST(ThetaPowerTcp, AloneOnTheLinkStaysAtLineRate) {
  Flow flow;
  flow.Hold(12000, 1200000);
  EXPECT_NEAR(flow.cwnd(), 100, 0.001);
  EXPECT_EQ(flow.control.pacing_bps, 100000000000ULL);
  EXPECT_EQ(flow.state.last.branch, static_cast<u32>(DCC_THETAPOWERTCP_CAP));
}

TEST(ThetaPowerTcpPower, OfALevelQueueIsTheDelayOverTheBaseRtt) {
  Flow flow;
  flow.Hold(30000, 120000);
  EXPECT_NEAR(flow.power(), 2.5, 0.01);
}

// Ten flows at line rate: the queue grows by nine seconds a second, and ACKs come ten times slower
// than packets were sent: theta' is 0.9 in terms of arrivals.
TEST(ThetaPowerTcpPower, OfARisingQueueHasItsSlopeInIt) {
  Flow flow;
  u32 rtt_ns = 12000;
  for (int i = 0; i < 20; ++i) flow.Ack(rtt_ns += 1080, 1200);
  // A mean over a base RTT: ten samples at around 1.9 times the delay of half an RTT ago.
  EXPECT_GT(flow.power(), 1.9 * 22000 / 12000);
  EXPECT_LT(flow.power(), 1.9 * 34000 / 12000);
}

TEST(ThetaPowerTcpPower, IsAMeanOverOneBaseRtt) {
  Flow flow;
  flow.Hold(12000, 60000);
  ASSERT_NEAR(flow.power(), 1, 0.001);
  flow.Ack(24000);
  flow.Ack(24000);
  // The step itself has a slope of 100 for one sample.
  EXPECT_NEAR(flow.power(), 1 + (101 * 2 - 1) / 100.0 + (2 - 3.0) / 100, 0.03);
}

TEST(ThetaPowerTcpPower, AFallingDelayCountsAsHalfTheCurrentAtLeast) {
  Flow flow;
  flow.Hold(60000, 120000);
  u32 rtt_ns = 60000;
  for (int i = 0; i < 100; ++i) flow.Ack(rtt_ns -= 400);  // theta' = -3.3
  EXPECT_GT(flow.power(), 0.5 * 20000 / 12000);
}

TEST(ThetaPowerTcpPower, TheFloorOfTheCurrentIsAParameter) {
  dcc_thetapowertcp_params params = Params();
  params.min_current_ppm = 1000;
  Flow flow(params);
  flow.Hold(60000, 120000);
  u32 rtt_ns = 60000;
  for (int i = 0; i < 100; ++i) flow.Ack(rtt_ns -= 400);
  EXPECT_LT(flow.power(), 2.5);
}

TEST(ThetaPowerTcpPower, AGapOfManyRttsLeavesTheNewSampleOnly) {
  Flow flow;
  flow.Hold(60000, 120000);
  flow.Ack(18000, 1000000);
  EXPECT_NEAR(flow.power(), 1.5 * (1 - 42.0 / 1000), 0.001);
}

TEST(ThetaPowerTcp, TheWindowIsTheOldOneOverThePowerAndBeta) {
  Flow flow;
  flow.Hold(24000, 240000);
  flow.Set(40);
  while (!flow.Ack(24000)) {
  }
  EXPECT_NEAR(flow.cwnd(), 0.9 * (40 / 2.0 + 100.0 / 64) + 0.1 * 40, 0.05);
  EXPECT_NEAR(static_cast<double>(flow.control.pacing_bps), flow.cwnd() / 100 * 1e11, 1e8);
}

TEST(ThetaPowerTcp, AnIdleLinkIsFoundByBetaAlone) {
  Flow flow;
  flow.Hold(12000, 60000);
  flow.Set(10);
  const int decisions = flow.Hold(12000, 240000);
  EXPECT_NEAR(flow.cwnd(), 10 + decisions * 0.9 * 100 / 64, 0.2);
}

TEST(ThetaPowerTcp, ALossHalvesOncePerRtt) {
  Flow flow;
  flow.Hold(12000, 60000);
  flow.Set(40);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 20, 1e-3);
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 20, 1e-3);
  flow.now_ns += 12001;
  flow.Loss();
  EXPECT_NEAR(flow.cwnd(), 10, 1e-3);
}

TEST(ThetaPowerTcp, PacketsSentBeforeALossDoNotUndoIt) {
  Flow flow;
  flow.Hold(12000, 60000);
  flow.Loss();
  const double after = flow.cwnd();
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(flow.Ack(12000));
  EXPECT_EQ(flow.cwnd(), after);
}

TEST(ThetaPowerTcp, ATimeoutLeavesOnePacketAndNeverMoreThanThereWas) {
  Flow flow;
  flow.Rto();
  EXPECT_NEAR(flow.cwnd(), 1, 1e-6);
  flow.Set(0.25);
  flow.Rto();
  EXPECT_NEAR(flow.cwnd(), 0.25, 1e-6);
}

TEST(ThetaPowerTcp, RestartsAtLineRate) {
  Flow flow;
  flow.Hold(60000, 600000);
  ASSERT_LT(flow.cwnd(), 10);
  dcc_thetapowertcp_restart(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_NEAR(flow.cwnd(), 100, 0.001);
  EXPECT_NEAR(flow.power(), 1, 1e-6);
}

TEST(ThetaPowerTcp, DelayedOrAmbiguousSamplesDecideNothing) {
  Flow flow;
  flow.Hold(12000, 60000);
  const u64 power = flow.state.power_q24;
  EXPECT_FALSE(flow.Ack(40000000, 120, DCC_ACK_DELAYED));
  EXPECT_FALSE(flow.Ack(0, 120, DCC_ACK_NO_RTT));
  EXPECT_EQ(flow.state.power_q24, power);
}

TEST(ThetaPowerTcp, TakesUpAChangedPathAtTheNextDecision) {
  Flow flow;
  flow.Hold(12000, 60000);
  flow.path.base_rtt_ns = 24000;
  flow.Hold(24000, 480000);
  EXPECT_NEAR(flow.power(), 1, 0.01);
  flow.Hold(24000, 4800000);
  EXPECT_NEAR(flow.cwnd(), 200, 0.01);
}

// The equilibrium of section 4: bandwidth times tau and the sum of the betas.
TEST(ThetaPowerTcp, ManyFlowsHoldTheSumOfTheirBetasAsQueue) {
  for (const int flows : {2, 4, 16}) {
    Flow flow;
    double delay = 12000;
    for (int rtt = 0; rtt < 400; ++rtt) {
      flow.Hold(static_cast<u32>(delay), static_cast<u64>(delay));
      delay += (std::max(12000.0, flow.cwnd() * flows * 120) - delay) * 0.5;
    }
    EXPECT_NEAR(delay, 12000 + flows * 12000.0 / 64, 300) << flows;
  }
}

}  // namespace

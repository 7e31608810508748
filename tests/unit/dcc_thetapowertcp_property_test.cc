// SPDX-License-Identifier: Apache-2.0
//
// theta-PowerTCP's fixed-point core against its double-precision reference model on random traces:
// windows, rates and power agree within 1 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_thetapowertcp.h"
#include "random_path.h"
#include "thetapowertcp_reference.h"

namespace {

using delaycc_test::Random;
using delaycc_test::RandomPath;
using delaycc_test::ThetaPowerTcpReference;

dcc_thetapowertcp_params RandomParams(Random& random) {
  dcc_thetapowertcp_params p;
  dcc_thetapowertcp_params_default(&p);
  const auto set = [&random](u32& field, double low, double high) {
    if (random.OneIn(3)) field = static_cast<u32>(random.LogUniform(low, high));
  };
  set(p.gamma_ppm, 1e3, 1e6);
  set(p.beta_bytes, 1, 1e8);
  set(p.flows, 1, 1e6);
  set(p.min_current_ppm, 1e3, 1e6);
  return p;
}

TEST(ThetaPowerTcpAgainstReference, WindowRateAndPowerAgreeWithinOnePercent) {
  int decisions = 0, below_line = 0;
  for (u64 seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const dcc_path path = RandomPath(random);
    const dcc_thetapowertcp_params params = RandomParams(random);
    ASSERT_TRUE(dcc_thetapowertcp_params_valid(&params)) << seed;
    ThetaPowerTcpReference reference(path, params);
    dcc_thetapowertcp core;
    dcc_control control;
    dcc_thetapowertcp_init(&core, &path, &params, &control);
    const bool extreme = random.OneIn(5);
    const double flows = random.LogUniform(1, 1000);
    const double packet_ns = path.wire_bytes * 8e9 / static_cast<double>(path.line_rate_bps);
    double delay = path.base_rtt_ns;
    u64 now = 1 + random.Below(1ULL << 50);
    for (int i = 0; i < 2000; ++i) {
      const double step =
          std::min(1e10, path.base_rtt_ns * random.LogUniform(1e-4, random.OneIn(20) ? 10 : 0.1));
      now += static_cast<u64>(step);
      if (extreme && random.OneIn(500)) now -= std::min(now - 1, random.Below(1ULL << 40));
      // A queue that follows the windows, with noise.
      const double level = std::max<double>(path.base_rtt_ns, reference.cwnd() * flows * packet_ns);
      delay += (level - delay) * std::min(1.0, step / path.base_rtt_ns);
      u32 rtt = static_cast<u32>(std::min(delay * (1 + 0.02 * random.Unit()), 4e9));
      if (extreme && random.OneIn(50)) rtt = random.OneIn(2) ? 0 : 0xffffffff;
      dcc_ack ack = {};
      ack.now_ns = now;
      ack.rtt_ns = rtt;
      ack.send_ns = now - std::min<u64>(now, rtt);
      ack.acked_bytes = path.wire_bytes;
      if (random.OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
      if (random.OneIn(50)) ack.flags |= DCC_ACK_DELAYED;
      const std::string where = "seed " + std::to_string(seed) + " ack " + std::to_string(i);
      // What is left of an enormous power after nearly a tau is rounding.
      const double rounding = 1e-5 * reference.power() * 16777216.0;
      const bool decided = dcc_thetapowertcp_ack(&core, &path, &params, &ack, &control);
      ASSERT_EQ(decided, reference.Ack(ack)) << where;
      decisions += decided;
      below_line += decided && control.pacing_bps < path.line_rate_bps;
      if (random.OneIn(300)) {
        dcc_thetapowertcp_loss(&core, &path, &params, now, &control);
        reference.Loss(now);
      }
      if (random.OneIn(500)) {
        dcc_thetapowertcp_rto(&core, &path, &params, now, &control);
        reference.Rto(now);
      }
      if (random.OneIn(1000)) {
        dcc_thetapowertcp_restart(&core, &path, &params, now, &control);
        reference.Restart(now);
      }
      ASSERT_NEAR(static_cast<double>(core.power_q24), reference.power() * 16777216.0,
                  2 + rounding + 0.01 * reference.power() * 16777216.0)
          << where;
      ASSERT_NEAR(static_cast<double>(core.cwnd_q24), reference.cwnd() * 16777216.0,
                  2 + 0.01 * reference.cwnd() * 16777216.0)
          << where;
      ASSERT_NEAR(static_cast<double>(control.cwnd_q16), reference.cwnd() * 65536,
                  2 + 0.01 * reference.cwnd() * 65536)
          << where;
      // At the cap the core is at line rate, the reference may be a rounding below it.
      ASSERT_NEAR(static_cast<double>(control.pacing_bps), reference.rate(),
                  0.01 * reference.rate())
          << where;
    }
  }
  EXPECT_GT(decisions, 10000);
  EXPECT_GT(below_line, 10000);
}

}  // namespace

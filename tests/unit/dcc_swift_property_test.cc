// SPDX-License-Identifier: Apache-2.0
//
// Swift's fixed-point core against its double-precision reference model on random traces: windows
// agree within 1 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_swift.h"
#include "random_path.h"
#include "swift_reference.h"

namespace {

using delaycc_test::Random;
using delaycc_test::RandomPath;
using delaycc_test::SwiftReference;

dcc_swift_params RandomParams(Random& random, const dcc_path& path) {
  dcc_swift_params p;
  dcc_swift_params_default(&p);
  const auto set = [&random](u32& field, double low, double high) {
    if (random.OneIn(3)) field = static_cast<u32>(random.LogUniform(low, high));
  };
  set(p.base_target_ns, std::max(1000.0, path.base_rtt_ns * 0.5),
      std::min(2e9, path.base_rtt_ns * 4.0));
  set(p.hops, 1, 64);
  set(p.hop_scale_ns, 1, 1e7);
  p.flow_scaling = !random.OneIn(4);
  set(p.fs_range_ns, 100, 1e9);
  set(p.fs_min_cwnd_milli, 1, 1e4);
  set(p.fs_max_cwnd_milli, 1e4, 1e8);
  set(p.ai_milli, 1, 1e6);
  set(p.beta_ppm, 1, 1e6);
  set(p.max_mdf_ppm, 1, 1e6);
  set(p.initial_cwnd_packets, 1, 1e6);
  if (random.OneIn(3)) p.hai_rounds = static_cast<u32>(random.Below(12));
  if (random.OneIn(20)) p.fs_min_cwnd_milli = p.fs_max_cwnd_milli;
  return p;
}

TEST(SwiftAgainstReference, WindowsAgreeWithinOnePercent) {
  int decreases = 0, increases = 0, hyperactive = 0, small = 0, edges = 0, acks = 0;
  for (u64 seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const dcc_path path = RandomPath(random);
    const dcc_swift_params params = RandomParams(random, path);
    ASSERT_TRUE(dcc_swift_params_valid(&params)) << seed;
    SwiftReference reference(path, params);
    dcc_swift core;
    dcc_control control;
    dcc_swift_init(&core, &path, &params, &control);
    const bool extreme = random.OneIn(5);
    const double noise = random.OneIn(2) ? 0.3 : 0.02;
    const double flows = random.LogUniform(1, 1000);
    u64 now = 1 + random.Below(1ULL << 50);
    for (int i = 0; i < 2000; ++i) {
      // The delay of a link that such flows share, with noise.
      const double packet_ns = path.wire_bytes * 8e9 / static_cast<double>(path.line_rate_bps);
      double delay = std::max<double>(path.base_rtt_ns, reference.cwnd() * flows * packet_ns);
      delay *= 1 + noise * random.Unit();
      u32 rtt = static_cast<u32>(std::min(delay, 4e9));
      if (extreme && random.OneIn(50)) rtt = random.OneIn(2) ? 0 : 0xffffffff;
      now += static_cast<u64>(std::min(1e10, random.LogUniform(1, 2 * delay)));
      if (extreme && random.OneIn(500)) now -= std::min(now - 1, random.Below(1ULL << 40));
      dcc_ack ack = {};
      ack.now_ns = now;
      ack.rtt_ns = rtt;
      ack.send_ns = now - rtt;
      ack.acked_bytes = path.wire_bytes * static_cast<u32>(random.OneIn(5) ? random.Below(60) : 1);
      if (random.OneIn(100)) ack.acked_bytes = 0xffffffff;
      ack.inflight_bytes = static_cast<u32>(std::min(
          4e9, std::ceil(reference.cwnd()) * path.wire_bytes * random.LogUniform(0.3, 1.3)));
      if (random.OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
      if (random.OneIn(50)) ack.flags |= DCC_ACK_DELAYED;
      if (random.OneIn(20)) ack.flags |= DCC_ACK_APP_LIMITED;
      const std::string where = "seed " + std::to_string(seed) + " ack " + std::to_string(i) +
                                " branch " + std::to_string(core.last.branch);
      ++acks;
      const bool decided = dcc_swift_ack(&core, &path, &params, &ack, &control);
      ASSERT_EQ(decided, reference.Ack(ack)) << where;
      if (reference.knife_edge()) {
        ++edges;
        reference.Follow(core);
      }
      decreases += decided && core.last.branch == DCC_SWIFT_DECREASE;
      increases += decided && core.last.branch == DCC_SWIFT_INCREASE;
      hyperactive += decided && core.last.branch == DCC_SWIFT_INCREASE && reference.hyperactive();
      small += reference.cwnd() < 1;
      if (random.OneIn(300)) {
        dcc_swift_loss(&core, &path, &params, now, &control);
        reference.Loss(now);
      }
      for (u64 timeouts = random.OneIn(500) ? 1 + random.Below(7) : 0; timeouts > 0; --timeouts) {
        now += random.Below(1000000000);
        dcc_swift_rto(&core, &path, &params, now, &control);
        reference.Rto(now);
      }
      if (random.OneIn(1000)) {
        dcc_swift_restart(&core, &path, &params, now, &control);
        reference.Restart();
      }
      ASSERT_NEAR(static_cast<double>(core.cwnd_q24), reference.cwnd() * 16777216.0,
                  2 + 0.01 * reference.cwnd() * 16777216.0)
          << where;
      ASSERT_EQ(control.cwnd_q16, dcc_max_u64(core.cwnd_q24 >> 8, 1)) << where;
      const double target = reference.TargetAt(static_cast<double>(core.cwnd_q24) / 16777216.0);
      ASSERT_NEAR(dcc_swift_target_ns(&core, core.cwnd_q24), target, 2 + 1e-4 * target) << where;
    }
  }
  EXPECT_GT(decreases, 10000);
  EXPECT_GT(increases, 100000);
  EXPECT_GT(hyperactive, 1000);
  EXPECT_GT(small, 10000);
  EXPECT_LT(edges, acks / 20) << "too many acknowledgments were excused";
}

}  // namespace

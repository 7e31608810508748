// SPDX-License-Identifier: Apache-2.0
//
// LEDBAT's fixed-point core against its double-precision reference model on random traces: windows
// agree within 1 %.  A decrease by so many packets, whatever the window, magnifies the relative
// error of the window; so the reference takes the core's over once in a stretch of 20
// acknowledgments.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_ledbat.h"
#include "ledbat_reference.h"
#include "random_path.h"

namespace {

using delaycc_test::LedbatReference;
using delaycc_test::Random;
using delaycc_test::RandomPath;

dcc_ledbat_params RandomParams(Random& random, const dcc_path& path) {
  dcc_ledbat_params p;
  dcc_ledbat_params_default(&p);
  const auto set = [&random](u32& field, double low, double high) {
    if (random.OneIn(3)) field = static_cast<u32>(random.LogUniform(low, high));
  };
  set(p.target_ns, std::max(1000.0, path.base_rtt_ns * 0.05),
      std::min(1e8, std::max(2000.0, path.base_rtt_ns * 4.0)));
  set(p.gain_milli, 1, 1e6);
  set(p.allowed_increase_packets, 1, 1e6);
  set(p.min_cwnd_milli, 4, 1e6);
  set(p.initial_cwnd_packets, 1, 1e6);
  p.filter_samples = 1 + static_cast<u32>(random.Below(8));
  if (random.OneIn(2)) p.base_history = static_cast<u32>(random.Below(11));
  return p;
}

TEST(LedbatAgainstReference, WindowsAgreeWithinOnePercent) {
  int decreases = 0, increases = 0, held = 0, small = 0, edges = 0, acks = 0;
  for (u64 seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const dcc_path path = RandomPath(random);
    const dcc_ledbat_params params = RandomParams(random, path);
    ASSERT_TRUE(dcc_ledbat_params_valid(&params)) << seed;
    LedbatReference reference(path, params);
    dcc_ledbat core;
    dcc_control control;
    dcc_ledbat_init(&core, &path, &params, &control);
    ASSERT_NEAR(core.target_ns, reference.target(), 1) << seed;
    const bool extreme = random.OneIn(5);
    const bool hours = random.OneIn(4);
    const double flows = random.LogUniform(1, 1000);
    u64 now = 1 + random.Below(random.OneIn(2) ? 1ULL << 50 : 1ULL << 34);
    for (int i = 0; i < 2000; ++i) {
      // The delay of a link that such flows share, with noise.
      const double packet_ns = path.wire_bytes * 8e9 / static_cast<double>(path.line_rate_bps);
      double delay = std::max<double>(path.base_rtt_ns, reference.cwnd() * flows * packet_ns);
      delay *= 1 + 0.3 * random.Unit();
      u32 rtt = static_cast<u32>(std::min(delay, 4e9));
      if (extreme && random.OneIn(50)) rtt = random.OneIn(2) ? 0 : 0xffffffff;
      now += static_cast<u64>(std::min(1e10, random.LogUniform(1, 2 * delay)));
      if (hours && random.OneIn(50)) now += random.Below(100000000000);
      if (extreme && random.OneIn(500)) now -= std::min(now - 1, random.Below(1ULL << 40));
      dcc_ack ack = {};
      ack.now_ns = now;
      ack.rtt_ns = rtt;
      ack.send_ns = now - rtt;
      ack.acked_bytes = path.wire_bytes * static_cast<u32>(random.OneIn(5) ? random.Below(60) : 1);
      ack.inflight_bytes = static_cast<u32>(std::min(
          4e9, (reference.cwnd() + 1) * path.wire_bytes * (random.OneIn(3) ? random.Unit() : 1)));
      if (random.OneIn(100)) ack.acked_bytes = 0xffffffff;
      if (random.OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
      if (random.OneIn(50)) ack.flags |= DCC_ACK_DELAYED;
      if (random.OneIn(20)) ack.flags |= DCC_ACK_APP_LIMITED;
      const std::string where = "seed " + std::to_string(seed) + " ack " + std::to_string(i) +
                                " branch " + std::to_string(core.last.branch);
      ++acks;
      const bool decided = dcc_ledbat_ack(&core, &path, &params, &ack, &control);
      ASSERT_EQ(decided, reference.Ack(ack)) << where;
      if (reference.knife_edge()) {
        ++edges;
        reference.Follow(core);
      } else if (decided) {
        ASSERT_EQ(core.last.queue_ns, static_cast<u32>(reference.queuing_delay())) << where;
      }
      decreases += decided && core.last.branch == DCC_LEDBAT_DECREASE;
      increases += decided && core.last.branch == DCC_LEDBAT_INCREASE;
      held += decided && core.last.branch == DCC_LEDBAT_FLIGHT;
      small += reference.cwnd() < 1;
      if (random.OneIn(300)) {
        dcc_ledbat_loss(&core, &path, &params, now, &control);
        reference.Loss(now);
      }
      if (random.OneIn(700)) {
        now += random.Below(1000000000);
        dcc_ledbat_rto(&core, &path, &params, now, &control);
        reference.Rto(now);
      }
      if (random.OneIn(1000)) {
        dcc_ledbat_restart(&core, &path, &params, now, &control);
        reference.Restart();
      }
      ASSERT_NEAR(static_cast<double>(core.cwnd_q24), reference.cwnd() * 16777216.0,
                  2 + 0.01 * reference.cwnd() * 16777216.0)
          << where;
      ASSERT_EQ(control.cwnd_q16, dcc_max_u64(core.cwnd_q24 >> 8, 1)) << where;
      if (i % 20 == 0) reference.Follow(core);
    }
  }
  EXPECT_GT(decreases, 10000);
  EXPECT_GT(increases, 50000);
  EXPECT_GT(held, 10000);
  EXPECT_GT(small, 10000);
  EXPECT_LT(edges, acks / 20) << "too many acknowledgments were excused";
}

}  // namespace

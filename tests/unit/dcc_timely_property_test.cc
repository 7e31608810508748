// SPDX-License-Identifier: Apache-2.0
//
// The fixed-point cores of TIMELY and its patch against their double-precision reference model on
// random traces: after every decision window and rate agree within 1 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_timely.h"
#include "timely_reference.h"

namespace {

using delaycc_test::RateTrace;
using delaycc_test::TimelyReference;

dcc_timely_params RandomParams(RateTrace& random, u32 patched) {
  dcc_timely_params p;
  dcc_timely_params_default(&p);
  p.patched = patched;
  const double base = random.path().base_rtt_ns;
  if (base > 20000 && !random.OneIn(3)) {  // thresholds that such a path can meet
    p.t_low_ns = static_cast<u32>(std::min(1.5e9, base * random.LogUniform(1.01, 2)));
    p.t_high_ns = static_cast<u32>(std::min(2e9, p.t_low_ns * random.LogUniform(1, 20)));
  }
  if (random.OneIn(3)) p.alpha_ppm = static_cast<u32>(1 + random.Below(1000000));
  if (random.OneIn(3)) p.beta_ppm = static_cast<u32>(random.LogUniform(1, 1e6));
  if (random.OneIn(3)) p.rtt_ref_ns = static_cast<u32>(p.t_low_ns * random.LogUniform(0.7, 1.5));
  if (p.rtt_ref_ns > 2000000000) p.rtt_ref_ns = 2000000000;
  if (p.rtt_ref_ns < 1000) p.rtt_ref_ns = 0;
  if (random.OneIn(3)) p.delta_kbps = static_cast<u32>(random.LogUniform(1, 1e8));
  if (random.OneIn(3)) p.hai_events = static_cast<u32>(random.Below(1001));
  if (random.OneIn(3)) p.min_rate_kbps = static_cast<u32>(random.LogUniform(1, 1e6));
  if (random.OneIn(3)) p.start_kbps = static_cast<u32>(random.LogUniform(1, 8e8));
  if (random.OneIn(3)) p.seg_bytes = static_cast<u32>(random.LogUniform(1000, 1.6e7));
  return p;
}

class TimelyAgainstReference : public ::testing::TestWithParam<u32> {};

TEST_P(TimelyAgainstReference, WindowAndRateAgreeWithinOnePercent) {
  int decisions = 0, edges = 0;
  int branches[DCC_TIMELY_RTO + 1] = {};
  for (u64 seed = 1; seed <= 400; ++seed) {
    RateTrace trace(seed);
    const dcc_timely_params params = RandomParams(trace, GetParam());
    ASSERT_TRUE(dcc_timely_params_valid(&params));
    TimelyReference reference(trace.path(), params);
    dcc_timely core;
    dcc_control control;
    dcc_timely_init(&core, &trace.path(), &params, &control);
    const double high = core.t_high_ns;
    for (int i = 0; i < 3000; ++i) {
      const dcc_ack ack = trace.Next(static_cast<double>(core.rate_q8) / 256, high);
      const dcc_timely before = core;
      const bool core_decided = dcc_timely_ack(&core, &trace.path(), &params, &ack, &control);
      const bool reference_decided = reference.Ack(ack);
      const std::string where = "seed " + std::to_string(seed) + " ack " + std::to_string(i) +
                                " branch " + std::to_string(core.last.branch) + " gradient " +
                                std::to_string(core.last.gradient_q16);
      ASSERT_EQ(core_decided, reference_decided) << where;
      // Within rounding of a gradient of 0, or of four fifths of the rate, the two may disagree.
      if (core_decided && ((std::abs(core.last.gradient_q16) <= 2 &&
                            (core.last.gradient_q16 || reference.gradient() != 0)) ||
                           (ack.flags & DCC_ACK_APP_LIMITED && ack.now_ns >= before.decided_ns &&
                            std::fabs(before.acked_bytes * 8e9 / 0.8 -
                                      reference.rate() * (ack.now_ns - before.decided_ns)) <
                                0.005 * reference.rate() * (ack.now_ns - before.decided_ns)))) {
        ++edges;
        reference.Follow(core);
      } else if (core_decided) {
        ++decisions;
        ++branches[core.last.branch];
        ASSERT_NEAR(static_cast<double>(control.pacing_bps), reference.rate(),
                    1 + 0.01 * reference.rate())
            << where;
        ASSERT_NEAR(control.cwnd_q16 / 65536.0, reference.window(), 0.01 * reference.window())
            << where;
        ASSERT_NEAR(static_cast<double>(core.due_ns - core.decided_ns), reference.interval(),
                    1 + 0.01 * reference.interval())
            << where;
      }
      reference.AdoptRounding(core);
      if (trace.OneIn(400)) {
        dcc_timely_loss(&core, &trace.path(), &params, ack.now_ns, &control);
        reference.Loss(ack.now_ns);
      }
      if (trace.OneIn(3000)) {
        dcc_timely_rto(&core, &trace.path(), &params, ack.now_ns, &control);
        reference.Rto(ack.now_ns);
      }
    }
  }
  EXPECT_GT(decisions, 10000);
  EXPECT_LT(edges, decisions / 20) << "too many decisions were excused";
  for (u32 b : {DCC_TIMELY_BELOW, DCC_TIMELY_ABOVE, DCC_TIMELY_UNUSED})
    EXPECT_GT(branches[b], 50) << "branch " << b;
  for (u32 b : {DCC_TIMELY_FALLING, DCC_TIMELY_HAI, DCC_TIMELY_RISING}) {
    if (!GetParam()) {
      EXPECT_GT(branches[b], 50) << "branch " << b;
    }
  }
  if (GetParam()) {
    EXPECT_GT(branches[DCC_TIMELY_WEIGHTED], 50);
  }
}

INSTANTIATE_TEST_SUITE_P(TimelyAndPatched, TimelyAgainstReference, ::testing::Range<u32>(0, 2));

}  // namespace

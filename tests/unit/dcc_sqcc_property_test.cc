// SPDX-License-Identifier: Apache-2.0
//
// SQCC's fixed-point core against its double-precision reference model on random traces: after
// every decision window and rate agree within 1 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_sqcc.h"
#include "sqcc_reference.h"

namespace {

using delaycc_test::RateTrace;
using delaycc_test::SqccReference;

struct Version {
  u32 paper, parts;
};

dcc_sqcc_params RandomParams(RateTrace& random, const Version& version) {
  dcc_sqcc_params p;
  dcc_sqcc_params_default(&p);
  p.paper = version.paper;
  p.parts = version.parts;
  p.n_source = static_cast<u32>(random.Below(4));
  p.n_fixed = static_cast<u32>(random.LogUniform(1, 65535));
  if (random.OneIn(3))
    p.t_low_ns = static_cast<u32>(
        std::clamp(random.path().base_rtt_ns * random.LogUniform(1.1, 10), 1e4, 1.8e9));
  if (random.OneIn(3))
    p.t_high_ns = static_cast<u32>(std::clamp(
        std::max<double>(p.t_low_ns, 2.0 * random.path().base_rtt_ns) * random.LogUniform(1.5, 50),
        2e4, 2e9));
  // A span that is not a handful of nanoseconds.
  dcc_sqcc core;
  dcc_control control;
  dcc_sqcc_init(&core, &random.path(), &p, &control);
  if (core.span_ns < 1000 && p.t_high_ns) p.t_high_ns = 0;
  if (random.OneIn(3)) p.alpha_ppm = static_cast<u32>(1 + random.Below(1000000));
  if (random.OneIn(3)) p.beta_ppm = static_cast<u32>(random.LogUniform(100, 1e6));
  if (random.OneIn(3)) p.delta_kbps = static_cast<u32>(random.LogUniform(1, 1e8));
  if (random.OneIn(3)) p.min_rate_kbps = static_cast<u32>(random.LogUniform(10, 1e6));
  if (random.OneIn(3)) p.start_kbps = static_cast<u32>(random.LogUniform(1, 8e8));
  if (random.OneIn(3)) p.seg_bytes = static_cast<u32>(random.LogUniform(8000, 1.6e7));
  return p;
}

class SqccAgainstReference : public ::testing::TestWithParam<Version> {};

TEST_P(SqccAgainstReference, WindowAndRateAgreeWithinOnePercent) {
  int decisions = 0, edges = 0;
  int branches[DCC_SQCC_RTO + 1] = {};
  for (u64 seed = 1; seed <= 150; ++seed) {
    RateTrace trace(seed);
    const dcc_sqcc_params params = RandomParams(trace, GetParam());
    ASSERT_TRUE(dcc_sqcc_params_valid(&params));
    SqccReference reference(trace.path(), params);
    dcc_sqcc core;
    dcc_control control;
    dcc_sqcc_init(&core, &trace.path(), &params, &control);
    for (int i = 0; i < 3000; ++i) {
      const dcc_ack ack = trace.Next(static_cast<double>(core.rate_q8) / 256, core.t_high_ns);
      const bool core_decided = dcc_sqcc_ack(&core, &trace.path(), &params, &ack, &control);
      const bool reference_decided = reference.Ack(ack);
      const std::string where =
          "seed " + std::to_string(seed) + " ack " + std::to_string(i) + " branch " +
          std::to_string(core.last.branch) + " rtt " + std::to_string(ack.rtt_ns) + " T_low " +
          std::to_string(core.t_low_ns) + " " + std::to_string(reference.t_low()) + " N " +
          std::to_string(core.last.flows) + " " + std::to_string(reference.flows());
      if (reference.knife_edge()) {
        ++edges;
        reference.Follow(core);
        continue;
      }
      ASSERT_EQ(core_decided, reference_decided) << where;
      if (core_decided) {
        ++decisions;
        ++branches[core.last.branch];
        ASSERT_NEAR(static_cast<double>(control.pacing_bps), reference.rate(),
                    1 + 0.01 * reference.rate())
            << where;
        ASSERT_NEAR(control.cwnd_q16 / 65536.0, reference.window(), 0.01 * reference.window())
            << where;
      }
      if (core_decided && core.decided_ns == ack.now_ns) {
        ASSERT_NEAR(core.t_low_ns, reference.t_low(), 2 + 0.01 * reference.t_low()) << where;
        ASSERT_NEAR(core.last.flows, reference.flows(), 1 + 0.01 * reference.flows()) << where;
        ASSERT_NEAR(static_cast<double>(core.due_ns - core.decided_ns), reference.interval(),
                    9 + 0.01 * reference.interval())
            << where;
      }
      reference.AdoptRounding(core);
      if (trace.OneIn(400)) {
        dcc_sqcc_loss(&core, &trace.path(), &params, ack.now_ns, &control);
        reference.Loss(ack.now_ns);
      }
      if (trace.OneIn(3000)) {
        dcc_sqcc_rto(&core, &trace.path(), &params, ack.now_ns, &control);
        reference.Rto(ack.now_ns);
      }
    }
  }
  EXPECT_GT(decisions, 10000);
  EXPECT_LT(edges, decisions / 10) << "too many decisions were excused";
  for (u32 b : {DCC_SQCC_BELOW, DCC_SQCC_WEIGHTED, DCC_SQCC_UNUSED})
    EXPECT_GT(branches[b], 50) << "branch " << b;
  if (!GetParam().paper) {
    for (u32 b : {DCC_SQCC_CUT, DCC_SQCC_FILL}) EXPECT_GT(branches[b], 50) << "branch " << b;
  } else {
    EXPECT_GT(branches[DCC_SQCC_ABOVE], 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, SqccAgainstReference,
                         ::testing::Values(Version{1, DCC_SQCC_PARTS_ERROR},
                                           Version{1, DCC_SQCC_PARTS_DELTA},
                                           Version{1, DCC_SQCC_PARTS_ALL},
                                           Version{0, DCC_SQCC_PARTS_ALL}));

}  // namespace

// SPDX-License-Identifier: Apache-2.0
//
// PrioPlus's fixed-point core against its double-precision reference model on random traces;
// included by one test for each base core.  At each step the reference begins with the core's
// windows, and the step's result agrees within 1 %; everything that is counted is the reference's
// own throughout and agrees exactly.
#ifndef DELAYCC_TESTS_UNIT_PRIOPLUS_PROPERTY_H_
#define DELAYCC_TESTS_UNIT_PRIOPLUS_PROPERTY_H_

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_prioplus.h"
#include "prioplus_reference.h"
#include "random_path.h"

namespace delaycc_test {
namespace {

dcc_prioplus_params RandomParams(Random& random) {
  dcc_prioplus_params p;
  dcc_prioplus_params_default(&p);
  const auto set = [&random](u32& field, double low, double high) {
    if (random.OneIn(4)) field = static_cast<u32>(random.LogUniform(low, high));
  };
  set(p.levels, 1, 64);
  set(p.channel_a_ns, 100, 1e7);
  set(p.channel_b_ns, 1, 1e7);
  set(p.unlimited_from, 1, 64);
  set(p.medium_from, 1, 65);
  set(p.high_from, 1, 65);
  set(p.ls_low_ppm, 1e3, 1e6);
  set(p.ls_medium_ppm, 1e3, 1e6);
  set(p.ls_high_ppm, 1e3, 1e6);
  set(p.tolerance_ns, 1, 1e7);
  set(p.max_flows, 1, 65536);
  set(p.resume_milli, 10, 1e5);
  set(p.ai_ppm, 1, 1e6);
  set(p.beta_ppm, 1, 1e6);
  set(p.max_mdf_ppm, 1, 1e6);
  p.paper = random.OneIn(3);
  p.dual_rtt = !random.OneIn(5);
  p.priority = static_cast<u32>(random.Below(70));
  p.seed = static_cast<u32>(random.Below(1ULL << 32));
  return p;
}

PrioplusReference::Discrete Discrete(const dcc_prioplus_flow& f) {
  PrioplusReference::Discrete d;
  d.countdown = f.countdown;
  d.calm = f.calm;
  d.settled = f.state == DCC_PRIOPLUS_SETTLED;
  d.consec = f.over;
  d.cuts = f.cuts;
  d.tries = f.tries;
  d.fresh = f.fresh;
  d.middle = f.middle;
  d.odd = f.odd;
  d.stopped = dcc_prioplus_probes(&f);
  d.yielded = f.state >= DCC_PRIOPLUS_YIELDED;
  d.asked = f.state == DCC_PRIOPLUS_ASKED;
  d.seen = f.state == DCC_PRIOPLUS_WAITS;
  return d;
}

// A delay of one of the kinds that PrioPlus tells apart.
double RandomDelay(Random& random, const PrioplusReference& reference, const dcc_path& path,
                   u64 kind) {
  const double base = path.base_rtt_ns, gap = reference.target() - base;
  switch (kind) {
    case 0:
      return base + (reference.idle() - base) * random.Unit();
    case 1:
      return base + gap * random.Unit();
    case 2:
    case 3:
      return reference.target() + gap * 0.02 * (random.Unit() - 0.5);
    default:
      return reference.target() + gap * random.LogUniform(0.01, 5);
  }
}

TEST(PRIOPLUS_SUITE, EachStepAgreesWithinOnePercent) {
  int branches[16] = {}, edges = 0, acks = 0;
  for (u64 seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const dcc_path path = RandomPath(random);
    const dcc_prioplus_params params = RandomParams(random);
    ASSERT_TRUE(dcc_prioplus_params_valid(&params)) << seed;
    PrioplusReference reference(path, params);
    dcc_prioplus core;
    dcc_control control;
    dcc_prioplus_init(&core, &path, &params, &control);
    ASSERT_EQ(control.probe_ns != 0, reference.d.stopped) << seed;
    ASSERT_EQ(core.target_ns, reference.target()) << seed;
    const bool extreme = random.OneIn(5);
    u64 now = 1 + random.Below(1ULL << 50), kind = 0;
    for (int i = 0; i < 1500; ++i) {
      if (random.OneIn(25)) kind = random.Below(5);
      const double delay = RandomDelay(random, reference, path, kind);
      dcc_ack ack = {};
      ack.rtt_ns = static_cast<u32>(std::clamp(delay, 0.0, 4.2e9));
      if (extreme && random.OneIn(50)) ack.rtt_ns = random.OneIn(2) ? 0 : 0xffffffff;
      now += static_cast<u64>(random.LogUniform(1, 2 * delay));
      if (extreme && random.OneIn(500)) now -= std::min(now - 1, random.Below(1ULL << 40));
      ack.now_ns = now;
      ack.send_ns = now - ack.rtt_ns;
      ack.acked_bytes = path.wire_bytes * static_cast<u32>(random.OneIn(5) ? random.Below(60) : 1);
      ack.inflight_bytes = static_cast<u32>(
          std::min(4e9, reference.cwnd * path.wire_bytes * (random.OneIn(3) ? random.Unit() : 1)));
      if (random.OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
      if (random.OneIn(50)) ack.flags |= DCC_ACK_DELAYED;
      if (random.OneIn(20)) ack.flags |= DCC_ACK_APP_LIMITED;
      if (reference.d.stopped ? !random.OneIn(5) : random.OneIn(50)) {
        ack.flags = DCC_ACK_PROBE;
        if (random.OneIn(5)) ack.flags |= DCC_ACK_PROBE_DATA;
      }
      const std::string where = "seed " + std::to_string(seed) + " ack " + std::to_string(i);
      reference.Follow(core.flow);
      reference.knife_edge = false;
      const u64 probe_before = control.probe_ns;
      const bool decided = dcc_prioplus_ack(&core, &path, &params, &ack, &control);
      ++acks;
      if (ack.flags & DCC_ACK_PROBE)
        ASSERT_EQ(decided, reference.NewProbeAck(ack)) << where;
      else
        ASSERT_EQ(decided, reference.NewAck(ack)) << where;
      const std::string after = where + " branch " + std::to_string(core.last.branch);
      if (reference.knife_edge && decided) {
        // A comparison of rounded values: begin anew.
        ++edges;
        dcc_prioplus_restart(&core, &path, &params, now, &control);
        reference.Start();
        continue;
      }
      if (decided) {
        ++branches[core.last.branch];
        ASSERT_EQ(control.probe_ns != 0, reference.probe_least != 0) << after;
        ASSERT_GE(static_cast<double>(control.probe_ns), reference.probe_least) << after;
        ASSERT_LE(static_cast<double>(control.probe_ns), reference.probe_below) << after;
      } else {
        ASSERT_EQ(control.probe_ns, probe_before) << after;
      }
      if (random.OneIn(300)) {
        // A decrease below the core's resolution is one in the reference only.
        reference.last_decrease = core.flow.decreased_ns;
        dcc_prioplus_loss(&core, &path, &params, now, &control);
        reference.Loss(now);
      }
      if (random.OneIn(1000)) {
        dcc_prioplus_restart(&core, &path, &params, now, &control);
        ASSERT_EQ(reference.Start(), control.probe_ns != 0) << after;
      }
      ASSERT_TRUE(Discrete(core.flow) == reference.d) << after;
      // W_AI has 16 fraction bits in Swift, for each packet.
      const double few = 1000 + 256.0 * ack.acked_bytes / path.wire_bytes;
      const auto near = [few](u64 q24, double packets) {
        return std::fabs(static_cast<double>(q24) - packets * 16777216.0) <=
               few + 0.01 * packets * 16777216.0;
      };
      ASSERT_TRUE(near(core.flow.cwnd_q24, reference.cwnd))
          << after << " " << core.flow.cwnd_q24 / 16777216.0 << " " << reference.cwnd;
      ASSERT_TRUE(near(core.flow.hold_q24, reference.hold)) << after;
      ASSERT_TRUE(near(core.flow.step_q24, reference.adaptive))
          << after << " " << core.flow.step_q24 / 16777216.0 << " " << reference.adaptive;
      ASSERT_NEAR(core.flow.flows_q8, reference.flows * 256, 1.5 + 0.01 * reference.flows * 256)
          << after;
      ASSERT_EQ(dcc_prioplus_probes(&core.flow), control.probe_ns != 0) << after;
      ASSERT_EQ(control.cwnd_q16, dcc_max_u64(core.flow.cwnd_q24 >> 8, 1)) << after;
    }
  }
  for (u32 branch : {DCC_PRIOPLUS_CHANNEL, DCC_PRIOPLUS_LINEAR, DCC_PRIOPLUS_ADAPTIVE,
                     DCC_PRIOPLUS_CUT, DCC_PRIOPLUS_YIELD, DCC_PRIOPLUS_STOP, DCC_PRIOPLUS_WAIT,
                     DCC_PRIOPLUS_RESUME, DCC_PRIOPLUS_RESUME_LOW})
    EXPECT_GT(branches[branch], 300) << "branch " << branch << " was hardly tried";
  EXPECT_LT(edges, acks / 20) << "too many acknowledgments were excused";
}

}  // namespace
}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_PRIOPLUS_PROPERTY_H_

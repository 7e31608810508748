// SPDX-License-Identifier: Apache-2.0
//
// The fixed-point core against its double-precision reference model on random traces.  The
// reference runs free: it takes over nothing of the core's state, but where a comparison was within
// rounding. So errors would add up; still, after every decision window and rate agree within 0.1 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dcc_oscar.h"
#include "oscar_reference.h"
#include "random_path.h"

namespace {

using delaycc_test::OscarReference;
using delaycc_test::Random;

// What the reference and the core are both shown.
class Trace {
 public:
  Trace(u64 seed, bool paper) : random_(seed) {
    path_.line_rate_bps = static_cast<u64>(random_.LogUniform(1e6, 8e11));
    path_.base_rtt_ns = static_cast<u32>(random_.LogUniform(1e3, 1e9));
    path_.wire_bytes = static_cast<u32>(random_.LogUniform(64, 65535));
    if (random_.OneIn(2)) {  // a data center
      path_.line_rate_bps = 100000000000;
      path_.base_rtt_ns = 12000;
      path_.wire_bytes = 1500;
    }
    dcc_oscar_params_default(&params_);
    params_.paper = paper;
    if (random_.OneIn(3))
      params_.target_delay_ns =
          static_cast<u32>(std::max(2000.0, path_.base_rtt_ns * random_.LogUniform(1.1, 2)));
    if (random_.OneIn(3))
      params_.target_queue_ns =
          static_cast<u32>(std::clamp(path_.base_rtt_ns * random_.LogUniform(0.1, 4), 500.0, 1e9));
    if (random_.OneIn(3)) params_.tau_ns = static_cast<u32>(random_.LogUniform(500, 1e9));
    if (random_.OneIn(3)) params_.u_ai_ppm = static_cast<u32>(random_.Below(100001));
    if (seed % 4 == 0) path_.noise_ns = static_cast<u32>(seed * 7919 % path_.base_rtt_ns);
    if (seed % 3 == 0) params_.flow_scaling_ppm = static_cast<u32>(seed * 104729 % 750001);
    if (random_.OneIn(3)) params_.u_hai_ppm = static_cast<u32>(1 + random_.Below(1000000));
    now_ = 1 + random_.Below(1ULL << 50);
    delay_ = path_.base_rtt_ns;
    extreme_ = random_.OneIn(5);
  }

  const dcc_path& path() const { return path_; }
  const dcc_oscar_params& params() const { return params_; }
  u64 now() const { return now_; }

  // The next acknowledgment of a flow that obeys the ratio u.
  dcc_ack Next(double u) {
    const double packet_ns =
        path_.wire_bytes * 8e9 / static_cast<double>(path_.line_rate_bps) / std::max(u, 1e-4);
    double step = packet_ns * (0.5 + random_.Unit());
    if (random_.OneIn(200)) step += path_.base_rtt_ns * random_.LogUniform(0.1, 10);  // a pause
    send_step_ = static_cast<u64>(std::min(step, 2e9)) + (random_.OneIn(2) ? 1 : 0);
    now_ += send_step_;

    if (random_.OneIn(300)) trend_ = (random_.Unit() * 3 - 1.5);
    delay_ += trend_ * static_cast<double>(send_step_);
    delay_ = std::clamp(delay_, static_cast<double>(path_.base_rtt_ns),
                        std::min(4e9, path_.base_rtt_ns * 20.0));
    const double noise = path_.base_rtt_ns * 0.05 * random_.Unit();
    u32 rtt = static_cast<u32>(delay_ + noise);
    if (extreme_ && random_.OneIn(50)) rtt = random_.OneIn(2) ? 0 : 0xffffffff;

    dcc_ack ack = {};
    ack.rtt_ns = rtt;
    ack.now_ns = now_ + 5000000000ULL;  // later than the longest RTT
    ack.send_ns = ack.now_ns - rtt;
    // Sends in order: an RTT that shrinks faster than time passes would reorder them.
    if (ack.send_ns < last_send_ && !random_.OneIn(20)) ack.send_ns = last_send_;
    if (random_.OneIn(1000)) ack.send_ns -= std::min<u64>(ack.send_ns, path_.base_rtt_ns / 3);
    last_send_ = std::max(last_send_, ack.send_ns);
    ack.acked_bytes =
        path_.wire_bytes * static_cast<u32>(1 + random_.Below(random_.OneIn(10) ? 8 : 1));
    ack.inflight_bytes =
        static_cast<u32>(std::min(4e9, u * rtt * static_cast<double>(path_.line_rate_bps) / 8e9 +
                                           path_.wire_bytes * (1 + random_.Unit())));
    if (random_.OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
    if (random_.OneIn(300)) app_limited_ = !app_limited_;
    if (app_limited_) ack.flags |= DCC_ACK_APP_LIMITED;
    if (extreme_ && random_.OneIn(500)) JumpBack(&ack);
    return ack;
  }

  bool Loss() { return random_.OneIn(400); }
  bool Rto() { return random_.OneIn(3000); }

 private:
  void JumpBack(dcc_ack* ack) {
    const u64 by = std::min<u64>(now_ - 1, static_cast<u64>(random_.LogUniform(1, 1e12)));
    now_ -= by;
    last_send_ = 0;
    ack->now_ns -= by;
    ack->send_ns = ack->now_ns - ack->rtt_ns;
  }

  Random random_;
  dcc_path path_ = {};
  dcc_oscar_params params_ = {};
  u64 now_ = 0, send_step_ = 0, last_send_ = 0;
  double delay_ = 0, trend_ = 0.5;
  bool extreme_ = false, app_limited_ = false;
};

class OscarAgainstReference : public ::testing::TestWithParam<bool> {};

TEST_P(OscarAgainstReference, StaysWithinATenthOfAPercentThoughNothingIsSynchronised) {
  int decisions = 0, edges = 0, undecided = 0, free = 0, longest = 0;
  for (u64 seed = 1; seed <= 400; ++seed) {
    Trace trace(seed, GetParam());
    free = 0;
    OscarReference reference(trace.path(), trace.params());
    dcc_oscar core;
    dcc_control control;
    dcc_oscar_init(&core, &trace.path(), &trace.params(), &control);
    for (int i = 0; i < 3000; ++i) {
      const dcc_ack ack = trace.Next(core.u_q24 / 16777216.0);
      const bool core_decided =
          dcc_oscar_ack(&core, &trace.path(), &trace.params(), &ack, &control);
      const bool reference_decided = reference.Ack(ack);
      const std::string where = std::string(GetParam() ? "oscar_paper" : "oscar") + " seed " +
                                std::to_string(seed) + " ack " + std::to_string(i) + " branch " +
                                std::to_string(core.last.branch);
      if (reference.undecided()) {
        ++undecided;
        break;  // the next seed
      }
      if (reference.knife_edge()) {
        ++edges;
        free = 0;
        reference.Follow(core);
      } else {
        ASSERT_EQ(core_decided, reference_decided) << where;
      }
      if (core_decided) {
        ++decisions;
        longest = std::max(longest, ++free);
        // The core holds windows in 1/65536 packets, one unit at least.
        ASSERT_NEAR(static_cast<double>(control.cwnd_q16), reference.window() * 65536,
                    std::max(2.0, 0.001 * reference.window() * 65536))
            << where;
        ASSERT_NEAR(static_cast<double>(control.pacing_bps), reference.rate(),
                    0.001 * reference.rate())
            << where;
      }
      ASSERT_NEAR(static_cast<double>(core.batch.gap_ns), reference.gap(), 0.01 * reference.gap())
          << where;
      ASSERT_NEAR(static_cast<double>(core.probe.to_ns), reference.probe_to(),
                  1 + 0.01 * (reference.probe_to() - static_cast<double>(core.probe.from_ns)))
          << where;
      if (trace.Loss()) {
        dcc_oscar_loss(&core, &trace.path(), &trace.params(), ack.now_ns, &control);
        reference.Loss(ack.now_ns);
      }
      if (trace.Rto()) {
        dcc_oscar_rto(&core, &trace.path(), &trace.params(), ack.now_ns, &control);
        reference.Rto(ack.now_ns);
      }
    }
  }
  EXPECT_GT(decisions, 10000);
  EXPECT_LT(edges, decisions / 200) << "too many decisions were excused";
  EXPECT_GT(longest, 900) << "decisions in a row of the reference alone";
  EXPECT_LT(undecided, 40) << "too many traces were cut short";
}

INSTANTIATE_TEST_SUITE_P(DefaultAndPaper, OscarAgainstReference, ::testing::Bool());

}  // namespace

// SPDX-License-Identifier: Apache-2.0
//
// The fixed-point core against its double-precision reference model on random traces: after every
// acknowledgment window and rate agree within 1 %.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ccc_reference.h"
#include "dcc_ccc.h"
#include "random_path.h"

namespace {

using delaycc_test::CccReference;
using delaycc_test::Random;

// What the reference and the core are both shown.
class Trace {
 public:
  Trace(u64 seed, bool paper) : random_(seed) {
    path_.line_rate_bps = static_cast<u64>(random_.LogUniform(1e6, 8e11));
    path_.base_rtt_ns = static_cast<u32>(random_.LogUniform(1e3, 1e9));
    path_.wire_bytes = static_cast<u32>(random_.LogUniform(64, 65535));
    if (random_.OneIn(2)) path_ = {25000000000, 20000, 1514, 0, 0};  // a data center
    path_.noise_ns = delaycc_test::RandomNoise(seed, path_.base_rtt_ns);
    if (seed % 4 == 0) path_.delay_floor_ns = path_.base_rtt_ns / 4;
    dcc_ccc_params_default(&params_);
    params_.paper = paper;
    if (random_.OneIn(3)) params_.q_b_ns = static_cast<u32>(random_.LogUniform(500, 250000000));
    if (random_.OneIn(3)) params_.q_b_ns = 0;
    if (random_.OneIn(3)) params_.gamma_ppm = static_cast<u32>(random_.Below(990001));
    if (random_.OneIn(3)) params_.r_min_kbps = static_cast<u32>(random_.LogUniform(1, 8e8));
    now_ = 1 + random_.Below(1ULL << 50);
    delay_ = path_.base_rtt_ns;
    extreme_ = random_.OneIn(5);
  }

  const dcc_path& path() const { return path_; }
  const dcc_ccc_params& params() const { return params_; }

  // The next acknowledgment of a flow that sends at `share` of the line rate.
  dcc_ack Next(double share) {
    const double packet_ns = path_.wire_bytes * 8e9 / static_cast<double>(path_.line_rate_bps);
    const double q_b =
        std::max(params_.q_b_ns ? params_.q_b_ns : path_.base_rtt_ns / 4.0, 2 * packet_ns);
    double step = packet_ns / share * (0.5 + random_.Unit());
    if (random_.OneIn(200)) step += path_.base_rtt_ns * random_.LogUniform(0.1, 10);  // a pause
    step = std::min(step, 6e9);
    now_ += static_cast<u64>(step) + (random_.OneIn(100) ? 0 : 1);

    if (random_.OneIn(30)) trend_ = random_.Unit() * 3 - 1.5;
    if (random_.OneIn(50)) trend_ = 0;
    delay_ += trend_ * step;
    delay_ = std::clamp(delay_, static_cast<double>(path_.base_rtt_ns),
                        std::min(4e9, path_.base_rtt_ns + q_b * 10));
    dcc_ack ack = {};
    ack.rtt_ns = static_cast<u32>(delay_ + (noisy_ ? q_b * 0.05 * random_.Unit() : 0));
    if (random_.OneIn(100)) noisy_ = !noisy_;
    if (extreme_ && random_.OneIn(50)) ack.rtt_ns = random_.OneIn(2) ? 0 : 0xffffffff;
    if (extreme_ && random_.OneIn(500))
      now_ -= std::min<u64>(now_ - 1, static_cast<u64>(random_.LogUniform(1, 1e12)));
    ack.now_ns = now_;
    ack.send_ns = now_ - std::min<u64>(now_, ack.rtt_ns);
    ack.acked_bytes =
        path_.wire_bytes * static_cast<u32>(1 + random_.Below(random_.OneIn(10) ? 8 : 1));
    if (random_.OneIn(30)) ack.acked_bytes /= 2;
    if (random_.OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
    if (random_.OneIn(300)) ack.flags |= DCC_ACK_DELAYED;
    return ack;
  }

  bool Loss() { return random_.OneIn(200); }
  bool Rto() { return random_.OneIn(1000); }
  bool Restart() { return random_.OneIn(1000); }
  u64 now() const { return now_; }

 private:
  Random random_;
  dcc_path path_ = {};
  dcc_ccc_params params_ = {};
  u64 now_ = 0;
  double delay_ = 0, trend_ = 0.5;
  bool extreme_ = false, noisy_ = false;
};

class CccAgainstReference : public ::testing::TestWithParam<bool> {};

TEST_P(CccAgainstReference, WindowAndRateAgreeWithinOnePercent) {
  int decisions = 0, edges = 0;
  std::array<int, DCC_CCC_RTO + 1> regions = {};
  for (u64 seed = 1; seed <= 300; ++seed) {
    Trace trace(seed, GetParam());
    CccReference reference(trace.path(), trace.params());
    dcc_ccc core;
    dcc_control control;
    dcc_ccc_init(&core, &trace.path(), &trace.params(), &control);
    for (int i = 0; i < 2000; ++i) {
      const dcc_ack ack = trace.Next(core.flow.rate_q30 / 1073741824.0);
      const std::string where = std::string(GetParam() ? "paper" : "default") + " seed " +
                                std::to_string(seed) + " ack " + std::to_string(i);
      const bool decided = dcc_ccc_ack(&core, &trace.path(), &trace.params(), &ack, &control);
      ASSERT_EQ(decided, reference.Ack(ack)) << where;
      if (decided) {
        ++decisions;
        ++regions[core.flow.region];
        if (reference.knife_edge()) {
          ++edges;
        } else {
          ASSERT_EQ(core.flow.region, reference.region()) << where;
          ASSERT_EQ(CccReference::MemoryOf(core), reference.memory()) << where;
          ASSERT_NEAR(core.flow.gradient_q16 / 65536.0, reference.gradient(),
                      2e-4 + 1e-3 * std::fabs(reference.gradient()))
              << where;
          ASSERT_NEAR(core.flow.basis_q30 / 1073741824.0, reference.basis(),
                      1e-8 + 0.01 * reference.basis())
              << where;
          // A few units of the share, or of 1/65536 packets, are always allowed.
          ASSERT_NEAR(static_cast<double>(control.pacing_bps), reference.rate_bps(),
                      0.01 * reference.rate_bps() + trace.path().line_rate_bps * 0x1p-29)
              << where;
          // Windows below a packet depend on the rate being the least one exactly.
          const bool at_least_rate = core.flow.rate_q30 <= core.scale.min_q30;
          const double window = reference.window() * 65536;
          if (at_least_rate == reference.at_least_rate()) {
            ASSERT_NEAR(static_cast<double>(control.cwnd_q16), window, 8 + 0.01 * window) << where;
          }
        }
      }
      reference.Adopt(core);
      if (trace.Loss()) {
        dcc_ccc_loss(&core, &trace.path(), &trace.params(), trace.now(), &control);
      }
      if (trace.Rto()) {
        dcc_ccc_rto(&core, &trace.path(), &trace.params(), trace.now(), &control);
        reference.Rto();
        ASSERT_NEAR(static_cast<double>(control.pacing_bps), reference.rate_bps(),
                    1000 + 0.01 * reference.rate_bps());
      }
      if (trace.Restart()) {
        dcc_ccc_restart(&core, &trace.path(), &trace.params(), trace.now(), &control);
        reference.Restart();
      }
    }
  }
  EXPECT_GT(decisions, 400000);
  EXPECT_LT(edges, decisions / 200) << "too many decisions were excused";
  for (u32 region = DCC_CCC_AI; region <= DCC_CCC_H2D; ++region)
    EXPECT_GT(regions[region], 1000) << "region " << region << " was hardly tried";
}

INSTANTIATE_TEST_SUITE_P(DefaultAndPaper, CccAgainstReference, ::testing::Bool());

}  // namespace

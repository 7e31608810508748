// SPDX-License-Identifier: Apache-2.0
//
// Swift in double precision, written from the paper's formulas (Algorithm 1, section 3.5) and the
// list of differences in dcc_swift.h.
#ifndef DELAYCC_TESTS_UNIT_SWIFT_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_SWIFT_REFERENCE_H_

#include <algorithm>
#include <cmath>

#include "dcc_swift.h"

namespace delaycc_test {

class SwiftReference {
 public:
  SwiftReference(const dcc_path& path, const dcc_swift_params& p) : p_(p) {
    const double mu = static_cast<double>(path.line_rate_bps) / 8e9;  // bytes per nanosecond
    wire_ = path.wire_bytes;
    base_ = path.base_rtt_ns;
    double target =
        p.base_target_ns ? p.base_target_ns : base_ + std::floor(base_ / 4) + path.noise_ns;
    target = std::clamp(target, base_ + std::floor(base_ / 16), 2e9);
    fixed_ = target + p.hops * static_cast<double>(p.hop_scale_ns);
    range_ = p.fs_range_ns ? p.fs_range_ns : std::min(2 * base_, 1e9);
    if (!p.flow_scaling) range_ = 0;
    fs_min_ = p.fs_min_cwnd_milli / 1e3;
    fs_max_ = p.fs_max_cwnd_milli / 1e3;
    ai_ = p.ai_milli / 1e3;
    beta_ = p.beta_ppm / 1e6;
    max_mdf_ = p.max_mdf_ppm / 1e6;
    max_ = std::clamp(2 * (fixed_ + range_) * mu / wire_, 2.0, 2097152.0);
    initial_ = p.initial_cwnd_packets ? p.initial_cwnd_packets : base_ * mu / wire_;
    Restart();
  }

  void Restart() {
    cwnd_ = std::clamp(initial_, kMin, max_);
    rtt_ = base_;
    last_decrease_ = 0;
    retransmit_count_ = 0;
    round_end_ = 0;
    delays_ = samples_ = 0;
    least_ = 4294967295.0;
    idle_rounds_ = 0;
  }

  double cwnd() const { return cwnd_; }
  // Did the last acknowledgment hang on a comparison of values that the core holds rounded?
  bool knife_edge() const { return knife_edge_; }
  // Take the core's window and clock over, so that one such comparison is not counted for ever.
  void Follow(const dcc_swift& core) {
    cwnd_ = static_cast<double>(core.cwnd_q24) / 16777216.0;
    last_decrease_ = core.decreased_ns;
    idle_rounds_ = static_cast<int>(core.idle_rounds);
  }
  bool hyperactive() const {
    return p_.hai_rounds && idle_rounds_ >= static_cast<int>(p_.hai_rounds);
  }

  double TargetAt(double cwnd) const {
    if (fs_min_ >= fs_max_) return cwnd >= fs_max_ ? fixed_ : fixed_ + range_;
    const double alpha = range_ / (1 / std::sqrt(fs_min_) - 1 / std::sqrt(fs_max_));
    const double beta = -alpha / std::sqrt(fs_max_);
    return fixed_ + std::max(0.0, std::min(alpha / std::sqrt(cwnd) + beta, range_));
  }

  bool Ack(const dcc_ack& ack) {
    knife_edge_ = false;
    retransmit_count_ = 0;
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    const double before = cwnd_;
    const double delay = ack.rtt_ns;
    least_ = std::min(least_, delay);
    double target = TargetAt(cwnd_);
    // Difference 11.
    const double idle = std::min(least_, base_ + std::floor(base_ / 4));
    if (p_.hai_rounds && !p_.base_target_ns)
      target = std::max(target, idle + std::floor(idle / 16));
    rtt_ = delay;
    // The windows may differ by 1 %, and so may their targets.
    const double blur = TargetAt(cwnd_ * 0.99) - TargetAt(cwnd_ * 1.01);
    knife_edge_ = std::fabs(delay - target) <= 1 + 1e-6 * target + blur;
    NoteRound(ack, target, blur);
    if (delay < target) {
      if (!(ack.flags & DCC_ACK_APP_LIMITED) && ack.inflight_bytes / wire_ >= cwnd_ / 2) {
        const double acked = std::min(ack.acked_bytes / wire_, 2048.0);
        cwnd_ += cwnd_ >= 1 ? Increase() / cwnd_ * acked : ai_ * acked;
      } else {
        idle_rounds_ = 0;
      }
    } else if (CanDecrease(ack.now_ns)) {
      cwnd_ *= std::max(1 - beta_ * (delay - target) / delay, 1 - max_mdf_);
    }
    // A decrease that the core's digits may not hold is none there.
    if (cwnd_ < before && before - cwnd_ < 2e-7 * before) knife_edge_ = true;
    if (std::fabs(ack.inflight_bytes / wire_ - before / 2) < 0.01 * before) knife_edge_ = true;
    // The window where the two ways to increase meet.
    if (std::fabs(before - 1) < 1e-5) knife_edge_ = true;
    Bound(before, ack.now_ns);
    return true;
  }

  void Loss(u64 now) {
    retransmit_count_ = 0;
    Cut(now);
  }

  void Rto(u64 now) {
    ++retransmit_count_;
    if (retransmit_count_ >= 5) {
      const double before = cwnd_;
      cwnd_ = kMin;
      Bound(before, now);
    } else {
      Cut(now);
    }
  }

 private:
  static constexpr double kMin = 1.0 / 256;

  // Difference 10.
  void NoteRound(const dcc_ack& ack, double target, double blur) {
    if (ack.send_ns >= round_end_ || round_end_ > ack.now_ns) {
      const double idle = std::max(base_, least_), mean = delays_ / std::max(samples_, 1.0);
      const double bound = idle + std::max(0.0, target - idle) / 4;
      // The core's mean and bound are whole nanoseconds, and the windows may differ by 1 %.
      if (samples_ > 0 && std::fabs(mean - bound) <= 2 + 1e-6 * target + blur) knife_edge_ = true;
      if (samples_ > 0 && mean <= bound)
        idle_rounds_ = std::min(idle_rounds_ + 1, 1016);
      else
        idle_rounds_ = 0;
      round_end_ = ack.now_ns;
      delays_ = samples_ = 0;
    }
    delays_ += ack.rtt_ns;
    ++samples_;
  }

  double Increase() const {
    if (!hyperactive()) return ai_;
    const int doublings = std::min(idle_rounds_ + 1 - static_cast<int>(p_.hai_rounds), 16);
    return std::max(ai_, std::min({ai_ * std::pow(2, doublings), cwnd_ / 8, 1000.0}));
  }

  bool CanDecrease(u64 now) const {
    return last_decrease_ == 0 || static_cast<double>(now - last_decrease_) >= rtt_;
  }

  void Cut(u64 now) {
    if (!CanDecrease(now)) return;
    const double before = cwnd_;
    cwnd_ *= 1 - max_mdf_;
    Bound(before, now);
  }

  void Bound(double before, u64 now) {
    cwnd_ = std::clamp(cwnd_, kMin, max_);
    if (cwnd_ < before) last_decrease_ = std::max<u64>(now, 1);
  }

  dcc_swift_params p_;
  double wire_, base_, fixed_, range_, fs_min_, fs_max_, ai_, beta_, max_mdf_, max_, initial_;
  double cwnd_ = 1, rtt_ = 0;
  u64 last_decrease_ = 0;
  int retransmit_count_ = 0, idle_rounds_ = 0;
  u64 round_end_ = 0;
  double delays_ = 0, samples_ = 0, least_ = 4294967295.0;
  bool knife_edge_ = false;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_SWIFT_REFERENCE_H_

// SPDX-License-Identifier: Apache-2.0
//
// TIMELY and patched TIMELY in double precision, written from the SQCC paper's Algorithms 1 and 2
// and the list of differences in dcc_timely.h.
#ifndef DELAYCC_TESTS_UNIT_TIMELY_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_TIMELY_REFERENCE_H_

#include "dcc_timely.h"
#include "rate_reference.h"

namespace delaycc_test {

class TimelyReference {
 public:
  TimelyReference(const dcc_path& path, const dcc_timely_params& p)
      : patched_(p.patched != 0),
        line_(static_cast<double>(path.line_rate_bps)),
        base_(path.base_rtt_ns),
        wire_(path.wire_bytes),
        alpha_(p.alpha_ppm / 1e6),
        beta_((p.beta_ppm  ? p.beta_ppm
               : p.patched ? 8000
                           : 800000) /
              1e6),
        low_(Low(path, p)),
        high_(High(path, p)),
        ref_(p.rtt_ref_ns ? p.rtt_ref_ns : low_),
        delta_(p.delta_kbps * 1e3),
        floor_(std::min(p.min_rate_kbps * 1e3, line_)),
        seg_bits_(p.seg_bytes * 8.0),
        hai_events_(p.hai_events) {
    SetRate(p.start_kbps ? p.start_kbps * 1e3 : p.patched ? line_ / 8 : line_);
    rtt_ = base_;
  }

  double rate() const { return rate_; }
  double gradient() const { return gradient_now_; }
  double window() const {
    return WindowReference(rate_, std::max(base_, std::min(rtt_, high_)), wire_);
  }
  // The core's time of the next decision differs by its rounding; with one clock both decide on
  // the same acknowledgments.
  void AdoptRounding(const dcc_timely& core) { due_ = core.due_ns; }
  // After a comparison that rounding decides.
  void Follow(const dcc_timely& core) {
    rate_ = static_cast<double>(core.rate_q8) / 256;
    falling_ = core.falling;
  }
  u64 due() const { return due_; }
  double interval() const { return std::max(seg_bits_ / rate_ * 1e9, base_); }

  bool Ack(const dcc_ack& ack) {
    acked_ += ack.acked_bytes;
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    const bool clock_went_back = decided_ && ack.now_ns < *decided_;
    if (decided_ && ack.now_ns < due_ && !clock_went_back) return false;
    bool held = false;
    if ((ack.flags & DCC_ACK_APP_LIMITED) && decided_ && !clock_went_back)
      held = acked_ * 8 < 0.8 * rate_ * (static_cast<double>(ack.now_ns - *decided_) / 1e9);
    else if (clock_went_back)
      held = (ack.flags & DCC_ACK_APP_LIMITED) != 0;  // nobody knows how long it was
    rtt_ = ack.rtt_ns;
    gradient_now_ = gradient_.Add(rtt_, alpha_, base_);
    falling_ = gradient_now_ <= 0 ? falling_ + 1 : 0;
    const double next = Law(gradient_now_);
    if (!held || next < rate_) SetRate(next);
    acked_ = 0;
    decided_ = ack.now_ns;
    due_ = ack.now_ns + static_cast<u64>(interval());
    return true;
  }

  void Loss(u64 now) {
    if (loss_ && now - *loss_ < std::max(rtt_, base_)) return;
    SetRate(rate_ * (rtt_ < low_ ? 7.0 / 8 : 0.5));
    loss_ = now;
  }

  void Rto(u64 now) {
    SetRate(std::min(rate_ / 2, wire_ * 8e9 / std::max(rtt_, base_)));
    loss_ = now;
  }

 private:
  static double Room(const dcc_path& path) {
    return std::max<double>(path.base_rtt_ns / 4, path.delay_floor_ns);
  }
  static bool IsTooLow(const dcc_path& path, const dcc_timely_params& p) {
    return p.t_low_ns <= 1.0 * path.base_rtt_ns + path.delay_floor_ns;
  }
  static double Low(const dcc_path& path, const dcc_timely_params& p) {
    return IsTooLow(path, p) ? path.base_rtt_ns + Room(path) : p.t_low_ns;
  }
  static double High(const dcc_path& path, const dcc_timely_params& p) {
    const double low = Low(path, p);
    const double least =
        IsTooLow(path, p) ? low + std::max<double>(path.base_rtt_ns, 2 * Room(path)) : low;
    return std::min(std::max<double>(least, p.t_high_ns), 2e9);
  }

  double Law(double gradient) const {
    const auto shrink = [this](double fraction) { return rate_ * (1 - std::min(fraction, 0.5)); };
    if (rtt_ < low_) return rate_ + delta_;
    if (rtt_ > high_) return shrink(beta_ * (1 - high_ / rtt_));
    if (patched_) {
      const double w = WeightReference(gradient);
      const double fraction = beta_ * ((rtt_ - ref_) / ref_) * w;
      return delta_ * (1 - w) + rate_ * (1 - std::clamp(fraction, -0.5, 0.5));
    }
    if (gradient > 0) return shrink(beta_ * gradient);
    return rate_ + delta_ * (hai_events_ && falling_ >= hai_events_ ? 5 : 1);
  }

  void SetRate(double rate) { rate_ = std::clamp(rate, floor_, line_); }

  bool patched_;
  double line_, base_, wire_, alpha_, beta_, low_, high_, ref_, delta_, floor_, seg_bits_;
  u32 hai_events_;
  double rate_ = 0, rtt_ = 0, acked_ = 0, gradient_now_ = 0;
  GradientReference gradient_;
  u32 falling_ = 0;
  u64 due_ = 0;
  std::optional<u64> decided_, loss_;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_TIMELY_REFERENCE_H_

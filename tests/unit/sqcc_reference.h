// SPDX-License-Identifier: Apache-2.0
//
// SQCC in double precision, written from the paper's Algorithm 3 and equations 16 and 25 and the
// rules listed in dcc_sqcc.h.
#ifndef DELAYCC_TESTS_UNIT_SQCC_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_SQCC_REFERENCE_H_

#include "dcc_sqcc.h"
#include "rate_reference.h"

namespace delaycc_test {

class SqccReference {
 public:
  SqccReference(const dcc_path& path, const dcc_sqcc_params& p)
      : p_(p),
        line_(static_cast<double>(path.line_rate_bps)),
        base_(path.base_rtt_ns),
        wire_(path.wire_bytes),
        alpha_(p.alpha_ppm / 1e6),
        smooth_(!p.paper),
        full_(p.parts == DCC_SQCC_PARTS_ALL) {
    // In whole nanoseconds, as the core has them.
    seg_ = std::max(1.0, std::floor(p.seg_bytes * 8e9 / line_));
    const u32 noise = smooth_ ? path.noise_ns : 0;
    noise_ = noise;
    const double wide = std::max(seg_, std::floor(std::max(path.delay_floor_ns, noise) / 2.0));
    low0_ = p.t_low_ns ? p.t_low_ns : std::clamp(base_ + std::floor(0.9 * wide), 1e3, 2e9);
    high_ = std::clamp(p.t_high_ns > low0_ ? p.t_high_ns : low0_ + 9 * wide, low0_ + 9, 2e9 + 9);
    span_ = std::floor((high_ - low0_) / 9);
    lone_ = low0_ + std::floor(0.75 * span_);
    decade_ = std::floor(span_ * 5 / 12) + 1;
    if (path.delay_floor_ns || noise) span_ = std::min(span_, seg_);
    const double share = smooth_ ? 4 : 1;
    beta_ = p.beta_ppm / 1e6 / share;
    delta0_ = (p.delta_kbps ? p.delta_kbps * 1e3 : line_ / 1000) / share;
    floor_ = std::min(p.min_rate_kbps * 1e3, line_);
    SetRate(p.start_kbps ? p.start_kbps * 1e3 : line_ / 8);
    mean_ = lone_ + decade_;
    rtt_ = base_;
    SetFlows(0);
  }

  double rate() const { return rate_; }
  double window() const {
    const double most = smooth_ ? 2 * low0_ : high_;
    return WindowReference(rate_, std::max(base_, std::min(rtt_, most)), wire_);
  }
  double t_low() const { return low_; }
  double delta() const { return delta_; }
  double flows() const { return flows_; }
  double interval() const { return interval_; }

  // Something that rounding decides: a floor of lg N, a comparison of two rates.
  bool knife_edge() const { return knife_edge_; }
  void Follow(const dcc_sqcc& core) {
    rate_ = static_cast<double>(core.rate_q8) / 256;
    if (core.filled_ns) filled_ = core.filled_ns;
    if (core.cut_ns) cut_ = core.cut_ns;
    fills_ = core.fills;
    empty_ = core.empty_ns;
    empty_rtt_ = core.empty_rtt_ns;
    AdoptRounding(core);
  }
  // What the core keeps in whole units and decides by.
  void AdoptRounding(const dcc_sqcc& core) {
    due_ = core.due_ns;
    mean_ = static_cast<double>(core.mean_q8) / 256;
    reported_lg_ = core.reported_lg_q16 / 65536.0;
    held_ = core.held_lg_q16 / 65536.0;
    doubt_ = static_cast<double>(core.doubt_ns);
    doubted_ = core.doubted != 0;
    low_ = core.t_low_ns;
    share_ = static_cast<double>(core.share_q8) / 256;
  }

  bool Ack(const dcc_ack& ack) {
    knife_edge_ = false;
    acked_ += ack.acked_bytes;
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    Learn(ack);
    const double before = rtt_;
    rtt_ = ack.rtt_ns;
    bool decided = ToldStart(ack) || Cut(ack, before) || Fill(ack, before);
    const bool back = decided_ && ack.now_ns < *decided_;
    if (!decided_ || ack.now_ns >= due_ || back) {
      Decide(ack, back);
      decided = true;
    }
    return decided;
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
  double EstimatedLg() const { return std::clamp((mean_ - lone_) / decade_, 0.0, 3.25); }

  void Learn(const dcc_ack& ack) {
    const double dt = seen_ && ack.now_ns > *seen_ ? static_cast<double>(ack.now_ns - *seen_) : 0;
    const auto mean = [dt](double from, double to, double tau) {
      return from + (to - from) * (dt / (dt + tau));
    };
    mean_ = mean(mean_, std::clamp(rtt_of(ack), std::min(base_, high_), high_), 80 * span_);
    if (ack.flows) {
      const double lg = std::min(4.0, std::log10(ack.flows));
      reported_lg_ = reported_ ? mean(reported_lg_, lg, 40 * span_) : lg;
      reported_ = ack.now_ns;
    }
    if (reported_) {
      const double off = std::fabs(std::min(reported_lg_, 3.25) - EstimatedLg());
      if (std::fabs(off - 0.5) < 2e-3) knife_edge_ = true;
      const double limit = 1280 * span_;
      const double step = std::min(dt, limit / 8);
      doubt_ = off > 0.5 ? std::min(limit, doubt_ + step) : std::max(0.0, doubt_ - step);
      if (std::fabs(doubt_ - limit) < 1e-6 * limit && doubt_ < limit) knife_edge_ = true;
      if (doubt_ >= limit) doubted_ = true;
      if (doubt_ <= 0) doubted_ = false;
    }
    held_ = std::max(held_ - dt / (2000 * span_), EstimatedLg());
    seen_ = ack.now_ns;
  }

  static double rtt_of(const dcc_ack& ack) { return ack.rtt_ns; }

  double ChooseLg(u64 now) {
    trusted_ = true;
    if (p_.n_source == DCC_SQCC_SOURCE_FIXED) return std::log10(p_.n_fixed);
    const bool fresh =
        reported_ && now >= *reported_ && static_cast<double>(now - *reported_) < 1280 * span_;
    if (fresh && (p_.n_source == DCC_SQCC_SOURCE_REPORTED ||
                  (p_.n_source == DCC_SQCC_SOURCE_AUTO && !doubted_)))
      return reported_lg_;
    trusted_ = false;
    return EstimatedLg();
  }

  void SetFlows(u64 now) {
    const double lg = ChooseLg(now);
    flows_ = std::pow(10, lg);
    if (!smooth_ && p_.parts == DCC_SQCC_PARTS_ERROR) {
      delta_ = delta0_;
      low_ = low0_;
    } else if (smooth_) {
      const double aim = std::min(lone_ + decade_ * lg, high_ - 1);
      delta_ = std::min(beta_ * line_ / flows_, delta0_);
      const double e = std::min(256.0, delta_ * flows_ / (beta_ * line_));
      low_ = high_ * aim / (e * (high_ - aim) + high_);
    } else {
      const double n = std::max(1.0, std::floor(flows_ + 0.5));
      // One flow more or less is less than 1 % above 200, but for the floor's steps.
      const double off = std::fabs(flows_ + 0.5 - std::round(flows_ + 0.5));
      const double decade = std::pow(10, std::round(lg)) - 0.5;
      if ((n <= 200 && off < 0.001 * n) || std::fabs(flows_ - decade) < 0.001 * n)
        knife_edge_ = true;
      double k = n >= 10000 ? 4 : n >= 1000 ? 3 : n >= 100 ? 2 : n >= 10 ? 1 : 0;
      if (k == 0) {
        delta_ = delta0_;
        k = 1;
      } else {
        k = full_ ? k : 1;
        delta_ = line_ * k / n / n;
      }
      low_ = std::min(k * low0_, high_ - 1);
    }
    share_ = smooth_ && trusted_ ? line_ / flows_ : 0;
    const double paced = trusted_ ? flows_ : std::pow(10, held_);
    turn_ = paced * seg_ / 8;
    if (smooth_ && !trusted_)
      delta_ = std::min(delta_, std::max(beta_ * line_ / paced, rate_ / 128));
  }

  bool ToldStart(const dcc_ack& ack) {
    if (decided_ || !ack.flows || !smooth_ || p_.n_source == DCC_SQCC_SOURCE_ESTIMATE ||
        p_.n_source == DCC_SQCC_SOURCE_FIXED)
      return false;
    const double share = line_ / std::min<u32>(ack.flows, 2048);
    if (std::fabs(share - rate_) < 1e-6 * rate_) knife_edge_ = true;
    if (share >= rate_) return false;
    SetRate(share);
    return true;
  }

  static bool Within(const std::optional<u64>& since, u64 now, double span) {
    return since && now >= *since && static_cast<double>(now - *since) < span;
  }

  bool Cut(const dcc_ack& ack, double before) {
    if (rtt_ <= high_ || rtt_ < before || !smooth_ || Within(cut_, ack.now_ns, rtt_)) return false;
    SetRate(rate_ * std::max(high_ / rtt_, 1.0 / 8));
    cut_ = ack.now_ns;
    return true;
  }

  // 1/32; it doubles after 10 and after 12 steps, while the one before brings less than T_low's
  // queue in two base RTTs.
  double FillStep() const {
    double step = 1.0 / 32;
    for (u32 fills = 10; fills <= fills_ && fills <= 12; fills += 2) {
      if (std::max(0.0, low0_ - base_) <= 2 * base_ * step) break;
      step *= 2;
    }
    return step;
  }

  bool Fill(const dcc_ack& ack, double before) {
    if (!smooth_) return false;
    const double half = base_ + std::max(0.0, low_ - base_) / 2;
    const bool few = share_ <= 0 && rate_ > line_ / 64;
    if (std::fabs(rate_ - line_ / 64) < 0.001 * rate_) knife_edge_ = true;
    const double idle = few ? std::max(half, low0_) : half;
    if (std::fabs(rtt_ - idle) <= 2) knife_edge_ = true;  // T_low is the core's
    const bool long_ago = ack.now_ns < empty_ || ack.now_ns - empty_ > ack.rtt_ns;
    if (rtt_ >= idle) {
      if (fills_ < 8 || !long_ago || rtt_ < before) return false;
      const double time = static_cast<double>(ack.now_ns - empty_);
      const double grown = std::max(0.0, rtt_ - empty_rtt_ - noise_ / 2);
      SetRate(rate_ * std::clamp(time / (time + 2 * grown), 1.0 / 2, 7.0 / 8));
      fills_ = 0;
      return true;
    }
    if (ack.flags & DCC_ACK_APP_LIMITED) return false;
    if (long_ago) fills_ = 0;
    empty_ = ack.now_ns;
    empty_rtt_ = rtt_;
    double step =
        std::min(rate_ * FillStep(), line_ / 384 * std::pow(2.0, fills_ < 8 ? 0 : fills_ - 8));
    if (share_ > 0) {
      if (std::fabs(share_ - rate_) < 0.01 * rate_) knife_edge_ = true;
      if (rate_ >= share_) return false;
      step = (share_ - rate_) / 8;
    } else if (rate_ >= line_) {
      fills_ = 0;
      return false;
    }
    const double pause = share_ > 0 ? rtt_ : std::max(rtt_, 20 * span_ / std::pow(4.0, fills_));
    if (filled_ &&
        std::fabs(static_cast<double>(ack.now_ns - *filled_) - pause) < 40 + 1e-3 * pause)
      knife_edge_ = true;
    if (Within(filled_, ack.now_ns, pause)) return false;
    SetRate(rate_ + step);
    filled_ = ack.now_ns;
    if (share_ <= 0) {
      fills_ = std::min(fills_ + 1, 16u);
      if (pause == rtt_) fills_ = std::max(fills_, 5u);
    }
    return true;
  }

  void Decide(const dcc_ack& ack, bool back) {
    bool held = false;
    if (decided_ && (ack.flags & DCC_ACK_APP_LIMITED)) {
      const double allowed = rate_ * (static_cast<double>(ack.now_ns - *decided_) / 1e9);
      held = back || acked_ * 8 < 0.8 * allowed;
      if (!back && std::fabs(acked_ * 8 / 0.8 - allowed) < 0.005 * allowed) knife_edge_ = true;
    }
    SetFlows(ack.now_ns);
    const double gradient = gradient_.Add(rtt_, alpha_, base_);
    if (std::fabs(rtt_ - low_) <= 2 + 1e-3 * low_) knife_edge_ = true;
    if (std::fabs(rtt_ - high_) <= 20 + 1e-6 * high_) knife_edge_ = true;
    const double next = Law(gradient);
    const bool first_segment = !decided_ && !smooth_;
    if (!first_segment && (!held || next < rate_)) SetRate(next);
    const double seg_bits = p_.seg_bytes * 8.0 / (smooth_ ? 8 : 1);
    interval_ = std::max(seg_bits / rate_ * 1e9, base_);
    if (smooth_) interval_ = std::max(std::min(interval_, turn_), base_);
    acked_ = 0;
    decided_ = ack.now_ns;
  }

  double Law(double gradient) const {
    if (rtt_ < low_) return rate_ + delta_;
    if (rtt_ > high_)
      return smooth_ ? rate_ : rate_ * (1 - std::min(0.5, beta_ * (1 - high_ / rtt_)));
    const double w = WeightReference(gradient);
    const double e = rtt_ < high_ ? high_ * (rtt_ - low_) / (low_ * (high_ - rtt_)) : 1e18;
    return delta_ * (1 - w) + rate_ * (1 - std::min(0.5, beta_ * std::min(e, 65536.0) * w));
  }

  void SetRate(double rate) { rate_ = std::clamp(rate, floor_, line_); }

  dcc_sqcc_params p_;
  double line_, base_, wire_, alpha_;
  bool smooth_, full_;
  double seg_, low0_, high_, span_, lone_, decade_, beta_, delta0_, floor_;
  double rate_ = 0, rtt_ = 0, acked_ = 0, mean_ = 0, reported_lg_ = 0, doubt_ = 0;
  double low_ = 0, delta_ = 0, flows_ = 1, share_ = 0, interval_ = 0, turn_ = 0, held_ = 0;
  bool doubted_ = false, trusted_ = false, knife_edge_ = false;
  GradientReference gradient_;
  u64 due_ = 0;
  std::optional<u64> decided_, loss_, seen_, reported_, cut_, filled_;
  u64 empty_ = 0;
  u32 fills_ = 0;
  double empty_rtt_ = 0, noise_ = 0;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_SQCC_REFERENCE_H_

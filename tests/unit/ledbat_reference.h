// SPDX-License-Identifier: Apache-2.0
//
// LEDBAT in double precision, written from RFC 6817's pseudo-code and the list of differences in
// dcc_ledbat.h.
#ifndef DELAYCC_TESTS_UNIT_LEDBAT_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_LEDBAT_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <deque>

#include "dcc_ledbat.h"

namespace delaycc_test {

class LedbatReference {
 public:
  LedbatReference(const dcc_path& path, const dcc_ledbat_params& p) : p_(p) {
    const double mu = static_cast<double>(path.line_rate_bps) / 8e9;  // bytes per nanosecond
    wire_ = path.wire_bytes;
    rtt_base_ = path.base_rtt_ns;
    target_ =
        p.target_ns ? p.target_ns : std::max(std::floor(rtt_base_ / 4), std::floor(8 * wire_ / mu));
    target_ = std::clamp(target_, 1000.0, 1e8);
    gain_ = p.gain_milli / 1e3;
    max_ = std::clamp(2 * (rtt_base_ + target_) * mu / wire_, 2.0, 2097152.0);
    min_ = std::min(p.min_cwnd_milli / 1e3, max_);
    initial_ = p.initial_cwnd_packets ? p.initial_cwnd_packets : rtt_base_ * mu / wire_;
    Restart();
  }

  void Restart() {
    cwnd_ = std::clamp(initial_, min_, max_);
    rtt_ = rtt_base_;
    last_loss_ = 0;
    round_ = 0;
    round_cwnd_ = 0;
    current_delays_.clear();
  }

  double cwnd() const { return cwnd_; }
  double target() const { return target_; }
  double queuing_delay() const { return queuing_delay_; }
  // Did the last acknowledgment hang on a comparison of values that the core holds rounded?
  bool knife_edge() const { return knife_edge_; }
  void Follow(const dcc_ledbat& core) {
    cwnd_ = static_cast<double>(core.cwnd_q24) / 16777216.0;
    round_cwnd_ = static_cast<double>(core.round_cwnd_q24) / 16777216.0;
    last_loss_ = core.decreased_ns;
  }

  bool Ack(const dcc_ack& ack) {
    knife_edge_ = false;
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    const double delay = ack.rtt_ns;
    rtt_ = delay;
    const double base = p_.base_history ? BaseDelay(ack.now_ns, delay) : rtt_base_;
    queuing_delay_ = std::max(0.0, CurrentDelay(delay) - base);
    const double off_target = (target_ - queuing_delay_) / target_;
    const double acked = std::min(ack.acked_bytes / wire_, 2048.0);
    const double step = std::clamp(gain_ * off_target, -1000.0, 1000.0);
    const double move = step * acked / std::max(cwnd_, 1.0);
    if (std::fabs(cwnd_ - 1) < 1e-5) knife_edge_ = true;
    if (ack.send_ns >= round_ || ack.now_ns < round_) {
      round_ = ack.now_ns;
      round_cwnd_ = cwnd_;
    }
    if (off_target <= 0) {
      const double least = std::min(cwnd_, round_cwnd_ / 2);
      cwnd_ = std::max(cwnd_ - std::min(-move, cwnd_ / 2), least);
    } else if (!(ack.flags & DCC_ACK_APP_LIMITED)) {
      const double max_allowed = ack.inflight_bytes / wire_ + p_.allowed_increase_packets;
      cwnd_ = std::max(cwnd_, std::min(cwnd_ + move, max_allowed));
    }
    cwnd_ = std::clamp(cwnd_, min_, max_);
    return true;
  }

  void Loss(u64 now) {
    if (last_loss_ && static_cast<double>(now - last_loss_) < rtt_) return;
    last_loss_ = std::max<u64>(now, 1);
    cwnd_ = std::clamp(cwnd_ / 2, min_, max_);
  }

  void Rto(u64 now) {
    last_loss_ = std::max<u64>(now, 1);
    cwnd_ = std::clamp(std::min(cwnd_, 1.0), min_, max_);
  }

 private:
  double CurrentDelay(double delay) {
    current_delays_.push_front(delay);
    if (current_delays_.size() > 8) current_delays_.pop_back();
    // A window's number of whole packets is a step; not to be tested at its edge.
    if (cwnd_ < p_.filter_samples + 1 && cwnd_ > 1.9 &&
        std::fabs(cwnd_ - std::round(cwnd_)) < 0.02 * cwnd_)
      knife_edge_ = true;
    const auto n = static_cast<std::size_t>(
        std::clamp(std::floor(cwnd_), 1.0, static_cast<double>(p_.filter_samples)));
    return *std::min_element(
        current_delays_.begin(),
        current_delays_.begin() + static_cast<std::ptrdiff_t>(std::min(n, current_delays_.size())));
  }

  double BaseDelay(u64 now, double delay) {
    if (base_delays_.empty() || now - last_rollover_ >= 60000000000ULL) {
      // The first minute begins with the clock.
      if (base_delays_.empty() && now < 60000000000ULL)
        last_rollover_ = 0;
      else
        last_rollover_ = now;
      base_delays_.push_front(delay);
      if (base_delays_.size() > 10) base_delays_.pop_back();
    }
    base_delays_[0] = std::min(base_delays_[0], delay);
    const auto n = std::min<std::size_t>(p_.base_history, base_delays_.size());
    return *std::min_element(base_delays_.begin(),
                             base_delays_.begin() + static_cast<std::ptrdiff_t>(n));
  }

  dcc_ledbat_params p_;
  double wire_, rtt_base_, target_, gain_, max_, min_, initial_;
  double cwnd_ = 1, rtt_ = 0, queuing_delay_ = 0;
  std::deque<double> current_delays_, base_delays_;
  u64 last_rollover_ = 0, last_loss_ = 0, round_ = 0;
  double round_cwnd_ = 0;
  bool knife_edge_ = false;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_LEDBAT_REFERENCE_H_

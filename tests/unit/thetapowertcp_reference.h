// SPDX-License-Identifier: Apache-2.0
//
// theta-PowerTCP in double precision, written from the paper's formulas (Algorithm 2) and the list
// of differences in dcc_thetapowertcp.h.
#ifndef DELAYCC_TESTS_UNIT_THETAPOWERTCP_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_THETAPOWERTCP_REFERENCE_H_

#include <algorithm>
#include <cmath>

#include "dcc_thetapowertcp.h"

namespace delaycc_test {

class ThetaPowerTcpReference {
 public:
  ThetaPowerTcpReference(const dcc_path& path, const dcc_thetapowertcp_params& p) {
    host_bw_ = static_cast<double>(path.line_rate_bps) / 8e9;  // bytes per nanosecond
    tau_ = path.base_rtt_ns;
    wire_ = path.wire_bytes;
    bdp_ = std::clamp(host_bw_ * tau_ / wire_, kMin, 2097152.0);
    gamma_ = p.gamma_ppm / 1e6;
    beta_ = p.beta_bytes ? p.beta_bytes / wire_ : bdp_ / p.flows;
    min_current_ = p.min_current_ppm / 1e6;
    Restart(0);
  }

  void Restart(u64 now) {
    cwnd_ = bdp_;
    power_ = 1;
    have_sample_ = false;
    rtt_ = static_cast<u32>(tau_);
    updated_ = now;
    last_was_loss_ = false;
  }

  double cwnd() const { return cwnd_; }
  double power() const { return power_; }
  double rate() const {  // bits per second
    return std::clamp(cwnd_ / bdp_, 0.0, 1.0) >= 1
               ? host_bw_ * 8e9
               : std::clamp(cwnd_ * wire_ / tau_ * 8e9, 1000.0, host_bw_ * 8e9);
  }

  bool Ack(const dcc_ack& ack) {
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    NormPower(ack);
    if (ack.send_ns < updated_ && updated_ <= ack.now_ns) return false;
    Set(ack.now_ns, gamma_ * (cwnd_ / power_ + beta_) + (1 - gamma_) * cwnd_);
    last_was_loss_ = false;
    return true;
  }

  void Loss(u64 now) {
    if (last_was_loss_ && static_cast<double>(now - updated_) < rtt_) return;
    Set(now, cwnd_ / 2);
    last_was_loss_ = true;
  }

  void Rto(u64 now) {
    Set(now, std::min(cwnd_, 1.0));
    last_was_loss_ = false;
  }

 private:
  static constexpr double kMin = 1.0 / 256;

  void NormPower(const dcc_ack& ack) {
    if (!have_sample_ || ack.now_ns < time_) {
      have_sample_ = true;
      time_ = std::max<u64>(ack.now_ns, 1);
      rtt_ = ack.rtt_ns;
      return;
    }
    const double gap = static_cast<double>(ack.now_ns - time_);
    if (gap < std::max(1.0, std::floor(tau_ / 4096))) return;
    const double theta = ack.rtt_ns;
    const double slope = (theta - rtt_) / gap;
    time_ = ack.now_ns;
    rtt_ = ack.rtt_ns;
    const double current = std::clamp(slope + 1, min_current_, 256.0);
    const double voltage = std::min(theta / tau_, 32767.0);
    const double dt = std::min(gap, tau_);
    power_ = (power_ * (tau_ - dt) + current * voltage * dt) / tau_;
    power_ = std::clamp(power_, 1.0 / 256, 32768.0);
  }

  void Set(u64 now, double cwnd) {
    cwnd_ = std::clamp(cwnd, kMin, std::max(bdp_, kMin));
    updated_ = now;
  }

  double host_bw_, tau_, wire_, bdp_, gamma_, beta_, min_current_;
  double cwnd_ = 0, power_ = 1;
  bool have_sample_ = false, last_was_loss_ = false;
  u64 time_ = 0, updated_ = 0;
  u32 rtt_ = 0;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_THETAPOWERTCP_REFERENCE_H_

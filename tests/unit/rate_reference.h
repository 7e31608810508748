// SPDX-License-Identifier: Apache-2.0
//
// What the reference models of TIMELY and SQCC have in common, in double precision, and the random
// traces that both are held against their cores on.
#ifndef DELAYCC_TESTS_UNIT_RATE_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_RATE_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <optional>

#include "dcc_rate.h"
#include "random_path.h"

namespace delaycc_test {

// rttDiff over D_minRTT.
class GradientReference {
 public:
  void Reset() {
    diff_ = 0;
    previous_.reset();
  }
  double Add(double rtt, double alpha, double min_rtt) {
    const double step = previous_ ? rtt - *previous_ : 0;
    previous_ = rtt;
    diff_ = (1 - alpha) * diff_ + alpha * step;
    return std::clamp(diff_ / min_rtt, -32768.0, 32768.0);
  }

 private:
  double diff_ = 0;
  std::optional<double> previous_;
};

inline double WeightReference(double gradient) { return std::clamp(2 * gradient + 0.5, 0.0, 1.0); }

// Packets: twice rate * RTT, and two.
inline double WindowReference(double rate, double rtt, double wire_bytes) {
  return 2 * rate * rtt / 8e9 / wire_bytes + 2;
}

// A path and the acknowledgments of one flow on it.
class RateTrace : public Random {
 public:
  explicit RateTrace(u64 seed) : Random(seed) {
    path_.line_rate_bps = static_cast<u64>(LogUniform(1e6, 8e11));
    path_.base_rtt_ns = static_cast<u32>(LogUniform(1e3, 1e9));
    path_.wire_bytes = static_cast<u32>(LogUniform(64, 65535));
    if (OneIn(2)) {  // a data center
      path_.line_rate_bps = 10000000000;
      path_.base_rtt_ns = 5000;
      path_.wire_bytes = 1000;
    }
    path_.noise_ns = RandomNoise(seed, path_.base_rtt_ns);
    if (seed % 4 == 0) path_.delay_floor_ns = path_.base_rtt_ns / 4;
    now_ = 1 + Below(1ULL << 50);
    rtt_ = path_.base_rtt_ns;
    extreme_ = OneIn(5);
  }

  const dcc_path& path() const { return path_; }

  // The next acknowledgment of a flow at so many bits per second. RTTs wander over a span that
  // reaches beyond `t_high`.
  dcc_ack Next(double rate, double t_high) {
    const double packet_ns = path_.wire_bytes * 8e9 / std::max(rate, 1.0);
    double step = packet_ns * LogUniform(0.3, 30);
    if (OneIn(200)) step += path_.base_rtt_ns * LogUniform(0.1, 100);  // a pause
    now_ += 1 + static_cast<u64>(std::min(step, 1e10));
    if (OneIn(20)) trend_ = Unit() * 2 - 1;
    rtt_ += trend_ * (OneIn(3) ? 0.1 : 0.01) * t_high;
    rtt_ = std::clamp(rtt_, std::min(3e9, static_cast<double>(path_.base_rtt_ns)),
                      std::max(1.3 * t_high, path_.base_rtt_ns * 1.5));
    u32 rtt = static_cast<u32>(std::min(rtt_ + path_.base_rtt_ns * 0.01 * Unit(), 4e9));
    if (extreme_ && OneIn(50)) rtt = OneIn(2) ? 0 : 0xffffffff;

    dcc_ack ack = {};
    ack.rtt_ns = rtt;
    ack.now_ns = now_ + 5000000000ULL;
    ack.send_ns = ack.now_ns - rtt;
    ack.acked_bytes = path_.wire_bytes * static_cast<u32>(1 + Below(3));
    ack.inflight_bytes = ack.acked_bytes;
    if (OneIn(50)) ack.flags |= DCC_ACK_NO_RTT;
    if (OneIn(50)) ack.flags |= DCC_ACK_DELAYED;
    if (OneIn(300)) app_limited_ = !app_limited_;
    if (app_limited_) ack.flags |= DCC_ACK_APP_LIMITED;
    if (OneIn(100)) flows_ = static_cast<u32>(LogUniform(1, 70000)) - (OneIn(5) ? 1 : 0);
    ack.flows = OneIn(3) ? 0 : flows_;
    if (extreme_ && OneIn(500))
      now_ -= std::min<u64>(now_ - 1, static_cast<u64>(LogUniform(1, 1e12)));
    return ack;
  }

 private:
  dcc_path path_ = {};
  u64 now_ = 0;
  double rtt_ = 0, trend_ = 0.5;
  u32 flows_ = 0;
  bool extreme_ = false, app_limited_ = false;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_RATE_REFERENCE_H_

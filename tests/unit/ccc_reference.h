// SPDX-License-Identifier: Apache-2.0
//
// CCC in double precision, written from the paper's equations and Algorithm 1 and the list of
// differences in dcc_ccc.h, without the fixed-point core's tricks.
#ifndef DELAYCC_TESTS_UNIT_CCC_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_CCC_REFERENCE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "dcc_ccc.h"

namespace delaycc_test {

class CccReference {
 public:
  CccReference(const dcc_path& path, const dcc_ccc_params& p) : paper_(p.paper) {
    line_ = static_cast<double>(path.line_rate_bps);
    base_ = path.base_rtt_ns;
    wire_ = path.wire_bytes;
    // Whole nanoseconds, as they are compared.
    q_b_ = p.q_b_ns;
    if (!p.q_b_ns)
      q_b_ = std::max(5000.0, std::floor(std::max(base_ - 1.0 * path.noise_ns, 0.0) / 4));
    q_b_ = std::clamp<double>(q_b_, DCC_CCC_Q_B_MIN_NS, DCC_CCC_Q_B_MAX_NS);
    q_b_ = std::max(q_b_, std::min(std::floor(2 * wire_ * 8e9 / line_),
                                   static_cast<double>(DCC_CCC_Q_B_MAX_NS)));
    q_b_ = std::max(q_b_, std::min(1.0 * path.delay_floor_ns, 1.0 * DCC_CCC_Q_B_MAX_NS));
    q_b_ = std::min<double>(q_b_ + path.noise_ns, DCC_CCC_Q_B_MAX_NS);
    empty_ = std::min(path.base_rtt_ns / 20, static_cast<u32>(q_b_) / 2);
    gamma_ = p.gamma_ppm / 1e6;
    packet_ = wire_ * 8e9 / line_;
    step_ = std::min(1.0, packet_ / base_);
    const double least = p.r_min_kbps ? p.r_min_kbps * 1e3 / line_ : step_ / 6;
    min_ = std::clamp(least, 0x1p-20, 1.0);
    Restart();
  }

  void Restart() {
    gradient_ = q_ = spacing_ = 0;
    rate_ = basis_ = 1;
    records_.fill(1);
    doublings_ = 0;
    have_rtt_ = braked_ = raised_ = in_a_ = empty_seen_ = false;
  }

  double window() const {  // packets
    const double window = rate_ * base_ / packet_;
    return paper_ ? window : std::max(window, 1.0);
  }
  double rate_bps() const { return std::max(1000.0, rate_ * line_); }
  bool at_least_rate() const { return rate_ <= min_; }
  u32 region() const { return region_; }
  double gradient() const { return gradient_; }
  double basis() const { return basis_; }
  // What is remembered from one acknowledgment to the next, beside numbers.
  std::string memory() const { return Memory(doublings_, braked_, raised_, in_a_, empty_seen_); }
  static std::string MemoryOf(const dcc_ccc& core) {
    const dcc_ccc_flow& f = core.flow;
    return Memory(f.doublings, f.braked, f.raised, f.in_a, f.empty);
  }
  // A comparison was so close that rounding decides it.
  bool knife_edge() const { return knife_edge_; }

  bool Ack(const dcc_ack& ack) {
    knife_edge_ = false;
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    const double rtt = ack.rtt_ns;
    q_ = std::max(0.0, rtt - base_);
    double itv = base_;
    if (have_rtt_ && ack.now_ns >= then_) {
      itv = std::min(static_cast<double>(ack.now_ns - then_), 4294967295.0);
      if (itv == 0) return false;
      const double sample = std::clamp((rtt - rtt_) / itv, -1.0, 1024.0);
      NoteSign(std::trunc(sample * kUnits));
      gradient_ = gamma_ * gradient_ + (1 - gamma_) * sample;
    } else {
      have_rtt_ = true;
      empty_seen_ = false;
      gradient_ = 0;
      falls_ = false;
    }
    then_ = ack.now_ns;
    rtt_ = rtt;
    double each = itv;
    if (ack.acked_bytes >= wire_ + std::floor(wire_ / 2)) each = itv * wire_ / ack.acked_bytes;
    spacing_ = spacing_ > 0 ? spacing_ + (each - spacing_) / 4 : each;
    Adjust(ack.now_ns, itv);
    return true;
  }

  void Rto() {
    doublings_ = 0;
    empty_seen_ = false;
    SetRate(std::min(rate_, step_));
    basis_ = std::min(basis_, rate_);
    records_.fill(basis_);
  }

  // Continues from where the core is: what was rounded once is not compared again.
  void Adopt(const dcc_ccc& core) {
    const dcc_ccc_flow& f = core.flow;
    rate_ = Share(f.rate_q30);
    basis_ = Share(f.basis_q30);
    for (size_t i = 0; i < records_.size(); i++) records_[i] = Share(f.record_q30[i]);
    gradient_ = f.gradient_q16 / 65536.0;
    spacing_ = f.spacing_ns;
    doublings_ = f.doublings;
    braked_ = f.braked;
    raised_ = f.raised;
    in_a_ = f.in_a;
    empty_seen_ = f.empty;
    doubled_ = f.empty_ns;
  }

 private:
  static constexpr double kUnits = 65536;
  static std::string Memory(int doublings, bool braked, bool raised, bool in_a, bool empty) {
    return std::to_string(doublings) + " doublings" + (braked ? ", braked" : "") +
           (raised ? ", raised" : "") + (in_a ? ", in A" : "") + (empty ? ", empty" : "");
  }
  static double Share(u32 q30) { return q30 / 1073741824.0; }
  void SetRate(double rate) { rate_ = std::clamp(rate, min_, 1.0); }

  // Equation 10: straight lines between the powers of two.
  static double Log2(double v) {
    if (v < 1) return 0;
    const double i = std::floor(std::log2(v));
    return i + v / std::exp2(i) - 1;
  }

  void Near(double a, double b, double tolerance) {
    if (std::fabs(a - b) <= tolerance) knife_edge_ = true;
  }

  // Does q_v fall?  A decaying q_v ends at zero, where its sign chooses the region: it is held in
  // 65536ths, and what is left of its distance from the sample is rounded down.
  void NoteSign(double sample) {
    const double left = gamma_ * (gradient_ * kUnits - sample);
    const double units = sample + std::trunc(left);
    const double error = 1e-3 + 1e-7 * std::fabs(left);
    if (left != 0 && std::fabs(units) <= 1 + error) Near(left, std::round(left), error);
    falls_ = units < 0;
  }

  double Rho() const { return std::min(4.0, rate_ * spacing_ / packet_); }

  double Limited(double step) const {
    return paper_ ? step : std::min(step, rate_ * std::max(0.0, 1.25 - Rho()));
  }

  void Adjust(u64 now, double itv) {
    const double delta = 0.5 * (Log2(q_b_) - Log2(q_)) - gradient_;
    const double share = std::min(1.0, itv / base_);
    const double irr = std::max(0.0, 1 - q_ / q_b_);
    Near(delta, 0, 1e-3);
    Near(std::fabs(gradient_), 0.05, 1e-4);
    // Without a queue, and with one of q_B and more, irr is exactly one and zero.
    if (q_ > 0 && q_ < q_b_) Near(irr, rate_, 1e-6);

    if (std::fabs(gradient_) < 0.05) {
      std::rotate(records_.begin(), records_.end() - 1, records_.end());
      records_[0] = rate_;
    }
    double next = rate_;
    const bool queue = q_ >= q_b_;
    if (delta > 0 && !queue) {
      region_ = falls_ ? DCC_CCC_H1I : DCC_CCC_H2I;
      UpdateBasis();
      UpdateDoublings(now);
      if (rate_ < irr) {
        const double w_ai =
            region_ == DCC_CCC_H1I ? 0.5 * irr * std::max(0.0, 1 - 2 * rate_) : 0.1 * irr;
        next += std::min(1.0, std::ldexp(basis_, doublings_)) * w_ai * share;
      }
    } else {
      doublings_ = 0;
      empty_seen_ = false;
      if (delta > 0) {
        region_ = DCC_CCC_AI;
        in_a_ = true;
        const double ahead = std::max(1.0, std::floor(q_ + itv * gradient_));
        // Where the logarithm is steep, a nanosecond more or less is not the core's error.
        if (ahead < 200) knife_edge_ = true;
        const double u = (0.5 * (Log2(q_b_) - Log2(ahead)) - gradient_) * step_;
        next += std::clamp(Limited(u), 0.0, 1.0);
      } else {
        region_ = !queue ? DCC_CCC_H1D : falls_ ? DCC_CCC_AD : DCC_CCC_H2D;
        if (region_ == DCC_CCC_AD) in_a_ = true;
        braked_ = true;
        if (rate_ > irr) {
          const double off = std::fabs(q_ - q_b_) / q_b_;
          double w_md = paper_ ? 0.25 * std::min(off, 1.0) : 0.125 * std::min(off, 2.0);
          w_md *= share;
          if (region_ != DCC_CCC_H1D && !paper_)
            w_md = std::min(w_md, std::max(0.0, Rho() - 0.875));
          next -= rate_ * w_md;
        }
      }
    }
    if (rate_ > irr && q_ >= empty_ && !paper_) next -= 0.2 * (rate_ - irr) * rate_ * share;
    SetRate(next);
  }

  void UpdateBasis() {
    if (!raised_ && !paper_) {
      basis_ = rate_;
      records_.fill(rate_);
      raised_ = braked_;
    } else if (in_a_) {
      basis_ = 0;
      for (double r : records_) basis_ += r / 5;
    }
    in_a_ = false;
  }

  void UpdateDoublings(u64 now) {
    if (q_ >= empty_) {
      if (!paper_ && empty_seen_ && q_ < std::floor(q_b_ / 2)) return;
      empty_seen_ = false;
      doublings_ = 0;
    } else if (!empty_seen_) {
      empty_seen_ = true;
      doubled_ = now;
    } else if (static_cast<double>(now - doubled_) >= base_) {
      doubled_ = now;
      doublings_ = std::min(doublings_ + 1, 15);
    }
  }

  bool paper_;
  double line_, base_, wire_, q_b_, empty_, gamma_, packet_, step_, min_;
  double gradient_ = 0, q_ = 0, rtt_ = 0, spacing_ = 0;
  double rate_ = 1, basis_ = 1;
  std::array<double, 5> records_ = {};
  int doublings_ = 0;
  u64 then_ = 0, doubled_ = 0;
  u32 region_ = DCC_CCC_START;
  bool have_rtt_ = false, braked_ = false, raised_ = false, in_a_ = false, empty_seen_ = false;
  bool knife_edge_ = false, falls_ = false;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_CCC_REFERENCE_H_

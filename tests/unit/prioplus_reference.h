// SPDX-License-Identifier: Apache-2.0
//
// PrioPlus in double precision, written from the paper's Algorithm 1 and from the rules and
// differences that dcc_prioplus.h lists.  The base core's law is the reference's own too: Swift, or
// LEDBAT where DCC_PRIOPLUS_ON_LEDBAT is defined.
#ifndef DELAYCC_TESTS_UNIT_PRIOPLUS_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_PRIOPLUS_REFERENCE_H_

#include <algorithm>
#include <cmath>

#include "dcc_prioplus.h"

namespace delaycc_test {

// One program has tests of both.
#ifdef DCC_PRIOPLUS_ON_LEDBAT
inline namespace on_ledbat {
#else
inline namespace on_swift {
#endif

class PrioplusReference {
 public:
  // Small whole numbers and truth values: these the core must hit exactly.
  struct Discrete {
    int countdown = 0, calm = 0, consec = 0, cuts = 0, tries = 0, fresh = 0, middle = 0;
    bool odd = false, settled = false, stopped = false, yielded = false, asked = false,
         seen = false;
    bool operator==(const Discrete& o) const {
      return countdown == o.countdown && calm == o.calm && consec == o.consec && cuts == o.cuts &&
             tries == o.tries && fresh == o.fresh && middle == o.middle && odd == o.odd &&
             settled == o.settled && stopped == o.stopped && yielded == o.yielded &&
             asked == o.asked && seen == o.seen;
    }
  };

  PrioplusReference(const dcc_path& path, const dcc_prioplus_params& p) : p_(p) {
    mu_ = static_cast<double>(path.line_rate_bps) / 8e9 / path.wire_bytes;  // packets per ns
    wire_ = path.wire_bytes;
    base_ = path.base_rtt_ns;
    unknown_line_ = path.delay_floor_ns != 0;
    const u32 level = std::min(p.priority, p.levels - 1) + 1;
    const double packet = std::floor(1 / mu_);
    double a = p.channel_a_ns;
    if (!p.channel_a_ns) a = 3200;
    if (!p.channel_a_ns && !p.paper)
      a = std::clamp(std::floor((base_ - path.noise_ns) / 5), a, 1e7);
    a = std::clamp(std::max(2 * packet, 1.0 * path.delay_floor_ns), a, 1e7);
    const double b = std::min(1e7, 1.0 * p.channel_b_ns + path.noise_ns);
    a_ = a;
    channel_ = a + b;
    target_ = base_ + level * channel_;
    limit_ = target_ + std::floor(a / 2) + b;
    if (p.unlimited_from && level >= p.unlimited_from) limit_ = 4294967295.0;
    low_ = target_ - std::floor(a / 2);
    const double part = std::floor(path.delay_floor_ns / 4.0);
    const double tolerance =
        p.tolerance_ns ? p.tolerance_ns : std::clamp(std::max({packet, b, part}), 1e3, 1e7);
    highest_ = base_ + p.levels * channel_;
    const double hop = std::min(packet, std::floor(base_ / 12));
    probe_first_ = base_ - 2 * hop;
    probe_shortest_ = base_ - 6 * hop;
    idle_ = base_ + std::min(tolerance, level * channel_);
    bdp_ = std::min(base_ * mu_, kMost);
    max_ = std::clamp(2 * target_ * mu_, 2.0, kMost);
    const u32 third = (p.levels + 2) / 3, two_thirds = 2 * (p.levels + 2) / 3;
    const u32 medium = p.medium_from ? p.medium_from : third + 1;
    const u32 high = p.high_from ? p.high_from : two_thirds + 1;
    const double ls_ppm = level >= high     ? p.ls_high_ppm
                          : level >= medium ? p.ls_medium_ppm
                                            : p.ls_low_ppm;
    unprobed_ = level >= high;
    w_ls_ = bdp_ * ls_ppm / 1e6;
    ai_ = bdp_ * p.ai_ppm / 1e6;
    start_countdown_ = static_cast<int>(1e6 / ls_ppm);
    Start();
  }

  bool Start() {
    d = Discrete();
    d.fresh = 2;
    d.countdown = start_countdown_;
    d.stopped = !unprobed_;
    hold = adaptive = 0;
    flows = 1;
    high = 0;
    probe_rtt = probe_first_;
    round_end = since = last_decrease = 0;
    cwnd = began = std::clamp(w_ls_, kLeast, std::max(max_, 1.0));
    began_before = 0;
    delay_ = base_;
    return d.stopped;
  }

  // What the core holds rounded, taken over before each step.
  void Follow(const dcc_prioplus_flow& f) {
    cwnd = Packets(f.cwnd_q24);
    hold = Packets(f.hold_q24);
    adaptive = Packets(f.step_q24);
    began = f.started_q8 / 256.0;
    began_before = f.started_before_q8 / 256.0;
    flows = f.flows_q8 / 256.0;
    last_decrease = f.decreased_ns;
  }

  // The acknowledgment of data.  False: ignored.
  bool NewAck(const dcc_ack& ack) {
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    if (d.stopped) return false;
    if (ack.send_ns < since && since <= ack.now_ns) return false;
    const double delay = ack.rtt_ns;
    const bool hold_law = !p_.paper;
    delay_ = delay;
    probe_least = probe_below = 0;
    const bool rtt_pass = ack.send_ns >= round_end || round_end > ack.now_ns;
    const double flight = static_cast<double>(ack.inflight_bytes) / wire_;
    double used = flight;
    // At first linear start holds the window against the one when the packet left.
    const double then = hold > 0 || delay >= idle_ ? cwnd : std::min(cwnd, began_before);
    const bool in_use = then <= used * 1.25 + 2;
    knife_edge = std::fabs(then - (used * 1.25 + 2)) < 1e-6;
    if (in_use) used = 0;
    if (rtt_pass && d.fresh) --d.fresh;
    if (d.fresh && hold > 0) used = 0;
    const bool may_grow = used == 0 && !(ack.flags & DCC_ACK_APP_LIMITED);
    if (rtt_pass) {
      round_end = ack.now_ns;
      began_before = began;
      began = cwnd;
      d.odd = !d.odd;
      if (!d.odd) adaptive = 0;
    }
    if (delay < limit_)
      d.consec = 0;
    else if (!d.consec || delay >= high || p_.paper)
      ++d.consec;
    if (delay >= limit_) high = delay;
    if (d.consec >= 2) {
      OverLimit(delay, ack.now_ns);
      return true;
    }
    if (cwnd < 0.1 && delay >= target_ && limit_ < 4294967295.0) {
      SetFlows(std::max(flows, Count(delay)));
      Stop(delay, false);
      return true;
    }
    if (rtt_pass) {
      if (hold_law) Settle(delay, used > 0);
      // A gap of nanoseconds is mostly rounding.
      if (InLevel() && std::fabs(delay - Aim()) < 2 + a_ / 1000) knife_edge = true;
      if (delay <= target_ && may_grow) {
        if (delay < idle_)
          LinearStart(ack.now_ns);
        else if ((d.odd || !p_.dual_rtt) && delay <= Aim())
          AdaptiveIncrease(delay);
      }
    }
    if (rtt_pass && hold_law && unknown_line_ && !d.fresh && !(ack.flags & DCC_ACK_APP_LIMITED))
      cwnd = std::min(cwnd, flight * (delay < idle_ ? 4 : 1.125) + 2);
    Original(ack, may_grow);
    return true;
  }

  // The probe's reply.  False: nothing waits for one.
  bool NewProbeAck(const dcc_ack& ack) {
    if (!d.stopped) return false;
    // A probe is short: what a full packet would have taken.
    double delay = ack.rtt_ns;
    if (!(ack.flags & DCC_ACK_PROBE_DATA)) {
      probe_rtt = std::min<double>(probe_rtt, ack.rtt_ns);
      delay = std::min(delay + base_ - std::clamp(probe_rtt, probe_shortest_, base_), 4294967295.0);
    }
    delay_ = ack.rtt_ns;
    probe_least = probe_below = 0;
    if (delay >= limit_) {
      high = delay;
      d.asked = false;
      d.seen = d.yielded;
      d.middle = 0;
      Schedule(delay);
    } else if (delay >= idle_) {
      if (d.asked) d.seen = false;
      d.asked = false;
      if (d.yielded && ++d.middle < 8) {
        Schedule(delay);
        return true;
      }
      double w = p_.resume_milli / 1e3;
      if (!p_.paper && delay < target_)
        w = std::max(w, std::min(std::max(w_ls_ / flows, 0.5), HalfGap(target_ - delay)));
      Resume(w, ack.now_ns);
    } else {
      if (d.yielded && !d.asked && (Away() > 0 || !d.seen)) {
        d.asked = true;
        d.seen = false;
        probe_least = 1 + (Away() > 0 ? 2 * Away() : 1) * base_;
        probe_below = probe_least + base_ / 3;
        return true;
      }
      if (d.countdown)
        --d.countdown;
      else
        flows = std::max(1.0, flows / 2);
      double w = std::max(w_ls_ / flows, 0.5);
      if (!p_.paper) w = std::max(w, 0.8 * hold * (target_ - base_) / target_);
      Resume(w, ack.now_ns);
    }
    return true;
  }

  void Loss(u64 now) {
    if (d.stopped) return;
    if (last_decrease && static_cast<double>(now - last_decrease) < std::max(delay_, base_)) return;
    SetCwnd(cwnd * (1 - p_.max_mdf_ppm / 1e6), now);
  }

  double target() const { return target_; }
  double limit() const { return limit_; }
  double idle() const { return idle_; }

  Discrete d;
  double cwnd = 0, hold = 0, adaptive = 0, flows = 1, high = 0;
  double probe_rtt = 0, began = 0, began_before = 0;
  // The next probe's time lies in [probe_least, probe_below); 0: go on.
  double probe_least = 0, probe_below = 0;
  u64 round_end = 0, since = 0, last_decrease = 0;
  bool knife_edge = false;

 private:
  static constexpr double kLeast = 1.0 / 256, kMost = 2097152.0;
  static double Packets(u64 q24) { return static_cast<double>(q24) / 16777216.0; }

  double Count(double delay) const { return delay * mu_ / std::max(cwnd, 1.0); }

  double HalfGap(double gap) const { return gap / 2 * mu_ / flows; }

  void SetFlows(double n) {
    flows = std::clamp(n, 1.0, static_cast<double>(p_.max_flows));
    d.countdown = start_countdown_;
  }

  void SetCwnd(double w, u64 now) {
    w = std::clamp(w, kLeast, std::max(max_, 1.0));
    if (w < cwnd) last_decrease = std::max<u64>(now, 1);
    cwnd = w;
  }

  // Levels between this one and the one that keeps the queue, 3 at the most.
  double Away() const {
    const double above = std::min(high, highest_) - target_;
    if (!d.yielded || above <= channel_ + std::floor(channel_ / 2)) return 0;
    return std::min(3.0, std::floor((above + std::floor(channel_ / 2)) / channel_) - 1);
  }

  void Schedule(double delay) {
    probe_least = 1 + std::max(0.0, delay - target_) + 2 * base_ * Away();
    probe_below = probe_least + base_;
  }

  void Stop(double delay, bool yielded) {
    d.stopped = true;
    d.yielded = yielded;
    d.asked = d.seen = d.settled = false;
    d.middle = 0;
    d.consec = 0;
    d.calm = 0;
    adaptive = 0;
    high = delay;
    Schedule(delay);
  }

  void Resume(double w, u64 now) {
    const int countdown = d.countdown;
    d = Discrete();
    d.countdown = countdown;
    d.fresh = 2;
    adaptive = began_before = 0;
    round_end = since = now;
    SetCwnd(w, now);
    began = cwnd;
  }

  void OverLimit(double delay, u64 now) {
    if (!p_.paper) {
      if (hold == 0 && d.cuts < 3 && cwnd >= 0.1) {
        if (d.cuts++) SetFlows(Count(delay));
        SetCwnd(cwnd * target_ / delay, now);
        d.consec = 0;
        adaptive = 0;
        since = now;
        return;
      }
      if (d.settled || (hold > 0 && cwnd <= hold)) return Stop(delay, true);
    }
    SetFlows(std::max(flows, Count(delay)));
    Stop(delay, false);
  }

  void Settle(double delay, bool unused) {
    if (delay >= limit_) return;
    d.cuts = 0;
    if (unused || delay < low_) {
      d.calm = 0;
      d.settled = false;
      return;
    }
    if (!d.settled || delay >= Aim()) d.tries = 0;
    d.calm = std::min(4, d.calm + 1);
    if (d.calm < 4) return;
    d.settled = true;
    hold = cwnd;
    SetFlows(target_ * mu_ / std::max(hold, 1.0));
  }

  void LinearStart(u64 now) {
    SetCwnd(cwnd + std::max(w_ls_ / flows, 0.5), now);
    if (d.countdown)
      --d.countdown;
    else
      flows = std::max(1.0, flows / 2);
  }

  void AdaptiveIncrease(double delay) {
    const double aim = Aim();
    adaptive = std::min(cwnd / 2, (aim - delay) / delay * cwnd);
    if (p_.paper) return;
    double part = std::min(HalfGap(aim - delay) * std::pow(2, d.tries), (aim - delay) * mu_);
    d.tries = std::min(8, d.tries + 1);
    adaptive = std::max(adaptive, part);
  }

  bool InLevel() const { return d.settled; }

  // A logarithm of straight lines between the powers of two, in 65536ths.
  static double Log2(double x) {
    const double whole = std::floor(std::log2(x));
    return std::floor((whole + x / std::pow(2, whole) - 1) * 65536) / 65536;
  }

  double Aim() const {
    if (!InLevel()) return target_;
    const double halves = std::clamp(Log2(target_ * mu_) - Log2(cwnd), 0.0, 7.0);
    return target_ - 4 * std::floor(a_ / 10) + std::floor(std::floor(a_ / 10) * halves);
  }

  void Original(const dcc_ack& ack, bool may_grow) {
    const double delay = ack.rtt_ns;
    const double acked = std::min(ack.acked_bytes / wire_, 2048.0);
    const double share = acked / std::max(cwnd, 1.0);
    const double aim = Aim();
    const double w_ai = InLevel() ? cwnd * std::floor(a_ / 16) / target_ : ai_ / flows;
    double w = cwnd;
    if (delay < aim) {
      if (may_grow) {
#ifdef DCC_PRIOPLUS_ON_LEDBAT
        const double off_target = (aim - std::max(delay, base_)) / (aim - base_);
        w += std::min(std::min(w_ai, 1000.0) * off_target + adaptive, 1000.0) * share;
#else
        w += std::min(w_ai + adaptive, 1000.0) * share;
#endif
      }
    } else {
#ifdef DCC_PRIOPLUS_ON_LEDBAT
      const double used = p_.paper ? w : std::min(w, delay * mu_);
      const double off_target = (delay - aim) / (aim - base_);
      const double decrease = std::min(std::min(ai_, 1000.0) * off_target, 1000.0);
      w = used - std::min(decrease * acked / std::max(used, 1.0), used / 2);
      if (!p_.paper) w = std::max(w, std::min(cwnd, began / 2));
#else
      if (!last_decrease || static_cast<double>(ack.now_ns - last_decrease) >= base_)
        w *= std::max(1 - p_.beta_ppm / 1e6 * (delay - aim) / delay, 1 - p_.max_mdf_ppm / 1e6);
#endif
    }
    SetCwnd(w, ack.now_ns);
  }

  dcc_prioplus_params p_;
  double highest_, probe_first_, probe_shortest_;
  double mu_, wire_, base_, a_, channel_, target_, limit_, low_, idle_, bdp_, max_, w_ls_, ai_;
  double delay_ = 0;
  int start_countdown_ = 0;
  bool unprobed_ = false, unknown_line_ = false;
};

}  // namespace on_ledbat or on_swift
}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_PRIOPLUS_REFERENCE_H_

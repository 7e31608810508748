// SPDX-License-Identifier: Apache-2.0
//
// The path model in double precision, written from the formulas and rules that the heads of
// kernel/core/path/*.h give: round, noise, share, base RTT, line rate, probe, drain.  What the core
// holds rounded it takes over before each step (Follow()); sources, counts and decisions are its
// own throughout.
#ifndef DELAYCC_TESTS_UNIT_PATH_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_PATH_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "path/model.h"

namespace delaycc_test {

class PathReference {
 public:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  static constexpr double kLongest = 4294967295.0;

  // What came of a sample.
  enum class Event { kNothing, kQuiet, kNoisy };
  enum class Answer { kNothing, kPass, kPath, kQueue, kTimeout, kBegin };

  // `rtt_ns` is TCP's, `handshake_ns` 0 if unknown.
  PathReference(double rtt_ns, double handshake_ns, double wire_bytes)
      : base(Clamp(rtt_ns)), handshake_(handshake_ns), wire_(wire_bytes) {}

  void Configure(const dcc_path_config& c) {
    if (c.noise_ns != noise_configured) {
      noise_configured = c.noise_ns;
      noise = c.noise_ns;
    }
    if (c.base_rtt_ns != configured || c.moved) {
      configured = c.base_rtt_ns;
      source = configured > 0 ? DCC_BASE_CONFIGURED : DCC_BASE_UNKNOWN;
      if (configured > 0)
        base = Clamp(configured);
      else
        handshake_ = cached_ = 0;
      seen = -1;
      noise = noise_configured;
      share = 0;
      round_.clear();
      ForgetProbes();
      ForgetDrains();
    }
    const double rate = std::min(1.0 * c.line_rate_bps, 8e11);
    if (rate > 0 && (rate != given_ || c.line_configured != line_configured)) {
      given_ = rate_bps = rate;
      line_configured = c.line_configured;
      raise_ = 0;
      ForgetProbes();
      ForgetDrains();
      // Neither handshake nor cache nor probe counts without one.
      if (!line_configured && source == DCC_BASE_PROBED) {
        source = DCC_BASE_CONFIGURED;
        base = Clamp(configured);
      } else if (!line_configured && (source == DCC_BASE_HANDSHAKE || source == DCC_BASE_CACHE)) {
        source = DCC_BASE_UNKNOWN;
      }
    }
    if (!ReadsRounds()) round_.clear();
    SetFloor();
  }

  // A connection begins with what the cache has.
  void Recall(const dcc_path_metrics& cached) {
    if (!cached.rtt_min_ns || handshake_ > 3.0 * cached.rtt_min_ns) return;
    cached_ = Clamp(cached.rtt_min_ns);
    exact_ = cached.exact;
    if (!CacheIsAllowed()) return;
    base = cached_;
    if (noise_configured == 0) noise = cached.noise_ns;
  }

  // Values that the core holds as whole numbers.
  void Follow(const dcc_model& m) {
    noise = m.noise.ns;
    share = m.share_ns;
    rate_bps = static_cast<double>(m.line.bps);
    raise_ = static_cast<double>(m.line.raise_bps);
    round_rate_ = static_cast<double>(m.line.round_bps);
    floor = m.line.floor_ns;
    packet_ = static_cast<double>(m.packet_ns);
    mean_ = m.probe.mean_ns;
    next_ = static_cast<double>(m.probe.next_ns);
    drain_next_ = static_cast<double>(m.drain.next_ns);
    drain_until = static_cast<double>(m.drain.until_ns);
  }

  // An RTT of the path.  *ack becomes what the law is to see.
  void Sample(dcc_ack* ack, u32 flight, bool small, double window_max) {
    const double rtt = ack->rtt_ns, before = base;
    const bool drained = 1.0 * ack->send_ns <= drain_until;
    double path_base = PathBase();
    event = Event::kNothing;
    answer = Answer::kNothing;
    knife_edge = false;
    drain_begins = drain_waits = false;
    TakeBase(rtt, small, 1.0 * ack->now_ns);
    if (!line_configured && base != before) {
      path_base = PathBase();
      SetFloor();
    }
    if (!line_configured) Carry(rtt, std::min(1.0 * flight, window_max), path_base);
    if (small) return;
    const bool app_limited = ack->flags & DCC_ACK_APP_LIMITED;
    if (drained)
      round_.clear();
    else if (ReadsRounds() && !app_limited)
      AddToRound(*ack, path_base);
    if (!line_configured) return;
    const bool shorter = base < before;
    Doubt(*ack, flight, rtt);
    Hide(ack);
    if (drained) ack->flags |= DCC_ACK_NO_RTT;
    if (1.0 * ack->now_ns >= drain_until) drain_window = 0;
    if (configured == 0 && !app_limited) Drain(*ack, flight, shorter);
  }

  // What the base RTT is to have for the share that a window (in packets) is of the line.
  double Share(double window_packets) const {
    const double whole = (base + noise) / packet_;
    return T() * std::clamp(std::log(whole / 2 / window_packets), 0.0, std::log(128));
  }
  // The delay for which a law gives up all but 1/e of its rate.
  double T() const { return std::max(std::min(noise - base / 32, base / 4), 0.0); }

  // The reply to a stopped flow's probe: a full packet may take longer by two packets' time.
  void SmallSample(const dcc_ack& ack) {
    event = Event::kNothing;
    answer = Answer::kNothing;
    knife_edge = false;
    if (line_configured && extra == 0) Doubt(ack, 0, ack.rtt_ns + 2 * packet_);
  }

  double PathBase() const { return std::min(base + noise + share, 1e9); }

  // The base RTT: exactly.
  double base, configured = 0;
  int source = DCC_BASE_UNKNOWN;
  double seen = -1;  // when; -1: never
  // The noise.
  double noise = 0, noise_configured = 0;
  double share = 0;
  // The line rate.
  bool line_configured = false;
  double rate_bps = 0, floor = 0, window = 0;
  // The probe: exactly.
  double extra = 0, flight_then = 0;
  int looks = 0, far_looks = 0, passed = 0;
  // The next probe lies in [wait_least, wait_below) where the answer makes it wait.
  double wait_least = 0, wait_below = 0;
  // The drain; drain_waits: the last sample planned the next one for [drain_least, drain_below).
  double drain_window = 0;
  bool drain_begins = false, drain_waits = false;
  double drain_until = 0, drain_least = 0, drain_below = 0;
  // What came of the last sample, and whether a comparison of rounded values decided it.
  Event event = Event::kNothing;
  Answer answer = Answer::kNothing;
  bool knife_edge = false;

 private:
  struct RoundSample {
    double now, rtt, bytes;
  };

  static double Clamp(double rtt) { return std::clamp(rtt, 1e3, 1e9); }

  // Are two rounded values so near that their order is a matter of rounding?
  void Edge(double a, double b, double near) {
    if (std::fabs(a - b) <= near) knife_edge = true;
  }

  // ---- the base RTT

  double OfHandshake() const { return Clamp(handshake_ + 2 * packet_); }

  bool CacheIsAllowed() const {
    if (cached_ == 0) return false;
    if (handshake_ == 0) return true;
    // Two more links for each of the hosts' own, a 16th, and no error here.
    return cached_ <= OfHandshake() + (exact_ ? 4 * packet_ + std::floor(handshake_ / 16) : 0);
  }

  void TakeBase(double rtt, bool small, double now) {
    rtt = Clamp(rtt);
    const bool of_data = source >= DCC_BASE_HANDSHAKE;
    if (configured > 0 || (small && of_data)) return;
    const bool first = small ? source == DCC_BASE_UNKNOWN : !of_data;
    if (!first && rtt >= base) return;
    base = rtt;
    seen = now;
    source = small ? DCC_BASE_SMALL : DCC_BASE_DATA;
    if (small) {
      if (cached_ > 0) base = std::min(base, cached_);
      return;
    }
    if (!first || !line_configured) return;
    double shorter = handshake_ > 0 ? OfHandshake() : kNone;
    int by = DCC_BASE_HANDSHAKE;
    if (CacheIsAllowed()) {
      shorter = cached_;
      by = DCC_BASE_CACHE;
    }
    if (shorter < base) {
      base = shorter;
      source = by;
      seen = -1;
    }
  }

  double Tolerance(double of) const {
    return std::min(std::floor(of / 32), std::floor(target / 4));
  }

  bool InDoubt(double rtt, double now) {
    if (target == 0) return false;
    if (source == DCC_BASE_PROBED && rtt <= configured + noise + share + Tolerance(configured)) {
      source = DCC_BASE_CONFIGURED;
      base = Clamp(configured);
    }
    if (rtt <= base + noise + share + (seen < 0 ? Tolerance(base) : target)) {
      seen = now;
      return false;
    }
    return seen < 0 || now - seen > 32 * base;
  }

  // ---- a round

  // The noise does where it is estimated, and the line rate where it is unknown.
  bool ReadsRounds() const {
    return !line_configured || (configured == 0 && noise_configured == 0);
  }

  void AddToRound(const dcc_ack& ack, double path_base) {
    round_.push_back({1.0 * ack.now_ns, 1.0 * ack.rtt_ns, 1.0 * ack.acked_bytes});
    if (round_.size() < 12 || 1.0 * ack.send_ns < round_.front().now) return;
    double sum = 0, steps = 0, bytes = 0, least = kNone, most = 0;
    for (size_t i = 0; i < round_.size(); ++i) {
      sum += round_[i].rtt;
      if (i > 0) bytes += round_[i].bytes;
      if (i > 0) steps += std::fabs(round_[i].rtt - round_[i - 1].rtt);
      least = std::min(least, round_[i].rtt);
      most = std::max(most, round_[i].rtt);
    }
    const double n = static_cast<double>(round_.size());
    const double time = std::max(round_.back().now - round_.front().now, 1.0);
    if (configured == 0) Noise(n, sum / n, steps, time, least, most);
    if (!line_configured) Line(bytes * 8e9 / time, least, path_base);
    round_.clear();
  }

  // ---- the noise

  void Noise(double n, double mean, double steps, double time, double least, double most) {
    const double s = std::min(time, (n - 1) * base / 2);
    double q = s / 4;
    // Twice in a base RTT.
    if (time <= n * base / 2) q = std::min(q, most - least + s / 32);
    Edge(time, n * base / 2, n);
    const bool noisy = steps > (n - 1) * packet_ + q;
    Edge(steps, (n - 1) * packet_ + q, n);
    event = noisy ? Event::kNoisy : Event::kQuiet;
    if (noise_configured > 0) return;
    const double x =
        noisy ? std::max(0.0, std::min({3 * (mean - least), mean - base, 2 * base})) : 0;
    noise += (x - noise) / 8;
  }

  // ---- the line rate

  void Carry(double rtt, double flight, double path_base) {
    const double more = rtt <= path_base + floor ? flight : std::max(std::floor(flight / 8), 1.0);
    window = std::max(window, flight + more);
  }

  void Line(double rate, double least, double path_base) {
    round_rate_ = rate;
    const bool used = rate >= rate_bps * 2 / 3, drains = least < least_before_;
    Edge(rate, rate_bps * 2 / 3, 3);
    const bool queue = least > path_base + floor / 2;
    Edge(least, path_base + floor / 2, 1);
    least_before_ = least;
    if (used && !queue) {
      // Twice as much each time.
      raise_ = std::min(std::max(2 * raise_, given_ / 8), rate_bps / 4);
      rate_bps = std::min(rate_bps + raise_, 8e11);
    } else {
      raise_ = 0;
      if (!used || !drains) rate_bps -= (rate_bps - given_) / 16;
    }
    SetFloor(path_base);
  }

  void SetFloor() { SetFloor(PathBase()); }

  void SetFloor(double path_base) {
    double packets = 0;
    if (round_rate_ > 0)
      packets = std::min(2 * wire_ * 8e9 / std::max(round_rate_, 1e6), 2 * path_base);
    floor = line_configured ? 0 : std::max(path_base / 4, packets);
  }

  // ---- the probe

  void ForgetProbes() {
    Rest();
    next_ = 0;
    own_until_ = -1;
    passed = 0;
  }

  void Rest() {
    extra = 0;
    looks = far_looks = 0;
    look_.clear();
    least_ = least_far_ = kLongest;
  }

  void Wait(double now, double rtts) {
    extra = looks = 0;
    look_.clear();
    wait_least = now + mean_ * rtts;
    wait_below = now + mean_ * 2 * rtts;
  }

  double Look(double rtt, bool full) {
    look_.push_back(full ? rtt : rtt + 2 * packet_);
    double sum = 0;
    for (const double each : look_) sum += each;
    return std::min(sum / static_cast<double>(look_.size()), kLongest);
  }

  void Doubt(const dcc_ack& ack, u32 flight, double rtt) {
    if (!InDoubt(rtt, 1.0 * ack.now_ns)) {
      Rest();
      return;
    }
    least_ = std::min(least_, rtt);
    least_far_ = std::min(least_far_, rtt);
    if (extra > 0)
      Judge(ack, flight);
    else
      Watch(ack, flight);
    if (answer != Answer::kPath) return;
    base = Clamp(least_);
    seen = 1.0 * ack.now_ns;
    cached_ = 0;
    source = configured > 0 ? DCC_BASE_PROBED : DCC_BASE_DATA;
  }

  void Watch(const dcc_ack& ack, u32 flight) {
    const double now = 1.0 * ack.now_ns;
    const double band = std::min(4 * packet_, std::max(std::floor(base / 16), packet_));
    if (look_.empty()) since_ = now;
    const double mean = Look(ack.rtt_ns, flight > 0);
    if (look_.size() < 4 || 1.0 * ack.send_ns < since_) return;
    look_.clear();
    const bool alike = looks > 0 && std::fabs(mean - mean_) <= band;
    if (looks > 0) Edge(std::fabs(mean - mean_), band, 1);
    looks = std::min(alike ? looks + 1 : 1, 3);
    mean_ = mean;
    Edge(mean, least_ + band, 1);
    const bool near = mean <= least_ + band;
    if (near || ++far_looks == 16) {
      if (!near) least_ = least_far_;
      far_looks = 0;
      least_far_ = kLongest;
    }
    if (!near || looks < 3 || now < next_) return;
    answer = Answer::kBegin;
    most_ = passed > 0 ? std::clamp(std::floor(base / (8 * packet_)), 2.0, 4.0) : 2.0;
    step_ = 1 + std::floor(most_ / std::max(1.0, 1.0 * flight));
    extra = std::min(step_, most_);
    flight_then = flight;
    since_ = now;
  }

  void Judge(const dcc_ack& ack, u32 flight) {
    const double now = 1.0 * ack.now_ns;
    extra = std::min(extra + step_, most_);
    if (1.0 * ack.send_ns < since_ || flight < std::max(1.0, 1.0 * flight_then) + most_ - 1) {
      if (now - since_ > 8 * mean_) {
        answer = Answer::kTimeout;
        Wait(now, 8);
      }
      return;
    }
    const double mean = Look(ack.rtt_ns, true);
    if (look_.size() < 4) return;
    const double half = most_ / 2 * packet_;
    Edge(mean, mean_ + half, 1.5);
    if (mean > mean_ + half) {
      answer = Answer::kQueue;
      passed = 0;
      Wait(now, 8);
      return;
    }
    extra = 0;
    look_.clear();
    looks = 2;
    answer = ++passed < 4 ? Answer::kPass : Answer::kPath;
    if (answer == Answer::kPath) passed = 0;
  }

  // The law sees nothing of a probe, from its first packet on to the last that was sent while it
  // went on.
  void Hide(dcc_ack* ack) {
    const double sent = 1.0 * ack->send_ns;
    if (extra > 0) {
      own_until_ = 1.0 * ack->now_ns;
      if (sent < since_) return;
    } else if (own_until_ < 0 || sent > own_until_) {
      own_until_ = -1;
      return;
    }
    ack->flags |= DCC_ACK_NO_RTT;
  }

  // ---- the drain

  void ForgetDrains() {
    drain_rtts_ = 0;
    drain_until = drain_window = 0;
  }

  // The core's noise is 4 ns off at most.
  void PlanDrain(double now, double rtts) {
    drain_rtts_ = rtts;
    drain_waits = true;
    drain_least = now + (PathBase() - 4) * rtts;
    drain_below = now + (PathBase() + 4) * 2 * rtts;
  }

  void Drain(const dcc_ack& ack, u32 flight, bool shorter) {
    const double now = 1.0 * ack.now_ns;
    if (drain_rtts_ == 0 || (shorter && drain_rtts_ > 32)) {
      PlanDrain(now, 32);
    } else if (now >= drain_next_) {
      PlanDrain(now, std::min(4 * drain_rtts_, 2048.0));
      drain_begins = flight > 4;
      if (!drain_begins) return;
      drain_window = has_levels ? std::floor(flight / 2) : 4;
      drain_until = now + std::min(1.0 * ack.rtt_ns, 2 * PathBase());
    }
  }

  double handshake_, cached_ = 0, wire_;
  bool exact_ = false;
  std::vector<RoundSample> round_;
  double given_ = 0, round_rate_ = 0, raise_ = 0, packet_ = 1, least_before_ = 0;
  std::vector<double> look_;
  double least_ = kLongest, least_far_ = kLongest;
  double since_ = 0, mean_ = 0, next_ = 0, most_ = 4, step_ = 0, own_until_ = -1;
  double drain_rtts_ = 0, drain_next_ = 0;

 public:
  double target = 0;  // the queueing delay that the law holds
  bool has_levels = false;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_PATH_REFERENCE_H_

// SPDX-License-Identifier: Apache-2.0
//
// OSCAR in double precision, written from the formulas (Algorithms 1 and 2 and the rules listed in
// dcc_oscar.h), without the fixed-point core's tricks: a batch is a list of samples, a mean is a
// mean, a slope is a covariance over a variance.  The property tests hold the two together.
//
// Whole numbers stay whole where the core decides by comparing them: times, and the mean delay,
// which both round down to a nanosecond.
#ifndef DELAYCC_TESTS_UNIT_OSCAR_REFERENCE_H_
#define DELAYCC_TESTS_UNIT_OSCAR_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "dcc_oscar.h"

namespace delaycc_test {

// Algorithm 1, with its rules for pauses, wide batches and time that goes back.
class BatchReference {
 public:
  struct Estimate {
    double delay = 0;  // rounded down to a nanosecond
    double gradient = 0;
    double mean_inflight = 0;
    double mean_rtt = 0;
    double bytes = 0;              // of all samples
    double bytes_after_first = 0;  // of all but the first
    u64 start = 0, first = 0, last = 0;
    bool slope_valid = false;
    bool app_limited = false;
  };

  void Configure(u64 tau, bool sparse) {
    tau_ = tau;
    sparse_ = sparse;
    gap_restarts_ = DCC_BATCH_GAP_RESTARTS;
    Restart(0);
  }
  void set_gap(double gap_ns) { gap_ = gap_ns; }

  void Restart(u64 not_before) {
    Clear();
    start_.reset();
    not_before_ = not_before;
    newest_ = not_before;
  }

  // Takes a sample in, if it belongs to the batch.
  bool Take(const dcc_ack& ack) {
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) {
      bytes_ += ack.acked_bytes;
      return false;
    }
    if (!Admit(ack)) return false;
    if (samples_.empty()) bytes_of_first_ = bytes_ + ack.acked_bytes;
    bytes_ += ack.acked_bytes;
    samples_.push_back(ack);
    newest_ = std::max(newest_, ack.send_ns);
    return true;
  }

  std::optional<Estimate> Add(const dcc_ack& ack) {
    if (!Take(ack)) return std::nullopt;
    const bool enough = samples_.size() >= 3 || (sparse_ && irregular_);
    if (!(ack.send_ns - *start_ >= tau_ && enough) && samples_.size() < DCC_BATCH_MAX_COUNT)
      return std::nullopt;
    return Close();
  }

  size_t count() const { return samples_.size(); }

  // A pause has come within rounding of the longest allowed: the core's batch may be another one
  // from here on.
  bool undecided() const { return undecided_; }

  double Slope() const {
    const double n = static_cast<double>(samples_.size());
    double mean_x = 0, mean_y = 0, cov = 0, var = 0;
    for (const dcc_ack& s : samples_) {
      mean_x += X(s) / n;
      mean_y += Y(s) / n;
    }
    for (const dcc_ack& s : samples_) {
      cov += (X(s) - mean_x) * (Y(s) - mean_y);
      var += (X(s) - mean_x) * (X(s) - mean_x);
    }
    return var > 0 ? std::clamp(cov / var, -0.9, 1024.0) : 0;
  }

 private:
  void Clear() {
    samples_.clear();
    bytes_ = bytes_of_first_ = 0;
    irregular_ = false;
  }

  void Anchor(u64 send) {
    Clear();
    start_ = newest_ = send;
  }

  bool Admit(const dcc_ack& ack) {
    const u64 send = ack.send_ns;
    if (start_ && send >= newest_ &&
        std::fabs(static_cast<double>(send - newest_) - gap_) < 1 + 1e-4 * gap_)
      undecided_ = true;
    const bool regular = start_ && send >= newest_ && static_cast<double>(send - newest_) <= gap_ &&
                         send - *start_ <= 3 * tau_;
    if (regular) return true;
    if (newest_ > ack.now_ns || not_before_ > ack.now_ns) {
      not_before_ = 0;
      Anchor(send);
      return true;
    }
    if (send < not_before_) return false;
    if (!start_) {
      Anchor(send);
      return true;
    }
    if (send < *start_) return false;
    if (send < newest_) return true;
    if (static_cast<double>(send - newest_) > gap_) {
      if (gap_restarts_ > 0) {
        --gap_restarts_;
        Anchor(send);
        return true;
      }
      irregular_ = true;
    }
    if (send - *start_ > 3 * tau_) irregular_ = true;
    return true;
  }

  Estimate Close() {
    Estimate e;
    e.start = *start_;
    e.first = samples_.front().send_ns;
    e.last = newest_;
    e.bytes = bytes_;
    e.bytes_after_first = bytes_ - bytes_of_first_;
    const double n = static_cast<double>(samples_.size());
    for (const dcc_ack& s : samples_) {
      e.mean_rtt += s.rtt_ns / n;
      e.mean_inflight += s.inflight_bytes / n;
      e.app_limited |= (s.flags & DCC_ACK_APP_LIMITED) != 0;
    }
    double sum_rtt = 0;
    for (const dcc_ack& s : samples_) sum_rtt += s.rtt_ns;
    e.delay = std::floor(sum_rtt / n);
    e.slope_valid = !irregular_ && e.last > e.first;
    if (e.slope_valid) e.gradient = Slope();

    if (!irregular_) gap_restarts_ = DCC_BATCH_GAP_RESTARTS;
    const u64 last = newest_;
    Clear();
    start_ = last;
    return e;
  }

  double X(const dcc_ack& s) const {
    return static_cast<double>(std::min(s.send_ns - *start_, 3 * tau_));
  }

  // The core's sums take delays up to 2^25 of its time units, of which 3 tau has 2^18.
  double Y(const dcc_ack& s) const {
    double unit = 1;
    while (static_cast<double>(3 * tau_) >= unit * (1 << DCC_BATCH_X_BITS)) unit *= 2;
    return std::min(static_cast<double>(s.rtt_ns), unit * DCC_BATCH_Y_MAX);
  }

  u64 tau_ = 1;
  bool sparse_ = false;
  double gap_ = std::numeric_limits<double>::infinity();
  int gap_restarts_ = 0;
  std::optional<u64> start_;
  u64 newest_ = 0;
  u64 not_before_ = 0;
  std::vector<dcc_ack> samples_;
  double bytes_ = 0, bytes_of_first_ = 0;
  bool irregular_ = false, undecided_ = false;
};

class OscarReference {
 public:
  OscarReference(const dcc_path& path, const dcc_oscar_params& params) : paper_(params.paper) {
    mu_ = static_cast<double>(path.line_rate_bps) / 8e9;  // bytes per nanosecond
    packet_ = path.wire_bytes;
    base_ = path.base_rtt_ns;
    target_ = base_ + (params.target_queue_ns ? params.target_queue_ns
                                              : DefaultQueue(base_, path.noise_ns));
    if (params.target_delay_ns) target_ = params.target_delay_ns;
    target_ = std::clamp(target_, base_ + std::floor(base_ / 8),
                         static_cast<double>(DCC_OSCAR_TARGET_MAX_NS));
    tau_ = params.tau_ns ? params.tau_ns : std::max(500.0, std::floor(base_ / 2));
    const double queue = target_ - base_;
    slack_ = std::min(1000.0, std::floor(queue / 4));
    empty_ = base_ + slack_;
    queue_ = queue;
    line_known_ = !path.delay_floor_ns;
    own_queue_ = queue;
    const bool adapts =
        line_known_ && !paper_ && !params.target_queue_ns && !params.target_delay_ns;
    if (adapts)
      next_queue_ = DefaultQueue(base_ + std::floor((base_ - path.noise_ns) / 3), path.noise_ns);
    flow_scaling_ = paper_ ? 0 : params.flow_scaling_ppm / 1e6;
    // Difference 16.
    if (adapts && !params.flow_scaling_ppm) noise_ = std::min<double>(path.noise_ns, base_);
    SetTarget(target_);
    u_ai_ = params.u_ai_ppm / 1e6;
    u_hai_ = params.u_hai_ppm / 1e6;
    batch_.Configure(static_cast<u64>(tau_), !paper_);
    points_.assign(DCC_OSCAR_POINTS, Point{});
    ratios_.assign(DCC_OSCAR_RATIOS, Ratio{0, 1.0});
    delay_ = base_;
    SetRatio(0, 1.0);
  }

  double u() const { return u_; }
  // Windows in packets, rates in bits per second.
  double window() const {
    double w = u_ * target_ * mu_ / packet_;
    if (probe_ == DCC_OSCAR_PROBE_SENDING) w = std::max(w, 1.5 * probe_u_ * base_ * mu_ / packet_);
    // The BDP of the least delay that was seen.
    const double longest =
        paper_ || least_ <= base_ + band_ ? base_ : std::clamp(least_, base_, target_);
    return std::min(w, longest * mu_ / packet_);
  }
  double rate() const {
    return std::max(1000.0, (probe_ == DCC_OSCAR_PROBE_SENDING ? probe_u_ : u_) * mu_ * 8e9);
  }

  // Did this acknowledgment hang on a comparison of values that the core holds rounded?
  bool knife_edge() const { return knife_edge_; }

  bool undecided() const { return batch_.undecided(); }

  // Take the core's state over, so that one such comparison is not counted for ever after.
  void Follow(const dcc_oscar& core) {
    u_ = core.u_q24 / kOne;
    for (size_t i = 0; i < ratios_.size(); ++i) {
      const size_t at = (core.history.head + i) % DCC_OSCAR_RATIOS;
      ratios_[i] = {core.history.since_ns[at], core.history.ratio_q24[at] / kOne};
    }
    predicted_ = core.drain.predicted_q24 / kOne;
    raised_ = core.steer.raised_ns;
    excess_ = core.steer.excess_ns;
    cut_ = core.steer.cut_ns;
    drained_ = core.steer.drained_ns;
    delay_ = core.last.delay_ns;
    least_ = core.drain.least_ns;
    near_next_ = core.drain.next_batches;
    if (next_queue_ > own_queue_) UseQueue(core.drain.next_queue);
    probe_ = core.probe.phase;
    probe_u_ = core.probe.ratio_q24 / kOne;
    probe_from_ = core.probe.from_ns;
    probe_to_ = core.probe.to_ns;
    SetGap();
    ScaleTarget();
  }

  // Times that follow from the ratio: the longest pause within a batch, the end of a probe.
  double gap() const { return gap_; }
  double probe_to() const { return static_cast<double>(probe_to_); }

  // Algorithm 2.  True when a decision was made.
  bool Ack(const dcc_ack& ack) {
    knife_edge_ = false;
    bool decided = false;
    if (!paper_) decided = Watch(ack);
    if (const auto e = batch_.Add(ack)) {
      if (!least_ || e->delay < least_) least_ = e->delay;
      Decide(*e, ack);
      decided = true;
    }
    return decided;
  }

  void Loss(u64 now) {
    if (loss_holds_ || delay_ <= empty_) return;
    if (loss_ != 0 && static_cast<double>(now - loss_) < std::max(delay_, base_)) return;
    SetRatio(now, delay_ < target_ ? u_ * 7 / 8 : u_ / 2);
    ReactedToLoss(now);
  }

  void Rto(u64 now) {
    SetRatio(now, std::min(u_, packet_ / (target_ * mu_)));
    ReactedToLoss(now);
  }

 private:
  struct Ratio {
    u64 since;
    double u;
  };
  struct Point {
    u64 send = 0;
    double delay = 0;
    double delivered = 0;
  };
  using Estimate = BatchReference::Estimate;

  void ReactedToLoss(u64 now) {
    batch_.Restart(now);
    loss_ = now;
    loss_holds_ = true;
    predicted_ = 0;
    probe_ = DCC_OSCAR_PROBE_NONE;
  }

  void SetRatio(u64 now, double u) {
    u_ = std::clamp(u, 1.0 / 16384, 1.0);
    ratios_.pop_front();
    ratios_.push_back({now, u_});
    SetGap();
    ScaleTarget();
  }

  void SetTarget(double target) {
    target_ = target;
    drop_ = std::floor(queue_ / 5) * 2;
    band_ = std::min(500.0, std::floor((target - base_) / 8));
    near_ = std::floor((target - base_) / 3);
    high_ = target + std::floor(target / 8);
  }

  void UseQueue(bool next) {
    uses_next_ = next;
    queue_ = next ? next_queue_ : own_queue_;
    SetTarget(base_ + queue_);
    ScaleTarget();
  }

  // The queue of a path a third longer is this one's while it is there, until it is empty.
  void WatchNextQueue(const Estimate& e) {
    if (next_queue_ <= own_queue_) return;
    const double off = std::fabs(e.delay - base_ - next_queue_);
    near_next_ = off > std::floor(next_queue_ / 4) ? 0 : near_next_ + 1;
    if (uses_next_ ? e.delay <= empty_ : near_next_ >= 64) UseQueue(!uses_next_);
  }

  // The least of 6 us, 12 us, 24 us ... above 5/16 of a base RTT.
  static double DefaultQueue(double base, double noise) {
    double queue = 6000;
    while (queue <= (base - noise) * 5 / 16) queue *= 2;
    return queue + std::floor(noise / 2);
  }

  // Straight lines between the powers of two, as the core has them.
  static double Log2(double v) {
    const double whole = std::floor(std::log2(v));
    return whole + v / std::exp2(whole) - 1;
  }

  void ScaleTarget() {
    double part = queue_ * flow_scaling_;
    if (noise_ > 0)
      part =
          std::min(std::floor(queue_ / 2), std::max(0.0, base_ - noise_ - std::floor(noise_ / 2)));
    if (part == 0) return;
    SetTarget(base_ + queue_ - std::floor(part / 4 * std::max(0.0, Log2(16 * u_))));
  }

  void SetGap() {
    if (paper_) return;
    const double interval = packet_ / (u_ * mu_);
    gap_ = std::max(std::floor(tau_ / 4), 2.5 * interval);
    batch_.set_gap(gap_);
  }

  double RatioAt(u64 send) const {
    for (auto it = ratios_.rbegin(); it != ratios_.rend(); ++it)
      if (it->since <= send) return it->u;
    return ratios_.front().u;
  }

  double WindowRatio(const Estimate& e) const {
    return e.mean_rtt > 0 ? std::min(1.0, e.mean_inflight / (e.mean_rtt * mu_)) : 1.0;
  }

  double RateRatio(double bytes, u64 span, double gradient) const {
    return std::min(1.0, bytes / static_cast<double>(span) / ((1 + gradient) * mu_));
  }

  double ScaleToTarget(const Estimate& e, double u) const {
    return std::min(1.0, u * target_ / e.delay);
  }

  double Coordinate(const Estimate& e, bool accelerate, double u_r) const {
    const double u_w = WindowRatio(e);
    if (!e.slope_valid) return u_w;
    return accelerate ? std::max(u_w, u_r) : std::min(u_w, u_r);
  }

  double DecidePaper(const Estimate& e) const {
    if (e.delay <= empty_) return u_ + u_hai_;
    const double u_r = RateRatio(e.bytes, e.last - e.start, e.gradient);
    return Coordinate(e, e.delay < target_, u_r) + u_ai_;
  }

  bool Calm(u64 send) const { return static_cast<double>(send - high_send_) > 2 * base_; }

  void ForgetPoints() {
    for (Point& p : points_) p.delay = 0;
    have_point_ = false;
  }

  // On top of the predicted share: the less sure, the further apart the packets are.
  double Margin() {
    const double step = std::floor((target_ - base_) / 16);
    const size_t n = points_.size();
    const double end = points_[n - 2].delay, start = points_[n - 3].delay;
    const double before = points_[n - 4].delay;
    const bool sure = end > empty_ && start - end >= step && before - start >= step;
    const double rare = packet_ / (mu_ * RatioAt(points_[n - 2].send)) / (target_ - base_);
    if (std::fabs(rare - 0.5) < 1e-3) knife_edge_ = true;
    const bool guess = rare >= 0.5 && !sure;
    return std::clamp(4 * rare * rare, 1.0 / 16, guess ? 4.0 : 0.25);
  }

  void TrackDrop(const dcc_ack& ack) {
    const Point& newest = points_.back();
    if (have_point_ &&
        (ack.send_ns <= newest.send || static_cast<double>(ack.send_ns - newest.send) * 6 < tau_))
      return;
    for (const Point& p : points_) {
      const double span = static_cast<double>(ack.send_ns - p.send);
      const double drop = std::max(0.0, p.delay - ack.rtt_ns);
      if (drop < drop_ || p.delay > high_ || drop < 0.3 * span || span > 4 * tau_) continue;
      const double sent = span > 0 ? std::min(1.0, (delivered_ - p.delivered) / span / mu_) : 1.0;
      const double own = std::min(sent, RatioAt(p.send));
      const double rest = std::max(span - drop, std::max(1.0, std::floor(span / 20)));
      predicted_ = std::max(predicted_, std::min(1.0, own * span / rest));
    }
    points_.pop_front();
    points_.push_back({ack.send_ns, static_cast<double>(ack.rtt_ns), delivered_});
    have_point_ = true;
  }

  void ProbeBegin(u64 now) {
    if (probe_ != DCC_OSCAR_PROBE_NONE || u_ >= 1) return;
    probe_u_ = std::min(1.0, 2 * u_);
    const double train = DCC_OSCAR_PROBE_PACKETS * packet_ / (probe_u_ * mu_);
    probe_ = DCC_OSCAR_PROBE_SENDING;
    probe_from_ = now;
    probe_to_ = now + static_cast<u64>(std::clamp(train, std::floor(base_ / 4), 4 * base_));
    probe_delay_ = 0;
  }

  bool ProbeJudge(const dcc_ack& ack) {
    probe_ = DCC_OSCAR_PROBE_NONE;
    if (probe_delay_ <= 0 || probe_delay_ > base_ + std::floor(slack_ / 2)) return false;
    const double u = std::max(u_, probe_u_);
    raised_ = ack.now_ns;
    delay_ = probe_delay_;
    SetRatio(ack.now_ns, u);
    if (u_ < 1 && 1 - u_ < 1e-4) knife_edge_ = true;
    ProbeBegin(ack.now_ns);
    return true;
  }

  bool ProbeStep(const dcc_ack& ack) {
    bool changed = false;
    if (probe_ == DCC_OSCAR_PROBE_SENDING && ack.now_ns >= probe_to_) {
      probe_ = DCC_OSCAR_PROBE_AWAITED;
      probe_to_ = ack.now_ns;
      changed = true;
    }
    if (ack.send_ns < probe_from_) return changed;
    if (probe_ == DCC_OSCAR_PROBE_AWAITED && ack.send_ns > probe_to_)
      return ProbeJudge(ack) || changed;
    probe_delay_ = ack.rtt_ns;
    return changed;
  }

  bool Watch(const dcc_ack& ack) {
    delivered_ += ack.acked_bytes;
    if (ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) return false;
    if (sent_ > ack.now_ns) {
      ForgetPoints();
      probe_ = DCC_OSCAR_PROBE_NONE;
      high_send_ = raised_ = 0;
      predicted_ = 0;
      sent_ = ack.send_ns;
    }
    if (ack.send_ns > sent_ && static_cast<double>(ack.send_ns - sent_) > gap_) ForgetPoints();
    sent_ = std::max(sent_, ack.send_ns);
    if (ack.rtt_ns > high_) high_send_ = ack.send_ns;
    if (ack.rtt_ns - sample_ > 500) predicted_ = 0;
    sample_ = ack.rtt_ns;

    bool changed = probe_ != DCC_OSCAR_PROBE_NONE && ProbeStep(ack);
    TrackDrop(ack);
    if (predicted_ <= 0 || ack.rtt_ns > empty_) return changed;
    if (u_ < 1 && std::fabs(predicted_ - u_) < 1e-3 * u_) knife_edge_ = true;
    if (predicted_ > u_ && Calm(ack.send_ns)) {
      raised_ = ack.now_ns;
      delay_ = ack.rtt_ns;
      SetRatio(ack.now_ns, predicted_ * (1 + Margin()));
      ProbeBegin(ack.now_ns);
      changed = true;
    }
    predicted_ = 0;
    return changed;
  }

  // How far the core's ratios may be off, relatively.
  static double Rounding(double u) { return 1e-4 + 2 / kOne / u; }

  // Bytes in flight within a packet of what pacing or window allowed are exactly that.
  double WindowRatioExact(const Estimate& e, double us) {
    const double paced = us * mu_ * e.delay;
    const double windowed = us * mu_ * target_;
    for (const double allowed : {paced, windowed})
      if (std::fabs(std::fabs(e.mean_inflight - allowed) - packet_) < 4 + allowed * Rounding(us))
        knife_edge_ = true;
    if (std::fabs(e.mean_inflight - paced) <= packet_) return us;
    if (std::fabs(e.mean_inflight - windowed) <= packet_) return ScaleToTarget(e, us);
    return WindowRatio(e);
  }

  // The smaller of two lines over the ratio, U_AI at least.
  double AiStep() const { return u_ai_ * std::max(1.0, std::min(1 + 14 * u_, 5 - 10 * u_)); }

  double AiSince(u64 first, u64 now) const {
    const u64 interval = std::clamp(now - decided_, static_cast<u64>(tau_), u64{1} << 37);
    const u64 elapsed = std::min(std::max(now - first, interval), interval * DCC_OSCAR_AI_STEPS);
    return AiStep() * static_cast<double>(elapsed) / static_cast<double>(interval);
  }

  bool Draining(const Estimate& e) const { return e.first >= cut_ && e.first < drained_; }

  // Four fifths of the mean excess over the target are taken off; half of the ratio in force.
  double Hold(const Estimate& e, double us) {
    excess_ += static_cast<s64>(e.delay) - static_cast<s64>(target_) - (excess_ >> 5);
    double aim = target_;
    if (excess_ > 0) aim -= std::min(static_cast<double>(excess_ >> 3), target_ - base_);
    return (std::min(1.0, us * aim / e.delay) + u_) / 2;
  }

  // The rate loop, and half of what is missing to the target, at most an eighth.
  double Fill(const Estimate& e, double us) const {
    const double balance =
        e.slope_valid ? RateRatio(e.bytes_after_first, e.last - e.first, e.gradient) : us;
    const double missing = std::min(1.0, std::floor((target_ - e.delay) / 2) / e.delay);
    return balance * (1 + std::min(missing, 0.125));
  }

  // Application-limited it may be called, but it was sent as its ratio allowed.
  bool UsedItsShare(const Estimate& e) {
    const double us = RatioAt(e.first);
    const double sent =
        e.last > e.first ? RateRatio(e.bytes_after_first, e.last - e.first, 0) : 1.0;
    const double windowed = us * target_ * mu_;
    if (std::fabs(sent * 16 - us * 15) < 16 * us * Rounding(us) ||
        std::fabs(e.mean_inflight - windowed) < 4 + windowed * Rounding(us))
      knife_edge_ = true;
    return sent * 16 >= us * 15 || e.mean_inflight >= windowed;
  }

  double DecideDefault(const Estimate& e, const dcc_ack& ack) {
    WatchNextQueue(e);
    if (e.delay <= empty_) {
      const double u = u_ + u_ai_;
      if (e.first > raised_) ProbeBegin(ack.now_ns);
      return u;
    }
    const double us = RatioAt(e.first);
    double u, ai = AiSince(e.first, ack.now_ns);
    const bool close = e.delay < target_ + near_;
    if (close && std::fabs(std::fabs(e.gradient) - 0.15) < 1e-3) knife_edge_ = true;
    if (close && std::fabs(e.gradient) < 0.15) {
      u = e.delay + near_ < target_ ? Fill(e, us) : Hold(e, us);
      ai /= 2;
    } else {
      const bool accelerate = e.delay < target_ - band_;
      const double u_w = WindowRatioExact(e, us);
      double u_r = u_w;
      if (!accelerate || Calm(e.last))
        u_r = RateRatio(e.bytes_after_first, e.last - e.first, e.gradient);
      u = u_w;
      if (e.slope_valid) u = accelerate ? std::max(u_w, u_r) : std::min(u_w, u_r);
      if (e.delay > high_) {
        if (u != u_ && std::fabs(u - u_) < 1e-4 * u_) knife_edge_ = true;
        if (u < u_ && Draining(e)) return u_;
        if (u < u_) {
          cut_ = ack.now_ns;
          drained_ = ack.now_ns + static_cast<u64>(e.delay - target_);
        }
      }
    }
    u += ai;
    return e.first < raised_ && ack.rtt_ns < target_ ? std::max(u_, u) : u;
  }

  void Decide(const Estimate& e, const dcc_ack& ack) {
    double u = u_;
    if (e.app_limited && !UsedItsShare(e)) {
      if (e.delay >= target_) u = ScaleToTarget(e, RatioAt(e.first)) + u_ai_;
    } else {
      u = paper_ ? DecidePaper(e) : DecideDefault(e, ack);
    }
    decided_ = ack.now_ns;
    delay_ = e.delay;
    loss_holds_ = false;
    SetRatio(ack.now_ns, u);
  }

  static constexpr double kOne = 1 << 24;

  bool paper_;
  bool line_known_ = false, uses_next_ = false;
  int near_next_ = 0;
  double own_queue_ = 0, next_queue_ = 0, slack_ = 0;
  double queue_, flow_scaling_, noise_ = 0;
  double mu_, packet_, base_, target_, tau_, empty_, band_, near_, high_, drop_, u_ai_, u_hai_;
  BatchReference batch_;
  double u_ = 1;
  double gap_ = static_cast<double>(DCC_BATCH_NO_GAP);
  std::deque<Ratio> ratios_;
  std::deque<Point> points_;
  u64 raised_ = 0, high_send_ = 0, loss_ = 0;
  double predicted_ = 0, delivered_ = 0, delay_ = 0, least_ = 0;
  bool loss_holds_ = false, knife_edge_ = false;

  // Of oscar alone.
  u32 probe_ = DCC_OSCAR_PROBE_NONE;
  double probe_u_ = 0, probe_delay_ = 0, sample_ = 0;
  s64 excess_ = 0;
  u64 probe_from_ = 0, probe_to_ = 0, sent_ = 0, decided_ = 0, cut_ = 0, drained_ = 0;
  bool have_point_ = false;
};

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_OSCAR_REFERENCE_H_

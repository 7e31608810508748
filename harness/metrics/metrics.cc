// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "base/statistics.h"
#include "spec/packet.h"

namespace delaycc {
namespace {

constexpr int64_t kGridNs = 1000;
constexpr int64_t kRecoverStepNs = 100;
constexpr double kNsPerUs = 1000;
constexpr int kJainStepsPerWindow = 10;
constexpr double kEwmaWeight = 0.2;  // of a new quotient; OSCAR, section 6.2
constexpr uint16_t kDropped = kPacketDropTail | kPacketDropLoss;

// The flow of a data packet or of an acknowledgment; -1: none of ours.
int flow_of(uint16_t client_port, size_t flows) {
  const int id = client_port - kClientPort;
  return id >= 0 && static_cast<size_t>(id) < flows ? id : -1;
}

bool is_data(const PacketRecord& event) { return event.dport < kClientPort; }

bool inside(const std::vector<TimeSpan>& time, int64_t t_ns) {
  for (const TimeSpan& interval : time)
    if (t_ns >= interval.first && t_ns < interval.second) return true;
  return false;
}

int64_t length(const std::vector<TimeSpan>& time) {
  int64_t sum = 0;
  for (const TimeSpan& interval : time) sum += interval.second - interval.first;
  return sum;
}

// Continues a wrapping 32-bit sequence number near `reference`.
int64_t unwrap(uint32_t seq, int64_t reference) {
  return reference + static_cast<int32_t>(seq - static_cast<uint32_t>(reference));
}

// Pairs one flow's packets with the ACKs that cover them.
class RttMeter {
 public:
  void sent(const PacketRecord& event, int64_t now_ns) {
    if (event.payload_bytes == 0) return;
    if (!any_) high_ = event.seq;
    any_ = true;
    const int64_t begin = unwrap(event.seq, high_);
    const int64_t end = begin + event.payload_bytes;
    if (begin < high_)
      for (auto it = segments_.rbegin(); it != segments_.rend() && it->end > begin; ++it)
        it->repeated = true;
    // What follows the repeated bytes in the same packet is sent for the first time.
    if (end <= high_) return;
    segments_.push_back({end, now_ns, begin < high_});
    high_ = end;
  }

  struct Acknowledged {
    std::vector<int64_t> sent_ns;  // first transmissions of the packets that the ACK covers first
    // When the packet was sent that the ACK ends with; -1 if it covers one that was sent more than
    // once, so that nobody knows which transmission it answers (Karn).
    int64_t last_sent_ns = -1;
  };
  Acknowledged acknowledged(uint32_t ack_seq) {
    Acknowledged result;
    if (!any_) return result;
    const int64_t ack = unwrap(ack_seq, high_);
    bool repeated = false;
    while (!segments_.empty() && segments_.front().end <= ack) {
      const Segment& segment = segments_.front();
      repeated = repeated || segment.repeated;
      result.last_sent_ns = segment.end == ack ? segment.sent_ns : -1;
      result.sent_ns.push_back(segment.sent_ns);
      segments_.pop_front();
    }
    if (repeated) result.last_sent_ns = -1;
    return result;
  }

 private:
  struct Segment {
    int64_t end;
    int64_t sent_ns;
    bool repeated;
  };
  bool any_ = false;
  int64_t high_ = 0;
  std::deque<Segment> segments_;
};

// When a flow stopped to send or to be received; the end of time if never.
int64_t end_of(const FlowRecord& flow, int64_t end_ns) {
  if (flow.stop_ns >= 0) return flow.stop_ns;
  return flow.received_ns >= 0 ? flow.received_ns : end_ns;
}

class Computation {
 public:
  Computation(const CompiledTrial& trial, const Records& records)
      : plan_(trial.plan),
        m_(trial.measurement),
        records_(records),
        samples_(flow_samples(trial, records)) {
    time_ = measured_time(m_.measure.from_ns, m_.measure.to_ns, m_.measure.exclude_ns);
    queue_time_ = m_.measure.queue_ns.empty() ? time_ : m_.measure.queue_ns;
    rtt_time_ = m_.measure.rtt_ns.empty() ? time_ : m_.measure.rtt_ns;
  }

  TrialResult run() {
    read_log();
    result_.flows = records_.flows;
    find_event();
    if (m_.log != LogChoice::kNone) {
      queue();
      throughput();
      rtt();
      gradient();
      recovery();
      suppression();
      priorities();
      priority_gap();
      fairness();
    }
    importance();
    completion(-1);
    for (size_t i = 0; i < m_.class_names.size(); i++) completion(static_cast<int>(i));
    losses();
    if (m_.log != LogChoice::kNone && m_.curves) rates();
    return std::move(result_);
  }

 private:
  void set(const char* name, double value, bool missed = false) {
    result_.metrics[name] = {value, missed};
  }
  int64_t relative(uint64_t t_ns) const { return static_cast<int64_t>(t_ns) - plan_.zero_ns; }

  void read_log() {
    const size_t flows = plan_.flows.size();
    per_flow_.assign(flows, ServiceCurve(m_.bottleneck_bps));
    last_sent_ns_.assign(flows, -1);
    std::vector<StreamCoverage> coverage(flows);
    std::vector<RttMeter> meters(flows);
    ServiceCurve all(m_.bottleneck_bps);
    for (const PacketRecord& event : records_.packets) {
      const int port = event.port_id;
      const bool data = is_data(event);
      const int id = flow_of(data ? event.sport : event.dport, flows);
      const bool dropped = event.flags & kDropped;
      if (dropped && data) drops_++;
      if (port == m_.bottleneck_port && data) {
        offered_++;
        if (dropped) lost_++;
      }
      if (port == m_.bottleneck_port && !dropped) {
        packets_.push_back(
            {relative(event.arrival_ns), relative(event.depart_ns), event.len_bytes});
        backlogs_.emplace_back(relative(event.arrival_ns), event.backlog_bytes);
        if (event.depart_ns != kNotDeparted) departures_.push_back(&event);
      }
      if (id < 0) continue;
      if (data && port == m_.host_port[id]) {
        meters[id].sent(event, relative(event.arrival_ns));
        if (event.payload_bytes > 0) last_sent_ns_[id] = relative(event.arrival_ns);
      } else if (!data && port == m_.return_port[id] && !dropped) {
        const int64_t delivered_ns =
            relative(event.depart_ns) + static_cast<int64_t>(m_.port_delay_ns[port]);
        const RttMeter::Acknowledged acked = meters[id].acknowledged(event.ack_seq);
        if (plan_.flows[id].measured && inside(rtt_time_, delivered_ns))
          for (const int64_t sent_ns : acked.sent_ns)
            rtts_us_.push_back(static_cast<double>(delivered_ns - sent_ns) / kNsPerUs);
        if (plan_.flows[id].group == m_.measure.gradient_of && acked.last_sent_ns >= 0)
          quotient(id, acked.last_sent_ns, delivered_ns - acked.last_sent_ns);
      }
    }
    // With priorities the order in which packets leave is not that in which they came.
    std::stable_sort(
        departures_.begin(), departures_.end(),
        [](const PacketRecord* a, const PacketRecord* b) { return a->depart_ns < b->depart_ns; });
    for (const PacketRecord* event : departures_) {
      const int64_t depart_ns = relative(event->depart_ns);
      all.add(depart_ns, event->len_bytes);
      const int id = is_data(*event) ? flow_of(event->sport, flows) : -1;
      if (id < 0) continue;
      per_flow_[id].add(depart_ns, event->len_bytes);
      const uint32_t fresh = coverage[id].add(event->seq, event->payload_bytes);
      if (plan_.flows[id].measured && inside(time_, depart_ns)) payload_bytes_ += fresh;
    }
    for (const TimeSpan& interval : time_)
      wire_bytes_ += all.bytes_between(interval.first, interval.second);
  }

  void queue() {
    result_.queue_bytes = queue_curve(packets_, plan_.end_ns);
    std::vector<double> samples;
    for (size_t i = 0; i < result_.queue_bytes.size(); i++)
      if (inside(queue_time_, static_cast<int64_t>(i) * kGridNs))
        samples.push_back(result_.queue_bytes[i]);
    uint32_t peak = 0;
    uint32_t highest = 0;
    for (const auto& [t_ns, bytes] : backlogs_) {
      peak = std::max(peak, bytes);
      if (inside(queue_time_, t_ns)) highest = std::max(highest, bytes);
    }
    set("queue_peak_bytes", peak);
    if (samples.empty()) return;
    double sum = 0, squares = 0;
    for (double s : samples) sum += s;
    const double mean = sum / static_cast<double>(samples.size());
    for (double s : samples) squares += (s - mean) * (s - mean);
    for (double s : samples) highest = std::max(highest, static_cast<uint32_t>(s));
    set("queue_mean_bytes", mean);
    set("queue_sd_bytes", std::sqrt(squares / static_cast<double>(samples.size())));
    set("queue_p99_bytes", percentile(samples, 0.99));
    set("queue_max_bytes", highest);
    set("queue_min_bytes", *std::min_element(samples.begin(), samples.end()));
  }

  void throughput() {
    const double ns = static_cast<double>(length(time_));
    set("goodput_gbps", static_cast<double>(payload_bytes_) * 8 / ns);
    const double busy_ns = wire_bytes_ * 8e9 / static_cast<double>(m_.bottleneck_bps);
    set("utilisation", busy_ns / ns);
    // What rounding of departures to nanoseconds leaves over is no idle time.
    set("idle_us", ns - busy_ns < 1 ? 0 : (ns - busy_ns) / kNsPerUs);
  }

  void rtt() {
    if (rtts_us_.empty()) return;
    set("rtt_p50_us", percentile(rtts_us_, 0.50));
    set("rtt_p99_us", percentile(rtts_us_, 0.99));
    set("rtt_p999_us", percentile(rtts_us_, 0.999));
  }

  // d(delay)/d(send time) at the bottleneck, from the rates that the plan's flows are paced at.
  double true_gradient(int64_t t_ns) const {
    double offered_bps = 0;
    for (const FlowPlan& flow : plan_.flows) {
      if (t_ns < flow.start_ns || (flow.stop_ns != kNever && t_ns >= flow.stop_ns)) continue;
      int64_t bps = flow.pacing_bps;
      for (const auto& [from_ns, step_bps] : flow.pacing_steps)
        if (t_ns >= from_ns) bps = step_bps;
      offered_bps += static_cast<double>(bps);
    }
    return offered_bps / static_cast<double>(m_.bottleneck_bps) - 1;
  }

  // The estimator to compare with: the quotient of two successive RTTs' difference and their send
  // times', smoothed.  Packets that left as one piece (GSO) have one send time; of them the last
  // RTT is taken.
  void quotient(int id, int64_t sent_ns, int64_t rtt_ns) {
    Smoothed& s = smoothed_[id];
    if (sent_ns > s.sent_ns) {
      if (s.before_sent_ns >= 0) {
        const double fresh = static_cast<double>(s.rtt_ns - s.before_rtt_ns) /
                             static_cast<double>(s.sent_ns - s.before_sent_ns);
        s.gradient += kEwmaWeight * (fresh - s.gradient);
        if (inside(time_, s.sent_ns)) ewma_error_.add(s.gradient - true_gradient(s.sent_ns));
      }
      s.before_sent_ns = s.sent_ns;
      s.before_rtt_ns = s.rtt_ns;
    }
    s.sent_ns = sent_ns;
    s.rtt_ns = rtt_ns;
  }

  void gradient() {
    if (m_.measure.gradient_of.empty()) return;
    SquaredError error;
    for (const Decision& decision : records_.decisions) {
      const int id = flow_of(decision.sport, plan_.flows.size());
      if (id < 0 || plan_.flows[id].group != m_.measure.gradient_of) continue;
      const int64_t sent_ns = decision.time_ns - plan_.zero_ns - decision.rtt_ns;
      if (inside(time_, sent_ns)) error.add(decision.gradient - true_gradient(sent_ns));
    }
    if (error.count == 0 || ewma_error_.count == 0) return;
    set("gradient_mse", error.mean());
    set("gradient_ewma_mse", ewma_error_.mean());
    set("gradient_gain", ewma_error_.mean() / error.mean());
  }

  // The scenario's event as it happened; -1 when it did not.
  void find_event() {
    if (!m_.event.present) return;
    if (m_.event.at_ns >= 0) {
      result_.event_ns = m_.event.at_ns;
      return;
    }
    int64_t last_ns = -1;
    for (const FlowPlan& flow : plan_.flows) {
      if (flow.group != m_.event.stop_of) continue;
      const FlowRecord& record = records_.flows.at(flow.id);
      if (record.stop_ns < 0 && record.received_ns < 0) return;
      last_ns = std::max(last_ns, record.stop_ns >= 0 ? record.stop_ns : last_sent_ns_[flow.id]);
    }
    result_.event_ns = last_ns;
  }

  void recovery() {
    if (m_.event.recovers.empty() || result_.event_ns < 0) return;
    ServiceCurve group(m_.bottleneck_bps);
    for (const PacketRecord* event : departures_) {
      if (!is_data(*event)) continue;
      const int id = flow_of(event->sport, plan_.flows.size());
      if (id >= 0 && plan_.flows[id].group == m_.event.recovers)
        group.add(relative(event->depart_ns), event->len_bytes);
    }
    int64_t horizon_ns = plan_.end_ns;
    if (m_.event.horizon_ns >= 0)
      horizon_ns = std::min(horizon_ns, result_.event_ns + m_.event.horizon_ns);
    MetricValue value = recovery_ns(group, m_.bottleneck_bps, result_.event_ns, horizon_ns,
                                    m_.event.window_ns, m_.event.threshold);
    set("recover_us", value.value / kNsPerUs, value.missed);
  }

  // How long the congestion lasts that the event, or the first flow's start, brings.
  void suppression() {
    if (m_.measure.suppress_delay_ns < 0) return;
    int64_t from_ns = result_.event_ns;
    if (!m_.event.present)
      for (const FlowRecord& flow : records_.flows)
        if (plan_.flows[flow.id].measured && flow.start_ns >= 0 &&
            (from_ns < 0 || flow.start_ns < from_ns))
          from_ns = flow.start_ns;
    if (from_ns < 0) return;
    const MetricValue value =
        suppression_ns(packets_, m_.bottleneck_bps, from_ns, plan_.end_ns,
                       m_.measure.suppress_delay_ns, m_.measure.suppress_hold_ns);
    set("suppress_us", value.value / kNsPerUs, value.missed);
  }

  // The highest priority that sends, from each time on that it changes; -1: none.
  std::vector<std::pair<int64_t, int64_t>> priority_steps() const {
    std::set<int64_t> times;
    for (const FlowPlan& flow : plan_.flows) {
      const FlowRecord& record = records_.flows.at(flow.id);
      if (flow.priority < 0 || record.start_ns < 0) continue;
      times.insert(record.start_ns);
      times.insert(end_of(record, plan_.end_ns));
    }
    std::vector<std::pair<int64_t, int64_t>> steps;
    for (const int64_t t_ns : times) {
      int64_t highest = -1;
      for (const FlowPlan& flow : plan_.flows) {
        const FlowRecord& record = records_.flows.at(flow.id);
        if (record.start_ns >= 0 && record.start_ns <= t_ns && end_of(record, plan_.end_ns) > t_ns)
          highest = std::max(highest, flow.priority);
      }
      if (steps.empty() || steps.back().second != highest) steps.emplace_back(t_ns, highest);
    }
    return steps;
  }

  void priorities() {
    std::map<int64_t, ServiceCurve> curves;
    ServiceCurve all(m_.bottleneck_bps);
    for (const FlowPlan& flow : plan_.flows)
      if (flow.priority >= 0) curves.emplace(flow.priority, ServiceCurve(m_.bottleneck_bps));
    if (curves.size() < 2) return;
    for (const PacketRecord* event : departures_) {
      if (!is_data(*event)) continue;
      const int id = flow_of(event->sport, plan_.flows.size());
      const int64_t depart_ns = relative(event->depart_ns);
      all.add(depart_ns, event->len_bytes);
      if (id >= 0 && plan_.flows[id].priority >= 0)
        curves.at(plan_.flows[id].priority).add(depart_ns, event->len_bytes);
    }
    const MeasureSpec& measure = m_.measure;
    const double bytes_per_ns = static_cast<double>(m_.bottleneck_bps) / 8e9;
    const int64_t window_ns = measure.takeover_window_ns;
    const double enough =
        measure.takeover_threshold * bytes_per_ns * static_cast<double>(window_ns);
    double up_ns = 0, down_ns = 0, top_bytes = 0, all_bytes = 0, least = 1;
    double active_bytes = 0;
    int ups = 0, downs = 0;
    int64_t settled_ns = 0, active_ns = 0;
    bool up_missed = false, down_missed = false;
    const auto steps = priority_steps();
    for (size_t i = 0; i < steps.size(); i++) {
      const auto [from_ns, highest] = steps[i];
      const int64_t to_ns = i + 1 < steps.size() ? steps[i + 1].first : plan_.end_ns;
      if (highest < 0) continue;
      active_ns += to_ns - from_ns;
      active_bytes += all.bytes_between(from_ns, to_ns);
      const ServiceCurve& top = curves.at(highest);
      if (i > 0 && steps[i - 1].second >= 0) {
        int64_t t_ns = from_ns + window_ns;
        while (t_ns < to_ns && top.bytes_between(t_ns - window_ns, t_ns) < enough) t_ns += 1000;
        const bool rising = highest > steps[i - 1].second;
        (rising ? up_ns : down_ns) += static_cast<double>(std::min(t_ns, to_ns) - from_ns);
        (rising ? ups : downs)++;
        (rising ? up_missed : down_missed) |= t_ns >= to_ns;
      }
      const int64_t begin_ns = from_ns + measure.settle_ns;
      if (begin_ns >= to_ns) continue;
      settled_ns += to_ns - begin_ns;
      top_bytes += top.bytes_between(begin_ns, to_ns);
      all_bytes += all.bytes_between(begin_ns, to_ns);
      constexpr int64_t kShareWindow = 100'000;
      for (int64_t t_ns = begin_ns; t_ns + kShareWindow <= to_ns; t_ns += kShareWindow) {
        const double bytes = all.bytes_between(t_ns, t_ns + kShareWindow);
        if (bytes > 0)
          least = std::min(least, top.bytes_between(t_ns, t_ns + kShareWindow) / bytes);
      }
    }
    if (ups) set("takeover_us", up_ns / ups / kNsPerUs, up_missed);
    if (downs) set("giveback_us", down_ns / downs / kNsPerUs, down_missed);
    if (all_bytes > 0) {
      set("top_share", top_bytes / all_bytes);
      set("top_share_min", least);
    }
    if (settled_ns > 0)
      set("top_utilisation", all_bytes / (bytes_per_ns * static_cast<double>(settled_ns)));
    if (active_ns > 0)
      set("priority_utilisation", active_bytes / (bytes_per_ns * static_cast<double>(active_ns)));
  }

  // Completion times against those of strict priorities at the bottleneck: the highest that has
  // something to send shares it equally, a fluid. What an idle path takes beside comes on top.
  void priority_gap() {
    struct Job {
      const FlowPlan* flow;
      double rest_bytes, wire_bytes, end_ns;
    };
    std::vector<Job> jobs;
    const double mss = m_.mtu_bytes - kTcpIpBytes;
    const double bytes_per_ns = static_cast<double>(m_.bottleneck_bps) / 8e9;
    for (const FlowPlan& flow : plan_.flows) {
      if (flow.size_bytes == kNever || flow.stop_ns != kNever || flow.priority < 0) return;
      const double size = static_cast<double>(flow.size_bytes);
      const double bytes = size + std::ceil(size / mss) * (kTcpIpBytes + kEthernetBytes);
      jobs.push_back({&flow, bytes, bytes, -1});
    }
    if (std::all_of(jobs.begin(), jobs.end(), [&](const Job& job) {
          return job.flow->priority == jobs.front().flow->priority;
        }))
      return;
    double t_ns = 0;
    for (size_t left = jobs.size(); left > 0;) {
      double next_ns = std::numeric_limits<double>::infinity();
      int64_t top = -1;
      for (const Job& job : jobs) {
        if (job.end_ns >= 0) continue;
        const double start_ns = static_cast<double>(job.flow->start_ns);
        if (start_ns > t_ns)
          next_ns = std::min(next_ns, start_ns);
        else
          top = std::max(top, job.flow->priority);
      }
      auto served = [&](const Job& job) {
        return job.end_ns < 0 && static_cast<double>(job.flow->start_ns) <= t_ns &&
               job.flow->priority == top;
      };
      const auto sharing = std::count_if(jobs.begin(), jobs.end(), served);
      const double rate = sharing ? bytes_per_ns / static_cast<double>(sharing) : 0;
      for (const Job& job : jobs)
        if (served(job)) next_ns = std::min(next_ns, t_ns + job.rest_bytes / rate);
      const double step_ns = next_ns - t_ns;
      for (Job& job : jobs) {
        if (!served(job)) continue;
        job.rest_bytes -= rate * step_ns;
        if (job.rest_bytes > 0.5) continue;
        job.end_ns = next_ns;
        left--;
      }
      t_ns = next_ns;
    }
    double gap = 0;
    bool missed = false;
    for (const Job& job : jobs) {
      const FlowRecord& record = records_.flows.at(job.flow->id);
      if (!job.flow->measured || record.start_ns < 0) continue;
      missed = missed || record.received_ns < 0;
      const double fct_ns = static_cast<double>(
          (record.received_ns < 0 ? plan_.end_ns : record.received_ns) - record.start_ns);
      const double lone_ns = static_cast<double>(m_.ideal_fct_ns.at(job.flow->id));
      const double ideal_ns = job.end_ns - static_cast<double>(job.flow->start_ns) +
                              std::max(0.0, lone_ns - job.wire_bytes / bytes_per_ns);
      gap += std::abs(fct_ns - ideal_ns) / ideal_ns;
    }
    set("priority_fct_gap", gap, missed);
  }

  // Jain's index over the flows that are active throughout (from, to]; -1 for fewer than two.
  double jain(int64_t from_ns, int64_t to_ns) const {
    std::vector<double> bytes;
    for (const FlowPlan& flow : plan_.flows) {
      const FlowRecord& record = records_.flows.at(flow.id);
      if (!flow.measured || record.start_ns < 0 || record.start_ns > from_ns ||
          end_of(record, plan_.end_ns) < to_ns)
        continue;
      bytes.push_back(per_flow_[flow.id].bytes_between(from_ns, to_ns));
    }
    return bytes.size() < 2 ? -1 : jain_index(bytes);
  }

  void fairness() {
    const int64_t window_ns = m_.measure.jain_window_ns;
    double sum = 0;
    int windows = 0;
    for (const TimeSpan& interval : time_)
      for (int64_t t = interval.first; t + window_ns <= interval.second; t += window_ns) {
        const double index = jain(t, t + window_ns);
        if (index < 0) continue;
        sum += index;
        windows++;
      }
    if (windows > 0) set("jain", sum / windows);

    // Between two changes of the set of active flows, how long until the rest is fair.
    std::vector<int64_t> changes = {plan_.end_ns};
    for (const FlowPlan& flow : plan_.flows) {
      if (!flow.measured) continue;
      const FlowRecord& record = records_.flows.at(flow.id);
      if (record.start_ns >= 0) changes.push_back(record.start_ns);
      const int64_t end_ns = end_of(record, plan_.end_ns);
      if (end_ns < plan_.end_ns) changes.push_back(end_ns);
    }
    if (result_.event_ns >= 0) changes.push_back(result_.event_ns);
    std::sort(changes.begin(), changes.end());
    double total_ns = 0;
    int count = 0;
    bool missed = false;
    for (size_t i = 0; i + 1 < changes.size(); i++) {
      const int64_t from_ns = changes[i], to_ns = changes[i + 1];
      if (to_ns - from_ns < 2 * window_ns || jain(from_ns, from_ns + window_ns) < 0) continue;
      const int64_t step_ns = std::max<int64_t>(1, window_ns / kJainStepsPerWindow);
      int64_t fair_ns = from_ns + window_ns;
      int64_t t = fair_ns;
      bool last_bad = false;
      for (; t <= to_ns; t += step_ns) {
        last_bad = jain(t - window_ns, t) < m_.measure.jain_threshold;
        if (last_bad) fair_ns = t + step_ns;
      }
      missed = missed || last_bad;
      total_ns += static_cast<double>(std::min(fair_ns, to_ns) - from_ns);
      count++;
    }
    if (count > 0) set("jain_time_us", total_ns / count / kNsPerUs, missed);
  }

  // Likelihood ratio of the whole trial, where its flows are weighted.
  void importance() {
    double log_ratio = 0;
    bool weighted = false;
    for (double weight : m_.log_weight) {
      log_ratio += weight;
      weighted = weighted || weight != 0;
    }
    if (weighted) set("log_ratio", log_ratio);
  }

  // Completion of the measured flows of one class; of all with -1.
  void completion(int size_class) {
    BoundedValues fcts_us, slowdowns;
    int64_t finished = 0;
    for (const FlowSample& flow : samples_) {
      if (size_class >= 0 && flow.size_class != size_class) continue;
      finished += !flow.missed;
      fcts_us.add(static_cast<double>(flow.fct_ns) / kNsPerUs, flow.missed);
      slowdowns.add(
          std::max(1.0, static_cast<double>(flow.fct_ns) / static_cast<double>(flow.ideal_ns)),
          flow.missed);
    }
    if (fcts_us.values.empty() && m_.class_names.empty()) return;
    const std::string prefix =
        size_class < 0 ? "" : m_.class_names[static_cast<size_t>(size_class)] + ".";
    const int64_t count = static_cast<int64_t>(fcts_us.values.size());
    auto set = [&](const char* name, double value, bool missed) {
      result_.metrics[prefix + name] = {value, missed};
    };
    set("flows", static_cast<double>(count), false);
    set("unfinished", static_cast<double>(count - finished), false);
    if (count == 0 || (finished == 0 && size_class >= 0)) return;
    const bool missed = finished < count;
    set("fct_mean_us", fcts_us.sum() / static_cast<double>(count), missed);
    set("slowdown_mean", slowdowns.sum() / static_cast<double>(count), missed);
    const struct {
      double fraction;
      const char *fct, *slowdown;
    } percentiles[] = {{0.5, "fct_p50_us", "slowdown_p50"},
                       {0.9, "fct_p90_us", "slowdown_p90"},
                       {0.95, "fct_p95_us", "slowdown_p95"},
                       {0.99, "fct_p99_us", "slowdown_p99"},
                       {0.999, "fct_p999_us", "slowdown_p999"}};
    for (const auto& p : percentiles) {
      set(p.fct, fcts_us.percentile(p.fraction), fcts_us.percentile_may_be_more(p.fraction));
      set(p.slowdown, slowdowns.percentile(p.fraction),
          slowdowns.percentile_may_be_more(p.fraction));
    }
  }

  void losses() {
    int64_t retransmits = 0;
    for (const FlowPlan& flow : plan_.flows)
      if (flow.measured) retransmits += records_.flows.at(flow.id).retransmits;
    set("retransmits", static_cast<double>(retransmits));
    if (m_.log != LogChoice::kNone) set("drops", static_cast<double>(drops_));
    if (offered_ > 0) set("loss_ratio", static_cast<double>(lost_) / static_cast<double>(offered_));
  }

  void rates() {
    result_.bin_ns = m_.measure.bin_ns;
    const int64_t bin_ns = result_.bin_ns;
    std::map<std::string, size_t> curve_of;
    for (const FlowPlan& flow : plan_.flows) {
      const bool each = flow.plot_each;
      const std::string label = each ? flow.group + " " + std::to_string(flow.id) : flow.group;
      const auto [it, fresh] = curve_of.emplace(label, result_.rates.size());
      if (fresh) {
        RateCurve curve;
        curve.label = label;
        curve.main = flow.group == m_.event.recovers;
        curve.gbps.assign(static_cast<size_t>(plan_.end_ns / bin_ns), 0);
        result_.rates.push_back(std::move(curve));
      }
      std::vector<double>& gbps = result_.rates[it->second].gbps;
      double before = per_flow_[flow.id].bytes_until(0);
      for (size_t i = 0; i < gbps.size(); i++) {
        const double now = per_flow_[flow.id].bytes_until(static_cast<int64_t>(i + 1) * bin_ns);
        gbps[i] += (now - before) * 8 / static_cast<double>(bin_ns);
        before = now;
      }
    }
  }

  struct Smoothed {
    int64_t sent_ns = -1, before_sent_ns = -1;
    int64_t rtt_ns = 0, before_rtt_ns = 0;
    double gradient = 0;
  };
  struct SquaredError {
    double sum = 0;
    int count = 0;
    void add(double error) {
      sum += error * error;
      count++;
    }
    double mean() const { return sum / count; }
  };

  const Plan& plan_;
  const Measurement& m_;
  const Records& records_;
  const std::vector<FlowSample> samples_;
  std::vector<TimeSpan> time_;
  std::vector<TimeSpan> queue_time_;
  std::vector<TimeSpan> rtt_time_;
  std::vector<ServiceCurve> per_flow_;
  std::vector<QueuedPacket> packets_;
  std::vector<const PacketRecord*> departures_;  // from the bottleneck, in order of time
  std::vector<std::pair<int64_t, uint32_t>> backlogs_;
  std::vector<int64_t> last_sent_ns_;
  std::vector<double> rtts_us_;
  std::map<int, Smoothed> smoothed_;  // by flow
  SquaredError ewma_error_;
  uint64_t payload_bytes_ = 0;
  double wire_bytes_ = 0;
  int64_t drops_ = 0;
  int64_t offered_ = 0;  // data packets that came to the bottleneck
  int64_t lost_ = 0;     // of these, dropped there
  TrialResult result_;
};

}  // namespace

const std::vector<MetricInfo>& all_metrics() {
  static const std::vector<MetricInfo> metrics = {
      {"recover_us", "us"},
      {"goodput_gbps", "Gbit/s"},
      {"suppress_us", "us"},
      {"utilisation", ""},
      {"queue_mean_bytes", "bytes"},
      {"queue_sd_bytes", "bytes"},
      {"queue_p99_bytes", "bytes"},
      {"queue_min_bytes", "bytes"},
      {"queue_max_bytes", "bytes"},
      {"queue_peak_bytes", "bytes"},
      {"idle_us", "us"},
      {"rtt_p50_us", "us"},
      {"rtt_p99_us", "us"},
      {"rtt_p999_us", "us"},
      {"jain", ""},
      {"jain_time_us", "us"},
      {"log_ratio", ""},
      {"flows", "flows"},
      {"unfinished", "flows"},
      {"fct_mean_us", "us"},
      {"fct_p50_us", "us"},
      {"fct_p90_us", "us"},
      {"fct_p95_us", "us"},
      {"fct_p99_us", "us"},
      {"fct_p999_us", "us"},
      {"slowdown_mean", ""},
      {"slowdown_p50", ""},
      {"slowdown_p90", ""},
      {"slowdown_p95", ""},
      {"slowdown_p99", ""},
      {"slowdown_p999", ""},
      {"gradient_mse", ""},
      {"gradient_ewma_mse", ""},
      {"gradient_gain", ""},
      {"takeover_us", "us"},
      {"giveback_us", "us"},
      {"top_share", ""},
      {"top_share_min", ""},
      {"top_utilisation", ""},
      {"priority_utilisation", ""},
      {"priority_fct_gap", ""},
      {"retransmits", "segments"},
      {"drops", "packets"},
      {"loss_ratio", ""},
  };
  return metrics;
}

bool has_classes(const MetricInfo& metric) {
  const std::string name = metric.name;
  return name == "flows" || name == "unfinished" || name.rfind("fct_", 0) == 0 ||
         name.rfind("slowdown_", 0) == 0;
}

const MetricInfo* find_metric(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string base = dot == std::string::npos ? name : name.substr(dot + 1);
  for (const MetricInfo& info : all_metrics())
    if (base == info.name) return dot == std::string::npos || has_classes(info) ? &info : nullptr;
  return nullptr;
}

TrialResult compute_metrics(const CompiledTrial& trial, const Records& records) {
  return Computation(trial, records).run();
}

std::vector<TimeSpan> measured_time(int64_t from_ns, int64_t to_ns,
                                    const std::vector<TimeSpan>& exclude_ns) {
  std::vector<TimeSpan> sorted = exclude_ns;
  std::sort(sorted.begin(), sorted.end());
  std::vector<TimeSpan> result;
  int64_t at = from_ns;
  for (const TimeSpan& gap : sorted) {
    const int64_t begin = std::min(gap.first, to_ns);
    if (begin > at) result.emplace_back(at, begin);
    at = std::max(at, std::min(gap.second, to_ns));
  }
  if (at < to_ns) result.emplace_back(at, to_ns);
  return result;
}

void ServiceCurve::add(int64_t depart_ns, uint32_t bytes) {
  depart_ns_.push_back(depart_ns);
  total_bytes_.push_back((total_bytes_.empty() ? 0 : total_bytes_.back()) + bytes);
}

double ServiceCurve::bytes_until(int64_t t_ns) const {
  const auto next = std::upper_bound(depart_ns_.begin(), depart_ns_.end(), t_ns);
  const size_t i = static_cast<size_t>(next - depart_ns_.begin());
  const uint64_t done = i == 0 ? 0 : total_bytes_[i - 1];
  if (next == depart_ns_.end()) return static_cast<double>(done);
  // The next packet is in service for bytes / rate before it departs.
  const double bytes = static_cast<double>(total_bytes_[i] - done);
  const double left = static_cast<double>(*next - t_ns) * static_cast<double>(rate_bps_) / 8e9;
  return static_cast<double>(done) + std::max(0.0, bytes - left);
}

uint32_t StreamCoverage::add(uint32_t seq, uint32_t length) {
  if (length == 0) return 0;
  if (!any_) high_ = seq;
  any_ = true;
  const int64_t begin = unwrap(seq, high_);
  const int64_t end = begin + length;
  int64_t fresh = 0;
  // What lies in holes.
  auto it = holes_.upper_bound(begin);
  if (it != holes_.begin()) --it;
  while (it != holes_.end() && it->first < end) {
    const int64_t hole_begin = it->first, hole_end = it->second;
    const int64_t cut_begin = std::max(begin, hole_begin), cut_end = std::min(end, hole_end);
    if (cut_begin >= cut_end) {
      ++it;
      continue;
    }
    fresh += cut_end - cut_begin;
    it = holes_.erase(it);
    if (hole_begin < cut_begin) holes_[hole_begin] = cut_begin;
    if (cut_end < hole_end) it = holes_.emplace(cut_end, hole_end).first;
  }
  if (end > high_) {
    if (begin > high_) holes_[high_] = begin;
    fresh += end - std::max(begin, high_);
    high_ = end;
  }
  return static_cast<uint32_t>(fresh);
}

MetricValue recovery_ns(const ServiceCurve& curve, uint64_t rate_bps, int64_t event_ns,
                        int64_t horizon_ns, int64_t window_ns, double threshold) {
  const double wanted =
      threshold * static_cast<double>(rate_bps) / 8e9 * static_cast<double>(window_ns);
  // From the horizon back to the event: the first window found below is the last in time, and
  // the next one starts the good time.
  const int64_t steps = (horizon_ns - event_ns) / kRecoverStepNs;
  for (int64_t i = steps; i > 0; i--) {
    const int64_t t = event_ns + i * kRecoverStepNs;
    if (curve.bytes_between(t - window_ns, t) < wanted)
      return {static_cast<double>(
                  i == steps ? horizon_ns - event_ns
                             : std::max<int64_t>(t + kRecoverStepNs - window_ns - event_ns, 0)),
              i == steps};
  }
  return {0, false};
}

MetricValue suppression_ns(const std::vector<QueuedPacket>& packets, uint64_t rate_bps,
                           int64_t from_ns, int64_t end_ns, int64_t delay_ns, int64_t hold_ns) {
  int64_t last_ns = -1;  // departure of the last packet that waited too long
  for (const QueuedPacket& packet : packets) {
    const double service_ns = packet.bytes * 8e9 / static_cast<double>(rate_bps);
    const double waited_ns = static_cast<double>(packet.depart_ns - packet.arrival_ns) - service_ns;
    if (packet.depart_ns < from_ns || waited_ns < static_cast<double>(delay_ns)) continue;
    if (last_ns >= 0 && packet.depart_ns - last_ns > hold_ns) break;
    last_ns = packet.depart_ns;
  }
  if (last_ns < 0) return {0, false};
  if (end_ns - last_ns <= hold_ns) return {static_cast<double>(end_ns - from_ns), true};
  return {static_cast<double>(last_ns - from_ns), false};
}

std::vector<uint32_t> queue_curve(const std::vector<QueuedPacket>& packets, int64_t end_ns) {
  std::vector<uint32_t> curve;
  curve.reserve(static_cast<size_t>(end_ns / kGridNs + 1));
  // A server with priorities does not keep the order.
  const auto earlier = [](const QueuedPacket& a, const QueuedPacket& b) {
    return a.depart_ns < b.depart_ns;
  };
  std::vector<QueuedPacket> sorted;
  if (!std::is_sorted(packets.begin(), packets.end(), earlier)) {
    sorted = packets;
    std::stable_sort(sorted.begin(), sorted.end(), earlier);
  }
  const std::vector<QueuedPacket>& departures = sorted.empty() ? packets : sorted;
  size_t arrived = 0, departed = 0;
  int64_t backlog = 0;
  for (int64_t t = 0; t < end_ns; t += kGridNs) {
    while (arrived < packets.size() && packets[arrived].arrival_ns <= t)
      backlog += packets[arrived++].bytes;
    while (departed < departures.size() && departures[departed].depart_ns <= t)
      backlog -= departures[departed++].bytes;
    curve.push_back(static_cast<uint32_t>(backlog));
  }
  return curve;
}

}  // namespace delaycc

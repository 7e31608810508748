// SPDX-License-Identifier: Apache-2.0
// What flows of a higher priority get, and how soon.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "metrics/family.h"
#include "metrics/view.h"
#include "spec/packet.h"

namespace delaycc {
namespace {

// Of the steps between priorities.
constexpr Parameter kSettle = Parameter::time_us(
    "settle_us", 0, 300, "after a change of the highest priority, before its share counts");
constexpr Parameter kWindow = Parameter::time_us(
    "takeover_window_us", 1, 10, "length of the windows of `takeover_us` and `giveback_us`");
constexpr Parameter kThreshold =
    Parameter::number("takeover_threshold", 0.01, 1, 0.85,
                      "share of the bottleneck's rate in such a window that ends a takeover");

// The highest priority that sends, from each time on that it changes; -1: none.
std::vector<std::pair<int64_t, int64_t>> priority_steps(const TrialView& trial) {
  std::set<int64_t> times;
  for (const FlowPlan& flow : trial.plan.flows) {
    const FlowRecord& record = trial.records.flows.at(static_cast<size_t>(flow.id));
    if (flow.priority < 0 || record.start_ns < 0) continue;
    times.insert(record.start_ns);
    times.insert(trial.end_of(record));
  }
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (const int64_t t_ns : times) {
    int64_t highest = -1;
    for (const FlowPlan& flow : trial.plan.flows) {
      const FlowRecord& record = trial.records.flows.at(static_cast<size_t>(flow.id));
      if (record.start_ns >= 0 && record.start_ns <= t_ns && trial.end_of(record) > t_ns)
        highest = std::max(highest, flow.priority);
    }
    if (steps.empty() || steps.back().second != highest) steps.emplace_back(t_ns, highest);
  }
  return steps;
}

void shares(const TrialView& trial, MetricSink& sink) {
  std::map<int64_t, ServiceCurve> curves;
  ServiceCurve all(trial.m.bottleneck_bps);
  for (const FlowPlan& flow : trial.plan.flows)
    if (flow.priority >= 0) curves.emplace(flow.priority, ServiceCurve(trial.m.bottleneck_bps));
  if (curves.size() < 2) return;
  for (const Departure& departure : trial.departures) {
    if (!departure.data) continue;
    all.add(departure.depart_ns, departure.bytes);
    if (departure.flow < 0) continue;
    const int64_t priority = trial.plan.flows[static_cast<size_t>(departure.flow)].priority;
    if (priority >= 0) curves.at(priority).add(departure.depart_ns, departure.bytes);
  }
  const MeasureSpec& measure = trial.m.measure;
  const double bytes_per_ns = static_cast<double>(trial.m.bottleneck_bps) / 8e9;
  const int64_t window_ns = kWindow.ns(measure);
  const int64_t settle_ns = kSettle.ns(measure);
  const double enough = kThreshold.value(measure) * bytes_per_ns * static_cast<double>(window_ns);
  double up_ns = 0, down_ns = 0, top_bytes = 0, all_bytes = 0, least = 1;
  double active_bytes = 0;
  int ups = 0, downs = 0;
  int64_t settled_ns = 0, active_ns = 0;
  bool up_missed = false, down_missed = false;
  const auto steps = priority_steps(trial);
  for (size_t i = 0; i < steps.size(); i++) {
    const auto [from_ns, highest] = steps[i];
    const int64_t to_ns = i + 1 < steps.size() ? steps[i + 1].first : trial.plan.end_ns;
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
    const int64_t begin_ns = from_ns + settle_ns;
    if (begin_ns >= to_ns) continue;
    settled_ns += to_ns - begin_ns;
    top_bytes += top.bytes_between(begin_ns, to_ns);
    all_bytes += all.bytes_between(begin_ns, to_ns);
    constexpr int64_t kShareWindow = 100'000;
    for (int64_t t_ns = begin_ns; t_ns + kShareWindow <= to_ns; t_ns += kShareWindow) {
      const double bytes = all.bytes_between(t_ns, t_ns + kShareWindow);
      if (bytes > 0) least = std::min(least, top.bytes_between(t_ns, t_ns + kShareWindow) / bytes);
    }
  }
  if (ups) sink.set("takeover_us", up_ns / ups / kNsPerUs, up_missed);
  if (downs) sink.set("giveback_us", down_ns / downs / kNsPerUs, down_missed);
  if (all_bytes > 0) {
    sink.set("top_share", top_bytes / all_bytes);
    sink.set("top_share_min", least);
  }
  if (settled_ns > 0)
    sink.set("top_utilisation", all_bytes / (bytes_per_ns * static_cast<double>(settled_ns)));
  if (active_ns > 0)
    sink.set("priority_utilisation",
             active_bytes / (bytes_per_ns * static_cast<double>(active_ns)));
}

// Completion times against those of strict priorities at the bottleneck: the highest that has
// something to send shares it equally, a fluid. What an idle path takes beside comes on top.
void completion_gap(const TrialView& trial, MetricSink& sink) {
  struct Job {
    const FlowPlan* flow;
    double rest_bytes, wire_bytes, end_ns;
  };
  std::vector<Job> jobs;
  const double mss = trial.m.mtu_bytes - kTcpIpBytes;
  const double bytes_per_ns = static_cast<double>(trial.m.bottleneck_bps) / 8e9;
  for (const FlowPlan& flow : trial.plan.flows) {
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
    const FlowRecord& record = trial.records.flows.at(static_cast<size_t>(job.flow->id));
    if (!job.flow->measured || record.start_ns < 0) continue;
    missed = missed || record.received_ns < 0;
    const double fct_ns = static_cast<double>(
        (record.received_ns < 0 ? trial.plan.end_ns : record.received_ns) - record.start_ns);
    const double lone_ns =
        static_cast<double>(trial.m.ideal_fct_ns.at(static_cast<size_t>(job.flow->id)));
    const double ideal_ns = job.end_ns - static_cast<double>(job.flow->start_ns) +
                            std::max(0.0, lone_ns - job.wire_bytes / bytes_per_ns);
    gap += std::abs(fct_ns - ideal_ns) / ideal_ns;
  }
  sink.set("priority_fct_gap", gap, missed);
}

void compute(const TrialView& trial, MetricSink& sink) {
  shares(trial, sink);
  completion_gap(trial, sink);
}

}  // namespace

const MetricFamily& priorities_family() {
  static const MetricFamily family = {
      "priorities",
      {
          {"takeover_us", "us", "Time of a takeover", Better::kLower, kBottleneckPackets,
           "where flows have two priorities or more: mean over the times at which a priority "
           "higher than all others begins to send, from there to the end of the first window of "
           "`measure.takeover_window_us` (moved by 1 us) in which it has "
           "`measure.takeover_threshold` of the bottleneck's rate, at most until the highest "
           "priority changes again"},
          {"giveback_us", "us", "Time to give back", Better::kLower, kBottleneckPackets,
           "the same for the times at which the highest one ends and a lower one becomes the "
           "highest"},
          {"top_share", "", "Share of the highest priority", Better::kHigher, kBottleneckPackets,
           "bytes of the highest priority that is sending over those of all flows, from "
           "`measure.settle_us` after each of these changes to the next one"},
          {"top_share_min", "", "Share of the highest priority, least", Better::kHigher,
           kBottleneckPackets, "the least of it in consecutive windows of 100 us"},
          {"top_utilisation", "", "Utilisation between takeovers", Better::kHigher,
           kBottleneckPackets,
           "bytes of all flows in that time over what the bottleneck's rate allows: what the first "
           "`measure.settle_us` after each change leave unused is not in it"},
          {"priority_utilisation", "", "Utilisation, takeovers included", Better::kHigher,
           kBottleneckPackets,
           "the same over all of the time in which a flow with a priority is sending, the changes "
           "included"},
          {"priority_fct_gap", "", "Distance from strict priorities", Better::kLower,
           kBottleneckPackets,
           "where all flows have a `size_bytes` and no `stop_us`, and not all have the same "
           "priority: the sum over the measured flows of \\|t - T\\| / T; t is the flow's "
           "completion time (as in `fct_mean_us`), T the one with strict priorities at the "
           "bottleneck: the highest that has something left shares its rate equally, as a fluid, "
           "and to that comes what a lone flow on the idle path takes beside its own bytes"},
      },
      {kSettle, kWindow, kThreshold},
      &compute};
  return family;
}

}  // namespace delaycc

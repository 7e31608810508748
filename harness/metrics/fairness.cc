// SPDX-License-Identifier: Apache-2.0
// How equally flows share the bottleneck.
#include <algorithm>

#include "base/statistics.h"
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

constexpr int kStepsPerWindow = 10;

constexpr Parameter kWindow = Parameter::time_us(
    "jain_window_us", 1, 100, "length of the windows of `jain` and `jain_time_us`");
constexpr Parameter kThreshold = Parameter::number(
    "jain_threshold", 0, 1, 0.95, "Jain's index from which on `jain_time_us` calls a window fair");

// Jain's index over the flows that are active throughout (from, to]; -1 for fewer than two.
double jain(const TrialView& trial, int64_t from_ns, int64_t to_ns) {
  std::vector<double> bytes;
  for (const FlowPlan& flow : trial.plan.flows) {
    const FlowRecord& record = trial.records.flows.at(static_cast<size_t>(flow.id));
    if (!flow.measured || record.start_ns < 0 || record.start_ns > from_ns ||
        trial.end_of(record) < to_ns)
      continue;
    bytes.push_back(trial.per_flow[static_cast<size_t>(flow.id)].bytes_between(from_ns, to_ns));
  }
  return bytes.size() < 2 ? -1 : jain_index(bytes);
}

void compute(const TrialView& trial, MetricSink& sink) {
  const int64_t window_ns = kWindow.ns(trial.m.measure);
  const double threshold = kThreshold.value(trial.m.measure);
  double sum = 0;
  int windows = 0;
  for (const TimeSpan& interval : trial.time)
    for (int64_t t = interval.first; t + window_ns <= interval.second; t += window_ns) {
      const double index = jain(trial, t, t + window_ns);
      if (index < 0) continue;
      sum += index;
      windows++;
    }
  if (windows > 0) sink.set("jain", sum / windows);

  // Between two changes of the set of active flows, how long until the rest is fair.
  std::vector<int64_t> changes = {trial.plan.end_ns};
  for (const FlowPlan& flow : trial.plan.flows) {
    if (!flow.measured) continue;
    const FlowRecord& record = trial.records.flows.at(static_cast<size_t>(flow.id));
    if (record.start_ns >= 0) changes.push_back(record.start_ns);
    const int64_t end_ns = trial.end_of(record);
    if (end_ns < trial.plan.end_ns) changes.push_back(end_ns);
  }
  if (trial.event_ns >= 0) changes.push_back(trial.event_ns);
  std::sort(changes.begin(), changes.end());
  double total_ns = 0;
  int count = 0;
  bool missed = false;
  for (size_t i = 0; i + 1 < changes.size(); i++) {
    const int64_t from_ns = changes[i], to_ns = changes[i + 1];
    if (to_ns - from_ns < 2 * window_ns || jain(trial, from_ns, from_ns + window_ns) < 0) continue;
    const int64_t step_ns = std::max<int64_t>(1, window_ns / kStepsPerWindow);
    int64_t fair_ns = from_ns + window_ns;
    int64_t t = fair_ns;
    bool last_bad = false;
    for (; t <= to_ns; t += step_ns) {
      last_bad = jain(trial, t - window_ns, t) < threshold;
      if (last_bad) fair_ns = t + step_ns;
    }
    missed = missed || last_bad;
    total_ns += static_cast<double>(std::min(fair_ns, to_ns) - from_ns);
    count++;
  }
  if (count > 0) sink.set("jain_time_us", total_ns / count / kNsPerUs, missed);
}

}  // namespace

const MetricFamily& fairness_family() {
  static const MetricFamily family = {
      "fairness",
      {
          {"jain", "", "Jain index", Better::kHigher, kBottleneckPackets,
           "mean over consecutive windows of `measure.jain_window_us` in the measured time of "
           "Jain's index, over the bytes that each measured flow which is active during the whole "
           "window had through the bottleneck; windows with fewer than two such flows do not "
           "count"},
          {"jain_time_us", "us", "Time to fair share", Better::kLower, kBottleneckPackets,
           "for each time between two changes of the set of active measured flows (and the event) "
           "that is two windows long or longer: from the change to the end of the first window "
           "(moved by a tenth of its length) from which on Jain's index stays at "
           "`measure.jain_threshold` or above; the mean over these. It cannot be shorter than one "
           "window"},
      },
      {kWindow, kThreshold},
      &compute};
  return family;
}

}  // namespace delaycc

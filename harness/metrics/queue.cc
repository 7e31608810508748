// SPDX-License-Identifier: Apache-2.0
// The backlog at the bottleneck.
#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

constexpr Parameter kTime = Parameter::intervals_us(
    "queue_us", "`[[from, to], ...]`: time of the queue metrics, in place of the measured time");

void compute(const TrialView& trial, MetricSink& sink) {
  const std::vector<TimeSpan> own_time = kTime.spans(trial.m.measure);
  const std::vector<TimeSpan>& time = own_time.empty() ? trial.time : own_time;
  std::vector<uint32_t>& curve = sink.result().queue_bytes;
  curve = queue_curve(trial.packets, trial.plan.end_ns);
  std::vector<double> samples;
  for (size_t i = 0; i < curve.size(); i++)
    if (inside(time, static_cast<int64_t>(i) * kGridNs)) samples.push_back(curve[i]);
  uint32_t peak = 0;
  uint32_t highest = 0;
  for (const auto& [t_ns, bytes] : trial.backlogs) {
    peak = std::max(peak, bytes);
    if (inside(time, t_ns)) highest = std::max(highest, bytes);
  }
  sink.set("queue_peak_bytes", peak);
  if (samples.empty()) return;
  double sum = 0, squares = 0;
  for (double s : samples) sum += s;
  const double mean = sum / static_cast<double>(samples.size());
  for (double s : samples) squares += (s - mean) * (s - mean);
  for (double s : samples) highest = std::max(highest, static_cast<uint32_t>(s));
  sink.set("queue_mean_bytes", mean);
  sink.set("queue_sd_bytes", std::sqrt(squares / static_cast<double>(samples.size())));
  sink.set("queue_p99_bytes", percentile(samples, 0.99));
  sink.set("queue_max_bytes", highest);
  sink.set("queue_min_bytes", *std::min_element(samples.begin(), samples.end()));
}

}  // namespace

const MetricFamily& queue_family() {
  static const MetricFamily family = {
      "queue",
      {
          {"queue_mean_bytes", "bytes", "Queue, mean", Better::kLower, kBottleneckPackets,
           "mean, standard deviation and 99th percentile (nearest rank) over time of the "
           "bottleneck's backlog, exact at every whole microsecond of `measure.queue_us` (the "
           "measured time, if not given)"},
          {"queue_sd_bytes", "bytes", "Queue, standard deviation", Better::kLower,
           kBottleneckPackets, nullptr},
          {"queue_p99_bytes", "bytes", "Queue, 99th percentile", Better::kLower, kBottleneckPackets,
           nullptr},
          {"queue_min_bytes", "bytes", "Queue, minimum", Better::kNeither, kBottleneckPackets,
           "least of the samples of `queue_mean_bytes`"},
          {"queue_max_bytes", "bytes", "Queue, maximum", Better::kLower, kBottleneckPackets,
           "greatest backlog that an arriving packet made, or that a sample saw, in the same time"},
          {"queue_peak_bytes", "bytes", "Queue, peak of the whole run", Better::kLower,
           kBottleneckPackets, "the same over the whole experiment"},
      },
      {kTime},
      &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// Time from the event until a group has its rate back.
#include "metrics/recovery.h"

#include <algorithm>

#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {

constexpr int64_t kStepNs = 100;

MetricValue recovery_ns(const ServiceCurve& curve, uint64_t rate_bps, int64_t event_ns,
                        int64_t horizon_ns, int64_t window_ns, double threshold) {
  const double wanted =
      threshold * static_cast<double>(rate_bps) / 8e9 * static_cast<double>(window_ns);
  // From the horizon back to the event: the first window found below is the last in time, and
  // the next one starts the good time.
  const int64_t steps = (horizon_ns - event_ns) / kStepNs;
  for (int64_t i = steps; i > 0; i--) {
    const int64_t t = event_ns + i * kStepNs;
    if (curve.bytes_between(t - window_ns, t) < wanted)
      return {static_cast<double>(i == steps
                                      ? horizon_ns - event_ns
                                      : std::max<int64_t>(t + kStepNs - window_ns - event_ns, 0)),
              i == steps};
  }
  return {0, false};
}

namespace {

void compute(const TrialView& trial, MetricSink& sink) {
  const EventSpec& event = trial.m.event;
  if (event.recovers.empty() || trial.event_ns < 0) return;
  ServiceCurve group(trial.m.bottleneck_bps);
  for (const Departure& departure : trial.departures)
    if (departure.flow >= 0 &&
        trial.plan.flows[static_cast<size_t>(departure.flow)].group == event.recovers)
      group.add(departure.depart_ns, departure.bytes);
  int64_t horizon_ns = trial.plan.end_ns;
  if (event.horizon_ns >= 0) horizon_ns = std::min(horizon_ns, trial.event_ns + event.horizon_ns);
  const MetricValue value = recovery_ns(group, trial.m.bottleneck_bps, trial.event_ns, horizon_ns,
                                        event.window_ns, event.threshold);
  sink.set("recover_us", value.value / kNsPerUs, value.missed);
}

}  // namespace

const MetricFamily& recovery_family() {
  static const MetricFamily family = {
      "recovery",
      {
          {"recover_us", "us", "Time to recover", Better::kLower, kBottleneckPackets,
           "time from the event to the start of the first window of `event.recover_window_ns` from "
           "which on no window, moved in steps of 100 ns, has less than `event.threshold` of the "
           "bottleneck's rate from the group `event.recovers`, up to the horizon; 0 if none has "
           "less"},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// How long congestion lasts.
#include "metrics/suppression.h"

#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {

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

namespace {

constexpr Parameter kDelay =
    Parameter::time_us("suppress_delay_us", 1, -1,
                       "a wait at the bottleneck that is congestion; without it there is no "
                       "`suppress_us`");
constexpr Parameter kHold =
    Parameter::time_us("suppress_hold_us", 0, 0, "how long without such a wait congestion is over",
                       "suppress_delay_us");

// How long the congestion lasts that the event, or the first flow's start, brings.
void compute(const TrialView& trial, MetricSink& sink) {
  const int64_t delay_ns = kDelay.ns(trial.m.measure);
  if (delay_ns < 0) return;
  int64_t from_ns = trial.event_ns;
  if (!trial.m.event.present)
    for (const FlowRecord& flow : trial.records.flows)
      if (trial.plan.flows[static_cast<size_t>(flow.id)].measured && flow.start_ns >= 0 &&
          (from_ns < 0 || flow.start_ns < from_ns))
        from_ns = flow.start_ns;
  if (from_ns < 0) return;
  const MetricValue value = suppression_ns(trial.packets, trial.m.bottleneck_bps, from_ns,
                                           trial.plan.end_ns, delay_ns, kHold.ns(trial.m.measure));
  sink.set("suppress_us", value.value / kNsPerUs, value.missed);
}

}  // namespace

const MetricFamily& suppression_family() {
  static const MetricFamily family = {
      "suppression",
      {
          {"suppress_us", "us", "Time to suppress congestion", Better::kLower, kBottleneckPackets,
           "how long congestion lasts: from the event (without one: the first start of a measured "
           "flow) to the departure from the bottleneck of the last packet that waited there for "
           "`measure.suppress_delay_us` or longer, before `measure.suppress_hold_us` passed "
           "without another such packet; 0 if none waited so long. Waiting is without the packet's "
           "own service. An RTT of twice the base RTT is a wait of one base RTT"},
      },
      {kDelay, kHold},
      &compute};
  return family;
}

}  // namespace delaycc

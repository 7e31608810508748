// SPDX-License-Identifier: Apache-2.0
// What the bottleneck carried, and when it carried nothing.
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

void compute(const TrialView& trial, MetricSink& sink) {
  ServiceCurve all(trial.m.bottleneck_bps);
  std::vector<StreamCoverage> coverage(trial.plan.flows.size());
  uint64_t payload_bytes = 0;
  for (const Departure& departure : trial.departures) {
    all.add(departure.depart_ns, departure.bytes);
    if (departure.flow < 0) continue;
    const size_t flow = static_cast<size_t>(departure.flow);
    const uint32_t fresh = coverage[flow].add(departure.seq, departure.payload_bytes);
    if (trial.plan.flows[flow].measured && inside(trial.time, departure.depart_ns))
      payload_bytes += fresh;
  }
  double wire_bytes = 0;
  for (const TimeSpan& interval : trial.time)
    wire_bytes += all.bytes_between(interval.first, interval.second);
  const double ns = static_cast<double>(length(trial.time));
  const double busy_ns = wire_bytes * 8e9 / static_cast<double>(trial.m.bottleneck_bps);
  sink.set("goodput_gbps", static_cast<double>(payload_bytes) * 8 / ns);
  sink.set("utilisation", busy_ns / ns);
  // What rounding of departures to nanoseconds leaves over is no idle time.
  sink.set("idle_us", ns - busy_ns < 1 ? 0 : (ns - busy_ns) / kNsPerUs);
}

}  // namespace

const MetricFamily& throughput_family() {
  static const MetricFamily family = {
      "throughput",
      {
          {"goodput_gbps", "Gbit/s", "Goodput", Better::kHigher, kBottleneckPackets,
           "payload of measured flows that left the bottleneck in the measured time, each byte of "
           "the stream once, over that time"},
          {"utilisation", "", "Utilisation", Better::kHigher, kBottleneckPackets,
           "bytes that left the bottleneck in the measured time over what its rate allows"},
          {"idle_us", "us", "Idle time of the bottleneck", Better::kNeither, kBottleneckPackets,
           "part of the measured time in which the bottleneck sent nothing"},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// Round-trip times of packets, the recovery of lost ones included.
#include "base/statistics.h"
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

constexpr Parameter kTime = Parameter::intervals_us(
    "rtt_us", "`[[from, to], ...]`: time of the RTT metrics, in place of the measured time");

void compute(const TrialView& trial, MetricSink& sink) {
  const std::vector<TimeSpan> own_time = kTime.spans(trial.m.measure);
  const std::vector<TimeSpan>& time = own_time.empty() ? trial.time : own_time;
  std::vector<double> rtts_us;
  for (const RttSample& rtt : trial.rtts)
    if (trial.plan.flows[static_cast<size_t>(rtt.flow)].measured && inside(time, rtt.delivered_ns))
      rtts_us.push_back(static_cast<double>(rtt.delivered_ns - rtt.sent_ns) / kNsPerUs);
  if (rtts_us.empty()) return;
  sink.set("rtt_p50_us", percentile(rtts_us, 0.50));
  sink.set("rtt_p99_us", percentile(rtts_us, 0.99));
  sink.set("rtt_p999_us", percentile(rtts_us, 0.999));
}

}  // namespace

const MetricFamily& rtt_family() {
  static const MetricFamily family = {
      "rtt",
      {
          {"rtt_p50_us", "us", "RTT with recovery, median", Better::kLower, kEndPackets,
           "percentiles of the RTTs of measured flows. Every data packet has one: from its first "
           "arrival at its sender's port, before that port's queue, to the delivery of the first "
           "ACK whose number covers it, if that is in the times `measure.rtt_us` (the measured "
           "time, if not given). A packet that was lost counts from its first transmission, and "
           "packets behind it until the ACK that covers them too, so recovery is in it; TCP itself "
           "takes no RTT from what it has sent twice (Karn). A packet that is not acknowledged "
           "before the end has none"},
          {"rtt_p99_us", "us", "RTT with recovery, 99th percentile", Better::kLower, kEndPackets,
           nullptr},
          {"rtt_p999_us", "us", "RTT with recovery, 99.9th percentile", Better::kLower, kEndPackets,
           nullptr},
      },
      {kTime},
      &compute};
  return family;
}

}  // namespace delaycc

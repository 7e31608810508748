// SPDX-License-Identifier: Apache-2.0
// What the machine itself adds to a trial in wall time.
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

void compute(const TrialView& trial, MetricSink& sink) {
  const Calibration& c = trial.records.calibration;
  sink.set("noise_p50_us", static_cast<double>(c.noise_p50_ns) / kNsPerUs);
  sink.set("noise_p99_us", static_cast<double>(c.noise_p99_ns) / kNsPerUs);
  if (c.base_rtt_ns > 0)
    sink.set(kNoiseShare, static_cast<double>(c.noise_p99_ns) / static_cast<double>(c.base_rtt_ns));
  if (c.clock_error_ns > 0) {
    sink.set("path_rtt_us", static_cast<double>(c.base_rtt_ns) / kNsPerUs);
    sink.set("clock_error_us", static_cast<double>(c.clock_error_ns) / kNsPerUs);
  }
  sink.set("floor_p50_us", static_cast<double>(c.floor_p50_ns) / kNsPerUs);
  sink.set("floor_p99_us", static_cast<double>(c.floor_p99_ns) / kNsPerUs);
}

}  // namespace

const MetricFamily& noise_family() {
  static const MetricFamily family = {
      "noise",
      {
          {"noise_p50_us", "us", "Noise of the machine, median", Better::kLower, kEchoRecords,
           "percentiles of what echoes over the path of the first measured flow take above the "
           "path's own delay, just before the trial. Only of a backend in wall time; of the lab's "
           "virtual time it is 0"},
          {"noise_p99_us", "us", "Noise of the machine, 99th percentile", Better::kLower,
           kEchoRecords, nullptr},
          {kNoiseShare, "", "Noise of the machine against the base RTT", Better::kLower,
           kEchoRecords,
           "`noise_p99_us` over the path's own delay. Above 0.05 the results say so; above 0.5 the "
           "backend `host` refuses the trial"},
          {"floor_p50_us", "us", "Floor of the machine's RTT, median", Better::kLower, kEchoRecords,
           "percentiles of the RTT of echoes between two namespaces with nothing but a link "
           "between them: what the kernel itself takes there and back"},
          {"floor_p99_us", "us", "Floor of the machine's RTT, 99th percentile", Better::kLower,
           kEchoRecords, nullptr},
          {"path_rtt_us", "us", "RTT of the fastest echo between the hosts", Better::kNeither,
           kEchoRecords,
           "only between real hosts: the fastest of the echoes of `noise_p50_us`, which stands for "
           "the path's own delay"},
          {"clock_error_us", "us", "Most that two hosts' clocks may differ", Better::kLower,
           kEchoRecords,
           "only between real hosts: the most by which what two hosts do at the same time of the "
           "plan can be apart, by exchanges of the time over ssh before and after the trial, or by "
           "what PTP says of their clocks"},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// Round-trip times of packets, the recovery of lost ones included.
#include <string>
#include <vector>

#include "base/statistics.h"
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

constexpr Parameter kTime = Parameter::intervals_us(
    "rtt_us", "`[[from, to], ...]`: time of the RTT metrics, in place of the measured time");

// name_p50_us, name_p99_us and name_p999_us, if there are values. Their order changes.
void set_percentiles(const std::string& name, std::vector<double>& values_us, MetricSink& sink) {
  if (values_us.empty()) return;
  sink.set((name + "_p50_us").c_str(), percentile(values_us, 0.50));
  sink.set((name + "_p99_us").c_str(), percentile(values_us, 0.99));
  sink.set((name + "_p999_us").c_str(), percentile(values_us, 0.999));
}

void compute(const TrialView& trial, MetricSink& sink) {
  const std::vector<TimeSpan> own_time = kTime.spans(trial.m.measure);
  const std::vector<TimeSpan>& time = own_time.empty() ? trial.time : own_time;
  const auto counts = [&](int flow, int64_t delivered_ns) {
    return flow >= 0 && trial.plan.flows[static_cast<size_t>(flow)].measured &&
           inside(time, delivered_ns);
  };
  std::vector<double> rtts_us;
  for (const RttSample& rtt : trial.rtts)
    if (counts(rtt.flow, rtt.delivered_ns))
      rtts_us.push_back(static_cast<double>(rtt.delivered_ns - rtt.sent_ns) / kNsPerUs);
  set_percentiles("rtt", rtts_us, sink);
  std::vector<double> nic_us, noise_us;
  for (const NicRtt& rtt : trial.records.nic_rtts) {
    if (!counts(flow_of(rtt.sport, trial.plan.flows.size()), rtt.delivered_ns - trial.plan.zero_ns))
      continue;
    nic_us.push_back(static_cast<double>(rtt.nic_rtt_ns) / kNsPerUs);
    noise_us.push_back(static_cast<double>(rtt.kernel_rtt_ns - rtt.nic_rtt_ns) / kNsPerUs);
  }
  if (nic_us.empty()) return;
  set_percentiles("rtt_nic", nic_us, sink);
  set_percentiles("host_noise", noise_us, sink);
  sink.set("rtt_nic_packets", static_cast<double>(nic_us.size()));
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
          {"rtt_nic_p50_us", "us", "RTT by NIC stamps, median", Better::kLower, kNicRtts,
           "percentiles of the RTTs of data packets of measured flows between two stamps of their "
           "sender's NIC: the packet leaves, and the first ACK whose number covers it comes, in "
           "the "
           "times of `rtt_p50_us`. Only between real hosts, of hosts whose NICs were found to "
           "stamp "
           "every packet. One packet of each write has one (128 KB at most); one that was sent "
           "more "
           "than once has none"},
          {"rtt_nic_p99_us", "us", "RTT by NIC stamps, 99th percentile", Better::kLower, kNicRtts,
           nullptr},
          {"rtt_nic_p999_us", "us", "RTT by NIC stamps, 99.9th percentile", Better::kLower,
           kNicRtts, nullptr},
          {"host_noise_p50_us", "us", "Host noise, median", Better::kLower, kNicRtts,
           "percentiles of what the sender's host adds to the RTTs of the packets of "
           "`rtt_nic_p50_us`: from where the kernel gives the packet to the driver to where it has "
           "the ACK, less the RTT by NIC stamps"},
          {"host_noise_p99_us", "us", "Host noise, 99th percentile", Better::kLower, kNicRtts,
           nullptr},
          {"host_noise_p999_us", "us", "Host noise, 99.9th percentile", Better::kLower, kNicRtts,
           nullptr},
          {"rtt_nic_packets", "", "Packets with an RTT by NIC stamps", Better::kNeither, kNicRtts,
           "how many packets `rtt_nic_*` and `host_noise_*` are of"},
      },
      {kTime},
      &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// Packets that were lost, and bytes that were sent again.
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

void compute(const TrialView& trial, MetricSink& sink) {
  int64_t retransmits = 0;
  for (const FlowPlan& flow : trial.plan.flows)
    if (flow.measured)
      retransmits += trial.records.flows.at(static_cast<size_t>(flow.id)).retransmits;
  sink.set("retransmits", static_cast<double>(retransmits));
  sink.set("drops", static_cast<double>(trial.drops));
  if (trial.records.calibration.qdisc_drops >= 0)
    sink.set("qdisc_drops", static_cast<double>(trial.records.calibration.qdisc_drops));
  if (trial.offered > 0)
    sink.set("loss_ratio", static_cast<double>(trial.lost) / static_cast<double>(trial.offered));
}

}  // namespace

const MetricFamily& losses_family() {
  static const MetricFamily family = {
      "losses",
      {
          {"retransmits", "segments", "Retransmissions", Better::kLower, kFlowRecords,
           "retransmissions of measured flows since time 0 (`tcpi_total_retrans`)"},
          {"drops", "packets", "Drops", Better::kLower, kBottleneckPackets,
           "data packets dropped at the logged ports (the bottleneck and the senders' own), of all "
           "flows"},
          {"qdisc_drops", "packets", "Drops by the kernel's count", Better::kLower,
           kBottleneckPackets,
           "only of the backend `host`: what the qdiscs of all ports say that they dropped in the "
           "trial, ACKs and the hosts' own ports included. Packets in a host's own port are seen "
           "by this alone"},
          {"loss_ratio", "", "Loss ratio", Better::kLower, kBottleneckPackets,
           "data packets dropped at the bottleneck over all that came to it, over the whole "
           "experiment"},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

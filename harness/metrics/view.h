// SPDX-License-Identifier: Apache-2.0
// What the families of metrics see of a trial: its records in the trial's own time, in the forms
// that several families need.
#ifndef DELAYCC_HARNESS_METRICS_VIEW_H_
#define DELAYCC_HARNESS_METRICS_VIEW_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "metrics/curves.h"
#include "metrics/metrics.h"
#include "metrics/parameter.h"

namespace delaycc {

constexpr double kNsPerUs = 1000;

// A packet that left the bottleneck.
struct Departure {
  int64_t depart_ns;
  uint32_t bytes;  // of the frame
  int flow;        // -1: no data of a flow of the plan
  bool data;       // not an acknowledgment
  uint32_t seq;
  uint32_t payload_bytes;
};

// A packet's first transmission, and the delivery of an ACK that covers it.
struct RttSample {
  int flow;
  int64_t sent_ns;
  int64_t delivered_ns;
};

// Times in nanoseconds since the plan's time 0. Refers to the trial and the records.
struct TrialView {
  TrialView(const CompiledTrial& trial, const Records& records);

  bool has(unsigned record_kinds) const { return (kinds & record_kinds) == record_kinds; }
  int64_t relative(uint64_t t_ns) const { return static_cast<int64_t>(t_ns) - plan.zero_ns; }
  // When a flow stopped to send or to be received; the end of the trial if never.
  int64_t end_of(const FlowRecord& flow) const;

  const Plan& plan;
  const Measurement& m;
  const Records& records;
  unsigned kinds;              // RecordKinds that the trial has
  std::vector<TimeSpan> time;  // the measured time
  int64_t event_ns = -1;       // the scenario's event as it happened; -1 when it did not
  std::vector<FlowSample> samples;

  std::vector<QueuedPacket> packets;  // at the bottleneck, not dropped there; in order of arrival
  // (arrival, bytes) of the same: the backlog with the packet.
  std::vector<std::pair<int64_t, uint32_t>> backlogs;
  std::vector<Departure> departures;   // from the bottleneck, in order of time
  std::vector<ServiceCurve> per_flow;  // data at the bottleneck, by flow id
  // One for each data packet that was acknowledged, recovery included.
  std::vector<RttSample> rtts;
  // One for each ACK that says which transmission it answers (Karn): of the packet it ends with.
  std::vector<RttSample> ack_rtts;
  int64_t drops = 0;    // data packets, at all logged ports
  int64_t offered = 0;  // data packets that came to the bottleneck
  int64_t lost = 0;     // of these, dropped there
};

// The flow of a data packet or of an acknowledgment by the client's port; -1: none of `flows`.
int flow_of(uint16_t client_port, size_t flows);
bool inside(const std::vector<TimeSpan>& time, int64_t t_ns);
int64_t length(const std::vector<TimeSpan>& time);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_VIEW_H_

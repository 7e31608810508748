// SPDX-License-Identifier: Apache-2.0
// What the runner leaves behind after a trial.
#ifndef DELAYCC_HARNESS_TRACE_RECORDS_H_
#define DELAYCC_HARNESS_TRACE_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backend/lab/kernel/dccport.h"

namespace delaycc {

// Times in nanoseconds since the plan's time 0; -1 where it did not happen.
struct FlowRecord {
  int id = 0;
  std::string cc;              // what TCP_CONGESTION said
  int64_t start_ns = -1;       // first byte written
  int64_t stop_ns = -1;        // aborted by the plan
  int64_t received_ns = -1;    // the receiving application had the last byte of size_bytes
  int64_t received_bytes = 0;  // read by the receiving application since time 0
  int64_t retransmits = 0;     // segments, since time 0
};

// One event of the tracepoint delaycc:ack. The time is absolute and has the trace's resolution, 1
// us.
struct AckDecision {
  int64_t time_ns = 0;
  uint16_t sport = 0;
  int64_t rtt_ns = 0;
  double gradient = 0;
};

struct Records {
  std::string kernel;                  // uname release
  std::vector<FlowRecord> flows;       // by id
  std::vector<dccport_event> events;   // arrival order; absolute times
  std::vector<AckDecision> decisions;  // in order of time; only of a trial with a trace
};

std::string flows_to_json(const std::string& kernel, const std::vector<FlowRecord>& flows);

// The events delaycc:ack of a trace; other lines are passed over. Throws Error with the first event
// that lacks a field.
std::vector<AckDecision> parse_trace(const std::string& text);

// Reads flows.json, ports.bin and, if it is there, acks.txt of a trial's folder; throws Error
// naming file and fault.
Records read_records(const std::string& directory);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_TRACE_RECORDS_H_

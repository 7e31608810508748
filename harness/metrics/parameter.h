// SPDX-License-Identifier: Apache-2.0
// A key of a scenario's [measure] that a metric family declares beside the code that uses it. The
// scenario reader, the trial's key and docs/research/metrics.md all take it from here.
#ifndef DELAYCC_HARNESS_METRICS_PARAMETER_H_
#define DELAYCC_HARNESS_METRICS_PARAMETER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "spec/scenario.h"

namespace delaycc {

// Half-open, in nanoseconds.
using TimeSpan = std::pair<int64_t, int64_t>;

// Kinds of records, to be combined with "|".
enum RecordKind : unsigned {
  kFlowRecords = 1,        // when each flow started and ended; every trial has them
  kBottleneckPackets = 2,  // packets at the bottleneck port
  kEndPackets = 4,         // data and ACKs at both ends of each sender's RTT
  kDecisions = 8,          // what the algorithm decided on each ACK
  kEchoRecords = 16,       // what the machine adds to RTTs
  kNicRtts = 32,           // RTTs of data packets by NICs' stamps
};

struct Parameter {
  enum class Type {
    kTime,       // a number of microseconds
    kInteger,    //
    kNumber,     //
    kIntervals,  // [[from, to], ...] in microseconds
    kGroup,      // the name of a group of flows
  };
  const char* key;
  Type type;
  const char* unit;  // of the key's value; "" for a pure number or a name
  // Range and default of a time, an integer or a number, in `unit`. A time whose default is below 0
  // has none: ns() is then kNever.
  double low, high, fallback;
  const char* text;  // for docs/research/metrics.md, in Markdown
  // Another key without which this one is of no use; nullptr: none.
  const char* needs = nullptr;
  unsigned records = 0;  // RecordKinds that a trial is to have where this key is given

  static constexpr Parameter time_us(const char* key, double low, double fallback, const char* text,
                                     const char* needs = nullptr) {
    return {key, Type::kTime, "us", low, 1e9, fallback, text, needs};
  }
  static constexpr Parameter integer(const char* key, const char* unit, double low, double high,
                                     double fallback, const char* text) {
    return {key, Type::kInteger, unit, low, high, fallback, text};
  }
  static constexpr Parameter number(const char* key, double low, double high, double fallback,
                                    const char* text) {
    return {key, Type::kNumber, "", low, high, fallback, text};
  }
  static constexpr Parameter intervals_us(const char* key, const char* text) {
    return {key, Type::kIntervals, "us", 0, 0, 0, text};
  }
  static constexpr Parameter group(const char* key, const char* text, unsigned records = 0) {
    return {key, Type::kGroup, "", 0, 0, 0, text, nullptr, records};
  }

  // The value in `measure`, or the default. Each is for the types named.
  int64_t ns(const MeasureSpec& measure) const;                   // kTime, in nanoseconds
  int64_t whole(const MeasureSpec& measure) const;                // kInteger
  double value(const MeasureSpec& measure) const;                 // kNumber
  std::vector<TimeSpan> spans(const MeasureSpec& measure) const;  // kIntervals, in nanoseconds
  std::string name(const MeasureSpec& measure) const;             // kGroup; empty: none

  MeasureValue default_value() const;
  // Whether the value is another one than the default.
  bool is_set(const MeasureSpec& measure) const;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_PARAMETER_H_

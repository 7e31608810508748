// SPDX-License-Identifier: Apache-2.0
// From a trial's records to its metrics: pure functions. docs/research/metrics.md defines each
// metric.
#ifndef DELAYCC_HARNESS_METRICS_METRICS_H_
#define DELAYCC_HARNESS_METRICS_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/compile.h"
#include "trace/records.h"

namespace delaycc {

// Part of a trial's key: a stored trial of another version is measured anew. It rises with each
// change of what a metric means, or of how it is computed.
inline constexpr int kMetricsVersion = 2;

struct MetricValue {
  double value = 0;
  // What was waited for did not happen within the horizon; value is a lower bound.
  bool missed = false;
};

// One curve per group, or per flow of a group with plot = "each".
struct RateCurve {
  std::string label;
  bool main = false;
  std::vector<double> gbps;  // on the wire at the bottleneck, one value per bin
};

// A measured flow with a size, for estimates over the flows of many trials.
struct FlowSample {
  int flow = 0;  // its id
  int64_t size_bytes = 0;
  int64_t fct_ns = 0;  // until the end of the trial, where it was not complete
  int64_t ideal_ns = 0;
  bool missed = false;  // it was not complete
  int size_class = -1;  // of the scenario's; -1: none
  double log_weight =
      0;  // ln of the trial's likelihood ratio when it ended; 0 without importance sampling
  double uniform = 0;  // the number in [0, 1) that its size came from; 0 for a given size
};

struct TrialResult {
  std::map<std::string, MetricValue> metrics;
  int64_t event_ns = -1;
  std::vector<uint32_t> queue_bytes;  // at the bottleneck, every microsecond from time 0
  int64_t bin_ns = 0;
  std::vector<RateCurve> rates;
  std::vector<FlowRecord> flows;
  std::vector<FlowSample> samples;  // in order of flow id
};

struct MetricInfo {
  const char* name;
  const char* unit;  // "" for a pure number
};
// Every metric there is, in the order of a table's columns.
const std::vector<MetricInfo>& all_metrics();
// Those that there are also for each class of flow sizes, as "class.name".
bool has_classes(const MetricInfo& metric);
// Of "name" or "class.name"; nullptr for an unknown name.
const MetricInfo* find_metric(const std::string& name);

// The flows that fct_* and slowdown_* speak of.
std::vector<FlowSample> flow_samples(const CompiledTrial& trial, const Records& records);

TrialResult compute_metrics(const CompiledTrial& trial, const Records& records);

// Half-open, in nanoseconds.
using TimeSpan = std::pair<int64_t, int64_t>;

// [from, to) without the exclusions, as disjoint intervals in order.
std::vector<TimeSpan> measured_time(int64_t from_ns, int64_t to_ns,
                                    const std::vector<TimeSpan>& exclude_ns);

// Bytes that a server of `rate_bps` has served until a time, counting each packet in proportion
// while it is served.
class ServiceCurve {
 public:
  explicit ServiceCurve(uint64_t rate_bps) : rate_bps_(rate_bps) {}
  // In order of departure.
  void add(int64_t depart_ns, uint32_t bytes);
  double bytes_until(int64_t t_ns) const;
  double bytes_between(int64_t from_ns, int64_t to_ns) const {
    return bytes_until(to_ns) - bytes_until(from_ns);
  }

 private:
  uint64_t rate_bps_;
  std::vector<int64_t> depart_ns_;
  std::vector<uint64_t> total_bytes_;  // up to and with this packet
};

// Counts each byte of a stream once, however often and in what order its segments pass.
class StreamCoverage {
 public:
  // Bytes of [seq, seq + length) not seen before. Sequence numbers wrap.
  uint32_t add(uint32_t seq, uint32_t length);

 private:
  bool any_ = false;
  int64_t high_ = 0;                  // first byte above all seen, unwrapped
  std::map<int64_t, int64_t> holes_;  // begin -> end, below high_
};

// Time from `event_ns` to the start of the first window after the last one (of all that end after
// the event, every 100 ns) whose mean rate is below `threshold` of `rate_bps`: from then on no
// window is below it. 0 if none is; missed if the one at the horizon is.
MetricValue recovery_ns(const ServiceCurve& curve, uint64_t rate_bps, int64_t event_ns,
                        int64_t horizon_ns, int64_t window_ns, double threshold);

// Backlog at 0, 1, 2, ... us before `end_ns`, from packets (arrival, departure, bytes) in order of
// arrival.
struct QueuedPacket {
  int64_t arrival_ns;
  int64_t depart_ns;
  uint32_t bytes;
};
std::vector<uint32_t> queue_curve(const std::vector<QueuedPacket>& packets, int64_t end_ns);

// Time from `from_ns` to the departure of the last packet that waited `delay_ns` or longer before
// `hold_ns` passed without another one. 0 if none waited so long; missed if the end came first.
MetricValue suppression_ns(const std::vector<QueuedPacket>& packets, uint64_t rate_bps,
                           int64_t from_ns, int64_t end_ns, int64_t delay_ns, int64_t hold_ns);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_METRICS_H_

// SPDX-License-Identifier: Apache-2.0
// From a trial's records to its metrics: pure functions. The families define the metrics
// (family.h, catalogue.h), docs/research/metrics.md tells them.
#ifndef DELAYCC_HARNESS_METRICS_METRICS_H_
#define DELAYCC_HARNESS_METRICS_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/compile.h"
#include "trace/records.h"

namespace delaycc {

// Part of a trial's key: a stored trial of another version is measured anew. It rises with each
// change of what a metric means, or of how it is computed.
inline constexpr int kMetricsVersion = 3;

// The metric that says how far a machine's noise is in its figures.
inline constexpr char kNoiseShare[] = "noise_share";

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
  double uniform = 0;    // the number in [0, 1) that its size came from; 0 for a given size
  int64_t request = -1;  // the incast that it answers; -1: none
};

struct TrialResult {
  // Trials of one number meet the same random times and flows, whatever the algorithm; -1: what
  // this one met is its own.
  int number = -1;
  std::map<std::string, MetricValue> metrics;
  int64_t event_ns = -1;
  std::vector<uint32_t> queue_bytes;  // at the bottleneck, every microsecond from time 0
  int64_t bin_ns = 0;
  std::vector<RateCurve> rates;
  std::vector<FlowRecord> flows;
  std::vector<FlowSample> samples;  // in order of flow id
};

// The flows that fct_* and slowdown_* speak of.
std::vector<FlowSample> flow_samples(const CompiledTrial& trial, const Records& records);

TrialResult compute_metrics(const CompiledTrial& trial, const Records& records);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_METRICS_H_

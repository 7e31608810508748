// SPDX-License-Identifier: Apache-2.0
// A family of metrics: what it declares and how it is computed, in one file. A new metric, with or
// without a parameter, touches the file of its family alone; a new family has a line in
// catalogue.cc, too.
#ifndef DELAYCC_HARNESS_METRICS_FAMILY_H_
#define DELAYCC_HARNESS_METRICS_FAMILY_H_

#include <string>
#include <vector>

#include "metrics/metrics.h"
#include "metrics/parameter.h"

namespace delaycc {

// Which end of a metric's scale is the good one.
enum class Better { kLower, kHigher, kNeither };

struct MetricInfo {
  const char* name;
  const char* unit;   // "" for a pure number
  const char* label;  // for the report page
  Better better;
  unsigned records;  // RecordKinds without which a trial does not have the metric
  // For docs/research/metrics.md, in Markdown. nullptr: that of the metric before, whose row it
  // shares.
  const char* text;
  bool per_set = false;  // there is one for each FlowSet of the workload, too, as "set.name"
};

struct MetricFamily;
struct TrialView;

// Takes the metrics of one family.
class MetricSink {
 public:
  MetricSink(const MetricFamily& family, unsigned records, TrialResult& result)
      : family_(family), records_(records), result_(result) {}
  // Passes over a metric whose records the trial does not have. `flow_set`: empty, or the name of a
  // FlowSet. Throws Error for a name that the family does not declare.
  void set(const char* name, double value, bool missed = false, const std::string& flow_set = "");
  // For curves.
  TrialResult& result() { return result_; }

 private:
  const MetricFamily& family_;
  const unsigned records_;
  TrialResult& result_;
};

struct MetricFamily {
  const char* name;
  std::vector<MetricInfo> metrics;
  std::vector<Parameter> parameters;
  // Called where the trial has the records of one of the metrics, or the family has none.
  void (*compute)(const TrialView& trial, MetricSink& sink);
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_FAMILY_H_

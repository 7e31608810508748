// SPDX-License-Identifier: Apache-2.0
// Completion times and slowdowns of flows with a size.
#include <algorithm>
#include <string>

#include "base/statistics.h"
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

// Completion of the measured flows of one class; of all with -1.
void of_class(const TrialView& trial, MetricSink& sink, int size_class) {
  BoundedValues fcts_us, slowdowns;
  int64_t finished = 0;
  for (const FlowSample& flow : trial.samples) {
    if (size_class >= 0 && flow.size_class != size_class) continue;
    finished += !flow.missed;
    fcts_us.add(static_cast<double>(flow.fct_ns) / kNsPerUs, flow.missed);
    slowdowns.add(
        std::max(1.0, static_cast<double>(flow.fct_ns) / static_cast<double>(flow.ideal_ns)),
        flow.missed);
  }
  if (fcts_us.values.empty() && trial.m.class_names.empty()) return;
  const std::string name =
      size_class < 0 ? "" : trial.m.class_names[static_cast<size_t>(size_class)];
  const int64_t count = static_cast<int64_t>(fcts_us.values.size());
  const auto set = [&](const char* metric, double value, bool missed) {
    sink.set(metric, value, missed, name);
  };
  set("flows", static_cast<double>(count), false);
  set("unfinished", static_cast<double>(count - finished), false);
  if (count == 0 || (finished == 0 && size_class >= 0)) return;
  const bool missed = finished < count;
  set("fct_mean_us", fcts_us.sum() / static_cast<double>(count), missed);
  set("slowdown_mean", slowdowns.sum() / static_cast<double>(count), missed);
  const struct {
    double fraction;
    const char *fct, *slowdown;
  } percentiles[] = {{0.5, "fct_p50_us", "slowdown_p50"},
                     {0.9, "fct_p90_us", "slowdown_p90"},
                     {0.95, "fct_p95_us", "slowdown_p95"},
                     {0.99, "fct_p99_us", "slowdown_p99"},
                     {0.999, "fct_p999_us", "slowdown_p999"}};
  for (const auto& p : percentiles) {
    set(p.fct, fcts_us.percentile(p.fraction), fcts_us.percentile_may_be_more(p.fraction));
    set(p.slowdown, slowdowns.percentile(p.fraction), slowdowns.percentile_may_be_more(p.fraction));
  }
}

void compute(const TrialView& trial, MetricSink& sink) {
  of_class(trial, sink, -1);
  for (size_t i = 0; i < trial.m.class_names.size(); i++)
    of_class(trial, sink, static_cast<int>(i));
}

}  // namespace

const MetricFamily& completion_family() {
  static const MetricFamily family = {
      "completion",
      {
          {"fct_mean_us", "us", "Flow completion time, mean", Better::kLower, kFlowRecords,
           "flow completion time of measured flows with `size_bytes`: first byte written to last "
           "byte read by the receiving application; percentiles by nearest rank. A flow that was "
           "not complete at the end counts as if it were then; the mean is then missed, and a "
           "percentile that the flow could still move",
           true},
          {"fct_p50_us", "us", "Flow completion time, median", Better::kLower, kFlowRecords,
           nullptr, true},
          {"fct_p90_us", "us", "Flow completion time, 90th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"fct_p95_us", "us", "Flow completion time, 95th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"fct_p99_us", "us", "Flow completion time, 99th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"fct_p999_us", "us", "Flow completion time, 99.9th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"slowdown_mean", "", "Slowdown, mean", Better::kLower, kFlowRecords,
           "flow completion time over that of a lone flow on the idle path that the links alone "
           "limit (its packets back to back, at each port behind one another); at least 1",
           true},
          {"slowdown_p50", "", "Slowdown, median", Better::kLower, kFlowRecords, nullptr, true},
          {"slowdown_p90", "", "Slowdown, 90th percentile", Better::kLower, kFlowRecords, nullptr,
           true},
          {"slowdown_p95", "", "Slowdown, 95th percentile", Better::kLower, kFlowRecords, nullptr,
           true},
          {"slowdown_p99", "", "Slowdown, 99th percentile", Better::kLower, kFlowRecords, nullptr,
           true},
          {"slowdown_p999", "", "Slowdown, 99.9th percentile", Better::kLower, kFlowRecords,
           nullptr, true},
          {"flows", "flows", "Flows", Better::kNeither, kFlowRecords,
           "how many flows the metrics `fct_*` and `slowdown_*` are about", true},
          {"unfinished", "flows", "Flows not complete", Better::kLower, kFlowRecords,
           "how many of these were not complete at the end", true},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

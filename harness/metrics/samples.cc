// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "metrics/metrics.h"

namespace delaycc {
namespace {

// The likelihood ratio of a trial until a time: the log weights of the flows that had started by
// then, added up (equation 10 of the CCEval paper; docs/research/evaluation.md). 0 where nothing is
// weighted.
class LogRatio {
 public:
  explicit LogRatio(const CompiledTrial& trial) {
    const std::vector<double>& weights = trial.measurement.log_weight;
    for (const FlowPlan& flow : trial.plan.flows) {
      const auto id = static_cast<size_t>(flow.id);
      if (id < weights.size() && weights[id] != 0) until_.emplace_back(flow.start_ns, weights[id]);
    }
    std::sort(until_.begin(), until_.end());
    double sum = 0;
    for (auto& [start_ns, ratio] : until_) ratio = sum += ratio;
  }
  double at(int64_t time_ns) const {
    const auto after = std::upper_bound(
        until_.begin(), until_.end(), time_ns,
        [](int64_t time, const std::pair<int64_t, double>& entry) { return time < entry.first; });
    return after == until_.begin() ? 0 : (after - 1)->second;
  }

 private:
  std::vector<std::pair<int64_t, double>> until_;
};

}  // namespace

std::vector<FlowSample> flow_samples(const CompiledTrial& trial, const Records& records) {
  std::vector<FlowSample> samples;
  const LogRatio ratio(trial);
  for (const FlowPlan& flow : trial.plan.flows) {
    const FlowRecord& record = records.flows.at(static_cast<size_t>(flow.id));
    if (!flow.measured || flow.size_bytes == kNever || record.start_ns < 0 || record.stop_ns >= 0)
      continue;
    FlowSample sample;
    sample.flow = flow.id;
    sample.size_bytes = flow.size_bytes;
    sample.missed = record.received_ns < 0;
    sample.fct_ns = (sample.missed ? trial.plan.end_ns : record.received_ns) - record.start_ns;
    sample.ideal_ns = trial.measurement.ideal_fct_ns.at(static_cast<size_t>(flow.id));
    const Measurement& m = trial.measurement;
    if (const size_t id = static_cast<size_t>(flow.id); id < m.size_class.size()) {
      sample.size_class = m.size_class[id];
      sample.request = m.request[id];
      sample.log_weight = ratio.at(sample.missed ? trial.plan.end_ns : record.received_ns);
      sample.uniform = m.uniform[id];
    }
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace delaycc

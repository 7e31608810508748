// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

namespace delaycc {

std::vector<FlowSample> flow_samples(const CompiledTrial& trial, const Records& records) {
  std::vector<FlowSample> samples;
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
      sample.log_weight = m.log_weight[id];
      sample.uniform = m.uniform[id];
    }
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace delaycc

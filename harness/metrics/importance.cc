// SPDX-License-Identifier: Apache-2.0
// The likelihood ratio of a whole trial, where its flows are weighted.
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

void compute(const TrialView& trial, MetricSink& sink) {
  double log_ratio = 0;
  bool weighted = false;
  for (const double weight : trial.m.log_weight) {
    log_ratio += weight;
    weighted = weighted || weight != 0;
  }
  if (weighted) sink.set("log_ratio", log_ratio);
}

}  // namespace

const MetricFamily& importance_family() {
  static const MetricFamily family = {
      "importance",
      {
          {"log_ratio", "", "Likelihood ratio, logarithm", Better::kNeither, kFlowRecords,
           "natural logarithm of the trial's likelihood ratio, where `workload.sampling` draws "
           "from another distribution ([evaluation.md](evaluation.md))"},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

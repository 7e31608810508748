// SPDX-License-Identifier: Apache-2.0
// The fluid model of the trials' flow files as a control variate of `delaycc eval`.
#ifndef DELAYCC_HARNESS_EVAL_FLUID_CONTROL_H_
#define DELAYCC_HARNESS_EVAL_FLUID_CONTROL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/evaluation.h"
#include "plan/topology.h"
#include "scenario/scenario_file.h"

namespace delaycc {

// Throws ScenarioError for what the fluid model has no value of: metrics other than completion
// times and slowdowns, an estimate over the flows of all trials, a scenario without [workload], and
// flows that are drawn from another distribution.
void check_fluid_control(const Scenario& scenario, const std::vector<MetricRequest>& metrics);

class FluidControl {
 public:
  FluidControl(const Scenario& scenario, uint64_t seed, std::vector<MetricRequest> metrics);

  // The metrics of the model of a trial's flow file: of its measured flows, cut at the end of the
  // trial as the trial's own are. Absent where the file has no such flow. Safe to use from several
  // threads.
  std::vector<std::optional<double>> values(int number) const;

  // The mean and the tails of each metric over other flow files than any trial has; those of
  // stratified sizes in whole groups of `trials_per_unit`. In steps until every standard error is
  // far below what `goal` asks for, 200,000 files at most: a function of the arguments, the
  // scenario and the seed alone. `more` is told the number of files now and then and ends it
  // (Interrupted) with false. Throws ScenarioError where no file has a flow that a metric is of.
  std::vector<ControlMean> means(const Goal& goal, int trials_per_unit,
                                 const std::function<bool(int)>& more) const;

 private:
  const Scenario scenario_;
  const Network network_;
  const uint64_t seed_;
  const std::vector<MetricRequest> metrics_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_FLUID_CONTROL_H_

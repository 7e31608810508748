// SPDX-License-Identifier: Apache-2.0
// The fluid model of a trial's flow file on the scenario's own network.
#ifndef DELAYCC_HARNESS_EVAL_FLUID_TRIAL_H_
#define DELAYCC_HARNESS_EVAL_FLUID_TRIAL_H_

#include <vector>

#include "plan/topology.h"
#include "spec/scenario.h"
#include "spec/workload.h"

namespace delaycc {

// Completion times in seconds, in the order of `flows` (generate_workload). Every port on a flow's
// path is a link; what a lone flow needs beyond its bytes at the slowest of them (serialisation at
// the others, propagation) is its latency. Headers are counted. Where paths are equal the first is
// taken.
std::vector<double> fluid_trial_fct_s(const Scenario& scenario, const Network& network,
                                      const std::vector<WorkloadFlow>& flows);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_FLUID_TRIAL_H_

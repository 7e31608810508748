// SPDX-License-Identifier: Apache-2.0
// eval --model-based: the CCEval paper's model-based estimation (importance.h) with trials in the
// lab. Sizes are those of the log-normal distribution that fits the workload's, cut at its largest;
// for each algorithm a tilt of it is searched for, and the trials are then drawn from that.
//
// A trial's flow file is made before it runs, so that there is no switching back to the nominal
// distribution once a response time is reached.
#ifndef DELAYCC_HARNESS_EVAL_MODEL_BASED_H_
#define DELAYCC_HARNESS_EVAL_MODEL_BASED_H_

#include "eval/importance.h"
#include "eval/options.h"

namespace delaycc {

// Throws ScenarioError where the scenario or the metrics do not allow it; else sets what the
// estimator is to do.
void suit_model_based(const Scenario& scenario, EvaluationSpec* spec);

// Searches a tilt for each algorithm and makes it `plan`'s. Its trials have the numbers below
// plan->first_number. Throws Interrupted when either flag of `stop` is set: without a tilt there is
// no estimate.
std::vector<ModelBased> find_tilts(const EvalOptions& options, TrialRunner& runner,
                                   const EvalStop& stop, EvalPlan* plan);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_MODEL_BASED_H_

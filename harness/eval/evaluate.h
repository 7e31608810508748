// SPDX-License-Identifier: Apache-2.0
// `delaycc eval`: runs trials, here or on a cluster, until an Evaluation has what it needs.
#ifndef DELAYCC_HARNESS_EVAL_EVALUATE_H_
#define DELAYCC_HARNESS_EVAL_EVALUATE_H_

#include <functional>

#include "backend/backend.h"
#include "eval/options.h"
#include "scenario/scenario_file.h"

namespace delaycc {

// Throws Interrupted once `stop.stop` is true; before the first trial also for `stop.drain`.
EvalOutcome run_evaluation(const EvalOptions& options, const ScenarioFile& file,
                           const Backend& backend, const EvalStop& stop,
                           const std::function<void(const EvalProgress&)>& progress);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_EVALUATE_H_

// SPDX-License-Identifier: Apache-2.0
// Trials on this machine.
#ifndef DELAYCC_HARNESS_EVAL_LOCAL_H_
#define DELAYCC_HARNESS_EVAL_LOCAL_H_

#include "eval/dispatcher.h"

namespace delaycc {

// Runs trials, options.jobs at a time, until none is wanted. Throws what a worker throws.
void run_locally(TrialDispatcher& dispatcher, const EvalOptions& options, const EvalPlan& plan,
                 TrialRunner& runner);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_LOCAL_H_

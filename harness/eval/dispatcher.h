// SPDX-License-Identifier: Apache-2.0
// Between an evaluation and those who run its trials.
#ifndef DELAYCC_HARNESS_EVAL_DISPATCHER_H_
#define DELAYCC_HARNESS_EVAL_DISPATCHER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "eval/fluid_control.h"
#include "eval/options.h"

namespace delaycc {

// Hands out the trials that an Evaluation wants, takes their results, and reports progress: what
// every executor (local.h, slurm.h) works with. All functions may be called from several threads.
class TrialDispatcher {
 public:
  // `control` may be null.
  TrialDispatcher(const EvalOptions& options, const EvalPlan& plan, const Scenario& scenario,
                  const FluidControl* control, const std::string& build, const EvalStop& stop,
                  const std::function<void(const EvalProgress&)>& progress);

  // As Evaluation::next(); empty when there is nothing to do before another trial has come.
  std::vector<TrialId> next(size_t limit, int ahead);
  // False once no further trial is wanted, for whatever reason.
  bool wanted();
  // Sleeps until a trial has come, or a tenth of a second.
  void wait();
  void deliver(TrialId id, TrialOutcome&& outcome);
  // No further trial: a worker failed.
  void abandon();
  void show();
  // Once all workers have ended.
  EvalOutcome outcome();

 private:
  bool past_deadline() const;

  const EvalOptions& options_;
  const FluidControl* control_;
  const EvalStop& stop_;
  const std::function<void(const EvalProgress&)>& progress_;
  const int first_number_;
  const int64_t started_ns_;
  std::mutex mutex_;  // of all below
  std::condition_variable arrived_;
  EvalOutcome outcome_;
  std::map<TrialId, TrialResult> results_;
  std::map<TrialId, std::string> failures_;
  bool abandoned_ = false;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_DISPATCHER_H_

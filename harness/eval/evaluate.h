// SPDX-License-Identifier: Apache-2.0
// `delaycc eval`: runs trials, here or on a cluster, until an Evaluation has what it needs.
#ifndef DELAYCC_HARNESS_EVAL_EVALUATE_H_
#define DELAYCC_HARNESS_EVAL_EVALUATE_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "eval/evaluation.h"
#include "eval/fluid_control.h"
#include "run/summary.h"
#include "run/trials.h"
#include "scenario/scenario_file.h"

namespace delaycc {

struct EvalOptions {
  std::string scenario;  // file
  std::vector<std::string> overrides;
  EvaluationSpec spec;
  uint64_t seed = 1;
  int jobs = 1;  // trials at a time; on a cluster: tasks of an array
  int timeout_s = 300;
  double max_time_s = 0;  // 0: no limit
  bool slurm = false;
  std::vector<std::string> slurm_options;  // of sbatch
  std::string out;
  bool model_based = false;
  bool fluid_control = false;
  std::function<void(const std::string&)> note;  // of what is done before the trials
};

// Which trial of which scenario each trial of an evaluation is.
struct EvalPlan {
  std::vector<Scenario> scenarios;                  // by algorithm
  std::vector<std::vector<std::string>> overrides;  // that give these
  std::vector<std::string> algorithms;
  Parameters parameters;
  int first_number = 0;  // of the trials; lower ones have served to find the tilts

  TrialCase trial_case(TrialId id) const {
    return {scenarios[id.algorithm], parameters, 0, algorithms[id.algorithm],
            first_number + id.number};
  }
};

// What --model-based found for an algorithm (importance.h).
struct ModelBased {
  double fit_mu = 0, fit_sigma = 0, fit_rms_error = 0, fit_mean_bytes = 0, mean_bytes = 0;
  double shift = 0;   // of mu, in sigmas
  double factor = 1;  // of sigma
  int epochs = 0;
  int64_t cycles = 0;
  bool capped = false;
  bool stopped = false;
  double effective_share = 1;
};

// Set by signals: `drain` lets the trials under way end and gives what there is, `stop` ends them.
struct EvalStop {
  std::atomic<bool> drain{false};
  std::atomic<bool> stop{false};
};

struct EvalProgress {
  const Evaluation& evaluation;
  int ran = 0;
  int resumed = 0;
  int failed = 0;
  double elapsed_s = 0;
  double left_s = -1;  // forecast; below 0: not known
};

struct EvalOutcome {
  std::unique_ptr<Evaluation> evaluation;
  RunResult run;  // of the trials used, the main case alone
  enum class End { kFinished, kInterrupted, kMaxTime } end = End::kFinished;
  bool converged = false;  // every algorithm
  int ran = 0;
  int resumed = 0;
  int first_number = 0;  // of the trials
  double elapsed_s = 0;
  double control_s = 0;                 // before that, for the control variate's mean
  std::vector<ModelBased> model_based;  // by algorithm; empty without
  std::vector<std::string> reruns;      // trials that failed once: "oscar trial 3: why"
  std::vector<std::string> failures;    // that failed twice and are among those used
};

// What both executors deliver to and ask. All functions may be called from several threads.
class EvalSink {
 public:
  // `control` may be null.
  EvalSink(const EvalOptions& options, const EvalPlan& plan, const Scenario& scenario,
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

// Throws Interrupted once `stop.stop` is true; before the first trial also for `stop.drain`.
EvalOutcome run_evaluation(const EvalOptions& options, const ScenarioFile& file,
                           const Backend& backend, const EvalStop& stop,
                           const std::function<void(const EvalProgress&)>& progress);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_EVALUATE_H_

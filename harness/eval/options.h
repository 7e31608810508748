// SPDX-License-Identifier: Apache-2.0
// What an evaluation is asked for, and what it gives: the words that its executors share.
#ifndef DELAYCC_HARNESS_EVAL_OPTIONS_H_
#define DELAYCC_HARNESS_EVAL_OPTIONS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eval/evaluation.h"
#include "run/summary.h"
#include "run/trials.h"
#include "spec/scenario.h"

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

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_OPTIONS_H_

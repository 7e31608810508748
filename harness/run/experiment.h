// SPDX-License-Identifier: Apache-2.0
// A run: all trials of a scenario, several at a time, with a store to resume from.
#ifndef DELAYCC_HARNESS_RUN_EXPERIMENT_H_
#define DELAYCC_HARNESS_RUN_EXPERIMENT_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "run/summary.h"
#include "scenario/scenario_file.h"

namespace delaycc {

struct RunOptions {
  std::vector<std::string> algorithms;  // empty: the scenario's
  uint64_t seed = 1;
  int trials = 0;  // 0: the scenario's
  int first_trial = 0;
  int jobs = 1;
  int timeout_s = 300;  // of processor time per trial
  bool sweep = false;   // every case, not the main one alone
  bool trace = false;
  bool keep = false;  // the trials' records
  std::string out;    // folder, made if need be
};

struct Progress {
  int done = 0;
  int total = 0;
  int resumed = 0;  // of done, those that were in the store
  double elapsed_s = 0;
};

struct RunOutcome {
  RunResult result;
  std::vector<std::string> failures;  // one per trial that failed twice
  int resumed = 0;
  int ran = 0;
};

// Most trials of one run: what is kept of each until the end takes 4 to 15 KB.
inline constexpr int kMaxRunTrials = 1'000'000;

// Throws ScenarioError, before it makes the folder, for a mistake in any case, an algorithm that
// the backend lacks, an option that it cannot honour, or too many trials; Interrupted once `stop`
// is true: what has finished by then is in the store. `progress` is called from one thread at a
// time.
RunOutcome run_experiment(const ScenarioFile& file, const RunOptions& options,
                          const Backend& backend, const std::atomic<bool>& stop,
                          const std::function<void(const Progress&)>& progress);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUN_EXPERIMENT_H_

// SPDX-License-Identifier: Apache-2.0
#include "experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "store.h"
#include "trials.h"

namespace delaycc {
namespace {

struct Job {
  size_t case_index;
  std::string algorithm;
  int number;
};

class Run {
 public:
  Run(const ScenarioFile& file, const RunOptions& options, const Lab& lab,
      const std::atomic<bool>& stop, const std::function<void(const Progress&)>& progress)
      : options_(options),
        stop_(stop),
        report_(progress),
        store_(store_path(options.out)),
        runner_(trial_options(options), lab, store_, stop) {
    std::vector<Parameters> cases = {file.main_parameters()};
    if (options.sweep)
      for (const Parameters& parameters : file.sweep())
        if (parameters != file.main_parameters()) cases.push_back(parameters);
    outcome_.result.sweep = options.sweep && cases.size() > 1;
    for (const Parameters& parameters : cases) {
      CaseResult c;
      c.parameters = parameters;
      c.scenario = file.resolve(parameters);
      outcome_.result.cases.push_back(std::move(c));
    }
    const Scenario& main = outcome_.result.cases.front().scenario;
    outcome_.result.algorithms = options.algorithms.empty() ? main.algorithms : options.algorithms;
    outcome_.result.build = runner_.build();
    outcome_.result.seed = options.seed;
    // All algorithms of a trial before the next trial: an interrupted run has comparable parts.
    const int trials = options.trials > 0 ? options.trials : main.trials;
    for (int number = options.first_trial; number < options.first_trial + trials; number++)
      for (size_t c = 0; c < cases.size(); c++)
        for (const std::string& algorithm : outcome_.result.algorithms)
          jobs_.push_back({c, algorithm, number});
    results_.resize(jobs_.size());
    progress_.total = static_cast<int>(jobs_.size());
    started_ns_ = monotonic_ns();
  }

  RunOutcome run() {
    run_workers(
        std::min(options_.jobs, static_cast<int>(jobs_.size())), [this] { return work(); },
        [this] { failed_ = true; });
    if (stop_) throw Interrupted();
    for (size_t i = 0; i < jobs_.size(); i++)
      if (results_[i])
        outcome_.result.cases[jobs_[i].case_index].trials[jobs_[i].algorithm].push_back(
            std::move(results_[i]->result));
    return std::move(outcome_);
  }

 private:
  static std::string store_path(const std::string& out) {
    make_out_folder(out);
    return out + "/results.sqlite";
  }

  static TrialOptions trial_options(const RunOptions& options) {
    TrialOptions result;
    result.seed = options.seed;
    result.timeout_s = options.timeout_s;
    result.trace = options.trace;
    result.keep = options.keep;
    result.keep_folder = options.out + "/trials";
    return result;
  }

  bool work() {
    size_t index;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (stop_ || failed_ || next_ == jobs_.size()) return false;
      index = next_++;
    }
    const Job& job = jobs_[index];
    const CaseResult& c = outcome_.result.cases[job.case_index];
    TrialOutcome outcome =
        runner_.run({c.scenario, c.parameters, job.case_index, job.algorithm, job.number});
    std::lock_guard<std::mutex> lock(mutex_);
    if (outcome.trial) {
      finished(index, std::move(*outcome.trial), outcome.resumed);
    } else {
      outcome_.failures.push_back(
          fmt::format("{} trial {}: {}", job.algorithm, job.number, outcome.failure));
      progress_.done++;
    }
    return true;
  }

  // Called with the mutex held.
  void finished(size_t index, StoredTrial&& stored, bool resumed) {
    outcome_.result.kernel = stored.kernel;
    if (stored.number > 0) {  // curves are of the first trial
      stored.result.queue_bytes.clear();
      stored.result.rates.clear();
    }
    stored.result.flows.clear();
    stored.result.samples.clear();
    results_[index] = std::move(stored);
    progress_.done++;
    progress_.resumed += resumed;
    (resumed ? outcome_.resumed : outcome_.ran)++;
    progress_.elapsed_s = static_cast<double>(monotonic_ns() - started_ns_) / 1e9;
    report_(progress_);
  }

  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(const Progress&)>& report_;
  Store store_;
  TrialRunner runner_;
  RunOutcome outcome_;
  std::vector<Job> jobs_;
  int64_t started_ns_ = 0;

  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // of all below
  size_t next_ = 0;
  std::vector<std::optional<StoredTrial>> results_;
  Progress progress_;
};

}  // namespace

RunOutcome run_experiment(const ScenarioFile& file, const RunOptions& options, const Lab& lab,
                          const std::atomic<bool>& stop,
                          const std::function<void(const Progress&)>& progress) {
  return Run(file, options, lab, stop, progress).run();
}

}  // namespace delaycc

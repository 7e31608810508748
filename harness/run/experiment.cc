// SPDX-License-Identifier: Apache-2.0
#include "run/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "run/store.h"
#include "run/trials.h"

namespace delaycc {
namespace {

// The result of a run that has no trial yet.
RunResult prepare(const ScenarioFile& file, const RunOptions& options, const Backend& backend) {
  std::vector<Parameters> cases = {file.main_parameters()};
  if (options.sweep)
    for (const Parameters& parameters : file.sweep())
      if (parameters != file.main_parameters()) cases.push_back(parameters);
  const std::vector<std::string> known = backend.algorithms();
  if (!backend.capabilities().measures)
    for (const auto& [given, option] :
         {std::pair(options.keep, "--keep"), std::pair(options.trace, "--trace")})
      if (given)
        throw ScenarioError(fmt::format("{}: the backend {} runs nothing that could be recorded",
                                        option, backend.name()));
  if (!backend.capabilities().parallel && options.jobs > 1)
    throw ScenarioError(
        fmt::format("--jobs {}: trials of the backend {} share this machine, allowed is 1",
                    options.jobs, backend.name()));
  RunResult result;
  result.sweep = options.sweep && cases.size() > 1;
  result.seed = options.seed;
  for (const Parameters& parameters : cases) {
    CaseResult c;
    c.parameters = parameters;
    c.scenario = file.resolve(parameters);
    file.check_algorithms(c.scenario, "--cc", options.algorithms, known);
    result.cases.push_back(std::move(c));
  }
  const Scenario& main = result.cases.front().scenario;
  result.algorithms = options.algorithms.empty() ? main.algorithms : options.algorithms;
  return result;
}

// A share of the base RTT; more of it than that is in the figures.
constexpr double kMuchNoise = 0.05;

// The trials in which the machine itself was too much of what was measured.
void note_noise(RunResult* result) {
  int noisy = 0, all = 0;
  double worst = 0;
  for (const CaseResult& c : result->cases)
    for (const auto& [algorithm, trials] : c.trials)
      for (const TrialResult& trial : trials) {
        const auto share = trial.metrics.find(kNoiseShare);
        if (share == trial.metrics.end()) continue;
        all++;
        noisy += share->second.value > kMuchNoise;
        worst = std::max(worst, share->second.value);
      }
  if (noisy > 0)
    result->limits.push_back(fmt::format(
        "in {} of {} trials the machine's noise was above {:.0f} % of the base RTT (up to {:.0f} "
        "%): delays and what follows from them are of the machine as much as of the algorithm",
        noisy, all, kMuchNoise * 100, worst * 100));
}

class Run {
 public:
  Run(const ScenarioFile& file, const RunOptions& options, const Backend& backend,
      const std::atomic<bool>& stop, const std::function<void(const Progress&)>& progress)
      : options_(options),
        stop_(stop),
        report_(progress),
        outcome_{prepare(file, options, backend), {}, 0, 0},
        trials_(options.trials > 0 ? options.trials
                                   : outcome_.result.cases.front().scenario.trials),
        jobs_(job_count(outcome_.result, trials_)),
        store_(store_path(options.out)),
        runner_(trial_options(options), backend, store_, stop) {
    outcome_.result.build = runner_.build();
    outcome_.result.limits = limits_of(backend.capabilities());
    results_.resize(jobs_);
    progress_.total = static_cast<int>(jobs_);
    started_ns_ = monotonic_ns();
  }

  RunOutcome run() {
    run_workers(
        std::min(options_.jobs, static_cast<int>(jobs_)), [this] { return work(); },
        [this] { failed_ = true; });
    if (stop_) throw Interrupted();
    for (size_t i = 0; i < jobs_; i++)
      if (results_[i]) {
        const Job job = job_at(i);
        outcome_.result.cases[job.case_index].trials[job.algorithm].push_back(
            std::move(*results_[i]));
        results_[i].reset();
      }
    note_noise(&outcome_.result);
    return std::move(outcome_);
  }

 private:
  struct Job {
    size_t case_index;
    const std::string& algorithm;
    int number;
  };

  // All algorithms of a trial before the next trial: an interrupted run has comparable parts.
  Job job_at(size_t index) const {
    const std::vector<std::string>& algorithms = outcome_.result.algorithms;
    const size_t per_number = outcome_.result.cases.size() * algorithms.size();
    return {index % per_number / algorithms.size(), algorithms[index % algorithms.size()],
            options_.first_trial + static_cast<int>(index / per_number)};
  }

  static size_t job_count(const RunResult& result, int trials) {
    const size_t cases = result.cases.size();
    const size_t algorithms = result.algorithms.size();
    const size_t all = cases * algorithms * static_cast<size_t>(trials);
    if (all > static_cast<size_t>(kMaxRunTrials))
      throw ScenarioError(fmt::format(
          "{} cases with {} algorithms and {} trials each are {} trials, allowed are at most {} in "
          "one run; use fewer --trials or --cc, single cases by --set, or \"delaycc eval\", which "
          "stops when it knows enough",
          cases, algorithms, trials, all, kMaxRunTrials));
    return all;
  }

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
      if (stop_ || failed_ || next_ == jobs_) return false;
      index = next_++;
    }
    const Job job = job_at(index);
    CaseResult& c = outcome_.result.cases[job.case_index];
    TrialOutcome outcome =
        runner_.run({c.scenario, c.parameters, job.case_index, job.algorithm, job.number});
    std::lock_guard<std::mutex> lock(mutex_);
    if (job.number == options_.first_trial && !outcome.settings.empty())
      c.settings[job.algorithm] = std::move(outcome.settings);
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
    const Job job = job_at(index);
    CaseResult& c = outcome_.result.cases[job.case_index];
    if (job.case_index == 0 && c.scenario.workload.present)
      for (const FlowSample& flow : stored.result.samples)
        if (flow.log_weight == 0)
          (flow.request < 0 ? c.flows : c.responses)[job.algorithm].add(flow);
    stored.result.flows.clear();
    stored.result.samples.clear();
    stored.result.number = stored.number;
    results_[index] = std::make_unique<TrialResult>(std::move(stored.result));
    progress_.done++;
    progress_.resumed += resumed;
    (resumed ? outcome_.resumed : outcome_.ran)++;
    progress_.elapsed_s = static_cast<double>(monotonic_ns() - started_ns_) / 1e9;
    report_(progress_);
  }

  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(const Progress&)>& report_;
  RunOutcome outcome_;
  const int trials_;  // of each algorithm and case
  const size_t jobs_;
  Store store_;
  TrialRunner runner_;
  int64_t started_ns_ = 0;

  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // of all below
  size_t next_ = 0;
  std::vector<std::unique_ptr<TrialResult>> results_;  // by job
  Progress progress_;
};

}  // namespace

RunOutcome run_experiment(const ScenarioFile& file, const RunOptions& options,
                          const Backend& backend, const std::atomic<bool>& stop,
                          const std::function<void(const Progress&)>& progress) {
  return Run(file, options, backend, stop, progress).run();
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "compile.h"
#include "records.h"
#include "store.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 2;

struct Job {
  size_t case_index;
  std::string algorithm;
  int number;
};

// What metrics depend on beside the plan and the records.
std::string measurement_text(const Measurement& m) {
  std::string text = fmt::format(
      "bottleneck {} {} event {} {} {} {} {} {} {} measure {} {} {} {} {} exclude",
      m.bottleneck_port, m.bottleneck_bps, m.event.present, m.event.at_ns, m.event.stop_of,
      m.event.recovers, m.event.threshold, m.event.window_ns, m.event.horizon_ns, m.measure.from_ns,
      m.measure.to_ns, m.measure.bin_ns, m.measure.jain_window_ns, m.measure.jain_threshold);
  for (const auto& [from, to] : m.measure.exclude_ns) text += fmt::format(" {}-{}", from, to);
  text += " gradient " + m.measure.gradient_of + " queue";
  for (const auto& [from, to] : m.measure.queue_ns) text += fmt::format(" {}-{}", from, to);
  text += " rtt";
  for (const auto& [from, to] : m.measure.rtt_ns) text += fmt::format(" {}-{}", from, to);
  text += fmt::format(" suppress {} {}", m.measure.suppress_delay_ns, m.measure.suppress_hold_ns);
  text += fmt::format(" settle {} takeover {} {}", m.measure.settle_ns,
                      m.measure.takeover_window_ns, m.measure.takeover_threshold);
  return text;
}

std::string parameters_text(const Parameters& parameters) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : parameters) json[name] = to_string(value);
  return json.dump();
}

class Run {
 public:
  Run(const ScenarioFile& file, const RunOptions& options, const Lab& lab,
      const std::atomic<bool>& stop, const std::function<void(const Progress&)>& progress)
      : options_(options), lab_(lab), stop_(stop), report_(progress), build_(lab.build_id()) {
    fs::create_directories(options.out);
    store_ = std::make_unique<Store>(options.out + "/results.sqlite");
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
    outcome_.result.build = build_;
    outcome_.result.seed = options.seed;
    // All algorithms of a trial before the next trial: an interrupted run has comparable parts.
    const int trials = options.trials > 0 ? options.trials : main.trials;
    for (int number = 0; number < trials; number++)
      for (size_t c = 0; c < cases.size(); c++)
        for (const std::string& algorithm : outcome_.result.algorithms)
          jobs_.push_back({c, algorithm, number});
    results_.resize(jobs_.size());
    progress_.total = static_cast<int>(jobs_.size());
    started_ns_ = monotonic_ns();
  }

  RunOutcome run() {
    std::vector<std::thread> workers;
    const int count = std::min(options_.jobs, static_cast<int>(jobs_.size()));
    workers.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; i++) workers.emplace_back([this] { work(); });
    for (std::thread& worker : workers) worker.join();
    if (fatal_) std::rethrow_exception(fatal_);
    if (stop_) throw Interrupted();
    for (size_t i = 0; i < jobs_.size(); i++)
      if (results_[i])
        outcome_.result.cases[jobs_[i].case_index].trials[jobs_[i].algorithm].push_back(
            std::move(results_[i]->result));
    return std::move(outcome_);
  }

 private:
  void work() {
    for (;;) {
      size_t index;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (stop_ || fatal_ || next_ == jobs_.size()) return;
        index = next_++;
      }
      try {
        one(index);
      } catch (const Interrupted&) {
        return;
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!fatal_) fatal_ = std::current_exception();
        return;
      }
    }
  }

  void one(size_t index) {
    const Job& job = jobs_[index];
    const CaseResult& c = outcome_.result.cases[job.case_index];
    Trial trial;
    trial.algorithm = job.algorithm;
    trial.number = job.number;
    trial.seed = options_.seed;
    trial.trace = options_.trace;
    const CompiledTrial compiled = compile_trial(
        c.scenario, trial, [this](const std::string& name) { return lab_.has_module(name); });
    const std::string key =
        hash_hex(plan_to_json(compiled.plan) + measurement_text(compiled.measurement) + build_);
    // --keep and --trace want the records, which the store does not have.
    if (!options_.keep && !options_.trace) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (auto stored = store_->load(key)) {
        finished(index, std::move(*stored), true);
        return;
      }
    }
    for (int attempt = 1;; attempt++) {
      try {
        StoredTrial stored = attempt_trial(job, c, compiled);
        stored.key = key;
        std::lock_guard<std::mutex> lock(mutex_);
        if (!store_->load(key)) store_->save(stored);
        finished(index, std::move(stored), false);
        return;
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& e) {
        if (attempt < kAttempts) continue;
        std::lock_guard<std::mutex> lock(mutex_);
        outcome_.failures.push_back(
            fmt::format("{} trial {}: {}", job.algorithm, job.number, std::string(e.what())));
        progress_.done++;
        return;
      }
    }
  }

  StoredTrial attempt_trial(const Job& job, const CaseResult& c, const CompiledTrial& compiled) {
    TemporaryDirectory directory;
    run_in_lab(lab_, compiled.plan, directory.path(), options_.timeout_s, stop_);
    const Records records = read_records(directory.path());
    StoredTrial stored;
    stored.scenario = c.scenario.name;
    stored.parameters = parameters_text(c.parameters);
    stored.algorithm = job.algorithm;
    stored.number = job.number;
    stored.seed = options_.seed;
    stored.build = build_;
    stored.kernel = records.kernel;
    stored.result = compute_metrics(compiled, records);
    if (options_.keep || options_.trace) keep(directory.path(), job);
    return stored;
  }

  void keep(const std::string& from, const Job& job) {
    const fs::path to = fs::path(options_.out) / "trials" /
                        fmt::format("case{}-{}-{}", job.case_index, job.algorithm, job.number);
    fs::remove_all(to);
    fs::create_directories(to);
    for (const char* name : {"plan.json", "flows.json", "ports.bin", "acks.txt", "console.txt"})
      if (fs::exists(fs::path(from) / name)) fs::copy_file(fs::path(from) / name, to / name);
  }

  // Called with the mutex held.
  void finished(size_t index, StoredTrial&& stored, bool resumed) {
    outcome_.result.kernel = stored.kernel;
    if (stored.number > 0) {  // curves are of the first trial
      stored.result.queue_bytes.clear();
      stored.result.rates.clear();
    }
    stored.result.flows.clear();
    results_[index] = std::move(stored);
    progress_.done++;
    progress_.resumed += resumed;
    (resumed ? outcome_.resumed : outcome_.ran)++;
    progress_.elapsed_s = static_cast<double>(monotonic_ns() - started_ns_) / 1e9;
    report_(progress_);
  }

  const RunOptions& options_;
  const Lab& lab_;
  const std::atomic<bool>& stop_;
  const std::function<void(const Progress&)>& report_;
  const std::string build_;
  std::unique_ptr<Store> store_;
  RunOutcome outcome_;
  std::vector<Job> jobs_;
  int64_t started_ns_ = 0;

  std::mutex mutex_;  // of all below, and of store_
  size_t next_ = 0;
  std::vector<std::optional<StoredTrial>> results_;
  Progress progress_;
  std::exception_ptr fatal_;
};

}  // namespace

RunOutcome run_experiment(const ScenarioFile& file, const RunOptions& options, const Lab& lab,
                          const std::atomic<bool>& stop,
                          const std::function<void(const Progress&)>& progress) {
  return Run(file, options, lab, stop, progress).run();
}

}  // namespace delaycc

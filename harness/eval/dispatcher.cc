// SPDX-License-Identifier: Apache-2.0
#include "eval/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace delaycc {

TrialDispatcher::TrialDispatcher(const EvalOptions& options, const EvalPlan& plan,
                                 const Scenario& scenario, const FluidControl* control,
                                 const std::string& build, const EvalStop& stop,
                                 const std::function<void(const EvalProgress&)>& progress)
    : options_(options),
      control_(control),
      stop_(stop),
      progress_(progress),
      first_number_(plan.first_number),
      started_ns_(monotonic_ns()) {
  outcome_.evaluation = std::make_unique<Evaluation>(options.spec);
  CaseResult c;
  c.scenario = scenario;
  outcome_.run.cases.push_back(std::move(c));
  outcome_.run.algorithms = options.spec.algorithms;
  outcome_.run.build = build;
  outcome_.run.seed = options.seed;
  outcome_.first_number = first_number_;
}

bool TrialDispatcher::past_deadline() const {
  return options_.max_time_s > 0 &&
         static_cast<double>(monotonic_ns() - started_ns_) / 1e9 >= options_.max_time_s;
}

bool TrialDispatcher::wanted() {
  std::lock_guard<std::mutex> lock(mutex_);
  return !abandoned_ && !stop_.drain && !stop_.stop && !past_deadline() &&
         !outcome_.evaluation->finished();
}

std::vector<TrialId> TrialDispatcher::next(size_t limit, int ahead) {
  if (!wanted()) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  return outcome_.evaluation->next(limit, ahead);
}

void TrialDispatcher::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  arrived_.wait_for(lock, std::chrono::milliseconds(100));
}

void TrialDispatcher::abandon() {
  std::lock_guard<std::mutex> lock(mutex_);
  abandoned_ = true;
}

void TrialDispatcher::deliver(TrialId id, TrialOutcome&& outcome) {
  std::vector<std::optional<double>> controls(options_.spec.metrics.size());
  if (control_ && outcome.trial) controls = control_->values(first_number_ + id.number);
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string name =
      fmt::format("{} trial {}", options_.spec.algorithms[id.algorithm], first_number_ + id.number);
  if (!outcome.first_failure.empty() && outcome.trial)
    outcome_.reruns.push_back(name + ": " + outcome.first_failure);
  if (outcome.trial) {
    (outcome.resumed ? outcome_.resumed : outcome_.ran)++;
    TrialResult result = std::move(outcome.trial->result);
    outcome_.run.kernel = outcome.trial->kernel;
    std::vector<TrialValue> values;
    for (size_t m = 0; m < controls.size(); m++) {
      values.push_back(trial_value(result, options_.spec.metrics[m]));
      values.back().control = controls[m];
    }
    result.flows.clear();
    result.samples.clear();
    if (id.number > 0) {  // curves are of the first trial
      result.queue_bytes.clear();
      result.rates.clear();
    }
    results_[id] = std::move(result);
    outcome_.evaluation->add(id, std::move(values));
  } else {
    failures_[id] = name + ": " + outcome.failure;
    outcome_.evaluation->add(id, std::nullopt);
  }
  arrived_.notify_all();
  EvalProgress progress{*outcome_.evaluation};
  progress.ran = outcome_.ran;
  progress.resumed = outcome_.resumed;
  progress.failed = static_cast<int>(failures_.size());
  progress.elapsed_s = static_cast<double>(monotonic_ns() - started_ns_) / 1e9;
  if (outcome_.ran > 0) {
    double more = 0;
    for (size_t a = 0; a < options_.spec.algorithms.size(); a++)
      more += static_cast<double>(outcome_.evaluation->more_trials(a));
    progress.left_s = more * progress.elapsed_s / outcome_.ran;
    if (options_.max_time_s > 0)
      progress.left_s =
          std::min(progress.left_s, std::max(0.0, options_.max_time_s - progress.elapsed_s));
  }
  progress_(progress);
}

EvalOutcome TrialDispatcher::outcome() {
  std::lock_guard<std::mutex> lock(mutex_);
  Evaluation& evaluation = *outcome_.evaluation;
  if (!evaluation.finished())
    outcome_.end = stop_.drain ? EvalOutcome::End::kInterrupted : EvalOutcome::End::kMaxTime;
  evaluation.settle();
  outcome_.converged = true;
  for (size_t a = 0; a < options_.spec.algorithms.size(); a++)
    outcome_.converged = outcome_.converged && evaluation.state(a) == Evaluation::State::kConverged;
  outcome_.elapsed_s = static_cast<double>(monotonic_ns() - started_ns_) / 1e9;
  for (auto& [id, result] : results_) {
    if (id.number >= evaluation.used(id.algorithm)) continue;
    // Each algorithm has a tilt, and so flows, of its own there.
    if (!options_.model_based) result.number = id.number;
    outcome_.run.cases[0].trials[options_.spec.algorithms[id.algorithm]].push_back(
        std::move(result));
  }
  for (const auto& [id, text] : failures_)
    if (id.number < evaluation.used(id.algorithm)) outcome_.failures.push_back(text);
  std::sort(outcome_.reruns.begin(), outcome_.reruns.end());
  return std::move(outcome_);
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "eval/model_based.h"
#include "eval/slurm.h"
#include "run/store.h"

namespace delaycc {
namespace {

constexpr int64_t kControlSays_ns = 2'000'000'000;

void run_locally(EvalSink& sink, const EvalOptions& options, const EvalPlan& plan,
                 TrialRunner& runner) {
  run_workers(
      options.jobs,
      [&] {
        // Enough for all to be busy while one takes long.
        const std::vector<TrialId> ids = sink.next(1, 2 * options.jobs);
        if (ids.empty()) {
          if (!sink.wanted()) return false;
          sink.wait();
          return true;
        }
        const TrialId id = ids.front();
        sink.deliver(id, runner.run(plan.trial_case(id)));
        return true;
      },
      [&] { sink.abandon(); });
}

// Both signals end it: there is nothing yet that could be shown.
std::vector<ControlMean> control_means(const FluidControl& control, const EvalOptions& options,
                                       const EvalStop& stop) {
  int64_t said_ns = monotonic_ns();
  std::vector<ControlMean> means =
      control.means(options.spec.goal, options.spec.trials_per_unit, [&](int files) {
        if (options.note && monotonic_ns() - said_ns > kControlSays_ns) {
          said_ns = monotonic_ns();
          options.note(fmt::format("fluid model: {} flow files", files));
        }
        return !stop.drain && !stop.stop;
      });
  for (size_t m = 0; options.note && m < means.size(); m++)
    options.note(fmt::format("fluid model of {} flow files: {} is {:.5g} (standard error {:.2g} %)",
                             means[m].files, options.spec.metrics[m].name, means[m].mean,
                             100 * means[m].error / means[m].mean));
  return means;
}

}  // namespace

EvalSink::EvalSink(const EvalOptions& options, const EvalPlan& plan, const Scenario& scenario,
                   const FluidControl* control, const std::string& build, const EvalStop& stop,
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

bool EvalSink::past_deadline() const {
  return options_.max_time_s > 0 &&
         static_cast<double>(monotonic_ns() - started_ns_) / 1e9 >= options_.max_time_s;
}

bool EvalSink::wanted() {
  std::lock_guard<std::mutex> lock(mutex_);
  return !abandoned_ && !stop_.drain && !stop_.stop && !past_deadline() &&
         !outcome_.evaluation->finished();
}

std::vector<TrialId> EvalSink::next(size_t limit, int ahead) {
  if (!wanted()) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  return outcome_.evaluation->next(limit, ahead);
}

void EvalSink::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  arrived_.wait_for(lock, std::chrono::milliseconds(100));
}

void EvalSink::abandon() {
  std::lock_guard<std::mutex> lock(mutex_);
  abandoned_ = true;
}

void EvalSink::deliver(TrialId id, TrialOutcome&& outcome) {
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

EvalOutcome EvalSink::outcome() {
  std::lock_guard<std::mutex> lock(mutex_);
  Evaluation& evaluation = *outcome_.evaluation;
  if (!evaluation.finished())
    outcome_.end = stop_.drain ? EvalOutcome::End::kInterrupted : EvalOutcome::End::kMaxTime;
  evaluation.settle();
  outcome_.converged = true;
  for (size_t a = 0; a < options_.spec.algorithms.size(); a++)
    outcome_.converged = outcome_.converged && evaluation.state(a) == Evaluation::State::kConverged;
  outcome_.elapsed_s = static_cast<double>(monotonic_ns() - started_ns_) / 1e9;
  for (auto& [id, result] : results_)
    if (id.number < evaluation.used(id.algorithm))
      outcome_.run.cases[0].trials[options_.spec.algorithms[id.algorithm]].push_back(
          std::move(result));
  for (const auto& [id, text] : failures_)
    if (id.number < evaluation.used(id.algorithm)) outcome_.failures.push_back(text);
  std::sort(outcome_.reruns.begin(), outcome_.reruns.end());
  return std::move(outcome_);
}

EvalOutcome run_evaluation(const EvalOptions& options, const ScenarioFile& file,
                           const Backend& backend, const EvalStop& stop,
                           const std::function<void(const EvalProgress&)>& progress) {
  EvalOptions suited = options;
  std::unique_ptr<FluidControl> control;
  const int64_t started_ns = monotonic_ns();
  if (options.fluid_control) {
    control = std::make_unique<FluidControl>(file.resolve(file.main_parameters()), options.seed,
                                             options.spec.metrics);
    suited.spec.controls = control_means(*control, options, stop);
  }
  const double control_s = static_cast<double>(monotonic_ns() - started_ns) / 1e9;
  make_out_folder(options.out);
  Store store(options.out + "/results.sqlite");
  cancel_left_over_job(options.out);
  TrialOptions trial_options;
  trial_options.seed = options.seed;
  trial_options.timeout_s = options.timeout_s;
  TrialRunner runner(trial_options, backend, store, stop.stop);
  EvalPlan plan;
  plan.parameters = file.main_parameters();
  plan.algorithms = options.spec.algorithms;
  plan.scenarios.assign(plan.algorithms.size(), file.resolve(plan.parameters));
  plan.overrides.assign(plan.algorithms.size(), options.overrides);
  const Scenario scenario = plan.scenarios.front();
  std::vector<ModelBased> tilts;
  if (options.model_based) tilts = find_tilts(options, runner, stop, &plan);
  EvalSink sink(suited, plan, scenario, control.get(), runner.build(), stop, progress);
  if (options.slurm)
    run_on_slurm(sink, options, plan, runner, store, stop);
  else
    run_locally(sink, options, plan, runner);
  if (stop.stop) throw Interrupted();
  EvalOutcome outcome = sink.outcome();
  CaseResult& main = outcome.run.cases[0];
  main.parameters = plan.parameters;
  for (size_t a = 0; a < plan.algorithms.size(); a++)
    if (auto settings = runner.settings(plan.trial_case({a, 0})); !settings.empty())
      main.settings[plan.algorithms[a]] = std::move(settings);
  outcome.run.limits = limits_of(backend.capabilities());
  outcome.model_based = std::move(tilts);
  outcome.control_s = control_s;
  return outcome;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluate.h"

#include <fmt/format.h>

#include "eval/dispatcher.h"
#include "eval/local.h"
#include "eval/model_based.h"
#include "eval/slurm.h"
#include "run/store.h"

namespace delaycc {
namespace {

constexpr int64_t kControlSaysNs = 2'000'000'000;

// Both signals end it: there is nothing yet that could be shown.
std::vector<ControlMean> control_means(const FluidControl& control, const EvalOptions& options,
                                       const EvalStop& stop) {
  int64_t said_ns = monotonic_ns();
  std::vector<ControlMean> means =
      control.means(options.spec.goal, options.spec.trials_per_unit, [&](int files) {
        if (options.note && monotonic_ns() - said_ns > kControlSaysNs) {
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
  TrialDispatcher dispatcher(suited, plan, scenario, control.get(), runner.build(), stop, progress);
  if (options.slurm)
    run_on_slurm(dispatcher, options, plan, runner, store, stop);
  else
    run_locally(dispatcher, options, plan, runner);
  if (stop.stop) throw Interrupted();
  EvalOutcome outcome = dispatcher.outcome();
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

// SPDX-License-Identifier: Apache-2.0
#include "eval/model_based.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/compile.h"
#include "plan/topology.h"
#include "scenario/scenario_file.h"

namespace delaycc {
namespace {

std::vector<std::string> tilted(std::vector<std::string> overrides, double shift, double factor) {
  overrides.push_back("workload.sampling=lognormal");
  overrides.push_back(fmt::format("workload.sampling_shift={:.17g}", shift));
  overrides.push_back(fmt::format("workload.sampling_factor={:.17g}", factor));
  return overrides;
}

Scenario resolved(const std::string& path, const std::vector<std::string>& overrides) {
  const ScenarioFile file(path, overrides);
  return file.resolve(file.main_parameters());
}

// Cycles of one algorithm. A search asks for one after the other, so those that it will ask for
// next run with it.
class LabCycles {
 public:
  LabCycles(const EvalOptions& options, const std::string& algorithm, const EvalPlan& plan,
            const LognormalSizes& nominal, int cycles_at_a_time, TrialRunner& runner,
            const EvalStop& stop)
      : options_(options),
        algorithm_(algorithm),
        plan_(plan),
        nominal_(nominal.parameters()),
        at_a_time_(cycles_at_a_time),
        runner_(runner),
        stop_(stop) {}

  ImportanceCycle get(const LognormalSizes& drawn, uint64_t number) {
    const double shift = (drawn.parameters().mu - nominal_.mu) / nominal_.sigma;
    const double factor = drawn.parameters().sigma / nominal_.sigma;
    const std::vector<std::string> overrides = tilted(options_.overrides, shift, factor);
    if (overrides != overrides_ || number < first_ || number >= first_ + cycles_.size()) {
      overrides_ = overrides;
      first_ = number;
      if (options_.note)
        options_.note(fmt::format(
            "{}: searching a tilt, trials {} to {}, mu {:+.3f} sigma, sigma x {:.3f}", algorithm_,
            number, number + static_cast<uint64_t>(at_a_time_) - 1, shift, factor));
      run(resolved(options_.scenario, overrides));
    }
    return cycles_[number - first_];
  }

 private:
  void run(const Scenario& scenario) {
    cycles_.assign(static_cast<size_t>(at_a_time_), ImportanceCycle());
    std::atomic<int> next{0};
    std::atomic<bool> failed{false};
    run_workers(
        std::min(options_.jobs, at_a_time_),
        [&] {
          if (stop_.drain || stop_.stop || failed) return false;
          const int i = next++;
          if (i >= at_a_time_) return false;
          cycles_[static_cast<size_t>(i)] = cycle(scenario, static_cast<int>(first_) + i);
          return true;
        },
        [&] { failed = true; });
    if (stop_.drain || stop_.stop) throw Interrupted();
  }

  ImportanceCycle cycle(const Scenario& scenario, int number) {
    const TrialOutcome outcome = runner_.run({scenario, plan_.parameters, 0, algorithm_, number});
    if (!outcome.trial)
      throw Error(fmt::format("{} trial {} of the search failed twice: {}", algorithm_, number,
                              outcome.failure));
    const TrialValue value = trial_value(outcome.trial->result, options_.spec.metrics.front());
    ImportanceCycle cycle;
    for (const WeightedValue& flow : value.flows)
      cycle.flows.push_back({flow.value, flow.log_weight});
    cycle.log_ratio = value.log_weight;
    const Network network = build_network(scenario.topology, scenario.hosts);
    for (const WorkloadFlow& flow : trial_workload(scenario, network, options_.seed, number))
      if (flow.request < 0)
        cycle.log_bytes.push_back(std::log(static_cast<double>(flow.size_bytes)));
    return cycle;
  }

  const EvalOptions& options_;
  const std::string algorithm_;
  const EvalPlan& plan_;
  const Lognormal nominal_;
  const int at_a_time_;
  TrialRunner& runner_;
  const EvalStop& stop_;
  std::vector<std::string> overrides_;
  uint64_t first_ = 0;
  std::vector<ImportanceCycle> cycles_;
};

}  // namespace

void suit_model_based(const Scenario& scenario, EvaluationSpec* spec) {
  const WorkloadSpec& workload = scenario.workload;
  if (!workload.present || !(workload.load > 0))
    throw ScenarioError(
        "--model-based: the scenario has no [workload] with a load, whose sizes it is about");
  if (workload.sampling.kind != "plain")
    throw ScenarioError("--model-based: workload.sampling is \"" + workload.sampling.kind +
                        "\", allowed is \"plain\": it sets the sampling itself");
  if (spec->metrics.size() != 1 || spec->metrics.front().estimand != Estimand::kPooled)
    throw ScenarioError(
        "--model-based: a tilt is for one quantile of flows, allowed is one --metric such as "
        "fct_p99_us");
  const ModelBasedOptions defaults;
  spec->pooled.method = PooledOptions::Method::kBatches;
  spec->pooled.cycles_per_batch = defaults.cycles_per_batch;
  // lambda times the length of the trial is what all of its flows are, but not those of a class.
  if (spec->metrics.front().flows.kind == FlowSet::Kind::kAll && workload.incast.fan_in == 0 &&
      workload.warm_up_ns == 0 && workload.cool_down_ns == 0) {
    const Network network = build_network(scenario.topology, scenario.hosts);
    spec->pooled.flows_per_cycle =
        expected_flows(workload, workload_hosts(scenario, network), scenario.measure.duration_ns);
  }
}

std::vector<ModelBased> find_tilts(const EvalOptions& options, TrialRunner& runner,
                                   const EvalStop& stop, EvalPlan* plan) {
  ModelBasedOptions search_options;
  search_options.p = options.spec.metrics.front().quantile;
  search_options.goal = options.spec.goal;
  search_options.switching = false;
  std::vector<ModelBased> result;
  for (size_t a = 0; a < plan->algorithms.size(); a++) {
    const EmpiricalCdf& sizes = *plan->scenarios[a].workload.sizes;
    const LognormalFit fit = fit_lognormal(sizes, true);
    const Lognormal nominal = fit.sizes.parameters();
    LabCycles cycles(options, plan->algorithms[a], *plan, fit.sizes, search_options.epoch_cycles,
                     runner, stop);
    const TiltSearch search =
        adaptive_cross_entropy([&](const LognormalSizes& drawn, double,
                                   uint64_t number) { return cycles.get(drawn, number); },
                               fit.sizes, search_options, 0);
    ModelBased found;
    found.fit_mu = nominal.mu;
    found.fit_sigma = nominal.sigma;
    found.fit_rms_error = fit.rms_error;
    found.fit_mean_bytes = fit.mean_bytes;
    found.mean_bytes = sizes.mean();
    found.shift = (search.drawn.parameters().mu - nominal.mu) / nominal.sigma;
    found.factor = search.drawn.parameters().sigma / nominal.sigma;
    found.epochs = search.epochs;
    found.cycles = search.cycles;
    found.capped = search.capped;
    found.stopped = search.stopped;
    found.effective_share = search.effective_share;
    plan->overrides[a] = tilted(options.overrides, found.shift, found.factor);
    plan->scenarios[a] = resolved(options.scenario, plan->overrides[a]);
    result.push_back(found);
  }
  plan->first_number = search_options.epochs * search_options.epoch_cycles;
  return result;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// cceval-lab: the estimators over trials of the lab, from the stores of `delaycc run`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "eval/fluid_trial.h"
#include "plan/compile.h"
#include "plan/topology.h"
#include "run/store.h"
#include "scenario/scenario_file.h"
#include "study/bench.h"

namespace delaycc {
namespace {

constexpr int kFluidTrials = 100'000;        // for the mean of the control
constexpr int kFirstFluidTrial = 1'000'000;  // numbers that no trial of the lab has

struct LabTrial {
  double p99_s = NAN;
  std::vector<WeightedValue> flows;
  double log_ratio = 0;
};
// By number.
using LabTrials = std::map<int, LabTrial>;

struct LabCase {
  std::string scenario;
  Parameters parameters;
  std::string name;  // its parameters
  uint64_t seed = 1;
  std::map<std::string, LabTrials> algorithms;
};

std::vector<LabCase> load(const std::vector<std::string>& folders) {
  std::map<std::pair<std::string, std::string>, LabCase> cases;
  for (const std::string& folder : folders) {
    Store store(folder + "/results.sqlite", Store::Sharing::kShared);
    for (const std::string& key : store.keys()) {
      const std::optional<StoredTrial> stored = store.load(key);
      if (!stored) continue;
      LabCase& c = cases[{stored->scenario, stored->parameters}];
      c.scenario = stored->scenario;
      c.seed = stored->seed;
      const auto json = nlohmann::json::parse(stored->parameters);
      c.name.clear();
      for (const auto& [parameter, value] : json.items()) {
        const auto text = value.get<std::string>();
        // As a scenario reads it: what looks like a number is one.
        size_t end = 0;
        double number = 0;
        try {
          number = std::stod(text, &end);
        } catch (const std::logic_error&) {
        }
        if (end > 0 && end == text.size())
          c.parameters[parameter] = number;
        else
          c.parameters[parameter] = text;
        c.name += (c.name.empty() ? "" : ", ") + parameter + " = " + text;
      }
      LabTrial trial;
      std::vector<double> values;
      for (const FlowSample& s : stored->result.samples) {
        const double fct_s = static_cast<double>(s.fct_ns) / 1e9;
        trial.flows.push_back({fct_s, s.log_weight});
        values.push_back(fct_s);
      }
      if (!values.empty()) trial.p99_s = trial_quantile(std::move(values), 0.99);
      const auto ratio = stored->result.metrics.find("log_ratio");
      if (ratio != stored->result.metrics.end()) trial.log_ratio = ratio->second.value;
      c.algorithms[stored->algorithm][stored->number] = std::move(trial);
    }
  }
  std::vector<LabCase> result;
  for (auto& [key, c] : cases) result.push_back(std::move(c));
  return result;
}

// The fluid model of the case's flow files. Not the harness's FluidControl: flows are not cut at
// the end of a trial, and the excess over the p99 of all files is a control of its own.
class FluidOfFiles {
 public:
  FluidOfFiles(const LabCase& c, bool with_mean, const std::function<void(double)>& progress)
      : scenario_(ScenarioFile(std::string(DELAYCC_SCENARIOS) + "/" + c.scenario + ".toml",
                               std::vector<std::string>{})
                      .resolve(c.parameters)),
        network_(build_network(scenario_.topology, scenario_.hosts)),
        seed_(c.seed) {
    if (!with_mean) return;
    FineQuantile pooled;
    for (int t = 0; t < kFluidTrials; ++t) {
      const std::vector<double> fct = trial(kFirstFluidTrial + t);
      if (t % 1000 == 0) progress(static_cast<double>(t) / kFluidTrials);
      if (fct.empty()) continue;
      mean_.add(trial_quantile(fct, 0.99));
      for (double v : fct) pooled.add(v);
    }
    p99_ = pooled.quantile(0.99);
  }
  std::vector<double> trial(int number) const {
    return fluid_trial_fct_s(scenario_, network_,
                             trial_workload(scenario_, network_, seed_, number));
  }
  const Moments& mean() const { return mean_; }
  double error() const {  // of the mean; 0 without one
    return mean_.n() > 0 ? mean_.deviation() / std::sqrt(static_cast<double>(mean_.n())) : 0;
  }
  // Flows above the model's own p99 in excess of their share.
  double excess(const std::vector<double>& fct) const {
    double above = 0;
    for (double v : fct) above += v > p99_;
    return above - 0.01 * static_cast<double>(fct.size());
  }

 private:
  Scenario scenario_;
  Network network_;
  uint64_t seed_;
  Moments mean_;
  double p99_ = 0;
};

void add_row(StudyTable& table, const LabCase& c, const std::string& algorithm,
             const std::string& way, const Estimate& e) {
  Json row = {
      {"case", c.name},
      {"algorithm", algorithm},
      {"estimand", e.estimand},
      {"estimator", way},
      {"trials", e.trials},
      {"estimate, ms", rounded(e.value * 1e3)},
      {"+- %", std::isfinite(e.relative_margin) ? Json(percent(e.relative_margin)) : Json(nullptr)},
      {"trials for 1 %", e.forecast_trials},
      {"from", e.forecast_low},
      {"to", e.forecast_high}};
  row["effective share"] = rounded(e.effective_share, 3);
  row["correlation"] = e.correlation != 0 ? Json(rounded(e.correlation, 3)) : Json(nullptr);
  table.rows.push_back(row);
}

std::string parameter(const LabCase& c, const std::string& name) {
  const auto it = c.parameters.find(name);
  return it == c.parameters.end() ? "" : to_string(it->second);
}

void one_algorithm(const LabCase& c, const FluidOfFiles& fluid, StudyTable& table) {
  const std::string sampling = parameter(c, "sampling");
  const bool stratified = sampling == "stratified";
  const int group = stratified ? SamplingSpec().group : 1;
  const bool weighted = !stratified && sampling != "plain";
  for (const auto& [algorithm, trials] : c.algorithms) {
    MeanEstimator mean({}, group);
    ControlVariate control(fluid.mean().mean(), fluid.error(), {}, group);
    PooledQuantile p99(0.99), p999(0.999), controlled(0.99);
    double sum = 0, control_sum = 0;
    int in_group = 0;
    for (const auto& [number, trial] : trials) {
      p99.add_weighted_cycle(trial.flows, trial.log_ratio);
      p999.add_weighted_cycle(trial.flows, trial.log_ratio);
      if (weighted || std::isnan(trial.p99_s)) continue;
      const std::vector<double> model = fluid.trial(number);
      controlled.add_weighted_cycle(trial.flows, 0, fluid.excess(model));
      if (in_group == 0 && number % group != 0) continue;  // not a whole group
      sum += trial.p99_s;
      control_sum += trial_quantile(model, 0.99);
      if (++in_group < group) continue;
      mean.add(sum / group);
      control.add(sum / group, control_sum / group);
      sum = control_sum = 0;
      in_group = 0;
    }
    if (!weighted) {
      add_row(table, c, algorithm, "mean of the trial's p99", mean.estimate());
      add_row(table, c, algorithm, "the same, fluid control", control.estimate());
    }
    // A stratified trial's flows are not independent of its group's: no ratio interval.
    if (stratified) continue;
    add_row(table, c, algorithm, "ratio", p99.estimate());
    if (!weighted) add_row(table, c, algorithm, "ratio, fluid control", controlled.estimate());
    add_row(table, c, algorithm, "ratio", p999.estimate());
  }
}

struct Values {
  std::vector<double> a, b;
};

// How often the sign of b - a over `few` trials is not that over all; trials drawn without return.
double flips(const Values& v, size_t few, bool paired, uint64_t seed, int repetitions) {
  double truth = 0;
  for (size_t i = 0; i < v.a.size(); ++i) truth += v.b[i] - v.a[i];
  int flipped = 0;
  for (int r = 0; r < repetitions; ++r) {
    const auto choose = [&](uint64_t stream) {
      std::vector<size_t> order(v.a.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      for (size_t i = 0; i < few; ++i) {
        const double u = uniform_draw(seed, static_cast<uint64_t>(r), stream, i);
        std::swap(order[i],
                  order[i + static_cast<size_t>(u * static_cast<double>(order.size() - i))]);
      }
      return order;
    };
    const std::vector<size_t> of_a = choose(0);
    const std::vector<size_t> of_b = paired ? of_a : choose(1);
    double difference = 0;
    for (size_t i = 0; i < few; ++i) difference += v.b[of_b[i]] - v.a[of_a[i]];
    flipped += difference * truth < 0;
  }
  return percent(flipped, repetitions);
}

void pairs(const LabCase& c, const StudyOptions& options, StudyTable& table, StudyTable& flip) {
  for (auto a = c.algorithms.begin(); a != c.algorithms.end(); ++a)
    for (auto b = std::next(a); b != c.algorithms.end(); ++b) {
      PairedComparison comparison;
      Values values;
      for (const auto& [number, trial] : a->second) {
        const auto other = b->second.find(number);
        if (other == b->second.end() || std::isnan(trial.p99_s) || std::isnan(other->second.p99_s))
          continue;
        comparison.add(trial.p99_s, other->second.p99_s);
        values.a.push_back(trial.p99_s);
        values.b.push_back(other->second.p99_s);
      }
      const Comparison r = comparison.compare();
      if (r.difference.n < 2) continue;
      Json row = {{"verdict", describe(r, a->first, b->first)}};
      row["b - a, %"] = rounded(100 * r.difference.value / r.a.value, 3);
      row["correlation"] = rounded(r.correlation, 3);
      row["verdict: pairs"] = r.difference.forecast_trials;
      row["verdict: independent trials"] = r.unpaired;
      const double margin = 0.01 * r.a.value;
      Goal goal;
      row["1 % of a: pairs"] = forecast_units(goal, r.difference.deviation, margin);
      row["1 % of a: independent trials"] =
          forecast_units(goal, std::hypot(r.a.deviation, r.b.deviation), margin);
      row["saved, %"] = percent(r.saved);
      table.rows.push_back(row);
      if (values.a.size() < 20) continue;
      flip.rows.push_back(
          {{"algorithms", a->first + ", " + b->first},
           {"trials in all", values.a.size()},
           {"b - a over all, %", rounded(100 * r.difference.value / r.a.value, 3)},
           {"10 independent trials have the other sign, %",
            flips(values, 10, false, options.seed, options.repetitions)},
           {"10 pairs, %", flips(values, 10, true, options.seed, options.repetitions)}});
    }
}

}  // namespace

void study_lab(const StudyOptions& options, StudyResult& result) {
  if (options.results.empty())
    throw Error("cceval-lab: give the folder of `delaycc run cceval-dumbbell` with --results");
  const std::vector<LabCase> cases = load(options.results);
  if (cases.empty()) throw Error("cceval-lab: no trial in " + options.results.front());
  StudyTable one{"One algorithm", {}};
  StudyTable two{"Two algorithms on the same flow files, mean of the trial's p99", {}};
  StudyTable flip{"What ten trials say", {}};
  double done = 0;
  for (const LabCase& c : cases) {
    const std::string sampling = parameter(c, "sampling");
    const bool weighted = sampling != "plain" && sampling != "stratified";
    const FluidOfFiles fluid(c, !weighted, [&](double share) {
      options.progress((done + share) / static_cast<double>(cases.size()));
    });
    one_algorithm(c, fluid, one);
    if (sampling == "plain") pairs(c, options, two, flip);
    done++;
  }
  result.tables.push_back(one);
  result.tables.push_back(two);
  result.tables.push_back(flip);
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// cceval-save: one algorithm. Stratified sizes, the fluid model as control variate, both, and a
// lifted tail against plain trials, for each estimand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "study/bench.h"

namespace delaycc {
namespace {

constexpr int kTrials = 1000;  // of one repetition; a multiple of every group

struct Way {
  const char* name;
  int group;  // trials in a group; 1: plain
  bool control;
  double lift;  // share of the tail above 0.97
};
constexpr Way kWays[] = {{"plain", 1, false, 0},
                         {"stratified, groups of 20", 20, false, 0},
                         {"stratified, groups of 50", 50, false, 0},
                         {"fluid control variate", 1, true, 0},
                         {"stratified, groups of 20, and control", 20, true, 0},
                         {"lifted tail (0.97, 0.03)", 1, false, 0.03}};

struct NamedLaw {
  const char* name;
  SurrogateLaw law;
};
const NamedLaw kLaws[] = {
    {"processor sharing itself", {}},
    {"97 % efficient, 20 us a start, 1 % lose 0.2 ms", {0.97, 20e-6, 0, 0.01, 0.2e-3, 1}},
    {"97 % efficient, 20 us a start, a factor by chance (20 %) for each flow",
     {0.97, 20e-6, 0.2, 0, 0, 1}},
    {"3 % of the flows lose 1 ms", {1, 0, 0, 0.03, 1e-3, 1}}};

double exceedances(const std::vector<double>& values, double gamma, double p) {
  double above = 0;
  for (double v : values) above += v > gamma;
  return above - (1 - p) * static_cast<double>(values.size());
}

}  // namespace

void study_save(const StudyOptions& options, StudyResult& result) {
  const Bench bench(options.seed);
  const Truth fluid =
      find_truth(bench, options.truth_trials, {}, [&](double d) { options.progress(0.1 * d); });
  const int repetitions = std::max(10, options.repetitions / 4);
  const double steps = static_cast<double>(std::size(kLaws) * std::size(kWays));
  double step = 0;
  uint64_t purpose = 100;
  for (const NamedLaw& law : kLaws) {
    const Truth truth = find_truth(bench, options.truth_trials, law.law, [](double) {});
    StudyTable table{
        fmt::format("{}: trials for 1 % at 95 % (mean of the forecasts from 1000)", law.name), {}};
    int64_t plain[3] = {0, 0, 0};
    for (const Way& way : kWays) {
      Coverage coverage[3];
      Moments correlation;
      for (int r = 0; r < repetitions; ++r) {
        const Bench own = bench.again(purpose, static_cast<uint64_t>(r));
        const bool grouped = way.group > 1;
        MeanEstimator mean({}, way.group);
        ControlVariate controlled(
            fluid.trial[kP99],
            fluid.trial_deviation[kP99] / std::sqrt(static_cast<double>(options.truth_trials)), {},
            way.group);
        PooledOptions o;
        if (grouped) o.method = PooledOptions::Method::kSections;
        if (way.lift > 0) o.flows_per_cycle = own.flows;
        PooledQuantile p99(0.99, {}, o), p999(0.999, {}, o);
        double sum = 0, control_sum = 0;
        for (int t = 0; t < kTrials; ++t) {
          const SurrogateTrial run = way.lift > 0 ? own.tail(t, 0.97, way.lift)
                                     : grouped    ? own.stratified(t, way.group, law.law)
                                                  : own.plain(t, law.law);
          std::vector<double> model;
          if (way.control)
            model = (grouped ? own.stratified(t, way.group) : own.plain(t)).response_s;
          std::vector<WeightedValue> values;
          for (size_t i = 0; i < run.response_s.size(); ++i)
            values.push_back({run.response_s[i], run.log_ratio[i]});
          // Sections know no control: what is stratified has none for the pooled quantiles.
          const bool pooled_control = way.control && !grouped;
          p99.add_weighted_cycle(values, run.cycle_log_ratio,
                                 pooled_control ? exceedances(model, fluid.pooled[kP99], 0.99) : 0);
          p999.add_weighted_cycle(
              values, run.cycle_log_ratio,
              pooled_control ? exceedances(model, fluid.pooled[kP999], 0.999) : 0);
          sum += run.response_s.empty() ? 0 : trial_quantile(run.response_s, 0.99);
          if (way.control) control_sum += model.empty() ? 0 : trial_quantile(model, 0.99);
          if ((t + 1) % way.group != 0) continue;
          mean.add(sum / way.group);
          if (way.control) controlled.add(sum / way.group, control_sum / way.group);
          sum = control_sum = 0;
        }
        const Estimate e = way.control ? controlled.estimate() : mean.estimate();
        // A lifted tail has another mean of the trial's p99.
        if (way.lift == 0) coverage[0].add(e, truth.trial[kP99]);
        correlation.add(e.correlation);
        if (!(way.control && grouped)) {
          coverage[1].add(p99.estimate(), truth.pooled[kP99]);
          coverage[2].add(p999.estimate(), truth.pooled[kP999]);
        }
      }
      purpose++;
      options.progress(0.1 + 0.9 * ++step / steps);
      if (way.lift > 0 && &law != &kLaws[0]) continue;
      Json row = {{"drawn and estimated", way.name}};
      const char* const names[] = {"mean of p99", "pooled p99", "pooled p99.9"};
      for (size_t i = 0; i < 3; ++i) {
        if (coverage[i].n() == 0) {
          row[names[i]] = nullptr;
          row[fmt::format("{}: saved, coverage %", names[i])] = nullptr;
          continue;
        }
        const int64_t trials = coverage[i].mean_forecast();
        if (plain[i] == 0) plain[i] = trials;
        row[names[i]] = trials;
        row[fmt::format("{}: saved, coverage %", names[i])] = fmt::format(
            "{}, {}",
            percent(static_cast<double>(plain[i] - trials), static_cast<double>(plain[i])),
            coverage[i].percent());
      }
      row["correlation"] = way.control ? Json(rounded(correlation.mean(), 3)) : Json(nullptr);
      table.rows.push_back(row);
    }
    result.tables.push_back(table);
  }
}

}  // namespace delaycc

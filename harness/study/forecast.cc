// SPDX-License-Identifier: Apache-2.0
// cceval-forecast: the forecast of equation 3 against what a goal takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/bench.h"

namespace delaycc {

void study_forecast(const StudyOptions& options, StudyResult& result) {
  const Bench bench(options.seed);
  const Truth truth =
      find_truth(bench, options.truth_trials, {}, [&](double d) { options.progress(0.3 * d); });
  const std::vector<int> counts = {20, 50, 100, 200, 500, 1000};
  const size_t kinds = kQuantiles.size();
  std::vector<std::vector<std::vector<double>>> errors(
      kinds, std::vector<std::vector<double>>(counts.size()));
  std::vector<std::vector<int>> held(kinds, std::vector<int>(counts.size(), 0));
  std::vector<std::vector<double>> widths(kinds, std::vector<double>(counts.size(), 0));
  std::vector<int64_t> needed;
  for (size_t q = 0; q < kinds; ++q)
    needed.push_back(trials_needed(truth.trial_deviation[q], 1, truth.trial[q]));
  // Trials until equation 2 held, against the forecast from 20: what the paper compares (margin 5
  // %).
  constexpr double kStopMargin = 0.05;
  std::vector<std::vector<double>> stop_errors(kinds);
  for (int r = 0; r < options.repetitions; ++r) {
    const Bench own = bench.again(3, static_cast<uint64_t>(r));
    std::vector<MeanEstimator> means(kinds), stops;
    Goal wide;
    wide.relative_margin = kStopMargin;
    for (size_t q = 0; q < kinds; ++q) stops.emplace_back(wide);
    std::vector<double> forecast(kinds, 0);
    std::vector<bool> stopped(kinds, false);
    size_t next = 0;
    for (int t = 0; t < counts.back(); ++t) {
      const SurrogateTrial run = own.plain(t);
      if (run.response_s.empty()) continue;
      for (size_t q = 0; q < kinds; ++q) {
        const double value = trial_quantile(run.response_s, kQuantiles[q]);
        means[q].add(value);
        stops[q].add(value);
        if (stopped[q] || stops[q].moments().n() < 20) continue;
        const Estimate e = stops[q].estimate();
        if (e.n == 20) forecast[q] = static_cast<double>(e.forecast_trials);
        if (!e.converged) continue;
        stopped[q] = true;
        stop_errors[q].push_back(std::abs(forecast[q] / static_cast<double>(e.n) - 1));
      }
      if (t + 1 != counts[next]) continue;
      for (size_t q = 0; q < kinds; ++q) {
        const Estimate e = means[q].estimate();
        const auto truth_n = static_cast<double>(needed[q]);
        errors[q][next].push_back(std::abs(static_cast<double>(e.forecast_trials) / truth_n - 1));
        held[q][next] += e.forecast_low <= needed[q] && needed[q] <= e.forecast_high;
        widths[q][next] += static_cast<double>(e.forecast_high) /
                           static_cast<double>(std::max<int64_t>(e.forecast_low, 1)) /
                           options.repetitions;
      }
      next++;
    }
    options.progress(0.3 + 0.7 * (r + 1) / options.repetitions);
  }
  StudyTable table{"Mean of a trial's own quantile, 1 % at 95 %: forecast against what it takes",
                   {}};
  for (size_t q = 0; q < kinds; ++q)
    for (size_t c = 0; c < counts.size(); ++c) {
      std::vector<double>& e = errors[q][c];
      table.rows.push_back(
          {{"metric", quantile_name(q)},
           {"takes", needed[q]},
           {"from trials", counts[c]},
           {"median error, %", percent(trial_quantile(e, 0.5))},
           {"p90 of the error, %", percent(trial_quantile(e, 0.9))},
           {"interval holds, %", percent(held[q][c], static_cast<double>(e.size()))},
           {"high / low (mean)", rounded(widths[q][c], 3)}});
    }
  result.tables.push_back(table);
  StudyTable stops{"The trials at which 5 % was reached, against the forecast from 20", {}};
  for (size_t q = 0; q < kinds; ++q)
    if (!stop_errors[q].empty())
      stops.rows.push_back(
          {{"metric", quantile_name(q)},
           {"reached within 1000 trials", percent(static_cast<double>(stop_errors[q].size()),
                                                  static_cast<double>(options.repetitions))},
           {"median error, %", percent(trial_quantile(stop_errors[q], 0.5))}});
  result.tables.push_back(stops);
}

}  // namespace delaycc

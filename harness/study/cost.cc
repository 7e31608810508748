// SPDX-License-Identifier: Apache-2.0
// cceval-cost: the estimators' own time as a share of the trials'. The times are measured, so that
// this study alone is not the same byte for byte.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "study/bench.h"

namespace delaycc {
namespace {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void study_cost(const StudyOptions& options, StudyResult& result) {
  const Bench bench(options.seed);
  constexpr int kTrials = 2000;
  std::vector<std::vector<double>> runs;
  std::vector<double> p99, other;
  for (int t = 0; t < kTrials; ++t) {
    runs.push_back(bench.plain(t).response_s);
    if (runs.back().empty()) runs.back().push_back(0);
    p99.push_back(trial_quantile(runs.back(), 0.99));
    other.push_back(p99.back() * (1 + 0.01 * std::sin(t)));
  }
  StudyTable table{fmt::format("Per trial, over {} trials; share of a trial of {} s", kTrials,
                               options.lab_trial_s),
                   {}};
  volatile double sink = 0;  // so that nothing is left out
  const auto row = [&](const char* name, const std::function<void()>& work) {
    const double each = seconds(work) / kTrials;
    table.rows.push_back({{"estimator, looked at after every trial", name},
                          {"us per trial", rounded(each * 1e6, 3)},
                          {"share, %", rounded(100 * each / options.lab_trial_s, 2)}});
  };
  row("mean of the trial's p99, from the flows on", [&] {
    MeanEstimator mean;
    for (const auto& run : runs) {
      mean.add(trial_quantile(run, 0.99));
      sink = sink + mean.estimate().half_width;
    }
  });
  row("pair", [&] {
    PairedComparison pairs;
    for (size_t t = 0; t < p99.size(); ++t) {
      pairs.add(p99[t], other[t]);
      sink = sink + pairs.compare().significance;
    }
  });
  row("fluid model of the flow file, and control variate", [&] {
    ControlVariate control(p99[0]);
    for (int t = 0; t < kTrials; ++t) {
      control.add(other[static_cast<size_t>(t)],
                  trial_quantile(runs[static_cast<size_t>(t)], 0.99));
      sink = sink + (bench.plain(t).response_s.size() > 1 ? control.estimate().half_width : 0);
    }
  });
  options.progress(0.3);
  row("pooled p99 (ratio)", [&] {
    PooledQuantile pooled(0.99);
    for (const auto& run : runs) {
      pooled.add_cycle(run);
      sink = sink + pooled.estimate().half_width;
    }
  });
  row("pooled p99 (ratio), looked at after every 20th", [&] {
    PooledQuantile pooled(0.99);
    for (size_t t = 0; t < runs.size(); ++t) {
      pooled.add_cycle(runs[t]);
      if (t % 20 == 19) sink = sink + pooled.estimate().half_width;
    }
  });
  options.progress(0.6);
  result.tables.push_back(table);

  // What the search of the model-based estimation adds is trials.
  const LognormalFit fit = fit_lognormal(bench.sizes, true);
  ModelBasedOptions model;
  model.flows_per_cycle = bench.flows;
  StudyTable search{"Importance sampling, mended: trials beside those of the estimate", {}};
  for (int64_t most : {4000, 8000, 16000}) {
    const CycleSource source = surrogate_cycles(bench.net, bench.flows, fit.sizes, options.seed);
    model.goal.relative_margin = 1e-6;
    const ModelBasedResult m = model_based_quantile(source, fit.sizes, model, most);
    search.rows.push_back({{"trials of the estimate", m.estimate.trials},
                           {"of the search", m.search.cycles},
                           {"share, %", percent(static_cast<double>(m.cycles - m.estimate.trials),
                                                static_cast<double>(m.estimate.trials))},
                           {"share with m_or = 100 as printed, %",
                            percent(static_cast<double>(m.cycles - m.estimate.trials + 100),
                                    static_cast<double>(m.estimate.trials))}});
  }
  result.tables.push_back(search);
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// cceval-is: the paper's model-based estimation of a tail quantile, as printed and mended, against
// plain trials of the same estimand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "study/bench.h"

namespace delaycc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kCycles = 2000;  // of one repetition

struct Fitted {
  LognormalSizes sizes;
  Truth truth;
  double batch_p99;  // mean over batches of 40 cycles: what Algorithm 2 estimates
};

Fitted simulate(const Bench& bench, const LognormalSizes& sizes, int64_t cycles,
                const std::function<void(double)>& done) {
  const CycleSource source =
      surrogate_cycles(bench.net, bench.flows, sizes, bench.again(4, 0).seed);
  FineQuantile pooled;
  Moments trial, batches;
  std::vector<double> batch;
  Fitted fitted{sizes, {}, 0};
  for (int64_t c = 0; c < cycles; ++c) {
    const ImportanceCycle cycle = source(sizes, kInfinity, static_cast<uint64_t>(c));
    std::vector<double> values;
    for (const ImportanceFlow& f : cycle.flows) {
      values.push_back(f.value);
      pooled.add(f.value);
    }
    batch.insert(batch.end(), values.begin(), values.end());
    if (!values.empty()) trial.add(trial_quantile(std::move(values), 0.99));
    if ((c + 1) % 40 == 0) {
      batches.add(trial_quantile(batch, 0.99));
      batch.clear();
    }
    if (c % 10000 == 0) done(static_cast<double>(c) / static_cast<double>(cycles));
  }
  fitted.truth.trial[kP99] = trial.mean();
  fitted.truth.pooled[kP99] = pooled.quantile(0.99);
  fitted.truth.pooled[kP999] = pooled.quantile(0.999);
  fitted.batch_p99 = batches.mean();
  return fitted;
}

void add_cycle(PooledQuantile& pooled, const ImportanceCycle& cycle) {
  std::vector<WeightedValue> values;
  for (const ImportanceFlow& f : cycle.flows)
    values.push_back({f.value, std::min(f.log_ratio, 700.0)});
  pooled.add_weighted_cycle(values, cycle.log_ratio);
}

struct Way {
  std::string name;
  bool search = false;
  Lognormal tilt;  // in nominal sigmas: shift, factor
  ModelBasedOptions options;
};

}  // namespace

void study_importance(const StudyOptions& options, StudyResult& result) {
  const Bench bench(options.seed);
  const double biggest = bench.sizes.points().back().bytes;
  const LognormalFit uncut = fit_lognormal(bench.sizes, false);
  const LognormalFit cut = fit_lognormal(bench.sizes, true);
  const Truth empirical = find_truth(bench, options.truth_trials / 2, {},
                                     [&](double d) { options.progress(0.05 * d); });
  const Fitted of_cut = simulate(bench, cut.sizes, options.truth_trials / 2,
                                 [&](double d) { options.progress(0.05 + 0.05 * d); });
  const Fitted of_uncut = simulate(bench, uncut.sizes, options.truth_trials / 20,
                                   [&](double d) { options.progress(0.1 + 0.01 * d); });
  StudyTable fits{"Log-normal sizes in place of WebSearch's (equal arrivals)", {}};
  const auto fit_row = [&](const char* name, double mu, double sigma, double rms, double mean,
                           const Truth& truth) {
    fits.rows.push_back(
        {{"sizes", name},
         {"mu", rounded(mu)},
         {"sigma", rounded(sigma)},
         {"rms error of the CDF", rounded(rms, 2)},
         {"load, %", percent(mean * bench.flows / bench.net.duration_s * 8, bench.net.rate_bps)},
         {"mean of the trial's p99, ms", rounded(truth.trial[kP99] * 1e3)},
         {"pooled p99, ms", rounded(truth.pooled[kP99] * 1e3)},
         {"pooled p99.9, ms", rounded(truth.pooled[kP999] * 1e3)}});
  };
  fit_row("empirical", 0, 0, 0, bench.mean_bytes, empirical);
  fit_row("log-normal, not cut (the paper's)", uncut.sizes.parameters().mu,
          uncut.sizes.parameters().sigma, uncut.rms_error, uncut.mean_bytes, of_uncut.truth);
  fit_row(fmt::format("log-normal, cut at {:.0f} MB", biggest / 1e6).c_str(),
          cut.sizes.parameters().mu, cut.sizes.parameters().sigma, cut.rms_error, cut.mean_bytes,
          of_cut.truth);
  const LognormalFit uncut_points = fit_lognormal(bench.sizes, false, FitAt::kPoints);
  const LognormalFit cut_points = fit_lognormal(bench.sizes, true, FitAt::kPoints);
  for (const LognormalFit* fit : {&uncut_points, &cut_points}) {
    const bool is_cut = fit == &cut_points;
    const Fitted of_it = simulate(bench, fit->sizes, options.truth_trials / 20, [](double) {});
    fit_row(
        is_cut ? "cut, fitted at the CDF's own points" : "not cut, fitted at the CDF's own points",
        fit->sizes.parameters().mu, fit->sizes.parameters().sigma, fit->rms_error, fit->mean_bytes,
        of_it.truth);
  }
  result.tables.push_back(fits);

  // One estimand for all: the pooled p99 of the cut log-normal, by the ratio estimator with the
  // exact number of flows.
  const Lognormal nominal = cut.sizes.parameters();
  ModelBasedOptions mended;
  mended.flows_per_cycle = bench.flows;
  ModelBasedOptions uncapped = mended;
  uncapped.largest_shift = uncapped.largest_factor = uncapped.least_effective_share = 0;
  ModelBasedOptions long_epochs = uncapped;
  long_epochs.epoch_cycles = 1000;
  ModelBasedOptions printed = ModelBasedOptions::as_printed();
  const std::vector<Way> ways = {
      {"plain", false, {0, 1}, {}},
      {"tilt +0.1 sigma, x1.05", false, {0.1, 1.05}, {}},
      {"tilt +0.3 sigma", false, {0.3, 1}, {}},
      {"tilt +0.5 sigma", false, {0.5, 1}, {}},
      {"cross-entropy, 10 cycles an epoch, no safeguard", true, {}, uncapped},
      {"the same as printed, without ratios", true, {}, printed},
      {"cross-entropy, 1000 cycles an epoch, no safeguard", true, {}, long_epochs},
      {"cross-entropy, 10 cycles, capped, effective sample >= 0.5", true, {}, mended},
  };
  StudyTable table{
      "Pooled p99 of the cut log-normal, 1 % at 95 % (2000 cycles a repetition, same estimator)",
      {}};
  const int repetitions = std::max(10, options.repetitions / 4);
  int64_t plain_trials = 0;
  for (size_t w = 0; w < ways.size(); ++w) {
    Coverage coverage;
    std::vector<double> forecasts;
    // Long searches cost as much as the cycles themselves.
    const bool costly = ways[w].search && ways[w].options.epoch_cycles > 100;
    const int these = costly ? std::max(10, repetitions / 5) : repetitions;
    for (int r = 0; r < these; ++r) {
      const CycleSource source = surrogate_cycles(
          bench.net, bench.flows, cut.sizes, bench.again(5 + w, static_cast<uint64_t>(r)).seed);
      LognormalSizes drawn = cut.sizes;
      double gamma = of_cut.truth.pooled[kP99];
      uint64_t number = 0;
      if (ways[w].search) {
        const TiltSearch search = adaptive_cross_entropy(source, cut.sizes, ways[w].options, 0);
        drawn = search.drawn;
        gamma = search.gamma_max;
        number = static_cast<uint64_t>(search.cycles);
      } else {
        drawn = LognormalSizes(
            {nominal.mu + ways[w].tilt.mu * nominal.sigma, nominal.sigma * ways[w].tilt.sigma},
            biggest);
      }
      PooledOptions o;
      o.flows_per_cycle = w == 0 ? 0 : bench.flows;
      PooledQuantile pooled(0.99, {}, o);
      for (int c = 0; c < kCycles; ++c)
        add_cycle(pooled, source(drawn, w == 0 ? kInfinity : gamma, number++));
      const Estimate e = pooled.estimate();
      coverage.add(e, of_cut.truth.pooled[kP99]);
      forecasts.push_back(e.forecast_trials > 0 ? static_cast<double>(e.forecast_trials) : 1e9);
      options.progress(0.11 + 0.49 * (static_cast<double>(w) + (r + 1.0) / these) /
                                  static_cast<double>(ways.size()));
    }
    const int64_t trials = trials_needed(coverage.deviation(), kCycles, of_cut.truth.pooled[kP99]);
    if (w == 0) plain_trials = trials;
    table.rows.push_back(
        {{"drawn from", ways[w].name},
         {"trials, from the spread of all", trials},
         {"trials, median of own forecasts", std::llround(trial_quantile(forecasts, 0.5))},
         {"against plain, %",
          percent(static_cast<double>(trials - plain_trials), static_cast<double>(plain_trials))},
         {"effective share", rounded(coverage.effective_share(), 3)},
         {"bias, %", coverage.bias_percent(of_cut.truth.pooled[kP99])},
         {"coverage, %", coverage.percent()}});
  }
  result.tables.push_back(table);

  // The whole procedure, until its own interval says 1 %.
  StudyTable whole{"Algorithm 2 until it stops at 1 %, batches of 40 cycles, at most 200000 cycles",
                   {}};
  struct Procedure {
    const char* name;
    ModelBasedOptions options;
    bool ratio_after_switch;
    bool plain;
  };
  Procedure procedures[] = {{"no importance sampling (no search)", uncapped, false, true},
                            {"as printed", printed, false, false},
                            {"as printed, ratio goes on after the switch", printed, true, false},
                            {"mended, no safeguard", uncapped, false, false},
                            {"mended, capped, effective sample >= 0.5", mended, false, false}};
  procedures[0].options.epochs = 0;
  const int runs = std::max(10, options.repetitions / 10);
  size_t p = 0;
  for (const Procedure& procedure : procedures) {
    Coverage own, pooled, of_empirical;
    Moments cycles, extra;
    int unfinished = 0;
    for (int r = 0; r < runs; ++r) {
      const CycleSource source = surrogate_cycles(
          bench.net, bench.flows, cut.sizes, bench.again(50 + p, static_cast<uint64_t>(r)).seed,
          procedure.ratio_after_switch);
      const ModelBasedResult m = model_based_quantile(source, cut.sizes, procedure.options, 200000);
      own.add(m.estimate, of_cut.batch_p99);
      pooled.add(m.estimate, of_cut.truth.pooled[kP99]);
      of_empirical.add(m.estimate, empirical.pooled[kP99]);
      cycles.add(static_cast<double>(m.cycles));
      extra.add(static_cast<double>(m.cycles - m.estimate.trials) / static_cast<double>(m.cycles));
      unfinished += !m.estimate.converged;
      options.progress(0.6 + 0.3 * (static_cast<double>(p) + (r + 1.0) / runs) /
                                 static_cast<double>(std::size(procedures)));
    }
    ++p;
    whole.rows.push_back(
        {{"procedure", procedure.name},
         {"cycles (mean)", std::llround(cycles.mean())},
         {"of these for search and m_or, %", percent(extra.mean())},
         {"not done, %", percent(unfinished, runs)},
         {"effective share", rounded(own.effective_share(), 3)},
         {"holds its own quantile over 40 cycles, %", own.percent()},
         {"holds the pooled p99, %", pooled.percent()},
         {"bias against the pooled p99, %", pooled.bias_percent(of_cut.truth.pooled[kP99])},
         {"holds the empirical sizes' p99, %", of_empirical.percent()}});
  }
  result.tables.push_back(whole);

  StudyTable tail{"The empirical sizes with a lifted tail, ratio estimator, 1 % at 95 %", {}};
  struct Lift {
    double from, share;
  };
  const Lift lifts[] = {{0.97, 0}, {0.97, 0.03}, {0.97, 0.06}, {0.9, 0.1}, {0.97, 0.15}};
  int64_t plain[2] = {0, 0};
  size_t l = 0;
  for (const Lift& lift : lifts) {
    Coverage coverage[2];
    for (int r = 0; r < repetitions; ++r) {
      const Bench own = bench.again(80 + l, static_cast<uint64_t>(r));
      PooledOptions o;
      o.flows_per_cycle = lift.share > 0 ? bench.flows : 0;
      PooledQuantile p99(0.99, {}, o), p999(0.999, {}, o);
      for (int t = 0; t < kCycles; ++t) {
        const SurrogateTrial run = own.tail(t, lift.from, lift.share);
        std::vector<WeightedValue> values;
        for (size_t i = 0; i < run.response_s.size(); ++i)
          values.push_back({run.response_s[i], run.log_ratio[i]});
        p99.add_weighted_cycle(values, run.cycle_log_ratio);
        p999.add_weighted_cycle(values, run.cycle_log_ratio);
      }
      coverage[0].add(p99.estimate(), empirical.pooled[kP99]);
      coverage[1].add(p999.estimate(), empirical.pooled[kP999]);
      options.progress(0.9 + 0.1 * (static_cast<double>(l) + (r + 1.0) / repetitions) /
                                 static_cast<double>(std::size(lifts)));
    }
    for (size_t i = 0; i < 2; ++i) {
      const double truth = empirical.pooled[i == 0 ? kP99 : kP999];
      const int64_t trials = trials_needed(coverage[i].deviation(), kCycles, truth);
      if (l == 0) plain[i] = trials;
      tail.rows.push_back(
          {{"estimand", i == 0 ? "pooled p99" : "pooled p99.9"},
           {"drawn from",
            lift.share > 0 ? fmt::format("u > {} with share {}", lift.from, lift.share) : "plain"},
           {"trials", trials},
           {"against plain, %",
            percent(static_cast<double>(trials - plain[i]), static_cast<double>(plain[i]))},
           {"effective share", rounded(coverage[i].effective_share(), 3)},
           {"bias, %", coverage[i].bias_percent(truth)},
           {"coverage, %", coverage[i].percent()}});
    }
    ++l;
  }
  result.tables.push_back(tail);
}

}  // namespace delaycc

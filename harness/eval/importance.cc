// SPDX-License-Identifier: Apache-2.0
#include "eval/importance.h"

#include <algorithm>
#include <cmath>

namespace delaycc {
namespace {

constexpr double kNeverSwitch = std::numeric_limits<double>::infinity();

// Ratios beyond e^700 would be infinite; such a sample is no use anyway.
double weight_of(double log_ratio) { return std::exp(std::min(log_ratio, 700.0)); }

// Equation 12 over the cycles of an epoch, with the sum of the ratios as the number of flows: an
// epoch is too short to know better, and a search needs a place in the tail, not an estimate.
double epoch_quantile(const std::vector<ImportanceCycle>& cycles, double p) {
  std::vector<std::pair<double, double>> flows;
  double all = 0;
  for (const ImportanceCycle& cycle : cycles)
    for (const ImportanceFlow& flow : cycle.flows) {
      flows.emplace_back(flow.value, weight_of(flow.log_ratio));
      all += flows.back().second;
    }
  std::sort(flows.begin(), flows.end());
  double above = 0;
  for (size_t i = flows.size(); i-- > 0;) {
    above += flows[i].second;
    if (above > (1 - p) * all) return flows[i].first;
  }
  return 0;
}

// Equations 16 and 17. False if no flow reaches gamma.
bool entropy_moments(const std::vector<ImportanceCycle>& cycles, double gamma, bool weighted,
                     Lognormal& moments) {
  double weights = 0, logs = 0;
  std::vector<double> cycle_weights;
  for (const ImportanceCycle& cycle : cycles) {
    double above = 0;
    for (const ImportanceFlow& flow : cycle.flows)
      if (flow.value >= gamma) above += weighted ? weight_of(flow.log_ratio) : 1;
    cycle_weights.push_back(above);
    weights += above * static_cast<double>(cycle.log_bytes.size());
    for (double l : cycle.log_bytes) logs += above * l;
  }
  if (!(weights > 0) || !std::isfinite(weights)) return false;
  moments.mu = logs / weights;
  double squares = 0;
  for (size_t c = 0; c < cycles.size(); ++c)
    for (double l : cycles[c].log_bytes)
      squares += cycle_weights[c] * (l - moments.mu) * (l - moments.mu);
  moments.sigma = std::sqrt(squares / weights);
  return moments.sigma > 0;
}

}  // namespace

ModelBasedOptions ModelBasedOptions::as_printed() {
  ModelBasedOptions o;
  o.goal.interval = Interval::kNormal;
  o.weighted_entropy = false;
  o.cut_moments = false;
  o.keep_last_update = false;
  o.first_epoch_switches = true;
  o.quantile_as_printed = true;
  o.largest_shift = 0;
  o.largest_factor = 0;
  o.least_effective_share = 0;
  return o;
}

TiltSearch adaptive_cross_entropy(const CycleSource& source, const LognormalSizes& nominal,
                                  const ModelBasedOptions& options, uint64_t first_number) {
  TiltSearch search{nominal};
  const Lognormal& start = nominal.parameters();
  LognormalSizes last = nominal;  // the tilt before the one that the latest update gave
  double gamma = options.first_epoch_switches ? 0 : kNeverSwitch;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    std::vector<ImportanceCycle> cycles;
    std::vector<double> log_ratios;
    for (int i = 0; i < options.epoch_cycles; ++i) {
      cycles.push_back(source(search.drawn, options.switching ? gamma : kNeverSwitch,
                              first_number + static_cast<uint64_t>(search.cycles++)));
      log_ratios.push_back(cycles.back().log_ratio);
    }
    search.epochs = epoch + 1;
    search.effective_share = effective_share(log_ratios);
    if (options.least_effective_share > 0 &&
        search.effective_share < options.least_effective_share) {
      search.drawn = last;
      search.stopped = true;
      return search;
    }
    const double quantile = epoch_quantile(cycles, options.p);
    // As printed the update looks at the level of the epoch before.
    const double level = options.first_epoch_switches ? gamma : quantile;
    Lognormal moments;
    const bool found = entropy_moments(cycles, level, options.weighted_entropy, moments);
    gamma = search.gamma_max = quantile;
    if (!found) continue;
    Lognormal next = moments;
    if (options.cut_moments)
      next = LognormalSizes::with_log_moments(moments, nominal.max_bytes()).parameters();
    if (options.largest_shift > 0) {
      const double most = options.largest_shift * start.sigma;
      const double mu = std::clamp(next.mu, start.mu - most, start.mu + most);
      search.capped = search.capped || mu != next.mu;
      next.mu = mu;
    }
    if (options.largest_factor > 0) {
      const double sigma = std::clamp(next.sigma, start.sigma / options.largest_factor,
                                      start.sigma * options.largest_factor);
      search.capped = search.capped || sigma != next.sigma;
      next.sigma = sigma;
    }
    last = search.drawn;
    // The printed procedure's parameters may leave nothing below the cut.
    try {
      search.drawn = LognormalSizes(next, nominal.max_bytes());
    } catch (const Error&) {
      search.stopped = true;
      return search;
    }
  }
  if (!options.keep_last_update) search.drawn = last;
  return search;
}

ModelBasedResult model_based_quantile(const CycleSource& source, const LognormalSizes& nominal,
                                      const ModelBasedOptions& options, int64_t most_cycles,
                                      uint64_t first_number) {
  ModelBasedResult result{adaptive_cross_entropy(source, nominal, options, first_number), {}};
  uint64_t number = first_number + static_cast<uint64_t>(result.search.cycles);
  result.flows_per_cycle = options.flows_per_cycle;
  if (!options.self_normalised && !(options.flows_per_cycle > 0)) {
    for (; result.original_cycles < options.original_cycles; ++result.original_cycles)
      result.flows_per_cycle +=
          static_cast<double>(source(nominal, kNeverSwitch, number++).flows.size());
    result.flows_per_cycle /= std::max(1, options.original_cycles);
  }
  PooledOptions pooled;
  pooled.method = PooledOptions::Method::kBatches;
  pooled.cycles_per_batch = options.cycles_per_batch;
  pooled.flows_per_cycle = options.self_normalised ? 0 : result.flows_per_cycle;
  pooled.as_printed = options.quantile_as_printed;

  MeanEstimator mean(options.goal, options.cycles_per_batch);
  std::vector<double> log_ratios;
  int64_t flows = 0;
  while (static_cast<int64_t>(log_ratios.size()) + options.cycles_per_batch <= most_cycles) {
    PooledQuantile batch(options.p, options.goal, pooled);
    for (int i = 0; i < options.cycles_per_batch; ++i) {
      const ImportanceCycle cycle =
          source(result.search.drawn, options.switching ? result.search.gamma_max : kNeverSwitch,
                 number++);
      std::vector<WeightedValue> values;
      for (const ImportanceFlow& f : cycle.flows)
        values.push_back({f.value, std::min(f.log_ratio, 700.0)});
      batch.add_weighted_cycle(values, cycle.log_ratio);
      log_ratios.push_back(cycle.log_ratio);
      flows += static_cast<int64_t>(values.size());
    }
    const double quantile = batch.estimate().value;
    if (std::isfinite(quantile))
      mean.add(quantile);
    else
      mean.add_missing();
    const Moments& m = mean.moments();
    if (m.n() >= options.goal.min_units && mean.estimate().converged) break;
  }
  result.estimate = mean.estimate();
  result.estimate.flows = flows;
  result.estimate.effective_share = effective_share(log_ratios);
  result.estimate.effective_trials =
      result.estimate.effective_share * static_cast<double>(log_ratios.size());
  result.cycles = static_cast<int64_t>(number - first_number);
  return result;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "study/bench.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace delaycc {
namespace {

constexpr double kSmallest = 1e-9;   // seconds
constexpr double kBinWidth = 2e-5;   // of ln(value)
constexpr size_t kBins = 1'200'000;  // up to 26 s
constexpr double kNormal95 = 1.959963985;

}  // namespace

const char* quantile_name(size_t index) {
  static const char* const names[] = {"p50", "p90", "p99", "p99.9"};
  return names[index];
}

SurrogateTrial Bench::of(FlowSampler& sampler, int trial, const SurrogateLaw& law) const {
  return run_surrogate(net, sampler.draw(flows), sizes, mean_bytes, law, seed,
                       static_cast<uint64_t>(trial));
}

SurrogateTrial Bench::plain(int trial, const SurrogateLaw& law) const {
  PlainSampler sampler(seed, trial, 0);
  return of(sampler, trial, law);
}

SurrogateTrial Bench::stratified(int trial, int group, const SurrogateLaw& law) const {
  StratifiedSampler sampler(seed, trial, 0, group);
  return of(sampler, trial, law);
}

SurrogateTrial Bench::tail(int trial, double from, double share) const {
  TailSampler sampler(seed, trial, 0, from, share);
  return of(sampler, trial, {});
}

Bench Bench::again(uint64_t purpose, uint64_t number) const {
  Bench other = *this;
  other.seed = mix(mix(seed + (purpose << 32)) + number);
  return other;
}

FineQuantile::FineQuantile() : bins_(kBins, 0) {}

void FineQuantile::add(double value) {
  const double bin = std::log(std::max(value, kSmallest) / kSmallest) / kBinWidth;
  bins_[std::min(static_cast<size_t>(bin), kBins - 1)]++;
  n_++;
}

double FineQuantile::quantile(double p) const {
  double left = p * static_cast<double>(n_);
  for (size_t i = 0; i < kBins; ++i) {
    left -= bins_[i];
    if (left <= 0) return kSmallest * std::exp((static_cast<double>(i) + 0.5) * kBinWidth);
  }
  return kSmallest * std::exp(static_cast<double>(kBins) * kBinWidth);
}

Truth find_truth(const Bench& bench, int64_t trials, const SurrogateLaw& law,
                 const std::function<void(double)>& done) {
  const Bench own = bench.again(1, 0);
  std::array<Moments, 4> trial;
  FineQuantile pooled;
  for (int64_t t = 0; t < trials; ++t) {
    const SurrogateTrial run = own.plain(static_cast<int>(t), law);
    if (t % 10000 == 0) done(static_cast<double>(t) / static_cast<double>(trials));
    if (run.response_s.empty()) continue;
    for (double r : run.response_s) pooled.add(r);
    for (size_t q = 0; q < kQuantiles.size(); ++q)
      trial[q].add(trial_quantile(run.response_s, kQuantiles[q]));
  }
  Truth truth;
  for (size_t q = 0; q < kQuantiles.size(); ++q) {
    truth.trial[q] = trial[q].mean();
    truth.trial_deviation[q] = trial[q].deviation();
    truth.pooled[q] = pooled.quantile(kQuantiles[q]);
  }
  return truth;
}

void Coverage::add(const Estimate& e, double truth) {
  n_++;
  inside_ += e.low <= truth && truth <= e.high;
  bounded_ += std::isfinite(e.half_width);
  if (std::isfinite(e.value)) values_.add(e.value);
  trials_.add(static_cast<double>(e.trials));
  share_.add(e.effective_share);
  if (e.forecast_trials > 0) forecasts_.add(static_cast<double>(e.forecast_trials));
}

double Coverage::percent() const {
  return n_ > 0 ? delaycc::percent(static_cast<double>(inside_), static_cast<double>(n_)) : 0;
}

double Coverage::bounded_percent() const {
  return n_ > 0 ? delaycc::percent(static_cast<double>(bounded_), static_cast<double>(n_)) : 0;
}

double Coverage::bias_percent(double truth) const {
  return std::round((values_.mean() / truth - 1) * 10000) / 100;
}

int64_t trials_needed(double deviation, double trials, double truth, double margin) {
  const double ratio = kNormal95 * deviation / (margin * truth);
  return static_cast<int64_t>(std::llround(trials * ratio * ratio));
}

}  // namespace delaycc

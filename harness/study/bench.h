// SPDX-License-Identifier: Apache-2.0
// What the studies on the surrogate share: its workload, ways to draw a trial, the true values.
#ifndef DELAYCC_HARNESS_STUDY_BENCH_H_
#define DELAYCC_HARNESS_STUDY_BENCH_H_

#include <array>
#include <cstdint>
#include <vector>

#include "eval/estimator.h"
#include "study/study.h"
#include "study/surrogate.h"

namespace delaycc {

constexpr std::array<double, 4> kQuantiles = {0.5, 0.9, 0.99, 0.999};
constexpr size_t kP50 = 0, kP99 = 2, kP999 = 3;
const char* quantile_name(size_t index);

// WebSearch at 30 % of 100 Gbit/s for 0.02 s: 44 flows a trial.
struct Bench {
  Surrogate net;
  EmpiricalCdf sizes = EmpiricalCdf::find("websearch");
  double mean_bytes = sizes.mean();
  double flows = net.flows(mean_bytes);
  uint64_t seed = 1;

  explicit Bench(uint64_t with_seed) : seed(with_seed) {}
  SurrogateTrial plain(int trial, const SurrogateLaw& law = {}) const;
  SurrogateTrial stratified(int trial, int group, const SurrogateLaw& law = {}) const;
  SurrogateTrial tail(int trial, double from, double share) const;
  SurrogateTrial of(FlowSampler& sampler, int trial, const SurrogateLaw& law) const;
  // Another one with a seed of its own: `purpose` and `number` tell them apart.
  Bench again(uint64_t purpose, uint64_t number) const;
};

// Quantiles over very many values in bounded memory, to 10^-5 of the value.
class FineQuantile {
 public:
  FineQuantile();
  void add(double value);
  double quantile(double p) const;

 private:
  std::vector<uint32_t> bins_;
  int64_t n_ = 0;
};

// By kQuantiles: the mean of each trial's own quantile, and the pooled one.
struct Truth {
  std::array<double, 4> trial{};
  std::array<double, 4> pooled{};
  std::array<double, 4> trial_deviation{};  // of a trial's own quantile
};
// `done` goes from 0 to 1.
Truth find_truth(const Bench& bench, int64_t trials, const SurrogateLaw& law,
                 const std::function<void(double)>& done);

// How often an interval held the truth.
class Coverage {
 public:
  void add(const Estimate& e, double truth);
  double percent() const;          // of all
  double bounded_percent() const;  // had both bounds
  double bias_percent(double truth) const;
  double deviation() const { return values_.deviation(); }
  // Mean of the estimates' own forecasts; 0 if none has one.
  int64_t mean_forecast() const { return static_cast<int64_t>(forecasts_.mean()); }
  double mean_trials() const { return trials_.mean(); }
  double effective_share() const { return share_.mean(); }
  int64_t n() const { return n_; }

 private:
  int64_t n_ = 0, inside_ = 0, bounded_ = 0;
  Moments values_, trials_, share_, forecasts_;
};

// Trials for a half-width of `margin` of the truth at 95 %, when estimates from `trials` trials
// spread by `deviation`.
int64_t trials_needed(double deviation, double trials, double truth, double margin = 0.01);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STUDY_BENCH_H_

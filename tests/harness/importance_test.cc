// SPDX-License-Identifier: Apache-2.0
#include "eval/importance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "study/bench.h"
#include "study/surrogate.h"

namespace delaycc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Bench& bench() {
  static const Bench b(1);
  return b;
}

const LognormalSizes& nominal() {
  static const LognormalSizes sizes = fit_lognormal(bench().sizes, true).sizes;
  return sizes;
}

CycleSource source(uint64_t seed, bool ratio_after_switch = false) {
  return surrogate_cycles(bench().net, bench().flows, nominal(), seed, ratio_after_switch);
}

LognormalSizes tilted(double shift, double factor) {
  const Lognormal p = nominal().parameters();
  return LognormalSizes({p.mu + shift * p.sigma, p.sigma * factor}, nominal().max_bytes());
}

TEST(Surrogate, HasTheLoadOfTheWorkload) {
  double bytes = 0;
  constexpr int kTrials = 5000;
  for (int t = 0; t < kTrials; ++t)
    for (double b : bench().plain(t).bytes) bytes += b;
  const double load = bytes * 8 / kTrials / bench().net.duration_s / bench().net.rate_bps;
  EXPECT_NEAR(load, 0.3, 0.01);
  EXPECT_NEAR(bench().flows, 44, 1);
}

TEST(Surrogate, MeansResponseTimesOfProcessorSharing) {
  // E[response] = E[service] / (1 - load) in the long run; Poisson arrivals that go on for long.
  Surrogate net;
  net.duration_s = 20;
  const double flows = net.flows(bench().mean_bytes);
  PlainSampler sampler(3, 0, 0);
  const SurrogateTrial trial =
      run_surrogate(net, sampler.draw(flows), bench().sizes, bench().mean_bytes);
  Moments response;
  for (double r : trial.response_s) response.add(r);
  const double service = bench().mean_bytes * 8 / net.rate_bps;
  EXPECT_NEAR(response.mean() / (service / 0.7), 1, 0.03);
}

TEST(Surrogate, LawsDoWhatTheySay) {
  const SurrogateTrial plain = bench().plain(7);
  SurrogateLaw slow;
  slow.start_s = 1e-3;
  slow.timeout_share = 1;
  slow.timeout_s = 2e-3;
  const SurrogateTrial other = bench().plain(7, slow);
  ASSERT_EQ(plain.response_s.size(), other.response_s.size());
  for (size_t i = 0; i < plain.response_s.size(); ++i)
    EXPECT_NEAR(other.response_s[i] - plain.response_s[i], 3e-3, 1e-12);
}

TEST(SurrogateCycles, RatiosHaveMeanOneWithAndWithoutTheSwitch) {
  const LognormalSizes drawn = tilted(0.1, 1.05);
  for (double switch_at : {kInfinity, 1e-3}) {
    const CycleSource cycles = source(1);
    Moments whole, finish;
    for (uint64_t c = 0; c < 10000; ++c) {
      const ImportanceCycle cycle = cycles(drawn, switch_at, c);
      whole.add(std::exp(cycle.log_ratio));
      double sum = 0;
      for (const ImportanceFlow& f : cycle.flows) sum += std::exp(f.log_ratio);
      finish.add(sum);
    }
    const auto n = static_cast<double>(whole.n());
    EXPECT_NEAR(whole.mean(), 1, 4 * whole.deviation() / std::sqrt(n)) << switch_at;
    // Equation 9 with gamma 0: the ratios at the finishes add up to the number of flows.
    EXPECT_NEAR(finish.mean(), bench().flows, 4 * finish.deviation() / std::sqrt(n)) << switch_at;
  }
}

TEST(SurrogateCycles, ARatioThatGoesOnAfterTheSwitchIsBiased) {
  const CycleSource cycles = source(1, true);
  Moments whole;
  for (uint64_t c = 0; c < 10000; ++c)
    whole.add(std::exp(cycles(tilted(0.1, 1.05), 1e-3, c).log_ratio));
  const double error = whole.deviation() / std::sqrt(static_cast<double>(whole.n()));
  EXPECT_GT(std::abs(whole.mean() - 1), 6 * error);
}

TEST(SurrogateCycles, TiltedCyclesGiveTheNominalTail) {
  const CycleSource cycles = source(2);
  Moments plain, weighted;
  constexpr double kGamma = 2.5e-3;
  for (uint64_t c = 0; c < 10000; ++c) {
    double a = 0, b = 0;
    for (const ImportanceFlow& f : cycles(nominal(), kInfinity, c).flows) a += f.value > kGamma;
    for (const ImportanceFlow& f : cycles(tilted(0.1, 1.05), kGamma, 20000 + c).flows)
      b += f.value > kGamma ? std::exp(f.log_ratio) : 0;
    plain.add(a);
    weighted.add(b);
  }
  const double error = std::sqrt((plain.variance() + weighted.variance()) / 10000);
  EXPECT_NEAR(weighted.mean(), plain.mean(), 4 * error);
  EXPECT_LT(weighted.variance(), plain.variance());
}

TEST(CrossEntropy, LiftsTheSizesAndKeepsToItsCaps) {
  ModelBasedOptions o;
  o.epoch_cycles = 200;
  o.epochs = 4;
  const TiltSearch search = adaptive_cross_entropy(source(3), nominal(), o, 0);
  EXPECT_GT(search.drawn.parameters().mu, nominal().parameters().mu);
  EXPECT_LE(search.drawn.parameters().mu,
            nominal().parameters().mu + 0.1 * nominal().parameters().sigma + 1e-9);
  EXPECT_LE(search.drawn.parameters().sigma, 1.05 * nominal().parameters().sigma + 1e-9);
  EXPECT_GT(search.gamma_max, 1e-3);
  EXPECT_EQ(search.cycles, 800);
}

TEST(CrossEntropy, StopsBelowTheEffectiveSampleSize) {
  ModelBasedOptions o;
  o.largest_shift = o.largest_factor = 0;
  o.least_effective_share = 0.95;
  o.epoch_cycles = 200;
  const TiltSearch search = adaptive_cross_entropy(source(4), nominal(), o, 0);
  EXPECT_TRUE(search.stopped);
  EXPECT_LT(search.effective_share, 0.95);
  EXPECT_LT(search.epochs, 10);
}

TEST(CrossEntropy, WithoutRatiosTiltsFurther) {
  ModelBasedOptions o;
  o.largest_shift = o.largest_factor = o.least_effective_share = 0;
  o.epoch_cycles = 300;
  o.epochs = 5;
  const TiltSearch weighted = adaptive_cross_entropy(source(5), nominal(), o, 0);
  o.weighted_entropy = false;
  const TiltSearch bare = adaptive_cross_entropy(source(5), nominal(), o, 0);
  EXPECT_GT(bare.drawn.parameters().mu, weighted.drawn.parameters().mu);
}

TEST(CrossEntropy, AsPrintedLosesItsLastUpdateAndLeavesTheTiltAtOnce) {
  ModelBasedOptions o = ModelBasedOptions::as_printed();
  o.epochs = 1;
  const TiltSearch one = adaptive_cross_entropy(source(6), nominal(), o, 0);
  EXPECT_EQ(one.drawn.parameters().mu, nominal().parameters().mu);
  o.keep_last_update = true;
  EXPECT_NE(adaptive_cross_entropy(source(6), nominal(), o, 0).drawn.parameters().mu,
            nominal().parameters().mu);
  double asked = -1;
  const CycleSource real = source(6);
  const CycleSource spy = [&](const LognormalSizes& drawn, double switch_at, uint64_t number) {
    if (asked < 0) asked = switch_at;
    return real(drawn, switch_at, number);
  };
  adaptive_cross_entropy(spy, nominal(), o, 0);
  EXPECT_EQ(asked, 0);
  asked = -1;
  adaptive_cross_entropy(spy, nominal(), ModelBasedOptions(), 0);
  EXPECT_EQ(asked, kInfinity);
}

TEST(ModelBased, CountsWhatItCosts) {
  ModelBasedOptions o = ModelBasedOptions::as_printed();
  o.goal.relative_margin = 0.2;
  const ModelBasedResult r = model_based_quantile(source(7), nominal(), o, 4000);
  EXPECT_EQ(r.search.cycles, 100);
  EXPECT_EQ(r.original_cycles, 100);
  EXPECT_EQ(r.cycles, 200 + r.estimate.trials);
  EXPECT_NEAR(r.flows_per_cycle, 44, 4);
  ModelBasedOptions exact;
  exact.flows_per_cycle = bench().flows;
  exact.goal.relative_margin = 0.2;
  EXPECT_EQ(model_based_quantile(source(7), nominal(), exact, 4000).original_cycles, 0);
}

TEST(ModelBased, MendedWithSafeguardsComesNearTheTruth) {
  PooledQuantile truth(0.99);
  const CycleSource cycles = source(8);
  for (uint64_t c = 0; c < 20000; ++c) {
    std::vector<double> values;
    for (const ImportanceFlow& f : cycles(nominal(), kInfinity, 1000000 + c).flows)
      values.push_back(f.value);
    truth.add_cycle(values);
  }
  ModelBasedOptions o;
  o.flows_per_cycle = bench().flows;
  const ModelBasedResult r = model_based_quantile(cycles, nominal(), o, 12000);
  EXPECT_NEAR(r.estimate.value / truth.estimate().value, 1, 0.04);
  EXPECT_GT(r.estimate.effective_share, 0.5);
}

}  // namespace
}  // namespace delaycc

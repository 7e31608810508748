// SPDX-License-Identifier: Apache-2.0
#include "spec/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "eval/estimator.h"

namespace delaycc {
namespace {

constexpr double kHorizon = 44;

struct Laws {
  Moments count, largest, second, first_arrival, sum;
};

Laws laws_of(int trials, const std::function<std::vector<FlowDraw>(int)>& draw) {
  Laws laws;
  for (int t = 0; t < trials; ++t) {
    const std::vector<FlowDraw> flows = draw(t);
    laws.count.add(static_cast<double>(flows.size()));
    if (flows.size() < 2) continue;
    std::vector<double> u;
    double sum = 0;
    for (const FlowDraw& f : flows) {
      u.push_back(f.uniform);
      sum += f.uniform;
    }
    std::sort(u.rbegin(), u.rend());
    laws.largest.add(u[0]);
    laws.second.add(u[1]);
    laws.sum.add(sum);
    laws.first_arrival.add(flows[0].arrival);
  }
  return laws;
}

std::vector<FlowDraw> plain(uint64_t seed, int trial) {
  return PlainSampler(seed, trial, 0).draw(kHorizon);
}

std::vector<FlowDraw> stratified(uint64_t seed, int trial, int group = 20) {
  return StratifiedSampler(seed, trial, 0, group).draw(kHorizon);
}

void expect_alike(const Moments& a, const Moments& b, const char* what) {
  const double error = std::sqrt(a.variance() / static_cast<double>(a.n()) +
                                 b.variance() / static_cast<double>(b.n()));
  EXPECT_NEAR(a.mean(), b.mean(), 4 * error) << what;
  EXPECT_NEAR(a.deviation() / b.deviation(), 1, 0.06) << what;
}

TEST(StratifiedSampler, KeepsTheLawOfASingleTrial) {
  // One trial of each group, so that these are independent.
  const Laws a = laws_of(4000, [](int t) { return stratified(1, 20 * t + t % 20); });
  const Laws b = laws_of(4000, [](int t) { return plain(2, t); });
  expect_alike(a.count, b.count, "number of flows");
  expect_alike(a.largest, b.largest, "largest");
  expect_alike(a.second, b.second, "second largest");
  expect_alike(a.sum, b.sum, "sum");
  expect_alike(a.first_arrival, b.first_arrival, "first arrival");
}

TEST(StratifiedSampler, TakesOneOfEachPartInAGroup) {
  // P(largest of n uniforms < x) = x^n, so its n-th power is uniform: one in each twentieth.
  for (int group = 0; group < 5; ++group) {
    std::vector<int> parts(20, 0);
    for (int t = 0; t < 20; ++t) {
      const std::vector<FlowDraw> flows = stratified(3, 20 * group + t);
      double largest = 0;
      for (const FlowDraw& f : flows) largest = std::max(largest, f.uniform);
      parts[static_cast<size_t>(20 * std::pow(largest, flows.size()))]++;
    }
    EXPECT_EQ(parts, std::vector<int>(20, 1));
  }
}

TEST(StratifiedSampler, LessensTheSpreadOfAMeanOverAGroup) {
  Moments groups, chance;
  for (int g = 0; g < 300; ++g) {
    double of_group = 0, of_chance = 0;
    for (int t = 0; t < 20; ++t) {
      const auto largest = [](const std::vector<FlowDraw>& flows) {
        double most = 0;
        for (const FlowDraw& f : flows) most = std::max(most, f.uniform);
        return most;
      };
      of_group += largest(stratified(4, 20 * g + t)) / 20;
      of_chance += largest(plain(5, 20 * g + t)) / 20;
    }
    groups.add(of_group);
    chance.add(of_chance);
  }
  EXPECT_LT(groups.variance(), 0.2 * chance.variance());
}

TEST(StratifiedSampler, IsAFunctionOfSeedAndTrial) {
  const auto a = stratified(6, 33);
  const auto b = stratified(6, 33);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].uniform, b[i].uniform);
    EXPECT_EQ(a[i].arrival, b[i].arrival);
    EXPECT_GE(a[i].uniform, 0);
    EXPECT_LT(a[i].uniform, 1);
    EXPECT_LT(a[i].arrival, kHorizon);
    if (i > 0) {
      EXPECT_GE(a[i].arrival, a[i - 1].arrival);
    }
  }
  EXPECT_NE(stratified(7, 33)[0].uniform, a[0].uniform);
}

TEST(StratifiedSampler, DrawsManyFlowsAndNone) {
  EXPECT_NEAR(static_cast<double>(StratifiedSampler(1, 0, 0, 2).draw(20000).size()), 20000, 1000);
  EXPECT_TRUE(StratifiedSampler(1, 0, 0, 2).draw(0).empty());
}

TEST(StratifiedSampler, RefusesAGroupOfOne) {
  EXPECT_THROW(StratifiedSampler(1, 0, 0, 1), Error);
  EXPECT_THROW(StratifiedSampler(1, -1, 0, 20), Error);
}

TEST(TailSampler, WeightsHaveMeanOneAndGiveTheTrueTail) {
  Moments ratio, weighted_tail;
  int above = 0, all = 0;
  for (int t = 0; t < 20000; ++t) {
    double log_ratio = 0, tail = 0;
    for (const FlowDraw& f : TailSampler(1, t, 0, 0.97, 0.03).draw(10)) {
      log_ratio += f.log_weight;
      tail += f.uniform > 0.99 ? std::exp(f.log_weight) : 0;
      above += f.uniform > 0.99;
      all++;
    }
    ratio.add(std::exp(log_ratio));
    weighted_tail.add(tail);
  }
  const auto n = static_cast<double>(ratio.n());
  EXPECT_NEAR(ratio.mean(), 1, 4 * ratio.deviation() / std::sqrt(n));
  EXPECT_NEAR(weighted_tail.mean(), 0.1, 4 * weighted_tail.deviation() / std::sqrt(n));
  EXPECT_NEAR(static_cast<double>(above) / all, 0.97 * 0.01 + 0.03 / 3, 0.002);
}

TEST(TailSampler, WithoutAShareIsPlain) {
  const auto a = TailSampler(9, 4, 0, 0.97, 0).draw(kHorizon);
  const auto b = plain(9, 4);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].uniform, b[i].uniform);
    EXPECT_EQ(a[i].log_weight, 0);
  }
  EXPECT_THROW(TailSampler(1, 0, 0, 1, 0.1), Error);
  EXPECT_THROW(TailSampler(1, 0, 0, 0.9, 1), Error);
}

TEST(LognormalSizes, KnowItsMeanQuantilesAndCut) {
  const double infinity = std::numeric_limits<double>::infinity();
  const LognormalSizes whole({2, 0.5}, infinity);
  EXPECT_NEAR(whole.quantile(0.5), std::exp(2), 1e-9);
  EXPECT_NEAR(whole.quantile(0.975), std::exp(2 + 0.5 * 1.959964), 1e-4);
  EXPECT_NEAR(whole.mean(), std::exp(2.125), 1e-9);
  const LognormalSizes cut({2, 0.5}, std::exp(2));  // at the median
  EXPECT_NEAR(cut.quantile(0.5), whole.quantile(0.25), 1e-9);
  EXPECT_EQ(cut.cdf(std::exp(2)), 1);
  EXPECT_NEAR(cut.cdf(cut.quantile(0.3)), 0.3, 1e-12);
  double mean = 0, log_mean = 0, log_squares = 0;
  constexpr int kSteps = 200000;
  for (int i = 0; i < kSteps; ++i) {
    const double x = cut.quantile((i + 0.5) / kSteps);
    mean += x / kSteps;
    log_mean += std::log(x) / kSteps;
    log_squares += std::log(x) * std::log(x) / kSteps;
  }
  EXPECT_NEAR(cut.mean(), mean, 1e-4);
  EXPECT_NEAR(cut.log_moments().mu, log_mean, 1e-4);
  EXPECT_NEAR(cut.log_moments().sigma, std::sqrt(log_squares - log_mean * log_mean), 1e-4);
  EXPECT_THROW(LognormalSizes({2, 0}, 10), Error);
  EXPECT_THROW(LognormalSizes({200, 1}, 10), Error);
}

TEST(LognormalSizes, AreFoundByTheirMoments) {
  const LognormalSizes sizes({12, 3}, 30e6);
  const LognormalSizes found = LognormalSizes::with_log_moments(sizes.log_moments(), 30e6);
  EXPECT_NEAR(found.parameters().mu, 12, 1e-6);
  EXPECT_NEAR(found.parameters().sigma, 3, 1e-6);
}

TEST(LognormalSizes, HaveATableForTheGenerator) {
  const LognormalSizes sizes({12, 3}, 30e6);
  const EmpiricalCdf table = sizes.table("log-normal");
  EXPECT_NEAR(table.mean() / sizes.mean(), 1, 1e-3);
  for (double u : {0.01, 0.5, 0.99}) EXPECT_NEAR(table.quantile(u) / sizes.quantile(u), 1, 1e-3);
}

TEST(FitLognormal, FindsWhatTheSizesWereMadeFrom) {
  const LognormalSizes sizes({11, 2}, 1e8);
  for (FitAt at : {FitAt::kQuantiles, FitAt::kPoints}) {
    const LognormalFit fit = fit_lognormal(sizes.table("log-normal"), true, at);
    EXPECT_NEAR(fit.sizes.parameters().mu, 11, 0.01);
    EXPECT_NEAR(fit.sizes.parameters().sigma, 2, 0.01);
    EXPECT_LT(fit.rms_error, 1e-4);
  }
}

TEST(FitLognormal, LoadsTheLinkTooMuchWhereItIsNotCut) {
  const EmpiricalCdf sizes = EmpiricalCdf::find("websearch");
  const LognormalFit cut = fit_lognormal(sizes, true);
  const LognormalFit uncut = fit_lognormal(sizes, false);
  EXPECT_GT(uncut.mean_bytes, 3 * sizes.mean());
  EXPECT_NEAR(cut.mean_bytes / sizes.mean(), 1, 0.1);
  EXPECT_LT(cut.rms_error, 0.06);
}

TEST(TiltedSampler, RatiosHaveMeanOne) {
  const LognormalSizes nominal({12, 3}, 30e6);
  const LognormalSizes drawn({12.3, 3.1}, 30e6);
  Moments ratio, mean;
  for (int t = 0; t < 20000; ++t) {
    double log_ratio = 0, sum = 0;
    for (const FlowDraw& f : TiltedSampler(1, t, 0, nominal, drawn).draw(10)) {
      log_ratio += f.log_weight;
      sum += f.uniform * std::exp(f.log_weight);
    }
    ratio.add(std::exp(log_ratio));
    mean.add(sum);
  }
  const auto n = static_cast<double>(ratio.n());
  EXPECT_NEAR(ratio.mean(), 1, 4 * ratio.deviation() / std::sqrt(n));
  EXPECT_NEAR(mean.mean(), 5, 4 * mean.deviation() / std::sqrt(n));
  EXPECT_THROW(TiltedSampler(1, 0, 0, nominal, LognormalSizes({12, 3}, 40e6)), Error);
}

TEST(LogRatios, TakeTheFlowsThatHadArrived) {
  const std::vector<double> r = log_ratios({1, 2, 3}, {0.5, -0.25, 1}, {1.5, 9, 3});
  EXPECT_EQ(r, (std::vector<double>{0.5, 1.25, 1.25}));
}

TEST(EffectiveShare, IsKishs) {
  EXPECT_EQ(effective_share({}), 1);
  EXPECT_DOUBLE_EQ(effective_share({-800, -800}), 1);
  EXPECT_NEAR(effective_share({0, std::log(3.0)}), 0.8, 1e-12);
}

}  // namespace
}  // namespace delaycc

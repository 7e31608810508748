// SPDX-License-Identifier: Apache-2.0
#include "evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "eval_result.h"
#include "random.h"

namespace delaycc {
namespace {

MetricRequest metric(const std::string& name = "queue_mean_bytes") {
  MetricRequest m;
  m.name = m.base = name;
  m.unit = "bytes";
  return m;
}

MetricRequest pooled_p90() {
  MetricRequest m = metric("fct_p90_us");
  m.estimand = Estimand::kPooled;
  m.source = MetricRequest::Source::kCompletionTime;
  m.quantile = 0.9;
  return m;
}

EvaluationSpec spec_of(std::vector<std::string> algorithms, double margin = 0.05) {
  EvaluationSpec spec;
  spec.algorithms = std::move(algorithms);
  spec.metrics = {metric()};
  spec.goal.relative_margin = margin;
  return spec;
}

// About normal, with mean 100 and deviation `deviation`; the same for the same arguments.
double value_of(size_t algorithm, int number, double deviation = 20) {
  double sum = 0;
  for (uint64_t i = 0; i < 12; i++)
    sum += uniform_draw(7, algorithm, static_cast<uint64_t>(number), i);
  return 100 + (sum - 6) * deviation;
}

std::vector<TrialValue> one(double value) {
  TrialValue v;
  v.value = value;
  return {v};
}

// Runs `evaluation` with `jobs` trials under way at a time, which end in a random order.
template <typename Result>
void run(Evaluation& evaluation, int jobs, uint32_t order, Result result) {
  std::mt19937 random(order);
  std::vector<TrialId> under_way;
  for (;;) {
    while (static_cast<int>(under_way.size()) < jobs) {
      const auto ids = evaluation.next(1, 2 * jobs);
      if (ids.empty()) break;
      under_way.push_back(ids.front());
    }
    if (under_way.empty()) break;
    const size_t at = random() % under_way.size();
    const TrialId id = under_way[at];
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(at));
    evaluation.add(id, result(id));
  }
}

TEST(Evaluation, GivesTheSameWhateverTheOrderAndNumberOfJobs) {
  const auto result = [](TrialId id) {
    return std::optional<std::vector<TrialValue>>(one(value_of(id.algorithm, id.number)));
  };
  EvaluationSpec spec = spec_of({"a", "b"}, 0.03);
  Evaluation first(spec);
  run(first, 1, 1, result);
  ASSERT_TRUE(first.finished());
  EXPECT_EQ(first.state(0), Evaluation::State::kConverged);
  EXPECT_GT(first.used(0), 20);
  for (const int jobs : {2, 5, 64})
    for (uint32_t order = 0; order < 5; order++) {
      Evaluation other(spec);
      run(other, jobs, order, result);
      for (size_t a = 0; a < 2; a++) {
        EXPECT_EQ(other.used(a), first.used(a));
        EXPECT_EQ(other.estimate(a, 0).value, first.estimate(a, 0).value);
        EXPECT_EQ(other.estimate(a, 0).low, first.estimate(a, 0).low);
        EXPECT_EQ(other.values(a, 0), first.values(a, 0));
        EXPECT_EQ(other.history(a, 0).size(), first.history(a, 0).size());
      }
    }
}

TEST(Evaluation, StopsAtTheFirstNumberAtWhichTheIntervalIsNarrowEnough) {
  Evaluation evaluation(spec_of({"a"}));
  run(evaluation, 1, 1, [](TrialId id) {
    return std::optional<std::vector<TrialValue>>(one(value_of(0, id.number)));
  });
  const int n = evaluation.used(0);
  EXPECT_LE(evaluation.estimate(0, 0).relative_margin, 0.05);
  MeanEstimator before(evaluation.spec().goal);
  for (int i = 0; i < n - 1; i++) before.add(value_of(0, i));
  EXPECT_FALSE(before.estimate().converged);
}

TEST(Evaluation, RunsNoConvergedAlgorithmOn) {
  Evaluation evaluation(spec_of({"steady", "wild"}, 0.03));
  std::vector<int> handed(2);
  run(evaluation, 1, 1, [&](TrialId id) {
    handed[id.algorithm]++;
    return std::optional<std::vector<TrialValue>>(
        one(value_of(id.algorithm, id.number, id.algorithm ? 30 : 1)));
  });
  EXPECT_EQ(evaluation.used(0), 20);
  EXPECT_GT(evaluation.used(1), 100);
  EXPECT_EQ(handed[0], 20);
}

TEST(Evaluation, RunsThoseComparedOnTogetherUntilThereIsAVerdict) {
  EvaluationSpec spec = spec_of({"steady", "alone", "close"}, 0.02);
  spec.compare = {0, 2};
  Evaluation evaluation(spec);
  // Both vary alike, the second is 0.5 % above.
  run(evaluation, 4, 1, [&](TrialId id) {
    const double common = value_of(0, id.number, 4);
    return std::optional<std::vector<TrialValue>>(
        one(id.algorithm == 2 ? common * 1.005 + value_of(9, id.number, 0.5) - 100 : common));
  });
  EXPECT_EQ(evaluation.used(0), evaluation.used(2));
  EXPECT_EQ(evaluation.comparison(0).verdict, Comparison::Verdict::kALess);
  EXPECT_EQ(evaluation.comparison(0).difference.trials, evaluation.used(0));
  EXPECT_GT(evaluation.comparison(0).saved, 0.9);
  EXPECT_EQ(evaluation.state(1), Evaluation::State::kConverged);
}

TEST(Evaluation, SaysHowManyPairsAVerdictStillTakes) {
  EvaluationSpec spec = spec_of({"a", "b"}, 0.001);
  spec.compare = {0, 1};
  spec.max_trials = 20;
  Evaluation evaluation(spec);
  run(evaluation, 4, 1, [&](TrialId id) {
    return std::optional<std::vector<TrialValue>>(one(value_of(id.algorithm, id.number)));
  });
  const Comparison c = evaluation.comparison(0);
  EXPECT_EQ(c.verdict, Comparison::Verdict::kUndecided);
  EXPECT_GT(c.more_pairs, 100);
  const std::vector<std::string> lines = comparison_lines(spec, evaluation);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("queue_mean_bytes: a and b are not distinguishable, needs about " +
                          std::to_string(c.more_pairs) + " more trials of each (b - a = "),
            0u)
      << lines[0];
}

TEST(Evaluation, AFailedTrialIsCountedAndHasNoValue) {
  Evaluation evaluation(spec_of({"a"}));
  run(evaluation, 3, 1, [](TrialId id) {
    std::optional<std::vector<TrialValue>> values;
    if (id.number % 10 != 4) values = one(value_of(0, id.number, 5));
    return values;
  });
  EXPECT_EQ(evaluation.state(0), Evaluation::State::kConverged);
  EXPECT_EQ(evaluation.failed(0), (std::vector<int>{4, 14}));
  EXPECT_EQ(evaluation.estimate(0, 0).missing, 2);
  EXPECT_EQ(evaluation.estimate(0, 0).trials, 20);
  EXPECT_EQ(evaluation.used(0), 22);
}

TEST(Evaluation, GivesUpWhenMostTrialsFail) {
  Evaluation evaluation(spec_of({"a"}));
  run(evaluation, 3, 1, [](TrialId) { return std::optional<std::vector<TrialValue>>(); });
  EXPECT_EQ(evaluation.state(0), Evaluation::State::kFailures);
  EXPECT_EQ(evaluation.used(0), 3);
  EXPECT_EQ(evaluation.trouble(0), "a: 3 of 3 trials failed");
}

TEST(Evaluation, SaysThatAMetricHasNoSample) {
  Evaluation evaluation(spec_of({"a"}));
  run(evaluation, 3, 1,
      [](TrialId) { return std::optional<std::vector<TrialValue>>({TrialValue()}); });
  EXPECT_EQ(evaluation.state(0), Evaluation::State::kNoSamples);
  EXPECT_EQ(evaluation.used(0), 20);
  EXPECT_NE(evaluation.trouble(0).find("no trial of 20 has a sample of queue_mean_bytes"),
            std::string::npos);
}

TEST(Evaluation, StopsAtMostTrials) {
  EvaluationSpec spec = spec_of({"a"}, 0.0001);
  spec.max_trials = 33;
  Evaluation evaluation(spec);
  run(evaluation, 3, 1, [](TrialId id) {
    EXPECT_LT(id.number, 33);
    return std::optional<std::vector<TrialValue>>(one(value_of(0, id.number)));
  });
  EXPECT_EQ(evaluation.state(0), Evaluation::State::kMaxTrials);
  EXPECT_EQ(evaluation.used(0), 33);
  EXPECT_EQ(evaluation.history(0, 0).back().trials, 33);
}

TEST(Evaluation, APooledQuantileIsOfTheFlowsOfAllTrials) {
  EvaluationSpec spec = spec_of({"a"}, 0.2);
  spec.metrics = {pooled_p90()};
  const auto result = [](TrialId id) {
    TrialResult trial;
    for (int i = 0; i < 30; i++) {
      FlowSample s;
      s.fct_ns = static_cast<int64_t>(1000 * value_of(static_cast<size_t>(i), id.number));
      s.ideal_ns = 1;
      trial.samples.push_back(s);
    }
    return std::optional<std::vector<TrialValue>>({trial_value(trial, pooled_p90())});
  };
  Evaluation first(spec);
  run(first, 1, 1, result);
  EXPECT_EQ(first.state(0), Evaluation::State::kConverged);
  EXPECT_EQ(first.estimate(0, 0).flows, 30 * first.used(0));
  EXPECT_NEAR(first.estimate(0, 0).value, 100 + 1.28 * 20, 3);
  Evaluation second(spec);
  run(second, 7, 3, result);
  EXPECT_EQ(second.estimate(0, 0).value, first.estimate(0, 0).value);
  EXPECT_EQ(second.used(0), first.used(0));
}

TEST(Evaluation, TakesTrialsOfAUnitTogether) {
  EvaluationSpec spec = spec_of({"a"}, 0.05);
  spec.trials_per_unit = 4;
  Evaluation evaluation(spec);
  run(evaluation, 3, 1, [](TrialId id) {
    return std::optional<std::vector<TrialValue>>(one(value_of(0, id.number)));
  });
  EXPECT_EQ(evaluation.state(0), Evaluation::State::kConverged);
  EXPECT_GE(evaluation.used(0), 80);
  EXPECT_EQ(evaluation.estimate(0, 0).n, evaluation.used(0) / 4);
}

TEST(Evaluation, WithoutAnEndGivesWhatHasComeInOrder) {
  Evaluation evaluation(spec_of({"a"}, 0.0001));
  const auto ids = evaluation.next(10, 1);
  ASSERT_EQ(ids.size(), 10u);
  for (const int number : {0, 1, 2, 4, 5}) evaluation.add({0, number}, one(value_of(0, number)));
  evaluation.settle();
  EXPECT_EQ(evaluation.used(0), 3) << "trial 3 is missing";
  EXPECT_EQ(evaluation.estimate(0, 0).n, 3);
  EXPECT_FALSE(evaluation.finished());
}

Scenario with_classes() {
  Scenario scenario;
  scenario.workload.classes = {{"small", 100'000}, {"large", -1}};
  return scenario;
}

std::string refusal(const std::string& name, Estimand estimand) {
  try {
    parse_metric(name, estimand, with_classes());
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return "";
}

TEST(MetricRequest, KnowsMetricsClassesAndQuantiles) {
  const MetricRequest plain = parse_metric("queue_mean_bytes", Estimand::kMean, with_classes());
  EXPECT_EQ(plain.source, MetricRequest::Source::kMetric);
  EXPECT_EQ(plain.unit, "bytes");
  const MetricRequest tail = parse_metric("large.fct_p999_us", Estimand::kPooled, with_classes());
  EXPECT_EQ(tail.class_index, 1);
  EXPECT_DOUBLE_EQ(tail.quantile, 0.999);
  EXPECT_EQ(tail.unit, "us");
  const MetricRequest odd = parse_metric("slowdown_p75", Estimand::kMean, with_classes());
  EXPECT_EQ(odd.source, MetricRequest::Source::kSlowdown);
  EXPECT_DOUBLE_EQ(odd.quantile, 0.75);
}

TEST(MetricRequest, RefusesWhatThereIsNotAndSaysWhatThereIs) {
  EXPECT_NE(refusal("fct_p_us", Estimand::kMean).find("no such metric; allowed are"),
            std::string::npos);
  EXPECT_NE(refusal("queue_mean_byte", Estimand::kMean).find("queue_mean_bytes"),
            std::string::npos);
  EXPECT_NE(refusal("tiny.fct_p99_us", Estimand::kMean).find("allowed are small, large"),
            std::string::npos);
  EXPECT_NE(refusal("small.queue_mean_bytes", Estimand::kMean).find("no such metric"),
            std::string::npos);
  EXPECT_NE(refusal("fct_mean_us", Estimand::kPooled).find("needs a quantile of flows"),
            std::string::npos);
}

TEST(MetricRequest, TakesTheValueOfItsClassOnly) {
  TrialResult trial;
  trial.metrics["small.fct_p99_us"] = {3, true};
  trial.samples = {{0, 10, 1000, 500, false, 0, 0, 0},
                   {1, 10, 3000, 500, true, 0, 0, 0},
                   {2, 10, 9000, 500, false, 1, 0, 0}};
  const auto of = [&](const std::string& name) {
    return trial_value(trial, parse_metric(name, Estimand::kMean, with_classes()));
  };
  EXPECT_EQ(*of("small.fct_p99_us").value, 3);
  EXPECT_TRUE(of("small.fct_p99_us").missed);
  EXPECT_EQ(*of("small.fct_p25_us").value, 1);
  EXPECT_EQ(*of("large.slowdown_p25").value, 18);
  EXPECT_FALSE(of("large.slowdown_p25").missed);
  EXPECT_FALSE(of("queue_mean_bytes").value);
}

}  // namespace
}  // namespace delaycc

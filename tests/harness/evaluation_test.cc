// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/random.h"
#include "eval/eval_result.h"
#include "eval/fluid_control.h"
#include "eval/fluid_trial.h"
#include "plan/compile.h"
#include "plan/topology.h"

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
  spec.goal.unseen_share = 0.5;
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
  EvaluationSpec spec = spec_of({"steady", "wild"}, 0.03);
  spec.goal.unseen_share = 0.03;
  Evaluation evaluation(spec);
  std::vector<int> handed(2);
  run(evaluation, 1, 1, [&](TrialId id) {
    handed[id.algorithm]++;
    return std::optional<std::vector<TrialValue>>(
        one(value_of(id.algorithm, id.number, id.algorithm ? 30 : 1)));
  });
  EXPECT_EQ(evaluation.used(0), 99) << "what comes in 3 % of the trials would have come";
  EXPECT_GT(evaluation.used(1), 100);
  EXPECT_EQ(handed[0], 99);
}

TEST(Evaluation, SaysWhyItGoesOnWhereIntervalsAreNarrowEnough) {
  Evaluation evaluation(spec_of({"a"}, 0.05));
  for (int i = 0; i < 150; i++) evaluation.add({0, i}, one(value_of(0, i)));
  std::vector<std::string> lines = progress_lines({evaluation, 150});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find("  150 trials of 299, narrow enough"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1],
            "Narrow intervals count from 299 trials on: what happens in 1 % of them would have "
            "come (--unseen)");
  for (int i = 150; i < 299; i++) evaluation.add({0, i}, one(value_of(0, i)));
  lines = progress_lines({evaluation, 299});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("  299 trials, converged"), std::string::npos) << lines[0];
}

TEST(Evaluation, EndsUnconvergedWhereNothingVaries) {
  EvaluationSpec spec = spec_of({"steady", "wild"}, 0.05);
  spec.metrics = {metric("losses"), metric("timeouts")};
  Evaluation evaluation(spec);
  run(evaluation, 3, 1, [](TrialId id) {
    std::vector<TrialValue> values = one(0);
    values.push_back(one(value_of(0, id.number, id.algorithm ? 60 : 5)).front());
    return std::optional(values);
  });
  ASSERT_TRUE(evaluation.finished());
  for (const size_t algorithm : {0, 1}) {
    EXPECT_EQ(evaluation.state(algorithm), Evaluation::State::kNotVaried);
    EXPECT_EQ(evaluation.estimate(algorithm, 0).doubt, Doubt::kNotVaried);
    EXPECT_TRUE(evaluation.estimate(algorithm, 1).converged);
  }
  EXPECT_EQ(evaluation.used(0), 299);
  EXPECT_GT(evaluation.used(1), 300) << "the other metric goes on until it has converged";
}

TEST(Evaluation, EndsUnconvergedWhereTwoAlgorithmsAreEqualInEveryPair) {
  EvaluationSpec spec = spec_of({"a", "twin"}, 0.05);
  spec.compare = {0, 1};
  Evaluation evaluation(spec);
  run(evaluation, 3, 1, [](TrialId id) { return std::optional(one(value_of(0, id.number, 5))); });
  EXPECT_EQ(evaluation.state(0), Evaluation::State::kNotVaried);
  EXPECT_EQ(evaluation.used(0), 299);
  EXPECT_EQ(
      comparison_lines(spec, evaluation).at(0),
      "queue_mean_bytes: twin - a is 0 in all 299 pairs: something else in at most 1 % of the "
      "pairs (95 %)");
}

TEST(Evaluation, RunsThoseComparedOnTogetherUntilThereIsAVerdict) {
  EvaluationSpec spec = spec_of({"steady", "alone", "close"}, 0.02);
  spec.compare = {0, 2};
  Evaluation evaluation(spec);
  // Both vary alike, the second is 4 % above.
  run(evaluation, 4, 1, [&](TrialId id) {
    const double common = value_of(0, id.number, 4);
    return std::optional<std::vector<TrialValue>>(
        one(id.algorithm == 2 ? common * 1.04 + value_of(9, id.number, 0.5) - 100 : common));
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
  EXPECT_EQ(lines[0].find("queue_mean_bytes: a and b are not distinguishable so far, a verdict "
                          "takes about " +
                          std::to_string(20 + c.more_pairs) + " pairs (b - a = "),
            0u)
      << lines[0];
}

// The lines after `pairs` pairs, of which b is `percent` above a.
std::vector<std::string> compared_after(int pairs, double percent, double unseen_share) {
  EvaluationSpec spec = spec_of({"a", "b"}, 0.001);
  spec.compare = {0, 1};
  spec.goal.unseen_share = unseen_share;
  Evaluation evaluation(spec);
  for (int i = 0; i < pairs; i++) {
    const double a = value_of(0, i);
    evaluation.add({0, i}, one(a));
    evaluation.add({1, i}, one(a * (1 + percent / 100) + value_of(9, i, 0.5) - 100));
  }
  return comparison_lines(spec, evaluation);
}

TEST(Evaluation, SaysFromWhichPairOnAVerdictIsPossibleAndWhatThePairsSaySoFar) {
  const auto starts = [](const std::string& line, const std::string& text) {
    EXPECT_EQ(line.substr(0, text.size()), text);
  };
  const std::string line = compared_after(27, 80, 0.01).at(0);
  starts(line, "queue_mean_bytes: a < b so far, no verdict before 299 pairs (b - a = ");
  EXPECT_EQ(line.substr(line.size() - 18), " % of a; 27 pairs)") << line;
  EXPECT_EQ(line.find('?'), std::string::npos) << line;
  starts(compared_after(27, -40, 0.01).at(0),
         "queue_mean_bytes: b < a so far, no verdict before 299 pairs (b - a = -");
  // The confidence sequence begins at 100 pairs, whatever --unseen asks for.
  for (const int pairs : {59, 80, 99})
    starts(compared_after(pairs, 80, 0.05).at(0),
           "queue_mean_bytes: a < b so far, no verdict before 100 pairs (b - a = ");
  starts(compared_after(100, 80, 0.05).at(0), "queue_mean_bytes: a < b with confidence 95 % (");
}

TEST(Evaluation, SaysAfterTheLeastPairsHowManyMoreAVerdictTakes) {
  EvaluationSpec spec = spec_of({"a", "b"}, 0.0001);
  spec.compare = {0, 1};
  Evaluation evaluation(spec);
  for (int i = 0; i < 320; i++) {
    evaluation.add({0, i}, one(value_of(0, i)));
    evaluation.add({1, i}, one(value_of(1, i)));
  }
  const std::string line = comparison_lines(spec, evaluation).at(0);
  EXPECT_EQ(line.find("queue_mean_bytes: a and b are not distinguishable, needs about " +
                      std::to_string(evaluation.comparison(0).more_pairs) +
                      " more trials of each (b - a = "),
            0u)
      << line;
}

TEST(Evaluation, AFailedTrialIsCountedAndHasNoValue) {
  EvaluationSpec spec = spec_of({"a"});
  spec.goal.unseen_share = 0.5;
  Evaluation evaluation(spec);
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

// What the trial's flows have in common with their model, and a rest.
std::vector<TrialValue> with_control(TrialId id) {
  std::vector<TrialValue> values = one(value_of(id.algorithm, id.number, 3));
  values[0].control = 50 + value_of(9, id.number, 30) - 100;
  *values[0].value += 2 * (*values[0].control - 50);
  return values;
}

TEST(Evaluation, WithAControlTheEstimateIsThatOfTheControlVariate) {
  for (const int group : {1, 4}) {
    EvaluationSpec spec = spec_of({"a"}, 0.03);
    spec.trials_per_unit = group;
    Evaluation plain(spec);
    run(plain, 1, 1, [](TrialId id) { return std::optional(with_control(id)); });
    spec.controls = {{50, 0.1, 1000}};
    Evaluation first(spec);
    run(first, 1, 1, [](TrialId id) { return std::optional(with_control(id)); });
    ASSERT_EQ(first.state(0), Evaluation::State::kConverged);
    EXPECT_LT(first.used(0), plain.used(0) / 4);
    EXPECT_FALSE(first.control_given_up(0, 0));

    ControlVariate expected(50, 0.1, spec.goal, group);
    for (int unit = 0; unit < first.used(0) / group; unit++) {
      double value = 0, control = 0;
      for (int i = 0; i < group; i++) {
        const TrialValue trial = with_control({0, unit * group + i})[0];
        value += *trial.value;
        control += *trial.control;
      }
      expected.add(value / group, control / group);
    }
    const Estimate e = expected.estimate();
    const Estimate& got = first.estimate(0, 0);
    EXPECT_EQ(got.value, e.value);
    EXPECT_EQ(got.low, e.low);
    EXPECT_EQ(got.forecast_trials, e.forecast_trials);
    EXPECT_EQ(got.correlation, e.correlation);
    EXPECT_EQ(got.method, e.method);
    EXPECT_GT(got.correlation, 0.95);
    EXPECT_EQ(first.history(0, 0).back().estimate.value, e.value);

    Evaluation other(spec);
    run(other, 16, 5, [](TrialId id) { return std::optional(with_control(id)); });
    EXPECT_EQ(other.used(0), first.used(0));
    EXPECT_EQ(other.estimate(0, 0).value, e.value);
  }
}

TEST(Evaluation, GivesTheControlUpWhereNotTheSameTrialsHaveAValue) {
  EvaluationSpec spec = spec_of({"a"}, 0.001);
  spec.max_trials = 40;
  spec.controls = {{50, 0.1, 1000}};
  const auto result = [](int odd) {
    return [odd](TrialId id) {
      std::optional<std::vector<TrialValue>> values = with_control(id);
      if (id.number == 7) values.reset();  // a failed trial says nothing of it
      if (id.number == 11) (*values)[0] = TrialValue();
      if (id.number == odd) (*values)[0].value.reset();
      return values;
    };
  };
  Evaluation kept(spec);
  run(kept, 3, 1, result(-1));
  EXPECT_FALSE(kept.control_given_up(0, 0));
  EXPECT_EQ(kept.estimate(0, 0).missing, 2);
  EXPECT_GT(kept.estimate(0, 0).correlation, 0.9);

  Evaluation given_up(spec);
  run(given_up, 3, 1, result(13));
  EXPECT_TRUE(given_up.control_given_up(0, 0));
  EXPECT_EQ(given_up.estimate(0, 0).correlation, 0);
  MeanEstimator plain(spec.goal);
  for (int i = 0; i < 40; i++)
    if (i != 7 && i != 11 && i != 13) plain.add(*with_control({0, i})[0].value);
  EXPECT_EQ(given_up.estimate(0, 0).value, plain.estimate().value);
}

Scenario cceval_dumbbell(const std::string& sampling) {
  const ScenarioFile file(std::string(DELAYCC_SCENARIOS) + "/cceval-dumbbell.toml",
                          {"workload.sampling=" + sampling});
  return file.resolve(file.main_parameters());
}

std::string control_refusal(const Scenario& scenario, const MetricRequest& metric) {
  try {
    check_fluid_control(scenario, {metric});
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return "";
}

TEST(FluidControl, RefusesWhatTheModelHasNoValueOf) {
  const Scenario plain = cceval_dumbbell("plain");
  const auto mean = [&](const std::string& name) {
    return parse_metric(name, Estimand::kMean, plain);
  };
  for (const char* name : {"fct_mean_us", "fct_p99_us", "fct_p75_us", "slowdown_mean"}) {
    EXPECT_EQ(control_refusal(plain, mean(name)), "");
    EXPECT_EQ(control_refusal(cceval_dumbbell("stratified"), mean(name)), "");
  }
  EXPECT_NE(control_refusal(plain, mean("queue_mean_bytes")).find("has no queue_mean_bytes"),
            std::string::npos);
  EXPECT_NE(control_refusal(plain, mean("priority_fct_gap")).find("has no priority_fct_gap"),
            std::string::npos);
  EXPECT_NE(control_refusal(plain, parse_metric("fct_p99_us", Estimand::kPooled, plain))
                .find("allowed is --estimand mean"),
            std::string::npos);
  EXPECT_NE(control_refusal(cceval_dumbbell("tail"), mean("fct_p99_us"))
                .find("workload.sampling is \"tail\", allowed are"),
            std::string::npos);
  Scenario without = plain;
  without.workload.present = false;
  EXPECT_NE(control_refusal(without, mean("fct_p99_us")).find("has no [workload]"),
            std::string::npos);
}

TEST(FluidControl, IsTheModelOfTheMeasuredFlowsOfAClass) {
  Scenario scenario = cceval_dumbbell("plain");
  scenario.workload.classes = {{"small", 100'000}, {"large", -1}};
  scenario.workload.warm_up_ns = 5'000'000;
  std::vector<MetricRequest> metrics;
  for (const char* name : {"fct_mean_us", "small.slowdown_mean", "large.fct_p99_us"})
    metrics.push_back(parse_metric(name, Estimand::kMean, scenario));
  const FluidControl control(scenario, 3, metrics);
  const Network network = build_network(scenario.topology, scenario.hosts);
  const auto flows = trial_workload(scenario, network, 3, 17);
  const auto fct_s = fluid_trial_fct_s(scenario, network, flows);
  Moments all, small;
  std::vector<double> large;
  for (size_t i = 0; i < flows.size(); i++) {
    if (flows[i].start_ns < 5'000'000) continue;
    all.add(fct_s[i] * 1e6);
    if (flows[i].size_bytes <= 100'000)
      small.add(fct_s[i] * 1e9 /
                static_cast<double>(ideal_fct_ns(network, flows[i].source, flows[i].destination,
                                                 scenario.hosts.mtu_bytes, flows[i].size_bytes)));
    else
      large.push_back(fct_s[i] * 1e6);
  }
  const auto values = control.values(17);
  ASSERT_TRUE(values[0] && values[1] && values[2]);
  EXPECT_NEAR(*values[0], all.mean(), 1e-6 * all.mean());
  EXPECT_NEAR(*values[1], small.mean(), 1e-6 * small.mean());
  EXPECT_NEAR(*values[2], trial_quantile(large, 0.99), 1e-6 * *values[2]);

  scenario.measure.flows = {"small"};  // the others have no value then
  EXPECT_FALSE(FluidControl(scenario, 3, metrics).values(17)[2]);
  scenario.measure.flows.clear();
  // The end of the trial cuts a flow, as it does in the lab.
  scenario.measure.duration_ns = 20'000'000;
  scenario.workload.until_ns = 20'000'000;
  const FluidControl cut(scenario, 3, metrics);
  for (int t = 0; t < 20; t++) EXPECT_LE(cut.values(t)[2].value_or(0), 15'000);
}

TEST(FluidControl, TheMeanIsThatOfManyFilesWithItsError) {
  Scenario scenario = cceval_dumbbell("plain");
  scenario.workload.until_ns = 1'000'000;  // two flows, sometimes none
  scenario.measure.duration_ns = 20'000'000;
  const FluidControl control(scenario, 1, {parse_metric("fct_mean_us", Estimand::kMean, scenario)});
  Goal goal;
  goal.relative_margin = 0.5;
  const auto always = [](int) { return true; };
  const ControlMean mean = control.means(goal, 1, always).at(0);
  EXPECT_EQ(mean.files, 20'000);
  Moments others;  // of the trials' own files
  for (int t = 0; t < 5000; t++)
    if (const auto value = control.values(t)[0]) others.add(*value);
  EXPECT_LT(others.n(), 5000);
  const double error = others.deviation() / std::sqrt(static_cast<double>(others.n()));
  EXPECT_NEAR(mean.mean, others.mean(), 4 * std::hypot(error, mean.error));
  EXPECT_NEAR(mean.error, error / 2, 0.2 * error);
  goal.relative_margin = 0.05;
  const ControlMean finer = control.means(goal, 1, always).at(0);
  EXPECT_GT(finer.files, 20'000);
  EXPECT_LE(2 * finer.error, 0.2 * 0.05 * finer.mean);
  EXPECT_EQ(control.means(goal, 1, always).at(0).mean, finer.mean);
  EXPECT_THROW(control.means(goal, 1, [](int files) { return files < 1000; }), Interrupted);
}

Scenario with_classes() {
  Scenario scenario;
  scenario.workload.present = true;
  scenario.workload.load = 0.3;
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
  EXPECT_EQ(tail.flows.size_class, 1);
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

TEST(MetricRequest, RefusesQuantilesThatReadLikeOthersThanTheyAre) {
  // "p100" was 0.10, "p990" 0.99.
  for (const char* name :
       {"fct_p100_us", "fct_p0_us", "fct_p00_us", "fct_p5_us", "slowdown_p100", "slowdown_p990",
        "small.fct_p1000_us", "fct_p050_us", "fct_p99999999_us"})
    for (const Estimand estimand : {Estimand::kMean, Estimand::kPooled})
      EXPECT_NE(refusal(name, estimand).find("is no quantile; allowed are p01 to p99 in per cent"),
                std::string::npos)
          << name << ": " << refusal(name, estimand);
  const auto quantile = [](const char* name) {
    return parse_metric(name, Estimand::kPooled, with_classes()).quantile;
  };
  EXPECT_DOUBLE_EQ(quantile("fct_p01_us"), 0.01);
  EXPECT_DOUBLE_EQ(quantile("fct_p10_us"), 0.1);
  EXPECT_DOUBLE_EQ(quantile("fct_p999_us"), 0.999);
  EXPECT_DOUBLE_EQ(quantile("slowdown_p025"), 0.025);
  EXPECT_DOUBLE_EQ(quantile("slowdown_p9999999"), 0.9999999);
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

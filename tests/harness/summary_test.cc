// SPDX-License-Identifier: Apache-2.0
#include "run/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "metrics/catalogue.h"
#include "report/report.h"

namespace delaycc {
namespace {

TrialResult with(const std::string& metric, double value, bool missed = false) {
  TrialResult result;
  result.metrics[metric] = {value, missed};
  return result;
}

// Numbers from 0 on.
std::vector<TrialResult> numbered(std::vector<TrialResult> trials) {
  int number = 0;
  for (TrialResult& trial : trials) trial.number = number++;
  return trials;
}

RunResult example() {
  RunResult run;
  run.kernel = "6.1";
  run.build = "b";
  run.seed = 1;
  run.algorithms = {"oscar", "cubic"};
  CaseResult c;
  c.scenario.name = c.scenario.title = "s";
  c.scenario.subject = "oscar";
  c.parameters["k"] = int64_t{9};
  c.trials["oscar"] = {with("recover_us", 24), with("recover_us", 26)};
  c.trials["cubic"] = {with("recover_us", 100, true), with("drops", 3)};
  Expectation e;
  e.algorithm = "oscar";
  e.metric = "recover_us";
  e.has_max = true;
  e.max = 25;
  e.text = "<= 25";
  c.scenario.expectations.push_back(e);
  run.cases.push_back(c);
  return run;
}

TEST(Summary, HasMeanIntervalCountAndUnit) {
  const nlohmann::json json = summary_json(summarise_run(example()));
  const auto& metric = json.at("algorithms").at("oscar").at("recover_us");
  EXPECT_EQ(metric.at("mean"), 25);
  EXPECT_EQ(metric.at("n"), 2);
  EXPECT_EQ(metric.at("unit"), "us");
  EXPECT_NEAR(metric.at("ci95").get<double>(), 12.7062, 1e-3);
  EXPECT_EQ(json.at("parameters").at("k"), 9);
  EXPECT_FALSE(json.contains("cases"));
}

TEST(Summary, AMetricCountsTheTrialsThatHaveIt) {
  const nlohmann::json cubic = summary_json(summarise_run(example())).at("algorithms").at("cubic");
  EXPECT_EQ(cubic.at("recover_us").at("n"), 1);
  EXPECT_TRUE(cubic.at("recover_us").at("ci95").is_null());
  EXPECT_EQ(cubic.at("recover_us").at("missed"), 1);
  EXPECT_FALSE(
      summary_json(summarise_run(example())).at("algorithms").at("oscar").contains("drops"));
}

TEST(Report, SaysOnceWhichMeansAreLowerBounds) {
  RunResult run = example();
  TrialResult& trial = run.cases[0].trials["oscar"][0];
  for (const char* name : {"fct_mean_us", "fct_p50_us", "small.slowdown_p99", "jain_time_us"})
    trial.metrics[name] = {1, true};
  const nlohmann::json notes = report_json(summarise_run(run)).at("notes");
  ASSERT_EQ(notes.size(), 2u);
  const std::string waited = notes[0];
  EXPECT_NE(waited.find(" oscar: jain_time_us (1 of 1 trials); cubic: recover_us (1 of 1 trials)."),
            std::string::npos)
      << waited;
  // Dozens of metrics of a workload are one remark.
  const std::string flows = notes[1];
  EXPECT_NE(flows.find("not complete at the end (oscar)"), std::string::npos) << flows;
  EXPECT_EQ(flows.find("fct_"), std::string::npos) << flows;
}

FlowSample flow_of(int64_t size_bytes, int64_t fct_us, bool missed = false) {
  FlowSample flow;
  flow.size_bytes = size_bytes;
  flow.fct_ns = fct_us * 1000;
  flow.ideal_ns = 10'000;
  flow.missed = missed;
  return flow;
}

TEST(FlowDistribution, GivesCompletionTimesAsSharesOfAllFlowsTheIncompleteToo) {
  FlowDistribution flows;
  for (const int64_t us : {20, 40, 40}) flows.add(flow_of(1000, us));
  flows.add(flow_of(1000, 5, true));
  const FlowDistribution::Cumulative c = flows.completion();
  ASSERT_EQ(c.us.size(), 2u);
  // The upper ends of bins 2.3 % wide.
  EXPECT_GT(c.us[0], 20);
  EXPECT_LE(c.us[0], 20 * 1.0234);
  EXPECT_GT(c.us[1], 40);
  EXPECT_LE(c.us[1], 40 * 1.0234);
  EXPECT_EQ(c.share, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(flows.complete(), 3);
  EXPECT_EQ(flows.incomplete(), 1);
}

TEST(FlowDistribution, GivesSlowdownsBySizeOnceThereAreEnoughFlows) {
  FlowDistribution flows;
  for (int i = 1; i <= 200; i++) flows.add(flow_of(1'000'000, 10 * i));
  for (int i = 0; i < 4; i++) flows.add(flow_of(1000, 30));
  const auto sizes = flows.sizes();
  ASSERT_EQ(sizes.size(), 2u);
  const int small = sizes.begin()->first, large = sizes.rbegin()->first;
  const FlowDistribution::Slowdown s = flows.slowdown(large, large);
  EXPECT_EQ(s.count, 200);
  EXPECT_NEAR(s.size_bytes, 1e6, 1);
  EXPECT_NEAR(s.mean, 100.5, 1e-6);
  EXPECT_NEAR(s.p50, 100, 2.4);
  EXPECT_NEAR(s.p99, 198, 4.7);
  EXPECT_LT(flows.slowdown(small, small).p50, 0);  // 4 flows
  EXPECT_LT(flows.slowdown(small, small).p99, 0);
  EXPECT_EQ(flows.slowdown(small, large).count, 204);
}

TEST(FlowDistribution, DoesNotDependOnTheOrderOfTheFlows) {
  FlowDistribution one, other;
  for (int i = 1; i <= 300; i++) one.add(flow_of(100 * i * i, 7 * i + 1));
  for (int i = 300; i >= 1; i--) other.add(flow_of(100 * i * i, 7 * i + 1));
  const int first = one.sizes().begin()->first, last = one.sizes().rbegin()->first;
  EXPECT_EQ(one.slowdown(first, last).mean, other.slowdown(first, last).mean);
  EXPECT_EQ(one.slowdown(first, last).size_bytes, other.slowdown(first, last).size_bytes);
  EXPECT_EQ(one.completion().us, other.completion().us);
}

TEST(Report, HasTheFlowsOfAWorkloadInBinsOfATwentiethOfThem) {
  RunResult run = example();
  FlowDistribution& flows = run.cases[0].flows["oscar"];
  for (int i = 0; i < 4000; i++) flows.add(flow_of(1000 + 400 * i, 20 + i % 50));
  const nlohmann::json data = report_json(summarise_run(run));
  const nlohmann::json& oscar = data.at("flows").at("oscar");
  EXPECT_EQ(oscar.at("complete"), 4000);
  EXPECT_EQ(oscar.at("fct").at("share").back(), 1);
  const std::vector<int64_t> counts = oscar.at("slowdown").at("count");
  EXPECT_GT(counts.size(), 5u);
  EXPECT_LE(counts.size(), 20u);
  for (size_t i = 0; i + 1 < counts.size(); i++) EXPECT_GE(counts[i], 200);
  EXPECT_NO_THROW(validate_report(data));
  EXPECT_FALSE(report_json(summarise_run(example())).contains("flows"));
}

RunResult with_incasts() {
  RunResult run = example();
  CaseResult& c = run.cases[0];
  WorkloadSpec& workload = c.scenario.workload;
  workload.present = true;
  workload.load = 0.3;
  workload.classes = {{"small", 100'000}, {"large", -1}};
  workload.incast.fan_in = 8;
  c.scenario.expectations.clear();
  c.scenario.main_metric.clear();
  for (auto& [algorithm, trials] : c.trials)
    for (TrialResult& trial : trials)
      for (const char* name : {"fct_mean_us", "background.fct_mean_us", "incast.fct_mean_us",
                               "large.fct_mean_us", "small.fct_mean_us", "request_mean_us"})
        trial.metrics[name] = {5, false};
  return run;
}

TEST(Report, HasResponsesOfIncastsApartFromTheBackground) {
  RunResult run = with_incasts();
  for (int i = 0; i < 20; i++) run.cases[0].flows["oscar"].add(flow_of(20'000, 20));
  for (int i = 0; i < 300; i++) run.cases[0].responses["oscar"].add(flow_of(20'000, 500));
  const nlohmann::json data = report_json(summarise_run(run));
  EXPECT_NO_THROW(validate_report(data));
  EXPECT_EQ(data.at("main_metric"), "background.slowdown_mean");
  EXPECT_EQ(data.at("flows").at("oscar").at("slowdown").at("mean"), nlohmann::json::array({2}));
  EXPECT_EQ(data.at("responses").at("oscar").at("complete"), 300);
  // Classes in the order of their sizes, then the two kinds.
  std::vector<std::string> keys;
  for (const auto& metric : data.at("metrics"))
    if (const std::string key = metric.at("key"); key.find("fct_mean") != std::string::npos)
      keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"fct_mean_us", "small.fct_mean_us", "large.fct_mean_us",
                                            "background.fct_mean_us", "incast.fct_mean_us"}));
}

TEST(SummaryTable, HasTheBackgroundAndTheRequestsWhereAllFlowsWouldMixTwoKinds) {
  const std::string table = summary_table(summarise_run(with_incasts()));
  EXPECT_NE(table.find("background.fct_mean"), std::string::npos) << table;
  EXPECT_NE(table.find("request_mean"), std::string::npos) << table;
  EXPECT_EQ(table.find(" fct_mean"), std::string::npos) << table;
}

TEST(SummaryTable, ShowsTheDigitsThatTheIntervalSupports) {
  EXPECT_EQ(interval_text(21.2512, 0.5912, 12), "21.25 ± 0.59");
  EXPECT_EQ(interval_text(21.2512, 0.5912, 2), "21.3 ± 0.6");
  EXPECT_EQ(interval_text(0.991662, 0.000034, 2), "0.99166 ± 0.00003");
  EXPECT_EQ(interval_text(12.233, 0.00002, 12), "12.233 ± <0.001");
  EXPECT_EQ(interval_text(96585, 171639.6, 2), "96585 ± 171640");
}

TEST(Expectations, AreCheckedAgainstTheMean) {
  const auto checked = summarise_run(example()).expectations;
  ASSERT_EQ(checked.size(), 1u);
  EXPECT_TRUE(checked[0].met);
  EXPECT_EQ(checked[0].text, "<= 25 us");
}

TEST(Expectations, CanLookAtTheWorstTrial) {
  RunResult run = example();
  run.cases[0].scenario.expectations[0].statistic = "max";
  EXPECT_FALSE(summarise_run(run).expectations[0].met);
  EXPECT_EQ(summarise_run(run).expectations[0].value, 26);
}

TEST(Expectations, ALowerBoundMeetsNoUpperLimit) {
  RunResult run = example();
  run.cases[0].trials["oscar"] = {with("recover_us", 20, true)};
  EXPECT_FALSE(summarise_run(run).expectations[0].met);
}

TEST(Expectations, WithoutAMeasurementAreNotMet) {
  RunResult run = example();
  run.cases[0].trials["oscar"] = {with("drops", 0)};
  EXPECT_FALSE(summarise_run(run).expectations[0].met);
  EXPECT_TRUE(summary_json(summarise_run(run)).at("expectations")[0].at("value").is_null());
}

TEST(Expectations, OfAnAlgorithmThatDidNotRunAreLeftOut) {
  RunResult run = example();
  run.algorithms = {"cubic"};
  EXPECT_TRUE(summarise_run(run).expectations.empty());
}

TEST(Expectations, OfEveryCaseShowTheWorstWhereAllAreMet) {
  RunResult run = example();
  run.sweep = true;
  run.cases[0].trials["oscar"] = {with("recover_us", 20)};
  run.cases[0].scenario.expectations[0].every_case = true;
  run.cases.push_back(run.cases[0]);
  run.cases.push_back(run.cases[0]);
  run.cases[1].parameters["k"] = int64_t{19};
  run.cases[1].trials["oscar"] = {with("recover_us", 24.5)};
  run.cases[2].parameters["k"] = int64_t{3};
  const CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_TRUE(e.met);
  EXPECT_EQ(e.value, 24.5);
  EXPECT_EQ(e.text, "<= 25 us in every case (the worst: k = 19)");
  const nlohmann::json json = summary_json(summarise_run(run)).at("expectations").at(0);
  EXPECT_EQ(json.at("value"), 24.5);
  EXPECT_EQ(json.at("case").at("k"), 19);
  EXPECT_NO_THROW(validate_report(report_json(summarise_run(run))));
  // Each case has its own limit: 20 of 20.5 is nearer than 24.5 of 30.
  run.cases[0].scenario.expectations[0].max = 20.5;
  run.cases[1].scenario.expectations[0].max = 30;
  run.cases[2].scenario.expectations[0].max = 30;
  EXPECT_EQ(summarise_run(run).expectations.at(0).value, 20);
  EXPECT_EQ(to_string(summarise_run(run).expectations.at(0).worst_case->at("k")), "9");
}

TEST(Expectations, OfEveryCaseShowTheCaseThatHasNoValueBeforeAllOthers) {
  RunResult run = example();
  run.sweep = true;
  run.cases[0].scenario.expectations[0].every_case = true;
  run.cases[0].trials["oscar"] = {with("recover_us", 90)};
  run.cases.push_back(run.cases[0]);
  run.cases[1].parameters["k"] = int64_t{19};
  run.cases[1].trials["oscar"] = {with("drops", 0)};
  const CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_FALSE(e.met);
  EXPECT_FALSE(e.measured);
  EXPECT_EQ(to_string(e.worst_case->at("k")), "19");
}

TEST(Summary, SaysWhatWasSetAndWhichSettingsWereInForce) {
  RunResult run = example();
  run.cases[0].scenario.overrides = {{"k", "9"}, {"measure.duration_us", "500"}};
  HostSetting rate;
  rate.name = "line_rate_mbps";
  rate.value = "100000";
  rate.source = HostSetting::Source::kBench;
  rate.hosts = 10;
  HostSetting base;
  base.name = "base_rtt_ns";
  base.hosts = 10;
  run.cases[0].settings["oscar"] = {base, rate};
  const nlohmann::json json = summary_json(summarise_run(run));
  EXPECT_EQ(json.at("set").at("measure.duration_us"), "500");
  EXPECT_EQ(json.at("settings").dump(),
            R"({"oscar":[{"hosts":10,"name":"base_rtt_ns","source":"automatic"},)"
            R"({"hosts":10,"name":"line_rate_mbps","source":"bench","value":"100000"}]})");
  EXPECT_NO_THROW(validate_report(report_json(summarise_run(run))));
}

TEST(Expectations, OfEveryCaseShowTheOneThatMisses) {
  RunResult run = example();
  run.sweep = true;
  run.cases[0].scenario.expectations[0].every_case = true;
  run.cases.push_back(run.cases[0]);
  run.cases[1].parameters["k"] = int64_t{19};
  run.cases[1].trials["oscar"] = {with("recover_us", 50)};
  const CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_FALSE(e.met);
  EXPECT_EQ(e.value, 50);
  EXPECT_EQ(e.text, "<= 25 us in every case (the worst: k = 19)");
  EXPECT_EQ(summary_json(summarise_run(run)).at("cases").size(), 2u);
}

RunResult pairs() {
  RunResult run = example();
  CaseResult& c = run.cases[0];
  c.trials["oscar"] = numbered({with("drops", 10), with("drops", 21), with("drops", 29)});
  c.trials["cubic"] = numbered({with("drops", 20), with("drops", 40), with("drops", 60)});
  Expectation& e = c.scenario.expectations[0];
  e.metric = "drops";
  e.of = "cubic";
  e.max = 0.6;
  e.text = "<= 0.6 of cubic";
  return run;
}

TEST(Expectations, OfAnotherAlgorithmAreAboutTheRatioOfPairs) {
  RunResult run = pairs();
  const CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_TRUE(e.met);
  EXPECT_NEAR(e.value, (10. / 20 + 21. / 40 + 29. / 60) / 3, 1e-12);
  EXPECT_EQ(e.text, "<= 0.6 of cubic");
  // The mean is below this, the end of its interval is not.
  run.cases[0].scenario.expectations[0].max = 0.51;
  EXPECT_FALSE(summarise_run(run).expectations.at(0).met);
  // One pair has no interval.
  for (auto& [name, trials] : run.cases[0].trials) trials.resize(1);
  EXPECT_FALSE(summarise_run(run).expectations.at(0).measured);
  run.algorithms = {"oscar"};
  EXPECT_TRUE(summarise_run(run).expectations.empty());
}

TEST(Expectations, OfAnotherAlgorithmPairTrialsByTheirNumbers) {
  RunResult run = pairs();
  // Each has lost another trial: as many are left, but not the same.
  run.cases[0].trials["oscar"].erase(run.cases[0].trials["oscar"].begin());
  run.cases[0].trials["cubic"].pop_back();
  EXPECT_FALSE(summarise_run(run).expectations.at(0).measured);
}

TEST(Summary, HasTheDifferenceFromTheBestInTheSameTrials) {
  RunResult run = pairs();
  // What the flows make of both is larger than what the algorithms do.
  run.cases[0].trials["oscar"] =
      numbered({with("fct_mean_us", 110), with("fct_mean_us", 300), with("fct_mean_us", 190)});
  run.cases[0].trials["cubic"] =
      numbered({with("fct_mean_us", 141), with("fct_mean_us", 334), with("fct_mean_us", 224)});
  const nlohmann::json algorithms = summary_json(summarise_run(run)).at("algorithms");
  EXPECT_FALSE(algorithms.at("oscar").at("fct_mean_us").contains("difference"));
  const nlohmann::json& d = algorithms.at("cubic").at("fct_mean_us").at("difference");
  EXPECT_EQ(d.at("from"), "oscar");
  EXPECT_EQ(d.at("n"), 3);
  EXPECT_NEAR(d.at("mean").get<double>(), 33, 1e-9);
  EXPECT_NEAR(d.at("ci95").get<double>(), 4.303, 1e-3);  // t(2) * sqrt(3 / 3)
  EXPECT_GT(algorithms.at("cubic").at("fct_mean_us").at("ci95").get<double>(), 200);
  EXPECT_NO_THROW(validate_report(report_json(summarise_run(run))));
  const std::string table = summary_table(summarise_run(run));
  EXPECT_NE(table.find("fct_mean_us, differences in the same trials: cubic - oscar = 33 ± 4 "
                       "us\n"),
            std::string::npos)
      << table;
}

TEST(Summary, HasDifferencesOfTheTrialsThatBothHave) {
  const auto difference = [](const RunResult& run, const std::string& metric) {
    return summary_json(summarise_run(run))
        .at("algorithms")
        .at("cubic")
        .at(metric)
        .value("difference", nlohmann::json());
  };
  RunResult run = pairs();
  run.cases[0].trials["oscar"].erase(run.cases[0].trials["oscar"].begin());
  EXPECT_EQ(difference(run, "drops").at("n"), 2);
  EXPECT_EQ(difference(run, "drops").at("mean"), 25);
  run.cases[0].trials["oscar"].pop_back();
  EXPECT_TRUE(difference(run, "drops").is_null()) << "one pair";
  // Of flows of their own there are no pairs.
  run = pairs();
  for (TrialResult& trial : run.cases[0].trials["oscar"]) trial.number = -1;
  EXPECT_TRUE(difference(run, "drops").is_null());
  // Nothing is best where there is no better end.
  run = pairs();
  for (auto& [algorithm, trials] : run.cases[0].trials)
    for (TrialResult& trial : trials) trial.metrics["idle_us"] = trial.metrics.at("drops");
  EXPECT_TRUE(difference(run, "idle_us").is_null());
  // A mean that is a lower bound is never the best: the difference is from the other.
  run = pairs();
  run.cases[0].trials["oscar"][0].metrics["drops"].missed = true;
  const nlohmann::json algorithms = summary_json(summarise_run(run)).at("algorithms");
  EXPECT_EQ(algorithms.at("oscar").at("drops").at("difference").at("from"), "cubic");
  EXPECT_TRUE(difference(run, "drops").is_null());
}

TEST(Expectations, OfALowerBoundMeetNoLowerLimit) {
  RunResult run = pairs();
  Expectation& e = run.cases[0].scenario.expectations[0];
  e.has_max = false;
  e.has_min = true;
  e.min = 0.1;
  EXPECT_TRUE(summarise_run(run).expectations.at(0).met);
  run.cases[0].trials["cubic"][1].metrics["drops"].missed = true;
  EXPECT_FALSE(summarise_run(run).expectations.at(0).met);
}

TEST(Expectations, OfAnotherCaseNeedTheSweep) {
  RunResult run = pairs();
  Expectation& e = run.cases[0].scenario.expectations[0];
  e.of = "oscar";
  e.of_case = {{"k", "19"}};
  EXPECT_TRUE(summarise_run(run).expectations.empty());
  run.sweep = true;
  EXPECT_FALSE(summarise_run(run).expectations.at(0).measured) << "the other case did not run";
  run.cases.push_back(run.cases[0]);
  run.cases[1].parameters["k"] = int64_t{19};
  run.cases[1].trials["oscar"] = run.cases[0].trials["cubic"];
  EXPECT_TRUE(summarise_run(run).expectations.at(0).met);
  // The case that others are compared with is not compared with itself.
  run.cases[0].scenario.expectations[0].of_case = {{"k", "9"}};
  run.cases[1].scenario.expectations[0].of_case = {{"k", "9"}};
  EXPECT_TRUE(summarise_run(run).expectations.empty());
  for (CaseResult& c : run.cases) c.scenario.expectations[0].every_case = true;
  EXPECT_NEAR(summarise_run(run).expectations.at(0).value, (2 + 40. / 21 + 60. / 29) / 3, 1e-12);
}

// Queues over n = 2, 40 and 60, the main case in the middle; `each`: of one trial at every n.
RunResult trend(const std::vector<std::vector<double>>& each, const std::string& way) {
  RunResult run = example();
  run.sweep = true;
  CaseResult c = run.cases[0];
  c.parameters = {{"n", int64_t{40}}, {"other", int64_t{1}}};
  Expectation& e = c.scenario.expectations[0];
  e.metric = "queue_mean_bytes";
  e.over = "n";
  e.trend = way;
  e.has_max = false;
  e.text = way + " over n";
  run.cases.clear();
  for (const size_t place : {1, 0, 2}) {
    c.parameters["n"] = std::vector<int64_t>{2, 40, 60}[place];
    c.trials["oscar"].clear();
    for (const std::vector<double>& values : each)
      c.trials["oscar"].push_back(with("queue_mean_bytes", values[place]));
    c.trials["oscar"] = numbered(c.trials["oscar"]);
    run.cases.push_back(c);
  }
  return run;
}

TEST(Expectations, OfATrendAreAboutTheChangeInTheSameTrials) {
  // The trials differ by more than the trend makes.
  const std::vector<std::vector<double>> rising = {{10, 14, 20}, {110, 115, 121}, {60, 64, 69}};
  RunResult run = trend(rising, "rises");
  const CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_TRUE(e.met);
  EXPECT_NEAR(e.value, 10, 1e-9);
  EXPECT_NEAR(e.ci95.value(), 2.484, 1e-3);  // of 10, 11 and 9
  EXPECT_EQ(e.text, "rises over n (change from 2 to 60)");
  EXPECT_EQ(e.unit, "bytes");
  EXPECT_FALSE(summarise_run(trend(rising, "falls")).expectations.at(0).met);
  EXPECT_NO_THROW(validate_report(report_json(summarise_run(run))));
  EXPECT_NE(
      summary_table(summarise_run(run))
          .find(
              "met      oscar queue_mean_bytes rises over n (change from 2 to 60): 10.00 ± 2.484"),
      std::string::npos)
      << summary_table(summarise_run(run));
}

TEST(Expectations, OfATrendNeedEveryStepAndTheWholeChange) {
  // A step that is shown to go the other way.
  const CheckedExpectation e =
      summarise_run(trend({{10, 30, 20}, {110, 131, 121}, {60, 79, 69}}, "rises"))
          .expectations.at(0);
  EXPECT_FALSE(e.met);
  EXPECT_EQ(e.text, "rises over n (change from 2 to 60), but falls from n = 40 to 60");
  // One that may: the line is flat where the link is full.
  EXPECT_TRUE(summarise_run(trend({{10, 20, 19}, {110, 120, 122}, {60, 70, 70}}, "rises"))
                  .expectations.at(0)
                  .met);
  // A change whose interval has 0 in it, and none at all.
  EXPECT_FALSE(summarise_run(trend({{10, 12, 30}, {110, 112, 108}}, "rises")).expectations[0].met);
  EXPECT_FALSE(summarise_run(trend({{5, 5, 5}, {5, 5, 5}}, "rises")).expectations[0].met);
  // One trial has no interval.
  EXPECT_FALSE(summarise_run(trend({{10, 14, 20}}, "rises")).expectations[0].measured);
  // A trial without a value, and a lower bound, show nothing.
  RunResult run = trend({{10, 14, 20}, {110, 115, 121}, {60, 64, 69}}, "rises");
  run.cases[2].trials["oscar"][1].metrics["queue_mean_bytes"].missed = true;
  EXPECT_FALSE(summarise_run(run).expectations[0].met);
  run.cases[2].trials["oscar"][1].metrics.clear();
  EXPECT_FALSE(summarise_run(run).expectations[0].measured);
}

TEST(Expectations, OfATrendCanLimitTheSlope) {
  RunResult run = trend({{2, 40, 60}, {104, 180, 220}}, "");
  for (CaseResult& c : run.cases) {
    Expectation& e = c.scenario.expectations[0];
    e.has_min = true;
    e.min = 1;
    e.text = "slope over n >= 1";
  }
  CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_NEAR(e.value, 1.5, 1e-9);  // of 1 and 2
  EXPECT_FALSE(e.met) << "the interval of two slopes is wide";
  EXPECT_EQ(e.text, "slope over n >= 1 bytes");
  run = trend({{2, 40, 60}, {104, 180, 220}, {6, 82, 122}, {8, 84, 124}, {9, 85, 125}}, "");
  for (CaseResult& c : run.cases) {
    c.scenario.expectations[0].has_min = true;
    c.scenario.expectations[0].min = 1;
  }
  EXPECT_TRUE(summarise_run(run).expectations.at(0).met);
}

TEST(Expectations, OfATrendInEveryCaseShowTheWorstLine) {
  RunResult run = trend({{10, 14, 20}, {110, 115, 121}, {60, 64, 69}}, "rises");
  const size_t cases = run.cases.size();
  for (size_t i = 0; i < cases; i++) {
    CaseResult c = run.cases[i];
    c.parameters["other"] = int64_t{2};
    for (TrialResult& trial : c.trials["oscar"]) trial.metrics["queue_mean_bytes"].value *= -1;
    run.cases.push_back(c);
  }
  EXPECT_TRUE(summarise_run(run).expectations.at(0).met) << "the main case's line alone";
  for (CaseResult& c : run.cases) c.scenario.expectations[0].every_case = true;
  const CheckedExpectation e = summarise_run(run).expectations.at(0);
  EXPECT_FALSE(e.met);
  EXPECT_EQ(e.text,
            "rises over n (change from 2 to 60), but falls from n = 40 to 60 in every case (the "
            "worst: other = 2)");
  EXPECT_EQ(e.worst_case->size(), 1u);
}

TEST(Expectations, OfAWholeSweepAreSaidNotToBeTestedWithoutIt) {
  RunResult run = trend({{10, 14, 20}, {110, 115, 121}}, "rises");
  run.cases.resize(1);
  run.sweep = false;
  const RunSummary summary = summarise_run(run);
  EXPECT_TRUE(summary.expectations.empty());
  EXPECT_EQ(summary.untested, std::vector<std::string>{"oscar queue_mean_bytes rises over n"});
  EXPECT_EQ(summary_json(summary).at("untested").size(), 1u);
  EXPECT_NE(summary_table(summary).find("untested oscar queue_mean_bytes rises over n: needs "
                                        "--sweep"),
            std::string::npos);
  EXPECT_NO_THROW(validate_report(report_json(summary)));
}

TEST(Table, ShowsLowerBoundsAndMissingValuesAsSuch) {
  const std::string table = summary_table(summarise_run(example()));
  EXPECT_NE(table.find("25 ± 13"), std::string::npos) << table;
  EXPECT_NE(table.find(">100.0"), std::string::npos) << table;
  EXPECT_NE(table.find("met      oscar recover_us <= 25 us: 25.00"), std::string::npos) << table;
  RunResult run = example();
  run.cases[0].trials["oscar"] = {with("recover_us", 20, true)};
  EXPECT_NE(summary_table(summarise_run(run)).find("NOT MET  oscar recover_us <= 25 us: >20.00"),
            std::string::npos)
      << summary_table(summarise_run(run));
}

TEST(Report, HasLabelAndDirectionOfEveryMetricInTheCataloguesOrder) {
  RunResult run = example();
  TrialResult trial;
  for (const MetricInfo& metric : all_metrics()) trial.metrics[metric.name] = {1, false};
  trial.metrics["small.fct_p99_us"] = trial.metrics["small.flows"] = {1, false};
  WorkloadSpec& workload = run.cases[0].scenario.workload;
  workload.present = true;
  workload.load = 0.5;
  workload.classes.resize(1);
  workload.classes[0].name = "small";
  run.cases[0].trials["oscar"] = {trial};
  const nlohmann::json metrics = report_json(summarise_run(run)).at("metrics");
  ASSERT_EQ(metrics.size(), all_metrics().size() + 2);
  for (size_t i = 0; i < all_metrics().size(); i++) {
    EXPECT_EQ(metrics[i].at("key"), all_metrics()[i].name);
    EXPECT_EQ(metrics[i].at("label"), all_metrics()[i].label);
    EXPECT_EQ(metrics[i].at("better"), better_name(all_metrics()[i].better));
  }
  const nlohmann::json& of_class = metrics[all_metrics().size()];
  EXPECT_EQ(of_class.at("key"), "small.fct_p99_us");
  EXPECT_EQ(of_class.at("label"), "Flow completion time, 99th percentile (small flows)");
  EXPECT_EQ(of_class.at("better"), "lower");
  EXPECT_NO_THROW(validate_report(report_json(summarise_run(run))));
}

TEST(Report, NamesOnlyTheMetricsThatItHas) {
  const nlohmann::json metrics = report_json(summarise_run(example())).at("metrics");
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].at("key"), "recover_us");
  EXPECT_EQ(metrics[1].at("key"), "drops");
}

}  // namespace
}  // namespace delaycc

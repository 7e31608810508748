// SPDX-License-Identifier: Apache-2.0
#include "summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "metrics.h"
#include "report.h"

namespace delaycc {
namespace {

TrialResult with(const std::string& metric, double value, bool missed = false) {
  TrialResult result;
  result.metrics[metric] = {value, missed};
  return result;
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
  const nlohmann::json json = summary_json(example());
  const auto& metric = json.at("algorithms").at("oscar").at("recover_us");
  EXPECT_EQ(metric.at("mean"), 25);
  EXPECT_EQ(metric.at("n"), 2);
  EXPECT_EQ(metric.at("unit"), "us");
  EXPECT_NEAR(metric.at("ci95").get<double>(), 12.7062, 1e-3);
  EXPECT_EQ(json.at("parameters").at("k"), 9);
  EXPECT_FALSE(json.contains("cases"));
}

TEST(Summary, AMetricCountsTheTrialsThatHaveIt) {
  const nlohmann::json cubic = summary_json(example()).at("algorithms").at("cubic");
  EXPECT_EQ(cubic.at("recover_us").at("n"), 1);
  EXPECT_TRUE(cubic.at("recover_us").at("ci95").is_null());
  EXPECT_EQ(cubic.at("recover_us").at("missed"), 1);
  EXPECT_FALSE(summary_json(example()).at("algorithms").at("oscar").contains("drops"));
}

TEST(Report, NamesAFewOfManyMetricsThatAreLowerBounds) {
  RunResult run = example();
  TrialResult& trial = run.cases[0].trials["oscar"][0];
  for (const char* name : {"fct_mean_us", "fct_p50_us", "fct_p90_us", "fct_p95_us", "fct_p99_us"})
    trial.metrics[name] = {1, true};
  const nlohmann::json notes = report_json(run).at("notes");
  ASSERT_EQ(notes.size(), 2u);
  const std::string oscar = notes[0];
  EXPECT_NE(oscar.find("fct_mean_us (1 of 1 trials), "), std::string::npos) << oscar;
  EXPECT_NE(oscar.find(" and 1 more."), std::string::npos) << oscar;
  const std::string cubic = notes[1];
  EXPECT_EQ(cubic.find(" more"), std::string::npos) << cubic;
}

TEST(Expectations, AreCheckedAgainstTheMean) {
  const auto checked = check_expectations(example());
  ASSERT_EQ(checked.size(), 1u);
  EXPECT_TRUE(checked[0].met);
  EXPECT_EQ(checked[0].text, "<= 25 us");
}

TEST(Expectations, CanLookAtTheWorstTrial) {
  RunResult run = example();
  run.cases[0].scenario.expectations[0].statistic = "max";
  EXPECT_FALSE(check_expectations(run)[0].met);
  EXPECT_EQ(check_expectations(run)[0].value, 26);
}

TEST(Expectations, ALowerBoundMeetsNoUpperLimit) {
  RunResult run = example();
  run.cases[0].trials["oscar"] = {with("recover_us", 20, true)};
  EXPECT_FALSE(check_expectations(run)[0].met);
}

TEST(Expectations, WithoutAMeasurementAreNotMet) {
  RunResult run = example();
  run.cases[0].trials["oscar"] = {with("drops", 0)};
  EXPECT_FALSE(check_expectations(run)[0].met);
  EXPECT_TRUE(summary_json(run).at("expectations")[0].at("value").is_null());
}

TEST(Expectations, OfAnAlgorithmThatDidNotRunAreLeftOut) {
  RunResult run = example();
  run.algorithms = {"cubic"};
  EXPECT_TRUE(check_expectations(run).empty());
}

TEST(Expectations, OfEveryCaseShowTheFirstThatMisses) {
  RunResult run = example();
  run.sweep = true;
  run.cases[0].scenario.expectations[0].every_case = true;
  run.cases.push_back(run.cases[0]);
  run.cases[1].parameters["k"] = int64_t{19};
  run.cases[1].trials["oscar"] = {with("recover_us", 50)};
  const CheckedExpectation e = check_expectations(run).at(0);
  EXPECT_FALSE(e.met);
  EXPECT_EQ(e.value, 50);
  EXPECT_EQ(e.text, "<= 25 us in every case (here k = 19)");
  EXPECT_EQ(summary_json(run).at("cases").size(), 2u);
}

RunResult pairs() {
  RunResult run = example();
  CaseResult& c = run.cases[0];
  c.trials["oscar"] = {with("drops", 10), with("drops", 21), with("drops", 29)};
  c.trials["cubic"] = {with("drops", 20), with("drops", 40), with("drops", 60)};
  Expectation& e = c.scenario.expectations[0];
  e.metric = "drops";
  e.of = "cubic";
  e.max = 0.6;
  e.text = "<= 0.6 of cubic";
  return run;
}

TEST(Expectations, OfAnotherAlgorithmAreAboutTheRatioOfPairs) {
  RunResult run = pairs();
  const CheckedExpectation e = check_expectations(run).at(0);
  EXPECT_TRUE(e.met);
  EXPECT_NEAR(e.value, (10. / 20 + 21. / 40 + 29. / 60) / 3, 1e-12);
  EXPECT_EQ(e.text, "<= 0.6 of cubic");
  // The mean is below this, the end of its interval is not.
  run.cases[0].scenario.expectations[0].max = 0.51;
  EXPECT_FALSE(check_expectations(run).at(0).met);
  // One pair has no interval.
  for (auto& [name, trials] : run.cases[0].trials) trials.resize(1);
  EXPECT_FALSE(check_expectations(run).at(0).measured);
  run.algorithms = {"oscar"};
  EXPECT_TRUE(check_expectations(run).empty());
}

TEST(Expectations, OfALowerBoundMeetNoLowerLimit) {
  RunResult run = pairs();
  Expectation& e = run.cases[0].scenario.expectations[0];
  e.has_max = false;
  e.has_min = true;
  e.min = 0.1;
  EXPECT_TRUE(check_expectations(run).at(0).met);
  run.cases[0].trials["cubic"][1] = with("drops", 40, true);
  EXPECT_FALSE(check_expectations(run).at(0).met);
}

TEST(Expectations, OfAnotherCaseNeedTheSweep) {
  RunResult run = pairs();
  Expectation& e = run.cases[0].scenario.expectations[0];
  e.of = "oscar";
  e.of_case = {{"k", "19"}};
  EXPECT_TRUE(check_expectations(run).empty());
  run.sweep = true;
  EXPECT_FALSE(check_expectations(run).at(0).measured) << "the other case did not run";
  run.cases.push_back(run.cases[0]);
  run.cases[1].parameters["k"] = int64_t{19};
  run.cases[1].trials["oscar"] = run.cases[0].trials["cubic"];
  EXPECT_TRUE(check_expectations(run).at(0).met);
  // The case that others are compared with is not compared with itself.
  run.cases[0].scenario.expectations[0].of_case = {{"k", "9"}};
  run.cases[1].scenario.expectations[0].of_case = {{"k", "9"}};
  EXPECT_TRUE(check_expectations(run).empty());
  for (CaseResult& c : run.cases) c.scenario.expectations[0].every_case = true;
  EXPECT_NEAR(check_expectations(run).at(0).value, (2 + 40. / 21 + 60. / 29) / 3, 1e-12);
}

TEST(Table, ShowsLowerBoundsAndMissingValuesAsSuch) {
  const std::string table = summary_table(example());
  EXPECT_NE(table.find("25.00 ± 12.71"), std::string::npos) << table;
  EXPECT_NE(table.find(">100.0"), std::string::npos) << table;
  EXPECT_NE(table.find("met      oscar recover_us <= 25 us: 25.00"), std::string::npos) << table;
  RunResult run = example();
  run.cases[0].trials["oscar"] = {with("recover_us", 20, true)};
  EXPECT_NE(summary_table(run).find("NOT MET  oscar recover_us <= 25 us: >20.00"),
            std::string::npos)
      << summary_table(run);
}

TEST(Report, HasALabelForEveryMetric) {
  nlohmann::json data = {{"scenario", "s"}, {"algorithms", {{"a", nlohmann::json::object()}}}};
  for (const MetricInfo& metric : all_metrics())
    data["algorithms"]["a"][metric.name] = {{"mean", 1}, {"n", 1}};
  const std::string page = render_report(data);
  for (const MetricInfo& metric : all_metrics()) {
    const std::string key = std::string("\"key\":\"") + metric.name + "\"";
    EXPECT_NE(page.find(key), std::string::npos) << metric.name;
    const std::string label = std::string("\"label\":\"") + metric.name + "\"";
    EXPECT_EQ(page.find(label), std::string::npos) << metric.name;
  }
}

}  // namespace
}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// What a run gave: every mean, interval and verdict, computed once. summary.json, the report's data
// and the terminal's table only render it.
#ifndef DELAYCC_HARNESS_RUN_SUMMARY_H_
#define DELAYCC_HARNESS_RUN_SUMMARY_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "metrics/flow_distribution.h"
#include "metrics/metrics.h"
#include "spec/scenario.h"

namespace delaycc {

// Of the values of one metric in trials of the same number, which meet the same flows: what these
// have in common cancels.
struct PairedDifference {
  std::string from;  // an algorithm
  Summary summary;   // of the values less those of `from`, of two pairs or more
};

struct MetricSummary {
  Summary summary;
  int missed = 0;  // trials whose value is only a lower bound
  // From the algorithm with the best mean that is no lower bound; absent for that one itself, of a
  // metric without a good end, and without two pairs.
  std::optional<PairedDifference> difference;
};

// One case with what its trials gave.
struct CaseResult {
  Parameters parameters;
  Scenario scenario;
  std::map<std::string, std::vector<TrialResult>> trials;  // by algorithm, in order of number
  // The flows of a workload by algorithm, and the responses of its incasts; of the main case,
  // without importance sampling.
  std::map<std::string, FlowDistribution> flows, responses;
  // In force in the first trial, by algorithm; empty for one that is none of ours.
  std::map<std::string, std::vector<HostSetting>> settings;
};

struct RunResult {
  std::string kernel;
  std::string build;
  uint64_t seed = 0;
  std::vector<std::string> algorithms;  // in the order asked for
  std::vector<CaseResult> cases;        // the main case first
  bool sweep = false;                   // cases are a sweep, not the main case alone
  std::vector<std::string> limits;      // of the backend, sentences; empty: none
  std::string repeat;                   // the command that gives these figures again
};

struct CheckedExpectation {
  std::string algorithm;
  std::string metric;
  std::string text;
  bool met = false;
  bool measured = false;
  bool missed = false;  // in a trial: the value is a lower bound
  double value = 0;     // of several cases the worst one's
  // Half-width of the value's 95 % interval, where that decides: of a ratio or a trend.
  std::optional<double> ci95;
  std::string unit;  // of the value; empty for a ratio
  // Of which case: with every_case and a sweep. `text` names it, too.
  std::optional<Parameters> worst_case;
};

// One algorithm in one case. Metrics that no trial has are absent.
struct AlgorithmSummary {
  int trials = 0;
  std::map<std::string, MetricSummary> metrics;  // by name
};

struct RunSummary {
  const RunResult& run;
  std::vector<std::map<std::string, AlgorithmSummary>> cases;  // as in the run; by algorithm
  std::vector<CheckedExpectation> expectations;  // those that speak of an algorithm that ran
  // "oscar slowdown_mean rises over load": of the whole sweep, where that did not run.
  std::vector<std::string> untested;
};

// Refers to `run`, which has a case and is not to change while the summary is used.
RunSummary summarise_run(const RunResult& run);

// What was run, without any figure: scenario, kernel, build, seed, parameters, settings.
nlohmann::json identity_json(const RunResult& run);
nlohmann::json summary_json(const RunSummary& summary);
// As harness/report/report.h wants it.
nlohmann::json report_json(const RunSummary& summary);
// Every case, and the expectations.
std::string summary_table(const RunSummary& summary);

// "k = 3, load = 0.5".
std::string parameters_text(const Parameters& parameters);
// Of a figure, with three or four significant digits.
std::string number_text(double value);
// "21.25 ± 0.59", to the decimal that the interval of `n` trials supports (meanAndInterval() of the
// report page has the same rule). `half_width` is above 0.
std::string interval_text(double mean, double half_width, int n);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUN_SUMMARY_H_

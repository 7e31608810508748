// SPDX-License-Identifier: Apache-2.0
// From trials to summary.json, the report's data and the terminal's table.
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

struct MetricSummary {
  Summary summary;
  int missed = 0;  // trials whose value is only a lower bound
};

// One case with what its trials gave.
struct CaseResult {
  Parameters parameters;
  Scenario scenario;
  std::map<std::string, std::vector<TrialResult>> trials;  // by algorithm, in order of number
  // The flows of a workload by algorithm; of the main case, without importance sampling.
  std::map<std::string, FlowDistribution> flows;
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
  // Of which case: with every_case and a sweep. `text` names it, too.
  std::optional<Parameters> worst_case;
};

// By metric name; metrics that no trial has are absent.
std::map<std::string, MetricSummary> summarise_trials(const std::vector<TrialResult>& trials);

// Those that speak of an algorithm that ran.
std::vector<CheckedExpectation> check_expectations(const RunResult& run);

nlohmann::json summary_json(const RunResult& run);
// As harness/report/report.h wants it.
nlohmann::json report_json(const RunResult& run);
// The main case and the expectations, or every case.
std::string summary_table(const RunResult& run);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUN_SUMMARY_H_

// SPDX-License-Identifier: Apache-2.0
// summary.json.
#include <nlohmann/json.hpp>

#include "metrics/catalogue.h"
#include "run/summary.h"

namespace delaycc {
namespace {

using nlohmann::json;

json value_json(const Value& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}

json parameters_json(const Parameters& parameters) {
  json result = json::object();
  for (const auto& [name, value] : parameters) result[name] = value_json(value);
  return result;
}

json metrics_json(const AlgorithmSummary& summary) {
  json result = json::object();
  for (const auto& [name, metric] : summary.metrics) {
    const MetricInfo* info = find_metric(name);
    json entry = {{"mean", metric.summary.mean},
                  {"ci95", metric.summary.n > 1 ? json(metric.summary.ci95) : json()},
                  {"n", metric.summary.n},
                  {"unit", info ? info->unit : ""},
                  {"min", metric.summary.min},
                  {"max", metric.summary.max}};
    if (metric.missed > 0) entry["missed"] = metric.missed;
    if (const auto& difference = metric.difference)
      entry["difference"] = {{"from", difference->from},
                             {"mean", difference->summary.mean},
                             {"ci95", difference->summary.ci95},
                             {"n", difference->summary.n}};
    result[name] = entry;
  }
  return result;
}

// Of the algorithms that have settings of our modules.
json settings_json(const CaseResult& c) {
  json result = json::object();
  for (const auto& [algorithm, settings] : c.settings)
    for (const HostSetting& setting : settings) {
      json entry = {{"name", setting.name},
                    {"source", source_name(setting.source)},
                    {"hosts", setting.hosts}};
      if (!setting.value.empty()) entry["value"] = setting.value;
      result[algorithm].push_back(entry);
    }
  return result;
}

json algorithms_json(const std::map<std::string, AlgorithmSummary>& algorithms) {
  json result = json::object();
  for (const auto& [algorithm, summary] : algorithms)
    if (summary.trials > 0) result[algorithm] = metrics_json(summary);
  return result;
}

}  // namespace

json identity_json(const RunResult& run) {
  const CaseResult& main = run.cases.front();
  return {{"scenario", main.scenario.name},
          {"kernel", run.kernel},
          {"build", run.build},
          {"seed", run.seed},
          {"parameters", parameters_json(main.parameters)},
          {"set", main.scenario.overrides},
          {"settings", settings_json(main)}};
}

json summary_json(const RunSummary& summary) {
  const RunResult& run = summary.run;
  json result = identity_json(run);
  result["algorithms"] = algorithms_json(summary.cases.front());
  if (run.sweep) {
    json cases = json::array();
    for (size_t i = 0; i < run.cases.size(); i++)
      cases.push_back({{"parameters", parameters_json(run.cases[i].parameters)},
                       {"settings", settings_json(run.cases[i])},
                       {"algorithms", algorithms_json(summary.cases[i])}});
    result["cases"] = cases;
  }
  json expectations = json::array();
  for (const CheckedExpectation& e : summary.expectations) {
    expectations.push_back({{"algorithm", e.algorithm},
                            {"metric", e.metric},
                            {"text", e.text},
                            {"met", e.met},
                            {"value", e.measured ? json(e.value) : json()}});
    if (e.measured && e.ci95) expectations.back()["ci95"] = *e.ci95;
    expectations.back()["unit"] = e.unit;
    if (e.worst_case) expectations.back()["case"] = parameters_json(*e.worst_case);
  }
  result["expectations"] = expectations;
  if (!summary.untested.empty()) result["untested"] = summary.untested;
  if (!summary.run.limits.empty()) result["notes"] = summary.run.limits;
  return result;
}

}  // namespace delaycc

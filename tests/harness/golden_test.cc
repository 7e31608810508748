// SPDX-License-Identifier: Apache-2.0
// The metrics of two kept trials are what they were when kMetricsVersion was last raised.
//
// tests/data/golden/NAME.toml is a scenario, NAME/ its kept trial, NAME.json its metrics.
// A stored trial is taken again where kMetricsVersion is the same: a change of a metric's value
// needs a new one. After that: DELAYCC_GOLDEN=write build/harness-test --gtest_filter='*Golden*'.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/replay/replay.h"
#include "base/temporary_directory.h"
#include "metrics/metrics.h"
#include "plan/compile.h"
#include "scenario/scenario_file.h"

namespace delaycc {
namespace {

using nlohmann::json;

const std::string kFolder = DELAYCC_GOLDEN_TRIALS;

// The plan is the kept one: a change of the planner does not need new records.
json metrics_now(const std::string& name) {
  const std::string folder = kFolder + "/" + name;
  const ScenarioFile file(folder + ".toml", std::vector<std::string>{});
  const Scenario scenario = file.resolve(file.main_parameters());
  const std::unique_ptr<Backend> replay = make_replay(folder);
  Trial trial;
  trial.algorithm = scenario.algorithms.front();
  CompiledTrial compiled = compile_trial(
      scenario, trial, [&](const std::string& module) { return replay->has_module(module); });
  compiled.plan = plan_from_json(read_file(folder + "/plan.json"));
  const TemporaryDirectory directory;
  const std::atomic<bool> stop{false};
  const Records records = replay->run(compiled.plan, directory.path(), 1, stop);
  const TrialResult result = compute_metrics(compiled, records);
  json metrics = json::object();
  for (const auto& [metric, value] : result.metrics) metrics[metric] = {value.value, value.missed};
  json samples = json::array();
  for (const FlowSample& s : flow_samples(compiled, records))
    samples.push_back({s.flow, s.size_bytes, s.fct_ns, s.ideal_ns, s.missed, s.size_class});
  double queue = 0, rate = 0;
  for (const uint32_t bytes : result.queue_bytes) queue += bytes;
  for (const RateCurve& curve : result.rates)
    for (const double gbps : curve.gbps) rate += gbps;
  return {{"metrics", metrics},
          {"samples", samples},
          {"event_ns", result.event_ns},
          {"sum of queue_bytes", queue},
          {"sum of rates", rate}};
}

// Values of the flattened JSON; numbers may differ by what another compiler rounds.
bool same(const json& a, const json& b) {
  if (a.is_number() && b.is_number()) {
    const double x = a, y = b;
    return std::abs(x - y) <= 1e-12 * std::max(std::abs(x), std::abs(y));
  }
  return a == b;
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, MetricsOfAKeptTrialChangeOnlyWithTheirVersion) {
  const std::string path = kFolder + "/" + GetParam() + ".json";
  const json now = metrics_now(GetParam());
  EXPECT_GT(now["metrics"].size(), 20u);
  const char* mode = getenv("DELAYCC_GOLDEN");
  const bool write = mode && std::string(mode) == "write";
  if (write && !std::filesystem::exists(path)) {
    write_file(path, json{{"version", kMetricsVersion}, {"values", now}}.dump(1) + "\n");
    return;
  }
  const json golden = json::parse(read_file(path));
  const bool raised = golden.at("version") != kMetricsVersion;
  if (write && raised) {
    write_file(path, json{{"version", kMetricsVersion}, {"values", now}}.dump(1) + "\n");
    return;
  }
  EXPECT_FALSE(raised) << path << " is of metrics version " << golden.at("version")
                       << ": DELAYCC_GOLDEN=write build/harness-test --gtest_filter='*Golden*'";
  // A metric more or less counts, too: a stored trial would be without it.
  std::set<std::string> parts;
  const json flat_now = now.flatten(), flat_before = golden.at("values").flatten();
  for (const json* flat : {&flat_now, &flat_before})
    for (const auto& [part, value] : flat->items()) parts.insert(part);
  for (const std::string& part : parts) {
    const json was = flat_before.value(part, json()), is = flat_now.value(part, json());
    EXPECT_TRUE(same(was, is)) << part << " was " << was << " and is " << is
                               << ": raise kMetricsVersion (harness/metrics/metrics.h), then write "
                                  "the golden values";
  }
}

INSTANTIATE_TEST_SUITE_P(Trials, Golden, ::testing::Values("groups", "workload"));

}  // namespace
}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// What a run makes of what its backend can and cannot give.
#include "backend/backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/kept_trial.h"
#include "backend/replay/replay.h"
#include "base/temporary_directory.h"
#include "report/report.h"
#include "run/experiment.h"
#include "scenario/scenario_file.h"
#include "trace/records.h"

namespace delaycc {
namespace {

const std::string kGolden = DELAYCC_GOLDEN_TRIALS;

// Gives the records of a golden trial whatever the plan.
class Fake : public Backend {
 public:
  std::string name() const override { return "fake"; }
  const Capabilities& capabilities() const override { return can; }
  std::vector<std::string> algorithms() const override { return {"oscar"}; }
  bool has_module(const std::string& name) const override { return name == "tcp_oscar"; }
  std::string description(const std::string&) const override { return ""; }
  std::vector<BackendPart> parts() const override { return {}; }
  std::string build() const override { return "a build"; }
  std::string identity(const Plan&) const override { return what; }
  Records run(const Plan&, const std::string&, int, const std::atomic<bool>&) const override {
    ran++;
    return read_records(kGolden + "/groups");
  }

  Capabilities can;
  std::string what = "first";
  mutable std::atomic<int> ran{0};
};

RunOutcome run(const Backend& backend, const std::string& out, bool keep = false) {
  const ScenarioFile file(kGolden + "/groups.toml", std::vector<std::string>{});
  RunOptions options;
  options.out = out;
  options.keep = keep;
  const std::atomic<bool> stop{false};
  return run_experiment(file, options, backend, stop, [](const Progress&) {});
}

nlohmann::json summary_of(const RunOutcome& outcome) {
  return summary_json(summarise_run(outcome.result));
}

TEST(Backend, AMetricThatItCannotGiveIsAbsentWithTheReason) {
  const TemporaryDirectory out;
  Fake backend;
  const nlohmann::json all = summary_of(run(backend, out.path() + "/all"));
  EXPECT_TRUE(all["algorithms"]["oscar"].contains("queue_mean_bytes"));
  EXPECT_FALSE(all.contains("notes"));
  backend.can.missing_metrics["queue_mean_bytes"] = "the switch does not tell";
  backend.can.exact = false;
  backend.can.time = Capabilities::Time::kWall;
  const RunOutcome outcome = run(backend, out.path() + "/some");
  const nlohmann::json some = summary_of(outcome);
  EXPECT_FALSE(some["algorithms"]["oscar"].contains("queue_mean_bytes"));
  EXPECT_EQ(some["algorithms"]["oscar"].size() + 1, all["algorithms"]["oscar"].size());
  ASSERT_EQ(some["notes"].size(), 3u);
  EXPECT_EQ(some["notes"][2], "queue_mean_bytes: not measured: the switch does not tell");
  EXPECT_NE(
      render_report(report_json(summarise_run(outcome.result))).find("the switch does not tell"),
      std::string::npos);
  EXPECT_NE(summary_table(summarise_run(outcome.result)).find("the switch does not tell"),
            std::string::npos);
}

TEST(Backend, ATrialIsMeasuredAgainWhenWhatItUsesChanged) {
  const TemporaryDirectory out;
  Fake backend;
  EXPECT_EQ(run(backend, out.path()).ran, 1);
  EXPECT_EQ(run(backend, out.path()).resumed, 1);
  EXPECT_EQ(backend.ran, 1);
  backend.what = "second";
  EXPECT_EQ(run(backend, out.path()).ran, 1);
  EXPECT_EQ(backend.ran, 2);
}

TEST(Backend, WhatARunKeepsIsReplayedWithTheSameLimits) {
  const TemporaryDirectory out;
  Fake backend;
  backend.can.exact = false;
  backend.can.missing_metrics["drops"] = "not counted";
  nlohmann::json kept = summary_of(run(backend, out.path() + "/first", true));
  const auto replay = make_replay(out.path() + "/first");
  EXPECT_FALSE(replay->capabilities().exact);
  nlohmann::json again = summary_of(run(*replay, out.path() + "/second"));
  EXPECT_NE(kept["build"], again["build"]);
  kept.erase("build");
  again.erase("build");
  EXPECT_EQ(kept.dump(), again.dump());
}

TEST(Backend, OneThatRunsNothingKeepsNothing) {
  const TemporaryDirectory out;
  Fake backend;
  backend.can.measures = false;
  try {
    run(backend, out.path() + "/none", true);
    FAIL();
  } catch (const ScenarioError& e) {
    EXPECT_STREQ(e.what(), "--keep: the backend fake runs nothing that could be recorded");
  }
  EXPECT_FALSE(std::filesystem::exists(out.path() + "/none"));
}

}  // namespace
}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// delaycc-study: repeats the studies of docs/research/evaluation.md.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "base/posix.h"
#include "study/study.h"

int main(int argc, char** argv) {
  using namespace delaycc;
  StudyOptions options;
  std::string name;
  std::string json_path;
  CLI::App app("Studies of the estimators behind `delaycc eval`", "delaycc-study");
  std::string known = "study, or \"all\":";
  for (const Study& study : all_studies()) known += "\n" + study.name + ": " + study.question;
  app.add_option("name", name, known)->required();
  app.add_option("--seed", options.seed, "of all random numbers")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "of each experiment")
      ->check(CLI::Range(10, 1'000'000))
      ->capture_default_str();
  app.add_option("--truth-trials", options.truth_trials, "that the true values come from")
      ->check(CLI::Range(1000, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--lab-trial-s", options.lab_trial_s, "wall time of one lab trial (cceval-cost)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--results", options.results,
                 "folder of `delaycc run cceval-dumbbell --sweep --out FOLDER` (cceval-lab)");
  app.add_option("--json", json_path, "also write the tables to this file");
  CLI11_PARSE(app, argc, argv);

  const bool terminal = isatty(STDERR_FILENO) == 1;
  try {
    Json all = Json::array();
    for (const Study& study : all_studies()) {
      if (name != "all" && name != study.name) continue;
      if (name == "all" && study.name == "cceval-lab" && options.results.empty()) continue;
      options.progress = [&](double share) {
        if (terminal) fmt::print(stderr, "\r{}: {:.0f} % ", study.name, share * 100);
      };
      const int64_t started_ns = monotonic_ns();
      const StudyResult result = run_study(study.name, options);
      fmt::print(stderr, "{}{}: took {:.0f} s\n", terminal ? "\r" : "", study.name,
                 static_cast<double>(monotonic_ns() - started_ns) / 1e9);
      fmt::print("{}\n", study_text(result));
      if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw system_error("write", "standard output");
      all.push_back(study_json(result, options));
    }
    if (all.empty()) run_study(name, options);  // says what there is
    if (!json_path.empty()) write_file(json_path, all.dump(1) + "\n");
  } catch (const Error& e) {
    fmt::print(stderr, "delaycc-study: {}\n", e.what());
    return 2;
  }
  return 0;
}

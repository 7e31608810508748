// SPDX-License-Identifier: Apache-2.0
// What other programs want to know of the command line, from the options themselves: the manual
// page and the completion of a shell. Nothing here names an option.
#ifndef DELAYCC_USER_MANUAL_H_
#define DELAYCC_USER_MANUAL_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace delaycc {

// A kind of names that an option or a positional takes. Help shows `value` for one name and
// `values` for names with commas between; `delaycc list LIST` prints the names, one a line, each
// before the first blank.
struct NameKind {
  const char* value;
  const char* values;
  const char* list;
};
constexpr NameKind kScenarios = {"SCENARIO", "SCENARIOS", "scenarios"};
constexpr NameKind kAlgorithms = {"ALGORITHM", "ALGORITHMS", "algorithms"};
constexpr NameKind kMetrics = {"METRIC", "METRICS", "metrics"};
constexpr NameKind kNameKinds[] = {kScenarios, kAlgorithms, kMetrics};
// As help shows an option that takes a folder.
constexpr char kFolder[] = "FOLDER";

struct ExitCode {
  int code;
  const char* meaning;
};

// The page delaycc.1 in troff's man macros. `version` stands at its foot.
std::string man_page(const CLI::App& app, const std::string& version,
                     const std::vector<ExitCode>& exit_codes);

// A script for bash. It completes subcommands, options, choices, folders and TOML files, and asks
// the command on the line for names (`delaycc list LIST`).
std::string bash_completion(const CLI::App& app);

}  // namespace delaycc

#endif  // DELAYCC_USER_MANUAL_H_

// SPDX-License-Identifier: Apache-2.0
// `delaycc export`: a scenario as a Mininet script.
#ifndef DELAYCC_USER_EXPORT_COMMAND_H_
#define DELAYCC_USER_EXPORT_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace delaycc {

struct ExportArguments {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string algorithm;  // empty: the scenario's first
  uint64_t seed = 1;
  int trial = 0;
  bool mininet = false;
};

CLI::App* add_export_command(CLI::App& app, ExportArguments& arguments);
// Prints the script. Returns the exit code; throws ScenarioError for what a script cannot have.
int run_export(const ExportArguments& arguments);

}  // namespace delaycc

#endif  // DELAYCC_USER_EXPORT_COMMAND_H_

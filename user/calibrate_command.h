// SPDX-License-Identifier: Apache-2.0
// `delaycc calibrate DEV|HOST`: a real path's round trips, and the settings that follow.
#ifndef DELAYCC_USER_CALIBRATE_COMMAND_H_
#define DELAYCC_USER_CALIBRATE_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace delaycc {

struct CalibrateArguments {
  std::string target;
  std::vector<std::string> algorithms;  // empty: those that are loaded, or else all
  std::string prefix;
  std::string sysctl_file;
  std::string noise_file;
  int count = 4000;
  int load_percent = 10;
  int64_t line_rate_mbps = 0;
  int64_t buffer_bytes = 0;
  bool apply = false;
  bool json = false;
};

CLI::App* add_calibrate_command(CLI::App& app, CalibrateArguments& arguments);
// Returns the exit code.
int calibrate(const CalibrateArguments& arguments);

}  // namespace delaycc

#endif  // DELAYCC_USER_CALIBRATE_COMMAND_H_

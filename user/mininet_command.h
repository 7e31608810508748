// SPDX-License-Identifier: Apache-2.0
// `delaycc mininet SCRIPT.py [ARGS]`: a Mininet script in the lab, in virtual time.
#ifndef DELAYCC_USER_MININET_COMMAND_H_
#define DELAYCC_USER_MININET_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace delaycc {

struct MininetArguments {
  std::vector<std::string> command;  // script and its arguments
  std::string cc;                    // of all hosts that say nothing; empty: the lab kernel's
  std::string out;                   // empty: results/NAME
  uint64_t seed = 1;
  int memory_mb = 2048;
  int timeout_s = 3600;
  bool quiet = false;
  bool pcap = false;  // of each host's links, in `out`/pcap
};

// Throws Error naming what of Mininet is not installed here, and the command that installs it.
void need_mininet();

CLI::App* add_mininet_command(CLI::App& app, MininetArguments& arguments);
// Returns the script's exit code, or one of delaycc's own.
int run_mininet(MininetArguments& arguments);

}  // namespace delaycc

#endif  // DELAYCC_USER_MININET_COMMAND_H_

// SPDX-License-Identifier: Apache-2.0
// delaycc load, unload, set, paths, cgroup, count, stamps, status and top: algorithms as BPF
// programs.
#ifndef DELAYCC_USER_BPF_COMMAND_H_
#define DELAYCC_USER_BPF_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace delaycc {

struct BpfArguments {
  std::string name, cgroup, path_file, sort = "rate", filter, prometheus;
  std::vector<std::string> names, settings, words;
  int priority = -1;
  bool pin = false, all = false, json = false, csv = false, remove = false, clear = false;
  bool learnt = false;
  double interval_s = 1;
  int count = 0;  // of looks; 0: until interrupted
  uint32_t active_us = 10000;
  int rows = 0;  // of flows that are shown; 0: what the terminal has
};

// The subcommands, and run_bpf() for the one that was chosen; -1 if none of them was.
void add_bpf_commands(CLI::App& app, BpfArguments& arguments);
int run_bpf(const CLI::App& app, BpfArguments& arguments);

}  // namespace delaycc

#endif  // DELAYCC_USER_BPF_COMMAND_H_

// SPDX-License-Identifier: Apache-2.0
// `delaycc eval`, and `delaycc eval-task` for the tasks of a cluster.
#ifndef DELAYCC_USER_EVAL_COMMAND_H_
#define DELAYCC_USER_EVAL_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "eval/evaluate.h"

namespace delaycc {

struct EvalArguments {
  std::string scenario;
  std::string margin = "1%";
  std::string confidence = "95%";
  std::string interval = interval_name(Goal().interval);
  std::string estimand = "mean";
  std::string control = "none";
  std::string unseen;  // empty: by the margin
  std::string max_time;
  std::string executor = "local";
  std::vector<std::string> metrics;
  std::vector<std::string> algorithms;
  std::vector<std::string> compare;
  int min_trials = Goal().min_units;
  int max_trials = EvaluationSpec().max_trials;
  EvalOptions options;
  bool json = false;
  bool quiet = false;
};

// For --seed, whose number CLI11 would take modulo 2^64: what is wrong, or nothing.
std::string check_seed(const std::string& text);
CLI::App* add_eval_command(CLI::App& app, EvalArguments& arguments);
// `path` is the scenario's file. Returns the exit code.
int eval(EvalArguments& arguments, const std::string& path);
int eval_task(const std::string& manifest);

}  // namespace delaycc

#endif  // DELAYCC_USER_EVAL_COMMAND_H_

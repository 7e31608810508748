// SPDX-License-Identifier: Apache-2.0
// From a finished evaluation to eval.json, run.json, the terminal and the report page.
#ifndef DELAYCC_HARNESS_EVAL_EVAL_RESULT_H_
#define DELAYCC_HARNESS_EVAL_EVAL_RESULT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "eval/options.h"

namespace delaycc {

// The estimates: the same bytes for the same trials, whatever ran where and when.
nlohmann::json eval_json(const EvalOptions& options, const EvalOutcome& outcome);
// How this command got there: wall time, trials per hour, the estimators' share of the time.
nlohmann::json eval_run_json(const EvalOptions& options, const EvalOutcome& outcome);
// The report's data of a run with the section "evaluation" (harness/report/report.h).
nlohmann::json eval_report_json(const EvalOptions& options, const EvalOutcome& outcome);
std::string eval_table(const EvalOptions& options, const EvalOutcome& outcome);
// "a < b ...", one line for each metric; empty without --compare.
std::vector<std::string> comparison_lines(const EvaluationSpec& spec, const Evaluation& evaluation);
// One line for each algorithm and metric, and one on time.
std::vector<std::string> progress_lines(const EvalProgress& progress);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_EVAL_RESULT_H_

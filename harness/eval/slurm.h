// SPDX-License-Identifier: Apache-2.0
// Trials on a Slurm cluster, as array jobs. Folder, program and lab are on a file system that all
// machines share.
//
// Each task writes the trials it was given into a store of its own, DIR/slurm/*.sqlite, which are
// merged into DIR/results.sqlite as they come. Only what is in a shard counts, not what Slurm says
// of a job: a trial that is missing once its job has gone is submitted again, and one that two jobs
// have run counts once.
#ifndef DELAYCC_HARNESS_EVAL_SLURM_H_
#define DELAYCC_HARNESS_EVAL_SLURM_H_

#include <string>
#include <vector>

#include "eval/dispatcher.h"

namespace delaycc {

// Cancels the job that a command which was killed has left for this folder of results. To be called
// with the store's lock held: then nobody waits for that job. Throws Error without Slurm's
// commands.
void cancel_left_over_job(const std::string& out);

// Throws Interrupted once `stop.stop` is true. Whatever ends it, its jobs are cancelled.
void run_on_slurm(TrialDispatcher& dispatcher, const EvalOptions& options, const EvalPlan& plan,
                  TrialRunner& runner, Store& store, const EvalStop& stop);

// `delaycc eval-task MANIFEST`: the part of an array's task, whose number is in
// SLURM_ARRAY_TASK_ID. Returns the exit code.
int run_slurm_task(const std::string& manifest, const Backend& backend,
                   const std::atomic<bool>& stop);

// What a program printed, and how it ended.
struct ProgramResult {
  int status = 0;  // exit code, or 128 + the signal's number
  std::string output;
  std::string errors;
};
// Runs a program of PATH out of reach of the terminal's signals. Throws Error if there is none.
ProgramResult run_program(const std::vector<std::string>& arguments);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_SLURM_H_

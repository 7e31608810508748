// SPDX-License-Identifier: Apache-2.0
// The CCEval paper's model-based estimation of a tail quantile (section 4.3, Algorithms 1 and 2):
// log-normal sizes, importance sampling with parameters from an adaptive cross-entropy search,
// batches.
//
// Differences from the paper, each an option so that the printed procedure stays reachable
// (as_printed()):
// - Equations 16 and 17 lack the likelihood ratio: the search's cycles are drawn from the tilted
//   distribution, and without the ratio its mean is that of another one (`weighted_entropy`).
// - Both equations are for sizes that are not cut. The mean of ln(size) of the cut distribution is
// below mu, so
//   that without a tilt they already move: LognormalSizes::with_log_moments (`cut_moments`).
// - Equation 13 is one order statistic off equation 12.
// - Line 22 estimates the flows per cycle from m_or cycles, an error that the interval does not
// know. It is
//   lambda times the length of the trial.
// - Algorithm 1 returns the parameters before its last update, so that the last epoch is lost.
// - In its first epoch gamma_max is 0 and each cycle would leave the tilted distribution at its
// first
//   finished flow: here it never does in that epoch.
// - Equation 13 divides by the expected flows, which is right for sizes of any weight but adds the
// spread of
//   the number of flows; `self_normalised` divides by the sum of the ratios instead.
// - Two safeguards: the tilt is capped, and a tilt whose effective sample size falls below a share
// of the
//   cycles is not taken.
// What it does here, with figures: docs/research/evaluation.md.
#ifndef DELAYCC_HARNESS_EVAL_IMPORTANCE_H_
#define DELAYCC_HARNESS_EVAL_IMPORTANCE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "eval/estimator.h"
#include "spec/sampling.h"

namespace delaycc {

struct ImportanceFlow {
  double value;      // response time R_n
  double log_ratio;  // ln L(F_n), equation 10 when it finished
};

struct ImportanceCycle {
  std::vector<ImportanceFlow> flows;
  std::vector<double> log_bytes;  // of all flows
  double log_ratio = 0;           // of the whole cycle
};

// Runs one cycle with sizes from `drawn` until the first response time above `switch_at`, and from
// the nominal distribution then (switching change of measure; infinity: never). Equal numbers are
// equal random numbers.
using CycleSource =
    std::function<ImportanceCycle(const LognormalSizes& drawn, double switch_at, uint64_t number)>;

struct ModelBasedOptions {
  double p = 0.99;
  Goal goal;
  int epochs = 10;             // E
  int epoch_cycles = 10;       // m_ce
  int original_cycles = 100;   // m_or, where flows_per_cycle is 0
  int cycles_per_batch = 40;   // K
  double flows_per_cycle = 0;  // lambda times the length of a trial; 0: from m_or cycles
  bool switching = true;
  bool self_normalised = false;
  bool weighted_entropy = true;
  bool cut_moments = true;
  bool keep_last_update = true;
  bool first_epoch_switches = false;
  bool quantile_as_printed = false;
  // Caps of the tilt, in nominal sigmas: largest shift of mu, largest factor of sigma. 0: no cap.
  double largest_shift = 0.1;
  double largest_factor = 1.05;
  // Least effective sample size of a tilt over its epoch's cycles; 0: any.
  double least_effective_share = 0.5;

  // The procedure as it stands in the paper: no mend, no safeguard.
  static ModelBasedOptions as_printed();
};

struct TiltSearch {
  LognormalSizes drawn;
  double gamma_max = 0;
  double effective_share = 1;  // of the last tilt that was tried
  int epochs = 0;              // that ran
  bool capped = false;
  bool stopped = false;  // by the effective sample size
  int64_t cycles = 0;
};
// Algorithm 1. Its cycles have the numbers from `first_number` on.
TiltSearch adaptive_cross_entropy(const CycleSource& source, const LognormalSizes& nominal,
                                  const ModelBasedOptions& options, uint64_t first_number);

struct ModelBasedResult {
  TiltSearch search;
  Estimate estimate;           // over batches; its trials are the m_is cycles
  double flows_per_cycle = 0;  // that equation 13 was used with
  int64_t original_cycles = 0;
  int64_t cycles = 0;  // all that it cost
};
// Algorithm 2, until the goal is reached or `most_cycles` have been drawn from the found
// distribution.
ModelBasedResult model_based_quantile(const CycleSource& source, const LognormalSizes& nominal,
                                      const ModelBasedOptions& options, int64_t most_cycles,
                                      uint64_t first_number = 0);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_IMPORTANCE_H_

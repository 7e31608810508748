// SPDX-License-Identifier: Apache-2.0
// A network that costs microseconds a trial: one link that its flows share equally (M/G/1 processor
// sharing). The studies of the estimators repeat it millions of times, which no lab can.
#ifndef DELAYCC_HARNESS_STUDY_SURROGATE_H_
#define DELAYCC_HARNESS_STUDY_SURROGATE_H_

#include <cstdint>
#include <vector>

#include "eval/fluid.h"
#include "eval/importance.h"
#include "spec/sampling.h"
#include "spec/workload.h"

namespace delaycc {

struct Surrogate {
  double rate_bps = 100e9;
  double load = 0.3;
  double duration_s = 0.02;  // arrivals stop then; every flow ends

  // Flows per trial, and lambda times the duration.
  double flows(double mean_bytes) const { return load * rate_bps / 8 * duration_s / mean_bytes; }
};

// An "algorithm" on the surrogate: what it makes of the same flow file.
struct SurrogateLaw {
  double efficiency = 1;     // of the link that its flows get together
  double start_s = 0;        // each flow loses this at its start
  double jitter = 0;         // deviation of ln of a factor that each flow's time has by chance
  double timeout_share = 0;  // of the flows that lose timeout_s, by chance of its own
  double timeout_s = 0;
  uint64_t number = 0;  // tells the chances of two algorithms apart
};

// One trial: response times in order of arrival, with their likelihood ratios.
struct SurrogateTrial {
  std::vector<double> arrival_s;
  std::vector<double> bytes;
  std::vector<double> response_s;
  std::vector<double> log_ratio;  // at each flow's finish; 0 without importance sampling
  double cycle_log_ratio = 0;
};

// Runs what `draws` says (arrivals in mean gaps, sizes `sizes`) under a law. `seed` is only for the
// law's own chances.
template <typename Sizes>
SurrogateTrial run_surrogate(const Surrogate& net, const std::vector<FlowDraw>& draws,
                             const Sizes& sizes, double mean_bytes, const SurrogateLaw& law = {},
                             uint64_t seed = 0, uint64_t trial = 0);

// The trial of `draws` with given sizes.
SurrogateTrial run_surrogate(const Surrogate& net, const std::vector<FlowDraw>& draws,
                             std::vector<double> bytes, double gap_s, const SurrogateLaw& law,
                             uint64_t seed, uint64_t trial);

template <typename Sizes>
SurrogateTrial run_surrogate(const Surrogate& net, const std::vector<FlowDraw>& draws,
                             const Sizes& sizes, double mean_bytes, const SurrogateLaw& law,
                             uint64_t seed, uint64_t trial) {
  std::vector<double> bytes;
  bytes.reserve(draws.size());
  for (const FlowDraw& d : draws) bytes.push_back(std::max(1.0, sizes.quantile(d.uniform)));
  return run_surrogate(net, draws, std::move(bytes), net.duration_s / net.flows(mean_bytes), law,
                       seed, trial);
}

// Cycles for Algorithms 1 and 2, with the switching change of measure. As printed, the likelihood
// ratio goes on with the tilted density for flows that come from the nominal one after the switch.
CycleSource surrogate_cycles(const Surrogate& net, double flows, const LognormalSizes& nominal,
                             uint64_t seed, bool ratio_after_switch = false);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STUDY_SURROGATE_H_

// SPDX-License-Identifier: Apache-2.0
// Completion times and slowdowns of many flows, in bins of constant relative width: the memory does
// not grow with the flows, and the order in which they come does not matter.
#ifndef DELAYCC_HARNESS_METRICS_FLOW_DISTRIBUTION_H_
#define DELAYCC_HARNESS_METRICS_FLOW_DISTRIBUTION_H_

#include <cstdint>
#include <map>
#include <vector>

#include "metrics/metrics.h"

namespace delaycc {

class FlowDistribution {
 public:
  // A flow that was not complete counts as one; its slowdown is the one until the end, a lower
  // bound.
  void add(const FlowSample& flow);

  int64_t complete() const { return complete_; }
  int64_t incomplete() const { return incomplete_; }

  // Completion times in us, each the upper end of a bin (2.3 % wide), with the share of all flows
  // that took no longer.
  struct Cumulative {
    std::vector<double> us;
    std::vector<double> share;
  };
  Cumulative completion() const;

  // Bins of flow sizes, a sixteenth of a decade wide, by number, and how many flows each has.
  std::map<int, int64_t> sizes() const;

  // The slowdowns of the flows in bins first to last. Percentiles are the middle of a bin of 2.3 %;
  // mean and median are there from 5 flows on, the 99th percentile from 100 on, else below 0.
  struct Slowdown {
    double size_bytes = 0;  // the flows' geometric mean
    int64_t count = 0;
    double mean = -1;
    double p50 = -1;
    double p99 = -1;
  };
  Slowdown slowdown(int first, int last) const;

 private:
  struct SizeBin {
    std::map<int, int64_t> slowdowns;  // flows by bin of slowdown
    int64_t count = 0;
    // Sums of whole numbers: the same in any order.
    int64_t slowdown_sum_ppm = 0;
    int64_t log_size_sum_ppm = 0;  // of log10(bytes)
  };
  int64_t complete_ = 0;
  int64_t incomplete_ = 0;
  std::map<int, int64_t> fcts_;  // flows by bin of completion time
  std::map<int, SizeBin> sizes_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_FLOW_DISTRIBUTION_H_

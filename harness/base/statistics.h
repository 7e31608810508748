// SPDX-License-Identifier: Apache-2.0
#ifndef DELAYCC_HARNESS_BASE_STATISTICS_H_
#define DELAYCC_HARNESS_BASE_STATISTICS_H_

#include <cstddef>
#include <vector>

namespace delaycc {

struct Summary {
  double mean = 0;
  double ci95 = 0;  // half-width of the 95 % confidence interval of the mean; 0 for n = 1
  double min = 0;
  double max = 0;
  int n = 0;
};

// Mean with Student's t interval, for independent trials. `values` must not be empty.
Summary summarise(const std::vector<double>& values);

// Nearest rank, among `n` sorted values: the index of the smallest that at least `fraction` of all
// are not above. `n` is 1 at least.
size_t nearest_rank(size_t n, double fraction);
// The value of that rank. `values` must not be empty; its order changes.
double percentile(std::vector<double>& values, double fraction);
// Values of which some are only known to be that or more.
struct BoundedValues {
  std::vector<double> values;
  std::vector<double> highest;  // infinity where a value may be more
  void add(double value, bool may_be_more);
  double sum() const;
  double percentile(double fraction);
  // Whether the percentile may be more, too. It may not where all that may be more lies above it.
  bool percentile_may_be_more(double fraction);
};

// (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has all. 0 where nothing flows.
double jain_index(const std::vector<double>& values);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_STATISTICS_H_

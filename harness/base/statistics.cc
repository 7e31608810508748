// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace delaycc {

Summary summarise(const std::vector<double>& values) {
  Summary s;
  s.n = static_cast<int>(values.size());
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  s.min = *low;
  s.max = *high;
  double sum = 0;
  for (double v : values) sum += v;
  s.mean = sum / s.n;
  if (s.n < 2) return s;
  double squares = 0;
  for (double v : values) squares += (v - s.mean) * (v - s.mean);
  const double t = boost::math::quantile(boost::math::students_t(s.n - 1), 0.975);
  s.ci95 = t * std::sqrt(squares / (s.n - 1) / s.n);
  return s;
}

size_t nearest_rank(size_t n, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(n));
  return std::clamp<size_t>(static_cast<size_t>(rank), 1, n) - 1;
}

double percentile(std::vector<double>& values, double fraction) {
  const size_t index = nearest_rank(values.size(), fraction);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

void BoundedValues::add(double value, bool may_be_more) {
  values.push_back(value);
  highest.push_back(may_be_more ? std::numeric_limits<double>::infinity() : value);
}

double BoundedValues::sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }

double BoundedValues::percentile(double fraction) { return delaycc::percentile(values, fraction); }

bool BoundedValues::percentile_may_be_more(double fraction) {
  return delaycc::percentile(highest, fraction) > delaycc::percentile(values, fraction);
}

double jain_index(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double v : values) {
    sum += v;
    squares += v * v;
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "metrics/flow_distribution.h"

#include <algorithm>
#include <cmath>

namespace delaycc {
namespace {

constexpr int kBinsPerDecade = 100;  // of times and slowdowns
constexpr int kSizeBinsPerDecade = 16;
constexpr double kPpm = 1e6;
constexpr int64_t kFewest = 5;          // flows for a mean or a median
constexpr int64_t kFewestOfTail = 100;  // for a 99th percentile

int bin_of(double value, int per_decade) {
  return static_cast<int>(std::floor(std::log10(std::max(value, 1e-9)) * per_decade));
}

double bin_start(double bin, int per_decade) { return std::pow(10, bin / per_decade); }

// By nearest rank.
double quantile(const std::map<int, int64_t>& bins, int64_t count, double fraction) {
  int64_t left = std::max<int64_t>(
      1, static_cast<int64_t>(std::ceil(fraction * static_cast<double>(count) - 1e-9)));
  for (const auto& [bin, flows] : bins) {
    left -= flows;
    if (left <= 0) return bin_start(bin + 0.5, kBinsPerDecade);
  }
  return -1;
}

}  // namespace

void FlowDistribution::add(const FlowSample& flow) {
  const double us = static_cast<double>(flow.fct_ns) / 1e3;
  (flow.missed ? incomplete_ : complete_)++;
  if (!flow.missed) fcts_[bin_of(us, kBinsPerDecade)]++;
  const double slowdown =
      std::max(1.0, static_cast<double>(flow.fct_ns) / static_cast<double>(flow.ideal_ns));
  const double size = static_cast<double>(flow.size_bytes);
  SizeBin& bin = sizes_[bin_of(size, kSizeBinsPerDecade)];
  bin.slowdowns[bin_of(slowdown, kBinsPerDecade)]++;
  bin.count++;
  bin.slowdown_sum_ppm += std::llround(slowdown * kPpm);
  bin.log_size_sum_ppm += std::llround(std::log10(size) * kPpm);
}

FlowDistribution::Cumulative FlowDistribution::completion() const {
  Cumulative result;
  int64_t so_far = 0;
  for (const auto& [bin, flows] : fcts_) {
    so_far += flows;
    result.us.push_back(bin_start(bin + 1, kBinsPerDecade));
    result.share.push_back(static_cast<double>(so_far) /
                           static_cast<double>(complete_ + incomplete_));
  }
  return result;
}

std::map<int, int64_t> FlowDistribution::sizes() const {
  std::map<int, int64_t> result;
  for (const auto& [bin, flows] : sizes_) result[bin] = flows.count;
  return result;
}

FlowDistribution::Slowdown FlowDistribution::slowdown(int first, int last) const {
  Slowdown result;
  SizeBin all;
  for (auto it = sizes_.lower_bound(first); it != sizes_.end() && it->first <= last; ++it) {
    for (const auto& [bin, flows] : it->second.slowdowns) all.slowdowns[bin] += flows;
    all.count += it->second.count;
    all.slowdown_sum_ppm += it->second.slowdown_sum_ppm;
    all.log_size_sum_ppm += it->second.log_size_sum_ppm;
  }
  result.count = all.count;
  if (all.count == 0) return result;
  const double count = static_cast<double>(all.count);
  result.size_bytes = std::pow(10, static_cast<double>(all.log_size_sum_ppm) / kPpm / count);
  if (all.count < kFewest) return result;
  result.mean = static_cast<double>(all.slowdown_sum_ppm) / kPpm / count;
  result.p50 = quantile(all.slowdowns, all.count, 0.5);
  if (all.count >= kFewestOfTail) result.p99 = quantile(all.slowdowns, all.count, 0.99);
  return result;
}

}  // namespace delaycc

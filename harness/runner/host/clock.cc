// SPDX-License-Identifier: Apache-2.0
#include "runner/host/clock.h"

#include <time.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/posix.h"

namespace delaycc {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// The clock is set, and not only steered, when it moves by more than this.
constexpr int64_t kMostDriftNs = 100'000;

}  // namespace

void sleep_until(int64_t at_ns) {
  const timespec when = {at_ns / kSecondNs, at_ns % kSecondNs};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

int64_t realtime_offset_ns() {
  // Of several looks the one that took least time.
  int64_t best = INT64_MAX;
  int64_t offset = 0;
  for (int i = 0; i < 5; i++) {
    const int64_t before = monotonic_ns();
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t after = monotonic_ns();
    if (after - before >= best) continue;
    best = after - before;
    offset = now.tv_sec * kSecondNs + now.tv_nsec - (before + after) / 2;
  }
  return offset;
}

void check_realtime_offset(int64_t offset_ns) {
  const int64_t moved_ns = realtime_offset_ns() - offset_ns;
  if (std::abs(moved_ns) > kMostDriftNs)
    throw Error("the machine's clock was set by " + std::to_string(moved_ns) +
                " ns during the trial, and packets' stamps with it");
}

int64_t quantile(const std::vector<int64_t>& sorted, double share) {
  return sorted.at(
      static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1))));
}

}  // namespace delaycc

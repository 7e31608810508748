// SPDX-License-Identifier: Apache-2.0
// The clocks of trials and of packets' stamps.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_CLOCK_H_
#define DELAYCC_HARNESS_RUNNER_HOST_CLOCK_H_

#include <cstdint>
#include <vector>

namespace delaycc {

// Of CLOCK_MONOTONIC.
void sleep_until(int64_t at_ns);
// CLOCK_REALTIME minus CLOCK_MONOTONIC, in nanoseconds.
int64_t realtime_offset_ns();
// Throws Error when that is no longer `offset_ns`, which it was: the clock of the stamps was set.
void check_realtime_offset(int64_t offset_ns);

// Of sorted values, of which there is one at least; `share` from 0 to 1.
int64_t quantile(const std::vector<int64_t>& sorted, double share);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_CLOCK_H_

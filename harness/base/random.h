// SPDX-License-Identifier: Apache-2.0
// Random numbers that are functions of their arguments alone.
#ifndef DELAYCC_HARNESS_BASE_RANDOM_H_
#define DELAYCC_HARNESS_BASE_RANDOM_H_

#include <cstdint>

namespace delaycc {

// The finaliser of splitmix64.
uint64_t mix(uint64_t x);

// Uniform in [0, 1).
double uniform_draw(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_RANDOM_H_

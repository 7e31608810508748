// SPDX-License-Identifier: Apache-2.0
//
// Random numbers and paths for the traces on which cores are held against their reference models.
#ifndef DELAYCC_TESTS_UNIT_RANDOM_PATH_H_
#define DELAYCC_TESTS_UNIT_RANDOM_PATH_H_

#include <cmath>
#include <random>

#include "dcc_cc.h"

namespace delaycc_test {

class Random {
 public:
  explicit Random(u64 seed) : rng_(seed) {}
  u64 Below(u64 n) { return rng_() % n; }
  bool OneIn(u64 n) { return Below(n) == 0; }
  Random Copy() const { return *this; }
  double Unit() { return static_cast<double>(rng_() >> 11) * 0x1p-53; }
  double LogUniform(double low, double high) { return low * std::pow(high / low, Unit()); }

 private:
  std::mt19937_64 rng_;
};

// A part of the base RTT, and often 0. Draws nothing from the trace's own numbers.
inline u32 RandomNoise(u64 seed, u32 base_rtt_ns) {
  Random random(seed);
  return random.OneIn(4) ? static_cast<u32>(random.Below(base_rtt_ns)) : 0;
}

// Half of the time a data center's.  Of the others each fourth line rate is a device's.
inline dcc_path RandomPath(Random& random) {
  dcc_path path = {100000000000, 12000, 1500, 0, 0};
  if (!random.OneIn(2)) {
    path = {static_cast<u64>(random.LogUniform(1e6, 8e11)),
            static_cast<u32>(random.LogUniform(1e3, 1e9)),
            static_cast<u32>(random.LogUniform(64, 65535)), 0, 0};
    if (path.base_rtt_ns % 4 == 0)
      path.delay_floor_ns = path.base_rtt_ns / (1 + path.base_rtt_ns % 16);
  }
  path.noise_ns = RandomNoise(random.Copy().Below(~0ULL), path.base_rtt_ns);
  return path;
}

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_UNIT_RANDOM_PATH_H_

// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

namespace delaycc {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double uniform_draw(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t bits = mix(mix(mix(mix(seed) ^ a) ^ b) ^ c);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace delaycc

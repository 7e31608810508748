// SPDX-License-Identifier: Apache-2.0
//
// TIMELY and patched TIMELY.
#include "bench_core.h"
#include "dcc_timely.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(Timely, timely);

// Segments of 1.28 ms, then one at every third ACK.
template <u32 patched>
Case<Timely> TimelyCase(const std::string& name) {
  return {name,
          [](dcc_timely_params* p) { p->patched = patched; },
          kStream,
          {6000, 17500, 1000},
          [](dcc_timely_params* p) { p->seg_bytes = 16000000; }};
}

const bool registered =
    Register(TimelyCase<0>("timely")) && Register(TimelyCase<1>("patched_timely"));

}  // namespace
}  // namespace delaycc_bench

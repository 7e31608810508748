// SPDX-License-Identifier: Apache-2.0
//
// oscar and oscar_paper.
#include "bench_core.h"
#include "dcc_oscar.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(Oscar, oscar);

template <u32 paper>
Case<Oscar> OscarCase(const std::string& name) {
  // No batch ever closes: tau is 1 s, a million packets span 0.12 s.  Then three packets a batch;
  // sent any slower, a flow would find that it pauses all the time.
  return {name,
          [](dcc_oscar_params* p) { p->paper = paper; },
          kStream,
          {240, 17500, 1000},
          [](dcc_oscar_params* p) { p->tau_ns = 1000000000; },
          [](dcc_oscar_params* p) { p->tau_ns = DCC_OSCAR_TAU_MIN_NS; }};
}

const bool registered = Register(OscarCase<0>("oscar")) && Register(OscarCase<1>("oscar_paper"));

}  // namespace
}  // namespace delaycc_bench

// SPDX-License-Identifier: Apache-2.0
//
// Four laws.
#include "bench_core.h"
#include "dcc_oscar.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(Oscar, oscar);

template <u32 law>
Case<Oscar> OscarCase(const std::string& name) {
  // No batch ever closes: tau is 1 s, a million packets span 0.12 s.  Then three packets a batch;
  // sent any slower, a flow would find that it pauses all the time.
  return {name,
          [](dcc_oscar_params* p) { p->law = law; },
          kStream,
          {240, 17500, 1000},
          [](dcc_oscar_params* p) { p->tau_ns = 1000000000; },
          [](dcc_oscar_params* p) { p->tau_ns = DCC_OSCAR_TAU_MIN_NS; }};
}

const bool registered = Register(OscarCase<DCC_OSCAR_LAW_PAPER>("oscar/paper")) &&
                        Register(OscarCase<DCC_OSCAR_LAW_AI>("oscar/ai")) &&
                        Register(OscarCase<DCC_OSCAR_LAW_TRACKER>("oscar/tracker")) &&
                        Register(OscarCase<DCC_OSCAR_LAW_PULSE>("oscar/pulse"));

}  // namespace
}  // namespace delaycc_bench

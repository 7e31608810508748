// SPDX-License-Identifier: Apache-2.0
#include "bench_core.h"
#include "dcc_sqcc.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(Sqcc, sqcc);

// Segments of 1.28 ms, then an RTT of pause before each ACK, which is enough for a decision.
const bool registered = Register(Case<Sqcc>{"sqcc",
                                            nullptr,
                                            kStream,
                                            {20000, 17500, 1000},
                                            [](dcc_sqcc_params* p) { p->seg_bytes = 16000000; },
                                            [](dcc_sqcc_params* p) { p->seg_bytes = 1000; }});

}  // namespace
}  // namespace delaycc_bench

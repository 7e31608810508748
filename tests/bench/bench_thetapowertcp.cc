// SPDX-License-Identifier: Apache-2.0
#include "bench_core.h"
#include "dcc_thetapowertcp.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(ThetaPowerTcp, thetapowertcp);

const bool registered =
    Register(Case<ThetaPowerTcp>{"thetapowertcp", nullptr, kStream, {6000, 17500, 1000}});

}  // namespace
}  // namespace delaycc_bench

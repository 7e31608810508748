// SPDX-License-Identifier: Apache-2.0
//
// Each acknowledgment moves the window; only a decrease is a decision.
#include "bench_core.h"
#include "dcc_ledbat.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(LedbatBase, ledbat);

struct Ledbat : LedbatBase {
  static bool Decides(const State& s, bool) { return s.last.branch == DCC_LEDBAT_DECREASE; }
};

// Without a queue, then with one above the target.
const bool registered =
    Register(Case<Ledbat>{"ledbat", nullptr, {120, 12000, 0, true, 150000}, {30000, 17500, 1000}});

}  // namespace
}  // namespace delaycc_bench

// SPDX-License-Identifier: Apache-2.0
//
// Each acknowledgment decides; here, those in the analytical region Ai, which take a logarithm
// more.
#include "bench_core.h"
#include "dcc_ccc.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(CccBase, ccc);

struct Ccc : CccBase {
  static bool Decides(const State& s, bool) { return s.flow.region == DCC_CCC_AI; }
};

template <u32 paper>
Case<Ccc> CccCase(const std::string& name) {
  // A steady queue of 1 us, then one that swings above the goal.
  return {
      name, [](dcc_ccc_params* p) { p->paper = paper; }, {120, 13000, 0, true}, {240, 17500, 1000}};
}

const bool registered = Register(CccCase<1>("ccc/paper")) && Register(CccCase<0>("ccc"));

}  // namespace
}  // namespace delaycc_bench

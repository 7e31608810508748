// SPDX-License-Identifier: Apache-2.0
//
// Each acknowledgment moves the window; only a decrease is a decision.
#include "bench_core.h"
#include "dcc_swift.h"

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(SwiftBase, swift);

struct Swift : SwiftBase {
  static bool Decides(const State& s, bool) { return s.last.branch == DCC_SWIFT_DECREASE; }
};

// Below the target from a window of 20 on; then every ACK an RTT after the one before.
const bool registered = Register(Case<Swift>{
    "swift", nullptr, {120, 12000, 0, true, 150000}, {30000, 17500, 1000}, [](dcc_swift_params* p) {
      p->initial_cwnd_packets = 20;
    }});

}  // namespace
}  // namespace delaycc_bench

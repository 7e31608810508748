// SPDX-License-Identifier: Apache-2.0
//
// Each acknowledgment moves the window.  Decisions are decreases in the channel, and in a second
// case (the same with LEDBAT) replies to the probes of a stopped flow that keep it stopped.
#include "bench_core.h"
#include "dcc_prioplus.h"

#ifdef DCC_PRIOPLUS_ON_LEDBAT
#define BENCH_NAME "prioplus_ledbat"
#else
#define BENCH_NAME "prioplus"
#endif

namespace delaycc_bench {
namespace {

DELAYCC_BENCH_CORE(PrioplusBase, prioplus);

struct Prioplus : PrioplusBase {
  static bool Decides(const State& s, bool decided) {
    return decided && s.last.branch == DCC_PRIOPLUS_CHANNEL && s.last.delay_ns >= s.target_ns;
  }
};

#ifndef DCC_PRIOPLUS_ON_LEDBAT
struct Stopped : PrioplusBase {
  static bool Decides(const State& s, bool decided) {
    return decided && s.last.branch == DCC_PRIOPLUS_WAIT;
  }
};
#endif

// A channel around base RTT + 6 us, with a limit of 9.6; a start without a probe.
void Set(dcc_prioplus_params* p) {
  p->channel_a_ns = 4800;
  p->channel_b_ns = 1200;
  p->high_from = 1;
}

// Below the target; then around it, every ACK an RTT after the one before.
constexpr Trace kBelow = {120, 15000, 500, true, 150000};
const bool channel =
    Register(Case<Prioplus>{BENCH_NAME, Set, kBelow, {30000, 17000, 2000, false, 150000}});
#ifndef DCC_PRIOPLUS_ON_LEDBAT
// Who starts with a probe stays stopped while the queue is long.
const bool stopped = Register(Case<Stopped>{BENCH_NAME "/stopped",
                                            Set,
                                            kBelow,
                                            {30000, 25000, 1000, false, 0, DCC_ACK_PROBE},
                                            nullptr,
                                            [](dcc_prioplus_params* p) { p->high_from = 0; }});
#endif

}  // namespace
}  // namespace delaycc_bench

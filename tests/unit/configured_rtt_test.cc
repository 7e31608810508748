// SPDX-License-Identifier: Apache-2.0
#include "configured_rtt.h"

#include "dcc_ccc.h"
#include "dcc_ledbat.h"
#include "dcc_oscar.h"
#include "dcc_prioplus.h"
#include "dcc_sqcc.h"
#include "dcc_swift.h"
#include "dcc_thetapowertcp.h"
#include "dcc_timely.h"

namespace {

CONTRACT_CORE(Ccc, dcc_ccc);
CONTRACT_CORE(Ledbat, dcc_ledbat);
CONTRACT_CORE(Oscar, dcc_oscar);
CONTRACT_CORE(PrioplusLowest, dcc_prioplus, p.priority = 0);
CONTRACT_CORE(PrioplusHighest, dcc_prioplus, p.priority = 7);
CONTRACT_CORE(Sqcc, dcc_sqcc);
CONTRACT_CORE(Swift, dcc_swift);
CONTRACT_CORE(ThetaPowerTcp, dcc_thetapowertcp);
CONTRACT_CORE(Timely, dcc_timely);

using Cores = ::testing::Types<Ccc, Ledbat, Oscar, PrioplusLowest, PrioplusHighest, Sqcc, Swift,
                               ThetaPowerTcp, Timely>;
INSTANTIATE_TYPED_TEST_SUITE_P(Core, ConfiguredRtt, Cores, NameOf);

// A channel's length does not grow with the path: of a long one a probe corrects the base RTT.
TEST(ConfiguredPrioplus, AFlowTakesALongPathInAHundredRtts) {
  constexpr u64 kGbps = 1000000000;
  for (const u64 line_bps : {25 * kGbps, 100 * kGbps})
    for (const u32 rtt_us : {25, 50, 100, 200})
      for (u32 percent = 90; percent < 100; ++percent) {
        const u32 rtt_ns = rtt_us * 1000;
        ConfiguredFlow<PrioplusLowest> flow({line_bps, rtt_ns, rtt_ns / 100 * percent});
        flow.Run(100);
        EXPECT_GE(flow.Run(50), .95)
            << line_bps / kGbps << " Gbit/s, " << rtt_us << " us, configured " << percent << " %";
      }
}

}  // namespace

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

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#define DCC_PRIOPLUS_ON_LEDBAT
#include "configured_rtt.h"

#include "dcc_prioplus.h"

namespace {

CONTRACT_CORE(PrioplusLedbatLowest, dcc_prioplus, p.priority = 0);
CONTRACT_CORE(PrioplusLedbatHighest, dcc_prioplus, p.priority = 7);

using Cores = ::testing::Types<PrioplusLedbatLowest, PrioplusLedbatHighest>;
INSTANTIATE_TYPED_TEST_SUITE_P(OnLedbat, ConfiguredRtt, Cores, NameOf);

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_prioplus.h"

namespace {

// The highest level starts without a probe and bears the longest queue.
CONTRACT_CORE(Prioplus, dcc_prioplus, p.priority = 7);
CONTRACT_CORE(PrioplusPaper, dcc_prioplus, p.paper = 1; p.priority = 7);
CONTRACT_OF(Prioplus, PrioplusPaper);

}  // namespace

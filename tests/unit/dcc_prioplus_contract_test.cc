// SPDX-License-Identifier: Apache-2.0
#include "prioplus_parameters.h"

namespace {

// The highest level starts without a probe and bears the longest queue.
CONTRACT_CORE(Prioplus, dcc_prioplus, p.priority = 7);
CONTRACT_CORE(PrioplusPaper, dcc_prioplus, p.paper = 1; p.priority = 7);
CONTRACT_OF(Prioplus, PrioplusPaper);

PRIOPLUS_PARAMETERS_OF(Prioplus, 1000, kRange);

}  // namespace

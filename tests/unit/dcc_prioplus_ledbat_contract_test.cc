// SPDX-License-Identifier: Apache-2.0
#define DCC_PRIOPLUS_ON_LEDBAT
#include "prioplus_parameters.h"

namespace {

// The highest level starts without a probe and bears the longest queue.
CONTRACT_CORE(PrioplusLedbat, dcc_prioplus, p.priority = 7);
CONTRACT_CORE(PrioplusLedbatPaper, dcc_prioplus, p.paper = 1; p.priority = 7);
CONTRACT_OF(PrioplusLedbat, PrioplusLedbatPaper);

PRIOPLUS_PARAMETERS_OF(PrioplusLedbat, 10000, kUnused);

}  // namespace

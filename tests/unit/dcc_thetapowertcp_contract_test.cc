// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_thetapowertcp.h"

namespace {

CONTRACT_CORE(ThetaPowerTcp, dcc_thetapowertcp);
CONTRACT_OF(ThetaPowerTcp);

}  // namespace

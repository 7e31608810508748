// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_thetapowertcp.h"

namespace {

CONTRACT_CORE(ThetaPowerTcp, dcc_thetapowertcp);
CONTRACT_OF(ThetaPowerTcp);

// clang-format off
PARAMETERS_OF(ThetaPowerTcp, DCC_THETAPOWERTCP_PARAMS,
  PARAMETER(gamma_ppm, 1000, 1000000, false, 900000),
  PARAMETER(beta_bytes, 1, 100000000, true, 0),
  PARAMETER(flows, 1, 1000000, false, 64),
  PARAMETER(min_current_ppm, 1000, 1000000, false, 500000));
// clang-format on

}  // namespace

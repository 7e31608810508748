// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_ccc.h"

namespace {

CONTRACT_CORE(Ccc, dcc_ccc);
CONTRACT_CORE(CccPaper, dcc_ccc, p.paper = 1);
CONTRACT_OF(Ccc, CccPaper);

// clang-format off
PARAMETERS_OF(Ccc, DCC_CCC_PARAMS,
  PARAMETER(q_b_ns, 500, 250000000, true, 0),
  PARAMETER(gamma_ppm, 0, 990000, false, 200000),
  PARAMETER(r_min_kbps, 1, 800000000, true, 0),
  PARAMETER(paper, 0, 1, false, 0, {}, kRange, false));
// clang-format on

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_sqcc.h"

namespace {

CONTRACT_CORE(Sqcc, dcc_sqcc);
CONTRACT_CORE(SqccPaper, dcc_sqcc, p.paper = 1);
CONTRACT_OF(Sqcc, SqccPaper);

// clang-format off
PARAMETERS_OF(Sqcc, DCC_SQCC_PARAMS,
  PARAMETER(alpha_ppm, 1, 1000000, false, 875000),
  PARAMETER(beta_ppm, 1, 1000000, false, 8000),
  PARAMETER(t_low_ns, 1000, 2000000000, true, 0),
  PARAMETER(t_high_ns, 1000, 2000000000, true, 0, {}, kLeastIsNever),
  PARAMETER(delta_kbps, 1, 100000000, true, 0),
  PARAMETER(min_rate_kbps, 1, 1000000, false, 1000),
  PARAMETER(start_kbps, 1, 800000000, true, 0),
  PARAMETER(seg_bytes, 1000, 16000000, false, 62500),
  PARAMETER(n_source, 0, 3, false, 0, {}, kChoice),
  PARAMETER(n_fixed, 1, 65535, false, 1,
            {[](auto& p, auto&) { p.n_source = DCC_SQCC_SOURCE_FIXED; }}),
  PARAMETER(parts, 0, 2, false, 2, {[](auto& p, auto&) { p.paper = 1; }}, kChoice),
  PARAMETER(paper, 0, 1, false, 0, {}, kRange, false));
// clang-format on

}  // namespace

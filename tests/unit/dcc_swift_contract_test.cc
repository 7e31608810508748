// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_swift.h"

namespace {

CONTRACT_CORE(Swift, dcc_swift);
CONTRACT_OF(Swift);

// clang-format off
PARAMETERS_OF(Swift, DCC_SWIFT_PARAMS,
  PARAMETER(base_target_ns, 1000, 2000000000, true, 0),
  PARAMETER(hops, 0, 64, false, 0),
  PARAMETER(hop_scale_ns, 0, 10000000, false, 1000, {[](auto& p, auto&) { p.hops = 2; }}),
  PARAMETER(flow_scaling, 0, 1, false, 1),
  PARAMETER(fs_range_ns, 100, 1000000000, true, 0),
  PARAMETER(fs_min_cwnd_milli, 1, 100000000, false, 100),
  PARAMETER(fs_max_cwnd_milli, 1, 100000000, false, 100000),
  PARAMETER(ai_milli, 1, 1000000, false, 1000),
  PARAMETER(beta_ppm, 0, 1000000, false, 800000),
  PARAMETER(max_mdf_ppm, 0, 1000000, false, 500000),
  PARAMETER(initial_cwnd_packets, 1, 1000000, true, 0),
  PARAMETER(hai_rounds, 0, 1000, false, 3));
// clang-format on

}  // namespace

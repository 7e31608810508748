// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_timely.h"

namespace {

CONTRACT_CORE(Timely, dcc_timely);
CONTRACT_CORE(PatchedTimely, dcc_timely, p.patched = 1);
CONTRACT_OF(Timely, PatchedTimely);

// clang-format off
PARAMETERS_OF(Timely, DCC_TIMELY_PARAMS,
  PARAMETER(patched, 0, 1, false, 0, {}, kRange, false),
  PARAMETER(alpha_ppm, 1, 1000000, false, 875000),
  PARAMETER(beta_ppm, 1, 1000000, true, 0),
  PARAMETER(t_low_ns, 1000, 2000000000, false, 50000),
  PARAMETER(t_high_ns, 1000, 2000000000, false, 500000,
            {[](auto&, auto& path) { path.base_rtt_ns = 60000; }}),
  PARAMETER(rtt_ref_ns, 1000, 2000000000, true, 0, {[](auto& p, auto&) { p.patched = 1; }}),
  PARAMETER(delta_kbps, 1, 100000000, false, 10000),
  PARAMETER(hai_events, 1, 1000, true, 5, {[](auto& p, auto&) { p.seg_bytes = 1000; }}),
  PARAMETER(min_rate_kbps, 1, 1000000, false, 1000,
            {[](auto&, auto& path) { path.base_rtt_ns = 100000000; }}),
  PARAMETER(start_kbps, 1, 800000000, true, 0, {[](auto& p, auto&) { p.patched = 1; }}),
  PARAMETER(seg_bytes, 1000, 16000000, false, 64000));
// clang-format on

}  // namespace

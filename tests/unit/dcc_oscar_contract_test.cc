// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_oscar.h"

namespace {

CONTRACT_CORE(Oscar, dcc_oscar);
CONTRACT_CORE(OscarPaper, dcc_oscar, p.paper = 1);
CONTRACT_OF(Oscar, OscarPaper);

// The shortest target queue is not taken for a shorter one where the base RTT is short, too.
// clang-format off
PARAMETERS_OF(Oscar, DCC_OSCAR_PARAMS,
  PARAMETER(target_delay_ns, 2000, 2000000000, true, 0,
            {[](auto&, auto&) {}, [](auto&, auto& path) { path.base_rtt_ns = 1000; }}),
  PARAMETER(target_queue_ns, 500, 1000000000, true, 0,
            {[](auto&, auto&) {}, [](auto&, auto& path) { path.base_rtt_ns = 1000; }}),
  PARAMETER(tau_ns, 500, 1000000000, true, 0),
  PARAMETER(u_ai_ppm, 0, 100000, false, 1000),
  PARAMETER(flow_scaling_ppm, 0, 750000, false, 0),
  PARAMETER(u_hai_ppm, 1, 1000000, false, 10000, {[](auto& p, auto&) { p.paper = 1; }}),
  PARAMETER(paper, 0, 1, false, 0, {}, kRange, false));
// clang-format on

}  // namespace

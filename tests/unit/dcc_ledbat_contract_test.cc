// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_ledbat.h"

namespace {

CONTRACT_CORE(Ledbat, dcc_ledbat);
CONTRACT_OF(Ledbat);

// clang-format off
PARAMETERS_OF(Ledbat, DCC_LEDBAT_PARAMS,
  PARAMETER(target_ns, 1000, 100000000, true, 0),
  PARAMETER(gain_milli, 1, 1000000, false, 1000),
  PARAMETER(allowed_increase_packets, 1, 1000000, false, 1),
  PARAMETER(min_cwnd_milli, 4, 1000000, false, 10),
  PARAMETER(initial_cwnd_packets, 1, 1000000, true, 0),
  PARAMETER(filter_samples, 1, 8, false, 4),
  PARAMETER(base_history, 1, 10, true, 0));
// clang-format on

}  // namespace

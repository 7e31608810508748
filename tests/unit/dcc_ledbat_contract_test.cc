// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_ledbat.h"

namespace {

CONTRACT_CORE(Ledbat, dcc_ledbat);
CONTRACT_OF(Ledbat);

}  // namespace

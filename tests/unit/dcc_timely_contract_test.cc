// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_timely.h"

namespace {

CONTRACT_CORE(Timely, dcc_timely);
CONTRACT_CORE(PatchedTimely, dcc_timely, p.patched = 1);
CONTRACT_OF(Timely, PatchedTimely);

}  // namespace

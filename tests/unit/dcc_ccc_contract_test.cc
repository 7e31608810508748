// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_ccc.h"

namespace {

CONTRACT_CORE(Ccc, dcc_ccc);
CONTRACT_CORE(CccPaper, dcc_ccc, p.features = 0);
CONTRACT_OF(Ccc, CccPaper);

}  // namespace

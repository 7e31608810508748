// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_sqcc.h"

namespace {

CONTRACT_CORE(Sqcc, dcc_sqcc);
CONTRACT_CORE(SqccPaper, dcc_sqcc, p.paper = 1);
CONTRACT_OF(Sqcc, SqccPaper);

}  // namespace

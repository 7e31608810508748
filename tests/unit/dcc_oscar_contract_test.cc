// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_oscar.h"

namespace {

CONTRACT_CORE(Oscar, dcc_oscar);
CONTRACT_CORE(OscarPaper, dcc_oscar, p.paper = 1);
CONTRACT_OF(Oscar, OscarPaper);

}  // namespace

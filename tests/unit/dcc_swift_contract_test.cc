// SPDX-License-Identifier: Apache-2.0
#include "core_contract.h"
#include "dcc_swift.h"

namespace {

CONTRACT_CORE(Swift, dcc_swift);
CONTRACT_OF(Swift);

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#define PRIOPLUS_SUITE PrioplusAgainstReference
#include "prioplus_property.h"

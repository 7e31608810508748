// SPDX-License-Identifier: Apache-2.0
#define PRIOPLUS_SUITE PrioplusAgainstTwin
#include "prioplus_property.h"

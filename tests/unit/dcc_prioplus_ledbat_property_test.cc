// SPDX-License-Identifier: Apache-2.0
#define DCC_PRIOPLUS_ON_LEDBAT
#define PRIOPLUS_SUITE PrioplusOnLedbatAgainstReference
#include "prioplus_property.h"

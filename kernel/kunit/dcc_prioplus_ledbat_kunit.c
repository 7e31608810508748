// SPDX-License-Identifier: GPL-2.0
/* The contract of the cores, for PrioPlus on LEDBAT: the same names as PrioPlus's. */
#define DCC_PRIOPLUS_ON_LEDBAT
#include "core/dcc_prioplus.h"
#include "kunit/dcc_core_kunit.h"

#define CORE dcc_prioplus
#define CORE_SUITE prioplus_ledbat
#define CORE_SETUP(p) ((p).priority = 7)
#include "kunit/dcc_core_cases.h"

kunit_test_suite(prioplus_ledbat_suite);

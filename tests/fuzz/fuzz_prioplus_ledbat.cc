// SPDX-License-Identifier: Apache-2.0
//
// As fuzz_prioplus.cc, on LEDBAT.
#define DCC_PRIOPLUS_ON_LEDBAT
#include "fuzz_prioplus.cc"

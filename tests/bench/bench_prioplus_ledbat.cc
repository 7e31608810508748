// SPDX-License-Identifier: Apache-2.0
//
// As bench_prioplus.cc, on LEDBAT.
#define DCC_PRIOPLUS_ON_LEDBAT
#include "bench_prioplus.cc"

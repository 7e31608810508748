// SPDX-License-Identifier: GPL-2.0
/*
 * PrioPlus on LEDBAT: tcp_prioplus.c with the other base core, under a name and
 * with sysctls of its own.  `prioledb_paper` is the paper's listing on LEDBAT:
 * TCP has 15 characters for a name.
 */
#define DCC_PRIOPLUS_ON_LEDBAT
#define DELAYCC_ALG prioplus_ledbat
#define PRIOPLUS_NAMES { "prioplus_ledbat", "prioledb_paper" }
#define PRIOPLUS_RENO "prioledbat-reno"
#include "tcp_prioplus.c"

MODULE_DESCRIPTION("PrioPlus congestion control, on LEDBAT");
MODULE_ALIAS("tcp_prioledb_paper");

// SPDX-License-Identifier: GPL-2.0
/*
 * PrioPlus on LEDBAT under BPF: prioplus.bpf.c with the other base core.
 */
#define DCC_PRIOPLUS_ON_LEDBAT
#define DELAYCC_ALG prioplus_ledbat
#define DELAYCC_BPF_NAME "bpf_prioledbat"
#include "prioplus.bpf.c"

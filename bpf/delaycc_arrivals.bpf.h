/* SPDX-License-Identifier: GPL-2.0 */
/* The map of arrivals: one, that the loader shares between all programs that have it. */
#ifndef DELAYCC_ARRIVALS_BPF_H
#define DELAYCC_ARRIVALS_BPF_H

#include "delaycc_bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct dcc_arrival);
} dcc_arrivals SEC(".maps");

#endif /* DELAYCC_ARRIVALS_BPF_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inputs and results that hold for every compiler of the cores: the KUnit suites
 * and the unit tests in user space (tests/unit) both go through them.
 */
#ifndef DCC_VECTORS_H
#define DCC_VECTORS_H

#include "core/dcc_types.h"

/* dcc_muldiv_u64(a, b, d): a * b / d, saturated; 2^64 - 1 for d = 0. */
struct dcc_muldiv_vector {
	u64 a, b, d, result;
};

static const struct dcc_muldiv_vector dcc_muldiv_vectors[] = {
	{ 0, 0, 0, 0xffffffffffffffffULL },
	{ 7, 6, 5, 8 },
	{ 12000, 100000000000ULL, 8000000000ULL, 150000 },
	{ 0xffffffffULL, 0xffffffffULL, 0xffffffffULL, 0xffffffffULL },
	{ 0xffffffffffffffffULL, 0xffffffffffffffffULL, 0xffffffffffffffffULL,
	  0xffffffffffffffffULL },
	{ 0xffffffffffffffffULL, 3, 2, 0xffffffffffffffffULL },
	{ 0x8000000000000001ULL, 0x8000000000000001ULL, 0xfffffffffffffffbULL,
	  0x4000000000000002ULL },
	{ 0x123456789abcdefULL, 0xfedcba987654321ULL, 0x1000000000000000ULL, 0x121fa00ad77d742ULL },
};

/* dcc_option_flows(area, len): what a TCP option area says. */
struct dcc_option_vector {
	u8 len;
	u8 area[40];
	u32 flows;
};

static const struct dcc_option_vector dcc_option_vectors[] = {
	{ 0, { 0 }, 0 },
	{ 8, { 254, 8, 0xdc, 0xc0, 0, 0x12, 0x34, 0x56 }, 0x123456 },
	{ 12, { 1, 1, 1, 1, 254, 8, 0xdc, 0xc0, 0, 0, 0, 7 }, 7 },
	/* Another version, another length, another experiment, and no room for N. */
	{ 8, { 254, 8, 0xdc, 0xc0, 1, 0, 0, 7 }, 0 },
	{ 12, { 254, 12, 0xdc, 0xc0, 0, 0, 0, 7, 0, 0, 0, 0 }, 0 },
	{ 8, { 254, 8, 0xf9, 0x89, 0, 0, 0, 7 }, 0 },
	{ 7, { 254, 8, 0xdc, 0xc0, 0, 0, 0 }, 0 },
	/* Twice, behind the end of the list, and beside a length that does not fit. */
	{ 16, { 254, 8, 0xdc, 0xc0, 0, 0, 0, 7, 254, 8, 0xdc, 0xc0, 0, 0, 0, 7 }, 0 },
	{ 12, { 0, 1, 1, 1, 254, 8, 0xdc, 0xc0, 0, 0, 0, 7 }, 0 },
	{ 12, { 254, 8, 0xdc, 0xc0, 0, 0, 0, 7, 5, 10, 1, 1 }, 0 },
	{ 12, { 254, 8, 0xdc, 0xc0, 0, 0, 0, 7, 5, 0, 1, 1 }, 0 },
};

#endif /* DCC_VECTORS_H */

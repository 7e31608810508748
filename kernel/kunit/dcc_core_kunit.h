/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites of all cores share. */
#ifndef DCC_CORE_KUNIT_H
#define DCC_CORE_KUNIT_H

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/stringify.h>
#include <linux/time64.h>

#include "core/dcc_cc.h"
#include "core/dcc_math.h"

#define KUNIT_BASE_NS 12000U
#define KUNIT_PACKET_NS 120ULL

static const struct dcc_path kunit_path = {
	.line_rate_bps = 100000000000ULL,
	.base_rtt_ns = KUNIT_BASE_NS,
	.wire_bytes = 1500,
};

/* The bounds of dcc_control, and none so large that the glue's arithmetic overflows. */
static inline bool kunit_in_bounds(const struct dcc_control *control,
				   const struct dcc_path *path)
{
	return control->cwnd_q16 && control->cwnd_q16 < 1ULL << 50 &&
	       control->pacing_bps >= 1000 &&
	       control->pacing_bps <= 2 * path->line_rate_bps &&
	       control->probe_ns < 1000 * NSEC_PER_SEC;
}

/* What window and pace allow within a base RTT, in 1/65536 packets; nothing for a stopped flow. */
static inline u64 kunit_packets_q16(const struct dcc_control *control,
				    const struct dcc_path *path)
{
	u64 paced = dcc_muldiv_u64(control->pacing_bps,
				   (u64)path->base_rtt_ns << DCC_WINDOW_SHIFT,
				   8 * NSEC_PER_SEC * path->wire_bytes);

	return control->probe_ns ? 0 : min(control->cwnd_q16, paced);
}

#endif /* DCC_CORE_KUNIT_H */

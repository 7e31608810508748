// SPDX-License-Identifier: GPL-2.0
/*
 * Swift: the window that holds the delay at a target which grows as the window
 * gets smaller (SIGCOMM 2020), as one to compare with.
 *
 * Reference
 *   Gautam Kumar et al., "Swift: Delay is Simple and Effective for
 *   Congestion Control in the Datacenter", ACM SIGCOMM 2020
 *
 * Where what is
 *   core/dcc_swift.h	the law, its constants and its differences from the
 *			paper; no kernel in it
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#define DELAYCC_ALG swift

#include "core/dcc_swift.h"
#include "glue/delaycc.h"

#define SWIFT_PARAM(field, min, max, zero_ok)                                  \
	DELAYCC_PARAM(struct dcc_swift_params, field, min, max, zero_ok)

static const struct delaycc_param swift_sysctls[] = {
	SWIFT_PARAM(base_target_ns, DCC_SWIFT_TARGET_MIN_NS,
		    DCC_SWIFT_TARGET_MAX_NS, true),
	SWIFT_PARAM(hops, 0, DCC_SWIFT_HOPS_MAX, true),
	SWIFT_PARAM(hop_scale_ns, 0, DCC_SWIFT_HOP_MAX_NS, true),
	SWIFT_PARAM(flow_scaling, 0, 1, true),
	SWIFT_PARAM(fs_range_ns, DCC_SWIFT_FS_RANGE_MIN_NS,
		    DCC_SWIFT_FS_RANGE_MAX_NS, true),
	SWIFT_PARAM(fs_min_cwnd_milli, DCC_SWIFT_FS_CWND_MIN_MILLI,
		    DCC_SWIFT_FS_CWND_MAX_MILLI, false),
	SWIFT_PARAM(fs_max_cwnd_milli, DCC_SWIFT_FS_CWND_MIN_MILLI,
		    DCC_SWIFT_FS_CWND_MAX_MILLI, false),
	SWIFT_PARAM(ai_milli, DCC_SWIFT_AI_MIN_MILLI, DCC_SWIFT_AI_MAX_MILLI,
		    false),
	SWIFT_PARAM(beta_ppm, 0, DCC_SWIFT_PPM_MAX, true),
	SWIFT_PARAM(max_mdf_ppm, 0, DCC_SWIFT_PPM_MAX, true),
	SWIFT_PARAM(initial_cwnd_packets, 1, DCC_SWIFT_INITIAL_MAX_PACKETS,
		    true),
};

static const struct delaycc_options swift_options = {
	.names = { "swift" },
	.reno = "swift-reno",
};

static void swift_adjust(const struct sock *sk, unsigned int variant,
			 struct dcc_swift_params *params)
{
}

static void swift_describe(const struct dcc_swift *core,
			   struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->branch = core->last.branch;
	d->detail = core->last.target_ns;
	/* The window over a base BDP: the pace is the line's. */
	d->ratio_ppm = dcc_q24_to_ppm(dcc_ratio_q24(core->cwnd_q24,
						    core->bdp_q24));
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("Swift congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);

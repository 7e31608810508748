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
	DELAYCC_PARAM(struct dcc_swift_params, field, min, max, zero_ok),

static const struct delaycc_param swift_sysctls[] = {
	DCC_SWIFT_PARAMS(SWIFT_PARAM)
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

// SPDX-License-Identifier: GPL-2.0
/*
 * CCC: congestion control that judges from the delay itself whether the delay
 * can be trusted.
 *
 * Reference
 *   Wanchun Jiang et al., "CCC: Re-architecting Delay-based Congestion
 *   Control in Datacenter Networks", USENIX NSDI 2026
 *
 * One module, two algorithms with the same parameters: `ccc`, and `ccc_paper`,
 * the paper's rules alone.
 *
 * What it does
 *   Queueing delay q and its change q_v are a point in a plane.  A curve through
 *   the goal (q_B, 0) separates "send more" from "send less"; where the point
 *   lies says how.  Close to the goal the delay tells the truth and the flow
 *   computes its step; where the link may be idle, or the queue so long that
 *   its delay is old news, the flow probes with steps that fade out towards the
 *   goal.  A reference rate that follows from q alone, and is thus the same for
 *   all flows of a queue, makes them equal.
 *
 * Where what is
 *   core/dcc_ccc.h	the law, its constants and its differences from the
 *			paper; no kernel in it
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#define DELAYCC_ALG ccc

#include "core/dcc_ccc.h"
#include "glue/delaycc.h"

#define CCC_PARAM(field, min, max, zero_ok)                                    \
	DELAYCC_PARAM(struct dcc_ccc_params, field, min, max, zero_ok),

static const struct delaycc_param ccc_sysctls[] = {
	DCC_CCC_PARAMS(CCC_PARAM)
};

static const struct delaycc_options ccc_options = {
	.names = { "ccc", "ccc_paper" },
	.reno = "ccc-reno",
	/* After an incast that overflows the buffer a flow's first packets are retransmissions. */
	.times_retrans = true,
};

static void ccc_adjust(const struct sock *sk, unsigned int variant,
		       struct dcc_ccc_params *params)
{
	params->paper = variant;
}

static void ccc_describe(const struct dcc_ccc *core,
			 struct delaycc_decision *d)
{
	d->delay_ns = core->flow.q_ns;
	d->gradient_q16 = core->flow.gradient_q16;
	d->branch = core->flow.region;
	/* The basis S in bit/s. */
	d->detail = dcc_scale_q30(core->scale.path.line_rate_bps,
				  core->flow.basis_q30);
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("CCC congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);
MODULE_ALIAS("tcp_ccc_paper");

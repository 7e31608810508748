// SPDX-License-Identifier: GPL-2.0
/*
 * OSCAR: congestion control from the RTTs of a flow's own packets and from how
 * fast they change.
 *
 * One module, two algorithms with the same parameters: `oscar`, and
 * `oscar_paper`, which is the paper's listing to the letter.  u_hai_ppm is
 * oscar_paper's alone.
 *
 * Reference
 *   Zhaochen Zhang et al., "OSCAR: O(1)-Step Convergence And
 *   Readily-deployable Congestion Control", USENIX NSDI 2026
 *
 * What it does
 *   In a datacenter the base RTT and the line rate are known.  The delay of a
 *   flow's packets then says how long the queue is; the slope of the delay over
 *   the packets' send times (the gradient) says how much faster than the link's
 *   rate all flows together are sending at this moment: a queue that grows by
 *   9 seconds per second is fed at ten times its rate.  A flow that multiplies
 *   its rate by 1 / (1 + gradient) is right after a single round trip, where an
 *   algorithm that sees only the delay has to search.
 *
 *   One number steers a flow: the ratio u of its rate to the line rate.  u = 1
 *   is the start.  Each batch of about half a base RTT of packets gives a mean
 *   delay and a gradient.  Two loops turn them into a new u, one that holds the
 *   window to the target delay (exact, slow) and one that holds the rate to the
 *   gradient (fast); the larger step towards the target wins.  A small constant
 *   u_ai on top makes shares equal.  An empty queue carries no signal: there
 *   `oscar` sends a short rate probe, and `oscar_paper` grows by u_hai.  Window
 *   and pace both follow from u: min(u * target delay, base RTT) * line rate,
 *   and u * line rate.
 *
 * Where what is
 *   core/dcc_oscar.h	the control law, a table beside the paper's listing,
 *			and all differences; core/oscar/ its parts; no kernel
 *			in it
 *   core/oscar/batch.h	the estimator
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#define DELAYCC_ALG oscar

#include "core/dcc_oscar.h"
#include "glue/delaycc.h"

#define OSCAR_PARAM(field, min, max, zero_ok)                                  \
	DELAYCC_PARAM(struct dcc_oscar_params, field, min, max, zero_ok),

static const struct delaycc_param oscar_sysctls[] = {
	DCC_OSCAR_PARAMS(OSCAR_PARAM)
};

static const struct delaycc_options oscar_options = {
	.names = { "oscar", "oscar_paper" },
	.reno = "oscar-reno",
};

static void oscar_adjust(const struct sock *sk, unsigned int variant,
			 struct dcc_oscar_params *params)
{
	params->paper = variant;
}

static void oscar_describe(const struct dcc_oscar *core,
			   struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->gradient_q16 = core->last.gradient_q16;
	d->branch = core->last.branch;
	d->ratio_ppm = dcc_q24_to_ppm(core->u_q24);
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("OSCAR congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);
MODULE_ALIAS("tcp_oscar_paper");

// SPDX-License-Identifier: GPL-2.0
/*
 * OSCAR: congestion control from the one-way view of a queue that a flow gets
 * from its own delays, and from how fast they change.
 *
 * What it does
 *   In a datacenter the base RTT and the line rate are known.  The delay of a
 *   flow's packets then says how long the queue is; the slope of the delay over
 *   the packets' send times (the gradient) says how much faster than the link's
 *   share all flows together are sending at this moment: a queue that grows by
 *   9 seconds per second is fed at ten times its rate.  A flow that multiplies
 *   its rate by 1 / (1 + gradient) is right after a single round trip, where a
 *   law that sees only the delay has to feel its way.
 *
 *   One number steers a flow: the ratio u of its rate to the line rate.  u = 1
 *   is the start.  Each batch of about half a base RTT of packets gives a mean
 *   delay and a gradient.  With an empty queue u climbs by u_hai; else u comes
 *   from two loops, one that holds the window to target delay (exact, slow) and
 *   one that holds the rate to the gradient (fast), whichever is bolder towards
 *   the target; and u_ai on top keeps flows moving to equal shares.  Window and
 *   pace both follow from u: u base BDPs at most, and u line rates.
 *
 * Where what is
 *   core/dcc_oscar.h	the law, its constants and its differences from the
 *			paper; no kernel in it
 *   core/dcc_batch.h	the estimator
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   delaycc_shell.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#include "core/dcc_oscar.h"
#include "delaycc.h"

#define OSCAR_PARAM(field, min, max, zero_ok)                                  \
	DELAYCC_PARAM(struct dcc_oscar_params, field, min, max, zero_ok)

static const struct delaycc_param shell_params[] = {
	OSCAR_PARAM(target_delay_ns, DCC_OSCAR_TARGET_MIN_NS,
		    DCC_OSCAR_TARGET_MAX_NS, true),
	OSCAR_PARAM(target_queue_ns, DCC_OSCAR_QUEUE_MIN_NS,
		    DCC_OSCAR_QUEUE_MAX_NS, true),
	OSCAR_PARAM(tau_ns, DCC_OSCAR_TAU_MIN_NS, DCC_OSCAR_TAU_MAX_NS, true),
	OSCAR_PARAM(u_ai_ppm, 0, DCC_OSCAR_U_AI_MAX_PPM, true),
	OSCAR_PARAM(u_hai_ppm, 1, DCC_OSCAR_U_HAI_MAX_PPM, true),
	OSCAR_PARAM(law, 0, DCC_OSCAR_LAW_MAX, true),
};

static void shell_describe(const struct dcc_oscar *core,
			   struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->gradient_q16 = core->last.gradient_q16;
	d->branch = core->last.branch;
	d->ratio_ppm = dcc_q24_to_ppm(core->u_q24);
}

#define DELAYCC_ALG oscar
#include "delaycc_shell.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("OSCAR congestion control");
MODULE_LICENSE("GPL");

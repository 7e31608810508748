// SPDX-License-Identifier: GPL-2.0
/*
 * SQCC: a queue that stays short and still, however many flows make it.
 *
 * Reference
 *   Jian Tang, Tingting Xu, Liming Wang, Zhenjie Lin et al., "SQCC: Stable
 *   Queue Congestion Control"
 *
 * One module, two algorithms with the same parameters: `sqcc`, and `sqcc_paper`,
 * whose N sets T_low and delta by the paper's equation 25.
 *
 * What it does
 *   The number N of flows at the receiver sets how fast a flow may grow and
 *   where the RTT is to stand; an error function that goes to infinity towards
 *   T_high keeps it there.  N is the receiver's count, which comes with its
 *   acknowledgments, or what the RTT itself says of it: a higher queue for more
 *   flows.  Each is held against the other.
 *
 * Where what is
 *   core/dcc_sqcc.h	the law, its rules for N, differences from the paper
 *   core/dcc_rate.h	gradient, weight, interval: what TIMELY has as well
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#define DELAYCC_ALG sqcc

#include "core/dcc_sqcc.h"
#include "glue/delaycc.h"

#define SQCC_PARAM(field, min, max, zero_ok)                                   \
	DELAYCC_PARAM(struct dcc_sqcc_params, field, min, max, zero_ok),

static const struct delaycc_param sqcc_sysctls[] = {
	DCC_SQCC_PARAMS(SQCC_PARAM)
};

static const struct delaycc_options sqcc_options = {
	.names = { "sqcc", "sqcc_paper" },
	.reno = "sqcc-reno",
	.shows_flows = true,
	.wants_flows = true,
};

static void sqcc_adjust(const struct sock *sk, unsigned int variant,
			struct dcc_sqcc_params *params)
{
	params->paper = variant;
}

static void sqcc_describe(const struct dcc_sqcc *core,
			  struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->gradient_q16 = core->last.gradient_q16;
	d->branch = core->last.branch;
	d->flows = core->last.flows;
	d->flows_reported = core->last.reported;
	d->detail = core->last.estimated;
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("SQCC congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);
MODULE_ALIAS("tcp_sqcc_paper");

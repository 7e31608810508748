// SPDX-License-Identifier: GPL-2.0
/*
 * TIMELY and patched TIMELY: congestion control from the RTT's gradient.
 *
 * One module, two algorithms, `timely` and `patched_timely`, with the same
 * parameters; where a default differs, the parameter is 0.
 *
 * Reference
 *   Radhika Mittal et al., "TIMELY: RTT-based Congestion Control for the
 *   Datacenter", ACM SIGCOMM 2015
 *   Yibo Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN
 *   and TIMELY", ACM CoNEXT 2016 (patched TIMELY)
 *
 * What it does
 *   A flow's rate is decided upon once per segment of 64 KB.  Below T_low it
 *   grows, above T_high it falls; between them TIMELY follows the sign of the
 *   gradient, and the patch weighs a pull towards a reference RTT against a
 *   constant growth, with the gradient as the weight.  The window leaves twice
 *   the room that rate and RTT need: these are rate laws, and the pace limits.
 *
 * Where what is
 *   core/dcc_timely.h	both laws, their constants, differences from the papers
 *   core/dcc_rate.h	gradient, weight, interval: what SQCC has as well
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#define DELAYCC_ALG timely

#include "core/dcc_timely.h"
#include "glue/delaycc.h"

#define TIMELY_PARAM(field, min, max, zero_ok)                                 \
	DELAYCC_PARAM(struct dcc_timely_params, field, min, max, zero_ok),

static const struct delaycc_param timely_sysctls[] = {
	DCC_TIMELY_PARAMS(TIMELY_PARAM)
};

static const struct delaycc_options timely_options = {
	.names = { "timely", "patched_timely" },
	.reno = "timely-reno",
};

static void timely_adjust(const struct sock *sk, unsigned int variant,
			  struct dcc_timely_params *params)
{
	params->patched = variant;
}

static void timely_describe(const struct dcc_timely *core,
			    struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->gradient_q16 = core->last.gradient_q16;
	d->branch = core->last.branch;
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("TIMELY and patched TIMELY congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);
MODULE_ALIAS("tcp_patched_timely");

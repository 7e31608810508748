// SPDX-License-Identifier: GPL-2.0
/*
 * LEDBAT: background traffic that steps back behind any other (RFC 6817), with
 * the round trip as the delay and a target for datacenters.
 *
 * Reference
 *   S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind, "Low Extra Delay
 *   Background Transport (LEDBAT)", RFC 6817, 2012
 *
 * Where what is
 *   core/dcc_ledbat.h	the law, its constants and its differences from the
 *			RFC; no kernel in it
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters and what the tracepoint shows
 */
#define DELAYCC_ALG ledbat

#include "core/dcc_ledbat.h"
#include "glue/delaycc.h"

#define LEDBAT_PARAM(field, min, max, zero_ok)                                 \
	DELAYCC_PARAM(struct dcc_ledbat_params, field, min, max, zero_ok),

static const struct delaycc_param ledbat_sysctls[] = {
	DCC_LEDBAT_PARAMS(LEDBAT_PARAM)
};

static const struct delaycc_options ledbat_options = {
	.names = { "ledbat" },
	.reno = "ledbat-reno",
};

static void ledbat_adjust(const struct sock *sk, unsigned int variant,
			  struct dcc_ledbat_params *params)
{
}

static void ledbat_describe(const struct dcc_ledbat *core,
			    struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->branch = core->last.branch;
	d->detail = core->last.queue_ns;
	/* The window over a base BDP: the pace is the line's. */
	d->ratio_ppm = dcc_q24_to_ppm(dcc_ratio_q24(core->cwnd_q24,
						    core->bdp_q24));
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("LEDBAT congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);

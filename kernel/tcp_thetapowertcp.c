// SPDX-License-Identifier: GPL-2.0
/*
 * theta-PowerTCP: a window from the power of the delay signal, which is the
 * delay times its own slope (NSDI 2022), as one to compare with.
 *
 * Reference
 *   Vamsi Addanki, Oliver Michel, Stefan Schmid, "PowerTCP: Pushing the
 *   Performance Limits of Datacenter Networks", USENIX NSDI 2022
 *
 * Where what is
 *   core/dcc_thetapowertcp.h	the law, its constants and its differences from the
 *				paper; no kernel in it
 *   delaycc_sock.c		send times in nanoseconds, packets to bytes on the
 *				wire, pacing, windows below a packet
 *   delaycc_hooks.h		TCP's hooks, and what a paper leaves to an
 *				implementation
 *   this file			parameters and what the tracepoint shows
 */
#define DELAYCC_ALG thetapowertcp

#include "core/dcc_thetapowertcp.h"
#include "glue/delaycc.h"

#define THETA_PARAM(field, min, max, zero_ok)                                  \
	DELAYCC_PARAM(struct dcc_thetapowertcp_params, field, min, max, zero_ok),

static const struct delaycc_param thetapowertcp_sysctls[] = {
	DCC_THETAPOWERTCP_PARAMS(THETA_PARAM)
};

static const struct delaycc_options thetapowertcp_options = {
	.names = { "thetapowertcp" },
	.reno = "thetapower-reno",
};

static void thetapowertcp_adjust(const struct sock *sk, unsigned int variant,
				 struct dcc_thetapowertcp_params *params)
{
}

static void thetapowertcp_describe(const struct dcc_thetapowertcp *core,
				   struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->gradient_q16 = core->last.gradient_q16;
	d->branch = core->last.branch;
	/* In millionths; < 2^39 * 2^20. */
	d->detail = (core->last.power_q24 * 1000000) >> DCC_RATIO_SHIFT;
}

#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("theta-PowerTCP congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);

// SPDX-License-Identifier: GPL-2.0
/*
 * PrioPlus: priorities in one queue (EuroSys 2025), on Swift.  Who has a lower
 * priority stops as soon as a higher one fills its range of delays, and only
 * probes until the queue is gone.
 *
 * One module, two algorithms with the same parameters: `prioplus`, and
 * `prioplus_paper`, which is the paper's listing.
 *
 * Reference
 *   Zhaochen Zhang et al., "Enabling Virtual Priority in Data Center
 *   Congestion Control", ACM EuroSys 2025
 *
 * Where what is
 *   core/dcc_prioplus.h	the law, its constants and its differences from the
 *			paper; no kernel in it
 *   delaycc_probe.c	stopping, probing, the probe's reply
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   delaycc_hooks.h	TCP's hooks, and what a paper leaves to an implementation
 *   this file		parameters, the socket's priority, and what the
 *			tracepoint shows
 *   tcp_prioplus_ledbat.c	the same on LEDBAT
 *
 * The priority is the socket's (SO_PRIORITY), so applications can set it, and a
 * BPF program can for a cgroup (bpf/cgroup.bpf.c); the kernel's own rule holds
 * that a process needs CAP_NET_ADMIN for values above 6.
 */
#ifndef DCC_PRIOPLUS_ON_LEDBAT
#define DELAYCC_ALG prioplus
#define PRIOPLUS_NAMES { "prioplus", "prioplus_paper" }
#define PRIOPLUS_RENO "prioplus-reno"
#endif

#include <linux/random.h>

#include "core/dcc_prioplus.h"
#include "glue/delaycc.h"

#define PRIOPLUS_PARAM(field, min, max, zero_ok)                               \
	DELAYCC_PARAM(struct dcc_prioplus_params, field, min, max, zero_ok),

static const struct delaycc_param DCC_HOOK(sysctls)[] = {
	DCC_PRIOPLUS_PARAMS(PRIOPLUS_PARAM)
};

static const struct delaycc_options DCC_HOOK(options) = {
	.names = PRIOPLUS_NAMES,
	.reno = PRIOPLUS_RENO,
	.probes = true,
	.by_priority = true,
	.shows_flows = true,
};

static void DCC_HOOK(adjust)(const struct sock *sk, unsigned int variant,
			     struct dcc_prioplus_params *params)
{
	params->paper = variant;
	params->priority = READ_ONCE(sk->sk_priority);
	/* The core reads the seed once. */
	params->seed = get_random_u32();
}

static void DCC_HOOK(describe)(const struct dcc_prioplus *core,
			       struct delaycc_decision *d)
{
	d->delay_ns = core->last.delay_ns;
	d->branch = core->last.branch;
	d->detail = core->target_ns;
	d->flows = core->flow.flows_q8 / DCC_PRIOPLUS_FLOWS_ONE;
	/* The window over a base BDP: the pace is the line's. */
	d->ratio_ppm = dcc_q24_to_ppm(dcc_ratio_q24(core->flow.cwnd_q24,
						    core->bdp_q24));
}

#define DELAYCC_CORE_NAME prioplus
#include "glue/delaycc_hooks.h"

MODULE_AUTHOR("The delaycc authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);
#ifndef DCC_PRIOPLUS_ON_LEDBAT
MODULE_DESCRIPTION("PrioPlus congestion control, on Swift");
MODULE_ALIAS("tcp_prioplus_paper");
#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * delaycc.ko: what the delay-based congestion control modules share.
 *
 * This file has the module itself: the namespaces' common parameters and the
 * tracepoint.  delaycc_sock.c serves one socket, delaycc_probe.c stops one and
 * probes, delaycc_paths.c has the base RTTs of paths that are configured,
 * delaycc_memory.c those that are learnt, delaycc_devices.c the devices' speeds,
 * delaycc_sysctl.c makes tables of parameters.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/user_namespace.h>
#include <net/netns/generic.h>

#include "delaycc.h"
#define CREATE_TRACE_POINTS
#include "delaycc_trace.h"

static const struct delaycc_param delaycc_params[DELAYCC_PARAMS] = {
	/* 800 Gbit/s is the fastest link that the cores' arithmetic is made for. */
	[DELAYCC_LINE_RATE_MBPS] = {
		.name = "line_rate_mbps",
		.min = 1, .max = 800000, .zero_ok = true,
	},
	[DELAYCC_BASE_RTT_NS] = {
		.name = "base_rtt_ns",
		.min = DCC_PATH_RTT_MIN_NS, .max = DCC_PATH_RTT_MAX_NS,
		.zero_ok = true,
	},
	/*
	 * An Ethernet header, as qdiscs count it.  On real Ethernet a packet
	 * also takes FCS, preamble and gap: 38.
	 */
	[DELAYCC_LINK_OVERHEAD_BYTES] = {
		.name = "link_overhead_bytes",
		.def = 14, .max = 128, .zero_ok = true,
	},
	/*
	 * 8 packets of 1500 bytes are 1 us at 100 Gbit/s and 10 us at 10: a
	 * fraction of the base RTT, so that the queue stays readable, and still
	 * an eighth of the work of single packets.
	 */
	[DELAYCC_MAX_TSO_SEGS] = {
		.name = "max_tso_segs",
		.def = 8, .min = 1, .max = 65535, .zero_ok = true,
	},
	/*
	 * Half a million probes a second, with their replies, are most of what
	 * one processor can do.
	 */
	[DELAYCC_PROBE_GAP_NS] = {
		.name = "probe_gap_ns",
		.def = 2000, .min = 100, .max = 1000000,
	},
	/*
	 * TCP's own limit is 1 ms.  A NIC reports late what it has sent, some
	 * by tens of microseconds, and a lower limit would slow its flows down.
	 * Only the operator knows the NIC: 0, TCP's own, is the default.
	 */
	[DELAYCC_HOST_QUEUE_NS] = {
		.name = "host_queue_ns",
		.min = 100, .max = 1000000, .zero_ok = true,
	},
	/* Paths change within minutes at most where operators work on them. */
	[DELAYCC_PATH_MEMORY_S] = {
		.name = "path_memory_s",
		.def = 600, .min = 1, .max = 86400, .zero_ok = true,
	},
	/* What `delaycc calibrate` finds, the same on all hosts of a fabric; 0: estimated. */
	[DELAYCC_NOISE_NS] = {
		.name = "noise_ns",
		.min = 1, .max = DCC_PATH_RTT_MAX_NS, .zero_ok = true,
	},
};

/*
 * Probes leave by timers, which no process pays for.  The probes of all user
 * namespaces but the host's own have a gap in common, whatever gaps these
 * namespaces choose and however many there are.  50,000 probes a second, with
 * their replies, are a small part of one processor, and still a probe every
 * 20 ms (DELAYCC_STILL_NS) for each of 1000 stopped flows.
 */
#define DELAYCC_USER_PROBE_GAP_MAX_NS (100 * NSEC_PER_MSEC)
static unsigned int delaycc_user_probe_gap_ns = 20 * NSEC_PER_USEC;
static atomic64_t delaycc_user_probe_ns;

static int delaycc_user_probe_gap_set(const char *text,
				      const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 100,
				     DELAYCC_USER_PROBE_GAP_MAX_NS);
}

static const struct kernel_param_ops delaycc_user_probe_gap_ops = {
	.set = delaycc_user_probe_gap_set,
	.get = param_get_uint,
};

module_param_cb(user_probe_gap_ns, &delaycc_user_probe_gap_ops,
		&delaycc_user_probe_gap_ns, 0644);
MODULE_PARM_DESC(user_probe_gap_ns,
		 "minimum time between two probes of all user namespaces together, 100..100000000 ns (default 20000)");

/* The longest wait for a turn: a later probe is of no use. */
#define DELAYCC_PROBE_WAIT_MAX_NS (100 * NSEC_PER_MSEC)

/* Takes a turn in a row whose next one is at *row. */
static u64 delaycc_probe_turn(atomic64_t *row, u32 gap_ns, u64 now_ns)
{
	s64 next_ns = atomic64_read(row);
	u64 turn_ns;

	do {
		turn_ns = max_t(u64, next_ns, now_ns);
		if (turn_ns > now_ns + DELAYCC_PROBE_WAIT_MAX_NS)
			return now_ns + DELAYCC_PROBE_WAIT_MAX_NS;
	} while (!atomic64_try_cmpxchg(row, &next_ns, turn_ns + gap_ns));
	return turn_ns;
}

/**
 * delaycc_probe_slot() - a turn among a namespace's probes
 * @net: the namespace
 * @now_ns: the time
 *
 * Return: when the probe may leave, now or later.  The turn is taken by that.
 */
u64 delaycc_probe_slot(const struct net *net, u64 now_ns)
{
	struct delaycc_net *dn = delaycc_pernet(net);
	u32 gap_ns = delaycc_value(&dn->values, DELAYCC_PROBE_GAP_NS);
	u64 slot_ns = delaycc_probe_turn(&dn->probe_ns, gap_ns, now_ns);

	if (net->user_ns == &init_user_ns)
		return slot_ns;
	/*
	 * The common row counts from now: a namespace with a long gap of its own
	 * does not keep the others waiting.
	 */
	gap_ns = READ_ONCE(delaycc_user_probe_gap_ns);
	return max(slot_ns, delaycc_probe_turn(&delaycc_user_probe_ns, gap_ns,
					       now_ns));
}

static int __net_init delaycc_net_init(struct net *net)
{
	struct delaycc_net *dn = delaycc_pernet(net);
	int err;

	err = delaycc_sysctl_register(net, "net/ipv4/delaycc", delaycc_params,
				      DELAYCC_PARAMS, NULL, &dn->values);
	if (err)
		return err;
	err = delaycc_paths_register(net, &dn->paths, &dn->values.generation);
	if (err)
		goto unregister_values;
	err = delaycc_memory_register(net, &dn->memory);
	if (err)
		goto unregister_paths;
	err = delaycc_devices_register(net, &dn->devices, &dn->values.generation);
	if (err)
		goto unregister_memory;
	return 0;

unregister_memory:
	delaycc_memory_unregister(&dn->memory);
unregister_paths:
	delaycc_paths_unregister(&dn->paths);
unregister_values:
	delaycc_sysctl_unregister(&dn->values);
	return err;
}

static void __net_exit delaycc_net_exit(struct net *net)
{
	struct delaycc_net *dn = delaycc_pernet(net);

	delaycc_devices_unregister(&dn->devices);
	delaycc_memory_unregister(&dn->memory);
	delaycc_paths_unregister(&dn->paths);
	delaycc_sysctl_unregister(&dn->values);
}

static struct pernet_operations delaycc_net_ops = {
	.init = delaycc_net_init,
	.exit = delaycc_net_exit,
	.id = &delaycc_net_id,
	.size = sizeof(struct delaycc_net),
};

/* Saves the hooks the description of a decision that no one reads. */
bool delaycc_trace_enabled(void)
{
	return trace_ack_enabled();
}
EXPORT_SYMBOL_GPL(delaycc_trace_enabled);

void delaycc_trace(const struct sock *sk, const struct delaycc_decision *d)
{
	trace_ack(sk, d);
}
EXPORT_SYMBOL_GPL(delaycc_trace);

static int __init delaycc_module_init(void)
{
	int err;

	err = delaycc_devices_init();
	if (err)
		return err;
	err = register_pernet_subsys(&delaycc_net_ops);
	if (err)
		delaycc_devices_exit();
	else
		delaycc_devices_start();
	return err;
}

static void __exit delaycc_module_exit(void)
{
	unregister_pernet_subsys(&delaycc_net_ops);
	delaycc_devices_exit();
}

module_init(delaycc_module_init);
module_exit(delaycc_module_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("Common parts of delay-based datacenter congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);

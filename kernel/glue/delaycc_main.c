// SPDX-License-Identifier: GPL-2.0
/*
 * delaycc.ko: what the delay-based congestion control modules share.
 *
 * This file has the module itself: the namespaces' common parameters, the
 * devices' speeds and the tracepoint.  delaycc_sock.c serves one socket,
 * delaycc_probe.c stops one and probes, delaycc_paths.c has the base RTTs of paths
 * that are told, delaycc_memory.c those that are learnt, delaycc_sysctl.c makes
 * tables of parameters.
 *
 * A law that compares a flow's rate with the line rate must know the line
 * rate.  A device reports its speed only under the RTNL, and a connection opens
 * in softirq.  The speeds are therefore collected when devices come up or
 * renegotiate, and kept per namespace, by interface index.  One that says none,
 * such as the NIC of a virtual machine, is taken to have what veth devices say.
 */
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/moduleparam.h>
#include <linux/rtnetlink.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>
#include <net/netns/generic.h>

#include "delaycc.h"
#define CREATE_TRACE_POINTS
#include "delaycc_trace.h"

/* What a namespace has: parameters, base RTTs told and learnt, devices' speeds in Mbit/s. */
struct delaycc_net {
	struct delaycc_values values;
	struct delaycc_paths paths;
	struct delaycc_memory memory;
	struct xarray speeds;
	atomic_t assumed; /* the log has one device whose speed is no fact */
	atomic64_t probe_ns; /* the next probe leaves no sooner */
};

static unsigned int delaycc_net_id __read_mostly;

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
};

static struct delaycc_net *delaycc_pernet(const struct net *net)
{
	return net_generic(net, delaycc_net_id);
}

const struct delaycc_values *delaycc_net_values(const struct net *net)
{
	return &delaycc_pernet(net)->values;
}

const struct delaycc_paths *delaycc_net_paths(const struct net *net)
{
	return &delaycc_pernet(net)->paths;
}

struct delaycc_memory *delaycc_net_memory(const struct net *net)
{
	return &delaycc_pernet(net)->memory;
}

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

/* One device's speed in the xarray. */
#define DELAYCC_SPEED_ASSUMED BIT(0) /* without hardware */
#define DELAYCC_SPEED_UNSAID BIT(1) /* DCC_TCP_UNSAID_MBPS */
#define DELAYCC_SPEED_SHIFT 2

/* Logged once per namespace, for the first such device that a socket uses. */
static void delaycc_log_assumed(struct delaycc_net *dn,
				const struct net_device *dev,
				unsigned long speed)
{
	if (likely(atomic_read(&dn->assumed)) || atomic_xchg(&dn->assumed, 1))
		return;
	pr_notice_ratelimited("delaycc: %s %s; %lu Mbit/s are taken for the line rate; if that is wrong, set net.ipv4.delaycc.line_rate_mbps\n",
			      dev->name,
			      speed & DELAYCC_SPEED_UNSAID ?
				      "does not say its speed" :
				      "has no hardware",
			      speed >> DELAYCC_SPEED_SHIFT);
}

/**
 * delaycc_device_mbps() - the speed of a device
 * @net: the namespace that uses it
 * @dev: the device
 *
 * Return: Mbit/s as the device says; DCC_TCP_UNSAID_MBPS if it says nothing; 0 for
 * the loopback.
 */
u32 delaycc_device_mbps(const struct net *net, const struct net_device *dev)
{
	struct delaycc_net *dn = delaycc_pernet(net);
	void *entry = xa_load(&dn->speeds, dev->ifindex);
	unsigned long speed;

	if (!xa_is_value(entry))
		return 0;
	speed = xa_to_value(entry);
	if (speed & (DELAYCC_SPEED_ASSUMED | DELAYCC_SPEED_UNSAID))
		delaycc_log_assumed(dn, dev, speed);
	return speed >> DELAYCC_SPEED_SHIFT;
}

static int delaycc_lower_is_hardware(struct net_device *lower,
				     struct netdev_nested_priv *unused)
{
	return !!lower->dev.parent;
}

/* Hardware of its own, or of a lower device (VLAN, bond).  Under the RTNL. */
static bool delaycc_has_hardware(struct net_device *dev)
{
	struct netdev_nested_priv unused = {};

	return dev->dev.parent ||
	       netdev_walk_all_lower_dev(dev, delaycc_lower_is_hardware, &unused);
}

/* tun says 10 Mbit/s or 10 Gbit/s, by the version of the kernel: it says nothing. */
static bool delaycc_says_speed(struct net_device *dev,
			       struct ethtool_link_ksettings *settings)
{
	if (dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, "tun"))
		return false;
	return !__ethtool_get_link_ksettings(dev, settings) &&
	       settings->base.speed != (u32)SPEED_UNKNOWN &&
	       settings->base.speed;
}

/* The device's entry of the xarray; 0: the loopback, which has nothing to control. */
static unsigned long delaycc_read_speed(struct net_device *dev)
{
	struct ethtool_link_ksettings settings;
	unsigned long speed;

	if (dev->flags & IFF_LOOPBACK)
		return 0;
	if (!delaycc_says_speed(dev, &settings))
		return (unsigned long)DCC_TCP_UNSAID_MBPS << DELAYCC_SPEED_SHIFT |
		       DELAYCC_SPEED_UNSAID;
	/* All speeds in the cores' range fit, even where an unsigned long has 32 bits. */
	speed = min_t(u32, settings.base.speed, INT_MAX >> 3);
	speed <<= DELAYCC_SPEED_SHIFT;
	return delaycc_has_hardware(dev) ? speed : speed | DELAYCC_SPEED_ASSUMED;
}

static int delaycc_netdev_event(struct notifier_block *nb, unsigned long event,
				void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct delaycc_net *dn = delaycc_pernet(dev_net(dev));
	unsigned long speed;
	void *before;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		speed = delaycc_read_speed(dev);
		before = xa_load(&dn->speeds, dev->ifindex);
		if (speed == (before ? xa_to_value(before) : 0))
			break;
		/* A NIC whose link is down says nothing: it keeps what it said. */
		if (before && (speed & DELAYCC_SPEED_UNSAID))
			break;
		if (!speed)
			xa_erase(&dn->speeds, dev->ifindex);
		else if (xa_is_err(xa_store(&dn->speeds, dev->ifindex,
					    xa_mk_value(speed), GFP_KERNEL)))
			netdev_warn(dev, "delaycc: no memory to keep the speed of %lu Mbit/s; set net.ipv4.delaycc.line_rate_mbps\n",
				    speed >> DELAYCC_SPEED_SHIFT);
		/* Sockets on this device read their path again. */
		atomic_inc_return_release(&dn->values.generation);
		break;
	case NETDEV_UNREGISTER:
		xa_erase(&dn->speeds, dev->ifindex);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block delaycc_netdev_notifier = {
	.notifier_call = delaycc_netdev_event,
};

static int __net_init delaycc_net_init(struct net *net)
{
	struct delaycc_net *dn = delaycc_pernet(net);
	int err;

	xa_init(&dn->speeds);
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
	return 0;

unregister_paths:
	delaycc_paths_unregister(&dn->paths);
unregister_values:
	delaycc_sysctl_unregister(&dn->values);
	return err;
}

static void __net_exit delaycc_net_exit(struct net *net)
{
	struct delaycc_net *dn = delaycc_pernet(net);

	delaycc_memory_unregister(&dn->memory);
	delaycc_paths_unregister(&dn->paths);
	delaycc_sysctl_unregister(&dn->values);
	xa_destroy(&dn->speeds);
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

	err = register_pernet_subsys(&delaycc_net_ops);
	if (err)
		return err;
	/* Also calls the notifier for all devices that are up already. */
	err = register_netdevice_notifier(&delaycc_netdev_notifier);
	if (err)
		unregister_pernet_subsys(&delaycc_net_ops);
	return err;
}

static void __exit delaycc_module_exit(void)
{
	unregister_netdevice_notifier(&delaycc_netdev_notifier);
	unregister_pernet_subsys(&delaycc_net_ops);
}

module_init(delaycc_module_init);
module_exit(delaycc_module_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("Common parts of delay-based datacenter congestion control");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);

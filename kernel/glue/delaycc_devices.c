// SPDX-License-Identifier: GPL-2.0
/*
 * The speeds of a namespace's devices.
 *
 * A law that compares a flow's rate with the line rate must know the line rate.
 * A device reports its speed only under the RTNL, and a connection opens in
 * softirq: the speeds are kept, by interface index.
 *
 * The notifier reads none.  It runs with locks held, by the kernel's version
 * also the device's own, which asking for a speed takes; and the driver of a
 * bond or a team may hear of a change only after us.  The notifier marks the
 * device and all devices above it, and a worker reads them once the RTNL is free.
 *
 * The worker also registers the notifier.  A route that names an algorithm loads
 * its module while it holds the RTNL, so nothing that the module's start waits
 * for may need the RTNL, nor hold what the start needs (register_netdevice_notifier()
 * waits for it with pernet_ops_rwsem held).
 *
 * A speed set by hand reaches no notifier where it makes no new link
 * (`ethtool -s` on virtio).  A socket that finds a reading old has it repeated.
 */
#include <linux/ethtool.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "delaycc.h"

/*
 * Firmware answers some NICs' questions within 100 us, which is 10 ppm of the
 * RTNL's time; and whoever sets a speed by hand waits this long at most.
 */
#define DELAYCC_DEVICE_OLD (10 * HZ)

/* One device's speed: Mbit/s, shifted, and what it is worth. */
#define DELAYCC_SPEED_ASSUMED BIT(0) /* without hardware */
#define DELAYCC_SPEED_UNSAID BIT(1) /* DCC_TCP_UNSAID_MBPS */
#define DELAYCC_SPEED_UNREAD BIT(2) /* the same, until the worker has come */
#define DELAYCC_SPEED_SHIFT 3

struct delaycc_device {
	u32 speed;
	bool stale; /* the worker is to read it */
	unsigned long read; /* in jiffies, or when that was last asked for */
	struct rcu_head rcu;
};

static struct workqueue_struct *delaycc_devices_queue;

static u32 delaycc_speed_unsaid(u32 why)
{
	return DCC_TCP_UNSAID_MBPS << DELAYCC_SPEED_SHIFT | why;
}

/* ---- what sockets ask --------------------------------------------------- */

/* Logged once per namespace, for the first such device that a socket uses. */
static void delaycc_log_assumed(struct delaycc_devices *devices,
				const struct net_device *dev, u32 speed)
{
	if (likely(atomic_read(&devices->assumed)) ||
	    atomic_xchg(&devices->assumed, 1))
		return;
	pr_notice_ratelimited("delaycc: %s %s; %u Mbit/s are taken for the line rate; if that is wrong, set net.ipv4.delaycc.line_rate_mbps\n",
			      dev->name,
			      speed & DELAYCC_SPEED_UNSAID ?
				      "does not say its speed" :
				      "has no hardware",
			      speed >> DELAYCC_SPEED_SHIFT);
}

static void delaycc_device_ask(struct delaycc_devices *devices,
			       struct delaycc_device *device)
{
	WRITE_ONCE(device->read, jiffies);
	WRITE_ONCE(device->stale, true);
	queue_work(delaycc_devices_queue, &devices->work);
}

/**
 * delaycc_device_mbps() - the speed of a device
 * @net: the namespace that uses it
 * @dev: the device
 *
 * Under rcu_read_lock().  The namespace's generation moves when it changes.
 *
 * Return: Mbit/s as the device says; DCC_TCP_UNSAID_MBPS if it says nothing; 0 for
 * the loopback, and for what is no device any more.
 */
u32 delaycc_device_mbps(const struct net *net, const struct net_device *dev)
{
	struct delaycc_devices *devices = delaycc_net_devices(net);
	struct delaycc_device *device = xa_load(&devices->by_ifindex, dev->ifindex);
	u32 speed;

	if (dev->flags & IFF_LOOPBACK || dev->reg_state != NETREG_REGISTERED)
		return 0;
	/* Without memory for it, it has said nothing. */
	if (!device)
		return DCC_TCP_UNSAID_MBPS;
	if (time_after(jiffies, READ_ONCE(device->read) + DELAYCC_DEVICE_OLD))
		delaycc_device_ask(devices, device);
	speed = READ_ONCE(device->speed);
	if (speed & (DELAYCC_SPEED_ASSUMED | DELAYCC_SPEED_UNSAID))
		delaycc_log_assumed(devices, dev, speed);
	return speed >> DELAYCC_SPEED_SHIFT;
}

/* ---- what devices say ---------------------------------------------------- */

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

/* Under the RTNL, and no device's own lock. */
static u32 delaycc_read_speed(struct net_device *dev)
{
	struct ethtool_link_ksettings settings;
	u32 speed;

	if (!delaycc_says_speed(dev, &settings))
		return delaycc_speed_unsaid(DELAYCC_SPEED_UNSAID);
	/* All speeds in the cores' range fit. */
	speed = min_t(u32, settings.base.speed, U32_MAX >> DELAYCC_SPEED_SHIFT);
	speed <<= DELAYCC_SPEED_SHIFT;
	return delaycc_has_hardware(dev) ? speed : speed | DELAYCC_SPEED_ASSUMED;
}

static void delaycc_device_read(struct delaycc_devices *devices,
				struct delaycc_device *device,
				struct net_device *dev)
{
	u32 speed;

	/* A driver may be asked only then; what has changed is read when it comes up. */
	if (!netif_running(dev) || !netif_device_present(dev))
		return;
	WRITE_ONCE(device->read, jiffies);
	speed = delaycc_read_speed(dev);
	if (speed == device->speed)
		return;
	/* A NIC whose link is down says nothing: it keeps what it said. */
	if (speed & DELAYCC_SPEED_UNSAID && !(device->speed & DELAYCC_SPEED_UNREAD))
		return;
	WRITE_ONCE(device->speed, speed);
	/* Sockets on this device read their path again. */
	atomic_inc_return_release(devices->generation);
}

/* ---- the notifier -------------------------------------------------------- */

/* A device that has never been up has no entry, and is read when it comes up. */
static int delaycc_device_changed(struct net_device *dev,
				  struct netdev_nested_priv *unused)
{
	struct delaycc_devices *devices = delaycc_net_devices(dev_net(dev));
	struct delaycc_device *device = xa_load(&devices->by_ifindex, dev->ifindex);

	if (device)
		delaycc_device_ask(devices, device);
	return 0;
}

/* The device, and all that have it below them, whatever their namespace. */
static void delaycc_devices_changed(struct net_device *dev)
{
	struct netdev_nested_priv unused = {};

	delaycc_device_changed(dev, &unused);
	rcu_read_lock();
	netdev_walk_all_upper_dev_rcu(dev, delaycc_device_changed, &unused);
	rcu_read_unlock();
}

static void delaycc_device_add(struct net_device *dev)
{
	struct delaycc_devices *devices = delaycc_net_devices(dev_net(dev));
	struct delaycc_device *device;

	if (dev->flags & IFF_LOOPBACK ||
	    xa_load(&devices->by_ifindex, dev->ifindex))
		return;
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (device) {
		device->speed = delaycc_speed_unsaid(DELAYCC_SPEED_UNREAD);
		if (!xa_is_err(xa_store(&devices->by_ifindex, dev->ifindex,
					device, GFP_KERNEL)))
			return;
		kfree(device);
	}
	netdev_warn(dev, "delaycc: no memory to keep its speed; set net.ipv4.delaycc.line_rate_mbps\n");
}

static void delaycc_device_remove(struct net_device *dev)
{
	struct delaycc_devices *devices = delaycc_net_devices(dev_net(dev));
	struct delaycc_device *device = xa_erase(&devices->by_ifindex, dev->ifindex);

	if (device)
		kfree_rcu(device, rcu);
}

static int delaycc_netdev_event(struct notifier_block *nb, unsigned long event,
				void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct netdev_notifier_changeupper_info *upper = ptr;

	switch (event) {
	case NETDEV_UP:
		delaycc_device_add(dev);
		fallthrough;
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGELOWERSTATE:
	case NETDEV_BONDING_FAILOVER:
		delaycc_devices_changed(dev);
		break;
	case NETDEV_CHANGEUPPER:
		/* The upper device of a device that has left it is above it no more. */
		delaycc_devices_changed(upper->upper_dev);
		break;
	case NETDEV_UNREGISTER:
		delaycc_device_remove(dev);
		break;
	}
	return NOTIFY_DONE;
}

/* ---- the worker ---------------------------------------------------------- */

static void delaycc_devices_work(struct work_struct *work)
{
	struct delaycc_devices *devices = container_of(work, struct delaycc_devices,
						       work);
	struct delaycc_device *device;
	unsigned long ifindex;
	struct net_device *dev;

	/* Also calls the notifier for all devices that are up already. */
	if (!devices->follows)
		devices->follows = !register_netdevice_notifier_net(devices->net,
								    &devices->notifier);
	rtnl_lock();
	xa_for_each(&devices->by_ifindex, ifindex, device) {
		if (!READ_ONCE(device->stale))
			continue;
		WRITE_ONCE(device->stale, false);
		dev = __dev_get_by_index(devices->net, ifindex);
		if (dev)
			delaycc_device_read(devices, device, dev);
	}
	rtnl_unlock();
}

/* ---- a read of the table ------------------------------------------------- */

/* "eth0 100000 driver\n" */
#define DELAYCC_DEVICE_TEXT (IFNAMSIZ + 30)

static const char *delaycc_speed_source(u32 speed)
{
	if (speed & (DELAYCC_SPEED_UNSAID | DELAYCC_SPEED_UNREAD))
		return "unknown";
	return speed & DELAYCC_SPEED_ASSUMED ? "virtual" : "driver";
}

/* A device a line, in the order of their indices. */
static char *delaycc_devices_text(struct delaycc_lines *lines, size_t *size)
{
	struct delaycc_devices *devices = container_of(lines, struct delaycc_devices,
						       lines);
	struct delaycc_device *device;
	struct net_device *dev;
	unsigned long ifindex;
	size_t room = 1;
	char *text;

	*size = 0;
	rcu_read_lock();
	xa_for_each(&devices->by_ifindex, ifindex, device)
		room += DELAYCC_DEVICE_TEXT;
	rcu_read_unlock();
	text = kvmalloc(room, GFP_KERNEL);
	if (!text)
		return NULL;
	rcu_read_lock();
	xa_for_each(&devices->by_ifindex, ifindex, device) {
		u32 speed = READ_ONCE(device->speed);

		dev = dev_get_by_index_rcu(devices->net, ifindex);
		if (dev)
			*size += scnprintf(text + *size, room - *size, "%s %u %s\n",
					   dev->name, speed >> DELAYCC_SPEED_SHIFT,
					   delaycc_speed_source(speed));
	}
	rcu_read_unlock();
	return text;
}

/* ---- namespaces and the module ------------------------------------------- */

/**
 * delaycc_devices_register() - give a namespace its devices' speeds
 * @net: the namespace, whose devices come later
 * @devices: the speeds, zeroed
 * @generation: incremented with each change
 *
 * Return: 0, or -ENOMEM.
 */
int delaycc_devices_register(struct net *net, struct delaycc_devices *devices,
			     atomic_t *generation)
{
	int err;

	devices->net = net;
	devices->generation = generation;
	xa_init(&devices->by_ifindex);
	INIT_WORK(&devices->work, delaycc_devices_work);
	devices->notifier.notifier_call = delaycc_netdev_event;
	devices->lines.read = delaycc_devices_text;
	err = delaycc_lines_register(net, &devices->lines, "device_rates");
	if (!err)
		queue_work(delaycc_devices_queue, &devices->work);
	return err;
}

/**
 * delaycc_devices_unregister() - take a namespace's devices' speeds away
 * @devices: the speeds; no socket asks for them any more
 */
void delaycc_devices_unregister(struct delaycc_devices *devices)
{
	struct delaycc_device *device;
	unsigned long ifindex;

	delaycc_lines_unregister(&devices->lines);
	cancel_work_sync(&devices->work);
	if (devices->follows) {
		/* Tells of the end of each device, for which there is work to do. */
		unregister_netdevice_notifier_net(devices->net, &devices->notifier);
		cancel_work_sync(&devices->work);
	}
	xa_for_each(&devices->by_ifindex, ifindex, device)
		kfree(device);
	xa_destroy(&devices->by_ifindex);
}

/*
 * The first work of the queue, behind which all namespaces' wait until each of them
 * has its devices: a device may have others above it in any namespace.
 */
static DECLARE_COMPLETION(delaycc_devices_all_there);

static void delaycc_devices_first_work(struct work_struct *work)
{
	wait_for_completion(&delaycc_devices_all_there);
}

static DECLARE_WORK(delaycc_devices_first, delaycc_devices_first_work);

static DECLARE_COMPLETION(delaycc_devices_read);

static void delaycc_devices_last_work(struct work_struct *work)
{
	complete(&delaycc_devices_read);
}

static DECLARE_WORK(delaycc_devices_last, delaycc_devices_last_work);

/**
 * delaycc_devices_init() - the part that all namespaces share
 *
 * Before the first namespace.
 *
 * Return: 0, or -ENOMEM.
 */
int __init delaycc_devices_init(void)
{
	/* One after the other: all wait for the RTNL. */
	delaycc_devices_queue = alloc_ordered_workqueue("delaycc", 0);
	if (!delaycc_devices_queue)
		return -ENOMEM;
	queue_work(delaycc_devices_queue, &delaycc_devices_first);
	return 0;
}

/* After the last namespace, or where there has been none. */
void delaycc_devices_exit(void)
{
	complete_all(&delaycc_devices_all_there);
	destroy_workqueue(delaycc_devices_queue);
}

/**
 * delaycc_devices_start() - let the devices of all namespaces be read
 *
 * When all namespaces are registered.  Waits for it, but for a second at most:
 * whoever holds the RTNL may wait for this module.
 */
void __init delaycc_devices_start(void)
{
	complete_all(&delaycc_devices_all_there);
	queue_work(delaycc_devices_queue, &delaycc_devices_last);
	wait_for_completion_timeout(&delaycc_devices_read, HZ);
}

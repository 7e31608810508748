// SPDX-License-Identifier: GPL-2.0
/*
 * stamped: pairs of network devices whose "hardware" stamps packets exactly, for tests
 *
 * stamp0 and stamp1 are joined, stamp2 and stamp3, and so on.  A packet is stamped when the driver
 * gets it, which is also when it arrives at the other end: the link takes no time.  What the
 * other end's host makes of it comes later by its device's noise, which the stamps do not have:
 *
 *	stack -> TX stamp = RX stamp -> noise -> stack
 *
 * The noise is uniform from 0 to noise_ns; packets stay in order.  noisy has a bit for each
 * device that has noise, the lowest for stamp0: all, unless told otherwise.  The devices' clock is
 * not the system's: it is ahead by clock_offset_ns, and drifts away by clock_drift_ppb.
 *
 * The parameter mode, of all devices; may be changed at any time
 *	0	stamps all packets
 *	1	stamps what it sends, and refuses to stamp what it receives (as igb does)
 *	2	claims all that 0 can, accepts it, and stamps nothing (as QEMU's e1000e)
 *	3	has no hardware stamps, as veth
 */
#include <linux/ethtool.h>
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>

#define DEVICES_MAX 16

enum { MODE_ALL, MODE_TX_ONLY, MODE_LIES, MODE_NONE };

static unsigned int pairs = 1;
module_param(pairs, uint, 0444);
static unsigned int mode = MODE_ALL;
module_param(mode, uint, 0644);
static unsigned int noise_ns;
module_param(noise_ns, uint, 0644);
static unsigned int noisy = ~0U;
module_param(noisy, uint, 0644);
static unsigned int speed_mbps = 100000;
module_param(speed_mbps, uint, 0644);
static long clock_offset_ns;
module_param(clock_offset_ns, long, 0644);
static long clock_drift_ppb;
module_param(clock_drift_ppb, long, 0644);

struct stamped {
	struct net_device *dev, *peer;
	unsigned int bit; /* in noisy */
	int tx_type, rx_filter; /* as the user set them */
	struct sk_buff_head late; /* on their way to the stack, in order; skb->tstamp: when */
	struct hrtimer timer; /* for the first of them */
	ktime_t last; /* when the last one is due */
};

static struct net_device *devices[DEVICES_MAX];

/* The hardware's clock. */
static ktime_t hardware_ns(void)
{
	s64 now = ktime_get_real_ns();
	/* Drift counts from the boot, or it would be years' worth. */
	s64 drift = div_s64(ktime_get_ns() / 1000 * clock_drift_ppb, 1000000);

	return ns_to_ktime(now + clock_offset_ns + drift);
}

/* ---- to the stack, late ---- */

static enum hrtimer_restart deliver(struct hrtimer *timer)
{
	struct stamped *s = container_of(timer, struct stamped, timer);
	enum hrtimer_restart again = HRTIMER_NORESTART;
	struct sk_buff_head due;
	struct sk_buff *skb;
	unsigned long flags;

	__skb_queue_head_init(&due);
	spin_lock_irqsave(&s->late.lock, flags);
	while ((skb = skb_peek(&s->late))) {
		if (ktime_after(skb->tstamp, ktime_get())) {
			hrtimer_set_expires(timer, skb->tstamp);
			again = HRTIMER_RESTART;
			break;
		}
		__skb_unlink(skb, &s->late);
		__skb_queue_tail(&due, skb);
	}
	spin_unlock_irqrestore(&s->late.lock, flags);
	while ((skb = __skb_dequeue(&due))) {
		skb->tstamp = 0;
		netif_rx(skb);
	}
	return again;
}

static void receive(struct stamped *s, struct sk_buff *skb)
{
	unsigned int noise = READ_ONCE(noisy) & s->bit ? READ_ONCE(noise_ns) : 0;
	unsigned long flags;

	skb->dev = s->dev;
	skb->protocol = eth_type_trans(skb, s->dev);
	if (!noise && skb_queue_empty_lockless(&s->late)) {
		netif_rx(skb);
		return;
	}
	spin_lock_irqsave(&s->late.lock, flags);
	skb->tstamp = ktime_add_ns(ktime_get(), noise ? get_random_u32() % noise : 0);
	if (ktime_before(skb->tstamp, s->last))
		skb->tstamp = s->last;
	s->last = skb->tstamp;
	__skb_queue_tail(&s->late, skb);
	if (skb_queue_len(&s->late) == 1)
		hrtimer_start(&s->timer, skb->tstamp, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&s->late.lock, flags);
}

static netdev_tx_t stamped_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct stamped *s = netdev_priv(dev), *peer = netdev_priv(s->peer);
	bool honest = READ_ONCE(mode) < MODE_LIES;
	struct skb_shared_hwtstamps stamps = { .hwtstamp = hardware_ns() };
	/* What is received has to be of its own: TCP keeps what it sent, with its stamps. */
	struct sk_buff *copy = netif_running(s->peer) ? skb_copy(skb, GFP_ATOMIC) : NULL;

	if ((skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP) && s->tx_type == HWTSTAMP_TX_ON)
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	skb_tx_timestamp(skb);
	if (honest && (skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS))
		skb_tstamp_tx(skb, &stamps);
	consume_skb(skb);

	if (!copy)
		return NETDEV_TX_OK;
	skb_shinfo(copy)->tx_flags = 0;
	skb_scrub_packet(copy, true);
	if (honest && peer->rx_filter == HWTSTAMP_FILTER_ALL)
		*skb_hwtstamps(copy) = stamps;
	else
		memset(skb_hwtstamps(copy), 0, sizeof(stamps));
	receive(peer, copy);
	return NETDEV_TX_OK;
}

/* ---- settings of time stamps ---- */

static int set_stamps(struct stamped *s, int flags, int tx_type, int *rx_filter)
{
	if (mode == MODE_NONE)
		return -EOPNOTSUPP;
	if (flags || (tx_type != HWTSTAMP_TX_OFF && tx_type != HWTSTAMP_TX_ON))
		return -ERANGE;
	if (*rx_filter != HWTSTAMP_FILTER_NONE) {
		if (mode == MODE_TX_ONLY)
			return -ERANGE;
		*rx_filter = HWTSTAMP_FILTER_ALL;
	}
	s->tx_type = tx_type;
	s->rx_filter = *rx_filter;
	return 0;
}

#ifdef STAMPED_HAS_HWTSTAMP_SET
static int stamped_hwtstamp_set(struct net_device *dev, struct kernel_hwtstamp_config *config,
				struct netlink_ext_ack *extack)
{
	return set_stamps(netdev_priv(dev), config->flags, config->tx_type, &config->rx_filter);
}

static int stamped_hwtstamp_get(struct net_device *dev, struct kernel_hwtstamp_config *config)
{
	struct stamped *s = netdev_priv(dev);

	if (mode == MODE_NONE)
		return -EOPNOTSUPP;
	config->tx_type = s->tx_type;
	config->rx_filter = s->rx_filter;
	return 0;
}
#else
static int stamped_ioctl(struct net_device *dev, struct ifreq *request, int command)
{
	struct stamped *s = netdev_priv(dev);
	struct hwtstamp_config config = {};
	int error;

	if (mode == MODE_NONE)
		return -EOPNOTSUPP;
	if (command == SIOCSHWTSTAMP) {
		if (copy_from_user(&config, request->ifr_data, sizeof(config)))
			return -EFAULT;
		error = set_stamps(s, config.flags, config.tx_type, &config.rx_filter);
		if (error)
			return error;
	} else if (command != SIOCGHWTSTAMP) {
		return -EOPNOTSUPP;
	}
	config.tx_type = s->tx_type;
	config.rx_filter = s->rx_filter;
	return copy_to_user(request->ifr_data, &config, sizeof(config)) ? -EFAULT : 0;
}
#endif

#ifdef STAMPED_HAS_KERNEL_TS_INFO
static int stamped_ts_info(struct net_device *dev, struct kernel_ethtool_ts_info *info)
#else
static int stamped_ts_info(struct net_device *dev, struct ethtool_ts_info *info)
#endif
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
				SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = -1;
	if (mode == MODE_NONE)
		return 0;
	info->so_timestamping |= SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
				 SOF_TIMESTAMPING_RAW_HARDWARE;
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE);
	info->rx_filters |= mode == MODE_TX_ONLY ? BIT(HWTSTAMP_FILTER_PTP_V2_EVENT) :
						   BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static int stamped_link_settings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	settings->base.speed = speed_mbps ?: SPEED_UNKNOWN;
	settings->base.duplex = DUPLEX_FULL;
	return 0;
}

static const struct ethtool_ops stamped_ethtool_ops = {
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = stamped_link_settings,
	.get_ts_info = stamped_ts_info,
};

/* ---- the devices ---- */

static int stamped_open(struct net_device *dev)
{
	netif_start_queue(dev);
	return 0;
}

static int stamped_stop(struct net_device *dev)
{
	struct stamped *s = netdev_priv(dev);

	netif_stop_queue(dev);
	hrtimer_cancel(&s->timer);
	skb_queue_purge(&s->late);
	return 0;
}

static const struct net_device_ops stamped_ops = {
	.ndo_open = stamped_open,
	.ndo_stop = stamped_stop,
	.ndo_start_xmit = stamped_xmit,
	.ndo_set_mac_address = eth_mac_addr,
#ifdef STAMPED_HAS_HWTSTAMP_SET
	.ndo_hwtstamp_set = stamped_hwtstamp_set,
	.ndo_hwtstamp_get = stamped_hwtstamp_get,
#else
	.ndo_eth_ioctl = stamped_ioctl,
#endif
};

static void stamped_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &stamped_ops;
	dev->ethtool_ops = &stamped_ethtool_ops;
	dev->needs_free_netdev = true;
	dev->max_mtu = ETH_MAX_MTU;
	eth_hw_addr_random(dev);
}

static int add_device(unsigned int number)
{
	char name[IFNAMSIZ];
	struct net_device *dev;
	struct stamped *s;
	int error;

	snprintf(name, sizeof(name), "stamp%u", number);
	dev = alloc_netdev(sizeof(*s), name, NET_NAME_ENUM, stamped_setup);
	if (!dev)
		return -ENOMEM;
	s = netdev_priv(dev);
	s->dev = dev;
	s->bit = 1U << number;
	skb_queue_head_init(&s->late);
#ifdef STAMPED_HAS_HRTIMER_SETUP
	hrtimer_setup(&s->timer, deliver, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(&s->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	s->timer.function = deliver;
#endif
	error = register_netdev(dev);
	if (error)
		free_netdev(dev);
	else
		devices[number] = dev;
	return error;
}

static void remove_devices(void)
{
	unsigned int i;

	rtnl_lock();
	for (i = 0; i < DEVICES_MAX; i++)
		if (devices[i])
			dev_close(devices[i]);
	for (i = 0; i < DEVICES_MAX; i++)
		if (devices[i])
			unregister_netdevice(devices[i]);
	rtnl_unlock();
}

static int __init stamped_init(void)
{
	unsigned int i;
	int error = 0;

	if (!pairs || pairs > DEVICES_MAX / 2)
		return -EINVAL;
	for (i = 0; i < 2 * pairs && !error; i++)
		error = add_device(i);
	if (error) {
		remove_devices();
		return error;
	}
	/* Nothing is sent before a device is set up. */
	for (i = 0; i < 2 * pairs; i++) {
		struct stamped *s = netdev_priv(devices[i]);

		s->peer = devices[i ^ 1];
	}
	return 0;
}
module_init(stamped_init);

static void __exit stamped_exit(void)
{
	remove_devices();
}
module_exit(stamped_exit);

MODULE_DESCRIPTION("Pairs of network devices with exact hardware time stamps, for tests");
MODULE_LICENSE("GPL");

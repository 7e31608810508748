// SPDX-License-Identifier: GPL-2.0
/*
 * Gives each TCP connection that opens a function that sees its packets before
 * the device does, as TLS by the device has one (sk_validate_xmit_skb).  This one
 * lets them pass.  It is to be removed when all of them are closed.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/sock.h>
#include <net/tcp_states.h>

static struct tracepoint *validated_tracepoint;

static struct sk_buff *validated_pass(struct sock *sk, struct net_device *dev,
				      struct sk_buff *skb)
{
	return skb;
}

static void validated_state(void *unused, const struct sock *sk,
			    const int oldstate, const int newstate)
{
	struct sock *mine = (struct sock *)sk;

	if (oldstate == TCP_SYN_SENT && newstate == TCP_ESTABLISHED)
		WRITE_ONCE(mine->sk_validate_xmit_skb, validated_pass);
	else if (newstate == TCP_CLOSE)
		WRITE_ONCE(mine->sk_validate_xmit_skb, NULL);
}

static void validated_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		validated_tracepoint = tp;
}

static int __init validated_init(void)
{
	for_each_kernel_tracepoint(validated_find, NULL);
	if (!validated_tracepoint)
		return -ENOENT;
	return tracepoint_probe_register(validated_tracepoint, validated_state, NULL);
}

static void __exit validated_exit(void)
{
	tracepoint_probe_unregister(validated_tracepoint, validated_state, NULL);
	tracepoint_synchronize_unregister();
}

module_init(validated_init);
module_exit(validated_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("Connections whose packets something validates (tests)");
MODULE_LICENSE("GPL");

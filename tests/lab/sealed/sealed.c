// SPDX-License-Identifier: GPL-2.0
/*
 * Marks each TCP connection as one whose segments a network device encrypts (kTLS
 * offload), and encrypts nothing: for tests that a stopped flow sends no probe there
 * (kernel/glue/delaycc_probe.c).  To be removed when no connection is open.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/sock.h>
#include <net/tcp_states.h>

static struct tracepoint *sealed_tracepoint;

static struct sk_buff *sealed_validate(struct sock *sk, struct net_device *dev,
				       struct sk_buff *skb)
{
	return skb;
}

static void sealed_state(void *unused, const struct sock *sk, const int oldstate,
			 const int newstate)
{
	if (sk->sk_protocol == IPPROTO_TCP && newstate == TCP_ESTABLISHED)
		WRITE_ONCE(((struct sock *)sk)->sk_validate_xmit_skb, sealed_validate);
}

static void sealed_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		sealed_tracepoint = tp;
}

static int __init sealed_init(void)
{
	for_each_kernel_tracepoint(sealed_find, NULL);
	if (!sealed_tracepoint)
		return -ENOENT;
	return tracepoint_probe_register(sealed_tracepoint, sealed_state, NULL);
}

static void __exit sealed_exit(void)
{
	tracepoint_probe_unregister(sealed_tracepoint, sealed_state, NULL);
	tracepoint_synchronize_unregister();
}

module_init(sealed_init);
module_exit(sealed_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("Connections whose segments a device would encrypt (tests)");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * Makes of the kernel one that takes a reference to the module of a listener's
 * algorithm for each clone, as soon as there is the clone.  Connections of a
 * listener that live take a second one, which nobody gives back: for tests of a
 * handshake that ends without a route alone (kernel/glue/delaycc_stillborn.c).
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

static struct tracepoint *mended_tracepoint;

static void mended_state(void *unused, const struct sock *sk, const int oldstate,
			 const int newstate)
{
	if (sk->sk_protocol == IPPROTO_TCP && oldstate == TCP_LISTEN &&
	    newstate == TCP_SYN_RECV)
		__module_get(inet_csk(sk)->icsk_ca_ops->owner);
}

static void mended_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		mended_tracepoint = tp;
}

static int __init mended_init(void)
{
	for_each_kernel_tracepoint(mended_find, NULL);
	if (!mended_tracepoint)
		return -ENOENT;
	/* Behind all others: they see the clone first, as they would without this module. */
	return tracepoint_probe_register_prio(mended_tracepoint, mended_state, NULL, 0);
}

static void __exit mended_exit(void)
{
	tracepoint_probe_unregister(mended_tracepoint, mended_state, NULL);
	tracepoint_synchronize_unregister();
}

module_init(mended_init);
module_exit(mended_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("A kernel that takes the reference of each clone of a listener (tests)");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * The reference to an algorithm's module that TCP gives back without having it.
 *
 * The last ACK of a handshake makes TCP clone the listener, and only then look
 * for the route back.  Without one, tcp_v4_syn_recv_sock() ends the clone
 * before tcp_ca_openreq_child() has taken a reference to the algorithm's
 * module, but TCP gives one back for it as for any socket.  The module has to
 * take it, or it can be removed while sockets use it.
 *
 * No hook of the algorithm tells it: Linux 6.1 calls .release for such a clone,
 * 7.3 does so only after .init.  Both tell the tracepoint inet_sock_set_state
 * of its end before the reference goes.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "delaycc.h"

/*
 * A clone has no route only in this case, and no other socket ends in SYN_RECV
 * without one: a simultaneous open may lose its route, but only after it has
 * sent its SYN again.
 */
static bool stillborn(const struct sock *sk, int oldstate, int newstate)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);

	return sk->sk_protocol == IPPROTO_TCP && oldstate == TCP_SYN_RECV &&
	       newstate == TCP_CLOSE && sock_flag(sk, SOCK_DEAD) &&
	       !icsk->icsk_ca_initialized && !icsk->icsk_retransmits &&
	       !rcu_access_pointer(sk->sk_dst_cache);
}

static void stillborn_probe(void *owner, const struct sock *sk, const int oldstate,
			    const int newstate)
{
	if (stillborn(sk, oldstate, newstate) &&
	    inet_csk(sk)->icsk_ca_ops->owner == owner)
		__module_get(owner);
}

static void stillborn_find(struct tracepoint *tp, void *found)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		*(struct tracepoint **)found = tp;
}

/* The tracepoint is TCP's own, and not exported by its name. */
static struct tracepoint *stillborn_tracepoint(void)
{
	struct tracepoint *tp = NULL;

	for_each_kernel_tracepoint(stillborn_find, &tp);
	return tp;
}

/**
 * delaycc_stillborn_register() - take the references that TCP gives back unasked
 * @owner: an algorithm's module, before the algorithm can be chosen
 *
 * A kernel without tracepoints keeps its defect.
 *
 * Return: 0, -ENOENT where there is no such tracepoint, or -ENOMEM
 */
int delaycc_stillborn_register(struct module *owner)
{
	struct tracepoint *tp;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return 0;
	tp = stillborn_tracepoint();
	return tp ? tracepoint_probe_register(tp, stillborn_probe, owner) : -ENOENT;
}
EXPORT_SYMBOL_GPL(delaycc_stillborn_register);

/**
 * delaycc_stillborn_unregister() - end what delaycc_stillborn_register() began
 * @owner: the same module, after the algorithm has gone
 */
void delaycc_stillborn_unregister(struct module *owner)
{
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return;
	tracepoint_probe_unregister(stillborn_tracepoint(), stillborn_probe, owner);
	tracepoint_synchronize_unregister();
}
EXPORT_SYMBOL_GPL(delaycc_stillborn_unregister);

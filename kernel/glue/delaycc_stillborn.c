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
 * of its birth, and of its end before the reference goes.
 *
 * A kernel that takes the reference (in-tree/0001-*.patch) must not get another
 * one, or the module could never be removed.  The first such clone shows which
 * kernel it is: between its birth and its end, in one softirq, the tracepoint
 * module_get tells of each reference to one of our modules.  Then the tracepoints
 * that are not needed any more are left: module_get by all kernels, both by one
 * that takes the reference.  Before the first such clone nothing shows it.
 */
#include <linux/errno.h>
#include <linux/hardirq.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "delaycc.h"

/* One for each algorithm's module, and some for those of tests. */
#define STILLBORN_OWNERS 16

static DEFINE_MUTEX(stillborn_lock); /* of writers of what follows */
static struct module *stillborn_owners[STILLBORN_OWNERS];
static unsigned int stillborn_users;

/* Does the kernel take the reference? */
enum { STILLBORN_UNSEEN, STILLBORN_OWED, STILLBORN_TAKEN };
static int stillborn_kernel = STILLBORN_UNSEEN;

/* The newest clone of a processor. */
struct stillborn_clone {
	const struct sock *sk;
	bool taken; /* a reference to one of our modules, since its birth */
};

static DEFINE_PER_CPU(struct stillborn_clone, stillborn_clone);

static void stillborn_settle_work(struct work_struct *work);
static DECLARE_WORK(stillborn_work, stillborn_settle_work);

static bool stillborn_is_ours(const struct module *owner)
{
	unsigned int i;

	for (i = 0; owner && i < STILLBORN_OWNERS; i++)
		if (READ_ONCE(stillborn_owners[i]) == owner)
			return true;
	return false;
}

/*
 * A clone has no route only in this case, and no other socket ends in SYN_RECV
 * without one: a simultaneous open may lose its route, but only after it has
 * sent its SYN again.
 */
static bool stillborn(const struct sock *sk, int oldstate, int newstate)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);

	return oldstate == TCP_SYN_RECV && newstate == TCP_CLOSE &&
	       sock_flag(sk, SOCK_DEAD) && !icsk->icsk_ca_initialized &&
	       !icsk->icsk_retransmits && !rcu_access_pointer(sk->sk_dst_cache);
}

/*
 * This processor's clone; NULL where something else may run on the processor
 * between its birth and its end.
 */
static struct stillborn_clone *stillborn_this_clone(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !in_softirq())
		return NULL;
	return this_cpu_ptr(&stillborn_clone);
}

static void stillborn_begin(const struct sock *sk)
{
	struct stillborn_clone *clone = stillborn_this_clone();

	if (!clone || READ_ONCE(stillborn_kernel) != STILLBORN_UNSEEN)
		return;
	clone->sk = sk;
	clone->taken = false;
}

static void stillborn_end(const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = READ_ONCE(inet_csk(sk)->icsk_ca_ops);
	const struct stillborn_clone *clone = stillborn_this_clone();

	if (!ops || !stillborn_is_ours(ops->owner))
		return;
	if (READ_ONCE(stillborn_kernel) == STILLBORN_UNSEEN && clone &&
	    clone->sk == sk) {
		WRITE_ONCE(stillborn_kernel, clone->taken ? STILLBORN_TAKEN :
							    STILLBORN_OWED);
		schedule_work(&stillborn_work);
	}
	if (READ_ONCE(stillborn_kernel) != STILLBORN_TAKEN)
		__module_get(ops->owner);
}

static void stillborn_state(void *unused, const struct sock *sk,
			    const int oldstate, const int newstate)
{
	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	if (oldstate == TCP_LISTEN && newstate == TCP_SYN_RECV)
		stillborn_begin(sk);
	else if (stillborn(sk, oldstate, newstate))
		stillborn_end(sk);
}

static void stillborn_get(void *unused, struct module *module, unsigned long ip)
{
	struct stillborn_clone *clone = stillborn_this_clone();

	if (clone && stillborn_is_ours(module))
		clone->taken = true;
}

/* ---- the tracepoints ----------------------------------------------------- */

struct stillborn_watch {
	const char *name;
	void *probe;
	struct tracepoint *tp;
	bool on;
};

static struct stillborn_watch stillborn_states = {
	.name = "inet_sock_set_state", .probe = stillborn_state,
};

static struct stillborn_watch stillborn_gets = {
	.name = "module_get", .probe = stillborn_get,
};

static void stillborn_find(struct tracepoint *tp, void *watch)
{
	struct stillborn_watch *w = watch;

	if (!strcmp(tp->name, w->name))
		w->tp = tp;
}

static int stillborn_switch(struct stillborn_watch *w, bool on)
{
	int err = 0;

	if (w->on == on)
		return 0;
	/* The tracepoints are the kernel's own, and not all exported by their names. */
	if (!w->tp)
		for_each_kernel_tracepoint(stillborn_find, w);
	if (!w->tp)
		return -ENOENT;
	if (on)
		err = tracepoint_probe_register(w->tp, w->probe, NULL);
	else
		tracepoint_probe_unregister(w->tp, w->probe, NULL);
	if (!err)
		w->on = on;
	return err;
}

/* Switches on what is needed, and off what is not.  Under the lock. */
static int stillborn_settle(void)
{
	int kernel = READ_ONCE(stillborn_kernel);
	int err;

	/* First of all: a clone whose references nobody counts seems to have none. */
	err = stillborn_switch(&stillborn_gets,
			       stillborn_users && kernel == STILLBORN_UNSEEN);
	if (err)
		return err;
	return stillborn_switch(&stillborn_states,
				stillborn_users && kernel != STILLBORN_TAKEN);
}

static void stillborn_settle_work(struct work_struct *work)
{
	mutex_lock(&stillborn_lock);
	stillborn_settle();
	mutex_unlock(&stillborn_lock);
	if (READ_ONCE(stillborn_kernel) == STILLBORN_TAKEN)
		pr_info("delaycc: this kernel takes the reference of a connection that ends in its handshake; no tracepoint is needed\n");
}

/* Puts to where from is; -ENOSPC: there is none. */
static int stillborn_replace(struct module *from, struct module *to)
{
	unsigned int i;

	for (i = 0; i < STILLBORN_OWNERS; i++) {
		if (stillborn_owners[i] != from)
			continue;
		WRITE_ONCE(stillborn_owners[i], to);
		stillborn_users += to ? 1 : -1;
		return 0;
	}
	return -ENOSPC;
}

/**
 * delaycc_stillborn_register() - take the references that TCP gives back unasked
 * @owner: an algorithm's module, before the algorithm can be chosen; NULL: built in
 *
 * A kernel without tracepoints keeps its defect.
 *
 * Return: 0, -ENOENT where there is no such tracepoint, -ENOSPC, or -ENOMEM
 */
int delaycc_stillborn_register(struct module *owner)
{
	int err;

	/* Nothing is removed without these. */
	if (!IS_ENABLED(CONFIG_TRACEPOINTS) || !IS_ENABLED(CONFIG_MODULE_UNLOAD) ||
	    !owner)
		return 0;
	mutex_lock(&stillborn_lock);
	err = stillborn_replace(NULL, owner);
	if (!err) {
		err = stillborn_settle();
		if (err) {
			stillborn_replace(owner, NULL);
			stillborn_settle();
		}
	}
	mutex_unlock(&stillborn_lock);
	return err;
}
EXPORT_SYMBOL_GPL(delaycc_stillborn_register);

/**
 * delaycc_stillborn_unregister() - end what delaycc_stillborn_register() began
 * @owner: the same module, after the algorithm has gone
 */
void delaycc_stillborn_unregister(struct module *owner)
{
	if (!IS_ENABLED(CONFIG_TRACEPOINTS) || !IS_ENABLED(CONFIG_MODULE_UNLOAD) ||
	    !owner)
		return;
	mutex_lock(&stillborn_lock);
	stillborn_replace(owner, NULL);
	stillborn_settle();
	mutex_unlock(&stillborn_lock);
	tracepoint_synchronize_unregister();
	flush_work(&stillborn_work);
}
EXPORT_SYMBOL_GPL(delaycc_stillborn_unregister);

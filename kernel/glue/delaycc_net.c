// SPDX-License-Identifier: GPL-2.0
/*
 * What delaycc's files ask of a namespace and of memory: a namespace's parts by
 * name, and memory for a socket.  It calls none of them, and all may call it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "delaycc.h"

unsigned int delaycc_net_id __read_mostly;

struct delaycc_net *delaycc_pernet(const struct net *net)
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

struct delaycc_devices *delaycc_net_devices(const struct net *net)
{
	return &delaycc_pernet(net)->devices;
}

/* ---- memory -------------------------------------------------------------- */

/*
 * Whom memory for a socket is charged to: the socket's memory cgroup, or without
 * one that of the calling process.  A connection that a listener has got belongs
 * to no process before accept(); its memory is not charged.
 */
static struct mem_cgroup *delaycc_charge(const struct sock *sk)
{
	return set_active_memcg(delaycc_sock_memcg(sk));
}

/* A connection opens in softirq. */
#define DELAYCC_GFP (GFP_ATOMIC | __GFP_ZERO | __GFP_NOWARN)

/**
 * delaycc_zalloc() - memory for a socket, charged to its memory cgroup
 * @sk: the socket
 * @size: in bytes
 *
 * To be freed by kfree().
 *
 * Return: zeroed memory, or NULL.
 */
void *delaycc_zalloc(const struct sock *sk, size_t size)
{
	struct mem_cgroup *before = delaycc_charge(sk);
	void *memory = kmalloc(size, DELAYCC_GFP | __GFP_ACCOUNT);

	set_active_memcg(before);
	return memory;
}
EXPORT_SYMBOL_GPL(delaycc_zalloc);

/**
 * delaycc_state_zalloc() - memory for a socket's state, charged to its memory cgroup
 * @sk: the socket
 * @cache: with SLAB_ACCOUNT
 *
 * To be freed by kmem_cache_free().
 *
 * Return: zeroed memory, or NULL.
 */
void *delaycc_state_zalloc(const struct sock *sk, struct kmem_cache *cache)
{
	struct mem_cgroup *before = delaycc_charge(sk);
	void *state = kmem_cache_alloc(cache, DELAYCC_GFP);

	set_active_memcg(before);
	return state;
}
EXPORT_SYMBOL_GPL(delaycc_state_zalloc);

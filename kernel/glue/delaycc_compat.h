/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels that delaycc builds for, 6.1 and later.
 *
 * Vendors backport, so a version number says little about a function's
 * prototype.  Everything here asks the compiler about the headers at hand.
 */
#ifndef DELAYCC_COMPAT_H
#define DELAYCC_COMPAT_H

#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/dst.h>
#include <net/ip6_checksum.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/* struct tcp_congestion_ops.cong_control got ack and flag as parameters (6.10). */
typedef void (*delaycc_cong_control2)(struct sock *sk,
				      const struct rate_sample *rs);

#define DELAYCC_CONG_CONTROL_IS_SHORT                                          \
	__builtin_types_compatible_p(                                          \
		typeof(((struct tcp_congestion_ops *)0)->cong_control),        \
		delaycc_cong_control2)

/* Picks the one of two functions that the running headers want. */
#define DELAYCC_CONG_CONTROL(short_fn, long_fn)                                \
	__builtin_choose_expr(DELAYCC_CONG_CONTROL_IS_SHORT, short_fn, long_fn)

/* A sysctl handler's table became const (6.11). */
typedef int delaycc_mutable_handler(struct ctl_table *table, int write,
				    void *buffer, size_t *lenp, loff_t *ppos);

#define DELAYCC_PROC_HANDLER(fn)                                               \
	__builtin_choose_expr(                                                 \
		__builtin_types_compatible_p(proc_handler,                     \
					     delaycc_mutable_handler),         \
		fn##_mutable, fn)

/* To stand behind fn(), whose table is const. */
#define DELAYCC_DEFINE_MUTABLE_HANDLER(fn)                                     \
	static int __maybe_unused fn##_mutable(struct ctl_table *table,        \
					       int write, void *buffer,        \
					       size_t *lenp, loff_t *ppos)     \
	{                                                                      \
		return fn(table, write, buffer, lenp, ppos);                   \
	}

/*
 * A table of n entries that is followed by an empty one.  Since 6.6 a macro
 * takes the size of an array; before that, the empty entry ends the table.
 */
static inline struct ctl_table_header *
delaycc_register_net_sysctl(struct net *net, const char *path,
			    struct ctl_table *table, size_t n)
{
#ifdef register_net_sysctl
	return register_net_sysctl_sz(net, path, table, n);
#else
	return register_net_sysctl(net, path, table);
#endif
}

/*
 * Does anyone but the module's own init() use it?  Built-in code has no count,
 * and neither has a kernel that cannot unload modules: there, someone may.
 */
static inline bool delaycc_module_is_used(void)
{
#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
	/* 1 is the reference of init(). */
	return module_refcount(THIS_MODULE) > 1;
#else
	return true;
#endif
}

/* Renamed when there came to be a second kind of ECN. */
#ifdef TCP_ECN_OK
#define DELAYCC_TCP_ECN_OK TCP_ECN_OK
#else
#define DELAYCC_TCP_ECN_OK TCP_ECN_MODE_RFC3168
#endif

/*
 * A route's device, under rcu_read_lock(): with that alone the device outlives
 * its route.  Kbuild has looked for the kernel's own function (6.18, and stable
 * kernels), which lets lockdep check the lock.
 */
static inline struct net_device *delaycc_dst_dev(const struct dst_entry *dst)
{
#ifdef DELAYCC_HAS_DST_DEV_RCU
	return dst_dev_rcu(dst);
#else
	return READ_ONCE(dst->dev);
#endif
}

/* NULL: of none, or not known yet. */
static inline struct mem_cgroup *delaycc_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sk->sk_memcg;
#else
	return NULL;
#endif
}

/* The checksum's part that TCP fills in; its own function was taken out of icsk_af_ops (7.2). */
static inline void delaycc_send_check(const struct sock *sk, struct sk_buff *skb)
{
	struct tcphdr *th = tcp_hdr(skb);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		th->check = ~tcp_v6_check(skb->len, &inet6_sk(sk)->saddr,
					  &sk->sk_v6_daddr, 0);
	else
#endif
		th->check = ~tcp_v4_check(skb->len, inet_sk(sk)->inet_saddr,
					  inet_sk(sk)->inet_daddr, 0);
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
}

#endif /* DELAYCC_COMPAT_H */

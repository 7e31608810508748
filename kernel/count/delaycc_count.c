// SPDX-License-Identifier: GPL-2.0
/*
 * delaycc_count.ko: the receiver's count of flows, carried by its ACKs.
 *
 * A law whose gains depend on the number of flows that share the receiver's
 * link (SQCC) needs that number, and only the receiver can count it.  This module
 * is both ends: a receiver writes N into the pure ACKs that it sends, a sender
 * reads N from the ACKs that it gets.  core/dcc_option.h has the option,
 * docs/operate/flow-count.md what users should know.
 *
 * TCP has no hook for its options, so the module uses netfilter's hooks of local
 * packets.  A namespace has these hooks only while it needs them: to write, while
 * net.ipv4.delaycc.count_flows is set; to read, while it has sockets whose
 * algorithm has asked (delaycc_count_open()).  The module is separate, so that
 * other algorithms do not need netfilter, and a host that only receives can load
 * it without an algorithm.
 *
 * Counting
 *   A socket that gets data has to acknowledge it.  The receiver therefore counts
 *   in the output path alone: a segment that a full socket sends shows whether
 *   that socket has got anything since its last segment.  A sender outside the
 *   connection's window cannot forge that, and packets that arrive look nothing
 *   up.
 *
 *   N is the number of sockets whose newest data is younger than
 *   count_active_us.  delaycc_flows.h has the table that they are counted in.
 *
 *   The table is allocated with the hooks, for few flows, and a larger one
 *   replaces it when there are many.  Its memory is charged to the memory cgroup
 *   of the process that last wrote one of the parameters.
 */
#include <linux/hash.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "core/dcc_option.h"
#include "glue/delaycc.h"
#include "delaycc_count.h"
#include "delaycc_flows.h"

/* Hooks for reading stay this long behind the last socket that wanted them. */
#define COUNT_LINGER (10 * HZ)

/* A sender forgets N after this time without an option, and at least 8 RTTs. */
#define COUNT_STALE_MS 20

enum {
	COUNT_FLOWS,
	COUNT_ACTIVE_US,
	COUNT_PARAMS,
};

/* Values of count_flows. */
#define COUNT_FLOWS_ALL 1   /* every flow's sender gets a report */
#define COUNT_FLOWS_ALIKE 2 /* flows whose socket here also runs an algorithm that wants N */

static const struct delaycc_param count_params[COUNT_PARAMS] = {
	/* Off by default: an experimental option must be asked for (RFC 4727, RFC 6994). */
	[COUNT_FLOWS] = {
		.name = "count_flows",
		.min = COUNT_FLOWS_ALL, .max = COUNT_FLOWS_ALIKE,
		.zero_ok = true,
	},
	/*
	 * 1000 flows that share 10 Gbit/s equally send one packet of 1000 bytes
	 * per 0.8 ms each, and two make an ACK; shares are not equal.
	 */
	[COUNT_ACTIVE_US] = {
		.name = "count_active_us",
		.def = 10000, .min = 100, .max = 10000000,
	},
};

struct count_stats {
	u64 written;
	u64 no_room;
	u64 read;
	u64 refused;
};

struct count_net {
	struct delaycc_values values;
	struct net *net;
	struct flows_table __rcu *table; /* while ACKs are written; only the work changes it */
	struct count_stats __percpu *stats;
	atomic_t wanting; /* sockets whose algorithm wants N */
	unsigned long unwanted; /* since when there is none, in jiffies */
	struct delayed_work arrange;
	bool reads, writes; /* has these hooks; only the work changes it */
	spinlock_t lock;    /* for charged; for gone, against the work being armed again */
	struct mem_cgroup *charged; /* with the table's memory; held */
	bool gone;
};

/*
 * A connection from its local end.  IPv4 addresses are mapped into IPv6, as
 * sockets of both families may carry IPv4.
 */
struct count_key {
	const struct net *net;
	struct in6_addr local;
	struct in6_addr remote;
	__be16 local_port;
	__be16 remote_port;
	u32 zero; /* keys are compared as bytes */
};

/* A look-up: a connection, and which socket of it. */
struct count_wanted {
	struct count_key key;
	const struct sock *sk; /* this socket; NULL: */
	int ifindex, iifindex; /* the socket that a packet of these devices is for */
};

struct delaycc_report {
	struct rhash_head node;
	struct count_key key;
	const struct sock *sk;
	u32 flows;
	unsigned long reported; /* when, in jiffies */
	struct rcu_head rcu;
};

static unsigned int count_net_id __read_mostly;
static struct workqueue_struct *count_queue;

static struct count_net *count_pernet(const struct net *net)
{
	return net_generic(net, count_net_id);
}

/* ---- how many flows ---------------------------------------------------- */

/* Whether data came within about active_us, to the resolution of a jiffy. */
static bool count_has_data(const struct sock *sk, u32 active_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 age = tcp_jiffies32 -
		  READ_ONCE(inet_csk(sk)->icsk_ack.lrcvtime);

	/* Data out of order does not move lrcvtime. */
	if (!RB_EMPTY_ROOT(&tp->out_of_order_queue))
		return true;
	/* The handshake moves it without any data. */
	return tp->bytes_received && age <= usecs_to_jiffies(active_us);
}

/*
 * A socket sends.  Returns N if it is an active receiver, else 0.
 *
 * TCP's lock keeps this to one processor per socket.  (A packet that netfilter
 * has queued to user space comes without it: then N may be off by one.)
 */
static u32 count_flow(struct flows_table *t, const struct sock *sk,
		      u32 active_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (sock_flag(sk, SOCK_DONE)) {
		/* The peer has said that nothing more will come. */
		if (READ_ONCE(t->flows))
			flows_forget(t, sk);
		return 0;
	}
	/* A socket that only sends is not looked up. */
	if (!count_has_data(sk, active_us))
		return 0;
	return flows_note(t, sk, READ_ONCE(tp->rcv_nxt) + tp->rcv_ooopack,
			  ktime_get_ns(), active_us);
}

/* ---- reports, by socket ------------------------------------------------ */

static int count_compare(struct rhashtable_compare_arg *arg, const void *object)
{
	const struct count_wanted *wanted = arg->key;
	const struct delaycc_report *report = object;
	int bound;

	if (memcmp(&report->key, &wanted->key, sizeof(report->key)))
		return 1;
	if (wanted->sk)
		return report->sk != wanted->sk;
	/* Devices of several VRFs may have connections with the same addresses and ports. */
	bound = READ_ONCE(report->sk->sk_bound_dev_if);
	return bound && bound != wanted->ifindex && bound != wanted->iifindex;
}

static struct rhashtable count_reports;

static const struct rhashtable_params count_reports_params = {
	.head_offset = offsetof(struct delaycc_report, node),
	.key_offset = offsetof(struct delaycc_report, key),
	.key_len = sizeof(struct count_key),
	.obj_cmpfn = count_compare,
	.automatic_shrinking = true,
};

static void count_socket_key(const struct sock *sk, struct count_key *key)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(key, 0, sizeof(*key));
	key->net = sock_net(sk);
	if (sk->sk_family == AF_INET) {
		ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, &key->local);
		ipv6_addr_set_v4mapped(inet->inet_daddr, &key->remote);
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		/* IPv4 over an IPv6 socket is mapped here as well. */
		key->local = sk->sk_v6_rcv_saddr;
		key->remote = sk->sk_v6_daddr;
	}
#endif
	key->local_port = inet->inet_sport;
	key->remote_port = inet->inet_dport;
}

/*
 * Arranges hooks and table as the namespace needs them, after the delay.  A
 * delay does not put off an arrangement that is due sooner.
 */
static void count_arrange_later(struct count_net *cn, unsigned long delay)
{
	spin_lock_bh(&cn->lock);
	if (cn->gone)
		;
	else if (delay)
		queue_delayed_work(count_queue, &cn->arrange, delay);
	else
		mod_delayed_work(count_queue, &cn->arrange, 0);
	spin_unlock_bh(&cn->lock);
}

/**
 * delaycc_count_open() - begin to note the receiver's reports to a socket
 * @sk: an established socket, locked
 *
 * The first such socket makes its namespace read ACKs, shortly after.
 *
 * Return: a handle for the other two functions; NULL without memory, which they
 * take for a receiver that never reports.
 */
struct delaycc_report *delaycc_count_open(struct sock *sk)
{
	struct count_net *cn = count_pernet(sock_net(sk));
	struct delaycc_report *report = delaycc_zalloc(sk, sizeof(*report));

	if (!report)
		return NULL;
	report->sk = sk;
	count_socket_key(sk, &report->key);
	if (rhashtable_insert_fast(&count_reports, &report->node,
				   count_reports_params)) {
		kfree(report);
		return NULL;
	}
	if (atomic_inc_return(&cn->wanting) == 1)
		count_arrange_later(cn, 0);
	return report;
}
EXPORT_SYMBOL_GPL(delaycc_count_open);

/**
 * delaycc_count_close() - stop noting the receiver's reports
 * @report: from delaycc_count_open(), or NULL
 */
void delaycc_count_close(struct delaycc_report *report)
{
	struct count_net *cn;

	if (!report)
		return;
	cn = count_pernet(report->key.net);
	rhashtable_remove_fast(&count_reports, &report->node, count_reports_params);
	kfree_rcu(report, rcu);
	/* Before other processors can see that there is none. */
	WRITE_ONCE(cn->unwanted, jiffies);
	if (atomic_dec_and_test(&cn->wanting))
		count_arrange_later(cn, COUNT_LINGER);
}
EXPORT_SYMBOL_GPL(delaycc_count_close);

/**
 * delaycc_count_flows() - the receiver's newest report
 * @sk: the socket, locked
 * @report: from delaycc_count_open(), or NULL
 *
 * Return: N, 1..DCC_OPTION_FLOWS_MAX; 0: none reported, or not lately.
 */
u32 delaycc_count_flows(const struct sock *sk, const struct delaycc_report *report)
{
	unsigned long stale;
	u32 flows;

	if (!report)
		return 0;
	flows = READ_ONCE(report->flows);
	if (!flows)
		return 0;
	/* srtt_us has eighths: 8 RTTs. */
	stale = max(msecs_to_jiffies(COUNT_STALE_MS),
		    usecs_to_jiffies(tcp_sk(sk)->srtt_us));
	return time_after(jiffies, READ_ONCE(report->reported) + stale) ? 0 : flows;
}
EXPORT_SYMBOL_GPL(delaycc_count_flows);

/* ---- a receiver's packets ---------------------------------------------- */

static bool count_is_wanted_by(const struct sock *sk)
{
	struct count_wanted wanted = { .sk = sk };

	count_socket_key(sk, &wanted.key);
	return rhashtable_lookup_fast(&count_reports, &wanted, count_reports_params);
}

/* Whether a segment of so many bytes is an ACK, its options, and nothing else. */
static bool count_is_pure_ack(const struct tcphdr *th, unsigned int size)
{
	return th->ack && !th->syn && !th->fin && !th->rst && !th->urg &&
	       th->doff * 4 == size;
}

/* Puts the option behind the others.  False: the packet is as it was. */
static bool count_write(struct sk_buff *skb, u32 flows)
{
	unsigned int network_size = skb_transport_offset(skb) -
				    skb_network_offset(skb);
	unsigned int tcp_size = tcp_hdrlen(skb);
	struct tcphdr *th = tcp_hdr(skb);
	u8 *before = skb->data;

	/*
	 * TCP has filled in the pseudo-header's part of the checksum, the rest
	 * comes later.  Any other packet is not TCP's own.
	 */
	if (skb->ip_summed != CHECKSUM_PARTIAL || skb_is_gso(skb) ||
	    skb_is_nonlinear(skb) || skb_cloned(skb) ||
	    skb_network_offset(skb) ||
	    skb_headroom(skb) < DCC_OPTION_BYTES ||
	    skb->len + DCC_OPTION_BYTES > dst_mtu(skb_dst(skb)))
		return false;
	if (!dcc_option_fits((u8 *)(th + 1), tcp_size - sizeof(*th)))
		return false;

	/* TCP leaves much headroom in front of an ACK, and perhaps no tailroom. */
	skb_push(skb, DCC_OPTION_BYTES);
	memmove(skb->data, before, network_size + tcp_size);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, network_size);
	skb->csum_start -= DCC_OPTION_BYTES;

	th = tcp_hdr(skb);
	dcc_option_write((u8 *)th + tcp_size, flows);
	th->doff += DCC_OPTION_BYTES / 4;
	inet_proto_csum_replace2(&th->check, skb, htons(tcp_size),
				 htons(tcp_size + DCC_OPTION_BYTES), true);
	if (skb->protocol == htons(ETH_P_IP)) {
		ip_hdr(skb)->tot_len = htons(skb->len);
		ip_send_check(ip_hdr(skb));
	} else {
		ipv6_hdr(skb)->payload_len = htons(skb->len -
						   sizeof(struct ipv6hdr));
	}
	return true;
}

static void count_sent(struct count_net *cn, const struct sock *sk,
		       struct sk_buff *skb)
{
	int how = delaycc_value(&cn->values, COUNT_FLOWS);
	struct flows_table *t = rcu_dereference(cn->table);
	const struct tcphdr *th = tcp_hdr(skb);
	u32 flows;

	if (unlikely(!t || th->syn || th->rst))
		return;
	flows = count_flow(t, sk, delaycc_value(&cn->values, COUNT_ACTIVE_US));
	if (unlikely(flows > READ_ONCE(t->crowded)))
		count_arrange_later(cn, 0);
	if (!flows ||
	    !count_is_pure_ack(th, skb->len - skb_transport_offset(skb)))
		return;
	if (how != COUNT_FLOWS_ALL && !count_is_wanted_by(sk))
		return;
	if (count_write(skb, flows))
		this_cpu_inc(cn->stats->written);
	else
		this_cpu_inc(cn->stats->no_room);
}

/*
 * A socket's own segment, with its lock held.  A tunnel's packet may have an
 * inner connection's socket, TCP's answers without a connection have a raw one.
 */
static const struct sock *count_sender(const struct sk_buff *skb,
				       const struct nf_hook_state *state)
{
	const struct sock *sk = skb->sk;

	if (!sk || !sk_fullsock(sk) || sk->sk_type != SOCK_STREAM ||
	    sk->sk_protocol != IPPROTO_TCP)
		return NULL;
	/* The loopback has no queue to control. */
	if (state->out->flags & IFF_LOOPBACK)
		return NULL;
	return sk;
}

static unsigned int count_out(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	const struct sock *sk = count_sender(skb, state);

	if (sk && ip_hdr(skb)->protocol == IPPROTO_TCP)
		count_sent(count_pernet(state->net), sk, skb);
	return NF_ACCEPT;
}

#if IS_ENABLED(CONFIG_IPV6)
/* The offset of TCP's header; negative: none, or in another fragment. */
static int count_tcp_offset6(const struct sk_buff *skb)
{
	u8 next = ipv6_hdr(skb)->nexthdr;
	__be16 fragment;
	int at = skb_network_offset(skb) + sizeof(struct ipv6hdr);

	if (next == IPPROTO_TCP)
		return at;
	at = ipv6_skip_exthdr(skb, at, &next, &fragment);
	return next == IPPROTO_TCP && !fragment ? at : -1;
}

static unsigned int count_out6(void *priv, struct sk_buff *skb,
			       const struct nf_hook_state *state)
{
	const struct sock *sk = count_sender(skb, state);

	if (sk && count_tcp_offset6(skb) == skb_transport_offset(skb))
		count_sent(count_pernet(state->net), sk, skb);
	return NF_ACCEPT;
}
#endif

/* ---- a sender's packets ------------------------------------------------ */

/*
 * Whether TCP would take this for an ACK of something that the socket has sent.
 * Read without its lock: an ACK that is newer than the fields may be refused.
 */
static bool count_is_plausible(const struct sock *sk, const struct tcphdr *th)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 seq = ntohl(th->seq);
	u32 ack = ntohl(th->ack_seq);

	/*
	 * The socket may be another one by now: its memory stays a TCP socket's
	 * until all readers are gone (SLAB_TYPESAFE_BY_RCU).
	 */
	return !before(ack, READ_ONCE(tp->snd_una)) &&
	       !after(ack, READ_ONCE(tp->write_seq)) &&
	       !before(seq, READ_ONCE(tp->rcv_wup)) &&
	       !after(seq, READ_ONCE(tp->rcv_nxt) + READ_ONCE(tp->rcv_wnd));
}

/* An ACK that TCP has not checked yet; it comes after this hook. */
static void count_arrived(struct sk_buff *skb, int at, u8 family,
			  struct count_wanted *wanted)
{
	struct count_net *cn = count_pernet(wanted->key.net);
	u8 area[DCC_OPTION_SPACE];
	struct delaycc_report *report;
	struct tcphdr head;
	const struct tcphdr *th;
	const u8 *options;
	unsigned int size;
	u32 flows;

	th = skb_header_pointer(skb, at, sizeof(head), &head);
	if (!th || th->doff * 4 < sizeof(*th) + DCC_OPTION_BYTES ||
	    !count_is_pure_ack(th, skb->len - at))
		return;
	size = th->doff * 4 - sizeof(*th);
	options = skb_header_pointer(skb, at + sizeof(*th), size, area);
	if (!options)
		return;
	flows = dcc_option_flows(options, size);
	if (!flows)
		return;

	wanted->key.local_port = th->dest;
	wanted->key.remote_port = th->source;
	wanted->ifindex = skb->dev->ifindex;
	wanted->iifindex = skb->skb_iif;
	report = rhashtable_lookup_fast(&count_reports, wanted, count_reports_params);
	if (!report)
		return;
	if (!count_is_plausible(report->sk, th) ||
	    nf_checksum(skb, NF_INET_LOCAL_IN, at, IPPROTO_TCP, family)) {
		this_cpu_inc(cn->stats->refused);
		return;
	}
	WRITE_ONCE(report->reported, jiffies);
	WRITE_ONCE(report->flows, flows);
	this_cpu_inc(cn->stats->read);
}

static unsigned int count_in(void *priv, struct sk_buff *skb,
			     const struct nf_hook_state *state)
{
	struct count_wanted wanted = { .key.net = state->net };
	const struct iphdr *iph = ip_hdr(skb);

	if (iph->protocol != IPPROTO_TCP || ip_is_fragment(iph))
		return NF_ACCEPT;
	ipv6_addr_set_v4mapped(iph->daddr, &wanted.key.local);
	ipv6_addr_set_v4mapped(iph->saddr, &wanted.key.remote);
	count_arrived(skb, skb_network_offset(skb) + ip_hdrlen(skb), AF_INET,
		      &wanted);
	return NF_ACCEPT;
}

#if IS_ENABLED(CONFIG_IPV6)
static unsigned int count_in6(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	struct count_wanted wanted = { .key.net = state->net };
	int at = count_tcp_offset6(skb);

	if (at < 0)
		return NF_ACCEPT;
	wanted.key.local = ipv6_hdr(skb)->daddr;
	wanted.key.remote = ipv6_hdr(skb)->saddr;
	count_arrived(skb, at, AF_INET6, &wanted);
	return NF_ACCEPT;
}
#endif

/* ---- a namespace ------------------------------------------------------- */

/* After all other hooks: addresses are the socket's, and dropped packets do not arrive. */
static const struct nf_hook_ops count_read_hooks[] = {
	{
		.hook = count_in,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = count_in6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP6_PRI_LAST,
	},
#endif
};

static const struct nf_hook_ops count_write_hooks[] = {
	{
		.hook = count_out,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP_PRI_LAST,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = count_out6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP6_PRI_LAST,
	},
#endif
};

static int count_begin_to_read(struct count_net *cn)
{
	int err = nf_register_net_hooks(cn->net, count_read_hooks,
					ARRAY_SIZE(count_read_hooks));

	cn->reads = !err;
	return err;
}

static void count_end_to_read(struct count_net *cn)
{
	nf_unregister_net_hooks(cn->net, count_read_hooks,
				ARRAY_SIZE(count_read_hooks));
	cn->reads = false;
}

static void count_table_free(struct flows_table *t)
{
	if (t)
		kvfree(t->set);
	kfree(t);
}

/* Memory is charged to the process that has asked for the count. */
static struct flows_table *count_table_new(struct count_net *cn, u32 sets_log)
{
	struct mem_cgroup *charged, *before;
	struct flows_table *t;
	void *set = NULL;

	spin_lock_bh(&cn->lock);
	charged = cn->charged;
	cn->charged = NULL;
	spin_unlock_bh(&cn->lock);

	before = set_active_memcg(charged);
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (t)
		set = kvzalloc(flows_sets_bytes(sets_log), GFP_KERNEL_ACCOUNT);
	set_active_memcg(before);

	spin_lock_bh(&cn->lock);
	/* Unless another process has asked meanwhile. */
	if (!cn->charged)
		swap(cn->charged, charged);
	spin_unlock_bh(&cn->lock);
	mem_cgroup_put(charged);

	if (!set) {
		kfree(t);
		return NULL;
	}
	flows_init(t, set, sets_log);
	return t;
}

static int count_begin_to_write(struct count_net *cn)
{
	struct flows_table *t = count_table_new(cn, FLOWS_SETS_LOG_MIN);
	int err;

	if (!t)
		return -ENOMEM;
	rcu_assign_pointer(cn->table, t);
	err = nf_register_net_hooks(cn->net, count_write_hooks,
				    ARRAY_SIZE(count_write_hooks));
	if (err) {
		RCU_INIT_POINTER(cn->table, NULL);
		/* A reader of /proc may be using it. */
		synchronize_rcu();
		count_table_free(t);
	}
	cn->writes = !err;
	return err;
}

static void count_end_to_write(struct count_net *cn)
{
	struct flows_table *t = rcu_dereference_protected(cn->table, true);

	nf_unregister_net_hooks(cn->net, count_write_hooks,
				ARRAY_SIZE(count_write_hooks));
	cn->writes = false;
	RCU_INIT_POINTER(cn->table, NULL);
	synchronize_rcu();
	count_table_free(t);
}

/* A larger table, if there are too many flows for this one. */
static int count_grow(struct count_net *cn)
{
	struct flows_table *old = rcu_dereference_protected(cn->table, true);
	struct flows_table *t;

	if (READ_ONCE(old->flows) <= old->crowded)
		return 0;
	t = count_table_new(cn, min(old->sets_log + FLOWS_GROWTH_LOG,
				    (u32)FLOWS_SETS_LOG_MAX));
	if (!t) {
		/* Keep the old table; some flows will not be counted. */
		WRITE_ONCE(old->crowded, U32_MAX);
		return -ENOMEM;
	}
	flows_move(t, old, &cn->table);
	synchronize_rcu();
	count_table_free(old);
	return 0;
}

static void count_arrange(struct work_struct *work)
{
	struct count_net *cn = container_of(work, struct count_net,
					    arrange.work);
	int how = delaycc_value(&cn->values, COUNT_FLOWS);
	bool wanted = atomic_read(&cn->wanting) > 0;
	unsigned long end = READ_ONCE(cn->unwanted) + COUNT_LINGER;
	unsigned long now = jiffies;
	bool write;
	int err = 0;

	if (!wanted && cn->reads && time_before(now, end)) {
		wanted = true;
		count_arrange_later(cn, end - now);
	}
	write = how == COUNT_FLOWS_ALL || (how == COUNT_FLOWS_ALIKE && wanted);
	if (wanted && !cn->reads)
		err = count_begin_to_read(cn);
	else if (!wanted && cn->reads)
		count_end_to_read(cn);
	if (!err && write && !cn->writes)
		err = count_begin_to_write(cn);
	else if (!write && cn->writes)
		count_end_to_write(cn);
	else if (cn->writes)
		err = count_grow(cn);
	if (err)
		pr_warn_ratelimited("delaycc: the count of flows does not work in a namespace, or leaves some out: error %d\n",
				    err);
}

/* After a write to a parameter: hooks and table are as it asks when the write returns. */
static void count_changed(struct delaycc_values *values)
{
	struct count_net *cn = container_of(values, struct count_net, values);
	struct mem_cgroup *charged = NULL;

	if (delaycc_value(values, COUNT_FLOWS))
		charged = get_mem_cgroup_from_mm(current->mm);
	spin_lock_bh(&cn->lock);
	swap(cn->charged, charged);
	spin_unlock_bh(&cn->lock);
	mem_cgroup_put(charged);

	count_arrange_later(cn, 0);
	flush_delayed_work(&cn->arrange);
}

static int count_show(struct seq_file *m, void *unused)
{
	struct count_net *cn = count_pernet(seq_file_single_net(m));
	struct count_stats sum = {};
	struct flows_table *t;
	u32 flows = 0;
	int cpu;

	rcu_read_lock();
	t = rcu_dereference(cn->table);
	if (t)
		flows = flows_now(t, ktime_get_ns(),
				  delaycc_value(&cn->values, COUNT_ACTIVE_US));
	rcu_read_unlock();
	for_each_possible_cpu(cpu) {
		const struct count_stats *stats = per_cpu_ptr(cn->stats, cpu);

		sum.written += READ_ONCE(stats->written);
		sum.no_room += READ_ONCE(stats->no_room);
		sum.read += READ_ONCE(stats->read);
		sum.refused += READ_ONCE(stats->refused);
	}
	seq_printf(m, "flows %u\nwritten %llu\nno_room %llu\nread %llu\nrefused %llu\n",
		   flows, sum.written, sum.no_room, sum.read, sum.refused);
	return 0;
}

static int __net_init count_net_init(struct net *net)
{
	struct count_net *cn = count_pernet(net);
	int err = -ENOMEM;

	cn->net = net;
	spin_lock_init(&cn->lock);
	INIT_DELAYED_WORK(&cn->arrange, count_arrange);
	cn->stats = alloc_percpu_gfp(struct count_stats, GFP_KERNEL_ACCOUNT);
	if (!cn->stats)
		return -ENOMEM;
#ifdef CONFIG_PROC_FS
	if (!proc_create_net_single("delaycc_count", 0444, net->proc_net,
				    count_show, NULL))
		goto free_stats;
#endif
	cn->values.changed = count_changed;
	err = delaycc_sysctl_register(net, "net/ipv4/delaycc", count_params,
				      COUNT_PARAMS, NULL, &cn->values);
	if (err)
		goto remove_proc;
	return 0;

remove_proc:
	remove_proc_entry("delaycc_count", net->proc_net);
free_stats:
	free_percpu(cn->stats);
	return err;
}

/* All packets that are in a hook now are out of it before the exit. */
static void __net_exit count_net_pre_exit(struct net *net)
{
	struct count_net *cn = count_pernet(net);

	spin_lock_bh(&cn->lock);
	cn->gone = true;
	spin_unlock_bh(&cn->lock);
	cancel_delayed_work_sync(&cn->arrange);
	if (cn->reads)
		count_end_to_read(cn);
	if (cn->writes)
		nf_unregister_net_hooks(net, count_write_hooks,
					ARRAY_SIZE(count_write_hooks));
}

static void __net_exit count_net_exit(struct net *net)
{
	struct count_net *cn = count_pernet(net);

	delaycc_sysctl_unregister(&cn->values);
	remove_proc_entry("delaycc_count", net->proc_net);
	count_table_free(rcu_dereference_protected(cn->table, true));
	RCU_INIT_POINTER(cn->table, NULL);
	mem_cgroup_put(cn->charged);
	free_percpu(cn->stats);
}

static struct pernet_operations count_net_ops = {
	.init = count_net_init,
	.pre_exit = count_net_pre_exit,
	.exit = count_net_exit,
	.id = &count_net_id,
	.size = sizeof(struct count_net),
};

static int __init count_module_init(void)
{
	int err;

	count_queue = alloc_workqueue("delaycc_count", WQ_UNBOUND, 0);
	if (!count_queue)
		return -ENOMEM;
	err = rhashtable_init(&count_reports, &count_reports_params);
	if (err)
		goto destroy_queue;
	err = register_pernet_subsys(&count_net_ops);
	if (err)
		goto destroy_reports;
	return 0;

destroy_reports:
	rhashtable_destroy(&count_reports);
destroy_queue:
	destroy_workqueue(count_queue);
	return err;
}

static void __exit count_module_exit(void)
{
	/* No algorithm is loaded any more that could have sockets in the table. */
	unregister_pernet_subsys(&count_net_ops);
	rhashtable_destroy(&count_reports);
	destroy_workqueue(count_queue);
	/* A pending kfree_rcu() needs no code of this module. */
}

module_init(count_module_init);
module_exit(count_module_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("The receiver's count of flows in a TCP option");
MODULE_LICENSE("GPL");
MODULE_VERSION(DELAYCC_VERSION);

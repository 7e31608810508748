// SPDX-License-Identifier: GPL-2.0
/*
 * One socket: its path, its samples in nanoseconds, its window and pacing.
 *
 * This file reads and writes the socket; core/dcc_tcp.h has the arithmetic.
 *
 * The kernel's own RTT has microseconds, of which a datacenter path has a
 * dozen.  Each packet carries its departure time in nanoseconds while it waits
 * for its ACK, but a congestion control hook runs after the acknowledged
 * packets are gone.  At the end of an ACK delaycc_note_sent() therefore copies
 * the send times of the next packets from the head of the retransmit queue, where
 * too few are left for the next ACK: each packet's is copied about once.  A packet
 * may leave and be acknowledged before the next ACK, so each transmission call
 * also adds the packet that it is about to send.
 *
 * A remembered time counts only if it agrees with the kernel's own RTT in
 * microseconds (dcc_sampler_send_ns()).  An error in this bookkeeping thus costs
 * half a microsecond, never a wrong sample.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/tcp.h>

#include "delaycc.h"

/* A hold shorter than this is not worth moving: a full packet at 6 Gbit/s. */
#define DELAYCC_SHORT_HOLD_NS 2000U

/* dcc_tcp.h has the kernel's numbers. */
static_assert(TCP_CA_Open == DCC_TCP_CA_OPEN);
static_assert(TCP_CA_CWR == DCC_TCP_CA_CWR);
static_assert(TCP_CA_Recovery == DCC_TCP_CA_RECOVERY);
static_assert(TCP_CA_Loss == DCC_TCP_CA_LOSS);

/* The socket's fields, for dcc_tcp.h; those of the rate sample are the caller's. */
static void delaycc_view(const struct sock *sk, struct dcc_tcp_view *v)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	v->now_ns = tp->tcp_clock_cache;
	v->now_us = tp->tcp_mstamp;
	v->bytes_acked = tp->bytes_acked;
	v->snd_nxt = tp->snd_nxt;
	v->delivered = tp->delivered;
	v->packets_out = tp->packets_out;
	v->sacked_out = tp->sacked_out;
	v->total_retrans = tp->total_retrans;
	v->data_segs_in = tp->data_segs_in;
	v->ca_state = inet_csk(sk)->icsk_ca_state;
	v->all_sent = tcp_write_queue_empty(sk);
	v->rwnd_limited = tp->chrono_type == TCP_CHRONO_RWND_LIMITED;
}

/* ---- the path ---------------------------------------------------------- */

/* The base RTT that a route metric sets; 0: none. */
static u32 delaycc_route_rtt_ns(const struct dst_entry *dst)
{
	/* `ip route ... rtt` stores eighths of a millisecond. */
	u64 rtt_ns = (u64)dst_metric(dst, RTAX_RTT) * (NSEC_PER_MSEC / 8);

	return min_t(u64, rtt_ns, DCC_PATH_RTT_MAX_NS);
}

/*
 * Configured base RTT and noise, the most specific first: prefix table, route
 * metric (which has no noise), sysctls; 0: none.
 */
static struct delaycc_path_values
delaycc_configured_path(const struct sock *sk, const struct dst_entry *dst,
			const struct delaycc_values *values)
{
	struct delaycc_path_values path =
		delaycc_paths_values(delaycc_net_paths(sock_net(sk)), sk);

	if (!path.base_rtt_ns && dst)
		path.base_rtt_ns = delaycc_route_rtt_ns(dst);
	path.base_rtt_ns = path.base_rtt_ns ?: delaycc_value(values, DELAYCC_BASE_RTT_NS);
	path.noise_ns = path.noise_ns ?: delaycc_value(values, DELAYCC_NOISE_NS);
	return path;
}

static u32 delaycc_header_bytes(const struct sock *sk, u32 overhead)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);

	return icsk->icsk_af_ops->net_header_len + icsk->icsk_ext_hdr_len +
	       tcp_sk(sk)->tcp_header_len + overhead;
}

static u64 delaycc_line_rate_bps(const struct sock *sk,
				 const struct net_device *dev,
				 const struct delaycc_values *values)
{
	u32 mbps = delaycc_value(values, DELAYCC_LINE_RATE_MBPS);

	if (!mbps && dev)
		mbps = delaycc_device_mbps(sock_net(sk), dev);
	return (u64)min_t(u32, mbps, 800000) * 1000000;
}

/* Limit 0: the device's own.  Returns the limit in force; 0: no offload. */
static u32 delaycc_limit_tso(struct sock *sk, const struct net_device *dev,
			     u32 limit)
{
	u32 segs;

	if (!dev || !sk_can_gso(sk))
		return 0;
	segs = clamp_t(u32, READ_ONCE(dev->gso_max_segs), 1, U16_MAX);
	if (limit)
		segs = min(segs, limit);
	sk->sk_gso_max_segs = segs;
	return segs;
}

/*
 * TCP lets a socket put 1 ms of its pace into the queues of its own host (small
 * queues), and never less than two packets.  Windows of a base RTT are smaller:
 * flows that share a fast port wait in it as in a switch, and each takes that
 * wait for congestion of its path.  The limit is 2^-sk_pacing_shift seconds.
 */
static void delaycc_limit_host_queue(struct sock *sk,
				     const struct delaycc_sock *ds, u32 ns)
{
	u8 shift = ds->tcp_pacing_shift;

	if (ns)
		shift = order_base_2(NSEC_PER_SEC / ns);
	WRITE_ONCE(sk->sk_pacing_shift, shift);
}

/* NULL: the socket has no route.  Under rcu_read_lock(). */
static struct net_device *delaycc_path_dev(struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get(sk);

	return dst ? delaycc_dst_dev(dst) : NULL;
}

/*
 * Reads everything that the path is made from.  False: the line rate is unknown.
 *
 * Under rcu_read_lock(): TCP calls the hooks also from release_sock(), in process
 * context, where a device may be removed meanwhile.
 */
static bool delaycc_path_read(struct sock *sk, struct delaycc_sock *ds)
{
	const struct delaycc_values *values = delaycc_net_values(sock_net(sk));
	const struct net_device *dev = delaycc_path_dev(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dst_entry *dst = __sk_dst_get(sk);
	const u32 overhead = delaycc_value(values, DELAYCC_LINK_OVERHEAD_BYTES);
	const struct delaycc_path_values path = delaycc_configured_path(sk, dst, values);
	const struct dcc_path_config config = {
		/* 0: a route to the loopback, which keeps what was known before. */
		.line_rate_bps = delaycc_line_rate_bps(sk, dev, values),
		.line_configured = delaycc_value(values, DELAYCC_LINE_RATE_MBPS) != 0,
		.base_rtt_ns = path.base_rtt_ns,
		.noise_ns = path.noise_ns,
		.moved = dev && ds->ifindex && dev->ifindex != ds->ifindex,
	};

	ds->generation = delaycc_generation(values);
	dcc_tcp_configure(&ds->tcp, tp->mss_cache, delaycc_header_bytes(sk, overhead), &config);

	ds->max_tso_segs = delaycc_value(values, DELAYCC_MAX_TSO_SEGS);
	ds->burst_max = delaycc_limit_tso(sk, dev, ds->max_tso_segs);
	delaycc_limit_host_queue(sk, ds, delaycc_value(values, DELAYCC_HOST_QUEUE_NS));
	if (dst) {
		if (ds->dst != dst) {
			dst_release(ds->dst);
			/* A route that is just going is replaced at the next call. */
			ds->dst = dst_hold_safe(dst) ? dst : NULL;
		}
		ds->ifindex = dev->ifindex;
	}
	return ds->tcp.model.path.line_rate_bps;
}

/**
 * delaycc_path_update() - notice a new route, packet size or parameter
 * @sk: the socket
 * @ds: its state
 *
 * Return: true if @ds->tcp.model.path has changed.
 */
bool delaycc_path_update(struct sock *sk, struct delaycc_sock *ds)
{
	const struct delaycc_values *values = delaycc_net_values(sock_net(sk));
	const struct dst_entry *dst = __sk_dst_get(sk);
	struct dcc_path before;

	if (likely(ds->generation == delaycc_generation(values) &&
		   ds->tcp.sampler.mss == tcp_sk(sk)->mss_cache &&
		   (ds->dst == dst || !dst)))
		return false;

	before = ds->tcp.model.path;
	rcu_read_lock();
	delaycc_path_read(sk, ds);
	rcu_read_unlock();
	return !dcc_same_path(&before, &ds->tcp.model.path);
}
EXPORT_SYMBOL_GPL(delaycc_path_update);

/* ---- the path memory ----------------------------------------------------- */

static u32 delaycc_memory_lifetime_s(const struct sock *sk)
{
	return delaycc_value(delaycc_net_values(sock_net(sk)),
			     DELAYCC_PATH_MEMORY_S);
}

/* After each sample; rarely is there anything to tell. */
static void delaycc_tell(const struct sock *sk, struct delaycc_sock *ds,
			 u64 now_ns)
{
	if (likely(!dcc_model_has_news(&ds->tcp.model, now_ns)))
		return;
	delaycc_memory_tell(delaycc_net_memory(sock_net(sk)),
			    delaycc_memory_lifetime_s(sk), sk, ds, now_ns);
}

/* ---- the life of a socket ---------------------------------------------- */

/* Undoes what delaycc_init() has changed of the socket, and drops its references. */
static void delaycc_let_go(struct sock *sk, struct delaycc_sock *ds)
{
	delaycc_limit_host_queue(sk, ds, 0);
	dst_release(ds->dst);
	ds->dst = NULL;
}

/**
 * delaycc_init() - begin to serve a socket
 * @sk: an established socket
 * @ds: its state, zeroed
 * @name: the algorithm's, for the kernel log
 *
 * Turns pacing on: TCP paces by itself unless the fq qdisc does it.
 *
 * Return: 0, or -ENODATA when the line rate is not known (logged).
 */
int delaycc_init(struct sock *sk, struct delaycc_sock *ds, const char *name)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct net_device *dev;
	struct dcc_tcp_view v;

	/* An old socket may have lost its route; its next packet would look it up. */
	if (!__sk_dst_get(sk))
		inet_csk(sk)->icsk_af_ops->rebuild_header(sk);

	delaycc_view(sk, &v);
	dcc_tcp_begin(&ds->tcp, &v, tp->srtt_us >> 3, tcp_min_rtt(tp),
		      tp->tcp_wstamp_ns, tcp_snd_cwnd(tp));
	ds->tcp_pacing_shift = READ_ONCE(sk->sk_pacing_shift);

	rcu_read_lock();
	if (!delaycc_path_read(sk, ds)) {
		dev = delaycc_path_dev(sk);
		delaycc_limit_tso(sk, dev, 0);
		/* Any user can cause this message: limit it apart from the network's own. */
		pr_notice_ratelimited("delaycc: %s: the line rate of %s is not known, a socket uses reno instead; set net.ipv4.delaycc.line_rate_mbps\n",
				      name, dev ? dev->name : "an unknown device");
		rcu_read_unlock();
		delaycc_let_go(sk, ds);
		return -ENODATA;
	}
	rcu_read_unlock();
	delaycc_memory_recall(delaycc_net_memory(sock_net(sk)),
			      delaycc_memory_lifetime_s(sk), sk, ds);

	/* With nothing in flight, notes can begin with the next packet. */
	ds->sent_all = !tp->packets_out;

	ds->pacing_is_ours = cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
				     SK_PACING_NEEDED) == SK_PACING_NONE;
	return 0;
}
EXPORT_SYMBOL_GPL(delaycc_init);

/* Does TCP pace the socket?  Otherwise fq does, or nothing. */
static bool delaycc_tcp_paces(const struct sock *sk)
{
	/* fq writes it at the first packet that it sees; a late read moves an EDT in vain. */
	return READ_ONCE(sk->sk_pacing_status) == SK_PACING_NEEDED;
}

/* Moves the next packet's earliest departure time (EDT), and TCP's pacing timer. */
static void delaycc_move_edt(struct sock *sk, u64 edt_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_wstamp_ns = edt_ns;
	/* An armed timer has a reference to the socket; the new timer takes it over. */
	if (hrtimer_is_queued(&tp->pacing_timer) &&
	    hrtimer_try_to_cancel(&tp->pacing_timer) == 1)
		hrtimer_start(&tp->pacing_timer, ns_to_ktime(edt_ns),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/**
 * delaycc_release() - leave a socket to another algorithm, or to its end
 * @sk: the socket
 * @ds: its state, after a successful delaycc_init()
 *
 * Neither the next algorithm nor the socket's next connection, after a
 * connect(AF_UNSPEC), may inherit pace or limits of this algorithm.
 */
void delaycc_release(struct sock *sk, struct delaycc_sock *ds)
{
	delaycc_memory_tell(delaycc_net_memory(sock_net(sk)),
			    delaycc_memory_lifetime_s(sk), sk, ds, tcp_clock_ns());
	WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
	if (sk->sk_state == TCP_CLOSE) {
		/* No packet to send and no timer to arm; a route gives new limits. */
		tcp_sk(sk)->tcp_wstamp_ns = tcp_clock_ns();
	} else {
		rcu_read_lock();
		delaycc_limit_tso(sk, delaycc_path_dev(sk), 0);
		rcu_read_unlock();
		if (delaycc_tcp_paces(sk))
			delaycc_move_edt(sk, tcp_clock_ns());
	}
	/* SO_MAX_PACING_RATE keeps pacing on. */
	if (ds->pacing_is_ours && READ_ONCE(sk->sk_max_pacing_rate) == ~0UL)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED,
			SK_PACING_NONE);
	delaycc_let_go(sk, ds);
}
EXPORT_SYMBOL_GPL(delaycc_release);

/* ---- samples ----------------------------------------------------------- */

/**
 * delaycc_note_sent() - remember when the oldest packets in flight were sent
 * @sk: the socket
 * @ds: its state
 * @rs: of the ACK that has just been handled
 *
 * To be called at the end of .cong_control.
 */
void delaycc_note_sent(struct sock *sk, struct delaycc_sock *ds,
		       const struct rate_sample *rs)
{
	/* The next ACK is likely to be as large as this one. */
	const u32 need = clamp_t(u32, rs->acked_sacked + 2, 4, DELAYCC_SENT_MAX);
	const struct sk_buff *skb;
	u32 budget = DELAYCC_SENT_MAX;
	u32 n = 0;

	if (ds->sent_n >= need &&
	    !before(ds->sent[ds->sent_n - need].start_seq, tcp_sk(sk)->snd_una))
		return;
	skb = tcp_rtx_queue_head(sk);
	for (; skb && n < budget; skb = skb_rb_next(skb)) {
		const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
		struct delaycc_sent *sent = &ds->sent[n];

		if (cb->sacked & (TCPCB_EVER_RETRANS | TCPCB_SACKED_ACKED)) {
			budget--;
			continue;
		}
		sent->sent_ns = skb->skb_mstamp_ns;
		sent->start_seq = cb->seq;
		sent->end_seq = cb->end_seq;
		n++;
	}
	ds->sent_n = n;
	ds->sent_all = !skb;
}
EXPORT_SYMBOL_GPL(delaycc_note_sent);

/**
 * delaycc_note_xmit() - remember that a new packet may leave now
 * @sk: the socket
 * @ds: its state
 *
 * To be called from .min_tso_segs, which TCP asks each time that it tries to
 * send.  If the packet has to wait, the next call replaces its time.
 */
void delaycc_note_xmit(struct sock *sk, struct delaycc_sock *ds)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct delaycc_sent *sent;

	if (!ds->sent_all)
		return;
	if (!ds->sent_n ||
	    ds->sent[ds->sent_n - 1].start_seq != tp->snd_nxt) {
		if (ds->sent_n == DELAYCC_SENT_MAX) {
			ds->sent_all = 0;
			return;
		}
		ds->sent_n++;
	}
	sent = &ds->sent[ds->sent_n - 1];
	sent->start_seq = tp->snd_nxt;
	/* Until the next call, later packets are taken as sent at the same time. */
	sent->end_seq = tp->snd_nxt + (1U << 30);
	sent->sent_ns = max(tp->tcp_wstamp_ns, tp->tcp_clock_cache);
}
EXPORT_SYMBOL_GPL(delaycc_note_xmit);

/* The note of when the packet that ends at end_seq was sent; 0: none. */
static u64 delaycc_sent_ns(const struct delaycc_sock *ds, u32 end_seq)
{
	int i;

	for (i = ds->sent_n - 1; i >= 0; i--) {
		const struct delaycc_sent *sent = &ds->sent[i];

		if (before(sent->start_seq, end_seq))
			return after(end_seq, sent->end_seq) ? 0 :
							       sent->sent_ns;
	}
	return 0;
}

/**
 * delaycc_sample() - the kernel's acknowledgment as a core wants it
 * @sk: the socket
 * @ds: its state
 * @rs: what the kernel gives to .cong_control
 * @ack: filled in
 *
 * Return: false if this ACK delivered nothing.
 */
bool delaycc_sample(struct sock *sk, struct delaycc_sock *ds,
		    const struct rate_sample *rs, struct dcc_ack *ack)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dcc_tcp_view v;
	u64 noted_ns;

	delaycc_view(sk, &v);
	v.sampled = rs->prior_mstamp;
	v.rtt_us = rs->rtt_us;
	v.is_retrans = rs->is_retrans;
	v.is_app_limited = rs->is_app_limited;
	v.is_ack_delayed = rs->is_ack_delayed;
	v.acked_sacked = rs->acked_sacked;
	v.prior_delivered = rs->prior_delivered;
	v.last_end_seq = rs->last_end_seq;
	if (unlikely(v.is_retrans))
		noted_ns = dcc_sample_retrans_ns(tp->rack.mstamp, tp->rack.rtt_us,
						 v.now_us, v.now_ns);
	else
		noted_ns = delaycc_sent_ns(ds, v.last_end_seq);
	if (!dcc_tcp_sample(&ds->tcp, &v, noted_ns, ack))
		return false;
	ack->flows = ds->flows;
	delaycc_tell(sk, ds, v.now_ns);
	return true;
}
EXPORT_SYMBOL_GPL(delaycc_sample);

/* ---- controls ---------------------------------------------------------- */

/* A hold that was set at the old, slower pace ends sooner at the new one. */
static void delaycc_shorten_hold(struct sock *sk, u64 old_rate, u64 new_rate)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	u64 left_ns;

	if (new_rate <= old_rate ||
	    tp->tcp_wstamp_ns <= now_ns + DELAYCC_SHORT_HOLD_NS ||
	    !delaycc_tcp_paces(sk))
		return;
	left_ns = dcc_tcp_shortened_hold_ns(tp->tcp_wstamp_ns - now_ns,
					    old_rate, new_rate);
	delaycc_move_edt(sk, now_ns + left_ns);
}

/* A window below one packet: hold the next packet until that window allows it. */
static void delaycc_hold(struct sock *sk, const struct delaycc_sock *ds,
			 u64 cwnd_q16)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 edt_ns;

	if (tcp_packets_in_flight(tp) || !delaycc_tcp_paces(sk))
		return;
	edt_ns = tp->tcp_clock_cache + dcc_tcp_hold_ns(&ds->tcp, cwnd_q16);
	if (edt_ns > tp->tcp_wstamp_ns)
		delaycc_move_edt(sk, edt_ns);
}

/* The longest TSO burst that the socket may send, in packets. */
static u32 delaycc_longest_burst(const struct sock *sk,
				 const struct delaycc_sock *ds)
{
	u32 segs = sk->sk_gso_max_segs;

	return min_t(u32, segs, ds->max_tso_segs ?: DCC_TCP_FULL_BURST);
}

/* Logged once per namespace. */
static void delaycc_log_levels(const struct sock *sk, u32 noise_ns)
{
	atomic_t *said = &delaycc_pernet(sock_net(sk))->levels_mix;

	if (likely(atomic_read(said)) || atomic_xchg(said, 1))
		return;
	pr_notice_ratelimited("delaycc: %u ns of noise are estimated by a flow with a priority, others estimate theirs, and priorities may mix; set net.ipv4.delaycc.noise_ns on all hosts\n",
			      noise_ns);
}

/**
 * delaycc_apply() - window and pacing rate of a control
 * @sk: the socket
 * @ds: its state
 * @asked: the core's
 *
 * To be called for each ACK, but for what dcc_tcp_is_settled() says.
 */
void delaycc_apply(struct sock *sk, struct delaycc_sock *ds,
		   const struct dcc_control *asked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 old_rate = sk->sk_pacing_rate;
	struct dcc_control control = *asked;
	u64 rate;
	u32 cwnd;

	if (unlikely(dcc_model_levels_mix(&ds->tcp.model)))
		delaycc_log_levels(sk, ds->tcp.model.noise.ns);
	dcc_tcp_add_probe(&ds->tcp, &control);
	rate = min_t(u64, dcc_tcp_pace(&ds->tcp, &control),
		     READ_ONCE(sk->sk_max_pacing_rate));

	/* sk_setup_caps() forgets the limit when the route is renewed. */
	if ((rate != old_rate || sk->sk_gso_max_segs > ds->burst_max) &&
	    ds->max_tso_segs && ds->burst_max)
		sk->sk_gso_max_segs = dcc_tcp_burst(&ds->tcp, rate,
						    control.cwnd_q16,
						    ds->burst_max);

	cwnd = dcc_tcp_window(&ds->tcp, &control, tp->delivered,
			      delaycc_longest_burst(sk, ds), tp->snd_cwnd_clamp);
	tcp_snd_cwnd_set(tp, cwnd);
	dcc_tcp_settle(&ds->tcp, asked, cwnd);
	if (control.cwnd_q16 < DCC_WINDOW_ONE)
		delaycc_hold(sk, ds, control.cwnd_q16);
	if (rate == old_rate)
		return;
	WRITE_ONCE(sk->sk_pacing_rate, rate);
	delaycc_shorten_hold(sk, old_rate, rate);
}
EXPORT_SYMBOL_GPL(delaycc_apply);

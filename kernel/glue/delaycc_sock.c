// SPDX-License-Identifier: GPL-2.0
/*
 * One socket: its path, its samples in nanoseconds, its window and pacing.
 *
 * The kernel's own RTT has microseconds, of which a datacenter path has a
 * dozen.  Each packet carries its departure time in nanoseconds while it waits
 * for its ACK, but a congestion control hook runs after the acknowledged
 * packets are gone.  So at the end of each ACK the next few packets' send
 * times are copied from the head of the retransmit queue; and since a packet
 * may leave and be acknowledged before the next look, each transmission call
 * adds the one that it is about to send.  The number of copies follows the
 * number of packets that ACKs acknowledge, so the work per packet is constant.
 *
 * A remembered time counts only if it agrees with the kernel's own RTT in
 * microseconds, which obeys Karn's rule; else that RTT is used, taken in the
 * middle of its microsecond.  An error in this file's bookkeeping thus costs
 * half a microsecond, never a wrong sample.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/tcp.h>

#include "delaycc.h"

#define DELAYCC_WIRE_BYTES_MIN 64U
#define DELAYCC_WIRE_BYTES_MAX 65535U

/* More full packets than the 1 GB that TCP's sequence numbers allow in flight. */
#define DELAYCC_CWND_MAX 1000000U

/* Packets that a receiver gathers before it sends an ACK, less the first. */
#define DELAYCC_ACK_SLACK 1

/*
 * A flow that has run out of data within its last so many packets is limited by
 * its application: a response of 100 KB.
 */
#define DELAYCC_PAUSE_PACKETS 64U

/* A gate shorter than this is not worth moving: a full packet at 6 Gbit/s. */
#define DELAYCC_REGATE_NS 2000U

/* At least so many pieces leave in a base RTT, unless they are single packets. */
#define DELAYCC_PIECES_PER_RTT 16

/* A queue that lasts holds at most so many base RTTs. */
#define DELAYCC_STEADY_RTTS 12

/* The longest wait between two packets that a small window may ask for. */
#define DELAYCC_HOLD_MAX_NS (100 * NSEC_PER_MSEC)

/* ---- the path ---------------------------------------------------------- */

/* 0: nobody has said. */
static u32 delaycc_route_rtt_ns(const struct dst_entry *dst)
{
	/* `ip route ... rtt` stores eighths of a millisecond. */
	u64 rtt_ns = (u64)dst_metric(dst, RTAX_RTT) * (NSEC_PER_MSEC / 8);

	return min_t(u64, rtt_ns, DELAYCC_BASE_RTT_MAX_NS);
}

/* The nearest that anybody has said: of the path, or of all. */
static u32 delaycc_given_base_ns(const struct sock *sk,
				 const struct dst_entry *dst,
				 const struct delaycc_values *values)
{
	u32 base_ns = delaycc_paths_base_rtt_ns(delaycc_net_paths(sock_net(sk)),
						sk);

	if (!base_ns && dst)
		base_ns = delaycc_route_rtt_ns(dst);
	return base_ns ?: delaycc_value(values, DELAYCC_BASE_RTT_NS);
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

/* Limit 0: the device's own.  Returns what holds, or 0 without offload. */
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
 * flows that share a fast port wait in it like in a switch, and each takes that
 * for congestion of its path.  The limit is 2^-sk_pacing_shift seconds.
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
 * Looks at everything anew.  False: the line rate is not known.
 *
 * Under rcu_read_lock(): TCP comes here also from release_sock(), in process
 * context, and a device may be removed meanwhile.
 */
static bool delaycc_path_read(struct sock *sk, struct delaycc_sock *ds)
{
	const struct delaycc_values *values = delaycc_net_values(sock_net(sk));
	const struct net_device *dev = delaycc_path_dev(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dst_entry *dst = __sk_dst_get(sk);
	u32 base_ns, wire_bytes;
	u64 rate_bps;

	ds->generation = delaycc_generation(values);
	ds->mss = max_t(u32, tp->mss_cache, 1);

	rate_bps = delaycc_line_rate_bps(sk, dev, values);
	/* A route to a device without a speed keeps what was known before. */
	if (rate_bps)
		ds->path.line_rate_bps = rate_bps;

	base_ns = delaycc_given_base_ns(sk, dst, values);
	if (base_ns) {
		ds->path.base_rtt_ns = base_ns;
		ds->base_fixed = 1;
	} else if (ds->base_fixed || (dev && dev->ifindex != ds->ifindex)) {
		/*
		 * The old one serves until the next sample.  A route that is
		 * merely looked up anew keeps it: that sample may have met a
		 * queue.
		 */
		ds->base_fixed = 0;
		ds->base_measured = 0;
	}

	ds->header_bytes = delaycc_header_bytes(sk,
						delaycc_value(values, DELAYCC_LINK_OVERHEAD_BYTES));
	wire_bytes = ds->mss + ds->header_bytes;
	ds->path.wire_bytes = clamp(wire_bytes, DELAYCC_WIRE_BYTES_MIN,
				    DELAYCC_WIRE_BYTES_MAX);

	ds->max_tso_segs = delaycc_value(values, DELAYCC_MAX_TSO_SEGS);
	ds->piece_max = delaycc_limit_tso(sk, dev, ds->max_tso_segs);
	delaycc_limit_host_queue(sk, ds, delaycc_value(values, DELAYCC_HOST_QUEUE_NS));
	if (dst) {
		if (ds->dst != dst) {
			dst_release(ds->dst);
			/* If it is just going, the next look finds another one. */
			ds->dst = dst_hold_safe(dst) ? dst : NULL;
		}
		ds->ifindex = dev->ifindex;
	}
	return ds->path.line_rate_bps;
}

/**
 * delaycc_path_update() - notice a new route, packet size or parameter
 * @sk: the socket
 * @ds: its state
 *
 * Return: true if @ds->path is another one now.
 */
bool delaycc_path_update(struct sock *sk, struct delaycc_sock *ds)
{
	const struct delaycc_values *values = delaycc_net_values(sock_net(sk));
	const struct dst_entry *dst = __sk_dst_get(sk);
	struct dcc_path before;

	if (likely(ds->generation == delaycc_generation(values) &&
		   ds->mss == tcp_sk(sk)->mss_cache &&
		   (ds->dst == dst || !dst)))
		return false;

	before = ds->path;
	rcu_read_lock();
	delaycc_path_read(sk, ds);
	rcu_read_unlock();
	return before.line_rate_bps != ds->path.line_rate_bps ||
	       before.base_rtt_ns != ds->path.base_rtt_ns ||
	       before.wire_bytes != ds->path.wire_bytes;
}
EXPORT_SYMBOL_GPL(delaycc_path_update);

/* ---- the life of a socket ---------------------------------------------- */

/**
 * delaycc_zalloc() - memory for a socket's state
 * @sk: the socket
 * @size: in bytes
 *
 * For kfree().  It is charged to the socket's memory cgroup, or without one to
 * the calling process's.  A connection that a listener has got belongs to nobody
 * before accept(); its state is not charged.
 *
 * Return: zeroed memory, or NULL.
 */
void *delaycc_zalloc(const struct sock *sk, size_t size)
{
	struct mem_cgroup *before = set_active_memcg(delaycc_sock_memcg(sk));
	/* Connections open in softirq. */
	void *state = kzalloc(size, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(before);
	return state;
}
EXPORT_SYMBOL_GPL(delaycc_zalloc);

/* What delaycc_init() has changed of the socket, and keeps of others. */
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
	u64 rtt_ns;

	/* An old socket may have lost its route; its next packet would look it up. */
	if (!__sk_dst_get(sk))
		inet_csk(sk)->icsk_af_ops->rebuild_header(sk);

	/*
	 * The handshake's RTT serves until the first data packet's: its small
	 * packets are faster by the time that a full one takes on each link.
	 */
	rtt_ns = (u64)(tp->srtt_us >> 3) * NSEC_PER_USEC;
	if (!rtt_ns)
		rtt_ns = NSEC_PER_MSEC;
	ds->path.base_rtt_ns = clamp_t(u64, rtt_ns, DELAYCC_BASE_RTT_MIN_NS,
				       DELAYCC_BASE_RTT_MAX_NS);
	ds->rtt_ns = ds->path.base_rtt_ns;
	ds->tcp_pacing_shift = READ_ONCE(sk->sk_pacing_shift);

	rcu_read_lock();
	if (!delaycc_path_read(sk, ds)) {
		dev = delaycc_path_dev(sk);
		delaycc_limit_tso(sk, dev, 0);
		/* Not the network's common limit: any user can cause this. */
		pr_notice_ratelimited("delaycc: %s: the line rate of %s is not known, a socket uses reno instead; set net.ipv4.delaycc.line_rate_mbps\n",
				      name, dev ? dev->name : "an unknown device");
		rcu_read_unlock();
		delaycc_let_go(sk, ds);
		return -ENODATA;
	}
	rcu_read_unlock();

	ds->total_retrans = tp->total_retrans;
	/* What is in flight now may have been sent more than once. */
	ds->retransmitted = tp->packets_out > 0;
	ds->retrans_seq = tp->snd_nxt;
	ds->bytes_acked = tp->bytes_acked;
	ds->sacked_out = tp->sacked_out;
	ds->data_segs_in = tp->data_segs_in;
	ds->paused_delivered = tp->delivered - DELAYCC_PAUSE_PACKETS;
	/* With nothing in flight, the first packet's time is as good as any. */
	ds->sent_all = !tp->packets_out;

	ds->pacing_is_ours = cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
				     SK_PACING_NEEDED) == SK_PACING_NONE;
	return 0;
}
EXPORT_SYMBOL_GPL(delaycc_init);

/* Else fq does, or nobody. */
static bool delaycc_paces_itself(const struct sock *sk)
{
	/* fq writes it for the first packet that it sees; a late look only moves a gate in vain. */
	return READ_ONCE(sk->sk_pacing_status) == SK_PACING_NEEDED;
}

/* Moves the earliest time of the next packet, and TCP's own timer with it. */
static void delaycc_move_gate(struct sock *sk, u64 gate_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_wstamp_ns = gate_ns;
	/* The reference that an armed timer holds goes with it. */
	if (hrtimer_is_queued(&tp->pacing_timer) &&
	    hrtimer_try_to_cancel(&tp->pacing_timer) == 1)
		hrtimer_start(&tp->pacing_timer, ns_to_ktime(gate_ns),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
}

/**
 * delaycc_release() - leave a socket to another algorithm, or to its end
 * @sk: the socket
 * @ds: its state, after a successful delaycc_init()
 *
 * Neither the next algorithm nor the socket's next connection, after a
 * connect(AF_UNSPEC), may inherit pace or limits of this one.
 */
void delaycc_release(struct sock *sk, struct delaycc_sock *ds)
{
	WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
	if (sk->sk_state == TCP_CLOSE) {
		/* No packet to send and no timer to arm; a route gives new limits. */
		tcp_sk(sk)->tcp_wstamp_ns = tcp_clock_ns();
	} else {
		rcu_read_lock();
		delaycc_limit_tso(sk, delaycc_path_dev(sk), 0);
		rcu_read_unlock();
		if (delaycc_paces_itself(sk))
			delaycc_move_gate(sk, tcp_clock_ns());
	}
	/* SO_MAX_PACING_RATE wants pacing from then on. */
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
 * @rs: of the ACK that is done with
 *
 * To be called at the end of .cong_control.
 */
void delaycc_note_sent(struct sock *sk, struct delaycc_sock *ds,
		       const struct rate_sample *rs)
{
	const struct sk_buff *skb = tcp_rtx_queue_head(sk);
	/* The next ACK is likely to be as large as this one. */
	u32 budget = clamp_t(u32, rs->acked_sacked + 2, 4, DELAYCC_SENT_MAX);
	u32 n = 0;

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
 * send.  If the packet has to wait, the next call sets its time anew.
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
	/* Until the next call, all that follows is taken as sent with it. */
	sent->end_seq = tp->snd_nxt + (1U << 30);
	sent->sent_ns = max(tp->tcp_wstamp_ns, tp->tcp_clock_cache);
}
EXPORT_SYMBOL_GPL(delaycc_note_xmit);

/* The send time of the packet that ends at end_seq; 0: not remembered. */
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

/* Notes retransmissions: RTTs of what was in flight then may be ambiguous. */
static void delaycc_watch_retrans(const struct tcp_sock *tp,
				  struct delaycc_sock *ds, u32 end_seq)
{
	if (tp->total_retrans != ds->total_retrans) {
		ds->total_retrans = tp->total_retrans;
		ds->retrans_seq = tp->snd_nxt;
		ds->retransmitted = 1;
	} else if (ds->retransmitted && after(end_seq, ds->retrans_seq)) {
		ds->retransmitted = 0;
	}
}

/*
 * When the newest acknowledged packet was last retransmitted, in microseconds.
 * RACK leaves out what came back sooner than the path allows, which was the
 * ACK of the first transmission; its time is then that of an older ACK.
 */
static u64 delaycc_retrans_time(const struct tcp_sock *tp)
{
	u64 sent_us = tp->rack.mstamp;

	if (!tp->rack.rtt_us || tp->tcp_mstamp - sent_us != tp->rack.rtt_us)
		return 0;
	return min(sent_us * NSEC_PER_USEC + NSEC_PER_USEC / 2,
		   tp->tcp_clock_cache - 1);
}

/* When the newest acknowledged packet was sent; 0: cannot be said. */
static u64 delaycc_send_time(const struct tcp_sock *tp,
			     const struct delaycc_sock *ds,
			     const struct rate_sample *rs)
{
	u64 now_ns = tp->tcp_clock_cache;
	u64 sent_ns, rtt_ns;
	s64 error_ns;

	if (rs->is_retrans && ds->times_retrans)
		return delaycc_retrans_time(tp);
	if (rs->rtt_us < 0 || rs->is_retrans)
		return 0;
	rtt_ns = (u64)rs->rtt_us * NSEC_PER_USEC;

	sent_ns = delaycc_sent_ns(ds, rs->last_end_seq);
	error_ns = (s64)(now_ns - sent_ns - rtt_ns);
	/* Both ends of rtt_us are rounded down to a microsecond. */
	if (sent_ns && error_ns > -1000 && error_ns < 1000)
		return sent_ns;

	/* Of the millisecond timestamps' making, perhaps. */
	if (ds->retransmitted && rs->rtt_us % USEC_PER_MSEC == 0)
		return 0;
	sent_ns = (tp->tcp_mstamp - rs->rtt_us) * NSEC_PER_USEC +
		  NSEC_PER_USEC / 2;
	return min(sent_ns, now_ns - 1);
}

static u32 delaycc_acked_bytes(const struct tcp_sock *tp,
			       struct delaycc_sock *ds,
			       const struct rate_sample *rs)
{
	u64 payload = tp->bytes_acked - ds->bytes_acked;

	/* Selectively acknowledged bytes are not counted by the stack. */
	if (tp->sacked_out || ds->sacked_out)
		payload = (u64)rs->acked_sacked * ds->mss;
	ds->bytes_acked = tp->bytes_acked;
	ds->sacked_out = tp->sacked_out;
	return min_t(u64, payload + (u64)rs->acked_sacked * ds->header_bytes,
		     U32_MAX);
}

/*
 * May the peer have held back this ACK?  A receiver waits for a second packet,
 * for its application to read, or for an answer that carries the ACK.  So does
 * only a peer that has been seen not to acknowledge each packet at once, and only
 * with the ACK of all that is in flight.
 */
static bool delaycc_maybe_held(const struct sock *sk, struct delaycc_sock *ds,
			       const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool carried = tp->data_segs_in != ds->data_segs_in;

	ds->data_segs_in = tp->data_segs_in;
	if (rs->acked_sacked > 1 && !tp->sacked_out && !ds->retransmitted &&
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Open)
		ds->stretched_acks = 1;
	if (tp->packets_out)
		return false;
	if (tcp_write_queue_empty(sk))
		ds->paused_delivered = tp->delivered;
	return carried || ds->stretched_acks || ds->delayed_acks;
}

static void delaycc_measure_base(struct delaycc_sock *ds)
{
	u32 rtt_ns = clamp(ds->rtt_ns, DELAYCC_BASE_RTT_MIN_NS,
			   DELAYCC_BASE_RTT_MAX_NS);

	if (ds->base_fixed)
		return;
	if (!ds->base_measured || rtt_ns < ds->path.base_rtt_ns)
		ds->path.base_rtt_ns = rtt_ns;
	ds->base_measured = 1;
}

/**
 * delaycc_sample() - the kernel's acknowledgment as a core wants it
 * @sk: the socket
 * @ds: its state
 * @rs: what the kernel gives to .cong_control
 * @ack: filled in; DCC_ACK_LOSS is left to the caller, who sees the state change
 *
 * Return: false if this ACK delivered nothing.
 */
bool delaycc_sample(struct sock *sk, struct delaycc_sock *ds,
		    const struct rate_sample *rs, struct dcc_ack *ack)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool maybe_held, held;
	u32 packets;
	u64 sent_ns;

	delaycc_watch_retrans(tp, ds, rs->last_end_seq);
	ack->acked_bytes = delaycc_acked_bytes(tp, ds, rs);
	if (!rs->acked_sacked || !rs->prior_mstamp)
		return false;

	maybe_held = delaycc_maybe_held(sk, ds, rs);
	ack->now_ns = tp->tcp_clock_cache;
	ack->flags = 0;
	ack->flows = ds->flows;
	/* A receiver's window is no more the network's doing than an application's pause. */
	if (rs->is_app_limited || tp->chrono_type == TCP_CHRONO_RWND_LIMITED)
		ack->flags |= DCC_ACK_APP_LIMITED;

	/*
	 * The rest of what was in flight has been delivered since, and so has
	 * the packet itself.
	 */
	packets = max_t(u32, tp->delivered - rs->prior_delivered, 1);
	ack->inflight_bytes = min_t(u64, (u64)packets * ds->path.wire_bytes,
				    U32_MAX);

	sent_ns = delaycc_send_time(tp, ds, rs);
	if (!sent_ns) {
		ack->send_ns = ack->now_ns;
		ack->rtt_ns = 0;
		ack->flags |= DCC_ACK_NO_RTT;
		return true;
	}
	ack->send_ns = sent_ns;
	ack->rtt_ns = min_t(u64, ack->now_ns - sent_ns, U32_MAX);

	held = ack->rtt_ns > DELAYCC_DELAYED_ACK_NS &&
	       ack->rtt_ns - DELAYCC_DELAYED_ACK_NS > ds->path.base_rtt_ns &&
	       (packets == 1 || maybe_held);
	if (held)
		ds->delayed_acks = 1;
	/*
	 * After the last of its data a flow can wait for long.  Such an ACK says
	 * only that the path's RTT is not longer: it is a sample where that is
	 * shorter than the last one.
	 */
	if (rs->is_ack_delayed || held ||
	    (maybe_held && tcp_write_queue_empty(sk) &&
	     ack->rtt_ns > ds->rtt_ns)) {
		ack->flags |= DCC_ACK_DELAYED;
	} else {
		ds->rtt_ns = max_t(u32, ack->rtt_ns, 1);
		delaycc_measure_base(ds);
	}
	return true;
}
EXPORT_SYMBOL_GPL(delaycc_sample);

/* ---- controls ---------------------------------------------------------- */

/*
 * The RTT that a small window is spread over.  That of a start-up which is
 * draining, a thousand times the base, will be gone long before it has passed.
 */
static u64 delaycc_window_rtt_ns(const struct delaycc_sock *ds)
{
	return min_t(u64, ds->rtt_ns,
		     (u64)DELAYCC_STEADY_RTTS * ds->path.base_rtt_ns);
}

/*
 * Below one packet the window stays at one and the pace slows down to so many
 * packets per RTT.  In bytes on the wire per second.
 */
static u64 delaycc_small_window_rate(const struct delaycc_sock *ds,
				     u64 cwnd_q16)
{
	/* < 2^16 (window) * 2^16 (bytes) * 2^30 (ns per s): 62 bits. */
	return div64_u64(cwnd_q16 * ds->path.wire_bytes * NSEC_PER_SEC,
			 delaycc_window_rtt_ns(ds)) >> DCC_WINDOW_SHIFT;
}

/* A gate that was set at the old, slower pace opens sooner at the new one. */
static void delaycc_regate(struct sock *sk, u64 old_rate, u64 new_rate)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;

	if (new_rate <= old_rate ||
	    tp->tcp_wstamp_ns <= now_ns + DELAYCC_REGATE_NS ||
	    !delaycc_paces_itself(sk))
		return;
	delaycc_move_gate(sk, now_ns +
			      mul_u64_u64_div_u64(tp->tcp_wstamp_ns - now_ns,
						  old_rate, new_rate));
}

/*
 * A window of w < 1 packets: after each one, wait (1 - w) / w of the RTT that
 * its acknowledgment has just measured.  The pace alone would have been set by
 * the RTT before, and an incast of hundreds of flows swings on such old news.
 */
static void delaycc_hold_back(struct sock *sk, const struct delaycc_sock *ds,
			      u64 cwnd_q16)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 wait_ns;

	if (tcp_packets_in_flight(tp) || !delaycc_paces_itself(sk))
		return;
	/* < 2^32 (ns) * 2^16: 48 bits; cwnd_q16 is never 0. */
	wait_ns = div64_u64(delaycc_window_rtt_ns(ds) *
			    (DCC_WINDOW_ONE - cwnd_q16), cwnd_q16);
	wait_ns = min_t(u64, wait_ns, DELAYCC_HOLD_MAX_NS);
	if (tp->tcp_clock_cache + wait_ns > tp->tcp_wstamp_ns)
		delaycc_move_gate(sk, tp->tcp_clock_cache + wait_ns);
}

/*
 * The packets of a piece have one send time.  A slow flow with long pieces has
 * fewer of them in a base RTT than a law needs for a slope, and saves little:
 * so a piece is what the pace sends in a part of that time.
 */
static void delaycc_size_pieces(struct sock *sk, const struct delaycc_sock *ds,
				u64 rate)
{
	u64 packets;

	if (!ds->max_tso_segs || !ds->piece_max)
		return;
	/* < 2^37 (bytes per s) * 2^26 (ns). */
	packets = div64_u64(rate * (ds->path.base_rtt_ns / DELAYCC_PIECES_PER_RTT),
			    (u64)ds->mss * NSEC_PER_SEC);
	sk->sk_gso_max_segs = clamp_t(u64, packets, 1, ds->piece_max);
}

/* Packets that TCP hands down in one piece. */
static u32 delaycc_burst(const struct sock *sk, const struct delaycc_sock *ds)
{
	u32 segs = sk->sk_gso_max_segs;

	/* Without a limit of ours, the 44 packets of a full super-packet. */
	return min_t(u32, segs, ds->max_tso_segs ?: 44);
}

/*
 * The ACK of a lone packet may be held by the receiver for 40 ms, a second one
 * releases it.  The window of a flow that only its application limits must not
 * meet that even once: each of its short responses may be one of a connection.
 */
static u32 delaycc_least_window(const struct tcp_sock *tp,
				const struct delaycc_sock *ds)
{
	if (ds->delayed_acks ||
	    (ds->stretched_acks &&
	     tp->delivered - ds->paused_delivered < DELAYCC_PAUSE_PACKETS))
		return 2;
	return 1;
}

/**
 * delaycc_apply() - window and pacing rate of a control
 * @sk: the socket
 * @ds: its state
 * @control: the core's
 *
 * To be called for each ACK, since TCP itself changes the window in recovery.
 */
void delaycc_apply(struct sock *sk, struct delaycc_sock *ds,
		   const struct dcc_control *control)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = control->pacing_bps / BITS_PER_BYTE;
	u64 cwnd_q16 = control->cwnd_q16;
	u64 old_rate = sk->sk_pacing_rate;
	u32 cwnd;

	if (cwnd_q16 < DCC_WINDOW_ONE)
		rate = min(rate, delaycc_small_window_rate(ds, cwnd_q16));

	/* TCP paces payload.  A rate of 0 would turn pacing off. */
	rate = div_u64(rate * ds->mss, ds->path.wire_bytes);
	rate = min_t(u64, max_t(u64, rate, 1), READ_ONCE(sk->sk_max_pacing_rate));
	/* sk_setup_caps() forgets the limit when the route is renewed. */
	if (rate != old_rate || sk->sk_gso_max_segs > ds->piece_max)
		delaycc_size_pieces(sk, ds, rate);

	/*
	 * Rounded to the nearest: up, hundreds of flows that share a queue would
	 * each have half a packet too much in it.
	 */
	cwnd_q16 += DCC_WINDOW_ONE / 2;
	/*
	 * A window of exactly one BDP loses 1 % of the link to a receiver that
	 * acknowledges every second packet, and more to segmentation offload.
	 * At line rate the pace is the limit, so those packets make no queue.
	 * A pace above it says that the window is to be the limit.
	 */
	if (control->pacing_bps == ds->path.line_rate_bps)
		cwnd_q16 += (u64)(DELAYCC_ACK_SLACK + delaycc_burst(sk, ds))
			    << DCC_WINDOW_SHIFT;
	cwnd = min_t(u64, cwnd_q16 >> DCC_WINDOW_SHIFT,
		     min(tp->snd_cwnd_clamp, DELAYCC_CWND_MAX));
	tcp_snd_cwnd_set(tp, max(cwnd, delaycc_least_window(tp, ds)));

	if (control->cwnd_q16 < DCC_WINDOW_ONE)
		delaycc_hold_back(sk, ds, control->cwnd_q16);
	if (rate == old_rate)
		return;
	WRITE_ONCE(sk->sk_pacing_rate, rate);
	delaycc_regate(sk, old_rate, rate);
}
EXPORT_SYMBOL_GPL(delaycc_apply);

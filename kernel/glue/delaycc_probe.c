// SPDX-License-Identifier: GPL-2.0
/*
 * Stop and probe: a flow that sends nothing but, now and then, one byte that
 * asks how long the queue is.
 *
 * The gate.  TCP's pacing holds back what a control has stopped: whenever TCP
 * is about to send, it asks .min_tso_segs first, and there the earliest
 * departure time is set one nanosecond ahead of the clock, with TCP's own
 * pacing timer armed for the time that the probe is due.  One nanosecond, and
 * not that time itself, because TCP stamps with the earliest departure time
 * also what is never held back, its ACKs and its timeouts' retransmissions, and
 * fq would keep an ACK until then.
 *
 * The probe.  One byte that the peer has long since acknowledged: to the peer a
 * spurious retransmission, which it answers at once, with a D-SACK, and which
 * no rate limit applies to.  It is built here, it is in no queue, and TCP's
 * sender knows nothing of it, so there is nothing to time out or to undo.
 *
 * The reply is recognised in .in_ack_event, since TCP calls .cong_control only
 * if data was in flight.  It is the ACK that raises the count of D-SACKs; from a
 * peer that has never sent one, a bare duplicate ACK while nothing is in flight.
 *
 * The bound.  Data waits behind the gate for DELAYCC_STILL_NS at most, whatever
 * probes say; then one packet leaves in place of a probe.  A stopped flow is thus
 * always under TCP's own timers and their limits.
 *
 * There is no timer and no memory beside those of the socket.
 */
#include <linux/module.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "delaycc.h"

/*
 * A probe that is lost is sent again after this, and twice as long each time.
 * Four RTTs, because the queue that was measured last may have grown since; and
 * what a peer's processor may need on top.
 */
#define DELAYCC_PROBE_RTTS 4
#define DELAYCC_PROBE_SLACK_NS (100 * NSEC_PER_USEC)
#define DELAYCC_PROBE_TIMEOUT_MAX_NS (100 * NSEC_PER_MSEC)

/* After so many without an answer, something on the path does not let them by. */
#define DELAYCC_PROBE_TRIES 4

/* Probes take turns among the last bytes that the peer has acknowledged. */
#define DELAYCC_PROBE_BYTES 8

/*
 * The longest that data waits behind the gate before one packet of it leaves in
 * place of a probe.  Probes can be misread for ever (a base RTT that is set too
 * low, a path with fewer hops than assumed), and a flow whose data moves is under
 * TCP's own timers: its user timeout and limits of retries hold as always.
 * 20 ms: long against the time in which flows give way or come back (some RTTs),
 * so that 200 stopped flows with packets of 1500 bytes take 0.12 % of 100 Gbit/s;
 * short enough that requests and responses of a few packets are answered.
 */
#define DELAYCC_STILL_NS (20 * NSEC_PER_MSEC)

/* On slow lines so many packets' time: one flow takes at most 1 % of them. */
#define DELAYCC_STILL_PACKETS 100

/* TCP's timer for a closed window (its shortest RTO) would send a packet then. */
#define DELAYCC_STILL_MAX_NS (200 * NSEC_PER_MSEC)

/* tcp_mtu_probe() looks at the pacing itself, too early; it wants this window. */
#define DELAYCC_STOPPED_CWND_MAX 10U

/* ---- the gate ---------------------------------------------------------- */

/* Is nothing left to send but the FIN?  It makes no queue. */
static bool delaycc_probe_only_fin(const struct sock *sk)
{
	const struct sk_buff *skb = tcp_send_head(sk);

	return skb && TCP_SKB_CB(skb)->end_seq - TCP_SKB_CB(skb)->seq == 1 &&
	       TCP_SKB_CB(skb)->tcp_flags & TCPHDR_FIN;
}

/* Is there anything that only the gate holds back? */
static bool delaycc_probe_wanted(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct sk_buff *skb = tcp_send_head(sk);

	if (unlikely(tp->repair))
		return false;
	if (tp->lost_out > tp->retrans_out)
		return true;
	/* A closed window has probes of its own. */
	return skb && before(TCP_SKB_CB(skb)->seq, tcp_wnd_end(tp)) &&
	       !delaycc_probe_only_fin(sk);
}

/* When the gate has to open next, for a probe or for a packet. */
static u64 delaycc_probe_next_ns(const struct delaycc_probe *p)
{
	/* The reply to one that is under way may end the stop. */
	return p->outstanding ? p->due_ns : min(p->due_ns, p->own_ns);
}

/* From now on it counts how long data has been waiting. */
static void delaycc_probe_wait(struct delaycc_probe *p,
			       const struct delaycc_sock *ds, u64 now_ns)
{
	/* < 2^7 (packets) * 2^16 (bytes) * 2^3 * 2^30 (ns per s): 56 bits. */
	u64 still_ns = div64_u64((u64)DELAYCC_STILL_PACKETS *
				 ds->path.wire_bytes * BITS_PER_BYTE *
				 NSEC_PER_SEC, ds->path.line_rate_bps);

	p->own_ns = now_ns + clamp_t(u64, still_ns, DELAYCC_STILL_NS,
				     DELAYCC_STILL_MAX_NS);
	p->waiting = 1;
}

/* TCP's pacing timer for this time, with the reference that it holds. */
static void delaycc_probe_arm(struct sock *sk, u64 time_ns)
{
	struct hrtimer *timer = &tcp_sk(sk)->pacing_timer;

	if (!hrtimer_is_queued(timer))
		sock_hold(sk);
	else if (hrtimer_get_expires(timer) == ns_to_ktime(time_ns) ||
		 hrtimer_try_to_cancel(timer) != 1)
		/* If it is just running, it waits for the lock and comes here again. */
		return;
	hrtimer_start(timer, ns_to_ktime(time_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
}

static void delaycc_probe_shut(struct sock *sk, const struct delaycc_probe *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;

	/* fq takes the pacing over with each packet that begins a flow there. */
	if (READ_ONCE(sk->sk_pacing_status) != SK_PACING_NEEDED)
		WRITE_ONCE(sk->sk_pacing_status, SK_PACING_NEEDED);
	tp->tcp_wstamp_ns = now_ns + 1;
	delaycc_probe_arm(sk, delaycc_probe_next_ns(p));
}

/* Nothing holds data back any more, and no timer is needed for it. */
static void delaycc_probe_open(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_wstamp_ns = tp->tcp_clock_cache;
	if (hrtimer_is_queued(&tp->pacing_timer) &&
	    hrtimer_try_to_cancel(&tp->pacing_timer) == 1)
		__sock_put(sk);
}

/* ---- the probe --------------------------------------------------------- */

/* A segment that TCP has not built lacks what some connections need in each. */
static bool delaycc_probe_needs_tcp(const struct sock *sk)
{
#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tcp_sk(sk)->md5sig_info))
		return true;
#endif
#ifdef CONFIG_TCP_AO
	if (rcu_access_pointer(tcp_sk(sk)->ao_info))
		return true;
#endif
#ifdef TCP_ECN_MODE_ACCECN
	if (tcp_sk(sk)->ecn_flags & TCP_ECN_MODE_ACCECN)
		return true;
#endif
	return sk_is_mptcp(sk);
}

/* The TSval of a segment that leaves now. */
static u32 delaycc_probe_tsval(const struct tcp_sock *tp)
{
#ifdef TCPI_OPT_USEC_TS
	return tcp_time_stamp_ts(tp) + tp->tsoffset;
#else
	return tcp_time_stamp(tp) + tp->tsoffset;
#endif
}

/* Without memory it is lost, like one that is dropped. */
static void delaycc_probe_xmit(struct sock *sk, u32 seq, unsigned int payload)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	struct inet_sock *inet = inet_sk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct tcphdr *th;
	struct sk_buff *skb;
	unsigned int size = sizeof(*th);
	__be32 *option;

	skb = alloc_skb(MAX_TCP_HEADER + payload, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return;
	if (tp->rx_opt.tstamp_ok)
		size += TCPOLEN_TSTAMP_ALIGNED;
	skb_reserve(skb, MAX_TCP_HEADER);
	skb_put_zero(skb, payload);
	th = skb_push(skb, size);
	memset(th, 0, sizeof(*th));
	skb_reset_transport_header(skb);

	th->source = inet->inet_sport;
	th->dest = inet->inet_dport;
	th->seq = htonl(seq);
	/* What the last segment said: the peer learns nothing from this one. */
	th->ack_seq = htonl(tp->rcv_wup);
	th->window = htons(min(tp->rcv_wnd >> tp->rx_opt.rcv_wscale, 65535U));
	th->doff = size / 4;
	th->ack = 1;
	/* GRO is not to keep it. */
	th->psh = 1;
	if (tp->rx_opt.tstamp_ok) {
		option = (__be32 *)(th + 1);
		option[0] = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
				  TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP);
		option[1] = htonl(delaycc_probe_tsval(tp));
		option[2] = htonl(tp->rx_opt.ts_recent);
	}
	/* Like a retransmission it has no ECT; TCP sets it again for new data. */
	if (tp->ecn_flags & DELAYCC_TCP_ECN_OK) {
		if (!tcp_ca_needs_ecn(sk))
			INET_ECN_dontxmit(sk);
		th->ece = !!(tp->ecn_flags & TCP_ECN_DEMAND_CWR);
	}

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_set_owner_w(skb, sk);
	skb_set_delivery_time(skb, tp->tcp_clock_cache, true);
	delaycc_send_check(sk, skb);
	tp->segs_out++;
	TCP_INC_STATS(sock_net(sk), TCP_MIB_OUTSEGS);
	icsk->icsk_af_ops->queue_xmit(sk, skb, &inet->cork.fl);
}

/*
 * The peer that gets the same byte twice in a row takes it for a sign that its
 * ACKs are lost, and looks for another path.  Probes in between may be lost.
 */
static u32 delaycc_probe_seq(const struct tcp_sock *tp, struct delaycc_probe *p)
{
	p->bytes_back = p->bytes_back % DELAYCC_PROBE_BYTES + 1;
	return tp->snd_una - p->bytes_back;
}

static u32 delaycc_probe_timeout_ns(const struct delaycc_sock *ds,
				    const struct delaycc_probe *p)
{
	u64 rtt_ns = max(ds->rtt_ns, ds->path.base_rtt_ns);
	u64 timeout_ns = DELAYCC_PROBE_RTTS * rtt_ns + DELAYCC_PROBE_SLACK_NS;

	return min_t(u64, timeout_ns << min_t(u32, p->tries, 16),
		     DELAYCC_PROBE_TIMEOUT_MAX_NS);
}

/*
 * One packet of TCP's own goes through the gate, and its ACK is the reply.  A
 * peer may hold that back; the second packet, after the timeout, gets it.
 */
static void delaycc_probe_let_by(struct sock *sk, struct delaycc_sock *ds,
				 struct delaycc_probe *p)
{
	const struct sk_buff *skb = tcp_send_head(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	delaycc_probe_wait(p, ds, tp->tcp_clock_cache);
	/* Behind the last packet nothing waits. */
	if (skb && tcp_skb_is_last(sk, skb) && skb->len <= ds->mss)
		p->waiting = 0;
	/* It may leave unpaced, and then no timer of TCP's would bring the second one. */
	delaycc_probe_arm(sk, p->due_ns);
	tp->tcp_wstamp_ns = tp->tcp_clock_cache;
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	delaycc_note_xmit(sk, ds);
}

/*
 * Is what asks next a packet of data?  While the base RTT comes from the
 * handshake's small packets, no probe can be judged by it: data measures it.
 */
static bool delaycc_probe_asks_by_data(const struct sock *sk,
				       const struct delaycc_sock *ds,
				       const struct delaycc_probe *p)
{
	return p->by_data || p->tries >= DELAYCC_PROBE_TRIES ||
	       !(ds->base_fixed || ds->base_measured) ||
	       tcp_sk(sk)->tcp_clock_cache >= p->own_ns ||
	       delaycc_probe_needs_tcp(sk);
}

/* It is time.  True: the gate stays open for a packet of TCP's. */
static bool delaycc_probe_send(struct sock *sk, struct delaycc_sock *ds,
			       struct delaycc_probe *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	bool by_data;
	u64 slot_ns;

	/* The probes of all stopped flows here keep a distance. */
	if (!p->slotted && now_ns < p->own_ns) {
		slot_ns = delaycc_probe_slot(sock_net(sk), now_ns);
		if (slot_ns > now_ns) {
			p->due_ns = slot_ns;
			p->slotted = 1;
			return false;
		}
	}
	p->slotted = 0;

	if (p->outstanding) {
		if (p->tries < U8_MAX)
			p->tries++;
	} else {
		p->tries = 0;
	}
	p->due_ns = now_ns + delaycc_probe_timeout_ns(ds, p);
	by_data = delaycc_probe_asks_by_data(sk, ds, p);
	/*
	 * Without SACK each reply looks like a duplicate ACK, and three of them
	 * like a loss: what is in flight has to arrive first.
	 */
	if (tp->packets_out && !tcp_is_sack(tp) && !by_data)
		return false;

	if (!p->outstanding) {
		p->outstanding = 1;
		p->asked = 0;
		p->sent_ns = now_ns;
		p->dsack_dups = tp->dsack_dups;
		p->bare_acks = tp->segs_in - tp->data_segs_in;
		p->snd_una = tp->snd_una;
		p->snd_wnd = tp->snd_wnd;
	}
	p->last_ns = now_ns;
	if (by_data) {
		p->by_data = 1;
		delaycc_probe_let_by(sk, ds, p);
		return true;
	}
	/*
	 * A D-SACK beyond the number of retransmissions means nothing to TCP: no
	 * undo, no packet delivered twice, no wider window for reordering.
	 */
	if (tp->dsack_dups < tp->total_retrans) {
		tp->dsack_dups = tp->total_retrans;
		p->dsack_dups = tp->dsack_dups;
	}
	p->asked = 1;
	/*
	 * A server with SYN cookies, which has lost the handshake's last ACK,
	 * would reset the connection that a probe alone speaks of.
	 */
	if (unlikely(!tp->data_segs_out && tp->segs_in <= 1))
		delaycc_probe_xmit(sk, tp->snd_nxt, 0);
	delaycc_probe_xmit(sk, delaycc_probe_seq(tp, p), 1);
	return false;
}

/**
 * delaycc_probe_gate() - before TCP sends: nothing may leave but a probe
 * @sk: the socket
 * @ds: its state
 * @p: its probing
 *
 * To be called from .min_tso_segs, which TCP asks before it looks at its pacing.
 */
void delaycc_probe_gate(struct sock *sk, struct delaycc_sock *ds,
			struct delaycc_probe *p)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;

	if (!p->stopped)
		return;
	if (!delaycc_probe_wanted(sk)) {
		if (delaycc_probe_only_fin(sk))
			delaycc_probe_open(sk);
		return;
	}
	if (!p->waiting)
		delaycc_probe_wait(p, ds, now_ns);
	if (now_ns >= delaycc_probe_next_ns(p) && delaycc_probe_send(sk, ds, p))
		return;
	delaycc_probe_shut(sk, p);
}
EXPORT_SYMBOL_GPL(delaycc_probe_gate);

/* ---- the reply --------------------------------------------------------- */

/* What the core gets to see of a reply. */
static void delaycc_probe_fill(struct sock *sk, struct delaycc_sock *ds,
			       struct delaycc_probe *p, u64 rtt_ns,
			       struct dcc_ack *ack)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;

	memset(ack, 0, sizeof(*ack));
	ack->now_ns = now_ns;
	ack->send_ns = now_ns - rtt_ns;
	ack->rtt_ns = clamp_t(u64, rtt_ns, 1, U32_MAX);
	ack->flags = DCC_ACK_PROBE;
	ack->flows = READ_ONCE(ds->flows);

	/* A small window is spread over the RTT of full packets. */
	ds->rtt_ns = max(ack->rtt_ns, ds->path.base_rtt_ns);
	/*
	 * The probes that were sent again may be answered, too; these replies
	 * come no later than the last of them was sent after the first.
	 */
	p->quiet_ns = p->tries ? now_ns + (p->last_ns - p->sent_ns) : 0;
	p->outstanding = 0;
	p->by_data = 0;
	/* In case that the core has nothing to say. */
	p->due_ns = now_ns + delaycc_probe_timeout_ns(ds, p);
}

/**
 * delaycc_probe_answered() - is this ACK the reply to a probe?
 * @sk: the socket
 * @ds: its state
 * @p: its probing
 * @ack: filled in if it is
 *
 * To be called from .in_ack_event.  A probe that was sent again is timed from
 * the first time on: too long an RTT keeps a flow waiting, too short a one
 * would let it into a queue.
 */
bool delaycc_probe_answered(struct sock *sk, struct delaycc_sock *ds,
			    struct delaycc_probe *p, struct dcc_ack *ack)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 bare_acks;
	bool dsack, bare;

	if (likely(!p->outstanding) || !p->asked)
		return false;
	bare_acks = tp->segs_in - tp->data_segs_in;
	dsack = tp->dsack_dups != p->dsack_dups;
	/*
	 * Neither data nor an acknowledgment of some nor a new window; the first
	 * ACK of all has one, since the handshake's is not scaled.
	 */
	bare = bare_acks != p->bare_acks && tp->snd_una == p->snd_una &&
	       (tp->snd_wnd == p->snd_wnd || !tp->data_segs_out) &&
	       !tp->packets_out && !p->dsacks;
	p->dsack_dups = tp->dsack_dups;
	p->bare_acks = bare_acks;
	p->snd_una = tp->snd_una;
	p->snd_wnd = tp->snd_wnd;
	if (dsack)
		p->dsacks = 1;
	else if (!bare)
		return false;
	delaycc_probe_fill(sk, ds, p, tp->tcp_clock_cache - p->sent_ns, ack);
	return true;
}
EXPORT_SYMBOL_GPL(delaycc_probe_answered);

/**
 * delaycc_probe_sampled() - is this sample the reply to a packet let by?
 * @sk: the socket
 * @ds: its state
 * @p: its probing
 * @ack: what delaycc_sample() made of an ACK; if true, made that of a probe
 */
bool delaycc_probe_sampled(struct sock *sk, struct delaycc_sock *ds,
			   struct delaycc_probe *p, struct dcc_ack *ack)
{
	if (likely(!p->outstanding) || !p->by_data ||
	    ack->flags & DCC_ACK_NO_RTT ||
	    /*
	     * TCP calls the ACK of each lone packet below the full size perhaps
	     * delayed, and with TCP-MD5 every packet is below it.  Those that come
	     * soon are not.
	     */
	    (ack->flags & DCC_ACK_DELAYED &&
	     ack->rtt_ns > (u64)DELAYCC_DELAYED_ACK_NS +
				   ds->path.base_rtt_ns) ||
	    /* The RTT may be that of a microsecond clock. */
	    ack->send_ns + NSEC_PER_USEC < p->sent_ns)
		return false;
	delaycc_probe_fill(sk, ds, p, ack->rtt_ns, ack);
	ack->flags |= DCC_ACK_PROBE_DATA;
	/*
	 * The answer to a small packet is no measurement, but the best that is
	 * known until one of full size has been sent.
	 */
	if (!ds->base_fixed && !ds->base_measured)
		ds->path.base_rtt_ns = clamp_t(u32, ack->rtt_ns,
					       DELAYCC_BASE_RTT_MIN_NS,
					       DELAYCC_BASE_RTT_MAX_NS);
	return true;
}
EXPORT_SYMBOL_GPL(delaycc_probe_sampled);

/* ---- stop and go ------------------------------------------------------- */

/**
 * delaycc_probe_stop() - from now on nothing leaves but a probe
 * @sk: the socket
 * @p: its probing
 * @now_ns: the time
 * @probe_ns: how long from now the probe is to leave; 4 s at most
 */
void delaycc_probe_stop(struct sock *sk, struct delaycc_probe *p, u64 now_ns,
			u64 probe_ns)
{
	/* One that is under way decides. */
	if (!p->outstanding) {
		p->slotted = 0;
		p->due_ns = max(now_ns + min_t(u64, probe_ns, U32_MAX),
				p->quiet_ns);
	}
	if (!p->stopped)
		p->waiting = 0;
	p->stopped = 1;
	delaycc_probe_hold(sk);
}
EXPORT_SYMBOL_GPL(delaycc_probe_stop);

/**
 * delaycc_probe_hold() - the window of a flow that is stopped
 * @sk: the socket
 *
 * In place of delaycc_apply().
 */
void delaycc_probe_hold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), DELAYCC_STOPPED_CWND_MAX));
}
EXPORT_SYMBOL_GPL(delaycc_probe_hold);

/**
 * delaycc_probe_go() - end a stop
 * @sk: the socket
 * @p: its probing
 *
 * To be called after delaycc_apply().  TCP sends at the end of each ACK.
 */
void delaycc_probe_go(struct sock *sk, struct delaycc_probe *p)
{
	/* The reply that nobody waits for any more is not the next probe's. */
	if (p->outstanding)
		p->quiet_ns = p->due_ns;
	p->stopped = 0;
	p->outstanding = 0;
	p->by_data = 0;
	p->go_ns = tcp_sk(sk)->tcp_clock_cache;
	delaycc_probe_open(sk);
}
EXPORT_SYMBOL_GPL(delaycc_probe_go);

/**
 * delaycc_probe_release() - leave a socket to another algorithm, or to its end
 * @sk: the socket
 * @p: its probing
 *
 * Nobody else would open the gate.  To be called before delaycc_release().
 */
void delaycc_probe_release(struct sock *sk, struct delaycc_probe *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!p->stopped)
		return;
	tp->tcp_wstamp_ns = tcp_clock_ns();
	/* The caller's way out does not send; a closed socket has no timer. */
	if (sk->sk_state != TCP_CLOSE && hrtimer_is_queued(&tp->pacing_timer))
		delaycc_probe_arm(sk, tp->tcp_wstamp_ns);
	/* Should that transmission fail, TCP's own timer tries again. */
	if (sk->sk_state != TCP_CLOSE && tcp_send_head(sk))
		tcp_check_probe_timer(sk);
	p->stopped = 0;
}
EXPORT_SYMBOL_GPL(delaycc_probe_release);

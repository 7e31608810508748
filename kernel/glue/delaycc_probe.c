// SPDX-License-Identifier: GPL-2.0
/*
 * Stop and probe: a flow that sends nothing but, now and then, one byte that
 * asks how long the queue is.
 *
 * The EDT hold.  TCP's pacing holds back the packets of a stopped flow.  Before
 * TCP sends, it calls .min_tso_segs.  There the earliest departure time (EDT) is
 * set one nanosecond ahead of the clock, and TCP's own pacing timer is armed for
 * the time of the next probe.  The EDT is not that time itself, because TCP also
 * stamps packets with it that pacing never holds back, its ACKs and the
 * retransmissions of timeouts, and fq would keep an ACK until then.
 *
 * The probe.  One byte that the peer has acknowledged long ago.  The peer takes
 * it for a spurious retransmission and answers at once, with a D-SACK; no rate
 * limit applies.  The segment is built here and is in no queue.  TCP's sender
 * does not know of it, so there is nothing to time out or to undo.
 *
 * The reply is recognised in .in_ack_event, since TCP calls .cong_control only
 * if data was in flight.  It is the ACK that raises the count of D-SACKs; from a
 * peer that has never sent a D-SACK, a bare duplicate ACK while nothing is in
 * flight.
 *
 * The bound.  The EDT hold keeps data back for DELAYCC_STILL_NS at most, whatever
 * probes show; then one packet leaves in place of a probe.  A stopped flow is
 * thus always under TCP's own timers and their limits.
 *
 * The flow has no timer and no memory beside those of the socket.
 */
#include <linux/module.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "delaycc.h"

/*
 * The timeout of a lost probe; it doubles with each transmission.  Four RTTs,
 * because the queue may have grown since it was measured, and a slack for the
 * peer's processor.
 */
#define DELAYCC_PROBE_RTTS 4
#define DELAYCC_PROBE_SLACK_NS (100 * NSEC_PER_USEC)
#define DELAYCC_PROBE_TIMEOUT_MAX_NS (100 * NSEC_PER_MSEC)

/* After so many probes without a reply, something on the path drops them. */
#define DELAYCC_PROBE_TRIES 4

/* Probes take turns among the last bytes that the peer has acknowledged. */
#define DELAYCC_PROBE_BYTES 8

/*
 * The longest time that the EDT hold keeps data back before one packet of it
 * leaves in place of a probe.  Probes can be misread for ever (a base RTT that is
 * set too low, a path with fewer hops than assumed), and a flow whose data moves
 * is under TCP's own timers: its user timeout and limits of retries hold.
 * 20 ms: long against the time in which flows give way or come back (some RTTs),
 * so that 200 stopped flows with packets of 1500 bytes take 0.12 % of 100 Gbit/s;
 * short enough that requests and responses of a few packets are answered.
 */
#define DELAYCC_STILL_NS (20 * NSEC_PER_MSEC)

/* On slow lines so many packets' time: one flow takes at most 1 % of them. */
#define DELAYCC_STILL_PACKETS 100

/* TCP's timer for a closed window (its shortest RTO) would send a packet by then. */
#define DELAYCC_STILL_MAX_NS (200 * NSEC_PER_MSEC)

/* tcp_mtu_probe() runs before the hold is set; it needs a larger window than this. */
#define DELAYCC_STOPPED_CWND_MAX 10U

/* ---- the EDT hold ------------------------------------------------------ */

/* Is nothing left to send but the FIN?  It makes no queue. */
static bool delaycc_probe_only_fin(const struct sock *sk)
{
	const struct sk_buff *skb = tcp_send_head(sk);

	return skb && TCP_SKB_CB(skb)->end_seq - TCP_SKB_CB(skb)->seq == 1 &&
	       TCP_SKB_CB(skb)->tcp_flags & TCPHDR_FIN;
}

/* Is there data that only the EDT hold keeps back? */
static bool delaycc_probe_wanted(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct sk_buff *skb = tcp_send_head(sk);

	if (unlikely(tp->repair))
		return false;
	if (tp->lost_out > tp->retrans_out)
		return true;
	/* TCP itself probes a closed window. */
	return skb && before(TCP_SKB_CB(skb)->seq, tcp_wnd_end(tp)) &&
	       !delaycc_probe_only_fin(sk);
}

/* The time of the next probe, or of a packet in its place. */
static u64 delaycc_probe_next_ns(const struct delaycc_probe *p)
{
	/* The reply to the outstanding probe may end the stop. */
	return p->outstanding ? p->due_ns : min(p->due_ns, p->own_ns);
}

/* Data begins to wait: from now on the bound counts. */
static void delaycc_probe_wait(struct delaycc_probe *p,
			       const struct delaycc_sock *ds, u64 now_ns)
{
	/* < 2^7 (packets) * 2^16 (bytes) * 2^3 * 2^30 (ns per s): 56 bits. */
	u64 still_ns = div64_u64((u64)DELAYCC_STILL_PACKETS *
				 ds->tcp.model.path.wire_bytes * BITS_PER_BYTE *
				 NSEC_PER_SEC, ds->tcp.model.path.line_rate_bps);

	p->own_ns = now_ns + clamp_t(u64, still_ns, DELAYCC_STILL_NS,
				     DELAYCC_STILL_MAX_NS);
	p->waiting = 1;
}

/* Arms TCP's pacing timer, which holds a reference to the socket. */
static void delaycc_probe_arm(struct sock *sk, u64 time_ns)
{
	struct hrtimer *timer = &tcp_sk(sk)->pacing_timer;

	if (!hrtimer_is_queued(timer))
		sock_hold(sk);
	else if (hrtimer_get_expires(timer) == ns_to_ktime(time_ns) ||
		 hrtimer_try_to_cancel(timer) != 1)
		/* A timer that is just running waits for the lock, and calls this again. */
		return;
	hrtimer_start(timer, ns_to_ktime(time_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* No data leaves before the next probe. */
static void delaycc_probe_set_hold(struct sock *sk,
				   const struct delaycc_probe *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;

	/* fq takes over the pacing with the first packet that it sees of a flow. */
	if (READ_ONCE(sk->sk_pacing_status) != SK_PACING_NEEDED)
		WRITE_ONCE(sk->sk_pacing_status, SK_PACING_NEEDED);
	tp->tcp_wstamp_ns = now_ns + 1;
	delaycc_probe_arm(sk, delaycc_probe_next_ns(p));
}

/* Ends the hold: data may leave now, and needs no timer. */
static void delaycc_probe_end_hold(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_wstamp_ns = tp->tcp_clock_cache;
	if (hrtimer_is_queued(&tp->pacing_timer) &&
	    hrtimer_try_to_cancel(&tp->pacing_timer) == 1)
		__sock_put(sk);
}

/* ---- the probe --------------------------------------------------------- */

/* Does each segment of the connection need something that only TCP can build? */
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
#ifdef CONFIG_SOCK_VALIDATE_XMIT
	/* A device encrypts (kTLS, PSP), and may drop what is in none of TCP's queues. */
	if (READ_ONCE(sk->sk_validate_xmit_skb))
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

/* Sends a probe.  Without memory it is lost, like a probe that is dropped. */
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
	/* As in the last segment: the peer learns nothing from this one. */
	th->ack_seq = htonl(tp->rcv_wup);
	th->window = htons(min(tp->rcv_wnd >> tp->rx_opt.rcv_wscale, 65535U));
	th->doff = size / 4;
	th->ack = 1;
	/* GRO passes it on at once. */
	th->psh = 1;
	if (tp->rx_opt.tstamp_ok) {
		option = (__be32 *)(th + 1);
		option[0] = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
				  TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP);
		option[1] = htonl(delaycc_probe_tsval(tp));
		option[2] = htonl(tp->rx_opt.ts_recent);
	}
	/* No ECT, as in a retransmission; TCP sets it again for new data. */
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
 * A peer that gets the same byte twice in a row concludes that its ACKs are lost,
 * and looks for another path.  Hence several bytes: probes in between may be lost.
 */
static u32 delaycc_probe_seq(const struct tcp_sock *tp, struct delaycc_probe *p)
{
	p->bytes_back = p->bytes_back % DELAYCC_PROBE_BYTES + 1;
	return tp->snd_una - p->bytes_back;
}

static u32 delaycc_probe_timeout_ns(const struct delaycc_sock *ds,
				    const struct delaycc_probe *p)
{
	u64 rtt_ns = max(ds->tcp.sampler.rtt_ns, ds->tcp.model.path.base_rtt_ns);
	u64 timeout_ns = DELAYCC_PROBE_RTTS * rtt_ns + DELAYCC_PROBE_SLACK_NS;

	return min_t(u64, timeout_ns << min_t(u32, p->tries, 16),
		     DELAYCC_PROBE_TIMEOUT_MAX_NS);
}

/* One packet may leave. */
static void delaycc_probe_open(struct sock *sk, struct delaycc_sock *ds)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->tcp_wstamp_ns = tp->tcp_clock_cache;
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	delaycc_note_xmit(sk, ds);
}

/*
 * Has the packet that asks in a probe's place not left?  Nagle's algorithm, a cork
 * or TCP's small queues may have kept it back.
 */
static bool delaycc_probe_packet_waits(const struct sock *sk,
				       const struct delaycc_probe *p)
{
	return p->outstanding && p->by_data &&
	       tcp_sk(sk)->data_segs_out == p->let_segs;
}

/*
 * Lets one packet of TCP's own leave; its ACK is the reply.  A peer may hold back
 * the ACK of a lone packet, and such an ACK is no reply: it says nothing of the
 * queue.  The second packet releases it.  On a long path the second packet does not
 * wait for the timeout, because it would come when the peer waits no longer, and
 * be a lone one, too.
 */
static void delaycc_probe_let_packet(struct sock *sk, struct delaycc_sock *ds,
				     struct delaycc_probe *p)
{
	const struct sk_buff *skb = tcp_send_head(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!(p->tries & 1))
		p->due_ns = min_t(u64, p->due_ns,
				  tp->tcp_clock_cache + DCC_SAMPLE_HELD_ACK_NS);
	delaycc_probe_wait(p, ds, tp->tcp_clock_cache);
	/* After the last packet no data waits. */
	if (skb && tcp_skb_is_last(sk, skb) && skb->len <= ds->tcp.sampler.mss)
		p->waiting = 0;
	/* It may leave unpaced; then TCP has no timer for the second packet. */
	delaycc_probe_arm(sk, p->due_ns);
	p->let_segs = tp->data_segs_out;
	delaycc_probe_open(sk, ds);
}

/*
 * Is the next probe to be a packet of data?  While the base RTT comes from the
 * handshake's small packets, no probe can be judged by it: data measures it.
 */
static bool delaycc_probe_by_data(const struct sock *sk,
				  const struct delaycc_sock *ds,
				  const struct delaycc_probe *p)
{
	return p->by_data || p->tries >= DELAYCC_PROBE_TRIES ||
	       ds->tcp.model.base.source < DCC_BASE_HANDSHAKE ||
	       tcp_sk(sk)->tcp_clock_cache >= p->own_ns ||
	       delaycc_probe_needs_tcp(sk);
}

/* A probe is due.  True: TCP may send a packet in its place. */
static bool delaycc_probe_send(struct sock *sk, struct delaycc_sock *ds,
			       struct delaycc_probe *p)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	bool by_data;
	u64 slot_ns;

	/* The probes of all stopped flows of the namespace keep a distance. */
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
	by_data = delaycc_probe_by_data(sk, ds, p);
	/*
	 * Without SACK each reply looks like a duplicate ACK, and three replies
	 * like a loss: packets in flight have to arrive first.
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
		delaycc_probe_let_packet(sk, ds, p);
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
	 * A server with SYN cookies that has lost the handshake's last ACK does
	 * not know the connection, and would answer a probe alone with a reset.
	 */
	if (unlikely(!tp->data_segs_out && tp->segs_in <= 1))
		delaycc_probe_xmit(sk, tp->snd_nxt, 0);
	delaycc_probe_xmit(sk, delaycc_probe_seq(tp, p), 1);
	return false;
}

/**
 * delaycc_probe_before_send() - let nothing leave of a stopped flow but a probe
 * @sk: the socket
 * @ds: its state
 * @p: its probing
 *
 * To be called from .min_tso_segs, which TCP asks before it looks at its pacing.
 */
void delaycc_probe_before_send(struct sock *sk, struct delaycc_sock *ds,
			       struct delaycc_probe *p)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;

	if (!p->stopped)
		return;
	if (!delaycc_probe_wanted(sk)) {
		if (delaycc_probe_only_fin(sk))
			delaycc_probe_end_hold(sk);
		return;
	}
	if (!p->waiting)
		delaycc_probe_wait(p, ds, now_ns);
	if (now_ns >= delaycc_probe_next_ns(p) && delaycc_probe_send(sk, ds, p))
		return;
	if (delaycc_probe_packet_waits(sk, p))
		delaycc_probe_open(sk, ds);
	else
		delaycc_probe_set_hold(sk, p);
}
EXPORT_SYMBOL_GPL(delaycc_probe_before_send);

/* ---- the reply --------------------------------------------------------- */

/* A reply as the core gets it; the probe is no longer outstanding. */
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

	if (!p->by_data)
		dcc_model_small_sample(&ds->tcp.model, ack);
	/* A small window is spread over the RTT of full packets. */
	ds->tcp.sampler.rtt_ns = max(ack->rtt_ns, ds->tcp.model.path.base_rtt_ns);
	/*
	 * Further transmissions of the probe may be answered as well.  Their
	 * replies come no later after this one than the last transmission left
	 * after the first.
	 */
	p->quiet_ns = p->tries ? now_ns + (p->last_ns - p->sent_ns) : 0;
	p->outstanding = 0;
	p->by_data = 0;
	/* For a core that does not answer. */
	p->due_ns = now_ns + delaycc_probe_timeout_ns(ds, p);
}

/**
 * delaycc_probe_answered() - is this ACK the reply to a probe?
 * @sk: the socket
 * @ds: its state
 * @p: its probing
 * @ack: filled in if it is
 *
 * To be called from .in_ack_event.  The RTT counts from the probe's first
 * transmission: an RTT that is too long keeps the flow waiting, one that is too
 * short would let it into a queue.
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
	 * No data, nothing newly acknowledged, no new window.  The first ACK of
	 * all has a new window, since the handshake's is not scaled.
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
 * delaycc_probe_sampled() - is this sample the reply to a packet of data?
 * @sk: the socket
 * @ds: its state
 * @p: its probing
 * @ack: what delaycc_sample() made of an ACK; turned into a reply if it is one
 */
bool delaycc_probe_sampled(struct sock *sk, struct delaycc_sock *ds,
			   struct delaycc_probe *p, struct dcc_ack *ack)
{
	if (likely(!p->outstanding) || !p->by_data ||
	    ack->flags & DCC_ACK_NO_RTT ||
	    /*
	     * TCP marks the ACK of each lone packet below the full size as perhaps
	     * delayed, and with TCP-MD5 every packet is below it.
	     */
	    (ack->flags & DCC_ACK_DELAYED && !dcc_tcp_came_soon(&ds->tcp, ack)) ||
	    /* The RTT may come from a microsecond clock. */
	    ack->send_ns + NSEC_PER_USEC < p->sent_ns)
		return false;
	delaycc_probe_fill(sk, ds, p, ack->rtt_ns, ack);
	ack->flags |= DCC_ACK_PROBE_DATA;
	dcc_model_guess(&ds->tcp.model, ack->rtt_ns);
	return true;
}
EXPORT_SYMBOL_GPL(delaycc_probe_sampled);

/* ---- stop and go ------------------------------------------------------- */

/**
 * delaycc_probe_stop() - let nothing leave from now on but a probe
 * @sk: the socket
 * @p: its probing
 * @now_ns: the time
 * @probe_ns: how long from now the probe is to leave; 4 s at most
 */
void delaycc_probe_stop(struct sock *sk, struct delaycc_probe *p, u64 now_ns,
			u64 probe_ns)
{
	/* An outstanding probe is waited for. */
	if (!p->outstanding) {
		p->slotted = 0;
		p->due_ns = max(now_ns + min_t(u64, probe_ns, U32_MAX),
				p->quiet_ns);
	}
	if (!p->stopped)
		p->waiting = 0;
	p->stopped = 1;
	delaycc_probe_limit_window(sk);
}
EXPORT_SYMBOL_GPL(delaycc_probe_stop);

/**
 * delaycc_probe_limit_window() - the window of a flow that is stopped
 * @sk: the socket
 *
 * To be called in place of delaycc_apply().
 */
void delaycc_probe_limit_window(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), DELAYCC_STOPPED_CWND_MAX));
}
EXPORT_SYMBOL_GPL(delaycc_probe_limit_window);

/**
 * delaycc_probe_go() - end a stop
 * @sk: the socket
 * @p: its probing
 *
 * To be called after delaycc_apply().  TCP sends at the end of each ACK.
 */
void delaycc_probe_go(struct sock *sk, struct delaycc_probe *p)
{
	/* A reply that comes later is not the next probe's. */
	if (p->outstanding)
		p->quiet_ns = p->due_ns;
	p->stopped = 0;
	p->outstanding = 0;
	p->by_data = 0;
	p->go_ns = tcp_sk(sk)->tcp_clock_cache;
	delaycc_probe_end_hold(sk);
}
EXPORT_SYMBOL_GPL(delaycc_probe_go);

/**
 * delaycc_probe_release() - leave a socket to another algorithm, or to its end
 * @sk: the socket
 * @p: its probing
 *
 * Ends the EDT hold, which nothing else would end.  To be called before
 * delaycc_release().
 */
void delaycc_probe_release(struct sock *sk, struct delaycc_probe *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!p->stopped)
		return;
	tp->tcp_wstamp_ns = tcp_clock_ns();
	/* The caller does not send; a closed socket has no timer. */
	if (sk->sk_state != TCP_CLOSE && hrtimer_is_queued(&tp->pacing_timer))
		delaycc_probe_arm(sk, tp->tcp_wstamp_ns);
	/* Should that transmission fail, TCP's own timer tries again. */
	if (sk->sk_state != TCP_CLOSE && tcp_send_head(sk))
		tcp_check_probe_timer(sk);
	p->stopped = 0;
}
EXPORT_SYMBOL_GPL(delaycc_probe_release);

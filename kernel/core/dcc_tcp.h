/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From TCP's acknowledgment to the core's, and from the core's control to TCP's window and pace.
 *
 * The kernel's TCP calls hooks of a module or of a BPF program.  Both read the same fields of the
 * socket and of the rate sample; both have to turn them into a struct dcc_ack, and a struct
 * dcc_control into snd_cwnd and sk_pacing_rate.  This header is that arithmetic: pure functions of
 * integers which the caller copies out of the socket (struct dcc_tcp_view), and of what has to be
 * remembered between two ACKs (struct dcc_tcp).
 *
 *	begin	dcc_tcp_begin(), dcc_tcp_configure(), dcc_tcp_set_packet(), dcc_model_recall()
 *	ACK	dcc_tcp_sample(): path/sample.h says which RTT is the path's, path/model.h what that
 *		says of base RTT, noise and line rate; of a stopped flow dcc_tcp_came_soon()
 *	loss	dcc_tcp_state_event(), dcc_tcp_saw_loss(), dcc_tcp_takes_loss()
 *	idle	dcc_tcp_restarts()
 *	control	dcc_model_control(), dcc_tcp_add_probe(), dcc_tcp_stops(), dcc_tcp_pace(),
 *		dcc_tcp_least_pace(), dcc_tcp_burst(), dcc_tcp_window(), dcc_tcp_least_window(),
 *		dcc_tcp_hold_ns(), dcc_tcp_shortened_hold_ns(); between two controls
 *		dcc_tcp_settle(), dcc_tcp_is_settled()
 *
 * The caller finds the note of a packet's send time, reads and writes the socket, and owns the
 * clock.  Times are in ns of TCP's clock; "us" says microseconds of the same clock.
 */
#ifndef DCC_TCP_H
#define DCC_TCP_H

#include "dcc_cc.h"
#include "dcc_math.h"
#include "path/model.h"
#include "path/sample.h"

/*
 * The line rate where nobody configures it and the device does not say its speed, as virtual
 * machines' NICs and tunnels: what veth devices say.
 */
#define DCC_TCP_UNSAID_MBPS 10000U

/* The base RTT before any RTT is known. */
#define DCC_TCP_FIRST_RTT_NS 1000000U

/*
 * A pause of this many RTTs is idle time.  Shorter pauses are the gaps of a slow flow, or of an
 * application between two requests.
 */
#define DCC_TCP_IDLE_RTTS 8U

/* Packets that a receiver gathers before it sends an ACK, less the first. */
#define DCC_TCP_ACK_SLACK 1U

/* Packets of 1500 bytes in a full TSO burst of 64 KB. */
#define DCC_TCP_FULL_BURST 44U

/* A queue that lasts holds 12 base RTTs at the most. */
#define DCC_TCP_LASTING_RTTS 12U

/* More full packets than the 1 GB that TCP's sequence numbers allow in flight. */
#define DCC_TCP_CWND_MAX 1000000U

/*
 * 16 TSO bursts at the least leave in a base RTT, unless they are single packets; where nobody has
 * configured the line rate, four in a window.
 */
#define DCC_TCP_BURSTS_PER_RTT 16U
#define DCC_TCP_BURSTS_PER_WINDOW 4U

/*
 * The longest wait between two packets that a control may ask for: half of TCP's least RTO.  A
 * flow that has waited has old news, and its user takes a longer wait for a broken connection.
 */
#define DCC_TCP_HOLD_MAX_NS 100000000U

/* What the hooks remember of a socket between two ACKs.  Zeroed before dcc_tcp_begin(). */
struct dcc_tcp {
	struct dcc_model model;
	struct dcc_sampler sampler;
	u64 last_ack_ns; /* the newest ACK that a core saw; 0: none */
	/* The control that is settled, and the window that it gave; 0: none is. */
	u64 settled_cwnd_q16;
	u64 settled_pacing_bps;
	u32 settled_cwnd;
	u8 loss_seen;	 /* recovery began; the core's _loss() is still to be called */
};

/* ---- the path ------------------------------------------------------------ */

/*
 * The handshake's RTT at the start of a connection.  It is known to the nanosecond where sent_ns is
 * the SYN's departure.  Where a SYN or its answer was sent again it is ambiguous: a timestamp
 * option that echoes the first SYN makes it a second.
 */
static inline void dcc_tcp_note_handshake(struct dcc_tcp *s, const struct dcc_tcp_view *v,
					  u32 srtt_us, u64 sent_ns)
{
	if (srtt_us && dcc_sample_same_rtt(v->now_ns, sent_ns, srtt_us))
		dcc_base_note_handshake(&s->model.base, v->now_ns - sent_ns, 0);
	else
		dcc_base_note_handshake(&s->model.base, (u64)srtt_us * DCC_NS_PER_US,
					DCC_NS_PER_US);
}

/*
 * The least RTT of an old connection, which another algorithm had: its handshake's, or that of
 * another small packet.  least_us is TCP's; 0 and all ones: unknown.  Of the timestamp option it
 * may be short by a millisecond.
 */
static inline void dcc_tcp_note_least(struct dcc_tcp *s, u32 least_us)
{
	u64 least_ns = (u64)least_us * DCC_NS_PER_US;

	if (!least_us || least_us == DCC_U32_MAX)
		return;
	if (dcc_sample_is_whole_ms(least_us))
		least_ns += 1000 * DCC_NS_PER_US;
	dcc_base_note_handshake(&s->model.base, least_ns, DCC_NS_PER_US);
}

/*
 * Begins with an established socket; of v only the socket's fields count.  srtt_us is TCP's RTT, 0:
 * unknown; least_us is its least RTT, all ones: unknown; sent_ns is when the last packet left, on a
 * new connection the SYN.  cwnd is the socket's window: on a new connection TCP's initial one (the
 * route's initcwnd, else ten packets), else that of another algorithm.
 */
static inline void dcc_tcp_begin(struct dcc_tcp *s, const struct dcc_tcp_view *v, u32 srtt_us,
				 u32 least_us, u64 sent_ns, u32 cwnd)
{
	/* A SYN is one byte. */
	bool is_new = v->bytes_acked <= 1;
	u64 rtt_ns = DCC_TCP_FIRST_RTT_NS;

	if (srtt_us && !(is_new && v->total_retrans))
		rtt_ns = (u64)srtt_us * DCC_NS_PER_US;
	if (!is_new)
		dcc_tcp_note_least(s, least_us);
	else if (!v->total_retrans)
		dcc_tcp_note_handshake(s, v, srtt_us, sent_ns);
	if (s->model.base.handshake_ns)
		rtt_ns = dcc_min_u64(rtt_ns, s->model.base.handshake_ns);
	dcc_base_guess(&s->model.base, rtt_ns);
	s->model.line.window = dcc_min_u32(dcc_max_u32(cwnd, v->packets_out), DCC_TCP_CWND_MAX);
	s->sampler.rtt_ns = s->model.base.ns;
	dcc_sampler_begin(&s->sampler, v);
}

/* A full packet: mss payload bytes and header_bytes around them, on the wire. */
static inline void dcc_tcp_set_packet(struct dcc_tcp *s, u32 mss, u32 header_bytes)
{
	s->settled_cwnd = 0;
	s->sampler.mss = dcc_max_u32(mss, 1);
	s->sampler.header_bytes = header_bytes;
	dcc_model_set_packet(&s->model, s->sampler.mss + header_bytes);
}

/*
 * After dcc_tcp_begin(), and whenever the route, the packet or a setting may be another one: all
 * that the path is made from, in one call.
 */
static inline void dcc_tcp_configure(struct dcc_tcp *s, u32 mss, u32 header_bytes,
				     const struct dcc_path_config *config)
{
	dcc_tcp_set_packet(s, mss, header_bytes);
	dcc_model_configure(&s->model, config);
}

/* ---- an ACK -------------------------------------------------------------- */

/*
 * TCP's ACK as a core wants it, in *ack; false: it delivered nothing, and no core sees it.
 * noted_ns: see dcc_sampler_send_ns().  ack->flows is the caller's.
 */
static inline bool dcc_tcp_sample(struct dcc_tcp *s, const struct dcc_tcp_view *v, u64 noted_ns,
				  struct dcc_ack *ack)
{
	struct dcc_sampler *sampler = &s->sampler;
	bool may_be_held, held;
	u32 packets;
	u64 send_ns;

	dcc_sampler_note_retrans(sampler, v);
	ack->acked_bytes = dcc_sampler_delivered_bytes(sampler, v);
	if (!v->acked_sacked || !v->sampled)
		return false;

	may_be_held = dcc_sampler_may_be_held(sampler, v);
	packets = dcc_sample_flight_packets(v);
	send_ns = dcc_sampler_send_ns(sampler, v, noted_ns);

	ack->now_ns = v->now_ns;
	ack->flags = 0;
	ack->flows = 0;
	ack->inflight_bytes = dcc_sat_u32((u64)packets * s->model.path.wire_bytes);
	/* A closed receive window says as little of the network as an application's pause. */
	if (v->is_app_limited || v->rwnd_limited)
		ack->flags |= DCC_ACK_APP_LIMITED;
	if (!send_ns) {
		ack->send_ns = v->now_ns;
		ack->rtt_ns = 0;
		ack->flags |= DCC_ACK_NO_RTT;
		return true;
	}
	ack->send_ns = send_ns;
	ack->rtt_ns = dcc_sat_u32(v->now_ns - send_ns);

	held = dcc_sample_is_held(ack->rtt_ns, s->model.path.base_rtt_ns, packets, may_be_held);
	if (held)
		sampler->delayed_acks = 1;
	/*
	 * After the last of its data a flow can wait for long.  The ACK of that data says only that
	 * the path's RTT is not longer: it is a sample if it is shorter than the newest one.
	 */
	if (v->is_ack_delayed || held ||
	    (may_be_held && v->all_sent && ack->rtt_ns > sampler->rtt_ns)) {
		ack->flags |= DCC_ACK_DELAYED;
		return true;
	}
	sampler->rtt_ns = dcc_max_u32(ack->rtt_ns, 1);
	dcc_model_sample(&s->model, ack, packets,
			 dcc_sampler_acked_small(sampler, v, ack->acked_bytes), DCC_TCP_CWND_MAX);
	return true;
}

/*
 * Is a sample that is marked DCC_ACK_DELAYED nevertheless the answer of a stopped flow's packet?
 * TCP marks the ACK of each lone packet below the full size; an ACK that came soon was not held.
 */
static inline bool dcc_tcp_came_soon(const struct dcc_tcp *s, const struct dcc_ack *ack)
{
	return ack->rtt_ns <= (u64)DCC_SAMPLE_HELD_ACK_NS + s->model.path.base_rtt_ns;
}

/* ---- loss and idle ------------------------------------------------------- */

enum dcc_tcp_event {
	DCC_TCP_NOTHING,
	DCC_TCP_LOSS, /* the next ACK is to report a loss */
	DCC_TCP_RTO,  /* a timeout, to be reported at once; TCP has set snd_cwnd already */
};

/*
 * What a change of the congestion state says.  high_seq and snd_una are the socket's.
 *
 * Fast recovery, a CE mark and a local drop (CWR) are a loss.  A timeout comes to the hooks as
 * CA_EVENT_LOSS, and as this change as well; except in recovery or CWR before its end, where only
 * the state changes.  TCP_CA_Loss also follows a smaller path MTU, which is no timeout; then
 * nothing of an earlier recovery is in flight.
 */
static inline enum dcc_tcp_event dcc_tcp_state_event(u32 old_state, u32 new_state, u32 high_seq,
						     u32 snd_una)
{
	if (old_state < DCC_TCP_CA_CWR) {
		if (new_state == DCC_TCP_CA_CWR || new_state == DCC_TCP_CA_RECOVERY)
			return DCC_TCP_LOSS;
	} else if (old_state != DCC_TCP_CA_LOSS && new_state == DCC_TCP_CA_LOSS) {
		if (dcc_seq_before(snd_una, high_seq))
			return DCC_TCP_RTO;
	}
	return DCC_TCP_NOTHING;
}

/* A socket before it sends. */
struct dcc_tcp_pause {
	u64 now_ns;	  /* tcp_clock_cache */
	u64 departure_ns; /* tcp_wstamp_ns: the earliest of the next packet, or the last one's */
	u32 packets_out;
	u32 ca_state;	  /* DCC_TCP_CA_ */
	bool app_limited; /* the application had too little to send */
};

/* The next ACK is to report a loss to the core. */
static inline void dcc_tcp_saw_loss(struct dcc_tcp *s)
{
	s->loss_seen = 1;
}

/* Is a loss to be reported?  Once per episode. */
static inline bool dcc_tcp_takes_loss(struct dcc_tcp *s)
{
	bool seen = s->loss_seen;

	s->loss_seen = 0;
	return seen;
}

/*
 * The idle rule: does the flow start again after a pause, so that the core's delays say nothing
 * any more?  To be asked before anything is sent; true once per pause.
 *
 * TCP's own event (CA_EVENT_TX_START) does not come while the receiver holds back the ACK of a
 * last packet, and it comes with retransmissions after a timeout.  Hence one packet in flight is a
 * pause as well, and recovery is none.
 */
static inline bool dcc_tcp_restarts(struct dcc_tcp *s, const struct dcc_tcp_pause *p)
{
	u32 rtt_ns = dcc_max_u32(s->model.path.base_rtt_ns, s->sampler.rtt_ns);
	u64 last_ns = dcc_max_u64(s->last_ack_ns, p->departure_ns);

	if (DCC_LIKELY(!p->app_limited) || p->packets_out > 1 || p->ca_state != DCC_TCP_CA_OPEN ||
	    !s->last_ack_ns)
		return false;
	if (p->now_ns <= last_ns + (u64)DCC_TCP_IDLE_RTTS * rtt_ns)
		return false;
	s->last_ack_ns = p->now_ns;
	/* A round's rate says nothing with a pause in it. */
	dcc_round_drop(&s->model.round);
	return true;
}

/* ---- a control ----------------------------------------------------------- */

/* Is the flow to wait for a packet of its own?  Not while the path is probed (path/probe.h). */
static inline bool dcc_tcp_stops(const struct dcc_tcp *s, const struct dcc_control *control)
{
	return control->probe_ns && !dcc_probe_is_on(&s->model.probe);
}

/*
 * What the core asks for, and the packets that a probe adds to each RTT; evenly, as a burst of the
 * flow's own would be a queue.  Of a flow that has stopped they are all.  To be called before all
 * that follows here.
 */
static inline void dcc_tcp_add_probe(const struct dcc_tcp *s, struct dcc_control *control)
{
	const struct dcc_probe *p = &s->model.probe;
	u32 most = dcc_min_u32(p->flight + p->most, DCC_TCP_CWND_MAX);
	u64 packet_bps;

	if (DCC_LIKELY(!dcc_probe_is_on(p)))
		return;
	if (control->probe_ns) {
		control->probe_ns = 0;
		control->cwnd_q16 = DCC_WINDOW_ONE;
	}
	/* A packet per RTT. */
	packet_bps = dcc_div_u64(s->model.path.wire_bytes * (DCC_BITS_PER_BYTE * DCC_NS_PER_S),
				 dcc_max_u32(s->sampler.rtt_ns, 1));
	control->cwnd_q16 = dcc_max_u64(control->cwnd_q16, DCC_WINDOW_ONE) +
			    ((u64)p->extra << DCC_WINDOW_SHIFT);
	control->pacing_bps =
		dcc_min_u64(control->pacing_bps + p->extra * packet_bps, most * packet_bps);
}

/*
 * The RTT that a window below one packet is spread over, at least 1 ns.  A longer one is of a
 * start-up which drains, or of an ACK that the receiver has held back.  A flow that waited as long
 * would have the next one held back, too.
 */
static inline u64 dcc_tcp_window_rtt_ns(const struct dcc_tcp *s)
{
	u64 most_ns = (u64)DCC_TCP_LASTING_RTTS * s->model.path.base_rtt_ns;

	return dcc_max_u64(dcc_min_u64(s->sampler.rtt_ns, most_ns), 1);
}

/* The least pace, in payload bytes per second: the wait for a packet ends. */
static inline u64 dcc_tcp_least_pace(const struct dcc_tcp *s)
{
	return s->sampler.mss * (DCC_NS_PER_S / DCC_TCP_HOLD_MAX_NS);
}

/*
 * sk_pacing_rate of a control: payload bytes per second, at least dcc_tcp_least_pace().
 * The caller applies SO_MAX_PACING_RATE.  A window below one packet stays at one packet, and slows
 * the pace down to that part of a packet per RTT.
 */
static inline u64 dcc_tcp_pace(const struct dcc_tcp *s, const struct dcc_control *control)
{
	u64 rate = control->pacing_bps / DCC_BITS_PER_BYTE;

	/* < 2^16 (window) * 2^16 (bytes) * 2^30 (ns per s): 62 bits. */
	if (control->cwnd_q16 < DCC_WINDOW_ONE)
		rate = dcc_min_u64(rate, dcc_div_u64(control->cwnd_q16 * s->model.path.wire_bytes *
							     DCC_NS_PER_S,
						     dcc_tcp_window_rtt_ns(s)) >>
						 DCC_WINDOW_SHIFT);
	/* The stack paces payload: < 2^38 (bytes per s) * 2^16. */
	rate = dcc_div_u64(rate * s->sampler.mss, s->model.path.wire_bytes);
	return dcc_max_u64(rate, dcc_tcp_least_pace(s));
}

/*
 * Packets that TCP may hand down in one TSO burst, 1 .. max; rate in payload bytes per second.
 *
 * The packets of a burst have one send time.  A slow flow with long bursts has fewer of them in a
 * base RTT than a law needs for a slope, and saves little processor time.  Where nobody has
 * configured the line rate, no short queue says anything, and a host whose processor has just the
 * time for the path's rate has none to send packet by packet.
 */
static inline u32 dcc_tcp_burst(const struct dcc_tcp *s, u64 rate, u64 cwnd_q16, u32 max)
{
	u64 packets = dcc_min_u64(cwnd_q16 >> DCC_WINDOW_SHIFT, s->model.line.window) /
		      DCC_TCP_BURSTS_PER_WINDOW;

	/* < 2^38 (bytes per s) * 2^26 (ns). */
	if (!s->model.path.delay_floor_ns)
		packets = dcc_div_u64(rate * (s->model.path.base_rtt_ns / DCC_TCP_BURSTS_PER_RTT),
				      s->sampler.mss * DCC_NS_PER_S);
	return (u32)dcc_clamp_u64(packets, 1, max);
}

/*
 * Does the control make the pace the limit, and the window a bound that may have room?  The
 * contract (dcc_cc.h): a pace of the line rate says so; a pace above it makes the window the only
 * limit, and exact; below it, window and pace are both meant.
 */
static inline bool dcc_tcp_pace_limits(const struct dcc_tcp *s, const struct dcc_control *control)
{
	return control->pacing_bps == s->model.path.line_rate_bps;
}

/*
 * Packets to add to the window where the pace is the limit; burst is the longest TSO burst.  A
 * window of exactly one BDP loses 1 % of the link to a receiver that acknowledges every second
 * packet, and more to segmentation offload.  At line rate these packets make no queue.
 */
static inline u32 dcc_tcp_slack(const struct dcc_tcp *s, const struct dcc_control *control,
				u32 burst)
{
	return dcc_tcp_pace_limits(s, control) ? DCC_TCP_ACK_SLACK + burst : 0;
}

/*
 * The smallest window, in packets.  The receiver may hold the ACK of a lone packet for 40 ms; a
 * second packet releases it.  The window of a flow that only its application limits must not meet
 * that even once: each of its short responses may be one of a connection.
 */
static inline u32 dcc_tcp_least_window(const struct dcc_tcp *s, u32 delivered)
{
	const struct dcc_sampler *p = &s->sampler;

	if (p->delayed_acks || (p->stretched_acks && delivered - p->paused_delivered <
							     DCC_SAMPLE_PAUSE_PACKETS))
		return 2;
	return 1;
}

/*
 * snd_cwnd of a control, in packets; at most the proved one where nobody has told the line rate.
 * delivered and cwnd_clamp are the socket's, burst its longest TSO burst.  Rounded to the nearest:
 * rounded up, hundreds of flows that share a queue would each have half a packet too much in it.
 */
static inline u32 dcc_tcp_window(const struct dcc_tcp *s, const struct dcc_control *control,
				 u32 delivered, u32 burst, u32 cwnd_clamp)
{
	u64 cwnd_q16 = control->cwnd_q16 + DCC_WINDOW_ONE / 2;
	u64 cwnd;

	cwnd_q16 += (u64)dcc_tcp_slack(s, control, burst) << DCC_WINDOW_SHIFT;
	cwnd = dcc_min_u64(cwnd_q16 >> DCC_WINDOW_SHIFT,
			   dcc_min_u32(cwnd_clamp, DCC_TCP_CWND_MAX));
	if (s->model.path.delay_floor_ns)
		cwnd = dcc_min_u64(cwnd, s->model.line.window);
	if (DCC_UNLIKELY(dcc_drain_is_on(&s->model.drain)))
		cwnd = dcc_min_u64(cwnd, s->model.drain.window);
	return dcc_max_u32((u32)cwnd, dcc_tcp_least_window(s, delivered));
}

/*
 * After dcc_model_control(): the control is applied, and gave the window cwnd.  Where nothing but
 * another control makes it another one, dcc_tcp_is_settled() says so to the ACKs until then.
 * Something else does where the window is below one packet, where it is the least one, while the
 * line rate is unknown, and while the path is probed or drained.
 */
static inline void dcc_tcp_settle(struct dcc_tcp *s, const struct dcc_control *control, u32 cwnd)
{
	bool settled = control->cwnd_q16 >= DCC_WINDOW_ONE && cwnd > 2 && !control->probe_ns &&
		       !s->model.path.delay_floor_ns && !dcc_model_tests_path(&s->model);

	s->settled_cwnd_q16 = control->cwnd_q16;
	s->settled_pacing_bps = control->pacing_bps;
	s->settled_cwnd = settled ? cwnd : 0;
}

/* May an ACK leave window, pace and share as they are?  cwnd: the socket's, at least 1. */
static inline bool dcc_tcp_is_settled(const struct dcc_tcp *s, const struct dcc_control *control,
				      u32 cwnd)
{
	return s->settled_cwnd == cwnd && s->settled_cwnd_q16 == control->cwnd_q16 &&
	       s->settled_pacing_bps == control->pacing_bps &&
	       s->model.target_ns == control->target_ns && !control->probe_ns &&
	       !dcc_model_tests_path(&s->model);
}

/*
 * How long to hold the next packet of a window w below one packet: (1 - w) / w of the RTT that the
 * ACK has just measured.  The pace alone would be that of the RTT before, and an incast of hundreds
 * of flows swings on such old news.  cwnd_q16 is 1 .. DCC_WINDOW_ONE - 1.
 */
static inline u64 dcc_tcp_hold_ns(const struct dcc_tcp *s, u64 cwnd_q16)
{
	/* < 2^34 (ns) * 2^16. */
	u64 hold_ns = dcc_div_u64(dcc_tcp_window_rtt_ns(s) * (DCC_WINDOW_ONE - cwnd_q16), cwnd_q16);

	return dcc_min_u64(hold_ns, DCC_TCP_HOLD_MAX_NS);
}

/* What is left of a hold that was set at the old pace, at the new, faster one. */
static inline u64 dcc_tcp_shortened_hold_ns(u64 left_ns, u64 old_rate, u64 new_rate)
{
	return dcc_muldiv_u64(left_ns, old_rate, new_rate);
}

#endif /* DCC_TCP_H */

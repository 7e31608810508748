/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * LEDBAT: background traffic that yields to all other traffic (RFC 6817).
 *
 * The control loop
 *   The queueing delay is the filtered delay less the base delay.  The window
 *   moves in proportion to the distance of that delay from TARGET: up by GAIN
 *   packets per RTT without a queue, not at all at TARGET, and down above it.
 *   A flow with a small TARGET yields to every sender with a larger one, or
 *   with none.
 *
 *   acknowledgment -> base delay, filtered delay -> distance from TARGET -> window
 *
 *   The steps are functions of their own (dcc_ledbat_up_q24(),
 *   dcc_ledbat_down_q24(), dcc_ledbat_increase(), dcc_ledbat_decrease()), for a
 *   core that has LEDBAT as its base.
 *
 * Differences from the RFC
 *   1. The delay is the RTT.  The RFC measures one way, because a home's uplink
 *      and downlink queue independently; TCP shows no one-way delay in
 *      nanoseconds.
 *   2. TARGET follows from the path when it is 0: a quarter of the base RTT, but
 *      at least the time of 8 packets on the line.  The RFC allows up to 100 ms,
 *      chosen for home links; here anything near that is a full buffer.  A
 *      quarter is less than what the other algorithms of a datacenter hold, so
 *      that they win; 8 packets are more than the burst of a few flows whose
 *      packets meet, so that a slow line is not left idle by it.
 *   3. The base delay is the path's base RTT, which the operator sets or the glue
 *      measures.  With base_history, it is the smallest delay of that many minutes,
 *      as in the RFC, and then a flow that starts on a standing queue takes the
 *      queue for the base (the "latecomer's advantage").
 *   4. The filter is the smallest of the last filter_samples delays, but of no
 *      more of them than the window has packets: older ones are of another RTT.
 *   5. ALLOWED_INCREASE keeps a window from growing above what was in flight; it
 *      does not shrink one.  The RFC means the flight at this time, the contract
 *      has the flight when the acknowledged packet left, which is one packet for
 *      the first of a flow.
 *   6. A round trip takes at most half of the window.  The RFC's formula goes below zero when
 *      many packets are acknowledged at once, and a queue of many TARGETs, which
 *      16 flows make when they start together, took every window to MIN_CWND
 *      within a few RTTs and left the link idle for milliseconds.
 *   7. Windows below one packet are possible: min_cwnd_milli, MIN_CWND, is 1/100
 *      packet.  Two packets, the RFC's least, are there because of delayed ACKs;
 *      100 background flows would hold two BDPs with them.  Below one packet an
 *      acknowledgment moves the window as at one.
 *   8. A flow starts, and starts again after idle time, with one base BDP
 *      (parameter initial_cwnd_packets; the RFC's INIT_CWND is 2): one packet per
 *      RTT would take a hundred RTTs to fill the path.
 *   9. Samples of an application-limited flow do not let the window grow.
 *  10. A timeout leaves one packet, as in the RFC, or the window if that is less.
 *  11. The largest window is what the line sends in twice the base RTT and
 *      TARGET, and the window is the only limit, as with Swift: paced at the line
 *      rate a lone flow would never have a queue.
 */
#ifndef DCC_LEDBAT_H
#define DCC_LEDBAT_H

#include "dcc_cc.h"
#include "dcc_math.h"

/* Windows inside, as in dcc_swift.h: 24 fraction bits. */
#define DCC_LEDBAT_CWND_SHIFT 24
#define DCC_LEDBAT_CWND_ONE 16777216ULL

/* Parameters, with their ranges. */
#define DCC_LEDBAT_TARGET_MIN_NS 1000U
#define DCC_LEDBAT_TARGET_MAX_NS 100000000U /* "MUST be 100 milliseconds or less" */
#define DCC_LEDBAT_GAIN_MIN_MILLI 1U
#define DCC_LEDBAT_GAIN_MAX_MILLI 1000000U
#define DCC_LEDBAT_ALLOWED_MIN_PACKETS 1U
#define DCC_LEDBAT_ALLOWED_MAX_PACKETS 1000000U
#define DCC_LEDBAT_CWND_MIN_MILLI 4U
#define DCC_LEDBAT_CWND_MAX_MILLI 1000000U
#define DCC_LEDBAT_INITIAL_MAX_PACKETS 1000000U
#define DCC_LEDBAT_FILTER_MAX 8U  /* a power of two */
#define DCC_LEDBAT_HISTORY_MAX 10U

#define DCC_LEDBAT_GAIN_MILLI 1000U
#define DCC_LEDBAT_ALLOWED_PACKETS 1U
#define DCC_LEDBAT_MIN_CWND_MILLI 10U
#define DCC_LEDBAT_FILTER_SAMPLES 4U

/* Automatic TARGET: at least so many packets of queue. */
#define DCC_LEDBAT_TARGET_PACKETS 8U

/* More full packets than the 1 GB that TCP's sequence numbers allow in flight. */
#define DCC_LEDBAT_CWND_MAX (DCC_LEDBAT_CWND_ONE << 21)

/* One acknowledgment of more packets than this counts as this many: bounds a product. */
#define DCC_LEDBAT_ACKED_MAX 2048U

/* Packets per RTT (Q24) by which a window moves, at most: likewise. */
#define DCC_LEDBAT_STEP_MAX_Q24 (1000 * DCC_LEDBAT_CWND_ONE)

#define DCC_LEDBAT_MINUTE_NS 60000000000ULL

/* The rule that decided, for tracing. */
enum dcc_ledbat_branch {
	DCC_LEDBAT_START = 0,	    /* no decision yet, or restarted */
	DCC_LEDBAT_INCREASE = 1,    /* queue below TARGET */
	DCC_LEDBAT_DECREASE = 2,    /* queue at TARGET or above */
	DCC_LEDBAT_FLIGHT = 3,	    /* below, but more is allowed already than was in flight */
	DCC_LEDBAT_APP_LIMITED = 4, /* below, but the application was the limit */
	DCC_LEDBAT_LOSS = 5,
	DCC_LEDBAT_RTO = 6,
};

struct dcc_ledbat_params {
	u32 target_ns;		     /* of the queue; 0: from the path */
	u32 gain_milli;		     /* packets per RTT with no queue; the RFC: at most 1 */
	u32 allowed_increase_packets; /* a window may be this much above what was in flight */
	u32 min_cwnd_milli;
	u32 initial_cwnd_packets;    /* 0: one base BDP */
	u32 filter_samples;	     /* 1 .. 8 */
	u32 base_history;	     /* minutes, 1 .. 10; 0: the path's base RTT */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_ledbat_decision {
	u32 delay_ns; /* filtered */
	u32 queue_ns; /* above the base delay */
	u32 branch;   /* enum dcc_ledbat_branch */
};

struct dcc_ledbat {
	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_ledbat_params params;
	u64 min_cwnd_q24;
	u64 max_cwnd_q24;
	u64 initial_q24;
	u64 bdp_q24; /* base BDP */
	u64 allowed_q24;
	u64 gain_q24;
	u32 base_ns;
	u32 target_ns;
	u32 wire_bytes;

	/* The flow. */
	u64 cwnd_q24;
	u64 decreased_ns; /* when a loss last shrank the window; 0: never */
	u64 round_ns;	  /* when this round trip began */
	u64 round_cwnd_q24; /* with this window */
	u64 minute_ns;	  /* when the newest minute of the history began */
	u32 rtt_ns;	  /* newest */
	u32 samples;	  /* so far; the next one's place in recent_ns */
	u32 recent_ns[DCC_LEDBAT_FILTER_MAX];
	u32 smallest_ns[DCC_LEDBAT_HISTORY_MAX]; /* of each minute, newest first */
	struct dcc_ledbat_decision last;
};

static_assert(sizeof(struct dcc_ledbat) <= 256, "state is one object of at most 256 bytes");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_LEDBAT_PARAMS(X)                                                           \
	X(target_ns, DCC_LEDBAT_TARGET_MIN_NS, DCC_LEDBAT_TARGET_MAX_NS, true)         \
	X(gain_milli, DCC_LEDBAT_GAIN_MIN_MILLI, DCC_LEDBAT_GAIN_MAX_MILLI, false)     \
	X(allowed_increase_packets, DCC_LEDBAT_ALLOWED_MIN_PACKETS,                    \
	  DCC_LEDBAT_ALLOWED_MAX_PACKETS, false)                                       \
	X(min_cwnd_milli, DCC_LEDBAT_CWND_MIN_MILLI, DCC_LEDBAT_CWND_MAX_MILLI, false) \
	X(initial_cwnd_packets, 1, DCC_LEDBAT_INITIAL_MAX_PACKETS, true)               \
	X(filter_samples, 1, DCC_LEDBAT_FILTER_MAX, false)                             \
	X(base_history, 1, DCC_LEDBAT_HISTORY_MAX, true)

static inline void dcc_ledbat_params_default(struct dcc_ledbat_params *p)
{
	p->target_ns = 0;
	p->gain_milli = DCC_LEDBAT_GAIN_MILLI;
	p->allowed_increase_packets = DCC_LEDBAT_ALLOWED_PACKETS;
	p->min_cwnd_milli = DCC_LEDBAT_MIN_CWND_MILLI;
	p->initial_cwnd_packets = 0;
	p->filter_samples = DCC_LEDBAT_FILTER_SAMPLES;
	p->base_history = 0;
}

static inline bool dcc_ledbat_params_valid(const struct dcc_ledbat_params *p)
{
	return DCC_LEDBAT_PARAMS(DCC_PARAM_FITS) true;
}

static inline bool dcc_ledbat_stale(const struct dcc_ledbat *s, const struct dcc_path *path,
				    const struct dcc_ledbat_params *p)
{
	return !dcc_same_path(&s->path, path) || !dcc_same(&s->params, p, sizeof(*p));
}

/* Thousandths as Q24, for up to 10^8 of them. */
static inline u64 dcc_ledbat_milli_to_q24(u32 milli)
{
	return dcc_div_u64(((u64)milli << DCC_LEDBAT_CWND_SHIFT) + 500, 1000);
}

/*
 * Everything that depends on path and parameters only.  Values outside their
 * ranges are cut to them: a core must not fail.
 */
static inline void dcc_ledbat_derive(struct dcc_ledbat *s, const struct dcc_path *path,
				     const struct dcc_ledbat_params *p)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u64 per_packet, target_ns = p->target_ns;

	s->path = *path;
	s->params = *p;
	s->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	s->wire_bytes = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				      DCC_PATH_WIRE_MAX_BYTES);
	per_packet = s->wire_bytes * 8000000000ULL; /* bits times ns per s, < 2^52 */

	if (!target_ns)
		target_ns = dcc_max_u64(s->base_ns / 4,
					dcc_div_u64(DCC_LEDBAT_TARGET_PACKETS * per_packet, rate));
	s->target_ns = (u32)dcc_clamp_u64(target_ns, DCC_LEDBAT_TARGET_MIN_NS,
					  DCC_LEDBAT_TARGET_MAX_NS);
	s->gain_q24 = dcc_ledbat_milli_to_q24(dcc_clamp_u32(p->gain_milli,
							    DCC_LEDBAT_GAIN_MIN_MILLI,
							    DCC_LEDBAT_GAIN_MAX_MILLI));
	s->allowed_q24 = (u64)dcc_clamp_u32(p->allowed_increase_packets,
					    DCC_LEDBAT_ALLOWED_MIN_PACKETS,
					    DCC_LEDBAT_ALLOWED_MAX_PACKETS)
			 << DCC_LEDBAT_CWND_SHIFT;

	/* 2^40 * 2^56 / 2^39 at the least */
	s->max_cwnd_q24 = dcc_muldiv_u64(rate, ((u64)s->base_ns + s->target_ns)
						       << (DCC_LEDBAT_CWND_SHIFT + 1),
					 per_packet);
	/* A slow line's BDP may be less than a packet; two always may be in flight. */
	s->max_cwnd_q24 = dcc_clamp_u64(s->max_cwnd_q24, 2 * DCC_LEDBAT_CWND_ONE,
					DCC_LEDBAT_CWND_MAX);
	s->min_cwnd_q24 = dcc_ledbat_milli_to_q24(dcc_clamp_u32(p->min_cwnd_milli,
								DCC_LEDBAT_CWND_MIN_MILLI,
								DCC_LEDBAT_CWND_MAX_MILLI));
	s->min_cwnd_q24 = dcc_min_u64(s->min_cwnd_q24, s->max_cwnd_q24);
	s->bdp_q24 = dcc_min_u64(dcc_muldiv_u64(rate, (u64)s->base_ns << DCC_LEDBAT_CWND_SHIFT,
						per_packet), DCC_LEDBAT_CWND_MAX);
	s->initial_q24 = (u64)dcc_min_u32(p->initial_cwnd_packets, DCC_LEDBAT_INITIAL_MAX_PACKETS)
			 << DCC_LEDBAT_CWND_SHIFT;
	if (!s->initial_q24)
		s->initial_q24 = s->bdp_q24;
}

/* ---- the steps --------------------------------------------------------- */

/*
 * GAIN (TARGET - queue) / TARGET, where the queue is below TARGET: packets per
 * RTT (Q24).  gain_q24 up to 1000 packets.
 */
static inline u64 dcc_ledbat_up_q24(u64 gain_q24, u32 queue_ns, u32 target_ns)
{
	return dcc_muldiv_u64(gain_q24, dcc_sub_sat_u32(target_ns, queue_ns),
			      dcc_max_u32(target_ns, 1));
}

/* GAIN (queue - TARGET) / TARGET, where it is above; bounded. */
static inline u64 dcc_ledbat_down_q24(u64 gain_q24, u32 queue_ns, u32 target_ns)
{
	return dcc_min_u64(dcc_muldiv_u64(gain_q24, dcc_sub_sat_u32(queue_ns, target_ns),
					  dcc_max_u32(target_ns, 1)),
			   DCC_LEDBAT_STEP_MAX_Q24);
}

/* Bytes on the wire as packets, Q16. */
static inline u64 dcc_ledbat_acked_q16(u32 wire_bytes, u32 acked_bytes)
{
	if (DCC_LIKELY(acked_bytes == wire_bytes))
		return DCC_WINDOW_ONE;
	return dcc_min_u64(dcc_div_u64((u64)acked_bytes << DCC_WINDOW_SHIFT,
				       dcc_max_u32(wire_bytes, 1)),
			   (u64)DCC_LEDBAT_ACKED_MAX << DCC_WINDOW_SHIFT);
}

/* The part of a step per RTT that falls to these packets: acked / cwnd, acked below one. */
static inline u64 dcc_ledbat_share_q24(u64 cwnd_q24, u64 step_q24, u64 acked_q16)
{
	u64 share_q40 = step_q24 * acked_q16; /* < 2^34 * 2^28 */

	if (cwnd_q24 < DCC_LEDBAT_CWND_ONE)
		return share_q40 >> 16;
	return dcc_div_u64(share_q40, cwnd_q24 >> 8);
}

static inline u64 dcc_ledbat_increase(u64 cwnd_q24, u64 step_q24, u64 acked_q16)
{
	return cwnd_q24 + dcc_ledbat_share_q24(cwnd_q24, step_q24, acked_q16);
}

/* At most to a half. */
static inline u64 dcc_ledbat_decrease(u64 cwnd_q24, u64 step_q24, u64 acked_q16)
{
	return cwnd_q24 - dcc_min_u64(dcc_ledbat_share_q24(cwnd_q24, step_q24, acked_q16),
				      cwnd_q24 / 2);
}

/* The filter: the smallest of the last delays that fall within one window. */
static inline u32 dcc_ledbat_filter_ns(struct dcc_ledbat *s, u32 rtt_ns)
{
	u32 n = dcc_min_u32(s->params.filter_samples, DCC_LEDBAT_FILTER_MAX), i;
	u32 smallest_ns = rtt_ns;

	n = (u32)dcc_min_u64(n, s->cwnd_q24 >> DCC_LEDBAT_CWND_SHIFT);
	for (i = 1; i < DCC_LEDBAT_FILTER_MAX; i++)
		if (i < n && i <= s->samples)
			smallest_ns = dcc_min_u32(smallest_ns,
						  s->recent_ns[(s->samples - i) &
							       (DCC_LEDBAT_FILTER_MAX - 1)]);
	s->recent_ns[s->samples & (DCC_LEDBAT_FILTER_MAX - 1)] = rtt_ns;
	/* Counts on within what matters, so that it never wraps to 0. */
	s->samples = s->samples + 1 < 2 * DCC_LEDBAT_FILTER_MAX ? s->samples + 1 :
								  DCC_LEDBAT_FILTER_MAX;
	return smallest_ns;
}

/* The base delay, with this sample taken in. */
static inline u32 dcc_ledbat_base_ns(struct dcc_ledbat *s, u64 now_ns, u32 rtt_ns)
{
	u32 n = dcc_min_u32(s->params.base_history, DCC_LEDBAT_HISTORY_MAX), i;
	u32 smallest_ns;

	if (DCC_LIKELY(!n))
		return s->base_ns;
	/* A clock that went back is a huge difference: a new minute. */
	if (now_ns - s->minute_ns >= DCC_LEDBAT_MINUTE_NS) {
		s->minute_ns = now_ns;
		for (i = DCC_LEDBAT_HISTORY_MAX - 1; i > 0; i--)
			s->smallest_ns[i] = s->smallest_ns[i - 1];
		s->smallest_ns[0] = rtt_ns;
	}
	s->smallest_ns[0] = dcc_min_u32(s->smallest_ns[0], rtt_ns);
	smallest_ns = s->smallest_ns[0];
	for (i = 1; i < DCC_LEDBAT_HISTORY_MAX; i++)
		if (i < n)
			smallest_ns = dcc_min_u32(smallest_ns, s->smallest_ns[i]);
	return smallest_ns;
}

static inline void dcc_ledbat_set_cwnd(struct dcc_ledbat *s, u64 cwnd_q24, u32 branch)
{
	s->cwnd_q24 = dcc_clamp_u64(cwnd_q24, dcc_max_u64(s->min_cwnd_q24, 1 << 8),
				    dcc_max_u64(s->max_cwnd_q24, DCC_LEDBAT_CWND_ONE));
	s->last.branch = branch;
}

static inline void dcc_ledbat_control(const struct dcc_ledbat *s, struct dcc_control *out)
{
	u64 rate = dcc_clamp_u64(s->path.line_rate_bps, DCC_PATH_RATE_MIN_BPS,
				 DCC_PATH_RATE_MAX_BPS);

	out->cwnd_q16 = s->cwnd_q24 >> (DCC_LEDBAT_CWND_SHIFT - DCC_WINDOW_SHIFT);
	out->pacing_bps = 2 * rate;
	out->probe_ns = 0;
	out->target_ns = s->target_ns;
	out->has_levels = 0;
}

/* ---- the contract ------------------------------------------------------ */

static inline void dcc_ledbat_start(struct dcc_ledbat *s)
{
	s->decreased_ns = 0;
	s->round_ns = 0;
	s->round_cwnd_q24 = 0;
	s->rtt_ns = s->base_ns;
	s->samples = 0;
	s->last.delay_ns = s->base_ns;
	s->last.queue_ns = 0;
	dcc_ledbat_set_cwnd(s, s->initial_q24, DCC_LEDBAT_START);
}

static inline void dcc_ledbat_forget(struct dcc_ledbat *s)
{
	u32 i;

	s->minute_ns = 0;
	for (i = 0; i < DCC_LEDBAT_FILTER_MAX; i++)
		s->recent_ns[i] = DCC_U32_MAX;
	for (i = 0; i < DCC_LEDBAT_HISTORY_MAX; i++)
		s->smallest_ns[i] = DCC_U32_MAX;
}

static inline void dcc_ledbat_init(struct dcc_ledbat *s, const struct dcc_path *path,
				   const struct dcc_ledbat_params *p, struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_ledbat_derive)(s, path, p);
	dcc_ledbat_forget(s);
	dcc_ledbat_start(s);
	dcc_ledbat_control(s, out);
}

/*
 * After an idle period, or on another path: as a new flow.  The base delay of
 * the minutes before is kept on the same path.
 */
static inline void dcc_ledbat_restart(struct dcc_ledbat *s, const struct dcc_path *path,
				      const struct dcc_ledbat_params *p, u64 now_ns,
				      struct dcc_control *out)
{
	(void)now_ns;
	if (s->path.line_rate_bps != path->line_rate_bps ||
	    s->path.base_rtt_ns != path->base_rtt_ns || s->path.wire_bytes != path->wire_bytes)
		dcc_ledbat_forget(s);
	DCC_BPF_SUBPROG(dcc_ledbat_derive)(s, path, p);
	dcc_ledbat_start(s);
	dcc_ledbat_control(s, out);
}

/* On each acknowledgment.  True when a decision was made and out set. */
static inline bool dcc_ledbat_ack(struct dcc_ledbat *s, const struct dcc_path *path,
				  const struct dcc_ledbat_params *p, const struct dcc_ack *ack,
				  struct dcc_control *out)
{
	u64 acked_q16, cwnd_q24, most_q24;
	u32 base_ns, branch;

	if (DCC_UNLIKELY(ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)))
		return false;
	if (DCC_UNLIKELY(dcc_ledbat_stale(s, path, p)))
		DCC_BPF_SUBPROG(dcc_ledbat_derive)(s, path, p);

	cwnd_q24 = s->cwnd_q24;
	acked_q16 = dcc_ledbat_acked_q16(s->wire_bytes, ack->acked_bytes);
	base_ns = DCC_BPF_SUBPROG(dcc_ledbat_base_ns)(s, ack->now_ns, ack->rtt_ns);
	s->rtt_ns = ack->rtt_ns;
	s->last.delay_ns = DCC_BPF_SUBPROG(dcc_ledbat_filter_ns)(s, ack->rtt_ns);
	s->last.queue_ns = dcc_sub_sat_u32(s->last.delay_ns, base_ns);

	/* A round ends with the first packet that was sent in it; or the clock went back. */
	if (dcc_round_over(ack, s->round_ns)) {
		s->round_ns = ack->now_ns;
		s->round_cwnd_q24 = cwnd_q24;
	}
	if (s->last.queue_ns >= s->target_ns) {
		branch = DCC_LEDBAT_DECREASE;
		cwnd_q24 = dcc_ledbat_decrease(cwnd_q24,
					       dcc_ledbat_down_q24(s->gain_q24, s->last.queue_ns,
								   s->target_ns),
					       acked_q16);
		cwnd_q24 = dcc_max_u64(cwnd_q24, dcc_min_u64(s->cwnd_q24, s->round_cwnd_q24 / 2));
	} else if (ack->flags & DCC_ACK_APP_LIMITED) {
		branch = DCC_LEDBAT_APP_LIMITED;
	} else {
		branch = DCC_LEDBAT_INCREASE;
		cwnd_q24 = dcc_ledbat_increase(cwnd_q24,
					       dcc_ledbat_up_q24(s->gain_q24, s->last.queue_ns,
								 s->target_ns),
					       acked_q16);
		most_q24 = dcc_div_u64((u64)ack->inflight_bytes << DCC_LEDBAT_CWND_SHIFT,
				       dcc_max_u32(s->wire_bytes, 1)) + s->allowed_q24;
		if (cwnd_q24 > most_q24) {
			branch = DCC_LEDBAT_FLIGHT;
			cwnd_q24 = dcc_max_u64(s->cwnd_q24, most_q24);
		}
	}
	dcc_ledbat_set_cwnd(s, cwnd_q24, branch);
	dcc_ledbat_control(s, out);
	return true;
}

/* A loss was found at now_ns: half of the window, once per RTT.  out is set in any case. */
static inline void dcc_ledbat_loss(struct dcc_ledbat *s, const struct dcc_path *path,
				   const struct dcc_ledbat_params *p, u64 now_ns,
				   struct dcc_control *out)
{
	(void)path;
	(void)p;
	if (!s->decreased_ns || now_ns - s->decreased_ns >= s->rtt_ns) {
		s->decreased_ns = dcc_max_u64(now_ns, 1);
		dcc_ledbat_set_cwnd(s, s->cwnd_q24 / 2, DCC_LEDBAT_LOSS);
	}
	dcc_ledbat_control(s, out);
}

/* A retransmission timeout. */
static inline void dcc_ledbat_rto(struct dcc_ledbat *s, const struct dcc_path *path,
				  const struct dcc_ledbat_params *p, u64 now_ns,
				  struct dcc_control *out)
{
	(void)path;
	(void)p;
	s->decreased_ns = dcc_max_u64(now_ns, 1);
	dcc_ledbat_set_cwnd(s, dcc_min_u64(s->cwnd_q24, DCC_LEDBAT_CWND_ONE), DCC_LEDBAT_RTO);
	dcc_ledbat_control(s, out);
}

#endif /* DCC_LEDBAT_H */

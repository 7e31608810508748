/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Swift: a window that holds the delay at a target (SIGCOMM 2020).
 *
 * The control loop
 *   Each acknowledgment compares its delay with a target.  Below it the window
 *   grows by AI packets per RTT; above it the window shrinks by
 *   beta * (delay - target) / delay, at most by max_mdf, and once per RTT.  The
 *   target itself depends on the window: n flows that arrive at random keep a
 *   queue of about sqrt(n), and a window is about 1 / n, so the target grows by
 *   alpha / sqrt(cwnd) + beta_fs from a range of large windows to one of small
 *   ones ("flow scaling"); this also pulls shares together, since the flow with
 *   the smaller window has the higher target.  Each hop may add its own part
 *   ("topology scaling").  A window below one packet is a packet every
 *   RTT / cwnd.
 *
 *   Where the line has been idle for some RTTs the increase doubles with each
 *   further one (not in the paper).
 *
 *   acknowledgment -> target -> increase or decrease -> window
 *
 *   The steps are functions of their own (dcc_swift_target_ns(),
 *   dcc_swift_increase(), dcc_swift_decrease(), dcc_swift_may_decrease(),
 *   dcc_swift_set_cwnd()), for a core that has Swift as its base.
 *
 * Differences from the paper
 *   1. The delay is the whole RTT.  The paper splits it by NIC timestamps into
 *      fabric and end-host delay, with a window for each; TCP knows neither, and
 *      where the receiver's host is slow its delay counts as the fabric's.
 *   2. Hops are a parameter (0: none), not taken from the packets' TTL, which TCP
 *      does not show.
 *   3. Base target and scaling range follow from the base RTT when they are 0:
 *      1.25 and 2 base RTTs (docs/design/rules.md: a range of 4).  The paper's
 *      figures are those of one operator's network.  The target has the hosts'
 *      noise above that: it is in the base RTT on average, and RTTs differ by it.
 *   4. Algorithm 1, line "if cwnd <= cwnd_prev then t_last_decrease = now": it is
 *      "<" here.  With "<=" every acknowledgment above the target that may not
 *      decrease would postpone the decrease for ever.
 *   5. A flow starts, and starts again after idle time, with one base BDP
 *      (parameter initial_cwnd_packets); the paper does not say.
 *   6. Samples of a flow that was limited by its application, or had less than half
 *      of its window in flight, do not let the window grow (they say nothing of
 *      what it could carry); they let it shrink.
 *   7. The largest window is what the line sends in twice the largest target:
 *      no path on which the line rate is right ever gets there.
 *   8. RETX_RESET_THRESHOLD, timeouts in a row after which the window becomes the
 *      smallest one, is 5, and that smallest window 1/256 packet.  No values are
 *      given.
 *   9. Windows of a packet and more are not paced in the paper.  Here they are, at
 *      twice the line rate, which only breaks up bursts of hosts that are faster
 *      than that.  (At the line rate itself a lone flow would never build the
 *      queue that makes it stop growing.)
 *  10. AI packets per RTT take 75 RTTs from a quarter of 100 Gbit/s and 12 us to all
 *      of it, and more where noise makes RTTs longer.  After hai_rounds (3) RTTs in a
 *      row whose mean is no queue the increase doubles with each further one, up to an
 *      eighth of the window: TIMELY's hyperactive increase (SIGCOMM 2015, Algorithm
 *      1), after 5 there.  No queue is a mean within a quarter of the way to the
 *      target, from the base RTT or the flow's least one, if that is longer.  0: never,
 *      which is the paper's law.
 *  11. The automatic target, 5/4 base RTTs, is no longer than an idle path where the base
 *      RTT is told a fifth too short.  So it is at least 17/16 of the flow's least
 *      RTT, as far as that is up to 5/4 base RTTs.  Not in the paper's law.
 */
#ifndef DCC_SWIFT_H
#define DCC_SWIFT_H

#include "dcc_cc.h"
#include "dcc_math.h"

/* Windows inside: AI / cwnd of a window of 2^16 packets still has eight digits. */
#define DCC_SWIFT_CWND_SHIFT 24
#define DCC_SWIFT_CWND_ONE 16777216ULL

/* Parameters, with their ranges. */
#define DCC_SWIFT_TARGET_MIN_NS 1000U
#define DCC_SWIFT_TARGET_MAX_NS 2000000000U
#define DCC_SWIFT_HOPS_MAX 64U
#define DCC_SWIFT_HOP_MAX_NS 10000000U
#define DCC_SWIFT_FS_RANGE_MIN_NS 100U
#define DCC_SWIFT_FS_RANGE_MAX_NS 1000000000U
#define DCC_SWIFT_FS_CWND_MIN_MILLI 1U
#define DCC_SWIFT_FS_CWND_MAX_MILLI 100000000U
#define DCC_SWIFT_AI_MIN_MILLI 1U
#define DCC_SWIFT_AI_MAX_MILLI 1000000U
#define DCC_SWIFT_HAI_ROUNDS_MAX 1000U
#define DCC_SWIFT_PPM_MAX 1000000U
#define DCC_SWIFT_INITIAL_MAX_PACKETS 1000000U

#define DCC_SWIFT_HOP_NS 1000U
#define DCC_SWIFT_FS_MIN_CWND_MILLI 100U
#define DCC_SWIFT_FS_MAX_CWND_MILLI 100000U
#define DCC_SWIFT_AI_MILLI 1000U
#define DCC_SWIFT_BETA_PPM 800000U
#define DCC_SWIFT_MAX_MDF_PPM 500000U
#define DCC_SWIFT_HAI_ROUNDS 3U

/* Such a part of the way to the target is no queue. */
#define DCC_SWIFT_IDLE_PART 4U
/* The increase doubles so often at most, and up to such a part of the window. */
#define DCC_SWIFT_HAI_DOUBLINGS 16U
#define DCC_SWIFT_HAI_SHIFT 3

/* One packet in 256 RTTs: 256 times as many flows as packets in a BDP. */
#define DCC_SWIFT_CWND_MIN (DCC_SWIFT_CWND_ONE >> 8)
/* More full packets than the 1 GB that TCP's sequence numbers allow in flight. */
#define DCC_SWIFT_CWND_MAX (DCC_SWIFT_CWND_ONE << 21)

/* One acknowledgment of more packets than this counts as this many: bounds a product. */
#define DCC_SWIFT_ACKED_MAX 2048U

#define DCC_SWIFT_RETX_RESET_THRESHOLD 5

/* The rule that decided, for tracing. */
enum dcc_swift_branch {
	DCC_SWIFT_START = 0,	   /* no decision yet, or restarted */
	DCC_SWIFT_INCREASE = 1,	   /* below the target */
	DCC_SWIFT_DECREASE = 2,	   /* above the target */
	DCC_SWIFT_HOLD = 3,	   /* above the target, but decreased within the last RTT */
	DCC_SWIFT_APP_LIMITED = 4, /* below the target, but the window was not the limit */
	DCC_SWIFT_LOSS = 5,
	DCC_SWIFT_RTO = 6,
};

struct dcc_swift_params {
	u32 base_target_ns;    /* of a path with no hops and large windows; 0: automatic */
	u32 hops;	       /* 0 .. 64 */
	u32 hop_scale_ns;      /* the paper's h-bar: target for each hop */
	u32 flow_scaling;      /* 0: the target does not depend on the window */
	u32 fs_range_ns;       /* 0: 2 base RTTs */
	u32 fs_min_cwnd_milli; /* thousandths of a packet: here and below, all of the range */
	u32 fs_max_cwnd_milli; /* here and above, none of it */
	u32 ai_milli;	       /* thousandths of a packet per RTT */
	u32 beta_ppm;
	u32 max_mdf_ppm;
	u32 initial_cwnd_packets; /* 0: one base BDP */
	u32 hai_rounds;	       /* RTTs without a queue that double the increase; 0: never */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_swift_decision {
	u32 delay_ns;
	u32 target_ns;
	u32 branch; /* enum dcc_swift_branch */
};

struct dcc_swift {
	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_swift_params params;
	u64 fs_slope_q32; /* flow scaling: ns for each unit of dcc_swift_root() */
	u64 fs_min_q24;
	u64 fs_max_q24;
	u64 fs_floor;	  /* dcc_swift_root(fs_max_cwnd) */
	u64 max_cwnd_q24;
	u64 initial_q24;
	u64 bdp_q24;	  /* base BDP */
	u32 base_ns;
	u32 fixed_target_ns; /* base target and hops */
	u32 fs_range_ns;
	u32 ai_q16;
	u32 beta_q24;
	u32 max_mdf_q24;
	u32 hai_rounds;
	u32 wire_bytes;

	/* The flow. */
	u64 cwnd_q24;
	u64 decreased_ns; /* when the window last shrank; 0: never */
	u64 round_ns;	  /* packets sent from here on end the RTT; not for the paper's law */
	u64 sum_ns;	  /* of its samples */
	u32 samples;
	u32 least_rtt_ns;
	u32 idle_rounds;  /* RTTs without a queue, in a row */
	u32 rtt_ns;	  /* newest */
	u32 timeouts;	  /* in a row */
	struct dcc_swift_decision last;
};

static_assert(sizeof(struct dcc_swift) <= 256, "state is one object of at most 256 bytes");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_SWIFT_PARAMS(X)                                                                   \
	X(base_target_ns, DCC_SWIFT_TARGET_MIN_NS, DCC_SWIFT_TARGET_MAX_NS, true)             \
	X(hops, 0, DCC_SWIFT_HOPS_MAX, true)                                                  \
	X(hop_scale_ns, 0, DCC_SWIFT_HOP_MAX_NS, true)                                        \
	X(flow_scaling, 0, 1, true)                                                           \
	X(fs_range_ns, DCC_SWIFT_FS_RANGE_MIN_NS, DCC_SWIFT_FS_RANGE_MAX_NS, true)            \
	X(fs_min_cwnd_milli, DCC_SWIFT_FS_CWND_MIN_MILLI, DCC_SWIFT_FS_CWND_MAX_MILLI, false) \
	X(fs_max_cwnd_milli, DCC_SWIFT_FS_CWND_MIN_MILLI, DCC_SWIFT_FS_CWND_MAX_MILLI, false) \
	X(ai_milli, DCC_SWIFT_AI_MIN_MILLI, DCC_SWIFT_AI_MAX_MILLI, false)                    \
	X(beta_ppm, 0, DCC_SWIFT_PPM_MAX, true)                                               \
	X(max_mdf_ppm, 0, DCC_SWIFT_PPM_MAX, true)                                            \
	X(initial_cwnd_packets, 1, DCC_SWIFT_INITIAL_MAX_PACKETS, true)                       \
	X(hai_rounds, 0, DCC_SWIFT_HAI_ROUNDS_MAX, true)

static inline void dcc_swift_params_default(struct dcc_swift_params *p)
{
	p->base_target_ns = 0;
	p->hops = 0;
	p->hop_scale_ns = DCC_SWIFT_HOP_NS;
	p->flow_scaling = 1;
	p->fs_range_ns = 0;
	p->fs_min_cwnd_milli = DCC_SWIFT_FS_MIN_CWND_MILLI;
	p->fs_max_cwnd_milli = DCC_SWIFT_FS_MAX_CWND_MILLI;
	p->ai_milli = DCC_SWIFT_AI_MILLI;
	p->beta_ppm = DCC_SWIFT_BETA_PPM;
	p->max_mdf_ppm = DCC_SWIFT_MAX_MDF_PPM;
	p->initial_cwnd_packets = 0;
	p->hai_rounds = DCC_SWIFT_HAI_ROUNDS;
}

/* fs_min_cwnd >= fs_max_cwnd is allowed, as sysctls are set one by one: a step at fs_max_cwnd. */
static inline bool dcc_swift_params_valid(const struct dcc_swift_params *p)
{
	return DCC_SWIFT_PARAMS(DCC_PARAM_FITS) true;
}

static inline bool dcc_swift_stale(const struct dcc_swift *s, const struct dcc_path *path,
				   const struct dcc_swift_params *p)
{
	return !dcc_same_path(&s->path, path) || !dcc_same(&s->params, p, sizeof(*p));
}

/* Thousandths as Q24, for up to 10^8 of them. */
static inline u64 dcc_swift_milli_to_q24(u32 milli)
{
	return dcc_div_u64(((u64)milli << DCC_SWIFT_CWND_SHIFT) + 500, 1000);
}

/*
 * 1 / sqrt(cwnd) in units of 2^-25: of a window times 2^10 by dcc_rsqrt_q30(),
 * so that no digit of a small window is cut off.
 */
static inline u64 dcc_swift_root(u64 cwnd_q24)
{
	return dcc_rsqrt_q30(cwnd_q24 << 2);
}

/* Packets (Q24) that the line sends in a time; at most DCC_SWIFT_CWND_MAX. */
static inline u64 dcc_swift_line_packets_q24(const struct dcc_path *path, u64 time_ns)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u32 wire = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				 DCC_PATH_WIRE_MAX_BYTES);

	/* 2^40 * 2^57 / 2^39 at the least */
	return dcc_min_u64(dcc_muldiv_u64(rate, time_ns << DCC_SWIFT_CWND_SHIFT,
					  wire * 8000000000ULL), DCC_SWIFT_CWND_MAX);
}

/* The automatic target of a path without noise. */
static inline u32 dcc_swift_default_target_ns(const struct dcc_swift *s)
{
	return s->base_ns + s->base_ns / 4;
}

/* A shorter target would shrink the window without end on an idle path of this RTT. */
static inline u32 dcc_swift_least_target_ns(u32 idle_ns)
{
	return idle_ns + idle_ns / 16;
}

/*
 * Everything that depends on path and parameters only.  Values outside their
 * ranges are cut to them: a core must not fail.
 */
static inline void dcc_swift_derive(struct dcc_swift *s, const struct dcc_path *path,
				    const struct dcc_swift_params *p)
{
	u32 range_ns = p->fs_range_ns;
	u64 target_ns, span;

	s->path = *path;
	s->params = *p;
	s->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	s->wire_bytes = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				      DCC_PATH_WIRE_MAX_BYTES);

	target_ns = p->base_target_ns ? p->base_target_ns :
					(u64)dcc_swift_default_target_ns(s) + path->noise_ns;
	target_ns = dcc_clamp_u64(target_ns, dcc_swift_least_target_ns(s->base_ns),
				  DCC_SWIFT_TARGET_MAX_NS);
	target_ns += dcc_min_u32(p->hops, DCC_SWIFT_HOPS_MAX) *
		     dcc_min_u32(p->hop_scale_ns, DCC_SWIFT_HOP_MAX_NS);
	s->fixed_target_ns = dcc_sat_u32(target_ns); /* < 2.7e9 */

	if (!range_ns)
		range_ns = s->base_ns * 2;
	range_ns = dcc_clamp_u32(range_ns, DCC_SWIFT_FS_RANGE_MIN_NS, DCC_SWIFT_FS_RANGE_MAX_NS);
	if (!p->flow_scaling)
		range_ns = 0;
	s->fs_range_ns = range_ns;
	s->fs_min_q24 = dcc_swift_milli_to_q24(dcc_clamp_u32(p->fs_min_cwnd_milli,
							     DCC_SWIFT_FS_CWND_MIN_MILLI,
							     DCC_SWIFT_FS_CWND_MAX_MILLI));
	s->fs_max_q24 = dcc_swift_milli_to_q24(dcc_clamp_u32(p->fs_max_cwnd_milli,
							     DCC_SWIFT_FS_CWND_MIN_MILLI,
							     DCC_SWIFT_FS_CWND_MAX_MILLI));
	/*
	 * alpha = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)), and
	 * beta_fs = -alpha / sqrt(fs_max_cwnd) is the floor that is taken off first.
	 */
	s->fs_floor = dcc_swift_root(s->fs_max_q24);
	span = dcc_sub_sat_u64(dcc_swift_root(s->fs_min_q24), s->fs_floor);
	s->fs_slope_q32 = dcc_div_u64((u64)range_ns << 32, dcc_max_u64(span, 1));

	s->ai_q16 = (u32)(dcc_swift_milli_to_q24(dcc_clamp_u32(p->ai_milli, DCC_SWIFT_AI_MIN_MILLI,
							       DCC_SWIFT_AI_MAX_MILLI)) >> 8);
	s->beta_q24 = dcc_ppm_to_q24(dcc_min_u32(p->beta_ppm, DCC_SWIFT_PPM_MAX));
	s->max_mdf_q24 = dcc_ppm_to_q24(dcc_min_u32(p->max_mdf_ppm, DCC_SWIFT_PPM_MAX));
	s->hai_rounds = dcc_min_u32(p->hai_rounds, DCC_SWIFT_HAI_ROUNDS_MAX);

	s->max_cwnd_q24 = dcc_swift_line_packets_q24(path, 2 * (target_ns + range_ns));
	/* A slow line's BDP may be less than a packet; two always may be in flight. */
	s->max_cwnd_q24 = dcc_clamp_u64(s->max_cwnd_q24, 2 * DCC_SWIFT_CWND_ONE,
					DCC_SWIFT_CWND_MAX);
	s->bdp_q24 = dcc_swift_line_packets_q24(path, s->base_ns);
	s->initial_q24 = (u64)dcc_min_u32(p->initial_cwnd_packets, DCC_SWIFT_INITIAL_MAX_PACKETS)
			 << DCC_SWIFT_CWND_SHIFT;
	if (!s->initial_q24)
		s->initial_q24 = s->bdp_q24;
}

/* ---- the steps --------------------------------------------------------- */

/* The target delay of a flow with this window (section 3.5). */
static inline u32 dcc_swift_target_ns(const struct dcc_swift *s, u64 cwnd_q24)
{
	u64 above;

	if (cwnd_q24 >= s->fs_max_q24)
		return s->fixed_target_ns;
	if (cwnd_q24 <= s->fs_min_q24)
		return s->fixed_target_ns + s->fs_range_ns;
	/* Not more than the range, so below 2^62 in Q32. */
	above = dcc_sub_sat_u64(dcc_swift_root(cwnd_q24), s->fs_floor);
	return s->fixed_target_ns +
	       dcc_min_u32((u32)((above * s->fs_slope_q32) >> 32), s->fs_range_ns);
}

/* Bytes on the wire as packets, Q16. */
static inline u64 dcc_swift_acked_q16(const struct dcc_swift *s, u32 acked_bytes)
{
	if (DCC_LIKELY(acked_bytes == s->wire_bytes))
		return DCC_WINDOW_ONE;
	return dcc_min_u64(dcc_div_u64((u64)acked_bytes << DCC_WINDOW_SHIFT,
				       dcc_max_u32(s->wire_bytes, 1)),
			   (u64)DCC_SWIFT_ACKED_MAX << DCC_WINDOW_SHIFT);
}

/* A mean RTT up to this is no queue. */
static inline u32 dcc_swift_idle_ns(const struct dcc_swift *s)
{
	u32 idle_ns = dcc_max_u32(s->base_ns, s->least_rtt_ns);

	return idle_ns + dcc_sub_sat_u32(s->last.target_ns, idle_ns) / DCC_SWIFT_IDLE_PART;
}

/* Differences 10 and 11: RTTs without a queue, and a target above the idle path. */
static inline void dcc_swift_watch_idle(struct dcc_swift *s, const struct dcc_ack *ack)
{
	u32 idle_ns;

	s->least_rtt_ns = dcc_min_u32(s->least_rtt_ns, ack->rtt_ns);
	if (!s->params.base_target_ns) {
		idle_ns = dcc_min_u32(s->least_rtt_ns, dcc_swift_default_target_ns(s));
		s->last.target_ns = dcc_max_u32(s->last.target_ns,
						dcc_swift_least_target_ns(idle_ns));
	}
	if (dcc_round_over(ack, s->round_ns)) {
		if (!s->samples || dcc_div_u64(s->sum_ns, s->samples) > dcc_swift_idle_ns(s))
			s->idle_rounds = 0;
		else if (s->idle_rounds < DCC_SWIFT_HAI_ROUNDS_MAX + DCC_SWIFT_HAI_DOUBLINGS)
			s->idle_rounds++;
		s->round_ns = ack->now_ns;
		s->sum_ns = 0;
		s->samples = 0;
	}
	s->sum_ns += ack->rtt_ns;
	s->samples++;
}

/* The increase per RTT of a window. */
static inline u32 dcc_swift_ai_of_q16(const struct dcc_swift *s, u64 cwnd_q24)
{
	u32 doublings = dcc_sub_sat_u32(s->idle_rounds + 1, s->hai_rounds);
	u64 most_q16;

	if (!s->hai_rounds || !doublings || cwnd_q24 < DCC_SWIFT_CWND_ONE)
		return s->ai_q16;
	most_q16 = dcc_min_u64(cwnd_q24 >> (8 + DCC_SWIFT_HAI_SHIFT),
			       DCC_SWIFT_AI_MAX_MILLI / 1000 << 16);
	doublings = dcc_min_u32(doublings, DCC_SWIFT_HAI_DOUBLINGS);
	return dcc_max_u32(s->ai_q16, (u32)dcc_min_u64((u64)s->ai_q16 << doublings, most_q16));
}

/*
 * Additive increase: AI / cwnd for each packet, and AI itself below a window of
 * one.  ai_q16 up to 1000 packets.
 */
static inline u64 dcc_swift_increase(u64 cwnd_q24, u32 ai_q16, u64 acked_q16)
{
	u64 step_q32 = ai_q16 * acked_q16; /* < 2^26 * 2^27 */

	if (cwnd_q24 < DCC_SWIFT_CWND_ONE)
		return cwnd_q24 + (step_q32 >> 8);
	return cwnd_q24 + dcc_div_u64(step_q32 << 8, cwnd_q24 >> 8);
}

/* Multiplicative decrease: max(1 - beta (delay - target) / delay, 1 - max_mdf). */
static inline u64 dcc_swift_decrease(u64 cwnd_q24, u32 delay_ns, u32 target_ns, u32 beta_q24,
				     u32 max_mdf_q24)
{
	u32 cut_q24 = (u32)dcc_div_u64((u64)beta_q24 * dcc_sub_sat_u32(delay_ns, target_ns),
				       dcc_max_u32(delay_ns, 1));

	return dcc_scale_q24(cwnd_q24, DCC_RATIO_ONE - dcc_min_u32(cut_q24, max_mdf_q24));
}

/* Was the window what limited the flow when the acknowledged packet was sent? */
static inline bool dcc_swift_window_limited(const struct dcc_swift *s, const struct dcc_ack *ack)
{
	/* inflight / wire >= cwnd / 2; < 2^56 and < 2^62 */
	return !(ack->flags & DCC_ACK_APP_LIMITED) &&
	       (u64)ack->inflight_bytes << DCC_SWIFT_CWND_SHIFT >=
	       (s->cwnd_q24 >> 1) * s->wire_bytes;
}

/* Once per RTT. */
static inline bool dcc_swift_may_decrease(const struct dcc_swift *s, u64 now_ns, u32 rtt_ns)
{
	/* After a clock that went back the difference is huge: it may. */
	return !s->decreased_ns || now_ns - s->decreased_ns >= rtt_ns;
}

/* A new window, within its bounds; a smaller one sets the time of the last decrease. */
static inline void dcc_swift_set_cwnd(struct dcc_swift *s, u64 now_ns, u64 cwnd_q24, u32 branch)
{
	cwnd_q24 = dcc_clamp_u64(cwnd_q24, DCC_SWIFT_CWND_MIN, s->max_cwnd_q24);
	if (cwnd_q24 < s->cwnd_q24)
		s->decreased_ns = dcc_max_u64(now_ns, 1);
	s->cwnd_q24 = cwnd_q24;
	s->last.branch = branch;
}

static inline void dcc_swift_control(const struct dcc_swift *s, struct dcc_control *out)
{
	u64 rate = dcc_clamp_u64(s->path.line_rate_bps, DCC_PATH_RATE_MIN_BPS,
				 DCC_PATH_RATE_MAX_BPS);

	out->cwnd_q16 = s->cwnd_q24 >> (DCC_SWIFT_CWND_SHIFT - DCC_WINDOW_SHIFT);
	out->pacing_bps = 2 * rate;
	out->probe_ns = 0;
	out->target_ns = dcc_sub_sat_u32(s->last.target_ns, s->base_ns);
	out->has_levels = 0;
}

/* ---- the contract ------------------------------------------------------ */

static inline void dcc_swift_start(struct dcc_swift *s)
{
	s->cwnd_q24 = dcc_clamp_u64(s->initial_q24, DCC_SWIFT_CWND_MIN, s->max_cwnd_q24);
	s->decreased_ns = 0;
	s->rtt_ns = s->base_ns;
	s->timeouts = 0;
	s->round_ns = 0;
	s->sum_ns = 0;
	s->samples = 0;
	s->least_rtt_ns = ~0U;
	s->idle_rounds = 0;
	s->last.delay_ns = s->base_ns;
	s->last.target_ns = dcc_swift_target_ns(s, s->cwnd_q24);
	s->last.branch = DCC_SWIFT_START;
}

static inline void dcc_swift_init(struct dcc_swift *s, const struct dcc_path *path,
				  const struct dcc_swift_params *p, struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_swift_derive)(s, path, p);
	dcc_swift_start(s);
	dcc_swift_control(s, out);
}

/* After an idle period, or on another path: as a new flow. */
static inline void dcc_swift_restart(struct dcc_swift *s, const struct dcc_path *path,
				     const struct dcc_swift_params *p, u64 now_ns,
				     struct dcc_control *out)
{
	(void)now_ns;
	dcc_swift_init(s, path, p, out);
}

/* Algorithm 1, on each acknowledgment.  True when a decision was made and out set. */
static inline bool dcc_swift_ack(struct dcc_swift *s, const struct dcc_path *path,
				 const struct dcc_swift_params *p, const struct dcc_ack *ack,
				 struct dcc_control *out)
{
	u64 cwnd_q24;
	u32 branch;

	s->timeouts = 0;
	if (DCC_UNLIKELY(ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)))
		return false;
	if (DCC_UNLIKELY(dcc_swift_stale(s, path, p)))
		DCC_BPF_SUBPROG(dcc_swift_derive)(s, path, p);

	cwnd_q24 = s->cwnd_q24;
	s->rtt_ns = ack->rtt_ns;
	s->last.delay_ns = ack->rtt_ns;
	s->last.target_ns = dcc_swift_target_ns(s, cwnd_q24);
	if (s->hai_rounds)
		dcc_swift_watch_idle(s, ack);
	if (ack->rtt_ns < s->last.target_ns) {
		branch = DCC_SWIFT_APP_LIMITED;
		if (DCC_LIKELY(dcc_swift_window_limited(s, ack))) {
			branch = DCC_SWIFT_INCREASE;
			cwnd_q24 = dcc_swift_increase(cwnd_q24, dcc_swift_ai_of_q16(s, cwnd_q24),
						      dcc_swift_acked_q16(s, ack->acked_bytes));
		} else {
			s->idle_rounds = 0;
		}
	} else {
		branch = DCC_SWIFT_HOLD;
		if (dcc_swift_may_decrease(s, ack->now_ns, ack->rtt_ns)) {
			branch = DCC_SWIFT_DECREASE;
			cwnd_q24 = dcc_swift_decrease(cwnd_q24, ack->rtt_ns, s->last.target_ns,
						      s->beta_q24, s->max_mdf_q24);
		}
	}
	dcc_swift_set_cwnd(s, ack->now_ns, cwnd_q24, branch);
	dcc_swift_control(s, out);
	return true;
}

/* The most that one decrease takes, if the last one is an RTT ago. */
static inline void dcc_swift_cut(struct dcc_swift *s, u64 now_ns, u32 branch)
{
	if (dcc_swift_may_decrease(s, now_ns, s->rtt_ns))
		dcc_swift_set_cwnd(s, now_ns,
				   dcc_scale_q24(s->cwnd_q24, DCC_RATIO_ONE - s->max_mdf_q24),
				   branch);
}

/* A loss was found at now_ns (fast recovery).  out is set in any case. */
static inline void dcc_swift_loss(struct dcc_swift *s, const struct dcc_path *path,
				  const struct dcc_swift_params *p, u64 now_ns,
				  struct dcc_control *out)
{
	(void)path;
	(void)p;
	s->timeouts = 0;
	dcc_swift_cut(s, now_ns, DCC_SWIFT_LOSS);
	dcc_swift_control(s, out);
}

/* A retransmission timeout. */
static inline void dcc_swift_rto(struct dcc_swift *s, const struct dcc_path *path,
				 const struct dcc_swift_params *p, u64 now_ns,
				 struct dcc_control *out)
{
	(void)path;
	(void)p;
	s->timeouts = dcc_min_u32(s->timeouts + 1, DCC_SWIFT_RETX_RESET_THRESHOLD);
	if (s->timeouts >= DCC_SWIFT_RETX_RESET_THRESHOLD)
		dcc_swift_set_cwnd(s, now_ns, DCC_SWIFT_CWND_MIN, DCC_SWIFT_RTO);
	else
		dcc_swift_cut(s, now_ns, DCC_SWIFT_RTO);
	dcc_swift_control(s, out);
}

#endif /* DCC_SWIFT_H */

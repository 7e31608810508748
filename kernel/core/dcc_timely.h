/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * TIMELY (SIGCOMM 2015) and patched TIMELY (the repair of "ECN or Delay",
 * CoNEXT 2016, as the SQCC paper prints it).
 *
 * The control loop
 *   A flow is a rate R.  Once per segment (dcc_rate.h) it looks at the RTT.  Below
 *   T_low R grows by delta; above T_high it falls by beta (1 - T_high / RTT);
 *   between the two the gradient of the RTT decides:
 *     TIMELY    gradient <= 0: + delta, and 5 delta from the fifth time in a row on (HAI);
 *               gradient > 0: R (1 - beta gradient).
 *     patched   R (1 - beta e w) + delta (1 - w), e = (RTT - RTT_ref) / RTT_ref, and
 *               w = 2 gradient + 1/2, cut to 0 .. 1.
 *   TIMELY has no queue length of its own: every one between T_low and T_high with a
 *   gradient of zero is as good as another, and so is every distribution of rates.
 *   The patch ties both to RTT_ref: with N flows the RTT stands at
 *   RTT_ref + N delta RTT_ref / (beta C), as long as that is below T_high.
 *
 * Differences from the papers
 *   1. A decrease is at most a half: beta * gradient exceeds 1 as soon as the queue
 *      grows by 1.25 D_minRTT in a segment.
 *   2. The RTT is one packet's, not that of a segment sent in one burst; nothing has to be
 *      subtracted for the segment's own length.  A decision falls on the first RTT after
 *      max(seg / R, D_minRTT), by the clock, not after seg bytes: the same while R is what
 *      flows, and sooner when the queue keeps acknowledgments back.
 *   3. beta is 0.8 for TIMELY and 0.008 for the patch, as each paper has it (parameter 0).
 *   4. A flow whose application sends less than four fifths of R keeps R instead of raising
 *      it (the TIMELY paper has this rule in prose).
 *   5. Start: the papers' C/N needs to know N.  TIMELY starts at line rate and soon falls; the
 *      patch, which needs hundreds of decisions for that, at an eighth of it, as a parameter says.
 *   6. Loss, which the papers do not have: at most once per RTT R falls to a half, to 7/8
 *      where the RTT is below T_low (a queue is not the cause); a timeout leaves at most one
 *      packet per RTT.
 *   7. The thresholds are a fabric's.  No RTT is below the base RTT: where T_low is not above it,
 *      or not by more than the grain of a path whose line rate nobody has told, R would only fall.
 *      T_low is then longer than the base RTT by a quarter or by the grain, and T_high longer than
 *      T_low by a base RTT or two grains at least.
 *   8. After an idle period R stays: an idle path would have shown no better value, and growth
 *      by 10 Mbit/s per segment takes seconds to reach R again.  The gradient begins anew.
 */
#ifndef DCC_TIMELY_H
#define DCC_TIMELY_H

#include "dcc_rate.h"

#define DCC_TIMELY_ALPHA_PPM 875000U
#define DCC_TIMELY_BETA_PPM 800000U
#define DCC_TIMELY_PATCHED_BETA_PPM 8000U
#define DCC_TIMELY_T_LOW_NS 50000U
#define DCC_TIMELY_T_HIGH_NS 500000U
#define DCC_TIMELY_DELTA_KBPS 10000U
#define DCC_TIMELY_HAI_EVENTS 5U
#define DCC_TIMELY_HAI_FACTOR 5U
#define DCC_TIMELY_HAI_MAX 1000U
#define DCC_TIMELY_MIN_RATE_KBPS 1000U
#define DCC_TIMELY_SEG_BYTES 64000U
/* T_low is at least such a part of the base RTT above it, where it has to be moved. */
#define DCC_TIMELY_ROOM_BASE_PART 4U

/* The rule that decided, for tracing. */
enum dcc_timely_branch {
	DCC_TIMELY_START = 0,
	DCC_TIMELY_BELOW = 1,	 /* RTT < T_low: + delta */
	DCC_TIMELY_ABOVE = 2,	 /* RTT > T_high */
	DCC_TIMELY_FALLING = 3,	 /* gradient <= 0: + delta */
	DCC_TIMELY_HAI = 4,	 /* + 5 delta */
	DCC_TIMELY_RISING = 5,	 /* gradient > 0 */
	DCC_TIMELY_WEIGHTED = 6, /* patched, between the thresholds */
	DCC_TIMELY_UNUSED = 7,	 /* the application was the limit; R as it was */
	DCC_TIMELY_LOSS = 8,
	DCC_TIMELY_RTO = 9,
};

struct dcc_timely_params {
	u32 patched;	   /* 0: TIMELY, 1: patched TIMELY */
	u32 alpha_ppm;	   /* 1 .. 1000000: weight of the newest difference */
	u32 beta_ppm;	   /* 1 .. 1000000; 0: 800000, patched 8000 */
	u32 t_low_ns;
	u32 t_high_ns;	   /* at least t_low_ns; what is below counts as that */
	u32 rtt_ref_ns;	   /* patched; 0: T_low */
	u32 delta_kbps;
	u32 hai_events;	   /* 0: never */
	u32 min_rate_kbps; /* no flow is slower */
	u32 start_kbps;	   /* 0: line rate; patched: an eighth of it */
	u32 seg_bytes;
};

/* The last decision, for the tracepoint and ss. */
struct dcc_timely_decision {
	u32 delay_ns;
	s32 gradient_q16;
	u32 branch; /* enum dcc_timely_branch */
};

struct dcc_timely {
	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_timely_params params;
	u64 line_q8;
	u64 floor_q8;
	u64 delta_q8;
	u32 base_ns;
	u32 t_low_ns;
	u32 t_high_ns;
	u32 ref_ns;
	u32 wire_bytes;
	u32 seg_bytes;
	u32 alpha_q16;
	u32 beta_q24;

	/* The flow. */
	u64 rate_q8;
	u64 decided_ns; /* the last decision; 0: none yet */
	u64 due_ns;	/* the next one */
	u64 acked_bytes; /* since the last one */
	u64 loss_ns;	/* last reaction to a loss */
	struct dcc_gradient gradient;
	u32 falling; /* decisions in a row with gradient <= 0 */
	struct dcc_timely_decision last;
};

static_assert(sizeof(struct dcc_timely) <= 256, "state is one object of at most 256 bytes");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_TIMELY_PARAMS(X)                                                      \
	X(alpha_ppm, 1, 1000000, false)                                           \
	X(beta_ppm, 1, 1000000, true)                                             \
	X(t_low_ns, DCC_RATE_THRESHOLD_MIN_NS, DCC_RATE_THRESHOLD_MAX_NS, false)  \
	X(t_high_ns, DCC_RATE_THRESHOLD_MIN_NS, DCC_RATE_THRESHOLD_MAX_NS, false) \
	X(rtt_ref_ns, DCC_RATE_THRESHOLD_MIN_NS, DCC_RATE_THRESHOLD_MAX_NS, true) \
	X(delta_kbps, 1, DCC_RATE_DELTA_MAX_KBPS, false)                          \
	X(hai_events, 1, DCC_TIMELY_HAI_MAX, true)                                \
	X(min_rate_kbps, 1, DCC_RATE_MIN_MAX_KBPS, false)                         \
	X(start_kbps, 1, DCC_RATE_START_MAX_KBPS, true)                           \
	X(seg_bytes, DCC_RATE_SEG_MIN_BYTES, DCC_RATE_SEG_MAX_BYTES, false)

static inline void dcc_timely_params_default(struct dcc_timely_params *p)
{
	p->patched = 0;
	p->alpha_ppm = DCC_TIMELY_ALPHA_PPM;
	p->beta_ppm = 0;
	p->t_low_ns = DCC_TIMELY_T_LOW_NS;
	p->t_high_ns = DCC_TIMELY_T_HIGH_NS;
	p->rtt_ref_ns = 0;
	p->delta_kbps = DCC_TIMELY_DELTA_KBPS;
	p->hai_events = DCC_TIMELY_HAI_EVENTS;
	p->min_rate_kbps = DCC_TIMELY_MIN_RATE_KBPS;
	p->start_kbps = 0;
	p->seg_bytes = DCC_TIMELY_SEG_BYTES;
}

static inline bool dcc_timely_params_valid(const struct dcc_timely_params *p)
{
	return DCC_TIMELY_PARAMS(DCC_PARAM_FITS) p->patched <= 1;
}

static inline bool dcc_timely_stale(const struct dcc_timely *s, const struct dcc_path *path,
				    const struct dcc_timely_params *p)
{
	return !dcc_same_path(&s->path, path) || !dcc_same(&s->params, p, sizeof(*p));
}

/* T_low and T_high, of s->base_ns. */
static inline void dcc_timely_derive_thresholds(struct dcc_timely *s, u32 delay_floor_ns,
						const struct dcc_timely_params *p)
{
	u32 least_room_ns = dcc_min_u32(delay_floor_ns, DCC_PATH_RTT_MAX_NS);
	u32 room_ns = dcc_max_u32(s->base_ns / DCC_TIMELY_ROOM_BASE_PART, least_room_ns);
	u32 low_ns = dcc_clamp_u32(p->t_low_ns, DCC_RATE_THRESHOLD_MIN_NS,
				   DCC_RATE_THRESHOLD_MAX_NS);
	u32 high_ns = p->t_high_ns;

	/* < 2^32: base_ns and room_ns are at most a second */
	if (low_ns <= s->base_ns + least_room_ns) {
		low_ns = s->base_ns + room_ns;
		high_ns = dcc_max_u32(high_ns, low_ns + dcc_max_u32(s->base_ns, 2 * room_ns));
	}
	s->t_low_ns = low_ns;
	s->t_high_ns = dcc_clamp_u32(high_ns, low_ns, DCC_RATE_THRESHOLD_MAX_NS);
}

/* Values outside their ranges are cut to them: a core must not fail. */
static inline void dcc_timely_derive(struct dcc_timely *s, const struct dcc_path *path,
				     const struct dcc_timely_params *p)
{
	u32 beta_ppm = p->beta_ppm;

	s->path = *path;
	s->params = *p;
	s->line_q8 = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS,
				   DCC_PATH_RATE_MAX_BPS) << DCC_RATE_SHIFT;
	s->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	s->wire_bytes = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				      DCC_PATH_WIRE_MAX_BYTES);

	dcc_timely_derive_thresholds(s, path->delay_floor_ns, p);
	s->ref_ns = p->rtt_ref_ns ? dcc_clamp_u32(p->rtt_ref_ns, DCC_RATE_THRESHOLD_MIN_NS,
						  DCC_RATE_THRESHOLD_MAX_NS) : s->t_low_ns;

	if (!beta_ppm)
		beta_ppm = p->patched ? DCC_TIMELY_PATCHED_BETA_PPM : DCC_TIMELY_BETA_PPM;
	s->beta_q24 = dcc_ppm_to_q24(dcc_min_u32(beta_ppm, 1000000));
	s->alpha_q16 = dcc_ppm_to_q24(dcc_clamp_u32(p->alpha_ppm, 1, 1000000)) >> 8;

	s->delta_q8 = dcc_rate_of_kbps_q8(dcc_clamp_u32(p->delta_kbps, 1,
							DCC_RATE_DELTA_MAX_KBPS));
	s->floor_q8 = dcc_rate_of_kbps_q8(dcc_clamp_u32(p->min_rate_kbps, 1,
							DCC_RATE_MIN_MAX_KBPS));
	s->floor_q8 = dcc_min_u64(s->floor_q8, s->line_q8);
	s->seg_bytes = dcc_clamp_u32(p->seg_bytes, DCC_RATE_SEG_MIN_BYTES, DCC_RATE_SEG_MAX_BYTES);
}

static inline void dcc_timely_control(const struct dcc_timely *s, struct dcc_control *out)
{
	/* A queue above T_high is no reason for a larger window. */
	u32 rtt_ns = dcc_max_u32(dcc_min_u32(s->last.delay_ns, s->t_high_ns), s->base_ns);

	dcc_rate_control(s->rate_q8, rtt_ns, s->wire_bytes, out);
}

static inline void dcc_timely_set_rate(struct dcc_timely *s, u64 rate_q8)
{
	s->rate_q8 = dcc_clamp_u64(rate_q8, s->floor_q8, s->line_q8);
}

/* What was seen so far says nothing of what comes. */
static inline void dcc_timely_forget(struct dcc_timely *s)
{
	dcc_gradient_reset(&s->gradient);
	s->decided_ns = 0;
	s->due_ns = 0;
	s->acked_bytes = 0;
	s->loss_ns = 0;
	s->falling = 0;
	s->last.delay_ns = s->base_ns;
	s->last.gradient_q16 = 0;
	s->last.branch = DCC_TIMELY_START;
}

static inline void dcc_timely_init(struct dcc_timely *s, const struct dcc_path *path,
				   const struct dcc_timely_params *p, struct dcc_control *out)
{
	u64 start_q8;

	DCC_BPF_SUBPROG(dcc_timely_derive)(s, path, p);
	start_q8 = dcc_rate_of_kbps_q8(dcc_min_u32(p->start_kbps, DCC_RATE_START_MAX_KBPS));
	if (!start_q8)
		start_q8 = p->patched ? s->line_q8 / 8 : s->line_q8;
	dcc_timely_set_rate(s, start_q8);
	dcc_timely_forget(s);
	dcc_timely_control(s, out);
}

/* After an idle period, or on another path. */
static inline void dcc_timely_restart(struct dcc_timely *s, const struct dcc_path *path,
				      const struct dcc_timely_params *p, u64 now_ns,
				      struct dcc_control *out)
{
	(void)now_ns;
	DCC_BPF_SUBPROG(dcc_timely_derive)(s, path, p);
	dcc_timely_set_rate(s, s->rate_q8);
	dcc_timely_forget(s);
	dcc_timely_control(s, out);
}

/* Algorithm 1, lines 5 to 13, or Algorithm 2, lines 5 to 19.  unused: may not grow. */
static inline u64 dcc_timely_law(struct dcc_timely *s, u32 rtt_ns, bool unused, u32 *branch)
{
	s32 gradient_q16 = s->last.gradient_q16;
	u64 rate_q8 = s->rate_q8;

	if (rtt_ns < s->t_low_ns) {
		*branch = DCC_TIMELY_BELOW;
		rate_q8 += s->delta_q8;
	} else if (rtt_ns > s->t_high_ns) {
		*branch = DCC_TIMELY_ABOVE;
		return dcc_rate_above(rate_q8, s->beta_q24, rtt_ns, s->t_high_ns);
	} else if (s->params.patched) {
		bool negative = rtt_ns < s->ref_ns;
		u32 off_ns = negative ? s->ref_ns - rtt_ns : rtt_ns - s->ref_ns;

		*branch = DCC_TIMELY_WEIGHTED;
		rate_q8 = dcc_rate_weighted(rate_q8, s->delta_q8,
					    dcc_gradient_weight_q16(gradient_q16), s->beta_q24,
					    dcc_div_u64((u64)off_ns << 16, s->ref_ns), negative);
	} else if (gradient_q16 > 0) {
		*branch = DCC_TIMELY_RISING;
		return dcc_rate_shrink(rate_q8,
				       dcc_rate_beta_q24(s->beta_q24, (u64)gradient_q16));
	} else if (s->params.hai_events &&
		   s->falling >= dcc_min_u32(s->params.hai_events, DCC_TIMELY_HAI_MAX)) {
		*branch = DCC_TIMELY_HAI;
		rate_q8 += DCC_TIMELY_HAI_FACTOR * s->delta_q8;
	} else {
		*branch = DCC_TIMELY_FALLING;
		rate_q8 += s->delta_q8;
	}
	if (unused && rate_q8 > s->rate_q8) {
		*branch = DCC_TIMELY_UNUSED;
		return s->rate_q8;
	}
	return rate_q8;
}

/* One completed segment. */
static inline void dcc_timely_decide(struct dcc_timely *s, const struct dcc_ack *ack)
{
	bool unused = (ack->flags & DCC_ACK_APP_LIMITED) && s->decided_ns &&
		      dcc_rate_unused(s->rate_q8, s->acked_bytes, ack->now_ns - s->decided_ns);
	u64 rate_q8;

	s->last.delay_ns = ack->rtt_ns;
	s->last.gradient_q16 = dcc_gradient_add(&s->gradient, ack->rtt_ns, s->alpha_q16,
						s->base_ns);
	s->falling = s->last.gradient_q16 > 0 ? 0 : dcc_min_u32(s->falling + 1, DCC_TIMELY_HAI_MAX);
	rate_q8 = dcc_timely_law(s, ack->rtt_ns, unused, &s->last.branch);
	dcc_timely_set_rate(s, rate_q8);
}

/* True when a decision was made and out set. */
static inline bool dcc_timely_ack(struct dcc_timely *s, const struct dcc_path *path,
				  const struct dcc_timely_params *p, const struct dcc_ack *ack,
				  struct dcc_control *out)
{
	s->acked_bytes += ack->acked_bytes;
	if (ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))
		return false;
	/* due_ns lies more than an interval ahead only when the clock went back. */
	if (DCC_LIKELY(ack->now_ns < s->due_ns && ack->now_ns >= s->decided_ns))
		return false;
	if (DCC_UNLIKELY(dcc_timely_stale(s, path, p)))
		DCC_BPF_SUBPROG(dcc_timely_derive)(s, path, p);
	DCC_BPF_SUBPROG(dcc_timely_decide)(s, ack);
	s->acked_bytes = 0;
	s->decided_ns = ack->now_ns;
	s->due_ns = dcc_add_sat_u64(ack->now_ns, dcc_rate_interval_ns(s->seg_bytes, s->rate_q8,
								      s->base_ns));
	dcc_timely_control(s, out);
	return true;
}

/* A loss was found at now_ns.  out is set in any case. */
static inline void dcc_timely_loss(struct dcc_timely *s, const struct dcc_path *path,
				   const struct dcc_timely_params *p, u64 now_ns,
				   struct dcc_control *out)
{
	u32 rtt_ns = dcc_max_u32(s->last.delay_ns, s->base_ns);

	(void)path;
	(void)p;
	if (dcc_rate_loss_counts(now_ns, s->loss_ns, rtt_ns)) {
		dcc_timely_set_rate(s, dcc_rate_after_loss_q8(s->rate_q8,
							      s->last.delay_ns < s->t_low_ns));
		s->loss_ns = now_ns;
		s->last.branch = DCC_TIMELY_LOSS;
	}
	dcc_timely_control(s, out);
}

/* A retransmission timeout. */
static inline void dcc_timely_rto(struct dcc_timely *s, const struct dcc_path *path,
				  const struct dcc_timely_params *p, u64 now_ns,
				  struct dcc_control *out)
{
	u32 rtt_ns = dcc_max_u32(s->last.delay_ns, s->base_ns);

	(void)path;
	(void)p;
	dcc_timely_set_rate(s, dcc_rate_after_rto_q8(s->rate_q8, s->wire_bytes, rtt_ns));
	s->loss_ns = now_ns;
	s->last.branch = DCC_TIMELY_RTO;
	dcc_timely_control(s, out);
}

#endif /* DCC_TIMELY_H */

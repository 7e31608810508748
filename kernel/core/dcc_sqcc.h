/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SQCC: stable queue congestion control.
 *
 * The control loop
 *   A flow is a rate R.  Below T_low it grows by delta; above, the gradient of the RTT
 *   weighs a growth against a decrease, as in patched TIMELY (dcc_rate.h, dcc_timely.h):
 *     R = delta (1 - w) + R (1 - beta e w),   w = 2 gradient + 1/2, cut to 0 .. 1.
 *   What is new is the error, which goes to infinity at T_high,
 *     e(RTT) = T_high (RTT - T_low) / (T_low (T_high - RTT)),
 *   so that no number of flows can push the queue beyond it; and that the number N of
 *   flows at the receiver sets T_low and delta.  N flows of equal rate are at rest where
 *     beta (C / N) e(RTT) = delta,
 *   and delta = C k / N^2, T_low = k seg / C with k = floor(lg N) (lg has base 10) keep what
 *   all flows together add in one turn, N delta seg / R = k seg, the same for every N.
 *
 *   N is the receiver's count, which the receiver reports in its acknowledgments, or an
 *   estimate from the RTT.  The estimate needs no receiver: if the RTT at rest is a known,
 *   growing function r*(N), then the RTT, which all flows see, says what N is.
 *
 *   acknowledgment -> mean RTT, N -> every seg / 8: T_low, delta -> law -> R -> control
 *
 * The algorithms
 *   sqcc_paper	equation 25 as printed, and difference 2
 *   sqcc	the default: all differences; a queue of 100 to 200 packets for every N
 * docs/design/rules.md has the figures behind these rules.
 *
 * Differences from the paper
 *   1. A decrease takes at most half of R (dcc_rate.h): e is infinite at T_high, and beta e w
 *      exceeds 1 long before.
 *   2. sqcc_paper, N < 10: T_low and delta keep their initial values.  The listing would set
 *      T_low to 0 and divide by it.
 *   3. A flow starts at an eighth of the line, or as a parameter says; the paper does not
 *      say.  At the first count that the receiver reports, sqcc goes to C / N (at least
 *      C / 2048).
 *   4. Loss, timeout, idle, and an application that does not use R: as in dcc_timely.h.
 *   5. sqcc chooses r*(N) = T_low + S (3/4 + 5/12 lg N) first, S being a ninth of the
 *      distance from T_low to T_high (50 us at 10 Gbit/s).  Then delta = beta C / N, at most
 *      C / 1000, and T_low is what puts the RTT at rest at r*(N).  The paper's floor(lg N)
 *      makes steps of a hundred packets.
 *   6. sqcc decides eight times per segment, with a quarter of beta and delta.  With one
 *      decision per segment all flows grow for as long as the longest interval while the
 *      queue is short, and the queue swings.  Where N is known, the interval is at most
 *      that of a flow with C / N: else a flow below its share would also learn more slowly.
 *   7. sqcc: above T_high R becomes R T_high / RTT (at least R / 8) at once, but once per
 *      RTT, and not while the RTT falls by itself.  The paper's decrease is 0.8 % per segment.
 *   8. sqcc: an RTT less than half-way from the base to T_low says that the line is nearly
 *      idle; for a flow that estimates N and has more than C / 64, one below the T_low of a
 *      lone flow.  A flow that knows N goes an eighth of the way to C / N per RTT.  A flow that
 *      estimates N adds a 32nd of its rate, but not more than C / 384, at most every
 *      millisecond (at 10 Gbit/s), and while the line stays idle after 1/4, 1/16 and so on of
 *      one, down to once per RTT; then, after four of those, with every step twice as much of the
 *      line, and up to an eighth of its rate.  When the queue shows, its growth says how
 *      much is above the line: twice as much is taken back, an eighth at least, half at most.
 *   9. sqcc: the window is for an RTT of at most 2 T_low, which bounds what a wrong rate
 *      can put into the queue.
 *  10. Where nobody has told the line rate, a segment counts as half of the path's grain at least
 *      where the thresholds are set, and in sqcc as half of the hosts' noise, where that is
 *      measured.  The times of the rules stay those of the line's segment.
 *
 * The estimate of N (the paper: "estimated by the sender")
 *   - The RTT is the only signal that all flows share.  C / R does not pull towards fairness,
 *     and estimates from beta, delta and e run to their limits.
 *   - lg N = 12/5 (mean RTT - r*(1)) / S, cut to 0 .. 3.25 (N = 1778).  The mean is over 4 ms
 *     (80 S), of RTTs up to T_high.
 *   - An empty queue reads as one flow, whatever N is.  So delta is at most R / 128, or what
 *     the largest recent estimate allows (which sinks by a decade in 100 ms, 2000 S), and
 *     the interval is at most that of a fair flow by that estimate.
 *   - With unequal rates the estimate is N times Jain's index.
 *
 * A receiver that reports a wrong N
 *   - A count is cut to 1 .. 10000.  Its logarithm is averaged over 2 ms (40 S), so that
 *     jumps cancel.
 *   - Where count and estimate differ by a factor of more than 3.2 for 64 ms (1280 S), the
 *     estimate is used until they agree for as long.  So a flow that alone gets a wrong
 *     count has its share again, within a factor of 3.2.
 */
#ifndef DCC_SQCC_H
#define DCC_SQCC_H

#include "dcc_rate.h"

#define DCC_SQCC_ALPHA_PPM 875000U
#define DCC_SQCC_BETA_PPM 8000U
#define DCC_SQCC_MIN_RATE_KBPS 1000U
/* 64 KB in the papers; this many take the papers' 50 us at 10 Gbit/s to the nanosecond. */
#define DCC_SQCC_SEG_BYTES 62500U

#define DCC_SQCC_PARTS_ERROR 0
#define DCC_SQCC_PARTS_DELTA 1
#define DCC_SQCC_PARTS_ALL 2
#define DCC_SQCC_PARTS_MAX 2

#define DCC_SQCC_SOURCE_AUTO 0
#define DCC_SQCC_SOURCE_ESTIMATE 1
#define DCC_SQCC_SOURCE_FIXED 2
#define DCC_SQCC_SOURCE_REPORTED 3
#define DCC_SQCC_SOURCE_MAX 3

#define DCC_SQCC_FLOWS_MAX 65535U

/* A segment takes at least this part of the path's grain, and of the hosts' noise. */
#define DCC_SQCC_GRAIN_PART 2U

/* Decades (lg N) in Q16. */
#define DCC_SQCC_DECADE 65536U
#define DCC_SQCC_REPORTED_MAX_Q16 (4 * DCC_SQCC_DECADE)		    /* N = 10000 */
#define DCC_SQCC_ESTIMATE_MAX_Q16 (3 * DCC_SQCC_DECADE + 16384)    /* N = 1778 */
#define DCC_SQCC_CONTRADICTION_Q16 (DCC_SQCC_DECADE / 2)	    /* a factor of 3.2 */

/* sqcc: decisions per segment, and what a single one counts for. */
#define DCC_SQCC_STEPS 8
#define DCC_SQCC_STEP_SHARE 4

/* Multiples of the span S = (T_high - T_low) / 9, 50 us at 10 Gbit/s. */
#define DCC_SQCC_FILTER_SPANS 80  /* the mean RTT: 4 ms */
#define DCC_SQCC_REPORTED_SPANS 40	  /* the mean of the reported count: 2 ms */
#define DCC_SQCC_FILL_SPANS 20	  /* between two steps on an empty queue: 1 ms */
#define DCC_SQCC_FILLS_MAX 16	  /* steps that are counted; none is longer from 14 on */
#define DCC_SQCC_FILLS_PER_RTT 5	  /* so many at least, once one comes after an RTT */
#define DCC_SQCC_FILLS_FAST 8	  /* from here on they double */
#define DCC_SQCC_FILL_SHIFT 5	  /* a step of a guess is a 32nd of R */
#define DCC_SQCC_FILL_SHIFT_LEAST 3	  /* and an eighth at most */
#define DCC_SQCC_FILL_MANY 64	  /* who has less of the line is one of many */
#define DCC_SQCC_FILL_LINE_PART 384	  /* the first ones are of so much of the line at most */
#define DCC_SQCC_HOLD_SPANS 2000  /* a decade of the estimate is forgotten in: 100 ms */
#define DCC_SQCC_DOUBT_SPANS 1280 /* contradiction for so long: 64 ms */

/* The rule that decided, for tracing. */
enum dcc_sqcc_branch {
	DCC_SQCC_START = 0,
	DCC_SQCC_BELOW = 1,	 /* RTT < T_low: + delta */
	DCC_SQCC_WEIGHTED = 2,	 /* between the thresholds: the error function */
	DCC_SQCC_ABOVE = 3,	 /* RTT > T_high; sqcc: already cut for */
	DCC_SQCC_CUT = 4,	 /* sqcc: RTT > T_high: R T_high / RTT */
	DCC_SQCC_UNUSED = 5,	 /* the application was the limit; R as it was */
	DCC_SQCC_REPORTED_START = 6, /* the receiver's first count: at most C / N */
	DCC_SQCC_FILL = 7,	 /* sqcc: the line is idle: towards C / N */
	DCC_SQCC_LOSS = 8,
	DCC_SQCC_RTO = 9,
};

struct dcc_sqcc_params {
	u32 alpha_ppm;	   /* 1 .. 1000000: weight of the newest difference */
	u32 beta_ppm;	   /* 1 .. 1000000 */
	u32 t_low_ns;	   /* for k = 1; 0: base RTT and 0.9 segments */
	u32 t_high_ns;	   /* 0, or not above T_low: T_low and 9 segments */
	u32 delta_kbps;	   /* where N does not set it, and at most; 0: C / 1000 */
	u32 min_rate_kbps; /* no flow is slower */
	u32 start_kbps;	   /* 0: an eighth of the line */
	u32 seg_bytes;
	u32 n_source;	   /* DCC_SQCC_SOURCE_* */
	u32 n_fixed;	   /* N for DCC_SQCC_SOURCE_FIXED */
	u32 paper;	   /* 0: sqcc; 1: sqcc_paper, equation 25 as printed */
	u32 parts;	   /* DCC_SQCC_PARTS_*; only sqcc_paper uses it */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_sqcc_decision {
	u32 delay_ns;
	s32 gradient_q16;
	u32 branch;    /* enum dcc_sqcc_branch */
	u32 flows;     /* N in use */
	u32 estimated; /* N that the RTT speaks of */
	u32 reported;  /* N in use is the receiver's count */
};

struct dcc_sqcc {
	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_sqcc_params params;
	u64 line_q8;
	u64 floor_q8;
	u64 delta0_q8;
	u64 step_q8;	    /* beta C e(r*), over N sqcc's delta */
	u64 seg_ns;	    /* seg / C */
	u32 base_ns;
	u32 t_low0_ns;
	u32 t_high_ns;
	u32 span_ns;	    /* S */
	u32 lone_ns;	    /* r*(1) */
	u32 decade_ns;	    /* r*(10 N) - r*(N) */
	u32 wire_bytes;
	u32 seg_bytes;
	u32 step_seg_bytes;
	u32 alpha_q16;
	u32 beta_q24;

	/* What N sets. */
	u64 delta_q8;
	u64 share_q8; /* C / N, where N is not the flow's own guess; else 0 */
	u64 turn_ns;  /* sqcc: N seg / 8 C, the longest interval */
	u32 t_low_ns;
	u32 lg_q16;

	/* What is known of N. */
	u64 mean_q8;	   /* mean RTT, ns with 8 fraction bits */
	u64 seen_ns;	   /* newest sample; 0: none yet */
	u64 reported_ns;	   /* when the receiver last reported N; 0: never */
	u64 doubt_ns;	   /* how long it has been contradicted */
	u32 reported_lg_q16;
	u32 held_lg_q16;   /* the estimate; falls slowly */
	u8 doubted;	   /* not believed */

	/* The flow. */
	u64 rate_q8;
	u64 decided_ns; /* the last decision; 0: none yet */
	u64 due_ns;	/* the next one */
	u64 acked_bytes; /* since the last one */
	u64 cut_ns;	/* last cut because of T_high */
	u64 filled_ns;	/* last step towards the share of an idle line */
	u64 empty_ns;	/* newest sample of an idle line */
	u32 empty_rtt_ns; /* its RTT */
	u32 fills;	/* steps of a guess since the line is idle */
	u64 loss_ns;	/* last reaction to a loss */
	struct dcc_gradient gradient;
	u32 sample_ns;	/* newest RTT */
	struct dcc_sqcc_decision last;
};

static_assert(sizeof(struct dcc_sqcc) <= 384, "state is one object of at most 384 bytes");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_SQCC_PARAMS(X)                                                       \
	X(alpha_ppm, 1, 1000000, false)                                          \
	X(beta_ppm, 1, 1000000, false)                                           \
	X(t_low_ns, DCC_RATE_THRESHOLD_MIN_NS, DCC_RATE_THRESHOLD_MAX_NS, true)  \
	X(t_high_ns, DCC_RATE_THRESHOLD_MIN_NS, DCC_RATE_THRESHOLD_MAX_NS, true) \
	X(delta_kbps, 1, DCC_RATE_DELTA_MAX_KBPS, true)                          \
	X(min_rate_kbps, 1, DCC_RATE_MIN_MAX_KBPS, false)                        \
	X(start_kbps, 1, DCC_RATE_START_MAX_KBPS, true)                          \
	X(seg_bytes, DCC_RATE_SEG_MIN_BYTES, DCC_RATE_SEG_MAX_BYTES, false)      \
	X(n_source, 0, DCC_SQCC_SOURCE_MAX, true)                                \
	X(n_fixed, 1, DCC_SQCC_FLOWS_MAX, false)                                 \
	X(parts, 0, DCC_SQCC_PARTS_MAX, true)

static inline void dcc_sqcc_params_default(struct dcc_sqcc_params *p)
{
	p->alpha_ppm = DCC_SQCC_ALPHA_PPM;
	p->beta_ppm = DCC_SQCC_BETA_PPM;
	p->t_low_ns = 0;
	p->t_high_ns = 0;
	p->delta_kbps = 0;
	p->min_rate_kbps = DCC_SQCC_MIN_RATE_KBPS;
	p->start_kbps = 0;
	p->seg_bytes = DCC_SQCC_SEG_BYTES;
	p->n_source = DCC_SQCC_SOURCE_AUTO;
	p->n_fixed = 1;
	p->paper = 0;
	p->parts = DCC_SQCC_PARTS_ALL;
}

static inline bool dcc_sqcc_params_valid(const struct dcc_sqcc_params *p)
{
	return DCC_SQCC_PARAMS(DCC_PARAM_FITS) p->paper <= 1;
}

static inline bool dcc_sqcc_stale(const struct dcc_sqcc *s, const struct dcc_path *path,
				  const struct dcc_sqcc_params *p)
{
	return !dcc_same_path(&s->path, path) || !dcc_same(&s->params, p, sizeof(*p));
}

/*
 * T_low and T_high where they are not given: 0.9 and 9.9 segments above the base
 * RTT, the papers' 50 and 500 us at 10 Gbit/s with a base of 5 us.  Counted from
 * the base, so that flows of near and of far hosts read the same N off one queue.
 */
static inline void dcc_sqcc_thresholds(struct dcc_sqcc *s, const struct dcc_sqcc_params *p)
{
	u32 noise_ns = p->paper ? 0 : s->path.noise_ns;
	u64 span_ns = dcc_max_u64(s->seg_ns, dcc_max_u32(s->path.delay_floor_ns, noise_ns) /
						     DCC_SQCC_GRAIN_PART);
	u64 seg_ns = dcc_min_u64(span_ns, DCC_RATE_THRESHOLD_MAX_NS);
	u64 low_ns = s->base_ns + dcc_div_u64(seg_ns * 9, 10);
	u64 high_ns;

	if (p->t_low_ns)
		low_ns = p->t_low_ns;
	low_ns = dcc_clamp_u64(low_ns, DCC_RATE_THRESHOLD_MIN_NS, DCC_RATE_THRESHOLD_MAX_NS);
	/* A T_high below T_low, given or automatic, is none. */
	high_ns = p->t_high_ns > low_ns ? p->t_high_ns : low_ns + 9 * span_ns;
	s->t_low0_ns = (u32)low_ns;
	/* The error function divides by the distance. */
	s->t_high_ns = (u32)dcc_clamp_u64(high_ns, low_ns + 9, DCC_RATE_THRESHOLD_MAX_NS + 9);
	s->span_ns = (s->t_high_ns - s->t_low0_ns) / 9;
	s->lone_ns = s->t_low0_ns + (u32)((u64)s->span_ns * 3 / 4);
	s->decade_ns = (u32)dcc_div_u64((u64)s->span_ns * 5, 12) + 1;
	if (s->path.delay_floor_ns || noise_ns)
		s->span_ns = (u32)dcc_min_u64(s->span_ns, s->seg_ns);
}

/* Values outside their ranges are cut to them: a core must not fail. */
static inline void dcc_sqcc_derive(struct dcc_sqcc *s, const struct dcc_path *path,
				   const struct dcc_sqcc_params *p)
{
	u32 kbps = dcc_min_u32(p->delta_kbps, DCC_RATE_DELTA_MAX_KBPS);

	s->path = *path;
	s->params = *p;
	s->line_q8 = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS,
				   DCC_PATH_RATE_MAX_BPS) << DCC_RATE_SHIFT;
	s->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	s->wire_bytes = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				      DCC_PATH_WIRE_MAX_BYTES);
	s->seg_bytes = dcc_clamp_u32(p->seg_bytes, DCC_RATE_SEG_MIN_BYTES, DCC_RATE_SEG_MAX_BYTES);
	s->seg_ns = dcc_rate_interval_ns(s->seg_bytes, s->line_q8, 1);
	DCC_BPF_SUBPROG(dcc_sqcc_thresholds)(s, p);

	s->beta_q24 = dcc_ppm_to_q24(dcc_clamp_u32(p->beta_ppm, 1, 1000000));
	s->alpha_q16 = dcc_ppm_to_q24(dcc_clamp_u32(p->alpha_ppm, 1, 1000000)) >> 8;
	s->step_seg_bytes = s->seg_bytes;
	s->delta0_q8 = kbps ? dcc_rate_of_kbps_q8(kbps) : dcc_div_u64(s->line_q8, 1000);
	if (!p->paper) {
		s->step_seg_bytes /= DCC_SQCC_STEPS;
		s->beta_q24 /= DCC_SQCC_STEP_SHARE;
		s->delta0_q8 /= DCC_SQCC_STEP_SHARE;
	}
	s->step_q8 = dcc_scale_q24(s->line_q8, s->beta_q24);
	s->floor_q8 = dcc_rate_of_kbps_q8(dcc_clamp_u32(p->min_rate_kbps, 1,
							DCC_RATE_MIN_MAX_KBPS));
	s->floor_q8 = dcc_min_u64(s->floor_q8, s->line_q8);
}

/* ---- N ------------------------------------------------------------------- */

/* lg N (Q16): log2 * lg 2. */
static inline u32 dcc_sqcc_lg_q16(u32 flows)
{
	return (u32)(((u64)dcc_log2_q16(flows) * 19728 + 32768) >> 16);
}

/* 10^lg (Q16). */
static inline u64 dcc_sqcc_flows_q16(u32 lg_q16)
{
	return dcc_exp2_q16((u32)(((u64)lg_q16 * 217706) >> 16));
}

/* lg N that the mean RTT speaks of: r*(N) = r*(1) + decade * lg N, solved for N. */
static inline u32 dcc_sqcc_estimate_q16(const struct dcc_sqcc *s)
{
	u64 above_q8 = dcc_sub_sat_u64(s->mean_q8, (u64)s->lone_ns << 8);

	return (u32)dcc_min_u64(dcc_div_u64(above_q8 << 8, s->decade_ns),
				DCC_SQCC_ESTIMATE_MAX_Q16);
}

/* A step of an exponential mean over irregular samples: dt / (tau + dt) as Q16. */
static inline u32 dcc_sqcc_gain_q16(u64 dt_ns, u64 tau_ns)
{
	dt_ns = dcc_min_u64(dt_ns, 1ULL << 40);
	return (u32)dcc_div_u64(dt_ns << 16, tau_ns + dt_ns);
}

static inline u64 dcc_sqcc_approach(u64 from, u64 to, u32 gain_q16)
{
	return to > from ? from + (((to - from) * gain_q16) >> 16) :
			   from - (((from - to) * gain_q16) >> 16);
}

/* Is the receiver's count at odds with what the RTT says, and has been for long? */
static inline void dcc_sqcc_judge(struct dcc_sqcc *s, u64 dt_ns)
{
	u64 limit_ns = (u64)s->span_ns * DCC_SQCC_DOUBT_SPANS;
	u32 estimate_q16 = dcc_sqcc_estimate_q16(s);
	u32 reported_q16 = dcc_min_u32(s->reported_lg_q16, DCC_SQCC_ESTIMATE_MAX_Q16);
	u32 off_q16 = reported_q16 > estimate_q16 ? reported_q16 - estimate_q16 :
						    estimate_q16 - reported_q16;

	/* A long silence is no long contradiction. */
	dt_ns = dcc_min_u64(dt_ns, limit_ns / 8);
	if (off_q16 > DCC_SQCC_CONTRADICTION_Q16)
		s->doubt_ns = dcc_min_u64(s->doubt_ns + dt_ns, limit_ns);
	else
		s->doubt_ns = dcc_sub_sat_u64(s->doubt_ns, dt_ns);
	if (s->doubt_ns >= limit_ns)
		s->doubted = 1;
	else if (!s->doubt_ns)
		s->doubted = 0;
}

/* The estimate's recent maximum: rises at once, falls by a decade in so many S. */
static inline void dcc_sqcc_hold(struct dcc_sqcc *s, u64 dt_ns)
{
	u64 decade_ns = (u64)s->span_ns * DCC_SQCC_HOLD_SPANS;
	u64 fall_q16 = dcc_div_u64(dcc_min_u64(dt_ns, 1ULL << 40) << 16, decade_ns);

	s->held_lg_q16 = dcc_max_u32(dcc_sub_sat_u32(s->held_lg_q16, dcc_sat_u32(fall_q16)),
				     dcc_sqcc_estimate_q16(s));
}

/* Each valid sample: the mean RTT, the mean of the reported count, and whether they agree. */
static inline void dcc_sqcc_learn(struct dcc_sqcc *s, const struct dcc_ack *ack)
{
	u64 dt_ns = s->seen_ns && ack->now_ns > s->seen_ns ? ack->now_ns - s->seen_ns : 0;
	u64 rtt_ns = dcc_clamp_u64(ack->rtt_ns, s->base_ns, s->t_high_ns);

	s->mean_q8 = dcc_sqcc_approach(s->mean_q8, rtt_ns << 8,
				       dcc_sqcc_gain_q16(dt_ns, (u64)s->span_ns *
								DCC_SQCC_FILTER_SPANS));
	if (ack->flows) {
		u32 lg_q16 = dcc_min_u32(dcc_sqcc_lg_q16(ack->flows), DCC_SQCC_REPORTED_MAX_Q16);
		u64 mean_ns = (u64)s->span_ns * DCC_SQCC_REPORTED_SPANS;

		if (s->reported_ns)
			lg_q16 = (u32)dcc_sqcc_approach(s->reported_lg_q16, lg_q16,
							dcc_sqcc_gain_q16(dt_ns, mean_ns));
		s->reported_lg_q16 = lg_q16;
		s->reported_ns = ack->now_ns;
	}
	if (s->reported_ns)
		dcc_sqcc_judge(s, dt_ns);
	dcc_sqcc_hold(s, dt_ns);
	s->seen_ns = ack->now_ns;
}

/* lg N in use. */
static inline u32 dcc_sqcc_choose_q16(struct dcc_sqcc *s, u64 now_ns)
{
	u32 source = s->params.n_source;
	bool fresh = s->reported_ns &&
		     now_ns - s->reported_ns < (u64)s->span_ns * DCC_SQCC_DOUBT_SPANS;

	s->last.reported = 0;
	if (source == DCC_SQCC_SOURCE_FIXED)
		return dcc_sqcc_lg_q16(dcc_clamp_u32(s->params.n_fixed, 1, DCC_SQCC_FLOWS_MAX));
	if (fresh && (source == DCC_SQCC_SOURCE_REPORTED ||
		      (source == DCC_SQCC_SOURCE_AUTO && !s->doubted))) {
		s->last.reported = 1;
		return s->reported_lg_q16;
	}
	return dcc_sqcc_estimate_q16(s);
}

/* Equation 25, with k = floor(lg N), and delta = C k / N^2 (C / N^2 without the T_low rule). */
static inline void dcc_sqcc_set_printed(struct dcc_sqcc *s, u64 flows_q16)
{
	u64 flows = dcc_max_u64((flows_q16 + 32768) >> 16, 1);
	u32 k = (flows >= 10) + (flows >= 100) + (flows >= 1000) + (flows >= 10000);
	bool all = s->params.parts == DCC_SQCC_PARTS_ALL;

	if (!k) {
		/* T_low = 0 divides by zero: the initial values stay. */
		s->delta_q8 = s->delta0_q8;
		k = 1;
	} else {
		k = all ? k : 1;
		s->delta_q8 = dcc_div_u64(dcc_div_u64(s->line_q8 * k, flows), flows);
	}
	s->t_low_ns = (u32)dcc_min_u64(k * (u64)s->t_low0_ns, s->t_high_ns - 1);
}

/* T_low and delta of sqcc. */
static inline void dcc_sqcc_set_smooth(struct dcc_sqcc *s, u64 flows_q16)
{
	/* r*(N), below T_high. */
	u64 aim_ns = dcc_min_u64(s->lone_ns + (((u64)s->decade_ns * s->lg_q16) >> 16),
				 s->t_high_ns - 1);
	u64 error_q16;

	s->delta_q8 = dcc_min_u64(dcc_muldiv_u64(s->step_q8, 65536, flows_q16), s->delta0_q8);
	/* The error at which beta R e = delta for R = C / N. */
	error_q16 = dcc_muldiv_u64(s->delta_q8, flows_q16,
				   dcc_max_u64(dcc_scale_q24(s->line_q8, s->beta_q24), 1));
	error_q16 = dcc_min_u64(error_q16, 1ULL << 24);
	/* Equation 16 solved for T_low: T_high r* / (e (T_high - r*) + T_high). */
	s->t_low_ns = (u32)dcc_muldiv_u64((u64)s->t_high_ns * aim_ns, 65536,
					  error_q16 * (s->t_high_ns - aim_ns) +
					  ((u64)s->t_high_ns << 16));
	s->t_low_ns = dcc_clamp_u32(s->t_low_ns, 1, s->t_high_ns - 1);
}

/*
 * sqcc: how fast R may grow beside delta.  A guess of N falls at once when
 * the queue runs empty, and 500 flows that each believe to be alone would add a
 * line rate at a time.  So a guess lets a flow add a 128th of what it has, or what
 * the largest recent guess allows; that brings a flow with next to nothing back.
 */
static inline void dcc_sqcc_set_pace(struct dcc_sqcc *s, u64 flows_q16)
{
	u64 step_q8;

	if (s->last.reported || s->params.n_source == DCC_SQCC_SOURCE_FIXED) {
		s->share_q8 = dcc_muldiv_u64(s->line_q8, 65536, flows_q16);
	} else {
		flows_q16 = dcc_max_u64(dcc_sqcc_flows_q16(s->held_lg_q16), 65536);
		step_q8 = dcc_muldiv_u64(s->step_q8, 65536, flows_q16);
		step_q8 = dcc_max_u64(step_q8, s->rate_q8 / 128);
		s->delta_q8 = dcc_min_u64(s->delta_q8, step_q8);
	}
	s->turn_ns = dcc_mulshift_u64(s->seg_ns, flows_q16, 16) / DCC_SQCC_STEPS;
}

/* N in use now, and T_low and delta that follow from it. */
static inline void dcc_sqcc_set_flows(struct dcc_sqcc *s, u64 now_ns)
{
	u64 flows_q16;

	s->lg_q16 = dcc_sqcc_choose_q16(s, now_ns);
	flows_q16 = dcc_max_u64(dcc_sqcc_flows_q16(s->lg_q16), 65536);
	if (!s->params.paper) {
		dcc_sqcc_set_smooth(s, flows_q16);
	} else if (s->params.parts == DCC_SQCC_PARTS_ERROR) {
		s->delta_q8 = s->delta0_q8;
		s->t_low_ns = s->t_low0_ns;
	} else {
		dcc_sqcc_set_printed(s, flows_q16);
	}
	s->delta_q8 = dcc_max_u64(s->delta_q8, 1);
	s->share_q8 = 0;
	if (!s->params.paper)
		dcc_sqcc_set_pace(s, flows_q16);
	s->last.flows = (u32)((flows_q16 + 32768) >> 16);
	s->last.estimated = (u32)((dcc_sqcc_flows_q16(dcc_sqcc_estimate_q16(s)) + 32768) >> 16);
}

/* ---- the rate ------------------------------------------------------------ */

static inline void dcc_sqcc_control(const struct dcc_sqcc *s, struct dcc_control *out)
{
	u32 most_ns = !s->params.paper ?
		      dcc_min_u32(s->t_low0_ns, DCC_RATE_THRESHOLD_MAX_NS) * 2 : s->t_high_ns;
	u32 rtt_ns = dcc_max_u32(dcc_min_u32(s->sample_ns, most_ns), s->base_ns);

	dcc_rate_control(s->rate_q8, rtt_ns, s->wire_bytes, out);
	out->target_ns = dcc_sub_sat_u32(s->t_low0_ns, s->base_ns);
	out->has_levels = 0;
}

static inline void dcc_sqcc_set_rate(struct dcc_sqcc *s, u64 rate_q8)
{
	s->rate_q8 = dcc_clamp_u64(rate_q8, s->floor_q8, s->line_q8);
}

/* What was seen so far says nothing of what comes. */
static inline void dcc_sqcc_forget(struct dcc_sqcc *s)
{
	dcc_gradient_reset(&s->gradient);
	s->mean_q8 = ((u64)s->lone_ns + s->decade_ns) << 8; /* ten flows */
	s->seen_ns = 0;
	s->reported_ns = 0;
	s->doubt_ns = 0;
	s->reported_lg_q16 = 0;
	s->held_lg_q16 = 0;
	s->doubted = 0;
	s->decided_ns = 0;
	s->due_ns = 0;
	s->acked_bytes = 0;
	s->cut_ns = 0;
	s->filled_ns = 0;
	s->empty_ns = 0;
	s->empty_rtt_ns = 0;
	s->fills = 0;
	s->loss_ns = 0;
	s->sample_ns = s->base_ns;
	s->last.delay_ns = s->base_ns;
	s->last.gradient_q16 = 0;
	s->last.branch = DCC_SQCC_START;
	DCC_BPF_SUBPROG(dcc_sqcc_set_flows)(s, 0);
}

static inline void dcc_sqcc_init(struct dcc_sqcc *s, const struct dcc_path *path,
				 const struct dcc_sqcc_params *p, struct dcc_control *out)
{
	u64 start_q8;

	DCC_BPF_SUBPROG(dcc_sqcc_derive)(s, path, p);
	start_q8 = dcc_rate_of_kbps_q8(dcc_min_u32(p->start_kbps, DCC_RATE_START_MAX_KBPS));
	dcc_sqcc_set_rate(s, start_q8 ? start_q8 : s->line_q8 / 8);
	dcc_sqcc_forget(s);
	dcc_sqcc_control(s, out);
}

/* After an idle period, or on another path. */
static inline void dcc_sqcc_restart(struct dcc_sqcc *s, const struct dcc_path *path,
				    const struct dcc_sqcc_params *p, u64 now_ns,
				    struct dcc_control *out)
{
	(void)now_ns;
	DCC_BPF_SUBPROG(dcc_sqcc_derive)(s, path, p);
	dcc_sqcc_set_rate(s, s->rate_q8);
	dcc_sqcc_forget(s);
	dcc_sqcc_control(s, out);
}

/* Equation 16: T_high (RTT - T_low) / (T_low (T_high - RTT)), Q16. */
static inline u64 dcc_sqcc_error_q16(u32 rtt_ns, u32 t_low_ns, u32 t_high_ns)
{
	return dcc_muldiv_u64((u64)t_high_ns * dcc_sub_sat_u32(rtt_ns, t_low_ns), 65536,
			      (u64)t_low_ns * dcc_sub_sat_u32(t_high_ns, rtt_ns));
}

/* Algorithm 3, lines 6 to 19.  unused: may not grow. */
static inline u64 dcc_sqcc_law(struct dcc_sqcc *s, u32 rtt_ns, bool unused)
{
	u64 rate_q8 = s->rate_q8;

	if (rtt_ns < s->t_low_ns) {
		s->last.branch = DCC_SQCC_BELOW;
		rate_q8 += s->delta_q8;
	} else if (rtt_ns > s->t_high_ns) {
		s->last.branch = DCC_SQCC_ABOVE;
		if (s->params.paper)
			rate_q8 = dcc_rate_above(rate_q8, s->beta_q24, rtt_ns, s->t_high_ns);
	} else {
		s->last.branch = DCC_SQCC_WEIGHTED;
		rate_q8 = dcc_rate_weighted(rate_q8, s->delta_q8,
					    dcc_gradient_weight_q16(s->last.gradient_q16),
					    s->beta_q24,
					    dcc_sqcc_error_q16(rtt_ns, s->t_low_ns, s->t_high_ns),
					    false);
	}
	if (unused && rate_q8 > s->rate_q8) {
		s->last.branch = DCC_SQCC_UNUSED;
		return s->rate_q8;
	}
	return rate_q8;
}

/* One segment's time has passed. */
static inline void dcc_sqcc_decide(struct dcc_sqcc *s, const struct dcc_ack *ack)
{
	bool unused = (ack->flags & DCC_ACK_APP_LIMITED) && s->decided_ns &&
		      dcc_rate_unused(s->rate_q8, s->acked_bytes, ack->now_ns - s->decided_ns);
	u64 interval_ns;

	DCC_BPF_SUBPROG(dcc_sqcc_set_flows)(s, ack->now_ns);
	s->last.delay_ns = ack->rtt_ns;
	s->last.gradient_q16 = dcc_gradient_add(&s->gradient, ack->rtt_ns, s->alpha_q16,
						s->base_ns);
	/* By the paper, a flow's first segment has to be complete. */
	if (s->decided_ns || !s->params.paper)
		dcc_sqcc_set_rate(s, dcc_sqcc_law(s, ack->rtt_ns, unused));

	interval_ns = dcc_rate_interval_ns(s->step_seg_bytes, s->rate_q8, s->base_ns);
	if (!s->params.paper)
		interval_ns = dcc_max_u64(dcc_min_u64(interval_ns, s->turn_ns), s->base_ns);
	s->acked_bytes = 0;
	s->decided_ns = ack->now_ns;
	s->due_ns = dcc_add_sat_u64(ack->now_ns, interval_ns);
}

/*
 * sqcc, every sample: a queue beyond T_high, at most once per RTT and
 * while it does not fall by itself.
 */
static inline bool dcc_sqcc_cut(struct dcc_sqcc *s, const struct dcc_ack *ack, u32 before_ns)
{
	u32 kept_q24;

	if (DCC_LIKELY(ack->rtt_ns <= s->t_high_ns) || ack->rtt_ns < before_ns ||
	    s->params.paper)
		return false;
	if (s->cut_ns && ack->now_ns >= s->cut_ns && ack->now_ns - s->cut_ns < ack->rtt_ns)
		return false;
	kept_q24 = dcc_max_u32(dcc_ratio_q24(s->t_high_ns, ack->rtt_ns), DCC_RATIO_ONE / 8);
	dcc_sqcc_set_rate(s, dcc_scale_q24(s->rate_q8, kept_q24));
	s->cut_ns = ack->now_ns;
	s->last.delay_ns = ack->rtt_ns;
	s->last.branch = DCC_SQCC_CUT;
	return true;
}

/*
 * Is the queue all but empty?  Half-way to T_low says so.  For a guess of one of few
 * flows all below a lone flow's T_low does, so that a base RTT that is told too low by
 * as much hides no idle line.
 */
static inline bool dcc_sqcc_is_idle(const struct dcc_sqcc *s, u32 rtt_ns)
{
	if (rtt_ns < s->base_ns + dcc_sub_sat_u32(s->t_low_ns, s->base_ns) / 2)
		return true;
	return rtt_ns < s->t_low0_ns && !s->share_q8 &&
	       s->rate_q8 > s->line_q8 / DCC_SQCC_FILL_MANY;
}

/*
 * A guess's step on an idle line is at most R >> this.  It doubles with every second
 * step that an RTT brings, while all flows' steps together put less into the queue in
 * an RTT than it has at T_low.
 */
static inline u32 dcc_sqcc_fill_shift(const struct dcc_sqcc *s)
{
	u64 queue_ns = dcc_sub_sat_u32(s->t_low0_ns, s->base_ns);
	u32 doublings = dcc_sub_sat_u32(s->fills, DCC_SQCC_FILLS_FAST) / 2;
	u32 shift = DCC_SQCC_FILL_SHIFT;

	while (doublings && shift > DCC_SQCC_FILL_SHIFT_LEAST &&
	       queue_ns << shift > 2 * (u64)s->base_ns) {
		doublings--;
		shift--;
	}
	return shift;
}

/*
 * A guess's step on an idle line.  That of a small flow is a part of R, since nobody
 * knows how many there are.  That of a flow which has more is a part of the line, so that
 * shares become equal; it doubles with every step that an RTT brings.
 */
static inline u64 dcc_sqcc_fill_step_q8(const struct dcc_sqcc *s)
{
	u32 doublings = dcc_sub_sat_u32(s->fills, DCC_SQCC_FILLS_FAST);

	return dcc_min_u64(s->rate_q8 >> dcc_sqcc_fill_shift(s),
			   dcc_div_u64(s->line_q8, DCC_SQCC_FILL_LINE_PART) << doublings);
}

/*
 * What a guess keeps when its steps show in the queue, Q24.  The queue's growth per time since the
 * line was last idle is the part by which all rates together exceed the line.  The RTT tells
 * what they were an RTT ago, before the last steps; so twice as much is taken back.  Half of
 * the hosts' noise may look like growth.
 */
static inline u32 dcc_sqcc_kept_q24(const struct dcc_sqcc *s, const struct dcc_ack *ack)
{
	u64 time_ns = ack->now_ns - s->empty_ns;
	u64 grown_ns = dcc_sub_sat_u64(ack->rtt_ns, (u64)s->empty_rtt_ns + s->path.noise_ns / 2);
	u32 kept_q24 = dcc_ratio_q24(time_ns, dcc_add_sat_u64(time_ns, 2 * grown_ns));

	return dcc_clamp_u32(kept_q24, DCC_RATIO_ONE / 2, DCC_RATIO_ONE - DCC_RATIO_ONE / 8);
}

/*
 * sqcc, every sample: the line is idle.  Who knows N and has less than
 * C / N goes an eighth of the way there, once per RTT: if N is right, all flows
 * together do not exceed the line.  Who has to guess takes a step at most every
 * S * 20.  While no RTT goes by without such a sample it waits for a quarter as long
 * each time, down to an RTT, and then takes longer steps.  Until a step shows in the
 * queue some more are taken, so some are taken back when no sample of an RTT was one of an
 * idle line, but not while the RTT falls: so it does behind a packet that a host held back.
 */
static inline bool dcc_sqcc_fill(struct dcc_sqcc *s, const struct dcc_ack *ack, u32 before_ns)
{
	u64 pause_ns = ack->rtt_ns, step_q8;

	if (DCC_LIKELY(!dcc_sqcc_is_idle(s, ack->rtt_ns))) {
		if (DCC_LIKELY(s->fills < DCC_SQCC_FILLS_FAST) ||
		    ack->now_ns - s->empty_ns <= ack->rtt_ns || ack->rtt_ns < before_ns)
			return false;
		dcc_sqcc_set_rate(s, dcc_scale_q24(s->rate_q8, dcc_sqcc_kept_q24(s, ack)));
		s->fills = 0;
		s->last.branch = DCC_SQCC_FILL;
		return true;
	}
	if ((ack->flags & DCC_ACK_APP_LIMITED) || s->params.paper)
		return false;
	if (ack->now_ns - s->empty_ns > ack->rtt_ns)
		s->fills = 0;
	s->empty_ns = ack->now_ns;
	s->empty_rtt_ns = ack->rtt_ns;
	if (s->share_q8) {
		if (s->rate_q8 >= s->share_q8)
			return false;
		step_q8 = (s->share_q8 - s->rate_q8 + 7) / 8;
	} else {
		if (s->rate_q8 >= s->line_q8) {
			/* Nothing that could be taken back. */
			s->fills = 0;
			return false;
		}
		step_q8 = dcc_sqcc_fill_step_q8(s);
		pause_ns = dcc_max_u64(pause_ns,
				       (u64)s->span_ns * DCC_SQCC_FILL_SPANS >> 2 * s->fills);
	}
	if (ack->now_ns >= s->filled_ns && ack->now_ns - s->filled_ns < pause_ns)
		return false;
	dcc_sqcc_set_rate(s, s->rate_q8 + step_q8);
	s->filled_ns = ack->now_ns;
	if (!s->share_q8) {
		s->fills = dcc_min_u32(s->fills + 1, DCC_SQCC_FILLS_MAX);
		if (pause_ns == ack->rtt_ns)
			s->fills = dcc_max_u32(s->fills, DCC_SQCC_FILLS_PER_RTT);
	}
	s->last.delay_ns = ack->rtt_ns;
	s->last.branch = DCC_SQCC_FILL;
	return true;
}

/* The receiver's first count before the first decision: R = C / N, but not less than C / 2048. */
static inline bool dcc_sqcc_reported_start(struct dcc_sqcc *s, const struct dcc_ack *ack)
{
	u64 share_q8;

	if (s->decided_ns || !ack->flows || s->params.paper ||
	    s->params.n_source == DCC_SQCC_SOURCE_ESTIMATE ||
	    s->params.n_source == DCC_SQCC_SOURCE_FIXED)
		return false;
	share_q8 = dcc_div_u64(s->line_q8, dcc_min_u32(ack->flows, 2048));
	if (share_q8 >= s->rate_q8)
		return false;
	dcc_sqcc_set_rate(s, share_q8);
	s->last.branch = DCC_SQCC_REPORTED_START;
	return true;
}

/* True when a decision was made and out set. */
static inline bool dcc_sqcc_ack(struct dcc_sqcc *s, const struct dcc_path *path,
				const struct dcc_sqcc_params *p, const struct dcc_ack *ack,
				struct dcc_control *out)
{
	u32 before_ns = s->sample_ns;
	bool decided = false;

	s->acked_bytes += ack->acked_bytes;
	if (ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))
		return false;
	if (DCC_UNLIKELY(dcc_sqcc_stale(s, path, p))) {
		DCC_BPF_SUBPROG(dcc_sqcc_derive)(s, path, p);
		DCC_BPF_SUBPROG(dcc_sqcc_set_flows)(s, ack->now_ns);
		dcc_sqcc_set_rate(s, s->rate_q8);
		decided = true;
	}
	DCC_BPF_SUBPROG(dcc_sqcc_learn)(s, ack);
	s->sample_ns = ack->rtt_ns;

	decided |= dcc_sqcc_reported_start(s, ack) || dcc_sqcc_cut(s, ack, before_ns) ||
		  dcc_sqcc_fill(s, ack, before_ns);
	/* due_ns lies more than an interval ahead only when the clock went back. */
	if (ack->now_ns >= s->due_ns || ack->now_ns < s->decided_ns) {
		DCC_BPF_SUBPROG(dcc_sqcc_decide)(s, ack);
		decided = true;
	}
	if (decided)
		dcc_sqcc_control(s, out);
	return decided;
}

/* A loss was found at now_ns.  out is set in any case. */
static inline void dcc_sqcc_loss(struct dcc_sqcc *s, const struct dcc_path *path,
				 const struct dcc_sqcc_params *p, u64 now_ns,
				 struct dcc_control *out)
{
	u32 rtt_ns = dcc_max_u32(s->sample_ns, s->base_ns);

	(void)path;
	(void)p;
	if (dcc_rate_loss_counts(now_ns, s->loss_ns, rtt_ns)) {
		dcc_sqcc_set_rate(s, dcc_rate_after_loss_q8(s->rate_q8,
							    s->sample_ns < s->t_low_ns));
		s->loss_ns = now_ns;
		s->last.branch = DCC_SQCC_LOSS;
	}
	dcc_sqcc_control(s, out);
}

/* A retransmission timeout. */
static inline void dcc_sqcc_rto(struct dcc_sqcc *s, const struct dcc_path *path,
				const struct dcc_sqcc_params *p, u64 now_ns,
				struct dcc_control *out)
{
	u32 rtt_ns = dcc_max_u32(s->sample_ns, s->base_ns);

	(void)path;
	(void)p;
	dcc_sqcc_set_rate(s, dcc_rate_after_rto_q8(s->rate_q8, s->wire_bytes, rtt_ns));
	s->loss_ns = now_ns;
	s->last.branch = DCC_SQCC_RTO;
	dcc_sqcc_control(s, out);
}

#endif /* DCC_SQCC_H */

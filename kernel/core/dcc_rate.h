/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the laws that steer a rate by the RTT and its gradient have in common
 * (TIMELY, patched TIMELY, SQCC).
 *
 * Such a law decides once per segment of `seg` bytes, in the papers a write of
 * 16 to 64 KB whose completion is timed:
 *
 *   interval = max(seg / R, D_minRTT)
 *   rttDiff  = (1 - alpha) rttDiff + alpha (newRTT - prevRTT)
 *   gradient = rttDiff / D_minRTT
 *
 * Here packets are paced one by one, so a segment does not queue behind itself
 * and the RTT is that of the newest packet when the interval has passed.  The
 * window is twice what rate and RTT need, so that the pace is what limits.
 *
 * Rates are in 1/256 bit per second: a decrease of a thousandth of a slow flow's
 * rate must not vanish in rounding.
 */
#ifndef DCC_RATE_H
#define DCC_RATE_H

#include "dcc_cc.h"
#include "dcc_math.h"

#define DCC_RATE_SHIFT 8

/* Ranges of the parameters that these laws share. */
#define DCC_RATE_THRESHOLD_MIN_NS 1000U
#define DCC_RATE_THRESHOLD_MAX_NS 2000000000U
#define DCC_RATE_DELTA_MAX_KBPS 100000000U
#define DCC_RATE_MIN_MAX_KBPS 1000000U
#define DCC_RATE_START_MAX_KBPS 800000000U
#define DCC_RATE_SEG_MIN_BYTES 1000U
#define DCC_RATE_SEG_MAX_BYTES 16000000U

/* rttDiff, in ns with 8 fraction bits. */
struct dcc_gradient {
	s64 diff_q8;
	u32 prev_ns;
	u32 valid; /* prev_ns is */
};

#define DCC_RATE_GRADIENT_MAX_Q16 0x7fffffff /* 32768 */

static inline void dcc_gradient_reset(struct dcc_gradient *g)
{
	g->diff_q8 = 0;
	g->prev_ns = 0;
	g->valid = 0;
}

/* The next RTT; gradient (Q16).  alpha_q16 <= 65536, min_rtt_ns > 0. */
static inline s32 dcc_gradient_add(struct dcc_gradient *g, u32 rtt_ns, u32 alpha_q16,
				   u32 min_rtt_ns)
{
	s64 step_q8 = 0;
	u64 magnitude;

	/* A difference needs two. */
	if (DCC_LIKELY(g->valid))
		step_q8 = ((s64)rtt_ns - (s64)g->prev_ns) * 256;
	g->prev_ns = rtt_ns;
	g->valid = 1;
	/* |step|, |diff| < 2^41, their difference times 2^16 < 2^58. */
	g->diff_q8 += ((step_q8 - g->diff_q8) * (s64)alpha_q16) >> 16;

	magnitude = dcc_div_u64(dcc_abs_s64(g->diff_q8) << 8, min_rtt_ns);
	magnitude = dcc_min_u64(magnitude, DCC_RATE_GRADIENT_MAX_Q16);
	return g->diff_q8 < 0 ? -(s32)magnitude : (s32)magnitude;
}

/* Patched TIMELY's weight of the decrease: 2 g + 1/2, cut to 0 .. 1 (Q16). */
static inline u32 dcc_gradient_weight_q16(s32 gradient_q16)
{
	if (gradient_q16 <= -16384)
		return 0;
	if (gradient_q16 >= 16384)
		return 65536;
	return (u32)(2 * gradient_q16 + 32768);
}

/*
 * R (1 - fraction), fraction in Q24.  Never less than half of R: the papers'
 * formulas go below zero for steep gradients and near T_high.
 */
static inline u64 dcc_rate_shrink(u64 rate_q8, u64 fraction_q24)
{
	return rate_q8 - dcc_scale_q24(rate_q8, (u32)dcc_min_u64(fraction_q24, DCC_RATIO_ONE / 2));
}

/* beta * x (Q16), x being a gradient or an error; as a Q24 fraction. */
static inline u64 dcc_rate_beta_q24(u32 beta_q24, u64 x_q16)
{
	return (beta_q24 * dcc_min_u64(x_q16, 1ULL << 32)) >> 16;
}

/*
 * delta (1 - weight) + R (1 - beta * error * weight), for an error of either
 * sign; a negative one lets R grow.
 */
static inline u64 dcc_rate_weighted(u64 rate_q8, u64 delta_q8, u32 weight_q16, u32 beta_q24,
				    u64 error_q16, bool negative)
{
	u64 fraction_q24 = (dcc_rate_beta_q24(beta_q24, error_q16) * weight_q16) >> 16;

	fraction_q24 = dcc_min_u64(fraction_q24, DCC_RATIO_ONE / 2);
	if (negative)
		rate_q8 += dcc_scale_q24(rate_q8, (u32)fraction_q24);
	else
		rate_q8 = dcc_rate_shrink(rate_q8, fraction_q24);
	return rate_q8 + dcc_mulshift_u64(delta_q8, 65536 - weight_q16, 16);
}

/* Above T_high: R (1 - beta (1 - T_high / RTT)). */
static inline u64 dcc_rate_above(u64 rate_q8, u32 beta_q24, u32 rtt_ns, u32 t_high_ns)
{
	u64 excess_q24 = ((u64)(rtt_ns - t_high_ns)) << DCC_RATIO_SHIFT;

	return dcc_rate_shrink(rate_q8,
			       dcc_scale_q24(dcc_div_u64(excess_q24, rtt_ns), beta_q24));
}

/* max(seg / R, D_minRTT); R > 0. */
static inline u64 dcc_rate_interval_ns(u32 seg_bytes, u64 rate_q8, u32 min_rtt_ns)
{
	u64 seg_ns = dcc_div_u64((u64)seg_bytes * 8000000000ULL, rate_q8 >> DCC_RATE_SHIFT);

	return dcc_max_u64(seg_ns, min_rtt_ns);
}

/*
 * Twice rate * RTT, and two packets: one for the rounding and one so that the
 * receiver never waits for a second packet before it acknowledges.
 */
static inline u64 dcc_rate_window_q16(u64 rate_q8, u32 rtt_ns, u32 wire_bytes)
{
	return dcc_muldiv_u64(rate_q8 >> DCC_RATE_SHIFT, (u64)rtt_ns << (DCC_WINDOW_SHIFT + 1),
			      8000000000ULL * wire_bytes) + 2 * DCC_WINDOW_ONE;
}

/*
 * Is the application what limits?  The kernel marks all that is in flight when
 * the application once had too little; a flow that nevertheless delivered four
 * fifths of its rate was not held back.
 */
static inline bool dcc_rate_unused(u64 rate_q8, u64 acked_bytes, u64 elapsed_ns)
{
	u64 allowed = dcc_muldiv_u64(rate_q8 >> DCC_RATE_SHIFT, elapsed_ns, 8000000000ULL);

	return dcc_min_u64(acked_bytes, 1ULL << 60) * 5 < dcc_min_u64(allowed, 1ULL << 60) * 4;
}

/* A parameter's rate. */
static inline u64 dcc_rate_of_kbps_q8(u32 kbps)
{
	return ((u64)kbps * 1000) << DCC_RATE_SHIFT;
}

/* Window and pace of a rate. */
static inline void dcc_rate_control(u64 rate_q8, u32 rtt_ns, u32 wire_bytes,
				    struct dcc_control *out)
{
	out->cwnd_q16 = dcc_rate_window_q16(rate_q8, rtt_ns, wire_bytes);
	out->pacing_bps = dcc_max_u64(rate_q8 >> DCC_RATE_SHIFT, 1000);
	out->probe_ns = 0;
	out->target_ns = 0;
	out->has_levels = 0;
}

/* Once per RTT; before_ns: of the last reaction, 0: none yet. */
static inline bool dcc_rate_loss_counts(u64 now_ns, u64 before_ns, u32 rtt_ns)
{
	return !before_ns || now_ns - before_ns >= rtt_ns;
}

/* Half of it; with an empty queue the loss was hardly congestion. */
static inline u64 dcc_rate_after_loss_q8(u64 rate_q8, bool empty)
{
	return rate_q8 - (rate_q8 >> (empty ? 3 : 1));
}

/* After a timeout: half of it, at most a packet in an RTT. */
static inline u64 dcc_rate_after_rto_q8(u64 rate_q8, u32 wire_bytes, u32 rtt_ns)
{
	u64 packet_q8 = dcc_div_u64(((u64)wire_bytes * 8000000000ULL) << DCC_RATE_SHIFT, rtt_ns);

	return dcc_min_u64(rate_q8 / 2, packet_q8);
}

#endif /* DCC_RATE_H */

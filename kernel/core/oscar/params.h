/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: parameters, their ranges, and every quantity that follows from the
 * path and the parameters alone.
 */
#ifndef DCC_OSCAR_PARAMS_H
#define DCC_OSCAR_PARAMS_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

/* Ranges of the parameters (paper, section 4.4, for the first four). */
#define DCC_OSCAR_TARGET_MIN_NS 2000U
#define DCC_OSCAR_TARGET_MAX_NS 2000000000U
#define DCC_OSCAR_QUEUE_MIN_NS 500U
#define DCC_OSCAR_QUEUE_MAX_NS 1000000000U
#define DCC_OSCAR_TAU_MIN_NS 500U
#define DCC_OSCAR_TAU_MAX_NS 1000000000U
#define DCC_OSCAR_U_AI_MAX_PPM 100000U
#define DCC_OSCAR_U_HAI_MAX_PPM 1000000U
#define DCC_OSCAR_U_AI_PPM 1000U
#define DCC_OSCAR_U_HAI_PPM 10000U

/*
 * The floor of u is 1/16384 of the line.  U_AI keeps real ratios far above it
 * (0.001).  The floor only has to be too small to matter in an incast of
 * thousands of flows.
 */
#define DCC_OSCAR_RATIO_MIN (DCC_RATIO_ONE >> 14)

/* Noise of one mean delay.  On short paths a share of the queue target is used instead. */
#define DCC_OSCAR_EMPTY_NS 1000U /* a delay this far above the base RTT is still "no queue" */
#define DCC_OSCAR_BAND_NS 500U   /* dead band below D_target */

/* Points per tau in the ring of delays (drain.h): 8 points span 8/6 tau at any rate. */
#define DCC_OSCAR_POINTS_PER_TAU 6

struct dcc_oscar_params {
	u32 target_delay_ns; /* D_target as an RTT; 0: base RTT + target_queue_ns */
	u32 tau_ns;	     /* span of a batch; 0: half a base RTT */
	u32 u_ai_ppm;	     /* U_AI, 0 .. 100000 */
	u32 u_hai_ppm;	     /* U_HAI, 1 .. 1000000; only oscar_paper uses it */
	u32 target_queue_ns; /* the part of D_target above the base RTT; 0: half a base RTT */
	u32 paper;	     /* 0: oscar; 1: oscar_paper, Algorithms 1 and 2 as printed */
};

/* What path and parameters come to.  Recomputed when either changes. */
struct dcc_oscar_scale {
	struct dcc_path path;
	struct dcc_oscar_params params;
	u64 byte_ns_q24;       /* time of one byte on the line; u_w and u_r need only this */
	u64 packet_ns_q24;     /* time of a full packet on the line */
	u64 target_window_q16; /* D_target * mu in packets */
	u64 bdp_window_q16;    /* base RTT * mu in packets */
	u32 base_ns;
	u32 target_ns;
	u32 tau_ns;
	u32 empty_ns; /* delays up to here are an empty queue */
	u32 band_ns;  /* within this much below D_target, brake rather than accelerate */
	u32 near_ns;  /* |delay - D_target| up to here is "near the target" */
	u32 high_ns;  /* 1.125 D_target: a long queue, which the flows are still cutting */
	u32 drop_ns;  /* smallest drop of the delay that is worth a slope */
	u32 point_ns; /* between two points of the ring of delays */
	u32 u_ai_q24;
};

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_OSCAR_PARAMS(X)                                                        \
	X(target_delay_ns, DCC_OSCAR_TARGET_MIN_NS, DCC_OSCAR_TARGET_MAX_NS, true) \
	X(target_queue_ns, DCC_OSCAR_QUEUE_MIN_NS, DCC_OSCAR_QUEUE_MAX_NS, true)   \
	X(tau_ns, DCC_OSCAR_TAU_MIN_NS, DCC_OSCAR_TAU_MAX_NS, true)                \
	X(u_ai_ppm, 0, DCC_OSCAR_U_AI_MAX_PPM, true)                               \
	X(u_hai_ppm, 1, DCC_OSCAR_U_HAI_MAX_PPM, false)

static inline void dcc_oscar_params_default(struct dcc_oscar_params *p)
{
	p->target_delay_ns = 0;
	p->tau_ns = 0;
	p->u_ai_ppm = DCC_OSCAR_U_AI_PPM;
	p->u_hai_ppm = DCC_OSCAR_U_HAI_PPM;
	p->target_queue_ns = 0;
	p->paper = 0;
}

static inline bool dcc_oscar_params_valid(const struct dcc_oscar_params *p)
{
	if (p->target_delay_ns && (p->target_delay_ns < DCC_OSCAR_TARGET_MIN_NS ||
				   p->target_delay_ns > DCC_OSCAR_TARGET_MAX_NS))
		return false;
	if (p->target_queue_ns && (p->target_queue_ns < DCC_OSCAR_QUEUE_MIN_NS ||
				   p->target_queue_ns > DCC_OSCAR_QUEUE_MAX_NS))
		return false;
	if (p->tau_ns && (p->tau_ns < DCC_OSCAR_TAU_MIN_NS || p->tau_ns > DCC_OSCAR_TAU_MAX_NS))
		return false;
	return p->u_ai_ppm <= DCC_OSCAR_U_AI_MAX_PPM && p->u_hai_ppm &&
	       p->u_hai_ppm <= DCC_OSCAR_U_HAI_MAX_PPM && p->paper <= 1;
}

static inline bool dcc_oscar_scale_stale(const struct dcc_oscar_scale *c,
					 const struct dcc_path *path,
					 const struct dcc_oscar_params *p)
{
	return !dcc_same_path(&c->path, path) || !dcc_same(&c->params, p, sizeof(*p));
}

/* Values outside their ranges are cut to them: a core must not fail. */
static inline void dcc_oscar_derive(struct dcc_oscar_scale *c, const struct dcc_path *path,
				    const struct dcc_oscar_params *p)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u32 wire = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				 DCC_PATH_WIRE_MAX_BYTES);
	u32 queue_ns;

	c->path = *path;
	c->params = *p;
	c->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	queue_ns = p->target_queue_ns ?
		dcc_min_u32(p->target_queue_ns, DCC_OSCAR_QUEUE_MAX_NS) : c->base_ns / 2;
	c->target_ns = p->target_delay_ns ? p->target_delay_ns : c->base_ns + queue_ns;
	/* A target without a queue could not be distinguished from an idle link. */
	c->target_ns = dcc_clamp_u32(c->target_ns, c->base_ns + c->base_ns / 8,
				     DCC_OSCAR_TARGET_MAX_NS);
	c->tau_ns = dcc_clamp_u32(p->tau_ns ? p->tau_ns : c->base_ns / 2, DCC_OSCAR_TAU_MIN_NS,
				  DCC_OSCAR_TAU_MAX_NS);

	queue_ns = c->target_ns - c->base_ns;
	c->empty_ns = c->base_ns + dcc_min_u32(DCC_OSCAR_EMPTY_NS, queue_ns / 4);
	c->band_ns = dcc_min_u32(DCC_OSCAR_BAND_NS, queue_ns / 8);
	c->near_ns = queue_ns / 3;
	c->high_ns = c->target_ns + c->target_ns / 8;
	/*
	 * A flow of ten sees the others as whole packets, a tenth of this drop
	 * each.  The slope of a smaller drop predicts several times the share
	 * that becomes free.
	 */
	c->drop_ns = queue_ns / 5 * 2;
	c->point_ns = (c->tau_ns + DCC_OSCAR_POINTS_PER_TAU - 1) / DCC_OSCAR_POINTS_PER_TAU;

	c->u_ai_q24 = dcc_ppm_to_q24(dcc_min_u32(p->u_ai_ppm, DCC_OSCAR_U_AI_MAX_PPM));

	/* 8e9 * 2^24 < 2^57; at 800 Gbit/s 167772 with an error below 6e-6. */
	c->byte_ns_q24 = dcc_div_u64(8000000000ULL << DCC_RATIO_SHIFT, rate);
	c->packet_ns_q24 = wire * c->byte_ns_q24; /* < 2^53 */
	c->target_window_q16 = dcc_muldiv_u64(c->target_ns, 1ULL << (24 + DCC_WINDOW_SHIFT),
					      c->packet_ns_q24);
	c->bdp_window_q16 = dcc_muldiv_u64(c->base_ns, 1ULL << (24 + DCC_WINDOW_SHIFT),
					   c->packet_ns_q24);
}

#endif /* DCC_OSCAR_PARAMS_H */

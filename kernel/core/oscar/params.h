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
#define DCC_OSCAR_FLOW_SCALING_MAX_PPM 750000U
#define DCC_OSCAR_FLOW_SCALING_PPM 0U

/* Automatic target queue: the shortest, and the base RTT from which on the next one is used. */
#define DCC_OSCAR_QUEUE_NS 6000U
#define DCC_OSCAR_QUEUE_BASE_NS 19200U

/* A base RTT short of the next queue's by a quarter at most may share one with longer ones. */
#define DCC_OSCAR_NEXT_QUEUE_PART 3U

/* Flow scaling: shares up to 1/16 have the whole target queue. */
#define DCC_OSCAR_FLOW_SCALING_OCTAVES 4U

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
	u32 target_queue_ns; /* D_target above the base RTT; 0: dcc_oscar_default_queue_ns() */
	/*
	 * The part of that queue by which a flow with the whole link aims lower, 1 .. 750000; 0:
	 * dcc_oscar_noise_scaling_ns().
	 */
	u32 flow_scaling_ppm;
	u32 paper;	     /* 0: oscar; 1: oscar_paper, Algorithms 1 and 2 as printed */
};

/* What path and parameters come to.  Recomputed when either changes. */
struct dcc_oscar_scale {
	struct dcc_path path;
	struct dcc_oscar_params params;
	u32 base_ns;
	u64 byte_ns_q24;       /* time of one byte on the line; u_w and u_r need only this */
	u64 packet_ns_q24;     /* time of a full packet on the line */
	u64 target_window_q16; /* D_target * mu in packets */
	u64 bdp_window_q16;    /* base RTT * mu in packets */
	u32 target_ns;
	u32 tau_ns;
	u32 empty_ns; /* delays up to here are an empty queue */
	u32 near_ns;  /* |delay - D_target| up to here is "near the target" */
	u32 high_ns;  /* 1.125 D_target: a long queue, which the flows are still cutting */
	u32 queue_ns; /* D_target above the base RTT, before flow scaling */
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
	X(flow_scaling_ppm, 0, DCC_OSCAR_FLOW_SCALING_MAX_PPM, true)               \
	X(u_hai_ppm, 1, DCC_OSCAR_U_HAI_MAX_PPM, false)

static inline void dcc_oscar_params_default(struct dcc_oscar_params *p)
{
	p->target_delay_ns = 0;
	p->tau_ns = 0;
	p->u_ai_ppm = DCC_OSCAR_U_AI_PPM;
	p->u_hai_ppm = DCC_OSCAR_U_HAI_PPM;
	p->target_queue_ns = 0;
	p->flow_scaling_ppm = DCC_OSCAR_FLOW_SCALING_PPM;
	p->paper = 0;
}

static inline bool dcc_oscar_params_valid(const struct dcc_oscar_params *p)
{
	return DCC_OSCAR_PARAMS(DCC_PARAM_FITS) p->paper <= 1;
}

static inline bool dcc_oscar_scale_stale(const struct dcc_oscar_scale *c,
					 const struct dcc_path *path,
					 const struct dcc_oscar_params *p)
{
	return !dcc_same_path(&c->path, path) || !dcc_same(&c->params, p, sizeof(*p));
}

/*
 * May the target queue be another one than path and parameters say?  Not where it or the line rate
 * is the operator's, nor in the paper's law.
 */
static inline bool dcc_oscar_adapts_queue(const struct dcc_oscar_scale *c)
{
	return !c->path.delay_floor_ns && !c->params.target_queue_ns &&
	       !c->params.target_delay_ns && !c->params.paper;
}

/* D_target, and what follows from it. */
static inline void dcc_oscar_set_target(struct dcc_oscar_scale *c, u32 target_ns)
{
	c->target_ns = target_ns;
	c->near_ns = (target_ns - c->base_ns) / 3;
	c->high_ns = target_ns + target_ns / 8;
	c->target_window_q16 =
		dcc_muldiv_u64(target_ns, 1ULL << (24 + DCC_WINDOW_SHIFT), c->packet_ns_q24);
}

/* Within this much below D_target, brake rather than accelerate. */
static inline u32 dcc_oscar_band_ns(const struct dcc_oscar_scale *c)
{
	return dcc_min_u32(DCC_OSCAR_BAND_NS, (c->target_ns - c->base_ns) / 8);
}

/*
 * The smallest drop of the delay that is worth a slope.  A flow of ten sees the others as whole
 * packets, a tenth of this drop each.  The slope of a smaller drop predicts several times the share
 * that becomes free.
 */
static inline u32 dcc_oscar_drop_ns(const struct dcc_oscar_scale *c)
{
	return c->queue_ns / 5 * 2;
}

/*
 * Automatic flow scaling, in ns of the queue; 0: none.  Flows that have measured the hosts' noise
 * aim for queues that differ by what each took for noise.  Half of the queue, less where the noise
 * is about as long as the path without it: short queues leave the link idle in such noise.  Not
 * where nobody has told the line rate, for what a slow link makes of a burst is no noise.
 */
static inline u32 dcc_oscar_noise_scaling_ns(const struct dcc_oscar_scale *c)
{
	u32 noise_ns = dcc_min_u32(c->path.noise_ns, c->base_ns);

	if (DCC_LIKELY(!noise_ns) || !dcc_oscar_adapts_queue(c))
		return 0;
	return dcc_min_u32(c->queue_ns / 2,
			   dcc_sub_sat_u32(c->base_ns, noise_ns + noise_ns / 2));
}

/* Flow scaling: how much lower a flow with the whole link aims. */
static inline u32 dcc_oscar_scaling_ns(const struct dcc_oscar_scale *c)
{
	u32 ppm = dcc_min_u32(c->params.flow_scaling_ppm, DCC_OSCAR_FLOW_SCALING_MAX_PPM);

	if (DCC_LIKELY(!ppm))
		return dcc_oscar_noise_scaling_ns(c);
	if (c->params.paper)
		return 0;
	return (u32)dcc_div_u64((u64)c->queue_ns * ppm, 1000000);
}

/*
 * Flow scaling: a target that falls with the share u, by an equal part for each doubling above
 * 1/16.  It is a force that brings shares together whose flows aim for different delays.
 */
static inline u32 dcc_oscar_scaled_target_ns(const struct dcc_oscar_scale *c, u32 scaling_ns,
					     u32 u_q24)
{
	u32 most = DCC_OSCAR_FLOW_SCALING_OCTAVES;
	u32 octaves_q16 = (most << 16) - dcc_halvings_q16(DCC_RATIO_SHIFT << 16, u_q24, most);
	/* < 2^31 (ns) * 2^10; the product with octaves is < 2^57. */
	u64 part_q10 = ((u64)scaling_ns << 10) / most;

	return c->base_ns + c->queue_ns - (u32)((part_q10 * octaves_q16) >> 26);
}

/*
 * Automatic target queue: 6 us, or as many times twice that as 5/16 of the base RTT takes, and
 * half of the hosts' noise.  Of two flows that aim for different queues, be it by a hundredth, the
 * one with the longer queue takes the link.  Base RTTs in one queue do differ, by the hops of a
 * fabric, and so would a fixed part of them.
 */
static inline u32 dcc_oscar_default_queue_ns(u32 base_ns, u32 noise_ns)
{
	u32 steps = dcc_sub_sat_u32(base_ns, noise_ns) / (DCC_OSCAR_QUEUE_BASE_NS / 2);
	u32 queue_ns = DCC_OSCAR_QUEUE_NS;

	if (steps)
		queue_ns <<= 63 - dcc_clz_u64(steps);
	return queue_ns + dcc_min_u32(noise_ns, base_ns) / 2;
}

/*
 * The automatic target queue of a path a third longer; 0: it is no other one.  Not where nobody has
 * told the line rate, nor for the paper's law.
 */
static inline u32 dcc_oscar_next_queue_ns(const struct dcc_oscar_scale *c)
{
	u32 noise_ns = c->path.noise_ns, more_ns, next_ns;

	if (DCC_LIKELY(c->base_ns < DCC_OSCAR_QUEUE_BASE_NS / 4 * 3) ||
	    !dcc_oscar_adapts_queue(c))
		return 0;
	more_ns = dcc_sub_sat_u32(c->base_ns, noise_ns) / DCC_OSCAR_NEXT_QUEUE_PART;
	next_ns = dcc_oscar_default_queue_ns(c->base_ns + more_ns, noise_ns);
	if (next_ns == dcc_oscar_default_queue_ns(c->base_ns, noise_ns))
		return 0;
	return next_ns;
}

/* Values outside their ranges are cut to them: a core must not fail. */
static inline void dcc_oscar_derive(struct dcc_oscar_scale *c, const struct dcc_path *path,
				    const struct dcc_oscar_params *p)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u32 wire = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				 DCC_PATH_WIRE_MAX_BYTES);
	u32 queue_ns, target_ns;

	c->path = *path;
	c->params = *p;
	c->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	queue_ns = p->target_queue_ns ?
		dcc_clamp_u32(p->target_queue_ns, DCC_OSCAR_QUEUE_MIN_NS, DCC_OSCAR_QUEUE_MAX_NS) :
		dcc_oscar_default_queue_ns(c->base_ns, path->noise_ns);
	target_ns = p->target_delay_ns ? dcc_max_u32(p->target_delay_ns, DCC_OSCAR_TARGET_MIN_NS) :
					 c->base_ns + queue_ns;
	/* A target without a queue could not be distinguished from an idle link. */
	target_ns = dcc_clamp_u32(target_ns, c->base_ns + c->base_ns / 8, DCC_OSCAR_TARGET_MAX_NS);
	c->tau_ns = dcc_clamp_u32(p->tau_ns ? p->tau_ns : c->base_ns / 2, DCC_OSCAR_TAU_MIN_NS,
				  DCC_OSCAR_TAU_MAX_NS);

	c->queue_ns = target_ns - c->base_ns;
	c->empty_ns = c->base_ns + dcc_min_u32(DCC_OSCAR_EMPTY_NS, c->queue_ns / 4);
	c->point_ns = (c->tau_ns + DCC_OSCAR_POINTS_PER_TAU - 1) / DCC_OSCAR_POINTS_PER_TAU;

	c->u_ai_q24 = dcc_ppm_to_q24(dcc_min_u32(p->u_ai_ppm, DCC_OSCAR_U_AI_MAX_PPM));

	/* 8e9 * 2^24 < 2^57; at 800 Gbit/s 167772 with an error below 6e-6. */
	c->byte_ns_q24 = dcc_div_u64(8000000000ULL << DCC_RATIO_SHIFT, rate);
	c->packet_ns_q24 = wire * c->byte_ns_q24; /* < 2^53 */
	dcc_oscar_set_target(c, target_ns);
	c->bdp_window_q16 = dcc_muldiv_u64(c->base_ns, 1ULL << (24 + DCC_WINDOW_SHIFT),
					   c->packet_ns_q24);
}

#endif /* DCC_OSCAR_PARAMS_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CCC: congestion control that asks first whether delay can be trusted.
 *
 * The control loop
 *   Each acknowledgment gives two numbers: q, the queueing delay (RTT less base RTT), and q_v, how
 *   fast it changes, which is how much more the flows of the bottleneck send than it carries:
 *   R/C - 1.  The curve
 *     delta = 0.5 log2(q_B / q) - q_v = 0
 *   through the goal (q_B, 0) says how much more would be right at each q.  Below it (delta > 0)
 *   rates rise, above it they fall.  How, is a matter of the region that the point lies in:
 *
 *     q_v                          delta > 0           delta <= 0
 *      |  H2i \    H1d |  H2d      q <  q_B, q_v < 0    H1i      q <  q_B  H1d
 *      |       '---.   |           q <  q_B, q_v >= 0   H2i      q >= q_B, q_v >= 0  H2d
 *    0 +------------'--*-----> q   q >= q_B             Ai       q >= q_B, q_v < 0   Ad
 *      |  H1i          | '. Ad
 *      |               |Ai '---.
 *
 *   In Ai the signals are good: the link is full, the queue neither long nor wild.  The step is
 *   computed so that one base RTT of all flows' steps crosses the curve.  In the H regions the
 *   link may be idle unseen, or what the delay shows is long past: there the sign alone counts,
 *   and steps are probes, S * w_ai up and r * w_md down, that fade out at q_B.  The system's own
 *   inertia (a positive q_v moves it to the right) does the rest, and the flows slide along
 *   the curve into the goal.
 *   Fairness comes from the reference rate Irr = R_l (1 - q/q_B), which is the same for all flows
 *   of a queue: rates above it do not rise, rates below it do not fall.
 *   Every step counts in proportion to the time since the last acknowledgment, Itv / RTT_min.
 *
 *   acknowledgment -> q, q_v, delta -> region -> r -> window r * RTT_min and pace r
 *
 * The algorithms
 *   ccc_paper	the paper's rules as read below
 *   ccc	in addition the rules that follow
 *
 * Differences from the paper (docs/design/ablation.md has what each carries)
 *   Window: one below one packet is one packet, and the pace alone limits the flow.  The share of
 *     100 flows is 0.4 packets per RTT; windows below a packet make such flows starve one another.
 *   Share: while there is a queue the link is full, so the rate at which packets are acknowledged
 *     is the flow's share of it.  A decrease stops at 7/8 of that share, a step in Ai at 5/4.
 *     Equation 8 relies on several acknowledgments per RTT_min of each flow; 100 flows have one in
 *     2.4 RTT_min, and a step of M / RTT_min is two and a half times the whole rate.
 *   Drift: a rate above Irr loses 0.2 (r / R_l) (r - Irr) per RTT_min, in every region, while there
 *     is a queue.  Windows of r * RTT_min clock flows by their acknowledgments: the queue then
 *     stands below q_B where all rates are above Irr, f(k) = 0 for all, and no share changes.  The
 *     pull towards Irr, which is the same for all, ends that; the factor r / R_l, about 1/N, keeps
 *     the sum independent of N.
 *   Basis: S is r at each increase until the first one behind a decrease; the paper does not say
 *     where S starts.  With sparse acknowledgments a flow may never see an A region, and a basis
 *     left at line rate is a burst.
 *   Slope: w_md = -0.125 min(|q - q_B| / q_B, 2): the same limit, half the slope near the goal.
 *   Stay: v_ai stays what it is while q is between 5 % of RTT_min and q_B / 2.  A microsecond of
 *     the hosts' noise now and then is no end of an idle link, and a flow that starts over each
 *     time needs milliseconds from r_min to the line.
 *
 * How the paper is read
 *   1. Ai is Equation 8 as proved in Appendix A, with M; Algorithm 1, line 7 leaves M out. M is
 *      a packet with all its headers. Itv in the argument of its logarithm is not limited.
 *   2. w_ai in H2i is 0.1 Irr / R_l as in the text; line 10 leaves R_l out.
 *   3. gamma weighs the old gradient. A sample is at least -1: the link drains no faster. The
 *      first one after a start or a clock that went back is 0, with Itv = RTT_min. The average
 *      is cut towards zero and gets there: a lone flow that stayed a shade below zero would be
 *      in H1i for ever, where max(0, 1 - 2 r/R_l) stops it at half the line.
 *   4. Itv / RTT_min is at most 1 as a factor of the probing steps.
 *   5. delta <= 0 brakes. f(k) = 0 where (Irr - r) delta = 0.
 *   6. Logarithms are straight between powers of two (Equation 10), also in Equation 8.
 *   7. S is updated at the first increase in an H region behind a sample in Ai or Ad, from the
 *      last five rates with |q_v| < 0.05 in any region.
 *   8. v_ai doubles at most once per RTT_min while q < 5 % of RTT_min (at most q_B / 2), and
 *      falls to 1 otherwise. S * v_ai is at most R_l.
 *   9. A rate is at least r_min, a packet in six RTT_min if not given. The paper has no such
 *      limit; flows of an incast do not recover from much smaller rates.
 *  10. q_B is 5 us, or a quarter of RTT_min where that is longer and nothing is configured: what
 *      is probed for in one RTT_min has to fit. It is at least the time of two packets on the line:
 *      240 us with 100 Mbit/s, 1 us with 25 Gbit/s; the delay has steps of a packet. And at least
 *      dcc_path.delay_floor_ns. The hosts' noise is added: the base RTT has it on average, and
 *      single RTTs differ by as much.
 *  11. After idle time a flow starts anew, at line rate with a window of one BDP. A timeout
 *      leaves a packet per RTT_min.
 */
#ifndef DCC_CCC_H
#define DCC_CCC_H

#include "dcc_cc.h"
#include "dcc_math.h"

/* Parameters, with their ranges. */
#define DCC_CCC_Q_B_MIN_NS 500U
#define DCC_CCC_Q_B_MAX_NS 250000000U
#define DCC_CCC_Q_B_NS 5000U
#define DCC_CCC_Q_B_BASE_PART 4U
/* Less would be a queue that a single packet in front makes, and its sender would brake for it. */
#define DCC_CCC_Q_B_PACKETS 2U
#define DCC_CCC_GAMMA_MAX_PPM 990000U
#define DCC_CCC_GAMMA_PPM 200000U
#define DCC_CCC_R_MIN_MAX_KBPS 800000000U

/* Rates are shares of the line rate, 30 fraction bits: 0.1 kbit/s at 100 Gbit/s. */
#define DCC_CCC_SHARE_ONE 1073741824U
#define DCC_CCC_SHARE_MIN 1024U /* a millionth of the line */

/* Section 4.3.4: |q_v| < 0.05 is a time when the sum of the rates is near the link's. */
#define DCC_CCC_CALM_Q16 3277U
#define DCC_CCC_RECORDS 5
#define DCC_CCC_FIFTH_Q16 13107U /* 1/5: a mean without a division */
#define DCC_CCC_TENTH_Q16 6554U	 /* w_ai in H2i */

/* A queue that grows faster is no more urgent: a thousand line rates at once. */
#define DCC_CCC_GRADIENT_ONE_Q16 65536U
#define DCC_CCC_GRADIENT_MAX_Q16 (1024U << 16)

/* 2^15 times S is the line rate at any S above the minimum. */
#define DCC_CCC_DOUBLINGS_MAX 15U

/* Automatic r_min: a packet in so many base RTTs. */
#define DCC_CCC_R_MIN_RTTS 6U

/* What the flow gets of a busy link: no decrease below 7/8, no increase above 5/4 of it in Ai. */
#define DCC_CCC_KEEP_Q16 57344U
#define DCC_CCC_REACH_Q16 81920U
#define DCC_CCC_RHO_MAX 4U

/* In one RTT a rate above Irr loses a fifth of its excess, times r / R_l. */
#define DCC_CCC_DRIFT_Q16 13107U

/* Numbered as in the tracepoint. */
enum dcc_ccc_region {
	DCC_CCC_START = 0, /* no acknowledgment yet */
	DCC_CCC_AI = 1,
	DCC_CCC_AD = 2,
	DCC_CCC_H1I = 3,
	DCC_CCC_H2I = 4,
	DCC_CCC_H1D = 5,
	DCC_CCC_H2D = 6,
	DCC_CCC_RTO = 8,
};

struct dcc_ccc_params {
	u32 q_b_ns;	/* queueing delay to hold; 0: 5 us, at least a quarter of the base RTT */
	u32 gamma_ppm;	/* weight of the old gradient, 0 .. 990000 */
	u32 r_min_kbps; /* no rate below; 0: a packet in six base RTTs */
	u32 paper;	/* not a sysctl: 1: ccc_paper, without the rules above */
};

/* 1 / d for products: n * value >> shift is n / d. */
struct dcc_ccc_reciprocal {
	u32 value; /* 2^30 .. 2^31 */
	u32 shift; /* 31 + the place of d's top bit */
};

/* What path and parameters come to; recomputed when either changes. */
struct dcc_ccc_scale {
	struct dcc_path path;
	struct dcc_ccc_params params;
	u64 line_rate_bps; /* R_l, within the range of a path */
	u64 bdp_q16; /* R_l * RTT_min in packets */
	struct dcc_ccc_reciprocal per_rtt;
	struct dcc_ccc_reciprocal per_q_b;
	struct dcc_ccc_reciprocal per_packet; /* of packet_time */
	u32 packet_time;  /* of a packet on the line, in 2^(packet_shift - 30) ns */
	u32 packet_shift;
	u32 base_ns;
	u32 q_b_ns;
	u32 log_q_b_q16;
	u32 empty_ns; /* 5 % of RTT_min: below it there is no queue */
	u32 step_q30; /* M / RTT_min as a share of the line */
	u32 min_q30;
	u32 gamma_q24;
};

/* The algorithm's own state: what one flow has to remember between two acknowledgments. */
struct dcc_ccc_flow {
	u64 ack_ns;    /* t(k-1) */
	u64 empty_ns;  /* when v_ai was last doubled, or the link first seen empty */
	u32 rtt_ns;    /* RTT(k-1) */
	s32 gradient_q16; /* q_v */
	u32 rate_q30;  /* r */
	u32 basis_q30; /* S */
	u32 record_q30[DCC_CCC_RECORDS];
	u32 spacing_ns; /* mean time between two packets' acknowledgments */
	u32 q_ns;	/* q */
	u8 region;
	u8 doublings;	/* v_ai = 2^doublings */
	bool have_rtt;	/* rtt_ns and ack_ns are of this flow's present life */
	bool braked;	/* has seen a decrease since the start */
	bool raised;	/* and an increase after it: S is the paper's from here on */
	bool in_a;	/* was in Ai or Ad since the last increase by S */
	bool empty;	/* empty_ns is valid */
};

struct dcc_ccc {
	struct dcc_ccc_scale scale;
	struct dcc_ccc_flow flow;
};

static_assert(sizeof(struct dcc_ccc_flow) * 8 < 1000, "section 5: less than 1000 bits per flow");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_CCC_PARAMS(X)                                       \
	X(q_b_ns, DCC_CCC_Q_B_MIN_NS, DCC_CCC_Q_B_MAX_NS, true) \
	X(gamma_ppm, 0, DCC_CCC_GAMMA_MAX_PPM, true)            \
	X(r_min_kbps, 1, DCC_CCC_R_MIN_MAX_KBPS, true)

static inline void dcc_ccc_params_default(struct dcc_ccc_params *p)
{
	p->q_b_ns = 0;
	p->gamma_ppm = DCC_CCC_GAMMA_PPM;
	p->r_min_kbps = 0;
	p->paper = 0;
}

static inline bool dcc_ccc_params_valid(const struct dcc_ccc_params *p)
{
	return DCC_CCC_PARAMS(DCC_PARAM_FITS) p->paper <= 1;
}

static inline bool dcc_ccc_stale(const struct dcc_ccc_scale *k, const struct dcc_path *path,
				 const struct dcc_ccc_params *p)
{
	return !dcc_same_path(&k->path, path) || k->params.q_b_ns != p->q_b_ns ||
	       k->params.gamma_ppm != p->gamma_ppm || k->params.r_min_kbps != p->r_min_kbps ||
	       k->params.paper != p->paper;
}

static inline void dcc_ccc_set_reciprocal(struct dcc_ccc_reciprocal *r, u32 d)
{
	d = dcc_max_u32(d, 1);
	r->shift = 94 - dcc_clz_u64(d);
	r->value = (u32)dcc_div_u64(1ULL << r->shift, d);
}

/* n / d as Q24, for n / d < 2^9; d < 2^30 keeps the product within 64 bits. */
static inline u32 dcc_ccc_over_q24(u32 n, const struct dcc_ccc_reciprocal *r)
{
	return (u32)(((u64)n * r->value) >> ((r->shift - DCC_RATIO_SHIFT) & 63));
}

/*
 * Everything that depends on path and parameters only.  Values outside their
 * ranges are cut to them: a core must not fail.
 */
static inline void dcc_ccc_derive(struct dcc_ccc_scale *k, const struct dcc_path *path,
				  const struct dcc_ccc_params *p)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u32 wire = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				 DCC_PATH_WIRE_MAX_BYTES);
	/* 163 .. 2^37: 65535 bytes are half a second at 1 Mbit/s. */
	u64 packet_ns_q8 = dcc_div_u64((u64)wire * (8000000000ULL << 8), rate);
	u64 min_q30;
	u32 top;

	k->path = *path;
	k->params = *p;
	k->line_rate_bps = rate;
	k->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	k->q_b_ns = p->q_b_ns;
	if (!k->q_b_ns)
		k->q_b_ns = dcc_max_u32(dcc_sub_sat_u32(k->base_ns, path->noise_ns) /
						DCC_CCC_Q_B_BASE_PART,
					DCC_CCC_Q_B_NS);
	k->q_b_ns = dcc_clamp_u32(k->q_b_ns, DCC_CCC_Q_B_MIN_NS, DCC_CCC_Q_B_MAX_NS);
	k->q_b_ns = dcc_max_u32(k->q_b_ns, (u32)dcc_min_u64((packet_ns_q8 * DCC_CCC_Q_B_PACKETS) >>
							    8, DCC_CCC_Q_B_MAX_NS));
	k->q_b_ns = dcc_max_u32(k->q_b_ns, dcc_min_u32(path->delay_floor_ns, DCC_CCC_Q_B_MAX_NS));
	k->q_b_ns = dcc_min_u32(dcc_add_sat_u32(k->q_b_ns, path->noise_ns), DCC_CCC_Q_B_MAX_NS);
	k->empty_ns = dcc_min_u32(k->base_ns / 20, k->q_b_ns / 2);
	k->log_q_b_q16 = dcc_log2_segments_q16(k->q_b_ns);
	k->gamma_q24 = dcc_ppm_to_q24(dcc_min_u32(p->gamma_ppm, DCC_CCC_GAMMA_MAX_PPM));
	dcc_ccc_set_reciprocal(&k->per_rtt, k->base_ns);
	dcc_ccc_set_reciprocal(&k->per_q_b, k->q_b_ns);

	top = 63 - dcc_clz_u64(packet_ns_q8 | 1);
	k->packet_shift = 22 + dcc_sub_sat_u32(top, 27);
	k->packet_time = (u32)(packet_ns_q8 >> (k->packet_shift - 22));
	dcc_ccc_set_reciprocal(&k->per_packet, k->packet_time);

	k->bdp_q16 = dcc_muldiv_u64(k->base_ns, 1ULL << (8 + DCC_WINDOW_SHIFT), packet_ns_q8);
	/* A path that holds less than a packet: one step may be the whole line. */
	k->step_q30 = (u32)dcc_min_u64(dcc_muldiv_u64(packet_ns_q8, 1ULL << 22, k->base_ns),
				       DCC_CCC_SHARE_ONE);
	if (p->r_min_kbps)
		min_q30 = dcc_muldiv_u64((u64)p->r_min_kbps * 1000, DCC_CCC_SHARE_ONE, rate);
	else
		min_q30 = dcc_div_u64(k->step_q30, DCC_CCC_R_MIN_RTTS);
	k->min_q30 = (u32)dcc_clamp_u64(min_q30, DCC_CCC_SHARE_MIN, DCC_CCC_SHARE_ONE);
}

static inline void dcc_ccc_control(const struct dcc_ccc *s, struct dcc_control *out)
{
	const struct dcc_ccc_scale *k = &s->scale;
	const struct dcc_ccc_flow *f = &s->flow;
	u64 window = dcc_scale_q30(k->bdp_q16, f->rate_q30);

	if (!k->params.paper)
		window = dcc_max_u64(window, DCC_WINDOW_ONE);
	out->cwnd_q16 = dcc_max_u64(window, 1);
	out->pacing_bps = dcc_max_u64(dcc_scale_q30(k->line_rate_bps, f->rate_q30), 1000);
	out->probe_ns = 0;
	out->target_ns = k->q_b_ns;
	out->has_levels = 0;
}

static inline void dcc_ccc_set_basis(struct dcc_ccc_flow *f, u32 share_q30)
{
	int i;

	f->basis_q30 = share_q30;
	for (i = 0; i < DCC_CCC_RECORDS; i++)
		f->record_q30[i] = share_q30;
}

/* Line rate, no history. */
static inline void dcc_ccc_start(struct dcc_ccc_flow *f)
{
	f->ack_ns = 0;
	f->empty_ns = 0;
	f->rtt_ns = 0;
	f->gradient_q16 = 0;
	f->rate_q30 = DCC_CCC_SHARE_ONE;
	dcc_ccc_set_basis(f, DCC_CCC_SHARE_ONE);
	f->spacing_ns = 0;
	f->q_ns = 0;
	f->region = DCC_CCC_START;
	f->doublings = 0;
	f->have_rtt = false;
	f->braked = false;
	f->raised = false;
	f->in_a = false;
	f->empty = false;
}

static inline void dcc_ccc_init(struct dcc_ccc *s, const struct dcc_path *path,
				const struct dcc_ccc_params *p, struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_ccc_derive)(&s->scale, path, p);
	dcc_ccc_start(&s->flow);
	dcc_ccc_control(s, out);
}

/* After idle time, or when the path became another one. */
static inline void dcc_ccc_restart(struct dcc_ccc *s, const struct dcc_path *path,
				   const struct dcc_ccc_params *p, u64 now_ns,
				   struct dcc_control *out)
{
	(void)now_ns;
	dcc_ccc_init(s, path, p, out);
}

/* v * w, |v| < 2^31, cut towards zero, so that an average of zeros ends at zero. */
static inline s32 dcc_ccc_weigh(s32 v, u32 w_q24)
{
	s32 weighed = (s32)((dcc_abs_s64(v) * w_q24) >> 24);

	return v < 0 ? -weighed : weighed;
}

/* Equation 4.  The one division. */
static inline void dcc_ccc_update_gradient(struct dcc_ccc *s, u32 rtt_ns, u32 itv_ns)
{
	struct dcc_ccc_flow *f = &s->flow;
	bool falls = rtt_ns < f->rtt_ns;
	u32 change_ns = falls ? f->rtt_ns - rtt_ns : rtt_ns - f->rtt_ns;
	u64 slope_q16 = dcc_div_u64((u64)change_ns << 16, itv_ns);
	s32 sample_q16;

	/* R >= 0, so q_v >= -1. */
	if (falls)
		sample_q16 = -(s32)dcc_min_u64(slope_q16, DCC_CCC_GRADIENT_ONE_Q16);
	else
		sample_q16 = (s32)dcc_min_u64(slope_q16, DCC_CCC_GRADIENT_MAX_Q16);
	f->gradient_q16 =
		sample_q16 + dcc_ccc_weigh(f->gradient_q16 - sample_q16, s->scale.gamma_q24);
}

/* Mean time between packets' acknowledgments, with weight 1/4 for the newest. */
static inline void dcc_ccc_update_spacing(struct dcc_ccc *s, u32 itv_ns, u32 acked_bytes)
{
	struct dcc_ccc_flow *f = &s->flow;
	u32 wire = s->scale.path.wire_bytes;

	/* An acknowledgment of several packets: the second division. */
	if (DCC_UNLIKELY(acked_bytes >= wire + (wire >> 1) && wire))
		itv_ns = (u32)dcc_min_u64(dcc_muldiv_u64(itv_ns, wire, acked_bytes), itv_ns);
	if (!f->spacing_ns)
		f->spacing_ns = itv_ns;
	else if (itv_ns > f->spacing_ns)
		f->spacing_ns += (itv_ns - f->spacing_ns) >> 2;
	else
		f->spacing_ns -= (f->spacing_ns - itv_ns) >> 2;
}

/* rho: the rate over what is delivered, r * spacing / M, Q16, at most 4. */
static inline u32 dcc_ccc_rho_q16(const struct dcc_ccc *s)
{
	const struct dcc_ccc_scale *k = &s->scale;
	u64 sent = ((u64)s->flow.rate_q30 * s->flow.spacing_ns) >> (k->packet_shift & 63);

	sent = dcc_min_u64(sent, (u64)k->packet_time * DCC_CCC_RHO_MAX);
	return (u32)((sent * k->per_packet.value) >> ((k->per_packet.shift - 16) & 63));
}

/* Figure 4. */
static inline u32 dcc_ccc_find_region(const struct dcc_ccc *s, s32 delta_q16)
{
	const struct dcc_ccc_flow *f = &s->flow;
	bool queue = f->q_ns >= s->scale.q_b_ns;

	if (delta_q16 > 0) {
		if (queue)
			return DCC_CCC_AI;
		return f->gradient_q16 < 0 ? DCC_CCC_H1I : DCC_CCC_H2I;
	}
	if (!queue)
		return DCC_CCC_H1D;
	return f->gradient_q16 < 0 ? DCC_CCC_AD : DCC_CCC_H2D;
}

/* S, for the increase that follows. */
static inline void dcc_ccc_update_basis(struct dcc_ccc *s)
{
	struct dcc_ccc_flow *f = &s->flow;
	u64 sum;

	if (!f->raised && !s->scale.params.paper) {
		dcc_ccc_set_basis(f, f->rate_q30);
		f->raised = f->braked;
	} else if (f->in_a) {
		sum = (u64)f->record_q30[0] + f->record_q30[1] + f->record_q30[2] +
		      f->record_q30[3] + f->record_q30[4];
		f->basis_q30 = (u32)((sum * DCC_CCC_FIFTH_Q16) >> 16);
	}
	f->in_a = false;
}

/* v_ai: doubled once per RTT_min while there is no queue. */
static inline void dcc_ccc_update_doublings(struct dcc_ccc *s, u64 now_ns)
{
	struct dcc_ccc_flow *f = &s->flow;

	if (f->q_ns >= s->scale.empty_ns) {
		if (f->empty && f->q_ns < (s->scale.q_b_ns >> 1) && !s->scale.params.paper)
			return;
		f->empty = false;
		f->doublings = 0;
	} else if (!f->empty) {
		f->empty = true;
		f->empty_ns = now_ns;
	} else if (now_ns - f->empty_ns >= s->scale.base_ns) {
		f->empty_ns = now_ns;
		if (f->doublings < DCC_CCC_DOUBLINGS_MAX)
			f->doublings++;
	}
}

/* Ai: equation 8. */
static inline u32 dcc_ccc_analytical_step(const struct dcc_ccc *s, u32 itv_ns)
{
	const struct dcc_ccc_scale *k = &s->scale;
	const struct dcc_ccc_flow *f = &s->flow;
	u32 falling_q16 = (u32)-f->gradient_q16; /* q_v < 0 here: delta > 0 and q >= q_B */
	u32 fall_ns = dcc_sat_u32(((u64)itv_ns * falling_q16) >> 16);
	u32 ahead_ns = dcc_max_u32(dcc_sub_sat_u32(f->q_ns, fall_ns), 1);
	s32 log_q16 = (s32)k->log_q_b_q16 - (s32)dcc_log2_segments_q16(ahead_ns);
	s32 gap_q16 = (log_q16 >> 1) + (s32)falling_q16;

	/* ahead <= q: the gap is not below delta, and positive. */
	if (gap_q16 < 0)
		return 0;
	return (u32)dcc_min_u64(((u64)(u32)gap_q16 * k->step_q30) >> 16, DCC_CCC_SHARE_ONE);
}

/* H1i and H2i: S * w_ai * v_ai * Itv / RTT_min. */
static inline u32 dcc_ccc_probing_step(const struct dcc_ccc *s, u32 irr_q30, u32 itv_q24)
{
	const struct dcc_ccc_flow *f = &s->flow;
	u64 basis_q30 = dcc_min_u64((u64)f->basis_q30 << f->doublings, DCC_CCC_SHARE_ONE);
	u64 weight_q30;

	if (f->region == DCC_CCC_H1I)
		weight_q30 = ((u64)irr_q30 *
			      dcc_sub_sat_u32(DCC_CCC_SHARE_ONE, 2 * f->rate_q30)) >> 31;
	else
		weight_q30 = ((u64)irr_q30 * DCC_CCC_TENTH_Q16) >> 16;
	return (u32)((((basis_q30 * weight_q30) >> 30) * itv_q24) >> 24);
}

/* What the flow may add: up to 5/4 of what is delivered to it. */
static inline u32 dcc_ccc_limit_step(const struct dcc_ccc *s, u32 step_q30)
{
	u32 room_q16 = dcc_sub_sat_u32(DCC_CCC_REACH_Q16, dcc_ccc_rho_q16(s));

	/* r (reach - rho) is below the true room, (reach / rho - 1) r, but for rho near 1. */
	return (u32)dcc_min_u64(step_q30, ((u64)s->flow.rate_q30 * room_q16) >> 16);
}

/* delta > 0, no long queue. */
static inline u32 dcc_ccc_probe_up(struct dcc_ccc *s, u64 now_ns, u32 itv_q24, u32 irr_q30)
{
	struct dcc_ccc_flow *f = &s->flow;

	dcc_ccc_update_basis(s);
	dcc_ccc_update_doublings(s, now_ns);
	if (f->rate_q30 >= irr_q30)
		return f->rate_q30;
	/* Each is at most the line rate, 2^30. */
	return f->rate_q30 + dcc_ccc_probing_step(s, irr_q30, itv_q24);
}

/* delta <= 0: r * w_md * Itv / RTT_min, with q / q_B in over_q24. */
static inline u32 dcc_ccc_probe_down(const struct dcc_ccc *s, u32 itv_q24, u32 irr_q30,
				     u32 over_q24)
{
	const struct dcc_ccc_flow *f = &s->flow;
	u32 off_q24 = over_q24 > DCC_RATIO_ONE ? over_q24 - DCC_RATIO_ONE :
						 DCC_RATIO_ONE - over_q24;
	u32 weight_q24;

	if (f->rate_q30 <= irr_q30)
		return f->rate_q30;
	if (!s->scale.params.paper)
		weight_q24 = dcc_min_u32(off_q24, 2 * DCC_RATIO_ONE) >> 3;
	else
		weight_q24 = dcc_min_u32(off_q24, DCC_RATIO_ONE) >> 2;
	weight_q24 = (u32)(((u64)weight_q24 * itv_q24) >> 24);
	if (f->region != DCC_CCC_H1D && !s->scale.params.paper)
		weight_q24 = dcc_min_u32(weight_q24, dcc_sub_sat_u32(dcc_ccc_rho_q16(s),
								     DCC_CCC_KEEP_Q16) << 8);
	return f->rate_q30 - (u32)(((u64)f->rate_q30 * weight_q24) >> 24);
}

/* What a rate above Irr gives away in this step. */
static inline u32 dcc_ccc_drift(const struct dcc_ccc *s, u32 irr_q30, u32 itv_q24)
{
	const struct dcc_ccc_flow *f = &s->flow;
	u64 drift_q30;

	if (f->rate_q30 <= irr_q30 || f->q_ns < s->scale.empty_ns || s->scale.params.paper)
		return 0;
	drift_q30 = ((u64)(f->rate_q30 - irr_q30) * f->rate_q30) >> 30;
	drift_q30 = (drift_q30 * itv_q24) >> 24;
	return (u32)((drift_q30 * DCC_CCC_DRIFT_Q16) >> 16);
}

static inline void dcc_ccc_set_rate(struct dcc_ccc *s, u32 rate_q30)
{
	s->flow.rate_q30 = dcc_clamp_u32(rate_q30, s->scale.min_q30, DCC_CCC_SHARE_ONE);
}

/* Algorithm 1, with the signals in place: the new rate. */
static inline void dcc_ccc_adjust(struct dcc_ccc *s, u64 now_ns, u32 itv_ns)
{
	const struct dcc_ccc_scale *k = &s->scale;
	struct dcc_ccc_flow *f = &s->flow;
	u32 itv_q24 = dcc_min_u32(dcc_ccc_over_q24(dcc_min_u32(itv_ns, k->base_ns), &k->per_rtt),
				  DCC_RATIO_ONE);
	/* q / q_B up to 3: nothing depends on more. */
	u32 over_q24 = dcc_ccc_over_q24(dcc_min_u32(f->q_ns, 3 * k->q_b_ns), &k->per_q_b);
	u32 irr_q30 = dcc_sub_sat_u32(DCC_RATIO_ONE, over_q24) << 6;
	s32 log_q16 = (s32)k->log_q_b_q16 - (s32)dcc_log2_segments_q16(f->q_ns);
	u32 gradient_q16 = (u32)dcc_abs_s64(f->gradient_q16);
	u32 rate_q30;

	f->region = (u8)dcc_ccc_find_region(s, (log_q16 >> 1) - f->gradient_q16);
	if (gradient_q16 < DCC_CCC_CALM_Q16) {
		f->record_q30[4] = f->record_q30[3];
		f->record_q30[3] = f->record_q30[2];
		f->record_q30[2] = f->record_q30[1];
		f->record_q30[1] = f->record_q30[0];
		f->record_q30[0] = f->rate_q30;
	}
	if (f->region == DCC_CCC_H1I || f->region == DCC_CCC_H2I) {
		rate_q30 = dcc_ccc_probe_up(s, now_ns, itv_q24, irr_q30);
	} else {
		f->empty = false;
		f->doublings = 0;
		if (f->region == DCC_CCC_AI || f->region == DCC_CCC_AD)
			f->in_a = true;
		if (f->region == DCC_CCC_AI) {
			u32 step_q30 = dcc_ccc_analytical_step(s, itv_ns);

			if (!k->params.paper)
				step_q30 = dcc_ccc_limit_step(s, step_q30);
			rate_q30 = f->rate_q30 + step_q30;
		} else {
			f->braked = true;
			rate_q30 = dcc_ccc_probe_down(s, itv_q24, irr_q30, over_q24);
		}
	}
	dcc_ccc_set_rate(s, dcc_sub_sat_u32(rate_q30, dcc_ccc_drift(s, irr_q30, itv_q24)));
}

/* True when a decision was made and out set: at each acknowledgment with an RTT of its own. */
static inline bool dcc_ccc_ack(struct dcc_ccc *s, const struct dcc_path *path,
			       const struct dcc_ccc_params *p, const struct dcc_ack *ack,
			       struct dcc_control *out)
{
	struct dcc_ccc_flow *f = &s->flow;
	bool changed = false;
	u32 itv_ns;

	if (ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))
		return false;
	if (DCC_UNLIKELY(dcc_ccc_stale(&s->scale, path, p))) {
		DCC_BPF_SUBPROG(dcc_ccc_derive)(&s->scale, path, p);
		/* The share is still the best guess, within the new limits. */
		dcc_ccc_set_rate(s, f->rate_q30);
		dcc_ccc_control(s, out);
		changed = true;
	}

	f->q_ns = dcc_sub_sat_u32(ack->rtt_ns, s->scale.base_ns);
	if (DCC_LIKELY(f->have_rtt && ack->now_ns >= f->ack_ns)) {
		itv_ns = dcc_sat_u32(ack->now_ns - f->ack_ns);
		/* Two acknowledgments at once: the next one's interval covers both. */
		if (!itv_ns)
			return changed;
		dcc_ccc_update_gradient(s, ack->rtt_ns, itv_ns);
	} else {
		/* The first one, or the clock went back. */
		f->have_rtt = true;
		f->empty = false;
		f->gradient_q16 = 0;
		itv_ns = s->scale.base_ns;
	}
	f->ack_ns = ack->now_ns;
	f->rtt_ns = ack->rtt_ns;
	dcc_ccc_update_spacing(s, itv_ns, ack->acked_bytes);
	DCC_BPF_SUBPROG(dcc_ccc_adjust)(s, ack->now_ns, itv_ns);
	dcc_ccc_control(s, out);
	return true;
}

/*
 * A loss was found at now_ns.  out is set in any case.  A queue that overflows has shown its delay
 * before, and that has been answered.
 */
static inline void dcc_ccc_loss(struct dcc_ccc *s, const struct dcc_path *path,
				const struct dcc_ccc_params *p, u64 now_ns,
				struct dcc_control *out)
{
	(void)path;
	(void)p;
	(void)now_ns;
	dcc_ccc_control(s, out);
}

/* A retransmission timeout: TCP's loss window, one packet. */
static inline void dcc_ccc_rto(struct dcc_ccc *s, const struct dcc_path *path,
			       const struct dcc_ccc_params *p, u64 now_ns,
			       struct dcc_control *out)
{
	struct dcc_ccc_flow *f = &s->flow;

	(void)path;
	(void)p;
	(void)now_ns;
	f->region = DCC_CCC_RTO;
	f->doublings = 0;
	f->empty = false;
	dcc_ccc_set_rate(s, dcc_min_u32(f->rate_q30, s->scale.step_q30));
	dcc_ccc_set_basis(f, dcc_min_u32(f->basis_q30, f->rate_q30));
	dcc_ccc_control(s, out);
}

#endif /* DCC_CCC_H */

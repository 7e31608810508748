/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * theta-PowerTCP: a window from the power of the delay signal (NSDI 2022,
 * Algorithm 2).
 *
 * The control loop
 *   Power is current times voltage: the rate at which all flows together send,
 *   times the bytes that are on their way.  Over that of a full link without a
 *   queue (tau is the base RTT, theta the RTT, theta' its slope over time),
 *     power = (theta' + 1) * theta / tau,
 *   since theta' + 1 is the arrival rate and theta / tau the bytes in flight.
 *   Each acknowledgment takes its sample into a mean over tau; once per RTT the
 *   window becomes
 *     w = gamma * (w_old / power + beta) + (1 - gamma) * w,
 *   w_old being the window when the acknowledged packet was sent, and the pace
 *   w / tau.  Above the line rate or with a queue the power is above 1 and all
 *   flows shrink by it at once; beta makes their shares equal in time, and leaves
 *   a queue of the sum of the flows' betas.  An idle link has a power of 1 like a
 *   full one without a queue, so only beta finds its bandwidth.
 *
 *   acknowledgment -> power -> (once per RTT) window -> control
 *
 * Differences from the paper
 *   1. current = theta' + 1 is at least 0.5 (parameter min_current_ppm; 1000 is
 *      in effect as printed).  Packets that leave a burst of others behind them
 *      bring slopes below -1, and a negative power would grow the window without
 *      end; the authors' simulator has the same floor.
 *   2. The window is at most one base BDP, as the rate in the authors' simulator is
 *      at most the host's.  The listing has no bound, and beta alone would
 *      stand as a queue before a lone flow.
 *   3. "Once per RTT" is by send time: a window is set by the first acknowledgment
 *      of a packet sent after the one before was.  The listing compares sequence
 *      numbers, to the same effect.  It follows that w_old is always the window
 *      in force, and none is remembered.
 *   4. A gap of more than tau between two acknowledgments counts as tau in the mean
 *      (its weight would pass 1); the slope is over the true gap.  Samples within
 *      tau / 4096 of the one before are not taken: such a difference has no usable slope.
 *   5. beta is HostBw * tau / N with N = 64 by default (parameters flows and
 *      beta_bytes).  The paper gives the formula, not the number.
 *   6. Samples are capped at a current of 256 and a voltage of 32768.
 *   7. Loss, which the paper's lossless fabric does not have: half the window, once
 *      per RTT by the rule of 3; after a timeout one packet.
 *   8. A flow starts, and starts again after idle time, with one base BDP at line
 *      rate, as the paper's do.
 */
#ifndef DCC_THETAPOWERTCP_H
#define DCC_THETAPOWERTCP_H

#include "dcc_cc.h"
#include "dcc_math.h"

/* Windows inside, in packets. */
#define DCC_THETAPOWERTCP_CWND_SHIFT 24
#define DCC_THETAPOWERTCP_CWND_ONE 16777216ULL

/* Parameters, with their ranges. */
#define DCC_THETAPOWERTCP_GAMMA_MIN_PPM 1000U
#define DCC_THETAPOWERTCP_PPM_MAX 1000000U
#define DCC_THETAPOWERTCP_BETA_MAX_BYTES 100000000U
#define DCC_THETAPOWERTCP_FLOWS_MAX 1000000U
#define DCC_THETAPOWERTCP_CURRENT_MIN_PPM 1000U

#define DCC_THETAPOWERTCP_GAMMA_PPM 900000U
#define DCC_THETAPOWERTCP_FLOWS 64U
#define DCC_THETAPOWERTCP_MIN_CURRENT_PPM 500000U

/* One packet in 256 RTTs; beta keeps real windows far above it. */
#define DCC_THETAPOWERTCP_CWND_MIN (DCC_THETAPOWERTCP_CWND_ONE / 256)
/* More full packets than the 1 GB that TCP's sequence numbers allow in flight. */
#define DCC_THETAPOWERTCP_CWND_MAX (DCC_THETAPOWERTCP_CWND_ONE * 2097152)

/* Power, Q24.  With the caps of difference 6 the products below stay within 64 bits. */
#define DCC_THETAPOWERTCP_CURRENT_MAX 256U
#define DCC_THETAPOWERTCP_VOLTAGE_MAX 32768U
#define DCC_THETAPOWERTCP_POWER_MAX ((u64)DCC_THETAPOWERTCP_VOLTAGE_MAX << DCC_RATIO_SHIFT)
/* A base RTT that is set too long makes a small power; the window then is its cap. */
#define DCC_THETAPOWERTCP_POWER_MIN (DCC_RATIO_ONE / 256)

/* Scale of 1 / tau: 256 tau times it is below 2^63; and with fewer digits, 2^15 tau. */
#define DCC_THETAPOWERTCP_TAU_SHIFT 55
#define DCC_THETAPOWERTCP_TAU_SHORT 7
/* Two samples are at least tau >> 12 apart. */
#define DCC_THETAPOWERTCP_APART_SHIFT 12

/* The rule that decided, for tracing. */
enum dcc_thetapowertcp_branch {
	DCC_THETAPOWERTCP_START = 0,  /* no decision yet, or restarted */
	DCC_THETAPOWERTCP_UPDATE = 1, /* the window was set */
	DCC_THETAPOWERTCP_CAP = 2,    /* the same, to one base BDP */
	DCC_THETAPOWERTCP_LOSS = 3,
	DCC_THETAPOWERTCP_RTO = 4,
};

struct dcc_thetapowertcp_params {
	u32 gamma_ppm;	     /* weight of a new window */
	u32 beta_bytes;	     /* additive increase; 0: base BDP / flows */
	u32 flows;	     /* N that beta reckons with */
	u32 min_current_ppm; /* floor of theta' + 1 */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_thetapowertcp_decision {
	u32 delay_ns;
	s32 gradient_q16; /* theta' of the newest sample */
	u64 power_q24;
	u32 branch; /* enum dcc_thetapowertcp_branch */
};

struct dcc_thetapowertcp {
	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_thetapowertcp_params params;
	u64 per_tau_q55; /* 1 / tau */
	u64 rate_per_packet_bps; /* of one packet in tau */
	u64 beta_q24;
	u64 bdp_q24;
	u64 line_rate_bps;
	u32 tau_ns;
	u32 target_ns;	 /* the queue before a flow alone: beta's time on the line */
	u32 apart_ns;	 /* between two samples, at least */
	u32 gamma_q24;
	u32 min_current_q24;

	/* The flow. */
	u64 cwnd_q24;
	u64 power_q24;	 /* smoothed */
	u64 sample_ns;	 /* when the newest sample came; 0: none yet */
	u64 updated_ns;	 /* when the window was last set */
	u64 rise_ns;	 /* (theta' + 1) dt of the newest sample, and dt */
	u32 dt_ns;
	u32 sample_rtt_ns;
	struct dcc_thetapowertcp_decision last;
};

static_assert(sizeof(struct dcc_thetapowertcp) <= 256, "state is one object of at most 256 bytes");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_THETAPOWERTCP_PARAMS(X)                                                             \
	X(gamma_ppm, DCC_THETAPOWERTCP_GAMMA_MIN_PPM, DCC_THETAPOWERTCP_PPM_MAX, false)         \
	X(beta_bytes, 1, DCC_THETAPOWERTCP_BETA_MAX_BYTES, true)                                \
	X(flows, 1, DCC_THETAPOWERTCP_FLOWS_MAX, false)                                         \
	X(min_current_ppm, DCC_THETAPOWERTCP_CURRENT_MIN_PPM, DCC_THETAPOWERTCP_PPM_MAX, false)

static inline void dcc_thetapowertcp_params_default(struct dcc_thetapowertcp_params *p)
{
	p->gamma_ppm = DCC_THETAPOWERTCP_GAMMA_PPM;
	p->beta_bytes = 0;
	p->flows = DCC_THETAPOWERTCP_FLOWS;
	p->min_current_ppm = DCC_THETAPOWERTCP_MIN_CURRENT_PPM;
}

static inline bool dcc_thetapowertcp_params_valid(const struct dcc_thetapowertcp_params *p)
{
	return DCC_THETAPOWERTCP_PARAMS(DCC_PARAM_FITS) true;
}

static inline bool dcc_thetapowertcp_stale(const struct dcc_thetapowertcp *s,
					   const struct dcc_path *path,
					   const struct dcc_thetapowertcp_params *p)
{
	return !dcc_same_path(&s->path, path) || !dcc_same(&s->params, p, sizeof(*p));
}

/*
 * Everything that depends on path and parameters only.  Values outside their
 * ranges are cut to them: a core must not fail.
 */
static inline void dcc_thetapowertcp_derive(struct dcc_thetapowertcp *s,
					    const struct dcc_path *path,
					    const struct dcc_thetapowertcp_params *p)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u32 wire = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				 DCC_PATH_WIRE_MAX_BYTES);
	u64 packet_bit_ns = wire * 8000000000ULL; /* < 2^49 */
	u32 flows = dcc_clamp_u32(p->flows, 1, DCC_THETAPOWERTCP_FLOWS_MAX);

	s->path = *path;
	s->params = *p;
	s->line_rate_bps = rate;
	s->tau_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	s->apart_ns = dcc_max_u32(s->tau_ns >> DCC_THETAPOWERTCP_APART_SHIFT, 1);
	s->per_tau_q55 = dcc_div_u64(1ULL << DCC_THETAPOWERTCP_TAU_SHIFT, s->tau_ns);
	s->rate_per_packet_bps = dcc_div_u64(packet_bit_ns, s->tau_ns);

	s->bdp_q24 = dcc_muldiv_u64(rate, (u64)s->tau_ns << DCC_THETAPOWERTCP_CWND_SHIFT,
				    packet_bit_ns);
	s->bdp_q24 = dcc_clamp_u64(s->bdp_q24, DCC_THETAPOWERTCP_CWND_MIN,
				   DCC_THETAPOWERTCP_CWND_MAX);
	if (p->beta_bytes)
		s->beta_q24 = dcc_div_u64((u64)dcc_min_u32(p->beta_bytes,
							   DCC_THETAPOWERTCP_BETA_MAX_BYTES)
					  << DCC_THETAPOWERTCP_CWND_SHIFT, wire);
	else
		s->beta_q24 = dcc_div_u64(s->bdp_q24, flows);
	s->target_ns = dcc_max_u32(dcc_sat_u32(dcc_muldiv_u64(s->tau_ns, s->beta_q24, s->bdp_q24)),
				   1);

	s->gamma_q24 = dcc_ppm_to_q24(dcc_clamp_u32(p->gamma_ppm, DCC_THETAPOWERTCP_GAMMA_MIN_PPM,
						    DCC_THETAPOWERTCP_PPM_MAX));
	s->min_current_q24 = dcc_ppm_to_q24(dcc_clamp_u32(p->min_current_ppm,
							  DCC_THETAPOWERTCP_CURRENT_MIN_PPM,
							  DCC_THETAPOWERTCP_PPM_MAX));
}

static inline void dcc_thetapowertcp_control(const struct dcc_thetapowertcp *s,
					     struct dcc_control *out)
{
	/* The window is at most a BDP, so this is at most the line rate: 2^64 just holds it. */
	u64 rate = (s->cwnd_q24 * s->rate_per_packet_bps) >> DCC_THETAPOWERTCP_CWND_SHIFT;

	if (s->cwnd_q24 >= s->bdp_q24)
		rate = s->line_rate_bps;
	out->cwnd_q16 = s->cwnd_q24 >> (DCC_THETAPOWERTCP_CWND_SHIFT - DCC_WINDOW_SHIFT);
	out->pacing_bps = dcc_max_u64(dcc_min_u64(rate, s->line_rate_bps), 1000);
	out->probe_ns = 0;
	out->target_ns = s->target_ns;
	out->has_levels = 0;
}

/* A new window, in force from now_ns on. */
static inline void dcc_thetapowertcp_set(struct dcc_thetapowertcp *s, u64 now_ns, u64 cwnd_q24,
					 u32 branch)
{
	if (cwnd_q24 >= s->bdp_q24 && branch == DCC_THETAPOWERTCP_UPDATE)
		branch = DCC_THETAPOWERTCP_CAP;
	s->cwnd_q24 = dcc_clamp_u64(cwnd_q24, DCC_THETAPOWERTCP_CWND_MIN,
				    dcc_max_u64(s->bdp_q24, DCC_THETAPOWERTCP_CWND_MIN));
	s->updated_ns = now_ns;
	s->last.branch = branch;
}

/* One base BDP, no history. */
static inline void dcc_thetapowertcp_start(struct dcc_thetapowertcp *s, u64 now_ns)
{
	s->power_q24 = DCC_RATIO_ONE;
	s->sample_ns = 0;
	s->sample_rtt_ns = s->tau_ns;
	s->rise_ns = s->tau_ns;
	s->dt_ns = s->tau_ns;
	s->last.delay_ns = s->tau_ns;
	s->last.gradient_q16 = 0;
	s->last.power_q24 = DCC_RATIO_ONE;
	dcc_thetapowertcp_set(s, now_ns, s->bdp_q24, DCC_THETAPOWERTCP_START);
}

static inline void dcc_thetapowertcp_init(struct dcc_thetapowertcp *s, const struct dcc_path *path,
					  const struct dcc_thetapowertcp_params *p,
					  struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_thetapowertcp_derive)(s, path, p);
	dcc_thetapowertcp_start(s, 0);
	dcc_thetapowertcp_control(s, out);
}

/* After an idle period, or on another path: as a new flow. */
static inline void dcc_thetapowertcp_restart(struct dcc_thetapowertcp *s,
					     const struct dcc_path *path,
					     const struct dcc_thetapowertcp_params *p, u64 now_ns,
					     struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_thetapowertcp_derive)(s, path, p);
	dcc_thetapowertcp_start(s, now_ns);
	dcc_thetapowertcp_control(s, out);
}

/*
 * NORMPOWER.  The new sample's part of the mean, (theta' + 1) * theta / tau * dt / tau,
 * needs no division by dt: (theta' + 1) * dt is what the RTT grew by, plus dt.
 */
static inline void dcc_thetapowertcp_measure(struct dcc_thetapowertcp *s,
					     const struct dcc_ack *ack)
{
	u64 gap_ns = ack->now_ns - s->sample_ns;
	u64 dt_ns = gap_ns, before_ns = s->sample_rtt_ns;
	u64 rise_ns, dt_q24, rise_q24, voltage_q16, power_q24;

	if (DCC_UNLIKELY(!s->sample_ns || ack->now_ns < s->sample_ns)) {
		/* The first one, or the clock went back. */
		s->sample_ns = dcc_max_u64(ack->now_ns, 1);
		s->sample_rtt_ns = ack->rtt_ns;
		return;
	}
	if (gap_ns < s->apart_ns)
		return;
	s->sample_ns = ack->now_ns;
	s->sample_rtt_ns = ack->rtt_ns;

	/* (theta' + 1) dt = RTT + dt - RTT before; as 0 where that is negative. */
	rise_ns = dcc_sub_sat_u64(ack->rtt_ns + dcc_min_u64(gap_ns, 1ULL << 62), before_ns);
	dt_q24 = (gap_ns * s->per_tau_q55) >> (DCC_THETAPOWERTCP_TAU_SHIFT - DCC_RATIO_SHIFT);
	if (DCC_UNLIKELY(gap_ns >= s->tau_ns)) {
		rise_ns = dcc_muldiv_u64(rise_ns, s->tau_ns, gap_ns);
		dt_ns = s->tau_ns;
		dt_q24 = DCC_RATIO_ONE;
	}
	rise_ns = dcc_min_u64(rise_ns, dt_ns * DCC_THETAPOWERTCP_CURRENT_MAX);
	s->rise_ns = rise_ns;
	s->dt_ns = (u32)dt_ns;

	rise_q24 = (rise_ns * s->per_tau_q55) >> (DCC_THETAPOWERTCP_TAU_SHIFT - DCC_RATIO_SHIFT);
	rise_q24 = dcc_max_u64(rise_q24, (dt_q24 * s->min_current_q24) >> DCC_RATIO_SHIFT);
	voltage_q16 = (dcc_min_u64(ack->rtt_ns,
				   (u64)s->tau_ns * (DCC_THETAPOWERTCP_VOLTAGE_MAX - 1)) *
		       (s->per_tau_q55 >> DCC_THETAPOWERTCP_TAU_SHORT)) >>
		      (DCC_THETAPOWERTCP_TAU_SHIFT - DCC_THETAPOWERTCP_TAU_SHORT - 16);
	/* < 2^39 * 2^24, and < 2^32 * 2^31 */
	power_q24 = ((s->power_q24 * (DCC_RATIO_ONE - dt_q24)) >> DCC_RATIO_SHIFT) +
		    ((rise_q24 * voltage_q16) >> 16);
	s->power_q24 = dcc_clamp_u64(power_q24, DCC_THETAPOWERTCP_POWER_MIN,
				     DCC_THETAPOWERTCP_POWER_MAX);
}

/* UPDATEWINDOW, with what the tracepoint shows. */
static inline void dcc_thetapowertcp_update(struct dcc_thetapowertcp *s, u64 now_ns)
{
	u64 target_q24 = dcc_add_sat_u64(dcc_muldiv_u64(s->cwnd_q24, DCC_RATIO_ONE, s->power_q24),
					 s->beta_q24);

	target_q24 = dcc_min_u64(target_q24, DCC_THETAPOWERTCP_CWND_MAX);
	s->last.delay_ns = s->sample_rtt_ns;
	s->last.gradient_q16 = (s32)dcc_div_u64(s->rise_ns << 16, s->dt_ns) - (1 << 16);
	s->last.power_q24 = s->power_q24;
	dcc_thetapowertcp_set(s, now_ns,
			      dcc_scale_q24(target_q24, s->gamma_q24) +
			      dcc_scale_q24(s->cwnd_q24, DCC_RATIO_ONE - s->gamma_q24),
			      DCC_THETAPOWERTCP_UPDATE);
}

/* Algorithm 2.  True when a decision was made and out set. */
static inline bool dcc_thetapowertcp_ack(struct dcc_thetapowertcp *s, const struct dcc_path *path,
					 const struct dcc_thetapowertcp_params *p,
					 const struct dcc_ack *ack, struct dcc_control *out)
{
	if (DCC_UNLIKELY(ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)))
		return false;
	dcc_thetapowertcp_measure(s, ack);
	/* The clock went back if the last update is in the future. */
	if (DCC_LIKELY(!dcc_round_over(ack, s->updated_ns)))
		return false;
	if (DCC_UNLIKELY(dcc_thetapowertcp_stale(s, path, p)))
		DCC_BPF_SUBPROG(dcc_thetapowertcp_derive)(s, path, p);
	dcc_thetapowertcp_update(s, ack->now_ns);
	dcc_thetapowertcp_control(s, out);
	return true;
}

/* A loss was found at now_ns.  out is set in any case. */
static inline void dcc_thetapowertcp_loss(struct dcc_thetapowertcp *s, const struct dcc_path *path,
					  const struct dcc_thetapowertcp_params *p, u64 now_ns,
					  struct dcc_control *out)
{
	(void)path;
	(void)p;
	/* Within an RTT of the last update or loss what was lost was sent before it. */
	if (now_ns - s->updated_ns >= s->sample_rtt_ns ||
	    s->last.branch != DCC_THETAPOWERTCP_LOSS)
		dcc_thetapowertcp_set(s, now_ns, s->cwnd_q24 / 2, DCC_THETAPOWERTCP_LOSS);
	dcc_thetapowertcp_control(s, out);
}

/* A retransmission timeout: TCP's loss window, one packet. */
static inline void dcc_thetapowertcp_rto(struct dcc_thetapowertcp *s, const struct dcc_path *path,
					 const struct dcc_thetapowertcp_params *p, u64 now_ns,
					 struct dcc_control *out)
{
	(void)path;
	(void)p;
	dcc_thetapowertcp_set(s, now_ns, dcc_min_u64(s->cwnd_q24, DCC_THETAPOWERTCP_CWND_ONE),
			      DCC_THETAPOWERTCP_RTO);
	dcc_thetapowertcp_control(s, out);
}

#endif /* DCC_THETAPOWERTCP_H */

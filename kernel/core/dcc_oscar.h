/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: one-step convergence from delay and its gradient.
 *
 * The control loop
 *   A flow is one number, the ratio u in (0, 1]: its share of the bottleneck.
 *   Window and pacing rate both follow from it,
 *     window = min(u * D_target * mu, base BDP),   rate = u * mu,
 *   mu being the line rate, so that the flows of a bottleneck are in balance
 *   when their ratios add up to 1: the windows then hold D_target - base RTT of
 *   queue and the rates fill the link exactly.  (One flow alone has u = 1, the
 *   cap of one BDP, and no queue at all.)
 *
 *   Delay and gradient each tell how far the sum is from 1, in complementary
 *   situations.  When windows limit the senders, delay = sum of windows / mu:
 *   a flow that had w bytes in flight belongs at
 *     u_w = w / (delay * mu).
 *   When pacing limits them and the queue is busy, gradient = sum of rates / mu
 *   - 1: a flow that sent at r belongs at
 *     u_r = r / ((1 + gradient) * mu).
 *   Where a signal is imprecise it errs to the timid side, so the larger ratio
 *   is right to accelerate, the smaller one to brake.  Both are one step, not a
 *   search: every flow multiplies by the same factor, computed from what it
 *   was doing when the very packets that carry the signal were sent.  That is
 *   why a decision does not over-react to queues built before the last one.
 *   A small constant U_AI after every step makes shares equal in time; with an
 *   empty queue neither signal exists, and u grows by U_HAI a batch.
 *
 *   acknowledgment -> dcc_batch (about tau of packets) -> law -> u -> verdict
 *
 * The laws (parameter "law")
 *   DCC_OSCAR_LAW_PAPER    Algorithms 1 and 2 as printed, but for the list below.
 *   DCC_OSCAR_LAW_AI       the listing with the facts of the authors' simulator (dead band,
 *                          limits), an unbiased send rate, batches that start anew after a
 *                          pause, and a large U_HAI.
 *   DCC_OSCAR_LAW_TRACKER  the same estimator; near the target only the window loop acts, and
 *                          a tracker of falling queues hands the flow the link's idle share
 *                          at the very acknowledgment that shows the queue empty.
 *   DCC_OSCAR_LAW_PULSE    the default.  The tracker's idea with spans and conditions that
 *                          many small flows do not fool, and pulses in place of blind growth:
 *                          an empty queue carries no signal, so the flow makes one, by sending
 *                          at twice its rate for a quarter of a base RTT and reading the slope
 *                          that this causes.  A wrong guess then costs a quarter of an RTT of
 *                          excess, not the RTT + tau that pass before growth can be judged.
 *   To add one: a function like dcc_oscar_law_ai() and a line in dcc_oscar_decide().
 *
 * Differences from the paper
 *   1. Algorithm 2, line 12 prints max(u * D_target * mu, BDP).  The prose ("does not set the
 *      window above the base BDP") wants min, and max would give every flow of an incast a
 *      full BDP.
 *   2. "delay == RTT_base" is "delay <= RTT_base + 1 us": no measured delay is ever equal.
 *      The paper calls this epsilon without a value; below 4 us of queue target a quarter of
 *      that target.
 *   3. u is capped at 1 and floored at 2^-14, the gradient floored at -0.9: a sum of rates
 *      below a tenth of the line cannot be told from an empty queue's noise.
 *   4. A batch wider than 3 tau, or with pauses that its flow makes all the time, has no
 *      gradient and no rate; u_w alone decides.  (One line through several states of the
 *      network is none.)
 *   5. Laws 1 and 2: rate is the bytes after the batch's first packet over first..last.
 *      n * MTU over n - 1 intervals reads up to 1.5 times too high at n = 3.
 *   6. Laws 1 and 2: a batch starts anew behind a pause in sending (dcc_batch.h).  Across a
 *      pause the rate reads low, and the flow gives its share away.
 *   7. Laws 1 and 2: within 0.5 us below D_target they brake (min), not accelerate: around
 *      the target noise would otherwise choose the larger of two noisy ratios.
 *   8. Reference state (inflight, rate) is kept by the sender, not carried in headers, and is
 *      in bytes, so acknowledgment coalescing needs no counts from the receiver.
 *   9. The paper has no loss handling.  Here: at most once per RTT, and not again before a
 *      decision on packets sent after it, u falls to a half, or to 7/8 when the delay is
 *      below target (then the queue is not what dropped the packet, unless the buffer is
 *      shallow).  With an empty queue u stays: the loss was not congestion, and U_HAI = 0.01
 *      could not make up for it.  A timeout leaves a window of one packet.
 *  10. Packets sent while the application had too little to send say nothing of what the flow
 *      could do: below target they leave u as it is, above it u is scaled by D_target /
 *      delay from the ratio in force, not from the bytes in flight.
 *  11. Windows below one packet are allowed (the caller paces below one packet per RTT): with
 *      a floor of one packet, 1000 flows stand at 1.4 MB instead of the paper's 900 KB.
 *  12. The rules of laws 2 and 3 have no counterpart in the paper; they are explained where
 *      they stand.  Law 3 does not use U_HAI: pulses take its place.
 *  13. Law 3: U_AI counts once per tau since the reference state, up to three times, not once
 *      per decision.  The reference is about three decisions old; what was added since is not
 *      in it, and shares would become equal three times slower than U_AI per tau promises.
 *      And it is up to 3.3 times as much for the shares of few flows, most at a sixth of the
 *      line (dcc_oscar_ai_step()): six flows that come and go every 2 ms have a Jain index of
 *      0.99 after 494 us, in every one of 24 trials before the next change; with U_AI alone
 *      after more than 1259, and in none of them.  Three times U_AI for all does it in 664,
 *      but holds the queue of ten flows at 84 KB and of 200 at 311 (80 and 198 with this rule).
 *      Also tried: a target queue that grows with log2(1 / u), 544 us at 82.5 KB, 658 at 80.7;
 *      flows that remember their share and judge the newcomers' number by the peak of the
 *      delay, 850, with unequal shares that stayed in five of six trials.
 *  14. Law 3: bytes in flight within a packet of what window or pacing allowed are taken as
 *      exactly that.  Whole packets are too coarse for U_AI = 0.001 to survive u_w.
 *  15. Law 3: what a fall promises is exceeded by a sixteenth to a quarter, more the fewer of
 *      the flow's packets there are in the time that the queue takes to drain, and by up to
 *      four times of it when they are too few for any slope (dcc_oscar_margin_q24()).
 */
#ifndef DCC_OSCAR_H
#define DCC_OSCAR_H

#include "dcc_batch.h"
#include "dcc_cc.h"
#include "dcc_math.h"

#define DCC_OSCAR_LAW_PAPER 0
#define DCC_OSCAR_LAW_AI 1
#define DCC_OSCAR_LAW_TRACKER 2
#define DCC_OSCAR_LAW_PULSE 3
#define DCC_OSCAR_LAW_MAX 3

/* Parameters, with their ranges; section 4.4 "Parameters" for the first four. */
#define DCC_OSCAR_TARGET_MIN_NS 2000U
#define DCC_OSCAR_TARGET_MAX_NS 2000000000U
#define DCC_OSCAR_QUEUE_MIN_NS 500U
#define DCC_OSCAR_QUEUE_MAX_NS 1000000000U
#define DCC_OSCAR_TAU_MIN_NS 500U
#define DCC_OSCAR_TAU_MAX_NS 1000000000U
#define DCC_OSCAR_U_AI_MAX_PPM 100000U
#define DCC_OSCAR_U_HAI_MAX_PPM 1000000U
#define DCC_OSCAR_U_AI_PPM 1000U
#define DCC_OSCAR_U_HAI_PPM 10000U     /* laws 0 and 2 */
#define DCC_OSCAR_U_HAI_AI_PPM 250000U /* law 1 has no other means to find an idle link */

/*
 * 1/16384 of the line.  U_AI keeps real ratios far above it (0.001); it only
 * has to be small enough not to matter in an incast of thousands.
 */
#define DCC_OSCAR_RATIO_MIN (DCC_RATIO_ONE >> 14)

/* Noise of one mean delay; each is cut to a share of the queue target on short paths. */
#define DCC_OSCAR_EMPTY_NS 1000U /* above base RTT and still "no queue" */
#define DCC_OSCAR_BAND_NS 500U   /* dead band below D_target */
#define DCC_OSCAR_NEAR_NS 700U   /* law 2: "at the target" */

/* A pause: 2.5 pacing intervals at the current ratio, and at least tau / 4. */
#define DCC_OSCAR_GAP_HALF_PACKETS 5

/* Law 2, near the target: |gradient| below 0.25. */
#define DCC_OSCAR_NEAR_GRADIENT_Q16 16384

/* Law 2, the fall tracker. */
#define DCC_OSCAR_POINTS 8	   /* ring of samples; a power of two */
#define DCC_OSCAR_POINTS_BACK 4	   /* law 2 spans this many of them */
#define DCC_OSCAR_POINTS_PER_TAU 10
#define DCC_OSCAR_FALL_NS 600U	   /* smallest drop worth a slope */
#define DCC_OSCAR_RISE_NS 500U	   /* a rise that says the fall is over */

/*
 * Law 3.  A slope is read over a drop of at least 0.4 of the target's queue: a
 * flow of ten sees its others as whole packets, a tenth of that drop each, and
 * shorter spans promise several times what is there.
 */
#define DCC_OSCAR_SPAN_POINTS_PER_TAU 6 /* thins the ring to 8/6 tau at any rate */
#define DCC_OSCAR_NEAR_PULSE_GRADIENT_Q16 9830 /* |gradient| below 0.15 */
#define DCC_OSCAR_AI_STEPS 3
#define DCC_OSCAR_AI_RISE 14 /* the additive step in U_AI: 1 + 14 u, and */
#define DCC_OSCAR_AI_FEW 5   /* 5 - 10 u, the smaller; at least 1 */
#define DCC_OSCAR_MARGIN_MIN (DCC_RATIO_ONE / 16) /* on top of what a fall promises */
#define DCC_OSCAR_MARGIN_SURE (DCC_RATIO_ONE / 4)
#define DCC_OSCAR_EXCESS_SHIFT 5 /* the mean excess is that of 32 decisions or so */
#define DCC_OSCAR_PULSE_PACKETS 4 /* fewer have no slope worth the name */

#define DCC_OSCAR_RATIOS 8 /* ring of past ratios: 4 RTT at tau = RTT / 2; a power of two */

/* The rule that decided, for tracing. */
enum dcc_oscar_branch {
	DCC_OSCAR_START = 0,	   /* no decision yet, or restarted */
	DCC_OSCAR_EMPTY = 1,	   /* no queue: + U_HAI */
	DCC_OSCAR_UP_WINDOW = 2,   /* below target, u_w the larger */
	DCC_OSCAR_UP_RATE = 3,	   /* below target, u_r the larger */
	DCC_OSCAR_DOWN_WINDOW = 4, /* above target, u_w the smaller */
	DCC_OSCAR_DOWN_RATE = 5,   /* above target, u_r the smaller */
	DCC_OSCAR_APP_LIMITED = 6, /* the application was the limit */
	DCC_OSCAR_NEAR = 7,	   /* law 2: at the target */
	DCC_OSCAR_KEEP = 8,	   /* law 2: older than the last rise, may not undo it */
	DCC_OSCAR_EMPTY_BOOST = 9, /* law 2: no queue a feedback after the last rise */
	DCC_OSCAR_REFILL = 10,	   /* laws 2, 3: the tracked fall reached an empty queue */
	DCC_OSCAR_LOSS = 11,
	DCC_OSCAR_RTO = 12,
	DCC_OSCAR_PULSE_BEGIN = 13, /* law 3: no queue, a pulse begins; u as it was */
	DCC_OSCAR_PULSE_END = 14,   /* law 3: back to u, the echo is awaited */
	DCC_OSCAR_PULSE_FREE = 15,  /* law 3: the pulse met no queue: u is what it sent at */
	DCC_OSCAR_PULSE_SHARE = 16, /* law 3: the pulse met others: u is the share it measured */
	DCC_OSCAR_DRAIN = 17,	    /* law 3: the queue is long, but cut for; u as it was */
};

enum dcc_oscar_pulse {
	DCC_OSCAR_PULSE_NONE = 0,
	DCC_OSCAR_PULSE_SENDING = 1,
	DCC_OSCAR_PULSE_AWAITED = 2,
};

struct dcc_oscar_params {
	u32 target_delay_ns; /* D_target as an RTT; 0: base RTT + target_queue_ns */
	u32 tau_ns;	     /* span of a batch; 0: half a base RTT */
	u32 u_ai_ppm;	     /* 0 .. 100000 */
	u32 u_hai_ppm;	     /* 1 .. 1000000; 0: the law's own default */
	u32 law;	     /* DCC_OSCAR_LAW_* */
	u32 target_queue_ns; /* of D_target, what is above the base RTT; 0: half a base RTT */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_oscar_decision {
	u32 delay_ns;
	s32 gradient_q16;
	u32 u_q24;
	u32 branch; /* enum dcc_oscar_branch */
};

struct dcc_oscar {
	struct dcc_batch batch;

	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_oscar_params params;
	u64 byte_ns_q24;      /* time of one byte on the line; u_w and u_r need only this */
	u64 target_window_q16; /* D_target * mu in packets */
	u64 bdp_window_q16;    /* base RTT * mu in packets */
	u64 packet_ns_q24;     /* time of a full packet on the line */
	u32 base_ns;
	u32 target_ns;
	u32 tau_ns;
	u32 empty_ns; /* delays up to here are an empty queue */
	u32 band_ns;
	u32 near_ns;
	u32 high_ns; /* a delay that the control loop is still working on: 1.125 D_target */
	u32 fall_ns; /* law 3: smallest drop worth a slope */
	u32 thin_ns; /* law 3: between two points of the ring */
	u32 u_ai_q24;
	u32 u_hai_q24;

	/* The flow. */
	u32 u_q24;
	u64 loss_ns;	       /* last reaction to a loss */
	u8 loss_holds;	       /* no decision since then */
	u8 ratio_head;
	u8 point_head;
	struct dcc_oscar_decision last;
	u64 ratio_since_ns[DCC_OSCAR_RATIOS];
	u32 ratio_q24[DCC_OSCAR_RATIOS];

	/* Laws 2 and 3. */
	u64 raised_ns;	      /* "t_up": when u last rose on an empty queue */
	u64 high_send_ns;     /* last packet that saw a delay above 1.125 D_target */
	u64 best_ns;
	u32 best_q24;	      /* share that the falling queue promises; 0: none */
	u32 delivered_bytes;  /* modulo 2^32; only differences over less than tau are used */
	u64 point_send_ns[DCC_OSCAR_POINTS];
	u32 point_delay_ns[DCC_OSCAR_POINTS];
	u32 point_delivered[DCC_OSCAR_POINTS];

	/* Law 3. */
	u64 sent_ns;	      /* send time of the newest sample */
	s64 excess_ns;	      /* 32 times the mean delay above target, while near it */
	u64 decided_ns;	      /* when the last batch closed */
	u64 cut_ns;	      /* last cut because of a long queue */
	u64 drained_ns;	      /* when that queue can have drained */
	u32 sample_ns;	      /* delay of the newest sample */
	u32 pulse_q24;	      /* ratio that the pulse sends at */
	u64 pulse_from_ns;
	u64 pulse_to_ns;      /* when it is to end; when it did, once awaited */
	u32 pulse_delay_ns;   /* of its newest packet */
	u64 point_due_ns;     /* send time from which on the next point is taken */
	u32 peak_ns;	      /* no delay in the ring, of those up to high_ns, is above it */
	u8 pulse;	      /* enum dcc_oscar_pulse */
	struct dcc_batch echo; /* its packets' delays */
};

static_assert(sizeof(struct dcc_oscar) <= 768, "state is one object of at most 768 bytes");

static inline void dcc_oscar_params_default(struct dcc_oscar_params *p)
{
	p->target_delay_ns = 0;
	p->tau_ns = 0;
	p->u_ai_ppm = DCC_OSCAR_U_AI_PPM;
	p->u_hai_ppm = 0;
	p->law = DCC_OSCAR_LAW_PULSE;
	p->target_queue_ns = 0;
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
	return p->u_ai_ppm <= DCC_OSCAR_U_AI_MAX_PPM && p->u_hai_ppm <= DCC_OSCAR_U_HAI_MAX_PPM &&
	       p->law <= DCC_OSCAR_LAW_MAX;
}

static inline bool dcc_oscar_stale(const struct dcc_oscar *s, const struct dcc_path *path,
				   const struct dcc_oscar_params *p)
{
	return !dcc_same_path(&s->path, path) || !dcc_same(&s->params, p, sizeof(*p));
}

/*
 * Everything that depends on path and parameters only.  Values outside their
 * ranges are cut to them: a core must not fail.
 */
static inline void dcc_oscar_derive(struct dcc_oscar *s, const struct dcc_path *path,
				    const struct dcc_oscar_params *p)
{
	u64 rate = dcc_clamp_u64(path->line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
	u32 wire = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				 DCC_PATH_WIRE_MAX_BYTES);
	u32 hai_ppm = p->u_hai_ppm;
	u32 queue_ns;

	s->path = *path;
	s->params = *p;
	s->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	queue_ns = p->target_queue_ns ?
		dcc_min_u32(p->target_queue_ns, DCC_OSCAR_QUEUE_MAX_NS) : s->base_ns / 2;
	s->target_ns = p->target_delay_ns ? p->target_delay_ns : s->base_ns + queue_ns;
	/* A target without a queue could never be told from an idle link. */
	s->target_ns = dcc_clamp_u32(s->target_ns, s->base_ns + s->base_ns / 8,
				     DCC_OSCAR_TARGET_MAX_NS);
	s->tau_ns = dcc_clamp_u32(p->tau_ns ? p->tau_ns : s->base_ns / 2, DCC_OSCAR_TAU_MIN_NS,
				  DCC_OSCAR_TAU_MAX_NS);

	queue_ns = s->target_ns - s->base_ns;
	s->empty_ns = s->base_ns + dcc_min_u32(DCC_OSCAR_EMPTY_NS, queue_ns / 4);
	s->band_ns = dcc_min_u32(DCC_OSCAR_BAND_NS, queue_ns / 8);
	s->near_ns = p->law == DCC_OSCAR_LAW_PULSE ? queue_ns / 3 :
						     dcc_min_u32(DCC_OSCAR_NEAR_NS, queue_ns / 8);
	s->high_ns = s->target_ns + s->target_ns / 8;
	s->fall_ns = queue_ns / 5 * 2;
	s->thin_ns = (s->tau_ns + DCC_OSCAR_SPAN_POINTS_PER_TAU - 1) /
		     DCC_OSCAR_SPAN_POINTS_PER_TAU;

	if (!hai_ppm)
		hai_ppm = p->law == DCC_OSCAR_LAW_AI ? DCC_OSCAR_U_HAI_AI_PPM : DCC_OSCAR_U_HAI_PPM;
	s->u_ai_q24 = dcc_ppm_to_q24(dcc_min_u32(p->u_ai_ppm, DCC_OSCAR_U_AI_MAX_PPM));
	s->u_hai_q24 = dcc_ppm_to_q24(dcc_min_u32(hai_ppm, DCC_OSCAR_U_HAI_MAX_PPM));

	/* 8e9 * 2^24 < 2^57; at 800 Gbit/s 167772 with an error below 6e-6. */
	s->byte_ns_q24 = dcc_div_u64(8000000000ULL << DCC_RATIO_SHIFT, rate);
	s->packet_ns_q24 = wire * s->byte_ns_q24; /* < 2^53 */
	s->target_window_q16 = dcc_muldiv_u64(s->target_ns, 1ULL << (24 + DCC_WINDOW_SHIFT),
					      s->packet_ns_q24);
	s->bdp_window_q16 = dcc_muldiv_u64(s->base_ns, 1ULL << (24 + DCC_WINDOW_SHIFT),
					   s->packet_ns_q24);
}

static inline void dcc_oscar_verdict(const struct dcc_oscar *s, struct dcc_verdict *out)
{
	u64 window = dcc_scale_q24(s->target_window_q16, s->u_q24);
	u64 rate = dcc_scale_q24(s->path.line_rate_bps, s->u_q24);

	if (DCC_UNLIKELY(s->pulse == DCC_OSCAR_PULSE_SENDING)) {
		/* The queue is empty: a base RTT of the pulse's rate is in flight, and slack. */
		rate = dcc_scale_q24(s->path.line_rate_bps, s->pulse_q24);
		window = dcc_max_u64(window, dcc_scale_q24(s->bdp_window_q16,
							   s->pulse_q24 + s->pulse_q24 / 2));
	}
	/* A window of one BDP already fills the link; more would only stand in the queue. */
	out->cwnd_q16 = dcc_max_u64(dcc_min_u64(window, s->bdp_window_q16), 1);
	out->pacing_bps = dcc_max_u64(rate, 1000);
	out->probe_ns = 0;
}

/* Pauses matter to the estimator from here on; the paper's own has no such rule. */
static inline void dcc_oscar_set_gap(struct dcc_oscar *s)
{
	/* Over u_q24 it is a time; compared as products, so that fast flows need no division. */
	u64 train_ns_q24 = (s->packet_ns_q24 >> 1) * DCC_OSCAR_GAP_HALF_PACKETS;
	u64 gap_ns = s->tau_ns / 4;

	if (s->params.law == DCC_OSCAR_LAW_PAPER) {
		s->batch.gap_ns = DCC_BATCH_NO_GAP;
		return;
	}
	s->batch.sparse = s->params.law == DCC_OSCAR_LAW_PULSE;
	if (train_ns_q24 > gap_ns * s->u_q24)
		gap_ns = dcc_div_u64(train_ns_q24, s->u_q24);
	s->batch.gap_ns = gap_ns;
}

/* A new ratio, in force from now_ns on. */
static inline void dcc_oscar_set_ratio(struct dcc_oscar *s, u64 now_ns, u32 u_q24, u32 branch)
{
	u32 i = s->ratio_head & (DCC_OSCAR_RATIOS - 1);

	s->u_q24 = dcc_clamp_u32(u_q24, DCC_OSCAR_RATIO_MIN, DCC_RATIO_ONE);
	s->ratio_since_ns[i] = now_ns;
	s->ratio_q24[i] = s->u_q24;
	s->ratio_head = (u8)((i + 1) & (DCC_OSCAR_RATIOS - 1));
	s->last.u_q24 = s->u_q24;
	s->last.branch = branch;
	dcc_oscar_set_gap(s);
}

/* The ratio that was in force when a packet was sent; the oldest known if that is too long ago. */
static inline u32 dcc_oscar_ratio_at(const struct dcc_oscar *s, u64 send_ns)
{
	u32 at = s->ratio_head;
	u32 i;

	for (i = 0; i < DCC_OSCAR_RATIOS; i++) {
		at = (at - 1) & (DCC_OSCAR_RATIOS - 1);
		if (s->ratio_since_ns[at] <= send_ns)
			break;
	}
	return s->ratio_q24[at];
}

/* Line rate, no history; packets sent before not_before_ns do not count. */
static inline void dcc_oscar_start(struct dcc_oscar *s, u64 not_before_ns)
{
	u32 i;

	dcc_batch_init(&s->batch, s->tau_ns, DCC_BATCH_NO_GAP);
	dcc_batch_restart(&s->batch, not_before_ns);
	for (i = 0; i < DCC_OSCAR_RATIOS; i++) {
		s->ratio_since_ns[i] = 0;
		s->ratio_q24[i] = DCC_RATIO_ONE;
	}
	for (i = 0; i < DCC_OSCAR_POINTS; i++) {
		s->point_send_ns[i] = 0;
		s->point_delay_ns[i] = 0;
		s->point_delivered[i] = 0;
	}
	s->ratio_head = 0;
	s->point_head = 0;
	s->loss_ns = 0;
	s->loss_holds = 0;
	s->raised_ns = 0;
	s->high_send_ns = 0;
	s->best_ns = 0;
	s->best_q24 = 0;
	s->delivered_bytes = 0;
	s->sent_ns = 0;
	s->excess_ns = 0;
	s->decided_ns = not_before_ns;
	s->cut_ns = 0;
	s->drained_ns = 0;
	s->sample_ns = s->base_ns;
	s->peak_ns = 0;
	s->point_due_ns = 0;
	s->pulse = DCC_OSCAR_PULSE_NONE;
	s->pulse_q24 = 0;
	s->pulse_from_ns = 0;
	s->pulse_to_ns = 0;
	s->pulse_delay_ns = 0;
	dcc_batch_init(&s->echo, s->tau_ns, DCC_BATCH_NO_GAP);
	s->last.delay_ns = s->base_ns;
	s->last.gradient_q16 = 0;
	dcc_oscar_set_ratio(s, not_before_ns, DCC_RATIO_ONE, DCC_OSCAR_START);
}

/* A flow starts at line rate, u = 1 (section 4.2). */
static inline void dcc_oscar_init(struct dcc_oscar *s, const struct dcc_path *path,
				  const struct dcc_oscar_params *p, struct dcc_verdict *out)
{
	DCC_STEP(dcc_oscar_derive)(s, path, p);
	dcc_oscar_start(s, 0);
	dcc_oscar_verdict(s, out);
}

/*
 * After an idle period, or on another path: what was learned is void, and the
 * flow starts as a new one does.
 */
static inline void dcc_oscar_restart(struct dcc_oscar *s, const struct dcc_path *path,
				     const struct dcc_oscar_params *p, u64 now_ns,
				     struct dcc_verdict *out)
{
	DCC_STEP(dcc_oscar_derive)(s, path, p);
	dcc_oscar_start(s, now_ns);
	dcc_oscar_verdict(s, out);
}

/* Algorithm 2, line 7: mean inflight / (mean delay * mu); both means are over the same count. */
static inline u32 dcc_oscar_window_ratio(const struct dcc_oscar *s, const struct dcc_estimate *e)
{
	return (u32)dcc_min_u64(dcc_muldiv_u64(e->sum_inflight_bytes, s->byte_ns_q24,
					       e->sum_rtt_ns), DCC_RATIO_ONE);
}

/* Algorithm 2, line 8: bytes / span / ((1 + gradient) * mu), in one division. */
static inline u32 dcc_oscar_rate_ratio(const struct dcc_oscar *s, u64 bytes, u64 span_ns,
				       s32 gradient_q16)
{
	u64 growth_q16 = (u64)((1 << DCC_GRADIENT_SHIFT) + gradient_q16); /* >= 0.1 */

	bytes = dcc_min_u64(bytes, 1ULL << 47) << DCC_GRADIENT_SHIFT;
	return (u32)dcc_min_u64(dcc_muldiv_u64(bytes, s->byte_ns_q24, span_ns * growth_q16),
				DCC_RATIO_ONE);
}

/* Bytes of all the batch over the time since the batch before (Algorithm 1, line 10). */
static inline u32 dcc_oscar_rate_ratio_printed(const struct dcc_oscar *s,
					       const struct dcc_estimate *e)
{
	return dcc_oscar_rate_ratio(s, e->acked_bytes, e->last_ns - e->start_ns, e->gradient_q16);
}

/* Bytes behind the first packet over the time between first and last: n - 1 of n intervals. */
static inline u32 dcc_oscar_rate_ratio_unbiased(const struct dcc_oscar *s,
						const struct dcc_estimate *e)
{
	return dcc_oscar_rate_ratio(s, e->acked_after_first_bytes, e->last_ns - e->first_ns,
				    e->gradient_q16);
}

/* u * D_target / delay: the window loop from a ratio instead of from bytes in flight. */
static inline u32 dcc_oscar_scale_to_target(const struct dcc_oscar *s, const struct dcc_estimate *e,
					    u32 u_q24)
{
	return (u32)dcc_min_u64(dcc_div_u64((u64)u_q24 * s->target_ns, e->delay_ns),
				DCC_RATIO_ONE);
}

/* Algorithm 2, lines 9-10: the larger ratio to accelerate, the smaller to brake. */
static inline u32 dcc_oscar_coordinate(const struct dcc_estimate *e, bool accelerate, u32 u_w,
				       u32 u_r, u32 *branch)
{
	u32 rate = e->slope_valid ? u_r : u_w;
	u32 high = dcc_max_u32(u_w, rate);
	u32 low = dcc_min_u32(u_w, rate);
	u32 u_q24 = accelerate ? high : low;

	/* Around the target nobody can predict these choices: values, not jumps. */
	*branch = (accelerate ? DCC_OSCAR_UP_WINDOW : DCC_OSCAR_DOWN_WINDOW) + (u_q24 != u_w);
	return u_q24;
}

/* Algorithm 2 as printed. */
static inline u32 dcc_oscar_law_paper(struct dcc_oscar *s, const struct dcc_estimate *e,
				      u32 *branch)
{
	u32 u_w, u_r;

	if (e->delay_ns <= s->empty_ns) {
		*branch = DCC_OSCAR_EMPTY;
		return s->u_q24 + s->u_hai_q24;
	}
	u_w = dcc_oscar_window_ratio(s, e);
	u_r = dcc_oscar_rate_ratio_printed(s, e);
	return dcc_oscar_coordinate(e, e->delay_ns < s->target_ns, u_w, u_r, branch) + s->u_ai_q24;
}

/* Both loops with an unbiased rate and a dead band below the target. */
static inline u32 dcc_oscar_both_loops(const struct dcc_oscar *s, const struct dcc_estimate *e,
				       u32 *branch)
{
	u32 u_w = dcc_oscar_window_ratio(s, e);
	u32 u_r = dcc_oscar_rate_ratio_unbiased(s, e);

	return dcc_oscar_coordinate(e, e->delay_ns < s->target_ns - s->band_ns, u_w, u_r, branch);
}

static inline u32 dcc_oscar_law_ai(struct dcc_oscar *s, const struct dcc_estimate *e, u32 *branch)
{
	if (e->delay_ns <= s->empty_ns) {
		*branch = DCC_OSCAR_EMPTY;
		return s->u_q24 + s->u_hai_q24;
	}
	return dcc_oscar_both_loops(s, e, branch) + s->u_ai_q24;
}

/*
 * With an empty queue there is no signal, only the fact that the last rise was
 * not enough.  It is known a full feedback after the rise, not before: hence
 * the larger step is tied to packets sent since.
 */
static inline u32 dcc_oscar_tracker_empty(struct dcc_oscar *s, const struct dcc_estimate *e,
					  u64 now_ns, u32 *branch)
{
	u32 u_q24 = s->u_q24 + s->u_hai_q24;

	*branch = DCC_OSCAR_EMPTY;
	if (e->first_ns >= s->raised_ns) {
		u_q24 += u_q24 / 4;
		s->raised_ns = now_ns;
		*branch = DCC_OSCAR_EMPTY_BOOST;
	}
	return u_q24;
}

static inline bool dcc_oscar_near_target(const struct dcc_oscar *s, const struct dcc_estimate *e)
{
	u32 off_ns = e->delay_ns > s->target_ns ? e->delay_ns - s->target_ns :
						  s->target_ns - e->delay_ns;

	return off_ns < s->near_ns && e->gradient_q16 < DCC_OSCAR_NEAR_GRADIENT_Q16 &&
	       e->gradient_q16 > -DCC_OSCAR_NEAR_GRADIENT_Q16;
}

/*
 * At the target the rate loop only adds noise, and whole packets in flight are
 * too coarse a measure for U_AI = 0.001 to survive: there the ratio in force
 * when the batch was sent is scaled by D_target / delay.  And a batch sent
 * before the last rise must not undo it, unless the queue is already long.
 */
static inline u32 dcc_oscar_law_tracker(struct dcc_oscar *s, const struct dcc_estimate *e,
					const struct dcc_ack *ack, u32 *branch)
{
	u32 u_q24;

	if (e->delay_ns <= s->empty_ns)
		return dcc_oscar_tracker_empty(s, e, ack->now_ns, branch);
	if (dcc_oscar_near_target(s, e)) {
		u_q24 = dcc_oscar_scale_to_target(s, e, dcc_oscar_ratio_at(s, e->first_ns));
		*branch = DCC_OSCAR_NEAR;
	} else {
		u_q24 = dcc_oscar_both_loops(s, e, branch);
	}
	u_q24 += s->u_ai_q24;
	if (e->first_ns < s->raised_ns && ack->rtt_ns < s->target_ns && u_q24 < s->u_q24) {
		*branch = DCC_OSCAR_KEEP;
		return s->u_q24;
	}
	return u_q24;
}

/*
 * The share that a falling queue promises.  While others' packets drain and
 * no new ones come, rate / (1 + slope) is this flow's own delivery rate, which
 * then is the link's: but only over spans that lie wholly within the fall, so
 * a few samples of the last 0.4 tau are looked at, not the batch.
 */
static inline void dcc_oscar_track_fall(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 newest = (s->point_head - 1) & (DCC_OSCAR_POINTS - 1);
	u32 at = (s->point_head - DCC_OSCAR_POINTS_BACK) & (DCC_OSCAR_POINTS - 1);
	u32 head = s->point_head & (DCC_OSCAR_POINTS - 1); /* the oldest; it is replaced below */
	u32 delay_ns = ack->rtt_ns;
	u64 span_ns, drop_ns;

	if (ack->send_ns < s->point_send_ns[newest] ||
	    (ack->send_ns - s->point_send_ns[newest]) * DCC_OSCAR_POINTS_PER_TAU < s->tau_ns)
		return;
	if (delay_ns > s->point_delay_ns[newest] &&
	    delay_ns - s->point_delay_ns[newest] > DCC_OSCAR_RISE_NS)
		s->best_q24 = 0;
	if (ack->now_ns - s->best_ns > s->base_ns)
		s->best_q24 = 0;

	span_ns = ack->send_ns - s->point_send_ns[at];
	drop_ns = dcc_sub_sat_u32(s->point_delay_ns[at], delay_ns);
	/* 0.3 tau wide at least, one tau at most, and a slope of -0.3 or steeper. */
	if (drop_ns >= DCC_OSCAR_FALL_NS && span_ns <= s->tau_ns &&
	    span_ns * 10 >= (u64)s->tau_ns * 3 && drop_ns * 10 >= span_ns * 3) {
		u32 sent = dcc_oscar_rate_ratio(s, s->delivered_bytes - s->point_delivered[at],
						span_ns, 0);
		u32 u_q24 = dcc_min_u32(sent, dcc_oscar_ratio_at(s, s->point_send_ns[at]));
		/* 1 + slope, as a part of the span; 0.05 is as near to zero as the clock allows. */
		u64 rest_ns = dcc_max_u64(dcc_sub_sat_u64(span_ns, drop_ns), (u32)span_ns / 20);

		u_q24 = (u32)dcc_min_u64(dcc_div_u64(u_q24 * span_ns, rest_ns), DCC_RATIO_ONE);
		if (u_q24 > s->best_q24) {
			s->best_q24 = u_q24;
			s->best_ns = ack->now_ns;
		}
	}

	s->point_send_ns[head] = ack->send_ns;
	s->point_delay_ns[head] = delay_ns;
	s->point_delivered[head] = s->delivered_bytes;
	s->point_head = (u8)((head + 1) & (DCC_OSCAR_POINTS - 1));
}

/*
 * Law 2, every acknowledgment.  A pause of other flows makes the same slope as
 * their departure; what tells them apart is that a departure empties the queue.
 * True when that has just been seen and u was raised to what the fall promised.
 */
static inline bool dcc_oscar_refill(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 u_q24;

	s->delivered_bytes += ack->acked_bytes;
	if (ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))
		return false;
	if (ack->rtt_ns > s->high_ns)
		s->high_send_ns = ack->send_ns;
	DCC_STEP(dcc_oscar_track_fall)(s, ack);

	if (DCC_LIKELY(!s->best_q24 || ack->rtt_ns > s->empty_ns))
		return false;
	/* After a long queue the flow's own suspension empties the link; nobody has left. */
	if (ack->send_ns - s->high_send_ns < 2 * (u64)s->base_ns)
		return false;
	u_q24 = dcc_min_u32(s->best_q24 + s->best_q24 / 2, DCC_RATIO_ONE);
	s->best_q24 = 0;
	s->raised_ns = ack->now_ns;
	s->last.delay_ns = ack->rtt_ns;
	dcc_oscar_set_ratio(s, ack->now_ns, dcc_max_u32(s->u_q24, u_q24), DCC_OSCAR_REFILL);
	return true;
}

/*
 * Law 3: after a long queue others pause, and come back, exactly as if they
 * had left.  Only while no packet sent in the last two base RTT saw such a
 * queue does a falling one mean that the link is becoming free.
 */
static inline bool dcc_oscar_calm(const struct dcc_oscar *s, u64 send_ns)
{
	return send_ns - s->high_send_ns > 2 * (u64)s->base_ns;
}

/*
 * Law 3: the share that a falling queue promises, as dcc_oscar_track_fall(),
 * but over the longest spans there are: the packets of a few small flows come
 * too rarely for short ones.  The least sure thing is whether a span lies
 * within the fall; those that do not read too low, so the best one counts.
 */
static DCC_APART void dcc_oscar_measure_drop(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 peak_ns = 0;
	u32 i;

	for (i = 0; i < DCC_OSCAR_POINTS; i++) {
		u64 span_ns = ack->send_ns - s->point_send_ns[i];
		/* Points of before a pause are marked by a delay of 0, which cannot drop. */
		u32 delay_ns = s->point_delay_ns[i];
		u32 drop_ns = dcc_sub_sat_u32(delay_ns, ack->rtt_ns);
		u64 rest_ns;
		u32 u_q24;

		if (delay_ns > s->high_ns)
			continue;
		peak_ns = dcc_max_u32(peak_ns, delay_ns);
		if (drop_ns < s->fall_ns || (u64)drop_ns * 10 < span_ns * 3 ||
		    span_ns > (u64)s->tau_ns * 4)
			continue;
		u_q24 = dcc_oscar_rate_ratio(s, s->delivered_bytes - s->point_delivered[i],
					     span_ns, 0);
		u_q24 = dcc_min_u32(u_q24, dcc_oscar_ratio_at(s, s->point_send_ns[i]));
		/* 1 + slope, as a part of the span; 0.05 is as near to zero as the clock allows. */
		rest_ns = dcc_max_u64(dcc_sub_sat_u64(span_ns, drop_ns),
				      dcc_max_u32((u32)span_ns / 20, 1));
		u_q24 = (u32)dcc_min_u64(dcc_div_u64(u_q24 * span_ns, rest_ns), DCC_RATIO_ONE);
		s->best_q24 = dcc_max_u32(s->best_q24, u_q24);
	}
	s->peak_ns = peak_ns;
}

/* Law 3: one point each tau / 6. */
static inline void dcc_oscar_note_point(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 head = s->point_head & (DCC_OSCAR_POINTS - 1);

	if (ack->rtt_ns <= s->high_ns)
		s->peak_ns = dcc_max_u32(s->peak_ns, ack->rtt_ns);
	s->point_send_ns[head] = ack->send_ns;
	s->point_delay_ns[head] = ack->rtt_ns;
	s->point_delivered[head] = s->delivered_bytes;
	s->point_head = (u8)((head + 1) & (DCC_OSCAR_POINTS - 1));
	s->point_due_ns = ack->send_ns + s->thin_ns;
}

/* Law 3: what was sent before a pause of this flow's own is no part of a fall. */
static DCC_APART void dcc_oscar_forget_points(struct dcc_oscar *s)
{
	u32 i;

	for (i = 0; i < DCC_OSCAR_POINTS; i++)
		s->point_delay_ns[i] = 0;
	s->peak_ns = 0;
	s->point_due_ns = 0;
}

/*
 * Law 3, a pulse: for a quarter of a base RTT, or as long as four packets
 * take, send at twice the ratio.  u itself stays until the echo is back.
 */
static inline bool dcc_oscar_pulse_begin(struct dcc_oscar *s, u64 now_ns)
{
	u64 train_ns;

	if (s->pulse != DCC_OSCAR_PULSE_NONE || s->u_q24 >= DCC_RATIO_ONE)
		return false;
	s->pulse_q24 = dcc_min_u32(2 * s->u_q24, DCC_RATIO_ONE);
	train_ns = dcc_div_u64(s->packet_ns_q24 * DCC_OSCAR_PULSE_PACKETS, s->pulse_q24);
	s->pulse = DCC_OSCAR_PULSE_SENDING;
	s->pulse_from_ns = now_ns;
	train_ns = dcc_clamp_u64(train_ns, s->base_ns / 4, 4 * (u64)s->base_ns);
	s->pulse_to_ns = now_ns + train_ns;
	s->pulse_delay_ns = 0;
	/* Its own length sets the echo's scale: tau may be anything. */
	dcc_batch_init(&s->echo, (u32)train_ns, DCC_BATCH_NO_GAP);
	return true;
}

/*
 * The echo is complete.  Delays that stayed at the base RTT: all of the
 * pulse's rate is to be had.  Else its slope says what arrived in total, and
 * less the pulse that is what the others send; u is scaled to fill the rest
 * as if each of them does the same.
 */
static inline bool dcc_oscar_pulse_judge(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 margin_ns = (s->empty_ns - s->base_ns) / 2;
	u32 u_q24 = s->u_q24;
	u32 branch, total_q24, others_q24;
	s32 gradient_q16;

	s->pulse = DCC_OSCAR_PULSE_NONE;
	if (s->echo.count < 2)
		return false;
	gradient_q16 = dcc_batch_gradient_q16(&s->echo);
	if (s->pulse_delay_ns <= s->base_ns + margin_ns) {
		u_q24 = dcc_max_u32(u_q24, s->pulse_q24);
		branch = DCC_OSCAR_PULSE_FREE;
	} else if (ack->rtt_ns < s->target_ns) {
		/* 1 + gradient, at least 0.1; a hundred line rates at once are enough. */
		total_q24 = dcc_min_u32((u32)((1 << DCC_GRADIENT_SHIFT) + gradient_q16),
					100 << DCC_GRADIENT_SHIFT) << 8;
		others_q24 = dcc_sub_sat_u32(total_q24, s->pulse_q24);
		u_q24 = (u32)dcc_div_u64((u64)u_q24 << DCC_RATIO_SHIFT, (u64)others_q24 + u_q24);
		u_q24 = dcc_max_u32(s->u_q24, dcc_min_u32(s->pulse_q24, u_q24));
		branch = DCC_OSCAR_PULSE_SHARE;
	} else {
		return false;
	}
	s->raised_ns = ack->now_ns;
	s->last.delay_ns = s->pulse_delay_ns;
	s->last.gradient_q16 = gradient_q16;
	dcc_oscar_set_ratio(s, ack->now_ns, u_q24, branch);
	if (branch == DCC_OSCAR_PULSE_FREE)
		dcc_oscar_pulse_begin(s, ack->now_ns);
	return true;
}

/* Law 3, every sample while a pulse is under way.  True when the verdict changes. */
static DCC_APART bool dcc_oscar_pulse_step(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	bool changed = false;

	if (s->pulse == DCC_OSCAR_PULSE_SENDING && ack->now_ns >= s->pulse_to_ns) {
		s->pulse = DCC_OSCAR_PULSE_AWAITED;
		s->pulse_to_ns = ack->now_ns;
		s->last.branch = DCC_OSCAR_PULSE_END;
		changed = true;
	}
	if (ack->send_ns < s->pulse_from_ns)
		return changed;
	if (s->pulse == DCC_OSCAR_PULSE_AWAITED && ack->send_ns > s->pulse_to_ns)
		return dcc_oscar_pulse_judge(s, ack) || changed;
	if (s->echo.count < DCC_BATCH_MAX_COUNT)
		dcc_batch_add(&s->echo, ack);
	s->pulse_delay_ns = ack->rtt_ns;
	return changed;
}

/* Law 3: the clock went back, and every remembered time is in the future. */
static DCC_APART void dcc_oscar_forget_times(struct dcc_oscar *s)
{
	dcc_oscar_forget_points(s);
	s->pulse = DCC_OSCAR_PULSE_NONE;
	s->high_send_ns = 0;
	s->raised_ns = 0;
	s->best_q24 = 0;
	s->sent_ns = 0;
}

/*
 * Law 3: is one interval between two packets of this flow wholly within the
 * fall?  It is if the delay had begun to drop before it, and the queue was not
 * empty at its end; its slope is then the fall's own.
 */
static inline bool dcc_oscar_fall_is_sure(const struct dcc_oscar *s)
{
	u32 step_ns = (s->target_ns - s->base_ns) / 16;
	u32 end = s->point_head - 2; /* the newest is the one that found the queue empty */
	u32 end_ns = s->point_delay_ns[end & (DCC_OSCAR_POINTS - 1)];
	u32 start_ns = s->point_delay_ns[(end - 1) & (DCC_OSCAR_POINTS - 1)];
	u32 before_ns = s->point_delay_ns[(end - 2) & (DCC_OSCAR_POINTS - 1)];

	return end_ns > s->empty_ns && dcc_sub_sat_u32(start_ns, end_ns) >= step_ns &&
	       dcc_sub_sat_u32(before_ns, start_ns) >= step_ns;
}

/*
 * Law 3: how much more than it promised a fall may have meant.  A span that
 * begins before it or ends behind it reads too low, and the more so the
 * further apart this flow's packets are, set against the time that the queue
 * takes to drain: four times the square of that, from a sixteenth to a quarter
 * of the promise.  If it is half of that time or more, and no slope is sure, up
 * to four times the promise: a guess on the large side, which lasts a feedback.
 */
static inline u32 dcc_oscar_margin_q24(const struct dcc_oscar *s)
{
	u32 seen = (s->point_head - 2) & (DCC_OSCAR_POINTS - 1);
	u32 us_q24 = dcc_oscar_ratio_at(s, s->point_send_ns[seen]);
	u64 interval_ns = dcc_min_u64(dcc_div_u64(s->packet_ns_q24, us_q24), 1ULL << 40);
	u64 rare_q12 = dcc_min_u64(dcc_div_u64(interval_ns << 12, s->target_ns - s->base_ns),
				   1 << 12);
	u32 margin_q24 = dcc_max_u32(4 * (u32)(rare_q12 * rare_q12), DCC_OSCAR_MARGIN_MIN);

	if (margin_q24 < DCC_RATIO_ONE || dcc_oscar_fall_is_sure(s))
		return dcc_min_u32(margin_q24, DCC_OSCAR_MARGIN_SURE);
	return margin_q24;
}

/* Law 3: the fall that promised a share has reached an empty queue.  True when u rose to it. */
static DCC_APART bool dcc_oscar_take_best(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 best_q24 = s->best_q24;

	s->best_q24 = 0;
	if (best_q24 <= s->u_q24 || !dcc_oscar_calm(s, ack->send_ns))
		return false;
	s->raised_ns = ack->now_ns;
	s->last.delay_ns = ack->rtt_ns;
	/* More on top for what the spans missed, and a pulse to see whether there is still more. */
	best_q24 += (u32)dcc_scale_q24(best_q24, dcc_oscar_margin_q24(s));
	dcc_oscar_set_ratio(s, ack->now_ns, best_q24, DCC_OSCAR_REFILL);
	dcc_oscar_pulse_begin(s, ack->now_ns);
	return true;
}

/* Law 3, every sample. */
static inline void dcc_oscar_remember(struct dcc_oscar *s, u64 send_ns, u32 rtt_ns)
{
	s->sent_ns = dcc_max_u64(s->sent_ns, send_ns);
	if (rtt_ns > s->high_ns)
		s->high_send_ns = send_ns;
	s->sample_ns = rtt_ns;
}

/* Law 3, an acknowledgment in which there may be news.  True when the verdict changes. */
static DCC_APART bool dcc_oscar_watch_closely(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u64 send_ns = ack->send_ns;
	u32 rtt_ns = ack->rtt_ns;
	bool changed = false;

	s->delivered_bytes += ack->acked_bytes;
	if (ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))
		return false;

	if (s->sent_ns > ack->now_ns)
		dcc_oscar_forget_times(s);
	else if (send_ns > s->sent_ns && send_ns - s->sent_ns > s->batch.gap_ns)
		dcc_oscar_forget_points(s);
	if (s->best_q24 && rtt_ns > (u64)s->sample_ns + DCC_OSCAR_RISE_NS)
		s->best_q24 = 0;
	dcc_oscar_remember(s, send_ns, rtt_ns);

	if (s->pulse != DCC_OSCAR_PULSE_NONE)
		changed = DCC_STEP(dcc_oscar_pulse_step)(s, ack);
	if (send_ns >= s->point_due_ns) {
		/* A look back, if there was a drop at all. */
		if (dcc_sub_sat_u32(s->peak_ns, rtt_ns) >= s->fall_ns)
			DCC_STEP(dcc_oscar_measure_drop)(s, ack);
		dcc_oscar_note_point(s, ack);
	}
	if (s->best_q24 && rtt_ns <= s->empty_ns)
		changed |= dcc_oscar_take_best(s, ack);
	return changed;
}

/*
 * Law 3, every acknowledgment.  True when the verdict changes.  Of a flow that goes on as it did
 * there is only something to remember: the same as above, without what does not apply.
 */
static inline bool dcc_oscar_watch(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u64 send_ns = ack->send_ns;
	u32 rtt_ns = ack->rtt_ns;
	bool due = false;

	/* An older packet wraps to a huge difference, more than any gap. */
	if (DCC_UNLIKELY((ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) ||
			 s->sent_ns > ack->now_ns || send_ns - s->sent_ns > s->batch.gap_ns ||
			 s->best_q24 || s->pulse != DCC_OSCAR_PULSE_NONE))
		return dcc_oscar_watch_closely(s, ack);
	if (send_ns >= s->point_due_ns) {
		if (dcc_sub_sat_u32(s->peak_ns, rtt_ns) >= s->fall_ns)
			return dcc_oscar_watch_closely(s, ack);
		due = true;
	}

	s->delivered_bytes += ack->acked_bytes;
	dcc_oscar_remember(s, send_ns, rtt_ns);
	if (due)
		dcc_oscar_note_point(s, ack);
	return false;
}

static inline bool dcc_oscar_within(u64 a, u64 b, u64 distance)
{
	return (a > b ? a - b : b - a) <= distance;
}

/*
 * Law 3: u_w from the ratio in force where the bytes in flight agree with what
 * pacing (us * delay * mu) or the window (us * D_target * mu) allowed.
 */
static inline u32 dcc_oscar_window_ratio_exact(const struct dcc_oscar *s,
					       const struct dcc_estimate *e, u32 us_q24)
{
	/* All as times on the line (Q24), which takes one division. */
	u64 inflight = dcc_mulshift_u64(dcc_div_u64(e->sum_inflight_bytes, e->count),
					s->byte_ns_q24, 0);

	if (dcc_oscar_within(inflight, (u64)us_q24 * e->delay_ns, s->packet_ns_q24))
		return us_q24;
	if (dcc_oscar_within(inflight, (u64)us_q24 * s->target_ns, s->packet_ns_q24))
		return dcc_oscar_scale_to_target(s, e, us_q24);
	return dcc_oscar_window_ratio(s, e);
}

/*
 * Law 3: the additive step, which alone makes shares equal.  What counts is
 * how much more of itself a small flow gains than a large one; a part of the
 * step in proportion to u is a factor common to all, which the window loop
 * takes away again, and only changes how far n flows hold the queue above its
 * target: n steps.  So there are two lines.  5 - 10 u makes up to six flows
 * equal five times faster than U_AI, at the steps of only 5 n - 10; it is the
 * law where few flows share and each has much, 1 / u at most 6.  For many such
 * steps would be too much queue, and 1 + 14 u, as fast as U_AI alone for any
 * number of flows, joins it to the U_AI of an incast.
 */
static inline u32 dcc_oscar_ai_step(const struct dcc_oscar *s)
{
	u32 many_q24 = s->u_ai_q24 +
		(u32)dcc_scale_q24((u64)s->u_ai_q24 * DCC_OSCAR_AI_RISE, s->u_q24);
	u32 few_q24 = dcc_sub_sat_u32(s->u_ai_q24 * DCC_OSCAR_AI_FEW,
				      (u32)dcc_scale_q24((u64)s->u_ai_q24 * 2 * DCC_OSCAR_AI_FEW,
							 s->u_q24));

	return dcc_max_u32(s->u_ai_q24, dcc_min_u32(many_q24, few_q24));
}

/*
 * The step for each decision since the reference, 1 to 3 of them.  A flow of few
 * packets decides once in a feedback, and gets one.
 */
static inline u32 dcc_oscar_ai_since(const struct dcc_oscar *s, u64 first_ns, u64 now_ns)
{
	u32 ai_q24 = dcc_oscar_ai_step(s);
	/* Two minutes at most: the product below fits, also after the clock went back. */
	u64 interval_ns = dcc_clamp_u64(now_ns - s->decided_ns, s->tau_ns, 1ULL << 37);
	u64 elapsed_ns = now_ns - first_ns;

	if (elapsed_ns >= interval_ns * DCC_OSCAR_AI_STEPS)
		return ai_q24 * DCC_OSCAR_AI_STEPS;
	if (elapsed_ns <= interval_ns)
		return ai_q24;
	return (u32)dcc_div_u64(ai_q24 * elapsed_ns, interval_ns);
}

/*
 * Law 3: everybody has cut, and what is left are old packets.  A flow that has
 * but its new, small window in flight would take the rest of the queue for the
 * others' windows and cut again, in a large incast down to nothing.  So after
 * a cut, packets sent since are not a reason to cut again until the excess
 * that it answered can have drained, which takes as long as it is.
 */
static inline bool dcc_oscar_draining(const struct dcc_oscar *s, const struct dcc_estimate *e)
{
	return e->first_ns >= s->cut_ns && e->first_ns < s->drained_ns;
}

/*
 * Law 3, at the target: the window loop from the ratio in force when the batch
 * was sent.
 *
 * The steps of n flows hold the queue above its target by n of them.  The mean
 * excess is the same for every flow that has been there for a while, so aiming
 * lower by four times as much takes four fifths of it off and favours nobody.
 * (Over fewer decisions so strong a correction makes the queue swing.)
 *
 * Three decisions fall into one feedback, and each depends on the third before
 * it: three trains of ratios that never meet, one of which may stay low for
 * milliseconds.  Half of the ratio in force ties them together.
 */
static inline u32 dcc_oscar_settle(struct dcc_oscar *s, const struct dcc_estimate *e, u32 us_q24)
{
	u32 queue_ns = s->target_ns - s->base_ns;
	u32 aim_ns = s->target_ns;
	u32 u_q24;

	s->excess_ns += (s64)e->delay_ns - s->target_ns -
			(s->excess_ns >> DCC_OSCAR_EXCESS_SHIFT);
	if (s->excess_ns > 0)
		aim_ns -= (u32)dcc_min_u64((u64)s->excess_ns >> 3, queue_ns);
	u_q24 = (u32)dcc_min_u64(dcc_div_u64((u64)us_q24 * aim_ns, e->delay_ns), DCC_RATIO_ONE);
	return u_q24 / 2 + s->u_q24 / 2;
}

/*
 * Law 3, a queue well below the target that hardly moves: pacing is the limit,
 * so the windows say nothing, and neither loop would ever fill the queue.  The
 * rate loop for balance, and on top of it half of what is missing, but no more
 * than an eighth: the queue then nears its target without overshoot.
 */
static inline u32 dcc_oscar_fill(const struct dcc_oscar *s, const struct dcc_estimate *e,
				 u32 us_q24)
{
	u32 u_q24 = e->slope_valid ? dcc_oscar_rate_ratio_unbiased(s, e) : us_q24;
	u32 missing_q24 = dcc_ratio_q24((s->target_ns - e->delay_ns) / 2, e->delay_ns);

	return u_q24 + (u32)dcc_scale_q24(u_q24, dcc_min_u32(missing_q24, DCC_RATIO_ONE / 8));
}

/*
 * Law 3.  The same two loops; below the target the rate loop is heard only
 * while it is calm (see dcc_oscar_calm()), and near the target not at all.
 */
static inline u32 dcc_oscar_law_pulse(struct dcc_oscar *s, const struct dcc_estimate *e,
				      const struct dcc_ack *ack, u32 *branch)
{
	u32 us_q24, u_q24, u_w, u_r, ai_q24;

	if (e->delay_ns <= s->empty_ns) {
		*branch = DCC_OSCAR_EMPTY;
		if (e->first_ns > s->raised_ns && dcc_oscar_pulse_begin(s, ack->now_ns))
			*branch = DCC_OSCAR_PULSE_BEGIN;
		return s->u_q24 + s->u_ai_q24;
	}

	us_q24 = dcc_oscar_ratio_at(s, e->first_ns);
	ai_q24 = dcc_oscar_ai_since(s, e->first_ns, ack->now_ns);
	if (e->delay_ns < s->target_ns + s->near_ns &&
	    e->gradient_q16 < DCC_OSCAR_NEAR_PULSE_GRADIENT_Q16 &&
	    e->gradient_q16 > -DCC_OSCAR_NEAR_PULSE_GRADIENT_Q16) {
		if (e->delay_ns + s->near_ns < s->target_ns)
			u_q24 = dcc_oscar_fill(s, e, us_q24);
		else
			u_q24 = dcc_oscar_settle(s, e, us_q24);
		ai_q24 /= 2;
		*branch = DCC_OSCAR_NEAR;
	} else {
		bool accelerate = e->delay_ns < s->target_ns - s->band_ns;

		u_w = dcc_oscar_window_ratio_exact(s, e, us_q24);
		u_r = u_w;
		if (!accelerate || dcc_oscar_calm(s, e->last_ns))
			u_r = dcc_oscar_rate_ratio_unbiased(s, e);
		u_q24 = dcc_oscar_coordinate(e, accelerate, u_w, u_r, branch);
		if (e->delay_ns > s->high_ns && u_q24 < s->u_q24) {
			if (dcc_oscar_draining(s, e)) {
				*branch = DCC_OSCAR_DRAIN;
				return s->u_q24;
			}
			s->cut_ns = ack->now_ns;
			s->drained_ns = ack->now_ns + (e->delay_ns - s->target_ns);
		}
	}
	u_q24 += ai_q24;
	if (e->first_ns < s->raised_ns && ack->rtt_ns < s->target_ns && u_q24 < s->u_q24) {
		*branch = DCC_OSCAR_KEEP;
		return s->u_q24;
	}
	return u_q24;
}

/* Bytes in flight and rate are the application's doing; the delay is not. */
static DCC_APART u32 dcc_oscar_app_limited(const struct dcc_oscar *s, const struct dcc_estimate *e)
{
	if (e->delay_ns < s->target_ns)
		return s->u_q24;
	return dcc_oscar_scale_to_target(s, e, dcc_oscar_ratio_at(s, e->first_ns)) + s->u_ai_q24;
}

/*
 * What the kernel calls application-limited is a mark on all that is in flight
 * when the application once had too little.  A batch that was sent at the pace
 * or with the window that its ratio allowed was limited by neither.
 */
static DCC_APART bool dcc_oscar_used_its_share(const struct dcc_oscar *s,
					       const struct dcc_estimate *e)
{
	u32 us_q24 = dcc_oscar_ratio_at(s, e->first_ns);
	u64 windowed = dcc_div_u64((u64)us_q24 * s->target_ns, s->byte_ns_q24);
	u64 sent = dcc_oscar_rate_ratio(s, e->acked_after_first_bytes, e->last_ns - e->first_ns, 0);

	return sent * 16 >= (u64)us_q24 * 15 || e->sum_inflight_bytes >= windowed * e->count;
}

/* A complete batch: which rule applies, and the ratio it gives. */
static inline void dcc_oscar_decide(struct dcc_oscar *s, const struct dcc_estimate *e,
				    const struct dcc_ack *ack)
{
	u32 branch = DCC_OSCAR_APP_LIMITED, u_q24;
	bool app_limited = false;
	struct dcc_estimate copy;

	if (DCC_UNLIKELY(e->app_limited)) {
		/* Of its own, as one whose address is given away has to be in memory. */
		copy = *e;
		app_limited = !dcc_oscar_used_its_share(s, &copy);
	}
	if (app_limited)
		u_q24 = dcc_oscar_app_limited(s, &copy);
	else if (s->params.law == DCC_OSCAR_LAW_PAPER)
		u_q24 = dcc_oscar_law_paper(s, e, &branch);
	else if (s->params.law == DCC_OSCAR_LAW_AI)
		u_q24 = dcc_oscar_law_ai(s, e, &branch);
	else if (s->params.law == DCC_OSCAR_LAW_TRACKER)
		u_q24 = dcc_oscar_law_tracker(s, e, ack, &branch);
	else
		u_q24 = dcc_oscar_law_pulse(s, e, ack, &branch);

	s->decided_ns = ack->now_ns;
	s->last.delay_ns = e->delay_ns;
	s->last.gradient_q16 = e->gradient_q16;
	s->loss_holds = 0;
	dcc_oscar_set_ratio(s, ack->now_ns, u_q24, branch);
}

/* A batch is complete: decide on it, and begin the next one. */
static DCC_APART void dcc_oscar_close(struct dcc_oscar *s, const struct dcc_path *path,
				      const struct dcc_oscar_params *p, const struct dcc_ack *ack)
{
	struct dcc_estimate e;

	dcc_batch_close(&s->batch, &e);
	if (DCC_UNLIKELY(dcc_oscar_stale(s, path, p))) {
		/* The ratio is still the best guess; the batch's scales may not be. */
		DCC_STEP(dcc_oscar_derive)(s, path, p);
		dcc_batch_init(&s->batch, s->tau_ns, DCC_BATCH_NO_GAP);
		dcc_oscar_set_gap(s);
	} else {
		DCC_STEP(dcc_oscar_decide)(s, &e, ack);
	}
}

/* Algorithm 2.  True when a decision was made and out set. */
static inline bool dcc_oscar_ack(struct dcc_oscar *s, const struct dcc_path *path,
				 const struct dcc_oscar_params *p, const struct dcc_ack *ack,
				 struct dcc_verdict *out)
{
	bool decided = false;

	if (s->params.law == DCC_OSCAR_LAW_PULSE)
		decided = dcc_oscar_watch(s, ack);
	else if (s->params.law == DCC_OSCAR_LAW_TRACKER)
		decided = dcc_oscar_refill(s, ack);
	if (dcc_batch_add(&s->batch, ack)) {
		dcc_oscar_close(s, path, p, ack);
		decided = true;
	}
	if (decided)
		dcc_oscar_verdict(s, out);
	return decided;
}

/* A smaller ratio because of a loss; the next decision is on what it did. */
static inline void dcc_oscar_cut_for_loss(struct dcc_oscar *s, u64 now_ns, u32 u_q24, u32 branch)
{
	dcc_oscar_set_ratio(s, now_ns, u_q24, branch);
	dcc_batch_restart(&s->batch, now_ns);
	s->loss_ns = now_ns;
	s->loss_holds = 1;
	s->best_q24 = 0;
	s->pulse = DCC_OSCAR_PULSE_NONE;
}

/* A loss was found at now_ns.  out is set in any case. */
static inline void dcc_oscar_loss(struct dcc_oscar *s, const struct dcc_path *path,
				  const struct dcc_oscar_params *p, u64 now_ns,
				  struct dcc_verdict *out)
{
	u64 rtt_ns = dcc_max_u32(s->last.delay_ns, s->base_ns);
	u32 cut = s->last.delay_ns < s->target_ns ? s->u_q24 / 8 : s->u_q24 / 2;
	bool empty = s->last.delay_ns <= s->empty_ns;

	(void)path;
	(void)p;
	if (!empty && !s->loss_holds && (!s->loss_ns || now_ns - s->loss_ns >= rtt_ns))
		dcc_oscar_cut_for_loss(s, now_ns, s->u_q24 - cut, DCC_OSCAR_LOSS);
	dcc_oscar_verdict(s, out);
}

/* A retransmission timeout: TCP's loss window, one packet. */
static inline void dcc_oscar_rto(struct dcc_oscar *s, const struct dcc_path *path,
				 const struct dcc_oscar_params *p, u64 now_ns,
				 struct dcc_verdict *out)
{
	u32 one_packet = dcc_ratio_q24(DCC_WINDOW_ONE, s->target_window_q16);

	(void)path;
	(void)p;
	dcc_oscar_cut_for_loss(s, now_ns, dcc_min_u32(s->u_q24, one_packet), DCC_OSCAR_RTO);
	dcc_oscar_verdict(s, out);
}

#endif /* DCC_OSCAR_H */

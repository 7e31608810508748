/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: the model that oscar and oscar_paper share.  The state of a flow, the
 * ratio u with its history, the two ratios that delay and gradient suggest,
 * and window and rate.
 */
#ifndef DCC_OSCAR_MODEL_H
#define DCC_OSCAR_MODEL_H

#include "batch.h"
#include "params.h"

/* Past ratios: 4 RTT at tau = RTT / 2.  A power of two. */
#define DCC_OSCAR_RATIOS 8

/* A pause: 2.5 pacing intervals at the current ratio, and at least tau / 4. */
#define DCC_OSCAR_GAP_HALF_PACKETS 5

/* Points in the ring of delays.  A power of two. */
#define DCC_OSCAR_POINTS 8

/* The rule that decided, for ss and the tracepoint.  docs/operate/oscar.md lists the values. */
enum dcc_oscar_branch {
	DCC_OSCAR_START = 0,	   /* no decision yet, or restarted */
	DCC_OSCAR_EMPTY = 1,	   /* no queue */
	DCC_OSCAR_UP_WINDOW = 2,   /* below target, u_w the larger */
	DCC_OSCAR_UP_RATE = 3,	   /* below target, u_r the larger */
	DCC_OSCAR_DOWN_WINDOW = 4, /* above target, u_w the smaller */
	DCC_OSCAR_DOWN_RATE = 5,   /* above target, u_r the smaller */
	DCC_OSCAR_APP_LIMITED = 6, /* the application was the limit */
	DCC_OSCAR_NEAR = 7,	   /* near the target, or filling up to it */
	DCC_OSCAR_KEEP = 8,	   /* the batch is older than the last rise and may not undo it */
	DCC_OSCAR_REFILL = 10,	   /* the queue drained: u is the predicted share */
	DCC_OSCAR_LOSS = 11,
	DCC_OSCAR_RTO = 12,
	DCC_OSCAR_PROBE_BEGIN = 13, /* no queue, a rate probe begins; u unchanged */
	DCC_OSCAR_PROBE_END = 14,   /* back to u, the probe's delays are awaited */
	DCC_OSCAR_PROBE_FREE = 15,  /* the probe met no queue: u is the probe's rate */
	DCC_OSCAR_WAIT_DRAIN = 17,  /* the queue is long, but already cut for; u unchanged */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_oscar_decision {
	u32 delay_ns;
	s32 gradient_q16;
	u32 branch; /* enum dcc_oscar_branch */
};

/* Ratios of the last decisions, each in force from its time on. */
struct dcc_oscar_history {
	u64 since_ns[DCC_OSCAR_RATIOS];
	u32 ratio_q24[DCC_OSCAR_RATIOS];
	u8 head;
};

struct dcc_oscar_loss_guard {
	u64 reacted_ns; /* last reaction to a loss; 0: none */
	u8 holds;	/* no decision since then */
};

/* drain.h */
struct dcc_oscar_drain {
	u64 sent_ns;	     /* send time of the newest sample */
	u64 due_ns;	     /* send time from which on the next point is taken */
	u64 high_send_ns;    /* last packet that saw a delay above high_ns */
	u32 sample_ns;	     /* delay of the newest sample */
	u32 peak_ns;	     /* upper bound of the delays in the ring, of those up to high_ns */
	u32 predicted_q24;   /* share that the draining queue predicts; 0: none */
	u32 least_ns;	     /* the least delay of a batch since the start; 0: none yet */
	u32 delivered_bytes; /* modulo 2^32; only differences within the ring are used */
	u8 head;	     /* of the ring */
	u8 next_queue;	     /* the target queue of longer paths is in use, until it is empty */
	u8 next_batches;     /* in a row that were near that queue's target */
	u64 point_send_ns[DCC_OSCAR_POINTS];
	u32 point_delay_ns[DCC_OSCAR_POINTS]; /* 0: sent before a pause of the flow's own */
	u32 point_delivered[DCC_OSCAR_POINTS];
};

enum dcc_oscar_probe_phase {
	DCC_OSCAR_PROBE_NONE = 0,
	DCC_OSCAR_PROBE_SENDING = 1,
	DCC_OSCAR_PROBE_AWAITED = 2,
};

/* probe.h */
struct dcc_oscar_probe {
	u64 from_ns;
	u64 to_ns;     /* SENDING: when the probe is to end; AWAITED: when it ended */
	u32 ratio_q24; /* that the probe sends at */
	u32 delay_ns;  /* of its newest packet; 0: none acknowledged */
	u8 phase;      /* enum dcc_oscar_probe_phase */
};

/* default.h */
struct dcc_oscar_steer {
	u64 raised_ns;	/* when u last rose on an empty queue */
	s64 excess_ns;	/* 32 times the mean delay above target, while near it */
	u64 decided_ns; /* when the last batch closed */
	u64 cut_ns;	/* last cut because of a long queue */
	u64 drained_ns; /* when that queue can have drained */
};

struct dcc_oscar {
	struct dcc_batch batch;
	struct dcc_oscar_scale scale;

	u32 u_q24; /* the flow's share of the bottleneck */
	struct dcc_oscar_decision last;
	struct dcc_oscar_history history;
	struct dcc_oscar_loss_guard loss;

	/* Of oscar alone. */
	struct dcc_oscar_steer steer;
	struct dcc_oscar_drain drain;
	struct dcc_oscar_probe probe;
};

static_assert(sizeof(struct dcc_oscar) <= 640, "state is one object of at most 640 bytes");

/* ---- window and rate --------------------------------------------------- */

/*
 * The largest window.  One BDP already fills the link; more would only stand in the queue.  But if
 * the base RTT is configured too low, one BDP of it does not fill the link, and a lone flow never
 * gets what is left.  So the BDP is that of the least delay that was seen, if it is longer than the
 * base RTT by more than noise, and no longer than D_target.
 */
static inline u64 dcc_oscar_cap_q16(const struct dcc_oscar *s)
{
	const struct dcc_oscar_scale *c = &s->scale;

	if (s->drain.least_ns <= c->base_ns + dcc_oscar_band_ns(c))
		return c->bdp_window_q16;
	return dcc_muldiv_u64(c->target_window_q16, dcc_min_u32(s->drain.least_ns, c->target_ns),
			      c->target_ns);
}

static inline void dcc_oscar_control(const struct dcc_oscar *s, struct dcc_control *out)
{
	const struct dcc_oscar_scale *c = &s->scale;
	u64 window = dcc_scale_q24(c->target_window_q16, s->u_q24);
	u64 line = dcc_min_u64(c->path.line_rate_bps, DCC_PATH_RATE_MAX_BPS);
	u64 rate = dcc_scale_q24(line, s->u_q24);

	if (DCC_UNLIKELY(s->probe.phase == DCC_OSCAR_PROBE_SENDING)) {
		u32 probe_q24 = s->probe.ratio_q24;

		/* The queue is empty: a base RTT of the probe's rate is in flight, and slack. */
		rate = dcc_scale_q24(line, probe_q24);
		window = dcc_max_u64(window, dcc_scale_q24(c->bdp_window_q16,
							   probe_q24 + probe_q24 / 2));
	}
	if (window > c->bdp_window_q16)
		window = dcc_min_u64(window, dcc_oscar_cap_q16(s));
	out->cwnd_q16 = dcc_max_u64(window, 1);
	out->pacing_bps = dcc_max_u64(rate, 1000);
	out->probe_ns = 0;
	out->target_ns = c->target_ns - c->base_ns;
	out->has_levels = 0;
}

/* ---- the ratio and its history ----------------------------------------- */

/* From here on pauses in sending end a batch.  The paper's estimator has no such rule. */
static inline void dcc_oscar_set_gap(struct dcc_oscar *s)
{
	/* Over u_q24 it is a time; compared as products, so that fast flows need no division. */
	u64 train_ns_q24 = (s->scale.packet_ns_q24 >> 1) * DCC_OSCAR_GAP_HALF_PACKETS;
	u64 gap_ns = s->scale.tau_ns / 4;

	if (s->scale.params.paper) {
		s->batch.gap_ns = DCC_BATCH_NO_GAP;
		return;
	}
	s->batch.sparse = 1;
	if (train_ns_q24 > gap_ns * s->u_q24)
		gap_ns = dcc_div_u64(train_ns_q24, s->u_q24);
	s->batch.gap_ns = gap_ns;
}

/* The target of the ratio in force. */
static inline void dcc_oscar_scale_target(struct dcc_oscar *s)
{
	struct dcc_oscar_scale *c = &s->scale;
	u32 scaling_ns = dcc_oscar_scaling_ns(c);

	if (DCC_UNLIKELY(scaling_ns))
		dcc_oscar_set_target(c, dcc_oscar_scaled_target_ns(c, scaling_ns, s->u_q24));
}

/* A new ratio, in force from now_ns on. */
static inline void dcc_oscar_set_ratio(struct dcc_oscar *s, u64 now_ns, u32 u_q24, u32 branch)
{
	u32 i = s->history.head & (DCC_OSCAR_RATIOS - 1);

	s->u_q24 = dcc_clamp_u32(u_q24, DCC_OSCAR_RATIO_MIN, DCC_RATIO_ONE);
	s->history.since_ns[i] = now_ns;
	s->history.ratio_q24[i] = s->u_q24;
	s->history.head = (u8)((i + 1) & (DCC_OSCAR_RATIOS - 1));
	s->last.branch = branch;
	dcc_oscar_set_gap(s);
	dcc_oscar_scale_target(s);
}

/*
 * The ratio in force when a packet was sent; the oldest one remembered if that
 * was too long ago.
 */
static inline u32 dcc_oscar_ratio_at(const struct dcc_oscar *s, u64 send_ns)
{
	u32 at = s->history.head;
	u32 i;

	for (i = 0; i < DCC_OSCAR_RATIOS; i++) {
		at = (at - 1) & (DCC_OSCAR_RATIOS - 1);
		if (s->history.since_ns[at] <= send_ns)
			break;
	}
	return s->history.ratio_q24[at];
}

/* ---- the ratios that the signals suggest -------------------------------- */

/* Algorithm 2, line 7: mean inflight / (mean delay * mu).  Both means have the same count. */
static inline u32 dcc_oscar_window_ratio(const struct dcc_oscar *s, const struct dcc_estimate *e)
{
	return (u32)dcc_min_u64(dcc_muldiv_u64(e->sum_inflight_bytes, s->scale.byte_ns_q24,
					       e->sum_rtt_ns), DCC_RATIO_ONE);
}

/* Algorithm 2, line 8: bytes / span / ((1 + gradient) * mu), in one division. */
static inline u32 dcc_oscar_rate_ratio(const struct dcc_oscar *s, u64 bytes, u64 span_ns,
				       s32 gradient_q16)
{
	u64 growth_q16 = (u64)((1 << DCC_GRADIENT_SHIFT) + gradient_q16); /* >= 0.1 */

	bytes = dcc_min_u64(bytes, 1ULL << 47) << DCC_GRADIENT_SHIFT;
	return (u32)dcc_min_u64(dcc_muldiv_u64(bytes, s->scale.byte_ns_q24, span_ns * growth_q16),
				DCC_RATIO_ONE);
}

/*
 * u_r with the send rate of the batch's packets: the bytes behind the first
 * packet over the time between first and last, n - 1 of n intervals.
 */
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
	return (u32)dcc_min_u64(dcc_div_u64((u64)u_q24 * s->scale.target_ns, e->delay_ns),
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

	/* Near the target no processor predicts these choices: values, not jumps. */
	*branch = (accelerate ? DCC_OSCAR_UP_WINDOW : DCC_OSCAR_DOWN_WINDOW) + (u_q24 != u_w);
	return u_q24;
}

/* ---- application-limited batches ---------------------------------------- */

/* Bytes in flight and rate are the application's doing; the delay is not. */
static DCC_NOINLINE u32 dcc_oscar_app_limited(const struct dcc_oscar *s,
					      const struct dcc_estimate *e)
{
	if (e->delay_ns < s->scale.target_ns)
		return s->u_q24;
	return dcc_oscar_scale_to_target(s, e, dcc_oscar_ratio_at(s, e->first_ns)) +
	       s->scale.u_ai_q24;
}

/*
 * TCP marks as application-limited all that is in flight when the application
 * once had too little to send.  A batch that was sent at the pace or with the
 * window that its ratio allowed was not limited by the application.
 */
static DCC_NOINLINE bool dcc_oscar_used_its_share(const struct dcc_oscar *s,
						  const struct dcc_estimate *e)
{
	const struct dcc_oscar_scale *c = &s->scale;
	u32 us_q24 = dcc_oscar_ratio_at(s, e->first_ns);
	u64 windowed = dcc_div_u64((u64)us_q24 * c->target_ns, c->byte_ns_q24);
	u64 sent = dcc_oscar_rate_ratio(s, e->acked_after_first_bytes, e->last_ns - e->first_ns, 0);

	return sent * 16 >= (u64)us_q24 * 15 || e->sum_inflight_bytes >= windowed * e->count;
}

#endif /* DCC_OSCAR_MODEL_H */

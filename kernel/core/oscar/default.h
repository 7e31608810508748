/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: the default control law (the algorithm oscar).
 *
 * Two things run on every acknowledgment, the drain's prediction (drain.h) and
 * the rate probe (probe.h).  Once per batch dcc_oscar_decide_default() puts
 * the batch into one of four phases:
 *
 *	EMPTY	no queue: begin a rate probe
 *	FILL	a short queue that hardly changes: rate loop, and a little more
 *	HOLD	near the target: window loop, from the ratio in force
 *	STEER	else: Algorithm 2's two loops; after a cut for a long queue, no
 *		second cut until that queue can have drained
 */
#ifndef DCC_OSCAR_DEFAULT_H
#define DCC_OSCAR_DEFAULT_H

#include "drain.h"
#include "probe.h"

/* "Hardly changes": |gradient| below 0.15. */
#define DCC_OSCAR_LEVEL_GRADIENT_Q16 9830

/* The additive step, in U_AI: the smaller of 1 + 14 u and 5 - 10 u, at least 1. */
#define DCC_OSCAR_AI_RISE 14
#define DCC_OSCAR_AI_FEW 5

/* U_AI counts once per decision since the reference state, up to so many times. */
#define DCC_OSCAR_AI_STEPS 3

/*
 * So many batches in a row, 32 base RTTs, within such a part of their longer queue say that flows
 * of longer paths hold it.
 */
#define DCC_OSCAR_NEXT_QUEUE_BATCHES 64U
#define DCC_OSCAR_NEXT_QUEUE_NEAR 4U

/* The mean excess is that of 32 decisions or so. */
#define DCC_OSCAR_EXCESS_SHIFT 5

static inline void dcc_oscar_steer_init(struct dcc_oscar_steer *m, u64 not_before_ns)
{
	m->raised_ns = 0;
	m->excess_ns = 0;
	m->decided_ns = not_before_ns;
	m->cut_ns = 0;
	m->drained_ns = 0;
}

/* ---- every acknowledgment ----------------------------------------------- */

/* The clock went back, and every remembered time is in the future. */
static DCC_NOINLINE void dcc_oscar_forget_times(struct dcc_oscar *s)
{
	dcc_oscar_forget_points(s);
	s->probe.phase = DCC_OSCAR_PROBE_NONE;
	s->drain.high_send_ns = 0;
	s->steer.raised_ns = 0;
	s->drain.predicted_q24 = 0;
	s->drain.sent_ns = 0;
}

/* The queue has drained: take the predicted share.  True when u rose to it. */
static DCC_NOINLINE bool dcc_oscar_refill(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	u32 share_q24 = s->drain.predicted_q24;

	s->drain.predicted_q24 = 0;
	if (share_q24 <= s->u_q24 || !dcc_oscar_calm(s, ack->send_ns))
		return false;
	s->steer.raised_ns = ack->now_ns;
	s->last.delay_ns = ack->rtt_ns;
	/* And a probe, to see whether there is still more. */
	share_q24 += (u32)dcc_scale_q24(share_q24, dcc_oscar_margin_q24(s));
	dcc_oscar_set_ratio(s, ack->now_ns, share_q24, DCC_OSCAR_REFILL);
	dcc_oscar_probe_begin(s, ack->now_ns);
	return true;
}

/* An acknowledgment in which there may be news.  True when window or rate change. */
static DCC_NOINLINE bool dcc_oscar_watch_closely(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	struct dcc_oscar_drain *d = &s->drain;
	u64 send_ns = ack->send_ns;
	u32 rtt_ns = ack->rtt_ns;
	bool changed = false;

	d->delivered_bytes += ack->acked_bytes;
	if (ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))
		return false;

	if (d->sent_ns > ack->now_ns)
		dcc_oscar_forget_times(s);
	else if (send_ns > d->sent_ns && send_ns - d->sent_ns > s->batch.gap_ns)
		dcc_oscar_forget_points(s);
	if (d->predicted_q24 && rtt_ns > (u64)d->sample_ns + DCC_OSCAR_RISE_NS)
		d->predicted_q24 = 0;
	dcc_oscar_remember(s, send_ns, rtt_ns);

	if (s->probe.phase != DCC_OSCAR_PROBE_NONE)
		changed = DCC_BPF_SUBPROG(dcc_oscar_probe_step)(s, ack);
	if (send_ns >= d->due_ns) {
		/* A look back, if there was a drop at all. */
		if (dcc_sub_sat_u32(d->peak_ns, rtt_ns) >= dcc_oscar_drop_ns(&s->scale))
			DCC_BPF_SUBPROG(dcc_oscar_measure_drop)(s, ack);
		dcc_oscar_note_point(s, ack);
	}
	if (d->predicted_q24 && rtt_ns <= s->scale.empty_ns)
		changed |= dcc_oscar_refill(s, ack);
	return changed;
}

/*
 * Every acknowledgment.  True when window or rate change.  Of a flow that goes
 * on as it did there is only something to remember: as in
 * dcc_oscar_watch_closely(), without what does not apply.
 */
static inline bool dcc_oscar_watch(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	struct dcc_oscar_drain *d = &s->drain;
	u64 send_ns = ack->send_ns;
	u32 rtt_ns = ack->rtt_ns;
	bool due = false;

	/* An older packet wraps to a huge difference, more than any gap. */
	if (DCC_UNLIKELY((ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) ||
			 d->sent_ns > ack->now_ns || send_ns - d->sent_ns > s->batch.gap_ns ||
			 d->predicted_q24 || s->probe.phase != DCC_OSCAR_PROBE_NONE))
		return dcc_oscar_watch_closely(s, ack);
	if (send_ns >= d->due_ns) {
		if (dcc_sub_sat_u32(d->peak_ns, rtt_ns) >= dcc_oscar_drop_ns(&s->scale))
			return dcc_oscar_watch_closely(s, ack);
		due = true;
	}

	d->delivered_bytes += ack->acked_bytes;
	dcc_oscar_remember(s, send_ns, rtt_ns);
	if (due)
		dcc_oscar_note_point(s, ack);
	return false;
}

/* ---- once per batch ------------------------------------------------------ */

static inline bool dcc_oscar_within(u64 a, u64 b, u64 distance)
{
	return (a > b ? a - b : b - a) <= distance;
}

/*
 * u_w, but from the ratio in force where the bytes in flight agree, to a
 * packet, with what pacing (us * delay * mu) or the window (us * D_target * mu)
 * allowed: whole packets are too coarse for U_AI = 0.001 to survive u_w.
 */
static inline u32 dcc_oscar_window_ratio_exact(const struct dcc_oscar *s,
					       const struct dcc_estimate *e, u32 us_q24)
{
	const struct dcc_oscar_scale *c = &s->scale;
	/* All as times on the line (Q24), which takes one division. */
	u64 inflight = dcc_mulshift_u64(dcc_div_u64(e->sum_inflight_bytes, e->count),
					c->byte_ns_q24, 0);

	if (dcc_oscar_within(inflight, (u64)us_q24 * e->delay_ns, c->packet_ns_q24))
		return us_q24;
	if (dcc_oscar_within(inflight, (u64)us_q24 * c->target_ns, c->packet_ns_q24))
		return dcc_oscar_scale_to_target(s, e, us_q24);
	return dcc_oscar_window_ratio(s, e);
}

/*
 * The additive step, which alone makes shares equal.  What counts is how much
 * more of itself a small flow gains than a large one.  A part of the step in
 * proportion to u is a factor common to all flows; the window loop takes it
 * away again, and it only changes how far n flows hold the queue above its
 * target: n steps.  So there are two lines.  5 - 10 u makes up to six flows
 * equal five times faster than U_AI, at the steps of only 5 n - 10.  For many
 * flows such steps would be too much queue; 1 + 14 u, as fast as U_AI alone for
 * any number of flows, joins it to the U_AI of an incast.
 */
static inline u32 dcc_oscar_ai_step(const struct dcc_oscar *s)
{
	u32 u_ai_q24 = s->scale.u_ai_q24;
	u32 many_q24 = u_ai_q24 +
		(u32)dcc_scale_q24((u64)u_ai_q24 * DCC_OSCAR_AI_RISE, s->u_q24);
	u32 few_q24 = dcc_sub_sat_u32(u_ai_q24 * DCC_OSCAR_AI_FEW,
				      (u32)dcc_scale_q24((u64)u_ai_q24 * 2 * DCC_OSCAR_AI_FEW,
							 s->u_q24));

	return dcc_max_u32(u_ai_q24, dcc_min_u32(many_q24, few_q24));
}

/*
 * The step for each decision since the reference state, 1 to 3 of them: what was
 * added since then is not in that state.  A flow of few packets decides once
 * per feedback, and gets one step.
 */
static inline u32 dcc_oscar_ai_since(const struct dcc_oscar *s, u64 first_ns, u64 now_ns)
{
	u32 ai_q24 = dcc_oscar_ai_step(s);
	/* Two minutes at most: the product below fits, also after the clock went back. */
	u64 interval_ns = dcc_clamp_u64(now_ns - s->steer.decided_ns, s->scale.tau_ns, 1ULL << 37);
	u64 elapsed_ns = now_ns - first_ns;

	if (elapsed_ns >= interval_ns * DCC_OSCAR_AI_STEPS)
		return ai_q24 * DCC_OSCAR_AI_STEPS;
	if (elapsed_ns <= interval_ns)
		return ai_q24;
	return (u32)dcc_div_u64(ai_q24 * elapsed_ns, interval_ns);
}

/*
 * HOLD: the window loop from the ratio in force when the batch was sent.
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
static inline u32 dcc_oscar_hold(struct dcc_oscar *s, const struct dcc_estimate *e, u32 us_q24)
{
	const struct dcc_oscar_scale *c = &s->scale;
	u32 queue_ns = c->target_ns - c->base_ns;
	u32 aim_ns = c->target_ns;
	u32 u_q24;

	s->steer.excess_ns += (s64)e->delay_ns - c->target_ns -
			      (s->steer.excess_ns >> DCC_OSCAR_EXCESS_SHIFT);
	if (s->steer.excess_ns > 0)
		aim_ns -= (u32)dcc_min_u64((u64)s->steer.excess_ns >> 3, queue_ns);
	u_q24 = (u32)dcc_min_u64(dcc_div_u64((u64)us_q24 * aim_ns, e->delay_ns), DCC_RATIO_ONE);
	return u_q24 / 2 + s->u_q24 / 2;
}

/*
 * FILL: pacing is the limit, so the windows say nothing, and neither loop would
 * ever fill the queue.  The rate loop for balance, and on top of it half of what
 * is missing, at most an eighth: the queue nears its target without overshoot.
 */
static inline u32 dcc_oscar_fill(const struct dcc_oscar *s, const struct dcc_estimate *e,
				 u32 us_q24)
{
	u32 u_q24 = e->slope_valid ? dcc_oscar_rate_ratio_unbiased(s, e) : us_q24;
	u32 missing_q24 = dcc_ratio_q24((s->scale.target_ns - e->delay_ns) / 2, e->delay_ns);

	return u_q24 + (u32)dcc_scale_q24(u_q24, dcc_min_u32(missing_q24, DCC_RATIO_ONE / 8));
}

/*
 * After a cut for a long queue, is what is left of it old packets?  Every flow
 * has cut.  A flow that has but its new, small window in flight would take the
 * rest of the queue for the others' windows and cut again, in a large incast
 * down to nothing.  So packets sent since the cut are no reason to cut again
 * until the excess that it answered can have drained, which takes as long as
 * the excess is.
 */
static inline bool dcc_oscar_draining(const struct dcc_oscar *s, const struct dcc_estimate *e)
{
	return e->first_ns >= s->steer.cut_ns && e->first_ns < s->steer.drained_ns;
}

/*
 * STEER: Algorithm 2's two loops.  Below the target the rate loop is heard only
 * while it is calm (dcc_oscar_calm()).  False: a cut that has to wait.
 */
static inline bool dcc_oscar_two_loops(struct dcc_oscar *s, const struct dcc_estimate *e,
				       u64 now_ns, u32 us_q24, u32 *u_q24, u32 *branch)
{
	const struct dcc_oscar_scale *c = &s->scale;
	bool accelerate = e->delay_ns < c->target_ns - dcc_oscar_band_ns(c);
	u32 u_w = dcc_oscar_window_ratio_exact(s, e, us_q24);
	u32 u_r = u_w;

	if (!accelerate || dcc_oscar_calm(s, e->last_ns))
		u_r = dcc_oscar_rate_ratio_unbiased(s, e);
	*u_q24 = dcc_oscar_coordinate(e, accelerate, u_w, u_r, branch);
	if (e->delay_ns > c->high_ns && *u_q24 < s->u_q24) {
		if (dcc_oscar_draining(s, e))
			return false;
		s->steer.cut_ns = now_ns;
		s->steer.drained_ns = now_ns + (e->delay_ns - c->target_ns);
	}
	return true;
}

/* To be called when the path has changed, with next_queue_ns from dcc_oscar_next_queue_ns(). */
static inline void dcc_oscar_use_queue(struct dcc_oscar *s, u32 next_queue_ns)
{
	struct dcc_oscar_scale *c = &s->scale;

	if (DCC_LIKELY(!next_queue_ns))
		return;
	c->queue_ns = s->drain.next_queue ?
		next_queue_ns : dcc_oscar_default_queue_ns(c->base_ns, c->path.noise_ns);
	dcc_oscar_set_target(c, c->base_ns + c->queue_ns);
	dcc_oscar_scale_target(s);
}

/*
 * A path that is just short of the next automatic target queue, once per batch.  In one queue with
 * paths just beyond, which hold that longer queue, its flows would see a queue above their target
 * for ever, and shrink to nothing.  So they take the longer queue for their own if it stays, until
 * it is empty.  Hundreds of flows can hold so long a queue by themselves: at worst they have what
 * a path a third longer would have.
 */
static DCC_NOINLINE void dcc_oscar_watch_next_queue(struct dcc_oscar *s, u32 next_queue_ns,
						    const struct dcc_estimate *e)
{
	struct dcc_oscar_scale *c = &s->scale;
	struct dcc_oscar_drain *d = &s->drain;

	if (!dcc_oscar_within(e->delay_ns, (u64)c->base_ns + next_queue_ns,
			      next_queue_ns / DCC_OSCAR_NEXT_QUEUE_NEAR))
		d->next_batches = 0;
	else if (d->next_batches < DCC_OSCAR_NEXT_QUEUE_BATCHES)
		d->next_batches++;
	if (d->next_queue ? e->delay_ns > c->empty_ns :
			    d->next_batches < DCC_OSCAR_NEXT_QUEUE_BATCHES)
		return;
	d->next_queue = !d->next_queue;
	dcc_oscar_use_queue(s, next_queue_ns);
}

enum dcc_oscar_phase {
	DCC_OSCAR_PHASE_EMPTY,
	DCC_OSCAR_PHASE_FILL,
	DCC_OSCAR_PHASE_HOLD,
	DCC_OSCAR_PHASE_STEER,
};

static inline enum dcc_oscar_phase dcc_oscar_phase_of(const struct dcc_oscar_scale *c,
						      const struct dcc_estimate *e)
{
	if (e->delay_ns <= c->empty_ns)
		return DCC_OSCAR_PHASE_EMPTY;
	/* Noise decides about the gradient here, so one jump for both of its limits. */
	if (e->delay_ns >= c->target_ns + c->near_ns ||
	    (u32)(e->gradient_q16 + DCC_OSCAR_LEVEL_GRADIENT_Q16 - 1) >
	    2 * (DCC_OSCAR_LEVEL_GRADIENT_Q16 - 1))
		return DCC_OSCAR_PHASE_STEER;
	return e->delay_ns + c->near_ns < c->target_ns ? DCC_OSCAR_PHASE_FILL :
							 DCC_OSCAR_PHASE_HOLD;
}

/* The ratio that a closed batch gives. */
static inline u32 dcc_oscar_decide_default(struct dcc_oscar *s, const struct dcc_estimate *e,
					   const struct dcc_ack *ack, u32 *branch)
{
	u32 next_queue_ns = dcc_oscar_next_queue_ns(&s->scale);
	enum dcc_oscar_phase phase;
	u32 us_q24, u_q24, ai_q24;

	if (DCC_UNLIKELY(next_queue_ns))
		DCC_BPF_SUBPROG(dcc_oscar_watch_next_queue)(s, next_queue_ns, e);
	phase = dcc_oscar_phase_of(&s->scale, e);
	if (phase == DCC_OSCAR_PHASE_EMPTY) {
		*branch = DCC_OSCAR_EMPTY;
		if (e->first_ns > s->steer.raised_ns && dcc_oscar_probe_begin(s, ack->now_ns))
			*branch = DCC_OSCAR_PROBE_BEGIN;
		return s->u_q24 + s->scale.u_ai_q24;
	}

	us_q24 = dcc_oscar_ratio_at(s, e->first_ns);
	ai_q24 = dcc_oscar_ai_since(s, e->first_ns, ack->now_ns);
	*branch = DCC_OSCAR_NEAR;
	switch (phase) {
	case DCC_OSCAR_PHASE_FILL:
		u_q24 = dcc_oscar_fill(s, e, us_q24);
		ai_q24 /= 2;
		break;
	case DCC_OSCAR_PHASE_HOLD:
		u_q24 = dcc_oscar_hold(s, e, us_q24);
		ai_q24 /= 2;
		break;
	default:
		if (!dcc_oscar_two_loops(s, e, ack->now_ns, us_q24, &u_q24, branch)) {
			*branch = DCC_OSCAR_WAIT_DRAIN;
			return s->u_q24;
		}
	}
	u_q24 += ai_q24;
	/* A batch sent before the last rise must not undo it, unless the queue is long. */
	if (e->first_ns < s->steer.raised_ns && ack->rtt_ns < s->scale.target_ns &&
	    u_q24 < s->u_q24) {
		*branch = DCC_OSCAR_KEEP;
		return s->u_q24;
	}
	return u_q24;
}

#endif /* DCC_OSCAR_DEFAULT_H */

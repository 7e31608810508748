/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: the queue is draining.  Which share of the link becomes free?
 *
 * While other flows' packets drain and no new ones come, this flow's
 * rate / (1 + slope of the delay) is its own delivery rate, which soon is the
 * link's.  A ring of delays, one each tau / 6, gives the slope.  The prediction
 * is only used at the acknowledgment that shows the queue empty: a pause of
 * other flows makes the same slope as their departure, but only a departure
 * empties the queue.
 */
#ifndef DCC_OSCAR_DRAIN_H
#define DCC_OSCAR_DRAIN_H

#include "model.h"

/* A rise of the delay from one packet to the next that ends a drain. */
#define DCC_OSCAR_RISE_NS 500U

/* Taken on top of the predicted share. */
#define DCC_OSCAR_MARGIN_MIN (DCC_RATIO_ONE / 16)
#define DCC_OSCAR_MARGIN_SURE (DCC_RATIO_ONE / 4)

static inline void dcc_oscar_drain_init(struct dcc_oscar_drain *d, u32 base_ns)
{
	u32 i;

	d->sent_ns = 0;
	d->due_ns = 0;
	d->high_send_ns = 0;
	d->sample_ns = base_ns;
	d->peak_ns = 0;
	d->predicted_q24 = 0;
	d->least_ns = 0;
	d->delivered_bytes = 0;
	for (i = 0; i < DCC_OSCAR_POINTS; i++) {
		d->point_send_ns[i] = 0;
		d->point_delay_ns[i] = 0;
		d->point_delivered[i] = 0;
	}
	d->head = 0;
	d->next_queue = 0;
	d->next_batches = 0;
}

/*
 * After a long queue other flows pause and come back, which looks as if they
 * had left.  Only while no packet sent in the last two base RTTs saw a long
 * queue does a draining queue mean that the link becomes free.
 */
static inline bool dcc_oscar_calm(const struct dcc_oscar *s, u64 send_ns)
{
	return send_ns - s->drain.high_send_ns > 2 * (u64)s->scale.base_ns;
}

/*
 * The share that a drop of the delay down to this acknowledgment predicts, over
 * the longest spans there are: the packets of small flows come too rarely for
 * short spans.  A span that is not wholly within the drain predicts too little,
 * so the largest prediction counts.
 */
static DCC_NOINLINE void dcc_oscar_measure_drop(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	const struct dcc_oscar_scale *c = &s->scale;
	struct dcc_oscar_drain *d = &s->drain;
	u32 peak_ns = 0;
	u32 i;

	for (i = 0; i < DCC_OSCAR_POINTS; i++) {
		u64 span_ns = ack->send_ns - d->point_send_ns[i];
		u32 delay_ns = d->point_delay_ns[i];
		u32 drop_ns = dcc_sub_sat_u32(delay_ns, ack->rtt_ns);
		u64 rest_ns;
		u32 u_q24;

		if (delay_ns > c->high_ns)
			continue;
		peak_ns = dcc_max_u32(peak_ns, delay_ns);
		/* A slope of -0.3 or steeper, over four tau at most. */
		if (drop_ns < dcc_oscar_drop_ns(c) || (u64)drop_ns * 10 < span_ns * 3 ||
		    span_ns > (u64)c->tau_ns * 4)
			continue;
		u_q24 = dcc_oscar_rate_ratio(s, d->delivered_bytes - d->point_delivered[i],
					     span_ns, 0);
		u_q24 = dcc_min_u32(u_q24, dcc_oscar_ratio_at(s, d->point_send_ns[i]));
		/* 1 + slope, as a part of the span; 0.05 is as near to zero as the clock allows. */
		rest_ns = dcc_max_u64(dcc_sub_sat_u64(span_ns, drop_ns),
				      dcc_max_u32((u32)span_ns / 20, 1));
		u_q24 = (u32)dcc_min_u64(dcc_div_u64(u_q24 * span_ns, rest_ns), DCC_RATIO_ONE);
		d->predicted_q24 = dcc_max_u32(d->predicted_q24, u_q24);
	}
	d->peak_ns = peak_ns;
}

/* Put a sample into the ring. */
static inline void dcc_oscar_note_point(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	struct dcc_oscar_drain *d = &s->drain;
	u32 head = d->head & (DCC_OSCAR_POINTS - 1);

	if (ack->rtt_ns <= s->scale.high_ns)
		d->peak_ns = dcc_max_u32(d->peak_ns, ack->rtt_ns);
	d->point_send_ns[head] = ack->send_ns;
	d->point_delay_ns[head] = ack->rtt_ns;
	d->point_delivered[head] = d->delivered_bytes;
	d->head = (u8)((head + 1) & (DCC_OSCAR_POINTS - 1));
	d->due_ns = ack->send_ns + s->scale.point_ns;
}

/* A drop of the delay across a pause of this flow's own is not the queue's slope. */
static DCC_NOINLINE void dcc_oscar_forget_points(struct dcc_oscar *s)
{
	u32 i;

	for (i = 0; i < DCC_OSCAR_POINTS; i++)
		s->drain.point_delay_ns[i] = 0;
	s->drain.peak_ns = 0;
	s->drain.due_ns = 0;
}

/* Every sample. */
static inline void dcc_oscar_remember(struct dcc_oscar *s, u64 send_ns, u32 rtt_ns)
{
	s->drain.sent_ns = dcc_max_u64(s->drain.sent_ns, send_ns);
	if (rtt_ns > s->scale.high_ns)
		s->drain.high_send_ns = send_ns;
	s->drain.sample_ns = rtt_ns;
}

/*
 * Was one interval between two packets of this flow wholly within the drain?
 * It was if the delay had begun to drop before the interval, and the queue was
 * not empty at the interval's end.  Its slope is then the drain's own.
 */
static inline bool dcc_oscar_drop_is_sure(const struct dcc_oscar *s)
{
	const struct dcc_oscar_drain *d = &s->drain;
	u32 step_ns = (s->scale.target_ns - s->scale.base_ns) / 16;
	u32 end = d->head - 2; /* the newest point is the one that found the queue empty */
	u32 end_ns = d->point_delay_ns[end & (DCC_OSCAR_POINTS - 1)];
	u32 start_ns = d->point_delay_ns[(end - 1) & (DCC_OSCAR_POINTS - 1)];
	u32 before_ns = d->point_delay_ns[(end - 2) & (DCC_OSCAR_POINTS - 1)];

	return end_ns > s->scale.empty_ns && dcc_sub_sat_u32(start_ns, end_ns) >= step_ns &&
	       dcc_sub_sat_u32(before_ns, start_ns) >= step_ns;
}

/*
 * How much more than predicted to take.  A span that begins before the drain or
 * ends after it predicts too little, the more so the longer the interval
 * between this flow's packets is, relative to the time that the target's queue
 * takes to drain.  The margin is four times the square of that relation, at
 * least 1/16, at most 1/4.  If the relation is a half or more and no slope is
 * sure, the margin may be up to 4: a guess on the large side, which one
 * feedback corrects.
 */
static inline u32 dcc_oscar_margin_q24(const struct dcc_oscar *s)
{
	const struct dcc_oscar_scale *c = &s->scale;
	u32 seen = (s->drain.head - 2) & (DCC_OSCAR_POINTS - 1);
	u32 us_q24 = dcc_oscar_ratio_at(s, s->drain.point_send_ns[seen]);
	u64 interval_ns = dcc_min_u64(dcc_div_u64(c->packet_ns_q24, us_q24), 1ULL << 40);
	u64 rare_q12 = dcc_min_u64(dcc_div_u64(interval_ns << 12, c->target_ns - c->base_ns),
				   1 << 12);
	u32 margin_q24 = dcc_max_u32(4 * (u32)(rare_q12 * rare_q12), DCC_OSCAR_MARGIN_MIN);

	if (margin_q24 < DCC_RATIO_ONE || dcc_oscar_drop_is_sure(s))
		return dcc_min_u32(margin_q24, DCC_OSCAR_MARGIN_SURE);
	return margin_q24;
}

#endif /* DCC_OSCAR_DRAIN_H */

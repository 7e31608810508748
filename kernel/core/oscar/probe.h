/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: the rate probe.  An empty queue carries no signal, so the flow makes
 * one: it sends at twice its rate for a quarter of a base RTT and reads the
 * delay of the last of those packets.  A wrong guess costs a quarter of an RTT
 * of excess, not the RTT + tau that pass before growth can be judged.
 *
 *	NONE --begin: a batch without a queue, or a drained one--> SENDING
 *	SENDING --its time is over--> AWAITED
 *	AWAITED --a packet sent after it is acknowledged--> judge:
 *		no queue: u is the probe's rate  --> SENDING again, at twice that
 *		a queue: u stays --> NONE
 *	any --loss, timeout, clock went back--> NONE
 */
#ifndef DCC_OSCAR_PROBE_H
#define DCC_OSCAR_PROBE_H

#include "model.h"

/* A probe has at least so many packets: fewer hardly make a queue. */
#define DCC_OSCAR_PROBE_PACKETS 4

static inline void dcc_oscar_probe_init(struct dcc_oscar_probe *p)
{
	p->phase = DCC_OSCAR_PROBE_NONE;
	p->ratio_q24 = 0;
	p->from_ns = 0;
	p->to_ns = 0;
	p->delay_ns = 0;
}

/*
 * Begin a probe, which lasts a quarter of a base RTT, or as long as four
 * packets take.  u itself stays until the probe is judged.  False: a probe is
 * under way, or u is 1.
 */
static inline bool dcc_oscar_probe_begin(struct dcc_oscar *s, u64 now_ns)
{
	const struct dcc_oscar_scale *c = &s->scale;
	struct dcc_oscar_probe *p = &s->probe;
	u64 train_ns;

	if (p->phase != DCC_OSCAR_PROBE_NONE || s->u_q24 >= DCC_RATIO_ONE)
		return false;
	p->ratio_q24 = dcc_min_u32(2 * s->u_q24, DCC_RATIO_ONE);
	train_ns = dcc_div_u64(c->packet_ns_q24 * DCC_OSCAR_PROBE_PACKETS, p->ratio_q24);
	p->phase = DCC_OSCAR_PROBE_SENDING;
	p->from_ns = now_ns;
	train_ns = dcc_clamp_u64(train_ns, c->base_ns / 4, 4 * (u64)c->base_ns);
	p->to_ns = now_ns + train_ns;
	p->delay_ns = 0;
	return true;
}

/*
 * All of the probe's packets are acknowledged.  If the delay of the last one
 * stayed at the base RTT, all of the probe's rate is to be had.  True when u
 * changed.
 */
static inline bool dcc_oscar_probe_judge(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	const struct dcc_oscar_scale *c = &s->scale;
	struct dcc_oscar_probe *p = &s->probe;
	u32 margin_ns = (c->empty_ns - c->base_ns) / 2;

	p->phase = DCC_OSCAR_PROBE_NONE;
	if (!p->delay_ns || p->delay_ns > c->base_ns + margin_ns)
		return false;
	s->steer.raised_ns = ack->now_ns;
	s->last.delay_ns = p->delay_ns;
	s->last.gradient_q16 = 0;
	dcc_oscar_set_ratio(s, ack->now_ns, dcc_max_u32(s->u_q24, p->ratio_q24),
			    DCC_OSCAR_PROBE_FREE);
	dcc_oscar_probe_begin(s, ack->now_ns);
	return true;
}

/* Every sample while a probe is under way.  True when window or rate change. */
static DCC_NOINLINE bool dcc_oscar_probe_step(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	struct dcc_oscar_probe *p = &s->probe;
	bool changed = false;

	if (p->phase == DCC_OSCAR_PROBE_SENDING && ack->now_ns >= p->to_ns) {
		p->phase = DCC_OSCAR_PROBE_AWAITED;
		p->to_ns = ack->now_ns;
		s->last.branch = DCC_OSCAR_PROBE_END;
		changed = true;
	}
	if (ack->send_ns < p->from_ns)
		return changed;
	if (p->phase == DCC_OSCAR_PROBE_AWAITED && ack->send_ns > p->to_ns)
		return dcc_oscar_probe_judge(s, ack) || changed;
	p->delay_ns = ack->rtt_ns;
	return changed;
}

#endif /* DCC_OSCAR_PROBE_H */

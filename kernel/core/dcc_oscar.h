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
 *   Delay and gradient each say how far the sum is from 1, in complementary
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
 *   A small constant U_AI after every step makes shares equal in time.
 *
 *   acknowledgment -> dcc_batch (about tau of packets) -> decide -> u -> window, rate
 *
 * The algorithms
 *   oscar_paper	Algorithms 1 and 2 as printed, but for the first list below
 *   oscar	the default, with the second list as well
 *
 * Where what is
 *   oscar/params.h	parameters, ranges, what follows from them
 *   oscar/model.h	state, the ratio's history, the two loops' ratios, window and rate
 *   oscar/paper.h	Algorithm 2
 *   oscar/default.h	the default law: its phases
 *   oscar/drain.h	the queue drains: which share becomes free?
 *   oscar/probe.h	the rate probe
 *   this file		what a caller calls: init, restart, ack, loss, rto
 *
 * Line of Algorithm 2 | default | why
 *   4   delay == RTT_base | the same, within 1 us	| no measured delay is ever equal
 *   5   u += U_HAI	   | rate probe, then u = what it found | growth can be judged only
 *			     after RTT + tau; blind steps are too small or too large
 *   7   u_w		   | from the ratio in force, if the bytes in flight agree with it
 *			     | whole packets are too coarse for U_AI
 *   8   u_r		   | n - 1 intervals in place of n; not for a draining queue's
 *			     first two base RTTs after a long one | 1.5 times too high at n = 3;
 *			     flows that pause look like flows that have left
 *   9-10 max or min	   | near the target the window loop alone (HOLD), below a level
 *			     queue the rate loop and a little more (FILL) | there the rate loop
 *			     adds only noise, and neither loop fills a short queue
 *   10			   | no second cut before the first can have drained the queue
 *			     | the rest of the queue is other flows' old packets
 *   11  u += U_AI	   | per tau since the reference state; larger where few flows share
 *			     | shares are equal three times sooner
 *   12  max(.., BDP)	   | min(.., BDP of the least delay seen) | the paper's prose says
 *			     min; a base RTT that is told too low must not cap a lone flow
 *   -			   | when the queue has drained, u = the share that its slope
 *			     predicted | the paper's law needs RTT + tau for each step there
 *
 * Differences from the paper, of both algorithms
 *   1. Algorithm 2, line 12 prints max(u * D_target * mu, BDP).  The prose ("does not set the
 *      window above the base BDP") wants min, and max would give every flow of an incast a
 *      full BDP.
 *   2. "delay == RTT_base" is "delay <= RTT_base + 1 us": no measured delay is ever equal.
 *      The paper calls this epsilon without a value; below 4 us of queue target it is a
 *      quarter of that target.
 *   3. u is capped at 1 and floored at 2^-14, the gradient floored at -0.9: a sum of rates
 *      below a tenth of the line cannot be distinguished from an empty queue's noise.
 *   4. A batch wider than 3 tau, or with pauses that its flow makes all the time, has no
 *      gradient and no rate; u_w alone decides.  (One line through several states of the
 *      network is none.)
 *   5. Reference state (inflight, rate) is kept by the sender, not carried in headers, and is
 *      in bytes, so acknowledgment coalescing needs no counts from the receiver.
 *   6. The paper has no loss handling.  Here: at most once per RTT, and not again before a
 *      decision on packets sent after it, u falls to a half, or to 7/8 when the delay is
 *      below target (then the queue is not what dropped the packet, unless the buffer is
 *      shallow).  With an empty queue u stays: the loss was not congestion.  A timeout leaves a
 *      window of one packet.
 *   7. Packets sent while the application had too little to send say nothing of what the flow
 *      could do: below target they leave u as it is, above it u is scaled by D_target /
 *      delay from the ratio in force, not from the bytes in flight.
 *   8. Windows below one packet are allowed (the caller paces below one packet per RTT): with
 *      a floor of one packet, 1000 flows stand at 1.4 MB instead of the paper's 900 KB.
 *
 * Differences from the paper, of oscar alone
 *   9. The rate is the bytes after the batch's first packet over first..last.  n * MTU over
 *      n - 1 intervals reads up to 1.5 times too high at n = 3.
 *  10. A batch starts anew behind a pause in sending (oscar/batch.h).  Across a pause the rate
 *      reads low, and the flow gives its share away.
 *  11. Within 0.5 us below D_target it brakes (min), not accelerates: around the target noise
 *      would otherwise choose the larger of two noisy ratios.
 *  12. The drain's prediction, the rate probe, and the phases FILL and HOLD have no
 *      counterpart in the paper; they are explained where they stand.  U_HAI is not used.
 *  13. U_AI counts once per tau since the reference state, up to three times, not once per
 *      decision, and is up to 3.3 times as much for the shares of few flows
 *      (dcc_oscar_ai_step()).
 *  14. Bytes in flight within a packet of what window or pacing allowed are taken as exactly
 *      that (dcc_oscar_window_ratio_exact()).
 *  15. More than the predicted share is taken: a sixteenth to a quarter, the more the fewer
 *      packets of the flow saw the drain, and up to four times when they are too few for any
 *      slope (dcc_oscar_margin_q24()).
 *  16. D_target depends on the flow's share where the hosts' noise is measured
 *      (dcc_oscar_noise_scaling_ns()), or where flow_scaling_ppm says so.
 *  17. The automatic D_target is no multiple of the base RTT (dcc_oscar_default_queue_ns()).  A
 *      path just short of the next longer queue takes that where flows of longer paths hold it
 *      (dcc_oscar_watch_next_queue()).
 */
#ifndef DCC_OSCAR_H
#define DCC_OSCAR_H

#include "oscar/default.h"
#include "oscar/paper.h"

/* Line rate, no history; packets sent before not_before_ns do not count. */
static inline void dcc_oscar_start(struct dcc_oscar *s, u64 not_before_ns)
{
	u32 i;

	dcc_batch_init(&s->batch, s->scale.tau_ns, DCC_BATCH_NO_GAP);
	dcc_batch_restart(&s->batch, not_before_ns);
	for (i = 0; i < DCC_OSCAR_RATIOS; i++) {
		s->history.since_ns[i] = 0;
		s->history.ratio_q24[i] = DCC_RATIO_ONE;
	}
	s->history.head = 0;
	s->loss.reacted_ns = 0;
	s->loss.holds = 0;
	dcc_oscar_steer_init(&s->steer, not_before_ns);
	dcc_oscar_drain_init(&s->drain, s->scale.base_ns);
	dcc_oscar_probe_init(&s->probe);
	s->last.delay_ns = s->scale.base_ns;
	s->last.gradient_q16 = 0;
	dcc_oscar_set_ratio(s, not_before_ns, DCC_RATIO_ONE, DCC_OSCAR_START);
}

/* A flow starts at line rate, u = 1 (section 4.2). */
static inline void dcc_oscar_init(struct dcc_oscar *s, const struct dcc_path *path,
				  const struct dcc_oscar_params *p, struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_oscar_derive)(&s->scale, path, p);
	dcc_oscar_start(s, 0);
	dcc_oscar_control(s, out);
}

/*
 * After an idle period, or on another path: what was learned is void, and the
 * flow starts as a new one does.
 */
static inline void dcc_oscar_restart(struct dcc_oscar *s, const struct dcc_path *path,
				     const struct dcc_oscar_params *p, u64 now_ns,
				     struct dcc_control *out)
{
	DCC_BPF_SUBPROG(dcc_oscar_derive)(&s->scale, path, p);
	dcc_oscar_start(s, now_ns);
	dcc_oscar_control(s, out);
}

/* A complete batch: which law applies, and the ratio it gives. */
static inline void dcc_oscar_decide(struct dcc_oscar *s, const struct dcc_estimate *e,
				    const struct dcc_ack *ack)
{
	u32 branch = DCC_OSCAR_APP_LIMITED, u_q24;
	bool app_limited = false;
	struct dcc_estimate copy;

	if (DCC_UNLIKELY(e->app_limited)) {
		/* A copy: an estimate whose address is passed on has to be in memory. */
		copy = *e;
		app_limited = !dcc_oscar_used_its_share(s, &copy);
	}
	if (app_limited)
		u_q24 = dcc_oscar_app_limited(s, &copy);
	else if (s->scale.params.paper)
		u_q24 = dcc_oscar_paper_decide(s, e, &branch);
	else
		u_q24 = dcc_oscar_decide_default(s, e, ack, &branch);

	s->steer.decided_ns = ack->now_ns;
	s->last.delay_ns = e->delay_ns;
	s->last.gradient_q16 = e->gradient_q16;
	s->loss.holds = 0;
	dcc_oscar_set_ratio(s, ack->now_ns, u_q24, branch);
}

/* A batch is complete: decide on it, and begin the next one. */
static DCC_NOINLINE void dcc_oscar_close(struct dcc_oscar *s, const struct dcc_path *path,
					 const struct dcc_oscar_params *p,
					 const struct dcc_ack *ack)
{
	struct dcc_estimate e;

	dcc_batch_close(&s->batch, &e);
	if (!p->paper && (!s->drain.least_ns || e.delay_ns < s->drain.least_ns))
		s->drain.least_ns = e.delay_ns;
	if (DCC_UNLIKELY(dcc_oscar_scale_stale(&s->scale, path, p))) {
		/* The ratio is still the best guess; the batch's scales may not be. */
		DCC_BPF_SUBPROG(dcc_oscar_derive)(&s->scale, path, p);
		dcc_batch_init(&s->batch, s->scale.tau_ns, DCC_BATCH_NO_GAP);
		dcc_oscar_set_gap(s);
		dcc_oscar_scale_target(s);
		dcc_oscar_use_queue(s, dcc_oscar_next_queue_ns(&s->scale));
	} else {
		DCC_BPF_SUBPROG(dcc_oscar_decide)(s, &e, ack);
	}
}

/* Algorithm 2.  True when a decision was made and out set. */
static inline bool dcc_oscar_ack(struct dcc_oscar *s, const struct dcc_path *path,
				 const struct dcc_oscar_params *p, const struct dcc_ack *ack,
				 struct dcc_control *out)
{
	bool decided = false;

	if (!s->scale.params.paper)
		decided = dcc_oscar_watch(s, ack);
	if (dcc_batch_add(&s->batch, ack)) {
		dcc_oscar_close(s, path, p, ack);
		decided = true;
	}
	if (decided)
		dcc_oscar_control(s, out);
	return decided;
}

/* A smaller ratio because of a loss; the next decision is on what it did. */
static inline void dcc_oscar_cut_for_loss(struct dcc_oscar *s, u64 now_ns, u32 u_q24, u32 branch)
{
	dcc_oscar_set_ratio(s, now_ns, u_q24, branch);
	dcc_batch_restart(&s->batch, now_ns);
	s->loss.reacted_ns = now_ns;
	s->loss.holds = 1;
	s->drain.predicted_q24 = 0;
	s->probe.phase = DCC_OSCAR_PROBE_NONE;
}

/* A loss was found at now_ns.  out is set in any case. */
static inline void dcc_oscar_loss(struct dcc_oscar *s, const struct dcc_path *path,
				  const struct dcc_oscar_params *p, u64 now_ns,
				  struct dcc_control *out)
{
	const struct dcc_oscar_scale *c = &s->scale;
	u64 rtt_ns = dcc_max_u32(s->last.delay_ns, c->base_ns);
	u32 cut = s->last.delay_ns < c->target_ns ? s->u_q24 / 8 : s->u_q24 / 2;
	bool empty = s->last.delay_ns <= c->empty_ns;
	u64 reacted_ns = s->loss.reacted_ns;

	(void)path;
	(void)p;
	if (!empty && !s->loss.holds && (!reacted_ns || now_ns - reacted_ns >= rtt_ns))
		dcc_oscar_cut_for_loss(s, now_ns, s->u_q24 - cut, DCC_OSCAR_LOSS);
	dcc_oscar_control(s, out);
}

/* A retransmission timeout: TCP's loss window, one packet. */
static inline void dcc_oscar_rto(struct dcc_oscar *s, const struct dcc_path *path,
				 const struct dcc_oscar_params *p, u64 now_ns,
				 struct dcc_control *out)
{
	u32 one_packet = dcc_ratio_q24(DCC_WINDOW_ONE, s->scale.target_window_q16);

	(void)path;
	(void)p;
	dcc_oscar_cut_for_loss(s, now_ns, dcc_min_u32(s->u_q24, one_packet), DCC_OSCAR_RTO);
	dcc_oscar_control(s, out);
}

#endif /* DCC_OSCAR_H */

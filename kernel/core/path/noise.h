/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Noise: what the hosts add to the RTT on average, beside what they add at least.
 *
 * Interrupts, timers and timestamps make each RTT longer than the least one.  A law takes that for
 * a queue which no cut drains.  So noise is part of the base RTT.  It is configured (the same on
 * all hosts of a fabric, which shares alike), or estimated where the base RTT is measured:
 *
 *	round	noisy iff  sum |rtt_i - rtt_(i-1)| > steps * packet + q,
 *		q = S / 4, and where samples come twice in a base RTT no more than
 *		    most - least + S / 32;  S = min(duration, steps * rtt_min / 2)
 *	x	noisy ? min(3 * (mean - least), mean - rtt_min, 2 * rtt_min) : 0
 *	noise	+= (x - noise) / 8
 *
 *	QUIET round: noise falls by an eighth.  NOISY round: it goes an eighth of the way to x.
 *
 *	constant	value	reason
 *	STEP_PART	4	a queue at 125 % load changes by a quarter of the time that passes
 *	TURN_PART	32	a queue goes one way: its steps make no more than its range
 *	SPREADS		3	packets keep order, so the mean of a dense round is near its longest
 *	GAIN_SHIFT	3	1/8, that of TCP's srtt (RFC 6298)
 *	BASES_MAX	2	noise makes queues, and queues make spread: it must end somewhere
 *
 * docs/design/path-model.md says what each carries.
 */
#ifndef DCC_PATH_NOISE_H
#define DCC_PATH_NOISE_H

#include "round.h"

#define DCC_NOISE_STEP_PART 4U
#define DCC_NOISE_TURN_PART 32U
#define DCC_NOISE_SPREADS 3U
#define DCC_NOISE_GAIN_SHIFT 3
#define DCC_NOISE_BASES_MAX 2U

struct dcc_noise {
	u32 ns;		   /* in use */
	u32 configured_ns; /* 0: to be estimated */
};

/* Another path: what was estimated counts no more. */
static inline void dcc_noise_reset(struct dcc_noise *n)
{
	n->ns = n->configured_ns;
}

/* noise_ns: as configured; 0: to be estimated. */
static inline void dcc_noise_configure(struct dcc_noise *n, u32 noise_ns)
{
	if (n->configured_ns == noise_ns)
		return;
	n->configured_ns = noise_ns;
	dcc_noise_reset(n);
}

/*
 * Did the RTT change within a round as no queue does?  A queue changes by the part of the time
 * between two samples by which its arrivals differ from the line, and by a packet more or less;
 * what it does in half a base RTT is news, so between rarer samples the time counts as no longer.
 */
static inline bool dcc_noise_is_noisy(const struct dcc_round *r, u32 rtt_min_ns, u64 packet_ns)
{
	u64 most_ns = (u64)r->steps * (rtt_min_ns / 2);
	u64 between_ns = dcc_min_u64(r->duration_ns, most_ns);
	u64 queue_ns = between_ns / DCC_NOISE_STEP_PART;

	if (r->duration_ns <= most_ns + rtt_min_ns / 2)
		queue_ns = dcc_min_u64(queue_ns, r->max_rtt_ns - r->min_rtt_ns +
						 between_ns / DCC_NOISE_TURN_PART);
	return r->sum_step_ns > r->steps * packet_ns + queue_ns;
}

/* A round is closed.  rtt_min_ns: the base RTT without noise; packet_ns: a packet on the line. */
static DCC_NOINLINE void dcc_noise_round(struct dcc_noise *n, const struct dcc_round *r,
					 u32 rtt_min_ns, u64 packet_ns)
{
	u64 x_ns = 0;

	if (n->configured_ns)
		return;
	if (dcc_noise_is_noisy(r, rtt_min_ns, packet_ns)) {
		x_ns = (u64)DCC_NOISE_SPREADS * (r->mean_rtt_ns - r->min_rtt_ns);
		x_ns = dcc_min_u64(x_ns, dcc_sub_sat_u32(r->mean_rtt_ns, rtt_min_ns));
		x_ns = dcc_min_u64(x_ns, (u64)DCC_NOISE_BASES_MAX * rtt_min_ns);
	}
	n->ns = (u32)((x_ns + ((u64)n->ns << DCC_NOISE_GAIN_SHIFT) - n->ns) >>
		      DCC_NOISE_GAIN_SHIFT);
}

#endif /* DCC_PATH_NOISE_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A drain: next to nothing in flight for a round trip.  Is the path shorter than it seemed?
 *
 * The least RTT of a late joiner, a connection that is made while a queue stands, has that queue in
 * it.  The law then holds a queue of its own behind it.  All older flows take that for too long and
 * leave the line to the late joiner, whose own queue then is all that stands.  A round trip of next
 * to nothing drains it, and shows the path to all flows of the queue.
 *
 *	WAIT	--32 to 64 base RTTs, then 4 times as many, at most 2048 to 4096--> DRAIN
 *	DRAIN	for a round trip, two base RTTs at most: four packets in flight, or of a law with
 *		levels half of what was --> WAIT
 *	WAIT	--an RTT is shorter than all before--> WAIT, 32 to 64 base RTTs at most
 *
 * It costs a flow that is alone on its line two round trips' packets, and others nothing.  Flows of
 * a law with levels grow into what a drain leaves free, and stop when it ends: theirs leave half.
 * Neither the law nor a round has the RTTs of packets that were sent before a drain's end.
 *
 *	constant	value	reason
 *	PACKETS		4	some more than a receiver gathers before it sends an ACK
 *	RTTS		32	a law holds its queue by then; a power of two
 *	RTTS_SHIFT	2	three drains in the first thousand round trips
 *	RTTS_MAX	2048	a flow alone on its line loses less than a thousandth of it
 *	BASES		2	a queue of others that is longer than the path does not drain
 */
#ifndef DCC_PATH_DRAIN_H
#define DCC_PATH_DRAIN_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

#define DCC_DRAIN_PACKETS 4U
#define DCC_DRAIN_RTTS 32U
#define DCC_DRAIN_RTTS_SHIFT 2
#define DCC_DRAIN_RTTS_MAX 2048U
#define DCC_DRAIN_BASES 2U

struct dcc_drain {
	u64 next_ns;  /* when the next one begins */
	u64 until_ns; /* when the last one ends, or has ended */
	u32 rtts;     /* base RTTs to the next, at least; 0: none is planned */
	u32 window;   /* packets that may be in flight; 0: none is on */
};

static inline bool dcc_drain_is_on(const struct dcc_drain *d)
{
	return d->window != 0;
}

/* Of a path that the connection has not seen yet. */
static inline void dcc_drain_reset(struct dcc_drain *d)
{
	d->rtts = 0;
	d->until_ns = 0;
	d->window = 0;
}

/* The next one is rtts to twice as many base RTTs away, by the clock's digits. */
static inline void dcc_drain_wait(struct dcc_drain *d, u64 now_ns, u32 base_rtt_ns, u32 rtts)
{
	u64 some = (now_ns >> 8) & (rtts - 1); /* rtts is a power of two */

	d->rtts = rtts;
	d->next_ns = now_ns + base_rtt_ns * (rtts + some);
}

/* May the sample's packet have met the queue that a drain has made shorter? */
static inline bool dcc_drain_disturbs(const struct dcc_drain *d, const struct dcc_ack *ack)
{
	return DCC_UNLIKELY(ack->send_ns <= d->until_ns);
}

/* A sample: may a drain that is on go on? */
static inline void dcc_drain_end(struct dcc_drain *d, u64 now_ns)
{
	if (DCC_UNLIKELY(dcc_drain_is_on(d)) && now_ns >= d->until_ns)
		d->window = 0;
}

/* Is the first one to be planned, or, after a sample that was shorter than all before, the next? */
static inline bool dcc_drain_is_anew(const struct dcc_drain *d, bool shorter)
{
	return !d->rtts || (shorter && d->rtts > DCC_DRAIN_RTTS);
}

/* A sample of a flow that fills its window: is dcc_drain_step() to follow? */
static inline bool dcc_drain_is_due(const struct dcc_drain *d, u64 now_ns, bool shorter)
{
	return DCC_UNLIKELY(now_ns >= d->next_ns || dcc_drain_is_anew(d, shorter));
}

/*
 * Plans a drain, or begins the one that was planned.  flight_packets were in flight when the
 * sample's packet was sent; base_rtt_ns: as the law has it, with noise.  half: half of them may
 * stay.
 */
static DCC_NOINLINE void dcc_drain_step(struct dcc_drain *d, const struct dcc_ack *ack,
					u32 base_rtt_ns, u32 flight_packets, bool half,
					bool shorter)
{
	u64 most_ns = (u64)DCC_DRAIN_BASES * base_rtt_ns;

	if (dcc_drain_is_anew(d, shorter)) {
		dcc_drain_wait(d, ack->now_ns, base_rtt_ns, DCC_DRAIN_RTTS);
		return;
	}
	dcc_drain_wait(d, ack->now_ns, base_rtt_ns,
		       dcc_min_u32(d->rtts << DCC_DRAIN_RTTS_SHIFT, DCC_DRAIN_RTTS_MAX));
	if (flight_packets <= DCC_DRAIN_PACKETS)
		return;
	d->window = half ? flight_packets / 2 : DCC_DRAIN_PACKETS;
	d->until_ns = ack->now_ns + dcc_min_u64(ack->rtt_ns, most_ns);
}

#endif /* DCC_PATH_DRAIN_H */

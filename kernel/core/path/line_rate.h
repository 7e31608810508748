/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The line rate: configured, or what the path shows.
 *
 * Where nobody has configured it, a device's rate serves.  That may be a thousand times what the
 * path carries, or a tenth of it: veth and virtio devices say 10 Gbit/s whatever they carry.
 *
 *	START --the law's window is the smaller one--> LAW
 *
 *	START   the window is at most what the path has carried: TCP's first one, then twice what
 *		was in flight without a queue, or an eighth more than what was in one
 *	floor   a queue shorter than dcc_path.delay_floor_ns is no reason for anything: a quarter of
 *		the base RTT, or two packets at the flow's own rate
 *	rate	a round that used two thirds of it without a queue raises it by an eighth of the
 *		device's, twice as much each time; one in a queue takes a 16th of what was raised
 *		back (Chiu and Jain: additive increase, multiplicative decrease)
 *
 *	constant	value	reason
 *	FLOOR_PART	4	as Swift's target, which flows aim for, too
 *	FLOOR_PACKETS	2	one packet of a flow's own is no queue
 *	FLOOR_BASES	2	what makes packets rarer than that is other flows
 *	START_SHIFT	3	a flow that meets a queue of others gets its share in the end
 *	RAISE_SHIFT	3	of the device's rate, and
 *	RAISE_MOST_SHIFT 2	of the one in use, at most
 *	FALL_SHIFT	4	slower than it rises, or all flows end at the device's
 */
#ifndef DCC_PATH_LINE_RATE_H
#define DCC_PATH_LINE_RATE_H

#include "round.h"

#define DCC_LINE_FLOOR_PART 4U
#define DCC_LINE_FLOOR_PACKETS 2U
#define DCC_LINE_FLOOR_BASES 2U
#define DCC_LINE_START_SHIFT 3
#define DCC_LINE_RAISE_SHIFT 3
#define DCC_LINE_RAISE_MOST_SHIFT 2
#define DCC_LINE_FALL_SHIFT 4

struct dcc_line_rate {
	u64 bps;       /* in use */
	u64 given_bps; /* as it is configured, or as the device says it */
	u64 round_bps; /* of the newest round; 0: none yet */
	u64 raise_bps; /* what the newest round has raised bps by */
	u32 window;    /* the greatest that the path has carried, in packets */
	u32 min_before_ns; /* the least RTT of the round before */
	u32 floor_ns;  /* dcc_path.delay_floor_ns */
	u8 configured;
};

/* Returns: whether another rate is configured, or another device's. */
static inline bool dcc_line_configure(struct dcc_line_rate *l, u64 rate_bps, bool configured)
{
	rate_bps = dcc_min_u64(rate_bps, DCC_PATH_RATE_MAX_BPS);
	if (l->given_bps == rate_bps && l->configured == configured)
		return false;
	l->given_bps = rate_bps;
	l->bps = rate_bps;
	l->configured = configured;
	l->raise_bps = 0;
	return true;
}

/* The time of a full packet at rate_bps. */
static inline u64 dcc_packet_ns(u32 wire_bytes, u64 rate_bps)
{
	return dcc_div_u64(wire_bytes * (DCC_BITS_PER_BYTE * DCC_NS_PER_S),
			   dcc_max_u64(rate_bps, DCC_PATH_RATE_MIN_BPS));
}

/* flight_packets came back after rtt_ns. */
static inline void dcc_line_carried(struct dcc_line_rate *l, u32 rtt_ns, u32 flight_packets,
				    u32 base_rtt_ns, u32 window_max)
{
	u32 flight = dcc_min_u32(flight_packets, window_max);
	u32 more = dcc_max_u32(flight >> DCC_LINE_START_SHIFT, 1);

	if (rtt_ns <= (u64)base_rtt_ns + l->floor_ns)
		more = flight;
	l->window = dcc_max_u32(l->window, flight + more);
}

/* A round is closed where the line rate is a device's: does the path carry more than bps? */
static DCC_NOINLINE void dcc_line_round(struct dcc_line_rate *l, const struct dcc_round *r,
					u32 base_rtt_ns)
{
	/* A long queue drains for many round trips, in which the rate is low enough. */
	bool drains = r->min_rtt_ns < l->min_before_ns;
	bool used;

	l->round_bps = dcc_round_rate_bps(r);
	l->min_before_ns = r->min_rtt_ns;
	used = l->round_bps >= dcc_div_u64(l->bps, 3) * 2;
	if (!used || r->min_rtt_ns > (u64)base_rtt_ns + l->floor_ns / 2) {
		l->raise_bps = 0;
		if (!used || !drains)
			l->bps -= dcc_sub_sat_u64(l->bps, l->given_bps) >> DCC_LINE_FALL_SHIFT;
		return;
	}
	l->raise_bps = dcc_clamp_u64(2 * l->raise_bps, l->given_bps >> DCC_LINE_RAISE_SHIFT,
				     l->bps >> DCC_LINE_RAISE_MOST_SHIFT);
	l->bps = dcc_min_u64(l->bps + l->raise_bps, DCC_PATH_RATE_MAX_BPS);
}

/* After any change of base RTT, line rate or packet. */
static inline void dcc_line_set_floor(struct dcc_line_rate *l, u32 base_rtt_ns, u32 wire_bytes)
{
	u64 ns = 0;

	if (l->round_bps)
		ns = DCC_LINE_FLOOR_PACKETS * dcc_packet_ns(wire_bytes, l->round_bps);
	ns = dcc_min_u64(ns, (u64)DCC_LINE_FLOOR_BASES * base_rtt_ns);
	ns = dcc_max_u64(ns, base_rtt_ns / DCC_LINE_FLOOR_PART);
	l->floor_ns = l->configured ? 0 : (u32)ns;
}

#endif /* DCC_PATH_LINE_RATE_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probe: some packets more in flight.  Does the RTT follow?
 *
 * A law whose base RTT is too short sees a queue that no cut drains, and sends next to nothing.  In
 * a queue of other flows it sees the same.  What tells them apart: in a queue each packet more in
 * flight makes the RTT longer by its time on the line, and on an idle path the RTT stays.  Others
 * cannot answer within the RTT in which it is seen.
 *
 * A look is the mean RTT of 4 samples and one round trip at the least.
 *
 *	IDLE	--3 looks within a band of each other, the last also of the least RTT--> PROBING:
 *		  within a round trip, 2 packets more; after a probe that found no queue 4, or an
 *		  eighth of what the line holds if that is less
 *	PROBING	--a look at packets behind them is longer by more than half of them--> QUEUE: wait
 *		--it is not, for the fourth time in a row--> PATH; before, one look and again
 *		--nothing to send for 8 RTTs--> IDLE
 *
 * The band is 4 packets' time, but at most a 16th of the base RTT or one packet.  The least RTT is
 * that since the base RTT is in doubt, but of the last 16 looks where none was within a band of it:
 * the path may have become longer once more.  Few packets, and no wait before the first probe:
 * flows whose path has changed doubt and probe at the same time, and all of them have to find room.
 *
 *	constant	value	reason
 *	PACKETS		4	flows that probe at the same time find room on an idle path
 *	PACKETS_FIRST	2	twenty flows of one queue in doubt hold 5 packets each; one is what
 *				windows are rounded by
 *	ROOM_PART	8	of what the line holds: an error of a tenth leaves no more room
 *	PASSES		4	a queue that drains meanwhile looks like none, but hardly so often
 *	LOOK_SAMPLES	4	of a flow of a packet per RTT, too
 *	LOOKS		3	the law has answered, and its answer has been seen
 *	FAR_LOOKS	16	a queue that swings is short in one of 16
 *	BAND_PACKETS	4	single packets' time is no queue
 *	BAND_SHIFT	4	a 16th of the base RTT: the least that laws steer by
 *	RTTS		8	a probe's packets are in flight after two; and to twice as many at
 *				random before the next, after QUEUE and after nothing to send
 */
#ifndef DCC_PATH_PROBE_H
#define DCC_PATH_PROBE_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

#define DCC_PROBE_LOOK_SAMPLES 4U
#define DCC_PROBE_LOOKS 3U
#define DCC_PROBE_FAR_LOOKS 16U
#define DCC_PROBE_BAND_PACKETS 4U
#define DCC_PROBE_BAND_SHIFT 4
#define DCC_PROBE_PACKETS 4U
#define DCC_PROBE_PACKETS_FIRST 2U
#define DCC_PROBE_ROOM_PART 8U
#define DCC_PROBE_PASSES 4U
#define DCC_PROBE_RTTS 8U

struct dcc_probe {
	u64 since_ns;	  /* of the look; while probing, when that began */
	u64 sum_ns;	  /* of the look's RTTs */
	u64 next_ns;	  /* no probe before */
	u64 own_until_ns; /* packets sent up to then may queue behind the probe's */
	u32 mean_ns;	  /* of the look before */
	u32 least_ns;	  /* the least RTT; 0: none since the base RTT is in doubt */
	u32 least_far_ns; /* the same since a look was near it */
	u32 flight;	  /* packets in flight when the probe began */
	u32 samples;	  /* of the look */
	u8 looks;	  /* alike, in a row */
	u8 far_looks;	  /* that were not near the least RTT, in a row */
	u8 most;	  /* packets that the probe adds, */
	u8 step;	  /* with each ACK, */
	u8 extra;	  /* and has added; 0: it does not go on */
	bool own;	  /* own_until_ns is valid */
	u8 passed;	  /* probes that found no queue, in a row */
};

static inline bool dcc_probe_is_on(const struct dcc_probe *p)
{
	return p->extra != 0;
}

/* There is no doubt, or the application has nothing to send. */
static inline void dcc_probe_rest(struct dcc_probe *p)
{
	p->extra = 0;
	p->samples = 0;
	p->looks = 0;
	p->least_ns = 0;
}

/* Of a path that the connection has not seen yet. */
static inline void dcc_probe_reset(struct dcc_probe *p)
{
	dcc_probe_rest(p);
	p->next_ns = 0;
	p->own = false;
	p->passed = 0;
}

/* Two queues whose difference is less than this count as the same. */
static inline u32 dcc_probe_band_ns(u32 base_ns, u64 packet_ns)
{
	u64 most_ns = dcc_max_u64(base_ns >> DCC_PROBE_BAND_SHIFT, packet_ns);

	return dcc_sat_u32(dcc_min_u64(DCC_PROBE_BAND_PACKETS * packet_ns, most_ns));
}

/* The next probe is RTTS to twice as many RTTs away, by the clock's digits. */
static inline void dcc_probe_wait(struct dcc_probe *p, u64 now_ns)
{
	u64 some = (now_ns >> 8) & (DCC_PROBE_RTTS - 1); /* RTTS is a power of two */

	p->extra = 0;
	p->samples = 0;
	p->looks = 0;
	p->next_ns = now_ns + p->mean_ns * (DCC_PROBE_RTTS + some);
}

/* One RTT more in the look. */
static inline void dcc_probe_look(struct dcc_probe *p, u64 rtt_ns)
{
	if (!p->samples)
		p->sum_ns = 0;
	p->sum_ns += rtt_ns;
	p->samples++;
}

static inline u32 dcc_probe_looked_ns(const struct dcc_probe *p)
{
	return dcc_sat_u32(dcc_div_u64(p->sum_ns, dcc_max_u32(p->samples, 1)));
}

/* Returns true: PATH. */
static inline bool dcc_probe_judge(struct dcc_probe *p, const struct dcc_ack *ack,
				   u32 flight_packets, u64 packet_ns)
{
	/* Within a round trip, before others can have answered. */
	p->extra = (u8)dcc_min_u32(p->extra + p->step, p->most);
	if (ack->send_ns < p->since_ns ||
	    flight_packets < dcc_max_u32(p->flight, 1) + p->most - 1) {
		/* The application had nothing to send. */
		if (ack->now_ns - p->since_ns > (u64)p->mean_ns * DCC_PROBE_RTTS)
			dcc_probe_wait(p, ack->now_ns);
		return false;
	}
	dcc_probe_look(p, ack->rtt_ns);
	if (p->samples < DCC_PROBE_LOOK_SAMPLES)
		return false;
	if (dcc_probe_looked_ns(p) > p->mean_ns + p->most * packet_ns / 2) {
		p->passed = 0;
		dcc_probe_wait(p, ack->now_ns);
		return false;
	}
	p->extra = 0;
	p->samples = 0;
	p->looks = DCC_PROBE_LOOKS - 1;
	if (++p->passed < DCC_PROBE_PASSES)
		return false;
	p->passed = 0;
	return true;
}

/* A look is complete.  True: RTTs are steady, and near the least. */
static inline bool dcc_probe_looked(struct dcc_probe *p, u32 band_ns)
{
	u32 mean_ns = dcc_probe_looked_ns(p);
	bool near = mean_ns <= (u64)p->least_ns + band_ns;
	bool alike = p->looks && mean_ns <= (u64)p->mean_ns + band_ns &&
		     (u64)mean_ns + band_ns >= p->mean_ns;

	p->looks = (u8)(alike ? dcc_min_u32(p->looks + 1U, DCC_PROBE_LOOKS) : 1);
	p->mean_ns = mean_ns;
	p->samples = 0;
	if (near || ++p->far_looks == DCC_PROBE_FAR_LOOKS) {
		if (!near)
			p->least_ns = p->least_far_ns;
		p->far_looks = 0;
		p->least_far_ns = DCC_U32_MAX;
	}
	return near && p->looks == DCC_PROBE_LOOKS;
}

/*
 * A sample of a flow whose base RTT is in doubt, with flight_packets in flight when its packet was
 * sent; 0: the packet had next to no length.  rtt_ns: what a full packet would have taken.
 * packet_ns, at least 1: a full packet on the line.  Returns true: PATH, of p->least_ns.
 */
static DCC_NOINLINE bool dcc_probe_step(struct dcc_probe *p, const struct dcc_ack *ack, u64 rtt_ns,
					u32 flight_packets, u32 base_ns, u64 packet_ns)
{
	u64 most;

	if (!p->least_ns) {
		p->far_looks = 0;
		p->least_ns = DCC_U32_MAX;
		p->least_far_ns = DCC_U32_MAX;
	}
	p->least_ns = (u32)dcc_min_u64(p->least_ns, rtt_ns);
	p->least_far_ns = (u32)dcc_min_u64(p->least_far_ns, rtt_ns);
	if (dcc_probe_is_on(p))
		return dcc_probe_judge(p, ack, flight_packets, packet_ns);
	if (!p->samples)
		p->since_ns = ack->now_ns;
	dcc_probe_look(p, rtt_ns);
	if (p->samples < DCC_PROBE_LOOK_SAMPLES || ack->send_ns < p->since_ns ||
	    !dcc_probe_looked(p, dcc_probe_band_ns(base_ns, packet_ns)) || ack->now_ns < p->next_ns)
		return false;
	most = dcc_div_u64(base_ns, DCC_PROBE_ROOM_PART * packet_ns);
	most = dcc_min_u64(most, p->passed ? DCC_PROBE_PACKETS : DCC_PROBE_PACKETS_FIRST);
	p->most = (u8)dcc_max_u64(most, DCC_PROBE_PACKETS_FIRST);
	p->step = (u8)(1 + dcc_div_u64(p->most, dcc_max_u32(flight_packets, 1)));
	p->extra = (u8)dcc_min_u32(p->step, p->most);
	p->flight = flight_packets;
	p->since_ns = ack->now_ns;
	return false;
}

/*
 * May the sample have queued behind the probe's own packets?  Laws do not see it: they would answer
 * by a cut where other flows do not cut.
 */
static inline bool dcc_probe_disturbs(struct dcc_probe *p, const struct dcc_ack *ack)
{
	if (DCC_UNLIKELY(dcc_probe_is_on(p))) {
		p->own = true;
		p->own_until_ns = ack->now_ns;
		return ack->send_ns >= p->since_ns;
	}
	if (DCC_LIKELY(!p->own))
		return false;
	p->own = ack->send_ns <= p->own_until_ns;
	return p->own;
}

#endif /* DCC_PATH_PROBE_H */

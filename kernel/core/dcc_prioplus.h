/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * PrioPlus: priorities in one queue (EuroSys 2025), around a base core.
 *
 * The control loop
 *   Each priority has a channel of delays: level i (1 is the lowest) aims at
 *   D_target = base + i (A + B) and gives way above D_limit = D_target + A/2 + B,
 *   which is below the next level's D_target.  So a higher level that fills its
 *   channel drives all lower ones over their limits.  A flow that gives way stops
 *   sending at once and only probes; a probe that finds no queue lets it resume.
 *   Within its channel the base core's law runs.  Below it the flow grows faster:
 *   by W_LS per RTT while there is no queue ("linear start"), and by what is
 *   missing to D_target every second RTT while there is ("dual-RTT adaptive
 *   increase"; only lower levels keep a queue there, which this drives out).
 *   Both are divided among the flows of the level, whose number N each estimates
 *   from its share of what is in flight.
 *
 *   acknowledgment -> over the limit twice? -> stop and probe
 *                  -> below the channel?    -> linear start, adaptive increase
 *                  -> base core
 *
 *   The base is Swift (dcc_swift.h), or LEDBAT (dcc_ledbat.h) where
 *   DCC_PRIOPLUS_ON_LEDBAT is defined before this file is read; only
 *   dcc_prioplus_base_step() and dcc_prioplus_ai_q24() know which.
 *
 * The algorithms
 *   prioplus_paper: Algorithm 1 with the differences below.
 *   prioplus: in addition the rules below.  A flow of Algorithm 1 estimates N from its window when
 *     it yields.  The delay that makes it yield has squeezed that window, so N comes out many
 *     times too large, and the flow comes back many times too slowly.
 *
 * States
 *   SENDS	--four RTTs within the channel--> SETTLED
 *   SETTLED	--an RTT below the channel, or a window out of use--> SENDS
 *   both	--over the limit--> STOPPED or YIELDED, or a cut
 *   STOPPED	--a probe below D_limit--> SENDS
 *   YIELDED	--a probe above D_limit--> WAITS
 *		--a probe that finds no queue--> ASKED
 *   WAITS	--a probe that finds no queue--> SENDS, or ASKED where levels in between go first
 *   both	--the eighth probe in a row that finds a queue below D_limit--> SENDS
 *   ASKED	--another probe that finds no queue--> SENDS; above D_limit--> WAITS; else YIELDED
 *
 * The rules of prioplus (docs/design/ablation.md has what each carries)
 *   settle: w_hold is the window of a settled flow, and N is D_target rate / w_hold.
 *   cut: a flow that was never settled may be one of many that started at once.  Over the limit it
 *     cuts its window to w D_target / d and waits for the effect, up to three times in a row,
 *     before it stops.  From the second time on it also takes N from that delay; at the first, a
 *     part of what is in flight is the lower levels', which are yielding.
 *   yield: a settled flow yields, since a higher level has come, and so does one that was settled
 *     once and whose window is at most w_hold.  w_hold and N stay.  Of any other N is estimated as
 *     in the listing, and the flow stops.
 *   fall: of samples over the limit only one that is at least as long as the one before counts as
 *     the second.  A packet that a host holds back holds back all behind it; they come together
 *     then, and their RTTs fall by the time between them.
 *   wait: a flow that has yielded does not resume in the middle of a queue, unless eight probes in
 *     a row find one: then a lower level keeps it.
 *   confirm: if the very first probe finds no queue, an RTT later another has to confirm that: the
 *     flow's own leaving has emptied the queue, which the higher level is about to fill.
 *   away: levels between it and the one that it has yielded to go first.  If the last long delay
 *     was that of the next level, one probe without a queue is enough; else a second one, two RTTs
 *     later for each level in between (three at most), has to confirm it, and probes are as much
 *     further apart.
 *   resume: with 80 % of the part of w_hold that stood in the queue.
 *   gap: the adaptive increase is at least half of the flow's part of the gap, and doubles each
 *     time that it did not reach the channel, or what a settled flow aims at: lower levels that
 *     are not over their limits yield slowly.  A probe that finds a queue below D_target lets the
 *     flow resume with as much, at most W_LS.
 *   aim: W_AI / N, with N from the flow's own window, and the adaptive increase grow with the
 *     window as the decrease does: then nothing makes the shares of a level equal, and a flow whose
 *     base RTT is longer by a tenth of a microsecond takes them all.  A settled flow aims at
 *     D_target + A/10 (log2 n - 4), n = D_target rate / window, at most 2^7: larger shares give way
 *     at shorter queues.  Its W_AI is window A / (16 D_target), so that a level grows by a
 *     sixteenth of A per RTT, however many flows it has.
 *   line: on LEDBAT the decrease is of at most what the line holds at the delay.  A flow that is
 *     alone, paced at its line's rate, uses no more; the decrease of a window above that would come
 *     to nothing, and the flow would fill its channel and stop.
 *   flight: where the line rate is not configured, it is a device's, and the path may have a
 *     hundredth of it.  Then W_LS is more than the path holds, neither a cut nor N says anything of
 *     a window that nobody can use, and a flow that is alone takes itself for one of a hundred.  So
 *     the window is at most four times what was in flight an RTT ago, or an eighth more in a queue.
 *
 * A path that is longer than its base RTT says
 *   D_target and D_limit go by the base RTT, and all levels have to agree on it.  Where a probe of
 *   the path (path/probe.h) replaces it, a stopped flow forgets N and w_hold.
 *
 * Differences from the paper
 *   1. Line 15 of Algorithm 1 doubles N where prose and line 33 halve it: halved.
 *   2. A flow stops at the second sample in a row above D_limit (line 7 could be
 *      read as the third); the first still goes through the base core.
 *   3. "delay == BaseRtt" is delay < base + tolerance: 1 us, as in the authors'
 *      simulator, but at least one packet on the line, and B: noise is no queue.
 *   4. The increase is set for its RTT, not added up, and kept apart from W_AI.
 *      rttPass lasts for one acknowledgment.
 *   5. Acknowledgments of packets sent before a stop's end are ignored.
 *   6. N is taken from a window of one packet at least and is at most
 *      max_flows; a window below 0.1 packet above the target stops.  Else N runs
 *      away: a squeezed flow computes thousands.
 *   7. A probe that finds a queue below D_target resumes with half a packet, as in
 *      the authors' simulator (text: one packet; 30 of them are a channel).
 *      W_LS / N is at least half a packet.
 *   8. An RTT has passed when a packet sent since the last such time is
 *      acknowledged: the listing's sequence numbers, by send time.
 *   9. At most one multiplicative decrease per base RTT, target scaling off,
 *      W_AI 0.001 BDP (LEDBAT: GAIN 1 packet, divided by N upwards only).
 *  10. Losses and timeouts cut the window by max_mdf, once per RTT.  A flow that
 *      the application or its own line limits (it uses less than four fifths of
 *      its window) does not grow.  In the linear start of a flow that was never
 *      settled, the window an RTT ago counts, which is when the packet left: else
 *      each step would take two RTTs.
 *  11. The listing knows no classes: from medium_from and from high_from on W_LS
 *      is larger, and high levels start without a probe.
 *  12. A probe is short: each hop serves it a packet's time sooner than data.  So the
 *      shortest RTT of a probe (two to six packets' times below the base RTT)
 *      counts as the base RTT, and a longer one as so much more.  Else a flow takes
 *      the next level's queue for one below its own limit, and resumes into it.
 *      Data sent in place of a probe (DCC_ACK_PROBE_DATA) counts as it is.
 *  13. A is at least two packets' time on the line: a delay moves in steps of a
 *      packet, and a channel below that stops a flow that is alone.  Where A is not configured,
 *      prioplus has a fifth of the base RTT at least: the linear start of a low level adds an
 *      eighth in one RTT, which has to end below D_limit.
 *  14. Where the hosts' noise is measured (dcc_path.noise_ns), B has it in addition.
 *      Flows that measure unlike noise have unlike channels: priorities in a noisy
 *      network need a base RTT and a B that are told.
 *  15. Where the line rate is unknown (path.delay_floor_ns), A is at least the floor, and the
 *      tolerance a quarter of it.
 *  16. prioplus_ledbat: the window falls at most to a half in a RTT, as in dcc_ledbat.h: W_AI is
 *      a part of the line's BDP, and of a device's line it may be more than the window.
 */
#ifndef DCC_PRIOPLUS_H
#define DCC_PRIOPLUS_H

#include "dcc_cc.h"
#include "dcc_math.h"
#ifdef DCC_PRIOPLUS_ON_LEDBAT
#include "dcc_ledbat.h"
#else
#include "dcc_swift.h"
#endif

/* Windows inside, as in the base cores: 24 fraction bits. */
#define DCC_PRIOPLUS_CWND_SHIFT 24
#define DCC_PRIOPLUS_CWND_ONE 16777216ULL

/* Parameters, with their ranges. */
#define DCC_PRIOPLUS_LEVELS_MAX 64U
#define DCC_PRIOPLUS_CHANNEL_MIN_NS 100U
#define DCC_PRIOPLUS_CHANNEL_MAX_NS 10000000U
#define DCC_PRIOPLUS_TOLERANCE_MAX_NS 10000000U
#define DCC_PRIOPLUS_LS_MIN_PPM 1000U
#define DCC_PRIOPLUS_PPM_MAX 1000000U
#define DCC_PRIOPLUS_AI_MIN_PPM 1U
#define DCC_PRIOPLUS_FLOWS_MAX 65536U
#define DCC_PRIOPLUS_RESUME_MIN_MILLI 10U
#define DCC_PRIOPLUS_RESUME_MAX_MILLI 100000U

#define DCC_PRIOPLUS_LEVELS 8U
#define DCC_PRIOPLUS_A_NS 3200U
#define DCC_PRIOPLUS_B_NS 800U
#define DCC_PRIOPLUS_LS_LOW_PPM 125000U
#define DCC_PRIOPLUS_LS_MEDIUM_PPM 250000U
#define DCC_PRIOPLUS_LS_HIGH_PPM 1000000U
#define DCC_PRIOPLUS_MAX_FLOWS 2000U
#define DCC_PRIOPLUS_RESUME_MILLI 500U
#define DCC_PRIOPLUS_BETA_PPM 800000U
#define DCC_PRIOPLUS_MAX_MDF_PPM 500000U
#ifdef DCC_PRIOPLUS_ON_LEDBAT
#define DCC_PRIOPLUS_AI_PPM 10000U
#else
#define DCC_PRIOPLUS_AI_PPM 1000U
#endif
/* The authors' "equal to the base RTT". */
#define DCC_PRIOPLUS_TOLERANCE_NS 1000U

/* Windows: a packet in 256 RTTs .. 1 GB. */
#define DCC_PRIOPLUS_CWND_MIN (DCC_PRIOPLUS_CWND_ONE >> 8)
#define DCC_PRIOPLUS_CWND_MAX (DCC_PRIOPLUS_CWND_ONE << 21)
/* A flow above its target with a smaller window stops. */
#define DCC_PRIOPLUS_CWND_STOP (DCC_PRIOPLUS_CWND_ONE / 10)
#define DCC_PRIOPLUS_CWND_HALF (DCC_PRIOPLUS_CWND_ONE / 2)

#define DCC_PRIOPLUS_FLOWS_ONE 256U /* Q8 */
#define DCC_PRIOPLUS_SETTLED_RTTS 4U
#define DCC_PRIOPLUS_CUTS 3U
/*
 * Aim: a tenth of A for each halving of the share, from the fourth on above D_target and up to the
 * seventh; and a level grows by a 16th of A in a RTT.
 */
#define DCC_PRIOPLUS_AIM_PART 10U
#define DCC_PRIOPLUS_AIM_MIDDLE 4U
#define DCC_PRIOPLUS_AIM_MAX 7U
#define DCC_PRIOPLUS_GROW_PART 16U
#define DCC_PRIOPLUS_AWAY_MAX 3U
/* Two packets of a window may be out of use; of what is in flight four times it, or an eighth. */
#define DCC_PRIOPLUS_UNUSED (2 * DCC_PRIOPLUS_CWND_ONE)
#define DCC_PRIOPLUS_FLIGHTS 4U
#define DCC_PRIOPLUS_FLIGHT_SHIFT 3
#define DCC_PRIOPLUS_MIDDLE_MAX 8U
#define DCC_PRIOPLUS_TRIES_MAX 8U
#define DCC_PRIOPLUS_HOPS_MAX 6U
/* A: two packets' time at least; automatically also a fifth of the base RTT. */
#define DCC_PRIOPLUS_A_PACKETS 2U
#define DCC_PRIOPLUS_A_BASE_PART 5U
#define DCC_PRIOPLUS_IDLE_FLOOR_PART 4U
#define DCC_PRIOPLUS_NO_LIMIT 0xffffffffU

/* The rule that decided, for tracing. */
enum dcc_prioplus_branch {
	DCC_PRIOPLUS_START = 0,
	DCC_PRIOPLUS_CHANNEL = 1,  /* the base core's law */
	DCC_PRIOPLUS_LINEAR = 2,   /* no queue: linear start */
	DCC_PRIOPLUS_ADAPTIVE = 3, /* below the target: an adaptive increase begins */
	DCC_PRIOPLUS_CUT = 4,
	DCC_PRIOPLUS_YIELD = 5,	   /* YIELDED: a higher level has come */
	DCC_PRIOPLUS_STOP = 6,	   /* STOPPED: too many flows, or the listing's rule */
	DCC_PRIOPLUS_WAIT = 7,	   /* the probe's reply: stay stopped */
	DCC_PRIOPLUS_RESUME = 8,   /* the probe's reply: no queue */
	DCC_PRIOPLUS_RESUME_LOW = 9, /* the probe's reply: a queue below the target */
	DCC_PRIOPLUS_LOSS = 10,
	DCC_PRIOPLUS_RTO = 11,
};

struct dcc_prioplus_params {
	u32 levels;	    /* priorities from levels - 1 on are the highest level */
	u32 channel_a_ns;   /* A: swing of the base core; 0: 3.2 us, at least base RTT / 5 */
	u32 channel_b_ns;   /* B: noise of the delay */
	u32 unlimited_from; /* levels from here on never yield; 0: all do */
	u32 medium_from;    /* levels of medium and high class; 0: automatic */
	u32 high_from;
	u32 ls_low_ppm;	    /* W_LS by class, of a base BDP */
	u32 ls_medium_ppm;
	u32 ls_high_ppm;
	u32 tolerance_ns;   /* 0: 1 us, at least a packet on the line, and B */
	u32 dual_rtt;	    /* 0: the adaptive increase in every RTT */
	u32 max_flows;
	u32 resume_milli;   /* window after a probe in mid-range, thousandths of a packet */
	u32 ai_ppm;	    /* W_AI (GAIN), of a base BDP */
	u32 beta_ppm;	    /* Swift's */
	u32 max_mdf_ppm;
	/* Not sysctls: the algorithm's name, and the socket's. */
	u32 paper;	    /* 1: prioplus_paper, Algorithm 1 alone */
	u32 priority;	    /* sk_priority */
	u32 seed;
};

enum dcc_prioplus_state {
	DCC_PRIOPLUS_SENDS = 0,
	DCC_PRIOPLUS_SETTLED = 1, /* for four RTTs within its channel */
	DCC_PRIOPLUS_STOPPED = 2, /* probes until the queue is below D_limit */
	DCC_PRIOPLUS_YIELDED = 3, /* probes: a higher level has come */
	DCC_PRIOPLUS_WAITS = 4,	  /* and a probe has met its queue */
	DCC_PRIOPLUS_ASKED = 5,	  /* one probe has found no queue; a second one is to confirm it */
};

/* The last decision, for the tracepoint and ss. */
struct dcc_prioplus_decision {
	u32 delay_ns;
	u32 branch; /* enum dcc_prioplus_branch */
};

/* What one flow remembers: all that is not derived from path and parameters. */
struct dcc_prioplus_flow {
	u64 cwnd_q24;	  /* the base core's */
	u64 decreased_ns; /* the base core's: last decrease; 0: never */
	u64 round_ns;	  /* packets sent from here on end the RTT */
	u64 since_ns;	  /* packets sent before say nothing: resumed, or cut */
	u64 step_q24;	  /* the adaptive increase, packets per RTT */
	u64 hold_q24;	  /* w_hold; 0: never settled */
	u32 flows_q8;	  /* N */
	u32 high_ns;	  /* last delay above the limit */
	u32 probe_ns;	  /* RTT of a probe without a queue */
	u32 started_q8;	  /* window, in packets, when this RTT began, and the one before */
	u32 started_before_q8;
	u32 random;
	u16 countdown;
	u8 state;	  /* enum dcc_prioplus_state */
	u8 calm;	  /* RTTs in the channel in a row, up to DCC_PRIOPLUS_SETTLED_RTTS */
	u8 over;	  /* samples in a row above the limit */
	u8 odd;		  /* dualRttPass */
	u8 cuts;	  /* since an RTT last ended below the limit */
	u8 tries;	  /* adaptive increases that did not reach the channel */
	u8 fresh;	  /* first RTT after a stop */
	u8 middle;	  /* YIELDED: probes that found a queue below the limit */
};

static_assert(sizeof(struct dcc_prioplus_flow) <= 104, "as little as TCP's own bytes");

struct dcc_prioplus {
	/* What path and parameters come to; recomputed when either changes. */
	struct dcc_path path;
	struct dcc_prioplus_params params;
	u64 packets_per_ns_q40; /* of the line */
	u64 max_cwnd_q24;
	u64 bdp_q24;
	u64 ls_q24;	    /* W_LS */
	u64 ai_q24;
	u32 base_ns;
	u32 idle_ns;	    /* delays below are "no queue" */
	u32 highest_ns;	    /* D_target of the highest level */
	u32 probe_start_ns; /* RTT of a probe without a queue: first guess, and least */
	u32 probe_min_ns;
	u32 target_ns;
	u32 limit_ns;
	u32 channel_ns;
	u32 low_ns;	    /* lower edge of the channel */
	u32 halving_ns;	    /* what a settled flow of half the share aims higher by */
	u32 window_log2_q16; /* of the packets that the line sends in D_target */
	u32 grow_q24;	    /* its increase, of the window */
	u32 hold_resume_q24; /* of w_hold: 80 % of (D_target - base) / D_target */
	u32 beta_q24;
	u32 max_mdf_q24;
	u32 wire_bytes;
	u16 countdown;	    /* BDP / W_LS */
	u8 unprobed;	    /* starts without a probe */

	struct dcc_prioplus_flow flow;
	struct dcc_prioplus_decision last;
};

static_assert(sizeof(struct dcc_prioplus) <= 384, "state is one object of at most 384 bytes");

/*
 * The parameters that can be set, for sysctls and loaders: X(field, min, max, zero_ok).  Allowed
 * are min..max, and 0 where zero_ok.
 */
#define DCC_PRIOPLUS_PARAMS(X)                                                               \
	X(levels, 1, DCC_PRIOPLUS_LEVELS_MAX, false)                                         \
	X(channel_a_ns, DCC_PRIOPLUS_CHANNEL_MIN_NS, DCC_PRIOPLUS_CHANNEL_MAX_NS, true)      \
	X(channel_b_ns, 0, DCC_PRIOPLUS_CHANNEL_MAX_NS, true)                                \
	X(unlimited_from, 1, DCC_PRIOPLUS_LEVELS_MAX, true)                                  \
	X(medium_from, 1, DCC_PRIOPLUS_LEVELS_MAX + 1, true)                                 \
	X(high_from, 1, DCC_PRIOPLUS_LEVELS_MAX + 1, true)                                   \
	X(ls_low_ppm, DCC_PRIOPLUS_LS_MIN_PPM, DCC_PRIOPLUS_PPM_MAX, false)                  \
	X(ls_medium_ppm, DCC_PRIOPLUS_LS_MIN_PPM, DCC_PRIOPLUS_PPM_MAX, false)               \
	X(ls_high_ppm, DCC_PRIOPLUS_LS_MIN_PPM, DCC_PRIOPLUS_PPM_MAX, false)                 \
	X(tolerance_ns, 1, DCC_PRIOPLUS_TOLERANCE_MAX_NS, true)                              \
	X(dual_rtt, 0, 1, true)                                                              \
	X(max_flows, 1, DCC_PRIOPLUS_FLOWS_MAX, false)                                       \
	X(resume_milli, DCC_PRIOPLUS_RESUME_MIN_MILLI, DCC_PRIOPLUS_RESUME_MAX_MILLI, false) \
	X(ai_ppm, DCC_PRIOPLUS_AI_MIN_PPM, DCC_PRIOPLUS_PPM_MAX, false)                      \
	X(beta_ppm, 0, DCC_PRIOPLUS_PPM_MAX, true)                                           \
	X(max_mdf_ppm, 0, DCC_PRIOPLUS_PPM_MAX, true)

static inline void dcc_prioplus_params_default(struct dcc_prioplus_params *p)
{
	p->levels = DCC_PRIOPLUS_LEVELS;
	p->channel_a_ns = 0;
	p->channel_b_ns = DCC_PRIOPLUS_B_NS;
	p->unlimited_from = 0;
	p->medium_from = 0;
	p->high_from = 0;
	p->ls_low_ppm = DCC_PRIOPLUS_LS_LOW_PPM;
	p->ls_medium_ppm = DCC_PRIOPLUS_LS_MEDIUM_PPM;
	p->ls_high_ppm = DCC_PRIOPLUS_LS_HIGH_PPM;
	p->tolerance_ns = 0;
	p->dual_rtt = 1;
	p->max_flows = DCC_PRIOPLUS_MAX_FLOWS;
	p->resume_milli = DCC_PRIOPLUS_RESUME_MILLI;
	p->ai_ppm = DCC_PRIOPLUS_AI_PPM;
	p->beta_ppm = DCC_PRIOPLUS_BETA_PPM;
	p->max_mdf_ppm = DCC_PRIOPLUS_MAX_MDF_PPM;
	p->paper = 0;
	p->priority = 0;
	p->seed = 1;
}

static inline bool dcc_prioplus_params_valid(const struct dcc_prioplus_params *p)
{
	return DCC_PRIOPLUS_PARAMS(DCC_PARAM_FITS) p->paper <= 1;
}

static inline bool dcc_prioplus_stale(const struct dcc_prioplus *s, const struct dcc_path *path,
				      const struct dcc_prioplus_params *p)
{
	return !dcc_same_path(&s->path, path) ||
	       !dcc_same(&s->params, p, __builtin_offsetof(struct dcc_prioplus_params, seed));
}

/* Packets (Q24) that the line sends in a time. */
static inline u64 dcc_prioplus_packets_q24(const struct dcc_prioplus *s, u64 time_ns)
{
	return dcc_mulshift_u64(s->packets_per_ns_q40, time_ns, 16);
}

static inline u64 dcc_prioplus_part_q24(u64 packets_q24, u32 ppm)
{
	return dcc_scale_q24(packets_q24, dcc_ppm_to_q24(dcc_min_u32(ppm, DCC_PRIOPLUS_PPM_MAX)));
}

static inline u64 dcc_prioplus_rate_bps(const struct dcc_prioplus *s)
{
	return dcc_clamp_u64(s->path.line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
}

static inline u32 dcc_prioplus_levels(const struct dcc_prioplus *s)
{
	return dcc_clamp_u32(s->params.levels, 1, DCC_PRIOPLUS_LEVELS_MAX);
}

/* 1 is the lowest. */
static inline u32 dcc_prioplus_level(const struct dcc_prioplus *s)
{
	return dcc_min_u32(s->params.priority, dcc_prioplus_levels(s) - 1) + 1;
}

/* The channels, and what else is a delay. */
static inline void dcc_prioplus_derive_delays(struct dcc_prioplus *s)
{
	const struct dcc_prioplus_params *p = &s->params;
	u64 packet_ns = dcc_div_u64(s->wire_bytes * 8000000000ULL, dcc_prioplus_rate_bps(s));
	u64 least_ns = dcc_max_u64(DCC_PRIOPLUS_A_PACKETS * packet_ns, s->path.delay_floor_ns);
	u32 level = dcc_prioplus_level(s);
	u32 tolerance_ns = dcc_min_u32(p->tolerance_ns, DCC_PRIOPLUS_TOLERANCE_MAX_NS);
	u32 a_ns = p->channel_a_ns, b_ns, queue_ns;

	if (!a_ns) {
		a_ns = DCC_PRIOPLUS_A_NS;
		if (!p->paper)
			a_ns = dcc_max_u32(a_ns, dcc_sub_sat_u32(s->base_ns, s->path.noise_ns) /
							 DCC_PRIOPLUS_A_BASE_PART);
	}
	a_ns = dcc_clamp_u32(a_ns, DCC_PRIOPLUS_CHANNEL_MIN_NS, DCC_PRIOPLUS_CHANNEL_MAX_NS);
	a_ns = (u32)dcc_clamp_u64(least_ns, a_ns, DCC_PRIOPLUS_CHANNEL_MAX_NS);
	b_ns = dcc_min_u32(dcc_add_sat_u32(p->channel_b_ns, s->path.noise_ns),
			   DCC_PRIOPLUS_CHANNEL_MAX_NS);

	s->channel_ns = a_ns + b_ns;
	queue_ns = level * s->channel_ns; /* < 64 * 2e7 */
	s->target_ns = s->base_ns + queue_ns;
	s->limit_ns = s->target_ns + a_ns / 2 + b_ns;
	s->highest_ns = s->base_ns + dcc_prioplus_levels(s) * s->channel_ns;
	if (p->unlimited_from && level >= dcc_min_u32(p->unlimited_from, DCC_PRIOPLUS_LEVELS_MAX))
		s->limit_ns = DCC_PRIOPLUS_NO_LIMIT;
	/* Where the next lower level gives way. */
	s->low_ns = s->target_ns - a_ns / 2;
	s->halving_ns = a_ns / DCC_PRIOPLUS_AIM_PART;
	s->grow_q24 = dcc_ratio_q24(a_ns / DCC_PRIOPLUS_GROW_PART, s->target_ns);
	if (!tolerance_ns) {
		tolerance_ns = dcc_max_u32(b_ns, s->path.delay_floor_ns /
							 DCC_PRIOPLUS_IDLE_FLOOR_PART);
		tolerance_ns = (u32)dcc_clamp_u64(dcc_max_u64(packet_ns, tolerance_ns),
						  DCC_PRIOPLUS_TOLERANCE_NS,
						  DCC_PRIOPLUS_TOLERANCE_MAX_NS);
	}
	/* What is at the target is no empty queue. */
	s->idle_ns = s->base_ns + dcc_min_u32(tolerance_ns, queue_ns);

	/* A probe takes next to no time at a hop, a full packet its own: two hops at the least. */
	packet_ns = dcc_min_u64(packet_ns, s->base_ns / (2 * DCC_PRIOPLUS_HOPS_MAX));
	s->probe_start_ns = s->base_ns - 2 * (u32)packet_ns;
	s->probe_min_ns = s->base_ns - DCC_PRIOPLUS_HOPS_MAX * (u32)packet_ns;
}

/* The windows, by the line and the delays; and parts. */
static inline void dcc_prioplus_derive_windows(struct dcc_prioplus *s)
{
	const struct dcc_prioplus_params *p = &s->params;
	u32 levels = dcc_prioplus_levels(s);
	u32 medium = p->medium_from ? p->medium_from : (levels + 2) / 3 + 1;
	u32 high = p->high_from ? p->high_from : 2 * (levels + 2) / 3 + 1;
	u32 level = dcc_prioplus_level(s), ls_ppm = p->ls_low_ppm;
	u32 queue_ns = s->target_ns - s->base_ns;

	s->window_log2_q16 = dcc_log2_segments_q16(dcc_prioplus_packets_q24(s, s->target_ns));
	s->bdp_q24 = dcc_min_u64(dcc_prioplus_packets_q24(s, s->base_ns), DCC_PRIOPLUS_CWND_MAX);
	s->max_cwnd_q24 = dcc_clamp_u64(dcc_prioplus_packets_q24(s, 2ULL * s->target_ns),
					2 * DCC_PRIOPLUS_CWND_ONE, DCC_PRIOPLUS_CWND_MAX);
	if (level >= high)
		ls_ppm = p->ls_high_ppm;
	else if (level >= medium)
		ls_ppm = p->ls_medium_ppm;
	ls_ppm = dcc_clamp_u32(ls_ppm, DCC_PRIOPLUS_LS_MIN_PPM, DCC_PRIOPLUS_PPM_MAX);
	s->unprobed = level >= high;
	s->ls_q24 = dcc_prioplus_part_q24(s->bdp_q24, ls_ppm);
	s->countdown = (u16)dcc_div_u64(DCC_PRIOPLUS_PPM_MAX, ls_ppm);
	s->hold_resume_q24 = (u32)dcc_prioplus_part_q24(dcc_ratio_q24(queue_ns, s->target_ns),
							800000);
	s->ai_q24 = dcc_max_u64(dcc_prioplus_part_q24(s->bdp_q24,
						      dcc_max_u32(p->ai_ppm, 1)), 1);
	s->beta_q24 = dcc_ppm_to_q24(dcc_min_u32(p->beta_ppm, DCC_PRIOPLUS_PPM_MAX));
	s->max_mdf_q24 = dcc_ppm_to_q24(dcc_min_u32(p->max_mdf_ppm, DCC_PRIOPLUS_PPM_MAX));
}

/* Everything that depends on path and parameters only; values outside their ranges are cut. */
static inline void dcc_prioplus_derive(struct dcc_prioplus *s, const struct dcc_path *path,
				       const struct dcc_prioplus_params *p)
{
	s->path = *path;
	s->params = *p;
	s->base_ns = dcc_clamp_u32(path->base_rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
	s->wire_bytes = dcc_clamp_u32(path->wire_bytes, DCC_PATH_WIRE_MIN_BYTES,
				      DCC_PATH_WIRE_MAX_BYTES);
	/* 2^40 * 2^40 / 2^39 at the least */
	s->packets_per_ns_q40 = dcc_muldiv_u64(dcc_prioplus_rate_bps(s), 1ULL << 40,
					       s->wire_bytes * 8000000000ULL);
	DCC_BPF_SUBPROG(dcc_prioplus_derive_delays)(s);
	DCC_BPF_SUBPROG(dcc_prioplus_derive_windows)(s);
}

/* ---- the base core ----------------------------------------------------- */

static inline bool dcc_prioplus_is_settled(const struct dcc_prioplus *s)
{
	return s->flow.state == DCC_PRIOPLUS_SETTLED;
}

static inline bool dcc_prioplus_probes(const struct dcc_prioplus_flow *f)
{
	return f->state >= DCC_PRIOPLUS_STOPPED;
}

/* The target; of a settled flow it is the longer the smaller its share is, but no idle path's. */
static inline u32 dcc_prioplus_aim_ns(const struct dcc_prioplus *s)
{
	u32 halvings_q16;

	if (!dcc_prioplus_is_settled(s))
		return s->target_ns;
	halvings_q16 = dcc_halvings_q16(s->window_log2_q16, s->flow.cwnd_q24,
					DCC_PRIOPLUS_AIM_MAX);
	return s->target_ns - DCC_PRIOPLUS_AIM_MIDDLE * s->halving_ns +
	       (u32)(((u64)s->halving_ns * halvings_q16) >> 16);
}

/* Bytes on the wire as packets, Q16. */
static inline u64 dcc_prioplus_acked_q16(const struct dcc_prioplus *s, u32 acked_bytes)
{
	if (DCC_LIKELY(acked_bytes == s->wire_bytes))
		return DCC_WINDOW_ONE;
	return dcc_min_u64(dcc_div_u64((u64)acked_bytes << DCC_WINDOW_SHIFT,
				       dcc_max_u32(s->wire_bytes, 1)), 2048ULL << DCC_WINDOW_SHIFT);
}

/* A step per RTT as the base cores take it: at most 1000 packets. */
static inline u64 dcc_prioplus_bounded_q24(u64 step_q24)
{
	return dcc_min_u64(step_q24, 1000 * DCC_PRIOPLUS_CWND_ONE);
}

/*
 * The base core's answer to this delay: ai_q24 is this flow's W_AI, with the
 * adaptive increase in it.
 */
static inline u64 dcc_prioplus_base_step(struct dcc_prioplus *s, const struct dcc_ack *ack,
					 u64 ai_q24, bool grow)
{
	u64 acked_q16 = dcc_prioplus_acked_q16(s, ack->acked_bytes);
	struct dcc_prioplus_flow *f = &s->flow;
	u32 aim_ns = dcc_prioplus_aim_ns(s);
	u64 cwnd_q24 = f->cwnd_q24;
#ifdef DCC_PRIOPLUS_ON_LEDBAT
	u32 queue_ns = dcc_sub_sat_u32(ack->rtt_ns, s->base_ns);
	u32 target_ns = aim_ns - s->base_ns;
	u64 least_q24 = 0;

	if (ack->rtt_ns < aim_ns) {
		if (!grow)
			return cwnd_q24;
		/* The adaptive increase already is a distance: not scaled by it again. */
		ai_q24 = dcc_prioplus_bounded_q24(ai_q24 - f->step_q24);
		ai_q24 = dcc_ledbat_up_q24(ai_q24, queue_ns, target_ns) + f->step_q24;
		return dcc_ledbat_increase(cwnd_q24, dcc_prioplus_bounded_q24(ai_q24), acked_q16);
	}
	ai_q24 = dcc_ledbat_down_q24(dcc_prioplus_bounded_q24(s->ai_q24), queue_ns, target_ns);
	if (!s->params.paper) {
		/* In a RTT at most to a half of the window that it began with (Q8). */
		least_q24 = dcc_min_u64(cwnd_q24, (u64)f->started_q8 << 15);
		cwnd_q24 = dcc_min_u64(cwnd_q24, dcc_prioplus_packets_q24(s, ack->rtt_ns));
	}
	return dcc_max_u64(dcc_ledbat_decrease(cwnd_q24, ai_q24, acked_q16), least_q24);
#else
	if (ack->rtt_ns < aim_ns) {
		if (!grow)
			return cwnd_q24;
		ai_q24 = dcc_prioplus_bounded_q24(ai_q24);
		return dcc_swift_increase(cwnd_q24, (u32)(ai_q24 >> 8), acked_q16);
	}
	if (f->decreased_ns && ack->now_ns - f->decreased_ns < s->base_ns)
		return cwnd_q24;
	return dcc_swift_decrease(cwnd_q24, ack->rtt_ns, aim_ns, s->beta_q24, s->max_mdf_q24);
#endif
}

/* ---- the steps --------------------------------------------------------- */

/* 0 .. range - 1; a generator of 32 bits is enough to keep probes apart. */
static inline u32 dcc_prioplus_random(struct dcc_prioplus_flow *f, u32 range)
{
	u32 x = f->random ? f->random : 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	f->random = x;
	return (u32)(((u64)x * range) >> 32);
}

static inline void dcc_prioplus_set_cwnd(struct dcc_prioplus *s, u64 now_ns, u64 cwnd_q24)
{
	struct dcc_prioplus_flow *f = &s->flow;

	cwnd_q24 = dcc_clamp_u64(cwnd_q24, DCC_PRIOPLUS_CWND_MIN,
				 dcc_max_u64(s->max_cwnd_q24, DCC_PRIOPLUS_CWND_ONE));
	if (cwnd_q24 < f->cwnd_q24)
		f->decreased_ns = dcc_max_u64(now_ns, 1);
	f->cwnd_q24 = cwnd_q24;
}

static inline void dcc_prioplus_set_flows(struct dcc_prioplus *s, u64 flows_q8)
{
	u32 most = dcc_clamp_u32(s->params.max_flows, 1, DCC_PRIOPLUS_FLOWS_MAX);

	s->flow.flows_q8 = (u32)dcc_clamp_u64(flows_q8, DCC_PRIOPLUS_FLOWS_ONE,
					      most * DCC_PRIOPLUS_FLOWS_ONE);
	s->flow.countdown = s->countdown;
}

/* N; 1 also in a state that nothing has set. */
static inline u32 dcc_prioplus_flows_q8(const struct dcc_prioplus *s)
{
	return dcc_max_u32(s->flow.flows_q8, DCC_PRIOPLUS_FLOWS_ONE);
}

/* This flow's part of a window of the whole level. */
static inline u64 dcc_prioplus_per_flow_q24(const struct dcc_prioplus *s, u64 window_q24)
{
	return dcc_muldiv_u64(window_q24, DCC_PRIOPLUS_FLOWS_ONE, dcc_prioplus_flows_q8(s));
}

/* The base core's increase per RTT. */
static inline u64 dcc_prioplus_ai_q24(const struct dcc_prioplus *s)
{
	if (dcc_prioplus_is_settled(s))
		return dcc_scale_q24(s->flow.cwnd_q24, s->grow_q24);
	return dcc_prioplus_per_flow_q24(s, s->ai_q24);
}

/* N, if all flows of the level have windows like this one at this delay. */
static inline u64 dcc_prioplus_count_q8(const struct dcc_prioplus *s, u32 delay_ns, u64 cwnd_q24)
{
	return dcc_muldiv_u64(dcc_prioplus_packets_q24(s, delay_ns), DCC_PRIOPLUS_FLOWS_ONE,
			      dcc_max_u64(cwnd_q24, DCC_PRIOPLUS_CWND_ONE));
}

/* At no queue for as long as N flows need to fill the path: there are fewer. */
static inline void dcc_prioplus_count_down(struct dcc_prioplus_flow *f)
{
	if (f->countdown)
		f->countdown--;
	else
		f->flows_q8 = dcc_max_u32(f->flows_q8 / 2, DCC_PRIOPLUS_FLOWS_ONE);
}

static inline u64 dcc_prioplus_ls_step_q24(const struct dcc_prioplus *s)
{
	return dcc_max_u64(dcc_prioplus_per_flow_q24(s, s->ls_q24), DCC_PRIOPLUS_CWND_HALF);
}

/* Half of this flow's part of what the queue lacks to D_target, times 2^times. */
static inline u64 dcc_prioplus_half_gap_q24(const struct dcc_prioplus *s, u32 gap_ns, u32 times)
{
	/* < 2^56 << 8, for 800 Gbit/s and 64 channels of 20 ms */
	return dcc_prioplus_per_flow_q24(s, (dcc_prioplus_packets_q24(s, gap_ns) << times) / 2);
}

static inline void dcc_prioplus_control(const struct dcc_prioplus *s, u64 probe_ns,
					struct dcc_control *out)
{
	out->cwnd_q16 = dcc_max_u64(s->flow.cwnd_q24 >> (DCC_PRIOPLUS_CWND_SHIFT -
							 DCC_WINDOW_SHIFT), 1);
	out->pacing_bps = dcc_prioplus_rate_bps(s) - 1;
	out->probe_ns = probe_ns;
	out->target_ns = s->target_ns - s->base_ns;
	out->has_levels = 1;
}

/* Levels between this one and the one that keeps the queue; 0: it is the next. */
static inline u32 dcc_prioplus_away(const struct dcc_prioplus *s)
{
	u32 above_ns = dcc_sub_sat_u32(dcc_min_u32(s->flow.high_ns, s->highest_ns),
				       s->target_ns), away;

	if (s->flow.state < DCC_PRIOPLUS_YIELDED || above_ns <= s->channel_ns + s->channel_ns / 2)
		return 0;
	away = (u32)dcc_div_u64((u64)above_ns + s->channel_ns / 2, s->channel_ns);
	return dcc_min_u32(away - 1, DCC_PRIOPLUS_AWAY_MAX);
}

/* Probe when the queue may have fallen to D_target, and not all at once. */
static inline u64 dcc_prioplus_probe_ns(struct dcc_prioplus *s, u32 delay_ns)
{
	return 1 + (u64)dcc_sub_sat_u32(delay_ns, s->target_ns) +
	       dcc_prioplus_random(&s->flow, s->base_ns) +
	       2ULL * s->base_ns * dcc_prioplus_away(s);
}

/* What a full packet would have measured: a probe is served sooner at each hop. */
static inline u32 dcc_prioplus_probed_delay(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	struct dcc_prioplus_flow *f = &s->flow;

	if (ack->flags & DCC_ACK_PROBE_DATA)
		return ack->rtt_ns;
	f->probe_ns = dcc_min_u32(f->probe_ns, ack->rtt_ns);
	return dcc_add_sat_u32(ack->rtt_ns, s->base_ns - dcc_clamp_u32(f->probe_ns, s->probe_min_ns,
								  s->base_ns));
}

static inline u64 dcc_prioplus_stop(struct dcc_prioplus *s, u32 delay_ns, u32 branch)
{
	struct dcc_prioplus_flow *f = &s->flow;

	f->state = branch == DCC_PRIOPLUS_YIELD ? DCC_PRIOPLUS_YIELDED : DCC_PRIOPLUS_STOPPED;
	f->middle = 0;
	f->over = 0;
	f->calm = 0;
	f->step_q24 = 0;
	f->high_ns = delay_ns;
	s->last.branch = branch;
	return dcc_prioplus_probe_ns(s, delay_ns);
}

static inline void dcc_prioplus_resume(struct dcc_prioplus *s, u64 now_ns, u64 cwnd_q24,
				       u32 branch)
{
	struct dcc_prioplus_flow *f = &s->flow;

	f->state = DCC_PRIOPLUS_SENDS;
	f->middle = 0;
	f->over = 0;
	f->odd = 0;
	f->cuts = 0;
	f->fresh = 2;
	f->tries = 0;
	f->calm = 0;
	f->step_q24 = 0;
	f->round_ns = now_ns;
	f->since_ns = now_ns;
	dcc_prioplus_set_cwnd(s, now_ns, cwnd_q24);
	f->started_q8 = (u32)(f->cwnd_q24 >> 16);
	f->started_before_q8 = 0;
	s->last.branch = branch;
}

/* Once per RTT: has the flow found its share of the channel? */
static inline void dcc_prioplus_settle(struct dcc_prioplus *s, u32 delay_ns, bool unused)
{
	struct dcc_prioplus_flow *f = &s->flow;

	/* Whose queue that is the next sample says. */
	if (delay_ns >= s->limit_ns)
		return;
	f->cuts = 0;
	if (unused || delay_ns < s->low_ns) {
		f->calm = 0;
		f->state = DCC_PRIOPLUS_SENDS;
		return;
	}
	if (!dcc_prioplus_is_settled(s) || delay_ns >= dcc_prioplus_aim_ns(s))
		f->tries = 0;
	f->calm = (u8)dcc_min_u32(f->calm + 1U, DCC_PRIOPLUS_SETTLED_RTTS);
	if (f->calm < DCC_PRIOPLUS_SETTLED_RTTS)
		return;
	f->state = DCC_PRIOPLUS_SETTLED;
	f->hold_q24 = f->cwnd_q24;
	dcc_prioplus_set_flows(s, dcc_prioplus_count_q8(s, s->target_ns, f->hold_q24));
}

/* The second sample above D_limit: the time to the probe, 0: go on. */
static inline u64 dcc_prioplus_over_limit(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	struct dcc_prioplus_flow *f = &s->flow;
	u64 count_q8 = dcc_prioplus_count_q8(s, ack->rtt_ns, f->cwnd_q24);

	if (!s->params.paper) {
		if (!f->hold_q24 && f->cuts < DCC_PRIOPLUS_CUTS &&
		    f->cwnd_q24 >= DCC_PRIOPLUS_CWND_STOP) {
			/* At first the flight is in part the lower levels', who give way now. */
			if (f->cuts++)
				dcc_prioplus_set_flows(s, count_q8);
			dcc_prioplus_set_cwnd(s, ack->now_ns,
					      dcc_muldiv_u64(f->cwnd_q24, s->target_ns,
							     ack->rtt_ns));
			f->over = 0;
			f->step_q24 = 0;
			f->since_ns = ack->now_ns;
			s->last.branch = DCC_PRIOPLUS_CUT;
			return 0;
		}
		if (dcc_prioplus_is_settled(s) ||
		    (f->hold_q24 && f->cwnd_q24 <= f->hold_q24))
			return dcc_prioplus_stop(s, ack->rtt_ns, DCC_PRIOPLUS_YIELD);
	}
	dcc_prioplus_set_flows(s, dcc_max_u64(f->flows_q8, count_q8));
	return dcc_prioplus_stop(s, ack->rtt_ns, DCC_PRIOPLUS_STOP);
}

/* No queue, once per RTT. */
static inline void dcc_prioplus_linear(struct dcc_prioplus *s, u64 now_ns)
{
	struct dcc_prioplus_flow *f = &s->flow;

	dcc_prioplus_set_cwnd(s, now_ns, f->cwnd_q24 + dcc_prioplus_ls_step_q24(s));
	dcc_prioplus_count_down(f);
	s->last.branch = DCC_PRIOPLUS_LINEAR;
}

/* A queue below the aim: what is missing, in the next RTT. */
static inline void dcc_prioplus_adapt(struct dcc_prioplus *s, u32 delay_ns)
{
	struct dcc_prioplus_flow *f = &s->flow;
	u32 gap_ns = dcc_prioplus_aim_ns(s) - delay_ns;
	u64 part_q24;

	f->step_q24 = dcc_min_u64(f->cwnd_q24 / 2, dcc_muldiv_u64(f->cwnd_q24, gap_ns, delay_ns));
	if (!s->params.paper) {
		part_q24 = dcc_min_u64(dcc_prioplus_half_gap_q24(s, gap_ns, f->tries),
				       dcc_prioplus_packets_q24(s, gap_ns));
		if (f->tries < DCC_PRIOPLUS_TRIES_MAX)
			f->tries++;
		f->step_q24 = dcc_max_u64(f->step_q24, part_q24);
	}
	s->last.branch = DCC_PRIOPLUS_ADAPTIVE;
}

/* What was in flight when the acknowledged packet left, in packets. */
static inline u64 dcc_prioplus_flight_q24(const struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	return dcc_div_u64((u64)ack->inflight_bytes << DCC_PRIOPLUS_CWND_SHIFT,
			   dcc_max_u32(s->wire_bytes, 1));
}

/* Where the line rate is not configured, once per RTT. */
static inline void dcc_prioplus_follow_flight(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	u64 flight_q24 = dcc_prioplus_flight_q24(s, ack);
	u64 most_q24 = flight_q24 + (flight_q24 >> DCC_PRIOPLUS_FLIGHT_SHIFT);

	if (ack->rtt_ns < s->idle_ns)
		most_q24 = DCC_PRIOPLUS_FLIGHTS * flight_q24;
	if (!s->params.paper)
		s->flow.cwnd_q24 = dcc_min_u64(s->flow.cwnd_q24, most_q24 + DCC_PRIOPLUS_UNUSED);
}

/* A probe has come back to a stopped flow: the time to the next one, 0: resume. */
static inline u64 dcc_prioplus_reply(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	struct dcc_prioplus_flow *f = &s->flow;
	u32 delay_ns = dcc_prioplus_probed_delay(s, ack), away;
	u64 cwnd_q24;

	s->last.branch = DCC_PRIOPLUS_WAIT;
	if (delay_ns >= s->limit_ns) {
		f->high_ns = delay_ns;
		if (f->state != DCC_PRIOPLUS_STOPPED)
			f->state = DCC_PRIOPLUS_WAITS;
		f->middle = 0;
		return dcc_prioplus_probe_ns(s, delay_ns);
	}
	if (delay_ns >= s->idle_ns) {
		if (f->state == DCC_PRIOPLUS_ASKED)
			f->state = DCC_PRIOPLUS_YIELDED;
		/* A higher level on its way up; if it never gets there, it is a lower one. */
		if (f->state != DCC_PRIOPLUS_STOPPED && ++f->middle < DCC_PRIOPLUS_MIDDLE_MAX)
			return dcc_prioplus_probe_ns(s, delay_ns);
		cwnd_q24 = dcc_div_u64(dcc_clamp_u32(s->params.resume_milli,
						     DCC_PRIOPLUS_RESUME_MIN_MILLI,
						     DCC_PRIOPLUS_RESUME_MAX_MILLI) *
				       DCC_PRIOPLUS_CWND_ONE, 1000);
		if (!s->params.paper && delay_ns < s->target_ns)
			cwnd_q24 = dcc_max_u64(cwnd_q24,
					       dcc_min_u64(dcc_prioplus_ls_step_q24(s),
							   dcc_prioplus_half_gap_q24(s,
										     s->target_ns -
										     delay_ns, 0)));
		dcc_prioplus_resume(s, ack->now_ns, cwnd_q24, DCC_PRIOPLUS_RESUME_LOW);
		return 0;
	}
	away = dcc_prioplus_away(s);
	if (f->state == DCC_PRIOPLUS_YIELDED || (f->state == DCC_PRIOPLUS_WAITS && away)) {
		f->state = DCC_PRIOPLUS_ASKED;
		return 1 + dcc_prioplus_random(f, s->base_ns / 3) +
		       (away ? 2ULL * s->base_ns * away : s->base_ns);
	}
	dcc_prioplus_count_down(f);
	cwnd_q24 = dcc_prioplus_ls_step_q24(s);
	if (!s->params.paper)
		cwnd_q24 = dcc_max_u64(cwnd_q24, dcc_scale_q24(f->hold_q24, s->hold_resume_q24));
	dcc_prioplus_resume(s, ack->now_ns, cwnd_q24, DCC_PRIOPLUS_RESUME);
	return 0;
}

/* ---- the contract ------------------------------------------------------ */

/* What a flow knows of its level's flows, and of others'. */
static inline void dcc_prioplus_forget(struct dcc_prioplus_flow *f, u16 countdown)
{
	f->hold_q24 = 0;
	f->flows_q8 = DCC_PRIOPLUS_FLOWS_ONE;
	f->countdown = countdown;
	f->high_ns = 0;
	if (dcc_prioplus_probes(f))
		f->state = DCC_PRIOPLUS_STOPPED;
}

static inline u64 dcc_prioplus_begin(struct dcc_prioplus *s)
{
	struct dcc_prioplus_flow *f = &s->flow;

	f->cwnd_q24 = 0;
	f->decreased_ns = 0;
	dcc_prioplus_forget(f, s->countdown);
	f->probe_ns = s->probe_start_ns;
	dcc_prioplus_resume(s, 0, s->ls_q24, DCC_PRIOPLUS_START);
	if (!s->unprobed)
		f->state = DCC_PRIOPLUS_STOPPED;
	s->last.delay_ns = s->base_ns;
	return dcc_prioplus_probes(f);
}

static inline void dcc_prioplus_init(struct dcc_prioplus *s, const struct dcc_path *path,
				     const struct dcc_prioplus_params *p, struct dcc_control *out)
{
	s->flow.random = p->seed;
	DCC_BPF_SUBPROG(dcc_prioplus_derive)(s, path, p);
	dcc_prioplus_control(s, dcc_prioplus_begin(s), out);
}

/* After an idle period, or on another path: as a new flow. */
static inline void dcc_prioplus_restart(struct dcc_prioplus *s, const struct dcc_path *path,
					const struct dcc_prioplus_params *p, u64 now_ns,
					struct dcc_control *out)
{
	(void)now_ns;
	DCC_BPF_SUBPROG(dcc_prioplus_derive)(s, path, p);
	dcc_prioplus_control(s, dcc_prioplus_begin(s), out);
}

/* Algorithm 1 on one sample of a flow that sends: the time to the probe, 0: go on. */
static inline u64 dcc_prioplus_sample(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	struct dcc_prioplus_flow *f = &s->flow;
	u32 delay_ns = ack->rtt_ns;
	bool round = dcc_round_over(ack, f->round_ns);
	u64 used_q24 = dcc_prioplus_flight_q24(s, ack);
	u64 window_q24 = f->cwnd_q24;
	bool grow;

	s->last.branch = DCC_PRIOPLUS_CHANNEL;
	/* This packet found in flight what the window was when it left: an RTT ago, or before. */
	if (!f->hold_q24 && delay_ns < s->idle_ns)
		window_q24 = dcc_min_u64(window_q24, (u64)f->started_before_q8 << 16);
	if (window_q24 <= used_q24 + used_q24 / 4 + DCC_PRIOPLUS_UNUSED)
		used_q24 = 0;
	/* Of the first flight after a stop each packet finds only those before it in flight. */
	if (f->fresh && round)
		f->fresh--;
	if (f->fresh && f->hold_q24)
		used_q24 = 0;
	grow = !used_q24 && !(ack->flags & DCC_ACK_APP_LIMITED);
	if (round) {
		f->round_ns = ack->now_ns;
		f->started_before_q8 = f->started_q8;
		f->started_q8 = (u32)(f->cwnd_q24 >> 16);
		f->odd = !f->odd;
		if (!f->odd)
			f->step_q24 = 0;
	}
	if (delay_ns < s->limit_ns) {
		f->over = 0;
	} else {
		if (!f->over || delay_ns >= f->high_ns || s->params.paper)
			f->over++;
		f->high_ns = delay_ns;
	}
	if (f->over >= 2)
		return DCC_BPF_SUBPROG(dcc_prioplus_over_limit)(s, ack);
	if (f->cwnd_q24 < DCC_PRIOPLUS_CWND_STOP && delay_ns >= s->target_ns &&
	    s->limit_ns != DCC_PRIOPLUS_NO_LIMIT) {
		dcc_prioplus_set_flows(s, dcc_max_u64(f->flows_q8,
						      dcc_prioplus_count_q8(s, delay_ns,
									    f->cwnd_q24)));
		return dcc_prioplus_stop(s, delay_ns, DCC_PRIOPLUS_STOP);
	}
	if (round) {
		if (!s->params.paper)
			DCC_BPF_SUBPROG(dcc_prioplus_settle)(s, delay_ns, used_q24 != 0);
		if (delay_ns <= s->target_ns && grow) {
			if (delay_ns < s->idle_ns)
				DCC_BPF_SUBPROG(dcc_prioplus_linear)(s, ack->now_ns);
			else if ((f->odd || !s->params.dual_rtt) &&
				 delay_ns <= dcc_prioplus_aim_ns(s))
				DCC_BPF_SUBPROG(dcc_prioplus_adapt)(s, delay_ns);
		}
		if (s->path.delay_floor_ns && !f->fresh && !(ack->flags & DCC_ACK_APP_LIMITED))
			DCC_BPF_SUBPROG(dcc_prioplus_follow_flight)(s, ack);
	}
	dcc_prioplus_set_cwnd(s, ack->now_ns,
			      dcc_prioplus_base_step(s, ack,
						     dcc_prioplus_ai_q24(s) + f->step_q24,
						     grow));
	return 0;
}

/* On each acknowledgment and each probe's reply.  True when a decision was made and out set. */
static inline bool dcc_prioplus_ack(struct dcc_prioplus *s, const struct dcc_path *path,
				    const struct dcc_prioplus_params *p, const struct dcc_ack *ack,
				    struct dcc_control *out)
{
	u32 base_ns = s->base_ns;
	u64 probe_ns;

	if (DCC_UNLIKELY(ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)))
		return false;
	if (DCC_UNLIKELY(dcc_prioplus_stale(s, path, p))) {
		DCC_BPF_SUBPROG(dcc_prioplus_derive)(s, path, p);
		/* What probes have taken is known by what it is below the base RTT. */
		if (s->base_ns != base_ns)
			s->flow.probe_ns = s->probe_start_ns;
		/* What has stopped it was the path, not a queue. */
		if (dcc_prioplus_probes(&s->flow) && s->base_ns > base_ns + s->channel_ns / 2)
			dcc_prioplus_forget(&s->flow, s->countdown);
	}
	switch (s->flow.state) {
	case DCC_PRIOPLUS_SENDS:
	case DCC_PRIOPLUS_SETTLED:
		/* Sent before; unless the clock went back. */
		if (ack->flags & DCC_ACK_PROBE || !dcc_round_over(ack, s->flow.since_ns))
			return false;
		probe_ns = DCC_BPF_SUBPROG(dcc_prioplus_sample)(s, ack);
		break;
	default:
		if (!(ack->flags & DCC_ACK_PROBE))
			return false;
		probe_ns = DCC_BPF_SUBPROG(dcc_prioplus_reply)(s, ack);
	}
	s->last.delay_ns = ack->rtt_ns;
	dcc_prioplus_control(s, probe_ns, out);
	return true;
}

/* The most that one decrease takes, if the last one is an RTT ago. */
static inline void dcc_prioplus_cut(struct dcc_prioplus *s, u64 now_ns, u32 branch,
				    struct dcc_control *out)
{
	struct dcc_prioplus_flow *f = &s->flow;
	u32 rtt_ns = dcc_max_u32(s->last.delay_ns, s->base_ns);

	/* While stopped nothing of it leaves; the probe decides. */
	if (!dcc_prioplus_probes(f) && (!f->decreased_ns || now_ns - f->decreased_ns >= rtt_ns)) {
		dcc_prioplus_set_cwnd(s, now_ns,
				      dcc_scale_q24(f->cwnd_q24, DCC_RATIO_ONE - s->max_mdf_q24));
		s->last.branch = branch;
	}
	dcc_prioplus_control(s, dcc_prioplus_probes(f) ? dcc_max_u64(out->probe_ns, 1) : 0, out);
}

/* A loss was found at now_ns (fast recovery).  out is set in any case. */
static inline void dcc_prioplus_loss(struct dcc_prioplus *s, const struct dcc_path *path,
				     const struct dcc_prioplus_params *p, u64 now_ns,
				     struct dcc_control *out)
{
	(void)path;
	(void)p;
	dcc_prioplus_cut(s, now_ns, DCC_PRIOPLUS_LOSS, out);
}

/* A retransmission timeout. */
static inline void dcc_prioplus_rto(struct dcc_prioplus *s, const struct dcc_path *path,
				    const struct dcc_prioplus_params *p, u64 now_ns,
				    struct dcc_control *out)
{
	(void)path;
	(void)p;
	dcc_prioplus_cut(s, now_ns, DCC_PRIOPLUS_RTO, out);
}

#endif /* DCC_PRIOPLUS_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The base RTT: that of a full packet on the idle path, without the hosts' noise.
 *
 * It has a source, and an age:
 *
 *	UNKNOWN    TCP's own RTT, or 1 ms
 *	SMALL      the least RTT of packets that were not full
 *	HANDSHAKE  the handshake's RTT, and two full packets' time on the line
 *	CACHE      what earlier connections to the same peer have measured
 *	DATA       the least RTT of full packets
 *	CONFIGURED base_rtt_ns
 *	PROBED     what a probe has found instead of a configured one (probe.h)
 *
 *	UNKNOWN -> SMALL --the first full packet--> HANDSHAKE, CACHE if they are shorter, else DATA
 *	HANDSHAKE, CACHE, DATA --a shorter RTT, or a probe: the path is longer--> DATA
 *	CONFIGURED --a probe--> PROBED --an RTT as short as configured--> CONFIGURED
 *
 * Flows that start together make a queue before any of them has seen the path without it; their
 * handshakes came before.  One that is made while a queue stands sees the path with it until a
 * drain (drain.h); earlier connections have seen it without.  Both sources may be too short, and so
 * may a minimum be after the path has changed, and what is configured.  So a base RTT is in doubt
 * if no RTT has been as short, or for AGE_RTTS round trips none has been as short as the law's
 * target; a probe then asks the path.
 *
 *	constant	value	reason
 *	HANDSHAKE_LINKS	2	a full packet takes longer at least on both hosts' own links,
 *	MORE_LINKS	4	and on six in the largest fabrics
 *	SLACK_SHIFT	4	a 16th of a path's RTT is another time of day
 *	CACHE_TIMES	3	a handshake that took longer met another path, or other flows' queue
 *	AGE_RTTS	32	a law's queue drains in less, or lasts
 *	SEEN_SHIFT	5	a 32nd is less than most laws' targets;
 *	SEEN_TARGET	2	of a law's target a quarter: CCC leaves half of the line at its half
 */
#ifndef DCC_PATH_BASE_RTT_H
#define DCC_PATH_BASE_RTT_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

#define DCC_BASE_HANDSHAKE_LINKS 2U
#define DCC_BASE_MORE_LINKS 4U
#define DCC_BASE_SLACK_SHIFT 4
#define DCC_BASE_CACHE_TIMES 3U
#define DCC_BASE_AGE_RTTS 32U
#define DCC_BASE_SEEN_SHIFT 5
#define DCC_BASE_SEEN_TARGET_SHIFT 2

enum dcc_base_source {
	DCC_BASE_UNKNOWN,
	DCC_BASE_SMALL,
	DCC_BASE_HANDSHAKE, /* from here on a full packet was measured */
	DCC_BASE_CACHE,
	DCC_BASE_DATA,
	DCC_BASE_CONFIGURED,
	DCC_BASE_PROBED,
};

/* What connections leave in the cache, and begin with (cache.h). */
struct dcc_path_metrics {
	u32 rtt_min_ns; /* 0: nothing */
	u32 noise_ns;	/* of the hosts, beside it */
	bool exact;	/* of full packets; else a handshake's, made longer */
};

struct dcc_base_rtt {
	u64 seen_ns; /* when an RTT was last as short as the base RTT; 0: never */
	u32 ns;	     /* the base RTT, 1 us .. 1 s */
	u32 configured_ns; /* 0: to be measured */
	u32 handshake_ns;  /* of its small packets; 0: unknown or ambiguous */
	u32 error_ns;	   /* of handshake_ns, either way */
	struct dcc_path_metrics cached; /* rtt_min_ns is 0 once it is refuted */
	u8 source;	   /* enum dcc_base_source */
	u8 cache_wrong;	   /* what was cached is refuted, and the cache has not heard of it */
};

static inline u32 dcc_path_rtt_ns(u64 rtt_ns)
{
	return (u32)dcc_clamp_u64(rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
}

static inline bool dcc_base_is_configured(const struct dcc_base_rtt *b)
{
	return b->configured_ns != 0;
}

/* Has a full packet been measured, where the base RTT is to be? */
static inline bool dcc_base_is_measured(const struct dcc_base_rtt *b)
{
	return b->source >= DCC_BASE_HANDSHAKE && b->source <= DCC_BASE_DATA;
}

/* The handshake's RTT, or another one of small packets, to error_ns. */
static inline void dcc_base_note_handshake(struct dcc_base_rtt *b, u64 rtt_ns, u32 error_ns)
{
	b->handshake_ns = (u32)dcc_min_u64(rtt_ns, DCC_PATH_RTT_MAX_NS);
	b->error_ns = error_ns;
}

/* Before any sample: TCP's RTT. */
static inline void dcc_base_guess(struct dcc_base_rtt *b, u64 rtt_ns)
{
	b->ns = dcc_path_rtt_ns(rtt_ns);
	b->source = DCC_BASE_UNKNOWN;
}

/*
 * base_rtt_ns as configured; 0: to be measured.  moved: the route leads over another device.  A
 * route that was merely looked up anew keeps what is known of the path.
 *
 * Returns: whether all that was known of the path counts no more.
 */
static inline bool dcc_base_configure(struct dcc_base_rtt *b, u32 base_rtt_ns, bool moved)
{
	if (b->configured_ns == base_rtt_ns && !moved)
		return false;
	b->configured_ns = base_rtt_ns;
	b->seen_ns = 0;
	if (base_rtt_ns) {
		b->ns = dcc_path_rtt_ns(base_rtt_ns);
		b->source = DCC_BASE_CONFIGURED;
	} else {
		/* The one in use stays until the first sample. */
		b->source = DCC_BASE_UNKNOWN;
		b->handshake_ns = 0;
		b->cached.rtt_min_ns = 0;
	}
	return true;
}

/* The handshake's RTT as that of a full packet on the fewest links. */
static inline u32 dcc_base_of_handshake_ns(const struct dcc_base_rtt *b, u64 packet_ns)
{
	return dcc_path_rtt_ns(b->handshake_ns + DCC_BASE_HANDSHAKE_LINKS * packet_ns);
}

/* May the cached RTT be this path's?  Not if the handshake was faster than it allows. */
static inline bool dcc_base_allows_cached(const struct dcc_base_rtt *b, u64 packet_ns)
{
	u64 most_ns = dcc_base_of_handshake_ns(b, packet_ns);

	if (!b->cached.rtt_min_ns)
		return false;
	if (b->cached.exact)
		most_ns += DCC_BASE_MORE_LINKS * packet_ns +
			   (b->handshake_ns >> DCC_BASE_SLACK_SHIFT) + b->error_ns;
	return !b->handshake_ns || b->cached.rtt_min_ns <= most_ns;
}

/*
 * A connection begins with what earlier ones have measured.  Returns: whether it is believed, and
 * the base RTT in use.
 */
static inline bool dcc_base_recall(struct dcc_base_rtt *b, const struct dcc_path_metrics *cached,
				   u64 packet_ns)
{
	u64 most_ns = (u64)DCC_BASE_CACHE_TIMES * cached->rtt_min_ns;

	if (!cached->rtt_min_ns || b->handshake_ns > most_ns)
		return false;
	b->cached = *cached;
	b->cached.rtt_min_ns = dcc_path_rtt_ns(cached->rtt_min_ns);
	if (!dcc_base_allows_cached(b, packet_ns))
		return false;
	b->ns = b->cached.rtt_min_ns;
	return true;
}

/* The first full packet's RTT: do handshake and cache say that the path is shorter? */
static inline void dcc_base_bound(struct dcc_base_rtt *b, u64 packet_ns)
{
	u32 ns = b->handshake_ns ? dcc_base_of_handshake_ns(b, packet_ns) : 0;
	u8 source = DCC_BASE_HANDSHAKE;

	if (dcc_base_allows_cached(b, packet_ns)) {
		ns = b->cached.rtt_min_ns;
		source = DCC_BASE_CACHE;
	}
	if (!ns || ns >= b->ns)
		return;
	b->ns = ns;
	b->source = source;
	b->seen_ns = 0;
}

/*
 * An RTT of the path.  small: of a packet that was not full, which takes less time on each link.
 * packet_ns: a full packet's time on the line; 0: its rate is not configured, and handshake and
 * cache count for nothing, because a slower link makes full packets' RTTs longer, not theirs.
 */
static inline void dcc_base_sample(struct dcc_base_rtt *b, u32 rtt_ns, bool small, u64 now_ns,
				   u64 packet_ns)
{
	bool first;

	if (dcc_base_is_configured(b) || (small && b->source > DCC_BASE_SMALL))
		return;
	first = b->source < (small ? DCC_BASE_SMALL : DCC_BASE_HANDSHAKE);
	rtt_ns = dcc_path_rtt_ns(rtt_ns);
	if (!first && rtt_ns >= b->ns)
		return;
	b->ns = rtt_ns;
	b->seen_ns = now_ns;
	b->source = small ? DCC_BASE_SMALL : DCC_BASE_DATA;
	if (small && b->cached.rtt_min_ns)
		b->ns = dcc_min_u32(rtt_ns, b->cached.rtt_min_ns);
	else if (!small && first && packet_ns)
		dcc_base_bound(b, packet_ns);
}

/* The line rate is not configured any more: neither handshake nor cache nor probe counts. */
static inline void dcc_base_lose_line(struct dcc_base_rtt *b)
{
	if (b->source == DCC_BASE_PROBED) {
		b->ns = dcc_path_rtt_ns(b->configured_ns);
		b->source = DCC_BASE_CONFIGURED;
	} else if (b->source == DCC_BASE_HANDSHAKE || b->source == DCC_BASE_CACHE) {
		b->source = DCC_BASE_UNKNOWN;
	}
}

/* The answer to a stopped flow's probe: the best that is known until a packet's RTT. */
static inline void dcc_base_guess_small(struct dcc_base_rtt *b, u32 rtt_ns)
{
	if (b->source <= DCC_BASE_SMALL &&
	    (!b->cached.rtt_min_ns || rtt_ns < b->cached.rtt_min_ns))
		b->ns = dcc_path_rtt_ns(rtt_ns);
}

/* How much longer than a base RTT one may be that counts as the same. */
static inline u32 dcc_base_tolerance_ns(u32 base_ns, u32 target_ns)
{
	return dcc_min_u32(base_ns >> DCC_BASE_SEEN_SHIFT,
			   target_ns >> DCC_BASE_SEEN_TARGET_SHIFT);
}

/*
 * A full packet's RTT: is the base RTT in doubt?  noise_ns: of the hosts.  target_ns: the queueing
 * delay that the law holds; 0: the base RTT sets none, and it is never in doubt.
 */
static inline bool dcc_base_in_doubt(struct dcc_base_rtt *b, u64 rtt_ns, u64 now_ns, u32 noise_ns,
				     u32 target_ns)
{
	u64 most_ns;

	if (!target_ns)
		return false;
	if (DCC_UNLIKELY(b->source == DCC_BASE_PROBED) &&
	    rtt_ns <= (u64)b->configured_ns + noise_ns +
			      dcc_base_tolerance_ns(b->configured_ns, target_ns)) {
		b->ns = dcc_path_rtt_ns(b->configured_ns);
		b->source = DCC_BASE_CONFIGURED;
	}
	most_ns = (u64)b->ns + noise_ns;
	most_ns += b->seen_ns ? target_ns : dcc_base_tolerance_ns(b->ns, target_ns);
	if (rtt_ns <= most_ns) {
		b->seen_ns = now_ns;
		return false;
	}
	return now_ns - b->seen_ns > (u64)b->ns * DCC_BASE_AGE_RTTS;
}

/* A probe has found that the path is rtt_ns long. */
static inline void dcc_base_replace(struct dcc_base_rtt *b, u32 rtt_ns, u64 now_ns)
{
	b->ns = dcc_path_rtt_ns(rtt_ns);
	b->seen_ns = now_ns;
	b->cache_wrong |= b->cached.rtt_min_ns != 0;
	b->cached.rtt_min_ns = 0;
	b->source = dcc_base_is_configured(b) ? DCC_BASE_PROBED : DCC_BASE_DATA;
}

#endif /* DCC_PATH_BASE_RTT_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An entry of the cache of path metrics, as RFC 9040 and the kernel's tcp_metrics have one: what
 * connections to a peer have measured, for those that come later (base_rtt.h, source CACHE).
 *
 *	empty --a connection that has measured--> rtt_min, noise
 *	rtt_min --shorter--> replaced  --alike--> confirmed  --longer--> as it was, until lifetime_s
 *	rtt_min --refuted by a probe--> empty (the caller's)
 *
 *	constant	value	reason
 *	NOTE_NS		1 s	how often a connection confirms what it knows
 */
#ifndef DCC_PATH_CACHE_H
#define DCC_PATH_CACHE_H

#include "base_rtt.h"

#define DCC_CACHE_NOTE_NS DCC_NS_PER_S

struct dcc_cache_entry {
	struct dcc_path_metrics metrics;
	u64 noted_ns; /* when a connection last knew as short an RTT; wraps */
};

/* 0 if another processor has noted it since now_ns. */
static inline u64 dcc_cache_age_ns(const struct dcc_cache_entry *e, u64 now_ns)
{
	u64 age_ns = now_ns - e->noted_ns;

	return (s64)age_ns < 0 ? 0 : age_ns;
}

static inline bool dcc_cache_is_old(const struct dcc_cache_entry *e, u64 now_ns, u32 lifetime_s)
{
	return dcc_cache_age_ns(e, now_ns) > lifetime_s * DCC_NS_PER_S;
}

/*
 * Takes what a connection has measured.  Of one path the least RTT of full packets counts, and a
 * handshake's before there is one.  Returns false for a longer RTT, which says nothing.
 */
static inline bool dcc_cache_update(struct dcc_cache_entry *e,
				    const struct dcc_path_metrics *measured, u64 now_ns,
				    u32 lifetime_s)
{
	u32 rtt_ns = e->metrics.rtt_min_ns;
	u32 slack_ns = rtt_ns >> DCC_BASE_SLACK_SHIFT;

	if (!rtt_ns || measured->rtt_min_ns < rtt_ns - slack_ns ||
	    dcc_cache_is_old(e, now_ns, lifetime_s)) {
		e->metrics = *measured;
	} else if (measured->rtt_min_ns > rtt_ns + slack_ns) {
		return false;
	} else if (measured->exact != e->metrics.exact) {
		if (measured->exact)
			e->metrics = *measured;
	} else {
		e->metrics.rtt_min_ns = dcc_min_u32(rtt_ns, measured->rtt_min_ns);
	}
	e->metrics.noise_ns = measured->noise_ns;
	e->noted_ns = now_ns;
	return true;
}

#endif /* DCC_PATH_CACHE_H */

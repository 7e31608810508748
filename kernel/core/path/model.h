/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The path: base RTT, noise, line rate.  Each is configured, or estimated.  Start here.
 *
 *	path.base_rtt_ns = base RTT + noise + share
 *	path.noise_ns = noise + share (a law with levels: noise)	path.line_rate_bps
 *
 *			base RTT measured		base RTT configured
 *	line rate	handshake, cache, minimum;	as configured;
 *	configured	a probe where in doubt; drains	a probe where in doubt
 *	line rate	minimum				as configured
 *	unknown		  both: window of a start-up, delay floor, a line rate that follows
 *	noise		as configured in all four; else estimated where the base RTT is measured,
 *			0 where it is configured
 *
 * What an operator configures wins, except that a probe may find a base RTT too short (probe.h).
 *
 *	base_rtt.h	minimum, source, age: is the base RTT in doubt?
 *	noise.h		what hosts add, from how the RTT changes within a round
 *	line_rate.h	what stands for a line rate that nobody has configured
 *	share.h		in noise: the smaller a flow's share, the longer its base RTT
 *	round.h		the samples of a round trip: one round for all of them
 *	probe.h		some packets more in flight: does the RTT follow?
 *	drain.h		next to none for a round trip: is the path shorter?
 *	cache.h		what later connections begin with
 *
 * An estimator owns its struct and includes no other; it gets the round and facts, and returns an
 * event.  Only this file connects them, and only dcc_model_publish() writes struct dcc_path.
 */
#ifndef DCC_PATH_MODEL_H
#define DCC_PATH_MODEL_H

#include "base_rtt.h"
#include "cache.h"
#include "drain.h"
#include "line_rate.h"
#include "noise.h"
#include "probe.h"
#include "round.h"
#include "share.h"

/* Zeroed before dcc_base_guess() and dcc_model_configure(). */
struct dcc_model {
	struct dcc_path path; /* for the core */
	struct dcc_round round;
	struct dcc_base_rtt base;
	struct dcc_noise noise;
	struct dcc_probe probe;
	struct dcc_drain drain;
	struct dcc_line_rate line;
	u64 packet_ns; /* of a full packet on the line, at least 1 */
	u32 target_ns; /* dcc_control.target_ns */
	u32 share_ns;  /* of the base RTT, for a small share */
	u64 note_ns;   /* when the cache is to have the path again; */
	u32 noted_ns;  /* base.ns, as it last had it */
	bool has_levels; /* dcc_control.has_levels */
};

/* What the operator, the device and TCP say. */
struct dcc_path_config {
	u64 line_rate_bps;  /* 1 Mbit/s .. 800 Gbit/s */
	u32 base_rtt_ns;    /* 1 us .. 1 s; 0: to be measured */
	u32 noise_ns;	    /* up to 1 s; 0: to be estimated */
	bool line_configured; /* line_rate_bps is the operator's, not a device's */
	bool moved;	    /* the route leads over another device than before */
};

/* The base RTT with noise and share, as the law gets it. */
static inline u32 dcc_model_base_rtt_ns(const struct dcc_model *m)
{
	u64 base_rtt_ns = (u64)m->base.ns + m->noise.ns + m->share_ns;

	return (u32)dcc_min_u64(base_rtt_ns, DCC_PATH_RTT_MAX_NS);
}

/* The one place that writes m->path, but for its packet. */
static inline void dcc_model_publish(struct dcc_model *m)
{
	m->path.base_rtt_ns = dcc_model_base_rtt_ns(m);
	m->path.noise_ns = dcc_sub_sat_u32(m->path.base_rtt_ns, m->base.ns);
	/* Levels are multiples of what a law makes of the noise. */
	if (m->has_levels)
		m->path.noise_ns = dcc_min_u32(m->path.noise_ns, m->noise.ns);
	m->path.line_rate_bps = m->line.bps;
	m->path.delay_floor_ns = m->line.floor_ns;
}

/* The line rate or the packet is another one. */
static inline void dcc_model_set_packet_ns(struct dcc_model *m)
{
	m->packet_ns = dcc_max_u64(dcc_packet_ns(m->path.wire_bytes, m->line.bps), 1);
}

/* A full packet has wire_bytes, headers included. */
static inline void dcc_model_set_packet(struct dcc_model *m, u32 wire_bytes)
{
	m->path.wire_bytes =
		dcc_clamp_u32(wire_bytes, DCC_PATH_WIRE_MIN_BYTES, DCC_PATH_WIRE_MAX_BYTES);
	dcc_model_set_packet_ns(m);
}

/* Is there an estimator that reads rounds? */
static inline bool dcc_model_reads_rounds(const struct dcc_model *m)
{
	return !m->line.configured ||
	       (!dcc_base_is_configured(&m->base) && !m->noise.configured_ns);
}

/*
 * For a new connection, and whenever something of it may have changed, after
 * dcc_model_set_packet().  What the path has shown stays where the configuration does.
 */
static inline void dcc_model_configure(struct dcc_model *m, const struct dcc_path_config *c)
{
	dcc_noise_configure(&m->noise, c->noise_ns);
	if (dcc_base_configure(&m->base, c->base_rtt_ns, c->moved)) {
		dcc_noise_reset(&m->noise);
		dcc_round_drop(&m->round);
		dcc_probe_reset(&m->probe);
		dcc_drain_reset(&m->drain);
		m->share_ns = 0;
	}
	if (c->line_rate_bps &&
	    dcc_line_configure(&m->line, c->line_rate_bps, c->line_configured)) {
		dcc_probe_reset(&m->probe);
		dcc_drain_reset(&m->drain);
		if (!c->line_configured)
			dcc_base_lose_line(&m->base);
		dcc_model_set_packet_ns(m);
	}
	if (!dcc_model_reads_rounds(m))
		dcc_round_drop(&m->round);
	dcc_line_set_floor(&m->line, dcc_model_base_rtt_ns(m), m->path.wire_bytes);
	dcc_model_publish(m);
}

/* The base RTT may be too short: ask the path.  flight_packets 0: a small packet's RTT. */
static inline void dcc_model_doubt(struct dcc_model *m, const struct dcc_ack *ack,
				   u32 flight_packets)
{
	u64 rtt_ns = ack->rtt_ns;

	/* A small packet is served sooner than a full one at two hops at the least. */
	if (!flight_packets)
		rtt_ns += DCC_BASE_HANDSHAKE_LINKS * m->packet_ns;
	if (DCC_LIKELY(!dcc_base_in_doubt(&m->base, rtt_ns, ack->now_ns,
					  m->noise.ns + m->share_ns, m->target_ns))) {
		dcc_probe_rest(&m->probe);
		return;
	}
	if (dcc_probe_step(&m->probe, ack, rtt_ns, flight_packets, m->base.ns, m->packet_ns))
		dcc_base_replace(&m->base, m->probe.least_ns, ack->now_ns);
}

/* What the law asks for, each time that it does: how long a queue, and how large a share. */
static inline void dcc_model_control(struct dcc_model *m, const struct dcc_control *control)
{
	u32 octave_ns = dcc_share_octave_ns(m->base.ns, m->noise.ns);

	m->target_ns = control->target_ns;
	m->has_levels = control->has_levels;
	m->share_ns = dcc_share_ns(m->share_ns, octave_ns,
				   dcc_sat_u32((u64)m->base.ns + m->noise.ns), m->packet_ns,
				   control->cwnd_q16);
}

/* Does each flow of a law with levels have delays of its own, by the noise that it has found? */
static inline bool dcc_model_levels_mix(const struct dcc_model *m)
{
	return m->has_levels && !m->noise.configured_ns &&
	       dcc_share_octave_ns(m->base.ns, m->noise.ns);
}

/* Does a probe or a drain make the window another one than the law's? */
static inline bool dcc_model_tests_path(const struct dcc_model *m)
{
	return dcc_probe_is_on(&m->probe) || dcc_drain_is_on(&m->drain);
}

/* A round is closed. */
static DCC_NOINLINE void dcc_model_round(struct dcc_model *m)
{
	u32 base_rtt_ns = dcc_model_base_rtt_ns(m); /* in which its packets were sent */

	if (!dcc_base_is_configured(&m->base))
		dcc_noise_round(&m->noise, &m->round, m->base.ns, m->packet_ns);
	if (!m->line.configured) {
		dcc_line_round(&m->line, &m->round, base_rtt_ns);
		dcc_model_set_packet_ns(m);
		dcc_line_set_floor(&m->line, base_rtt_ns, m->path.wire_bytes);
	}
}

/*
 * An RTT of the path, ack->rtt_ns, with flight_packets in flight when its packet was sent.  small:
 * that packet was not full.  A probe's own queue is no RTT for the law.
 */
static inline void dcc_model_sample(struct dcc_model *m, struct dcc_ack *ack, u32 flight_packets,
				    bool small, u32 window_max)
{
	bool app_limited = ack->flags & DCC_ACK_APP_LIMITED;
	u32 base_ns = m->base.ns;

	dcc_base_sample(&m->base, ack->rtt_ns, small, ack->now_ns,
			m->line.configured ? m->packet_ns : 0);
	if (!m->line.configured) {
		if (DCC_UNLIKELY(m->base.ns != base_ns))
			dcc_line_set_floor(&m->line, dcc_model_base_rtt_ns(m), m->path.wire_bytes);
		dcc_line_carried(&m->line, ack->rtt_ns, flight_packets,
				 dcc_model_base_rtt_ns(m), window_max);
	}
	if (!small) {
		/* What the application made slow says nothing of the hosts. */
		if (dcc_drain_disturbs(&m->drain, ack)) {
			dcc_round_drop(&m->round);
			ack->flags |= DCC_ACK_NO_RTT;
		} else if (dcc_model_reads_rounds(m) && !app_limited &&
			   dcc_round_add(&m->round, ack)) {
			dcc_model_round(m);
		}
		if (m->line.configured) {
			dcc_model_doubt(m, ack, flight_packets);
			if (dcc_probe_disturbs(&m->probe, ack))
				ack->flags |= DCC_ACK_NO_RTT;
			dcc_drain_end(&m->drain, ack->now_ns);
			if (!app_limited && !dcc_base_is_configured(&m->base) &&
			    dcc_drain_is_due(&m->drain, ack->now_ns, m->base.ns < base_ns))
				dcc_drain_step(&m->drain, ack, dcc_model_base_rtt_ns(m),
					       flight_packets, m->has_levels, m->base.ns < base_ns);
		}
	}
	dcc_model_publish(m);
}

/* A stopped flow's probe, a packet of next to no length, has come back. */
static inline void dcc_model_small_sample(struct dcc_model *m, const struct dcc_ack *ack)
{
	if (!m->line.configured || dcc_probe_is_on(&m->probe))
		return;
	dcc_model_doubt(m, ack, 0);
	dcc_model_publish(m);
}

/* The answer to a small packet: the best base RTT that is known until a full packet's. */
static inline void dcc_model_guess(struct dcc_model *m, u32 rtt_ns)
{
	dcc_base_guess_small(&m->base, rtt_ns);
	dcc_model_publish(m);
}

/* ---- the cache ----------------------------------------------------------- */

/*
 * May a connection begin with what is cached of its path, after dcc_model_configure()?  Only where
 * the line rate is configured: elsewhere the path may have become slower since.
 */
static inline bool dcc_model_may_recall(const struct dcc_model *m)
{
	return !dcc_base_is_configured(&m->base) && m->line.configured;
}

static inline void dcc_model_recall(struct dcc_model *m, const struct dcc_path_metrics *cached)
{
	if (!dcc_base_recall(&m->base, cached, m->packet_ns))
		return;
	if (!m->noise.configured_ns)
		m->noise.ns = cached->noise_ns;
	dcc_model_publish(m);
}

/* What later connections may know of the path, in *metrics; false: nothing. */
static inline bool dcc_model_knows(const struct dcc_model *m, struct dcc_path_metrics *metrics)
{
	const struct dcc_base_rtt *b = &m->base;

	if (!dcc_base_is_measured(b))
		return false;
	metrics->rtt_min_ns = b->ns;
	metrics->noise_ns = m->noise.ns;
	metrics->exact = b->source == DCC_BASE_DATA ||
			 (b->source == DCC_BASE_CACHE && b->cached.exact);
	return true;
}

/* Is there news for the cache?  Then dcc_model_noted() is to follow. */
static inline bool dcc_model_has_news(const struct dcc_model *m, u64 now_ns)
{
	return now_ns >= m->note_ns || m->noted_ns != m->base.ns;
}

static inline void dcc_model_noted(struct dcc_model *m, u64 now_ns)
{
	m->base.cache_wrong = 0;
	m->noted_ns = m->base.ns;
	m->note_ns = now_ns + DCC_CACHE_NOTE_NS;
}

/* Is what a connection has refuted still in the cache? */
static inline bool dcc_model_refutes(const struct dcc_model *m, const struct dcc_cache_entry *e)
{
	return m->base.cache_wrong && e->metrics.rtt_min_ns < m->base.ns;
}

#endif /* DCC_PATH_MODEL_H */

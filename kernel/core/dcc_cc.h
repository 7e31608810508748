/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The contract between a congestion-control core and the code around it.
 *
 * One acknowledgment in, one decision out.  A core keeps all of its state in
 * one struct that the caller owns; it has no clock, allocates nothing and
 * touches no global.  The same source is compiled as kernel C, as BPF C, as
 * C++ (tests, benchmarks) and for User-Mode Linux, so: no libc, no floating
 * point, no signed or unguarded division, no 128-bit arithmetic, no loop
 * without a small constant bound.
 *
 * Bytes are always bytes on the wire: payload plus every header that the
 * bottleneck serialises.  The caller knows the header size and converts.
 */
#ifndef DCC_CC_H
#define DCC_CC_H

#include "dcc_types.h"

/* Windows are in packets of path->wire_bytes, 16 fraction bits. */
#define DCC_WINDOW_SHIFT 16
#define DCC_WINDOW_ONE 65536ULL

/* Ranges of a path; the cores cut what lies outside, configuration should refuse it. */
#define DCC_PATH_RATE_MIN_BPS 1000000ULL
#define DCC_PATH_RATE_MAX_BPS 800000000000ULL
#define DCC_PATH_RTT_MIN_NS 1000U
#define DCC_PATH_RTT_MAX_NS 1000000000U
#define DCC_PATH_WIRE_MIN_BYTES 64U
#define DCC_PATH_WIRE_MAX_BYTES 65535U

/* What the flow runs over.  It changes with the route, and with what is measured of the path. */
struct dcc_path {
	u64 line_rate_bps; /* of the slowest known link, 1 Mbit/s .. 800 Gbit/s */
	u32 base_rtt_ns;   /* RTT of a full packet on an idle path, noise and all, 1 us .. 1 s */
	u32 wire_bytes;    /* a full packet with headers, 64 .. 65535 */
	u32 noise_ns;      /* its part that is room: the hosts' noise, the flow's share (path/) */
	/*
	 * A shorter queue is no reason for anything: line_rate_bps is a device's, and the path may
	 * be a thousand times slower.  0: somebody has told the line rate.
	 */
	u32 delay_floor_ns;
};

/* Reasons that an acknowledgment is not an ordinary sample. */
#define DCC_ACK_APP_LIMITED 0x2U /* the sample was sent while the application had too little */
#define DCC_ACK_DELAYED 0x4U	 /* the receiver held this ACK back: RTT is too long */
/* rtt_ns and send_ns are not valid (Karn, SACK only), or behind packets of a probe of the path. */
#define DCC_ACK_NO_RTT 0x8U
#define DCC_ACK_PROBE 0x10U	 /* reply to a probe, whose RTT it has; nothing was acknowledged */
#define DCC_ACK_PROBE_DATA 0x20U /* with DCC_ACK_PROBE: the probe was a packet of data */

/* One acknowledgment, as the sender saw it. */
struct dcc_ack {
	u64 now_ns;         /* arrival of the ACK, monotonic clock */
	u64 send_ns;        /* when the newest packet that it acknowledges was sent */
	u32 rtt_ns;         /* now - send, up to 2^32 - 1 */
	u32 acked_bytes;    /* newly delivered by this ACK */
	u32 inflight_bytes; /* in flight when that packet was sent, that packet included */
	u32 flags;          /* DCC_ACK_* */
	u32 flows;          /* active flows as reported by the receiver; 0 if unknown */
};

/* A packet sent at round_ns or later is acknowledged: a round trip; or the clock went back. */
static inline bool dcc_round_over(const struct dcc_ack *ack, u64 round_ns)
{
	return ack->send_ns >= round_ns || round_ns > ack->now_ns;
}

/* The bits in which two structs differ at so many bytes from their start; 0 behind their end. */
static inline unsigned long long dcc_differ_at(const char *a, const char *b, unsigned int at,
					       unsigned int bytes)
{
	unsigned long long x = 0, y = 0;

	if (bytes >= at + 8) {
		__builtin_memcpy(&x, a + at, 8);
		__builtin_memcpy(&y, b + at, 8);
	} else if (bytes >= at + 4) {
		__builtin_memcpy(&x, a + at, 4);
		__builtin_memcpy(&y, b + at, 4);
	}
	return x ^ y;
}

/*
 * Whether two structs of u32 (parameters), at most 80 bytes, are equal.  Cores ask this with
 * every decision, or even with every acknowledgment.
 */
static inline bool dcc_same(const void *a, const void *b, unsigned int bytes)
{
#if defined(__bpf__)
	/* There a copy of 8 bytes that may start anywhere is one of single bytes. */
	const u32 *x = a, *y = b;
	u32 i, differ = 0;

	for (i = 0; i < bytes / 4; i++)
		differ |= x[i] ^ y[i];
	return !differ;
#else
	const char *x = (const char *)a, *y = (const char *)b;

	/* What lies behind is not compared: better never equal than a change unseen. */
	if (bytes > 80)
		return false;
	return !(dcc_differ_at(x, y, 0, bytes) | dcc_differ_at(x, y, 8, bytes) |
		 dcc_differ_at(x, y, 16, bytes) | dcc_differ_at(x, y, 24, bytes) |
		 dcc_differ_at(x, y, 32, bytes) | dcc_differ_at(x, y, 40, bytes) |
		 dcc_differ_at(x, y, 48, bytes) | dcc_differ_at(x, y, 56, bytes) |
		 dcc_differ_at(x, y, 64, bytes) | dcc_differ_at(x, y, 72, bytes));
#endif
}

/*
 * A core lists its parameters once, DCC_<NAME>_PARAMS(X) with X(field, min, max, zero_ok), for
 * sysctls, loaders, and its own dcc_<name>_params_valid(): there this is X, and the rest follows.
 */
#define DCC_PARAM_FITS(field, min, max, zero_ok) dcc_param_fits(p->field, min, max, zero_ok) &&

static inline bool dcc_param_fits(u32 value, u32 min, u32 max, bool zero_ok)
{
	return (value >= min && value <= max) || (zero_ok && !value);
}

static inline bool dcc_same_path(const struct dcc_path *a, const struct dcc_path *b)
{
	return a->line_rate_bps == b->line_rate_bps && a->base_rtt_ns == b->base_rtt_ns &&
	       a->wire_bytes == b->wire_bytes && a->noise_ns == b->noise_ns &&
	       a->delay_floor_ns == b->delay_floor_ns;
}

/* What the sender is to do until the next control. */
struct dcc_control {
	u64 cwnd_q16;   /* window in packets, DCC_WINDOW_SHIFT; may be below one packet, never 0 */
	/*
	 * Bits on the wire per second, >= 1000.  At the line rate the pace is the limit, and the
	 * caller may add to the window what ACKs that come in groups need.  Above it, up to
	 * twice the line rate, the window is the only limit, and exact.
	 */
	u64 pacing_bps;
	u64 probe_ns;   /* 0: go on; else stop sending and probe this long from now (PrioPlus) */
	/*
	 * The queueing delay that the law holds where it is shortest, as of a flow alone.  A base
	 * RTT that is too short by a part of it must not matter.  0: none that the base RTT sets.
	 */
	u32 target_ns;
	/* 1: its delays have to agree with those of flows of other priorities; else 0. */
	u32 has_levels;
};

#endif /* DCC_CC_H */

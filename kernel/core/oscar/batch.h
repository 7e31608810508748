/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The batched estimator: delay, its gradient, bytes in flight and send rate
 * over about tau of sent packets, in constant time and space (OSCAR, section
 * 4.1 and Algorithm 1).
 *
 * Each acknowledgment gives one point (x = send time, y = delay).  Five sums
 * are enough for the least-squares slope of y over x, which is the relative
 * growth of the queue: gradient = arrival rate / service rate - 1 while the
 * queue is busy.  A batch closes once it spans tau and holds three points.
 *
 * How the sums fit 64 bits
 *   x counts from the batch's start, y from its first delay, both in units of
 *   2^shift ns, the shift chosen so that 3 tau is below 2^18 units (below
 *   87 us of tau it is 0).  y stays within +-2^25 units, a slope of 128 over
 *   the widest batch.  With at most 2^20 points a batch:
 *     sum x < 2^38, |sum y| < 2^45, sum xx < 2^56, |sum xy| < 2^63.
 *   The covariances are then formed exactly modulo 2^64, around the mean when
 *   there are many points.
 *
 * When a batch is not what it seems
 *   - A sender that pauses (its window shrank) makes a batch with a hole in
 *     it; the rate over the hole is a rate nobody sent at.  A gap longer than
 *     gap_ns between two packets starts the batch anew at the second one.  A
 *     flow that always sends so sparsely would never close a batch: after
 *     two such restarts in a row gaps are taken as they come, until a batch
 *     closes that had none.
 *   - A batch wider than 3 tau, or one with gaps in it, says nothing useful of slope or
 *     rate: it closes with slope_valid = 0, its delay and inflight hold.
 *   - With sparse set, a batch that is wider than 3 tau closes at once: having no slope, it
 *     need not wait for three points, which a flow of one packet in many RTTs sends too
 *     rarely to find its way back.
 *   - Packets sent before the batch's start (reordering, stragglers from
 *     before a restart) are ignored.  A start that lies in the future means
 *     that the clock jumped back: the batch starts anew.
 *
 * Differences from the paper: send times are 64-bit, so the wrap-around of
 * appendix A.1 does not exist; bytes acknowledged are summed instead of
 * counts * MTU, which is the same without coalescing and right with it; the
 * rules of the last paragraph.
 */
#ifndef DCC_BATCH_H
#define DCC_BATCH_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

/* Fewer points make the slope's denominator small enough to amplify noise (section 4.1.1). */
#define DCC_BATCH_MIN_COUNT 3

/* A batch closes early at this many points; bounds every sum above. */
#define DCC_BATCH_MAX_COUNT 1048576U

/* Wider than this many tau, the network's state has changed underneath the line fit. */
#define DCC_BATCH_MAX_SPANS 3

#define DCC_BATCH_X_BITS 18
#define DCC_BATCH_Y_MAX ((1U << 25) - 1)

/* Up to this many points the covariances need no centring to stay within 64 bits. */
#define DCC_BATCH_DIRECT_COUNT 512

#define DCC_BATCH_GAP_RESTARTS 2

/*
 * Gradient, signed Q16.  Below -0.9 the rate loop would multiply by more than
 * ten on the word of a few packets (limit of the authors' simulator); the upper
 * bound only keeps it in 32 bits: 1024 flows at line rate.
 */
#define DCC_GRADIENT_SHIFT 16
#define DCC_GRADIENT_MIN (-58982) /* -0.9 */
#define DCC_GRADIENT_MAX (1024 << DCC_GRADIENT_SHIFT)

/* Half the range, so that a step back in time (huge as unsigned) exceeds any gap. */
#define DCC_BATCH_NO_GAP (DCC_U64_MAX >> 1)

struct dcc_batch {
	/* The sums, from the first point on. */
	u64 start_ns;	    /* origin of x: last packet of the batch before, or the first point */
	u64 last_ns;	    /* newest send time so far */
	u64 sum_x;
	u64 sum_xx;
	s64 sum_y;
	s64 sum_xy;
	u64 sum_rtt_ns;
	u64 sum_inflight_bytes;
	u64 acked_bytes;
	u64 first_ns;	    /* send time of the first point */
	u64 not_before_ns;  /* packets sent earlier belong to a state that is gone */
	u32 first_bytes;    /* what the first point acknowledged */
	u32 first_y;
	u32 count;
	u32 flags;	    /* of all points, DCC_ACK_* */
	u8 anchored;	    /* start_ns is the send time of a packet */
	u8 irregular;	    /* this batch has a gap in it or is too wide */
	u8 gap_restarts;    /* still allowed before gaps are taken as they come */
	u8 sparse;	    /* a batch of more than 3 tau closes with one point; may be changed */

	/* Constant between two calls of dcc_batch_init(). */
	u64 span_max_ns;
	u64 gap_ns;	    /* at most DCC_BATCH_NO_GAP; may be changed at any time */
	u32 tau_ns;
	u32 shift;
};

/* What a closed batch says. */
struct dcc_estimate {
	u64 start_ns;		/* send time of the last packet of the batch before */
	u64 first_ns;		/* send times of the first and the last point */
	u64 last_ns;
	u64 sum_rtt_ns;		/* over count points: ratios need no means */
	u64 sum_inflight_bytes;
	u64 acked_bytes;	/* by all points */
	u64 acked_after_first_bytes; /* by all points but the first */
	u32 count;
	u32 delay_ns;		/* mean */
	s32 gradient_q16;	/* DCC_GRADIENT_MIN .. DCC_GRADIENT_MAX; 0 when not valid */
	u8 slope_valid;		/* gradient and rate may be used */
	u8 app_limited;
};

static inline void dcc_batch_clear_sums(struct dcc_batch *b)
{
	b->sum_x = 0;
	b->sum_xx = 0;
	b->sum_y = 0;
	b->sum_xy = 0;
	b->sum_rtt_ns = 0;
	b->sum_inflight_bytes = 0;
	b->acked_bytes = 0;
	b->count = 0;
	b->irregular = 0;
	b->flags = 0;
}

/*
 * Forget the batch and every packet sent before not_before_ns (0: take whatever
 * comes next).
 */
static inline void dcc_batch_restart(struct dcc_batch *b, u64 not_before_ns)
{
	dcc_batch_clear_sums(b);
	b->anchored = 0;
	b->start_ns = not_before_ns;
	b->last_ns = not_before_ns;
	b->not_before_ns = not_before_ns;
}

/* tau_ns: 1 .. 4 * 10^9. */
static inline void dcc_batch_init(struct dcc_batch *b, u32 tau_ns, u64 gap_ns)
{
	u32 bits;

	b->tau_ns = tau_ns;
	b->gap_ns = gap_ns;
	b->span_max_ns = (u64)tau_ns * DCC_BATCH_MAX_SPANS;
	bits = 64 - dcc_clz_u64(b->span_max_ns);
	b->shift = bits > DCC_BATCH_X_BITS ? bits - DCC_BATCH_X_BITS : 0;
	b->gap_restarts = DCC_BATCH_GAP_RESTARTS;
	b->sparse = 0;
	b->first_ns = 0;
	b->first_bytes = 0;
	b->first_y = 0;
	dcc_batch_restart(b, 0);
}

/* The batch starts anew with this packet as its origin and first point. */
static inline void dcc_batch_anchor(struct dcc_batch *b, u64 send_ns)
{
	dcc_batch_clear_sums(b);
	b->anchored = 1;
	b->start_ns = send_ns;
	b->last_ns = send_ns;
}

/*
 * A packet that does not simply follow the one before.  Returns whether it is
 * to be added (to this batch or to a new one).
 */
static DCC_NOINLINE bool dcc_batch_irregular(struct dcc_batch *b, const struct dcc_ack *ack)
{
	u64 send_ns = ack->send_ns;

	/* Nothing can have been sent after now: the clock went back. */
	if (b->last_ns > ack->now_ns || b->not_before_ns > ack->now_ns) {
		b->not_before_ns = 0;
		dcc_batch_anchor(b, send_ns);
		return true;
	}
	if (send_ns < b->not_before_ns)
		return false;
	if (!b->anchored) {
		dcc_batch_anchor(b, send_ns);
		return true;
	}
	if (send_ns < b->start_ns)
		return false;
	if (send_ns < b->last_ns)
		return true; /* reordered within the batch: a point like any other */
	if (send_ns - b->last_ns > b->gap_ns) {
		if (b->gap_restarts) {
			b->gap_restarts--;
			dcc_batch_anchor(b, send_ns);
			return true;
		}
		b->irregular = 1;
	}
	if (send_ns - b->start_ns > b->span_max_ns)
		b->irregular = 1;
	return true;
}

/*
 * Take one acknowledgment in.  True when the batch is complete: call
 * dcc_batch_close() before the next one.
 */
static inline bool dcc_batch_add(struct dcc_batch *b, const struct dcc_ack *ack)
{
	u64 send_ns = ack->send_ns, x_ns = send_ns - b->start_ns, x;
	u32 rtt_ns = ack->rtt_ns, y;
	s64 dy;

	if (DCC_UNLIKELY(ack->flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED))) {
		/* No point, but its bytes were sent within the batch. */
		b->acked_bytes += ack->acked_bytes;
		return false;
	}
	/* A packet from before the newest wraps to a huge difference, more than any gap. */
	if (DCC_UNLIKELY(send_ns - b->last_ns > b->gap_ns || x_ns > b->span_max_ns ||
			 !b->anchored)) {
		if (!dcc_batch_irregular(b, ack))
			return false;
		x_ns = dcc_min_u64(send_ns - b->start_ns, b->span_max_ns);
	}
	b->last_ns = dcc_max_u64(b->last_ns, send_ns);

	y = dcc_min_u32(rtt_ns >> b->shift, DCC_BATCH_Y_MAX);
	b->acked_bytes += ack->acked_bytes;
	if (!b->count) {
		b->first_ns = send_ns;
		b->first_bytes = dcc_sat_u32(b->acked_bytes);
		b->first_y = y;
	}
	x = x_ns >> b->shift;
	dy = (s64)y - b->first_y;

	b->sum_x += x;
	b->sum_xx += x * x;
	b->sum_y += dy;
	b->sum_xy += (s64)x * dy;
	b->sum_rtt_ns += rtt_ns;
	b->sum_inflight_bytes += ack->inflight_bytes;
	b->flags |= ack->flags;
	b->count++;

	if (DCC_LIKELY(x_ns < b->tau_ns))
		return b->count >= DCC_BATCH_MAX_COUNT;
	return b->count >= DCC_BATCH_MIN_COUNT || (b->sparse && b->irregular);
}

/*
 * Slope = covariance / variance, times 2^16.  Formed modulo 2^64: the true
 * values fit (see the head of this file), whatever the partial ones did.
 */
static inline s32 dcc_batch_gradient_q16(const struct dcc_batch *b)
{
	u64 n = b->count, var, cov, falling, size, slope;

	if (DCC_LIKELY(n <= DCC_BATCH_DIRECT_COUNT)) {
		var = n * b->sum_xx - b->sum_x * b->sum_x;
		cov = n * (u64)b->sum_xy - b->sum_x * (u64)b->sum_y;
	} else {
		/*
		 * Around whole-numbered means; what their fractions would add is
		 * below one unit a point and lost in the rounding of x and y.
		 */
		u64 mean_x = dcc_div_u64(b->sum_x, n);
		u64 mean_y = dcc_div_u64(dcc_abs_s64(b->sum_y), n);

		if (b->sum_y < 0)
			mean_y = 0ULL - mean_y;
		var = b->sum_xx - 2 * mean_x * b->sum_x + n * mean_x * mean_x;
		cov = (u64)b->sum_xy - mean_x * (u64)b->sum_y - mean_y * b->sum_x +
		      n * mean_x * mean_y;
	}
	if (!var)
		return 0;
	/* All ones for a falling queue.  Noise decides which; nobody could predict a branch. */
	falling = 0ULL - (cov >> 63);
	size = (cov ^ falling) - falling;
	if (DCC_UNLIKELY(size >> (63 - DCC_GRADIENT_SHIFT))) {
		/* Room for the fraction bits; the digits lost are below 2^-30 of the whole. */
		size >>= DCC_GRADIENT_SHIFT;
		var >>= DCC_GRADIENT_SHIFT;
	}
	slope = dcc_min_u64(dcc_div_u64(size << DCC_GRADIENT_SHIFT, var),
			    DCC_GRADIENT_MAX ^ (falling & (DCC_GRADIENT_MAX ^ -DCC_GRADIENT_MIN)));
	return (s32)((slope ^ falling) - falling);
}

/*
 * Write the estimate of a complete batch (count >= 1) and begin the next one,
 * whose origin is this one's last packet.
 */
static inline void dcc_batch_close(struct dcc_batch *b, struct dcc_estimate *e)
{
	e->start_ns = b->start_ns;
	e->first_ns = b->first_ns;
	e->last_ns = b->last_ns;
	e->sum_rtt_ns = b->sum_rtt_ns;
	e->sum_inflight_bytes = b->sum_inflight_bytes;
	e->acked_bytes = b->acked_bytes;
	e->acked_after_first_bytes = dcc_sub_sat_u64(b->acked_bytes, b->first_bytes);
	e->count = b->count;
	e->delay_ns = (u32)dcc_div_u64(b->sum_rtt_ns, b->count);
	e->slope_valid = !b->irregular && b->last_ns > b->first_ns;
	e->gradient_q16 = e->slope_valid ? dcc_batch_gradient_q16(b) : 0;
	e->app_limited = !!(b->flags & DCC_ACK_APP_LIMITED);

	if (!b->irregular)
		b->gap_restarts = DCC_BATCH_GAP_RESTARTS;
	b->start_ns = b->last_ns;
	dcc_batch_clear_sums(b);
}

#endif /* DCC_BATCH_H */

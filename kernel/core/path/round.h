/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A round: the RTT samples of one round trip or more, the only one of the path model.
 *
 * A round ends with the first sample of a packet that was sent after the round's first ACK, once it
 * has DCC_ROUND_SAMPLES of them.  It holds samples of full packets alone, and none that an
 * application or a receiver made slow.  dcc_round_add() closes it; what it found stays readable
 * until the next sample opens another.
 *
 *	constant	value	reason
 *	SAMPLES		12	the mean step between samples is known to a third
 */
#ifndef DCC_PATH_ROUND_H
#define DCC_PATH_ROUND_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

#define DCC_ROUND_SAMPLES 12U

struct dcc_round {
	u64 start_ns; /* of the first sample's ACK */
	u64 sum_rtt_ns;
	u64 sum_step_ns; /* of the changes from one sample to the next */
	u64 acked_bytes;
	u32 newest_rtt_ns;
	u32 min_rtt_ns;
	u32 max_rtt_ns;
	u32 samples; /* 0: none is open */
	/* Of the last round that was closed. */
	u64 duration_ns; /* at least 1 */
	u32 mean_rtt_ns;
	u32 steps; /* samples less one */
};

/* What is open is dropped: a pause, or another path. */
static inline void dcc_round_drop(struct dcc_round *r)
{
	r->samples = 0;
}

static DCC_NOINLINE void dcc_round_close(struct dcc_round *r, u64 now_ns)
{
	r->duration_ns = dcc_max_u64(now_ns - r->start_ns, 1);
	r->mean_rtt_ns = (u32)dcc_div_u64(r->sum_rtt_ns, dcc_max_u32(r->samples, 1));
	r->steps = r->samples - 1;
	r->samples = 0;
}

/* Of the round that was closed, on the wire. */
static inline u64 dcc_round_rate_bps(const struct dcc_round *r)
{
	return dcc_muldiv_u64(r->acked_bytes, DCC_BITS_PER_BYTE * DCC_NS_PER_S, r->duration_ns);
}

/* One sample more.  True: it was the round's last. */
static inline bool dcc_round_add(struct dcc_round *r, const struct dcc_ack *ack)
{
	u32 rtt_ns = ack->rtt_ns;

	if (DCC_UNLIKELY(!r->samples)) {
		r->start_ns = ack->now_ns;
		r->sum_rtt_ns = 0;
		r->sum_step_ns = 0;
		/* What the first sample acknowledges was served before. */
		r->acked_bytes = 0;
		r->newest_rtt_ns = rtt_ns;
		r->min_rtt_ns = rtt_ns;
		r->max_rtt_ns = rtt_ns;
	}
	if (r->samples++)
		r->acked_bytes += ack->acked_bytes;
	r->sum_rtt_ns += rtt_ns;
	r->sum_step_ns += dcc_abs_s64((s64)rtt_ns - r->newest_rtt_ns);
	r->newest_rtt_ns = rtt_ns;
	r->min_rtt_ns = dcc_min_u32(r->min_rtt_ns, rtt_ns);
	r->max_rtt_ns = dcc_max_u32(r->max_rtt_ns, rtt_ns);
	if (r->samples < DCC_ROUND_SAMPLES || ack->send_ns < r->start_ns)
		return false;
	dcc_round_close(r, ack->now_ns);
	return true;
}

#endif /* DCC_PATH_ROUND_H */

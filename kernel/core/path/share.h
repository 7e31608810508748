/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Share: in noise, a flow with a small share of the line has a longer base RTT.
 *
 * Two flows of one queue that differ by d in what each takes for noise differ in their shares by
 * exp(d / T), where T is the delay for which a law gives up all but 1/e of its rate.  Most laws
 * have no such T of their own, so any d starves one of the two (Arun, Alizadeh, Balakrishnan,
 * "Starvation in end-to-end congestion control", SIGCOMM 2022).  No filter makes d nothing; T can
 * be as long as d.
 *
 *	share = T * ln(W / (2 * window)), 0 .. T * ln 128
 *	W = what the line sends in base RTT + noise
 *	T = min(noise - rtt_min / 32, rtt_min / 4), 0 at least
 *
 * A flow with half of the line or more has none, N flows that are alike have T * ln(N / 2): that
 * much longer is their queue.  T is the same for all flows from noise of a quarter of rtt_min on;
 * were it in proportion to each one's own noise, it would multiply what they differ by.
 *
 *	constant	value	reason
 *	T_SHIFT		2	a quarter of the path: 13 flows pay half a base RTT
 *	NONE_SHIFT	5	what bursts on a network without noise look like is less
 *	OCTAVES		7	a 256th of the line
 *	STEP_SHIFT	4	the law computes what follows from its path anew each time
 */
#ifndef DCC_PATH_SHARE_H
#define DCC_PATH_SHARE_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

#define DCC_SHARE_T_SHIFT 2
#define DCC_SHARE_NONE_SHIFT 5
#define DCC_SHARE_OCTAVES 7U
#define DCC_SHARE_STEP_SHIFT 4
#define DCC_SHARE_LN2_Q16 45426U

/* T * ln 2, for half as large a share; rtt_min_ns: the base RTT without noise. */
static inline u32 dcc_share_octave_ns(u32 rtt_min_ns, u32 noise_ns)
{
	u32 t_ns = dcc_min_u32(dcc_sub_sat_u32(noise_ns, rtt_min_ns >> DCC_SHARE_NONE_SHIFT),
			       rtt_min_ns >> DCC_SHARE_T_SHIFT);

	return (u32)(((u64)t_ns * DCC_SHARE_LN2_Q16) >> 16);
}

/*
 * A control has a window of cwnd_q16; share_ns is what the base RTT has for the share now.  Returns
 * what it is to have.  packet_ns: of a full packet on the line, at least 1.
 */
static inline u32 dcc_share_ns(u32 share_ns, u32 octave_ns, u32 base_rtt_ns, u64 packet_ns,
			       u64 cwnd_q16)
{
	u32 whole_q16, to_ns;

	if (DCC_LIKELY(!octave_ns))
		return 0;
	/* log2 of W / 2, in packets, Q16. */
	whole_q16 = dcc_sub_sat_u32(dcc_log2_segments_q16(base_rtt_ns) +
					    ((DCC_WINDOW_SHIFT - 1) << 16),
				    dcc_log2_segments_q16(packet_ns));
	to_ns = (u32)(((u64)octave_ns *
		       dcc_halvings_q16(whole_q16, cwnd_q16, DCC_SHARE_OCTAVES)) >> 16);
	if (dcc_sub_sat_u32(to_ns, share_ns) + dcc_sub_sat_u32(share_ns, to_ns) <=
	    octave_ns >> DCC_SHARE_STEP_SHIFT)
		return share_ns;
	return to_ns;
}

#endif /* DCC_PATH_SHARE_H */

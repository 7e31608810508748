/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSCAR: Algorithm 2 of the paper as printed (the algorithm oscar_paper).
 * Lines 12 and 13, window and rate, are dcc_oscar_control() in model.h.
 */
#ifndef DCC_OSCAR_PAPER_H
#define DCC_OSCAR_PAPER_H

#include "model.h"

/* Algorithm 1, line 10: all bytes of the batch over the time since the batch before. */
static inline u32 dcc_oscar_rate_ratio_printed(const struct dcc_oscar *s,
					       const struct dcc_estimate *e)
{
	return dcc_oscar_rate_ratio(s, e->acked_bytes, e->last_ns - e->start_ns, e->gradient_q16);
}

/* The ratio that a closed batch gives. */
static inline u32 dcc_oscar_paper_decide(const struct dcc_oscar *s, const struct dcc_estimate *e,
					 u32 *branch)
{
	const struct dcc_oscar_scale *c = &s->scale;
	u32 u_w, u_r;

	if (e->delay_ns <= c->empty_ns) {			/* line 4 */
		*branch = DCC_OSCAR_EMPTY;
		return s->u_q24 +				/* line 5 */
		       dcc_ppm_to_q24(dcc_clamp_u32(c->params.u_hai_ppm, 1,
						    DCC_OSCAR_U_HAI_MAX_PPM));
	}
	u_w = dcc_oscar_window_ratio(s, e);			/* line 7 */
	u_r = dcc_oscar_rate_ratio_printed(s, e);		/* line 8 */
	return dcc_oscar_coordinate(e, e->delay_ns < c->target_ns,
				    u_w, u_r, branch) +		/* lines 9, 10 */
	       c->u_ai_q24;					/* line 11 */
}

#endif /* DCC_OSCAR_PAPER_H */

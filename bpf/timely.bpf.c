// SPDX-License-Identifier: GPL-2.0
/*
 * TIMELY under BPF: the core of kernel/core/dcc_timely.h as a struct_ops
 * program, for machines where no module may be loaded.  The parameter `patched`
 * is the loader's: 0 for TIMELY, 1 for patched TIMELY.
 */
#include "delaycc_core.bpf.h"

struct dcc_timely;
struct dcc_timely_params;
int subprog_dcc_timely_derive(struct dcc_timely *s, const struct dcc_path *path,
			      const struct dcc_timely_params *p);
int subprog_dcc_timely_decide(struct dcc_timely *s, const struct dcc_ack *ack);

#include "dcc_timely.h"

DELAYCC_SUBPROG int subprog_dcc_timely_derive(struct dcc_timely *s, const struct dcc_path *path,
					      const struct dcc_timely_params *p)
{
	if (s && path && p)
		dcc_timely_derive(s, path, p);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_timely_decide(struct dcc_timely *s, const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_timely_decide(s, ack);
	return 0;
}

/* patched_timely is an algorithm of its own as a module. */
#define DELAYCC_BPF_PARAMS(X) DCC_TIMELY_PARAMS(X) X(patched, 0, 1, true)
#define DELAYCC_BPF_DESCRIBE(state, out)                                                           \
	do {                                                                                       \
		(out)->gradient_q16 = (state)->last.gradient_q16;                                  \
		(out)->branch = (state)->last.branch;                                              \
	} while (0)
#define DELAYCC_ALG timely
#include "delaycc_hooks.bpf.h"

// SPDX-License-Identifier: GPL-2.0
/*
 * SQCC under BPF: the core of kernel/core/dcc_sqcc.h as a struct_ops program,
 * for machines where no module may be loaded.  N is the sender's estimate here.
 */
#include "delaycc_core.bpf.h"

struct dcc_sqcc;
struct dcc_sqcc_params;
int subprog_dcc_sqcc_thresholds(struct dcc_sqcc *s, const struct dcc_sqcc_params *p);
int subprog_dcc_sqcc_derive(struct dcc_sqcc *s, const struct dcc_path *path,
			    const struct dcc_sqcc_params *p);
int subprog_dcc_sqcc_learn(struct dcc_sqcc *s, const struct dcc_ack *ack);
int subprog_dcc_sqcc_set_flows(struct dcc_sqcc *s, u64 now_ns);
int subprog_dcc_sqcc_decide(struct dcc_sqcc *s, const struct dcc_ack *ack);

#include "dcc_sqcc.h"

DELAYCC_SUBPROG int subprog_dcc_sqcc_thresholds(struct dcc_sqcc *s, const struct dcc_sqcc_params *p)
{
	if (s && p)
		dcc_sqcc_thresholds(s, p);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_sqcc_derive(struct dcc_sqcc *s, const struct dcc_path *path,
					    const struct dcc_sqcc_params *p)
{
	if (s && path && p)
		dcc_sqcc_derive(s, path, p);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_sqcc_learn(struct dcc_sqcc *s, const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_sqcc_learn(s, ack);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_sqcc_set_flows(struct dcc_sqcc *s, u64 now_ns)
{
	if (s)
		dcc_sqcc_set_flows(s, now_ns);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_sqcc_decide(struct dcc_sqcc *s, const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_sqcc_decide(s, ack);
	return 0;
}

/* The paper's listing is an algorithm of its own as a module. */
#define DELAYCC_BPF_PARAMS(X) DCC_SQCC_PARAMS(X) X(paper, 0, 1, true)
#define DELAYCC_BPF_DESCRIBE(state, out)                                                           \
	do {                                                                                       \
		(out)->gradient_q16 = (state)->last.gradient_q16;                                  \
		(out)->branch = (state)->last.branch;                                              \
	} while (0)
#define DELAYCC_ALG sqcc
#include "delaycc_hooks.bpf.h"

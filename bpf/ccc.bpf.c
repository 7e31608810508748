// SPDX-License-Identifier: GPL-2.0
/*
 * CCC under BPF: the core of kernel/core/dcc_ccc.h as a struct_ops program, for
 * machines where no module may be loaded.
 */
#include "delaycc_core.bpf.h"

struct dcc_ccc;
struct dcc_ccc_scale;
struct dcc_ccc_params;
int subprog_dcc_ccc_derive(struct dcc_ccc_scale *k, const struct dcc_path *path,
			   const struct dcc_ccc_params *p);
int subprog_dcc_ccc_adjust(struct dcc_ccc *s, u64 now_ns, u32 itv_ns);

#include "dcc_ccc.h"

DELAYCC_SUBPROG int subprog_dcc_ccc_derive(struct dcc_ccc_scale *k, const struct dcc_path *path,
					   const struct dcc_ccc_params *p)
{
	if (k && path && p)
		dcc_ccc_derive(k, path, p);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_ccc_adjust(struct dcc_ccc *s, u64 now_ns, u32 itv_ns)
{
	if (s)
		dcc_ccc_adjust(s, now_ns, itv_ns);
	return 0;
}

#define DELAYCC_TIMES_RETRANS 1
/* The paper's listing is an algorithm of its own as a module. */
#define DELAYCC_BPF_PARAMS(X) DCC_CCC_PARAMS(X) X(paper, 0, 1, true)
#define DELAYCC_BPF_DESCRIBE(state, out)                                                           \
	do {                                                                                       \
		(out)->gradient_q16 = (state)->flow.gradient_q16;                                  \
		(out)->branch = (state)->flow.region;                                              \
	} while (0)
#define DELAYCC_ALG ccc
#include "delaycc_hooks.bpf.h"

// SPDX-License-Identifier: GPL-2.0
/*
 * LEDBAT under BPF: the core of kernel/core/dcc_ledbat.h as a struct_ops
 * program, for machines where no module may be loaded.
 */
#include "delaycc_core.bpf.h"

struct dcc_ledbat;
struct dcc_ledbat_params;
int subprog_dcc_ledbat_derive(struct dcc_ledbat *s, const struct dcc_path *path,
			      const struct dcc_ledbat_params *p);
u32 subprog_dcc_ledbat_base_ns(struct dcc_ledbat *s, u64 now_ns, u32 rtt_ns);
u32 subprog_dcc_ledbat_filter_ns(struct dcc_ledbat *s, u32 rtt_ns);

#include "dcc_ledbat.h"

DELAYCC_SUBPROG int subprog_dcc_ledbat_derive(struct dcc_ledbat *s, const struct dcc_path *path,
					      const struct dcc_ledbat_params *p)
{
	if (s && path && p)
		dcc_ledbat_derive(s, path, p);
	return 0;
}

DELAYCC_SUBPROG u32 subprog_dcc_ledbat_base_ns(struct dcc_ledbat *s, u64 now_ns, u32 rtt_ns)
{
	return s ? dcc_ledbat_base_ns(s, now_ns, rtt_ns) : rtt_ns;
}

DELAYCC_SUBPROG u32 subprog_dcc_ledbat_filter_ns(struct dcc_ledbat *s, u32 rtt_ns)
{
	return s ? dcc_ledbat_filter_ns(s, rtt_ns) : rtt_ns;
}

#define DELAYCC_BPF_PARAMS(X) DCC_LEDBAT_PARAMS(X)
#define DELAYCC_BPF_DESCRIBE(state, out) ((out)->branch = (state)->last.branch)
#define DELAYCC_ALG ledbat
#include "delaycc_hooks.bpf.h"

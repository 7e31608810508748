// SPDX-License-Identifier: GPL-2.0
/*
 * Swift under BPF: the core of kernel/core/dcc_swift.h as a struct_ops program,
 * for machines where no module may be loaded.
 */
#include "delaycc_core.bpf.h"

struct dcc_swift;
struct dcc_swift_params;
int subprog_dcc_swift_derive(struct dcc_swift *s, const struct dcc_path *path,
			     const struct dcc_swift_params *p);

DELAYCC_SUBPROG u64 subprog_rsqrt(u64 v_q16)
{
	return dcc_rsqrt_q30(v_q16);
}

#define dcc_rsqrt_q30 subprog_rsqrt

#include "dcc_swift.h"

DELAYCC_SUBPROG int subprog_dcc_swift_derive(struct dcc_swift *s, const struct dcc_path *path,
					     const struct dcc_swift_params *p)
{
	if (s && path && p)
		dcc_swift_derive(s, path, p);
	return 0;
}

#define DELAYCC_BPF_PARAMS(X) DCC_SWIFT_PARAMS(X)
#define DELAYCC_BPF_DESCRIBE(state, out) ((out)->branch = (state)->last.branch)
#define DELAYCC_ALG swift
#include "delaycc_hooks.bpf.h"

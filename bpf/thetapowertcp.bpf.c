// SPDX-License-Identifier: GPL-2.0
/*
 * theta-PowerTCP under BPF: the core of kernel/core/dcc_thetapowertcp.h as a
 * struct_ops program, for machines where no module may be loaded.
 */
#include "delaycc_core.bpf.h"

struct dcc_thetapowertcp;
struct dcc_thetapowertcp_params;
int subprog_dcc_thetapowertcp_derive(struct dcc_thetapowertcp *s, const struct dcc_path *path,
				     const struct dcc_thetapowertcp_params *p);

#include "dcc_thetapowertcp.h"

DELAYCC_SUBPROG int subprog_dcc_thetapowertcp_derive(struct dcc_thetapowertcp *s,
						     const struct dcc_path *path,
						     const struct dcc_thetapowertcp_params *p)
{
	if (s && path && p)
		dcc_thetapowertcp_derive(s, path, p);
	return 0;
}

#define DELAYCC_BPF_PARAMS(X) DCC_THETAPOWERTCP_PARAMS(X)
#define DELAYCC_BPF_DESCRIBE(state, out)                                                           \
	do {                                                                                       \
		(out)->gradient_q16 = (state)->last.gradient_q16;                                  \
		(out)->branch = (state)->last.branch;                                              \
	} while (0)
#define DELAYCC_ALG thetapowertcp
#define DELAYCC_BPF_NAME "bpf_thetapower"
#include "delaycc_hooks.bpf.h"

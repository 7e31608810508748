// SPDX-License-Identifier: GPL-2.0
/*
 * SQCC under BPF: the core of kernel/core/dcc_sqcc.h as a struct_ops program,
 * for machines where no module may be loaded.  N is what the receiver reports, where
 * count.bpf.c reads the ACKs of this socket, and else the sender's estimate.
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

#include "delaycc_reports.bpf.h"

/* The receiver's newest report; 0: none, or not lately. */
static u32 sqcc_flows(struct sock *sk)
{
	struct dcc_report *report = bpf_sk_storage_get(&dcc_reports, sk, 0, 0);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 stale_ns;

	if (!report)
		return 0;
	/* srtt_us has eighths: 8 RTTs. */
	stale_ns = dcc_max_u64(tp->srtt_us * (u64)DCC_NS_PER_US, DELAYCC_BPF_REPORT_NS);
	return tp->tcp_clock_cache > report->at_ns + stale_ns ? 0 : report->flows;
}

#define DELAYCC_BPF_FLOWS(sk) sqcc_flows(sk)
/* The paper's listing is an algorithm of its own as a module. */
#define DELAYCC_BPF_PARAMS(X) DCC_SQCC_PARAMS(X) X(paper, 0, 1, true)
#define DELAYCC_BPF_DESCRIBE(state, out)                                                           \
	do {                                                                                       \
		(out)->gradient_q16 = (state)->last.gradient_q16;                                  \
		(out)->branch = (state)->last.branch;                                              \
	} while (0)
#define DELAYCC_ALG sqcc
#include "delaycc_hooks.bpf.h"

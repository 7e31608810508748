// SPDX-License-Identifier: GPL-2.0
/*
 * PrioPlus on Swift under BPF: the core of kernel/core/dcc_prioplus.h as a
 * struct_ops program, for machines where no module may be loaded.  The probe is
 * a packet of data; see delaycc_hooks.bpf.h.  The parameter `paper` is the
 * loader's: 0 for prioplus, 1 for prioplus_paper.  prioplus_ledbat.bpf.c is the
 * same on LEDBAT.
 */
#include "delaycc_core.bpf.h"

struct dcc_prioplus;
struct dcc_prioplus_params;
struct dcc_ack;
int subprog_dcc_prioplus_derive(struct dcc_prioplus *s, const struct dcc_path *path,
				const struct dcc_prioplus_params *p);
u64 subprog_dcc_prioplus_reply(struct dcc_prioplus *s, const struct dcc_ack *ack);
u64 subprog_dcc_prioplus_sample(struct dcc_prioplus *s, const struct dcc_ack *ack);
u64 subprog_dcc_prioplus_over_limit(struct dcc_prioplus *s, const struct dcc_ack *ack);
int subprog_dcc_prioplus_derive_delays(struct dcc_prioplus *s);
int subprog_dcc_prioplus_derive_windows(struct dcc_prioplus *s);
int subprog_dcc_prioplus_settle(struct dcc_prioplus *s, u32 delay_ns, bool unused);
int subprog_dcc_prioplus_linear(struct dcc_prioplus *s, u64 now_ns);
int subprog_dcc_prioplus_adapt(struct dcc_prioplus *s, u32 delay_ns);
int subprog_dcc_prioplus_follow_flight(struct dcc_prioplus *s, const struct dcc_ack *ack);

/* The base core as a whole is not used, but read. */
#ifdef DCC_PRIOPLUS_ON_LEDBAT
struct dcc_ledbat;
struct dcc_ledbat_params;
int subprog_dcc_ledbat_derive(struct dcc_ledbat *s, const struct dcc_path *path,
			      const struct dcc_ledbat_params *p);
u32 subprog_dcc_ledbat_base_ns(struct dcc_ledbat *s, u64 now_ns, u32 rtt_ns);
u32 subprog_dcc_ledbat_filter_ns(struct dcc_ledbat *s, u32 rtt_ns);
#else
struct dcc_swift;
struct dcc_swift_params;
int subprog_dcc_swift_derive(struct dcc_swift *s, const struct dcc_path *path,
			     const struct dcc_swift_params *p);
#endif

DELAYCC_SUBPROG u64 subprog_mulshift(u64 a, u64 b, u32 shift)
{
	return dcc_mulshift_u64(a, b, shift);
}

#define dcc_mulshift_u64 subprog_mulshift

DELAYCC_SUBPROG u32 subprog_log2_segments(u64 v)
{
	return dcc_log2_segments_q16(v);
}

#define dcc_log2_segments_q16 subprog_log2_segments

#include "dcc_prioplus.h"

DELAYCC_SUBPROG int subprog_dcc_prioplus_derive(struct dcc_prioplus *s, const struct dcc_path *path,
						const struct dcc_prioplus_params *p)
{
	if (s && path && p)
		dcc_prioplus_derive(s, path, p);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_prioplus_derive_delays(struct dcc_prioplus *s)
{
	if (s)
		dcc_prioplus_derive_delays(s);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_prioplus_derive_windows(struct dcc_prioplus *s)
{
	if (s)
		dcc_prioplus_derive_windows(s);
	return 0;
}

DELAYCC_SUBPROG u64 subprog_dcc_prioplus_over_limit(struct dcc_prioplus *s,
						    const struct dcc_ack *ack)
{
	return s && ack ? dcc_prioplus_over_limit(s, ack) : 0;
}

DELAYCC_SUBPROG int subprog_dcc_prioplus_settle(struct dcc_prioplus *s, u32 delay_ns, bool unused)
{
	if (s)
		dcc_prioplus_settle(s, delay_ns, unused);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_prioplus_linear(struct dcc_prioplus *s, u64 now_ns)
{
	if (s)
		dcc_prioplus_linear(s, now_ns);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_prioplus_adapt(struct dcc_prioplus *s, u32 delay_ns)
{
	if (s)
		dcc_prioplus_adapt(s, delay_ns);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_prioplus_follow_flight(struct dcc_prioplus *s,
						       const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_prioplus_follow_flight(s, ack);
	return 0;
}

DELAYCC_SUBPROG u64 subprog_dcc_prioplus_reply(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	return s && ack ? dcc_prioplus_reply(s, ack) : 0;
}

DELAYCC_SUBPROG u64 subprog_dcc_prioplus_sample(struct dcc_prioplus *s, const struct dcc_ack *ack)
{
	return s && ack ? dcc_prioplus_sample(s, ack) : 0;
}

#define DELAYCC_PROBES 1
#define DELAYCC_BPF_SOCKET_PARAMS(sk, params)                                                      \
	do {                                                                                       \
		(params)->priority = (sk)->sk_priority;                                            \
		(params)->seed = bpf_get_prandom_u32();                                            \
	} while (0)
#define DELAYCC_BPF_EACH_ACK(sk, params) ((params)->priority = (sk)->sk_priority)
/* The paper's listing is an algorithm of its own as a module. */
#define DELAYCC_BPF_PARAMS(X) DCC_PRIOPLUS_PARAMS(X) X(paper, 0, 1, true)
#define DELAYCC_BPF_DESCRIBE(state, out) ((out)->branch = (state)->last.branch)
#ifndef DCC_PRIOPLUS_ON_LEDBAT
#define DELAYCC_ALG prioplus
#endif
#define DELAYCC_CORE_NAME prioplus
#include "delaycc_hooks.bpf.h"

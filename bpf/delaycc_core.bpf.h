/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What comes before a core in a BPF program: types, helpers, arithmetic in
 * subprograms.
 *
 * If all of a core were inlined, its paths would multiply to more than a million
 * instructions for the verifier.  A function with many paths therefore becomes a
 * global function (a subprogram).  The verifier checks it once, for any
 * arguments; in return the function must check its pointers.  A core marks these
 * places with DCC_BPF_SUBPROG; <name>.bpf.c declares subprog_<function>() before
 * it includes the core, and defines it behind.
 */
#ifndef DELAYCC_CORE_BPF_H
#define DELAYCC_CORE_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define DELAYCC_SUBPROG __attribute__((noinline))
#define DCC_BPF_SUBPROG(function) subprog_##function
/* Until delaycc_hooks.bpf.h: a function that is no subprogram is inlined. */
#define inline inline __attribute__((always_inline))

#include "dcc_math.h"

DELAYCC_SUBPROG u64 subprog_muldiv(u64 a, u64 b, u64 d)
{
	return dcc_muldiv_u64(a, b, d);
}

#define dcc_muldiv_u64 subprog_muldiv

#include "dcc_cc.h"
#include "dcc_tcp.h"

DELAYCC_SUBPROG int subprog_tcp_sample(struct dcc_tcp *s, const struct dcc_tcp_view *v,
				       u64 noted_ns, struct dcc_ack *ack)
{
	return s && v && ack && dcc_tcp_sample(s, v, noted_ns, ack);
}

DELAYCC_SUBPROG int subprog_model_control(struct dcc_model *m, const struct dcc_control *control)
{
	if (m && control)
		dcc_model_control(m, control);
	return 0;
}

DELAYCC_SUBPROG int subprog_cache_update(struct dcc_cache_entry *m,
					 const struct dcc_path_metrics *known, u64 now_ns,
					 u32 lifetime_s)
{
	return m && known && dcc_cache_update(m, known, now_ns, lifetime_s);
}

#endif /* DELAYCC_CORE_BPF_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What comes before a core in a BPF program: types, helpers, arithmetic in
 * pieces.
 *
 * Inlined as a whole, a core's paths multiply to more than a million
 * instructions for the verifier.  So what has many paths becomes a global
 * function, which is verified once, for any arguments; in return it must check
 * its pointers.  A core marks these places with DCC_BPF_SUBPROG; <name>.bpf.c declares
 * step_<function>() before it includes the core and defines it behind.
 */
#ifndef DELAYCC_CORE_BPF_H
#define DELAYCC_CORE_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define DELAYCC_STEP __attribute__((noinline))
#define DCC_BPF_SUBPROG(function) step_##function
/* Until delaycc_hooks.bpf.h: a function that is not a step is part of its caller. */
#define inline inline __attribute__((always_inline))

#include "dcc_math.h"

DELAYCC_STEP u64 step_muldiv(u64 a, u64 b, u64 d)
{
	return dcc_muldiv_u64(a, b, d);
}

#define dcc_muldiv_u64 step_muldiv

#include "dcc_cc.h"

#endif /* DELAYCC_CORE_BPF_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * OSCAR under BPF: the core of kernel/core/dcc_oscar.h as a struct_ops program,
 * for machines where no module may be loaded.
 */
#include "delaycc_core.bpf.h"

struct dcc_oscar;
struct dcc_oscar_scale;
struct dcc_estimate;
struct dcc_oscar_params;
int subprog_dcc_oscar_derive(struct dcc_oscar_scale *c, const struct dcc_path *path,
			     const struct dcc_oscar_params *p);
int subprog_dcc_oscar_probe_step(struct dcc_oscar *s, const struct dcc_ack *ack);
int subprog_dcc_oscar_measure_drop(struct dcc_oscar *s, const struct dcc_ack *ack);
int subprog_dcc_oscar_decide(struct dcc_oscar *s, const struct dcc_estimate *e,
			     const struct dcc_ack *ack);

int subprog_dcc_oscar_watch_next_queue(struct dcc_oscar *s, u32 next_queue_ns,
				       const struct dcc_estimate *e);

#include "oscar/batch.h"

DELAYCC_SUBPROG int subprog_batch_add(struct dcc_batch *b, const struct dcc_ack *ack)
{
	return b && ack && dcc_batch_add(b, ack);
}

DELAYCC_SUBPROG int subprog_batch_close(struct dcc_batch *b, struct dcc_estimate *e)
{
	if (b && e)
		dcc_batch_close(b, e);
	return 0;
}

DELAYCC_SUBPROG int subprog_batch_init(struct dcc_batch *b, u32 tau_ns, u64 gap_ns)
{
	if (b)
		dcc_batch_init(b, tau_ns, gap_ns);
	return 0;
}

#define dcc_batch_init subprog_batch_init
#define dcc_batch_add subprog_batch_add
#define dcc_batch_close subprog_batch_close

#include "dcc_oscar.h"

DELAYCC_SUBPROG int subprog_dcc_oscar_derive(struct dcc_oscar_scale *c, const struct dcc_path *path,
					     const struct dcc_oscar_params *p)
{
	if (c && path && p)
		dcc_oscar_derive(c, path, p);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_oscar_probe_step(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	return s && ack && dcc_oscar_probe_step(s, ack);
}

DELAYCC_SUBPROG int subprog_dcc_oscar_measure_drop(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_oscar_measure_drop(s, ack);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_oscar_watch_next_queue(struct dcc_oscar *s, u32 next_queue_ns,
						       const struct dcc_estimate *e)
{
	if (s && e)
		dcc_oscar_watch_next_queue(s, next_queue_ns, e);
	return 0;
}

DELAYCC_SUBPROG int subprog_dcc_oscar_decide(struct dcc_oscar *s, const struct dcc_estimate *e,
					     const struct dcc_ack *ack)
{
	if (s && e && ack)
		dcc_oscar_decide(s, e, ack);
	return 0;
}

/* The paper's listing is an algorithm of its own as a module. */
#define DELAYCC_BPF_PARAMS(X) DCC_OSCAR_PARAMS(X) X(paper, 0, 1, true)
#define DELAYCC_BPF_DESCRIBE(state, out)                                                           \
	do {                                                                                       \
		(out)->gradient_q16 = (state)->last.gradient_q16;                                  \
		(out)->branch = (state)->last.branch;                                              \
	} while (0)
#define DELAYCC_ALG oscar
#include "delaycc_hooks.bpf.h"

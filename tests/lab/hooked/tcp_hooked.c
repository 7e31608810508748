// SPDX-License-Identifier: GPL-2.0
/*
 * An algorithm for tests of the hooks: a large constant window, and a count of
 * how often each function of the core is called, and in which state of TCP.
 * The counts are the module's parameters.
 */
#define DELAYCC_ALG hooked

#include "core/dcc_cc.h"
#include "core/dcc_math.h"
#include "glue/delaycc.h"

#define HOOKED_COUNT(name)                                                     \
	static unsigned int name;                                              \
	module_param(name, uint, 0644)

HOOKED_COUNT(inits);
HOOKED_COUNT(acks);
HOOKED_COUNT(losses);
HOOKED_COUNT(rtos);
HOOKED_COUNT(restarts);

struct dcc_hooked_params {
	u32 cwnd_milli;
};

struct dcc_hooked {
	u32 unused;
};

static void dcc_hooked_params_default(struct dcc_hooked_params *p)
{
	p->cwnd_milli = 1000000;
}

static void hooked_control(const struct dcc_path *path,
			   const struct dcc_hooked_params *p,
			   struct dcc_control *out)
{
	out->cwnd_q16 = div_u64((u64)p->cwnd_milli * DCC_WINDOW_ONE, 1000);
	out->pacing_bps = path->line_rate_bps;
	out->probe_ns = 0;
}

static void dcc_hooked_init(struct dcc_hooked *core,
			    const struct dcc_path *path,
			    const struct dcc_hooked_params *p,
			    struct dcc_control *out)
{
	inits++;
	hooked_control(path, p, out);
}

static bool dcc_hooked_ack(struct dcc_hooked *core, const struct dcc_path *path,
			   const struct dcc_hooked_params *p,
			   const struct dcc_ack *ack, struct dcc_control *out)
{
	acks++;
	hooked_control(path, p, out);
	return true;
}

static void dcc_hooked_loss(struct dcc_hooked *core,
			    const struct dcc_path *path,
			    const struct dcc_hooked_params *p, u64 now_ns,
			    struct dcc_control *out)
{
	losses++;
}

static void dcc_hooked_rto(struct dcc_hooked *core, const struct dcc_path *path,
			   const struct dcc_hooked_params *p, u64 now_ns,
			   struct dcc_control *out)
{
	rtos++;
}

static void dcc_hooked_restart(struct dcc_hooked *core,
			       const struct dcc_path *path,
			       const struct dcc_hooked_params *p, u64 now_ns,
			       struct dcc_control *out)
{
	restarts++;
}

static const struct delaycc_param hooked_sysctls[] = {
	DELAYCC_PARAM(struct dcc_hooked_params, cwnd_milli, 10, 1000000, true),
};

static const struct delaycc_options hooked_options = {
	.names = { "hooked" },
	.reno = "hooked-reno",
};

static void hooked_describe(const struct dcc_hooked *core,
			    struct delaycc_decision *d)
{
}

static void hooked_adjust(const struct sock *sk, unsigned int variant,
			  struct dcc_hooked_params *p)
{
}

#include "glue/delaycc_hooks.h"

MODULE_DESCRIPTION("A test's count of the hooks");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * An algorithm for tests of stop and probe: a constant window; after run_acks
 * acknowledgments it stops, and it goes on after so many probes, and not before
 * one has seen an RTT of at most release_ns.
 *
 * The tracepoint shows: branch 1 a stop, 2 a reply after which it stays stopped,
 * 3 one after which it goes on; flows the socket's priority, as the parameters
 * have it; detail the number of ordinary ACKs that came while it was stopped.
 */
#define DELAYCC_ALG stopgo

#include <linux/random.h>

#include "core/dcc_cc.h"
#include "core/dcc_math.h"
#include "glue/delaycc.h"

enum { STOPGO_STOP = 1, STOPGO_STAY, STOPGO_GO };

struct dcc_stopgo_params {
	u32 run_acks;
	u32 probes;
	u32 probe_ns;
	u32 first_probes; /* before the start */
	u32 release_ns;	  /* 0: any RTT is good */
	u32 cwnd_milli;
	u32 priority;
	u32 seed;
};

struct dcc_stopgo {
	u32 acks;
	u32 left; /* probes of this stop */
	u32 branch;
	u32 ignored;
	u32 priority;
	u32 delay_ns;
};

static void dcc_stopgo_params_default(struct dcc_stopgo_params *p)
{
	memset(p, 0, sizeof(*p));
	p->run_acks = 100;
	p->probes = 1;
	p->probe_ns = 1;
	p->cwnd_milli = 20000;
}

static void stopgo_go(const struct dcc_path *path,
		      const struct dcc_stopgo_params *p,
		      struct dcc_control *out)
{
	out->cwnd_q16 = div_u64((u64)p->cwnd_milli * DCC_WINDOW_ONE, 1000);
	out->pacing_bps = path->line_rate_bps;
	out->probe_ns = 0;
}

static void dcc_stopgo_init(struct dcc_stopgo *core,
			    const struct dcc_path *path,
			    const struct dcc_stopgo_params *p,
			    struct dcc_control *out)
{
	stopgo_go(path, p, out);
	core->left = p->first_probes;
	if (core->left)
		out->probe_ns = p->probe_ns;
}

static bool dcc_stopgo_ack(struct dcc_stopgo *core, const struct dcc_path *path,
			   const struct dcc_stopgo_params *p,
			   const struct dcc_ack *ack, struct dcc_control *out)
{
	core->priority = p->priority;
	if (!out->probe_ns) {
		if (++core->acks < p->run_acks)
			return false;
		core->acks = 0;
		core->left = p->probes;
		core->branch = STOPGO_STOP;
		out->probe_ns = p->probe_ns;
		return true;
	}
	if (!(ack->flags & DCC_ACK_PROBE)) {
		core->ignored++;
		return false;
	}
	core->delay_ns = ack->now_ns - ack->send_ns;
	if (core->left)
		core->left--;
	if (core->left || (p->release_ns && ack->rtt_ns > p->release_ns)) {
		core->branch = STOPGO_STAY;
		out->probe_ns = p->probe_ns;
	} else {
		core->branch = STOPGO_GO;
		stopgo_go(path, p, out);
	}
	return true;
}

static void dcc_stopgo_loss(struct dcc_stopgo *core,
			    const struct dcc_path *path,
			    const struct dcc_stopgo_params *p, u64 now_ns,
			    struct dcc_control *out)
{
}

static void dcc_stopgo_rto(struct dcc_stopgo *core, const struct dcc_path *path,
			   const struct dcc_stopgo_params *p, u64 now_ns,
			   struct dcc_control *out)
{
}

static void dcc_stopgo_restart(struct dcc_stopgo *core,
			       const struct dcc_path *path,
			       const struct dcc_stopgo_params *p, u64 now_ns,
			       struct dcc_control *out)
{
}

#define STOPGO_PARAM(field, min, max)                                          \
	DELAYCC_PARAM(struct dcc_stopgo_params, field, min, max, true)

static const struct delaycc_param stopgo_sysctls[] = {
	STOPGO_PARAM(run_acks, 1, 1000000000),
	STOPGO_PARAM(probes, 1, 1000000000),
	STOPGO_PARAM(probe_ns, 1, 2000000000),
	STOPGO_PARAM(first_probes, 1, 1000000000),
	STOPGO_PARAM(release_ns, 1, 1000000000),
	STOPGO_PARAM(cwnd_milli, 10, 1000000),
};

static const struct delaycc_options stopgo_options = {
	.names = { "stopgo" },
	.reno = "stopgo-reno",
	.probes = true,
	.by_priority = true,
};

static void stopgo_describe(const struct dcc_stopgo *core,
			    struct delaycc_decision *d)
{
	d->branch = core->branch;
	d->delay_ns = core->delay_ns;
	d->flows = core->priority;
	d->detail = core->ignored;
}

static void stopgo_adjust(const struct sock *sk, unsigned int variant,
			  struct dcc_stopgo_params *p)
{
	p->priority = READ_ONCE(sk->sk_priority);
	if (!p->seed)
		p->seed = get_random_u32() | 1;
}

#include "glue/delaycc_hooks.h"

MODULE_DESCRIPTION("A test's stop and go");
MODULE_LICENSE("GPL");

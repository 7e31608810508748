/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP's hooks around a core: the part of every tcp_<name>.c that is the same
 * for all.  A source file is one module:
 *
 *	#define DELAYCC_ALG <name>
 *	#include "core/dcc_<name>.h"
 *	#include "glue/delaycc.h"
 *
 *	static const struct delaycc_param <name>_sysctls[] = {
 *		DELAYCC_PARAM(struct dcc_<name>_params, field, min, max, zero_ok),
 *	};
 *	static const struct delaycc_options <name>_options = {
 *		.names = { "<name>" },
 *		.reno = "<name>-reno",
 *	};
 *	static void <name>_adjust(const struct sock *sk, unsigned int variant,
 *				  struct dcc_<name>_params *params) { ... }
 *	static void <name>_describe(const struct dcc_<name> *core,
 *				    struct delaycc_decision *d) { ... }
 *
 *	#include "glue/delaycc_hooks.h"
 *
 * and its MODULE_ macros.  struct delaycc_options (delaycc.h) says what else a
 * module can ask for.
 *
 *	adjust()	sets what does not come from the sysctls: what differs
 *			between the module's algorithms (variant: the index in
 *			options.names) or between sockets
 *	describe()	fills in what the core knows of its last decision:
 *			delay_ns, gradient_q16, branch, and where they apply
 *			flows, flows_reported, detail, ratio_ppm
 *
 * DELAYCC_CORE_NAME is the core's name where the module has another one.
 *
 * What the papers leave to an implementation is the same for all:
 *   - Loss.  A datacenter queue that overflows has shown its delay long before.
 *     The law therefore goes on in recovery, and the core's answer to a loss or
 *     a timeout comes on top.  TCP's own retransmission machinery is not touched,
 *     and its ssthresh is the window at that time.
 *   - ECN.  A mark or a local drop (CWR) counts as a loss: a socket that has
 *     negotiated ECN has promised that.
 *   - An undone recovery (spurious retransmissions) keeps the window that the
 *     law has found by then; there is nothing to undo.
 *   - Idle.  After a pause of some RTTs old delays say nothing: restart
 *     (dcc_tcp_restarts()).
 *   - Application- or receiver-limited packets show how long the queue is, but
 *     not that the flow should send less; the core gets DCC_ACK_APP_LIMITED.
 *
 * A socket on the loopback whose line rate nobody tells, or that gets no memory,
 * uses reno under the name options.reno, and the log says why.
 *
 * The state does not fit TCP's 104 bytes, so it is an object of its own.  What
 * `ss -i` shows is in TCP's bytes, because it is read without the lock.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "count/delaycc_count.h"

#ifndef DELAYCC_CORE_NAME
#define DELAYCC_CORE_NAME DELAYCC_ALG
#endif
/* The core's own: struct DCC_CORE(_params), DCC_CORE(_ack)() ... */
#define DCC_CORE(part) __DELAYCC_PASTE(dcc_, DELAYCC_CORE_NAME, part)

static struct tcp_congestion_ops hooks_ops[ARRAY_SIZE(DCC_HOOK(options).names)];
static unsigned int hooks_registered; /* how many of hooks_ops are */
static unsigned int hooks_net_id __read_mostly;
/*
 * Of struct hooks_sock, whose size is far from those of kmalloc().  Each ACK
 * writes to it: no two sockets share a line of the processors' caches.
 */
static struct kmem_cache *hooks_cache __read_mostly;

/* One socket's state, allocated with it. */
struct hooks_sock {
	struct delaycc_sock dcc;
	struct DCC_CORE() core;
	struct DCC_CORE(_params) params;
	struct dcc_control control;
	int generation; /* of params */
	u32 priority;	/* of params */
	u8 variant;
	struct delaycc_report *report; /* options.wants_flows */
	struct delaycc_probe probe;    /* options.probes */
};

/* In TCP's bytes.  Zero until init(): TCP calls some hooks before it. */
struct hooks_ca {
	struct hooks_sock *state;
	/* For get_info(), which may read while another algorithm moves in. */
	u64 rate_bps;
	u64 line_rate_bps;
	u32 base_rtt_ns;
	u32 flows;
	bool flows_reported;
};

static struct hooks_ca *DCC_HOOK(ca)(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static struct hooks_sock *DCC_HOOK(sock)(const struct sock *sk)
{
	return DCC_HOOK(ca)(sk)->state;
}

/* A socket follows its namespace's parameters while it lives. */
static void DCC_HOOK(read_params)(const struct sock *sk, struct hooks_sock *s)
{
	const struct delaycc_values *values = net_generic(sock_net(sk),
							  hooks_net_id);
	int generation = delaycc_generation(values);
	u32 priority = DCC_HOOK(options).by_priority ?
			       READ_ONCE(sk->sk_priority) : s->priority;

	if (likely(generation == s->generation && priority == s->priority))
		return;
	s->generation = generation;
	s->priority = priority;
	delaycc_read_params(values, DCC_HOOK(sysctls),
			    ARRAY_SIZE(DCC_HOOK(sysctls)), &s->params);
	DCC_HOOK(adjust)(sk, s->variant, &s->params);
}

static void DCC_HOOK(apply)(struct sock *sk, struct hooks_sock *s)
{
	struct hooks_ca *ca = DCC_HOOK(ca)(sk);
	/* TCP itself changes the window in recovery. */
	bool settled = dcc_tcp_is_settled(&s->dcc.tcp, &s->control,
					  tcp_snd_cwnd(tcp_sk(sk)));

	if (!settled)
		dcc_model_control(&s->dcc.tcp.model, &s->control);
	WRITE_ONCE(ca->line_rate_bps, s->dcc.tcp.model.path.line_rate_bps);
	WRITE_ONCE(ca->base_rtt_ns, s->dcc.tcp.model.path.base_rtt_ns);
	if (settled)
		return;
	if (DCC_HOOK(options).probes && s->probe.stopped) {
		s->dcc.tcp.settled_cwnd = 0;
		delaycc_probe_limit_window(sk);
		return;
	}
	delaycc_apply(sk, &s->dcc, &s->control);
	/* The first packet after a stop leaves at once, however small the window. */
	if (DCC_HOOK(options).probes &&
	    s->probe.go_ns == tcp_sk(sk)->tcp_clock_cache)
		delaycc_probe_go(sk, &s->probe);
	WRITE_ONCE(ca->rate_bps, s->control.pacing_bps);
}

/* Publish a decision to ss and the tracepoint. */
static noinline void DCC_HOOK(show)(struct sock *sk, const struct hooks_sock *s,
				    u32 rtt_ns)
{
	struct delaycc_decision decision = {
		.name = DCC_HOOK(options).names[s->variant],
		.rtt_ns = rtt_ns,
		.cwnd_q16 = s->control.cwnd_q16,
		.pacing_bps = s->control.pacing_bps,
	};
	struct hooks_ca *ca = DCC_HOOK(ca)(sk);

	if (!DCC_HOOK(options).shows_flows && !delaycc_trace_enabled())
		return;
	DCC_HOOK(describe)(&s->core, &decision);
	if (DCC_HOOK(options).shows_flows) {
		WRITE_ONCE(ca->flows, decision.flows);
		WRITE_ONCE(ca->flows_reported, decision.flows_reported);
	}
	if (!delaycc_trace_enabled())
		return;
	if (!decision.ratio_ppm)
		decision.ratio_ppm =
			dcc_q24_to_ppm(dcc_ratio_q24(s->control.pacing_bps,
						     s->dcc.tcp.model.path.line_rate_bps));
	delaycc_trace(sk, &decision);
}

/*
 * Stops or goes on, as the control says.  answered: the control is the core's
 * answer to an ACK and has a new time for the probe.
 */
static void DCC_HOOK(stop_or_go)(struct sock *sk, struct hooks_sock *s,
				 bool answered)
{
	struct delaycc_probe *p = &s->probe;

	if (!DCC_HOOK(options).probes)
		return;
	if (!dcc_tcp_stops(&s->dcc.tcp, &s->control)) {
		if (p->stopped)
			delaycc_probe_go(sk, p);
	} else if (answered || !p->stopped) {
		delaycc_probe_stop(sk, p, tcp_sk(sk)->tcp_clock_cache,
				   s->control.probe_ns);
	}
}

/* One acknowledgment: the core's decision. */
static __always_inline void DCC_HOOK(decide)(struct sock *sk,
					     struct hooks_sock *s,
					     const struct dcc_ack *ack)
{
	bool answered = DCC_CORE(_ack)(&s->core, &s->dcc.tcp.model.path, &s->params,
				       ack, &s->control);

	if (answered)
		DCC_HOOK(show)(sk, s, ack->rtt_ns);
	s->dcc.tcp.last_ack_ns = ack->now_ns;
	DCC_HOOK(stop_or_go)(sk, s, answered);
}

/* A probe's reply.  TCP does not call .cong_control with nothing in flight. */
static void __maybe_unused DCC_HOOK(in_ack_event)(struct sock *sk, u32 flags)
{
	struct hooks_sock *s = DCC_HOOK(sock)(sk);
	struct dcc_ack ack;

	if (!s || !delaycc_probe_answered(sk, &s->dcc, &s->probe, &ack))
		return;
	delaycc_path_update(sk, &s->dcc);
	DCC_HOOK(read_params)(sk, s);
	DCC_HOOK(decide)(sk, s, &ack);
	DCC_HOOK(apply)(sk, s);
}

static __always_inline void DCC_HOOK(on_ack)(struct sock *sk,
					     const struct rate_sample *rs)
{
	struct hooks_sock *s = DCC_HOOK(sock)(sk);
	struct dcc_ack ack;

	/* TCP passes the handshake's last ACK before init(). */
	if (unlikely(!s))
		return;

	delaycc_path_update(sk, &s->dcc);
	DCC_HOOK(read_params)(sk, s);

	if (unlikely(dcc_tcp_takes_loss(&s->dcc.tcp))) {
		DCC_CORE(_loss)(&s->core, &s->dcc.tcp.model.path, &s->params,
				tcp_sk(sk)->tcp_clock_cache, &s->control);
		DCC_HOOK(stop_or_go)(sk, s, false);
	}
	if (DCC_HOOK(options).wants_flows)
		s->dcc.flows = delaycc_count_flows(sk, s->report);
	if (delaycc_sample(sk, &s->dcc, rs, &ack)) {
		if (DCC_HOOK(options).probes)
			delaycc_probe_sampled(sk, &s->dcc, &s->probe, &ack);
		DCC_HOOK(decide)(sk, s, &ack);
	}
	DCC_HOOK(apply)(sk, s);
	delaycc_note_sent(sk, &s->dcc, rs);
}

/* .cong_control as the kernel declares it: before 6.10, and since. */
static void __maybe_unused DCC_HOOK(cong_control)(struct sock *sk,
						  const struct rate_sample *rs)
{
	DCC_HOOK(on_ack)(sk, rs);
}

static void __maybe_unused
DCC_HOOK(cong_control_long)(struct sock *sk, u32 ack, int flag,
			    const struct rate_sample *rs)
{
	DCC_HOOK(on_ack)(sk, rs);
}

static void DCC_HOOK(timeout)(struct sock *sk, struct hooks_sock *s)
{
	dcc_tcp_takes_loss(&s->dcc.tcp);
	DCC_CORE(_rto)(&s->core, &s->dcc.tcp.model.path, &s->params,
		       tcp_sk(sk)->tcp_clock_cache, &s->control);
	DCC_HOOK(stop_or_go)(sk, s, false);
	DCC_HOOK(apply)(sk, s);
}

static void DCC_HOOK(set_state)(struct sock *sk, u8 new_state)
{
	struct hooks_sock *s = DCC_HOOK(sock)(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (!s)
		return;
	switch (dcc_tcp_state_event(inet_csk(sk)->icsk_ca_state, new_state,
				    tp->high_seq, tp->snd_una)) {
	case DCC_TCP_LOSS:
		dcc_tcp_saw_loss(&s->dcc.tcp);
		break;
	case DCC_TCP_RTO:
		DCC_HOOK(timeout)(sk, s);
		tcp_snd_cwnd_set(tp, cwnd);
		break;
	case DCC_TCP_NOTHING:
		break;
	}
}

/* Restarts the core if the flow has been idle. */
static void DCC_HOOK(restart_after_idle)(struct sock *sk, struct hooks_sock *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct dcc_tcp_pause pause = {
		.now_ns = tp->tcp_clock_cache,
		.departure_ns = tp->tcp_wstamp_ns,
		.packets_out = tp->packets_out,
		.ca_state = inet_csk(sk)->icsk_ca_state,
		.app_limited = tp->app_limited,
	};

	if (likely(!dcc_tcp_restarts(&s->dcc.tcp, &pause)))
		return;
	DCC_CORE(_restart)(&s->core, &s->dcc.tcp.model.path, &s->params,
			   pause.now_ns, &s->control);
	DCC_HOOK(stop_or_go)(sk, s, false);
	DCC_HOOK(apply)(sk, s);
}

/*
 * TCP asks for the least number of packets in a TSO burst each time that it tries
 * to send new data, before it looks at window and pace.  It is the only hook that
 * runs there, so it is also the place of the idle rule, the EDT hold of a stopped
 * flow, and the note of the next packet's send time.
 */
static u32 DCC_HOOK(min_tso_segs)(struct sock *sk)
{
	struct hooks_sock *s = DCC_HOOK(sock)(sk);

	/* A slow flow sends single packets. */
	if (!s)
		return 1;
	if (DCC_HOOK(options).probes && s->probe.stopped) {
		delaycc_probe_before_send(sk, &s->dcc, &s->probe);
		return 1;
	}
	DCC_HOOK(restart_after_idle)(sk, s);
	/* The restart may have stopped the flow. */
	if (DCC_HOOK(options).probes)
		delaycc_probe_before_send(sk, &s->dcc, &s->probe);
	delaycc_note_xmit(sk, &s->dcc);
	return 1;
}

static void DCC_HOOK(cwnd_event)(struct sock *sk, enum tcp_ca_event event)
{
	struct hooks_sock *s = DCC_HOOK(sock)(sk);

	/* A timeout, or a receiver that takes back what it had acknowledged. */
	if (s && event == CA_EVENT_LOSS)
		DCC_HOOK(timeout)(sk, s);
}

static u32 DCC_HOOK(ssthresh)(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

static u32 DCC_HOOK(undo_cwnd)(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static size_t DCC_HOOK(get_info)(struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info)
{
	const struct hooks_ca *ca = DCC_HOOK(ca)(sk);
	u64 rate_bps = READ_ONCE(ca->rate_bps);
	u64 bytes_per_s = rate_bps / BITS_PER_BYTE;

	/* The kernel has no attribute for other algorithms; ss prints BBR's. */
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = lower_32_bits(bytes_per_s);
	info->bbr.bbr_bw_hi = upper_32_bits(bytes_per_s);
	info->bbr.bbr_min_rtt = READ_ONCE(ca->base_rtt_ns) / NSEC_PER_USEC;
	/* A gain of 1.0 is 256; never 0, which ss leaves out. */
	info->bbr.bbr_pacing_gain =
		max(dcc_ratio_q24(rate_bps, READ_ONCE(ca->line_rate_bps)) >>
		    (DCC_RATIO_SHIFT - 8), 1U);
	if (DCC_HOOK(options).shows_flows) {
		info->bbr.bbr_cwnd_gain = min(READ_ONCE(ca->flows), 1U << 23) << 8;
		if (info->bbr.bbr_cwnd_gain && !READ_ONCE(ca->flows_reported))
			info->bbr.bbr_cwnd_gain += 1 << 7;
	}
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static void DCC_HOOK(release)(struct sock *sk)
{
	struct hooks_ca *ca = DCC_HOOK(ca)(sk);

	if (!ca->state)
		return;
	if (DCC_HOOK(options).probes)
		delaycc_probe_release(sk, &ca->state->probe);
	delaycc_release(sk, &ca->state->dcc);
	if (DCC_HOOK(options).wants_flows)
		delaycc_count_close(ca->state->report);
	kmem_cache_free(hooks_cache, ca->state);
	ca->state = NULL;
}

static void DCC_HOOK(init)(struct sock *sk);

/*
 * For sockets that cannot be served, one for each of hooks_ops.  Not registered:
 * no user can ask for it.  The socket's next connection, after a
 * connect(AF_UNSPEC), and the connections that a listener gets try it anew.
 */
static struct tcp_congestion_ops hooks_reno[ARRAY_SIZE(DCC_HOOK(options).names)] = {
	[0 ... ARRAY_SIZE(DCC_HOOK(options).names) - 1] = {
		.init = DCC_HOOK(init),
		.ssthresh = tcp_reno_ssthresh,
		.cong_avoid = tcp_reno_cong_avoid,
		.undo_cwnd = tcp_reno_undo_cwnd,
		.release = DCC_HOOK(release),
		.owner = THIS_MODULE,
	},
};

/* The index of the socket's algorithm in options.names, also where it uses reno. */
static unsigned int DCC_HOOK(variant)(const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;

	if (ops >= hooks_reno && ops < hooks_reno + ARRAY_SIZE(hooks_reno))
		return ops - hooks_reno;
	return ops - hooks_ops;
}

static void DCC_HOOK(init)(struct sock *sk)
{
	struct hooks_ca *ca = DCC_HOOK(ca)(sk);
	struct hooks_sock *s = delaycc_state_zalloc(sk, hooks_cache);
	unsigned int variant = DCC_HOOK(variant)(sk);

	ca->state = NULL;
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &hooks_ops[variant]);
	if (!s) {
		pr_warn_ratelimited("delaycc: %s: no memory for a socket's state, it uses reno instead\n",
				    DCC_HOOK(options).names[0]);
		goto use_reno;
	}
	/* Logs the reason of a failure. */
	if (delaycc_init(sk, &s->dcc, DCC_HOOK(options).names[0]))
		goto use_reno;

	/* The packet that asks for a stopped flow may be a retransmission. */
	s->dcc.tcp.sampler.times_retrans = DCC_HOOK(options).times_retrans ||
				   DCC_HOOK(options).probes;
	s->variant = variant;
	DCC_HOOK(read_params)(sk, s);
	DCC_CORE(_init)(&s->core, &s->dcc.tcp.model.path, &s->params, &s->control);
	if (DCC_HOOK(options).wants_flows)
		s->report = delaycc_count_open(sk);
	WRITE_ONCE(ca->flows, 0);
	ca->state = s;
	/* This is no ACK: TCP's clock may have stood still for long. */
	if (DCC_HOOK(options).probes &&
	    dcc_tcp_stops(&s->dcc.tcp, &s->control))
		delaycc_probe_stop(sk, &s->probe, tcp_clock_ns(),
				   s->control.probe_ns);
	DCC_HOOK(apply)(sk, s);
	return;

use_reno:
	if (s)
		kmem_cache_free(hooks_cache, s);
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &hooks_reno[variant]);
}

static const struct tcp_congestion_ops hooks_template __initconst = {
	/*
	 * Only the host's root may set a restricted algorithm in a namespace, and
	 * each other attempt leaks a reference to the module.
	 */
	.flags = TCP_CONG_NON_RESTRICTED,
	.owner = THIS_MODULE,
	.init = DCC_HOOK(init),
	.release = DCC_HOOK(release),
	.cong_control = DELAYCC_CONG_CONTROL(DCC_HOOK(cong_control),
					     DCC_HOOK(cong_control_long)),
	.min_tso_segs = DCC_HOOK(min_tso_segs),
	.set_state = DCC_HOOK(set_state),
	.cwnd_event = DCC_HOOK(cwnd_event),
	.ssthresh = DCC_HOOK(ssthresh),
	.undo_cwnd = DCC_HOOK(undo_cwnd),
	.get_info = DCC_HOOK(get_info),
};

static int __net_init DCC_HOOK(net_init)(struct net *net)
{
	struct DCC_CORE(_params) defaults;

	DCC_CORE(_params_default)(&defaults);
	return delaycc_sysctl_register(net,
				       "net/ipv4/delaycc/" __stringify(DELAYCC_ALG),
				       DCC_HOOK(sysctls),
				       ARRAY_SIZE(DCC_HOOK(sysctls)),
				       &defaults,
				       net_generic(net, hooks_net_id));
}

static void __net_exit DCC_HOOK(net_exit)(struct net *net)
{
	delaycc_sysctl_unregister(net_generic(net, hooks_net_id));
}

static struct pernet_operations hooks_net_ops = {
	.init = DCC_HOOK(net_init),
	.exit = DCC_HOOK(net_exit),
	.id = &hooks_net_id,
	.size = sizeof(struct delaycc_values),
};

static void DCC_HOOK(unregister)(void)
{
	while (hooks_registered)
		tcp_unregister_congestion_control(&hooks_ops[--hooks_registered]);
}

static int __init DCC_HOOK(module_init)(void)
{
	const char *name;
	int err;

	BUILD_BUG_ON(sizeof(struct hooks_ca) > ICSK_CA_PRIV_SIZE);

	hooks_cache = kmem_cache_create("delaycc_" __stringify(DELAYCC_ALG),
					sizeof(struct hooks_sock), 0,
					SLAB_ACCOUNT | SLAB_HWCACHE_ALIGN, NULL);
	if (!hooks_cache)
		return -ENOMEM;
	err = register_pernet_subsys(&hooks_net_ops);
	if (err)
		goto destroy_cache;
	err = delaycc_stillborn_register(THIS_MODULE);
	if (err) {
		pr_err("delaycc: the end of sockets cannot be watched: error %d\n", err);
		goto unregister_net;
	}
	while (hooks_registered < ARRAY_SIZE(hooks_ops) &&
	       (name = DCC_HOOK(options).names[hooks_registered])) {
		struct tcp_congestion_ops *ops = &hooks_ops[hooks_registered];

		*ops = hooks_template;
		if (DCC_HOOK(options).probes)
			ops->in_ack_event = DCC_HOOK(in_ack_event);
		strscpy(ops->name, name, TCP_CA_NAME_MAX);
		strscpy(hooks_reno[hooks_registered].name, DCC_HOOK(options).reno,
			TCP_CA_NAME_MAX);
		err = tcp_register_congestion_control(ops);
		if (err)
			goto unregister;
		hooks_registered++;
	}
	return 0;

unregister:
	pr_err("delaycc: the algorithm %s cannot be registered: error %d\n",
	       name, err);
	DCC_HOOK(unregister)();
	/*
	 * A kernel that gives a failed module's memory back does not check whether
	 * sockets use it; those of the first name may.
	 */
	if (delaycc_module_is_used())
		return 0;
	delaycc_stillborn_unregister(THIS_MODULE);
unregister_net:
	unregister_pernet_subsys(&hooks_net_ops);
destroy_cache:
	kmem_cache_destroy(hooks_cache);
	return err;
}

static void __exit DCC_HOOK(module_exit)(void)
{
	DCC_HOOK(unregister)();
	delaycc_stillborn_unregister(THIS_MODULE);
	unregister_pernet_subsys(&hooks_net_ops);
	kmem_cache_destroy(hooks_cache);
}

/* One step more, as module_init() makes a string of its argument. */
#define hooks_module_init(function) module_init(function)
#define hooks_module_exit(function) module_exit(function)
hooks_module_init(DCC_HOOK(module_init));
hooks_module_exit(DCC_HOOK(module_exit));

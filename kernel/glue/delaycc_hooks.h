/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shell that every tcp_<name>.c puts around its core: TCP's hooks, one
 * each.  A source file is one algorithm; it says
 *
 *	#include "core/dcc_<name>.h"
 *	#include "delaycc.h"
 *
 *	static const struct delaycc_param shell_params[] = {
 *		DELAYCC_PARAM(struct dcc_<name>_params, field, min, max, zero_ok),
 *	};
 *
 *	static void shell_describe(const struct dcc_<name> *core,
 *				   struct delaycc_decision *d) { ... }
 *
 *	#define DELAYCC_ALG <name>
 *	#include "delaycc_hooks.h"
 *
 * and its MODULE_ macros.  shell_describe() fills in what the core knows of its
 * last decision: delay_ns, gradient_q16, branch, and where they apply flows,
 * flows_reported, detail, ratio_ppm.  Optional, to be defined before:
 *
 *	DELAYCC_VARIANTS	{ "first", "second" }: one module, several names.
 *				void shell_variant(unsigned int index, struct
 *				dcc_<name>_params *) then sets what differs.
 *	DELAYCC_ALG_NAME	the algorithm's name and its sysctls' folder, where they
 *				are not <name>
 *	DELAYCC_RENO		the name of reno on sockets that cannot be served,
 *				where "<name>-reno" is longer than 15 characters
 *	DELAYCC_TIMES_RETRANS	RTTs of retransmitted packets count (by RACK, in us),
 *				for a law that needs news while it recovers
 *	DELAYCC_SHOWS_FLOWS	`ss -i` shows N as cwnd_gain; half of one more
 *				says that it is an estimate
 *	DELAYCC_PROBES		the core stops flows: control.probe_ns counts, and
 *				a reply comes to it with DCC_ACK_PROBE
 *	DELAYCC_SOCKET_PARAMS	void shell_socket_params(const struct sock *, struct
 *				dcc_<name>_params *) sets what differs between
 *				sockets, whenever the sysctls or the socket's
 *				priority have changed
 *	DELAYCC_WANTS_FLOWS	the core's ack.flows is the receiver's count, where
 *				that tells it (delaycc_count.ko)
 *
 * What the papers leave to an implementation is the same for all:
 *   - Loss.  A datacenter queue that overflows has told its delay long before,
 *     so the law goes on in recovery, with what the core answers to a loss or a
 *     timeout on top.  TCP's own retransmission machinery is not touched, and
 *     its ssthresh is the window at that time.
 *   - ECN.  A mark or a local drop (CWR) counts as a loss: who has negotiated
 *     ECN has promised that.
 *   - An undone recovery (spurious retransmissions) keeps the window that the
 *     law has found by then; there is nothing to undo.
 *   - Idle.  After a pause of some RTTs old delays say nothing: restart.
 *   - Application- or receiver-limited packets say how long the queue is, but
 *     not that the flow should send less; the core is told.
 *
 * A socket whose device has no known speed, or that gets no memory, uses reno
 * under the name "<name>-reno", and the log says why.
 *
 * The state does not fit TCP's 104 bytes, so it is an object of its own; what
 * `ss -i` shows is kept in TCP's bytes, because it is read without the lock.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#ifdef DELAYCC_WANTS_FLOWS
#include "count/delaycc_count.h"
#endif

#define DELAYCC_CORE(part) __DELAYCC_PASTE(DELAYCC_ALG, part)
#define __DELAYCC_PASTE(name, part) __DELAYCC_PASTE_2(name, part)
#define __DELAYCC_PASTE_2(name, part) dcc_##name##part
#ifndef DELAYCC_ALG_NAME
#define DELAYCC_ALG_NAME __stringify(DELAYCC_ALG)
#endif
/* struct SHELL_CORE, struct SHELL_PARAMS: the core's own. */
#define SHELL_CORE DELAYCC_CORE()
#define SHELL_PARAMS DELAYCC_CORE(_params)

#ifndef DELAYCC_VARIANTS
#define DELAYCC_VARIANTS { DELAYCC_ALG_NAME }
static void shell_variant(unsigned int index, struct SHELL_PARAMS *params)
{
}
#endif
#ifndef DELAYCC_RENO
#define DELAYCC_RENO DELAYCC_ALG_NAME "-reno"
#endif

/*
 * Pauses of this many RTTs are idle time.  Shorter ones are the gaps of a slow
 * flow, or of an application between two requests.
 */
#define SHELL_IDLE_RTTS 8

static const char *const shell_names[] = DELAYCC_VARIANTS;
static struct tcp_congestion_ops shell_ops[ARRAY_SIZE(shell_names)];
static unsigned int shell_registered; /* of these */
static unsigned int shell_net_id __read_mostly;

/* One socket's state, allocated with it. */
struct shell_sock {
	struct delaycc_sock dcc;
	struct SHELL_CORE core;
	struct SHELL_PARAMS params;
	struct dcc_control control;
	u64 last_ack_ns;
	int generation; /* of params */
	u8 variant;
	bool loss_seen; /* recovery began; the core has not been told */
#ifdef DELAYCC_PROBES
	struct delaycc_probe probe;
#endif
#ifdef DELAYCC_SOCKET_PARAMS
	u32 priority; /* of params */
#endif
#ifdef DELAYCC_WANTS_FLOWS
	struct delaycc_report *report;
#endif
};

/* In TCP's bytes.  Zero until init(): TCP calls some hooks before it. */
struct shell_ca {
	struct shell_sock *state;
	/* For get_info(), which may look while another algorithm moves in. */
	u64 rate_bps;
	u64 line_rate_bps;
	u32 base_rtt_ns;
	u32 flows;
	bool flows_reported;
};

static struct shell_ca *shell_ca(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static struct shell_sock *shell_sock(const struct sock *sk)
{
	return shell_ca(sk)->state;
}

/* A socket follows its namespace's parameters while it lives. */
static void shell_read_params(const struct sock *sk, struct shell_sock *s)
{
	const struct delaycc_values *values = net_generic(sock_net(sk),
							  shell_net_id);
	int generation = delaycc_generation(values);

#ifdef DELAYCC_SOCKET_PARAMS
	u32 priority = READ_ONCE(sk->sk_priority);

	if (unlikely(priority != s->priority))
		s->generation = generation - 1;
#endif
	if (likely(generation == s->generation))
		return;
	s->generation = generation;
	delaycc_read_params(values, shell_params, ARRAY_SIZE(shell_params),
			    &s->params);
	shell_variant(s->variant, &s->params);
#ifdef DELAYCC_SOCKET_PARAMS
	s->priority = priority;
	shell_socket_params(sk, &s->params);
#endif
}

static void shell_apply(struct sock *sk, struct shell_sock *s)
{
	struct shell_ca *ca = shell_ca(sk);

	WRITE_ONCE(ca->line_rate_bps, s->dcc.path.line_rate_bps);
	WRITE_ONCE(ca->base_rtt_ns, s->dcc.path.base_rtt_ns);
#ifdef DELAYCC_PROBES
	if (s->probe.stopped) {
		delaycc_probe_hold(sk);
		return;
	}
#endif
	delaycc_apply(sk, &s->dcc, &s->control);
#ifdef DELAYCC_PROBES
	/* The first packet after a stop leaves at once, however small the window. */
	if (s->probe.go_ns == tcp_sk(sk)->tcp_clock_cache)
		delaycc_probe_go(sk, &s->probe);
#endif
	WRITE_ONCE(ca->rate_bps, s->control.pacing_bps);
}

/* Tells those who look of a decision. */
static void shell_show(struct sock *sk, const struct shell_sock *s, u32 rtt_ns)
{
	struct delaycc_decision decision = {
		.name = shell_names[s->variant],
		.rtt_ns = rtt_ns,
		.cwnd_q16 = s->control.cwnd_q16,
		.pacing_bps = s->control.pacing_bps,
	};
#ifdef DELAYCC_SHOWS_FLOWS
	struct shell_ca *ca = shell_ca(sk);
#else
	if (!delaycc_trace_enabled())
		return;
#endif

	shell_describe(&s->core, &decision);
#ifdef DELAYCC_SHOWS_FLOWS
	WRITE_ONCE(ca->flows, decision.flows);
	WRITE_ONCE(ca->flows_reported, decision.flows_reported);
#endif
	if (!delaycc_trace_enabled())
		return;
	if (!decision.ratio_ppm)
		decision.ratio_ppm =
			dcc_q24_to_ppm(dcc_ratio_q24(s->control.pacing_bps,
						     s->dcc.path.line_rate_bps));
	delaycc_trace(sk, &decision);
}

#ifdef DELAYCC_PROBES
/*
 * Stops or goes on, as the control says; answered: it is the answer to an ACK,
 * with a new time for the probe.
 */
static void shell_stop_or_go(struct sock *sk, struct shell_sock *s,
			     bool answered)
{
	struct delaycc_probe *p = &s->probe;

	if (!s->control.probe_ns) {
		if (p->stopped)
			delaycc_probe_go(sk, p);
	} else if (answered || !p->stopped) {
		delaycc_probe_stop(sk, p, tcp_sk(sk)->tcp_clock_cache,
				   s->control.probe_ns);
	}
}

/* Replies come here; TCP does not call .cong_control with nothing in flight. */
static void shell_in_ack_event(struct sock *sk, u32 flags)
{
	struct shell_sock *s = shell_sock(sk);
	struct dcc_ack ack;
	bool answered;

	if (!s || !delaycc_probe_answered(sk, &s->dcc, &s->probe, &ack))
		return;
	delaycc_path_update(sk, &s->dcc);
	shell_read_params(sk, s);
	answered = DELAYCC_CORE(_ack)(&s->core, &s->dcc.path, &s->params, &ack,
				      &s->control);
	if (answered)
		shell_show(sk, s, ack.rtt_ns);
	s->last_ack_ns = ack.now_ns;
	shell_stop_or_go(sk, s, answered);
	shell_apply(sk, s);
}
#else
static void shell_stop_or_go(struct sock *sk, struct shell_sock *s,
			     bool answered)
{
}
#endif

static void shell_main(struct sock *sk, const struct rate_sample *rs)
{
	struct shell_sock *s = shell_sock(sk);
	struct dcc_ack ack;
	bool loss_seen, answered;

	/* TCP shows the handshake's last ACK before init(). */
	if (unlikely(!s))
		return;

	delaycc_path_update(sk, &s->dcc);
	shell_read_params(sk, s);

	loss_seen = s->loss_seen;
	if (unlikely(loss_seen)) {
		s->loss_seen = false;
		DELAYCC_CORE(_loss)(&s->core, &s->dcc.path, &s->params,
				    tcp_sk(sk)->tcp_clock_cache, &s->control);
		shell_stop_or_go(sk, s, false);
	}
#ifdef DELAYCC_WANTS_FLOWS
	s->dcc.flows = delaycc_count_flows(sk, s->report);
#endif
	if (delaycc_sample(sk, &s->dcc, rs, &ack)) {
		if (unlikely(loss_seen))
			ack.flags |= DCC_ACK_LOSS;
#ifdef DELAYCC_PROBES
		delaycc_probe_sampled(sk, &s->dcc, &s->probe, &ack);
#endif
		answered = DELAYCC_CORE(_ack)(&s->core, &s->dcc.path,
					      &s->params, &ack, &s->control);
		if (answered)
			shell_show(sk, s, ack.rtt_ns);
		s->last_ack_ns = ack.now_ns;
		shell_stop_or_go(sk, s, answered);
	}
	shell_apply(sk, s);
	delaycc_note_sent(sk, &s->dcc, rs);
}

static void __maybe_unused shell_cong_control(struct sock *sk,
					      const struct rate_sample *rs)
{
	shell_main(sk, rs);
}

static void __maybe_unused shell_cong_control_long(struct sock *sk, u32 ack,
						   int flag,
						   const struct rate_sample *rs)
{
	shell_main(sk, rs);
}

static void shell_timeout(struct sock *sk, struct shell_sock *s)
{
	s->loss_seen = false;
	DELAYCC_CORE(_rto)(&s->core, &s->dcc.path, &s->params,
			   tcp_sk(sk)->tcp_clock_cache, &s->control);
	shell_stop_or_go(sk, s, false);
	shell_apply(sk, s);
}

static void shell_set_state(struct sock *sk, u8 new_state)
{
	struct shell_sock *s = shell_sock(sk);
	u8 old_state = inet_csk(sk)->icsk_ca_state;

	if (!s)
		return;
	if (old_state < TCP_CA_CWR) {
		/* Timeouts come as an event; that state also follows a smaller path MTU. */
		if (new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery)
			s->loss_seen = true;
	} else if (old_state != TCP_CA_Loss && new_state == TCP_CA_Loss) {
		struct tcp_sock *tp = tcp_sk(sk);
		u32 cwnd = tcp_snd_cwnd(tp);

		/* In recovery, before its end, they do not.  The window is TCP's already. */
		if (!after(tp->high_seq, tp->snd_una))
			return;
		shell_timeout(sk, s);
		tcp_snd_cwnd_set(tp, cwnd);
	}
}

/*
 * Before anything is sent: has the application paused?  TCP's own event for
 * that does not come while the receiver holds back the ACK of a last packet,
 * and it also comes with retransmissions after a timeout.
 */
static void shell_check_idle(struct sock *sk, struct shell_sock *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	u64 rtt_ns = max(s->dcc.path.base_rtt_ns, s->dcc.rtt_ns);

	if (likely(!tp->app_limited) || tp->packets_out > 1 ||
	    inet_csk(sk)->icsk_ca_state != TCP_CA_Open || !s->last_ack_ns)
		return;
	/* The later one of the last ACK and the last departure. */
	if (now_ns <= max(s->last_ack_ns, tp->tcp_wstamp_ns) +
		      SHELL_IDLE_RTTS * rtt_ns)
		return;
	/* With this, one restart per pause. */
	s->last_ack_ns = now_ns;
	DELAYCC_CORE(_restart)(&s->core, &s->dcc.path, &s->params, now_ns,
			       &s->control);
	shell_stop_or_go(sk, s, false);
	shell_apply(sk, s);
}

/* TCP asks each time that it tries to send new data. */
static u32 shell_min_tso_segs(struct sock *sk)
{
	struct shell_sock *s = shell_sock(sk);

	if (s) {
#ifdef DELAYCC_PROBES
		if (s->probe.stopped) {
			delaycc_probe_gate(sk, &s->dcc, &s->probe);
			return 1;
		}
#endif
		shell_check_idle(sk, s);
#ifdef DELAYCC_PROBES
		/* The pause may be a reason to ask first. */
		delaycc_probe_gate(sk, &s->dcc, &s->probe);
#endif
		delaycc_note_xmit(sk, &s->dcc);
	}
	/* A slow flow sends single packets. */
	return 1;
}

static void shell_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct shell_sock *s = shell_sock(sk);

	/* A timeout, or a receiver that takes back what it had acknowledged. */
	if (s && event == CA_EVENT_LOSS)
		shell_timeout(sk, s);
}

static u32 shell_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

static u32 shell_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static size_t shell_get_info(struct sock *sk, u32 ext, int *attr,
			     union tcp_cc_info *info)
{
	const struct shell_ca *ca = shell_ca(sk);
	u64 rate_bps = READ_ONCE(ca->rate_bps);
	u64 bytes_per_s = rate_bps / BITS_PER_BYTE;

	/* The kernel has no attribute for foreign algorithms; ss prints this one. */
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
#ifdef DELAYCC_SHOWS_FLOWS
	info->bbr.bbr_cwnd_gain = min(READ_ONCE(ca->flows), 1U << 23) << 8;
	if (info->bbr.bbr_cwnd_gain && !READ_ONCE(ca->flows_reported))
		info->bbr.bbr_cwnd_gain += 1 << 7;
#endif
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

/* For sockets that cannot be served.  Not registered: nobody can ask for it. */
static struct tcp_congestion_ops shell_reno __read_mostly = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = DELAYCC_RENO,
};

static void shell_init(struct sock *sk)
{
	struct shell_ca *ca = shell_ca(sk);
	struct shell_sock *s = delaycc_zalloc(sk, sizeof(*s));

	ca->state = NULL;
	if (!s) {
		pr_warn_ratelimited("delaycc: %s: no memory for a socket's state, it uses reno instead\n",
				    DELAYCC_ALG_NAME);
		goto use_reno;
	}
	/* Says in the log what is wrong. */
	if (delaycc_init(sk, &s->dcc, DELAYCC_ALG_NAME))
		goto use_reno;

#ifdef DELAYCC_TIMES_RETRANS
	s->dcc.times_retrans = 1;
#endif
	s->variant = inet_csk(sk)->icsk_ca_ops - shell_ops;
	shell_read_params(sk, s);
	DELAYCC_CORE(_init)(&s->core, &s->dcc.path, &s->params, &s->control);
#ifdef DELAYCC_WANTS_FLOWS
	s->report = delaycc_count_open(sk);
#endif
	ca->flows = 0;
	ca->state = s;
#ifdef DELAYCC_PROBES
	/* Not at an ACK: the clock may have stood still for long. */
	if (s->control.probe_ns)
		delaycc_probe_stop(sk, &s->probe, tcp_clock_ns(),
				   s->control.probe_ns);
#endif
	shell_apply(sk, s);
	return;

use_reno:
	kfree(s);
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &shell_reno);
}

static void shell_release(struct sock *sk)
{
	struct shell_ca *ca = shell_ca(sk);

	if (!ca->state)
		return;
#ifdef DELAYCC_PROBES
	delaycc_probe_release(sk, &ca->state->probe);
#endif
	delaycc_release(sk, &ca->state->dcc);
#ifdef DELAYCC_WANTS_FLOWS
	delaycc_count_close(ca->state->report);
#endif
	kfree(ca->state);
	ca->state = NULL;
}

static const struct tcp_congestion_ops shell_ops_template __initconst = {
	/*
	 * A restricted algorithm can be set in a namespace by nobody but the
	 * host's root, and each such failure leaks a reference to the module.
	 */
	.flags = TCP_CONG_NON_RESTRICTED,
	.owner = THIS_MODULE,
	.init = shell_init,
	.release = shell_release,
	.cong_control = DELAYCC_CONG_CONTROL(shell_cong_control,
					     shell_cong_control_long),
#ifdef DELAYCC_PROBES
	.in_ack_event = shell_in_ack_event,
#endif
	.min_tso_segs = shell_min_tso_segs,
	.set_state = shell_set_state,
	.cwnd_event = shell_cwnd_event,
	.ssthresh = shell_ssthresh,
	.undo_cwnd = shell_undo_cwnd,
	.get_info = shell_get_info,
};

static int __net_init shell_net_init(struct net *net)
{
	struct SHELL_PARAMS defaults;

	DELAYCC_CORE(_params_default)(&defaults);
	return delaycc_sysctl_register(net, "net/ipv4/delaycc/" DELAYCC_ALG_NAME,
				       shell_params, ARRAY_SIZE(shell_params),
				       &defaults,
				       net_generic(net, shell_net_id));
}

static void __net_exit shell_net_exit(struct net *net)
{
	delaycc_sysctl_unregister(net_generic(net, shell_net_id));
}

static struct pernet_operations shell_net_ops = {
	.init = shell_net_init,
	.exit = shell_net_exit,
	.id = &shell_net_id,
	.size = sizeof(struct delaycc_values),
};

static void shell_unregister(void)
{
	while (shell_registered)
		tcp_unregister_congestion_control(&shell_ops[--shell_registered]);
}

static int __init shell_module_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct shell_ca) > ICSK_CA_PRIV_SIZE);

	err = register_pernet_subsys(&shell_net_ops);
	if (err)
		return err;
	while (shell_registered < ARRAY_SIZE(shell_names)) {
		struct tcp_congestion_ops *ops = &shell_ops[shell_registered];

		*ops = shell_ops_template;
		strscpy(ops->name, shell_names[shell_registered],
			TCP_CA_NAME_MAX);
		err = tcp_register_congestion_control(ops);
		if (err)
			goto unregister;
		shell_registered++;
	}
	return 0;

unregister:
	pr_err("delaycc: the algorithm %s cannot be registered: error %d\n",
	       shell_names[shell_registered], err);
	shell_unregister();
	/*
	 * A kernel that gives a failed module's memory back does not look whether
	 * sockets use it; those of the first name may.  1 is this function's own.
	 */
	if (module_refcount(THIS_MODULE) > 1)
		return 0;
	unregister_pernet_subsys(&shell_net_ops);
	return err;
}

static void __exit shell_module_exit(void)
{
	shell_unregister();
	unregister_pernet_subsys(&shell_net_ops);
}

module_init(shell_module_init);
module_exit(shell_module_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * OSCAR: congestion control from the one-way view of a queue that a flow gets
 * from its own delays, and from how fast they change.
 *
 * What it does
 *   In a datacenter the base RTT and the line rate are known.  The delay of a
 *   flow's packets then says how long the queue is; the slope of the delay over
 *   the packets' send times (the gradient) says how much faster than the link's
 *   share all flows together are sending at this moment: a queue that grows by
 *   9 seconds per second is fed at ten times its rate.  A flow that multiplies
 *   its rate by 1 / (1 + gradient) is right after a single round trip, where a
 *   law that sees only the delay has to feel its way.
 *
 *   One number steers a flow: the ratio u of its rate to the line rate.  u = 1
 *   is the start.  Each batch of about half a base RTT of packets gives a mean
 *   delay and a gradient.  With an empty queue u climbs by u_hai; else u comes
 *   from two loops, one that holds the window to target delay (exact, slow) and
 *   one that holds the rate to the gradient (fast), whichever is bolder towards
 *   the target; and u_ai on top keeps flows moving to equal shares.  Window and
 *   pace both follow from u: u base BDPs at most, and u line rates.
 *
 * Where what is
 *   core/dcc_oscar.h	the law, its constants and its differences from the
 *			paper; no kernel in it
 *   core/dcc_batch.h	the estimator
 *   delaycc_sock.c	send times in nanoseconds, packets to bytes on the wire,
 *			pacing, windows below a packet
 *   this file		TCP's hooks, one each
 *
 * What the paper leaves to an implementation
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
 * under the name "oscar-reno", and the log says why.
 *
 * The state does not fit TCP's 104 bytes, so it is an object of its own; what
 * `ss -i` shows is kept in TCP's bytes, because it is read without the lock.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "core/dcc_oscar.h"
#include "delaycc.h"

/*
 * Pauses of this many RTTs are idle time.  Shorter ones are the gaps of a slow
 * flow, or of an application between two requests.
 */
#define OSCAR_IDLE_RTTS 8

enum {
	OSCAR_TARGET_DELAY_NS,
	OSCAR_TAU_NS,
	OSCAR_U_AI_PPM,
	OSCAR_U_HAI_PPM,
	OSCAR_LAW,
	OSCAR_PARAMS,
};

/* The defaults are the core's; filled in when the module loads. */
static struct delaycc_param oscar_params[OSCAR_PARAMS] __ro_after_init = {
	[OSCAR_TARGET_DELAY_NS] = {
		.name = "target_delay_ns", .min = DCC_OSCAR_TARGET_MIN_NS,
		.max = DCC_OSCAR_TARGET_MAX_NS, .zero_ok = true,
	},
	[OSCAR_TAU_NS] = {
		.name = "tau_ns", .min = DCC_OSCAR_TAU_MIN_NS,
		.max = DCC_OSCAR_TAU_MAX_NS, .zero_ok = true,
	},
	[OSCAR_U_AI_PPM] = {
		.name = "u_ai_ppm", .max = DCC_OSCAR_U_AI_MAX_PPM,
		.zero_ok = true,
	},
	[OSCAR_U_HAI_PPM] = {
		.name = "u_hai_ppm", .min = 1, .max = DCC_OSCAR_U_HAI_MAX_PPM,
		.zero_ok = true,
	},
	[OSCAR_LAW] = {
		.name = "law", .max = DCC_OSCAR_LAW_MAX, .zero_ok = true,
	},
};

static unsigned int oscar_net_id __read_mostly;

/* One socket's state, allocated with it. */
struct oscar_sock {
	struct delaycc_sock dcc;
	struct dcc_oscar core;
	struct dcc_oscar_params params;
	struct dcc_verdict verdict;
	u64 last_ack_ns;
	int generation; /* of params */
	bool loss_seen; /* recovery began; the core has not been told */
};

/* In TCP's bytes.  Zero until init(): TCP calls some hooks before it. */
struct oscar_ca {
	struct oscar_sock *state;
	/* For get_info(), which may look while another algorithm moves in. */
	u64 rate_bps;
	u32 base_rtt_ns;
	u32 ratio_q24;
};

static struct oscar_ca *oscar_ca(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static struct oscar_sock *oscar_sock(const struct sock *sk)
{
	return oscar_ca(sk)->state;
}

/* A socket follows its namespace's parameters while it lives. */
static void oscar_read_params(const struct sock *sk, struct oscar_sock *o)
{
	const struct delaycc_values *values = net_generic(sock_net(sk),
							  oscar_net_id);
	int generation = delaycc_generation(values);

	if (likely(generation == o->generation))
		return;
	o->generation = generation;
	o->params.target_delay_ns = delaycc_value(values, OSCAR_TARGET_DELAY_NS);
	o->params.tau_ns = delaycc_value(values, OSCAR_TAU_NS);
	o->params.u_ai_ppm = delaycc_value(values, OSCAR_U_AI_PPM);
	o->params.u_hai_ppm = delaycc_value(values, OSCAR_U_HAI_PPM);
	o->params.law = delaycc_value(values, OSCAR_LAW);
}

static void oscar_apply(struct sock *sk, struct oscar_sock *o)
{
	struct oscar_ca *ca = oscar_ca(sk);

	delaycc_apply(sk, &o->dcc, &o->verdict);
	WRITE_ONCE(ca->rate_bps, o->verdict.pacing_bps);
	WRITE_ONCE(ca->base_rtt_ns, o->dcc.path.base_rtt_ns);
	WRITE_ONCE(ca->ratio_q24, o->core.u_q24);
}

static void oscar_trace(const struct sock *sk, const struct oscar_sock *o,
			const struct dcc_ack *ack)
{
	const struct delaycc_decision decision = {
		.name = "oscar",
		.rtt_ns = ack->rtt_ns,
		.delay_ns = o->core.last.delay_ns,
		.gradient_q16 = o->core.last.gradient_q16,
		.ratio_ppm = dcc_q24_to_ppm(o->core.u_q24),
		.cwnd_q16 = o->verdict.cwnd_q16,
		.pacing_bps = o->verdict.pacing_bps,
		.branch = o->core.last.branch,
	};

	delaycc_trace(sk, &decision);
}

static void oscar_main(struct sock *sk, const struct rate_sample *rs)
{
	struct oscar_sock *o = oscar_sock(sk);
	struct dcc_ack ack;
	bool loss_seen;

	/* TCP shows the handshake's last ACK before init(). */
	if (unlikely(!o))
		return;

	delaycc_path_update(sk, &o->dcc);
	oscar_read_params(sk, o);

	loss_seen = o->loss_seen;
	if (unlikely(loss_seen)) {
		o->loss_seen = false;
		dcc_oscar_loss(&o->core, &o->dcc.path, &o->params,
			       tcp_sk(sk)->tcp_clock_cache, &o->verdict);
	}
	if (delaycc_sample(sk, &o->dcc, rs, &ack)) {
		if (unlikely(loss_seen))
			ack.flags |= DCC_ACK_LOSS;
		if (dcc_oscar_ack(&o->core, &o->dcc.path, &o->params, &ack,
				  &o->verdict) &&
		    delaycc_trace_enabled())
			oscar_trace(sk, o, &ack);
		o->last_ack_ns = ack.now_ns;
	}
	oscar_apply(sk, o);
	delaycc_note_sent(sk, &o->dcc, rs);
}

static void __maybe_unused oscar_cong_control(struct sock *sk,
					      const struct rate_sample *rs)
{
	oscar_main(sk, rs);
}

static void __maybe_unused oscar_cong_control_long(struct sock *sk, u32 ack,
						   int flag,
						   const struct rate_sample *rs)
{
	oscar_main(sk, rs);
}

static void oscar_set_state(struct sock *sk, u8 new_state)
{
	struct oscar_sock *o = oscar_sock(sk);
	u8 old_state = inet_csk(sk)->icsk_ca_state;

	/* Timeouts come as an event; this state also follows a smaller path MTU. */
	if (o && old_state < TCP_CA_CWR &&
	    (new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery))
		o->loss_seen = true;
}

/*
 * Before anything is sent: has the application paused?  TCP's own event for
 * that does not come while the receiver holds back the ACK of a last packet,
 * and it also comes with retransmissions after a timeout.
 */
static void oscar_check_idle(struct sock *sk, struct oscar_sock *o)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	u64 rtt_ns = max(o->dcc.path.base_rtt_ns, o->dcc.rtt_ns);

	if (likely(!tp->app_limited) || tp->packets_out > 1 ||
	    inet_csk(sk)->icsk_ca_state != TCP_CA_Open || !o->last_ack_ns)
		return;
	/* The later one of the last ACK and the last departure. */
	if (now_ns <= max(o->last_ack_ns, tp->tcp_wstamp_ns) +
		      OSCAR_IDLE_RTTS * rtt_ns)
		return;
	/* With this, one restart per pause. */
	o->last_ack_ns = now_ns;
	dcc_oscar_restart(&o->core, &o->dcc.path, &o->params, now_ns,
			  &o->verdict);
	oscar_apply(sk, o);
}

/* TCP asks each time that it tries to send new data. */
static u32 oscar_min_tso_segs(struct sock *sk)
{
	struct oscar_sock *o = oscar_sock(sk);

	if (o) {
		oscar_check_idle(sk, o);
		delaycc_note_xmit(sk, &o->dcc);
	}
	/* A slow flow sends single packets. */
	return 1;
}

static void oscar_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct oscar_sock *o = oscar_sock(sk);

	/* A timeout, or a receiver that takes back what it had acknowledged. */
	if (!o || event != CA_EVENT_LOSS)
		return;
	o->loss_seen = false;
	dcc_oscar_rto(&o->core, &o->dcc.path, &o->params,
		      tcp_sk(sk)->tcp_clock_cache, &o->verdict);
	oscar_apply(sk, o);
}

static u32 oscar_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

static u32 oscar_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static size_t oscar_get_info(struct sock *sk, u32 ext, int *attr,
			     union tcp_cc_info *info)
{
	const struct oscar_ca *ca = oscar_ca(sk);
	u64 bytes_per_s = READ_ONCE(ca->rate_bps) / BITS_PER_BYTE;

	/* The kernel has no attribute for foreign algorithms; ss prints this one. */
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = lower_32_bits(bytes_per_s);
	info->bbr.bbr_bw_hi = upper_32_bits(bytes_per_s);
	info->bbr.bbr_min_rtt = READ_ONCE(ca->base_rtt_ns) / NSEC_PER_USEC;
	/* A gain of 1.0 is 256; rounded up, for ss leaves out a gain of 0. */
	info->bbr.bbr_pacing_gain = DIV_ROUND_UP(READ_ONCE(ca->ratio_q24),
						 1U << (DCC_RATIO_SHIFT - 8));
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

/* For sockets that cannot be served.  Not registered: nobody can ask for it. */
static struct tcp_congestion_ops oscar_reno __read_mostly = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "oscar-reno",
};

static void oscar_init(struct sock *sk)
{
	struct oscar_ca *ca = oscar_ca(sk);
	/* Connections open in softirq. */
	struct oscar_sock *o = kzalloc(sizeof(*o), GFP_ATOMIC | __GFP_NOWARN);

	ca->state = NULL;
	if (!o) {
		net_warn_ratelimited("delaycc: oscar: no memory for a socket's state, it uses reno instead\n");
		goto use_reno;
	}
	/* Says in the log what is wrong. */
	if (delaycc_init(sk, &o->dcc, "oscar"))
		goto use_reno;

	oscar_read_params(sk, o);
	dcc_oscar_init(&o->core, &o->dcc.path, &o->params, &o->verdict);
	ca->state = o;
	oscar_apply(sk, o);
	return;

use_reno:
	kfree(o);
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &oscar_reno);
}

static void oscar_release(struct sock *sk)
{
	struct oscar_ca *ca = oscar_ca(sk);

	if (!ca->state)
		return;
	delaycc_release(sk, &ca->state->dcc);
	kfree(ca->state);
	ca->state = NULL;
}

static struct tcp_congestion_ops oscar_ops __read_mostly = {
	/*
	 * A restricted algorithm can be set in a namespace by nobody but the
	 * host's root, and each such failure leaks a reference to the module.
	 */
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "oscar",
	.owner = THIS_MODULE,
	.init = oscar_init,
	.release = oscar_release,
	.cong_control = DELAYCC_CONG_CONTROL(oscar_cong_control,
					     oscar_cong_control_long),
	.min_tso_segs = oscar_min_tso_segs,
	.set_state = oscar_set_state,
	.cwnd_event = oscar_cwnd_event,
	.ssthresh = oscar_ssthresh,
	.undo_cwnd = oscar_undo_cwnd,
	.get_info = oscar_get_info,
};

static int __net_init oscar_net_init(struct net *net)
{
	return delaycc_sysctl_register(net, "net/ipv4/delaycc/oscar",
				       oscar_params, OSCAR_PARAMS,
				       net_generic(net, oscar_net_id));
}

static void __net_exit oscar_net_exit(struct net *net)
{
	delaycc_sysctl_unregister(net_generic(net, oscar_net_id));
}

static struct pernet_operations oscar_net_ops = {
	.init = oscar_net_init,
	.exit = oscar_net_exit,
	.id = &oscar_net_id,
	.size = sizeof(struct delaycc_values),
};

static int __init oscar_module_init(void)
{
	struct dcc_oscar_params params;
	int err;

	BUILD_BUG_ON(sizeof(struct oscar_ca) > ICSK_CA_PRIV_SIZE);

	dcc_oscar_params_default(&params);
	oscar_params[OSCAR_TARGET_DELAY_NS].def = params.target_delay_ns;
	oscar_params[OSCAR_TAU_NS].def = params.tau_ns;
	oscar_params[OSCAR_U_AI_PPM].def = params.u_ai_ppm;
	oscar_params[OSCAR_U_HAI_PPM].def = params.u_hai_ppm;
	oscar_params[OSCAR_LAW].def = params.law;

	err = register_pernet_subsys(&oscar_net_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&oscar_ops);
	if (err)
		unregister_pernet_subsys(&oscar_net_ops);
	return err;
}

static void __exit oscar_module_exit(void)
{
	tcp_unregister_congestion_control(&oscar_ops);
	unregister_pernet_subsys(&oscar_net_ops);
}

module_init(oscar_module_init);
module_exit(oscar_module_exit);

MODULE_AUTHOR("The delaycc authors");
MODULE_DESCRIPTION("OSCAR congestion control");
MODULE_LICENSE("GPL");

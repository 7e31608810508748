// SPDX-License-Identifier: GPL-2.0
/*
 * Reno that also asks for the receiver's count of flows and shows each ACK's N
 * by the tracepoint delaycc:ack.  For tests of delaycc_count.ko alone.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "glue/delaycc.h"
#include "count/delaycc_count.h"

struct counted_ca {
	struct delaycc_report *reported;
};

static struct counted_ca *counted_ca(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static void counted_init(struct sock *sk)
{
	counted_ca(sk)->reported = delaycc_count_open(sk);
}

static void counted_release(struct sock *sk)
{
	delaycc_count_close(counted_ca(sk)->reported);
	counted_ca(sk)->reported = NULL;
}

static void counted_in_ack_event(struct sock *sk, u32 flags)
{
	struct delaycc_decision decision = { .name = "counted" };

	/* TCP shows the handshake's last ACK before init(). */
	if (!counted_ca(sk)->reported)
		return;
	decision.flows = delaycc_count_flows(sk, counted_ca(sk)->reported);
	decision.flows_reported = decision.flows;
	delaycc_trace(sk, &decision);
}

static struct tcp_congestion_ops counted_ops __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "counted",
	.owner = THIS_MODULE,
	.init = counted_init,
	.release = counted_release,
	.in_ack_event = counted_in_ack_event,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init counted_module_init(void)
{
	return tcp_register_congestion_control(&counted_ops);
}

static void __exit counted_module_exit(void)
{
	tcp_unregister_congestion_control(&counted_ops);
}

module_init(counted_module_init);
module_exit(counted_module_exit);

MODULE_DESCRIPTION("A test's reader of the receiver's count of flows");
MODULE_LICENSE("GPL");

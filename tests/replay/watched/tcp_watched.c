// SPDX-License-Identifier: GPL-2.0
/*
 * Records the calls of another algorithm's hooks, as struct watched_record.
 *
 * A write of anything to /proc/tcp_watched chooses the algorithm that is the
 * default of the writer's network namespace, a module of delaycc's, a BPF
 * program, bbr or cubic; it has to stay the default.  The next socket that takes
 * the algorithm "watched" runs that one, and is recorded; a read gives the records.
 * Another write waits until no socket runs the one before, and forgets them.
 * /proc/tcp_watched_cycles has a line of text for each hook: its name, the number
 * of calls, and mean and median of a call's cycles.  Interrupts fall into some of
 * the calls; not of .cong_control, as nothing waits in that.
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/timex.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <net/tcp.h>

#include "glue/delaycc.h"
#include "watched.h"

#define WATCHED_MAX 65536
#define WATCHED_WAIT (60 * HZ)

static const struct tcp_congestion_ops *watched_inner;
static bool watched_is_kernels; /* bbr or cubic */
static const struct sock *watched_sk; /* that is recorded */
static atomic_t watched_sockets = ATOMIC_INIT(0); /* that run watched_inner */
static DECLARE_WAIT_QUEUE_HEAD(watched_free);
static struct watched_record *watched_records;
static unsigned int watched_n;
static struct watched_record watched_dropped;
static u64 watched_empty_cycles; /* of a call that does nothing */

static_assert(sizeof(struct watched_record) == 256);

/* A module's state; NULL: a BPF program, which has its own elsewhere, or the kernel's algorithm. */
static const struct delaycc_sock *watched_state(const struct sock *sk)
{
	if (watched_is_kernels)
		return NULL;
	/* The state begins with it, and TCP's bytes with a pointer to the state. */
	return *(void **)inet_csk_ca(sk);
}

/* As delaycc_sock.c looks a note up. */
static u64 watched_noted_ns(const struct delaycc_sock *ds, u32 end_seq)
{
	int i;

	for (i = ds ? ds->sent_n - 1 : -1; i >= 0; i--) {
		const struct delaycc_sent *sent = &ds->sent[i];

		if (before(sent->start_seq, end_seq))
			return after(end_seq, sent->end_seq) ? 0 : sent->sent_ns;
	}
	return 0;
}

static void watched_sample(struct watched_record *r, const struct sock *sk,
			   const struct rate_sample *rs)
{
	r->noted_ns = watched_noted_ns(watched_state(sk), rs->last_end_seq);
	r->acked_sacked = rs->acked_sacked;
	r->prior_delivered = rs->prior_delivered;
	r->last_end_seq = rs->last_end_seq;
	r->rtt_us = rs->rtt_us;
	r->sampled = !!rs->prior_mstamp;
	r->is_retrans = rs->is_retrans;
	r->is_app_limited = rs->is_app_limited;
	r->is_ack_delayed = rs->is_ack_delayed;
}

static struct watched_record *watched_begin(const struct sock *sk, u32 call,
					    u32 argument,
					    const struct rate_sample *rs)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct watched_record *r = &watched_dropped;

	if (sk == watched_sk && watched_n < WATCHED_MAX)
		r = &watched_records[watched_n++];
	memset(r, 0, sizeof(*r));
	r->call = call;
	r->argument = argument;
	r->tcp_clock_cache = tp->tcp_clock_cache;
	r->tcp_mstamp = tp->tcp_mstamp;
	r->tcp_wstamp_ns = tp->tcp_wstamp_ns;
	r->bytes_acked = tp->bytes_acked;
	r->sk_pacing_rate = sk->sk_pacing_rate;
	r->sk_max_pacing_rate = sk->sk_max_pacing_rate;
	r->rack_mstamp = tp->rack.mstamp;
	r->rack_rtt_us = tp->rack.rtt_us;
	r->snd_nxt = tp->snd_nxt;
	r->snd_una = tp->snd_una;
	r->write_seq = tp->write_seq;
	r->high_seq = tp->high_seq;
	r->delivered = tp->delivered;
	r->packets_out = tp->packets_out;
	r->sacked_out = tp->sacked_out;
	r->total_retrans = tp->total_retrans;
	r->data_segs_in = tp->data_segs_in;
	r->srtt_us = tp->srtt_us;
	r->min_rtt_us = tcp_min_rtt(tp);
	r->mss_cache = tp->mss_cache;
	r->snd_cwnd = tcp_snd_cwnd(tp);
	r->snd_cwnd_clamp = tp->snd_cwnd_clamp;
	r->sk_gso_max_segs = sk->sk_gso_max_segs;
	r->sk_priority = sk->sk_priority;
	r->app_limited = tp->app_limited;
	r->net_header_len = icsk->icsk_af_ops->net_header_len;
	r->icsk_ext_hdr_len = icsk->icsk_ext_hdr_len;
	r->tcp_header_len = tp->tcp_header_len;
	r->icsk_ca_state = icsk->icsk_ca_state;
	r->chrono_type = tp->chrono_type;
	if (rs)
		watched_sample(r, sk, rs);
	r->cycles = get_cycles();
	return r;
}

static void watched_end(const struct sock *sk, struct watched_record *r,
			u32 result)
{
	const struct delaycc_sock *ds = watched_state(sk);

	r->cycles = get_cycles() - r->cycles;
	r->result = result;
	/* A module sets it, in the call. */
	r->sk_gso_max_segs = sk->sk_gso_max_segs;
	r->rate = sk->sk_pacing_rate;
	r->cwnd = tcp_snd_cwnd(tcp_sk(sk));
	if (!ds || r->call == WATCHED_RELEASE)
		return;
	r->flows = ds->flows;
	r->rtt_ns = ds->tcp.sampler.rtt_ns;
	r->base_rtt_ns = ds->tcp.model.path.base_rtt_ns;
}

static struct tcp_congestion_ops watched_ops, watched_avoid_ops;

static void watched_init(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct watched_record *r;

	if (!watched_sk)
		watched_sk = sk;
	r = watched_begin(sk, WATCHED_INIT, 0, NULL);
	/* A module finds its variant by these. */
	WRITE_ONCE(icsk->icsk_ca_ops, watched_inner);
	watched_inner->init(sk);
	if (icsk->icsk_ca_ops == watched_inner) {
		WRITE_ONCE(icsk->icsk_ca_ops,
			   watched_inner->cong_control ? &watched_ops : &watched_avoid_ops);
		atomic_inc(&watched_sockets);
	}
	watched_end(sk, r, 0);
}

static void watched_release(struct sock *sk)
{
	struct watched_record *r = watched_begin(sk, WATCHED_RELEASE, 0, NULL);

	if (watched_inner->release)
		watched_inner->release(sk);
	watched_end(sk, r, 0);
	if (watched_sk == sk)
		watched_sk = ERR_PTR(-ENOENT);
	if (atomic_dec_and_test(&watched_sockets))
		wake_up(&watched_free);
}

static u32 watched_min_tso_segs(struct sock *sk)
{
	struct watched_record *r = watched_begin(sk, WATCHED_MIN_TSO_SEGS, 0, NULL);
	u32 result = watched_inner->min_tso_segs(sk);

	watched_end(sk, r, result);
	return result;
}

static void __maybe_unused watched_cong_control(struct sock *sk,
						const struct rate_sample *rs)
{
	struct watched_record *r;
	unsigned long irqs;

	/* The ACK of a SYN comes before init(), which cubic needs to have other hooks. */
	if (!watched_inner->cong_control)
		return;
	local_irq_save(irqs);
	r = watched_begin(sk, WATCHED_CONG_CONTROL, 0, rs);

	((delaycc_cong_control2)(void *)watched_inner->cong_control)(sk, rs);
	watched_end(sk, r, 0);
	local_irq_restore(irqs);
}

static void __maybe_unused watched_cong_control_long(struct sock *sk, u32 ack,
						     int flag,
						     const struct rate_sample *rs)
{
	struct watched_record *r;
	unsigned long irqs;

	/* The ACK of a SYN comes before init(), which cubic needs to have other hooks. */
	if (!watched_inner->cong_control)
		return;
	local_irq_save(irqs);
	r = watched_begin(sk, WATCHED_CONG_CONTROL, 0, rs);

	((void (*)(struct sock *, u32, int,
		   const struct rate_sample *))(void *)watched_inner->cong_control)
		(sk, ack, flag, rs);
	watched_end(sk, r, 0);
	local_irq_restore(irqs);
}

static void watched_set_state(struct sock *sk, u8 state)
{
	struct watched_record *r = watched_begin(sk, WATCHED_SET_STATE, state, NULL);

	watched_inner->set_state(sk, state);
	watched_end(sk, r, 0);
}

static void watched_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct watched_record *r = watched_begin(sk, WATCHED_CWND_EVENT, event, NULL);

	watched_inner->cwnd_event(sk, event);
	watched_end(sk, r, 0);
}

static void watched_in_ack_event(struct sock *sk, u32 flags)
{
	struct watched_record *r;

	if (!watched_inner->in_ack_event)
		return;
	r = watched_begin(sk, WATCHED_IN_ACK_EVENT, flags, NULL);
	watched_inner->in_ack_event(sk, flags);
	watched_end(sk, r, 0);
}

static u32 watched_ssthresh(struct sock *sk)
{
	struct watched_record *r = watched_begin(sk, WATCHED_SSTHRESH, 0, NULL);
	u32 result = watched_inner->ssthresh(sk);

	watched_end(sk, r, result);
	return result;
}

static u32 watched_undo_cwnd(struct sock *sk)
{
	struct watched_record *r = watched_begin(sk, WATCHED_UNDO_CWND, 0, NULL);
	u32 result = watched_inner->undo_cwnd(sk);

	watched_end(sk, r, result);
	return result;
}

static void watched_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct watched_record *r;
	unsigned long irqs;

	local_irq_save(irqs);
	r = watched_begin(sk, WATCHED_CONG_AVOID, acked, NULL);
	watched_inner->cong_avoid(sk, ack, acked);
	watched_end(sk, r, 0);
	local_irq_restore(irqs);
}

static void watched_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct watched_record *r;
	unsigned long irqs;

	local_irq_save(irqs);
	r = watched_begin(sk, WATCHED_PKTS_ACKED, sample->pkts_acked, NULL);
	watched_inner->pkts_acked(sk, sample);
	watched_end(sk, r, 0);
	local_irq_restore(irqs);
}

/* Of cubic, which has no .cong_control: to be registered, an algorithm needs one of the two. */
static struct tcp_congestion_ops watched_avoid_ops = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "watched_avoid",
	.owner = THIS_MODULE,
	.release = watched_release,
	.cong_avoid = watched_cong_avoid,
	.pkts_acked = watched_pkts_acked,
	.set_state = watched_set_state,
	.cwnd_event = watched_cwnd_event,
	.ssthresh = watched_ssthresh,
	.undo_cwnd = watched_undo_cwnd,
};

static struct tcp_congestion_ops watched_ops = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "watched",
	.owner = THIS_MODULE,
	.init = watched_init,
	.release = watched_release,
	.cong_control = DELAYCC_CONG_CONTROL(watched_cong_control,
					     watched_cong_control_long),
	.min_tso_segs = watched_min_tso_segs,
	.set_state = watched_set_state,
	.cwnd_event = watched_cwnd_event,
	.in_ack_event = watched_in_ack_event,
	.ssthresh = watched_ssthresh,
	.undo_cwnd = watched_undo_cwnd,
};

static ssize_t watched_write(struct file *file, const char __user *from,
			     size_t size, loff_t *at)
{
	const struct tcp_congestion_ops *ops =
		current->nsproxy->net_ns->ipv4.tcp_congestion_control;

	if (ops == &watched_ops || ops == &watched_avoid_ops || !ops->init || !ops->set_state ||
	    !ops->cwnd_event || !ops->undo_cwnd ||
	    (ops->cong_control ? !ops->min_tso_segs : !ops->pkts_acked))
		return -EINVAL;
	/* A connection that is being closed still gets ACKs. */
	if (wait_event_interruptible_timeout(watched_free, !atomic_read(&watched_sockets),
					     WATCHED_WAIT) <= 0)
		return -EBUSY;
	watched_inner = ops;
	watched_is_kernels = !strcmp(ops->name, "bbr") || !strcmp(ops->name, "cubic");
	watched_sk = NULL;
	watched_n = 0;
	return size;
}

static ssize_t watched_read(struct file *file, char __user *to, size_t size,
			    loff_t *at)
{
	return simple_read_from_buffer(to, size, at, watched_records,
				       watched_n * sizeof(*watched_records));
}

static const struct proc_ops watched_proc_ops = {
	.proc_read = watched_read,
	.proc_write = watched_write,
	.proc_lseek = default_llseek,
};

static int watched_compare(const void *left, const void *right)
{
	u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return a < b ? -1 : a > b;
}

static int watched_show_cycles(struct seq_file *m, void *unused)
{
	static const char * const names[] = {
		[WATCHED_INIT] = "init",
		[WATCHED_RELEASE] = "release",
		[WATCHED_MIN_TSO_SEGS] = "min_tso_segs",
		[WATCHED_CONG_CONTROL] = "cong_control",
		[WATCHED_SET_STATE] = "set_state",
		[WATCHED_CWND_EVENT] = "cwnd_event",
		[WATCHED_SSTHRESH] = "ssthresh",
		[WATCHED_UNDO_CWND] = "undo_cwnd",
		[WATCHED_IN_ACK_EVENT] = "in_ack_event",
		[WATCHED_CONG_AVOID] = "cong_avoid",
		[WATCHED_PKTS_ACKED] = "pkts_acked",
	};
	unsigned int call, i, n;
	u64 *cycles, sum;

	cycles = kvmalloc_array(watched_n + 1, sizeof(*cycles), GFP_KERNEL);
	if (!cycles)
		return -ENOMEM;
	for (call = WATCHED_INIT; call < ARRAY_SIZE(names); call++) {
		n = 0;
		sum = 0;
		for (i = 0; i < watched_n; i++) {
			if (watched_records[i].call != call)
				continue;
			cycles[n++] = watched_records[i].cycles - watched_empty_cycles;
			sum += cycles[n - 1];
		}
		if (!n)
			continue;
		sort(cycles, n, sizeof(*cycles), watched_compare, NULL);
		seq_printf(m, "%s %u %llu %llu\n", names[call], n, div_u64(sum, n),
			   cycles[n / 2]);
	}
	kvfree(cycles);
	return 0;
}

static int __init watched_module_init(void)
{
	u64 begin = get_cycles();
	int err;

	watched_empty_cycles = get_cycles() - begin;
	watched_records = vzalloc(WATCHED_MAX * sizeof(*watched_records));
	if (!watched_records)
		return -ENOMEM;
	err = -ENOMEM;
	if (!proc_create("tcp_watched", 0600, NULL, &watched_proc_ops))
		goto no_file;
	if (!proc_create_single("tcp_watched_cycles", 0400, NULL, watched_show_cycles))
		goto no_text;
	err = tcp_register_congestion_control(&watched_ops);
	if (err)
		goto no_algorithm;
	err = tcp_register_congestion_control(&watched_avoid_ops);
	if (err)
		goto no_avoid;
	return 0;

no_avoid:
	tcp_unregister_congestion_control(&watched_ops);
no_algorithm:
	remove_proc_entry("tcp_watched_cycles", NULL);
no_text:
	remove_proc_entry("tcp_watched", NULL);
no_file:
	vfree(watched_records);
	return err;
}

static void __exit watched_module_exit(void)
{
	tcp_unregister_congestion_control(&watched_avoid_ops);
	tcp_unregister_congestion_control(&watched_ops);
	remove_proc_entry("tcp_watched_cycles", NULL);
	remove_proc_entry("tcp_watched", NULL);
	vfree(watched_records);
}

module_init(watched_module_init);
module_exit(watched_module_exit);

MODULE_DESCRIPTION("A test's record of another algorithm's hooks");
MODULE_LICENSE("GPL");

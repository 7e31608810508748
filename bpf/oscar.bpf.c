// SPDX-License-Identifier: GPL-2.0
/*
 * OSCAR under BPF: the core of kernel/core/dcc_oscar.h as a struct_ops
 * program, for machines where no module may be loaded.
 *
 * What differs from the module
 *   - Parameters and path are the loader's, for all sockets alike, instead of
 *     sysctls and routes; a base RTT of 0 means the smallest that was measured.
 *   - tcp_wstamp_ns and sk_gso_max_segs are not writable: a window below one
 *     packet is one packet at a pace below one per RTT, and segmentation offload
 *     is as the device has it, so the law sees bursts.
 *   - Send times: .min_tso_segs runs whenever TCP tries to send and notes what
 *     sequence number is next and when.  An acknowledged packet was sent at the
 *     time of the newest note that does not lie behind it.
 *
 * The state is a few hundred bytes: it lives in socket storage, not in the
 * 104 bytes of icsk_ca_priv.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * The core, in pieces.  Inlined as a whole, its paths multiply to more than a
 * million instructions for the verifier.  So what has many paths becomes a global
 * function, which is verified once, for any arguments; in return it must check
 * its pointers.
 */
#define OSCAR_STEP __attribute__((noinline))
#define inline inline __attribute__((always_inline))

struct dcc_oscar;
struct dcc_estimate;
struct dcc_ack;
struct dcc_path;
struct dcc_oscar_params;
int step_dcc_oscar_derive(struct dcc_oscar *s, const struct dcc_path *path,
			  const struct dcc_oscar_params *p);
int step_dcc_oscar_pulse_step(struct dcc_oscar *s, const struct dcc_ack *ack);
int step_dcc_oscar_measure_drop(struct dcc_oscar *s, const struct dcc_ack *ack);
int step_dcc_oscar_track_fall(struct dcc_oscar *s, const struct dcc_ack *ack);
int step_dcc_oscar_decide(struct dcc_oscar *s, const struct dcc_estimate *e,
			   const struct dcc_ack *ack);
#define DCC_STEP(function) step_##function

#include "dcc_math.h"

OSCAR_STEP u64 step_muldiv(u64 a, u64 b, u64 d)
{
	return dcc_muldiv_u64(a, b, d);
}

#define dcc_muldiv_u64 step_muldiv

#include "dcc_batch.h"

OSCAR_STEP int step_batch_add(struct dcc_batch *b, const struct dcc_ack *ack)
{
	return b && ack && dcc_batch_add(b, ack);
}

OSCAR_STEP int step_batch_close(struct dcc_batch *b, struct dcc_estimate *e)
{
	if (b && e)
		dcc_batch_close(b, e);
	return 0;
}

OSCAR_STEP int step_batch_init(struct dcc_batch *b, u32 tau_ns, u64 gap_ns)
{
	if (b)
		dcc_batch_init(b, tau_ns, gap_ns);
	return 0;
}

#define dcc_batch_init step_batch_init
#define dcc_batch_add step_batch_add
#define dcc_batch_close step_batch_close

#include "dcc_oscar.h"

OSCAR_STEP int step_dcc_oscar_derive(struct dcc_oscar *s, const struct dcc_path *path,
				     const struct dcc_oscar_params *p)
{
	if (s && path && p)
		dcc_oscar_derive(s, path, p);
	return 0;
}

OSCAR_STEP int step_dcc_oscar_pulse_step(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	return s && ack && dcc_oscar_pulse_step(s, ack);
}

OSCAR_STEP int step_dcc_oscar_measure_drop(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_oscar_measure_drop(s, ack);
	return 0;
}

OSCAR_STEP int step_dcc_oscar_track_fall(struct dcc_oscar *s, const struct dcc_ack *ack)
{
	if (s && ack)
		dcc_oscar_track_fall(s, ack);
	return 0;
}

OSCAR_STEP int step_dcc_oscar_decide(struct dcc_oscar *s, const struct dcc_estimate *e,
				      const struct dcc_ack *ack)
{
	if (s && e && ack)
		dcc_oscar_decide(s, e, ack);
	return 0;
}

#undef inline

char LICENSE[] SEC("license") = "GPL";

/* From kernel headers that vmlinux.h cannot carry. */
#define DCC_TCP_CONG_NON_RESTRICTED 1
#define DCC_NS_PER_US 1000ULL

/* Notes of send times; a power of two. */
#define OSCAR_NOTES 64
/* Notes passed at one ACK, at most; those left are passed at the next. */
#define OSCAR_NOTES_AT_ONCE 16

/* A pause of this many RTTs is idle time, as in the module. */
#define OSCAR_IDLE_RTTS 8

/* ---- set by the loader before the program is loaded --------------------- */

/* cong_control(sk, ack, flag, rs) instead of (sk, rs): kernel 6.10 and later. */
const volatile bool oscar_cong_control_is_long = true;
const volatile __u64 oscar_line_rate_bps = 10000000000ULL;
/* 0: the smallest RTT of each socket. */
const volatile __u32 oscar_base_rtt_ns = 0;
/* Bytes on the wire around an IP packet: Ethernet header, FCS, preamble, gap. */
const volatile __u32 oscar_link_overhead_bytes = 38;
const volatile __u32 oscar_target_delay_ns = 0;
const volatile __u32 oscar_tau_ns = 0;
const volatile __u32 oscar_u_ai_ppm = DCC_OSCAR_U_AI_PPM;
const volatile __u32 oscar_u_hai_ppm = 0;
const volatile __u32 oscar_law = DCC_OSCAR_LAW_PULSE;

/* ---- read by the loader while it runs ------------------------------------ */

__u64 oscar_sockets;   /* served */
__u64 oscar_acks;      /* seen by the core */
__u64 oscar_notes_hit; /* of these, with a send time in nanoseconds */
__u64 oscar_decisions;
__u64 oscar_losses;
__u64 oscar_timeouts;

struct oscar_note {
	u64 sent_ns;
	u32 seq; /* what was sent from here on */
	u32 reserved;
};

struct oscar_sock {
	struct dcc_oscar core;
	struct dcc_path path;
	struct dcc_oscar_params params;
	struct dcc_verdict verdict;
	u64 bytes_acked;
	u64 last_ack_ns;
	u32 rtt_ns;	    /* newest */
	u32 mss;
	u32 header_bytes;
	u32 total_retrans;
	u32 retrans_seq;    /* RTTs up to here are ambiguous */
	u32 head;	    /* notes written */
	u32 tail;	    /* notes passed by ACKs */
	u8 base_measured;
	u8 loss_seen;
	struct oscar_note notes[OSCAR_NOTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct oscar_sock);
} oscar_sockets_map SEC(".maps");

static __always_inline bool seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static __always_inline struct oscar_sock *oscar_state(struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&oscar_sockets_map, sk, 0, flags);
}

/* A packet on the wire, from what TCP puts into it. */
static __always_inline void oscar_read_path(struct tcp_sock *tp, struct oscar_sock *o)
{
	u32 mss = tp->mss_cache;

	if (mss == o->mss)
		return;
	o->mss = mss;
	/* The IP header is 20 or 40 bytes; the socket's family says which. */
	o->header_bytes = tp->tcp_header_len + oscar_link_overhead_bytes +
			  (tp->inet_conn.icsk_inet.sk.__sk_common.skc_family == 10 ? 40 : 20);
	o->path.wire_bytes = dcc_clamp_u32(mss + o->header_bytes, DCC_PATH_WIRE_MIN_BYTES,
					   DCC_PATH_WIRE_MAX_BYTES);
}

/* Window and pace as the verdict says. */
static __always_inline void oscar_apply(struct tcp_sock *tp, struct oscar_sock *o)
{
	struct sock *sk = (struct sock *)tp;
	u64 cwnd_q16 = o->verdict.cwnd_q16;
	u64 pacing_bps = o->verdict.pacing_bps;
	u64 cwnd = (cwnd_q16 + DCC_WINDOW_ONE - 1) >> DCC_WINDOW_SHIFT;
	u64 payload_rate;

	if (cwnd_q16 < DCC_WINDOW_ONE && o->rtt_ns) {
		/* The window in bits, once in an RTT. */
		u64 bits_q16 = cwnd_q16 * o->path.wire_bytes * 8;

		pacing_bps = dcc_min_u64(pacing_bps,
					 dcc_muldiv_u64(bits_q16, 1000000000,
							(u64)o->rtt_ns << DCC_WINDOW_SHIFT));
	}
	tp->snd_cwnd = (u32)dcc_clamp_u64(cwnd, 1, 1U << 24);

	/* The stack paces payload. */
	payload_rate = dcc_muldiv_u64(pacing_bps / 8, o->mss, o->path.wire_bytes);
	sk->sk_pacing_rate = dcc_max_u64(payload_rate, 1000);
}

SEC("struct_ops/oscar_init")
void BPF_PROG(oscar_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct oscar_sock *o = oscar_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	u64 srtt_ns;

	if (!o)
		return; /* no memory: every other hook leaves the socket alone */

	o->params.target_delay_ns = oscar_target_delay_ns;
	o->params.tau_ns = oscar_tau_ns;
	o->params.u_ai_ppm = oscar_u_ai_ppm;
	o->params.u_hai_ppm = oscar_u_hai_ppm;
	o->params.law = oscar_law;

	/* The handshake's RTT serves until the first packet's. */
	srtt_ns = (u64)(tp->srtt_us >> 3) * DCC_NS_PER_US;
	o->path.line_rate_bps = oscar_line_rate_bps;
	o->path.base_rtt_ns = oscar_base_rtt_ns ? oscar_base_rtt_ns :
						  (u32)dcc_clamp_u64(srtt_ns, DCC_PATH_RTT_MIN_NS,
								     DCC_PATH_RTT_MAX_NS);
	o->base_measured = 0;
	o->rtt_ns = o->path.base_rtt_ns;
	o->mss = 0;
	oscar_read_path(tp, o);
	o->bytes_acked = tp->bytes_acked;
	o->total_retrans = tp->total_retrans;
	o->retrans_seq = tp->snd_nxt;
	o->head = 0;
	o->tail = 0;
	o->loss_seen = 0;
	o->last_ack_ns = 0;

	dcc_oscar_init(&o->core, &o->path, &o->params, &o->verdict);
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	oscar_apply(tp, o);
	__sync_fetch_and_add(&oscar_sockets, 1);
}

/* TCP is about to send from snd_nxt on. */
SEC("struct_ops/oscar_min_tso_segs")
__u32 BPF_PROG(oscar_min_tso_segs, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct oscar_sock *o = oscar_state(sk, 0);
	struct oscar_note *note;

	if (!o)
		return 1;
	/* Asked again before anything left: the time is now. */
	note = &o->notes[(o->head - 1) & (OSCAR_NOTES - 1)];
	if (o->head == o->tail || note->seq != tp->snd_nxt) {
		if (o->head - o->tail >= OSCAR_NOTES)
			o->tail = o->head - OSCAR_NOTES + 1;
		note = &o->notes[o->head & (OSCAR_NOTES - 1)];
		o->head++;
	}
	note->seq = tp->snd_nxt;
	note->sent_ns = dcc_max_u64(tp->tcp_clock_cache, tp->tcp_wstamp_ns);
	return 1;
}

/* When the packet that ends at end_seq was sent, by the notes; 0: they do not say. */
static __always_inline u64 oscar_noted_ns(struct oscar_sock *o, u32 end_seq)
{
	u32 i;

	/* Past every note that has a younger one which still lies before end_seq. */
	for (i = 0; i < OSCAR_NOTES_AT_ONCE; i++) {
		if (o->tail + 1 == o->head || o->tail == o->head)
			break;
		if (!seq_before(o->notes[(o->tail + 1) & (OSCAR_NOTES - 1)].seq, end_seq))
			break;
		o->tail++;
	}
	if (o->tail == o->head || !seq_before(o->notes[o->tail & (OSCAR_NOTES - 1)].seq, end_seq))
		return 0;
	return o->notes[o->tail & (OSCAR_NOTES - 1)].sent_ns;
}

/* When the newest acknowledged packet was sent; 0: cannot be said. */
static __always_inline u64 oscar_sent_ns(struct tcp_sock *tp, struct oscar_sock *o,
					 const struct rate_sample *rs)
{
	u64 now_ns = tp->tcp_clock_cache;
	u64 noted_ns = oscar_noted_ns(o, rs->last_end_seq);
	u64 rtt_ns, sent_ns;

	if (tp->total_retrans != o->total_retrans) {
		o->total_retrans = tp->total_retrans;
		o->retrans_seq = tp->snd_nxt;
	}
	if (rs->rtt_us < 0 || rs->is_retrans)
		return 0;
	rtt_ns = (u64)rs->rtt_us * DCC_NS_PER_US;
	/* Right if it agrees with the kernel's own RTT, which obeys Karn's rule. */
	if (noted_ns && now_ns - noted_ns + DCC_NS_PER_US > rtt_ns &&
	    now_ns - noted_ns < rtt_ns + DCC_NS_PER_US) {
		__sync_fetch_and_add(&oscar_notes_hit, 1);
		return noted_ns;
	}
	/* After a retransmission a whole millisecond is a timestamp's. */
	if (!seq_before(o->retrans_seq, rs->last_end_seq) &&
	    (u64)rs->rtt_us % 1000 == 0)
		return 0;
	sent_ns = now_ns - rtt_ns - DCC_NS_PER_US / 2;
	return sent_ns < now_ns ? sent_ns : now_ns - 1;
}

static __always_inline void oscar_measure_base(struct oscar_sock *o)
{
	u32 rtt_ns = dcc_clamp_u32(o->rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);

	if (oscar_base_rtt_ns)
		return;
	if (!o->base_measured || rtt_ns < o->path.base_rtt_ns)
		o->path.base_rtt_ns = rtt_ns;
	o->base_measured = 1;
}

/* The kernel's acknowledgment as the core wants it. */
static __always_inline void oscar_sample(struct tcp_sock *tp, struct oscar_sock *o,
					 const struct rate_sample *rs, struct dcc_ack *ack)
{
	u64 sent_ns = oscar_sent_ns(tp, o, rs);
	u64 payload = tp->bytes_acked - o->bytes_acked;
	u32 packets = tp->delivered - rs->prior_delivered;

	o->bytes_acked = tp->bytes_acked;
	ack->now_ns = tp->tcp_clock_cache;
	ack->send_ns = sent_ns;
	ack->flags = 0;
	ack->flows = 0;
	ack->rtt_ns = 0;
	/* Selectively acknowledged bytes are not in bytes_acked. */
	if (tp->sacked_out)
		payload = (u64)rs->acked_sacked * o->mss;
	ack->acked_bytes = dcc_sat_u32(payload + (u64)rs->acked_sacked * o->header_bytes);
	ack->inflight_bytes = dcc_sat_u32((u64)packets * o->path.wire_bytes);
	if (rs->is_app_limited)
		ack->flags |= DCC_ACK_APP_LIMITED;
	if (rs->is_ack_delayed)
		ack->flags |= DCC_ACK_DELAYED;
	if (!sent_ns || rs->delivered < 0) {
		ack->flags |= DCC_ACK_NO_RTT;
		return;
	}
	ack->rtt_ns = dcc_sat_u32(ack->now_ns - sent_ns);
	if (rs->is_ack_delayed)
		return;
	o->rtt_ns = ack->rtt_ns;
	oscar_measure_base(o);
}

/*
 * The raw context: cong_control has another number of arguments from kernel 6.10
 * on, and the branch not taken is never looked at by the verifier.
 */
SEC("struct_ops/oscar_cong_control")
void oscar_cong_control(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	const struct rate_sample *rs;
	struct oscar_sock *o;
	struct dcc_ack ack;

	/* Assembly, or clang adds the offset to ctx, which the verifier forbids. */
	if (oscar_cong_control_is_long)
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));

	/* TCP shows the handshake's last ACK before init(). */
	o = oscar_state(sk, 0);
	if (!o)
		return;

	oscar_read_path(tp, o);
	if (o->loss_seen) {
		o->loss_seen = 0;
		dcc_oscar_loss(&o->core, &o->path, &o->params, tp->tcp_clock_cache, &o->verdict);
		__sync_fetch_and_add(&oscar_losses, 1);
	}
	oscar_sample(tp, o, rs, &ack);
	if (dcc_oscar_ack(&o->core, &o->path, &o->params, &ack, &o->verdict))
		__sync_fetch_and_add(&oscar_decisions, 1);
	o->last_ack_ns = ack.now_ns;
	__sync_fetch_and_add(&oscar_acks, 1);
	oscar_apply(tp, o);
}

SEC("struct_ops/oscar_set_state")
void BPF_PROG(oscar_set_state, struct sock *sk, __u8 new_state)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct oscar_sock *o = oscar_state(sk, 0);

	/* A timeout comes as an event. */
	if (o && icsk->icsk_ca_state < TCP_CA_CWR &&
	    (new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery))
		o->loss_seen = 1;
}

SEC("struct_ops/oscar_cwnd_event")
void BPF_PROG(oscar_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct oscar_sock *o = oscar_state(sk, 0);
	u64 now_ns;

	if (!o)
		return;
	now_ns = tp->tcp_clock_cache;
	if (event == CA_EVENT_LOSS) {
		o->loss_seen = 0;
		dcc_oscar_rto(&o->core, &o->path, &o->params, now_ns, &o->verdict);
		__sync_fetch_and_add(&oscar_timeouts, 1);
		oscar_apply(tp, o);
	} else if (event == CA_EVENT_TX_START && tp->app_limited && o->last_ack_ns &&
		   now_ns - o->last_ack_ns > OSCAR_IDLE_RTTS * (u64)o->rtt_ns) {
		/* With this, one restart per pause. */
		o->last_ack_ns = now_ns;
		dcc_oscar_restart(&o->core, &o->path, &o->params, now_ns, &o->verdict);
		oscar_apply(tp, o);
	}
}

SEC("struct_ops/oscar_ssthresh")
__u32 BPF_PROG(oscar_ssthresh, struct sock *sk)
{
	return dcc_max_u32(((struct tcp_sock *)sk)->snd_cwnd, 2);
}

/* There is nothing to undo: the law has gone on all the while. */
SEC("struct_ops/oscar_undo_cwnd")
__u32 BPF_PROG(oscar_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops oscar_ops = {
	.init = (void *)oscar_init,
	.cong_control = (void *)oscar_cong_control,
	.min_tso_segs = (void *)oscar_min_tso_segs,
	.set_state = (void *)oscar_set_state,
	.cwnd_event = (void *)oscar_cwnd_event,
	.ssthresh = (void *)oscar_ssthresh,
	.undo_cwnd = (void *)oscar_undo_cwnd,
	.flags = DCC_TCP_CONG_NON_RESTRICTED,
	.name = "bpf_oscar",
};

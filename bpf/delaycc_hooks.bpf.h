/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shell that every <name>.bpf.c puts behind its core: TCP's hooks.
 *
 *	#include "delaycc_core.bpf.h"
 *	(steps) #include "dcc_<name>.h" (steps)
 *	#define DELAYCC_ALG <name>
 *	#include "delaycc_hooks.bpf.h"
 *
 * The kernel then has an algorithm "bpf_<name>"; where that is longer than 15
 * characters, define DELAYCC_BPF_NAME.  DELAYCC_BPF_ADJUST(params), if defined,
 * is applied to each socket's parameters.  DELAYCC_TIMES_RETRANS is the module's
 * shell's.
 *
 * What differs from the modules
 *   - Parameters and path are the loader's, for all sockets alike, instead of
 *     sysctls, routes and devices; a base RTT of 0 means the smallest that was
 *     measured.  Without a line rate every socket is left to reno, as it is in the
 *     module on a device without a speed.
 *   - tcp_wstamp_ns and sk_gso_max_segs are not writable: a window below one
 *     packet is one packet at a pace below one per RTT, and segmentation offload
 *     is as the device has it, so the law sees bursts.
 *   - Send times: .min_tso_segs runs whenever TCP tries to send and notes what
 *     sequence number is next and when.  An acknowledged packet was sent at the
 *     time of the newest note that does not lie behind it.
 *   - With DELAYCC_PROBES the core may stop a flow.  A program can build no packet
 *     of its own, so the probe is a full packet of data: a window of one, at a
 *     pace that lets the next one leave after the time that the core asks for.  The
 *     ACK of a packet that left after the stop is the reply.  The flow thus never
 *     sends less than a packet per probe (two, where the receiver holds back the
 *     ACK of a lone one), lost ones are TCP's to send again, and a
 *     first one follows the stop as soon as what was in flight is acknowledged.
 *     The module's bound on the time that data waits is therefore not needed.  A FIN
 *     is a packet here and keeps the pace.
 *   - DELAYCC_BPF_SOCKET_PARAMS(sk, params) sets what differs between sockets, at
 *     the start; DELAYCC_BPF_EACH_ACK(sk, params) before each acknowledgment.
 *   - The receiver's count of flows is not read: netfilter hooks of a module
 *     carry it.
 *
 * The state is a few hundred bytes: it lives in socket storage, not in the
 * 104 bytes of icsk_ca_priv.
 */
#ifndef DELAYCC_SHELL_BPF_H
#define DELAYCC_SHELL_BPF_H

#undef inline

#define DELAYCC_CORE(part) DELAYCC_PASTE(DELAYCC_ALG, part)
#define DELAYCC_PASTE(name, part) DELAYCC_PASTE_2(name, part)
#define DELAYCC_PASTE_2(name, part) dcc_##name##part
#define DELAYCC_STRING(name) DELAYCC_STRING_2(name)
#define DELAYCC_STRING_2(name) #name
#ifndef DELAYCC_BPF_NAME
#define DELAYCC_BPF_NAME "bpf_" DELAYCC_STRING(DELAYCC_ALG)
#endif

char LICENSE[] SEC("license") = "GPL";

/* From kernel headers that vmlinux.h cannot carry. */
#define DCC_TCP_CONG_NON_RESTRICTED 1
#define DCC_SOL_TCP 6
#define DCC_TCP_CONGESTION 13
#define DCC_NS_PER_US 1000ULL

/* Notes of send times; a power of two. */
#define SHELL_NOTES 64
/* Notes passed at one ACK, at most; those left are passed at the next. */
#define SHELL_NOTES_AT_ONCE 16

/*
 * A receiver that waits for a second packet holds an ACK for 40 ms or more; no
 * queue in a datacenter lasts 20 ms.
 */
#define SHELL_DELAYED_ACK_NS 20000000U

/*
 * A flow that has run out of data within its last so many packets is limited by
 * its application, as in the module.
 */
#define SHELL_PAUSE_PACKETS 64U

/* A pause of this many RTTs is idle time, as in the module. */
#define SHELL_IDLE_RTTS 8

/* The algorithm's name in the kernel, for the loader. */
const volatile char dcc_name[16] = DELAYCC_BPF_NAME;

/* ---- set by the loader before the program is loaded --------------------- */

/* cong_control(sk, ack, flag, rs) instead of (sk, rs): kernel 6.10 and later. */
const volatile bool dcc_cong_control_is_long = true;
/*
 * A device tells its speed only under the RTNL, which no BPF program has.  0: not
 * known, and as in the module every socket is left to reno.
 */
const volatile __u64 dcc_line_rate_bps = 0;
/* 0: the smallest RTT of each socket. */
const volatile __u32 dcc_base_rtt_ns = 0;
/* Bytes on the wire around an IP packet: Ethernet header, FCS, preamble, gap. */
const volatile __u32 dcc_link_overhead_bytes = 38;
/* Bit i says that the i-th u32 of dcc_params counts; else the core's default does. */
const volatile __u64 dcc_params_given = 0;
const volatile struct DELAYCC_CORE(_params) dcc_params = {};

/* ---- read by the loader while it runs ------------------------------------ */

__u64 dcc_sockets;   /* served */
__u64 dcc_refused;   /* left to reno, as the line rate is not known */
__u64 dcc_acks;      /* seen by the core */
__u64 dcc_notes_hit; /* of these, with a send time in nanoseconds */
__u64 dcc_decisions;
__u64 dcc_losses;
__u64 dcc_timeouts;

struct shell_note {
	u64 sent_ns;
	u32 seq; /* what was sent from here on */
	u32 reserved;
};

struct shell_sock {
	struct DELAYCC_CORE() core;
	struct dcc_path path;
	struct DELAYCC_CORE(_params) params;
	struct dcc_control control;
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
	u8 delayed_acks;   /* the peer has held back an ACK; a second packet gets it */
	u8 stretched_acks; /* the peer does not acknowledge each packet at once */
	u32 data_segs_in;     /* at the last ACK */
	u32 paused_delivered; /* tp->delivered when the flow last ran out of data */
#ifdef DELAYCC_PROBES
	u64 stopped_ns; /* 0: not */
#endif
	struct shell_note notes[SHELL_NOTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct shell_sock);
} dcc_sockets_map SEC(".maps");

static __always_inline bool seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static __always_inline struct shell_sock *shell_state(struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&dcc_sockets_map, sk, 0, flags);
}

/* A packet on the wire, from what TCP puts into it. */
static __always_inline void shell_read_path(struct tcp_sock *tp, struct shell_sock *s)
{
	u32 mss = tp->mss_cache;

	if (mss == s->mss)
		return;
	s->mss = mss;
	/* The IP header is 20 or 40 bytes; the socket's family says which. */
	s->header_bytes = tp->tcp_header_len + dcc_link_overhead_bytes +
			  (tp->inet_conn.icsk_inet.sk.__sk_common.skc_family == 10 ? 40 : 20);
	s->path.wire_bytes = dcc_clamp_u32(mss + s->header_bytes, DCC_PATH_WIRE_MIN_BYTES,
					   DCC_PATH_WIRE_MAX_BYTES);
}

/* Window and pace as the control says. */
static __always_inline void shell_apply(struct tcp_sock *tp, struct shell_sock *s)
{
	struct sock *sk = (struct sock *)tp;
	u64 cwnd_q16 = s->control.cwnd_q16;
	u64 pacing_bps = s->control.pacing_bps;
	u64 cwnd = (cwnd_q16 + DCC_WINDOW_ONE - 1) >> DCC_WINDOW_SHIFT;
	u64 least = s->delayed_acks || (s->stretched_acks &&
					tp->delivered - s->paused_delivered < SHELL_PAUSE_PACKETS) ?
			    2 : 1;
	u64 payload_rate;

	if (cwnd_q16 < DCC_WINDOW_ONE && s->rtt_ns) {
		/* The window in bits, once in an RTT. */
		u64 bits_q16 = cwnd_q16 * s->path.wire_bytes * 8;

		pacing_bps = dcc_min_u64(pacing_bps,
					 dcc_muldiv_u64(bits_q16, 1000000000,
							(u64)s->rtt_ns << DCC_WINDOW_SHIFT));
	}
#ifdef DELAYCC_PROBES
	if (s->control.probe_ns) {
		if (!s->stopped_ns)
			s->stopped_ns = dcc_max_u64(tp->tcp_clock_cache, 1);
		cwnd = least;
		/* The packet's own RTT passes before its ACK asks for the next. */
		pacing_bps = dcc_div_u64((u64)s->path.wire_bytes * 8 * 1000000000,
					 s->control.probe_ns + s->rtt_ns);
	} else {
		s->stopped_ns = 0;
	}
#endif
	tp->snd_cwnd = (u32)dcc_clamp_u64(cwnd, least, 1U << 24);

	/* The stack paces payload. */
	payload_rate = dcc_muldiv_u64(pacing_bps / 8, s->mss, s->path.wire_bytes);
	sk->sk_pacing_rate = dcc_max_u64(payload_rate, 1000);
}

static __always_inline void shell_read_params(struct DELAYCC_CORE(_params) *params)
{
	u32 *value = (u32 *)params;
	u32 i;

	DELAYCC_CORE(_params_default)(params);
#pragma unroll
	for (i = 0; i < sizeof(*params) / sizeof(u32); i++)
		if (dcc_params_given & (1ULL << i))
			value[i] = ((const volatile u32 *)&dcc_params)[i];
#ifdef DELAYCC_BPF_ADJUST
	DELAYCC_BPF_ADJUST(params);
#endif
}

SEC("struct_ops/dcc_shell_init")
void BPF_PROG(dcc_shell_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct shell_sock *s;
	u64 srtt_ns;

	if (!dcc_line_rate_bps) {
		char reno[] = "reno";

		if (!dcc_refused)
			bpf_printk("delaycc: " DELAYCC_BPF_NAME ": the loader has told no line rate, sockets use reno instead");
		__sync_fetch_and_add(&dcc_refused, 1);
		bpf_setsockopt(sk, DCC_SOL_TCP, DCC_TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	s = shell_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return; /* no memory: every other hook leaves the socket alone */

	shell_read_params(&s->params);
#ifdef DELAYCC_BPF_SOCKET_PARAMS
	DELAYCC_BPF_SOCKET_PARAMS(sk, &s->params);
#endif
#ifdef DELAYCC_PROBES
	s->stopped_ns = 0;
#endif

	/* The handshake's RTT serves until the first packet's. */
	srtt_ns = (u64)(tp->srtt_us >> 3) * DCC_NS_PER_US;
	s->path.line_rate_bps = dcc_line_rate_bps;
	s->path.base_rtt_ns = dcc_base_rtt_ns ? dcc_base_rtt_ns :
						  (u32)dcc_clamp_u64(srtt_ns, DCC_PATH_RTT_MIN_NS,
								     DCC_PATH_RTT_MAX_NS);
	s->base_measured = 0;
	s->rtt_ns = s->path.base_rtt_ns;
	s->mss = 0;
	shell_read_path(tp, s);
	s->bytes_acked = tp->bytes_acked;
	s->total_retrans = tp->total_retrans;
	s->retrans_seq = tp->snd_nxt;
	s->head = 0;
	s->tail = 0;
	s->loss_seen = 0;
	s->delayed_acks = 0;
	s->stretched_acks = 0;
	s->data_segs_in = tp->data_segs_in;
	s->paused_delivered = tp->delivered - SHELL_PAUSE_PACKETS;
	s->last_ack_ns = 0;

	DELAYCC_CORE(_init)(&s->core, &s->path, &s->params, &s->control);
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	shell_apply(tp, s);
	__sync_fetch_and_add(&dcc_sockets, 1);
}

/* TCP is about to send from snd_nxt on. */
SEC("struct_ops/dcc_shell_min_tso_segs")
__u32 BPF_PROG(dcc_shell_min_tso_segs, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct shell_sock *s = shell_state(sk, 0);
	struct shell_note *note;

	if (!s)
		return 1;
	/* Asked again before anything left: the time is now. */
	note = &s->notes[(s->head - 1) & (SHELL_NOTES - 1)];
	if (s->head == s->tail || note->seq != tp->snd_nxt) {
		if (s->head - s->tail >= SHELL_NOTES)
			s->tail = s->head - SHELL_NOTES + 1;
		note = &s->notes[s->head & (SHELL_NOTES - 1)];
		s->head++;
	}
	note->seq = tp->snd_nxt;
	note->sent_ns = dcc_max_u64(tp->tcp_clock_cache, tp->tcp_wstamp_ns);
	return 1;
}

/* When the packet that ends at end_seq was sent, by the notes; 0: they do not say. */
static __always_inline u64 shell_noted_ns(struct shell_sock *s, u32 end_seq)
{
	u32 i;

	/* Past every note that has a younger one which still lies before end_seq. */
	for (i = 0; i < SHELL_NOTES_AT_ONCE; i++) {
		if (s->tail + 1 == s->head || s->tail == s->head)
			break;
		if (!seq_before(s->notes[(s->tail + 1) & (SHELL_NOTES - 1)].seq, end_seq))
			break;
		s->tail++;
	}
	if (s->tail == s->head || !seq_before(s->notes[s->tail & (SHELL_NOTES - 1)].seq, end_seq))
		return 0;
	return s->notes[s->tail & (SHELL_NOTES - 1)].sent_ns;
}

/* When the newest acknowledged packet was sent; 0: cannot be said. */
static __always_inline u64 shell_sent_ns(struct tcp_sock *tp, struct shell_sock *s,
					 const struct rate_sample *rs)
{
	u64 now_ns = tp->tcp_clock_cache;
	u64 noted_ns = shell_noted_ns(s, rs->last_end_seq);
	u64 rtt_ns, sent_ns;

	if (tp->total_retrans != s->total_retrans) {
		s->total_retrans = tp->total_retrans;
		s->retrans_seq = tp->snd_nxt;
	}
#ifdef DELAYCC_TIMES_RETRANS
	/* RACK's time of the retransmission, if it is this acknowledgment's. */
	if (rs->is_retrans) {
		if (!tp->rack.rtt_us || tp->tcp_mstamp - tp->rack.mstamp != tp->rack.rtt_us)
			return 0;
		sent_ns = tp->rack.mstamp * DCC_NS_PER_US + DCC_NS_PER_US / 2;
		return sent_ns < now_ns ? sent_ns : now_ns - 1;
	}
#endif
	if (rs->rtt_us < 0 || rs->is_retrans)
		return 0;
	rtt_ns = (u64)rs->rtt_us * DCC_NS_PER_US;
	/* Right if it agrees with the kernel's own RTT, which obeys Karn's rule. */
	if (noted_ns && now_ns - noted_ns + DCC_NS_PER_US > rtt_ns &&
	    now_ns - noted_ns < rtt_ns + DCC_NS_PER_US) {
		__sync_fetch_and_add(&dcc_notes_hit, 1);
		return noted_ns;
	}
	/* After a retransmission a whole millisecond is a timestamp's. */
	if (!seq_before(s->retrans_seq, rs->last_end_seq) &&
	    (u64)rs->rtt_us % 1000 == 0)
		return 0;
	sent_ns = now_ns - rtt_ns - DCC_NS_PER_US / 2;
	return sent_ns < now_ns ? sent_ns : now_ns - 1;
}

static __always_inline void shell_measure_base(struct shell_sock *s)
{
	u32 rtt_ns = dcc_clamp_u32(s->rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);

	if (dcc_base_rtt_ns)
		return;
	if (!s->base_measured || rtt_ns < s->path.base_rtt_ns)
		s->path.base_rtt_ns = rtt_ns;
	s->base_measured = 1;
}

/*
 * May the peer have held back this ACK: for a second packet, for its application to
 * read, or for an answer that carries it?  Only a peer that has been seen not to
 * acknowledge each packet at once, and only the ACK of all that is in flight.
 */
static __always_inline bool shell_maybe_held(struct tcp_sock *tp, struct shell_sock *s,
					     const struct rate_sample *rs)
{
	bool carried = tp->data_segs_in != s->data_segs_in;

	s->data_segs_in = tp->data_segs_in;
	if (rs->acked_sacked > 1 && !tp->sacked_out &&
	    seq_before(s->retrans_seq, rs->last_end_seq) &&
	    tp->inet_conn.icsk_ca_state == TCP_CA_Open)
		s->stretched_acks = 1;
	if (tp->packets_out)
		return false;
	if (tp->write_seq == tp->snd_nxt)
		s->paused_delivered = tp->delivered;
	return carried || s->stretched_acks || s->delayed_acks;
}

/* The kernel's acknowledgment as the core wants it. */
static __always_inline void shell_sample(struct tcp_sock *tp, struct shell_sock *s,
					 const struct rate_sample *rs, struct dcc_ack *ack)
{
	u64 sent_ns = shell_sent_ns(tp, s, rs);
	u64 payload = tp->bytes_acked - s->bytes_acked;
	u32 packets = tp->delivered - rs->prior_delivered;
	bool maybe_held = shell_maybe_held(tp, s, rs);

	s->bytes_acked = tp->bytes_acked;
	ack->now_ns = tp->tcp_clock_cache;
	ack->send_ns = sent_ns;
	ack->flags = 0;
	ack->flows = 0;
	ack->rtt_ns = 0;
	/* Selectively acknowledged bytes are not in bytes_acked. */
	if (tp->sacked_out)
		payload = (u64)rs->acked_sacked * s->mss;
	ack->acked_bytes = dcc_sat_u32(payload + (u64)rs->acked_sacked * s->header_bytes);
	ack->inflight_bytes = dcc_sat_u32((u64)packets * s->path.wire_bytes);
	if (rs->is_app_limited)
		ack->flags |= DCC_ACK_APP_LIMITED;
	if (!sent_ns || rs->delivered < 0) {
		ack->flags |= DCC_ACK_NO_RTT;
		return;
	}
	ack->rtt_ns = dcc_sat_u32(ack->now_ns - sent_ns);
	if ((packets <= 1 || maybe_held) && ack->rtt_ns > SHELL_DELAYED_ACK_NS &&
	    ack->rtt_ns - SHELL_DELAYED_ACK_NS > s->path.base_rtt_ns) {
		ack->flags |= DCC_ACK_DELAYED;
		s->delayed_acks = 1;
		return;
	}
	/*
	 * So TCP thinks of the ACK of each lone packet below the full size.  What may
	 * have been held back is a sample where it is shorter than the last one.
	 */
	if (rs->is_ack_delayed ||
	    (maybe_held && tp->write_seq == tp->snd_nxt && ack->rtt_ns > s->rtt_ns)) {
		ack->flags |= DCC_ACK_DELAYED;
#ifdef DELAYCC_PROBES
		/* But this one came soon, and no better sample may come to a stopped flow. */
		if (s->stopped_ns &&
		    ack->rtt_ns <= (u64)SHELL_DELAYED_ACK_NS + s->path.base_rtt_ns)
			ack->flags &= ~DCC_ACK_DELAYED;
#endif
		return;
	}
	s->rtt_ns = ack->rtt_ns;
	shell_measure_base(s);
}

/*
 * The raw context: cong_control has another number of arguments from kernel 6.10
 * on, and the branch not taken is never looked at by the verifier.
 */
SEC("struct_ops/dcc_shell_cong_control")
void dcc_shell_cong_control(unsigned long long *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	const struct rate_sample *rs;
	struct shell_sock *s;
	struct dcc_ack ack;

	/* Assembly, or clang adds the offset to ctx, which the verifier forbids. */
	if (dcc_cong_control_is_long)
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));

	/* TCP shows the handshake's last ACK before init(). */
	s = shell_state(sk, 0);
	if (!s)
		return;

	shell_read_path(tp, s);
	if (s->loss_seen) {
		s->loss_seen = 0;
		DELAYCC_CORE(_loss)(&s->core, &s->path, &s->params, tp->tcp_clock_cache,
				    &s->control);
		__sync_fetch_and_add(&dcc_losses, 1);
	}
	shell_sample(tp, s, rs, &ack);
#ifdef DELAYCC_BPF_EACH_ACK
	DELAYCC_BPF_EACH_ACK(sk, &s->params);
#endif
#ifdef DELAYCC_PROBES
	if (s->stopped_ns && !(ack.flags & DCC_ACK_NO_RTT) && ack.send_ns >= s->stopped_ns) {
		ack.flags = (ack.flags & DCC_ACK_DELAYED) | DCC_ACK_PROBE |
			    DCC_ACK_PROBE_DATA;
		ack.acked_bytes = 0;
		ack.inflight_bytes = 0;
		/* The best that is known until a packet of full size has been answered. */
		if (!dcc_base_rtt_ns && !s->base_measured && !(ack.flags & DCC_ACK_DELAYED))
			s->path.base_rtt_ns = dcc_clamp_u32(ack.rtt_ns, DCC_PATH_RTT_MIN_NS,
							    DCC_PATH_RTT_MAX_NS);
	}
#endif
	if (DELAYCC_CORE(_ack)(&s->core, &s->path, &s->params, &ack, &s->control))
		__sync_fetch_and_add(&dcc_decisions, 1);
	s->last_ack_ns = ack.now_ns;
	__sync_fetch_and_add(&dcc_acks, 1);
	shell_apply(tp, s);
}

static __always_inline void shell_timeout(struct tcp_sock *tp, struct shell_sock *s)
{
	s->loss_seen = 0;
	DELAYCC_CORE(_rto)(&s->core, &s->path, &s->params, tp->tcp_clock_cache, &s->control);
	__sync_fetch_and_add(&dcc_timeouts, 1);
	shell_apply(tp, s);
}

SEC("struct_ops/dcc_shell_set_state")
void BPF_PROG(dcc_shell_set_state, struct sock *sk, __u8 new_state)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct shell_sock *s = shell_state(sk, 0);

	if (!s)
		return;
	if (icsk->icsk_ca_state < TCP_CA_CWR) {
		/* A timeout comes as an event. */
		if (new_state == TCP_CA_CWR || new_state == TCP_CA_Recovery)
			s->loss_seen = 1;
	} else if (icsk->icsk_ca_state != TCP_CA_Loss && new_state == TCP_CA_Loss) {
		struct tcp_sock *tp = (struct tcp_sock *)sk;
		u32 cwnd = tp->snd_cwnd;

		/* In recovery, before its end, it does not.  The window is TCP's already. */
		if ((int)(tp->high_seq - tp->snd_una) <= 0)
			return;
		shell_timeout(tp, s);
		tp->snd_cwnd = cwnd;
	}
}

SEC("struct_ops/dcc_shell_cwnd_event")
void BPF_PROG(dcc_shell_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct shell_sock *s = shell_state(sk, 0);
	u64 now_ns;

	if (!s)
		return;
	now_ns = tp->tcp_clock_cache;
	if (event == CA_EVENT_LOSS) {
		shell_timeout(tp, s);
	} else if (event == CA_EVENT_TX_START && tp->app_limited && s->last_ack_ns &&
		   now_ns - s->last_ack_ns > SHELL_IDLE_RTTS * (u64)s->rtt_ns) {
		/* With this, one restart per pause. */
		s->last_ack_ns = now_ns;
		DELAYCC_CORE(_restart)(&s->core, &s->path, &s->params, now_ns, &s->control);
		shell_apply(tp, s);
	}
}

SEC("struct_ops/dcc_shell_ssthresh")
__u32 BPF_PROG(dcc_shell_ssthresh, struct sock *sk)
{
	return dcc_max_u32(((struct tcp_sock *)sk)->snd_cwnd, 2);
}

/* There is nothing to undo: the law has gone on all the while. */
SEC("struct_ops/dcc_shell_undo_cwnd")
__u32 BPF_PROG(dcc_shell_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops dcc_ops = {
	.init = (void *)dcc_shell_init,
	.cong_control = (void *)dcc_shell_cong_control,
	.min_tso_segs = (void *)dcc_shell_min_tso_segs,
	.set_state = (void *)dcc_shell_set_state,
	.cwnd_event = (void *)dcc_shell_cwnd_event,
	.ssthresh = (void *)dcc_shell_ssthresh,
	.undo_cwnd = (void *)dcc_shell_undo_cwnd,
	.flags = DCC_TCP_CONG_NON_RESTRICTED,
	.name = DELAYCC_BPF_NAME,
};

#endif /* DELAYCC_SHELL_BPF_H */

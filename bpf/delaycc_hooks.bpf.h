/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP's hooks around a core, the part of every <name>.bpf.c that is the same for
 * all.
 *
 *	#include "delaycc_core.bpf.h"
 *	(subprograms) #include "dcc_<name>.h" (subprograms)
 *	#define DELAYCC_ALG <name>
 *	#include "delaycc_hooks.bpf.h"
 *
 * The kernel then has an algorithm "bpf_<name>".  Optional, to be defined before:
 *
 *	DELAYCC_BPF_NAME	the algorithm's name, where "bpf_<name>" is longer
 *				than 15 characters
 *	DELAYCC_CORE_NAME	the core's name, where the algorithm has another one
 *	DELAYCC_BPF_PARAMS(X)	the parameters that can be set, X(field, min, max,
 *				zero_ok); a core lists its own as DCC_<NAME>_PARAMS(X)
 *	DELAYCC_BPF_SOCKET_PARAMS(sk, params)	sets what differs between sockets,
 *				whenever the parameters are read
 *	DELAYCC_BPF_EACH_ACK(sk, params)	the same before each acknowledgment
 *	DELAYCC_BPF_DESCRIBE(state, out)	gradient_q16 and branch of the last
 *				decision, for `delaycc top`
 *	DELAYCC_BPF_FLOWS(sk)	the receiver's count of flows, for the core; 0: unknown
 *	DELAYCC_TIMES_RETRANS	1: as options.times_retrans of the module
 *	DELAYCC_PROBES		1: as options.probes of the module
 *
 * The arithmetic is that of the modules, core/dcc_tcp.h.  What differs from
 * them, and why:
 *
 *   - Configuration.  A program has no sysctls: parameters, line rate, base RTT,
 *     link overhead and the base RTTs of paths are in maps (delaycc_bpf.h) that
 *     the loader writes, one set for all namespaces.  They can change at any
 *     time, and open sockets follow.  A program sees no route metric.  A device
 *     tells its speed only under the RTNL, so the loader notes the speeds of the
 *     devices that there are in its namespace.  All others are devices that do not
 *     say it.
 *   - Names.  A struct_ops object registers one name, so the paper's variant
 *     (oscar_paper, patched_timely ...) is a parameter of the loader's, and a
 *     socket that cannot be served runs the kernel's own "reno", not a reno of
 *     another name.
 *   - What ss and the tracepoint show.  A program has no .get_info; the counters
 *     below and an iterator over the open sockets are there instead (`delaycc
 *     status`, `delaycc top`).  Its decisions are lines of the kernel's own trace,
 *     with fewer fields, and only while the setting `trace` is 1.
 *   - Window below one packet.  tcp_wstamp_ns is not writable, so there is no EDT
 *     hold: the window is one packet, and the pace alone is below one packet per
 *     RTT.  For the same reason a packet's departure time stays when the pace
 *     rises; it is DCC_TCP_HOLD_MAX_NS away at most.
 *   - TSO bursts and host queue.  sk_gso_max_segs and sk_pacing_shift are not
 *     writable: segmentation offload is as the device has it, so the law sees
 *     bursts, a window's slack at line rate is a full burst, and TCP's limit of
 *     1 ms in the host's queues stays.
 *   - Send times.  A program cannot walk the retransmit queue, so there is one
 *     note per call of .min_tso_segs, which TCP calls whenever it tries to send:
 *     the next sequence number and the time.  An acknowledged packet was sent at
 *     the time of the newest note that does not lie behind it.  The module has
 *     the departure time of each packet.
 *   - Probes.  A program can build no packet, so the probe of a stopped flow is a
 *     full packet of data: a window of one, at a pace that lets the next one leave
 *     after the time that the core asks for.  The ACK of a packet that left after
 *     the stop is the reply, even if the receiver has held it back (it then has
 *     DCC_ACK_DELAYED, too).  A stopped flow thus never sends less than one packet
 *     per probe (two, where the receiver holds back the ACK of a lone one), TCP
 *     sends lost ones again, and a first one follows the stop as soon as what was
 *     in flight is acknowledged.  The module's bound on the time that data waits
 *     is not needed.  A FIN is a packet here and keeps the pace.
 *   - Arrivals.  Where a device stamps what it receives (stamps.bpf.c), an ACK's RTT
 *     ends when the device had it, plus the least time that the host lately took
 *     from there to TCP.  A module takes TCP's time.
 *   - N.  The receiver's count of flows comes by a program of its own (count.bpf.c),
 *     attached to a cgroup, not by netfilter hooks; its head says what differs.
 *
 * All else is the same: tests/lab/test_same_decisions.py gives the recorded calls of
 * a module's hooks to these, and compares each decision.
 *
 * The state lives in socket storage, not in the 104 bytes of icsk_ca_priv: the
 * core's (768 bytes at most), 1024 bytes of notes, the path and its samples (struct
 * dcc_tcp, 400 at most), and 160 bytes at most of parameters and bookkeeping.
 */
#ifndef DELAYCC_HOOKS_BPF_H
#define DELAYCC_HOOKS_BPF_H

#undef inline

#include "delaycc_arrivals.bpf.h"

/* The functions carry the algorithm's name: DCC_HOOK(init) is oscar_init(). */
#define DCC_HOOK(function) DELAYCC_PASTE(DELAYCC_ALG, _, function)
/* The core's own: struct DCC_CORE(_params), DCC_CORE(_ack)() ... */
#ifndef DELAYCC_CORE_NAME
#define DELAYCC_CORE_NAME DELAYCC_ALG
#endif
#define DCC_CORE(part) DELAYCC_PASTE(dcc_, DELAYCC_CORE_NAME, part)
#define DELAYCC_PASTE(a, b, c) DELAYCC_PASTE_2(a, b, c)
#define DELAYCC_PASTE_2(a, b, c) a##b##c
#define DELAYCC_STRING(name) DELAYCC_STRING_2(name)
#define DELAYCC_STRING_2(name) #name
#ifndef DELAYCC_BPF_NAME
#define DELAYCC_BPF_NAME "bpf_" DELAYCC_STRING(DELAYCC_ALG)
#endif
/* One step more, as BPF_PROG() pastes its argument. */
#define DCC_BPF_PROG(name, args...) BPF_PROG(name, ##args)

#ifndef DELAYCC_TIMES_RETRANS
#define DELAYCC_TIMES_RETRANS 0
#endif
#ifndef DELAYCC_PROBES
#define DELAYCC_PROBES 0
#endif
#ifndef DELAYCC_BPF_PARAMS
#define DELAYCC_BPF_PARAMS(X)
#endif
#ifndef DELAYCC_BPF_DESCRIBE
#define DELAYCC_BPF_DESCRIBE(state, out) ((void)(out))
#endif
#ifndef DELAYCC_BPF_FLOWS
#define DELAYCC_BPF_FLOWS(sk) 0
#endif
#ifndef DELAYCC_BPF_SOCKET_PARAMS
#define DELAYCC_BPF_SOCKET_PARAMS(sk, params) ((void)(params))
#endif
#ifndef DELAYCC_BPF_EACH_ACK
#define DELAYCC_BPF_EACH_ACK(sk, params) ((void)(params))
#endif

char LICENSE[] SEC("license") = "GPL";

/* From kernel headers that vmlinux.h cannot carry. */
#define DCC_TCP_CONG_NON_RESTRICTED 1
#define DCC_AF_INET6 10
#define DCC_IFF_LOOPBACK 8
#define DCC_SOL_TCP 6
#define DCC_TCP_CONGESTION 13

/* dcc_tcp.h has the kernel's numbers. */
_Static_assert(TCP_CA_Open == DCC_TCP_CA_OPEN, "TCP_CA_Open");
_Static_assert(TCP_CA_CWR == DCC_TCP_CA_CWR, "TCP_CA_CWR");
_Static_assert(TCP_CA_Recovery == DCC_TCP_CA_RECOVERY, "TCP_CA_Recovery");
_Static_assert(TCP_CA_Loss == DCC_TCP_CA_LOSS, "TCP_CA_Loss");

/* Notes of send times; a power of two. */
#define HOOKS_NOTES 64
/* Notes passed at one ACK, at most; those left are passed at the next. */
#define HOOKS_NOTES_AT_ONCE 16

/* The algorithm's name in the kernel, and its own, for the loader. */
const volatile char dcc_name[16] = DELAYCC_BPF_NAME;
const volatile char dcc_algorithm[16] = DELAYCC_STRING(DELAYCC_ALG);

/* ---- set by the loader before the program is loaded --------------------- */

/* cong_control(sk, ack, flag, rs) instead of (sk, rs): kernel 6.10 and later. */
const volatile bool dcc_cong_control_is_long = true;
/* ---- set by the loader at any time ---------------------------------------- */

struct hooks_settings {
	struct dcc_settings_head head;
	struct DCC_CORE(_params) params;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hooks_settings);
} dcc_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DELAYCC_BPF_LINKS_MAX);
	__type(key, struct dcc_link_key);
	__type(value, __u32); /* Mbit/s */
} dcc_links SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DELAYCC_BPF_PATHS_MAX);
	__type(key, struct dcc_path_key);
	__type(value, struct dcc_path_values);
} dcc_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, DELAYCC_BPF_MEMORY_MAX);
	__type(key, struct dcc_memory_key);
	__type(value, struct dcc_cache_entry);
} dcc_memory SEC(".maps");

/* What can be set, for the loader.  Ranges of the first ones: those of the modules' sysctls. */
#define HOOKS_PARAM(name_, at, lo, hi, zero)                                                       \
	{                                                                                          \
		.name = name_, .offset = (at), .min = (lo), .max = (hi), .zero_ok = (zero),        \
	},
#define HOOKS_CORE_PARAM(field, lo, hi, zero)                                                      \
	HOOKS_PARAM(#field, __builtin_offsetof(struct hooks_settings, params.field), lo, hi, zero)
#define HOOKS_HEAD(field) __builtin_offsetof(struct hooks_settings, head.field)

const volatile struct dcc_param_info dcc_param_table[DELAYCC_BPF_PARAMS_MAX] = {
	HOOKS_PARAM("line_rate_mbps", HOOKS_HEAD(line_rate_mbps), 1,
		    DCC_PATH_RATE_MAX_BPS / 1000000, true)
	HOOKS_PARAM("base_rtt_ns", HOOKS_HEAD(base_rtt_ns), DCC_PATH_RTT_MIN_NS,
		    DCC_PATH_RTT_MAX_NS, true)
	/*
	 * An Ethernet header is 14, as qdiscs count it.  On real Ethernet a packet
	 * also takes FCS, preamble and gap: 38.
	 */
	HOOKS_PARAM("link_overhead_bytes", HOOKS_HEAD(link_overhead_bytes), 0, 128, true)
	HOOKS_PARAM("path_memory_s", HOOKS_HEAD(path_memory_s), 1, 86400, true)
	HOOKS_PARAM("noise_ns", HOOKS_HEAD(noise_ns), 1, DCC_PATH_RTT_MAX_NS, true)
	HOOKS_PARAM("trace", HOOKS_HEAD(trace), 0, 1, true)
	DELAYCC_BPF_PARAMS(HOOKS_CORE_PARAM)
};

/* The build, for `delaycc status`. */
const volatile char dcc_version[32] = DELAYCC_VERSION;

/* ---- read by the loader while it runs ------------------------------------ */

__u64 dcc_sockets;   /* served */
__u64 dcc_refused;   /* use reno, as there is no line rate */
__u64 dcc_acks;      /* that the core saw */
__u64 dcc_notes_hit; /* of these, with a send time in nanoseconds */
__u64 dcc_stamps_hit; /* with the device's stamp of when they came */
__u64 dcc_decisions;
__u64 dcc_losses;
__u64 dcc_timeouts;

struct hooks_note {
	u64 sent_ns;
	u32 seq; /* what was sent from here on */
	u32 reserved;
};

struct hooks_sock {
	struct DCC_CORE() core;
	struct dcc_tcp tcp;
	u32 generation; /* of the settings */
	u32 link_overhead_bytes;
	struct DCC_CORE(_params) params;
	struct dcc_control control;
	u32 head; /* notes written */
	u32 tail; /* notes passed by ACKs */
	u32 flows; /* N at the newest ACK; 0: unknown */
	u32 pacing_is_ours; /* the socket had no pacing before */
	u64 stopped_ns; /* DELAYCC_PROBES: since then; 0: not stopped */
	struct hooks_note notes[HOOKS_NOTES];
};

_Static_assert(sizeof(struct DCC_CORE()) <= 768, "the head of this file says 768");
_Static_assert(sizeof(struct dcc_tcp) <= 400, "the head of this file says 400");
_Static_assert(sizeof(struct hooks_sock) - sizeof(struct DCC_CORE()) - sizeof(struct dcc_tcp) -
		       sizeof(struct hooks_note[HOOKS_NOTES]) <= 160,
	       "the head of this file says 160");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct hooks_sock);
} dcc_sockets_map SEC(".maps");

static __always_inline struct hooks_sock *hooks_state(struct sock *sk, u64 flags)
{
	return bpf_sk_storage_get(&dcc_sockets_map, sk, 0, flags);
}

static __always_inline void hooks_use_reno(struct sock *sk)
{
	char reno[] = "reno";

	bpf_setsockopt(sk, DCC_SOL_TCP, DCC_TCP_CONGESTION, reno, sizeof(reno));
}

/* The socket's fields, for dcc_tcp.h; those of the rate sample are the caller's. */
static __always_inline void hooks_view(struct tcp_sock *tp, struct dcc_tcp_view *v)
{
	v->now_ns = tp->tcp_clock_cache;
	v->now_us = tp->tcp_mstamp;
	v->bytes_acked = tp->bytes_acked;
	v->snd_nxt = tp->snd_nxt;
	v->delivered = tp->delivered;
	v->packets_out = tp->packets_out;
	v->sacked_out = tp->sacked_out;
	v->total_retrans = tp->total_retrans;
	v->data_segs_in = tp->data_segs_in;
	v->ca_state = tp->inet_conn.icsk_ca_state;
	v->all_sent = tp->write_seq == tp->snd_nxt;
	v->rwnd_limited = BPF_CORE_READ_BITFIELD(tp, chrono_type) == TCP_CHRONO_RWND_LIMITED;
}

/* A packet on the wire, from what TCP puts into it. */
static __always_inline u32 hooks_header_bytes(struct tcp_sock *tp, const struct hooks_sock *s)
{
	struct inet_connection_sock *icsk = &tp->inet_conn;

	return BPF_CORE_READ(icsk, icsk_af_ops, net_header_len) + icsk->icsk_ext_hdr_len +
	       tp->tcp_header_len + s->link_overhead_bytes;
}

static __always_inline void hooks_read_packet(struct tcp_sock *tp, struct hooks_sock *s)
{
	if (tp->mss_cache != s->tcp.sampler.mss)
		dcc_tcp_set_packet(&s->tcp, tp->mss_cache, hooks_header_bytes(tp, s));
}

/* Window and pace as the control says. */
static __always_inline void hooks_apply(struct tcp_sock *tp, struct hooks_sock *s)
{
	struct sock *sk = (struct sock *)tp;
	u32 burst = dcc_min_u32(sk->sk_gso_max_segs, DCC_TCP_FULL_BURST);
	struct dcc_control control = s->control;
	bool stops = DELAYCC_PROBES && dcc_tcp_stops(&s->tcp, &control);
	u64 rate;
	u32 cwnd;

	if (dcc_tcp_is_settled(&s->tcp, &control, tp->snd_cwnd))
		return;
	subprog_model_control(&s->tcp.model, &control);
	dcc_tcp_add_probe(&s->tcp, &control);
	rate = dcc_tcp_pace(&s->tcp, &control);
	cwnd = dcc_tcp_window(&s->tcp, &control, tp->delivered, burst, tp->snd_cwnd_clamp);
	if (stops) {
		if (!s->stopped_ns)
			s->stopped_ns = dcc_max_u64(tp->tcp_clock_cache, 1);
		cwnd = dcc_tcp_least_window(&s->tcp, tp->delivered);
		/* The packet's own RTT passes before its ACK asks for the next. */
		rate = dcc_div_u64(s->tcp.sampler.mss * DCC_NS_PER_S,
				   control.probe_ns + s->tcp.sampler.rtt_ns);
		rate = dcc_max_u64(rate, dcc_tcp_least_pace(&s->tcp));
	} else {
		s->stopped_ns = 0;
	}
	tp->snd_cwnd = cwnd;
	dcc_tcp_settle(&s->tcp, &s->control, cwnd);
	sk->sk_pacing_rate = dcc_min_u64(rate, sk->sk_max_pacing_rate);
}

static __always_inline struct hooks_settings *hooks_settings(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&dcc_settings, &key);
}

/* As the loader has noted it when the algorithm was loaded; 0: no route, or the loopback. */
static __always_inline u64 hooks_link_bps(struct sock *sk)
{
	struct dst_entry *dst = BPF_CORE_READ(sk, sk_dst_cache);
	struct dcc_link_key key = {
		.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum),
		.ifindex = BPF_CORE_READ(dst, dev, ifindex),
	};
	u32 *mbps = bpf_map_lookup_elem(&dcc_links, &key);

	if (mbps)
		return *mbps * 1000000ULL;
	if (!key.ifindex || (BPF_CORE_READ(dst, dev, flags) & DCC_IFF_LOOPBACK))
		return 0;
	return DCC_TCP_UNSAID_MBPS * 1000000ULL;
}

/* The peer's address, IPv4 mapped into IPv6; address is zeroed. */
static __always_inline void hooks_peer(struct sock *sk, __u8 *address)
{
	if (sk->__sk_common.skc_family == DCC_AF_INET6) {
		BPF_CORE_READ_INTO((struct in6_addr *)address, sk, __sk_common.skc_v6_daddr);
	} else {
		address[10] = 0xff;
		address[11] = 0xff;
		BPF_CORE_READ_INTO((__be32 *)&address[12], sk, __sk_common.skc_daddr);
	}
}

/* Of the longest prefix that has the peer; NULL: none. */
static __always_inline struct dcc_path_values *hooks_path_values(struct sock *sk)
{
	struct dcc_path_key key = { .bits = DELAYCC_BPF_PATH_FAMILY_BITS + 128 };
	const u32 *words = (const u32 *)key.address;

	hooks_peer(sk, key.address);
	key.family = !words[0] && !words[1] && words[2] == bpf_htonl(0xffff) ? 4 : 6;
	return bpf_map_lookup_elem(&dcc_paths, &key);
}

static __always_inline void hooks_memory_key(struct sock *sk, const struct hooks_sock *s,
					     struct dcc_memory_key *key)
{
	key->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	key->wire_bytes = s->tcp.model.path.wire_bytes;
	hooks_peer(sk, key->address);
}

/* A socket begins with what is known of its path. */
static __always_inline void hooks_recall(struct sock *sk, struct hooks_sock *s, u32 lifetime_s)
{
	struct dcc_memory_key key = {};
	struct dcc_cache_entry *memory;

	if (!lifetime_s || !dcc_model_may_recall(&s->tcp.model))
		return;
	hooks_memory_key(sk, s, &key);
	memory = bpf_map_lookup_elem(&dcc_memory, &key);
	if (memory && !dcc_cache_is_old(memory, bpf_ktime_get_ns(), lifetime_s))
		dcc_model_recall(&s->tcp.model, &memory->metrics);
}

/*
 * Leaves what a socket knows of its path.  Another processor may do the same with the same entry:
 * then one of the two counts, or the one's noise with the other's RTT.
 */
static __always_inline void hooks_tell(struct sock *sk, struct hooks_sock *s, u32 lifetime_s,
				       u64 now_ns)
{
	struct dcc_memory_key key = {};
	struct dcc_cache_entry *memory;
	struct dcc_path_metrics known = {};
	bool knows = dcc_model_knows(&s->tcp.model, &known);

	if (lifetime_s && (knows || s->tcp.model.base.cache_wrong)) {
		hooks_memory_key(sk, s, &key);
		memory = bpf_map_lookup_elem(&dcc_memory, &key);
		if (memory && dcc_model_refutes(&s->tcp.model, memory)) {
			bpf_map_delete_elem(&dcc_memory, &key);
			memory = NULL;
		}
		if (!memory && knows) {
			struct dcc_cache_entry empty;

			__builtin_memset(&empty, 0, sizeof(empty));
			bpf_map_update_elem(&dcc_memory, &key, &empty, BPF_NOEXIST);
			memory = bpf_map_lookup_elem(&dcc_memory, &key);
		}
		if (memory && knows)
			subprog_cache_update(memory, &known, now_ns, lifetime_s);
	}
	dcc_model_noted(&s->tcp.model, now_ns);
}

/* The settings, for a socket that begins, or once they have changed.  False: no line rate. */
static __always_inline bool hooks_read_settings(struct sock *sk, struct hooks_sock *s,
						struct hooks_settings *settings)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dcc_path_values *values = hooks_path_values(sk);
	struct dcc_path_config config = {
		.line_rate_bps = settings->head.line_rate_mbps * 1000000ULL,
		.base_rtt_ns = settings->head.base_rtt_ns,
		.noise_ns = settings->head.noise_ns,
		.line_configured = settings->head.line_rate_mbps != 0,
	};

	if (!config.line_rate_bps)
		config.line_rate_bps = hooks_link_bps(sk);
	if (!config.line_rate_bps)
		return false;
	if (values && values->base_rtt_ns)
		config.base_rtt_ns = values->base_rtt_ns;
	if (values && values->noise_ns)
		config.noise_ns = values->noise_ns;
	s->generation = settings->head.generation;
	s->params = settings->params;
	DELAYCC_BPF_SOCKET_PARAMS(sk, &s->params);
	s->link_overhead_bytes = settings->head.link_overhead_bytes;
	dcc_tcp_configure(&s->tcp, tp->mss_cache, hooks_header_bytes(tp, s), &config);
	return true;
}

/* The defaults, which the loader asks for before it registers the algorithm. */
SEC("syscall")
int dcc_defaults(void *ctx)
{
	struct hooks_settings *settings = hooks_settings();

	if (!settings)
		return 1;
	settings->head.link_overhead_bytes = 14;
	settings->head.path_memory_s = 600;
	DCC_CORE(_params_default)(&settings->params);
	return 0;
}

SEC("struct_ops/init")
void DCC_BPF_PROG(DCC_HOOK(init), struct sock *sk)
{
	struct hooks_settings *settings = hooks_settings();
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dcc_tcp_view v;
	struct hooks_sock *s;

	s = hooks_state(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s || !settings) {
		bpf_printk("delaycc: " DELAYCC_BPF_NAME ": no memory for a socket's state, it uses reno instead");
		__sync_fetch_and_add(&dcc_refused, 1);
		hooks_use_reno(sk);
		return;
	}

	/* The storage may be that of an earlier connection of the socket. */
	__builtin_memset(&s->tcp, 0, sizeof(s->tcp));
	/* The packet that asks for a stopped flow may be a retransmission. */
	s->tcp.sampler.times_retrans = DELAYCC_TIMES_RETRANS || DELAYCC_PROBES;
	s->head = 0;
	s->tail = 0;
	s->flows = 0;
	s->stopped_ns = 0;

	hooks_view(tp, &v);
	dcc_tcp_begin(&s->tcp, &v, tp->srtt_us >> 3, tp->rtt_min.s[0].v, tp->tcp_wstamp_ns,
		      tp->snd_cwnd);
	if (!hooks_read_settings(sk, s, settings)) {
		if (!dcc_refused)
			bpf_printk("delaycc: " DELAYCC_BPF_NAME ": no line rate is set, and the loopback has none, sockets use reno instead");
		__sync_fetch_and_add(&dcc_refused, 1);
		bpf_sk_storage_delete(&dcc_sockets_map, sk);
		hooks_use_reno(sk);
		return;
	}
	hooks_recall(sk, s, settings->head.path_memory_s);

	DCC_CORE(_init)(&s->core, &s->tcp.model.path, &s->params, &s->control);
	s->pacing_is_ours = !sk->sk_pacing_status;
	if (s->pacing_is_ours)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	hooks_apply(tp, s);
	__sync_fetch_and_add(&dcc_sockets, 1);
}

/* The next algorithm inherits neither pace nor pacing. */
SEC("struct_ops/release")
void DCC_BPF_PROG(DCC_HOOK(release), struct sock *sk)
{
	struct hooks_settings *settings = hooks_settings();
	struct hooks_sock *s = hooks_state(sk, 0);

	if (!s)
		return;
	if (settings)
		hooks_tell(sk, s, settings->head.path_memory_s, bpf_ktime_get_ns());
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
	/* SO_MAX_PACING_RATE keeps pacing on. */
	if (s->pacing_is_ours && sk->sk_max_pacing_rate == ~0UL &&
	    sk->sk_pacing_status == SK_PACING_NEEDED)
		sk->sk_pacing_status = SK_PACING_NONE;
	bpf_sk_storage_delete(&dcc_sockets_map, sk);
}

/* Notes that the packet at snd_nxt may leave now. */
static __always_inline void hooks_note_xmit(struct tcp_sock *tp, struct hooks_sock *s)
{
	struct hooks_note *note = &s->notes[(s->head - 1) & (HOOKS_NOTES - 1)];

	/* Asked again before anything left: the time is now. */
	if (s->head == s->tail || note->seq != tp->snd_nxt) {
		if (s->head - s->tail >= HOOKS_NOTES)
			s->tail = s->head - HOOKS_NOTES + 1;
		note = &s->notes[s->head & (HOOKS_NOTES - 1)];
		s->head++;
	}
	note->seq = tp->snd_nxt;
	note->sent_ns = dcc_max_u64(tp->tcp_clock_cache, tp->tcp_wstamp_ns);
}

/* Restarts the core if the flow has been idle. */
static __always_inline void hooks_restart_after_idle(struct tcp_sock *tp, struct hooks_sock *s)
{
	struct dcc_tcp_pause pause = {
		.now_ns = tp->tcp_clock_cache,
		.departure_ns = tp->tcp_wstamp_ns,
		.packets_out = tp->packets_out,
		.ca_state = tp->inet_conn.icsk_ca_state,
		.app_limited = tp->app_limited,
	};

	if (s->stopped_ns || !dcc_tcp_restarts(&s->tcp, &pause))
		return;
	DCC_CORE(_restart)(&s->core, &s->tcp.model.path, &s->params, pause.now_ns, &s->control);
	hooks_apply(tp, s);
}

/* TCP calls it whenever it tries to send; hence the idle rule and the notes are here. */
SEC("struct_ops/min_tso_segs")
__u32 DCC_BPF_PROG(DCC_HOOK(min_tso_segs), struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hooks_sock *s = hooks_state(sk, 0);

	if (!s)
		return 1;
	hooks_restart_after_idle(tp, s);
	hooks_note_xmit(tp, s);
	return 1;
}

/* The note of when the packet that ends at end_seq was sent; 0: none. */
static __always_inline u64 hooks_noted_ns(struct hooks_sock *s, u32 end_seq)
{
	u32 i;

	/* Past every note that has a younger one which still lies before end_seq. */
	for (i = 0; i < HOOKS_NOTES_AT_ONCE; i++) {
		if (s->tail + 1 == s->head || s->tail == s->head)
			break;
		if (!dcc_seq_before(s->notes[(s->tail + 1) & (HOOKS_NOTES - 1)].seq, end_seq))
			break;
		s->tail++;
	}
	if (s->tail == s->head ||
	    !dcc_seq_before(s->notes[s->tail & (HOOKS_NOTES - 1)].seq, end_seq))
		return 0;
	return s->notes[s->tail & (HOOKS_NOTES - 1)].sent_ns;
}

/*
 * When the ACK came that TCP works on: by the device's stamp, or now.  A socket that
 * its owner holds gets its ACKs later, one after the other; what is noted is then of
 * a newer one.
 */
static __always_inline u64 hooks_arrived_ns(struct tcp_sock *tp, struct hooks_sock *s, u64 sent_ns)
{
	struct dcc_arrival *arrival;
	u64 now_ns = tp->tcp_clock_cache;

	arrival = bpf_sk_storage_get(&dcc_arrivals, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!arrival || arrival->ack != tp->snd_una || arrival->arrived_ns <= sent_ns ||
	    arrival->arrived_ns > now_ns)
		return now_ns;
	__sync_fetch_and_add(&dcc_stamps_hit, 1);
	/* Time does not go back, between an ACK with a stamp and one without. */
	return dcc_max_u64(arrival->arrived_ns, s->tcp.last_ack_ns);
}

/* The kernel's acknowledgment as the core wants it; false: it delivered nothing. */
static __always_inline bool hooks_sample(struct tcp_sock *tp, struct hooks_sock *s,
					 const struct rate_sample *rs, bool arrivals,
					 struct dcc_ack *ack)
{
	u64 noted_ns = hooks_noted_ns(s, rs->last_end_seq);
	bool is_noted = !rs->is_retrans && noted_ns;
	struct dcc_tcp_view v;

	/* The padding, too: a subprogram may read all of it. */
	__builtin_memset(&v, 0, sizeof(v));
	hooks_view(tp, &v);
	v.sampled = rs->prior_mstamp != 0;
	v.rtt_us = (s32)rs->rtt_us;
	v.is_retrans = rs->is_retrans;
	v.is_app_limited = rs->is_app_limited;
	v.is_ack_delayed = rs->is_ack_delayed;
	v.acked_sacked = rs->acked_sacked;
	v.prior_delivered = rs->prior_delivered;
	v.last_end_seq = rs->last_end_seq;
	if (v.is_retrans)
		noted_ns = dcc_sample_retrans_ns(tp->rack.mstamp, tp->rack.rtt_us, v.now_us,
						 v.now_ns);
	if (arrivals && is_noted)
		v.now_ns = hooks_arrived_ns(tp, s, noted_ns);
	if (!subprog_tcp_sample(&s->tcp, &v, noted_ns, ack))
		return false;
	if (is_noted && ack->send_ns == noted_ns)
		__sync_fetch_and_add(&dcc_notes_hit, 1);
	return true;
}

/* A stopped flow's packet of data has been acknowledged: the core gets a probe's reply. */
static __always_inline void hooks_probe_sampled(struct hooks_sock *s, struct dcc_ack *ack)
{
	if (!s->stopped_ns || ack->flags & DCC_ACK_NO_RTT || ack->send_ns < s->stopped_ns)
		return;
	/* An ACK that came soon was not held, and a stopped flow may get no better sample. */
	if (dcc_tcp_came_soon(&s->tcp, ack))
		ack->flags &= ~DCC_ACK_DELAYED;
	ack->flags = (ack->flags & DCC_ACK_DELAYED) | DCC_ACK_PROBE | DCC_ACK_PROBE_DATA;
	ack->acked_bytes = 0;
	ack->inflight_bytes = 0;
	if (!(ack->flags & DCC_ACK_DELAYED))
		dcc_model_guess(&s->tcp.model, ack->rtt_ns);
}

/*
 * A decision as a line of the event bpf_trace:bpf_trace_printk, written as the module's tracepoint
 * delaycc:ack writes it, with those of its fields that all programs have.
 */
static __always_inline void hooks_trace(struct sock *sk, const struct hooks_sock *s,
					const struct dcc_ack *ack)
{
	struct {
		__s32 gradient_q16;
		__u32 branch;
	} last = {};

	DELAYCC_BPF_DESCRIBE(&s->core, &last);
	bpf_printk("ack: name=" DELAYCC_BPF_NAME
		   " sport=%u dport=%u rtt_ns=%u gradient_q16=%d cwnd_milli=%llu pacing_bps=%llu branch=%u flows=%u",
		   sk->__sk_common.skc_num, bpf_ntohs(sk->__sk_common.skc_dport), ack->rtt_ns,
		   last.gradient_q16, (s->control.cwnd_q16 * 1000) >> DCC_WINDOW_SHIFT,
		   s->control.pacing_bps, last.branch, s->flows);
}

static __always_inline void hooks_on_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hooks_settings *settings;
	struct dcc_ack ack = {};
	struct hooks_sock *s;
	bool decided = false;

	/* TCP passes the handshake's last ACK before init(). */
	s = hooks_state(sk, 0);
	if (!s)
		return;

	settings = hooks_settings();
	if (settings && settings->head.generation != s->generation)
		hooks_read_settings(sk, s, settings);
	hooks_read_packet(tp, s);
	DELAYCC_BPF_EACH_ACK(sk, &s->params);
	if (dcc_tcp_takes_loss(&s->tcp)) {
		DCC_CORE(_loss)(&s->core, &s->tcp.model.path, &s->params, tp->tcp_clock_cache,
				&s->control);
		__sync_fetch_and_add(&dcc_losses, 1);
	}
	if (hooks_sample(tp, s, rs, settings && settings->head.arrivals, &ack)) {
		s->flows = DELAYCC_BPF_FLOWS(sk);
		ack.flows = s->flows;
		if (DELAYCC_PROBES)
			hooks_probe_sampled(s, &ack);
		decided = DCC_CORE(_ack)(&s->core, &s->tcp.model.path, &s->params, &ack,
					 &s->control);
		if (decided)
			__sync_fetch_and_add(&dcc_decisions, 1);
		s->tcp.last_ack_ns = ack.now_ns;
		__sync_fetch_and_add(&dcc_acks, 1);
	}
	hooks_apply(tp, s);
	if (settings && dcc_model_has_news(&s->tcp.model, tp->tcp_clock_cache))
		hooks_tell(sk, s, settings->head.path_memory_s, tp->tcp_clock_cache);
	if (decided && settings && settings->head.trace)
		hooks_trace(sk, s, &ack);
}

/*
 * The raw context: cong_control has another number of arguments from kernel 6.10
 * on, and the verifier never looks at the branch that is not taken.
 */
SEC("struct_ops/cong_control")
void DCC_HOOK(cong_control)(unsigned long long *ctx)
{
	const struct rate_sample *rs;

	/* Assembly, or clang adds the offset to ctx, which the verifier forbids. */
	if (dcc_cong_control_is_long)
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));
	hooks_on_ack((struct sock *)ctx[0], rs);
}

static __always_inline void hooks_timeout(struct tcp_sock *tp, struct hooks_sock *s)
{
	dcc_tcp_takes_loss(&s->tcp);
	DCC_CORE(_rto)(&s->core, &s->tcp.model.path, &s->params, tp->tcp_clock_cache, &s->control);
	__sync_fetch_and_add(&dcc_timeouts, 1);
	hooks_apply(tp, s);
}

SEC("struct_ops/set_state")
void DCC_BPF_PROG(DCC_HOOK(set_state), struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hooks_sock *s = hooks_state(sk, 0);
	enum dcc_tcp_event event;
	u32 cwnd;

	if (!s)
		return;
	cwnd = tp->snd_cwnd;
	event = dcc_tcp_state_event(tp->inet_conn.icsk_ca_state, new_state, tp->high_seq,
				    tp->snd_una);
	if (event == DCC_TCP_LOSS) {
		dcc_tcp_saw_loss(&s->tcp);
	} else if (event == DCC_TCP_RTO) {
		hooks_timeout(tp, s);
		tp->snd_cwnd = cwnd;
	}
}

SEC("struct_ops/cwnd_event")
void DCC_BPF_PROG(DCC_HOOK(cwnd_event), struct sock *sk, enum tcp_ca_event event)
{
	struct hooks_sock *s = hooks_state(sk, 0);

	/* A timeout, or a receiver that takes back what it had acknowledged. */
	if (s && event == CA_EVENT_LOSS)
		hooks_timeout((struct tcp_sock *)sk, s);
}

SEC("struct_ops/ssthresh")
__u32 DCC_BPF_PROG(DCC_HOOK(ssthresh), struct sock *sk)
{
	return dcc_max_u32(((struct tcp_sock *)sk)->snd_cwnd, 2);
}

/* There is nothing to undo: the law has gone on during the recovery. */
SEC("struct_ops/undo_cwnd")
__u32 DCC_BPF_PROG(DCC_HOOK(undo_cwnd), struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

/* The open sockets of this algorithm, for `delaycc top`: one struct dcc_flow each. */
SEC("iter/tcp")
int dcc_flows(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct dcc_flow flow = {};
	struct hooks_sock *s;
	struct tcp_sock *tp;
	struct sock *sk;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	s = bpf_sk_storage_get(&dcc_sockets_map, sk, NULL, 0);
	if (!s)
		return 0;
	flow.cookie = bpf_get_socket_cookie(sk);
	flow.line_rate_bps = s->tcp.model.path.line_rate_bps;
	flow.pace_bps = s->control.pacing_bps;
	flow.cwnd_q16 = s->control.cwnd_q16;
	flow.probe_ns = s->control.probe_ns;
	flow.rtt_ns = s->tcp.sampler.rtt_ns;
	flow.base_rtt_ns = s->tcp.model.path.base_rtt_ns;
	DELAYCC_BPF_DESCRIBE(&s->core, &flow);
	flow.bytes_acked = tp->bytes_acked;
	flow.packets_out = tp->packets_out;
	flow.total_retrans = tp->total_retrans;
	flow.flows = s->flows;
	flow.priority = sk->sk_priority;
	flow.netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	flow.family = sk->__sk_common.skc_family;
	flow.sport = sk->__sk_common.skc_num;
	flow.dport = bpf_ntohs(sk->__sk_common.skc_dport);
	if (flow.family == DCC_AF_INET6) {
		BPF_CORE_READ_INTO(&flow.saddr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&flow.daddr, sk, __sk_common.skc_v6_daddr);
	} else {
		BPF_CORE_READ_INTO((__be32 *)&flow.saddr, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__be32 *)&flow.daddr, sk, __sk_common.skc_daddr);
	}
	__builtin_memcpy(flow.algorithm, DELAYCC_BPF_NAME, sizeof(DELAYCC_BPF_NAME));
	bpf_seq_write(ctx->meta->seq, &flow, sizeof(flow));
	return 0;
}

SEC(".struct_ops")
struct tcp_congestion_ops dcc_ops = {
	.init = (void *)DCC_HOOK(init),
	.release = (void *)DCC_HOOK(release),
	.cong_control = (void *)DCC_HOOK(cong_control),
	.min_tso_segs = (void *)DCC_HOOK(min_tso_segs),
	.set_state = (void *)DCC_HOOK(set_state),
	.cwnd_event = (void *)DCC_HOOK(cwnd_event),
	.ssthresh = (void *)DCC_HOOK(ssthresh),
	.undo_cwnd = (void *)DCC_HOOK(undo_cwnd),
	.flags = DCC_TCP_CONG_NON_RESTRICTED,
	.name = DELAYCC_BPF_NAME,
};

#endif /* DELAYCC_HOOKS_BPF_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver's count of flows where no module may be loaded: what delaycc_count.ko
 * does, for the sockets of a cgroup (version 2; `delaycc count` attaches it).  A
 * receiver writes N into the pure ACKs that it sends, a sender notes N from the
 * ACKs that it gets.  Both ends work with either end of the module: the option is
 * that of core/dcc_option.h.
 *
 * Counting is the module's (kernel/count/delaycc_flows.h): time in parts of an
 * eighth of active_us, and each part has the number of flows whose newest data
 * came in it.  What differs: where a flow is noted is in the socket's storage, not
 * in a table, so that no flow is left out for want of room; no mode counts all flows
 * and reports to some (count_flows=2), as the cgroup does that; and the kernel's own
 * parser finds the option, so that one which is there twice counts once.
 *
 * TCP has checked an ACK's sequence numbers before it shows its options, and calls
 * for each ACK with an option that it does not know: such a header never takes the
 * fast path.
 */
#include "delaycc_core.bpf.h"

#undef inline

#include "delaycc_reports.bpf.h"
#include "dcc_option.h"

/* From headers that vmlinux.h cannot carry. */
#define IFF_LOOPBACK 8
#define TCPHDR_FIN 0x01
#define TCPHDR_SYN 0x02
#define TCPHDR_RST 0x04
#define TCPHDR_ACK 0x10
#define TCPHDR_URG 0x20

/* As delaycc_flows.h. */
#define COUNT_PARTS 8
#define COUNT_RING 16
#define COUNT_NETNS_MAX 4096

char LICENSE[] SEC("license") = "GPL";

const volatile char dcc_version[32] = DELAYCC_VERSION;

/* Set by the loader before the program is loaded. */
const volatile __u32 dcc_active_us = 10000;

/* Read by the loader. */
__u64 dcc_written;  /* ACKs sent with N */
__u64 dcc_no_room;  /* ACKs sent without, as the header was full */
__u64 dcc_read;	    /* reports that a sender noted */

/* One namespace's flows. */
struct count_net {
	struct bpf_spin_lock lock;
	u32 flows; /* N: the sum of in_part[] */
	u64 part;  /* the newest one */
	u32 in_part[COUNT_RING];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH); /* one with a lock cannot be an LRU */
	__uint(max_entries, COUNT_NETNS_MAX);
	__type(key, __u64);
	__type(value, struct count_net);
} dcc_count_nets SEC(".maps");

/* One receiving socket. */
struct count_sock {
	u64 part;     /* in which its newest data came; 0: in none that counts */
	u32 progress; /* changes with all data that arrives in the window */
	u32 flows;    /* N for the ACK that is being made */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct count_sock);
} dcc_count_sockets SEC(".maps");

static __always_inline bool count_lives(const struct count_net *net, u64 part)
{
	return part && net->part - part <= COUNT_PARTS;
}

/* Makes the part the newest one.  Under the lock, as the next two. */
static __always_inline void count_advance(struct count_net *net, u64 part)
{
	u64 step;
	u32 i;

	if (part <= net->part)
		return;
	/* What becomes too old, and with it all that lay between. */
	for (i = 0; i < COUNT_RING; i++) {
		step = net->part + 1 + i;
		if (step > part)
			break;
		net->flows -= net->in_part[(step - 1 - COUNT_PARTS) % COUNT_RING];
		net->in_part[(step - 1 - COUNT_PARTS) % COUNT_RING] = 0;
	}
	net->part = part;
}

static __always_inline void count_take_out(struct count_net *net, struct count_sock *s)
{
	u32 *in_part = &net->in_part[s->part % COUNT_RING];

	if (count_lives(net, s->part) && *in_part) {
		--*in_part;
		net->flows--;
	}
	s->part = 0;
}

static __always_inline void count_put_in(struct count_net *net, struct count_sock *s)
{
	count_take_out(net, s);
	s->part = net->part;
	net->in_part[s->part % COUNT_RING]++;
	net->flows++;
}

static __always_inline struct count_net *count_netns(struct bpf_sock_ops *ctx)
{
	u64 cookie = bpf_get_netns_cookie(ctx);
	struct count_net *net = bpf_map_lookup_elem(&dcc_count_nets, &cookie);
	struct count_net empty = {};

	if (net)
		return net;
	/* A part of 0 is none. */
	empty.part = COUNT_RING;
	bpf_map_update_elem(&dcc_count_nets, &cookie, &empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&dcc_count_nets, &cookie);
}

static __always_inline bool count_has_ended(u32 state)
{
	return state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING ||
	       state == TCP_TIME_WAIT || state == TCP_CLOSE;
}

/* All data that has arrived in the window, in order or not. */
static __always_inline u32 count_progress(const struct tcp_sock *tp)
{
	return tp->rcv_nxt + tp->rcv_ooopack;
}

/* A socket sends.  Returns N if it is an active receiver, else 0. */
static __always_inline u32 count_flow(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				      struct count_sock *s)
{
	bool ended = count_has_ended(ctx->state);
	u32 progress = count_progress(tp);
	struct count_net *net;
	u64 part;
	u32 flows;

	if (!s->part && (ended || progress == s->progress))
		return 0;
	net = count_netns(ctx);
	if (!net)
		return 0;
	part = dcc_div_u64(bpf_ktime_get_ns(), dcc_active_us * (1000ULL / COUNT_PARTS));
	bpf_spin_lock(&net->lock);
	count_advance(net, part + COUNT_RING);
	if (ended)
		count_take_out(net, s);
	else if (progress != s->progress)
		count_put_in(net, s);
	if (!count_lives(net, s->part))
		s->part = 0;
	flows = s->part ? net->flows : 0;
	bpf_spin_unlock(&net->lock);
	s->progress = progress;
	return flows;
}

static __always_inline struct tcp_sock *count_tcp(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return sk ? bpf_skc_to_tcp_sock(sk) : NULL;
}

/* The loopback has no queue to control. */
static __always_inline bool count_is_loopback(struct tcp_sock *tp)
{
	struct dst_entry *dst = BPF_CORE_READ(tp, inet_conn.icsk_inet.sk.sk_dst_cache);

	return BPF_CORE_READ(dst, dev, flags) & IFF_LOOPBACK;
}

static __always_inline void count_begin(struct bpf_sock_ops *ctx)
{
	struct tcp_sock *tp = count_tcp(ctx);
	struct count_sock *s;

	if (!tp || count_is_loopback(tp))
		return;
	s = bpf_sk_storage_get(&dcc_count_sockets, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return;
	s->progress = count_progress(tp);
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags |
					       BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG |
					       BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
}

/* An ACK, its options, and nothing else.  Segments of data would get shorter. */
static __always_inline bool count_is_pure_ack(struct bpf_sock_ops *ctx)
{
	return ctx->args[0] == 0 && ctx->skb_len == 0 &&
	       (ctx->skb_tcp_flags & (TCPHDR_FIN | TCPHDR_SYN | TCPHDR_RST | TCPHDR_ACK |
				      TCPHDR_URG)) == TCPHDR_ACK;
}

static __always_inline void count_reserve(struct bpf_sock_ops *ctx)
{
	struct tcp_sock *tp;
	struct count_sock *s;

	if (ctx->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS)
		return;
	tp = count_tcp(ctx);
	if (!tp)
		return;
	s = bpf_sk_storage_get(&dcc_count_sockets, tp, NULL, 0);
	if (!s)
		return;
	s->flows = count_flow(ctx, tp, s);
	if (!s->flows || !count_is_pure_ack(ctx)) {
		s->flows = 0;
		return;
	}
	if (bpf_reserve_hdr_opt(ctx, DCC_OPTION_BYTES, 0)) {
		__sync_fetch_and_add(&dcc_no_room, 1);
		s->flows = 0;
	}
}

static __always_inline void count_write(struct bpf_sock_ops *ctx)
{
	struct tcp_sock *tp = count_tcp(ctx);
	u8 option[DCC_OPTION_BYTES];
	struct count_sock *s;

	if (!tp)
		return;
	s = bpf_sk_storage_get(&dcc_count_sockets, tp, NULL, 0);
	if (!s || !s->flows)
		return;
	dcc_option_write(option, s->flows);
	s->flows = 0;
	if (!bpf_store_hdr_opt(ctx, option, sizeof(option), 0))
		__sync_fetch_and_add(&dcc_written, 1);
}

static __always_inline void count_read(struct bpf_sock_ops *ctx)
{
	/* What to look for: kind, and so many bytes that have to be the same. */
	u8 option[DCC_OPTION_BYTES] = { DCC_OPTION_KIND, 4, DCC_OPTION_EXID >> 8,
					DCC_OPTION_EXID & 0xff };
	struct tcp_sock *tp = count_tcp(ctx);
	struct dcc_report *report;
	u32 flows;

	/* A longer one is of a version to come, and gives an error. */
	if (!tp || bpf_load_hdr_opt(ctx, option, sizeof(option), 0) != sizeof(option))
		return;
	flows = option[5] << 16 | option[6] << 8 | option[7];
	if (option[4] != DCC_OPTION_VERSION || !flows)
		return;
	report = bpf_sk_storage_get(&dcc_reports, tp, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!report)
		return;
	report->at_ns = bpf_ktime_get_ns();
	report->flows = flows;
	__sync_fetch_and_add(&dcc_read, 1);
}

SEC("sockops")
int dcc_count(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		count_begin(ctx);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		count_reserve(ctx);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		count_write(ctx);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		count_read(ctx);
		break;
	}
	return 1;
}

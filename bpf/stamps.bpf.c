// SPDX-License-Identifier: GPL-2.0
/*
 * When a device received the ACKs, by its own time stamps: for the RTTs of algorithms
 * that run as BPF programs.  Between the stamp and TCP an ACK waits for an interrupt,
 * for its processor and for what that has to do first.  This wait is no delay of the
 * network; without stamps it looks like one.
 *
 * `delaycc stamps DEV` attaches this to the device's ingress, one copy for each device.
 * It notes each segment's arrival in the storage of the socket that it is for, where
 * that runs an algorithm of ours; the algorithm takes it (hooks_arrived_ns()).
 *
 * The device's clock has another zero than the kernel's, may be corrected at any time,
 * and runs faster or slower.  So only differences are used: the time from a stamp until
 * this program runs is the offset of the clocks and a wait, of which the least that
 * there was lately is taken for the offset.  An arrival is the stamp on the kernel's
 * clock, with that least wait.  The base RTT has it, too, so a queue's delay does not.
 *
 * What is not here: the time at which the device sent a packet.  The kernel tells a
 * program that of the last packet of each write alone.
 */
#include "vmlinux.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "delaycc_arrivals.bpf.h"

/* From headers that vmlinux.h cannot carry. */
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPV4_OFFSET_BITS 0x1fff
#define TC_ACT_UNSPEC (-1)

/* A least wait is forgotten by so much of the time since: clocks differ by less. */
#define STAMPS_DRIFT_SHIFT 13 /* 122 ppm */
/* And is measured anew after this time without one that is as short: the clock was set. */
#define STAMPS_STALE_NS 100000000ULL

char LICENSE[] SEC("license") = "GPL";

const volatile char dcc_version[32] = DELAYCC_VERSION;

/* Set by the loader: what the device's stamping was before (struct hwtstamp_config). */
const volatile __s32 dcc_before_tx_type = 0;
const volatile __s32 dcc_before_rx_filter = 0;
/* Set by the loader: the device's qdisc clsact was not there before. */
const volatile __s32 dcc_made_clsact = 0;

/* Read by the loader: segments of TCP that came with a stamp, and without. */
__u64 dcc_stamped;
__u64 dcc_unstamped;

/* The least time from a stamp to here, and when it was measured. */
struct {
	__u64 wait_ns, at_ns;
} stamps_least;

/* A TCP segment's addresses and the part of its header that is needed. */
struct stamps_segment {
	struct bpf_sock_tuple tuple;
	u32 tuple_bytes;
	u32 ack; /* network order */
};

static __always_inline bool stamps_read_tcp(struct __sk_buff *skb, u32 at, __be16 *sport,
					    __be16 *dport, u32 *ack)
{
	struct tcphdr tcp;

	if (bpf_skb_load_bytes_relative(skb, at, &tcp, sizeof(tcp), BPF_HDR_START_NET) || !tcp.ack)
		return false;
	*sport = tcp.source;
	*dport = tcp.dest;
	*ack = tcp.ack_seq;
	return true;
}

/* False: no TCP segment with an ACK. */
static __always_inline bool stamps_read(struct __sk_buff *skb, struct stamps_segment *segment)
{
	struct bpf_sock_tuple *tuple = &segment->tuple;
	struct ipv6hdr ip6;
	struct iphdr ip;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET) ||
		    ip.protocol != IPPROTO_TCP || ip.frag_off & bpf_htons(IPV4_OFFSET_BITS))
			return false;
		tuple->ipv4.saddr = ip.saddr;
		tuple->ipv4.daddr = ip.daddr;
		segment->tuple_bytes = sizeof(tuple->ipv4);
		return stamps_read_tcp(skb, ip.ihl * 4, &tuple->ipv4.sport, &tuple->ipv4.dport,
				       &segment->ack);
	}
	if (skb->protocol != bpf_htons(ETH_P_IPV6))
		return false;
	if (bpf_skb_load_bytes_relative(skb, 0, &ip6, sizeof(ip6), BPF_HDR_START_NET) ||
	    ip6.nexthdr != IPPROTO_TCP)
		return false;
	__builtin_memcpy(tuple->ipv6.saddr, &ip6.saddr, sizeof(ip6.saddr));
	__builtin_memcpy(tuple->ipv6.daddr, &ip6.daddr, sizeof(ip6.daddr));
	segment->tuple_bytes = sizeof(tuple->ipv6);
	return stamps_read_tcp(skb, sizeof(ip6), &tuple->ipv6.sport, &tuple->ipv6.dport,
			       &segment->ack);
}

/* The stamp on the kernel's clock. */
static __always_inline u64 stamps_arrived_ns(u64 stamp_ns, u64 now_ns)
{
	u64 since_ns = now_ns - stamps_least.at_ns;
	/* Modulo 2^64: the clocks' zeros are years apart. */
	u64 wait_ns = now_ns - stamp_ns;
	u64 least_ns = stamps_least.wait_ns + (since_ns >> STAMPS_DRIFT_SHIFT);

	if ((s64)(wait_ns - least_ns) <= 0 || since_ns > STAMPS_STALE_NS) {
		stamps_least.wait_ns = wait_ns;
		stamps_least.at_ns = now_ns;
		least_ns = wait_ns;
	}
	return stamp_ns + least_ns;
}

static __always_inline void stamps_note(struct __sk_buff *skb, struct stamps_segment *segment,
					u64 arrived_ns)
{
	struct dcc_arrival *arrival;
	struct bpf_sock *sk;
	struct tcp_sock *tp;

	if (segment->tuple_bytes == sizeof(segment->tuple.ipv4))
		sk = bpf_skc_lookup_tcp(skb, &segment->tuple, sizeof(segment->tuple.ipv4),
					BPF_F_CURRENT_NETNS, 0);
	else
		sk = bpf_skc_lookup_tcp(skb, &segment->tuple, sizeof(segment->tuple.ipv6),
					BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	/* The algorithm made it. */
	arrival = tp ? bpf_sk_storage_get(&dcc_arrivals, tp, NULL, 0) : NULL;
	if (arrival) {
		arrival->arrived_ns = arrived_ns;
		arrival->ack = bpf_ntohl(segment->ack);
	}
	bpf_sk_release(sk);
}

SEC("tc")
int dcc_stamps(struct __sk_buff *skb)
{
	struct stamps_segment segment = {};

	if (!stamps_read(skb, &segment))
		return TC_ACT_UNSPEC;
	if (!skb->hwtstamp) {
		__sync_fetch_and_add(&dcc_unstamped, 1);
		return TC_ACT_UNSPEC;
	}
	__sync_fetch_and_add(&dcc_stamped, 1);
	stamps_note(skb, &segment, stamps_arrived_ns(skb->hwtstamp, bpf_ktime_get_ns()));
	return TC_ACT_UNSPEC;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What all sockets of a cgroup (version 2) begin with: their congestion control,
 * and their priority (SO_PRIORITY), for algorithms that go by it: PrioPlus.  Two
 * programs, both to be attached (`delaycc cgroup` does it):
 *
 *	dcc_sock_create	what the cgroup's processes open: the priority
 *	dcc_sock_ops	what they connect and accept: the algorithm, and the
 *			priority of what they accept, which would be 0
 *
 * Both are set before an algorithm begins with the socket, and the process may
 * change them afterwards.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "delaycc_bpf.h"

/* From headers that vmlinux.h cannot carry. */
#define SOL_SOCKET 1
#define SO_PRIORITY 12
#define SOL_TCP 6
#define TCP_CONGESTION 13

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dcc_cgroup);
} dcc_cgroup SEC(".maps");

static __always_inline struct dcc_cgroup *wanted(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&dcc_cgroup, &key);
}

SEC("cgroup/sock_create")
int dcc_sock_create(struct bpf_sock *ctx)
{
	struct dcc_cgroup *w = wanted();

	if (w && w->has_priority)
		ctx->priority = w->priority;
	return 1; /* allowed */
}

SEC("sockops")
int dcc_sock_ops(struct bpf_sock_ops *ctx)
{
	struct dcc_cgroup *w = wanted();
	char algorithm[sizeof(w->algorithm)];
	int priority;

	if (!w || (ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB &&
		   ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB))
		return 1;
	if (w->has_priority && ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		priority = w->priority;
		bpf_setsockopt(ctx, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));
	}
	if (w->algorithm[0]) {
		__builtin_memcpy(algorithm, w->algorithm, sizeof(algorithm));
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, algorithm, sizeof(algorithm));
	}
	return 1;
}

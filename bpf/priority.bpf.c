// SPDX-License-Identifier: GPL-2.0
/*
 * The priority (SO_PRIORITY) of all sockets of a cgroup (version 2), for
 * algorithms that go by it: PrioPlus.  Two programs, both to be attached
 * (docs/operate/prioplus.md has the commands):
 *
 *	dcc_sock_create	what the cgroup's processes open
 *	dcc_sock_ops	what they accept, whose priority would be 0
 *
 * The priority is the only element of the map dcc_priority.  It is set before an
 * algorithm begins with the socket, and the process may change it afterwards.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* From headers that vmlinux.h cannot carry. */
#define SOL_SOCKET 1
#define SO_PRIORITY 12

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} dcc_priority SEC(".maps");

static __always_inline __u32 priority(void)
{
	__u32 key = 0;
	__u32 *value = bpf_map_lookup_elem(&dcc_priority, &key);

	return value ? *value : 0;
}

SEC("cgroup/sock_create")
int dcc_sock_create(struct bpf_sock *ctx)
{
	ctx->priority = priority();
	return 1; /* allowed */
}

SEC("sockops")
int dcc_sock_ops(struct bpf_sock_ops *ctx)
{
	int value = priority();

	if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_setsockopt(ctx, SOL_SOCKET, SO_PRIORITY, &value, sizeof(value));
	return 1;
}

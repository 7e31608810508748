/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a BPF program and its loader (user/bpf) share: the layout of the maps.
 *
 *	dcc_settings	array of one: the values that new and open sockets use
 *	dcc_links	hash: speed of each device, for sockets whose line rate is
 *			not set
 *	dcc_paths	trie: base RTT and noise of destination prefixes
 *	dcc_memory	hash: struct dcc_cache_entry (core/path/cache.h), what connections
 *			have learnt of a destination; the least recently used goes
 *	dcc_reports	socket storage: N as receivers report it; one map, that the
 *			algorithms which want N share with the program that reads
 *			ACKs (count.bpf.c), whichever is loaded first
 *	dcc_arrivals	socket storage: when the newest ACK came, by its device;
 *			shared in the same way with the programs that read the
 *			stamps (stamps.bpf.c)
 *
 * An object describes its own parameters (dcc_param_table, in .rodata), so that
 * a loader serves algorithms that it does not know.
 */
#ifndef DELAYCC_BPF_H
#define DELAYCC_BPF_H

/* Names of what the loader looks up. */
#define DELAYCC_BPF_SETTINGS "dcc_settings"
#define DELAYCC_BPF_LINKS "dcc_links"
#define DELAYCC_BPF_PATHS "dcc_paths"
#define DELAYCC_BPF_MEMORY "dcc_memory"
#define DELAYCC_BPF_OPS "dcc_ops"
#define DELAYCC_BPF_REPORTS "dcc_reports"
#define DELAYCC_BPF_ARRIVALS "dcc_arrivals"

/* Values begin with these; the algorithm's own parameters follow.  All are u32. */
struct dcc_settings_head {
	__u32 generation; /* moves with each change; open sockets follow it */
	__u32 line_rate_mbps;
	__u32 base_rtt_ns;
	__u32 link_overhead_bytes;
	__u32 path_memory_s; /* 0: no path memory */
	__u32 noise_ns; /* 0: to be estimated */
	__u32 arrivals; /* not 0: dcc_arrivals is written */
	__u32 trace; /* not 0: each decision is a line of the kernel's trace */
};

/* One parameter.  Allowed are min..max, and 0 where zero_ok. */
struct dcc_param_info {
	char name[32]; /* empty: the table's end */
	__u32 offset;  /* of the u32 in dcc_settings */
	__u32 min;
	__u32 max;
	__u32 zero_ok;
};

#define DELAYCC_BPF_PARAMS_MAX 32

struct dcc_link_key {
	__u32 netns; /* inode number of the namespace */
	__u32 ifindex;
};

#define DELAYCC_BPF_LINKS_MAX 1024

/*
 * As a trie of the kernel has it: the prefix's length, then what it is of.  The family keeps IPv4
 * out of "::/0".
 */
struct dcc_path_key {
	__u32 bits; /* of family and address */
	__u32 family; /* 4 or 6 */
	__u8 address[16]; /* IPv4 is mapped into IPv6 */
};

#define DELAYCC_BPF_PATH_FAMILY_BITS 32

/* 0: not configured for this prefix. */
struct dcc_path_values {
	__u32 base_rtt_ns;
	__u32 noise_ns;
};

/* As many as the modules' sysctl base_rtt_paths takes. */
#define DELAYCC_BPF_PATHS_MAX 4096

/* IPv4 is mapped into IPv6. */
struct dcc_memory_key {
	__u32 netns; /* inode number of the namespace */
	__u32 wire_bytes; /* of a full packet */
	__u8 address[16];
};

/* Four times the modules: each processor keeps some of a small map free for itself. */
#define DELAYCC_BPF_MEMORY_MAX 4096

/* What sockets of a cgroup begin with (cgroup.bpf.c), in the array dcc_cgroup. */
struct dcc_cgroup {
	char algorithm[16]; /* empty: as without */
	__u32 priority;
	__u32 has_priority;
};

/* What a sender's ACKs said of the receiver's flows (count.bpf.c), in the socket's storage. */
struct dcc_report {
	__u64 at_ns; /* bpf_ktime_get_ns() */
	__u32 flows; /* N; 0: nothing */
	__u32 reserved;
};

/* When a segment came, by its device's stamp (stamps.bpf.c), in the storage of its socket. */
struct dcc_arrival {
	__u64 arrived_ns; /* of bpf_ktime_get_ns() */
	__u32 ack;	  /* its acknowledgment number */
	__u32 reserved;
};

/* N is forgotten after this time without a report, and after 8 RTTs at least, as by the module. */
#define DELAYCC_BPF_REPORT_NS 20000000U

/* One flow, as the iterator dcc_flows writes it. */
struct dcc_flow {
	__u64 cookie; /* of the socket */
	__u64 line_rate_bps;
	__u64 pace_bps; /* on the wire */
	__u64 cwnd_q16; /* packets */
	__u64 bytes_acked;
	__u64 probe_ns; /* not 0: stopped, and probes at this interval */
	__u32 rtt_ns;
	__u32 base_rtt_ns;
	__s32 gradient_q16;   /* of the delay, where the law has one */
	__u32 branch;	      /* of the last decision; its meaning is the algorithm's */
	__u32 packets_out;
	__u32 total_retrans;
	__u32 priority;
	__u32 netns;
	__u32 flows; /* N as the receiver reports it; 0: unknown */
	__u16 family;
	__u16 sport; /* host order */
	__u16 dport;
	__u16 reserved;
	__u8 saddr[16];
	__u8 daddr[16];
	char algorithm[16];
};

#endif /* DELAYCC_BPF_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What delaycc.ko offers to the algorithms' modules, tcp_<name>.ko.
 *
 * The hooks of a module (delaycc_hooks.h, the same for all) put a struct
 * delaycc_sock into each socket's state and call, for one acknowledgment and in
 * this order,
 *
 *	delaycc_path_update()	the route, its rate and base RTT, a packet's size
 *	delaycc_sample()	the kernel's ACK as the core wants it
 *	(the core)
 *	delaycc_apply()		the core's control as window and pacing rate
 *	delaycc_note_sent()	remember send times, in ns, for the next ACK
 *
 * plus delaycc_note_xmit() from .min_tso_segs.  All of these need the socket
 * lock, which TCP holds around each of its congestion control hooks.  Their
 * arithmetic is core/dcc_tcp.h, which the BPF programs share.
 */
#ifndef DELAYCC_H
#define DELAYCC_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/tcp.h>

#include "core/dcc_cc.h"
#include "core/dcc_tcp.h"
#include "delaycc_compat.h"

/* ---- parameters: one int each, per network namespace ------------------- */

#define DELAYCC_PARAM_MAX 24

/*
 * One sysctl.  Allowed are min..max, and 0 where zero_ok says that 0 means
 * automatic (or off).  Anything else is refused with EINVAL.
 */
struct delaycc_param {
	const char *name;
	int def; /* where there is no struct of defaults */
	int min;
	int max;
	bool zero_ok;
	u16 offset; /* of the u32 in the algorithm's struct of parameters */
};

/* The u32 that is called field in an algorithm's struct, under that name. */
#define DELAYCC_PARAM(type, field, lo, hi, zero)                               \
	{                                                                      \
		.name = #field, .min = (lo), .max = (hi), .zero_ok = (zero),   \
		.offset = offsetof(type, field) +                              \
			  BUILD_BUG_ON_ZERO(sizeof(((type *)0)->field) != 4),  \
	}

/* One namespace's values of a table of parameters, in the table's order. */
struct delaycc_values {
	atomic_t generation; /* moves with each write */
	int value[DELAYCC_PARAM_MAX];
	struct ctl_table_header *header;
	/* If set, called after each write, by the writer. */
	void (*changed)(struct delaycc_values *values);
};

int delaycc_sysctl_register(struct net *net, const char *path,
			    const struct delaycc_param *param, unsigned int n,
			    const void *defaults, struct delaycc_values *values);
void delaycc_sysctl_unregister(struct delaycc_values *values);
void delaycc_read_params(const struct delaycc_values *values,
			 const struct delaycc_param *param, unsigned int n,
			 void *params);

static inline int delaycc_value(const struct delaycc_values *values,
				unsigned int i)
{
	return READ_ONCE(values->value[i]);
}

/* Read before the values: a write that comes later moves it again. */
static inline int delaycc_generation(const struct delaycc_values *values)
{
	return atomic_read_acquire(&values->generation);
}

/* ---- an algorithm's hooks: delaycc_hooks.h ------------------------------ */

/*
 * The functions of a module carry its name, so that a stack trace or a kprobe
 * tells which one they are of: DCC_HOOK(cong_control) is oscar_cong_control().
 */
#define DCC_HOOK(function) __DELAYCC_PASTE(DELAYCC_ALG, _, function)
#define __DELAYCC_PASTE(a, b, c) __DELAYCC_PASTE_2(a, b, c)
#define __DELAYCC_PASTE_2(a, b, c) a##b##c

/*
 * What an algorithm asks of its hooks.  As the struct is a constant, the
 * compiler leaves out what is not asked for.
 */
struct delaycc_options {
	/* The algorithms' names; one module may have several, with one core. */
	const char *names[2];
	/* Sockets that cannot be served run reno under this name. */
	const char *reno;
	/*
	 * RTTs of retransmitted packets count (by RACK, in us): for a law that
	 * needs samples while it recovers.
	 */
	bool times_retrans;
	/* `ss -i` shows N as cwnd_gain; half of one more marks an estimate. */
	bool shows_flows;
	/* The core's ack.flows is the count that the receiver reports (delaycc_count.ko). */
	bool wants_flows;
	/*
	 * The core may stop a flow: control.probe_ns counts, and a reply comes
	 * to it with DCC_ACK_PROBE.
	 */
	bool probes;
	/* Parameters depend on the socket's priority: read them again when it changes. */
	bool by_priority;
};

/* ---- what TCP forgets: delaycc_stillborn.c ------------------------------- */

int delaycc_stillborn_register(struct module *owner);
void delaycc_stillborn_unregister(struct module *owner);

/* ---- one socket -------------------------------------------------------- */

/* Packets whose send time is remembered between two ACKs. */
#define DELAYCC_SENT_MAX 16

struct delaycc_sent {
	u64 sent_ns;
	u32 start_seq;
	u32 end_seq;
};

struct delaycc_sock {
	struct dcc_tcp tcp; /* tcp.path is valid after delaycc_init() */

	/* What tcp.path was made from; read again when one of them has changed. */
	struct dst_entry *dst; /* with a reference, so that its address is not used again */
	int ifindex;
	int generation;
	u32 flows; /* active flows as reported by the receiver; 0 if unknown */
	u16 max_tso_segs; /* as configured; 0: leave Linux's own */
	u16 burst_max;	  /* the same or the device's limit, the lower; 0: without offload */
	bool pacing_is_ours; /* the socket had no pacing before */
	bool sent_all;	     /* sent[] reaches the newest packet */
	u8 sent_n;
	u8 tcp_pacing_shift; /* as TCP had it */
	struct delaycc_sent sent[DELAYCC_SENT_MAX];
};

void *delaycc_zalloc(const struct sock *sk, size_t size);
void *delaycc_state_zalloc(const struct sock *sk, struct kmem_cache *cache);
int delaycc_init(struct sock *sk, struct delaycc_sock *ds, const char *name);
void delaycc_release(struct sock *sk, struct delaycc_sock *ds);
bool delaycc_path_update(struct sock *sk, struct delaycc_sock *ds);
bool delaycc_sample(struct sock *sk, struct delaycc_sock *ds,
		    const struct rate_sample *rs, struct dcc_ack *ack);
void delaycc_apply(struct sock *sk, struct delaycc_sock *ds,
		   const struct dcc_control *control);
void delaycc_note_sent(struct sock *sk, struct delaycc_sock *ds,
		       const struct rate_sample *rs);
void delaycc_note_xmit(struct sock *sk, struct delaycc_sock *ds);

/* ---- stop and probe: delaycc_probe.c ------------------------------------ */

/*
 * A flow's probing.  An algorithm that stops flows (options.probes) has one in
 * each socket's state, zeroed.
 */
struct delaycc_probe {
	u64 due_ns;	/* the next probe's time, or that of the same probe again */
	u64 sent_ns;	/* first transmission of the outstanding probe */
	u64 last_ns;	/* last transmission of the outstanding probe */
	u64 quiet_ns;	/* until then, replies to older probes may come */
	u64 go_ns;	/* when the last stop ended */
	u64 own_ns;	/* when waiting data sends a packet, whatever probes have shown */
	/* As the last ACK left them, while a probe is outstanding: */
	u32 dsack_dups;
	u32 bare_acks;
	u32 snd_una;
	u32 snd_wnd;
	u32 let_segs; /* data_segs_out before the packet that asks in a probe's place */
	u8 bytes_back; /* the newest probe's byte, counted back from snd_una */
	u8 tries; /* transmissions of the outstanding probe, less the first */
	u8 stopped : 1,
	   slotted : 1, /* due_ns is a turn among the namespace's probes */
	   outstanding : 1,
	   asked : 1,	/* the outstanding probe was a segment of ours */
	   by_data : 1, /* the outstanding probe was, or is also, a packet of TCP's own */
	   waiting : 1, /* the EDT hold keeps data back: own_ns counts */
	   dsacks : 1;	/* the peer has sent a D-SACK */
};

void delaycc_probe_stop(struct sock *sk, struct delaycc_probe *p, u64 now_ns,
			u64 probe_ns);
void delaycc_probe_limit_window(struct sock *sk);
void delaycc_probe_go(struct sock *sk, struct delaycc_probe *p);
void delaycc_probe_before_send(struct sock *sk, struct delaycc_sock *ds,
			       struct delaycc_probe *p);
bool delaycc_probe_answered(struct sock *sk, struct delaycc_sock *ds,
			    struct delaycc_probe *p, struct dcc_ack *ack);
bool delaycc_probe_sampled(struct sock *sk, struct delaycc_sock *ds,
			   struct delaycc_probe *p, struct dcc_ack *ack);
void delaycc_probe_release(struct sock *sk, struct delaycc_probe *p);

/* ---- the tracepoint delaycc:ack ---------------------------------------- */

/* One decision, as the tracepoint shows it. */
struct delaycc_decision {
	const char *name;  /* of the algorithm */
	u32 rtt_ns;	   /* of the ACK that closed the batch */
	u32 delay_ns;	   /* the batch's mean */
	s32 gradient_q16;
	u32 ratio_ppm;	   /* rate over line rate */
	u64 cwnd_q16;
	u64 pacing_bps;
	u32 branch;	   /* the number of the rule that decided */
	u32 flows;	   /* N that the algorithm uses; 0: none */
	bool flows_reported; /* N is the receiver's count, not an estimate */
	u64 detail;	   /* of the algorithm's own; docs/<name>.md says what */
};

bool delaycc_trace_enabled(void);
void delaycc_trace(const struct sock *sk, const struct delaycc_decision *d);

/* ---- inside delaycc.ko ------------------------------------------------- */

enum {
	DELAYCC_LINE_RATE_MBPS,
	DELAYCC_BASE_RTT_NS,
	DELAYCC_LINK_OVERHEAD_BYTES,
	DELAYCC_MAX_TSO_SEGS,
	DELAYCC_PROBE_GAP_NS,
	DELAYCC_HOST_QUEUE_NS,
	DELAYCC_PATH_MEMORY_S,
	DELAYCC_NOISE_NS,
	DELAYCC_PARAMS,
};

/* A namespace's sysctls: delaycc_sysctl.c. */
struct ctl_table_header *delaycc_table_register(struct net *net, const char *path,
						struct ctl_table *table, size_t n);
void delaycc_table_unregister(struct ctl_table_header *header);

/* A namespace's sysctl that is lines of text: delaycc_lines.c. */
struct delaycc_lines {
	unsigned int most;
	/*
	 * Takes n lines, empty ones too and twice as many as there may be at most, in
	 * place of what is there or (adds) beside it; 0 or an error.  NULL: nobody may
	 * write.
	 */
	int (*write)(struct delaycc_lines *lines, char *text, unsigned int n,
		     bool adds);
	/* The text, for kvfree(), and its size; NULL: no memory. */
	char *(*read)(struct delaycc_lines *lines, size_t *size);
	struct ctl_table_header *header;
};

int delaycc_lines_register(struct net *net, struct delaycc_lines *lines,
			   const char *name);
void delaycc_lines_unregister(struct delaycc_lines *lines);
char *delaycc_lines_next(char **text);
char *delaycc_lines_word(char **line);
bool delaycc_lines_number(char **line, u32 least, u32 most, u32 *number);
u8 delaycc_peer(const struct sock *sk, u8 *address);
u8 delaycc_parse_address(const char *text, u8 *address);

/* What is configured of a path; 0: nothing. */
struct delaycc_path_values {
	u32 base_rtt_ns;
	u32 noise_ns;
};

/* One namespace's table of paths: delaycc_paths.c. */
struct delaycc_paths {
	struct delaycc_lines lines;
	struct mutex lock; /* of writers */
	struct delaycc_prefixes __rcu *prefixes;
	atomic_t *generation;
};

int delaycc_paths_register(struct net *net, struct delaycc_paths *paths,
			   atomic_t *generation);
void delaycc_paths_unregister(struct delaycc_paths *paths);
struct delaycc_path_values
delaycc_paths_values(const struct delaycc_paths *paths, const struct sock *sk);

/* What a namespace's connections have learnt of paths: delaycc_memory.c. */
#define DELAYCC_MEMORY_BITS 7
struct delaycc_memory {
	struct delaycc_lines lines;
	u32 salt;
	spinlock_t lock; /* of all that follows */
	struct hlist_head bucket[1 << DELAYCC_MEMORY_BITS];
	struct list_head by_age; /* the newest first */
	unsigned int n;
};

int delaycc_memory_register(struct net *net, struct delaycc_memory *memory);
void delaycc_memory_unregister(struct delaycc_memory *memory);
void delaycc_memory_recall(struct delaycc_memory *memory, u32 lifetime_s,
			   const struct sock *sk, struct delaycc_sock *ds);
void delaycc_memory_tell(struct delaycc_memory *memory, u32 lifetime_s,
			 const struct sock *sk, struct delaycc_sock *ds,
			 u64 now_ns);

/* One namespace's devices and their speeds: delaycc_devices.c. */
struct delaycc_devices {
	struct delaycc_lines lines;
	struct net *net;
	struct xarray by_ifindex; /* of struct delaycc_device */
	struct work_struct work;
	struct notifier_block notifier;
	bool follows; /* the notifier is registered */
	atomic_t assumed; /* the log has one device whose speed is no fact */
	atomic_t *generation;
};

int delaycc_devices_init(void);
void delaycc_devices_exit(void);
void delaycc_devices_start(void);
int delaycc_devices_register(struct net *net, struct delaycc_devices *devices,
			     atomic_t *generation);
void delaycc_devices_unregister(struct delaycc_devices *devices);
u32 delaycc_device_mbps(const struct net *net, const struct net_device *dev);

/* What a namespace has: parameters, base RTTs configured and learnt, devices' speeds. */
struct delaycc_net {
	struct delaycc_values values;
	struct delaycc_paths paths;
	struct delaycc_memory memory;
	struct delaycc_devices devices;
	atomic64_t probe_ns; /* the next probe leaves no sooner */
	atomic_t levels_mix; /* that was said */
};

extern unsigned int delaycc_net_id;
struct delaycc_net *delaycc_pernet(const struct net *net);
const struct delaycc_values *delaycc_net_values(const struct net *net);
const struct delaycc_paths *delaycc_net_paths(const struct net *net);
struct delaycc_memory *delaycc_net_memory(const struct net *net);
struct delaycc_devices *delaycc_net_devices(const struct net *net);
u64 delaycc_probe_slot(const struct net *net, u64 now_ns);

#endif /* DELAYCC_H */

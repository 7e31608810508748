/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What delaycc.ko offers to the shells, the modules tcp_<name>.ko.
 *
 * A shell (delaycc_hooks.h, the same for all) puts a struct delaycc_sock into
 * each socket's state and calls, for one acknowledgment and in this order,
 *
 *	delaycc_path_update()	the route, its rate and base RTT, a packet's size
 *	delaycc_sample()	the kernel's ACK as the core wants it
 *	(the core)
 *	delaycc_apply()		the core's control as window and pacing rate
 *	delaycc_note_sent()	remember send times, in ns, for the next ACK
 *
 * plus delaycc_note_xmit() from .min_tso_segs.  All of these need the socket
 * lock, which TCP holds around each of its congestion control hooks.
 */
#ifndef DELAYCC_H
#define DELAYCC_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/mutex.h>
#include <net/tcp.h>

#include "core/dcc_cc.h"
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

/* ---- one socket -------------------------------------------------------- */

/* Packets whose send time is remembered between two ACKs. */
#define DELAYCC_SENT_MAX 16

struct delaycc_sent {
	u64 sent_ns;
	u32 start_seq;
	u32 end_seq;
};

struct delaycc_sock {
	struct dcc_path path; /* for the core; always valid after delaycc_init() */

	/* What path was made from; a difference means: look again. */
	struct dst_entry *dst; /* held: no other one gets its address */
	int ifindex;
	int generation;
	u32 mss;
	u32 header_bytes; /* on the wire, beside the payload */
	u16 max_tso_segs; /* 0: leave Linux's own */
	u16 piece_max;	  /* the same, and the device's; 0: without offload */
	u8 base_fixed : 1,	 /* somebody has said it: do not measure */
	   base_measured : 1,	 /* path.base_rtt_ns comes from data packets */
	   pacing_is_ours : 1,	 /* nobody had asked for pacing before */
	   retransmitted : 1,	 /* an RTT up to retrans_seq may be ambiguous */
	   delayed_acks : 1,	 /* the peer has held back an ACK */
	   stretched_acks : 1,	 /* the peer does not acknowledge each packet at once */
	   sent_all : 1,	 /* sent[] reaches the newest packet */
	   times_retrans : 1;	 /* RTTs of retransmissions count, in us */
	u8 sent_n;
	u32 retrans_seq;
	u32 total_retrans;
	u32 rtt_ns; /* the newest valid one */
	u64 bytes_acked;
	u32 sacked_out;
	u32 data_segs_in;	/* at the last ACK */
	u32 paused_delivered;	/* tp->delivered when the flow last ran out of data */
	u8 tcp_pacing_shift; /* as TCP had it */
	u32 flows; /* active flows as reported by the receiver; 0 if unknown */
	struct delaycc_sent sent[DELAYCC_SENT_MAX];
};

void *delaycc_zalloc(const struct sock *sk, size_t size);
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
 * A flow's probing.  A shell whose core stops flows puts one into each socket's
 * state, zeroed.
 */
struct delaycc_probe {
	u64 due_ns;	/* of the next probe, or of the same one again */
	u64 sent_ns;	/* of the outstanding one: first, */
	u64 last_ns;	/* and last transmission */
	u64 quiet_ns;	/* until then, replies to older ones may come */
	u64 go_ns;	/* when the last stop ended */
	u64 own_ns;	/* data that waits sends a packet by then, whatever probes say */
	/* As the last ACK has left them, while one is outstanding: */
	u32 dsack_dups;
	u32 bare_acks;
	u32 snd_una;
	u32 snd_wnd;
	u8 bytes_back; /* the newest one's byte, before snd_una */
	u8 tries; /* transmissions of the outstanding one, less the first */
	u8 stopped : 1,
	   slotted : 1, /* due_ns is its turn among the namespace's probes */
	   outstanding : 1,
	   asked : 1,	/* the outstanding one was a segment of ours */
	   by_data : 1, /* packets of TCP's own were let by, too */
	   waiting : 1, /* data waits behind the gate: own_ns counts */
	   dsacks : 1;	/* the peer has sent a D-SACK */
};

void delaycc_probe_stop(struct sock *sk, struct delaycc_probe *p, u64 now_ns,
			u64 probe_ns);
void delaycc_probe_hold(struct sock *sk);
void delaycc_probe_go(struct sock *sk, struct delaycc_probe *p);
void delaycc_probe_gate(struct sock *sk, struct delaycc_sock *ds,
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
	u32 flows;	   /* N that the algorithm reckons with; 0: it does not */
	bool flows_reported;   /* N is the receiver's count, not an estimate */
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
	DELAYCC_PARAMS,
};

/*
 * A receiver that waits for a second packet holds an ACK for 40 ms or more
 * (Linux; others up to 500 ms).  No queue in a datacenter lasts 20 ms: that is
 * 250 MB at 100 Gbit/s.
 */
#define DELAYCC_DELAYED_ACK_NS 20000000U

/* What a base RTT may be: the range that the cores are made for. */
#define DELAYCC_BASE_RTT_MIN_NS 1000U
#define DELAYCC_BASE_RTT_MAX_NS 1000000000U

/* One namespace's base RTTs of paths: delaycc_paths.c. */
struct delaycc_paths {
	struct mutex lock; /* of writers */
	struct delaycc_prefixes __rcu *prefixes;
	struct ctl_table_header *header;
	atomic_t *generation;
};

int delaycc_paths_register(struct net *net, struct delaycc_paths *paths,
			   atomic_t *generation);
void delaycc_paths_unregister(struct delaycc_paths *paths);
u32 delaycc_paths_base_rtt_ns(const struct delaycc_paths *paths,
			      const struct sock *sk);

const struct delaycc_values *delaycc_net_values(const struct net *net);
const struct delaycc_paths *delaycc_net_paths(const struct net *net);
u64 delaycc_probe_slot(const struct net *net, u64 now_ns);
u32 delaycc_device_mbps(const struct net *net, const struct net_device *dev);

#endif /* DELAYCC_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the lab's port qdisc (sch_dccport) and the runner say to each other:
 * netlink parameters of a port, and the event log of all ports.
 */
#ifndef DCCPORT_H
#define DCCPORT_H

#include <linux/types.h>

#define DCCPORT_KIND "dccport"

enum {
	TCA_DCCPORT_UNSPEC,
	TCA_DCCPORT_PARMS, /* struct tc_dccport_parms */
	TCA_DCCPORT_PAD,
	TCA_DCCPORT_NOISE, /* struct tc_dccport_quantile[]; absent: none */
	TCA_DCCPORT_INTERRUPT_GAP, /* u32, ns; absent: 0 */
	TCA_DCCPORT_DELAYS, /* struct tc_dccport_delay[]; absent: delay_ns for ever */
	TCA_DCCPORT_END,
};

#define TCA_DCCPORT_MAX (TCA_DCCPORT_END - 1)

/* Which packets of a port go into the event log. */
#define DCCPORT_LOG_DATA 0x1 /* TCP segments with payload, or with SYN or FIN */
#define DCCPORT_LOG_ACKS 0x2 /* TCP segments without payload */
/*
 * Not put on the wire, and not logged: TCP resets.  The runner ends a flow by
 * aborting it; its host then answers each acknowledgment still under way with a
 * reset, a tenth of a link's load that no host that just falls silent would make.
 */
#define DCCPORT_DROP_RST 0x4
/*
 * A packet's DSCP, at most 15, becomes its skb->priority before the child qdisc
 * sees it, as a switch that trusts the DSCP has it: prio's map goes by that.
 */
#define DCCPORT_DSCP_PRIORITY 0x8
/*
 * A packet gets a hash of its own: a router behind this port that goes by the hash
 * (net.ipv4.fib_multipath_hash_policy = 1) sends each packet over any of its equal paths.
 */
#define DCCPORT_SPRAY 0x10

/*
 * One direction of a link: a drop-tail queue in front of a server of rate_bps,
 * then a wire of delay_ns.  The backlog is what has not yet left the server;
 * packets on the wire do not count.
 */
struct tc_dccport_parms {
	__u64 rate_bps;         /* from 1000; 0: infinitely fast */
	__u64 delay_ns;         /* propagation, after serialisation; up to 1000 s */
	__u64 limit_bytes;      /* what would make the backlog more is dropped; 0: no limit */
	__u64 ecn_bytes;        /* ECT packets that find as much are marked CE; 0: never */
	__u64 reorder_delay_ns; /* extra wire delay of a reordered packet; up to 1000 s */
	__u64 seed;             /* of this port's loss and reordering */
	__u32 loss_ppm;         /* random loss before the queue, 0 .. 1000000 */
	__u32 reorder_ppm;      /* packets that get reorder_delay_ns, 0 .. 1000000 */
	__u32 port_id;          /* written into every event; 0 .. 65535 */
	__u32 log_flags;        /* DCCPORT_LOG_*, _DROP_RST, _DSCP_PRIORITY, _SPRAY */
};

/*
 * Noise: extra wire delay, drawn for each packet from a distribution that is
 * given by its quantiles, linear between them.  The first is that of 0 ppm, the
 * last that of 1000000; ppm rises, delay_ns does not fall.  The wire keeps the
 * order: a packet behind one that is late is as late as it must be.
 */
#define DCCPORT_QUANTILES_MAX 64

struct tc_dccport_quantile {
	__u32 ppm;
	__u32 delay_ns;
};

/*
 * A wire that becomes longer or shorter: what leaves the server at from_ns
 * (CLOCK_MONOTONIC) or later has this delay instead of the parameters' delay_ns,
 * up to the next from_ns.  from_ns rises.  The wire keeps the order here, too, and
 * what waits while the rate changes keeps the delay that it was to have.
 */
#define DCCPORT_DELAYS_MAX 16

struct tc_dccport_delay {
	__u64 from_ns;
	__u64 delay_ns; /* up to 1000 s */
};

/*
 * The NIC at the far end moderates its interrupts: they are at least so far apart,
 * and a packet is delivered by the first that comes when it has left the wire or
 * later.  One that comes when the last interrupt is as long ago has its own at once.
 * What comes at the time of an interrupt belongs to it; 0 delays nothing.
 */
#define DCCPORT_INTERRUPT_GAP_MAX_NS 1000000000

/*
 * Kept in TCA_OPTIONS as TCA_DCCPORT_PARMS, on a device's root only.  A change
 * (RTM_NEWQDISC without NLM_F_CREATE) loses no packet: a new rate holds for all
 * that waits behind the packet being served, a new delay for later arrivals.
 * A value out of range is refused with EINVAL and changes nothing.  tc -s shows
 * drops, marks (as overlimits), packets held (qlen) and the backlog.  A drop is
 * not reported to the sender; super-packets are cut into frames on arrival.
 */

/*
 * A port may have a child qdisc (class 1 of the port's handle): what waits for
 * the server waits there, and the server takes from it whenever it is free.
 * limit_bytes and ecn_bytes go by child and server together.  The child must not
 * use more than 16 bytes of a packet's qdisc data (prio, pfifo, fq_codel do not),
 * and the device's txqueuelen is what a band of prio holds.  A packet that has
 * not come to its turn, or that the child dropped later, has the depart_ns
 * DCCPORT_NOT_DEPARTED.
 */
#define DCCPORT_NOT_DEPARTED 0x4000000000000000ULL

#define DCCPORT_EV_DROP_TAIL 0x01 /* dropped: queue full; depart_ns is 0 */
#define DCCPORT_EV_DROP_LOSS 0x02 /* dropped: random loss; depart_ns is 0 */
#define DCCPORT_EV_MARKED 0x04    /* marked CE here */
#define DCCPORT_EV_REORDERED 0x08
#define DCCPORT_EV_SYN 0x10
#define DCCPORT_EV_FIN 0x20
#define DCCPORT_EV_RST 0x40

/*
 * One packet at one port.  Read as an array from /proc/dccport_log, oldest
 * arrival first; writing anything to that file empties the log.  When memory
 * for events ran out, a read at the end fails with ENOMEM instead of returning
 * 0: a log that ends with 0 is complete.
 */
struct dccport_event {
	__u64 arrival_ns;    /* ktime_get_ns() at enqueue */
	__u64 depart_ns;     /* end of serialisation, rounded up; far side: + delay_ns */
	__u32 backlog_bytes; /* on arrival, this packet included unless it was dropped */
	__u32 len_bytes;     /* frame length, Ethernet header included */
	__u32 seq;           /* TCP, host order */
	__u32 ack_seq;
	__u16 payload_bytes;
	__u16 sport;         /* host order; the runner gives each flow its own client port */
	__u16 dport;
	__u16 port_id;
	__u16 flags;         /* DCCPORT_EV_* */
	__u16 reserved[3];   /* 0 */
};

#endif /* DCCPORT_H */

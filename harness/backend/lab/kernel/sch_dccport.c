// SPDX-License-Identifier: GPL-2.0
/*
 * sch_dccport: one direction of a link as a queueing discipline
 *
 *	arrival -> loss -> drop-tail queue -> server -> wire -> NIC of the far end
 *
 * A packet's whole future is known when it arrives: the server takes packets in
 * order, so it leaves at
 *
 *	departure = max(now, departure of the packet before) + length / rate
 *
 * and is on the far side delay_ns later (and there, if interrupts are moderated, waits
 * for the next one).  So enqueue computes both times and
 * the packet waits in a list for its delivery; one timer, set to the next
 * delivery, does the rest.  The server needs no timer: the backlog (what has
 * not left the server) is brought up to date when somebody looks.
 *
 * Differences from netem with a rate:
 * - time is kept to the fraction of a nanosecond, so 10^6 packets of 15.14 ns
 *   (1514 bytes at 800 Gbit/s) take exactly 15.14 ms;
 * - the backlog counts what waits for the server, not what is on the wire;
 * - ECN marks by that backlog; drops by bytes; both at arrival;
 * - loss, reordering, noise and spraying come from the port's own seed;
 * - super-packets are cut into frames first;
 * - drops are not told to the sender: a switch does not do that either;
 * - ports that ask for it write an event per TCP segment, see dccport.h.
 *
 * With a child qdisc it is the child that says which packet is next, so nothing
 * is known until the server takes it: the timer also fires when the server ends.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ipv6.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/pkt_sched.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "dccport.h"

/* Below it a full-sized frame takes longer than any experiment. */
#define DCCPORT_RATE_MIN_BPS 1000ULL
/* A sum of departure and two delays stays far from 2^63 ns. */
#define DCCPORT_DELAY_MAX_NS (1000ULL * NSEC_PER_SEC)

#define PPM 1000000U

/* ---- the event log, shared by all ports ---- */

#define LOG_CHUNK_ORDER 4
#define LOG_CHUNK_EVENTS ((PAGE_SIZE << LOG_CHUNK_ORDER) / sizeof(struct dccport_event))
#define LOG_CHUNKS_MAX 65536

/* An event's number for ever: clearing the log does not reuse it. */
typedef u32 event_nr;

static struct {
	struct dccport_event **chunks;
	spinlock_t lock; /* chunks, count, first, lost; taken under qdisc locks */
	struct mutex readers; /* chunks stay while one copies to user space */
	u32 count; /* events in chunks */
	event_nr first; /* number of the first event in chunks */
	u64 lost; /* events there was no memory for */
} dccport_log = {
	.lock = __SPIN_LOCK_UNLOCKED(dccport_log.lock),
	.readers = __MUTEX_INITIALIZER(dccport_log.readers),
};

static struct dccport_event *log_at(u32 i)
{
	return &dccport_log.chunks[i / LOG_CHUNK_EVENTS][i % LOG_CHUNK_EVENTS];
}

/* Append @ev; returns its number. */
static event_nr log_append(const struct dccport_event *ev)
{
	struct dccport_event **chunk;
	event_nr nr;

	spin_lock_bh(&dccport_log.lock);
	nr = dccport_log.first + dccport_log.count;
	if (dccport_log.lost || dccport_log.count == LOG_CHUNKS_MAX * LOG_CHUNK_EVENTS)
		goto lost;

	chunk = &dccport_log.chunks[dccport_log.count / LOG_CHUNK_EVENTS];
	if (!*chunk) {
		*chunk = (void *)__get_free_pages(GFP_ATOMIC | __GFP_NOWARN, LOG_CHUNK_ORDER);
		if (!*chunk)
			goto lost;
	}
	*log_at(dccport_log.count++) = *ev;
	spin_unlock_bh(&dccport_log.lock);
	return nr;

lost:
	/* Nothing after the first gap: a reader must not mistake it for all. */
	if (!dccport_log.lost++)
		pr_err("no memory for the event log after %u events\n", dccport_log.count);
	spin_unlock_bh(&dccport_log.lock);
	return nr;
}

/* The departure of event @nr has moved; no effect once it is cleared or lost. */
static void log_move(event_nr nr, u64 depart_ns, u16 more_flags)
{
	u32 i;

	spin_lock_bh(&dccport_log.lock);
	i = nr - dccport_log.first;
	if (i < dccport_log.count) {
		log_at(i)->depart_ns = depart_ns;
		log_at(i)->flags |= more_flags;
	}
	spin_unlock_bh(&dccport_log.lock);
}

/* Event @nr was dropped after all. */
static void log_dropped(event_nr nr, u32 len)
{
	u32 i;

	spin_lock_bh(&dccport_log.lock);
	i = nr - dccport_log.first;
	if (i < dccport_log.count) {
		log_at(i)->depart_ns = 0;
		log_at(i)->backlog_bytes -= len;
		log_at(i)->flags |= DCCPORT_EV_DROP_TAIL;
	}
	spin_unlock_bh(&dccport_log.lock);
}

static void log_clear(void)
{
	u32 chunks, i;

	mutex_lock(&dccport_log.readers);
	spin_lock_bh(&dccport_log.lock);
	chunks = DIV_ROUND_UP(dccport_log.count, LOG_CHUNK_EVENTS);
	dccport_log.first += dccport_log.count;
	dccport_log.count = 0;
	dccport_log.lost = 0;
	for (i = 0; i < chunks; i++) {
		free_pages((unsigned long)dccport_log.chunks[i], LOG_CHUNK_ORDER);
		dccport_log.chunks[i] = NULL;
	}
	spin_unlock_bh(&dccport_log.lock);
	mutex_unlock(&dccport_log.readers);
}

static ssize_t log_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	u64 end, at = *pos;
	ssize_t done = 0;
	u64 lost;

	if (*pos < 0)
		return -EINVAL;

	mutex_lock(&dccport_log.readers);
	spin_lock_bh(&dccport_log.lock);
	end = (u64)dccport_log.count * sizeof(struct dccport_event);
	lost = dccport_log.lost;
	spin_unlock_bh(&dccport_log.lock);

	while (len && at < end) {
		u64 chunk_bytes = LOG_CHUNK_EVENTS * sizeof(struct dccport_event);
		u32 in_chunk;
		u32 chunk = div64_u64_rem(at, chunk_bytes, &chunk_bytes);
		size_t n;

		in_chunk = chunk_bytes;
		n = LOG_CHUNK_EVENTS * sizeof(struct dccport_event) - in_chunk;
		n = min_t(u64, n, min_t(u64, len, end - at));
		if (copy_to_user(to, (u8 *)dccport_log.chunks[chunk] + in_chunk, n)) {
			done = done ?: -EFAULT;
			break;
		}
		to += n;
		at += n;
		len -= n;
		done += n;
	}
	mutex_unlock(&dccport_log.readers);

	/* In place of the end of the file, once all that is there was read. */
	if (!done && len && lost)
		return -ENOMEM;
	if (done > 0)
		*pos = at;
	return done;
}

static ssize_t log_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	log_clear();
	return len;
}

static const struct proc_ops dccport_log_ops = {
	.proc_read = log_read,
	.proc_write = log_write,
	.proc_lseek = default_llseek,
};

/* ---- a port ---- */

/* Packets on their way, by time of delivery; linked by skb->next. */
struct lane {
	struct sk_buff *head;
	struct sk_buff *tail;
};

struct dccport {
	struct tc_dccport_parms parms;

	/*
	 * The server is busy until busy_ns + busy_rem / rate_bps: the rest of
	 * each division is carried on, so no time is ever lost to rounding.
	 */
	u64 busy_ns;
	u64 busy_rem;
	u32 last_len; /* service time of the last length: most are equal */
	u64 last_ns;
	u64 last_rem;

	/*
	 * What is in the server or waits for it, in order of arrival; linked
	 * by skb->prev.  A packet is in a lane as long as it is in here.
	 */
	struct sk_buff *queue_head;
	struct sk_buff *queue_tail; /* valid if queue_head is */
	u64 backlog_bytes;

	/* Holds what waits for the server, if there is one; those above are in service then. */
	struct Qdisc *child;
	bool starved; /* the child had nothing for a server that was free */

	struct lane straight;
	struct lane reordered;

	u64 loss_state;
	u64 reorder_state;
	u64 noise_state;
	u64 spray_state;
	u32 quantiles; /* of the noise; 0: none */
	struct tc_dccport_quantile quantile[DCCPORT_QUANTILES_MAX];

	/* Of the wire, instead of parms.delay_ns from a time on. */
	u32 delays;
	struct tc_dccport_delay delay[DCCPORT_DELAYS_MAX];

	/* Of the NIC at the far end. */
	u32 interrupt_gap_ns;
	u64 interrupt_ns; /* the last; 0: none yet */
	struct qdisc_watchdog watchdog;
};

/* A child qdisc may use the first 16 bytes while it has the packet. */
struct dccport_cb {
	u64 depart_ns;
	u64 deliver_ns; /* off the wire */
	event_nr event; /* 0: not logged */
} __packed __aligned(4);

static struct dccport_cb *dccport_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct dccport_cb));
	return (struct dccport_cb *)qdisc_skb_cb(skb)->data;
}

/* splitmix64: one addition per draw, any seed will do. */
static u32 dccport_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return z >> 32;
}

/* In millionths, Q32. */
static u64 dccport_draw(u64 *state)
{
	return (u64)dccport_random(state) * PPM;
}

static bool dccport_chance(u64 *state, u32 ppm)
{
	return ppm && dccport_draw(state) >> 32 < ppm;
}

/* The noise of one packet. */
static u32 dccport_noise(struct dccport *q)
{
	const struct tc_dccport_quantile *from = q->quantile, *to = from + 1;
	u64 draw, part;

	if (!q->quantiles)
		return 0;
	draw = dccport_draw(&q->noise_state);
	while (draw >> 32 >= to->ppm)
		from = to++;
	part = div_u64(draw - ((u64)from->ppm << 32), to->ppm - from->ppm);
	return from->delay_ns + (((u64)(to->delay_ns - from->delay_ns) * part) >> 32);
}

/* The wire's delay for what leaves the server at @depart_ns. */
static u64 dccport_wire(const struct dccport *q, u64 depart_ns)
{
	u32 i = q->delays;

	while (i--)
		if (q->delay[i].from_ns <= depart_ns)
			return q->delay[i].delay_ns;
	return q->parms.delay_ns;
}

/*
 * Serve @len bytes after what is being served, from @now at the earliest.
 * Returns the end, rounded up to a nanosecond.
 */
static u64 dccport_serve(struct dccport *q, u32 len, u64 now)
{
	u64 rate = q->parms.rate_bps;

	if (q->busy_ns + !!q->busy_rem <= now) {
		q->busy_ns = now;
		q->busy_rem = 0;
	}
	if (!rate)
		return q->busy_ns;

	if (len != q->last_len) {
		q->last_len = len;
		q->last_ns = div64_u64_rem((u64)len * BITS_PER_BYTE * NSEC_PER_SEC, rate,
					   &q->last_rem);
	}
	q->busy_ns += q->last_ns;
	q->busy_rem += q->last_rem;
	if (q->busy_rem >= rate) {
		q->busy_rem -= rate;
		q->busy_ns++;
	}
	return q->busy_ns + !!q->busy_rem;
}

/* Take out of the backlog what has left the server by @now. */
static void dccport_advance(struct Qdisc *sch, u64 now)
{
	struct dccport *q = qdisc_priv(sch);
	struct sk_buff *skb;

	while ((skb = q->queue_head) && dccport_cb(skb)->depart_ns <= now) {
		q->queue_head = skb->prev;
		skb->prev = NULL;
		q->backlog_bytes -= qdisc_pkt_len(skb);
		qdisc_qstats_backlog_dec(sch, skb);
		/*
		 * As a NIC does with what it has sent.  Until then the packet counts
		 * against its socket (TCP small queues): without that back-pressure a
		 * window-based sender puts megabytes into its own host's queue.
		 */
		skb_orphan(skb);
	}
}

static void lane_append(struct lane *lane, struct sk_buff *skb)
{
	struct dccport_cb *cb = dccport_cb(skb);

	/* Noise, or a delay that was shortened: a wire does not overtake itself. */
	if (lane->head)
		cb->deliver_ns = max(cb->deliver_ns, dccport_cb(lane->tail)->deliver_ns);

	skb->next = NULL;
	if (lane->head)
		lane->tail->next = skb;
	else
		lane->head = skb;
	lane->tail = skb;
}

/* The lane whose first packet is delivered next; NULL if both are empty. */
static struct lane *dccport_next_lane(struct dccport *q)
{
	struct sk_buff *a = q->straight.head, *b = q->reordered.head;

	if (!a && !b)
		return NULL;
	if (!b || (a && dccport_cb(a)->deliver_ns <= dccport_cb(b)->deliver_ns))
		return &q->straight;
	return &q->reordered;
}

/* Mark @skb CE if it is ECT(0) or ECT(1). */
static bool dccport_mark(struct sk_buff *skb)
{
	u8 ecn;

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (!pskb_network_may_pull(skb, sizeof(struct iphdr)))
			return false;
		ecn = ip_hdr(skb)->tos;
		break;
	case htons(ETH_P_IPV6):
		if (!pskb_network_may_pull(skb, sizeof(struct ipv6hdr)))
			return false;
		ecn = ipv6_get_dsfield(ipv6_hdr(skb));
		break;
	default:
		return false;
	}
	ecn &= INET_ECN_MASK;
	return ecn != INET_ECN_NOT_ECT && ecn != INET_ECN_CE && INET_ECN_set_ce(skb);
}

/* Fill the TCP fields of @ev and say whether the port wants to log @skb. */
static bool dccport_describe(const struct dccport *q, const struct sk_buff *skb,
			     struct dccport_event *ev)
{
	int at = skb_network_offset(skb), end;
	const struct tcphdr *th;
	struct tcphdr th_buf;
	bool data;

	if (!q->parms.log_flags)
		return false;

	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP): {
		struct iphdr buf;
		const struct iphdr *ip = skb_header_pointer(skb, at, sizeof(buf), &buf);

		if (!ip || ip->protocol != IPPROTO_TCP || (ip->frag_off & htons(IP_OFFSET)))
			return false;
		end = at + ntohs(ip->tot_len);
		at += ip->ihl * 4;
		break;
	}
	case htons(ETH_P_IPV6): {
		struct ipv6hdr buf;
		const struct ipv6hdr *ip = skb_header_pointer(skb, at, sizeof(buf), &buf);
		__be16 frag_off;
		u8 proto;

		if (!ip)
			return false;
		end = at + (int)sizeof(buf) + ntohs(ip->payload_len);
		proto = ip->nexthdr;
		at = ipv6_skip_exthdr(skb, at + (int)sizeof(buf), &proto, &frag_off);
		if (at < 0 || proto != IPPROTO_TCP || (frag_off & htons(IP6_OFFSET)))
			return false;
		break;
	}
	default:
		return false;
	}

	th = skb_header_pointer(skb, at, sizeof(th_buf), &th_buf);
	if (!th)
		return false;
	at += th->doff * 4;

	data = end > at || th->syn || th->fin;

	ev->seq = ntohl(th->seq);
	ev->ack_seq = ntohl(th->ack_seq);
	ev->payload_bytes = clamp(end - at, 0, U16_MAX);
	ev->sport = ntohs(th->source);
	ev->dport = ntohs(th->dest);
	ev->flags = (th->syn ? DCCPORT_EV_SYN : 0) | (th->fin ? DCCPORT_EV_FIN : 0) |
		    (th->rst ? DCCPORT_EV_RST : 0);
	return q->parms.log_flags & (data ? DCCPORT_LOG_DATA : DCCPORT_LOG_ACKS);
}

/*
 * A port is a switch's, or a wire: the sender does not learn of a drop, as it
 * would (and reduce its window at once) from NET_XMIT_DROP.
 */
static int dccport_drop(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	qdisc_drop(skb, sch, to_free);
	return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
}

static u64 dccport_backlog(const struct dccport *q)
{
	return q->backlog_bytes + (q->child ? q->child->qstats.backlog : 0);
}

/*
 * The server takes @skb: its future is known from here on.  What waited for the
 * server goes on without a gap, to the fraction of a nanosecond; @from is 0 then,
 * otherwise the time of now.  Returns more flags of its event.
 */
static u16 dccport_take(struct dccport *q, struct sk_buff *skb, u64 from)
{
	struct dccport_cb *cb = dccport_cb(skb);
	struct lane *lane = &q->straight;
	u16 flags = 0;

	q->starved = false;
	cb->depart_ns = dccport_serve(q, qdisc_pkt_len(skb), from);
	cb->deliver_ns = cb->depart_ns + dccport_wire(q, cb->depart_ns) + dccport_noise(q);
	if (dccport_chance(&q->reorder_state, q->parms.reorder_ppm)) {
		cb->deliver_ns += q->parms.reorder_delay_ns;
		lane = &q->reordered;
		flags = DCCPORT_EV_REORDERED;
	}
	lane_append(lane, skb);

	skb->prev = NULL;
	if (q->queue_head)
		q->queue_tail->prev = skb;
	else
		q->queue_head = skb;
	q->queue_tail = skb;
	q->backlog_bytes += qdisc_pkt_len(skb);
	return flags;
}

/*
 * When the server has nothing to do: it takes from the child up to @now.  A child
 * that holds its packets back (netem, tbf) lets the server be idle until then.
 */
static void dccport_pull(struct dccport *q, u64 now, bool waited)
{
	struct sk_buff *skb;
	event_nr event;
	u16 flags;

	while (q->busy_ns + !!q->busy_rem <= now) {
		skb = q->child->dequeue(q->child);
		if (!skb) {
			q->starved = true;
			break;
		}
		event = dccport_cb(skb)->event;
		flags = dccport_take(q, skb, waited && q->busy_ns && !q->starved ? 0 : now);
		if (event)
			log_move(event, dccport_cb(skb)->depart_ns, flags);
		waited = true;
	}
}

/* What a switch that trusts the DSCP goes by. */
static u32 dccport_dscp(struct sk_buff *skb)
{
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (pskb_network_may_pull(skb, sizeof(struct iphdr)))
			return ipv4_get_dsfield(ip_hdr(skb)) >> 2;
		break;
	case htons(ETH_P_IPV6):
		if (pskb_network_may_pull(skb, sizeof(struct ipv6hdr)))
			return ipv6_get_dsfield(ipv6_hdr(skb)) >> 2;
		break;
	}
	return 0;
}

static int dccport_enqueue_child(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free,
				 u64 now)
{
	struct dccport *q = qdisc_priv(sch);
	event_nr event = dccport_cb(skb)->event;
	u32 len = qdisc_pkt_len(skb);
	int ret;

	if (q->parms.log_flags & DCCPORT_DSCP_PRIORITY)
		skb->priority = min_t(u32, dccport_dscp(skb), TC_PRIO_MAX);
	ret = qdisc_enqueue(skb, q->child, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		/* Stolen by an action, or dropped and already on its way to be freed. */
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
		if (event)
			log_dropped(event, len);
		return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	}
	qdisc_update_stats_at_enqueue(sch, len);
	dccport_pull(q, now, false);
	return NET_XMIT_SUCCESS;
}

static int dccport_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free,
			       u64 now)
{
	struct dccport *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	u64 backlog = dccport_backlog(q);
	struct dccport_event ev = {};
	u16 drop = 0;
	bool log;

	log = dccport_describe(q, skb, &ev);
	if ((q->parms.log_flags & DCCPORT_DROP_RST) && (ev.flags & DCCPORT_EV_RST))
		return dccport_drop(skb, sch, to_free);
	if (log) {
		ev.arrival_ns = now;
		ev.len_bytes = len;
		ev.port_id = q->parms.port_id;
		ev.backlog_bytes = min_t(u64, backlog, U32_MAX);
	}

	if (dccport_chance(&q->loss_state, q->parms.loss_ppm))
		drop = DCCPORT_EV_DROP_LOSS;
	else if (q->parms.limit_bytes && backlog + len > q->parms.limit_bytes)
		drop = DCCPORT_EV_DROP_TAIL;
	if (drop) {
		if (log) {
			ev.flags |= drop;
			log_append(&ev);
		}
		return dccport_drop(skb, sch, to_free);
	}

	if (q->parms.ecn_bytes && backlog >= q->parms.ecn_bytes && dccport_mark(skb)) {
		qdisc_qstats_overlimit(sch);
		ev.flags |= DCCPORT_EV_MARKED;
	}

	if (q->parms.log_flags & DCCPORT_SPRAY)
		__skb_set_sw_hash(skb, dccport_random(&q->spray_state), true);

	ev.backlog_bytes = min_t(u64, backlog + len, U32_MAX);
	if (q->child) {
		ev.depart_ns = DCCPORT_NOT_DEPARTED;
		dccport_cb(skb)->event = log ? log_append(&ev) : 0;
		return dccport_enqueue_child(skb, sch, to_free, now);
	}

	ev.flags |= dccport_take(q, skb, now);
	qdisc_update_stats_at_enqueue(sch, len);
	ev.depart_ns = dccport_cb(skb)->depart_ns;
	dccport_cb(skb)->event = log ? log_append(&ev) : 0;
	return NET_XMIT_SUCCESS;
}

/*
 * A super-packet (TSO, GSO) goes over the wire as the frames that a NIC makes
 * of it: back to back, each with a place of its own in queue and log.
 */
static int dccport_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch,
				    struct sk_buff **to_free, u64 now)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	struct sk_buff *segs = skb_gso_segment(skb, features), *next;

	if (IS_ERR_OR_NULL(segs))
		return dccport_drop(skb, sch, to_free);

	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = segs->len;
		dccport_enqueue_one(segs, sch, to_free, now);
	}
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

static int dccport_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct dccport *q = qdisc_priv(sch);
	u64 now = ktime_get_ns();

	dccport_advance(sch, now);
	if (q->child)
		dccport_pull(q, now, true);
	if (skb_is_gso(skb))
		return dccport_enqueue_segments(skb, sch, to_free, now);
	return dccport_enqueue_one(skb, sch, to_free, now);
}

/*
 * May TCP hold back the socket of @skb for what it has queued here?  With more than
 * two packets always; with less if that is more than its pace sends in a part of a
 * second, by default 1 ms (tcp_small_queue_check()).  (A SYN-ACK has a mere request
 * for its socket.)
 */
static bool dccport_may_hold_back(const struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;
	unsigned long pace;
	int queued;

	if (!sk || !sk_fullsock(sk) || skb_is_tcp_pure_ack(skb))
		return false;
	queued = sk_wmem_alloc_get(sk);
	pace = READ_ONCE(sk->sk_pacing_rate) >> READ_ONCE(sk->sk_pacing_shift);
	/* TCP's count of bytes has one more. */
	return queued > 2 * (int)skb->truesize || queued + 1UL > pace;
}

/*
 * When the far end's host gets @skb, the next packet off the wire.  Known only now: a
 * reordered packet's interrupt may be moved by one that is sent after it.
 */
static u64 dccport_due(const struct dccport *q, const struct sk_buff *skb)
{
	u64 deliver_ns = dccport_cb(skb)->deliver_ns;

	if (!q->interrupt_ns || deliver_ns <= q->interrupt_ns)
		return deliver_ns;
	return max(deliver_ns, q->interrupt_ns + q->interrupt_gap_ns);
}

/*
 * When to look again while @next is the next packet to deliver: then; or earlier,
 * when the server is free for what waits in the child; or when it runs out of
 * work and its last packet's socket may be held back by what it has here.
 */
static u64 dccport_next_event(const struct dccport *q, const struct sk_buff *next)
{
	const struct sk_buff *last = q->queue_tail;
	u64 due_ns = dccport_due(q, next);

	if (!q->queue_head)
		return due_ns;
	if ((!q->child || !q->child->q.qlen) && !dccport_may_hold_back(last))
		return due_ns;
	return min(due_ns, dccport_cb(last)->depart_ns);
}

static struct sk_buff *dccport_dequeue(struct Qdisc *sch)
{
	struct dccport *q = qdisc_priv(sch);
	struct lane *lane = dccport_next_lane(q);
	struct sk_buff *skb;
	u64 due_ns, now;

	if (!lane && !(q->child && q->child->q.qlen))
		return NULL;

	now = ktime_get_ns();
	dccport_advance(sch, now);
	if (q->child) {
		dccport_pull(q, now, true);
		lane = dccport_next_lane(q);
		if (!lane)
			return NULL;
	}
	skb = lane->head;
	due_ns = dccport_due(q, skb);
	if (due_ns > now) {
		qdisc_watchdog_schedule_ns(&q->watchdog, dccport_next_event(q, skb));
		return NULL;
	}
	q->interrupt_ns = max(q->interrupt_ns, due_ns);

	lane->head = skb->next;
	skb_mark_not_on_list(skb);
	qdisc_bstats_update(sch, skb);
	sch->q.qlen--;
	return skb;
}

/*
 * The server's speed has changed: what it works on ends as planned, what waits
 * is served at the new speed.
 */
static void dccport_replan(struct dccport *q)
{
	struct sk_buff *skb = q->queue_head;

	q->last_len = 0;
	q->busy_rem = 0;
	if (!skb)
		return;

	q->busy_ns = dccport_cb(skb)->depart_ns;
	while ((skb = skb->prev)) {
		struct dccport_cb *cb = dccport_cb(skb);
		u64 wire_ns = cb->deliver_ns - cb->depart_ns;

		cb->depart_ns = dccport_serve(q, qdisc_pkt_len(skb), 0);
		cb->deliver_ns = cb->depart_ns + wire_ns;
		if (cb->event)
			log_move(cb->event, cb->depart_ns, 0);
	}
}

static const struct nla_policy dccport_policy[TCA_DCCPORT_MAX + 1] = {
	[TCA_DCCPORT_PARMS] = NLA_POLICY_EXACT_LEN(sizeof(struct tc_dccport_parms)),
	[TCA_DCCPORT_NOISE] = { .type = NLA_BINARY,
				.len = DCCPORT_QUANTILES_MAX * sizeof(struct tc_dccport_quantile) },
	[TCA_DCCPORT_INTERRUPT_GAP] = { .type = NLA_U32 },
	[TCA_DCCPORT_DELAYS] = { .type = NLA_BINARY,
				 .len = DCCPORT_DELAYS_MAX * sizeof(struct tc_dccport_delay) },
};

static int dccport_check_noise(const struct nlattr *noise, struct netlink_ext_ack *extack)
{
	const struct tc_dccport_quantile *q = nla_data(noise);
	int n = nla_len(noise) / sizeof(*q), i;

	if (nla_len(noise) % sizeof(*q) || n < 2 || q[0].ppm || q[n - 1].ppm != PPM)
		goto bad;
	for (i = 1; i < n; i++)
		if (q[i].ppm <= q[i - 1].ppm || q[i].delay_ns < q[i - 1].delay_ns)
			goto bad;
	return 0;

bad:
	NL_SET_ERR_MSG(extack, "noise must be quantiles from 0 to 1000000 ppm, rising");
	return -EINVAL;
}

static int dccport_check_gap(const struct nlattr *gap, struct netlink_ext_ack *extack)
{
	if (nla_get_u32(gap) <= DCCPORT_INTERRUPT_GAP_MAX_NS)
		return 0;
	NL_SET_ERR_MSG(extack, "interrupts must be at most 1 s apart");
	return -EINVAL;
}

static int dccport_check_delays(const struct nlattr *delays, struct netlink_ext_ack *extack)
{
	struct tc_dccport_delay d[DCCPORT_DELAYS_MAX];
	int n = nla_len(delays) / sizeof(*d), i;

	/* Attributes are aligned to 4 bytes. */
	nla_memcpy(d, delays, sizeof(d));
	if (nla_len(delays) % sizeof(*d) || !n)
		goto bad;
	for (i = 0; i < n; i++)
		if (d[i].delay_ns > DCCPORT_DELAY_MAX_NS ||
		    (i && d[i].from_ns <= d[i - 1].from_ns))
			goto bad;
	return 0;

bad:
	NL_SET_ERR_MSG(extack, "delays must be of rising times, each at most 1000 s");
	return -EINVAL;
}

static int dccport_check(const struct tc_dccport_parms *p, struct netlink_ext_ack *extack)
{
	if (p->rate_bps && p->rate_bps < DCCPORT_RATE_MIN_BPS)
		NL_SET_ERR_MSG(extack, "rate_bps must be 0 or at least 1000");
	else if (p->delay_ns > DCCPORT_DELAY_MAX_NS)
		NL_SET_ERR_MSG(extack, "delay_ns must be at most 1000 s");
	else if (p->reorder_delay_ns > DCCPORT_DELAY_MAX_NS)
		NL_SET_ERR_MSG(extack, "reorder_delay_ns must be at most 1000 s");
	else if (p->loss_ppm > PPM)
		NL_SET_ERR_MSG(extack, "loss_ppm must be at most 1000000");
	else if (p->reorder_ppm > PPM)
		NL_SET_ERR_MSG(extack, "reorder_ppm must be at most 1000000");
	else if (p->port_id > U16_MAX)
		NL_SET_ERR_MSG(extack, "port_id must be at most 65535");
	else if (p->log_flags & ~(DCCPORT_LOG_DATA | DCCPORT_LOG_ACKS | DCCPORT_DROP_RST |
				 DCCPORT_DSCP_PRIORITY | DCCPORT_SPRAY))
		NL_SET_ERR_MSG(extack, "log_flags has an unknown flag");
	else
		return 0;
	return -EINVAL;
}

static int dccport_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_DCCPORT_MAX + 1];
	struct dccport *q = qdisc_priv(sch);
	struct tc_dccport_parms p;
	bool new_rate, new_seed;
	int err;

	err = nla_parse_nested_deprecated(tb, TCA_DCCPORT_MAX, opt, dccport_policy, extack);
	if (err)
		return err;
	if (!tb[TCA_DCCPORT_PARMS]) {
		NL_SET_ERR_MSG(extack, "TCA_DCCPORT_PARMS is missing");
		return -EINVAL;
	}
	nla_memcpy(&p, tb[TCA_DCCPORT_PARMS], sizeof(p));
	err = dccport_check(&p, extack);
	if (!err && tb[TCA_DCCPORT_NOISE])
		err = dccport_check_noise(tb[TCA_DCCPORT_NOISE], extack);
	if (!err && tb[TCA_DCCPORT_INTERRUPT_GAP])
		err = dccport_check_gap(tb[TCA_DCCPORT_INTERRUPT_GAP], extack);
	if (!err && tb[TCA_DCCPORT_DELAYS])
		err = dccport_check_delays(tb[TCA_DCCPORT_DELAYS], extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	dccport_advance(sch, ktime_get_ns());
	new_rate = p.rate_bps != q->parms.rate_bps;
	new_seed = p.seed != q->parms.seed;
	q->parms = p;
	q->quantiles = 0;
	if (tb[TCA_DCCPORT_NOISE])
		q->quantiles = nla_memcpy(q->quantile, tb[TCA_DCCPORT_NOISE],
					  sizeof(q->quantile)) / sizeof(q->quantile[0]);
	q->interrupt_gap_ns = tb[TCA_DCCPORT_INTERRUPT_GAP] ?
				      nla_get_u32(tb[TCA_DCCPORT_INTERRUPT_GAP]) : 0;
	q->delays = 0;
	if (tb[TCA_DCCPORT_DELAYS])
		q->delays = nla_memcpy(q->delay, tb[TCA_DCCPORT_DELAYS], sizeof(q->delay)) /
			    sizeof(q->delay[0]);
	if (new_rate)
		dccport_replan(q);
	if (new_seed) {
		q->loss_state = p.seed;
		q->reorder_state = ~p.seed;
		q->noise_state = p.seed ^ (1ULL << 63);
		q->spray_state = p.seed ^ (1ULL << 62);
	}
	sch_tree_unlock(sch);

	/* The next delivery may be due earlier now. */
	qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns());
	return 0;
}

static int dccport_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct dccport *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->watchdog, sch);
	q->reorder_state = ~0ULL;
	if (sch->parent != TC_H_ROOT) {
		NL_SET_ERR_MSG(extack, "dccport must be a device's root qdisc");
		return -EOPNOTSUPP;
	}
	/* Without parameters a link that is infinitely fast and short. */
	return opt ? dccport_change(sch, opt, extack) : 0;
}

static void dccport_reset(struct Qdisc *sch)
{
	struct dccport *q = qdisc_priv(sch);
	struct lane *lanes[] = { &q->straight, &q->reordered };
	unsigned int i;

	qdisc_watchdog_cancel(&q->watchdog);
	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		if (lanes[i]->head)
			rtnl_kfree_skbs(lanes[i]->head, lanes[i]->tail);
		lanes[i]->head = NULL;
	}
	if (q->child)
		qdisc_reset(q->child);
	q->queue_head = NULL;
	q->backlog_bytes = 0;
	q->busy_ns = 0;
	q->busy_rem = 0;
	q->interrupt_ns = 0;
}

static void dccport_destroy(struct Qdisc *sch)
{
	struct dccport *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->child);
}

/* ---- its one class: the child qdisc ---- */

static int dccport_graft(struct Qdisc *sch, unsigned long cl, struct Qdisc *new,
			 struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct dccport *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new, &q->child);
	return 0;
}

static struct Qdisc *dccport_leaf(struct Qdisc *sch, unsigned long cl)
{
	struct dccport *q = qdisc_priv(sch);

	return q->child;
}

static unsigned long dccport_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static void dccport_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int dccport_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb,
			      struct tcmsg *tcm)
{
	struct dccport *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->child ? q->child->handle : 0;
	return 0;
}

static const struct Qdisc_class_ops dccport_class_ops = {
	.graft = dccport_graft,
	.leaf = dccport_leaf,
	.find = dccport_find,
	.walk = dccport_walk,
	.dump = dccport_dump_class,
};

static int dccport_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct dccport *q = qdisc_priv(sch);
	struct tc_dccport_quantile quantile[DCCPORT_QUANTILES_MAX];
	struct tc_dccport_delay delay[DCCPORT_DELAYS_MAX];
	u32 quantiles, delays, gap_ns;
	struct tc_dccport_parms p;
	struct nlattr *opts;

	/* The backlog of the statistics is that of now. */
	sch_tree_lock(sch);
	dccport_advance(sch, ktime_get_ns());
	p = q->parms;
	quantiles = q->quantiles;
	memcpy(quantile, q->quantile, sizeof(quantile));
	gap_ns = q->interrupt_gap_ns;
	delays = q->delays;
	memcpy(delay, q->delay, sizeof(delay));
	sch_tree_unlock(sch);

	opts = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	if (nla_put(skb, TCA_DCCPORT_PARMS, sizeof(p), &p) ||
	    (quantiles && nla_put(skb, TCA_DCCPORT_NOISE, quantiles * sizeof(quantile[0]),
				  quantile)) ||
	    (gap_ns && nla_put_u32(skb, TCA_DCCPORT_INTERRUPT_GAP, gap_ns)) ||
	    (delays && nla_put(skb, TCA_DCCPORT_DELAYS, delays * sizeof(delay[0]), delay))) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static struct Qdisc_ops dccport_qdisc_ops __read_mostly = {
	.id = DCCPORT_KIND,
	.cl_ops = &dccport_class_ops,
	.priv_size = sizeof(struct dccport),
	.enqueue = dccport_enqueue,
	.dequeue = dccport_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = dccport_init,
	.reset = dccport_reset,
	.destroy = dccport_destroy,
	.change = dccport_change,
	.dump = dccport_dump,
	.owner = THIS_MODULE,
};

static int __init dccport_module_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct dccport_event) != 48);
	BUILD_BUG_ON(sizeof(struct dccport_cb) > QDISC_CB_PRIV_LEN);

	dccport_log.chunks = vzalloc(array_size(LOG_CHUNKS_MAX, sizeof(*dccport_log.chunks)));
	if (!dccport_log.chunks)
		return -ENOMEM;
	dccport_log.first = 1; /* 0: not logged */

	err = -ENOMEM;
	if (!proc_create("dccport_log", 0600, NULL, &dccport_log_ops))
		goto free;
	err = register_qdisc(&dccport_qdisc_ops);
	if (err)
		goto remove;
	return 0;

remove:
	remove_proc_entry("dccport_log", NULL);
free:
	vfree(dccport_log.chunks);
	return err;
}

static void __exit dccport_module_exit(void)
{
	unregister_qdisc(&dccport_qdisc_ops);
	remove_proc_entry("dccport_log", NULL);
	log_clear();
	vfree(dccport_log.chunks);
}

module_init(dccport_module_init);
module_exit(dccport_module_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("the delaycc authors");
MODULE_DESCRIPTION("delaycc lab: one direction of a link, exact to the nanosecond");

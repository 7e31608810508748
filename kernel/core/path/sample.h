/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From an ACK as TCP has it to an RTT of the path: when the packet was sent, and whether its RTT is
 * ambiguous (Karn), the receiver's (a delayed ACK) or a small packet's.
 *
 *	constant	value	reason
 *	HELD_ACK_NS	20 ms	a receiver that waits for a second packet holds an ACK for 40 ms or
 *				more (Linux; others up to 500 ms); no datacenter queue lasts 20 ms
 *	PAUSE_PACKETS	64	a flow that ran out of data within a response of 100 KB is limited
 *				by its application
 */
#ifndef DCC_PATH_SAMPLE_H
#define DCC_PATH_SAMPLE_H

#include "../dcc_cc.h"
#include "../dcc_math.h"

/* Congestion states, with the numbers of the kernel's enum tcp_ca_state (uapi/linux/tcp.h). */
#define DCC_TCP_CA_OPEN 0U
#define DCC_TCP_CA_CWR 2U
#define DCC_TCP_CA_RECOVERY 3U
#define DCC_TCP_CA_LOSS 4U

#define DCC_SAMPLE_HELD_ACK_NS 20000000U
#define DCC_SAMPLE_PAUSE_PACKETS 64U

/* What has to be remembered between two ACKs. */
struct dcc_sampler {
	u64 bytes_acked; /* as the last ACK left them: */
	u32 sacked_out;
	u32 data_segs_in;
	u32 total_retrans;
	u32 retrans_seq;      /* snd_nxt at the newest retransmission */
	u32 paused_delivered; /* tp->delivered when the flow last ran out of data */
	u32 mss;	      /* payload of a full packet, bytes; never 0 */
	u32 header_bytes;     /* on the wire, beside the payload */
	u32 rtt_ns;	      /* the newest valid RTT */
	u8 retransmitted;     /* an RTT up to retrans_seq may be ambiguous */
	u8 delayed_acks;      /* the peer has held back an ACK */
	u8 stretched_acks;    /* the peer does not acknowledge each packet at once */
	u8 times_retrans;     /* RTTs of retransmissions count (by RACK, in us) */
};

/* A socket and its rate sample at an ACK, as integers; the kernel's names where it has one. */
struct dcc_tcp_view {
	u64 now_ns;	   /* tcp_clock_cache */
	u64 now_us;	   /* tcp_mstamp: the same, rounded down */
	u64 bytes_acked;   /* payload, without what is selectively acknowledged */
	u32 snd_nxt;
	u32 delivered;	   /* packets */
	u32 packets_out;   /* after this ACK */
	u32 sacked_out;
	u32 total_retrans;
	u32 data_segs_in;
	u32 ca_state;	   /* DCC_TCP_CA_ */
	bool all_sent;	   /* the write queue is empty: nothing waits to be sent */
	bool rwnd_limited; /* the receiver's window is what limits */
	/* struct rate_sample */
	bool sampled;	   /* prior_mstamp is set: the sample is valid */
	bool is_retrans;
	bool is_app_limited;
	bool is_ack_delayed;
	s32 rtt_us;	   /* negative: none */
	u32 acked_sacked;  /* packets newly delivered by this ACK */
	u32 prior_delivered;
	u32 last_end_seq;  /* of the newest packet that this ACK delivered */
};

/* Whether sequence number a lies before b, modulo 2^32. */
static inline bool dcc_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* Are now - sent_ns and rtt_us the same time?  Both ends of rtt_us are rounded down. */
static inline bool dcc_sample_same_rtt(u64 now_ns, u64 sent_ns, u32 rtt_us)
{
	u64 error_ns = now_ns - sent_ns - (u64)rtt_us * DCC_NS_PER_US;

	return error_ns + (DCC_NS_PER_US - 1) < 2 * DCC_NS_PER_US - 1;
}

/* May a time of TCP's be of its timestamp option, which counts milliseconds? */
static inline bool dcc_sample_is_whole_ms(u32 us)
{
	return us % 1000 == 0;
}

/* The socket as an algorithm finds it.  A packet in flight may have been sent more than once. */
static inline void dcc_sampler_begin(struct dcc_sampler *s, const struct dcc_tcp_view *v)
{
	s->bytes_acked = v->bytes_acked;
	s->sacked_out = v->sacked_out;
	s->data_segs_in = v->data_segs_in;
	s->total_retrans = v->total_retrans;
	s->retransmitted = v->packets_out > 0;
	s->retrans_seq = v->snd_nxt;
	/* No pause yet. */
	s->paused_delivered = v->delivered - DCC_SAMPLE_PAUSE_PACKETS;
}

/* Notes retransmissions: the RTT of a packet that was in flight then may be ambiguous. */
static inline void dcc_sampler_note_retrans(struct dcc_sampler *s, const struct dcc_tcp_view *v)
{
	if (v->total_retrans != s->total_retrans) {
		s->total_retrans = v->total_retrans;
		s->retrans_seq = v->snd_nxt;
		s->retransmitted = 1;
	} else if (s->retransmitted && dcc_seq_before(s->retrans_seq, v->last_end_seq)) {
		s->retransmitted = 0;
	}
}

/* Bytes on the wire that this ACK delivered, headers included.  To be called for each ACK. */
static inline u32 dcc_sampler_delivered_bytes(struct dcc_sampler *s, const struct dcc_tcp_view *v)
{
	u64 payload = v->bytes_acked - s->bytes_acked;

	/* bytes_acked leaves selectively acknowledged bytes out, and makes up for them later. */
	if (v->sacked_out || s->sacked_out)
		payload = (u64)v->acked_sacked * s->mss;
	s->bytes_acked = v->bytes_acked;
	s->sacked_out = v->sacked_out;
	return dcc_sat_u32(payload + (u64)v->acked_sacked * s->header_bytes);
}

/*
 * May the peer have held back this ACK?  A receiver waits for a second packet, for its application
 * to read, or for an answer that carries the ACK.  Only a peer that was seen not to acknowledge
 * each packet at once does so, and only with the ACK of all that is in flight.  To be called for
 * each ACK that delivers something.
 */
static inline bool dcc_sampler_may_be_held(struct dcc_sampler *s, const struct dcc_tcp_view *v)
{
	bool carried = v->data_segs_in != s->data_segs_in;

	s->data_segs_in = v->data_segs_in;
	if (v->acked_sacked > 1 && !v->sacked_out && !s->retransmitted &&
	    v->ca_state == DCC_TCP_CA_OPEN)
		s->stretched_acks = 1;
	if (v->packets_out)
		return false;
	if (v->all_sent)
		s->paused_delivered = v->delivered;
	return carried || s->stretched_acks || s->delayed_acks;
}

/*
 * When the newest acknowledged packet was last retransmitted, from RACK's microseconds; 0: unknown.
 * The arguments are the socket's rack.mstamp, rack.rtt_us, tcp_mstamp and tcp_clock_cache.  RACK
 * leaves out an ACK that came sooner than the path allows, which was the ACK of the first
 * transmission; its time is then that of an older ACK.
 */
static inline u64 dcc_sample_retrans_ns(u64 rack_sent_us, u32 rack_rtt_us, u64 now_us, u64 now_ns)
{
	if (!rack_rtt_us || now_us - rack_sent_us != rack_rtt_us)
		return 0;
	return dcc_min_u64(rack_sent_us * DCC_NS_PER_US + DCC_NS_PER_US / 2, now_ns - 1);
}

/*
 * When the newest acknowledged packet was sent; 0: unknown.
 *
 * noted_ns is the caller's note of that packet's departure, 0: none.  A note counts if it agrees
 * with the kernel's RTT in microseconds, which obeys Karn's rule.  Without one the RTT is taken in
 * the middle of its microsecond.  Of a retransmitted packet noted_ns is dcc_sample_retrans_ns(),
 * and counts with times_retrans.
 */
static inline u64 dcc_sampler_send_ns(const struct dcc_sampler *s, const struct dcc_tcp_view *v,
				      u64 noted_ns)
{
	if (v->is_retrans)
		return s->times_retrans ? noted_ns : 0;
	if (v->rtt_us < 0)
		return 0;

	if (noted_ns && dcc_sample_same_rtt(v->now_ns, noted_ns, (u32)v->rtt_us))
		return noted_ns;

	if (s->retransmitted && dcc_sample_is_whole_ms((u32)v->rtt_us))
		return 0;
	return dcc_min_u64((v->now_us - (u32)v->rtt_us) * DCC_NS_PER_US + DCC_NS_PER_US / 2,
			   v->now_ns - 1);
}

/*
 * Packets in flight when the newest acknowledged packet was sent: it, and all that was delivered
 * since.
 */
static inline u32 dcc_sample_flight_packets(const struct dcc_tcp_view *v)
{
	return dcc_max_u32(v->delivered - v->prior_delivered, 1);
}

/* Was the ACK held back for certain?  No queue lasts as long as its RTT. */
static inline bool dcc_sample_is_held(u32 rtt_ns, u32 base_rtt_ns, u32 flight_packets,
				      bool may_be_held)
{
	return rtt_ns > DCC_SAMPLE_HELD_ACK_NS && rtt_ns - DCC_SAMPLE_HELD_ACK_NS > base_rtt_ns &&
	       (flight_packets == 1 || may_be_held);
}

/*
 * Did this ACK deliver a packet that was not full?  It takes less time on each link than a full
 * one: by 1.2 ms on one of 10 Mbit/s.  acked_bytes is dcc_sampler_delivered_bytes().
 */
static inline bool dcc_sampler_acked_small(const struct dcc_sampler *s,
					   const struct dcc_tcp_view *v, u32 acked_bytes)
{
	return acked_bytes < (u64)v->acked_sacked * (s->mss + s->header_bytes);
}

#endif /* DCC_PATH_SAMPLE_H */

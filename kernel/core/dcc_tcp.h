/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From TCP's acknowledgment to the core's, and from the core's control to TCP's window and pace.
 *
 * The kernel's TCP calls hooks of a module or of a BPF program.  Both read the same fields of the
 * socket and of the rate sample; both have to turn them into a struct dcc_ack, and a struct
 * dcc_control into snd_cwnd and sk_pacing_rate.  This header is that arithmetic: pure functions of
 * integers which the caller copies out of the socket (struct dcc_tcp_view), and of what has to be
 * remembered between two ACKs (struct dcc_tcp).
 *
 *	path		dcc_tcp_begin(), dcc_tcp_set_packet(), dcc_tcp_set_line(),
 *			dcc_tcp_set_grain(), dcc_tcp_set_base_rtt(), dcc_tcp_guess_base_rtt()
 *	ACK		dcc_tcp_sample(), made of
 *			  dcc_tcp_note_retrans(), dcc_tcp_delivered_bytes(),
 *			  dcc_tcp_may_be_held(), dcc_tcp_send_ns(), dcc_tcp_is_held(),
 *			  dcc_tcp_accept_rtt(),
 *			  dcc_tcp_watch_fixed(), with dcc_tcp_spare_trial(),
 *			  dcc_tcp_note_noise(), with dcc_tcp_judge_handshake() and
 *			  dcc_tcp_try_noise() at the end of a round,
 *			  dcc_tcp_note_line(), with dcc_tcp_follow_line();
 *			dcc_tcp_retrans_ns(), dcc_tcp_came_soon(); of a stopped flow's probe:
 *			dcc_tcp_watch_probe()
 *	path memory	dcc_tcp_may_trust(), dcc_tcp_trust(); dcc_tcp_has_news(), dcc_tcp_knows(),
 *			dcc_tcp_memory_take(), dcc_tcp_memory_age_ns(), dcc_tcp_memory_is_old(),
 *			dcc_tcp_memory_is_wrong(), dcc_tcp_told()
 *	loss		dcc_tcp_state_event()
 *	idle		dcc_tcp_restarts()
 *	control		dcc_tcp_note_control(), dcc_tcp_add_trial(), dcc_tcp_stops(),
 *			dcc_tcp_pace(), dcc_tcp_least_pace(),
 *			dcc_tcp_burst(), dcc_tcp_window(), dcc_tcp_least_window(),
 *			dcc_tcp_hold_ns(), dcc_tcp_shortened_hold_ns()
 *
 * The caller finds the note of a packet's send time, reads and writes the socket, and owns the
 * clock.  Times are in ns of TCP's clock; "us" says microseconds of the same clock.
 */
#ifndef DCC_TCP_H
#define DCC_TCP_H

#include "dcc_cc.h"
#include "dcc_math.h"

#define DCC_NS_PER_US 1000U
#define DCC_NS_PER_S 1000000000ULL
#define DCC_BITS_PER_BYTE 8U

/* Congestion states, with the numbers of the kernel's enum tcp_ca_state (uapi/linux/tcp.h). */
#define DCC_TCP_CA_OPEN 0U
#define DCC_TCP_CA_CWR 2U
#define DCC_TCP_CA_RECOVERY 3U
#define DCC_TCP_CA_LOSS 4U

/*
 * The line rate where nobody tells it and the device does not say its speed, as virtual machines'
 * NICs and tunnels: what veth devices say.
 */
#define DCC_TCP_UNSAID_MBPS 10000U

/* The base RTT before any RTT is known. */
#define DCC_TCP_FIRST_RTT_NS 1000000U

/*
 * A receiver that waits for a second packet holds an ACK for 40 ms or more (Linux; others up to
 * 500 ms).  No queue in a datacenter lasts 20 ms: that is 250 MB at 100 Gbit/s.
 */
#define DCC_TCP_HELD_ACK_NS 20000000U

/*
 * A flow that ran out of data within its last so many packets is limited by its application: a
 * response of 100 KB.
 */
#define DCC_TCP_PAUSE_PACKETS 64U

/*
 * A pause of this many RTTs is idle time.  Shorter pauses are the gaps of a slow flow, or of an
 * application between two requests.
 */
#define DCC_TCP_IDLE_RTTS 8U

/* Packets that a receiver gathers before it sends an ACK, less the first. */
#define DCC_TCP_ACK_SLACK 1U

/* Packets of 1500 bytes in a full TSO burst of 64 KB. */
#define DCC_TCP_FULL_BURST 44U

/* More full packets than the 1 GB that TCP's sequence numbers allow in flight. */
#define DCC_TCP_CWND_MAX 1000000U

/* A queue that lasts holds at most so many base RTTs. */
#define DCC_TCP_STEADY_RTTS 12U

/*
 * At least so many TSO bursts leave in a base RTT, unless they are single packets.  Where nobody
 * has told the line rate a burst may last a grain, but no longer than this, and is such a part of
 * the window at most.
 */
#define DCC_TCP_BURSTS_PER_RTT 16U
#define DCC_TCP_BURST_MAX_NS 60000000U
#define DCC_TCP_BURSTS_PER_WINDOW 4U

/*
 * The longest wait between two packets that a control may ask for: half of TCP's least RTO.  A
 * flow that has waited has old news, and its user takes a longer wait for a broken connection.
 */
#define DCC_TCP_HOLD_MAX_NS 100000000U

/*
 * Noise of hosts (dcc_tcp_note_noise()).  A round has so many samples at least.  It is noisy if the
 * RTT changes, from one sample to the next, by a packet's time on the line and by more than a
 * quarter of the time between two samples.  If samples come at least twice in a base RTT, a 32nd of
 * that time is enough, beside the range of the round's RTTs.  So many noisy rounds in a row, with
 * samples as often, are proof of noise, if each one's mean RTT is longer than its least by a 16th
 * of the flow's least RTT.
 *
 * A round is low if its rate is at most two thirds of the best one.  Low and noisy rounds are proof
 * of any noise, also two of them that last so many RTTs.  One is, if its rate is less than an
 * eighth of the best one: the flow is starved, and its rounds are long.
 *
 * Little noise (dcc_tcp_is_little_noise()) is so many packets' time at most, and such a part of the
 * least RTT, and so many spreads.  It takes so many rounds, of less than such a part of the best
 * rate.
 */
#define DCC_TCP_ROUND_SAMPLES 12U
#define DCC_TCP_STEP_PART 4U
#define DCC_TCP_TURN_PART 32U
#define DCC_TCP_NOISY_ROUNDS 6U
#define DCC_TCP_NOISY_SPREAD_PART 16U
#define DCC_TCP_LOW_RTTS 16U
#define DCC_TCP_STARVED_PART 8U
#define DCC_TCP_LITTLE_PACKETS 8U
#define DCC_TCP_LITTLE_PART 2U
#define DCC_TCP_LITTLE_SPREADS 2U
#define DCC_TCP_LITTLE_ROUNDS 2U
#define DCC_TCP_LITTLE_RATE_PART 2U

/*
 * Rare samples (dcc_tcp_round_saw_no_queue()): a round is long if it takes so many RTTs.  Its
 * excess may be so many spreads, its rate is only low if the flow is starved, and half of the noise
 * goes with one that is not noisy.
 */
#define DCC_TCP_LONG_ROUND_RTTS 512U
#define DCC_TCP_LONG_ROUND_SPREADS 2U
#define DCC_TCP_LONG_ROUND_DECAY_SHIFT 1

/* The best rate falls by a 64th per round: a share that is long gone is no measure. */
#define DCC_TCP_BEST_SHIFT 6

/* The noise is at most so many times the spread, and no longer than interrupts are put off. */
#define DCC_TCP_NOISE_SPREADS 3U
#define DCC_TCP_NOISE_MAX_NS 250000U

/*
 * A round that is not noisy takes an eighth of the noise away.  Where samples are dense, it takes
 * half of that part after each proof by rounds that were nearly level, so many times.
 */
#define DCC_TCP_NOISE_DECAY_SHIFT 3
#define DCC_TCP_LEVEL_PROOFS_MAX 3U

/*
 * What the handshake says of the base RTT (dcc_tcp_bound_by_handshake()).  A full packet takes
 * longer than the handshake's on each link: at least on the two hosts' own links, and on six links
 * in the largest fabrics.  The last digits of a path are worth a sixteenth.
 */
#define DCC_TCP_HANDSHAKE_LINKS 2U
#define DCC_TCP_HANDSHAKE_MORE_LINKS 4U
#define DCC_TCP_HANDSHAKE_SLACK_SHIFT 4

/* It is refuted by so many rounds of a starved flow in a row. */
#define DCC_TCP_STARVED_ROUNDS 2U

/*
 * What is known of a path (dcc_tcp_trust()) is believed if the handshake took at most so many times
 * as long: a law's queue is no longer than the path.  What took longer is another path, or has met
 * a queue of flows that no delay-based one can do anything about.
 */
#define DCC_TCP_KNOWN_TIMES 3U

/* A path memory: a 16th more or less is the same path, at another time. */
#define DCC_TCP_MEMORY_SAME_SHIFT 4

/* A connection tells what it knows so often, and whenever it has measured another least RTT. */
#define DCC_TCP_TELL_NS DCC_NS_PER_S

/*
 * A configured base RTT that is too short (dcc_tcp_doubt_fixed()).  A connection doubts it that
 * has never seen so little, but for a 32nd or a quarter of the law's target, whichever is less: CCC
 * leaves half of the line idle at half of its target, a 32nd of 80 us.  It believes that the base
 * RTT is half as long again at most.
 * RTTs are steady if so many samples, over so many RTTs, differ by no more than a band: some
 * packets' time, but a 16th of the base RTT, or a single packet's.  A trial sends more packets,
 * four bands of them, and ends after so many samples or RTTs.  After one that has made a queue the
 * next is so many RTTs away, doubled each time.
 */
#define DCC_TCP_DOUBT_SHIFT 5
#define DCC_TCP_DOUBT_TARGET_SHIFT 2
#define DCC_TCP_DOUBT_PART 2U
#define DCC_TCP_DOUBT_SAMPLES 4U
#define DCC_TCP_DOUBT_RTTS 3U
#define DCC_TCP_BAND_PACKETS 4U
#define DCC_TCP_BAND_SHIFT 4
#define DCC_TCP_TRIAL_BANDS 4U
#define DCC_TCP_TRIAL_SAMPLES 4U
#define DCC_TCP_TRIAL_RTTS 8U
#define DCC_TCP_TRIAL_WAIT_RTTS 4U
#define DCC_TCP_TRIAL_WAIT_SHIFT_MAX 9U

/*
 * Noise that is level (dcc_tcp_try_noise()).  A trial asks whether a round's mean delay above the
 * path is a queue: one of so many packets' time at least and so many more than the noise that is
 * known, of which the round's least RTT lacks such a part at most, in a flow that has such a part
 * of the line; at any rate of the flow if it is more than so many times as long as the path.  The
 * trial adds so many packets for so many rounds; the delay is noise if it then has changed by no
 * more than such a part of their time.  So many trials in a row are proof, and so many RTTs apart.
 * The first is up to so many RTTs away, a power of two.
 */
#define DCC_TCP_LEVEL_PACKETS 8U
#define DCC_TCP_LEVEL_MORE_PACKETS 4U
#define DCC_TCP_LEVEL_SPREAD_PART 4U
#define DCC_TCP_LEVEL_LINE_PART 16U
#define DCC_TCP_LEVEL_PATHS 2U
#define DCC_TCP_LEVEL_TRIAL_PACKETS 8U
#define DCC_TCP_LEVEL_TRIAL_ROUNDS 3U
#define DCC_TCP_LEVEL_CHANGE_PART 2U
#define DCC_TCP_LEVEL_TRIALS 2U
#define DCC_TCP_LEVEL_WAIT_RTTS 2U
#define DCC_TCP_LEVEL_FIRST_RTTS 16U

/* Where levels have to agree, nobody doubts who has all of the line but such a part. */
#define DCC_TCP_ROOM_SHIFT 3

/* The configured one counts again after so many rounds with a queue in a row. */
#define DCC_TCP_BUSY_ROUNDS 4U

/*
 * The grain of a path whose line rate nobody has told (dcc_tcp_grain_ns()): a quarter of the base
 * RTT, or the time of so many packets at the best rate that the flow has seen.  The latter only
 * where that is less than such a part of the device's rate, as one of some flows on a right one
 * has more; and it is at most so many base RTTs: a full packet's time is a part of the base RTT,
 * and what makes packets rarer is other flows.
 */
#define DCC_TCP_GRAIN_BASE_PART 4U
#define DCC_TCP_GRAIN_PACKETS 2U
#define DCC_TCP_GRAIN_RATE_PART 16U
#define DCC_TCP_GRAIN_BASES_MAX 2U

/* A change by an eighth is none: with each one a core computes all that follows from the path. */
#define DCC_TCP_GRAIN_STEP_SHIFT 3

/* There the pace is at most so many windows per base RTT, as TCP's own is while it starts. */
#define DCC_TCP_UNTOLD_WINDOWS_PER_RTT 2U

/*
 * And the window is at most what the path has shown to carry (dcc_tcp_prove_window()): TCP's own
 * first one, then twice what was in flight without a queue, or by this part more than what was in
 * flight in one.
 */
#define DCC_TCP_PROVED_SHIFT 3

/*
 * A path may also be faster than the device says (dcc_tcp_follow_line()).  A round raises the line
 * rate by such a part of the device's, twice as much each time, but not by more than such a part of
 * the one in use; or it takes such a part of what has been raised back.
 */
#define DCC_TCP_LINE_RAISE_SHIFT 3
#define DCC_TCP_LINE_RAISE_MOST_SHIFT 2
#define DCC_TCP_LINE_FALL_SHIFT 4
/* The rate may then double this often, from 1 Mbit/s to 800 Gbit/s. */
#define DCC_TCP_LINE_RAISES_MAX 20U

/* The samples of one RTT or more. */
struct dcc_tcp_round {
	u64 start_ns;
	u64 sum_rtt_ns;
	u64 acked_bytes;
	u64 sum_step_ns; /* of the changes from one sample to the next */
	u32 newest_rtt_ns;
	u32 least_rtt_ns;
	u32 most_rtt_ns;
	u32 samples;
};

/* What a flow has seen of the line, where nobody has told its rate. */
struct dcc_tcp_line {
	u64 round_ns; /* packets sent from here on end the round; 0: none yet */
	u64 bytes;    /* delivered in it */
	u64 best_bps; /* the greatest rate of a round, on its way down; 0: none yet */
	u32 window;   /* the greatest window that is proved, in packets */
	u32 least_rtt_ns; /* of the round; all ones: none yet */
	u32 least_before_ns; /* of the round before */
};

/* RTTs in a row that are alike, to a band. */
struct dcc_tcp_alike {
	u64 since_ns; /* when the first came */
	u32 least_ns;
	u32 samples; /* 0: none */
};

/* What the handshake says of the base RTT. */
struct dcc_tcp_handshake {
	u32 rtt_ns;	   /* of its small packets; 0: unknown, ambiguous or refuted */
	u32 error_ns;	   /* of rtt_ns, either way */
	u32 least_data_ns; /* while in use: the least RTT of a full packet */
	struct dcc_tcp_alike idle; /* RTTs that may be an idle path's */
	u8 in_use;	   /* dcc_tcp.least_rtt_ns comes from rtt_ns */
	u8 starved_rounds; /* in a row */
};

/*
 * Whether the base RTT is too short: one that is configured (dcc_tcp_doubt_fixed()), or a measured
 * one by noise that is level (dcc_tcp_try_noise(), which does not use least_ns, busy and spared).
 */
struct dcc_tcp_doubt {
	/*
	 * Of a trial, its samples without a queue; then a round.  For noise: the mean RTT before
	 * the trial, and its rounds.
	 */
	struct dcc_tcp_alike steady;
	u64 next_ns;  /* no trial before */
	u64 own_until_ns; /* packets sent up to then may queue behind a trial's: */
	u32 least_ns; /* the least RTT of a full packet; all ones: none yet */
	u32 flight;   /* packets in flight when the trial began */
	u8 most;      /* packets that the trial adds, */
	u8 extra;     /* and by now; 0: there is none */
	u8 failed;    /* trials that made a queue, in a row */
	u8 proved;    /* least_ns is the base RTT; for noise: trials without a queue, in a row */
	u8 busy;      /* rounds with a queue, in a row, since then */
	u8 spared;    /* the configured base RTT stays: the law can do with both */
	u8 own;	      /* packets behind which others queue up to own_until_ns */
};

/*
 * What earlier connections have learnt of a path with full packets of the same size, and what a
 * connection has learnt for later ones.
 */
struct dcc_tcp_known {
	u32 least_rtt_ns; /* 0: nothing */
	u32 noise_ns;	  /* of the hosts, beside it */
	bool exact;	  /* of full packets; else a handshake's, made longer */
};

/* A path in a path memory. */
struct dcc_tcp_memory {
	struct dcc_tcp_known known;
	u64 noted_ns; /* when a connection last knew as short a RTT; wraps */
};

/* Rounds of one kind, in a row. */
struct dcc_tcp_rounds {
	u64 since_ns;  /* the first one's start */
	u32 count;     /* 0: none */
	u32 excess_ns; /* the least of: mean RTT above the flow's least RTT; */
	u32 spread_ns; /* mean RTT above the round's own least */
};

/* What the hosts add to the RTT on average, beside what they add at least. */
struct dcc_tcp_noise {
	struct dcc_tcp_round round;
	struct dcc_tcp_rounds noisy;
	struct dcc_tcp_rounds low; /* and noisy */
	u64 best_bps;		   /* the greatest rate of a round, on its way down */
	u32 mean_ns;		   /* the noise in use */
	u32 level_proofs;	   /* of it, nearly level; up to DCC_TCP_LEVEL_PROOFS_MAX */
};

/* What the hooks remember of a socket between two ACKs.  Zeroed before dcc_tcp_begin(). */
struct dcc_tcp {
	struct dcc_path path; /* for the core; valid once base RTT, line rate and packet are set */
	u64 bytes_acked;      /* as the last ACK left them: */
	u32 sacked_out;
	u32 data_segs_in;
	u32 total_retrans;
	u32 retrans_seq;      /* snd_nxt at the newest retransmission */
	u32 paused_delivered; /* tp->delivered when the flow last ran out of data */
	u32 mss;	      /* payload of a full packet, bytes; never 0 */
	u32 header_bytes;     /* on the wire, beside the payload */
	u32 rtt_ns;	      /* the newest valid RTT */
	u32 least_rtt_ns;     /* of a full packet; path.base_rtt_ns is longer by noise.mean_ns */
	struct dcc_tcp_noise noise;
	struct dcc_tcp_handshake handshake;
	struct dcc_tcp_doubt doubt;
	struct dcc_tcp_known known; /* of the path; least_rtt_ns is 0 once it is refuted */
	u64 tell_ns;	      /* when the path memory is to hear of the path again; */
	u32 told_rtt_ns;      /* least_rtt_ns, as it last heard of it */
	u32 fixed_rtt_ns;     /* the base RTT as configured, not to be measured; 0: it is not */
	u32 idle_rtt_ns;      /* the idle path's, dcc_ack.idle_rtt_ns */
	u32 idle_max_ns;      /* dcc_control.idle_max_ns, */
	u32 target_ns;	      /* dcc_control.target_ns */
	struct dcc_tcp_line line;
	u64 last_ack_ns;      /* the newest ACK that a core saw; 0: none */
	u64 given_bps;	      /* the line rate as it is configured, or as the device says it */
	u8 line_told;	      /* path.line_rate_bps is configured, not a device's */
	u8 by_level;	      /* a law of levels, which have to agree on delays */
	u8 base_measured;     /* path.base_rtt_ns comes from full packets of data */
	u8 base_small;	      /* path.base_rtt_ns comes from packets of data that were not full */
	u8 retransmitted;     /* an RTT up to retrans_seq may be ambiguous */
	u8 delayed_acks;      /* the peer has held back an ACK */
	u8 stretched_acks;    /* the peer does not acknowledge each packet at once */
	u8 times_retrans;     /* RTTs of retransmissions count (by RACK, in us) */
	u8 loss_seen;	      /* recovery began; the core's _loss() is still to be called */
	u8 known_wrong;	      /* what was known of the path is refuted; until dcc_tcp_told() */
	u8 raises;	      /* rounds in a row that have raised path.line_rate_bps */
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

/* ---- the path ------------------------------------------------------------ */

/* A full packet: mss payload bytes and header_bytes around them, on the wire. */
static inline void dcc_tcp_set_packet(struct dcc_tcp *s, u32 mss, u32 header_bytes)
{
	s->mss = dcc_max_u32(mss, 1);
	s->header_bytes = header_bytes;
	s->path.wire_bytes = dcc_clamp_u32(s->mss + header_bytes, DCC_PATH_WIRE_MIN_BYTES,
					   DCC_PATH_WIRE_MAX_BYTES);
}

/*
 * The line rate: told, that is configured, or else a device's.  What the path has shown of it stays
 * while that is the same.
 */
static inline void dcc_tcp_set_line(struct dcc_tcp *s, u64 rate_bps, bool told)
{
	rate_bps = dcc_min_u64(rate_bps, DCC_PATH_RATE_MAX_BPS);
	if (s->given_bps == rate_bps && s->line_told == told)
		return;
	s->given_bps = rate_bps;
	s->line_told = told;
	s->path.line_rate_bps = rate_bps;
	s->raises = 0;
	/* Trials are for told rates alone, and count in packets' time. */
	s->doubt.extra = 0;
	s->doubt.own = 0;
}

/* Of a path that the connection has not seen yet. */
static inline void dcc_tcp_clear_doubt(struct dcc_tcp_doubt *d)
{
	d->next_ns = 0;
	d->least_ns = ~0U;
	d->steady.samples = 0;
	d->extra = 0;
	d->own = 0;
	d->failed = 0;
	d->proved = 0;
}

/*
 * The configured base RTT; 0: to be measured.  moved: the route leads over another device.  The
 * base RTT in use then stays until the next sample replaces it.  A route that was merely looked up
 * anew keeps the measured minimum: the next sample may have met a queue.
 */
static inline void dcc_tcp_set_base_rtt(struct dcc_tcp *s, u32 base_rtt_ns, bool moved)
{
	if (base_rtt_ns) {
		/* What the path has shown of it stays. */
		if (s->fixed_rtt_ns == base_rtt_ns && !moved)
			return;
		s->path.base_rtt_ns = base_rtt_ns;
		s->path.noise_ns = 0;
		s->fixed_rtt_ns = base_rtt_ns;
		s->handshake.in_use = 0;
		s->idle_rtt_ns = 0;
		dcc_tcp_clear_doubt(&s->doubt);
	} else if (s->fixed_rtt_ns || moved) {
		s->fixed_rtt_ns = 0;
		s->idle_rtt_ns = 0;
		dcc_tcp_clear_doubt(&s->doubt);
		s->base_measured = 0;
		s->base_small = 0;
		s->noise.mean_ns = 0;
		s->noise.level_proofs = 0;
		s->noise.noisy.count = 0;
		s->noise.low.count = 0;
		s->noise.round.samples = 0;
		s->handshake.rtt_ns = 0;
		s->handshake.in_use = 0;
		s->known.least_rtt_ns = 0;
	}
}

/* Are now - sent_ns and rtt_us the same time?  Both ends of rtt_us are rounded down. */
static inline bool dcc_tcp_same_rtt(u64 now_ns, u64 sent_ns, u32 rtt_us)
{
	u64 error_ns = now_ns - sent_ns - (u64)rtt_us * DCC_NS_PER_US;

	return error_ns + (DCC_NS_PER_US - 1) < 2 * DCC_NS_PER_US - 1;
}

/* May a time of TCP's be of its timestamp option, which counts milliseconds? */
static inline bool dcc_tcp_is_whole_ms(u32 us)
{
	return us % 1000 == 0;
}

/* An RTT of small packets, to a microsecond. */
static inline void dcc_tcp_set_handshake(struct dcc_tcp *s, u64 rtt_ns)
{
	s->handshake.error_ns = DCC_NS_PER_US;
	s->handshake.rtt_ns = (u32)dcc_min_u64(rtt_ns, DCC_PATH_RTT_MAX_NS);
}

/*
 * The handshake's RTT at the start of a connection.  It is known to the nanosecond where sent_ns is
 * the SYN's departure.  Where a SYN or its answer was sent again it is ambiguous: a timestamp
 * option that echoes the first SYN makes it a second.
 */
static inline void dcc_tcp_note_handshake(struct dcc_tcp *s, const struct dcc_tcp_view *v,
					  u32 srtt_us, u64 sent_ns)
{
	struct dcc_tcp_handshake *h = &s->handshake;

	dcc_tcp_set_handshake(s, (u64)srtt_us * DCC_NS_PER_US);
	if (h->rtt_ns && dcc_tcp_same_rtt(v->now_ns, sent_ns, srtt_us)) {
		h->error_ns = 0;
		h->rtt_ns = (u32)dcc_min_u64(v->now_ns - sent_ns, DCC_PATH_RTT_MAX_NS);
	}
}

/*
 * The least RTT of an old connection, which another algorithm had: its handshake's, or that of
 * another small packet.  least_us is TCP's; 0 and all ones: unknown.  Of the timestamp option it
 * may be short by a millisecond.
 */
static inline void dcc_tcp_note_least(struct dcc_tcp *s, u32 least_us)
{
	u64 least_ns = (u64)least_us * DCC_NS_PER_US;

	if (!least_us || least_us == 0xffffffffU)
		return;
	if (dcc_tcp_is_whole_ms(least_us))
		least_ns += 1000 * DCC_NS_PER_US;
	dcc_tcp_set_handshake(s, least_ns);
}

/* A measured RTT as one that a path may have. */
static inline u32 dcc_tcp_path_rtt_ns(u64 rtt_ns)
{
	return (u32)dcc_clamp_u64(rtt_ns, DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
}

/*
 * Begins with an established socket; of v only the socket's fields count.  srtt_us is TCP's RTT, 0:
 * unknown; least_us is its least RTT, all ones: unknown; sent_ns is when the last packet left, on a
 * new connection the SYN.  The handshake's RTT serves until the first data packet's: its small
 * packets are faster, by the time that a full packet takes on each link.  cwnd is the socket's
 * window: on a new connection TCP's initial one (the route's initcwnd, else ten packets), else that
 * of another algorithm.
 */
static inline void dcc_tcp_begin(struct dcc_tcp *s, const struct dcc_tcp_view *v, u32 srtt_us,
				 u32 least_us, u64 sent_ns, u32 cwnd)
{
	/* A SYN is one byte. */
	bool is_new = v->bytes_acked <= 1;
	u64 rtt_ns = DCC_TCP_FIRST_RTT_NS;

	if (srtt_us && !(is_new && v->total_retrans))
		rtt_ns = (u64)srtt_us * DCC_NS_PER_US;
	if (!is_new)
		dcc_tcp_note_least(s, least_us);
	else if (!v->total_retrans)
		dcc_tcp_note_handshake(s, v, srtt_us, sent_ns);
	if (s->handshake.rtt_ns)
		rtt_ns = dcc_min_u64(rtt_ns, s->handshake.rtt_ns);
	s->path.base_rtt_ns = dcc_tcp_path_rtt_ns(rtt_ns);
	s->rtt_ns = s->path.base_rtt_ns;
	s->bytes_acked = v->bytes_acked;
	s->sacked_out = v->sacked_out;
	s->data_segs_in = v->data_segs_in;
	s->total_retrans = v->total_retrans;
	/* A packet in flight now may have been sent more than once. */
	s->retransmitted = v->packets_out > 0;
	s->retrans_seq = v->snd_nxt;
	s->line.window = dcc_min_u32(dcc_max_u32(cwnd, v->packets_out), DCC_TCP_CWND_MAX);
	/* No pause yet. */
	s->paused_delivered = v->delivered - DCC_TCP_PAUSE_PACKETS;
}

/* ---- an ACK -------------------------------------------------------------- */

/* Notes retransmissions: the RTT of a packet that was in flight then may be ambiguous. */
static inline void dcc_tcp_note_retrans(struct dcc_tcp *s, const struct dcc_tcp_view *v)
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
static inline u32 dcc_tcp_delivered_bytes(struct dcc_tcp *s, const struct dcc_tcp_view *v)
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
static inline bool dcc_tcp_may_be_held(struct dcc_tcp *s, const struct dcc_tcp_view *v)
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
static inline u64 dcc_tcp_retrans_ns(u64 rack_sent_us, u32 rack_rtt_us, u64 now_us, u64 now_ns)
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
 * the middle of its microsecond.  Of a retransmitted packet noted_ns is dcc_tcp_retrans_ns(), and
 * counts with times_retrans.
 */
static inline u64 dcc_tcp_send_ns(const struct dcc_tcp *s, const struct dcc_tcp_view *v,
				  u64 noted_ns)
{
	if (v->is_retrans)
		return s->times_retrans ? noted_ns : 0;
	if (v->rtt_us < 0)
		return 0;

	if (noted_ns && dcc_tcp_same_rtt(v->now_ns, noted_ns, (u32)v->rtt_us))
		return noted_ns;

	if (s->retransmitted && dcc_tcp_is_whole_ms((u32)v->rtt_us))
		return 0;
	return dcc_min_u64((v->now_us - (u32)v->rtt_us) * DCC_NS_PER_US + DCC_NS_PER_US / 2,
			   v->now_ns - 1);
}

/*
 * Packets in flight when the newest acknowledged packet was sent: it, and all that was delivered
 * since.
 */
static inline u32 dcc_tcp_flight_packets(const struct dcc_tcp_view *v)
{
	return dcc_max_u32(v->delivered - v->prior_delivered, 1);
}

/* Was the ACK held back for certain?  No queue lasts as long as its RTT. */
static inline bool dcc_tcp_is_held(const struct dcc_tcp *s, u32 rtt_ns, u32 flight_packets,
				   bool may_be_held)
{
	return rtt_ns > DCC_TCP_HELD_ACK_NS &&
	       rtt_ns - DCC_TCP_HELD_ACK_NS > s->path.base_rtt_ns &&
	       (flight_packets == 1 || may_be_held);
}

/*
 * Did this ACK deliver a packet that was not full?  Such a packet takes less time on each link: by
 * 1.2 ms on one of 10 Mbit/s.  acked_bytes is dcc_tcp_delivered_bytes().
 */
static inline bool dcc_tcp_acked_small(const struct dcc_tcp *s, const struct dcc_tcp_view *v,
				       u32 acked_bytes)
{
	return acked_bytes < (u64)v->acked_sacked * (s->mss + s->header_bytes);
}

/* The time of a full packet at bps. */
static inline u64 dcc_tcp_packet_at_ns(const struct dcc_tcp *s, u64 bps)
{
	return dcc_div_u64(s->path.wire_bytes * (DCC_BITS_PER_BYTE * DCC_NS_PER_S),
			   dcc_max_u64(bps, DCC_PATH_RATE_MIN_BPS));
}

/* The time of a full packet on the line. */
static inline u64 dcc_tcp_packet_ns(const struct dcc_tcp *s)
{
	return dcc_tcp_packet_at_ns(s, s->path.line_rate_bps);
}

/*
 * The time of a full packet on the path's slowest link, at most.  A device's rate says nothing of
 * the path behind it, which may be a thousand times slower, and is at least as fast as the flow was
 * at its best.
 */
static inline u64 dcc_tcp_slow_packet_ns(const struct dcc_tcp *s)
{
	return dcc_tcp_packet_at_ns(s, s->line_told ? s->path.line_rate_bps : s->line.best_bps);
}

/* The base RTT in use: the least RTT and the hosts' noise. */
static inline void dcc_tcp_apply_noise(struct dcc_tcp *s)
{
	s->path.base_rtt_ns =
		(u32)dcc_min_u64((u64)s->least_rtt_ns + s->noise.mean_ns, DCC_PATH_RTT_MAX_NS);
	s->path.noise_ns = dcc_sub_sat_u32(s->path.base_rtt_ns, s->least_rtt_ns);
}

/*
 * The shortest queue that says anything where line_rate_bps is a device's.
 *
 * The laws' shortest queues are a fabric's: some microseconds, or some packets' time on the line.
 * On a path that is a thousand times slower one packet of the flow's own is more than that, and on
 * a long one so is the jitter of hosts and middleboxes, so that a law sees a queue which no cut
 * drains.  A quarter of the base RTT is what flows of Swift aim for, too.
 */
static inline u32 dcc_tcp_grain_ns(const struct dcc_tcp *s)
{
	u64 most_ns = (u64)DCC_TCP_GRAIN_BASES_MAX * s->path.base_rtt_ns, packets_ns = 0;

	/* < 2^1 * 2^16 (bytes) * 2^33 */
	if (s->line.best_bps && s->line.best_bps < s->path.line_rate_bps / DCC_TCP_GRAIN_RATE_PART)
		packets_ns = dcc_div_u64(DCC_TCP_GRAIN_PACKETS * (u64)s->path.wire_bytes *
						 (DCC_BITS_PER_BYTE * DCC_NS_PER_S),
					 s->line.best_bps);
	return dcc_max_u32(s->path.base_rtt_ns / DCC_TCP_GRAIN_BASE_PART,
			   (u32)dcc_min_u64(packets_ns, most_ns));
}

/* To be called when base RTT or line rate may be others than before. */
static inline void dcc_tcp_set_grain(struct dcc_tcp *s)
{
	u32 old_ns = s->path.grain_ns, ns;

	if (s->line_told) {
		s->path.grain_ns = 0;
		return;
	}
	ns = dcc_tcp_grain_ns(s);
	if (ns > old_ns + (old_ns >> DCC_TCP_GRAIN_STEP_SHIFT) ||
	    ns < old_ns - (old_ns >> DCC_TCP_GRAIN_STEP_SHIFT))
		s->path.grain_ns = ns;
}

/*
 * The window that flight_packets and their RTT prove.
 *
 * The laws begin with the window of line_rate_bps.  If that is a device's, it may be some thousand
 * packets too large: the path drops most of them, and answers of others, too.  So the window
 * doubles from TCP's own first one while RTTs are no longer than an idle path's.  In a queue it
 * still grows by a part per RTT, so that a flow that meets the queue of others gets its share.  The
 * law takes over when its own window is the smaller one; so this one has no need to shrink.
 */
static inline void dcc_tcp_prove_window(struct dcc_tcp *s, u32 rtt_ns, u32 flight_packets)
{
	u32 flight = dcc_min_u32(flight_packets, DCC_TCP_CWND_MAX);
	u32 more = dcc_max_u32(flight >> DCC_TCP_PROVED_SHIFT, 1);

	if (rtt_ns <= (u64)s->path.base_rtt_ns + s->path.grain_ns)
		more = flight;
	s->line.window = dcc_max_u32(s->line.window, flight + more);
}

/* The handshake's RTT as that of a full packet on the fewest links. */
static inline u32 dcc_tcp_handshake_base_ns(const struct dcc_tcp *s)
{
	u64 base_ns = s->handshake.rtt_ns + DCC_TCP_HANDSHAKE_LINKS * dcc_tcp_slow_packet_ns(s);

	return dcc_tcp_path_rtt_ns(base_ns);
}

/* By how much more the base RTT may be longer than that. */
static inline u64 dcc_tcp_handshake_slack_ns(const struct dcc_tcp *s)
{
	return DCC_TCP_HANDSHAKE_MORE_LINKS * dcc_tcp_slow_packet_ns(s) +
	       (s->handshake.rtt_ns >> DCC_TCP_HANDSHAKE_SLACK_SHIFT) + s->handshake.error_ns;
}

/* The base RTT that is known, with the hosts' noise. */
static inline u32 dcc_tcp_known_base_ns(const struct dcc_tcp *s)
{
	return (u32)dcc_min_u64((u64)s->known.least_rtt_ns + s->known.noise_ns,
				DCC_PATH_RTT_MAX_NS);
}

/*
 * The base RTT that handshake and path memory allow at most; 0: any.  One of full packets is the
 * better one, unless the handshake was faster than it allows.
 */
static inline u32 dcc_tcp_bound_ns(const struct dcc_tcp *s)
{
	u64 base_ns, most_ns;

	if (!s->handshake.rtt_ns)
		return s->known.least_rtt_ns;
	base_ns = dcc_tcp_handshake_base_ns(s);
	most_ns = base_ns;
	if (s->known.exact)
		most_ns += dcc_tcp_handshake_slack_ns(s);
	if (s->known.least_rtt_ns && s->known.least_rtt_ns <= most_ns)
		return s->known.least_rtt_ns;
	return (u32)base_ns;
}

/*
 * May a connection begin with what is known of its path?  Only where the line rate is told.
 * Elsewhere the path may have become slower since, by which a full packet's RTT is longer but
 * hardly the handshake's.
 */
static inline bool dcc_tcp_may_trust(const struct dcc_tcp *s)
{
	return !s->fixed_rtt_ns && s->line_told;
}

/*
 * After dcc_tcp_begin() and dcc_tcp_set_base_rtt(), if dcc_tcp_may_trust(): what is known of the
 * path.  A connection that is made while a queue stands never sees the path without it, and its
 * handshake has met the queue, too.  It would take the queue for a part of the path and more than
 * its share.
 */
static inline void dcc_tcp_trust(struct dcc_tcp *s, const struct dcc_tcp_known *known)
{
	u64 most_ns = (u64)DCC_TCP_KNOWN_TIMES * known->least_rtt_ns;

	if (!known->least_rtt_ns || s->handshake.rtt_ns > most_ns)
		return;
	s->known = *known;
	if (dcc_tcp_bound_ns(s) != known->least_rtt_ns)
		return;
	s->noise.mean_ns = known->noise_ns;
	s->path.base_rtt_ns = dcc_tcp_known_base_ns(s);
	s->path.noise_ns = dcc_sub_sat_u32(s->path.base_rtt_ns, known->least_rtt_ns);
}

/* What later connections may know of the path, in *known; false: nothing. */
static inline bool dcc_tcp_knows(const struct dcc_tcp *s, struct dcc_tcp_known *known)
{
	if (s->fixed_rtt_ns || !s->base_measured)
		return false;
	known->least_rtt_ns = s->least_rtt_ns;
	known->noise_ns = s->noise.mean_ns;
	known->exact = !s->handshake.in_use ||
		       (s->known.exact && s->least_rtt_ns == s->known.least_rtt_ns);
	return true;
}

/* Is there news for the path memory?  Then dcc_tcp_told() is to follow. */
static inline bool dcc_tcp_has_news(const struct dcc_tcp *s, u64 now_ns)
{
	return now_ns >= s->tell_ns || s->told_rtt_ns != s->least_rtt_ns;
}

static inline void dcc_tcp_told(struct dcc_tcp *s, u64 now_ns)
{
	s->known_wrong = 0;
	s->told_rtt_ns = s->least_rtt_ns;
	s->tell_ns = now_ns + DCC_TCP_TELL_NS;
}

/* 0 if another processor has noted it since now_ns. */
static inline u64 dcc_tcp_memory_age_ns(const struct dcc_tcp_memory *m, u64 now_ns)
{
	u64 age_ns = now_ns - m->noted_ns;

	return (s64)age_ns < 0 ? 0 : age_ns;
}

static inline bool dcc_tcp_memory_is_old(const struct dcc_tcp_memory *m, u64 now_ns,
					 u32 lifetime_s)
{
	return dcc_tcp_memory_age_ns(m, now_ns) > lifetime_s * DCC_NS_PER_S;
}

/* Is what a connection has refuted still in the memory? */
static inline bool dcc_tcp_memory_is_wrong(const struct dcc_tcp_memory *m,
					   const struct dcc_tcp *s)
{
	return s->known_wrong && m->known.least_rtt_ns < s->least_rtt_ns;
}

/*
 * Takes what a connection knows.  A longer RTT than what is there says nothing, until that is
 * lifetime_s old: then false.  Of one path the least RTT of full packets counts, and a handshake's
 * before there is one.
 */
static inline bool dcc_tcp_memory_take(struct dcc_tcp_memory *m,
				       const struct dcc_tcp_known *known, u64 now_ns,
				       u32 lifetime_s)
{
	u32 least_ns = m->known.least_rtt_ns;
	u32 slack_ns = least_ns >> DCC_TCP_MEMORY_SAME_SHIFT;

	if (!least_ns || known->least_rtt_ns < least_ns - slack_ns ||
	    dcc_tcp_memory_is_old(m, now_ns, lifetime_s)) {
		m->known = *known;
	} else if (known->least_rtt_ns > least_ns + slack_ns) {
		return false;
	} else if (known->exact != m->known.exact) {
		if (known->exact)
			m->known = *known;
	} else {
		m->known.least_rtt_ns = dcc_min_u32(least_ns, known->least_rtt_ns);
	}
	m->known.noise_ns = known->noise_ns;
	m->noted_ns = now_ns;
	return true;
}

/*
 * At the first full packet's RTT, and where nobody has told the line rate also when the flow was
 * faster than before: is the handshake's the better measure of an idle path?
 *
 * Flows that start together make a queue before any of them has seen the path without it, and each
 * takes what it sees for the base RTT.  Their handshakes came before.  So the base RTT is the
 * handshake's, made longer by what full packets take at least.  That may be too short, by the
 * links that are not known of, but is so for all alike, and equal base RTTs matter more to most
 * laws than exact ones.  What is known of the path (dcc_tcp_trust()) has none of that error, and
 * takes its place.  It ends when
 *  - a full packet's RTT is shorter;
 *  - the path is idle (dcc_tcp_watch_idle());
 *  - the flow starves (dcc_tcp_judge_handshake()).
 */
static inline void dcc_tcp_bound_by_handshake(struct dcc_tcp *s)
{
	struct dcc_tcp_handshake *h = &s->handshake;
	u32 base_ns = dcc_tcp_bound_ns(s);

	if (!base_ns || base_ns >= s->least_rtt_ns)
		return;
	if (!h->in_use) {
		h->least_data_ns = s->least_rtt_ns;
		h->starved_rounds = 0;
		h->idle.samples = 0;
		h->in_use = 1;
	}
	s->least_rtt_ns = base_ns;
}

/*
 * The base RTT follows the smallest RTT of full packets, unless it is configured.  Until a full
 * packet was measured, the smallest RTT of the others serves.
 */
static inline void dcc_tcp_measure_base_rtt(struct dcc_tcp *s, u32 rtt_ns, bool small)
{
	if (s->fixed_rtt_ns || (small && s->base_measured))
		return;
	rtt_ns = dcc_tcp_path_rtt_ns(rtt_ns);
	if (!(small ? s->base_small : s->base_measured) || rtt_ns < s->least_rtt_ns) {
		s->least_rtt_ns = rtt_ns;
		s->handshake.in_use = 0;
		if (!small && !s->base_measured)
			dcc_tcp_bound_by_handshake(s);
		else if (small && s->known.least_rtt_ns)
			s->least_rtt_ns = dcc_min_u32(rtt_ns, s->known.least_rtt_ns);
		dcc_tcp_apply_noise(s);
	}
	if (DCC_UNLIKELY(s->handshake.in_use))
		s->handshake.least_data_ns = dcc_min_u32(s->handshake.least_data_ns, rtt_ns);
	s->base_small = small;
	s->base_measured = !small;
}

/*
 * A round that has delivered bps is complete: what is the line rate, if the device's is too low?
 *
 * veth and virtio devices say 10 Gbit/s, or nothing, whatever they carry, and a law never sends
 * faster than the line.  If a flow has two thirds of the line rate in use, and there is no queue,
 * the path carries more.  The rate rises by equal steps for all, and falls by a part in a queue, or
 * where the law takes less of it: so those who have raised it and those who come later end with the
 * same (Chiu and Jain: additive increase, multiplicative decrease).  While a queue drains the rate
 * is low enough: a long queue drains for many round trips.  It never falls below the device's.
 */
static inline void dcc_tcp_follow_line(struct dcc_tcp *s, u64 bps)
{
	u64 rate_bps = s->path.line_rate_bps, more_bps;
	bool used = bps >= dcc_div_u64(rate_bps, 3) * 2;
	bool drains = s->line.least_rtt_ns < s->line.least_before_ns;

	s->line.least_before_ns = s->line.least_rtt_ns;
	if (!used || s->line.least_rtt_ns > (u64)s->path.base_rtt_ns + s->path.grain_ns / 2) {
		s->raises = 0;
		if (used && drains)
			return;
		more_bps = dcc_sub_sat_u64(rate_bps, s->given_bps);
		s->path.line_rate_bps = rate_bps - (more_bps >> DCC_TCP_LINE_FALL_SHIFT);
		return;
	}
	more_bps = dcc_min_u64((s->given_bps >> DCC_TCP_LINE_RAISE_SHIFT) << s->raises,
			       rate_bps >> DCC_TCP_LINE_RAISE_MOST_SHIFT);
	s->path.line_rate_bps = dcc_min_u64(rate_bps + more_bps, DCC_PATH_RATE_MAX_BPS);
	s->raises = (u8)dcc_min_u32(s->raises + 1U, DCC_TCP_LINE_RAISES_MAX);
}

/*
 * What an ACK says of a path whose line rate nobody has told: the window proved, the best rate of a
 * round trip, and what follows for line rate, grain and base RTT.  For each sample with an RTT.
 */
static inline void dcc_tcp_note_line(struct dcc_tcp *s, const struct dcc_ack *ack,
				     u32 flight_packets)
{
	struct dcc_tcp_line *l = &s->line;
	u64 bps;

	dcc_tcp_prove_window(s, ack->rtt_ns, flight_packets);
	l->bytes += ack->acked_bytes;
	l->least_rtt_ns = dcc_min_u32(l->least_rtt_ns, ack->rtt_ns);
	if (DCC_LIKELY(l->round_ns && ack->send_ns < l->round_ns))
		return;
	if (l->round_ns && !(ack->flags & DCC_ACK_APP_LIMITED)) {
		bps = dcc_muldiv_u64(l->bytes, DCC_BITS_PER_BYTE * DCC_NS_PER_S,
				     dcc_max_u64(ack->now_ns - l->round_ns, 1));
		l->best_bps = dcc_max_u64(l->best_bps - (l->best_bps >> DCC_TCP_BEST_SHIFT), bps);
		dcc_tcp_follow_line(s, bps);
	}
	l->least_rtt_ns = ~0U;
	l->round_ns = ack->now_ns;
	l->bytes = 0;
	if (s->base_measured && !s->fixed_rtt_ns) {
		dcc_tcp_bound_by_handshake(s);
		dcc_tcp_apply_noise(s);
	}
	dcc_tcp_set_grain(s);
}

/* The answer to a small packet: the best base RTT that is known until a full packet's. */
static inline void dcc_tcp_guess_base_rtt(struct dcc_tcp *s, u32 rtt_ns)
{
	if (!s->fixed_rtt_ns && !s->base_measured &&
	    (!s->known.least_rtt_ns || rtt_ns < s->known.least_rtt_ns)) {
		s->path.base_rtt_ns = dcc_tcp_path_rtt_ns(rtt_ns);
		s->path.noise_ns = 0;
	}
}

/* Takes an RTT of the path as the newest.  small: of a packet that was not full. */
static inline void dcc_tcp_accept_rtt(struct dcc_tcp *s, u32 rtt_ns, bool small)
{
	s->rtt_ns = dcc_max_u32(rtt_ns, 1);
	dcc_tcp_measure_base_rtt(s, s->rtt_ns, small);
}

/* Is the rate of a round that of a starved flow? */
static inline bool dcc_tcp_is_starved(const struct dcc_tcp_noise *n, u64 bps)
{
	return bps < n->best_bps / DCC_TCP_STARVED_PART;
}

/*
 * Is the rate of a noisy round so low that the law must have taken noise for a queue?  A long round
 * is that of a flow which has stopped, or of one of hundreds.  The latter's rate changes by as much
 * for the others' sake, while their queue is what all of its RTTs are longer by.
 */
static inline bool dcc_tcp_is_low(const struct dcc_tcp_noise *n, u64 bps, bool is_long)
{
	return is_long ? dcc_tcp_is_starved(n, bps) : bps <= dcc_div_u64(n->best_bps, 3) * 2;
}

/* One round more in a row: by how much its mean RTT is above the least ones. */
static inline void dcc_tcp_count_round(struct dcc_tcp_rounds *in_a_row, u64 start_ns, u32 excess_ns,
				       u32 spread_ns)
{
	if (!in_a_row->count) {
		in_a_row->since_ns = start_ns;
		in_a_row->excess_ns = excess_ns;
		in_a_row->spread_ns = spread_ns;
	}
	in_a_row->count++;
	in_a_row->excess_ns = dcc_min_u32(in_a_row->excess_ns, excess_ns);
	in_a_row->spread_ns = dcc_min_u32(in_a_row->spread_ns, spread_ns);
}

/* Do rounds that are low and noisy prove noise?  bps, mean_ns: rate and RTT of the last one. */
static inline bool dcc_tcp_low_is_proof(const struct dcc_tcp_noise *n, u64 now_ns, u64 bps,
					u32 mean_ns)
{
	return n->low.count >= DCC_TCP_NOISY_ROUNDS || dcc_tcp_is_starved(n, bps) ||
	       (n->low.count > 1 && now_ns - n->low.since_ns >= (u64)mean_ns * DCC_TCP_LOW_RTTS);
}

/* Noise of noise_ns is proved. */
static inline void dcc_tcp_raise_noise(struct dcc_tcp_noise *n, u64 noise_ns)
{
	n->mean_ns = dcc_max_u32(n->mean_ns, (u32)dcc_min_u64(noise_ns, DCC_TCP_NOISE_MAX_NS));
}

/*
 * Rounds that prove noise make it as long as all of them have it.  level: the last of them was
 * noisy, but nearly level.
 */
static inline void dcc_tcp_learn_noise(struct dcc_tcp_noise *n, const struct dcc_tcp_rounds *proof,
				       bool level)
{
	u64 noise_ns =
		dcc_min_u64(proof->excess_ns, (u64)proof->spread_ns * DCC_TCP_NOISE_SPREADS);

	dcc_tcp_raise_noise(n, noise_ns);
	if (level)
		n->level_proofs = dcc_min_u32(n->level_proofs + 1, DCC_TCP_LEVEL_PROOFS_MAX);
}

/*
 * A round that is not noisy takes a part of the noise away.  Where a host holds back all behind a
 * late packet, noise is level once there are many packets: a flow that has learnt it is fast then,
 * sees none, and would forget it.  So each proof of such noise makes that part smaller.
 */
static inline void dcc_tcp_forget_noise(struct dcc_tcp_noise *n, bool dense, bool is_long)
{
	u32 shift = DCC_TCP_NOISE_DECAY_SHIFT + (dense ? n->level_proofs : 0);
	u32 part_ns = n->mean_ns >> (is_long ? DCC_TCP_LONG_ROUND_DECAY_SHIFT : shift);

	if (part_ns) {
		n->mean_ns -= part_ns;
		return;
	}
	n->mean_ns = 0;
	n->level_proofs = 0;
}

/* Has a complete round two samples in a base RTT?  Between rarer ones a queue changes at will. */
static inline bool dcc_tcp_round_is_dense(const struct dcc_tcp *s, u64 now_ns)
{
	const struct dcc_tcp_round *r = &s->noise.round;

	return now_ns - r->start_ns <= (u64)r->samples * (s->least_rtt_ns / 2);
}

/*
 * Is a complete round noisy?  The noise of a packet has nothing to do with that of the next one, or
 * ends with it, where packets wait for each other.  So the RTT changes by as much as it is noisy,
 * or by the time between two samples if that is shorter.  A queue changes by the part of that time
 * by which its arrivals differ from the line, and by a packet more or less.  A queue's change in
 * half a base RTT is news, so between rare samples the time counts as no longer than that.
 *
 * Where many ACKs come through one host, noise holds most of them back by about as much, and the
 * round is nearly level.  But it turns again and again, while a queue that grows or drains goes one
 * way: the steps of a round then make no more than its range.
 */
struct dcc_tcp_changes {
	u64 sum_ns;	/* of the changes from one sample to the next, beyond a packet each */
	u64 between_ns; /* of the times between two samples */
	u32 range_ns;	/* most less least RTT */
};

/* Of a complete round. */
static inline struct dcc_tcp_changes dcc_tcp_round_changes(const struct dcc_tcp *s, u64 now_ns,
							   u64 packet_ns)
{
	const struct dcc_tcp_round *r = &s->noise.round;
	u64 steps = dcc_max_u32(r->samples, 2) - 1;
	struct dcc_tcp_changes c;

	c.sum_ns = r->sum_step_ns - dcc_min_u64(r->sum_step_ns, steps * packet_ns);
	c.between_ns = dcc_min_u64(now_ns - r->start_ns, steps * (s->least_rtt_ns / 2));
	c.range_ns = r->most_rtt_ns - r->least_rtt_ns;
	return c;
}

/* Noisy, whether samples are dense or rare. */
static inline bool dcc_tcp_jumps(const struct dcc_tcp_changes *c)
{
	return c->sum_ns > c->between_ns / DCC_TCP_STEP_PART;
}

/* Noisy, but nearly level.  With rare samples a queue turns as well. */
static inline bool dcc_tcp_turns(const struct dcc_tcp_changes *c)
{
	return c->sum_ns > c->range_ns + c->between_ns / DCC_TCP_TURN_PART;
}

/* Has a complete round taken hundreds of RTTs?  The flow is stopped, or one of hundreds. */
static inline bool dcc_tcp_round_is_long(const struct dcc_tcp *s, u64 now_ns)
{
	return now_ns - s->noise.round.start_ns > (u64)s->least_rtt_ns * DCC_TCP_LONG_ROUND_RTTS;
}

/*
 * May the RTTs of a round with rare samples be noise?  Between rare samples a queue changes as much
 * as noise does.  But a queue that stays, stays between all of them: then the round's least RTT is
 * far above the flow's.  In a long round a queue comes and goes, too.
 */
static inline bool dcc_tcp_round_saw_no_queue(u32 excess_ns, u32 spread_ns, u32 spreads)
{
	return spread_ns >= excess_ns / spreads;
}

/*
 * Is what a round's RTTs are longer than the flow's least one by little noise?  Where a packet
 * takes about as long as the noise, or samples are rare, noise changes the RTT no more than a queue
 * does (dcc_tcp_round_changes()).  But in a queue that stays all RTTs are long, while half of the
 * noise is gone in some sample of a round.  A queue that comes and goes looks the same, and is
 * short.
 */
static inline bool dcc_tcp_is_little_noise(const struct dcc_tcp *s, u32 excess_ns, u32 spread_ns,
					   u64 packet_ns)
{
	return excess_ns <= DCC_TCP_LITTLE_PACKETS * packet_ns &&
	       excess_ns <= s->least_rtt_ns / DCC_TCP_LITTLE_PART &&
	       dcc_tcp_round_saw_no_queue(excess_ns, spread_ns, DCC_TCP_LITTLE_SPREADS);
}

/*
 * After a round at bps, while the handshake's RTT is in use: is the base RTT too short?  A
 * middlebox may have answered the handshake, a slow link may be on the path, or a receiver may
 * gather packets of data.  A law then sees a queue that no cut drains.  It cuts until the flow is
 * starved, and what it then measures is the base RTT: the RTTs are hardly longer than the least.
 * Flows that are starved by others have longer ones.
 */
static inline void dcc_tcp_judge_handshake(struct dcc_tcp *s, u64 bps)
{
	const struct dcc_tcp_round *r = &s->noise.round;
	struct dcc_tcp_handshake *h = &s->handshake;
	u64 slack_ns = dcc_tcp_handshake_slack_ns(s);

	if (!dcc_tcp_is_starved(&s->noise, bps) ||
	    r->most_rtt_ns > h->least_data_ns + slack_ns) {
		h->starved_rounds = 0;
		return;
	}
	if (++h->starved_rounds < DCC_TCP_STARVED_ROUNDS)
		return;
	s->least_rtt_ns = dcc_tcp_path_rtt_ns(r->least_rtt_ns);
	s->known_wrong = s->known.least_rtt_ns != 0;
	s->known.least_rtt_ns = 0;
	h->rtt_ns = 0;
	h->in_use = 0;
}

/* Ends a trial.  The next one is so many RTTs away. */
static inline void dcc_tcp_end_trial(struct dcc_tcp_doubt *d, u64 now_ns, u32 rtts)
{
	d->extra = 0;
	d->steady.samples = 0;
	d->next_ns = now_ns + (u64)d->steady.least_ns * rtts;
}

/* Ends a trial that has made a queue. */
static inline void dcc_tcp_fail_trial(struct dcc_tcp_doubt *d, u64 now_ns)
{
	d->failed = (u8)dcc_min_u32(d->failed + 1U, DCC_TCP_TRIAL_WAIT_SHIFT_MAX);
	dcc_tcp_end_trial(d, now_ns, DCC_TCP_TRIAL_WAIT_RTTS << d->failed);
}

/* A complete round, as far as noise is concerned. */
struct dcc_tcp_round_facts {
	u64 now_ns;
	u64 bps;
	u64 packet_ns;
	u32 mean_ns;
	u32 excess_ns; /* mean RTT above the flow's least; */
	u32 spread_ns; /* above the round's own */
	bool dense;
};

/*
 * Up to rtts round trips, a power of two, by the clock's last digits.  Flows that began together
 * would try together, which is a queue for all of them.
 */
static inline u64 dcc_tcp_some_rtts_ns(const struct dcc_tcp_round_facts *f, u32 rtts)
{
	return (u64)f->mean_ns * ((f->now_ns >> 8) & (rtts - 1));
}

/* A round of a trial for noise is complete.  The first one has packets from before the trial. */
static inline void dcc_tcp_judge_noise_trial(struct dcc_tcp *s,
					     const struct dcc_tcp_round_facts *f)
{
	struct dcc_tcp_doubt *d = &s->doubt;
	u32 before_ns = d->steady.least_ns;
	u32 change_ns = dcc_max_u32(f->mean_ns, before_ns) - dcc_min_u32(f->mean_ns, before_ns);

	if (++d->steady.samples < 2)
		return;
	if (!f->dense || change_ns > d->most * f->packet_ns / DCC_TCP_LEVEL_CHANGE_PART) {
		d->proved = 0;
		dcc_tcp_fail_trial(d, f->now_ns);
		d->next_ns += dcc_tcp_some_rtts_ns(f, DCC_TCP_TRIAL_WAIT_RTTS << d->failed);
		return;
	}
	if (d->steady.samples < DCC_TCP_LEVEL_TRIAL_ROUNDS)
		return;
	if (++d->proved >= DCC_TCP_LEVEL_TRIALS) {
		dcc_tcp_raise_noise(&s->noise, f->excess_ns);
		s->noise.level_proofs = DCC_TCP_LEVEL_PROOFS_MAX;
		d->proved = 0;
		d->failed = 0;
	}
	dcc_tcp_end_trial(d, f->now_ns, DCC_TCP_LEVEL_WAIT_RTTS);
}

/*
 * A round is complete where the base RTT is measured and the line rate is told: is its delay noise
 * that is level?
 *
 * Where ACKs of many flows come through one host, one that is late holds back all behind it, and
 * the delay is as level as a queue's.  But more packets in flight make a queue longer, and such
 * noise not.  So a flow sends some more for a few round trips if its rate is low, or if its delay
 * is far longer than the path, as few laws' queues of a few flows are.  The share of one of dozens
 * is too small: the others make room for it before its packets show.
 */
static DCC_NOINLINE void dcc_tcp_try_noise(struct dcc_tcp *s, const struct dcc_tcp_round_facts *f)
{
	const struct dcc_tcp_noise *n = &s->noise;
	struct dcc_tcp_doubt *d = &s->doubt;
	u32 packet_ns; /* at the flow's rate */

	if (d->extra) {
		dcc_tcp_judge_noise_trial(s, f);
		return;
	}
	if (!f->dense || f->now_ns < d->next_ns ||
	    (!dcc_tcp_is_low(n, f->bps, false) &&
	     f->excess_ns <= (u64)s->least_rtt_ns * DCC_TCP_LEVEL_PATHS) ||
	    f->bps < s->path.line_rate_bps / DCC_TCP_LEVEL_LINE_PART ||
	    f->excess_ns < DCC_TCP_LEVEL_PACKETS * f->packet_ns ||
	    f->excess_ns < n->mean_ns + DCC_TCP_LEVEL_MORE_PACKETS * f->packet_ns ||
	    f->spread_ns > f->excess_ns / DCC_TCP_LEVEL_SPREAD_PART)
		return;
	if (!d->next_ns) {
		d->next_ns = f->now_ns + dcc_tcp_some_rtts_ns(f, DCC_TCP_LEVEL_FIRST_RTTS);
		return;
	}
	packet_ns = (u32)dcc_max_u64(dcc_tcp_packet_at_ns(s, f->bps), 1);
	d->flight = (u32)dcc_div_u64(f->mean_ns, packet_ns);
	d->most = DCC_TCP_LEVEL_TRIAL_PACKETS;
	d->extra = d->most;
	d->steady.samples = 0;
	d->steady.least_ns = f->mean_ns;
}

/* A round is complete. */
static DCC_NOINLINE void dcc_tcp_close_round(struct dcc_tcp *s, u64 now_ns)
{
	struct dcc_tcp_noise *n = &s->noise;
	struct dcc_tcp_round *r = &n->round;
	u32 mean_ns = (u32)dcc_div_u64(r->sum_rtt_ns, dcc_max_u32(r->samples, 1));
	u32 excess_ns = dcc_sub_sat_u32(mean_ns, s->least_rtt_ns);
	u32 spread_ns = dcc_sub_sat_u32(mean_ns, r->least_rtt_ns);
	bool dense = dcc_tcp_round_is_dense(s, now_ns);
	bool is_long = dcc_tcp_round_is_long(s, now_ns);
	u32 spreads = is_long ? DCC_TCP_LONG_ROUND_SPREADS : DCC_TCP_NOISE_SPREADS;
	u64 packet_ns = dcc_tcp_packet_ns(s);
	struct dcc_tcp_changes changes = dcc_tcp_round_changes(s, now_ns, packet_ns);
	bool jumps = dcc_tcp_jumps(&changes);
	bool noisy = dense ? jumps || dcc_tcp_turns(&changes) :
			     jumps && dcc_tcp_round_saw_no_queue(excess_ns, spread_ns, spreads);
	bool level = noisy && !jumps;
	bool little = dcc_tcp_is_little_noise(s, excess_ns, spread_ns, packet_ns);
	u64 bps = dcc_muldiv_u64(r->acked_bytes, DCC_BITS_PER_BYTE * DCC_NS_PER_S,
				 dcc_max_u64(now_ns - r->start_ns, 1));
	bool low;

	n->best_bps = dcc_max_u64(n->best_bps - (n->best_bps >> DCC_TCP_BEST_SHIFT), bps);
	if (DCC_UNLIKELY(s->handshake.in_use))
		dcc_tcp_judge_handshake(s, bps);
	if (!noisy || !dense) {
		n->noisy.count = 0;
	} else {
		dcc_tcp_count_round(&n->noisy, r->start_ns, excess_ns, spread_ns);
		if (n->noisy.count >= DCC_TCP_NOISY_ROUNDS) {
			if (n->noisy.spread_ns > s->least_rtt_ns / DCC_TCP_NOISY_SPREAD_PART)
				dcc_tcp_learn_noise(n, &n->noisy, level);
			n->noisy.count = 0;
		}
	}
	low = noisy ? dcc_tcp_is_low(n, bps, is_long) :
		      little && bps < n->best_bps / DCC_TCP_LITTLE_RATE_PART;
	if (!low) {
		n->low.count = 0;
	} else {
		dcc_tcp_count_round(&n->low, r->start_ns, excess_ns, spread_ns);
		if ((noisy || n->low.count >= DCC_TCP_LITTLE_ROUNDS) &&
		    dcc_tcp_low_is_proof(n, now_ns, bps, mean_ns)) {
			dcc_tcp_learn_noise(n, &n->low, level);
			n->low.count = 0;
			/* For more noise the rate has to fall again, or the flow has stopped. */
			if (!is_long)
				n->best_bps = bps;
		}
	}
	/* No noise is longer than all that is above the least RTT. */
	if (excess_ns < n->mean_ns)
		n->mean_ns -= (n->mean_ns - excess_ns) / 4;
	if (!noisy && !little)
		dcc_tcp_forget_noise(n, dense, is_long);
	if (s->line_told) {
		const struct dcc_tcp_round_facts facts = {
			.now_ns = now_ns,
			.bps = bps,
			.packet_ns = packet_ns,
			.mean_ns = mean_ns,
			.excess_ns = dcc_sub_sat_u32(mean_ns, s->least_rtt_ns),
			.spread_ns = spread_ns,
			.dense = dense,
		};

		dcc_tcp_try_noise(s, &facts);
	}
	dcc_tcp_apply_noise(s);
	r->samples = 0;
}

/*
 * Learns the noise of the hosts where the base RTT is measured.  Interrupts and timestamps make
 * each RTT longer than the least one, by microseconds or tens of them.  A law takes that for a
 * queue which no cut drains, and cuts for ever.
 *
 * What tells noise from a queue: a queue changes slowly, while noise changes from packet to packet.
 * And when the flow, and all others with it, have cut their rates, the queue drains and the noise
 * stays.  So what is left of the delay in noisy rounds is noise, up to a few times what an RTT
 * differs by within a round; little noise, that a law's own queue may hide, is only believed at a
 * low rate.  It is a part of the base RTT, until rounds are not noisy.
 */
static inline void dcc_tcp_note_noise(struct dcc_tcp *s, const struct dcc_ack *ack)
{
	struct dcc_tcp_round *r = &s->noise.round;

	if (DCC_UNLIKELY(!r->samples)) {
		r->start_ns = ack->now_ns;
		r->sum_rtt_ns = 0;
		r->acked_bytes = 0;
		r->sum_step_ns = 0;
		r->newest_rtt_ns = ack->rtt_ns;
		r->least_rtt_ns = ack->rtt_ns;
		r->most_rtt_ns = ack->rtt_ns;
	}
	r->samples++;
	r->sum_rtt_ns += ack->rtt_ns;
	r->sum_step_ns += dcc_abs_s64((s64)ack->rtt_ns - r->newest_rtt_ns);
	r->newest_rtt_ns = ack->rtt_ns;
	r->acked_bytes += ack->acked_bytes;
	r->least_rtt_ns = dcc_min_u32(r->least_rtt_ns, ack->rtt_ns);
	r->most_rtt_ns = dcc_max_u32(r->most_rtt_ns, ack->rtt_ns);
	if (r->samples >= DCC_TCP_ROUND_SAMPLES && ack->send_ns >= r->start_ns)
		dcc_tcp_close_round(s, ack->now_ns);
}

/* One RTT more: alike, or the first of others. */
static inline void dcc_tcp_count_alike(struct dcc_tcp_alike *a, const struct dcc_ack *ack,
				       u64 band_ns)
{
	if (!a->samples || ack->rtt_ns > a->least_ns + band_ns ||
	    ack->rtt_ns + band_ns < a->least_ns) {
		a->since_ns = ack->now_ns;
		a->least_ns = ack->rtt_ns;
		a->samples = 0;
	}
	a->least_ns = dcc_min_u32(a->least_ns, ack->rtt_ns);
	a->samples++;
}

/*
 * While the handshake's RTT is in use: is the path idle?  Then all RTTs of a round trip are the
 * same, to a packet's time, and longer than the handshake says by no more than unknown links make
 * them.  So may they be in a queue that flows make which start together; but an idle path's are the
 * least that the flow has seen.
 */
static DCC_NOINLINE void dcc_tcp_watch_idle(struct dcc_tcp *s, const struct dcc_ack *ack)
{
	struct dcc_tcp_handshake *h = &s->handshake;
	u64 packet_ns;

	if (ack->rtt_ns > s->least_rtt_ns + dcc_tcp_handshake_slack_ns(s)) {
		h->idle.samples = 0;
		return;
	}
	packet_ns = dcc_tcp_slow_packet_ns(s);
	dcc_tcp_count_alike(&h->idle, ack, packet_ns);
	if (h->idle.samples < DCC_TCP_ROUND_SAMPLES || ack->send_ns < h->idle.since_ns)
		return;
	if (s->line_told && h->idle.least_ns > h->least_data_ns + packet_ns)
		return;
	s->least_rtt_ns = dcc_tcp_path_rtt_ns(h->idle.least_ns);
	s->known.least_rtt_ns = 0;
	h->rtt_ns = 0;
	h->in_use = 0;
	dcc_tcp_apply_noise(s);
}

/* Some packets' time: no queue is told from one that is longer by so little. */
static inline u32 dcc_tcp_band_ns(const struct dcc_tcp *s, u64 packet_ns)
{
	u64 most_ns = dcc_max_u64(s->fixed_rtt_ns >> DCC_TCP_BAND_SHIFT, packet_ns);

	return dcc_sat_u32(dcc_min_u64(DCC_TCP_BAND_PACKETS * packet_ns, most_ns));
}

/*
 * The packets that a trial adds: no more than the line has room for, so that a flow which has most
 * of it makes no queue on an idle path; but at least twice the band that a queue is recognised by.
 */
static inline u8 dcc_tcp_trial_packets(const struct dcc_tcp_doubt *d, u32 flight_packets,
				       u64 packet_ns, u32 band_ns)
{
	u64 room = dcc_sub_sat_u64(dcc_div_u64(d->steady.least_ns, packet_ns), flight_packets);
	u64 most = dcc_div_u64((u64)DCC_TCP_TRIAL_BANDS * band_ns, packet_ns);

	return (u8)dcc_clamp_u64(room, most / 2, most);
}

/* A sample while a trial goes on. */
static inline void dcc_tcp_judge_trial(struct dcc_tcp_doubt *d, const struct dcc_ack *ack,
				       u32 flight_packets, u32 band_ns)
{
	d->extra = (u8)dcc_min_u32(d->extra + 1U, d->most);
	d->steady.least_ns = dcc_min_u32(d->steady.least_ns, ack->rtt_ns);
	if (ack->rtt_ns - d->steady.least_ns > band_ns) {
		dcc_tcp_fail_trial(d, ack->now_ns);
	} else if (ack->send_ns >= d->steady.since_ns &&
		   flight_packets >= d->flight + d->most - d->most / DCC_TCP_TRIAL_BANDS) {
		if (++d->steady.samples < DCC_TCP_TRIAL_SAMPLES)
			return;
		d->proved = 1;
		d->busy = 0;
		d->steady.since_ns = ack->now_ns;
		dcc_tcp_end_trial(d, ack->now_ns, 0);
	} else if (ack->now_ns - d->steady.since_ns >
		   (u64)d->steady.least_ns * DCC_TCP_TRIAL_RTTS) {
		/* The application had nothing to send. */
		dcc_tcp_end_trial(d, ack->now_ns, DCC_TCP_TRIAL_RTTS);
	}
}

/* A sample once the least RTT is proved to be the base RTT.  One decision per RTT. */
static inline void dcc_tcp_use_proved(struct dcc_tcp *s, const struct dcc_ack *ack)
{
	struct dcc_tcp_doubt *d = &s->doubt;
	u32 band_ns;

	if (ack->send_ns >= d->steady.since_ns) {
		band_ns = dcc_tcp_band_ns(s, dcc_max_u64(dcc_tcp_packet_ns(s), 1));
		if (d->steady.least_ns <= (u64)d->least_ns + band_ns)
			d->busy = 0;
		else if (d->busy < DCC_TCP_BUSY_ROUNDS)
			d->busy++;
		d->steady.since_ns = ack->now_ns;
		d->steady.least_ns = ack->rtt_ns;
	}
	d->steady.least_ns = dcc_min_u32(d->steady.least_ns, ack->rtt_ns);
	s->path.base_rtt_ns = d->busy == DCC_TCP_BUSY_ROUNDS ?
				      s->fixed_rtt_ns :
				      dcc_min_u32(d->least_ns, DCC_PATH_RTT_MAX_NS);
}

/* The same for a law of levels, whose queues last. */
static inline void dcc_tcp_use_proved_by_level(struct dcc_tcp *s)
{
	u32 rtt_ns = dcc_min_u32(s->doubt.least_ns, DCC_PATH_RTT_MAX_NS);

	if (s->doubt.spared)
		s->idle_rtt_ns = rtt_ns;
	else
		s->path.base_rtt_ns = rtt_ns;
}

/* May packets be added to these?  Not where they are most of what the line carries in a RTT. */
static inline bool dcc_tcp_has_room(const struct dcc_tcp *s, u32 flight_packets, u64 packet_ns)
{
	return flight_packets * packet_ns <
	       s->fixed_rtt_ns - (s->fixed_rtt_ns >> DCC_TCP_ROOM_SHIFT);
}

/*
 * While the base RTT is configured, and the connection has never seen so short an RTT: is it too
 * short?  A law then sees a queue that no cut drains, and leaves the line idle, or sends next to
 * nothing.  But to a connection that was made while a queue stands it looks the same.
 *
 * What tells an idle path from a queue: some packets more in flight make a queue as much longer,
 * and an idle path's RTT stays.  So when RTTs are steady, as they are where a law has cut its rate
 * in vain, packets are added, one per ACK.  They are few, and others cannot answer within the RTT.
 * If the RTT stays, the least one is the path's, as long as there is no queue.  In a queue that
 * lasts, which is other flows', the configured one counts as it does for them: all that believe it
 * are wrong by the same, and share alike.
 *
 * Where levels have to agree on delays, a flow doubts only while it has not most of the line, and
 * at the least RTT that it has seen: its level's own queue is longer.  If the law can do with an
 * idle path of that RTT, the configured one stays, and with it all levels; the law is told both.
 */
static DCC_NOINLINE void dcc_tcp_doubt_fixed(struct dcc_tcp *s, const struct dcc_ack *ack,
					     u32 flight_packets)
{
	struct dcc_tcp_doubt *d = &s->doubt;
	u64 most_ns = (u64)s->fixed_rtt_ns + s->fixed_rtt_ns / DCC_TCP_DOUBT_PART;
	u64 packet_ns;
	u32 band_ns;

	if (d->proved) {
		if (s->by_level)
			dcc_tcp_use_proved_by_level(s);
		else
			dcc_tcp_use_proved(s, ack);
		return;
	}
	if (!d->extra && ack->rtt_ns > most_ns) {
		d->steady.samples = 0;
		return;
	}
	packet_ns = dcc_max_u64(dcc_tcp_packet_ns(s), 1);
	band_ns = dcc_tcp_band_ns(s, packet_ns);
	if (d->extra) {
		dcc_tcp_judge_trial(d, ack, flight_packets, band_ns);
		if (d->proved && s->by_level) {
			d->spared = d->least_ns <= s->idle_max_ns;
			dcc_tcp_use_proved_by_level(s);
		}
		return;
	}
	if (s->by_level && (!s->idle_max_ns || ack->rtt_ns > d->least_ns + packet_ns ||
			    !dcc_tcp_has_room(s, flight_packets, packet_ns))) {
		d->steady.samples = 0;
		return;
	}
	dcc_tcp_count_alike(&d->steady, ack, band_ns);
	if (d->steady.samples < DCC_TCP_DOUBT_SAMPLES || ack->now_ns < d->next_ns ||
	    ack->send_ns < d->steady.since_ns + (u64)DCC_TCP_DOUBT_RTTS * d->steady.least_ns)
		return;
	d->most = dcc_tcp_trial_packets(d, flight_packets, packet_ns, band_ns);
	d->extra = 1;
	d->flight = flight_packets;
	d->steady.since_ns = ack->now_ns;
	d->steady.samples = 0;
	/* Nothing in flight: what has been steady is the RTT of probes, which is shorter. */
	if (!flight_packets)
		d->steady.least_ns = DCC_U32_MAX;
}

/* Has the connection seen the configured base RTT, but for what the law does not mind? */
static inline bool dcc_tcp_has_seen_fixed(const struct dcc_tcp *s, u64 rtt_ns)
{
	u32 more_ns = s->fixed_rtt_ns >> DCC_TCP_DOUBT_SHIFT;

	if (s->target_ns)
		more_ns = dcc_min_u32(more_ns, s->target_ns >> DCC_TCP_DOUBT_TARGET_SHIFT);
	return rtt_ns <= (u64)s->fixed_rtt_ns + more_ns;
}

/*
 * The RTT that the core sees has no queue of a trial's own packets, which it would answer by a cut
 * where other flows do not cut: the trial is to change nothing but the packets in flight.
 */
static inline void dcc_tcp_spare_trial(struct dcc_tcp *s, struct dcc_ack *ack)
{
	struct dcc_tcp_doubt *d = &s->doubt;
	u64 own_ns;
	u32 least_ns;

	if (d->extra) {
		d->own = d->extra;
		d->own_until_ns = ack->now_ns;
		if (ack->send_ns < d->steady.since_ns)
			return;
	} else if (!d->own || ack->send_ns > d->own_until_ns) {
		d->own = 0;
		return;
	}
	own_ns = d->own * dcc_tcp_packet_ns(s);
	least_ns = dcc_min_u32(d->least_ns, ack->rtt_ns);
	ack->rtt_ns = (u32)dcc_max_u64(dcc_sub_sat_u64(ack->rtt_ns, own_ns), least_ns);
}

/* A full packet's RTT while the base RTT is configured. */
static inline void dcc_tcp_watch_fixed(struct dcc_tcp *s, struct dcc_ack *ack, u32 flight_packets)
{
	struct dcc_tcp_doubt *d = &s->doubt;
	bool seen;

	d->least_ns = dcc_min_u32(d->least_ns, ack->rtt_ns);
	seen = dcc_tcp_has_seen_fixed(s, d->least_ns);
	if (DCC_LIKELY(seen && !d->proved && !d->extra && !d->own))
		return;
	if (seen) {
		s->path.base_rtt_ns = s->fixed_rtt_ns;
		s->idle_rtt_ns = 0;
		d->proved = 0;
		d->extra = 0;
	} else if (s->line_told) {
		dcc_tcp_doubt_fixed(s, ack, flight_packets);
	}
	dcc_tcp_spare_trial(s, ack);
}

/*
 * A stopped flow's probe, a packet of next to no length, has come back.  It is served sooner than a
 * full packet at two hops at the least.
 */
static inline void dcc_tcp_watch_probe(struct dcc_tcp *s, const struct dcc_ack *ack)
{
	struct dcc_tcp_doubt *d = &s->doubt;

	if (!s->fixed_rtt_ns || !s->line_told || d->proved || d->extra)
		return;
	if (dcc_tcp_has_seen_fixed(s, ack->rtt_ns + 2 * dcc_tcp_packet_ns(s)))
		d->least_ns = dcc_min_u32(d->least_ns, s->fixed_rtt_ns);
	if (DCC_UNLIKELY(!dcc_tcp_has_seen_fixed(s, d->least_ns)))
		dcc_tcp_doubt_fixed(s, ack, 0);
}

/* A sample of the path's RTT.  What the application made slow says nothing of the hosts. */
static inline void dcc_tcp_take_sample(struct dcc_tcp *s, struct dcc_ack *ack, bool small,
				       u32 flight_packets)
{
	dcc_tcp_accept_rtt(s, ack->rtt_ns, small);
	if (small)
		return;
	if (DCC_UNLIKELY(s->handshake.in_use))
		dcc_tcp_watch_idle(s, ack);
	if (s->fixed_rtt_ns)
		dcc_tcp_watch_fixed(s, ack, flight_packets);
	else if (!(ack->flags & DCC_ACK_APP_LIMITED))
		dcc_tcp_note_noise(s, ack);
	else if (DCC_UNLIKELY(s->doubt.extra))
		dcc_tcp_end_trial(&s->doubt, ack->now_ns, DCC_TCP_TRIAL_RTTS);
}

/*
 * TCP's ACK as a core wants it, in *ack; false: it delivered nothing, and no core sees it.
 * noted_ns: see dcc_tcp_send_ns().  ack->flows is the caller's.
 */
static inline bool dcc_tcp_sample(struct dcc_tcp *s, const struct dcc_tcp_view *v, u64 noted_ns,
				  struct dcc_ack *ack)
{
	bool may_be_held, held;
	u32 packets;
	u64 send_ns;

	dcc_tcp_note_retrans(s, v);
	ack->acked_bytes = dcc_tcp_delivered_bytes(s, v);
	if (!v->acked_sacked || !v->sampled)
		return false;

	may_be_held = dcc_tcp_may_be_held(s, v);
	packets = dcc_tcp_flight_packets(v);
	send_ns = dcc_tcp_send_ns(s, v, noted_ns);

	ack->now_ns = v->now_ns;
	ack->flags = 0;
	ack->flows = 0;
	ack->inflight_bytes = dcc_sat_u32((u64)packets * s->path.wire_bytes);
	/* A closed receive window says as little of the network as an application's pause. */
	if (v->is_app_limited || v->rwnd_limited)
		ack->flags |= DCC_ACK_APP_LIMITED;
	if (!send_ns) {
		ack->send_ns = v->now_ns;
		ack->rtt_ns = 0;
		ack->idle_rtt_ns = s->idle_rtt_ns;
		ack->flags |= DCC_ACK_NO_RTT;
		return true;
	}
	ack->send_ns = send_ns;
	ack->rtt_ns = dcc_sat_u32(v->now_ns - send_ns);

	held = dcc_tcp_is_held(s, ack->rtt_ns, packets, may_be_held);
	if (held)
		s->delayed_acks = 1;
	/*
	 * After the last of its data a flow can wait for long.  The ACK of that data says only that
	 * the path's RTT is not longer: it is a sample if it is shorter than the newest one.
	 */
	if (v->is_ack_delayed || held ||
	    (may_be_held && v->all_sent && ack->rtt_ns > s->rtt_ns))
		ack->flags |= DCC_ACK_DELAYED;
	else
		dcc_tcp_take_sample(s, ack, dcc_tcp_acked_small(s, v, ack->acked_bytes), packets);
	ack->idle_rtt_ns = s->idle_rtt_ns;
	if (DCC_UNLIKELY(!s->line_told))
		dcc_tcp_note_line(s, ack, packets);
	return true;
}

/*
 * Is a sample that is marked DCC_ACK_DELAYED nevertheless the answer of a stopped flow's packet?
 * TCP marks the ACK of each lone packet below the full size; an ACK that came soon was not held.
 */
static inline bool dcc_tcp_came_soon(const struct dcc_tcp *s, const struct dcc_ack *ack)
{
	return ack->rtt_ns <= (u64)DCC_TCP_HELD_ACK_NS + s->path.base_rtt_ns;
}

/* ---- loss and idle ------------------------------------------------------- */

enum dcc_tcp_event {
	DCC_TCP_NOTHING,
	DCC_TCP_LOSS, /* the next ACK is to report a loss */
	DCC_TCP_RTO,  /* a timeout, to be reported at once; TCP has set snd_cwnd already */
};

/*
 * What a change of the congestion state says.  high_seq and snd_una are the socket's.
 *
 * Fast recovery, a CE mark and a local drop (CWR) are a loss.  A timeout comes to the hooks as
 * CA_EVENT_LOSS, and as this change as well; except in recovery or CWR before its end, where only
 * the state changes.  TCP_CA_Loss also follows a smaller path MTU, which is no timeout; then
 * nothing of an earlier recovery is in flight.
 */
static inline enum dcc_tcp_event dcc_tcp_state_event(u32 old_state, u32 new_state, u32 high_seq,
						     u32 snd_una)
{
	if (old_state < DCC_TCP_CA_CWR) {
		if (new_state == DCC_TCP_CA_CWR || new_state == DCC_TCP_CA_RECOVERY)
			return DCC_TCP_LOSS;
	} else if (old_state != DCC_TCP_CA_LOSS && new_state == DCC_TCP_CA_LOSS) {
		if (dcc_seq_before(snd_una, high_seq))
			return DCC_TCP_RTO;
	}
	return DCC_TCP_NOTHING;
}

/* A socket before it sends. */
struct dcc_tcp_pause {
	u64 now_ns;	  /* tcp_clock_cache */
	u64 departure_ns; /* tcp_wstamp_ns: the earliest of the next packet, or the last one's */
	u32 packets_out;
	u32 ca_state;	  /* DCC_TCP_CA_ */
	bool app_limited; /* the application had too little to send */
};

/*
 * The idle rule: does the flow start again after a pause, so that the core's delays say nothing
 * any more?  To be asked before anything is sent; true once per pause.
 *
 * TCP's own event (CA_EVENT_TX_START) does not come while the receiver holds back the ACK of a
 * last packet, and it comes with retransmissions after a timeout.  Hence one packet in flight is a
 * pause as well, and recovery is none.
 */
static inline bool dcc_tcp_restarts(struct dcc_tcp *s, const struct dcc_tcp_pause *p)
{
	u32 rtt_ns = dcc_max_u32(s->path.base_rtt_ns, s->rtt_ns);
	u64 last_ns = dcc_max_u64(s->last_ack_ns, p->departure_ns);

	if (DCC_LIKELY(!p->app_limited) || p->packets_out > 1 || p->ca_state != DCC_TCP_CA_OPEN ||
	    !s->last_ack_ns)
		return false;
	if (p->now_ns <= last_ns + (u64)DCC_TCP_IDLE_RTTS * rtt_ns)
		return false;
	s->last_ack_ns = p->now_ns;
	/* A round's rate says nothing with a pause in it. */
	s->noise.round.samples = 0;
	return true;
}

/* ---- a control ----------------------------------------------------------- */

/* What the law says of base RTTs that are too short.  To be called with each control. */
static inline void dcc_tcp_note_control(struct dcc_tcp *s, const struct dcc_control *control)
{
	s->idle_max_ns = control->idle_max_ns;
	s->target_ns = control->target_ns;
}

/* Is the flow to wait for a probe?  Not while a trial goes on. */
static inline bool dcc_tcp_stops(const struct dcc_tcp *s, const struct dcc_control *control)
{
	return control->probe_ns && !s->doubt.extra;
}

/*
 * What the core asks for, and the packets that a trial adds to each RTT; evenly, as a burst of the
 * flow's own would be a queue.  Of a flow that has stopped they are all.  To be called before all
 * that follows here.
 */
static inline void dcc_tcp_add_trial(const struct dcc_tcp *s, struct dcc_control *control)
{
	const struct dcc_tcp_doubt *d = &s->doubt;
	u64 packet_bps;

	if (DCC_LIKELY(!d->extra))
		return;
	if (control->probe_ns) {
		control->probe_ns = 0;
		control->cwnd_q16 = DCC_WINDOW_ONE;
	}
	/* A packet per RTT. */
	packet_bps = dcc_div_u64(s->path.wire_bytes * (DCC_BITS_PER_BYTE * DCC_NS_PER_S),
				 dcc_max_u32(s->rtt_ns, 1));
	control->cwnd_q16 = dcc_max_u64(control->cwnd_q16, DCC_WINDOW_ONE) +
			    ((u64)d->extra << DCC_WINDOW_SHIFT);
	control->pacing_bps = dcc_min_u64(control->pacing_bps + d->extra * packet_bps,
					  dcc_min_u32(d->flight + d->most, DCC_TCP_CWND_MAX) *
						  packet_bps);
}

/*
 * The RTT that a window below one packet is spread over.  The RTT of a start-up which is draining,
 * a thousand times the base RTT, will be gone long before it has passed.
 */
static inline u64 dcc_tcp_window_rtt_ns(const struct dcc_tcp *s)
{
	return dcc_min_u64(s->rtt_ns, (u64)DCC_TCP_STEADY_RTTS * s->path.base_rtt_ns);
}

/* The least pace, in payload bytes per second: the wait for a packet ends. */
static inline u64 dcc_tcp_least_pace(const struct dcc_tcp *s)
{
	return s->mss * (DCC_NS_PER_S / DCC_TCP_HOLD_MAX_NS);
}

/*
 * The greatest pace, in bytes on the wire per second, where nobody has told the line rate.  Laws
 * whose window is the limit ask for the line's; at a device's rate the whole window is one burst,
 * which waits for itself at the bottleneck.
 */
static inline u64 dcc_tcp_untold_pace(const struct dcc_tcp *s, u64 cwnd_q16)
{
	/* < 2^37 * 2^16 (bytes) */
	u64 bytes = (dcc_min_u64(cwnd_q16, (u64)s->line.window << DCC_WINDOW_SHIFT) *
		     s->path.wire_bytes) >> DCC_WINDOW_SHIFT;

	/* < 2^32 * 2^31 */
	return dcc_div_u64(dcc_sat_u32(bytes) * (DCC_TCP_UNTOLD_WINDOWS_PER_RTT * DCC_NS_PER_S),
			   dcc_max_u32(s->path.base_rtt_ns, 1));
}

/*
 * sk_pacing_rate of a control: payload bytes per second, at least dcc_tcp_least_pace().
 * The caller applies SO_MAX_PACING_RATE.  A window below one packet stays at one packet, and slows
 * the pace down to that part of a packet per RTT.
 */
static inline u64 dcc_tcp_pace(const struct dcc_tcp *s, const struct dcc_control *control)
{
	u64 rate = control->pacing_bps / DCC_BITS_PER_BYTE;

	/* < 2^16 (window) * 2^16 (bytes) * 2^30 (ns per s): 62 bits. */
	if (control->cwnd_q16 < DCC_WINDOW_ONE)
		rate = dcc_min_u64(rate, dcc_div_u64(control->cwnd_q16 * s->path.wire_bytes *
							     DCC_NS_PER_S,
						     dcc_tcp_window_rtt_ns(s)) >>
						 DCC_WINDOW_SHIFT);
	else if (s->path.grain_ns)
		rate = dcc_min_u64(rate, dcc_tcp_untold_pace(s, control->cwnd_q16));
	/* The stack paces payload: < 2^38 (bytes per s) * 2^16. */
	return dcc_max_u64(dcc_div_u64(rate * s->mss, s->path.wire_bytes), dcc_tcp_least_pace(s));
}

/*
 * Packets that TCP may hand down in one TSO burst, 1 .. max; rate in payload bytes per second.
 *
 * The packets of a burst have one send time.  A slow flow with long bursts has fewer of them in a
 * base RTT than a law needs for a slope, and saves little processor time.  Where nobody has told
 * the line rate, a queue of a grain says nothing anyway, and a host whose processor has just the
 * time for the path's rate has none to send packet by packet.  But TCP waits for a whole burst, and
 * a receiver for a second packet: a burst is a part of the window.
 */
static inline u32 dcc_tcp_burst(const struct dcc_tcp *s, u64 rate, u64 cwnd_q16, u32 max)
{
	u32 grain_ns = dcc_min_u32(s->path.grain_ns, DCC_TCP_BURST_MAX_NS);
	/* < 2^38 (bytes per s) * 2^26 (ns). */
	u64 packets = dcc_div_u64(rate * (s->path.base_rtt_ns / DCC_TCP_BURSTS_PER_RTT),
				  s->mss * DCC_NS_PER_S);
	u32 most = (u32)dcc_min_u64(cwnd_q16 >> DCC_WINDOW_SHIFT, s->line.window) /
		   DCC_TCP_BURSTS_PER_WINDOW;

	if (grain_ns && packets < most) {
		packets = dcc_div_u64(rate * grain_ns, s->mss * DCC_NS_PER_S);
		packets = dcc_min_u64(packets, most);
	}
	return (u32)dcc_clamp_u64(packets, 1, max);
}

/*
 * Does the control make the pace the limit, and the window a bound that may have room?  The
 * contract (dcc_cc.h): a pace of the line rate says so; a pace above it makes the window the only
 * limit, and exact; below it, window and pace are both meant.
 */
static inline bool dcc_tcp_pace_limits(const struct dcc_tcp *s, const struct dcc_control *control)
{
	return control->pacing_bps == s->path.line_rate_bps;
}

/*
 * Packets to add to the window where the pace is the limit; burst is the longest TSO burst.  A
 * window of exactly one BDP loses 1 % of the link to a receiver that acknowledges every second
 * packet, and more to segmentation offload.  At line rate these packets make no queue.
 */
static inline u32 dcc_tcp_slack(const struct dcc_tcp *s, const struct dcc_control *control,
				u32 burst)
{
	return dcc_tcp_pace_limits(s, control) ? DCC_TCP_ACK_SLACK + burst : 0;
}

/*
 * The smallest window, in packets.  The receiver may hold the ACK of a lone packet for 40 ms; a
 * second packet releases it.  The window of a flow that only its application limits must not meet
 * that even once: each of its short responses may be one of a connection.
 */
static inline u32 dcc_tcp_least_window(const struct dcc_tcp *s, u32 delivered)
{
	if (s->delayed_acks ||
	    (s->stretched_acks && delivered - s->paused_delivered < DCC_TCP_PAUSE_PACKETS))
		return 2;
	return 1;
}

/*
 * snd_cwnd of a control, in packets; at most the proved one where nobody has told the line rate.
 * delivered and cwnd_clamp are the socket's, burst its longest TSO burst.  Rounded to the nearest:
 * rounded up, hundreds of flows that share a queue would each have half a packet too much in it.
 */
static inline u32 dcc_tcp_window(const struct dcc_tcp *s, const struct dcc_control *control,
				 u32 delivered, u32 burst, u32 cwnd_clamp)
{
	u64 cwnd_q16 = control->cwnd_q16 + DCC_WINDOW_ONE / 2;
	u64 cwnd;

	cwnd_q16 += (u64)dcc_tcp_slack(s, control, burst) << DCC_WINDOW_SHIFT;
	cwnd = dcc_min_u64(cwnd_q16 >> DCC_WINDOW_SHIFT,
			   dcc_min_u32(cwnd_clamp, DCC_TCP_CWND_MAX));
	if (s->path.grain_ns)
		cwnd = dcc_min_u64(cwnd, s->line.window);
	return dcc_max_u32((u32)cwnd, dcc_tcp_least_window(s, delivered));
}

/*
 * How long to hold the next packet of a window w below one packet: (1 - w) / w of the RTT that the
 * ACK has just measured.  The pace alone would be that of the RTT before, and an incast of hundreds
 * of flows swings on such old news.  cwnd_q16 is 1 .. DCC_WINDOW_ONE - 1.
 */
static inline u64 dcc_tcp_hold_ns(const struct dcc_tcp *s, u64 cwnd_q16)
{
	/* < 2^32 (ns) * 2^16. */
	u64 hold_ns = dcc_div_u64(dcc_tcp_window_rtt_ns(s) * (DCC_WINDOW_ONE - cwnd_q16), cwnd_q16);

	return dcc_min_u64(hold_ns, DCC_TCP_HOLD_MAX_NS);
}

/* What is left of a hold that was set at the old pace, at the new, faster one. */
static inline u64 dcc_tcp_shortened_hold_ns(u64 left_ns, u64 old_rate, u64 new_rate)
{
	return dcc_muldiv_u64(left_ns, old_rate, new_rate);
}

#endif /* DCC_TCP_H */

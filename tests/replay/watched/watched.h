/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One call of a congestion control hook: what it was given, and what it decided.
 *
 * tcp_watched.c writes these records; replay.cc and replay.bpf.c read them.  Names without a
 * comment are the kernel's, of struct tcp_sock and what it consists of.
 */
#ifndef WATCHED_H
#define WATCHED_H

enum watched_call {
  WATCHED_INIT = 1,
  WATCHED_RELEASE,
  WATCHED_MIN_TSO_SEGS,
  WATCHED_CONG_CONTROL,
  WATCHED_SET_STATE,
  WATCHED_CWND_EVENT,
  WATCHED_SSTHRESH,
  WATCHED_UNDO_CWND,
  WATCHED_IN_ACK_EVENT,
  WATCHED_CONG_AVOID,
  WATCHED_PKTS_ACKED,
};

/* 256 bytes without padding. */
struct watched_record {
  __u32 call;     /* enum watched_call */
  __u32 argument; /* of set_state, cwnd_event and in_ack_event */

  /* The socket before the call. */
  __u64 tcp_clock_cache;
  __u64 tcp_mstamp;
  __u64 tcp_wstamp_ns;
  __u64 bytes_acked;
  __u64 sk_pacing_rate;
  __u64 sk_max_pacing_rate;
  __u64 rack_mstamp;
  __u32 rack_rtt_us;
  __u32 snd_nxt;
  __u32 snd_una;
  __u32 write_seq;
  __u32 high_seq;
  __u32 delivered;
  __u32 packets_out;
  __u32 sacked_out;
  __u32 total_retrans;
  __u32 data_segs_in;
  __u32 srtt_us;
  __u32 mss_cache;
  __u32 snd_cwnd;
  __u32 snd_cwnd_clamp;
  __u32 sk_gso_max_segs; /* after the call: a module sets it */
  __u32 sk_priority;
  __u32 app_limited;
  __u32 flows; /* N as the receiver has reported it; 0: unknown */
  __u16 net_header_len;
  __u16 icsk_ext_hdr_len;
  __u16 tcp_header_len;
  __u8 icsk_ca_state;
  __u8 chrono_type;

  /* The rate sample of cong_control. */
  __u64 noted_ns; /* when the newest acknowledged packet left, as the module noted; 0: none */
  __u32 acked_sacked;
  __u32 prior_delivered;
  __u32 last_end_seq;
  __s32 rtt_us;
  __u8 sampled; /* prior_mstamp is set */
  __u8 is_retrans;
  __u8 is_app_limited;
  __u8 is_ack_delayed;

  /* After the call. */
  __u32 result; /* what it returned */
  __u64 rate;   /* sk_pacing_rate */
  __u32 cwnd;   /* snd_cwnd */
  __u32 rtt_ns; /* the newest RTT and the base RTT that the hooks hold */
  __u32 base_rtt_ns;
  __u32 min_rtt_us; /* before the call */
  __u64 cycles;     /* that the call took, by get_cycles(); 0: there are none to be had */
  __u64 reserved[6];
};

#endif /* WATCHED_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * An algorithm's BPF program, given one recorded call of its hooks at a time.
 *
 * REPLAY_PROGRAM is the source, such as "oscar.bpf.c": its own hooks run here, on
 * the image of a socket that a map holds.  Only what a program of this type may
 * not do with a socket is replaced: its storage, and setsockopt().
 */
#include "delaycc_core.bpf.h"
#include "replay.h"

struct replay_image {
	char tcp_sock[8192];
	char rate_sample[512];
	char af_ops[512];
};

#define REPLAY_ARRAY(name, type_)                                                                  \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__type(value, type_);                                                              \
	} name SEC(".maps")

REPLAY_ARRAY(replay_step, struct replay_step);
REPLAY_ARRAY(replay_image, struct replay_image);

static __always_inline void *replay_value(void *map)
{
	u32 key = 0;

	return bpf_map_lookup_elem(map, &key);
}

static __always_inline void *replay_storage(void);

/* Of the hooks' own map; there are no reports of N. */
#define bpf_sk_storage_get(map, sk, value, flags)                                                  \
	(__builtin_strcmp(#map, "&dcc_sockets_map") ? NULL : replay_storage())
#define bpf_sk_storage_delete(map, sk) ((void)0)
#define bpf_setsockopt(sk, level, option, value, size) ((void)(value))

#include REPLAY_PROGRAM

REPLAY_ARRAY(replay_state, struct hooks_sock);

static __always_inline void *replay_storage(void)
{
	return replay_value(&replay_state);
}

/* Writes a bit field, whose neighbours in its byte nobody reads. */
static __always_inline void replay_write_bits(u8 *at, u32 place, u8 value)
{
	at[place / 8] = value << place % 8;
}

#define REPLAY_BITS(s, field, value)                                                               \
	replay_write_bits((u8 *)(s) + __CORE_RELO(s, field, BYTE_OFFSET),                          \
			  __CORE_RELO(s, field, RSHIFT_U64) - __CORE_RELO(s, field, LSHIFT_U64),   \
			  value)

static __always_inline void replay_socket(struct replay_image *image,
					  const struct watched_record *r)
{
	struct tcp_sock *tp = (struct tcp_sock *)image->tcp_sock;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)tp;
	struct inet_connection_sock_af_ops *af_ops = (void *)image->af_ops;
	struct sock *sk = (struct sock *)tp;

	tp->tcp_clock_cache = r->tcp_clock_cache;
	tp->tcp_mstamp = r->tcp_mstamp;
	tp->tcp_wstamp_ns = r->tcp_wstamp_ns;
	tp->bytes_acked = r->bytes_acked;
	sk->sk_pacing_rate = r->sk_pacing_rate;
	sk->sk_max_pacing_rate = r->sk_max_pacing_rate;
	tp->rack.mstamp = r->rack_mstamp;
	tp->rack.rtt_us = r->rack_rtt_us;
	tp->snd_nxt = r->snd_nxt;
	tp->snd_una = r->snd_una;
	tp->write_seq = r->write_seq;
	tp->high_seq = r->high_seq;
	tp->delivered = r->delivered;
	tp->packets_out = r->packets_out;
	tp->sacked_out = r->sacked_out;
	tp->total_retrans = r->total_retrans;
	tp->data_segs_in = r->data_segs_in;
	tp->srtt_us = r->srtt_us;
	tp->rtt_min.s[0].v = r->min_rtt_us;
	tp->mss_cache = r->mss_cache;
	tp->snd_cwnd = r->snd_cwnd;
	tp->snd_cwnd_clamp = r->snd_cwnd_clamp;
	sk->sk_gso_max_segs = r->sk_gso_max_segs;
	sk->sk_priority = r->sk_priority;
	tp->app_limited = r->app_limited;
	af_ops->net_header_len = r->net_header_len;
	icsk->icsk_af_ops = af_ops;
	icsk->icsk_ext_hdr_len = r->icsk_ext_hdr_len;
	tp->tcp_header_len = r->tcp_header_len;
	REPLAY_BITS(icsk, icsk_ca_state, r->icsk_ca_state);
	REPLAY_BITS(tp, chrono_type, r->chrono_type);
}

static __always_inline void replay_sample(struct rate_sample *rs, const struct watched_record *r)
{
	rs->prior_mstamp = r->sampled;
	rs->acked_sacked = r->acked_sacked;
	rs->prior_delivered = r->prior_delivered;
	rs->last_end_seq = r->last_end_seq;
	rs->rtt_us = r->rtt_us;
	rs->is_retrans = r->is_retrans;
	rs->is_app_limited = r->is_app_limited;
	rs->is_ack_delayed = r->is_ack_delayed;
}

/* Puts the module's note of the send time in the place of the program's own. */
static __always_inline void replay_note(struct hooks_sock *s, const struct watched_record *r)
{
	s->tail = 0;
	s->head = r->noted_ns != 0;
	s->notes[0].seq = r->last_end_seq - 1;
	s->notes[0].sent_ns = r->noted_ns;
}

/* What `delaycc load --set` does: a parameter by its name. */
SEC("syscall")
int replay_set(struct replay_setting *setting)
{
	struct hooks_settings *settings = hooks_settings();
	char name[sizeof(setting->name)];
	u32 i, offset;

	if (!settings)
		return 1;
	__builtin_memcpy(name, setting->name, sizeof(name));
	for (i = 0; i < DELAYCC_BPF_PARAMS_MAX; i++) {
		if (bpf_strncmp(name, sizeof(name), (const char *)dcc_param_table[i].name))
			continue;
		offset = dcc_param_table[i].offset;
		if (offset > sizeof(*settings) - sizeof(u32))
			return 1;
		*(u32 *)((char *)settings + offset) = setting->value;
		return 0;
	}
	return 1;
}

#define REPLAY_CALL(hook) DELAYCC_PASTE(____, DELAYCC_ALG, _##hook)

SEC("tc")
int replay(struct __sk_buff *skb)
{
	struct replay_step *step = replay_value(&replay_step);
	struct replay_image *image = replay_value(&replay_image);
	struct hooks_sock *s = replay_value(&replay_state);
	const struct watched_record *r;
	struct rate_sample *rs;
	struct tcp_sock *tp;
	struct sock *sk;

	if (!step || !image || !s)
		return 1;
	r = &step->record;
	tp = (struct tcp_sock *)image->tcp_sock;
	rs = (struct rate_sample *)image->rate_sample;
	sk = (struct sock *)tp;
	replay_socket(image, r);
	step->result = 0;
	switch (r->call) {
	case WATCHED_INIT:
		REPLAY_CALL(init)(NULL, sk);
		break;
	case WATCHED_RELEASE:
		REPLAY_CALL(release)(NULL, sk);
		break;
	case WATCHED_MIN_TSO_SEGS:
		step->result = REPLAY_CALL(min_tso_segs)(NULL, sk);
		break;
	case WATCHED_CONG_CONTROL:
		replay_sample(rs, r);
		if (step->own_notes)
			step->noted_ns = hooks_noted_ns(s, r->last_end_seq);
		else
			replay_note(s, r);
		hooks_on_ack(sk, rs);
		break;
	case WATCHED_SET_STATE:
		REPLAY_CALL(set_state)(NULL, sk, r->argument);
		break;
	case WATCHED_CWND_EVENT:
		REPLAY_CALL(cwnd_event)(NULL, sk, r->argument);
		break;
	case WATCHED_SSTHRESH:
		step->result = REPLAY_CALL(ssthresh)(NULL, sk);
		break;
	case WATCHED_UNDO_CWND:
		step->result = REPLAY_CALL(undo_cwnd)(NULL, sk);
		break;
	}
	step->rate = sk->sk_pacing_rate;
	step->cwnd = tp->snd_cwnd;
	step->rtt_ns = s->tcp.sampler.rtt_ns;
	step->base_rtt_ns = s->tcp.model.path.base_rtt_ns;
	step->stopped = s->control.probe_ns != 0;
	return 0;
}

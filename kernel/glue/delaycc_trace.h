/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoint delaycc:ack: one line per decision of any algorithm. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM delaycc

#if !defined(DELAYCC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DELAYCC_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "delaycc.h"

TRACE_EVENT(ack,
	    TP_PROTO(const struct sock *sk, const struct delaycc_decision *d),
	    TP_ARGS(sk, d),
	    TP_STRUCT__entry(__array(char, name, TCP_CA_NAME_MAX)
			     __field(u16, sport)
			     __field(u16, dport)
			     __field(u32, rtt_ns)
			     __field(u32, delay_ns)
			     __field(s32, gradient_q16)
			     __field(u32, ratio_ppm)
			     __field(u64, cwnd_milli)
			     __field(u64, pacing_bps)
			     __field(u32, branch)
			     __field(u32, flows)
			     __field(bool, flows_reported)
			     __field(u64, detail)),
	    TP_fast_assign(strscpy(__entry->name, d->name, TCP_CA_NAME_MAX);
			   __entry->sport = ntohs(inet_sk(sk)->inet_sport);
			   __entry->dport = ntohs(inet_sk(sk)->inet_dport);
			   __entry->rtt_ns = d->rtt_ns;
			   __entry->delay_ns = d->delay_ns;
			   __entry->gradient_q16 = d->gradient_q16;
			   __entry->ratio_ppm = d->ratio_ppm;
			   /* A window has less than 2^32 packets: no overflow. */
			   __entry->cwnd_milli = (d->cwnd_q16 * 1000) >> DCC_WINDOW_SHIFT;
			   __entry->pacing_bps = d->pacing_bps;
			   __entry->branch = d->branch;
			   __entry->flows = d->flows;
			   __entry->flows_reported = d->flows_reported;
			   __entry->detail = d->detail;),
	    TP_printk("name=%s sport=%u dport=%u rtt_ns=%u delay_ns=%u gradient_q16=%d ratio_ppm=%u cwnd_milli=%llu pacing_bps=%llu branch=%u flows=%u reported=%u detail=%llu",
		      __entry->name, __entry->sport, __entry->dport,
		      __entry->rtt_ns, __entry->delay_ns, __entry->gradient_q16,
		      __entry->ratio_ppm, __entry->cwnd_milli,
		      __entry->pacing_bps, __entry->branch, __entry->flows,
		      __entry->flows_reported, __entry->detail)
);

#endif /* DELAYCC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE delaycc_trace
#include <trace/define_trace.h>

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What replay.cc and replay.bpf.c share: one recorded call, and what came of it. */
#ifndef REPLAY_H
#define REPLAY_H

#include "watched/watched.h"

struct replay_setting {
  char name[32]; /* as in struct dcc_param_info */
  __u32 value;
};

struct replay_step {
  struct watched_record record;
  __u32 own_notes; /* send times by the program's own notes, not by the record's */

  /* What came of it, as in the record. */
  __u32 result;
  __u64 rate;
  __u64 noted_ns; /* with own_notes: the program's note for this ACK; 0: none */
  __u32 cwnd;
  __u32 rtt_ns;
  __u32 base_rtt_ns;
  __u32 stopped; /* the core wants a probe */
};

#endif /* REPLAY_H */

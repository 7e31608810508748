// SPDX-License-Identifier: Apache-2.0
//
// A socket's ACK, for the tests of path/sample.h and of dcc_tcp.h.
#ifndef DELAYCC_TESTS_UNIT_TCP_ACK_H_
#define DELAYCC_TESTS_UNIT_TCP_ACK_H_

#include "path/sample.h"

namespace {

constexpr u64 kNow = 1000000000000;  // 1000 s
constexpr u32 kMss = 1448;
constexpr u32 kHeader = 66;

// The ACK of one full packet out of ten in flight, 12 us after it left.
dcc_tcp_view Ack() {
  dcc_tcp_view v = {};
  v.now_ns = kNow;
  v.now_us = kNow / 1000;
  v.bytes_acked = kMss;
  v.snd_nxt = 20 * kMss;
  v.delivered = 10;
  v.packets_out = 9;
  v.sampled = true;
  v.rtt_us = 12;
  v.acked_sacked = 1;
  v.last_end_seq = kMss;
  return v;
}

}  // namespace

#endif  // DELAYCC_TESTS_UNIT_TCP_ACK_H_

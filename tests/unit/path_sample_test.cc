// SPDX-License-Identifier: Apache-2.0
//
// From an ACK as TCP has it to the time when its packet was sent, and what that RTT is one of.
#include "path/sample.h"

#include <gtest/gtest.h>

#include <limits>

#include "tcp_ack.h"

namespace {

constexpr u32 kWire = kMss + kHeader;
constexpr u32 kBase = 12000;

// Of a new socket with full packets.
dcc_sampler Sampler() {
  dcc_sampler s = {};
  const dcc_tcp_view v = {};
  s.mss = kMss;
  s.header_bytes = kHeader;
  dcc_sampler_begin(&s, &v);
  return s;
}

// ---- sequence numbers

TEST(PathSequence, IsComparedModulo2To32) {
  EXPECT_TRUE(dcc_seq_before(1, 2));
  EXPECT_FALSE(dcc_seq_before(2, 2));
  EXPECT_FALSE(dcc_seq_before(2, 1));
  EXPECT_TRUE(dcc_seq_before(0xfffffff0, 5));
  EXPECT_FALSE(dcc_seq_before(5, 0xfffffff0));
  EXPECT_TRUE(dcc_seq_before(0, 0x7fffffff));
}

// ---- the send time

TEST(PathSendTime, ANoteCountsIfItAgreesWithTheKernelsMicroseconds) {
  const dcc_sampler s = Sampler();
  const dcc_tcp_view v = Ack();
  for (const int error : {-999, 0, 999})
    EXPECT_EQ(dcc_sampler_send_ns(&s, &v, kNow - 12000 + error), kNow - 12000 + error) << error;
  // The middle of the microsecond otherwise.
  for (const int error : {-1000, 1000, -1000000})
    EXPECT_EQ(dcc_sampler_send_ns(&s, &v, kNow - 12000 + error), kNow - 12000 + 500) << error;
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, 0), kNow - 12000 + 500);
}

TEST(PathSendTime, IsBeforeNow) {
  const dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.rtt_us = 0;
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, 0), kNow - 1);
}

TEST(PathSendTime, IsUnknownWithoutAnRtt) {
  const dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.rtt_us = -1;
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, kNow - 12000), 0u);
}

TEST(PathSendTime, AWholeMillisecondAfterARetransmissionIsTheTimestampOptions) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.rtt_us = 1000;
  EXPECT_NE(dcc_sampler_send_ns(&s, &v, 0), 0u);
  v.total_retrans = 1;
  dcc_sampler_note_retrans(&s, &v);
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, 0), 0u);
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, kNow - 1000000), kNow - 1000000);
  v.rtt_us = 1001;
  EXPECT_NE(dcc_sampler_send_ns(&s, &v, 0), 0u);
}

TEST(PathSendTime, OfARetransmissionCountsOnlyForALawThatAsksForIt) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.is_retrans = true;
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, kNow - 30500), 0u);
  s.times_retrans = 1;
  EXPECT_EQ(dcc_sampler_send_ns(&s, &v, kNow - 30500), kNow - 30500);
}

TEST(PathSendTime, OfARetransmissionIsRacksIfItIsThisAcks) {
  EXPECT_EQ(dcc_sample_retrans_ns(970, 30, 1000, 1000400), 970500u);
  EXPECT_EQ(dcc_sample_retrans_ns(960, 30, 1000, 1000400), 0u);  // of an older ACK
  EXPECT_EQ(dcc_sample_retrans_ns(1000, 0, 1000, 1000400), 0u);
  EXPECT_EQ(dcc_sample_retrans_ns(999, 1, 1000, 999400), 999399u);
}

TEST(PathRetransmissions, MakeRttsAmbiguousUpToWhatWasInFlight) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.total_retrans = 1;
  v.snd_nxt = 1000;
  v.last_end_seq = 500;
  dcc_sampler_note_retrans(&s, &v);
  EXPECT_TRUE(s.retransmitted);
  v.snd_nxt = 5000;
  v.last_end_seq = 1000;
  dcc_sampler_note_retrans(&s, &v);
  EXPECT_TRUE(s.retransmitted);
  v.last_end_seq = 1001;
  dcc_sampler_note_retrans(&s, &v);
  EXPECT_FALSE(s.retransmitted);
}

TEST(PathRetransmissions, OfAnotherAlgorithmsTimeAreAssumedOfWhatIsInFlight) {
  dcc_sampler s = {};
  dcc_tcp_view v = Ack();
  dcc_sampler_begin(&s, &v);
  EXPECT_TRUE(s.retransmitted);
  v.packets_out = 0;
  dcc_sampler_begin(&s, &v);
  EXPECT_FALSE(s.retransmitted);
}

TEST(PathRetransmissions, FromBeforeTheBeginningAreNoneOfThisAlgorithms) {
  dcc_sampler s = {};
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.total_retrans = 7;
  dcc_sampler_begin(&s, &v);
  dcc_sampler_note_retrans(&s, &v);
  EXPECT_FALSE(s.retransmitted);
}

// ---- delivered bytes

TEST(PathDelivered, BytesAreThoseOnTheWire) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.bytes_acked = 2 * kMss;
  v.acked_sacked = 2;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), 2 * kWire);
  // A short last packet.
  v.bytes_acked += 100;
  v.acked_sacked = 1;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), 100 + kHeader);
}

TEST(PathDelivered, SelectivelyAcknowledgedPacketsCountOnce) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.bytes_acked = 0;
  v.sacked_out = 3;
  v.acked_sacked = 3;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), 3 * kWire);
  // The hole is filled: bytes_acked makes up for all four, one of them is new.
  v.bytes_acked = 4 * kMss;
  v.sacked_out = 0;
  v.acked_sacked = 1;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), kWire);
  v.bytes_acked = 5 * kMss;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), kWire);
}

TEST(PathDelivered, WhatIsSelectivelyAcknowledgedAtTheBeginningIsDelivered) {
  dcc_sampler s = {};
  dcc_tcp_view v = Ack();
  v.sacked_out = 2;
  dcc_sampler_begin(&s, &v);
  s.mss = kMss;
  s.header_bytes = kHeader;
  v.bytes_acked = 4 * kMss;
  v.sacked_out = 0;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), kWire);
}

TEST(PathDelivered, BytesSaturate) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.bytes_acked = 1ULL << 40;
  EXPECT_EQ(dcc_sampler_delivered_bytes(&s, &v), 0xffffffffu);
}

TEST(PathDelivered, FlightIsWhatWasDeliveredSinceAndThePacketItself) {
  dcc_tcp_view v = Ack();
  EXPECT_EQ(dcc_sample_flight_packets(&v), 10u);
  v.delivered = 3;
  v.prior_delivered = 0xfffffffe;  // wraps
  EXPECT_EQ(dcc_sample_flight_packets(&v), 5u);
  v.prior_delivered = 3;
  EXPECT_EQ(dcc_sample_flight_packets(&v), 1u);
}

TEST(PathDelivered, LessThanFullPacketsIsSmall) {
  const dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.acked_sacked = 2;
  EXPECT_FALSE(dcc_sampler_acked_small(&s, &v, 2 * kWire));
  EXPECT_TRUE(dcc_sampler_acked_small(&s, &v, 2 * kWire - 1));
  v.acked_sacked = std::numeric_limits<u32>::max();
  EXPECT_TRUE(dcc_sampler_acked_small(&s, &v, std::numeric_limits<u32>::max()));
}

// ---- held ACKs

TEST(PathHeldAck, OnlyAPeerThatWasSeenToWaitMayHoldTheAckOfAllInFlight) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  EXPECT_FALSE(dcc_sampler_may_be_held(&s, &v));
  // Two packets with one ACK.
  v.acked_sacked = 2;
  EXPECT_TRUE(dcc_sampler_may_be_held(&s, &v));
  v.acked_sacked = 1;
  EXPECT_TRUE(dcc_sampler_may_be_held(&s, &v));
  v.packets_out = 1;
  EXPECT_FALSE(dcc_sampler_may_be_held(&s, &v));
}

TEST(PathHeldAck, APeerThatHasHeldOneForCertainMayHoldAnother) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  s.delayed_acks = 1;
  EXPECT_TRUE(dcc_sampler_may_be_held(&s, &v));
}

TEST(PathHeldAck, AnAckThatAnAnswerCarriesMayBeHeld) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.data_segs_in = 1;
  EXPECT_TRUE(dcc_sampler_may_be_held(&s, &v));
  EXPECT_FALSE(dcc_sampler_may_be_held(&s, &v));
}

TEST(PathHeldAck, AnAnswerFromBeforeTheBeginningCarriesNone) {
  dcc_sampler s = {};
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.data_segs_in = 5;
  dcc_sampler_begin(&s, &v);
  EXPECT_FALSE(dcc_sampler_may_be_held(&s, &v));
}

TEST(PathHeldAck, LossesDoNotMakeAPeerOneThatWaits) {
  for (int i = 0; i < 3; ++i) {
    dcc_sampler s = Sampler();
    dcc_tcp_view v = Ack();
    v.acked_sacked = 2;
    if (i == 0) v.sacked_out = 1;
    if (i == 1) s.retransmitted = 1;
    if (i == 2) v.ca_state = DCC_TCP_CA_RECOVERY;
    dcc_sampler_may_be_held(&s, &v);
    EXPECT_FALSE(s.stretched_acks) << i;
  }
}

TEST(PathHeldAck, IsCertainWhereNoQueueLastsAsLong) {
  const u32 limit = DCC_SAMPLE_HELD_ACK_NS + kBase;
  EXPECT_FALSE(dcc_sample_is_held(limit, kBase, 1, true));
  EXPECT_TRUE(dcc_sample_is_held(limit + 1, kBase, 1, false));
  EXPECT_TRUE(dcc_sample_is_held(limit + 1, kBase, 2, true));
  EXPECT_FALSE(dcc_sample_is_held(limit + 1, kBase, 2, false));
  // Of a path without a length the 20 ms are all.
  EXPECT_FALSE(dcc_sample_is_held(DCC_SAMPLE_HELD_ACK_NS, 0, 1, true));
}

TEST(PathPause, IsTheAckOfAllDataWithNoneWaiting) {
  dcc_sampler s = Sampler();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.delivered = 500;
  dcc_sampler_may_be_held(&s, &v);
  EXPECT_NE(s.paused_delivered, 500u);
  v.all_sent = true;
  v.packets_out = 1;
  dcc_sampler_may_be_held(&s, &v);
  EXPECT_NE(s.paused_delivered, 500u);
  v.packets_out = 0;
  dcc_sampler_may_be_held(&s, &v);
  EXPECT_EQ(s.paused_delivered, 500u);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
//
// From TCP's acknowledgment to the core's, and from the core's control to window and pace.
#include "dcc_tcp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "tcp_ack.h"

namespace {

constexpr u64 kLine = 100000000000;  // 100 Gbit/s
constexpr u32 kWire = kMss + kHeader;
constexpr u32 kBase = 12000;

dcc_path_config Config(u32 base_rtt_ns, bool line_configured = true) {
  dcc_path_config config = {};
  config.line_rate_bps = kLine;
  config.base_rtt_ns = base_rtt_ns;
  config.line_configured = line_configured;
  return config;
}

void Configure(dcc_tcp* s, const dcc_path_config& config) {
  dcc_tcp_configure(s, kMss, kHeader, &config);
}

// A socket on an idle path of 12 us at 100 Gbit/s, both configured.  Its newest RTT is 20 us.
dcc_tcp Socket(const dcc_path_config& config = Config(kBase)) {
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  dcc_tcp_begin(&s, &v, 20, ~0u, 0, 10);
  Configure(&s, config);
  s.model.target_ns = 10 * kBase;
  return s;
}

// One that measures its base RTT.
dcc_tcp Measuring() { return Socket(Config(0)); }

dcc_control Control(double packets, u64 pacing_bps) {
  dcc_control c = {};
  c.cwnd_q16 = static_cast<u64>(packets * DCC_WINDOW_ONE);
  c.pacing_bps = pacing_bps;
  return c;
}

dcc_ack Sample(dcc_tcp* s, const dcc_tcp_view& v, u64 noted_ns) {
  dcc_ack ack = {};
  EXPECT_TRUE(dcc_tcp_sample(s, &v, noted_ns, &ack));
  return ack;
}

// ---- begin

// What the model says of the path before any sample.
dcc_tcp Begin(const dcc_tcp_view& v, u32 srtt_us, u32 least_us = ~0u, u64 sent_ns = 0) {
  dcc_tcp s = {};
  dcc_tcp_begin(&s, &v, srtt_us, least_us, sent_ns, 10);
  Configure(&s, Config(0));
  return s;
}

u32 BaseNs(const dcc_tcp& s) { return s.model.path.base_rtt_ns; }

// A sample of a full packet, and the base RTT after it.
u32 BaseAfter(dcc_tcp s, u32 rtt_ns) {
  dcc_tcp_view v = Ack();
  v.rtt_us = static_cast<s32>(rtt_ns / 1000);
  v.bytes_acked = s.sampler.bytes_acked + kMss;
  v.data_segs_in = s.sampler.data_segs_in;
  Sample(&s, v, kNow - rtt_ns);
  return BaseNs(s);
}

TEST(TcpPacket, IsPayloadAndHeaders) {
  dcc_tcp s = {};
  dcc_tcp_set_packet(&s, 1448, 66);
  EXPECT_EQ(s.model.path.wire_bytes, 1514u);
  EXPECT_EQ(s.sampler.mss, 1448u);
  EXPECT_EQ(s.sampler.header_bytes, 66u);
  dcc_tcp_set_packet(&s, 0, 0);
  EXPECT_EQ(s.sampler.mss, 1u);  // it is a divisor
  EXPECT_EQ(s.model.path.wire_bytes, DCC_PATH_WIRE_MIN_BYTES);
  dcc_tcp_set_packet(&s, 65535, 128);
  EXPECT_EQ(s.model.path.wire_bytes, DCC_PATH_WIRE_MAX_BYTES);
}

TEST(TcpBegin, TcpsRttServesUntilTheFirstSample) {
  dcc_tcp_view v = {};
  v.bytes_acked = 1000000;  // sent by another algorithm
  const dcc_tcp s = Begin(v, 15);
  EXPECT_EQ(BaseNs(s), 15000u);
  EXPECT_EQ(s.sampler.rtt_ns, 15000u);
  EXPECT_EQ(BaseAfter(s, 18000), 18000u);  // longer, but of a full packet
}

TEST(TcpBegin, ARepeatedSynsRttIsUnknown) {
  dcc_tcp_view v = {};
  v.bytes_acked = 1;
  v.total_retrans = 1;
  // The answer to the second SYN has the first one's timestamp.
  dcc_tcp s = Begin(v, 1000012);
  EXPECT_EQ(BaseNs(s), DCC_TCP_FIRST_RTT_NS);
  EXPECT_EQ(BaseAfter(s, 2000000000), DCC_PATH_RTT_MAX_NS) << "no handshake says less";
  // Another algorithm's socket has retransmitted some time ago: its RTT is smoothed over much data.
  v.bytes_acked = 1000000;
  s = Begin(v, 15);
  EXPECT_EQ(BaseNs(s), 15000u);
  EXPECT_EQ(BaseAfter(s, 20000), 20000u);
}

TEST(TcpBegin, AnUnknownRttCountsAsAMillisecondAndExtremesAreCut) {
  dcc_tcp_view v = {};
  EXPECT_EQ(BaseNs(Begin(v, 0)), DCC_TCP_FIRST_RTT_NS);
  EXPECT_EQ(BaseNs(Begin(v, 0xffffffff)), DCC_PATH_RTT_MAX_NS);
  v.bytes_acked = 1000000;
  EXPECT_EQ(BaseNs(Begin(v, 0)), DCC_TCP_FIRST_RTT_NS);
  EXPECT_EQ(BaseNs(Begin(v, 0xffffffff)), DCC_PATH_RTT_MAX_NS);
}

TEST(TcpBegin, TheHandshakesRttIsKnownToTheNanosecondWhereItsSynWasNoted) {
  dcc_tcp_view v = {};
  v.now_ns = kNow;
  v.bytes_acked = 1;
  constexpr u32 kTwoPackets = 2 * (kWire * 8 / 100);
  EXPECT_EQ(BaseAfter(Begin(v, 11, ~0u, kNow - 11650), 20000), 11650 + kTwoPackets);
  // A note that does not agree is of another packet.
  EXPECT_EQ(BaseAfter(Begin(v, 11, ~0u, kNow - 13000), 20000), 11000 + kTwoPackets);
  EXPECT_EQ(BaseAfter(Begin(v, 11), 20000), 11000 + kTwoPackets);
  EXPECT_EQ(BaseAfter(Begin(v, 0, ~0u, kNow - 300), 20000), 20000u) << "no RTT, no handshake";
}

TEST(TcpBegin, ASocketThatHadAnotherAlgorithmHasTcpsLeastRttForAHandshake) {
  dcc_tcp_view v = {};
  v.bytes_acked = 1000000;
  EXPECT_EQ(BaseNs(Begin(v, 250, 21)), 21000u);
  EXPECT_EQ(BaseAfter(Begin(v, 250, 21), 240000), 21000 + 2 * (kWire * 8 / 100));
  // The timestamp option's milliseconds may be short by one.
  EXPECT_EQ(BaseNs(Begin(v, 25000, 20000)), 21000000u);
  EXPECT_EQ(BaseNs(Begin(v, 25000, 20001)), 20001000u);
  for (const u32 unknown : {0u, ~0u}) {
    EXPECT_EQ(BaseNs(Begin(v, 250, unknown)), 250000u);
    EXPECT_EQ(BaseAfter(Begin(v, 250, unknown), 260000), 260000u);
  }
}

// ---- the sample

TEST(TcpSample, HasTheRttInNanosecondsAndBytesOnTheWire) {
  dcc_tcp s = Socket();
  const dcc_ack ack = Sample(&s, Ack(), kNow - 12345);
  EXPECT_EQ(ack.now_ns, kNow);
  EXPECT_EQ(ack.send_ns, kNow - 12345);
  EXPECT_EQ(ack.rtt_ns, 12345u);
  EXPECT_EQ(ack.rtt_ns, 12345u);
  EXPECT_EQ(ack.acked_bytes, kWire);
  EXPECT_EQ(ack.inflight_bytes, 10 * kWire);
  EXPECT_EQ(ack.flags, 0u);
  EXPECT_EQ(ack.flows, 0u);
  EXPECT_EQ(s.sampler.rtt_ns, 12345u);
}

TEST(TcpSample, AnAckThatDeliversNothingIsNone) {
  dcc_ack ack = {};
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.acked_sacked = 0;
  v.total_retrans = 1;
  EXPECT_FALSE(dcc_tcp_sample(&s, &v, 0, &ack));
  // What it says of retransmissions and bytes is kept all the same.
  EXPECT_TRUE(s.sampler.retransmitted);
  EXPECT_EQ(s.sampler.bytes_acked, kMss);
  v.acked_sacked = 1;
  v.sampled = false;
  EXPECT_FALSE(dcc_tcp_sample(&s, &v, 0, &ack));
}

TEST(TcpSample, APacketThatIsAcknowledgedInPartsIsOneSampleAndNoMoreBytes) {
  dcc_tcp s = Socket();
  u64 bytes = 0;
  int samples = 0;
  for (u32 part = 1; part <= 8; ++part) {
    dcc_tcp_view v = Ack();
    // TCP counts a packet as delivered with its last byte.
    v.bytes_acked = part * kMss / 8;
    v.acked_sacked = part == 8;
    dcc_ack ack = {};
    if (!dcc_tcp_sample(&s, &v, kNow - 12000, &ack)) continue;
    ++samples;
    bytes += ack.acked_bytes;
  }
  EXPECT_EQ(samples, 1);
  EXPECT_LE(bytes, kWire);
}

TEST(TcpSample, WithoutASendTimeStillDelivers) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.rtt_us = -1;
  const dcc_ack ack = Sample(&s, v, 0);
  EXPECT_EQ(ack.flags, DCC_ACK_NO_RTT);
  EXPECT_EQ(ack.send_ns, kNow);
  EXPECT_EQ(ack.rtt_ns, 0u);
  EXPECT_EQ(ack.acked_bytes, kWire);
  EXPECT_EQ(s.sampler.rtt_ns, 20000u);  // as before
}

TEST(TcpSample, ApplicationAndReceiveWindowLimitAlike) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.is_app_limited = true;
  EXPECT_EQ(Sample(&s, v, 0).flags, DCC_ACK_APP_LIMITED);
  v.is_app_limited = false;
  v.rwnd_limited = true;
  EXPECT_EQ(Sample(&s, v, 0).flags, DCC_ACK_APP_LIMITED);
}

TEST(TcpSample, AHeldAckIsNoRttOfThePath) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.delivered = 1;
  v.packets_out = 0;
  v.rtt_us = 40000;
  const dcc_ack ack = Sample(&s, v, kNow - 40000000);
  EXPECT_EQ(ack.flags, DCC_ACK_DELAYED);
  EXPECT_EQ(ack.rtt_ns, 40000000u);
  EXPECT_TRUE(s.sampler.delayed_acks);
  EXPECT_EQ(s.sampler.rtt_ns, 20000u);
}

TEST(TcpSample, WhatTcpCallsDelayedIsDelayed) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.is_ack_delayed = true;
  EXPECT_EQ(Sample(&s, v, 0).flags, DCC_ACK_DELAYED);
  EXPECT_FALSE(s.sampler.delayed_acks);
}

TEST(TcpSample, TheAckOfTheLastDataCountsOnlyIfItIsShorterThanTheNewest) {
  dcc_tcp s = Socket();
  s.sampler.stretched_acks = 1;
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.all_sent = true;
  v.rtt_us = 25;
  EXPECT_EQ(Sample(&s, v, kNow - 25000).flags, DCC_ACK_DELAYED);
  EXPECT_EQ(s.sampler.rtt_ns, 20000u);
  v.rtt_us = 15;
  EXPECT_EQ(Sample(&s, v, kNow - 15000).flags, 0u);
  EXPECT_EQ(s.sampler.rtt_ns, 15000u);
  // Where more data waits, the receiver has no reason to wait.
  v.all_sent = false;
  v.rtt_us = 25;
  EXPECT_EQ(Sample(&s, v, kNow - 25000).flags, 0u);
}

TEST(TcpSample, AnRttOfSecondsSaturates) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.rtt_us = 10000000;
  EXPECT_EQ(Sample(&s, v, 0).rtt_ns, 0xffffffffu);
}

TEST(TcpSample, AnAckOfLessThanFullPacketsIsSmall) {
  dcc_tcp s = Measuring();
  dcc_tcp_view v = Ack();
  v.rtt_us = 13;
  Sample(&s, v, kNow - 13000);
  EXPECT_EQ(BaseNs(s), 13000u);
  v.rtt_us = 12;
  // The last of two packets lacks a byte.
  v.bytes_acked += 2 * kMss - 1;
  v.acked_sacked = 2;
  Sample(&s, v, kNow - 12000);
  EXPECT_EQ(BaseNs(s), 13000u);
  v.bytes_acked += 2 * kMss;
  Sample(&s, v, kNow - 12000);
  EXPECT_EQ(BaseNs(s), 12000u);
}

TEST(TcpSample, OfNoTimeIsOneOfANanosecond) {
  dcc_tcp s = Measuring();
  dcc_tcp_view v = Ack();
  v.rtt_us = 0;
  EXPECT_EQ(Sample(&s, v, kNow).rtt_ns, 0u);
  EXPECT_EQ(s.sampler.rtt_ns, 1u);  // it is a divisor
  EXPECT_EQ(BaseNs(s), DCC_PATH_RTT_MIN_NS);
}

TEST(TcpSample, WithoutAnRttOrHeldSaysNothingOfThePath) {
  dcc_tcp s = Measuring();
  dcc_tcp_view v = Ack();
  v.rtt_us = -1;
  Sample(&s, v, 0);
  v.rtt_us = 12;
  v.is_ack_delayed = true;
  v.bytes_acked += kMss;
  Sample(&s, v, kNow - 12000);
  EXPECT_EQ(BaseNs(s), 20000u);
}

TEST(TcpSample, CameSoonMeansWithin20MsAndTheBaseRtt) {
  dcc_tcp s = Socket();
  dcc_ack ack = {};
  ack.rtt_ns = DCC_SAMPLE_HELD_ACK_NS + kBase;
  EXPECT_TRUE(dcc_tcp_came_soon(&s, &ack));
  ack.rtt_ns++;
  EXPECT_FALSE(dcc_tcp_came_soon(&s, &ack));
}

// ---- loss

TEST(TcpLoss, IsReportedOnce) {
  dcc_tcp s = Socket();
  EXPECT_FALSE(dcc_tcp_takes_loss(&s));
  dcc_tcp_saw_loss(&s);
  EXPECT_TRUE(dcc_tcp_takes_loss(&s));
  EXPECT_FALSE(dcc_tcp_takes_loss(&s));
}

TEST(TcpState, RecoveryAndCwrAreALossOncePerEpisode) {
  for (const u32 state : {DCC_TCP_CA_RECOVERY, DCC_TCP_CA_CWR}) {
    EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_OPEN, state, 100, 50), DCC_TCP_LOSS);
    EXPECT_EQ(dcc_tcp_state_event(1, state, 100, 50), DCC_TCP_LOSS);  // disorder
    EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_CWR, state, 100, 50), DCC_TCP_NOTHING);
    EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_LOSS, state, 100, 50), DCC_TCP_NOTHING);
    EXPECT_EQ(dcc_tcp_state_event(state, DCC_TCP_CA_OPEN, 100, 50), DCC_TCP_NOTHING);
  }
}

TEST(TcpState, ATimeoutWithinARecoveryIsSeenInTheStateAlone) {
  EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_RECOVERY, DCC_TCP_CA_LOSS, 100, 50), DCC_TCP_RTO);
  EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_CWR, DCC_TCP_CA_LOSS, 100, 50), DCC_TCP_RTO);
  EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_RECOVERY, DCC_TCP_CA_LOSS, 5, 0xfffffff0), DCC_TCP_RTO);
  // At its end, and from the open state, CA_EVENT_LOSS tells; or it is a smaller path MTU.
  EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_RECOVERY, DCC_TCP_CA_LOSS, 100, 100), DCC_TCP_NOTHING);
  EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_OPEN, DCC_TCP_CA_LOSS, 100, 50), DCC_TCP_NOTHING);
  EXPECT_EQ(dcc_tcp_state_event(DCC_TCP_CA_LOSS, DCC_TCP_CA_LOSS, 100, 50), DCC_TCP_NOTHING);
}

// ---- idle

constexpr u64 kIdle = DCC_TCP_IDLE_RTTS * 20000;  // of Socket(), whose newest RTT is 20 us

dcc_tcp_pause Pause(u64 since_ns) {
  dcc_tcp_pause p = {};
  p.now_ns = kNow + since_ns;
  p.departure_ns = kNow - 20000;
  p.app_limited = true;
  return p;
}

dcc_tcp Acked() {
  dcc_tcp s = Socket();
  s.last_ack_ns = kNow;
  return s;
}

TEST(TcpIdle, BeginsAfterEightRttsAndRestartsOncePerPause) {
  dcc_tcp s = Acked();
  dcc_tcp_pause p = Pause(kIdle);
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
  p = Pause(kIdle + 1);
  EXPECT_TRUE(dcc_tcp_restarts(&s, &p));
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
}

TEST(TcpIdle, CountsFromTheLastDepartureToo) {
  dcc_tcp s = Acked();
  dcc_tcp_pause p = Pause(kIdle + 1);
  p.departure_ns = kNow + 1;
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
}

TEST(TcpIdle, OnePacketInFlightMayWaitForItsAckAndTwoMayNot) {
  dcc_tcp s = Acked();
  dcc_tcp_pause p = Pause(kIdle + 1);
  p.packets_out = 2;
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
  p.packets_out = 1;
  EXPECT_TRUE(dcc_tcp_restarts(&s, &p));
}

TEST(TcpIdle, NeedsAnApplicationThatPaused) {
  dcc_tcp s = Acked();
  dcc_tcp_pause p = Pause(kIdle + 1);
  p.app_limited = false;
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
  p = Pause(kIdle + 1);
  p.ca_state = DCC_TCP_CA_LOSS;
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
  s.last_ack_ns = 0;  // nothing was sent yet
  p = Pause(kIdle + 1);
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
}

TEST(TcpIdle, EndsTheRoundOfThePathModel) {
  dcc_tcp s = Acked();
  Configure(&s, Config(0));
  dcc_tcp_view v = Ack();
  Sample(&s, v, kNow - 12000);
  ASSERT_EQ(s.model.round.samples, 1u);
  const dcc_tcp_pause p = Pause(kIdle + 1);
  ASSERT_TRUE(dcc_tcp_restarts(&s, &p));
  EXPECT_EQ(s.model.round.samples, 0u);
}

TEST(TcpIdle, TakesTheBaseRttWhereTheNewestIsShorter) {
  dcc_tcp s = Acked();
  s.sampler.rtt_ns = 1000;
  dcc_tcp_pause p = Pause(DCC_TCP_IDLE_RTTS * kBase);
  EXPECT_FALSE(dcc_tcp_restarts(&s, &p));
}

// ---- the window

TEST(TcpWindow, IsRoundedToTheNearest) {
  dcc_tcp s = Socket();
  const u32 any = 1000000;
  for (const auto& [packets, cwnd] : {std::pair(10.0, 10u),
                                      {10.49, 10u},
                                      {10.5, 11u},
                                      {10.99, 11u},
                                      {0.2, 1u},
                                      {1.0 / 65536, 1u}}) {
    const dcc_control c = Control(packets, kLine / 2);
    EXPECT_EQ(dcc_tcp_window(&s, &c, 0, 8, any), cwnd) << packets;
  }
}

TEST(TcpWindow, HasSlackForGroupedAcksAtTheLineRateOnly) {
  dcc_tcp s = Socket();
  for (const auto& [pace, limits] :
       {std::pair(kLine, true), {kLine - 1, false}, {kLine + 1, false}, {2 * kLine, false}}) {
    const dcc_control c = Control(10, pace);
    EXPECT_EQ(dcc_tcp_pace_limits(&s, &c), limits) << pace;
    EXPECT_EQ(dcc_tcp_slack(&s, &c, 8), limits ? 9u : 0u) << pace;
    EXPECT_EQ(dcc_tcp_window(&s, &c, 0, 8, 1000000), limits ? 19u : 10u) << pace;
  }
}

TEST(TcpWindow, RespectsTheSocketsClampAndTcpsSequenceNumbers) {
  dcc_tcp s = Socket();
  dcc_control c = Control(100, kLine);
  EXPECT_EQ(dcc_tcp_window(&s, &c, 0, 8, 50), 50u);
  c.cwnd_q16 = std::numeric_limits<u64>::max() / 2;
  EXPECT_EQ(dcc_tcp_window(&s, &c, 0, 44, 0xffffffff), DCC_TCP_CWND_MAX);
}

TEST(TcpPace, ASmallWindowIsSpreadOverTwelveBaseRttsAtTheMost) {
  dcc_tcp s = Socket();
  const dcc_control c = Control(0.5, kLine);
  s.sampler.rtt_ns = 11 * kBase;
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 0.5 * kMss / (11e-9 * kBase), 1);
  EXPECT_EQ(dcc_tcp_hold_ns(&s, c.cwnd_q16), 11u * kBase);
  s.sampler.rtt_ns = 1000 * kBase;
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 0.5 * kMss / (12e-9 * kBase), 1);
  EXPECT_EQ(dcc_tcp_hold_ns(&s, c.cwnd_q16), 12u * kBase);
}

TEST(TcpWindow, IsTheDrainsAtTheMostDuringADrain) {
  dcc_tcp s = Socket();
  s.model.drain.window = 4;
  dcc_control c = Control(100, kLine);
  EXPECT_EQ(dcc_tcp_window(&s, &c, 0, 8, 1000), 4u);
  c = Control(2, 2 * kLine);
  EXPECT_EQ(dcc_tcp_window(&s, &c, 0, 8, 1000), 2u);
}

TEST(TcpWindow, IsSettledUntilControlWindowPacketOrPathIsAnother) {
  const dcc_control control = Control(10, kLine);
  const u32 cwnd = 19;
  dcc_tcp s = Socket();
  EXPECT_FALSE(dcc_tcp_is_settled(&s, &control, cwnd)) << "nothing was applied";
  dcc_model_control(&s.model, &control);
  dcc_tcp_settle(&s, &control, cwnd);
  EXPECT_TRUE(dcc_tcp_is_settled(&s, &control, cwnd));
  EXPECT_FALSE(dcc_tcp_is_settled(&s, &control, cwnd - 1)) << "recovery";
  for (int field = 0; field < 4; ++field) {
    dcc_control other = control;
    if (field == 0) ++other.cwnd_q16;
    if (field == 1) --other.pacing_bps;
    if (field == 2) ++other.target_ns;
    if (field == 3) other.probe_ns = 1000;
    EXPECT_FALSE(dcc_tcp_is_settled(&s, &other, cwnd)) << field;
  }
  s.model.probe.extra = 2;
  EXPECT_FALSE(dcc_tcp_is_settled(&s, &control, cwnd)) << "a probe";
  s.model.probe.extra = 0;
  s.model.drain.window = 4;
  EXPECT_FALSE(dcc_tcp_is_settled(&s, &control, cwnd)) << "a drain";
  s.model.drain.window = 0;
  dcc_tcp_set_packet(&s, 1400, 100);
  EXPECT_FALSE(dcc_tcp_is_settled(&s, &control, cwnd)) << "another packet";
}

TEST(TcpWindow, IsNotSettledWhereMoreThanTheControlMakesIt) {
  const dcc_control small = Control(0.9, kLine / 2), control = Control(10, kLine);
  dcc_control stopped = control;
  stopped.probe_ns = 1;
  dcc_tcp s = Socket();
  const auto settles = [&s](const dcc_control& c, u32 cwnd) {
    dcc_tcp_settle(&s, &c, cwnd);
    return s.settled_cwnd != 0;
  };
  EXPECT_TRUE(settles(control, 3));
  EXPECT_FALSE(settles(control, 2)) << "may be the least window";
  EXPECT_FALSE(settles(small, 3)) << "the newest RTT counts";
  EXPECT_FALSE(settles(stopped, 3));
  s.model.path.delay_floor_ns = 1;
  EXPECT_FALSE(settles(control, 3)) << "the line rate is unknown";
  s.model.path.delay_floor_ns = 0;
  s.model.probe.extra = 1;
  EXPECT_FALSE(settles(control, 3)) << "a probe";
  s.model.probe.extra = 0;
  s.model.drain.window = 4;
  EXPECT_FALSE(settles(control, 3)) << "a drain";
}

TEST(TcpWindow, IsTwoPacketsForAPeerThatHeldAnAck) {
  dcc_tcp s = Socket();
  const dcc_control c = Control(0.5, kLine / 2);
  s.sampler.delayed_acks = 1;
  EXPECT_EQ(dcc_tcp_window(&s, &c, 1000, 8, 100), 2u);
}

TEST(TcpWindow, IsTwoPacketsForAFlowThatPausedNotLongAgo) {
  dcc_tcp s = Socket();
  s.sampler.stretched_acks = 1;
  s.sampler.paused_delivered = 0xffffffff;  // wraps
  EXPECT_EQ(dcc_tcp_least_window(&s, DCC_SAMPLE_PAUSE_PACKETS - 2), 2u);
  EXPECT_EQ(dcc_tcp_least_window(&s, DCC_SAMPLE_PAUSE_PACKETS - 1), 1u);
  s.sampler.stretched_acks = 0;
  EXPECT_EQ(dcc_tcp_least_window(&s, 0), 1u);
  // A new socket has not paused.
  s = Socket();
  s.sampler.stretched_acks = 1;
  for (const u32 delivered : {0u, 1u, 63u, 64u, 127u, 1000u})
    EXPECT_EQ(dcc_tcp_least_window(&s, delivered), 1u) << delivered;
}

// ---- the pace

TEST(TcpPace, IsPayloadBytesPerSecond) {
  dcc_tcp s = Socket();
  const dcc_control c = Control(10, kLine);
  EXPECT_EQ(dcc_tcp_pace(&s, &c), kLine / 8 * kMss / kWire);
}

// Whatever a law asks for, the next packet leaves within a tenth of a second.
TEST(TcpPace, IsAtLeastAPacketInTheLongestHold) {
  dcc_tcp s = Socket();
  dcc_control c = Control(10, 0);
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 10 * kMss);
  c = Control(0.25, 8000);
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 10 * kMss);
  c = Control(1.0 / 65536, kLine);
  s.sampler.rtt_ns = s.model.path.base_rtt_ns = DCC_PATH_RTT_MAX_NS;
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 10 * kMss);
  c = Control(10, 200 * kWire * 8);
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 200 * kMss);
}

TEST(TcpPace, OfAWindowBelowOnePacketIsThatPartOfAPacketPerRtt) {
  dcc_tcp s = Socket();
  dcc_control c = Control(0.25, kLine);
  // A quarter of 1448 bytes per 20 us.
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 0.25 * kMss / 20e-6, 1);
  c = Control(1, kLine);
  EXPECT_EQ(dcc_tcp_pace(&s, &c), kLine / 8 * kMss / kWire);
  // A slower pace stays.
  c = Control(0.25, 200 * kWire * 8);
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 200 * kMss);
}

TEST(TcpPace, HasNoOverflowAtTheEndsOfItsRange) {
  dcc_tcp s = Socket();
  dcc_tcp_set_packet(&s, 65535, 0);
  dcc_control c = Control(0, 2 * DCC_PATH_RATE_MAX_BPS);
  c.cwnd_q16 = DCC_WINDOW_ONE - 1;
  s.sampler.rtt_ns = s.model.path.base_rtt_ns = DCC_PATH_RTT_MIN_NS;
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 65535ull * 65535 * 1000000000 / 1000 / 65536);
  c.cwnd_q16 = DCC_WINDOW_ONE;
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 2 * DCC_PATH_RATE_MAX_BPS / 8);
}

// ---- the window of a start-up

constexpr u32 kLongBase = 1000000;

// A socket on a path of 1 ms and a device of 100 Gbit/s, whose law asks for 8,000 packets.
struct StartingFlow {
  explicit StartingFlow(u32 cwnd = 10, u32 packets_out = 0) {
    dcc_tcp_view v = {};
    v.packets_out = packets_out;
    s = {};
    dcc_tcp_begin(&s, &v, 20, ~0u, 0, cwnd);
    Configure(&s, Config(kLongBase, false));
  }
  u32 window() const {
    const dcc_control c = Control(8000, 2 * kLine);
    return dcc_tcp_window(&s, &c, 0, 1, 1000000);
  }
  // An ACK of a packet that was sent with so many in flight.
  void Ack(u32 flight, u32 rtt_ns) {
    dcc_tcp_view v = ::Ack();
    v.delivered = flight;
    v.now_ns = kNow + 10 * kLongBase;
    v.now_us = v.now_ns / 1000;
    v.rtt_us = static_cast<s32>(rtt_ns / 1000);
    v.bytes_acked = s.sampler.bytes_acked + kMss;
    Sample(&s, v, v.now_ns - rtt_ns);
  }
  dcc_tcp s;
};

TEST(TcpStartWindow, IsTcpsOwnAtFirst) {
  EXPECT_EQ(StartingFlow().window(), 10u);
  EXPECT_EQ(StartingFlow(1).window(), 1u);  // after SYNs that were lost
  EXPECT_EQ(StartingFlow(40).window(), 40u);
}

TEST(TcpStartWindow, OfASocketThatChangesItsAlgorithmIsWhatIsInFlight) {
  EXPECT_EQ(StartingFlow(10, 300).window(), 300u);
  EXPECT_EQ(StartingFlow(500, 300).window(), 500u);
}

TEST(TcpStartWindow, IsTwiceWhatWasInFlightWithoutAQueue) {
  StartingFlow flow;
  for (u32 flight = 10; flight <= 80; flight *= 2) {
    flow.Ack(flight, kLongBase + kLongBase / 4);
    EXPECT_EQ(flow.window(), 2 * flight);
  }
  for (int i = 0; i < 10; ++i) flow.Ack(flow.window(), kLongBase);
  EXPECT_EQ(flow.window(), 8000u);  // the law's
}

TEST(TcpStartWindow, IsNoLimitWhereTheLineRateIsConfigured) {
  StartingFlow flow;
  Configure(&flow.s, Config(kLongBase));
  EXPECT_EQ(flow.window(), 8000u);
}

TEST(TcpStartWindow, HasNoOverflow) {
  StartingFlow flow(std::numeric_limits<u32>::max());
  EXPECT_EQ(flow.s.model.line.window, DCC_TCP_CWND_MAX);
  EXPECT_EQ(StartingFlow(10, std::numeric_limits<u32>::max()).s.model.line.window,
            DCC_TCP_CWND_MAX);
  flow.Ack(std::numeric_limits<u32>::max(), kLongBase);
  EXPECT_EQ(flow.s.model.line.window, 2 * DCC_TCP_CWND_MAX);
  EXPECT_EQ(flow.window(), 8000u);
}

// ---- a probe of the path

// A flow of ten packets in flight whose configured base RTT is too short, through each ACK.
class ProbingFlow {
 public:
  ProbingFlow() { Run(60); }
  // That many ACKs.
  void Run(int acks) {
    for (; acks > 0 && !dcc_probe_is_on(&s.model.probe); --acks) Ack();
  }
  dcc_ack Ack() {
    dcc_tcp_view v = ::Ack();
    v.now_ns = now_ns_ += kBase / 10;
    v.now_us = v.now_ns / 1000;
    v.bytes_acked = bytes_ += kMss;
    v.rtt_us = static_cast<s32>(v.now_us - (v.now_ns - kBase) / 1000);
    return Sample(&s, v, v.now_ns - kBase);
  }
  u32 extra() const { return s.model.probe.extra; }
  dcc_tcp s = Socket(Config(kBase * 8 / 10));

 private:
  u64 now_ns_ = kNow, bytes_ = 0;
};

TEST(TcpProbe, ItsPacketsAreSpreadOverAnRtt) {
  ProbingFlow flow;
  ASSERT_EQ(flow.extra(), 1u);
  flow.Ack();
  ASSERT_EQ(flow.extra(), 2u);
  const dcc_control asked = Control(10, kLine);
  dcc_control control = asked;
  dcc_tcp_add_probe(&flow.s, &control);
  EXPECT_EQ(control.cwnd_q16, asked.cwnd_q16 + 2 * DCC_WINDOW_ONE);
  // 12 packets in 12 us.
  EXPECT_NEAR(static_cast<double>(control.pacing_bps), 12 * kWire * 8e9 / kBase, 1e6);
  // A slow flow: its own pace, and the probe's packets.
  control = Control(0.5, 1000000);
  dcc_tcp_add_probe(&flow.s, &control);
  EXPECT_EQ(control.cwnd_q16, 3 * DCC_WINDOW_ONE);
  EXPECT_NEAR(static_cast<double>(control.pacing_bps), 1e6 + 2 * kWire * 8e9 / kBase, 1e6);
}

TEST(TcpProbe, OfAFlowThatHasStoppedIsAllThatItSends) {
  ProbingFlow flow;
  dcc_control control = Control(100, kLine);
  control.probe_ns = 1000;
  EXPECT_FALSE(dcc_tcp_stops(&flow.s, &control));
  dcc_tcp_add_probe(&flow.s, &control);
  EXPECT_EQ(control.probe_ns, 0u);
  EXPECT_EQ(control.cwnd_q16, (1 + flow.extra()) * DCC_WINDOW_ONE);
}

TEST(TcpProbe, ChangesNothingWhereThereIsNone) {
  dcc_tcp s = Socket();
  const dcc_control asked = Control(0.5, kLine);
  dcc_control control = asked;
  dcc_tcp_add_probe(&s, &control);
  EXPECT_EQ(control.cwnd_q16, asked.cwnd_q16);
  EXPECT_EQ(control.pacing_bps, asked.pacing_bps);
  EXPECT_FALSE(dcc_tcp_stops(&s, &control));
  control.probe_ns = 1000;
  EXPECT_TRUE(dcc_tcp_stops(&s, &control));
  dcc_tcp_add_probe(&s, &control);
  EXPECT_EQ(control.probe_ns, 1000u);
}

TEST(TcpProbe, ItsQueueIsNoneForTheLaw) {
  ProbingFlow flow;
  // Packets that were sent before it.
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(flow.Ack().flags & DCC_ACK_NO_RTT);
  const dcc_ack ack = flow.Ack();
  EXPECT_TRUE(ack.flags & DCC_ACK_NO_RTT);
  EXPECT_EQ(ack.rtt_ns, kBase);
  EXPECT_EQ(ack.inflight_bytes, 10 * kWire);
}

TEST(TcpControl, SaysWhatQueueTheLawHolds) {
  dcc_tcp s = Socket();
  dcc_control control = Control(10, kLine);
  control.target_ns = 700;
  dcc_model_control(&s.model, &control);
  // A quarter of it is the tolerance for a base RTT.
  ProbingFlow flow;
  for (const u32 target_ns : {4 * 2400u, 4 * 100u}) {
    dcc_tcp t = Socket(Config(kBase - 200));
    control.target_ns = target_ns;
    dcc_model_control(&t.model, &control);
    flow.s = t;
    flow.Run(200);
    EXPECT_EQ(flow.extra() != 0, target_ns == 400);
  }
}

// ---- TSO bursts

constexpr u64 kWindow = u64{1000000} << DCC_WINDOW_SHIFT;

// Its line rate is unknown; the path has carried the window.
dcc_tcp UnknownLineSocket() {
  dcc_tcp s = Socket();
  s.model.path.base_rtt_ns = 160000;
  s.model.path.delay_floor_ns = 40000;
  s.model.line.window = 1000;
  return s;
}

TEST(TcpBurst, IsWhatThePaceSendsInASixteenthOfABaseRtt) {
  dcc_tcp s = Socket();
  s.model.path.base_rtt_ns = 160000;
  // 10 us at 1.448 GB/s are ten packets.
  EXPECT_EQ(dcc_tcp_burst(&s, 1448000000, kWindow, 44), 10u);
  EXPECT_EQ(dcc_tcp_burst(&s, 1448000000, kWindow, 8), 8u);
  EXPECT_EQ(dcc_tcp_burst(&s, 1, kWindow, 8), 1u);
  EXPECT_EQ(dcc_tcp_burst(&s, 200000000000, kWindow, 65535), 1381u);
}

TEST(TcpBurst, IsAPartOfTheWindowWhereTheLineRateIsUnknown) {
  dcc_tcp s = UnknownLineSocket();
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 12 * DCC_WINDOW_ONE, 44), 3u);
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 7 * DCC_WINDOW_ONE, 44), 1u);
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 1, 44), 1u);
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 400 * DCC_WINDOW_ONE, 44), 44u);
  s.model.line.window = 10;  // as far as the path has carried it
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 12 * DCC_WINDOW_ONE, 44), 2u);
}

TEST(TcpBurst, HasNoOverflow) {
  dcc_tcp s = Socket();
  s.model.path.base_rtt_ns = DCC_PATH_RTT_MAX_NS;
  EXPECT_EQ(dcc_tcp_burst(&s, 200000000000, kWindow, 65535), 65535u);
  s.model.path.delay_floor_ns = DCC_LINE_FLOOR_BASES * DCC_PATH_RTT_MAX_NS;
  s.model.line.window = DCC_TCP_CWND_MAX;
  EXPECT_EQ(dcc_tcp_burst(&s, 200000000000, std::numeric_limits<u64>::max(), 65535), 65535u);
}

// ---- EDT holds

TEST(TcpHold, IsTheRestOfTheRttThatASmallWindowLeaves) {
  dcc_tcp s = Socket();
  EXPECT_EQ(dcc_tcp_hold_ns(&s, DCC_WINDOW_ONE / 2), 20000u);
  EXPECT_EQ(dcc_tcp_hold_ns(&s, DCC_WINDOW_ONE / 4), 60000u);
  EXPECT_EQ(dcc_tcp_hold_ns(&s, DCC_WINDOW_ONE - 1), 0u);
  EXPECT_EQ(dcc_tcp_hold_ns(&s, 1), DCC_TCP_HOLD_MAX_NS);
  EXPECT_EQ(dcc_tcp_hold_ns(&s, 0), DCC_TCP_HOLD_MAX_NS);  // never asked for
}

TEST(TcpHold, ShrinksAsThePaceGrows) {
  EXPECT_EQ(dcc_tcp_shortened_hold_ns(90000, 1000, 3000), 30000u);
  EXPECT_EQ(dcc_tcp_shortened_hold_ns(1ULL << 40, 1ULL << 37, 1ULL << 38), 1ULL << 39);
  EXPECT_EQ(dcc_tcp_shortened_hold_ns(0, 1, 2), 0u);
}

// ---- anything

// Whatever the socket says, a sample is consistent and a control can be applied.
TEST(TcpProperty, AnySocketGivesASoundSampleAndWindow) {
  std::mt19937_64 random(1);
  const auto any = [&random](u64 below) {
    // Small values, large ones, and their neighbourhoods.
    const u64 value = random() >> (random() % 64);
    return below ? value % below : value;
  };
  for (int flow = 0; flow < 2000; ++flow) {
    dcc_tcp s = {};
    dcc_tcp_view v = {};
    v.packets_out = static_cast<u32>(any(100));
    dcc_tcp_begin(&s, &v, static_cast<u32>(any(0)), static_cast<u32>(any(0)), any(0),
                  static_cast<u32>(any(0)));
    s.sampler.times_retrans = any(2) != 0;
    dcc_path_config config = {};
    config.line_rate_bps = DCC_PATH_RATE_MIN_BPS + any(DCC_PATH_RATE_MAX_BPS);
    config.line_configured = any(2) != 0;
    const u32 mss = static_cast<u32>(any(65536)), header = static_cast<u32>(any(300));
    dcc_tcp_configure(&s, mss, header, &config);
    u64 now = 1000000000 + any(1ULL << 50);
    for (int i = 0; i < 50; ++i) {
      now += any(1000000000);
      v.now_ns = now;
      v.now_us = now / 1000;
      v.bytes_acked += any(1 << 20);
      v.snd_nxt = static_cast<u32>(any(0));
      v.delivered = static_cast<u32>(any(0));
      v.prior_delivered = static_cast<u32>(any(0));
      v.packets_out = static_cast<u32>(any(100));
      v.sacked_out = static_cast<u32>(any(4));
      v.total_retrans += any(8) == 0;
      v.data_segs_in += any(8) == 0;
      v.ca_state = static_cast<u32>(any(5));
      v.all_sent = any(2) != 0;
      v.rwnd_limited = any(2) != 0;
      v.sampled = any(8) != 0;
      v.is_retrans = any(4) == 0;
      v.is_app_limited = any(2) != 0;
      v.is_ack_delayed = any(4) == 0;
      v.rtt_us = static_cast<s32>(std::min<u64>(any(1ULL << 31), v.now_us)) - (any(8) == 0);
      v.acked_sacked = static_cast<u32>(any(0));
      v.last_end_seq = static_cast<u32>(any(0));
      if (any(8) == 0) {
        config.base_rtt_ns = any(2) ? 0 : static_cast<u32>(any(DCC_PATH_RTT_MAX_NS));
        config.noise_ns = any(2) ? 0 : static_cast<u32>(any(DCC_PATH_RTT_MAX_NS));
        config.moved = any(2) != 0;
        dcc_tcp_configure(&s, mss, header, &config);
      }

      dcc_ack ack = {};
      const u64 noted_ns = any(4) ? now - any(std::min<u64>(now, 1000000)) : 0;
      const bool delivered = dcc_tcp_sample(&s, &v, noted_ns, &ack);
      ASSERT_EQ(delivered, v.acked_sacked && v.sampled);
      ASSERT_GT(s.sampler.rtt_ns, 0u);
      ASSERT_GT(s.model.path.base_rtt_ns, 0u);
      ASSERT_LE(s.model.path.base_rtt_ns, DCC_PATH_RTT_MAX_NS);
      if (delivered) {
        ASSERT_LE(ack.send_ns, now);
        ASSERT_EQ(ack.rtt_ns, std::min<u64>(now - ack.send_ns, 0xffffffff));
        ASSERT_GE(ack.inflight_bytes, s.model.path.wire_bytes);
        if (ack.flags & DCC_ACK_NO_RTT && !dcc_drain_disturbs(&s.model.drain, &ack)) {
          ASSERT_EQ(ack.send_ns, now);
        }
      }

      dcc_control c = {};
      c.cwnd_q16 = 1 + any(1ULL << 62);
      c.pacing_bps =
          any(2) ? s.model.path.line_rate_bps : 1000 + any(2 * s.model.path.line_rate_bps);
      dcc_tcp_add_probe(&s, &c);
      const u32 clamp = 2 + static_cast<u32>(any(1U << 31));
      const u32 burst = 1 + static_cast<u32>(any(44));
      const u32 cwnd = dcc_tcp_window(&s, &c, v.delivered, burst, clamp);
      ASSERT_GE(cwnd, 1u);
      ASSERT_LE(cwnd, std::min(clamp, DCC_TCP_CWND_MAX));
      const u64 pace = dcc_tcp_pace(&s, &c);
      ASSERT_GE(pace, dcc_tcp_least_pace(&s));
      ASSERT_LE(pace, std::max<u64>(c.pacing_bps / 8, dcc_tcp_least_pace(&s)));
      const u32 bursts = dcc_tcp_burst(&s, pace, c.cwnd_q16, burst);
      ASSERT_GE(bursts, 1u);
      ASSERT_LE(bursts, burst);
      if (c.cwnd_q16 < DCC_WINDOW_ONE) {
        ASSERT_LE(dcc_tcp_hold_ns(&s, c.cwnd_q16), DCC_TCP_HOLD_MAX_NS);
      }
    }
  }
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
//
// The drain: next to nothing in flight for a round trip, and what the RTT says of it.
#include "path/drain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "path_flow.h"

namespace {

constexpr u32 kTen = 10;  // packets in flight

bool Drains(PathFlow* flow) { return dcc_drain_is_on(&flow->model()->drain); }
u64 Until(PathFlow* flow) { return flow->model()->drain.until_ns; }

dcc_ack AckOf(PathFlow* flow, u32 rtt_ns = kBase, u32 flight = kTen, u32 flags = 0) {
  return flow->Ack(rtt_ns, rtt_ns / kTen, flight, false, flags);
}

// Time until a drain begins, in base RTTs; -1: none does in `rtts`.
double ToDrain(PathFlow* flow, int rtts = 5000, u32 rtt_ns = kBase, u32 flight = kTen) {
  const u64 from_ns = flow->now_ns();
  while (Drains(flow)) AckOf(flow, rtt_ns, flight);
  for (int i = 0; i < rtts * 10; ++i) {
    AckOf(flow, rtt_ns, flight);
    if (Drains(flow)) return static_cast<double>(flow->now_ns() - from_ns) / flow->base_ns();
  }
  return -1;
}

TEST(PathDrain, BeginsAfterThirtyTwoToSixtyFourBaseRttsAndLastsARoundTrip) {
  PathFlow flow;
  const double waited = ToDrain(&flow);
  EXPECT_GE(waited, 32);
  EXPECT_LE(waited, 65);
  EXPECT_EQ(Until(&flow), flow.now_ns() + kBase);
  const u64 began_ns = flow.now_ns();
  while (Drains(&flow)) AckOf(&flow);
  EXPECT_EQ(flow.now_ns() - began_ns, kBase);
}

TEST(PathDrain, WaitsFourTimesAsLongEachTimeUpTo2048BaseRtts) {
  PathFlow flow;
  ToDrain(&flow);
  for (const int least : {128, 512, 2048, 2048, 2048}) {
    const double waited = ToDrain(&flow);
    EXPECT_GE(waited, least);
    EXPECT_LE(waited, 2 * least + 2);
  }
}

TEST(PathDrain, WaitsAreNotAllAlike) {
  double least = 5000, most = 0;
  for (int start = 0; start < 20; ++start) {
    PathFlow flow;
    flow.Ack(kBase, 1000 + start * 256);
    const double waited = ToDrain(&flow);
    least = std::min(least, waited);
    most = std::max(most, waited);
  }
  EXPECT_GT(most - least, 10);
}

TEST(PathDrain, FindsThePathOfAFlowThatWasMadeInAQueue) {
  constexpr u32 kQueue = 15000;
  PathFlow flow;
  ASSERT_GT(ToDrain(&flow, 5000, kBase + kQueue), 0);
  EXPECT_EQ(flow.base_ns(), kBase + kQueue);
  AckOf(&flow);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  // More of it may be found soon.
  const double waited = ToDrain(&flow, 5000, kBase + kQueue);
  EXPECT_GE(waited, 32);
  EXPECT_LE(waited, 67);
}

TEST(PathDrain, AShorterRttMakesTheNextOneSoonAndNotLater) {
  PathFlow flow;
  for (int i = 0; i < 3; ++i) ToDrain(&flow);
  AckOf(&flow, kBase - 1);
  EXPECT_LE(ToDrain(&flow), 66);
  // Each RTT shorter than the one before: it comes all the same.
  PathFlow falls;
  u32 rtt_ns = 2 * kBase;
  int acks = 0;
  for (; !Drains(&falls) && acks < 10000; ++acks) AckOf(&falls, --rtt_ns);
  EXPECT_LE(acks, 660);
}

TEST(PathDrain, LastsTwoBaseRttsAtTheMost) {
  PathFlow flow;
  AckOf(&flow);
  ASSERT_GT(ToDrain(&flow, 5000, 10 * kBase), 0);
  EXPECT_EQ(Until(&flow), flow.now_ns() + 2 * flow.base_ns());
}

TEST(PathDrain, IsOfAMeasuredBaseRttOnAConfiguredLineAlone) {
  Known configured;
  configured.base_rtt_ns = kBase;
  PathFlow known(configured);
  EXPECT_EQ(ToDrain(&known), -1);
  Known device;
  device.line_configured = false;
  PathFlow unknown(device);
  EXPECT_EQ(ToDrain(&unknown), -1);
}

TEST(PathDrain, IsOfAFlowWithMoreThanFourPacketsInFlightAndDataToSend) {
  PathFlow four;
  EXPECT_EQ(ToDrain(&four, 5000, kBase, 4), -1);
  PathFlow five;
  EXPECT_GT(ToDrain(&five, 5000, kBase, 5), 0);
  PathFlow limited;
  for (int i = 0; i < 50000; ++i) {
    AckOf(&limited, kBase, kTen, DCC_ACK_APP_LIMITED);
    ASSERT_FALSE(Drains(&limited));
  }
}

TEST(PathDrain, LeavesFourPacketsOrHalfOfThoseOfALawWithLevels) {
  PathFlow flow;
  ASSERT_GT(ToDrain(&flow, 5000, kBase, 21), 0);
  EXPECT_EQ(flow.model()->drain.window, 4u);
  PathFlow levels;
  levels.Control(10 * DCC_WINDOW_ONE, true);
  ASSERT_GT(ToDrain(&levels, 5000, kBase, 21), 0);
  EXPECT_EQ(levels.model()->drain.window, 10u);
}

TEST(PathDrain, EndsWhileTheApplicationHasNothingToSend) {
  PathFlow flow;
  ASSERT_GT(ToDrain(&flow), 0);
  for (int i = 0; i < 10; ++i) AckOf(&flow, kBase, kTen, DCC_ACK_APP_LIMITED);
  EXPECT_FALSE(Drains(&flow));
}

TEST(PathDrain, IsNoNewsOfTheQueueForTheLawAndNoNoise) {
  PathFlow flow;
  ASSERT_GT(ToDrain(&flow, 5000, 2 * kBase), 0);
  ASSERT_TRUE(flow.round_is_open());
  // Up to the last packet that was sent before its end, whose ACK comes a round trip later.
  const u64 until_ns = Until(&flow);
  while (flow.now_ns() + 2 * kBase / kTen <= until_ns + kBase) {
    const dcc_ack ack = AckOf(&flow);
    EXPECT_TRUE(ack.flags & DCC_ACK_NO_RTT) << ack.send_ns - until_ns;
    EXPECT_FALSE(flow.round_is_open());
  }
  while (flow.now_ns() <= until_ns + kBase) AckOf(&flow);
  EXPECT_FALSE(AckOf(&flow).flags & DCC_ACK_NO_RTT);
  EXPECT_TRUE(flow.round_is_open());
  EXPECT_EQ(flow.noise_ns(), 0u);
}

TEST(PathDrain, AnotherPathOrLineRateEndsAndForgetsIt) {
  for (const bool line : {false, true}) {
    PathFlow flow;
    for (int i = 0; i < 3; ++i) ToDrain(&flow);
    ASSERT_TRUE(Drains(&flow));
    Known known;
    if (line) known.line_rate_bps = kLine / 2;
    flow.Configure(known, !line);
    EXPECT_FALSE(Drains(&flow));
    EXPECT_FALSE(AckOf(&flow).flags & DCC_ACK_NO_RTT);
    EXPECT_LE(ToDrain(&flow), 65);
  }
}

}  // namespace

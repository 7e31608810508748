// SPDX-License-Identifier: Apache-2.0
//
// The base RTT: where it comes from, and when it is in doubt.
#include "path/base_rtt.h"

#include <gtest/gtest.h>

#include "path_flow.h"

namespace {

constexpr u32 kHandshake = kBase - 350;  // three links
constexpr u32 kShort = kBase * 8 / 10;   // as configured, where the path has 12 us

Known WithHandshake(u32 handshake_ns = kHandshake, u32 error_ns = 0) {
  Known known;
  known.handshake_ns = handshake_ns;
  known.handshake_error_ns = error_ns;
  return known;
}

Known WithBase(u32 base_rtt_ns) {
  Known known;
  known.base_rtt_ns = base_rtt_ns;
  return known;
}

// ---- sources

TEST(PathBaseRtt, IsUnknownUntilAPacketWasMeasured) {
  PathFlow flow;
  EXPECT_EQ(flow.source(), DCC_BASE_UNKNOWN);
  EXPECT_EQ(flow.base_ns(), 20000u);
  flow.Feed(24000, 1, 1000);  // longer, but of a full packet
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  EXPECT_EQ(flow.base_ns(), 24000u);
}

TEST(PathBaseRtt, IsTheLeastRttOfFullPackets) {
  PathFlow flow;
  flow.Feed(18000, 1, 1000);
  flow.Feed(17000, 1, 1000);
  flow.Feed(19000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 17000u);
}

TEST(PathBaseRtt, OfAllPathsIsWithinAMicrosecondAndASecond) {
  PathFlow flow;
  flow.Feed(0xffffffff, 1, 1000);
  EXPECT_EQ(flow.base_ns(), DCC_PATH_RTT_MAX_NS);
  flow.Feed(0, 1, 1000);
  EXPECT_EQ(flow.base_ns(), DCC_PATH_RTT_MIN_NS);
  PathFlow guessed;
  dcc_model_guess(guessed.model(), 1);
  EXPECT_EQ(guessed.base_ns(), DCC_PATH_RTT_MIN_NS);
  dcc_base_guess(&guessed.model()->base, ~0ull);
  EXPECT_EQ(guessed.model()->base.ns, DCC_PATH_RTT_MAX_NS);
}

TEST(PathBaseRtt, OfSmallPacketsServesUntilAFullOneWasMeasured) {
  PathFlow flow;
  flow.Ack(14000, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), 14000u);
  EXPECT_EQ(flow.source(), DCC_BASE_SMALL);
  flow.Ack(11000, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), 11000u);
  flow.Ack(13000, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), 11000u);
  flow.Ack(12500, 1000);  // longer, but of a full packet
  EXPECT_EQ(flow.base_ns(), 12500u);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  flow.Ack(10000, 1000, 1, true);  // faster only by what it lacks
  EXPECT_EQ(flow.base_ns(), 12500u);
  // Another device: small packets serve again.
  flow.Configure(flow.known(), true);
  flow.Ack(30000, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), 30000u);
}

TEST(PathBaseRtt, AGuessServesUntilAFullPacketWasMeasured) {
  PathFlow flow;
  dcc_model_guess(flow.model(), 11000);
  EXPECT_EQ(flow.base_ns(), 11000u);
  flow.Ack(12000, 1000, 1, true);
  dcc_model_guess(flow.model(), 11500);
  EXPECT_EQ(flow.base_ns(), 11500u);
  flow.Feed(12000, 1, 1000);
  dcc_model_guess(flow.model(), 11000);
  EXPECT_EQ(flow.base_ns(), 12000u);
}

TEST(PathBaseRtt, AsConfiguredIsNotMeasured) {
  PathFlow flow(WithBase(kBase));
  EXPECT_EQ(flow.source(), DCC_BASE_CONFIGURED);
  flow.Feed(5000, 1, 1000);
  flow.Ack(5000, 1000, 1, true);
  dcc_model_guess(flow.model(), 5000);
  EXPECT_EQ(flow.base_ns(), kBase);
  // Taken back: the next sample replaces it, even a longer one.
  flow.Configure(Known());
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_UNKNOWN);
  flow.Feed(14000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 14000u);
}

TEST(PathBaseRtt, ANewDeviceIsMeasuredAnewAndARenewedRouteIsNot) {
  PathFlow flow;
  flow.Feed(10000, 1, 1000);
  flow.Configure(flow.known());
  flow.Feed(30000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 10000u);
  flow.Configure(flow.known(), true);
  EXPECT_EQ(flow.base_ns(), 10000u) << "the one in use stays until the first sample";
  flow.Feed(30000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 30000u);
}

// ---- the handshake's RTT

TEST(PathHandshake, IsTheBaseRttOfAFlowThatStartsInAQueue) {
  PathFlow flow(WithHandshake());
  flow.Feed(kBase + 30000, 1, 1000);
  // Two full packets' time longer.
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
  EXPECT_EQ(flow.source(), DCC_BASE_HANDSHAKE);
  // The flows' own queue, at their target.
  flow.SetTarget(8000);
  flow.Feed(kBase + 6000, 1000, 1000, kBase + 6200);
  EXPECT_EQ(flow.rtt_min_ns(), kHandshake + 2 * kPacket);
}

TEST(PathHandshake, IsTheSameBaseRttForFlowsThatSeeTheQueueBegin) {
  PathFlow flow(WithHandshake());
  for (u32 queue = 0; queue < 20000; queue += kPacket) flow.Feed(kBase + queue, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
}

TEST(PathHandshake, GivesWayToAShorterRttOfData) {
  PathFlow flow(WithHandshake(40000));
  flow.Feed(50000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 40000 + 2 * kPacket);
  flow.Feed(kBase, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  flow.Feed(50000, 100, 1000);
  EXPECT_EQ(flow.rtt_min_ns(), kBase);
}

TEST(PathHandshake, CountsForNothingWhereItIsLongerThanTheFirstFullPackets) {
  PathFlow flow(WithHandshake(40000));
  flow.Feed(40000 + 2 * kPacket, 1, 1000);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  PathFlow late(WithHandshake());
  late.Feed(kBase - 1000, 1, 1000);
  late.Feed(kBase + 5000, 1, 1000);
  EXPECT_EQ(late.base_ns(), kBase - 1000);
  EXPECT_EQ(late.source(), DCC_BASE_DATA);
}

TEST(PathHandshake, IsNotThatOfSmallPackets) {
  PathFlow flow(WithHandshake());
  flow.Ack(kBase + 5000, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), kBase + 5000);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
}

TEST(PathHandshake, CountsForNothingWhereTheBaseRttIsConfiguredOrTheDeviceIsAnother) {
  PathFlow configured(WithHandshake());
  configured.Configure(WithBase(20000));
  configured.Feed(kBase + 10000, 100, 1000);
  EXPECT_EQ(configured.base_ns(), 20000u);
  PathFlow moved(WithHandshake());
  moved.Configure(moved.known(), true);
  moved.Feed(kBase + 30000, 1, 1000);
  EXPECT_EQ(moved.base_ns(), kBase + 30000);
}

TEST(PathHandshake, CountsForNothingWhereTheLineRateIsUnknown) {
  Known known = WithHandshake();
  known.line_configured = false;
  PathFlow flow(known);
  flow.Feed(kBase + 30000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase + 30000);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
}

TEST(PathHandshake, OfAClockThatStoodStillIsThatOfTheShortestPath) {
  PathFlow flow(WithHandshake(1));
  flow.Feed(1, 100, 1000);
  EXPECT_EQ(flow.base_ns(), DCC_PATH_RTT_MIN_NS);
}

// ---- doubt

// Does a flow that has seen `first_ns` doubt its base RTT in RTTs of rtt_ns?
bool Doubts(PathFlow flow, u32 first_ns, u32 rtt_ns, int rtts = 60) {
  if (first_ns) flow.Run(1, first_ns);
  const int before = flow.probes();
  flow.Run(rtts, rtt_ns, Room::kNone);
  return flow.probes() > before;
}

TEST(PathDoubt, IsOfABaseRttThatNoRttHasBeenAsShortAs) {
  constexpr u32 kTolerance = kShort / 32;
  EXPECT_FALSE(Doubts(PathFlow(WithBase(kShort)), 0, kShort));
  EXPECT_FALSE(Doubts(PathFlow(WithBase(kShort)), 0, kShort + kTolerance));
  EXPECT_TRUE(Doubts(PathFlow(WithBase(kShort)), 0, kShort + kTolerance + 1));
}

TEST(PathDoubt, IsNoneWhereTheBaseRttSetsTheLawNoTarget) {
  PathFlow flow(WithBase(kShort));
  flow.SetTarget(0);
  EXPECT_FALSE(Doubts(flow, 0, kBase, 500));
}

TEST(PathDoubt, IsNoneOfABaseRttThatWasSeenWhileRttsAreBelowTheLawsTarget) {
  for (const u32 seen : {kShort, kShort + kShort / 32})
    EXPECT_FALSE(Doubts(PathFlow(WithBase(kShort)), seen, kBase, 500)) << seen;
  // Also where it is measured, and the path becomes longer.
  EXPECT_FALSE(Doubts(PathFlow(), kShort, kBase, 500));
}

TEST(PathDoubt, IsTolerantOfAQuarterOfTheLawsTarget) {
  PathFlow flow(WithBase(kShort));
  flow.SetTarget(4 * 240);
  EXPECT_FALSE(Doubts(flow, 0, kShort + 240));
  EXPECT_TRUE(Doubts(flow, 0, kShort + 241));
  // A 32nd of the base RTT at most.
  flow.SetTarget(4 * 1000);
  EXPECT_FALSE(Doubts(flow, 0, kShort + kShort / 32));
  EXPECT_TRUE(Doubts(flow, 0, kShort + kShort / 32 + 1));
}

TEST(PathDoubt, IsOfOneThatWasSeenOnceNoRttIsAsShortAsTheLawsTargetForLong) {
  PathFlow flow(WithBase(kShort));
  flow.SetTarget(1000);
  EXPECT_FALSE(Doubts(flow, kShort, kShort + 1000, 500));
  EXPECT_TRUE(Doubts(flow, kShort, kShort + 1001));
  // For 32 base RTTs.
  flow.Run(1, kShort);
  flow.Run(20, kBase, Room::kNone);
  EXPECT_EQ(flow.probes(), 0) << "25 base RTTs";
  flow.Run(3, kBase, Room::kNone);
  EXPECT_EQ(flow.probes(), 0) << "steady RTTs count from then on";
  flow.Run(8, kBase, Room::kNone);
  EXPECT_EQ(flow.probes(), 1);
}

TEST(PathDoubt, BeginsAnewWithEachRttThatIsShort) {
  PathFlow flow(WithBase(kShort));
  flow.SetTarget(1000);
  for (int i = 0; i < 50; ++i) {
    flow.Run(1, kShort + 250);
    flow.Run(20, kBase, Room::kNone);
  }
  EXPECT_EQ(flow.probes(), 0);
}

TEST(PathDoubt, IsOfAMeasuredBaseRttToo) {
  PathFlow flow;
  flow.SetTarget(1000);
  flow.Run(2, kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  flow.Run(100, 2 * kBase);
  EXPECT_EQ(flow.rtt_min_ns(), 2 * kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
}

TEST(PathDoubt, IsOfTheHandshakesRtt) {
  PathFlow flow(WithHandshake(kBase - 8 * kPacket));  // six links, and more
  flow.Run(1, kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_HANDSHAKE);
  flow.Run(30, kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  EXPECT_EQ(flow.base_ns(), kBase);
  // Another one's queue does not refute it.
  PathFlow queue(WithHandshake());
  queue.Run(500, kBase + 6000, Room::kNone);
  EXPECT_EQ(queue.base_ns(), kHandshake + 2 * kPacket);
  EXPECT_GT(queue.probes(), 0);
}

TEST(PathDoubt, HasTheNoiseOfTheHostsAsConfigured) {
  Known known = WithBase(kShort);
  known.noise_ns = 2000;
  EXPECT_FALSE(Doubts(PathFlow(known), 0, kShort + 2000 + kShort / 32));
  EXPECT_TRUE(Doubts(PathFlow(known), 0, kShort + 2000 + kShort / 32 + 1));
  PathFlow flow(known);
  flow.SetTarget(1000);
  EXPECT_FALSE(Doubts(flow, kShort, kShort + 3000, 500));
  EXPECT_TRUE(Doubts(flow, kShort, kShort + 3001));
}

TEST(PathDoubt, IsNoneWhereTheLineRateIsUnknown) {
  Known known = WithBase(kShort);
  known.line_configured = false;
  EXPECT_FALSE(Doubts(PathFlow(known), 0, kBase, 500));
  known.base_rtt_ns = 0;
  PathFlow flow(known);
  flow.SetTarget(1000);
  EXPECT_FALSE(Doubts(flow, kShort, kBase, 500));
}

// ---- what a probe has found

TEST(PathProbed, StandsInPlaceOfAConfiguredOneUntilAnRttIsAsShortAgain) {
  PathFlow flow(WithBase(kShort));
  flow.Run(30);
  ASSERT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_PROBED);
  flow.Run(100, kShort + kShort / 32 + 1, Room::kNone);
  EXPECT_EQ(flow.source(), DCC_BASE_PROBED);
  EXPECT_EQ(flow.base_ns(), kBase) << "a configured one is not measured";
  flow.Run(1, kShort + kShort / 32);
  EXPECT_EQ(flow.base_ns(), kShort);
  EXPECT_EQ(flow.source(), DCC_BASE_CONFIGURED);
  // It has been seen.
  flow.Run(500);
  EXPECT_EQ(flow.base_ns(), kShort);
  EXPECT_EQ(flow.probes(), 4);
}

TEST(PathProbed, GivesWayToAShortRttWithTheHostsNoise) {
  Known known = WithBase(kShort);
  known.noise_ns = 1000;
  PathFlow flow(known);
  flow.Run(40, 2 * kBase);
  ASSERT_EQ(flow.source(), DCC_BASE_PROBED);
  EXPECT_EQ(flow.base_ns(), 2 * kBase + 1000);
  flow.Run(1, kShort + 1000 + kShort / 32 + 1);
  EXPECT_EQ(flow.source(), DCC_BASE_PROBED);
  flow.Run(1, kShort + 1000 + kShort / 32);
  EXPECT_EQ(flow.base_ns(), kShort + 1000);
}

TEST(PathProbed, AnotherOneOrAnotherPathBeginsAnew) {
  PathFlow flow(WithBase(kShort));
  flow.Run(30);
  ASSERT_EQ(flow.base_ns(), kBase);
  flow.Configure(flow.known());  // looked up again
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Configure(flow.known(), true);
  EXPECT_EQ(flow.base_ns(), kShort);
  EXPECT_EQ(flow.source(), DCC_BASE_CONFIGURED);
  flow.Run(30);
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Configure(WithBase(kShort + 100));
  EXPECT_EQ(flow.base_ns(), kShort + 100);
  flow.RunToProbe();
  ASSERT_TRUE(flow.probing());
  flow.Configure(Known());
  EXPECT_FALSE(flow.probing());
}

TEST(PathProbed, MayItselfBeInDoubt) {
  PathFlow flow(WithBase(kShort));
  flow.SetTarget(1000);
  flow.Run(30);
  ASSERT_EQ(flow.base_ns(), kBase);
  flow.Run(100, 2 * kBase);
  EXPECT_EQ(flow.base_ns(), 2 * kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_PROBED);
}

}  // namespace

TEST(PathHandshake, GoesWhereTheLineRateBecomesUnknown) {
  Known known;
  known.handshake_ns = kBase / 2;
  PathFlow flow(known);
  flow.Feed(kBase, 2, 1000);
  known.line_configured = false;
  flow.Configure(known);
  flow.Run(2000, kBase);
  EXPECT_EQ(flow.base_ns() - flow.noise_ns(), kBase);
}

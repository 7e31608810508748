// SPDX-License-Identifier: Apache-2.0
//
// The probe: some packets more in flight, and what the RTT says of them.
#include "path/probe.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "path_flow.h"

namespace {

constexpr u32 kShort = kBase * 8 / 10;  // as configured, where the path has 12 us

// A flow whose configured base RTT is too short; it has ten packets in flight.
PathFlow Doubting(u32 base_rtt_ns = kShort) {
  Known known;
  known.base_rtt_ns = base_rtt_ns;
  return PathFlow(known);
}

// One with a probe in progress.
PathFlow Probing() {
  PathFlow flow = Doubting();
  flow.RunToProbe();
  EXPECT_TRUE(flow.probing());
  return flow;
}

// ---- what it says

TEST(PathProbe, FindsThePathWhereMorePacketsMakeNoQueue) {
  PathFlow flow = Doubting();
  flow.Run(3);
  EXPECT_EQ(flow.base_ns(), kShort);
  flow.Run(20);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_FALSE(flow.probing());
}

TEST(PathProbe, HasToPassFourTimes) {
  PathFlow flow = Doubting();
  while (flow.probes() < 4) {
    flow.Run(1);
    EXPECT_EQ(flow.base_ns(), kShort);
  }
  flow.Run(4);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.probes(), 4);
  // And no more of them.
  flow.Run(500);
  EXPECT_EQ(flow.probes(), 4);
}

TEST(PathProbe, PassesHaveToBeInARow) {
  PathFlow flow = Doubting();
  for (int i = 0; i < 10; ++i) {
    // Three passes, and then a queue.
    for (const int last = flow.probes() + 3; flow.probes() < last;) flow.Run(1);
    for (const int last = flow.probes() + 1; flow.probes() < last;) flow.Run(1);
    flow.Run(6, kBase, Room::kNone);
    ASSERT_FALSE(flow.probing()) << i;
    ASSERT_EQ(flow.base_ns(), kShort) << i;
  }
}

TEST(PathProbe, AddsTwoPacketsAndFourOnceAProbeHasPassed) {
  PathFlow flow = Doubting();
  flow.RunToProbe();
  flow.Run(2);
  EXPECT_EQ(flow.most(), 2u);
  flow.Run(500);
  EXPECT_EQ(flow.most(), 4u);
  PathFlow queue = Doubting();
  queue.Run(3000, kBase, Room::kNone);
  EXPECT_EQ(queue.most(), 2u);
}

TEST(PathProbe, AddsAnEighthOfWhatTheLineHoldsIfThatIsLessThanFour) {
  const auto most = [](u32 packets) {
    const u32 base_rtt_ns = packets * kPacket;
    PathFlow flow = Doubting(base_rtt_ns);
    const u32 path_ns = base_rtt_ns * 5 / 4;
    for (int i = 0; i < 300 && flow.base_ns() == base_rtt_ns; ++i) flow.Run(1, path_ns);
    EXPECT_EQ(flow.base_ns(), path_ns) << packets;
    return flow.most();
  };
  EXPECT_EQ(most(12), 2u) << "as few as the first probe";
  EXPECT_EQ(most(25), 3u);
  EXPECT_EQ(most(40), 4u);
}

TEST(PathProbe, AddsThemWithinARoundTripOfAnyFlow) {
  for (const u32 flight : {1u, 2u, 3u, 4u, 5u, 10u, 100u}) {
    PathFlow flow = Doubting();
    for (int i = 0; i < 1000 && !flow.probing(); ++i) flow.Ack(kBase, kBase / flight, flight);
    ASSERT_TRUE(flow.probing()) << flight;
    const u64 begin_ns = flow.now_ns();
    u32 acks = 0;
    for (; flow.most() < 2; ++acks) flow.Ack(kBase, kBase / flight, flight);
    EXPECT_LE(acks, flight) << flight;
    EXPECT_LE(flow.now_ns() - begin_ns, kBase) << flight;
  }
}

TEST(PathProbe, LeavesTheBaseRttWhereItMakesAQueue) {
  PathFlow flow = Doubting();
  flow.Run(3000, kBase, Room::kNone);
  EXPECT_EQ(flow.base_ns(), kShort);
  // A wait of 8 to 16 RTTs, the probe and the rest of a look.
  EXPECT_GE(flow.probes(), 3000 / 21);
  EXPECT_LE(flow.probes(), 3000 / 11);
}

TEST(PathProbe, AQueueIsMoreThanHalfOfItsPacketsTime) {
  // An RTT that is longer while the probe's packets are in flight.
  const auto base_ns = [](u32 longer_ns) {
    PathFlow flow = Doubting();
    for (int i = 0; i < 300; ++i) {
      const bool on = flow.probing();
      flow.Ack(on ? kBase + longer_ns : kBase, kBase / 10, on ? 14 : 10);
    }
    return flow.base_ns();
  };
  EXPECT_EQ(base_ns(kPacket), kBase);
  EXPECT_EQ(base_ns(kPacket + 1), kShort) << "the first probe is of two packets";
}

// ---- how often

TEST(PathProbe, AfterAQueueItWaitsFor8To16Rtts) {
  PathFlow flow = Doubting();
  std::vector<double> waits;
  for (u64 end_ns = 0; waits.size() < 12;) {
    const bool was_on = flow.probing();
    flow.Step(kBase, Room::kNone);
    if (was_on && !flow.probing()) end_ns = flow.now_ns();
    if (!was_on && flow.probing() && end_ns)
      waits.push_back(static_cast<double>(flow.now_ns() - end_ns) / kBase);
  }
  // The rest of a look follows.
  for (const double wait : waits) {
    EXPECT_GE(wait, 8);
    EXPECT_LE(wait, 16 + 2);
  }
  EXPECT_EQ(flow.base_ns(), kShort);
}

TEST(PathProbe, TheWaitIsOneOfManyForFlowsThatProbeAtTheSameTime) {
  std::set<u64> begins;
  for (u32 offset = 0; offset < 16 * 256; offset += 256) {
    PathFlow flow = Doubting();
    flow.Ack(kBase, offset, 10);
    for (int probes = 0; probes < 4; ++probes) {
      flow.RunToProbe(kBase, Room::kNone);
      flow.Run(3, kBase, Room::kNone);
    }
    begins.insert((flow.now_ns() - kNow) / kBase);
  }
  EXPECT_GE(begins.size(), 6u);
}

TEST(PathProbe, OfAnotherPathBeginsAtOnce) {
  PathFlow flow = Doubting();
  flow.Run(3000, kBase, Room::kNone);
  const int before = flow.probes();
  flow.Configure(flow.known(), true);
  flow.Run(6, kBase, Room::kNone);
  EXPECT_EQ(flow.probes(), before + 1);
}

// ---- where there is none

TEST(PathProbe, NeedsSteadyRtts) {
  PathFlow flow = Doubting();
  for (int i = 0; i < 500; ++i) flow.Run(1, kBase + static_cast<u32>(i) % 4 * 1000);
  EXPECT_EQ(flow.probes(), 0);
  EXPECT_EQ(flow.base_ns(), kShort);
  // Within some packets' time they are.
  PathFlow steady = Doubting();
  for (int i = 0; i < 50; ++i) steady.Run(1, kBase + static_cast<u32>(i) % 2 * kPacket);
  EXPECT_GE(steady.probes(), 3);
}

TEST(PathProbe, TheBandIsFourPacketsASixteenthOrOnePacket) {
  EXPECT_EQ(dcc_probe_band_ns(kBase, kPacket), 4 * kPacket);
  EXPECT_EQ(dcc_probe_band_ns(16 * 300, kPacket), 300u);
  EXPECT_EQ(dcc_probe_band_ns(1000, kPacket), kPacket);
  EXPECT_EQ(dcc_probe_band_ns(1000000000, ~0ull / 4), 0xffffffffu);
}

TEST(PathProbe, RttsThatDifferByTheBandAreSteady) {
  // Three looks of a flow of a packet per RTT, each at an RTT of its own.
  const auto begins = [](std::vector<u32> queues_ns) {
    PathFlow flow = Doubting();
    for (const u32 queue_ns : queues_ns)
      for (int i = 0; i < 4; ++i) flow.Ack(kBase + queue_ns, 2 * kBase, 1);
    return flow.probing();
  };
  constexpr u32 kBand = 4 * kPacket;
  EXPECT_TRUE(begins({kBand, 0, 0}));
  EXPECT_FALSE(begins({kBand + 1, 0, 0}));
  EXPECT_TRUE(begins({0, kBand, kBand}));
  EXPECT_FALSE(begins({0, kBand + 1, kBand}));
}

TEST(PathProbe, NeedsRttsThatAreTheLeast) {
  // Others' queue, as steady as the idle path.
  PathFlow flow = Doubting();
  flow.Run(1, kBase);
  flow.Run(12, kBase + 5 * kPacket);
  EXPECT_EQ(flow.probes(), 0);
  flow.Run(20, kBase + 3 * kPacket);
  EXPECT_GE(flow.probes(), 1);
}

// Of a flow of a packet per RTT.
void Look(PathFlow* flow, u32 rtt_ns) {
  for (int i = 0; i < 4; ++i) flow->Ack(rtt_ns, 2 * kBase, 1);
}

TEST(PathProbe, AnRttIsTheLeastFor16To32LooksThatAreNotNearIt) {
  // A look of which one RTT has no queue, and then looks at a queue of 5 packets.
  PathFlow flow = Doubting();
  flow.Ack(kBase, 2 * kBase, 1);
  for (int i = 0; i < 3; ++i) flow.Ack(kBase + 20 * kPacket, 2 * kBase, 1);
  int looks = 1;
  for (; !flow.probing() && looks < 200; ++looks) Look(&flow, kBase + 5 * kPacket);
  // The first 16 looks have it among theirs, the next 16 do not.
  EXPECT_EQ(looks, 33);
}

TEST(PathProbe, OneLookNearTheLeastRttIsEnoughForItToStay) {
  PathFlow flow = Doubting();
  for (int i = 0; i < 20; ++i) {
    Look(&flow, kBase);
    for (int look = 0; look < 15; ++look) Look(&flow, kBase + 5 * kPacket);
  }
  EXPECT_EQ(flow.probes(), 0);
}

TEST(PathProbe, FindsAPathThatBecomesLongerTwice) {
  for (int between = 1; between < 150; ++between) {
    PathFlow flow = Doubting();
    flow.SetTarget(kBase / 8);
    flow.Run(between, kBase);
    flow.Run(300, kBase * 5 / 4);
    EXPECT_EQ(flow.base_ns(), kBase * 5 / 4) << between;
  }
}

TEST(PathProbe, ALookIsFourSamplesAndARoundTrip) {
  // Of a flow of a packet per RTT the former, in three looks of which the last ends with them.
  PathFlow slow = Doubting();
  int acks = 0;
  for (; !slow.probing(); ++acks) slow.Ack(kBase, kBase, 1);
  EXPECT_EQ(acks, 12);
  // Of one of a hundred the latter.
  PathFlow fast = Doubting();
  for (acks = 0; !fast.probing(); ++acks) fast.Ack(kBase, kBase / 100, 100);
  EXPECT_EQ(acks, 303);
}

TEST(PathProbe, EndsWhereTheApplicationHasNothingToSend) {
  PathFlow flow = Doubting();
  flow.SendNothingMore();
  flow.Run(500);
  EXPECT_EQ(flow.base_ns(), kShort);
  // After 8 RTTs, and again 8 to 16 later.
  EXPECT_GE(flow.probes(), 500 / 24);
  EXPECT_LE(flow.probes(), 500 / 12);
}

TEST(PathProbe, EndsAfterEightRttsWithNothingToSend) {
  PathFlow flow = Probing();
  flow.SendNothingMore();
  flow.Run(7);
  EXPECT_TRUE(flow.probing());
  flow.Run(2);
  EXPECT_FALSE(flow.probing());
}

TEST(PathProbe, EndsWithTheDoubt) {
  PathFlow flow = Probing();
  flow.Run(1, kShort);
  EXPECT_FALSE(flow.probing());
  EXPECT_EQ(flow.base_ns(), kShort);
}

TEST(PathProbe, EndsWithTheLineRate) {
  PathFlow flow = Probing();
  flow.Configure(flow.known());
  EXPECT_TRUE(flow.probing());
  Known known = flow.known();
  known.line_configured = false;
  flow.Configure(known);
  EXPECT_FALSE(flow.probing());
}

TEST(PathProbe, IsNotBegunByRttsThatOnlyALongPathTakes) {
  PathFlow flow = Doubting(5 * kBase);
  flow.Run(500, 5 * kBase);
  EXPECT_EQ(flow.probes(), 0);
}

// ---- a stopped flow

TEST(PathProbe, OfAStoppedFlowBeginsWithTheRepliesToSmallPackets) {
  PathFlow flow = Doubting();
  for (int i = 0; i < 3; ++i) flow.Reply(kBase - 2 * kPacket, 2 * kBase);
  EXPECT_FALSE(flow.probing());
  for (int i = 0; i < 17; ++i) flow.Reply(kBase - 2 * kPacket, 2 * kBase);
  EXPECT_TRUE(flow.probing());
  EXPECT_EQ(flow.most(), 2u) << "all packets at once: none other brings an ACK";
  // The probe's own packets are full.
  for (int i = 0; i < 400 && flow.base_ns() != kBase; ++i) {
    if (flow.probing())
      flow.Ack(kBase, kBase / 4, 4);
    else
      flow.Reply(kBase - 2 * kPacket, 2 * kBase);
  }
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(PathProbe, OfAStoppedFlowIsNoneWhereAFullPacketMayTakeAsLongAsConfigured) {
  PathFlow flow = Doubting();
  for (int i = 0; i < 100; ++i) flow.Reply(kShort - 2 * kPacket, 2 * kBase);
  EXPECT_FALSE(flow.probing());
}

TEST(PathProbe, OfAStoppedFlowIsNotDisturbedByReplies) {
  PathFlow flow = Probing();
  for (int i = 0; i < 100; ++i) flow.Reply(kShort, 2 * kBase);
  EXPECT_TRUE(flow.probing());
}

TEST(PathProbe, OfAStoppedFlowIsNoneWhereTheLineRateIsUnknown) {
  Known known;
  known.base_rtt_ns = kShort;
  known.line_configured = false;
  PathFlow flow(known);
  for (int i = 0; i < 100; ++i) flow.Reply(kBase, 2 * kBase);
  EXPECT_FALSE(flow.probing());
}

// ---- what the law sees

// The law sees this ACK.
bool Seen(const dcc_ack& ack) { return !(ack.flags & DCC_ACK_NO_RTT); }

TEST(PathProbeHides, ItsOwnQueue) {
  PathFlow flow = Doubting();
  flow.Run(3000, kBase, Room::kNone);
  ASSERT_GE(flow.probes(), 6);
  // All but the first packet, which by its RTT here was sent before the probe.
  EXPECT_LE(flow.longest_seen_ns(), kBase + kPacket);
}

TEST(PathProbeHides, NoPacketThatWasSentBeforeIt) {
  PathFlow flow = Probing();
  const dcc_ack ack = flow.Ack(kBase + 3000, kBase / 10, 10);
  EXPECT_TRUE(Seen(ack));
  EXPECT_EQ(ack.rtt_ns, kBase + 3000);
  EXPECT_EQ(ack.inflight_bytes, 10 * kWire);
}

TEST(PathProbeHides, AllThatWasSentWhileItGoesOn) {
  PathFlow flow = Probing();
  for (int i = 0; i < 10; ++i) flow.Ack(kBase, kBase / 10, 10);
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(Seen(flow.Ack(kBase, kBase / 10, 10))) << i;
  EXPECT_TRUE(flow.probing());
}

TEST(PathProbeHides, NothingOfOthersLongerThanAnRttBehindItsEnd) {
  PathFlow flow = Probing();
  // While the probe goes on another flow comes.
  flow.Run(3, kBase + 5000);
  ASSERT_FALSE(flow.probing());
  // Packets sent since then have none of the probe's before them.
  flow.Run(2, kBase + 5000);
  EXPECT_TRUE(Seen(flow.law()));
  EXPECT_EQ(flow.law().rtt_ns, kBase + 5000);
  EXPECT_EQ(flow.law().inflight_bytes, 10 * kWire);
}

TEST(PathProbeHides, AlsoPacketsThatWereSentBeforeItsEnd) {
  PathFlow flow = Probing();
  while (flow.probing()) flow.Run(1, kBase, Room::kNone);
  EXPECT_FALSE(Seen(flow.Ack(kBase + 2 * kPacket, kBase / 10, 12)));
  flow.Run(2, kBase, Room::kNone);
  EXPECT_TRUE(Seen(flow.Ack(kBase + 2 * kPacket, kBase / 10, 12)));
}

}  // namespace

TEST(PathProbe, OfAStoppedFlowFindsTheRttOfFullPackets) {
  Known known;
  known.base_rtt_ns = 9600;
  PathFlow flow(known);
  for (int i = 0; i < 2000 && flow.source() != DCC_BASE_PROBED; ++i) {
    if (flow.probing())
      flow.Ack(kBase, kBase / 5, 5);
    else if (flow.model()->probe.samples == 3)
      flow.Ack(kBase, 2 * kBase, 1);
    else
      flow.Reply(kBase - 2 * kPacket, 2 * kBase);
  }
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(PathProbe, OfAStoppedFlowWithNothingToSendWaitsForSomeRtts) {
  Known known;
  known.base_rtt_ns = 9600;
  PathFlow flow(known);
  while (!flow.probing()) flow.Reply(kBase - 2 * kPacket, 2 * kBase);
  while (flow.probing()) flow.Ack(kBase, kBase, 1);
  EXPECT_LE(flow.model()->probe.next_ns - flow.now_ns(), 16u * kBase);
}

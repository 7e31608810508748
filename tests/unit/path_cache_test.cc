// SPDX-License-Identifier: Apache-2.0
//
// The cache of path metrics: what an entry keeps, what a connection begins with and what it
// refutes.
#include "path/cache.h"

#include <gtest/gtest.h>

#include "path_flow.h"

namespace {

constexpr u32 kLifetime = 600;
constexpr u32 kHandshake = kBase - 350;  // three links

// ---- an entry

dcc_cache_entry Entry(u32 rtt_min_ns, bool exact = true) {
  dcc_cache_entry e = {};
  const dcc_path_metrics metrics = {rtt_min_ns, 100, exact};
  EXPECT_TRUE(dcc_cache_update(&e, &metrics, kNow, kLifetime));
  return e;
}

// What is there of `before` after a connection has measured that, after_s later.
dcc_cache_entry After(dcc_cache_entry before, const dcc_path_metrics& measured, u64 after_s = 1) {
  const u64 now_ns = kNow + after_s * DCC_NS_PER_S;
  const bool taken = dcc_cache_update(&before, &measured, now_ns, kLifetime);
  EXPECT_EQ(taken, before.noted_ns == now_ns);
  return before;
}

u32 RttAfter(const dcc_cache_entry& before, const dcc_path_metrics& measured, u64 after_s = 1) {
  return After(before, measured, after_s).metrics.rtt_min_ns;
}

TEST(PathCacheEntry, HasTheLeastRttOfAllAndTheNewestNoise) {
  const dcc_cache_entry e = Entry(kBase);
  EXPECT_EQ(RttAfter(e, {kBase - 100, 200, true}), kBase - 100);
  EXPECT_EQ(RttAfter(e, {kBase / 2, 200, true}), kBase / 2);
  EXPECT_EQ(RttAfter(e, {kBase + 100, 200, true}), kBase);
  EXPECT_EQ(After(e, {kBase + 100, 200, true}).metrics.noise_ns, 200u);
  EXPECT_EQ(After(e, {kBase / 2, 200, true}).metrics.noise_ns, 200u);
}

TEST(PathCacheEntry, ASixteenthMoreIsTheSamePath) {
  const dcc_cache_entry e = Entry(kBase);
  EXPECT_EQ(After(e, {kBase + kBase / 16, 0, true}).noted_ns, kNow + DCC_NS_PER_S);
  EXPECT_EQ(After(e, {kBase + kBase / 16 + 1, 0, true}).noted_ns, kNow);
}

TEST(PathCacheEntry, IsNotConfirmedByAQueue) {
  const dcc_cache_entry e = Entry(kBase);
  const dcc_cache_entry after = After(e, {kBase + 6000, 200, true}, kLifetime);
  EXPECT_EQ(after.metrics.rtt_min_ns, kBase);
  EXPECT_EQ(after.metrics.noise_ns, 100u);
  EXPECT_EQ(after.noted_ns, kNow);
  EXPECT_EQ(RttAfter(e, {kBase + 6000, 200, true}, kLifetime + 1), kBase + 6000);
}

TEST(PathCacheEntry, OfFullPacketsCountsForMoreThanAHandshakes) {
  EXPECT_EQ(RttAfter(Entry(kBase), {kBase - 100, 0, false}), kBase);
  EXPECT_TRUE(After(Entry(kBase), {kBase - 100, 0, false}).metrics.exact);
  EXPECT_EQ(RttAfter(Entry(kBase - 100, false), {kBase, 0, true}), kBase);
  // Full packets in a queue do not.
  EXPECT_EQ(RttAfter(Entry(kBase + 6000), {kBase - 100, 0, false}), kBase - 100);
  EXPECT_FALSE(After(Entry(kBase + 6000), {kBase - 100, 0, false}).metrics.exact);
  EXPECT_EQ(RttAfter(Entry(kBase - 100, false), {kBase + 6000, 0, true}), kBase - 100);
  // A 16th less is the same path as well.
  EXPECT_TRUE(After(Entry(kBase), {kBase - kBase / 16, 0, false}).metrics.exact);
  EXPECT_FALSE(After(Entry(kBase), {kBase - kBase / 16 - 1, 0, false}).metrics.exact);
}

TEST(PathCacheEntry, HasAnAgeOnAnyClock) {
  const dcc_cache_entry e = Entry(kBase);
  EXPECT_EQ(dcc_cache_age_ns(&e, kNow + 5), 5u);
  EXPECT_EQ(dcc_cache_age_ns(&e, kNow - 5), 0u);
  const dcc_cache_entry before_boot = {{kBase, 0, true}, 0 - 7 * DCC_NS_PER_S};
  EXPECT_EQ(dcc_cache_age_ns(&before_boot, DCC_NS_PER_S), 8 * DCC_NS_PER_S);
  EXPECT_FALSE(dcc_cache_is_old(&before_boot, DCC_NS_PER_S, 8));
  EXPECT_TRUE(dcc_cache_is_old(&before_boot, DCC_NS_PER_S, 7));
}

// ---- a connection that begins with it

// Its handshake took so long.
PathFlow Recalling(u32 handshake_ns, u32 rtt_min_ns = kBase, u32 noise_ns = 0, bool exact = true) {
  Known known;
  known.handshake_ns = handshake_ns;
  PathFlow flow(known);
  const dcc_path_metrics cached = {rtt_min_ns, noise_ns, exact};
  dcc_model_recall(flow.model(), &cached);
  return flow;
}

TEST(PathCache, IsTheBaseRttOfAFlowThatIsMadeWhileAQueueStands) {
  PathFlow flow = Recalling(kHandshake + 6000);
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_CACHE);
  flow.SetTarget(8000);
  flow.Feed(kBase + 6000, 1000, 1000, kBase + 6200);
  EXPECT_EQ(flow.rtt_min_ns(), kBase);
}

TEST(PathCache, IsAlsoKnownBeforeTheFirstFullPacket) {
  PathFlow flow = Recalling(kHandshake + 6000);
  dcc_model_guess(flow.model(), kBase + 5000);
  EXPECT_EQ(flow.base_ns(), kBase);
  dcc_model_guess(flow.model(), kBase - 100);
  EXPECT_EQ(flow.base_ns(), kBase - 100);
  flow.Ack(kBase + 5000, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Ack(kBase - 200, 1000, 1, true);
  EXPECT_EQ(flow.base_ns(), kBase - 200);
  flow.Ack(kBase + 5000, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(PathCache, BeginsWithTheNoiseOfTheHosts) {
  PathFlow flow = Recalling(kHandshake + 6000, kBase, 3000);
  EXPECT_EQ(flow.base_ns(), kBase + 3000);
  EXPECT_EQ(flow.noise_ns(), 3000u);
  // It goes where there is none.
  flow.Feed(kBase, 1000, 1000);
  EXPECT_LT(flow.base_ns(), kBase + 10);
}

TEST(PathCache, LeavesTheNoiseAloneThatIsConfigured) {
  Known known;
  known.noise_ns = 500;
  PathFlow flow(known);
  const dcc_path_metrics cached = {kBase, 3000, true};
  dcc_model_recall(flow.model(), &cached);
  EXPECT_EQ(flow.base_ns(), kBase + 500);
}

TEST(PathCache, GivesWayToAShorterRttOfData) {
  PathFlow flow = Recalling(kHandshake + 6000);
  flow.Feed(kBase - 3000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase - 3000);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
}

TEST(PathCache, OfAQueueGivesWayToTheHandshake) {
  PathFlow flow = Recalling(kHandshake, kBase + 6000);
  EXPECT_EQ(flow.base_ns(), kHandshake);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
  EXPECT_EQ(flow.source(), DCC_BASE_HANDSHAKE);
}

TEST(PathCache, OfFullPacketsMayBeOfSixLinks) {
  // Two full packets' time for the handshake's own, four for more links, and a 16th.
  constexpr u32 kMost = kHandshake + 6 * kPacket + kHandshake / 16;
  EXPECT_EQ(Recalling(kHandshake, kMost).base_ns(), kMost);
  EXPECT_EQ(Recalling(kHandshake, kMost + 1).base_ns(), kHandshake);
  EXPECT_EQ(Recalling(kHandshake, kHandshake + 2 * kPacket, 0, false).base_ns(),
            kHandshake + 2 * kPacket);
  EXPECT_EQ(Recalling(kHandshake, kHandshake + 2 * kPacket + 1, 0, false).base_ns(), kHandshake);
}

TEST(PathCache, OfFullPacketsMayDifferByTheHandshakesError) {
  constexpr u32 kMost = kHandshake + 6 * kPacket + kHandshake / 16;
  Known known;
  known.handshake_ns = kHandshake;
  known.handshake_error_ns = 1000;
  for (const u32 more_ns : {1000u, 1001u}) {
    PathFlow flow(known);
    const dcc_path_metrics cached = {kMost + more_ns, 0, true};
    dcc_model_recall(flow.model(), &cached);
    EXPECT_EQ(flow.base_ns(), more_ns == 1000 ? kMost + more_ns : kHandshake);
  }
}

TEST(PathCache, IsBelievedWhereTheHandshakeIsUnknown) {
  PathFlow flow;
  const dcc_path_metrics cached = {kBase, 0, true};
  dcc_model_recall(flow.model(), &cached);
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(PathCache, OfAHandshakeIsNoBetterThanTheFlowsOwn) {
  PathFlow flow = Recalling(kHandshake, kHandshake + 3 * kPacket, 0, false);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
  EXPECT_FALSE(flow.knows().exact);
}

TEST(PathCache, IsNotBelievedIfTheHandshakeTookThreeTimesAsLong) {
  EXPECT_EQ(Recalling(3 * kBase).base_ns(), kBase);
  PathFlow flow = Recalling(3 * kBase + 1);
  EXPECT_EQ(flow.base_ns(), 3 * kBase + 1);
  flow.Feed(4 * kBase, 1, 1000);
  EXPECT_EQ(flow.source(), DCC_BASE_HANDSHAKE);
}

TEST(PathCache, OfNothingSaysNothing) {
  PathFlow flow = Recalling(0, 0, 3000);
  EXPECT_EQ(flow.base_ns(), 20000u);
}

TEST(PathCache, CountsForNothingWhereTheBaseRttIsConfigured) {
  Known known;
  known.base_rtt_ns = 20000;
  PathFlow flow(known);
  EXPECT_FALSE(dcc_model_may_recall(flow.model()));
  flow.Configure(Known());
  EXPECT_TRUE(dcc_model_may_recall(flow.model()));
}

TEST(PathCache, CountsForNothingWhereTheLineRateIsUnknown) {
  Known known;
  known.line_configured = false;
  PathFlow flow(known);
  EXPECT_FALSE(dcc_model_may_recall(flow.model()));
}

TEST(PathCache, IsOfOneDevice) {
  PathFlow flow = Recalling(kHandshake + 6000);
  flow.Configure(flow.known(), true);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase + 6000);
}

// ---- a connection that tells

TEST(PathCache, HearsWhatFullPacketsMeasure) {
  PathFlow flow = Recalling(kHandshake, 0);
  EXPECT_EQ(flow.knows().rtt_min_ns, 0u);  // no packet yet
  flow.Ack(kBase - 100, 1000, 1, true);
  EXPECT_EQ(flow.knows().rtt_min_ns, 0u);  // no full one
  dcc_path_metrics metrics = {};
  EXPECT_FALSE(dcc_model_knows(flow.model(), &metrics));
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.knows().rtt_min_ns, kHandshake + 2 * kPacket);
  EXPECT_FALSE(flow.knows().exact);
  flow.Feed(kBase - 500, 1, 1000);
  EXPECT_EQ(flow.knows().rtt_min_ns, kBase - 500);
  EXPECT_TRUE(flow.knows().exact);
  flow.Feed(kBase, 1000, 1000, kBase + 10000);
  EXPECT_EQ(flow.knows().rtt_min_ns, kBase - 500);
  EXPECT_EQ(flow.knows().noise_ns, flow.noise_ns());
  EXPECT_GT(flow.noise_ns(), 3000u);
}

TEST(PathCache, HearsNothingOfAConfiguredBaseRtt) {
  Known known;
  known.base_rtt_ns = kBase * 8 / 10;
  PathFlow flow(known);
  flow.Run(5);
  EXPECT_EQ(flow.knows().rtt_min_ns, 0u);
  flow.Run(30);
  ASSERT_EQ(flow.source(), DCC_BASE_PROBED);
  EXPECT_EQ(flow.knows().rtt_min_ns, 0u);
}

TEST(PathCache, HearsAgainWhatOthersHaveMeasured) {
  PathFlow flow = Recalling(kHandshake + 6000);
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.knows().rtt_min_ns, kBase);
  EXPECT_TRUE(flow.knows().exact);
  PathFlow inexact = Recalling(kHandshake + 6000, kBase, 0, false);
  inexact.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(inexact.knows().rtt_min_ns, kBase);
  EXPECT_FALSE(inexact.knows().exact);
}

TEST(PathCache, HearsOfEachChangeAndOnceASecond) {
  PathFlow flow;
  dcc_model* m = flow.model();
  EXPECT_TRUE(dcc_model_has_news(m, kNow));
  dcc_model_noted(m, kNow);
  EXPECT_FALSE(dcc_model_has_news(m, kNow));
  flow.Feed(kBase, 1, 1000);
  EXPECT_TRUE(dcc_model_has_news(m, kNow));
  dcc_model_noted(m, kNow);
  EXPECT_FALSE(dcc_model_has_news(m, kNow + DCC_CACHE_NOTE_NS - 1));
  EXPECT_TRUE(dcc_model_has_news(m, kNow + DCC_CACHE_NOTE_NS));
}

// ---- a cache that is wrong

TEST(PathCache, IsRefutedByAProbe) {
  // The path has become longer.
  PathFlow flow = Recalling(2 * kBase - 350);
  flow.Run(5, 2 * kBase);
  ASSERT_EQ(flow.base_ns(), kBase);
  dcc_cache_entry e = Entry(kBase);
  EXPECT_FALSE(dcc_model_refutes(flow.model(), &e));
  flow.Run(30, 2 * kBase);
  EXPECT_EQ(flow.base_ns(), 2 * kBase);
  EXPECT_EQ(flow.source(), DCC_BASE_DATA);
  EXPECT_TRUE(dcc_model_refutes(flow.model(), &e));
  // What another connection has put there meanwhile is right.
  e = Entry(2 * kBase);
  EXPECT_FALSE(dcc_model_refutes(flow.model(), &e));
  e = Entry(kBase);
  dcc_model_noted(flow.model(), flow.now_ns());
  EXPECT_FALSE(dcc_model_refutes(flow.model(), &e));
  // The flow itself has forgotten it.
  dcc_model_guess(flow.model(), kBase);
  flow.Feed(2 * kBase + 6000, 100, 1000);
  EXPECT_EQ(flow.rtt_min_ns(), 2 * kBase);
}

TEST(PathCache, IsNotRefutedByAProbeOfAFlowThatHasNotReadIt) {
  Known known;
  known.handshake_ns = kBase;
  PathFlow flow(known);
  flow.Run(40, 2 * kBase);
  ASSERT_EQ(flow.base_ns(), 2 * kBase);
  const dcc_cache_entry e = Entry(kBase);
  EXPECT_FALSE(dcc_model_refutes(flow.model(), &e));
}

TEST(PathCache, IsNotRefutedByAQueue) {
  PathFlow flow = Recalling(2 * kBase - 350);
  flow.Run(500, 2 * kBase, Room::kNone);
  EXPECT_GT(flow.probes(), 3);
  EXPECT_EQ(flow.base_ns(), kBase);
}

}  // namespace

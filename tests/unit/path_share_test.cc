// SPDX-License-Identifier: Apache-2.0
//
// What a flow's share of the line adds to its base RTT, in noise.
#include "path/share.h"

#include <gtest/gtest.h>

#include <cmath>

#include "path_flow.h"

namespace {

// 100 Gbit/s and 12 us: a window of 99 packets fills the idle line.
constexpr u32 kNoise = 4000;

u64 Packets(double packets) { return static_cast<u64>(packets * DCC_WINDOW_ONE); }

PathFlow Flow(u32 noise_ns) {
  Known known;
  known.base_rtt_ns = kBase;
  known.noise_ns = noise_ns;
  return PathFlow(known);
}

u32 ShareOf(u32 noise_ns, double packets) {
  PathFlow flow = Flow(noise_ns);
  flow.Control(Packets(packets));
  return flow.share_ns();
}

TEST(PathShare, GrowsByTheSameForEachHalving) {
  const double octave_ns = kBase / 4 * std::log(2);
  for (double packets = 32; packets > 1; packets /= 2)
    EXPECT_NEAR(ShareOf(kNoise, packets / 2) - ShareOf(kNoise, packets), octave_ns, 2) << packets;
}

TEST(PathShare, IsNothingFromHalfOfTheLineOn) {
  const double half = (kBase + kNoise) / 121. / 2;
  EXPECT_EQ(ShareOf(kNoise, half * 1.1), 0u);
  EXPECT_EQ(ShareOf(kNoise, 1e6), 0u);
  // A quarter of it: one halving, less what straight lines between powers of two take.
  EXPECT_NEAR(ShareOf(kNoise, half / 2), kBase / 4 * std::log(2), .18 * kBase / 4);
}

TEST(PathShare, EndsAtA256thOfTheLine) {
  const u32 most_ns = ShareOf(kNoise, 1e-4);
  EXPECT_NEAR(most_ns, 7 * kBase / 4 * std::log(2), 8);
  EXPECT_EQ(ShareOf(kNoise, 1e-3), most_ns);
}

TEST(PathShare, IsNothingWithoutNoiseOrWithA32ndOfThePath) {
  EXPECT_EQ(ShareOf(0, 1), 0u);
  EXPECT_EQ(ShareOf(kBase / 32, 1), 0u);
  EXPECT_GT(ShareOf(kBase / 16, 1), 0u);
}

TEST(PathShare, HasOneSlopeForAllWhoseNoiseIsMoreThanAQuarterOfThePath) {
  const double octave_ns = kBase / 4 * std::log(2);
  for (const u32 noise_ns : {kBase / 4 + kBase / 32, kBase, 2 * kBase})
    EXPECT_NEAR(ShareOf(noise_ns, 4) - ShareOf(noise_ns, 8), octave_ns, 2) << noise_ns;
  const u32 half_ns = kBase / 8 + kBase / 32;
  EXPECT_NEAR(ShareOf(half_ns, 4) - ShareOf(half_ns, 8), octave_ns / 2, 2);
}

// What its levels are multiples of is the same for all flows.
TEST(PathShare, IsNoPartOfTheNoiseForALawWithLevels) {
  PathFlow flow = Flow(kNoise);
  flow.Control(Packets(2), true);
  EXPECT_EQ(flow.share_ns(), ShareOf(kNoise, 2));
  EXPECT_EQ(flow.base_ns(), kBase + kNoise + flow.share_ns());
  EXPECT_EQ(flow.noise_ns(), kNoise);
}

TEST(PathShare, IsPartOfBaseRttAndOfNoise) {
  PathFlow flow = Flow(kNoise);
  EXPECT_EQ(flow.base_ns(), kBase + kNoise);
  flow.Control(Packets(2));
  EXPECT_GT(flow.share_ns(), 0u);
  EXPECT_EQ(flow.base_ns(), kBase + kNoise + flow.share_ns());
  EXPECT_EQ(flow.noise_ns(), kNoise + flow.share_ns());
}

TEST(PathShare, StaysForWindowsThatDifferByLittle) {
  PathFlow flow = Flow(kNoise);
  flow.Control(Packets(4));
  const u32 share_ns = flow.share_ns();
  flow.Control(Packets(4.1));
  EXPECT_EQ(flow.share_ns(), share_ns);
  flow.Control(Packets(4.5));
  EXPECT_LT(flow.share_ns(), share_ns);
  flow.Control(Packets(4));
  EXPECT_EQ(flow.share_ns(), share_ns);
}

TEST(PathShare, GoesWithTheNoiseAndWithThePath) {
  PathFlow flow = Flow(kNoise);
  flow.Control(Packets(2));
  Known none;
  none.base_rtt_ns = kBase;
  flow.Configure(none);
  flow.Control(Packets(2));
  EXPECT_EQ(flow.base_ns(), kBase);

  PathFlow moves = Flow(kNoise);
  moves.Control(Packets(2));
  Known same;
  same.base_rtt_ns = kBase;
  same.noise_ns = kNoise;
  moves.Configure(same, true);
  EXPECT_EQ(moves.base_ns(), kBase + kNoise);
}

TEST(PathShare, StaysWithinA16thOfAHalving) {
  constexpr u32 kHalving = 1600;
  const auto share_ns = [](u32 before_ns) {
    return dcc_share_ns(before_ns, kHalving, kBase, kPacket, Packets(4));
  };
  const u32 new_ns = share_ns(0);
  ASSERT_GT(new_ns, kHalving);
  for (const u32 before_ns : {new_ns - kHalving / 16, new_ns + kHalving / 16})
    EXPECT_EQ(share_ns(before_ns), before_ns);
  for (const u32 before_ns : {new_ns - kHalving / 16 - 1, new_ns + kHalving / 16 + 1})
    EXPECT_EQ(share_ns(before_ns), new_ns);
}

// No cut of the law's drains its queue, and that is no reason to doubt the base RTT.
TEST(PathShare, IsNoReasonForAProbe) {
  PathFlow flow = Flow(kNoise);
  flow.SetTarget(800);
  flow.Control(Packets(1));
  flow.Run(300, kBase + kNoise + flow.share_ns() + 100);
  EXPECT_EQ(flow.probes(), 0);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
//
// What the hosts add to the RTT: rounds, the filter that tells noise from a queue, and the
// estimate.
#include "path/noise.h"

#include <gtest/gtest.h>

#include "path/round.h"
#include "path_flow.h"

namespace {

constexpr u32 kSteps = DCC_ROUND_SAMPLES - 1;

// ---- a round

// One that is fed with RTTs, gap_ns apart.
struct Fed {
  // True: the sample was the round's last.
  bool Add(u32 rtt_ns, u64 gap_ns) {
    now_ns += gap_ns;
    dcc_ack ack = {};
    ack.now_ns = now_ns;
    ack.rtt_ns = rtt_ns;
    ack.send_ns = now_ns - rtt_ns;
    ack.acked_bytes = 1000;
    return dcc_round_add(&round, &ack);
  }
  int SamplesToClose(u32 rtt_ns, u64 gap_ns) {
    for (int i = 1; i < 1000; ++i)
      if (Add(rtt_ns, gap_ns)) return i;
    return 0;
  }
  dcc_round round = {};
  u64 now_ns = kNow;
};

TEST(PathRound, LastsARoundTripAndTwelveSamples) {
  Fed fed;
  // A packet sent with the first sample's ACK comes back an RTT later.
  EXPECT_EQ(fed.SamplesToClose(20000, 1000), 21);
  EXPECT_EQ(fed.SamplesToClose(20000, 1000), 21);
  EXPECT_EQ(fed.SamplesToClose(11000, 1000), 12);
  EXPECT_EQ(fed.SamplesToClose(2000, 1000), 12);
}

TEST(PathRound, KnowsWhatItsSamplesHad) {
  Fed fed;
  for (u32 i = 0; i < kSteps; ++i) EXPECT_FALSE(fed.Add(i % 2 ? 5000 : 8000, 1000));
  EXPECT_TRUE(fed.Add(4003, 2000));
  EXPECT_EQ(fed.round.min_rtt_ns, 4003u);
  EXPECT_EQ(fed.round.max_rtt_ns, 8000u);
  EXPECT_EQ(fed.round.mean_rtt_ns, (6 * 8000 + 5 * 5000 + 4003) / 12u);
  EXPECT_EQ(fed.round.steps, kSteps);
  EXPECT_EQ(fed.round.sum_step_ns, 10u * 3000 + 3997);
  EXPECT_EQ(fed.round.duration_ns, 12000u);
}

TEST(PathRound, TheNextOneBeginsWithTheNextSample) {
  Fed fed;
  fed.SamplesToClose(9000, 1000);
  EXPECT_EQ(fed.SamplesToClose(2000, 1000), 12);
  EXPECT_EQ(fed.round.max_rtt_ns, 2000u);
  EXPECT_EQ(fed.round.mean_rtt_ns, 2000u);
  EXPECT_EQ(fed.round.sum_step_ns, 0u) << "no step leads from one round to the next";
  EXPECT_EQ(fed.round.duration_ns, kSteps * 1000u);
}

TEST(PathRound, ThatIsDroppedCountsForNothing) {
  Fed fed;
  for (int i = 0; i < 11; ++i) fed.Add(9000, 1000);
  dcc_round_drop(&fed.round);
  EXPECT_EQ(fed.SamplesToClose(2000, 1000), 12);
  EXPECT_EQ(fed.round.max_rtt_ns, 2000u);
}

TEST(PathRound, WithinNoTimeHasADurationAllTheSame) {
  Fed fed;
  EXPECT_EQ(fed.SamplesToClose(0, 0), 12);
  EXPECT_EQ(fed.round.duration_ns, 1u);
}

TEST(PathRound, HasNoSamplesOfSmallPacketsNorOfAnApplicationsPauses) {
  PathFlow flow;
  flow.Feed(kBase, 1, 20000);
  for (int i = 0; i < 200; ++i) flow.Ack(i % 2 ? kBase : kBase + 9000, 1000, 1, true);
  EXPECT_EQ(flow.longest_ns(), kBase);
  flow.Feed(kBase, 500, 1000, kBase + 10000, true);
  EXPECT_EQ(flow.longest_ns(), kBase);
  flow.Feed(kBase, 500, 1000, kBase + 10000);
  EXPECT_GT(flow.longest_ns(), kBase);
}

// ---- the filter

// A round of twelve samples, gap_ns apart, above rtt_min = 12 us: is it noisy?  Of `steps` ns each,
// from low to high and back, or one way only.
dcc_round Zigzag(u32 low_ns, u32 step_ns, u64 gap_ns) {
  Fed fed;
  for (u32 i = 0; i <= kSteps; ++i) fed.Add(low_ns + (i % 2 ? step_ns : 0), gap_ns);
  return fed.round;
}

dcc_round Ramp(u32 low_ns, u32 step_ns, u64 gap_ns) {
  Fed fed;
  for (u32 i = 0; i <= kSteps; ++i) fed.Add(low_ns + i * step_ns, gap_ns);
  return fed.round;
}

bool Noisy(const dcc_round& round, u32 rtt_min_ns = kBase, u64 packet_ns = kPacket) {
  return dcc_noise_is_noisy(&round, rtt_min_ns, packet_ns);
}

// RTTs below a sample's gap, so that each round has twelve samples.
constexpr u32 kLow = 1000;

TEST(PathNoiseFilter, ADenseRoundTurnsMoreThanItsRangeAnd32ndOfItsTime) {
  // S is 11 gaps: a quarter of it is 2.75 us, the range 300 ns and a 32nd of S 343 ns.
  constexpr u32 kGap = 1000, kStep = 300;
  const u32 queue_ns = kStep + kSteps * kGap / 32;
  const u64 packet_ns = (kSteps * kStep - queue_ns) / kSteps;
  EXPECT_FALSE(Noisy(Zigzag(kLow, kStep, kGap), kBase, packet_ns + 1));
  EXPECT_TRUE(Noisy(Zigzag(kLow, kStep, kGap), kBase, packet_ns));
}

TEST(PathNoiseFilter, ADenseRoundsQueueIsAQuarterOfItsTimeAtTheMost) {
  // One way: all steps make the range.
  constexpr u32 kGap = 1000;
  EXPECT_FALSE(Noisy(Ramp(kLow, kGap / 4, kGap), kBase, 0));
  EXPECT_TRUE(Noisy(Ramp(kLow, kGap / 4 + 1, kGap), kBase, 0));
  EXPECT_FALSE(Noisy(Ramp(kLow, kGap / 4 + kPacket, kGap)));
  EXPECT_TRUE(Noisy(Ramp(kLow, kGap / 4 + kPacket + 1, kGap)));
}

TEST(PathNoiseFilter, SparseSamplesMayTurn) {
  // Of half a base RTT and more apart; between two of them no more of it counts.
  for (const u64 gap_ns : {u64{kBase}, u64{10 * kBase}, u64{1000 * kBase}}) {
    EXPECT_FALSE(Noisy(Zigzag(kLow, kBase / 8, gap_ns), kBase, 0)) << gap_ns;
    EXPECT_TRUE(Noisy(Zigzag(kLow, kBase / 8 + 1, gap_ns), kBase, 0)) << gap_ns;
  }
}

TEST(PathNoiseFilter, SamplesAreDenseUpToTwelveInSixBaseRtts) {
  // Steps that a sparse round may have.
  EXPECT_TRUE(Noisy(Zigzag(kLow, 1200, kBase / 2)));
  EXPECT_TRUE(Noisy(Zigzag(kLow, 1200, 6 * kBase / kSteps)));
  EXPECT_FALSE(Noisy(Zigzag(kLow, 1200, 6 * kBase / kSteps + 1)));
}

TEST(PathNoiseFilter, APacketMoreOrLessIsNone) {
  EXPECT_FALSE(Noisy(Zigzag(kLow, kPacket, 1000)));
  EXPECT_FALSE(Noisy(Zigzag(kLow, 0, 0), kBase, 0));
}

// ---- the estimate

// After one round.
u32 Noise(const dcc_round& round, u32 before_ns = 0, u32 rtt_min_ns = kLow, u64 packet_ns = 0) {
  dcc_noise n = {before_ns, 0};
  dcc_noise_round(&n, &round, rtt_min_ns, packet_ns);
  return n.ns;
}

TEST(PathNoise, GoesAnEighthOfTheWayToThreeSpreads) {
  // A round from 10 us on, where the least RTT is 1 us: the mean is .5 us above the least.
  const dcc_round round = Zigzag(10 * kLow, kLow, 10000);
  ASSERT_EQ(round.mean_rtt_ns, 10500u);
  EXPECT_EQ(Noise(round), 1500u / 8);
  EXPECT_EQ(Noise(round, 800), 800 + (1500u - 800) / 8);
  EXPECT_EQ(Noise(round, 1500), 1500u);
}

TEST(PathNoise, IsNoLongerThanWhatTheRttsAreLonger) {
  const dcc_round round = Zigzag(kLow, kLow, 10000);
  EXPECT_EQ(Noise(round), 500u / 8) << "the mean is half a microsecond above the least RTT";
  EXPECT_EQ(Noise(round, 0, 2 * kLow), 0u) << "which has become shorter meanwhile";
}

TEST(PathNoise, IsTwoLeastRttsAtTheMost) {
  const dcc_round round = Zigzag(10 * kLow, 20 * kLow, 10000);
  EXPECT_EQ(Noise(round), 2 * kLow / 8);
  EXPECT_EQ(Noise(round, 2 * kLow), 2 * kLow);
}

TEST(PathNoise, FallsByAnEighthInAQuietRound) {
  const dcc_round quiet = Ramp(10 * kLow, 20, 10000);
  EXPECT_EQ(Noise(quiet, 800), 700u);
  EXPECT_EQ(Noise(quiet, 7), 6u);
  EXPECT_EQ(Noise(quiet, 1), 0u);
}

TEST(PathNoise, AsConfiguredIsNotEstimated) {
  dcc_noise n = {};
  dcc_noise_configure(&n, 700);
  const dcc_round noisy = Zigzag(10 * kLow, 20 * kLow, 10000), quiet = Ramp(kLow, 20, 10000);
  for (const auto& round : {noisy, quiet}) dcc_noise_round(&n, &round, kLow, 0);
  EXPECT_EQ(n.ns, 700u);
  dcc_noise_reset(&n);
  EXPECT_EQ(n.ns, 700u);
  dcc_noise_configure(&n, 700);
  EXPECT_EQ(n.ns, 700u);
  // Taken back.
  dcc_noise_configure(&n, 0);
  EXPECT_EQ(n.ns, 0u);
  dcc_noise_round(&n, &noisy, kLow, 0);
  EXPECT_GT(n.ns, 0u);
  // What was estimated is not taken back by saying again that it is to be.
  const u32 estimated_ns = n.ns;
  dcc_noise_configure(&n, 0);
  EXPECT_EQ(n.ns, estimated_ns);
}

// ---- flows

// One that measures its base RTT and has seen the idle path.
PathFlow Measuring() {
  PathFlow flow;
  flow.Feed(kBase, 1, 20000);
  return flow;
}

TEST(PathNoise, IsTheMeanThatTheHostsAdd) {
  PathFlow flow = Measuring();
  flow.Feed(kBase, 1000, 1000, kBase + 10000);
  EXPECT_GT(flow.base_ns(), kBase + 3500);  // the mean is 5 us
  EXPECT_LE(flow.base_ns(), kBase + 6000);
  EXPECT_EQ(flow.noise_ns(), flow.base_ns() - kBase);
}

TEST(PathNoise, GoesWhereTheDelayIsALevelQueue) {
  PathFlow flow = Measuring();
  flow.Feed(kBase, 1000, 1000, kBase + 10000);
  ASSERT_GT(flow.noise_ns(), 3000u);
  flow.Feed(kBase + 6000, 1000, 1000, kBase + 6200);
  EXPECT_LE(flow.noise_ns(), 100u);
}

TEST(PathNoise, GoesWhereTheDelayIsShort) {
  PathFlow flow = Measuring();
  flow.Feed(kBase, 1000, 1000, kBase + 10000);
  ASSERT_GT(flow.noise_ns(), 3000u);
  flow.Feed(kBase, 1000, 1000, kBase + 200);
  EXPECT_LE(flow.noise_ns(), 100u);
}

TEST(PathNoise, ADelayThatTurnsAllTheTimeIsNoise) {
  PathFlow flow = Measuring();
  // ACKs that one late ACK holds back: nearly all are late, and a step is less than a quarter of
  // the time between two of them.
  flow.Feed(kBase + 3000, 500, 2800, kBase + 5000);
  EXPECT_GT(flow.noise_ns(), 1500u);
  EXPECT_LE(flow.noise_ns(), 5000u);
}

TEST(PathNoise, ALevelQueueOfOthersIsNone) {
  PathFlow flow = Measuring();
  flow.Feed(kBase + 5500, 500, 10000, kBase + 6500);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(PathNoise, AQueueOfOthersThatSwingsIsNone) {
  PathFlow flow = Measuring();
  flow.Swing(40, 2000, 8000, 500, 4000);
  flow.Swing(40, 2000, 8000, 300, 1200);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(PathNoise, AQueueThatFollowsTheRateIsNone) {
  PathFlow flow = Measuring();
  flow.Swing(10, 0, 10000, 300, 1000);
  flow.Feed(kBase, 500, 2000);  // drained
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(PathNoise, AQueueThatTurnsOnceInARoundIsNone) {
  PathFlow flow = Measuring();
  flow.Swing(100, 3000, 5400, 400, 2800);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(PathNoise, SparseSamplesOfAQueueThatSwingsByAnEighthOfThePathAreNone) {
  PathFlow flow = Measuring();
  flow.Feed(kBase + 110000, 600, 100000, kBase + 110000 + kBase / 8);
  EXPECT_EQ(flow.noise_ns(), 0u);
}

TEST(PathNoise, OfSparseSamplesIsWhatTheyChangeByMore) {
  PathFlow flow = Measuring();
  // A stopped flow's packet in 20 ms asks whether there is still a queue.
  flow.Feed(kBase, 600, 20000000, kBase + 20000);
  EXPECT_GT(flow.noise_ns(), 6000u);  // the mean is 10 us
  EXPECT_LE(flow.noise_ns(), 13000u);
}

TEST(PathNoise, IsTwiceTheLeastRttAtTheMostAndGoesWithTheDevice) {
  PathFlow flow = Measuring();
  flow.Feed(kBase, 5000, 100000, kBase + 4000000);
  EXPECT_GT(flow.noise_ns(), kBase);
  EXPECT_LE(flow.longest_ns(), 3 * kBase);
  flow.Configure(flow.known(), true);
  EXPECT_EQ(flow.noise_ns(), 0u);
  flow.Feed(30000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 30000u);
}

TEST(PathNoise, ARoundThatIsOpenGoesWithTheDevice) {
  PathFlow flow = Measuring();
  for (int i = 0; i < 11; ++i) flow.Feed(i % 2 ? kBase : kBase + 9000, 1, 20000);
  flow.Configure(flow.known(), true);
  flow.Feed(kBase, 12, 20000);
  EXPECT_EQ(flow.noise_ns(), 0u);
}

TEST(PathNoise, IsNotEstimatedWhereTheBaseRttIsConfigured) {
  Known known;
  known.base_rtt_ns = kBase;
  PathFlow flow(known);
  flow.Feed(kBase, 1000, 1000, kBase + 10000);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.noise_ns(), 0u);
}

TEST(PathNoise, IsEstimatedWhereTheLineRateIsUnknownToo) {
  Known known;
  known.line_configured = false;
  PathFlow flow(known);
  flow.Feed(kBase, 1000, 1000, kBase + 10000);
  EXPECT_GT(flow.noise_ns(), 3000u);
}

}  // namespace

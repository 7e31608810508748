// SPDX-License-Identifier: Apache-2.0
//
// The path model as a whole: what is configured and what is estimated, in one struct dcc_path.
#include "path/model.h"

#include <gtest/gtest.h>

#include "path_flow.h"

namespace {

Known KnownPath(bool line, bool base, bool noise) {
  Known known;
  known.line_configured = line;
  known.base_rtt_ns = base ? kBase : 0;
  known.noise_ns = noise ? 1500 : 0;
  return known;
}

// Noise of 5 us on average, on a path of 12 us.
void FeedNoise(PathFlow* flow) {
  flow->Feed(kBase, 1, 20000);
  flow->Feed(kBase, 2000, 1000, kBase + 10000);
}

TEST(PathModel, HasWhatIsConfiguredAndEstimatesTheRest) {
  for (const bool line : {false, true})
    for (const bool base : {false, true})
      for (const bool noise : {false, true}) {
        PathFlow flow(KnownPath(line, base, noise));
        FeedNoise(&flow);
        const dcc_path& path = flow.path();
        if (noise)
          EXPECT_EQ(path.noise_ns, 1500u);
        else if (base)
          EXPECT_EQ(path.noise_ns, 0u);
        else
          EXPECT_NEAR(path.noise_ns, 5000, 1500);
        EXPECT_EQ(path.base_rtt_ns - path.noise_ns, kBase);
        EXPECT_EQ(path.delay_floor_ns != 0, !line);
        EXPECT_EQ(path.line_rate_bps, kLine);
        EXPECT_EQ(path.wire_bytes, kWire);
      }
}

TEST(PathModel, TakesUpEachSettingThatChanges) {
  PathFlow flow(KnownPath(true, true, true));
  EXPECT_EQ(flow.base_ns(), kBase + 1500);
  flow.Configure(KnownPath(true, true, false));
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Configure(KnownPath(true, false, false));
  FeedNoise(&flow);
  EXPECT_GT(flow.noise_ns(), 3000u);
  flow.Configure(KnownPath(true, false, true));
  EXPECT_EQ(flow.noise_ns(), 1500u);
  flow.Configure(KnownPath(true, false, false));
  FeedNoise(&flow);
  EXPECT_GT(flow.noise_ns(), 3000u);
  flow.Configure(KnownPath(true, true, false));
  EXPECT_EQ(flow.noise_ns(), 0u) << "what was measured";
}

TEST(PathModel, KeepsWhatThePathHasShownWhereNothingHasChanged) {
  PathFlow flow(KnownPath(true, false, false));
  FeedNoise(&flow);
  const dcc_path before = flow.path();
  flow.Configure(flow.known());
  EXPECT_TRUE(dcc_same_path(&before, &flow.path()));
}

TEST(PathModel, ABaseRttAndItsNoiseAreASecondAtTheMost) {
  Known known;
  known.base_rtt_ns = DCC_PATH_RTT_MAX_NS - 100;
  known.noise_ns = 1000;
  PathFlow flow(known);
  EXPECT_EQ(flow.base_ns(), DCC_PATH_RTT_MAX_NS);
  EXPECT_EQ(flow.noise_ns(), 100u);
  known.base_rtt_ns = DCC_PATH_RTT_MAX_NS;
  known.noise_ns = DCC_PATH_RTT_MAX_NS;
  flow.Configure(known);
  EXPECT_EQ(flow.base_ns(), DCC_PATH_RTT_MAX_NS);
  EXPECT_EQ(flow.noise_ns(), 0u);
}

TEST(PathModel, APacketIsWithinTheCoresRange) {
  dcc_model m = {};
  dcc_model_set_packet(&m, 0);
  EXPECT_EQ(m.path.wire_bytes, DCC_PATH_WIRE_MIN_BYTES);
  dcc_model_set_packet(&m, 1514);
  EXPECT_EQ(m.path.wire_bytes, 1514u);
  dcc_model_set_packet(&m, 70000);
  EXPECT_EQ(m.path.wire_bytes, DCC_PATH_WIRE_MAX_BYTES);
}

TEST(PathModel, APacketTakesTimeOnEachLine) {
  Known known;
  known.line_rate_bps = DCC_PATH_RATE_MAX_BPS;
  PathFlow flow(known);
  dcc_model_set_packet(flow.model(), 64);
  flow.Configure(known);
  EXPECT_EQ(flow.packet_ns(), 1u) << "it is .64";
  PathFlow none;
  dcc_model_set_packet(none.model(), 1500);
  none.Configure(known);
  EXPECT_EQ(none.packet_ns(), 15u);
}

TEST(PathModel, WhereTheLineRateIsUnknownHandshakeCacheAndProbesCountForNothing) {
  Known known = KnownPath(false, false, false);
  known.handshake_ns = kBase;
  PathFlow flow(known);
  EXPECT_FALSE(dcc_model_may_recall(flow.model()));
  flow.SetTarget(1000);
  flow.Run(1, 2 * kBase);
  EXPECT_EQ(flow.base_ns(), 2 * kBase);
  flow.Run(500, 3 * kBase);
  EXPECT_EQ(flow.base_ns(), 2 * kBase);
  EXPECT_EQ(flow.probes(), 0);
}

TEST(PathModel, ASmallPacketIsNoSampleOfDoubtOrNoise) {
  Known known;
  known.base_rtt_ns = kBase;
  PathFlow flow(known);
  for (int i = 0; i < 500; ++i) {
    const dcc_ack ack = flow.Ack(2 * kBase, kBase / 10, 10, true);
    EXPECT_EQ(ack.rtt_ns, 2 * kBase);
  }
  EXPECT_EQ(flow.probes(), 0);
}

TEST(PathModel, NoiseThatIsEstimatedIsNoReasonForDoubt) {
  PathFlow flow;
  flow.SetTarget(1000);
  flow.Feed(kBase, 1, 20000);
  flow.Feed(kBase, 2000, 1000, kBase + 10000);
  ASSERT_GT(flow.noise_ns(), 3000u);
  EXPECT_EQ(flow.probes(), 0);
  EXPECT_EQ(flow.base_ns() - flow.noise_ns(), kBase);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "oscar/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace {

constexpr u32 kTau = 6000;

struct Point {
  double x, y;
};

double LeastSquaresSlope(const std::vector<Point>& points) {
  double mean_x = 0, mean_y = 0, cov = 0, var = 0;
  for (const Point& p : points) {
    mean_x += p.x / static_cast<double>(points.size());
    mean_y += p.y / static_cast<double>(points.size());
  }
  for (const Point& p : points) {
    cov += (p.x - mean_x) * (p.y - mean_y);
    var += (p.x - mean_x) * (p.x - mean_x);
  }
  return var > 0 ? cov / var : 0;
}

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() { Init(kTau, DCC_BATCH_NO_GAP); }

  void Init(u32 tau_ns, u64 gap_ns) { dcc_batch_init(&batch_, tau_ns, gap_ns); }

  std::optional<dcc_estimate> Send(u64 send_ns, u32 rtt_ns, u32 flags = 0, u32 inflight = 15000,
                                   u32 acked = 1500) {
    const dcc_ack ack = {send_ns + rtt_ns, send_ns, rtt_ns, acked, inflight, flags, 0};
    if (!dcc_batch_add(&batch_, &ack)) return std::nullopt;
    dcc_estimate estimate;
    dcc_batch_close(&batch_, &estimate);
    return estimate;
  }

  dcc_batch batch_;
};

TEST_F(BatchTest, ClosesOnceItSpansTauWithThreePoints) {
  EXPECT_FALSE(Send(1000000, 12000));
  EXPECT_FALSE(Send(1003000, 12000));
  EXPECT_FALSE(Send(1005999, 12000));
  const auto estimate = Send(1006000, 12000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->count, 4u);
  EXPECT_EQ(estimate->first_ns, 1000000u);
  EXPECT_EQ(estimate->last_ns, 1006000u);
}

TEST_F(BatchTest, WaitsForAThirdPointWhenTwoAlreadySpanTau) {
  EXPECT_FALSE(Send(1000000, 12000));
  EXPECT_FALSE(Send(1007000, 12000));
  const auto estimate = Send(1014000, 12000);
  ASSERT_TRUE(estimate);
  EXPECT_TRUE(estimate->slope_valid);
}

TEST_F(BatchTest, GivesMeanDelayInflightAndBytes) {
  Send(1000000, 12000, 0, 1500);
  Send(1003000, 13000, 0, 3000, 3000);
  const auto estimate = Send(1006000, 15001, 0, 6000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->delay_ns, 13333u);
  EXPECT_EQ(estimate->sum_inflight_bytes, 10500u);
  EXPECT_EQ(estimate->acked_bytes, 6000u);
  EXPECT_EQ(estimate->acked_after_first_bytes, 4500u);
}

TEST_F(BatchTest, ReadsTheGradientOfALineExactly) {
  for (const double slope : {9.0, 1.0, 0.25, 0.0, -0.25, -0.5, -0.875}) {
    Init(kTau, DCC_BATCH_NO_GAP);
    std::optional<dcc_estimate> estimate;
    for (u64 x = 0; !estimate; x += 120)
      estimate = Send(5000000 + x, static_cast<u32>(100000 + slope * static_cast<double>(x)));
    EXPECT_NEAR(estimate->gradient_q16 / 65536.0, slope, 2e-4) << slope;
  }
}

TEST_F(BatchTest, KeepsTheGradientWithinItsBounds) {
  Send(1000000, 60000);
  Send(1003000, 30000);
  auto estimate = Send(1006000, 0);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->gradient_q16, DCC_GRADIENT_MIN);

  Init(kTau, DCC_BATCH_NO_GAP);
  Send(1000000, 0);
  Send(1000001, 0);
  estimate = Send(1006000, 0xffffffff);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->gradient_q16, DCC_GRADIENT_MAX);
}

TEST_F(BatchTest, AllPacketsSentAtOneInstantHaveNoGradient) {
  const dcc_ack ack = {2000000, 1000000, 12000, 1500, 15000, 0, 0};
  for (u32 i = 1; i < DCC_BATCH_MAX_COUNT; ++i) ASSERT_FALSE(dcc_batch_add(&batch_, &ack));
  ASSERT_TRUE(dcc_batch_add(&batch_, &ack)) << "a batch is bounded";
  dcc_estimate estimate;
  dcc_batch_close(&batch_, &estimate);
  EXPECT_FALSE(estimate.slope_valid);
  EXPECT_EQ(estimate.gradient_q16, 0);
  EXPECT_EQ(estimate.delay_ns, 12000u);
}

// 10^6 packets in a batch, for the shortest and the longest tau: no sum may overflow.
TEST_F(BatchTest, AMillionPacketsKeepTheGradientExact) {
  for (const u32 tau : {500u, 6000u, 87000u, 1000000u, 1000000000u}) {
    for (const double slope : {2.0, 0.1, -0.4}) {
      Init(tau, DCC_BATCH_NO_GAP);
      std::mt19937_64 rng(tau);
      std::vector<Point> points;
      std::optional<dcc_estimate> estimate;
      const u32 offset = static_cast<u32>(tau * 0.5) + 1000;
      for (u64 i = 0; !estimate; ++i) {
        ASSERT_LE(i, 1000000u);
        const u64 x = i * tau / 1000000;
        const double y = offset + slope * static_cast<double>(x) + static_cast<double>(rng() % 100);
        points.push_back({static_cast<double>(x), std::floor(y)});
        estimate = Send(7 + x, static_cast<u32>(y), 0, 0xffffffff, 0xffffffff);
      }
      EXPECT_GE(estimate->count, 1000000u);
      EXPECT_NEAR(estimate->gradient_q16 / 65536.0, LeastSquaresSlope(points), 5e-4) << tau;
    }
  }
}

TEST_F(BatchTest, RandomBatchesAgreeWithFloatingPoint) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 20000; ++round) {
    const u32 tau = static_cast<u32>(500 * std::pow(2e6, static_cast<double>(rng() % 1000) / 1000));
    const u32 step = 1 + static_cast<u32>(rng() % std::max(1u, tau / 2));
    const u32 noise = 1 + static_cast<u32>(rng() % (2 * step + 1));
    Init(tau, DCC_BATCH_NO_GAP);
    std::vector<Point> points;
    u64 send = rng() >> 2;
    for (int closed = 0; closed < 3;) {
      const u32 rtt = static_cast<u32>(tau / 2 + rng() % noise);
      points.push_back({static_cast<double>(send), static_cast<double>(rtt)});
      const auto estimate = Send(send, rtt);
      if (estimate) {
        const double base = points.front().x;
        for (Point& p : points) p.x -= base;
        double slope = LeastSquaresSlope(points);
        slope = std::max(slope, -0.9);
        if (estimate->slope_valid && send < (1ULL << 52)) {
          ASSERT_NEAR(estimate->gradient_q16 / 65536.0, slope, 1e-3 + 1e-4 * std::fabs(slope))
              << "tau " << tau << " step " << step << " round " << round;
        }
        points.clear();
        ++closed;
      }
      send += 1 + rng() % step;
    }
  }
}

TEST_F(BatchTest, StartsAnewBehindAPauseInSending) {
  Init(kTau, 3000);
  Send(1000000, 90000);
  Send(1002000, 90000);
  EXPECT_FALSE(Send(1050000, 12000)) << "the pause alone spans tau, but says nothing of the rate";
  Send(1053000, 12000);
  const auto estimate = Send(1056000, 12000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->first_ns, 1050000u);
  EXPECT_EQ(estimate->delay_ns, 12000u);
  EXPECT_EQ(estimate->acked_after_first_bytes, 3000u);
  EXPECT_TRUE(estimate->slope_valid);
}

TEST_F(BatchTest, AFlowThatOnlyPausesStillGetsEstimatesOfItsDelay) {
  Init(kTau, 3000);
  int closed = 0;
  for (u64 i = 0; i < 300; ++i) {
    const auto estimate = Send(1000000 + i * 50000, 12000);
    if (!estimate) continue;
    ++closed;
    EXPECT_FALSE(estimate->slope_valid);
    EXPECT_EQ(estimate->delay_ns, 12000u);
  }
  EXPECT_GE(closed, 95);
}

TEST_F(BatchTest, PausesRestartAgainOnceABatchHadNone) {
  Init(kTau, 3000);
  for (u64 i = 0; i < 20; ++i) Send(1000000 + i * 50000, 12000);
  u64 send = 3000000;
  std::optional<dcc_estimate> estimate;
  while (!estimate || !estimate->slope_valid) estimate = Send(send += 1000, 12000);
  Send(send += 50000, 90000);
  Send(send += 1000, 12000);
  Send(send += 50000, 12000);
  const u64 first = send;
  while (!(estimate = Send(send += 1000, 12000))) continue;
  EXPECT_EQ(estimate->first_ns, first);
}

TEST_F(BatchTest, AWideBatchHasNoSlope) {
  Send(1000000, 12000);
  Send(1001000, 12000);
  const auto estimate = Send(1000000 + 3 * kTau + 1, 20000);
  ASSERT_TRUE(estimate);
  EXPECT_FALSE(estimate->slope_valid);
  EXPECT_EQ(estimate->gradient_q16, 0);
}

TEST_F(BatchTest, AReorderedPacketWithinTheBatchIsAPointLikeAnyOther) {
  Send(1000000, 20000);
  Send(1004000, 24000);
  Send(1002000, 22000);
  const auto estimate = Send(1006000, 26000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->count, 4u);
  EXPECT_NEAR(estimate->gradient_q16 / 65536.0, 1.0, 1e-4);
}

TEST_F(BatchTest, IgnoresAPacketFromBeforeTheBatch) {
  Send(1000000, 20000);
  Send(1003000, 20000);
  ASSERT_TRUE(Send(1006000, 20000));
  Send(1008000, 20000);
  EXPECT_EQ(batch_.count, 1u);
  EXPECT_FALSE(Send(1005000, 40000));
  EXPECT_EQ(batch_.count, 1u);
}

TEST_F(BatchTest, StartsAnewWhenTheClockJumpsBack) {
  Send(5000000000, 20000);
  Send(5000001000, 20000);
  EXPECT_FALSE(Send(1000000, 20000));
  EXPECT_EQ(batch_.count, 1u);
  Send(1003000, 20000);
  const auto estimate = Send(1006000, 20000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->first_ns, 1000000u);
}

TEST_F(BatchTest, GoesOnAcrossTheEndOfTheClock) {
  int closed = 0;
  u64 send = ~0ULL - 100000;
  for (int i = 0; i < 200; ++i) closed += Send(send += 1000, 20000).has_value();
  EXPECT_GE(closed, 28);
}

TEST_F(BatchTest, ARestartForgetsPacketsSentBefore) {
  dcc_batch_restart(&batch_, 1000000);
  for (u64 send = 985000; send < 1000000; send += 1000) EXPECT_FALSE(Send(send, 20000));
  EXPECT_EQ(batch_.count, 0u);
  Send(1000000, 20000);
  EXPECT_EQ(batch_.count, 1u);
}

TEST_F(BatchTest, AcksWithoutRttCountTheirBytesOnly) {
  Send(1000000, 12000);
  EXPECT_FALSE(Send(0, 0, DCC_ACK_NO_RTT));
  EXPECT_FALSE(Send(1002000, 40000000, DCC_ACK_DELAYED));
  Send(1003000, 12000);
  const auto estimate = Send(1006000, 12000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->count, 3u);
  EXPECT_EQ(estimate->delay_ns, 12000u);
  EXPECT_EQ(estimate->acked_after_first_bytes, 6000u);
}

TEST_F(BatchTest, RemembersThatSomePacketWasApplicationLimited) {
  Send(1000000, 12000);
  Send(1003000, 12000, DCC_ACK_APP_LIMITED);
  auto estimate = Send(1006000, 12000);
  ASSERT_TRUE(estimate);
  EXPECT_TRUE(estimate->app_limited);
  Send(1009000, 12000);
  Send(1010000, 12000);
  estimate = Send(1012000, 12000);
  ASSERT_TRUE(estimate);
  EXPECT_FALSE(estimate->app_limited);
}

TEST_F(BatchTest, ASparseBatchTooWideForASlopeClosesAtOnce) {
  batch_.sparse = 1;
  EXPECT_FALSE(Send(1000000, 12000));
  const auto estimate = Send(1000000 + 3 * kTau + 1, 20000);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->count, 2u);
  EXPECT_FALSE(estimate->slope_valid);
  EXPECT_EQ(estimate->delay_ns, 16000u);
  EXPECT_TRUE(Send(1100000, 20000));
}

}  // namespace

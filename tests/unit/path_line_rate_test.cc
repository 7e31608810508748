// SPDX-License-Identifier: Apache-2.0
//
// A line rate that nobody has configured: window of a start-up, delay floor, and a rate that
// follows.
#include "path/line_rate.h"

#include <gtest/gtest.h>

#include <limits>

#include "path_flow.h"

namespace {

constexpr u64 kDevice = 100000000;

// A flow that measures its base RTT behind a device of that many bits per second.
class UnknownLineFlow {
 public:
  explicit UnknownLineFlow(u32 base_ns, u64 device_bps = kLine, bool configured = false)
      : flow_(Device(device_bps, configured)), base_ns_(base_ns) {
    // The floor follows the base RTT at a round's end.
    flow_.Feed(base_ns, 1, 1000);
    Round(10000000);
  }

  // A round in which the flow gets that many bits per second, in a queue of queue_ns.
  void Round(u64 bps, bool app_limited = false, u32 queue_ns = 0) {
    const u64 gap_ns = kWire * 8000000000ull / bps;
    const u32 rtt_ns = base_ns_ + queue_ns;
    // An application's pauses make none.
    int left = app_limited ? 50 : 1000000;
    do flow_.Ack(rtt_ns, gap_ns, 1, false, app_limited ? DCC_ACK_APP_LIMITED : 0);
    while (--left && (app_limited || flow_.round_is_open()));
  }

  static Known Device(u64 bps, bool configured = false) {
    Known known;
    known.line_rate_bps = bps;
    known.line_configured = configured;
    return known;
  }

  PathFlow& flow() { return flow_; }
  u64 rate() const { return flow_.path().line_rate_bps; }
  u32 floor_ns() const { return flow_.path().delay_floor_ns; }

 private:
  PathFlow flow_;
  u32 base_ns_;
};

// ---- the rate

TEST(PathLineRate, RisesWhereThePathCarriesMoreThanTheDeviceSays) {
  UnknownLineFlow flow(5000000, kDevice);
  flow.Round(50000000);  // less than two thirds in use
  EXPECT_EQ(flow.rate(), kDevice);
  flow.Round(90000000);
  EXPECT_EQ(flow.rate(), 112500000u);
  flow.Round(90000000);
  EXPECT_EQ(flow.rate(), 137500000u);
  flow.Round(80000000);  // no longer in use: a 16th of what was raised
  EXPECT_NEAR(flow.rate(), 137500000 - 37500000. / 16, 1);
  flow.Round(100000000);  // the first step again
  EXPECT_NEAR(flow.rate(), 137500000 - 37500000. / 16 + 12500000, 1);
  for (int i = 0; i < 60; ++i) flow.Round(flow.rate());
  EXPECT_EQ(flow.rate(), DCC_PATH_RATE_MAX_BPS);
}

TEST(PathLineRate, RisesByAQuarterAtTheMost) {
  UnknownLineFlow flow(5000000, kDevice);
  u64 before_bps = kDevice;
  for (int i = 0; i < 20; ++i) {
    flow.Round(before_bps);
    EXPECT_LE(flow.rate(), before_bps + before_bps / 4);
    EXPECT_GT(flow.rate(), before_bps);
    before_bps = flow.rate();
  }
}

TEST(PathLineRate, FallsToTheDevicesInAQueue) {
  UnknownLineFlow flow(5000000, kDevice);
  for (int i = 0; i < 8; ++i) flow.Round(flow.rate());
  const u64 raised_bps = flow.rate();
  ASSERT_GT(raised_bps, 300000000u);
  flow.Round(raised_bps, false, 600000);  // less than half of the floor is no queue
  EXPECT_GT(flow.rate(), raised_bps);
  flow.Round(raised_bps, false, 700000);
  EXPECT_LT(flow.rate(), raised_bps * 5 / 4);
  for (int i = 0; i < 400; ++i) {
    const u64 before_bps = flow.rate();
    flow.Round(before_bps, false, 700000);
    EXPECT_LE(flow.rate(), before_bps);
    EXPECT_GE(flow.rate(), kDevice);
  }
  EXPECT_LT(flow.rate(), 100001000u);
}

TEST(PathLineRate, StaysWhileAQueueDrains) {
  UnknownLineFlow flow(5000000, kDevice);
  for (int i = 0; i < 8; ++i) flow.Round(flow.rate());
  flow.Round(flow.rate(), false, 2000000);
  const u64 rate_bps = flow.rate();
  for (u32 queue_ns = 1900000; queue_ns > 700000; queue_ns -= 100000) {
    flow.Round(rate_bps, false, queue_ns);
    EXPECT_EQ(flow.rate(), rate_bps);
  }
  flow.Round(rate_bps / 2, false, 650000);  // the law takes less of it
  EXPECT_LT(flow.rate(), rate_bps);
}

TEST(PathLineRate, SaysNothingOfThePathWhereTheApplicationPauses) {
  UnknownLineFlow flow(5000000, kDevice);
  for (int i = 0; i < 8; ++i) flow.Round(kDevice, true);
  EXPECT_EQ(flow.rate(), kDevice);
}

TEST(PathLineRate, StaysAsConfigured) {
  UnknownLineFlow flow(5000000, kDevice, true);
  for (int i = 0; i < 8; ++i) flow.Round(kDevice);
  EXPECT_EQ(flow.rate(), kDevice);
}

TEST(PathLineRate, KeepsWhatThePathHasShownUntilTheDeviceSaysAnother) {
  UnknownLineFlow flow(5000000, kDevice);
  for (int i = 0; i < 8; ++i) flow.Round(flow.rate());
  const u64 raised_bps = flow.rate();
  flow.flow().Configure(flow.Device(kDevice));
  EXPECT_EQ(flow.rate(), raised_bps);
  flow.flow().Configure(flow.Device(0));  // a route to the loopback
  EXPECT_EQ(flow.rate(), raised_bps);
  flow.flow().Configure(flow.Device(kDevice, true));
  EXPECT_EQ(flow.rate(), kDevice);
  flow.flow().Configure(flow.Device(25000000, true));
  EXPECT_EQ(flow.rate(), 25000000u);
  flow.flow().Configure(flow.Device(2 * DCC_PATH_RATE_MAX_BPS));
  EXPECT_EQ(flow.rate(), DCC_PATH_RATE_MAX_BPS);
}

TEST(PathLineRate, AnotherDevicesRateRisesByItsFirstStep) {
  UnknownLineFlow flow(5000000, kDevice);
  for (int i = 0; i < 3; ++i) flow.Round(flow.rate());
  flow.flow().Configure(flow.Device(2 * kDevice));
  flow.Round(2 * kDevice);
  EXPECT_EQ(flow.rate(), 2 * kDevice + 2 * kDevice / 8);
}

TEST(PathLineRate, APacketsTimeIsThatAtTheRateInUse) {
  UnknownLineFlow flow(5000000, kDevice);
  EXPECT_EQ(flow.flow().packet_ns(), kWire * 80u);
  flow.Round(kDevice);
  EXPECT_EQ(flow.flow().packet_ns(), kWire * 8000000000ull / flow.rate());
  EXPECT_EQ(dcc_packet_ns(1, 8000000000000), 0u);
  EXPECT_EQ(dcc_packet_ns(65535, 0), 65535u * 8000u) << "at 1 Mbit/s";
}

// ---- the delay floor

TEST(PathDelayFloor, IsAQuarterOfTheBaseRttOnAFastLine) {
  UnknownLineFlow flow(5000000);
  for (int i = 0; i < 20; ++i) flow.Round(7000000000);
  EXPECT_EQ(flow.floor_ns(), 1250000u);
}

TEST(PathDelayFloor, IsThereFromTheFirstOn) {
  Known known = UnknownLineFlow::Device(kLine);
  known.base_rtt_ns = kBase;
  PathFlow flow(known);
  EXPECT_EQ(flow.path().delay_floor_ns, kBase / 4);
}

TEST(PathDelayFloor, IsTwoPacketsAtTheFlowsRate) {
  UnknownLineFlow flow(1400000);  // a packet of 10 Mbit/s takes 1.2 ms
  for (int i = 0; i < 20; ++i) flow.Round(10000000);
  EXPECT_NEAR(flow.floor_ns(), 2 * 1211200, 2 * 1211200 / 8);
  // A round without data says nothing.
  const u64 round_bps = flow.flow().model()->line.round_bps;
  flow.Round(1000000, true);
  EXPECT_EQ(flow.flow().model()->line.round_bps, round_bps);
  for (int i = 0; i < 2; ++i) flow.Round(20000000);
  EXPECT_NEAR(flow.floor_ns(), 1211200, 1211200 / 8);
}

// Packets are rare where other flows have the line, too.
TEST(PathDelayFloor, IsAtMostTwoBaseRtts) {
  UnknownLineFlow flow(1400000);
  for (int i = 0; i < 1000; ++i) flow.Round(1000000);
  EXPECT_NEAR(flow.floor_ns(), 2800000, 2800000 / 8);
  EXPECT_LE(flow.floor_ns(), 2800000u);
  // The best rate rises at once.
  flow.Round(100000000);
  flow.Round(100000000);
  EXPECT_NEAR(flow.floor_ns(), 350000, 350000 / 8);
}

TEST(PathDelayFloor, IsNothingWhereTheLineRateIsConfigured) {
  UnknownLineFlow flow(5000000);
  EXPECT_GT(flow.floor_ns(), 0u);
  flow.flow().Configure(flow.Device(kLine, true));
  EXPECT_EQ(flow.floor_ns(), 0u);
  flow.Round(1000000000);
  EXPECT_EQ(flow.floor_ns(), 0u);
  flow.flow().Configure(flow.Device(kLine));
  EXPECT_GT(flow.floor_ns(), 0u);
}

TEST(PathDelayFloor, FollowsTheBaseRttAtTheEndOfARound) {
  PathFlow flow(UnknownLineFlow::Device(kLine));
  flow.Feed(4000000, 2, 100000);
  flow.Feed(4000000, 40, 100000);
  EXPECT_EQ(flow.path().delay_floor_ns, 1000000u);
}

// ---- the window of a start-up

constexpr u32 kLongBase = 1000000;

PathFlow Starting(u32 window = 10) {
  Known known = UnknownLineFlow::Device(kLine);
  known.base_rtt_ns = kLongBase;
  PathFlow flow(known);
  flow.model()->line.window = window;  // dcc_tcp_begin()
  return flow;
}

u32 Window(PathFlow& flow) { return flow.model()->line.window; }

TEST(PathStartWindow, IsTwiceWhatWasInFlightWithoutAQueue) {
  PathFlow flow = Starting();
  for (u32 flight = 10; flight <= 80; flight *= 2) {
    flow.Ack(kLongBase + kLongBase / 4, 1000, flight);
    EXPECT_EQ(Window(flow), 2 * flight);
  }
  // What the application did not use has not been carried.
  flow.Ack(kLongBase, 1000, 4);
  EXPECT_EQ(Window(flow), 160u);
}

TEST(PathStartWindow, GrowsByAnEighthInAQueue) {
  PathFlow flow = Starting();
  flow.Ack(2 * kLongBase, 1000, 80);
  EXPECT_EQ(Window(flow), 90u);
  flow.Ack(2 * kLongBase, 1000, 3);
  EXPECT_EQ(Window(flow), 90u);
  PathFlow least = Starting(2);
  least.Ack(2 * kLongBase, 1000, 3);
  EXPECT_EQ(Window(least), 4u) << "by one at least";
  // The floor's end is a queue's begin.
  PathFlow edge = Starting();
  edge.Ack(kLongBase + kLongBase / 4 + 1, 1000, 80);
  EXPECT_EQ(Window(edge), 90u);
}

TEST(PathStartWindow, GrowsWithSmallPacketsAndInPausesToo) {
  PathFlow flow = Starting();
  flow.Ack(kLongBase, 1000, 20, true);
  EXPECT_EQ(Window(flow), 40u);
  flow.Ack(kLongBase, 1000, 40, false, DCC_ACK_APP_LIMITED);
  EXPECT_EQ(Window(flow), 80u);
}

TEST(PathStartWindow, HasNoOverflow) {
  PathFlow flow = Starting();
  flow.Ack(kLongBase, 1000, std::numeric_limits<u32>::max());
  EXPECT_EQ(Window(flow), 2 * kWindowMax);
}

TEST(PathStartWindow, StaysWhereTheLineRateIsConfigured) {
  PathFlow flow;
  flow.Ack(kBase, 1000, 500);
  EXPECT_EQ(Window(flow), 0u);
}

}  // namespace

TEST(PathRound, KnowsTheRate) {
  Known known;
  known.line_configured = false;
  known.line_rate_bps = 1000000000;
  PathFlow flow(known);
  for (int i = 0; i < 1000; ++i) flow.Ack(kBase, kWire * 8000ull / 100);
  EXPECT_NEAR(flow.model()->line.round_bps, 100e6, 1e6);
}

TEST(PathDelayFloor, FollowsTheFirstFullPacketsRtt) {
  Known known;
  known.line_configured = false;
  PathFlow flow(known);
  flow.model()->line.window = 10;
  flow.Ack(5000000, 1000, 10);
  EXPECT_EQ(flow.path().delay_floor_ns, 1250000u);
  EXPECT_EQ(flow.model()->line.window, 20u);
}

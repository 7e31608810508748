// SPDX-License-Identifier: Apache-2.0
//
// From TCP's acknowledgment to the core's, and from the core's control to window and pace.
#include "dcc_tcp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>

namespace {

constexpr u64 kNow = 1000000000000;  // 1000 s
constexpr u64 kLine = 100000000000;  // 100 Gbit/s
constexpr u32 kMss = 1448;
constexpr u32 kHeader = 66;
constexpr u32 kWire = kMss + kHeader;
constexpr u32 kBase = 12000;
constexpr u32 kPacket = kWire * 8 / 100;  // ns on the line

// A socket on an idle path of 12 us at 100 Gbit/s, base RTT configured.
dcc_tcp Socket() {
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  dcc_tcp_begin(&s, &v, 20, ~0u, 0, 10);
  dcc_tcp_set_line(&s, kLine, false);
  dcc_tcp_set_packet(&s, kMss, kHeader);
  dcc_tcp_set_base_rtt(&s, kBase, false);
  return s;
}

// The ACK of one full packet out of ten in flight, 12 us after it left.
dcc_tcp_view Ack() {
  dcc_tcp_view v = {};
  v.now_ns = kNow;
  v.now_us = kNow / 1000;
  v.bytes_acked = kMss;
  v.snd_nxt = 20 * kMss;
  v.delivered = 10;
  v.prior_delivered = 0;
  v.packets_out = 9;
  v.sampled = true;
  v.rtt_us = 12;
  v.acked_sacked = 1;
  v.last_end_seq = kMss;
  return v;
}

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

}  // namespace

// ---- a configured base RTT that is too short

namespace {

constexpr u32 kTold = kBase * 8 / 10;

// A flow with ten packets in flight, and those that a trial adds, on a path of 12 us that is told
// as 9.6. What it adds becomes a queue where `full`, of a link that others fill.
class ToldFlow {
 public:
  explicit ToldFlow(u32 told_ns = kTold) {
    s_.line_told = 1;
    dcc_tcp_set_base_rtt(&s_, told_ns, false);
  }

  // So many RTTs of ten ACKs.
  void Run(int rtts, u32 rtt_ns = kBase, bool full = false) {
    for (int i = 0; i < rtts * 10; ++i) {
      now_ += rtt_ns / 10;
      dcc_ack ack = {};
      ack.now_ns = now_;
      // The packets that were in flight an RTT ago.
      const u32 extra = i >= 10 ? extra_[i % 10] : 0;
      ack.rtt_ns = rtt_ns + (full ? extra * kPacket : 0);
      ack.send_ns = now_ - ack.rtt_ns;
      dcc_tcp_take_sample(&s_, &ack, false, sends_ ? 10 + extra : 10);
      seen_ns_ = ack.rtt_ns;
      most_seen_ns_ = std::max(most_seen_ns_, seen_ns_);
      extra_[i % 10] = s_.doubt.extra;
      trials_ += s_.doubt.extra == 1;
      most_ = std::max<u32>(most_, s_.doubt.extra);
    }
  }

  u32 base_ns() const { return s_.path.base_rtt_ns; }
  int trials() const { return trials_; }
  u32 most() const { return most_; }
  // RTTs that the law sees: the last one, and the longest.
  u32 seen_ns() const { return seen_ns_; }
  u32 most_seen_ns() const { return most_seen_ns_; }
  dcc_tcp* tcp() { return &s_; }
  void sends_nothing_more() { sends_ = false; }

 private:
  dcc_tcp s_ = Socket();
  u64 now_ = kNow;
  u32 extra_[10] = {};
  int trials_ = 0;
  u32 most_ = 0;
  u32 seen_ns_ = 0;
  u32 most_seen_ns_ = 0;
  bool sends_ = true;
};

}  // namespace

TEST(TcpTold, IsTheLeastRttOnceATrialHasMadeNoQueue) {
  ToldFlow flow;
  flow.Run(3);
  EXPECT_EQ(flow.base_ns(), kTold);
  flow.Run(20);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.trials(), 1);
  // Four bands of four packets.
  EXPECT_EQ(flow.most(), 16u);
  EXPECT_EQ(flow.tcp()->doubt.extra, 0);
}

TEST(TcpTold, StaysWhereATrialMakesAQueue) {
  ToldFlow flow;
  flow.Run(3000, kBase, true);
  EXPECT_EQ(flow.base_ns(), kTold);
  // At 8, 16, 32 ... RTTs from one another.
  EXPECT_GE(flow.trials(), 6);
  EXPECT_LE(flow.trials(), 12);
  // A band of four packets ends it.
  EXPECT_LE(flow.most(), 16u);
}

TEST(TcpTold, ATrialsOwnQueueIsNoneForTheLaw) {
  ToldFlow flow;
  flow.Run(3000, kBase, true);
  ASSERT_GE(flow.trials(), 6);
  // All but the first packet, which by its RTT here was sent before the trial.
  EXPECT_LE(flow.most_seen_ns(), kBase + kPacket);
}

TEST(TcpTold, AQueueOfOthersDuringATrialIsSeenByTheLaw) {
  ToldFlow flow;
  flow.Run(6);
  const u32 own = flow.tcp()->doubt.extra;
  ASSERT_GT(own, 0u);
  flow.Run(1, kBase + 5000);
  EXPECT_EQ(flow.tcp()->doubt.extra, 0);
  EXPECT_EQ(flow.most_seen_ns(), kBase + 5000 - own * kPacket);
  // Packets sent since then have none of the trial before them.
  flow.Run(2, kBase + 5000);
  EXPECT_EQ(flow.seen_ns(), kBase + 5000);
  EXPECT_EQ(flow.tcp()->doubt.own, 0);
}

TEST(TcpTold, StaysWhereRttsAreNotSteady) {
  ToldFlow flow;
  for (int i = 0; i < 500; ++i) flow.Run(1, i % 2 ? kBase : kBase + 1000);
  EXPECT_EQ(flow.trials(), 0);
  EXPECT_EQ(flow.base_ns(), kTold);
}

TEST(TcpTold, StaysWhereTheApplicationHasNothingToSend) {
  ToldFlow flow;
  flow.sends_nothing_more();
  flow.Run(500);
  EXPECT_GT(flow.trials(), 1);
  EXPECT_EQ(flow.base_ns(), kTold);
}

TEST(TcpTold, CountsAgainInAQueueThatLasts) {
  ToldFlow flow;
  flow.Run(30);
  ASSERT_EQ(flow.base_ns(), kBase);
  flow.Run(3, kBase + 1000);
  EXPECT_EQ(flow.base_ns(), kBase);  // it may be the flow's own
  flow.Run(4, kBase + 1000);
  EXPECT_EQ(flow.base_ns(), kTold);
  flow.Run(3, kBase + kPacket);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpTold, IsNotDoubtedByWhoHasSeenIt) {
  for (const u32 seen : {kTold, kTold + kTold / 40}) {
    ToldFlow flow;
    flow.Run(1, seen);
    flow.Run(500);
    EXPECT_EQ(flow.trials(), 0);
    EXPECT_EQ(flow.base_ns(), kTold);
  }
  // Also later.
  ToldFlow flow;
  flow.Run(30);
  ASSERT_EQ(flow.base_ns(), kBase);
  flow.Run(1, kTold);
  EXPECT_EQ(flow.base_ns(), kTold);
  flow.Run(500);
  EXPECT_EQ(flow.base_ns(), kTold);
  EXPECT_EQ(flow.trials(), 1);
}

TEST(TcpTold, IsDoubtedFromAQuarterOfTheLawsTargetOn) {
  dcc_control control = Control(10, kLine);
  for (const u32 quarter_ns : {kTold / 40, kTold / 40 - 1}) {
    ToldFlow flow;
    control.target_ns = 4 * quarter_ns;
    dcc_tcp_note_control(flow.tcp(), &control);
    flow.Run(500, kTold + kTold / 40);
    EXPECT_EQ(flow.base_ns(), quarter_ns < kTold / 40 ? kTold + kTold / 40 : kTold);
  }
}

TEST(TcpTold, ATrialIsSmallerWhereTheLineHasLessRoom) {
  dcc_tcp_doubt d = {};
  d.steady.least_ns = 100 * kPacket;
  const auto packets = [&d](u32 flight) {
    return dcc_tcp_trial_packets(&d, flight, kPacket, 4 * kPacket);
  };
  EXPECT_EQ(packets(0), 16u);  // four bands
  EXPECT_EQ(packets(84), 16u);
  EXPECT_EQ(packets(90), 10u);
  EXPECT_EQ(packets(95), 8u);
  EXPECT_EQ(packets(200), 8u);
}

TEST(TcpTold, IsNotDoubtedWhereItIsTooFarOffOrNothingElseIsTold) {
  ToldFlow far;
  far.Run(500, kTold * 3 / 2 + 1);
  EXPECT_EQ(far.trials(), 0);
  ToldFlow untold;
  untold.tcp()->line_told = 0;
  untold.Run(500);
  EXPECT_EQ(untold.trials(), 0);
}

namespace {

// The same of a law of levels, which can do with idle paths up to idle_max_ns.
struct LevelFlow : ToldFlow {
  explicit LevelFlow(u32 idle_max_ns) {
    dcc_control control = Control(10, kLine);
    control.idle_max_ns = idle_max_ns;
    tcp()->by_level = 1;
    dcc_tcp_note_control(tcp(), &control);
  }
};

}  // namespace

TEST(TcpTold, OfLevelsStaysWhereTheLawCanDoWithThePath) {
  LevelFlow flow(kBase);
  flow.Run(30);
  EXPECT_EQ(flow.base_ns(), kTold);
  EXPECT_EQ(flow.tcp()->idle_rtt_ns, kBase);
  // In a queue, too.
  flow.Run(100, kBase + 2000);
  EXPECT_EQ(flow.tcp()->idle_rtt_ns, kBase);
  // Until the path turns out to be as short as told.
  flow.Run(1, kTold);
  EXPECT_EQ(flow.tcp()->idle_rtt_ns, 0u);
  EXPECT_EQ(flow.base_ns(), kTold);
  flow.Run(500);
  EXPECT_EQ(flow.trials(), 1);
}

TEST(TcpTold, OfLevelsGivesWayForGoodWhereItCannot) {
  LevelFlow flow(kBase - 1);
  flow.Run(30);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.tcp()->idle_rtt_ns, 0u);
  flow.Run(100, kBase + 2000);
  EXPECT_EQ(flow.base_ns(), kBase);
  dcc_tcp_set_base_rtt(flow.tcp(), kTold, true);
  EXPECT_EQ(flow.base_ns(), kTold);
}

TEST(TcpTold, OfLevelsIsDoubtedAtTheLeastRttAndWhereThereIsRoom) {
  LevelFlow queue(kBase);
  queue.Run(1);
  queue.Run(500, kBase + 3 * kPacket);
  EXPECT_EQ(queue.trials(), 0);
  LevelFlow any(0);
  any.Run(500);
  EXPECT_EQ(any.trials(), 0);
  // Ten packets take 12 us.
  LevelFlow line(kBase);
  line.tcp()->path.line_rate_bps = kLine / 10;
  line.Run(500);
  EXPECT_EQ(line.trials(), 0);
}

TEST(TcpTold, ProbesOfAStoppedFlowBeginATrial) {
  const auto probed = [](u32 rtt_ns, int times) {
    dcc_tcp s = Socket();
    s.line_told = 1;
    s.by_level = 1;
    s.idle_max_ns = kBase;
    dcc_tcp_set_base_rtt(&s, kTold, false);
    for (int i = 1; i <= times; ++i) {
      dcc_ack ack = {};
      ack.now_ns = kNow + i * 2ULL * kBase;
      ack.rtt_ns = rtt_ns;
      ack.send_ns = ack.now_ns - rtt_ns;
      dcc_tcp_watch_probe(&s, &ack);
    }
    return s;
  };
  dcc_tcp s = probed(kBase - 2 * kPacket, 3);
  EXPECT_EQ(s.doubt.extra, 0);
  s = probed(kBase - 2 * kPacket, 20);
  EXPECT_EQ(s.doubt.extra, 1);
  dcc_control stopped = Control(30, kLine);
  stopped.probe_ns = 1000;
  EXPECT_FALSE(dcc_tcp_stops(&s, &stopped));

  // A full packet takes as long as told, if the path has two hops.
  s = probed(kTold - 2 * kPacket, 20);
  EXPECT_EQ(s.doubt.extra, 0);
  EXPECT_TRUE(dcc_tcp_stops(&s, &stopped));
  s = probed(kTold * 3 / 2 + 1, 20);
  EXPECT_EQ(s.doubt.extra, 0);
}

TEST(TcpTold, AnotherOneOrAnotherPathBeginsAnew) {
  ToldFlow flow;
  flow.Run(30);
  ASSERT_EQ(flow.base_ns(), kBase);
  dcc_tcp_set_base_rtt(flow.tcp(), kTold, false);  // looked up again
  EXPECT_EQ(flow.base_ns(), kBase);
  dcc_tcp_set_base_rtt(flow.tcp(), kTold, true);
  EXPECT_EQ(flow.base_ns(), kTold);
  flow.Run(30);
  EXPECT_EQ(flow.base_ns(), kBase);
  dcc_tcp_set_base_rtt(flow.tcp(), kTold + 100, false);
  EXPECT_EQ(flow.base_ns(), kTold + 100);
  flow.Run(5);
  ASSERT_GT(flow.tcp()->doubt.extra, 0);
  dcc_tcp_set_base_rtt(flow.tcp(), 0, false);
  EXPECT_EQ(flow.tcp()->doubt.extra, 0);
}

TEST(TcpTold, TheTrialsPacketsAreSpreadOverAnRtt) {
  ToldFlow flow;
  dcc_control asked = Control(10, kLine);
  dcc_control control = asked;
  dcc_tcp_add_trial(flow.tcp(), &control);
  EXPECT_EQ(control.cwnd_q16, asked.cwnd_q16);
  EXPECT_EQ(control.pacing_bps, asked.pacing_bps);

  flow.Run(5);
  ASSERT_EQ(flow.tcp()->doubt.most, 16);
  const u32 extra = flow.tcp()->doubt.extra;
  ASSERT_GT(extra, 0u);
  dcc_tcp_add_trial(flow.tcp(), &control);
  EXPECT_EQ(control.cwnd_q16, asked.cwnd_q16 + extra * DCC_WINDOW_ONE);
  // 26 packets in 12 us.
  EXPECT_NEAR(static_cast<double>(control.pacing_bps), 26 * kWire * 8e9 / kBase, 1e6);
  // A slow flow: its own pace, and so many packets more.
  control = Control(0.5, 1000000);
  dcc_tcp_add_trial(flow.tcp(), &control);
  EXPECT_EQ(control.cwnd_q16, (1 + extra) * DCC_WINDOW_ONE);
  EXPECT_NEAR(static_cast<double>(control.pacing_bps), 1e6 + extra * kWire * 8e9 / kBase, 1e6);
  // One that has stopped sends nothing else.
  control = Control(100, kLine);
  control.probe_ns = 1000;
  EXPECT_FALSE(dcc_tcp_stops(flow.tcp(), &control));
  dcc_tcp_add_trial(flow.tcp(), &control);
  EXPECT_EQ(control.probe_ns, 0u);
  EXPECT_EQ(control.cwnd_q16, (1 + extra) * DCC_WINDOW_ONE);
}

// ---- noise of the hosts

namespace {

// A flow that measures its base RTT, at any rate, with any delays.
class NoisyFlow {
 public:
  explicit NoisyFlow(bool saw_idle_path = true) {
    dcc_tcp_set_base_rtt(&s_, 0, false);
    if (saw_idle_path) Feed(kBase, 1, 20000);
  }

  // So many packets, `gap_ns` apart, whose RTTs are uniform from low_ns to high_ns.
  void Feed(u32 low_ns, int packets, u64 gap_ns, u32 high_ns = 0, bool app_limited = false) {
    std::uniform_int_distribution<u32> rtt(low_ns, std::max(low_ns, high_ns));
    for (int i = 0; i < packets; ++i) {
      now_ += gap_ns;
      dcc_ack ack = {};
      ack.now_ns = now_;
      ack.rtt_ns = rtt(random_);
      ack.send_ns = now_ - ack.rtt_ns;
      ack.acked_bytes = kWire;
      ack.flags = app_limited ? DCC_ACK_APP_LIMITED : 0;
      dcc_tcp_take_sample(&s_, &ack, false, 1);
      if (!s_.line_told) dcc_tcp_note_line(&s_, &ack, 1);
      longest_ns_ = std::max(longest_ns_, s_.path.base_rtt_ns);
    }
  }

  // A queue that goes from low_ns to high_ns and back, so many times, by step_ns per packet.
  void Swing(int times, u32 low_ns, u32 high_ns, u32 step_ns, u64 gap_ns) {
    for (; times > 0; --times) {
      for (u32 up = low_ns; up < high_ns; up += step_ns) Feed(kBase + up, 1, gap_ns);
      for (u32 down = high_ns; down >= low_ns + step_ns; down -= step_ns)
        Feed(kBase + down, 1, gap_ns);
    }
  }

  u32 base_ns() const { return s_.path.base_rtt_ns; }
  u32 longest_ns() const { return longest_ns_; }
  u64 now_ns() const { return now_; }
  dcc_tcp* tcp() { return &s_; }

 private:
  dcc_tcp s_ = Socket();
  u64 now_ = kNow;
  u32 longest_ns_ = 0;
  std::mt19937 random_{7};
};

}  // namespace

TEST(TcpNoise, IsWhatNoisyRoundsHaveInCommon) {
  NoisyFlow flow;
  flow.Feed(kBase, 80, 1000, kBase + 10000);
  EXPECT_EQ(flow.base_ns(), kBase);  // too few rounds
  flow.Feed(kBase, 500, 1000, kBase + 10000);
  EXPECT_GT(flow.base_ns(), kBase + 3000);  // the mean is 5 us
  EXPECT_LE(flow.base_ns(), kBase + 6000);
}

TEST(TcpNoise, RoundsThatAreNotNoisyEndARow) {
  NoisyFlow flow;
  for (int row = 0; row < 10; ++row) {
    flow.Feed(kBase, 70, 1000, kBase + 10000);
    flow.Feed(kBase, 40, 1000);
  }
  EXPECT_EQ(flow.longest_ns(), kBase);
}

namespace {

// So many packets with noise, nearly level or not.
void FeedNoise(NoisyFlow* flow, bool level, int packets) {
  if (level)
    flow->Feed(kBase + 3000, packets, 2800, kBase + 5000);
  else
    flow->Feed(kBase, packets, 1000, kBase + 10000);
}

// The part of the noise that is left after 25 rounds of a level queue.
double LeftOfNoise(bool level, int packets) {
  NoisyFlow flow;
  FeedNoise(&flow, level, packets);
  const double noise_ns = flow.base_ns() - kBase;
  EXPECT_GT(noise_ns, 1000);
  flow.Feed(kBase + 10000, 550, 1000);
  return (flow.base_ns() - kBase) / noise_ns;
}

}  // namespace

TEST(TcpNoise, LastsTheLongerTheOftenerItWasProvedByLevelRounds) {
  EXPECT_LT(LeftOfNoise(true, 300), 0.3);
  EXPECT_GT(LeftOfNoise(true, 3000), 0.5);
  // What is not level shows at each rate, and is proved again.
  EXPECT_LT(LeftOfNoise(false, 500), 0.1);
}

TEST(TcpNoise, IsForgottenOnceARoundTakesLessThanANanosecondOfIt) {
  NoisyFlow flow;
  FeedNoise(&flow, true, 3000);
  flow.Feed(kBase + 10000, 12000, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
  EXPECT_EQ(flow.tcp()->noise.level_proofs, 0u);
}

TEST(TcpNoise, RareSamplesMayBeOfAQueueThatSwings) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, kBase * 3 / 4, kBase + 10000);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, RareSamplesOfAQueueThatStaysLeaveNone) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  // One of a hundred flows: the queue is ten RTTs long, and changes between two samples.
  flow.Feed(kBase + 110000, 600, 100000, kBase + 130000);
  EXPECT_LE(flow.base_ns(), kBase + 100);
}

TEST(TcpNoise, ARoundEndsWithAPause) {
  const u64 pause_ns = 100000000;
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  flow.Feed(kBase, 6, 1000);
  flow.tcp()->last_ack_ns = flow.now_ns();
  const dcc_tcp_pause pause = {flow.now_ns() + pause_ns, flow.now_ns(), 0, DCC_TCP_CA_OPEN, true};
  ASSERT_TRUE(dcc_tcp_restarts(flow.tcp(), &pause));
  // After it the flow meets a queue that grows.
  flow.Feed(kBase + 2000, 1, pause_ns);
  for (u32 queue = 0; queue < 40000; queue += 4000) flow.Feed(kBase + queue, 1, 8000);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, AStoppedFlowLearnsIt) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  // A packet in 20 ms asks whether there is still a queue.
  flow.Feed(kBase, 40, 20000000, kBase + 40000);
  EXPECT_GT(flow.base_ns(), kBase + 12000);
  EXPECT_LE(flow.base_ns(), kBase + 28000);
}

TEST(TcpNoise, ForOneOfHundredsWithHalfOfItsRateIsTheOthersQueue) {
  NoisyFlow flow;
  const u64 share_gap_ns = 800000;
  flow.Feed(kBase, 100, share_gap_ns);
  // The queue comes and goes between two packets, up to thirteen base RTTs.
  flow.Feed(kBase, 500, 2 * share_gap_ns, kBase + 160000);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, LittleOfItIsBelievedAtALowRate) {
  NoisyFlow flow;
  flow.Feed(kBase, 1000, 500, kBase + 1500);
  EXPECT_EQ(flow.longest_ns(), kBase);  // at its best rate a flow may have made a queue
  flow.Feed(kBase, 500, 900, kBase + 1500);
  EXPECT_GT(flow.base_ns(), kBase + 400);  // the mean is .75 us
  EXPECT_LE(flow.base_ns(), kBase + 900);
}

TEST(TcpNoise, SomePacketsOfItAreBelievedThoughSamplesAreRare) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  // Every second base RTT one: from one to the next a queue could change as much.
  flow.Feed(kBase, 500, 2 * kBase, kBase + 1000);
  EXPECT_GT(flow.longest_ns(), kBase + 150);  // the mean is .5 us, and a round is of both
  EXPECT_LE(flow.longest_ns(), kBase + 700);
}

TEST(TcpNoise, SomePacketsOfAQueueThatStaysAreNone) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  flow.Feed(kBase + 500, 500, 2 * kBase, kBase + 900);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, SomePacketsOfItAreNoneNearTheBestRate) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 4000);
  flow.Feed(kBase, 500, 6000, kBase + 900);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, OneRoundOfAStarvedFlowIsEnough) {
  NoisyFlow flow;
  flow.Feed(kBase, 80, 1000, kBase + 10000);
  ASSERT_EQ(flow.base_ns(), kBase);
  flow.Feed(kBase, 40, 10000, kBase + 10000);
  EXPECT_GT(flow.base_ns(), kBase + 3000);
  EXPECT_LE(flow.base_ns(), kBase + 7500);
}

TEST(TcpNoise, AQueueThatFollowsTheRateIsNone) {
  NoisyFlow flow;
  flow.Swing(10, 0, 10000, 300, 1000);
  flow.Feed(kBase, 500, 2000);  // drained
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, ALevelQueueOfOthersIsNone) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  // Newcomers: a tenth of the rate, and their target queue with its unrest.
  flow.Feed(kBase + 5500, 500, 10000, kBase + 6500);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, AQueueOfOthersThatSwingsIsNone) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000);
  // A tenth of the rate; the queue goes from 2 to 8 us and back in seven RTTs, as flows that start
  // and stop move it.
  flow.Swing(40, 2000, 8000, 500, 4000);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, GoesWhenTheDelayIsALevelQueue) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000, kBase + 10000);
  flow.Feed(kBase, 500, 2000, kBase + 10000);
  ASSERT_GT(flow.base_ns(), kBase + 3000);
  flow.Feed(kBase + 6000, 1000, 1000, kBase + 6200);
  EXPECT_LE(flow.base_ns(), kBase + 100);
}

TEST(TcpNoise, ADelayThatTurnsAllTheTimeIsNoise) {
  NoisyFlow flow;
  // ACKs that one late ACK holds back: nearly all are late, and a step is less than a quarter of
  // the time between two of them.
  flow.Feed(kBase + 3000, 500, 2800, kBase + 5000);
  EXPECT_GT(flow.base_ns(), kBase + 1500);
  EXPECT_LE(flow.base_ns(), kBase + 5000);
}

TEST(TcpNoise, AQueueThatTurnsOnceInARoundIsNone) {
  NoisyFlow flow;
  flow.Swing(100, 3000, 5400, 400, 2800);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, RareSamplesThatTurnAreNone) {
  NoisyFlow flow;
  flow.Feed(kBase, 100, 1000);
  flow.Feed(kBase + 500, 500, kBase * 3 / 4, kBase + 2500);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, AnApplicationsPausesAreNone) {
  NoisyFlow flow;
  flow.Feed(kBase, 80, 1000, kBase + 10000);
  flow.Feed(kBase, 500, 5000, kBase + 10000, true);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpNoise, GoesWhenTheDelayIsShorter) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000, kBase + 10000);
  flow.Feed(kBase, 500, 2000, kBase + 10000);
  ASSERT_GT(flow.base_ns(), kBase + 3000);
  flow.Feed(kBase, 1000, 1000, kBase + 200);
  EXPECT_LE(flow.base_ns(), kBase + 200);
}

TEST(TcpNoise, IsAtMostAQuarterOfAMillisecondAndGoesWithTheDevice) {
  NoisyFlow flow;
  flow.Feed(kBase, 500, 1000, kBase + 4000000);
  flow.Feed(kBase, 5000, 100000, kBase + 4000000);
  EXPECT_LE(flow.longest_ns(), kBase + DCC_TCP_NOISE_MAX_NS);
  EXPECT_GT(flow.longest_ns(), kBase + DCC_TCP_NOISE_MAX_NS / 2);
  dcc_tcp_set_base_rtt(flow.tcp(), 0, true);
  flow.Feed(30000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 30000u);
}

TEST(TcpNoise, IsNotLearntWhereTheBaseRttIsConfigured) {
  NoisyFlow flow;
  dcc_tcp_set_base_rtt(flow.tcp(), kBase, false);
  flow.Feed(kBase, 500, 1000, kBase + 10000);
  flow.Feed(kBase, 500, 2000, kBase + 10000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

namespace {

// A flow on a told line that was alone on it.
class TrialFlow : public NoisyFlow {
 public:
  explicit TrialFlow(bool told = true) {
    dcc_tcp_set_line(tcp(), kLine, told);
    Run(500, 100, kBase);
  }

  // So many packets, `flight` of them and the trial's in an RTT, which is longer by queue_ns for
  // each of the latter.
  void Run(int packets, u32 flight, u32 rtt_ns, u32 queue_ns = 0, bool app_limited = false) {
    for (; packets > 0; --packets) {
      const u32 extra = tcp()->doubt.extra;
      const u32 rtt = rtt_ns + extra * queue_ns;
      Feed(rtt, 1, rtt / (flight + extra), 0, app_limited);
      trials_ += extra && !was_extra_;
      was_extra_ = extra;
    }
  }

  // Until a trial goes on, with a level delay of 5 us: its packets; 0: there is none.
  u32 UntilATrial() {
    for (int i = 0; i < 1000 && !tcp()->doubt.extra; ++i) Run(1, 30, kBase + 5000);
    return tcp()->doubt.extra;
  }

  int trials() const { return trials_; }

 private:
  u32 was_extra_ = 0;
  int trials_ = 0;
};

}  // namespace

TEST(TcpLevelNoise, IsADelayThatMorePacketsDoNotChange) {
  TrialFlow flow;
  flow.Run(1100, 30, kBase + 5000);
  EXPECT_EQ(flow.longest_ns(), kBase + 5000);
  EXPECT_GE(flow.trials(), 2);
  // It is kept for long: ten level rounds and more take less than half of it.
  flow.Run(30 * 15, 30, kBase + 5000);
  EXPECT_GT(flow.base_ns(), kBase + 3000);
}

TEST(TcpLevelNoise, IsAskedForAtAnyRateWhereTheDelayIsFarLongerThanThePath) {
  TrialFlow flow;
  flow.Run(9000, 390, 4 * kBase);
  EXPECT_EQ(flow.longest_ns(), 4 * kBase);
  EXPECT_GE(flow.trials(), 2);
}

TEST(TcpLevelNoise, IsNoQueueThatGrowsByThem) {
  TrialFlow flow;
  flow.Run(10000, 30, kBase + 5000, kPacket);
  EXPECT_EQ(flow.longest_ns(), kBase);
  // Each failed trial doubles the wait for the next one, and the best rate is forgotten meanwhile.
  EXPECT_GE(flow.trials(), 2);
  EXPECT_LE(flow.trials(), 8);
}

TEST(TcpLevelNoise, IsNoQueueThatDrainsMeanwhile) {
  TrialFlow flow;
  for (u32 queue_ns = 10000; queue_ns > 1000; queue_ns -= 20)
    flow.Run(1, 30, kBase + queue_ns, kPacket / 4);
  EXPECT_GE(flow.trials(), 1);
  EXPECT_EQ(flow.longest_ns(), kBase);
}

TEST(TcpLevelNoise, IsNotAskedForByAllAtOnce) {
  std::set<u64> begins;
  for (u32 offset = 0; offset < 4096; offset += 256) {
    TrialFlow flow;
    flow.Feed(kBase, 1, 100 + offset);
    ASSERT_GT(flow.UntilATrial(), 0u);
    begins.insert((flow.now_ns() - kNow) / (kBase + 5000));
  }
  EXPECT_GE(begins.size(), 8u);
}

TEST(TcpLevelNoise, IsNotAskedForWhereItSaysNothing) {
  TrialFlow near_its_best;
  near_its_best.Run(600, 100, kBase + 5000);
  EXPECT_EQ(near_its_best.trials(), 0);
  TrialFlow one_of_dozens;
  one_of_dozens.Run(600, 8, kBase + 5000);
  EXPECT_EQ(one_of_dozens.trials(), 0);
  TrialFlow hardly_any_delay;
  hardly_any_delay.Run(600, 30, kBase + 7 * kPacket);
  EXPECT_EQ(hardly_any_delay.trials(), 0);
  TrialFlow untold(false);
  untold.Run(600, 30, kBase + 5000);
  EXPECT_EQ(untold.trials(), 0);
}

TEST(TcpLevelNoise, ATrialEndsWithTheApplicationsData) {
  TrialFlow flow;
  ASSERT_EQ(flow.UntilATrial(), 8u);
  flow.Run(1, 30, kBase + 5000, 0, true);
  EXPECT_EQ(flow.tcp()->doubt.extra, 0);
}

TEST(TcpLevelNoise, ATrialEndsWithAnotherLineRateOrPath) {
  TrialFlow flow;
  ASSERT_EQ(flow.UntilATrial(), 8u);
  dcc_tcp_set_line(flow.tcp(), kLine, true);
  EXPECT_EQ(flow.tcp()->doubt.extra, 8);
  dcc_tcp_set_line(flow.tcp(), kLine, false);
  EXPECT_EQ(flow.tcp()->doubt.extra, 0);
  TrialFlow moved;
  ASSERT_EQ(moved.UntilATrial(), 8u);
  dcc_tcp_set_base_rtt(moved.tcp(), 0, true);
  EXPECT_EQ(moved.tcp()->doubt.extra, 0);
}

// ---- sequence numbers

TEST(TcpSequence, IsComparedModulo2To32) {
  EXPECT_TRUE(dcc_seq_before(1, 2));
  EXPECT_FALSE(dcc_seq_before(2, 2));
  EXPECT_FALSE(dcc_seq_before(2, 1));
  EXPECT_TRUE(dcc_seq_before(0xfffffff0, 5));
  EXPECT_FALSE(dcc_seq_before(5, 0xfffffff0));
  EXPECT_TRUE(dcc_seq_before(0, 0x7fffffff));
}

// ---- the path

TEST(TcpPath, APacketIsPayloadAndHeadersWithinTheCoresRange) {
  dcc_tcp s = {};
  dcc_tcp_set_packet(&s, 1448, 66);
  EXPECT_EQ(s.path.wire_bytes, 1514u);
  dcc_tcp_set_packet(&s, 0, 0);
  EXPECT_EQ(s.mss, 1u);  // it is a divisor
  EXPECT_EQ(s.path.wire_bytes, DCC_PATH_WIRE_MIN_BYTES);
  dcc_tcp_set_packet(&s, 65535, 128);
  EXPECT_EQ(s.path.wire_bytes, DCC_PATH_WIRE_MAX_BYTES);
}

TEST(TcpPath, TcpsRttServesUntilTheFirstSample) {
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  v.bytes_acked = 1000000;  // sent by another algorithm
  dcc_tcp_begin(&s, &v, 15, ~0u, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, 15000u);
  EXPECT_EQ(s.rtt_ns, 15000u);
  dcc_tcp_accept_rtt(&s, 18000, false);  // longer, but of a full packet
  EXPECT_EQ(s.path.base_rtt_ns, 18000u);
  dcc_tcp_accept_rtt(&s, 17000, false);
  EXPECT_EQ(s.path.base_rtt_ns, 17000u);
  dcc_tcp_accept_rtt(&s, 19000, false);
  EXPECT_EQ(s.path.base_rtt_ns, 17000u);
  EXPECT_EQ(s.rtt_ns, 19000u);
}

TEST(TcpPath, ARepeatedSynsRttIsUnknown) {
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  v.bytes_acked = 1;
  v.total_retrans = 1;
  // The answer to the second SYN has the first one's timestamp.
  dcc_tcp_begin(&s, &v, 1000012, ~0u, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, DCC_TCP_FIRST_RTT_NS);
  EXPECT_EQ(s.handshake.rtt_ns, 0u);
  // Another algorithm's socket has retransmitted some time ago: its RTT is smoothed over much data.
  v.bytes_acked = 1000000;
  dcc_tcp_begin(&s, &v, 15, ~0u, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, 15000u);
  EXPECT_EQ(s.handshake.rtt_ns, 0u);
}

TEST(TcpPath, AnUnknownHandshakeCountsAsAMillisecondAndExtremesAreCut) {
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  dcc_tcp_begin(&s, &v, 0, ~0u, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, DCC_TCP_FIRST_RTT_NS);
  dcc_tcp_begin(&s, &v, 0xffffffff, ~0u, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, DCC_PATH_RTT_MAX_NS);
  dcc_tcp_accept_rtt(&s, 0, false);
  EXPECT_EQ(s.rtt_ns, 1u);  // it is a divisor
  EXPECT_EQ(s.path.base_rtt_ns, DCC_PATH_RTT_MIN_NS);
}

TEST(TcpPath, AConfiguredBaseRttIsNotMeasured) {
  dcc_tcp s = Socket();
  dcc_tcp_accept_rtt(&s, 5000, false);
  EXPECT_EQ(s.path.base_rtt_ns, kBase);
  dcc_tcp_guess_base_rtt(&s, 5000);
  EXPECT_EQ(s.path.base_rtt_ns, kBase);
  // Taken back: the next sample replaces it, even a longer one.
  dcc_tcp_set_base_rtt(&s, 0, false);
  EXPECT_EQ(s.path.base_rtt_ns, kBase);
  dcc_tcp_accept_rtt(&s, 14000, false);
  EXPECT_EQ(s.path.base_rtt_ns, 14000u);
}

TEST(TcpPath, ABaseRttThatIsToldOrGuessedHasNoNoiseInIt) {
  dcc_tcp s = Socket();
  dcc_tcp_set_base_rtt(&s, 0, false);
  dcc_tcp_accept_rtt(&s, 10000, false);
  s.noise.mean_ns = 3000;
  dcc_tcp_apply_noise(&s);
  EXPECT_EQ(s.path.base_rtt_ns, 13000u);
  EXPECT_EQ(s.path.noise_ns, 3000u);
  dcc_tcp told = s;
  dcc_tcp_set_base_rtt(&told, kBase, false);
  EXPECT_EQ(told.path.noise_ns, 0u);
  // On another path the old base RTT stays in use, with its noise, until there is a better one.
  dcc_tcp_set_base_rtt(&s, 0, true);
  EXPECT_EQ(s.path.noise_ns, 3000u);
  dcc_tcp_guess_base_rtt(&s, 20000);
  EXPECT_EQ(s.path.base_rtt_ns, 20000u);
  EXPECT_EQ(s.path.noise_ns, 0u);
}

TEST(TcpPath, ANewDeviceMeasuresAnewAndARenewedRouteDoesNot) {
  dcc_tcp s = Socket();
  dcc_tcp_set_base_rtt(&s, 0, false);
  dcc_tcp_accept_rtt(&s, 10000, false);
  dcc_tcp_set_base_rtt(&s, 0, false);
  dcc_tcp_accept_rtt(&s, 30000, false);
  EXPECT_EQ(s.path.base_rtt_ns, 10000u);
  dcc_tcp_set_base_rtt(&s, 0, true);
  dcc_tcp_accept_rtt(&s, 30000, false);
  EXPECT_EQ(s.path.base_rtt_ns, 30000u);
}

TEST(TcpPath, TheSmallestRttOfSmallPacketsServesUntilAFullOneWasMeasured) {
  dcc_tcp s = Socket();
  dcc_tcp_set_base_rtt(&s, 0, false);
  dcc_tcp_accept_rtt(&s, 14000, true);
  EXPECT_EQ(s.path.base_rtt_ns, 14000u);
  dcc_tcp_accept_rtt(&s, 11000, true);
  EXPECT_EQ(s.path.base_rtt_ns, 11000u);
  dcc_tcp_accept_rtt(&s, 13000, true);
  EXPECT_EQ(s.path.base_rtt_ns, 11000u);
  EXPECT_FALSE(s.base_measured);
  dcc_tcp_accept_rtt(&s, 12500, false);  // longer, but of a full packet
  EXPECT_EQ(s.path.base_rtt_ns, 12500u);
  dcc_tcp_accept_rtt(&s, 10000, true);  // faster only by what it lacks
  EXPECT_EQ(s.path.base_rtt_ns, 12500u);
  EXPECT_EQ(s.rtt_ns, 10000u);
  // Another device: small packets serve again.
  dcc_tcp_set_base_rtt(&s, 0, true);
  dcc_tcp_accept_rtt(&s, 30000, true);
  EXPECT_EQ(s.path.base_rtt_ns, 30000u);
}

TEST(TcpPath, AnAckOfLessThanFullPacketsIsSmall) {
  dcc_tcp s = Socket();
  dcc_tcp_set_base_rtt(&s, 0, false);
  dcc_tcp_view v = Ack();
  v.rtt_us = 13;
  Sample(&s, v, kNow - 13000);
  EXPECT_EQ(s.path.base_rtt_ns, 13000u);
  v.rtt_us = 12;
  // The last of two packets lacks a byte.
  v.bytes_acked += 2 * kMss - 1;
  v.acked_sacked = 2;
  Sample(&s, v, kNow - 12000);
  EXPECT_EQ(s.path.base_rtt_ns, 13000u);
  v.bytes_acked += 2 * kMss;
  Sample(&s, v, kNow - 12000);
  EXPECT_EQ(s.path.base_rtt_ns, 12000u);
}

TEST(TcpPath, ASmallPacketsRttServesOnlyUntilAFullOneWasMeasured) {
  dcc_tcp s = Socket();
  dcc_tcp_set_base_rtt(&s, 0, false);
  dcc_tcp_guess_base_rtt(&s, 11000);
  EXPECT_EQ(s.path.base_rtt_ns, 11000u);
  dcc_tcp_accept_rtt(&s, 12000, false);
  dcc_tcp_guess_base_rtt(&s, 11000);
  EXPECT_EQ(s.path.base_rtt_ns, 12000u);
}

// ---- the handshake's RTT

namespace {

constexpr u32 kHandshake = kBase - 350;  // three links

// A flow that measures its base RTT and knows its handshake's RTT.
class NewFlow : public NoisyFlow {
 public:
  explicit NewFlow(u32 handshake_ns = kHandshake, bool known_to_ns = true) : NoisyFlow(false) {
    dcc_tcp_view v = {};
    v.now_ns = kNow;
    v.bytes_acked = 1;
    *tcp() = {};
    dcc_tcp_begin(tcp(), &v, handshake_ns / 1000, ~0u, known_to_ns ? kNow - handshake_ns : 0, 10);
    tcp()->path.line_rate_bps = kLine;
    tcp()->line_told = 1;
    dcc_tcp_set_packet(tcp(), kMss, kHeader);
    dcc_tcp_set_base_rtt(tcp(), 0, false);
  }
};

}  // namespace

TEST(TcpHandshake, IsTheBaseRttOfAFlowThatStartsInAQueue) {
  NewFlow flow;
  flow.Feed(kBase + 30000, 1, 1000);
  // Two full packets' time longer.
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
  // The flows' own queue, at their target: flat, and longer than any link makes it.
  flow.Feed(kBase + 6000, 1000, 1000, kBase + 6200);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
}

TEST(TcpHandshake, IsTheSameBaseRttForFlowsThatSeeTheQueueBegin) {
  NewFlow flow;
  for (u32 queue = 0; queue < 20000; queue += kPacket) flow.Feed(kBase + queue, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
}

TEST(TcpHandshake, KnowsAPacketsTimeByTheBestRateWhereTheLineRateIsADevices) {
  // A link of a thousandth of the device's rate.
  const u32 packet = 1000 * kPacket;
  {
    NewFlow alone;
    alone.tcp()->line_told = 0;
    alone.Feed(kBase + packet, 100, packet);
    EXPECT_EQ(alone.base_ns(), kBase + packet);
  }
  NewFlow flow;
  flow.tcp()->line_told = 0;
  // In a queue of 100 packets; a tenth of the link is the flow's.
  flow.Feed(kBase + 100 * packet, 20, 10 * packet);
  EXPECT_NEAR(flow.base_ns(), kHandshake + 20 * packet, packet);
  // Half of it.
  flow.Feed(kBase + 100 * packet, 100, 2 * packet);
  EXPECT_NEAR(flow.base_ns(), kHandshake + 4 * packet, packet / 10);
}

TEST(TcpHandshake, IsNotAskedAgainAfterARoundOnTheIdlePath) {
  const u32 packet = 1000 * kPacket;
  NewFlow flow;
  flow.tcp()->line_told = 0;
  // Five slow links; packets come one by one, that is seldom, and then in a row.
  flow.Feed(kBase + 5 * packet, 100, packet);
  EXPECT_EQ(flow.base_ns(), kBase + 5 * packet);
  flow.Feed(kBase + 9 * packet, 100, packet);
  EXPECT_EQ(flow.base_ns(), kBase + 5 * packet);
}

TEST(TcpHandshake, LeavesABaseRttAloneThatIsToldLater) {
  for (const u8 told : {0, 1}) {
    NewFlow flow;
    flow.tcp()->line_told = told;
    flow.Feed(kBase + 100000, 2000, kPacket);
    ASSERT_LT(flow.base_ns(), kBase + 100000);
    dcc_tcp_set_base_rtt(flow.tcp(), 15000, false);
    flow.Feed(kBase, 2000, kPacket / 2);  // shorter RTTs, an idle path, a better rate
    EXPECT_EQ(flow.base_ns(), 15000u);
  }
}

TEST(TcpHandshake, OfASocketThatHadAnotherAlgorithmIsTcpsLeastRtt) {
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  v.bytes_acked = 1000000;
  dcc_tcp_begin(&s, &v, 250, 21, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, 21000u);
  s.path.line_rate_bps = kLine;
  s.line_told = 1;
  dcc_tcp_set_packet(&s, kMss, kHeader);
  dcc_tcp_accept_rtt(&s, 240000, false);
  EXPECT_EQ(s.path.base_rtt_ns, 21000 + 2 * kPacket);
  // The timestamp option's milliseconds may be short by one.
  s = {};
  dcc_tcp_begin(&s, &v, 25000, 20000, 0, 10);
  EXPECT_EQ(s.path.base_rtt_ns, 21000000u);
  for (const u32 unknown : {0u, ~0u}) {
    s = {};
    dcc_tcp_begin(&s, &v, 250, unknown, 0, 10);
    EXPECT_EQ(s.path.base_rtt_ns, 250000u);
    EXPECT_EQ(s.handshake.rtt_ns, 0u);
  }
}

TEST(TcpHandshake, GivesWayToAShorterRttOfData) {
  NewFlow flow(40000);
  flow.Feed(50000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), 40000 + 2 * kPacket);
  flow.Feed(kBase, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Feed(50000, 100, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpHandshake, GivesWayToARoundOnTheIdlePath) {
  NewFlow flow(kBase - 6 * kPacket);  // six links
  flow.Feed(kBase, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase - 4 * kPacket);
  flow.Feed(kBase, 50, 1000, kBase + kPacket / 2);
  EXPECT_GE(flow.base_ns(), kBase);
  EXPECT_LE(flow.base_ns(), kBase + kPacket / 2);
}

TEST(TcpHandshake, GivesWayToTheLastNanosecondOnTheIdlePath) {
  NewFlow flow;
  flow.Feed(kBase, 100, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

// A clock that stood still; the path memory keeps what this says.
TEST(TcpHandshake, GivesWayToNothingBelowTheLeastRttOfAPath) {
  NewFlow flow(1);
  flow.tcp()->least_rtt_ns = DCC_PATH_RTT_MIN_NS;
  flow.tcp()->handshake.least_data_ns = DCC_PATH_RTT_MIN_NS;
  flow.tcp()->handshake.in_use = 1;
  flow.tcp()->base_measured = 1;
  flow.Feed(1, 100, 1000);
  EXPECT_EQ(flow.tcp()->handshake.in_use, 0);
  EXPECT_EQ(flow.tcp()->least_rtt_ns, DCC_PATH_RTT_MIN_NS);
}

TEST(TcpHandshake, StaysInALevelQueueThatTheFlowSawBegin) {
  NewFlow flow;
  flow.Feed(kBase, 1, 1000);
  flow.Feed(kBase + 8 * kPacket, 100, 1000);  // flows that start together, for a round trip
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
  flow.Feed(kBase, 100, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpHandshake, InMicrosecondsGivesWayWithinItsError) {
  NewFlow flow(kBase - 1000 - 2 * kPacket - 700, false);
  flow.Feed(kBase, 50, 1000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpHandshake, GivesWayWhenTheFlowStarves) {
  // A middlebox at half of the way has answered.
  NewFlow flow(kBase / 2);
  flow.Feed(kBase, 100, 1000);
  ASSERT_EQ(flow.base_ns(), kBase / 2 + 2 * kPacket);
  flow.Feed(kBase, 30, 20000);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpHandshake, StaysWhenOthersStarveTheFlow) {
  NewFlow flow;
  flow.Feed(kBase + 500, 1, 1000);
  flow.Feed(kBase + 6000, 100, 1000, kBase + 6200);
  flow.Feed(kBase + 6000, 100, 20000, kBase + 6200);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
}

TEST(TcpHandshake, CountsForNothingWhereTheBaseRttIsConfiguredOrTheDeviceIsAnother) {
  NewFlow told;
  dcc_tcp_set_base_rtt(told.tcp(), 20000, false);
  told.Feed(kBase + 30000, 100, 1000);
  EXPECT_EQ(told.base_ns(), 20000u);
  NewFlow moved;
  dcc_tcp_set_base_rtt(moved.tcp(), 0, true);
  moved.Feed(kBase + 30000, 100, 1000);
  EXPECT_EQ(moved.base_ns(), kBase + 30000);
}

// ---- the path memory

namespace {

// A flow whose path is known; its handshake took so long.
class KnowingFlow : public NewFlow {
 public:
  explicit KnowingFlow(u32 handshake_ns, u32 known_ns = kBase, u32 noise_ns = 0, bool exact = true)
      : NewFlow(handshake_ns) {
    const dcc_tcp_known known = {known_ns, noise_ns, exact};
    dcc_tcp_trust(tcp(), &known);
  }

  // What it tells later ones; {0, 0, false}: nothing.
  dcc_tcp_known knows() {
    dcc_tcp_known known = {};
    return dcc_tcp_knows(tcp(), &known) ? known : dcc_tcp_known{};
  }
};

}  // namespace

TEST(TcpMemory, IsTheBaseRttOfAFlowThatIsMadeWhileAQueueStands) {
  KnowingFlow flow(kHandshake + 6000);
  EXPECT_EQ(flow.base_ns(), kBase);
  flow.Feed(kBase + 6000, 1000, 1000, kBase + 6200);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpMemory, IsAlsoKnownBeforeTheFirstFullPacket) {
  KnowingFlow flow(kHandshake + 6000);
  dcc_tcp_guess_base_rtt(flow.tcp(), kBase + 5000);
  EXPECT_EQ(flow.base_ns(), kBase);
  dcc_tcp_accept_rtt(flow.tcp(), kBase + 5000, true);
  EXPECT_EQ(flow.base_ns(), kBase);
  dcc_tcp_accept_rtt(flow.tcp(), kBase - 200, true);
  EXPECT_EQ(flow.base_ns(), kBase - 200);
  dcc_tcp_accept_rtt(flow.tcp(), kBase + 5000, false);
  EXPECT_EQ(flow.base_ns(), kBase);
}

TEST(TcpMemory, BeginsWithTheNoiseOfTheHosts) {
  KnowingFlow flow(kHandshake + 6000, kBase, 3000);
  EXPECT_EQ(flow.base_ns(), kBase + 3000);
  EXPECT_EQ(flow.tcp()->path.noise_ns, 3000u);
  // It goes where there is none.
  flow.Feed(kBase, 1000, 1000);
  EXPECT_LT(flow.base_ns(), kBase + 10);
}

TEST(TcpMemory, GivesWayToAShorterRttOfData) {
  KnowingFlow flow(kHandshake + 6000);
  flow.Feed(kBase - 3000, 1, 1000);
  EXPECT_EQ(flow.base_ns(), kBase - 3000);
}

TEST(TcpMemory, OfAQueueGivesWayToTheHandshake) {
  KnowingFlow flow(kHandshake, kBase + 6000);
  flow.Feed(kBase + 6000, 100, 1000, kBase + 6200);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
}

TEST(TcpMemory, OfAHandshakeIsNoBetterThanTheFlowsOwn) {
  KnowingFlow flow(kHandshake, kHandshake + 3 * kPacket, 0, false);
  flow.Feed(kBase + 6000, 100, 1000, kBase + 6200);
  EXPECT_EQ(flow.base_ns(), kHandshake + 2 * kPacket);
  EXPECT_FALSE(flow.knows().exact);
}

TEST(TcpMemory, IsNotBelievedIfTheHandshakeTookMuchLonger) {
  KnowingFlow flow(3 * kBase + 1000);
  flow.Feed(4 * kBase, 100, 1000);
  EXPECT_GE(flow.base_ns(), 3 * kBase);
}

TEST(TcpMemory, GivesWayWhenTheFlowStarves) {
  // The path has become longer.
  KnowingFlow flow(2 * kBase - 350);
  flow.Feed(2 * kBase, 100, 1000);
  ASSERT_EQ(flow.base_ns(), kBase);
  EXPECT_FALSE(flow.tcp()->known_wrong);
  flow.Feed(2 * kBase, 30, 20000);
  EXPECT_EQ(flow.base_ns(), 2 * kBase);
  EXPECT_TRUE(flow.tcp()->known_wrong);
  flow.Feed(2 * kBase + 6000, 100, 1000);
  EXPECT_EQ(flow.base_ns(), 2 * kBase);
}

TEST(TcpMemory, CountsForNothingWhereTheBaseRttIsTold) {
  NewFlow flow;
  EXPECT_TRUE(dcc_tcp_may_trust(flow.tcp()));
  dcc_tcp_set_base_rtt(flow.tcp(), 20000, false);
  EXPECT_FALSE(dcc_tcp_may_trust(flow.tcp()));
  flow.Feed(kBase + 6000, 100, 1000);
  EXPECT_EQ(flow.base_ns(), 20000u);
  dcc_tcp_known learnt = {};
  EXPECT_FALSE(dcc_tcp_knows(flow.tcp(), &learnt));
}

TEST(TcpMemory, CountsForNothingWhereTheLineRateIsADevices) {
  NewFlow flow(kHandshake + 6000);
  flow.tcp()->line_told = 0;
  EXPECT_FALSE(dcc_tcp_may_trust(flow.tcp()));
}

TEST(TcpMemory, IsOfOneDevice) {
  KnowingFlow flow(kHandshake + 6000);
  dcc_tcp_set_base_rtt(flow.tcp(), 0, true);
  flow.Feed(kBase + 6000, 100, 1000);
  EXPECT_EQ(flow.base_ns(), kBase + 6000);
}

TEST(TcpMemory, LearnsWhatFullPacketsMeasure) {
  KnowingFlow flow(kHandshake, 0);
  EXPECT_EQ(flow.knows().least_rtt_ns, 0u);  // no packet yet
  dcc_tcp_accept_rtt(flow.tcp(), kBase - 100, true);
  EXPECT_EQ(flow.knows().least_rtt_ns, 0u);  // no full one
  flow.Feed(kBase + 6000, 1, 1000);
  EXPECT_EQ(flow.knows().least_rtt_ns, kHandshake + 2 * kPacket);
  EXPECT_FALSE(flow.knows().exact);
  flow.Feed(kBase, 50, 1000);
  EXPECT_EQ(flow.knows().least_rtt_ns, kBase);
  EXPECT_TRUE(flow.knows().exact);
  flow.Feed(kBase, 500, 1000, kBase + 10000);
  EXPECT_GT(flow.knows().noise_ns, 3000u);
  EXPECT_EQ(flow.knows().least_rtt_ns, kBase);
}

TEST(TcpMemory, PassesOnWhatItHadFromOthers) {
  KnowingFlow flow(kHandshake + 6000);
  flow.Feed(kBase + 6000, 100, 1000, kBase + 6200);
  EXPECT_EQ(flow.knows().least_rtt_ns, kBase);
  EXPECT_TRUE(flow.knows().exact);
}

namespace {

constexpr u32 kLifetime = 600;

dcc_tcp_memory Remembered(u32 least_ns, bool exact = true) {
  dcc_tcp_memory m = {};
  const dcc_tcp_known known = {least_ns, 100, exact};
  EXPECT_TRUE(dcc_tcp_memory_take(&m, &known, kNow, kLifetime));
  return m;
}

// What is there of `before` after a connection has told `known`, `after_s` later.
dcc_tcp_memory After(dcc_tcp_memory before, const dcc_tcp_known& known, u64 after_s = 1) {
  const u64 now_ns = kNow + after_s * DCC_NS_PER_S;
  const bool taken = dcc_tcp_memory_take(&before, &known, now_ns, kLifetime);
  EXPECT_EQ(taken, before.noted_ns == now_ns);
  return before;
}

}  // namespace

TEST(TcpMemory, HasTheLeastRttOfAll) {
  const dcc_tcp_memory m = Remembered(kBase);
  EXPECT_EQ(After(m, {kBase - 100, 200, true}).known.least_rtt_ns, kBase - 100);
  EXPECT_EQ(After(m, {kBase / 2, 200, true}).known.least_rtt_ns, kBase / 2);
  EXPECT_EQ(After(m, {kBase + 100, 200, true}).known.least_rtt_ns, kBase);
  EXPECT_EQ(After(m, {kBase + 100, 200, true}).known.noise_ns, 200u);
}

TEST(TcpMemory, IsNotConfirmedByAQueue) {
  const dcc_tcp_memory m = Remembered(kBase);
  const dcc_tcp_memory after = After(m, {kBase + 6000, 200, true}, kLifetime);
  EXPECT_EQ(after.known.least_rtt_ns, kBase);
  EXPECT_EQ(after.known.noise_ns, 100u);
  EXPECT_EQ(after.noted_ns, kNow);
  EXPECT_EQ(After(m, {kBase + 6000, 200, true}, kLifetime + 1).known.least_rtt_ns, kBase + 6000);
}

TEST(TcpMemory, OfFullPacketsCountsForMoreThanAHandshakes) {
  EXPECT_EQ(After(Remembered(kBase), {kBase - 100, 0, false}).known.least_rtt_ns, kBase);
  EXPECT_TRUE(After(Remembered(kBase), {kBase - 100, 0, false}).known.exact);
  EXPECT_EQ(After(Remembered(kBase - 100, false), {kBase, 0, true}).known.least_rtt_ns, kBase);
  // Full packets in a queue do not.
  EXPECT_EQ(After(Remembered(kBase + 6000), {kBase - 100, 0, false}).known.least_rtt_ns,
            kBase - 100);
  EXPECT_EQ(After(Remembered(kBase - 100, false), {kBase + 6000, 0, true}).known.least_rtt_ns,
            kBase - 100);
}

TEST(TcpMemory, HasAnAgeOnAnyClock) {
  const dcc_tcp_memory m = Remembered(kBase);
  EXPECT_EQ(dcc_tcp_memory_age_ns(&m, kNow + 5), 5u);
  EXPECT_EQ(dcc_tcp_memory_age_ns(&m, kNow - 5), 0u);
  const dcc_tcp_memory before_boot = {{kBase, 0, true}, 0 - 7 * DCC_NS_PER_S};
  EXPECT_EQ(dcc_tcp_memory_age_ns(&before_boot, DCC_NS_PER_S), 8 * DCC_NS_PER_S);
}

TEST(TcpMemory, HearsOfEachChangeAndOnceASecond) {
  NewFlow flow;
  EXPECT_TRUE(dcc_tcp_has_news(flow.tcp(), kNow));
  dcc_tcp_told(flow.tcp(), kNow);
  EXPECT_FALSE(dcc_tcp_has_news(flow.tcp(), kNow));
  flow.Feed(kBase, 1, 1000);
  EXPECT_TRUE(dcc_tcp_has_news(flow.tcp(), kNow));
  dcc_tcp_told(flow.tcp(), kNow);
  EXPECT_FALSE(dcc_tcp_has_news(flow.tcp(), kNow + DCC_TCP_TELL_NS - 1));
  EXPECT_TRUE(dcc_tcp_has_news(flow.tcp(), kNow + DCC_TCP_TELL_NS));
}

// ---- the send time

TEST(TcpSendTime, ANoteCountsIfItAgreesWithTheKernelsMicroseconds) {
  dcc_tcp s = Socket();
  const dcc_tcp_view v = Ack();
  for (const int error : {-999, 0, 999})
    EXPECT_EQ(dcc_tcp_send_ns(&s, &v, kNow - 12000 + error), kNow - 12000 + error) << error;
  // The middle of the microsecond otherwise.
  for (const int error : {-1000, 1000, -1000000})
    EXPECT_EQ(dcc_tcp_send_ns(&s, &v, kNow - 12000 + error), kNow - 12000 + 500) << error;
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, 0), kNow - 12000 + 500);
}

TEST(TcpSendTime, IsBeforeNow) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.rtt_us = 0;
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, 0), kNow - 1);
}

TEST(TcpSendTime, IsUnknownWithoutAnRtt) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.rtt_us = -1;
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, kNow - 12000), 0u);
}

TEST(TcpSendTime, AWholeMillisecondAfterARetransmissionIsTheTimestampOptions) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.rtt_us = 1000;
  EXPECT_NE(dcc_tcp_send_ns(&s, &v, 0), 0u);
  s.retransmitted = 1;
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, 0), 0u);
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, kNow - 1000000), kNow - 1000000);
  v.rtt_us = 1001;
  EXPECT_NE(dcc_tcp_send_ns(&s, &v, 0), 0u);
}

TEST(TcpSendTime, OfARetransmissionCountsOnlyForALawThatAsksForIt) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.is_retrans = true;
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, kNow - 30500), 0u);
  s.times_retrans = 1;
  EXPECT_EQ(dcc_tcp_send_ns(&s, &v, kNow - 30500), kNow - 30500);
}

TEST(TcpSendTime, OfARetransmissionIsRacksIfItIsThisAcks) {
  EXPECT_EQ(dcc_tcp_retrans_ns(970, 30, 1000, 1000400), 970500u);
  EXPECT_EQ(dcc_tcp_retrans_ns(960, 30, 1000, 1000400), 0u);  // of an older ACK
  EXPECT_EQ(dcc_tcp_retrans_ns(1000, 0, 1000, 1000400), 0u);
  EXPECT_EQ(dcc_tcp_retrans_ns(999, 1, 1000, 999400), 999399u);
}

TEST(TcpRetransmissions, MakeRttsAmbiguousUpToWhatWasInFlight) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.total_retrans = 1;
  v.snd_nxt = 1000;
  v.last_end_seq = 500;
  dcc_tcp_note_retrans(&s, &v);
  EXPECT_TRUE(s.retransmitted);
  v.snd_nxt = 5000;
  v.last_end_seq = 1000;
  dcc_tcp_note_retrans(&s, &v);
  EXPECT_TRUE(s.retransmitted);
  v.last_end_seq = 1001;
  dcc_tcp_note_retrans(&s, &v);
  EXPECT_FALSE(s.retransmitted);
}

TEST(TcpRetransmissions, OfAnotherAlgorithmsTimeAreAssumedOfWhatIsInFlight) {
  dcc_tcp s = {};
  dcc_tcp_view v = Ack();
  dcc_tcp_begin(&s, &v, 12, ~0u, 0, 10);
  EXPECT_TRUE(s.retransmitted);
  v.packets_out = 0;
  dcc_tcp_begin(&s, &v, 12, ~0u, 0, 10);
  EXPECT_FALSE(s.retransmitted);
}

// ---- delivered bytes

TEST(TcpDelivered, BytesAreThoseOnTheWire) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.bytes_acked = 2 * kMss;
  v.acked_sacked = 2;
  EXPECT_EQ(dcc_tcp_delivered_bytes(&s, &v), 2 * kWire);
  // A short last packet.
  v.bytes_acked += 100;
  v.acked_sacked = 1;
  EXPECT_EQ(dcc_tcp_delivered_bytes(&s, &v), 100 + kHeader);
}

TEST(TcpDelivered, SelectivelyAcknowledgedPacketsCountOnce) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.bytes_acked = 0;
  v.sacked_out = 3;
  v.acked_sacked = 3;
  EXPECT_EQ(dcc_tcp_delivered_bytes(&s, &v), 3 * kWire);
  // The hole is filled: bytes_acked makes up for all four, one of them is new.
  v.bytes_acked = 4 * kMss;
  v.sacked_out = 0;
  v.acked_sacked = 1;
  EXPECT_EQ(dcc_tcp_delivered_bytes(&s, &v), kWire);
  v.bytes_acked = 5 * kMss;
  EXPECT_EQ(dcc_tcp_delivered_bytes(&s, &v), kWire);
}

TEST(TcpDelivered, BytesSaturate) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.bytes_acked = 1ULL << 40;
  EXPECT_EQ(dcc_tcp_delivered_bytes(&s, &v), 0xffffffffu);
}

TEST(TcpDelivered, FlightIsWhatWasDeliveredSinceAndThePacketItself) {
  dcc_tcp_view v = Ack();
  EXPECT_EQ(dcc_tcp_flight_packets(&v), 10u);
  v.delivered = 3;
  v.prior_delivered = 0xfffffffe;  // wraps
  EXPECT_EQ(dcc_tcp_flight_packets(&v), 5u);
  v.prior_delivered = 3;
  EXPECT_EQ(dcc_tcp_flight_packets(&v), 1u);
}

// ---- held ACKs

TEST(TcpHeldAck, OnlyAPeerThatWasSeenToWaitMayHoldTheAckOfAllInFlight) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  EXPECT_FALSE(dcc_tcp_may_be_held(&s, &v));
  // Two packets with one ACK.
  v.acked_sacked = 2;
  EXPECT_TRUE(dcc_tcp_may_be_held(&s, &v));
  v.acked_sacked = 1;
  EXPECT_TRUE(dcc_tcp_may_be_held(&s, &v));
  v.packets_out = 1;
  EXPECT_FALSE(dcc_tcp_may_be_held(&s, &v));
}

TEST(TcpHeldAck, AnAckThatAnAnswerCarriesMayBeHeld) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.data_segs_in = 1;
  EXPECT_TRUE(dcc_tcp_may_be_held(&s, &v));
  EXPECT_FALSE(dcc_tcp_may_be_held(&s, &v));
}

TEST(TcpHeldAck, LossesDoNotMakeAPeerOneThatWaits) {
  for (int i = 0; i < 3; ++i) {
    dcc_tcp s = Socket();
    dcc_tcp_view v = Ack();
    v.acked_sacked = 2;
    if (i == 0) v.sacked_out = 1;
    if (i == 1) s.retransmitted = 1;
    if (i == 2) v.ca_state = DCC_TCP_CA_RECOVERY;
    dcc_tcp_may_be_held(&s, &v);
    EXPECT_FALSE(s.stretched_acks) << i;
  }
}

TEST(TcpHeldAck, IsCertainWhereNoQueueLastsAsLong) {
  dcc_tcp s = Socket();
  const u32 limit = DCC_TCP_HELD_ACK_NS + kBase;
  EXPECT_FALSE(dcc_tcp_is_held(&s, limit, 1, true));
  EXPECT_TRUE(dcc_tcp_is_held(&s, limit + 1, 1, false));
  EXPECT_TRUE(dcc_tcp_is_held(&s, limit + 1, 2, true));
  EXPECT_FALSE(dcc_tcp_is_held(&s, limit + 1, 2, false));
}

TEST(TcpHeldAck, CameSoonMeansWithin20MsAndTheBaseRtt) {
  dcc_tcp s = Socket();
  dcc_ack ack = {};
  ack.rtt_ns = DCC_TCP_HELD_ACK_NS + kBase;
  EXPECT_TRUE(dcc_tcp_came_soon(&s, &ack));
  ack.rtt_ns++;
  EXPECT_FALSE(dcc_tcp_came_soon(&s, &ack));
}

// ---- the sample

TEST(TcpSample, HasTheRttInNanosecondsAndBytesOnTheWire) {
  dcc_tcp s = Socket();
  const dcc_ack ack = Sample(&s, Ack(), kNow - 12345);
  EXPECT_EQ(ack.now_ns, kNow);
  EXPECT_EQ(ack.send_ns, kNow - 12345);
  EXPECT_EQ(ack.rtt_ns, 12345u);
  EXPECT_EQ(ack.acked_bytes, kWire);
  EXPECT_EQ(ack.inflight_bytes, 10 * kWire);
  EXPECT_EQ(ack.flags, 0u);
  EXPECT_EQ(ack.flows, 0u);
  EXPECT_EQ(s.rtt_ns, 12345u);
}

TEST(TcpSample, AnAckThatDeliversNothingIsNone) {
  dcc_ack ack = {};
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.acked_sacked = 0;
  v.total_retrans = 1;
  EXPECT_FALSE(dcc_tcp_sample(&s, &v, 0, &ack));
  // What it says of retransmissions and bytes is kept all the same.
  EXPECT_TRUE(s.retransmitted);
  EXPECT_EQ(s.bytes_acked, kMss);
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
  EXPECT_EQ(s.rtt_ns, 20000u);  // as before
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
  EXPECT_TRUE(s.delayed_acks);
  EXPECT_EQ(s.rtt_ns, 20000u);
}

TEST(TcpSample, WhatTcpCallsDelayedIsDelayed) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.is_ack_delayed = true;
  EXPECT_EQ(Sample(&s, v, 0).flags, DCC_ACK_DELAYED);
  EXPECT_FALSE(s.delayed_acks);
}

TEST(TcpSample, TheAckOfTheLastDataCountsOnlyIfItIsShorterThanTheNewest) {
  dcc_tcp s = Socket();
  s.stretched_acks = 1;
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.all_sent = true;
  v.rtt_us = 25;
  EXPECT_EQ(Sample(&s, v, kNow - 25000).flags, DCC_ACK_DELAYED);
  EXPECT_EQ(s.rtt_ns, 20000u);
  v.rtt_us = 15;
  EXPECT_EQ(Sample(&s, v, kNow - 15000).flags, 0u);
  EXPECT_EQ(s.rtt_ns, 15000u);
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

// ---- loss

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

namespace {

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

}  // namespace

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

TEST(TcpIdle, TakesTheBaseRttWhereTheNewestIsShorter) {
  dcc_tcp s = Acked();
  s.rtt_ns = 1000;
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

TEST(TcpWindow, IsTwoPacketsForAPeerThatHeldAnAck) {
  dcc_tcp s = Socket();
  const dcc_control c = Control(0.5, kLine / 2);
  s.delayed_acks = 1;
  EXPECT_EQ(dcc_tcp_window(&s, &c, 1000, 8, 100), 2u);
}

TEST(TcpWindow, IsTwoPacketsForAFlowThatPausedNotLongAgo) {
  dcc_tcp s = Socket();
  s.stretched_acks = 1;
  s.paused_delivered = 0xffffffff;  // wraps
  EXPECT_EQ(dcc_tcp_least_window(&s, DCC_TCP_PAUSE_PACKETS - 2), 2u);
  EXPECT_EQ(dcc_tcp_least_window(&s, DCC_TCP_PAUSE_PACKETS - 1), 1u);
  s.stretched_acks = 0;
  EXPECT_EQ(dcc_tcp_least_window(&s, 0), 1u);
  // A new socket has not paused.
  s = Socket();
  s.stretched_acks = 1;
  EXPECT_EQ(dcc_tcp_least_window(&s, 0), 1u);
}

TEST(TcpWindow, APauseIsTheAckOfAllDataWithNoneWaiting) {
  dcc_tcp s = Socket();
  dcc_tcp_view v = Ack();
  v.packets_out = 0;
  v.delivered = 500;
  dcc_tcp_may_be_held(&s, &v);
  EXPECT_NE(s.paused_delivered, 500u);
  v.all_sent = true;
  dcc_tcp_may_be_held(&s, &v);
  EXPECT_EQ(s.paused_delivered, 500u);
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
  s.rtt_ns = s.path.base_rtt_ns = DCC_PATH_RTT_MAX_NS;
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

TEST(TcpPace, IgnoresTheRttOfADrainingStartUp) {
  dcc_tcp s = Socket();
  const dcc_control c = Control(0.5, kLine);
  s.rtt_ns = 1000 * kBase;
  EXPECT_EQ(dcc_tcp_window_rtt_ns(&s), 12u * kBase);
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 0.5 * kMss / (12e-9 * kBase), 1);
}

TEST(TcpPace, HasNoOverflowAtTheEndsOfItsRange) {
  dcc_tcp s = Socket();
  dcc_tcp_set_packet(&s, 65535, 0);
  dcc_control c = Control(0, 2 * DCC_PATH_RATE_MAX_BPS);
  c.cwnd_q16 = DCC_WINDOW_ONE - 1;
  s.rtt_ns = s.path.base_rtt_ns = DCC_PATH_RTT_MIN_NS;
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 65535ull * 65535 * 1000000000 / 1000 / 65536);
  c.cwnd_q16 = DCC_WINDOW_ONE;
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 2 * DCC_PATH_RATE_MAX_BPS / 8);
}

// At a device's rate the window of a law without a pace of its own would be one burst.
TEST(TcpPace, IsTwoWindowsPerBaseRttWhereNobodyHasToldTheLineRate) {
  dcc_tcp s = Socket();
  s.path.grain_ns = kBase / 4;
  s.line.window = 1000;
  dcc_control c = Control(10, kLine);
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 2 * 10 * kMss / (1e-9 * kBase), kMss);
  c = Control(10, 200 * kWire * 8);  // a slower pace stays
  EXPECT_EQ(dcc_tcp_pace(&s, &c), 200 * kMss);
  c = Control(1000, kLine);  // and so does the line's
  EXPECT_EQ(dcc_tcp_pace(&s, &c), kLine / 8 * kMss / kWire);
  c = Control(0.25, kLine);  // of a part of a packet
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 0.25 * kMss / 20e-6, 1);
  c = Control(1000, kLine);
  s.line.window = 10;  // of what is proved
  EXPECT_NEAR(dcc_tcp_pace(&s, &c), 2 * 10 * kMss / (1e-9 * kBase), kMss);
  c.cwnd_q16 = std::numeric_limits<u64>::max();
  s.line.window = std::numeric_limits<u32>::max();
  s.path.base_rtt_ns = 0;
  EXPECT_EQ(dcc_tcp_pace(&s, &c), kLine / 8 * kMss / kWire);
}

// ---- a line rate that nobody has told

namespace {

// A flow that measures its base RTT on a line of so many bits per second.
class UntoldFlow {
 public:
  explicit UntoldFlow(u32 base_ns) : base_ns_(base_ns) {
    dcc_tcp_set_base_rtt(&s_, 0, false);
    Round(10000000);
  }
  // A round trip in which the flow gets so many bits per second, in a queue of queue_ns.
  void Round(u64 bps, bool app_limited = false, u32 queue_ns = 0) {
    const u64 gap_ns = kWire * 8000000000ull / bps;
    const u32 rtt_ns = base_ns_ + queue_ns;
    const u64 round_ns = s_.line.round_ns;
    const u64 end_ns = now_ns_ + 2 * rtt_ns + 2 * gap_ns;
    while (s_.line.round_ns == round_ns && now_ns_ < end_ns) {
      now_ns_ += gap_ns;
      dcc_tcp_view v = Ack();
      v.now_ns = now_ns_;
      v.now_us = now_ns_ / 1000;
      v.rtt_us = static_cast<s32>(rtt_ns / 1000);
      v.bytes_acked = bytes_ += kMss;
      v.is_app_limited = app_limited;
      Sample(&s_, v, now_ns_ - rtt_ns);
    }
  }
  dcc_tcp& s() { return s_; }

 private:
  dcc_tcp s_ = Socket();
  u32 base_ns_;
  u64 now_ns_ = kNow, bytes_ = 0;
};

}  // namespace

TEST(TcpLine, RisesWhereThePathCarriesMoreThanTheDeviceSays) {
  UntoldFlow flow(5000000);
  dcc_tcp_set_line(&flow.s(), 100000000, false);
  flow.Round(65000000);  // less than two thirds in use
  EXPECT_EQ(flow.s().path.line_rate_bps, 100000000u);
  flow.Round(90000000);
  EXPECT_EQ(flow.s().path.line_rate_bps, 112500000u);
  flow.Round(90000000);
  EXPECT_EQ(flow.s().path.line_rate_bps, 137500000u);
  flow.Round(90000000);  // no longer in use: a 16th of what was raised
  EXPECT_NEAR(flow.s().path.line_rate_bps, 137500000 - 37500000. / 16, 1);
  flow.Round(100000000);  // the first step again
  EXPECT_NEAR(flow.s().path.line_rate_bps, 137500000 - 37500000. / 16 + 12500000, 1);
  for (int i = 0; i < 60; ++i) flow.Round(flow.s().path.line_rate_bps);
  EXPECT_EQ(flow.s().path.line_rate_bps, DCC_PATH_RATE_MAX_BPS);
}

TEST(TcpLine, FallsToTheDevicesInAQueue) {
  UntoldFlow flow(5000000);
  dcc_tcp_set_line(&flow.s(), 100000000, false);
  for (int i = 0; i < 8; ++i) flow.Round(flow.s().path.line_rate_bps);
  const u64 raised_bps = flow.s().path.line_rate_bps;
  ASSERT_GT(raised_bps, 300000000u);
  flow.Round(raised_bps, false, 600000);  // less than half of the grain is no queue
  EXPECT_GT(flow.s().path.line_rate_bps, raised_bps);
  flow.Round(raised_bps, false, 700000);
  EXPECT_LT(flow.s().path.line_rate_bps, raised_bps * 5 / 4);
  for (int i = 0; i < 400; ++i) {
    const u64 before_bps = flow.s().path.line_rate_bps;
    flow.Round(before_bps, false, 700000);
    EXPECT_LE(flow.s().path.line_rate_bps, before_bps);
    EXPECT_GE(flow.s().path.line_rate_bps, 100000000u);
  }
  EXPECT_LT(flow.s().path.line_rate_bps, 100001000u);
}

TEST(TcpLine, StaysWhileAQueueDrains) {
  UntoldFlow flow(5000000);
  dcc_tcp_set_line(&flow.s(), 100000000, false);
  for (int i = 0; i < 8; ++i) flow.Round(flow.s().path.line_rate_bps);
  flow.Round(flow.s().path.line_rate_bps, false, 2000000);
  const u64 rate_bps = flow.s().path.line_rate_bps;
  for (u32 queue_ns = 1900000; queue_ns > 700000; queue_ns -= 100000) {
    flow.Round(rate_bps, false, queue_ns);
    EXPECT_EQ(flow.s().path.line_rate_bps, rate_bps);
  }
  flow.Round(rate_bps / 2, false, 650000);  // the law takes less of it
  EXPECT_LT(flow.s().path.line_rate_bps, rate_bps);
}

TEST(TcpLine, SaysNothingOfThePathWhereTheApplicationPauses) {
  UntoldFlow flow(5000000);
  dcc_tcp_set_line(&flow.s(), 100000000, false);
  for (int i = 0; i < 8; ++i) flow.Round(100000000, true);
  EXPECT_EQ(flow.s().path.line_rate_bps, 100000000u);
}

TEST(TcpLine, StaysAsItIsTold) {
  UntoldFlow flow(5000000);
  dcc_tcp_set_line(&flow.s(), 100000000, true);
  for (int i = 0; i < 8; ++i) flow.Round(100000000);
  EXPECT_EQ(flow.s().path.line_rate_bps, 100000000u);
}

TEST(TcpLine, KeepsWhatThePathHasShownUntilTheDeviceSaysAnother) {
  UntoldFlow flow(5000000);
  dcc_tcp_set_line(&flow.s(), 100000000, false);
  for (int i = 0; i < 8; ++i) flow.Round(flow.s().path.line_rate_bps);
  const u64 raised_bps = flow.s().path.line_rate_bps;
  dcc_tcp_set_line(&flow.s(), 100000000, false);
  EXPECT_EQ(flow.s().path.line_rate_bps, raised_bps);
  dcc_tcp_set_line(&flow.s(), 100000000, true);
  EXPECT_EQ(flow.s().path.line_rate_bps, 100000000u);
  dcc_tcp_set_line(&flow.s(), 25000000, true);
  EXPECT_EQ(flow.s().path.line_rate_bps, 25000000u);
}

TEST(TcpGrain, IsAQuarterOfTheBaseRttOnAFastLine) {
  UntoldFlow flow(5000000);
  for (int i = 0; i < 20; ++i) flow.Round(1000000000);
  EXPECT_EQ(flow.s().path.grain_ns, 1250000u);
}

TEST(TcpGrain, IsTwoPacketsAtTheBestRateOnASlowLine) {
  UntoldFlow flow(1400000);  // a packet of 10 Mbit/s takes 1.2 ms
  for (int i = 0; i < 20; ++i) flow.Round(10000000);
  EXPECT_NEAR(flow.s().path.grain_ns, 2 * 1211200, 2 * 1211200 / 8);
  // A round without data says nothing.
  const u64 best_bps = flow.s().line.best_bps;
  flow.Round(1000000, true);
  EXPECT_EQ(flow.s().line.best_bps, best_bps);
}

// One of 16 flows on a line that the device states rightly has that much.
TEST(TcpGrain, HasNoPacketsAtASixteenthOfTheDevicesRate) {
  dcc_tcp s = Socket();
  s.line.best_bps = kLine / 16;
  EXPECT_EQ(dcc_tcp_grain_ns(&s), kBase / 4);
  s.line.best_bps = kLine / 17;
  EXPECT_NEAR(dcc_tcp_grain_ns(&s), 2 * 17 * kWire * 8e9 / kLine, 1);
}

// Packets are rare where other flows have the line, too.
TEST(TcpGrain, IsAtMostTwoBaseRtts) {
  UntoldFlow flow(1400000);
  for (int i = 0; i < 1000; ++i) flow.Round(1000000);
  EXPECT_EQ(dcc_tcp_grain_ns(&flow.s()), 2800000u);
  EXPECT_NEAR(flow.s().path.grain_ns, 2800000, 2800000 / 8);
  // The best rate rises at once.
  flow.Round(100000000);
  flow.Round(100000000);
  EXPECT_NEAR(flow.s().path.grain_ns, 350000, 350000 / 8);
}

TEST(TcpGrain, IsNothingWhereTheLineRateIsTold) {
  UntoldFlow flow(5000000);
  flow.s().line_told = 1;
  dcc_tcp_set_grain(&flow.s());
  EXPECT_EQ(flow.s().path.grain_ns, 0u);
  flow.Round(1000000000);
  EXPECT_EQ(flow.s().path.grain_ns, 0u);
  flow.s().line_told = 0;
  dcc_tcp_set_grain(&flow.s());
  EXPECT_GT(flow.s().path.grain_ns, 0u);
}

// Cores compute all that follows from the path when it changes.
TEST(TcpGrain, DoesNotFollowAChangeOfAnEighth) {
  dcc_tcp s = Socket();
  s.path.base_rtt_ns = 4000000;
  dcc_tcp_set_grain(&s);
  EXPECT_EQ(s.path.grain_ns, 1000000u);
  for (const u32 base_ns : {4500000u, 3500000u}) {
    s.path.base_rtt_ns = base_ns;
    dcc_tcp_set_grain(&s);
    EXPECT_EQ(s.path.grain_ns, 1000000u) << base_ns;
  }
  s.path.base_rtt_ns = 4600000;
  dcc_tcp_set_grain(&s);
  EXPECT_EQ(s.path.grain_ns, 1150000u);
}

namespace {

constexpr u32 kLongBase = 1000000;

// A socket on a path of 1 ms and a device of 100 Gbit/s, whose law asks for 8,000 packets.
struct UnprovedFlow {
  explicit UnprovedFlow(u32 cwnd = 10, u32 packets_out = 0) {
    dcc_tcp_view v = {};
    v.packets_out = packets_out;
    s = {};
    dcc_tcp_begin(&s, &v, 20, ~0u, 0, cwnd);
    s.path.line_rate_bps = kLine;
    dcc_tcp_set_packet(&s, kMss, kHeader);
    dcc_tcp_set_base_rtt(&s, kLongBase, false);
    dcc_tcp_set_grain(&s);
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
    v.bytes_acked = s.bytes_acked + kMss;
    Sample(&s, v, v.now_ns - rtt_ns);
  }
  dcc_tcp s;
};

}  // namespace

TEST(TcpProvedWindow, IsTcpsOwnAtFirst) {
  EXPECT_EQ(UnprovedFlow().window(), 10u);
  EXPECT_EQ(UnprovedFlow(1).window(), 1u);  // after SYNs that were lost
  EXPECT_EQ(UnprovedFlow(40).window(), 40u);
}

TEST(TcpProvedWindow, OfASocketThatChangesItsAlgorithmIsWhatIsInFlight) {
  EXPECT_EQ(UnprovedFlow(10, 300).window(), 300u);
  EXPECT_EQ(UnprovedFlow(500, 300).window(), 500u);
}

TEST(TcpProvedWindow, IsTwiceWhatWasInFlightWithoutAQueue) {
  UnprovedFlow flow;
  for (u32 flight = 10; flight <= 80; flight *= 2) {
    flow.Ack(flight, kLongBase + kLongBase / 4);
    EXPECT_EQ(flow.window(), 2 * flight);
  }
  // What the application did not use is not proved.
  flow.Ack(4, kLongBase);
  EXPECT_EQ(flow.window(), 160u);
  for (int i = 0; i < 10; ++i) flow.Ack(flow.window(), kLongBase);
  EXPECT_EQ(flow.window(), 8000u);  // the law's
}

TEST(TcpProvedWindow, GrowsByAnEighthInAQueue) {
  UnprovedFlow flow;
  flow.Ack(80, 2 * kLongBase);
  EXPECT_EQ(flow.window(), 90u);
  flow.Ack(3, 2 * kLongBase);
  EXPECT_EQ(flow.window(), 90u);
  UnprovedFlow small;
  small.Ack(1, kLongBase);
  EXPECT_EQ(small.window(), 10u);
}

TEST(TcpProvedWindow, IsNoLimitWhereTheLineRateIsTold) {
  UnprovedFlow flow;
  flow.s.line_told = 1;
  dcc_tcp_set_grain(&flow.s);
  EXPECT_EQ(flow.window(), 8000u);
}

TEST(TcpProvedWindow, HasNoOverflow) {
  UnprovedFlow flow(std::numeric_limits<u32>::max());
  EXPECT_EQ(flow.s.line.window, DCC_TCP_CWND_MAX);
  EXPECT_EQ(UnprovedFlow(10, std::numeric_limits<u32>::max()).s.line.window, DCC_TCP_CWND_MAX);
  flow.Ack(std::numeric_limits<u32>::max(), kLongBase);
  EXPECT_EQ(flow.s.line.window, 2 * DCC_TCP_CWND_MAX);
  EXPECT_EQ(flow.window(), 8000u);
}

// ---- TSO bursts

namespace {
constexpr u64 kWindow = u64{1000000} << DCC_WINDOW_SHIFT;

// Nobody has told its line rate; the window is proved.
dcc_tcp UntoldSocket() {
  dcc_tcp s = Socket();
  s.path.base_rtt_ns = 160000;
  s.path.grain_ns = 40000;
  s.line.window = 1000;
  return s;
}
}  // namespace

TEST(TcpBurst, IsWhatThePaceSendsInASixteenthOfABaseRtt) {
  dcc_tcp s = Socket();
  s.path.base_rtt_ns = 160000;
  // 10 us at 1.448 GB/s are ten packets.
  EXPECT_EQ(dcc_tcp_burst(&s, 1448000000, kWindow, 44), 10u);
  EXPECT_EQ(dcc_tcp_burst(&s, 1448000000, kWindow, 8), 8u);
  EXPECT_EQ(dcc_tcp_burst(&s, 1, kWindow, 8), 1u);
  EXPECT_EQ(dcc_tcp_burst(&s, 200000000000, kWindow, 65535), 1381u);
}

TEST(TcpBurst, LastsAGrainWhereNobodyHasToldTheLineRate) {
  dcc_tcp s = UntoldSocket();
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, kWindow, 44), 4u);
  s.path.grain_ns = 5000;
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, kWindow, 44), 1u);
}

TEST(TcpBurst, IsAPartOfTheWindowWhereNobodyHasToldTheLineRate) {
  dcc_tcp s = UntoldSocket();
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 12 * DCC_WINDOW_ONE, 44), 3u);
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 7 * DCC_WINDOW_ONE, 44), 1u);
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 1, 44), 1u);
  s.line.window = 10;  // as far as it is proved
  EXPECT_EQ(dcc_tcp_burst(&s, 144800000, 12 * DCC_WINDOW_ONE, 44), 2u);
  // What a sixteenth of the base RTT allows stays.
  EXPECT_EQ(dcc_tcp_burst(&s, 1448000000, 8 * DCC_WINDOW_ONE, 44), 10u);
}

TEST(TcpBurst, HasNoOverflow) {
  dcc_tcp s = Socket();
  s.path.base_rtt_ns = DCC_PATH_RTT_MAX_NS;
  s.path.grain_ns = DCC_TCP_GRAIN_BASES_MAX * DCC_PATH_RTT_MAX_NS;
  s.line.window = DCC_TCP_CWND_MAX;
  // 60 ms.
  EXPECT_EQ(dcc_tcp_burst(&s, 1448000, kWindow, 65535), 60u);
  EXPECT_EQ(dcc_tcp_burst(&s, 200000000000, kWindow, 65535), 65535u);
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
    s.path.line_rate_bps = DCC_PATH_RATE_MIN_BPS + any(DCC_PATH_RATE_MAX_BPS);
    s.times_retrans = any(2) != 0;
    dcc_tcp_set_packet(&s, static_cast<u32>(any(65536)), static_cast<u32>(any(300)));
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
      if (any(4) == 0) dcc_tcp_set_base_rtt(&s, static_cast<u32>(any(DCC_PATH_RTT_MAX_NS)), false);

      dcc_ack ack = {};
      const u64 noted_ns = any(4) ? now - any(std::min<u64>(now, 1000000)) : 0;
      const bool delivered = dcc_tcp_sample(&s, &v, noted_ns, &ack);
      ASSERT_EQ(delivered, v.acked_sacked && v.sampled);
      ASSERT_GT(s.rtt_ns, 0u);
      ASSERT_GT(s.path.base_rtt_ns, 0u);
      ASSERT_LE(s.path.base_rtt_ns, DCC_PATH_RTT_MAX_NS);
      if (delivered) {
        ASSERT_LE(ack.send_ns, now);
        ASSERT_EQ(ack.rtt_ns, std::min<u64>(now - ack.send_ns, 0xffffffff));
        ASSERT_GE(ack.inflight_bytes, s.path.wire_bytes);
        if (ack.flags & DCC_ACK_NO_RTT) {
          ASSERT_EQ(ack.send_ns, now);
        }
      }

      dcc_control c = {};
      c.cwnd_q16 = 1 + any(1ULL << 62);
      c.pacing_bps = any(2) ? s.path.line_rate_bps : 1000 + any(2 * s.path.line_rate_bps);
      dcc_tcp_add_trial(&s, &c);
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

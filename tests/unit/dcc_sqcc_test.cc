// SPDX-License-Identifier: Apache-2.0
#include "dcc_sqcc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <vector>

namespace {

constexpr u64 kMax = std::numeric_limits<u64>::max();

dcc_path TenGigabit() { return {10000000000ULL, 5000, 1000, 0, 0}; }

constexpr u32 kPaper = 1;

dcc_sqcc_params Params(u32 paper = 0, u32 parts = DCC_SQCC_PARTS_ALL) {
  dcc_sqcc_params params;
  dcc_sqcc_params_default(&params);
  params.paper = paper;
  params.parts = parts;
  return params;
}

dcc_sqcc_params Fixed(u32 n, u32 paper = 0, u32 parts = DCC_SQCC_PARTS_ALL) {
  dcc_sqcc_params params = Params(paper, parts);
  params.n_source = DCC_SQCC_SOURCE_FIXED;
  params.n_fixed = n;
  return params;
}

class Flow {
 public:
  explicit Flow(dcc_sqcc_params params, dcc_path path = TenGigabit()) : path(path), params(params) {
    dcc_sqcc_init(&state, &this->path, &this->params, &control);
  }

  bool Ack(u32 rtt_ns, u64 after_ns, u32 flows = 0, u32 flags = 0, u32 bytes = 1000) {
    now_ns += after_ns;
    const dcc_ack ack = {now_ns, now_ns - rtt_ns, rtt_ns, bytes, 10000, flags, flows};
    return dcc_sqcc_ack(&state, &path, &params, &ack, &control);
  }
  // The next decision that is due, on an acknowledgment with this RTT.
  void Decide(u32 rtt_ns, u32 flows = 0, u32 flags = 0, u32 bytes = 62500) {
    const u64 due = std::max(state.due_ns, now_ns + 1);
    Ack(rtt_ns, due - now_ns, flows, flags, bytes);
    ASSERT_EQ(state.decided_ns, now_ns);
  }
  // From this rate on, for a second, nothing but the rule for an idle line.
  void OnlyFill(u64 rate_bps) {
    state.rate_q8 = rate_bps * 256;
    state.due_ns = now_ns + 1000000000;
    state.decided_ns = 1;
  }
  // For so long.
  void Acks(u32 us, u32 rtt_ns, u64 each_ns = 5000) {
    for (u64 ns = 0; ns < us * 1000ULL; ns += each_ns) Ack(rtt_ns, each_ns);
  }
  double mbps() const { return static_cast<double>(state.rate_q8) / 256e6; }
  double delta_mbps() const { return static_cast<double>(state.delta_q8) / 256e6; }
  double t_low_us() const { return state.t_low_ns / 1e3; }
  u32 branch() const { return state.last.branch; }

  dcc_path path;
  dcc_sqcc_params params;
  dcc_sqcc state;
  dcc_control control;
  u64 now_ns = 1000000000;
};

// Flows with a core each, paced, over one FIFO queue at 10 Gbit/s.
class Incast {
 public:
  // Every second flow comes from so much farther away.
  explicit Incast(std::vector<dcc_sqcc_params> params, u32 farther_ns = 0) {
    for (size_t i = 0; i < params.size(); ++i)
      flows_.emplace_back(params[i], i % 2 ? farther_ns : 0);
    sent_.resize(flows_.size());
    for (size_t i = 0; i < flows_.size(); ++i) Push(1 + i * 100000 / flows_.size(), i, kSend);
  }

  // Receivers acknowledge every second packet, a lone one after 40 ms.
  bool delayed_acks = false;
  u64 late_acks() const { return late_acks_; }

  // What each flow's receiver tells it; by default 0.
  std::function<u32(size_t flow, u64 now_ns)> reported = [](size_t, u64) { return 0; };

  void RunUntil(u64 end_ns) {
    while (!events_.empty() && events_.top().at <= end_ns) {
      const Event e = events_.top();
      events_.pop();
      now_ = e.at;
      if (e.what == kSend)
        Send(e.flow);
      else if (e.what == kArrival)
        Receive(e);
      else
        AcknowledgeLate(e);
    }
    now_ = end_ns;
  }
  // Over the time since: bytes of each flow, queue samples.
  void Count() {
    std::fill(sent_.begin(), sent_.end(), 0);
    queue_.clear();
    counted_ns_ = now_;
  }
  double Utilisation() const {
    return std::accumulate(sent_.begin(), sent_.end(), 0.0) * 8 / 10 / (now_ - counted_ns_);
  }
  // Over a fair share.
  double Share(size_t flow) const {
    return sent_[flow] * flows_.size() / std::accumulate(sent_.begin(), sent_.end(), 0.0);
  }
  double MeanQueue() const {  // packets
    return std::accumulate(queue_.begin(), queue_.end(), 0.0) / queue_.size();
  }
  double MinQueue() const { return *std::min_element(queue_.begin(), queue_.end()); }
  double MaxQueue() const { return *std::max_element(queue_.begin(), queue_.end()); }
  const dcc_sqcc& core(size_t flow) const { return flows_[flow].flow.state; }

 private:
  enum What { kSend, kArrival, kLate };
  struct Event {
    u64 at, id;
    size_t flow;
    What what;
    u64 sent_at;
    bool operator<(const Event& o) const { return at != o.at ? at > o.at : id > o.id; }
  };
  struct Member {
    Member(const dcc_sqcc_params& p, u32 farther)
        : flow(p, {10000000000ULL, 5000 + farther, 1000, 0, 0}), farther_ns(farther) {}
    Flow flow;
    u32 farther_ns;
    u64 next_ns = 0;
    u32 inflight = 0;
    u64 held = 0;  // when the packet was sent whose ACK the receiver holds; 0: none
    bool waiting = true;
  };

  void Push(u64 at, size_t flow, What what, u64 sent_at = 0) {
    events_.push({at, id_++, flow, what, sent_at});
  }
  void Send(size_t i) {
    Member& m = flows_[i];
    m.waiting = false;
    while (m.inflight < std::max<u64>(1, m.flow.control.cwnd_q16 >> 16)) {
      if (m.next_ns > now_) {
        m.waiting = true;
        Push(m.next_ns, i, kSend);
        return;
      }
      free_ns_ = std::max(free_ns_, now_ + 1000) + 800;
      queue_.push_back((free_ns_ - now_ - 1800) / 800.0);
      sent_[i] += 1000;
      ++m.inflight;
      Push(free_ns_ + 3200 + m.farther_ns, i, kArrival, now_);
      m.next_ns = now_ + 8000000000000ULL / m.flow.control.pacing_bps;
    }
  }
  // All of the network behind the queue is in the time of this event.
  void Receive(const Event& e) {
    Member& m = flows_[e.flow];
    if (delayed_acks && !m.held) {
      m.held = e.sent_at;
      Push(now_ + 40000000, e.flow, kLate, e.sent_at);
      return;
    }
    Acknowledge(e.flow, e.sent_at, m.held ? 2 : 1, 0);
  }
  void AcknowledgeLate(const Event& e) {
    if (flows_[e.flow].held != e.sent_at) return;
    ++late_acks_;
    Acknowledge(e.flow, e.sent_at, 1, DCC_ACK_DELAYED);
  }
  void Acknowledge(size_t flow, u64 sent_at, u32 packets, u32 flags) {
    Member& m = flows_[flow];
    m.held = 0;
    m.inflight -= packets;
    m.flow.now_ns = now_;
    const dcc_ack ack = {now_,
                         sent_at,
                         static_cast<u32>(now_ - sent_at),
                         1000 * packets,
                         10000,
                         flags,
                         reported(flow, now_)};
    dcc_sqcc_ack(&m.flow.state, &m.flow.path, &m.flow.params, &ack, &m.flow.control);
    if (!m.waiting) Send(flow);
  }

  std::vector<Member> flows_;
  std::priority_queue<Event> events_;
  std::vector<double> sent_;
  std::vector<double> queue_;
  u64 now_ = 0, id_ = 0, free_ns_ = 0, counted_ns_ = 0, late_acks_ = 0;
};

TEST(SqccParameters, RefusesEachValueOutsideItsRange) {
  const auto refused = [](auto change) {
    dcc_sqcc_params params = Params();
    change(params);
    return !dcc_sqcc_params_valid(&params);
  };
  EXPECT_TRUE(refused([](auto& p) { p.alpha_ppm = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.alpha_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.beta_ppm = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.beta_ppm = 1000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.t_low_ns = 999; }));
  EXPECT_TRUE(refused([](auto& p) { p.t_high_ns = 2000000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.delta_kbps = 100000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.min_rate_kbps = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.start_kbps = 800000001; }));
  EXPECT_TRUE(refused([](auto& p) { p.seg_bytes = 999; }));
  EXPECT_TRUE(refused([](auto& p) { p.n_source = 4; }));
  EXPECT_TRUE(refused([](auto& p) { p.n_fixed = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.n_fixed = 65536; }));
  EXPECT_TRUE(refused([](auto& p) { p.paper = 2; }));
  EXPECT_TRUE(refused([](auto& p) { p.parts = 3; }));
  EXPECT_FALSE(refused([](auto& p) { p.delta_kbps = 0; }));
}

TEST(SqccThresholds, AreThePapersAtTenGigabit) {
  const Flow flow(Params());
  EXPECT_EQ(flow.state.t_low0_ns, 50000u);
  EXPECT_EQ(flow.state.t_high_ns, 500000u);
  EXPECT_EQ(flow.state.span_ns, 50000u);
}

TEST(SqccThresholds, ScaleWithTheLineAndCountFromTheBaseRtt) {
  const Flow fast(Params(), {100000000000ULL, 12000, 1500, 0, 0});
  EXPECT_EQ(fast.state.t_low0_ns, 16500u);
  EXPECT_EQ(fast.state.t_high_ns, 61500u);
  const Flow slow(Params(), {1000000000ULL, 50000, 1500, 0, 0});
  EXPECT_EQ(slow.state.t_low0_ns, 500000u);
  EXPECT_EQ(slow.state.t_high_ns, 5000000u);
}

// A segment of the device's line says nothing of the path's; the rules' times are the line's.
TEST(SqccThresholds, AreSegmentsOfHalfThePathsGrainAtLeast) {
  dcc_sqcc_params p;
  dcc_sqcc_params_default(&p);
  const dcc_path path = {10000000000ULL, 4000000, 1514, 0, 1000000};
  dcc_sqcc core;
  dcc_control control;
  dcc_sqcc_init(&core, &path, &p, &control);
  EXPECT_EQ(core.t_low0_ns, 4450000u);
  EXPECT_EQ(core.t_high_ns, 8950000u);
  EXPECT_EQ(core.span_ns, 50000u);
  p.t_low_ns = 4100000;
  p.t_high_ns = 4200000;
  dcc_sqcc_init(&core, &path, &p, &control);
  EXPECT_EQ(core.t_low0_ns, 4100000u);
  EXPECT_EQ(core.t_high_ns, 4200000u);
}

TEST(SqccThresholds, ATHighThatIsNotAboveTLowIsAutomatic) {
  dcc_sqcc_params params = Params();
  params.t_low_ns = 200000;
  params.t_high_ns = 100000;
  EXPECT_EQ(Flow(params).state.t_high_ns, 650000u);
}

// Table II and the text of figure 2.
TEST(SqccPaper, DeltaAndTLowAreThePapers) {
  const Flow all(Fixed(500, kPaper));
  EXPECT_NEAR(all.delta_mbps(), 0.08, 1e-4);
  EXPECT_NEAR(all.t_low_us(), 100, 1e-9);
  const Flow delta(Fixed(500, kPaper, DCC_SQCC_PARTS_DELTA));
  EXPECT_NEAR(delta.delta_mbps(), 0.04, 1e-4);
  EXPECT_NEAR(delta.t_low_us(), 50, 1e-9);
  const Flow error(Fixed(500, kPaper, DCC_SQCC_PARTS_ERROR));
  EXPECT_NEAR(error.delta_mbps(), 10, 1e-3);
  EXPECT_NEAR(error.t_low_us(), 50, 1e-9);
  EXPECT_NEAR(Flow(Fixed(40, kPaper, DCC_SQCC_PARTS_DELTA)).delta_mbps(), 6.25, 1e-3);
  EXPECT_NEAR(Flow(Fixed(60, kPaper, DCC_SQCC_PARTS_DELTA)).delta_mbps(), 2.78, 1e-2);
}

TEST(SqccPaper, KIsTheFloorOfTheDecimalLogarithm) {
  for (const auto& [n, k] : {std::pair<u32, u32>{10, 1}, {99, 1}, {100, 2}, {999, 2}, {1000, 3}})
    EXPECT_NEAR(Flow(Fixed(n, kPaper)).t_low_us(), 50 * k, 1e-9) << n;
}

TEST(SqccPaper, BelowTenFlowsTheInitialValuesStay) {
  const Flow flow(Fixed(9, kPaper));
  EXPECT_NEAR(flow.t_low_us(), 50, 1e-9);
  EXPECT_NEAR(flow.delta_mbps(), 10, 1e-3);
}

TEST(SqccPaper, DeltaIsAHundredthOfTheLineForTenFlowsAndAThousandthBySqcc) {
  EXPECT_NEAR(Flow(Fixed(10, kPaper)).delta_mbps(), 100, 1e-2);
  EXPECT_LE(Flow(Fixed(10)).delta_mbps(), 10.01);
}

TEST(SqccError, IsZeroAtTLowAndGrowsWithoutBoundTowardsTHigh) {
  EXPECT_EQ(dcc_sqcc_error_q16(50000, 50000, 500000), 0u);
  EXPECT_NEAR(dcc_sqcc_error_q16(127500, 50000, 500000) / 65536.0, 2.0805, 1e-3);
  EXPECT_GT(dcc_sqcc_error_q16(499999, 50000, 500000), 65536u * 1000000);
  EXPECT_EQ(dcc_sqcc_error_q16(500000, 50000, 500000), kMax);
}

// The RTT at which each rule is at rest, by computation: C / N with weight 1/2 stays as it is.
double QueueAtRest(const dcc_sqcc_params& params, u32 n) {
  u32 low = 5000, high = 499999;
  while (high - low > 10) {
    const u32 rtt = (low + high) / 2;
    Flow flow(params);
    flow.state.rate_q8 = 10000000000ULL * 256 / n;
    for (int i = 0; i < 2; ++i) flow.Decide(rtt);
    (flow.state.rate_q8 * n > 10000000000ULL * 256 ? low : high) = rtt;
  }
  return (low - 5000) / 800.0;
}

TEST(SqccPaper, LeavesTheBandBetweenAHundredAndTwoHundredAndFiftyFlows) {
  EXPECT_NEAR(QueueAtRest(Fixed(60, kPaper), 60), 153, 2);
  EXPECT_NEAR(QueueAtRest(Fixed(500, kPaper), 500), 164, 2);
  EXPECT_NEAR(QueueAtRest(Fixed(100, kPaper), 100), 285, 3);
  EXPECT_GT(QueueAtRest(Fixed(137, kPaper), 137), 240);
  EXPECT_GT(QueueAtRest(Fixed(1000, kPaper), 1000), 215);
}

TEST(SqccDefault, StaysBetweenAHundredAndTwoHundredPacketsForEveryN) {
  double before = 0;
  for (u32 n = 2; n <= 2000; n = n + 1 + n / 5) {
    const double queue = QueueAtRest(Fixed(n), n);
    EXPECT_GT(queue, 100) << n;
    EXPECT_LT(queue, 200) << n;
    EXPECT_GT(queue, before - 0.1) << "no step at " << n;
    before = queue;
  }
}

TEST(SqccDefault, PartsAreThePapersAlone) {
  for (const u32 parts : {DCC_SQCC_PARTS_ERROR, DCC_SQCC_PARTS_DELTA}) {
    const Flow flow(Fixed(100, 0, parts));
    EXPECT_EQ(flow.t_low_us(), Flow(Fixed(100)).t_low_us());
    EXPECT_EQ(flow.delta_mbps(), Flow(Fixed(100)).delta_mbps());
  }
}

TEST(SqccDefault, TheRttAtRestTellsTheNumberOfFlows) {
  for (u32 n : {10u, 60u, 137u, 500u, 1000u}) {
    Flow flow(Params());
    const u32 rtt = 5000 + static_cast<u32>(QueueAtRest(Fixed(n), n) * 800);
    for (int i = 0; i < 2000; ++i) flow.Ack(rtt, 50000);
    EXPECT_NEAR(flow.state.last.flows, n, 0.03 * n + 1);
    EXPECT_EQ(flow.state.last.reported, 0u);
  }
}

class SqccBoth : public ::testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(DefaultAndPaper, SqccBoth, ::testing::Values(0u, kPaper));

TEST_P(SqccBoth, GrowsByDeltaBelowTLow) {
  Flow flow(Fixed(500, GetParam()));
  flow.Decide(100000);
  flow.state.rate_q8 = 20000000ULL * 256;
  const double before = flow.mbps();
  flow.Decide(flow.state.t_low_ns - 1);
  EXPECT_NEAR(flow.mbps(), before + flow.delta_mbps(), 1e-6);
  EXPECT_EQ(flow.branch(), DCC_SQCC_BELOW);
}

TEST_P(SqccBoth, ADecreaseTakesAtMostHalf) {
  Flow flow(Fixed(500, GetParam()));
  const double before = flow.mbps();
  flow.Decide(400000);
  flow.Decide(499999);
  EXPECT_GT(flow.mbps(), before * 0.49 * 0.9);
  EXPECT_LT(flow.mbps(), before * 0.52);
}

TEST(SqccPaper, AboveTHighFallsByBetaOnce) {
  Flow flow(Fixed(500, kPaper));
  const double before = flow.mbps();
  flow.Decide(1000000);
  EXPECT_EQ(flow.mbps(), before) << "the first segment";
  flow.Decide(1000000);
  EXPECT_NEAR(flow.mbps(), before * (1 - 0.008 / 2), 0.01);
  EXPECT_EQ(flow.branch(), DCC_SQCC_ABOVE);
}

TEST(SqccDefault, AboveTHighFallsInProportionOncePerRttAndNotWhileTheQueueFalls) {
  Flow flow(Fixed(500));
  flow.Decide(120000);
  const double before = flow.mbps();
  EXPECT_TRUE(flow.Ack(1000000, 1000));
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01);
  EXPECT_EQ(flow.branch(), DCC_SQCC_CUT);
  flow.Ack(1000000, 10000);
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01) << "the same RTT";
  flow.Ack(900000, 1000000);
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01) << "the queue falls";
  flow.Ack(2000000, 1000000);
  EXPECT_NEAR(flow.mbps(), before / 8, 0.01);
}

TEST(SqccDefault, AnRttOfTHighItselfIsNoReasonForACutAndPostponesNone) {
  Flow flow(Fixed(500));
  flow.Decide(120000);
  const double before = flow.mbps();
  EXPECT_FALSE(flow.Ack(500000, 1000));
  flow.Ack(1000000, 1000);
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01);
}

TEST(SqccDefault, OneCutLeavesAnEighth) {
  Flow flow(Fixed(500));
  const double before = flow.mbps();
  flow.Ack(100000000, 1000);
  EXPECT_NEAR(flow.mbps(), before / 8, 0.01);
}

TEST(SqccDefault, OnAnIdleLineGoesQuicklyToItsShareAndNotBeyond) {
  Flow flow(Fixed(100));
  flow.state.rate_q8 = 10000000ULL * 256;
  for (int i = 0; i < 40; ++i) flow.Ack(6000, 20000);
  EXPECT_GT(flow.mbps(), 95);
  EXPECT_LT(flow.mbps(), 101);
}

TEST(SqccDefault, OnAnIdleLineAGuessingFlowGrowsByA32ndPerMillisecond) {
  Flow flow(Params());
  flow.OnlyFill(100000000ULL);
  flow.Acks(32000, 6000, 100000);
  EXPECT_NEAR(flow.mbps(), 100 * std::pow(33.0 / 32, 32), 10);
}

TEST(SqccDefault, OnALineThatStaysIdleAGuessingFlowGrowsFasterAndFaster) {
  Flow flow(Params());
  flow.OnlyFill(100000000ULL);
  flow.Acks(300, 6000);
  EXPECT_NEAR(flow.mbps(), 100 * std::pow(33.0 / 32, 2), 1);  // after 0 and 250 us
  flow.Acks(200, 6000);
  const double before = flow.mbps();
  flow.Acks(60, 6000);
  EXPECT_GT(flow.mbps(), before * std::pow(33.0 / 32, 5));  // once per two samples
  EXPECT_NEAR(flow.mbps(), before * std::pow(9.0 / 8, 6), before / 50) << "by longer steps";
  // A queue that grows as fast as time goes by: half of it, and from the beginning.
  const double most = flow.mbps();
  flow.Acks(100, 90000);
  const double queued = flow.mbps();
  EXPECT_NEAR(queued, most / 2, 0.01);
  flow.Acks(300, 6000);
  EXPECT_LE(flow.mbps(), queued * std::pow(33.0 / 32, 2));
}

// 25 us in 100 us: a quarter above the line, and as much again.
TEST(SqccDefault, WhatAGuessingFlowTakesBackIsTwiceWhatTheQueuesGrowthSays) {
  for (const u32 noise_ns : {0u, 20000u}) {
    Flow flow(Params());
    flow.OnlyFill(1000000000ULL);
    flow.Acks(500, 40000);
    ASSERT_GE(flow.state.fills, u32{DCC_SQCC_FILLS_FAST});
    ASSERT_EQ(flow.state.empty_rtt_ns, 40000u);
    const double most = flow.mbps();
    flow.path.noise_ns = flow.state.path.noise_ns = noise_ns;  // thresholds as they were
    flow.Ack(66000, 50000);
    EXPECT_EQ(flow.mbps(), most) << "not yet an RTT";
    flow.Ack(65000, 50000);
    EXPECT_EQ(flow.mbps(), most) << "the RTT falls";
    flow.Ack(65000, 1);
    const double grown_us = 25 - noise_ns / 2e3;
    EXPECT_NEAR(flow.mbps(), most * 100 / (100 + 2 * grown_us), most / 1000) << noise_ns;
    EXPECT_EQ(flow.state.fills, 0u);
  }
}

TEST(SqccDefault, WhereAnRttIsLongAGuessingFlowHasLongerStepsAfterAsManyRtts) {
  dcc_path path = TenGigabit();
  path.base_rtt_ns = 300000;
  Flow flow(Params(), path);
  flow.OnlyFill(1000000000ULL);
  flow.Ack(300000, 2000000);
  EXPECT_EQ(flow.state.fills, 1u);
  flow.Ack(300000, 300000);
  EXPECT_EQ(flow.state.fills, u32{DCC_SQCC_FILLS_PER_RTT});
}

// Steps of the line, not of what a flow has: what two flows have comes nearer.
TEST(SqccDefault, OnAnIdleLineALargeFlowGrowsByLessOfWhatItHas) {
  double grown[2];
  for (const bool large : {false, true}) {
    Flow flow(Params());
    flow.OnlyFill(large ? 6000000000ULL : 500000000ULL);
    const double before = flow.mbps();
    flow.Acks(300, 6000);
    grown[large] = flow.mbps() / before;
  }
  EXPECT_NEAR(grown[0], std::pow(33.0 / 32, 2), 0.01);
  EXPECT_NEAR(grown[1], 1 + 2 / (384 * 0.6), 0.001);
}

// It is alone, and others join: what it has is not from its last steps.
TEST(SqccDefault, AGuessingFlowThatHasTheWholeLineTakesNothingBackWhenTheQueueShows) {
  Flow flow(Params());
  flow.OnlyFill(9000000000ULL);
  flow.Acks(5000, 6000);
  EXPECT_EQ(flow.mbps(), 10000);
  flow.Acks(100, 90000);
  EXPECT_EQ(flow.mbps(), 10000);
}

// T_low's queue is 45 us; a 16th of the line brings more in an RTT of 1 ms.
TEST(SqccDefault, OnALongPathAGuessingFlowTakesShortStepsAlone) {
  dcc_path path = TenGigabit();
  path.base_rtt_ns = 1000000;
  Flow flow(Params(), path);
  flow.OnlyFill(1000000000ULL);
  flow.Acks(16000, 1001000, 250000);
  const double before = flow.mbps();
  flow.Acks(10000, 1001000, 250000);
  EXPECT_GT(flow.mbps(), before * std::pow(33.0 / 32, 7));
  EXPECT_LT(flow.mbps(), before * std::pow(33.0 / 32, 11));
  const double most = flow.mbps();
  flow.Acks(2500, 1090000, 250000);
  EXPECT_NEAR(flow.mbps(), most * 7 / 8, 0.01);
}

TEST(SqccDefault, HalfOfTheHostsNoiseIsASegmentAtLeast) {
  dcc_path path = TenGigabit();
  const Flow quiet(Params(), path);
  path.noise_ns = 2 * quiet.state.seg_ns;
  EXPECT_EQ(Flow(Params(), path).state.t_high_ns, quiet.state.t_high_ns);
  path.noise_ns = 4 * quiet.state.seg_ns;
  const Flow noisy(Params(), path);
  EXPECT_NEAR(noisy.state.t_low0_ns - path.base_rtt_ns, 1.8 * quiet.state.seg_ns, 1);
  EXPECT_NEAR(noisy.state.t_high_ns - noisy.state.t_low0_ns, 18 * quiet.state.seg_ns, 1);
  EXPECT_EQ(noisy.state.span_ns, quiet.state.seg_ns) << "the times of the rules";
  EXPECT_EQ(Flow(Params(kPaper), path).state.t_high_ns, quiet.state.t_high_ns);
}

TEST(SqccDefault, AFlowThatKnowsNKeepsItsShareWhenTheQueueShows) {
  Flow flow(Fixed(100));
  flow.OnlyFill(10000000ULL);
  flow.Acks(1000, 6000);
  const double share = flow.mbps();
  EXPECT_GT(share, 95);
  flow.Acks(50, 40000);
  EXPECT_EQ(flow.mbps(), share);
}

TEST(SqccDefault, AnUnusedRateDoesNotGrow) {
  Flow flow(Fixed(10));
  flow.Decide(20000, 0, DCC_ACK_APP_LIMITED, 100);
  const double before = flow.mbps();
  for (int i = 0; i < 20; ++i) flow.Decide(20000, 0, DCC_ACK_APP_LIMITED, 100);
  EXPECT_EQ(flow.mbps(), before);
  EXPECT_EQ(flow.branch(), DCC_SQCC_UNUSED);
}

TEST(SqccDefault, TheFirstCountIsTheStart) {
  Flow flow(Params());
  EXPECT_NEAR(flow.mbps(), 1250, 1e-3);
  flow.Ack(6000, 1000, 100);
  EXPECT_NEAR(flow.mbps(), 100, 1);
  Flow forged(Params());
  forged.Ack(6000, 1000, 65535);
  EXPECT_GT(forged.mbps(), 10000.0 / 2049);
}

TEST(SqccDefault, TheReceiversCountIsBelievedAndNamed) {
  Flow flow(Params());
  for (int i = 0; i < 100; ++i) flow.Ack(130000, 100000, 60);
  EXPECT_NEAR(flow.state.last.flows, 60, 1);
  EXPECT_EQ(flow.state.last.reported, 1u);
}

TEST(SqccDefault, WithoutNewsForLongTheCountIsForgotten) {
  Flow flow(Params());
  flow.Decide(130000, 60);
  for (int i = 0; i < 1000; ++i) flow.Ack(130000, 100000);
  EXPECT_EQ(flow.state.last.reported, 0u);
}

TEST(SqccDefault, ACountThatTheRttContradictsForLongIsDropped) {
  Flow flow(Params());
  const u32 rtt = 5000 + static_cast<u32>(QueueAtRest(Fixed(100), 100) * 800);
  for (int i = 0; i < 400; ++i) flow.Ack(rtt, 100000, 10000);
  EXPECT_EQ(flow.state.last.reported, 1u) << "40 ms";
  for (int i = 0; i < 1000; ++i) flow.Ack(rtt, 100000, 10000);
  EXPECT_EQ(flow.state.last.reported, 0u) << "140 ms";
  EXPECT_NEAR(flow.state.last.flows, 100, 5);
  for (int i = 0; i < 1000; ++i) flow.Ack(rtt, 100000, 120);
  EXPECT_EQ(flow.state.last.reported, 1u) << "they agree again";
}

TEST(SqccDefault, JumpingCountsAverageInTheLogarithm) {
  Flow flow(Params());
  for (int i = 0; i < 4000; ++i) flow.Ack(138000, 10000, i % 2 ? 1 : 10000);
  EXPECT_NEAR(std::log10(flow.state.last.flows), 2, 0.1);
}

TEST(SqccDefault, EstimateOnlyIgnoresWhatTheReceiverTells) {
  dcc_sqcc_params params = Params();
  params.n_source = DCC_SQCC_SOURCE_ESTIMATE;
  Flow flow(params);
  for (int i = 0; i < 100; ++i) flow.Ack(90000, 100000, 1000);
  EXPECT_LT(flow.state.last.flows, 20u);
  EXPECT_EQ(flow.state.last.reported, 0u);
}

class SqccSources : public ::testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(ToldAndEstimated, SqccSources,
                         ::testing::Values(DCC_SQCC_SOURCE_AUTO, DCC_SQCC_SOURCE_ESTIMATE));

TEST_P(SqccSources, TwentyFlowsHoldTheQueueAndShareTheLine) {
  dcc_sqcc_params params = Params();
  params.n_source = GetParam();
  Incast incast(std::vector<dcc_sqcc_params>(20, params));
  incast.reported = [](size_t, u64) { return 20; };
  incast.RunUntil(100000000);
  incast.Count();
  incast.RunUntil(150000000);
  EXPECT_GT(incast.Utilisation(), 0.999);
  EXPECT_GT(incast.MinQueue(), 100);
  EXPECT_LT(incast.MaxQueue(), 180);
  for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(incast.Share(i), 1, 0.2) << i;
}

// A flow has a packet in flight for a sixth of the time.
TEST_P(SqccSources, DelayedAcksStallNoneOfAThousandFlows) {
  dcc_sqcc_params params = Params();
  params.n_source = GetParam();
  params.start_kbps = 10000;
  Incast incast(std::vector<dcc_sqcc_params>(1000, params));
  incast.delayed_acks = true;
  incast.reported = [](size_t, u64) { return 1000; };
  incast.RunUntil(150000000);
  incast.Count();
  const u64 late_before = incast.late_acks();
  incast.RunUntil(200000000);
  EXPECT_GT(incast.Utilisation(), 0.999);
  EXPECT_GT(incast.MinQueue(), 50);
  EXPECT_LT(incast.MaxQueue(), 300);
  EXPECT_EQ(incast.late_acks(), late_before);
}

TEST_P(SqccSources, FlowsOfNearAndFarHostsShareTheLine) {
  dcc_sqcc_params params = Params();
  params.n_source = GetParam();
  Incast incast(std::vector<dcc_sqcc_params>(10, params), 20000);
  incast.reported = [](size_t, u64) { return 10; };
  incast.RunUntil(400000000);
  incast.Count();
  incast.RunUntil(500000000);
  EXPECT_GT(incast.Utilisation(), 0.999);
  EXPECT_GT(incast.MinQueue(), 100);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(incast.Share(i), 1, 0.2) << i;
}

// A receiver, or who is between, that tells one of ten flows nonsense.
struct Lie {
  const char* name;
  std::function<u32(u64 now_ns)> reported;
};
class SqccLies : public ::testing::TestWithParam<Lie> {};
INSTANTIATE_TEST_SUITE_P(
    Lies, SqccLies,
    ::testing::Values(Lie{"Nothing", [](u64) { return 0; }}, Lie{"One", [](u64) { return 1; }},
                      Lie{"Threefold", [](u64) { return 30; }},
                      Lie{"AThird", [](u64) { return 4; }},
                      Lie{"Largest", [](u64) { return 65535; }},
                      Lie{"Beyond", [](u64) { return 0xffffffffu; }},
                      Lie{"Jumping", [](u64 now) { return now / 50000 % 2 ? 1 : 65535; }},
                      Lie{"Slowly", [](u64 now) { return now / 30000000 % 2 ? 1 : 65535; }}),
    [](const auto& info) { return info.param.name; });

TEST_P(SqccLies, OneMisledFlowKeepsTwoThirdsOfAShareAndTakesNoMoreThanOneAndAHalf) {
  Incast incast(std::vector<dcc_sqcc_params>(10, Params()));
  const auto lie = GetParam().reported;
  incast.reported = [lie](size_t flow, u64 now) { return flow == 3 ? lie(now) : 10; };
  incast.RunUntil(400000000);
  incast.Count();
  incast.RunUntil(500000000);
  EXPECT_GT(incast.Utilisation(), 0.99);
  EXPECT_GT(incast.Share(3), 2.0 / 3);
  EXPECT_LT(incast.Share(3), 1.5);
  EXPECT_LT(incast.MaxQueue(), 620) << "T_high";
}

TEST_P(SqccLies, FlowsThatAreAllMisledFillTheLineAndShareIt) {
  Incast incast(std::vector<dcc_sqcc_params>(10, Params()));
  const auto lie = GetParam().reported;
  incast.reported = [lie](size_t, u64 now) { return lie(now); };
  incast.RunUntil(400000000);
  incast.Count();
  incast.RunUntil(500000000);
  EXPECT_GT(incast.Utilisation(), 0.99);
  EXPECT_LT(incast.MaxQueue(), 620) << "T_high";
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_GT(incast.Share(i), 0.8) << i;
    EXPECT_LT(incast.Share(i), 1.2) << i;
  }
}

TEST(SqccLoss, HalvesOncePerRttAndCostsAnEighthWithoutAQueue) {
  Flow flow(Fixed(10));
  flow.Decide(200000);
  const double before = flow.mbps();
  dcc_sqcc_loss(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  dcc_sqcc_loss(&flow.state, &flow.path, &flow.params, flow.now_ns + 100, &flow.control);
  EXPECT_NEAR(flow.mbps(), before / 2, 0.01);
  Flow idle(Fixed(10));
  idle.state.rate_q8 = 2000000000ULL * 256;  // above its share: nothing to fill
  idle.Decide(20000);
  const double full = idle.mbps();
  dcc_sqcc_loss(&idle.state, &idle.path, &idle.params, idle.now_ns, &idle.control);
  EXPECT_NEAR(idle.mbps(), full * 7 / 8, 0.01);
}

TEST(SqccLoss, ATimeoutLeavesAPacketPerRtt) {
  Flow flow(Fixed(10));
  flow.Decide(100000);
  dcc_sqcc_rto(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_NEAR(flow.mbps(), 80, 0.1);
}

TEST(SqccIdle, KeepsTheRateAndForgetsTheRest) {
  Flow flow(Params());
  for (int i = 0; i < 100; ++i) flow.Ack(130000, 100000, 60);
  const double before = flow.mbps();
  dcc_sqcc_restart(&flow.state, &flow.path, &flow.params, flow.now_ns, &flow.control);
  EXPECT_EQ(flow.mbps(), before);
  EXPECT_EQ(flow.state.reported_ns, 0u);
  EXPECT_EQ(flow.state.gradient.valid, 0u);
}

TEST_P(SqccBoth, FollowsAChangeOfParameters) {
  Flow flow(Fixed(60, GetParam()));
  flow.Decide(100000);
  flow.params.n_fixed = 500;
  flow.Decide(100000);
  EXPECT_EQ(flow.state.last.flows, 500u);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
//
// What every core owes the code around it (dcc_cc.h), whatever its law: one suite for all of them,
// the papers' variants included.  dcc_NAME_contract_test.cc includes this, names its core and the
// variants, CONTRACT_CORE(Name, dcc_NAME), and has them tested, CONTRACT_OF(Name, ...).
#ifndef DELAYCC_TESTS_UNIT_CORE_CONTRACT_H_
#define DELAYCC_TESTS_UNIT_CORE_CONTRACT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core_type.h"
#include "dcc_cc.h"
#include "dcc_math.h"
#include "random_path.h"

namespace {

using delaycc_test::Random;

constexpr u32 kMax32 = std::numeric_limits<u32>::max();
constexpr u64 kMax64 = std::numeric_limits<u64>::max();
constexpr u32 kBaseNs = 12000;
constexpr u64 kPacketNs = 120;
constexpr dcc_path kDataCenter = {100000000000ULL, kBaseNs, 1500, 0, 0};

// One flow under a core.  Acknowledgments come packet by packet, at the line rate unless said.
template <class Core>
class Flow {
 public:
  explicit Flow(const dcc_path& path = kDataCenter,
                const typename Core::Params& params = Core::Defaults(), unsigned char dirt = 0)
      : path(path), params(params) {
    std::memset(static_cast<void*>(&state), dirt, sizeof(state));
    Core::Init(&state, &this->path, &this->params, &control);
  }

  bool Take(const dcc_ack& ack) {
    const dcc_control before = control;
    const bool decided = Core::Ack(&state, &path, &params, &ack, &control);
    if (!decided) {
      EXPECT_EQ(std::memcmp(&before, &control, sizeof(before)), 0)
          << "a control changed without a decision";
    }
    return decided;
  }
  // An acknowledgment, or the reply to the probe of a stopped flow.
  bool Ack(u32 rtt_ns, u64 after_ns = kPacketNs, u32 flags = 0) {
    now_ns += after_ns;
    if (control.probe_ns) flags |= DCC_ACK_PROBE;
    const u64 window = control.cwnd_q16 * path.wire_bytes >> DCC_WINDOW_SHIFT;
    const u32 acked_bytes = flags & DCC_ACK_PROBE ? 0 : path.wire_bytes;
    return Take({now_ns, now_ns - rtt_ns, rtt_ns, acked_bytes,
                 static_cast<u32>(dcc_min_u64(window, 1u << 30)), flags, flows});
  }
  int Acks(int count, u32 rtt_ns, u64 after_ns = kPacketNs) {
    int decided = 0;
    for (int i = 0; i < count; ++i) decided += Ack(rtt_ns, after_ns);
    return decided;
  }
  void Loss() { Core::Loss(&state, &path, &params, now_ns, &control); }
  void Rto() { Core::Rto(&state, &path, &params, now_ns, &control); }
  void Restart() { Core::Restart(&state, &path, &params, now_ns, &control); }

  // What window and pace allow in one RTT, in packets; a stopped flow sends nothing.
  double Packets(double rtt_ns) const {
    if (control.probe_ns) return 0;
    return std::min(static_cast<double>(control.cwnd_q16) / DCC_WINDOW_ONE,
                    static_cast<double>(control.pacing_bps) * rtt_ns / 8e9 / path.wire_bytes);
  }

  dcc_path path;
  typename Core::Params params;
  typename Core::State state;
  dcc_control control = {};
  u64 now_ns = 1000000000;
  u32 flows = 0;  // that the receiver reports
};

// The bounds of dcc_control, and none so large that the caller's arithmetic overflows.
::testing::AssertionResult InBounds(const dcc_control& control, const dcc_path& path) {
  const u64 line = dcc_clamp_u64(path.line_rate_bps, DCC_PATH_RATE_MIN_BPS, DCC_PATH_RATE_MAX_BPS);
  if (control.cwnd_q16 >= 1 && control.cwnd_q16 < 1ULL << 50 && control.pacing_bps >= 1000 &&
      control.pacing_bps <= 2 * line && control.probe_ns < 1000000000000ULL)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "window " << control.cwnd_q16 << " pace "
                                       << control.pacing_bps << " probe " << control.probe_ns;
}

bool operator==(const dcc_control& a, const dcc_control& b) {
  return a.cwnd_q16 == b.cwnd_q16 && a.pacing_bps == b.pacing_bps && a.probe_ns == b.probe_ns;
}

template <class Core>
class CoreContract : public ::testing::Test {};
TYPED_TEST_SUITE_P(CoreContract);

TYPED_TEST_P(CoreContract, DefaultParametersAreValidAndBeginWithinBounds) {
  Flow<TypeParam> flow;
  EXPECT_TRUE(TypeParam::Valid(&flow.params));
  EXPECT_TRUE(InBounds(flow.control, flow.path));
}

TYPED_TEST_P(CoreContract, SendsLessWhereTheQueueIsLongAndMoreAgainWhereItIsGone) {
  Flow<TypeParam> flow;
  flow.Acks(20000, kBaseNs);
  const double alone = flow.Packets(kBaseNs);
  EXPECT_GT(alone, 10);
  flow.Acks(20000, 100 * kBaseNs, 4800);
  const double beside = flow.Packets(kBaseNs);
  EXPECT_LT(beside, alone / 2);
  flow.Acks(20000, kBaseNs, kBaseNs);
  EXPECT_GT(flow.Packets(kBaseNs), beside);
}

TYPED_TEST_P(CoreContract, SamplesWithoutAnRttDecideNothing) {
  Flow<TypeParam> flow;
  flow.Acks(1000, 3 * kBaseNs);
  const dcc_control before = flow.control;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(flow.Ack(0, kPacketNs, DCC_ACK_NO_RTT));
    EXPECT_FALSE(flow.Ack(40000000, kPacketNs, DCC_ACK_DELAYED));
  }
  EXPECT_TRUE(flow.control == before);
}

TYPED_TEST_P(CoreContract, LossesCutAtMostOncePerRtt) {
  for (const u32 rtt : {kBaseNs, 2 * kBaseNs, 4 * kBaseNs}) {
    Flow<TypeParam> flow;
    flow.Acks(5000, rtt);
    // Ten losses within an RTT; a law that has just cut for the delay may leave out the first.
    int cuts = 0;
    for (int i = 0; i < 10; ++i) {
      const dcc_control before = flow.control;
      flow.Loss();
      flow.now_ns += rtt / 11;
      if (flow.control == before) continue;
      ++cuts;
      EXPECT_LE(flow.control.cwnd_q16, before.cwnd_q16) << rtt;
      EXPECT_LE(flow.control.pacing_bps, before.pacing_bps) << rtt;
      EXPECT_GE(3 * flow.control.cwnd_q16, before.cwnd_q16) << rtt << ": Reno leaves a half";
    }
    EXPECT_LE(cuts, 1) << rtt;
  }
}

TYPED_TEST_P(CoreContract, TimeoutsInARowLeaveAPacketOrTwoPerRttAndNeverRaiseTheWindow) {
  Flow<TypeParam> flow;
  flow.Acks(5000, 2 * kBaseNs);
  for (int i = 0; i < 20; ++i) {
    const dcc_control before = flow.control;
    flow.now_ns += 200000000;
    flow.Rto();
    EXPECT_LE(flow.control.cwnd_q16, before.cwnd_q16);
    EXPECT_LE(flow.control.pacing_bps, before.pacing_bps);
    EXPECT_TRUE(InBounds(flow.control, flow.path));
  }
  EXPECT_LE(flow.Packets(2 * kBaseNs), 2.01);
  // And goes on from there.
  EXPECT_GT(flow.Acks(20000, kBaseNs), 0);
  EXPECT_GT(flow.Packets(kBaseNs), 0);
}

TYPED_TEST_P(CoreContract, ZeroedStateSurvivesAnyFirstCall) {
  for (int first = 0; first < 4; ++first) {
    Flow<TypeParam> flow;
    std::memset(static_cast<void*>(&flow.state), 0, sizeof(flow.state));
    if (first == 1) flow.Loss();
    if (first == 2) flow.Rto();
    if (first == 3) flow.Restart();
    for (int i = 0; i < 2000; ++i) {
      flow.Ack(kBaseNs);
      ASSERT_TRUE(InBounds(flow.control, flow.path)) << first << " " << i;
    }
    flow.Loss();
    EXPECT_TRUE(InBounds(flow.control, flow.path)) << first;
  }
}

TYPED_TEST_P(CoreContract, DecidesAlikeWhateverTheStatesMemoryHeld) {
  Flow<TypeParam> clean(kDataCenter, TypeParam::Defaults(), 0);
  Flow<TypeParam> dirty(kDataCenter, TypeParam::Defaults(), 0xff);
  Random random(7);
  double queue = 0;
  ASSERT_TRUE(clean.control == dirty.control);
  for (int i = 0; i < 20000; ++i) {
    if (random.OneIn(300)) queue = random.LogUniform(1, 100000);
    const u32 rtt = kBaseNs + static_cast<u32>(queue * random.Unit());
    ASSERT_EQ(clean.Ack(rtt), dirty.Ack(rtt)) << i;
    ASSERT_TRUE(clean.control == dirty.control) << i;
    if (random.OneIn(3000)) clean.Loss(), dirty.Loss();
    if (random.OneIn(5000)) clean.Restart(), dirty.Restart();
  }
}

// No decision depends on where the clock began; a field of 32 bits that holds a time would.
TYPED_TEST_P(CoreContract, OnlyDifferencesOfTimeCount) {
  std::vector<dcc_control> expected;
  for (const u64 start : {u64{1} << 30, (u64{1} << 32) - 500000, u64{1} << 45, u64{1} << 62}) {
    Flow<TypeParam> flow;
    flow.now_ns = start;
    Random random(11);
    double queue = 0;
    for (size_t i = 0; i < 10000; ++i) {
      if (random.OneIn(300)) queue = random.LogUniform(1, 100000);
      flow.Ack(kBaseNs + static_cast<u32>(queue * random.Unit()));
      if (random.OneIn(2000)) flow.Loss();
      if (start == u64{1} << 30)
        expected.push_back(flow.control);
      else
        ASSERT_TRUE(flow.control == expected[i]) << start << " ack " << i;
    }
  }
}

TYPED_TEST_P(CoreContract, GoesOnAfterTheClockWentBackOrWrapped) {
  for (const u64 to : {u64{1000}, u64{999000000}, kMax64 - 1000000}) {
    Flow<TypeParam> flow;
    flow.Acks(2000, 2 * kBaseNs);
    flow.Loss();
    flow.now_ns = to;
    flow.Acks(20000, kBaseNs);
    const double idle = flow.Packets(kBaseNs);
    int decisions = 0;
    for (int i = 0; i < 40000; ++i) {
      decisions += flow.Ack(100 * kBaseNs);
      ASSERT_TRUE(InBounds(flow.control, flow.path)) << to;
    }
    EXPECT_GT(decisions, 0) << to;
    EXPECT_LE(flow.Packets(kBaseNs), idle) << to;
  }
}

TYPED_TEST_P(CoreContract, SumsOfBytesMayWrap) {
  Flow<TypeParam> flow;
  for (int i = 0; i < 3000; ++i) {
    flow.now_ns += kPacketNs;
    const u32 rtt = kBaseNs + static_cast<u32>(i % 100 * 100);
    flow.Take({flow.now_ns, flow.now_ns - rtt, rtt, i % 3 ? kMax32 : u32{1} << 31,
               i % 2 ? kMax32 : 1500, flow.control.probe_ns ? DCC_ACK_PROBE : 0, 0});
    ASSERT_TRUE(InBounds(flow.control, flow.path)) << i;
  }
  EXPECT_GT(flow.Acks(20000, kBaseNs), 0);
}

TYPED_TEST_P(CoreContract, RttsOfNothingAndOfSecondsKeepTheControlInBounds) {
  for (const u64 rate : {1000000ULL, 10000000000ULL, 800000000000ULL})
    for (const u32 base : {1000u, 12000u, 1000000u, 1000000000u})
      for (const u32 wire : {64u, 1500u, 65535u})
        for (const u32 sample : {0u, 1u, base, base + base / 2, kMax32}) {
          Flow<TypeParam> flow({rate, base, wire, 0, 0});
          for (int i = 0; i < 200; ++i) {
            flow.Ack(i % 3 ? sample : base, i % 7 ? u64{base} / 50 : 5000000000ULL);
            if (i % 50 == 49) flow.Loss();
            ASSERT_TRUE(InBounds(flow.control, flow.path))
                << rate << " " << base << " " << wire << " " << sample;
          }
        }
}

TYPED_TEST_P(CoreContract, ValuesOutsideAPathsRangeAreCutNotTrusted) {
  for (const u64 rate : {u64{0}, u64{1}, kMax64})
    for (const u32 base : {0u, 1u, kMax32})
      for (const u32 wire : {0u, 1u, kMax32}) {
        Flow<TypeParam> flow({rate, base, wire, 0, 0});
        for (int i = 0; i < 300; ++i) {
          flow.Ack(kBaseNs + static_cast<u32>(i), i % 11 ? kPacketNs : 5000000000ULL);
          ASSERT_TRUE(InBounds(flow.control, flow.path)) << rate << " " << base << " " << wire;
        }
        flow.Loss();
        flow.Rto();
        EXPECT_TRUE(InBounds(flow.control, flow.path)) << rate << " " << base << " " << wire;
      }
}

// Parameters are fields of 32 bits: each one alone, and all of them, at their ends and beyond.
TYPED_TEST_P(CoreContract, ParametersAtAndBeyondTheirEndsKeepTheControlInBounds) {
  using Params = typename TypeParam::Params;
  constexpr size_t kFields = sizeof(Params) / sizeof(u32);
  for (size_t field = 0; field <= kFields; ++field)
    for (const u32 value : {0u, 1u, 1000u, 1000000u, 0x7fffffffu, kMax32}) {
      u32 values[kFields];
      Params params = TypeParam::Defaults();
      std::memcpy(values, &params, sizeof(params));
      for (size_t i = 0; i < kFields; ++i)
        if (i == field || field == kFields) values[i] = value;
      std::memcpy(&params, values, sizeof(params));
      Flow<TypeParam> flow(kDataCenter, params);
      ASSERT_TRUE(InBounds(flow.control, flow.path)) << "field " << field << " " << value;
      for (int i = 0; i < 400; ++i) {
        flow.Ack(i % 200 < 100 ? kBaseNs : 10 * kBaseNs, i % 100 ? kPacketNs : 10 * kBaseNs);
        if (i % 150 == 149) flow.Loss();
        ASSERT_TRUE(InBounds(flow.control, flow.path)) << "field " << field << " " << value;
      }
      flow.Rto();
      EXPECT_TRUE(InBounds(flow.control, flow.path)) << "field " << field << " " << value;
    }
}

// A peer that acknowledges before the data has arrived makes RTTs short, at will.
TYPED_TEST_P(CoreContract, AcksThatComeTooEarlyGainNoMoreThanAnIdlePath) {
  Flow<TypeParam> idle;
  idle.Acks(40000, kBaseNs);
  for (const u32 rtt : {1u, kBaseNs / 10, kBaseNs / 2, kBaseNs - 100}) {
    Flow<TypeParam> early;
    double most = 0;
    for (int i = 0; i < 40000; ++i) {
      early.Ack(rtt);
      most = std::max(most, early.Packets(kBaseNs));
      ASSERT_TRUE(InBounds(early.control, early.path)) << rtt << " " << i;
    }
    // A base RTT at the line rate are 100 packets; whatever the window, the pace allows no more.
    EXPECT_LE(most, 2 * 100.5) << rtt;
    EXPECT_LE(early.Packets(kBaseNs), 1.01 * idle.Packets(kBaseNs)) << rtt;
    // The queue shows as soon as RTTs are true again.
    early.Acks(20000, 100 * kBaseNs, 4800);
    EXPECT_LT(early.Packets(kBaseNs), most / 2) << rtt;
  }
}

// Ten ACKs for one packet: TCP calls the core for the last of them alone, with the last tenth of
// the payload and all of the headers (dcc_tcp_test.cc).
TYPED_TEST_P(CoreContract, SplitAcksGainNothingOverWholeOnes) {
  for (const u32 rtt : {kBaseNs, kBaseNs * 5 / 4, 2 * kBaseNs, 4 * kBaseNs}) {
    Flow<TypeParam> whole, split;
    for (int i = 0; i < 40000; ++i) {
      whole.Ack(rtt);
      split.now_ns += kPacketNs;
      const bool stopped = split.control.probe_ns;
      const u64 window = split.control.cwnd_q16 * split.path.wire_bytes >> DCC_WINDOW_SHIFT;
      split.Take({split.now_ns, split.now_ns - rtt, rtt, stopped ? 0u : 66 + 145u,
                  static_cast<u32>(dcc_min_u64(window, 1u << 30)), stopped ? DCC_ACK_PROBE : 0u,
                  0});
    }
    EXPECT_LE(split.Packets(rtt), 1.01 * whole.Packets(rtt)) << rtt;
  }
}

TYPED_TEST_P(CoreContract, FollowsASlowerPath) {
  Flow<TypeParam> flow;
  flow.Acks(5000, kBaseNs);
  flow.path.line_rate_bps /= 10;
  flow.Acks(20000, 2 * kBaseNs);
  EXPECT_LE(flow.control.pacing_bps, 2 * flow.path.line_rate_bps);
}

// What is learned of a queue does not outlive a restart, and what was sent before it does not
// count.
TYPED_TEST_P(CoreContract, ARestartedFlowStillAnswersToTheQueue) {
  Flow<TypeParam> flow;
  flow.Acks(20000, 100 * kBaseNs);
  flow.path = {25000000000ULL, 20000, 1500, 0, 0};
  flow.now_ns += 1000000000;
  flow.Restart();
  EXPECT_TRUE(InBounds(flow.control, flow.path));
  flow.Acks(100000, 20000, 480);
  const double alone = flow.Packets(20000);
  EXPECT_GT(alone, 0);
  flow.Acks(20000, 2000000, 480);
  EXPECT_LT(flow.Packets(20000), alone);
}

TYPED_TEST_P(CoreContract, AnyCallsInAnyOrderKeepTheControlInBounds) {
  // A control is of the path that the last decision knew.
  const dcc_path fastest = {DCC_PATH_RATE_MAX_BPS, 1000, 1500, 0, 0};
  for (u64 seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Flow<TypeParam> flow(delaycc_test::RandomPath(random));
    for (int i = 0; i < 2000; ++i) {
      const u32 rtt = random.OneIn(20)
                          ? static_cast<u32>(random.Below(u64{1} << 32))
                          : static_cast<u32>(flow.path.base_rtt_ns * random.LogUniform(0.9, 3));
      flow.Ack(rtt, random.OneIn(100) ? random.Below(u64{1} << 40) : random.Below(10000),
               random.OneIn(10) ? static_cast<u32>(random.Below(64)) : 0);
      if (random.OneIn(50)) flow.flows = static_cast<u32>(random.LogUniform(1, 4e9));
      if (random.OneIn(100)) flow.Loss();
      if (random.OneIn(200)) flow.Rto();
      if (random.OneIn(200)) flow.Restart();
      if (random.OneIn(300)) flow.path = delaycc_test::RandomPath(random);
      ASSERT_TRUE(InBounds(flow.control, fastest)) << seed << " " << i;
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(
    CoreContract, DefaultParametersAreValidAndBeginWithinBounds,
    SendsLessWhereTheQueueIsLongAndMoreAgainWhereItIsGone, SamplesWithoutAnRttDecideNothing,
    LossesCutAtMostOncePerRtt, TimeoutsInARowLeaveAPacketOrTwoPerRttAndNeverRaiseTheWindow,
    ZeroedStateSurvivesAnyFirstCall, DecidesAlikeWhateverTheStatesMemoryHeld,
    OnlyDifferencesOfTimeCount, GoesOnAfterTheClockWentBackOrWrapped, SumsOfBytesMayWrap,
    RttsOfNothingAndOfSecondsKeepTheControlInBounds, ValuesOutsideAPathsRangeAreCutNotTrusted,
    ParametersAtAndBeyondTheirEndsKeepTheControlInBounds,
    AcksThatComeTooEarlyGainNoMoreThanAnIdlePath, SplitAcksGainNothingOverWholeOnes,
    FollowsASlowerPath, ARestartedFlowStillAnswersToTheQueue,
    AnyCallsInAnyOrderKeepTheControlInBounds);

#define CONTRACT_OF(...)                            \
  using Contracted = ::testing::Types<__VA_ARGS__>; \
  INSTANTIATE_TYPED_TEST_SUITE_P(Core, CoreContract, Contracted, NameOf)

}  // namespace

#endif  // DELAYCC_TESTS_UNIT_CORE_CONTRACT_H_

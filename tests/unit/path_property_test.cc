// SPDX-License-Identifier: Apache-2.0
//
// The path model against its double-precision twin on random walks of RTTs, rates, flights and
// configurations, and what holds on any of them.  Base RTTs, sources, counts and what a probe adds
// agree exactly; in each step noise to 4 ns, line rates to 8 bit/s and 1e-9 of them, delay floors,
// which are made from rates, to 4 ns and 4e-6 of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "path/model.h"
#include "path_reference.h"
#include "random_path.h"

namespace delaycc_test {
namespace {

constexpr u32 kWindowMax = 1000000;

// A path, and what a flow meets on it.
class Walk {
 public:
  explicit Walk(u64 seed) : random_(seed) {
    rtt_ = random_.LogUniform(2e3, random_.OneIn(8) ? 5e8 : 2e6);
    rate_ = random_.LogUniform(1e6, 8e11);
    wire_ = random_.OneIn(2) ? 1514 : static_cast<u32>(random_.LogUniform(64, 65535));
    now_ = 1000000000 + random_.Below(1ULL << 50);
    Turn();
  }

  // Another kind of delays.
  void Turn() {
    kind_ = random_.Below(6);
    flight_ = static_cast<u32>(random_.LogUniform(1, 200));
    noise_ = rtt_ * random_.LogUniform(0.001, 1);
    queue_ = random_.OneIn(2) ? 0 : rtt_ * random_.LogUniform(0.001, 3);
    drift_ = rtt_ * random_.LogUniform(1e-5, 0.1);
    fills_ = random_.OneIn(2);
    sends_ = !random_.OneIn(6);
    sparse_ = random_.OneIn(4);
  }

  dcc_path_config Config() {
    dcc_path_config c = {};
    c.line_rate_bps = static_cast<u64>(rate_ * (random_.OneIn(4) ? random_.LogUniform(.1, 10) : 1));
    c.line_rate_bps = std::clamp<u64>(c.line_rate_bps, 1000000, 800000000000);
    c.line_configured = !random_.OneIn(3);
    if (random_.OneIn(2))
      c.base_rtt_ns = static_cast<u32>(
          std::clamp(rtt_ * (random_.OneIn(2) ? .6 + .6 * random_.Unit() : 1), 1e3, 1e9));
    if (random_.OneIn(4)) c.noise_ns = static_cast<u32>(rtt_ * random_.LogUniform(1e-3, 1));
    c.moved = random_.OneIn(3);
    return c;
  }

  // The next ACK, of `extra` packets more than the flow has.
  dcc_ack Next(u32 extra, double packet_ns, u32* flight) {
    double rtt = rtt_;
    switch (kind_) {
      case 0:  // idle
        break;
      case 1:  // a level queue
        rtt += queue_;
        break;
      case 2:  // noise
        rtt += queue_ + noise_ * random_.Unit();
        break;
      case 3:  // a queue that walks
        walk_ = std::max(0.0, walk_ + drift_ * (random_.OneIn(2) ? 1 : -1));
        rtt += walk_;
        break;
      case 4:  // one that swings
        walk_ += up_ ? drift_ : -drift_;
        if (walk_ > rtt_ || walk_ < 0) up_ = walk_ < 0;
        rtt += std::max(0.0, walk_);
        break;
      default:  // jitter of a packet
        rtt += queue_ + packet_ns * random_.Unit();
    }
    *flight = flight_ + (sends_ ? extra : 0);
    if (fills_) rtt += extra * packet_ns;
    dcc_ack ack = {};
    ack.rtt_ns = static_cast<u32>(std::clamp(rtt, 0.0, 4.2e9));
    if (random_.OneIn(5000)) ack.rtt_ns = random_.OneIn(2) ? 0 : 0xffffffff;
    const double gap = sparse_ ? rtt_ * random_.LogUniform(.3, 50) : rtt / *flight;
    now_ += static_cast<u64>(gap);
    ack.now_ns = now_;
    ack.send_ns = now_ - ack.rtt_ns;
    ack.acked_bytes = wire_ * static_cast<u32>(random_.OneIn(8) ? 1 + random_.Below(8) : 1);
    ack.inflight_bytes = dcc_sat_u32(static_cast<u64>(*flight) * wire_);
    if (random_.OneIn(100)) ack.flags = DCC_ACK_APP_LIMITED;
    return ack;
  }

  Random& random() { return random_; }
  double rtt() const { return rtt_; }
  u32 wire() const { return wire_; }
  u64 now() const { return now_; }
  // The path becomes a longer one, or a shorter one.
  void Reroute() { rtt_ = std::clamp(rtt_ * random_.LogUniform(.5, 3), 2e3, 9e8); }

 private:
  Random random_;
  double rtt_, rate_, noise_ = 0, queue_ = 0, drift_ = 0, walk_ = 0;
  u64 now_, kind_ = 0;
  u32 wire_, flight_ = 1;
  bool fills_ = false, sends_ = true, sparse_ = false, up_ = true;
};

struct Pair {
  explicit Pair(Walk* walk)
      : handshake_ns(walk->random().OneIn(2)
                         ? 0
                         : static_cast<u32>(walk->rtt() * (.5 + walk->random().Unit()))),
        twin(handshake_ns ? handshake_ns : 20000, handshake_ns, walk->wire()) {
    core = {};
    dcc_base_guess(&core.base, handshake_ns ? handshake_ns : 20000);
    if (handshake_ns) dcc_base_note_handshake(&core.base, handshake_ns, 0);
    dcc_model_set_packet(&core, walk->wire());
    dcc_path_config config = walk->Config();
    config.moved = false;
    Configure(config);
    if (dcc_model_may_recall(&core) && walk->random().OneIn(2)) {
      const dcc_path_metrics cached = {
          static_cast<u32>(std::clamp(walk->rtt() * (.5 + walk->random().Unit()), 1e3, 1e9)),
          static_cast<u32>(walk->rtt() * walk->random().Unit() / 4), walk->random().OneIn(2)};
      dcc_model_recall(&core, &cached);
      twin.Recall(cached);
    }
  }

  void Configure(const dcc_path_config& c) {
    // The line's rate and its packet's time go before what is made from them.
    twin.Follow(core);
    dcc_model_configure(&core, &c);
    twin.Configure(c);
    twin.Follow(core);
  }

  void SetTarget(u32 target_ns) {
    core.target_ns = target_ns;
    twin.target = target_ns;
  }

  u32 handshake_ns;
  dcc_model core;
  PathReference twin;
};

void ExpectAlike(const Pair& p, const std::string& where) {
  const dcc_model& m = p.core;
  const PathReference& t = p.twin;
  ASSERT_EQ(m.base.ns, t.base) << where;
  ASSERT_EQ(m.base.source, t.source) << where;
  ASSERT_EQ(m.base.seen_ns, t.seen < 0 ? 0 : t.seen) << where;
  ASSERT_NEAR(m.noise.ns, t.noise, 4) << where;
  ASSERT_NEAR(m.line.floor_ns, t.floor, 4 + 4e-6 * t.floor) << where;
  ASSERT_NEAR(static_cast<double>(m.line.bps), t.rate_bps, 8 + 1e-9 * t.rate_bps) << where;
  ASSERT_EQ(m.line.window, t.window) << where;
  ASSERT_EQ(m.probe.extra, t.extra) << where;
  ASSERT_EQ(m.probe.looks, t.looks) << where;
  ASSERT_EQ(m.probe.passed, t.passed) << where;
  ASSERT_EQ(m.drain.window, t.drain_window) << where;
  ASSERT_NEAR(static_cast<double>(m.drain.until_ns), t.drain_until, 8) << where;
}

// Three logarithms that are up to 0.086 too small, a step that is too short, and packet_ns and
// T in whole ns.
void ExpectShare(const Pair& p, const dcc_control& c, const std::string& where) {
  const double window = static_cast<double>(c.cwnd_q16) / DCC_WINDOW_ONE;
  const double t = p.twin.T(), packet_ns = static_cast<double>(p.core.packet_ns);
  const double near = (.173 + 1 / 16. + 1.5 / packet_ns) * t * std::log(2) + 9;
  ASSERT_NEAR(p.core.share_ns, p.twin.Share(window), near) << where;
  if (t == 0) {
    ASSERT_EQ(p.core.share_ns, 0u) << where;
  }
}

void ExpectSound(const dcc_model& m, const std::string& where) {
  ASSERT_GE(m.path.base_rtt_ns, DCC_PATH_RTT_MIN_NS) << where;
  ASSERT_LE(m.path.base_rtt_ns, DCC_PATH_RTT_MAX_NS) << where;
  const u32 room_ns = m.path.base_rtt_ns - m.base.ns;
  ASSERT_EQ(m.path.noise_ns, m.has_levels ? std::min(room_ns, m.noise.ns) : room_ns) << where;
  ASSERT_LE(m.probe.extra, DCC_PROBE_PACKETS) << where;
  ASSERT_LE(m.probe.own, DCC_PROBE_PACKETS) << where;
  ASSERT_GE(m.path.line_rate_bps, m.line.given_bps) << where;
  ASSERT_LE(m.path.line_rate_bps, DCC_PATH_RATE_MAX_BPS) << where;
  ASSERT_GE(m.packet_ns, 1u) << where;
  ASSERT_EQ(m.path.delay_floor_ns == 0, m.line.configured != 0) << where;
  ASSERT_EQ(m.path.delay_floor_ns, m.line.floor_ns) << where;
  ASSERT_LE(m.path.delay_floor_ns, 2 * DCC_PATH_RTT_MAX_NS) << where;
  if (dcc_probe_is_on(&m.probe)) {
    ASSERT_TRUE(m.line.configured) << where;
  }
  if (dcc_drain_is_on(&m.drain)) {
    ASSERT_TRUE(m.line.configured && !m.base.configured_ns) << where;
  }
  ASSERT_LE(m.drain.rtts, DCC_DRAIN_RTTS_MAX) << where;
}

TEST(PathProperty, CoreAndTwinAgreeOnRandomWalks) {
  int events[3] = {}, answers[6] = {}, sources[7] = {}, raised = 0, fell = 0, edges = 0, acks = 0;
  int drains = 0;
  for (u64 seed = 1; seed <= 400; ++seed) {
    Walk walk(seed);
    Random& random = walk.random();
    Pair pair(&walk);
    u32 in_flight = 0;  // of a probe, as of the ACK before
    for (int i = 0; i < 4000; ++i) {
      const std::string where = "seed " + std::to_string(seed) + " ack " + std::to_string(i);
      if (random.OneIn(250)) walk.Turn();
      if (random.OneIn(1500)) walk.Reroute();
      if (random.OneIn(600)) pair.Configure(walk.Config());
      if (random.OneIn(300)) pair = Pair(&walk);
      if (random.OneIn(300))
        pair.SetTarget(random.OneIn(3) ? 0
                                       : static_cast<u32>(walk.rtt() * random.LogUniform(.01, 1)));
      if (random.OneIn(20)) {
        dcc_control control = {};
        control.cwnd_q16 = static_cast<u64>(random.LogUniform(1, 1e10));
        control.has_levels = random.OneIn(4);
        control.target_ns = pair.core.target_ns;
        pair.twin.Follow(pair.core);
        dcc_model_control(&pair.core, &control);
        dcc_model_publish(&pair.core);
        pair.twin.has_levels = control.has_levels;
        ExpectShare(pair, control, where);
        if (HasFatalFailure()) return;
      }
      pair.twin.Follow(pair.core);
      u32 flight = 0;
      const double packet_ns = static_cast<double>(pair.core.packet_ns);
      dcc_ack ack = walk.Next(in_flight, packet_ns, &flight);
      dcc_ack twins = ack;
      const u64 rate_bps = pair.core.line.bps;
      if (random.OneIn(40)) {
        dcc_model_small_sample(&pair.core, &ack);
        pair.twin.SmallSample(twins);
      } else {
        const bool small = random.OneIn(30);
        dcc_model_sample(&pair.core, &ack, flight, small, kWindowMax);
        pair.twin.Sample(&twins, flight, small, kWindowMax);
      }
      ++acks;
      in_flight = pair.core.probe.extra;
      ExpectSound(pair.core, where);
      if (pair.twin.knife_edge) {
        // A comparison of rounded values: begin anew.
        ++edges;
        pair = Pair(&walk);
        continue;
      }
      ExpectAlike(pair, where);
      if (HasFatalFailure()) return;
      ASSERT_EQ(ack.rtt_ns, twins.rtt_ns) << where;
      ASSERT_EQ(ack.inflight_bytes, twins.inflight_bytes) << where;
      if (pair.twin.answer == PathReference::Answer::kQueue ||
          pair.twin.answer == PathReference::Answer::kTimeout) {
        const double next = static_cast<double>(pair.core.probe.next_ns);
        ASSERT_GE(next, pair.twin.wait_least) << where;
        ASSERT_LT(next, pair.twin.wait_below) << where;
      }
      if (pair.twin.drain_waits) {
        const double next = static_cast<double>(pair.core.drain.next_ns);
        ASSERT_GE(next, pair.twin.drain_least) << where;
        ASSERT_LT(next, pair.twin.drain_below) << where;
      }
      drains += pair.twin.drain_begins;
      ASSERT_EQ(ack.flags, twins.flags) << where;
      ++events[static_cast<int>(pair.twin.event)];
      ++answers[static_cast<int>(pair.twin.answer)];
      ++sources[pair.core.base.source];
      raised += pair.core.line.bps > rate_bps;
      fell += pair.core.line.bps < rate_bps;
    }
  }
  for (const int each : events) EXPECT_GT(each, 1000);
  for (const int each : answers) EXPECT_GT(each, 100);
  for (const int each : sources) EXPECT_GT(each, 50);
  EXPECT_GT(drains, 300);
  EXPECT_GT(raised, 300);
  EXPECT_GT(fell, 300);
  EXPECT_LT(edges, acks / 100) << "too many acknowledgments were excused";
}

// ---- what holds on any walk

TEST(PathProperty, ABaseRttIsNeverLongerThanTheRttsOfFullPacketsUnlessAProbeSaidSo) {
  for (u64 seed = 1; seed <= 300; ++seed) {
    Walk walk(seed);
    Random& random = walk.random();
    Pair pair(&walk);
    dcc_path_config config = walk.Config();
    config.base_rtt_ns = 0;
    pair.Configure(config);
    u32 least_ns = 0xffffffff;
    for (int i = 0; i < 2000; ++i) {
      if (random.OneIn(250)) walk.Turn();
      if (random.OneIn(500)) walk.Reroute();
      u32 flight = 0;
      dcc_ack ack = walk.Next(0, static_cast<double>(pair.core.packet_ns), &flight);
      const bool small = random.OneIn(30);
      const u8 passed = pair.core.probe.passed;
      dcc_model_sample(&pair.core, &ack, flight, small, kWindowMax);
      if (!small) least_ns = std::min(least_ns, dcc_path_rtt_ns(ack.rtt_ns));
      // Its third pass.
      if (passed == DCC_PROBE_PASSES - 1 && !pair.core.probe.passed) least_ns = 0xffffffff;
      ASSERT_LE(pair.core.base.ns, least_ns) << seed << " " << i;
    }
  }
}

TEST(PathProperty, NoiseThatIsEstimatedIsTwiceTheLeastRttAtTheMost) {
  for (u64 seed = 1; seed <= 300; ++seed) {
    Walk walk(seed);
    Random& random = walk.random();
    Pair pair(&walk);
    dcc_path_config config = walk.Config();
    config.base_rtt_ns = 0;
    config.noise_ns = 0;
    config.moved = true;
    pair.Configure(config);
    u32 longest_ns = 0;
    for (int i = 0; i < 2000; ++i) {
      if (random.OneIn(250)) walk.Turn();
      u32 flight = 0;
      dcc_ack ack = walk.Next(0, static_cast<double>(pair.core.packet_ns), &flight);
      dcc_model_sample(&pair.core, &ack, flight, false, kWindowMax);
      // A base RTT that becomes shorter takes its noise down within some rounds.
      longest_ns = std::max(longest_ns, pair.core.base.ns);
      ASSERT_LE(pair.core.noise.ns, 2 * longest_ns) << seed << " " << i;
    }
  }
}

TEST(PathProperty, AnythingLeavesASoundPath) {
  Random random(1);
  const auto any = [&random](u64 below) {
    const u64 value = random.Below(~0ULL) >> random.Below(64);
    return below ? value % below : value;
  };
  for (int flow = 0; flow < 1000; ++flow) {
    dcc_model m = {};
    dcc_base_guess(&m.base, any(0));
    if (any(2)) dcc_base_note_handshake(&m.base, any(0), static_cast<u32>(any(0)));
    m.line.window = static_cast<u32>(any(kWindowMax));
    for (int i = 0; i < 200; ++i) {
      if (i == 0 || any(20) == 0) {
        dcc_path_config c = {};
        c.line_rate_bps = i == 0 || any(2) ? 1000000 + any(DCC_PATH_RATE_MAX_BPS) : 0;
        c.base_rtt_ns = any(2) ? 0 : static_cast<u32>(any(DCC_PATH_RTT_MAX_NS + 1));
        c.noise_ns = any(2) ? 0 : static_cast<u32>(any(DCC_PATH_RTT_MAX_NS + 1));
        c.line_configured = any(2);
        c.moved = any(2);
        dcc_model_set_packet(&m, static_cast<u32>(any(0)));
        dcc_model_configure(&m, &c);
        const dcc_path_metrics cached = {dcc_path_rtt_ns(any(DCC_PATH_RTT_MAX_NS)),
                                         static_cast<u32>(any(DCC_PATH_RTT_MAX_NS)), any(2) != 0};
        if (dcc_model_may_recall(&m)) dcc_model_recall(&m, &cached);
      }
      if (any(8) == 0) {
        const dcc_control control = {any(0), any(0), any(0), static_cast<u32>(any(0)),
                                     static_cast<u32>(any(2))};
        dcc_model_control(&m, &control);
        dcc_model_publish(&m);
      }
      dcc_ack ack = {};
      ack.now_ns = any(0);
      ack.rtt_ns = static_cast<u32>(any(0));
      ack.send_ns = any(8) ? ack.now_ns - ack.rtt_ns : any(0);
      ack.acked_bytes = static_cast<u32>(any(0));
      ack.inflight_bytes = static_cast<u32>(any(0));
      ack.flags = static_cast<u32>(any(64));
      const u32 rtt_ns = ack.rtt_ns, inflight_bytes = ack.inflight_bytes;
      if (any(8))
        dcc_model_sample(&m, &ack, static_cast<u32>(any(0)), any(4) == 0, kWindowMax);
      else
        dcc_model_small_sample(&m, &ack);
      ASSERT_EQ(ack.rtt_ns, rtt_ns);
      ASSERT_EQ(ack.inflight_bytes, inflight_bytes);
      if (any(16) == 0) dcc_model_guess(&m, static_cast<u32>(any(0)));
      ExpectSound(m, std::to_string(flow) + " " + std::to_string(i));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace delaycc_test

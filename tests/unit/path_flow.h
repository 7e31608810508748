// SPDX-License-Identifier: Apache-2.0
//
// A flow as kernel/core/path/model.h sees it: RTTs, packets in flight and what is configured go in,
// and base RTT, noise and line rate come out.  For the tests of the parts of that model.
#ifndef DELAYCC_TESTS_UNIT_PATH_FLOW_H_
#define DELAYCC_TESTS_UNIT_PATH_FLOW_H_

#include <algorithm>
#include <random>
#include <stdexcept>

#include "path/model.h"

namespace {

constexpr u64 kNow = 1000000000000;  // 1000 s
constexpr u64 kLine = 100000000000;  // 100 Gbit/s
constexpr u32 kWire = 1514;
constexpr u32 kBase = 12000;
constexpr u32 kPacket = kWire * 8 / 100;  // ns on the line
constexpr u32 kWindowMax = 1000000;
// A law's that every RTT here is shorter than: a base RTT that was once seen stays seen.
constexpr u32 kLongTarget = 1000000000;

// What is configured; the line rate is, unless it is said to be a device's.
struct Known {
  u32 base_rtt_ns = 0;
  u32 noise_ns = 0;
  u64 line_rate_bps = kLine;
  bool line_configured = true;
  u32 handshake_ns = 0;
  u32 handshake_error_ns = 0;
};

// Packets in flight that the path takes without a queue.
enum class Room { kAny, kNone };

class PathFlow {
 public:
  explicit PathFlow(const Known& known = Known()) : known_(known) {
    SetTarget(kLongTarget);
    if (known.handshake_ns)
      dcc_base_note_handshake(&m_.base, known.handshake_ns, known.handshake_error_ns);
    dcc_base_guess(&m_.base, known.handshake_ns ? known.handshake_ns : 20000);
    dcc_model_set_packet(&m_, kWire);
    Configure(known);
  }

  void Configure(const Known& known, bool moved = false) {
    known_ = known;
    dcc_path_config config = {};
    config.line_rate_bps = known.line_rate_bps;
    config.base_rtt_ns = known.base_rtt_ns;
    config.noise_ns = known.noise_ns;
    config.line_configured = known.line_configured;
    config.moved = moved;
    dcc_model_configure(&m_, &config);
  }

  // An ACK gap_ns after the one before; what the law sees of it.
  dcc_ack Ack(u32 rtt_ns, u64 gap_ns, u32 flight = 1, bool small = false, u32 flags = 0) {
    dcc_ack ack = After(gap_ns, rtt_ns);
    ack.acked_bytes = kWire;
    ack.inflight_bytes = flight * kWire;
    ack.flags = flags;
    const bool was_on = probing();
    dcc_model_sample(&m_, &ack, flight, small, kWindowMax);
    Note(was_on);
    return ack;
  }

  // The reply to a stopped flow's probe.
  void Reply(u32 rtt_ns, u64 gap_ns) {
    dcc_ack ack = After(gap_ns, rtt_ns);
    ack.flags = DCC_ACK_PROBE;
    const bool was_on = probing();
    dcc_model_small_sample(&m_, &ack);
    Note(was_on);
  }

  // That many packets, gap_ns apart, whose RTTs are uniform from low_ns to high_ns.
  void Feed(u32 low_ns, int packets, u64 gap_ns, u32 high_ns = 0, bool app_limited = false) {
    std::uniform_int_distribution<u32> rtt(low_ns, std::max(low_ns, high_ns));
    for (int i = 0; i < packets; ++i)
      Ack(rtt(random_), gap_ns, 1, false, app_limited ? DCC_ACK_APP_LIMITED : 0);
  }

  // A queue that goes from low_ns to high_ns and back, times times, by step_ns per packet.
  void Swing(int times, u32 low_ns, u32 high_ns, u32 step_ns, u64 gap_ns) {
    for (; times > 0; --times) {
      for (u32 up = low_ns; up < high_ns; up += step_ns) Feed(kBase + up, 1, gap_ns);
      for (u32 down = high_ns; down >= low_ns + step_ns; down -= step_ns)
        Feed(kBase + down, 1, gap_ns);
    }
  }

  // One of ten ACKs of an RTT, with ten packets in flight and those that a probe has added, which
  // make a queue where others fill the line.
  void Step(u32 rtt_ns = kBase, Room room = Room::kAny) {
    const u32 extra = in_flight_[at_];  // as an RTT ago
    const u32 queue_ns = room == Room::kAny ? 0 : extra * packet_ns();
    law_ = Ack(rtt_ns + queue_ns, rtt_ns / 10, 10 + (sends_more_ ? extra : 0));
    if (!(law_.flags & DCC_ACK_NO_RTT)) longest_seen_ns_ = std::max(longest_seen_ns_, law_.rtt_ns);
    in_flight_[at_] = m_.probe.extra;
    at_ = (at_ + 1) % 10;
  }
  void Run(int rtts, u32 rtt_ns = kBase, Room room = Room::kAny) {
    for (int i = 0; i < rtts * 10; ++i) Step(rtt_ns, room);
  }
  // Until a probe begins.
  void RunToProbe(u32 rtt_ns = kBase, Room room = Room::kAny) {
    for (int i = 0; i < 100000; ++i) {
      const int before = probes_;
      Step(rtt_ns, room);
      if (probes_ > before) return;
    }
  }

  // A law that holds a queue of target_ns.
  void SetTarget(u32 target_ns) { m_.target_ns = target_ns; }
  // A law that asks for this window, Q16, and publishes what it makes of the path.
  void Control(u64 cwnd_q16, bool has_levels = false) {
    dcc_control control = {};
    control.cwnd_q16 = cwnd_q16;
    control.target_ns = m_.target_ns;
    control.has_levels = has_levels;
    dcc_model_control(&m_, &control);
    dcc_model_publish(&m_);
  }
  void SendNothingMore() { sends_more_ = false; }

  u32 base_ns() const { return m_.path.base_rtt_ns; }
  u32 noise_ns() const { return m_.path.noise_ns; }
  u32 rtt_min_ns() const { return base_ns() - noise_ns(); }
  u32 share_ns() const { return m_.share_ns; }
  u32 longest_ns() const { return longest_ns_; }
  u64 now_ns() const { return now_ns_; }
  u32 packet_ns() const { return static_cast<u32>(m_.packet_ns); }
  bool round_is_open() const { return m_.round.samples; }
  bool probing() const { return dcc_probe_is_on(&m_.probe); }
  int probes() const { return probes_; }
  // Packets that a probe has added at the most.
  u32 most() const { return most_; }
  // What the law has seen of the last ACK of Run(), and its longest RTT.
  const dcc_ack& law() const { return law_; }
  u32 longest_seen_ns() const { return longest_seen_ns_; }
  dcc_base_source source() const { return static_cast<dcc_base_source>(m_.base.source); }
  // What it tells the cache; {0, 0, false}: nothing.
  dcc_path_metrics knows() const {
    dcc_path_metrics metrics = {};
    return dcc_model_knows(&m_, &metrics) ? metrics : dcc_path_metrics{};
  }
  const Known& known() const { return known_; }
  dcc_model* model() { return &m_; }
  const dcc_path& path() const { return m_.path; }

 private:
  dcc_ack After(u64 gap_ns, u32 rtt_ns) {
    Advance(gap_ns);
    dcc_ack ack = {};
    ack.now_ns = now_ns_;
    ack.rtt_ns = rtt_ns;
    ack.send_ns = now_ns_ - rtt_ns;
    return ack;
  }
  // Tests wait for what a flow does.
  void Advance(u64 gap_ns) {
    if (++samples_ > 30000000) throw std::runtime_error("a flow that never does what is expected");
    now_ns_ += gap_ns;
  }

  void Note(bool was_on) {
    longest_ns_ = std::max(longest_ns_, base_ns());
    probes_ += probing() && !was_on;
    most_ = std::max<u32>(most_, m_.probe.extra);
  }

  Known known_;
  dcc_model m_ = {};
  u64 now_ns_ = kNow;
  u32 longest_ns_ = 0, most_ = 0, longest_seen_ns_ = 0, at_ = 0;
  u32 in_flight_[10] = {};
  int probes_ = 0, samples_ = 0;
  bool sends_more_ = true;
  dcc_ack law_ = {};
  std::mt19937 random_{7};
};

}  // namespace

#endif  // DELAYCC_TESTS_UNIT_PATH_FLOW_H_

// SPDX-License-Identifier: Apache-2.0
//
// One flow on an idle path, through dcc_tcp.h as the hooks call it, under any core: what it gets of
// the line where the base RTT is configured, rightly or not, and so is the line rate.
#ifndef DELAYCC_TESTS_UNIT_CONFIGURED_RTT_H_
#define DELAYCC_TESTS_UNIT_CONFIGURED_RTT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "core_type.h"
#include "dcc_tcp.h"

namespace {

// A probe after one that has found a queue, which the law's own start-up may make, waits for long.
constexpr u64 kSettleRtts = 400, kMeasuredRtts = 100;

struct ConfiguredPath {
  u64 line_bps;
  u32 rtt_ns;         // of a full packet on the idle path
  u32 configured_ns;  // what the base RTT is said to be
};

// `Core` is as CONTRACT_CORE makes it.
template <class Core>
class ConfiguredFlow {
 public:
  explicit ConfiguredFlow(const ConfiguredPath& path) : path_(path), params_(Core::Defaults()) {
    const dcc_tcp_view v = {};
    dcc_tcp_begin(&tcp_, &v, path.rtt_ns / 1000, ~0u, 0, 10);
    dcc_path_config config = {};
    config.line_rate_bps = path.line_bps;
    config.line_configured = true;
    config.base_rtt_ns = path.configured_ns;
    dcc_tcp_configure(&tcp_, kMss, kHeader, &config);
    packet_ns_ = tcp_.model.packet_ns;
    Core::Init(&core_, &tcp_.model.path, &params_, &control_);
    Apply();
  }

  // Goes on for that many RTTs; the flow's part of the line in them, 0 .. 1.
  double Run(u64 rtts) {
    const u64 begin_ns = now_ns_, end_ns = begin_ns + rtts * path_.rtt_ns;
    u64 bytes = 0;
    for (;;) {
      const u64 ack_ns = flight_.empty() ? ~0ull : flight_.front().ack_ns;
      const u64 send_ns = MaySendAt();
      if (std::min(ack_ns, send_ns) >= end_ns) break;
      now_ns_ = std::max(now_ns_, std::min(ack_ns, send_ns));
      if (send_ns < ack_ns) {
        Send();
        continue;
      }
      bytes += flight_.front().full ? kMss + kHeader : 0;
      Ack();
    }
    now_ns_ = end_ns;
    return static_cast<double>(bytes) * 8e9 / static_cast<double>(path_.line_bps) /
           static_cast<double>(end_ns - begin_ns);
  }

 private:
  static constexpr u32 kMss = 1448;
  static constexpr u32 kHeader = 66;

  struct Packet {
    u64 sent_ns, ack_ns;
    u32 delivered, end_seq;
    bool full;  // else a probe
  };

  // When the next packet or probe may leave; all ones: an ACK has to come first.
  u64 MaySendAt() {
    if (stopped_) return flight_.empty() ? std::max(probe_ns_, now_ns_) : ~0ull;
    return packets_out_ < cwnd_ ? std::max(pace_ns_, now_ns_) : ~0ull;
  }

  void Send() {
    Packet p = {now_ns_, 0, delivered_, snd_nxt_ += stopped_ ? 0 : kMss, !stopped_};
    // A probe waits in the queue, and is served two packets' time sooner than a full packet.
    const u64 served_ns = std::max(now_ns_, line_free_ns_);
    if (p.full) line_free_ns_ = served_ns + packet_ns_;
    p.ack_ns = served_ns + path_.rtt_ns - (p.full ? 0 : 2 * packet_ns_);
    flight_.push_back(p);
    if (!p.full) return;
    packets_out_++;
    pace_ns_ = std::max(pace_ns_, now_ns_) + kMss * DCC_NS_PER_S / std::max<u64>(pace_, 1);
  }

  void Ack() {
    const Packet p = flight_.front();
    flight_.pop_front();
    dcc_ack ack = {};
    if (p.full) {
      packets_out_--;
      bytes_acked_ += kMss;
      delivered_++;
      dcc_tcp_view v = {};
      v.now_ns = now_ns_;
      v.now_us = now_ns_ / 1000;
      v.bytes_acked = bytes_acked_;
      v.snd_nxt = snd_nxt_;
      v.delivered = delivered_;
      v.packets_out = packets_out_;
      v.sampled = true;
      v.rtt_us = static_cast<s32>(now_ns_ / 1000 - p.sent_ns / 1000);
      v.acked_sacked = 1;
      v.prior_delivered = p.delivered;
      v.last_end_seq = p.end_seq;
      if (!dcc_tcp_sample(&tcp_, &v, p.sent_ns, &ack)) return;
    } else {
      ack.now_ns = now_ns_;
      ack.send_ns = p.sent_ns;
      ack.rtt_ns = static_cast<u32>(now_ns_ - p.sent_ns);
      ack.flags = DCC_ACK_PROBE;
      dcc_model_small_sample(&tcp_.model, &ack);
      tcp_.sampler.rtt_ns = std::max(ack.rtt_ns, tcp_.model.path.base_rtt_ns);
    }
    const bool answered = Core::Ack(&core_, &tcp_.model.path, &params_, &ack, &control_);
    tcp_.last_ack_ns = now_ns_;
    if (!dcc_tcp_stops(&tcp_, &control_)) {
      stopped_ = false;
    } else if (answered || !stopped_) {
      stopped_ = true;
      probe_ns_ = now_ns_ + control_.probe_ns;
    }
    Apply();
  }

  void Apply() {
    dcc_model_control(&tcp_.model, &control_);
    if (stopped_) return;
    dcc_control control = control_;
    dcc_tcp_add_probe(&tcp_, &control);
    const u64 old_pace = pace_;
    pace_ = dcc_tcp_pace(&tcp_, &control);
    // A wait that was set at a slower pace ends sooner.
    if (pace_ > old_pace && pace_ns_ > now_ns_)
      pace_ns_ = now_ns_ + dcc_tcp_shortened_hold_ns(pace_ns_ - now_ns_, old_pace, pace_);
    cwnd_ = dcc_tcp_window(&tcp_, &control, delivered_, 1, ~0u);
  }

  ConfiguredPath path_;
  dcc_tcp tcp_ = {};
  typename Core::State core_ = {};
  typename Core::Params params_;
  dcc_control control_ = {};
  std::deque<Packet> flight_;  // in the order of their ACKs
  u64 now_ns_ = 1000000000000, pace_ns_ = 0, line_free_ns_ = 0, probe_ns_ = 0, packet_ns_;
  u64 bytes_acked_ = 0, pace_ = 1;
  u32 cwnd_ = 1, packets_out_ = 0, delivered_ = 0, snd_nxt_ = 0;
  bool stopped_ = false;
};

// The part of the line that a flow alone has at the least.
template <class Core>
double LeastPart(u32 /*rtt_us*/) {
  return .95;
}

// RTTs of 10 us to 10 ms, base RTTs from 90 to 110 % of them in steps of half a percent.
template <class Core>
class ConfiguredRtt : public ::testing::Test {};
TYPED_TEST_SUITE_P(ConfiguredRtt);

TYPED_TEST_P(ConfiguredRtt, AFlowAloneHasTheLineWhereItIsATenthOff) {
  constexpr u64 kGbps = 1000000000;
  constexpr struct {
    u64 line_bps;
    u32 rtt_us;
  } kPaths[] = {{10 * kGbps, 10},  {10 * kGbps, 20},  {10 * kGbps, 50}, {10 * kGbps, 100},
                {10 * kGbps, 200}, {5 * kGbps, 400},  {kGbps, 1000},    {kGbps, 2000},
                {kGbps / 2, 5000}, {kGbps / 4, 10000}};
  for (const auto& path : kPaths)
    for (u32 half_percent = 180; half_percent <= 220; ++half_percent) {
      const u32 rtt_ns = path.rtt_us * 1000;
      ConfiguredFlow<TypeParam> flow({path.line_bps, rtt_ns, rtt_ns / 200 * half_percent});
      flow.Run(kSettleRtts);
      EXPECT_GE(flow.Run(kMeasuredRtts), LeastPart<TypeParam>(path.rtt_us))
          << path.rtt_us << " us, configured " << half_percent / 2. << " %";
    }
}

REGISTER_TYPED_TEST_SUITE_P(ConfiguredRtt, AFlowAloneHasTheLineWhereItIsATenthOff);

}  // namespace

#endif  // DELAYCC_TESTS_UNIT_CONFIGURED_RTT_H_

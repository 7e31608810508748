// SPDX-License-Identifier: Apache-2.0
//
// TCP's side of the hooks (dcc_tcp.h) under arbitrary sockets, rate samples and controls. Base RTT,
// window, pace and hold stay within their bounds, and a sample is one of the socket's clock.
#include "dcc_tcp.h"

#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;

constexpr u64 kLineRateMaxBps = 800000000000;
constexpr u32 kNoiseMaxNs = DCC_NOISE_BASES_MAX * DCC_PATH_RTT_MAX_NS;
constexpr u64 kNoWrapNs = u64{1} << 63;

// Small steps make plausible sockets; whole numbers of any size make the others.
u32 Step(Input& in, u32 value) {
  const u8 how = in.Take<u8>();
  return how < 240 ? value + how % 16 : in.Take<u32>();
}

void TakeView(Input& in, dcc_tcp_view* v) {
  const u8 flags = in.Take<u8>();
  const u8 more = in.Take<u8>();
  v->now_ns = more < 240 ? v->now_ns + in.Take<u16>() : in.Take<u64>();
  v->now_us = more % 16 ? v->now_ns / DCC_NS_PER_US : in.Take<u64>();
  v->bytes_acked = more % 8 ? v->bytes_acked + in.Take<u16>() : in.Take<u64>();
  v->snd_nxt = Step(in, v->snd_nxt);
  v->delivered = Step(in, v->delivered);
  v->packets_out = Step(in, 0);
  v->sacked_out = Step(in, 0);
  v->total_retrans = Step(in, v->total_retrans);
  v->data_segs_in = Step(in, v->data_segs_in);
  v->ca_state = in.Take<u8>() % 5;
  v->all_sent = flags & 1;
  v->rwnd_limited = flags & 2;
  v->sampled = flags & 4;
  v->is_retrans = flags & 8;
  v->is_app_limited = flags & 16;
  v->is_ack_delayed = flags & 32;
  v->rtt_us = static_cast<s32>(flags & 64 ? in.Take<u32>() : in.Take<u16>());
  v->acked_sacked = Step(in, 0);
  v->prior_delivered = v->delivered - Step(in, 1);
  v->last_end_seq = Step(in, v->snd_nxt);
}

void CheckPath(const dcc_tcp& s) {
  const dcc_path& path = s.model.path;
  const dcc_line_rate& line = s.model.line;
  const dcc_base_rtt& base = s.model.base;
  Require(path.base_rtt_ns >= DCC_PATH_RTT_MIN_NS && path.base_rtt_ns <= DCC_PATH_RTT_MAX_NS);
  Require(path.wire_bytes >= DCC_PATH_WIRE_MIN_BYTES && path.wire_bytes <= DCC_PATH_WIRE_MAX_BYTES);
  Require(s.sampler.rtt_ns >= 1 && s.sampler.mss >= 1);
  Require(path.line_rate_bps >= line.given_bps && path.line_rate_bps <= DCC_PATH_RATE_MAX_BPS);
  Require(!line.configured || path.line_rate_bps == line.given_bps);
  Require((path.delay_floor_ns == 0) == line.configured);
  Require(s.model.packet_ns >= 1);
  // The base RTT is the least one and the hosts' noise.
  Require(path.base_rtt_ns - path.noise_ns == base.ns);
  Require(s.model.noise.configured_ns ? s.model.noise.ns == s.model.noise.configured_ns
                                      : path.noise_ns <= kNoiseMaxNs);
  Require(!dcc_probe_is_on(&s.model.probe) || line.configured);
  Require(s.model.probe.extra <= DCC_PROBE_PACKETS);
}

void Sample(Input& in, dcc_tcp* s, dcc_tcp_view* v) {
  TakeView(in, v);
  const u8 how = in.Take<u8>();
  u64 noted_ns = how % 4 == 0 ? 0
                 : how % 4 == 1
                     ? in.Take<u64>()
                     : v->now_ns - static_cast<u32>(v->rtt_us) * u64{DCC_NS_PER_US} - how;
  if (v->is_retrans)
    noted_ns = dcc_sample_retrans_ns(in.Take<u64>(), in.Take<u16>(), v->now_us, v->now_ns);
  dcc_ack ack;
  if (!dcc_tcp_sample(s, v, noted_ns, &ack)) return;
  Require(ack.now_ns == v->now_ns && ack.flows == 0);
  const u32 rtt_ns = dcc_sat_u32(ack.now_ns - ack.send_ns);
  const dcc_model& m = s->model;
  const bool probed = (ack.flags & DCC_ACK_NO_RTT) && ack.rtt_ns;
  if ((ack.flags & DCC_ACK_NO_RTT) && !probed)
    Require(ack.send_ns == ack.now_ns);
  else
    Require(ack.rtt_ns == rtt_ns && (!probed || m.probe.own));
  Require(ack.inflight_bytes >= m.path.wire_bytes);
  // A configured base RTT stays, but for a probe. A measured one is a full packet's.
  const bool sampled = !(ack.flags & (DCC_ACK_NO_RTT | DCC_ACK_DELAYED)) &&
                       !dcc_sampler_acked_small(&s->sampler, v, ack.acked_bytes);
  if (dcc_base_is_configured(&m.base))
    Require(m.base.source == DCC_BASE_PROBED || m.base.ns == m.base.configured_ns);
  else if (sampled)
    Require(m.base.ns <= dcc_path_rtt_ns(rtt_ns) || m.base.ns == dcc_path_rtt_ns(m.probe.least_ns));
  dcc_path_metrics metrics = {};
  if (dcc_model_has_news(&m, v->now_ns) && dcc_model_knows(&m, &metrics)) {
    dcc_cache_entry entry = {};
    Require(dcc_cache_update(&entry, &metrics, v->now_ns, 1));
    Require(entry.metrics.rtt_min_ns >= DCC_PATH_RTT_MIN_NS &&
            entry.metrics.rtt_min_ns <= DCC_PATH_RTT_MAX_NS);
    Require(!dcc_model_refutes(&m, &entry));
    dcc_model_noted(&s->model, v->now_ns);
  }
  s->last_ack_ns = v->now_ns;
}

// The reply to a stopped flow's probe.
void Reply(Input& in, dcc_tcp* s, const dcc_tcp_view& v) {
  dcc_ack ack = {};
  ack.rtt_ns = in.Take<u32>();
  ack.now_ns = v.now_ns;
  ack.send_ns = v.now_ns - ack.rtt_ns;
  if (ack.rtt_ns % 4)
    dcc_model_small_sample(&s->model, &ack);
  else
    dcc_model_guess(&s->model, ack.rtt_ns);
}

void Control(Input& in, dcc_tcp& s) {
  dcc_control control = {};
  control.cwnd_q16 = in.Take<u8>() % 2 ? in.Take<u16>() : in.Take<u64>() >> in.Take<u8>() % 64;
  control.cwnd_q16 = dcc_clamp_u64(control.cwnd_q16, 1, u64{1} << 62);
  control.pacing_bps = in.Take<u8>() % 2 ? s.model.path.line_rate_bps
                                         : dcc_clamp_u64(in.Take<u64>(), 1000, 2 * kLineRateMaxBps);
  // Of bytes that are taken already: the inputs that are kept stay what they are.
  control.target_ns = static_cast<u32>(control.cwnd_q16) % 2 * static_cast<u32>(control.cwnd_q16);
  dcc_model_control(&s.model, &control);
  const dcc_control asked = control;
  dcc_tcp_add_probe(&s, &control);
  Require(control.cwnd_q16 <= dcc_max_u64(asked.cwnd_q16, DCC_WINDOW_ONE) +
                                  (u64{DCC_PROBE_PACKETS} << DCC_WINDOW_SHIFT));
  const u64 rate = dcc_tcp_pace(&s, &control);
  const u64 least = dcc_tcp_least_pace(&s);
  Require(rate >= least && rate <= dcc_max_u64(control.pacing_bps / DCC_BITS_PER_BYTE, least));
  const u32 most = in.Take<u16>() % 64 + 1;
  const u32 burst = dcc_tcp_burst(&s, rate, control.cwnd_q16, most);
  Require(burst >= 1 && burst <= most);
  const u32 clamp = in.Take<u32>();
  const u32 cwnd = dcc_tcp_window(&s, &control, in.Take<u32>(), burst, clamp);
  Require(cwnd >= 1 && cwnd <= dcc_max_u32(dcc_min_u32(clamp, DCC_TCP_CWND_MAX), 2));
  if (control.cwnd_q16 < DCC_WINDOW_ONE) {
    const u64 hold_ns = dcc_tcp_hold_ns(&s, control.cwnd_q16);
    Require(hold_ns <= DCC_TCP_HOLD_MAX_NS);
    Require(dcc_tcp_shortened_hold_ns(hold_ns, rate, rate) == hold_ns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  dcc_tcp s = {};
  dcc_tcp_view v = {};
  const u8 first = in.Take<u8>();
  s.sampler.times_retrans = first % 2;
  dcc_path_config config = {};
  config.line_rate_bps = dcc_clamp_u64(in.Take<u64>(), 1000000, kLineRateMaxBps);
  config.line_configured = !(first & 8);
  u32 mss = in.Take<u16>(), header_bytes = in.Take<u8>();
  TakeView(in, &v);
  const u32 srtt_us = in.Take<u32>();
  // Often the SYN's departure, to within a microsecond or two.
  dcc_tcp_begin(&s, &v, srtt_us, srtt_us, v.now_ns - u64{srtt_us} * DCC_NS_PER_US - srtt_us % 2048,
                srtt_us);
  dcc_tcp_configure(&s, mss, header_bytes, &config);
  CheckPath(s);
  if (first & 2) {
    const dcc_path_metrics cached = {
        dcc_clamp_u32(in.Take<u32>(), DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS),
        in.Take<u32>() % (kNoiseMaxNs + 1), (first & 4) != 0};
    if (dcc_model_may_recall(&s.model)) dcc_model_recall(&s.model, &cached);
    CheckPath(s);
  }
  while (!in.empty()) {
    switch (in.Take<u8>() % 9) {
      case 0: {
        const u8 how = in.Take<u8>();
        config.base_rtt_ns =
            how % 2 ? 0 : dcc_clamp_u32(in.Take<u32>(), DCC_PATH_RTT_MIN_NS, DCC_PATH_RTT_MAX_NS);
        config.noise_ns = how & 4 ? config.base_rtt_ns / (1 + how / 8u) : 0;
        config.moved = how & 2;
        dcc_tcp_configure(&s, mss, header_bytes, &config);
        config.moved = false;
        break;
      }
      case 1:
        mss = in.Take<u16>();
        header_bytes = in.Take<u8>();
        dcc_tcp_configure(&s, mss, header_bytes, &config);
        break;
      case 2: {
        const dcc_tcp_pause pause = {v.now_ns + in.Take<u32>(), in.Take<u64>(), Step(in, 0),
                                     in.Take<u8>() % 5u, in.Take<u8>() % 2 != 0};
        // Once per pause, on a clock that does not wrap.
        if (dcc_tcp_restarts(&s, &pause) && (pause.now_ns | pause.departure_ns) < kNoWrapNs)
          Require(!dcc_tcp_restarts(&s, &pause));
        break;
      }
      case 3:
        dcc_tcp_state_event(in.Take<u8>() % 5, in.Take<u8>() % 5, in.Take<u32>(), in.Take<u32>());
        break;
      case 4:
        Reply(in, &s, v);
        break;
      case 5:
        Control(in, s);
        break;
      case 6:
        config.line_rate_bps = dcc_clamp_u64(in.Take<u64>(), 1000000, kLineRateMaxBps);
        config.line_configured = in.Take<u8>() % 2 != 0;
        dcc_tcp_configure(&s, mss, header_bytes, &config);
        break;
      default:
        Sample(in, &s, &v);
    }
    CheckPath(s);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Swift's core under arbitrary paths, parameters and acknowledgments.  Whatever comes in, the state
// and the control stay within their documented bounds; the sanitizers watch the arithmetic.
#include "dcc_swift.h"
#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;

struct Swift {
  using State = dcc_swift;
  static constexpr auto Init = dcc_swift_init;
  static constexpr auto Ack = dcc_swift_ack;
  static constexpr auto Loss = dcc_swift_loss;
  static constexpr auto Rto = dcc_swift_rto;
  static constexpr auto Restart = dcc_swift_restart;

  // Half of them as they come: the core has to cut what is out of range.
  static dcc_swift_params TakeParams(Input& in) {
    dcc_swift_params p = {};
    p.base_target_ns = in.Take<u32>();
    p.hops = in.Take<u32>();
    p.hop_scale_ns = in.Take<u32>();
    p.flow_scaling = in.Take<u8>();
    p.fs_range_ns = in.Take<u32>();
    p.fs_min_cwnd_milli = in.Take<u32>();
    p.fs_max_cwnd_milli = in.Take<u32>();
    p.ai_milli = in.Take<u32>();
    p.beta_ppm = in.Take<u32>();
    p.max_mdf_ppm = in.Take<u32>();
    p.initial_cwnd_packets = in.Take<u32>();
    p.hai_rounds = in.Take<u32>();
    if (in.Take<u8>() % 2 && !dcc_swift_params_valid(&p)) dcc_swift_params_default(&p);
    return p;
  }

  static void Check(const dcc_swift& s, const dcc_control& v) {
    Require(s.cwnd_q24 >= DCC_SWIFT_CWND_MIN && s.cwnd_q24 <= DCC_SWIFT_CWND_MAX);
    Require(s.timeouts <= DCC_SWIFT_RETX_RESET_THRESHOLD);
    Require(s.idle_rounds <= DCC_SWIFT_HAI_ROUNDS_MAX + DCC_SWIFT_HAI_DOUBLINGS);
    Require(s.last.target_ns >= DCC_PATH_RTT_MIN_NS);
    Require(v.cwnd_q16 >= 1);
    Require(v.pacing_bps >= 1000 && v.pacing_bps <= 2 * DCC_PATH_RATE_MAX_BPS);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  delaycc_test::FuzzCore<Swift>(data, size);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// CCC's core under arbitrary paths, parameters and acknowledgments. Whatever comes in, state and
// control stay within their documented bounds; the sanitizers watch the arithmetic.
#include "dcc_ccc.h"
#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;

struct Ccc {
  using State = dcc_ccc;
  static constexpr auto Init = dcc_ccc_init;
  static constexpr auto Ack = dcc_ccc_ack;
  static constexpr auto Loss = dcc_ccc_loss;
  static constexpr auto Rto = dcc_ccc_rto;
  static constexpr auto Restart = dcc_ccc_restart;

  static dcc_ccc_params TakeParams(Input& in) {
    dcc_ccc_params p = {};
    dcc_ccc_params_default(&p);
    const u8 which = in.Take<u8>();
    if (which & 1) p.q_b_ns = in.Take<u32>();
    if (which & 2) p.gamma_ppm = in.Take<u32>();
    if (which & 4) p.r_min_kbps = in.Take<u32>();
    if (which & 8) p.paper = in.Take<u8>();
    return p;  // valid or not: the core cuts what it cannot use
  }

  static void Check(const dcc_ccc& s, const dcc_control& v) {
    Require(s.flow.rate_q30 >= s.scale.min_q30 && s.flow.rate_q30 <= DCC_CCC_SHARE_ONE);
    Require(s.flow.basis_q30 <= DCC_CCC_SHARE_ONE);
    Require(s.flow.gradient_q16 >= -static_cast<s32>(DCC_CCC_GRADIENT_ONE_Q16));
    Require(s.flow.gradient_q16 <= static_cast<s32>(DCC_CCC_GRADIENT_MAX_Q16));
    Require(s.flow.doublings <= DCC_CCC_DOUBLINGS_MAX);
    Require(s.flow.region <= DCC_CCC_RTO);
    Require(v.cwnd_q16 >= 1);
    Require(v.pacing_bps >= 1000);
    Require(v.pacing_bps <= s.scale.line_rate_bps);
  }
};

// Mostly around the goal, where the regions meet.
struct AcksAroundTheGoal {
  static u32 Take(Input& in, u8 what, const dcc_path& path, const dcc_ccc& s, u64* now_ns,
                  dcc_ack* ack) {
    *now_ns += what % 2 ? in.Take<u16>() : in.Take<u32>();
    ack->now_ns = *now_ns;
    ack->rtt_ns = what < 200 ? s.scale.base_ns + in.Take<u16>() / 4 : in.Take<u32>();
    ack->send_ns = *now_ns - ack->rtt_ns;
    ack->acked_bytes = what < 240 ? path.wire_bytes : in.Take<u32>();
    ack->flags = what % 16 == 6 ? in.Take<u8>() : 0;
    return 1;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  delaycc_test::FuzzCore<Ccc, AcksAroundTheGoal>(data, size);
  return 0;
}

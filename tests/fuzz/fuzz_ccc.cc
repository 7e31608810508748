// SPDX-License-Identifier: Apache-2.0
//
// CCC's core under arbitrary paths, parameters and acknowledgments. Whatever comes in, state and
// verdict stay within their documented bounds; the sanitizers watch the arithmetic.
#include "dcc_ccc.h"
#include "fuzz_rate.h"

namespace {

using delaycc_fuzz::Input;
using delaycc_fuzz::Require;

dcc_ccc_params TakeParams(Input& in) {
  dcc_ccc_params p = {};
  dcc_ccc_params_default(&p);
  const u8 which = in.Take<u8>();
  if (which & 1) p.q_b_ns = in.Take<u32>();
  if (which & 2) p.gamma_ppm = in.Take<u32>();
  if (which & 4) p.r_min_kbps = in.Take<u32>();
  if (which & 8) p.refine = in.Take<u8>();
  return p;  // valid or not: the core cuts what it cannot use
}

void CheckBounds(const dcc_ccc& s, const dcc_verdict& v) {
  Require(s.flow.rate_q30 >= s.scale.min_q30 && s.flow.rate_q30 <= DCC_CCC_SHARE_ONE);
  Require(s.flow.basis_q30 <= DCC_CCC_SHARE_ONE);
  Require(s.flow.gradient_q16 >= -static_cast<s32>(DCC_CCC_GRADIENT_ONE_Q16));
  Require(s.flow.gradient_q16 <= static_cast<s32>(DCC_CCC_GRADIENT_MAX_Q16));
  Require(s.flow.doublings <= DCC_CCC_DOUBLINGS_MAX);
  Require(s.flow.region <= DCC_CCC_RTO);
  Require(v.cwnd_q16 >= 1);
  Require(v.pacing_bps >= 1000);
  Require(v.pacing_bps <= dcc_max_u64(s.scale.path.line_rate_bps, 1000));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  dcc_path path = delaycc_fuzz::TakePath(in);
  dcc_ccc_params params = TakeParams(in);
  dcc_ccc state;
  dcc_verdict verdict;
  u64 now_ns = in.Take<u32>();

  dcc_ccc_init(&state, &path, &params, &verdict);
  CheckBounds(state, verdict);
  while (!in.empty()) {
    const u8 what = in.Take<u8>();
    switch (what % 16) {
      case 0:
        dcc_ccc_loss(&state, &path, &params, now_ns, &verdict);
        break;
      case 1:
        dcc_ccc_rto(&state, &path, &params, now_ns, &verdict);
        break;
      case 2:
        if (what < 64) path = delaycc_fuzz::TakePath(in);
        dcc_ccc_restart(&state, &path, &params, now_ns, &verdict);
        break;
      case 3:
        if (what < 64) params = TakeParams(in);
        break;
      case 4:
        now_ns = in.Take<u64>();  // the clock jumps
        break;
      default: {
        dcc_ack ack = {};
        now_ns += what % 2 ? in.Take<u16>() : in.Take<u32>();
        ack.now_ns = now_ns;
        // Mostly around the goal, where the regions meet.
        ack.rtt_ns = what < 200 ? state.scale.base_ns + in.Take<u16>() / 4 : in.Take<u32>();
        ack.send_ns = now_ns - ack.rtt_ns;
        ack.acked_bytes = what < 240 ? path.wire_bytes : in.Take<u32>();
        ack.flags = what % 16 == 6 ? in.Take<u8>() : 0;
        const dcc_verdict before = verdict;
        const bool decided = dcc_ccc_ack(&state, &path, &params, &ack, &verdict);
        // Not decided: the verdict was left alone.
        Require(decided || std::memcmp(&before, &verdict, sizeof(before)) == 0);
      }
    }
    CheckBounds(state, verdict);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// TIMELY's core, both versions, under arbitrary input; see fuzz_rate.h.
#include "dcc_timely.h"
#include "fuzz_rate.h"

namespace {

struct Timely {
  using State = dcc_timely;
  using Params = dcc_timely_params;
  static constexpr auto Init = dcc_timely_init;
  static constexpr auto Ack = dcc_timely_ack;
  static constexpr auto Loss = dcc_timely_loss;
  static constexpr auto Rto = dcc_timely_rto;
  static constexpr auto Restart = dcc_timely_restart;

  static Params TakeParams(delaycc_test::Input& in) {
    Params p = {};
    dcc_timely_params_default(&p);
    p.patched = in.Take<u8>();
    const u8 which = in.Take<u8>();
    if (which & 1) p.alpha_ppm = in.Take<u32>();
    if (which & 2) p.beta_ppm = in.Take<u32>();
    if (which & 4) p.t_low_ns = in.Take<u32>();
    if (which & 8) p.t_high_ns = in.Take<u32>();
    if (which & 16) p.rtt_ref_ns = in.Take<u32>();
    if (which & 32) p.delta_kbps = in.Take<u32>();
    if (which & 64) p.min_rate_kbps = in.Take<u32>();
    if (which & 128) p.seg_bytes = in.Take<u32>();
    return p;  // valid or not: the core cuts what it cannot use
  }
  static void CheckState(const State& s) {
    delaycc_test::Require(s.last.branch <= DCC_TIMELY_RTO);
    delaycc_test::Require(s.t_low_ns <= s.t_high_ns);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return delaycc_test::FuzzRate<Timely>(data, size);
}

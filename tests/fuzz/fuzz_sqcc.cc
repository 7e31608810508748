// SPDX-License-Identifier: Apache-2.0
//
// SQCC's core, also as printed, under arbitrary input, receivers' lies included; see fuzz_rate.h.
#include "dcc_sqcc.h"
#include "fuzz_rate.h"

namespace {

struct Sqcc {
  using State = dcc_sqcc;
  using Params = dcc_sqcc_params;
  static constexpr auto Init = dcc_sqcc_init;
  static constexpr auto Ack = dcc_sqcc_ack;
  static constexpr auto Loss = dcc_sqcc_loss;
  static constexpr auto Rto = dcc_sqcc_rto;
  static constexpr auto Restart = dcc_sqcc_restart;

  static Params TakeParams(delaycc_test::Input& in) {
    Params p = {};
    dcc_sqcc_params_default(&p);
    const u8 versions = in.Take<u8>();
    p.paper = versions % 4;
    p.parts = versions / 4 % 4;
    p.n_source = versions / 16 % 8;
    const u8 which = in.Take<u8>();
    if (which & 1) p.alpha_ppm = in.Take<u32>();
    if (which & 2) p.beta_ppm = in.Take<u32>();
    if (which & 4) p.t_low_ns = in.Take<u32>();
    if (which & 8) p.t_high_ns = in.Take<u32>();
    if (which & 16) p.n_fixed = in.Take<u32>();
    if (which & 32) p.delta_kbps = in.Take<u32>();
    if (which & 64) p.min_rate_kbps = in.Take<u32>();
    if (which & 128) p.seg_bytes = in.Take<u32>();
    return p;  // valid or not: the core cuts what it cannot use
  }
  static void CheckState(const State& s) {
    using delaycc_test::Require;
    Require(s.last.branch <= DCC_SQCC_RTO);
    Require(s.t_low_ns >= 1 && s.t_low_ns < s.t_high_ns);
    Require(s.last.flows >= 1 && s.last.flows <= 66000);
    Require(s.last.estimated >= 1 && s.last.estimated <= 1800);
    Require(s.reported_lg_q16 <= DCC_SQCC_REPORTED_MAX_Q16);
    Require(s.held_lg_q16 <= DCC_SQCC_ESTIMATE_MAX_Q16);
    Require(s.delta_q8 >= 1);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return delaycc_test::FuzzRate<Sqcc>(data, size);
}

// SPDX-License-Identifier: Apache-2.0
//
// PrioPlus's core under arbitrary paths, parameters and acknowledgments.  Whatever comes in, the
// state and the control stay within their documented bounds; the sanitizers watch the arithmetic.
#include "dcc_prioplus.h"
#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;

struct Prioplus {
  using State = dcc_prioplus;
  static constexpr auto Init = dcc_prioplus_init;
  static constexpr auto Ack = dcc_prioplus_ack;
  static constexpr auto Loss = dcc_prioplus_loss;
  static constexpr auto Rto = dcc_prioplus_rto;
  static constexpr auto Restart = dcc_prioplus_restart;

  // Half of them as they come: the core has to cut what is out of range.
  static dcc_prioplus_params TakeParams(Input& in) {
    dcc_prioplus_params p = {};
    p.levels = in.Take<u8>();
    p.channel_a_ns = in.Take<u32>();
    p.channel_b_ns = in.Take<u32>();
    p.unlimited_from = in.Take<u8>();
    p.medium_from = in.Take<u8>();
    p.high_from = in.Take<u8>();
    p.ls_low_ppm = in.Take<u32>();
    p.ls_medium_ppm = in.Take<u32>();
    p.ls_high_ppm = in.Take<u32>();
    p.tolerance_ns = in.Take<u32>();
    p.paper = in.Take<u8>() % 3;
    p.dual_rtt = in.Take<u8>() % 3;
    p.max_flows = in.Take<u32>();
    p.resume_milli = in.Take<u32>();
    p.ai_ppm = in.Take<u32>();
    p.beta_ppm = in.Take<u32>();
    p.max_mdf_ppm = in.Take<u32>();
    p.priority = in.Take<u8>();
    p.seed = in.Take<u32>();
    if (in.Take<u8>() % 2 && !dcc_prioplus_params_valid(&p)) dcc_prioplus_params_default(&p);
    return p;
  }

  static void Check(const dcc_prioplus& s, const dcc_control& v) {
    const dcc_prioplus_flow& f = s.flow;
    Require(f.cwnd_q24 >= DCC_PRIOPLUS_CWND_MIN && f.cwnd_q24 <= DCC_PRIOPLUS_CWND_MAX);
    Require(f.flows_q8 >= DCC_PRIOPLUS_FLOWS_ONE);
    Require(f.flows_q8 <= DCC_PRIOPLUS_FLOWS_MAX * DCC_PRIOPLUS_FLOWS_ONE);
    Require(f.state <= DCC_PRIOPLUS_ASKED && f.calm <= DCC_PRIOPLUS_SETTLED_RTTS && f.over < 2);
    Require(f.cuts <= DCC_PRIOPLUS_CUTS && f.middle <= DCC_PRIOPLUS_MIDDLE_MAX);
    Require((v.probe_ns != 0) == dcc_prioplus_probes(&f));
    Require(v.probe_ns < 100000000000ULL);
    Require(v.cwnd_q16 >= 1);
    Require(v.pacing_bps >= 1000 && v.pacing_bps < DCC_PATH_RATE_MAX_BPS);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  delaycc_test::FuzzCore<Prioplus>(data, size);
  return 0;
}

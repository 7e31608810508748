// SPDX-License-Identifier: Apache-2.0
//
// theta-PowerTCP's core under arbitrary paths, parameters and acknowledgments.  Whatever comes in,
// the state and the control stay within their documented bounds; the sanitizers watch the
// arithmetic.
#include "dcc_thetapowertcp.h"
#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;

struct ThetaPowerTcp {
  using State = dcc_thetapowertcp;
  static constexpr auto Init = dcc_thetapowertcp_init;
  static constexpr auto Ack = dcc_thetapowertcp_ack;
  static constexpr auto Loss = dcc_thetapowertcp_loss;
  static constexpr auto Rto = dcc_thetapowertcp_rto;
  static constexpr auto Restart = dcc_thetapowertcp_restart;

  // Half of them as they come: the core has to cut what is out of range.
  static dcc_thetapowertcp_params TakeParams(Input& in) {
    dcc_thetapowertcp_params p = {};
    p.gamma_ppm = in.Take<u32>();
    p.beta_bytes = in.Take<u32>();
    p.flows = in.Take<u32>();
    p.min_current_ppm = in.Take<u32>();
    if (in.Take<u8>() % 2 && !dcc_thetapowertcp_params_valid(&p))
      dcc_thetapowertcp_params_default(&p);
    return p;
  }

  static void Check(const dcc_thetapowertcp& s, const dcc_control& v) {
    Require(s.cwnd_q24 >= DCC_THETAPOWERTCP_CWND_MIN && s.cwnd_q24 <= DCC_THETAPOWERTCP_CWND_MAX);
    Require(s.power_q24 >= DCC_THETAPOWERTCP_POWER_MIN &&
            s.power_q24 <= DCC_THETAPOWERTCP_POWER_MAX);
    Require(v.cwnd_q16 >= 1);
    Require(v.pacing_bps >= 1000 && v.pacing_bps <= s.line_rate_bps);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  delaycc_test::FuzzCore<ThetaPowerTcp>(data, size);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// LEDBAT's core under arbitrary paths, parameters and acknowledgments.  Whatever comes in, the
// state and the control stay within their documented bounds; the sanitizers watch the arithmetic.
#include "dcc_ledbat.h"
#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;

struct Ledbat {
  using State = dcc_ledbat;
  static constexpr auto Init = dcc_ledbat_init;
  static constexpr auto Ack = dcc_ledbat_ack;
  static constexpr auto Loss = dcc_ledbat_loss;
  static constexpr auto Rto = dcc_ledbat_rto;
  static constexpr auto Restart = dcc_ledbat_restart;

  // Half of them as they come: the core has to cut what is out of range.
  static dcc_ledbat_params TakeParams(Input& in) {
    dcc_ledbat_params p = {};
    p.target_ns = in.Take<u32>();
    p.gain_milli = in.Take<u32>();
    p.allowed_increase_packets = in.Take<u32>();
    p.min_cwnd_milli = in.Take<u32>();
    p.initial_cwnd_packets = in.Take<u32>();
    p.filter_samples = in.Take<u8>();
    p.base_history = in.Take<u8>();
    if (in.Take<u8>() % 2 && !dcc_ledbat_params_valid(&p)) dcc_ledbat_params_default(&p);
    return p;
  }

  static void Check(const dcc_ledbat& s, const dcc_control& v) {
    Require(s.cwnd_q24 >= 1 << 8 && s.cwnd_q24 <= DCC_LEDBAT_CWND_MAX);
    Require(s.samples < 2 * DCC_LEDBAT_FILTER_MAX);
    Require(s.target_ns >= DCC_LEDBAT_TARGET_MIN_NS && s.target_ns <= DCC_LEDBAT_TARGET_MAX_NS);
    Require(v.cwnd_q16 >= 1);
    Require(v.pacing_bps >= 1000 && v.pacing_bps <= 2 * DCC_PATH_RATE_MAX_BPS);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  delaycc_test::FuzzCore<Ledbat>(data, size);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// One fuzz target for the cores that steer a rate: arbitrary paths, parameters and acknowledgments
// in; state and verdict stay within their documented bounds, and the sanitizers watch the
// arithmetic.
#ifndef DELAYCC_TESTS_FUZZ_FUZZ_RATE_H_
#define DELAYCC_TESTS_FUZZ_FUZZ_RATE_H_

#include "dcc_rate.h"
#include "fuzz_input.h"

namespace delaycc_fuzz {

using delaycc_test::Input;
using delaycc_test::Require;
using delaycc_test::TakePath;

// Core: State and Params types, and the core's functions under common names.
template <typename Core>
int FuzzRate(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  dcc_path path = TakePath(in);
  typename Core::Params params = Core::TakeParams(in);
  typename Core::State state;
  dcc_verdict verdict;
  u64 now_ns = in.Take<u32>();

  const auto check = [&] {
    Require(state.rate_q8 >= state.floor_q8 && state.rate_q8 <= state.line_q8);
    Require(verdict.cwnd_q16 >= 2 * DCC_WINDOW_ONE);
    Require(verdict.pacing_bps >= 1000 && verdict.pacing_bps <= 800000000000);
    Core::Check(state);
  };
  Core::Init(&state, &path, &params, &verdict);
  check();
  while (!in.empty()) {
    const u8 what = in.Take<u8>();
    switch (what % 16) {
      case 0:
        Core::Loss(&state, &path, &params, now_ns, &verdict);
        break;
      case 1:
        Core::Rto(&state, &path, &params, now_ns, &verdict);
        break;
      case 2:
        if (what < 64) path = TakePath(in);
        Core::Restart(&state, &path, &params, now_ns, &verdict);
        break;
      case 3:
        if (what < 64) params = Core::TakeParams(in);
        break;
      case 4:
        now_ns = in.Take<u64>();  // the clock jumps
        break;
      default: {
        dcc_ack ack = {};
        now_ns += what % 2 ? in.Take<u16>() : in.Take<u32>();
        ack.now_ns = now_ns;
        ack.rtt_ns = what < 240 ? in.Take<u16>() * 16U : in.Take<u32>();
        ack.send_ns = what % 16 == 5 ? in.Take<u64>() : now_ns - ack.rtt_ns;
        ack.acked_bytes = what < 240 ? 65000 : in.Take<u32>();
        ack.flags = what % 16 == 6 ? in.Take<u8>() : 0;
        ack.flows = what % 16 < 8 ? in.Take<u16>() : what % 16 < 10 ? in.Take<u32>() : 0;
        const dcc_verdict before = verdict;
        const bool decided = Core::Ack(&state, &path, &params, &ack, &verdict);
        // Not decided: the verdict was left alone.
        Require(decided || std::memcmp(&before, &verdict, sizeof(before)) == 0);
      }
    }
    check();
  }
  return 0;
}

}  // namespace delaycc_fuzz

#endif  // DELAYCC_TESTS_FUZZ_FUZZ_RATE_H_

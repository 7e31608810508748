// SPDX-License-Identifier: Apache-2.0
//
// One fuzz target for the cores that steer a rate: arbitrary paths, parameters and acknowledgments
// in; state and control stay within their documented bounds, and the sanitizers watch the
// arithmetic.
#ifndef DELAYCC_TESTS_FUZZ_FUZZ_RATE_H_
#define DELAYCC_TESTS_FUZZ_FUZZ_RATE_H_

#include "dcc_rate.h"
#include "fuzz_input.h"

namespace delaycc_test {

// Acknowledgments of whole segments.
struct SegmentAcks {
  template <class State>
  static u32 Take(Input& in, u8 what, const dcc_path&, const State&, u64* now_ns, dcc_ack* ack) {
    *now_ns += what % 2 ? in.Take<u16>() : in.Take<u32>();
    ack->now_ns = *now_ns;
    ack->rtt_ns = what < 240 ? in.Take<u16>() * 16U : in.Take<u32>();
    ack->send_ns = what % 16 == 5 ? in.Take<u64>() : *now_ns - ack->rtt_ns;
    ack->acked_bytes = what < 240 ? 65000 : in.Take<u32>();
    ack->flags = what % 16 == 6 ? in.Take<u8>() : 0;
    ack->flows = what % 16 < 8 ? in.Take<u16>() : what % 16 < 10 ? in.Take<u32>() : 0;
    return 1;
  }
};

// Core as for FuzzCore, with bounds of its own in CheckState.
template <class Core>
struct RateCore : Core {
  static void Check(const typename Core::State& state, const dcc_control& control) {
    Require(state.rate_q8 >= state.floor_q8 && state.rate_q8 <= state.line_q8);
    Require(control.cwnd_q16 >= 2 * DCC_WINDOW_ONE);
    Require(control.pacing_bps >= 1000 && control.pacing_bps <= 800000000000);
    Core::CheckState(state);
  }
};

template <class Core>
int FuzzRate(const std::uint8_t* data, std::size_t size) {
  FuzzCore<RateCore<Core>, SegmentAcks>(data, size);
  return 0;
}

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_FUZZ_FUZZ_RATE_H_

// SPDX-License-Identifier: Apache-2.0
//
// What every fuzz target of a core shares: values off the input, paths, acknowledgments.
#ifndef DELAYCC_TESTS_FUZZ_FUZZ_INPUT_H_
#define DELAYCC_TESTS_FUZZ_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "dcc_cc.h"
#include "dcc_math.h"

namespace delaycc_test {

// Takes values off the front of the input; zeros once it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  template <typename T>
  T Take() {
    T value = 0;
    const std::size_t n = left_ < sizeof(T) ? left_ : sizeof(T);
    std::memcpy(&value, data_, n);
    data_ += n;
    left_ -= n;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

inline void Require(bool holds) {
  if (!holds) std::abort();
}

inline dcc_path TakePath(Input& in) {
  dcc_path path = {in.Take<u64>(), in.Take<u32>(), in.Take<u32>(), in.Take<u32>(), 0};
  if (in.Take<u8>() % 2) {  // within the documented ranges
    path.line_rate_bps = dcc_clamp_u64(path.line_rate_bps, 1000000, 800000000000);
    path.base_rtt_ns = dcc_clamp_u32(path.base_rtt_ns, 1000, 1000000000);
    path.wire_bytes = dcc_clamp_u32(path.wire_bytes, 64, 65535);
  }
  // Of bytes that are taken already: the inputs that are kept stay what they are.
  if (path.noise_ns % 2) path.delay_floor_ns = path.noise_ns;
  return path;
}

// Acknowledgments packet by packet, in runs of evenly sent ones, so that decisions fall within few
// input bytes.
struct PacketAcks {
  // The next acknowledgment, and how many there are like it.
  template <class State>
  static u32 Take(Input& in, u8 what, const dcc_path& path, const State&, u64* now_ns,
                  dcc_ack* ack) {
    *now_ns += in.Take<u16>();
    ack->now_ns = *now_ns;
    ack->rtt_ns = what < 240 ? in.Take<u16>() : in.Take<u32>();
    ack->send_ns = what % 16 == 5 ? in.Take<u64>() : *now_ns - ack->rtt_ns;
    ack->acked_bytes = what < 240 ? path.wire_bytes : in.Take<u32>();
    ack->inflight_bytes = in.Take<u32>();
    ack->flags = what % 16 == 6 ? in.Take<u8>() : 0;
    ack->flows = what % 16 == 7 ? in.Take<u32>() : 0;
    return what % 16 > 10 ? 1 + what / 4U : 1;
  }
};

// A core under one input: calls of all kinds, in any order.  Core gives the type State and the
// functions TakeParams, Init, Ack, Loss, Rto, Restart, Check.
template <class Core, class Acks = PacketAcks>
void FuzzCore(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  dcc_path path = TakePath(in);
  auto params = Core::TakeParams(in);
  typename Core::State state;
  dcc_control control;
  u64 now_ns = in.Take<u32>();

  Core::Init(&state, &path, &params, &control);
  Core::Check(state, control);
  while (!in.empty()) {
    const u8 what = in.Take<u8>();
    switch (what % 16) {
      case 0:
        Core::Loss(&state, &path, &params, now_ns, &control);
        break;
      case 1:
        Core::Rto(&state, &path, &params, now_ns, &control);
        break;
      case 2:
        if (what < 64) path = TakePath(in);
        Core::Restart(&state, &path, &params, now_ns, &control);
        break;
      case 3:
        if (what < 64) params = Core::TakeParams(in);
        break;
      case 4:
        now_ns = in.Take<u64>();  // the clock jumps
        break;
      default: {
        dcc_ack ack = {};
        const u32 run = Acks::Take(in, what, path, state, &now_ns, &ack);
        for (u32 i = 0; i < run; ++i) {
          const dcc_control before = control;
          const bool decided = Core::Ack(&state, &path, &params, &ack, &control);
          // Not decided: the control was left alone.
          Require(decided || std::memcmp(&before, &control, sizeof(before)) == 0);
          ack.now_ns += 120;
          ack.send_ns += 120;
        }
        now_ns = ack.now_ns;
      }
    }
    Core::Check(state, control);
  }
}

}  // namespace delaycc_test

#endif  // DELAYCC_TESTS_FUZZ_FUZZ_INPUT_H_

// SPDX-License-Identifier: Apache-2.0
//
// OSCAR's core under arbitrary paths, parameters and acknowledgments.  Whatever comes in, the state
// and the control stay within their documented bounds; the sanitizers watch the arithmetic.
#include "dcc_oscar.h"
#include "fuzz_input.h"

namespace {

using delaycc_test::Input;
using delaycc_test::Require;
using delaycc_test::TakePath;

void CheckBounds(const dcc_oscar& s, const dcc_path& path, const dcc_control& v) {
  Require(s.u_q24 >= DCC_OSCAR_RATIO_MIN && s.u_q24 <= DCC_RATIO_ONE);
  Require(s.last.gradient_q16 >= DCC_GRADIENT_MIN && s.last.gradient_q16 <= DCC_GRADIENT_MAX);
  Require(v.cwnd_q16 >= 1);
  Require(v.pacing_bps >= 1000);
  Require(v.pacing_bps <= dcc_max_u64(path.line_rate_bps, 1000));
  Require(s.batch.count < DCC_BATCH_MAX_COUNT);
}

dcc_oscar_params TakeParams(Input& in) {
  dcc_oscar_params params = {};
  params.target_delay_ns = in.Take<u32>();
  params.target_queue_ns = in.Take<u32>();
  params.tau_ns = in.Take<u32>();
  params.u_ai_ppm = in.Take<u32>();
  params.u_hai_ppm = in.Take<u32>();
  params.flow_scaling_ppm = in.Take<u32>();
  params.paper = in.Take<u8>() % 2;
  if (!dcc_oscar_params_valid(&params)) {
    const u32 paper = params.paper;
    dcc_oscar_params_default(&params);
    params.paper = paper;
  }
  return params;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  dcc_path path = TakePath(in);
  dcc_oscar_params params = TakeParams(in);
  dcc_oscar state;
  dcc_control control;
  u64 now_ns = in.Take<u32>();

  dcc_oscar_init(&state, &path, &params, &control);
  CheckBounds(state, path, control);
  while (!in.empty()) {
    const u8 what = in.Take<u8>();
    switch (what % 16) {
      case 0:
        dcc_oscar_loss(&state, &path, &params, now_ns, &control);
        break;
      case 1:
        dcc_oscar_rto(&state, &path, &params, now_ns, &control);
        break;
      case 2:
        if (what < 64) path = TakePath(in);
        dcc_oscar_restart(&state, &path, &params, now_ns, &control);
        break;
      case 3:
        if (what < 64) params = TakeParams(in);
        break;
      case 4:
        now_ns = in.Take<u64>();  // the clock jumps
        break;
      default: {
        dcc_ack ack = {};
        now_ns += in.Take<u16>();
        ack.now_ns = now_ns;
        ack.rtt_ns = what < 240 ? in.Take<u16>() : in.Take<u32>();
        ack.send_ns = what % 16 == 5 ? in.Take<u64>() : now_ns - ack.rtt_ns;
        ack.acked_bytes = what < 240 ? path.wire_bytes : in.Take<u32>();
        ack.inflight_bytes = in.Take<u32>();
        ack.flags = what % 16 == 6 ? in.Take<u8>() : 0;
        // A run of evenly sent packets, so that batches close within few input bytes.
        const u32 run = what % 16 > 10 ? 1 + what / 4U : 1;
        for (u32 i = 0; i < run; ++i) {
          dcc_control before = control;
          const bool decided = dcc_oscar_ack(&state, &path, &params, &ack, &control);
          // Not decided: the control was left alone.
          Require(decided || std::memcmp(&before, &control, sizeof(before)) == 0);
          ack.now_ns += 120;
          ack.send_ns += 120;
        }
        now_ns = ack.now_ns;
      }
    }
    CheckBounds(state, state.scale.path, control);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// What bench_<core>.cc measures with: one file and a few lines for each core, so that each is
// compiled by itself, as it is in its kernel module.
#ifndef DELAYCC_TESTS_BENCH_BENCH_CORE_H_
#define DELAYCC_TESTS_BENCH_BENCH_CORE_H_

#include <benchmark/benchmark.h>
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dcc_cc.h"

namespace delaycc_bench {

constexpr int kAcks = 1000000;
constexpr int kRun = 2000;
constexpr dcc_path kPath = {100000000000ULL, 12000, 1500, 0, 0};

inline u64 Tsc() {
  unsigned aux;
  return __rdtscp(&aux);
}

// Core cycles per tick of the time stamp counter: the best of some short tries, as anything that
// interrupts one only makes it smaller.
inline double CoreCyclesPerTick() {
  constexpr u64 kProducts = 8000;
  double best = 0;
  for (int attempt = 0; attempt < 50; ++attempt) {
    u64 x = 1;
    const u64 begin = Tsc();
    for (u64 i = 0; i < kProducts / 8; ++i) {
      // Three cycles each on every x86-64 since 2008; additions of constants are folded by some.
      asm volatile(
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          : "+r"(x));
    }
    best = std::max(best, 3.0 * kProducts / static_cast<double>(Tsc() - begin));
  }
  return best;
}

inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Counts {
  u64 instructions = 0, products = 0, divisions = 0;
};

// Counts what the processor executes within a call, by its trap after each instruction.
class Stepper {
 public:
  template <class Call>
  static Counts Count(const Call& call) {
    struct sigaction action = {}, before = {};
    action.sa_sigaction = OnTrap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before);
    Counts own = Stepped([] {});
    Counts all = Stepped(call);
    sigaction(SIGTRAP, &before, nullptr);
    all.instructions -= own.instructions;
    return all;
  }

 private:
  template <class Call>
  static Counts Stepped(const Call& call) {
    counts_ = {};
    // The trap flag, set and cleared on the stack below what a leaf function may use (128 bytes).
    asm volatile(
        "lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
    call();
    asm volatile(
        "lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
    return counts_;
  }

  static void OnTrap(int, siginfo_t*, void* context) {
    const auto* registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
    ++counts_.instructions;
    while (*code == 0x66 || *code == 0xf2 || *code == 0xf3) ++code;
    if ((*code & 0xf0) == 0x40) ++code;  // REX
    if (*code == 0xf6 || *code == 0xf7) {
      const int operation = code[1] >> 3 & 7;
      counts_.products += operation == 4 || operation == 5;
      counts_.divisions += operation >= 6;
    }
    counts_.products += *code == 0x69 || *code == 0x6b || (*code == 0x0f && code[1] == 0xaf);
  }

  static inline Counts counts_;
};
// Acknowledgments of packets sent every spacing_ns, with delays of low_ns and up to width_ns more.
struct Trace {
  u64 spacing_ns;
  u32 low_ns, width_ns;
  bool fresh = false;  // a new flow every 2000
  u32 inflight_bytes = 22500;
  u32 flags = 0;  // DCC_ACK_*, of each
};

// Around base RTT + 6 us.
constexpr Trace kStream = {120, 17500, 1000};

// A random walk that stays in the first-level cache and in which no acknowledgment overtakes
// another.
inline std::array<u32, 1024> Delays(const Trace& trace) {
  std::array<u32, 1024> delays{};
  std::mt19937 rng(1);
  const double step = std::min(static_cast<double>(trace.spacing_ns - 1), trace.width_ns * 1.0);
  double delay = trace.width_ns / 2.0;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    // The second half goes the way of the first one back, so that the end meets the beginning.
    if (i < delays.size() / 2) {
      delay += step * (2.0 * static_cast<double>(rng()) / 4294967296.0 - 1);
      delay = std::clamp(delay, 0.0, static_cast<double>(trace.width_ns));
      delays[i] = trace.low_ns + static_cast<u32>(delay);
    } else {
      delays[i] = delays[delays.size() - 1 - i];
    }
  }
  return delays;
}

// One flow of a core under a trace.
template <class Core>
class Flow {
 public:
  Flow(const typename Core::Params& params, const Trace& trace)
      : params_(params), trace_(trace), delays_(Delays(trace)) {
    Restart();
  }

  void Restart() { Core::Init(&state_, &kPath, &params_, &control_); }

  __attribute__((always_inline)) dcc_ack Next(int i) {
    const u32 rtt_ns = delays_[static_cast<u32>(i) % delays_.size()];
    send_ns_ += trace_.spacing_ns;
    return {send_ns_ + rtt_ns, send_ns_, rtt_ns, 1500, trace_.inflight_bytes, trace_.flags, 0};
  }

  __attribute__((always_inline)) bool Ack(int i) {
    const dcc_ack ack = Next(i);
    const bool decided = Core::Ack(&state_, &kPath, &params_, &ack, &control_);
    benchmark::DoNotOptimize(control_);
    benchmark::ClobberMemory();
    return decided;
  }

  double Ticks() {
    std::vector<double> runs;
    for (int done = 0; done < kAcks; done += kRun) {
      if (trace_.fresh) Restart();
      const u64 begin = Tsc();
      for (int i = 0; i < kRun; ++i) benchmark::DoNotOptimize(Ack(i));
      runs.push_back(static_cast<double>(Tsc() - begin) / kRun);
    }
    return Median(std::move(runs));
  }

  // The share of acknowledgments that decided.
  double Share() {
    int deciding = 0;
    for (int done = 0; done < 100 * kRun; done += kRun) {
      if (trace_.fresh) Restart();
      for (int i = 0; i < kRun; ++i) deciding += Core::Decides(state_, Ack(i));
    }
    return deciding / (100.0 * kRun);
  }

  // What one acknowledgment that decides, or does not, consists of.
  Counts Step(bool deciding) {
    constexpr std::size_t kSamples = 15;
    std::vector<Counts> samples;
    for (int i = 0; i < kAcks && samples.size() < kSamples; ++i) {
      if (trace_.fresh && i % kRun == 0) Restart();
      Flow reference = *this;
      const bool decides = Core::Decides(reference.state_, reference.Ack(i));
      // Not the first ones, in which the flow is still finding its place.
      if (i < kRun / 2 || decides != deciding) {
        *this = reference;
        continue;
      }
      const dcc_ack ack = Next(i);
      benchmark::DoNotOptimize(ack);
      samples.push_back(
          Stepper::Count([this, &ack] { Core::Ack(&state_, &kPath, &params_, &ack, &control_); }));
    }
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end(),
              [](const auto& x, const auto& y) { return x.instructions < y.instructions; });
    return samples[samples.size() / 2];
  }

 private:
  typename Core::Params params_;
  Trace trace_;
  std::array<u32, 1024> delays_;
  typename Core::State state_;
  dcc_control control_;
  u64 send_ns_ = 1000000000;
};

// A core's functions under common names.
#define DELAYCC_BENCH_CORE(Name, name)                                  \
  struct Name {                                                         \
    using State = dcc_##name;                                           \
    using Params = dcc_##name##_params;                                 \
    static constexpr auto Default = dcc_##name##_params_default;        \
    static constexpr auto Init = dcc_##name##_init;                     \
    static constexpr auto Ack = dcc_##name##_ack;                       \
    static bool Decides(const State&, bool decided) { return decided; } \
  }

// Two traces, of few and of many decisions, and the core's parameters under each.
template <class Core>
struct Case {
  std::string name;
  void (*set)(typename Core::Params*);  // in all traces
  Trace few, many;
  void (*set_few)(typename Core::Params*) = nullptr;   // in the first one
  void (*set_many)(typename Core::Params*) = nullptr;  // in the second one
};

template <class Core>
void Run(benchmark::State& state, const Case<Core>& c) {
  typename Core::Params params;
  Core::Default(&params);
  if (c.set) c.set(&params);
  typename Core::Params few_params = params;
  if (c.set_few) c.set_few(&few_params);
  typename Core::Params many_params = params;
  if (c.set_many) c.set_many(&many_params);

  const double few_share = Flow<Core>(few_params, c.few).Share();
  const double many_share = Flow<Core>(many_params, c.many).Share();
  double ordinary = 0, deciding = 0, stream = 0, core = 0;
  for (auto _ : state) {
    const double few = Flow<Core>(few_params, c.few).Ticks();
    const double many = Flow<Core>(many_params, c.many).Ticks();
    const double slope = (many - few) / (many_share - few_share);
    ordinary += few - few_share * slope;
    deciding += few + (1 - few_share) * slope;
    stream += Flow<Core>(params, kStream).Ticks();
    core += CoreCyclesPerTick();
  }
  const double n = static_cast<double>(state.iterations());
  state.counters["ordinary"] = ordinary / n;
  state.counters["deciding"] = deciding / n;
  state.counters["stream"] = stream / n;
  state.counters["core_per_tick"] = core / n;
  state.counters["decisions_per_1000"] = 1000 * Flow<Core>(params, kStream).Share();

  const auto count = [&state](const std::string& kind, const Counts& counts) {
    state.counters[kind + "_instructions"] = static_cast<double>(counts.instructions);
    state.counters[kind + "_products"] = static_cast<double>(counts.products);
    state.counters[kind + "_divisions"] = static_cast<double>(counts.divisions);
  };
  count("ordinary", Flow<Core>(few_params, c.few).Step(false));
  count("deciding", Flow<Core>(many_params, c.many).Step(true));
  state.counters["state_bytes"] = sizeof(typename Core::State);
}

template <class Core>
bool Register(const Case<Core>& c) {
  benchmark::RegisterBenchmark(c.name.c_str(), Run<Core>, c)->Unit(benchmark::kMillisecond);
  return true;
}

}  // namespace delaycc_bench

#endif  // DELAYCC_TESTS_BENCH_BENCH_CORE_H_

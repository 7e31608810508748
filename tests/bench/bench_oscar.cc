// SPDX-License-Identifier: Apache-2.0
//
// One million acknowledgments through a core: cycles for each (OSCAR, table 2).
//
//   ack       an acknowledgment that only adds to the batch (the paper's "w/o BE": 34)
//   decision  an acknowledgment that closes the batch and decides (the paper's "w/ BE": 52)
//   stream    a flow at 100 Gbit/s and 12 us, one decision per tau (50 acknowledgments)
//
// "decision" is found from batches of three: the cost of three acknowledgments less two ordinary
// ones.  The million is timed in runs of 2000 acknowledgments, and the median run counts, so that
// other work on the machine does not.  Cycles are those of the time stamp counter, as in the
// paper; core_cycles are the same scaled by the clock the core really ran at, measured with a
// chain of dependent products.  --benchmark_format=json for machines.
#include <benchmark/benchmark.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dcc_oscar.h"

namespace {

constexpr int kAcks = 1000000;
constexpr int kRun = 2000;

u64 Tsc() {
  unsigned aux;
  return __rdtscp(&aux);
}

// Core cycles per tick of the time stamp counter: the best of some short tries, as anything that
// interrupts one only makes it smaller.
double CoreCyclesPerTick() {
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

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Delays around base RTT + 6 us with noise, small enough to stay in the first-level cache.
std::array<u32, 1024> Delays() {
  std::array<u32, 1024> delays{};
  std::mt19937 rng(1);
  for (u32& delay : delays) delay = 17500 + rng() % 1000;
  return delays;
}

// spacing_ns sets how many acknowledgments a batch of tau (6 us) takes.
template <u32 law>
double TicksPerAck(u64 spacing_ns, u32 tau_ns, u64* decisions) {
  static const std::array<u32, 1024> delays = Delays();
  const dcc_path path = {100000000000ULL, 12000, 1500};
  dcc_oscar_params params;
  dcc_oscar_params_default(&params);
  params.law = law;
  params.tau_ns = tau_ns;
  dcc_oscar state;
  dcc_verdict verdict;
  dcc_oscar_init(&state, &path, &params, &verdict);

  u64 send_ns = 1000000000, decided = 0;
  std::vector<double> runs;
  for (int done = 0; done < kAcks; done += kRun) {
    const u64 begin = Tsc();
    for (int i = 0; i < kRun; ++i) {
      const u32 rtt_ns = delays[static_cast<u32>(i) % delays.size()];
      send_ns += spacing_ns;
      const dcc_ack ack = {send_ns + rtt_ns, send_ns, rtt_ns, 1500, 22500, 0, 0};
      decided += dcc_oscar_ack(&state, &path, &params, &ack, &verdict);
      benchmark::DoNotOptimize(verdict);
      benchmark::ClobberMemory();
    }
    runs.push_back(static_cast<double>(Tsc() - begin) / kRun);
  }
  *decisions = decided;
  return Median(std::move(runs));
}

enum Case { kAck, kDecision, kStream };

template <u32 law>
void OscarCase(benchmark::State& state, Case what) {
  double ticks = 0, core = 0;
  u64 decisions = 0;
  for (auto _ : state) {
    double t = 0;
    switch (what) {
      case kAck:  // no batch ever closes: tau is 1 s, a million packets span 0.12 s
        t = TicksPerAck<law>(120, 1000000000, &decisions);
        break;
      case kDecision: {
        const double ordinary = TicksPerAck<law>(120, 1000000000, &decisions);
        t = 3 * TicksPerAck<law>(2400, 6000, &decisions) - 2 * ordinary;
        break;
      }
      case kStream:
        t = TicksPerAck<law>(120, 6000, &decisions);
        break;
    }
    ticks += t;
    core += t * CoreCyclesPerTick();
  }
  const double n = static_cast<double>(state.iterations());
  state.counters["cycles"] = ticks / n;
  state.counters["core_cycles"] = core / n;
  state.counters["decisions"] = static_cast<double>(decisions);
}

template <u32 law>
void RegisterOscar(const std::string& name) {
  for (const auto& [suffix, what] :
       {std::pair{"/ack", kAck}, std::pair{"/decision", kDecision}, std::pair{"/stream", kStream}})
    benchmark::RegisterBenchmark(("oscar/" + name + suffix).c_str(), OscarCase<law>, what)
        ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  RegisterOscar<DCC_OSCAR_LAW_PAPER>("paper");
  RegisterOscar<DCC_OSCAR_LAW_AI>("ai");
  RegisterOscar<DCC_OSCAR_LAW_TRACKER>("tracker");
  RegisterOscar<DCC_OSCAR_LAW_PULSE>("pulse");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

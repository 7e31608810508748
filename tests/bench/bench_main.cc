// SPDX-License-Identifier: Apache-2.0
//
// Cycles per acknowledgment of every core (OSCAR, table 2), and what they consist of.
//
//   ordinary  an acknowledgment that decides nothing (the paper's "w/o BE": 34); where every one
//             moves the window a little, that
//   deciding  one that does: for OSCAR the one that closes a batch (the paper's "w/ BE": 52), for
//             Swift and LEDBAT a decrease, for the others a new window or rate
//   stream    the mean over a flow at 100 Gbit/s and 12 us with a queue of half a BDP
//
// A trace has a share of deciding acknowledgments; ordinary and deciding follow from the mean costs
// of two traces with different shares.  A million acknowledgments are timed in runs of 2000, and
// the median run counts, so that other work on the machine does not.  Cycles are those of the time
// stamp counter, as in the paper; "core" is the same scaled by the clock the core really ran at,
// measured with a chain of dependent products.
//
// The second table counts what one acknowledgment of either kind has the processor execute, found
// by stepping through some of them one instruction at a time; the median counts.
//
// --benchmark_filter=REGEX chooses cores, --benchmark_format=json is for machines.
// A further core is one more bench_<core>.cc.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// A line for each core in each of two tables.
class Tables : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    std::printf(
        "cycles of the time stamp counter, and of the core, for one acknowledgment\n"
        "                    TSC                       core                         decisions\n"
        "                    ordinary deciding stream  ordinary deciding stream     per 1000 "
        "ACKs\n");
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto get = [&run](const std::string& name) {
        const auto at = run.counters.find(name);
        return at == run.counters.end() ? 0.0 : static_cast<double>(at->second);
      };
      const double core = get("core_per_tick");
      std::printf("%-18s %9.1f %8.1f %6.1f %9.1f %8.1f %6.1f %17.1f\n",
                  run.benchmark_name().c_str(), get("ordinary"), get("deciding"), get("stream"),
                  core * get("ordinary"), core * get("deciding"), core * get("stream"),
                  get("decisions_per_1000"));
      std::array<char, 128> line{};
      std::snprintf(line.data(), line.size(), "%-18s %9.0f %8.0f %9.0f %12.0f %8.0f %9.0f %12.0f\n",
                    run.benchmark_name().c_str(), get("ordinary_instructions"),
                    get("ordinary_products"), get("ordinary_divisions"),
                    get("deciding_instructions"), get("deciding_products"),
                    get("deciding_divisions"), get("state_bytes"));
      operations_ += line.data();
    }
    std::fflush(stdout);
  }

  void Finalize() override {
    std::printf(
        "\noperations of one acknowledgment\n"
        "                    ordinary                      deciding                        state\n"
        "                    instrs.  products divisions    instrs. products divisions        "
        "bytes\n"
        "%s",
        operations_.c_str());
  }

 private:
  std::string operations_;
};

}  // namespace

int main(int argc, char** argv) {
  bool machine = false;
  for (int i = 1; i < argc; ++i)
    machine |= std::string(argv[i]).rfind("--benchmark_format", 0) == 0;

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (machine) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    Tables tables;
    benchmark::RunSpecifiedBenchmarks(&tables);
  }
  benchmark::Shutdown();
  return 0;
}

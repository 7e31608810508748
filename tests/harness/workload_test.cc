// SPDX-License-Identifier: Apache-2.0
#include "spec/workload.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/posix.h"
#include "plan/plan.h"

namespace delaycc {
namespace {

std::string error_of(const std::string& text) {
  try {
    EmpiricalCdf::parse(text, "sizes.txt");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// The mean by brute force: the quantile at many points.
double sampled_mean(const EmpiricalCdf& sizes, double from, double to) {
  constexpr int kSamples = 200'000;
  double sum = 0;
  for (int i = 0; i < kSamples; i++)
    sum += sizes.quantile(from + (to - from) * (i + 0.5) / kSamples);
  return sum / kSamples;
}

TEST(EmpiricalCdf, IsLinearBetweenItsPoints) {
  const EmpiricalCdf sizes = EmpiricalCdf::parse("0 0\n1000 0.5\n3000 1\n", "sizes.txt");
  EXPECT_DOUBLE_EQ(sizes.quantile(0.25), 500);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.5), 1000);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.75), 2000);
  EXPECT_DOUBLE_EQ(sizes.quantile(1), 3000);
  EXPECT_DOUBLE_EQ(sizes.quantile(-1), 0);
  EXPECT_DOUBLE_EQ(sizes.quantile(2), 3000);
  EXPECT_DOUBLE_EQ(sizes.cdf(500), 0.25);
  EXPECT_DOUBLE_EQ(sizes.cdf(2000), 0.75);
  EXPECT_DOUBLE_EQ(sizes.cdf(-1), 0);
  EXPECT_DOUBLE_EQ(sizes.cdf(9000), 1);
  EXPECT_DOUBLE_EQ(sizes.mean(), 0.5 * 500 + 0.5 * 2000);
  EXPECT_DOUBLE_EQ(sizes.mean_between(0.5, 1), 2000);
  EXPECT_DOUBLE_EQ(sizes.tail_mean(2000), 2500);
  EXPECT_DOUBLE_EQ(sizes.tail_mean(3000), 3000);
}

TEST(EmpiricalCdf, TakesPercentCommentsAndBlankLines) {
  const EmpiricalCdf sizes =
      EmpiricalCdf::parse("# bytes percent\n\n  0 0\r\n1000\t50 # half\n3000 100", "sizes.txt");
  ASSERT_EQ(sizes.points().size(), 3u);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.5), 1000);
}

TEST(EmpiricalCdf, IsNormalisedByItsLastValue) {
  const EmpiricalCdf sizes = EmpiricalCdf::parse("0 0\n1000 49.95\n3000 99.9\n", "sizes.txt");
  EXPECT_DOUBLE_EQ(sizes.points().back().cumulative, 1);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.5), 1000);
}

TEST(EmpiricalCdf, HasStepsAndGaps) {
  // A fifth of all flows has 100 bytes, another fifth 500; none lies between 100 and 200.
  const EmpiricalCdf sizes =
      EmpiricalCdf::parse("100 0.2\n200 0.2\n500 0.4\n500 0.6\n1000 1\n", "sizes.txt");
  EXPECT_DOUBLE_EQ(sizes.quantile(0), 100);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.1), 100);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.2), 100);
  EXPECT_GT(sizes.quantile(0.2001), 200);
  EXPECT_DOUBLE_EQ(sizes.quantile(0.5), 500);
  EXPECT_DOUBLE_EQ(sizes.cdf(99), 0);
  EXPECT_DOUBLE_EQ(sizes.cdf(100), 0.2);
  EXPECT_DOUBLE_EQ(sizes.cdf(150), 0.2);
  EXPECT_DOUBLE_EQ(sizes.cdf(500), 0.6);
  EXPECT_NEAR(sizes.mean(), 0.2 * 100 + 0.2 * 350 + 0.2 * 500 + 0.4 * 750, 1e-9);
  EXPECT_NEAR(sizes.mean_packets(100), 0.2 * 1 + 0.2 * 4 + 0.2 * 5 + 0.4 * 8, 1e-9);
  const EmpiricalCdf one = EmpiricalCdf::parse("777 1\n", "sizes.txt");
  EXPECT_DOUBLE_EQ(one.quantile(0.3), 777);
  EXPECT_DOUBLE_EQ(one.mean(), 777);
}

TEST(EmpiricalCdf, NamesFileAndLineOfAMistake) {
  EXPECT_EQ(error_of("0 0\n1000 50\n900 100\n").rfind("sizes.txt:3: size 900 is below", 0), 0u);
  EXPECT_EQ(
      error_of("0 0\n1000 50\n2000 40\n3000 100").rfind("sizes.txt:3: cumulative 40 falls", 0), 0u);
  EXPECT_EQ(error_of("0 0\n1000 97\n").rfind("sizes.txt:2: the last cumulative is 97 %", 0), 0u);
  EXPECT_EQ(error_of("0 0\n1000 0.5\n").rfind("sizes.txt:2: the last cumulative is 50 %", 0), 0u);
  EXPECT_EQ(error_of("0 0\n1000 101\n").rfind("sizes.txt:2: cumulative 101 is above 100 %", 0), 0u);
  EXPECT_EQ(error_of("").rfind("sizes.txt:0: is empty", 0), 0u);
  EXPECT_EQ(error_of("# nothing\n\n").rfind("sizes.txt:2: is empty", 0), 0u);
  EXPECT_EQ(error_of("0 0\nx 100\n").rfind("sizes.txt:2: size \"x\" is not a number", 0), 0u);
  EXPECT_EQ(error_of("0 0\n10 1e\n").rfind("sizes.txt:2: cumulative \"1e\" is not a number", 0),
            0u);
  EXPECT_EQ(error_of("0 0\n10 nan\n").rfind("sizes.txt:2: cumulative \"nan\" is not a number", 0),
            0u);
  EXPECT_EQ(error_of("0 0\n-5 100\n").rfind("sizes.txt:2: size -5 is negative", 0), 0u);
  EXPECT_EQ(error_of("0 0\n5 -1\n").rfind("sizes.txt:2: cumulative -1 is negative", 0), 0u);
  EXPECT_EQ(error_of("0 0 0\n").rfind("sizes.txt:1: has 3 columns", 0), 0u);
  EXPECT_EQ(error_of("0 5\n10 100\n").rfind("sizes.txt:1: flows of 0 bytes", 0), 0u);
  EXPECT_EQ(error_of("0 0\n1e13 100\n").rfind("sizes.txt:2: size 1e13 is too large", 0), 0u);
  EXPECT_THROW(EmpiricalCdf::find("/nonexistent/sizes.txt"), Error);
}

TEST(EmpiricalCdf, ReadsRegularFilesOfBoundedSizeOnly) {
  const std::string folder = testing::TempDir() + "/sizes-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      EmpiricalCdf::read(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  // Each of these would never have ended.
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: is not a regular file");
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal(fifo), fifo + ": is not a regular file");
  EXPECT_EQ(refusal(folder), folder + ": is not a regular file");
  const std::string large = folder + "/large";
  write_file(large, "0 0\n");
  ASSERT_EQ(truncate(large.c_str(), (16 << 20) + 1), 0);
  EXPECT_EQ(refusal(large), large + ": is larger than 16 MiB, the most that is read");
  const std::string good = folder + "/good";
  write_file(good, "0 0\n1000 1\n");
  EXPECT_EQ(EmpiricalCdf::read(good).mean(), 500);
  std::filesystem::remove_all(folder);
}

TEST(EmpiricalCdf, BuiltInDistributionsHaveTheirKnownFigures) {
  const std::map<std::string, double> means = {{"websearch", 1'711'250},
                                               {"fbhadoop", 120'421},
                                               {"alistorage", 40'870},
                                               {"cachefollower", 610'218.525}};
  ASSERT_EQ(EmpiricalCdf::built_in_names().size(), means.size());
  for (const std::string& name : EmpiricalCdf::built_in_names()) {
    const EmpiricalCdf sizes = EmpiricalCdf::find(name);
    EXPECT_NEAR(sizes.mean(), means.at(name), means.at(name) * 0.001) << name;
    EXPECT_NEAR(sizes.mean(), sampled_mean(sizes, 0, 1), sizes.mean() * 1e-4) << name;
    EXPECT_NEAR(sizes.mean_between(0.3, 0.92), sampled_mean(sizes, 0.3, 0.92), sizes.mean() * 1e-4);
    for (int i = 1; i < 1000; i++)
      EXPECT_NEAR(sizes.cdf(sizes.quantile(i / 1000.0)), i / 1000.0, 1e-9) << name;
    // Packets by brute force.
    double packets = 0;
    for (int i = 0; i < 100'000; i++)
      packets += std::ceil(sizes.quantile((i + 0.5) / 100'000) / 1448) / 100'000;
    EXPECT_NEAR(sizes.mean_packets(1448), packets, packets * 1e-3) << name;
  }
}

WorkloadSpec all_to_all(double load) {
  WorkloadSpec spec;
  spec.present = true;
  spec.sizes = std::make_shared<EmpiricalCdf>(EmpiricalCdf::find("websearch"));
  spec.load = load;
  return spec;
}

WorkloadHosts hosts(int n) {
  WorkloadHosts result;
  result.sources.resize(static_cast<size_t>(n));
  std::iota(result.sources.begin(), result.sources.end(), 7);
  result.destinations = result.sources;
  result.rate_bps = 100e9;
  return result;
}

double bytes_on_wire(const std::vector<WorkloadFlow>& flows) {
  double sum = 0;
  for (const WorkloadFlow& flow : flows)
    sum += wire_bytes(static_cast<double>(flow.size_bytes),
                      std::ceil(static_cast<double>(flow.size_bytes) / 1448));
  return sum;
}

TEST(Workload, OffersTheLoadWithItsHeaders) {
  constexpr int64_t kSecond = 1'000'000'000;
  double sum = 0;
  for (int trial = 0; trial < 20; trial++)
    sum += bytes_on_wire(generate_workload(all_to_all(0.3), hosts(10), kSecond, 1, trial));
  // 44,000 flows whose sizes deviate by twice their mean: 1 % is one deviation of the sum.
  EXPECT_NEAR(sum * 8 / 20 / 100e9, 0.3, 0.3 * 0.03);
}

TEST(Workload, ArrivalsArePoisson) {
  const auto flows = generate_workload(all_to_all(0.8), hosts(10), 1'000'000'000, 3, 0);
  ASSERT_GT(flows.size(), 4000u);
  std::vector<double> gaps;
  for (size_t i = 1; i < flows.size(); i++)
    gaps.push_back(static_cast<double>(flows[i].start_ns - flows[i - 1].start_ns));
  double mean = 0, squares = 0;
  for (double gap : gaps) mean += gap / static_cast<double>(gaps.size());
  for (double gap : gaps) squares += (gap - mean) * (gap - mean) / static_cast<double>(gaps.size());
  EXPECT_GE(*std::min_element(gaps.begin(), gaps.end()), 0);
  EXPECT_NEAR(std::sqrt(squares) / mean, 1, 0.05);  // exponential
  // Uniform numbers of sizes: uniform.
  double u = 0;
  for (const WorkloadFlow& flow : flows) {
    EXPECT_GE(flow.uniform, 0);
    EXPECT_LT(flow.uniform, 1);
    EXPECT_EQ(flow.log_weight, 0);
    u += flow.uniform / static_cast<double>(flows.size());
  }
  EXPECT_NEAR(u, 0.5, 0.02);
}

TEST(Workload, OtherSamplersKeepTheArrivalsAndWeighTheirSizes) {
  for (const std::string& kind : sampling_kinds()) {
    WorkloadSpec spec = all_to_all(0.3);
    spec.sampling.kind = kind;
    double ratios = 0, flows = 0;
    constexpr int kTrials = 200;
    for (int trial = 0; trial < kTrials; trial++) {
      double log_ratio = 0;
      for (const WorkloadFlow& flow : generate_workload(spec, hosts(10), 20'000'000, 1, trial)) {
        log_ratio += flow.log_weight;
        flows += 1.0 / kTrials;
        EXPECT_GE(flow.size_bytes, 1);
        EXPECT_LE(flow.size_bytes, 30'000'000);
      }
      ratios += std::exp(log_ratio) / kTrials;
    }
    EXPECT_NEAR(flows, 43, 3) << kind;  // the mean gap is that of the sizes given
    if (kind == "plain" || kind == "stratified")
      EXPECT_NEAR(ratios, 1, 1e-9) << kind;
    else
      EXPECT_NEAR(ratios, 1, 0.25) << kind;
  }
}

TEST(Workload, EveryPairSendsAndNobodyToItself) {
  const auto flows = generate_workload(all_to_all(0.8), hosts(5), 1'000'000'000, 1, 0);
  std::map<std::pair<int, int>, int> pairs;
  for (const WorkloadFlow& flow : flows) {
    EXPECT_NE(flow.source, flow.destination);
    pairs[{flow.source, flow.destination}]++;
  }
  EXPECT_EQ(pairs.size(), 20u);
  const int expected = static_cast<int>(flows.size()) / 20;
  for (const auto& [pair, count] : pairs) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
}

TEST(Workload, GroupsSendToOtherGroups) {
  WorkloadHosts groups;
  groups.sources = {0, 1, 2};
  groups.destinations = {3, 4};
  groups.rate_bps = 10e9;
  for (const WorkloadFlow& flow : generate_workload(all_to_all(0.5), groups, 1'000'000'000, 1, 0)) {
    EXPECT_LE(flow.source, 2);
    EXPECT_GE(flow.destination, 3);
  }
}

TEST(Workload, IsAFunctionOfSeedAndTrial) {
  const WorkloadSpec spec = all_to_all(0.3);
  auto text = [&](uint64_t seed, int trial) {
    std::string all;
    for (const WorkloadFlow& f : generate_workload(spec, hosts(10), 20'000'000, seed, trial))
      all += std::to_string(f.start_ns) + " " + std::to_string(f.source) + " " +
             std::to_string(f.destination) + " " + std::to_string(f.size_bytes) + "\n";
    return all;
  };
  EXPECT_EQ(text(1, 0), text(1, 0));
  std::set<std::string> different = {text(1, 0), text(1, 1), text(2, 0), text(2, 1)};
  EXPECT_EQ(different.size(), 4u);
}

TEST(Workload, AChangeOfSizesLeavesArrivalsAlone) {
  WorkloadSpec other = all_to_all(0.3);
  const auto a = generate_workload(other, hosts(10), 20'000'000, 1, 0);
  other.priority_limits_bytes = {1000};
  other.classes = {{"small", 1000}, {"large", -1}};
  const auto b = generate_workload(other, hosts(10), 20'000'000, 1, 0);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) EXPECT_EQ(a[i].size_bytes, b[i].size_bytes);
}

TEST(Workload, CutsWarmUpAndCoolDown) {
  WorkloadSpec spec = all_to_all(0.8);
  spec.warm_up_ns = 10'000'000;
  spec.cool_down_ns = 20'000'000;
  spec.until_ns = 80'000'000;
  int measured = 0;
  for (const WorkloadFlow& flow : generate_workload(spec, hosts(10), 100'000'000, 1, 0)) {
    EXPECT_LT(flow.start_ns, 80'000'000);
    EXPECT_EQ(flow.measured, flow.start_ns >= 10'000'000 && flow.start_ns < 60'000'000);
    measured += flow.measured;
  }
  EXPECT_GT(measured, 100);
}

TEST(Workload, AnIncastComesFromDifferentHostsAtOnce) {
  WorkloadSpec spec;
  spec.incast = {8, 20'000, 0.1};
  const auto flows = generate_workload(spec, hosts(10), 1'000'000'000, 1, 0);
  std::map<int64_t, std::vector<WorkloadFlow>> requests;
  for (const WorkloadFlow& flow : flows) requests[flow.request].push_back(flow);
  ASSERT_GT(requests.size(), 1000u);
  std::set<int> receivers;
  for (const auto& [number, responses] : requests) {
    ASSERT_EQ(responses.size(), 8u);
    std::set<int> sources;
    for (const WorkloadFlow& flow : responses) {
      EXPECT_EQ(flow.start_ns, responses[0].start_ns);
      EXPECT_EQ(flow.destination, responses[0].destination);
      EXPECT_NE(flow.source, flow.destination);
      EXPECT_EQ(flow.size_bytes, 20'000);
      sources.insert(flow.source);
    }
    EXPECT_EQ(sources.size(), 8u);
    receivers.insert(responses[0].destination);
  }
  EXPECT_EQ(receivers.size(), 10u);
  EXPECT_NEAR(bytes_on_wire(flows) * 8 / 100e9, 0.1, 0.01);
}

TEST(Workload, AMixIsBothAndInOrder) {
  WorkloadSpec spec = all_to_all(0.3);
  spec.incast = {4, 20'000, 0.1};
  const auto mixed = generate_workload(spec, hosts(10), 100'000'000, 1, 0);
  spec.incast = {};
  const auto alone = generate_workload(spec, hosts(10), 100'000'000, 1, 0);
  std::vector<WorkloadFlow> background;
  for (size_t i = 0; i < mixed.size(); i++) {
    if (i > 0) {
      EXPECT_LE(mixed[i - 1].start_ns, mixed[i].start_ns);
    }
    if (mixed[i].request < 0) background.push_back(mixed[i]);
  }
  ASSERT_EQ(background.size(), alone.size());
  EXPECT_GT(mixed.size(), alone.size());
  for (size_t i = 0; i < alone.size(); i++) EXPECT_EQ(background[i].start_ns, alone[i].start_ns);
}

TEST(Workload, RefusesWhatCannotBe) {
  WorkloadHosts one;
  one.sources = one.destinations = {3};
  one.rate_bps = 1e9;
  EXPECT_THROW(generate_workload(all_to_all(0.9), one, 1'000'000'000, 1, 0), Error);
  WorkloadSpec spec;
  spec.incast = {10, 20'000, 0.5};
  EXPECT_THROW(generate_workload(spec, hosts(10), 1'000'000'000, 1, 0), Error);
}

TEST(Workload, ClassesAndPrioritiesGoBySize) {
  WorkloadSpec spec;
  EXPECT_EQ(size_class(spec, 5), 0);
  EXPECT_EQ(size_priority(spec, 5), -1);
  spec.classes = {{"small", 1000}, {"medium", 5000}, {"large", -1}};
  spec.priority_limits_bytes = {1000, 5000, 9000};
  EXPECT_EQ(size_class(spec, 1), 0);
  EXPECT_EQ(size_class(spec, 1000), 0);
  EXPECT_EQ(size_class(spec, 1001), 1);
  EXPECT_EQ(size_class(spec, 5001), 2);
  EXPECT_EQ(size_priority(spec, 1000), 3);
  EXPECT_EQ(size_priority(spec, 1001), 2);
  EXPECT_EQ(size_priority(spec, 9000), 1);
  EXPECT_EQ(size_priority(spec, 9001), 0);
}

}  // namespace
}  // namespace delaycc

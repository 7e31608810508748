// SPDX-License-Identifier: Apache-2.0
#include "eval/fluid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "eval/fluid_trial.h"
#include "scenario/scenario_file.h"

namespace delaycc {
namespace {

constexpr double kRate = 8e9;  // 10^9 bytes per second

FluidFlow flow(double start_s, double bytes, std::vector<int> links = {0}, double latency_s = 0) {
  return {start_s, bytes, latency_s, std::move(links)};
}

TEST(Fluid, SharesOneLinkEqually) {
  // Alone for 1 s, then two share: the first has 1e9 bytes left and needs 2 s more.
  const auto fct = fluid_fct_s({flow(0, 2e9), flow(1, 3e9)}, {kRate});
  EXPECT_NEAR(fct[0], 3, 1e-9);
  EXPECT_NEAR(fct[1], 4, 1e-9);
}

TEST(Fluid, AddsTheLatencyAndKeepsTheOrderOfTheFlows) {
  const auto fct = fluid_fct_s({flow(5, 1e9, {0}, 0.5), flow(0, 1e9)}, {kRate});
  EXPECT_NEAR(fct[0], 1.5, 1e-9);
  EXPECT_NEAR(fct[1], 1, 1e-9);
}

TEST(Fluid, GivesMaxMinSharesOnLinksInARow) {
  // The flow through both links has a third of the second; the other of the first link the rest of
  // it.
  const auto fct =
      fluid_fct_s({flow(0, 1e9, {0, 1}), flow(0, 2e9, {0}), flow(0, 1e9, {1}), flow(0, 1e9, {1})},
                  {kRate, kRate});
  EXPECT_NEAR(fct[0], 3, 1e-9);
  EXPECT_NEAR(fct[1], 3, 1e-9);
  EXPECT_NEAR(fct[2], 3, 1e-9);
  EXPECT_NEAR(fct[3], 3, 1e-9);
}

TEST(Fluid, IsLimitedByTheHostsOwnLinks) {
  const auto fct =
      fluid_fct_s({flow(0, 1e9, {1, 0}), flow(0, 3e9, {2, 0})}, {kRate, kRate / 4, kRate});
  EXPECT_NEAR(fct[0], 4, 1e-9);
  EXPECT_NEAR(fct[1], 4, 1e-9);
}

TEST(Fluid, RefusesWhatHasNoPathOrNoRate) {
  EXPECT_THROW(fluid_fct_s({flow(0, 1, {})}, {kRate}), Error);
  EXPECT_THROW(fluid_fct_s({flow(0, 1, {1})}, {kRate}), Error);
  EXPECT_THROW(fluid_fct_s({flow(0, 0)}, {kRate}), Error);
  EXPECT_THROW(fluid_fct_s({flow(0, 1)}, {0}), Error);
  EXPECT_TRUE(fluid_fct_s({}, {}).empty());
}

// Ten hosts on each side of one link of 100 Gbit/s.
Scenario dumbbell(const char* host_rate) {
  const std::string text = std::string("name = \"t\"\ncc = [\"cubic\"]\n[topology]\n") +
                           "kind = \"dumbbell\"\nsenders = 10\nreceivers = 10\n" +
                           "base_rtt_ns = 12000\n[host_link]\nrate_gbps = " + host_rate +
                           "\n[workload]\nload = 0.3\n[measure]\nduration_us = 20000\n";
  const ScenarioFile file("file.toml", text, {});
  return file.resolve(file.main_parameters());
}

WorkloadFlow sent(const Network& network, int from, int to, int64_t start_ns, int64_t bytes) {
  WorkloadFlow flow;
  flow.start_ns = start_ns;
  flow.source = network.select("senders").at(static_cast<size_t>(from));
  flow.destination = network.select("receivers").at(static_cast<size_t>(to));
  flow.size_bytes = bytes;
  return flow;
}

TEST(FluidTrial, GivesALoneFlowItsIdealTime) {
  const Scenario scenario = dumbbell("100");
  const Network network = build_network(scenario.topology, scenario.hosts);
  for (int64_t bytes : {1, 1460, 100'000, 30'000'000}) {
    const WorkloadFlow flow = sent(network, 3, 4, 0, bytes);
    const double ideal =
        static_cast<double>(ideal_fct_ns(network, flow.source, flow.destination, 1500, bytes)) /
        1e9;
    EXPECT_NEAR(fluid_trial_fct_s(scenario, network, {flow}).at(0) / ideal, 1, 1e-3) << bytes;
  }
}

TEST(FluidTrial, SharesTheLinkThatIsInTheWay) {
  for (const char* host_rate : {"100", "25"}) {
    const Scenario scenario = dumbbell(host_rate);
    const Network network = build_network(scenario.topology, scenario.hosts);
    const std::vector<WorkloadFlow> apart = {sent(network, 0, 0, 0, 10'000'000),
                                             sent(network, 1, 1, 0, 10'000'000)};
    const double alone = fluid_trial_fct_s(scenario, network, {apart[0]}).at(0);
    const auto both = fluid_trial_fct_s(scenario, network, apart);
    // At 25 Gbit/s a host is the limit and the two do not meet.
    const double factor = std::string(host_rate) == "100" ? 2 : 1;
    EXPECT_NEAR(both[0] / alone, factor, 0.03) << host_rate;
    EXPECT_NEAR(both[1] / alone, factor, 0.03) << host_rate;
  }
}

TEST(SharedLink, AgreesWithTheGeneralModel) {
  std::vector<FluidFlow> flows;
  double start = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    start += 1e-4 * uniform_draw(1, 0, 0, i);
    flows.push_back(flow(start, 1 + 9e4 * uniform_draw(1, 0, 1, i)));
  }
  const auto general = fluid_fct_s(flows, {kRate});
  SharedLink link(kRate);
  std::vector<double> fct(flows.size());
  const auto finished = [&](size_t f, double now_s) { fct[f] = now_s - flows[f].start_s; };
  for (size_t i = 0; i < flows.size(); ++i) {
    link.run_until(flows[i].start_s, finished);
    link.arrive(flows[i].start_s, i, flows[i].bytes);
  }
  link.drain(finished);
  EXPECT_EQ(link.active(), 0U);
  for (size_t i = 0; i < flows.size(); ++i) EXPECT_NEAR(fct[i], general[i], 1e-9 * start);
}

TEST(SharedLink, LosesNoWork) {
  // The last byte leaves when the work is done, however it is shared: the end of a busy period.
  SharedLink link(kRate);
  double last = 0;
  const auto finished = [&](size_t, double now_s) { last = now_s; };
  for (size_t i = 0; i < 50; ++i) link.arrive(1, i, 1e6 * static_cast<double>(i + 1));
  link.drain(finished);
  EXPECT_NEAR(last, 1 + 1275e6 / 1e9, 1e-9);
}

}  // namespace
}  // namespace delaycc

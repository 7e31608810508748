// SPDX-License-Identifier: Apache-2.0
#include "fluid.h"

#include <gtest/gtest.h>

#include "random.h"

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

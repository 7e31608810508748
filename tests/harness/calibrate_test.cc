// SPDX-License-Identifier: Apache-2.0
#include "calibrate/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "oscar/params.h"

namespace delaycc {
namespace {

std::vector<int64_t> uniform(int64_t end_ns) {
  std::vector<int64_t> values(static_cast<size_t>(end_ns) + 1);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

PathFigures quiet() {
  PathFigures f;
  f.line_rate_mbps = 100000;
  f.packet_bytes = 1514;
  f.smallest_rtt_ns = 12000;
  f.idle_noise_ns = {0, 0, 0};
  return f;
}

int64_t value(const Settings& settings, const std::string& name) {
  for (const Setting& setting : settings.list)
    if (setting.name == name) return std::stoll(setting.value);
  ADD_FAILURE() << "no " << name;
  return -1;
}

bool warns(const Settings& settings, const std::string& text) {
  return std::any_of(
      settings.warnings.begin(), settings.warnings.end(),
      [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
}

TEST(Calibrate, WithoutNoiseThePathGetsTheDefaultsOfItsLength) {
  const Settings s = derive_settings(quiet(), calibrated_algorithms());
  EXPECT_EQ(value(s, "line_rate_mbps"), 100000);
  EXPECT_EQ(value(s, "base_rtt_ns"), 12000);
  EXPECT_EQ(value(s, "noise_ns"), 0);
  EXPECT_EQ(value(s, "oscar.tau_ns"), 6000);
  EXPECT_EQ(value(s, "prioplus.channel_a_ns"), 3200);
  EXPECT_EQ(value(s, "prioplus.channel_b_ns"), 0);
  EXPECT_EQ(value(s, "prioplus.levels"), 8);
  EXPECT_EQ(value(s, "prioplus_ledbat.levels"), 8);
  EXPECT_TRUE(s.warnings.empty());
}

TEST(Calibrate, QuantilesOfNoiseAreWhatAScenarioTakes) {
  std::vector<int64_t> sorted = uniform(20'000);
  for (int64_t& ns : sorted) ns += 500;
  const auto quantiles = noise_quantiles(sorted);
  ASSERT_LE(quantiles.size(), 64u);
  EXPECT_EQ(quantiles.front(), (std::pair<int64_t, int64_t>{0, 0}));
  EXPECT_EQ(quantiles.back(), (std::pair<int64_t, int64_t>{1'000'000, 20'000}));
  for (size_t i = 1; i < quantiles.size(); i++) {
    EXPECT_GT(quantiles[i].first, quantiles[i - 1].first);
    EXPECT_NEAR(static_cast<double>(quantiles[i].second),
                static_cast<double>(quantiles[i].first) / 50, 1);
  }
  // Times that a scenario does not take, and of one value alone.
  EXPECT_EQ(noise_quantiles({0, 7, 2'000'000'000}).back().second, 1'000'000'000);
  for (const auto& [ppm, ns] : noise_quantiles({9})) EXPECT_EQ(ns, 0) << ppm;
}

TEST(Calibrate, AFileOfNoiseHasWhatWasMeasured) {
  const std::string text = noise_file("of here", {{"idle", {4, 5}}, {"loaded", {}}, {"host", {6}}});
  EXPECT_EQ(
      text.find("# of here\n# Quantiles: [ppm, ns].\n# 2 values\nidle_noise_ns = [\n  [0, 0],\n"),
      0u);
  EXPECT_NE(text.find("  [1000000, 1],\n]\n# 1 values\nhost_noise_ns = [\n"), std::string::npos);
  EXPECT_EQ(text.find("loaded"), std::string::npos);
}

TEST(Calibrate, OscarsQueueIsTheCoresDefault) {
  for (int64_t rtt_ns = 1000; rtt_ns < 500'000'000; rtt_ns += rtt_ns / 16) {
    PathFigures f = quiet();
    f.smallest_rtt_ns = rtt_ns;
    const int64_t queue_ns = dcc_oscar_default_queue_ns(static_cast<u32>(rtt_ns), 0);
    f.buffer_bytes = queue_ns * f.line_rate_mbps / 8000;
    EXPECT_TRUE(derive_settings(f, {"oscar"}).warnings.empty()) << rtt_ns;
    f.buffer_bytes -= 1;
    EXPECT_EQ(derive_settings(f, {"oscar"}).warnings.size(), 1u) << rtt_ns;
  }
}

TEST(Calibrate, ThePathIsItsSmallestRttAndTheMeanNoise) {
  PathFigures f = quiet();
  f.idle_noise_ns = uniform(10000);
  const Settings s = derive_settings(f, calibrated_algorithms());
  EXPECT_EQ(s.base_rtt_ns, 12000);
  EXPECT_EQ(s.noise_ns, 5000);
  EXPECT_NEAR(static_cast<double>(s.spread_ns), 4985, 1);
  EXPECT_EQ(value(s, "prioplus.channel_b_ns"), s.spread_ns);
  EXPECT_EQ(value(s, "base_rtt_ns"), s.base_rtt_ns);
  EXPECT_EQ(value(s, "noise_ns"), s.noise_ns);
  EXPECT_EQ(value(s, "prioplus.levels"), 2);
}

TEST(Calibrate, NoiseUnderLoadMovesTheLatestPacketsAndNotTheMean) {
  PathFigures f = quiet();
  f.idle_noise_ns = uniform(2000);
  f.loaded_noise_ns = uniform(4000);
  const Settings s = derive_settings(f, {"oscar"});
  EXPECT_EQ(s.base_rtt_ns, 12000);
  EXPECT_EQ(s.noise_ns, 1000);
  EXPECT_NEAR(static_cast<double>(s.spread_ns), 2994, 1);
}

TEST(Calibrate, SaysWhereTheNoiseLeavesNoRoom) {
  PathFigures f = quiet();
  f.idle_noise_ns = uniform(60000);
  const Settings s = derive_settings(f, {"prioplus"});
  EXPECT_EQ(value(s, "prioplus.levels"), 1);
  EXPECT_TRUE(warns(s, "prioplus: the noise leaves no room for a single level"));
  EXPECT_TRUE(warns(s, "more than half the path's own RTT (12.00 us)"));
  f.buffer_bytes = 100000;  // 8 us
  EXPECT_TRUE(warns(derive_settings(f, {"oscar"}), "does not fit into the buffer of 100000 bytes"));
}

TEST(Calibrate, SlowLinesHoldTwoPacketsAndRangesAreKept) {
  PathFigures f = quiet();
  f.line_rate_mbps = 10;
  f.smallest_rtt_ns = 2'000'000'000;
  const Settings s = derive_settings(f, {"ccc", "prioplus"});
  EXPECT_EQ(value(s, "base_rtt_ns"), 1'000'000'000);
  EXPECT_TRUE(warns(s, "base_rtt_ns would be 2000000000, and its range is 1000 to 1000000000"));
  EXPECT_EQ(value(s, "prioplus.channel_a_ns"), 10'000'000);
}

TEST(Calibrate, APathOfItsOwnGetsAnEntryOfTheTable) {
  PathFigures f = quiet();
  f.prefix = "10.0.1.0/24";
  const Settings s = derive_settings(f, {});
  ASSERT_EQ(s.list.size(), 2U);
  EXPECT_EQ(s.list[1].name, "base_rtt_paths");
  EXPECT_EQ(s.list[1].value, "10.0.1.0/24 12000");
}

TEST(Calibrate, TheLineRateIsTheMostCertainOne) {
  const TrainRates slow = {40'000'000'000, 981'000'000};
  EXPECT_EQ(choose_line_rate(5000, 10000, 25000, true, slow).mbps, 5000);
  EXPECT_EQ(choose_line_rate(0, 10000, 25000, true, slow).mbps, 10000);
  // A train is held up by the hosts, too: a NIC's own word counts more.
  EXPECT_EQ(choose_line_rate(0, 0, 25000, true, slow).mbps, 25000);
  EXPECT_EQ(choose_line_rate(0, 0, 10000, false, slow).mbps, 1000);
  EXPECT_EQ(choose_line_rate(0, 0, 10000, false, {40'000'000'000, 700'000'000}).mbps, 700);
  EXPECT_FALSE(choose_line_rate(0, 0, 10000, false, slow).guess);
  // What came back as it left says that the path carries so much, and no more.
  const ChosenRate by_hosts = choose_line_rate(0, 0, 10000, false, {1'000'000'000, 981'000'000});
  EXPECT_EQ(by_hosts.mbps, 981);
  EXPECT_TRUE(by_hosts.guess);
  EXPECT_EQ(choose_line_rate(0, 0, 10000, false, {}).mbps, 10000);
  EXPECT_TRUE(choose_line_rate(0, 0, 10000, false, {}).guess);
  EXPECT_EQ(choose_line_rate(0, 0, 0, false, {}).mbps, 0);
}

TEST(Calibrate, APictureHasEachValueOnce) {
  const std::vector<int64_t> values = uniform(9999);
  const std::string text = noise_picture(values, 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11);
  EXPECT_NE(text.find("     0.00 us    999 ####"), std::string::npos) << text;
  EXPECT_NE(text.find(">9.98 us     15 #\n"), std::string::npos) << text;
  EXPECT_EQ(noise_picture({0, 0, 5}, 10), "  none\n");
}

}  // namespace
}  // namespace delaycc

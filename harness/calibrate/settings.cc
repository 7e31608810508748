// SPDX-License-Identifier: Apache-2.0
#include "calibrate/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/statistics.h"

namespace delaycc {
namespace {

constexpr double kWholePpm = 1e6;
// What a scenario takes, in ns, and enough of the middle and of the tail for its shape.
constexpr int64_t kMaxNoiseNs = 1'000'000'000;
constexpr int64_t kNoisePpm[] = {0,       5'000,   10'000,  25'000,  50'000,   75'000,  100'000,
                                 150'000, 200'000, 250'000, 300'000, 350'000,  400'000, 450'000,
                                 500'000, 550'000, 600'000, 650'000, 700'000,  750'000, 800'000,
                                 850'000, 900'000, 925'000, 950'000, 975'000,  990'000, 995'000,
                                 998'500, 999'000, 999'500, 999'900, 1'000'000};

// Where the algorithms' defaults come from: 8 levels of 3.2 + 0.8 us at a base RTT of 12 us.
constexpr int64_t kLevels = 8;
constexpr double kChannelARtts = 3.2 / 12;
constexpr double kLevelsRtts = 32.0 / 12;
constexpr int64_t kCccGoalNs = 5000;
constexpr int64_t kPackets = 2;  // a target holds so many at least
constexpr double kUsualWithin = 0.03;
constexpr int64_t kUsualMbps[] = {10,    100,   1000,  2500,   5000,   10000, 20000,
                                  25000, 40000, 50000, 100000, 200000, 400000};
constexpr double kHostsLimit = 0.8;  // of the rate that a train left with
constexpr int kBarWidth = 40;

struct Range {
  const char* name;
  int64_t min, max;
};
// As docs/operate has them.
constexpr Range kRanges[] = {
    {"line_rate_mbps", 1, 800'000},
    {"base_rtt_ns", 1000, 1'000'000'000},
    {"noise_ns", 0, 1'000'000'000},
    {"oscar.tau_ns", 500, 1'000'000'000},
    {"prioplus.channel_a_ns", 100, 10'000'000},
    {"prioplus.channel_b_ns", 0, 10'000'000},
    {"prioplus.levels", 1, 64},
};

std::string us(int64_t ns) { return fmt::format("{:.2f} us", static_cast<double>(ns) / 1e3); }

int64_t part(int64_t ns, double share) { return std::llround(static_cast<double>(ns) * share); }

int64_t mean_of(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0}) /
         std::max<int64_t>(static_cast<int64_t>(values.size()), 1);
}

// OSCAR's automatic target queue (dcc_oscar_default_queue_ns()): 6, 12, 24 us ..., at least 5/16 of
// the base RTT.
int64_t oscar_queue_ns(int64_t base_rtt_ns) {
  int64_t queue_ns = 6000;
  while (queue_ns * 16 <= base_rtt_ns * 5) queue_ns *= 2;
  return queue_ns;
}

// Puts settings together and holds them to the sysctls' ranges.
class List {
 public:
  explicit List(Settings* settings) : settings_(settings) {}

  // Returns the value within its range.
  int64_t add(const std::string& name, int64_t value, const std::string& reason) {
    // prioplus_ledbat has prioplus's parameters.
    std::string of = name;
    if (const size_t at = of.find("_ledbat."); at != std::string::npos) of.erase(at, 7);
    for (const Range& range : kRanges) {
      if (of != range.name) continue;
      const int64_t held = std::clamp(value, range.min, range.max);
      if (held != value)
        settings_->warnings.push_back(fmt::format("{} would be {}, and its range is {} to {}", name,
                                                  value, range.min, range.max));
      value = held;
    }
    settings_->list.push_back({name, std::to_string(value), reason});
    return value;
  }

 private:
  Settings* settings_;
};

}  // namespace

const std::vector<std::string>& calibrated_algorithms() {
  static const std::vector<std::string> names = {"oscar", "ccc", "swift", "prioplus",
                                                 "prioplus_ledbat"};
  return names;
}

int64_t quantile_ns(const std::vector<int64_t>& sorted, double share) {
  return sorted[nearest_rank(sorted.size(), share)];
}

Settings derive_settings(const PathFigures& f, const std::vector<std::string>& algorithms) {
  Settings result;
  List list(&result);
  const int64_t packet_ns = f.packet_bytes * 8000 / std::max<int64_t>(f.line_rate_mbps, 1);
  const int64_t base_ns = f.smallest_rtt_ns;
  const int64_t noise_ns = mean_of(f.idle_noise_ns);
  int64_t latest_ns = quantile_ns(f.idle_noise_ns, kNoiseQuantile);
  if (!f.loaded_noise_ns.empty())
    latest_ns = std::max(latest_ns, quantile_ns(f.loaded_noise_ns, kNoiseQuantile));
  const int64_t s = std::max<int64_t>(latest_ns - noise_ns, 0);
  result.base_rtt_ns = base_ns;
  result.noise_ns = noise_ns;
  result.spread_ns = s;

  list.add("line_rate_mbps", f.line_rate_mbps, f.line_rate_reason);
  const std::string base_reason =
      fmt::format("smallest RTT of a full packet and its ACK, {}", us(base_ns));
  const std::string noise_reason = fmt::format(
      "mean noise of the idle path, {}: the same on all hosts whose flows share a queue",
      us(noise_ns));
  if (f.prefix.empty()) {
    list.add("base_rtt_ns", base_ns, base_reason);
    list.add("noise_ns", noise_ns, noise_reason);
  } else {
    result.list.push_back({"base_rtt_paths",
                           fmt::format("{} {}{}", f.prefix, base_ns,
                                       noise_ns > 0 ? fmt::format(" {}", noise_ns) : ""),
                           base_reason + "; noise: " + noise_reason});
  }

  // Name and length of each queue that is held.
  std::vector<std::pair<std::string, int64_t>> queues;
  for (const std::string& name : algorithms) {
    if (name == "oscar") {
      queues.emplace_back(name, oscar_queue_ns(base_ns) + std::min(noise_ns, base_ns) / 2);
      list.add("oscar.tau_ns", base_ns / 2,
               "half the base RTT: a batch of samples evens out noise");
    } else if (name == "ccc") {
      queues.emplace_back(name, std::max(kCccGoalNs, kPackets * packet_ns) + noise_ns);
    } else if (name == "swift") {
      queues.emplace_back(name, base_ns / 4 + noise_ns);
    } else {
      const int64_t a = std::max(part(base_ns, kChannelARtts), kPackets * packet_ns);
      const bool by_packets = a == kPackets * packet_ns;
      list.add(name + ".channel_a_ns", a,
               by_packets ? "two packets on the line"
                          : "what 150 flows of one level oscillate by: 0.27 base RTTs");
      list.add(name + ".channel_b_ns", s, "B: " + us(s) + " of noise above the mean");
      const int64_t room_ns = f.buffer_bytes > 0
                                  ? f.buffer_bytes * 8000 / std::max<int64_t>(f.line_rate_mbps, 1)
                                  : part(base_ns, kLevelsRtts);
      const int64_t fit = room_ns / std::max<int64_t>(a + s + noise_ns, 1);
      const std::string room =
          fmt::format("channels of {} in {} of queue, {}", us(a + s + noise_ns), us(room_ns),
                      f.buffer_bytes > 0 ? "the buffer" : "as 8 of 4 us at a base RTT of 12 us");
      list.add(name + ".levels", std::clamp<int64_t>(fit, 1, kLevels), room);
      if (fit <= 1)
        result.warnings.push_back(fmt::format(
            "{}: the noise leaves no room for {}: {}", name,
            fit == 1 ? "more than one level, so for no priorities" : "a single level", room));
    }
  }
  if (2 * s > base_ns)
    result.warnings.push_back(
        fmt::format("the noise ({} above the mean) is more than half the path's own RTT ({}): "
                    "queues have to be "
                    "longer for the "
                    "hosts' sake than for the network's; quieter hosts help more than settings",
                    us(s), us(base_ns)));
  for (const auto& [name, queue_ns] : queues) {
    const int64_t bytes = queue_ns * f.line_rate_mbps / 8000;
    if (f.buffer_bytes > 0 && bytes > f.buffer_bytes)
      result.warnings.push_back(
          fmt::format("{}: its queue of {} ({} bytes) does not fit into the buffer of {} bytes: no "
                      "room",
                      name, us(queue_ns), bytes, f.buffer_bytes));
  }
  return result;
}

ChosenRate choose_line_rate(int64_t user_mbps, int64_t sysctl_mbps, int64_t speed_mbps,
                            bool has_hardware, const TrainRates& train) {
  const int64_t mbps = std::llround(static_cast<double>(train.came_bps) / 1e6);
  const bool by_hosts =
      static_cast<double>(train.came_bps) > kHostsLimit * static_cast<double>(train.sent_bps);
  const std::string said =
      mbps > 0 ? fmt::format("a train of packets came back at {} Mbit/s{}", mbps,
                             by_hosts ? ", and left no faster: the path may carry more" : "")
               : "no train of packets gave a figure";
  if (user_mbps > 0) return {user_mbps, "as told; " + said, false};
  if (sysctl_mbps > 0)
    return {sysctl_mbps, "as net.ipv4.delaycc.line_rate_mbps has it; " + said, false};
  if (speed_mbps > 0 && has_hardware) return {speed_mbps, "the device's speed; " + said, false};
  for (const int64_t usual : kUsualMbps)
    if (!by_hosts &&
        std::abs(static_cast<double>(mbps - usual)) < kUsualWithin * static_cast<double>(usual))
      return {usual, said, false};
  if (mbps > 0) return {mbps, said, by_hosts};
  if (speed_mbps > 0) return {speed_mbps, "the device's word, which has no hardware", true};
  return {};
}

std::string noise_picture(const std::vector<int64_t>& sorted, size_t rows) {
  const int64_t end_ns = quantile_ns(sorted, kNoiseQuantile);
  if (end_ns < static_cast<int64_t>(rows)) return "  none\n";
  std::vector<size_t> counts(rows + 1, 0);
  for (const int64_t ns : sorted) {
    const auto row = static_cast<size_t>(static_cast<double>(ns) * static_cast<double>(rows) /
                                         static_cast<double>(end_ns));
    counts[ns > end_ns ? rows : std::min(row, rows - 1)]++;
  }
  const size_t most = *std::max_element(counts.begin(), counts.end());
  std::string text;
  for (size_t row = 0; row <= rows; row++) {
    const std::string from =
        fmt::format("{:.2f}", static_cast<double>(end_ns) * static_cast<double>(row) /
                                  static_cast<double>(rows) / 1e3);
    const std::string what = row < rows ? from : ">" + from;
    const auto bar = static_cast<size_t>(std::ceil(static_cast<double>(counts[row] * kBarWidth) /
                                                   static_cast<double>(std::max<size_t>(most, 1))));
    text += fmt::format("  {:>10} us {:>6}{}{}\n", what, counts[row], bar > 0 ? " " : "",
                        std::string(bar, '#'));
  }
  return text;
}

std::vector<std::pair<int64_t, int64_t>> noise_quantiles(const std::vector<int64_t>& sorted) {
  std::vector<std::pair<int64_t, int64_t>> result;
  for (const int64_t ppm : kNoisePpm) {
    const int64_t ns =
        ppm == 0 ? sorted.front() : quantile_ns(sorted, static_cast<double>(ppm) / kWholePpm);
    result.emplace_back(ppm, std::min(ns - sorted.front(), kMaxNoiseNs));
  }
  return result;
}

std::string noise_file(const std::string& comment,
                       const std::vector<std::pair<std::string, std::vector<int64_t>>>& noises) {
  std::string text = "# " + comment + "\n# Quantiles: [ppm, ns].\n";
  for (const auto& [name, sorted] : noises) {
    if (sorted.empty()) continue;
    text += fmt::format("# {} values\n{}_noise_ns = [\n", sorted.size(), name);
    for (const auto& [ppm, ns] : noise_quantiles(sorted))
      text += fmt::format("  [{}, {}],\n", ppm, ns);
    text += "]\n";
  }
  return text;
}

}  // namespace delaycc

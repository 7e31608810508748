// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/posix.h"
#include "calibrate/settings.h"
#include "stamps/echo.h"

namespace delaycc {
namespace {

constexpr int kTrains = 9;
constexpr size_t kTrainsTaken = 5;
constexpr int64_t kSettleNs = 5'000'000;  // from the load's start to the first echo
constexpr size_t kShortShare = 4;         // a short echo for so many full ones

template <typename T>
T median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

RoundTrips round_trips(const std::vector<EchoTimes>& brief, const std::vector<EchoTimes>& full,
                       bool hardware) {
  RoundTrips result;
  const auto add = [](std::vector<int64_t>& to, int64_t rtt_ns) {
    // A clock that is set meanwhile would give anything.
    if (rtt_ns > 0) to.push_back(rtt_ns);
  };
  for (const EchoTimes& times : brief) add(result.short_ns, times.kernel_rtt_ns());
  for (const EchoTimes& times : full) {
    add(result.full_ns, times.kernel_rtt_ns());
    if (!hardware || times.nic_rtt_ns() <= 0) continue;
    add(result.nic_full_ns, times.nic_rtt_ns());
    result.host_noise_ns.push_back(times.kernel_rtt_ns() - times.nic_rtt_ns());
  }
  for (std::vector<int64_t>* list :
       {&result.short_ns, &result.full_ns, &result.nic_full_ns, &result.host_noise_ns})
    std::sort(list->begin(), list->end());
  return result;
}

// Of several trains those that left fastest: a sender that was held up says little of the path.
TrainRates try_trains(Echo& echo, size_t mtu_bytes, size_t overhead_bytes, WantedStamps wanted) {
  std::vector<TrainRates> trains;
  for (int i = 0; i < kTrains; i++)
    trains.push_back(echo.train(kTrainPackets, mtu_bytes, overhead_bytes, wanted));
  std::stable_sort(trains.begin(), trains.end(), [](const TrainRates& a, const TrainRates& b) {
    return a.sent_bps > b.sent_bps;
  });
  trains.resize(kTrainsTaken);
  std::vector<int64_t> came;
  for (const TrainRates& train : trains) came.push_back(train.came_bps);
  return {trains[kTrainsTaken / 2].sent_bps, median(came)};
}

// The NIC's clock against the system's, by packets that both have stamped.
void compare_clocks(const std::vector<EchoTimes>& echoes, PathMeasurement* result) {
  std::vector<std::pair<int64_t, int64_t>> points;  // time, offset
  for (const EchoTimes& times : echoes)
    if (times.nic_sent_ns > 0 && times.driver_ns > 0)
      points.emplace_back(times.driver_ns, times.nic_sent_ns - times.driver_ns);
  if (points.size() < 2 * kShortShare) return;
  // The medians of the first and the last quarter.
  const size_t quarter = points.size() / 4;
  const auto middle = [&](size_t from) {
    std::vector<int64_t> offsets;
    for (size_t i = from; i < from + quarter; i++) offsets.push_back(points[i].second);
    return std::pair<int64_t, int64_t>(points[from + quarter / 2].first, median(offsets));
  };
  const auto [first_ns, first_offset] = middle(0);
  const auto [last_ns, last_offset] = middle(points.size() - quarter);
  result->clock_offset_ns = last_offset;
  if (last_ns > first_ns)
    result->clock_drift_ppb = static_cast<double>(last_offset - first_offset) * 1e9 /
                              static_cast<double>(last_ns - first_ns);
}

}  // namespace

int64_t PathMeasurement::smallest_rtt_ns() const {
  // Where noise hides the difference, there is none to take away.
  const int64_t full_ns = idle.full_ns.front();
  return (std::min(idle.short_ns.front(), full_ns) + full_ns) / 2;
}

int64_t device_speed_mbps(const std::string& device) {
  const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // The kernel says how long the masks behind its answer are, and then gives them.
  constexpr size_t kMasksBytes = size_t{3} * INT8_MAX * sizeof(uint32_t);
  alignas(ethtool_link_settings) char answer[sizeof(ethtool_link_settings) + kMasksBytes] = {};
  auto* settings = reinterpret_cast<ethtool_link_settings*>(answer);
  ifreq request = {};
  snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device.c_str());
  request.ifr_data = answer;
  for (int i = 0; i < 2; i++) {
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    settings->link_mode_masks_nwords = static_cast<int8_t>(-settings->link_mode_masks_nwords);
    if (ioctl(fd.get(), SIOCETHTOOL, &request) < 0) return 0;
  }
  const uint32_t mbps = settings->speed;
  return mbps == 0 || mbps == static_cast<uint32_t>(SPEED_UNKNOWN) ? 0 : mbps;
}

PathMeasurement measure_path(const MeasureOptions& options) {
  Echo echo(options.address);
  echo.find();
  PathMeasurement result;
  result.device = echo.device();
  result.mtu_bytes = echo.path_mtu_bytes();
  result.claims = read_stamp_claims(result.device);
  result.speed_mbps = device_speed_mbps(result.device);
  std::error_code ignored;
  result.has_hardware =
      std::filesystem::exists("/sys/class/net/" + result.device + "/device", ignored);

  const NicStamping nic(result.device);
  result.stamps = try_stamps(echo, nic);
  const WantedStamps wanted = result.stamps.usable;
  const bool hardware = result.stamps.stamping == Stamping::kHardware;

  result.train = try_trains(echo, result.mtu_bytes, options.overhead_bytes, wanted);

  const size_t shorts = std::max<size_t>(options.count / kShortShare, 1);
  const std::vector<EchoTimes> brief =
      echo.ping(shorts, echo.short_bytes(), options.budget_ns / 2, wanted);
  const std::vector<EchoTimes> full =
      echo.ping(options.count, result.mtu_bytes, options.budget_ns, wanted);
  result.idle = round_trips(brief, full, hardware);
  if (wanted.nic_sent) compare_clocks(full, &result);
  if (result.idle.short_ns.empty() || result.idle.full_ns.empty())
    throw Error("the machine's clock was set while echoes were on their way");

  const ChosenRate line = choose_line_rate(options.line_rate_mbps, options.sysctl_mbps,
                                           result.speed_mbps, result.has_hardware, result.train);
  if (options.load_share <= 0 || line.mbps == 0) return result;
  result.load_asked_bps =
      static_cast<int64_t>(options.load_share * static_cast<double>(line.mbps) * 1e6);
  EchoLoad load(options.address, result.mtu_bytes, options.overhead_bytes, result.load_asked_bps);
  const timespec settle = {0, kSettleNs};
  nanosleep(&settle, nullptr);
  load.rate_bps();
  const std::vector<EchoTimes> loaded =
      echo.ping(options.count, result.mtu_bytes, options.budget_ns, wanted);
  result.load_bps = load.rate_bps();
  result.loaded = round_trips({}, loaded, hardware);
  return result;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/noise.h"

#include <algorithm>

#include "runner/host/clock.h"
#include "runner/netlink.h"
#include "runner/network.h"
#include "stamps/echo.h"

namespace delaycc {
namespace {

constexpr char kHere[] = "10.255.0.1";
constexpr char kThere[] = "10.255.0.2";

}  // namespace

std::vector<int64_t> echo_rtts_ns(const Fd& netns, const std::string& address, size_t count,
                                  int64_t budget_ns) {
  enter_namespace(netns);
  Echo echo(address, EchoStamps::kArrivals);
  std::vector<int64_t> rtts_ns;
  for (const EchoTimes& times : echo.ping(count, echo.short_bytes(), budget_ns, {}))
    rtts_ns.push_back(times.kernel_came_ns - times.sent_ns);
  std::sort(rtts_ns.begin(), rtts_ns.end());
  return rtts_ns;
}

void note_noise(const std::vector<int64_t>& rtts_ns, Calibration* calibration) {
  calibration->echoes = static_cast<int64_t>(rtts_ns.size());
  calibration->noise_p50_ns = quantile(rtts_ns, 0.5) - calibration->base_rtt_ns;
  calibration->noise_p99_ns = quantile(rtts_ns, 0.99) - calibration->base_rtt_ns;
}

BarePair::BarePair() : here_(new_namespace()), there_(new_namespace()) {
  constexpr int kHereIndex = 2, kThereIndex = 3, kEthernetMtu = 1500;
  const std::string here_mac = "02:00:00:01:00:01", there_mac = "02:00:00:01:00:02";
  {
    NetlinkBatch links;
    links.add_veth({here_.get(), kHereIndex, "bare0", here_mac},
                   {there_.get(), kThereIndex, "bare1", there_mac}, kEthernetMtu, false);
    links.flush();
  }
  const auto set_up = [](const Fd& netns, int ifindex, const char* own, const char* other,
                         const std::string& other_mac) {
    enter_namespace(netns);
    NetlinkBatch batch;
    batch.set_up(kLoopbackIndex);
    batch.set_up(ifindex);
    batch.add_address(ifindex, own);
    batch.add_neighbour(ifindex, other, other_mac);
    batch.add_neighbour(ifindex, kGateway, other_mac);
    batch.add_route("default", kGateway, {ifindex}, {});
    batch.flush();
  };
  set_up(here_, kHereIndex, kHere, kThere, there_mac);
  set_up(there_, kThereIndex, kThere, kHere, here_mac);
}

std::vector<int64_t> BarePair::echo_rtts_ns(size_t count, int64_t budget_ns) const {
  return delaycc::echo_rtts_ns(here_, kThere, count, budget_ns);
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "plan/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/posix.h"

namespace delaycc {
namespace {

constexpr int64_t kMb = int64_t{1} << 20;
// A tenth above what was measured in the guest (docs/develop/lab.md, "Memory of a network").
constexpr int64_t kKernelBytes = 16 * kMb;
constexpr int64_t kNodeBytes = 200'000;  // a network namespace
constexpr int64_t kPortBytes = 46'000;   // a device with its queue and its files in /proc/sys
constexpr int64_t kRouteBytes = 920;     // with what the runner reads of the plan
constexpr int64_t kHopBytes = 330;       // of each of a route's equal paths
// Beside the network, whatever else there is.
constexpr int64_t kLeastRoomBytes = 128 * kMb;
// More room for flows and logs has never been touched.
constexpr int64_t kMostTrafficBytes = 6144 * kMb;

}  // namespace

int64_t network_bytes(const Plan& plan) {
  int64_t hops = 0;
  for (const RoutePlan& route : plan.routes) hops += static_cast<int64_t>(route.ifindexes.size());
  return kKernelBytes + static_cast<int64_t>(plan.nodes.size()) * kNodeBytes +
         static_cast<int64_t>(plan.links.size()) * 2 * kPortBytes +
         static_cast<int64_t>(plan.routes.size()) * kRouteBytes + hops * kHopBytes;
}

void need_memory(const Plan& plan, int64_t machine_bytes) {
  const int64_t needed = network_bytes(plan);
  if (needed <= machine_bytes) return;
  const auto gb = [](int64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  throw Error(fmt::format(
      "the topology ({} hosts and switches, {} ports, {} routes) needs {:.1f} GB of memory in the "
      "lab, this machine has {:.1f} GB: make the topology smaller (k, hosts, senders), or use a "
      "machine with more",
      plan.nodes.size(), 2 * plan.links.size(), plan.routes.size(), gb(needed), gb(machine_bytes)));
}

int memory_mb(const Plan& plan, LogChoice log) {
  // Send buffers, receive queues and the port log, and a network of usual size.
  int64_t usual = 512 * kMb;
  int64_t bytes = 0;
  if (plan.open_windows) {  // of a workload's flows few send at a time
    usual = 256 * kMb;
    int64_t packets = 0;
    for (const FlowPlan& flow : plan.flows) {
      const bool endless = flow.size_bytes == kNever;
      bytes += endless ? 24 * kMb : (16 << 10) + std::min<int64_t>(flow.size_bytes, kMb);
      packets += endless ? plan.end_ns / 100 : flow.size_bytes / 1000 + 1;
    }
    if (log != LogChoice::kNone) bytes += packets * 48 * (log == LogChoice::kBottleneck ? 2 : 30);
  } else {
    for (const FlowPlan& flow : plan.flows) {
      const int64_t size = flow.size_bytes == kNever ? 8 * kMb : flow.size_bytes;
      bytes += 3 * std::min<int64_t>(size, 8 * kMb) + size / 4;
    }
    bytes += plan.end_ns / 1000 * 4 * 48 * 10;
  }
  const int64_t beyond = std::max<int64_t>(0, network_bytes(plan) + kLeastRoomBytes - usual);
  return static_cast<int>((std::min(usual + bytes, kMostTrafficBytes) + beyond) / kMb);
}

}  // namespace delaycc

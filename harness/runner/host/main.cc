// SPDX-License-Identifier: Apache-2.0
// delaycc-host-runner --check: prints what this machine has of what a trial needs, a line for each:
// "ok" or "missing", tab, what, tab, detail.
// delaycc-host-runner FOLDER: carries out FOLDER/plan.json on the running kernel, in network
// namespaces of its own. Writes the records (trace/records.h) there, and `status` at the end, or
// error.txt. All that it makes of the network ends with the process, however that ends. The
// environment's DCC_MODULES is a folder of kernel modules to load from; without it, or for what it
// lacks, modprobe loads.
// delaycc-host-runner --remote [FOLDER]: serves a command on another host over standard input and
// output (remote.h), and first removes FOLDER, where it was put.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backend/host/shaping.h"
#include "base/posix.h"
#include "plan/plan.h"
#include "runner/host/ack_trace.h"
#include "runner/host/clock.h"
#include "runner/host/kernel_module.h"
#include "runner/host/noise.h"
#include "runner/host/recorder.h"
#include "runner/host/remote.h"
#include "runner/host/tap.h"
#include "runner/netlink.h"
#include "runner/network.h"
#include "runner/traffic.h"
#include "trace/records.h"

namespace delaycc {
namespace {

constexpr uint32_t kRootHandle = 0x10000;
constexpr uint32_t kRootClass = 0x10001;
constexpr uint32_t kServerHandle = 0x20000;
constexpr uint32_t kServerClass = 0x20001;
constexpr uint32_t kMarkHandle = 0x30000;
constexpr uint32_t kRoot = 0xffffffff;  // TC_H_ROOT

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kStartNs = 5'000'000;  // from calibration to the first connection
// A share of the base RTT above which the machine's noise leaves nothing of what is measured.
constexpr double kMostNoise = 0.5;

void add_qdiscs(const ShapedNetwork& shaped, const EndPlan& end, bool loss, NetlinkBatch& batch) {
  const Shaping& s = shaped.port(end.port.id);
  if (s.host) {
    if (s.rate_bps == 0) {
      batch.add_fq(end.ifindex, kRoot, kRootHandle);
      return;
    }
    batch.add_tbf(end.ifindex, kRoot, kRootHandle, s.rate_bps, s.burst_bytes, s.limit_bytes);
    batch.add_fq(end.ifindex, kRootClass, kServerHandle);
    return;
  }
  batch.add_netem(end.ifindex, kRoot, kRootHandle, s.wire_ns, loss ? s.loss_ppm : 0);
  if (s.rate_bps == 0) return;
  batch.add_tbf(end.ifindex, kRootClass, kServerHandle, s.rate_bps, s.burst_bytes, s.limit_bytes);
  if (s.mark_bytes > 0)
    batch.add_red(end.ifindex, kServerClass, kMarkHandle, s.mark_bytes, s.limit_bytes);
}

// What the kernel made of it: a qdisc that is not there, or has another number, gives wrong figures
// without any sign of it.
void check_qdiscs(const ShapedNetwork& shaped, const EndPlan& end,
                  const std::vector<QdiscState>& found) {
  const Shaping& s = shaped.port(end.port.id);
  const auto need = [&](const std::string& kind, uint32_t handle, auto&& right) {
    for (const QdiscState& qdisc : found)
      if (qdisc.ifindex == end.ifindex && qdisc.kind == kind && qdisc.handle == handle &&
          right(qdisc))
        return;
    throw Error("port " + end.port.name + ": the kernel does not show the qdisc " + kind +
                " as it was set");
  };
  const auto any = [](const QdiscState&) { return true; };
  const auto rate = [&](const QdiscState& q) { return q.rate_bps == s.rate_bps / 8 * 8; };
  if (s.host) {
    if (s.rate_bps > 0) need("tbf", kRootHandle, rate);
    need("fq", s.rate_bps > 0 ? kServerHandle : kRootHandle, any);
    return;
  }
  need("netem", kRootHandle, [&](const QdiscState& q) { return q.delay_ns == s.wire_ns; });
  if (s.rate_bps > 0) need("tbf", kServerHandle, rate);
  if (s.rate_bps > 0 && s.mark_bytes > 0)
    need("red", kMarkHandle, [&](const QdiscState& q) { return q.mark_bytes == s.mark_bytes; });
}

void check_network(const Plan& plan, const ShapedNetwork& shaped, const std::vector<Fd>& netns) {
  std::vector<std::vector<QdiscState>> found;
  for (const Fd& node : netns) {
    enter_namespace(node);
    found.push_back(read_qdiscs());
  }
  each_end(plan, [&](const EndPlan& end) {
    check_qdiscs(shaped, end, found.at(static_cast<size_t>(end.node)));
  });
}

// What the qdiscs say that they have dropped. One at the root counts what those in it dropped, too.
int64_t count_drops(const Plan& plan, const std::vector<Fd>& netns) {
  std::vector<std::vector<QdiscState>> found;
  for (const Fd& node : netns) {
    enter_namespace(node);
    found.push_back(read_qdiscs());
  }
  int64_t drops = 0;
  each_end(plan, [&](const EndPlan& end) {
    for (const QdiscState& qdisc : found.at(static_cast<size_t>(end.node)))
      if (qdisc.ifindex == end.ifindex && qdisc.parent == kRoot) drops += qdisc.drops;
  });
  return drops;
}

// Random loss begins with the experiment: no connection is to lack because its SYN was lost.
void begin_loss(const Plan& plan, const ShapedNetwork& shaped, const std::vector<Fd>& netns) {
  each_end(plan, [&](const EndPlan& end) {
    const Shaping& s = shaped.port(end.port.id);
    if (s.loss_ppm == 0) return;
    enter_namespace(netns.at(static_cast<size_t>(end.node)));
    NetlinkBatch batch;
    batch.change_netem(end.ifindex, kRoot, kRootHandle, s.wire_ns, s.loss_ppm);
    batch.flush();
  });
}

Calibration calibrate(const Plan& plan, const ShapedNetwork& shaped, const std::vector<Fd>& netns,
                      const BarePair& bare) {
  Calibration result;
  const std::vector<int64_t> floor = bare.echo_rtts_ns(kEchoes, kEchoBudgetNs / 4);
  result.floor_p50_ns = quantile(floor, 0.5);
  result.floor_p99_ns = quantile(floor, 0.99);
  if (plan.flows.empty()) return result;
  const FlowPlan& flow = first_measured(plan);
  result.base_rtt_ns =
      shaped.path_ns(flow.source, flow.destination) + shaped.path_ns(flow.destination, flow.source);
  note_noise(echo_rtts_ns(netns.at(static_cast<size_t>(flow.source)),
                          plan.nodes.at(static_cast<size_t>(flow.destination)).address, kEchoes,
                          kEchoBudgetNs),
             &result);
  if (static_cast<double>(result.noise_p99_ns) >
      kMostNoise * static_cast<double>(result.base_rtt_ns))
    throw Error("this machine adds " + std::to_string(result.noise_p50_ns) + " ns (median) to " +
                std::to_string(result.noise_p99_ns) +
                " ns (99th percentile) to the path's RTT of " + std::to_string(result.base_rtt_ns) +
                " ns: figures would be of the machine; use longer delays (topology.base_rtt_ns), "
                "a quieter machine, or the lab");
  return result;
}

void run_trial(const std::string& folder) {
  const Plan plan = plan_from_json(read_file(folder + "/plan.json"));
  const ShapedNetwork shaped(plan, timer_lateness_ns());
  const rlimit files = {1 << 17, 1 << 17};
  if (setrlimit(RLIMIT_NOFILE, &files) < 0) throw system_error("setrlimit", "RLIMIT_NOFILE");
  const char* modules = getenv("DCC_MODULES");
  for (const std::string& name : plan.modules) load_module(modules ? modules : "", name);
  // Sysctls of the initial namespace are the machine's own and stay as they are.
  const AckTrace trace(plan.trace);
  const BarePair bare;
  const std::vector<Fd> netns =
      build_network(plan, [&](const NodePlan&, const EndPlan& end, NetlinkBatch& batch) {
        add_qdiscs(shaped, end, false, batch);
      });
  check_network(plan, shaped, netns);
  sleep_until(monotonic_ns() + plan.connect_ns);  // links come up late
  Records records;
  records.calibration = calibrate(plan, shaped, netns, bare);

  const std::vector<bool> tapped = tapped_nodes(plan);
  std::vector<std::pair<size_t, Tap>> taps;
  for (size_t i = 0; i < plan.nodes.size(); i++) {
    if (!tapped[i]) continue;
    enter_namespace(netns[i]);
    taps.emplace_back(i, Tap(plan.nodes[i].name, kTapPackets));
  }
  SeenByNode seen(plan.nodes.size());
  const auto take = [&] {
    for (auto& [node, tap] : taps) tap.take(&seen[node]);
  };

  // The plan's times are of a clock that begins with the trial.
  const int64_t begin_ns = monotonic_ns() + kStartNs - plan.connect_ns;
  Plan shifted = plan;
  shifted.connect_ns += begin_ns;
  shifted.zero_ns += begin_ns;
  int64_t offset_ns = 0, dropped_before = 0;
  Traffic traffic(shifted, netns, [&] {
    offset_ns = realtime_offset_ns();
    trace.clear();
    dropped_before = count_drops(plan, netns);
    begin_loss(plan, shaped, netns);
  });
  traffic.every(kTakeNs, take);
  traffic.run();
  take();
  for (const auto& [node, tap] : taps) tap.check_complete();
  check_realtime_offset(offset_ns);
  records.calibration.qdisc_drops = count_drops(plan, netns) - dropped_before;

  for (std::vector<SeenPacket>& packets : seen)
    for (SeenPacket& packet : packets) packet.time_ns -= offset_ns + begin_ns;
  records.packets = port_records(plan, shaped, seen, plan.zero_ns - kBeforeNs);
  records.decisions = parse_trace(trace.text());
  for (Decision& decision : records.decisions) decision.time_ns -= begin_ns;
  records.flows = traffic.records();
  utsname kernel;
  if (uname(&kernel) < 0) throw system_error("uname", "");
  records.kernel = kernel.release;
  write_records(folder, records);
  write_file(folder + "/status", "ok\n");
}

void check_machine() {
  const auto line = [](const char* what, const std::string& trouble, const char* good) {
    printf("%s\t%s\t%s\n", trouble.empty() ? "ok" : "missing", what,
           trouble.empty() ? good : trouble.c_str());
  };
  const auto attempt = [](const auto& what) {
    try {
      what();
      return std::string();
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  const bool root = geteuid() == 0;
  line("root", root ? "" : "network namespaces and qdiscs of this machine are for root: sudo",
       "is");
  if (!root) return;
  if (const std::string trouble = attempt([] { new_namespace(); }); !trouble.empty()) {
    line("network namespaces", trouble, "");
    return;
  }
  line("network namespaces", "", "can be made");
  const Fd here = open_file("/proc/self/ns/net", O_RDONLY);
  constexpr int kIndex = 2, kPeer = 3;
  line("veth", attempt([&] {
         NetlinkBatch batch;
         batch.add_veth({here.get(), kIndex, "check0", "02:00:00:02:00:01"},
                        {here.get(), kPeer, "check1", "02:00:00:02:00:02"}, 1500, false);
         batch.flush();
       }),
       "has it");
  const auto qdisc = [&](const char* name, const char* option, auto&& add) {
    std::string trouble = attempt([&] {
      NetlinkBatch batch;
      add(batch);
      batch.flush();
    });
    if (!trouble.empty()) trouble += std::string("; a kernel with ") + option + " has it";
    line(name, trouble, "has it");
  };
  // A qdisc of another kind has to have another number than the one that it replaces.
  qdisc("netem", "CONFIG_NET_SCH_NETEM",
        [](NetlinkBatch& batch) { batch.add_netem(kIndex, kRoot, kRootHandle, 1000, 0); });
  qdisc("tbf", "CONFIG_NET_SCH_TBF", [](NetlinkBatch& batch) {
    batch.add_tbf(kIndex, kRoot, kServerHandle, 1'000'000'000, 1514, 100'000);
  });
  qdisc("red", "CONFIG_NET_SCH_RED",
        [](NetlinkBatch& batch) { batch.add_red(kIndex, kRoot, kMarkHandle, 10'000, 100'000); });
  qdisc("fq", "CONFIG_NET_SCH_FQ",
        [](NetlinkBatch& batch) { batch.add_fq(kIndex, kRoot, kRootHandle); });
  line("packet sockets", attempt([] { Tap("check", 1); }), "has them");
}

}  // namespace
}  // namespace delaycc

int main(int argc, char** argv) {
  if ((argc == 2 || argc == 3) && argv[1] == std::string("--remote"))
    return delaycc::serve_remote(argc == 3 ? argv[2] : "");
  if (argc != 2) {
    fprintf(stderr, "delaycc-host-runner is started by delaycc, not by hand\n");
    return 2;
  }
  const std::string folder = argv[1];
  try {
    if (folder == "--check") {
      delaycc::check_machine();
      return 0;
    }
    delaycc::run_trial(folder);
    return 0;
  } catch (const std::exception& e) {
    fprintf(stderr, "delaycc-host-runner: %s\n", e.what());
    try {
      delaycc::write_file(folder + "/error.txt", std::string(e.what()) + "\n");
    } catch (const std::exception&) {
      // The folder is not there; what can be said is on the console.
    }
  }
  return 1;
}

// SPDX-License-Identifier: Apache-2.0
// delaycc-runner: carries out one plan. It runs as init of the lab kernel, which hands it
//   DCC_DIR      the trial's folder on the host: plan.json in; flows.json, ports.bin, status out
//   DCC_MODULES  the folder of the kernel modules
// in its environment.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "base/posix.h"
#include "plan/plan.h"
#include "runner/modules.h"
#include "runner/netlink.h"
#include "runner/network.h"
#include "runner/traffic.h"
#include "trace/records.h"

namespace delaycc {
namespace {

// Mount points that every kernel has and that hide nothing of the host's files, which are our root:
// empty folders of /proc.
constexpr char kTrial[] = "/proc/fs";
constexpr char kTracing[] = "/proc/driver";
void make_mount(const char* type, const std::string& where, const std::string& data) {
  if (mount("none", where.c_str(), type, 0, data.c_str()) < 0)
    throw system_error("mount", std::string(type) + " on " + where);
}

std::string required_environment(const char* name) {
  const char* value = getenv(name);
  if (!value || !*value)
    throw Error(std::string("environment variable ") + name +
                " is not set; delaycc-runner is started by delaycc, not by hand");
  return value;
}

// What every step needs: /proc, the trial's folder, standard output.
void mount_trial() {
  make_mount("proc", "/proc", "");
  make_mount("hostfs", kTrial, required_environment("DCC_DIR"));
  // The kernel may have started us without a console: a socket must never become descriptor 2.
  const std::string path = std::string(kTrial) + "/runner.log";
  const int log = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (log < 0) throw system_error("open", path);
  for (int fd = 0; fd <= 2; fd++)
    if (log != fd && dup2(log, fd) < 0) throw system_error("dup2", path);
  if (log > 2) close(log);
}

// A kernel without our clock gives wrong figures without any sign of it.
void refuse_unpatched_kernel() {
  std::string text;
  try {
    text = read_file("/proc/delaycc_lab");
  } catch (const Error&) {
    throw Error("this kernel has no /proc/delaycc_lab: it is not the lab kernel (make lab)");
  }
  if (text.find("clock_ns 1\n") == std::string::npos)
    throw Error("/proc/delaycc_lab does not say \"clock_ns 1\": the lab kernel is too coarse");
}

// Times of the plan are relative to its zero_ns, those of a port are not.
NetlinkBatch::Port port_settings(const PortPlan& port, int64_t zero_ns) {
  NetlinkBatch::Port settings;
  tc_dccport_parms& parms = settings.parms;
  parms.rate_bps = port.rate_bps;
  parms.delay_ns = port.delay_ns;
  parms.limit_bytes = port.limit_bytes;
  parms.ecn_bytes = port.ecn_bytes;
  parms.reorder_delay_ns = port.reorder_delay_ns;
  parms.seed = port.seed;
  parms.loss_ppm = port.loss_ppm;
  parms.reorder_ppm = port.reorder_ppm;
  parms.port_id = port.id;
  static_assert(kPortLogData == DCCPORT_LOG_DATA && kPortLogAcks == DCCPORT_LOG_ACKS &&
                kPortDropRst == DCCPORT_DROP_RST && kPortDscpPriority == DCCPORT_DSCP_PRIORITY &&
                kPortSpray == DCCPORT_SPRAY && kMaxNoiseQuantiles == DCCPORT_QUANTILES_MAX &&
                kMaxInterruptGapNs == DCCPORT_INTERRUPT_GAP_MAX_NS &&
                kMaxDelaySteps == DCCPORT_DELAYS_MAX);
  parms.log_flags = port.log_flags;
  for (const auto& [ppm, ns] : port.noise) settings.noise.push_back({ppm, ns});
  for (const auto& [from_ns, delay_ns] : port.delay_steps)
    settings.delays.push_back(
        {static_cast<uint64_t>(zero_ns + from_ns), static_cast<uint64_t>(delay_ns)});
  settings.interrupt_gap_ns = port.interrupt_gap_ns;
  return settings;
}

// Random loss begins with the experiment: no connection is to lack because its SYN was lost.
void begin_loss(const Plan& plan, const std::vector<Fd>& netns) {
  each_end(plan, [&](const EndPlan& end) {
    if (end.port.loss_ppm == 0) return;
    enter_namespace(netns.at(static_cast<size_t>(end.node)));
    NetlinkBatch batch;
    batch.add_port(end.ifindex, port_settings(end.port, plan.zero_ns));
    batch.flush();
  });
}

std::vector<Fd> build_ports(const Plan& plan) {
  return build_network(plan, [&](const NodePlan&, const EndPlan& end, NetlinkBatch& batch) {
    NetlinkBatch::Port port = port_settings(end.port, plan.zero_ns);
    port.parms.loss_ppm = 0;  // see begin_loss()
    batch.add_port(end.ifindex, port);
    if (end.port.bands > 0) batch.add_prio(end.ifindex, end.port.bands);
  });
}

void start_trace() {
  make_mount("tracefs", kTracing, "");
  const std::string root = kTracing;
  write_file(root + "/trace_clock", "mono");
  write_file(root + "/buffer_size_kb", "65536");
  write_file(root + "/events/delaycc/ack/enable", "1");
}

void copy_file(const std::string& from, const std::string& to) {
  Fd in = open_file(from, O_RDONLY);
  Fd out = open_file(to, O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<char> buffer(128 << 10);
  for (;;) {
    const ssize_t n = read(in.get(), buffer.data(), buffer.size());
    if (n < 0) throw system_error("read", from);
    if (n == 0) return;
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = write(out.get(), buffer.data() + done, static_cast<size_t>(n - done));
      if (written < 0) throw system_error("write", to);
      done += written;
    }
  }
}

void run_trial() {
  const Plan plan = plan_from_json(read_file(std::string(kTrial) + "/plan.json"));
  refuse_unpatched_kernel();

  const rlimit files = {1 << 17, 1 << 17};
  if (setrlimit(RLIMIT_NOFILE, &files) < 0) throw system_error("setrlimit", "RLIMIT_NOFILE");
  const std::string modules = required_environment("DCC_MODULES");
  for (const std::string& name : plan.modules)
    if (!insert_module(modules, name)) throw Error("no module " + name + " in " + modules);
  write_sysctls(plan.sysctls);
  const std::vector<Fd> netns = build_ports(plan);
  if (plan.trace) start_trace();

  Traffic traffic(plan, netns, [&] {
    write_file("/proc/dccport_log", "0");
    if (plan.trace) write_file(std::string(kTracing) + "/trace", "");
    begin_loss(plan, netns);
  });
  traffic.run();

  copy_file("/proc/dccport_log", std::string(kTrial) + "/ports.bin");
  if (plan.trace) copy_file(std::string(kTracing) + "/trace", std::string(kTrial) + "/acks.txt");
  utsname kernel;
  if (uname(&kernel) < 0) throw system_error("uname", "");
  write_file(std::string(kTrial) + "/flows.json", flows_to_json(kernel.release, traffic.records()));
  write_file(std::string(kTrial) + "/status", "ok\n");
}

}  // namespace
}  // namespace delaycc

int main() {
  const bool init = getpid() == 1;
  int status = 0;
  try {
    if (!init)
      throw delaycc::Error("delaycc-runner runs as init of the lab kernel; use \"delaycc run\"");
    delaycc::mount_trial();
    delaycc::run_trial();
  } catch (const std::exception& e) {
    fprintf(stderr, "delaycc-runner: %s\n", e.what());
    status = 1;
    if (init) {
      try {
        delaycc::write_file(std::string(delaycc::kTrial) + "/error.txt",
                            std::string(e.what()) + "\n");
      } catch (const std::exception&) {
        // The trial's folder is not there; what can be said went to the console.
      }
    }
  }
  if (init) reboot(RB_POWER_OFF);
  return status;
}

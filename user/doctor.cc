// SPDX-License-Identifier: Apache-2.0
#include "doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/types.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/host/host.h"
#include "backend/hosts/hosts.h"
#include "backend/lab/memory_folder.h"
#include "backends.h"
#include "base/temporary_directory.h"
#include "bpf/loader.h"
#include "command_line.h"
#include "mininet_command.h"
#include "plan/plan.h"
#include "stamps/nic.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr int kBootTimeoutS = 30;

void print_line(const char* state, const std::string& what, const std::string& detail) {
  fmt::print("{:<8} {:<22} {}\n", state, what, detail);
}

void line(bool ok, const std::string& what, const std::string& detail) {
  print_line(ok ? "ok" : "missing", what, detail);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The result of `test` in a child, which may change its namespaces.
template <typename Test>
bool in_child(Test test) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(test() ? 0 : 1);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// The lab needs ptrace; only a boot shows whether it gets it.
bool runs(const Backend& backend) {
  Plan plan;
  plan.zero_ns = 1'000'000'000;
  plan.end_ns = 1000;
  plan.memory_mb = kUsualLabMemoryMb;
  const TemporaryDirectory directory;
  const std::atomic<bool> stop{false};
  const std::string what = backend.name() + " trial";
  const int64_t start_ns = monotonic_ns();
  try {
    backend.run(plan, directory.path(), kBootTimeoutS, stop);
  } catch (const Error& e) {
    line(false, what,
         std::string(e.what()) +
             "; the lab needs an x86_64 machine and ptrace (docs/develop/lab.md)");
    return false;
  }
  line(true, what,
       fmt::format("an empty one took {:.2f} s",
                   static_cast<double>(monotonic_ns() - start_ns) / 1e9));
  return true;
}

bool lab() {
  try {
    const std::unique_ptr<Backend> found = make_default_backend();
    bool all = true;
    for (const BackendPart& part : found->parts()) {
      all = all && part.there;
      line(part.there, part.what, part.detail);
    }
    return all && runs(*found);
  } catch (const BackendForbidden& e) {
    print_line("denied", "lab kernel", e.what());
    return false;
  } catch (const Error& e) {
    line(false, "lab kernel", e.what());
    return false;
  }
}

void host() {
  const bool root = geteuid() == 0;
  line(root, "root",
       root ? "network namespaces and modules on this machine are allowed"
            : "only for experiments on the host itself; the lab needs no root");
  const bool namespaces = in_child([] { return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }) ||
                          in_child([] { return unshare(CLONE_NEWNET) == 0; });
  line(namespaces, "network namespaces",
       namespaces ? "can be made" : "set kernel.unprivileged_userns_clone=1, or be root");

  utsname kernel;
  uname(&kernel);
  const std::string modules = std::string("/lib/modules/") + kernel.release;
  const bool headers = exists(modules + "/build/Makefile");
  line(headers, "kernel headers",
       headers ? modules + "/build"
               : std::string("for \"make modules\": apt-get install linux-headers-") +
                     kernel.release + ", or those of where this kernel comes from");
}

// Empty: the backend works here. Else the one command that makes it work.
std::string host_remedy() {
  std::vector<BackendPart> parts;
  try {
    parts = host_parts();
  } catch (const Error& e) {
    line(false, "host runner", e.what());
    return "make command";
  }
  std::string missing;
  for (const BackendPart& part : parts) {
    // Root has a line of its own.
    if (part.what != "root") line(part.there, "host " + part.what, part.detail);
    if (!part.there && missing.empty()) missing = part.what;
  }
  if (missing.empty()) return "";
  if (missing == "root") return "sudo delaycc doctor tells more: only root sees it";
  return "apt-get install linux-image-amd64, and boot it: Debian's kernel has " + missing;
}

// Each way to run something, and the command that runs it or makes it run.
void backends(bool lab_works, const std::string& host) {
  line(lab_works, "backend lab", lab_works ? "delaycc run oscar-fig07" : "make lab");
  line(host.empty(), "backend host", host.empty() ? "delaycc run SCENARIO --backend host" : host);
  const BackendPart ssh = hosts_parts().front();
  line(ssh.there, "backend hosts",
       ssh.there ? "delaycc run SCENARIO --backend hosts --inventory hosts.toml" : ssh.detail);
  line(true, "backend replay", "delaycc run SCENARIO --backend replay DIR, of a run with --keep");
  std::string mininet;
  try {
    need_mininet();
    if (!lab_works) mininet = "make lab";
  } catch (const Error& e) {
    mininet = e.what();
  }
  line(mininet.empty(), "Mininet in the lab",
       mininet.empty() ? "delaycc mininet SCRIPT.py" : mininet);
}

void virtual_machine() {
  const bool qemu = in_path("qemu-system-x86_64");
  line(qemu, "QEMU", qemu ? "available" : "for \"make vm-test\": apt-get install qemu-system-x86");
  const bool kvm = access("/dev/kvm", R_OK | W_OK) == 0;
  if (!kvm && exists("/dev/kvm"))
    print_line("denied", "KVM", "no access to /dev/kvm (group kvm); QEMU emulates, slowly");
  else
    line(kvm, "KVM", kvm ? "available" : "no /dev/kvm; QEMU emulates, slowly");
}

void bpf() {
  const bool btf = exists("/sys/kernel/btf/vmlinux");
  line(btf, "BTF",
       btf ? "/sys/kernel/btf/vmlinux"
           : "needs a kernel with CONFIG_DEBUG_INFO_BTF for the BPF programs");
  const bool clang = in_path("clang") || in_path("clang-14");
  line(clang, "clang", clang ? "available" : "for the BPF programs: apt-get install clang");
  const bool bpftool = in_path("bpftool");
  line(bpftool, "bpftool", bpftool ? "available" : "for the BPF programs: apt-get install bpftool");
}

// Those that are up, without the loopback.
std::set<std::string> devices() {
  ifaddrs* list = nullptr;
  std::set<std::string> names;
  if (getifaddrs(&list) < 0) return names;
  for (ifaddrs* i = list; i; i = i->ifa_next)
    if (!(i->ifa_flags & IFF_LOOPBACK) && (i->ifa_flags & IFF_UP)) names.insert(i->ifa_name);
  freeifaddrs(list);
  return names;
}

// 0: the file is not there, or has no number above that.
int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value && value > 0 ? value : 0;
}

// A device of its own, or one below it (as VLANs and bonds have it).
bool has_hardware(const std::string& device) {
  const std::string path = "/sys/class/net/" + device;
  if (exists(path + "/device")) return true;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind("lower_", 0) == 0 && has_hardware(name.substr(6))) return true;
  }
  return false;
}

// What the modules have of each device, in Mbit/s; nothing where they are not loaded.
std::map<std::string, uint32_t> rates_in_use_mbps() {
  std::map<std::string, uint32_t> rates;
  std::ifstream file("/proc/sys/net/ipv4/delaycc/device_rates");
  std::string name, source;
  for (uint32_t mbps = 0; file >> name >> mbps >> source;)
    if (source != "unknown") rates[name] = mbps;
  return rates;
}

// The line rate of a device where no sysctl sets it, and what that is worth.
void line_rate(const std::string& name, uint32_t used_mbps, uint32_t said_mbps, bool loaded) {
  const std::string what = "line rate " + name;
  const char* remedy = "set net.ipv4.delaycc.line_rate_mbps";
  if (loaded && said_mbps != 0 && used_mbps != said_mbps)
    line(false, what,
         fmt::format("{} Mbit/s in use, but the device says {} now: a new connection has it read "
                     "again, 10 s after the last reading; or {}",
                     used_mbps ? used_mbps : kUnsaidSpeedMbps, said_mbps, remedy));
  else if (loaded && used_mbps != 0 && said_mbps == 0)
    line(false, what,
         fmt::format("{} Mbit/s in use, which the device said before; it says nothing now; {}",
                     used_mbps, remedy));
  else if (said_mbps == 0)
    line(false, what,
         fmt::format("the device does not say it: {} Mbit/s, a guess; {}", kUnsaidSpeedMbps,
                     remedy));
  else if (!has_hardware(name))
    line(false, what,
         fmt::format("{} Mbit/s, but no hardware has it: a guess; {}", said_mbps, remedy));
  else
    line(true, what, fmt::format("{} Mbit/s, by its driver", said_mbps));
}

// What the modules take for the line rate of each device, and what that is worth.
void line_rates() {
  const int64_t set_mbps = number_in("/proc/sys/net/ipv4/delaycc/line_rate_mbps");
  const bool loaded = exists("/proc/sys/net/ipv4/delaycc/device_rates");
  std::map<std::string, uint32_t> used_mbps = rates_in_use_mbps();
  std::map<std::string, uint32_t> said_mbps = device_speeds_mbps();
  for (const std::string& name : devices()) {
    if (set_mbps)
      line(true, "line rate " + name,
           fmt::format("{} Mbit/s, by net.ipv4.delaycc.line_rate_mbps", set_mbps));
    else
      line_rate(name, used_mbps[name], said_mbps[name], loaded);
  }
}

// What their drivers say. Only packets show whether it is so.
void timestamps() {
  const std::set<std::string> names = devices();
  if (names.empty()) line(false, "time stamps", "no network interface is up");
  for (const std::string& name : names) {
    const std::string what = "time stamps " + name;
    try {
      const StampClaims claims = read_stamp_claims(name);
      const std::string clock =
          claims.phc_index < 0 ? "" : fmt::format(" (clock /dev/ptp{})", claims.phc_index);
      if (claims.tx_hardware)
        line(true, what,
             fmt::format("by the hardware{}, says its driver{}; delaycc calibrate {} tries it",
                         claims.rx_hardware ? "" : " for packets that it sends", clock, name));
      else
        line(claims.tx_software, what,
             claims.tx_software ? "by software only; a NIC with a hardware clock is better"
                                : "none when sending; use another NIC or driver");
    } catch (const Error& e) {
      line(false, what, e.what());
    }
  }
}

}  // namespace

int doctor() {
  const bool ready = lab();
  host();
  const std::string host_lacks = host_remedy();
  virtual_machine();
  bpf();
  line_rates();
  timestamps();
  backends(ready, host_lacks);
  fmt::print("\n{}\n", ready ? "Experiments in the lab can run."
                             : "Experiments in the lab cannot run yet; see the first lines.");
  return ready ? 0 : 1;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/ack_trace.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/posix.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr char kRoot[] = "/sys/kernel/tracing";
constexpr char kPrefix[] = "delaycc-";

std::string instances() { return std::string(kRoot) + "/instances"; }

}  // namespace

void remove_lost_traces() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(instances(), ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind(kPrefix, 0) == 0 && !fs::exists("/proc/" + name.substr(sizeof(kPrefix) - 1)))
      rmdir(entry.path().c_str());
  }
}

AckTrace::AckTrace(bool wanted) {
  if (!wanted) return;
  if (!fs::exists(std::string(kRoot) + "/events") &&
      mount("none", kRoot, "tracefs", 0, nullptr) < 0)
    throw system_error("mount", std::string("tracefs on ") + kRoot);
  remove_lost_traces();
  folder_ = instances() + "/" + kPrefix + std::to_string(getpid());
  if (mkdir(folder_.c_str(), 0700) < 0) throw system_error("mkdir", folder_);
  write_file(folder_ + "/trace_clock", "mono");
  write_file(folder_ + "/buffer_size_kb", "65536");
  bool any = false;
  for (const char* event : {"delaycc/ack", "bpf_trace/bpf_trace_printk"}) {
    const std::string enable = folder_ + "/events/" + event + "/enable";
    if (!fs::exists(enable)) continue;
    write_file(enable, "1");
    any = true;
  }
  if (any) return;
  rmdir(folder_.c_str());
  throw Error(
      "this kernel has neither the trace event delaycc:ack of our modules nor "
      "bpf_trace:bpf_trace_printk of BPF programs (CONFIG_BPF_EVENTS)");
}

AckTrace::~AckTrace() {
  if (!folder_.empty()) rmdir(folder_.c_str());
}

void AckTrace::clear() const {
  if (!folder_.empty()) write_file(folder_ + "/trace", "");
}

std::string AckTrace::text() const { return folder_.empty() ? "" : read_file(folder_ + "/trace"); }

}  // namespace delaycc

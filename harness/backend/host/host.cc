// SPDX-License-Identifier: Apache-2.0
#include "backend/host/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "backend/host/kernel_algorithms.h"
#include "backend/host/shaping.h"
#include "backend/programs.h"
#include "base/child.h"
#include "base/module_info.h"
#include "base/temporary_directory.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kConsoleTailBytes = 2000;
constexpr int kCheckS = 60;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

utsname kernel_name() {
  utsname name;
  if (uname(&name) < 0) throw system_error("uname", "");
  return name;
}

std::vector<std::string> environment() {
  std::vector<std::string> result = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  if (const std::string folder = module_folder(); !folder.empty())
    result.push_back("DCC_MODULES=" + folder);
  return result;
}

class Host : public Backend {
 public:
  Host() : runner_(host_runner_path()), kernel_(find_kernel_algorithms(module_folder())) {
    // Inside the lab its clock is the trial's, too.
    const bool lab = fs::exists("/proc/delaycc_lab");
    capabilities_.time = lab ? Capabilities::Time::kVirtual : Capabilities::Time::kWall;
    capabilities_.exact = lab;
    capabilities_.parallel = false;
    capabilities_.notes = {
        "the backend host sees a packet when it leaves its host's own queue: rtt_* have no time in "
        "that queue"};
  }

  std::string name() const override { return "host"; }
  const Capabilities& capabilities() const override { return capabilities_; }
  std::vector<std::string> algorithms() const override {
    return {kernel_.algorithms.begin(), kernel_.algorithms.end()};
  }
  bool has_module(const std::string& name) const override { return kernel_.ours.count(name) > 0; }
  std::string description(const std::string& algorithm) const override {
    const auto file = kernel_.ours.find(kModulePrefix + algorithm);
    if (file == kernel_.ours.end()) return "of the running kernel";
    const std::vector<std::string> said = module_info(read_file(file->second), "description");
    return said.empty() ? "" : said.front();
  }
  std::vector<BackendPart> parts() const override { return host_parts(); }

  std::string build() const override {
    const utsname kernel = kernel_name();
    std::string hashes = std::string("kernel ") + kernel.release + " " + kernel.version +
                         " delaycc " + hash_file("/proc/self/exe") + " runner " +
                         hash_file(runner_) + "\n";
    for (const auto& [name, file] : kernel_.ours) hashes += name + " " + hash_of(file) + "\n";
    return hash_hex(hashes).substr(0, 16);
  }

  // The machine's name is in it: another's noise is another.
  std::string identity(const Plan& plan) const override {
    const ShapedNetwork possible(plan, timer_lateness_ns());
    const utsname kernel = kernel_name();
    std::string text = std::string("host ") + kernel.nodename + " " + kernel.release + " " +
                       kernel.version + " runner " + hash_of(runner_);
    for (const std::string& name : plan.modules)
      if (const auto file = kernel_.ours.find(name); file != kernel_.ours.end())
        text += " " + name + " " + hash_of(file->second);
    return text + unseen_programs(plan);
  }

  Records run(const Plan& plan, const std::string& directory, int timeout_s,
              const std::atomic<bool>& stop) const override {
    write_file(directory + "/plan.json", plan_to_json(plan));
    Child child({runner_, directory}, environment(), directory + "/console.txt", timeout_s);
    // Connections, warm-up and the trial take their own time.
    const int64_t own_ns = plan.connect_ns + plan.zero_ns + plan.end_ns;
    const int64_t end_ns = monotonic_ns() + own_ns + int64_t{timeout_s} * 1'000'000'000;
    while (!child.wait_for(100)) {
      if (stop) throw Interrupted();
      if (monotonic_ns() > end_ns)
        throw Error("the trial took " + std::to_string(timeout_s) +
                    " s more than its plan (--timeout); end of its console:\n" + tail(directory));
    }
    if (is_file(directory + "/error.txt")) {
      const std::string text = read_file(directory + "/error.txt");
      throw Error("the host runner failed: " + text.substr(0, text.find('\n')));
    }
    if (!is_file(directory + "/status"))
      throw Error("the host runner ended before the trial did; end of its console:\n" +
                  tail(directory));
    return read_records(directory);
  }

 private:
  static std::string tail(const std::string& directory) {
    const std::string all = read_file_if_there(directory + "/console.txt");
    return all.substr(all.size() - std::min(all.size(), kConsoleTailBytes));
  }

  std::string hash_of(const std::string& file) const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string& hash = hashes_[file];
    if (hash.empty()) hash = hash_file(file);
    return hash;
  }

  const std::string runner_;
  const KernelAlgorithms kernel_;
  Capabilities capabilities_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> hashes_;  // by file
};

}  // namespace

std::vector<BackendPart> host_parts() {
  const TemporaryDirectory directory;
  const std::string output = directory.path() + "/check.txt";
  Child child({host_runner_path(), "--check"}, environment(), output, kCheckS);
  if (!child.wait_for(kCheckS * 1000))
    throw Error("the host runner did not tell within " + std::to_string(kCheckS) +
                " s what this machine has");
  // "ok\tWHAT\tDETAIL" or "missing\t...".
  std::vector<BackendPart> parts;
  std::istringstream lines(read_file(output));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string state;
    BackendPart part;
    if (!std::getline(fields, state, '\t') || !std::getline(fields, part.what, '\t')) continue;
    std::getline(fields, part.detail);
    part.there = state == "ok";
    parts.push_back(part);
  }
  if (parts.empty()) throw Error("the host runner told nothing: " + read_file(output));
  return parts;
}

std::unique_ptr<Backend> find_host() {
  std::string missing;
  const std::vector<BackendPart> parts = host_parts();
  if (parts.front().what == "root" && !parts.front().there)
    throw BackendForbidden("backend host: " + parts.front().detail);
  for (const BackendPart& part : parts)
    if (!part.there)
      missing += (missing.empty() ? "" : "; ") + part.what + " (" + part.detail + ")";
  if (!missing.empty())
    throw Error(std::string("backend host: the kernel ") + kernel_name().release +
                " of this machine lacks " + missing + ". The lab needs none of it (--backend lab)");
  return std::make_unique<Host>();
}

}  // namespace delaycc

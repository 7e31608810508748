// SPDX-License-Identifier: Apache-2.0
#include "backend/host/kernel_algorithms.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "backend/programs.h"
#include "base/module_info.h"
#include "base/posix.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

std::string kernel_release() {
  utsname name;
  if (uname(&name) < 0) throw system_error("uname", "");
  return name.release;
}

// What depmod knows of this kernel's modules.
class InstalledModules {
 public:
  InstalledModules() {
    const std::string folder = std::string("/lib/modules/") + kernel_release();
    // "updates/delaycc/tcp_oscar.ko: updates/delaycc/delaycc.ko"
    std::istringstream dependencies(read_file_if_there(folder + "/modules.dep"));
    for (std::string line; std::getline(dependencies, line);) {
      const size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string file = line.substr(0, colon);
      Module& module = modules_[name_of(file)];
      module.file = folder + "/" + file;
      module.ours = line.find("/delaycc.ko") != std::string::npos;
    }
    // "alias tcp_oscar_paper tcp_oscar"
    std::istringstream aliases(read_file_if_there(folder + "/modules.alias"));
    for (std::string word, alias, name; aliases >> word >> alias >> name;)
      if (modules_.count(name)) aliases_[alias] = name;
  }

  // Files of the algorithms' modules by what TCP asks for, and of delaycc itself.
  std::map<std::string, std::string> files(bool ours) const {
    std::map<std::string, std::string> result;
    for (const auto& [name, module] : modules_)
      if (module.ours || !ours) result[name] = module.file;
    for (const auto& [alias, name] : aliases_)
      if (const auto found = result.find(name); found != result.end())
        result.emplace(alias, found->second);
    return result;
  }

 private:
  struct Module {
    std::string file;
    bool ours = false;
  };
  static std::string name_of(const std::string& file) {
    std::string name = fs::path(file).filename();
    name = name.substr(0, name.find(".ko"));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }

  std::map<std::string, Module> modules_;
  std::map<std::string, std::string> aliases_;
};

}  // namespace

std::string module_folder() {
  const char* given = getenv("DELAYCC_MODULES");
  const fs::path folder = given && *given
                              ? fs::absolute(given)
                              : fs::path(program_folder().path) / "modules" / kernel_release();
  std::error_code error;
  const bool there = fs::is_directory(folder, error);
  if (error == std::errc::permission_denied)
    throw Error("the modules' folder " + folder.string() +
                " is not for this user: " + error.message());
  if (given && *given && !there)
    throw Error("DELAYCC_MODULES: " + folder.string() + " is no folder");
  return there ? folder.string() : std::string();
}

KernelAlgorithms find_kernel_algorithms(const std::string& folder) {
  KernelAlgorithms found;
  const InstalledModules installed;
  found.ours = installed.files(true);
  std::istringstream available(read_file("/proc/sys/net/ipv4/tcp_available_congestion_control"));
  for (std::string name; available >> name;) found.algorithms.insert(name);
  const auto add = [&](const std::string& module) {
    if (module.rfind(kModulePrefix, 0) == 0)
      found.algorithms.insert(module.substr(sizeof(kModulePrefix) - 1));
  };
  for (const auto& [name, file] : installed.files(false)) add(name);
  if (folder.empty()) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".ko") continue;
    const std::string file = entry.path().string();
    std::vector<std::string> names = module_info(read_file(file), "alias");
    names.push_back(entry.path().stem().string());
    for (const std::string& name : names) {
      found.ours[name] = file;
      add(name);
    }
  }
  return found;
}

std::string unseen_programs(const Plan& plan) {
  static const std::string process =
      " BPF programs of process " + std::to_string(getpid()) + " at " +
      std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  const bool any = std::any_of(plan.flows.begin(), plan.flows.end(),
                               [](const FlowPlan& flow) { return is_bpf_program(flow.cc); });
  return any ? process : "";
}

}  // namespace delaycc

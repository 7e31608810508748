// SPDX-License-Identifier: Apache-2.0
#include "backend/lab/lab.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "backend/lab/memory_folder.h"
#include "backend/lab/port_log.h"
#include "backend/programs.h"
#include "base/child.h"
#include "base/module_info.h"
#include "base/temporary_directory.h"
#include "plan/memory.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kConsoleTailBytes = 2000;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// errno says what access() found wrong.
BackendForbidden forbidden(const std::string& what, const std::string& path) {
  return BackendForbidden(
      "the " + what + " " + path + " is there, but not for this user: " + strerror(errno) +
      "; give the user access to it and to the folders above it, or name another "
      "lab's folder in DELAYCC_LAB");
}

// Throws Error unless `path` is a file that may be used as access()'s `mode` says.
void need_file(const std::string& what, const std::string& path, int mode,
               const std::string& remedy) {
  struct stat found;
  if (stat(path.c_str(), &found) < 0) {
    if (errno == EACCES) throw forbidden(what, path);
    throw Error("no " + what + " at " + path +
                (errno == ENOENT || errno == ENOTDIR ? "" : std::string(": ") + strerror(errno)) +
                "; " + remedy);
  }
  if (!S_ISREG(found.st_mode)) throw Error("the " + what + " " + path + " is no file; " + remedy);
  if (access(path.c_str(), mode) < 0) throw forbidden(what, path);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string console_tail(const std::string& directory) {
  std::string text;
  for (const char* name : {"/console.txt", "/runner.log"}) {
    if (!is_file(directory + name)) continue;
    const std::string all = read_file(directory + name);
    text += all.substr(all.size() - std::min(all.size(), kConsoleTailBytes));
  }
  return text;
}

// What the lab kernel says of a page that its memory's folder has no room for.
bool died_of_sigbus(const std::string& console) {
  for (const char* words : {"Kernel mode signal 7", "exitcode=0x00000007", "Bus error"})
    if (console.find(words) != std::string::npos) return true;
  return false;
}

// Memory of this machine, or of the control group that a container is: bytes.
int64_t machine_bytes() {
  const int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const char* limit = "/sys/fs/cgroup/memory.max";  // "max" where there is none
  const int64_t most = is_file(limit) ? std::atoll(read_file(limit).c_str()) : 0;
  return most > 0 ? std::min(bytes, most) : bytes;
}

// What the lab puts into each plan: the qdisc that every link end has.
constexpr char kPortModule[] = "sch_dccport";

Plan lab_plan(const Plan& plan) {
  Plan result = plan;
  result.modules.insert(result.modules.begin(), kPortModule);
  return result;
}

// Paths of what a trial is run with. All are absolute.
struct Paths {
  std::string kernel;   // the User-Mode Linux executable
  std::string modules;  // folder of *.ko
  std::string runner;   // delaycc-runner
};

// What a lab is booted with.
struct Boot {
  std::string kernel;  // the User-Mode Linux executable
  std::string init;    // program
  std::string
      directory;  // of the boot's own files: a TemporaryDirectory, as uml_dir= knows no quotes
  int memory_mb = 0;
  uint64_t seed = 0;
  // More of the kernel's command line: its parameters, and NAME=VALUE of init's environment.
  std::vector<std::string> words;
  int64_t network_bytes = 0;  // of memory_mb, touched before a packet is sent
};

// In quotes, which the kernel takes off: the path may have spaces.
std::string kernel_parameter(const std::string& name, const std::string& path) {
  if (path.find('"') != std::string::npos)
    throw Error(path + ": a path on the lab kernel's command line has no quote");
  return name + "=\"" + path + "\"";
}

std::vector<std::string> kernel_arguments(const Boot& boot) {
  std::vector<std::string> arguments = {
      boot.kernel,
      "time-travel=inf-cpu",
      "mem=" + std::to_string(boot.memory_mb) + "M",
      "root=/dev/root",
      "rootfstype=hostfs",
      "rootflags=/",
      "ro",
      "quiet",
      "con=null",
      "con0=null,fd:1",
      "uml_dir=" + boot.directory + "/",
      "umid=lab",
      "dcc_seed=" + std::to_string(boot.seed),
      kernel_parameter("init", boot.init),
      "DCC_DIR=" + boot.directory,
  };
  arguments.insert(arguments.end(), boot.words.begin(), boot.words.end());
  return arguments;
}

// Boots the lab and waits for its end, and looks at `stop` and calls `tick` ten times a second
// meanwhile. `what` is the word for it in errors. Throws Error when it uses more than `timeout_s`
// seconds of processor time, or none for as long.
void boot_and_wait(const Boot& boot, int timeout_s, const std::string& what,
                   const std::function<void()>& tick, const std::atomic<bool>& stop) {
  const LabMemory memory(boot.memory_mb, stop, boot.network_bytes);
  Child child(kernel_arguments(boot),
              {"PATH=/usr/bin:/bin", "HOME=" + boot.directory, "TMPDIR=" + memory.folder()},
              boot.directory + "/console.txt", timeout_s);
  uint64_t ticks = 0;
  int64_t looked_ns = monotonic_ns();
  int64_t moved_ns = looked_ns;
  while (!child.wait_for(100)) {
    if (stop) throw Interrupted();
    if (tick) tick();
    const int64_t now_ns = monotonic_ns();
    if (now_ns - looked_ns < 1'000'000'000) continue;
    looked_ns = now_ns;
    if (const uint64_t now = processor_ticks(child.pid()); now != ticks) {
      ticks = now;
      moved_ns = now_ns;
    }
    if (now_ns - moved_ns > int64_t{timeout_s} * 1'000'000'000)
      throw Error(what + " used no processor time for more than " + std::to_string(timeout_s) +
                  " s (--timeout); end of its console:\n" + console_tail(boot.directory));
  }
  if (child.used_up())
    throw Error(what + " used more than " + std::to_string(timeout_s) +
                " s of processor time (--timeout); end of its console:\n" +
                console_tail(boot.directory));
  if (child.signal() == SIGBUS || died_of_sigbus(console_tail(boot.directory)))
    throw Error(what + " failed: " + memory.used_up_text());
}

Boot trial_boot(const Paths& paths, const Plan& plan, const std::string& directory) {
  return {paths.kernel,       paths.runner, directory,
          plan.memory_mb,     plan.seed,    {kernel_parameter("DCC_MODULES", paths.modules)},
          network_bytes(plan)};
}

// Names of a module's file and of all that it depends on, into `names`.
void add_with_dependencies(const std::string& directory, const std::string& wanted,
                           std::set<std::string>* names) {
  const std::string name = find_module(directory, wanted);
  if (name.empty()) throw Error("no module " + wanted + " in " + directory);
  if (!names->insert(name).second) return;
  for (const std::string& other : module_dependencies(read_file(directory + "/" + name + ".ko")))
    add_with_dependencies(directory, other, names);
}

class Lab : public Backend {
 public:
  explicit Lab(const Paths& paths) : paths_(paths) {}

  std::string name() const override { return "lab"; }
  const Capabilities& capabilities() const override { return capabilities_; }
  // Those that harness/backend/lab/kernel/lab.config builds into the kernel, and those of the
  // modules tcp_NAME.ko and their aliases. Boots nothing.
  std::vector<std::string> algorithms() const override;
  bool has_module(const std::string& name) const override {
    return !find_module(paths_.modules, name).empty();
  }
  std::string description(const std::string& algorithm) const override;
  std::vector<BackendPart> parts() const override;
  // The kernel, every module, the runner and this program.
  std::string build() const override;
  // The kernel and how it is started, the runner, and the modules that the plan loads.
  std::string identity(const Plan& plan) const override;
  Records run(const Plan& plan, const std::string& directory, int timeout_s,
              const std::atomic<bool>& stop) const override;

 private:
  // Files are hashed once: what is built while trials run is of the next command.
  std::string hash_of(const std::string& file) const;

  const Paths paths_;
  const Capabilities capabilities_;
  mutable std::mutex mutex_;                               // of all below
  mutable std::map<std::string, std::string> hashes_;      // by file
  mutable std::map<std::string, std::string> identities_;  // by the plan's modules
};

std::string Lab::hash_of(const std::string& file) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string& hash = hashes_[file];
  if (hash.empty()) hash = hash_file(file);
  return hash;
}

std::vector<std::string> Lab::algorithms() const {
  const std::string prefix = "tcp_";
  std::set<std::string> names;
  std::istringstream built_in(DELAYCC_LAB_ALGORITHMS);
  for (std::string name; std::getline(built_in, name, ',');) names.insert(name);
  const auto add = [&](const std::string& module) {
    if (module.rfind(prefix, 0) == 0) names.insert(module.substr(prefix.size()));
  };
  for (const auto& entry : fs::directory_iterator(paths_.modules)) {
    if (entry.path().extension() != ".ko") continue;
    add(entry.path().stem().string());
    for (const std::string& alias : module_info(read_file(entry.path().string()), "alias"))
      add(alias);
  }
  return {names.begin(), names.end()};
}

std::string Lab::description(const std::string& algorithm) const {
  const std::string module = find_module(paths_.modules, "tcp_" + algorithm);
  if (module.empty()) return "of the lab kernel";
  const std::vector<std::string> said =
      module_info(read_file(paths_.modules + "/" + module + ".ko"), "description");
  return said.empty() ? "" : said.front();
}

std::vector<BackendPart> Lab::parts() const {
  std::vector<BackendPart> parts = {{"lab kernel", paths_.kernel, true}};
  for (const char* module : {"delaycc", "tcp_oscar"}) {
    const bool there = has_module(module);
    parts.push_back({std::string("lab module ") + module,
                     there ? paths_.modules + "/" + module + ".ko" : "build it with \"make lab\"",
                     there});
  }
  try {
    const LabMemory memory(kUsualLabMemoryMb, std::atomic<bool>{false});
    parts.push_back({"lab memory", "in " + memory.folder(), true});
  } catch (const Error& e) {
    parts.push_back({"lab memory", e.what(), false});
  }
  return parts;
}

std::string Lab::build() const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(paths_.modules))
    if (entry.path().extension() == ".ko") found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  found.insert(found.begin(), {paths_.kernel, paths_.runner});
  std::string hashes = "delaycc " + hash_of("/proc/self/exe") + "\n";
  for (const std::string& file : found)
    hashes += fs::path(file).filename().string() + " " + hash_of(file) + "\n";
  return hash_hex(hashes).substr(0, 16);
}

std::string Lab::identity(const Plan& plan) const {
  need_memory(plan, machine_bytes());
  // The plan's own part of the command line is in the plan.
  const Plan asked = lab_plan(plan);
  std::string modules;
  for (const std::string& name : asked.modules) modules += name + " ";
  std::string files;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    files = identities_[modules];
  }
  if (files.empty()) {
    std::set<std::string> names;
    for (const std::string& name : asked.modules)
      add_with_dependencies(paths_.modules, name, &names);
    files = "linux " + hash_of(paths_.kernel) + " runner " + hash_of(paths_.runner);
    for (const std::string& name : names)
      files += " " + name + " " + hash_of(paths_.modules + "/" + name + ".ko");
    std::lock_guard<std::mutex> lock(mutex_);
    identities_[modules] = files;
  }
  for (const std::string& argument :
       kernel_arguments(trial_boot({"linux", "modules", "runner"}, plan, "trial")))
    files += " " + argument;
  return "lab " + modules + files;
}

Records Lab::run(const Plan& plan, const std::string& directory, int timeout_s,
                 const std::atomic<bool>& stop) const {
  write_file(directory + "/plan.json", plan_to_json(lab_plan(plan)));
  boot_and_wait(trial_boot(paths_, plan, directory), timeout_s, "the trial", {}, stop);
  if (is_file(directory + "/error.txt"))
    throw Error("the runner failed: " + first_line(read_file(directory + "/error.txt")));
  if (!is_file(directory + "/status"))
    throw Error("the lab ended before the trial did; end of its console:\n" +
                console_tail(directory));
  return read_lab_records(directory);
}

Paths find_paths() {
  const auto [path, installed] = program_folder();
  const fs::path folder = path;
  Paths paths;
  paths.runner = (folder / "delaycc-runner").string();
  const char* given = getenv("DELAYCC_LAB");
  const fs::path root = given && *given ? fs::absolute(given) : folder / "lab";
  paths.kernel = (root / "linux").string();
  paths.modules = root.string();
  need_file(
      "lab kernel", paths.kernel, R_OK | X_OK,
      std::string("build it with \"make lab\"") +
          (installed ? " in delaycc's source tree and install it with \"make install-lab\"" : "") +
          ", or name its folder in DELAYCC_LAB");
  if (access(paths.modules.c_str(), R_OK | X_OK) < 0) throw forbidden("folder", paths.modules);
  need_file("port module", (root / "sch_dccport.ko").string(), R_OK, "build it with \"make lab\"");
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().extension() == ".ko")
      need_file("lab module", entry.path().string(), R_OK, "build it with \"make lab\"");
  need_file("trial runner", paths.runner, R_OK | X_OK, "build it with \"make\"");
  return paths;
}

}  // namespace

std::unique_ptr<Backend> find_lab() { return std::make_unique<Lab>(find_paths()); }

void run_in_lab(const LabProgram& program, const std::function<void()>& tick,
                const std::atomic<bool>& stop) {
  const Paths paths = find_paths();
  boot_and_wait(
      {paths.kernel,
       program.init,
       program.directory,
       program.memory_mb,
       program.seed,
       {kernel_parameter("DCC_MODULES", paths.modules), "PYTHONHASHSEED=0",
        "PYTHONDONTWRITEBYTECODE=1", "dcc_clock_read_ns=" + std::to_string(program.clock_read_ns)}},
      program.timeout_s, program.what, tick, stop);
  if (is_file(program.directory + "/error.txt"))
    throw Error("the lab could not start " + program.what + ":\n" +
                read_file(program.directory + "/error.txt"));
  if (!is_file(program.directory + "/status"))
    throw Error("the lab ended before " + program.what + " did; end of its console:\n" +
                console_tail(program.directory));
}

}  // namespace delaycc

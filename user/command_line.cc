// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string_view>

#include "base/posix.h"
#include "base/suggest.h"
#include "scenario/scenario_file.h"

namespace delaycc {

namespace fs = std::filesystem;

void on_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::atomic<bool> stop_requested{false};

extern "C" void request_stop(int) { stop_requested = true; }

void stop_at_signals() { on_signals(request_stop); }

bool in_path(const std::string& program) {
  for (const char* folder :
       {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"})
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

std::vector<std::string> split_names(const std::string& option,
                                     const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists)
    for (size_t begin = 0;;) {
      const size_t comma = list.find(',', begin);
      names.push_back(list.substr(begin, comma - begin));
      if (names.back().empty())
        throw ScenarioError(option + ": \"\" is no name" +
                            (list.empty() ? "" : " (in \"" + list + "\")") +
                            ", allowed are names with one comma between two");
      if (comma == std::string::npos) break;
      begin = comma + 1;
    }
  return names;
}

namespace {

// PREFIX/NAME of an installed PREFIX/bin/delaycc, otherwise that of the source or build tree.
fs::path data_folder(const char* name, const char* source) {
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  fs::path installed = prefix / name;
  return is_at_first(installed, source) ? installed : fs::path(source);
}

}  // namespace

fs::path scenario_folder() { return data_folder("share/delaycc/scenarios", DELAYCC_SCENARIOS); }
fs::path bpf_folder() {
  if (const char* given = getenv("DELAYCC_BPF"); given && *given) return given;
  return data_folder("lib/delaycc/bpf", DELAYCC_BPF_OBJECTS);
}
fs::path mininet_folder() { return data_folder("share/delaycc/mininet", DELAYCC_MININET); }

std::vector<fs::path> all_scenarios() {
  std::vector<fs::path> files;
  std::error_code error;
  const fs::directory_iterator entries(scenario_folder(), error);
  if (error)
    throw Error("the scenarios that come with delaycc cannot be read: " +
                scenario_folder().string() + ": " + error.message());
  for (const auto& entry : entries)
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string find_scenario(const std::string& name) {
  struct stat found;
  const bool there = stat(name.c_str(), &found) == 0;
  const int error = there ? 0 : errno;
  if (there && !S_ISDIR(found.st_mode)) {
    if (!S_ISREG(found.st_mode))
      throw ScenarioError(name +
                          ": is no regular file, allowed is a TOML file or a name of "
                          "\"delaycc list\"");
    if (access(name.c_str(), R_OK) < 0)
      throw ScenarioError(name + ": cannot be read: " + strerror(errno));
    return name;
  }
  const fs::path known = scenario_folder() / (name + ".toml");
  std::error_code unseen;
  if (fs::is_regular_file(known, unseen)) return known.string();
  if (unseen == std::errc::permission_denied && !there)
    throw ScenarioError(known.string() + ": cannot be read: " + unseen.message());
  if (there)
    throw ScenarioError(name +
                        ": is a folder, allowed is a TOML file or a name of "
                        "\"delaycc list\"");
  if (error != ENOENT && error != ENOTDIR)
    throw ScenarioError(name + ": cannot be read: " + strerror(error));
  std::vector<std::string> names;
  for (const fs::path& path : all_scenarios()) names.push_back(path.stem().string());
  throw ScenarioError(name +
                      ": no such file, and no scenario of this name; \"delaycc list\" shows all" +
                      nearest_text(name, names));
}

std::string shell_quoted(const std::string& word) {
  const std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

namespace {

// The name by which find_scenario() finds a file that comes with delaycc, such as
// held-out/gamma-56g; empty: it does not come with it.
std::string known_name(const std::string& path) {
  const fs::path parent = fs::absolute(path).parent_path();
  std::string stem = fs::path(path).stem().string();
  std::error_code ignored;
  if (fs::equivalent(parent, scenario_folder(), ignored)) return stem;
  if (fs::equivalent(parent.parent_path(), scenario_folder(), ignored))
    return (parent.filename() / stem).string();
  return "";
}

}  // namespace

std::string repeat_begin(const std::string& subcommand, const std::string& path) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::string known = known_name(path);
  if (known.empty())
    return shell_quoted(program.string()) + " " + subcommand + " " +
           shell_quoted(fs::absolute(path).lexically_normal().string());
  // At the top of the source tree, if the program is there.
  std::error_code ignored;
  const bool of_tree = fs::equivalent(program, scenario_folder() / "../../build/delaycc", ignored);
  return (of_tree ? "build/delaycc" : shell_quoted(program.string())) + " " + subcommand + " " +
         shell_quoted(known);
}

std::string repeat_begin_anywhere(const std::string& subcommand, const std::string& path) {
  const std::string known = known_name(path);
  return "delaycc " + subcommand + " " +
         shell_quoted(known.empty() ? fs::path(path).filename().string() : known);
}

std::string repeat_overrides(const std::vector<std::string>& overrides) {
  std::string text;
  for (const std::string& item : overrides) text += " --set " + shell_quoted(item);
  return text;
}

void open_standard_streams() {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // The wrong way round, so that what uses it fails as it would have.
      const int opened = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
      if (opened >= 0 && opened != fd) {
        dup2(opened, fd);
        close(opened);
      }
    }
}

std::string output_trouble() {
  const bool before = std::ferror(stdout) != 0;
  errno = 0;
  std::cout.flush();  // which goes through stdout
  if (std::fflush(stdout) == 0 && !before && std::cout.good()) return "";
  return std::string("standard output cannot be written: ") +
         (errno != 0 ? strerror(errno) : "a write failed");
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "calibrate/apply.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/ip_prefix.h"
#include "base/posix.h"

namespace delaycc {
namespace {

constexpr char kPaths[] = "base_rtt_paths";

// "oscar.tau_ns" is the file oscar/tau_ns.
std::string path_of(const std::string& folder, std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return folder + "/" + name;
}

std::string read_value(const std::string& path) {
  std::string text = read_file(path);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// An entry of the table of paths, "PREFIX NS" or "PREFIX NS NOISE".
struct Path {
  IpPrefix prefix;
  std::string values;
};

std::vector<Path> paths_in(const std::string& table) {
  std::vector<Path> paths;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string prefix, base_rtt_ns, noise_ns;
    if (words >> prefix >> base_rtt_ns)
      paths.push_back({parse_ip_prefix(prefix),
                       base_rtt_ns + (words >> noise_ns ? " " + noise_ns : std::string())});
  }
  return paths;
}

// The table with one entry in the place of that of its prefix.
std::string with_path(const std::string& table, const std::string& entry) {
  const Path added = paths_in(entry).at(0);
  std::string result;
  for (const Path& path : paths_in(table))
    if (!(path.prefix == added.prefix)) result += path.prefix.text() + " " + path.values + "\n";
  return result + entry;
}

bool has_path(const std::string& table, const std::string& entry) {
  const Path wanted = paths_in(entry).at(0);
  const std::vector<Path> paths = paths_in(table);
  return std::any_of(paths.begin(), paths.end(), [&](const Path& path) {
    return path.prefix == wanted.prefix && path.values == wanted.values;
  });
}

}  // namespace

bool has_sysctl(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(path_of(folder, name), ignored);
}

void apply_settings(const std::string& folder, const std::vector<Setting>& settings) {
  struct Change {
    std::string path, before, after;
  };
  std::vector<Change> changes;
  for (const Setting& setting : settings) {
    if (!has_sysctl(folder, setting.name))
      throw Error("net.ipv4.delaycc." + setting.name +
                  ": is not there: its module is not loaded; nothing was changed");
    Change change;
    change.path = path_of(folder, setting.name);
    change.before = read_value(change.path);
    change.after = setting.name == kPaths ? with_path(change.before, setting.value) : setting.value;
    changes.push_back(std::move(change));
  }
  size_t done = 0;
  try {
    for (; done < changes.size(); done++) {
      const Change& change = changes[done];
      write_file(change.path, change.after + "\n");
      const std::string now = read_value(change.path);
      // The kernel has its own order and words for the table's entries.
      const bool same =
          settings[done].name == kPaths ? has_path(now, settings[done].value) : now == change.after;
      if (!same) throw Error(change.path + ": was set to " + change.after + " and shows " + now);
    }
  } catch (const Error& error) {
    std::string left;
    for (size_t i = std::min(done + 1, changes.size()); i-- > 0;) {
      try {
        if (read_value(changes[i].path) != changes[i].before)
          write_file(changes[i].path, changes[i].before + "\n");
      } catch (const Error& e) {
        left += std::string("; and ") + e.what();
      }
    }
    throw Error(std::string(error.what()) +
                (left.empty() ? "; the others have the values that they had" : left));
  }
}

std::string sysctl_file(const std::string& title, const std::vector<Setting>& settings) {
  std::string text = "# " + title + "\n";
  for (const Setting& setting : settings) {
    text += "\n# " + setting.reason + "\n";
    // Of an algorithm, whose module may not be loaded: no error.
    if (setting.name.find('.') != std::string::npos) text += "-";
    text += "net.ipv4.delaycc." + setting.name + " = " + setting.value + "\n";
  }
  return text;
}

}  // namespace delaycc

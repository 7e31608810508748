// SPDX-License-Identifier: Apache-2.0
#include "base/module_info.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/posix.h"

namespace delaycc {

std::vector<std::string> module_info(const std::string& image, const std::string& key) {
  // Strings of the section .modinfo, each ended by a zero; the first may be at the section's begin.
  const std::string wanted = key + "=";
  std::vector<std::string> values;
  for (size_t at = image.find(wanted); at != std::string::npos; at = image.find(wanted, at + 1))
    if (at > 0 && image[at - 1] == '\0') values.emplace_back(image.c_str() + at + wanted.size());
  return values;
}

std::vector<std::string> module_dependencies(const std::string& image) {
  std::vector<std::string> names;
  for (const std::string& value : module_info(image, "depends")) {
    std::istringstream list(value);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  }
  return names;
}

std::string find_module(const std::string& directory, const std::string& name) {
  namespace fs = std::filesystem;
  if (fs::exists(fs::path(directory) / (name + ".ko"))) return name;
  std::error_code none;
  std::set<fs::path> files;  // in the order of their names
  for (const auto& entry : fs::directory_iterator(directory, none))
    if (entry.path().extension() == ".ko") files.insert(entry.path());
  for (const fs::path& file : files) {
    const std::vector<std::string> aliases = module_info(read_file(file.string()), "alias");
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return file.stem().string();
  }
  return "";
}

}  // namespace delaycc

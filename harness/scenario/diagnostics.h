// SPDX-License-Identifier: Apache-2.0
// Mistakes of a scenario file, each with its file, line and field.
#ifndef DELAYCC_HARNESS_SCENARIO_DIAGNOSTICS_H_
#define DELAYCC_HARNESS_SCENARIO_DIAGNOSTICS_H_

#include <toml++/toml.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scenario/scenario_file.h"

namespace delaycc {

// Mistakes of a file, in the order of its lines.
class Diagnostics {
 public:
  struct Mistake {
    unsigned line;      // 0: of a value given by --set
    std::string place;  // "file:line" or "--set key=value"
    std::string what;   // "field: what is wrong, what is allowed"
  };

  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void add(const toml::source_region& where, const std::string& field, const std::string& what) {
    // A value given by --set carries that text as its path and has no line of the file.
    const bool overridden = where.path && *where.path != file_;
    const unsigned line = overridden ? 0 : where.begin.line;
    std::string place = overridden ? *where.path : file_ + ":" + std::to_string(line);
    found_.push_back({line, std::move(place), field + ": " + what});
  }

  bool any() const { return !found_.empty(); }
  bool has(const std::string& what) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const Mistake& mistake) { return mistake.what == what; });
  }
  std::vector<Mistake>& found() { return found_; }
  // Whether it blames the file rather than a --set.
  bool of_file(const Mistake& mistake) const { return mistake.place.rfind(file_ + ":", 0) == 0; }

  void throw_if_any() {
    if (!any()) return;
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Mistake& a, const Mistake& b) { return a.line < b.line; });
    std::string all;
    for (const Mistake& mistake : found_)
      all += (all.empty() ? "" : "\n") + mistake.place + ": " + mistake.what;
    throw ScenarioError(all);
  }

 private:
  std::string file_;
  std::vector<Mistake> found_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SCENARIO_DIAGNOSTICS_H_

// SPDX-License-Identifier: Apache-2.0
// Scenario files (TOML): reading, --set, the cases of a sweep. docs/research/scenarios.md describes
// every key.
#ifndef DELAYCC_HARNESS_SCENARIO_SCENARIO_FILE_H_
#define DELAYCC_HARNESS_SCENARIO_SCENARIO_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/posix.h"
#include "spec/scenario.h"

namespace delaycc {

// One mistake per line of what(): "file:line: field: what is wrong, what is allowed", or for what
// an override brought in "--set key=value: field: ...".
class ScenarioError : public Error {
 public:
  using Error::Error;
};

// What is wrong with a list of algorithms to run; empty if nothing is.
std::string algorithms_mistake(const std::vector<std::string>& names);

// A scenario file with its overrides.
class ScenarioFile {
 public:
  // `overrides` are "key=value" with a dotted path ("measure.duration_us", "flows.0.count") or a
  // sweep parameter. Throws ScenarioError.
  ScenarioFile(const std::string& path, const std::vector<std::string>& overrides);
  // The same from text; `path` is only for messages.
  ScenarioFile(const std::string& path, const std::string& text,
               const std::vector<std::string>& overrides);
  ~ScenarioFile();
  ScenarioFile(ScenarioFile&&) noexcept;

  const Parameters& main_parameters() const;
  // All combinations of the sweep's lists, in the file's order; empty without a sweep. At most
  // 10000: the constructor refuses more.
  std::vector<Parameters> sweep() const;
  // Throws ScenarioError with every mistake found.
  Scenario resolve(const Parameters& parameters) const;
  // Throws ScenarioError if an algorithm that a run of `scenario` needs is not one of `known`, the
  // kernel's names: one of `asked`, which `option` names (empty: the scenario's own list), or of a
  // flow group.
  void check_algorithms(const Scenario& scenario, const std::string& option,
                        const std::vector<std::string>& asked,
                        const std::vector<std::string>& known) const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SCENARIO_SCENARIO_FILE_H_

// SPDX-License-Identifier: Apache-2.0
#include "spec/scenario.h"

#include <charconv>

namespace delaycc {

std::string to_string(const Value& value) {
  if (auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (auto* s = std::get_if<std::string>(&value)) return *s;
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), std::get<double>(value)).ptr;
  return std::string(text, end);
}

AlgorithmSpec Scenario::algorithm(const std::string& name) const {
  const auto it = algorithm_specs.find(name);
  if (it != algorithm_specs.end()) return it->second;
  AlgorithmSpec spec;
  spec.cc = spec.label = name;
  return spec;
}

}  // namespace delaycc

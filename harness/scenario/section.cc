// SPDX-License-Identifier: Apache-2.0
#include "scenario/section.h"

namespace delaycc {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool to_value(const toml::node& node, Value* value) {
  if (auto integer = node.value_exact<int64_t>())
    value->emplace<int64_t>(*integer);
  else if (auto number = node.value_exact<double>())
    value->emplace<double>(*number);
  else if (auto text = node.value_exact<std::string>())
    value->emplace<std::string>(*text);
  else
    return false;
  return true;
}

}  // namespace delaycc

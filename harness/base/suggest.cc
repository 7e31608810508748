// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <algorithm>
#include <utility>

namespace delaycc {
namespace {

// The optimal string alignment distance.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) last[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& names) {
  std::string nearest;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& other : names)
    if (const size_t steps = distance(name, other); steps < least && steps < name.size()) {
      least = steps;
      nearest = other;
    }
  return nearest;
}

std::string nearest_text(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : "; the nearest is \"" + nearest + "\"";
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// One table of a scenario file: its keys, with their types and ranges.
#ifndef DELAYCC_HARNESS_SCENARIO_SECTION_H_
#define DELAYCC_HARNESS_SCENARIO_SECTION_H_

#include <toml++/toml.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "scenario/diagnostics.h"
#include "scenario/expression.h"

namespace delaycc {

constexpr int64_t kNsPerUs = 1000;
constexpr double kMaxUs = 1e9;  // 1000 s

// "a, b, c".
std::string listed(const std::vector<std::string>& names);

// False for what is neither a number nor a string.
bool to_value(const toml::node& node, Value* value);

// Reads one table, knows which keys were asked for, and so which are unknown.
class Section {
 public:
  Section(Diagnostics& diagnostics, const Substitution& substitution, const toml::table* table,
          std::string path, const toml::source_region& where)
      : diagnostics_(diagnostics),
        substitution_(substitution),
        table_(table),
        path_(std::move(path)),
        where_(table ? table->source() : where) {}

  bool present() const { return table_ != nullptr; }
  bool has(const std::string& key) const { return table_ && table_->contains(key); }
  const toml::source_region& where() const { return where_; }

  void complain(const std::string& key, const std::string& what) {
    const toml::node* node = table_ ? table_->get(key) : nullptr;
    diagnostics_.add(node ? node->source() : where_, field(key), what);
  }

  std::string field(const std::string& key) const {
    if (key.empty()) return path_.empty() ? "file" : path_;
    return path_.empty() ? key : path_ + "." + key;
  }

  int64_t integer(const std::string& key, int64_t fallback, int64_t low, int64_t high) {
    Value value;
    if (!get(key, &value)) return fallback;
    const std::string allowed =
        "allowed is an integer from " + std::to_string(low) + " to " + std::to_string(high);
    const int64_t* found = std::get_if<int64_t>(&value);
    if (!found) {
      complain(key, "\"" + to_string(value) + "\" is not an integer, " + allowed);
      return fallback;
    }
    if (*found < low || *found > high) {
      complain(key, std::to_string(*found) + " is out of range, " + allowed);
      return fallback;
    }
    return *found;
  }

  double number(const std::string& key, double fallback, double low, double high) {
    Value value;
    if (!get(key, &value)) return fallback;
    const std::string allowed =
        "allowed is a number from " + format_number(low) + " to " + format_number(high);
    double found;
    if (!to_number(value, &found)) {
      complain(key, "\"" + to_string(value) + "\" is not a number, " + allowed);
      return fallback;
    }
    if (!(found >= low && found <= high)) {
      complain(key, format_number(found) + " is out of range, " + allowed);
      return fallback;
    }
    return found;
  }

  // A key in microseconds, in nanoseconds.
  int64_t time_us(const std::string& key, int64_t fallback_ns, double low_us = 0) {
    const double us = number(key, -1e300, low_us, kMaxUs);
    return us == -1e300 ? fallback_ns : std::llround(us * kNsPerUs);
  }

  // A boolean, or a string that is one after its parameters are put in: of a sweep.
  bool boolean(const std::string& key, bool fallback) {
    const toml::node* node = take(key);
    if (!node) return fallback;
    if (auto value = node->value_exact<bool>()) return *value;
    Value word;
    if (node->is_string() && get(key, &word)) {
      if (to_string(word) == "true") return true;
      if (to_string(word) == "false") return false;
    }
    complain(key, "is not a boolean, allowed is true or false");
    return fallback;
  }

  std::string text(const std::string& key, const std::string& fallback) {
    Value value;
    return get(key, &value) ? to_string(value) : fallback;
  }

  std::string required_text(const std::string& key, const std::string& allowed) {
    if (has(key)) return text(key, "");
    diagnostics_.add(where_, field(key), "is missing, allowed is " + allowed);
    return "";
  }

  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& choices) {
    std::string value = text(key, fallback);
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
    const std::string all = listed(choices);
    if (has(key))
      complain(key, "\"" + value + "\" is unknown, allowed is one of " + all +
                        nearest_text(value, choices));
    else
      diagnostics_.add(where_, field(key), "is missing, allowed is one of " + all);
    return choices.front();
  }

  std::vector<std::string> texts(const std::string& key) {
    std::vector<std::string> result;
    const toml::array* array = take_array(key, "an array of strings");
    if (!array) return result;
    for (const toml::node& node : *array) {
      Value value;
      if (convert(node, key, &value)) result.push_back(to_string(value));
    }
    return result;
  }

  std::vector<double> numbers(const std::string& key) {
    std::vector<double> result;
    const toml::array* array = take_array(key, "an array of numbers");
    if (!array) return result;
    for (const toml::node& node : *array) append_number(node, key, &result);
    return result;
  }

  // [[from, to], ...] in microseconds.
  std::vector<std::pair<int64_t, int64_t>> intervals_us(const std::string& key) {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (const auto& [from_us, to_us] : pairs(key, "[from, to] pairs with from < to")) {
      result.emplace_back(std::llround(from_us * kNsPerUs), std::llround(to_us * kNsPerUs));
      if (from_us >= to_us) {
        complain(key, "has an interval that ends before it starts, allowed is from < to");
        break;
      }
    }
    return result;
  }

  // [[time in microseconds, number], ...] with rising times.
  std::vector<std::pair<int64_t, double>> steps_us(const std::string& key, double low,
                                                   double high) {
    std::vector<std::pair<int64_t, double>> result;
    const std::string allowed = "[time_us, number from " + format_number(low) + " to " +
                                format_number(high) + "] pairs in order of time";
    for (const auto& [us, value] : pairs(key, allowed)) {
      const int64_t ns = std::llround(us * kNsPerUs);
      if (us < 0 || value < low || value > high || (!result.empty() && ns <= result.back().first)) {
        complain(key, "has a wrong step, allowed are " + allowed);
        break;
      }
      result.emplace_back(ns, value);
    }
    return result;
  }

  // [[ppm, value], ...] from 0 to 1000000 ppm.
  std::vector<std::pair<double, double>> quantiles(const std::string& key, size_t most,
                                                   double highest) {
    const std::string allowed = "2 to " + std::to_string(most) +
                                " [ppm, ns] pairs, from 0 to 1000000 ppm, ns from 0 to " +
                                format_number(highest) + ", both rising";
    auto result = pairs(key, allowed);
    if (!has(key)) return result;
    bool right = result.size() >= 2 && result.size() <= most && result.front().first == 0 &&
                 result.back().first == 1e6 && result.front().second >= 0 &&
                 result.back().second <= highest;
    for (size_t i = 1; right && i < result.size(); i++)
      right = std::floor(result[i].first) > std::floor(result[i - 1].first) &&
              result[i].second >= result[i - 1].second;
    if (right) return result;
    complain(key, "is no distribution, allowed are " + allowed);
    return {};
  }

  // Names to values; a dotted name may be written with or without quotes.
  std::map<std::string, std::string> text_map(const std::string& key) {
    std::map<std::string, std::string> result;
    Section inner = section(key);
    if (inner.table_) inner.flatten(*inner.table_, "", &result);
    return result;
  }

  Section section(const std::string& key) {
    const toml::node* node = take(key);
    const toml::table* table = node ? node->as_table() : nullptr;
    if (node && !table) complain(key, "is not a table, allowed is [" + field(key) + "]");
    return Section(diagnostics_, substitution_, table, field(key), where_);
  }

  std::vector<Section> sections(const std::string& key) {
    std::vector<Section> result;
    const toml::array* array = take_array(key, "[[" + field(key) + "]]");
    if (!array) return result;
    for (const toml::node& node : *array) {
      const std::string path = field(key) + "[" + std::to_string(result.size()) + "]";
      if (!node.is_table()) {
        diagnostics_.add(node.source(), path, "is not a table, allowed is [[" + field(key) + "]]");
        continue;
      }
      result.emplace_back(diagnostics_, substitution_, node.as_table(), path, node.source());
    }
    return result;
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> result;
    if (table_)
      for (const auto& [key, node] : *table_) result.emplace_back(key.str());
    return result;
  }

  // Every key that nobody asked for is a mistake. `parameters`: names of the sweep that --set may
  // give beside the keys.
  void finish(const std::vector<std::string>& parameters = {}) {
    if (!table_) return;
    std::vector<std::string> names(asked_.begin(), asked_.end());
    std::string allowed = "one of " + listed(names);
    if (!parameters.empty()) allowed += ", or of the sweep's parameters " + listed(parameters);
    names.insert(names.begin(), parameters.begin(), parameters.end());
    for (const auto& [node_key, node] : *table_) {
      const std::string key(node_key.str());
      if (!asked_.count(key))
        diagnostics_.add(node.source(), field(key),
                         "unknown key, allowed is " + allowed + nearest_text(key, names));
    }
  }

  void ignore(const std::string& key) { asked_.insert(key); }

 private:
  const toml::node* take(const std::string& key) {
    asked_.insert(key);
    return table_ ? table_->get(key) : nullptr;
  }

  const toml::array* take_array(const std::string& key, const std::string& allowed) {
    const toml::node* node = take(key);
    if (!node) return nullptr;
    if (!node->is_array()) complain(key, "is not an array, allowed is " + allowed);
    return node->as_array();
  }

  void flatten(const toml::table& table, const std::string& prefix,
               std::map<std::string, std::string>* result) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      Value value;
      if (const toml::table* inner = node.as_table())
        flatten(*inner, key + ".", result);
      else if (convert(node, key, &value))
        (*result)[key] = to_string(value);
    }
  }

  bool get(const std::string& key, Value* value) {
    const toml::node* node = take(key);
    return node && convert(*node, key, value);
  }

  bool convert(const toml::node& node, const std::string& key, Value* value) {
    if (auto flag = node.value_exact<bool>()) {
      *value = std::string(*flag ? "1" : "0");
      return true;
    }
    if (!to_value(node, value)) {
      diagnostics_.add(node.source(), field(key), "is not a number or a string");
      return false;
    }
    const auto text = node.value_exact<std::string>();
    if (!text) return true;
    try {
      *value = substitution_.apply(*text);
    } catch (const Error& e) {
      diagnostics_.add(node.source(), field(key), e.what());
      return false;
    }
    // "${gbps}000" is a number, too.
    if (auto* put = std::get_if<std::string>(value); put && text->find("${") != text->npos) {
      Value parsed;
      if (parse_number(*put, &parsed)) *value = parsed;
    }
    return true;
  }

  std::vector<std::pair<double, double>> pairs(const std::string& key, const std::string& allowed) {
    std::vector<std::pair<double, double>> result;
    const toml::array* array = take_array(key, "an array of " + allowed);
    if (!array) return result;
    for (const toml::node& node : *array) {
      std::vector<double> pair;
      if (const toml::array* inner = node.as_array())
        for (const toml::node& item : *inner) append_number(item, key, &pair);
      if (pair.size() != 2) {
        complain(key, "is not a list of pairs, allowed is an array of " + allowed);
        return result;
      }
      result.emplace_back(pair[0], pair[1]);
    }
    return result;
  }

  void append_number(const toml::node& node, const std::string& key, std::vector<double>* result) {
    Value value;
    double number;
    if (!convert(node, key, &value)) return;
    if (to_number(value, &number))
      result->push_back(number);
    else
      diagnostics_.add(node.source(), field(key), "\"" + to_string(value) + "\" is not a number");
  }

  Diagnostics& diagnostics_;
  const Substitution& substitution_;
  const toml::table* table_;
  std::string path_;
  toml::source_region where_;
  std::set<std::string> asked_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SCENARIO_SECTION_H_

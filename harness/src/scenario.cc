// SPDX-License-Identifier: Apache-2.0
#include "scenario.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>

#include "compile.h"
#include "dccport.h"
#include "metrics.h"
#include "suggest.h"
#include "topology.h"

namespace delaycc {

std::string to_string(const Value& value) {
  if (auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (auto* s = std::get_if<std::string>(&value)) return *s;
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), std::get<double>(value)).ptr;
  return std::string(text, end);
}

std::string algorithms_mistake(const std::vector<std::string>& names) {
  if (names.empty()) return "names no algorithm, allowed is a list such as [\"oscar\", \"cubic\"]";
  for (const std::string& name : names) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) || c == '_' || c == '-';
        }))
      return "\"" + name + "\" is no name, allowed are letters, digits, \"_\" and \"-\"";
    if (std::count(names.begin(), names.end(), name) > 1)
      return "\"" + name + "\" is there twice, allowed is each algorithm once";
  }
  return "";
}

namespace {

constexpr int64_t kNsPerUs = 1000;
constexpr double kMaxUs = 1e9;  // 1000 s
constexpr int64_t kHelloBytes = 4;
constexpr int kMaxCases = 10000;

// As people write it: 100000, not 1e+05.
std::string format_number(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e9)) return to_string(Value(value));
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed).ptr;
  return std::string(text, end);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Mistakes of a file, in the order of its lines.
class Mistakes {
 public:
  struct Mistake {
    unsigned line;      // 0: of a value given by --set
    std::string place;  // "file:line" or "--set key=value"
    std::string what;   // "field: what is wrong, what is allowed"
  };

  explicit Mistakes(std::string file) : file_(std::move(file)) {}

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

bool parse_number(std::string_view text, Value* value) {
  int64_t integer;
  const char* end = text.data() + text.size();
  if (auto r = std::from_chars(text.data(), end, integer); r.ec == std::errc() && r.ptr == end) {
    *value = integer;
    return true;
  }
  double number;
  if (auto r = std::from_chars(text.data(), end, number); r.ec == std::errc() && r.ptr == end) {
    *value = number;
    return true;
  }
  return false;
}

// False for a string.
bool to_number(const Value& value, double* number) {
  if (std::holds_alternative<std::string>(value)) return false;
  const auto* integer = std::get_if<int64_t>(&value);
  *number = integer ? static_cast<double>(*integer) : std::get<double>(value);
  return true;
}

// False for what is neither a number nor a string.
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

// Substitutes ${...} in the strings of a file.
class Substitution {
 public:
  explicit Substitution(const Parameters& parameters) : parameters_(parameters) {}

  // A string that is one ${...} takes the expression's value and type; in other strings the value's
  // text is put in. Throws Error.
  Value apply(const std::string& text) const {
    if (text.rfind("${", 0) == 0 && text.find('}') == text.size() - 1)
      return evaluate(text.substr(2, text.size() - 3));
    std::string result;
    size_t at = 0;
    for (;;) {
      const size_t open = text.find("${", at);
      if (open == std::string::npos) return result + text.substr(at);
      const size_t close = text.find('}', open);
      if (close == std::string::npos) throw Error("\"${\" without \"}\"");
      result += text.substr(at, open - at);
      result += to_string(evaluate(text.substr(open + 2, close - open - 2)));
      at = close + 1;
    }
  }

 private:
  // "term op term op term ...", from left to right.
  Value evaluate(const std::string& expression) const {
    std::vector<std::string> words;
    for (size_t i = 0; i < expression.size();) {
      // An operator, or all up to the next one or a space.
      size_t end = std::min(expression.find_first_of(" +-*/", i), expression.size());
      if (end == i) end++;
      if (expression[i] != ' ') words.push_back(expression.substr(i, end - i));
      i = end;
    }
    if (words.size() % 2 == 0) throw Error("\"${" + expression + "}\" is not \"term op term\"");
    Value value = term(words[0]);
    for (size_t i = 1; i < words.size(); i += 2) value = apply(value, words[i], term(words[i + 1]));
    return value;
  }

  Value term(const std::string& word) const {
    Value value;
    if (parse_number(word, &value)) return value;
    const auto it = parameters_.find(word);
    if (it != parameters_.end()) return it->second;
    std::string known;
    for (const auto& [name, unused] : parameters_) known += (known.empty() ? "" : ", ") + name;
    throw Error("unknown parameter \"" + word + "\" in ${}; the [sweep] section has " +
                (known.empty() ? "none" : known));
  }

  static Value apply(const Value& left, const std::string& op, const Value& right) {
    auto number = [](const Value& v) {
      double n;
      if (!to_number(v, &n)) throw Error("\"" + to_string(v) + "\" in ${} is not a number");
      return n;
    };
    const double a = number(left);
    const double b = number(right);
    double result;
    if (op == "+") {
      result = a + b;
    } else if (op == "-") {
      result = a - b;
    } else if (op == "*") {
      result = a * b;
    } else if (op == "/") {
      if (b == 0) throw Error("division by zero in ${}");
      result = a / b;
    } else {
      throw Error("\"" + op + "\" in ${} is not one of + - * /");
    }
    if (result == std::floor(result) && std::abs(result) < 9e15)
      return static_cast<int64_t>(result);
    return result;
  }

  const Parameters& parameters_;
};

// Reads one table, knows which keys were asked for, and so which are unknown.
class Section {
 public:
  Section(Mistakes& mistakes, const Substitution& substitution, const toml::table* table,
          std::string path, const toml::source_region& where)
      : mistakes_(mistakes),
        substitution_(substitution),
        table_(table),
        path_(std::move(path)),
        where_(table ? table->source() : where) {}

  bool present() const { return table_ != nullptr; }
  bool has(const std::string& key) const { return table_ && table_->contains(key); }
  const toml::source_region& where() const { return where_; }

  void complain(const std::string& key, const std::string& what) {
    const toml::node* node = table_ ? table_->get(key) : nullptr;
    mistakes_.add(node ? node->source() : where_, field(key), what);
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

  bool boolean(const std::string& key, bool fallback) {
    const toml::node* node = take(key);
    if (!node) return fallback;
    if (auto value = node->value_exact<bool>()) return *value;
    complain(key, "is not a boolean, allowed is true or false");
    return fallback;
  }

  std::string text(const std::string& key, const std::string& fallback) {
    Value value;
    return get(key, &value) ? to_string(value) : fallback;
  }

  std::string required_text(const std::string& key, const std::string& allowed) {
    if (has(key)) return text(key, "");
    mistakes_.add(where_, field(key), "is missing, allowed is " + allowed);
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
      mistakes_.add(where_, field(key), "is missing, allowed is one of " + all);
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
    return Section(mistakes_, substitution_, table, field(key), where_);
  }

  std::vector<Section> sections(const std::string& key) {
    std::vector<Section> result;
    const toml::array* array = take_array(key, "[[" + field(key) + "]]");
    if (!array) return result;
    for (const toml::node& node : *array) {
      const std::string path = field(key) + "[" + std::to_string(result.size()) + "]";
      if (!node.is_table()) {
        mistakes_.add(node.source(), path, "is not a table, allowed is [[" + field(key) + "]]");
        continue;
      }
      result.emplace_back(mistakes_, substitution_, node.as_table(), path, node.source());
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
        mistakes_.add(node.source(), field(key),
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
      mistakes_.add(node.source(), field(key), "is not a number or a string");
      return false;
    }
    const auto text = node.value_exact<std::string>();
    if (!text) return true;
    try {
      *value = substitution_.apply(*text);
    } catch (const Error& e) {
      mistakes_.add(node.source(), field(key), e.what());
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
      mistakes_.add(node.source(), field(key), "\"" + to_string(value) + "\" is not a number");
  }

  Mistakes& mistakes_;
  const Substitution& substitution_;
  const toml::table* table_;
  std::string path_;
  toml::source_region where_;
  std::set<std::string> asked_;
};

constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr double kMaxNoiseNs = 1e9;

LinkSpec read_link(Section section, LinkSpec link) {
  link.rate_gbps = section.number("rate_gbps", link.rate_gbps, 0, 1600);
  link.delay_ns = section.integer("delay_ns", link.delay_ns, 0, 10'000'000'000);
  link.buffer_bytes = section.integer("buffer_bytes", link.buffer_bytes, 0, kMaxBytes);
  link.ecn_threshold_bytes =
      section.integer("ecn_threshold_bytes", link.ecn_threshold_bytes, 0, kMaxBytes);
  link.loss_ppm = section.integer("loss_ppm", link.loss_ppm, 0, 1'000'000);
  link.reorder_ppm = section.integer("reorder_ppm", link.reorder_ppm, 0, 1'000'000);
  link.reorder_delay_ns =
      section.integer("reorder_delay_ns", link.reorder_delay_ns, 0, 1'000'000'000);
  const double jitter_ns = section.number("jitter_ns", 0, 0, kMaxNoiseNs);
  const double scale = section.number("noise_scale", 1, 0, 1000);
  auto noise = section.quantiles("noise_ns", DCCPORT_QUANTILES_MAX, kMaxNoiseNs);
  if (section.has("jitter_ns") && section.has("noise_ns"))
    section.complain("jitter_ns", "and noise_ns are both given, allowed is one of the two");
  if (section.has("noise_scale") && !section.has("noise_ns"))
    section.complain("noise_scale", "is of no use without noise_ns");
  for (auto& [ppm, ns] : noise) ns = std::min(ns * scale, kMaxNoiseNs);
  if (jitter_ns > 0) noise = {{0, 0}, {1e6, jitter_ns}};
  if (section.has("jitter_ns") || section.has("noise_ns")) link.noise = noise;
  const bool prio =
      section.choice("qdisc", link.bands > 0 ? "prio" : "fifo", {"fifo", "prio"}) == "prio";
  const int bands =
      static_cast<int>(section.integer("bands", prio && link.bands == 0 ? 8 : link.bands, 2, 16));
  if (!prio && section.has("bands"))
    section.complain("bands", "is of no use without qdisc = \"prio\"");
  link.bands = prio ? bands : 0;
  section.finish();
  return link;
}

LineRate read_line_rate(Section& section, LineRate fallback) {
  const std::vector<std::string> names = {"automatic", "link"};
  const std::string name = section.choice("line_rate", names[static_cast<size_t>(fallback)], names);
  return static_cast<LineRate>(std::find(names.begin(), names.end(), name) - names.begin());
}

BaseRtt read_base_rtt(Section& section, BaseRtt fallback) {
  const std::vector<std::string> names = {"automatic", "longest", "path"};
  const std::string name = section.choice("base_rtt", names[static_cast<size_t>(fallback)], names);
  return static_cast<BaseRtt>(std::find(names.begin(), names.end(), name) - names.begin());
}

TopologySpec read_topology(Section& root) {
  TopologySpec topology;
  Section section = root.section("topology");
  const std::string kind =
      section.choice("kind", "", {"dumbbell", "incast", "parking-lot", "leaf-spine", "fat-tree"});
  if (kind == "dumbbell") {
    topology.kind = TopologyKind::kDumbbell;
    topology.senders = static_cast<int>(section.integer("senders", 1, 1, 2000));
    topology.receivers = static_cast<int>(section.integer("receivers", 1, 1, 2000));
  } else if (kind == "incast") {
    topology.kind = TopologyKind::kIncast;
    topology.senders = static_cast<int>(section.integer("senders", 1, 1, 2000));
  } else if (kind == "parking-lot") {
    topology.kind = TopologyKind::kParkingLot;
    topology.bottlenecks = static_cast<int>(section.integer("bottlenecks", 2, 1, 16));
    topology.hosts = static_cast<int>(section.integer("hosts", 1, 1, 100));
  } else if (kind == "leaf-spine") {
    topology.kind = TopologyKind::kLeafSpine;
    topology.leaves = static_cast<int>(section.integer("leaves", 2, 1, 64));
    topology.spines = static_cast<int>(section.integer("spines", 2, 1, 64));
    topology.hosts = static_cast<int>(section.integer("hosts", 4, 1, 100));
  } else {
    topology.kind = TopologyKind::kFatTree;
    topology.k = static_cast<int>(section.integer("k", 4, 2, 16));
    if (topology.k % 2 != 0)
      section.complain("k", std::to_string(topology.k) + " is odd, allowed is an even number");
  }
  topology.base_rtt_ns = section.integer("base_rtt_ns", 0, 1, 10'000'000'000);
  topology.spray = section.choice("spread", "flow", {"flow", "packet"}) == "packet";
  section.finish();

  topology.link = read_link(root.section("link"), LinkSpec());
  topology.host_link = read_link(root.section("host_link"), topology.link);
  Section bottleneck = root.section("bottleneck");
  const bool has_bottleneck =
      topology.kind != TopologyKind::kLeafSpine && topology.kind != TopologyKind::kFatTree;
  if (bottleneck.present() && !has_bottleneck)
    bottleneck.complain(
        "", "a " + kind + " has no bottleneck link, allowed are [link] and [host_link]");
  topology.bottleneck = read_link(std::move(bottleneck), topology.link);

  const bool delays = topology.link.delay_ns >= 0 || topology.host_link.delay_ns >= 0 ||
                      topology.bottleneck.delay_ns >= 0;
  if (delays && topology.base_rtt_ns > 0)
    section.complain("base_rtt_ns",
                     "and delay_ns of a link are both given, allowed is one of the two");
  if (topology.base_rtt_ns == 0 && (topology.link.delay_ns < 0 || topology.host_link.delay_ns < 0))
    section.complain("base_rtt_ns",
                     "is missing, allowed is base_rtt_ns here or delay_ns in [link]");
  return topology;
}

FlowSpec read_flow(Section& section, size_t index) {
  FlowSpec flow;
  flow.name = section.text("name", "flows" + std::to_string(index));
  flow.count = static_cast<int>(section.integer("count", 1, 0, 20000));
  flow.from = section.required_text("from", "a selector such as \"senders[0]\"");
  flow.to = section.required_text("to", "a selector such as \"receivers\"");
  flow.cc = section.text("cc", "");
  flow.start_ns = section.time_us("start_us", 0);
  flow.start_phase_ns = section.time_us("start_phase_us", 0);
  flow.start_jitter_ns = section.time_us("start_jitter_us", 0);
  flow.stagger_ns = section.time_us("stagger_us", 0);
  flow.stop_ns = section.time_us("stop_us", -1);
  flow.stop_phase_ns = section.time_us("stop_phase_us", 0);
  flow.stop_jitter_ns = section.time_us("stop_jitter_us", 0);
  flow.stop_stagger_ns = section.time_us("stop_stagger_us", 0);
  flow.size_bytes = section.integer("size_bytes", -1, 1, kMaxBytes);
  flow.repeat = static_cast<int>(section.integer("repeat", 1, 1, 20000));
  flow.repeat_ns = section.time_us("repeat_us", 0);
  flow.priority = section.integer("priority", -1, 0, 2'147'483'647);
  flow.dscp = static_cast<int>(section.integer("dscp", 0, 0, 63));
  flow.pacing_gbps = section.number("pacing_gbps", 0, 0, 1600);
  flow.pacing_steps = section.steps_us("pacing_steps", 0.001, 1600);
  flow.plot_each = section.choice("plot", "sum", {"sum", "each"}) == "each";
  if (flow.stop_ns >= 0 && flow.stop_ns <= flow.start_ns)
    section.complain("stop_us", "is not after start_us, allowed is a later time");
  if (flow.stop_ns < 0 && (flow.stop_phase_ns || flow.stop_jitter_ns || flow.stop_stagger_ns))
    section.complain("stop_us", "is missing, but the flow has a key stop_*_us");
  if (flow.repeat > 1 && flow.repeat_ns == 0)
    section.complain("repeat_us", "is missing, allowed is the time between two repetitions");
  section.finish();
  return flow;
}

WorkloadSpec read_workload(Section& section, const std::string& file, bool has_bottleneck) {
  WorkloadSpec spec;
  spec.present = section.present();
  if (!spec.present) return spec;
  spec.load = section.number("load", 0, 0.0001, 10);
  const std::string sizes = section.text("sizes", "websearch");
  const auto& built_in = EmpiricalCdf::built_in_names();
  try {
    const bool is_file = std::find(built_in.begin(), built_in.end(), sizes) == built_in.end();
    // Beside the scenario file, if it is not an absolute path.
    spec.sizes = std::make_shared<EmpiricalCdf>(EmpiricalCdf::find(
        is_file ? (std::filesystem::path(file).parent_path() / sizes).string() : sizes));
  } catch (const Error& e) {
    std::string names;
    for (const std::string& name : built_in) names += name + ", ";
    section.complain("sizes", std::string(e.what()) + "; allowed is one of " + names + "or a file");
  }
  const std::string whole = has_bottleneck ? "bottleneck" : "hosts";
  spec.load_of_hosts = section.choice("load_of", whole, {"bottleneck", "hosts"}) == "hosts";
  if (!spec.load_of_hosts && !has_bottleneck)
    section.complain("load_of", "this topology has no bottleneck, allowed is \"hosts\"");
  spec.from = section.text("from", has_bottleneck ? "senders" : "hosts");
  spec.to = section.text("to", has_bottleneck ? "receivers" : "hosts");
  spec.until_ns = section.time_us("until_us", -1, 1);
  spec.warm_up_ns = section.time_us("warm_up_us", 0);
  spec.cool_down_ns = section.time_us("cool_down_us", 0);

  const auto limits = [&](const std::string& key) {
    std::vector<int64_t> result;
    for (const double limit : section.numbers(key)) {
      if (limit < 1 || limit > static_cast<double>(kMaxBytes) || limit != std::floor(limit) ||
          (!result.empty() && limit <= static_cast<double>(result.back()))) {
        section.complain(key, "is not a list of limits, allowed are rising whole numbers of bytes");
        break;
      }
      result.push_back(static_cast<int64_t>(limit));
    }
    return result;
  };
  std::vector<int64_t> class_limits = {100'000, 1'000'000};
  if (section.has("class_limits_bytes")) class_limits = limits("class_limits_bytes");
  section.ignore("class_limits_bytes");
  std::vector<std::string> names = section.texts("class_names");
  if (names.empty() && class_limits.size() == 2) names = {"small", "medium", "large"};
  if (names.empty() && class_limits.size() == 1) names = {"small", "large"};
  if (names.size() != class_limits.size() + 1 && !(names.empty() && class_limits.empty()))
    section.complain("class_names", "has " + std::to_string(names.size()) +
                                        " names, allowed is one more than class_limits_bytes: " +
                                        std::to_string(class_limits.size() + 1));
  for (size_t i = 0; i < names.size(); i++) {
    const bool word =
        !names[i].empty() &&
        names[i].find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    if (!word || std::count(names.begin(), names.end(), names[i]) > 1) {
      section.complain("class_names", "\"" + names[i] +
                                          "\" is no name, allowed are different words "
                                          "of a-z, 0-9, _ and -");
      spec.classes.clear();
      break;
    }
    spec.classes.push_back({names[i], i < class_limits.size() ? class_limits[i] : -1});
  }
  spec.priority_limits_bytes = limits("priority_limits_bytes");
  spec.dscp_of_priority = section.boolean("dscp_of_priority", false);
  if (spec.dscp_of_priority && spec.priority_limits_bytes.size() > 63)
    section.complain("dscp_of_priority",
                     "a DSCP is at most 63, allowed are up to 63 priority_limits_bytes");
  SamplingSpec& sampling = spec.sampling;
  sampling.kind = section.choice("sampling", "plain", sampling_kinds());
  // A key of another kind is not read, so that finish() complains of it.
  if (sampling.kind == "stratified")
    sampling.group = static_cast<int>(section.integer("sampling_group", sampling.group, 2, 4096));
  if (sampling.kind == "tail") {
    sampling.from = section.number("sampling_from", sampling.from, 0, 0.999999);
    sampling.share = section.number("sampling_share", sampling.share, 0, 0.99);
  }
  if (sampling.kind == "lognormal") {
    sampling.shift = section.number("sampling_shift", sampling.shift, -3, 3);
    sampling.factor = section.number("sampling_factor", sampling.factor, 0.3, 3);
  }

  Section incast = section.section("incast");
  if (incast.present()) {
    spec.incast.fan_in = static_cast<int>(incast.integer("fan_in", 0, 1, 2000));
    spec.incast.size_bytes = incast.integer("size_bytes", 0, 1, kMaxBytes);
    spec.incast.load = incast.number("load", 0, 0.0001, 10);
    for (const char* key : {"fan_in", "size_bytes", "load"})
      if (!incast.has(key)) incast.complain(key, "is missing");
    incast.finish();
  } else if (!section.has("load")) {
    section.complain("load",
                     "is missing, allowed is a number from 0.0001 to 10, or "
                     "[workload.incast] alone");
  }
  section.finish();
  return spec;
}

EventSpec read_event(Section section) {
  EventSpec event;
  event.present = section.present();
  if (!event.present) return event;
  event.label = section.text("label", "");
  event.at_ns = section.time_us("at_us", -1);
  event.stop_of = section.text("stop_of", "");
  event.recovers = section.text("recovers", "");
  event.threshold = section.number("threshold", event.threshold, 0.01, 1);
  event.window_ns = section.integer("recover_window_ns", event.window_ns, 100, 1'000'000'000);
  event.horizon_ns = section.time_us("horizon_us", -1);
  if ((event.at_ns >= 0) == !event.stop_of.empty())
    section.complain("", "allowed is exactly one of at_us and stop_of");
  section.finish();
  return event;
}

MeasureSpec read_measure(Section section, const std::string& default_log) {
  MeasureSpec measure;
  if (!section.has("duration_us"))
    section.complain("duration_us", "is missing, allowed is a number from 1 to 1e9");
  measure.duration_ns = section.time_us("duration_us", 1000, 1);
  measure.from_ns = section.time_us("from_us", 0);
  measure.to_ns = section.time_us("to_us", measure.duration_ns);
  measure.exclude_ns = section.intervals_us("exclude_us");
  measure.queue_ns = section.intervals_us("queue_us");
  measure.rtt_ns = section.intervals_us("rtt_us");
  measure.suppress_delay_ns = section.time_us("suppress_delay_us", kNever, 1);
  measure.suppress_hold_ns = section.time_us("suppress_hold_us", 0);
  if (measure.suppress_hold_ns > 0 && measure.suppress_delay_ns < 0)
    section.complain("suppress_hold_us", "is of no use without suppress_delay_us");
  measure.bin_ns = section.integer("bin_ns", measure.bin_ns, 100, 1'000'000'000);
  measure.jain_window_ns = section.time_us("jain_window_us", measure.jain_window_ns, 1);
  measure.jain_threshold = section.number("jain_threshold", measure.jain_threshold, 0, 1);
  measure.settle_ns = section.time_us("settle_us", measure.settle_ns);
  measure.takeover_window_ns = section.time_us("takeover_window_us", measure.takeover_window_ns, 1);
  measure.takeover_threshold =
      section.number("takeover_threshold", measure.takeover_threshold, 0.01, 1);
  measure.flows = section.texts("flows");
  const std::vector<std::string> logs = {"none", "bottleneck", "all", "every"};
  measure.log = static_cast<LogChoice>(
      std::find(logs.begin(), logs.end(), section.choice("log", default_log, logs)) - logs.begin());
  measure.gradient_of = section.text("gradient_of", "");
  if (measure.to_ns <= measure.from_ns || measure.to_ns > measure.duration_ns)
    section.complain("to_us", "allowed is after from_us and at most duration_us");
  section.finish();
  return measure;
}

std::string read_metric(Section& section, const std::string& key, const WorkloadSpec& workload) {
  std::vector<std::string> names;
  for (const MetricInfo& info : all_metrics()) names.push_back(info.name);
  for (const SizeClass& c : workload.classes)
    for (const MetricInfo& info : all_metrics())
      if (has_classes(info)) names.push_back(c.name + "." + info.name);
  return section.choice(key, "", names);
}

void check_workload(const Scenario& s, const Network& network, Section& section) {
  const WorkloadSpec& spec = s.workload;
  const int64_t until_ns = spec.until_ns < 0 ? s.measure.duration_ns : spec.until_ns;
  if (until_ns > s.measure.duration_ns)
    section.complain("until_us", "is after the end, allowed is at most measure.duration_us");
  if (spec.warm_up_ns + spec.cool_down_ns >= until_ns)
    section.complain("warm_up_us",
                     "and cool_down_us leave nothing, allowed is less than the time "
                     "of arrivals together");
  const std::pair<const char*, std::string> selectors[] = {{"from", spec.from}, {"to", spec.to}};
  for (const auto& [key, selector] : selectors) try {
      network.select(selector);
    } catch (const Error& e) {
      section.complain(key, e.what());
      return;
    }
  try {
    const WorkloadHosts hosts = workload_hosts(s, network);
    const std::set<int> sources(hosts.sources.begin(), hosts.sources.end());
    const std::set<int> destinations(hosts.destinations.begin(), hosts.destinations.end());
    size_t fewest = sources.size();  // hosts that may send to one destination
    for (const int host : destinations)
      fewest = std::min(fewest, sources.size() - sources.count(host));
    if (destinations.size() == 1 && sources.count(*destinations.begin()))
      section.complain("to", "a host of \"from\" would send to itself, allowed is another");
    if (static_cast<size_t>(spec.incast.fan_in) > fewest)
      section.complain("incast", "fan_in " + std::to_string(spec.incast.fan_in) +
                                     " is more than the hosts of \"from\", allowed is up to " +
                                     std::to_string(fewest));
    const double flows = expected_flows(spec, hosts, s.measure.duration_ns);
    if (flows > 0.9 * kMaxFlows)
      section.complain("load", "gives " + std::to_string(std::llround(flows)) +
                                   " flows per trial, allowed are at most " +
                                   std::to_string(kMaxFlows * 9 / 10));
  } catch (const Error& e) {
    section.complain("load", e.what());
  }
}

// What only the whole network shows.
void check_network(const Scenario& s, Section& root, std::vector<Section>& port_sections,
                   std::vector<Section>& flow_sections, Section& workload) {
  Network network;
  Section topology = root.section("topology");
  try {
    TopologySpec links = s.topology;
    links.port_gbps.clear();
    network = build_network(links, s.hosts);
  } catch (const Error& e) {
    topology.complain("base_rtt_ns", e.what());
    return;
  }
  for (Section& section : port_sections) {
    const std::string name = section.text("name", "");
    if (network.port_named(name) < 0)
      section.complain("name", "\"" + name + "\" is no port, allowed is one such as \"" +
                                   network.links.front().a.port.name + "\"");
  }
  if (network.bottleneck_port >= 0 && network.port(network.bottleneck_port).rate_bps == 0)
    topology.complain("", "the bottleneck is infinitely fast, allowed is a rate_gbps above 0");
  if (s.workload.present) check_workload(s, network, workload);
  for (size_t i = 0; i < s.flows.size(); i++) {
    const FlowSpec& flow = s.flows[i];
    std::vector<int> ends[2];
    const std::pair<const char*, std::string> selectors[] = {{"from", flow.from}, {"to", flow.to}};
    bool right = true;
    for (int end = 0; end < 2; end++) try {
        ends[end] = network.select(selectors[end].second);
      } catch (const Error& e) {
        flow_sections[i].complain(selectors[end].first, e.what());
        right = false;
      }
    for (size_t n = 0; right && n < static_cast<size_t>(flow.count); n++)
      if (ends[0][n % ends[0].size()] == ends[1][n % ends[1].size()]) {
        flow_sections[i].complain("to", "member " + std::to_string(n) +
                                            " would go from a host to itself, allowed is another");
        break;
      }
  }
  Section algorithms = root.section("algorithms");
  for (const auto& [name, spec] : s.algorithm_specs) try {
      sender_sysctls(s, network, spec);
    } catch (const Error& e) {
      algorithms.section(name).complain("sender_sysctl", e.what());
    }
}

Expectation read_expectation(Section& section, const WorkloadSpec& workload) {
  Expectation expectation;
  expectation.algorithm = section.required_text("algorithm", "an algorithm's name");
  expectation.metric = read_metric(section, "metric", workload);
  expectation.statistic = section.choice("statistic", "mean", {"mean", "max", "min"});
  expectation.every_case = section.boolean("every_case", false);
  expectation.of_case = section.text_map("of_case");
  expectation.of = section.text("of", expectation.of_case.empty() ? "" : expectation.algorithm);
  if (!expectation.of.empty() && expectation.statistic != "mean")
    section.complain("statistic", "of a ratio to another algorithm or case is \"mean\"");
  const double limit = 1e18;
  const bool has_value = section.has("value");
  const bool has_within = section.has("within_percent");
  expectation.has_min = section.has("min");
  expectation.has_max = section.has("max");
  expectation.min = section.number("min", 0, -limit, limit);
  expectation.max = section.number("max", 0, -limit, limit);
  const double value = section.number("value", 0, -limit, limit);
  const double within = section.number("within_percent", 0, 0, 1000);
  if (has_value != has_within)
    section.complain("value", "value and within_percent belong together");
  else if (has_value == (expectation.has_min || expectation.has_max))
    section.complain("", "allowed is min and/or max, or value with within_percent");
  std::string text;
  if (has_value) {
    expectation.has_min = expectation.has_max = true;
    expectation.min = value - std::abs(value) * within / 100;
    expectation.max = value + std::abs(value) * within / 100;
    text = "= " + format_number(value) + " +- " + format_number(within) + " %";
  } else {
    if (expectation.has_min) text = ">= " + format_number(expectation.min);
    if (expectation.has_max)
      text += (text.empty() ? "" : " and ") + ("<= " + format_number(expectation.max));
  }
  if (expectation.statistic != "mean") text = "(" + expectation.statistic + ") " + text;
  if (!expectation.of.empty()) {
    text += " of";
    if (expectation.of != expectation.algorithm) text += " " + expectation.of;
    for (const auto& [name, value] : expectation.of_case)
      text +=
          (&name == &expectation.of_case.begin()->first ? " with " : ", ") + name + " = " + value;
  }
  expectation.text = text;
  section.finish();
  return expectation;
}

}  // namespace

struct ScenarioFile::Document {
  std::string path;
  std::string text;
  std::vector<std::string> overrides;
  toml::table table;
  Parameters main;
  std::vector<std::pair<std::string, std::vector<Value>>> lists;
  std::map<std::string, std::string> set;  // by --set: key or parameter, value's text

  void read_sweep(Mistakes* mistakes);
  Scenario read(const Parameters& parameters, Mistakes* mistakes) const;
  void blame_overrides(const Parameters& parameters, Mistakes* mistakes) const;
};

namespace {

[[noreturn]] void throw_syntax(const std::string& file, const toml::parse_error& e) {
  throw ScenarioError(file + ":" + std::to_string(e.source().begin.line) +
                      ": syntax: " + std::string(e.description()) + ", allowed is TOML 1.0");
}

// The value of "--set key=value" as TOML would read it; a bare word is a string.
toml::table parse_override(const std::string& text, const std::string& name) {
  try {
    return toml::parse("value = " + text, name);
  } catch (const toml::parse_error&) {
    // Parsed as well, so that a mistake in it names this text and not a line of the file.
    std::string quoted;
    for (const char c : text)
      quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    try {
      return toml::parse("value = \"" + quoted + "\"", name);
    } catch (const toml::parse_error& e) {
      throw ScenarioError(name + ": " + std::string(e.description()));
    }
  }
}

// Moves the value, as a copy would forget where it came from.
void apply_override(toml::table& root, const std::string& key, toml::node&& value,
                    const std::string& name) {
  toml::node* at = &root;
  size_t begin = 0;
  for (;;) {
    const size_t dot = key.find('.', begin);
    const std::string part = key.substr(begin, dot - begin);
    const bool last = dot == std::string::npos;
    if (toml::table* table = at->as_table()) {
      if (last) {
        table->insert_or_assign(part, std::move(value));
        return;
      }
      if (!table->contains(part)) table->insert(part, toml::table());
      at = table->get(part);
    } else if (toml::array* array = at->as_array()) {
      Value index;
      if (!parse_number(part, &index) || !std::get_if<int64_t>(&index) ||
          std::get<int64_t>(index) < 0 ||
          std::get<int64_t>(index) >= static_cast<int64_t>(array->size()))
        throw ScenarioError(name + ": " + key + ": \"" + part + "\" is no index, allowed is 0 to " +
                            std::to_string(static_cast<int64_t>(array->size()) - 1));
      at = array->get(static_cast<size_t>(std::get<int64_t>(index)));
      if (last)
        throw ScenarioError(name + ": " + key + ": names a whole element, allowed is a key");
    } else {
      throw ScenarioError(name + ": " + key + ": \"" + part +
                          "\" is below a value that is no table");
    }
    begin = dot + 1;
  }
}

}  // namespace

void ScenarioFile::Document::read_sweep(Mistakes* mistakes) {
  if (const toml::node* node = table.get("sweep")) {
    const toml::table* sweep = node->as_table();
    if (!sweep) mistakes->add(node->source(), "sweep", "is not a table, allowed is [sweep]");
    const toml::table* of_main = sweep ? sweep->get_as<toml::table>("main") : nullptr;
    if (sweep && !of_main)
      mistakes->add(node->source(), "sweep.main",
                    "is missing, allowed is the main case: main = { name = value, ... }");
    if (of_main)
      for (const auto& [key, value] : *of_main) {
        Value v;
        if (to_value(value, &v))
          main[std::string(key.str())] = v;
        else
          mistakes->add(value.source(), "sweep.main." + std::string(key.str()),
                        "is not a number or a string");
      }
    // The table is sorted by key; the file's order is that of the lines.
    std::vector<std::pair<std::pair<unsigned, unsigned>, std::string>> order;
    if (of_main)
      for (const auto& [key, value] : *sweep)
        if (key.str() != "main")
          order.push_back(
              {{value.source().begin.line, value.source().begin.column}, std::string(key.str())});
    std::sort(order.begin(), order.end());
    for (const auto& [position, key] : order) {
      const toml::node& list = *sweep->get(key);
      const std::string field = "sweep." + key;
      if (!main.count(key))
        mistakes->add(list.source(), field,
                      "sweep.main has no \"" + key + "\", allowed are its keys");
      std::vector<Value> values;
      if (const toml::array* array = list.as_array())
        for (const toml::node& item : *array) {
          Value v;
          if (to_value(item, &v)) values.push_back(v);
        }
      if (values.empty() || values.size() != list.as_array()->size())
        mistakes->add(list.source(), field, "is not a list, allowed are numbers or strings");
      lists.emplace_back(key, values);
    }
    double cases = 1;
    for (const auto& [key, values] : lists) cases *= static_cast<double>(values.size());
    if (cases > kMaxCases)
      mistakes->add(node->source(), "sweep",
                    "has " + format_number(cases) + " cases, allowed are at most " +
                        std::to_string(kMaxCases));
  }
}

ScenarioFile::ScenarioFile(const std::string& path, const std::vector<std::string>& overrides)
    : ScenarioFile(path, read_file(path), overrides) {}

ScenarioFile::ScenarioFile(const std::string& path, const std::string& text,
                           const std::vector<std::string>& overrides)
    : document_(std::make_unique<Document>()) {
  document_->path = path;
  try {
    document_->table = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw_syntax(path, e);
  }
  document_->text = text;
  document_->overrides = overrides;
  const auto split = [](const std::string& item) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ScenarioError("--set " + item + ": is not key=value");
    return std::make_pair(item.substr(0, equals), item.substr(equals + 1));
  };
  const auto of_sweep = [](const std::string& key) {
    return key == "sweep" || key.rfind("sweep.", 0) == 0;
  };
  const auto apply = [&](const std::string& item) {
    const auto [key, value_text] = split(item);
    const std::string name = "--set " + item;
    toml::table value = parse_override(value_text, name);
    apply_override(document_->table, key, std::move(*value.get("value")), name);
  };
  // The sweep says which names are parameters, so its own keys come first.
  for (const std::string& item : overrides)
    if (of_sweep(split(item).first)) apply(item);
  Mistakes mistakes(path);
  document_->read_sweep(&mistakes);
  mistakes.throw_if_any();

  for (const std::string& item : overrides) {
    const auto [key, value_text] = split(item);
    document_->set[key] = value_text;
    if (of_sweep(key)) continue;
    if (!document_->main.count(key)) {
      apply(item);
      continue;
    }
    const std::string name = "--set " + item;
    const toml::table value = parse_override(value_text, name);
    if (!to_value(*value.get("value"), &document_->main[key]))
      throw ScenarioError(name + ": is not a number or a string" +
                          (value.get("value")->is_array()
                               ? "; the values of a sweep are --set sweep." + key + "=[...]"
                               : ""));
  }
}

ScenarioFile::~ScenarioFile() = default;
ScenarioFile::ScenarioFile(ScenarioFile&&) noexcept = default;

const Parameters& ScenarioFile::main_parameters() const { return document_->main; }

std::vector<Parameters> ScenarioFile::sweep() const {
  if (document_->lists.empty()) return {};
  std::vector<Parameters> cases = {document_->main};
  for (const auto& [key, values] : document_->lists) {
    std::vector<Parameters> more;
    for (const Parameters& base : cases)
      for (const Value& value : values) {
        more.push_back(base);
        more.back()[key] = value;
      }
    cases = std::move(more);
  }
  if (std::find(cases.begin(), cases.end(), document_->main) == cases.end())
    cases.insert(cases.begin(), document_->main);
  return cases;
}

Scenario ScenarioFile::resolve(const Parameters& parameters) const {
  Mistakes mistakes(document_->path);
  Scenario scenario = document_->read(parameters, &mistakes);
  document_->blame_overrides(parameters, &mistakes);
  mistakes.throw_if_any();
  return scenario;
}

// A mistake at a place of the file that is not there without the overrides is the fault of one of
// them: of the last one without which it is not there. (It took a value by ${...}, or it does not
// fit the key beside it.)
void ScenarioFile::Document::blame_overrides(const Parameters& parameters,
                                             Mistakes* mistakes) const {
  const auto of_file = [&](const Mistakes::Mistake& m) { return mistakes->of_file(m); };
  std::vector<Mistakes::Mistake>& found = mistakes->found();
  for (size_t count = overrides.size(); count-- > 0;) {  // the file with ever fewer overrides
    if (std::none_of(found.begin(), found.end(), of_file)) return;
    Mistakes fewer(path);
    try {
      const ScenarioFile file(
          path, text, {overrides.begin(), overrides.begin() + static_cast<std::ptrdiff_t>(count)});
      const Parameters& file_main = file.document_->main;
      Parameters own = parameters;
      for (auto& [name, value] : own) {
        // The main case's value; that of a sweep's list stays.
        const auto now = main.find(name);
        const auto then = file_main.find(name);
        if (now != main.end() && then != file_main.end() && value == now->second)
          value = then->second;
      }
      file.document_->read(own, &fewer);
    } catch (const ScenarioError&) {
      continue;  // they are not even read without the one left out
    }
    for (Mistakes::Mistake& mistake : found) {
      if (!of_file(mistake) || fewer.has(mistake.what)) continue;
      mistake.line = 0;
      mistake.place = "--set " + overrides[count];
    }
  }
}

Scenario ScenarioFile::Document::read(const Parameters& parameters, Mistakes* found) const {
  Mistakes& mistakes = *found;
  const Substitution substitution(parameters);
  Section root(mistakes, substitution, &table, "", table.source());
  root.ignore("sweep");

  Scenario s;
  s.name = root.required_text("name", "the scenario's name");
  s.title = root.text("title", s.name);
  s.claim = root.text("claim", "");
  s.text = root.text("text", "");
  s.notes = root.texts("notes");
  s.trials = static_cast<int>(root.integer("trials", s.trials, 1, 100000));
  s.algorithms = root.texts("cc");
  if (const std::string mistake = algorithms_mistake(s.algorithms); !mistake.empty())
    root.complain("cc", mistake);
  s.subject = root.text("subject", "");
  s.focus_us = root.numbers("focus_us");
  if (!s.focus_us.empty() && (s.focus_us.size() != 2 || s.focus_us[0] >= s.focus_us[1]))
    root.complain("focus_us", "is not a view, allowed is [from, to] with from < to");

  s.topology = read_topology(root);

  std::vector<Section> port_sections = root.sections("port");
  for (Section& section : port_sections) {
    const std::string port = section.required_text("name", "\"from->to\", two neighbours");
    if (!section.has("rate_gbps"))
      section.complain("rate_gbps", "is missing, allowed is a number from 0.001 to 1600");
    const double gbps = section.number("rate_gbps", 1, 0.001, 1600);
    if (!s.topology.port_gbps.emplace(port, gbps).second)
      section.complain("name", "\"" + port + "\" was given before");
    section.finish();
  }

  Section hosts = root.section("hosts");
  s.hosts.mtu_bytes = static_cast<int>(hosts.integer("mtu", s.hosts.mtu_bytes, 576, 9000));
  s.hosts.quickack = hosts.boolean("quickack", s.hosts.quickack);
  s.hosts.ack_dscp = static_cast<int>(hosts.integer("ack_dscp", 0, 0, 63));
  s.hosts.initcwnd = static_cast<int>(hosts.integer("initcwnd", 0, 0, 65535));
  s.hosts.rto_min_ms = static_cast<int>(hosts.integer("rto_min_ms", 0, 0, 10000));
  s.hosts.gso = hosts.boolean("gso", s.hosts.gso);
  // A workload's connections have their windows opened for them, so a hello is enough.
  if (root.has("workload")) s.hosts.warm_bytes = kHelloBytes;
  s.hosts.warm_bytes = hosts.integer("warm_bytes", s.hosts.warm_bytes, 0, 100'000'000);
  s.hosts.line_rate = read_line_rate(hosts, s.hosts.line_rate);
  s.hosts.base_rtt = read_base_rtt(hosts, s.hosts.base_rtt);
  s.hosts.sysctls = hosts.text_map("sysctl");
  hosts.finish();

  Section algorithms = root.section("algorithms");
  for (const std::string& name : algorithms.keys()) {
    Section section = algorithms.section(name);
    AlgorithmSpec& spec = s.algorithm_specs[name];
    spec.cc = section.text("cc", name);
    spec.label = section.text("label", name);
    spec.note = section.text("note", "");
    spec.initcwnd = static_cast<int>(section.integer("initcwnd", 0, 0, 65535));
    section.ignore("line_rate");
    if (section.has("line_rate")) spec.line_rate = read_line_rate(section, s.hosts.line_rate);
    section.ignore("base_rtt");
    if (section.has("base_rtt")) spec.base_rtt = read_base_rtt(section, s.hosts.base_rtt);
    spec.sysctls = section.text_map("sysctl");
    Section senders = section.section("sender_sysctl");
    for (const std::string& group : senders.keys())
      spec.sender_sysctls[group] = senders.text_map(group);
    section.finish();
  }

  std::set<std::string> groups;
  std::vector<Section> flow_sections = root.sections("flows");
  Section workload = root.section("workload");
  const bool has_bottleneck =
      s.topology.kind != TopologyKind::kLeafSpine && s.topology.kind != TopologyKind::kFatTree;
  s.workload = read_workload(workload, path, has_bottleneck);
  if (flow_sections.empty() && !s.workload.present)
    root.complain("flows", "is missing, allowed is at least one [[flows]] or a [workload]");
  for (Section& section : flow_sections) {
    s.flows.push_back(read_flow(section, s.flows.size()));
    if (!groups.insert(s.flows.back().name).second)
      section.complain("name", "\"" + s.flows.back().name + "\" was given before");
  }
  const std::set<std::string> flow_groups = groups;
  for (const std::string& group : workload_groups(s.workload))
    if (!groups.insert(group).second)
      workload.complain("", "\"" + group +
                                "\" is also a group of [[flows]], allowed is another "
                                "name there or in class_names");
  if (root.has("main_metric")) s.main_metric = read_metric(root, "main_metric", s.workload);
  root.ignore("main_metric");
  std::string group_names;
  for (const std::string& g : groups) group_names += (group_names.empty() ? "" : ", ") + g;

  Section event = root.section("event");
  s.event = read_event(event);
  Section measure = root.section("measure");
  s.measure = read_measure(measure, !s.workload.present ? "all"
                                    : has_bottleneck    ? "bottleneck"
                                                        : "none");
  auto check_group = [&](Section& section, const char* key, const std::string& group) {
    if (!group.empty() && !groups.count(group))
      section.complain(key, "\"" + group + "\" is no flow group, allowed is one of " + group_names);
  };
  check_group(event, "stop_of", s.event.stop_of);
  check_group(event, "recovers", s.event.recovers);
  check_group(measure, "gradient_of", s.measure.gradient_of);
  for (const std::string& group : s.measure.flows) check_group(measure, "flows", group);
  if (s.event.present && s.event.at_ns > s.measure.duration_ns)
    event.complain("at_us", "is after the end, allowed is at most measure.duration_us");

  for (Section& section : root.sections("expect")) {
    s.expectations.push_back(read_expectation(section, s.workload));
    const Expectation& e = s.expectations.back();
    auto check_algorithm = [&](const char* key, const std::string& name) {
      if (!s.algorithm_specs.count(name) &&
          std::find(s.algorithms.begin(), s.algorithms.end(), name) == s.algorithms.end())
        section.complain(key, "\"" + name + "\" is not in cc and has no [algorithms] section");
    };
    check_algorithm("algorithm", e.algorithm);
    if (!e.of.empty() && e.of != e.algorithm) check_algorithm("of", e.of);
    if (e.of == e.algorithm && e.of_case.empty())
      section.complain("of", "is the algorithm itself, allowed is another one, or an of_case");
    std::string names;
    for (const auto& [name, value] : parameters) names += (names.empty() ? "" : ", ") + name;
    for (const auto& [name, value] : e.of_case)
      if (!parameters.count(name))
        section.complain("of_case", "\"" + name + "\" is no parameter, the [sweep] section has " +
                                        (names.empty() ? "none" : names));
  }
  std::vector<std::string> parameter_names;
  for (const auto& [name, value] : main) parameter_names.push_back(name);
  root.finish(parameter_names);
  std::string flow_group_names;
  for (const std::string& g : flow_groups)
    flow_group_names += (flow_group_names.empty() ? "" : ", ") + g;
  for (auto& [name, spec] : s.algorithm_specs) {
    Section section = algorithms.section(name);
    for (const auto& [group, sysctls] : spec.sender_sysctls)
      if (!flow_groups.count(group))
        section.complain("sender_sysctl", "\"" + group + "\" is no flow group, allowed is one of " +
                                              flow_group_names);
  }
  if (!mistakes.any()) check_network(s, root, port_sections, flow_sections, workload);
  if (s.subject.empty() && !s.algorithms.empty()) s.subject = s.algorithms.front();
  s.overrides = set;
  return s;
}

void ScenarioFile::check_algorithms(const Scenario& s, const std::string& option,
                                    const std::vector<std::string>& asked,
                                    const std::vector<std::string>& known) const {
  Mistakes mistakes(document_->path);
  std::vector<std::string> names = known;
  for (const auto& [name, spec] : s.algorithm_specs) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const toml::table& table = document_->table;
  const auto check = [&](const std::string& name, const toml::node* node,
                         const std::string& field) {
    const std::string cc = s.algorithm(name).cc;
    if (std::find(known.begin(), known.end(), cc) != known.end()) return;
    const bool renamed = cc != name;
    const toml::node* spec = table.at_path("algorithms." + name + ".cc").node();
    const std::string what = "\"" + cc + "\" is no algorithm of this lab, allowed is one of " +
                             listed(renamed ? known : names) +
                             nearest_text(cc, renamed ? known : names);
    if (renamed && spec)
      mistakes.add(spec->source(), "algorithms." + name + ".cc", what);
    else if (node)
      mistakes.add(node->source(), field, what);
    else
      throw ScenarioError(field + ": " + what);
  };
  for (const std::string& name : asked) check(name, nullptr, option);
  if (asked.empty())
    for (const std::string& name : s.algorithms) check(name, table.get("cc"), "cc");
  for (size_t i = 0; i < s.flows.size(); i++) {
    const std::string field = "flows[" + std::to_string(i) + "]";
    if (!s.flows[i].cc.empty())
      check(s.flows[i].cc, table.at_path(field + ".cc").node(), field + ".cc");
  }
  mistakes.throw_if_any();
}

AlgorithmSpec Scenario::algorithm(const std::string& name) const {
  const auto it = algorithm_specs.find(name);
  if (it != algorithm_specs.end()) return it->second;
  AlgorithmSpec spec;
  spec.cc = spec.label = name;
  return spec;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "scenario/expression.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace delaycc {

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

bool to_number(const Value& value, double* number) {
  if (std::holds_alternative<std::string>(value)) return false;
  const auto* integer = std::get_if<int64_t>(&value);
  *number = integer ? static_cast<double>(*integer) : std::get<double>(value);
  return true;
}

std::string format_number(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e9)) return to_string(Value(value));
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed).ptr;
  return std::string(text, end);
}

namespace {

Value combine(const Value& left, const std::string& op, const Value& right) {
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
  if (result == std::floor(result) && std::abs(result) < 9e15) return static_cast<int64_t>(result);
  return result;
}

}  // namespace

Value Substitution::apply(const std::string& text) const {
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

Value Substitution::evaluate(const std::string& expression) const {
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
  for (size_t i = 1; i < words.size(); i += 2) value = combine(value, words[i], term(words[i + 1]));
  return value;
}

Value Substitution::term(const std::string& word) const {
  Value value;
  if (parse_number(word, &value)) return value;
  const auto it = parameters_.find(word);
  if (it != parameters_.end()) return it->second;
  std::string known;
  for (const auto& [name, unused] : parameters_) known += (known.empty() ? "" : ", ") + name;
  throw Error("unknown parameter \"" + word + "\" in ${}; the [sweep] section has " +
              (known.empty() ? "none" : known));
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// ${...} in the strings of a scenario file.
#ifndef DELAYCC_HARNESS_SCENARIO_EXPRESSION_H_
#define DELAYCC_HARNESS_SCENARIO_EXPRESSION_H_

#include <string>
#include <string_view>

#include "spec/scenario.h"

namespace delaycc {

// An integer or a number; false for other text.
bool parse_number(std::string_view text, Value* value);
// False for a string.
bool to_number(const Value& value, double* number);
// As people write it: 100000, not 1e+05.
std::string format_number(double value);

// Substitutes ${...} in the strings of a file.
class Substitution {
 public:
  explicit Substitution(const Parameters& parameters) : parameters_(parameters) {}

  // A string that is one ${...} takes the expression's value and type; in other strings the value's
  // text is put in. Throws Error.
  Value apply(const std::string& text) const;

 private:
  // "term op term op term ...", from left to right.
  Value evaluate(const std::string& expression) const;
  Value term(const std::string& word) const;

  const Parameters& parameters_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SCENARIO_EXPRESSION_H_

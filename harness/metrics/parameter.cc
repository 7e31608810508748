// SPDX-License-Identifier: Apache-2.0
#include "metrics/parameter.h"

#include <cmath>

#include "plan/plan.h"

namespace delaycc {
namespace {

template <typename T>
T value_of(const MeasureSpec& measure, const Parameter& parameter) {
  const auto it = measure.parameters.find(parameter.key);
  return std::get<T>(it == measure.parameters.end() ? parameter.default_value() : it->second);
}

}  // namespace

MeasureValue Parameter::default_value() const {
  switch (type) {
    case Type::kTime:
      return fallback < 0 ? int64_t{kNever} : static_cast<int64_t>(std::llround(fallback * 1000));
    case Type::kInteger:
      return static_cast<int64_t>(fallback);
    case Type::kNumber:
      return fallback;
    case Type::kIntervals:
      return std::vector<TimeSpan>();
    case Type::kGroup:
      break;
  }
  return std::string();
}

bool Parameter::is_set(const MeasureSpec& measure) const {
  const auto it = measure.parameters.find(key);
  return it != measure.parameters.end() && it->second != default_value();
}

int64_t Parameter::ns(const MeasureSpec& measure) const {
  return value_of<int64_t>(measure, *this);
}

int64_t Parameter::whole(const MeasureSpec& measure) const {
  return value_of<int64_t>(measure, *this);
}

double Parameter::value(const MeasureSpec& measure) const {
  return value_of<double>(measure, *this);
}

std::vector<TimeSpan> Parameter::spans(const MeasureSpec& measure) const {
  return value_of<std::vector<TimeSpan>>(measure, *this);
}

std::string Parameter::name(const MeasureSpec& measure) const {
  return value_of<std::string>(measure, *this);
}

}  // namespace delaycc

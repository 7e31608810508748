// SPDX-License-Identifier: Apache-2.0
#include "run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "metrics/catalogue.h"
#include "scenario/expression.h"

namespace delaycc {
namespace {

AlgorithmSummary summarise_trials(const std::vector<TrialResult>& trials) {
  std::map<std::string, std::vector<double>> values;
  AlgorithmSummary result;
  result.trials = static_cast<int>(trials.size());
  for (const TrialResult& trial : trials)
    for (const auto& [name, metric] : trial.metrics) {
      values[name].push_back(metric.value);
      result.metrics[name].missed += metric.missed;
    }
  for (auto& [name, metric] : result.metrics) metric.summary = summarise(values[name]);
  return result;
}

// The case that an expectation compares `c` with; nullptr if that did not run.
const CaseResult* reference_case(const RunResult& run, const CaseResult& c, const Expectation& e) {
  std::map<std::string, std::string> wanted = e.of_case;
  for (const auto& [name, value] : c.parameters) wanted.emplace(name, to_string(value));
  for (const CaseResult& other : run.cases)
    if (std::all_of(other.parameters.begin(), other.parameters.end(), [&](const auto& parameter) {
          return wanted[parameter.first] == to_string(parameter.second);
        }))
      return &other;
  return nullptr;
}

// A metric of two trials of the same number.
using ValuePair = std::pair<MetricValue, MetricValue>;
std::vector<ValuePair> value_pairs(const std::vector<TrialResult>& trials,
                                   const std::vector<TrialResult>& of, const std::string& metric) {
  std::map<int, MetricValue> others;
  for (const TrialResult& trial : of)
    if (const auto value = trial.metrics.find(metric);
        trial.number >= 0 && value != trial.metrics.end())
      others[trial.number] = value->second;
  std::vector<ValuePair> result;
  for (const TrialResult& trial : trials) {
    const auto value = trial.metrics.find(metric);
    const auto other = others.find(trial.number);
    if (value != trial.metrics.end() && other != others.end())
      result.emplace_back(value->second, other->second);
  }
  return result;
}

// Ratios over pairs of trials; empty where a trial of either has no pair or no ratio.
std::vector<double> ratios(const std::vector<TrialResult>& trials,
                           const std::vector<TrialResult>& of, const std::string& metric,
                           bool* missed, bool* of_missed) {
  const std::vector<ValuePair> pairs = value_pairs(trials, of, metric);
  if (pairs.size() != trials.size() || pairs.size() != of.size()) return {};
  std::vector<double> result;
  for (const auto& [value, other] : pairs) {
    if (other.value == 0) return {};
    *missed = *missed || value.missed;
    *of_missed = *of_missed || other.missed;
    result.push_back(value.value / other.value);
  }
  return result;
}

// How far every algorithm is from the one with the best mean.
void compare_with_best(const CaseResult& c, const std::vector<std::string>& algorithms,
                       std::map<std::string, AlgorithmSummary>* summaries) {
  std::map<std::string, std::string> best;  // by metric
  const auto mean = [&](const std::string& algorithm, const std::string& metric) {
    return summaries->at(algorithm).metrics.at(metric).summary.mean;
  };
  for (const std::string& algorithm : algorithms) {
    const auto summary = summaries->find(algorithm);
    if (summary == summaries->end()) continue;
    for (const auto& [name, metric] : summary->second.metrics) {
      const MetricInfo* info = find_metric(name);
      if (!info || info->better == Better::kNeither || metric.missed > 0) continue;
      std::string& first = best.emplace(name, algorithm).first->second;
      const double ahead = mean(first, name) - mean(algorithm, name);
      if (info->better == Better::kLower ? ahead > 0 : ahead < 0) first = algorithm;
    }
  }
  for (auto& [algorithm, summary] : *summaries)
    for (auto& [name, metric] : summary.metrics) {
      const auto first = best.find(name);
      if (first == best.end() || first->second == algorithm) continue;
      std::vector<double> differences;
      for (const auto& [value, other] :
           value_pairs(c.trials.at(algorithm), c.trials.at(first->second), name))
        differences.push_back(value.value - other.value);
      if (differences.size() > 1)
        metric.difference = PairedDifference{first->second, summarise(differences)};
    }
}

// How far the values are inside of the limits, as a share of the limit (of a limit of 0: in its
// unit); below 0 outside.
double limit_margin(const Expectation& e, double low, double high) {
  const auto share = [](double room, double limit) {
    return limit == 0 ? room : room / std::abs(limit);
  };
  double margin = std::numeric_limits<double>::infinity();
  if (e.has_min) margin = std::min(margin, share(low - e.min, e.min));
  if (e.has_max) margin = std::min(margin, share(e.max - high, e.max));
  return margin;
}

// What an expectation found in one case, or along one line of cases.
struct Finding {
  bool measured = false;
  bool missed = false;     // in a trial: a lower bound
  bool of_missed = false;  // what it is compared with
  double value = 0;
  double low = 0, high = 0;  // what the limits are held against
  std::optional<double> ci95;
  std::string where;  // of a trend: the step that goes the other way
};

void set_interval(const std::vector<double>& of_trials, Finding* f) {
  if (of_trials.empty()) return;
  const Summary s = summarise(of_trials);
  f->measured = s.n > 1;  // one trial has no interval
  f->value = s.mean;
  f->low = s.mean - s.ci95;
  f->high = s.mean + s.ci95;
  if (f->measured) f->ci95 = s.ci95;
}

Finding plain_finding(const AlgorithmSummary& summary, const Expectation& e) {
  Finding f;
  const auto metric = summary.metrics.find(e.metric);
  if (metric == summary.metrics.end()) return f;
  const Summary& s = metric->second.summary;
  f.measured = true;
  f.missed = metric->second.missed > 0;
  f.value = e.statistic == "max" ? s.max : e.statistic == "min" ? s.min : s.mean;
  f.low = f.high = f.value;
  return f;
}

// A case at its place on the axis.
using Point = std::pair<double, const CaseResult*>;

// Those cases that differ from `c` in the parameter alone, itself too, in order of the parameter.
std::vector<Point> cases_over(const RunResult& run, const CaseResult& c, const std::string& over) {
  std::vector<Point> result;
  for (const CaseResult& other : run.cases) {
    double place = 0;
    const auto value = other.parameters.find(over);
    if (value == other.parameters.end() || !to_number(value->second, &place)) continue;
    Parameters same = other.parameters;
    same[over] = c.parameters.at(over);
    if (same == c.parameters) result.emplace_back(place, &other);
  }
  std::sort(result.begin(), result.end());
  return result;
}

// The values of one metric at every point, trial by trial; empty where a trial lacks one.
std::vector<std::vector<double>> values_over(const std::vector<Point>& points, const Expectation& e,
                                             Finding* f) {
  std::map<int, std::vector<double>> by_trial;
  for (const auto& [place, c] : points) {
    const auto trials = c->trials.find(e.algorithm);
    if (trials == c->trials.end()) return {};
    for (const TrialResult& trial : trials->second) {
      const auto value = trial.metrics.find(e.metric);
      if (trial.number < 0 || value == trial.metrics.end()) return {};
      f->missed = f->missed || value->second.missed;
      by_trial[trial.number].push_back(value->second.value);
    }
  }
  std::vector<std::vector<double>> result;
  for (const auto& [number, values] : by_trial) {
    if (values.size() != points.size()) return {};
    result.push_back(values);
  }
  return result;
}

// The least-squares slope of values at these places.
double slope(const std::vector<Point>& points, const std::vector<double>& values) {
  double mean = 0;
  for (const auto& [place, c] : points) mean += place / static_cast<double>(points.size());
  double squares = 0, products = 0;
  for (size_t i = 0; i < points.size(); i++) {
    squares += (points[i].first - mean) * (points[i].first - mean);
    products += (points[i].first - mean) * values[i];
  }
  return products / squares;
}

// The slope; or of "rises" and "falls" the change from the first to the last point, which has to be
// that way, and no step between neighbours is shown to go the other way.
Finding trend_finding(const RunResult& run, const CaseResult& c, const Expectation& e) {
  Finding f;
  const std::vector<Point> points = cases_over(run, c, e.over);
  const std::vector<std::vector<double>> trials = values_over(points, e, &f);
  const auto of_trials = [&](const auto& figure) {
    std::vector<double> result;
    for (const std::vector<double>& values : trials) result.push_back(figure(values));
    return result;
  };
  if (e.trend.empty()) {
    set_interval(of_trials([&](const auto& values) { return slope(points, values); }), &f);
    f.of_missed = f.missed;  // a lower bound may tilt the line either way
    return f;
  }
  set_interval(of_trials([](const auto& values) { return values.back() - values.front(); }), &f);
  f.of_missed = f.missed;
  if (!f.measured) return f;
  const double sign = e.trend == "rises" ? 1 : -1;
  for (size_t i = 0; i + 1 < points.size(); i++) {
    const Summary step =
        summarise(of_trials([&](const auto& values) { return values[i + 1] - values[i]; }));
    if (sign * step.mean + step.ci95 < 0)
      f.where = fmt::format("{} from {} = {} to {}", e.trend == "rises" ? "falls" : "rises", e.over,
                            format_number(points[i].first), format_number(points[i + 1].first));
  }
  return f;
}

// Whether `c` is the case that stands for its line: the first of it.
bool begins_line(const RunResult& run, const CaseResult& c, const Expectation& e) {
  const std::vector<Point> points = cases_over(run, c, e.over);
  return points.size() > 1 && points.front().second == &c;
}

// What an expectation says of its case: its text goes on with the metric's unit.
std::string expectation_text(const RunResult& run, const CaseResult& c, const Expectation& e,
                             const std::string& unit, const Finding& f) {
  if (e.over.empty()) return e.text + (e.of.empty() && !unit.empty() ? " " + unit : "");
  if (e.trend.empty()) return e.text + (unit.empty() ? "" : " " + unit);
  const std::vector<Point> points = cases_over(run, c, e.over);
  return fmt::format("{} (change from {} to {}){}", e.text, format_number(points.front().first),
                     format_number(points.back().first), f.where.empty() ? "" : ", but " + f.where);
}

void check_expectations(RunSummary* summary) {
  const RunResult& run = summary->run;
  const CaseResult& main = run.cases.front();
  for (size_t i = 0; i < main.scenario.expectations.size(); i++) {
    const std::string& algorithm = main.scenario.expectations[i].algorithm;
    const Expectation& main_e = main.scenario.expectations[i];
    const auto ran = [&](const std::string& name) {
      return std::find(run.algorithms.begin(), run.algorithms.end(), name) != run.algorithms.end();
    };
    if (!ran(algorithm) || (!main_e.of.empty() && !ran(main_e.of))) continue;
    const bool trend = !main_e.over.empty();
    if ((!main_e.of_case.empty() && !run.sweep) ||
        (trend && cases_over(run, main, main_e.over).size() < 2)) {
      summary->untested.push_back(algorithm + " " + main_e.metric + " " + main_e.text);
      continue;
    }
    CheckedExpectation checked;
    double margin = 0;  // of the case shown
    bool first = true;
    for (size_t n = 0; n < run.cases.size(); n++) {
      const CaseResult& c = run.cases[n];
      // The case's own limits: they may depend on its parameters.
      Expectation e = c.scenario.expectations.at(i);
      if (!first && !e.every_case) break;
      const MetricInfo* info = find_metric(e.metric);
      const std::string unit = info ? info->unit : "";
      const auto trials = c.trials.find(algorithm);
      Finding f;
      if (trend) {
        if (e.every_case && !begins_line(run, c, e)) continue;
        f = trend_finding(run, c, e);
        if (e.trend == "rises") e.has_min = true;
        if (e.trend == "falls") e.has_max = true;
      } else if (!e.of.empty()) {
        const CaseResult* reference = reference_case(run, c, e);
        if (reference == &c && e.of == algorithm) {  // of itself
          if (e.every_case) continue;
          break;
        }
        if (reference && trials != c.trials.end() && reference->trials.count(e.of))
          set_interval(
              ratios(trials->second, reference->trials.at(e.of), e.metric, &f.missed, &f.of_missed),
              &f);
      } else if (trials != c.trials.end()) {
        f = plain_finding(summary->cases[n].at(algorithm), e);
      }
      // A lower bound shows nothing about an upper limit, as what is compared with nothing about a
      // lower one. Of a trend the change is to be more than none.
      const bool beyond = e.trend.empty() || (e.trend == "rises" ? f.low > 0 : f.high < 0);
      const bool met = f.measured && beyond && f.where.empty() &&
                       (!e.has_min || (f.low >= e.min && !f.of_missed)) &&
                       (!e.has_max || (f.high <= e.max && !f.missed));
      // Of several cases the worst is shown: one without a value, else one that misses, else the
      // one that is nearest to its limit.
      const double room = limit_margin(e, f.low, f.high);
      const auto rank = [](bool has_value, bool is_met, double m) {
        return std::make_tuple(has_value, is_met, m);
      };
      if (first || rank(f.measured, met, room) < rank(checked.measured, checked.met, margin)) {
        checked.algorithm = algorithm;
        checked.metric = e.metric;
        checked.text = expectation_text(run, c, e, unit, f);
        checked.met = met;
        checked.measured = f.measured;
        checked.missed = f.missed;
        checked.value = f.value;
        checked.ci95 = f.ci95;
        checked.unit = e.of.empty() ? unit : "";
        margin = room;
        if (e.every_case && run.sweep) {
          Parameters shown = c.parameters;
          shown.erase(e.over);
          if (!shown.empty()) {
            checked.text += " in every case (the worst: " + parameters_text(shown) + ")";
            checked.worst_case = shown;
          }
        }
      }
      first = false;
    }
    if (!first) summary->expectations.push_back(checked);
  }
}

}  // namespace

RunSummary summarise_run(const RunResult& run) {
  RunSummary summary = {run, {}, {}, {}};
  for (const CaseResult& c : run.cases) {
    summary.cases.emplace_back();
    for (const auto& [algorithm, trials] : c.trials)
      summary.cases.back()[algorithm] = summarise_trials(trials);
    compare_with_best(c, run.algorithms, &summary.cases.back());
  }
  check_expectations(&summary);
  return summary;
}

std::string parameters_text(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += (text.empty() ? "" : ", ") + name + " = " + to_string(value);
  return text;
}

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string interval_text(double mean, double half_width, int n) {
  // Of ten trials and more a half-width is known to a quarter, of fewer to a factor.
  constexpr int kTrialsForTwoDigits = 10, kMeanDigits = 5;
  const auto digits_before = [](double value) {
    return value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  };
  const int wanted = (n >= kTrialsForTwoDigits ? 2 : 1) - digits_before(half_width);
  const int decimals = std::clamp(wanted, 0, std::max(0, kMeanDigits - digits_before(mean)));
  const double unit = std::pow(10, -decimals);
  return half_width < unit / 2
             ? fmt::format("{:.{}f} ± <{:.{}f}", mean, decimals, unit, decimals)
             : fmt::format("{:.{}f} ± {:.{}f}", mean, decimals, half_width, decimals);
}

}  // namespace delaycc

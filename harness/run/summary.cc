// SPDX-License-Identifier: Apache-2.0
#include "run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "metrics/catalogue.h"

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

std::vector<CheckedExpectation> check_expectations(const RunSummary& summary) {
  const RunResult& run = summary.run;
  std::vector<CheckedExpectation> result;
  const CaseResult& main = run.cases.front();
  for (size_t i = 0; i < main.scenario.expectations.size(); i++) {
    const std::string& algorithm = main.scenario.expectations[i].algorithm;
    const Expectation& main_e = main.scenario.expectations[i];
    const auto ran = [&](const std::string& name) {
      return std::find(run.algorithms.begin(), run.algorithms.end(), name) != run.algorithms.end();
    };
    if (!ran(algorithm) || (!main_e.of.empty() && !ran(main_e.of))) continue;
    if (!main_e.of_case.empty() && !run.sweep) continue;
    CheckedExpectation checked;
    double margin = 0;  // of the case shown
    bool first = true;
    for (size_t n = 0; n < run.cases.size(); n++) {
      const CaseResult& c = run.cases[n];
      // The case's own limits: they may depend on its parameters.
      const Expectation& e = c.scenario.expectations.at(i);
      if (!first && !e.every_case) break;
      const MetricInfo* info = find_metric(e.metric);
      const auto trials = c.trials.find(algorithm);
      bool measured = false;
      bool missed = false;
      bool of_missed = false;
      double value = 0;
      double low = 0, high = 0;  // what the limits are held against
      if (!e.of.empty()) {
        const CaseResult* reference = reference_case(run, c, e);
        if (reference == &c && e.of == algorithm) {  // of itself
          if (e.every_case) continue;
          break;
        }
        std::vector<double> pairs;
        if (reference && trials != c.trials.end() && reference->trials.count(e.of))
          pairs = ratios(trials->second, reference->trials.at(e.of), e.metric, &missed, &of_missed);
        if (!pairs.empty()) {
          const Summary s = summarise(pairs);
          measured = s.n > 1;  // one pair has no interval
          value = s.mean;
          low = s.mean - s.ci95;
          high = s.mean + s.ci95;
        }
      } else if (trials != c.trials.end()) {
        const auto& metrics = summary.cases[n].at(algorithm).metrics;
        if (const auto metric = metrics.find(e.metric); metric != metrics.end()) {
          measured = true;
          missed = metric->second.missed > 0;
          const Summary& s = metric->second.summary;
          value = e.statistic == "max" ? s.max : e.statistic == "min" ? s.min : s.mean;
          low = high = value;
        }
      }
      // A lower bound shows nothing about an upper limit, as what is compared with nothing about a
      // lower one.
      const bool met = measured && (!e.has_min || (low >= e.min && !of_missed)) &&
                       (!e.has_max || (high <= e.max && !missed));
      // Of several cases the worst is shown: one without a value, else one that misses, else the
      // one that is nearest to its limit.
      const double room = limit_margin(e, low, high);
      const auto rank = [](bool has_value, bool is_met, double m) {
        return std::make_tuple(has_value, is_met, m);
      };
      if (first || rank(measured, met, room) < rank(checked.measured, checked.met, margin)) {
        checked.algorithm = algorithm;
        checked.metric = e.metric;
        checked.text =
            e.text + (e.of.empty() && info && *info->unit ? std::string(" ") + info->unit : "");
        checked.met = met;
        checked.measured = measured;
        checked.missed = missed;
        checked.value = value;
        margin = room;
        if (e.every_case && run.sweep) {
          checked.text += " in every case (the worst: " + parameters_text(c.parameters) + ")";
          checked.worst_case = c.parameters;
        }
      }
      first = false;
    }
    if (!first) result.push_back(checked);
  }
  return result;
}

}  // namespace

RunSummary summarise_run(const RunResult& run) {
  RunSummary summary = {run, {}, {}};
  for (const CaseResult& c : run.cases) {
    summary.cases.emplace_back();
    for (const auto& [algorithm, trials] : c.trials)
      summary.cases.back()[algorithm] = summarise_trials(trials);
    compare_with_best(c, run.algorithms, &summary.cases.back());
  }
  summary.expectations = check_expectations(summary);
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

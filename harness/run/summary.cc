// SPDX-License-Identifier: Apache-2.0
#include "run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "metrics/catalogue.h"

namespace delaycc {
namespace {

using nlohmann::json;

constexpr size_t kTableColumns = 8;
constexpr int64_t kSizeBins = 20;

json value_json(const Value& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}

json parameters_json(const Parameters& parameters) {
  json result = json::object();
  for (const auto& [name, value] : parameters) result[name] = value_json(value);
  return result;
}

std::string parameters_text(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += (text.empty() ? "" : ", ") + name + " = " + to_string(value);
  return text;
}

json metrics_json(const std::vector<TrialResult>& trials) {
  json result = json::object();
  for (const auto& [name, metric] : summarise_trials(trials)) {
    const MetricInfo* info = find_metric(name);
    json entry = {{"mean", metric.summary.mean},
                  {"ci95", metric.summary.n > 1 ? json(metric.summary.ci95) : json()},
                  {"n", metric.summary.n},
                  {"unit", info ? info->unit : ""},
                  {"min", metric.summary.min},
                  {"max", metric.summary.max}};
    if (metric.missed > 0) entry["missed"] = metric.missed;
    result[name] = entry;
  }
  return result;
}

// Of the algorithms that have settings of our modules.
json settings_json(const CaseResult& c) {
  json result = json::object();
  for (const auto& [algorithm, settings] : c.settings)
    for (const HostSetting& setting : settings) {
      json entry = {{"name", setting.name},
                    {"source", source_name(setting.source)},
                    {"hosts", setting.hosts}};
      if (!setting.value.empty()) entry["value"] = setting.value;
      result[algorithm].push_back(entry);
    }
  return result;
}

json algorithms_json(const CaseResult& c) {
  json result = json::object();
  for (const auto& [algorithm, trials] : c.trials)
    if (!trials.empty()) result[algorithm] = metrics_json(trials);
  return result;
}

json common_json(const RunResult& run) {
  const CaseResult& main = run.cases.front();
  json result = {{"scenario", main.scenario.name},
                 {"kernel", run.kernel},
                 {"build", run.build},
                 {"seed", run.seed},
                 {"parameters", parameters_json(main.parameters)},
                 {"set", main.scenario.overrides},
                 {"settings", settings_json(main)},
                 {"algorithms", algorithms_json(main)}};
  if (run.sweep) {
    json cases = json::array();
    for (const CaseResult& c : run.cases)
      cases.push_back({{"parameters", parameters_json(c.parameters)},
                       {"settings", settings_json(c)},
                       {"algorithms", algorithms_json(c)}});
    result["cases"] = cases;
  }
  json expectations = json::array();
  for (const CheckedExpectation& e : check_expectations(run)) {
    expectations.push_back({{"algorithm", e.algorithm},
                            {"metric", e.metric},
                            {"text", e.text},
                            {"met", e.met},
                            {"value", e.measured ? json(e.value) : json()}});
    if (e.worst_case) expectations.back()["case"] = parameters_json(*e.worst_case);
  }
  result["expectations"] = expectations;
  return result;
}

json curves_json(const CaseResult& c) {
  json result = json::object();
  for (const auto& [algorithm, trials] : c.trials) {
    if (trials.empty() || trials.front().queue_bytes.empty()) continue;
    const TrialResult& first = trials.front();
    json curve;
    json& t_us = curve["t_us"] = json::array();
    for (size_t i = 0; i < first.queue_bytes.size(); i++) t_us.push_back(i);
    curve["queue_bytes"] = first.queue_bytes;
    json rates = json::array();
    for (const RateCurve& rate : first.rates) {
      json middle_us = json::array();
      for (size_t i = 0; i < rate.gbps.size(); i++)
        middle_us.push_back((static_cast<double>(i) + 0.5) * static_cast<double>(first.bin_ns) /
                            1000);
      rates.push_back(
          {{"label", rate.label}, {"main", rate.main}, {"t_us", middle_us}, {"gbps", rate.gbps}});
    }
    curve["rates"] = rates;
    result[algorithm] = curve;
  }
  return result;
}

// Sizes in bins of at least a twentieth of the flows, the same for all algorithms.
std::vector<std::pair<int, int>> size_bins(const CaseResult& c) {
  std::map<int, int64_t> sizes;
  int64_t flows = 0;
  for (const auto& [algorithm, distribution] : c.flows)
    for (const auto& [bin, count] : distribution.sizes()) {
      sizes[bin] += count;
      flows += count;
    }
  std::vector<std::pair<int, int>> result;
  int64_t count = 0;
  for (const auto& [bin, of_bin] : sizes) {
    if (count == 0) result.emplace_back(bin, bin);
    result.back().second = bin;
    count += of_bin;
    if (count * kSizeBins >= flows) count = 0;
  }
  return result;
}

json flows_json(const CaseResult& c) {
  const auto there = [](double value) { return value < 0 ? json() : json(value); };
  json result = json::object();
  const std::vector<std::pair<int, int>> bins = size_bins(c);
  for (const auto& [algorithm, distribution] : c.flows) {
    const FlowDistribution::Cumulative fct = distribution.completion();
    json slowdown = {{"size_bytes", json::array()},
                     {"count", json::array()},
                     {"mean", json::array()},
                     {"p50", json::array()},
                     {"p99", json::array()}};
    for (const auto& [first, last] : bins) {
      const FlowDistribution::Slowdown s = distribution.slowdown(first, last);
      if (s.count == 0) continue;
      slowdown["size_bytes"].push_back(s.size_bytes);
      slowdown["count"].push_back(s.count);
      slowdown["mean"].push_back(there(s.mean));
      slowdown["p50"].push_back(there(s.p50));
      slowdown["p99"].push_back(there(s.p99));
    }
    result[algorithm] = {{"complete", distribution.complete()},
                         {"incomplete", distribution.incomplete()},
                         {"fct", {{"value", fct.us}, {"share", fct.share}}},
                         {"slowdown", slowdown}};
  }
  return result;
}

// Bytes are read more easily in thousands.
struct Shown {
  std::string unit;
  double scale;
};
Shown shown(const MetricInfo& info) {
  if (std::string(info.unit) == "bytes") return {"KB", 1e-3};
  return {info.unit, 1};
}

std::string number(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string cell(const MetricSummary& metric, const MetricInfo& info) {
  const double scale = shown(info).scale;
  std::string text = metric.missed > 0 ? ">" : "";
  text += number(metric.summary.mean * scale);
  if (metric.summary.n > 1 && metric.summary.ci95 > 0)
    text += " ± " + number(metric.summary.ci95 * scale);
  return text;
}

// Columns on the terminal: ± is one column and two bytes.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

struct Column {
  std::string name;
  const MetricInfo* info;
};

std::vector<Column> table_metrics(const CaseResult& c) {
  std::vector<std::string> wanted = {c.scenario.main_metric};
  for (const Expectation& e : c.scenario.expectations) wanted.push_back(e.metric);
  for (const char* name :
       {"recover_us", "fct_mean_us", "slowdown_p99", "jain", "utilisation", "queue_mean_bytes",
        "queue_max_bytes", "rtt_p99_us", "retransmits", "drops"})
    wanted.push_back(name);
  std::vector<Column> result;
  for (const std::string& name : wanted) {
    const MetricInfo* info = find_metric(name);
    const bool twice = std::any_of(result.begin(), result.end(),
                                   [&](const Column& column) { return column.name == name; });
    if (!info || twice) continue;
    const bool there = std::any_of(c.trials.begin(), c.trials.end(), [&](const auto& entry) {
      return std::any_of(entry.second.begin(), entry.second.end(),
                         [&](const TrialResult& t) { return t.metrics.count(name) > 0; });
    });
    if (there && result.size() < kTableColumns) result.push_back({name, info});
  }
  return result;
}

std::string case_table(const RunResult& run, const CaseResult& c) {
  const std::vector<Column> metrics = table_metrics(c);
  std::vector<std::vector<std::string>> rows = {{"algorithm"}, {""}};
  for (const Column& column : metrics) {
    std::string name = column.name;
    for (const char* suffix : {"_us", "_bytes", "_gbps"}) {
      const std::string s = suffix;
      if (name.size() > s.size() && name.compare(name.size() - s.size(), s.size(), s) == 0)
        name.resize(name.size() - s.size());
    }
    rows[0].push_back(name);
    rows[1].push_back(shown(*column.info).unit);
  }
  rows[0].push_back("n");
  rows[1].push_back("");
  bool missed = false;
  for (const std::string& algorithm : run.algorithms) {
    const auto it = c.trials.find(algorithm);
    const std::vector<TrialResult> none;
    const std::vector<TrialResult>& trials = it == c.trials.end() ? none : it->second;
    const auto summary = summarise_trials(trials);
    std::vector<std::string> row = {algorithm};
    for (const Column& column : metrics) {
      const auto metric = summary.find(column.name);
      row.push_back(metric == summary.end() ? "-" : cell(metric->second, *column.info));
      missed = missed || (metric != summary.end() && metric->second.missed > 0);
    }
    row.push_back(std::to_string(trials.size()));
    rows.push_back(row);
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], width(row[i]));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (missed)
    text += "> : in some trials it did not happen within the horizon, which counts in its place\n";
  return text;
}

}  // namespace

std::map<std::string, MetricSummary> summarise_trials(const std::vector<TrialResult>& trials) {
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, MetricSummary> result;
  for (const TrialResult& trial : trials)
    for (const auto& [name, metric] : trial.metrics) {
      values[name].push_back(metric.value);
      result[name].missed += metric.missed;
    }
  for (auto& [name, metric] : result) metric.summary = summarise(values[name]);
  return result;
}

namespace {

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

// Ratios over pairs of trials, which have the same number; empty where one of a pair has no value.
std::vector<double> ratios(const std::vector<TrialResult>& trials,
                           const std::vector<TrialResult>& of, const std::string& metric,
                           bool* missed, bool* of_missed) {
  std::vector<double> result;
  if (trials.size() != of.size()) return result;
  for (size_t i = 0; i < trials.size(); i++) {
    const auto a = trials[i].metrics.find(metric);
    const auto b = of[i].metrics.find(metric);
    if (a == trials[i].metrics.end() || b == of[i].metrics.end() || b->second.value == 0) return {};
    *missed = *missed || a->second.missed;
    *of_missed = *of_missed || b->second.missed;
    result.push_back(a->second.value / b->second.value);
  }
  return result;
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

}  // namespace

std::vector<CheckedExpectation> check_expectations(const RunResult& run) {
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
    for (const CaseResult& c : run.cases) {
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
        const auto summary = summarise_trials(trials->second);
        if (const auto metric = summary.find(e.metric); metric != summary.end()) {
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

json summary_json(const RunResult& run) { return common_json(run); }

json report_json(const RunResult& run) {
  const CaseResult& main = run.cases.front();
  const Scenario& s = main.scenario;
  json data = common_json(run);
  data["title"] = s.title;
  if (!s.claim.empty()) data["claim"] = s.claim;
  const json& algorithms = data["algorithms"];
  if (algorithms.contains(s.subject)) data["subject"] = s.subject;
  if (!s.main_metric.empty())
    data["main_metric"] = s.main_metric;
  else if (s.workload.present && s.expectations.empty())
    data["main_metric"] = "slowdown_mean";
  json order = json::array();
  for (const std::string& algorithm : run.algorithms)
    if (algorithms.contains(algorithm)) order.push_back(algorithm);
  data["order"] = order;
  json algorithm_notes = json::object();
  for (const std::string& algorithm : run.algorithms) {
    const std::string note = s.algorithm(algorithm).note;
    if (!note.empty() && algorithms.contains(algorithm)) algorithm_notes[algorithm] = note;
  }
  data["algorithm_notes"] = algorithm_notes;
  data["repeat"] = run.repeat;
  for (const auto& [algorithm, trials] : main.trials)
    if (!trials.empty() && trials.front().event_ns >= 0) {
      data["event_us"] = static_cast<double>(trials.front().event_ns) / 1000;
      if (!s.event.label.empty()) data["event_label"] = s.event.label;
      break;
    }
  if (!s.focus_us.empty()) data["focus_us"] = s.focus_us;
  const LinkSpec& bottleneck =
      s.topology.kind == TopologyKind::kLeafSpine || s.topology.kind == TopologyKind::kFatTree
          ? s.topology.link
          : s.topology.bottleneck;
  json references = json::array();
  references.push_back(
      {{"chart", "rate"}, {"label", "line rate"}, {"value", bottleneck.rate_gbps}});
  if (bottleneck.ecn_threshold_bytes > 0)
    references.push_back({{"chart", "queue"},
                          {"label", "ECN threshold"},
                          {"value", bottleneck.ecn_threshold_bytes}});
  data["references"] = references;
  data["curves"] = curves_json(main);
  if (!main.flows.empty()) data["flows"] = flows_json(main);
  json notes = json::array();
  if (!s.text.empty()) notes.push_back(s.text);
  for (const std::string& note : s.notes) notes.push_back(note);
  std::vector<std::string> waited, of_flows;
  for (const std::string& algorithm : run.algorithms) {
    const auto trials = main.trials.find(algorithm);
    if (trials == main.trials.end()) continue;
    std::vector<std::string> missed;
    bool flows_missed = false;
    for (const auto& [name, metric] : summarise_trials(trials->second)) {
      if (metric.missed == 0) continue;
      const MetricInfo* info = find_metric(name);
      if (info && info->per_class)
        flows_missed = true;  // a workload has dozens of these
      else
        missed.push_back(
            fmt::format("{} ({} of {} trials)", name, metric.missed, metric.summary.n));
    }
    if (!missed.empty())
      waited.push_back(fmt::format("{}: {}", algorithm, fmt::join(missed, ", ")));
    if (flows_missed) of_flows.push_back(algorithm);
  }
  if (!waited.empty())
    notes.push_back(fmt::format(
        "What was waited for did not always happen within the horizon, which counts in its place, "
        "so that these means are lower bounds. {}.",
        fmt::join(waited, "; ")));
  if (!of_flows.empty())
    notes.push_back(fmt::format(
        "Some flows were not complete at the end ({}); they count with the time until then, so "
        "that completion times and slowdowns are lower bounds.",
        fmt::join(of_flows, ", ")));
  data["notes"] = notes;
  return data;
}

std::string summary_table(const RunResult& run) {
  std::string text;
  for (const CaseResult& c : run.cases) {
    const std::string parameters = parameters_text(c.parameters);
    text += c.scenario.title + (parameters.empty() ? "" : " (" + parameters + ")") + "\n\n";
    text += case_table(run, c) + "\n";
  }
  for (const CheckedExpectation& e : check_expectations(run))
    text +=
        fmt::format("{}  {} {} {}: {}\n", e.met ? "met    " : "NOT MET", e.algorithm, e.metric,
                    e.text, e.measured ? (e.missed ? ">" : "") + number(e.value) : "not measured");
  return text;
}

}  // namespace delaycc

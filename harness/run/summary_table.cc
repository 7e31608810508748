// SPDX-License-Identifier: Apache-2.0
// The terminal's table.
#include <fmt/format.h>

#include <algorithm>

#include "metrics/catalogue.h"
#include "run/summary.h"

namespace delaycc {
namespace {

constexpr size_t kTableColumns = 8;

// Bytes are read more easily in thousands.
struct Shown {
  std::string unit;
  double scale;
};
Shown shown(const MetricInfo& info) {
  if (std::string(info.unit) == "bytes") return {"KB", 1e-3};
  return {info.unit, 1};
}

// With the digits that its interval supports, where it has one.
std::string figure_text(const Summary& s, int missed, double scale) {
  return (missed > 0 ? ">" : "") + (s.n > 1 && s.ci95 > 0
                                        ? interval_text(s.mean * scale, s.ci95 * scale, s.n)
                                        : number_text(s.mean * scale));
}

std::string cell(const MetricSummary& metric, const MetricInfo& info) {
  return figure_text(metric.summary, metric.missed, shown(info).scale);
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

std::vector<Column> table_metrics(const CaseResult& c,
                                  const std::map<std::string, AlgorithmSummary>& algorithms) {
  std::vector<std::string> wanted = {c.scenario.main_metric};
  for (const Expectation& e : c.scenario.expectations) wanted.push_back(e.metric);
  // A figure of all flows would be of the background and of the responses of incasts alike.
  const char* background = has_background(flow_sets(c.scenario.workload)) ? "background." : "";
  wanted.push_back("recover_us");
  for (const char* name : {"fct_mean_us", "slowdown_p99"})
    wanted.push_back(std::string(background) + name);
  for (const char* name :
       {"request_mean_us", "request_p99_us", "jain", "utilisation", "queue_mean_bytes",
        "queue_max_bytes", "rtt_p99_us", "retransmits", "drops"})
    wanted.push_back(name);
  std::vector<Column> result;
  for (const std::string& name : wanted) {
    const MetricInfo* info = find_metric(name);
    const bool twice = std::any_of(result.begin(), result.end(),
                                   [&](const Column& column) { return column.name == name; });
    if (!info || twice) continue;
    const bool there = std::any_of(algorithms.begin(), algorithms.end(), [&](const auto& entry) {
      return entry.second.metrics.count(name) > 0;
    });
    if (there && result.size() < kTableColumns) result.push_back({name, info});
  }
  return result;
}

// How far the others are from the best by pairs of trials; empty where that is not known.
std::string pairs_line(const Column& column, const std::vector<std::string>& order,
                       const std::map<std::string, AlgorithmSummary>& algorithms) {
  const auto [unit, scale] = shown(*column.info);
  std::string text;
  for (const std::string& algorithm : order) {
    const auto summary = algorithms.find(algorithm);
    if (summary == algorithms.end()) continue;
    const auto metric = summary->second.metrics.find(column.name);
    if (metric == summary->second.metrics.end() || !metric->second.difference) continue;
    const PairedDifference& d = *metric->second.difference;
    text += fmt::format("{}{} - {} = {}", text.empty() ? "" : ", ", algorithm, d.from,
                        figure_text(d.summary, metric->second.missed, scale));
    if (!unit.empty()) text += " " + unit;
  }
  return text.empty() ? "" : column.name + ", differences in the same trials: " + text + "\n";
}

std::string case_table(const RunResult& run, const CaseResult& c,
                       const std::map<std::string, AlgorithmSummary>& algorithms) {
  const std::vector<Column> metrics = table_metrics(c, algorithms);
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
    const auto it = algorithms.find(algorithm);
    const AlgorithmSummary summary = it == algorithms.end() ? AlgorithmSummary() : it->second;
    std::vector<std::string> row = {algorithm};
    for (const Column& column : metrics) {
      const auto metric = summary.metrics.find(column.name);
      row.push_back(metric == summary.metrics.end() ? "-" : cell(metric->second, *column.info));
      missed = missed || (metric != summary.metrics.end() && metric->second.missed > 0);
    }
    row.push_back(std::to_string(summary.trials));
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
  if (!metrics.empty()) text += pairs_line(metrics.front(), run.algorithms, algorithms);
  if (missed)
    text += "> : in some trials it did not happen within the horizon, which counts in its place\n";
  return text;
}

}  // namespace

std::string summary_table(const RunSummary& summary) {
  const RunResult& run = summary.run;
  std::string text;
  for (size_t i = 0; i < run.cases.size(); i++) {
    const CaseResult& c = run.cases[i];
    const std::string parameters = parameters_text(c.parameters);
    text += c.scenario.title + (parameters.empty() ? "" : " (" + parameters + ")") + "\n\n";
    text += case_table(run, c, summary.cases[i]) + "\n";
  }
  for (const CheckedExpectation& e : summary.expectations)
    text += fmt::format("{}  {} {} {}: {}\n", e.met ? "met    " : "NOT MET", e.algorithm, e.metric,
                        e.text,
                        e.measured ? (e.missed ? ">" : "") + number_text(e.value) +
                                         (e.ci95 ? " ± " + number_text(*e.ci95) : "")
                                   : "not measured");
  for (const std::string& text_of : summary.untested)
    text += "untested " + text_of + ": needs --sweep\n";
  for (const std::string& limit : run.limits) text += "note     " + limit + "\n";
  return text;
}

}  // namespace delaycc

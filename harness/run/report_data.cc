// SPDX-License-Identifier: Apache-2.0
// The data of the report page (harness/report/report.h).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "metrics/catalogue.h"
#include "run/summary.h"

namespace delaycc {
namespace {

using nlohmann::json;

constexpr int64_t kSizeBins = 20;

// Groups of a workload in the order of their sizes, whichever has the first flow.
std::vector<RateCurve> in_order(std::vector<RateCurve> rates, const WorkloadSpec& workload) {
  const std::vector<FlowSet> sets = flow_sets(workload);
  const auto rank = [&](const RateCurve& rate) {
    return std::find_if(sets.begin(), sets.end(),
                        [&](const FlowSet& set) { return set.name == rate.label; }) -
           sets.begin();
  };
  std::stable_sort(rates.begin(), rates.end(),
                   [&](const RateCurve& a, const RateCurve& b) { return rank(a) < rank(b); });
  return rates;
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
    for (const RateCurve& rate : in_order(first.rates, c.scenario.workload)) {
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

using Distributions = std::map<std::string, FlowDistribution>;  // by algorithm

// Sizes in bins of at least a twentieth of the flows, the same for all algorithms.
std::vector<std::pair<int, int>> size_bins(const Distributions& distributions) {
  std::map<int, int64_t> sizes;
  int64_t flows = 0;
  for (const auto& [algorithm, distribution] : distributions)
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

json flows_json(const Distributions& distributions) {
  const auto there = [](double value) { return value < 0 ? json() : json(value); };
  json result = json::object();
  const std::vector<std::pair<int, int>> bins = size_bins(distributions);
  for (const auto& [algorithm, distribution] : distributions) {
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

// Label and good end of every metric that `data` has, in the catalogue's order; behind them those
// of each set of flows.
json catalogue_json(const json& data, const std::vector<FlowSet>& sets) {
  std::set<std::string> seen;
  const auto collect = [&](const json& algorithms) {
    for (const auto& [algorithm, metrics] : algorithms.items())
      for (const auto& [name, figure] : metrics.items()) seen.insert(name);
  };
  collect(data["algorithms"]);
  for (const json& c : data.value("cases", json::array())) collect(c["algorithms"]);
  for (const json& e : data["expectations"]) seen.insert(e["metric"]);
  json result = json::array();
  const auto add = [&](const std::string& name, const MetricInfo& info) {
    result.push_back(
        {{"key", name}, {"label", metric_label(name)}, {"better", better_name(info.better)}});
  };
  for (const MetricInfo& info : all_metrics())
    if (seen.count(info.name)) add(info.name, info);
  for (const FlowSet& set : sets)
    for (const MetricInfo& info : all_metrics())
      if (const std::string name = set.name + "." + info.name; seen.count(name)) add(name, info);
  return result;
}

}  // namespace

json report_json(const RunSummary& summary) {
  const RunResult& run = summary.run;
  const CaseResult& main = run.cases.front();
  const Scenario& s = main.scenario;
  json data = summary_json(summary);
  const std::vector<FlowSet> sets = flow_sets(s.workload);
  data["metrics"] = catalogue_json(data, sets);
  data["title"] = s.title;
  if (!s.claim.empty()) data["claim"] = s.claim;
  const json& algorithms = data["algorithms"];
  if (algorithms.contains(s.subject)) data["subject"] = s.subject;
  if (!s.main_metric.empty())
    data["main_metric"] = s.main_metric;
  else if (s.workload.present && s.expectations.empty())
    data["main_metric"] = has_background(sets) ? "background.slowdown_mean" : "slowdown_mean";
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
  if (!data["curves"].empty()) {
    size_t trials = 0;
    for (const auto& [algorithm, of] : main.trials) trials = std::max(trials, of.size());
    data["curves_of"] = trials > 1 ? fmt::format("trial 0 of {}", trials) : "trial 0, the only one";
  }
  if (!main.flows.empty()) data["flows"] = flows_json(main.flows);
  if (!main.responses.empty()) data["responses"] = flows_json(main.responses);
  json notes = summary.run.limits;
  if (!s.text.empty()) notes.push_back(s.text);
  for (const std::string& note : s.notes) notes.push_back(note);
  std::vector<std::string> waited, of_flows;
  for (const std::string& algorithm : run.algorithms) {
    const auto of = summary.cases.front().find(algorithm);
    if (of == summary.cases.front().end()) continue;
    std::vector<std::string> missed;
    bool flows_missed = false;
    for (const auto& [name, metric] : of->second.metrics) {
      if (metric.missed == 0) continue;
      const MetricInfo* info = find_metric(name);
      if (info && info->per_set)
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

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "metrics/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/posix.h"
#include "metrics/view.h"

namespace delaycc {

// One for each file of a family.
const MetricFamily& recovery_family();
const MetricFamily& throughput_family();
const MetricFamily& queue_family();
const MetricFamily& rtt_family();
const MetricFamily& fairness_family();
const MetricFamily& completion_family();
const MetricFamily& losses_family();
const MetricFamily& suppression_family();
const MetricFamily& priorities_family();
const MetricFamily& gradient_family();
const MetricFamily& importance_family();
const MetricFamily& noise_family();
const MetricFamily& rates_family();

const std::vector<const MetricFamily*>& metric_families() {
  static const std::vector<const MetricFamily*> families = {
      &recovery_family(),   &throughput_family(), &queue_family(),      &rtt_family(),
      &fairness_family(),   &completion_family(), &losses_family(),     &suppression_family(),
      &priorities_family(), &gradient_family(),   &importance_family(), &noise_family(),
      &rates_family()};
  return families;
}

const std::vector<MetricInfo>& all_metrics() {
  static const std::vector<MetricInfo> metrics = [] {
    std::vector<MetricInfo> all;
    for (const MetricFamily* family : metric_families())
      all.insert(all.end(), family->metrics.begin(), family->metrics.end());
    return all;
  }();
  return metrics;
}

const std::vector<Parameter>& all_parameters() {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> all;
    for (const MetricFamily* family : metric_families())
      all.insert(all.end(), family->parameters.begin(), family->parameters.end());
    return all;
  }();
  return parameters;
}

const MetricInfo* find_metric(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string base = dot == std::string::npos ? name : name.substr(dot + 1);
  for (const MetricInfo& info : all_metrics())
    if (base == info.name) return dot == std::string::npos || info.per_set ? &info : nullptr;
  return nullptr;
}

std::string metric_label(const std::string& name) {
  const MetricInfo* info = find_metric(name);
  if (!info) return name;
  const size_t dot = name.find('.');
  return dot == std::string::npos ? info->label
                                  : fmt::format("{} ({} flows)", info->label, name.substr(0, dot));
}

const char* better_name(Better better) {
  return better == Better::kLower ? "lower" : better == Better::kHigher ? "higher" : "neither";
}

void MetricSink::set(const char* name, double value, bool missed, const std::string& flow_set) {
  const std::string wanted = name;
  const auto info = std::find_if(family_.metrics.begin(), family_.metrics.end(),
                                 [&](const MetricInfo& metric) { return wanted == metric.name; });
  if (info == family_.metrics.end() || (!flow_set.empty() && !info->per_set))
    throw Error(fmt::format("metrics/{}.cc does not declare {}", family_.name, name));
  if ((info->records & records_) != info->records) return;
  result_.metrics[flow_set.empty() ? wanted : flow_set + "." + wanted] = {value, missed};
}

TrialResult compute_metrics(const CompiledTrial& trial, const Records& records) {
  TrialView view(trial, records);
  TrialResult result;
  result.flows = records.flows;
  result.event_ns = view.event_ns;
  for (const MetricFamily* family : metric_families()) {
    const bool measurable =
        std::any_of(family->metrics.begin(), family->metrics.end(),
                    [&](const MetricInfo& metric) { return view.has(metric.records); });
    if (!measurable && !family->metrics.empty()) continue;
    MetricSink sink(*family, view.kinds, result);
    family->compute(view, sink);
  }
  result.samples = std::move(view.samples);
  return result;
}

namespace {

std::string records_text(unsigned records) {
  std::string text;
  const std::pair<RecordKind, const char*> kinds[] = {
      {kFlowRecords, "flows"},   {kBottleneckPackets, "bottleneck"}, {kEndPackets, "both ends"},
      {kDecisions, "decisions"}, {kEchoRecords, "echoes"},           {kNicRtts, "NIC stamps"}};
  for (const auto& [kind, name] : kinds)
    if (records & kind) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

const char* direction_text(Better better) {
  return better == Better::kNeither ? "" : better_name(better);
}

// Large numbers are powers of ten.
std::string number_text(double value) {
  return value < 1e6 ? fmt::format("{}", value) : fmt::format("10^{}", std::log10(value));
}

std::string default_text(const Parameter& parameter) {
  switch (parameter.type) {
    case Parameter::Type::kIntervals:
      return "the measured time";
    case Parameter::Type::kGroup:
      return "none";
    default:
      return parameter.fallback < 0 ? "none" : number_text(parameter.fallback);
  }
}

std::string range_text(const Parameter& parameter) {
  if (parameter.type == Parameter::Type::kIntervals || parameter.type == Parameter::Type::kGroup)
    return "";
  return fmt::format("{} to {}{}", number_text(parameter.low), number_text(parameter.high),
                     parameter.type == Parameter::Type::kInteger ? ", whole" : "");
}

}  // namespace

std::string metrics_table() {
  std::string table = "| key | unit | better | records | definition |\n|---|---|---|---|---|\n";
  const std::vector<MetricInfo>& metrics = all_metrics();
  for (size_t i = 0; i < metrics.size();) {
    const MetricInfo& first = metrics[i];
    std::string names = fmt::format("`{}`", first.name);
    for (i++; i < metrics.size() && !metrics[i].text; i++)
      names += fmt::format(", `{}`", metrics[i].name);
    table += fmt::format("| {} | {} | {} | {} | {} |\n", names, first.unit,
                         direction_text(first.better), records_text(first.records), first.text);
  }
  return table;
}

std::string parameters_table() {
  std::string table = "| key | unit | range | default | meaning |\n|---|---|---|---|---|\n";
  for (const Parameter& parameter : all_parameters())
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", parameter.key, parameter.unit,
                         range_text(parameter), default_text(parameter), parameter.text);
  return table;
}

}  // namespace delaycc

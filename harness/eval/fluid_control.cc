// SPDX-License-Identifier: Apache-2.0
#include "eval/fluid_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "eval/fluid_trial.h"
#include "plan/compile.h"

namespace delaycc {
namespace {

constexpr int kFirstFile = 1'000'000'000;  // --max-trials is far below
constexpr int kFilesPerStep = 20'000;
constexpr int kMostFiles = 200'000;
// Of the margin, for the half-width that the mean's own error has: it widens an interval of the
// margin by 2 %.
constexpr double kShareOfMargin = 0.2;
constexpr double kHalfWidthPerError = 2;
constexpr int kLeastUnits = 20;
constexpr int kFilesPerReport = 500;

bool is_mean(const MetricRequest& metric) {
  return metric.base == "fct_mean_us" || metric.base == "slowdown_mean";
}

bool is_completion_time(const MetricRequest& metric) {
  return metric.source == MetricRequest::Source::kCompletionTime || metric.base == "fct_mean_us";
}

// The first of a group.
int first_file(int trials_per_unit) {
  return (kFirstFile + trials_per_unit - 1) / trials_per_unit * trials_per_unit;
}

}  // namespace

void check_fluid_control(const Scenario& scenario, const std::vector<MetricRequest>& metrics) {
  if (!scenario.workload.present)
    throw ScenarioError(
        "--control fluid: the scenario has no [workload], whose flow files the model is of");
  if (const std::string& sampling = scenario.workload.sampling.kind;
      sampling != "plain" && sampling != "stratified")
    throw ScenarioError("--control fluid: workload.sampling is \"" + sampling +
                        "\", allowed are \"plain\" and \"stratified\"");
  for (const MetricRequest& metric : metrics) {
    if (metric.estimand != Estimand::kMean)
      throw ScenarioError(
          "--control fluid: is of the mean over the trials, allowed is --estimand "
          "mean");
    if (metric.source == MetricRequest::Source::kMetric && !is_mean(metric))
      throw ScenarioError("--control fluid: the model has no " + metric.name +
                          ", allowed are completion times and slowdowns of flows such as "
                          "fct_p99_us, slowdown_mean");
  }
}

FluidControl::FluidControl(const Scenario& scenario, uint64_t seed,
                           std::vector<MetricRequest> metrics)
    : scenario_(scenario),
      network_(build_network(scenario.topology, scenario.hosts)),
      seed_(seed),
      metrics_(std::move(metrics)) {}

std::vector<std::optional<double>> FluidControl::values(int number) const {
  const std::vector<WorkloadFlow> flows = trial_workload(scenario_, network_, seed_, number);
  const std::vector<double> fct_s = fluid_trial_fct_s(scenario_, network_, flows);
  std::vector<std::vector<double>> of_metric(metrics_.size());
  for (size_t i = 0; i < flows.size(); i++) {
    const WorkloadFlow& flow = flows[i];
    if (!is_measured(scenario_, flow)) continue;
    const double fct_ns = std::min(
        fct_s[i] * 1e9, static_cast<double>(scenario_.measure.duration_ns - flow.start_ns));
    for (size_t m = 0; m < metrics_.size(); m++) {
      const MetricRequest& metric = metrics_[m];
      const int flow_class =
          flow.request < 0 ? size_class(scenario_.workload, flow.size_bytes) : -1;
      if (!metric.flows.has(flow_class, flow.request)) continue;
      if (is_completion_time(metric)) {
        of_metric[m].push_back(fct_ns / 1000);
      } else {
        const auto ideal_ns = static_cast<double>(ideal_fct_ns(
            network_, flow.source, flow.destination, scenario_.hosts.mtu_bytes, flow.size_bytes));
        of_metric[m].push_back(std::max(1.0, fct_ns / ideal_ns));
      }
    }
  }
  std::vector<std::optional<double>> result(metrics_.size());
  for (size_t m = 0; m < metrics_.size(); m++) {
    std::vector<double>& values = of_metric[m];
    if (values.empty()) continue;
    if (is_mean(metrics_[m])) {
      double sum = 0;
      for (const double value : values) sum += value;
      result[m] = sum / static_cast<double>(values.size());
    } else {
      result[m] = trial_quantile(std::move(values), metrics_[m].quantile);
    }
  }
  return result;
}

std::vector<ControlMean> FluidControl::means(const Goal& goal, int trials_per_unit,
                                             const std::function<bool(int)>& more) const {
  std::vector<Moments> moments(metrics_.size());
  std::vector<std::vector<double>> values_of(metrics_.size());
  const auto error = [](const Moments& m) {
    return m.deviation() / std::sqrt(static_cast<double>(m.n()));
  };
  const auto known = [&](const Moments& m) {
    return m.n() >= kLeastUnits && kHalfWidthPerError * error(m) <=
                                       kShareOfMargin * goal.relative_margin * std::abs(m.mean());
  };
  const int first = first_file(trials_per_unit);
  int files = 0;
  do {
    for (const int step_end = std::min(files + kFilesPerStep, kMostFiles); files < step_end;) {
      // As of the trials: a group counts as a whole, or not at all.
      std::vector<double> sum(metrics_.size());
      std::vector<int> count(metrics_.size());
      for (int i = 0; i < trials_per_unit; i++, files++) {
        if (files % kFilesPerReport == 0 && !more(files)) throw Interrupted();
        const std::vector<std::optional<double>> file = values(first + files);
        for (size_t m = 0; m < metrics_.size(); m++) {
          if (!file[m]) continue;
          sum[m] += *file[m];
          count[m]++;
        }
      }
      for (size_t m = 0; m < metrics_.size(); m++) {
        if (count[m] != trials_per_unit) continue;
        values_of[m].push_back(sum[m] / trials_per_unit);
        moments[m].add(values_of[m].back());
      }
    }
  } while (files < kMostFiles && !std::all_of(moments.begin(), moments.end(), known));
  std::vector<ControlMean> result;
  for (size_t m = 0; m < metrics_.size(); m++) {
    if (moments[m].n() < 2)
      throw ScenarioError(
          fmt::format("--control fluid: of {} flow files {} has a flow that {} is of", files,
                      moments[m].n() == 0 ? "none" : "one only", metrics_[m].name));
    result.push_back({moments[m].mean(), error(moments[m]), files,
                      std::make_shared<const ControlTails>(std::move(values_of[m]))});
  }
  return result;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// The report's curves of rates; no metrics.
#include <map>
#include <string>
#include <utility>

#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

constexpr Parameter kBin = Parameter::integer("bin_ns", "ns", 100, 1e9, 10000,
                                              "length of the bins of the report's rate curves");

void compute(const TrialView& trial, MetricSink& sink) {
  // Curves are of the first trial.
  if (!trial.has(kBottleneckPackets) || !trial.m.curves) return;
  TrialResult& result = sink.result();
  const int64_t bin_ns = result.bin_ns = kBin.whole(trial.m.measure);
  std::map<std::string, size_t> curve_of;
  for (const FlowPlan& flow : trial.plan.flows) {
    const bool each = flow.plot_each;
    const std::string label = each ? flow.group + " " + std::to_string(flow.id) : flow.group;
    const auto [it, fresh] = curve_of.emplace(label, result.rates.size());
    if (fresh) {
      RateCurve fresh_curve;
      fresh_curve.label = label;
      fresh_curve.main = flow.group == trial.m.event.recovers;
      fresh_curve.gbps.assign(static_cast<size_t>(trial.plan.end_ns / bin_ns), 0);
      result.rates.push_back(std::move(fresh_curve));
    }
    std::vector<double>& gbps = result.rates[it->second].gbps;
    const ServiceCurve& curve = trial.per_flow[static_cast<size_t>(flow.id)];
    double before = curve.bytes_until(0);
    for (size_t i = 0; i < gbps.size(); i++) {
      const double now = curve.bytes_until(static_cast<int64_t>(i + 1) * bin_ns);
      gbps[i] += (now - before) * 8 / static_cast<double>(bin_ns);
      before = now;
    }
  }
}

}  // namespace

const MetricFamily& rates_family() {
  static const MetricFamily family = {"rates", {}, {kBin}, &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// The delay gradient that an algorithm works out, against the true one.
#include <map>
#include <string>

#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

constexpr double kEwmaWeight = 0.2;  // of a new quotient; OSCAR, section 6.2

constexpr Parameter kGroup =
    Parameter::group("gradient_of",
                     "a group whose delay gradients are held against the true one; every "
                     "flow has to be paced",
                     kDecisions);

struct Smoothed {
  int64_t sent_ns = -1, before_sent_ns = -1;
  int64_t rtt_ns = 0, before_rtt_ns = 0;
  double gradient = 0;
};
struct SquaredError {
  double sum = 0;
  int count = 0;
  void add(double error) {
    sum += error * error;
    count++;
  }
  double mean() const { return sum / count; }
};

// d(delay)/d(send time) at the bottleneck, from the rates that the plan's flows are paced at.
double true_gradient(const TrialView& trial, int64_t t_ns) {
  double offered_bps = 0;
  for (const FlowPlan& flow : trial.plan.flows) {
    if (t_ns < flow.start_ns || (flow.stop_ns != kNever && t_ns >= flow.stop_ns)) continue;
    int64_t bps = flow.pacing_bps;
    for (const auto& [from_ns, step_bps] : flow.pacing_steps)
      if (t_ns >= from_ns) bps = step_bps;
    offered_bps += static_cast<double>(bps);
  }
  return offered_bps / static_cast<double>(trial.m.bottleneck_bps) - 1;
}

// The estimator to compare with: the quotient of two successive RTTs' difference and their send
// times', smoothed. Packets that left as one piece (GSO) have one send time; of them the last RTT
// is taken.
SquaredError quotient_error(const TrialView& trial, const std::string& group) {
  std::map<int, Smoothed> smoothed;  // by flow
  SquaredError error;
  for (const RttSample& ack : trial.ack_rtts) {
    if (trial.plan.flows[static_cast<size_t>(ack.flow)].group != group) continue;
    Smoothed& s = smoothed[ack.flow];
    if (ack.sent_ns > s.sent_ns) {
      if (s.before_sent_ns >= 0) {
        const double fresh = static_cast<double>(s.rtt_ns - s.before_rtt_ns) /
                             static_cast<double>(s.sent_ns - s.before_sent_ns);
        s.gradient += kEwmaWeight * (fresh - s.gradient);
        if (inside(trial.time, s.sent_ns)) error.add(s.gradient - true_gradient(trial, s.sent_ns));
      }
      s.before_sent_ns = s.sent_ns;
      s.before_rtt_ns = s.rtt_ns;
    }
    s.sent_ns = ack.sent_ns;
    s.rtt_ns = ack.delivered_ns - ack.sent_ns;
  }
  return error;
}

void compute(const TrialView& trial, MetricSink& sink) {
  const std::string group = kGroup.name(trial.m.measure);
  if (group.empty()) return;
  SquaredError error;
  for (const Decision& decision : trial.records.decisions) {
    const int id = flow_of(decision.sport, trial.plan.flows.size());
    if (id < 0 || trial.plan.flows[static_cast<size_t>(id)].group != group) continue;
    const int64_t sent_ns = decision.time_ns - trial.plan.zero_ns - decision.rtt_ns;
    if (inside(trial.time, sent_ns)) error.add(decision.gradient - true_gradient(trial, sent_ns));
  }
  const SquaredError ewma_error = quotient_error(trial, group);
  if (error.count == 0 || ewma_error.count == 0) return;
  sink.set("gradient_mse", error.mean());
  sink.set("gradient_ewma_mse", ewma_error.mean());
  sink.set("gradient_gain", ewma_error.mean() / error.mean());
}

}  // namespace

const MetricFamily& gradient_family() {
  static const MetricFamily family = {
      "gradient",
      {
          {"gradient_mse", "", "Delay gradient, mean squared error", Better::kLower,
           kEndPackets | kDecisions,
           "mean squared error of the delay gradients on which flows of `measure.gradient_of` "
           "decided (tracepoint `delaycc:ack`) against the true one at the time when the newest "
           "acknowledged packet was sent: the sum of the rates that all flows were paced at, over "
           "the bottleneck's rate, less 1"},
          {"gradient_ewma_mse", "", "Gradient of single packets, mean squared error",
           Better::kNeither, kEndPackets | kDecisions,
           "the same for what quotients of the differences of successive RTTs and send times give, "
           "smoothed with weight 0.2 for the new one. Of packets that leave as one piece (GSO), so "
           "with one send time, the last RTT is taken"},
          {"gradient_gain", "", "Its error over the delay gradient\u2019s", Better::kHigher,
           kEndPackets | kDecisions, "`gradient_ewma_mse` over `gradient_mse`"},
      },
      {kGroup},
      &compute};
  return family;
}

}  // namespace delaycc

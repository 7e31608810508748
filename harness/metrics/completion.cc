// SPDX-License-Identifier: Apache-2.0
// Completion times and slowdowns of flows with a size.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/statistics.h"
#include "metrics/family.h"
#include "metrics/view.h"

namespace delaycc {
namespace {

void of_set(const TrialView& trial, MetricSink& sink, const FlowSet& set_of) {
  BoundedValues fcts_us, slowdowns;
  int64_t finished = 0;
  for (const FlowSample& flow : trial.samples) {
    if (!set_of.has(flow.size_class, flow.request)) continue;
    finished += !flow.missed;
    fcts_us.add(static_cast<double>(flow.fct_ns) / kNsPerUs, flow.missed);
    slowdowns.add(
        std::max(1.0, static_cast<double>(flow.fct_ns) / static_cast<double>(flow.ideal_ns)),
        flow.missed);
  }
  if (fcts_us.values.empty() && trial.m.flow_sets.empty()) return;
  const int64_t count = static_cast<int64_t>(fcts_us.values.size());
  const auto set = [&](const char* metric, double value, bool missed) {
    sink.set(metric, value, missed, set_of.name);
  };
  set("flows", static_cast<double>(count), false);
  set("unfinished", static_cast<double>(count - finished), false);
  if (count == 0 || (finished == 0 && !set_of.name.empty())) return;
  const bool missed = finished < count;
  set("fct_mean_us", fcts_us.sum() / static_cast<double>(count), missed);
  set("slowdown_mean", slowdowns.sum() / static_cast<double>(count), missed);
  const struct {
    double fraction;
    const char *fct, *slowdown;
  } percentiles[] = {{0.5, "fct_p50_us", "slowdown_p50"},
                     {0.9, "fct_p90_us", "slowdown_p90"},
                     {0.95, "fct_p95_us", "slowdown_p95"},
                     {0.99, "fct_p99_us", "slowdown_p99"},
                     {0.999, "fct_p999_us", "slowdown_p999"}};
  for (const auto& p : percentiles) {
    set(p.fct, fcts_us.percentile(p.fraction), fcts_us.percentile_may_be_more(p.fraction));
    set(p.slowdown, slowdowns.percentile(p.fraction), slowdowns.percentile_may_be_more(p.fraction));
  }
}

// An incast's request is complete with its last response.
struct Request {
  int64_t start_ns = std::numeric_limits<int64_t>::max();  // of its first response
  int64_t end_ns = 0;
  bool missed = false;  // a response was not complete
};

void of_requests(const TrialView& trial, MetricSink& sink) {
  std::map<int64_t, Request> requests;
  for (const FlowSample& flow : trial.samples) {
    if (flow.request < 0) continue;
    Request& request = requests[flow.request];
    const int64_t start_ns = trial.records.flows.at(static_cast<size_t>(flow.flow)).start_ns;
    request.start_ns = std::min(request.start_ns, start_ns);
    request.end_ns = std::max(request.end_ns, start_ns + flow.fct_ns);
    request.missed = request.missed || flow.missed;
  }
  if (requests.empty()) return;
  BoundedValues times_us;
  int64_t missed = 0;
  for (const auto& [number, request] : requests) {
    times_us.add(static_cast<double>(request.end_ns - request.start_ns) / kNsPerUs, request.missed);
    missed += request.missed;
  }
  const auto count = static_cast<double>(requests.size());
  sink.set("request_mean_us", times_us.sum() / count, missed > 0);
  for (const auto& [fraction, name] :
       {std::pair(0.5, "request_p50_us"), std::pair(0.99, "request_p99_us")})
    sink.set(name, times_us.percentile(fraction), times_us.percentile_may_be_more(fraction));
  sink.set("requests", count);
  sink.set("unfinished_requests", static_cast<double>(missed));
}

void compute(const TrialView& trial, MetricSink& sink) {
  of_set(trial, sink, {});
  for (const FlowSet& set : trial.m.flow_sets) of_set(trial, sink, set);
  of_requests(trial, sink);
}

}  // namespace

const MetricFamily& completion_family() {
  static const MetricFamily family = {
      "completion",
      {
          {"fct_mean_us", "us", "Flow completion time, mean", Better::kLower, kFlowRecords,
           "flow completion time of measured flows with `size_bytes`: first byte written to last "
           "byte read by the receiving application; percentiles by nearest rank. A flow that was "
           "not complete at the end counts as if it were then; the mean is then missed, and a "
           "percentile that the flow could still move",
           true},
          {"fct_p50_us", "us", "Flow completion time, median", Better::kLower, kFlowRecords,
           nullptr, true},
          {"fct_p90_us", "us", "Flow completion time, 90th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"fct_p95_us", "us", "Flow completion time, 95th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"fct_p99_us", "us", "Flow completion time, 99th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"fct_p999_us", "us", "Flow completion time, 99.9th percentile", Better::kLower,
           kFlowRecords, nullptr, true},
          {"slowdown_mean", "", "Slowdown, mean", Better::kLower, kFlowRecords,
           "flow completion time over that of a lone flow on the idle path that the links alone "
           "limit (its packets back to back, at each port behind one another); at least 1",
           true},
          {"slowdown_p50", "", "Slowdown, median", Better::kLower, kFlowRecords, nullptr, true},
          {"slowdown_p90", "", "Slowdown, 90th percentile", Better::kLower, kFlowRecords, nullptr,
           true},
          {"slowdown_p95", "", "Slowdown, 95th percentile", Better::kLower, kFlowRecords, nullptr,
           true},
          {"slowdown_p99", "", "Slowdown, 99th percentile", Better::kLower, kFlowRecords, nullptr,
           true},
          {"slowdown_p999", "", "Slowdown, 99.9th percentile", Better::kLower, kFlowRecords,
           nullptr, true},
          {"flows", "flows", "Flows", Better::kNeither, kFlowRecords,
           "how many flows the metrics `fct_*` and `slowdown_*` are about", true},
          {"unfinished", "flows", "Flows not complete", Better::kLower, kFlowRecords,
           "how many of these were not complete at the end", true},
          {"request_mean_us", "us", "Request completion time, mean", Better::kLower, kFlowRecords,
           "completion time of the measured requests of `workload.incast`: from the start of the "
           "first response to the last byte of the last one; percentiles by nearest rank. A "
           "request with a response that was not complete at the end counts as if it were then"},
          {"request_p50_us", "us", "Request completion time, median", Better::kLower, kFlowRecords,
           nullptr},
          {"request_p99_us", "us", "Request completion time, 99th percentile", Better::kLower,
           kFlowRecords, nullptr},
          {"requests", "requests", "Requests", Better::kNeither, kFlowRecords,
           "how many requests the metrics `request_*` are about"},
          {"unfinished_requests", "requests", "Requests not complete", Better::kLower, kFlowRecords,
           "how many of these were not complete at the end"},
      },
      {},
      &compute};
  return family;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "study/surrogate.h"

#include <cmath>

#include "base/random.h"

namespace delaycc {
namespace {

enum Purpose : uint64_t { kTimeout = 1, kRadius, kAngle, kGap, kSize };

}  // namespace

SurrogateTrial run_surrogate(const Surrogate& net, const std::vector<FlowDraw>& draws,
                             std::vector<double> bytes, double gap_s, const SurrogateLaw& law,
                             uint64_t seed, uint64_t trial) {
  SurrogateTrial out;
  out.bytes = std::move(bytes);
  out.response_s.resize(draws.size());
  out.arrival_s.reserve(draws.size());
  SharedLink link(net.rate_bps * law.efficiency);
  const auto finished = [&](size_t flow, double now_s) {
    out.response_s[flow] = now_s - out.arrival_s[flow] + law.start_s;
  };
  bool weighted = false;
  for (size_t i = 0; i < draws.size(); ++i) {
    out.arrival_s.push_back(draws[i].arrival * gap_s);
    weighted = weighted || draws[i].log_weight != 0;
    link.run_until(out.arrival_s[i], finished);
    link.arrive(out.arrival_s[i], i, out.bytes[i]);
  }
  link.drain(finished);
  const auto chance = [&](Purpose purpose, uint64_t index) {
    return uniform_draw(seed, trial, (law.number << 8) + purpose, index);
  };
  if (law.jitter > 0)
    for (size_t i = 0; i < draws.size(); ++i)
      out.response_s[i] *= std::exp(law.jitter * std::sqrt(-2 * std::log1p(-chance(kRadius, i))) *
                                    std::cos(6.283185307179586 * chance(kAngle, i)));
  if (law.timeout_share > 0)
    for (size_t i = 0; i < draws.size(); ++i)
      if (chance(kTimeout, i) < law.timeout_share) out.response_s[i] += law.timeout_s;
  out.log_ratio.assign(draws.size(), 0);
  if (weighted) {
    std::vector<double> weights, ends;
    for (size_t i = 0; i < draws.size(); ++i) {
      weights.push_back(draws[i].log_weight);
      ends.push_back(out.arrival_s[i] + out.response_s[i]);
      out.cycle_log_ratio += draws[i].log_weight;
    }
    out.log_ratio = log_ratios(out.arrival_s, weights, ends);
  }
  return out;
}

CycleSource surrogate_cycles(const Surrogate& net, double flows, const LognormalSizes& nominal,
                             uint64_t seed, bool ratio_after_switch) {
  const double gap_s = net.duration_s / flows;
  return [=](const LognormalSizes& drawn, double switch_at, uint64_t number) {
    ImportanceCycle cycle;
    std::vector<double> arrivals;
    SharedLink link(net.rate_bps);
    bool tilted = true;
    const auto finished = [&](size_t flow, double now_s) {
      const double response = now_s - arrivals[flow];
      cycle.flows.push_back({response, cycle.log_ratio});
      if (response > switch_at) tilted = false;
    };
    double now_s = 0;
    for (uint64_t i = 0;; ++i) {
      now_s -= gap_s * std::log1p(-uniform_draw(seed, number, kGap, i));
      if (now_s >= net.duration_s) break;
      link.run_until(now_s, finished);
      const double u = std::max(uniform_draw(seed, number, kSize, i), 0x1p-53);
      const double bytes = (tilted ? drawn : nominal).quantile(u);
      const double log_bytes = std::log(bytes);
      if (tilted || ratio_after_switch) cycle.log_ratio += nominal.log_ratio(log_bytes, drawn);
      cycle.log_bytes.push_back(log_bytes);
      link.arrive(now_s, arrivals.size(), bytes);
      arrivals.push_back(now_s);
    }
    link.drain(finished);
    return cycle;
  };
}

}  // namespace delaycc

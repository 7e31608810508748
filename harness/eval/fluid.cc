// SPDX-License-Identifier: Apache-2.0
#include "eval/fluid.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace delaycc {
namespace {

// A link or flow that has less than this share of what it began with is done.
constexpr double kRateRounding = 1e-12;

struct Active {
  size_t flow;
  double left_bytes;
  double rate = 0;  // bytes per second
};

// Max-min fair rates by progressive filling: the link that gives its flows least is full first.
class Filling {
 public:
  explicit Filling(const std::vector<double>& rates_bps)
      : capacity_(rates_bps.size()), left_(rates_bps.size()), flows_(rates_bps.size(), 0) {
    for (size_t l = 0; l < capacity_.size(); ++l) capacity_[l] = rates_bps[l] / 8;
  }

  void fill(std::vector<Active>& active, const std::vector<FluidFlow>& flows) {
    left_ = capacity_;
    std::fill(flows_.begin(), flows_.end(), 0);
    for (Active& a : active) {
      a.rate = 0;
      for (int l : flows[a.flow].links) flows_[static_cast<size_t>(l)]++;
    }
    for (size_t open = active.size(); open > 0;) {
      size_t tightest = 0;
      double least = std::numeric_limits<double>::infinity();
      for (size_t l = 0; l < left_.size(); ++l) {
        if (flows_[l] == 0) continue;
        const double share = std::max(left_[l], 0.0) / flows_[l];
        if (share < least) {
          least = share;
          tightest = l;
        }
      }
      for (Active& a : active) {
        const std::vector<int>& links = flows[a.flow].links;
        if (a.rate > 0 ||
            std::find(links.begin(), links.end(), static_cast<int>(tightest)) == links.end())
          continue;
        // Rounding may leave nothing of a link; its flows still end.
        a.rate = std::max(least, capacity_[tightest] * kRateRounding);
        open--;
        for (int l : links) {
          left_[static_cast<size_t>(l)] -= a.rate;
          flows_[static_cast<size_t>(l)]--;
        }
      }
    }
  }

 private:
  std::vector<double> capacity_, left_;
  std::vector<int> flows_;  // that have no rate yet
};

}  // namespace

SharedLink::SharedLink(double rate_bps) : bytes_per_s_(rate_bps / 8) {
  if (!(rate_bps > 0))
    throw Error(fmt::format("a link's rate is {}; it must be above 0", rate_bps));
}

void SharedLink::arrive(double now_s, size_t flow, double bytes) {
  now_s_ = std::max(now_s_, now_s);
  waiting_.push_back({share_ + bytes, flow});
  std::push_heap(waiting_.begin(), waiting_.end(), Later());
}

std::vector<double> fluid_fct_s(const std::vector<FluidFlow>& flows,
                                const std::vector<double>& rates_bps) {
  for (double rate : rates_bps)
    if (!(rate > 0)) throw Error(fmt::format("a link's rate is {}; it must be above 0", rate));
  for (const FluidFlow& f : flows) {
    if (f.links.empty()) throw Error("a flow of the fluid model passes no link");
    if (!(f.bytes > 0 && std::isfinite(f.bytes) && std::isfinite(f.start_s)))
      throw Error("a flow of the fluid model has no size or no start");
    for (int l : f.links)
      if (l < 0 || static_cast<size_t>(l) >= rates_bps.size())
        throw Error(
            fmt::format("a flow of the fluid model passes link {} of {}", l, rates_bps.size()));
  }
  std::vector<size_t> order(flows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return flows[a].start_s < flows[b].start_s; });

  std::vector<double> fct(flows.size(), 0);
  std::vector<Active> active;
  Filling filling(rates_bps);
  double now = 0;
  size_t next = 0;
  while (next < order.size() || !active.empty()) {
    if (active.empty()) now = flows[order[next]].start_s;
    for (; next < order.size() && flows[order[next]].start_s <= now; ++next)
      active.push_back({order[next], flows[order[next]].bytes});
    filling.fill(active, flows);
    double step = next < order.size() ? flows[order[next]].start_s - now
                                      : std::numeric_limits<double>::infinity();
    for (const Active& a : active) step = std::min(step, a.left_bytes / a.rate);
    now += step;
    for (Active& a : active) a.left_bytes -= a.rate * step;
    const auto done = [&](const Active& a) {
      const FluidFlow& flow = flows[a.flow];
      if (a.left_bytes > flow.bytes * kRateRounding) return false;
      fct[a.flow] = now - flow.start_s + flow.latency_s;
      return true;
    };
    active.erase(std::remove_if(active.begin(), active.end(), done), active.end());
  }
  return fct;
}

}  // namespace delaycc

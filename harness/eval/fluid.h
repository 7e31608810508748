// SPDX-License-Identifier: Apache-2.0
// The fluid model of a flow file: every flow has its max-min fair share of the links on its path at
// every moment, and the last byte needs a latency besides. On one link this is processor sharing.
// It knows no congestion control, so that it costs microseconds, and what an algorithm does beyond
// the fair share is what a trial adds: a control variate for it (estimator.h).
#ifndef DELAYCC_HARNESS_EVAL_FLUID_H_
#define DELAYCC_HARNESS_EVAL_FLUID_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/posix.h"

namespace delaycc {

struct FluidFlow {
  double start_s = 0;
  double bytes = 0;        // on the wire; above 0
  double latency_s = 0;    // of the idle path, added to the time that the links take
  std::vector<int> links;  // numbers of the links on its path; at least one
};

// Flow completion times in seconds, in the order of `flows`, which need not be in order of start.
// `rates_bps` are the links' rates, above 0. Throws Error on a flow without a link or a link that
// is not there.
std::vector<double> fluid_fct_s(const std::vector<FluidFlow>& flows,
                                const std::vector<double>& rates_bps);

// One link that its flows share equally, fed one flow at a time: what arrives may depend on what
// has finished. Time must not go back.
class SharedLink {
 public:
  explicit SharedLink(double rate_bps);
  // A flow that starts at `now_s`, after run_until(now_s).
  void arrive(double now_s, size_t flow, double bytes);
  // Calls finished(flow, time_s) for each flow that ends until `now_s`, in order of time.
  template <typename Finished>
  void run_until(double now_s, Finished finished) {
    while (!waiting_.empty()) {
      const auto active = static_cast<double>(waiting_.size());
      const double end_s = now_s_ + (waiting_.front().ends_at - share_) * active / bytes_per_s_;
      if (end_s > now_s) {
        share_ += (now_s - now_s_) * bytes_per_s_ / active;
        break;
      }
      now_s_ = std::max(now_s_, end_s);
      share_ = waiting_.front().ends_at;
      const size_t flow = waiting_.front().flow;
      std::pop_heap(waiting_.begin(), waiting_.end(), Later());
      waiting_.pop_back();
      finished(flow, now_s_);
    }
    if (waiting_.empty()) share_ = 0;
    now_s_ = std::max(now_s_, now_s);
  }
  // Until no flow is left.
  template <typename Finished>
  void drain(Finished finished) {
    run_until(1e300, finished);
  }
  size_t active() const { return waiting_.size(); }

 private:
  struct Waiting {
    double ends_at;  // in bytes of service to each flow since the link was last idle
    size_t flow;
  };
  struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const {
      return a.ends_at != b.ends_at ? a.ends_at > b.ends_at : a.flow > b.flow;
    }
  };

  double bytes_per_s_;
  double now_s_ = 0;
  double share_ = 0;  // bytes that each flow has had since the link was last idle
  std::vector<Waiting> waiting_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_FLUID_H_

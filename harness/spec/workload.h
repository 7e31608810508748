// SPDX-License-Identifier: Apache-2.0
// Flow-completion-time workloads: sizes from an empirical distribution, Poisson arrivals, and who
// sends to whom. A trial's flows are a function of the specification, the run's seed and the
// trial's number alone, so all algorithms meet the same ones (common random numbers).
#ifndef DELAYCC_HARNESS_SPEC_WORKLOAD_H_
#define DELAYCC_HARNESS_SPEC_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/posix.h"

namespace delaycc {

// A distribution of flow sizes: linear between its points.
class EmpiricalCdf {
 public:
  struct Point {
    double bytes;
    double cumulative;  // share of the flows that are not larger, 0 to 1
  };

  // Lines of "bytes cumulative", in order; "#" begins a comment. The second number is a share that
  // ends at 1 or a percentage that ends at 100 (within 1 %); all are divided by the last one. A
  // first value above 0 is the share of flows of exactly that size. Throws Error with
  // "name:line: what is wrong, what is allowed".
  static EmpiricalCdf parse(const std::string& text, const std::string& name);
  static EmpiricalCdf read(const std::string& path);

  static const std::vector<std::string>& built_in_names();
  // A built-in distribution by its name, otherwise a file.
  static EmpiricalCdf find(const std::string& name_or_path);

  const std::string& name() const { return name_; }
  // Neither column falls; the last cumulative is 1.
  const std::vector<Point>& points() const { return points_; }

  // P(size <= bytes).
  double cdf(double bytes) const;
  // The smallest size of which cdf() is at least `u`; `u` beyond 0 to 1 counts as its end.
  double quantile(double u) const;
  double mean() const { return mean_between(0, 1); }
  // E[quantile(U)] for U uniform between the two; their quantile where they are equal.
  double mean_between(double from_u, double to_u) const;
  // E[size | size > bytes]; the largest size where nothing is larger.
  double tail_mean(double bytes) const;
  // E[ceil(size / mss_bytes)]: packets of a flow.
  double mean_packets(double mss_bytes) const;

 private:
  EmpiricalCdf(std::string name, std::vector<Point> points)
      : name_(std::move(name)), points_(std::move(points)) {}

  std::string name_;
  std::vector<Point> points_;
};

// What chance decides about one flow. Its size is the distribution's quantile(uniform).
struct FlowDraw {
  double arrival = 0;     // since the start of the trial, in mean gaps between arrivals
  double uniform = 0;     // in [0, 1)
  double log_weight = 0;  // ln(nominal density / density drawn from) of this flow's draws
};

// Draws arrivals and sizes of a trial; who sends to whom is not its business. One object serves
// one trial.
class FlowSampler {
 public:
  virtual ~FlowSampler() = default;
  // All flows that arrive in [0, horizon) mean gaps, in order of arrival. Called once.
  virtual std::vector<FlowDraw> draw(double horizon) = 0;
};

// Poisson arrivals and independent sizes.
class PlainSampler : public FlowSampler {
 public:
  PlainSampler(uint64_t seed, int trial, uint64_t stream)
      : seed_(seed), trial_(trial), stream_(stream) {}
  std::vector<FlowDraw> draw(double horizon) override;

 private:
  uint64_t seed_;
  int trial_;
  uint64_t stream_;
};

// How a workload's flows are drawn: the key `sampling` of [workload].
struct SamplingSpec {
  std::string kind = "plain";
  int group = 20;        // "stratified": trials in a group
  double from = 0.97;    // "tail": sizes above this quantile
  double share = 0.03;   //   come from it with this probability, beside their own
  double shift = 0.1;    // "lognormal": of mu, in sigmas
  double factor = 1.05;  //   of sigma
};
const std::vector<std::string>& sampling_kinds();

// The sizes that draws of this kind stand for: `sizes`, or the log-normal distribution that fits
// them, cut at the largest.
EmpiricalCdf nominal_sizes(const SamplingSpec& spec, const EmpiricalCdf& sizes);
// `stream` tells independent parts of one trial apart.
std::unique_ptr<FlowSampler> make_sampler(const SamplingSpec& spec, const EmpiricalCdf& sizes,
                                          uint64_t seed, int trial, uint64_t stream);

// Requests to which `fan_in` hosts answer one, all at once.
struct IncastSpec {
  int fan_in = 0;          // 0: no incast
  int64_t size_bytes = 0;  // of a response
  double load = 0;
};

struct SizeClass {
  std::string name;
  int64_t limit_bytes = -1;  // largest size in it; -1: no limit
};

// The section [workload] of a scenario.
struct WorkloadSpec {
  bool present = false;
  std::shared_ptr<const EmpiricalCdf> sizes;
  double load = 0;             // 0: no flows but the incast's
  bool load_of_hosts = false;  // of the sending hosts' links together, not of the bottleneck
  std::string from;
  std::string to;
  int64_t until_ns = -1;     // no arrival from then on; -1: the end of the experiment
  int64_t warm_up_ns = 0;    // what starts earlier is not measured
  int64_t cool_down_ns = 0;  // what starts so shortly before the last arrival time neither
  IncastSpec incast;
  std::vector<SizeClass> classes;              // rising limits, the last without one
  std::vector<int64_t> priority_limits_bytes;  // rising; empty: no priorities
  bool dscp_of_priority = false;               // packets carry their flow's priority
  SamplingSpec sampling;
};

// What the generator needs to know of the network.
struct WorkloadHosts {
  std::vector<int> sources;
  std::vector<int> destinations;
  double rate_bps = 0;  // that the loads are shares of
  int mtu_bytes = 1500;
};

struct WorkloadFlow {
  int64_t start_ns = 0;
  int source = 0;
  int destination = 0;
  int64_t size_bytes = 0;
  double uniform = 0;     // that the size came from; 0 for an incast's
  double log_weight = 0;  // 0 unless it was drawn from another distribution than it stands for
  int64_t request = -1;   // number of the incast that it belongs to; -1: none
  bool measured = true;
};

// Bytes on the wire of a flow of `size_bytes`: with the headers of its packets, without ACKs.
double wire_bytes(double size_bytes, double packets);

// Flows per trial, on average.
double expected_flows(const WorkloadSpec& spec, const WorkloadHosts& hosts, int64_t duration_ns);

// In order of start. Throws Error where a source has nobody to send to.
std::vector<WorkloadFlow> generate_workload(const WorkloadSpec& spec, const WorkloadHosts& hosts,
                                            int64_t duration_ns, uint64_t seed, int trial);

// The group of a flow, for curves and measure.flows: "incast", its class, or "workload".
std::string workload_group(const WorkloadSpec& spec, const WorkloadFlow& flow);
// All groups that there may be.
std::vector<std::string> workload_groups(const WorkloadSpec& spec);

// Flows of a workload that have completion metrics of their own, as "small.fct_p99_us".
struct FlowSet {
  enum class Kind { kAll, kClass, kBackground, kIncast };
  std::string name;  // empty: all flows
  Kind kind = Kind::kAll;
  int size_class = -1;  // of kClass

  // `flow_class`: the flow's class of sizes, -1: none. `request`: the incast that it answers, -1:
  // none.
  bool has(int flow_class, int64_t request) const;
};
// The classes of sizes, which have no responses of incasts; where there are incasts, "background"
// (what answers none) and "incast".
std::vector<FlowSet> flow_sets(const WorkloadSpec& spec);
// Whether figures of all flows would mix two kinds: a background and the responses of incasts.
bool has_background(const std::vector<FlowSet>& sets);

// The class of a size; 0 if there are no classes.
int size_class(const WorkloadSpec& spec, int64_t size_bytes);
// The priority of a size: the number of limits that are at least as large, so small flows are high;
// -1 without limits.
int64_t size_priority(const WorkloadSpec& spec, int64_t size_bytes);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SPEC_WORKLOAD_H_

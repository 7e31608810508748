// SPDX-License-Identifier: Apache-2.0
// What an experiment is: a scenario with every parameter resolved. docs/research/scenarios.md
// describes the file that it is read from.
#ifndef DELAYCC_HARNESS_SPEC_SCENARIO_H_
#define DELAYCC_HARNESS_SPEC_SCENARIO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "spec/workload.h"

namespace delaycc {

// The value of a sweep parameter.
using Value = std::variant<int64_t, double, std::string>;
using Parameters = std::map<std::string, Value>;
std::string to_string(const Value& value);

// From that time (ns) on the delay is longer by that many ns, or shorter.
using DelaySteps = std::vector<std::pair<int64_t, int64_t>>;

struct LinkSpec {
  double rate_gbps = 100;  // 0: infinitely fast
  int64_t delay_ns = -1;   // -1: from base_rtt_ns
  int64_t buffer_bytes = 0;
  int64_t ecn_threshold_bytes = 0;
  int64_t loss_ppm = 0;
  int64_t reorder_ppm = 0;
  int64_t reorder_delay_ns = 0;
  // Extra delay as quantiles, [ppm, ns] from 0 to 1000000; empty: none. In one direction only:
  // from hosts, away from the first switch, and at a bottleneck towards the receivers.
  std::vector<std::pair<double, double>> noise;
  DelaySteps extra_delay_steps;  // in the noise's direction
  int bands = 0;                 // of the prio qdisc that switches have here; 0: one queue
};

// Hosts that differ from the others: of their own link.
struct HostLinkSpec {
  std::string hosts;           // a selector
  double rate_gbps = -1;       // of both directions; -1: that of host_link
  int64_t extra_delay_ns = 0;  // of all that the hosts send, beside what the topology gives
  // As in LinkSpec, of what the hosts send; none: that of host_link.
  std::optional<std::vector<std::pair<double, double>>> noise;
  std::optional<DelaySteps> extra_delay_steps;  // likewise
  int64_t interrupt_gap_ns = -1;  // between interrupts of the hosts' NICs; -1: none was given
};

enum class TopologyKind { kDumbbell, kIncast, kParkingLot, kLeafSpine, kFatTree };

struct TopologySpec {
  TopologyKind kind = TopologyKind::kDumbbell;
  int senders = 1;      // dumbbell, incast
  int receivers = 1;    // dumbbell
  int bottlenecks = 1;  // parking lot
  int hosts = 1;        // per switch of a parking lot, per leaf
  int leaves = 1;
  int spines = 1;
  int k = 4;                                // fat tree
  bool spray = false;                       // equal paths by packet, not by flow
  int64_t base_rtt_ns = 0;                  // 0: every link has its delay_ns
  LinkSpec link;                            // between switches
  LinkSpec host_link;                       // at hosts
  LinkSpec bottleneck;                      // dumbbell, incast, parking lot
  std::map<std::string, double> port_gbps;  // of single ports, by name, in place of their link's
  std::map<std::string, DelaySteps> port_delay_steps;
  std::vector<HostLinkSpec> host_links;  // of single hosts
};

// What the bench tells the hosts of their line rate, unless the scenario sets the sysctl.
enum class LineRate {
  kAutomatic,  // nothing: the modules take the device's speed, which is 10 Gbit/s for any veth
  kLink,       // the rate of the host's link
};

// What the bench tells the hosts of base RTTs, unless the scenario sets a sysctl of them.
enum class BaseRtt {
  kAutomatic,  // nothing: each connection measures
  kLongest,    // one value for all: the longest path's
  kPath,       // each path's own
};

struct HostsSpec {
  int mtu_bytes = 1500;
  bool quickack = true;
  int ack_dscp = 0;
  int initcwnd = 0;
  int rto_min_ms = 0;
  bool gso = false;
  int64_t warm_bytes = 300'000;
  LineRate line_rate = LineRate::kLink;
  BaseRtt base_rtt = BaseRtt::kPath;
  std::map<std::string, std::string> sysctls;
};

struct AlgorithmSpec {
  std::string cc;  // the kernel's name
  std::string label;
  std::string note;
  int initcwnd = 0;
  std::optional<LineRate> line_rate;  // in place of the hosts'
  std::optional<BaseRtt> base_rtt;    // likewise
  std::map<std::string, std::string> sysctls;
  // Of the hosts that a flow group sends from, over those above: group, then name.
  std::map<std::string, std::map<std::string, std::string>> sender_sysctls;
};

struct FlowSpec {
  std::string name;
  int count = 1;
  std::string from;
  std::string to;
  std::string cc;  // empty: the algorithm under test
  int64_t start_ns = 0;
  int64_t start_phase_ns = 0;   // one random delay for the whole group
  int64_t start_jitter_ns = 0;  // a random delay for each member
  bool connect_at_start = false;
  int64_t stagger_ns = 0;
  int64_t stop_ns = -1;
  int64_t stop_phase_ns = 0;
  int64_t stop_jitter_ns = 0;
  int64_t stop_stagger_ns = 0;
  int64_t size_bytes = -1;
  int repeat = 1;
  int64_t repeat_ns = 0;
  int64_t priority = -1;  // SO_PRIORITY; -1: the system's
  int dscp = 0;
  double pacing_gbps = 0;
  std::vector<std::pair<int64_t, double>> pacing_steps;  // from that time (ns) on, Gbit/s
  bool plot_each = false;
};

struct EventSpec {
  bool present = false;
  std::string label;
  int64_t at_ns = -1;       // fixed, or
  std::string stop_of;      // when the last flow of this group stopped
  std::string recovers;     // group whose rate is to come back
  double threshold = 0.95;  // of the bottleneck's rate
  int64_t window_ns = 6000;
  int64_t horizon_ns = -1;  // -1: the experiment's end
};

// Which ports write a log: what the metrics of a scenario need, as each event costs time.
enum class LogChoice {
  kNone,        // flow metrics only
  kBottleneck,  // no RTTs
  kAll,         // the bottleneck and both ends of each sender's RTT
  kEvery,       // every port: no metric needs it, but paths are seen
};

// Times in nanoseconds, whatever unit the key has.
using MeasureValue =
    std::variant<int64_t, double, std::string, std::vector<std::pair<int64_t, int64_t>>>;

struct MeasureSpec {
  LogChoice log = LogChoice::kAll;
  int64_t duration_ns = 0;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  std::vector<std::pair<int64_t, int64_t>> exclude_ns;
  std::vector<std::string> flows;  // groups; empty: all
  // Keys that a family of metrics declares (metrics/parameter.h); one that is absent has its
  // default.
  std::map<std::string, MeasureValue> parameters;
  bool decisions = false;  // one of them asks for the algorithm's decisions
};

struct Expectation {
  std::string algorithm;
  std::string metric;
  std::string statistic = "mean";  // or "max", "min" over the trials
  // With either, the limits are of the ratio to that algorithm's metric, in that case, over pairs
  // of trials, and hold for its whole 95 % interval.
  std::string of;
  std::map<std::string, std::string> of_case;  // parameters that differ there
  // A parameter of the sweep: the metric's trend over its values, from the least to the greatest,
  // in the same trials. Without `trend` the limits are of the slope of the line of least squares.
  std::string over;
  std::string trend;  // "rises", "falls" or empty
  bool every_case = false;
  bool has_min = false;
  bool has_max = false;
  double min = 0;
  double max = 0;
  std::string text;  // "<= 25"; the unit comes behind it
};

// One case of a scenario: every parameter has its value.
struct Scenario {
  std::string name;
  std::string title;
  std::string claim;
  std::string text;
  std::string subject;
  std::string main_metric;
  std::vector<std::string> notes;
  int trials = 12;
  std::vector<std::string> algorithms;  // default of --cc
  std::map<std::string, AlgorithmSpec> algorithm_specs;
  TopologySpec topology;
  HostsSpec hosts;
  std::vector<FlowSpec> flows;
  WorkloadSpec workload;
  EventSpec event;
  MeasureSpec measure;
  std::vector<double> focus_us;
  std::vector<Expectation> expectations;
  // What --set said: a key of the file or a parameter of the sweep, and the value's text.
  std::map<std::string, std::string> overrides;

  // The algorithm's own section, or one that only names the kernel's algorithm.
  AlgorithmSpec algorithm(const std::string& name) const;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SPEC_SCENARIO_H_

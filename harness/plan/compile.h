// SPDX-License-Identifier: Apache-2.0
// From a scenario to the plan of one trial.
#ifndef DELAYCC_HARNESS_PLAN_COMPILE_H_
#define DELAYCC_HARNESS_PLAN_COMPILE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/topology.h"
#include "spec/scenario.h"
#include "spec/workload.h"

namespace delaycc {

struct Trial {
  std::string algorithm;  // a name of the scenario
  int number = 0;         // 0, 1, ...
  uint64_t seed = 1;      // of the run
  bool trace = false;
};

// What metrics need to know of a trial beside its records. Times in nanoseconds since time 0.
struct Measurement {
  int bottleneck_port = -1;
  uint64_t bottleneck_bps = 0;
  int mtu_bytes = 1500;
  std::vector<int64_t> ideal_fct_ns;  // by flow id
  std::vector<int> host_port;         // by flow id: the sender's own port
  std::vector<int> return_port;       // by flow id: the last port before the sender
  std::vector<uint64_t> port_delay_ns;
  // Of ports that have such: from that time on, that delay.
  std::map<int, DelaySteps> port_delay_steps;
  LogChoice log = LogChoice::kAll;  // what the port log has
  bool curves = true;               // only those of trial 0 are kept
  std::vector<FlowSet> flow_sets;   // that have completion metrics of their own
  std::vector<int> size_class;      // by flow id; -1: none
  std::vector<int64_t> request;     // by flow id: the incast that it answers; -1: none
  std::vector<double> uniform;      // by flow id: that its size came from
  std::vector<double> log_weight;   // by flow id
  EventSpec event;
  MeasureSpec measure;
};

// A setting of our modules that was in force on hosts whose flows use them.
struct HostSetting {
  enum class Source {
    kBench,      // worked out from the topology
    kScenario,   // a sysctl of the scenario
    kAutomatic,  // nobody set it: the modules find out for themselves
  };
  std::string name;   // "line_rate_mbps", "base_rtt_ns"
  std::string value;  // "100000"; "4000 to 12000" where hosts or paths differ; empty: automatic
  Source source = Source::kAutomatic;
  int hosts = 0;  // how many it is of
};
const char* source_name(HostSetting::Source source);

struct CompiledTrial {
  Plan plan;
  Measurement measurement;
  std::vector<HostSetting> settings;  // in order of name, then source; empty: none of our modules
};

// The hosts of a [workload], and the rate that its loads are shares of. Throws Error.
WorkloadHosts workload_hosts(const Scenario& scenario, const Network& network);

// The flows of a trial's [workload], in order of start: what `delaycc workload` prints.
std::vector<WorkloadFlow> trial_workload(const Scenario& scenario, const Network& network,
                                         uint64_t seed, int number);

// Whether metrics are of this flow: by its start, and by measure.flows.
bool is_measured(const Scenario& scenario, const WorkloadFlow& flow);

// The same trial of two algorithms has the same random times. `has_module` says whether the lab has
// a kernel module of this name; other algorithms must be built in. Throws Error for what does not
// fit the topology; a resolved scenario does.
CompiledTrial compile_trial(const Scenario& scenario, const Trial& trial,
                            const std::function<bool(const std::string&)>& has_module);

// Of each node that sends flows: the sysctls of its groups. Throws Error when two groups on one
// host want different values.
std::map<int, std::map<std::string, std::string>> sender_sysctls(const Scenario& scenario,
                                                                 const Network& network,
                                                                 const AlgorithmSpec& algorithm);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_PLAN_COMPILE_H_

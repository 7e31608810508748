// SPDX-License-Identifier: Apache-2.0
// A section of a scenario file each. A mistake is told to the section, and a default taken.
#ifndef DELAYCC_HARNESS_SCENARIO_READERS_H_
#define DELAYCC_HARNESS_SCENARIO_READERS_H_

#include <string>

#include "scenario/section.h"

namespace delaycc {

LineRate read_line_rate(Section& section, LineRate fallback);
BaseRtt read_base_rtt(Section& section, BaseRtt fallback);
// `file`: the scenario's, as noise is in files beside it.
TopologySpec read_topology(Section& root, const std::string& file);
HostLinkSpec read_host_link(Section& section, const std::string& file);
// extra_delay_steps; empty if there are none.
DelaySteps read_delay_steps(Section& section);
FlowSpec read_flow(Section& section, size_t index);
WorkloadSpec read_workload(Section& section, const std::string& file, bool has_bottleneck);
EventSpec read_event(Section section);
MeasureSpec read_measure(Section section, const std::string& default_log);
std::string read_metric(Section& section, const std::string& key, const WorkloadSpec& workload);
// `sweep`: the values of its parameters.
Expectation read_expectation(Section& section, const WorkloadSpec& workload,
                             const std::map<std::string, std::vector<Value>>& sweep);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SCENARIO_READERS_H_

// SPDX-License-Identifier: Apache-2.0
// What only the whole network shows: selectors, ports, loads.
#ifndef DELAYCC_HARNESS_SCENARIO_CHECKS_H_
#define DELAYCC_HARNESS_SCENARIO_CHECKS_H_

#include <vector>

#include "scenario/section.h"

namespace delaycc {

// Tells the sections of the mistakes that it finds. `port_sections` are those of [[port]],
// `flow_sections` those of [[flows]], in the order of the scenario.
void check_network(const Scenario& s, Section& root, std::vector<Section>& port_sections,
                   std::vector<Section>& host_sections, std::vector<Section>& flow_sections,
                   Section& workload);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SCENARIO_CHECKS_H_

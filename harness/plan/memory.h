// SPDX-License-Identifier: Apache-2.0
// What a trial takes of the machine's memory in the lab.
#ifndef DELAYCC_HARNESS_PLAN_MEMORY_H_
#define DELAYCC_HARNESS_PLAN_MEMORY_H_

#include <cstdint>

#include "plan/plan.h"
#include "spec/scenario.h"

namespace delaycc {

// What the lab's kernel takes for itself and for the plan's hosts, switches, links and routes
// before a packet is sent, in bytes. All of it is used, whatever the flows do.
int64_t network_bytes(const Plan& plan);

// Throws Error, with what is needed and what to change, where network_bytes() is more than the
// `machine_bytes` that the machine has.
void need_memory(const Plan& plan, int64_t machine_bytes);

// The memory that the lab is to have for a plan, in MB of 2^20 bytes: network_bytes(), and room for
// what the flows have under way and for the port log. What is not touched costs the machine little.
int memory_mb(const Plan& plan, LogChoice log);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_PLAN_MEMORY_H_

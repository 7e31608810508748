// SPDX-License-Identifier: Apache-2.0
// What packets say of the clocks of two hosts: none comes before it leaves.
#ifndef DELAYCC_HARNESS_BACKEND_HOSTS_ONE_WAY_H_
#define DELAYCC_HARNESS_BACKEND_HOSTS_ONE_WAY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/host/wire.h"
#include "plan/plan.h"
#include "trace/records.h"

namespace delaycc {

// The least times of a flow by the clocks of its two hosts. Nothing: no packet was seen by both.
struct OneWay {
  std::optional<int64_t> there_ns;  // from where a data packet leaves to where it comes
  std::optional<int64_t> back_ns;   // from where it comes to where an ACK up to it comes
};

// By flow, as `ports` are, from the records of both hosts.
std::vector<OneWay> least_one_way(const Plan& plan, const std::vector<FlowPorts>& ports,
                                  const std::vector<PacketRecord>& packets);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOSTS_ONE_WAY_H_

// SPDX-License-Identifier: Apache-2.0
// From what taps saw on both sides of a port to the records of that port.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_RECORDER_H_
#define DELAYCC_HARNESS_RUNNER_HOST_RECORDER_H_

#include <cstdint>
#include <vector>

#include "backend/host/shaping.h"
#include "plan/plan.h"
#include "runner/host/tap.h"
#include "trace/records.h"

namespace delaycc {

// What the taps of some nodes saw, by node; those of other nodes are empty.
using SeenByNode = std::vector<std::vector<SeenPacket>>;

// Which nodes are to be tapped for the ports that the plan logs.
std::vector<bool> tapped_nodes(const Plan& plan);

// Records of the plan's logged ports from `from_ns` on, in order of arrival. Times of `seen` are of
// the clock of Plan::zero_ns here. A packet that came to a queue and never left it was dropped, if
// a later one left; else it was still there at the end.
std::vector<PacketRecord> port_records(const Plan& plan, const ShapedNetwork& shaped,
                                       const SeenByNode& seen, int64_t from_ns);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_RECORDER_H_

// SPDX-License-Identifier: Apache-2.0
// From what the tap of one real host saw to the records of that host's part of a plan.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_HOST_RECORDS_H_
#define DELAYCC_HARNESS_RUNNER_HOST_HOST_RECORDS_H_

#include <cstdint>
#include <vector>

#include "backend/host/wire.h"
#include "runner/host/tap.h"
#include "trace/records.h"

namespace delaycc {

// Of the flows that the order's host sends or receives: data as it leaves and ACKs as they come, at
// the ports of the sender; data as it comes, at the ports of switches that it passed. `seen` has
// times of the clock of Plan::zero_ns, which give those from `from_ns` on. A segment that the host
// cuts for its NIC, or that it joined, counts as the packets that are on the wire.
std::vector<PacketRecord> host_records(const Order& order, const std::vector<SeenPacket>& seen,
                                       int64_t from_ns);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_HOST_RECORDS_H_

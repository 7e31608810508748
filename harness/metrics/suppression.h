// SPDX-License-Identifier: Apache-2.0
#ifndef DELAYCC_HARNESS_METRICS_SUPPRESSION_H_
#define DELAYCC_HARNESS_METRICS_SUPPRESSION_H_

#include <cstdint>
#include <vector>

#include "metrics/curves.h"
#include "metrics/metrics.h"

namespace delaycc {

// Time from `from_ns` to the departure of the last packet that waited `delay_ns` or longer before
// `hold_ns` passed without another one. 0 if none waited so long; missed if the end came first.
MetricValue suppression_ns(const std::vector<QueuedPacket>& packets, uint64_t rate_bps,
                           int64_t from_ns, int64_t end_ns, int64_t delay_ns, int64_t hold_ns);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_SUPPRESSION_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef DELAYCC_HARNESS_METRICS_RECOVERY_H_
#define DELAYCC_HARNESS_METRICS_RECOVERY_H_

#include <cstdint>

#include "metrics/curves.h"
#include "metrics/metrics.h"

namespace delaycc {

// Time from `event_ns` to the start of the first window after the last one (of all that end after
// the event, every 100 ns) whose mean rate is below `threshold` of `rate_bps`: from then on no
// window is below it. 0 if none is; missed if the one at the horizon is.
MetricValue recovery_ns(const ServiceCurve& curve, uint64_t rate_bps, int64_t event_ns,
                        int64_t horizon_ns, int64_t window_ns, double threshold);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_RECOVERY_H_

// SPDX-License-Identifier: Apache-2.0
// Whether PTP keeps the system's clock: by what ptp4l says of its port, and by the device's clock.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_PTP_H_
#define DELAYCC_HARNESS_RUNNER_HOST_PTP_H_

#include <string>

#include "backend/host/wire.h"

namespace delaycc {

// Asks the ptp4l behind the socket of `order` by pmc. That the clock is not kept is no error:
// PtpState::trouble says it.
PtpState find_ptp(const PtpOrder& order);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_PTP_H_

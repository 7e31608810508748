// SPDX-License-Identifier: Apache-2.0
// What a device's stamps are found to be, by packets and not by its driver's words.
#ifndef DELAYCC_HARNESS_STAMPS_TRIAL_H_
#define DELAYCC_HARNESS_STAMPS_TRIAL_H_

#include <string>

#include "stamps/echo.h"
#include "stamps/nic.h"

namespace delaycc {

enum class Stamping { kHardware, kTxOnly, kSoftware };
// "hardware", "tx-only", "software".
const char* stamping_name(Stamping stamping);

struct StampTrial {
  Stamping stamping = Stamping::kSoftware;
  int echoes = 0;       // tried
  int sent = 0;         // of these, how many had the hardware's stamp when they left
  int came = 0;         // and their answers
  std::string why;      // not better; empty: hardware
  WantedStamps usable;  // those that nearly all packets had
};

// Sends 50 short echoes through the device whose stamps `nic` has switched on, and counts. Throws
// Error when nothing answers.
StampTrial try_stamps(Echo& echo, const NicStamping& nic);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STAMPS_TRIAL_H_

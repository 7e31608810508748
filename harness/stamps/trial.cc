// SPDX-License-Identifier: Apache-2.0
#include "stamps/trial.h"

#include <cstdint>

namespace delaycc {
namespace {

constexpr size_t kTestEchoes = 50;
constexpr double kNearlyAll = 0.9;

}  // namespace

const char* stamping_name(Stamping stamping) {
  switch (stamping) {
    case Stamping::kHardware:
      return "hardware";
    case Stamping::kTxOnly:
      return "tx-only";
    case Stamping::kSoftware:
      break;
  }
  return "software";
}

StampTrial try_stamps(Echo& echo, const NicStamping& nic) {
  StampTrial trial;
  const WantedStamps wanted = {nic.tx(), nic.rx()};
  for (const EchoTimes& times : echo.ping(kTestEchoes, echo.short_bytes(), INT64_MAX, wanted)) {
    trial.echoes++;
    trial.sent += times.nic_sent_ns > 0;
    trial.came += times.nic_came_ns > 0;
  }
  const auto nearly_all = [&](int count) { return count >= kNearlyAll * trial.echoes; };
  trial.usable = {nic.tx() && nearly_all(trial.sent), nic.rx() && nearly_all(trial.came)};
  if (trial.usable.nic_sent)
    trial.stamping = trial.usable.nic_came ? Stamping::kHardware : Stamping::kTxOnly;
  if (trial.stamping == Stamping::kHardware) return trial;
  const bool silent = (nic.tx() && !trial.usable.nic_sent) || (nic.rx() && !trial.usable.nic_came);
  trial.why = silent ? "its driver accepted hardware stamps, and they did not come" : nic.trouble();
  return trial;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// A path's round trips, by echoes with the best stamps that there are.
#ifndef DELAYCC_HARNESS_CALIBRATE_MEASURE_H_
#define DELAYCC_HARNESS_CALIBRATE_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/settings.h"
#include "stamps/nic.h"
#include "stamps/trial.h"

namespace delaycc {

inline constexpr size_t kTrainPackets = 256;

// Round trips in one state of the path, each list sorted; in nanoseconds.
struct RoundTrips {
  std::vector<int64_t> short_ns;       // by the kernel: a packet as short as an ACK
  std::vector<int64_t> full_ns;        // a full packet, answered by a full one
  std::vector<int64_t> nic_full_ns;    // the same by the hardware's stamps; empty: none
  std::vector<int64_t> host_noise_ns;  // of each full echo: the kernel's RTT less the hardware's
};

struct PathMeasurement {
  std::string device;
  StampClaims claims;
  StampTrial stamps;
  size_t mtu_bytes = 0;    // of the path, with the IP header
  int64_t speed_mbps = 0;  // as the device says; 0: it does not
  bool has_hardware = false;
  TrainRates train;  // of 256 full packets at once
  // The NIC's clock less the system's, and how fast that changes; only where it stamps what leaves.
  int64_t clock_offset_ns = 0;
  double clock_drift_ppb = 0;
  RoundTrips idle;
  RoundTrips loaded;  // without short ones; empty lists: no load
  int64_t load_asked_bps = 0;
  int64_t load_bps = 0;  // that was really sent

  // Of a full packet that goes there and an ACK that comes back: on a path that is the same both
  // ways half of what two full packets and two short ones take.
  int64_t smallest_rtt_ns() const;
};

struct MeasureOptions {
  std::string address;                 // IPv4
  size_t count = 4000;                 // of full echoes, idle and under load each
  int64_t budget_ns = 10'000'000'000;  // for each
  double load_share = 0.1;             // of the line rate; 0: no load
  int64_t line_rate_mbps = 0;          // as the user says; 0: found out
  int64_t sysctl_mbps = 0;             // as net.ipv4.delaycc.line_rate_mbps says
  size_t overhead_bytes = 14;          // of a packet below IP
};

// Switches the device's stamps on meanwhile. Throws Error: no permission, no answer.
PathMeasurement measure_path(const MeasureOptions& options);

// The device's speed by its driver, in Mbit/s; 0: it does not say.
int64_t device_speed_mbps(const std::string& device);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_CALIBRATE_MEASURE_H_

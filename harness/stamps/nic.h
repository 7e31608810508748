// SPDX-License-Identifier: Apache-2.0
// The time stamps of a network device: what its driver claims, and switching them on for a while.
#ifndef DELAYCC_HARNESS_STAMPS_NIC_H_
#define DELAYCC_HARNESS_STAMPS_NIC_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/posix.h"

namespace delaycc {

// What a driver says of its device. It may be wrong.
struct StampClaims {
  bool tx_hardware = false;
  bool rx_hardware = false;  // of every packet, not only of PTP's
  bool tx_software = false;
  int phc_index = -1;  // of /dev/ptpN, the device's clock; -1: the driver names none
};

// Of a device of this network namespace. Throws Error naming it.
StampClaims read_stamp_claims(const std::string& device);

// What a device is set to stamp: HWTSTAMP_TX_* and HWTSTAMP_FILTER_* of linux/net_tstamp.h.
struct StampConfig {
  int tx_type = 0;
  int rx_filter = 0;
  bool operator==(const StampConfig& other) const {
    return tx_type == other.tx_type && rx_filter == other.rx_filter;
  }
};

// Nothing: the driver does not tell. Throws Error for a device that is not there.
std::optional<StampConfig> read_stamp_config(const std::string& device);

// 0, or the number of the driver's error. `config` becomes what the driver has made of it. Throws
// Error for a device that is not there.
int write_stamp_config(const std::string& device, StampConfig* config);

// One process at a time has the stamps of a device of a namespace.
class StampsLock {
 public:
  // Throws Error for a device that is not there, and for one that another delaycc has.
  explicit StampsLock(const std::string& device);

 private:
  Fd socket_;
};

// Switches a device's stamps on, as far as its driver accepts it, and back to what they were when
// it goes. A guard process does that in its place when this process ends in any other way, also by
// SIGKILL.
class NicStamping {
 public:
  // Throws what StampsLock throws. What the driver refuses is no error: trouble() says it.
  explicit NicStamping(const std::string& device);
  NicStamping(const NicStamping&) = delete;
  NicStamping& operator=(const NicStamping&) = delete;
  // Says on standard error what restore() could not do.
  ~NicStamping();

  // Back to the settings before, at once. Returns why that was not possible, empty: done.
  std::string restore();

  // What the device now says that it is set to.
  bool tx() const { return tx_; }
  bool rx() const { return rx_; }
  // Why not both; empty: both.
  const std::string& trouble() const { return trouble_; }

 private:
  // The guard waits until this process ends, or lets it go.
  void start_guard();
  void end_guard();

  const std::string device_;
  const StampsLock lock_;  // the guard has it, too
  Fd socket_;
  std::optional<StampConfig> before_;  // to go back to; nothing: nothing was changed
  bool tx_ = false;
  bool rx_ = false;
  std::string trouble_;
  Fd guard_pipe_;
  pid_t guard_ = -1;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STAMPS_NIC_H_

// SPDX-License-Identifier: Apache-2.0
// RTTs of the data packets that a real host sends, by the stamps of its NIC.
//
// What leaves: the sockets ask for a stamp of each write's last byte, and the kernel puts the stamp
// of the packet with that byte into the socket's error queue. What comes: a tap with the hardware's
// stamps. Both are of the NIC's clock.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_NIC_RTTS_H_
#define DELAYCC_HARNESS_RUNNER_HOST_NIC_RTTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/host/wire.h"
#include "runner/host/tap.h"
#include "runner/traffic.h"
#include "trace/records.h"

namespace delaycc {

class NicRtts {
 public:
  // Of the order's device, whose stamps are switched on, in the namespace of the caller. Refers to
  // the order. Has `traffic` tell it of sockets. Throws Error.
  NicRtts(const Order& order, size_t tap_packets, int ifindex, Traffic* traffic);

  // Takes what the device has stamped since the last call.
  void take() { tap_.take(&acks_); }

  // To be called after the traffic. `seen` is what a tap with the kernel's stamps saw, with times
  // of the clock of Plan::zero_ns; packets that were sent before `from_ns` do not count, nor those
  // that were sent more than once (nobody knows which of them an ACK answers). Throws Error when
  // packets are missing, or the NIC's clock was set meanwhile.
  std::vector<NicRtt> records(const std::vector<SeenPacket>& seen, int64_t from_ns) const;

 private:
  // The packet with this byte of a flow left. Bytes count from the connection's first; the kernel
  // counts with 32 bits.
  struct Left {
    uint32_t byte;
    int64_t nic_ns;
  };
  void ask(int socket) const;
  void take_left(size_t flow, int socket);

  const Order& order_;
  Tap tap_;
  std::vector<SeenPacket> acks_;
  std::vector<std::vector<Left>> left_;  // by flow, in the order of their stamps
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_NIC_RTTS_H_

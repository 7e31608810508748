// SPDX-License-Identifier: Apache-2.0
// The TCP packets that a namespace's interfaces send and receive, with the kernel's stamps, or
// those that one interface receives with its hardware's.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_TAP_H_
#define DELAYCC_HARNESS_RUNNER_HOST_TAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/posix.h"

namespace delaycc {

// One packet at one interface. One that is sent is seen below the qdisc, on its way to the driver.
struct SeenPacket {
  int64_t time_ns = 0;  // CLOCK_REALTIME; of the hardware: its own clock, 0 where it gave no stamp
  int ifindex = 0;
  bool outgoing = false;
  bool congested = false;  // ECN CE
  uint32_t len_bytes = 0;  // frame, Ethernet header included
  uint32_t source = 0;     // IPv4 addresses, in network order
  uint32_t destination = 0;
  uint32_t seq = 0;
  uint32_t ack_seq = 0;
  uint16_t payload_bytes = 0;
  uint16_t sport = 0;
  uint16_t dport = 0;
  uint16_t ip_id = 0;
  uint16_t flags = 0;  // PacketFlag of SYN, FIN and RST
};

// The ring of a trial's tap, the time between two looks at it, and how long before time 0 its
// records begin.
inline constexpr size_t kTapPackets = 1U << 16;
inline constexpr int64_t kTakeNs = 1'000'000;
inline constexpr int64_t kBeforeNs = 10'000;

enum class TapStamps { kKernel, kHardware };

// Taps interfaces of the namespace that its maker is in. Packets wait in a ring of `packets`
// until take() is called.
class Tap {
 public:
  // With an `ifindex` above 0 that interface alone. With the hardware's stamps only what comes in.
  // Throws Error, also for a kernel without packet sockets.
  Tap(const std::string& name, size_t packets, int ifindex = 0,
      TapStamps stamps = TapStamps::kKernel);
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  Tap(Tap&& other) noexcept;
  Tap& operator=(Tap&&) = delete;
  ~Tap();

  // Appends what came since the last call, in its order.
  void take(std::vector<SeenPacket>* packets);
  // Throws Error when the ring was full at any time: packets are missing.
  void check_complete() const;

 private:
  std::string name_;
  TapStamps stamps_;
  Fd socket_;
  char* ring_ = nullptr;
  size_t frames_ = 0;
  size_t next_ = 0;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_TAP_H_

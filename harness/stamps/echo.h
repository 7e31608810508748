// SPDX-License-Identifier: Apache-2.0
// Echoes (ICMP) over a path: the far kernel answers them, and nothing else is needed there.
#ifndef DELAYCC_HARNESS_STAMPS_ECHO_H_
#define DELAYCC_HARNESS_STAMPS_ECHO_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/posix.h"

namespace delaycc {

// What the stamps of one echo say, in nanoseconds; 0: no such stamp. Those of the NIC are of its
// own clock, the others of CLOCK_REALTIME.
struct EchoTimes {
  int64_t sent_ns = 0;         // before the system call
  int64_t queued_ns = 0;       // entered the device's queue
  int64_t driver_ns = 0;       // given to the driver
  int64_t nic_sent_ns = 0;     // by the hardware
  int64_t nic_came_ns = 0;     // the answer, by the hardware
  int64_t kernel_came_ns = 0;  // the kernel had the answer

  // From the device's queue to the kernel, as TCP measures; 0: no answer.
  int64_t kernel_rtt_ns() const {
    return kernel_came_ns > 0 ? kernel_came_ns - (queued_ns > 0 ? queued_ns : sent_ns) : 0;
  }
  // Between the two stamps of the hardware; 0: one is missing.
  int64_t nic_rtt_ns() const {
    return nic_sent_ns > 0 && nic_came_ns > 0 ? nic_came_ns - nic_sent_ns : 0;
  }
};

// How fast a train of packets left and came back; 0: no figure.
struct TrainRates {
  int64_t sent_bps = 0;
  int64_t came_bps = 0;
};

// What an echo waits for. A stamp of the hardware that does not come costs time.
struct WantedStamps {
  bool nic_sent = false;
  bool nic_came = false;
};

// Of what stamps are asked for: each costs the kernel time.
enum class EchoStamps { kAll, kArrivals };

struct IpVersion;

// Echoes to one address. Needs root, or CAP_NET_RAW.
class Echo {
 public:
  // `address` is of IPv4 or IPv6, with the device where that is needed (fe80::1%eth0). Throws
  // Error: no permission, no route.
  explicit Echo(const std::string& address, EchoStamps stamps = EchoStamps::kAll);

  // Throws Error when nothing answers within a second, four times, or nothing that is as long as
  // the path takes; the reason is in it where the network tells one. Afterwards device() and
  // path_mtu_bytes() are known.
  void find();
  // The interface through which answers come.
  const std::string& device() const { return device_; }
  // An echo's least length with its IP header: that of an ACK with TCP's time stamps.
  size_t short_bytes() const;
  // The longest IP packet that the path takes, as this kernel knows.
  size_t path_mtu_bytes() const;

  // Echoes one after the other, of `ip_bytes` each (at least short_bytes()), until there are
  // `count` or about `budget_ns` have gone by. What was not answered within a second is left out.
  // Throws Error when nothing was answered, or a packet is too long for the path.
  std::vector<EchoTimes> ping(size_t count, size_t ip_bytes, int64_t budget_ns,
                              WantedStamps wanted);
  // `packets` of `ip_bytes` sent at once. Packets count `overhead_bytes` more on the line. By the
  // hardware's stamps where there are any.
  TrainRates train(size_t packets, size_t ip_bytes, size_t overhead_bytes, WantedStamps wanted);

 private:
  void send(const std::string& packet, EchoTimes* times);
  // Whether one echo is answered.
  bool answers(size_t ip_bytes);
  // Takes what has come: answers and stamps of what was sent. Until `wanted` of the echoes from
  // `first` on is complete, or time is over.
  void receive(uint64_t first, std::vector<EchoTimes>& echoes, WantedStamps wanted,
               int64_t answer_ns, int64_t stamp_ns);
  bool take(uint64_t first, std::vector<EchoTimes>& echoes, int flags);

  const std::string address_;
  const uint16_t id_;
  const IpVersion* ip_ = nullptr;
  Fd socket_;
  std::string device_;
  uint64_t sent_ = 0;  // echoes; also what the kernel calls the next one in its stamps
};

// Echoes at a steady rate, from a process of its own, that nobody waits for. Ends with its owner.
class EchoLoad {
 public:
  // `ip_bytes` each, `rate_bps` on a line where packets count `overhead_bytes` more. Throws Error.
  EchoLoad(const std::string& address, size_t ip_bytes, size_t overhead_bytes, int64_t rate_bps);
  EchoLoad(const EchoLoad&) = delete;
  EchoLoad& operator=(const EchoLoad&) = delete;
  ~EchoLoad();

  // What was really sent since the last call, or the start.
  int64_t rate_bps();

 private:
  // Shared with the process.
  struct Sent;
  Sent* sent_ = nullptr;
  const int64_t bits_;
  int64_t from_ns_ = 0;
  uint64_t from_packets_ = 0;
  pid_t child_ = -1;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STAMPS_ECHO_H_

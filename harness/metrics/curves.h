// SPDX-License-Identifier: Apache-2.0
// Curves over time of what passes a port, and of what waits there.
#ifndef DELAYCC_HARNESS_METRICS_CURVES_H_
#define DELAYCC_HARNESS_METRICS_CURVES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "metrics/parameter.h"

namespace delaycc {

// [from, to) without the exclusions, as disjoint intervals in order.
std::vector<TimeSpan> measured_time(int64_t from_ns, int64_t to_ns,
                                    const std::vector<TimeSpan>& exclude_ns);

// Bytes that a server of `rate_bps` has served until a time, counting each packet in proportion
// while it is served.
class ServiceCurve {
 public:
  explicit ServiceCurve(uint64_t rate_bps) : rate_bps_(rate_bps) {}
  // In order of departure.
  void add(int64_t depart_ns, uint32_t bytes);
  double bytes_until(int64_t t_ns) const;
  double bytes_between(int64_t from_ns, int64_t to_ns) const {
    return bytes_until(to_ns) - bytes_until(from_ns);
  }

 private:
  uint64_t rate_bps_;
  std::vector<int64_t> depart_ns_;
  std::vector<uint64_t> total_bytes_;  // up to and with this packet
};

// Continues a wrapping 32-bit sequence number near `reference`.
int64_t unwrap(uint32_t seq, int64_t reference);

// Counts each byte of a stream once, however often and in what order its segments pass.
class StreamCoverage {
 public:
  // Bytes of [seq, seq + length) not seen before. Sequence numbers wrap.
  uint32_t add(uint32_t seq, uint32_t length);

 private:
  bool any_ = false;
  int64_t high_ = 0;                  // first byte above all seen, unwrapped
  std::map<int64_t, int64_t> holes_;  // begin -> end, below high_
};

// Times of queue_curve()'s samples.
constexpr int64_t kGridNs = 1000;

// Backlog at 0, 1, 2, ... us before `end_ns`, from packets (arrival, departure, bytes) in order of
// arrival.
struct QueuedPacket {
  int64_t arrival_ns;
  int64_t depart_ns;
  uint32_t bytes;
};
std::vector<uint32_t> queue_curve(const std::vector<QueuedPacket>& packets, int64_t end_ns);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_METRICS_CURVES_H_

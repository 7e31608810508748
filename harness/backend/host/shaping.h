// SPDX-License-Identifier: Apache-2.0
// How the ports of a plan are made of the kernel's own qdiscs.
//
// A host's port is tbf (the link's rate) with fq in it, so that TCP's small queues and pacing see
// it as they see a NIC. Netem would take each packet from its socket; no wire is there. A switch's
// port is netem (the wires) with tbf (rate and buffer) and, with marking, red in it.
//
// What differs from a port that queues, serialises and then delays:
// - The wire is in front of the queue. Both only delay, by a constant and in order, so packets
//   come out at the same times.
// - A host's uplink wire is at the switch's port towards that host. That shifts the clock of the
//   network against that of the hosts by the uplink; each RTT stays the same.
// - Tbf sends a packet when its serialisation begins (its bucket holds one full packet), so that
//   packet's serialisation is part of the wire. A shorter packet that shares a port with data is
//   taken for a full one: an ACK, a SYN.
// - Where timers are late, a bucket of one packet loses the time by which each is late, and the
//   rate with it. There the bucket also holds what the rate carries in that time; so much leaves a
//   queue earlier.
#ifndef DELAYCC_HARNESS_BACKEND_HOST_SHAPING_H_
#define DELAYCC_HARNESS_BACKEND_HOST_SHAPING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "plan/paths.h"
#include "plan/plan.h"

namespace delaycc {

// One port.
struct Shaping {
  bool host = false;         // tbf and fq; else netem, tbf and perhaps red
  uint64_t rate_bps = 0;     // of tbf; 0: there is none
  uint32_t burst_bytes = 0;  // of tbf: full packets
  uint32_t limit_bytes = 0;  // of what waits in tbf
  uint32_t mark_bytes = 0;   // red marks from here on; 0: there is none
  int64_t wire_ns = 0;       // netem's delay
  int64_t uplink_ns = 0;     // part of wire_ns that is the uplink of the host behind this port
  uint32_t loss_ppm = 0;     // of netem
};

// How late timers of the running kernel may be: 0 in the lab, where time is virtual.
int64_t timer_lateness_ns();

class ShapedNetwork {
 public:
  // Timers are at most `late_ns` late. Throws Error naming what a plan asks for and the kernel's
  // own qdiscs do not do.
  ShapedNetwork(const Plan& plan, int64_t late_ns);

  const Shaping& port(uint32_t id) const { return ports_.at(id); }
  // How much earlier than in the plan data packets come to the switches.
  int64_t uplink_ns() const { return uplink_ns_; }
  // What the wires take of a lone packet's time from one host to another, of equal paths one.
  int64_t path_ns(int source, int destination) const;

 private:
  const Paths paths_;
  std::vector<Shaping> ports_;  // by id
  int64_t uplink_ns_ = 0;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOST_SHAPING_H_

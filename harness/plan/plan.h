// SPDX-License-Identifier: Apache-2.0
// A plan: one trial, fully expanded. Nothing in it is left to the runner's choice, and equal plans
// give equal trials.
#ifndef DELAYCC_HARNESS_PLAN_PLAN_H_
#define DELAYCC_HARNESS_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace delaycc {

// Client ports are kClientPort + flow id, so that a packet's flow can be read from its ports.
inline constexpr int kClientPort = 10000;
// Listeners of a host take kServerPort plus FlowPlan::listener: the port, and so the path that
// switches hash a flow to, is the same whatever the algorithm under test.
inline constexpr int kServerPort = 5001;
// Flow ids are below this: the client port has 16 bits.
inline constexpr int kMaxFlows = 50000;
// No time given: a flow that runs to the end.
inline constexpr int64_t kNever = -1;
// Quantiles of a link's noise.
inline constexpr size_t kMaxNoiseQuantiles = 64;
// Times at which a wire's delay changes.
inline constexpr size_t kMaxDelaySteps = 16;
// Between interrupts of a NIC.
inline constexpr int64_t kMaxInterruptGapNs = 1'000'000'000;

// What a port does beside carrying packets. The first two: which of its packets are recorded.
enum PortFlag : uint32_t {
  kPortLogData = 0x1,       // TCP segments with payload, or with SYN or FIN
  kPortLogAcks = 0x2,       // TCP segments without payload
  kPortDropRst = 0x4,       // TCP resets get lost
  kPortDscpPriority = 0x8,  // a packet's DSCP is its priority
  kPortSpray = 0x10,        // each packet takes any of the equal paths
};

// One direction of a link.
struct PortPlan {
  uint32_t id = 0;
  std::string name;
  uint64_t rate_bps = 0;
  uint64_t delay_ns = 0;
  uint64_t limit_bytes = 0;
  uint64_t ecn_bytes = 0;
  uint64_t reorder_delay_ns = 0;
  uint64_t seed = 0;
  uint32_t loss_ppm = 0;
  uint32_t reorder_ppm = 0;
  uint32_t log_flags = 0;                            // PortFlag
  std::vector<std::pair<uint32_t, uint32_t>> noise;  // quantiles: ppm, ns; empty: none
  // From that time (ns) on that delay (ns) instead of delay_ns; times rise.
  std::vector<std::pair<int64_t, int64_t>> delay_steps;
  uint32_t interrupt_gap_ns = 0;  // of the NIC that gets the packets: interrupts so far apart
  uint32_t bands = 0;             // of a prio qdisc in front of the server; 0: none
};

// One end of a link: an interface of a node, and the port through which it sends.
struct EndPlan {
  int node = 0;
  int ifindex = 0;
  std::string ifname;
  std::string mac;
  PortPlan port;
};

struct LinkPlan {
  EndPlan a;
  EndPlan b;
};

struct NodePlan {
  std::string name;
  std::string address;  // of a host; empty: a switch
  std::map<std::string, std::string> sysctls;
};

// Packets of `node` to `destination` ("10.0.0.1/32" or "default") leave through one of `ifindexes`.
struct RoutePlan {
  int node = 0;
  std::string destination;
  std::vector<int> ifindexes;
};

struct FlowPlan {
  int id = 0;
  std::string group;
  int source = 0;       // node
  int destination = 0;  // node
  std::string cc;       // the kernel's name
  int listener = 0;     // 0: of the algorithm under test; others: one for each fixed algorithm
  int64_t start_ns = 0;
  // The handshake begins then, and data follow it at once; else all is ready before time 0.
  bool connect_at_start = false;
  int64_t stop_ns = kNever;  // abort then; else runs until size_bytes are delivered or the end
  int64_t size_bytes = kNever;
  int64_t priority = -1;   // SO_PRIORITY of the sender; -1: left alone
  int dscp = 0;            // of the sender's packets
  int64_t pacing_bps = 0;  // on the wire, by SO_MAX_PACING_RATE; 0: none
  std::vector<std::pair<int64_t, int64_t>> pacing_steps;  // from that time (ns) on, bit/s
  bool measured = false;
  bool plot_each = false;  // a rate curve of its own, not of its group
};

// All times of flows are relative to zero_ns on the runner's CLOCK_MONOTONIC.
struct Plan {
  std::string scenario;
  std::string algorithm;
  uint64_t seed = 0;  // of the lab's random source
  int mtu_bytes = 1500;
  int initcwnd = 0;    // packets; 0: the kernel's default
  int rto_min_ms = 0;  // least retransmission timeout; 0: the kernel's default
  int ack_dscp = 0;    // of the receivers' packets
  int memory_mb = 0;
  bool quickack = true;
  bool gso = false;
  bool trace = false;
  // Connections get their receive window at once instead of by what they receive, and the first of
  // warm_bytes are sent after that.
  bool open_windows = false;
  int64_t warm_bytes = 0;
  int64_t connect_ns = 0;  // the first connection, on CLOCK_MONOTONIC
  int64_t zero_ns = 0;
  int64_t end_ns = 0;
  std::vector<std::string> modules;            // names or aliases, loaded in this order
  std::map<std::string, std::string> sysctls;  // of the initial namespace
  std::vector<NodePlan> nodes;
  std::vector<LinkPlan> links;
  std::vector<RoutePlan> routes;
  std::vector<FlowPlan> flows;
};

// Whether a congestion control is a BPF program of ours, by its name in the kernel.
bool is_bpf_program(const std::string& cc);

// The first flow that is measured, or else the first. The plan has to have one.
const FlowPlan& first_measured(const Plan& plan);

// JSON with sorted keys: equal plans give equal text.
std::string plan_to_json(const Plan& plan);
// Throws Error on anything that plan_to_json() does not write.
Plan plan_from_json(const std::string& text);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_PLAN_PLAN_H_

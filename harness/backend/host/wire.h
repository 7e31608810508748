// SPDX-License-Identifier: Apache-2.0
// What the command and a runner on another host say to each other over two pipes: frames, each a
// line "NAME BYTES" and so many bytes. docs/research/servers.md tells the conversation.
#ifndef DELAYCC_HARNESS_BACKEND_HOST_WIRE_H_
#define DELAYCC_HARNESS_BACKEND_HOST_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "trace/records.h"

namespace delaycc {

// A runner that hears nothing for so long restores its host and ends.
inline constexpr int kSilenceMs = 10'000;
inline constexpr int kBeatMs = 1'000;  // so often the command says something

struct Frame {
  std::string name;
  std::string payload;
};

// Appends what came, and takes whole frames from the front.
class FrameReader {
 public:
  void add(const char* bytes, size_t count) { text_.append(bytes, count); }
  // False: no frame is whole yet. Throws Error for what is none, with its first line.
  bool take(Frame* frame);
  // What came and is no whole frame.
  const std::string& rest() const { return text_; }

 private:
  std::string text_;
};

// Blocks until all is written, into a pipe or a socket; no SIGPIPE for a socket. Throws Error.
void send_frame(int fd, std::string_view name, std::string_view payload = {});

// Of one flow, what its packets are recorded as. Ports by PortPlan::id; -1: not logged.
struct FlowPorts {
  int host_port = -1;    // the sender's own
  int return_port = -1;  // the last one of its ACKs
  // Ports of switches that its data passes and that log it: the receiver's packets stand for them.
  std::vector<int> passed;
};

// What a runner needs of a trial: frame "trial".
struct Order {
  Plan plan;     // with the real hosts' addresses
  int node = 0;  // of the plan: this host
  std::string device;
  std::string qdisc;             // kind; empty: that of the device stays
  std::vector<FlowPorts> ports;  // by flow id
  bool nic_stamps = false;       // the device's stamps were found to come: RTTs by them
};
std::string order_to_json(const Order& order);
Order order_from_json(const std::string& text);  // throws Error

// Who a runner is: frame "hello", its first.
struct Hello {
  std::string build;  // hash of the runner
  std::string host;   // nodename
  std::string kernel;
  bool root = false;
  std::vector<std::string> algorithms;
  std::map<std::string, std::string> modules;  // delaycc's own by name or alias: hash
};
std::string hello_to_json(const Hello& hello);
Hello hello_from_json(const std::string& text);  // throws Error

// Which stamps of its device a host is to try, and what came of it: frame "stamps", both ways.
struct StampOrder {
  std::string device;
  std::string peer;  // IPv4, behind the device: it answers echoes
};
std::string stamp_order_to_json(const StampOrder& order);
StampOrder stamp_order_from_json(const std::string& text);  // throws Error
struct FoundStamps {
  std::string kind;  // "hardware", "tx-only", "software"
  std::string why;   // not better; empty: hardware
};
std::string found_stamps_to_json(const FoundStamps& found);
FoundStamps found_stamps_from_json(const std::string& text);  // throws Error

// Whether PTP keeps a host's clock: frame "ptp", both ways.
struct PtpOrder {
  std::string socket;  // of the ptp4l there
};
std::string ptp_order_to_json(const PtpOrder& order);
PtpOrder ptp_order_from_json(const std::string& text);  // throws Error
struct PtpState {
  std::string trouble;  // why the clock is not kept; empty: it is
  std::string grandmaster;
  int64_t error_ns = 0;  // so far the system's clock may be from the grandmaster's
  int64_t real_ns = 0;   // CLOCK_REALTIME minus CLOCK_MONOTONIC
};
std::string ptp_state_to_json(const PtpState& state);
PtpState ptp_state_from_json(const std::string& text);  // throws Error

// The records of one host: frame "records". Times as in Records.
std::string pack_records(const Records& records);
Records unpack_records(const std::string& text);  // throws Error

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOST_WIRE_H_

// SPDX-License-Identifier: Apache-2.0
// What a trial leaves behind, whatever ran it: records of packets, flows and decisions.
//
// A kept trial is a folder with packets.bin, flows.json and, of a trial with a trace,
// decisions.bin; with stamps of NICs, nic_rtts.bin. A *.bin file is a RecordFileHeader and then the
// records as they are in memory. The layout of a record is part of the format: a change of one
// raises kRecordsVersion.
#ifndef DELAYCC_HARNESS_TRACE_RECORDS_H_
#define DELAYCC_HARNESS_TRACE_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace delaycc {

inline constexpr uint32_t kRecordsVersion = 1;

struct RecordFileHeader {
  char magic[8];          // "delaycc\n"
  uint32_t byte_order;    // 0x01020304 as the writer's machine has it
  uint32_t version;       // kRecordsVersion
  uint32_t kind;          // 1: PacketRecord, 2: Decision, 3: NicRtt
  uint32_t record_bytes;  // of each record
  uint64_t records;
};
static_assert(sizeof(RecordFileHeader) == 32, "the header is part of the format");

enum PacketFlag : uint16_t {
  kPacketDropTail = 0x01,  // dropped: queue full; depart_ns is 0
  kPacketDropLoss = 0x02,  // dropped: random loss; depart_ns is 0
  kPacketMarked = 0x04,    // marked CE at this port
  kPacketReordered = 0x08,
  kPacketSyn = 0x10,
  kPacketFin = 0x20,
  kPacketRst = 0x40,
};

// PacketRecord::depart_ns of a packet that was still queued at the end, or dropped from the queue.
inline constexpr uint64_t kNotDeparted = 0x4000000000000000;

// One packet at one port of the plan. Times are absolute, in nanoseconds of the clock of
// Plan::zero_ns.
struct PacketRecord {
  uint64_t arrival_ns;     // at the port's queue
  uint64_t depart_ns;      // end of serialisation; the far side has it PortPlan::delay_ns later
  uint32_t backlog_bytes;  // on arrival, this packet included unless it was dropped
  uint32_t len_bytes;      // frame length, Ethernet header included
  uint32_t seq;            // TCP
  uint32_t ack_seq;
  uint16_t payload_bytes;
  uint16_t sport;
  uint16_t dport;
  uint16_t port_id;      // PortPlan::id
  uint16_t flags;        // PacketFlag
  uint16_t reserved[3];  // 0
};
static_assert(sizeof(PacketRecord) == 48, "the layout is part of the format");

// Times in nanoseconds since the plan's time 0; -1 where it did not happen.
struct FlowRecord {
  int id = 0;
  std::string cc;              // what TCP_CONGESTION said
  int64_t start_ns = -1;       // first byte written
  int64_t stop_ns = -1;        // aborted by the plan
  int64_t received_ns = -1;    // the receiving application had the last byte of size_bytes
  int64_t received_bytes = 0;  // read by the receiving application since time 0
  int64_t retransmits = 0;     // segments, since time 0
};

// One decision of a congestion control (the tracepoint delaycc:ack). The time is absolute; a trace
// has it to 1 us.
struct Decision {
  int64_t time_ns = 0;
  int64_t rtt_ns = 0;
  double gradient = 0;
  uint16_t sport = 0;
  uint16_t reserved[3] = {};  // 0
};
static_assert(sizeof(Decision) == 32, "the layout is part of the format");

// The RTT of one data packet by the stamps of its sender's NIC, and by the sender's kernel. Each is
// the difference of two stamps of one clock: the packet leaves, and the first ACK that covers it
// comes.
struct NicRtt {
  int64_t delivered_ns = 0;  // the kernel had the ACK; absolute, as the times of packets
  int64_t nic_rtt_ns = 0;
  int64_t kernel_rtt_ns = 0;
  uint16_t sport = 0;
  uint16_t reserved[3] = {};  // 0
};
static_assert(sizeof(NicRtt) == 32, "the layout is part of the format");

// What the machine itself added to round-trip times before a trial in wall time, by echoes over the
// same path (0 everywhere: not measured), and what the kernel says of the trial beside its flows.
struct Calibration {
  int64_t echoes = 0;
  int64_t base_rtt_ns = 0;   // what the wires of the path take of an echo; real ones: the fastest
  int64_t noise_p50_ns = 0;  // of echoes, above base_rtt_ns
  int64_t noise_p99_ns = 0;
  int64_t floor_p50_ns = 0;  // RTT of echoes without any qdisc in the way
  int64_t floor_p99_ns = 0;
  // Between hosts with a clock each: how far times of two of them may be apart at most. 0: one
  // clock.
  int64_t clock_error_ns = 0;
  int64_t qdisc_drops = -1;  // packets, by the qdiscs' own statistics of all ports; -1: not read
};

struct Records {
  std::string kernel;                 // uname release
  std::vector<FlowRecord> flows;      // by id
  std::vector<PacketRecord> packets;  // in order of arrival
  std::vector<Decision> decisions;    // in order of time; only of a trial with a trace
  std::vector<NicRtt> nic_rtts;       // in order of delivery; only of hosts whose NICs stamp
  Calibration calibration;
};

// flows.json: the kernel's release, the flows, and the calibration if there was one. Reading throws
// Error naming the file.
std::string flows_to_json(const std::string& kernel, const std::vector<FlowRecord>& flows,
                          const Calibration& calibration = {});
void read_flows(const std::string& path, Records* records);
// The same of text; `name` is only for messages.
void parse_flows(const std::string& text, const std::string& name, Records* records);

// The events delaycc:ack of a trace; other lines are passed over. Throws Error with the first event
// that lacks a field.
std::vector<Decision> parse_trace(const std::string& text);

// Writes the files of a kept trial into a folder that is there. Throws Error naming the file.
void write_records(const std::string& directory, const Records& records);
// Reads them. Throws Error naming file and fault: a file that is missing, cut, of another version,
// record size or byte order.
Records read_records(const std::string& directory);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_TRACE_RECORDS_H_

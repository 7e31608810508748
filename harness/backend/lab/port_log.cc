// SPDX-License-Identifier: Apache-2.0
#include "backend/lab/port_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>

#include "backend/lab/kernel/dccport.h"
#include "base/posix.h"

namespace delaycc {
namespace {

// A record has the layout of the log's event, so that a log of millions of packets is read in
// place.
#define SAME_FIELD(field)                                                          \
  static_assert(offsetof(PacketRecord, field) == offsetof(dccport_event, field) && \
                sizeof(PacketRecord::field) == sizeof(dccport_event::field))
SAME_FIELD(arrival_ns);
SAME_FIELD(depart_ns);
SAME_FIELD(backlog_bytes);
SAME_FIELD(len_bytes);
SAME_FIELD(seq);
SAME_FIELD(ack_seq);
SAME_FIELD(payload_bytes);
SAME_FIELD(sport);
SAME_FIELD(dport);
SAME_FIELD(port_id);
SAME_FIELD(flags);
#undef SAME_FIELD
static_assert(sizeof(PacketRecord) == sizeof(dccport_event));
static_assert(kPacketDropTail == DCCPORT_EV_DROP_TAIL && kPacketDropLoss == DCCPORT_EV_DROP_LOSS &&
              kPacketMarked == DCCPORT_EV_MARKED && kPacketReordered == DCCPORT_EV_REORDERED &&
              kPacketSyn == DCCPORT_EV_SYN && kPacketFin == DCCPORT_EV_FIN &&
              kPacketRst == DCCPORT_EV_RST && kNotDeparted == DCCPORT_NOT_DEPARTED);

}  // namespace

std::vector<PacketRecord> read_port_log(const std::string& path) {
  const Fd fd = open_file(path, O_RDONLY);
  struct stat status = {};
  if (fstat(fd.get(), &status) < 0) throw system_error("fstat", path);
  const auto bytes = static_cast<size_t>(status.st_size);
  if (bytes % sizeof(dccport_event) != 0)
    throw Error(path + ": " + std::to_string(bytes) + " bytes are not a multiple of " +
                std::to_string(sizeof(dccport_event)));
  std::vector<PacketRecord> packets(bytes / sizeof(dccport_event));
  read_exactly(fd, path, packets.data(), bytes);
  return packets;
}

Records read_lab_records(const std::string& directory) {
  Records records;
  read_flows(directory + "/flows.json", &records);
  records.packets = read_port_log(directory + "/ports.bin");
  const std::string trace = directory + "/acks.txt";
  if (std::filesystem::exists(trace)) records.decisions = parse_trace(read_file(trace));
  return records;
}

}  // namespace delaycc

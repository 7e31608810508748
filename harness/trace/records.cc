// SPDX-License-Identifier: Apache-2.0
#include "trace/records.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/posix.h"

namespace delaycc {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowRecord, id, cc, start_ns, stop_ns, received_ns,
                                   received_bytes, retransmits)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Calibration, echoes, base_rtt_ns, noise_p50_ns, noise_p99_ns,
                                   floor_p50_ns, floor_p99_ns)

namespace {

constexpr char kMagic[] = {'d', 'e', 'l', 'a', 'y', 'c', 'c', '\n'};
constexpr uint32_t kByteOrder = 0x01020304;
enum Kind : uint32_t { kPackets = 1, kDecisions = 2, kNicRtts = 3 };

template <typename Record>
void write_record_file(const std::string& path, Kind kind, const std::vector<Record>& records) {
  RecordFileHeader header = {{}, kByteOrder, kRecordsVersion, kind, sizeof(Record), records.size()};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  write_file(path,
             {{reinterpret_cast<const char*>(&header), sizeof(header)},
              {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)}});
}

template <typename Record>
std::vector<Record> read_record_file(const std::string& path, Kind kind) {
  const Fd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  struct stat status = {};
  if (fstat(fd.get(), &status) < 0) throw system_error("fstat", path);
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file");
  const auto size = static_cast<uint64_t>(status.st_size);
  RecordFileHeader header = {};
  if (size < sizeof(header))
    throw Error(path + ": " + std::to_string(size) + " bytes are no record file: its header has " +
                std::to_string(sizeof(header)));
  read_exactly(fd, path, &header, sizeof(header));
  if (memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    throw Error(path + ": is no record file of delaycc");
  if (header.byte_order != kByteOrder)
    throw Error(path + ": was written on a machine of another byte order");
  const auto expect = [&](const char* what, uint64_t found, uint64_t wanted) {
    if (found != wanted)
      throw Error(path + ": " + what + " is " + std::to_string(found) + ", this delaycc reads " +
                  std::to_string(wanted));
  };
  expect("the version of its records", header.version, kRecordsVersion);
  expect("the kind of its records", header.kind, kind);
  expect("the size of a record", header.record_bytes, sizeof(Record));
  const uint64_t left = size - sizeof(header);
  if (left % sizeof(Record) != 0 || left / sizeof(Record) != header.records)
    throw Error(path + ": holds " + std::to_string(left) + " bytes of records, its header says " +
                std::to_string(header.records) + " records of " + std::to_string(sizeof(Record)) +
                " bytes");
  std::vector<Record> records(header.records);
  read_exactly(fd, path, records.data(), left);
  return records;
}

}  // namespace

std::string flows_to_json(const std::string& kernel, const std::vector<FlowRecord>& flows,
                          const Calibration& calibration) {
  nlohmann::json json = {{"version", kRecordsVersion}, {"kernel", kernel}, {"flows", flows}};
  if (calibration.echoes > 0) json["calibration"] = calibration;
  if (calibration.clock_error_ns > 0) json["clock_error_ns"] = calibration.clock_error_ns;
  if (calibration.qdisc_drops >= 0) json["qdisc_drops"] = calibration.qdisc_drops;
  return json.dump(1) + "\n";
}

void read_flows(const std::string& path, Records* records) {
  parse_flows(read_file(path), path, records);
}

void parse_flows(const std::string& text, const std::string& name, Records* records) {
  try {
    const auto json = nlohmann::json::parse(text);
    const uint32_t version = json.at("version").get<uint32_t>();
    if (version != kRecordsVersion)
      throw Error(name + ": the version of its records is " + std::to_string(version) +
                  ", this delaycc reads " + std::to_string(kRecordsVersion));
    json.at("kernel").get_to(records->kernel);
    json.at("flows").get_to(records->flows);
    if (json.contains("calibration")) json.at("calibration").get_to(records->calibration);
    records->calibration.clock_error_ns = json.value("clock_error_ns", int64_t{0});
    records->calibration.qdisc_drops = json.value("qdisc_drops", int64_t{-1});
  } catch (const nlohmann::json::exception& e) {
    throw Error(name + ": " + e.what());
  }
}

std::vector<Decision> parse_trace(const std::string& text) {
  // "  delaycc-runner-1  [000] ..s2.  5.000123: ack: name=oscar sport=10001 ... gradient_q16=-12
  // ...", and of a BPF program "5.000123: bpf_trace_printk: ack: name=bpf_oscar ..."
  std::vector<Decision> decisions;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t mark = std::min(line.find(": ack: "), line.find(": bpf_trace_printk: ack: "));
    if (line.empty() || line[0] == '#' || mark == std::string::npos) continue;
    auto field = [&](const char* name) {
      const size_t found = line.find(std::string(" ") + name + "=", mark);
      if (found == std::string::npos)
        throw Error(std::string("trace: no field ") + name + " in: " + line);
      return strtoll(line.c_str() + found + 2 + strlen(name), nullptr, 10);
    };
    Decision decision;
    const size_t time = line.rfind(' ', mark) + 1;
    const size_t dot = line.find('.', time);
    if (dot == std::string::npos || dot > mark) throw Error("trace: no time in: " + line);
    decision.time_ns = strtoll(line.c_str() + time, nullptr, 10) * 1'000'000'000 +
                       strtoll(line.c_str() + dot + 1, nullptr, 10) * 1000;
    decision.sport = static_cast<uint16_t>(field("sport"));
    decision.rtt_ns = field("rtt_ns");
    decision.gradient = static_cast<double>(field("gradient_q16")) / 65536;
    decisions.push_back(decision);
  }
  return decisions;
}

void write_records(const std::string& directory, const Records& records) {
  write_file(directory + "/flows.json",
             flows_to_json(records.kernel, records.flows, records.calibration));
  write_record_file(directory + "/packets.bin", kPackets, records.packets);
  if (!records.decisions.empty())
    write_record_file(directory + "/decisions.bin", kDecisions, records.decisions);
  if (!records.nic_rtts.empty())
    write_record_file(directory + "/nic_rtts.bin", kNicRtts, records.nic_rtts);
}

Records read_records(const std::string& directory) {
  Records records;
  read_flows(directory + "/flows.json", &records);
  records.packets = read_record_file<PacketRecord>(directory + "/packets.bin", kPackets);
  const std::string decisions = directory + "/decisions.bin";
  if (std::filesystem::exists(decisions))
    records.decisions = read_record_file<Decision>(decisions, kDecisions);
  const std::string nic_rtts = directory + "/nic_rtts.bin";
  if (std::filesystem::exists(nic_rtts))
    records.nic_rtts = read_record_file<NicRtt>(nic_rtts, kNicRtts);
  return records;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "trace/records.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/posix.h"

namespace delaycc {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowRecord, id, cc, start_ns, stop_ns, received_ns,
                                   received_bytes, retransmits)

std::string flows_to_json(const std::string& kernel, const std::vector<FlowRecord>& flows) {
  return nlohmann::json{{"kernel", kernel}, {"flows", flows}}.dump(1) + "\n";
}

std::vector<AckDecision> parse_trace(const std::string& text) {
  // "  delaycc-runner-1  [000] ..s2.  5.000123: ack: name=oscar sport=10001 ... gradient_q16=-12
  // ..."
  std::vector<AckDecision> decisions;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t mark = line.find(": ack: ");
    if (line.empty() || line[0] == '#' || mark == std::string::npos) continue;
    auto field = [&](const char* name) {
      const size_t found = line.find(std::string(" ") + name + "=", mark);
      if (found == std::string::npos)
        throw Error(std::string("trace: no field ") + name + " in: " + line);
      return strtoll(line.c_str() + found + 2 + strlen(name), nullptr, 10);
    };
    AckDecision decision;
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

Records read_records(const std::string& directory) {
  Records records;
  const std::string flows_path = directory + "/flows.json";
  try {
    const auto json = nlohmann::json::parse(read_file(flows_path));
    json.at("kernel").get_to(records.kernel);
    json.at("flows").get_to(records.flows);
  } catch (const nlohmann::json::exception& e) {
    throw Error(flows_path + ": " + e.what());
  }
  const std::string ports_path = directory + "/ports.bin";
  const std::string bytes = read_file(ports_path);
  if (bytes.size() % sizeof(dccport_event) != 0)
    throw Error(ports_path + ": " + std::to_string(bytes.size()) + " bytes are not a multiple of " +
                std::to_string(sizeof(dccport_event)));
  records.events.resize(bytes.size() / sizeof(dccport_event));
  if (!bytes.empty()) memcpy(records.events.data(), bytes.data(), bytes.size());
  const std::string trace_path = directory + "/acks.txt";
  if (std::filesystem::exists(trace_path)) records.decisions = parse_trace(read_file(trace_path));
  return records;
}

}  // namespace delaycc

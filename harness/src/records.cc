// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "posix.h"

namespace delaycc {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowRecord, id, cc, start_ns, stop_ns, received_ns,
                                   received_bytes, retransmits)

std::string flows_to_json(const std::string& kernel, const std::vector<FlowRecord>& flows) {
  return nlohmann::json{{"kernel", kernel}, {"flows", flows}}.dump(1) + "\n";
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
  return records;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// What a trial in the lab leaves in its folder, as neutral records.
#ifndef DELAYCC_HARNESS_BACKEND_LAB_PORT_LOG_H_
#define DELAYCC_HARNESS_BACKEND_LAB_PORT_LOG_H_

#include <string>
#include <vector>

#include "trace/records.h"

namespace delaycc {

// Reads flows.json, ports.bin (the port log, an array of struct dccport_event) and, if it is there,
// acks.txt (the trace). Throws Error naming file and fault.
Records read_lab_records(const std::string& directory);

// The port log alone. Throws Error naming file and fault.
std::vector<PacketRecord> read_port_log(const std::string& path);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_LAB_PORT_LOG_H_

// SPDX-License-Identifier: Apache-2.0
// A report of ports whose packets were written down, without a plan: what a program in the lab did.
#ifndef DELAYCC_HARNESS_RUN_PORT_REPORT_H_
#define DELAYCC_HARNESS_RUN_PORT_REPORT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace/records.h"

namespace delaycc {

struct LoggedPort {
  std::string name;       // "h1-eth0": of the link's end that sends
  std::string peer;       // name of the other end
  uint64_t rate_bps = 0;  // above 0
  uint64_t delay_ns = 0;
};

// One of the ports that the report shows, in order of the bytes carried.
struct PortFigures {
  std::string name;
  int64_t packets = 0;
  double mean_gbps = 0;    // on the wire, from the first to the last data packet, pauses left out
  double utilisation = 0;  // of the port's rate in that time
  double queue_mean_bytes = 0, queue_max_bytes = 0;  // that packets found, themselves included
  int64_t drops = 0, marks = 0;
  // From a data packet's arrival at this port to that of its ACK, first transmissions only; -1
  // where no ACK came back through the link's other end.
  double rtt_p50_us = -1, rtt_p99_us = -1;
};

struct PortReport {
  // Of the ports with data, the busiest first; those with less than a thousandth of its bytes are
  // left out.
  std::vector<PortFigures> figures;
  // Data of the report page (report/report.h): queue and rates by flow of the busiest ports. An
  // empty object where no port has data.
  nlohmann::json page;
};

// `packets` are in order of arrival; those of ports that are not in `ports` are left out. `title`
// is the page's, `repeat` the command, `notes` are remarks.
PortReport port_report(const std::vector<PacketRecord>& packets,
                       const std::map<int, LoggedPort>& ports, const std::string& title,
                       const std::string& repeat, const std::vector<std::string>& notes);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUN_PORT_REPORT_H_

// SPDX-License-Identifier: Apache-2.0
// The real hosts that stand for those of a scenario. docs/research/servers.md tells the keys.
#ifndef DELAYCC_HARNESS_BACKEND_HOSTS_INVENTORY_H_
#define DELAYCC_HARNESS_BACKEND_HOSTS_INVENTORY_H_

#include <string>
#include <vector>

namespace delaycc {

struct InventoryHost {
  std::string name;     // of the scenario: "senders[0]"
  std::string ssh;      // destination
  std::string device;   // that carries the traffic
  std::string address;  // IPv4, of that device
  std::string qdisc;    // of that device during a trial; empty: stays
  std::string runner;   // installed there; empty: uploaded
  bool sudo = false;
  bool nic_stamps = true;  // may be switched on
  std::string ptp_socket;  // of the ptp4l there
};

struct Inventory {
  std::string path;
  std::string ssh_config;  // of ssh -F, absolute; empty: the user's own
  bool ptp = false;        // PTP keeps the hosts' clocks in step: to be checked
  std::vector<InventoryHost> hosts;
};

// Throws ScenarioError with each mistake, as "file:line: field: what is wrong, what is allowed".
Inventory read_inventory(const std::string& path);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOSTS_INVENTORY_H_

// SPDX-License-Identifier: Apache-2.0
#include "backend/hosts/inventory.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/posix.h"
#include "scenario/diagnostics.h"
#include "scenario/expression.h"
#include "scenario/section.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 1 << 20;
const char kKeep[] = "keep";
const char kPtpSocket[] = "/var/run/ptp4l";  // ptp4l's own default

bool is_address(const std::string& text) {
  in_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

// "senders[0]": what a selector of the scenario finds.
bool is_host_name(const std::string& text) {
  const size_t bracket = text.find('[');
  return bracket != std::string::npos && bracket > 0 && text.back() == ']' &&
         text.size() > bracket + 2 &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(bracket) + 1, text.end() - 1,
                     [](unsigned char c) { return std::isdigit(c); });
}

bool is_word(const std::string& text) {
  return !text.empty() && text.front() != '-' &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c <= ' '; });
}

InventoryHost read_host(Section& section) {
  InventoryHost host;
  const auto word = [&](const char* key, const std::string& allowed, auto&& right) {
    std::string text = section.required_text(key, allowed);
    if (section.has(key) && !right(text))
      section.complain(key, "\"" + text + "\", allowed is " + allowed);
    return text;
  };
  host.name = word("name", "a host of the scenario, such as senders[0]", is_host_name);
  host.ssh = word("ssh", "a destination of ssh, such as root@server1", is_word);
  host.device =
      word("device", "a network device of that host, such as eth1", [](const std::string& text) {
        return is_word(text) && text.size() < IFNAMSIZ && text.find('/') == std::string::npos;
      });
  host.address = word("address", "an IPv4 address of that device", is_address);
  host.qdisc = section.has("qdisc") ? section.choice("qdisc", kKeep, {kKeep, "fq", "pfifo"}) : "";
  if (host.qdisc == kKeep) host.qdisc.clear();
  host.runner = section.text("runner", "");
  if (section.has("runner") &&
      (host.runner.empty() || host.runner.front() != '/' || !is_word(host.runner) ||
       host.runner.find('\'') != std::string::npos))
    section.complain(
        "runner",
        "\"" + host.runner + "\", allowed is the absolute path of a delaycc-host-runner there");
  host.sudo = section.boolean("sudo", false);
  host.nic_stamps = section.boolean("nic_stamps", true);
  host.ptp_socket = section.text("ptp_socket", kPtpSocket);
  if (!is_word(host.ptp_socket) || host.ptp_socket.front() != '/')
    section.complain("ptp_socket", "\"" + host.ptp_socket +
                                       "\", allowed is the absolute path of ptp4l's socket there");
  section.finish();
  return host;
}

}  // namespace

Inventory read_inventory(const std::string& path) {
  Inventory inventory;
  inventory.path = path;
  toml::table table;
  try {
    table = toml::parse(read_regular_file(path, kMostBytes), path);
  } catch (const toml::parse_error& e) {
    throw ScenarioError(path + ":" + std::to_string(e.source().begin.line) +
                        ": syntax: " + std::string(e.description()) + ", allowed is TOML 1.0");
  } catch (const Error& e) {
    throw ScenarioError(std::string("--inventory: ") + e.what());
  }
  Diagnostics diagnostics(path);
  const Parameters none;
  const Substitution substitution(none);
  Section root(diagnostics, substitution, &table, "", table.source());
  inventory.ssh_config = root.text("ssh_config", "");
  if (root.has("ssh_config")) {
    const fs::path config = fs::absolute(fs::path(path).parent_path() / inventory.ssh_config);
    inventory.ssh_config = config.lexically_normal().string();
    std::error_code error;
    if (!fs::is_regular_file(config, error))
      root.complain("ssh_config",
                    (error == std::errc::permission_denied ? "this user may not read "
                                                           : "there is no file ") +
                        inventory.ssh_config +
                        ", allowed is a configuration of ssh, from this file's folder");
  }
  inventory.ptp = root.boolean("ptp", false);
  for (Section& section : root.sections("hosts")) {
    InventoryHost host = read_host(section);
    for (const InventoryHost& other : inventory.hosts) {
      const auto unlike = [&](const char* key, const std::string& a, const std::string& b,
                              const char* why) {
        if (!a.empty() && a == b)
          section.complain(key, "\"" + a + "\" is that of another host, allowed is " + why);
      };
      unlike("name", host.name, other.name, "one entry for a host");
      unlike("address", host.address, other.address, "an address for each host");
      unlike("ssh", host.ssh, other.ssh, "a machine for each host of the scenario");
    }
    inventory.hosts.push_back(std::move(host));
  }
  if (inventory.hosts.empty() && !root.has("hosts"))
    root.complain("hosts", "is missing, allowed is a [[hosts]] for each host of the scenario");
  root.finish();
  diagnostics.throw_if_any();
  return inventory;
}

}  // namespace delaycc

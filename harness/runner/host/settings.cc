// SPDX-License-Identifier: Apache-2.0
#include "runner/host/settings.h"

#include <net/if.h>

#include "base/posix.h"
#include "runner/netlink.h"
#include "runner/network.h"

namespace delaycc {
namespace {

constexpr uint32_t kHandle = 0xdcc0000;
constexpr uint32_t kRoot = 0xffffffff;  // TC_H_ROOT

QdiscState root_qdisc(int ifindex) {
  for (const QdiscState& qdisc : read_qdiscs())
    if (qdisc.ifindex == ifindex && qdisc.parent == kRoot) return qdisc;
  return {};
}

}  // namespace

void Settings::set_sysctls(const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    std::string before = read_sysctl(name);
    if (before == value) continue;
    sysctls_.emplace_back(name, std::move(before));
    write_sysctls({{name, value}});
  }
}

void Settings::set_qdisc(const std::string& device, const std::string& kind) {
  const int ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  if (ifindex == 0) throw system_error("if_nametoindex", device);
  const QdiscState before = root_qdisc(ifindex);
  if (before.kind == kind) return;
  // The kernel gives its own no number.
  if (before.handle != 0)
    throw Error(device + ": somebody has set its qdisc " + before.kind +
                ", which could not be put back; allowed is qdisc = \"keep\"");
  ifindex_ = ifindex;
  device_ = device;
  qdisc_ = before.kind;
  NetlinkBatch batch;
  if (kind == "fq")
    batch.add_fq(ifindex, kRoot, kHandle);
  else
    batch.add_root_qdisc(kind.c_str(), ifindex, kHandle);
  batch.flush();
  if (root_qdisc(ifindex).kind != kind)
    throw Error(device + ": the kernel does not show the qdisc " + kind + " as it was set");
}

std::vector<std::string> Settings::restore() {
  std::vector<std::string> troubles;
  const auto attempt = [&](const auto& what) {
    try {
      what();
    } catch (const Error& e) {
      troubles.emplace_back(e.what());
    }
  };
  if (ifindex_ > 0)
    attempt([this] {
      if (root_qdisc(ifindex_).handle == kHandle) {
        NetlinkBatch batch;
        batch.remove_root_qdisc(ifindex_);
        batch.flush();
      }
      const std::string now = root_qdisc(ifindex_).kind;
      if (now != qdisc_) throw Error(device_ + ": its qdisc was " + qdisc_ + " and is " + now);
    });
  ifindex_ = 0;
  while (!sysctls_.empty()) {
    attempt([this] { write_sysctls({sysctls_.back()}); });
    sysctls_.pop_back();
  }
  return troubles;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>

namespace delaycc {

namespace {

std::string sysctl_path(const std::string& name) {
  std::string path = "/proc/sys/" + name;
  for (size_t i = strlen("/proc/sys/"); i < path.size(); i++)
    if (path[i] == '.') path[i] = '/';
  return path;
}

}  // namespace

void write_sysctls(const std::map<std::string, std::string>& sysctls) {
  for (const auto& [name, value] : sysctls) {
    Fd fd;
    try {
      fd = open_file(sysctl_path(name), O_WRONLY);
    } catch (const Error& e) {
      throw Error("sysctl " + name + ": " + e.what());
    }
    // A write of nothing changes nothing.
    const std::string text = value.empty() ? "\n" : value;
    if (write(fd.get(), text.data(), text.size()) < 0)
      throw system_error("write", "sysctl " + name + " = " + value);
  }
}

std::string read_sysctl(const std::string& name) {
  try {
    std::string value = read_file(sysctl_path(name));
    while (!value.empty() && value.back() == '\n') value.pop_back();
    return value;
  } catch (const Error& e) {
    throw Error("sysctl " + name + ": " + e.what());
  }
}

Fd new_namespace() {
  if (unshare(CLONE_NEWNET) < 0) throw system_error("unshare", "CLONE_NEWNET");
  return open_file("/proc/self/ns/net", O_RDONLY);
}

void enter_namespace(const Fd& netns) {
  if (setns(netns.get(), CLONE_NEWNET) < 0) throw system_error("setns", "network namespace");
}

std::vector<Fd> build_network(const Plan& plan, const AddQdiscs& add_qdiscs) {
  std::vector<Fd> netns;
  for (const NodePlan& node : plan.nodes) {
    netns.push_back(new_namespace());
    write_sysctls(node.sysctls);
  }

  NetlinkBatch links;
  for (const LinkPlan& link : plan.links) {
    auto veth_end = [&](const EndPlan& end) {
      return NetlinkBatch::VethEnd{netns.at(end.node).get(), end.ifindex, end.ifname, end.mac};
    };
    links.add_veth(veth_end(link.a), veth_end(link.b), plan.mtu_bytes, plan.gso);
  }
  links.flush();

  struct Interface {
    const EndPlan* here;
    const EndPlan* there;
  };
  std::vector<std::vector<Interface>> interfaces(plan.nodes.size());
  for (const LinkPlan& link : plan.links) {
    interfaces.at(link.a.node).push_back({&link.a, &link.b});
    interfaces.at(link.b.node).push_back({&link.b, &link.a});
  }
  std::vector<std::vector<const RoutePlan*>> routes(plan.nodes.size());
  for (const RoutePlan& route : plan.routes) routes.at(route.node).push_back(&route);

  for (size_t i = 0; i < plan.nodes.size(); i++) {
    enter_namespace(netns[i]);
    const bool host = !plan.nodes[i].address.empty();
    NetlinkBatch batch;
    // Without an address there is no local routing table, and every gateway is "invalid".
    batch.set_up(kLoopbackIndex);
    for (const Interface& interface : interfaces[i]) {
      batch.set_up(interface.here->ifindex);
      if (host) batch.add_address(interface.here->ifindex, plan.nodes[i].address);
      batch.add_neighbour(interface.here->ifindex, kGateway, interface.there->mac);
      add_qdiscs(plan.nodes[i], *interface.here, batch);
    }
    NetlinkBatch::RouteMetrics metrics;
    if (host) {
      metrics.quickack = plan.quickack;
      metrics.initcwnd = plan.initcwnd;
      metrics.rto_min_ms = plan.rto_min_ms;
    }
    for (const RoutePlan* route : routes[i])
      batch.add_route(route->destination, kGateway, route->ifindexes, metrics);
    batch.flush();
  }
  return netns;
}

}  // namespace delaycc

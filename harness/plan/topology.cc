// SPDX-License-Identifier: Apache-2.0
#include "plan/topology.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>

namespace delaycc {
namespace {

std::string mac_of(int ifindex) {
  char text[18];
  snprintf(text, sizeof(text), "02:00:00:00:%02x:%02x", (ifindex >> 8) & 0xff, ifindex & 0xff);
  return text;
}

std::vector<std::pair<uint32_t, uint32_t>> quantiles(
    const std::vector<std::pair<double, double>>& noise) {
  return {noise.begin(), noise.end()};
}

class Builder {
 public:
  int add_switch(const std::string& name) {
    NodePlan node;
    node.name = name;
    return add_node(std::move(node));
  }

  int add_host(const std::string& group, int attached_to, const LinkSpec& link) {
    NodePlan node;
    std::vector<int>& members = network.groups[group];
    node.name = group + "[" + std::to_string(members.size()) + "]";
    const int number = hosts_++;
    node.address =
        "10." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1) + ".1";
    const int id = add_node(std::move(node));
    members.push_back(id);
    if (group != "hosts") network.groups["hosts"].push_back(id);
    connect(id, attached_to, link);
    return id;
  }

  // Also a member of a second group.
  void also(const std::string& group, int host) { network.groups[group].push_back(host); }

  // Returns the port id of a -> b; that of b -> a is the next.
  int connect(int a, int b, const LinkSpec& spec) {
    LinkPlan link;
    link.a = end(a, b, spec);
    link.b = end(b, a, spec);
    link.a.port.noise = quantiles(spec.noise);
    link.a.port.delay_steps = spec.extra_delay_steps;
    const int port = static_cast<int>(link.a.port.id);
    network.links.push_back(std::move(link));
    return port;
  }

  Network network;

 private:
  int add_node(NodePlan node) {
    network.nodes.push_back(std::move(node));
    interfaces_.push_back(0);
    return static_cast<int>(network.nodes.size()) - 1;
  }

  EndPlan end(int node, int peer, const LinkSpec& spec) {
    EndPlan end;
    end.node = node;
    end.ifindex = next_ifindex_++;
    end.ifname =
        (network.nodes[node].address.empty() ? "swp" : "eth") + std::to_string(interfaces_[node]++);
    end.mac = mac_of(end.ifindex);
    PortPlan& port = end.port;
    port.id = next_port_++;
    port.name = network.nodes[node].name + "->" + network.nodes[peer].name;
    port.rate_bps = static_cast<uint64_t>(std::llround(spec.rate_gbps * 1e9));
    port.delay_ns = spec.delay_ns < 0 ? 0 : static_cast<uint64_t>(spec.delay_ns);
    // A NIC holds its host's sockets back (TCP small queues) and drops nothing.
    if (network.nodes[node].address.empty()) {
      port.limit_bytes = static_cast<uint64_t>(spec.buffer_bytes);
      port.bands = static_cast<uint32_t>(spec.bands);
    }
    port.ecn_bytes = static_cast<uint64_t>(spec.ecn_threshold_bytes);
    port.loss_ppm = static_cast<uint32_t>(spec.loss_ppm);
    port.reorder_ppm = static_cast<uint32_t>(spec.reorder_ppm);
    port.reorder_delay_ns = static_cast<uint64_t>(spec.reorder_delay_ns);
    return end;
  }

  int hosts_ = 0;
  int next_ifindex_ = 2;  // 1 is lo
  uint32_t next_port_ = 0;
  std::vector<int> interfaces_;
};

void build_shape(const TopologySpec& spec, Builder& b) {
  switch (spec.kind) {
    case TopologyKind::kDumbbell: {
      const int left = b.add_switch("left");
      const int right = b.add_switch("right");
      b.network.bottleneck_port = b.connect(left, right, spec.bottleneck);
      for (int i = 0; i < spec.senders; i++) b.add_host("senders", left, spec.host_link);
      for (int i = 0; i < spec.receivers; i++) b.add_host("receivers", right, spec.host_link);
      break;
    }
    case TopologyKind::kIncast: {
      const int hub = b.add_switch("switch");
      const int receiver = b.add_host("receivers", hub, spec.bottleneck);
      LinkPlan& last = b.network.links.back();
      b.network.bottleneck_port = static_cast<int>(last.b.port.id);
      // As at other bottlenecks the noise is on the way to the receiver.
      std::swap(last.a.port.noise, last.b.port.noise);
      std::swap(last.a.port.delay_steps, last.b.port.delay_steps);
      (void)receiver;
      for (int i = 0; i < spec.senders; i++) b.add_host("senders", hub, spec.host_link);
      break;
    }
    case TopologyKind::kParkingLot: {
      int previous = -1;
      for (int i = 0; i <= spec.bottlenecks; i++) {
        const std::string name = "switch" + std::to_string(i);
        const int here = b.add_switch(name);
        if (previous >= 0) {
          const int port = b.connect(previous, here, spec.bottleneck);
          if (i == 1) b.network.bottleneck_port = port;
        }
        for (int h = 0; h < spec.hosts; h++) b.add_host(name, here, spec.host_link);
        previous = here;
      }
      break;
    }
    case TopologyKind::kLeafSpine: {
      std::vector<int> spines;
      spines.reserve(static_cast<size_t>(spec.spines));
      for (int i = 0; i < spec.spines; i++)
        spines.push_back(b.add_switch("spine" + std::to_string(i)));
      for (int i = 0; i < spec.leaves; i++) {
        const std::string name = "leaf" + std::to_string(i);
        const int leaf = b.add_switch(name);
        for (int spine : spines) b.connect(leaf, spine, spec.link);
        for (int h = 0; h < spec.hosts; h++) b.add_host(name, leaf, spec.host_link);
      }
      break;
    }
    case TopologyKind::kFatTree: {
      const int half = spec.k / 2;
      std::vector<int> cores;
      cores.reserve(static_cast<size_t>(half) * static_cast<size_t>(half));
      for (int i = 0; i < half * half; i++)
        cores.push_back(b.add_switch("core" + std::to_string(i)));
      for (int p = 0; p < spec.k; p++) {
        const std::string pod = "pod" + std::to_string(p);
        std::vector<int> aggregations;
        for (int i = 0; i < half; i++) {
          aggregations.push_back(b.add_switch(pod + "-agg" + std::to_string(i)));
          for (int c = 0; c < half; c++) b.connect(aggregations[i], cores[i * half + c], spec.link);
        }
        for (int e = 0; e < half; e++) {
          const int edge = b.add_switch(pod + "-edge" + std::to_string(e));
          for (int aggregation : aggregations) b.connect(edge, aggregation, spec.link);
          for (int h = 0; h < half; h++) b.add_host(pod, edge, spec.host_link);
        }
      }
      break;
    }
  }
}

// Shortest paths; a switch spreads over all equal ones.
void build_routes(Network& network, bool spray) {
  struct Edge {
    int port;
    int ifindex;
    int to;
  };
  const size_t n = network.nodes.size();
  std::vector<std::vector<Edge>> edges(n);
  for (const LinkPlan& link : network.links) {
    edges[link.a.node].push_back({static_cast<int>(link.a.port.id), link.a.ifindex, link.b.node});
    edges[link.b.node].push_back({static_cast<int>(link.b.port.id), link.b.ifindex, link.a.node});
  }
  network.next_hop.assign(n, std::vector<std::pair<int, int>>(n, {-1, -1}));
  for (size_t host = 0; host < n; host++) {
    if (network.nodes[host].address.empty()) continue;
    std::vector<int> distance(n, -1);
    std::deque<int> queue = {static_cast<int>(host)};
    distance[host] = 0;
    while (!queue.empty()) {
      const int at = queue.front();
      queue.pop_front();
      // Hosts do not forward.
      if (at != static_cast<int>(host) && !network.nodes[at].address.empty()) continue;
      for (const Edge& edge : edges[at])
        if (distance[edge.to] < 0) {
          distance[edge.to] = distance[at] + 1;
          queue.push_back(edge.to);
        }
    }
    for (size_t node = 0; node < n; node++) {
      if (node == host) continue;
      RoutePlan route;
      route.node = static_cast<int>(node);
      route.destination = network.nodes[host].address + "/32";
      for (const Edge& edge : edges[node])
        if (distance[edge.to] == distance[node] - 1) {
          route.ifindexes.push_back(edge.ifindex);
          if (network.next_hop[node][host].first < 0)
            network.next_hop[node][host] = {edge.port, edge.to};
        }
      if (network.nodes[node].address.empty()) network.routes.push_back(std::move(route));
    }
    RoutePlan uplink;
    uplink.node = static_cast<int>(host);
    uplink.destination = "default";
    uplink.ifindexes = {edges[host].at(0).ifindex};
    network.routes.push_back(std::move(uplink));
  }

  // Equal hash fields at every level would send all flows of an edge the same way at the next:
  // edges hash the whole 5-tuple, the others the ports only.
  for (const RoutePlan& route : network.routes) {
    if (route.ifindexes.size() < 2) continue;
    NodePlan& node = network.nodes[route.node];
    if (spray) {
      // Each port gives its packets hashes of their own.
      node.sysctls["net.ipv4.fib_multipath_hash_policy"] = "1";
      continue;
    }
    bool at_hosts = false;
    for (const Edge& edge : edges[route.node])
      at_hosts = at_hosts || !network.nodes[edge.to].address.empty();
    node.sysctls["net.ipv4.fib_multipath_hash_fields"] = at_hosts ? "55" : "48";
    node.sysctls["net.ipv4.fib_multipath_hash_policy"] = "3";
  }
}

// A host that is farthest from the first one; -1 if that is alone. All topologies look the same
// from any host, or the first is at an end.
int farthest_host(const Network& network) {
  const std::vector<int>& hosts = network.groups.at("hosts");
  int farthest = -1;
  size_t wires = 0;
  for (int host : hosts) {
    if (host == hosts.front()) continue;
    const size_t length = network.path(hosts.front(), host).size();
    if (length <= wires) continue;
    wires = length;
    farthest = host;
  }
  return farthest;
}

// What base_rtt_ns leaves after serialisation goes to the wires of the longest path in equal parts.
void spread_delay(Network& network, const TopologySpec& spec, int mtu_bytes) {
  const int first = network.groups.at("hosts").front();
  const int farthest = farthest_host(network);
  const int64_t serialisation = farthest < 0 ? 0 : base_rtt_ns(network, first, farthest, mtu_bytes);
  if (spec.base_rtt_ns < serialisation)
    throw Error(std::to_string(spec.base_rtt_ns) +
                " is below the serialisation of a packet and its ACK, allowed is at least " +
                std::to_string(serialisation));
  if (farthest < 0) return;
  const size_t wires = 2 * network.path(first, farthest).size();
  const uint64_t delay = static_cast<uint64_t>(spec.base_rtt_ns - serialisation) / wires;
  for (LinkPlan& link : network.links) link.a.port.delay_ns = link.b.port.delay_ns = delay;
}

}  // namespace

PortPlan& Network::port(int id) {
  LinkPlan& link = links.at(static_cast<size_t>(id / 2));
  return id % 2 == 0 ? link.a.port : link.b.port;
}

const PortPlan& Network::port(int id) const { return const_cast<Network*>(this)->port(id); }

int Network::port_named(const std::string& name) const {
  for (size_t id = 0; id < links.size() * 2; id++)
    if (port(static_cast<int>(id)).name == name) return static_cast<int>(id);
  return -1;
}

std::vector<int> Network::path(int source, int destination) const {
  std::vector<int> ports;
  for (int at = source; at != destination;) {
    const auto [port, next] = next_hop[at][destination];
    if (port < 0)
      throw Error("no path from " + nodes[source].name + " to " + nodes[destination].name);
    ports.push_back(port);
    at = next;
  }
  return ports;
}

std::vector<int> Network::select(const std::string& selector) const {
  const size_t open = selector.find('[');
  const auto group = groups.find(selector.substr(0, open));
  if (group == groups.end()) {
    std::string known;
    for (const auto& [name, members] : groups) known += (known.empty() ? "" : ", ") + name;
    throw Error("\"" + selector + "\" selects no hosts, allowed is one of " + known +
                ", or a part such as " + groups.begin()->first + "[0] or [0-3]");
  }
  if (open == std::string::npos) return group->second;
  unsigned first = 0, last = 0;
  char close = 0, rest = 0;
  const char* range = selector.c_str() + open;
  if (sscanf(range, "[%u-%u%c%c", &first, &last, &close, &rest) != 3 || close != ']') {
    if (sscanf(range, "[%u%c%c", &first, &close, &rest) != 2 || close != ']')
      throw Error("\"" + selector + "\" is no selector, allowed is group, group[i] or group[i-j]");
    last = first;
  }
  if (first > last || last >= group->second.size())
    throw Error("\"" + selector + "\" is out of range, allowed is " + group->first + "[0-" +
                std::to_string(group->second.size() - 1) + "]");
  return {group->second.begin() + first, group->second.begin() + last + 1};
}

namespace {

double exact_serialisation_ns(int64_t bytes, uint64_t rate_bps) {
  return rate_bps == 0 ? 0 : static_cast<double>(bytes) * 8e9 / static_cast<double>(rate_bps);
}

}  // namespace

int64_t serialisation_ns(int64_t bytes, uint64_t rate_bps) {
  return static_cast<int64_t>(std::ceil(exact_serialisation_ns(bytes, rate_bps)));
}

int64_t base_rtt_ns(const Network& network, int source, int destination, int mtu_bytes) {
  int64_t sum = 0;
  for (int id : network.path(source, destination)) {
    const PortPlan& port = network.port(id);
    sum += serialisation_ns(mtu_bytes + kEthernetBytes, port.rate_bps) +
           static_cast<int64_t>(port.delay_ns);
  }
  for (int id : network.path(destination, source)) {
    const PortPlan& port = network.port(id);
    sum += serialisation_ns(kAckFrameBytes, port.rate_bps) + static_cast<int64_t>(port.delay_ns);
  }
  return sum;
}

int64_t longest_base_rtt_ns(const Network& network, int mtu_bytes) {
  const int farthest = farthest_host(network);
  return farthest < 0
             ? 0
             : base_rtt_ns(network, network.groups.at("hosts").front(), farthest, mtu_bytes);
}

int64_t ideal_fct_ns(const Network& network, int source, int destination, int mtu_bytes,
                     int64_t size_bytes) {
  const int64_t mss = mtu_bytes - kTcpIpBytes;
  const int64_t packets = std::max<int64_t>(1, (size_bytes + mss - 1) / mss);
  const int64_t headers = kTcpIpBytes + kEthernetBytes;
  const int64_t last_frame = size_bytes - (packets - 1) * mss + headers;
  // Of the full packets before the last one, which leave each port back to back at the pace of the
  // slowest so far, only the end matters; the last one may be shorter and catch up with them.
  double slowest_ns = 0;
  double full_ns = 0;  // when the last but one leaves a port
  double last_ns = 0;
  double first_ns = 0;
  for (int id : network.path(source, destination)) {
    const PortPlan& port = network.port(id);
    const double delay_ns = static_cast<double>(port.delay_ns);
    const double full_service_ns = exact_serialisation_ns(mss + headers, port.rate_bps);
    slowest_ns = std::max(slowest_ns, full_service_ns);
    first_ns += full_service_ns;
    full_ns = packets > 1 ? first_ns + static_cast<double>(packets - 2) * slowest_ns : 0;
    last_ns = std::max(last_ns, full_ns) + exact_serialisation_ns(last_frame, port.rate_bps);
    first_ns += delay_ns;
    last_ns += delay_ns;
  }
  return static_cast<int64_t>(std::ceil(last_ns));
}

namespace {

void set_host_link(Network& network, int host, const HostLinkSpec& spec) {
  for (LinkPlan& link : network.links) {
    if (link.a.node != host && link.b.node != host) continue;
    PortPlan& port = link.a.node == host ? link.a.port : link.b.port;
    PortPlan& towards = link.a.node == host ? link.b.port : link.a.port;
    if (spec.rate_gbps >= 0)
      link.a.port.rate_bps = link.b.port.rate_bps =
          static_cast<uint64_t>(std::llround(spec.rate_gbps * 1e9));
    port.delay_ns += static_cast<uint64_t>(spec.extra_delay_ns);
    if (spec.noise) port.noise = quantiles(*spec.noise);
    if (spec.extra_delay_steps) port.delay_steps = *spec.extra_delay_steps;
    if (spec.interrupt_gap_ns >= 0)
      towards.interrupt_gap_ns = static_cast<uint32_t>(spec.interrupt_gap_ns);
  }
}

}  // namespace

namespace {

int named_port(const Network& network, const std::string& name) {
  const int id = network.port_named(name);
  if (id < 0)
    throw Error("\"" + name + "\" is no port, allowed is one such as \"" +
                network.links.front().a.port.name + "\"");
  return id;
}

// Specifications have steps as changes of a delay that is known only now.
void add_delays_to_steps(PortPlan* port) {
  const auto delay_ns = static_cast<int64_t>(port->delay_ns);
  for (auto& [at_ns, ns] : port->delay_steps) {
    if (ns < -delay_ns)
      throw Error(std::to_string(ns) + " ns is more than the delay of " + port->name +
                  ", allowed is from " + std::to_string(-delay_ns));
    ns += delay_ns;
  }
}

}  // namespace

Network build_network(const TopologySpec& spec, const HostsSpec& hosts) {
  Builder builder;
  build_shape(spec, builder);
  Network network = std::move(builder.network);
  build_routes(network, spec.spray);
  if (spec.base_rtt_ns > 0) spread_delay(network, spec, hosts.mtu_bytes);
  for (const auto& [name, gbps] : spec.port_gbps)
    network.port(named_port(network, name)).rate_bps =
        static_cast<uint64_t>(std::llround(gbps * 1e9));
  for (const auto& [name, steps] : spec.port_delay_steps)
    network.port(named_port(network, name)).delay_steps = steps;
  for (const HostLinkSpec& host_link : spec.host_links)
    for (int host : network.select(host_link.hosts)) set_host_link(network, host, host_link);
  for (LinkPlan& link : network.links)
    for (PortPlan* port : {&link.a.port, &link.b.port}) add_delays_to_steps(port);
  return network;
}

}  // namespace delaycc

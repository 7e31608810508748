// SPDX-License-Identifier: Apache-2.0
#include "scenario/checks.h"

#include <cmath>
#include <set>

#include "plan/compile.h"
#include "plan/topology.h"

namespace delaycc {
namespace {

void check_workload(const Scenario& s, const Network& network, Section& section) {
  const WorkloadSpec& spec = s.workload;
  const int64_t until_ns = spec.until_ns < 0 ? s.measure.duration_ns : spec.until_ns;
  if (until_ns > s.measure.duration_ns)
    section.complain("until_us", "is after the end, allowed is at most measure.duration_us");
  if (spec.warm_up_ns + spec.cool_down_ns >= until_ns)
    section.complain("warm_up_us",
                     "and cool_down_us leave nothing, allowed is less than the time "
                     "of arrivals together");
  const std::pair<const char*, std::string> selectors[] = {{"from", spec.from}, {"to", spec.to}};
  for (const auto& [key, selector] : selectors) try {
      network.select(selector);
    } catch (const Error& e) {
      section.complain(key, e.what());
      return;
    }
  try {
    const WorkloadHosts hosts = workload_hosts(s, network);
    const std::set<int> sources(hosts.sources.begin(), hosts.sources.end());
    const std::set<int> destinations(hosts.destinations.begin(), hosts.destinations.end());
    size_t fewest = sources.size();  // hosts that may send to one destination
    for (const int host : destinations)
      fewest = std::min(fewest, sources.size() - sources.count(host));
    if (destinations.size() == 1 && sources.count(*destinations.begin()))
      section.complain("to", "a host of \"from\" would send to itself, allowed is another");
    if (static_cast<size_t>(spec.incast.fan_in) > fewest)
      section.complain("incast", "fan_in " + std::to_string(spec.incast.fan_in) +
                                     " is more than the hosts of \"from\", allowed is up to " +
                                     std::to_string(fewest));
    const double flows = expected_flows(spec, hosts, s.measure.duration_ns);
    if (flows > 0.9 * kMaxFlows)
      section.complain("load", "gives " + std::to_string(std::llround(flows)) +
                                   " flows per trial, allowed are at most " +
                                   std::to_string(kMaxFlows * 9 / 10));
  } catch (const Error& e) {
    section.complain("load", e.what());
  }
}

constexpr char kSteps[] = "extra_delay_steps";

// That no delay would be below 0.
void check_steps(const TopologySpec& topology, const HostsSpec& hosts, Section& section) {
  try {
    build_network(topology, hosts);
  } catch (const Error& e) {
    section.complain(kSteps, e.what());
  }
}

// `links` is the scenario's topology without any steps.
void check_link_steps(const Scenario& s, const TopologySpec& links, Section& root) {
  const std::pair<const char*, LinkSpec TopologySpec::*> sections[] = {
      {"link", &TopologySpec::link},
      {"host_link", &TopologySpec::host_link},
      {"bottleneck", &TopologySpec::bottleneck}};
  for (const auto& [name, member] : sections) {
    Section section = root.section(name);
    if (!section.has(kSteps)) continue;
    TopologySpec with_steps = links;
    // The special sections take those of [link] where they have none.
    for (const auto& [other, heir] : sections)
      if (heir == member || (member == &TopologySpec::link && !root.section(other).has(kSteps)))
        (with_steps.*heir).extra_delay_steps = (s.topology.*member).extra_delay_steps;
    check_steps(with_steps, s.hosts, section);
  }
}

}  // namespace

void check_network(const Scenario& s, Section& root, std::vector<Section>& port_sections,
                   std::vector<Section>& host_sections, std::vector<Section>& flow_sections,
                   Section& workload) {
  Network network;
  Section topology = root.section("topology");
  TopologySpec links = s.topology;
  try {
    links.port_gbps.clear();
    links.port_delay_steps.clear();
    links.host_links.clear();
    for (LinkSpec* link : {&links.link, &links.host_link, &links.bottleneck})
      link->extra_delay_steps.clear();
    network = build_network(links, s.hosts);
  } catch (const Error& e) {
    topology.complain("base_rtt_ns", e.what());
    return;
  }
  check_link_steps(s, links, root);
  for (Section& section : port_sections) {
    const std::string name = section.text("name", "");
    if (network.port_named(name) < 0) {
      section.complain("name", "\"" + name + "\" is no port, allowed is one such as \"" +
                                   network.links.front().a.port.name + "\"");
    } else if (section.has(kSteps)) {
      TopologySpec with_steps = links;
      with_steps.port_delay_steps[name] = s.topology.port_delay_steps.at(name);
      check_steps(with_steps, s.hosts, section);
    }
  }
  // Delays of sections add up, and the last one's steps hold.
  TopologySpec with_hosts = links;
  for (size_t i = 0; i < host_sections.size(); i++) {
    Section& section = host_sections[i];
    try {
      network.select(section.text("hosts", ""));
    } catch (const Error& e) {
      section.complain("hosts", e.what());
      continue;
    }
    with_hosts.host_links.push_back(s.topology.host_links[i]);
    if (!section.has(kSteps)) continue;
    check_steps(with_hosts, s.hosts, section);
    with_hosts.host_links.back().extra_delay_steps.reset();
  }
  if (network.bottleneck_port >= 0 && network.port(network.bottleneck_port).rate_bps == 0)
    topology.complain("", "the bottleneck is infinitely fast, allowed is a rate_gbps above 0");
  if (s.workload.present) check_workload(s, network, workload);
  for (size_t i = 0; i < s.flows.size(); i++) {
    const FlowSpec& flow = s.flows[i];
    std::vector<int> ends[2];
    const std::pair<const char*, std::string> selectors[] = {{"from", flow.from}, {"to", flow.to}};
    bool right = true;
    for (int end = 0; end < 2; end++) try {
        ends[end] = network.select(selectors[end].second);
      } catch (const Error& e) {
        flow_sections[i].complain(selectors[end].first, e.what());
        right = false;
      }
    for (size_t n = 0; right && n < static_cast<size_t>(flow.count); n++)
      if (ends[0][n % ends[0].size()] == ends[1][n % ends[1].size()]) {
        flow_sections[i].complain("to", "member " + std::to_string(n) +
                                            " would go from a host to itself, allowed is another");
        break;
      }
  }
  Section algorithms = root.section("algorithms");
  for (const auto& [name, spec] : s.algorithm_specs) try {
      sender_sysctls(s, network, spec);
    } catch (const Error& e) {
      algorithms.section(name).complain("sender_sysctl", e.what());
    }
}

}  // namespace delaycc

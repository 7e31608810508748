// SPDX-License-Identifier: Apache-2.0
#include "plan/compile.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/random.h"
#include "plan/memory.h"

namespace delaycc {
namespace {

// The kernel tells at most 100 devices a second that their link is up (net/core/link_watch.c), and
// until then they drop what they are to send. Virtual seconds are free.
constexpr int64_t kLinksUpNs = 2'000'000'000;
constexpr int64_t kPerDeviceNs = 12'000'000;
constexpr int64_t kPerFlowNs = 50'000;
// Idle for so long between warm-up and time 0, the sender has forgotten the warm-up's window
// (RFC 2861) and starts with its initial one.
constexpr int64_t kIdleNs = 1'500'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;

// Which random time of a flow a draw is for.
enum Draw : uint64_t { kStartPhase, kStartJitter, kStopPhase, kStopJitter };

// The kernel's names of algorithms that groups of flows have for their own, in a fixed order.
std::vector<std::string> fixed_algorithms(const Scenario& scenario) {
  std::set<std::string> names;
  for (const FlowSpec& spec : scenario.flows)
    if (!spec.cc.empty()) names.insert(scenario.algorithm(spec.cc).cc);
  return {names.begin(), names.end()};
}

bool measures(const Scenario& scenario, const std::string& group) {
  const auto& groups = scenario.measure.flows;
  return groups.empty() || std::find(groups.begin(), groups.end(), group) != groups.end();
}

void add_flows(const Scenario& scenario, const Network& network, const std::string& cc,
               uint64_t seed, std::vector<FlowPlan>* flows) {
  const std::vector<std::string> fixed = fixed_algorithms(scenario);
  for (size_t g = 0; g < scenario.flows.size(); g++) {
    const FlowSpec& spec = scenario.flows[g];
    std::vector<int> sources, destinations;
    try {
      sources = network.select(spec.from);
      destinations = network.select(spec.to);
    } catch (const Error& e) {
      throw Error("flows \"" + spec.name + "\": " + e.what());
    }
    auto draw = [&](int64_t range_ns, Draw what, uint64_t member) {
      return static_cast<int64_t>(static_cast<double>(range_ns) *
                                  uniform_draw(seed, g, what, member));
    };
    const int64_t start_phase = draw(spec.start_phase_ns, kStartPhase, 0);
    const int64_t stop_phase = draw(spec.stop_phase_ns, kStopPhase, 0);
    uint64_t member = 0;
    for (int r = 0; r < spec.repeat; r++)
      for (int i = 0; i < spec.count; i++, member++) {
        FlowPlan flow;
        flow.id = static_cast<int>(flows->size());
        flow.group = spec.name;
        flow.source = sources[static_cast<size_t>(i) % sources.size()];
        flow.destination = destinations[static_cast<size_t>(i) % destinations.size()];
        if (flow.source == flow.destination)
          throw Error("flows \"" + spec.name + "\": member " + std::to_string(i) +
                      " would go from " + network.nodes[flow.source].name + " to itself");
        flow.cc = spec.cc.empty() ? cc : scenario.algorithm(spec.cc).cc;
        if (!spec.cc.empty())
          flow.listener =
              static_cast<int>(std::find(fixed.begin(), fixed.end(), flow.cc) - fixed.begin()) + 1;
        const int64_t later = r * spec.repeat_ns;
        flow.start_ns = spec.start_ns + start_phase +
                        draw(spec.start_jitter_ns, kStartJitter, member) + i * spec.stagger_ns +
                        later;
        if (spec.stop_ns >= 0)
          flow.stop_ns = spec.stop_ns + stop_phase +
                         draw(spec.stop_jitter_ns, kStopJitter, member) + i * spec.stop_stagger_ns +
                         later;
        flow.connect_at_start = spec.connect_at_start;
        if (spec.size_bytes > 0) flow.size_bytes = spec.size_bytes;
        flow.priority = spec.priority;
        flow.dscp = spec.dscp;
        flow.pacing_bps = static_cast<int64_t>(spec.pacing_gbps * 1e9);
        for (const auto& [from_ns, gbps] : spec.pacing_steps)
          flow.pacing_steps.emplace_back(from_ns, static_cast<int64_t>(gbps * 1e9));
        flow.measured = measures(scenario, spec.name);
        flow.plot_each = spec.plot_each;
        flows->push_back(flow);
      }
  }
}

void add_workload(const Scenario& scenario, const std::vector<WorkloadFlow>& workload,
                  const std::string& cc, std::vector<FlowPlan>* flows) {
  for (const WorkloadFlow& from : workload) {
    FlowPlan flow;
    flow.id = static_cast<int>(flows->size());
    flow.group = workload_group(scenario.workload, from);
    flow.source = from.source;
    flow.destination = from.destination;
    flow.cc = cc;
    flow.start_ns = from.start_ns;
    flow.size_bytes = from.size_bytes;
    flow.priority = size_priority(scenario.workload, from.size_bytes);
    if (scenario.workload.dscp_of_priority)
      flow.dscp = static_cast<int>(std::max<int64_t>(flow.priority, 0));
    flow.measured = is_measured(scenario, from);
    flows->push_back(flow);
  }
}

// Sysctls of our modules begin so.
constexpr char kOurSysctls[] = "net.ipv4.delaycc.";

// What all hosts are told for our modules is told to nobody in a trial without one of them, where
// these sysctls are not even there. An algorithm's own are its author's business.
std::map<std::string, std::string> host_sysctls(const Scenario& scenario,
                                                const AlgorithmSpec& algorithm, bool with_modules) {
  std::map<std::string, std::string> sysctls = {
      {"net.ipv6.conf.default.disable_ipv6", "1"},  // no router solicitations between our packets
      {"net.ipv4.tcp_no_metrics_save", "1"},        // no flow inherits from one before
      {"net.ipv4.tcp_rmem", "4096 16777216 67108864"},
      {"net.ipv4.tcp_wmem", "4096 4194304 67108864"},
  };
  for (const auto& [name, value] : scenario.hosts.sysctls)
    if (with_modules || name.rfind(kOurSysctls, 0) != 0) sysctls[name] = value;
  for (const auto& [name, value] : algorithm.sysctls) sysctls[name] = value;
  return sysctls;
}

constexpr char kLineRate[] = "net.ipv4.delaycc.line_rate_mbps";
constexpr char kBaseRtt[] = "net.ipv4.delaycc.base_rtt_ns";
constexpr char kBaseRttPaths[] = "net.ipv4.delaycc.base_rtt_paths";
// What these sysctls take (kernel/glue/delaycc_main.c, kernel/glue/delaycc.h).
constexpr uint64_t kMaxLineRateMbps = 800'000;
constexpr int64_t kMinBaseRttNs = 1000;
constexpr int64_t kMaxBaseRttNs = 1'000'000'000;

// The least and the greatest of numbers, as text.
class Range {
 public:
  void add(int64_t value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  std::string text() const {
    if (low_ > high_) return "";
    return std::to_string(low_) + (low_ < high_ ? " to " + std::to_string(high_) : "");
  }

 private:
  int64_t low_ = std::numeric_limits<int64_t>::max();
  int64_t high_ = std::numeric_limits<int64_t>::min();
};

// Tells hosts of line rates and base RTTs where the scenario does not, and remembers which values
// are in force on the hosts that send flows of our algorithms.
class HostTeller {
 public:
  HostTeller(const Network& network, const Plan& plan, const std::set<std::string>& our_algorithms)
      : network_(network), plan_(plan) {
    for (const FlowPlan& flow : plan.flows) {
      destinations_[flow.source].insert(flow.destination);
      if (our_algorithms.count(flow.cc)) ours_.insert(flow.source);
    }
  }

  void tell_line_rate(int host, LineRate line_rate, std::map<std::string, std::string>* sysctls) {
    if (const auto own = sysctls->find(kLineRate); own != sysctls->end()) {
      remember(host, kLineRate, HostSetting::Source::kScenario, own->second);
      return;
    }
    const uint64_t bps = line_rate == LineRate::kLink ? rate_bps(host) : 0;
    if (bps == 0) {
      remember(host, kLineRate, HostSetting::Source::kAutomatic, "");
      return;
    }
    const uint64_t mbps = std::clamp<uint64_t>((bps + 500'000) / 1'000'000, 1, kMaxLineRateMbps);
    (*sysctls)[kLineRate] = std::to_string(mbps);
    remember(host, kLineRate, HostSetting::Source::kBench, std::to_string(mbps));
  }

  void tell_base_rtt(int host, BaseRtt base_rtt, std::map<std::string, std::string>* sysctls) {
    bool said = false;
    for (const char* name : {kBaseRtt, kBaseRttPaths})
      if (const auto own = sysctls->find(name); own != sysctls->end()) {
        remember(host, kBaseRtt, HostSetting::Source::kScenario, own->second);
        said = true;
      }
    if (said) return;
    if (base_rtt == BaseRtt::kAutomatic) {
      remember(host, kBaseRtt, HostSetting::Source::kAutomatic, "");
      return;
    }
    if (base_rtt == BaseRtt::kLongest) {
      const int64_t ns = longest_ns();
      if (allowed(host, ns)) (*sysctls)[kBaseRtt] = std::to_string(ns);
      return;
    }
    std::string table;
    for (int destination : destinations_[host]) {
      const int64_t ns = base_rtt_ns(network_, host, destination, plan_.mtu_bytes);
      if (!allowed(host, ns)) continue;
      table += (table.empty() ? "" : ", ") + network_.nodes[destination].address + "/32 " +
               std::to_string(ns);
    }
    if (!table.empty()) (*sysctls)[kBaseRttPaths] = table;
  }

  std::vector<HostSetting> settings() const {
    std::vector<HostSetting> result;
    for (const auto& [key, told] : told_) {
      HostSetting setting;
      setting.name = key.first;
      setting.source = key.second;
      setting.value = told.numbers.text();
      for (const std::string& text : told.texts)
        setting.value += (setting.value.empty() ? "" : ", ") + text;
      setting.hosts = static_cast<int>(told.hosts.size());
      result.push_back(setting);
    }
    return result;
  }

 private:
  struct Told {
    Range numbers;
    std::set<std::string> texts;  // what is no number: a table of paths
    std::set<int> hosts;
  };

  // Of hosts whose own links are longer, flows may have longer paths than the topology's longest.
  int64_t longest_ns() const {
    int64_t ns = longest_base_rtt_ns(network_, plan_.mtu_bytes);
    for (const auto& [source, destinations] : destinations_)
      for (int destination : destinations)
        ns = std::max(ns, base_rtt_ns(network_, source, destination, plan_.mtu_bytes));
    return ns;
  }

  // Of the host's link. Through an infinitely fast one packets leave as fast as the next port takes
  // them: of the host's paths the greatest of the least rates. 0: no link on them has a rate.
  uint64_t rate_bps(int host) const {
    uint64_t result = 0;
    for (const LinkPlan& link : network_.links)
      for (const EndPlan* end : {&link.a, &link.b})
        if (end->node == host) result = end->port.rate_bps;
    const auto paths = destinations_.find(host);
    if (result > 0 || paths == destinations_.end()) return result;
    for (int destination : paths->second) {
      uint64_t least = 0;
      for (int id : network_.path(host, destination)) {
        const uint64_t rate = network_.port(id).rate_bps;
        if (rate > 0 && (least == 0 || rate < least)) least = rate;
      }
      result = std::max(result, least);
    }
    return result;
  }

  // Whether the sysctls take it; a path whose base RTT they do not take is measured.
  bool allowed(int host, int64_t ns) {
    const bool is = ns >= kMinBaseRttNs && ns <= kMaxBaseRttNs;
    remember(host, kBaseRtt, is ? HostSetting::Source::kBench : HostSetting::Source::kAutomatic,
             is ? std::to_string(ns) : "");
    return is;
  }

  void remember(int host, const std::string& name, HostSetting::Source source,
                const std::string& value) {
    if (!ours_.count(host)) return;
    const bool number = !value.empty() && value.size() < 12 &&
                        value.find_first_not_of("0123456789") == std::string::npos;
    // A scenario's 0 is the modules' own word for automatic.
    const bool automatic = number && std::stoll(value) == 0;
    Told& told = told_[{name.substr(name.rfind('.') + 1),
                        automatic ? HostSetting::Source::kAutomatic : source}];
    told.hosts.insert(host);
    if (number && !automatic)
      told.numbers.add(std::stoll(value));
    else if (!number && !value.empty())
      told.texts.insert(value);
  }

  const Network& network_;
  const Plan& plan_;
  std::map<int, std::set<int>> destinations_;  // of a host's flows
  std::set<int> ours_;                         // hosts that send flows of our algorithms
  std::map<std::pair<std::string, HostSetting::Source>, Told> told_;
};

}  // namespace

const char* source_name(HostSetting::Source source) {
  switch (source) {
    case HostSetting::Source::kBench:
      return "bench";
    case HostSetting::Source::kScenario:
      return "scenario";
    case HostSetting::Source::kAutomatic:
      break;
  }
  return "automatic";
}

std::map<int, std::map<std::string, std::string>> sender_sysctls(const Scenario& scenario,
                                                                 const Network& network,
                                                                 const AlgorithmSpec& algorithm) {
  std::map<int, std::map<std::string, std::string>> result;
  for (const FlowSpec& flow : scenario.flows) {
    const auto own = algorithm.sender_sysctls.find(flow.name);
    if (own == algorithm.sender_sysctls.end()) continue;
    const std::vector<int> sources = network.select(flow.from);
    const size_t used = std::min(sources.size(), static_cast<size_t>(flow.count));
    for (size_t i = 0; i < used; i++)
      for (const auto& [name, value] : own->second) {
        const auto [it, fresh] = result[sources[i]].emplace(name, value);
        if (!fresh && it->second != value)
          throw Error("\"" + flow.name + "\" sets " + name + " = " + value + " on " +
                      network.nodes[sources[i]].name + ", where another group sets " + it->second +
                      "; allowed is one value per host");
      }
  }
  return result;
}

WorkloadHosts workload_hosts(const Scenario& scenario, const Network& network) {
  const WorkloadSpec& spec = scenario.workload;
  WorkloadHosts hosts;
  hosts.sources = network.select(spec.from);
  hosts.destinations = network.select(spec.to);
  hosts.mtu_bytes = scenario.hosts.mtu_bytes;
  if (spec.load_of_hosts) {
    const std::set<int> sources(hosts.sources.begin(), hosts.sources.end());
    for (const LinkPlan& link : network.links)
      for (const EndPlan* end : {&link.a, &link.b})
        if (sources.count(end->node)) hosts.rate_bps += static_cast<double>(end->port.rate_bps);
  } else {
    hosts.rate_bps = static_cast<double>(network.port(network.bottleneck_port).rate_bps);
  }
  if (hosts.rate_bps == 0)
    throw Error("the load is a share of an infinite rate, allowed is a rate_gbps above 0");
  return hosts;
}

std::vector<WorkloadFlow> trial_workload(const Scenario& scenario, const Network& network,
                                         uint64_t seed, int number) {
  return generate_workload(scenario.workload, workload_hosts(scenario, network),
                           scenario.measure.duration_ns, seed, number);
}

bool is_measured(const Scenario& scenario, const WorkloadFlow& flow) {
  return flow.measured && measures(scenario, workload_group(scenario.workload, flow));
}

CompiledTrial compile_trial(const Scenario& scenario, const Trial& trial,
                            const std::function<bool(const std::string&)>& has_module) {
  CompiledTrial result;
  Plan& plan = result.plan;
  Measurement& measurement = result.measurement;
  const AlgorithmSpec algorithm = scenario.algorithm(trial.algorithm);
  const uint64_t seed = mix(mix(trial.seed) ^ static_cast<uint64_t>(trial.number));

  Network network = build_network(scenario.topology, scenario.hosts);
  plan.scenario = scenario.name;
  plan.algorithm = trial.algorithm;
  plan.seed = mix(seed) >> 16;
  plan.mtu_bytes = scenario.hosts.mtu_bytes;
  plan.quickack = scenario.hosts.quickack;
  plan.ack_dscp = scenario.hosts.ack_dscp;
  plan.gso = scenario.hosts.gso;
  plan.initcwnd = algorithm.initcwnd > 0 ? algorithm.initcwnd : scenario.hosts.initcwnd;
  plan.rto_min_ms = scenario.hosts.rto_min_ms;
  plan.warm_bytes = scenario.hosts.warm_bytes;
  plan.end_ns = scenario.measure.duration_ns;
  plan.trace = trial.trace || scenario.measure.decisions;
  add_flows(scenario, network, algorithm.cc, seed, &plan.flows);
  const size_t groups_end = plan.flows.size();
  std::vector<WorkloadFlow> workload;
  if (scenario.workload.present) {
    workload = trial_workload(scenario, network, trial.seed, trial.number);
    add_workload(scenario, workload, algorithm.cc, &plan.flows);
    plan.open_windows = true;
  } else if (plan.flows.empty()) {
    throw Error("the scenario has no flow");
  }
  if (plan.flows.size() > kMaxFlows)
    throw Error("the scenario has " + std::to_string(plan.flows.size()) +
                " flows, allowed are at most " + std::to_string(kMaxFlows));
  plan.connect_ns = kLinksUpNs + static_cast<int64_t>(network.links.size()) * 2 * kPerDeviceNs;
  const int64_t ready_ns =
      plan.connect_ns + static_cast<int64_t>(plan.flows.size()) * kPerFlowNs + kIdleNs;
  plan.zero_ns = (ready_ns + kSecondNs - 1) / kSecondNs * kSecondNs;

  // Sysctls of the algorithm under test are there even in a trial without flows.
  std::set<std::string> used = {algorithm.cc};
  for (const FlowPlan& flow : plan.flows) used.insert(flow.cc);
  std::set<std::string> ours;
  for (const std::string& cc : used) {
    // What TCP asks modprobe for; one module may bring several algorithms.
    const std::string module = "tcp_" + cc;
    if (!has_module(module)) continue;
    if (ours.empty()) plan.modules.push_back("delaycc");
    ours.insert(cc);
    plan.modules.push_back(module);
  }
  // Our modules and programs tell their decisions, other algorithms nothing.
  if (ours.empty() && std::none_of(used.begin(), used.end(), is_bpf_program)) plan.trace = false;

  plan.sysctls = {{"net.ipv4.tcp_mem", "4194304 6291456 8388608"}};
  const LineRate line_rate = algorithm.line_rate.value_or(scenario.hosts.line_rate);
  const BaseRtt base_rtt = algorithm.base_rtt.value_or(scenario.hosts.base_rtt);
  HostTeller teller(network, plan, ours);
  const auto of_senders = sender_sysctls(scenario, network, algorithm);
  for (size_t i = 0; i < network.nodes.size(); i++) {
    NodePlan& node = network.nodes[i];
    if (node.address.empty()) {
      node.sysctls["net.ipv4.ip_forward"] = "1";
      node.sysctls["net.ipv6.conf.default.disable_ipv6"] = "1";
      continue;
    }
    node.sysctls = host_sysctls(scenario, algorithm, !ours.empty());
    if (const auto it = of_senders.find(static_cast<int>(i)); it != of_senders.end())
      for (const auto& [name, value] : it->second) node.sysctls[name] = value;
    // Only with the modules there is somebody to tell.
    if (ours.empty()) continue;
    teller.tell_line_rate(static_cast<int>(i), line_rate, &node.sysctls);
    teller.tell_base_rtt(static_cast<int>(i), base_rtt, &node.sysctls);
  }
  result.settings = teller.settings();

  // One log for all: the bottleneck, and both ends of every sender's RTT.
  const LogChoice log = scenario.measure.log;
  int bottleneck = network.bottleneck_port;
  if (bottleneck < 0 && plan.flows.empty()) {
    bottleneck = 0;
  } else if (bottleneck < 0) {
    const FlowPlan& flow = first_measured(plan);
    bottleneck = network.path(flow.source, flow.destination).back();
  }
  for (const FlowPlan& flow : plan.flows) {
    const int host_port = network.path(flow.source, flow.destination).front();
    const int return_port = network.path(flow.destination, flow.source).back();
    network.port(host_port).log_flags |= kPortDropRst;
    if (log >= LogChoice::kAll) {
      network.port(host_port).log_flags |= kPortLogData;
      network.port(return_port).log_flags |= kPortLogAcks;
    }
    const bool drawn = static_cast<size_t>(flow.id) >= groups_end;
    const WorkloadFlow from =
        drawn ? workload[static_cast<size_t>(flow.id) - groups_end] : WorkloadFlow();
    // A response's size is the scenario's, not drawn: it is in no class.
    measurement.size_class.push_back(drawn && from.request < 0 && !scenario.workload.classes.empty()
                                         ? size_class(scenario.workload, from.size_bytes)
                                         : -1);
    measurement.request.push_back(from.request);
    measurement.uniform.push_back(from.uniform);
    measurement.log_weight.push_back(from.log_weight);
    measurement.host_port.push_back(host_port);
    measurement.return_port.push_back(return_port);
    measurement.ideal_fct_ns.push_back(flow.size_bytes == kNever
                                           ? -1
                                           : ideal_fct_ns(network, flow.source, flow.destination,
                                                          plan.mtu_bytes, flow.size_bytes));
  }
  if (log != LogChoice::kNone) network.port(bottleneck).log_flags |= kPortLogData | kPortLogAcks;
  for (size_t id = 0; id < network.links.size() * 2; id++) {
    PortPlan& port = network.port(static_cast<int>(id));
    if (log == LogChoice::kEvery) port.log_flags |= kPortLogData | kPortLogAcks;
    if (port.bands > 0) port.log_flags |= kPortDscpPriority;
    if (scenario.topology.spray) port.log_flags |= kPortSpray;
    port.seed = mix(seed ^ mix(id));
    measurement.port_delay_ns.push_back(port.delay_ns);
    if (!port.delay_steps.empty())
      measurement.port_delay_steps[static_cast<int>(id)] = port.delay_steps;
  }
  measurement.bottleneck_port = bottleneck;
  measurement.bottleneck_bps = network.port(bottleneck).rate_bps;
  if (measurement.bottleneck_bps == 0)
    throw Error("the bottleneck " + network.port(bottleneck).name +
                " is infinitely fast, allowed is a rate_gbps above 0");
  measurement.mtu_bytes = plan.mtu_bytes;
  measurement.flow_sets = flow_sets(scenario.workload);
  measurement.log = log;
  measurement.curves = trial.number == 0;
  measurement.event = scenario.event;
  measurement.measure = scenario.measure;

  plan.nodes = std::move(network.nodes);
  plan.links = std::move(network.links);
  plan.routes = std::move(network.routes);
  plan.memory_mb = memory_mb(plan, scenario.measure.log);
  return result;
}

}  // namespace delaycc

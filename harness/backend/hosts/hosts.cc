// SPDX-License-Identifier: Apache-2.0
#include "backend/hosts/hosts.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "backend/host/kernel_algorithms.h"
#include "backend/host/wire.h"
#include "backend/hosts/inventory.h"
#include "backend/hosts/one_way.h"
#include "backend/hosts/session.h"
#include "backend/programs.h"
#include "base/temporary_directory.h"
#include "plan/paths.h"
#include "plan/plan.h"
#include "scenario/scenario_file.h"
#include "trace/records.h"

namespace delaycc {
namespace {

// From the order to start to the first connection, which a runner makes 300 ms earlier than the
// plan says.
constexpr int64_t kLeadNs = 2'000'000'000;
constexpr int kReadyMs = 60'000;
constexpr int kEchoMs = 60'000;
constexpr int kStampsMs = 60'000;
constexpr char kHardware[] = "hardware";
// A share of the fastest echo's RTT. Clocks that may be further apart tell nothing of one way.
constexpr double kMostClockError = 0.5;
// A link between two switches is what a scenario's bottleneck is declared to be.
constexpr int kMostSwitchLinks = 1;

constexpr char kTwoClocks[] =
    "by the clocks of two hosts, which are not known to be in step (ptp = true in the inventory)";
constexpr char kInSwitch[] = "of a switch's queue, which the hosts do not see";
constexpr const char* kNicMetrics[] = {
    "rtt_nic_p50_us",    "rtt_nic_p99_us",     "rtt_nic_p999_us", "host_noise_p50_us",
    "host_noise_p99_us", "host_noise_p999_us", "rtt_nic_packets"};
constexpr char kFine[] =
    "packets are stamped at the hosts, where NICs join them, and not at the bottleneck";

std::map<std::string, std::string> missing_metrics(bool ptp) {
  std::map<std::string, std::string> result;
  for (const char* name :
       {"queue_mean_bytes", "queue_sd_bytes", "queue_p99_bytes", "queue_min_bytes",
        "queue_max_bytes", "queue_peak_bytes", "drops", "qdisc_drops", "loss_ratio", "suppress_us"})
    result[name] = kInSwitch;
  result["idle_us"] = kFine;
  for (const char* name : {"floor_p50_us", "floor_p99_us"})
    result[name] = "there is no path between the hosts without the network";
  if (ptp) return result;
  for (const char* kind : {"fct", "slowdown"})
    for (const char* what : {"mean", "p50", "p90", "p95", "p99", "p999"})
      result[std::string(kind) + "_" + what + (kind == std::string("fct") ? "_us" : "")] =
          kTwoClocks;
  for (const char* name :
       {"recover_us", "jain_time_us", "takeover_us", "giveback_us", "top_share", "top_share_min",
        "top_utilisation", "priority_utilisation", "priority_fct_gap", "gradient_mse",
        "gradient_ewma_mse", "gradient_gain"})
    result[name] = kTwoClocks;
  return result;
}

bool is_host(const NodePlan& node) { return !node.address.empty(); }

void refuse(const std::string& where, const std::string& why) {
  throw Error("backend hosts: " + where + ": " + why +
              "; the network between real hosts is as it is (the lab can: --backend lab)");
}

// What a plan asks for and nobody sets between real hosts. Rates, delays, buffers and marks are
// what the network is declared to have.
void check_plan(const Plan& plan) {
  int between_switches = 0;
  for (const LinkPlan& link : plan.links) {
    between_switches += !is_host(plan.nodes.at(static_cast<size_t>(link.a.node))) &&
                        !is_host(plan.nodes.at(static_cast<size_t>(link.b.node)));
    for (const PortPlan* port : {&link.a.port, &link.b.port}) {
      if (port->loss_ppm > 0) refuse("port " + port->name, "loss_ppm");
      if (port->reorder_ppm > 0) refuse("port " + port->name, "reorder_ppm");
      if (!port->noise.empty()) refuse("port " + port->name, "noise_ns or jitter_ns");
      if (!port->delay_steps.empty()) refuse("port " + port->name, "extra_delay_steps");
      if (port->interrupt_gap_ns > 0) refuse("port " + port->name, "interrupt_gap_ns");
      if (port->bands > 0) refuse("port " + port->name, "bands");
      if (port->log_flags & kPortSpray) refuse("port " + port->name, "spray");
    }
  }
  if (between_switches > kMostSwitchLinks)
    refuse("topology", "several switches (" + std::to_string(between_switches) +
                           " links between them): allowed are incast and dumbbell");
  if (plan.initcwnd > 0) refuse("initcwnd", "it is of a route, and routes are the hosts' own");
  if (plan.rto_min_ms > 0)
    refuse("hosts.rto_min_ms", "it is of a route, and routes are the hosts' own");
}

std::vector<FlowPorts> flow_ports(const Plan& plan) {
  std::map<int, uint32_t> log_flags;  // by port
  std::set<int> of_hosts;
  for (const LinkPlan& link : plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) {
      log_flags[static_cast<int>(end->port.id)] = end->port.log_flags;
      if (is_host(plan.nodes.at(static_cast<size_t>(end->node))))
        of_hosts.insert(static_cast<int>(end->port.id));
    }
  const Paths paths(plan);
  std::vector<FlowPorts> result;
  for (const FlowPlan& flow : plan.flows) {
    const std::vector<Hop> there = paths.path(flow.source, flow.destination);
    const auto first = static_cast<int>(there.front().port);
    const auto back = static_cast<int>(paths.path(flow.destination, flow.source).back().port);
    FlowPorts ports;
    if (log_flags[first] & kPortLogData) ports.host_port = first;
    if (log_flags[back] & kPortLogAcks) ports.return_port = back;
    for (const Hop& hop : there)
      if (const auto port = static_cast<int>(hop.port);
          !of_hosts.count(port) && (log_flags[port] & kPortLogData))
        ports.passed.push_back(port);
    result.push_back(std::move(ports));
  }
  return result;
}

// "10.0.0.1/32 12000, 10.0.0.2/32 ..." with the real addresses.
std::string with_addresses(std::string text, const std::map<std::string, std::string>& real) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const bool begins =
        at == 0 || (!isdigit(static_cast<unsigned char>(text[at - 1])) && text[at - 1] != '.');
    const auto found = std::find_if(real.begin(), real.end(), [&](const auto& pair) {
      return begins && text.compare(at, pair.first.size() + 1, pair.first + "/") == 0;
    });
    if (found == real.end()) {
      result += text[at++];
    } else {
      result += found->second;
      at += found->first.size();
    }
  }
  return result;
}

// One that ends with the object, although the objects after it throw.
class TrialEnd {
 public:
  explicit TrialEnd(std::vector<Session*> sessions) : sessions_(std::move(sessions)) {}
  TrialEnd(const TrialEnd&) = delete;
  TrialEnd& operator=(const TrialEnd&) = delete;
  ~TrialEnd() {
    try {
      now();
    } catch (const Error&) {
      // What failed before is thrown already. A runner that does not answer restores by itself.
    }
  }
  // Throws Error with what could not be put back.
  void now() {
    std::string troubles;
    for (Session* session : std::exchange(sessions_, {})) {
      if (session->lost()) continue;
      try {
        const std::string left = session->end_trial();
        if (!left.empty()) troubles += session->host().name + " could not put back: " + left;
      } catch (const Error& e) {
        troubles += std::string(e.what()) + "\n";
      }
    }
    if (!troubles.empty()) throw Error("backend hosts: " + troubles);
  }

 private:
  std::vector<Session*> sessions_;
};

class Hosts : public Backend {
 public:
  Hosts(const std::string& path, const std::atomic<bool>& stop)
      : inventory_(read_inventory(path)), runner_(host_runner_path()) {
    capabilities_.time = Capabilities::Time::kWall;
    capabilities_.exact = false;
    capabilities_.parallel = false;
    capabilities_.notes = {
        "the network between the hosts is as it is: rates, delays and buffers of the scenario are "
        "what it is said to have",
        "offloads, routes and delayed ACKs are the hosts' own; rtt_* begin when a segment goes to "
        "the "
        "device"};
    capabilities_.missing_metrics = missing_metrics(inventory_.ptp);
    if (inventory_.ptp)
      capabilities_.notes.push_back(
          "times of two hosts are by clocks that PTP keeps in step; clock_error_us is how far they "
          "may be apart, and that an unequal path shifts them PTP does not see");
    for (const InventoryHost& host : inventory_.hosts) session(host.name, stop);
    const Hello& first = sessions_.begin()->second->hello();
    algorithms_ = first.algorithms;
    modules_ = first.modules;
    for (const auto& [name, other] : sessions_) {
      const Hello& hello = other->hello();
      std::vector<std::string> both;
      std::set_intersection(algorithms_.begin(), algorithms_.end(), hello.algorithms.begin(),
                            hello.algorithms.end(), std::back_inserter(both));
      algorithms_ = std::move(both);
      for (auto it = modules_.begin(); it != modules_.end();)
        it = hello.modules.count(it->first) ? std::next(it) : modules_.erase(it);
    }
    if (inventory_.ptp) ask_ptp(inventory_sessions(), stop);
    find_stamps(stop);
  }

  std::string name() const override { return "hosts"; }
  const Capabilities& capabilities() const override { return capabilities_; }
  std::vector<std::string> algorithms() const override { return algorithms_; }
  bool has_module(const std::string& name) const override { return modules_.count(name) > 0; }
  std::string description(const std::string&) const override { return "of the hosts' kernels"; }
  std::vector<BackendPart> parts() const override { return hosts_parts(); }

  std::string build() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string hashes = "delaycc " + hash_file("/proc/self/exe") + " runner " + hash_file(runner_);
    for (const auto& [name, session] : sessions_) hashes += "\n" + host_text(*session, modules_);
    return hash_hex(hashes).substr(0, 16);
  }

  std::string identity(const Plan& plan) const override {
    check_plan(plan);
    std::lock_guard<std::mutex> lock(mutex_);
    std::string text = "hosts runner " + hash_file(runner_);
    for (const int node : nodes_of(plan)) {
      const Session& session = *sessions_.at(plan.nodes.at(static_cast<size_t>(node)).name);
      std::map<std::string, std::string> used;
      for (const std::string& module : plan.modules)
        if (const auto it = session.hello().modules.find(module);
            it != session.hello().modules.end())
          used.insert(*it);
      text += "\n" + host_text(session, used);
    }
    return text + unseen_programs(plan);
  }

  Records run(const Plan& plan, const std::string& directory, int timeout_s,
              const std::atomic<bool>& stop) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::vector<int> nodes = nodes_of(plan);
    std::vector<Session*> sessions;
    for (const int node : nodes)
      sessions.push_back(&session(plan.nodes.at(static_cast<size_t>(node)).name, stop));
    const std::vector<ClockOffset> clocks = compare_clocks(sessions, stop);

    TrialEnd end(sessions);
    Order order = order_of(plan, nodes);
    for (size_t i = 0; i < nodes.size(); i++) {
      order.node = nodes[i];
      order.device = sessions[i]->host().device;
      order.qdisc = sessions[i]->host().qdisc;
      order.nic_stamps = stamps_.at(sessions[i]->host().name).kind == kHardware;
      sessions[i]->send("trial", order_to_json(order));
    }
    for (Session* session : sessions) session->expect("ready", kReadyMs, stop);
    Records all;
    all.calibration = echoes(plan, nodes, sessions, stop);

    const int64_t zero_ns = monotonic_ns() + kLeadNs + (plan.zero_ns - plan.connect_ns);
    for (size_t i = 0; i < nodes.size(); i++)
      sessions[i]->send("go", std::to_string(zero_ns + clocks[i].offset_ns));
    const int64_t planned_ms = (zero_ns - monotonic_ns() + plan.end_ns) / 1'000'000;
    const int64_t most_ms = std::min<int64_t>(planned_ms + int64_t{timeout_s} * 1000, INT32_MAX);
    std::vector<Records> parts;
    for (Session* session : sessions)
      parts.push_back(unpack_records(session->expect("records", static_cast<int>(most_ms), stop)));
    all.calibration.clock_error_ns = clock_error_ns(clocks, sessions, stop);
    end.now();
    merge(plan, nodes, parts, &all);
    if (inventory_.ptp) check_one_way(plan, all);
    write_file(directory + "/console.txt", console(sessions));
    return all;
  }

 private:
  // A new one in place of one that was lost.
  Session& session(const std::string& name, const std::atomic<bool>& stop) const {
    std::unique_ptr<Session>& session = sessions_[name];
    if (session && !session->lost()) return *session;
    session.reset();
    const InventoryHost* host = find_host(name);
    try {
      session = std::make_unique<Session>(*host, inventory_.ssh_config, runner_,
                                          messages_.path() + "/" + host->address, stop);
    } catch (...) {
      sessions_.erase(name);
      throw;
    }
    return *session;
  }

  // Asks each host what its device's stamps are. Where none has them RTTs by them are missing.
  void find_stamps(const std::atomic<bool>& stop) {
    std::map<std::string, std::string> without;  // hosts by reason
    size_t count = 0;                            // of those hosts
    for (const InventoryHost& host : inventory_.hosts) {
      FoundStamps& found = stamps_[host.name];
      const auto peer = std::find_if(inventory_.hosts.begin(), inventory_.hosts.end(),
                                     [&](const InventoryHost& h) { return h.name != host.name; });
      if (!host.nic_stamps) {
        found = {"software", "nic_stamps = false in the inventory"};
      } else if (peer == inventory_.hosts.end()) {
        found = {"software", "no other host is there to answer"};
      } else {
        Session& session = *sessions_.at(host.name);
        session.send("stamps", stamp_order_to_json({host.device, peer->address}));
        found = found_stamps_from_json(session.expect("stamps", kStampsMs, stop));
      }
      if (found.kind == kHardware) continue;
      count++;
      std::string& hosts = without[found.why];
      hosts += (hosts.empty() ? "" : ", ") + host.name + " (" + host.device + ")";
    }
    std::string reasons;
    for (const auto& [why, hosts] : without)
      reasons += (reasons.empty() ? "" : "; ") + hosts + ": " + why;
    if (count == inventory_.hosts.size())
      for (const char* name : kNicMetrics)
        capabilities_.missing_metrics[name] = "no NIC stamps all packets: " + reasons;
    else if (count > 0)
      capabilities_.notes.push_back("rtt_nic_* and host_noise_* have no packets of these hosts: " +
                                    reasons);
  }

  // The hosts that have a part in it.
  std::vector<int> nodes_of(const Plan& plan) const {
    std::set<int> used;
    for (const FlowPlan& flow : plan.flows) used.insert({flow.source, flow.destination});
    for (const int node : used) {
      const std::string& name = plan.nodes.at(static_cast<size_t>(node)).name;
      if (!find_host(name)) {
        std::string known;
        for (const InventoryHost& host : inventory_.hosts)
          known += (known.empty() ? "" : ", ") + host.name;
        throw ScenarioError(inventory_.path + ": hosts: there is none for " + name +
                            " of the scenario, which sends or receives; it has " + known);
      }
    }
    if (used.empty()) throw Error("backend hosts: the plan has no flow");
    return {used.begin(), used.end()};
  }

  // Null: the inventory has none of this name.
  const InventoryHost* find_host(const std::string& name) const {
    const auto found = std::find_if(inventory_.hosts.begin(), inventory_.hosts.end(),
                                    [&](const InventoryHost& host) { return host.name == name; });
    return found == inventory_.hosts.end() ? nullptr : &*found;
  }

  // What all hosts are told alike.
  Order order_of(const Plan& plan, const std::vector<int>& nodes) const {
    Order order;
    order.ports = flow_ports(plan);
    order.plan = plan;
    std::map<std::string, std::string> real;
    for (const int node : nodes) {
      NodePlan& host = order.plan.nodes.at(static_cast<size_t>(node));
      const std::string& address = find_host(host.name)->address;
      real[host.address] = address;
      host.address = address;
    }
    for (NodePlan& host : order.plan.nodes) {
      host.sysctls.erase("net.ipv6.conf.default.disable_ipv6");  // of devices that are yet to come
      for (auto& [name, value] : host.sysctls) value = with_addresses(value, real);
    }
    return order;
  }

  static Calibration echoes(const Plan& plan, const std::vector<int>& nodes,
                            const std::vector<Session*>& sessions, const std::atomic<bool>& stop) {
    const FlowPlan& flow = first_measured(plan);
    const auto at = std::find(nodes.begin(), nodes.end(), flow.source) - nodes.begin();
    Session& session = *sessions.at(static_cast<size_t>(at));
    session.send("echo", std::to_string(flow.destination));
    Records told;
    parse_flows(session.expect("echoes", kEchoMs, stop), "echoes", &told);
    return told.calibration;
  }

  std::vector<Session*> inventory_sessions() const {
    std::vector<Session*> all;
    for (const auto& [name, session] : sessions_) all.push_back(session.get());
    return all;
  }

  // What PTP says of each host. Throws Error when the clocks are not of one grandmaster.
  static std::vector<PtpState> ask_ptp(const std::vector<Session*>& sessions,
                                       const std::atomic<bool>& stop) {
    std::vector<PtpState> states;
    for (Session* session : sessions) {
      states.push_back(session->ask_ptp(stop));
      if (states.back().grandmaster != states.front().grandmaster)
        throw Error("backend hosts: ptp = true, and " + sessions.front()->host().name +
                    " has its time of the grandmaster " + states.front().grandmaster + ", " +
                    session->host().name + " of " + states.back().grandmaster);
    }
    return states;
  }

  // By exchanges over ssh. With PTP the hosts' distances from each other are those of their times
  // of day, which the exchanges have to bear out.
  std::vector<ClockOffset> compare_clocks(const std::vector<Session*>& sessions,
                                          const std::atomic<bool>& stop) const {
    std::vector<ClockOffset> clocks;
    for (Session* session : sessions) clocks.push_back(session->compare_clocks(stop));
    if (!inventory_.ptp) return clocks;
    const std::vector<PtpState> states = ask_ptp(sessions, stop);
    const ClockOffset first = clocks.front();
    for (size_t i = 0; i < clocks.size(); i++) {
      const int64_t offset_ns = first.offset_ns + states.front().real_ns - states[i].real_ns;
      const int64_t apart_ns = std::abs(offset_ns - clocks[i].offset_ns);
      if (apart_ns >
          first.error_ns + clocks[i].error_ns + states.front().error_ns + states[i].error_ns)
        throw Error("backend hosts: ptp = true, and by ssh the clock of " +
                    sessions[i]->host().name + " is " + std::to_string(apart_ns) +
                    " ns from where PTP has it beside that of " + sessions.front()->host().name);
      // What all have in common does not matter between hosts.
      clocks[i] = {offset_ns, states[i].error_ns};
    }
    return clocks;
  }

  // How far times of two hosts may be apart: what each clock's comparison leaves open, and what it
  // has moved since.
  int64_t clock_error_ns(const std::vector<ClockOffset>& before,
                         const std::vector<Session*>& sessions,
                         const std::atomic<bool>& stop) const {
    std::vector<int64_t> errors;
    const std::vector<ClockOffset> after = compare_clocks(sessions, stop);
    // That of the first by ssh alone is in all offsets.
    const int64_t common_ns =
        inventory_.ptp ? after.front().offset_ns - before.front().offset_ns : 0;
    for (size_t i = 0; i < sessions.size(); i++) {
      const int64_t moved_ns = std::abs(after[i].offset_ns - before[i].offset_ns - common_ns);
      errors.push_back(inventory_.ptp ? std::max(before[i].error_ns, after[i].error_ns) + moved_ns
                                      : before[i].error_ns +
                                            std::max<int64_t>(moved_ns - after[i].error_ns, 0));
    }
    std::sort(errors.rbegin(), errors.rend());
    return errors.front() + (errors.size() > 1 ? errors[1] : 0);
  }

  // The packets have to bear out that the clocks are in step: none comes before it leaves, and no
  // ACK before what it covers.
  static void check_one_way(const Plan& plan, const Records& records) {
    const int64_t rtt_ns = records.calibration.base_rtt_ns;
    const int64_t error_ns = records.calibration.clock_error_ns;
    if (static_cast<double>(error_ns) > kMostClockError * static_cast<double>(rtt_ns))
      throw Error("backend hosts: ptp = true, and by what PTP says two clocks may be " +
                  std::to_string(error_ns) + " ns apart, where the fastest echo takes " +
                  std::to_string(rtt_ns) + " ns: times of two hosts would tell nothing");
    const std::vector<OneWay> least = least_one_way(plan, flow_ports(plan), records.packets);
    for (const FlowPlan& flow : plan.flows) {
      const OneWay& way = least.at(static_cast<size_t>(flow.id));
      const int64_t earliest_ns = std::min(way.there_ns.value_or(0), way.back_ns.value_or(0));
      if (earliest_ns >= -error_ns) continue;
      const bool there = way.there_ns.value_or(0) == earliest_ns;
      throw Error("backend hosts: ptp = true, and by the clocks of the hosts " +
                  std::string(there ? "a packet" : "an ACK") + " of " +
                  plan.nodes.at(static_cast<size_t>(flow.source)).name + " and " +
                  plan.nodes.at(static_cast<size_t>(flow.destination)).name + " came " +
                  std::to_string(-earliest_ns) + " ns before it left: they are not in step");
    }
  }

  static void merge(const Plan& plan, const std::vector<int>& nodes, std::vector<Records>& parts,
                    Records* all) {
    std::set<std::string> kernels;
    all->flows.resize(plan.flows.size());
    for (size_t i = 0; i < parts.size(); i++) {
      Records& part = parts[i];
      kernels.insert(part.kernel);
      if (part.flows.size() != plan.flows.size()) throw Error("records of a runner lack flows");
      for (const FlowPlan& flow : plan.flows) {
        const FlowRecord& seen = part.flows[static_cast<size_t>(flow.id)];
        FlowRecord& record = all->flows[static_cast<size_t>(flow.id)];
        record.id = flow.id;
        if (flow.source == nodes[i]) {
          record.cc = seen.cc;
          record.start_ns = seen.start_ns;
          record.stop_ns = seen.stop_ns;
          record.retransmits = seen.retransmits;
        }
        if (flow.destination == nodes[i]) {
          record.received_ns = seen.received_ns;
          record.received_bytes = seen.received_bytes;
        }
      }
      all->packets.insert(all->packets.end(), part.packets.begin(), part.packets.end());
      all->nic_rtts.insert(all->nic_rtts.end(), part.nic_rtts.begin(), part.nic_rtts.end());
      all->decisions.insert(all->decisions.end(), part.decisions.begin(), part.decisions.end());
      part = Records();
    }
    for (const std::string& kernel : kernels)
      all->kernel += (all->kernel.empty() ? "" : ", ") + kernel;
    std::stable_sort(
        all->packets.begin(), all->packets.end(),
        [](const PacketRecord& a, const PacketRecord& b) { return a.arrival_ns < b.arrival_ns; });
    std::stable_sort(all->decisions.begin(), all->decisions.end(),
                     [](const Decision& a, const Decision& b) { return a.time_ns < b.time_ns; });
    std::stable_sort(
        all->nic_rtts.begin(), all->nic_rtts.end(),
        [](const NicRtt& a, const NicRtt& b) { return a.delivered_ns < b.delivered_ns; });
  }

  std::string host_text(const Session& session,
                        const std::map<std::string, std::string>& modules) const {
    const InventoryHost& host = session.host();
    const Hello& hello = session.hello();
    std::string text = host.name + " " + hello.host + " " + hello.kernel + " " + host.address +
                       " " + host.device + " " + host.qdisc + " " + stamps_.at(host.name).kind +
                       (inventory_.ptp ? " ptp" : "");
    for (const auto& [name, unused] : modules)
      if (const auto it = hello.modules.find(name); it != hello.modules.end())
        text += " " + name + " " + it->second;
    return text;
  }

  static std::string console(const std::vector<Session*>& sessions) {
    std::string text;
    for (const Session* session : sessions)
      text += session->host().name + ": " + session->host().ssh + ", " + session->hello().host +
              ", kernel " + session->hello().kernel + "\n";
    return text;
  }

  const Inventory inventory_;
  const std::string runner_;
  const TemporaryDirectory messages_;
  Capabilities capabilities_;
  std::vector<std::string> algorithms_;
  std::map<std::string, std::string> modules_;  // of all hosts; hashes are those of one
  std::map<std::string, FoundStamps> stamps_;   // by host of the scenario
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Session>> sessions_;  // by host of the scenario
};

}  // namespace

std::unique_ptr<Backend> find_hosts(const std::string& inventory, const std::atomic<bool>& stop) {
  return std::make_unique<Hosts>(inventory, stop);
}

std::vector<BackendPart> hosts_parts() {
  const char* path = getenv("PATH");
  std::istringstream folders(path ? path : "");
  BackendPart part = {"ssh", "apt-get install openssh-client", false};
  for (std::string folder; !part.there && std::getline(folders, folder, ':');)
    if (access((folder + "/ssh").c_str(), X_OK) == 0) part = {"ssh", folder + "/ssh", true};
  return {part};
}

}  // namespace delaycc

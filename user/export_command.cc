// SPDX-License-Identifier: Apache-2.0
#include "export_command.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends.h"
#include "base/suggest.h"
#include "command_line.h"
#include "eval_command.h"
#include "manual.h"
#include "plan/compile.h"
#include "scenario/scenario_file.h"
#include "spec/packet.h"

namespace delaycc {
namespace {

using nlohmann::ordered_json;

constexpr int kEthernetMtu = 1500;

void refuse(const std::string& scenario, const std::string& what) {
  throw ScenarioError(scenario + ": no Mininet script: " + what);
}

// A JSON value is a Python expression where it has no true, false or null.
std::string python(const ordered_json& value) { return value.dump(); }

std::string python_text(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("\\\"", at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

ordered_json link_parameters(const std::string& scenario, const PortPlan& port) {
  if (port.bands > 0) refuse(scenario, port.name + " has queues by DSCP, a PortLink has one");
  if (port.rate_bps == 0)
    refuse(scenario, port.name + " is infinitely fast, a PortLink has a rate");
  if (port.interrupt_gap_ns > 0)
    refuse(scenario, port.name + " has interrupt_gap_ns, a PortLink has not");
  if (!port.delay_steps.empty())
    refuse(scenario, port.name + " has extra_delay_steps, a PortLink has not");
  ordered_json p = {{"rate", port.rate_bps}, {"delay_ns", port.delay_ns}};
  if (port.limit_bytes > 0) p["buffer_bytes"] = port.limit_bytes;
  if (port.ecn_bytes > 0) p["ecn_bytes"] = port.ecn_bytes;
  if (port.loss_ppm > 0) p["loss"] = port.loss_ppm / 1e4;
  if (!port.noise.empty()) p["noise"] = port.noise;
  if (port.reorder_ppm > 0) {
    p["reorder"] = port.reorder_ppm / 1e4;
    p["reorder_delay_ns"] = port.reorder_delay_ns;
  }
  if (port.log_flags & kPortSpray) p["spray"] = 1;
  return p;
}

ordered_json flow_parameters(const Plan& plan, const FlowPlan& flow,
                             const std::vector<std::string>& names) {
  ordered_json f = {{"id", flow.id},
                    {"from", names.at(static_cast<size_t>(flow.source))},
                    {"to", names.at(static_cast<size_t>(flow.destination))},
                    {"cc", flow.cc},
                    {"start_ns", flow.start_ns}};
  if (flow.stop_ns != kNever) f["stop_ns"] = flow.stop_ns;
  if (flow.size_bytes != kNever) f["size_bytes"] = flow.size_bytes;
  if (flow.priority >= 0) f["priority"] = flow.priority;
  if (flow.dscp > 0) f["dscp"] = flow.dscp;
  const auto payload_bps = [&](int64_t wire_bps) {
    return static_cast<int64_t>(static_cast<double>(wire_bps) * (plan.mtu_bytes - kTcpIpBytes) /
                                (plan.mtu_bytes + kEthernetBytes));
  };
  if (flow.pacing_bps > 0) f["pacing_bps"] = payload_bps(flow.pacing_bps);
  for (const auto& [from_ns, bps] : flow.pacing_steps)
    f["pacing_steps"].push_back({from_ns, payload_bps(bps)});
  return f;
}

std::string script(const std::string& scenario, const Scenario& from, const Plan& plan,
                   const std::string& command) {
  if (plan.mtu_bytes > kEthernetMtu)
    refuse(scenario, fmt::format("hosts.mtu_bytes is {}, links of Mininet have {}", plan.mtu_bytes,
                                 kEthernetMtu));
  for (const FlowPlan& flow : plan.flows)
    if (flow.connect_at_start)
      refuse(scenario, fmt::format("flows \"{}\" connect at their start, a script makes all "
                                   "connections before",
                                   flow.group));
  // Interfaces are called after their nodes, with 15 letters at most.
  std::vector<std::string> names;
  std::string hosts, routers, links, flows;
  int host_number = 0, router_number = 0;
  std::map<std::string, std::string> common;
  bool first = true;
  for (const NodePlan& node : plan.nodes) {
    if (node.address.empty()) continue;
    if (first) common = node.sysctls;
    for (auto it = common.begin(); it != common.end();) {
      const auto same = node.sysctls.find(it->first);
      it = same != node.sysctls.end() && same->second == it->second ? std::next(it)
                                                                    : common.erase(it);
    }
    first = false;
  }
  for (const NodePlan& node : plan.nodes) {
    if (node.address.empty()) {
      names.push_back(fmt::format("s{}", ++router_number));
      routers += fmt::format("    \"{}\",  # {}\n", names.back(), node.name);
      continue;
    }
    names.push_back(fmt::format("h{}", ++host_number));
    std::map<std::string, std::string> own;
    for (const auto& [name, value] : node.sysctls)
      if (!common.count(name)) own[name] = value;
    hosts += fmt::format("    \"{}\": {{\"ip\": \"{}\", \"sysctl\": {{**SYSCTLS{}}}}},  # {}\n",
                         names.back(), node.address,
                         own.empty() ? "" : ", **" + python(ordered_json(own)), node.name);
  }
  for (const LinkPlan& link : plan.links) {
    ordered_json a = link_parameters(scenario, link.a.port);
    ordered_json b = link_parameters(scenario, link.b.port);
    if (plan.gso) a["gso"] = b["gso"] = 1;
    links +=
        fmt::format("    (\"{}\", \"{}\", {}, {}),\n", names.at(static_cast<size_t>(link.a.node)),
                    names.at(static_cast<size_t>(link.b.node)), python(a), python(b));
  }
  for (const FlowPlan& flow : plan.flows)
    flows += fmt::format("    {},  # {}\n", python(flow_parameters(plan, flow, names)), flow.group);
  std::string route;
  if (plan.mtu_bytes < kEthernetMtu) route += fmt::format(" mtu {}", plan.mtu_bytes);
  if (plan.quickack) route += " quickack 1";
  if (plan.initcwnd > 0) route += fmt::format(" initcwnd {}", plan.initcwnd);
  if (plan.rto_min_ms > 0) route += fmt::format(" rto_min {}ms", plan.rto_min_ms);
  return fmt::format(
      R"(#!/usr/bin/python3
"""{title}

The scenario {name} with {algorithm}, written by
    {command}
Run it in the lab, in virtual time:
    delaycc mininet THIS_FILE
or on a machine with Mininet, with the folder of delaycc_mininet on PYTHONPATH.
"""

from mininet.net import Mininet
from mininet.log import setLogLevel

from delaycc_mininet import GraphTopo, PortLink, run_flows

# Of every host.
SYSCTLS = {sysctls}
HOSTS = {{
{hosts}}}
# They forward by addresses, and spread flows over equal paths.
ROUTERS = [
{routers}]
# Two nodes, and what each of them has for its sending side.
LINKS = [
{links}]
# Times since all are connected; a flow without a size sends until it stops.
FLOWS = [
{flows}]
DURATION_NS = {duration}


def main():
    setLogLevel("warning")
    net = Mininet(topo=GraphTopo(HOSTS, ROUTERS, LINKS, route="{route}"), link=PortLink, controller=None, autoStaticArp=True)
    net.start()
    for flow in run_flows(net, FLOWS, DURATION_NS, warm_bytes={warm}, ack_dscp={ack_dscp}):
        done = "" if flow["done_ns"] is None else f", complete after {{flow['done_ns'] / 1000:.1f}} us"
        print(f"flow {{flow['id']}}: {{flow['received_bytes']}} bytes{{done}}")
    net.stop()


if __name__ == "__main__":
    main()
)",
      fmt::arg("title", python_text(from.title)), fmt::arg("name", plan.scenario),
      fmt::arg("algorithm", plan.algorithm), fmt::arg("command", python_text(command)),
      fmt::arg("sysctls", ordered_json(common).dump(4)), fmt::arg("hosts", hosts),
      fmt::arg("routers", routers), fmt::arg("links", links), fmt::arg("flows", flows),
      fmt::arg("duration", plan.end_ns), fmt::arg("warm", plan.warm_bytes),
      fmt::arg("ack_dscp", plan.ack_dscp),
      fmt::arg("route", route.empty() ? route : route.substr(1)));
}

}  // namespace

CLI::App* add_export_command(CLI::App& app, ExportArguments& arguments) {
  CLI::App* command =
      app.add_subcommand("export", "print a trial of a scenario as a Mininet script; runs nothing");
  command->add_option("scenario", arguments.scenario, "a TOML file or a name")
      ->required()
      ->type_name(kScenarios.value);
  command->add_flag("--mininet", arguments.mininet, "as a script for \"delaycc mininet\"")
      ->required();
  command->add_option("--cc", arguments.algorithm, "the algorithm under test (default: the first)")
      ->type_name(kAlgorithms.value);
  command->add_option("--seed", arguments.seed, "as for run (default 1)")->check(check_seed);
  command->add_option("--trial", arguments.trial, "its number (default 0)")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--set", arguments.overrides, "key=value, as for run")
      ->allow_extra_args(false);
  return command;
}

int run_export(const ExportArguments& arguments) {
  const std::string path = find_scenario(arguments.scenario);
  const ScenarioFile file(path, arguments.overrides);
  const Scenario scenario = file.resolve(file.main_parameters());
  const std::unique_ptr<Backend> backend = make_default_backend();
  Trial trial;
  trial.algorithm = arguments.algorithm.empty() ? scenario.algorithms.front() : arguments.algorithm;
  file.check_algorithms(scenario, "--cc", {trial.algorithm}, backend->algorithms());
  trial.number = arguments.trial;
  trial.seed = arguments.seed;
  const CompiledTrial compiled = compile_trial(
      scenario, trial, [&](const std::string& name) { return backend->has_module(name); });
  const std::string command =
      fmt::format("{} --mininet --cc {} --seed {} --trial {}{}", repeat_begin("export", path),
                  trial.algorithm, trial.seed, trial.number, repeat_overrides(arguments.overrides));
  fmt::print("{}", script(arguments.scenario, scenario, compiled.plan, command));
  return 0;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "plan/compile.h"
#include "scenario/scenario_file.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "plan/memory.h"
#include "plan/plan.h"

namespace delaycc {
namespace {

constexpr char kText[] = R"(name = "test"
cc = ["oscar", "cubic"]
[topology]
kind = "dumbbell"
senders = 5
base_rtt_ns = 12000
[bottleneck]
buffer_bytes = 4000000
[algorithms.oscar.sysctl]
net.ipv4.delaycc.base_rtt_ns = 12000
[[flows]]
name = "long"
from = "senders[0]"
to = "receivers"
[[flows]]
name = "burst"
count = 4
from = "senders[1-4]"
to = "receivers"
start_us = 500
start_jitter_us = 12
stop_us = 1500
stop_phase_us = 6
priority = 5
[measure]
duration_us = 2000
flows = ["long"]
)";

bool has_oscar(const std::string& module) { return module == "tcp_oscar"; }

Scenario scenario() {
  const ScenarioFile file("test.toml", kText, {});
  return file.resolve(file.main_parameters());
}

Trial trial(const std::string& algorithm, int number, uint64_t seed) {
  Trial t;
  t.algorithm = algorithm;
  t.number = number;
  t.seed = seed;
  return t;
}

TEST(Compile, SameInputGivesTheSamePlan) {
  const Scenario s = scenario();
  EXPECT_EQ(plan_to_json(compile_trial(s, trial("oscar", 3, 1), has_oscar).plan),
            plan_to_json(compile_trial(s, trial("oscar", 3, 1), has_oscar).plan));
}

TEST(Compile, PlanSurvivesJson) {
  const std::string json =
      plan_to_json(compile_trial(scenario(), trial("oscar", 0, 1), has_oscar).plan);
  EXPECT_EQ(plan_to_json(plan_from_json(json)), json);
  EXPECT_THROW(plan_from_json("{}"), Error);
}

TEST(Compile, OnlyAGroupThatSaysSoConnectsAtItsStart) {
  const ScenarioFile file("test.toml", kText, {"flows.1.connect_at_start=true"});
  const Plan plan =
      compile_trial(file.resolve(file.main_parameters()), trial("oscar", 0, 1), has_oscar).plan;
  for (const FlowPlan& flow : plan.flows) EXPECT_EQ(flow.connect_at_start, flow.group == "burst");
}

TEST(Compile, PriorityIsTheGroupsAndLeftAloneWithoutOne) {
  const Plan plan = compile_trial(scenario(), trial("oscar", 0, 1), has_oscar).plan;
  for (const FlowPlan& flow : plan.flows) EXPECT_EQ(flow.priority, flow.group == "burst" ? 5 : -1);
}

TEST(Compile, AlgorithmsOfATrialShareTheirRandomTimes) {
  const Scenario s = scenario();
  const Plan a = compile_trial(s, trial("oscar", 2, 7), has_oscar).plan;
  const Plan b = compile_trial(s, trial("cubic", 2, 7), has_oscar).plan;
  ASSERT_EQ(a.flows.size(), b.flows.size());
  for (size_t i = 0; i < a.flows.size(); i++) {
    EXPECT_EQ(a.flows[i].start_ns, b.flows[i].start_ns);
    EXPECT_EQ(a.flows[i].stop_ns, b.flows[i].stop_ns);
  }
}

TEST(Compile, TrialsAndSeedsDiffer) {
  const Scenario s = scenario();
  std::set<int64_t> stops;
  std::set<uint64_t> seeds;
  for (uint64_t seed : {1, 2, 3})
    for (int number = 0; number < 10; number++) {
      const Plan plan = compile_trial(s, trial("cubic", number, seed), has_oscar).plan;
      stops.insert(plan.flows.at(1).stop_ns);
      seeds.insert(plan.seed);
    }
  EXPECT_EQ(seeds.size(), 30u);
  EXPECT_GT(stops.size(), 28u);  // two of 30 within 6000 ns may be equal
}

TEST(Compile, PhaseIsTheGroupsAndJitterEachMembersOwn) {
  const Plan plan = compile_trial(scenario(), trial("cubic", 0, 1), has_oscar).plan;
  std::set<int64_t> starts, stops;
  for (const FlowPlan& flow : plan.flows) {
    if (flow.group != "burst") continue;
    starts.insert(flow.start_ns);
    stops.insert(flow.stop_ns);
    EXPECT_GE(flow.start_ns, 500'000);
    EXPECT_LT(flow.start_ns, 512'000);
    EXPECT_GE(flow.stop_ns, 1'500'000);
    EXPECT_LT(flow.stop_ns, 1'506'000);
  }
  EXPECT_EQ(starts.size(), 4u);
  EXPECT_EQ(stops.size(), 1u);
}

TEST(Compile, LoadsModulesOnlyForAlgorithmsThatHaveOne) {
  const Scenario s = scenario();
  EXPECT_EQ(compile_trial(s, trial("oscar", 0, 1), has_oscar).plan.modules,
            (std::vector<std::string>{"delaycc", "tcp_oscar"}));
  EXPECT_TRUE(compile_trial(s, trial("cubic", 0, 1), has_oscar).plan.modules.empty());
}

TEST(Compile, SysctlsOfAnAlgorithmAreItsHostsOnly) {
  const Scenario s = scenario();
  for (const char* algorithm : {"oscar", "cubic"}) {
    const Plan plan = compile_trial(s, trial(algorithm, 0, 1), has_oscar).plan;
    for (const NodePlan& node : plan.nodes)
      EXPECT_EQ(node.sysctls.count("net.ipv4.delaycc.base_rtt_ns"),
                !node.address.empty() && std::string(algorithm) == "oscar" ? 1u : 0u);
  }
}

// They are not there without a module: cubic beside ours is to run.
TEST(Compile, SysctlsOfAllHostsForOurModulesNeedOne) {
  Scenario s = scenario();
  s.hosts.sysctls["net.ipv4.delaycc.line_rate_mbps"] = "7";
  s.hosts.sysctls["net.ipv4.tcp_ecn"] = "1";
  for (const char* algorithm : {"oscar", "cubic"}) {
    const Plan plan = compile_trial(s, trial(algorithm, 0, 1), has_oscar).plan;
    for (const NodePlan& node : plan.nodes) {
      if (node.address.empty()) continue;
      EXPECT_EQ(node.sysctls.count("net.ipv4.delaycc.line_rate_mbps"),
                std::string(algorithm) == "oscar" ? 1u : 0u);
      EXPECT_EQ(node.sysctls.at("net.ipv4.tcp_ecn"), "1");
    }
  }
}

TEST(Compile, SysctlsOfAGroupGoToItsSendersAlone) {
  Scenario s = scenario();
  s.algorithm_specs["oscar"].sender_sysctls["burst"] = {{"net.ipv4.delaycc.base_rtt_ns", "7"}};
  const Plan plan = compile_trial(s, trial("oscar", 0, 1), has_oscar).plan;
  int senders = 0;
  for (const NodePlan& node : plan.nodes) {
    if (node.address.empty()) continue;
    const bool sends = node.name.rfind("senders[", 0) == 0 && node.name != "senders[0]";
    senders += sends;
    EXPECT_EQ(node.sysctls.at("net.ipv4.delaycc.base_rtt_ns"), sends ? "7" : "12000") << node.name;
  }
  EXPECT_EQ(senders, 4);
}

// The sysctls of the host called name.
std::map<std::string, std::string> sysctls_of(const Plan& plan, const std::string& name) {
  for (const NodePlan& node : plan.nodes)
    if (node.name == name) return node.sysctls;
  ADD_FAILURE() << "no node " << name;
  return {};
}

TEST(Compile, TellsHostsTheBaseRttsOfTheirFlowsPaths) {
  const std::string text = R"(name = "test"
cc = ["path", "longest", "oscar", "cubic"]
[topology]
kind = "leaf-spine"
base_rtt_ns = 20000
[hosts]
base_rtt = "path"
[algorithms.path]
cc = "oscar"
[algorithms.longest]
cc = "oscar"
base_rtt = "longest"
[algorithms.oscar]
base_rtt = "automatic"
[[flows]]
from = "leaf0[1]"
to = "leaf0[0]"
[[flows]]
from = "leaf0[1]"
to = "leaf1[0]"
[measure]
duration_us = 100
)";
  const ScenarioFile file("test.toml", text, {});
  const Scenario s = file.resolve(file.main_parameters());
  const auto told = [&](const std::string& algorithm, const std::string& node) {
    const Plan plan = compile_trial(s, trial(algorithm, 0, 1), has_oscar).plan;
    std::map<std::string, std::string> result;
    for (const auto& [name, value] : sysctls_of(plan, node))
      if (name.find("delaycc.base_rtt") != std::string::npos) result[name] = value;
    return result;
  };
  const std::map<std::string, std::string> nothing;
  const std::string sysctl = "net.ipv4.delaycc.base_rtt_";
  // Two wires of four, and two serialisations of four.
  EXPECT_EQ(told("path", "leaf0[1]"),
            (std::map<std::string, std::string>{
                {sysctl + "paths", "10.0.1.1/32 10000, 10.0.5.1/32 20000"}}));
  EXPECT_EQ(told("path", "leaf0[0]"), nothing);
  EXPECT_EQ(told("longest", "leaf1[3]"),
            (std::map<std::string, std::string>{{sysctl + "ns", "20000"}}));
  EXPECT_EQ(told("oscar", "leaf0[1]"), nothing);
  EXPECT_EQ(told("cubic", "leaf0[1]"), nothing);  // no module, nobody to tell
}

// What a scenario without a word of it makes the bench tell its hosts.
constexpr char kUntold[] = R"(name = "test"
cc = ["oscar", "cubic"]
[topology]
kind = "dumbbell"
senders = 3
base_rtt_ns = 12000
[host_link]
rate_gbps = 40
[bottleneck]
rate_gbps = 10
[[port]]
name = "senders[2]->left"
rate_gbps = 25.0004
[[flows]]
count = 3
from = "senders"
to = "receivers"
[measure]
duration_us = 100
)";

std::string settings_text(const CompiledTrial& compiled) {
  std::string text;
  for (const HostSetting& s : compiled.settings)
    text += s.name + " " + (s.value.empty() ? "-" : s.value) + " " + source_name(s.source) + " " +
            std::to_string(s.hosts) + "\n";
  return text;
}

CompiledTrial compiled_with(const std::vector<std::string>& overrides,
                            const std::string& algorithm = "oscar") {
  const ScenarioFile file("test.toml", kUntold, overrides);
  return compile_trial(file.resolve(file.main_parameters()), trial(algorithm, 0, 1), has_oscar);
}

TEST(Compile, TellsHostsTheRateOfTheirLinkAndTheirPathsBaseRttUnlessTheScenarioDoes) {
  const std::string rate = "net.ipv4.delaycc.line_rate_mbps";
  const std::string base = "net.ipv4.delaycc.base_rtt_ns";
  const std::string paths = "net.ipv4.delaycc.base_rtt_paths";
  CompiledTrial compiled = compiled_with({});
  auto sysctls = sysctls_of(compiled.plan, "senders[0]");
  EXPECT_EQ(sysctls.at(rate), "40000") << "the host's link, not the bottleneck";
  EXPECT_EQ(sysctls.at(paths), "10.0.4.1/32 11997");
  EXPECT_EQ(sysctls_of(compiled.plan, "senders[2]").at(rate), "25000");
  EXPECT_EQ(sysctls_of(compiled.plan, "receivers[0]").at(rate), "40000");
  // What 12000 ns leave over when they are spread over six wires is lost. The slow port's own
  // serialisation makes its path longer by 182 ns.
  EXPECT_EQ(settings_text(compiled),
            "base_rtt_ns 11997 to 12179 bench 3\nline_rate_mbps 25000 to 40000 bench 3\n");

  const std::string set = "algorithms.oscar.sysctl.";
  compiled = compiled_with({set + rate + "=77", set + base + "=9000"});
  sysctls = sysctls_of(compiled.plan, "senders[0]");
  EXPECT_EQ(sysctls.at(rate), "77");
  EXPECT_EQ(sysctls.at(base), "9000");
  EXPECT_EQ(sysctls.count(paths), 0u) << "the table would count before the sysctl";
  EXPECT_EQ(settings_text(compiled), "base_rtt_ns 9000 scenario 3\nline_rate_mbps 77 scenario 3\n");

  for (const std::string where : {"hosts.", "algorithms.oscar."}) {
    compiled = compiled_with({where + "line_rate=automatic", where + "base_rtt=automatic"});
    sysctls = sysctls_of(compiled.plan, "senders[0]");
    for (const std::string& name : {rate, base, paths}) EXPECT_EQ(sysctls.count(name), 0u) << name;
    EXPECT_EQ(settings_text(compiled), "base_rtt_ns - automatic 3\nline_rate_mbps - automatic 3\n");
  }
  // The sysctls' own word for it.
  compiled = compiled_with({set + rate + "=0", set + base + "=0"});
  EXPECT_EQ(sysctls_of(compiled.plan, "senders[0]").count(paths), 0u);
  EXPECT_EQ(settings_text(compiled), "base_rtt_ns - automatic 3\nline_rate_mbps - automatic 3\n");

  compiled = compiled_with({}, "cubic");
  EXPECT_EQ(sysctls_of(compiled.plan, "senders[0]").count(rate), 0u) << "nobody to tell";
  EXPECT_EQ(settings_text(compiled), "");
}

TEST(Compile, TellsWhatTheSysctlsTakeAndLeavesTheRestAutomatic) {
  EXPECT_EQ(settings_text(compiled_with({"host_link.rate_gbps=1600", "port.0.rate_gbps=0.001"})),
            "base_rtt_ns 11999 to 12123991 bench 3\nline_rate_mbps 1 to 800000 bench 3\n");
  // An infinitely fast link takes what the next port takes.
  EXPECT_EQ(settings_text(compiled_with({"host_link.rate_gbps=0", "port.0.rate_gbps=1600"})),
            "base_rtt_ns 11999 to 12007 bench 3\nline_rate_mbps 10000 to 800000 bench 3\n");
  EXPECT_EQ(settings_text(compiled_with({"host_link.rate_gbps=1000", "link.rate_gbps=1000",
                                         "bottleneck.rate_gbps=1000", "topology.base_rtt_ns=300",
                                         "port.0.rate_gbps=1000"})),
            "base_rtt_ns - automatic 3\nline_rate_mbps 800000 bench 3\n");
}

// Nobody else tells decisions.
TEST(Compile, TracesOnlyWhereOneOfOurModulesOrProgramsRuns) {
  for (const char* algorithm : {"oscar", "bpf_oscar", "cubic"}) {
    Trial t = trial(algorithm, 0, 1);
    t.trace = true;
    EXPECT_EQ(compile_trial(scenario(), t, has_oscar).plan.trace,
              std::string(algorithm) != "cubic");
  }
}

TEST(Compile, LogsTheBottleneckAndBothEndsOfEachRtt) {
  const CompiledTrial compiled = compile_trial(scenario(), trial("cubic", 0, 1), has_oscar);
  std::map<std::string, uint32_t> flags;
  for (const LinkPlan& link : compiled.plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) flags[end->port.name] = end->port.log_flags;
  EXPECT_EQ(flags["left->right"], kPortLogData | kPortLogAcks);
  EXPECT_EQ(flags["senders[2]->left"], kPortLogData | kPortDropRst);
  EXPECT_EQ(flags["left->senders[2]"], kPortLogAcks);
  EXPECT_EQ(flags["right->left"], 0u);
}

Plan fat_tree(int k) {
  std::string text = kText;
  const auto put = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("kind = \"dumbbell\"\nsenders = 5", "kind = \"fat-tree\"\nk = " + std::to_string(k));
  put("from = \"senders[0]\"\nto = \"receivers\"", "from = \"pod0\"\nto = \"pod1\"");
  put("from = \"senders[1-4]\"\nto = \"receivers\"", "from = \"pod0\"\nto = \"pod1\"");
  put("[bottleneck]\nbuffer_bytes = 4000000\n", "");
  const ScenarioFile file("test.toml", text, {});
  return compile_trial(file.resolve(file.main_parameters()), trial("oscar", 0, 1), has_oscar).plan;
}

TEST(Compile, GivesTheLabMemoryForTheNetworkToo) {
  // A network of usual size is in the room that every trial has, so that trials keep their keys.
  EXPECT_EQ(compile_trial(scenario(), trial("oscar", 0, 1), has_oscar).plan.memory_mb,
            fat_tree(4).memory_mb);
  const Plan large = fat_tree(16);
  EXPECT_EQ(large.nodes.size(), 1344u);
  EXPECT_EQ(large.links.size(), 3072u);
  EXPECT_EQ(large.routes.size(), 320u * 1024 + 1024);
  EXPECT_GT(network_bytes(large), 4 * network_bytes(fat_tree(8)));
  EXPECT_GT(int64_t{large.memory_mb} << 20, network_bytes(large) + (int64_t{100} << 20));
}

TEST(Compile, RefusesANetworkThatTheMachineHasNoMemoryForWithWhatItNeeds) {
  const Plan plan = fat_tree(8);
  const int64_t needed = network_bytes(plan);
  EXPECT_NO_THROW(need_memory(plan, needed));
  try {
    need_memory(fat_tree(16), needed);
    FAIL() << "it was not refused";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.find("the topology (1344 hosts and switches, 6144 ports, 328704 routes) needs "),
              0u)
        << text;
    EXPECT_NE(text.find(" GB of memory in the lab, this machine has 0.1 GB: make the topology "
                        "smaller (k, hosts, senders), or use a machine with more"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(Compile, UniformDrawsFillTheInterval) {
  double sum = 0;
  for (uint64_t i = 0; i < 10000; i++) {
    const double u = uniform_draw(1, 2, 3, i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

constexpr char kWorkload[] = R"(name = "flows"
cc = ["cubic", "oscar"]
[topology]
kind = "fat-tree"
base_rtt_ns = 20000
[[flows]]
name = "long"
from = "pod0[0]"
to = "pod1[0]"
cc = "reno"
[workload]
load = 0.3
warm_up_us = 500
priority_limits_bytes = [100000]
incast = { fan_in = 3, size_bytes = 5000, load = 0.05 }
[measure]
duration_us = 5000
)";

TEST(CompileWorkload, AlgorithmsOfATrialShareTheirFlowsAndPorts) {
  const ScenarioFile file("test.toml", kWorkload, {});
  const Scenario s = file.resolve(file.main_parameters());
  Plan plans[2];
  for (int i = 0; i < 2; i++) {
    Trial t;
    t.algorithm = i ? "oscar" : "cubic";
    t.number = 4;
    plans[i] = compile_trial(s, t, has_oscar).plan;
    for (FlowPlan& flow : plans[i].flows) {
      EXPECT_EQ(flow.cc, flow.group == "long" ? "reno" : t.algorithm);
      EXPECT_EQ(flow.listener, flow.group == "long" ? 1 : 0);
      flow.cc.clear();
    }
    plans[i].algorithm.clear();
    plans[i].modules.clear();
    for (NodePlan& node : plans[i].nodes) {
      node.sysctls.erase("net.ipv4.delaycc.line_rate_mbps");
      node.sysctls.erase("net.ipv4.delaycc.base_rtt_paths");
    }
  }
  EXPECT_GT(plans[0].flows.size(), 50u);
  EXPECT_EQ(plan_to_json(plans[0]), plan_to_json(plans[1]));
}

TEST(CompileWorkload, FlowsCarryClassPriorityAndIdeal) {
  const ScenarioFile file("test.toml", kWorkload, {});
  const Scenario s = file.resolve(file.main_parameters());
  Trial t;
  t.algorithm = "cubic";
  const CompiledTrial trial = compile_trial(s, t, has_oscar);
  const auto flows = trial_workload(s, build_network(s.topology, s.hosts), t.seed, t.number);
  ASSERT_EQ(trial.plan.flows.size(), flows.size() + 1);
  EXPECT_EQ(trial.measurement.size_class[0], -1);
  int incasts = 0;
  for (size_t i = 0; i < flows.size(); i++) {
    const FlowPlan& flow = trial.plan.flows[i + 1];
    EXPECT_EQ(flow.size_bytes, flows[i].size_bytes);
    EXPECT_EQ(flow.start_ns, flows[i].start_ns);
    EXPECT_EQ(flow.priority, flow.size_bytes <= 100'000 ? 1 : 0);
    EXPECT_EQ(flow.measured, flow.start_ns >= 500'000);
    EXPECT_EQ(trial.measurement.uniform[i + 1], flows[i].uniform);
    EXPECT_EQ(trial.measurement.request[i + 1], flows[i].request);
    if (flows[i].request >= 0) {
      EXPECT_EQ(trial.measurement.size_class[i + 1], -1);
      EXPECT_EQ(flow.group, "incast");
    } else {
      const std::string name =
          trial.measurement.flow_sets.at(static_cast<size_t>(trial.measurement.size_class[i + 1]))
              .name;
      EXPECT_EQ(name, flow.size_bytes <= 100'000     ? "small"
                      : flow.size_bytes <= 1'000'000 ? "medium"
                                                     : "large");
      EXPECT_EQ(flow.group, name);
    }
    EXPECT_GT(trial.measurement.ideal_fct_ns[i + 1], 0);
    incasts += flows[i].request >= 0;
  }
  EXPECT_GT(incasts, 0);
  EXPECT_TRUE(trial.plan.open_windows);
  for (const LinkPlan& link : trial.plan.links)
    EXPECT_EQ((link.a.port.log_flags | link.b.port.log_flags) & (kPortLogData | kPortLogAcks), 0u);
}

TEST(CompileWorkload, PacketsCarryThePriorityIfAsked) {
  for (const bool carried : {false, true}) {
    const ScenarioFile file(
        "test.toml", kWorkload,
        {std::string("workload.dscp_of_priority=") + (carried ? "true" : "false"), "flows.0.dscp=5",
         "hosts.ack_dscp=7", "link.qdisc=prio"});
    Trial t;
    t.algorithm = "cubic";
    const Plan plan = compile_trial(file.resolve(file.main_parameters()), t, has_oscar).plan;
    EXPECT_EQ(plan.ack_dscp, 7);
    EXPECT_EQ(plan.flows[0].dscp, 5);
    for (size_t i = 1; i < plan.flows.size(); i++)
      EXPECT_EQ(plan.flows[i].dscp, carried ? plan.flows[i].priority : 0);
    for (const LinkPlan& link : plan.links)
      for (const EndPlan* end : {&link.a, &link.b}) {
        const bool host = !plan.nodes[end->node].address.empty();
        EXPECT_EQ(end->port.bands, host ? 0u : 8u);
        EXPECT_EQ((end->port.log_flags & kPortDscpPriority) != 0, !host);
      }
  }
}

TEST(CompileWorkload, ATrialMayHaveNoFlow) {
  std::string text = kWorkload;
  text.erase(text.find("[[flows]]"), text.find("[workload]") - text.find("[[flows]]"));
  const ScenarioFile file("test.toml", text,
                          {"workload.load=0.0001", "workload.incast.load=0.0001",
                           "measure.duration_us=10", "workload.warm_up_us=0"});
  Trial t;
  t.algorithm = "cubic";
  EXPECT_TRUE(compile_trial(file.resolve(file.main_parameters()), t, has_oscar).plan.flows.empty());
}

}  // namespace
}  // namespace delaycc

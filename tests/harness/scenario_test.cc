// SPDX-License-Identifier: Apache-2.0
#include "scenario/scenario_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/posix.h"
#include "base/suggest.h"
#include "base/temporary_directory.h"
#include "metrics/catalogue.h"
#include "plan/compile.h"
#include "scenario/expression.h"

namespace delaycc {
namespace {

constexpr char kMinimal[] = R"(name = "minimal"
cc = ["cubic"]

[topology]
kind = "dumbbell"
base_rtt_ns = 12000

[[flows]]
from = "senders[0]"
to = "receivers"

[measure]
duration_us = 100
)";

// The messages of a scenario that is `text`, line by line; empty when it is right.
std::string mistakes(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    const ScenarioFile file("file.toml", text, overrides);
    file.resolve(file.main_parameters());
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return "";
}

Scenario resolve(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const ScenarioFile file("file.toml", text, overrides);
  return file.resolve(file.main_parameters());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Scenario, ReadsAMinimalFileWithDefaults) {
  const Scenario s = resolve(kMinimal);
  EXPECT_EQ(s.title, "minimal");
  EXPECT_EQ(s.subject, "cubic");
  EXPECT_EQ(s.hosts.mtu_bytes, 1500);
  EXPECT_TRUE(s.hosts.quickack);
  EXPECT_EQ(s.measure.to_ns, 100'000);
  EXPECT_EQ(s.flows.at(0).name, "flows0");
}

TEST(Scenario, NamesFileLineAndFieldOfAnUnknownKey) {
  EXPECT_EQ(mistakes(replaced(kMinimal, "base_rtt_ns = 12000", "base_rtt_ns = 12000\nspeed = 1")),
            "file.toml:7: topology.speed: unknown key, allowed is one of base_rtt_ns, kind, "
            "receivers, senders, spread");
}

TEST(Scenario, NamesTheRangeOfANumber) {
  EXPECT_NE(
      mistakes(replaced(kMinimal, "base_rtt_ns = 12000", "base_rtt_ns = -5"))
          .find("file.toml:6: topology.base_rtt_ns: -5 is out of range, allowed is an integer "
                "from 1 to 10000000000"),
      std::string::npos);
}

TEST(Scenario, NamesTheAllowedKinds) {
  EXPECT_EQ(mistakes(replaced(kMinimal, "\"dumbbell\"", "\"ring\"")),
            "file.toml:5: topology.kind: \"ring\" is unknown, allowed is one of dumbbell, incast, "
            "parking-lot, leaf-spine, fat-tree");
}

TEST(Scenario, NamesTheAllowedBaseRtts) {
  EXPECT_EQ(mistakes(std::string(kMinimal) + "[hosts]\nbase_rtt = \"12us\"\n"),
            "file.toml:15: hosts.base_rtt: \"12us\" is unknown, allowed is one of automatic, "
            "longest, path");
  EXPECT_NE(mistakes(std::string(kMinimal) + "[algorithms.cubic]\nbase_rtt = 5\n")
                .find("file.toml:15: algorithms.cubic.base_rtt: \"5\" is unknown"),
            std::string::npos);
  const Scenario s =
      resolve(std::string(kMinimal) +
              "[hosts]\nbase_rtt = \"longest\"\n[algorithms.cubic]\ncc = \"cubic\"\n");
  EXPECT_EQ(s.hosts.base_rtt, BaseRtt::kLongest);
  EXPECT_FALSE(s.algorithm("cubic").base_rtt.has_value());
}

TEST(Scenario, ReportsTextWhereANumberBelongs) {
  EXPECT_EQ(
      mistakes(replaced(kMinimal, "duration_us = 100", "duration_us = \"long\"")),
      "file.toml:13: measure.duration_us: \"long\" is not a number, allowed is a number from 1 "
      "to 1e+09");
}

TEST(Scenario, ReportsEveryMistakeInTheOrderOfLines) {
  const std::string text = replaced(replaced(kMinimal, "to = \"receivers\"", "too = \"receivers\""),
                                    "duration_us = 100", "duration_us = 100\nbins = 3");
  const std::string found = mistakes(text);
  const size_t missing = found.find("file.toml:8: flows[0].to: is missing");
  const size_t unknown = found.find("file.toml:10: flows[0].too: unknown key");
  const size_t bins = found.find("file.toml:14: measure.bins: unknown key");
  EXPECT_NE(missing, std::string::npos) << found;
  EXPECT_LT(missing, unknown) << found;
  EXPECT_LT(unknown, bins) << found;
  EXPECT_NE(bins, std::string::npos) << found;
}

TEST(Scenario, RefusesAListOfAlgorithmsThatNamesOneTwiceOrNone) {
  EXPECT_EQ(mistakes(replaced(kMinimal, "[\"cubic\"]", "[\"cubic\", \"bbr\", \"cubic\"]")),
            "file.toml:2: cc: \"cubic\" is there twice, allowed is each algorithm once");
  EXPECT_EQ(mistakes(replaced(kMinimal, "[\"cubic\"]", "[\"\"]"))
                .rfind("file.toml:2: cc: \"\" is no name, allowed are letters", 0),
            0u);
  EXPECT_EQ(mistakes(replaced(kMinimal, "[\"cubic\"]", "[]"))
                .rfind("file.toml:2: cc: names no algorithm, allowed is a list", 0),
            0u);
}

TEST(Scenario, ReportsASyntaxErrorWithItsLine) {
  EXPECT_EQ(mistakes("name = \"x\"\ncc = [\n").rfind("file.toml:", 0), 0u);
  EXPECT_NE(mistakes("name = \n").find("file.toml:1: syntax: "), std::string::npos);
}

TEST(Scenario, RefusesAnEventOfAnUnknownGroup) {
  EXPECT_NE(mistakes(std::string(kMinimal) + "[event]\nstop_of = \"burst\"\n")
                .find("file.toml:15: event.stop_of: \"burst\" is no flow group, allowed is one of "
                      "flows0"),
            std::string::npos);
}

TEST(Scenario, RefusesAnEventWithTwoTimes) {
  EXPECT_NE(mistakes(std::string(kMinimal) + "[event]\nstop_of = \"flows0\"\nat_us = 1\n")
                .find("file.toml:14: event: allowed is exactly one of at_us and stop_of"),
            std::string::npos);
}

TEST(Scenario, RefusesAStopBeforeTheStart) {
  EXPECT_NE(mistakes(replaced(kMinimal, "to = \"receivers\"",
                              "to = \"receivers\"\nstart_us = 5\nstop_us = 5"))
                .find("file.toml:12: flows[0].stop_us: is not after start_us"),
            std::string::npos);
}

TEST(Scenario, NamesTheLineOfASelectorThatFitsNoHost) {
  EXPECT_EQ(mistakes(replaced(kMinimal, "senders[0]", "senders[3]")),
            "file.toml:9: flows[0].from: \"senders[3]\" is out of range, allowed is senders[0-0]");
  EXPECT_EQ(mistakes(replaced(kMinimal, "\"receivers\"", "\"sender\"")),
            "file.toml:10: flows[0].to: \"sender\" selects no hosts, allowed is one of hosts, "
            "receivers, senders, or a part such as hosts[0] or [0-3]");
  EXPECT_EQ(
      mistakes(replaced(kMinimal, "\"receivers\"", "\"senders\"")),
      "file.toml:10: flows[0].to: member 0 would go from a host to itself, allowed is another");
}

TEST(Scenario, NamesTheLineOfABaseRttThatIsTooShort) {
  EXPECT_EQ(mistakes(replaced(kMinimal, "base_rtt_ns = 12000", "base_rtt_ns = 100")),
            "file.toml:6: topology.base_rtt_ns: 100 is below the serialisation of a packet and its "
            "ACK, allowed is at least 384");
}

TEST(Scenario, NamesTheMetricsThatAnExpectationMayHave) {
  const std::string found = mistakes(
      std::string(kMinimal) + "[[expect]]\nalgorithm = \"cubic\"\nmetric = \"speed\"\nmax = 1\n");
  EXPECT_EQ(found.rfind("file.toml:16: expect[0].metric: \"speed\" is unknown, allowed is one of "
                        "recover_us, goodput_gbps",
                        0),
            0u)
      << found;
}

TEST(Scenario, NamesThePortThatIsNotThere) {
  const std::string port = std::string(kMinimal) + "[[port]]\n";
  EXPECT_EQ(mistakes(port + "name = \"left->right\"\nrate_gbps = 50\n"), "");
  EXPECT_EQ(mistakes(port + "name = \"left->up\"\nrate_gbps = 50\n"),
            "file.toml:15: port[0].name: \"left->up\" is no port, allowed is one such as "
            "\"left->right\"");
  EXPECT_EQ(
      mistakes(port + "name = \"left->right\"\n"),
      "file.toml:14: port[0].rate_gbps: is missing, allowed is a number from 0.001 to 1600, or "
      "extra_delay_steps");
  EXPECT_EQ(mistakes(port + "name = \"left->right\"\nrate_gbps = 50\n[[port]]\n"
                            "name = \"left->right\"\nrate_gbps = 50\n"),
            "file.toml:18: port[1].name: \"left->right\" was given before");
}

TEST(Scenario, NamesTheMistakesOfAComparison) {
  const std::string expect =
      std::string(kMinimal) + "[[expect]]\nalgorithm = \"cubic\"\nmetric = \"drops\"\nmax = 1\n";
  EXPECT_EQ(mistakes(expect + "of = \"reno\"\n"),
            "file.toml:18: expect[0].of: \"reno\" is not in cc and has no [algorithms] section");
  EXPECT_EQ(mistakes(expect + "of = \"cubic\"\n"),
            "file.toml:18: expect[0].of: is the algorithm itself, allowed is another one, or an "
            "of_case");
  EXPECT_EQ(mistakes(expect + "of_case = { k = 1 }\n"),
            "file.toml:18: expect[0].of_case: \"k\" is no parameter, the [sweep] section has none");
  EXPECT_EQ(mistakes(expect + "of = \"cubic\"\nof_case = { k = 1 }\nstatistic = \"max\"\n[sweep]\n"
                              "main = { k = 2 }\n"),
            "file.toml:20: expect[0].statistic: of a ratio to another algorithm or case is "
            "\"mean\"");
}

TEST(Scenario, RefusesATrendOverNothingAndLimitsThatDoNotSuitIt) {
  const std::string sweep = replaced(kMinimal, "[topology]",
                                     "[sweep]\nmain = { k = 1, m = \"a\" }\n"
                                     "k = [1, 2]\nm = [\"a\", \"b\"]\n\n[topology]");
  const std::string expect = sweep + "[[expect]]\nalgorithm = \"cubic\"\nmetric = \"drops\"\n";
  EXPECT_EQ(mistakes(expect + "over = \"k\"\ntrend = \"rises\"\n"), "");
  EXPECT_EQ(mistakes(expect + "over = \"k\"\nmin = 1\nmax = 2\n"), "");
  EXPECT_EQ(resolve(expect + "over = \"k\"\nmin = 1\nmax = 2\n").expectations.at(0).text,
            "slope over k >= 1 and <= 2");
  const std::string at = "file.toml:22: expect[0].";
  EXPECT_EQ(mistakes(expect + "over = \"n\"\ntrend = \"rises\"\n"),
            at + "over: \"n\" is no parameter with a list of values in [sweep], allowed is k, m");
  EXPECT_EQ(
      mistakes(expect + "over = \"m\"\ntrend = \"rises\"\n"),
      at + "over: \"m\" has the value \"a\", allowed is a parameter whose values are numbers");
  EXPECT_EQ(mistakes(expect + "over = \"k\"\n"),
            at +
                "over: needs a trend (\"rises\" or \"falls\"), or min and/or max of the slope, and "
                "not both");
  EXPECT_EQ(mistakes(expect + "over = \"k\"\ntrend = \"falls\"\nmax = 1\n"),
            at +
                "over: needs a trend (\"rises\" or \"falls\"), or min and/or max of the slope, and "
                "not both");
  EXPECT_EQ(mistakes(expect + "trend = \"rises\"\nmax = 1\n"),
            at + "trend: is over nothing, allowed is beside over, a parameter of [sweep]");
  EXPECT_EQ(mistakes(expect + "over = \"k\"\ntrend = \"grows\"\n"),
            "file.toml:23: expect[0].trend: \"grows\" is unknown, allowed is one of rises, falls");
  EXPECT_EQ(mistakes(expect + "over = \"k\"\ntrend = \"rises\"\nstatistic = \"max\"\n"),
            "file.toml:24: expect[0].statistic: of a trend is \"mean\"");
  EXPECT_EQ(mistakes(expect + "over = \"k\"\ntrend = \"rises\"\nof_case = { k = 1 }\n"),
            "file.toml:24: expect[0].of_case: is not of a trend, allowed beside over are trend, or "
            "min and max of the slope");
}

TEST(Scenario, ReadsEveryKeyThatAFamilyOfMetricsDeclares) {
  const auto with = [](const Parameter& parameter, const std::string& value) {
    return replaced(kMinimal, "duration_us = 100",
                    std::string("duration_us = 100\n") + parameter.key + " = " + value);
  };
  for (const Parameter& parameter : all_parameters()) {
    const std::string at = std::string("file.toml:14: measure.") + parameter.key + ": ";
    const bool interval = parameter.type == Parameter::Type::kIntervals;
    const bool group = parameter.type == Parameter::Type::kGroup;
    const std::string wrong = interval ? "[[2, 1]]" : group ? "\"x\"" : "1e12";
    EXPECT_EQ(mistakes(with(parameter, wrong)).rfind(at, 0), 0u) << parameter.key;
    if (parameter.needs) continue;
    const std::string right = interval ? "[[1, 2]]"
                              : group  ? "\"flows0\""
                                       : format_number(parameter.low);
    const Scenario s = resolve(with(parameter, right));
    EXPECT_TRUE(parameter.is_set(s.measure)) << parameter.key;
    EXPECT_EQ(s.measure.decisions, (parameter.records & kDecisions) != 0) << parameter.key;
  }
}

TEST(Scenario, RefusesAHoldTimeOfNoCongestion) {
  const std::string hold = "duration_us = 100\nsuppress_hold_us = 10";
  EXPECT_EQ(mistakes(replaced(kMinimal, "duration_us = 100", hold)),
            "file.toml:14: measure.suppress_hold_us: is of no use without suppress_delay_us");
  EXPECT_EQ(mistakes(replaced(kMinimal, "duration_us = 100", hold + "\nsuppress_delay_us = 20")),
            "");
}

TEST(Scenario, RefusesPacingStepsOutOfOrder) {
  const std::string text = replaced(kMinimal, "to = \"receivers\"",
                                    "to = \"receivers\"\npacing_steps = [[5, 10], [5, 20]]");
  EXPECT_NE(mistakes(text).find("file.toml:11: flows[0].pacing_steps: has a wrong step"),
            std::string::npos);
}

TEST(Scenario, ReadsNoiseOfLinksScaledAndOneWay) {
  const std::string noisy = std::string(kMinimal) +
                            "[host_link]\nnoise_ns = [[0, 0], [900000, 100], [1000000, 400]]\n"
                            "noise_scale = 2\n[bottleneck]\njitter_ns = 50\n";
  const Scenario s = resolve(noisy);
  Trial trial;
  trial.algorithm = "cubic";
  const Plan plan = compile_trial(s, trial, [](const std::string&) { return false; }).plan;
  using Noise = std::vector<std::pair<uint32_t, uint32_t>>;
  for (const LinkPlan& link : plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) {
      const std::string& from = plan.nodes[end->node].name;
      const bool host = from != "left" && from != "right";
      const bool forward = end->port.name == "left->right";
      EXPECT_EQ(end->port.noise, host      ? (Noise{{0, 0}, {900000, 200}, {1000000, 800}})
                                 : forward ? (Noise{{0, 0}, {1000000, 50}})
                                           : Noise{})
          << end->port.name;
    }
}

TEST(Scenario, ReadsHostsThatDiffer) {
  const std::string text =
      replaced(kMinimal, "kind = \"dumbbell\"", "kind = \"dumbbell\"\nsenders = 3") +
      "[host_link]\njitter_ns = 70\n"
      "[[host]]\nhosts = \"senders[1-2]\"\nrate_gbps = 200\n"
      "extra_delay_ns = 600\n"
      "[[host]]\nhosts = \"senders[2]\"\njitter_ns = 0\n"
      "[[host]]\nhosts = \"receivers\"\n"
      "noise_ns = [[0, 0], [1000000, 5]]\nnoise_scale = 10\n";
  const Scenario s = resolve(text);
  Trial trial;
  trial.algorithm = "cubic";
  const Plan plan = compile_trial(s, trial, [](const std::string&) { return false; }).plan;
  std::map<std::string, const PortPlan*> ports;
  for (const LinkPlan& link : plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) ports[end->port.name] = &end->port;
  using Noise = std::vector<std::pair<uint32_t, uint32_t>>;
  const uint64_t delay_ns = ports["senders[0]->left"]->delay_ns;
  EXPECT_EQ(ports["senders[0]->left"]->rate_bps, 100000000000u);
  EXPECT_EQ(ports["senders[0]->left"]->noise, (Noise{{0, 0}, {1000000, 70}}));
  EXPECT_EQ(ports["senders[1]->left"]->rate_bps, 200000000000u);
  EXPECT_EQ(ports["left->senders[1]"]->rate_bps, 200000000000u);
  EXPECT_EQ(ports["senders[1]->left"]->delay_ns, delay_ns + 600);
  EXPECT_EQ(ports["left->senders[1]"]->delay_ns, delay_ns);
  EXPECT_EQ(ports["senders[1]->left"]->noise, (Noise{{0, 0}, {1000000, 70}}));
  EXPECT_EQ(ports["senders[2]->left"]->delay_ns, delay_ns + 600);
  EXPECT_EQ(ports["senders[2]->left"]->noise, Noise{});
  EXPECT_EQ(ports["receivers[0]->right"]->noise, (Noise{{0, 0}, {1000000, 50}}));
  EXPECT_EQ(ports["right->receivers[0]"]->noise, Noise{});
}

TEST(Scenario, TheReceiversNoiseIsOfAcksAlone) {
  const std::string text = replaced(kMinimal, "kind = \"dumbbell\"", "kind = \"incast\"") +
                           "[[host]]\nhosts = \"receivers\"\njitter_ns = 5\n";
  const Scenario s = resolve(text);
  Trial trial;
  trial.algorithm = "cubic";
  for (const LinkPlan& link :
       compile_trial(s, trial, [](const std::string&) { return false; }).plan.links)
    for (const EndPlan* end : {&link.a, &link.b})
      EXPECT_EQ(end->port.noise.empty(), end->port.name != "receivers[0]->switch")
          << end->port.name;
}

TEST(Scenario, ReadsHowDelaysChange) {
  const std::string text =
      replaced(kMinimal, "kind = \"dumbbell\"", "kind = \"dumbbell\"\nsenders = 3") +
      "[bottleneck]\nextra_delay_steps = [[1.5, 600], [7, -20]]\n"
      "[host_link]\nextra_delay_steps = [[2, 1]]\n"
      "[[host]]\nhosts = \"senders[1-2]\"\nextra_delay_ns = 50\nextra_delay_steps = [[3, 9]]\n"
      "[[host]]\nhosts = \"senders[2]\"\nextra_delay_steps = []\n"
      "[[port]]\nname = \"left->senders[0]\"\nextra_delay_steps = [[4, 5]]\n";
  const Scenario s = resolve(text);
  Trial trial;
  trial.algorithm = "cubic";
  const CompiledTrial compiled = compile_trial(s, trial, [](const std::string&) { return false; });
  std::map<std::string, PortPlan> ports;
  for (const LinkPlan& link : compiled.plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) ports[end->port.name] = end->port;
  const auto delay_ns = static_cast<int64_t>(ports["right->left"].delay_ns);
  EXPECT_EQ(ports["left->right"].delay_steps,
            (DelaySteps{{1500, delay_ns + 600}, {7000, delay_ns - 20}}));
  EXPECT_EQ(ports["right->left"].delay_steps, DelaySteps{});
  EXPECT_EQ(ports["senders[0]->left"].delay_steps, (DelaySteps{{2000, delay_ns + 1}}));
  EXPECT_EQ(ports["receivers[0]->right"].delay_steps, (DelaySteps{{2000, delay_ns + 1}}));
  EXPECT_EQ(ports["senders[1]->left"].delay_steps, (DelaySteps{{3000, delay_ns + 59}}));
  EXPECT_EQ(ports["senders[2]->left"].delay_steps, DelaySteps{});
  EXPECT_EQ(ports["left->senders[0]"].delay_steps, (DelaySteps{{4000, delay_ns + 5}}));
  EXPECT_EQ(compiled.measurement.port_delay_steps.size(), 5u);
  EXPECT_EQ(plan_to_json(plan_from_json(plan_to_json(compiled.plan))), plan_to_json(compiled.plan));
}

TEST(Scenario, RefusesDelaysBelowNothingByTheirSection) {
  const std::string below = "extra_delay_steps = [[5, 10], [6, -12001]]\n";
  for (const auto& [section, place] : std::map<std::string, std::string>{
           {"[link]\n", "file.toml:15: link."},
           {"[host_link]\n", "file.toml:15: host_link."},
           {"[bottleneck]\n", "file.toml:15: bottleneck."},
           {"[[host]]\nhosts = \"senders\"\n", "file.toml:16: host[0]."},
           {"[[port]]\nname = \"left->right\"\n", "file.toml:16: port[0]."}})
    EXPECT_EQ(mistakes(kMinimal + section + below)
                  .find(place + "extra_delay_steps: -12001 ns is more than the delay of "),
              0u)
        << mistakes(kMinimal + section + below);
  std::string many = "[bottleneck]\nextra_delay_steps = [";
  for (int i = 0; i < 17; i++) many += "[" + std::to_string(i) + ", 1], ";
  EXPECT_NE(mistakes(kMinimal + many + "]\n").find("has 17 steps, allowed are up to 16"),
            std::string::npos);
  EXPECT_NE(mistakes(kMinimal + std::string("[link]\nextra_delay_steps = [[2, 1], [2, 3]]\n"))
                .find("file.toml:15: link.extra_delay_steps: has a wrong step"),
            std::string::npos);
}

TEST(Scenario, InterruptsOfANicAreOfWhatItsHostReceives) {
  const std::string text =
      replaced(kMinimal, "kind = \"dumbbell\"", "kind = \"dumbbell\"\nsenders = 3") +
      "[[host]]\nhosts = \"hosts\"\ninterrupt_gap_ns = 7001\n"
      "[[host]]\nhosts = \"senders[1]\"\ninterrupt_gap_ns = 0\n"
      "[[host]]\nhosts = \"senders[2]\"\nextra_delay_ns = 5\n";
  const Scenario s = resolve(text);
  Trial trial;
  trial.algorithm = "cubic";
  const std::map<std::string, uint32_t> gaps = {
      {"left->senders[0]", 7001}, {"left->senders[2]", 7001}, {"right->receivers[0]", 7001}};
  const Plan plan = compile_trial(s, trial, [](const std::string&) { return false; }).plan;
  for (const LinkPlan& link : plan.links)
    for (const EndPlan* end : {&link.a, &link.b}) {
      const auto gap = gaps.find(end->port.name);
      EXPECT_EQ(end->port.interrupt_gap_ns, gap == gaps.end() ? 0 : gap->second) << end->port.name;
    }
  EXPECT_EQ(plan_to_json(plan_from_json(plan_to_json(plan))), plan_to_json(plan));
}

TEST(Scenario, RefusesInterruptsThatAreTooFarApart) {
  for (const char* gap : {"-1", "1000000001"})
    EXPECT_NE(mistakes(std::string(kMinimal) + "[[host]]\nhosts = \"senders\"\n" +
                       "interrupt_gap_ns = " + gap + "\n")
                  .find("file.toml:16: host[0].interrupt_gap_ns: "),
              std::string::npos)
        << gap;
}

TEST(Scenario, RefusesHostsThatAreNotThere) {
  EXPECT_NE(mistakes(std::string(kMinimal) + "[[host]]\nhosts = \"pod0\"\n")
                .find("file.toml:15: host[0].hosts: \"pod0\" selects no hosts"),
            std::string::npos);
  EXPECT_NE(mistakes(std::string(kMinimal) + "[[host]]\nrate_gbps = 0\n").find("host[0].hosts"),
            std::string::npos);
  EXPECT_NE(mistakes(std::string(kMinimal) + "[[host]]\nhosts = \"senders\"\nrate_gbps = 0\n")
                .find("file.toml:16: host[0].rate_gbps"),
            std::string::npos);
}

TEST(Scenario, RefusesNoiseThatIsNoDistribution) {
  for (const char* noise :
       {"[[0, 0]]", "[[1, 0], [1000000, 5]]", "[[0, 0], [999999, 5]]", "[[0, 5], [1000000, 4]]",
        "[[0, 0], [0.5, 1], [1000000, 5]]", "[[0, -1], [1000000, 5]]"})
    EXPECT_NE(mistakes(std::string(kMinimal) + "[link]\nnoise_ns = " + noise + "\n")
                  .find("file.toml:15: link.noise_ns: is no distribution"),
              std::string::npos)
        << noise;
  EXPECT_NE(
      mistakes(std::string(kMinimal) + "[link]\njitter_ns = 5\nnoise_ns = [[0, 0], [1000000, 5]]\n")
          .find("link.jitter_ns: and noise_ns are both given"),
      std::string::npos);
  EXPECT_NE(mistakes(std::string(kMinimal) + "[link]\nnoise_scale = 2\n")
                .find("link.noise_scale: is of no use without noise_ns"),
            std::string::npos);
}

TEST(Scenario, ReadsNoiseOfAFileBesideIt) {
  const TemporaryDirectory folder;
  const std::string noise = folder.path() + "/rack.toml";
  const auto read = [&](const std::string& keys) {
    const ScenarioFile file(folder.path() + "/file.toml",
                            kMinimal + std::string("[[host]]\nhosts = \"receivers\"\n") + keys, {});
    return file.resolve(file.main_parameters()).topology.host_links.at(0).noise.value();
  };
  const auto mistake = [&](const std::string& keys) -> std::string {
    try {
      read(keys);
    } catch (const ScenarioError& e) {
      return std::string(e.what()).substr(folder.path().size() + 1);
    }
    return "";
  };
  using Noise = std::vector<std::pair<double, double>>;
  write_file(noise,
             "idle_noise_ns = [[0, 1], [1000000, 5]]\nhost_noise_ns = [\n[0, 0],\n[1000000, 7]]\n");
  EXPECT_EQ(read("noise = \"rack.toml\"\n"), (Noise{{0, 1}, {1e6, 5}}));
  EXPECT_EQ(read("noise = \"" + noise + "\"\nnoise_of = \"host\"\nnoise_scale = 10\n"),
            (Noise{{0, 0}, {1e6, 70}}));
  EXPECT_EQ(mistake("noise = \"rack.toml\"\nnoise_of = \"loaded\"\n"),
            "file.toml:16: host[0].noise: " + noise +
                ":1: loaded_noise_ns: is missing, allowed are [ppm, ns] pairs, as delaycc "
                "calibrate --noise-out writes them");
  EXPECT_EQ(mistake("noise = \"rack.toml\"\njitter_ns = 5\n"),
            "file.toml:16: host[0].noise: and jitter_ns are both given, allowed is one of the two");
  EXPECT_EQ(mistake("jitter_ns = 5\nnoise_of = \"host\"\n"),
            "file.toml:17: host[0].noise_of: is of no use without noise");
  EXPECT_EQ(mistake("noise = \"none.toml\"\n").find("file.toml:16: host[0].noise: open"), 0u);
  EXPECT_NE(mistake("noise = \".\"\n").find("is not a regular file"), std::string::npos);

  write_file(noise, "idle_noise_ns = [[0, 1], [1000000, 5]]\nidle = 3\n");
  EXPECT_EQ(mistake("noise = \"rack.toml\"\n")
                .find("file.toml:16: host[0].noise: " + noise + ":2: idle: unknown key"),
            0u);
  std::string many = "\nidle_noise_ns = [";
  for (int i = 0; i < 64; i++) many += "[" + std::to_string(i) + ", 1], ";
  write_file(noise, many + "[1000000, 2]]\n");
  EXPECT_EQ(mistake("noise = \"rack.toml\"\n")
                .find("file.toml:16: host[0].noise: " + noise +
                      ":2: idle_noise_ns: is no distribution, allowed are 2 to 64 [ppm, ns] pairs"),
            0u);
  write_file(noise, "idle_noise_ns = [[0, 1],\n[");
  EXPECT_EQ(mistake("noise = \"rack.toml\"\n")
                .find("file.toml:16: host[0].noise: " + noise + ":2: syntax: "),
            0u);
}

TEST(Scenario, RefusesABaseRttTogetherWithDelays) {
  EXPECT_NE(mistakes(std::string(kMinimal) + "[link]\ndelay_ns = 100\n")
                .find("file.toml:6: topology.base_rtt_ns: and delay_ns of a link are both given"),
            std::string::npos);
}

constexpr char kTwoGroups[] = R"(
[[flows]]
name = "other"
from = "senders[0]"
to = "receivers"
[algorithms.cubic.sender_sysctl.flows0]
net.ipv4.tcp_ecn = 1
[algorithms.cubic.sender_sysctl.other]
net.ipv4.tcp_ecn = 2
)";

TEST(Scenario, RefusesSysctlsOfGroupsThatContradictOnAHost) {
  EXPECT_EQ(mistakes(kMinimal + std::string(kTwoGroups)),
            "file.toml:19: algorithms.cubic.sender_sysctl: \"other\" sets net.ipv4.tcp_ecn = 2 on "
            "senders[0], where another group sets 1; allowed is one value per host");
  EXPECT_EQ(mistakes(kMinimal + std::string(kTwoGroups),
                     {"topology.senders=2", "flows.1.from=senders[1]"}),
            "");
}

TEST(Scenario, RefusesSysctlsOfAnUnknownGroup) {
  EXPECT_EQ(mistakes(kMinimal + replaced(kTwoGroups, "sysctl.other", "sysctl.third")),
            "file.toml:19: algorithms.cubic.sender_sysctl: \"third\" is no flow group, allowed is "
            "one of flows0, other");
}

TEST(Scenario, SetOverridesADottedKeyAndAnArrayElement) {
  const Scenario s = resolve(
      kMinimal, {"measure.duration_us=250", "flows.0.count=3", "hosts.sysctl.net.ipv4.tcp_ecn=1"});
  EXPECT_EQ(s.measure.duration_ns, 250'000);
  EXPECT_EQ(s.flows.at(0).count, 3);
  EXPECT_EQ(s.hosts.sysctls.at("net.ipv4.tcp_ecn"), "1");
}

TEST(Scenario, SetIsNamedInItsMistakes) {
  EXPECT_EQ(mistakes(kMinimal, {"measure.duration_us=0"})
                .rfind("--set measure.duration_us=0: measure.duration_us: 0 is out of range", 0),
            0u);
  // A bare word is a string, and named alike.
  EXPECT_EQ(mistakes(kMinimal, {"measure.duration_us=abc"})
                .rfind("--set measure.duration_us=abc: measure.duration_us: \"abc\" is not", 0),
            0u);
  EXPECT_EQ(resolve(kMinimal, {"title=say \"a\\b\""}).title, "say \"a\\b\"");
  EXPECT_EQ(mistakes(kMinimal, {"flows.7.count=1"}),
            "--set flows.7.count=1: flows.7.count: \"7\" is no index, allowed is 0 to 0");
  EXPECT_EQ(mistakes(kMinimal, {"nonsense"}), "--set nonsense: is not key=value");
}

constexpr char kSweep[] = R"(name = "sweep"
cc = ["cubic"]
[sweep]
main = { k = 9, gbps = 100 }
k = [1, 9]
gbps = [40, 100]
[topology]
kind = "dumbbell"
senders = "${k + 1}"
base_rtt_ns = 12000
[link]
rate_gbps = "${gbps}"
ecn_threshold_bytes = "${gbps * 750}"
[[flows]]
from = "senders[1-${k}]"
to = "receivers"
size_bytes = "${gbps}000"
[measure]
duration_us = 100
)";

TEST(Sweep, SubstitutesValuesTextsAndExpressions) {
  const Scenario s = resolve(kSweep);
  EXPECT_EQ(s.topology.senders, 10);
  EXPECT_EQ(s.topology.link.rate_gbps, 100);
  EXPECT_EQ(s.topology.bottleneck.ecn_threshold_bytes, 75000);
  EXPECT_EQ(s.flows.at(0).from, "senders[1-9]");
  EXPECT_EQ(s.flows.at(0).size_bytes, 100'000);
}

TEST(Sweep, ABooleanCanBeAParameter) {
  const std::string text = std::string(kSweep) + "[hosts]\ngso = \"${gso}\"\n";
  const auto with = [&](const std::string& value) {
    std::string file = text;
    file.replace(file.find("gbps = 100 }"), 12, "gbps = 100, gso = \"" + value + "\" }");
    return file;
  };
  EXPECT_TRUE(resolve(with("true")).hosts.gso);
  EXPECT_FALSE(resolve(with("false")).hosts.gso);
  EXPECT_EQ(mistakes(with("yes")),
            "file.toml:21: hosts.gso: is not a boolean, allowed is true or false");
}

TEST(Sweep, HasEveryCombination) {
  const ScenarioFile file("file.toml", kSweep, {});
  EXPECT_EQ(file.sweep().size(), 4u);
  for (const Parameters& parameters : file.sweep())
    EXPECT_EQ(file.resolve(parameters).topology.senders, std::get<int64_t>(parameters.at("k")) + 1);
}

TEST(Sweep, SetChangesTheMainCaseAndAddsItToTheSweep) {
  const ScenarioFile file("file.toml", kSweep, {"k=3"});
  EXPECT_EQ(file.resolve(file.main_parameters()).topology.senders, 4);
  EXPECT_EQ(file.sweep().size(), 5u);
}

TEST(Scenario, WritesNumbersOfLimitsOut) {
  const Scenario s = resolve(std::string(kMinimal) +
                             "[[expect]]\nalgorithm = \"cubic\"\nmetric = \"queue_mean_bytes\"\n"
                             "min = 0.0001\nmax = 200000\n");
  EXPECT_EQ(s.expectations.at(0).text, ">= 0.0001 and <= 200000");
}

TEST(Sweep, ANameThatSetMistypesIsHeldAgainstTheParametersToo) {
  const std::string text = mistakes(kSweep, {"kk=3"});
  EXPECT_EQ(text.rfind("--set kk=3: kk: unknown key, allowed is one of algorithms, ", 0), 0u)
      << text;
  EXPECT_NE(text.find(", or of the sweep's parameters gbps, k; the nearest is \"k\""),
            std::string::npos)
      << text;
  // A key of the file is no parameter.
  EXPECT_EQ(mistakes(std::string("kk = 3\n") + kMinimal).find("parameters"), std::string::npos);
}

TEST(Sweep, SetIsBlamedForAValueThatTheFileTakesFromIt) {
  EXPECT_EQ(mistakes(kSweep, {"gbps=40", "k=-3"}),
            "--set k=-3: topology.senders: -2 is out of range, allowed is an integer from 1 to "
            "2000");
  // In a case of the sweep too, whose own value stays.
  const ScenarioFile file("file.toml", kSweep, {"gbps=5000"});
  try {
    file.resolve({{"k", int64_t{1}}, {"gbps", int64_t{5000}}});
    ADD_FAILURE();
  } catch (const ScenarioError& e) {
    EXPECT_EQ(std::string(e.what()).rfind("--set gbps=5000: link.rate_gbps: 5000 is out of", 0), 0u)
        << e.what();
  }
}

TEST(Scenario, SetIsBlamedForWhatDoesNotFitBesideIt) {
  EXPECT_EQ(mistakes(kMinimal, {"hosts.mtu=9000", "measure.from_us=900", "title=x"}),
            "--set measure.from_us=900: measure.to_us: allowed is after from_us and at most "
            "duration_us");
  EXPECT_EQ(mistakes(kMinimal, {"event.label=x"}),
            "--set event.label=x: event: allowed is exactly one of at_us and stop_of");
  // The file's own mistakes stay the file's.
  EXPECT_EQ(mistakes(replaced(kMinimal, "duration_us = 100", "duration_us = 0"), {"title=x"})
                .rfind("file.toml:13: measure.duration_us: 0 is out of range", 0),
            0u);
}

TEST(Sweep, SetChangesItsLists) {
  const ScenarioFile file("file.toml", kSweep, {"sweep.k=[1, 2, 9]", "k=2"});
  EXPECT_EQ(file.sweep().size(), 6u);
  EXPECT_EQ(std::get<int64_t>(file.main_parameters().at("k")), 2);
  EXPECT_EQ(mistakes(kSweep, {"sweep.k=2"}),
            "--set sweep.k=2: sweep.k: is not a list, allowed are numbers or strings");
  EXPECT_EQ(mistakes(kSweep, {"k=[1, 2]"}),
            "--set k=[1, 2]: is not a number or a string; the values of a sweep are --set "
            "sweep.k=[...]");
}

TEST(Sweep, RefusesMoreCasesThanCanBeHeld) {
  std::string list = "k = [0";
  for (int i = 1; i < 101; i++) list += ", " + std::to_string(i);
  std::string other = replaced(list, "k", "gbps");
  const std::string text =
      replaced(replaced(kSweep, "k = [1, 9]", list + "]"), "gbps = [40, 100]", other + "]");
  EXPECT_EQ(mistakes(text), "file.toml:3: sweep: has 10201 cases, allowed are at most 10000");
}

// What is wrong with the algorithms of a run in a lab that has cubic, dctcp and oscar.
std::string unknown(const std::string& text, const std::vector<std::string>& asked,
                    const std::vector<std::string>& overrides = {}) {
  try {
    const ScenarioFile file("file.toml", text, overrides);
    file.check_algorithms(file.resolve(file.main_parameters()), "--cc", asked,
                          {"cubic", "dctcp", "oscar"});
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return "";
}

TEST(Algorithms, ThatTheLabLacksAreNamedWithThoseThereAreAndTheNearest) {
  EXPECT_EQ(unknown(kMinimal, {}), "");
  EXPECT_EQ(unknown(kMinimal, {"oscar", "dctcp"}), "");
  EXPECT_EQ(unknown(kMinimal, {"osacr"}),
            "--cc: \"osacr\" is no algorithm that is there, allowed is one of cubic, dctcp, oscar; "
            "the nearest is \"oscar\"");
  EXPECT_EQ(unknown(kMinimal, {"frobnicate"}),
            "--cc: \"frobnicate\" is no algorithm that is there, allowed is one of cubic, dctcp, "
            "oscar");
  EXPECT_EQ(unknown(replaced(kMinimal, "\"cubic\"", "\"cubci\""), {})
                .rfind("file.toml:2: cc: \"cubci\" is no algorithm that is there", 0),
            0u);
  EXPECT_EQ(unknown(kMinimal, {}, {"flows.0.cc=cubci"})
                .rfind("--set flows.0.cc=cubci: flows[0].cc: \"cubci\" is no algorithm", 0),
            0u);
}

TEST(Algorithms, OfTheFilesOwnNamesAreKnownByTheKernelsName) {
  const std::string text = std::string(kMinimal) + "[algorithms.mine]\ncc = \"oscar\"\n";
  EXPECT_EQ(unknown(text, {"mine"}), "");
  EXPECT_NE(unknown(text, {"mien"}).find("one of cubic, dctcp, mine, oscar"), std::string::npos);
  EXPECT_EQ(unknown(replaced(text, "\"oscar\"", "\"osacr\""), {"mine"})
                .rfind("file.toml:15: algorithms.mine.cc: \"osacr\" is no algorithm", 0),
            0u);
  // What does not run may be unknown.
  EXPECT_EQ(unknown(replaced(text, "\"oscar\"", "\"osacr\""), {"cubic"}), "");
}

TEST(Suggestion, IsTheNearestNameWithinAThirdOfTheLetters) {
  const std::vector<std::string> names = {"cubic", "oscar", "k", "westwood"};
  EXPECT_EQ(nearest_name("osacr", names), "oscar");
  EXPECT_EQ(nearest_name("westwod", names), "westwood");
  EXPECT_EQ(nearest_name("kk", names), "k");
  EXPECT_EQ(nearest_name("bbr", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

TEST(Sweep, NamesAnUnknownParameter) {
  EXPECT_NE(mistakes(replaced(kSweep, "${k + 1}", "${q}"))
                .find("file.toml:9: topology.senders: unknown parameter \"q\" in ${}; the [sweep] "
                      "section has gbps, k"),
            std::string::npos);
}

// Every file that is shipped, in every case, down to the plan of a trial.
TEST(ShippedScenarios, AllCompile) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DELAYCC_SCENARIOS)) {
    if (entry.is_directory()) continue;
    files++;
    SCOPED_TRACE(entry.path());
    const ScenarioFile file(entry.path().string(), std::vector<std::string>{});
    EXPECT_EQ(file.resolve(file.main_parameters()).name, entry.path().stem());
    std::vector<Parameters> cases = file.sweep();
    cases.push_back(file.main_parameters());
    for (const Parameters& parameters : cases) {
      const Scenario s = file.resolve(parameters);
      Trial trial;
      trial.algorithm = s.algorithms.front();
      EXPECT_NO_THROW(compile_trial(s, trial, [](const std::string&) { return false; }));
    }
  }
  EXPECT_GT(files, 0);
}

constexpr char kWorkload[] = R"(name = "flows"
cc = ["cubic"]
main_metric = "small.fct_p99_us"

[topology]
kind = "dumbbell"
senders = 4
receivers = 4
base_rtt_ns = 12000

[workload]
load = 0.3

[measure]
duration_us = 1000
)";

TEST(ScenarioWorkload, HasDefaults) {
  const Scenario s = resolve(kWorkload);
  ASSERT_TRUE(s.workload.present);
  EXPECT_EQ(s.workload.sizes->name(), "websearch");
  EXPECT_FALSE(s.workload.load_of_hosts);
  EXPECT_EQ(s.workload.from, "senders");
  EXPECT_EQ(s.workload.to, "receivers");
  ASSERT_EQ(s.workload.classes.size(), 3u);
  EXPECT_EQ(s.workload.classes[1].name, "medium");
  EXPECT_EQ(s.measure.log, LogChoice::kBottleneck);
  EXPECT_LT(s.hosts.warm_bytes, 1000);
  EXPECT_EQ(s.main_metric, "small.fct_p99_us");
  const Scenario tree = resolve(
      replaced(replaced(replaced(replaced(kWorkload, "dumbbell", "fat-tree"), "senders = 4", ""),
                        "receivers = 4", ""),
               "load =", "load_of = \"hosts\"\nload ="));
  EXPECT_TRUE(tree.workload.load_of_hosts);
  EXPECT_EQ(tree.workload.from, "hosts");
  EXPECT_EQ(tree.measure.log, LogChoice::kNone);
}

TEST(ScenarioWorkload, NamesLineAndFieldOfAMistake) {
  const std::pair<const char*, const char*> cases[] = {
      {"load = 30", "file.toml:12: workload.load: 30 is out of range"},
      {"load = 0.3\nload_of = \"core\"", "file.toml:13: workload.load_of: \"core\" is unknown"},
      {"warm_up_us = 1", "file.toml:11: workload.load: is missing"},
      {"load = 0.3\nsizes = \"no-such-file\"", "file.toml:13: workload.sizes: "},
      {"load = 0.3\nclass_limits_bytes = [5, 5]", "file.toml:13: workload.class_limits_bytes: "},
      {"load = 0.3\nclass_names = [\"a\"]", "file.toml:13: workload.class_names: has 1 names"},
      {"load = 0.3\nclass_names = [\"a\", \"a\", \"b\"]",
       "file.toml:13: workload.class_names: \"a\""},
      {"load = 0.3\nclass_limits_bytes = [5]\nclass_names = [\"background\", \"b\"]\n"
       "incast = { fan_in = 1, size_bytes = 1, load = 0.1 }",
       "file.toml:14: workload.class_names: \"background\" is all of a kind"},
      {"load = 0.3\npriority_limits_bytes = [0.5]",
       "file.toml:13: workload.priority_limits_bytes: "},
      {"load = 0.3\nsampling = \"stratified\"\nsampling_group = 1",
       "file.toml:14: workload.sampling_group: "},
      {"load = 0.3\nsampling_share = 0.1", "file.toml:13: workload.sampling_share: "},
      {"load = 0.3\nsampling = \"lucky\"", "file.toml:13: workload.sampling: \"lucky\" is unknown"},
      {"load = 0.3\nfrom = \"spines\"", "file.toml:13: workload.from: \"spines\" selects no hosts"},
      {"load = 0.3\nto = \"senders[0]\"\nfrom = \"senders[0]\"",
       "file.toml:13: workload.to: a host"},
      {"load = 0.3\nuntil_us = 2000", "file.toml:13: workload.until_us: is after the end"},
      {"load = 0.3\nwarm_up_us = 600\ncool_down_us = 400",
       "file.toml:13: workload.warm_up_us: and cool_down_us leave nothing"},
      {"load = 0.3\nincast = { fan_in = 5, size_bytes = 1000, load = 0.1 }",
       "file.toml:13: workload.incast: fan_in 5 is more than"},
      {"load = 0.3\nincast = { fan_in = 4 }",
       "file.toml:13: workload.incast.size_bytes: is missing"},
      {"load = 9\nsizes = \"fbhadoop\"\n[link]\nrate_gbps = 1600",
       "file.toml:12: workload.load: gives "},
      {"load = 0.3\nspeed = 1", "file.toml:13: workload.speed: unknown key"},
      {"load = 0.3\n[[flows]]\nname = \"small\"\nfrom = \"senders\"\nto = \"receivers\"",
       "file.toml:11: workload: \"small\" is also a group"},
  };
  for (const auto& [text, wanted] : cases) {
    std::string file = replaced(kWorkload, "load = 0.3", text);
    if (std::string(text).find("fbhadoop") != std::string::npos)
      file = replaced(file, "duration_us = 1000", "duration_us = 100000");
    EXPECT_NE(mistakes(file).find(wanted), std::string::npos) << wanted << "\n" << mistakes(file);
  }
  EXPECT_NE(mistakes(replaced(kWorkload, "small.fct", "tiny.fct"))
                .find("file.toml:3: main_metric: \"tiny.fct_p99_us\" is unknown"),
            std::string::npos);
}

TEST(Scenario, PrioIsAQdiscOfSwitchesWithBands) {
  const std::string link =
      "[link]\nqdisc = \"prio\"\n[bottleneck]\nbands = 3\n[host_link]\nqdisc = \"fifo\"\n";
  const Scenario s = resolve(kMinimal + link);
  EXPECT_EQ(s.topology.link.bands, 8);
  EXPECT_EQ(s.topology.bottleneck.bands, 3);
  EXPECT_EQ(s.topology.host_link.bands, 0);
  const Network network = build_network(s.topology, s.hosts);
  const std::vector<int> path =
      network.path(network.select("senders").at(0), network.select("receivers").at(0));
  EXPECT_EQ(network.port(path.at(0)).bands, 0u);
  EXPECT_EQ(network.port(path.at(1)).bands, 3u);
  EXPECT_NE(mistakes(std::string(kMinimal) + "[link]\nbands = 4\n")
                .find("link.bands: is of no use without qdisc = \"prio\""),
            std::string::npos);
  EXPECT_NE(mistakes(std::string(kMinimal) + "[link]\nqdisc = \"red\"\n")
                .find("link.qdisc: \"red\" is unknown"),
            std::string::npos);
}

TEST(ScenarioWorkload, SizesFromAFileBesideTheScenario) {
  TemporaryDirectory directory;
  write_file(directory.path() + "/sizes.txt", "1000 50\n500 100\n");
  const std::string text = replaced(kWorkload, "load = 0.3", "load = 0.3\nsizes = \"sizes.txt\"");
  try {
    const ScenarioFile file(directory.path() + "/file.toml", text, {});
    file.resolve(file.main_parameters());
    ADD_FAILURE() << "sizes fall";
  } catch (const ScenarioError& e) {
    EXPECT_NE(std::string(e.what()).find("sizes.txt:2: size 500 is below"), std::string::npos)
        << e.what();
  }
  write_file(directory.path() + "/sizes.txt", "500 50\n1000 100\n");
  const ScenarioFile file(directory.path() + "/file.toml", text, {});
  EXPECT_DOUBLE_EQ(file.resolve(file.main_parameters()).workload.sizes->mean(), 625);
}

}  // namespace
}  // namespace delaycc

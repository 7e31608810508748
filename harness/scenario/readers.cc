// SPDX-License-Identifier: Apache-2.0
#include "scenario/readers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/posix.h"
#include "metrics/catalogue.h"
#include "plan/plan.h"

namespace delaycc {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr double kMaxNoiseNs = 1e9;
constexpr double kMaxDelayNs = 1e10;
constexpr size_t kMaxNoiseFileBytes = 1 << 20;

// In the file keys behind which "_noise_ns" comes; the first is taken where none is named.
const std::vector<std::string>& noise_kinds() {
  static const std::vector<std::string> kinds = {"idle", "loaded", "host"};
  return kinds;
}

using Quantiles = std::vector<std::pair<double, double>>;

// What `delaycc calibrate --noise-out` wrote of one kind of noise. Throws Error.
Quantiles read_noise_file(const std::string& path, const std::string& kind) {
  const std::string text = read_regular_file(path, kMaxNoiseFileBytes);
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw Error(path + ":" + std::to_string(e.source().begin.line) +
                ": syntax: " + std::string(e.description()) + ", allowed is TOML 1.0");
  }
  Diagnostics mistakes(path);
  const Parameters none;
  const Substitution substitution(none);
  Section root(mistakes, substitution, &table, "", table.source());
  const std::string wanted = kind + "_noise_ns";
  Quantiles result;
  for (const std::string& other : noise_kinds()) {
    const std::string key = other + "_noise_ns";
    const Quantiles found = root.quantiles(key, kMaxNoiseQuantiles, kMaxNoiseNs);
    if (key == wanted) result = found;
  }
  if (!root.has(wanted))
    root.complain(wanted,
                  "is missing, allowed are [ppm, ns] pairs, as delaycc calibrate "
                  "--noise-out writes them");
  root.finish();
  mistakes.throw_if_any();
  return result;
}

// jitter_ns, noise_ns or noise, with noise_scale; none of them: nothing. `file`: the scenario's.
std::optional<Quantiles> read_noise(Section& section, const std::string& file) {
  const double jitter_ns = section.number("jitter_ns", 0, 0, kMaxNoiseNs);
  const double scale = section.number("noise_scale", 1, 0, 1000);
  auto noise = section.quantiles("noise_ns", kMaxNoiseQuantiles, kMaxNoiseNs);
  const std::string name = section.text("noise", "");
  const std::string kind = section.choice("noise_of", noise_kinds().front(), noise_kinds());
  const bool has_file = section.has("noise");
  if (section.has("jitter_ns") && section.has("noise_ns"))
    section.complain("jitter_ns", "and noise_ns are both given, allowed is one of the two");
  for (const char* other : {"jitter_ns", "noise_ns"})
    if (has_file && section.has(other))
      section.complain("noise",
                       std::string("and ") + other + " are both given, allowed is one of the two");
  if (section.has("noise_scale") && !section.has("noise_ns") && !has_file)
    section.complain("noise_scale", "is of no use without noise_ns or noise");
  if (section.has("noise_of") && !has_file)
    section.complain("noise_of", "is of no use without noise");
  if (has_file) try {
      noise = read_noise_file((std::filesystem::path(file).parent_path() / name).string(), kind);
    } catch (const Error& e) {
      section.complain("noise", e.what());
    }
  if (!section.has("jitter_ns") && !section.has("noise_ns") && !has_file) return std::nullopt;
  for (auto& [ppm, ns] : noise) ns = std::min(ns * scale, kMaxNoiseNs);
  if (jitter_ns > 0) noise = {{0, 0}, {1e6, jitter_ns}};
  return noise;
}

}  // namespace

DelaySteps read_delay_steps(Section& section) {
  const char* key = "extra_delay_steps";
  DelaySteps steps;
  for (const auto& [at_ns, ns] : section.steps_us(key, -kMaxDelayNs, kMaxDelayNs))
    steps.emplace_back(at_ns, std::llround(ns));
  if (steps.size() > kMaxDelaySteps)
    section.complain(key, "has " + std::to_string(steps.size()) + " steps, allowed are up to " +
                              std::to_string(kMaxDelaySteps));
  return steps;
}

namespace {

LinkSpec read_link(Section section, LinkSpec link, const std::string& file) {
  link.rate_gbps = section.number("rate_gbps", link.rate_gbps, 0, 1600);
  link.delay_ns = section.integer("delay_ns", link.delay_ns, 0, 10'000'000'000);
  link.buffer_bytes = section.integer("buffer_bytes", link.buffer_bytes, 0, kMaxBytes);
  link.ecn_threshold_bytes =
      section.integer("ecn_threshold_bytes", link.ecn_threshold_bytes, 0, kMaxBytes);
  link.loss_ppm = section.integer("loss_ppm", link.loss_ppm, 0, 1'000'000);
  link.reorder_ppm = section.integer("reorder_ppm", link.reorder_ppm, 0, 1'000'000);
  link.reorder_delay_ns =
      section.integer("reorder_delay_ns", link.reorder_delay_ns, 0, 1'000'000'000);
  if (const auto noise = read_noise(section, file)) link.noise = *noise;
  if (section.has("extra_delay_steps")) link.extra_delay_steps = read_delay_steps(section);
  section.ignore("extra_delay_steps");
  const bool prio =
      section.choice("qdisc", link.bands > 0 ? "prio" : "fifo", {"fifo", "prio"}) == "prio";
  const int bands =
      static_cast<int>(section.integer("bands", prio && link.bands == 0 ? 8 : link.bands, 2, 16));
  if (!prio && section.has("bands"))
    section.complain("bands", "is of no use without qdisc = \"prio\"");
  link.bands = prio ? bands : 0;
  section.finish();
  return link;
}

}  // namespace

LineRate read_line_rate(Section& section, LineRate fallback) {
  const std::vector<std::string> names = {"automatic", "link"};
  const std::string name = section.choice("line_rate", names[static_cast<size_t>(fallback)], names);
  return static_cast<LineRate>(std::find(names.begin(), names.end(), name) - names.begin());
}

BaseRtt read_base_rtt(Section& section, BaseRtt fallback) {
  const std::vector<std::string> names = {"automatic", "longest", "path"};
  const std::string name = section.choice("base_rtt", names[static_cast<size_t>(fallback)], names);
  return static_cast<BaseRtt>(std::find(names.begin(), names.end(), name) - names.begin());
}

TopologySpec read_topology(Section& root, const std::string& file) {
  TopologySpec topology;
  Section section = root.section("topology");
  const std::string kind =
      section.choice("kind", "", {"dumbbell", "incast", "parking-lot", "leaf-spine", "fat-tree"});
  if (kind == "dumbbell") {
    topology.kind = TopologyKind::kDumbbell;
    topology.senders = static_cast<int>(section.integer("senders", 1, 1, 2000));
    topology.receivers = static_cast<int>(section.integer("receivers", 1, 1, 2000));
  } else if (kind == "incast") {
    topology.kind = TopologyKind::kIncast;
    topology.senders = static_cast<int>(section.integer("senders", 1, 1, 2000));
  } else if (kind == "parking-lot") {
    topology.kind = TopologyKind::kParkingLot;
    topology.bottlenecks = static_cast<int>(section.integer("bottlenecks", 2, 1, 16));
    topology.hosts = static_cast<int>(section.integer("hosts", 1, 1, 100));
  } else if (kind == "leaf-spine") {
    topology.kind = TopologyKind::kLeafSpine;
    topology.leaves = static_cast<int>(section.integer("leaves", 2, 1, 64));
    topology.spines = static_cast<int>(section.integer("spines", 2, 1, 64));
    topology.hosts = static_cast<int>(section.integer("hosts", 4, 1, 100));
  } else {
    topology.kind = TopologyKind::kFatTree;
    topology.k = static_cast<int>(section.integer("k", 4, 2, 16));
    if (topology.k % 2 != 0)
      section.complain("k", std::to_string(topology.k) + " is odd, allowed is an even number");
  }
  topology.base_rtt_ns = section.integer("base_rtt_ns", 0, 1, 10'000'000'000);
  topology.spray = section.choice("spread", "flow", {"flow", "packet"}) == "packet";
  section.finish();

  topology.link = read_link(root.section("link"), LinkSpec(), file);
  topology.host_link = read_link(root.section("host_link"), topology.link, file);
  Section bottleneck = root.section("bottleneck");
  const bool has_bottleneck =
      topology.kind != TopologyKind::kLeafSpine && topology.kind != TopologyKind::kFatTree;
  if (bottleneck.present() && !has_bottleneck)
    bottleneck.complain(
        "", "a " + kind + " has no bottleneck link, allowed are [link] and [host_link]");
  topology.bottleneck = read_link(std::move(bottleneck), topology.link, file);

  const bool delays = topology.link.delay_ns >= 0 || topology.host_link.delay_ns >= 0 ||
                      topology.bottleneck.delay_ns >= 0;
  if (delays && topology.base_rtt_ns > 0)
    section.complain("base_rtt_ns",
                     "and delay_ns of a link are both given, allowed is one of the two");
  if (topology.base_rtt_ns == 0 && (topology.link.delay_ns < 0 || topology.host_link.delay_ns < 0))
    section.complain("base_rtt_ns",
                     "is missing, allowed is base_rtt_ns here or delay_ns in [link]");
  return topology;
}

HostLinkSpec read_host_link(Section& section, const std::string& file) {
  HostLinkSpec host;
  host.hosts = section.required_text("hosts", "a selector such as senders[0-3]");
  if (section.has("rate_gbps")) host.rate_gbps = section.number("rate_gbps", 1, 0.001, 1600);
  host.extra_delay_ns = section.integer("extra_delay_ns", 0, 0, 10'000'000'000);
  host.noise = read_noise(section, file);
  if (section.has("extra_delay_steps")) host.extra_delay_steps = read_delay_steps(section);
  section.ignore("extra_delay_steps");
  if (section.has("interrupt_gap_ns"))
    host.interrupt_gap_ns = section.integer("interrupt_gap_ns", 0, 0, kMaxInterruptGapNs);
  section.ignore("interrupt_gap_ns");
  section.finish();
  return host;
}

FlowSpec read_flow(Section& section, size_t index) {
  FlowSpec flow;
  flow.name = section.text("name", "flows" + std::to_string(index));
  flow.count = static_cast<int>(section.integer("count", 1, 0, 20000));
  flow.from = section.required_text("from", "a selector such as \"senders[0]\"");
  flow.to = section.required_text("to", "a selector such as \"receivers\"");
  flow.cc = section.text("cc", "");
  flow.start_ns = section.time_us("start_us", 0);
  flow.start_phase_ns = section.time_us("start_phase_us", 0);
  flow.start_jitter_ns = section.time_us("start_jitter_us", 0);
  flow.stagger_ns = section.time_us("stagger_us", 0);
  flow.connect_at_start = section.boolean("connect_at_start", false);
  flow.stop_ns = section.time_us("stop_us", -1);
  flow.stop_phase_ns = section.time_us("stop_phase_us", 0);
  flow.stop_jitter_ns = section.time_us("stop_jitter_us", 0);
  flow.stop_stagger_ns = section.time_us("stop_stagger_us", 0);
  flow.size_bytes = section.integer("size_bytes", -1, 1, kMaxBytes);
  flow.repeat = static_cast<int>(section.integer("repeat", 1, 1, 20000));
  flow.repeat_ns = section.time_us("repeat_us", 0);
  flow.priority = section.integer("priority", -1, 0, 2'147'483'647);
  flow.dscp = static_cast<int>(section.integer("dscp", 0, 0, 63));
  flow.pacing_gbps = section.number("pacing_gbps", 0, 0, 1600);
  flow.pacing_steps = section.steps_us("pacing_steps", 0.001, 1600);
  flow.plot_each = section.choice("plot", "sum", {"sum", "each"}) == "each";
  if (flow.stop_ns >= 0 && flow.stop_ns <= flow.start_ns)
    section.complain("stop_us", "is not after start_us, allowed is a later time");
  if (flow.stop_ns < 0 && (flow.stop_phase_ns || flow.stop_jitter_ns || flow.stop_stagger_ns))
    section.complain("stop_us", "is missing, but the flow has a key stop_*_us");
  if (flow.repeat > 1 && flow.repeat_ns == 0)
    section.complain("repeat_us", "is missing, allowed is the time between two repetitions");
  section.finish();
  return flow;
}

WorkloadSpec read_workload(Section& section, const std::string& file, bool has_bottleneck) {
  WorkloadSpec spec;
  spec.present = section.present();
  if (!spec.present) return spec;
  spec.load = section.number("load", 0, 0.0001, 10);
  const std::string sizes = section.text("sizes", "websearch");
  const auto& built_in = EmpiricalCdf::built_in_names();
  try {
    const bool is_file = std::find(built_in.begin(), built_in.end(), sizes) == built_in.end();
    // Beside the scenario file, if it is not an absolute path.
    spec.sizes = std::make_shared<EmpiricalCdf>(EmpiricalCdf::find(
        is_file ? (std::filesystem::path(file).parent_path() / sizes).string() : sizes));
  } catch (const Error& e) {
    std::string names;
    for (const std::string& name : built_in) names += name + ", ";
    section.complain("sizes", std::string(e.what()) + "; allowed is one of " + names + "or a file");
  }
  const std::string whole = has_bottleneck ? "bottleneck" : "hosts";
  spec.load_of_hosts = section.choice("load_of", whole, {"bottleneck", "hosts"}) == "hosts";
  if (!spec.load_of_hosts && !has_bottleneck)
    section.complain("load_of", "this topology has no bottleneck, allowed is \"hosts\"");
  spec.from = section.text("from", has_bottleneck ? "senders" : "hosts");
  spec.to = section.text("to", has_bottleneck ? "receivers" : "hosts");
  spec.until_ns = section.time_us("until_us", -1, 1);
  spec.warm_up_ns = section.time_us("warm_up_us", 0);
  spec.cool_down_ns = section.time_us("cool_down_us", 0);

  const auto limits = [&](const std::string& key) {
    std::vector<int64_t> result;
    for (const double limit : section.numbers(key)) {
      if (limit < 1 || limit > static_cast<double>(kMaxBytes) || limit != std::floor(limit) ||
          (!result.empty() && limit <= static_cast<double>(result.back()))) {
        section.complain(key, "is not a list of limits, allowed are rising whole numbers of bytes");
        break;
      }
      result.push_back(static_cast<int64_t>(limit));
    }
    return result;
  };
  std::vector<int64_t> class_limits = {100'000, 1'000'000};
  if (section.has("class_limits_bytes")) class_limits = limits("class_limits_bytes");
  section.ignore("class_limits_bytes");
  std::vector<std::string> names = section.texts("class_names");
  if (names.empty() && class_limits.size() == 2) names = {"small", "medium", "large"};
  if (names.empty() && class_limits.size() == 1) names = {"small", "large"};
  if (names.size() != class_limits.size() + 1 && !(names.empty() && class_limits.empty()))
    section.complain("class_names", "has " + std::to_string(names.size()) +
                                        " names, allowed is one more than class_limits_bytes: " +
                                        std::to_string(class_limits.size() + 1));
  for (size_t i = 0; i < names.size(); i++) {
    const bool word =
        !names[i].empty() &&
        names[i].find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    if (!word || std::count(names.begin(), names.end(), names[i]) > 1) {
      section.complain("class_names", "\"" + names[i] +
                                          "\" is no name, allowed are different words "
                                          "of a-z, 0-9, _ and -");
      spec.classes.clear();
      break;
    }
    spec.classes.push_back({names[i], i < class_limits.size() ? class_limits[i] : -1});
  }
  spec.priority_limits_bytes = limits("priority_limits_bytes");
  spec.dscp_of_priority = section.boolean("dscp_of_priority", false);
  if (spec.dscp_of_priority && spec.priority_limits_bytes.size() > 63)
    section.complain("dscp_of_priority",
                     "a DSCP is at most 63, allowed are up to 63 priority_limits_bytes");
  SamplingSpec& sampling = spec.sampling;
  sampling.kind = section.choice("sampling", "plain", sampling_kinds());
  // A key of another kind is not read, so that finish() complains of it.
  if (sampling.kind == "stratified")
    sampling.group = static_cast<int>(section.integer("sampling_group", sampling.group, 2, 4096));
  if (sampling.kind == "tail") {
    sampling.from = section.number("sampling_from", sampling.from, 0, 0.999999);
    sampling.share = section.number("sampling_share", sampling.share, 0, 0.99);
  }
  if (sampling.kind == "lognormal") {
    sampling.shift = section.number("sampling_shift", sampling.shift, -3, 3);
    sampling.factor = section.number("sampling_factor", sampling.factor, 0.3, 3);
  }

  Section incast = section.section("incast");
  if (incast.present()) {
    spec.incast.fan_in = static_cast<int>(incast.integer("fan_in", 0, 1, 2000));
    spec.incast.size_bytes = incast.integer("size_bytes", 0, 1, kMaxBytes);
    spec.incast.load = incast.number("load", 0, 0.0001, 10);
    for (const char* key : {"fan_in", "size_bytes", "load"})
      if (!incast.has(key)) incast.complain(key, "is missing");
    for (const SizeClass& c : spec.classes)
      if (c.name == "background" || c.name == "incast")
        section.complain("class_names", "\"" + c.name +
                                            "\" is all of a kind where there is an incast, allowed "
                                            "is another name");
    incast.finish();
  } else if (!section.has("load")) {
    section.complain("load",
                     "is missing, allowed is a number from 0.0001 to 10, or "
                     "[workload.incast] alone");
  }
  section.finish();
  return spec;
}

EventSpec read_event(Section section) {
  EventSpec event;
  event.present = section.present();
  if (!event.present) return event;
  event.label = section.text("label", "");
  event.at_ns = section.time_us("at_us", -1);
  event.stop_of = section.text("stop_of", "");
  event.recovers = section.text("recovers", "");
  event.threshold = section.number("threshold", event.threshold, 0.01, 1);
  event.window_ns = section.integer("recover_window_ns", event.window_ns, 100, 1'000'000'000);
  event.horizon_ns = section.time_us("horizon_us", -1);
  if ((event.at_ns >= 0) == !event.stop_of.empty())
    section.complain("", "allowed is exactly one of at_us and stop_of");
  section.finish();
  return event;
}

namespace {

MeasureValue read_parameter(Section& section, const Parameter& parameter) {
  const MeasureValue fallback = parameter.default_value();
  switch (parameter.type) {
    case Parameter::Type::kTime:
      return section.time_us(parameter.key, std::get<int64_t>(fallback), parameter.low);
    case Parameter::Type::kInteger:
      return section.integer(parameter.key, std::get<int64_t>(fallback),
                             static_cast<int64_t>(parameter.low),
                             static_cast<int64_t>(parameter.high));
    case Parameter::Type::kNumber:
      return section.number(parameter.key, parameter.fallback, parameter.low, parameter.high);
    case Parameter::Type::kIntervals:
      return section.intervals_us(parameter.key);
    case Parameter::Type::kGroup:
      break;
  }
  return section.text(parameter.key, "");
}

// The keys that the families of metrics declare.
void read_parameters(Section& section, MeasureSpec* measure) {
  for (const Parameter& parameter : all_parameters())
    measure->parameters[parameter.key] = read_parameter(section, parameter);
  for (const Parameter& parameter : all_parameters()) {
    if (!parameter.is_set(*measure)) continue;
    if (parameter.records & kDecisions) measure->decisions = true;
    for (const Parameter& other : all_parameters())
      if (parameter.needs && std::string(parameter.needs) == other.key && !other.is_set(*measure))
        section.complain(parameter.key, std::string("is of no use without ") + other.key);
  }
}

}  // namespace

MeasureSpec read_measure(Section section, const std::string& default_log) {
  MeasureSpec measure;
  if (!section.has("duration_us"))
    section.complain("duration_us", "is missing, allowed is a number from 1 to 1e9");
  measure.duration_ns = section.time_us("duration_us", 1000, 1);
  measure.from_ns = section.time_us("from_us", 0);
  measure.to_ns = section.time_us("to_us", measure.duration_ns);
  measure.exclude_ns = section.intervals_us("exclude_us");
  read_parameters(section, &measure);
  measure.flows = section.texts("flows");
  const std::vector<std::string> logs = {"none", "bottleneck", "all", "every"};
  measure.log = static_cast<LogChoice>(
      std::find(logs.begin(), logs.end(), section.choice("log", default_log, logs)) - logs.begin());
  if (measure.to_ns <= measure.from_ns || measure.to_ns > measure.duration_ns)
    section.complain("to_us", "allowed is after from_us and at most duration_us");
  section.finish();
  return measure;
}

std::string read_metric(Section& section, const std::string& key, const WorkloadSpec& workload) {
  std::vector<std::string> names;
  for (const MetricInfo& info : all_metrics()) names.push_back(info.name);
  for (const FlowSet& set : flow_sets(workload))
    for (const MetricInfo& info : all_metrics())
      if (info.per_set) names.push_back(set.name + "." + info.name);
  return section.choice(key, "", names);
}

namespace {

// Of an expectation that has an `over`.
void check_trend(Section& section, const Expectation& e,
                 const std::map<std::string, std::vector<Value>>& sweep) {
  std::vector<std::string> names;
  for (const auto& [name, values] : sweep) names.push_back(name);
  const auto values = sweep.find(e.over);
  if (values == sweep.end()) {
    section.complain("over",
                     "\"" + e.over + "\" is no parameter with a list of values in [sweep], " +
                         (names.empty() ? "which has none" : "allowed is " + listed(names)));
  } else {
    for (const Value& value : values->second)
      if (double number; !to_number(value, &number)) {
        section.complain("over", "\"" + e.over + "\" has the value \"" + to_string(value) +
                                     "\", allowed is a parameter whose values are numbers");
        break;
      }
  }
  for (const char* key : {"of", "of_case", "value", "within_percent"})
    if (section.has(key))
      section.complain(key,
                       "is not of a trend, allowed beside over are trend, or min and max of "
                       "the slope");
  if (e.statistic != "mean") section.complain("statistic", "of a trend is \"mean\"");
  if (e.trend.empty() == !(e.has_min || e.has_max))
    section.complain("over",
                     "needs a trend (\"rises\" or \"falls\"), or min and/or max of the slope, "
                     "and not both");
}

std::string limits_text(const Expectation& e) {
  std::string text;
  if (e.has_min) text = ">= " + format_number(e.min);
  if (e.has_max) text += (text.empty() ? "" : " and ") + ("<= " + format_number(e.max));
  return text;
}

}  // namespace

Expectation read_expectation(Section& section, const WorkloadSpec& workload,
                             const std::map<std::string, std::vector<Value>>& sweep) {
  Expectation expectation;
  expectation.algorithm = section.required_text("algorithm", "an algorithm's name");
  expectation.metric = read_metric(section, "metric", workload);
  expectation.statistic = section.choice("statistic", "mean", {"mean", "max", "min"});
  expectation.every_case = section.boolean("every_case", false);
  expectation.of_case = section.text_map("of_case");
  expectation.of = section.text("of", expectation.of_case.empty() ? "" : expectation.algorithm);
  if (!expectation.of.empty() && expectation.statistic != "mean")
    section.complain("statistic", "of a ratio to another algorithm or case is \"mean\"");
  const double limit = 1e18;
  const bool has_value = section.has("value");
  const bool has_within = section.has("within_percent");
  expectation.has_min = section.has("min");
  expectation.has_max = section.has("max");
  expectation.min = section.number("min", 0, -limit, limit);
  expectation.max = section.number("max", 0, -limit, limit);
  expectation.over = section.text("over", "");
  const bool over = section.has("over");
  if (section.has("trend")) expectation.trend = section.choice("trend", "", {"rises", "falls"});
  if (section.has("trend") && !over)
    section.complain("trend", "is over nothing, allowed is beside over, a parameter of [sweep]");
  const double value = section.number("value", 0, -limit, limit);
  const double within = section.number("within_percent", 0, 0, 1000);
  if (over) {
    check_trend(section, expectation, sweep);
    expectation.text = expectation.trend.empty()
                           ? "slope over " + expectation.over + " " + limits_text(expectation)
                           : expectation.trend + " over " + expectation.over;
    section.finish();
    return expectation;
  }
  if (has_value != has_within)
    section.complain("value", "value and within_percent belong together");
  else if (has_value == (expectation.has_min || expectation.has_max))
    section.complain("", "allowed is min and/or max, or value with within_percent");
  std::string text;
  if (has_value) {
    expectation.has_min = expectation.has_max = true;
    expectation.min = value - std::abs(value) * within / 100;
    expectation.max = value + std::abs(value) * within / 100;
    text = "= " + format_number(value) + " +- " + format_number(within) + " %";
  } else {
    text = limits_text(expectation);
  }
  if (expectation.statistic != "mean") text = "(" + expectation.statistic + ") " + text;
  if (!expectation.of.empty()) {
    text += " of";
    if (expectation.of != expectation.algorithm) text += " " + expectation.of;
    for (const auto& [name, value] : expectation.of_case)
      text +=
          (&name == &expectation.of_case.begin()->first ? " with " : ", ") + name + " = " + value;
  }
  expectation.text = text;
  section.finish();
  return expectation;
}

}  // namespace delaycc

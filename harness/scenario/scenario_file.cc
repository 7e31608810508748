// SPDX-License-Identifier: Apache-2.0
#include "scenario/scenario_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/suggest.h"
#include "metrics/catalogue.h"
#include "scenario/checks.h"
#include "scenario/diagnostics.h"
#include "scenario/readers.h"
#include "scenario/section.h"

namespace delaycc {
namespace {

constexpr int64_t kHelloBytes = 4;
constexpr int kMaxCases = 10000;

}  // namespace

std::string algorithms_mistake(const std::vector<std::string>& names) {
  if (names.empty()) return "names no algorithm, allowed is a list such as [\"oscar\", \"cubic\"]";
  for (const std::string& name : names) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) || c == '_' || c == '-';
        }))
      return "\"" + name + "\" is no name, allowed are letters, digits, \"_\" and \"-\"";
    if (std::count(names.begin(), names.end(), name) > 1)
      return "\"" + name + "\" is there twice, allowed is each algorithm once";
  }
  return "";
}

struct ScenarioFile::Document {
  std::string path;
  std::string text;
  std::vector<std::string> overrides;
  toml::table table;
  Parameters main;
  std::vector<std::pair<std::string, std::vector<Value>>> lists;
  std::map<std::string, std::string> set;  // by --set: key or parameter, value's text

  void read_sweep(Diagnostics* mistakes);
  Scenario read(const Parameters& parameters, Diagnostics* mistakes) const;
  void blame_overrides(const Parameters& parameters, Diagnostics* mistakes) const;
};

namespace {

[[noreturn]] void throw_syntax(const std::string& file, const toml::parse_error& e) {
  throw ScenarioError(file + ":" + std::to_string(e.source().begin.line) +
                      ": syntax: " + std::string(e.description()) + ", allowed is TOML 1.0");
}

// The value of "--set key=value" as TOML would read it; a bare word is a string.
toml::table parse_override(const std::string& text, const std::string& name) {
  try {
    return toml::parse("value = " + text, name);
  } catch (const toml::parse_error&) {
    // Parsed as well, so that a mistake in it names this text and not a line of the file.
    std::string quoted;
    for (const char c : text)
      quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    try {
      return toml::parse("value = \"" + quoted + "\"", name);
    } catch (const toml::parse_error& e) {
      throw ScenarioError(name + ": " + std::string(e.description()));
    }
  }
}

// Moves the value, as a copy would forget where it came from.
void apply_override(toml::table& root, const std::string& key, toml::node&& value,
                    const std::string& name) {
  toml::node* at = &root;
  size_t begin = 0;
  for (;;) {
    const size_t dot = key.find('.', begin);
    const std::string part = key.substr(begin, dot - begin);
    const bool last = dot == std::string::npos;
    if (toml::table* table = at->as_table()) {
      if (last) {
        table->insert_or_assign(part, std::move(value));
        return;
      }
      if (!table->contains(part)) table->insert(part, toml::table());
      at = table->get(part);
    } else if (toml::array* array = at->as_array()) {
      Value index;
      if (!parse_number(part, &index) || !std::get_if<int64_t>(&index) ||
          std::get<int64_t>(index) < 0 ||
          std::get<int64_t>(index) >= static_cast<int64_t>(array->size()))
        throw ScenarioError(name + ": " + key + ": \"" + part + "\" is no index, allowed is 0 to " +
                            std::to_string(static_cast<int64_t>(array->size()) - 1));
      at = array->get(static_cast<size_t>(std::get<int64_t>(index)));
      if (last)
        throw ScenarioError(name + ": " + key + ": names a whole element, allowed is a key");
    } else {
      throw ScenarioError(name + ": " + key + ": \"" + part +
                          "\" is below a value that is no table");
    }
    begin = dot + 1;
  }
}

}  // namespace

void ScenarioFile::Document::read_sweep(Diagnostics* mistakes) {
  if (const toml::node* node = table.get("sweep")) {
    const toml::table* sweep = node->as_table();
    if (!sweep) mistakes->add(node->source(), "sweep", "is not a table, allowed is [sweep]");
    const toml::table* of_main = sweep ? sweep->get_as<toml::table>("main") : nullptr;
    if (sweep && !of_main)
      mistakes->add(node->source(), "sweep.main",
                    "is missing, allowed is the main case: main = { name = value, ... }");
    if (of_main)
      for (const auto& [key, value] : *of_main) {
        Value v;
        if (to_value(value, &v))
          main[std::string(key.str())] = v;
        else
          mistakes->add(value.source(), "sweep.main." + std::string(key.str()),
                        "is not a number or a string");
      }
    // The table is sorted by key; the file's order is that of the lines.
    std::vector<std::pair<std::pair<unsigned, unsigned>, std::string>> order;
    if (of_main)
      for (const auto& [key, value] : *sweep)
        if (key.str() != "main")
          order.push_back(
              {{value.source().begin.line, value.source().begin.column}, std::string(key.str())});
    std::sort(order.begin(), order.end());
    for (const auto& [position, key] : order) {
      const toml::node& list = *sweep->get(key);
      const std::string field = "sweep." + key;
      if (!main.count(key))
        mistakes->add(list.source(), field,
                      "sweep.main has no \"" + key + "\", allowed are its keys");
      std::vector<Value> values;
      if (const toml::array* array = list.as_array())
        for (const toml::node& item : *array) {
          Value v;
          if (to_value(item, &v)) values.push_back(v);
        }
      if (values.empty() || values.size() != list.as_array()->size())
        mistakes->add(list.source(), field, "is not a list, allowed are numbers or strings");
      lists.emplace_back(key, values);
    }
    double cases = 1;
    for (const auto& [key, values] : lists) cases *= static_cast<double>(values.size());
    if (cases > kMaxCases)
      mistakes->add(node->source(), "sweep",
                    "has " + format_number(cases) + " cases, allowed are at most " +
                        std::to_string(kMaxCases));
  }
}

ScenarioFile::ScenarioFile(const std::string& path, const std::vector<std::string>& overrides)
    : ScenarioFile(path, read_file(path), overrides) {}

ScenarioFile::ScenarioFile(const std::string& path, const std::string& text,
                           const std::vector<std::string>& overrides)
    : document_(std::make_unique<Document>()) {
  document_->path = path;
  try {
    document_->table = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    throw_syntax(path, e);
  }
  document_->text = text;
  document_->overrides = overrides;
  const auto split = [](const std::string& item) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ScenarioError("--set " + item + ": is not key=value");
    return std::make_pair(item.substr(0, equals), item.substr(equals + 1));
  };
  const auto of_sweep = [](const std::string& key) {
    return key == "sweep" || key.rfind("sweep.", 0) == 0;
  };
  const auto apply = [&](const std::string& item) {
    const auto [key, value_text] = split(item);
    const std::string name = "--set " + item;
    toml::table value = parse_override(value_text, name);
    apply_override(document_->table, key, std::move(*value.get("value")), name);
  };
  // The sweep says which names are parameters, so its own keys come first.
  for (const std::string& item : overrides)
    if (of_sweep(split(item).first)) apply(item);
  Diagnostics mistakes(path);
  document_->read_sweep(&mistakes);
  mistakes.throw_if_any();

  for (const std::string& item : overrides) {
    const auto [key, value_text] = split(item);
    document_->set[key] = value_text;
    if (of_sweep(key)) continue;
    if (!document_->main.count(key)) {
      apply(item);
      continue;
    }
    const std::string name = "--set " + item;
    const toml::table value = parse_override(value_text, name);
    if (!to_value(*value.get("value"), &document_->main[key]))
      throw ScenarioError(name + ": is not a number or a string" +
                          (value.get("value")->is_array()
                               ? "; the values of a sweep are --set sweep." + key + "=[...]"
                               : ""));
  }
}

ScenarioFile::~ScenarioFile() = default;
ScenarioFile::ScenarioFile(ScenarioFile&&) noexcept = default;

const Parameters& ScenarioFile::main_parameters() const { return document_->main; }

std::vector<Parameters> ScenarioFile::sweep() const {
  if (document_->lists.empty()) return {};
  std::vector<Parameters> cases = {document_->main};
  for (const auto& [key, values] : document_->lists) {
    std::vector<Parameters> more;
    for (const Parameters& base : cases)
      for (const Value& value : values) {
        more.push_back(base);
        more.back()[key] = value;
      }
    cases = std::move(more);
  }
  if (std::find(cases.begin(), cases.end(), document_->main) == cases.end())
    cases.insert(cases.begin(), document_->main);
  return cases;
}

Scenario ScenarioFile::resolve(const Parameters& parameters) const {
  Diagnostics mistakes(document_->path);
  Scenario scenario = document_->read(parameters, &mistakes);
  document_->blame_overrides(parameters, &mistakes);
  mistakes.throw_if_any();
  return scenario;
}

// A mistake at a place of the file that is not there without the overrides is the fault of one of
// them: of the last one without which it is not there. (It took a value by ${...}, or it does not
// fit the key beside it.)
void ScenarioFile::Document::blame_overrides(const Parameters& parameters,
                                             Diagnostics* mistakes) const {
  const auto of_file = [&](const Diagnostics::Mistake& m) { return mistakes->of_file(m); };
  std::vector<Diagnostics::Mistake>& found = mistakes->found();
  for (size_t count = overrides.size(); count-- > 0;) {  // the file with ever fewer overrides
    if (std::none_of(found.begin(), found.end(), of_file)) return;
    Diagnostics fewer(path);
    try {
      const ScenarioFile file(
          path, text, {overrides.begin(), overrides.begin() + static_cast<std::ptrdiff_t>(count)});
      const Parameters& file_main = file.document_->main;
      Parameters own = parameters;
      for (auto& [name, value] : own) {
        // The main case's value; that of a sweep's list stays.
        const auto now = main.find(name);
        const auto then = file_main.find(name);
        if (now != main.end() && then != file_main.end() && value == now->second)
          value = then->second;
      }
      file.document_->read(own, &fewer);
    } catch (const ScenarioError&) {
      continue;  // they are not even read without the one left out
    }
    for (Diagnostics::Mistake& mistake : found) {
      if (!of_file(mistake) || fewer.has(mistake.what)) continue;
      mistake.line = 0;
      mistake.place = "--set " + overrides[count];
    }
  }
}

Scenario ScenarioFile::Document::read(const Parameters& parameters, Diagnostics* found) const {
  Diagnostics& mistakes = *found;
  const Substitution substitution(parameters);
  Section root(mistakes, substitution, &table, "", table.source());
  root.ignore("sweep");

  Scenario s;
  s.name = root.required_text("name", "the scenario's name");
  s.title = root.text("title", s.name);
  s.claim = root.text("claim", "");
  s.text = root.text("text", "");
  s.notes = root.texts("notes");
  s.trials = static_cast<int>(root.integer("trials", s.trials, 1, 100000));
  s.algorithms = root.texts("cc");
  if (const std::string mistake = algorithms_mistake(s.algorithms); !mistake.empty())
    root.complain("cc", mistake);
  s.subject = root.text("subject", "");
  s.focus_us = root.numbers("focus_us");
  if (!s.focus_us.empty() && (s.focus_us.size() != 2 || s.focus_us[0] >= s.focus_us[1]))
    root.complain("focus_us", "is not a view, allowed is [from, to] with from < to");

  s.topology = read_topology(root, path);

  std::set<std::string> ports;
  std::vector<Section> port_sections = root.sections("port");
  for (Section& section : port_sections) {
    const std::string port = section.required_text("name", "\"from->to\", two neighbours");
    if (!section.has("rate_gbps") && !section.has("extra_delay_steps"))
      section.complain("rate_gbps",
                       "is missing, allowed is a number from 0.001 to 1600, or extra_delay_steps");
    const double gbps = section.number("rate_gbps", 1, 0.001, 1600);
    const DelaySteps steps = read_delay_steps(section);
    if (!ports.insert(port).second) section.complain("name", "\"" + port + "\" was given before");
    if (section.has("rate_gbps")) s.topology.port_gbps[port] = gbps;
    if (section.has("extra_delay_steps")) s.topology.port_delay_steps[port] = steps;
    section.finish();
  }

  std::vector<Section> host_sections = root.sections("host");
  for (Section& section : host_sections)
    s.topology.host_links.push_back(read_host_link(section, path));

  Section hosts = root.section("hosts");
  s.hosts.mtu_bytes = static_cast<int>(hosts.integer("mtu", s.hosts.mtu_bytes, 576, 9000));
  s.hosts.quickack = hosts.boolean("quickack", s.hosts.quickack);
  s.hosts.ack_dscp = static_cast<int>(hosts.integer("ack_dscp", 0, 0, 63));
  s.hosts.initcwnd = static_cast<int>(hosts.integer("initcwnd", 0, 0, 65535));
  s.hosts.rto_min_ms = static_cast<int>(hosts.integer("rto_min_ms", 0, 0, 10000));
  s.hosts.gso = hosts.boolean("gso", s.hosts.gso);
  // A workload's connections have their windows opened for them, so a hello is enough.
  if (root.has("workload")) s.hosts.warm_bytes = kHelloBytes;
  s.hosts.warm_bytes = hosts.integer("warm_bytes", s.hosts.warm_bytes, 0, 100'000'000);
  s.hosts.line_rate = read_line_rate(hosts, s.hosts.line_rate);
  s.hosts.base_rtt = read_base_rtt(hosts, s.hosts.base_rtt);
  s.hosts.sysctls = hosts.text_map("sysctl");
  hosts.finish();

  Section algorithms = root.section("algorithms");
  for (const std::string& name : algorithms.keys()) {
    Section section = algorithms.section(name);
    AlgorithmSpec& spec = s.algorithm_specs[name];
    spec.cc = section.text("cc", name);
    spec.label = section.text("label", name);
    spec.note = section.text("note", "");
    spec.initcwnd = static_cast<int>(section.integer("initcwnd", 0, 0, 65535));
    section.ignore("line_rate");
    if (section.has("line_rate")) spec.line_rate = read_line_rate(section, s.hosts.line_rate);
    section.ignore("base_rtt");
    if (section.has("base_rtt")) spec.base_rtt = read_base_rtt(section, s.hosts.base_rtt);
    spec.sysctls = section.text_map("sysctl");
    Section senders = section.section("sender_sysctl");
    for (const std::string& group : senders.keys())
      spec.sender_sysctls[group] = senders.text_map(group);
    section.finish();
  }

  std::set<std::string> groups;
  std::vector<Section> flow_sections = root.sections("flows");
  Section workload = root.section("workload");
  const bool has_bottleneck =
      s.topology.kind != TopologyKind::kLeafSpine && s.topology.kind != TopologyKind::kFatTree;
  s.workload = read_workload(workload, path, has_bottleneck);
  if (flow_sections.empty() && !s.workload.present)
    root.complain("flows", "is missing, allowed is at least one [[flows]] or a [workload]");
  for (Section& section : flow_sections) {
    s.flows.push_back(read_flow(section, s.flows.size()));
    if (!groups.insert(s.flows.back().name).second)
      section.complain("name", "\"" + s.flows.back().name + "\" was given before");
  }
  const std::set<std::string> flow_groups = groups;
  for (const std::string& group : workload_groups(s.workload))
    if (!groups.insert(group).second)
      workload.complain("", "\"" + group +
                                "\" is also a group of [[flows]], allowed is another "
                                "name there or in class_names");
  if (root.has("main_metric")) s.main_metric = read_metric(root, "main_metric", s.workload);
  root.ignore("main_metric");
  std::string group_names;
  for (const std::string& g : groups) group_names += (group_names.empty() ? "" : ", ") + g;

  Section event = root.section("event");
  s.event = read_event(event);
  Section measure = root.section("measure");
  s.measure = read_measure(measure, !s.workload.present ? "all"
                                    : has_bottleneck    ? "bottleneck"
                                                        : "none");
  auto check_group = [&](Section& section, const char* key, const std::string& group) {
    if (!group.empty() && !groups.count(group))
      section.complain(key, "\"" + group + "\" is no flow group, allowed is one of " + group_names);
  };
  check_group(event, "stop_of", s.event.stop_of);
  check_group(event, "recovers", s.event.recovers);
  for (const Parameter& parameter : all_parameters())
    if (parameter.type == Parameter::Type::kGroup)
      check_group(measure, parameter.key, parameter.name(s.measure));
  for (const std::string& group : s.measure.flows) check_group(measure, "flows", group);
  if (s.event.present && s.event.at_ns > s.measure.duration_ns)
    event.complain("at_us", "is after the end, allowed is at most measure.duration_us");

  const std::map<std::string, std::vector<Value>> swept(lists.begin(), lists.end());
  for (Section& section : root.sections("expect")) {
    s.expectations.push_back(read_expectation(section, s.workload, swept));
    const Expectation& e = s.expectations.back();
    auto check_algorithm = [&](const char* key, const std::string& name) {
      if (!s.algorithm_specs.count(name) &&
          std::find(s.algorithms.begin(), s.algorithms.end(), name) == s.algorithms.end())
        section.complain(key, "\"" + name + "\" is not in cc and has no [algorithms] section");
    };
    check_algorithm("algorithm", e.algorithm);
    if (!e.of.empty() && e.of != e.algorithm) check_algorithm("of", e.of);
    if (e.of == e.algorithm && e.of_case.empty())
      section.complain("of", "is the algorithm itself, allowed is another one, or an of_case");
    std::string names;
    for (const auto& [name, value] : parameters) names += (names.empty() ? "" : ", ") + name;
    for (const auto& [name, value] : e.of_case)
      if (!parameters.count(name))
        section.complain("of_case", "\"" + name + "\" is no parameter, the [sweep] section has " +
                                        (names.empty() ? "none" : names));
  }
  std::vector<std::string> parameter_names;
  for (const auto& [name, value] : main) parameter_names.push_back(name);
  root.finish(parameter_names);
  std::string flow_group_names;
  for (const std::string& g : flow_groups)
    flow_group_names += (flow_group_names.empty() ? "" : ", ") + g;
  for (auto& [name, spec] : s.algorithm_specs) {
    Section section = algorithms.section(name);
    for (const auto& [group, sysctls] : spec.sender_sysctls)
      if (!flow_groups.count(group))
        section.complain("sender_sysctl", "\"" + group + "\" is no flow group, allowed is one of " +
                                              flow_group_names);
  }
  if (!mistakes.any())
    check_network(s, root, port_sections, host_sections, flow_sections, workload);
  if (s.subject.empty() && !s.algorithms.empty()) s.subject = s.algorithms.front();
  s.overrides = set;
  return s;
}

void ScenarioFile::check_algorithms(const Scenario& s, const std::string& option,
                                    const std::vector<std::string>& asked,
                                    const std::vector<std::string>& known) const {
  Diagnostics mistakes(document_->path);
  std::vector<std::string> names = known;
  for (const auto& [name, spec] : s.algorithm_specs) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const toml::table& table = document_->table;
  const auto check = [&](const std::string& name, const toml::node* node,
                         const std::string& field) {
    const std::string cc = s.algorithm(name).cc;
    if (std::find(known.begin(), known.end(), cc) != known.end()) return;
    const bool renamed = cc != name;
    const toml::node* spec = table.at_path("algorithms." + name + ".cc").node();
    const std::string what = "\"" + cc + "\" is no algorithm that is there, allowed is one of " +
                             listed(renamed ? known : names) +
                             nearest_text(cc, renamed ? known : names);
    if (renamed && spec)
      mistakes.add(spec->source(), "algorithms." + name + ".cc", what);
    else if (node)
      mistakes.add(node->source(), field, what);
    else
      throw ScenarioError(field + ": " + what);
  };
  for (const std::string& name : asked) check(name, nullptr, option);
  if (asked.empty())
    for (const std::string& name : s.algorithms) check(name, table.get("cc"), "cc");
  for (size_t i = 0; i < s.flows.size(); i++) {
    const std::string field = "flows[" + std::to_string(i) + "]";
    if (!s.flows[i].cc.empty())
      check(s.flows[i].cc, table.at_path(field + ".cc").node(), field + ".cc");
  }
  mistakes.throw_if_any();
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include <linux/types.h>

#include "bpf/command.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/suggest.h"
#include "bpf/loader.h"
#include "bpf/modules.h"
#include "command_line.h"
#include "dcc_cc.h"
#include "manual.h"
#include "scenario/scenario_file.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kCgroupObject[] = "cgroup";
constexpr char kCountObject[] = "count";
constexpr char kStampsObject[] = "stamps";
constexpr char kObjectEnd[] = ".bpf.o";
constexpr uint32_t kMaxPriority = 0x7fffffff;

// The algorithms that there are objects for.
std::vector<std::string> objects() {
  std::vector<std::string> names;
  std::error_code error;
  const fs::directory_iterator entries(bpf_folder(), error);
  if (error == std::errc::permission_denied)
    throw Error(
        fmt::format("the BPF objects' folder {} is not for this user: {}; run it as root, or "
                    "give the user access to it and to the folders above it",
                    bpf_folder().string(), error.message()));
  for (const auto& entry : entries) {
    const std::string file = entry.path().filename();
    const size_t end = file.rfind(kObjectEnd);
    const std::string name = file.substr(0, end);
    if (end != std::string::npos && name != kCgroupObject && name != kCountObject &&
        name != kStampsObject)
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string object_file(const std::string& name) {
  return (bpf_folder() / (name + kObjectEnd)).string();
}

// Throws for what there is no object for.
std::string find_object(const std::string& name) {
  const std::vector<std::string> names = objects();
  if (names.empty())
    throw Error(fmt::format(
        "there are no BPF objects in {}: \"make\" builds them, where clang, bpftool and the "
        "kernel's type information (/sys/kernel/btf/vmlinux) are there",
        bpf_folder().string()));
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw BpfInputError(fmt::format("{}: there is no such BPF program, there are {}{}", name,
                                    fmt::join(names, ", "), nearest_text(name, names)));
  return object_file(name);
}

std::vector<BpfSetting> parse_settings(const std::vector<std::string>& texts) {
  std::vector<BpfSetting> settings;
  for (const std::string& text : texts) settings.push_back(parse_bpf_setting(text));
  return settings;
}

// ---- load, unload, set, paths, cgroup ---------------------------------------

int load(const BpfArguments& arguments) {
  BpfLoadOptions options;
  options.settings = parse_settings(arguments.settings);
  options.pin = arguments.pin;
  options.speeds_mbps = device_speeds_mbps();
  const std::string file = find_object(arguments.name);
  const bool told =
      std::any_of(options.settings.begin(), options.settings.end(),
                  [](const BpfSetting& s) { return s.first == "line_rate_mbps" && s.second > 0; });
  const BpfAlgorithm algorithm = load_bpf(file, options);
  if (!arguments.cgroup.empty()) {
    try {
      attach_bpf_cgroup(object_file(kCgroupObject), arguments.cgroup, algorithm.kernel,
                        arguments.priority);
    } catch (...) {
      unload_bpf(algorithm);
      throw;
    }
  }
  fmt::print("{} is in the kernel ({} programs; the verifier looked at {} instructions)\n",
             algorithm.kernel, algorithm.programs, algorithm.instructions);
  if (told) {
    fmt::print("line rate: as set, for all sockets\n");
  } else {
    for (const auto& [device, mbps] : options.speeds_mbps)
      fmt::print("line rate of {}: {} Mbit/s, as it says\n", device, mbps);
    fmt::print("line rate of any other device: {} Mbit/s, a guess; --set line_rate_mbps tells it\n",
               kUnsaidSpeedMbps);
  }
  if (arguments.cgroup.empty())
    fmt::print(
        "use it: sysctl -w net.ipv4.tcp_congestion_control={0}   (this namespace's new sockets)\n"
        "    or: ip route change ... congctl {0}   or: setsockopt(TCP_CONGESTION, \"{0}\")\n"
        "    or: delaycc cgroup /sys/fs/cgroup/... --cc {0}\n",
        algorithm.kernel);
  else
    fmt::print("new sockets of {} use it\n", arguments.cgroup);
  return 0;
}

int unload(const BpfArguments& arguments) {
  std::vector<BpfAlgorithm> wanted;
  if (arguments.all)
    wanted = loaded_bpf();
  else
    wanted.push_back(find_bpf(arguments.name));
  // The cgroups that send sockets to it would find nothing there.
  for (const BpfAlgorithm& algorithm : wanted)
    for (const auto& [cgroup, what] : bpf_cgroups())
      if (what.substr(0, what.find_first_of(",;")) == algorithm.kernel) {
        detach_bpf_cgroup(cgroup);
        fmt::print("{}: its sockets are no longer sent to {}\n", cgroup, algorithm.kernel);
      }
  for (const BpfAlgorithm& algorithm : wanted) {
    unload_bpf(algorithm);
    fmt::print("{} is off the kernel's list{}\n", algorithm.kernel,
               algorithm.users > 0
                   ? fmt::format("; {} sockets keep it until they close", algorithm.users)
                   : "");
  }
  return 0;
}

int set(const BpfArguments& arguments) {
  set_bpf(find_bpf(arguments.name), parse_settings(arguments.settings));
  return 0;
}

int learnt_paths(const BpfAlgorithm& algorithm, bool clear) {
  if (clear) {
    forget_bpf_memory(algorithm);
    return 0;
  }
  for (const BpfMemory& m : bpf_memory(algorithm))
    fmt::print("{} {} {} {} {} {}\n", m.address, m.base_rtt_ns, m.noise_ns, m.wire_bytes, m.age_s,
               m.netns);
  return 0;
}

int paths(const BpfArguments& arguments) {
  const BpfAlgorithm algorithm = find_bpf(arguments.name);
  if (arguments.learnt) return learnt_paths(algorithm, arguments.clear);
  std::vector<BpfPath> wanted;
  if (arguments.clear)
    for (const BpfPath& path : bpf_paths(algorithm)) wanted.push_back({path.prefix});
  for (const std::string& word : arguments.words)
    wanted.push_back(arguments.remove ? BpfPath{word} : parse_bpf_path(word));
  if (arguments.remove && arguments.words.empty())
    throw BpfInputError("--delete: name the prefixes");
  if (!wanted.empty()) {
    set_bpf_paths(algorithm, wanted);
    return 0;
  }
  if (!arguments.clear)
    for (const BpfPath& path : bpf_paths(algorithm)) fmt::print("{}\n", bpf_path_text(path));
  return 0;
}

int cgroup(const BpfArguments& arguments) {
  if (arguments.remove) {
    if (!detach_bpf_cgroup(arguments.cgroup))
      throw BpfInputError(arguments.cgroup + ": has nothing of delaycc attached");
    return 0;
  }
  if (arguments.name.empty() && arguments.priority < 0)
    throw BpfInputError("give --cc, --priority or both, or --detach");
  attach_bpf_cgroup(object_file(kCgroupObject), arguments.cgroup, arguments.name,
                    arguments.priority);
  return 0;
}

int count(const BpfArguments& arguments) {
  if (!arguments.remove) {
    attach_bpf_count(object_file(kCountObject), arguments.cgroup, arguments.active_us);
  } else if (!detach_bpf_count(arguments.cgroup)) {
    throw BpfInputError(arguments.cgroup + ": has nothing of delaycc attached");
  }
  return 0;
}

int stamps(const BpfArguments& arguments) {
  if (!arguments.remove) {
    attach_bpf_stamps(object_file(kStampsObject), arguments.name);
    fmt::print("{}: ACKs arrive when it stamps them; \"delaycc status\" counts its stamps\n",
               arguments.name);
  } else if (!detach_bpf_stamps(arguments.name)) {
    throw BpfInputError(arguments.name + ": its stamps are not used");
  }
  return 0;
}

// ---- status -------------------------------------------------------------------

// 0 where the program is of another build and does not count that.
uint64_t count_of(const std::map<std::string, uint64_t>& counters, const char* name) {
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second;
}

using Stamps = std::map<std::string, std::map<std::string, uint64_t>>;

json status_json(const std::vector<BpfAlgorithm>& all, const Stamps& stamps) {
  json list = json::array();
  for (const BpfAlgorithm& a : all) {
    json settings = json::object(), where = json::object();
    for (size_t i = 0; i < a.parameters.size(); i++) settings[a.parameters[i].name] = a.values[i];
    for (const BpfPath& path : bpf_paths(a))
      where[path.prefix] = {{"base_rtt_ns", path.base_rtt_ns}, {"noise_ns", path.noise_ns}};
    list.push_back({{"name", a.name},
                    {"kernel_name", a.kernel},
                    {"version", a.version},
                    {"users", a.users},
                    {"programs", a.programs},
                    {"arrivals", stamps.empty() ? "tcp" : "devices"},
                    {"verified_instructions", a.instructions},
                    {"counters", a.counters},
                    {"settings", settings},
                    {"base_rtt_paths", where}});
  }
  return {{"algorithms", list}, {"cgroups", bpf_cgroups()}, {"stamps", stamps}};
}

int status(const BpfArguments& arguments) {
  const std::vector<BpfAlgorithm> all = loaded_bpf();
  const Stamps stamps = bpf_stamps();
  if (arguments.json) {
    fmt::print("{}\n", status_json(all, stamps).dump(1));
    return 0;
  }
  if (all.empty())
    fmt::print("no algorithm is loaded; delaycc load NAME, of {}\n", fmt::join(objects(), ", "));
  for (const BpfAlgorithm& a : all) {
    fmt::print(
        "{}  (delaycc {}, {} instructions verified)\n  users     {} (sockets, and namespaces whose "
        "default it is)\n",
        a.kernel, a.version, a.instructions, a.users);
    fmt::print(
        "  RTT       {}\n",
        stamps.empty()
            ? "by TCP's clock; no stamps of devices (delaycc stamps DEV)"
            : fmt::format("until the device stamped the ACK for {} of {} ACKs, else by TCP's clock",
                          count_of(a.counters, "stamps_hit"), count_of(a.counters, "acks")));
    fmt::print("  since load");
    for (const auto& [name, count] : a.counters) fmt::print(" {} {}", name, count);
    fmt::print("\n");
    for (size_t i = 0; i < a.parameters.size(); i++) {
      const BpfParameter& p = a.parameters[i];
      fmt::print("  {:<22} {:>10}   {} to {}{}\n", p.name, a.values[i], p.min, p.max,
                 p.zero_ok && p.min > 0 ? ", or 0" : "");
    }
    for (const BpfPath& path : bpf_paths(a)) {
      fmt::print("  base RTT of {:<22} {}", path.prefix,
                 path.base_rtt_ns > 0 ? fmt::format("{} ns", path.base_rtt_ns) : "measured");
      if (path.noise_ns > 0) fmt::print(", noise {} ns", path.noise_ns);
      fmt::print("\n");
    }
  }
  for (const auto& [cgroup, what] : bpf_cgroups()) fmt::print("cgroup {}: {}\n", cgroup, what);
  for (const auto& [device, counts] : stamps)
    fmt::print("stamps of {}: {} segments had one, {} had none\n", device,
               count_of(counts, "stamped"), count_of(counts, "unstamped"));
  return 0;
}

// ---- top ------------------------------------------------------------------------

// A flow at a look; the rate is of the time since the look before.
struct ShownFlow {
  dcc_flow flow;
  bool of_module = false;  // what only a program tells is missing
  double rate_bps = 0;
};

std::string address_of(const dcc_flow& f, const uint8_t* address, uint16_t port) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (f.family == AF_INET) {
    inet_ntop(AF_INET, address, text, sizeof(text));
    return fmt::format("{}:{}", text, port);
  }
  in6_addr six;
  memcpy(&six, address, sizeof(six));
  if (IN6_IS_ADDR_V4MAPPED(&six)) {
    inet_ntop(AF_INET, address + 12, text, sizeof(text));
    return fmt::format("{}:{}", text, port);
  }
  inet_ntop(AF_INET6, address, text, sizeof(text));
  return fmt::format("[{}]:{}", text, port);
}

std::string flow_name(const dcc_flow& f) {
  return address_of(f, f.saddr, f.sport) + " > " + address_of(f, f.daddr, f.dport);
}

// The queue that the newest packet met, with what hosts and network added.
double delay_ns(const dcc_flow& f) {
  return f.rtt_ns > f.base_rtt_ns ? static_cast<double>(f.rtt_ns - f.base_rtt_ns) : 0;
}

struct Column {
  const char* key;
  const char* head;
  int width;
  double (*value)(const ShownFlow&);
  int digits;
  bool of_program = false;  // not known of a module's flow
};

constexpr Column kColumns[] = {
    {"rate", "Gbit/s", 8, [](const ShownFlow& s) { return s.rate_bps / 1e9; }, 3},
    {"share", "share,%", 8,
     [](const ShownFlow& s) {
       return s.flow.line_rate_bps ? 100.0 * static_cast<double>(s.flow.pace_bps) /
                                         static_cast<double>(s.flow.line_rate_bps)
                                   : 0;
     },
     2},
    {"rtt", "RTT,us", 10, [](const ShownFlow& s) { return s.flow.rtt_ns / 1000.0; }, 1},
    {"delay", "delay,us", 10, [](const ShownFlow& s) { return delay_ns(s.flow) / 1000.0; }, 1},
    {"base", "base,us", 10, [](const ShownFlow& s) { return s.flow.base_rtt_ns / 1000.0; }, 1},
    {"gradient", "gradient", 9, [](const ShownFlow& s) { return s.flow.gradient_q16 / 65536.0; }, 3,
     true},
    {"window", "window", 9,
     [](const ShownFlow& s) { return static_cast<double>(s.flow.cwnd_q16) / 65536.0; }, 2},
    {"branch", "branch", 7, [](const ShownFlow& s) { return static_cast<double>(s.flow.branch); },
     0, true},
    {"priority", "prio", 5, [](const ShownFlow& s) { return static_cast<double>(s.flow.priority); },
     0, true},
    {"retrans", "retrans", 8,
     [](const ShownFlow& s) { return static_cast<double>(s.flow.total_retrans); }, 0},
};

bool has(const ShownFlow& s, const Column& c) { return !s.of_module || !c.of_program; }

// The column's figure, or nothing where it is not known.
std::string text_of(const ShownFlow& s, const Column& c) {
  return has(s, c) ? fmt::format("{:.{}f}", c.value(s), c.digits) : "";
}

std::string state_of(const dcc_flow& f) {
  return f.probe_ns ? "stopped" : f.packets_out ? "sends" : "idle";
}

json flow_json(const ShownFlow& s) {
  json row = {{"flow", flow_name(s.flow)},   {"algorithm", s.flow.algorithm},
              {"state", state_of(s.flow)},   {"line_rate_bps", s.flow.line_rate_bps},
              {"pace_bps", s.flow.pace_bps}, {"netns", s.flow.netns},
              {"cookie", s.flow.cookie},     {"receivers_flows", s.flow.flows}};
  for (const Column& c : kColumns) row[c.key] = has(s, c) ? json(c.value(s)) : json();
  return row;
}

// Text format of Prometheus, for node_exporter's textfile collector; written as a whole or not at
// all.
std::string prometheus_text(const std::vector<BpfAlgorithm>& all,
                            const std::vector<ShownFlow>& flows) {
  std::string text;
  const auto begin = [&](const char* name, const char* kind, const char* help) {
    text += fmt::format("# HELP delaycc_{0} {1}\n# TYPE delaycc_{0} {2}\n", name, help, kind);
  };
  const auto each = [&](const char* name, const std::string& algorithm, double value) {
    text += fmt::format("delaycc_{}{{algorithm=\"{}\"}} {}\n", name, algorithm, value);
  };
  const auto over_flows = [&](const std::string& algorithm, auto take, double from) {
    double result = from;
    for (const ShownFlow& s : flows)
      if (algorithm == s.flow.algorithm) result = take(result, s);
    return result;
  };
  std::set<std::string> names;
  for (const BpfAlgorithm& a : all) names.insert(a.kernel);
  for (const ShownFlow& s : flows) names.insert(s.flow.algorithm);
  begin("flows", "gauge", "Open sockets that run the algorithm.");
  for (const std::string& name : names)
    each("flows", name,
         over_flows(
             name, [](double n, const ShownFlow&) { return n + 1; }, 0));
  begin("stopped_flows", "gauge", "Flows of a BPF program that have stopped and probe.");
  for (const BpfAlgorithm& a : all)
    each("stopped_flows", a.kernel,
         over_flows(
             a.kernel, [](double n, const ShownFlow& s) { return n + (s.flow.probe_ns != 0); }, 0));
  begin("delay_max_seconds", "gauge", "Largest delay over the base RTT among the flows.");
  for (const std::string& name : names)
    each("delay_max_seconds", name,
         over_flows(
             name, [](double m, const ShownFlow& s) { return std::max(m, delay_ns(s.flow) / 1e9); },
             0));
  for (const auto& [key, help] : std::initializer_list<std::pair<const char*, const char*>>{
           {"sockets", "Sockets that it has served."},
           {"refused", "Sockets left to reno, for want of a line rate."},
           {"losses", "Fast recoveries."},
           {"timeouts", "Retransmission timeouts."},
           {"acks", "ACKs that the algorithm saw."}}) {
    const std::string name = fmt::format("{}_total", key);
    begin(name.c_str(), "counter", help);
    for (const BpfAlgorithm& a : all) {
      const auto found = a.counters.find(key);
      if (found != a.counters.end())
        each(name.c_str(), a.kernel, static_cast<double>(found->second));
    }
  }
  return text;
}

class Top {
 public:
  explicit Top(const BpfArguments& arguments) : arguments_(arguments) {
    const auto* found = std::find_if(std::begin(kColumns), std::end(kColumns),
                                     [&](const Column& c) { return arguments.sort == c.key; });
    sort_ = found != std::end(kColumns) ? found : nullptr;
  }

  void look() {
    const auto now = std::chrono::steady_clock::now();
    std::vector<ShownFlow> flows;
    for (const dcc_flow& flow : module_flows())
      if (is_wanted(flow.algorithm)) flows.push_back({flow, true, 0});
    std::vector<BpfAlgorithm> all;
    uint64_t served = 0;
    try {
      for (BpfAlgorithm& a : loaded_bpf())
        if (is_wanted(a.name)) all.push_back(std::move(a));
    } catch (const BpfUnsupported&) {
      // Modules need no BPF.
      if (flows.empty()) throw;
    }
    for (const std::string& name : arguments_.names)
      if (!is_registered(name) && std::none_of(all.begin(), all.end(), [&](const BpfAlgorithm& a) {
            return a.name == name;
          }))
        find_bpf(name);
    for (const BpfAlgorithm& a : all) {
      for (const dcc_flow& flow : bpf_flows(a, object_file(a.name)))
        flows.push_back({flow, false, 0});
      const auto counted = a.counters.find("sockets");
      if (counted != a.counters.end()) served += counted->second;
    }
    std::map<uint64_t, uint64_t> bytes;
    uint64_t began = 0;
    const double seconds = looks_ ? std::chrono::duration<double>(now - last_).count() : 0;
    for (ShownFlow& s : flows) {
      const auto before = bytes_.find(s.flow.cookie);
      bytes[s.flow.cookie] = s.flow.bytes_acked;
      if (before == bytes_.end())
        began += !s.of_module;
      else if (seconds > 0)
        s.rate_bps = static_cast<double>(s.flow.bytes_acked - before->second) * 8 / seconds;
    }
    // Those that began and ended since the look before.
    const uint64_t unseen = looks_ && served >= served_ + began ? served - served_ - began : 0;
    bytes_ = std::move(bytes);
    last_ = now;
    served_ = served;
    looks_++;
    if (!arguments_.prometheus.empty())
      write_file_atomically(arguments_.prometheus, prometheus_text(all, flows));
    show(flows, unseen);
  }

 private:
  bool is_wanted(const std::string& name) const {
    return arguments_.names.empty() ||
           std::count(arguments_.names.begin(), arguments_.names.end(), name);
  }

  void show(std::vector<ShownFlow>& flows, uint64_t unseen) {
    const size_t total = flows.size();
    if (!arguments_.filter.empty())
      flows.erase(std::remove_if(flows.begin(), flows.end(),
                                 [&](const ShownFlow& s) {
                                   const std::string text =
                                       fmt::format("{} {} {}", flow_name(s.flow), s.flow.algorithm,
                                                   state_of(s.flow));
                                   return text.find(arguments_.filter) == std::string::npos;
                                 }),
                  flows.end());
    std::stable_sort(flows.begin(), flows.end(), [&](const ShownFlow& a, const ShownFlow& b) {
      return sort_ ? sort_->value(a) > sort_->value(b) : flow_name(a.flow) < flow_name(b.flow);
    });
    if (arguments_.json) {
      json rows = json::array();
      for (const ShownFlow& s : flows) rows.push_back(flow_json(s));
      fmt::print("{}\n", json({{"look", looks_}, {"flows", rows}, {"unseen", unseen}}).dump());
    } else if (arguments_.csv) {
      if (looks_ == 1) {
        fmt::print("look,flow,algorithm,state");
        for (const Column& c : kColumns) fmt::print(",{}", c.key);
        fmt::print("\n");
      }
      for (const ShownFlow& s : flows) {
        fmt::print("{},{},{},{}", looks_, flow_name(s.flow), s.flow.algorithm, state_of(s.flow));
        for (const Column& c : kColumns) fmt::print(",{}", text_of(s, c));
        fmt::print("\n");
      }
    } else if (arguments_.prometheus.empty()) {
      table(flows, total, unseen);
    }
    std::fflush(stdout);
  }

  void table(const std::vector<ShownFlow>& flows, size_t total, uint64_t unseen) {
    size_t rows = arguments_.rows > 0 ? static_cast<size_t>(arguments_.rows) : 1000;
    if (isatty(STDOUT_FILENO)) {
      winsize size = {};
      if (arguments_.rows == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4)
        rows = size.ws_row - 3u;
      fmt::print("\033[H\033[2J");
    }
    fmt::print("{} flows, {} shown; {} began and ended unseen since the last look\n", total,
               std::min(rows, flows.size()), unseen);
    fmt::print("{:<44} {:<15} {:<8}", "flow", "algorithm", "state");
    for (const Column& c : kColumns) fmt::print("{:>{}}", c.head, c.width);
    fmt::print("\n");
    for (size_t i = 0; i < std::min(rows, flows.size()); i++) {
      const ShownFlow& s = flows[i];
      fmt::print("{:<44} {:<15} {:<8}", flow_name(s.flow), s.flow.algorithm, state_of(s.flow));
      for (const Column& c : kColumns) fmt::print("{:>{}}", text_of(s, c), c.width);
      fmt::print("\n");
    }
  }

  const BpfArguments& arguments_;
  const Column* sort_;
  std::map<uint64_t, uint64_t> bytes_;
  std::chrono::steady_clock::time_point last_;
  uint64_t served_ = 0;
  int looks_ = 0;
};

int top(const BpfArguments& arguments) {
  stop_at_signals();
  Top top(arguments);
  for (int n = 1; !stop_requested; n++) {
    top.look();
    if (arguments.count > 0 && n >= arguments.count) break;
    poll(nullptr, 0, static_cast<int>(arguments.interval_s * 1000));
  }
  return 0;
}

std::vector<std::string> sort_keys() {
  std::vector<std::string> keys = {"name"};
  for (const Column& c : kColumns) keys.emplace_back(c.key);
  return keys;
}

}  // namespace

void add_bpf_commands(CLI::App& app, BpfArguments& arguments) {
  const auto name = [&](CLI::App* command) {
    return command->add_option("name", arguments.name,
                               "an algorithm that is loaded, \"delaycc status\" shows them");
  };
  CLI::App* command = app.add_subcommand(
      "load", "put an algorithm into this kernel as a BPF program: no module, no reboot");
  command
      ->add_option("name", arguments.name,
                   "oscar, swift, prioplus ...; its name in the kernel is bpf_NAME")
      ->required();
  command
      ->add_option("--set", arguments.settings,
                   "KEY=NUMBER: a parameter, named as the modules' sysctls")
      ->allow_extra_args(false);
  command->add_flag("--pin", arguments.pin,
                    fmt::format("its maps as files in {}/NAME, for other programs", kBpfPins));
  command->add_option("--cgroup", arguments.cgroup, "new sockets of this cgroup (version 2) use it")
      ->type_name(kFolder);
  command->add_option("--priority", arguments.priority, "of that cgroup's sockets (SO_PRIORITY)")
      ->check(CLI::Range(uint32_t{0}, kMaxPriority))
      ->needs("--cgroup");

  command =
      app.add_subcommand("unload", "take an algorithm off the kernel's list; open sockets keep it");
  CLI::Option* unloaded = name(command);
  command->add_flag("--all", arguments.all, "all that delaycc has loaded")->excludes(unloaded);

  command =
      app.add_subcommand("set", "change parameters of a loaded algorithm; open sockets follow");
  name(command)->required();
  command->add_option("settings", arguments.settings, "KEY=NUMBER ...")->required();

  command = app.add_subcommand(
      "paths", "base RTT and noise of destinations, for a loaded algorithm: shows or sets them");
  name(command)->required();
  CLI::Option* words = command->add_option(
      "paths", arguments.words,
      "PREFIX=NANOSECONDS[,NOISE] ...: 10.0.1.0/24=8000,1500; with --delete PREFIX ...");
  CLI::Option* remove = command->add_flag("--delete", arguments.remove, "take these prefixes away");
  command->add_flag("--clear", arguments.clear, "take all away first")->excludes(remove);
  command
      ->add_flag("--learnt", arguments.learnt,
                 "what connections have measured: address, base RTT and noise in ns, bytes of a "
                 "full packet, age in s, inode of the namespace; with --clear forgets it")
      ->excludes(remove)
      ->excludes(words);

  command = app.add_subcommand("cgroup",
                               "what new sockets of a cgroup begin with: an algorithm, a priority");
  command->add_option("folder", arguments.cgroup, "of the cgroup file system, version 2")
      ->required();
  CLI::Option* cc = command->add_option(
      "--cc", arguments.name, "any algorithm that the kernel has: bpf_oscar, oscar, cubic");
  CLI::Option* priority =
      command->add_option("--priority", arguments.priority, "SO_PRIORITY, which PrioPlus goes by");
  priority->check(CLI::Range(uint32_t{0}, kMaxPriority));
  command->add_flag("--detach", arguments.remove, "take that away again")
      ->excludes(cc)
      ->excludes(priority);

  command = app.add_subcommand(
      "count", "the receiver's count of flows, in the ACKs of a cgroup's new sockets: for SQCC");
  command->add_option("folder", arguments.cgroup, "of the cgroup file system, version 2")
      ->required();
  CLI::Option* active =
      command->add_option("--active-us", arguments.active_us,
                          "a flow counts if its newest data is not older than this (10000)");
  command->add_flag("--detach", arguments.remove, "take that away again")->excludes(active);

  command = app.add_subcommand("stamps",
                               "take the arrivals of ACKs from a network device's own time stamps");
  command->add_option("device", arguments.name, "eth0: one that stamps all packets it receives")
      ->required();
  command->add_flag("--off", arguments.remove, "no longer, and have it stamp what it did before");

  command = app.add_subcommand("status",
                               "which algorithms are loaded, who uses them, with what parameters");
  command->add_flag("--json", arguments.json, "as JSON");

  command = app.add_subcommand(
      "top", "the flows of loaded algorithms, and of modules in this namespace, live");
  command->add_option("names", arguments.names, "of these algorithms alone");
  command->add_option("--sort", arguments.sort, "by this column, the largest first (default rate)")
      ->check(CLI::IsMember(sort_keys()));
  command
      ->add_option("--filter", arguments.filter,
                   "flows whose addresses, algorithm or state have this text")
      ->type_name("TEXT");
  command->add_option("--interval", arguments.interval_s, "seconds between two looks (default 1)")
      ->check(CLI::Range(0.01, 86400.0));
  command->add_option("--count", arguments.count, "looks; without it until interrupted")
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option("--rows", arguments.rows,
                   "flows that are shown (default: what the terminal has)")
      ->check(CLI::Range(1, 1000000));
  CLI::Option* csv = command->add_flag("--csv", arguments.csv, "as lines of CSV");
  command->add_flag("--json", arguments.json, "one JSON object per look")->excludes(csv);
  command
      ->add_option("--prometheus", arguments.prometheus,
                   "write metrics into this file, for node_exporter's textfile collector")
      ->type_name("FILE");
}

int run_bpf(const CLI::App& app, BpfArguments& arguments) {
  static const std::pair<const char*, int (*)(const BpfArguments&)> kCommands[] = {
      {"load", load},     {"unload", unload}, {"set", set},
      {"paths", paths},   {"cgroup", cgroup}, {"count", count},
      {"stamps", stamps}, {"status", status}, {"top", top}};
  for (const auto& [name, run] : kCommands) {
    if (!app.got_subcommand(name)) continue;
    if (!strcmp(name, "unload") && arguments.name.empty() && !arguments.all)
      throw ScenarioError("unload: name an algorithm, or --all");
    try {
      return run(arguments);
    } catch (const BpfInputError& e) {
      throw ScenarioError(std::string(name) + ": " + e.what());
    }
  }
  return -1;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "calibrate_command.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/ip_prefix.h"
#include "base/posix.h"
#include "base/suggest.h"
#include "calibrate/apply.h"
#include "calibrate/measure.h"
#include "calibrate/settings.h"
#include "command_line.h"
#include "manual.h"
#include "scenario/scenario_file.h"

namespace delaycc {
namespace {

using nlohmann::ordered_json;

constexpr size_t kPictureRows = 10;
constexpr int64_t kInStepNs = 1'000'000;  // clocks that are this near keep step with each other
constexpr double kQuantiles[] = {0.5, 0.99, kNoiseQuantile};

// The address of a host, of a name the one that programs try first; throws ScenarioError.
std::string address_of(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0)
    throw ScenarioError(host + ": is neither a network device here nor a host with an address: " +
                        gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> first(found, freeaddrinfo);
  char text[NI_MAXHOST];
  if (const int failed = getnameinfo(first->ai_addr, first->ai_addrlen, text, sizeof(text), nullptr,
                                     0, NI_NUMERICHOST);
      failed != 0)
    throw Error(host + ": " + gai_strerror(failed));
  return text;
}

// The next hop of IPv4's default route through a device; empty: none.
std::string ipv4_gateway_of(const std::string& device) {
  std::istringstream lines(read_file("/proc/self/net/route"));
  std::string line;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name, destination, gateway;
    words >> name >> destination >> gateway;
    const auto hop = static_cast<uint32_t>(std::strtoul(gateway.c_str(), nullptr, 16));
    if (name != device || destination != "00000000" || hop == 0) continue;
    char text[INET_ADDRSTRLEN];
    const in_addr address = {hop};
    inet_ntop(AF_INET, &address, text, sizeof(text));
    return text;
  }
  return "";
}

// The same of IPv6. An address of the link alone has the device with it.
std::string ipv6_gateway_of(const std::string& device) {
  // A kernel without IPv6 has no such file.
  std::ifstream lines("/proc/self/net/ipv6_route");
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string destination, bits, source, source_bits, gateway, rest[4], name;
    words >> destination >> bits >> source >> source_bits >> gateway;
    for (std::string& number : rest) words >> number;  // metric, references, uses, flags
    words >> name;
    in6_addr hop = {};
    if (name != device || bits != "00" || gateway.size() != 2 * sizeof(hop)) continue;
    for (size_t i = 0; i < sizeof(hop); i++)
      hop.s6_addr[i] =
          static_cast<uint8_t>(std::strtoul(gateway.substr(2 * i, 2).c_str(), nullptr, 16));
    if (IN6_IS_ADDR_UNSPECIFIED(&hop)) continue;
    char text[INET6_ADDRSTRLEN];
    inet_ntop(AF_INET6, &hop, text, sizeof(text));
    return IN6_IS_ADDR_LINKLOCAL(&hop) ? text + ("%" + device) : text;
  }
  return "";
}

// The next hop of the default route through a device; throws ScenarioError where there is none.
std::string gateway_of(const std::string& device) {
  std::string gateway = ipv4_gateway_of(device);
  if (gateway.empty()) gateway = ipv6_gateway_of(device);
  if (gateway.empty())
    throw ScenarioError(device +
                        ": has no default route to measure; name a host that is behind it");
  return gateway;
}

int64_t number_in(const std::string& path, int64_t otherwise) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : otherwise;
}

std::vector<std::string> chosen_algorithms(const std::vector<std::string>& lists) {
  const std::vector<std::string>& all = calibrated_algorithms();
  if (lists.empty()) {
    std::vector<std::string> loaded;
    for (const std::string& name : all)
      if (has_sysctl(kSysctlFolder, name)) loaded.push_back(name);
    if (!loaded.empty()) return loaded;
    // Each rule once: prioplus_ledbat has prioplus's.
    return {all.begin(), all.end() - 1};
  }
  std::vector<std::string> names = split_names("--cc", lists);
  for (const std::string& name : names)
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw ScenarioError(
          fmt::format("--cc: \"{}\" has no settings to calibrate, allowed is one of {}{}", name,
                      fmt::join(all, ", "), nearest_text(name, all)));
  return names;
}

// What --prefix says; throws ScenarioError.
std::optional<IpPrefix> chosen_prefix(const std::string& text) {
  if (text.empty()) return std::nullopt;
  try {
    return parse_ip_prefix(text);
  } catch (const PrefixError& e) {
    throw ScenarioError(std::string("--prefix: ") + e.what());
  }
}

double us(int64_t ns) { return static_cast<double>(ns) / 1e3; }

double gbps(int64_t bps) { return static_cast<double>(bps) / 1e9; }

// Above the smallest; both sorted.
std::vector<int64_t> above(const std::vector<int64_t>& sorted, int64_t smallest_ns) {
  std::vector<int64_t> noise;
  for (const int64_t ns : sorted) noise.push_back(std::max<int64_t>(ns - smallest_ns, 0));
  return noise;
}

std::string quantiles_text(const std::vector<int64_t>& sorted) {
  std::string text;
  for (const double share : kQuantiles)
    text += fmt::format("p{:g} {:.2f}  ", share * 100, us(quantile_ns(sorted, share)));
  return text + fmt::format("largest {:.2f} us", us(sorted.back()));
}

ordered_json distribution_json(const std::vector<int64_t>& sorted) {
  if (sorted.empty()) return nullptr;
  double sum = 0;
  for (const int64_t ns : sorted) sum += static_cast<double>(ns);
  return {{"n", sorted.size()},
          {"smallest_ns", sorted.front()},
          {"mean_ns", std::llround(sum / static_cast<double>(sorted.size()))},
          {"p50_ns", quantile_ns(sorted, 0.5)},
          {"p99_ns", quantile_ns(sorted, 0.99)},
          {"p99.85_ns", quantile_ns(sorted, kNoiseQuantile)},
          {"largest_ns", sorted.back()}};
}

struct Found {
  std::string address;
  PathMeasurement path;
  std::vector<int64_t> idle_noise_ns;
  std::vector<int64_t> loaded_noise_ns;
  Settings settings;
};

ordered_json found_json(const Found& found) {
  const PathMeasurement& p = found.path;
  ordered_json settings = ordered_json::array();
  for (const Setting& s : found.settings.list)
    settings.push_back(
        {{"name", "net.ipv4.delaycc." + s.name}, {"value", s.value}, {"reason", s.reason}});
  ordered_json json = {{"address", found.address},
                       {"device", p.device},
                       {"mtu_bytes", p.mtu_bytes},
                       {"stamps",
                        {{"kind", stamping_name(p.stamps.stamping)},
                         {"echoes", p.stamps.echoes},
                         {"sent", p.stamps.sent},
                         {"came", p.stamps.came},
                         {"why", p.stamps.why},
                         {"phc_index", p.claims.phc_index}}},
                       {"smallest_rtt_ns", p.smallest_rtt_ns()},
                       {"base_rtt_ns", found.settings.base_rtt_ns},
                       {"noise_ns", found.settings.noise_ns},
                       {"spread_ns", found.settings.spread_ns},
                       {"train", {{"sent_bps", p.train.sent_bps}, {"came_bps", p.train.came_bps}}},
                       {"device_speed_mbps", p.speed_mbps},
                       {"idle",
                        {{"short", distribution_json(p.idle.short_ns)},
                         {"full", distribution_json(p.idle.full_ns)},
                         {"nic_full", distribution_json(p.idle.nic_full_ns)},
                         {"host_noise", distribution_json(p.idle.host_noise_ns)}}},
                       {"loaded",
                        {{"asked_bps", p.load_asked_bps},
                         {"sent_bps", p.load_bps},
                         {"full", distribution_json(p.loaded.full_ns)},
                         {"nic_full", distribution_json(p.loaded.nic_full_ns)},
                         {"host_noise", distribution_json(p.loaded.host_noise_ns)}}},
                       {"settings", settings},
                       {"warnings", found.settings.warnings}};
  if (p.stamps.sent > 0 && p.stamps.stamping != Stamping::kSoftware)
    json["clock"] = {{"offset_ns", p.clock_offset_ns},
                     {"drift_ppb", std::llround(p.clock_drift_ppb)}};
  return json;
}

void print_stamps(const PathMeasurement& p) {
  const StampTrial& s = p.stamps;
  fmt::print("stamps      {}: {} of {} packets sent and {} of their answers had the hardware's{}\n",
             stamping_name(s.stamping), s.sent, s.echoes, s.came,
             s.why.empty() ? "" : "; " + s.why);
  if (s.stamping == Stamping::kSoftware) return;
  const int64_t offset_ns = p.clock_offset_ns;
  fmt::print("NIC's clock {}, {:+.0f} ppb against it{}\n",
             std::abs(offset_ns) < kInStepNs
                 ? fmt::format("in step with the system's ({:+.2f} us)", us(offset_ns))
                 : fmt::format("its own: {:+.6f} s from the system's",
                               static_cast<double>(offset_ns) / 1e9),
             p.clock_drift_ppb,
             p.claims.phc_index >= 0 ? fmt::format(" (/dev/ptp{})", p.claims.phc_index) : "");
}

void print_found(const Found& found) {
  const PathMeasurement& p = found.path;
  fmt::print("path        {} through {}, packets of {} bytes\n", found.address, p.device,
             p.mtu_bytes);
  print_stamps(p);
  fmt::print(
      "RTT         {:.3f} us, the smallest of a full packet and its ACK (short {:.3f}, full both "
      "ways {:.3f})\n",
      us(p.smallest_rtt_ns()), us(p.idle.short_ns.front()), us(p.idle.full_ns.front()));
  if (!p.idle.nic_full_ns.empty())
    fmt::print("  by NIC    full both ways {:.3f} us; this host's part: {}\n",
               us(p.idle.nic_full_ns.front()), quantiles_text(p.idle.host_noise_ns));
  fmt::print("train       {} full packets left at {:.2f} and came back at {:.2f} Gbit/s\n",
             kTrainPackets, gbps(p.train.sent_bps), gbps(p.train.came_bps));
  fmt::print("idle        {} echoes, later than the smallest: {}\n", p.idle.full_ns.size(),
             quantiles_text(found.idle_noise_ns));
  if (!found.loaded_noise_ns.empty())
    fmt::print("loaded      with {:.3f} Gbit/s of echoes (asked {:.3f}): {}\n", gbps(p.load_bps),
               gbps(p.load_asked_bps), quantiles_text(found.loaded_noise_ns));
  fmt::print("\nidle noise{}", "\n" + noise_picture(found.idle_noise_ns, kPictureRows));
  if (!found.loaded_noise_ns.empty())
    fmt::print("noise under load{}", "\n" + noise_picture(found.loaded_noise_ns, kPictureRows));
  fmt::print("\n");
  for (const Setting& s : found.settings.list)
    fmt::print("net.ipv4.delaycc.{} = {}\n    {}\n", s.name, s.value, s.reason);
}

}  // namespace

CLI::App* add_calibrate_command(CLI::App& app, CalibrateArguments& arguments) {
  CLI::App* command =
      app.add_subcommand("calibrate", "measure the path to a host, and derive the settings for it");
  command
      ->add_option("target", arguments.target,
                   "a host that answers echoes (ICMP), or a device: the gateway behind it")
      ->required()
      ->type_name("DEV|HOST");
  command
      ->add_option(
          "--cc", arguments.algorithms,
          "algorithms to derive settings of, separated by commas (default: those that are\n"
          "loaded, or else all but\nprioplus_ledbat, which has prioplus's)")
      ->type_name(kAlgorithms.values)
      ->allow_extra_args(false);
  command
      ->add_option("--count", arguments.count,
                   "full echoes, idle and under load each (default 4000; at most 10 s)")
      ->check(CLI::Range(100, 1000000))
      ->default_str("");
  command
      ->add_option("--load", arguments.load_percent,
                   "load in percent of the line rate (default 10; 0: idle alone)")
      ->check(CLI::Range(0, 90))
      ->default_str("");
  command
      ->add_option("--line-rate-mbps", arguments.line_rate_mbps,
                   "line rate in Mbit/s, if you know it")
      ->check(CLI::Range(1, 800000))
      ->default_str("");
  command
      ->add_option("--buffer-bytes", arguments.buffer_bytes,
                   "buffer of the path's smallest port, if you know it: what the queues have to\n"
                   "fit into")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->default_str("");
  command
      ->add_option("--prefix", arguments.prefix,
                   "the hosts that are as far away, such as 10.0.1.0/24: an entry of\n"
                   "base_rtt_paths in place of base_rtt_ns")
      ->type_name("PREFIX");
  command->add_flag("--apply", arguments.apply, "write the settings into the kernel, all or none");
  command
      ->add_option("--sysctl.d", arguments.sysctl_file,
                   "write the settings into this file, for /etc/sysctl.d")
      ->type_name("FILE");
  command
      ->add_option("--noise-out", arguments.noise_file,
                   "write the noise into this file, for noise = \"FILE\" of a scenario")
      ->type_name("FILE");
  command->add_flag("--json", arguments.json, "print JSON instead of text");
  return command;
}

int calibrate(const CalibrateArguments& arguments) {
  const std::vector<std::string> algorithms = chosen_algorithms(arguments.algorithms);
  const std::optional<IpPrefix> prefix = chosen_prefix(arguments.prefix);
  const bool is_device = if_nametoindex(arguments.target.c_str()) != 0;
  Found found;
  found.address = is_device ? gateway_of(arguments.target) : address_of(arguments.target);

  const std::string folder = kSysctlFolder;
  MeasureOptions options;
  options.address = found.address;
  options.count = static_cast<size_t>(arguments.count);
  options.load_share = arguments.load_percent / 100.0;
  options.line_rate_mbps = arguments.line_rate_mbps;
  options.sysctl_mbps = number_in(folder + "/line_rate_mbps", 0);
  options.overhead_bytes = static_cast<size_t>(
      number_in(folder + "/link_overhead_bytes", static_cast<int64_t>(options.overhead_bytes)));
  found.path = measure_path(options);
  const PathMeasurement& path = found.path;
  if (is_device && path.device != arguments.target)
    throw Error(fmt::format("{}: answers of {} come through {}", arguments.target, found.address,
                            path.device));

  const ChosenRate line = choose_line_rate(arguments.line_rate_mbps, options.sysctl_mbps,
                                           path.speed_mbps, path.has_hardware, path.train);
  if (line.mbps == 0)
    throw Error(path.device + ": the line rate is not known; tell it (--line-rate-mbps)");
  found.idle_noise_ns = above(path.idle.full_ns, path.idle.full_ns.front());
  found.loaded_noise_ns = above(path.loaded.full_ns, path.idle.full_ns.front());
  PathFigures figures;
  figures.line_rate_mbps = line.mbps;
  figures.line_rate_reason = line.reason;
  figures.packet_bytes = static_cast<int64_t>(path.mtu_bytes + options.overhead_bytes);
  figures.smallest_rtt_ns = path.smallest_rtt_ns();
  figures.idle_noise_ns = found.idle_noise_ns;
  figures.loaded_noise_ns = found.loaded_noise_ns;
  figures.buffer_bytes = arguments.buffer_bytes;
  if (prefix) figures.prefix = prefix->text();
  found.settings = derive_settings(figures, algorithms);
  if (line.guess)
    found.settings.warnings.push_back(
        fmt::format("the line rate, {} Mbit/s, is a guess: {}; tell it (--line-rate-mbps)",
                    line.mbps, line.reason));
  // An address of the link alone has the device with it.
  if (prefix &&
      !prefix->contains(parse_ip_prefix(found.address.substr(0, found.address.find('%')))))
    found.settings.warnings.push_back(fmt::format("{} is not in {}, whose hosts get its base RTT",
                                                  found.address, figures.prefix));

  if (arguments.json)
    fmt::print("{}\n", found_json(found).dump(2));
  else
    print_found(found);
  for (const std::string& warning : found.settings.warnings) print_error("warning: {}\n", warning);
  if (!arguments.sysctl_file.empty()) {
    write_file_atomically(arguments.sysctl_file,
                          sysctl_file(fmt::format("By delaycc calibrate {}, through {}",
                                                  arguments.target, path.device),
                                      found.settings.list));
    if (!arguments.json) fmt::print("\nwritten to {}\n", arguments.sysctl_file);
  }
  if (!arguments.noise_file.empty()) {
    write_file_atomically(
        arguments.noise_file,
        noise_file(fmt::format("By delaycc calibrate {}, through {}: noise of the path's round "
                               "trips, idle and loaded, and of this host alone",
                               arguments.target, path.device),
                   {{"idle", path.idle.full_ns},
                    {"loaded", found.loaded_noise_ns},
                    {"host", path.idle.host_noise_ns}}));
    if (!arguments.json) fmt::print("\nnoise written to {}\n", arguments.noise_file);
  }
  if (arguments.apply) {
    apply_settings(folder, found.settings.list);
    if (!arguments.json) fmt::print("\nwritten to the kernel, and read back\n");
  }
  return 0;
}

}  // namespace delaycc

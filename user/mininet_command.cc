// SPDX-License-Identifier: Apache-2.0
#include "mininet_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/lab/lab.h"
#include "backend/lab/port_log.h"
#include "backends.h"
#include "base/posix.h"
#include "base/suggest.h"
#include "base/temporary_directory.h"
#include "command_line.h"
#include "eval_command.h"
#include "manual.h"
#include "report/report.h"
#include "run/port_report.h"
#include "scenario/scenario_file.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// As on a real processor. iperf3 spins for an RTT at the end of a transfer.
constexpr int kClockReadNs = 50;
// What a Mininet script may use of the host.
constexpr const char* kPrograms[] = {"mnexec", "brctl", "ifconfig", "ip", "tc", "bash", "ping"};
constexpr char kCapture[] = "tcpdump";

// The script: a file, or a program of the PATH (mn).
fs::path find_script(const std::string& name) {
  if (name.find('/') == std::string::npos && !fs::exists(name))
    for (const char* folder : {"/usr/local/bin", "/usr/bin"})
      if (fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
  read_regular_file(name, size_t{16} << 20);  // says what is wrong with it
  return fs::canonical(name);
}

// Shows what a file has grown by.
class Tail {
 public:
  explicit Tail(std::string path) : path_(std::move(path)) {}

  void show() {
    if (!file_) {
      const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) return;
      file_ = Fd(fd);
    }
    char buffer[65536];
    for (ssize_t n; (n = read(file_.get(), buffer, sizeof(buffer))) > 0;)
      std::fwrite(buffer, 1, static_cast<size_t>(n), stdout);
    std::fflush(stdout);
  }

 private:
  std::string path_;
  Fd file_;
};

// `notes` get a sentence for each port whose rate the script changed.
std::map<int, LoggedPort> read_ports(const std::string& path, std::vector<std::string>* notes) {
  std::map<int, LoggedPort> ports;
  if (!fs::exists(path)) return ports;
  const json all = json::parse(read_file(path));
  for (const auto& [number, port] : all.items()) {
    const LoggedPort& read = ports[std::stoi(number)] = {port.at("name"), port.at("peer"),
                                                         port.at("rate_bps"), port.at("delay_ns")};
    std::vector<std::string> rates;
    for (const json& bps : port.at("rates_bps"))
      rates.push_back(fmt::format("{:g}", bps.get<double>() / 1e6));
    if (rates.size() > 1)
      notes->push_back(fmt::format(
          "{}: the script changed its rate: {} Mbit/s. Its utilisation is of the least.", read.name,
          fmt::join(rates, ", then ")));
  }
  return ports;
}

std::string figures_table(const std::vector<PortFigures>& figures) {
  std::string text =
      fmt::format("\n{:<16} {:>9} {:>11} {:>14} {:>14} {:>6} {:>10} {:>10}\n", "link end", "Gbit/s",
                  "utilisation", "queue mean, KB", "largest, KB", "drops", "RTT, us", "p99, us");
  const auto rtt = [](double us) { return us < 0 ? std::string("-") : fmt::format("{:.2f}", us); };
  constexpr size_t kShown = 12;
  for (size_t i = 0; i < std::min(kShown, figures.size()); i++) {
    const PortFigures& f = figures[i];
    text += fmt::format("{:<16} {:>9.3f} {:>11.3f} {:>14.1f} {:>14.1f} {:>6} {:>10} {:>10}\n",
                        f.name, f.mean_gbps, f.utilisation, f.queue_mean_bytes / 1000,
                        f.queue_max_bytes / 1000, f.drops, rtt(f.rtt_p50_us), rtt(f.rtt_p99_us));
  }
  if (figures.size() > kShown)
    text += fmt::format("... and {} more, with less traffic\n", figures.size() - kShown);
  return text;
}

// Of this process, for the script.
json environment() {
  json variables = json::object();
  for (char** variable = environ; *variable; variable++) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

// Folders in which the script may write, as on Linux: its own, and where the command was started.
// Not those of programs (mn), nor all of the machine.
std::vector<std::string> writable_folders(const fs::path& script) {
  std::vector<std::string> folders;
  for (const fs::path& folder : {script.parent_path(), fs::current_path()})
    if (folder != "/" && folder != "/usr/bin" && folder != "/usr/local/bin")
      folders.push_back(folder.string());
  return folders;
}

std::string repeat_command(const MininetArguments& arguments, const fs::path& script) {
  std::string text = fmt::format("build/delaycc mininet --seed {}", arguments.seed);
  if (!arguments.cc.empty()) text += " --cc " + shell_quoted(arguments.cc);
  text += " " + shell_quoted(script.string());
  for (size_t i = 1; i < arguments.command.size(); i++)
    text += " " + shell_quoted(arguments.command[i]);
  return text;
}

}  // namespace

void need_mininet() {
  std::vector<std::string> missing;
  for (const char* program : kPrograms)
    if (!in_path(program)) missing.push_back(program);
  if (!fs::exists("/usr/lib/python3/dist-packages/mininet/net.py")) missing.push_back("mininet");
  if (!missing.empty())
    throw Error(
        fmt::format("missing for Mininet: {}. On Debian: apt-get install mininet "
                    "bridge-utils net-tools iproute2 iputils-ping",
                    fmt::join(missing, ", ")));
}

CLI::App* add_mininet_command(CLI::App& app, MininetArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "mininet",
      "run a Mininet script in the lab, in virtual time: delaycc mininet [OPTIONS]\n"
      "SCRIPT.py [ARGS]; or mn: delaycc mininet mn --topo linear,3 --test iperf");
  command->prefix_command();
  command->add_option("--cc", arguments.cc, "algorithm of all hosts that do not name one")
      ->type_name(kAlgorithms.value);
  command->add_option("--seed", arguments.seed, "of everything random in the lab (default 1)")
      ->check(check_seed);
  command->add_option("--out", arguments.out, "folder of the results (default: results/NAME)")
      ->type_name(kFolder);
  command
      ->add_option("--memory", arguments.memory_mb,
                   "of the lab in MB (default 2048); also what the log of packets has")
      ->check(CLI::Range(256, 65536));
  command
      ->add_option("--timeout", arguments.timeout_s,
                   "seconds of processor time for the script (default 3600)")
      ->check(CLI::Range(1, 1000000));
  command->add_flag("--pcap", arguments.pcap,
                    "keep the packets' headers of each host's links: DIR/pcap/HOST-ethN.pcap");
  command->add_flag("--quiet", arguments.quiet, "do not show what the script prints");
  return command;
}

int run_mininet(MininetArguments& arguments) {
  if (arguments.command.empty())
    throw ScenarioError("mininet: needs a script: delaycc mininet SCRIPT.py [ARGS]");
  if (const std::string& first = arguments.command.front(); first.rfind('-', 0) == 0)
    throw ScenarioError("mininet: " + first +
                        " is no option of delaycc mininet; options of the "
                        "script stand behind it");
  const fs::path script = find_script(arguments.command.front());
  need_mininet();
  if (arguments.pcap && !in_path(kCapture))
    throw Error("--pcap needs tcpdump. On Debian: apt-get install tcpdump");
  const std::vector<std::string> algorithms = make_default_backend()->algorithms();
  if (!arguments.cc.empty() &&
      std::find(algorithms.begin(), algorithms.end(), arguments.cc) == algorithms.end())
    throw ScenarioError(fmt::format("--cc: \"{}\" is no algorithm of this lab, there are {}{}",
                                    arguments.cc, fmt::join(algorithms, ", "),
                                    nearest_text(arguments.cc, algorithms)));
  const fs::path out =
      arguments.out.empty() ? fs::path("results") / script.stem() : fs::path(arguments.out);
  fs::create_directories(out);

  const TemporaryDirectory directory;
  const json job = {{"script", script.string()},
                    {"arguments", std::vector<std::string>(arguments.command.begin() + 1,
                                                           arguments.command.end())},
                    {"directory", fs::current_path().string()},
                    {"writable", writable_folders(script)},
                    {"environment", environment()},
                    {"cc", arguments.cc},
                    {"pcap", arguments.pcap}};
  // What is not UTF-8 goes without its bytes: JSON has no place for them.
  write_file(directory.path() + "/job.json",
             job.dump(-1, ' ', false, json::error_handler_t::ignore) + "\n");

  stop_at_signals();
  LabProgram program;
  program.init = (mininet_folder() / "delaycc_mininet" / "init.py").string();
  program.directory = directory.path();
  program.what = "the script";
  program.memory_mb = arguments.memory_mb;
  program.seed = arguments.seed;
  program.timeout_s = arguments.timeout_s;
  program.clock_read_ns = kClockReadNs;
  Tail tail(directory.path() + "/output.txt");
  try {
    run_in_lab(
        program,
        [&] {
          if (!arguments.quiet) tail.show();
        },
        stop_requested);
  } catch (const Interrupted&) {
    print_error("interrupted; nothing was kept\n");
    return kInterrupted;
  }
  if (!arguments.quiet) tail.show();
  const int code = json::parse(read_file(directory.path() + "/status")).at("code");
  write_file_atomically((out / "output.txt").string(), read_file(directory.path() + "/output.txt"));

  if (arguments.pcap) {
    fs::remove_all(out / "pcap");
    fs::copy(directory.path() + "/pcap", out / "pcap");
  }

  for (const char* folder : {"left-in-tmp", "left-in-home"}) {
    fs::remove_all(out / folder);
    const fs::path left = fs::path(directory.path()) / folder;
    if (!fs::exists(left)) continue;
    fs::copy(left, out / folder, fs::copy_options::recursive);
    if (!arguments.quiet)
      fmt::print("{} has what the script left in {}\n", (out / folder).string(),
                 folder == std::string("left-in-tmp") ? "/tmp" : "its HOME");
  }

  const std::vector<PacketRecord> packets = read_port_log(directory.path() + "/ports.bin");
  std::vector<std::string> notes;
  const std::map<int, LoggedPort> ports = read_ports(directory.path() + "/ports.json", &notes);
  if (fs::exists(directory.path() + "/incomplete")) {
    notes.push_back("The log of packets ended when the lab's memory was used up (--memory).");
    print_error(
        "delaycc: the log of packets is not complete: the lab's memory was used up "
        "(--memory)\n");
  }
  const PortReport report =
      port_report(packets, ports, script.stem().string(), repeat_command(arguments, script), notes);
  if (!report.figures.empty()) {
    write_file_atomically((out / "report.html").string(), render_report(report.page));
    if (!arguments.quiet)
      fmt::print("{}see {}/report.html and {}/output.txt\n", figures_table(report.figures),
                 out.string(), out.string());
  }
  const std::string refused = read_file(directory.path() + "/refused.txt");
  print_error("{}", refused);
  if (code != 0) print_error("delaycc: the script ended with {}\n", code);
  return code < 0 ? 128 - code : code == 0 && !refused.empty() ? kFailed : code;
}

}  // namespace delaycc

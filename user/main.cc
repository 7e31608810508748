// SPDX-License-Identifier: Apache-2.0
// The `delaycc` command.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends.h"
#include "base/suggest.h"
#include "bpf/command.h"
#include "calibrate_command.h"
#include "command_line.h"
#include "doctor.h"
#include "eval_command.h"
#include "export_command.h"
#include "manual.h"
#include "metrics/catalogue.h"
#include "mininet_command.h"
#include "plan/compile.h"
#include "report/report.h"
#include "run/experiment.h"
#include "run/summary.h"
#include "scenario/scenario_file.h"
#include "version.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

// For help and the manual page.
const std::vector<ExitCode> kExitCodes = {
    {0, "done"},
    {kFailed, "a trial failed (or with --strict an expectation) or output could not be written"},
    {kBadInput, "bad input"},
    {kNotConverged, "(eval) not converged"},
    {kInterrupted, "interrupted"}};

int list_algorithms() {
  const std::unique_ptr<Backend> backend = make_default_backend();
  for (const std::string& name : backend->algorithms())
    fmt::print("{:<18} {}\n", name, backend->description(name));
  return 0;
}

int list_metrics() {
  for (const MetricInfo& metric : all_metrics())
    fmt::print("{:<22} {}\n", metric.name, *metric.unit ? metric.unit : "1");
  return 0;
}

int list_scenarios() {
  int status = 0;
  for (const fs::path& path : all_scenarios()) {
    try {
      const ScenarioFile file(path.string(), std::vector<std::string>{});
      const Scenario scenario = file.resolve(file.main_parameters());
      fmt::print("{:<18} {}\n", path.stem().string(), scenario.title);
    } catch (const Error& e) {
      print_error("{}\n", e.what());
      status = kBadInput;
    }
  }
  return status;
}

int validate(const std::vector<std::string>& names, const std::vector<std::string>& overrides) {
  int status = 0;
  std::vector<std::string> algorithms;  // of the default backend, if it is there
  try {
    algorithms = make_default_backend()->algorithms();
  } catch (const Error&) {
  }
  for (const std::string& name : names) {
    try {
      const std::string path = find_scenario(name);
      const ScenarioFile file(path, overrides);
      std::vector<Parameters> cases = file.sweep();
      if (cases.empty()) cases = {file.main_parameters()};
      for (const Parameters& parameters : cases) {
        const Scenario scenario = file.resolve(parameters);
        if (!algorithms.empty()) file.check_algorithms(scenario, "", {}, algorithms);
        for (const std::string& algorithm : scenario.algorithms) {
          Trial trial;
          trial.algorithm = algorithm;
          compile_trial(scenario, trial, [](const std::string&) { return false; });
        }
      }
      fmt::print("{}: ok, {} case{}\n", path, cases.size(), cases.size() == 1 ? "" : "s");
    } catch (const Error& e) {
      print_error("{}\n", e.what());
      status = kBadInput;
    }
  }
  return status;
}

// The flows of one trial, as every algorithm meets them.
int print_workload(const std::string& name, const std::vector<std::string>& overrides,
                   uint64_t seed, int number) {
  const std::string path = find_scenario(name);
  const ScenarioFile file(path, overrides);
  const Scenario scenario = file.resolve(file.main_parameters());
  if (!scenario.workload.present)
    throw ScenarioError(name + ": workload: is missing, \"delaycc workload\" prints its flows");
  const Network network = build_network(scenario.topology, scenario.hosts);
  fmt::print("# {}, seed {}, trial {}; alone: {} --seed {} --first-trial {} --trials 1{}\n",
             scenario.name, seed, number, repeat_begin("run", path), seed, number,
             repeat_overrides(overrides));
  fmt::print(
      "# flow start_ns source destination size_bytes group priority measured uniform log_weight\n");
  int id = 0;
  for (const FlowSpec& group : scenario.flows) id += group.count * group.repeat;
  for (const WorkloadFlow& flow : trial_workload(scenario, network, seed, number))
    fmt::print("{} {} {} {} {} {} {} {} {} {}\n", id++, flow.start_ns,
               network.nodes[flow.source].name, network.nodes[flow.destination].name,
               flow.size_bytes, workload_group(scenario.workload, flow),
               size_priority(scenario.workload, flow.size_bytes), flow.measured ? 1 : 0,
               flow.uniform, flow.log_weight);
  return 0;
}

// One line that renews itself on a terminal, and a line now and then elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {}

  void show(const Progress& p) {
    if (quiet_) return;
    const int ran = p.done - p.resumed;
    const double left_s = ran > 0 ? p.elapsed_s / ran * (p.total - p.done) : 0;
    if (terminal_) {
      print_error("\r\033[K{} of {} trials, {} left", p.done, p.total, time(left_s));
      if (p.done == p.total) print_error("\r\033[K");
      std::fflush(stderr);
    } else if (p.elapsed_s - last_s_ >= 10) {
      print_error("{} of {} trials, {} left\n", p.done, p.total, time(left_s));
      last_s_ = p.elapsed_s;
    }
  }

 private:
  static std::string time(double s) {
    const int whole = static_cast<int>(std::lround(s));
    return whole < 60 ? fmt::format("{} s", whole)
                      : fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  bool quiet_;
  bool terminal_;
  double last_s_ = 0;
};

struct RunArguments {
  std::string scenario;
  std::vector<std::string> overrides;
  RunOptions options;
  BackendChoice backend;
  bool json = false;
  bool strict = false;
  bool quiet = false;
};

// The command that gives the same figures: without what only says where and how fast.
std::string repeat_command(const RunArguments& arguments, const std::string& path) {
  const RunOptions& options = arguments.options;
  std::string text = repeat_begin("run", path);
  if (!options.algorithms.empty())
    text += " --cc " + shell_quoted(fmt::format("{}", fmt::join(options.algorithms, ",")));
  text += fmt::format(" --seed {}", options.seed);
  if (options.trials > 0) text += fmt::format(" --trials {}", options.trials);
  if (options.first_trial > 0) text += fmt::format(" --first-trial {}", options.first_trial);
  text += repeat_overrides(arguments.overrides);
  if (options.sweep) text += " --sweep";
  // Trials that took longer than usual would not end without it.
  if (options.timeout_s != RunOptions().timeout_s)
    text += fmt::format(" --timeout {}", options.timeout_s);
  const BackendChoice& backend = arguments.backend;
  if (backend.name != kDefaultBackend) text += " --backend " + backend.name;
  if (!backend.folder.empty()) text += " " + shell_quoted(backend.folder);
  if (!backend.inventory.empty()) text += " --inventory " + shell_quoted(backend.inventory);
  return text;
}

int run(RunArguments& arguments) {
  RunOptions& options = arguments.options;
  const std::string path = find_scenario(arguments.scenario);
  const ScenarioFile file(path, arguments.overrides);
  const Scenario main = file.resolve(file.main_parameters());
  options.algorithms = split_names("--cc", options.algorithms);
  if (!options.algorithms.empty())
    if (const std::string mistake = algorithms_mistake(options.algorithms); !mistake.empty())
      throw ScenarioError("--cc: " + mistake);
  if (options.out.empty()) options.out = "results/" + main.name;

  stop_at_signals();

  std::unique_ptr<Backend> backend;
  try {
    backend = make_backend(arguments.backend, stop_requested);
  } catch (const Interrupted&) {
    print_error("\ninterrupted\n");
    return kInterrupted;
  }
  if (options.jobs <= 0)
    options.jobs = backend->capabilities().parallel
                       ? static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))
                       : 1;

  ProgressLine line(arguments.quiet);
  RunOutcome outcome;
  try {
    outcome = run_experiment(file, options, *backend, stop_requested,
                             [&](const Progress& p) { line.show(p); });
  } catch (const Interrupted&) {
    print_error(
        "\ninterrupted; finished trials are in {}/results.sqlite, the same command goes on\n",
        options.out);
    return kInterrupted;
  }
  outcome.result.repeat = repeat_command(arguments, path);
  if (options.trace)
    for (const std::string& algorithm : outcome.result.algorithms)
      if (!outcome.result.cases.front().settings.count(algorithm) && !is_bpf_program(algorithm))
        print_error("{}: no acks.txt: the tracepoint delaycc:ack is of delaycc's own algorithms\n",
                    algorithm);

  for (const std::string& failure : outcome.failures) print_error("failed twice: {}\n", failure);
  const RunSummary summary = summarise_run(outcome.result);
  const nlohmann::json json = summary_json(summary);
  write_file_atomically(options.out + "/summary.json", json.dump(2) + "\n");
  if (json.at("algorithms").empty()) return kFailed;  // nothing to show
  write_file_atomically(options.out + "/report.html", render_report(report_json(summary)));
  if (arguments.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}", summary_table(summary));
    fmt::print("\n{} trials run, {} taken from {}/results.sqlite; see {}/report.html\n",
               outcome.ran, outcome.resumed, options.out, options.out);
  }
  if (!outcome.failures.empty()) return kFailed;
  if (arguments.strict)
    for (const CheckedExpectation& e : summary.expectations)
      if (!e.met) return kFailed;
  return 0;
}

int main_checked(int argc, char** argv) {
  CLI::App app("delaycc: measures congestion control for datacenters on the real Linux TCP stack");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text,
                       "print the version and the commit it was built from");
  std::string exit_codes = "Exit codes:\n";
  for (const ExitCode& code : kExitCodes)
    exit_codes += fmt::format("  {:<27} {}\n", code.code, code.meaning);
  app.name("delaycc")->footer(exit_codes);

  RunArguments arguments;
  CLI::App* run_command = app.add_subcommand("run", "run a scenario with several algorithms");
  run_command
      ->add_option("scenario", arguments.scenario, "a TOML file, or a name of \"delaycc list\"")
      ->required()
      ->type_name(kScenarios.value);
  run_command
      ->add_option("--cc", arguments.options.algorithms,
                   "algorithms, separated by commas (default: the scenario's)")
      ->type_name(kAlgorithms.values)
      ->allow_extra_args(false);
  run_command->add_option("--seed", arguments.options.seed, "of all random times (default 1)")
      ->check(check_seed);
  run_command
      ->add_option("--trials", arguments.options.trials,
                   "per algorithm and case (default: the scenario's)")
      ->check(CLI::Range(1, 100000));
  run_command
      ->add_option("--first-trial", arguments.options.first_trial,
                   "number of the first trial (default 0): repeats a later one alone")
      ->check(CLI::Range(0, 1000000));
  run_command
      ->add_option("--set", arguments.overrides,
                   "key=value: overrides a key of the scenario (measure.duration_us=500,\n"
                   "flows.0.count=3), a parameter of its sweep (k=3) or its values\n"
                   "(sweep.k=[1, 2]); may be repeated")
      ->allow_extra_args(false);
  run_command->add_flag("--sweep", arguments.options.sweep,
                        "every case of the sweep, not only the main one");
  run_command
      ->add_option("--jobs", arguments.options.jobs, "trials at a time (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->default_str("");
  run_command
      ->add_option("--out", arguments.options.out, "folder of the results (default: results/NAME)")
      ->type_name(kFolder);
  run_command
      ->add_option(
          "--timeout", arguments.options.timeout_s,
          "seconds of processor time for a trial (default 300); a trial that uses none for\n"
          "as long hangs")
      ->check(CLI::Range(1, 86400));
  run_command
      ->add_option("--backend", arguments.backend.name,
                   "what runs the trials: lab (default); host: network namespaces of this kernel,\n"
                   "in wall time, as root; hosts: real hosts by ssh, of --inventory; replay DIR:\n"
                   "the records in DIR that an earlier run kept with --keep are read again")
      ->check(CLI::IsMember(backend_names()))
      ->allow_extra_args(false);
  run_command
      ->add_option("records", arguments.backend.folder,
                   "with --backend replay: results with kept trials, or the folder of one trial")
      ->type_name(kFolder);
  run_command
      ->add_option("--inventory", arguments.backend.inventory,
                   "with --backend hosts: a TOML file, which host is which")
      ->type_name("FILE");
  run_command->add_flag("--json", arguments.json, "print summary.json instead of the table");
  run_command->add_flag("--strict", arguments.strict, "exit 1 when an expectation is not met");
  run_command->add_flag("--keep", arguments.options.keep,
                        "keep every trial's records in DIR/trials");
  run_command->add_flag("--trace", arguments.options.trace,
                        "keep the records, and the decisions of delaycc's own algorithms: the\n"
                        "tracepoint delaycc:ack, and of BPF programs with trace=1 their lines");
  run_command->add_flag("--quiet", arguments.quiet, "no progress display");

  EvalArguments eval_arguments;
  CLI::App* eval_app = add_eval_command(app, eval_arguments);
  std::string manifest;
  CLI::App* task_command = app.add_subcommand("eval-task", "");
  task_command->group("");  // for Slurm, not for people
  task_command->add_option("manifest", manifest)->required();

  MininetArguments mininet_arguments;
  CLI::App* mininet_app = add_mininet_command(app, mininet_arguments);

  ExportArguments export_arguments;
  CLI::App* export_app = add_export_command(app, export_arguments);

  CalibrateArguments calibrate_arguments;
  CLI::App* calibrate_app = add_calibrate_command(app, calibrate_arguments);

  BpfArguments bpf_arguments;
  add_bpf_commands(app, bpf_arguments);

  CLI::App* list_command =
      app.add_subcommand("list", "the scenarios, algorithms or metrics there are");
  std::string list = kScenarios.list;
  list_command->add_option("what", list, "what to list (default scenarios)")
      ->check(CLI::IsMember({kScenarios.list, kAlgorithms.list, kMetrics.list}));
  std::vector<std::string> names;
  CLI::App* validate_command = app.add_subcommand("validate", "check scenario files, run nothing");
  validate_command->add_option("scenarios", names, "TOML files or names")
      ->required()
      ->type_name(kScenarios.value);
  validate_command->add_option("--set", arguments.overrides, "key=value, as for run")
      ->allow_extra_args(false);
  CLI::App* workload_command = app.add_subcommand(
      "workload", "the flows of one trial of a scenario with a [workload]; runs nothing");
  int number = 0;
  workload_command->add_option("scenario", arguments.scenario, "a TOML file or a name")
      ->required()
      ->type_name(kScenarios.value);
  workload_command->add_option("--seed", arguments.options.seed, "as for run (default 1)")
      ->check(check_seed);
  workload_command->add_option("--trial", number, "its number (default 0)")
      ->check(CLI::Range(0, 1000000));
  workload_command->add_option("--set", arguments.overrides, "key=value, as for run")
      ->allow_extra_args(false);
  CLI::App* doctor_command =
      app.add_subcommand("doctor", "what this machine can do, and the remedies");

  CLI::App* completion_command =
      app.add_subcommand("completion", "print the completion of this command for a shell");
  std::string shell;
  completion_command->add_option("shell", shell, "source <(delaycc completion bash) loads it")
      ->required()
      ->check(CLI::IsMember({"bash"}));
  CLI::App* man_command = app.add_subcommand("man", "print the manual page of this command");

  arguments.options.jobs = 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    // CLI11 does not name a word that stands where a subcommand should.
    if (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())
      return app.exit(e) == 0 ? 0 : kBadInput;
    std::vector<std::string> there;
    for (const CLI::App* sub :
         app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
      there.push_back(sub->get_name());
    print_error("{}: is no subcommand, allowed is one of {}{}\n", argv[1], fmt::join(there, ", "),
                nearest_text(argv[1], there));
    return kBadInput;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kBadInput;
  }
  if (*run_command) return run(arguments);
  if (*eval_app) return eval(eval_arguments, find_scenario(eval_arguments.scenario));
  if (*mininet_app) {
    mininet_arguments.command = mininet_app->remaining();
    return run_mininet(mininet_arguments);
  }
  if (*export_app) return run_export(export_arguments);
  if (*calibrate_app) return calibrate(calibrate_arguments);
  if (const int status = run_bpf(app, bpf_arguments); status >= 0) return status;
  if (*task_command) return eval_task(manifest);
  if (*list_command)
    return list == kAlgorithms.list ? list_algorithms()
           : list == kMetrics.list  ? list_metrics()
                                    : list_scenarios();
  if (*validate_command) return validate(names, arguments.overrides);
  if (*workload_command)
    return print_workload(arguments.scenario, arguments.overrides, arguments.options.seed, number);
  if (*doctor_command) return doctor();
  if (*completion_command) fmt::print("{}", bash_completion(app));
  if (*man_command) fmt::print("{}", man_page(app, version_text, kExitCodes));
  if (*completion_command || *man_command) return 0;
  return kBadInput;
}

}  // namespace
}  // namespace delaycc

int main(int argc, char** argv) {
  using delaycc::print_error;
  delaycc::open_standard_streams();
  int status = delaycc::kFailed;
  try {
    status = delaycc::main_checked(argc, argv);
  } catch (const delaycc::ScenarioError& e) {
    print_error("{}\n", e.what());
    status = delaycc::kBadInput;
  } catch (const std::exception& e) {
    // A print that failed is told below, by its cause.
    if (!std::ferror(stdout)) print_error("delaycc: {}\n", e.what());
  }
  if (const std::string trouble = delaycc::output_trouble(); !trouble.empty()) {
    print_error("delaycc: {}\n", trouble);
    if (status == 0) status = delaycc::kFailed;
  }
  return status;
}

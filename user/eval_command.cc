// SPDX-License-Identifier: Apache-2.0
#include "eval_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends.h"
#include "command_line.h"
#include "eval/eval_result.h"
#include "eval/model_based.h"
#include "eval/slurm.h"
#include "manual.h"
#include "report/report.h"

namespace delaycc {
namespace {

EvalStop stop_flags;

// The first signal lets the trials under way end, the second ends them.
extern "C" void stop_eval(int) {
  if (stop_flags.drain.exchange(true)) stop_flags.stop = true;
}
extern "C" void stop_task(int) { stop_flags.stop = true; }

// "1%" and "0.01" are 0.01.
double share_of(const std::string& option, const std::string& text, double low, double high,
                const std::string& allowed) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  const bool number = end != text.c_str() && (rest.empty() || rest == "%");
  if (rest == "%") value /= 100;
  if (!number || !(value >= low && value <= high))
    throw ScenarioError(option + " " + text + ": allowed is " + allowed);
  return value;
}

double seconds_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1
                       : unit == "m"               ? 60
                       : unit == "h"               ? 3600
                       : unit == "d"               ? 86400
                                                   : 0;
  if (end == text.c_str() || !(value * scale > 0 && value * scale < 1e9))
    throw ScenarioError("--max-time " + text + ": allowed is a time such as 90s, 30m, 2h or 1d");
  return value * scale;
}

// Lines that renew themselves on a terminal, and a set of lines now and then elsewhere.
class Display {
 public:
  explicit Display(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)) {}

  void show(const EvalProgress& progress) {
    const double since_s = progress.elapsed_s - last_s_;
    if (quiet_ || since_s < (terminal_ ? kTerminalEvery_s : kLogEvery_s)) return;
    last_s_ = progress.elapsed_s;
    clear();
    for (const std::string& line : progress_lines(progress)) {
      print_error("{}\n", line);
      if (terminal_) lines_++;
    }
    std::fflush(stderr);
  }

  void clear() {
    // A line that is wider than the terminal would make two: wrapping is off while they stand.
    if (lines_ > 0) print_error("\033[{}A\033[J\033[?7h", lines_);
    lines_ = 0;
    if (terminal_ && !quiet_) print_error("\033[?7l");
  }

  ~Display() {
    if (terminal_ && !quiet_) print_error("\033[?7h");
  }

 private:
  static constexpr double kTerminalEvery_s = 0.2;
  static constexpr double kLogEvery_s = 10;
  bool quiet_;
  bool terminal_;
  int lines_ = 0;
  double last_s_ = 0;
};

void refuse_repeats(const std::string& option, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::count(names.begin(), names.end(), name) > 1)
      throw ScenarioError(option + ": \"" + name + "\" is there twice");
}

EvaluationSpec make_spec(const EvalArguments& arguments, const Scenario& scenario) {
  EvaluationSpec spec = arguments.options.spec;
  spec.goal.min_units = arguments.min_trials;
  spec.max_trials = arguments.max_trials;
  spec.goal.relative_margin =
      share_of("--margin", arguments.margin, 1e-9, 0.999,
               "a share of the estimate above 0 and below 100 %, such as 1% or 0.01");
  spec.goal.confidence =
      share_of("--confidence", arguments.confidence, 0.5, 0.9999,
               "50% to 99.99%, such as 95% or 0.95; no number of trials gives 100 %");
  if (!arguments.unseen.empty())
    spec.goal.unseen_share = share_of("--unseen", arguments.unseen, 1e-4, 0.5,
                                      "a share of the trials of 0.01% to 50%, such as 5% or 0.05");
  for (const Interval interval :
       {Interval::kStudent, Interval::kNormal, Interval::kSkewed, Interval::kAnytime})
    if (arguments.interval == interval_name(interval)) spec.goal.interval = interval;
  const Estimand estimand = arguments.estimand == "pooled" || arguments.options.model_based
                                ? Estimand::kPooled
                                : Estimand::kMean;
  for (const std::string& name : arguments.metrics)
    spec.metrics.push_back(parse_metric(name, estimand, scenario));
  if (!arguments.compare.empty() && arguments.compare[0] == arguments.compare[1])
    throw ScenarioError("--compare: \"" + arguments.compare[0] + "\" is compared with itself");
  spec.algorithms = arguments.algorithms;
  if (spec.algorithms.empty())
    spec.algorithms = arguments.compare.empty() ? scenario.algorithms : arguments.compare;
  if (const std::string mistake = algorithms_mistake(spec.algorithms); !mistake.empty())
    throw ScenarioError("--cc: " + mistake);
  refuse_repeats("--metric", arguments.metrics);
  if (!arguments.compare.empty()) {
    std::vector<size_t> index;
    for (const std::string& name : arguments.compare) {
      const auto it = std::find(spec.algorithms.begin(), spec.algorithms.end(), name);
      if (it == spec.algorithms.end())
        throw ScenarioError(fmt::format("--compare: \"{}\" does not run, allowed are {}", name,
                                        fmt::join(spec.algorithms, ", ")));
      index.push_back(static_cast<size_t>(it - spec.algorithms.begin()));
    }
    if (estimand == Estimand::kPooled)
      throw ScenarioError(
          "--compare needs --estimand mean: pairs are of trials, and a pooled quantile has none");
    spec.compare = {index[0], index[1]};
  }
  if (spec.verdict_only && !spec.compare)
    throw ScenarioError("--verdict-only: is of --compare, which is missing");
  if (spec.max_trials < spec.goal.min_units)
    throw ScenarioError(fmt::format("--max-trials {}: allowed is --min-trials ({}) or more",
                                    spec.max_trials, spec.goal.min_units));
  if (arguments.options.fluid_control) {
    if (arguments.options.model_based)
      throw ScenarioError("--control fluid: is not of --model-based, whose estimate is a quantile");
    check_fluid_control(scenario, spec.metrics);
  }
  suit_sampling(scenario, spec.goal.min_units, &spec);
  if (arguments.options.model_based) suit_model_based(scenario, &spec);
  return spec;
}

// The command that gives the same figures: without what only says where and how fast. `begin` is
// its part up to the scenario.
std::string repeat_command(const EvalArguments& arguments, const std::string& begin) {
  std::string text = begin + fmt::format(" --metric {} --margin {} --confidence {}",
                                         fmt::join(arguments.metrics, ","), arguments.margin,
                                         arguments.confidence);
  if (arguments.estimand != "mean") text += " --estimand " + arguments.estimand;
  if (arguments.control != "none") text += " --control " + arguments.control;
  if (arguments.interval != interval_name(Goal().interval))
    text += " --interval " + arguments.interval;
  if (!arguments.unseen.empty()) text += " --unseen " + arguments.unseen;
  const EvaluationSpec& spec = arguments.options.spec;
  if (arguments.min_trials != Goal().min_units)
    text += fmt::format(" --min-trials {}", arguments.min_trials);
  if (arguments.max_trials != EvaluationSpec().max_trials)
    text += fmt::format(" --max-trials {}", arguments.max_trials);
  if (spec.verdict_only) text += " --verdict-only";
  if (arguments.options.model_based) text += " --model-based";
  if (!arguments.algorithms.empty())
    text += fmt::format(" --cc {}", fmt::join(arguments.algorithms, ","));
  if (!arguments.compare.empty())
    text += fmt::format(" --compare {}", fmt::join(arguments.compare, " "));
  text += fmt::format(" --seed {}", arguments.options.seed);
  text += repeat_overrides(arguments.options.overrides);
  if (arguments.options.timeout_s != EvalOptions().timeout_s)
    text += fmt::format(" --timeout {}", arguments.options.timeout_s);
  return text;
}

}  // namespace

std::string check_seed(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seed);
  if (read.ec == std::errc() && read.ptr == end) return "";
  return text + ": allowed is a whole number from 0 to 18446744073709551615";
}

CLI::App* add_eval_command(CLI::App& app, EvalArguments& arguments) {
  EvalOptions& options = arguments.options;
  options.jobs = 0;
  CLI::App* command = app.add_subcommand(
      "eval",
      "run trials until every metric asked for is known to a margin (docs/research/eval.md)");
  command->add_option("scenario", arguments.scenario, "a TOML file, or a name of \"delaycc list\"")
      ->required()
      ->type_name(kScenarios.value);
  command
      ->add_option(
          "--metric", arguments.metrics,
          "metrics of docs/research/metrics.md, separated by commas; also any quantile of flows:\n"
          "fct_p95_us, slowdown_p999")
      ->type_name(kMetrics.values)
      ->allow_extra_args(false)
      ->required();
  command->add_option("--margin", arguments.margin,
                      "half-width of the interval over the estimate (default 1%)");
  command->add_option("--confidence", arguments.confidence, "of the interval (default 95%)");
  command
      ->add_option("--estimand", arguments.estimand,
                   "what is estimated: the mean of the trials' metric, or the quantile over the\n"
                   "flows of all trials pooled (default mean)")
      ->check(CLI::IsMember({"mean", "pooled"}));
  command
      ->add_option("--interval", arguments.interval,
                   "skewed (the default: Student's, corrected for skewness), student, normal, or\n"
                   "anytime (holds however often one looks; wider)")
      ->check(CLI::IsMember({"student", "normal", "skewed", "anytime"}));
  command
      ->add_option("--control", arguments.control,
                   "fluid: the mean by way of a fluid model of each trial's flow file, for fct_*\n"
                   "and slowdown_*: far fewer trials (default none)")
      ->check(CLI::IsMember({"none", "fluid"}));
  command
      ->add_option("--compare", arguments.compare,
                   "two algorithms, run on the same flows until one is known to be less")
      ->type_name(kAlgorithms.value)
      ->expected(2);
  command
      ->add_option("--min-trials", arguments.min_trials,
                   "no estimate counts as converged before (default 20)")
      ->check(CLI::Range(2, 1'000'000));
  command->add_option(
      "--unseen", arguments.unseen,
      "share of the trials that may go unseen: nothing counts as converged before what happens\n"
      "in so many would have come (default 1%: 299 trials; 5% takes 59)");
  command->add_option("--max-trials", arguments.max_trials, "of each algorithm (default 100000)")
      ->check(CLI::Range(2, 10'000'000));
  command->add_option("--max-time", arguments.max_time, "such as 90s, 30m or 2h (default: none)");
  command
      ->add_option("--cc", arguments.algorithms,
                   "algorithms, separated by commas (default: those compared, or the scenario's)")
      ->type_name(kAlgorithms.values)
      ->allow_extra_args(false);
  command->add_option("--seed", options.seed, "of all random times (default 1)")->check(check_seed);
  command->add_option("--set", options.overrides, "key=value, as for run; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--jobs", options.jobs,
                   "trials at a time (default: one per core); with slurm: tasks of an array\n"
                   "(default 16)")
      ->check(CLI::Range(1, 1024))
      ->default_str("");
  command->add_option("--executor", arguments.executor, "local (default) or slurm")
      ->check(CLI::IsMember({"local", "slurm"}));
  command
      ->add_option("--slurm-option", options.slurm_options,
                   "of sbatch, such as --slurm-option=--partition=lab; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--timeout", options.timeout_s,
                   "seconds of processor time for a trial (default 300)")
      ->check(CLI::Range(1, 86400));
  command->add_option("--out", options.out, "folder of the results (default: results/NAME-eval)")
      ->type_name(kFolder);
  command->add_flag("--verdict-only", options.spec.verdict_only,
                    "with --compare: stop at the verdict, whatever each one's own interval");
  command->add_flag("--model-based", options.model_based,
                    "the quantile over all flows by importance sampling over their sizes, from a\n"
                    "log-normal fit (docs/research/eval.md says what that changes)");
  command->add_flag("--json", arguments.json, "print eval.json instead of the table");
  command->add_flag("--quiet", arguments.quiet, "no progress display");
  return command;
}

int eval(EvalArguments& arguments, const std::string& path) {
  EvalOptions& options = arguments.options;
  arguments.metrics = split_names("--metric", arguments.metrics);
  arguments.algorithms = split_names("--cc", arguments.algorithms);
  const ScenarioFile file(path, options.overrides);
  const Scenario scenario = file.resolve(file.main_parameters());
  options.scenario = path;
  options.fluid_control = arguments.control == "fluid";
  options.spec = make_spec(arguments, scenario);
  options.slurm = arguments.executor == "slurm";
  if (!arguments.max_time.empty()) options.max_time_s = seconds_of(arguments.max_time);
  if (options.out.empty()) options.out = "results/" + scenario.name + "-eval";
  if (options.jobs <= 0)
    options.jobs =
        options.slurm ? 16 : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const std::unique_ptr<Backend> backend = make_default_backend();
  const bool compares = arguments.algorithms.empty();
  file.check_algorithms(scenario, compares ? "--compare" : "--cc",
                        compares ? arguments.compare : arguments.algorithms, backend->algorithms());
  if (!arguments.quiet) options.note = [](const std::string& text) { print_error("{}\n", text); };
  on_signals(stop_eval);

  EvalOutcome outcome;
  {
    Display display(arguments.quiet);
    try {
      outcome = run_evaluation(options, file, *backend, stop_flags,
                               [&](const EvalProgress& p) { display.show(p); });
      display.clear();
    } catch (const Interrupted&) {
      display.clear();
      print_error(
          "interrupted; finished trials are in {}/results.sqlite, the same command goes on\n",
          options.out);
      return kInterrupted;
    }
  }
  outcome.run.repeat = repeat_command(arguments, repeat_begin_anywhere("eval", path));
  for (const std::string& text : outcome.reruns) print_error("run again: {}\n", text);
  for (const std::string& text : outcome.failures) print_error("failed twice: {}\n", text);

  const nlohmann::json result = eval_json(options, outcome);
  write_file_atomically(options.out + "/eval.json", result.dump(2) + "\n");
  write_file_atomically(options.out + "/run.json", eval_run_json(options, outcome).dump(2) + "\n");
  outcome.run.repeat = repeat_command(arguments, repeat_begin("eval", path));
  const nlohmann::json report = eval_report_json(options, outcome);
  if (!report.at("algorithms").empty())
    write_file_atomically(options.out + "/report.html", render_report(report));
  if (arguments.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    fmt::print("{}see {}/report.html and {}/eval.json\n", eval_table(options, outcome), options.out,
               options.out);
  }
  bool trouble = !outcome.failures.empty();
  for (size_t a = 0; a < options.spec.algorithms.size(); a++) {
    const std::string text = outcome.evaluation->trouble(a);
    if (text.empty()) continue;
    print_error("delaycc: {}\n", text);
    trouble = true;
  }
  if (trouble) return kFailed;
  return outcome.converged ? 0 : kNotConverged;
}

int eval_task(const std::string& manifest) {
  on_signals(stop_task);
  try {
    return run_slurm_task(manifest, *make_default_backend(), stop_flags.stop);
  } catch (const Interrupted&) {
    return kInterrupted;
  }
}

}  // namespace delaycc

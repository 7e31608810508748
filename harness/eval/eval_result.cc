// SPDX-License-Identifier: Apache-2.0
#include "eval/eval_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace delaycc {
namespace {

using nlohmann::json;

constexpr size_t kDistributionPoints = 400;

json finite(double value) { return std::isfinite(value) ? json(value) : json(); }

const char* estimand_name(Estimand estimand) {
  return estimand == Estimand::kPooled ? "pooled" : "mean";
}

// Why the evaluation ended, in a word.
const char* end_name(const EvalOutcome& outcome) {
  switch (outcome.end) {
    case EvalOutcome::End::kInterrupted:
      return "interrupted";
    case EvalOutcome::End::kMaxTime:
      return "max-time";
    case EvalOutcome::End::kFinished:
      break;
  }
  const Evaluation& evaluation = *outcome.evaluation;
  const char* end = "converged";
  for (size_t a = 0; a < evaluation.spec().algorithms.size(); a++)
    if (evaluation.state(a) != Evaluation::State::kConverged) end = state_name(evaluation.state(a));
  return end;
}

const char* doubt_name(Doubt doubt) {
  switch (doubt) {
    case Doubt::kNone:
      return "none";
    case Doubt::kNoBound:
      return "no-bound";
    case Doubt::kNotVaried:
      return "not-varied";
    case Doubt::kFewTrials:
      return "few-trials";
    case Doubt::kUnseen:
      return "unseen";
    case Doubt::kWide:
      return "wide";
  }
  return "";
}

json estimate_json(const Estimate& e) {
  json result = {{"estimand", e.estimand},
                 {"method", e.method},
                 {"value", finite(e.value)},
                 {"low", finite(e.low)},
                 {"high", finite(e.high)},
                 {"half_width", finite(e.half_width)},
                 {"relative_margin", finite(e.relative_margin)},
                 {"deviation", finite(e.deviation)},
                 {"n", e.n},
                 {"trials", e.trials},
                 {"missing", e.missing},
                 {"converged", e.converged},
                 {"doubt", doubt_name(e.doubt)},
                 {"least_trials", e.least_trials},
                 {"unseen_share", e.unseen_share},
                 {"tail_units", e.tail_units},
                 {"forecast_trials", e.forecast_trials},
                 {"forecast_low", e.forecast_low},
                 {"forecast_high", e.forecast_high}};
  if (e.flows > 0) result["flows"] = e.flows;
  if (e.effective_share != 1) {
    result["effective_trials"] = finite(e.effective_trials);
    result["effective_share"] = finite(e.effective_share);
  }
  return result;
}

json history_json(const std::vector<HistoryPoint>& history) {
  json result = {{"trials", json::array()},       {"value", json::array()},
                 {"low", json::array()},          {"high", json::array()},
                 {"forecast", json::array()},     {"forecast_low", json::array()},
                 {"forecast_high", json::array()}};
  for (const HistoryPoint& point : history) {
    const Estimate& e = point.estimate;
    const auto forecast = [&](int64_t trials) { return trials > 0 ? json(trials) : json(); };
    result["trials"].push_back(point.trials);
    result["value"].push_back(finite(e.value));
    result["low"].push_back(finite(e.low));
    result["high"].push_back(finite(e.high));
    result["forecast"].push_back(forecast(e.forecast_trials));
    result["forecast_low"].push_back(forecast(e.forecast_low));
    result["forecast_high"].push_back(forecast(e.forecast_high));
  }
  return result;
}

// The trials' values in order of size with the share of trials that are not above.
json distribution_json(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  json result = {{"value", json::array()}, {"share", json::array()}};
  const size_t n = values.size();
  const size_t points = std::min(n, kDistributionPoints);
  for (size_t i = 0; i < points; i++) {
    // The first and the last are kept.
    const size_t at = points == 1 ? 0 : i * (n - 1) / (points - 1);
    result["value"].push_back(values[at]);
    result["share"].push_back(static_cast<double>(at + 1) / static_cast<double>(n));
  }
  return result;
}

const char* verdict_name(Comparison::Verdict verdict) {
  switch (verdict) {
    case Comparison::Verdict::kALess:
      return "a < b";
    case Comparison::Verdict::kBLess:
      return "b < a";
    case Comparison::Verdict::kAlike:
      return "alike";
    case Comparison::Verdict::kUndecided:
      break;
  }
  return "undecided";
}

std::string percent(double share) { return fmt::format("{:.4g} %", 100 * share); }
std::string percent_rounded(double share) { return fmt::format("{:.2g} %", 100 * share); }

std::string significant(double value) {
  if (!std::isfinite(value)) return "?";
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

// Bytes are shown in KB.
std::pair<double, std::string> shown_unit(const MetricRequest& metric) {
  return metric.unit == "bytes" ? std::pair(1e-3, std::string("KB")) : std::pair(1.0, metric.unit);
}

// "21.43 us ± 0.86 % [21.25, 21.61]"
std::string interval_text(const Estimate& e, const MetricRequest& metric) {
  if (!std::isfinite(e.value)) return "no sample yet";
  const auto [scale, unit] = shown_unit(metric);
  std::string text = significant(e.value * scale) + (unit.empty() ? "" : " " + unit);
  if (!std::isfinite(e.half_width)) return text;
  return text +
         (std::isfinite(e.relative_margin)
              ? (e.relative_margin < 1 ? fmt::format(" ± {:.2g} %", 100 * e.relative_margin)
                                       : fmt::format(" ± {:.0f} %", 100 * e.relative_margin))
              : std::string()) +
         fmt::format(" [{}, {}]", significant(e.low * scale), significant(e.high * scale));
}

std::string time_text(double s) {
  const auto whole = static_cast<int64_t>(std::llround(s));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

// Columns on the terminal: ± is one column and two bytes.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++)
      line += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

// Nothing but the number of trials is missing.
bool waits(const Estimate& e) { return e.doubt == Doubt::kUnseen || e.doubt == Doubt::kFewTrials; }

std::vector<std::vector<std::string>> estimate_rows(const Evaluation& evaluation) {
  const EvaluationSpec& spec = evaluation.spec();
  std::vector<std::vector<std::string>> rows;
  for (size_t a = 0; a < spec.algorithms.size(); a++)
    for (size_t m = 0; m < spec.metrics.size(); m++) {
      const Estimate& e = evaluation.estimate(a, m);
      const int used = evaluation.used(a);
      std::string trials = fmt::format("{} trial{}", used, used == 1 ? "" : "s");
      const Evaluation::State state = evaluation.state(a);
      if (state == Evaluation::State::kConverged || state == Evaluation::State::kNotVaried) {
        trials += e.converged                    ? ", converged"
                  : e.doubt == Doubt::kNotVaried ? ", not varied"
                                                 : ", enough for the verdict";
      } else if (waits(e)) {
        trials += fmt::format(" of {}, narrow enough", e.least_trials);
      } else if (e.doubt == Doubt::kNotVaried) {
        trials += fmt::format(" of {}, has not varied", e.least_trials);
      } else if (e.forecast_trials > 0) {
        trials += fmt::format(" of about {} ({} to {})", e.forecast_trials, e.forecast_low,
                              e.forecast_high);
      }
      const size_t failed = evaluation.failed(a).size();
      if (failed > 0) trials += fmt::format(", {} failed", failed);
      if (evaluation.control_given_up(a, m))
        trials += ", fluid control given up";
      else if (!spec.controls.empty())
        trials += fmt::format(", fluid control, correlation {:.3f}", e.correlation);
      if (e.missing > 0) trials += fmt::format(", {} without a sample", e.missing);
      if (evaluation.missed(a, m) > 0)
        trials += fmt::format(", {} lower bounds", evaluation.missed(a, m));
      rows.push_back(
          {spec.algorithms[a], spec.metrics[m].name, interval_text(e, spec.metrics[m]), trials});
    }
  return rows;
}

// Why which estimate has not converged.
std::vector<std::string> doubt_lines(const Evaluation& evaluation) {
  const EvaluationSpec& spec = evaluation.spec();
  std::vector<std::string> lines;
  for (size_t a = 0; a < spec.algorithms.size(); a++)
    for (size_t m = 0; m < spec.metrics.size(); m++) {
      const Estimate& e = evaluation.estimate(a, m);
      const Evaluation::State state = evaluation.state(a);
      if (e.converged || !std::isfinite(e.value)) continue;
      if (state == Evaluation::State::kConverged) continue;  // enough for the verdict
      const auto [scale, unit] = shown_unit(spec.metrics[m]);
      lines.push_back(fmt::format("{}, {}: {}", spec.algorithms[a], spec.metrics[m].name,
                                  doubt_text(e, spec.goal, scale, unit)));
    }
  return lines;
}

// What the intervals do not say.
std::vector<std::string> caution_lines(const Evaluation& evaluation) {
  const EvaluationSpec& spec = evaluation.spec();
  std::vector<std::string> lines;
  double unseen = 0;
  for (size_t a = 0; a < spec.algorithms.size(); a++)
    for (size_t m = 0; m < spec.metrics.size(); m++) {
      const Estimate& e = evaluation.estimate(a, m);
      if (e.n < 2) continue;
      unseen = std::max(unseen, e.unseen_share);
      if (std::isfinite(e.half_width) && e.tail_units < kFewTailUnits)
        lines.push_back(fmt::format(
            "{}, {}: heavy tail, its spread is that of {:.2g} trials of {}: the interval may hold "
            "less often than {}",
            spec.algorithms[a], spec.metrics[m].name, std::max(e.tail_units, 1.0), e.n,
            percent(spec.goal.confidence)));
    }
  if (unseen > 0)
    lines.push_back(
        fmt::format("What happens in less than {} of the trials may not have been seen ({}).",
                    percent_rounded(unseen), percent(spec.goal.confidence)));
  return lines;
}

// The least number of trials, where an algorithm that runs on has an interval that is narrow enough
// before; 0 where none has.
int64_t trials_waited_for(const Evaluation& evaluation) {
  const EvaluationSpec& spec = evaluation.spec();
  for (size_t a = 0; a < spec.algorithms.size(); a++)
    for (size_t m = 0; m < spec.metrics.size(); m++) {
      const Estimate& e = evaluation.estimate(a, m);
      if (e.doubt == Doubt::kUnseen) return e.least_trials;
    }
  return 0;
}

std::string goal_text(const EvaluationSpec& spec) {
  const bool pooled = spec.metrics.front().estimand == Estimand::kPooled;
  return fmt::format("{}, within {} at {} confidence",
                     pooled ? "over the flows of all trials" : "mean over the trials",
                     percent(spec.goal.relative_margin), percent(spec.goal.confidence));
}

}  // namespace

std::vector<std::string> comparison_lines(const EvaluationSpec& spec,
                                          const Evaluation& evaluation) {
  std::vector<std::string> lines;
  if (!spec.compare) return lines;
  const std::string& a = spec.algorithms[spec.compare->first];
  const std::string& b = spec.algorithms[spec.compare->second];
  for (size_t m = 0; m < spec.metrics.size(); m++) {
    const Comparison c = evaluation.comparison(m);
    const std::string& name = spec.metrics[m].name;
    const std::string confidence = percent(spec.goal.confidence);
    const Estimate& d = c.difference;
    if (d.n < 2) {
      lines.push_back(fmt::format("{}: {} and {}: fewer than two pairs of trials", name, a, b));
      continue;
    }
    // A verdict's interval, or before there is one that of this look.
    const bool bounded = std::isfinite(d.half_width);
    const double low = bounded ? d.low : c.low_so_far;
    const double high = bounded ? d.high : c.high_so_far;
    const std::string size =
        c.a.value != 0
            ? fmt::format("{} - {} = {} to {} % of {}", b, a,
                          significant(100 * low / std::abs(c.a.value)),
                          significant(100 * high / std::abs(c.a.value)), a)
            : fmt::format("{} - {} = {} to {}", b, a, significant(low), significant(high));
    const std::string rest = fmt::format("({}; {} pairs)", size, d.trials);
    switch (c.verdict) {
      case Comparison::Verdict::kALess:
        lines.push_back(
            fmt::format("{}: {} < {} with confidence {} {}", name, a, b, confidence, rest));
        break;
      case Comparison::Verdict::kBLess:
        lines.push_back(
            fmt::format("{}: {} < {} with confidence {} {}", name, b, a, confidence, rest));
        break;
      case Comparison::Verdict::kAlike:
        lines.push_back(fmt::format("{}: {} and {} are alike within {} with confidence {} {}", name,
                                    a, b, percent(spec.goal.relative_margin), confidence, rest));
        break;
      case Comparison::Verdict::kUndecided: {
        const std::string confidence_unseen =
            fmt::format("something else in at most {} of the pairs ({})",
                        percent_rounded(d.unseen_share), confidence);
        if (d.doubt == Doubt::kNotVaried)
          lines.push_back(fmt::format("{}: {} - {} is {} in all {} pairs: {}", name, b, a,
                                      significant(d.value), d.trials, confidence_unseen));
        else if (d.trials >= d.least_trials)
          lines.push_back(
              fmt::format("{}: {} and {} are not distinguishable, needs about {} more "
                          "trials of each {}",
                          name, a, b, c.more_pairs, rest));
        else if (low > 0 || high < 0)
          lines.push_back(fmt::format("{}: {} < {} so far, no verdict before {} pairs {}", name,
                                      low > 0 ? a : b, low > 0 ? b : a, d.least_trials, rest));
        else
          lines.push_back(
              fmt::format("{}: {} and {} are not distinguishable so far, a verdict "
                          "takes about {} pairs {}",
                          name, a, b, d.trials + c.more_pairs, rest));
        break;
      }
    }
  }
  return lines;
}

json eval_json(const EvalOptions& options, const EvalOutcome& outcome) {
  const EvaluationSpec& spec = options.spec;
  const Evaluation& evaluation = *outcome.evaluation;
  json result = identity_json(outcome.run);
  result.update(json{{"converged", outcome.converged},
                     {"end", end_name(outcome)},
                     {"goal",
                      {{"relative_margin", spec.goal.relative_margin},
                       {"confidence", spec.goal.confidence},
                       {"interval", interval_name(spec.goal.interval)},
                       {"min_trials", spec.goal.min_units * spec.trials_per_unit},
                       {"unseen_share", spec.goal.unseen_share},
                       {"max_trials", spec.max_trials},
                       {"trials_per_unit", spec.trials_per_unit}}}});
  // The caller's options have no means: run_evaluation finds them.
  const std::vector<ControlMean>& controls = evaluation.spec().controls;
  json& algorithms = result["algorithms"] = json::object();
  for (size_t a = 0; a < spec.algorithms.size(); a++) {
    json metrics = json::object();
    for (size_t m = 0; m < spec.metrics.size(); m++) {
      json entry = estimate_json(evaluation.estimate(a, m));
      entry["over"] = estimand_name(spec.metrics[m].estimand);
      if (!controls.empty()) {
        entry["control"] = {{"model", "fluid"},
                            {"mean", controls[m].mean},
                            {"error", controls[m].error},
                            {"flow_files", controls[m].files},
                            {"given_up", evaluation.control_given_up(a, m)}};
        entry["correlation"] = finite(evaluation.estimate(a, m).correlation);
      }
      entry["unit"] = spec.metrics[m].unit;
      entry["missed"] = evaluation.missed(a, m);
      entry["history"] = history_json(evaluation.history(a, m));
      metrics[spec.metrics[m].name] = entry;
    }
    std::vector<int> failed = evaluation.failed(a);
    for (int& number : failed) number += outcome.first_number;
    algorithms[spec.algorithms[a]] = {{"trials", evaluation.used(a)},
                                      {"failed", failed},
                                      {"end", state_name(evaluation.state(a))},
                                      {"metrics", metrics}};
  }
  for (size_t a = 0; a < outcome.model_based.size(); a++) {
    const ModelBased& m = outcome.model_based[a];
    algorithms[spec.algorithms[a]]["model_based"] = {{"fit_mu", m.fit_mu},
                                                     {"fit_sigma", m.fit_sigma},
                                                     {"fit_rms_error", m.fit_rms_error},
                                                     {"fit_mean_bytes", m.fit_mean_bytes},
                                                     {"mean_bytes", m.mean_bytes},
                                                     {"shift", m.shift},
                                                     {"factor", m.factor},
                                                     {"epochs", m.epochs},
                                                     {"search_trials", m.cycles},
                                                     {"capped", m.capped},
                                                     {"stopped", m.stopped},
                                                     {"effective_share", m.effective_share}};
  }
  result["failures"] = outcome.failures;
  if (spec.compare) {
    json& compare = result["compare"];
    compare = {{"a", spec.algorithms[spec.compare->first]},
               {"b", spec.algorithms[spec.compare->second]},
               {"text", comparison_lines(spec, evaluation)}};
    for (size_t m = 0; m < spec.metrics.size(); m++) {
      const Comparison c = evaluation.comparison(m);
      compare["metrics"][spec.metrics[m].name] = {
          {"verdict", verdict_name(c.verdict)}, {"difference", estimate_json(c.difference)},
          {"pairs", c.difference.trials},       {"least_pairs", c.difference.least_trials},
          {"low_so_far", finite(c.low_so_far)}, {"high_so_far", finite(c.high_so_far)},
          {"more_trials", c.more_pairs},        {"correlation", finite(c.correlation)},
          {"saved", finite(c.saved)},           {"unpaired_forecast", c.unpaired}};
    }
  }
  return result;
}

json eval_run_json(const EvalOptions& options, const EvalOutcome& outcome) {
  const double s = std::max(outcome.elapsed_s, 1e-9);
  const double estimator_s = outcome.evaluation->estimator_s();
  json result = {{"repeat", outcome.run.repeat},
                 {"executor", options.slurm ? "slurm" : "local"},
                 {"jobs", options.jobs},
                 {"elapsed_s", outcome.elapsed_s},
                 {"trials_run", outcome.ran},
                 {"trials_from_store", outcome.resumed},
                 {"trials_per_hour", outcome.ran / s * 3600},
                 {"estimator_s", estimator_s},
                 {"estimator_share", estimator_s / s},
                 {"run_again", outcome.reruns},
                 {"failures", outcome.failures}};
  if (options.fluid_control) result["control_s"] = outcome.control_s;
  return result;
}

// What makes these estimates differ from the means of the trials shown beside them.
std::vector<std::string> control_lines(const Evaluation& evaluation) {
  std::vector<std::string> lines;
  const EvaluationSpec& spec = evaluation.spec();
  for (size_t m = 0; m < spec.controls.size(); m++)
    for (size_t a = 0; a < spec.algorithms.size(); a++) {
      const std::string name = spec.algorithms[a] + ", " + spec.metrics[m].name;
      lines.push_back(
          evaluation.control_given_up(a, m)
              ? fmt::format("{}: plain mean, the fluid control was given up: not the same trials "
                            "have a value and a flow in the model.",
                            name)
              : fmt::format("{}: the estimate has the fluid model of the trials' flow files as "
                            "control variate, correlation {:.3f}.",
                            name, evaluation.estimate(a, m).correlation));
    }
  return lines;
}

// What the tilts are, and that the sizes are not the workload's own.
std::vector<std::string> model_based_lines(const EvaluationSpec& spec, const EvalOutcome& outcome) {
  std::vector<std::string> lines;
  for (size_t a = 0; a < outcome.model_based.size(); a++) {
    const ModelBased& m = outcome.model_based[a];
    lines.push_back(fmt::format(
        "{}: model-based, sizes of a log-normal fit (mean {:.0f} KB, the workload's {:.0f} KB), "
        "tilt "
        "mu {:+.3f} sigma, sigma x {:.3f}{}{}, found with {} trials, effective sample size {:.2f}",
        spec.algorithms[a], m.fit_mean_bytes / 1e3, m.mean_bytes / 1e3, m.shift, m.factor,
        m.capped ? " (capped)" : "", m.stopped ? " (stopped by the effective sample size)" : "",
        m.cycles, outcome.evaluation->estimate(a, 0).effective_share));
  }
  return lines;
}

json eval_report_json(const EvalOptions& options, const EvalOutcome& outcome) {
  const EvaluationSpec& spec = options.spec;
  const Evaluation& evaluation = *outcome.evaluation;
  json data = report_json(summarise_run(outcome.run));
  json& section = data["evaluation"];
  section = {{"goal", goal_text(spec)},
             {"margin", spec.goal.relative_margin},
             {"converged", outcome.converged},
             {"text", comparison_lines(spec, evaluation)}};
  if (!outcome.converged)
    section["text"].push_back(std::string("Not converged: ") +
                              (outcome.end == EvalOutcome::End::kInterrupted ? "it was interrupted."
                               : outcome.end == EvalOutcome::End::kMaxTime
                                   ? "the time given was over."
                                   : "it ended with \"" + std::string(end_name(outcome)) + "\"."));
  for (const std::string& line : doubt_lines(evaluation)) section["text"].push_back(line + ".");
  for (const std::string& line : caution_lines(evaluation)) section["text"].push_back(line);
  json& estimates = section["estimates"] = json::array();
  for (size_t m = 0; m < spec.metrics.size(); m++)
    for (size_t a = 0; a < spec.algorithms.size(); a++) {
      if (!data["algorithms"].contains(spec.algorithms[a])) continue;
      const Estimate& e = evaluation.estimate(a, m);
      if (!std::isfinite(e.value)) continue;
      estimates.push_back({{"algorithm", spec.algorithms[a]},
                           {"metric", spec.metrics[m].name},
                           {"unit", spec.metrics[m].unit},
                           {"estimand", e.estimand},
                           {"value", e.value},
                           {"low", finite(e.low)},
                           {"high", finite(e.high)},
                           {"trials", evaluation.used(a)},
                           {"converged", e.converged},
                           {"history", history_json(evaluation.history(a, m))},
                           {"distribution", distribution_json(evaluation.values(a, m))}});
    }
  if (data["algorithms"].empty()) return data;
  for (const std::string& line : model_based_lines(spec, outcome)) data["notes"].push_back(line);
  for (const std::string& line : control_lines(evaluation)) data["notes"].push_back(line);
  // The headline is of what was asked for.
  if (spec.metrics.front().estimand == Estimand::kMean) {
    for (const auto& [name, metrics] : data["algorithms"].items())
      if (metrics.contains(spec.metrics.front().name))
        data["main_metric"] = spec.metrics.front().name;
  }
  return data;
}

std::string eval_table(const EvalOptions& options, const EvalOutcome& outcome) {
  const EvaluationSpec& spec = options.spec;
  std::string text = outcome.run.cases[0].scenario.title + "\n" + goal_text(spec) + "\n\n";
  for (const std::string& line : aligned(estimate_rows(*outcome.evaluation))) text += line + "\n";
  text += "\n";
  for (const std::string& line : comparison_lines(spec, *outcome.evaluation)) text += line + "\n";
  for (const std::string& line : model_based_lines(spec, outcome)) text += line + "\n";
  if (!outcome.converged) text += fmt::format("NOT CONVERGED ({})\n", end_name(outcome));
  for (const std::string& line : doubt_lines(*outcome.evaluation)) text += line + "\n";
  for (const std::string& line : caution_lines(*outcome.evaluation)) text += line + "\n";
  const json run = eval_run_json(options, outcome);
  text += fmt::format(
      "{} trials run ({:.0f} per hour), {} taken from {}/results.sqlite; estimators took {} of "
      "{}\n",
      outcome.ran, run["trials_per_hour"].get<double>(), outcome.resumed, options.out,
      percent(run["estimator_share"].get<double>()), time_text(outcome.elapsed_s));
  return text;
}

std::vector<std::string> progress_lines(const EvalProgress& progress) {
  std::vector<std::string> lines = aligned(estimate_rows(progress.evaluation));
  for (const std::string& line : comparison_lines(progress.evaluation.spec(), progress.evaluation))
    lines.push_back(line);
  if (const int64_t least = trials_waited_for(progress.evaluation); least > 0)
    lines.push_back(fmt::format(
        "Narrow intervals count from {} trials on: what happens in {} of them would have come "
        "(--unseen)",
        least, percent(progress.evaluation.spec().goal.unseen_share)));
  std::string last = fmt::format("{} trials run", progress.ran);
  if (progress.resumed > 0) last += fmt::format(", {} from the store", progress.resumed);
  if (progress.failed > 0) last += fmt::format(", {} failed", progress.failed);
  last += ", " + time_text(progress.elapsed_s);
  if (progress.left_s >= 0) last += ", about " + time_text(progress.left_s) + " left";
  lines.push_back(last);
  return lines;
}

}  // namespace delaycc

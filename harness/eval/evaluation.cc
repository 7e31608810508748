// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "metrics/catalogue.h"

namespace delaycc {
namespace {

constexpr int kEveryTrialUntil = 20;
constexpr int kLookShare = 50;  // later looks are 1/50 apart
constexpr int kLeastFailures = 3;
// Of stratified sampling: intervals over fewer groups are too narrow.
constexpr int kLeastGroups = 10;

int look_after(int trials) {
  return trials < kEveryTrialUntil ? trials + 1 : trials + std::max(1, trials / kLookShare);
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

constexpr int kMostDigits = 7;  // of a quantile's name

// "p99" is 0.99, "p999" 0.999: the digits are those behind "0.". 0 for what is not "p" and digits.
// Throws for digits that look like another number than they are: "p5" (0.5 or 0.05?), "p100" (0.1),
// "p990" (0.99 or beyond?).
double quantile_of(const std::string& metric, const std::string& text) {
  if (text.size() < 2 || text[0] != 'p' ||
      text.find_first_not_of("0123456789", 1) != std::string::npos)
    return 0;
  const std::string digits = text.substr(1);
  if (digits.size() < 2 || digits.size() > kMostDigits ||
      (digits.size() > 2 && digits.back() == '0') || digits == "00")
    throw ScenarioError(fmt::format(
        "--metric {}: {} is no quantile; allowed are p01 to p99 in per cent, and with more digits, "
        "{} at most and no 0 at the end, p999 for 99.9 %, p025 for 2.5 %; the maximum has none",
        metric, text, kMostDigits));
  return std::stod("0." + digits);
}

std::vector<std::string> names_of(const std::vector<FlowSet>& sets) {
  std::vector<std::string> names;
  for (const FlowSet& set : sets) names.push_back(set.name);
  return names;
}

std::string names_of_all_metrics() {
  std::string names;
  for (const MetricInfo& info : all_metrics())
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

}  // namespace

const char* state_name(Evaluation::State state) {
  switch (state) {
    case Evaluation::State::kRunning:
      return "running";
    case Evaluation::State::kConverged:
      return "converged";
    case Evaluation::State::kNotVaried:
      return "not-varied";
    case Evaluation::State::kMaxTrials:
      return "max-trials";
    case Evaluation::State::kNoSamples:
      return "no-samples";
    case Evaluation::State::kFailures:
      return "failures";
  }
  return "";
}

MetricRequest parse_metric(const std::string& name, Estimand estimand, const Scenario& scenario) {
  MetricRequest request;
  request.name = name;
  request.base = name;
  request.estimand = estimand;
  if (const size_t dot = name.find('.'); dot != std::string::npos) {
    const std::vector<FlowSet> sets = flow_sets(scenario.workload);
    const std::string wanted = name.substr(0, dot);
    request.base = name.substr(dot + 1);
    const auto it = std::find_if(sets.begin(), sets.end(),
                                 [&](const FlowSet& set) { return set.name == wanted; });
    if (it == sets.end())
      throw ScenarioError(fmt::format(
          "--metric {}: the scenario has no size class \"{}\"{}", name, wanted,
          sets.empty() ? ", and no classes at all"
                       : fmt::format(", allowed are {}", fmt::join(names_of(sets), ", "))));
    request.flows = *it;
  }
  const std::string& base = request.base;
  if (starts_with(base, "fct_") && ends_with(base, "_us") && base.size() > 7) {
    request.quantile = quantile_of(name, base.substr(4, base.size() - 7));
    if (request.quantile > 0) request.source = MetricRequest::Source::kCompletionTime;
    request.unit = "us";
  } else if (starts_with(base, "slowdown_")) {
    request.quantile = quantile_of(name, base.substr(9));
    if (request.quantile > 0) request.source = MetricRequest::Source::kSlowdown;
  }
  const MetricInfo* info = find_metric(name);
  if (info) request.unit = info->unit;
  if (!info && request.quantile == 0)
    throw ScenarioError(fmt::format(
        "--metric {}: no such metric; allowed are {}, and any quantile of flows such as "
        "fct_p95_us or slowdown_p999",
        name, names_of_all_metrics()));
  if (estimand == Estimand::kPooled && request.quantile == 0)
    throw ScenarioError(fmt::format(
        "--metric {}: --estimand pooled needs a quantile of flows, such as fct_p99_us or "
        "slowdown_p999",
        name));
  return request;
}

TrialValue trial_value(const TrialResult& trial, const MetricRequest& metric) {
  TrialValue result;
  const auto known = trial.metrics.find(metric.name);
  if (metric.source == MetricRequest::Source::kMetric) {
    if (known == trial.metrics.end()) return result;
    result.value = known->second.value;
    result.missed = known->second.missed;
    return result;
  }
  const auto ratio = trial.metrics.find("log_ratio");
  if (ratio != trial.metrics.end()) result.log_weight = ratio->second.value;
  BoundedValues values;
  for (const FlowSample& s : trial.samples) {
    if (!metric.flows.has(s.size_class, s.request)) continue;
    const auto fct_ns = static_cast<double>(s.fct_ns);
    const double value = metric.source == MetricRequest::Source::kCompletionTime
                             ? fct_ns / 1000
                             : std::max(1.0, fct_ns / static_cast<double>(s.ideal_ns));
    values.add(value, s.missed);
    result.flows.push_back({value, s.log_weight});
    result.missed = result.missed || s.missed;
  }
  if (known != trial.metrics.end())
    result.value = known->second.value;
  else if (!values.values.empty())
    result.value = trial_quantile(values.values, metric.quantile);
  // Where the quantile over the flows of all trials will lie, one trial does not say.
  if (metric.estimand == Estimand::kMean && result.missed)
    result.missed = values.percentile_may_be_more(metric.quantile);
  return result;
}

void suit_sampling(const Scenario& scenario, int min_trials, EvaluationSpec* spec) {
  spec->goal.min_units = min_trials;
  spec->pooled.trials_per_cycle = 1;
  if (!scenario.workload.present) return;
  const SamplingSpec& sampling = scenario.workload.sampling;
  if (sampling.kind == "stratified") {
    const int group = sampling.group;
    spec->trials_per_unit = spec->pooled.trials_per_cycle = group;
    spec->goal.min_units = std::max(kLeastGroups, (min_trials + group - 1) / group);
    spec->max_trials -= spec->max_trials % group;
    if (spec->max_trials < spec->goal.min_units * group)
      throw ScenarioError(
          fmt::format("--max-trials: sizes are stratified over groups of {} trials, allowed are {} "
                      "or more",
                      group, spec->goal.min_units * group));
  } else if (sampling.kind != "plain") {
    for (const MetricRequest& metric : spec->metrics)
      if (metric.estimand != Estimand::kPooled)
        throw ScenarioError(
            fmt::format("--metric {}: the scenario's flows are drawn from another distribution "
                        "(workload.sampling = \"{}\"), only an estimate over the flows knows their "
                        "weights: --estimand pooled",
                        metric.name, sampling.kind));
  }
}

Evaluation::Evaluation(const EvaluationSpec& spec)
    : spec_(spec), tracks_(spec.algorithms.size()), group_index_(spec.algorithms.size()) {
  check_goal(spec_.goal);
  for (Track& track : tracks_) {
    track.metrics.resize(spec_.metrics.size());
    for (size_t m = 0; m < spec_.metrics.size(); m++) {
      Metric& metric = track.metrics[m];
      if (spec_.metrics[m].estimand == Estimand::kPooled)
        metric.pooled =
            std::make_unique<PooledQuantile>(spec_.metrics[m].quantile, spec_.goal, spec_.pooled);
      else
        metric.mean = std::make_unique<MeanEstimator>(spec_.goal, spec_.trials_per_unit);
      if (!spec_.controls.empty()) {
        if (!metric.mean) throw Error("a control variate is of a mean over the trials");
        const ControlMean& control = spec_.controls.at(m);
        metric.control = std::make_unique<ControlVariate>(control.mean, control.error, spec_.goal,
                                                          spec_.trials_per_unit, control.tails);
      }
      renew(metric);
    }
  }
  if (spec_.compare) {
    // The verdict is looked for after each pair: only a confidence sequence allows that.
    Goal goal = spec_.goal;
    goal.interval = Interval::kAnytime;
    for (size_t m = 0; m < spec_.metrics.size(); m++)
      pairs_.push_back(std::make_unique<PairedComparison>(goal, spec_.trials_per_unit));
    pair_units_.resize(spec_.metrics.size());
    Group both;
    both.members = {spec_.compare->first, spec_.compare->second};
    groups_.push_back(std::move(both));
  }
  for (size_t a = 0; a < tracks_.size(); a++) {
    if (spec_.compare && (a == spec_.compare->first || a == spec_.compare->second)) {
      group_index_[a] = 0;
      continue;
    }
    Group alone;
    alone.members = {a};
    group_index_[a] = groups_.size();
    groups_.push_back(std::move(alone));
  }
}

const Evaluation::Group& Evaluation::group_of(size_t algorithm) const {
  return groups_[group_index_[algorithm]];
}

const Estimate& Evaluation::estimate(size_t algorithm, size_t metric) const {
  return tracks_[algorithm].metrics[metric].estimate;
}

int Evaluation::missed(size_t algorithm, size_t metric) const {
  return tracks_[algorithm].metrics[metric].missed;
}

bool Evaluation::control_given_up(size_t algorithm, size_t metric) const {
  return tracks_[algorithm].metrics[metric].control_given_up;
}

const std::vector<double>& Evaluation::values(size_t algorithm, size_t metric) const {
  return tracks_[algorithm].metrics[metric].values;
}

const std::vector<HistoryPoint>& Evaluation::history(size_t algorithm, size_t metric) const {
  return tracks_[algorithm].metrics[metric].history;
}

std::string Evaluation::trouble(size_t algorithm) const { return group_of(algorithm).trouble; }

bool Evaluation::finished() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const Group& g) { return g.state != State::kRunning; });
}

bool Evaluation::pooled() const {
  return std::any_of(spec_.metrics.begin(), spec_.metrics.end(),
                     [](const MetricRequest& m) { return m.estimand == Estimand::kPooled; });
}

int64_t Evaluation::more_of(const Group& group) const {
  if (group.state != State::kRunning) return 0;
  const int64_t least = int64_t{spec_.goal.min_units} * spec_.trials_per_unit;
  int64_t all = least;
  for (size_t member : group.members)
    for (const Metric& metric : tracks_[member].metrics) {
      // Nothing known yet: as many again.
      const int64_t forecast = metric.estimate.forecast_trials > 0 ? metric.estimate.forecast_trials
                                                                   : 2 * int64_t{group.used};
      if (!metric.estimate.converged && !(spec_.verdict_only && group.members.size() == 2))
        all = std::max(all, forecast);
    }
  if (!pairs_.empty() && group.members.size() == 2)
    for (const auto& pair : pairs_) all = std::max(all, group.used + pair->compare().more_pairs);
  all = std::min<int64_t>(all, spec_.max_trials);
  return std::max<int64_t>(all - group.used, 1);
}

int64_t Evaluation::more_trials(size_t algorithm) const { return more_of(group_of(algorithm)); }

std::vector<TrialId> Evaluation::next(size_t limit, int ahead) {
  std::vector<TrialId> result;
  std::vector<int> last(groups_.size());
  for (size_t g = 0; g < groups_.size(); g++) {
    const Group& group = groups_[g];
    const int64_t first_stage = int64_t{spec_.goal.min_units} * spec_.trials_per_unit;
    // A forecast from few trials is not worth more than these.
    int64_t more = std::min(more_of(group), std::max<int64_t>(group.used, first_stage));
    if (group.used >= first_stage) more = std::max<int64_t>(more, ahead);
    last[g] = static_cast<int>(std::min<int64_t>(spec_.max_trials, group.used + more));
  }
  while (result.size() < limit) {
    Group* lowest = nullptr;
    for (size_t g = 0; g < groups_.size(); g++) {
      Group& group = groups_[g];
      if (group.state != State::kRunning || group.next_number >= last[g]) continue;
      if (!lowest || group.next_number < lowest->next_number) lowest = &group;
    }
    if (!lowest) break;
    result.push_back({lowest->members[lowest->next_member], lowest->next_number});
    if (++lowest->next_member == lowest->members.size()) {
      lowest->next_member = 0;
      lowest->next_number++;
    }
  }
  return result;
}

void Evaluation::add(TrialId id, std::optional<std::vector<TrialValue>> values) {
  const int64_t before_ns = monotonic_ns();
  Group& group = groups_[group_index_[id.algorithm]];
  if (group.state == State::kRunning) {
    group.waiting[id.number][id.algorithm] = std::move(values);
    for (;;) {
      const auto it = group.waiting.find(group.used);
      if (group.state != State::kRunning || it == group.waiting.end() ||
          it->second.size() < group.members.size())
        break;
      take(group, it->second);
      group.waiting.erase(it);
      decide(group);
    }
    if (group.state != State::kRunning) group.waiting.clear();
  }
  estimator_s_ += static_cast<double>(monotonic_ns() - before_ns) / 1e9;
}

void Evaluation::add_value(Metric& metric, const TrialValue* value, bool unit_complete) {
  if (value && value->value) {
    metric.values.push_back(*value->value);
    metric.missed += value->missed;
    metric.unit.sum += *value->value;
    metric.unit.control_sum += value->control.value_or(0);
    metric.unit.count++;
  }
  if (metric.control && value && value->value.has_value() != value->control.has_value())
    metric.control_given_up = true;
  if (value) {
    metric.unit.flows.insert(metric.unit.flows.end(), value->flows.begin(), value->flows.end());
    metric.unit.log_weight += value->log_weight;
  }
  if (!unit_complete) return;
  if (metric.pooled) {
    metric.pooled->add_weighted_cycle(metric.unit.flows, metric.unit.log_weight);
  } else if (metric.unit.count == spec_.trials_per_unit) {
    metric.mean->add(metric.unit.sum / spec_.trials_per_unit);
    if (metric.control)
      metric.control->add(metric.unit.sum / spec_.trials_per_unit,
                          metric.unit.control_sum / spec_.trials_per_unit);
  } else {
    metric.mean->add_missing();
    if (metric.control) metric.control->add_missing();
  }
  metric.unit = Unit();
}

void Evaluation::renew(Metric& metric) const {
  if (metric.mean) {
    metric.estimate = metric.control && !metric.control_given_up ? metric.control->estimate()
                                                                 : metric.mean->estimate();
    return;
  }
  Estimate& e = metric.estimate = metric.pooled->estimate();
  // A cycle is a group of trials.
  for (int64_t* count :
       {&e.trials, &e.missing, &e.forecast_trials, &e.forecast_low, &e.forecast_high})
    *count *= spec_.trials_per_unit;
}

void Evaluation::take(Group& group, const std::map<size_t, Values>& trial) {
  const bool unit_complete = (group.used + 1) % spec_.trials_per_unit == 0;
  for (size_t member : group.members) {
    const Values& values = trial.at(member);
    Track& track = tracks_[member];
    if (!values) track.failed.push_back(group.used);
    for (size_t m = 0; m < track.metrics.size(); m++)
      add_value(track.metrics[m], values ? &values->at(m) : nullptr, unit_complete);
  }
  if (!pairs_.empty() && group.members.size() == 2) {
    const Values& a = trial.at(group.members[0]);
    const Values& b = trial.at(group.members[1]);
    for (size_t m = 0; m < pairs_.size(); m++) {
      auto& [unit_a, unit_b] = pair_units_[m];
      if (a && b && a->at(m).value && b->at(m).value) {
        unit_a.sum += *a->at(m).value;
        unit_b.sum += *b->at(m).value;
        unit_a.count++;
      }
      if (!unit_complete) continue;
      if (unit_a.count == spec_.trials_per_unit)
        pairs_[m]->add(unit_a.sum / unit_a.count, unit_b.sum / unit_a.count);
      else
        pairs_[m]->add_missing();
      unit_a = unit_b = Unit();
    }
  }
  group.used++;
}

void Evaluation::decide(Group& group) {
  const int n = group.used;
  const bool last = n >= spec_.max_trials;
  const bool look = n >= group.next_look || last;
  if (look) group.next_look = look_after(n);
  for (size_t member : group.members) {
    Track& track = tracks_[member];
    for (Metric& metric : track.metrics) {
      if (metric.mean || look) renew(metric);
      if (look) metric.history.push_back({n, metric.estimate});
    }
  }

  // What has one value in all of enough trials is done with, but has not converged.
  const auto not_varied = [](const Estimate& e) {
    return e.doubt == Doubt::kNotVaried && e.trials >= e.least_trials;
  };
  bool done = look || !pooled();
  bool varied = true;
  for (size_t member : group.members) {
    const Track& track = tracks_[member];
    const std::string& name = spec_.algorithms[member];
    const int failed = static_cast<int>(track.failed.size());
    if (failed >= kLeastFailures && 2 * failed > n) {
      group.state = State::kFailures;
      group.trouble = fmt::format("{}: {} of {} trials failed", name, failed, n);
      return;
    }
    for (size_t m = 0; m < track.metrics.size(); m++) {
      const Metric& metric = track.metrics[m];
      if (metric.values.empty() && n >= spec_.goal.min_units * spec_.trials_per_unit) {
        group.state = State::kNoSamples;
        group.trouble =
            fmt::format("{}: no trial of {} has a sample of {}{}", name, n, spec_.metrics[m].name,
                        spec_.metrics[m].quantile > 0 ? ": it is of measured flows with a size"
                                                      : ", which does not apply to this scenario");
        return;
      }
      if (spec_.verdict_only && group.members.size() == 2) continue;
      done = done && (metric.estimate.converged || not_varied(metric.estimate));
      varied = varied && !not_varied(metric.estimate);
    }
  }
  if (!pairs_.empty() && group.members.size() == 2 && done)
    for (const auto& pair : pairs_) {
      const Estimate difference = pair->compare().difference;
      done = done && (difference.converged || not_varied(difference));
      varied = varied && !not_varied(difference);
    }
  if (done)
    group.state = varied ? State::kConverged : State::kNotVaried;
  else if (last)
    group.state = State::kMaxTrials;
  if (group.state != State::kRunning)
    for (size_t member : group.members)
      for (Metric& metric : tracks_[member].metrics)
        if (metric.history.empty() || metric.history.back().trials != n)
          metric.history.push_back({n, metric.estimate});
}

void Evaluation::settle() {
  for (Group& group : groups_)
    for (size_t member : group.members)
      for (Metric& metric : tracks_[member].metrics) {
        if (metric.pooled) renew(metric);
        if (group.used > 0 &&
            (metric.history.empty() || metric.history.back().trials != group.used))
          metric.history.push_back({group.used, metric.estimate});
      }
}

Comparison Evaluation::comparison(size_t metric) const { return pairs_.at(metric)->compare(); }

}  // namespace delaycc

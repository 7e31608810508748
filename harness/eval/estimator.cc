// SPDX-License-Identifier: Apache-2.0
#include "eval/estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace delaycc {
namespace {

namespace bm = boost::math;

// Eight digits of a quantile are enough, and cost a third of sixteen.
using Policy = bm::policies::policy<bm::policies::digits10<8>, bm::policies::promote_double<false>>;
using Normal = bm::normal_distribution<double, Policy>;
using Student = bm::students_t_distribution<double, Policy>;
using ChiSquared = bm::chi_squared_distribution<double, Policy>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMostUnits = int64_t{1} << 50;
// A sum of weights that should be exactly (1 - p) of the flows may miss it by rounding.
constexpr double kRounding = 1 + 1e-12;
constexpr size_t kSections = 20;
// From 100 on the confidence sequence held 96 % or more of every distribution of
// docs/research/evaluation.md whose tail shows in that many.
constexpr int kAnytimeStart = 100;
// Of the slope that a control variate's line keeps beyond what was seen.
constexpr double kSlopeInDoubt = 0.5;

void check_finite(double value) {
  if (!std::isfinite(value)) throw Error("a sample of an estimate is not a finite number");
}

void check_range(double value, double low, double high, const char* what) {
  if (!(value >= low && value <= high))
    throw Error(fmt::format("{} is {}; allowed are {} to {}", what, value, low, high));
}

double upper_tail(const Goal& goal) { return (1 - goal.confidence) / 2; }

double student(double freedom, double upper) {
  return bm::quantile(bm::complement(Student(freedom), upper));
}

// What the standard error of a mean of n values is multiplied by.
double width_factor(const Goal& goal, double n, double freedom) {
  switch (goal.interval) {
    case Interval::kNormal:
      return bm::quantile(bm::complement(Normal(), upper_tail(goal)));
    case Interval::kAnytime: {
      // The normal mixture's boundary, narrowest where a decision is likely to fall.
      const double rho = 1 - goal.confidence;
      const double best_n = 10.0 * std::max(goal.min_units, kAnytimeStart);
      const double scale = (-2 * std::log(rho) + std::log(1 - 2 * std::log(rho))) / best_n * n;
      return std::sqrt(2 * (scale + 1) / scale * std::log(std::sqrt(scale + 1) / rho));
    }
    case Interval::kStudent:
    case Interval::kSkewed:
      break;
  }
  return student(freedom, upper_tail(goal));
}

bool reads_tail(const Goal& goal) {
  return goal.interval == Interval::kSkewed || goal.interval == Interval::kAnytime;
}

// What the deviation of n values of this kurtosis is multiplied by: one standard error of their
// variance, which is (kurtosis - 1) / n of its square.
double spread_allowance(const Goal& goal, double kurtosis, double n) {
  return reads_tail(goal) ? std::sqrt(1 + std::sqrt(std::max(kurtosis - 1, 0.0) / n)) : 1;
}

// The interval of a mean of e.n units. `moments` are of the units' deviations from it.
void set_interval(Estimate& e, const Goal& goal, double standard_error, double freedom,
                  const Moments& moments) {
  const auto n = static_cast<double>(e.n);
  if (goal.interval == Interval::kAnytime && e.n < kAnytimeStart) return;
  const double factor = width_factor(goal, n, freedom);
  const double skewness = reads_tail(goal) ? moments.skewness() : 0;
  standard_error *= spread_allowance(goal, moments.tail_weight(), n);
  if (std::abs(skewness) > 1e-6) {
    // Hall's cubic transform of t, which has an inverse in closed form.
    const double root = std::sqrt(n);
    const auto inverse = [&](double x) {
      return 3 / skewness * (std::cbrt(1 + skewness * (x / root - skewness / (6 * n))) - 1) * root;
    };
    e.low = e.value - standard_error * inverse(factor);
    e.high = e.value - standard_error * inverse(-factor);
  } else {
    e.low = e.value - factor * standard_error;
    e.high = e.value + factor * standard_error;
  }
}

void set_width(Estimate& e) {
  e.half_width = (e.high - e.low) / 2;
  if (!std::isfinite(e.half_width)) e.half_width = kInfinity;
  e.relative_margin = e.value != 0 ? e.half_width / std::abs(e.value) : kInfinity;
}

void forget_interval(Estimate& e) {
  e.low = -kInfinity;
  e.high = kInfinity;
  set_width(e);
}

int64_t whole(double units) {
  if (!(units < static_cast<double>(kMostUnits))) return kMostUnits;
  return static_cast<int64_t>(std::ceil(units));
}

int64_t times(int64_t units, int64_t trials_per_unit) {
  return units > kMostUnits / trials_per_unit ? kMostUnits : units * trials_per_unit;
}

// The forecast's own interval. The variance of ln(s^2 / mean^2) over n values is (kurtosis - 1
// + 4 cv^2 - 4 skewness cv) / n; a chi-square variable over its k degrees of freedom has 2 / k.
void set_forecast_interval(Estimate& e, const Goal& goal, const Moments& moments, double cv) {
  const double skewness = moments.skewness();
  const double kurtosis = moments.tail_weight();
  const double spread = std::max(kurtosis - 1 + 4 * cv * cv - 4 * skewness * cv, 0.5);
  const double freedom = std::max(2 * static_cast<double>(e.n) / spread, 1.0);
  const ChiSquared chi(freedom);
  const auto forecast = static_cast<double>(e.forecast_trials);
  e.forecast_low = whole(forecast * freedom / bm::quantile(bm::complement(chi, upper_tail(goal))));
  e.forecast_high = whole(forecast * freedom / bm::quantile(chi, upper_tail(goal)));
}

// Nothing is claimed from fewer units.
int64_t least_units(const Goal& goal, int64_t trials_per_unit) {
  const int64_t trials = trials_to_see(goal.unseen_share, goal.confidence);
  return std::max<int64_t>(goal.min_units, (trials + trials_per_unit - 1) / trials_per_unit);
}

// Once the interval stands. `units` is what Goal::min_units is of, `varied` whether the values do.
void set_converged(Estimate& e, const Goal& goal, int64_t units, int64_t trials_per_unit,
                   bool varied) {
  const int64_t least = least_units(goal, trials_per_unit);
  e.least_trials = times(least, trials_per_unit);
  e.unseen_share = largest_unseen_share(units * trials_per_unit, goal.confidence);
  if (!varied)
    e.doubt = Doubt::kNotVaried;
  else if (!std::isfinite(e.half_width))
    e.doubt = Doubt::kNoBound;
  else if (e.relative_margin > goal.relative_margin)
    e.doubt = Doubt::kWide;
  else if (units < goal.min_units)
    e.doubt = Doubt::kFewTrials;
  else
    e.doubt = units < least ? Doubt::kUnseen : Doubt::kNone;
  e.converged = e.doubt == Doubt::kNone;
}

// What mean, groups of trials and control variate have in common once value, deviation and interval
// stand.
void finish_mean(Estimate& e, const Goal& goal, const Moments& moments, int trials_per_unit,
                 bool varied) {
  if (varied)
    set_width(e);
  else
    forget_interval(e);
  set_converged(e, goal, e.n, trials_per_unit, varied);
  e.tail_units = static_cast<double>(e.n) / moments.tail_weight();
  if (!varied) e.forecast_trials = e.forecast_low = e.forecast_high = e.least_trials;
  if (e.value == 0 || !varied) return;
  const double margin = goal.relative_margin * std::abs(e.value);
  const int64_t units = forecast_units(goal, e.deviation, margin, moments.tail_weight());
  e.forecast_trials = std::max(times(units, trials_per_unit), e.least_trials);
  set_forecast_interval(e, goal, moments, e.deviation / std::abs(e.value));
}

std::string percent_name(double p) { return fmt::format("p{:.6g}", p * 100); }

// The mean over units of `trials_per_unit` trials each.
Estimate mean_estimate(const Goal& goal, const Moments& moments, int trials_per_unit,
                       int64_t missing) {
  Estimate e;
  e.estimand = "mean";
  e.method = interval_name(goal.interval);
  e.n = moments.n();
  e.trials = e.n * trials_per_unit;
  e.missing = missing * trials_per_unit;
  e.effective_trials = static_cast<double>(e.trials);
  e.value = e.n > 0 ? moments.mean() : std::numeric_limits<double>::quiet_NaN();
  e.deviation = moments.deviation();
  if (e.n < 2) return e;
  set_interval(e, goal, e.deviation / std::sqrt(static_cast<double>(e.n)),
               static_cast<double>(e.n - 1), moments);
  finish_mean(e, goal, moments, trials_per_unit, moments.varied());
  return e;
}

}  // namespace

const char* interval_name(Interval interval) {
  switch (interval) {
    case Interval::kStudent:
      return "student";
    case Interval::kNormal:
      return "normal";
    case Interval::kSkewed:
      return "skewed";
    case Interval::kAnytime:
      return "anytime";
  }
  return "";
}

void check_goal(const Goal& goal) {
  if (!(goal.relative_margin > 0 && goal.relative_margin < 1))
    throw Error(fmt::format("the relative margin is {}; it must be above 0 and below 1",
                            goal.relative_margin));
  check_range(goal.confidence, 0.5, 0.9999, "the confidence");
  check_range(goal.min_units, 2, 1e6, "the least number of trials");
  check_range(goal.unseen_share, 1e-6, 0.5, "the share of the trials that may go unseen");
}

int64_t trials_to_see(double share, double confidence) {
  // The rounding must not add a trial where the division is exact.
  return whole(std::log1p(-confidence) / std::log1p(-share) / kRounding);
}

double largest_unseen_share(int64_t trials, double confidence) {
  return trials > 0 ? -std::expm1(std::log1p(-confidence) / static_cast<double>(trials)) : 1;
}

int64_t Estimate::more_trials() const { return std::max<int64_t>(forecast_trials - trials, 0); }

std::string doubt_text(const Estimate& e, const Goal& goal, double scale, const std::string& unit) {
  const auto percent = [](double share) { return fmt::format("{:.2g} %", 100 * share); };
  const std::string confidence = fmt::format("{:.4g} %", 100 * goal.confidence);
  switch (e.doubt) {
    case Doubt::kNone:
      break;
    case Doubt::kNoBound:
      return "no bound yet: too few trials for this interval";
    case Doubt::kNotVaried:
      return fmt::format(
          "nothing but {:.4g}{}{} in {} trials: another value in at most {} of the trials ({})",
          e.value * scale, unit.empty() ? "" : " ", unit, e.trials, percent(e.unseen_share),
          confidence);
    case Doubt::kFewTrials:
    case Doubt::kUnseen:
      return fmt::format(
          "narrow enough, but {} trials do not count before {}: {}", e.trials, e.least_trials,
          e.doubt == Doubt::kFewTrials
              ? std::string("the least number asked for")
              : fmt::format("what happens in {} of the trials may not have come ({})",
                            percent(e.unseen_share), confidence));
    case Doubt::kWide:
      return fmt::format("the interval is wider than {}", percent(goal.relative_margin));
  }
  return "";
}

std::string describe(const Estimate& e, double scale, const std::string& unit) {
  if (std::isnan(e.value)) return fmt::format("{}: no sample", e.estimand);
  std::string text =
      fmt::format("{}: {:.4g}{}{}", e.estimand, e.value * scale, unit.empty() ? "" : " ", unit);
  if (std::isfinite(e.half_width))
    text += fmt::format(" +- {:.2g} %", e.relative_margin * 100);
  else
    text += e.doubt == Doubt::kNotVaried ? " (has not varied)" : " (no bound yet)";
  text += fmt::format(" ({}, {} trials", e.method, e.trials);
  if (e.missing > 0) text += fmt::format(", {} without a sample", e.missing);
  if (!e.converged && e.forecast_trials > 0)
    text += fmt::format("; needs about {}, {} to {}", e.forecast_trials, e.forecast_low,
                        e.forecast_high);
  return text + ")";
}

void Moments::add(double value) {
  check_finite(value);
  const auto before = static_cast<double>(n_);
  n_++;
  const auto n = static_cast<double>(n_);
  const double delta = value - mean_;
  const double step = delta / n;
  const double term = delta * step * before;
  m4_ += term * step * step * (n * n - 3 * n + 3) + 6 * step * step * m2_ - 4 * step * m3_;
  m3_ += term * step * (n - 2) - 3 * step * m2_;
  m2_ += term;
  mean_ += step;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

double Moments::variance() const { return n_ < 2 ? 0 : m2_ / static_cast<double>(n_ - 1); }

double Moments::deviation() const { return std::sqrt(variance()); }

double Moments::skewness() const {
  return m2_ > 0 ? std::sqrt(static_cast<double>(n_)) * m3_ / std::pow(m2_, 1.5) : 0;
}

double Moments::kurtosis() const {
  return n_ >= 4 && m2_ > 0 ? static_cast<double>(n_) * m4_ / (m2_ * m2_) : 3;
}

double Moments::tail_weight() const {
  const double g = skewness();
  return std::max(kurtosis(), 3 + 1.5 * g * g);
}

int64_t forecast_units(const Goal& goal, double deviation, double margin, double kurtosis) {
  if (!(margin > 0)) return 0;
  if (reads_tail(goal) && kurtosis > 1) {
    // n = n1 (1 + sqrt((kurtosis - 1) / n)), n1 being that of a deviation that is known.
    const auto known = static_cast<double>(forecast_units(goal, deviation, margin));
    double n = known;
    for (int pass = 0; pass < 20; ++pass) {
      const double allowance = spread_allowance(goal, kurtosis, n);
      n = known * allowance * allowance;
    }
    return std::max<int64_t>(whole(n), 2);
  }
  const auto enough = [&](double n) {
    return width_factor(goal, n, n - 1) * deviation <= margin * std::sqrt(n);
  };
  if (goal.interval != Interval::kAnytime) {
    // The normal quantile gives the number but for a few; one step with Student's at that number is
    // exact to one unit where there are hundreds.
    Goal normal = goal;
    normal.interval = Interval::kNormal;
    const double z = width_factor(normal, 2, 1) * deviation / margin;
    if (z * z >= static_cast<double>(kMostUnits)) return kMostUnits;
    if (z * z > 200 || goal.interval == Interval::kNormal) {
      const double n = std::max(z * z, 2.0);
      const double factor = width_factor(goal, n, n - 1) * deviation / margin;
      return std::max<int64_t>(whole(factor * factor), 2);
    }
  }
  double high = 2;
  while (!enough(high)) {
    high *= 2;
    if (high >= static_cast<double>(kMostUnits)) return kMostUnits;
  }
  double low = std::max(high / 2, 2.0);
  while (high - low > 0.5) {
    const double middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return std::max<int64_t>(whole(enough(low) ? low : high), 2);
}

////////// Mean

MeanEstimator::MeanEstimator(const Goal& goal, int trials_per_unit)
    : goal_(goal), trials_per_unit_(trials_per_unit) {
  check_goal(goal);
  check_range(trials_per_unit, 1, 1e6, "the number of trials in a group");
}

void MeanEstimator::add(double value) { moments_.add(value); }

Estimate MeanEstimator::estimate() const {
  Estimate e = mean_estimate(goal_, moments_, trials_per_unit_, missing_);
  if (trials_per_unit_ > 1) e.method += fmt::format(", groups of {}", trials_per_unit_);
  return e;
}

////////// Quantiles

double trial_quantile(std::vector<double> values, double p) {
  if (!(p > 0 && p < 1)) throw Error(fmt::format("a quantile of {} is asked for; 0 < p < 1", p));
  if (values.empty()) throw Error("a quantile of a trial in which no flow was complete");
  for (double v : values) check_finite(v);
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::ceil(p * n / kRounding));
  const size_t index = std::clamp<size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

PooledQuantile::PooledQuantile(double p, const Goal& goal, const PooledOptions& options)
    : p_(p), goal_(goal), options_(options) {
  if (!(p > 0 && p < 1)) throw Error(fmt::format("a quantile of {} is asked for; 0 < p < 1", p));
  check_goal(goal);
  check_range(options.cycles_per_batch, 1, 1e6, "the number of cycles in a batch");
  check_range(options.flows_per_cycle, 0, 1e12, "the number of flows in a cycle");
  check_range(options.trials_per_cycle, 1, 1e6, "the number of trials in a cycle");
}

void PooledQuantile::add_cycle(const std::vector<double>& values, double control) {
  std::vector<WeightedValue> weighted;
  weighted.reserve(values.size());
  for (double v : values) weighted.push_back({v, 0});
  add_weighted_cycle(weighted, 0, control);
}

void PooledQuantile::add_weighted_cycle(const std::vector<WeightedValue>& values,
                                        double cycle_log_weight, double control) {
  check_finite(control);
  check_finite(cycle_log_weight);
  for (const WeightedValue& v : values) {
    check_finite(v.value);
    check_finite(v.log_weight);
  }
  Cycle cycle;
  cycle.control = control;
  cycle.log_weight = cycle_log_weight;
  const auto number = static_cast<uint32_t>(cycles_.size());
  for (const WeightedValue& v : values) {
    const double weight = v.log_weight == 0 ? 1 : std::exp(v.log_weight);
    flows_.push_back({v.value, weight, number});
    cycle.flows += weight;
  }
  cycles_.push_back(cycle);
  if (values.empty()) ++missing_;
}

void PooledQuantile::sort() const {
  if (sorted_ == flows_.size()) return;
  const auto less = [](const Flow& a, const Flow& b) {
    return a.value != b.value ? a.value < b.value : a.cycle < b.cycle;
  };
  const auto middle = flows_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::stable_sort(middle, flows_.end(), less);
  std::inplace_merge(flows_.begin(), middle, flows_.end(), less);
  sorted_ = flows_.size();
}

double PooledQuantile::flows_expected(const Cycle& cycle) const {
  return options_.flows_per_cycle > 0 ? options_.flows_per_cycle : cycle.flows;
}

double PooledQuantile::tail_probability(double gamma) const {
  double above = 0, all = 0;
  for (const Flow& flow : flows_)
    if (flow.value > gamma) above += flow.weight;
  for (const Cycle& cycle : cycles_) all += flows_expected(cycle);
  return all > 0 ? above / all : 0;
}

double PooledQuantile::upper_quantile(double tail) const {
  if (flows_.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (!(tail > 0)) return kInfinity;
  double all = 0;
  for (const Cycle& cycle : cycles_) all += flows_expected(cycle);
  const double allowed = tail * all * kRounding;
  double above = 0;
  for (size_t i = flows_.size(); i-- > 0;) {
    above += flows_[i].weight;
    if (above > allowed)
      return options_.as_printed && i + 1 < flows_.size() ? flows_[i + 1].value : flows_[i].value;
  }
  return flows_.front().value;
}

std::vector<double> PooledQuantile::batch_quantiles(const std::vector<uint32_t>& batch_of,
                                                    size_t batches) const {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<double> allowed(batches, 0), above(batches, 0), last(batches, 0);
  std::vector<double> quantile(batches, std::numeric_limits<double>::quiet_NaN());
  std::vector<bool> any(batches, false), done(batches, false);
  for (size_t c = 0; c < cycles_.size(); ++c)
    if (batch_of[c] != kNone) allowed[batch_of[c]] += flows_expected(cycles_[c]);
  for (double& a : allowed) a *= (1 - p_) * kRounding;
  for (size_t i = flows_.size(); i-- > 0;) {
    const uint32_t b = batch_of[flows_[i].cycle];
    if (b == kNone || done[b]) continue;
    above[b] += flows_[i].weight;
    if (above[b] > allowed[b]) {
      quantile[b] = options_.as_printed && any[b] ? last[b] : flows_[i].value;
      done[b] = true;
    } else {
      quantile[b] = flows_[i].value;
    }
    last[b] = flows_[i].value;
    any[b] = true;
  }
  return quantile;
}

Estimate PooledQuantile::estimate() const {
  sort();
  Estimate e;
  e.estimand = "pooled " + percent_name(p_);
  e.n = e.trials = cycles();
  e.flows = static_cast<int64_t>(flows_.size());
  e.missing = missing_;
  e.value = upper_quantile(1 - p_);
  switch (options_.method) {
    case PooledOptions::Method::kRatio:
      ratio(e);
      break;
    case PooledOptions::Method::kBatches:
      batches(e);
      break;
    case PooledOptions::Method::kSections:
      sections(e);
      break;
  }
  double largest = -kInfinity;
  for (const Cycle& c : cycles_) largest = std::max(largest, c.log_weight);
  double sum = 0, squares = 0;
  for (const Cycle& c : cycles_) {
    const double w = std::exp(c.log_weight - largest);
    sum += w;
    squares += w * w;
  }
  e.effective_trials = squares > 0 ? sum * sum / squares : 0;
  e.effective_share = cycles_.empty() ? 1 : e.effective_trials / static_cast<double>(cycles());
  return e;
}

void PooledQuantile::ratio(Estimate& e) const {
  e.method = "ratio";
  const size_t m = cycles_.size();
  if (m < 2 || flows_.empty()) return;
  double all = 0;
  bool controlled = false;
  for (const Cycle& c : cycles_) {
    all += flows_expected(c);
    controlled = controlled || c.control != 0;
  }
  if (!(all > 0)) return;
  const bool varied = flows_.front().value < flows_.back().value;
  if (!varied) {
    set_converged(e, goal_, e.n, options_.trials_per_cycle, varied);
    e.forecast_trials = e.forecast_low = e.forecast_high =
        e.least_trials / options_.trials_per_cycle;
    return;
  }
  controlled = controlled && m >= 4;
  const double per_cycle = all / static_cast<double>(m);

  // Exceedances of each cycle at the quantile, in excess of its share; then what the control
  // explains of them moves the tail at which the quantile is read. Twice: the first move changes
  // the excess.
  double tail = 1 - p_, beta = 0, control_squares = 0;
  Moments excess, control;
  std::vector<double> above(m);
  for (int pass = 0; pass < (controlled ? 2 : 1); ++pass) {
    std::fill(above.begin(), above.end(), 0);
    for (size_t i = flows_.size(); i-- > 0 && flows_[i].value >= e.value;)
      above[flows_[i].cycle] += flows_[i].weight;
    Moments plain;
    control = Moments();
    double co_moment = 0;
    for (size_t c = 0; c < m; ++c) {
      const double d = above[c] - tail * flows_expected(cycles_[c]);
      co_moment += (d - plain.mean()) * (cycles_[c].control - control.mean()) *
                   static_cast<double>(c) / static_cast<double>(c + 1);
      plain.add(d);
      control.add(cycles_[c].control);
    }
    control_squares = control.variance() * static_cast<double>(m - 1);
    beta = control_squares > 0 ? co_moment / control_squares : 0;
    excess = Moments();
    for (size_t c = 0; c < m; ++c)
      excess.add(above[c] - tail * flows_expected(cycles_[c]) - beta * cycles_[c].control);
    if (controlled) {
      const double both = std::sqrt(control.variance() * plain.variance());
      e.correlation = both > 0 ? co_moment / static_cast<double>(m - 1) / both : 0;
      e.method = "ratio, control";
      tail = 1 - p_ + beta * control.mean() / per_cycle;
      e.value = upper_quantile(tail);
      if (!std::isfinite(e.value)) return;
    }
  }
  const auto n = static_cast<double>(m);
  double variance = excess.variance() / n;
  double freedom = n - 1;
  if (controlled && m > 2) {
    variance *= (n - 1) / (n - 2);
    if (control_squares > 0)
      variance += excess.variance() * control.mean() * control.mean() / control_squares;
    freedom = n - 2;
  }
  e.deviation = std::sqrt(variance * n);
  e.tail_units = n / excess.tail_weight();
  if (goal_.interval != Interval::kAnytime || m >= kAnytimeStart) {
    const double delta = width_factor(goal_, n, freedom) * std::sqrt(variance) *
                         spread_allowance(goal_, excess.tail_weight(), n) / per_cycle;
    e.low = upper_quantile(tail + delta);
    e.high = upper_quantile(tail - delta);
  }
  set_width(e);
  set_converged(e, goal_, e.n, options_.trials_per_cycle, varied);
  if (!std::isfinite(e.half_width) || e.value == 0) return;
  const double ratio = e.relative_margin / goal_.relative_margin;
  e.forecast_trials =
      std::max<int64_t>(whole(n * ratio * ratio), e.least_trials / options_.trials_per_cycle);
  set_forecast_interval(e, goal_, excess, 0);
}

void PooledQuantile::batches(Estimate& e) const {
  const auto k = static_cast<size_t>(options_.cycles_per_batch);
  const size_t count = cycles_.size() / k;
  e.method = fmt::format("{} batches of {}", count, k);
  std::vector<uint32_t> batch_of(cycles_.size(), UINT32_MAX);
  for (size_t c = 0; c < count * k; ++c) batch_of[c] = static_cast<uint32_t>(c / k);
  MeanEstimator mean(goal_, options_.cycles_per_batch);
  for (double q : batch_quantiles(batch_of, count)) {
    if (std::isnan(q))
      mean.add_missing();
    else
      mean.add(q);
  }
  Estimate batched = mean.estimate();
  batched.estimand = fmt::format("{} over {} cycles", percent_name(p_), k);
  batched.method = e.method;
  batched.flows = e.flows;
  batched.missing = e.missing;
  e = batched;
}

void PooledQuantile::sections(Estimate& e) const {
  e.method = fmt::format("{} sections", kSections);
  const size_t m = cycles_.size();
  if (m < kSections) return;
  double all = 0;
  for (const Cycle& c : cycles_) all += flows_expected(c);
  if ((1 - p_) * all < 2 * static_cast<double>(kSections)) return;
  std::vector<uint32_t> batch_of(m);
  for (size_t c = 0; c < m; ++c) batch_of[c] = static_cast<uint32_t>(c * kSections / m);
  double squares = 0;
  Moments spread;
  for (double q : batch_quantiles(batch_of, kSections)) {
    if (std::isnan(q)) return;
    squares += (q - e.value) * (q - e.value);
    spread.add(q);
  }
  e.n = kSections;
  e.deviation = std::sqrt(squares / static_cast<double>(kSections - 1));
  // The sections are means of many cycles: nothing is read of the tail of twenty numbers.
  Goal sections = goal_;
  if (reads_tail(sections)) sections.interval = Interval::kStudent;
  set_interval(e, sections, e.deviation / std::sqrt(static_cast<double>(kSections)), kSections - 1,
               spread);
  e.tail_units = static_cast<double>(kSections) / spread.tail_weight();
  if (spread.varied())
    set_width(e);
  else
    forget_interval(e);
  set_converged(e, goal_, e.trials, options_.trials_per_cycle, spread.varied());
  if (e.value == 0 || !std::isfinite(e.half_width)) return;
  const double ratio = e.relative_margin / goal_.relative_margin;
  e.forecast_trials = std::max<int64_t>(whole(static_cast<double>(m) * ratio * ratio),
                                        e.least_trials / options_.trials_per_cycle);
  set_forecast_interval(e, goal_, spread, 0);
}

////////// Pairs

PairedComparison::PairedComparison(const Goal& goal, int pairs_per_unit)
    : goal_(goal), pairs_per_unit_(pairs_per_unit) {
  check_goal(goal);
  check_range(pairs_per_unit, 1, 1e6, "the number of pairs in a group");
}

void PairedComparison::add(double a, double b) {
  check_finite(a);
  check_finite(b);
  const auto n = static_cast<double>(a_.n());
  co_moment_ += (a - a_.mean()) * (b - b_.mean()) * n / (n + 1);
  a_.add(a);
  b_.add(b);
  difference_.add(b - a);
  differing_ += a != b;
}

Comparison PairedComparison::compare() const {
  const auto alone = [&](const Moments& moments) {
    return mean_estimate(goal_, moments, pairs_per_unit_, missing_);
  };
  Comparison c;
  c.a = alone(a_);
  c.b = alone(b_);
  c.difference = alone(difference_);
  c.difference.estimand = "difference of means";
  if (a_.n() < 2) return c;

  const auto n = static_cast<double>(a_.n());
  const double both = a_.deviation() * b_.deviation();
  c.correlation = both > 0 ? co_moment_ / (n - 1) / both : 0;
  c.difference.correlation = c.correlation;
  const double apart = a_.variance() + b_.variance();
  c.saved = apart > 0 ? 1 - difference_.variance() / apart : 0;
  const double error = difference_.deviation() / std::sqrt(n);
  const double mean = difference_.mean();
  if (error > 0) {
    const double t = std::abs(mean) / error;
    c.significance = 1 - 2 * bm::cdf(bm::complement(Student(n - 1), t));
  } else {
    c.significance = mean != 0 ? 1 : 0;
  }
  const double half_width = student(n - 1, upper_tail(goal_)) * error;
  c.low_so_far = mean - half_width;
  c.high_so_far = mean + half_width;
  const double alike = goal_.relative_margin * std::abs(a_.mean());
  int64_t least = least_units(goal_, pairs_per_unit_);
  // Before, there is no interval of these differences that could decide.
  if (goal_.interval == Interval::kAnytime && difference_.varied())
    least = std::max<int64_t>(least, kAnytimeStart);
  const bool within = -c.difference.low <= alike && c.difference.high <= alike;
  // Where most pairs are equal, the few that differ must at least pass the sign test: all on one
  // side by chance no more often than the goal's confidence allows.
  const bool enough = static_cast<double>(differing_) >= std::log2(2 / (1 - goal_.confidence));
  if (c.difference.n >= least) {
    if (enough && c.difference.low > 0)
      c.verdict = Comparison::Verdict::kALess;
    else if (enough && c.difference.high < 0)
      c.verdict = Comparison::Verdict::kBLess;
    else if (within)
      c.verdict = Comparison::Verdict::kAlike;
  }
  c.difference.converged = c.verdict != Comparison::Verdict::kUndecided;
  // A verdict comes when the half-width falls below |mean|, or below what is left of the margin.
  const double margin = std::max(std::abs(mean), alike - std::abs(mean));
  c.difference.least_trials = times(least, pairs_per_unit_);
  if (c.difference.converged)
    c.difference.doubt = Doubt::kNone;
  else if (!difference_.varied())
    c.difference.doubt = Doubt::kNotVaried;
  else if (c.difference.n < least && (within || c.difference.low > 0 || c.difference.high < 0))
    c.difference.doubt = c.difference.n < goal_.min_units ? Doubt::kFewTrials : Doubt::kUnseen;
  else
    c.difference.doubt = std::isfinite(c.difference.half_width) ? Doubt::kWide : Doubt::kNoBound;
  const auto pairs_for = [&](double deviation, double kurtosis) {
    return times(std::max(forecast_units(goal_, deviation, margin, kurtosis), least),
                 pairs_per_unit_);
  };
  const int64_t all = pairs_for(difference_.deviation(), difference_.tail_weight());
  c.difference.forecast_trials = all;
  c.unpaired = pairs_for(std::sqrt(apart), 3);
  set_forecast_interval(c.difference, goal_, difference_, 0);
  if (!c.difference.converged)
    c.more_pairs = std::max<int64_t>(all - c.difference.trials, pairs_per_unit_);
  return c;
}

std::string describe(const Comparison& c, const std::string& a, const std::string& b) {
  if (c.difference.n < 2) return fmt::format("{} and {}: fewer than two pairs", a, b);
  const double percent = c.a.value != 0 ? 100 * std::abs(c.difference.value / c.a.value)
                                        : std::abs(c.difference.value);
  const std::string size = c.a.value != 0 ? fmt::format("by {:.2g} % of {}'s", percent, a)
                                          : fmt::format("by {:.3g}", percent);
  switch (c.verdict) {
    case Comparison::Verdict::kALess:
      return fmt::format("{} < {} with confidence {:.4g} % ({}, {} pairs)", a, b,
                         std::min(100 * c.significance, 99.99), size, c.difference.trials);
    case Comparison::Verdict::kBLess:
      return fmt::format("{} < {} with confidence {:.4g} % ({}, {} pairs)", b, a,
                         std::min(100 * c.significance, 99.99), size, c.difference.trials);
    case Comparison::Verdict::kAlike:
      return fmt::format("{} and {} alike within the margin ({} pairs)", a, b, c.difference.trials);
    case Comparison::Verdict::kUndecided:
      break;
  }
  if (c.difference.doubt == Doubt::kNotVaried)
    return fmt::format("{} - {} has been {:.4g} in all {} pairs", b, a, c.difference.value,
                       c.difference.trials);
  if (c.difference.trials < c.difference.least_trials && (c.low_so_far > 0 || c.high_so_far < 0))
    return fmt::format("{} < {} so far, no verdict before {} pairs ({}, {} pairs)",
                       c.low_so_far > 0 ? a : b, c.low_so_far > 0 ? b : a,
                       c.difference.least_trials, size, c.difference.trials);
  return fmt::format("{} and {} not distinguishable after {} pairs, needs about {} more", a, b,
                     c.difference.trials, c.more_pairs);
}

////////// Control variate

ControlTails::ControlTails(std::vector<double> values) : values_(std::move(values)) {
  if (values_.empty()) throw Error("a control variate's distribution has no value");
  for (double v : values_) check_finite(v);
  std::sort(values_.begin(), values_.end());
  sums_.reserve(values_.size() + 1);
  sums_.push_back(0);
  for (double v : values_) sums_.push_back(sums_.back() + v);
}

double ControlTails::above(double x) const {
  const auto at = std::upper_bound(values_.begin(), values_.end(), x) - values_.begin();
  const auto count = static_cast<double>(values_.size() - static_cast<size_t>(at));
  return std::max(0.0, sums_.back() - sums_[static_cast<size_t>(at)] - count * x) /
         static_cast<double>(values_.size());
}

double ControlTails::below(double x) const {
  const auto at = std::lower_bound(values_.begin(), values_.end(), x) - values_.begin();
  return std::max(0.0, static_cast<double>(at) * x - sums_[static_cast<size_t>(at)]) /
         static_cast<double>(values_.size());
}

ControlVariate::ControlVariate(double control_mean, double control_error, const Goal& goal,
                               int trials_per_unit, std::shared_ptr<const ControlTails> tails)
    : control_mean_(control_mean),
      control_error_(control_error),
      goal_(goal),
      trials_per_unit_(trials_per_unit),
      tails_(std::move(tails)) {
  check_goal(goal);
  check_finite(control_mean);
  check_range(control_error, 0, std::numeric_limits<double>::max(), "the control's standard error");
  check_range(trials_per_unit, 1, 1e6, "the number of trials in a group");
}

void ControlVariate::add(double value, double control) {
  check_finite(value);
  check_finite(control);
  const auto n = static_cast<double>(value_.n());
  co_moment_ += (value - value_.mean()) * (control - control_.mean()) * n / (n + 1);
  value_.add(value);
  control_.add(control);
  samples_.emplace_back(value, control);
}

double ControlVariate::extrapolated() const {
  if (tails_) return tails_->above(control_.max()) + tails_->below(control_.min());
  // The mean excess of the largest sqrt(n) values, as far as one in n goes: exact for an
  // exponential tail.
  std::vector<double> x;
  x.reserve(samples_.size());
  for (const auto& sample : samples_) x.push_back(sample.second);
  const size_t n = x.size();
  const auto k = static_cast<size_t>(std::sqrt(static_cast<double>(n)));
  const auto largest = x.end() - static_cast<std::ptrdiff_t>(k) - 1;
  const auto smallest = x.begin() + static_cast<std::ptrdiff_t>(k);
  double excess = 0;
  std::nth_element(x.begin(), largest, x.end());
  for (auto it = largest; it != x.end(); ++it) excess += *it - *largest;
  std::nth_element(x.begin(), smallest, x.end());
  for (auto it = x.begin(); it != smallest; ++it) excess += *smallest - *it;
  return excess / static_cast<double>(k) / static_cast<double>(n);
}

Estimate ControlVariate::estimate() const {
  const auto n = static_cast<double>(value_.n());
  const double control_squares = control_.variance() * (n - 1);
  if (value_.n() < 4 || !(control_squares > 0) || !value_.varied()) {
    Estimate plain = mean_estimate(goal_, value_, trials_per_unit_, missing_);
    plain.method = "control variate";
    return plain;
  }
  Estimate e;
  e.estimand = "mean";
  e.method = "control variate";
  e.n = value_.n();
  e.trials = e.n * trials_per_unit_;
  e.missing = missing_ * trials_per_unit_;
  e.effective_trials = static_cast<double>(e.trials);
  const double beta = co_moment_ / control_squares;
  const double off = control_.mean() - control_mean_;
  const double squares = std::max(value_.variance() * (n - 1) - beta * co_moment_, 0.0);
  e.correlation = co_moment_ / std::sqrt(control_squares) / (value_.deviation() * std::sqrt(n - 1));
  e.value = value_.mean() - beta * off;
  e.deviation = std::sqrt(squares / (n - 2));
  // What each trial contributes to the estimate's error.
  Moments rest;
  double rest_squares = 0;
  for (const auto& [value, control] : samples_) {
    const double x = control - control_.mean();
    const double leverage = 1 / n + x * x / control_squares;
    const double residual = value - value_.mean() - beta * x;
    const double weight = 1 - n * off * x / control_squares;
    const double share = weight * residual / std::max(1 - leverage, 1 / n);
    rest.add(share);
    rest_squares += share * share;
  }
  const double error =
      std::sqrt(rest_squares / (n * n) + beta * beta * control_error_ * control_error_);
  set_interval(e, goal_, error, n - 2, rest);
  const double in_doubt = kSlopeInDoubt * std::abs(beta) * extrapolated();
  e.low -= in_doubt;
  e.high += in_doubt;
  finish_mean(e, goal_, rest, trials_per_unit_, true);
  if (e.doubt == Doubt::kWide && e.value != 0) {
    // What is in doubt beyond the tails falls about as 1 / n.
    const double units = n * e.relative_margin / goal_.relative_margin;
    e.forecast_trials = std::max(e.forecast_trials, times(whole(units), trials_per_unit_));
    set_forecast_interval(e, goal_, rest, e.deviation / std::abs(e.value));
  }
  return e;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
// Estimates with an interval, and how many more trials one needs. Functions of samples only:
// nothing here knows of the lab. Equation numbers are those of the CCEval paper (NSDI 2026); what
// each estimator is and when to use which stands in docs/evaluation.md.
//
// A sample is what one trial gave: a value (MeanEstimator, PairedComparison, ControlVariate) or the
// values of its flows (PooledQuantile). Trials must be independent of each other and alike, or come
// in groups that are (stratified sizes): then the group is the unit that an interval rests on.
//
// Two quantities are called "the p99" and differ, so that each estimate names its estimand:
//   mean    the mean over the trials of each trial's own metric, e.g. of its p99;
//   pooled  the p99 over the flows of all trials, equations 4 to 8.
//
// Units are those of the values. Every function throws Error where its arguments are out of range
// and on a value that is not finite; none throws for want of samples: then the interval is
// infinite.
#ifndef DELAYCC_HARNESS_ESTIMATOR_H_
#define DELAYCC_HARNESS_ESTIMATOR_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "posix.h"

namespace delaycc {

// How an interval comes from mean and spread.
enum class Interval {
  kStudent,  // Student's t
  kNormal,   // the normal quantile, as equations 1 to 3 have it; too narrow for few trials
  kSkewed,   // Student's t with Hall's correction for the skewness of what was seen: not symmetric,
            // closer to its confidence for few trials with a long tail, equal for many. The default
  kAnytime,  // a confidence sequence: holds for all n >= min_units at once, so that one may look
             // after each trial and stop on what one sees; about 1.7 times as wide
};
const char* interval_name(Interval interval);

// What is asked for.
struct Goal {
  double relative_margin = 0.01;  // epsilon of equation 2: half-width over |mean|; above 0, below 1
  double confidence = 0.95;       // 1 - rho; 0.5 to 0.9999
  Interval interval = Interval::kSkewed;
  int min_units = 20;  // of the exploratory stage: nothing has converged before; 2 to 10^6
};
void check_goal(const Goal& goal);

struct Estimate {
  std::string estimand;  // such as "mean" or "pooled p99"
  std::string method;    // such as "student", "ratio", "20 batches of 40"
  double value = 0;      // the estimate; NaN without a sample
  double low = -std::numeric_limits<double>::infinity();  // of the interval
  double high = std::numeric_limits<double>::infinity();
  double half_width = std::numeric_limits<double>::infinity();       // (high - low) / 2
  double relative_margin = std::numeric_limits<double>::infinity();  // half_width / |value|
  double deviation = 0;    // standard deviation of one unit, equation 1's sigma_N; 0 for one unit
  int64_t n = 0;           // units that the interval rests on: trials, cycles, groups or batches
  int64_t trials = 0;      // trials used, without the missing ones
  int64_t flows = 0;       // samples of flows used; 0 where a trial gives one value
  int64_t missing = 0;     // trials without a sample: no flow of that size was complete
  bool converged = false;  // equation 2 holds, and n >= Goal::min_units
  // Equation 3: trials that the goal takes in all, those done included; 0 as long as it has none
  // (fewer than two units, or mean 0). Low and high are its interval at Goal::confidence, from how
  // well the variance is known: the chi-square one, with degrees of freedom for the kurtosis that
  // was seen.
  int64_t forecast_trials = 0;
  int64_t forecast_low = 0;
  int64_t forecast_high = 0;
  // Kish's (sum w)^2 / sum w^2 over the likelihood ratios of the trials, and over their number.
  // Equal to the trials, and 1, without importance sampling.
  double effective_trials = 0;
  double effective_share = 1;
  double correlation = 0;  // with the control variate or of the pairs; 0 without

  int64_t more_trials() const;  // forecast less done, at least 0
};
// One line, e.g. "2.017 ms +- 0.9 % (95 %, 12010 trials)"; `scale` and `unit` for display.
std::string describe(const Estimate& estimate, double scale = 1, const std::string& unit = "");

// Mean, spread, skewness and kurtosis, one value at a time (Welford, Pebay). Numerically stable: a
// large mean does not cost digits of the variance.
class Moments {
 public:
  void add(double value);
  int64_t n() const { return n_; }
  double mean() const { return mean_; }
  double variance() const;  // with n - 1; 0 for n < 2
  double deviation() const;
  double skewness() const;  // of the sample, m3 / m2^1.5; 0 if all are equal
  double kurtosis() const;  // of the sample, m4 / m2^2 (normal: 3); 3 for n < 4 or all equal
  double min() const { return min_; }
  double max() const { return max_; }

 private:
  int64_t n_ = 0;
  double mean_ = 0, m2_ = 0, m3_ = 0, m4_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

// Model-free estimation (section 4.2): mean of independent values, equations 1 to 3. With
// `trials_per_unit` above 1 a value is the mean over a group of so many trials (stratified sizes),
// and trials are counted and forecast in whole groups. 1 to 10^6.
class MeanEstimator {
 public:
  explicit MeanEstimator(const Goal& goal = {}, int trials_per_unit = 1);
  void add(double value);
  void add_missing() { ++missing_; }  // a trial without a value; of a group, a group without one
  const Moments& moments() const { return moments_; }
  Estimate estimate() const;

 private:
  Goal goal_;
  int trials_per_unit_;
  Moments moments_;
  int64_t missing_ = 0;
};

// Quantile of one trial's values, nearest rank: the smallest value that at least `p` (0 to 1, both
// excluded) of all are not above. Throws on an empty trial: it is missing.
double trial_quantile(std::vector<double> values, double p);

// A flow's value with the logarithm of its likelihood ratio; 0 without importance sampling.
struct WeightedValue {
  double value;
  double log_weight = 0;
};

// Quantile over the flows of all trials (sections 4.3.3 and 4.3.4). A trial is a regenerative
// cycle.
struct PooledOptions {
  enum class Method {
    // The interval of a ratio of two means over the cycles: those gammas whose exceedances in
    // excess of
    // (1 - p) of the flows are not clearly different from 0 (Woodruff). The default.
    kRatio,
    // Algorithm 2: batches of K cycles, each batch's quantile, and the mean of these. Its estimand
    // is the
    // mean of a quantile over K cycles, not the pooled quantile itself; the two meet as K grows.
    kBatches,
    // The pooled quantile, with an interval from the spread of the batches' quantiles about it. No
    // bounds
    // as long as a batch has fewer than two flows beyond the quantile to expect.
    kSections,
  };
  Method method = Method::kRatio;
  int cycles_per_batch = 40;  // K of kBatches; kSections makes 20 batches of all cycles; 1 to 10^6
  // The mean number of flows in a cycle, where it is known: lambda times the length of the trial.
  // 0: the number seen (without weights equation 6; with weights their sum, so that the ratio
  // normalises itself).
  double flows_per_cycle = 0;
  // Equation 13 as it is printed: one order statistic above what equation 12 defines.
  bool as_printed = false;
};

class PooledQuantile {
 public:
  // `p` between 0 and 1, both excluded.
  PooledQuantile(double p, const Goal& goal = {}, const PooledOptions& options = {});
  // A trial without flows is a cycle with alpha = 0: it counts. `control` is the cycle's value of a
  // control variate whose mean is 0 (kRatio only; 0: none).
  void add_cycle(const std::vector<double>& values, double control = 0);
  // `cycle_log_weight` is the likelihood ratio of the whole cycle, for the effective sample size.
  void add_weighted_cycle(const std::vector<WeightedValue>& values, double cycle_log_weight,
                          double control = 0);
  int64_t cycles() const { return static_cast<int64_t>(cycles_.size()); }
  // Sorts what has come since the last call and takes one pass over all flows: O(flows).
  Estimate estimate() const;
  // Equation 6 or 11: share of flows above `gamma`.
  double tail_probability(double gamma) const;

 private:
  struct Flow {
    double value;
    double weight;
    uint32_t cycle;
  };
  struct Cycle {
    double flows = 0;  // alpha, or the sum of the weights
    double control = 0;
    double log_weight = 0;
  };
  void sort() const;
  double flows_expected(const Cycle& cycle) const;
  // Largest values whose weight is at most `tail` of the flows expected; `above` the weight of
  // those above the result. NaN without flows, infinity if `tail` is not above 0.
  double upper_quantile(double tail) const;
  // The same for each batch, the cycles' batch numbers being `batch_of`.
  std::vector<double> batch_quantiles(const std::vector<uint32_t>& batch_of, size_t batches) const;
  void ratio(Estimate& estimate) const;
  void batches(Estimate& estimate) const;
  void sections(Estimate& estimate) const;

  double p_;
  Goal goal_;
  PooledOptions options_;
  mutable std::vector<Flow> flows_;  // the first sorted_ of them in order of value
  mutable size_t sorted_ = 0;
  std::vector<Cycle> cycles_;
  int64_t missing_ = 0;
};

// Two algorithms on the same flow files (common random numbers): the mean of the differences b - a,
// whose variance is smaller by what the two have in common.
struct Comparison {
  enum class Verdict {
    kALess,      // the interval of b - a is above 0: a is less than b
    kBLess,      // it is below 0
    kAlike,      // the whole interval is within the relative margin of a's mean: no difference that
                 // matters
    kUndecided,  // not distinguishable yet
  };
  Verdict verdict = Verdict::kUndecided;
  Estimate a;  // each alone
  Estimate b;
  Estimate difference;      // of b - a; relative margin and forecast are those of the verdict:
                            // half_width / |value| < 1 decides
  double correlation = 0;   // of a and b
  double significance = 0;  // confidence at which the interval just excludes 0 (Student)
  double saved = 0;  // share of the trials that pairing saves, 1 - var(b - a) / (var a + var b)
  int64_t more_pairs = 0;  // about, until a verdict if mean and spread stay as they are; 0: decided
  int64_t unpaired = 0;    // pairs that independent trials would take for the same width
};
class PairedComparison {
 public:
  explicit PairedComparison(const Goal& goal = {}, int pairs_per_unit = 1);
  void add(double a, double b);
  void add_missing() { ++missing_; }  // a pair of which one has no value
  Comparison compare() const;

 private:
  Goal goal_;
  int pairs_per_unit_;
  Moments a_, b_, difference_;
  int64_t differing_ = 0;  // pairs whose values are not equal
  double co_moment_ = 0;
  int64_t missing_ = 0;
};
// "a < b with confidence 99.2 % (...)" or "not distinguishable, needs about 120 more pairs".
std::string describe(const Comparison& comparison, const std::string& a, const std::string& b);

// The mean of y by way of a control x that is correlated with it and whose mean is known, or known
// far better than y's (a fluid model of the same flow file): mean(y) - beta (mean(x) - E x), beta
// by least squares, n - 2 degrees of freedom. Prints the correlation: without one nothing is
// gained.
class ControlVariate {
 public:
  // `control_mean` is E x, `control_error` its standard error (0: exact), which widens the
  // interval.
  explicit ControlVariate(double control_mean, double control_error = 0, const Goal& goal = {},
                          int trials_per_unit = 1);
  void add(double value, double control);
  void add_missing() { ++missing_; }
  // With n < 4, or a control that does not vary, the plain mean.
  Estimate estimate() const;

 private:
  double control_mean_, control_error_;
  Goal goal_;
  int trials_per_unit_;
  Moments value_, control_;
  double co_moment_ = 0;
  std::vector<std::pair<double, double>> samples_;  // for the skewness of what is left
  int64_t missing_ = 0;
};

// Equation 3 with Student's quantile where the goal asks for it: units n whose half-width is
// `margin` for values of this `deviation`. At least 2; 0 if `margin` is not above 0.
int64_t forecast_units(const Goal& goal, double deviation, double margin);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_ESTIMATOR_H_

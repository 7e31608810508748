// SPDX-License-Identifier: Apache-2.0
// Estimates with an interval, and how many more trials one needs. Functions of samples only:
// nothing here knows of the lab. Equation numbers are those of the CCEval paper (NSDI 2026); what
// each estimator is and when to use which stands in docs/research/evaluation.md.
//
// A sample is what one trial gave: a value (MeanEstimator, PairedComparison, ControlVariate) or the
// values of its flows (PooledQuantile). Trials must be independent of each other and alike, or come
// in groups that are (stratified sizes): then the group is the unit that an interval rests on.
//
// Two quantities are called "the p99" and differ, so that each estimate names its estimand:
//   mean    the mean over the trials of each trial's own metric, e.g. of its p99;
//   pooled  the p99 over the flows of all trials, equations 4 to 8.
//
// A claim about a mean needs the tail to have been seen. An interval knows only of values that
// came; what happens in a share p of the trials has not come in n of them with probability (1 -
// p)^n, and may be of any size. So nothing has converged before n = ln(1 - confidence) / ln(1 - p)
// trials (Clopper and Pearson's bound for a share of which none was seen; about 3 / p at 95 %),
// where p is Goal::unseen_share. A sample of one value has no interval at all: only the share of
// the trials that may differ is bounded.
//
// Units are those of the values. Every function throws Error where its arguments are out of range
// and on a value that is not finite; none throws for want of samples: then the interval is
// infinite.
#ifndef DELAYCC_HARNESS_EVAL_ESTIMATOR_H_
#define DELAYCC_HARNESS_EVAL_ESTIMATOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/posix.h"

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
  // Share of the trials that may have gone unseen, of an estimate and of a verdict; 10^-6 to 0.5.
  double unseen_share = 0.01;
};
void check_goal(const Goal& goal);
// Trials after which at least one of the kind that makes up `share` of all (above 0, below 1) has
// come, at `confidence`.
int64_t trials_to_see(double share, double confidence);
// Share of all trials that a kind of which `trials` have shown none makes up at most, at
// `confidence`: 1 - (1 - confidence)^(1 / trials), Clopper and Pearson's upper bound; 1 for none.
double largest_unseen_share(int64_t trials, double confidence);

// Why an estimate has not converged.
enum class Doubt {
  kNone,       // it has
  kNoBound,    // the interval is not finite: too few samples, a tail not reached, kAnytime's start
  kNotVaried,  // all values are equal: nothing is known of their spread
  kFewTrials,  // fewer than Goal::min_units units
  kUnseen,     // enough of those, but not to have seen what Goal::unseen_share says
  kWide,       // the interval is wider than asked for
};

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
  bool converged = false;  // equation 2 holds, and n and trials are enough
  Doubt doubt = Doubt::kNoBound;
  int64_t least_trials = 0;  // what Goal::min_units and Goal::unseen_share make of it
  double unseen_share = 1;   // largest_unseen_share() of these trials
  // Units that carry the spread: n over the kurtosis (3 for a normal distribution), the
  // participation ratio of the squared deviations. Few mean that a few trials decide; below
  // kFewTailUnits the interval holds less often than it says where more such trials are to come.
  double tail_units = 0;
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
constexpr double kFewTailUnits = 5;
// Why it has not converged, e.g. "nothing but 0 in 20 trials: another value in at most 14 % of the
// trials (95 %)"; empty if it has. `scale` and `unit` for display.
std::string doubt_text(const Estimate& estimate, const Goal& goal, double scale = 1,
                       const std::string& unit = "");
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
  bool varied() const { return n_ > 0 && min_ < max_; }
  // The kurtosis, not below what the skewness says: a sample of a long tail shows less of it than
  // there is.
  double tail_weight() const;

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
  int trials_per_cycle = 1;  // of the number that must have been seen; 1 to 10^6
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
    kUndecided,  // not distinguishable yet; Doubt::kNotVaried: all differences are equal
  };
  Verdict verdict = Verdict::kUndecided;
  Estimate a;  // each alone
  Estimate b;
  Estimate difference;      // of b - a; relative margin, least trials and forecast are those of the
                            // verdict: half_width / |value| < 1 decides
  double correlation = 0;   // of a and b
  double significance = 0;  // confidence at which the interval just excludes 0 (Student)
  double saved = 0;  // share of the trials that pairing saves, 1 - var(b - a) / (var a + var b)
  int64_t more_pairs = 0;  // about, until a verdict if mean and spread stay as they are; 0: decided
  int64_t unpaired = 0;    // pairs that independent trials would take for the same width
  // Student's interval of b - a: of one look at these pairs, so no verdict, but there from two on.
  double low_so_far = -std::numeric_limits<double>::infinity();
  double high_so_far = std::numeric_limits<double>::infinity();
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
// "a < b with confidence 99.2 % (...)", "a < b so far, no verdict before 299 pairs (...)" or "not
// distinguishable after 400 pairs, needs about 120 more".
std::string describe(const Comparison& comparison, const std::string& a, const std::string& b);

// How far the control's distribution reaches beyond a value, from very many of its values.
class ControlTails {
 public:
  explicit ControlTails(std::vector<double> values);  // at least one
  double above(double x) const;                       // E (X - x)+
  double below(double x) const;                       // E (x - X)+

 private:
  std::vector<double> values_;  // in order
  std::vector<double> sums_;    // of the first i values
};

// The mean of y by way of a control x that is correlated with it and whose mean is known, or known
// far better than y's (a fluid model of the same flow file): mean(y) - beta (mean(x) - E x), beta
// by least squares, n - 2 degrees of freedom. Prints the correlation: without one nothing is
// gained.
//
// The regression estimator of survey sampling. Its variance is that of the weighted residuals
// (Saerndal, Swensson, Wretman 1989), each as if its trial had been left out (HC3, MacKinnon and
// White 1985), since residuals grow with x. Beyond the largest x that was seen the line is only
// believed to half its slope: the interval is wider by |beta| / 2 times E (x - largest)+, and the
// same below the smallest. Without a distribution of the control the sample's own tails stand in.
class ControlVariate {
 public:
  // `control_mean` is E x, `control_error` its standard error (0: exact), which widens the
  // interval. `tails` may be null.
  explicit ControlVariate(double control_mean, double control_error = 0, const Goal& goal = {},
                          int trials_per_unit = 1,
                          std::shared_ptr<const ControlTails> tails = nullptr);
  void add(double value, double control);
  void add_missing() { ++missing_; }
  // With n < 4, or a control that does not vary, the plain mean. O(n).
  Estimate estimate() const;

 private:
  double extrapolated() const;  // E x beyond what was seen, above and below

  double control_mean_, control_error_;
  Goal goal_;
  int trials_per_unit_;
  std::shared_ptr<const ControlTails> tails_;
  Moments value_, control_;
  double co_moment_ = 0;
  std::vector<std::pair<double, double>> samples_;  // value and control
  int64_t missing_ = 0;
};

// Equation 3 with Student's quantile where the goal asks for it: units n whose half-width is
// `margin` for values of this `deviation`, and of this kurtosis where the interval rests on it (1:
// of a deviation that is known). At least 2; 0 if `margin` is not above 0.
int64_t forecast_units(const Goal& goal, double deviation, double margin, double kurtosis = 1);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_ESTIMATOR_H_

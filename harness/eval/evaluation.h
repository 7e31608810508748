// SPDX-License-Identifier: Apache-2.0
// When to stop: takes the results of trials in any order and says which trials are still needed,
// until every asked metric of every algorithm has converged. Nothing here knows of the lab.
//
// The outcome is a function of the trials 0, 1, ... n-1: results are looked at in the order of
// their numbers, and n is the first number at which all has converged. So it does not depend on how
// many trials ran at a time, in which order they ended, or whether the run was interrupted. Trials
// beyond n that were already under way stay in the store and are not used.
#ifndef DELAYCC_HARNESS_EVAL_EVALUATION_H_
#define DELAYCC_HARNESS_EVAL_EVALUATION_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/estimator.h"
#include "metrics/metrics.h"
#include "scenario/scenario_file.h"

namespace delaycc {

// What a metric's estimate is over.
enum class Estimand {
  kMean,    // the trials' values of the metric
  kPooled,  // the flows of all trials
};

struct MetricRequest {
  std::string name;  // as asked: "fct_p99_us", "small.fct_p99_us"
  std::string base;  // "fct_p99_us"
  FlowSet flows;     // that it is of
  std::string unit;
  Estimand estimand = Estimand::kMean;
  enum class Source { kMetric, kCompletionTime, kSlowdown } source = Source::kMetric;
  double quantile = 0;  // of the flows; 0 for kMetric
};

// Throws ScenarioError with what is allowed.
MetricRequest parse_metric(const std::string& name, Estimand estimand, const Scenario& scenario);

// What one trial says of one metric.
struct TrialValue {
  std::optional<double> value;  // absent: the trial has no sample
  // Of EvaluationSpec::controls; absent: its flow file has no such flow.
  std::optional<double> control;
  bool missed = false;  // it is a lower bound
  std::vector<WeightedValue> flows;
  double log_weight = 0;  // of the whole trial
};
TrialValue trial_value(const TrialResult& trial, const MetricRequest& metric);

// What is known of a control variate.
struct ControlMean {
  double mean = 0;
  double error = 0;                                     // standard error of that mean
  int files = 0;                                        // flow files it is of
  std::shared_ptr<const ControlTails> tails = nullptr;  // of these files; null: not known
};

struct EvaluationSpec {
  std::vector<std::string> algorithms;
  std::vector<MetricRequest> metrics;
  Goal goal;
  int max_trials = 100'000;
  int trials_per_unit = 1;  // stratified sizes: so many trials make one sample
  PooledOptions pooled;
  // By metric: estimates are made with TrialValue::control (Estimand::kMean only). Empty: without.
  std::vector<ControlMean> controls;
  // Indices of the two algorithms that are compared: they run on together until there is a verdict.
  std::optional<std::pair<size_t, size_t>> compare;
  bool verdict_only = false;  // their own intervals may stay as wide as they are
};

// Sets what the estimators must know of how the scenario draws its flows, from `min_trials` and
// `max_trials` of the command line. Throws ScenarioError for what cannot be estimated.
void suit_sampling(const Scenario& scenario, int min_trials, EvaluationSpec* spec);

struct TrialId {
  size_t algorithm = 0;
  int number = 0;
  bool operator<(const TrialId& other) const {
    return number != other.number ? number < other.number : algorithm < other.algorithm;
  }
};

struct HistoryPoint {
  int trials = 0;
  Estimate estimate;
};

class Evaluation {
 public:
  enum class State {
    kRunning,
    kConverged,
    kNotVaried,  // enough trials, and some metric or difference has one value in all of them
    kMaxTrials,
    kNoSamples,  // a metric has none in Goal::min_units trials or more
    kFailures,   // three trials failed or more, and these are more than half
  };

  explicit Evaluation(const EvaluationSpec& spec);

  // The next trials to be run, lowest numbers first: at most `limit`, each once, and none that is
  // `ahead` or more beyond those decided on already, or beyond what is forecast if that is more.
  std::vector<TrialId> next(size_t limit, int ahead);
  // What a trial gave, one value for each metric; nullopt: it failed for good. In any order.
  void add(TrialId id, std::optional<std::vector<TrialValue>> values);

  bool finished() const;  // no algorithm is running on
  // Before the end: brings the estimates up to what has come.
  void settle();
  const EvaluationSpec& spec() const { return spec_; }
  State state(size_t algorithm) const { return group_of(algorithm).state; }
  // Trials that the estimates are of: 0 to this number, without it.
  int used(size_t algorithm) const { return group_of(algorithm).used; }
  // Of these, the numbers of those that failed.
  const std::vector<int>& failed(size_t algorithm) const { return tracks_[algorithm].failed; }
  const Estimate& estimate(size_t algorithm, size_t metric) const;
  int missed(size_t algorithm, size_t metric) const;
  // The control variate is no longer used: a trial has a value where its model has none, or the
  // other way round, so that the model's mean is not that of the trials with a value.
  bool control_given_up(size_t algorithm, size_t metric) const;
  // The trials' values in order of number, without those that have none.
  const std::vector<double>& values(size_t algorithm, size_t metric) const;
  // At every number of trials up to 20, then in steps of 2 %, and at the last.
  const std::vector<HistoryPoint>& history(size_t algorithm, size_t metric) const;
  // Of EvaluationSpec::compare.
  Comparison comparison(size_t metric) const;
  // About how many more trials `algorithm` takes, by the forecast of its slowest metric.
  int64_t more_trials(size_t algorithm) const;
  // One sentence on why `algorithm` stopped without having converged; empty if it did not.
  std::string trouble(size_t algorithm) const;
  double estimator_s() const { return estimator_s_; }

 private:
  using Values = std::optional<std::vector<TrialValue>>;
  struct Unit {  // of trials_per_unit trials
    double sum = 0;
    double control_sum = 0;
    int count = 0;
    std::vector<WeightedValue> flows;
    double log_weight = 0;
  };
  struct Metric {
    std::unique_ptr<MeanEstimator> mean;
    std::unique_ptr<ControlVariate> control;  // beside `mean`; null: none
    bool control_given_up = false;
    std::unique_ptr<PooledQuantile> pooled;
    Unit unit;
    Estimate estimate;
    int missed = 0;
    std::vector<double> values;
    std::vector<HistoryPoint> history;
  };
  struct Track {  // an algorithm
    std::vector<Metric> metrics;
    std::vector<int> failed;
  };
  // Algorithms that stop together: one, or the two compared.
  struct Group {
    std::vector<size_t> members;
    State state = State::kRunning;
    int next_number = 0;  // to be handed out
    size_t next_member = 0;
    int used = 0;
    int next_look = 1;  // number of trials at which costly estimates are next renewed
    std::map<int, std::map<size_t, Values>> waiting;
    std::string trouble;
  };

  const Group& group_of(size_t algorithm) const;
  void take(Group& group, const std::map<size_t, Values>& trial);
  void add_value(Metric& metric, const TrialValue* value, bool unit_complete);
  void decide(Group& group);
  void renew(Metric& metric) const;
  int64_t more_of(const Group& group) const;
  bool pooled() const;

  const EvaluationSpec spec_;
  std::vector<Track> tracks_;
  std::vector<Group> groups_;
  std::vector<size_t> group_index_;                       // by algorithm
  std::vector<std::unique_ptr<PairedComparison>> pairs_;  // by metric
  std::vector<std::pair<Unit, Unit>> pair_units_;
  double estimator_s_ = 0;
};

const char* state_name(Evaluation::State state);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_EVAL_EVALUATION_H_

// SPDX-License-Identifier: Apache-2.0
// cceval-stop: every interval at the number of trials at which its own width ends the run, and the
// verdicts of pairs, on distributions that are known. A run stops where its sample looks tame: what
// holds at a fixed number of trials need not hold there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "study/bench.h"

namespace delaycc {
namespace {

constexpr int kMostTrials = 20'000;
constexpr int kMostPairs = 3000;
constexpr int kMostRepetitions = 1000;  // a figure's deviation is then 0.7 %
constexpr int kFromTrial = 20;          // of the rule without a guard
constexpr int kLookShare = 100;         // later looks are 1/100 apart

// Independent uniform numbers of one repetition of one experiment.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t experiment, uint64_t repetition)
      : seed_(mix(seed + (experiment << 32))), repetition_(repetition) {}
  double uniform() { return std::max(uniform_draw(seed_, repetition_, 0, next_++), 0x1p-53); }
  double exponential() { return -std::log(uniform()); }
  double normal() { return std::sqrt(2 * exponential()) * std::cos(6.283185307179586 * uniform()); }
  bool chance(double p) { return uniform() < p; }
  double lognormal(double sigma) { return std::exp(sigma * normal()); }

 private:
  uint64_t seed_, repetition_;
  uint64_t next_ = 0;
};

double lognormal_mean(double sigma) { return std::exp(sigma * sigma / 2); }

struct Distribution {
  std::string name;
  double mean;
  std::function<double(Draws&)> draw;
  double margin = 0.05;
};

std::vector<Distribution> distributions() {
  std::vector<Distribution> all = {
      {"normal, cv 0.1", 1, [](Draws& d) { return 1 + 0.1 * d.normal(); }},
      {"normal, cv 0.3", 1, [](Draws& d) { return 1 + 0.3 * d.normal(); }},
      {"uniform", 0.5, [](Draws& d) { return d.uniform(); }},
      {"exponential", 1, [](Draws& d) { return d.exponential(); }},
      {"Weibull 0.7 (cv 1.46)", std::tgamma(1 + 1 / 0.7),
       [](Draws& d) { return std::pow(d.exponential(), 1 / 0.7); }},
      {"Weibull 0.5 (cv 2.2)", 2, [](Draws& d) { return std::pow(d.exponential(), 2); }},
      {"two modes, 1 and 5", 3,
       [](Draws& d) { return (d.chance(0.5) ? 1 : 5) + 0.2 * d.normal(); }},
      {"counts, geometric of mean 4", 4,
       [](Draws& d) { return std::floor(std::log(d.uniform()) / std::log(0.8)); }},
  };
  for (double sigma : {0.25, 0.5, 1.0})
    all.push_back({fmt::format("log-normal, sigma {}", sigma), lognormal_mean(sigma),
                   [=](Draws& d) { return d.lognormal(sigma); }});
  for (double alpha : {2.1, 2.5, 3.0, 4.0})
    all.push_back({fmt::format("Pareto {}", alpha), alpha / (alpha - 1),
                   [=](Draws& d) { return std::pow(d.uniform(), -1 / alpha); }});
  for (double p : {0.5, 0.1, 0.01, 0.001})
    all.push_back({fmt::format("1, or 11 in {} % of the trials", 100 * p), 1 + 10 * p,
                   [=](Draws& d) { return d.chance(p) ? 11.0 : 1.0; }});
  for (double p : {0.5, 0.1})
    all.push_back({fmt::format("flag, 1 in {} % of the trials", 100 * p), p,
                   [=](Draws& d) { return d.chance(p) ? 1.0 : 0.0; }, 0.1});
  all.push_back({"log-normal 1 in 10 %, else 0", 0.1 * lognormal_mean(1),
                 [](Draws& d) { return d.chance(0.1) ? d.lognormal(1) : 0.0; }, 0.2});
  all.push_back({"log-normal, sigma 1.5 (cv 2.9)", lognormal_mean(1.5),
                 [](Draws& d) { return d.lognormal(1.5); }, 0.1});
  for (double p : {0.05, 0.02, 0.01})
    all.push_back({fmt::format("normal, cv 0.1, plus 10 in {} %", 100 * p), 1 + 10 * p,
                   [=](Draws& d) { return 1 + 0.1 * d.normal() + (d.chance(p) ? 10 : 0); }});
  all.push_back({"normal, cv 0.1, plus 1 in 1 %", 1.01,
                 [](Draws& d) { return 1 + 0.1 * d.normal() + (d.chance(0.01) ? 1 : 0); }, 0.01});
  all.push_back({"normal, cv 0.02, plus 1 in 1 %", 1.01,
                 [](Draws& d) { return 1 + 0.02 * d.normal() + (d.chance(0.01) ? 1 : 0); }, 0.01});
  for (const auto& [more, p] : {std::pair(5, 0.01), std::pair(20, 0.01), std::pair(10, 0.005)})
    all.push_back({fmt::format("normal, cv 0.1, plus {} in {} %", more, 100 * p), 1 + more * p,
                   [more = more, p = p](Draws& d) {
                     return 1 + 0.1 * d.normal() + (d.chance(p) ? more : 0);
                   }});
  return all;
}

// Of one way to stop.
struct Stop {
  Coverage coverage;
  std::vector<int64_t> trials;  // INT64_MAX where it did not stop
  int n = 0;

  void add(const Estimate& e, double truth) {
    coverage.add(e, truth);
    trials.push_back(e.trials);
  }
  void end() {
    if (static_cast<int>(trials.size()) < ++n) trials.push_back(INT64_MAX);
  }
  int64_t median() {
    std::nth_element(trials.begin(), trials.begin() + n / 2, trials.end());
    return trials[static_cast<size_t>(n) / 2];
  }
  // "95.1 (1540)"; "-" where half of the runs have no end.
  std::string text() {
    const int64_t middle = median();
    if (coverage.n() == 0) return "- (none ends)";
    return fmt::format("{} ({})", coverage.percent(),
                       middle == INT64_MAX ? "most do not end" : fmt::format("{}", middle));
  }
};

bool is_look(int n) {
  return n <= kLookShare || n % std::max(1, n / kLookShare) == 0 ||
         n == trials_to_see(Goal().unseen_share, Goal().confidence);
}

const std::vector<Interval> kIntervals = {Interval::kStudent, Interval::kNormal, Interval::kSkewed,
                                          Interval::kAnytime};

void means(const StudyOptions& options, StudyResult& result) {
  StudyTable table{
      "Mean, at the stop (95 %): per cent that hold it (median of the trials). Without a guard: "
      "Student's interval alone, from 20 trials on",
      {}};
  const std::vector<Distribution> all = distributions();
  for (size_t k = 0; k < all.size(); ++k) {
    const Distribution& distribution = all[k];
    Stop unguarded;
    std::vector<Stop> stops(kIntervals.size());
    for (int r = 0; r < options.repetitions; ++r) {
      Draws draws(options.seed, 1000 + k, static_cast<uint64_t>(r));
      std::vector<MeanEstimator> estimators;
      for (Interval interval : kIntervals) {
        Goal goal;
        goal.interval = interval;
        goal.relative_margin = distribution.margin;
        estimators.emplace_back(goal);
      }
      std::vector<bool> done(kIntervals.size());
      bool unguarded_done = false;
      size_t left = kIntervals.size();
      for (int n = 1; n <= kMostTrials && left > 0; ++n) {
        const double value = distribution.draw(draws);
        for (MeanEstimator& estimator : estimators) estimator.add(value);
        if (n < kFromTrial || !is_look(n)) continue;
        const Moments& m = estimators[0].moments();
        // No interval is narrower than this one.
        if (1.95 * m.deviation() > distribution.margin * std::abs(m.mean()) * std::sqrt(n))
          continue;
        for (size_t i = 0; i < estimators.size(); ++i) {
          if (done[i]) continue;
          const Estimate e = estimators[i].estimate();
          if (kIntervals[i] == Interval::kStudent && !unguarded_done) {
            Estimate naive = e;
            if (!m.varied()) naive.low = naive.high = m.mean();
            if (!m.varied() || naive.relative_margin <= distribution.margin) {
              unguarded.add(naive, distribution.mean);
              unguarded_done = true;
            }
          }
          if (!e.converged) continue;
          stops[i].add(e, distribution.mean);
          done[i] = true;
          --left;
        }
      }
      unguarded.end();
      for (Stop& stop : stops) stop.end();
    }
    Json row = {{"distribution", distribution.name},
                {"margin", fmt::format("{} %", 100 * distribution.margin)},
                {"without a guard", unguarded.text()}};
    for (size_t i = 0; i < stops.size(); ++i) row[interval_name(kIntervals[i])] = stops[i].text();
    table.rows.push_back(row);
    options.progress(0.4 * static_cast<double>(k + 1) / static_cast<double>(all.size()));
  }
  result.tables.push_back(table);
}

// A model x of the trial, and what the trial gives.
struct Modelled {
  std::string name;
  double control_mean, mean;
  std::function<std::pair<double, double>(Draws&)> draw;  // x, y
};

std::vector<Modelled> modelled() {
  std::vector<Modelled> all;
  for (double cv : {0.5, 1.0, 2.4}) {
    const double s = std::sqrt(std::log(1 + cv * cv));
    const double mean = lognormal_mean(s);
    const auto add = [&](const char* name, double of_y, auto of_x) {
      all.push_back({fmt::format("cv {}, {}", cv, name), mean, of_y, [=](Draws& d) {
                       const double x = d.lognormal(s);
                       return std::make_pair(x, of_x(x, d));
                     }});
    };
    add("a factor by chance (10 %)", mean,
        [](double x, Draws& d) { return x * (1 + 0.1 * d.normal()); });
    add("a factor by chance (30 %)", mean,
        [](double x, Draws& d) { return x * (1 + 0.3 * d.normal()); });
    add("x^0.8: queues less than the model", std::exp(0.64 * s * s / 2),
        [](double x, Draws& d) { return std::pow(x, 0.8) * (1 + 0.05 * d.normal()); });
    add("x^1.2: queues more", std::exp(1.44 * s * s / 2),
        [](double x, Draws& d) { return std::pow(x, 1.2) * (1 + 0.05 * d.normal()); });
    add("10 % of the trials lose the mean", 1.1 * mean, [=](double x, Draws& d) {
      return x * (1 + 0.05 * d.normal()) + (d.chance(0.1) ? mean : 0);
    });
  }
  return all;
}

void controls(const StudyOptions& options, StudyResult& result) {
  StudyTable table{
      "Mean by way of a control variate, log-normal, 5 %, at the stop: per cent that hold it "
      "(median of the trials)",
      {}};
  const std::vector<Modelled> all = modelled();
  for (size_t k = 0; k < all.size(); ++k) {
    const Modelled& model = all[k];
    Draws files(options.seed, 2000 + k, ~uint64_t{0});
    std::vector<double> x;
    for (int i = 0; i < 20'000; ++i) x.push_back(model.draw(files).first);
    const auto tails = std::make_shared<const ControlTails>(std::move(x));
    Goal goal;
    goal.relative_margin = 0.05;
    Stop with_tails, with_own, plain;
    for (int r = 0; r < options.repetitions; ++r) {
      Draws draws(options.seed, 2000 + k, static_cast<uint64_t>(r));
      ControlVariate known(model.control_mean, 0, goal, 1, tails);
      ControlVariate own(model.control_mean, 0, goal);
      MeanEstimator mean(goal);
      bool known_done = false, own_done = false;
      for (int n = 1; n <= kMostPairs && !(known_done && own_done); ++n) {
        const auto [control, value] = model.draw(draws);
        known.add(value, control);
        own.add(value, control);
        mean.add(value);
        // The first look is at the least number of trials: an estimate takes a pass over all.
        const int64_t least = trials_to_see(goal.unseen_share, goal.confidence);
        if (n < least || (n > least && n % 10 != 0)) continue;
        const auto look = [&](const ControlVariate& control_variate, Stop& stop, bool& done) {
          if (done) return;
          const Estimate e = control_variate.estimate();
          if (!e.converged) return;
          stop.add(e, model.mean);
          done = true;
        };
        look(known, with_tails, known_done);
        look(own, with_own, own_done);
      }
      with_tails.end();
      with_own.end();
      plain.trials.push_back(mean.estimate().forecast_trials);
      plain.n++;
    }
    table.rows.push_back({{"model and truth", model.name},
                          {"the model's tails known", with_tails.text()},
                          {"by the sample's own", with_own.text()},
                          {"trials without", plain.median()}});
    options.progress(0.4 + 0.3 * static_cast<double>(k + 1) / static_cast<double>(all.size()));
  }
  result.tables.push_back(table);
}

// Two algorithms on the same flow files.
struct Pairs {
  std::string name;
  double a, b;  // means
  std::function<std::pair<double, double>(Draws&)> draw;
};

std::vector<Pairs> all_pairs() {
  std::vector<Pairs> all;
  // Equal means: a is longer in a share p of the trials, b always.
  const auto equal = [&](double more, double p) {
    all.push_back({fmt::format("b longer by {:g} %; a {:g} times as long in {:g} %", 100 * more,
                               1 + more / p, 100 * p),
                   (1 + more) * lognormal_mean(0.3), (1 + more) * lognormal_mean(0.3),
                   [=](Draws& d) {
                     const double x = d.lognormal(0.3);
                     return std::make_pair(d.chance(p) ? x * (1 + more / p) : x, (1 + more) * x);
                   }});
  };
  for (double p : {0.005, 0.01, 0.02, 0.05}) equal(0.1, p);
  all.push_back({"b longer by 5 %; a 21 times as long in 1 %", 1.2, 1.05, [](Draws& d) {
                   const double x = 1 + 0.2 * d.normal();
                   return std::make_pair(d.chance(0.01) ? 21 * x : x, 1.05 * x);
                 }});
  all.push_back({"each 11 times as long in 1 %", 1.1, 1.1, [](Draws& d) {
                   const double x = 1 + 0.2 * d.normal();
                   const double a = d.chance(0.01) ? 11 * x : x;
                   return std::make_pair(a, d.chance(0.01) ? 11 * x : x);
                 }});
  all.push_back({"equal, each a factor by chance (5 %)", 1, 1, [](Draws& d) {
                   const double x = 1 + 0.3 * d.normal();
                   const double a = x * (1 + 0.05 * d.normal());
                   return std::make_pair(a, x * (1 + 0.05 * d.normal()));
                 }});
  for (double more : {0.02, 0.1, 0.3, 0.8})
    all.push_back({fmt::format("b longer by {:g} %, a factor by chance (5 %)", 100 * more), 1,
                   1 + more, [=](Draws& d) {
                     const double x = d.lognormal(0.5) / lognormal_mean(0.5);
                     return std::make_pair(x, x * (1 + more + 0.05 * d.normal()));
                   }});
  equal(0.2, 0.01);
  equal(0.4, 0.02);
  return all;
}

void verdicts(const StudyOptions& options, StudyResult& result) {
  StudyTable table{
      fmt::format("Verdicts of pairs, margin 1 %, looked for after every one up to {} pairs: per "
                  "cent wrong, per cent right, median of the pairs. Without a guard: Student's "
                  "interval alone, from 20 pairs on",
                  kMostPairs),
      {}};
  const std::vector<Pairs> all = all_pairs();
  for (size_t k = 0; k < all.size(); ++k) {
    const Pairs& pairs = all[k];
    Goal anytime;
    anytime.interval = Interval::kAnytime;
    const double difference = pairs.b - pairs.a;
    int wrong[2] = {0, 0}, right[2] = {0, 0};
    Stop stops[2];
    for (int r = 0; r < options.repetitions; ++r) {
      Draws draws(options.seed, 3000 + k, static_cast<uint64_t>(r));
      PairedComparison comparison(anytime);
      Goal student = anytime;
      student.interval = Interval::kStudent;
      MeanEstimator of_difference(student);
      Moments of_a;
      bool done[2] = {false, false};
      for (int n = 1; n <= kMostPairs && !(done[0] && done[1]); ++n) {
        const auto [a, b] = pairs.draw(draws);
        comparison.add(a, b);
        of_difference.add(b - a);
        of_a.add(a);
        if (n < kFromTrial || !is_look(n)) continue;
        const auto decide = [&](int which, Comparison::Verdict verdict, const Estimate& e) {
          if (done[which] || verdict == Comparison::Verdict::kUndecided) return;
          const bool holds = verdict == Comparison::Verdict::kALess ? difference > 1e-9
                             : verdict == Comparison::Verdict::kBLess
                                 ? difference < -1e-9
                                 : std::abs(difference) <= 0.01 * pairs.a;
          (holds ? right : wrong)[which]++;
          done[which] = true;
          stops[which].add(e, difference);
        };
        if (!done[0]) {
          const Estimate e = of_difference.estimate();
          const double alike = 0.01 * of_a.mean();
          decide(0,
                 e.low > 0                            ? Comparison::Verdict::kALess
                 : e.high < 0                         ? Comparison::Verdict::kBLess
                 : -e.low <= alike && e.high <= alike ? Comparison::Verdict::kAlike
                                                      : Comparison::Verdict::kUndecided,
                 e);
        }
        if (!done[1]) {
          const Comparison c = comparison.compare();
          decide(1, c.verdict, c.difference);
        }
      }
      for (Stop& stop : stops) stop.end();
    }
    Json row = {{"a and b", pairs.name},
                {"difference, %", std::round(1000 * difference / pairs.a) / 10}};
    const char* const names[] = {"without a guard", "--compare"};
    for (int which : {0, 1}) {
      const int64_t middle = stops[which].median();
      row[names[which]] = fmt::format("{}, {}, {}", percent(wrong[which], options.repetitions),
                                      percent(right[which], options.repetitions),
                                      middle == INT64_MAX ? "-" : fmt::format("{}", middle));
    }
    table.rows.push_back(row);
    options.progress(0.7 + 0.2 * static_cast<double>(k + 1) / static_cast<double>(all.size()));
  }
  result.tables.push_back(table);
}

// Flows of a trial that share a factor, and trials that are bad as a whole.
void pooled(const StudyOptions& options, StudyResult& result) {
  struct Cycles {
    const char* name;
    int flows;
    double sigma, common_sigma, bad_share;
  };
  const Cycles kCycles[] = {
      {"40 flows, log-normal 0.5", 40, 0.5, 0, 0},
      {"10 flows, log-normal 0.5", 10, 0.5, 0, 0},
      {"40 flows, a common factor (0.3)", 40, 0.2, 0.3, 0},
      {"40 flows, five times as long in 5 % of the trials", 40, 0.1, 0, 0.05},
      {"40 flows, five times as long in 2 % of the trials", 40, 0.1, 0, 0.02}};
  constexpr int kMostCycles = 2000;
  StudyTable table{
      fmt::format("Quantile over all flows, 5 %, at the stop within {} trials: per cent that hold "
                  "it (median of the trials)",
                  kMostCycles),
      {}};
  const auto cycle = [](const Cycles& c, Draws& d) {
    const double factor =
        d.lognormal(c.common_sigma) * (c.bad_share > 0 && d.chance(c.bad_share) ? 5 : 1);
    std::vector<double> values;
    for (int i = 0; i < c.flows; ++i) values.push_back(factor * d.lognormal(c.sigma));
    return values;
  };
  const int repetitions = std::max(10, options.repetitions / 5);
  double step = 0;
  for (const Cycles& c : kCycles) {
    Json row = {{"trials", c.name}};
    for (double p : {0.5, 0.9, 0.99}) {
      const uint64_t experiment = 4000 + static_cast<uint64_t>(step);
      Draws many(options.seed, experiment, ~uint64_t{0});
      FineQuantile truth;
      for (int i = 0; i < 100'000; ++i)
        for (double value : cycle(c, many)) truth.add(value);
      Goal goal;
      goal.relative_margin = 0.05;
      Stop stop;
      for (int r = 0; r < repetitions; ++r) {
        Draws draws(options.seed, experiment, static_cast<uint64_t>(r));
        PooledQuantile quantile(p, goal);
        for (int n = 1, next = kFromTrial; n <= kMostCycles; ++n) {
          quantile.add_cycle(cycle(c, draws));
          if (n < next) continue;
          next = n + std::max(1, n / 20);
          const Estimate e = quantile.estimate();
          if (!e.converged) continue;
          stop.add(e, truth.quantile(p));
          break;
        }
        stop.end();
      }
      row[fmt::format("p{:g}", 100 * p)] = stop.text();
      options.progress(0.9 + 0.1 * ++step / (3.0 * std::size(kCycles)));
    }
    table.rows.push_back(row);
  }
  result.tables.push_back(table);
}

}  // namespace

void study_stop(const StudyOptions& given, StudyResult& result) {
  StudyOptions options = given;
  options.repetitions = std::min(options.repetitions, kMostRepetitions);
  means(options, result);
  controls(options, result);
  verdicts(options, result);
  pooled(options, result);
}

}  // namespace delaycc

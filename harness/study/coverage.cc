// SPDX-License-Identifier: Apache-2.0
// cceval-coverage: every interval against true values, at fixed numbers of trials and at the stop
// that the goal makes.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "study/bench.h"

namespace delaycc {
namespace {

const std::vector<Interval> kIntervals = {Interval::kStudent, Interval::kNormal, Interval::kSkewed,
                                          Interval::kAnytime};

double normal_draw(double u, double v) {
  return std::sqrt(-2 * std::log1p(-u)) * std::cos(6.283185307179586 * v);
}

struct Known {
  const char* name;
  double mean;
  double (*draw)(double u, double v);
};

const std::vector<Known> kKnown = {
    {"normal, mean 10 deviations", 10, [](double u, double v) { return 10 + normal_draw(u, v); }},
    {"uniform", 0.5, [](double u, double) { return u; }},
    {"exponential", 1, [](double u, double) { return -std::log1p(-u); }},
    {"log-normal, sigma 1", 1.6487212707001282,
     [](double u, double v) { return std::exp(normal_draw(u, v)); }},
};

Goal with(Interval interval, double margin = 0.01) {
  Goal goal;
  goal.interval = interval;
  goal.relative_margin = margin;
  return goal;
}

void known_means(const StudyOptions& options, StudyResult& result) {
  StudyTable table{"Mean of a known distribution: per cent of the intervals (95 %) that hold it",
                   {}};
  const std::vector<int> counts = {20, 50, 200, 1000};
  for (size_t k = 0; k < kKnown.size(); ++k) {
    std::vector<std::vector<Coverage>> coverage(counts.size(),
                                                std::vector<Coverage>(kIntervals.size()));
    for (int r = 0; r < options.repetitions; ++r) {
      std::vector<MeanEstimator> means;
      for (Interval interval : kIntervals) means.emplace_back(with(interval));
      size_t next = 0;
      for (int i = 0; i < counts.back(); ++i) {
        const auto draw = [&](uint64_t what) {
          return uniform_draw(options.seed + 7 * k, static_cast<uint64_t>(r), what,
                              static_cast<uint64_t>(i));
        };
        const double x = kKnown[k].draw(draw(0), draw(1));
        for (MeanEstimator& mean : means) mean.add(x);
        if (i + 1 != counts[next]) continue;
        for (size_t j = 0; j < means.size(); ++j)
          coverage[next][j].add(means[j].estimate(), kKnown[k].mean);
        next++;
      }
    }
    for (size_t c = 0; c < counts.size(); ++c) {
      Json row = {{"distribution", kKnown[k].name}, {"n", counts[c]}};
      for (size_t j = 0; j < kIntervals.size(); ++j)
        row[interval_name(kIntervals[j])] = coverage[c][j].percent();
      table.rows.push_back(row);
    }
    options.progress(0.1 * static_cast<double>(k + 1) / static_cast<double>(kKnown.size()));
  }
  result.tables.push_back(table);
}

PooledOptions::Method const kMethods[] = {PooledOptions::Method::kRatio,
                                          PooledOptions::Method::kSections,
                                          PooledOptions::Method::kBatches};
const char* const kMethodNames[] = {"ratio", "20 sections", "20 batches"};

// All estimators over the same trials of the surrogate.
struct Counters {
  std::map<std::pair<size_t, int>, std::array<Coverage, 4>> means;   // quantile, n
  std::map<std::pair<size_t, int>, std::array<Coverage, 3>> pooled;  // quantile, n
  // Law and n: pair, control, alone.
  std::map<std::pair<size_t, int>, std::array<Coverage, 3>> differences;
  std::map<int, Coverage> stratified;                 // groups
  std::map<int, Coverage> tail;                       // cycles
  std::map<double, std::array<Coverage, 2>> stopped;  // margin
};

constexpr int kGroup = 20;

struct NamedLaw {
  const char* name;
  SurrogateLaw law;
};
const NamedLaw kLaws[] = {
    {"97 % efficient, 20 us a start, a factor by chance (20 %)", {0.97, 20e-6, 0.2, 0, 0, 1}},
    {"97 % efficient, 20 us a start, 1 % lose 0.2 ms", {0.97, 20e-6, 0, 0.01, 0.2e-3, 1}}};

void one_repetition(const Bench& bench, const Truth& truth, const std::vector<Truth>& others,
                    Counters& counters) {
  static const std::vector<int> counts = {20, 40, 100, 400, 1000};
  std::vector<std::vector<double>> responses;
  std::vector<double> p99;
  for (int t = 0; t < counts.back(); ++t) {
    responses.push_back(bench.plain(t).response_s);
    if (responses.back().empty()) responses.back().push_back(0);
    p99.push_back(trial_quantile(responses.back(), 0.99));
  }
  for (size_t q : {kP50, kP99}) {
    std::vector<MeanEstimator> means;
    for (Interval interval : kIntervals) means.emplace_back(with(interval));
    for (int t = 0, next = 0; t < counts.back(); ++t) {
      const double value = q == kP99 ? p99[static_cast<size_t>(t)]
                                     : trial_quantile(responses[static_cast<size_t>(t)], 0.5);
      for (MeanEstimator& mean : means) mean.add(value);
      if (t + 1 != counts[static_cast<size_t>(next)]) continue;
      for (size_t j = 0; j < means.size(); ++j)
        counters.means[{q, t + 1}][j].add(means[j].estimate(), truth.trial[q]);
      next++;
    }
  }
  for (size_t q : {kP50, kP99, kP999})
    for (int n : counts)
      for (size_t m = 0; m < 3; ++m) {
        PooledOptions o;
        o.method = kMethods[m];
        o.cycles_per_batch = std::max(1, n / 20);
        PooledQuantile pooled(kQuantiles[q], {}, o);
        for (int t = 0; t < n; ++t) pooled.add_cycle(responses[static_cast<size_t>(t)]);
        counters.pooled[{q, n}][m].add(pooled.estimate(), truth.pooled[q]);
      }
  for (size_t l = 0; l < std::size(kLaws); ++l) {
    const double mean = others[l].trial[kP99];
    PairedComparison pairs;
    // The plain trial serves as the fluid model of the other algorithm's.
    ControlVariate control(truth.trial[kP99]);
    MeanEstimator alone;
    for (int t = 0; t < 400; ++t) {
      std::vector<double> of_other = bench.plain(t, kLaws[l].law).response_s;
      if (of_other.empty()) of_other.push_back(0);
      const double other = trial_quantile(of_other, 0.99);
      pairs.add(p99[static_cast<size_t>(t)], other);
      control.add(other, p99[static_cast<size_t>(t)]);
      alone.add(other);
      const int n = t + 1;
      if (n != 20 && n != 50 && n != 400) continue;
      auto& c = counters.differences[{l, n}];
      c[0].add(pairs.compare().difference, mean - truth.trial[kP99]);
      c[1].add(control.estimate(), mean);
      c[2].add(alone.estimate(), mean);
    }
  }
  MeanEstimator grouped({}, kGroup);
  for (int g = 0; g < 50; ++g) {
    double sum = 0;
    for (int t = 0; t < kGroup; ++t) {
      std::vector<double> r = bench.stratified(g * kGroup + t, kGroup).response_s;
      if (r.empty()) r.push_back(0);
      sum += trial_quantile(r, 0.99);
    }
    grouped.add(sum / kGroup);
    if (g + 1 == 20 || g + 1 == 50)
      counters.stratified[g + 1].add(grouped.estimate(), truth.trial[kP99]);
  }
  PooledOptions exact;
  exact.flows_per_cycle = bench.flows;
  PooledQuantile tail(0.99, {}, exact);
  for (int t = 0; t < 1000; ++t) {
    const SurrogateTrial run = bench.tail(t, 0.97, 0.03);
    std::vector<WeightedValue> values;
    for (size_t i = 0; i < run.response_s.size(); ++i)
      values.push_back({run.response_s[i], run.log_ratio[i]});
    tail.add_weighted_cycle(values, run.cycle_log_ratio);
    if (t + 1 == 100 || t + 1 == 400 || t + 1 == 1000)
      counters.tail[t + 1].add(tail.estimate(), truth.pooled[kP99]);
  }
  for (double margin : {0.2, 0.1, 0.05}) {
    const Interval kinds[] = {Interval::kStudent, Interval::kSkewed};
    for (size_t j = 0; j < 2; ++j) {
      MeanEstimator mean(with(kinds[j], margin));
      for (double value : p99) {
        mean.add(value);
        if (mean.moments().n() >= 20 && mean.estimate().converged) break;
      }
      counters.stopped[margin][j].add(mean.estimate(), truth.trial[kP99]);
    }
  }
}

}  // namespace

void study_coverage(const StudyOptions& options, StudyResult& result) {
  known_means(options, result);
  const Bench bench(options.seed);
  const Truth truth = find_truth(bench, options.truth_trials, {},
                                 [&](double d) { options.progress(0.1 + 0.1 * d); });
  std::vector<Truth> others;
  for (const NamedLaw& law : kLaws)
    others.push_back(find_truth(bench, options.truth_trials, law.law, [](double) {}));
  Counters counters;
  for (int r = 0; r < options.repetitions; ++r) {
    one_repetition(bench.again(2, static_cast<uint64_t>(r)), truth, others, counters);
    options.progress(0.3 + 0.7 * (r + 1) / options.repetitions);
  }

  StudyTable means{"Surrogate, mean of a trial's own quantile: per cent that hold it", {}};
  for (const auto& [key, coverage] : counters.means) {
    Json row = {{"estimand", fmt::format("mean of the trial's {}", quantile_name(key.first))},
                {"trials", key.second}};
    for (size_t j = 0; j < kIntervals.size(); ++j)
      row[interval_name(kIntervals[j])] = coverage[j].percent();
    means.rows.push_back(row);
  }
  result.tables.push_back(means);

  StudyTable pooled{
      "Surrogate, pooled quantile: per cent that hold it (of these, with both bounds)", {}};
  for (const auto& [key, coverage] : counters.pooled) {
    Json row = {{"estimand", fmt::format("pooled {}", quantile_name(key.first))},
                {"cycles", key.second}};
    for (size_t m = 0; m < 3; ++m)
      row[kMethodNames[m]] =
          fmt::format("{} ({})", coverage[m].percent(), coverage[m].bounded_percent());
    row["bias of batches, %"] = coverage[2].bias_percent(truth.pooled[key.first]);
    pooled.rows.push_back(row);
  }
  result.tables.push_back(pooled);

  StudyTable pairs{"Surrogate, a second algorithm, mean of the trial's p99: per cent that hold it",
                   {}};
  for (const auto& [key, coverage] : counters.differences)
    pairs.rows.push_back({{"algorithm", kLaws[key.first].name},
                          {"trials", key.second},
                          {"difference of pairs", coverage[0].percent()},
                          {"control variate", coverage[1].percent()},
                          {"plain mean", coverage[2].percent()}});
  result.tables.push_back(pairs);

  StudyTable drawn{"Surrogate, other ways to draw", {}};
  for (const auto& [groups, coverage] : counters.stratified)
    drawn.rows.push_back({{"estimator", "mean of the trial's p99, stratified groups of 20"},
                          {"trials", groups * kGroup},
                          {"coverage", coverage.percent()},
                          {"effective share", 1.0}});
  for (const auto& [cycles, coverage] : counters.tail)
    drawn.rows.push_back({{"estimator", "pooled p99, lifted tail (u > 0.97, share 0.03), ratio"},
                          {"trials", cycles},
                          {"coverage", coverage.percent()},
                          {"effective share", rounded(coverage.effective_share(), 3)}});
  result.tables.push_back(drawn);

  StudyTable stopped{"Surrogate, mean of the trial's p99, stopped by equation 2", {}};
  for (const auto& [margin, coverage] : counters.stopped)
    stopped.rows.push_back({{"margin, %", percent(margin)},
                            {"trials (mean)", std::llround(coverage[0].mean_trials())},
                            {"student", coverage[0].percent()},
                            {"skewed", coverage[1].percent()}});
  result.tables.push_back(stopped);
}

}  // namespace delaycc

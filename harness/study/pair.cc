// SPDX-License-Identifier: Apache-2.0
// cceval-pair and cceval-flip: two algorithms on the same flow files, and what ten trials say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/bench.h"

namespace delaycc {
namespace {

struct Rivals {
  const char* name;
  SurrogateLaw a, b;
};
const Rivals kRivals[] = {{"the same twice", {}, {}},
                          {"b 97 % efficient", {}, {0.97, 0, 0, 0, 0, 2}},
                          {"b loses 20 us at each start", {}, {1, 20e-6, 0, 0, 0, 2}},
                          {"b 97 % efficient, 1 % of each one's flows lose 0.2 ms",
                           {1, 0, 0, 0.01, 0.2e-3, 1},
                           {0.97, 0, 0, 0.01, 0.2e-3, 2}},
                          {"b 97 % efficient, a factor by chance (20 %) for each flow",
                           {1, 0, 0.2, 0, 0, 1},
                           {0.97, 0, 0.2, 0, 0, 2}},
                          {"b 97 % efficient, 3 % of each one's flows lose 1 ms",
                           {1, 0, 0, 0.03, 1e-3, 1},
                           {0.97, 0, 0, 0.03, 1e-3, 2}}};

double p99_of(const SurrogateTrial& run) {
  return run.response_s.empty() ? 0 : trial_quantile(run.response_s, 0.99);
}

int64_t units(double deviation, double difference) {
  const double ratio = 1.959963985 * deviation / difference;
  return std::max<int64_t>(static_cast<int64_t>(std::llround(ratio * ratio)), 2);
}

}  // namespace

void study_pair(const StudyOptions& options, StudyResult& result) {
  const Bench bench(options.seed);
  const int64_t pairs = std::max<int64_t>(options.truth_trials / 20, 1000);
  StudyTable table{
      "Pairs until the interval (95 %) of b - a leaves 0, and for 1 % of a; mean of the trial's "
      "p99",
      {}};
  StudyTable pooled{"The same for the pooled p99 (1000 pairs a repetition)", {}};
  const double steps = static_cast<double>(std::size(kRivals));
  double step = 0;
  for (const Rivals& rivals : kRivals) {
    Moments a, b, difference;
    const Bench own = bench.again(200, 0);
    const Bench other = bench.again(201, 0);
    Moments apart;
    for (int64_t t = 0; t < pairs; ++t) {
      const auto trial = static_cast<int>(t);
      const double x = p99_of(own.plain(trial, rivals.a));
      const double y = p99_of(own.plain(trial, rivals.b));
      a.add(x);
      b.add(y);
      difference.add(y - x);
      apart.add(p99_of(other.plain(trial, rivals.b)) - x);
    }
    const bool differ = difference.deviation() > 0 || difference.mean() != 0;
    const double gap = std::abs(difference.mean());
    const double one_percent = 0.01 * a.mean();
    Json row = {{"algorithms", rivals.name},
                {"b against a, %", std::round(10000 * difference.mean() / a.mean()) / 100}};
    row["verdict: pairs"] = differ ? Json(units(difference.deviation(), gap)) : Json(nullptr);
    row["verdict: independent trials"] =
        differ ? Json(units(apart.deviation(), gap)) : Json(nullptr);
    row["1 %: pairs"] = differ ? units(difference.deviation(), one_percent) : 2;
    row["1 %: independent trials"] = units(apart.deviation(), one_percent);
    row["saved, %"] = percent(1 - difference.variance() / apart.variance());
    table.rows.push_back(row);

    const int repetitions = std::max(10, options.repetitions / 4);
    Moments same, different;
    double truth = 0;
    for (int r = 0; r < repetitions; ++r) {
      const Bench one = bench.again(202, static_cast<uint64_t>(r));
      const Bench two = bench.again(203, static_cast<uint64_t>(r));
      PooledQuantile of_a(0.99), of_b(0.99), of_other(0.99);
      for (int t = 0; t < 1000; ++t) {
        of_a.add_cycle(one.plain(t, rivals.a).response_s);
        of_b.add_cycle(one.plain(t, rivals.b).response_s);
        of_other.add_cycle(two.plain(t, rivals.b).response_s);
      }
      const double base = of_a.estimate().value;
      same.add(of_b.estimate().value - base);
      different.add(of_other.estimate().value - base);
      truth += base / repetitions;
    }
    pooled.rows.push_back(
        {{"algorithms", rivals.name},
         {"b against a, %", std::round(10000 * same.mean() / truth) / 100},
         {"1 %: pairs", trials_needed(same.deviation(), 1000, truth)},
         {"1 %: independent trials", trials_needed(different.deviation(), 1000, truth)},
         {"saved, %", percent(1 - same.variance() / different.variance())}});
    options.progress(0.6 * ++step / steps);
  }
  result.tables.push_back(table);
  result.tables.push_back(pooled);

  // Looking after each pair and stopping at the first verdict.
  StudyTable looks{
      "Stopped at the first verdict, looked for after each pair from 20 to 1000 (mean of p99)", {}};
  const int repetitions = std::max(10, options.repetitions / 4);
  step = 0;
  const Rivals equal_loss = {"a and b equal; 1 % of each one's flows lose 0.2 ms",
                             {1, 0, 0, 0.01, 0.2e-3, 1},
                             {1, 0, 0, 0.01, 0.2e-3, 2}};
  const Rivals equal_factor = {"a and b equal; a factor by chance (20 %) for each flow",
                               {1, 0, 0.2, 0, 0, 1},
                               {1, 0, 0.2, 0, 0, 2}};
  for (const Rivals& rivals : {kRivals[3], kRivals[4], equal_loss, equal_factor}) {
    for (Interval interval : {Interval::kStudent, Interval::kAnytime}) {
      for (bool paired : {true, false}) {
        Moments used;
        int decided = 0, wrong = 0, alike = 0;
        for (int r = 0; r < repetitions; ++r) {
          const Bench one = bench.again(204, static_cast<uint64_t>(r));
          const Bench two = paired ? one : bench.again(205, static_cast<uint64_t>(r));
          Goal goal;
          goal.interval = interval;
          goal.relative_margin = 1e-9;  // "alike" is no way out here
          PairedComparison comparison(goal);
          Comparison::Verdict verdict = Comparison::Verdict::kUndecided;
          int t = 0;
          while (t < 1000 && verdict == Comparison::Verdict::kUndecided) {
            comparison.add(p99_of(one.plain(t, rivals.a)), p99_of(two.plain(t, rivals.b)));
            if (++t >= 20) verdict = comparison.compare().verdict;
          }
          used.add(t);
          const bool less = verdict == Comparison::Verdict::kALess;
          const bool more = verdict == Comparison::Verdict::kBLess;
          decided += less || more;
          alike += verdict == Comparison::Verdict::kAlike;
          wrong += more || (less && rivals.b.efficiency == 1);
        }
        looks.rows.push_back({{"algorithms", rivals.name},
                              {"interval", interval_name(interval)},
                              {"flow files", paired ? "equal" : "independent"},
                              {"pairs (mean)", std::llround(used.mean())},
                              {"decided, %", percent(decided, repetitions)},
                              {"equal in every pair, %", percent(alike, repetitions)},
                              {"wrong, %", percent(wrong, repetitions)}});
        options.progress(0.6 + 0.4 * ++step / 16);
      }
    }
  }
  result.tables.push_back(looks);
}

void study_flip(const StudyOptions& options, StudyResult& result) {
  const Bench bench(options.seed);
  const SurrogateLaw a;
  const SurrogateLaw b{0.97, 0, 0, 0, 0, 2};
  constexpr int kFew = 10, kMany = 500;
  const int64_t pairs = std::max<int64_t>(options.truth_trials / 20, 1000);
  Moments base, difference;
  for (int64_t t = 0; t < pairs; ++t) {
    const double x = p99_of(bench.again(210, 0).plain(static_cast<int>(t), a));
    const double y = p99_of(bench.again(210, 0).plain(static_cast<int>(t), b));
    base.add(x);
    difference.add(y - x);
  }
  int wrong[2][2] = {{0, 0}, {0, 0}};  // [few, many][independent, equal]
  Json example;
  for (int r = 0; r < options.repetitions; ++r) {
    const Bench one = bench.again(211, static_cast<uint64_t>(r));
    const Bench two = bench.again(212, static_cast<uint64_t>(r));
    Moments of_a, of_b, of_other;
    std::array<double, 2> apart{}, paired{};
    std::array<Moments, 3> few;
    for (int t = 0; t < kMany; ++t) {
      of_a.add(p99_of(one.plain(t, a)));
      of_b.add(p99_of(one.plain(t, b)));
      of_other.add(p99_of(two.plain(t, b)));
      if (t + 1 != kFew && t + 1 != kMany) continue;
      const size_t i = t + 1 == kFew ? 0 : 1;
      apart[i] = of_other.mean() - of_a.mean();
      paired[i] = of_b.mean() - of_a.mean();
      wrong[i][0] += apart[i] * difference.mean() < 0;
      wrong[i][1] += paired[i] * difference.mean() < 0;
      if (i == 0) few = {of_a, of_other, of_b};
    }
    if (!example.is_null() || apart[0] > 0 || apart[1] < 0) continue;
    const auto show = [](const Moments& m) {
      return fmt::format("{:.3f} +- {:.3f}", m.mean() * 1e3, m.deviation() * 1e3);
    };
    example = {{"repetition", r},
               {"a, 10 trials, ms (deviation)", show(few[0])},
               {"b, 10 other trials", show(few[1])},
               {"a, 500 trials", show(of_a)},
               {"b, 500 other trials", show(of_other)},
               {"b - a on 10 equal flow files, ms", rounded(paired[0] * 1e3, 3)}};
    options.progress(static_cast<double>(r + 1) / options.repetitions);
  }
  StudyTable table{
      fmt::format("b shares 97 % of the link, a all of it: b's p99 is longer by {:.1f} % "
                  "(mean of the trial's p99). Verdicts with the wrong sign",
                  100 * difference.mean() / base.mean()),
      {}};
  for (size_t i = 0; i < 2; ++i)
    table.rows.push_back({{"trials", i == 0 ? kFew : kMany},
                          {"independent, %", percent(wrong[i][0], options.repetitions)},
                          {"equal flow files, %", percent(wrong[i][1], options.repetitions)}});
  result.tables.push_back(table);
  StudyTable shown{"One verdict of ten trials that five hundred turn round", {}};
  if (!example.is_null()) shown.rows.push_back(example);
  result.tables.push_back(shown);
}

}  // namespace delaycc

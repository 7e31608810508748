// SPDX-License-Identifier: Apache-2.0
// Studies of the estimators: what they cover, forecast, save and cost, on distributions that are
// known and on the surrogate network. Each gives tables, the same ones byte for byte for a seed.
#ifndef DELAYCC_HARNESS_STUDY_STUDY_H_
#define DELAYCC_HARNESS_STUDY_STUDY_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace delaycc {

using Json = nlohmann::ordered_json;

struct StudyOptions {
  uint64_t seed = 1;
  int repetitions = 1000;
  int64_t truth_trials = 2'000'000;  // that the true values come from
  std::vector<std::string> results;  // folders of `delaycc run`, for cceval-lab
  double lab_trial_s = 1;            // of wall time: what the cost of an estimator is a share of
  // How much is done, 0 to 1; called now and then.
  std::function<void(double)> progress = [](double) {};
};

// Rows of objects with equal keys, the columns.
struct StudyTable {
  std::string title;
  std::vector<Json> rows;
};

struct StudyResult {
  std::string name;
  std::string question;
  std::vector<StudyTable> tables;
  std::vector<std::string> notes;  // what follows from the tables
};

struct Study {
  std::string name;
  std::string question;
  void (*run)(const StudyOptions& options, StudyResult& result);
};
const std::vector<Study>& all_studies();

// Throws Error on an unknown name.
StudyResult run_study(const std::string& name, const StudyOptions& options);
std::string study_text(const StudyResult& result);
Json study_json(const StudyResult& result, const StudyOptions& options);

void study_coverage(const StudyOptions& options, StudyResult& result);
void study_stop(const StudyOptions& options, StudyResult& result);
void study_forecast(const StudyOptions& options, StudyResult& result);
void study_importance(const StudyOptions& options, StudyResult& result);
void study_save(const StudyOptions& options, StudyResult& result);
void study_pair(const StudyOptions& options, StudyResult& result);
void study_flip(const StudyOptions& options, StudyResult& result);
void study_lab(const StudyOptions& options, StudyResult& result);
void study_cost(const StudyOptions& options, StudyResult& result);

// A share of `whole`, in per cent with one digit.
double percent(double part, double whole = 1);
// To so many significant digits, so that a table is as short in JSON as on the terminal.
double rounded(double value, int digits = 4);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STUDY_STUDY_H_

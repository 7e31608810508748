// SPDX-License-Identifier: Apache-2.0
#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/posix.h"

namespace delaycc {
namespace {

std::string cell_text(const Json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_null()) return "-";
  if (cell.is_number_float()) return fmt::format("{:.6g}", cell.get<double>());
  return cell.dump();
}

}  // namespace

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = {
      {"cceval-coverage", "How often does each interval hold the true value?", study_coverage},
      {"cceval-stop", "And when its own width, or the verdict, has ended the run?", study_stop},
      {"cceval-forecast", "From how many trials is the forecast of equation 3 good?",
       study_forecast},
      {"cceval-is", "Does importance sampling save trials for the same estimand?",
       study_importance},
      {"cceval-save", "What do stratified sizes and a fluid control variate save?", study_save},
      {"cceval-pair", "What do equal flow files for two algorithms save?", study_pair},
      {"cceval-flip", "How often is the verdict of ten trials wrong?", study_flip},
      {"cceval-lab", "The same of trials in the lab (--results)", study_lab},
      {"cceval-cost", "What do the estimators cost?", study_cost},
  };
  return studies;
}

StudyResult run_study(const std::string& name, const StudyOptions& options) {
  for (const Study& study : all_studies()) {
    if (study.name != name) continue;
    StudyResult result;
    result.name = study.name;
    result.question = study.question;
    study.run(options, result);
    return result;
  }
  std::string known;
  for (const Study& study : all_studies()) known += (known.empty() ? "" : ", ") + study.name;
  throw Error(fmt::format("{}: no such study; there are {}", name, known));
}

std::string study_text(const StudyResult& result) {
  std::string text = fmt::format("{}: {}\n", result.name, result.question);
  for (const StudyTable& table : result.tables) {
    text += "\n" + table.title + "\n";
    if (table.rows.empty()) continue;
    std::vector<std::vector<std::string>> lines(1);
    for (const auto& [key, cell] : table.rows.front().items()) lines[0].push_back(key);
    for (const Json& row : table.rows) {
      lines.emplace_back();
      for (const auto& [key, cell] : row.items()) lines.back().push_back(cell_text(cell));
    }
    std::vector<size_t> widths;
    for (size_t c = 0; c < lines[0].size(); ++c) {
      widths.push_back(0);
      for (const auto& line : lines) widths[c] = std::max(widths[c], line.at(c).size());
    }
    for (size_t l = 0; l < lines.size(); ++l) {
      text += "|";
      for (size_t c = 0; c < widths.size(); ++c)
        text += fmt::format(" {:<{}} |", lines[l][c], widths[c]);
      text += "\n";
      if (l > 0) continue;
      text += "|";
      for (size_t width : widths) text += fmt::format(" {} |", std::string(width, '-'));
      text += "\n";
    }
  }
  for (const std::string& note : result.notes) text += "\n" + note + "\n";
  return text;
}

Json study_json(const StudyResult& result, const StudyOptions& options) {
  Json tables = Json::array();
  for (const StudyTable& table : result.tables)
    tables.push_back({{"title", table.title}, {"rows", table.rows}});
  return {{"study", result.name},
          {"question", result.question},
          {"seed", options.seed},
          {"repetitions", options.repetitions},
          {"truth_trials", options.truth_trials},
          {"tables", tables},
          {"notes", result.notes}};
}

double percent(double part, double whole) { return std::round(part / whole * 1000) / 10; }

double rounded(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::stod(fmt::format("{:.{}e}", value, digits - 1));
}

}  // namespace delaycc

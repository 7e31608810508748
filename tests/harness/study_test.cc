// SPDX-License-Identifier: Apache-2.0
#include "study/study.h"

#include <gtest/gtest.h>

#include "base/posix.h"

namespace delaycc {
namespace {

StudyOptions small(uint64_t seed) {
  StudyOptions options;
  options.seed = seed;
  options.repetitions = 10;
  options.truth_trials = 2000;
  return options;
}

TEST(Study, RepeatsByteForByteForASeed) {
  for (const char* name : {"cceval-flip", "cceval-forecast"}) {
    const auto run = [&](uint64_t seed) {
      return study_json(run_study(name, small(seed)), small(0)).dump();
    };
    EXPECT_EQ(run(1), run(1)) << name;
    EXPECT_NE(run(1), run(2)) << name;
  }
}

TEST(Study, TablesHaveACellForEveryColumn) {
  const StudyResult result = run_study("cceval-flip", small(1));
  const std::string text = study_text(result);
  EXPECT_EQ(text.rfind("cceval-flip: ", 0), 0u);
  for (const StudyTable& table : result.tables)
    for (const Json& row : table.rows) EXPECT_EQ(row.size(), table.rows.front().size());
}

TEST(Study, NamesThoseThereAreAndWhatIsMissing) {
  EXPECT_THROW(run_study("cceval", small(1)), Error);
  EXPECT_THROW(run_study("cceval-lab", small(1)), Error);
}

}  // namespace
}  // namespace delaycc

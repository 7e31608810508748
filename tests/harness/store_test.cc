// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <gtest/gtest.h>

#include "lab.h"

namespace delaycc {
namespace {

StoredTrial example(int number) {
  StoredTrial trial;
  trial.key = "key" + std::to_string(number);
  trial.scenario = "scenario";
  trial.parameters = "{\"k\":\"9\"}";
  trial.algorithm = "oscar";
  trial.number = number;
  trial.seed = 42;
  trial.build = "build";
  trial.kernel = "6.1";
  trial.result.event_ns = 1'500'000;
  trial.result.bin_ns = 10'000;
  trial.result.metrics["recover_us"] = {0.1, true};
  trial.result.metrics["drops"] = {0, false};
  trial.result.queue_bytes = {0, 1514, 75'000};
  trial.result.rates = {{"long", true, {99.5, 0.1}}, {"burst", false, {0, 1.0 / 3}}};
  trial.result.flows.resize(2);
  trial.result.flows[1].id = 1;
  return trial;
}

TEST(Store, GivesBackWhatWasSavedToTheLastBit) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/results.sqlite";
  Store(path).save(example(0));
  Store reopened(path);
  const auto found = reopened.load("key0");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->algorithm, "oscar");
  EXPECT_EQ(found->kernel, "6.1");
  EXPECT_EQ(found->seed, 42u);
  EXPECT_EQ(found->result.event_ns, 1'500'000);
  EXPECT_EQ(found->result.metrics.at("recover_us").value, 0.1);
  EXPECT_TRUE(found->result.metrics.at("recover_us").missed);
  EXPECT_FALSE(found->result.metrics.at("drops").missed);
  EXPECT_EQ(found->result.queue_bytes, example(0).result.queue_bytes);
  ASSERT_EQ(found->result.rates.size(), 2u);
  EXPECT_EQ(found->result.rates[1].label, "burst");
  EXPECT_EQ(found->result.rates[1].gbps, example(0).result.rates[1].gbps);
}

TEST(Store, KnowsNothingOfOtherKeys) {
  TemporaryDirectory directory;
  Store store(directory.path() + "/results.sqlite");
  EXPECT_FALSE(store.load("key0"));
  store.save(example(1));
  EXPECT_FALSE(store.load("key0"));
  EXPECT_TRUE(store.load("key1")->result.queue_bytes.empty()) << "curves are of trial 0 only";
}

TEST(Store, ASecondSaveOfAKeyFailsAndChangesNothing) {
  TemporaryDirectory directory;
  Store store(directory.path() + "/results.sqlite");
  store.save(example(0));
  StoredTrial other = example(0);
  other.algorithm = "cubic";
  EXPECT_THROW(store.save(other), Error);
  EXPECT_EQ(store.load("key0")->algorithm, "oscar");
}

TEST(Store, RefusesAFileThatIsNone) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/results.sqlite";
  write_file(path, "this is no database, but it is long enough to look like a file of its own\n");
  EXPECT_THROW(Store store(path), Error);
}

}  // namespace
}  // namespace delaycc

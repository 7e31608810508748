// SPDX-License-Identifier: Apache-2.0
#include "run/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/temporary_directory.h"

namespace delaycc {
namespace {

StoredTrial example(int number) {
  StoredTrial trial;
  trial.key = "key" + std::to_string(number);
  trial.scenario = "scenario";
  trial.parameters = "{\"k\":\"9\"}";
  trial.overrides = "{\"measure.from_us\":\"5\"}";
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
  trial.result.samples = {{3, 300'000, 40'000, 36'000, false, -1, 0, 0, 12},
                          {7, 10, 5, 5, true, 2, 0.1, 0.7, -1}};
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
  EXPECT_EQ(found->overrides, example(0).overrides);
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
  ASSERT_EQ(found->result.samples.size(), 2u);
  EXPECT_EQ(found->result.samples[0].flow, 3);
  EXPECT_EQ(found->result.samples[0].size_bytes, 300'000);
  EXPECT_EQ(found->result.samples[0].fct_ns, 40'000);
  EXPECT_EQ(found->result.samples[0].ideal_ns, 36'000);
  EXPECT_FALSE(found->result.samples[0].missed);
  EXPECT_TRUE(found->result.samples[1].missed);
  EXPECT_EQ(found->result.samples[1].size_class, 2);
  EXPECT_EQ(found->result.samples[1].log_weight, 0.1);
  EXPECT_EQ(found->result.samples[1].uniform, 0.7);
  EXPECT_EQ(found->result.samples[0].request, 12);
  EXPECT_EQ(found->result.samples[1].request, -1);
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

// A program that owns a store, with a process of its own that it has forked: all that is left of
// the program when it is killed.
class Owner {
 public:
  explicit Owner(const std::string& path) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    EXPECT_EQ(pipe(alive_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(alive_[1]);
      Store store(path);
      char byte = 0;
      if (fork() == 0) _exit(static_cast<int>(read(alive_[0], &byte, 1)));  // until the test ends
      byte = write(ready[1], "y", 1) == 1 ? 1 : 0;
      pause();
      _exit(0);
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
  }
  ~Owner() {
    end();
    close(alive_[0]);
    close(alive_[1]);
  }
  pid_t pid() const { return pid_; }
  void end() {
    if (!ended_) kill(pid_, SIGKILL);
    if (!ended_) waitpid(pid_, nullptr, 0);
    ended_ = true;
  }

 private:
  int alive_[2] = {-1, -1};
  pid_t pid_ = -1;
  bool ended_ = false;
};

TEST(Store, IsRefusedToASecondProgramUntilTheFirstEnds) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/results.sqlite";
  Owner owner(path);
  // What the file says is not yet written, or still of the owner before.
  for (const char* written : {"", "process 1 on another\n"}) {
    write_file(path + ".lock", written);
    try {
      Store second(path);
      FAIL() << "a second owner";
    } catch (const StoreError& e) {
      EXPECT_NE(
          std::string(e.what()).find("is in use by process " + std::to_string(owner.pid()) + ";"),
          std::string::npos)
          << e.what();
    }
  }
  EXPECT_NO_THROW(Store reader(path, Store::Sharing::kShared));
  owner.end();
  EXPECT_NO_THROW(Store next(path)) << "what the program had forked has no lock";
}

TEST(Store, KeepsAShardsFailures) {
  TemporaryDirectory directory;
  Store store(directory.path() + "/shard.sqlite", Store::Sharing::kShared);
  store.save_failure({"key1", "the lab ended"});
  store.save_failure({"key0", "took more than 1 s"});
  store.save_failure({"key1", "the lab ended again"});
  const auto failures = store.failures();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].key, "key0");
  EXPECT_EQ(failures[1].message, "the lab ended again");
}

TEST(Store, ListsItsKeysInOrder) {
  TemporaryDirectory directory;
  Store store(directory.path() + "/results.sqlite");
  store.save(example(2));
  store.save(example(1));
  EXPECT_EQ(store.keys(), (std::vector<std::string>{"key1", "key2"}));
  EXPECT_TRUE(store.has("key2"));
  EXPECT_FALSE(store.has("key3"));
}

TEST(Store, RefusesAFileThatIsNone) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/results.sqlite";
  write_file(path, "this is no database, but it is long enough to look like a file of its own\n");
  EXPECT_THROW(Store store(path), Error);
}

// The message of what fails when the store at `path` is used.
std::string trouble(const std::string& path) {
  try {
    Store(path).load("key0");
  } catch (const StoreError& e) {
    return e.what();
  }
  return "";
}

TEST(Store, NamesTheRemedyForAFileThatIsBroken) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/results.sqlite";
  const std::string remedy = "; move it away, and its trials are run again, or name another folder";
  Store(path).save(example(0));
  const std::string whole = read_file(path);
  EXPECT_EQ(trouble(path), "");
  // No database, one whose pages are lost, one that was cut off, one of another layout.
  write_file(path, std::string(5000, 'x'));
  EXPECT_NE(trouble(path).find(remedy), std::string::npos) << trouble(path);
  std::string damaged = whole;
  damaged.replace(4096, 5 * 4096, 5 * 4096, '\xff');
  write_file(path, damaged);
  EXPECT_NE(trouble(path).find(remedy), std::string::npos) << trouble(path);
  write_file(path, whole.substr(0, 9000));
  EXPECT_NE(trouble(path).find(remedy), std::string::npos) << trouble(path);
  damaged = whole;
  damaged[63] = static_cast<char>(damaged[63] + 1);  // the last byte of user_version
  write_file(path, damaged);
  EXPECT_NE(trouble(path).find("was written by another version of delaycc" + remedy),
            std::string::npos)
      << trouble(path);
}

TEST(WriteFileAtomically, LeavesTheOldFileAndNoHalfWhereItFails) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/summary.json";
  write_file_atomically(path, "old");
  // The new text goes to a device that is always full.
  ASSERT_EQ(symlink("/dev/full", (path + ".new").c_str()), 0);
  try {
    write_file_atomically(path, "new");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("No space left on device"), std::string::npos);
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_NE(access((path + ".new").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace delaycc

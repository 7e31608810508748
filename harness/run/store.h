// SPDX-License-Identifier: Apache-2.0
// results.sqlite: every finished trial of a run, so that a run can be interrupted and resumed.
#ifndef DELAYCC_HARNESS_RUN_STORE_H_
#define DELAYCC_HARNESS_RUN_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/posix.h"
#include "metrics/metrics.h"

struct sqlite3;
struct sqlite3_stmt;

namespace delaycc {

struct StoredTrial {
  std::string key;  // hash of all that the result depends on
  std::string scenario;
  std::string parameters;  // JSON
  std::string overrides;   // JSON: what --set said of other keys
  std::string algorithm;
  int number = 0;
  uint64_t seed = 0;
  std::string build;
  std::string kernel;
  TrialResult result;
};

// The store itself cannot be used; no further attempt helps.
class StoreError : public Error {
 public:
  using Error::Error;
};

// A trial that failed twice, with its message.
struct StoredFailure {
  std::string key;
  std::string message;
};

class Store {
 public:
  enum class Sharing {
    // One program at a time: a second one is refused with a message that names the first. It holds
    // a lock on PATH.lock, which ends with the program however that ends. Within a program the lock
    // refuses nothing: a store is opened once.
    kExclusive,
    // For a store that one program fills and another one reads (shards of a cluster).
    kShared,
  };
  // Opens or creates; throws StoreError naming the file.
  explicit Store(const std::string& path, Sharing sharing = Sharing::kExclusive);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // One transaction: a trial is there as a whole or not at all. Curves are kept for trial 0 only.
  void save(const StoredTrial& trial);
  // The trial with the samples of its flows, but without their records.
  std::optional<StoredTrial> load(const std::string& key);
  bool has(const std::string& key);
  std::vector<std::string> keys();

  // Only shards keep these: elsewhere a failed trial is run again by the next command.
  void save_failure(const StoredFailure& failure);
  std::vector<StoredFailure> failures();

 private:
  class Statement;
  StoreError error(const std::string& what) const;
  StoreError broken(const std::string& text) const;
  void execute(const char* sql);
  int64_t number(const char* query);

  std::string path_;
  Fd lock_;
  sqlite3* database_ = nullptr;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUN_STORE_H_

// SPDX-License-Identifier: Apache-2.0
// results.sqlite: every finished trial of a run, so that a run can be interrupted and resumed.
#ifndef DELAYCC_HARNESS_STORE_H_
#define DELAYCC_HARNESS_STORE_H_

#include <memory>
#include <optional>
#include <string>

#include "metrics.h"
#include "posix.h"

struct sqlite3;
struct sqlite3_stmt;

namespace delaycc {

struct StoredTrial {
  std::string key;  // hash of all that the result depends on
  std::string scenario;
  std::string parameters;  // JSON
  std::string algorithm;
  int number = 0;
  uint64_t seed = 0;
  std::string build;
  std::string kernel;
  TrialResult result;
};

class Store {
 public:
  // Opens or creates; throws Error naming the file.
  explicit Store(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // One transaction: a trial is there as a whole or not at all. Curves are kept for trial 0 only.
  void save(const StoredTrial& trial);
  // The trial without its flows.
  std::optional<StoredTrial> load(const std::string& key);

 private:
  class Statement;
  Error error(const std::string& what) const;
  void execute(const char* sql);

  std::string path_;
  sqlite3* database_ = nullptr;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_STORE_H_

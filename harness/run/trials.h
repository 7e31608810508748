// SPDX-License-Identifier: Apache-2.0
// A trial from the store or a backend, and a pool of threads that take them: what `run` and `eval`
// have in common.
#ifndef DELAYCC_HARNESS_RUN_TRIALS_H_
#define DELAYCC_HARNESS_RUN_TRIALS_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "plan/compile.h"
#include "run/store.h"
#include "scenario/scenario_file.h"

namespace delaycc {

struct TrialOptions {
  uint64_t seed = 1;
  int timeout_s = 300;  // of processor time
  bool trace = false;
  bool keep = false;        // the records
  std::string keep_folder;  // where to
};

// Makes the folder of results and those above it. Throws ScenarioError.
void make_out_folder(const std::string& out);

// One case of a scenario, and which of its trials.
struct TrialCase {
  const Scenario& scenario;
  const Parameters& parameters;
  size_t index = 0;  // of the case; names the folder of kept records
  std::string algorithm;
  int number = 0;
};

struct TrialOutcome {
  std::optional<StoredTrial> trial;   // absent: it failed twice
  bool resumed = false;               // it was in the store
  std::vector<HostSetting> settings;  // in force, whether it ran or was in the store
  std::string first_failure;          // of the first attempt; empty: there was none
  std::string failure;                // of the last attempt, if that failed too
};

// Safe to use from several threads. A trial that fails is run once more.
class TrialRunner {
 public:
  TrialRunner(const TrialOptions& options, const Backend& backend, Store& store,
              const std::atomic<bool>& stop);

  const std::string& build() const { return build_; }
  // Hash of all that the trial's result depends on. Throws Error for what does not fit together.
  std::string key(const TrialCase& c) const;
  // Throws Interrupted once `stop` is true.
  TrialOutcome run(const TrialCase& c);
  // Settings of our modules that are in force in it.
  std::vector<HostSetting> settings(const TrialCase& c) const { return compile(c).settings; }
  // What the store has of it, without running it.
  std::optional<StoredTrial> stored(const std::string& key);

 private:
  CompiledTrial compile(const TrialCase& c) const;
  std::string key_of(const TrialCase& c, const CompiledTrial& compiled) const;
  // Without what the backend cannot show.
  TrialResult measured(const CompiledTrial& compiled, const Records& records) const;
  StoredTrial attempt(const TrialCase& c, const CompiledTrial& compiled);
  void keep(const std::string& from, const Plan& plan, const Records& records,
            const TrialCase& c) const;

  const TrialOptions options_;
  const Backend& backend_;
  const std::atomic<bool>& stop_;
  const std::string build_;
  std::mutex mutex_;  // of store_
  Store& store_;
};

// What a reader of the results must know of what the backend cannot give; one sentence each.
std::vector<std::string> limits_of(const Capabilities& can);

// The parameters of a case as JSON, as the store has them.
std::string parameters_to_json(const Parameters& parameters);
// What --set said of keys of the file, likewise; what it said of parameters is among those, and the
// lists of a sweep only say which cases there are.
std::string overrides_to_json(const Scenario& scenario, const Parameters& parameters);

// `count` threads that each call `work` until it returns false or throws. The first exception other
// than Interrupted makes `failed` be called (to make the others stop) and is thrown again once all
// threads have ended.
void run_workers(int count, const std::function<bool()>& work, const std::function<void()>& failed);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUN_TRIALS_H_

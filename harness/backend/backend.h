// SPDX-License-Identifier: Apache-2.0
// What runs plans. Whoever wants trials run (run/, eval/, the command) knows this interface alone.
#ifndef DELAYCC_HARNESS_BACKEND_BACKEND_H_
#define DELAYCC_HARNESS_BACKEND_BACKEND_H_

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "base/posix.h"
#include "plan/plan.h"
#include "trace/records.h"

namespace delaycc {

// What a backend can give.
struct Capabilities {
  enum class Time {
    kVirtual,  // the machine's load does not reach the records
    kWall,
  };
  Time time = Time::kVirtual;
  // Equal plans give equal records, whose times are true to the nanosecond.
  bool exact = true;
  // Runs plans anew, and so can trace (--trace) and has records to keep (--keep).
  bool measures = true;
  // Trials may run side by side.
  bool parallel = true;
  // What else a reader of its figures has to know, sentences.
  std::vector<std::string> notes;
  // Metrics that its records do not show, by the name without a class, with the reason.
  std::map<std::string, std::string> missing_metrics;
};

// A part of what a backend needs, for `delaycc doctor`.
struct BackendPart {
  std::string what;    // "lab kernel"
  std::string detail;  // where it is; or how to get it
  bool there = false;
};

// What it needs is there, but not for this user.
class BackendForbidden : public Error {
 public:
  using Error::Error;
};

// All functions may be called from several threads.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual std::string name() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  // Congestion controls that a plan may use, sorted, by the kernel's names.
  virtual std::vector<std::string> algorithms() const = 0;
  // Whether a plan may load the kernel module of this name or alias.
  virtual bool has_module(const std::string& name) const = 0;
  // Of a congestion control: where it comes from, one line.
  virtual std::string description(const std::string& algorithm) const = 0;
  virtual std::vector<BackendPart> parts() const = 0;
  // Of all that the backend consists of: shown with results, in no key.
  virtual std::string build() const = 0;
  // Of all that the records of this plan depend on beside the plan: part of a stored trial's key.
  // Throws Error for a plan that cannot be run.
  virtual std::string identity(const Plan& plan) const = 0;
  // Carries out the plan. `folder` is empty and its own; what the backend leaves there beside the
  // records (acks.txt, console.txt) is kept with --keep. Throws Interrupted when `stop` becomes
  // true, else Error with the reason when the trial failed, used more than `timeout_s` seconds of
  // processor time, or none for so many seconds.
  virtual Records run(const Plan& plan, const std::string& folder, int timeout_s,
                      const std::atomic<bool>& stop) const = 0;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_BACKEND_H_

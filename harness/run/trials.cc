// SPDX-License-Identifier: Apache-2.0
#include "run/trials.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "backend/kept_trial.h"
#include "base/temporary_directory.h"
#include "metrics/parameter.h"
#include "plan/compile.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 2;

std::string spans_text(const std::vector<TimeSpan>& spans) {
  std::string text;
  for (const auto& [from, to] : spans) text += fmt::format("{}-{},", from, to);
  return text;
}

struct ValueText {
  std::string operator()(const std::vector<TimeSpan>& spans) const { return spans_text(spans); }
  template <typename T>
  std::string operator()(const T& value) const {
    return fmt::format("{}", value);
  }
};

// What metrics depend on beside the plan and the records.
std::string measurement_text(const Measurement& m) {
  std::string text = fmt::format(
      "bottleneck {} {} event {} {} {} {} {} {} {} measure {} {} exclude {}", m.bottleneck_port,
      m.bottleneck_bps, m.event.present, m.event.at_ns, m.event.stop_of, m.event.recovers,
      m.event.threshold, m.event.window_ns, m.event.horizon_ns, m.measure.from_ns, m.measure.to_ns,
      spans_text(m.measure.exclude_ns));
  for (const auto& [key, value] : m.measure.parameters)
    text += " " + key + " " + std::visit(ValueText(), value);
  text += " classes";
  for (const FlowSet& set : m.flow_sets) text += " " + set.name;
  text += fmt::format(" {} requests {} weights {} {}", fmt::join(m.size_class, " "),
                      fmt::join(m.request, " "), fmt::join(m.uniform, " "),
                      fmt::join(m.log_weight, " "));
  text +=
      fmt::format(" mtu {} log {} curves {} flows {} ideal {} host {} return {} delay {}",
                  m.mtu_bytes, static_cast<int>(m.log), m.curves, fmt::join(m.measure.flows, " "),
                  fmt::join(m.ideal_fct_ns, " "), fmt::join(m.host_port, " "),
                  fmt::join(m.return_port, " "), fmt::join(m.port_delay_ns, " "));
  for (const auto& [port, steps] : m.port_delay_steps) {
    text += fmt::format(" port {} steps", port);
    for (const auto& [from_ns, delay_ns] : steps) text += fmt::format(" {} {}", from_ns, delay_ns);
  }
  return text;
}

}  // namespace

std::string parameters_to_json(const Parameters& parameters) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : parameters) json[name] = to_string(value);
  return json.dump();
}

std::string overrides_to_json(const Scenario& scenario, const Parameters& parameters) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : scenario.overrides)
    if (!parameters.count(name) && name.rfind("sweep.", 0) != 0) json[name] = value;
  return json.dump();
}

std::vector<std::string> limits_of(const Capabilities& can) {
  std::vector<std::string> limits;
  if (can.time == Capabilities::Time::kWall)
    limits.push_back("measured in wall time: what else the machine did is in the figures");
  if (!can.exact)
    limits.push_back(
        "measured with a clock that is not exact: equal trials differ, and small times are noise");
  limits.insert(limits.end(), can.notes.begin(), can.notes.end());
  std::map<std::string, std::string> missing;  // metrics by reason
  for (const auto& [metric, reason] : can.missing_metrics)
    missing[reason] += (missing[reason].empty() ? "" : ", ") + metric;
  for (const auto& [reason, metrics] : missing)
    limits.push_back(metrics + ": not measured: " + reason);
  return limits;
}

void make_out_folder(const std::string& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error || !fs::is_directory(out))
    throw ScenarioError("--out " + out + ": " +
                        (error ? error.message() : "is no folder, and none can be made there"));
}

TrialRunner::TrialRunner(const TrialOptions& options, const Backend& backend, Store& store,
                         const std::atomic<bool>& stop)
    : options_(options), backend_(backend), stop_(stop), build_(backend.build()), store_(store) {}

CompiledTrial TrialRunner::compile(const TrialCase& c) const {
  Trial trial;
  trial.algorithm = c.algorithm;
  trial.number = c.number;
  trial.seed = options_.seed;
  trial.trace = options_.trace;
  return compile_trial(c.scenario, trial,
                       [this](const std::string& name) { return backend_.has_module(name); });
}

std::string TrialRunner::key_of(const TrialCase& c, const CompiledTrial& compiled) const {
  return hash_hex(plan_to_json(compiled.plan) + measurement_text(compiled.measurement) +
                  fmt::format(" metrics {} set ", kMetricsVersion) +
                  overrides_to_json(c.scenario, c.parameters) + " by " +
                  backend_.identity(compiled.plan));
}

std::string TrialRunner::key(const TrialCase& c) const { return key_of(c, compile(c)); }

std::optional<StoredTrial> TrialRunner::stored(const std::string& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  return store_.load(key);
}

TrialOutcome TrialRunner::run(const TrialCase& c) {
  TrialOutcome outcome;
  const CompiledTrial compiled = compile(c);
  const std::string key = key_of(c, compiled);
  outcome.settings = compiled.settings;
  // --keep and --trace want the records, which the store does not have.
  if (!options_.keep && !options_.trace)
    if (auto found = stored(key)) {
      outcome.trial = std::move(found);
      outcome.resumed = true;
      return outcome;
    }
  for (int attempt_number = 1;; attempt_number++) {
    try {
      StoredTrial done = attempt(c, compiled);
      done.key = key;
      std::lock_guard<std::mutex> lock(mutex_);
      if (!store_.has(key)) store_.save(done);
      outcome.trial = std::move(done);
      return outcome;
    } catch (const Interrupted&) {
      throw;
    } catch (const StoreError&) {
      throw;
    } catch (const Error& e) {
      (attempt_number == 1 ? outcome.first_failure : outcome.failure) = e.what();
      if (attempt_number == kAttempts) return outcome;
    }
  }
}

TrialResult TrialRunner::measured(const CompiledTrial& compiled, const Records& records) const {
  TrialResult result = compute_metrics(compiled, records);
  // The flows' own times are what these metrics are made of.
  if (backend_.capabilities().missing_metrics.count("fct_mean_us")) result.samples.clear();
  for (auto it = result.metrics.begin(); it != result.metrics.end();) {
    const std::string base = it->first.substr(it->first.find('.') + 1);  // "small.fct_p50_us"
    it = backend_.capabilities().missing_metrics.count(base) ? result.metrics.erase(it)
                                                             : std::next(it);
  }
  return result;
}

StoredTrial TrialRunner::attempt(const TrialCase& c, const CompiledTrial& compiled) {
  TemporaryDirectory directory;
  const Records records = backend_.run(compiled.plan, directory.path(), options_.timeout_s, stop_);
  StoredTrial stored;
  stored.scenario = c.scenario.name;
  stored.parameters = parameters_to_json(c.parameters);
  stored.overrides = overrides_to_json(c.scenario, c.parameters);
  stored.algorithm = c.algorithm;
  stored.number = c.number;
  stored.seed = options_.seed;
  stored.build = build_;
  stored.kernel = records.kernel;
  stored.result = measured(compiled, records);
  if (options_.keep || options_.trace) keep(directory.path(), compiled.plan, records, c);
  return stored;
}

void TrialRunner::keep(const std::string& from, const Plan& plan, const Records& records,
                       const TrialCase& c) const {
  const fs::path to =
      fs::path(options_.keep_folder) / fmt::format("case{}-{}-{}", c.index, c.algorithm, c.number);
  fs::remove_all(to);
  fs::create_directories(to);
  for (const char* name : {"acks.txt", "console.txt"})
    if (fs::exists(fs::path(from) / name)) fs::copy_file(fs::path(from) / name, to / name);
  keep_trial(to.string(), plan, backend_, records);
}

void run_workers(int count, const std::function<bool()>& work,
                 const std::function<void()>& failed) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; i++)
    workers.emplace_back([&] {
      try {
        while (work()) {
        }
      } catch (const Interrupted&) {
      } catch (...) {
        {
          std::lock_guard<std::mutex> lock(mutex);
          if (!first) first = std::current_exception();
        }
        failed();
      }
    });
  for (std::thread& worker : workers) worker.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace delaycc

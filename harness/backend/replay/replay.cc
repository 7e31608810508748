// SPDX-License-Identifier: Apache-2.0
#include "backend/replay/replay.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/kept_trial.h"
#include "base/posix.h"

namespace delaycc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kDifferencesTold = 3;

// A trace adds decisions to the records and changes nothing else of them.
std::string plan_without_trace(Plan plan) {
  plan.trace = false;
  return plan_to_json(plan);
}

// "/flows/0/cc is \"reno\", kept is \"cubic\"", the first few of them.
std::string differences(const json& wanted, const json& kept) {
  const json patch = json::diff(kept, wanted);
  const auto value = [](const json& of, const std::string& path) {
    const json::json_pointer pointer(path);
    if (!of.contains(pointer)) return std::string("absent");
    const std::string text = of.at(pointer).dump();
    return text.size() <= 40 ? text : text.substr(0, 40) + "...";
  };
  std::string text;
  for (size_t i = 0; i < patch.size() && i < kDifferencesTold; i++) {
    const std::string path = patch[i].at("path");
    text +=
        (i ? "; " : "") + path + " is " + value(wanted, path) + ", kept is " + value(kept, path);
  }
  if (patch.size() > kDifferencesTold)
    text += "; and " + std::to_string(patch.size() - kDifferencesTold) + " more";
  return text;
}

class Replay : public Backend {
 public:
  explicit Replay(const std::string& folder) : folder_(folder) {
    std::error_code error;
    const fs::path top(folder);
    if (!fs::is_directory(top, error))
      throw Error(folder + (error == std::errc::permission_denied
                                ? ": this user may not read it"
                                : ": is no folder of kept trials"));
    fs::path where = top;
    if (!fs::exists(top / "plan.json") && fs::is_directory(top / "trials")) where = top / "trials";
    std::vector<fs::path> found;
    if (fs::exists(where / "plan.json")) {
      found.push_back(where);
    } else {
      for (const auto& entry : fs::directory_iterator(where))
        if (fs::exists(entry.path() / "plan.json")) found.push_back(entry.path());
    }
    if (found.empty())
      throw Error(folder + ": holds no kept trial; \"delaycc run --keep\" keeps them");
    std::sort(found.begin(), found.end());
    std::set<std::string> algorithms, builds;
    for (const fs::path& trial : found) {
      const std::string path = (trial / "plan.json").string();
      Plan plan;
      try {
        plan = plan_from_json(read_file(path));
      } catch (const Error& e) {
        throw Error(path + ": " + e.what());
      }
      for (const FlowPlan& flow : plan.flows) algorithms.insert(flow.cc);
      modules_.insert(plan.modules.begin(), plan.modules.end());
      trials_.emplace(plan_without_trace(plan), Kept{trial.string(), plan.trace});
      const Origin origin = read_origin(trial.string());
      builds.insert(origin.backend + " " + origin.build);
      if (origin.can.time == Capabilities::Time::kWall) capabilities_.time = origin.can.time;
      capabilities_.exact = capabilities_.exact && origin.can.exact;
      for (const std::string& note : origin.can.notes)
        if (std::find(capabilities_.notes.begin(), capabilities_.notes.end(), note) ==
            capabilities_.notes.end())
          capabilities_.notes.push_back(note);
      capabilities_.missing_metrics.insert(origin.can.missing_metrics.begin(),
                                           origin.can.missing_metrics.end());
    }
    for (const std::string& module : modules_)
      if (module.rfind("tcp_", 0) == 0) algorithms.insert(module.substr(4));
    algorithms_.assign(algorithms.begin(), algorithms.end());
    capabilities_.measures = false;
    for (const std::string& build : builds) build_ += (build_.empty() ? "" : ",") + build;
  }

  std::string name() const override { return "replay"; }
  const Capabilities& capabilities() const override { return capabilities_; }
  std::vector<std::string> algorithms() const override { return algorithms_; }
  bool has_module(const std::string& name) const override { return modules_.count(name) > 0; }
  std::string description(const std::string&) const override { return "of kept trials"; }
  std::vector<BackendPart> parts() const override { return {{"kept trials", folder_, true}}; }
  std::string build() const override { return "replay of " + build_; }

  std::string identity(const Plan& plan) const override {
    const std::string folder = find(plan);
    std::string hashes = "replay";
    for (const char* name : {"/flows.json", "/packets.bin", "/decisions.bin"})
      if (fs::exists(folder + name))
        hashes += std::string(" ") + name + " " + hash_file(folder + name);
    return hashes;
  }

  Records run(const Plan& plan, const std::string&, int, const std::atomic<bool>&) const override {
    Records records = read_records(find(plan));
    // A plan without a trace has no use for the decisions.
    if (!plan.trace) records.decisions.clear();
    if (records.flows.size() != plan.flows.size())
      throw Error(find(plan) + "/flows.json: has " + std::to_string(records.flows.size()) +
                  " flows, its plan " + std::to_string(plan.flows.size()));
    return records;
  }

 private:
  struct Kept {
    std::string folder;
    bool trace = false;
  };

  // The folder of the kept trial with this plan; else throws Error with what differs.
  std::string find(const Plan& plan) const {
    const std::string text = plan_without_trace(plan);
    const auto range = trials_.equal_range(text);
    for (auto it = range.first; it != range.second; ++it)
      if (it->second.trace || !plan.trace) return it->second.folder;
    if (range.first != range.second)
      throw Error(range.first->second.folder +
                  ": was kept without a trace, which the scenario needs; keep it with --trace");
    const json wanted = json::parse(text);
    std::string nearest;
    size_t least = SIZE_MAX;
    const Kept* of = nullptr;
    json kept_json;
    for (const auto& [kept_text, kept] : trials_) {
      json other = json::parse(kept_text);
      // Another algorithm, trial or scenario differs in more than a reader wants to know.
      size_t apart = 0;
      for (const char* key : {"scenario", "algorithm", "seed"}) apart += wanted[key] != other[key];
      if (apart >= least) continue;
      least = apart;
      of = &kept;
      kept_json = std::move(other);
    }
    throw Error(folder_ + ": holds no trial with this plan; the nearest, " + of->folder +
                ", differs: " + differences(wanted, kept_json));
  }

  std::string folder_;
  std::string build_;
  Capabilities capabilities_;
  std::vector<std::string> algorithms_;
  std::set<std::string> modules_;
  std::multimap<std::string, Kept> trials_;  // by the plan's text
};

}  // namespace

std::unique_ptr<Backend> make_replay(const std::string& folder) {
  return std::make_unique<Replay>(folder);
}

}  // namespace delaycc

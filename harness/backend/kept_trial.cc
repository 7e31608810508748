// SPDX-License-Identifier: Apache-2.0
#include "backend/kept_trial.h"

#include <nlohmann/json.hpp>

namespace delaycc {
namespace {

using nlohmann::json;

constexpr int kOriginVersion = 1;

}  // namespace

void keep_trial(const std::string& folder, const Plan& plan, const Backend& backend,
                const Records& records) {
  const Capabilities& can = backend.capabilities();
  write_file(folder + "/plan.json", plan_to_json(plan));
  const json origin = {{"version", kOriginVersion},
                       {"backend", backend.name()},
                       {"build", backend.build()},
                       {"time", can.time == Capabilities::Time::kVirtual ? "virtual" : "wall"},
                       {"exact", can.exact},
                       {"notes", can.notes},
                       {"missing_metrics", can.missing_metrics}};
  write_file(folder + "/origin.json", origin.dump(1) + "\n");
  write_records(folder, records);
}

Origin read_origin(const std::string& folder) {
  const std::string path = folder + "/origin.json";
  try {
    const json file = json::parse(read_file(path));
    if (file.at("version") != kOriginVersion)
      throw Error(path + ": its version is " + file.at("version").dump() + ", this delaycc reads " +
                  std::to_string(kOriginVersion));
    Origin origin;
    file.at("backend").get_to(origin.backend);
    file.at("build").get_to(origin.build);
    if (file.at("time") == "wall") origin.can.time = Capabilities::Time::kWall;
    file.at("exact").get_to(origin.can.exact);
    if (file.contains("notes")) file.at("notes").get_to(origin.can.notes);
    file.at("missing_metrics").get_to(origin.can.missing_metrics);
    return origin;
  } catch (const json::exception& e) {
    throw Error(path + ": " + e.what());
  }
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "backends.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/host/host.h"
#include "backend/lab/lab.h"
#include "backend/replay/replay.h"
#include "base/suggest.h"
#include "scenario/scenario_file.h"

namespace delaycc {

std::vector<std::string> backend_names() { return {"lab", "host", "replay"}; }

std::unique_ptr<Backend> make_backend(const std::string& name, const std::string& folder) {
  const bool replay = name == "replay";
  const std::vector<std::string> known = backend_names();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw ScenarioError(fmt::format("--backend: \"{}\" is no backend, allowed is one of {}{}", name,
                                    fmt::join(known, ", "), nearest_text(name, known)));
  if (replay && folder.empty())
    throw ScenarioError(
        "--backend replay: needs the folder of kept trials behind it: --backend replay DIR");
  if (!replay && !folder.empty())
    throw ScenarioError(folder + ": a folder of records is for --backend replay only");
  if (name == "host") return find_host();
  if (!replay) return find_lab();
  try {
    return make_replay(folder);
  } catch (const Error& e) {
    throw ScenarioError(std::string("--backend replay: ") + e.what());
  }
}

}  // namespace delaycc

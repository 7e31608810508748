// SPDX-License-Identifier: Apache-2.0
#include "backends.h"

#include <fmt/format.h>

#include "backend/lab/lab.h"
#include "backend/replay/replay.h"
#include "base/suggest.h"
#include "scenario/scenario_file.h"

namespace delaycc {

std::vector<std::string> backend_names() { return {"lab", "replay"}; }

std::unique_ptr<Backend> make_backend(const std::string& name, const std::string& folder) {
  const bool replay = name == "replay";
  if (!replay && name != kDefaultBackend)
    throw ScenarioError(fmt::format("--backend: \"{}\" is no backend, allowed is one of {}{}", name,
                                    fmt::join(backend_names(), ", "),
                                    nearest_text(name, backend_names())));
  if (replay && folder.empty())
    throw ScenarioError(
        "--backend replay: needs the folder of kept trials behind it: --backend replay DIR");
  if (!replay && !folder.empty())
    throw ScenarioError(folder + ": a folder of records is for --backend replay only");
  if (!replay) return find_lab();
  try {
    return make_replay(folder);
  } catch (const Error& e) {
    throw ScenarioError(std::string("--backend replay: ") + e.what());
  }
}

}  // namespace delaycc

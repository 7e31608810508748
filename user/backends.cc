// SPDX-License-Identifier: Apache-2.0
#include "backends.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/host/host.h"
#include "backend/hosts/hosts.h"
#include "backend/lab/lab.h"
#include "backend/replay/replay.h"
#include "base/suggest.h"
#include "scenario/scenario_file.h"

namespace delaycc {

std::vector<std::string> backend_names() { return {"lab", "host", "hosts", "replay"}; }

std::unique_ptr<Backend> make_backend(const BackendChoice& choice, const std::atomic<bool>& stop) {
  const std::string& name = choice.name;
  const std::vector<std::string> known = backend_names();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw ScenarioError(fmt::format("--backend: \"{}\" is no backend, allowed is one of {}{}", name,
                                    fmt::join(known, ", "), nearest_text(name, known)));
  const bool replay = name == "replay", hosts = name == "hosts";
  if (replay && choice.folder.empty())
    throw ScenarioError(
        "--backend replay: needs the folder of kept trials behind it: --backend replay DIR");
  if (!replay && !choice.folder.empty())
    throw ScenarioError(choice.folder + ": a folder of records is for --backend replay only");
  if (hosts && choice.inventory.empty())
    throw ScenarioError("--backend hosts: needs the file with the hosts: --inventory hosts.toml");
  if (!hosts && !choice.inventory.empty())
    throw ScenarioError("--inventory " + choice.inventory + ": is for --backend hosts only");
  if (hosts) return find_hosts(choice.inventory, stop);
  if (name == "host") return find_host();
  if (!replay) return find_lab();
  try {
    return make_replay(choice.folder);
  } catch (const Error& e) {
    throw ScenarioError(std::string("--backend replay: ") + e.what());
  }
}

std::unique_ptr<Backend> make_default_backend() { return find_lab(); }

}  // namespace delaycc

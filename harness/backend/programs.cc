// SPDX-License-Identifier: Apache-2.0
#include "backend/programs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/posix.h"

namespace delaycc {

namespace fs = std::filesystem;

ProgramFolder program_folder() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path libexec = program.parent_path() / "libexec/delaycc";
  const bool installed = is_at_first(libexec / "delaycc-runner", program / "delaycc-runner");
  return {(installed ? libexec : program).string(), installed};
}

std::string host_runner_path() {
  std::string path = program_folder().path + "/delaycc-host-runner";
  if (access(path.c_str(), R_OK | X_OK) == 0) return path;
  if (errno == EACCES)
    throw Error("the host runner " + path + " is there, but not for this user: " + strerror(errno) +
                "; give the user access to it and to the folders above it");
  throw Error("no host runner at " + path + "; build it with \"make\"");
}

}  // namespace delaycc

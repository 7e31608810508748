// SPDX-License-Identifier: Apache-2.0
#include "backend/programs.h"

#include <filesystem>

namespace delaycc {

namespace fs = std::filesystem;

ProgramFolder program_folder() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path libexec = program.parent_path() / "libexec/delaycc";
  std::error_code ignored;
  if (fs::is_regular_file(libexec / "delaycc-runner", ignored)) return {libexec.string(), true};
  return {program.string(), false};
}

}  // namespace delaycc

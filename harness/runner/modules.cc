// SPDX-License-Identifier: Apache-2.0
#include "runner/modules.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/module_info.h"
#include "base/posix.h"

namespace delaycc {

bool insert_module(const std::string& folder, const std::string& wanted) {
  const std::string name = find_module(folder, wanted);
  if (name.empty()) return false;
  if (access(("/sys/module/" + name).c_str(), F_OK) == 0) return true;
  const std::string file = folder + "/" + name + ".ko";
  for (const std::string& other : module_dependencies(read_file(file)))
    if (!insert_module(folder, other)) throw Error("no module " + other + " in " + folder);
  const Fd fd = open_file(file, O_RDONLY);
  if (syscall(SYS_finit_module, fd.get(), "", 0) < 0 && errno != EEXIST)
    throw system_error("finit_module", file);
  return true;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/kernel_module.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/posix.h"
#include "runner/modules.h"

namespace delaycc {

namespace fs = std::filesystem;

void load_module(const std::string& folder, const std::string& wanted) {
  if (!folder.empty() && insert_module(folder, wanted)) return;
  if (fs::exists("/sys/module/" + wanted)) return;
  const pid_t child = fork();
  if (child < 0) throw system_error("fork", "modprobe");
  if (child == 0) {
    execlp("modprobe", "modprobe", wanted.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) < 0 || status != 0)
    throw Error("modprobe " + wanted + " failed; \"make install\" installs delaycc's modules");
}

}  // namespace delaycc

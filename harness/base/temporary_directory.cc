// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <mutex>

namespace delaycc {
namespace fs = std::filesystem;

namespace {

constexpr char kTemporaryPrefix[] = "delaycc-run-";

// Locks a folder of ours, of which no other process has the lock; else the result is empty.
Fd lock_folder(const std::string& path) {
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!folder || fstat(folder.get(), &status) < 0 || status.st_uid != geteuid() ||
      flock(folder.get(), LOCK_EX | LOCK_NB) < 0)
    return Fd();
  return folder;
}

// The lock of a folder ends with the process that made it, however that ends. What has the name and
// no lock was left behind by one that was killed.
void remove_abandoned_folders(const fs::path& where) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(where, ignored)) {
    if (entry.path().filename().string().rfind(kTemporaryPrefix, 0) != 0) continue;
    if (const Fd lock = lock_folder(entry.path().string())) fs::remove_all(entry.path(), ignored);
  }
}

// The first of TMPDIR and the usual ones that is there, can be written to and fits onto the lab
// kernel's command line.
fs::path usual_folder() {
  const char* given = getenv("TMPDIR");
  for (const char* name : {given ? given : "", "/tmp", "/dev/shm"}) {
    std::error_code ignored;
    fs::path folder = *name ? fs::absolute(name, ignored) : "";
    if (folder.string().find_first_of(" \t\",") == std::string::npos &&
        fs::is_directory(folder, ignored) && access(folder.c_str(), W_OK | X_OK) == 0)
      return folder;
  }
  throw Error(
      "no folder for temporary files: TMPDIR, /tmp and /dev/shm are not there, cannot be written "
      "to, or have a space, comma or quote in their name; name one in TMPDIR");
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  const fs::path where = usual_folder();
  static std::once_flag once;
  std::call_once(once, [&] { remove_abandoned_folders(where); });
  // mkdtemp() puts six characters of its own in place of the last six.
  std::string fresh = (where / ("delaycc-" + std::string(6, 'X'))).string();
  if (!mkdtemp(fresh.data())) throw system_error("mkdtemp", fresh);
  // It gets its name once it is locked.
  lock_ = lock_folder(fresh);
  path_ = (where / (kTemporaryPrefix + fresh.substr(fresh.size() - 6))).string();
  if (rename(fresh.c_str(), path_.c_str()) < 0) {
    const Error failed = system_error("rename", path_);
    rmdir(fresh.c_str());
    throw failed;
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "backend/lab/memory_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/posix.h"

namespace delaycc {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(100);

// What runs in a folder, of this process.
struct Use {
  int labs = 0;
  int64_t claimed_bytes = 0;
  int64_t room_bytes = 0;  // of the folder before the first of them
};

std::mutex mutex;
std::map<std::string, Use> uses;  // by folder

// The kernel itself, and programs. mem= is an upper bound: of the scenarios the one that touches
// most of it (prio-fig11) takes 142 of 416 MB, most take a tenth.
constexpr int64_t kLeastBytes = int64_t{64} << 20;
constexpr char kRemedy[] =
    "name one in TMPDIR, or enlarge /dev/shm (docker run --shm-size=2g; mount -o "
    "remount,exec,size=2g /dev/shm)";

std::string mb_text(int64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

std::vector<std::string> candidates() {
  std::vector<std::string> folders;
  const char* given = getenv("TMPDIR");
  for (const std::string& folder :
       {std::string(given ? given : ""), std::string("/dev/shm"), std::string("/tmp")})
    if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  return folders;
}

// As the lab kernel makes its file. Empty: it maps executable memory; else what is wrong.
std::string cannot_execute(const std::string& folder) {
  Fd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0700));
  if (!file && (errno == EINVAL || errno == EISDIR || errno == EOPNOTSUPP)) {
    std::string name = folder + "/delaycc-XXXXXX";
    file = Fd(mkostemp(name.data(), O_CLOEXEC));
    if (file) unlink(name.c_str());
  }
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (!file || ftruncate(file.get(), static_cast<off_t>(page)) < 0) return strerror(errno);
  void* at = mmap(nullptr, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (at == MAP_FAILED) return errno == EPERM ? "noexec" : strerror(errno);
  munmap(at, page);
  return "";
}

int64_t free_bytes(const std::string& folder) {
  struct statvfs room;
  if (statvfs(folder.c_str(), &room) < 0) return 0;
  return static_cast<int64_t>(room.f_bavail) * static_cast<int64_t>(room.f_frsize);
}

// The folder that was claimed; empty: each that has room for it is full of labs that run. Throws
// Error.
std::string claim(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::string wrong;
  bool wait = false;
  for (const std::string& folder : candidates()) {
    std::string reason = cannot_execute(folder);
    Use& use = uses[folder];
    if (reason.empty()) {
      if (use.labs == 0) use = {0, 0, free_bytes(folder)};
      if (use.claimed_bytes + bytes <= use.room_bytes) {
        use.labs++;
        use.claimed_bytes += bytes;
        return folder;
      }
      wait = wait || bytes <= use.room_bytes;
      reason = mb_text(use.room_bytes) + " free";
    }
    wrong += (wrong.empty() ? "" : ", ") + folder + ": " + reason;
  }
  if (wait) return "";
  throw Error("no folder for the lab's memory, which has to be executable and have " +
              mb_text(bytes) + " free (" + wrong + "); " + kRemedy);
}

}  // namespace

int64_t lab_room_bytes(int memory_mb) { return kLeastBytes + (int64_t{memory_mb} << 20) / 4; }

LabMemory::LabMemory(int memory_mb, const std::atomic<bool>& stop, int64_t network_bytes)
    : bytes_(std::max(lab_room_bytes(memory_mb), kLeastBytes + network_bytes)) {
  while ((folder_ = claim(bytes_)).empty()) {
    if (stop) throw Interrupted();
    std::this_thread::sleep_for(kLookAgain);
  }
}

std::string LabMemory::used_up_text() const {
  return "the lab's memory took all the room of " + folder_ + " (" + mb_text(free_bytes(folder_)) +
         " are free without it); a larger folder is needed: " + kRemedy;
}

LabMemory::~LabMemory() {
  const std::lock_guard<std::mutex> lock(mutex);
  Use& use = uses[folder_];
  use.labs--;
  use.claimed_bytes -= bytes_;
}

}  // namespace delaycc

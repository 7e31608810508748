// SPDX-License-Identifier: Apache-2.0
// Where the lab kernel keeps its memory: an unlinked file of mem= bytes, of which touched pages
// take room. A folder without room for them ends a lab by SIGBUS.
#ifndef DELAYCC_HARNESS_BACKEND_LAB_MEMORY_FOLDER_H_
#define DELAYCC_HARNESS_BACKEND_LAB_MEMORY_FOLDER_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace delaycc {

// mem= of most scenarios' labs.
constexpr int kUsualLabMemoryMb = 1024;

// What a lab of `memory_mb` (mem=) takes of its folder, in bytes: what it may touch, which is less
// than all.
int64_t lab_room_bytes(int memory_mb);

// A folder for the memory of one lab, and its room there until the destructor.
class LabMemory {
 public:
  // The first of TMPDIR, /dev/shm and /tmp that maps executable memory and has room for this lab
  // beside those of this process that run. Waits for one of them to end where this lab would have
  // room alone. `network_bytes`: all of which is touched. Throws Error where it has none: one line,
  // the folders, their sizes and the remedy; Interrupted once `stop`.
  LabMemory(int memory_mb, const std::atomic<bool>& stop, int64_t network_bytes = 0);
  ~LabMemory();
  LabMemory(const LabMemory&) = delete;
  LabMemory& operator=(const LabMemory&) = delete;

  const std::string& folder() const { return folder_; }
  // One line about a lab that touched memory for which there was no room.
  std::string used_up_text() const;

 private:
  std::string folder_;
  int64_t bytes_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_LAB_MEMORY_FOLDER_H_

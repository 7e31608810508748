// SPDX-License-Identifier: Apache-2.0
// A folder for as long as its owner lives.
#ifndef DELAYCC_HARNESS_BASE_TEMPORARY_DIRECTORY_H_
#define DELAYCC_HARNESS_BASE_TEMPORARY_DIRECTORY_H_

#include <string>

#include "base/posix.h"

namespace delaycc {

// A folder of its own in TMPDIR, or else in /tmp or /dev/shm, removed with its contents by the
// destructor. The folder of a process that was killed is removed when the next process makes its
// first. Throws Error.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd lock_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BASE_TEMPORARY_DIRECTORY_H_

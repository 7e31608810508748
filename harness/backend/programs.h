// SPDX-License-Identifier: Apache-2.0
// Where the programs are that backends start.
#ifndef DELAYCC_HARNESS_BACKEND_PROGRAMS_H_
#define DELAYCC_HARNESS_BACKEND_PROGRAMS_H_

#include <string>

namespace delaycc {

struct ProgramFolder {
  std::string path;        // absolute
  bool installed = false;  // PREFIX/libexec/delaycc of an installed PREFIX/bin/delaycc
};

// That of this program: the build folder, unless it is installed.
ProgramFolder program_folder();

// The runner of the backends host and hosts; throws Error where it is not there, or not for this
// user.
std::string host_runner_path();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_PROGRAMS_H_

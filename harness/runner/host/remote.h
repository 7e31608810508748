// SPDX-License-Identifier: Apache-2.0
// The runner on a real host, for a command elsewhere: it serves one command over standard input and
// output (backend/host/wire.h), and ends with it.
//
// The command sends        the runner answers
//                          hello            its first frame
//   clock                  clock            CLOCK_MONOTONIC in nanoseconds
//   beat                                    nothing: the command is there
//   trial (Order)          ready            modules, settings, listeners and tap are there
//   echo (node)            echoes           Calibration of the path to that node, as flows.json
//   go (time)              records          after the plan's end; `time` is its time 0, of clock
//   end                    restored         what could not be put back, a line each
// An error frame takes the place of ready, echoes or records; then the command sends end.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_REMOTE_H_
#define DELAYCC_HARNESS_RUNNER_HOST_REMOTE_H_

#include <string>

namespace delaycc {

// A process of its own carries out each trial. However that ends, and when the command ends, or is
// not heard for kSilenceMs, or a signal comes, this one puts back what the trial changed. Removes
// `folder`, if one is given, with the runner in it. Returns the exit status.
int serve_remote(const std::string& folder);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_REMOTE_H_

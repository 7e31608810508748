// SPDX-License-Identifier: Apache-2.0
// The tracepoint delaycc:ack, and what BPF programs print, in a trace instance of their own.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_ACK_TRACE_H_
#define DELAYCC_HARNESS_RUNNER_HOST_ACK_TRACE_H_

#include <string>

namespace delaycc {

class AckTrace {
 public:
  // Without `wanted` there is none, and its text is empty. Instances of processes that were killed
  // are removed. Throws Error.
  explicit AckTrace(bool wanted);
  AckTrace(const AckTrace&) = delete;
  AckTrace& operator=(const AckTrace&) = delete;
  ~AckTrace();

  void clear() const;
  std::string text() const;

 private:
  std::string folder_;
};

// Removes the instances of processes that were killed, if there are any.
void remove_lost_traces();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_ACK_TRACE_H_

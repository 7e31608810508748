// SPDX-License-Identifier: Apache-2.0
// A runner on another host, over ssh.
#ifndef DELAYCC_HARNESS_BACKEND_HOSTS_SESSION_H_
#define DELAYCC_HARNESS_BACKEND_HOSTS_SESSION_H_

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "backend/host/wire.h"
#include "backend/hosts/inventory.h"
#include "base/posix.h"

namespace delaycc {

// Two clocks: what has to be added to this machine's CLOCK_MONOTONIC to have the other's.
struct ClockOffset {
  int64_t offset_ns = 0;
  int64_t error_ns = 0;  // at most so far off
};

// Errors name the host. However the session ends, the runner there puts back what it changed.
class Session {
 public:
  // Starts ssh and, unless the host has one of its own, sends it the runner at `runner_path`, which
  // goes to a temporary folder and removes itself as it starts. What ssh and the host say goes to
  // the file `messages`. Throws Error when no runner of the same build answers, or it is not root;
  // Interrupted once `stop`.
  Session(const InventoryHost& host, const std::string& ssh_config, const std::string& runner_path,
          std::string messages, const std::atomic<bool>& stop);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Ends ssh, after it has had a second to end by itself.
  ~Session();

  const InventoryHost& host() const { return host_; }
  const Hello& hello() const { return hello_; }
  void send(std::string_view name, std::string_view payload = {});
  // The payload of the next frame, which is to be called `name`. Throws Error for an error frame
  // with its text, for another frame, after `timeout_ms`, and when the connection is lost;
  // Interrupted once `stop`.
  std::string expect(const std::string& name, int timeout_ms, const std::atomic<bool>& stop);
  // Ends the trial, if there is one. Returns what the host could not put back, empty: nothing.
  // Throws Error.
  std::string end_trial();
  ClockOffset compare_clocks(const std::atomic<bool>& stop);
  // Throws Error when PTP does not keep the host's clock.
  PtpState ask_ptp(const std::atomic<bool>& stop);
  // Nothing more comes from it.
  bool lost() const { return lost_; }

 private:
  void start(const std::string& ssh_config, const std::string& command);
  void end();
  // Of ssh; for a second at most.
  void wait_for_end() const;
  Frame next_frame(int timeout_ms, const std::atomic<bool>& stop);
  void beat();
  Error error(const std::string& what) const {
    return Error(host_.name + " (" + host_.ssh + "): " + what);
  }
  // The last that ssh or the host said.
  std::string last_words() const;

  const InventoryHost host_;
  const std::string messages_;
  pid_t ssh_ = -1;
  Fd ssh_fd_;
  Fd socket_;  // standard input and output of ssh
  FrameReader reader_;
  Hello hello_;
  std::atomic<bool> lost_{false};
  std::mutex sending_;
  std::mutex ending_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread beats_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_BACKEND_HOSTS_SESSION_H_

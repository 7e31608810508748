// SPDX-License-Identifier: Apache-2.0
// The traffic of a plan's hosts, from one epoll loop: of all, or of those that are on this machine.
#ifndef DELAYCC_HARNESS_RUNNER_TRAFFIC_H_
#define DELAYCC_HARNESS_RUNNER_TRAFFIC_H_

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/posix.h"
#include "plan/plan.h"
#include "trace/records.h"

namespace delaycc {

// Connects every flow early but those that connect at their start, warms the connections up, and at
// the plan's time 0 starts the experiment. No system call is issued that can be known to fail: in
// the lab such a call costs time. One that would block all the same is tried again when the socket
// is ready.
class Traffic {
 public:
  // `netns` has the network namespace of each node; empty: the node is another machine, and what it
  // does of a flow is done there. Listens at once. `at_zero` is called once, shortly before the
  // plan's time 0. The plan's times are first read by run().
  Traffic(const Plan& plan, const std::vector<Fd>& netns, std::function<void()> at_zero);

  // Calls `what` every `period_ns` from the plan's first connection on. Before run().
  void every(int64_t period_ns, std::function<void()> what);

  // Of flows that are sent here: `connected` is called with a flow's id and socket when its
  // connection is up and has sent nothing, `errors` when the socket's error queue may have
  // something, which it is to take. At most `write_bytes` are then written at once. Before run().
  void watch_sockets(std::function<void(size_t flow, int socket)> connected,
                     std::function<void(size_t flow, int socket)> errors, int64_t write_bytes);

  // Returns at the plan's end; throws Error on any failure of a flow. Connections stay open.
  void run();

  // One per flow of the plan, in its order. What another machine does of a flow is not in it.
  std::vector<FlowRecord> records() const;

 private:
  enum class Action { kConnect, kWarm, kPrepare, kStart, kPace, kStop, kPeriod };
  struct Timed {
    int64_t at_ns;
    uint64_t order;  // of insertion: what is due at the same time keeps its order
    Action action;
    size_t flow;
    bool operator>(const Timed& other) const {
      return std::pair(at_ns, order) > std::pair(other.at_ns, other.order);
    }
  };
  enum class Kind : uint32_t { kTimer, kListener, kClient, kServer };

  struct Flow {
    const FlowPlan* plan = nullptr;
    Fd client;
    Fd server;
    bool started = false;
    bool stopped = false;
    int64_t warm_to_send = 0;
    int64_t warm_to_receive = 0;
    int64_t to_send = 0;    // of size_bytes
    int64_t low_water = 0;  // SO_RCVLOWAT as set
    size_t next_step = 0;   // of pacing_steps
    int64_t warm_retransmits = 0;
    FlowRecord record;
  };

  std::string name(const Flow& flow) const;
  bool sends_here(const Flow& flow) const {
    return static_cast<bool>(netns_.at(flow.plan->source));
  }
  bool receives_here(const Flow& flow) const {
    return static_cast<bool>(netns_.at(flow.plan->destination));
  }
  // All of size_bytes was delivered, as far as this machine knows.
  bool is_complete(const Flow& flow) const;
  // Another machine aborts the flow: its reset is no failure.
  bool stopped_elsewhere(const Flow& flow) const;
  void listen_everywhere();
  void schedule_flows();
  void schedule(int64_t at_ns, Action action, size_t flow);
  void arm_timer();
  void run_due(int64_t now_ns);
  void act(Action action, size_t index);
  void connect(size_t index);
  void warm(size_t index);
  ssize_t send_payload(const Flow& flow, int64_t bytes);
  void prepare();
  // Notes the flow's algorithm, which has to be the plan's.
  void check_congestion_control(Flow& flow);
  void start(size_t index);
  void pace(Flow& flow, int64_t wire_bps);
  void stop(Flow& flow);
  void finish();
  void accept(int listener);
  void send_some(size_t index);
  void receive_some(size_t index);
  // Wakes up when the next bytes that count are all there.
  void expect_more(Flow& flow);
  void set_low_water(Flow& flow, int64_t bytes);
  int64_t total_retransmits(const Flow& flow) const;
  void watch(int op, int fd, uint32_t events, Kind kind, size_t index);

  const Plan& plan_;
  const std::vector<Fd>& netns_;
  std::function<void()> at_zero_;
  int64_t period_ns_ = 0;
  std::function<void()> each_period_;
  std::function<void(size_t, int)> connected_;
  std::function<void(size_t, int)> errors_;
  int64_t write_bytes_ = 0;
  Fd epoll_;
  Fd timer_;
  int64_t armed_ns_ = 0;  // when timer_ expires; 0: it has expired
  std::vector<Fd> listeners_;
  std::vector<Flow> flows_;
  std::priority_queue<Timed, std::vector<Timed>, std::greater<Timed>> timed_;
  uint64_t next_order_ = 0;
  int64_t send_chunk_bytes_ = 0;
  int64_t receive_chunk_bytes_ = 0;
  std::string payload_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_TRAFFIC_H_

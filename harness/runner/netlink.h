// SPDX-License-Identifier: Apache-2.0
// Configuration of the network by rtnetlink, many requests per system call.
#ifndef DELAYCC_HARNESS_RUNNER_NETLINK_H_
#define DELAYCC_HARNESS_RUNNER_NETLINK_H_

#include <libmnl/libmnl.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/lab/kernel/dccport.h"

namespace delaycc {

// Collects rtnetlink requests for the namespace it was made in. Requests are carried out in order;
// the first that the kernel refuses is thrown as Error with the request's description.
class NetlinkBatch {
 public:
  NetlinkBatch();
  ~NetlinkBatch() = default;

  // One end of a veth pair.
  struct VethEnd {
    int netns_fd;
    int ifindex;
    std::string ifname;
    std::string mac;
  };
  // gso = false limits segments to one packet. Both ends are still down.
  void add_veth(const VethEnd& a, const VethEnd& b, int mtu_bytes, bool gso);
  void set_up(int ifindex);
  void add_address(int ifindex, const std::string& address);
  // Permanent neighbour entry, so that no ARP packet is ever sent.
  void add_neighbour(int ifindex, const std::string& address, const std::string& mac);
  struct RouteMetrics {
    bool quickack = false;
    int initcwnd = 0;
    int rto_min_ms = 0;
  };
  // `destination` is "a.b.c.d/32" or "default"; more than one ifindex makes a multipath route.
  void add_route(const std::string& destination, const std::string& gateway,
                 const std::vector<int>& ifindexes, const RouteMetrics& metrics);
  // A prio qdisc for the port of this interface: DSCP 0 has the last band, each one more the band
  // before, and `bands` - 1 and above the first.
  void add_prio(int ifindex, uint32_t bands);
  struct Port {
    tc_dccport_parms parms = {};
    std::vector<tc_dccport_quantile> noise;
    std::vector<tc_dccport_delay> delays;
    uint32_t interrupt_gap_ns = 0;
  };
  void add_port(int ifindex, const Port& port);
  // The kernel's own. `parent` is TC_H_ROOT or a class ("2:1" is 0x20001), `handle` "3:" 0x30000.
  // Each replaces what is there. Netem: `delay_ns` for each packet, and random loss.
  void add_netem(int ifindex, uint32_t parent, uint32_t handle, int64_t delay_ns,
                 uint32_t loss_ppm);
  // The same of a netem that is there: what it holds stays.
  void change_netem(int ifindex, uint32_t parent, uint32_t handle, int64_t delay_ns,
                    uint32_t loss_ppm);
  // `rate_bps` on the wire; the bucket has `burst_bytes`, what waits at most `limit_bytes`.
  void add_tbf(int ifindex, uint32_t parent, uint32_t handle, uint64_t rate_bps,
               uint32_t burst_bytes, uint32_t limit_bytes);
  // Marks every packet that comes when `mark_bytes` wait, and drops none for that.
  void add_red(int ifindex, uint32_t parent, uint32_t handle, uint32_t mark_bytes,
               uint32_t limit_bytes);
  // Serves flows in turn, paces none, and has no limit of its own: TCP's small queues are the
  // limit.
  void add_fq(int ifindex, uint32_t parent, uint32_t handle);
  // One of this kind, with the kernel's own numbers, at the root of an interface.
  void add_root_qdisc(const char* kind, int ifindex, uint32_t handle);
  // The kernel's default takes the place of the root qdisc.
  void remove_root_qdisc(int ifindex);

  // Sends what is left; must be called before destruction, or requests are lost.
  void flush();

 private:
  // `build` appends the request's header and attributes to the message.
  void add(std::string what, unsigned type, unsigned flags,
           const std::function<void(nlmsghdr*)>& build);
  // `options` appends the attributes of the kind, or the structure that stands for them.
  void set_qdisc(unsigned flags, const char* kind, int ifindex, uint32_t parent, uint32_t handle,
                 const std::function<void(nlmsghdr*)>& options);
  void set_netem(unsigned flags, int ifindex, uint32_t parent, uint32_t handle, int64_t delay_ns,
                 uint32_t loss_ppm);

  struct Close {
    void operator()(mnl_socket* s) const { mnl_socket_close(s); }
  };
  std::unique_ptr<mnl_socket, Close> socket_;
  std::unique_ptr<char[]> buffer_;  // not cleared: only what is used costs pages
  size_t used_ = 0;
  size_t last_ = 0;  // where the last request begins
  unsigned next_seq_ = 1;
  std::vector<std::string> pending_;  // descriptions of the requests in buffer_
};

// A qdisc as the kernel shows it; numbers that its kind does not have are 0.
struct QdiscState {
  int ifindex = 0;
  uint32_t parent = 0;
  uint32_t handle = 0;
  std::string kind;
  int64_t delay_ns = 0;      // netem
  uint32_t loss = 0;         // netem; of 2^32
  uint64_t rate_bps = 0;     // tbf
  uint32_t limit_bytes = 0;  // tbf, red
  uint32_t mark_bytes = 0;   // red
  uint32_t drops = 0;        // packets, also those that qdiscs in it have dropped
};

// All of the namespace that the caller is in. Throws Error.
std::vector<QdiscState> read_qdiscs();

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_NETLINK_H_

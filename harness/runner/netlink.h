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
  void add_port(int ifindex, const tc_dccport_parms& parms,
                const std::vector<tc_dccport_quantile>& noise);

  // Sends what is left; must be called before destruction, or requests are lost.
  void flush();

 private:
  // `build` appends the request's header and attributes to the message.
  void add(std::string what, unsigned type, unsigned flags,
           const std::function<void(nlmsghdr*)>& build);

  struct Close {
    void operator()(mnl_socket* s) const { mnl_socket_close(s); }
  };
  std::unique_ptr<mnl_socket, Close> socket_;
  std::unique_ptr<char[]> buffer_;  // not cleared: only what is used costs pages
  size_t used_ = 0;
  unsigned next_seq_ = 1;
  std::vector<std::string> pending_;  // descriptions of the requests in buffer_
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_NETLINK_H_

// SPDX-License-Identifier: Apache-2.0
#include "runner/netlink.h"

#include <arpa/inet.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/posix.h"

namespace delaycc {
namespace {

// The answers to one batch must fit the socket's receive buffer: 208 KB by default, of which a
// short answer takes nearly 1 KB.
constexpr size_t kBatchRequests = 64;
constexpr uint32_t kPortHandle = 0x10000;
// What a band of prio holds, in packets; the kernel allows no more to be set later.
constexpr uint32_t kQueuePackets = 32767;
constexpr size_t kLargestRequest = 4096;

// Of netem and fq, which have limits in packets: more than any path or socket holds.
constexpr uint32_t kWirePackets = 1U << 24;

// A probability as netem has it.
uint32_t scaled_loss(uint32_t ppm) {
  return static_cast<uint32_t>(uint64_t{ppm} * UINT32_MAX / 1'000'000);
}

uint32_t parse_ipv4(const std::string& text) {
  in_addr address;
  if (inet_pton(AF_INET, text.c_str(), &address) != 1)
    throw Error("not an IPv4 address: \"" + text + "\"");
  return address.s_addr;
}

void put_mac(nlmsghdr* nlh, uint16_t type, const std::string& mac) {
  unsigned b[6];
  if (sscanf(mac.c_str(), "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
    throw Error("not a MAC address: \"" + mac + "\"");
  uint8_t bytes[6];
  for (int i = 0; i < 6; i++) bytes[i] = static_cast<uint8_t>(b[i]);
  mnl_attr_put(nlh, type, sizeof(bytes), bytes);
}

void put_link(nlmsghdr* nlh, ifinfomsg* info, const NetlinkBatch::VethEnd& end, int mtu_bytes,
              bool gso) {
  info->ifi_family = AF_UNSPEC;
  info->ifi_index = end.ifindex;
  mnl_attr_put_strz(nlh, IFLA_IFNAME, end.ifname.c_str());
  mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, static_cast<uint32_t>(end.netns_fd));
  mnl_attr_put_u32(nlh, IFLA_MTU, static_cast<uint32_t>(mtu_bytes));
  put_mac(nlh, IFLA_ADDRESS, end.mac);
  mnl_attr_put_u32(nlh, IFLA_TXQLEN, kQueuePackets);
  if (!gso) mnl_attr_put_u32(nlh, IFLA_GSO_MAX_SEGS, 1);
}

}  // namespace

NetlinkBatch::NetlinkBatch() : buffer_(new char[kBatchRequests * kLargestRequest]) {
  socket_.reset(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
  if (!socket_) throw system_error("socket", "NETLINK_ROUTE");
  if (mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
    throw system_error("bind", "NETLINK_ROUTE");
}

void NetlinkBatch::add(std::string what, unsigned type, unsigned flags,
                       const std::function<void(nlmsghdr*)>& build) {
  nlmsghdr* nlh = mnl_nlmsg_put_header(buffer_.get() + used_);
  nlh->nlmsg_type = static_cast<uint16_t>(type);
  nlh->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  nlh->nlmsg_seq = next_seq_ + static_cast<unsigned>(pending_.size());
  build(nlh);
  last_ = used_;
  used_ += MNL_ALIGN(nlh->nlmsg_len);
  pending_.push_back(std::move(what));
  if (pending_.size() == kBatchRequests) flush();
}

void NetlinkBatch::flush() {
  if (pending_.empty()) return;
  // The kernel answers each request that fails, and the last one in any case: then the batch is
  // done.  One answer costs one system call.
  reinterpret_cast<nlmsghdr*>(buffer_.get() + last_)->nlmsg_flags |= NLM_F_ACK;
  const unsigned last_seq = next_seq_ + static_cast<unsigned>(pending_.size()) - 1;
  if (mnl_socket_sendto(socket_.get(), buffer_.get(), used_) < 0)
    throw system_error("sendto", "NETLINK_ROUTE");
  for (bool done = false; !done;) {
    char answer[16384];
    ssize_t n = mnl_socket_recvfrom(socket_.get(), answer, sizeof(answer));
    if (n < 0) throw system_error("recvfrom", "NETLINK_ROUTE");
    int left = static_cast<int>(n);
    for (auto* nlh = reinterpret_cast<nlmsghdr*>(answer); mnl_nlmsg_ok(nlh, left);
         nlh = mnl_nlmsg_next(nlh, &left)) {
      if (nlh->nlmsg_type != NLMSG_ERROR) continue;
      auto* error = static_cast<nlmsgerr*>(mnl_nlmsg_get_payload(nlh));
      if (error->error != 0)
        throw system_error("rtnetlink", pending_.at(nlh->nlmsg_seq - next_seq_), -error->error);
      if (nlh->nlmsg_seq == last_seq) done = true;
    }
  }
  next_seq_ += static_cast<unsigned>(pending_.size());
  pending_.clear();
  used_ = 0;
}

void NetlinkBatch::add_veth(const VethEnd& a, const VethEnd& b, int mtu_bytes, bool gso) {
  add("add veth " + a.ifname + " - " + b.ifname, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
      [&](nlmsghdr* nlh) {
        auto* info = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(ifinfomsg)));
        put_link(nlh, info, a, mtu_bytes, gso);
        nlattr* link_info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
        mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
        nlattr* data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
        nlattr* peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
        auto* peer_info =
            static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(ifinfomsg)));
        put_link(nlh, peer_info, b, mtu_bytes, gso);
        mnl_attr_nest_end(nlh, peer);
        mnl_attr_nest_end(nlh, data);
        mnl_attr_nest_end(nlh, link_info);
      });
}

void NetlinkBatch::set_up(int ifindex) {
  add("set link up", RTM_NEWLINK, 0, [&](nlmsghdr* nlh) {
    auto* info = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(ifinfomsg)));
    info->ifi_family = AF_UNSPEC;
    info->ifi_index = ifindex;
    info->ifi_flags = IFF_UP;
    info->ifi_change = IFF_UP;
  });
}

void NetlinkBatch::add_address(int ifindex, const std::string& address) {
  add("add address " + address, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, [&](nlmsghdr* nlh) {
    auto* info = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(ifaddrmsg)));
    info->ifa_family = AF_INET;
    info->ifa_prefixlen = 32;
    info->ifa_scope = RT_SCOPE_UNIVERSE;
    info->ifa_index = static_cast<uint32_t>(ifindex);
    mnl_attr_put_u32(nlh, IFA_LOCAL, parse_ipv4(address));
    mnl_attr_put_u32(nlh, IFA_ADDRESS, parse_ipv4(address));
  });
}

void NetlinkBatch::add_neighbour(int ifindex, const std::string& address, const std::string& mac) {
  add("add neighbour " + address, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, [&](nlmsghdr* nlh) {
    auto* info = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(ndmsg)));
    info->ndm_family = AF_INET;
    info->ndm_ifindex = ifindex;
    info->ndm_state = NUD_PERMANENT;
    mnl_attr_put_u32(nlh, NDA_DST, parse_ipv4(address));
    put_mac(nlh, NDA_LLADDR, mac);
  });
}

void NetlinkBatch::add_route(const std::string& destination, const std::string& gateway,
                             const std::vector<int>& ifindexes, const RouteMetrics& metrics) {
  add("add route " + destination, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, [&](nlmsghdr* nlh) {
    auto* info = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(rtmsg)));
    info->rtm_family = AF_INET;
    info->rtm_table = RT_TABLE_MAIN;
    info->rtm_protocol = RTPROT_STATIC;
    info->rtm_scope = RT_SCOPE_UNIVERSE;
    info->rtm_type = RTN_UNICAST;
    info->rtm_flags = RTNH_F_ONLINK;
    if (destination != "default") {
      const size_t slash = destination.find('/');
      info->rtm_dst_len = static_cast<uint8_t>(std::stoi(destination.substr(slash + 1)));
      mnl_attr_put_u32(nlh, RTA_DST, parse_ipv4(destination.substr(0, slash)));
    }
    if (ifindexes.size() == 1) {
      mnl_attr_put_u32(nlh, RTA_GATEWAY, parse_ipv4(gateway));
      mnl_attr_put_u32(nlh, RTA_OIF, static_cast<uint32_t>(ifindexes[0]));
    } else {
      nlattr* multipath = mnl_attr_nest_start(nlh, RTA_MULTIPATH);
      for (int ifindex : ifindexes) {
        auto* hop = static_cast<rtnexthop*>(mnl_nlmsg_get_payload_tail(nlh));
        memset(hop, 0, sizeof(*hop));
        hop->rtnh_flags = RTNH_F_ONLINK;
        hop->rtnh_ifindex = ifindex;
        nlh->nlmsg_len += RTNH_LENGTH(0);
        mnl_attr_put_u32(nlh, RTA_GATEWAY, parse_ipv4(gateway));
        hop->rtnh_len = static_cast<uint16_t>(static_cast<char*>(mnl_nlmsg_get_payload_tail(nlh)) -
                                              reinterpret_cast<char*>(hop));
      }
      mnl_attr_nest_end(nlh, multipath);
    }
    if (metrics.quickack || metrics.initcwnd > 0 || metrics.rto_min_ms > 0) {
      nlattr* nest = mnl_attr_nest_start(nlh, RTA_METRICS);
      if (metrics.quickack) mnl_attr_put_u32(nlh, RTAX_QUICKACK, 1);
      if (metrics.initcwnd > 0)
        mnl_attr_put_u32(nlh, RTAX_INITCWND, static_cast<uint32_t>(metrics.initcwnd));
      if (metrics.rto_min_ms > 0) {
        mnl_attr_put_u32(nlh, RTAX_RTO_MIN, static_cast<uint32_t>(metrics.rto_min_ms));
        mnl_attr_put_u32(nlh, RTAX_LOCK, 1U << RTAX_RTO_MIN);  // TCP takes no other
      }
      mnl_attr_nest_end(nlh, nest);
    }
  });
}

void NetlinkBatch::set_qdisc(unsigned flags, const char* kind, int ifindex, uint32_t parent,
                             uint32_t handle, const std::function<void(nlmsghdr*)>& options) {
  add(std::string("set qdisc ") + kind, RTM_NEWQDISC, flags, [&](nlmsghdr* nlh) {
    auto* info = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(tcmsg)));
    info->tcm_family = AF_UNSPEC;
    info->tcm_ifindex = ifindex;
    info->tcm_parent = parent;
    info->tcm_handle = handle;
    mnl_attr_put_strz(nlh, TCA_KIND, kind);
    options(nlh);
  });
}

void NetlinkBatch::add_netem(int ifindex, uint32_t parent, uint32_t handle, int64_t delay_ns,
                             uint32_t loss_ppm) {
  set_netem(NLM_F_CREATE | NLM_F_REPLACE, ifindex, parent, handle, delay_ns, loss_ppm);
}

void NetlinkBatch::change_netem(int ifindex, uint32_t parent, uint32_t handle, int64_t delay_ns,
                                uint32_t loss_ppm) {
  set_netem(0, ifindex, parent, handle, delay_ns, loss_ppm);
}

void NetlinkBatch::set_netem(unsigned flags, int ifindex, uint32_t parent, uint32_t handle,
                             int64_t delay_ns, uint32_t loss_ppm) {
  set_qdisc(flags, "netem", ifindex, parent, handle, [&](nlmsghdr* nlh) {
    // The structure, and the attributes behind it.
    nlattr* nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    tc_netem_qopt qopt = {};
    qopt.limit = kWirePackets;
    qopt.loss = scaled_loss(loss_ppm);
    memcpy(mnl_nlmsg_get_payload_tail(nlh), &qopt, sizeof(qopt));
    nlh->nlmsg_len += MNL_ALIGN(sizeof(qopt));
    mnl_attr_put(nlh, TCA_NETEM_LATENCY64, sizeof(delay_ns), &delay_ns);
    mnl_attr_nest_end(nlh, nest);
  });
}

void NetlinkBatch::add_tbf(int ifindex, uint32_t parent, uint32_t handle, uint64_t rate_bps,
                           uint32_t burst_bytes, uint32_t limit_bytes) {
  set_qdisc(NLM_F_CREATE | NLM_F_REPLACE, "tbf", ifindex, parent, handle, [&](nlmsghdr* nlh) {
    nlattr* nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    const uint64_t bytes_per_s = rate_bps / 8;
    tc_tbf_qopt qopt = {};
    qopt.limit = limit_bytes;
    qopt.rate.linklayer = TC_LINKLAYER_ETHERNET;
    qopt.rate.rate = static_cast<uint32_t>(std::min<uint64_t>(bytes_per_s, UINT32_MAX));
    mnl_attr_put(nlh, TCA_TBF_PARMS, sizeof(qopt), &qopt);
    if (bytes_per_s > UINT32_MAX) mnl_attr_put_u64(nlh, TCA_TBF_RATE64, bytes_per_s);
    mnl_attr_put_u32(nlh, TCA_TBF_BURST, burst_bytes);
    mnl_attr_nest_end(nlh, nest);
  });
}

void NetlinkBatch::add_red(int ifindex, uint32_t parent, uint32_t handle, uint32_t mark_bytes,
                           uint32_t limit_bytes) {
  set_qdisc(NLM_F_CREATE | NLM_F_REPLACE, "red", ifindex, parent, handle, [&](nlmsghdr* nlh) {
    nlattr* nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    // With a weight of 1 the average is the backlog, and above qth_max every packet is marked.
    tc_red_qopt qopt = {};
    qopt.limit = limit_bytes;
    qopt.qth_min = mark_bytes;
    qopt.qth_max = mark_bytes + 1;
    mnl_attr_put(nlh, TCA_RED_PARMS, sizeof(qopt), &qopt);
    // Idle time takes an average of before to 0 at once.
    uint8_t decay[256];
    memset(decay, 31, sizeof(decay));
    mnl_attr_put(nlh, TCA_RED_STAB, sizeof(decay), decay);
    mnl_attr_put_u32(nlh, TCA_RED_MAX_P, UINT32_MAX);
    // What cannot be marked passes.
    const nla_bitfield32 flags = {TC_RED_ECN | TC_RED_NODROP, TC_RED_ECN | TC_RED_NODROP};
    mnl_attr_put(nlh, TCA_RED_FLAGS, sizeof(flags), &flags);
    mnl_attr_nest_end(nlh, nest);
  });
}

void NetlinkBatch::add_fq(int ifindex, uint32_t parent, uint32_t handle) {
  set_qdisc(NLM_F_CREATE | NLM_F_REPLACE, "fq", ifindex, parent, handle, [&](nlmsghdr* nlh) {
    nlattr* nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    mnl_attr_put_u32(nlh, TCA_FQ_PLIMIT, kWirePackets);
    mnl_attr_put_u32(nlh, TCA_FQ_FLOW_PLIMIT, kWirePackets);
    // TCP paces where the algorithm asks for it; fq would pace every flow, cubic's too.
    mnl_attr_put_u32(nlh, TCA_FQ_RATE_ENABLE, 0);
    mnl_attr_nest_end(nlh, nest);
  });
}

void NetlinkBatch::add_root_qdisc(const char* kind, int ifindex, uint32_t handle) {
  set_qdisc(NLM_F_CREATE | NLM_F_REPLACE, kind, ifindex, TC_H_ROOT, handle, [](nlmsghdr*) {});
}

void NetlinkBatch::remove_root_qdisc(int ifindex) {
  add("remove root qdisc", RTM_DELQDISC, 0, [&](nlmsghdr* nlh) {
    auto* info = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(tcmsg)));
    info->tcm_family = AF_UNSPEC;
    info->tcm_ifindex = ifindex;
    info->tcm_parent = TC_H_ROOT;
  });
}

void NetlinkBatch::add_port(int ifindex, const Port& port) {
  add("add qdisc " DCCPORT_KIND " with port_id " + std::to_string(port.parms.port_id), RTM_NEWQDISC,
      NLM_F_CREATE | NLM_F_REPLACE, [&](nlmsghdr* nlh) {
        auto* info = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(tcmsg)));
        info->tcm_family = AF_UNSPEC;
        info->tcm_ifindex = ifindex;
        info->tcm_parent = TC_H_ROOT;
        info->tcm_handle = kPortHandle;
        mnl_attr_put_strz(nlh, TCA_KIND, DCCPORT_KIND);
        nlattr* options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
        mnl_attr_put(nlh, TCA_DCCPORT_PARMS, sizeof(port.parms), &port.parms);
        if (!port.noise.empty())
          mnl_attr_put(nlh, TCA_DCCPORT_NOISE, port.noise.size() * sizeof(port.noise[0]),
                       port.noise.data());
        if (!port.delays.empty())
          mnl_attr_put(nlh, TCA_DCCPORT_DELAYS, port.delays.size() * sizeof(port.delays[0]),
                       port.delays.data());
        if (port.interrupt_gap_ns > 0)
          mnl_attr_put_u32(nlh, TCA_DCCPORT_INTERRUPT_GAP, port.interrupt_gap_ns);
        mnl_attr_nest_end(nlh, options);
      });
}

void NetlinkBatch::add_prio(int ifindex, uint32_t bands) {
  add("add qdisc prio", RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, [&](nlmsghdr* nlh) {
    auto* info = static_cast<tcmsg*>(mnl_nlmsg_put_extra_header(nlh, sizeof(tcmsg)));
    info->tcm_family = AF_UNSPEC;
    info->tcm_ifindex = ifindex;
    info->tcm_parent = kPortHandle | 1;
    info->tcm_handle = 0x20000;
    mnl_attr_put_strz(nlh, TCA_KIND, "prio");
    tc_prio_qopt options = {};
    options.bands = static_cast<int>(bands);
    for (uint32_t dscp = 0; dscp <= TC_PRIO_MAX; dscp++)
      options.priomap[dscp] = static_cast<uint8_t>(bands - 1 - std::min(dscp, bands - 1));
    mnl_attr_put(nlh, TCA_OPTIONS, sizeof(options), &options);
  });
}

namespace {

template <size_t N>
using Attributes = std::array<const nlattr*, N>;

// The attributes of a list, by type; nullptr: it is not there.
template <size_t N>
Attributes<N> by_type(const void* list, size_t bytes) {
  Attributes<N> found = {};
  const auto* attr = static_cast<const nlattr*>(list);
  const char* end = static_cast<const char*>(list) + bytes;
  for (; mnl_attr_ok(attr, static_cast<int>(end - reinterpret_cast<const char*>(attr)));
       attr = mnl_attr_next(attr))
    if (mnl_attr_get_type(attr) < N) found[mnl_attr_get_type(attr)] = attr;
  return found;
}

// The first bytes of an attribute as a structure; zeros where it is shorter.
template <typename T>
T structure(const nlattr* attr) {
  T value = {};
  if (attr)
    memcpy(&value, mnl_attr_get_payload(attr),
           std::min<size_t>(sizeof(value), mnl_attr_get_payload_len(attr)));
  return value;
}

void read_options(const nlattr* options, QdiscState* state) {
  const char* list = static_cast<const char*>(mnl_attr_get_payload(options));
  const size_t bytes = mnl_attr_get_payload_len(options);
  if (state->kind == "netem" && bytes >= sizeof(tc_netem_qopt)) {
    state->loss = structure<tc_netem_qopt>(options).loss;
    const size_t head = MNL_ALIGN(sizeof(tc_netem_qopt));
    const auto found = by_type<TCA_NETEM_MAX + 1>(list + head, bytes - head);
    state->delay_ns = structure<int64_t>(found[TCA_NETEM_LATENCY64]);
  } else if (state->kind == "tbf") {
    const auto found = by_type<TCA_TBF_MAX + 1>(list, bytes);
    const auto qopt = structure<tc_tbf_qopt>(found[TCA_TBF_PARMS]);
    state->limit_bytes = qopt.limit;
    state->rate_bps =
        8 * (found[TCA_TBF_RATE64] ? structure<uint64_t>(found[TCA_TBF_RATE64]) : qopt.rate.rate);
  } else if (state->kind == "red") {
    const auto found = by_type<TCA_RED_MAX + 1>(list, bytes);
    const auto qopt = structure<tc_red_qopt>(found[TCA_RED_PARMS]);
    state->limit_bytes = qopt.limit;
    state->mark_bytes = qopt.qth_min;
  }
}

uint32_t drops_of(const nlattr* statistics) {
  const auto found =
      by_type<TCA_STATS_MAX + 1>(static_cast<const char*>(mnl_attr_get_payload(statistics)),
                                 mnl_attr_get_payload_len(statistics));
  return structure<gnet_stats_queue>(found[TCA_STATS_QUEUE]).drops;
}

}  // namespace

std::vector<QdiscState> read_qdiscs() {
  std::unique_ptr<mnl_socket, int (*)(mnl_socket*)> socket(
      mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC), &mnl_socket_close);
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0)
    throw system_error("socket", "NETLINK_ROUTE");
  std::vector<char> buffer(64 << 10);
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETQDISC;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  mnl_nlmsg_put_extra_header(request, sizeof(tcmsg));
  if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0)
    throw system_error("sendto", "NETLINK_ROUTE");
  std::vector<QdiscState> result;
  for (;;) {
    const ssize_t n = mnl_socket_recvfrom(socket.get(), buffer.data(), buffer.size());
    if (n < 0) throw system_error("recvfrom", "NETLINK_ROUTE");
    int left = static_cast<int>(n);
    for (auto* nlh = reinterpret_cast<nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(nlh, left);
         nlh = mnl_nlmsg_next(nlh, &left)) {
      if (nlh->nlmsg_type == NLMSG_DONE) return result;
      if (nlh->nlmsg_type == NLMSG_ERROR)
        throw system_error("rtnetlink", "list of qdiscs",
                           -static_cast<nlmsgerr*>(mnl_nlmsg_get_payload(nlh))->error);
      const auto* info = static_cast<const tcmsg*>(mnl_nlmsg_get_payload(nlh));
      const auto found = by_type<TCA_MAX + 1>(mnl_nlmsg_get_payload_offset(nlh, sizeof(tcmsg)),
                                              mnl_nlmsg_get_payload_len(nlh) - sizeof(tcmsg));
      QdiscState state;
      state.ifindex = info->tcm_ifindex;
      state.parent = info->tcm_parent;
      state.handle = info->tcm_handle;
      if (found[TCA_KIND]) state.kind = mnl_attr_get_str(found[TCA_KIND]);
      if (found[TCA_OPTIONS]) read_options(found[TCA_OPTIONS], &state);
      if (found[TCA_STATS2]) state.drops = drops_of(found[TCA_STATS2]);
      result.push_back(state);
    }
  }
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include <linux/types.h>

#include "bpf/modules.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/posix.h"

namespace delaycc {
namespace {

constexpr char kModules[] = "/proc/sys/net/ipv4/delaycc";
// The kernel's own gives the same attribute, by whose fields the modules show theirs.
constexpr std::string_view kMainline = "bbr";
// Bits of states: all but SYN_RECV, TIME_WAIT, CLOSE and LISTEN.
constexpr uint32_t kOpen = 0xfffu & ~(1u << 3 | 1u << 6 | 1u << 7 | 1u << 10);
constexpr uint32_t kGainOne = 256;  // of bbr_pacing_gain
constexpr uint64_t kNsPerUs = 1000;
constexpr int kBitsPerByte = 8;

std::optional<dcc_flow> read_flow(const nlmsghdr* message) {
  const auto* diag = static_cast<const inet_diag_msg*>(NLMSG_DATA(message));
  dcc_flow flow = {};
  flow.family = diag->idiag_family;
  flow.sport = ntohs(diag->id.idiag_sport);
  flow.dport = ntohs(diag->id.idiag_dport);
  memcpy(flow.saddr, diag->id.idiag_src, sizeof(flow.saddr));
  memcpy(flow.daddr, diag->id.idiag_dst, sizeof(flow.daddr));
  flow.cookie = diag->id.idiag_cookie[0] | uint64_t{diag->id.idiag_cookie[1]} << 32;
  bool is_ours = false;
  int left = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof(*diag)));
  for (const rtattr* at = reinterpret_cast<const rtattr*>(diag + 1); RTA_OK(at, left);
       at = RTA_NEXT(at, left)) {
    const size_t size = RTA_PAYLOAD(at);
    if (at->rta_type == INET_DIAG_CONG) {
      memcpy(flow.algorithm, RTA_DATA(at), std::min(size, sizeof(flow.algorithm) - 1));
    } else if (at->rta_type == INET_DIAG_BBRINFO && size >= sizeof(tcp_bbr_info)) {
      tcp_bbr_info info;
      memcpy(&info, RTA_DATA(at), sizeof(info));
      flow.pace_bps = (info.bbr_bw_lo | uint64_t{info.bbr_bw_hi} << 32) * kBitsPerByte;
      flow.base_rtt_ns = static_cast<uint32_t>(info.bbr_min_rtt * kNsPerUs);
      if (info.bbr_pacing_gain > 0)
        flow.line_rate_bps = flow.pace_bps / info.bbr_pacing_gain * kGainOne;
      is_ours = true;
    } else if (at->rta_type == INET_DIAG_INFO) {
      tcp_info info = {};
      memcpy(&info, RTA_DATA(at), std::min(size, sizeof(info)));
      flow.rtt_ns = static_cast<uint32_t>(info.tcpi_rtt * kNsPerUs);
      flow.cwnd_q16 = uint64_t{info.tcpi_snd_cwnd} << 16;
      flow.bytes_acked = info.tcpi_bytes_acked;
      flow.packets_out = info.tcpi_unacked;
      flow.total_retrans = info.tcpi_total_retrans;
    }
  }
  if (!is_ours || kMainline == flow.algorithm) return std::nullopt;
  return flow;
}

void dump(int family, uint32_t netns, std::vector<dcc_flow>* flows) {
  const Fd diag(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!diag) throw system_error("socket", "NETLINK_SOCK_DIAG");
  struct {
    nlmsghdr head;
    inet_diag_req_v2 request;
  } ask = {};
  ask.head.nlmsg_len = sizeof(ask);
  ask.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  ask.request.sdiag_family = static_cast<uint8_t>(family);
  ask.request.sdiag_protocol = IPPROTO_TCP;
  ask.request.idiag_ext =
      1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_VEGASINFO - 1);
  ask.request.idiag_states = kOpen;
  if (send(diag.get(), &ask, sizeof(ask), 0) < 0) throw system_error("send", "NETLINK_SOCK_DIAG");
  alignas(nlmsghdr) char buffer[65536];
  for (;;) {
    const ssize_t n = recv(diag.get(), buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw system_error("recv", "NETLINK_SOCK_DIAG");
    int left = static_cast<int>(n);
    for (const nlmsghdr* at = reinterpret_cast<const nlmsghdr*>(buffer); NLMSG_OK(at, left);
         at = NLMSG_NEXT(at, left)) {
      if (at->nlmsg_type == NLMSG_DONE || at->nlmsg_type == NLMSG_ERROR) return;
      if (auto flow = read_flow(at)) {
        flow->netns = netns;
        flows->push_back(*flow);
      }
    }
  }
}

}  // namespace

std::vector<dcc_flow> module_flows() {
  std::vector<dcc_flow> flows;
  std::error_code ignored;
  if (!std::filesystem::exists(kModules, ignored)) return flows;
  struct stat netns;
  if (stat("/proc/self/ns/net", &netns) < 0) throw system_error("stat", "/proc/self/ns/net");
  for (const int family : {AF_INET, AF_INET6})
    dump(family, static_cast<uint32_t>(netns.st_ino), &flows);
  return flows;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include <linux/types.h>

#include "bpf/modules.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/posix.h"
#include "bpf/loader.h"

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
constexpr size_t kDumpBytes = 65536;  // more than the kernel puts into one answer

// Copies an attribute into a structure of the kernel's, as far as both go.
template <typename Structure>
Structure copy_of(const nlattr* at) {
  Structure structure = {};
  memcpy(&structure, mnl_attr_get_payload(at),
         std::min<size_t>(mnl_attr_get_payload_len(at), sizeof(structure)));
  return structure;
}

std::optional<dcc_flow> read_flow(const nlmsghdr* message) {
  const auto* diag = static_cast<const inet_diag_msg*>(mnl_nlmsg_get_payload(message));
  dcc_flow flow = {};
  flow.family = diag->idiag_family;
  flow.sport = ntohs(diag->id.idiag_sport);
  flow.dport = ntohs(diag->id.idiag_dport);
  memcpy(flow.saddr, diag->id.idiag_src, sizeof(flow.saddr));
  memcpy(flow.daddr, diag->id.idiag_dst, sizeof(flow.daddr));
  flow.cookie = diag->id.idiag_cookie[0] | uint64_t{diag->id.idiag_cookie[1]} << 32;
  bool is_ours = false;
  // mnl_attr_for_each() in C++.
  const auto* at = static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, sizeof(*diag)));
  for (; mnl_attr_ok(
           at, static_cast<int>(static_cast<const char*>(mnl_nlmsg_get_payload_tail(message)) -
                                reinterpret_cast<const char*>(at)));
       at = mnl_attr_next(at)) {
    switch (mnl_attr_get_type(at)) {
      case INET_DIAG_CONG:
        strncpy(flow.algorithm, mnl_attr_get_str(at), sizeof(flow.algorithm) - 1);
        break;
      case INET_DIAG_BBRINFO: {
        const auto info = copy_of<tcp_bbr_info>(at);
        flow.pace_bps = (info.bbr_bw_lo | uint64_t{info.bbr_bw_hi} << 32) * kBitsPerByte;
        flow.base_rtt_ns = static_cast<uint32_t>(info.bbr_min_rtt * kNsPerUs);
        if (info.bbr_pacing_gain > 0)
          flow.line_rate_bps = flow.pace_bps / info.bbr_pacing_gain * kGainOne;
        is_ours = true;
        break;
      }
      case INET_DIAG_INFO: {
        const auto info = copy_of<tcp_info>(at);
        flow.rtt_ns = static_cast<uint32_t>(info.tcpi_rtt * kNsPerUs);
        flow.cwnd_q16 = uint64_t{info.tcpi_snd_cwnd} << 16;
        flow.bytes_acked = info.tcpi_bytes_acked;
        flow.packets_out = info.tcpi_unacked;
        flow.total_retrans = info.tcpi_total_retrans;
        break;
      }
      default:
        break;
    }
  }
  if (!is_ours || kMainline == flow.algorithm) return std::nullopt;
  return flow;
}

int take_flow(const nlmsghdr* message, void* flows) {
  if (const auto flow = read_flow(message))
    static_cast<std::vector<dcc_flow>*>(flows)->push_back(*flow);
  return MNL_CB_OK;
}

void dump(int family, std::vector<dcc_flow>* flows) {
  const std::unique_ptr<mnl_socket, int (*)(mnl_socket*)> diag(
      mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC), mnl_socket_close);
  if (!diag) throw system_error("socket", "NETLINK_SOCK_DIAG");
  std::vector<char> buffer(kDumpBytes);
  nlmsghdr* ask = mnl_nlmsg_put_header(buffer.data());
  ask->nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  auto* request =
      static_cast<inet_diag_req_v2*>(mnl_nlmsg_put_extra_header(ask, sizeof(inet_diag_req_v2)));
  request->sdiag_family = static_cast<uint8_t>(family);
  request->sdiag_protocol = IPPROTO_TCP;
  request->idiag_ext =
      1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_VEGASINFO - 1);
  request->idiag_states = kOpen;
  if (mnl_socket_sendto(diag.get(), ask, ask->nlmsg_len) < 0)
    throw system_error("send", "NETLINK_SOCK_DIAG");
  for (int left = MNL_CB_OK; left > MNL_CB_STOP;) {
    const ssize_t n = mnl_socket_recvfrom(diag.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    left = n < 0 ? MNL_CB_ERROR
                 : mnl_cb_run(buffer.data(), static_cast<size_t>(n), 0, 0, take_flow, flows);
    if (left < 0) throw system_error("reading", "NETLINK_SOCK_DIAG");
  }
}

}  // namespace

std::vector<dcc_flow> module_flows() {
  std::vector<dcc_flow> flows;
  std::error_code ignored;
  if (!std::filesystem::exists(kModules, ignored)) return flows;
  for (const int family : {AF_INET, AF_INET6}) dump(family, &flows);
  const uint32_t netns = own_netns();
  for (dcc_flow& flow : flows) flow.netns = netns;
  return flows;
}

}  // namespace delaycc

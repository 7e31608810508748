// SPDX-License-Identifier: Apache-2.0
#include "runner/host/nic_rtts.h"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/posix.h"
#include "runner/host/flow_finder.h"

namespace delaycc {
namespace {

// One stamp for so many bytes, as iperf3 writes them.
constexpr int64_t kWriteBytes = 128 << 10;
// A NIC's RTT is part of the kernel's. Its clock is less than this share faster, and a stamp of
// either may be so much off.
constexpr double kMostDrift = 0.001;
constexpr int64_t kMostErrorNs = 1000;

int64_t unwrap(uint32_t number, int64_t near) {
  return near + static_cast<int32_t>(number - static_cast<uint32_t>(near));
}

// Of one flow. Bytes count from the connection's first.
class FlowMatcher {
 public:
  void sent(const SeenPacket& seen) {
    if (seen.flags & kPacketSyn) {
      first_ = seen.seq + 1;
      known_ = true;
    }
    if (!known_ || seen.payload_bytes == 0) return;
    const int64_t begin = unwrap(seen.seq - first_, sent_to_);
    const int64_t end = begin + seen.payload_bytes;
    if (begin < sent_to_)
      for (auto it = segments_.rbegin(); it != segments_.rend() && it->end > begin; ++it)
        it->repeated = true;
    if (end <= sent_to_) return;
    segments_.push_back({end, seen.time_ns, begin < sent_to_});
    sent_to_ = end;
  }
  // Taps see the same ACKs in the same order, so the first that covers a byte is the same one.
  void acknowledged(const SeenPacket& seen) { acknowledged(seen, &by_kernel_); }
  void acknowledged_by_nic(const SeenPacket& seen) { acknowledged(seen, &by_nic_); }

  // False: the packet with this byte was sent twice or before `from_ns`, or its ACK is missing.
  bool match(uint32_t byte32, int64_t left_ns, int64_t from_ns, NicRtt* rtt) {
    const int64_t byte = unwrap(byte32, asked_to_);
    // The second stamp is that of a retransmission.
    if (byte <= asked_to_) return false;
    asked_to_ = byte;
    const auto after = [byte](const auto& list) {
      return std::find_if(list.first, list.second, [byte](const auto& e) { return e.end > byte; });
    };
    const auto segment = after(std::pair(segments_.cbegin() + next_segment_, segments_.cend()));
    const auto kernel = after(std::pair(by_kernel_.cbegin() + next_kernel_, by_kernel_.cend()));
    const auto nic = after(std::pair(by_nic_.cbegin() + next_nic_, by_nic_.cend()));
    next_segment_ = segment - segments_.cbegin();
    next_kernel_ = kernel - by_kernel_.cbegin();
    next_nic_ = nic - by_nic_.cbegin();
    if (segment == segments_.end() || kernel == by_kernel_.end() || nic == by_nic_.end())
      return false;
    if (segment->repeated || segment->time_ns < from_ns || nic->end != kernel->end ||
        nic->time_ns == 0)
      return false;
    rtt->delivered_ns = kernel->time_ns;
    rtt->kernel_rtt_ns = kernel->time_ns - segment->time_ns;
    rtt->nic_rtt_ns = nic->time_ns - left_ns;
    return true;
  }

 private:
  struct Segment {
    int64_t end;
    int64_t time_ns;
    bool repeated;
  };
  struct Ack {
    int64_t end;  // of what it acknowledges
    int64_t time_ns;
  };

  void acknowledged(const SeenPacket& seen, std::vector<Ack>* list) const {
    if (!known_) return;
    const int64_t last = list->empty() ? 0 : list->back().end;
    const int64_t end = unwrap(seen.ack_seq - first_, last);
    if (end > last) list->push_back({end, seen.time_ns});
  }

  bool known_ = false;
  uint32_t first_ = 0;  // sequence number of the first byte
  int64_t sent_to_ = 0;
  int64_t asked_to_ = -1;
  std::vector<Segment> segments_;
  std::vector<Ack> by_kernel_;
  std::vector<Ack> by_nic_;
  // Stamps come in the order of their bytes: what is before is not looked at again.
  std::ptrdiff_t next_segment_ = 0;
  std::ptrdiff_t next_kernel_ = 0;
  std::ptrdiff_t next_nic_ = 0;
};

}  // namespace

NicRtts::NicRtts(const Order& order, size_t tap_packets, int ifindex, Traffic* traffic)
    : order_(order),
      tap_(order.device, tap_packets, ifindex, TapStamps::kHardware),
      left_(order.plan.flows.size()) {
  traffic->watch_sockets([this](size_t, int socket) { ask(socket); },
                         [this](size_t flow, int socket) { take_left(flow, socket); }, kWriteBytes);
}

void NicRtts::ask(int socket) const {
  // From here on the kernel counts bytes for OPT_ID: nothing was sent before.
  const int flags = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE |
                    SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
  if (setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) < 0)
    throw system_error("setsockopt", "SO_TIMESTAMPING");
}

void NicRtts::take_left(size_t flow, int socket) {
  for (;;) {
    alignas(cmsghdr) char control[512];
    msghdr message = {};
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
      if (errno == EAGAIN) return;
      if (errno == EINTR) continue;
      throw system_error("recvmsg", "error queue of flow " + std::to_string(flow));
    }
    scm_timestamping stamps = {};
    sock_extended_err error = {};
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING)
        memcpy(&stamps, CMSG_DATA(c), sizeof(stamps));
      else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR)
        memcpy(&error, CMSG_DATA(c), sizeof(error));
    }
    const int64_t nic_ns = stamps.ts[2].tv_sec * 1'000'000'000 + stamps.ts[2].tv_nsec;
    if (error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && error.ee_info == SCM_TSTAMP_SND &&
        nic_ns > 0)
      left_.at(flow).push_back({error.ee_data, nic_ns});
  }
}

std::vector<NicRtt> NicRtts::records(const std::vector<SeenPacket>& seen, int64_t from_ns) const {
  tap_.check_complete();
  const FlowFinder finder(order_.plan);
  std::vector<FlowMatcher> flows(order_.plan.flows.size());
  const auto each_of_ours = [&](const std::vector<SeenPacket>& packets, auto&& what) {
    for (const SeenPacket& packet : packets) {
      bool data = false;
      const FlowPlan* flow = finder.find(packet, &data);
      if (flow && flow->source == order_.node && packet.outgoing == data)
        what(flows[static_cast<size_t>(flow->id)], packet, data);
    }
  };
  each_of_ours(seen, [](FlowMatcher& flow, const SeenPacket& packet, bool data) {
    if (data)
      flow.sent(packet);
    else
      flow.acknowledged(packet);
  });
  each_of_ours(acks_, [](FlowMatcher& flow, const SeenPacket& packet, bool) {
    flow.acknowledged_by_nic(packet);
  });
  std::vector<NicRtt> result;
  for (size_t i = 0; i < flows.size(); i++)
    for (const Left& left : left_[i]) {
      NicRtt rtt;
      if (!flows[i].match(left.byte, left.nic_ns, from_ns, &rtt)) continue;
      const auto most_ns =
          static_cast<int64_t>(static_cast<double>(rtt.kernel_rtt_ns) * (1 + kMostDrift)) +
          kMostErrorNs;
      if (rtt.nic_rtt_ns <= 0 || rtt.nic_rtt_ns > most_ns)
        throw Error("device " + order_.device + ": an RTT of " + std::to_string(rtt.nic_rtt_ns) +
                    " ns by the NIC's stamps, where the kernel's is " +
                    std::to_string(rtt.kernel_rtt_ns) +
                    " ns: the NIC's clock was set during the trial, or its stamps are wrong "
                    "(allowed is nic_stamps = false)");
      rtt.sport = static_cast<uint16_t>(kClientPort + order_.plan.flows[i].id);
      result.push_back(rtt);
    }
  std::stable_sort(result.begin(), result.end(), [](const NicRtt& a, const NicRtt& b) {
    return a.delivered_ns < b.delivered_ns;
  });
  return result;
}

}  // namespace delaycc

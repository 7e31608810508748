// SPDX-License-Identifier: Apache-2.0
#include "runner/host/tap.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "trace/records.h"

namespace delaycc {
namespace {

// The ring's header, and Ethernet, IP and TCP headers with room for their options.
constexpr size_t kFrameBytes = 192;
constexpr size_t kBlockBytes = 64 << 10;
constexpr size_t kFramesPerBlock = kBlockBytes / kFrameBytes;

template <typename T>
void set_packet_option(const Fd& socket, int level, int option, const T& value, const char* what) {
  if (setsockopt(socket.get(), level, option, &value, sizeof(value)) < 0)
    throw system_error("setsockopt", what);
}

// False: no TCP over IPv4, or its headers are cut.
bool parse(const char* frame, size_t captured, SeenPacket* seen) {
  if (captured < ETH_HLEN + sizeof(iphdr)) return false;
  iphdr ip;
  memcpy(&ip, frame + ETH_HLEN, sizeof(ip));
  const size_t ip_bytes = size_t{ip.ihl} * 4;
  if (ip.version != 4 || ip.protocol != IPPROTO_TCP ||
      captured < ETH_HLEN + ip_bytes + sizeof(tcphdr))
    return false;
  tcphdr tcp;
  memcpy(&tcp, frame + ETH_HLEN + ip_bytes, sizeof(tcp));
  const size_t headers = ip_bytes + size_t{tcp.doff} * 4;
  const size_t total = ntohs(ip.tot_len);
  if (total < headers) return false;
  seen->congested = (ip.tos & IPTOS_ECN_MASK) == IPTOS_ECN_CE;
  seen->source = ip.saddr;
  seen->destination = ip.daddr;
  seen->seq = ntohl(tcp.seq);
  seen->ack_seq = ntohl(tcp.ack_seq);
  seen->payload_bytes = static_cast<uint16_t>(total - headers);
  seen->sport = ntohs(tcp.source);
  seen->dport = ntohs(tcp.dest);
  seen->ip_id = ntohs(ip.id);
  seen->flags = static_cast<uint16_t>((tcp.syn ? kPacketSyn : 0) | (tcp.fin ? kPacketFin : 0) |
                                      (tcp.rst ? kPacketRst : 0));
  return true;
}

}  // namespace

Tap::Tap(const std::string& name, size_t packets, int ifindex, TapStamps stamps)
    : name_(name), stamps_(stamps) {
  socket_ = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  if (!socket_) throw system_error("socket", "AF_PACKET (packets' stamps)");
  set_packet_option(socket_, SOL_PACKET, PACKET_VERSION, int{TPACKET_V2}, "PACKET_VERSION");
  if (ifindex > 0) {
    sockaddr_ll at = {};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = ifindex;
    if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) < 0)
      throw system_error("bind", "AF_PACKET (packets' stamps)");
  }
  if (stamps == TapStamps::kHardware) {
    set_packet_option(socket_, SOL_PACKET, PACKET_TIMESTAMP, int{SOF_TIMESTAMPING_RAW_HARDWARE},
                      "PACKET_TIMESTAMP");
    set_packet_option(socket_, SOL_PACKET, PACKET_IGNORE_OUTGOING, int{1},
                      "PACKET_IGNORE_OUTGOING");
  } else {
    // Stamps of packets that come in are made as they come, not when the tap sees them.
    set_packet_option(socket_, SOL_SOCKET, SO_TIMESTAMPNS, int{1}, "SO_TIMESTAMPNS");
  }
  const size_t blocks = (packets + kFramesPerBlock - 1) / kFramesPerBlock;
  frames_ = blocks * kFramesPerBlock;
  tpacket_req request = {};
  request.tp_block_size = kBlockBytes;
  request.tp_block_nr = static_cast<unsigned>(blocks);
  request.tp_frame_size = kFrameBytes;
  request.tp_frame_nr = static_cast<unsigned>(frames_);
  set_packet_option(socket_, SOL_PACKET, PACKET_RX_RING, request, "PACKET_RX_RING");
  void* ring =
      mmap(nullptr, blocks * kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket_.get(), 0);
  if (ring == MAP_FAILED) throw system_error("mmap", "PACKET_RX_RING");
  ring_ = static_cast<char*>(ring);
}

Tap::Tap(Tap&& other) noexcept
    : name_(std::move(other.name_)),
      stamps_(other.stamps_),
      socket_(std::move(other.socket_)),
      ring_(std::exchange(other.ring_, nullptr)),
      frames_(other.frames_),
      next_(other.next_) {}

Tap::~Tap() {
  if (ring_) munmap(ring_, frames_ / kFramesPerBlock * kBlockBytes);
}

void Tap::take(std::vector<SeenPacket>* packets) {
  for (;;) {
    char* frame =
        ring_ + next_ / kFramesPerBlock * kBlockBytes + next_ % kFramesPerBlock * kFrameBytes;
    auto* header = reinterpret_cast<tpacket2_hdr*>(frame);
    const uint32_t status = __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE);
    if (!(status & TP_STATUS_USER)) return;
    SeenPacket seen;
    // Where the hardware gave no stamp there is the kernel's.
    if (stamps_ == TapStamps::kKernel || (status & TP_STATUS_TS_RAW_HARDWARE))
      seen.time_ns = int64_t{header->tp_sec} * 1'000'000'000 + header->tp_nsec;
    sockaddr_ll address;
    memcpy(&address, frame + TPACKET_ALIGN(sizeof(tpacket2_hdr)), sizeof(address));
    seen.ifindex = address.sll_ifindex;
    seen.outgoing = address.sll_pkttype == PACKET_OUTGOING;
    seen.len_bytes = header->tp_len;
    if (ntohs(address.sll_protocol) == ETH_P_IP &&
        parse(frame + header->tp_mac, header->tp_snaplen, &seen))
      packets->push_back(seen);
    __atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    next_ = (next_ + 1) % frames_;
  }
}

void Tap::check_complete() const {
  tpacket_stats statistics = {};
  socklen_t length = sizeof(statistics);
  if (getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) < 0)
    throw system_error("getsockopt", "PACKET_STATISTICS");
  if (statistics.tp_drops > 0)
    throw Error("the tap of " + name_ + " lost " + std::to_string(statistics.tp_drops) +
                " packets: this machine is too slow for the scenario's rates, or was busy");
}

}  // namespace delaycc

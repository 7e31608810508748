// SPDX-License-Identifier: Apache-2.0
#include "runner/host/noise.h"

#include <arpa/inet.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runner/netlink.h"
#include "runner/network.h"

namespace delaycc {
namespace {

constexpr int kEchoTimeoutMs = 1000;
// With the headers of IP and ICMP as long as an ACK with time stamps.
constexpr size_t kEchoBytes = 24;
constexpr char kHere[] = "10.255.0.1";
constexpr char kThere[] = "10.255.0.2";

int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

uint16_t checksum(const void* data, size_t bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < bytes; i += 2) {
    uint16_t word;
    memcpy(&word, static_cast<const char*>(data) + i, sizeof(word));
    sum += word;
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

struct Echo {
  icmphdr header;
  char payload[kEchoBytes];
};

// The stamp of the answer with this number; -1: none came in time. Other answers are passed over.
int64_t wait_for_answer(int fd, uint16_t id, uint16_t number) {
  for (;;) {
    pollfd ready = {fd, POLLIN, 0};
    if (poll(&ready, 1, kEchoTimeoutMs) <= 0) return -1;
    char packet[256];
    iovec block = {packet, sizeof(packet)};
    alignas(cmsghdr) char control[256];
    msghdr message = {};
    message.msg_iov = &block;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t n = recvmsg(fd, &message, 0);
    if (n < static_cast<ssize_t>(sizeof(iphdr) + sizeof(icmphdr))) continue;
    iphdr ip;
    memcpy(&ip, packet, sizeof(ip));
    icmphdr icmp;
    memcpy(&icmp, packet + size_t{ip.ihl} * 4, sizeof(icmp));
    if (icmp.type != ICMP_ECHOREPLY || ntohs(icmp.un.echo.id) != id ||
        ntohs(icmp.un.echo.sequence) != number)
      continue;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
        timespec stamp;
        memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
        return stamp.tv_sec * 1'000'000'000 + stamp.tv_nsec;
      }
  }
}

}  // namespace

std::vector<int64_t> echo_rtts_ns(const Fd& netns, const std::string& address, size_t count,
                                  int64_t budget_ns) {
  enter_namespace(netns);
  const Fd fd(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
  if (!fd) throw system_error("socket", "ICMP");
  const int one = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) < 0)
    throw system_error("setsockopt", "SO_TIMESTAMPNS");
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  inet_pton(AF_INET, address.c_str(), &to.sin_addr);
  // Every socket of this kind sees the answers to all programs.
  const auto id = static_cast<uint16_t>(getpid());
  std::vector<int64_t> rtts_ns;
  const int64_t begin_ns = monotonic_ns();
  for (size_t i = 0; i < count && monotonic_ns() - begin_ns < budget_ns; i++) {
    Echo echo = {};
    echo.header.type = ICMP_ECHO;
    echo.header.un.echo.id = htons(id);
    echo.header.un.echo.sequence = htons(static_cast<uint16_t>(i));
    echo.header.checksum = checksum(&echo, sizeof(echo));
    const int64_t sent_ns = realtime_ns();
    if (sendto(fd.get(), &echo, sizeof(echo), 0, reinterpret_cast<const sockaddr*>(&to),
               sizeof(to)) < 0)
      throw system_error("sendto", address);
    const int64_t came_ns = wait_for_answer(fd.get(), id, static_cast<uint16_t>(i));
    // The first finds caches empty.
    if (came_ns >= 0 && i > 0) rtts_ns.push_back(came_ns - sent_ns);
  }
  if (rtts_ns.empty()) throw Error("no echo to " + address + " was answered within a second");
  std::sort(rtts_ns.begin(), rtts_ns.end());
  return rtts_ns;
}

BarePair::BarePair() : here_(new_namespace()), there_(new_namespace()) {
  constexpr int kHereIndex = 2, kThereIndex = 3, kEthernetMtu = 1500;
  const std::string here_mac = "02:00:00:01:00:01", there_mac = "02:00:00:01:00:02";
  {
    NetlinkBatch links;
    links.add_veth({here_.get(), kHereIndex, "bare0", here_mac},
                   {there_.get(), kThereIndex, "bare1", there_mac}, kEthernetMtu, false);
    links.flush();
  }
  const auto set_up = [](const Fd& netns, int ifindex, const char* own, const char* other,
                         const std::string& other_mac) {
    enter_namespace(netns);
    NetlinkBatch batch;
    batch.set_up(kLoopbackIndex);
    batch.set_up(ifindex);
    batch.add_address(ifindex, own);
    batch.add_neighbour(ifindex, other, other_mac);
    batch.add_neighbour(ifindex, kGateway, other_mac);
    batch.add_route("default", kGateway, {ifindex}, {});
    batch.flush();
  };
  set_up(here_, kHereIndex, kHere, kThere, there_mac);
  set_up(there_, kThereIndex, kThere, kHere, here_mac);
}

std::vector<int64_t> BarePair::echo_rtts_ns(size_t count, int64_t budget_ns) const {
  return delaycc::echo_rtts_ns(here_, kThere, count, budget_ns);
}

}  // namespace delaycc

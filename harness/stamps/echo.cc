// SPDX-License-Identifier: Apache-2.0
#include "stamps/echo.h"

#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

namespace delaycc {

// What the two versions of IP call the same.
struct IpVersion {
  int family, protocol;
  size_t header_bytes;
  uint8_t request, reply;  // types of messages, whose headers are equal
  int options;             // level of the following options and messages
  int mtu_discover, always_discover, mtu, errors, want_device, device;
  bool header_comes;  // with what a raw socket receives
};

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kAnswerNs = kSecondNs;  // an echo without an answer is lost
constexpr int64_t kStampNs = 20'000'000;  // a stamp that is later does not come
constexpr int kTries = 4;
constexpr int kBufferBytes = 8 << 20;
constexpr uint16_t kLoadId = 0x8000;
constexpr size_t kLoadBatch = 64;
// A load that is further behind lets it be: it would make a burst of it.
constexpr int64_t kLoadBehindNs = 1'000'000;
// ICMP_FILTER of linux/icmp.h, which cannot stand beside the C library's headers: what not to take,
// a bit for each type.
constexpr int kIcmpFilter = 1;
// TCP's header with its time stamps.
constexpr size_t kAckBytes = 32;

constexpr IpVersion kIpv4 = {AF_INET,
                             IPPROTO_ICMP,
                             sizeof(iphdr),
                             ICMP_ECHO,
                             ICMP_ECHOREPLY,
                             IPPROTO_IP,
                             IP_MTU_DISCOVER,
                             IP_PMTUDISC_DO,
                             IP_MTU,
                             IP_RECVERR,
                             IP_PKTINFO,
                             IP_PKTINFO,
                             true};
constexpr IpVersion kIpv6 = {AF_INET6,
                             IPPROTO_ICMPV6,
                             sizeof(ip6_hdr),
                             ICMP6_ECHO_REQUEST,
                             ICMP6_ECHO_REPLY,
                             IPPROTO_IPV6,
                             IPV6_MTU_DISCOVER,
                             IPV6_PMTUDISC_DO,
                             IPV6_MTU,
                             IPV6_RECVERR,
                             IPV6_RECVPKTINFO,
                             IPV6_PKTINFO,
                             false};

int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * kSecondNs + t.tv_nsec; }

timespec time_of(int64_t ns) { return {ns / kSecondNs, ns % kSecondNs}; }

int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

uint16_t checksum(const std::string& data) {
  uint32_t sum = 0;
  for (size_t i = 0; i < data.size(); i += 2) {
    uint16_t word = 0;
    memcpy(&word, data.data() + i, std::min<size_t>(2, data.size() - i));
    sum += word;
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// An ICMP message whose data begins with its number.
std::string echo_request(const IpVersion& ip, uint16_t id, uint64_t number, size_t ip_bytes) {
  std::string packet(ip_bytes - ip.header_bytes, '\0');
  icmphdr header = {};
  header.type = ip.request;
  header.un.echo.id = htons(id);
  header.un.echo.sequence = htons(static_cast<uint16_t>(number));
  memcpy(packet.data(), &header, sizeof(header));
  memcpy(packet.data() + sizeof(header), &number, sizeof(number));
  // The kernel makes ICMPv6's, which has the addresses in it.
  if (ip.family == AF_INET) header.checksum = checksum(packet);
  memcpy(packet.data(), &header, sizeof(header));
  return packet;
}

void set_option(const Fd& fd, int level, int name, const void* value, size_t bytes,
                const char* what) {
  if (setsockopt(fd.get(), level, name, value, static_cast<socklen_t>(bytes)) < 0)
    throw system_error("setsockopt", what);
}

void set_option(const Fd& fd, int level, int name, int value, const char* what) {
  set_option(fd, level, name, &value, sizeof(value), what);
}

// A whole train is to fit. Only with CAP_NET_ADMIN it may be more than the machine's limit.
void set_buffer(const Fd& fd, int force, int name) {
  if (setsockopt(fd.get(), SOL_SOCKET, force, &kBufferBytes, sizeof(kBufferBytes)) < 0)
    set_option(fd, SOL_SOCKET, name, kBufferBytes, "SO_RCVBUF, SO_SNDBUF");
}

struct Peer {
  const IpVersion* ip;
  Fd socket;
};

Peer connect_to(const std::string& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0)
    throw Error(address + ": is no IP address");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> to(found, freeaddrinfo);
  const IpVersion& ip = to->ai_family == AF_INET6 ? kIpv6 : kIpv4;
  Fd fd(socket(ip.family, SOCK_RAW | SOCK_CLOEXEC, ip.protocol));
  if (!fd && (errno == EPERM || errno == EACCES))
    throw Error("echoes need root, or CAP_NET_RAW: sudo");
  if (!fd) throw system_error("socket", "ICMP");
  set_option(fd, ip.options, ip.mtu_discover, ip.always_discover, "MTU_DISCOVER");
  if (connect(fd.get(), to->ai_addr, to->ai_addrlen) < 0)
    throw Error(address + ": " + strerror(errno));
  return {&ip, std::move(fd)};
}

// Of a packet that goes by, in the words of linux/filter.h: an echo's answer with this id.
void take_only(const IpVersion& ip, const Fd& fd, uint16_t id) {
  sock_filter program[] = {
      // X = length of the IP header, where that comes.
      BPF_STMT(ip.header_comes ? BPF_LDX | BPF_B | BPF_MSH : BPF_LDX | BPF_IMM, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),  // type
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ip.reply, 0, 3),
      BPF_STMT(BPF_LD | BPF_H | BPF_IND, offsetof(icmphdr, un.echo.id)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, id, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog all = {sizeof(program) / sizeof(program[0]), program};
  set_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof(all), "SO_ATTACH_FILTER");
}

// The interface's number in a message of how a packet came.
unsigned device_in(const IpVersion& ip, const void* data) {
  if (ip.family == AF_INET6) return static_cast<const in6_pktinfo*>(data)->ipi6_ifindex;
  return static_cast<unsigned>(static_cast<const in_pktinfo*>(data)->ipi_ifindex);
}

// Takes nothing that comes.
void take_nothing(const IpVersion& ip, const Fd& fd) {
  if (ip.family == AF_INET6) {
    icmp6_filter none;
    ICMP6_FILTER_SETBLOCKALL(&none);
    set_option(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &none, sizeof(none), "ICMP6_FILTER");
    return;
  }
  const uint32_t none = ~0U;
  set_option(fd, SOL_RAW, kIcmpFilter, &none, sizeof(none), "ICMP_FILTER");
}

bool complete(const EchoTimes& echo, WantedStamps wanted) {
  return echo.kernel_came_ns > 0 && (!wanted.nic_sent || echo.nic_sent_ns > 0);
}

// Of packets that came at these times, in their order; 0: no figure. The first quarter is passed
// over: until hosts and queues are busy, what they add changes.
int64_t rate_of(const std::vector<int64_t>& times_ns, size_t packet_bytes) {
  const size_t from = times_ns.size() / 4;
  if (times_ns.size() < from + 2 || times_ns.back() <= times_ns[from]) return 0;
  return static_cast<int64_t>(static_cast<double>((times_ns.size() - 1 - from) * 8) *
                              static_cast<double>(packet_bytes) * kSecondNs /
                              static_cast<double>(times_ns.back() - times_ns[from]));
}

}  // namespace

Echo::Echo(const std::string& address, EchoStamps stamps)
    : address_(address), id_(static_cast<uint16_t>(getpid() & ~kLoadId)) {
  Peer peer = connect_to(address);
  ip_ = peer.ip;
  socket_ = std::move(peer.socket);
  take_only(*ip_, socket_, id_);
  set_buffer(socket_, SO_RCVBUFFORCE, SO_RCVBUF);
  set_buffer(socket_, SO_SNDBUFFORCE, SO_SNDBUF);
  set_option(socket_, ip_->options, ip_->errors, 1, "RECVERR");
  set_option(socket_, ip_->options, ip_->want_device, 1, "PKTINFO");
  constexpr int kOfArrivals = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  constexpr int kOfAll = kOfArrivals | SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE |
                         SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
                         SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_OPT_ID |
                         SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_TX_SWHW;
  set_option(socket_, SOL_SOCKET, SO_TIMESTAMPING,
             stamps == EchoStamps::kAll ? kOfAll : kOfArrivals, "SO_TIMESTAMPING");
}

size_t Echo::short_bytes() const { return ip_->header_bytes + kAckBytes; }

bool Echo::answers(size_t ip_bytes) {
  const uint64_t first = sent_;
  std::vector<EchoTimes> echoes(1);
  send(echo_request(*ip_, id_, first, ip_bytes), &echoes[0]);
  receive(first, echoes, {}, kAnswerNs, 0);
  return echoes[0].kernel_came_ns > 0;
}

void Echo::find() {
  bool found = false;
  for (int i = 0; i < kTries && !found; i++) found = answers(short_bytes());
  if (!found)
    throw Error(address_ + ": no answer to " + std::to_string(kTries) +
                " echoes (ICMP) within a second each; it is not there, or a firewall drops them");
  // A router may say that its link takes less.
  for (int i = 0; i < kTries; i++)
    if (answers(path_mtu_bytes())) return;
  throw Error(address_ + ": answers short echoes, and none of " + std::to_string(path_mtu_bytes()) +
              " bytes, the MTU; a link on the way takes less and does not say so");
}

size_t Echo::path_mtu_bytes() const {
  int mtu = 0;
  socklen_t size = sizeof(mtu);
  if (getsockopt(socket_.get(), ip_->options, ip_->mtu, &mtu, &size) < 0)
    throw system_error("getsockopt", "MTU");
  return static_cast<size_t>(mtu);
}

void Echo::send(const std::string& packet, EchoTimes* times) {
  // The kernel counts what it is asked to send, also where it fails.
  sent_++;
  times->sent_ns = realtime_ns();
  if (::send(socket_.get(), packet.data(), packet.size(), 0) < 0 && errno != ENOBUFS &&
      errno != EMSGSIZE)
    throw Error(address_ + ": " + strerror(errno));
}

bool Echo::take(uint64_t first, std::vector<EchoTimes>& echoes, int flags) {
  char packet[sizeof(iphdr) + 64];
  iovec block = {packet, sizeof(packet)};
  alignas(cmsghdr) char control[512];
  msghdr message = {};
  message.msg_iov = &block;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t n = recvmsg(socket_.get(), &message, flags | MSG_DONTWAIT);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    if (errno == EMSGSIZE) return true;
    throw Error(address_ + ": " + strerror(errno));
  }
  scm_timestamping stamps = {};
  const sock_extended_err* error = nullptr;
  unsigned device = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING)
      memcpy(&stamps, CMSG_DATA(c), sizeof(stamps));
    else if (c->cmsg_level == ip_->options && c->cmsg_type == ip_->errors)
      error = reinterpret_cast<const sock_extended_err*>(CMSG_DATA(c));
    else if (c->cmsg_level == ip_->options && c->cmsg_type == ip_->device)
      device = device_in(*ip_, CMSG_DATA(c));
  }
  const int64_t software_ns = nanoseconds({stamps.ts[0].tv_sec, stamps.ts[0].tv_nsec});
  const int64_t hardware_ns = nanoseconds({stamps.ts[2].tv_sec, stamps.ts[2].tv_nsec});
  if (flags & MSG_ERRQUEUE) {
    if (!error) return true;
    // The kernel keeps the MTU that a router tells; the echo is lost.
    if (error->ee_errno == EMSGSIZE) return true;
    if (error->ee_origin != SO_EE_ORIGIN_TIMESTAMPING)
      throw Error(address_ + ": " + strerror(static_cast<int>(error->ee_errno)));
    // The kernel counts with 32 bits.
    const size_t index = static_cast<uint32_t>(error->ee_data - static_cast<uint32_t>(first));
    if (index >= echoes.size()) return true;
    EchoTimes& echo = echoes[index];
    if (error->ee_info == SCM_TSTAMP_SCHED)
      echo.queued_ns = software_ns;
    else if (error->ee_info == SCM_TSTAMP_SND && hardware_ns > 0)
      echo.nic_sent_ns = hardware_ns;
    else if (error->ee_info == SCM_TSTAMP_SND)
      echo.driver_ns = software_ns;
    return true;
  }
  uint64_t number = 0;
  const size_t header_bytes =
      (ip_->header_comes ? size_t{reinterpret_cast<const iphdr*>(packet)->ihl} * 4 : 0) +
      sizeof(icmphdr);
  if (n < static_cast<ssize_t>(header_bytes + sizeof(number))) return true;
  memcpy(&number, packet + header_bytes, sizeof(number));
  if (number - first >= echoes.size()) return true;
  EchoTimes& echo = echoes[number - first];
  echo.kernel_came_ns = software_ns > 0 ? software_ns : realtime_ns();
  echo.nic_came_ns = hardware_ns;
  if (char name[IF_NAMESIZE]; device_.empty() && if_indextoname(device, name)) device_ = name;
  return true;
}

void Echo::receive(uint64_t first, std::vector<EchoTimes>& echoes, WantedStamps wanted,
                   int64_t answer_ns, int64_t stamp_ns) {
  int64_t end_ns = monotonic_ns() + answer_ns;
  bool answered = false;
  for (;;) {
    while (take(first, echoes, MSG_ERRQUEUE)) {
    }
    while (take(first, echoes, 0)) {
    }
    const auto all = [&](WantedStamps of) {
      return std::all_of(echoes.begin(), echoes.end(),
                         [&](const EchoTimes& echo) { return complete(echo, of); });
    };
    if (all(wanted)) return;
    const int64_t now_ns = monotonic_ns();
    if (!answered && all({})) {
      answered = true;
      end_ns = now_ns + stamp_ns;
    }
    if (now_ns >= end_ns) return;
    const timespec left = time_of(end_ns - now_ns);
    pollfd ready = {socket_.get(), POLLIN, 0};
    if (ppoll(&ready, 1, &left, nullptr) < 0 && errno != EINTR) throw system_error("ppoll", "ICMP");
  }
}

std::vector<EchoTimes> Echo::ping(size_t count, size_t ip_bytes, int64_t budget_ns,
                                  WantedStamps wanted) {
  std::vector<EchoTimes> result;
  const int64_t begin_ns = monotonic_ns();
  // The first one finds caches empty.
  for (size_t i = 0; i <= count && (i < 2 || monotonic_ns() - begin_ns < budget_ns); i++) {
    const uint64_t first = sent_;
    std::vector<EchoTimes> echo(1);
    send(echo_request(*ip_, id_, first, ip_bytes), &echo[0]);
    receive(first, echo, wanted, kAnswerNs, kStampNs);
    if (i > 0 && echo[0].kernel_came_ns > 0) result.push_back(echo[0]);
  }
  if (result.empty())
    throw Error(address_ + ": no echo of " + std::to_string(ip_bytes) +
                " bytes was answered within a second");
  return result;
}

TrainRates Echo::train(size_t packets, size_t ip_bytes, size_t overhead_bytes,
                       WantedStamps wanted) {
  const uint64_t first = sent_;
  std::vector<EchoTimes> echoes(packets);
  std::vector<std::string> texts;
  for (size_t i = 0; i < packets; i++)
    texts.push_back(echo_request(*ip_, id_, first + i, ip_bytes));
  std::vector<iovec> blocks;
  for (std::string& text : texts) blocks.push_back({text.data(), text.size()});
  std::vector<mmsghdr> messages(packets);
  for (size_t i = 0; i < packets; i++) {
    messages[i].msg_hdr.msg_iov = &blocks[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  sent_ += packets;
  for (size_t done = 0; done < packets;) {
    const int n =
        sendmmsg(socket_.get(), &messages[done], static_cast<unsigned>(packets - done), 0);
    if (n <= 0) throw Error(address_ + ": " + strerror(errno));
    done += static_cast<size_t>(n);
  }
  receive(first, echoes, wanted, kAnswerNs, kStampNs);
  std::vector<int64_t> left_ns, came_ns;
  for (const EchoTimes& echo : echoes) {
    if (const int64_t ns = wanted.nic_sent ? echo.nic_sent_ns : echo.driver_ns; ns > 0)
      left_ns.push_back(ns);
    if (const int64_t ns = wanted.nic_came ? echo.nic_came_ns : echo.kernel_came_ns; ns > 0)
      came_ns.push_back(ns);
  }
  std::sort(left_ns.begin(), left_ns.end());
  std::sort(came_ns.begin(), came_ns.end());
  const size_t bytes = ip_bytes + overhead_bytes;
  return {rate_of(left_ns, bytes), rate_of(came_ns, bytes)};
}

// ---- load ---------------------------------------------------------------------

struct EchoLoad::Sent {
  std::atomic<uint64_t> packets{0};
};

EchoLoad::EchoLoad(const std::string& address, size_t ip_bytes, size_t overhead_bytes,
                   int64_t rate_bps)
    : bits_(static_cast<int64_t>(ip_bytes + overhead_bytes) * 8) {
  const auto [ip, socket] = connect_to(address);
  take_nothing(*ip, socket);  // what is answered is for nobody
  void* shared =
      mmap(nullptr, sizeof(Sent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw system_error("mmap", "load");
  sent_ = new (shared) Sent;
  std::string packet = echo_request(*ip, static_cast<uint16_t>(getpid() | kLoadId), 0, ip_bytes);
  from_ns_ = monotonic_ns();
  const pid_t owner = getpid();
  child_ = fork();
  if (child_ < 0) {
    const Error error = system_error("fork", "load");
    munmap(shared, sizeof(Sent));
    throw error;
  }
  if (child_ > 0) return;

  // Ends with the owner; whoever reads what the owner prints does not wait for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != owner) _exit(0);
  prctl(PR_SET_TIMERSLACK, 1);
  iovec block = {packet.data(), packet.size()};
  mmsghdr messages[kLoadBatch] = {};
  for (mmsghdr& message : messages) {
    message.msg_hdr.msg_iov = &block;
    message.msg_hdr.msg_iovlen = 1;
  }
  const double interval_ns = static_cast<double>(bits_) * kSecondNs / static_cast<double>(rate_bps);
  int64_t start_ns = monotonic_ns();
  for (uint64_t k = 0;;) {
    const auto due_ns = [&](uint64_t number) {
      return start_ns + static_cast<int64_t>(static_cast<double>(number) * interval_ns);
    };
    const timespec when = time_of(due_ns(k));
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    const int64_t now_ns = monotonic_ns();
    if (now_ns - due_ns(k) > kLoadBehindNs) {
      start_ns = now_ns;
      k = 0;
    }
    unsigned due = 1;
    while (due < kLoadBatch && due_ns(k + due) <= now_ns) due++;
    const int n = sendmmsg(socket.get(), messages, due, 0);
    if (n > 0) sent_->packets += static_cast<uint64_t>(n);
    k += due;
  }
}

EchoLoad::~EchoLoad() {
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  munmap(sent_, sizeof(Sent));
}

int64_t EchoLoad::rate_bps() {
  const int64_t now_ns = monotonic_ns();
  const uint64_t packets = sent_->packets;
  const auto bits = static_cast<double>(packets - from_packets_) * static_cast<double>(bits_);
  const double rate =
      now_ns > from_ns_ ? bits * kSecondNs / static_cast<double>(now_ns - from_ns_) : 0;
  from_ns_ = now_ns;
  from_packets_ = packets;
  return static_cast<int64_t>(rate);
}

}  // namespace delaycc

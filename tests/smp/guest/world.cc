// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "stress.h"

World world;

/* ---- chance and time ------------------------------------------------------ */

uint64_t stream_word(uint64_t seed, uint64_t i) {
  /* splitmix64 */
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t Chance::word() { return stream_word(state_ += 0x9e3779b97f4a7c15, 0); }

uint64_t Chance::size(unsigned bits) {
  uint64_t most = uint64_t{1} << below(bits + 1);
  return 1 + below(most);
}

/*
 * The machine's time.  Work that takes BEAT_US on an idle host is done again and again; where it
 * takes longer, because the host's processors are shared or this one's threads wait for each
 * other, time goes slower by as much.  It never goes faster than the clock, which TCP's timers
 * follow.
 */
namespace {

/* One beat that took long says little: no sleep lasts longer for it than SLOWEST allows. */
enum : uint64_t { BEAT_US = 1000, BEATS_APART = 30, BEAT_ROUNDS = 320000, SLOWEST = 30 };

std::atomic<uint64_t> machine_us{0};
/* How much slower than the clock, 1024ths. */
std::atomic<uint64_t> slowness{1024};

uint64_t clock_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000 + static_cast<uint64_t>(t.tv_nsec) / 1000;
}

void sleep_us(uint64_t us) {
  timespec t = {static_cast<time_t>(us / 1000000), static_cast<long>(us % 1000000) * 1000};
  while (nanosleep(&t, &t) && errno == EINTR) {
  }
}

[[noreturn]] void beat() {
  volatile uint64_t sink;
  uint64_t begin = clock_us();
  for (;;) {
    uint64_t work_begin = clock_us(), word = 0;
    for (uint64_t i = 0; i < BEAT_ROUNDS; i++) word = stream_word(word, i);
    sink = word;
    static_cast<void>(sink);
    uint64_t took_us = std::max<uint64_t>(clock_us() - work_begin, BEAT_US);
    uint64_t counted_us = std::min<uint64_t>(took_us, SLOWEST * BEAT_US);
    slowness = (slowness * 7 + counted_us * 1024 / BEAT_US) / 8;
    sleep_us(counted_us * BEATS_APART);
    uint64_t end = clock_us();
    machine_us += (end - begin) * BEAT_US / took_us;
    begin = end;
  }
}

}  // namespace

void start_clock() { std::thread(beat).detach(); }

uint64_t now_ms() { return machine_us / 1000; }

uint64_t clock_ms() { return clock_us() / 1000; }

void sleep_ms(unsigned ms) { sleep_us(ms * slowness * 1000 / 1024); }

/* ---- files and programs --------------------------------------------------- */

bool write_file(const char* path, std::string_view text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = write(fd, text.data(), text.size());
  close(fd);
  return n == static_cast<ssize_t>(text.size());
}

std::string read_file(const char* path, size_t most) {
  std::string text;
  char part[4096];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return text;
  for (ssize_t n; text.size() < most && (n = read(fd, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  close(fd);
  return text;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> found;
  DIR* dir = opendir(folder.c_str());
  if (!dir) return found;
  while (dirent* entry = readdir(dir)) {
    std::string path = folder + "/" + entry->d_name;
    struct stat info;
    if (entry->d_name[0] == '.' || stat(path.c_str(), &info)) continue;
    if (!S_ISDIR(info.st_mode)) {
      found.push_back(path);
      continue;
    }
    for (auto& file : files_below(path)) found.push_back(file);
  }
  closedir(dir);
  return found;
}

static int run_with_input(const std::vector<std::string>& argv, int input) {
  static char path[] = "PATH=/usr/bin";
  char* environment[] = {path, nullptr};
  posix_spawn_file_actions_t actions;
  std::vector<char*> words;
  pid_t pid;
  int status;

  for (auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_init(&actions);
  if (input >= 0) posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  /* Commands fail: links are down, names are taken. */
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  int err = posix_spawn(&pid, ("/usr/bin/" + argv[0]).c_str(), &actions, nullptr, words.data(),
                        environment);
  posix_spawn_file_actions_destroy(&actions);
  if (err) return 127;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int run(const std::vector<std::string>& argv) { return run_with_input(argv, -1); }

int ip_batch(const std::string& netns, const std::string& lines) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC)) return 127;
  /* Less than a pipe takes. */
  if (write(pipes[1], lines.data(), lines.size()) < 0) perror("write");
  close(pipes[1]);
  int status = run_with_input({"ip", "-n", netns, "-force", "-batch", "-"}, pipes[0]);
  close(pipes[0]);
  return status;
}

/* ---- namespaces and links ------------------------------------------------- */

int open_netns(const std::string& name) {
  return open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
}

void enter(int netns_fd) {
  if (setns(netns_fd, CLONE_NEWNET)) wrong(std::string("setns: ") + strerror(errno));
}

int unshare_netns() {
  if (unshare(CLONE_NEWNET)) return -1;
  return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/*
 * Links by system calls, in the thread's own namespace: a program takes an emulated
 * machine most of a second.
 */
static bool change_link(const char* device, unsigned long command, ifreq* request) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  snprintf(request->ifr_name, sizeof request->ifr_name, "%s", device);
  int err = ioctl(fd, command, request);
  close(fd);
  return !err;
}

bool set_link_up(const char* device, bool up) {
  ifreq request = {};
  request.ifr_flags = up ? IFF_UP : 0;
  return change_link(device, SIOCSIFFLAGS, &request);
}

bool set_link_mtu(const char* device, int mtu) {
  ifreq request = {};
  request.ifr_mtu = mtu;
  return change_link(device, SIOCSIFMTU, &request);
}

bool set_link_address(const char* device, const char* address) {
  ifreq request = {};
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  inet_pton(AF_INET, address, &v4.sin_addr);
  memcpy(&request.ifr_addr, &v4, sizeof v4);
  return change_link(device, SIOCSIFADDR, &request);
}

namespace {

/* A netlink message that grows; nested attributes end at end(). */
class Message {
 public:
  Message(uint16_t type, uint16_t flags) {
    head()->nlmsg_type = type;
    head()->nlmsg_flags = flags | NLM_F_REQUEST | NLM_F_ACK;
    head()->nlmsg_len = NLMSG_LENGTH(0);
    link();
  }
  void link() {
    ifinfomsg info = {};
    append(&info, sizeof info);
  }
  size_t attribute(uint16_t type, const void* data, size_t size) {
    size_t at = head()->nlmsg_len;
    rtattr attr = {static_cast<uint16_t>(RTA_LENGTH(size)), type};
    append(&attr, sizeof attr);
    append(data, size);
    return at;
  }
  size_t text(uint16_t type, const char* value) {
    return attribute(type, value, strlen(value) + 1);
  }
  void end(size_t at) {
    reinterpret_cast<rtattr*>(data_ + at)->rta_len = static_cast<uint16_t>(head()->nlmsg_len - at);
  }
  bool send_it() {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return false;
    char answer[1024];
    bool good = send(fd, data_, head()->nlmsg_len, 0) > 0 &&
                recv(fd, answer, sizeof answer, 0) > 0 &&
                !static_cast<nlmsgerr*>(NLMSG_DATA(reinterpret_cast<nlmsghdr*>(answer)))->error;
    close(fd);
    return good;
  }

 private:
  nlmsghdr* head() { return reinterpret_cast<nlmsghdr*>(data_); }
  void append(const void* data, size_t size) {
    if (size) memcpy(data_ + head()->nlmsg_len, data, size);
    head()->nlmsg_len += static_cast<uint32_t>(NLMSG_ALIGN(size));
  }
  alignas(nlmsghdr) char data_[512] = {};
};

}  // namespace

bool add_veth(const char* name, int peer_netns_fd) {
  Message m(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  m.text(IFLA_IFNAME, name);
  size_t info = m.attribute(IFLA_LINKINFO, nullptr, 0);
  m.text(IFLA_INFO_KIND, "veth");
  size_t data = m.attribute(IFLA_INFO_DATA, nullptr, 0);
  size_t peer = m.attribute(VETH_INFO_PEER, nullptr, 0);
  m.link();
  m.text(IFLA_IFNAME, name);
  m.attribute(IFLA_NET_NS_FD, &peer_netns_fd, sizeof peer_netns_fd);
  m.end(peer);
  m.end(data);
  m.end(info);
  return m.send_it();
}

bool delete_link(const char* name) {
  Message m(RTM_DELLINK, 0);
  m.text(IFLA_IFNAME, name);
  return m.send_it();
}

/* Of the end a: what its data meets. */
void set_qdisc(const Pair& pair, unsigned which) {
  static const std::vector<std::vector<std::string>> qdiscs = {
      {"netem", "delay", "2ms", "1ms", "loss", "0.5%", "limit", "1000"},
      {"tbf", "rate", "100mbit", "burst", "30k", "latency", "20ms"},
      {"fq"},
      {"netem", "delay", "3ms", "reorder", "90%", "50%", "duplicate", "0.2%", "limit", "500"},
  };
  std::vector<std::string> words = {"tc", "-n", pair.a, "qdisc", "replace", "dev", "v", "root"};
  for (auto& word : qdiscs[which % qdiscs.size()]) words.push_back(word);
  run(words);
}

void make_pairs() {
  for (unsigned i = 0; i < PAIRS; i++) {
    std::string n = std::to_string(i);
    Pair pair = {"a" + n, "b" + n, -1, -1};
    run({"ip", "netns", "add", pair.a});
    run({"ip", "netns", "add", pair.b});
    int status = ip_batch(pair.a, "link add v type veth peer name v netns " + pair.b +
                                      "\nlink set lo up\naddr add 10.0." + n +
                                      ".1/24 dev v\naddr add fd00:" + n +
                                      "::1/64 dev v nodad\nlink set v up\n");
    status |=
        ip_batch(pair.b, "link set lo up\naddr add 10.0." + n + ".2/24 dev v\naddr add fd00:" + n +
                             "::2/64 dev v nodad\nlink set v up\n");
    if (status) wrong("the links of a pair of namespaces cannot be made");
    pair.a_fd = open_netns(pair.a);
    pair.b_fd = open_netns(pair.b);
    set_qdisc(pair, i);
    run({"tc", "-n", pair.b, "qdisc", "replace", "dev", "v", "root", "netem", "delay", "1ms",
         "limit", "1000"});
    world.pairs.push_back(pair);
  }
}

void delete_pairs() {
  for (auto& pair : world.pairs) {
    close(pair.a_fd);
    close(pair.b_fd);
    run({"ip", "netns", "del", pair.a});
    run({"ip", "netns", "del", pair.b});
  }
}

socklen_t address_of(size_t pair, bool b, Family family, uint16_t port, sockaddr_storage* address) {
  char text[64];

  memset(address, 0, sizeof *address);
  if (family == IPV4) {
    auto v4 = reinterpret_cast<sockaddr_in*>(address);
    snprintf(text, sizeof text, "10.0.%zu.%d", pair, b ? 2 : 1);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    inet_pton(AF_INET, text, &v4->sin_addr);
    return sizeof *v4;
  }
  auto v6 = reinterpret_cast<sockaddr_in6*>(address);
  snprintf(text, sizeof text, family == IPV6 ? "fd00:%zu::%d" : "::ffff:10.0.%zu.%d", pair,
           b ? 2 : 1);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  inet_pton(AF_INET6, text, &v6->sin6_addr);
  return sizeof *v6;
}

/* ---- modules and algorithms ----------------------------------------------- */

static std::string module_path(const Module& module) {
  utsname names;
  uname(&names);
  return std::string("/usr/lib/modules/") + names.release + "/extra/" + module.name + ".ko";
}

int load_module(const Module& module) {
  int fd = open(module_path(module).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  int err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
  close(fd);
  return err;
}

int remove_module(const Module& module) {
  return syscall(SYS_delete_module, module.name.c_str(), O_NONBLOCK) ? -errno : 0;
}

std::string some_algorithm(Chance& chance) {
  static const std::vector<std::string> of_linux = {"cubic", "reno", "bbr"};
  if (chance.in(8)) return chance.of(of_linux);
  for (int tries = 0; tries < 20; tries++) {
    const Module* module = chance.of(world.modules);
    if (module->algorithms.empty()) continue;
    /* Some try it all the same: the module may be on its way out, or be loaded by that. */
    if (module->vetoed && !chance.in(50)) continue;
    return chance.of(module->algorithms);
  }
  return "cubic";
}

int use_algorithm(int fd, const std::string& name) {
  return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.c_str(),
                    static_cast<socklen_t>(name.size()));
}

void fail_allocation(unsigned number) {
  write_file("/proc/thread-self/fail-nth", std::to_string(number));
}

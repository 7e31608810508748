/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stress program that a debug kernel with several processors runs as its init.
 *
 * main.cc	the machine: mounts, options, threads, the end and its table
 * world.cc	namespaces, links, files, other programs
 * traffic.cc	connections whose every byte is checked
 * trouble.cc	what is done to them meanwhile
 *
 * Each thread is a Worker: a loop that calls step() until it is told to stop.  Whatever is
 * done is counted by a Count; the table at the end has all of them.
 */
#ifndef DELAYCC_SMP_STRESS_H
#define DELAYCC_SMP_STRESS_H

#include <netinet/in.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/* ---- how many of each ----------------------------------------------------- */

class Count {
 public:
  explicit Count(const char* name);
  void operator++(int) { n_.fetch_add(1, std::memory_order_relaxed); }
  void operator+=(uint64_t n) { n_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return n_.load(std::memory_order_relaxed); }
  const char* name() const { return name_; }

 private:
  const char* name_;
  std::atomic<uint64_t> n_{0};
};

/* Prints "COUNT <n> <name>" for each. */
void print_counts();

/* Something that must not happen.  Prints "WRONG <what>"; the test fails. */
void wrong(const std::string& what);

/* ---- chance, seeded ------------------------------------------------------- */

class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}
  uint64_t word();
  /* 0..n-1; n > 0 */
  uint64_t below(uint64_t n) { return word() % n; }
  bool in(uint64_t n) { return below(n) == 0; }
  /* 1..2^bits, each power of two as likely as the next */
  uint64_t size(unsigned bits);
  template <typename T>
  const T& of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  uint64_t state_;
};

/* Word number i of the stream that a seed makes. */
uint64_t stream_word(uint64_t seed, uint64_t i);

/* ---- time ----------------------------------------------------------------- */

/*
 * All of the program goes by the machine's time, which stands still for as long as the host
 * gives the machine no processor: on a busy host the same is done, and the same has to be
 * reached, in more seconds of the clock.
 */
void start_clock();
uint64_t now_ms();
void sleep_ms(unsigned ms);
/* The clock, which goes on. */
uint64_t clock_ms();

/* ---- threads -------------------------------------------------------------- */

class Worker {
 public:
  Worker(const char* name, uint64_t seed) : chance(seed), name_(name) {}
  virtual ~Worker() = default;
  /* Once, in the thread, before the first step. */
  virtual void begin() {}
  /* A bounded piece of work. */
  virtual void step() = 0;
  /* Once, in the thread, after the last step. */
  virtual void end() {}

  void work();
  void stop() { stop_ = true; }
  bool stopping() const { return stop_; }
  const char* name() const { return name_; }
  uint64_t steps() const { return steps_; }
  /* After end(). */
  bool done() const { return done_; }
  /* Where the thread is in the kernel, a function on each line; "" if it is not. */
  std::string stack() const;

 protected:
  Chance chance;

 private:
  const char* name_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> steps_{0};
  std::atomic<bool> done_{false};
  std::atomic<int> tid_{0};
};

/* ---- the world ------------------------------------------------------------ */

enum { PAIRS = 3, PORT = 7000, STORM_PORT = 7001 };

/* A pair of namespaces, a and b, with a veth called v between them. */
struct Pair {
  std::string a, b;
  int a_fd, b_fd;
};

/* One of our modules, and its algorithms. */
struct Module {
  std::string name;
  std::vector<std::string> algorithms;
  /* Nobody is to choose it: somebody wants to remove the module. */
  std::atomic<bool> vetoed{false};

  explicit Module(std::string n) : name(std::move(n)) {}
};

struct World {
  std::vector<Pair> pairs;
  /* Each after those that it needs. */
  std::vector<Module*> modules;
};

extern World world;

void make_pairs();
void set_qdisc(const Pair& pair, unsigned which);
void delete_pairs();
/* The thread lives in that namespace from now on. */
void enter(int netns_fd);
int open_netns(const std::string& name);
/* Leaves a new namespace behind as the thread's own; its descriptor. */
int unshare_netns();

/* Links of the thread's namespace.  False: it cannot be done. */
bool set_link_up(const char* device, bool up);
bool set_link_mtu(const char* device, int mtu);
bool set_link_address(const char* device, const char* address);
/* Both ends have that name, the other one in that namespace. */
bool add_veth(const char* name, int peer_netns_fd);
bool delete_link(const char* name);

/* Runs a program to its end.  Its exit status; 127 if there is none. */
int run(const std::vector<std::string>& argv);
int ip_batch(const std::string& netns, const std::string& lines);
bool write_file(const char* path, std::string_view text);
std::string read_file(const char* path, size_t most = 1 << 20);
/* All files below a folder. */
std::vector<std::string> files_below(const std::string& folder);

/* 0, or -errno */
int load_module(const Module& module);
int remove_module(const Module& module);

/* One of our algorithms or Linux's; mostly none that is vetoed. */
std::string some_algorithm(Chance& chance);
int use_algorithm(int fd, const std::string& name);

/* An address of the pair's end b, or a (b = false).  mapped: of IPv4, for an IPv6 socket. */
enum Family { IPV4, IPV6, MAPPED };
socklen_t address_of(size_t pair, bool b, Family family, uint16_t port, sockaddr_storage* address);

/* The next allocation of this thread that has this number fails; 0: none. */
void fail_allocation(unsigned number);

/* ---- workers -------------------------------------------------------------- */

/* Transfers that are not done, and those of them that have not moved for so long. */
struct Unfinished {
  unsigned open, still;
};
Unfinished unfinished(unsigned still_ms);
/* Each of them as its side and TCP see it. */
void print_unfinished();
/* No new connections from now on. */
void let_traffic_end();
void corrupt_bytes();

std::vector<Worker*> make_traffic(uint64_t seed, unsigned connections);
std::vector<Worker*> make_trouble(uint64_t seed);
/* The program again, as a process of a memory cgroup that has little: main() calls it. */
int poor_process(uint64_t seed);

#endif

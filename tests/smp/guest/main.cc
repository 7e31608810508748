// SPDX-License-Identifier: Apache-2.0
/*
 * Init of the debug kernel.  Words of the kernel's command line, which it gets as
 * environment:
 *
 *	smp_seconds=N		how long trouble is made, of the machine's time (30)
 *	smp_seed=N		(1)
 *	smp_connections=N	of each pair of namespaces (16)
 *	smp_fault=NAME,...	do nothing but load the faulty module with each of these, to see
 *				whether the kernel reports it
 *	smp_corrupt=1		change some bytes of the streams
 *
 * Prints, each at the beginning of a line:
 *	BEGIN <release>
 *	COARSE			the kernel has no timer but its tick; the machine ends
 *	COUNT <n> <what>	the table
 *	WRONG <what>		the test fails
 *	END
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "stress.h"

namespace {

/*
 * Of the machine's time: what one step of a worker may take, and how long a transfer may not move
 * once all is calm.  A module goes when the namespaces that are going let it, each of which waits
 * for RCU and for the lock of all links: minutes where the host is busy.  TCP sends again after two
 * minutes at the latest.
 */
enum { STUCK_MS = 900000, STILL_MS = 150000 };

std::vector<Count*>& counts() {
  static std::vector<Count*> all;
  return all;
}

Count wrongs("things that went wrong");

uint64_t word_of(const char* name, uint64_t usual) {
  const char* text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : usual;
}

void mount_all() {
  static const struct {
    const char *type, *path;
  } mounts[] = {
      {"proc", "/proc"},
      {"sysfs", "/sys"},
      {"devtmpfs", "/dev"},
      {"tmpfs", "/run"},
      {"tmpfs", "/tmp"},
      {"debugfs", "/sys/kernel/debug"},
      {"tracefs", "/sys/kernel/tracing"},
      {"cgroup2", "/sys/fs/cgroup"},
  };
  for (auto& m : mounts)
    if (mount(m.type, m.path, m.type, 0, nullptr)) perror(m.path);
}

void write_debug(const char* file, const char* text) {
  std::string path = std::string("/sys/kernel/debug/") + file;
  if (access(path.c_str(), F_OK) == 0 && !write_file(path.c_str(), text))
    wrong("cannot write " + path);
}

/* What the kernel says, as a list of words. */
std::vector<std::string> available() {
  std::vector<std::string> names;
  std::string text = read_file("/proc/sys/net/ipv4/tcp_available_congestion_control", 4096);
  for (char* name = strtok(text.data(), " \n"); name; name = strtok(nullptr, " \n"))
    names.push_back(name);
  return names;
}

/* All of our modules, and what each registers. */
void load_modules() {
  utsname names;
  uname(&names);
  std::vector<std::string> found;
  for (auto& path : files_below(std::string("/usr/lib/modules/") + names.release + "/extra")) {
    size_t from = path.rfind('/') + 1;
    found.push_back(path.substr(from, path.rfind(".ko") - from));
  }
  /* delaycc and delaycc_count come before tcp_*, which need them. */
  std::sort(found.begin(), found.end());
  for (auto& name : found) {
    auto module = new Module(name);
    auto before = available();
    int err = load_module(*module);
    if (err) wrong(name + " cannot be loaded: " + strerror(-err));
    for (auto& algorithm : available())
      if (std::find(before.begin(), before.end(), algorithm) == before.end())
        module->algorithms.push_back(algorithm);
    world.modules.push_back(module);
  }
}

void remove_modules() {
  uint64_t until = now_ms() + 180000;
  for (size_t i = world.modules.size(); i-- > 0;) {
    int err;
    while ((err = remove_module(*world.modules[i])) == -EAGAIN || err == -EBUSY ||
           err == -EWOULDBLOCK) {
      if (now_ms() > until) break;
      sleep_ms(200);
    }
    if (err) wrong(world.modules[i]->name + " cannot be removed at the end: " + strerror(-err));
  }
}

/* What is younger than 5 s is not reported, what moves between lists may be missed once. */
void scan_for_leaks() {
  for (int i = 0; i < 2; i++) {
    sleep_ms(5500);
    write_debug("kmemleak", "scan");
  }
}

/* What the kernel itself lost while it came up is none of ours. */
void begin_leak_check() {
  if (access("/sys/kernel/debug/kmemleak", F_OK)) return;
  scan_for_leaks();
  write_debug("kmemleak", "clear");
}

void end_leak_check() {
  if (access("/sys/kernel/debug/kmemleak", F_OK)) return;
  scan_for_leaks();
  std::string all = read_file("/sys/kernel/debug/kmemleak", 1 << 16), leaks;
  for (size_t at = 0, next; at < all.size(); at = next) {
    next = std::min(all.find("unreferenced object", at + 1), all.size());
    std::string leak = all.substr(at, next - at);
    /* Allocated before there was an init, and referenced for some time longer. */
    if (leak.find("comm \"swapper/0\", pid 0,") == std::string::npos) leaks += leak;
  }
  if (leaks.empty()) return;
  wrong("the kernel has found leaks");
  fputs(leaks.c_str(), stdout);
}

void set_limits() {
  rlimit files = {20000, 20000};
  setrlimit(RLIMIT_NOFILE, &files);
  /* Small windows: many connections are worth more than long ones. */
  for (auto& pair : world.pairs)
    for (int fd : {pair.a_fd, pair.b_fd}) {
      enter(fd);
      /* Addresses outlast a link that goes down. */
      write_file("/proc/sys/net/ipv6/conf/v/keep_addr_on_down", "1");
      write_file("/proc/sys/net/ipv4/tcp_orphan_retries", "2");
      write_file("/proc/sys/net/ipv4/tcp_fin_timeout", "3");
      write_file("/proc/sys/net/ipv4/tcp_syn_retries", "3");
      write_file("/proc/sys/net/ipv4/tcp_max_syn_backlog", "64");
      write_file("/proc/sys/net/ipv4/delaycc/count_flows", "1");
    }
  /* One pair believes in a slow line, so that its flows hold their packets. */
  enter(world.pairs[1].a_fd);
  write_file("/proc/sys/net/ipv4/delaycc/line_rate_mbps", "100");
}

/* The first counts, in one line. */
std::string summary() {
  std::string text;
  for (size_t i = 0; i < counts().size(); i++)
    text += (i ? " " : "") + std::to_string(counts()[i]->value());
  return text;
}

using Values = std::map<std::string, std::string>;

Values read_parameters() {
  Values values;
  for (auto& path : files_below("/proc/sys/net/ipv4/delaycc"))
    values[path] = read_file(path.c_str(), 4096);
  return values;
}

void make_calm(const std::vector<Values>& before) {
  size_t n = 0;
  for (size_t i = 0; i < world.pairs.size(); i++) {
    const Pair& pair = world.pairs[i];
    for (int fd : {pair.a_fd, pair.b_fd}) {
      enter(fd);
      for (auto& value : before[n++])
        write_file(value.first.c_str(), value.second.empty() ? "\n" : value.second);
    }
    for (auto& end : {pair.a, pair.b})
      ip_batch(end, "link set v mtu 1500\nlink set v up\naddr replace fd00:" + std::to_string(i) +
                        (end == pair.a ? "::1" : "::2") + "/64 dev v nodad\nroute replace 10.0." +
                        std::to_string(i) + ".0/24 dev v\nroute replace fd00:" + std::to_string(i) +
                        "::/64 dev v\n");
    set_qdisc(pair, 2);
  }
}

/* Says which worker does not come back from a step. */
class Watch {
 public:
  explicit Watch(std::vector<Worker*> workers) : workers_(std::move(workers)) {
    for (auto w : workers_) seen_.push_back({w->steps(), now_ms()});
  }
  void look() {
    for (size_t i = 0; i < workers_.size(); i++) {
      if (workers_[i]->done()) continue;
      uint64_t steps = workers_[i]->steps();
      if (steps != seen_[i].first)
        seen_[i] = {steps, now_ms()};
      else if (now_ms() - seen_[i].second > STUCK_MS)
        stuck(workers_[i]);
    }
  }

 private:
  [[noreturn]] static void stuck(const Worker* w) {
    wrong(std::string("the thread '") + w->name() + "' has not come back for " +
          std::to_string(STUCK_MS / 1000) + " s");
    /* The kernel prints where all tasks are. */
    write_file("/proc/sys/kernel/printk", "8");
    write_file("/proc/sysrq-trigger", "t");
    print_counts();
    reboot(RB_AUTOBOOT);
    for (;;) pause();
  }

  std::vector<Worker*> workers_;
  std::vector<std::pair<uint64_t, uint64_t>> seen_;
};

void end_workers(const std::vector<Worker*>& workers, std::vector<std::thread>& threads,
                 Watch& watch) {
  uint64_t shown = clock_ms();
  for (auto w : workers) w->stop();
  for (;;) {
    bool all = true, show = clock_ms() - shown >= 20000;
    for (auto w : workers) {
      if (w->done()) continue;
      all = false;
      if (show) printf("WAITS for %s, which is in\n%s", w->name(), w->stack().c_str());
    }
    if (all) break;
    if (show) shown = clock_ms();
    sleep_ms(200);
    watch.look();
  }
  for (auto& t : threads) t.join();
}

void stress(unsigned seconds, uint64_t seed) {
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  begin_leak_check();
  load_modules();
  make_pairs();
  set_limits();
  std::vector<Values> before;
  for (auto& pair : world.pairs)
    for (int fd : {pair.a_fd, pair.b_fd}) {
      enter(fd);
      before.push_back(read_parameters());
    }

  /* Threads begin where this one is; tcp_mem is only there. */
  enter(home);
  auto traffic = make_traffic(seed, static_cast<unsigned>(word_of("smp_connections", 16)));
  auto trouble = make_trouble(seed);
  std::vector<Worker*> all(traffic);
  all.insert(all.end(), trouble.begin(), trouble.end());
  Watch watch(all);
  std::vector<std::thread> traffic_threads, trouble_threads;
  for (auto w : traffic) traffic_threads.emplace_back([w] { w->work(); });
  for (auto w : trouble) trouble_threads.emplace_back([w] { w->work(); });

  uint64_t start = now_ms(), clock_start = clock_ms(), shown = clock_start;
  if (word_of("smp_corrupt", 0)) corrupt_bytes();
  while (now_ms() - start < seconds * 1000ULL) {
    sleep_ms(1000);
    watch.look();
    if (clock_ms() - shown < 20000) continue;
    shown = clock_ms();
    Unfinished u = unfinished(20000);
    printf("AT %llu s, %llu by the clock: %u transfers, %u of them still for 20 s; %s\n",
           static_cast<unsigned long long>((now_ms() - start) / 1000),
           static_cast<unsigned long long>((shown - clock_start) / 1000), u.open, u.still,
           summary().c_str());
  }

  printf("CALM\n");
  print_counts();
  for (auto w : all)
    printf("STEPS %llu %s\n", static_cast<unsigned long long>(w->steps()), w->name());
  let_traffic_end();
  end_workers(trouble, trouble_threads, watch);
  make_calm(before);
  printf("LETTING GO at %llu s\n", static_cast<unsigned long long>((now_ms() - start) / 1000));
  /* Whatever was done: now the data of all connections must come through. */
  uint64_t until = now_ms() + 2 * STILL_MS;
  Unfinished u = unfinished(STILL_MS);
  while (u.open && now_ms() < until) {
    sleep_ms(500);
    u = unfinished(STILL_MS);
    if (u.open && u.open == u.still) break;
  }
  if (u.open) {
    wrong(std::to_string(u.open) + " transfers did not end, " + std::to_string(u.still) +
          " of them still for " + std::to_string(STILL_MS / 1000) + " s");
    print_unfinished();
    for (auto& pair : world.pairs)
      for (int fd : {pair.a_fd, pair.b_fd}) {
        enter(fd);
        std::string sockets =
            read_file("/proc/thread-self/net/tcp") + read_file("/proc/thread-self/net/tcp6");
        fputs(sockets.c_str(), stdout);
      }
  }
  end_workers(traffic, traffic_threads, watch);

  printf("REMOVE at %llu s\n", static_cast<unsigned long long>((now_ms() - start) / 1000));
  enter(home);
  delete_pairs();
  remove_modules();
  end_leak_check();
}

/* Each fault is a load of the faulty module, which then does not stay. */
void show_faults(std::string names) {
  begin_leak_check();
  for (char* name = strtok(names.data(), ","); name; name = strtok(nullptr, ",")) {
    printf("FAULT %s\n", name);
    utsname release;
    uname(&release);
    int fd =
        open((std::string("/usr/lib/modules/") + release.release + "/test/smp_faulty.ko").c_str(),
             O_RDONLY);
    std::string option = std::string("fault=") + name;
    if (syscall(SYS_finit_module, fd, option.c_str(), 0) && errno != ECANCELED)
      wrong(option + ": " + strerror(errno));
    close(fd);
  }
  end_leak_check();
}

}  // namespace

Count::Count(const char* name) : name_(name) { counts().push_back(this); }

void print_counts() {
  for (auto c : counts())
    printf("COUNT %llu %s\n", static_cast<unsigned long long>(c->value()), c->name());
}

void wrong(const std::string& what) {
  if (wrongs.value() < 200) printf("WRONG %s\n", what.c_str());
  wrongs++;
}

std::string Worker::stack() const {
  return read_file(("/proc/self/task/" + std::to_string(tid_) + "/stack").c_str());
}

void Worker::work() {
  /* A report of the kernel names the thread. */
  pthread_setname_np(pthread_self(), name_);
  tid_ = gettid();
  begin();
  while (!stop_) {
    step();
    steps_++;
  }
  end();
  done_ = true;
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "poor"))
    return poor_process(argc > 2 ? strtoull(argv[2], nullptr, 10) : 1);

  mount_all();
  setvbuf(stdout, nullptr, _IOLBF, 0);
  utsname names;
  uname(&names);
  printf("BEGIN %s\n", names.release);
  printf("CLOCK %s",
         read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource").c_str());
  start_clock();
  /* It measures the processor's timer, and takes it for broken where the host was busy meanwhile.
   */
  timespec finest;
  if (!clock_getres(CLOCK_MONOTONIC, &finest) && finest.tv_nsec > 1) {
    printf("COARSE\n");
    fflush(stdout);
    sleep_ms(500);
    reboot(RB_AUTOBOOT);
  }
  write_debug("failslab/ignore-gfp-wait", "N");
  write_debug("failslab/verbose", "0");
  write_debug("kcsan", "on");

  const char* faults = getenv("smp_fault");
  if (faults)
    show_faults(faults);
  else
    stress(static_cast<unsigned>(word_of("smp_seconds", 30)), word_of("smp_seed", 1));
  print_counts();
  printf("END\n");
  fflush(stdout);
  sleep_ms(500);
  reboot(RB_AUTOBOOT);
  for (;;) pause();
}

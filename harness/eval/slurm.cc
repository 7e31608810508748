// SPDX-License-Identifier: Apache-2.0
#include "eval/slurm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "run/store.h"
#include "scenario/scenario_file.h"

extern char** environ;

namespace delaycc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Slurm's MaxArraySize is 1001 unless the site has changed it.
constexpr size_t kMostTasks = 1000;
// A trial whose job has gone three times without a result or a failure of its own is given up.
constexpr int kSubmissions = 3;
// squeue may fail while the controller restarts.
constexpr int kQueueFailures = 20;
constexpr int kFirstPollMs = 250;
constexpr int kLastPollMs = 5000;

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

std::string program_path() { return fs::read_symlink("/proc/self/exe").string(); }

// The name of the job in the queue, from before it is there until after it has gone.
std::string job_path(const fs::path& folder) { return (folder / "job").string(); }

struct Pending {
  TrialId id;
  int submissions = 0;
};

class Slurm {
 public:
  Slurm(TrialDispatcher& dispatcher, const EvalOptions& options, const EvalPlan& plan,
        TrialRunner& runner, Store& store, const EvalStop& stop)
      : dispatcher_(dispatcher),
        options_(options),
        plan_(plan),
        runner_(runner),
        store_(store),
        stop_(stop),
        folder_(fs::absolute(options.out) / "slurm") {
    fs::create_directories(folder_);
    while (fs::exists(manifest_path(batch_))) batch_++;
    first_batch_ = batch_;
  }

  ~Slurm() {
    try {
      cancel();
    } catch (const Error&) {
    }
  }

  void run() {
    for (;;) {
      take_new();
      if (pending_.empty()) return;
      submit();
      follow();
      if (!dispatcher_.wanted()) return;
    }
  }

 private:
  fs::path manifest_path(int batch) const { return folder_ / fmt::format("batch-{}.json", batch); }
  // Asks for further trials; those that the store or an older shard has are delivered at once.
  void take_new() {
    while (dispatcher_.wanted()) {
      const std::vector<TrialId> ids = dispatcher_.next(kMostTasks * 1000, 1);
      if (ids.empty()) break;
      for (const TrialId id : ids) {
        const std::string key = runner_.key(plan_.trial_case(id));
        if (auto found = runner_.stored(key)) {
          deliver(id, std::move(*found), true);
        } else {
          pending_[key] = {id, 0};
        }
      }
      merge();
      if (!pending_.empty()) break;
    }
  }

  void deliver(TrialId id, StoredTrial&& trial, bool resumed) {
    TrialOutcome outcome;
    outcome.trial = std::move(trial);
    outcome.resumed = resumed;
    dispatcher_.deliver(id, std::move(outcome));
  }

  void deliver_failure(TrialId id, const std::string& message) {
    TrialOutcome outcome;
    outcome.first_failure = outcome.failure = message;
    dispatcher_.deliver(id, std::move(outcome));
  }

  // No other job has it: the queue is that of all machines and folders of this user.
  std::string fresh_job_name() const {
    return fmt::format("delaycc-{}-{:016x}", plan_.scenarios.front().name,
                       (uint64_t{std::random_device()()} << 32) | std::random_device()());
  }

  void submit() {
    const size_t tasks =
        std::min({static_cast<size_t>(options_.jobs), pending_.size(), kMostTasks});
    std::vector<json> parts(tasks, json::array());
    // In order of number over all tasks, so that the first trials come first.
    std::vector<Pending*> order;
    for (auto& [key, pending] : pending_) order.push_back(&pending);
    std::sort(order.begin(), order.end(),
              [](const Pending* a, const Pending* b) { return a->id < b->id; });
    for (size_t i = 0; i < order.size(); i++) {
      order[i]->submissions++;
      const TrialCase c = plan_.trial_case(order[i]->id);
      parts[i % tasks].push_back({c.algorithm, c.number});
    }
    const fs::path manifest = manifest_path(batch_);
    json overrides;
    for (size_t a = 0; a < plan_.algorithms.size(); a++)
      overrides[plan_.algorithms[a]] = plan_.overrides[a];
    const json content = {{"build", runner_.build()},
                          {"scenario", fs::absolute(options_.scenario).string()},
                          {"overrides", overrides},
                          {"seed", options_.seed},
                          {"timeout_s", options_.timeout_s},
                          {"shards", folder_.string()},
                          {"batch", batch_},
                          {"tasks", parts}};
    write_file_atomically(manifest.string(), content.dump(1) + "\n");
    const std::string script = (folder_ / fmt::format("batch-{}.sh", batch_)).string();
    write_file(script, fmt::format("#!/bin/sh\nexec {} eval-task {}\n", quoted(program_path()),
                                   quoted(manifest.string())));
    const std::string name = fresh_job_name();
    write_file_atomically(job_path(folder_), name + "\n");
    std::vector<std::string> command = {
        "sbatch",
        "--parsable",
        fmt::format("--array=0-{}", tasks - 1),
        "--job-name=" + name,
        fmt::format("--output={}/batch-{}-%a.txt", folder_.string(), batch_),
        "--open-mode=append",
        "--requeue",
        "--chdir=" + folder_.string()};
    command.insert(command.end(), options_.slurm_options.begin(), options_.slurm_options.end());
    command.push_back(script);
    const ProgramResult result = run_program(command);
    if (result.status != 0)
      throw Error("sbatch failed: " +
                  trimmed(result.errors.empty() ? result.output : result.errors));
    // "ID" or "ID;CLUSTER"
    job_ = trimmed(result.output);
    job_ = job_.substr(0, job_.find(';'));
    if (job_.empty() || job_.find_first_not_of("0123456789") != std::string::npos)
      throw Error("sbatch printed \"" + trimmed(result.output) + "\" where a job's number is due");
    batch_++;
  }

  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
  }

  // Until every trial of the batch has come or the job has gone.
  void follow() {
    int poll_ms = kFirstPollMs;
    int64_t asked_ns = 0;
    for (;;) {
      // First the queue, then the shards: what a job wrote before it went is seen.
      bool there = true;
      if (monotonic_ns() - asked_ns >= int64_t{poll_ms} * 1'000'000) {
        there = in_queue();
        asked_ns = monotonic_ns();
        poll_ms = std::min(poll_ms * 5 / 4, kLastPollMs);
      }
      merge();
      if (stop_.stop) throw Interrupted();
      if (pending_.empty()) {
        cancel();  // what is still in the queue has nothing left to do
        return;
      }
      if (!dispatcher_.wanted()) {
        cancel();
        return;
      }
      if (!there) {
        forget_job();
        give_up_lost();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  void give_up_lost() {
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (it->second.submissions < kSubmissions) {
        ++it;
        continue;
      }
      deliver_failure(it->second.id, fmt::format("{} jobs ended without a word of it; see {}",
                                                 kSubmissions, folder_.string()));
      it = pending_.erase(it);
    }
  }

  bool in_queue() {
    const ProgramResult result = run_program({"squeue", "--noheader", "--jobs=" + job_});
    if (result.status == 0) {
      queue_failures_ = 0;
      return !trimmed(result.output).empty();
    }
    // Slurm forgets an ended job after a while (MinJobAge).
    if (result.errors.find("Invalid job id") != std::string::npos) return false;
    if (++queue_failures_ >= kQueueFailures)
      throw Error("squeue failed: " + trimmed(result.errors));
    return true;
  }

  void cancel() {
    if (job_.empty()) return;
    run_program({"scancel", job_});
    forget_job();
  }

  void forget_job() {
    job_.clear();
    std::error_code gone;
    fs::remove(job_path(folder_), gone);
  }

  // Takes what has come into shards since the last call.
  void merge() {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() != ".sqlite") continue;
      const std::string path = entry.path().string();
      std::error_code gone;
      const auto written =
          std::make_pair(fs::last_write_time(path, gone), fs::file_size(path, gone));
      if (gone || (merged_.count(path) && merged_[path] == written && !new_pending(path))) continue;
      merged_[path] = written;
      seen_pending_[path] = pending_.size();
      merge_shard(path);
    }
  }

  // A shard that was read before may have what has only now become wanted.
  bool new_pending(const std::string& path) { return pending_.size() > seen_pending_[path]; }

  void merge_shard(const std::string& path) {
    Store shard(path, Store::Sharing::kShared);
    for (const std::string& key : shard.keys()) {
      if (const auto it = pending_.find(key); it != pending_.end()) {
        StoredTrial trial = *shard.load(key);
        store_.save(trial);
        const TrialId id = it->second.id;
        pending_.erase(it);
        deliver(id, std::move(trial), false);
        checked_.insert(path + key);
      } else if (checked_.insert(path + key).second) {
        check_duplicate(path, *shard.load(key));
      }
    }
    // What failed under an earlier command is tried anew.
    if (batch_of(path) < first_batch_) return;
    for (const StoredFailure& failure : shard.failures())
      if (const auto it = pending_.find(failure.key); it != pending_.end()) {
        const TrialId id = it->second.id;
        pending_.erase(it);
        deliver_failure(id, failure.message);
      }
  }

  // Of "batch-BATCH-TASK-HOST-PID.sqlite"; -1 for another name.
  static int batch_of(const std::string& path) {
    int batch = -1;
    return std::sscanf(fs::path(path).filename().c_str(), "batch-%d-", &batch) == 1 ? batch : -1;
  }

  // Two jobs that ran the same trial must agree to the last bit.
  void check_duplicate(const std::string& path, const StoredTrial& trial) {
    const auto first = store_.load(trial.key);
    if (!first) return;
    for (const auto& [name, value] : first->result.metrics) {
      const auto other = trial.result.metrics.find(name);
      if (other == trial.result.metrics.end() || other->second.value != value.value)
        throw Error(fmt::format(
            "{}: {} of trial {} of {} differs from the same trial's on another machine: {} and {}",
            path, name, trial.number, trial.algorithm,
            other == trial.result.metrics.end() ? "none" : fmt::format("{}", other->second.value),
            value.value));
    }
  }

  TrialDispatcher& dispatcher_;
  const EvalOptions& options_;
  const EvalPlan& plan_;
  TrialRunner& runner_;
  Store& store_;
  const EvalStop& stop_;
  const fs::path folder_;
  int batch_ = 0;
  int first_batch_ = 0;  // of this command
  std::string job_;
  int queue_failures_ = 0;
  std::map<std::string, Pending> pending_;  // by key: trials that are wanted and have not come
  std::map<std::string, std::pair<fs::file_time_type, uintmax_t>> merged_;  // by shard
  std::map<std::string, size_t> seen_pending_;
  std::set<std::string> checked_;
};

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  Fd ends[2][2];  // of output and errors
  for (auto& pair : ends) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) throw system_error("pipe2", arguments.front());
    pair[0] = Fd(fds[0]);
    pair[1] = Fd(fds[1]);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[0][1].get(), 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1][1].get(), 2);
  // A group of its own: ^C is for us to handle.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == ENOENT)
    throw Error("no " + arguments.front() +
                " in PATH: --executor slurm needs Slurm's commands (Debian: slurm-client)");
  if (error != 0) throw system_error("posix_spawn", arguments.front(), error);
  ProgramResult result;
  std::string* texts[2] = {&result.output, &result.errors};
  pollfd fds[2];
  for (int i = 0; i < 2; i++) {
    ends[i][1].reset();
    fds[i] = {ends[i][0].get(), POLLIN, 0};
  }
  for (int open = 2; open > 0;) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR) throw system_error("poll", arguments.front());
    for (int i = 0; i < 2; i++) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(fds[i].fd, buffer, sizeof(buffer));
      if (n > 0) {
        texts[i]->append(buffer, static_cast<size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        fds[i].fd = -1;
        open--;
      }
    }
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw system_error("waitpid", arguments.front());
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

void cancel_left_over_job(const std::string& out) {
  const fs::path folder = fs::absolute(out) / "slurm";
  if (!fs::exists(job_path(folder))) return;
  run_program({"scancel", "--name=" + trimmed(read_file(job_path(folder)))});
  fs::remove(job_path(folder));
}

void run_on_slurm(TrialDispatcher& dispatcher, const EvalOptions& options, const EvalPlan& plan,
                  TrialRunner& runner, Store& store, const EvalStop& stop) {
  Slurm(dispatcher, options, plan, runner, store, stop).run();
}

int run_slurm_task(const std::string& manifest_path, const Backend& backend,
                   const std::atomic<bool>& stop) {
  const json manifest = json::parse(read_file(manifest_path), nullptr, false);
  const char* number = getenv("SLURM_ARRAY_TASK_ID");
  if (manifest.is_discarded()) throw Error(manifest_path + ": is no manifest of an evaluation");
  if (!number || !*number || strspn(number, "0123456789") != strlen(number))
    throw Error("SLURM_ARRAY_TASK_ID is not set: eval-task is started by Slurm");
  const auto& tasks = manifest.at("tasks");
  const size_t task = std::stoul(number);
  if (task >= tasks.size())
    throw Error(
        fmt::format("{}: has {} tasks, and this is number {}", manifest_path, tasks.size(), task));
  // The algorithms' scenarios differ where each has its own tilt.
  std::map<std::string, std::pair<Scenario, Parameters>> scenarios;
  for (const auto& [algorithm, overrides] : manifest.at("overrides").items()) {
    const ScenarioFile file(manifest.at("scenario").get<std::string>(),
                            overrides.get<std::vector<std::string>>());
    scenarios[algorithm] = {file.resolve(file.main_parameters()), file.main_parameters()};
  }
  TrialOptions options;
  options.seed = manifest.at("seed");
  options.timeout_s = manifest.at("timeout_s");
  // A task that Slurm starts twice has two shards.
  char host[256] = "host";
  gethostname(host, sizeof(host) - 1);
  Store shard(fmt::format("{}/batch-{}-{}-{}-{}.sqlite", manifest.at("shards").get<std::string>(),
                          manifest.at("batch").get<int>(), task, host, getpid()),
              Store::Sharing::kShared);
  TrialRunner runner(options, backend, shard, stop);
  if (runner.build() != manifest.at("build"))
    throw Error(
        fmt::format("{} has another build of its backend or of delaycc than the machine that "
                    "submitted the job",
                    host));
  int failures = 0;
  for (const auto& part : tasks[task]) {
    const std::string algorithm = part.at(0);
    const auto& [scenario, parameters] = scenarios.at(algorithm);
    const TrialCase c{scenario, parameters, 0, algorithm, part.at(1).get<int>()};
    const TrialOutcome outcome = runner.run(c);
    if (!outcome.first_failure.empty())
      fmt::print(stderr, "{} trial {}: {}: {}\n", c.algorithm, c.number,
                 outcome.trial ? "run again" : "failed twice", outcome.first_failure);
    if (outcome.trial) continue;
    shard.save_failure({runner.key(c), outcome.failure});
    failures++;
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace delaycc

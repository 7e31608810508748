// SPDX-License-Identifier: Apache-2.0
#include "run/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

namespace delaycc {
namespace {

// user_version of the file; a file of another layout is refused rather than misread.
constexpr int kLayout = 5;
constexpr char kSchema[] = R"(
CREATE TABLE IF NOT EXISTS trials (
  id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, scenario TEXT NOT NULL,
  parameters TEXT NOT NULL, overrides TEXT NOT NULL, algorithm TEXT NOT NULL,
  number INTEGER NOT NULL, seed INTEGER NOT NULL, build TEXT NOT NULL, kernel TEXT NOT NULL,
  event_ns INTEGER NOT NULL, bin_ns INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS metrics (
  trial INTEGER NOT NULL REFERENCES trials(id), name TEXT NOT NULL, value REAL NOT NULL,
  missed INTEGER NOT NULL, PRIMARY KEY (trial, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flows (
  trial INTEGER NOT NULL REFERENCES trials(id), flow INTEGER NOT NULL, cc TEXT NOT NULL,
  start_ns INTEGER, stop_ns INTEGER, received_ns INTEGER, received_bytes INTEGER NOT NULL,
  retransmits INTEGER NOT NULL, PRIMARY KEY (trial, flow)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS samples (
  trial INTEGER NOT NULL REFERENCES trials(id), sample INTEGER NOT NULL, flow INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL, fct_ns INTEGER NOT NULL, ideal_ns INTEGER NOT NULL,
  missed INTEGER NOT NULL, size_class INTEGER NOT NULL, log_weight REAL NOT NULL,
  uniform REAL NOT NULL, request INTEGER NOT NULL, PRIMARY KEY (trial, sample)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (key TEXT PRIMARY KEY, message TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue_samples (
  trial INTEGER NOT NULL REFERENCES trials(id), t_us INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (trial, t_us)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rates (
  trial INTEGER NOT NULL REFERENCES trials(id), curve INTEGER NOT NULL, label TEXT NOT NULL,
  main INTEGER NOT NULL, bin INTEGER NOT NULL, gbps REAL NOT NULL,
  PRIMARY KEY (trial, curve, bin)) WITHOUT ROWID;
)";

// Who holds the lock: known by the kernel, or, on another machine, by what it wrote into the file.
// Empty: nobody holds it any more.
std::string lock_owner(const Fd& lock, const std::string& name) {
  struct flock held = {};
  held.l_type = F_WRLCK;
  held.l_whence = SEEK_SET;
  if (fcntl(lock.get(), F_GETLK, &held) < 0) throw system_error("fcntl F_GETLK", name);
  if (held.l_type == F_UNLCK) return "";
  if (held.l_pid > 0) return "process " + std::to_string(held.l_pid);
  std::string owner = read_file(name);
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  return owner.empty() ? "another machine's program" : owner;
}

// Locks PATH.lock, in which the owner writes who it is. On its own file: SQLite locks the store
// itself with locks of the same kind. A record lock is the process's own: a lab that has been
// forked and has not yet become the lab does not keep it when the owner is killed, as it would keep
// flock().
Fd lock_store(const std::string& path) {
  const std::string name = path + ".lock";
  Fd lock = open_file(name, O_RDWR | O_CREAT);
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (fcntl(lock.get(), F_SETLK, &whole) < 0) {
    if (errno != EACCES && errno != EAGAIN) throw system_error("fcntl F_SETLK", name);
    if (const std::string owner = lock_owner(lock, name); !owner.empty())
      throw StoreError(path + ": is in use by " + owner +
                       "; wait for it, or name another folder with --out");
  }
  char host[256] = "?";
  gethostname(host, sizeof(host) - 1);
  const std::string owner = "process " + std::to_string(getpid()) + " on " + host + "\n";
  if (ftruncate(lock.get(), 0) < 0 ||
      pwrite(lock.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size()))
    throw system_error("write", name);
  return lock;
}

}  // namespace

class Store::Statement {
 public:
  Statement(Store& store, const char* sql) : store_(store) {
    if (sqlite3_prepare_v2(store.database_, sql, -1, &statement_, nullptr) != SQLITE_OK)
      throw store.error("prepare");
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <typename... Values>
  void run(const Values&... values) {
    bind_all(values...);
    step();
    sqlite3_reset(statement_);
  }
  template <typename... Values>
  void bind_all(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
  }
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) throw store_.error("step");
    return result == SQLITE_ROW;
  }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string text(int column) const {
    const unsigned char* found = sqlite3_column_text(statement_, column);
    if (!found) throw store_.broken(store_.path_ + ": a text is missing");
    return reinterpret_cast<const char*>(found);
  }

 private:
  void bind(int index, int64_t value) { check(sqlite3_bind_int64(statement_, index, value)); }
  void bind(int index, double value) { check(sqlite3_bind_double(statement_, index, value)); }
  void bind(int index, const std::string& value) {
    check(sqlite3_bind_text(statement_, index, value.c_str(), static_cast<int>(value.size()),
                            SQLITE_TRANSIENT));
  }
  // A time that did not come is NULL.
  void bind(int index, const std::optional<int64_t>& value) {
    if (value)
      bind(index, *value);
    else
      check(sqlite3_bind_null(statement_, index));
  }
  void check(int result) {
    if (result != SQLITE_OK) throw store_.error("bind");
  }

  Store& store_;
  sqlite3_stmt* statement_ = nullptr;
};

StoreError Store::error(const std::string& what) const {
  const std::string text = path_ + ": " + what + ": " + sqlite3_errmsg(database_);
  switch (sqlite3_errcode(database_) & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // a table or a column is missing
      return broken(text);
    default:
      return StoreError(text);
  }
}

// The remedy for a file that is no store, or no longer.
StoreError Store::broken(const std::string& text) const {
  return StoreError(text + "; move it away, and its trials are run again, or name another folder " +
                    "with --out");
}

void Store::execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw error("execute");
}

Store::Store(const std::string& path, Sharing sharing) : path_(path) {
  if (sharing == Sharing::kExclusive) lock_ = lock_store(path);
  if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) {
    const StoreError failed = error("open");
    sqlite3_close(database_);
    throw failed;
  }
  try {
    sqlite3_busy_timeout(database_, 10'000);
    // One transaction: nobody sees the tables without their layout's number.
    execute("BEGIN IMMEDIATE");
    const int64_t layout = number("PRAGMA user_version");
    const int64_t tables = number("SELECT count(*) FROM sqlite_master");
    if (tables > 0 && layout != kLayout)
      throw broken(path + ": was written by another version of delaycc");
    if (tables == 0) {
      execute(kSchema);
      execute(("PRAGMA user_version = " + std::to_string(kLayout)).c_str());
    }
    execute("COMMIT");
  } catch (const Error&) {
    sqlite3_close(database_);
    throw;
  }
}

int64_t Store::number(const char* query) {
  Statement statement(*this, query);
  statement.step();
  return statement.integer(0);
}

Store::~Store() { sqlite3_close(database_); }

void Store::save(const StoredTrial& trial) {
  execute("BEGIN IMMEDIATE");
  try {
    const TrialResult& result = trial.result;
    Statement(*this,
              "INSERT INTO trials (key, scenario, parameters, overrides, algorithm, number, seed, "
              "build, kernel, event_ns, bin_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(trial.key, trial.scenario, trial.parameters, trial.overrides, trial.algorithm,
             static_cast<int64_t>(trial.number), static_cast<int64_t>(trial.seed), trial.build,
             trial.kernel, result.event_ns, result.bin_ns);
    const int64_t id = sqlite3_last_insert_rowid(database_);
    Statement metric(*this, "INSERT INTO metrics VALUES (?, ?, ?, ?)");
    for (const auto& [name, value] : result.metrics)
      metric.run(id, name, value.value, static_cast<int64_t>(value.missed));
    Statement flow(*this, "INSERT INTO flows VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    auto when = [](int64_t ns) { return ns < 0 ? std::optional<int64_t>() : ns; };
    for (const FlowRecord& f : result.flows)
      flow.run(id, static_cast<int64_t>(f.id), f.cc, when(f.start_ns), when(f.stop_ns),
               when(f.received_ns), f.received_bytes, f.retransmits);
    Statement of_flow(*this, "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < result.samples.size(); i++) {
      const FlowSample& s = result.samples[i];
      of_flow.run(id, static_cast<int64_t>(i), static_cast<int64_t>(s.flow), s.size_bytes, s.fct_ns,
                  s.ideal_ns, static_cast<int64_t>(s.missed), static_cast<int64_t>(s.size_class),
                  s.log_weight, s.uniform, s.request);
    }
    if (trial.number == 0) {
      Statement sample(*this, "INSERT INTO queue_samples VALUES (?, ?, ?)");
      for (size_t i = 0; i < result.queue_bytes.size(); i++)
        sample.run(id, static_cast<int64_t>(i), static_cast<int64_t>(result.queue_bytes[i]));
      Statement rate(*this, "INSERT INTO rates VALUES (?, ?, ?, ?, ?, ?)");
      for (size_t c = 0; c < result.rates.size(); c++)
        for (size_t i = 0; i < result.rates[c].gbps.size(); i++)
          rate.run(id, static_cast<int64_t>(c), result.rates[c].label,
                   static_cast<int64_t>(result.rates[c].main), static_cast<int64_t>(i),
                   result.rates[c].gbps[i]);
    }
    execute("COMMIT");
  } catch (const Error&) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

bool Store::has(const std::string& key) {
  Statement find(*this, "SELECT 1 FROM trials WHERE key = ?");
  find.bind_all(key);
  return find.step();
}

std::vector<std::string> Store::keys() {
  std::vector<std::string> result;
  Statement find(*this, "SELECT key FROM trials ORDER BY key");
  while (find.step()) result.push_back(find.text(0));
  return result;
}

void Store::save_failure(const StoredFailure& failure) {
  Statement(*this, "INSERT OR REPLACE INTO failures VALUES (?, ?)")
      .run(failure.key, failure.message);
}

std::vector<StoredFailure> Store::failures() {
  std::vector<StoredFailure> result;
  Statement find(*this, "SELECT key, message FROM failures ORDER BY key");
  while (find.step()) result.push_back({find.text(0), find.text(1)});
  return result;
}

std::optional<StoredTrial> Store::load(const std::string& key) {
  Statement find(*this,
                 "SELECT id, scenario, parameters, algorithm, number, seed, build, kernel, "
                 "event_ns, bin_ns, overrides FROM trials WHERE key = ?");
  find.bind_all(key);
  if (!find.step()) return std::nullopt;
  StoredTrial trial;
  const int64_t id = find.integer(0);
  trial.key = key;
  trial.scenario = find.text(1);
  trial.parameters = find.text(2);
  trial.algorithm = find.text(3);
  trial.number = static_cast<int>(find.integer(4));
  trial.seed = static_cast<uint64_t>(find.integer(5));
  trial.build = find.text(6);
  trial.kernel = find.text(7);
  TrialResult& result = trial.result;
  result.event_ns = find.integer(8);
  result.bin_ns = find.integer(9);
  trial.overrides = find.text(10);
  Statement metrics(*this, "SELECT name, value, missed FROM metrics WHERE trial = ?");
  metrics.bind_all(id);
  while (metrics.step())
    result.metrics[metrics.text(0)] = {metrics.real(1), metrics.integer(2) != 0};
  Statement flows(
      *this,
      "SELECT flow, size_bytes, fct_ns, ideal_ns, missed, size_class, log_weight, uniform, "
      "request FROM samples WHERE trial = ? ORDER BY sample");
  flows.bind_all(id);
  while (flows.step()) {
    FlowSample s;
    s.flow = static_cast<int>(flows.integer(0));
    s.size_bytes = flows.integer(1);
    s.fct_ns = flows.integer(2);
    s.ideal_ns = flows.integer(3);
    s.missed = flows.integer(4) != 0;
    s.size_class = static_cast<int>(flows.integer(5));
    s.log_weight = flows.real(6);
    s.uniform = flows.real(7);
    s.request = flows.integer(8);
    result.samples.push_back(s);
  }
  Statement samples(*this, "SELECT bytes FROM queue_samples WHERE trial = ? ORDER BY t_us");
  samples.bind_all(id);
  while (samples.step()) result.queue_bytes.push_back(static_cast<uint32_t>(samples.integer(0)));
  Statement rates(*this,
                  "SELECT curve, label, main, gbps FROM rates WHERE trial = ? ORDER BY curve, bin");
  rates.bind_all(id);
  while (rates.step()) {
    const size_t curve = static_cast<size_t>(rates.integer(0));
    if (curve == result.rates.size())
      result.rates.push_back({rates.text(1), rates.integer(2) != 0, {}});
    if (curve >= result.rates.size()) throw broken(path_ + ": a rate curve is missing");
    result.rates[curve].gbps.push_back(rates.real(3));
  }
  return trial;
}

}  // namespace delaycc

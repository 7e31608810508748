// SPDX-License-Identifier: Apache-2.0
//
// Gives the recorded calls of a module's hooks (watched/) to its core in user space and to the BPF
// program, and compares what they decide with what the module did.
//
//   replay ALGORITHM RECORDS LINE_RATE_MBPS [OBJECT]
//
// ALGORITHM is a module's: for a paper's listing the parameter is set that makes the core it.
// OBJECT is replay.bpf.c as it was built for the core; without it the core alone runs.
// All other parameters have their defaults, and the base RTT is measured.
//
// Prints one JSON object: for each of "core", "bpf" (both with the module's note of each packet's
// send time) and "bpf_own_notes" (with the program's own) how many calls were compared, how many
// decided otherwise and the first of these; how many ACKs had an RTT, and by how much it was off at
// most; for the last also how many send times both have noted, and alike. All that follows a first
// stop (a core that asks for a probe) is not compared: a module probes in another way than a BPF
// program.
//
// Exit status: 0 it ran, whatever it found; 1 it could not; 77 not permitted.
#include <linux/types.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "dcc_ccc.h"
#include "dcc_ledbat.h"
#include "dcc_oscar.h"
#include "dcc_prioplus.h"
#include "dcc_sqcc.h"
#include "dcc_swift.h"
#include "dcc_tcp.h"
#include "dcc_thetapowertcp.h"
#include "dcc_timely.h"
#include "delaycc_bpf.h"
#include "replay.h"

namespace {

constexpr int kSkip = 77;
constexpr u32 kEventLoss = 3;  // CA_EVENT_LOSS of the kernel's enum tcp_ca_event
constexpr u32 kOverheadBytes = 14;

// What a call left, as in the record.
struct Outcome {
  u64 rate = 0;
  u32 cwnd = 0, result = 0, rtt_ns = 0, base_rtt_ns = 0;
  bool stopped = false;

  bool operator==(const Outcome& o) const {
    return rate == o.rate && cwnd == o.cwnd && result == o.result && rtt_ns == o.rtt_ns &&
           base_rtt_ns == o.base_rtt_ns;
  }
  std::string Text() const {
    std::ostringstream text;
    text << "rate " << rate << " cwnd " << cwnd << " result " << result << " rtt_ns " << rtt_ns
         << " base_rtt_ns " << base_rtt_ns;
    return text.str();
  }
};

Outcome Recorded(const watched_record& r) {
  Outcome out;
  out.rate = r.rate;
  out.cwnd = r.cwnd;
  out.result = r.result;
  out.rtt_ns = r.rtt_ns;
  out.base_rtt_ns = r.base_rtt_ns;
  return out;
}

// ---- the core in user space -------------------------------------------------

#define REPLAY_CORE(Name, name, times_retrans)                   \
  struct Name {                                                  \
    using State = dcc_##name;                                    \
    using Params = dcc_##name##_params;                          \
    static constexpr bool kTimesRetrans = times_retrans;         \
    static constexpr auto Default = dcc_##name##_params_default; \
    static constexpr auto Init = dcc_##name##_init;              \
    static constexpr auto Ack = dcc_##name##_ack;                \
    static constexpr auto Loss = dcc_##name##_loss;              \
    static constexpr auto Rto = dcc_##name##_rto;                \
    static constexpr auto Restart = dcc_##name##_restart;        \
  }

REPLAY_CORE(Ccc, ccc, true);
REPLAY_CORE(Ledbat, ledbat, false);
REPLAY_CORE(Oscar, oscar, false);
REPLAY_CORE(Prioplus, prioplus, true);
REPLAY_CORE(Sqcc, sqcc, false);
REPLAY_CORE(Swift, swift, false);
REPLAY_CORE(Thetapowertcp, thetapowertcp, false);
REPLAY_CORE(Timely, timely, false);

// A socket whose hooks are the contract alone: core/dcc_tcp.h and the core's functions.
template <class Core>
class UserSpace {
 public:
  UserSpace(u32 line_rate_mbps, u32 Core::Params::*field, u32 value)
      : line_rate_bps_(line_rate_mbps * 1000000ULL), field_(field), value_(value) {}

  Outcome operator()(const watched_record& r) {
    out_.rate = r.sk_pacing_rate;
    out_.cwnd = r.snd_cwnd;
    out_.result = 0;
    switch (r.call) {
      case WATCHED_INIT:
        Begin(r);
        break;
      case WATCHED_RELEASE:
        out_.rate = r.sk_max_pacing_rate;
        break;
      case WATCHED_MIN_TSO_SEGS:
        BeforeSending(r);
        break;
      case WATCHED_CONG_CONTROL:
        OnAck(r);
        break;
      case WATCHED_SET_STATE:
        OnState(r);
        break;
      case WATCHED_CWND_EVENT:
        if (r.argument == kEventLoss) Timeout(r);
        break;
      case WATCHED_SSTHRESH:
        out_.result = dcc_max_u32(r.snd_cwnd, 2);
        break;
      case WATCHED_UNDO_CWND:
        out_.result = r.snd_cwnd;
        break;
    }
    out_.rtt_ns = r.call == WATCHED_RELEASE ? 0 : tcp_.sampler.rtt_ns;
    out_.base_rtt_ns = r.call == WATCHED_RELEASE ? 0 : tcp_.model.path.base_rtt_ns;
    out_.stopped = control_.probe_ns != 0;
    return out_;
  }

 private:
  static dcc_tcp_view View(const watched_record& r) {
    dcc_tcp_view v = {};
    v.now_ns = r.tcp_clock_cache;
    v.now_us = r.tcp_mstamp;
    v.bytes_acked = r.bytes_acked;
    v.snd_nxt = r.snd_nxt;
    v.delivered = r.delivered;
    v.packets_out = r.packets_out;
    v.sacked_out = r.sacked_out;
    v.total_retrans = r.total_retrans;
    v.data_segs_in = r.data_segs_in;
    v.ca_state = r.icsk_ca_state;
    v.all_sent = r.write_seq == r.snd_nxt;
    v.rwnd_limited = r.chrono_type == 2;  // TCP_CHRONO_RWND_LIMITED
    v.sampled = r.sampled;
    v.is_retrans = r.is_retrans;
    v.is_app_limited = r.is_app_limited;
    v.is_ack_delayed = r.is_ack_delayed;
    v.rtt_us = r.rtt_us;
    v.acked_sacked = r.acked_sacked;
    v.prior_delivered = r.prior_delivered;
    v.last_end_seq = r.last_end_seq;
    return v;
  }

  void ReadPacket(const watched_record& r) {
    SetPriority(r);
    if (tcp_.sampler.mss == r.mss_cache) return;
    dcc_path_config config = {};
    config.line_rate_bps = line_rate_bps_;
    config.line_configured = true;
    dcc_tcp_configure(&tcp_, r.mss_cache,
                      r.net_header_len + r.icsk_ext_hdr_len + r.tcp_header_len + kOverheadBytes,
                      &config);
  }

  void SetPriority(const watched_record& r) {
    if constexpr (std::is_same_v<Core, Prioplus>) params_.priority = r.sk_priority;
  }

  void Apply(const watched_record& r) {
    const u32 burst = dcc_min_u32(r.sk_gso_max_segs, DCC_TCP_FULL_BURST);
    dcc_control control = control_;
    if (dcc_tcp_is_settled(&tcp_, &control_, r.snd_cwnd)) return;
    dcc_model_control(&tcp_.model, &control);
    dcc_tcp_add_probe(&tcp_, &control);
    out_.rate = dcc_min_u64(dcc_tcp_pace(&tcp_, &control), r.sk_max_pacing_rate);
    out_.cwnd = dcc_tcp_window(&tcp_, &control, r.delivered, burst, r.snd_cwnd_clamp);
    dcc_tcp_settle(&tcp_, &control_, out_.cwnd);
  }

  void Begin(const watched_record& r) {
    const dcc_tcp_view v = View(r);
    tcp_ = {};
    tcp_.sampler.times_retrans = Core::kTimesRetrans;
    dcc_tcp_begin(&tcp_, &v, r.srtt_us >> 3, r.min_rtt_us, r.tcp_wstamp_ns, r.snd_cwnd);
    Core::Default(&params_);
    if (field_ != nullptr) params_.*field_ = value_;
    ReadPacket(r);
    Core::Init(&state_, &tcp_.model.path, &params_, &control_);
    Apply(r);
  }

  void OnAck(const watched_record& r) {
    const dcc_tcp_view v = View(r);
    dcc_ack ack;
    ReadPacket(r);
    if (dcc_tcp_takes_loss(&tcp_))
      Core::Loss(&state_, &tcp_.model.path, &params_, v.now_ns, &control_);
    const u64 noted_ns =
        r.is_retrans ? dcc_sample_retrans_ns(r.rack_mstamp, r.rack_rtt_us, v.now_us, v.now_ns)
                     : r.noted_ns;
    if (dcc_tcp_sample(&tcp_, &v, noted_ns, &ack)) {
      ack.flows = r.flows;
      Core::Ack(&state_, &tcp_.model.path, &params_, &ack, &control_);
      tcp_.last_ack_ns = ack.now_ns;
    }
    Apply(r);
  }

  void OnState(const watched_record& r) {
    const auto event = dcc_tcp_state_event(r.icsk_ca_state, r.argument, r.high_seq, r.snd_una);
    if (event == DCC_TCP_LOSS) dcc_tcp_saw_loss(&tcp_);
    if (event != DCC_TCP_RTO) return;
    Timeout(r);
    out_.cwnd = r.snd_cwnd;
  }

  void Timeout(const watched_record& r) {
    dcc_tcp_takes_loss(&tcp_);
    Core::Rto(&state_, &tcp_.model.path, &params_, r.tcp_clock_cache, &control_);
    Apply(r);
  }

  void BeforeSending(const watched_record& r) {
    const dcc_tcp_pause pause = {r.tcp_clock_cache, r.tcp_wstamp_ns, r.packets_out, r.icsk_ca_state,
                                 r.app_limited != 0};
    out_.result = 1;
    if (!dcc_tcp_restarts(&tcp_, &pause)) return;
    Core::Restart(&state_, &tcp_.model.path, &params_, pause.now_ns, &control_);
    Apply(r);
  }

  u64 line_rate_bps_;
  u32 Core::Params::*field_;  // set to value_; nullptr: none
  u32 value_;
  dcc_tcp tcp_ = {};
  typename Core::State state_ = {};
  typename Core::Params params_ = {};
  dcc_control control_ = {};
  Outcome out_;
};

using Leg = std::function<Outcome(const watched_record&)>;

// field: the parameter that makes the core an algorithm of another name; nullptr: none.
template <class Core>
std::function<Leg(u32)> As(u32 Core::Params::*field = nullptr, u32 value = 0) {
  return [=](u32 line_rate_mbps) { return UserSpace<Core>(line_rate_mbps, field, value); };
}

// An algorithm as a module has it.
struct Algorithm {
  std::function<Leg(u32 line_rate_mbps)> core;
  const char* parameter = "";  // As() has its field, a BPF program its name; empty: none
  u32 value = 0;
};

const Algorithm& AlgorithmOf(const std::string& name) {
  static const std::map<std::string, Algorithm> algorithms = {
#ifdef DCC_PRIOPLUS_ON_LEDBAT
      {"prioplus_ledbat", {As<Prioplus>()}},
      {"prioledb_paper", {As<Prioplus>(&dcc_prioplus_params::paper, 1), "paper", 1}},
#else
      {"ccc", {As<Ccc>()}},
      {"ccc_paper", {As<Ccc>(&dcc_ccc_params::paper, 1), "paper", 1}},
      {"ledbat", {As<Ledbat>()}},
      {"oscar", {As<Oscar>()}},
      {"oscar_paper", {As<Oscar>(&dcc_oscar_params::paper, 1), "paper", 1}},
      {"patched_timely", {As<Timely>(&dcc_timely_params::patched, 1), "patched", 1}},
      {"prioplus", {As<Prioplus>()}},
      {"prioplus_paper", {As<Prioplus>(&dcc_prioplus_params::paper, 1), "paper", 1}},
      {"sqcc", {As<Sqcc>()}},
      {"sqcc_paper", {As<Sqcc>(&dcc_sqcc_params::paper, 1), "paper", 1}},
      {"swift", {As<Swift>()}},
      {"thetapowertcp", {As<Thetapowertcp>()}},
      {"timely", {As<Timely>()}},
#endif
  };
  const auto found = algorithms.find(name);
  if (found == algorithms.end())
    throw std::invalid_argument(name + ": is no algorithm that this program knows");
  return found->second;
}

// ---- the BPF program --------------------------------------------------------

struct NotPermitted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Bpf {
 public:
  Bpf(const std::string& file, const Algorithm& algorithm, u32 line_rate_mbps, bool own_notes)
      : own_notes_(own_notes) {
    object_.reset(bpf_object__open_file(file.c_str(), nullptr), bpf_object__close);
    if (!object_) throw std::runtime_error(file + ": " + strerror(errno));
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      const std::string name = bpf_program__name(program);
      bpf_program__set_autoload(program, name.rfind("replay", 0) == 0 || name == "dcc_defaults");
    }
    if (const int error = -bpf_object__load(object_.get()); error != 0) {
      if (error == EPERM) throw NotPermitted("loading BPF programs needs root");
      throw std::runtime_error(file + ": the kernel refuses it: " + strerror(error));
    }
    if (Run("dcc_defaults") != 0) throw std::runtime_error("no defaults");
    Set("line_rate_mbps", line_rate_mbps);
    if (*algorithm.parameter) Set(algorithm.parameter, algorithm.value);
  }

  Outcome operator()(const watched_record& r) {
    step_ = {};
    step_.record = r;
    step_.own_notes = own_notes_;
    Put("replay_step", &step_);
    if (Run("replay") != 0) throw std::runtime_error("the BPF program found no maps");
    Look("replay_step", &step_);
    Outcome out;
    out.rate = step_.rate;
    out.cwnd = step_.cwnd;
    out.result = step_.result;
    out.rtt_ns = r.call == WATCHED_RELEASE ? 0 : step_.rtt_ns;
    out.base_rtt_ns = r.call == WATCHED_RELEASE ? 0 : step_.base_rtt_ns;
    out.stopped = step_.stopped;
    return out;
  }

  // The newest call's.
  u64 noted_ns() const { return step_.noted_ns; }

 private:
  int Map(const char* name) const {
    const int fd = bpf_object__find_map_fd_by_name(object_.get(), name);
    if (fd < 0) throw std::runtime_error(std::string("no map ") + name);
    return fd;
  }
  void Set(const char* name, u32 value) const {
    replay_setting setting = {};
    snprintf(setting.name, sizeof(setting.name), "%s", name);
    setting.value = value;
    if (Run("replay_set", &setting, sizeof(setting)) != 0)
      throw std::runtime_error(std::string("no parameter ") + name);
  }
  void Look(const char* name, void* value) const {
    const u32 key = 0;
    if (bpf_map_lookup_elem(Map(name), &key, value) != 0)
      throw std::runtime_error(std::string("reading ") + name + ": " + strerror(errno));
  }
  void Put(const char* name, const void* value) const {
    const u32 key = 0;
    if (bpf_map_update_elem(Map(name), &key, value, BPF_ANY) != 0)
      throw std::runtime_error(std::string("writing ") + name + ": " + strerror(errno));
  }
  u32 Run(const char* name, void* context = nullptr, u32 context_bytes = 0) const {
    static const std::array<char, 64> packet = {};
    bpf_test_run_opts options = {};
    options.sz = sizeof(options);
    options.ctx_in = context;
    options.ctx_size_in = context_bytes;
    const bpf_program* program = bpf_object__find_program_by_name(object_.get(), name);
    // Only a program of packets takes one.
    if (bpf_program__type(program) == BPF_PROG_TYPE_SCHED_CLS) {
      options.data_in = packet.data();
      options.data_size_in = packet.size();
    }
    if (bpf_prog_test_run_opts(bpf_program__fd(program), &options) != 0)
      throw std::runtime_error(std::string("running ") + name + ": " + strerror(errno));
    return options.retval;
  }

  std::shared_ptr<bpf_object> object_;
  bool own_notes_;
  replay_step step_ = {};
};

// ---- comparison ---------------------------------------------------------------

struct Comparison {
  std::size_t compared = 0, different = 0;
  std::size_t notes = 0, same_notes = 0, acks = 0;
  u32 rtt_error_ns = 0;
  std::string first;

  std::string Json() const {
    std::ostringstream out;
    out << "{\"compared\": " << compared << ", \"different\": " << different
        << ", \"acks\": " << acks << ", \"rtt_error_ns\": " << rtt_error_ns
        << ", \"notes\": " << notes << ", \"same_notes\": " << same_notes << ", \"first\": \""
        << first << "\"}";
    return out.str();
  }
};

// noted: the leg's own note of the newest call, or none.
Comparison Compare(const std::vector<watched_record>& records, const Leg& leg,
                   const std::function<u64()>& noted) {
  Comparison found;
  for (std::size_t i = 0; i < records.size(); i++) {
    const watched_record& r = records[i];
    const Outcome own = leg(r), module = Recorded(r);
    if (own.stopped) break;
    found.compared++;
    if (r.call == WATCHED_CONG_CONTROL && r.sampled && r.rtt_us >= 0) {
      found.acks++;
      found.rtt_error_ns =
          dcc_max_u32(found.rtt_error_ns, dcc_max_u32(own.rtt_ns, module.rtt_ns) -
                                              dcc_min_u32(own.rtt_ns, module.rtt_ns));
      if (noted && !r.is_retrans && r.noted_ns && noted()) {
        found.notes++;
        found.same_notes += noted() == r.noted_ns;
      }
    }
    if (own == module) continue;
    if (found.different++ == 0)
      found.first = "record " + std::to_string(i) + ", call " + std::to_string(r.call) + ": " +
                    own.Text() + ", the module: " + module.Text();
  }
  return found;
}

std::vector<watched_record> Read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": " + strerror(errno));
  std::vector<watched_record> records;
  for (watched_record r; in.read(reinterpret_cast<char*>(&r), sizeof(r));) records.push_back(r);
  if (in.gcount() != 0) throw std::runtime_error(file + ": is cut off");
  return records;
}

void Run(const std::vector<std::string>& arguments) {
  static_assert(sizeof(watched_record) == 256);
  const std::vector<watched_record> records = Read(arguments[1]);
  const u32 mbps = static_cast<u32>(std::stoul(arguments[2]));
  const Algorithm& algorithm = AlgorithmOf(arguments[0]);
  std::map<u32, std::size_t> calls;
  for (const watched_record& r : records) calls[r.call]++;
  std::cout << "{\"core\": " << Compare(records, algorithm.core(mbps), nullptr).Json();
  if (arguments.size() > 3) {
    Bpf with_notes(arguments[3], algorithm, mbps, false);
    Bpf with_own(arguments[3], algorithm, mbps, true);
    std::cout << ", \"bpf\": " << Compare(records, std::ref(with_notes), nullptr).Json()
              << ", \"bpf_own_notes\": " << Compare(records, std::ref(with_own), [&with_own] {
                                              return with_own.noted_ns();
                                            }).Json();
  }
  std::cout << ", \"calls\": {";
  for (const auto& [call, n] : calls)
    std::cout << (call == calls.begin()->first ? "" : ", ") << '"' << call << "\": " << n;
  std::cout << "}}\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4 && argc != 5)
      throw std::invalid_argument("usage: replay ALGORITHM RECORDS LINE_RATE_MBPS [OBJECT]");
    Run({argv + 1, argv + argc});
    return 0;
  } catch (const NotPermitted& reason) {
    std::printf("%s\n", reason.what());
    return kSkip;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 1;
  }
}

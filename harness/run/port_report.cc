// SPDX-License-Identifier: Apache-2.0
#include "run/port_report.h"

#include <algorithm>
#include <deque>

#include "base/statistics.h"
#include "metrics/curves.h"

namespace delaycc {
namespace {

using nlohmann::json;

constexpr size_t kShownPorts = 8;
constexpr size_t kShownFlows = 20;
constexpr int64_t kRateSteps = 500;
// Ports with less than one in so many of the busiest one's bytes carry a program's control
// messages.
constexpr uint64_t kLeastShare = 1000;
constexpr double kNsPerUs = 1000;
// A port without a data packet for so long is idle: of a program that waits, not of the network.
constexpr int64_t kPauseNs = 1'000'000;

// A direction of a connection, by its ports.
using FlowKey = std::pair<uint16_t, uint16_t>;

struct PortLog {
  const LoggedPort* port = nullptr;
  std::vector<const PacketRecord*> packets;
  uint64_t bytes = 0;                 // of data packets: an end that sends ACKs alone has none
  int64_t first_ns = 0, last_ns = 0;  // begin of the first data packet's service, end of the last's
  int64_t pauses_ns = 0;              // long times without any in service
};

bool dropped(const PacketRecord& p) { return p.flags & (kPacketDropTail | kPacketDropLoss); }

struct Logs {
  std::map<int, PortLog> by_id;
  std::vector<const PortLog*> busiest;  // with data
  int64_t from_ns = 0, to_ns = 0;       // of all data
};

Logs sort_packets(const std::vector<PacketRecord>& packets,
                  const std::map<int, LoggedPort>& ports) {
  Logs logs;
  bool any = false;
  for (const PacketRecord& p : packets) {
    const auto port = ports.find(p.port_id);
    if (port == ports.end()) continue;
    PortLog& log = logs.by_id[p.port_id];
    log.port = &port->second;
    log.packets.push_back(&p);
    if (p.payload_bytes == 0) continue;
    if (!dropped(p) && p.depart_ns != kNotDeparted) {
      log.bytes += p.len_bytes;
      const auto left_ns = static_cast<int64_t>(p.depart_ns);
      const uint64_t service_ns = uint64_t{p.len_bytes} * 8'000'000'000 / log.port->rate_bps;
      const int64_t begin_ns = left_ns - static_cast<int64_t>(service_ns);
      if (log.last_ns == 0) log.first_ns = log.last_ns = begin_ns;
      if (begin_ns - log.last_ns > kPauseNs) log.pauses_ns += begin_ns - log.last_ns;
      log.last_ns = std::max(log.last_ns, left_ns);
    }
    const auto at_ns = static_cast<int64_t>(p.arrival_ns);
    logs.from_ns = any ? std::min(logs.from_ns, at_ns) : at_ns;
    logs.to_ns = std::max({logs.to_ns, at_ns, log.last_ns});
    any = true;
  }
  uint64_t most = 0;
  for (const auto& [id, log] : logs.by_id) most = std::max(most, log.bytes);
  for (const auto& [id, log] : logs.by_id)
    if (log.bytes > 0 && log.bytes >= most / kLeastShare) logs.busiest.push_back(&log);
  std::stable_sort(logs.busiest.begin(), logs.busiest.end(),
                   [](const PortLog* a, const PortLog* b) { return a->bytes > b->bytes; });
  return logs;
}

const PortLog* log_named(const Logs& logs, const std::string& name) {
  for (const auto& [id, log] : logs.by_id)
    if (log.port->name == name) return &log;
  return nullptr;
}

// RTTs of a sender's segments: from their arrival at `out` to that of the ACK which covers them
// behind `back`, the link's other end. A segment that was sent twice counts from the first time.
std::vector<double> rtts_us(const PortLog& out, const PortLog& back) {
  struct Stream {
    bool any = false;
    int64_t high = 0;                                 // first byte above all sent, unwrapped
    std::deque<std::pair<int64_t, int64_t>> waiting;  // end of a segment, time it arrived
  };
  std::map<FlowKey, Stream> streams;
  std::vector<double> rtts;
  auto ack = back.packets.begin();
  const auto take_acks = [&](int64_t until_ns) {
    for (; ack != back.packets.end(); ++ack) {
      const PacketRecord& p = **ack;
      if (dropped(p) || p.depart_ns == kNotDeparted) continue;
      const int64_t at_ns = static_cast<int64_t>(p.depart_ns + back.port->delay_ns);
      if (at_ns > until_ns) break;
      const auto found = streams.find({p.dport, p.sport});
      if (found == streams.end()) continue;
      Stream& stream = found->second;
      const int64_t acked = unwrap(p.ack_seq, stream.high);
      while (!stream.waiting.empty() && stream.waiting.front().first <= acked) {
        rtts.push_back(static_cast<double>(at_ns - stream.waiting.front().second) / kNsPerUs);
        stream.waiting.pop_front();
      }
    }
  };
  for (const PacketRecord* p : out.packets) {
    if (p->payload_bytes == 0) continue;
    const auto at_ns = static_cast<int64_t>(p->arrival_ns);
    take_acks(at_ns);
    Stream& stream = streams[{p->sport, p->dport}];
    const int64_t end = (stream.any ? unwrap(p->seq, stream.high) : p->seq) + p->payload_bytes;
    if (stream.any && end <= stream.high) continue;
    stream.any = true;
    stream.high = end;
    stream.waiting.emplace_back(end, at_ns);
  }
  take_acks(INT64_MAX);
  return rtts;
}

PortFigures figures_of(const Logs& logs, const PortLog& log) {
  PortFigures f;
  f.name = log.port->name;
  double backlog = 0;
  for (const PacketRecord* p : log.packets) {
    if (dropped(*p)) {
      f.drops++;
      continue;
    }
    f.packets++;
    f.marks += (p->flags & kPacketMarked) != 0;
    backlog += p->backlog_bytes;
    f.queue_max_bytes = std::max(f.queue_max_bytes, static_cast<double>(p->backlog_bytes));
  }
  if (f.packets > 0) f.queue_mean_bytes = backlog / static_cast<double>(f.packets);
  const auto time_ns =
      static_cast<double>(std::max<int64_t>(1, log.last_ns - log.first_ns - log.pauses_ns));
  f.mean_gbps = static_cast<double>(log.bytes) * 8 / time_ns;
  f.utilisation = f.mean_gbps * 1e9 / static_cast<double>(log.port->rate_bps);
  if (const PortLog* back = log_named(logs, log.port->peer)) {
    std::vector<double> rtts = rtts_us(log, *back);
    if (!rtts.empty()) {
      f.rtt_p50_us = percentile(rtts, 0.5);
      f.rtt_p99_us = percentile(rtts, 0.99);
    }
  }
  return f;
}

json queue_of(const Logs& logs, const PortLog& log, json* times) {
  json bytes = json::array();
  const auto add = [&](uint64_t at_ns, double value) {
    times->push_back(static_cast<double>(static_cast<int64_t>(at_ns) - logs.from_ns) / kNsPerUs);
    bytes.push_back(value);
  };
  uint64_t empty_ns = 0;
  for (const PacketRecord* p : log.packets) {
    const auto at_ns = static_cast<int64_t>(p->arrival_ns);
    if (at_ns < logs.from_ns || at_ns > logs.to_ns) continue;
    if (empty_ns != 0 && empty_ns < p->arrival_ns) add(empty_ns, 0);
    add(p->arrival_ns, p->backlog_bytes);
    if (!dropped(*p) && p->depart_ns != kNotDeparted) empty_ns = p->depart_ns;
  }
  if (empty_ns != 0) add(empty_ns, 0);
  return bytes;
}

json rates_of(const Logs& logs, const PortLog& log) {
  const int64_t step_ns = std::max<int64_t>(1000, (logs.to_ns - logs.from_ns) / kRateSteps);
  const auto steps = static_cast<size_t>((logs.to_ns - logs.from_ns) / step_ns) + 1;
  std::map<FlowKey, std::vector<double>> bytes;
  for (const PacketRecord* p : log.packets) {
    if (dropped(*p) || p->depart_ns == kNotDeparted || p->payload_bytes == 0) continue;
    std::vector<double>& mine = bytes[{p->sport, p->dport}];
    mine.resize(steps);
    mine[static_cast<size_t>((static_cast<int64_t>(p->depart_ns) - logs.from_ns) / step_ns)] +=
        p->len_bytes;
  }
  std::vector<std::pair<double, FlowKey>> order;
  for (const auto& [key, values] : bytes) {
    double total = 0;
    for (double v : values) total += v;
    order.emplace_back(-total, key);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kShownFlows) order.resize(kShownFlows);
  json rates = json::array();
  for (const auto& [total, key] : order) {
    json times = json::array(), gbps = json::array();
    for (size_t i = 0; i < steps; i++) {
      times.push_back(static_cast<double>(static_cast<int64_t>(i) * step_ns) / kNsPerUs);
      gbps.push_back(bytes[key][i] * 8 / static_cast<double>(step_ns));
    }
    rates.push_back({{"label", std::to_string(key.first) + " to " + std::to_string(key.second)},
                     {"t_us", times},
                     {"gbps", gbps}});
  }
  return rates;
}

}  // namespace

PortReport port_report(const std::vector<PacketRecord>& packets,
                       const std::map<int, LoggedPort>& ports, const std::string& title,
                       const std::string& repeat, const std::vector<std::string>& notes) {
  const Logs logs = sort_packets(packets, ports);
  PortReport report = {{}, json::object()};
  if (logs.busiest.empty()) return report;
  for (const PortLog* log : logs.busiest) report.figures.push_back(figures_of(logs, *log));
  json algorithms = json::object(), curves = json::object(), order = json::array();
  for (size_t i = 0; i < std::min(kShownPorts, logs.busiest.size()); i++) {
    const PortLog& log = *logs.busiest[i];
    const PortFigures& f = report.figures[i];
    json values = json::object();
    const auto set = [&](const char* key, double value, const char* unit) {
      values[key] = {{"mean", value}, {"n", 1}, {"unit", unit}};
    };
    set("mean_gbps", f.mean_gbps, "Gbit/s");
    set("utilisation", f.utilisation, "");
    set("queue_mean_bytes", f.queue_mean_bytes, "bytes");
    set("queue_max_bytes", f.queue_max_bytes, "bytes");
    if (f.rtt_p50_us >= 0) set("rtt_p50_us", f.rtt_p50_us, "us");
    if (f.rtt_p99_us >= 0) set("rtt_p99_us", f.rtt_p99_us, "us");
    set("drops", static_cast<double>(f.drops), "packets");
    set("marks", static_cast<double>(f.marks), "packets");
    algorithms[f.name] = values;
    json times = json::array();
    json queue = queue_of(logs, log, &times);
    curves[f.name] = {{"t_us", times}, {"queue_bytes", queue}, {"rates", rates_of(logs, log)}};
    order.push_back(f.name);
  }
  json all_notes = {
      "Each column is an end of a link that sends; times begin with the first packet."};
  if (logs.busiest.size() > kShownPorts)
    all_notes.push_back("Shown are the " + std::to_string(kShownPorts) + " busiest of " +
                        std::to_string(logs.busiest.size()) + " ends of links with data.");
  for (const std::string& note : notes) all_notes.push_back(note);
  const auto metric = [](const char* key, const char* label) {
    return json{{"key", key}, {"label", label}};
  };
  report.page = {
      {"scenario", title},
      {"title", title},
      {"algorithms", algorithms},
      {"order", order},
      {"curves", curves},
      {"main_metric", "queue_mean_bytes"},
      {"metrics",
       {metric("mean_gbps", "Rate on the wire"), metric("utilisation", "Utilisation"),
        metric("queue_mean_bytes", "Queue that packets found, mean"),
        metric("queue_max_bytes", "Queue that packets found, largest"),
        metric("rtt_p50_us", "RTT, median"), metric("rtt_p99_us", "RTT, 99th percentile"),
        metric("drops", "Packets dropped"), metric("marks", "Packets marked CE")}},
      {"repeat", repeat},
      {"notes", all_notes}};
  return report;
}

}  // namespace delaycc

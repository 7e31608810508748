// SPDX-License-Identifier: Apache-2.0
#include "metrics/view.h"

#include <algorithm>
#include <deque>

#include "spec/packet.h"

namespace delaycc {
namespace {

constexpr uint16_t kDropped = kPacketDropTail | kPacketDropLoss;

bool is_data(const PacketRecord& packet) { return packet.dport < kClientPort; }

// Pairs one flow's packets with the ACKs that cover them.
class RttMeter {
 public:
  void sent(uint32_t seq, uint32_t payload_bytes, int64_t now_ns) {
    if (payload_bytes == 0) return;
    if (!any_) high_ = seq;
    any_ = true;
    const int64_t begin = unwrap(seq, high_);
    const int64_t end = begin + payload_bytes;
    if (begin < high_)
      for (auto it = segments_.rbegin(); it != segments_.rend() && it->end > begin; ++it)
        it->repeated = true;
    // What follows the repeated bytes in the same packet is sent for the first time.
    if (end <= high_) return;
    segments_.push_back({end, now_ns, begin < high_});
    high_ = end;
  }

  struct Acknowledged {
    std::vector<int64_t> sent_ns;  // first transmissions of the packets that the ACK covers first
    // When the packet was sent that the ACK ends with; -1 if it covers one that was sent more than
    // once, so that nobody knows which transmission it answers (Karn).
    int64_t last_sent_ns = -1;
  };
  Acknowledged acknowledged(uint32_t ack_seq) {
    Acknowledged result;
    if (!any_) return result;
    const int64_t ack = unwrap(ack_seq, high_);
    bool repeated = false;
    while (!segments_.empty() && segments_.front().end <= ack) {
      const Segment& segment = segments_.front();
      repeated = repeated || segment.repeated;
      result.last_sent_ns = segment.end == ack ? segment.sent_ns : -1;
      result.sent_ns.push_back(segment.sent_ns);
      segments_.pop_front();
    }
    if (repeated) result.last_sent_ns = -1;
    return result;
  }

 private:
  struct Segment {
    int64_t end;
    int64_t sent_ns;
    bool repeated;
  };
  bool any_ = false;
  int64_t high_ = 0;
  std::deque<Segment> segments_;
};

unsigned kinds_of(LogChoice log, const Records& records) {
  unsigned kinds = kFlowRecords;
  if (log != LogChoice::kNone) kinds |= kBottleneckPackets;
  if (log >= LogChoice::kAll) kinds |= kEndPackets;
  if (!records.decisions.empty()) kinds |= kDecisions;
  if (records.calibration.echoes > 0) kinds |= kEchoRecords;
  if (!records.nic_rtts.empty()) kinds |= kNicRtts;
  return kinds;
}

// Fills what the view has of the port log.
class LogReader {
 public:
  explicit LogReader(TrialView& view)
      : view_(view), last_sent_ns_(view.plan.flows.size(), -1), meters_(view.plan.flows.size()) {
    view_.per_flow.assign(view.plan.flows.size(), ServiceCurve(view.m.bottleneck_bps));
    for (const PacketRecord& packet : view_.records.packets) {
      if (packet.port_id == view_.m.bottleneck_port) at_bottleneck(packet);
      if (is_data(packet) && (packet.flags & kDropped)) view_.drops++;
      at_ends(packet);
    }
    // With priorities the order in which packets leave is not that in which they came.
    std::stable_sort(
        view_.departures.begin(), view_.departures.end(),
        [](const Departure& a, const Departure& b) { return a.depart_ns < b.depart_ns; });
    for (const Departure& departure : view_.departures)
      if (departure.flow >= 0)
        view_.per_flow[static_cast<size_t>(departure.flow)].add(departure.depart_ns,
                                                                departure.bytes);
  }

  // When each flow's last segment came to its sender's port, by flow id; -1: never.
  const std::vector<int64_t>& last_sent_ns() const { return last_sent_ns_; }

 private:
  int flow_id(const PacketRecord& packet) const {
    return flow_of(is_data(packet) ? packet.sport : packet.dport, view_.plan.flows.size());
  }

  void at_bottleneck(const PacketRecord& packet) {
    const bool data = is_data(packet);
    const bool dropped = packet.flags & kDropped;
    view_.offered += data;
    view_.lost += data && dropped;
    if (dropped) return;
    const int64_t arrival_ns = view_.relative(packet.arrival_ns);
    const int64_t depart_ns = view_.relative(packet.depart_ns);
    view_.packets.push_back({arrival_ns, depart_ns, packet.len_bytes});
    view_.backlogs.emplace_back(arrival_ns, packet.backlog_bytes);
    if (packet.depart_ns != kNotDeparted)
      view_.departures.push_back({depart_ns, packet.len_bytes, data ? flow_id(packet) : -1, data,
                                  packet.seq, packet.payload_bytes});
  }

  void at_ends(const PacketRecord& packet) {
    const int id = flow_id(packet);
    if (id < 0) return;
    const size_t i = static_cast<size_t>(id);
    const int port = packet.port_id;
    const bool data = is_data(packet);
    if (data && port == view_.m.host_port[i]) {
      const int64_t arrival_ns = view_.relative(packet.arrival_ns);
      meters_[i].sent(packet.seq, packet.payload_bytes, arrival_ns);
      if (packet.payload_bytes > 0) last_sent_ns_[i] = arrival_ns;
    } else if (!data && port == view_.m.return_port[i] && !(packet.flags & kDropped)) {
      const int64_t depart_ns = view_.relative(packet.depart_ns);
      const int64_t delivered_ns = depart_ns + delay_ns(port, depart_ns);
      const RttMeter::Acknowledged acked = meters_[i].acknowledged(packet.ack_seq);
      for (const int64_t sent_ns : acked.sent_ns) view_.rtts.push_back({id, sent_ns, delivered_ns});
      if (acked.last_sent_ns >= 0) view_.ack_rtts.push_back({id, acked.last_sent_ns, delivered_ns});
    }
  }

  int64_t delay_ns(int port, int64_t depart_ns) const {
    auto ns = static_cast<int64_t>(view_.m.port_delay_ns[static_cast<size_t>(port)]);
    if (const auto steps = view_.m.port_delay_steps.find(port);
        steps != view_.m.port_delay_steps.end())
      for (const auto& [from_ns, later_ns] : steps->second)
        if (from_ns <= depart_ns) ns = later_ns;
    return ns;
  }

  TrialView& view_;
  std::vector<int64_t> last_sent_ns_;
  std::vector<RttMeter> meters_;
};

int64_t find_event(const TrialView& view, const std::vector<int64_t>& last_sent_ns) {
  const EventSpec& event = view.m.event;
  if (!event.present || event.at_ns >= 0) return event.present ? event.at_ns : -1;
  int64_t last_ns = -1;
  for (const FlowPlan& flow : view.plan.flows) {
    if (flow.group != event.stop_of) continue;
    const size_t id = static_cast<size_t>(flow.id);
    const FlowRecord& record = view.records.flows.at(id);
    if (record.stop_ns < 0 && record.received_ns < 0) return -1;
    last_ns = std::max(last_ns, record.stop_ns >= 0 ? record.stop_ns : last_sent_ns[id]);
  }
  return last_ns;
}

}  // namespace

int flow_of(uint16_t client_port, size_t flows) {
  const int id = client_port - kClientPort;
  return id >= 0 && static_cast<size_t>(id) < flows ? id : -1;
}

bool inside(const std::vector<TimeSpan>& time, int64_t t_ns) {
  for (const TimeSpan& interval : time)
    if (t_ns >= interval.first && t_ns < interval.second) return true;
  return false;
}

int64_t length(const std::vector<TimeSpan>& time) {
  int64_t sum = 0;
  for (const TimeSpan& interval : time) sum += interval.second - interval.first;
  return sum;
}

int64_t TrialView::end_of(const FlowRecord& flow) const {
  if (flow.stop_ns >= 0) return flow.stop_ns;
  return flow.received_ns >= 0 ? flow.received_ns : plan.end_ns;
}

TrialView::TrialView(const CompiledTrial& trial, const Records& trial_records)
    : plan(trial.plan),
      m(trial.measurement),
      records(trial_records),
      kinds(kinds_of(m.log, trial_records)),
      time(measured_time(m.measure.from_ns, m.measure.to_ns, m.measure.exclude_ns)),
      samples(flow_samples(trial, trial_records)) {
  const LogReader log(*this);
  event_ns = find_event(*this, log.last_sent_ns());
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/recorder.h"

#include <arpa/inet.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace delaycc {
namespace {

bool is_data(const SeenPacket& packet) {
  return packet.payload_bytes > 0 || (packet.flags & (kPacketSyn | kPacketFin));
}

bool is_logged(const PortPlan& port, const SeenPacket& packet) {
  return port.log_flags & (is_data(packet) ? kPortLogData : kPortLogAcks);
}

bool is_host(const Plan& plan, int node) {
  return !plan.nodes.at(static_cast<size_t>(node)).address.empty();
}

// A switch's port towards a host of which only ACKs are logged: their delivery is what counts, and
// the host's own tap sees that.
bool is_delivery(const Plan& plan, const EndPlan& here, const EndPlan& there) {
  return !is_host(plan, here.node) && is_host(plan, there.node) &&
         !(here.port.log_flags & kPortLogData);
}

PacketRecord record_of(const SeenPacket& seen, const PortPlan& port) {
  PacketRecord record = {};
  record.len_bytes = seen.len_bytes;
  record.seq = seen.seq;
  record.ack_seq = seen.ack_seq;
  record.payload_bytes = seen.payload_bytes;
  record.sport = seen.sport;
  record.dport = seen.dport;
  record.port_id = static_cast<uint16_t>(port.id);
  record.flags = seen.flags;
  return record;
}

// Calls `each` with the two ends of every port that the plan logs: the port's own, and the other.
template <typename Each>
void each_logged_port(const Plan& plan, Each each) {
  for (const LinkPlan& link : plan.links)
    for (const auto& [here, there] : {std::pair(&link.a, &link.b), std::pair(&link.b, &link.a)})
      if (here->port.log_flags & (kPortLogData | kPortLogAcks)) each(*here, *there);
}

uint64_t absolute(int64_t ns) { return static_cast<uint64_t>(std::max<int64_t>(ns, 0)); }

class PortRecorder {
 public:
  PortRecorder(const Plan& plan, const ShapedNetwork& shaped, const SeenByNode& seen,
               int64_t from_ns)
      : plan_(plan), shaped_(shaped), seen_(seen), from_ns_(from_ns) {
    each_logged_port(plan, [&](const EndPlan& here, const EndPlan& there) {
      if (is_host(plan, here.node))
        host_port(here);
      else if (is_delivery(plan, here, there))
        delivery(here.port, there);
      else
        queue(here);
    });
    std::stable_sort(
        records_.begin(), records_.end(),
        [](const PacketRecord& a, const PacketRecord& b) { return a.arrival_ns < b.arrival_ns; });
  }

  std::vector<PacketRecord> take() { return std::move(records_); }

 private:
  // What leaves a host is seen when its serialisation begins; how long it waited is not.
  void host_port(const EndPlan& here) {
    for (const SeenPacket& seen : seen_.at(static_cast<size_t>(here.node))) {
      if (!seen.outgoing || seen.ifindex != here.ifindex || !is_logged(here.port, seen)) continue;
      PacketRecord record = record_of(seen, here.port);
      record.arrival_ns = absolute(seen.time_ns);
      record.depart_ns = absolute(seen.time_ns + service_ns(here.port, seen.len_bytes));
      record.backlog_bytes = seen.len_bytes;
      add(record);
    }
  }

  void delivery(const PortPlan& port, const EndPlan& host) {
    for (const SeenPacket& seen : seen_.at(static_cast<size_t>(host.node))) {
      if (seen.outgoing || seen.ifindex != host.ifindex || !is_logged(port, seen)) continue;
      PacketRecord record = record_of(seen, port);
      record.depart_ns = absolute(seen.time_ns - static_cast<int64_t>(port.delay_ns));
      record.arrival_ns = record.depart_ns;
      record.backlog_bytes = seen.len_bytes;
      add(record);
    }
  }

  // Packets come in at any interface of the switch and go out at this one.
  void queue(const EndPlan& here) {
    const Shaping& shaping = shaped_.port(here.port.id);
    const int64_t depart_shift_ns =
        shaped_.uplink_ns() - shaping.uplink_ns - static_cast<int64_t>(here.port.delay_ns);
    std::vector<Waiting> waiting;
    // Of a packet that is sent again every field but the IP header's number is the same.
    using Key = std::tuple<uint16_t, uint16_t, uint32_t, uint32_t, uint32_t, uint16_t>;
    std::map<Key, std::deque<size_t>> inside;
    size_t last_out = 0;
    for (const SeenPacket& seen : seen_.at(static_cast<size_t>(here.node))) {
      const Key key = {seen.sport,   seen.dport,         seen.seq,
                       seen.ack_seq, seen.payload_bytes, seen.ip_id};
      if (!seen.outgoing) {
        if (!leads_here(here, seen)) continue;
        inside[key].push_back(waiting.size());
        waiting.push_back({seen, seen.time_ns + shaped_.uplink_ns(), -1, false});
      } else if (seen.ifindex == here.ifindex) {
        const auto found = inside.find(key);
        if (found == inside.end()) continue;  // it came before the tap was there
        Waiting& packet = waiting[found->second.front()];
        last_out = std::max(last_out, found->second.front());
        found->second.pop_front();
        if (found->second.empty()) inside.erase(found);
        packet.depart_ns = std::max(seen.time_ns + depart_shift_ns, packet.arrival_ns);
        packet.marked = seen.congested && !packet.seen.congested;
      }
    }
    add_queue(here.port, shaping, waiting, last_out);
  }

  struct Waiting {
    SeenPacket seen;
    int64_t arrival_ns;
    int64_t depart_ns;  // -1: not seen
    bool marked;
  };

  void add_queue(const PortPlan& port, const Shaping& shaping, const std::vector<Waiting>& waiting,
                 size_t last_out) {
    std::deque<std::pair<int64_t, uint32_t>> queued;  // departure, bytes
    uint64_t backlog = 0;
    for (size_t i = 0; i < waiting.size(); i++) {
      const Waiting& packet = waiting[i];
      while (!queued.empty() && queued.front().first <= packet.arrival_ns) {
        backlog -= queued.front().second;
        queued.pop_front();
      }
      PacketRecord record = record_of(packet.seen, port);
      record.arrival_ns = absolute(packet.arrival_ns);
      const bool dropped = packet.depart_ns < 0 && i < last_out;
      if (dropped) {
        record.backlog_bytes = static_cast<uint32_t>(backlog);
        // Both can be: random loss is known by the room that there was.
        const uint64_t full = uint64_t{shaping.limit_bytes};
        const bool room = backlog + uint64_t{2} * packet.seen.len_bytes < full;
        record.flags |= shaping.loss_ppm > 0 && room ? kPacketDropLoss : kPacketDropTail;
      } else {
        backlog += packet.seen.len_bytes;
        record.backlog_bytes = static_cast<uint32_t>(backlog);
        record.depart_ns = packet.depart_ns < 0 ? kNotDeparted : absolute(packet.depart_ns);
        queued.emplace_back(packet.depart_ns < 0 ? INT64_MAX : packet.depart_ns,
                            packet.seen.len_bytes);
        if (packet.marked) record.flags |= kPacketMarked;
      }
      if (is_logged(port, packet.seen)) add(record);
    }
  }

  // Whether the node's route to the packet's destination leads through this port.
  bool leads_here(const EndPlan& here, const SeenPacket& seen) {
    const auto [it, fresh] = routes_.try_emplace({here.ifindex, seen.destination}, false);
    if (!fresh) return it->second;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &seen.destination, text, sizeof(text));
    const std::string to = std::string(text) + "/32";
    for (const RoutePlan& route : plan_.routes)
      if (route.node == here.node && route.destination == to)
        it->second = it->second ||
                     std::count(route.ifindexes.begin(), route.ifindexes.end(), here.ifindex) > 0;
    return it->second;
  }

  static int64_t service_ns(const PortPlan& port, uint32_t bytes) {
    return port.rate_bps == 0
               ? 0
               : static_cast<int64_t>(bytes * 8e9 / static_cast<double>(port.rate_bps));
  }

  void add(const PacketRecord& record) {
    if (record.arrival_ns >= absolute(from_ns_)) records_.push_back(record);
  }

  const Plan& plan_;
  const ShapedNetwork& shaped_;
  const SeenByNode& seen_;
  const int64_t from_ns_;
  std::map<std::pair<int, uint32_t>, bool> routes_;  // by interface and destination
  std::vector<PacketRecord> records_;
};

}  // namespace

std::vector<bool> tapped_nodes(const Plan& plan) {
  std::vector<bool> tapped(plan.nodes.size(), false);
  each_logged_port(plan, [&](const EndPlan& here, const EndPlan& there) {
    const int node = is_delivery(plan, here, there) ? there.node : here.node;
    tapped[static_cast<size_t>(node)] = true;
  });
  return tapped;
}

std::vector<PacketRecord> port_records(const Plan& plan, const ShapedNetwork& shaped,
                                       const SeenByNode& seen, int64_t from_ns) {
  return PortRecorder(plan, shaped, seen, from_ns).take();
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "runner/host/host_records.h"

#include <algorithm>
#include <map>

#include "runner/host/flow_finder.h"
#include "spec/packet.h"

namespace delaycc {
namespace {

class HostRecorder {
 public:
  HostRecorder(const Order& order, int64_t from_ns)
      : order_(order), finder_(order.plan), from_ns_(from_ns) {
    for (const LinkPlan& link : order.plan.links)
      for (const EndPlan* end : {&link.a, &link.b})
        ports_[static_cast<int>(end->port.id)] = end->port;
  }

  void add(const SeenPacket& seen) {
    bool data = false;
    const FlowPlan* found = finder_.find(seen, &data);
    if (!found) return;
    const FlowPlan& flow = *found;
    const FlowPorts& ports = order_.ports.at(static_cast<size_t>(flow.id));
    if (seen.outgoing && data && flow.source == order_.node)
      add_at(ports.host_port, seen, 0);
    else if (!seen.outgoing && !data && flow.source == order_.node)
      add_at(ports.return_port, seen, delay_ns(ports.return_port));
    else if (!seen.outgoing && data && flow.destination == order_.node)
      for (const int port : ports.passed) add_at(port, seen, 0);
  }

  std::vector<PacketRecord> take() {
    std::stable_sort(
        records_.begin(), records_.end(),
        [](const PacketRecord& a, const PacketRecord& b) { return a.arrival_ns < b.arrival_ns; });
    return std::move(records_);
  }

 private:
  int64_t delay_ns(int port) const {
    return port < 0 ? 0 : static_cast<int64_t>(ports_.at(port).delay_ns);
  }

  // The packet left the port `before_ns` before it was seen.
  void add_at(int port, const SeenPacket& seen, int64_t before_ns) {
    const int64_t at_ns = seen.time_ns - before_ns;
    if (port < 0 || seen.time_ns < from_ns_ || at_ns < 0) return;
    PacketRecord record = {};
    record.arrival_ns = record.depart_ns = static_cast<uint64_t>(at_ns);
    record.ack_seq = seen.ack_seq;
    record.sport = seen.sport;
    record.dport = seen.dport;
    record.port_id = static_cast<uint16_t>(port);
    record.flags = seen.flags;
    const uint32_t headers = seen.len_bytes - seen.payload_bytes;
    const auto most = static_cast<uint32_t>(order_.plan.mtu_bytes - kTcpIpBytes);
    for (uint32_t done = 0; done == 0 || done < seen.payload_bytes;) {
      const uint32_t payload = std::min(most, seen.payload_bytes - done);
      record.seq = seen.seq + done;
      record.payload_bytes = static_cast<uint16_t>(payload);
      record.len_bytes = record.backlog_bytes = headers + payload;
      records_.push_back(record);
      done += payload;
      if (payload == 0) break;
    }
  }

  const Order& order_;
  const FlowFinder finder_;
  const int64_t from_ns_;
  std::map<int, PortPlan> ports_;  // by id
  std::vector<PacketRecord> records_;
};

}  // namespace

std::vector<PacketRecord> host_records(const Order& order, const std::vector<SeenPacket>& seen,
                                       int64_t from_ns) {
  HostRecorder recorder(order, from_ns);
  for (const SeenPacket& packet : seen) recorder.add(packet);
  return recorder.take();
}

}  // namespace delaycc

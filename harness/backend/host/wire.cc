// SPDX-License-Identifier: Apache-2.0
#include "backend/host/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/posix.h"

namespace delaycc {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowPorts, host_port, return_port, passed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StampOrder, device, peer)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundStamps, kind, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PtpOrder, socket)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PtpState, trouble, grandmaster, error_ns, real_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, build, host, kernel, root, algorithms, modules)

namespace {

using nlohmann::json;

constexpr size_t kMaxHeaderBytes = 64;

// The next `count` records of `text` from `*at` on.
template <typename Record>
std::vector<Record> take_records(const std::string& text, size_t* at, size_t count) {
  if (count > (text.size() - *at) / sizeof(Record)) throw Error("records of a runner are cut");
  std::vector<Record> records(count);
  if (count > 0) memcpy(records.data(), text.data() + *at, count * sizeof(Record));
  *at += count * sizeof(Record);
  return records;
}

template <typename Record>
std::string_view bytes_of(const std::vector<Record>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)};
}

template <typename T>
T parse(const std::string& text, const char* what) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception& e) {
    throw Error(std::string(what) + ": " + e.what());
  }
}

}  // namespace

bool FrameReader::take(Frame* frame) {
  const size_t line = text_.find('\n');
  if (line == std::string::npos && text_.size() <= kMaxHeaderBytes) return false;
  const std::string header = text_.substr(0, std::min(line, kMaxHeaderBytes));
  const size_t space = header.find(' ');
  size_t bytes = 0;
  bool right = space != std::string::npos && space > 0 && space + 1 < header.size() &&
               header.size() < kMaxHeaderBytes - 1;
  for (size_t i = 0; right && i < header.size(); i++) {
    const auto c = static_cast<unsigned char>(header[i]);
    right = i < space ? std::islower(c) : i == space || std::isdigit(c);
    if (i > space) bytes = bytes * 10 + (c - '0');
  }
  if (!right || header.size() - space > 13) throw Error("said \"" + header + "\"");
  if (text_.size() - line - 1 < bytes) return false;
  frame->name = header.substr(0, space);
  frame->payload = text_.substr(line + 1, bytes);
  text_.erase(0, line + 1 + bytes);
  return true;
}

void send_frame(int fd, std::string_view name, std::string_view payload) {
  const std::string header = std::string(name) + " " + std::to_string(payload.size()) + "\n";
  for (std::string_view part : {std::string_view(header), payload})
    while (!part.empty()) {
      ssize_t n = send(fd, part.data(), part.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == ENOTSOCK) n = write(fd, part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error("write", std::string("frame ") + std::string(name));
      part.remove_prefix(static_cast<size_t>(n));
    }
}

std::string order_to_json(const Order& order) {
  const json text = {{"plan", plan_to_json(order.plan)},
                     {"node", order.node},
                     {"device", order.device},
                     {"qdisc", order.qdisc},
                     {"ports", order.ports},
                     {"nic_stamps", order.nic_stamps}};
  return text.dump();
}

Order order_from_json(const std::string& text) {
  const auto found = parse<json>(text, "order");
  try {
    Order order;
    order.plan = plan_from_json(found.at("plan").get<std::string>());
    found.at("node").get_to(order.node);
    found.at("device").get_to(order.device);
    found.at("qdisc").get_to(order.qdisc);
    found.at("ports").get_to(order.ports);
    found.at("nic_stamps").get_to(order.nic_stamps);
    return order;
  } catch (const json::exception& e) {
    throw Error(std::string("order: ") + e.what());
  }
}

std::string hello_to_json(const Hello& hello) { return json(hello).dump(); }
Hello hello_from_json(const std::string& text) { return parse<Hello>(text, "greeting"); }

std::string stamp_order_to_json(const StampOrder& order) { return json(order).dump(); }
StampOrder stamp_order_from_json(const std::string& text) {
  return parse<StampOrder>(text, "order of stamps");
}

std::string found_stamps_to_json(const FoundStamps& found) { return json(found).dump(); }
FoundStamps found_stamps_from_json(const std::string& text) {
  return parse<FoundStamps>(text, "stamps");
}

std::string ptp_order_to_json(const PtpOrder& order) { return json(order).dump(); }
PtpOrder ptp_order_from_json(const std::string& text) {
  return parse<PtpOrder>(text, "order of clocks");
}

std::string ptp_state_to_json(const PtpState& state) { return json(state).dump(); }
PtpState ptp_state_from_json(const std::string& text) { return parse<PtpState>(text, "clocks"); }

std::string pack_records(const Records& records) {
  const std::string flows = flows_to_json(records.kernel, records.flows, records.calibration);
  const json head = {{"flows", flows},
                     {"packets", records.packets.size()},
                     {"decisions", records.decisions.size()},
                     {"nic_rtts", records.nic_rtts.size()}};
  std::string text = head.dump() + "\n";
  text += bytes_of(records.packets);
  text += bytes_of(records.decisions);
  text += bytes_of(records.nic_rtts);
  return text;
}

Records unpack_records(const std::string& text) {
  const size_t line = std::min(text.find('\n'), text.size());
  const auto head = parse<json>(text.substr(0, line), "records");
  try {
    Records records;
    parse_flows(head.at("flows").get<std::string>(), "records of a runner", &records);
    size_t at = std::min(line + 1, text.size());
    records.packets = take_records<PacketRecord>(text, &at, head.at("packets").get<size_t>());
    records.decisions = take_records<Decision>(text, &at, head.at("decisions").get<size_t>());
    records.nic_rtts = take_records<NicRtt>(text, &at, head.at("nic_rtts").get<size_t>());
    return records;
  } catch (const json::exception& e) {
    throw Error(std::string("records of a runner: ") + e.what());
  }
}

}  // namespace delaycc

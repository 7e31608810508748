// SPDX-License-Identifier: Apache-2.0
#include "metrics/curves.h"

#include <algorithm>

namespace delaycc {

std::vector<TimeSpan> measured_time(int64_t from_ns, int64_t to_ns,
                                    const std::vector<TimeSpan>& exclude_ns) {
  std::vector<TimeSpan> sorted = exclude_ns;
  std::sort(sorted.begin(), sorted.end());
  std::vector<TimeSpan> result;
  int64_t at = from_ns;
  for (const TimeSpan& gap : sorted) {
    const int64_t begin = std::min(gap.first, to_ns);
    if (begin > at) result.emplace_back(at, begin);
    at = std::max(at, std::min(gap.second, to_ns));
  }
  if (at < to_ns) result.emplace_back(at, to_ns);
  return result;
}

void ServiceCurve::add(int64_t depart_ns, uint32_t bytes) {
  depart_ns_.push_back(depart_ns);
  total_bytes_.push_back((total_bytes_.empty() ? 0 : total_bytes_.back()) + bytes);
}

double ServiceCurve::bytes_until(int64_t t_ns) const {
  const auto next = std::upper_bound(depart_ns_.begin(), depart_ns_.end(), t_ns);
  const size_t i = static_cast<size_t>(next - depart_ns_.begin());
  const uint64_t done = i == 0 ? 0 : total_bytes_[i - 1];
  if (next == depart_ns_.end()) return static_cast<double>(done);
  // The next packet is in service for bytes / rate before it departs.
  const double bytes = static_cast<double>(total_bytes_[i] - done);
  const double left = static_cast<double>(*next - t_ns) * static_cast<double>(rate_bps_) / 8e9;
  return static_cast<double>(done) + std::max(0.0, bytes - left);
}

int64_t unwrap(uint32_t seq, int64_t reference) {
  return reference + static_cast<int32_t>(seq - static_cast<uint32_t>(reference));
}

uint32_t StreamCoverage::add(uint32_t seq, uint32_t length) {
  if (length == 0) return 0;
  if (!any_) high_ = seq;
  any_ = true;
  const int64_t begin = unwrap(seq, high_);
  const int64_t end = begin + length;
  int64_t fresh = 0;
  // What lies in holes.
  auto it = holes_.upper_bound(begin);
  if (it != holes_.begin()) --it;
  while (it != holes_.end() && it->first < end) {
    const int64_t hole_begin = it->first, hole_end = it->second;
    const int64_t cut_begin = std::max(begin, hole_begin), cut_end = std::min(end, hole_end);
    if (cut_begin >= cut_end) {
      ++it;
      continue;
    }
    fresh += cut_end - cut_begin;
    it = holes_.erase(it);
    if (hole_begin < cut_begin) holes_[hole_begin] = cut_begin;
    if (cut_end < hole_end) it = holes_.emplace(cut_end, hole_end).first;
  }
  if (end > high_) {
    if (begin > high_) holes_[high_] = begin;
    fresh += end - std::max(begin, high_);
    high_ = end;
  }
  return static_cast<uint32_t>(fresh);
}

std::vector<uint32_t> queue_curve(const std::vector<QueuedPacket>& packets, int64_t end_ns) {
  std::vector<uint32_t> curve;
  curve.reserve(static_cast<size_t>(end_ns / kGridNs + 1));
  // A server with priorities does not keep the order.
  const auto earlier = [](const QueuedPacket& a, const QueuedPacket& b) {
    return a.depart_ns < b.depart_ns;
  };
  std::vector<QueuedPacket> sorted;
  if (!std::is_sorted(packets.begin(), packets.end(), earlier)) {
    sorted = packets;
    std::stable_sort(sorted.begin(), sorted.end(), earlier);
  }
  const std::vector<QueuedPacket>& departures = sorted.empty() ? packets : sorted;
  size_t arrived = 0, departed = 0;
  int64_t backlog = 0;
  for (int64_t t = 0; t < end_ns; t += kGridNs) {
    while (arrived < packets.size() && packets[arrived].arrival_ns <= t)
      backlog += packets[arrived++].bytes;
    while (departed < departures.size() && departures[departed].depart_ns <= t)
      backlog -= departures[departed++].bytes;
    curve.push_back(static_cast<uint32_t>(backlog));
  }
  return curve;
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
#include "spec/workload.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/random.h"
#include "spec/packet.h"

namespace delaycc {
namespace {

constexpr double kMaxBytes = 0x1p40;
constexpr size_t kMostFileBytes = 16 << 20;  // of a file of sizes
// A file that ends within 1 % of the whole has lost its end to rounding.
constexpr double kEndTolerance = 0.01;

// Independent parts of one trial.
enum Stream : uint64_t { kFlows, kRequests };
// What a draw is for.
enum Draw : uint64_t { kGap, kSize, kSource, kDestination, kDraws };

double draw(uint64_t seed, int trial, uint64_t stream, Draw what, uint64_t index) {
  return uniform_draw(seed, static_cast<uint64_t>(trial), stream * kDraws + what, index);
}

// Web search of DCTCP's cluster (2010), Facebook's Hadoop (2015) and Alibaba's storage (2019):
// bytes, percent.
constexpr EmpiricalCdf::Point kWebSearch[] = {{0, 0},          {10'000, 15},     {20'000, 20},
                                              {30'000, 30},    {50'000, 40},     {80'000, 53},
                                              {200'000, 60},   {1'000'000, 70},  {2'000'000, 80},
                                              {5'000'000, 90}, {10'000'000, 97}, {30'000'000, 100}};
constexpr EmpiricalCdf::Point kFbHadoop[] = {
    {0, 0},        {100, 1},      {200, 2},          {300, 5},        {350, 15},
    {400, 20},     {500, 30},     {600, 40},         {700, 50},       {1'000, 60},
    {2'000, 67},   {7'000, 70},   {30'000, 72},      {50'000, 82},    {80'000, 87},
    {120'000, 90}, {300'000, 95}, {1'000'000, 97.5}, {2'000'000, 99}, {10'000'000, 100}};
constexpr EmpiricalCdf::Point kAliStorage[] = {
    {0, 0},          {4'000, 22.93},   {8'000, 69.21},   {16'000, 80.61}, {32'000, 90.47},
    {64'000, 93.53}, {128'000, 96.77}, {256'000, 97.53}, {2'000'000, 100}};
// Roy et al. 2015, flow sizes of cache followers, all destinations: points read off the figure.
constexpr EmpiricalCdf::Point kCacheFollower[] = {{0, 0},
                                                  {75, 3},
                                                  {320, 7},
                                                  {350, 16},
                                                  {480, 24.5},
                                                  {730, 31},
                                                  {1'300, 36},
                                                  {4'000, 42},
                                                  {12'000, 47},
                                                  {30'000, 51.5},
                                                  {75'000, 57.5},
                                                  {150'000, 63.5},
                                                  {300'000, 72.5},
                                                  {430'000, 75.5},
                                                  {1'100'000, 78.5},
                                                  {1'600'000, 81},
                                                  {2'000'000, 85.5},
                                                  {2'300'000, 89.5},
                                                  {2'600'000, 95},
                                                  {2'900'000, 98},
                                                  {4'400'000, 99.5},
                                                  {12'500'000, 99.75},
                                                  {28'000'000, 100}};

std::string percent(double cumulative, double whole) {
  char text[32];
  snprintf(text, sizeof(text), "%.6g", cumulative / whole * 100);
  return std::string(text) + " %";
}

// Words of a line, without its comment.
std::vector<std::string> words_of(std::string line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string> words;
  for (size_t i = 0; (i = line.find_first_not_of(" \t\r", i)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(" \t\r", i), line.size());
    words.push_back(line.substr(i, end - i));
    i = end;
  }
  return words;
}

// The integral of ceil(t / m) from 0 to x.
double ceil_integral(double x, double m) {
  const double k = std::floor(x / m);
  return m * k * (k + 1) / 2 + (k + 1) * (x - k * m);
}

double uniform_index(double u, size_t count) { return std::floor(u * static_cast<double>(count)); }

template <typename T>
const T& pick(const std::vector<T>& from, double u) {
  return from.at(static_cast<size_t>(uniform_index(u, from.size())));
}

std::vector<int> without(const std::vector<int>& hosts, int host) {
  std::vector<int> rest;
  for (int h : hosts)
    if (h != host) rest.push_back(h);
  return rest;
}

int64_t arrivals_end(const WorkloadSpec& spec, int64_t duration_ns) {
  return spec.until_ns < 0 ? duration_ns : std::min(spec.until_ns, duration_ns);
}

// Mean time between two flows.
double flow_gap_ns(const WorkloadSpec& spec, const WorkloadHosts& hosts) {
  const double packets = spec.sizes->mean_packets(hosts.mtu_bytes - kTcpIpBytes);
  return wire_bytes(spec.sizes->mean(), packets) * 8e9 / (spec.load * hosts.rate_bps);
}

// Mean time between two requests.
double request_gap_ns(const WorkloadSpec& spec, const WorkloadHosts& hosts) {
  const IncastSpec& incast = spec.incast;
  const double size = static_cast<double>(incast.size_bytes);
  const double packets = std::ceil(size / (hosts.mtu_bytes - kTcpIpBytes));
  return incast.fan_in * wire_bytes(size, packets) * 8e9 / (incast.load * hosts.rate_bps);
}

}  // namespace

EmpiricalCdf EmpiricalCdf::parse(const std::string& text, const std::string& name) {
  std::vector<Point> points;
  int number = 0;
  auto fail = [&](const std::string& what) {
    throw Error(name + ":" + std::to_string(number) + ": " + what);
  };
  auto read_number = [&](const std::string& word, const char* what) {
    double value = 0;
    const char* end = word.data() + word.size();
    const auto r = std::from_chars(word.data(), end, value);
    if (r.ec != std::errc() || r.ptr != end || !std::isfinite(value))
      fail(std::string(what) + " \"" + word + "\" is not a number");
    if (value < 0) fail(std::string(what) + " " + word + " is negative, allowed is 0 or more");
    return value;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string> words = words_of(text.substr(at, end - at));
    at = end + 1;
    number++;
    if (words.empty()) continue;
    if (words.size() != 2)
      fail("has " + std::to_string(words.size()) + " columns, allowed are two: bytes, cumulative");
    const Point point = {read_number(words[0], "size"), read_number(words[1], "cumulative")};
    if (point.bytes > kMaxBytes) fail("size " + words[0] + " is too large, allowed is up to 2^40");
    if (point.cumulative > 100 * (1 + 1e-9))
      fail("cumulative " + words[1] + " is above 100 %, allowed is up to 1, or up to 100");
    if (point.bytes == 0 && point.cumulative > 0)
      fail("flows of 0 bytes have the share " + words[1] + ", allowed is none");
    if (!points.empty() && point.bytes < points.back().bytes)
      fail("size " + words[0] + " is below the one before, allowed are rising sizes");
    if (!points.empty() && point.cumulative < points.back().cumulative)
      fail("cumulative " + words[1] + " falls, allowed is at least the one before");
    points.push_back(point);
  }
  if (points.empty()) fail("is empty, allowed are lines of bytes and cumulative share");
  const double last = points.back().cumulative;
  const double whole = last > 1 + 1e-9 ? 100 : 1;
  if (last < whole * (1 - kEndTolerance))
    fail("the last cumulative is " + percent(last, whole) +
         ", allowed is 100 % (as 1 or as 100, within 1 %)");
  if (points.back().bytes == 0) fail("no flow has a byte");
  for (Point& point : points) point.cumulative /= last;
  return EmpiricalCdf(name, std::move(points));
}

EmpiricalCdf EmpiricalCdf::read(const std::string& path) {
  return parse(read_regular_file(path, kMostFileBytes), path);
}

const std::vector<std::string>& EmpiricalCdf::built_in_names() {
  static const std::vector<std::string> names = {"websearch", "fbhadoop", "alistorage",
                                                 "cachefollower"};
  return names;
}

EmpiricalCdf EmpiricalCdf::find(const std::string& name_or_path) {
  std::vector<Point> points;
  if (name_or_path == "websearch")
    points.assign(std::begin(kWebSearch), std::end(kWebSearch));
  else if (name_or_path == "fbhadoop")
    points.assign(std::begin(kFbHadoop), std::end(kFbHadoop));
  else if (name_or_path == "alistorage")
    points.assign(std::begin(kAliStorage), std::end(kAliStorage));
  else if (name_or_path == "cachefollower")
    points.assign(std::begin(kCacheFollower), std::end(kCacheFollower));
  else
    return read(name_or_path);
  for (Point& point : points) point.cumulative /= 100;
  return EmpiricalCdf(name_or_path, std::move(points));
}

double EmpiricalCdf::cdf(double bytes) const {
  const auto above =
      std::upper_bound(points_.begin(), points_.end(), bytes,
                       [](double value, const Point& point) { return value < point.bytes; });
  if (above == points_.begin()) return 0;
  if (above == points_.end()) return 1;
  const Point& a = *(above - 1);
  const Point& b = *above;
  return a.cumulative + (b.cumulative - a.cumulative) * (bytes - a.bytes) / (b.bytes - a.bytes);
}

double EmpiricalCdf::quantile(double u) const {
  u = std::clamp(u, 0.0, 1.0);
  const auto at =
      std::lower_bound(points_.begin(), points_.end(), u,
                       [](const Point& point, double value) { return point.cumulative < value; });
  if (at == points_.begin()) return at->bytes;
  const Point& a = *(at - 1);
  const Point& b = *at;
  return a.bytes + (b.bytes - a.bytes) * (u - a.cumulative) / (b.cumulative - a.cumulative);
}

double EmpiricalCdf::mean_between(double from_u, double to_u) const {
  const double from = std::clamp(from_u, 0.0, 1.0);
  const double to = std::clamp(to_u, 0.0, 1.0);
  if (to <= from) return quantile(from);
  // The share of flows of exactly the first size, then each linear piece.
  double sum = points_[0].bytes *
               (std::min(to, points_[0].cumulative) - std::min(from, points_[0].cumulative));
  for (size_t i = 1; i < points_.size(); i++) {
    const Point& a = points_[i - 1];
    const Point& b = points_[i];
    const double low = std::max(from, a.cumulative);
    const double high = std::min(to, b.cumulative);
    if (high <= low) continue;
    const double slope = (b.bytes - a.bytes) / (b.cumulative - a.cumulative);
    sum += (a.bytes + slope * ((low + high) / 2 - a.cumulative)) * (high - low);
  }
  return sum / (to - from);
}

double EmpiricalCdf::tail_mean(double bytes) const {
  const double below = cdf(bytes);
  return below < 1 ? mean_between(below, 1) : points_.back().bytes;
}

double EmpiricalCdf::mean_packets(double mss_bytes) const {
  double sum = points_[0].cumulative * std::max(1.0, std::ceil(points_[0].bytes / mss_bytes));
  for (size_t i = 1; i < points_.size(); i++) {
    const Point& a = points_[i - 1];
    const Point& b = points_[i];
    const double share = b.cumulative - a.cumulative;
    sum += b.bytes > a.bytes
               ? share * (ceil_integral(b.bytes, mss_bytes) - ceil_integral(a.bytes, mss_bytes)) /
                     (b.bytes - a.bytes)
               : share * std::ceil(b.bytes / mss_bytes);
  }
  return sum;
}

std::vector<FlowDraw> PlainSampler::draw(double horizon) {
  std::vector<FlowDraw> flows;
  double arrival = 0;
  for (uint64_t i = 0;; i++) {
    arrival -= std::log1p(-delaycc::draw(seed_, trial_, stream_, kGap, i));
    if (arrival >= horizon) return flows;
    flows.push_back({arrival, delaycc::draw(seed_, trial_, stream_, kSize, i), 0});
  }
}

double wire_bytes(double size_bytes, double packets) {
  return size_bytes + packets * (kEthernetBytes + kTcpIpBytes);
}

double expected_flows(const WorkloadSpec& spec, const WorkloadHosts& hosts, int64_t duration_ns) {
  const double ns = static_cast<double>(arrivals_end(spec, duration_ns));
  double flows = 0;
  if (spec.load > 0) flows += ns / flow_gap_ns(spec, hosts);
  if (spec.incast.fan_in > 0) flows += ns / request_gap_ns(spec, hosts) * spec.incast.fan_in;
  return flows;
}

std::vector<WorkloadFlow> generate_workload(const WorkloadSpec& spec, const WorkloadHosts& hosts,
                                            int64_t duration_ns, uint64_t seed, int trial) {
  const int64_t until_ns = arrivals_end(spec, duration_ns);
  std::vector<WorkloadFlow> flows;
  auto add = [&](WorkloadFlow flow) {
    flow.measured =
        flow.start_ns >= spec.warm_up_ns && flow.start_ns < until_ns - spec.cool_down_ns;
    flows.push_back(flow);
  };

  if (spec.load > 0) {
    const double gap_ns = flow_gap_ns(spec, hosts);
    const auto sampler = make_sampler(spec.sampling, *spec.sizes, seed, trial, kFlows);
    const EmpiricalCdf sizes = nominal_sizes(spec.sampling, *spec.sizes);
    const auto draws = sampler->draw(static_cast<double>(until_ns) / gap_ns);
    for (size_t i = 0; i < draws.size(); i++) {
      WorkloadFlow flow;
      flow.start_ns = static_cast<int64_t>(draws[i].arrival * gap_ns);
      flow.source = pick(hosts.sources, draw(seed, trial, kFlows, kSource, i));
      const std::vector<int> others = without(hosts.destinations, flow.source);
      if (others.empty()) throw Error("a host of \"from\" has no other host in \"to\"");
      flow.destination = pick(others, draw(seed, trial, kFlows, kDestination, i));
      flow.uniform = draws[i].uniform;
      flow.log_weight = draws[i].log_weight;
      flow.size_bytes = std::max<int64_t>(1, std::llround(sizes.quantile(flow.uniform)));
      add(flow);
    }
  }

  const IncastSpec& incast = spec.incast;
  if (incast.fan_in > 0) {
    const double gap_ns = request_gap_ns(spec, hosts);
    const auto requests =
        PlainSampler(seed, trial, kRequests).draw(static_cast<double>(until_ns) / gap_ns);
    for (size_t r = 0; r < requests.size(); r++) {
      WorkloadFlow flow;
      flow.start_ns = static_cast<int64_t>(requests[r].arrival * gap_ns);
      flow.destination = pick(hosts.destinations, draw(seed, trial, kRequests, kDestination, r));
      flow.size_bytes = incast.size_bytes;
      flow.request = static_cast<int64_t>(r);
      std::vector<int> sources = without(hosts.sources, flow.destination);
      const size_t fan_in = static_cast<size_t>(incast.fan_in);
      if (sources.size() < fan_in)
        throw Error("an incast of " + std::to_string(fan_in) + " hosts has only " +
                    std::to_string(sources.size()) + " to choose from");
      for (size_t i = 0; i < fan_in; i++) {  // the first steps of a shuffle
        const double u = draw(seed, trial, kRequests, kSource, r * fan_in + i);
        const size_t chosen = i + static_cast<size_t>(uniform_index(u, sources.size() - i));
        std::swap(sources[i], sources[chosen]);
        flow.source = sources[i];
        add(flow);
      }
    }
  }
  std::stable_sort(flows.begin(), flows.end(), [](const WorkloadFlow& a, const WorkloadFlow& b) {
    return a.start_ns < b.start_ns;
  });
  return flows;
}

int size_class(const WorkloadSpec& spec, int64_t size_bytes) {
  int number = 0;
  for (const SizeClass& c : spec.classes) {
    if (c.limit_bytes < 0 || size_bytes <= c.limit_bytes) return number;
    number++;
  }
  return 0;
}

bool FlowSet::has(int flow_class, int64_t request) const {
  switch (kind) {
    case Kind::kClass:
      return flow_class == size_class;
    case Kind::kBackground:
      return request < 0;
    case Kind::kIncast:
      return request >= 0;
    default:
      return true;
  }
}

std::vector<FlowSet> flow_sets(const WorkloadSpec& spec) {
  std::vector<FlowSet> sets;
  if (!spec.present) return sets;
  if (spec.load > 0)
    for (size_t i = 0; i < spec.classes.size(); i++)
      sets.push_back({spec.classes[i].name, FlowSet::Kind::kClass, static_cast<int>(i)});
  if (spec.load > 0 && spec.incast.fan_in > 0)
    sets.push_back({"background", FlowSet::Kind::kBackground});
  if (spec.incast.fan_in > 0) sets.push_back({"incast", FlowSet::Kind::kIncast});
  return sets;
}

bool has_background(const std::vector<FlowSet>& sets) {
  return std::any_of(sets.begin(), sets.end(),
                     [](const FlowSet& set) { return set.kind == FlowSet::Kind::kBackground; });
}

std::string workload_group(const WorkloadSpec& spec, const WorkloadFlow& flow) {
  if (flow.request >= 0) return "incast";
  if (spec.classes.empty()) return "workload";
  return spec.classes.at(static_cast<size_t>(size_class(spec, flow.size_bytes))).name;
}

std::vector<std::string> workload_groups(const WorkloadSpec& spec) {
  std::vector<std::string> groups;
  if (!spec.present) return groups;
  if (spec.incast.fan_in > 0) groups.push_back("incast");
  for (const SizeClass& c : spec.classes) groups.push_back(c.name);
  if (spec.classes.empty()) groups.push_back("workload");
  return groups;
}

int64_t size_priority(const WorkloadSpec& spec, int64_t size_bytes) {
  if (spec.priority_limits_bytes.empty()) return -1;
  return std::count_if(spec.priority_limits_bytes.begin(), spec.priority_limits_bytes.end(),
                       [&](int64_t limit) { return size_bytes <= limit; });
}

}  // namespace delaycc

// SPDX-License-Identifier: Apache-2.0
//
// OSCAR, figure 6c: how exact is the delay gradient?
//
// A 40 Gbit/s link, base RTT 13.5 us (the paper's testbed, section 6.1).  One flow sends at
// 20 Gbit/s throughout; another at 40, then 20, then 0 Gbit/s, 500 us each, so that the first
// flow should see gradients of 0.5, 0 and -0.5.  Its delays, with measurement noise added, go
// through the batched estimator and, for comparison, through an EWMA (weight 0.2) of quotients of
// consecutive delays and send times.
//
// The error of every output is taken against the gradient in force when the newest packet
// that went into it was sent: being late counts.
//
// Noise is independent from packet to packet, never negative, gamma distributed.  "host" has the
// deviation at which the EWMA's error is the paper's 0.079, which says how noisy the authors'
// host timestamps were; "nic" has mean 0.3 us and 0.8 us at 99.85 %, as published for NIC
// timestamps in PrioPlus (section 4.3.2).  The ratio of the two errors grows with the cube of
// the packets per batch, so it depends on the packet size; the paper does not state its own.
// 1000 bytes, the common size of RDMA packets and simulators, gives both of the paper's
// errors; other sizes are printed beside it.
//
// Last come senders that pace bursts of 8 packets, back to back at 100 Gbit/s, each packet with a
// send time of its own, as a sender without an operating system takes it: the small denominators
// that the paper speaks of.  The noise is that of single packets of the same size.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "oscar/batch.h"

namespace {

constexpr double kLinkBps = 40e9;
constexpr double kHostBps = 100e9;
constexpr double kBaseRttNs = 13500;
constexpr double kPhaseNs = 500000;
constexpr double kEwmaWeight = 0.2;
constexpr double kPaperBatched = 0.0058;
constexpr double kPaperEwma = 0.079;

struct Sample {
  u64 send_ns;
  double delay_ns;  // without noise
};

struct Noise {
  const char* name;
  double shape;
  double deviation_ns;
};

double TrueGradient(double t_ns) {
  if (t_ns < kPhaseNs) return 0.5;
  return t_ns < 2 * kPhaseNs ? 0 : -0.5;
}

// When a flow sends, whose bursts are evenly paced.
class Sender {
 public:
  Sender(double first_ns, double packet_bytes, int burst)
      : burst_ns_(first_ns), packet_bytes_(packet_bytes), burst_(burst) {}
  double next_ns() const { return burst_ns_ + sent_ * packet_bytes_ * 8e9 / kHostBps; }
  void Sent(double pace_bps) {
    if (++sent_ < burst_) return;
    sent_ = 0;
    burst_ns_ += burst_ * packet_bytes_ * 8e9 / pace_bps;
  }

 private:
  double burst_ns_;
  double packet_bytes_;
  int burst_;
  int sent_ = 0;
};

// Delays of the first flow's packets.  The seed shifts the second flow.
std::vector<Sample> SimulateLink(double packet_bytes, int burst, std::mt19937_64& rng) {
  const double service_ns = packet_bytes * 8e9 / kLinkBps;
  const double spacing_ns = burst * packet_bytes * 8e9 / 20e9;
  Sender probe(1, packet_bytes, burst);
  Sender other(spacing_ns * std::uniform_real_distribution<>(0, 1)(rng), packet_bytes, burst);
  double busy_ns = 0;
  std::vector<Sample> samples;
  // The queue runs empty at the very end of the third phase; there the truth ends.
  for (double t; (t = probe.next_ns()) < 2.97 * kPhaseNs; probe.Sent(20e9)) {
    while (other.next_ns() <= t && other.next_ns() < 2 * kPhaseNs) {
      busy_ns = std::max(busy_ns, other.next_ns()) + service_ns;
      other.Sent(other.next_ns() < kPhaseNs ? 40e9 : 20e9);
    }
    busy_ns = std::max(busy_ns, t) + service_ns;
    samples.push_back({static_cast<u64>(t), kBaseRttNs + busy_ns - t});
  }
  return samples;
}

struct Errors {
  double batched;
  double ewma;
};

Errors MeasureOnce(double packet_bytes, int burst, const Noise& noise, u64 seed) {
  std::mt19937_64 rng(seed);
  std::gamma_distribution<> draw(noise.shape, noise.deviation_ns / std::sqrt(noise.shape));
  dcc_batch batch;
  dcc_batch_init(&batch, static_cast<u32>(kBaseRttNs / 2), DCC_BATCH_NO_GAP);

  double batched_sum = 0, ewma_sum = 0, ewma = 0;
  int batched_n = 0, ewma_n = 0;
  u64 last_send = 0;
  u32 last_rtt = 0;
  for (const Sample& sample : SimulateLink(packet_bytes, burst, rng)) {
    const u32 rtt = static_cast<u32>(std::lround(sample.delay_ns + draw(rng)));
    const double truth = TrueGradient(static_cast<double>(sample.send_ns));
    const dcc_ack ack = {sample.send_ns + rtt, sample.send_ns, rtt, 1000, 0, 0, 0};
    if (dcc_batch_add(&batch, &ack)) {
      dcc_estimate estimate;
      dcc_batch_close(&batch, &estimate);
      const double error = estimate.gradient_q16 / 65536.0 - truth;
      batched_sum += error * error;
      ++batched_n;
    }
    if (last_rtt != 0) {
      const double quotient =
          (static_cast<double>(rtt) - last_rtt) / static_cast<double>(sample.send_ns - last_send);
      ewma = (1 - kEwmaWeight) * ewma + kEwmaWeight * quotient;
      ewma_sum += (ewma - truth) * (ewma - truth);
      ++ewma_n;
    }
    last_send = sample.send_ns;
    last_rtt = rtt;
  }
  return {batched_sum / batched_n, ewma_sum / ewma_n};
}

struct Interval {
  double mean = 0;
  double half = 0;  // 95 %, normal quantile: there are hundreds of seeds
};

Interval MeanOf(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double v : values) sum += v;
  const double n = static_cast<double>(values.size());
  const double mean = sum / n;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, 1.96 * std::sqrt(squares / (n - 1) / n)};
}

struct Result {
  Interval batched, ewma;
  Interval ratio;  // of the means, by the delta method
};

Result Measure(double packet_bytes, int burst, const Noise& noise, int seeds) {
  std::vector<double> batched, ewma, linear;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Errors errors = MeasureOnce(packet_bytes, burst, noise, static_cast<u64>(seed));
    batched.push_back(errors.batched);
    ewma.push_back(errors.ewma);
  }
  Result result{MeanOf(batched), MeanOf(ewma), {}};
  const double ratio = result.ewma.mean / result.batched.mean;
  for (size_t i = 0; i < batched.size(); ++i)
    linear.push_back((ewma[i] - ratio * batched[i]) / result.batched.mean);
  result.ratio = {ratio, MeanOf(linear).half};
  return result;
}

// The deviation that gives the EWMA the paper's error, by bisection on fixed seeds.
double HostDeviationNs(double packet_bytes, double shape) {
  double low = 10, high = 5000;
  while (high - low > 1) {
    const double middle = (low + high) / 2;
    (Measure(packet_bytes, 1, {"", shape, middle}, 40).ewma.mean < kPaperEwma ? low : high) =
        middle;
  }
  return (low + high) / 2;
}

int ToInt(const char* option, const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 2 || value > 1000000)
    throw std::invalid_argument(std::string(option) + ": " + text + ": wanted 2 .. 1000000");
  return static_cast<int>(value);
}

double ToDouble(const char* option, const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0))
    throw std::invalid_argument(std::string(option) + ": " + text + ": wanted a number >= 0");
  return value;
}

int Run(int argc, char** argv) {
  int seeds = 400;
  double required = 0;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--seeds") == 0 && has_value) {
      seeds = ToInt("--seeds", argv[i + 1]);
      ++i;
    } else if (std::strcmp(argv[i], "--require-ratio") == 0 && has_value) {
      required = ToDouble("--require-ratio", argv[i + 1]);
      ++i;
    } else {
      throw std::invalid_argument(std::string(argv[i]) +
                                  ": usage: oscar_fig06c [--seeds N] [--require-ratio X]");
    }
  }

  const double host_shape = 2;
  // Gamma with shape 5.3: mean 0.3 us, 0.8 us at 99.85 %.
  const Noise nic = {"nic", 5.3, 300 / std::sqrt(5.3)};
  std::printf("gradient's mean squared error, %d seeds, 95 %% intervals\n", seeds);
  std::printf("%-6s %6s %5s %9s  %-19s %-19s %s\n", "noise", "packet", "burst", "sigma_ns",
              "batched", "ewma(0.2)", "ratio");
  std::printf("%-6s %6s %5s %9s  %-19.4f %-19.3f %.1f\n", "paper", "-", "-", "-", kPaperBatched,
              kPaperEwma, 13.4);
  double decisive = 0;
  for (int burst : {1, 8}) {
    for (double bytes : {1000.0, 1090.0, 1500.0}) {
      const double deviation = HostDeviationNs(bytes, host_shape);
      for (const Noise& noise : {Noise{"host", host_shape, deviation}, nic}) {
        const Result r = Measure(bytes, burst, noise, seeds);
        std::printf("%-6s %6.0f %5d %9.0f  %.5f +- %.5f  %.4f +- %.4f    %.2f +- %.2f\n",
                    noise.name, bytes, burst, noise.deviation_ns, r.batched.mean, r.batched.half,
                    r.ewma.mean, r.ewma.half, r.ratio.mean, r.ratio.half);
        if (burst == 1 && bytes == 1000.0 && noise.name == std::string("host"))
          decisive = r.ratio.mean - r.ratio.half;
      }
    }
  }
  if (required > 0 && decisive < required) {
    std::fprintf(stderr, "host noise, 1000 bytes: the interval's lower end %.2f is below %.2f\n",
                 decisive, required);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oscar_fig06c: %s\n", error.what());
    return 2;
  }
}

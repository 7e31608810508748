// SPDX-License-Identifier: Apache-2.0
// The algorithms' settings that follow from a path's figures. Pure functions.
//
// A path is three numbers. The base RTT is the smallest one of a full packet and its ACK on the
// idle path. The noise is how much later packets come there on average, by the hosts alone: the
// kernel takes it for a part of the base RTT, and each algorithm leaves as much room in its target.
// S is by how much the latest packets are later than that (99.85th percentile, idle or under load,
// whichever is more); PrioPlus calls it B (section 4.3.2 of the paper).
#ifndef DELAYCC_HARNESS_CALIBRATE_SETTINGS_H_
#define DELAYCC_HARNESS_CALIBRATE_SETTINGS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stamps/echo.h"

namespace delaycc {

// Packets that are later than this share of all are left out of S.
inline constexpr double kNoiseQuantile = 0.9985;

struct PathFigures {
  int64_t line_rate_mbps = 0;
  std::string line_rate_reason;
  int64_t packet_bytes = 0;              // of a full packet on the line
  int64_t smallest_rtt_ns = 0;           // of a full packet and its ACK, on the idle path
  std::vector<int64_t> idle_noise_ns;    // above the smallest, sorted; not empty
  std::vector<int64_t> loaded_noise_ns;  // the same under load, sorted; empty: not measured
  int64_t buffer_bytes = 0;              // of the path's smallest port; 0: not known
  std::string prefix;                    // of the path for base_rtt_paths; empty: of all paths
};

// A sysctl below net.ipv4.delaycc.
struct Setting {
  std::string name;
  std::string value;
  std::string reason;
};

struct Settings {
  int64_t base_rtt_ns = 0;
  int64_t noise_ns = 0;
  int64_t spread_ns = 0;  // S
  std::vector<Setting> list;
  std::vector<std::string> warnings;  // where the noise, or a sysctl's range, leaves no room
};

// The algorithms that have settings here.
const std::vector<std::string>& calibrated_algorithms();

// Of these algorithms, and those that all share.
Settings derive_settings(const PathFigures& figures, const std::vector<std::string>& algorithms);

struct ChosenRate {
  int64_t mbps = 0;  // 0: not known
  std::string reason;
  bool guess = false;
};

// The first that is known of: what the user says, the sysctl, the speed of a device that has
// hardware, what a train of packets came back with (rounded to a link's usual rate within 3 %), the
// speed of any device. Where a train came back nearly as fast as it left, the hosts are the limit,
// and the path may carry more: a guess.
ChosenRate choose_line_rate(int64_t user_mbps, int64_t sysctl_mbps, int64_t speed_mbps,
                            bool has_hardware, const TrainRates& train);

// Nearest rank; of sorted values, not empty.
int64_t quantile_ns(const std::vector<int64_t>& sorted, double share);

// A line of text for each of `rows` equal parts of the range up to the 99.85th percentile, and one
// for what is above: how many of the noise values lie there.
std::string noise_picture(const std::vector<int64_t>& sorted, size_t rows);

// Up to 64 quantiles [ppm, ns] of sorted values, as a scenario takes noise (docs/research/
// scenarios.md): from 0 to 1000000 ppm, above the smallest value.
std::vector<std::pair<int64_t, int64_t>> noise_quantiles(const std::vector<int64_t>& sorted);

// The text of a file that a scenario's `noise` names: of each name the quantiles of its values;
// of empty ones there is nothing.
std::string noise_file(const std::string& comment,
                       const std::vector<std::pair<std::string, std::vector<int64_t>>>& noises);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_CALIBRATE_SETTINGS_H_

// SPDX-License-Identifier: Apache-2.0
// What the running machine adds to round-trip times, by echoes that the far kernel answers.
#ifndef DELAYCC_HARNESS_RUNNER_HOST_NOISE_H_
#define DELAYCC_HARNESS_RUNNER_HOST_NOISE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/posix.h"
#include "trace/records.h"

namespace delaycc {

// RTTs in nanoseconds, sorted, of echoes from the namespace `netns` to `address`, one after the
// other: from before the request is written to the stamp of the answer's arrival. Takes at most
// about `budget_ns`, and `count` echoes. Throws Error when none is answered.
std::vector<int64_t> echo_rtts_ns(const Fd& netns, const std::string& address, size_t count,
                                  int64_t budget_ns);

// Echoes before a trial: so many, and at most so long.
inline constexpr size_t kEchoes = 400;
inline constexpr int64_t kEchoBudgetNs = 1'000'000'000;

// What sorted RTTs say of the noise over calibration->base_rtt_ns.
void note_noise(const std::vector<int64_t>& rtts_ns, Calibration* calibration);

// The same between two namespaces that are joined by nothing but a pair of veth: what the kernel's
// own path takes. Makes and removes the pair; the first echoes wait until the links are up.
class BarePair {
 public:
  BarePair();
  std::vector<int64_t> echo_rtts_ns(size_t count, int64_t budget_ns) const;

 private:
  Fd here_;
  Fd there_;
};

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_RUNNER_HOST_NOISE_H_

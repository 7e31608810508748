// SPDX-License-Identifier: Apache-2.0
// Other ways than chance alone to draw a trial's flows: stratified over a group of trials, or from
// another distribution with likelihood ratios. docs/research/evaluation.md says when each one saves
// trials.
#ifndef DELAYCC_HARNESS_SPEC_SAMPLING_H_
#define DELAYCC_HARNESS_SPEC_SAMPLING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "spec/workload.h"

namespace delaycc {

// Stratified over groups of trials (a Latin hypercube). Within each trial the flows have exactly
// the law of PlainSampler: a Poisson number of independent sizes, so that every metric of one trial
// keeps its mean. Across the `group` trials of one group the number of flows, the largest size, the
// second largest and so on, and when these come, each take one value from every `group`-th part of
// their distribution. Trials of a group are not independent, groups are: the mean over a group is
// one unit of an estimator (MeanEstimator's trials_per_unit), and a run must end with a whole
// group. Trials are numbered from 0: trial t belongs to group t / `group`.
class StratifiedSampler : public FlowSampler {
 public:
  // `group` is 2 to 4096.
  StratifiedSampler(uint64_t seed, int trial, uint64_t stream, int group);
  std::vector<FlowDraw> draw(double horizon) override;

 private:
  // In [0, 1): uniform over chance, and one in each part over the group.
  double stratum(uint64_t dimension) const;

  uint64_t seed_;
  int trial_;
  uint64_t stream_;
  int group_;
};

// The largest sizes more often: a size's uniform is drawn with probability `share` from [from, 1),
// else from [0, 1). Arrivals are PlainSampler's. For the empirical distribution itself; log_weight
// is the flow's own ratio.
class TailSampler : public FlowSampler {
 public:
  // `from` in [0, 1), `share` in [0, 1).
  TailSampler(uint64_t seed, int trial, uint64_t stream, double from, double share);
  std::vector<FlowDraw> draw(double horizon) override;

 private:
  uint64_t seed_;
  int trial_;
  uint64_t stream_;
  double from_, share_;
};

// The logarithm of a size, in natural units, is normal with these (section 4.3.2).
struct Lognormal {
  double mu = 0;
  double sigma = 1;  // above 0
};

// Log-normal sizes, cut at `max_bytes` (infinity: not cut).
class LognormalSizes {
 public:
  LognormalSizes(Lognormal parameters, double max_bytes);
  const Lognormal& parameters() const { return parameters_; }
  double max_bytes() const { return max_bytes_; }
  double cdf(double bytes) const;
  double quantile(double u) const;  // u in [0, 1)
  double mean() const;
  // ln of this density over that of `other` at exp(log_bytes). Both must have the same cut.
  double log_ratio(double log_bytes, const LognormalSizes& other) const;
  // Mean and standard deviation of ln(size): those of the parameters only where nothing is cut.
  Lognormal log_moments() const;
  // The cut distribution whose ln(size) has these moments: of all cut at the same size the one that
  // is most likely to have given them.
  static LognormalSizes with_log_moments(const Lognormal& moments, double max_bytes);
  // As a table for the generator of workloads, linear between its points.
  EmpiricalCdf table(const std::string& name, int points = 2000) const;

 private:
  Lognormal parameters_;
  double max_bytes_;
  double cut_;    // ln(max_bytes) in standard deviations from mu
  double share_;  // of the normal distribution below it
};

struct LognormalFit {
  LognormalSizes sizes;
  double rms_error;   // of the cumulative share, over the points of the fit
  double mean_bytes;  // of the fitted sizes
};
// Where the two cumulative distributions are compared.
enum class FitAt {
  kQuantiles,  // at a thousand evenly spaced quantiles: each flow counts alike
  kPoints,     // at the points that the distribution is given by
};
// Least squares between the two cumulative distributions (section 5, which does not say at which
// sizes). `cut`: at the largest size of `sizes`. The paper's fit is not cut; it then has flows of
// any size, whose mean can be several times that of `sizes`.
LognormalFit fit_lognormal(const EmpiricalCdf& sizes, bool cut, FitAt at = FitAt::kQuantiles);

// Sizes from `drawn` in place of `nominal`, both log-normal with the same cut. A flow's uniform is
// nominal.cdf(size), for a generator whose sizes are nominal.table(). Arrivals are PlainSampler's.
class TiltedSampler : public FlowSampler {
 public:
  TiltedSampler(uint64_t seed, int trial, uint64_t stream, const LognormalSizes& nominal,
                const LognormalSizes& drawn);
  std::vector<FlowDraw> draw(double horizon) override;

 private:
  uint64_t seed_;
  int trial_;
  uint64_t stream_;
  LognormalSizes nominal_, drawn_;
};

// Equation 10 at the finish of each flow: the sum of the log weights of the flows that had arrived
// by then. Arrivals keep their distribution, so that their densities and the age term cancel.
// `arrivals` are in order, `finishes` in the same order; equal units.
std::vector<double> log_ratios(const std::vector<double>& arrivals,
                               const std::vector<double>& log_weights,
                               const std::vector<double>& finishes);

// Kish's effective sample size over the number of samples, from the logarithms of their weights; 1
// for none.
double effective_share(const std::vector<double>& log_weights);

}  // namespace delaycc

#endif  // DELAYCC_HARNESS_SPEC_SAMPLING_H_

// SPDX-License-Identifier: Apache-2.0
#include "spec/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

#include "base/random.h"

namespace delaycc {
namespace {

namespace bm = boost::math;
// As many digits as a double has, in doubles.
using Policy = bm::policies::policy<bm::policies::promote_double<false>>;
using Normal = bm::normal_distribution<double, Policy>;

// What a draw is for; numbers that no other sampler of the stream uses.
enum Purpose : uint64_t { kStratum = 1000, kWithin, kShuffle, kTail, kPlace };
// Dimensions of the hypercube: the number of flows, then two for each of the largest flows.
constexpr uint64_t kCountDimension = 0;
constexpr uint64_t kLargestStratified = 128;
constexpr double kLog2Pi = 1.8378770664093453;

double unit(uint64_t seed, int trial, uint64_t stream, Purpose what, uint64_t index) {
  return uniform_draw(seed, static_cast<uint64_t>(trial), (stream << 16) + what, index);
}

// The smallest count whose cumulative probability is at least u.
int64_t poisson_quantile(double mean, double u) {
  if (mean < 500) {
    double term = std::exp(-mean), sum = term;
    int64_t k = 0;
    while (sum < u && term > 0) sum += term *= mean / static_cast<double>(++k);
    return k;
  }
  using Up = bm::policies::policy<bm::policies::discrete_quantile<bm::policies::integer_round_up>>;
  return static_cast<int64_t>(bm::quantile(bm::poisson_distribution<double, Up>(mean), u));
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

// Upper bound of u below 1, so that the quantile stays finite.
constexpr double kLargestUniform = 1 - 0x1p-53;

}  // namespace

////////// By the key `sampling` of a scenario

const std::vector<std::string>& sampling_kinds() {
  static const std::vector<std::string> kinds = {"plain", "stratified", "tail", "lognormal"};
  return kinds;
}

EmpiricalCdf nominal_sizes(const SamplingSpec& spec, const EmpiricalCdf& sizes) {
  if (spec.kind != "lognormal") return sizes;
  return fit_lognormal(sizes, true).sizes.table(sizes.name() + ", log-normal");
}

std::unique_ptr<FlowSampler> make_sampler(const SamplingSpec& spec, const EmpiricalCdf& sizes,
                                          uint64_t seed, int trial, uint64_t stream) {
  if (spec.kind == "plain") return std::make_unique<PlainSampler>(seed, trial, stream);
  if (spec.kind == "stratified")
    return std::make_unique<StratifiedSampler>(seed, trial, stream, spec.group);
  if (spec.kind == "tail")
    return std::make_unique<TailSampler>(seed, trial, stream, spec.from, spec.share);
  if (spec.kind == "lognormal") {
    const LognormalSizes nominal = fit_lognormal(sizes, true).sizes;
    const Lognormal& p = nominal.parameters();
    const LognormalSizes drawn({p.mu + spec.shift * p.sigma, p.sigma * spec.factor},
                               nominal.max_bytes());
    return std::make_unique<TiltedSampler>(seed, trial, stream, nominal, drawn);
  }
  throw Error("sampling \"" + spec.kind + "\" is unknown");
}

////////// Stratified

StratifiedSampler::StratifiedSampler(uint64_t seed, int trial, uint64_t stream, int group)
    : seed_(seed), trial_(trial), stream_(stream), group_(group) {
  if (group < 2 || group > 4096)
    throw Error(fmt::format("a group of {} trials; allowed are 2 to 4096", group));
  if (trial < 0) throw Error("a trial's number is negative");
}

double StratifiedSampler::stratum(uint64_t dimension) const {
  // This trial's place in a shuffle that the whole group shares: where Fisher and Yates put it.
  const int group = trial_ / group_;
  auto place = static_cast<uint64_t>(trial_ % group_);
  for (auto last = static_cast<uint64_t>(group_) - 1; last > 0; --last) {
    const double u =
        unit(seed_, group, stream_, kShuffle, dimension * static_cast<uint64_t>(group_) + last);
    const auto other = static_cast<uint64_t>(u * static_cast<double>(last + 1));
    if (place == last)
      place = other;
    else if (place == other)
      place = last;
    // What stands at `last` is settled.
    if (place == last) break;
  }
  return (static_cast<double>(place) + unit(seed_, trial_, stream_, kWithin, dimension)) / group_;
}

std::vector<FlowDraw> StratifiedSampler::draw(double horizon) {
  const auto count = static_cast<size_t>(poisson_quantile(horizon, stratum(kCountDimension)));
  std::vector<FlowDraw> flows(count);
  // Sizes from the largest down: the largest of n uniforms is V^(1/n), the next one the largest of
  // n - 1 below it. Given their number, Poisson arrivals are independent and uniform, whoever is
  // largest.
  double log_u = 0;
  for (size_t k = 0; k < count; ++k) {
    const bool stratified = k < kLargestStratified;
    const double v = stratified ? stratum(1 + 2 * k) : unit(seed_, trial_, stream_, kStratum, k);
    const double when = stratified ? stratum(2 + 2 * k) : unit(seed_, trial_, stream_, kPlace, k);
    log_u += std::log(std::max(v, 0x1p-60)) / static_cast<double>(count - k);
    flows[k].uniform = std::min(std::exp(log_u), kLargestUniform);
    flows[k].arrival = when * horizon;
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const FlowDraw& a, const FlowDraw& b) { return a.arrival < b.arrival; });
  return flows;
}

////////// From another distribution

TailSampler::TailSampler(uint64_t seed, int trial, uint64_t stream, double from, double share)
    : seed_(seed), trial_(trial), stream_(stream), from_(from), share_(share) {
  if (!(from >= 0 && from < 1) || !(share >= 0 && share < 1))
    throw Error(
        fmt::format("a tail from {} with the share {}; allowed are 0 to below 1", from, share));
}

std::vector<FlowDraw> TailSampler::draw(double horizon) {
  std::vector<FlowDraw> flows = PlainSampler(seed_, trial_, stream_).draw(horizon);
  const double below = -std::log1p(-share_);
  const double above = -std::log1p(-share_ + share_ / (1 - from_));
  for (size_t i = 0; i < flows.size(); ++i) {
    double& u = flows[i].uniform;
    if (unit(seed_, trial_, stream_, kTail, i) < share_)
      u = std::min(from_ + u * (1 - from_), kLargestUniform);
    flows[i].log_weight = u < from_ ? below : above;
  }
  return flows;
}

LognormalSizes::LognormalSizes(Lognormal parameters, double max_bytes)
    : parameters_(parameters),
      max_bytes_(max_bytes),
      cut_((std::log(max_bytes) - parameters.mu) / parameters.sigma),
      share_(normal_cdf(cut_)) {
  if (!std::isfinite(parameters.mu) || !(parameters.sigma > 0) || !(max_bytes > 0) ||
      !(share_ > 1e-12))
    throw Error(fmt::format("log-normal sizes with mu {}, sigma {}, cut at {} bytes", parameters.mu,
                            parameters.sigma, max_bytes));
}

double LognormalSizes::cdf(double bytes) const {
  if (!(bytes > 0)) return 0;
  if (bytes >= max_bytes_) return 1;
  return normal_cdf((std::log(bytes) - parameters_.mu) / parameters_.sigma) / share_;
}

double LognormalSizes::quantile(double u) const {
  if (u <= 0) return 0;
  const double below = std::min(u, kLargestUniform) * share_;
  const double z = below < 1 ? bm::quantile(Normal(), below) : cut_;
  return std::min(std::exp(parameters_.mu + parameters_.sigma * z), max_bytes_);
}

double LognormalSizes::mean() const {
  const double all = std::exp(parameters_.mu + parameters_.sigma * parameters_.sigma / 2);
  return std::isinf(max_bytes_) ? all : all * normal_cdf(cut_ - parameters_.sigma) / share_;
}

double LognormalSizes::log_ratio(double log_bytes, const LognormalSizes& other) const {
  const double z = (log_bytes - parameters_.mu) / parameters_.sigma;
  const double y = (log_bytes - other.parameters_.mu) / other.parameters_.sigma;
  return (y * y - z * z) / 2 + std::log(other.parameters_.sigma / parameters_.sigma) +
         std::log(other.share_ / share_);
}

Lognormal LognormalSizes::log_moments() const {
  if (std::isinf(max_bytes_)) return parameters_;
  const double hazard = std::exp(-(cut_ * cut_ + kLog2Pi) / 2) / share_;
  return {parameters_.mu - parameters_.sigma * hazard,
          parameters_.sigma * std::sqrt(std::max(1 - cut_ * hazard - hazard * hazard, 1e-9))};
}

LognormalSizes LognormalSizes::with_log_moments(const Lognormal& moments, double max_bytes) {
  Lognormal at = moments;
  if (std::isinf(max_bytes)) return LognormalSizes(at, max_bytes);
  // The moments fall short of the parameters by what is cut: add what is missing until none is. A
  // cut near the mean has no such distribution of moderate parameters; the last step that is one
  // stands.
  for (int i = 0; i < 200; ++i) {
    const Lognormal got = LognormalSizes(at, max_bytes).log_moments();
    const Lognormal next = {at.mu + moments.mu - got.mu, at.sigma * moments.sigma / got.sigma};
    const bool done = std::abs(next.mu - at.mu) < 1e-10 && std::abs(next.sigma - at.sigma) < 1e-10;
    if (!(next.sigma < 10 * moments.sigma) || next.mu > std::log(max_bytes)) break;
    at = next;
    if (done) break;
  }
  return LognormalSizes(at, max_bytes);
}

EmpiricalCdf LognormalSizes::table(const std::string& name, int points) const {
  // Even steps of ln(size), from the 10^-6 quantile on.
  const double low = std::log(quantile(1e-6));
  const double high = std::log(std::isinf(max_bytes_) ? quantile(1 - 1e-9) : max_bytes_);
  std::string text;
  for (int i = 0; i < points; ++i) {
    const double bytes = std::exp(low + (high - low) * i / (points - 1));
    text += fmt::format("{:.17g} {:.17g}\n", bytes, i + 1 < points ? cdf(bytes) : 1.0);
  }
  return EmpiricalCdf::parse(text, name);
}

namespace {

// Differences between the two cumulative distributions; unknowns are mu and ln(sigma).
struct CdfDifference {
  using Scalar = double;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;

  std::vector<EmpiricalCdf::Point> points;
  double max_bytes;

  int inputs() const { return 2; }
  int values() const { return static_cast<int>(points.size()); }
  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& f) const {
    const double sigma = std::exp(std::clamp(x[1], -5.0, 5.0));
    const LognormalSizes sizes({std::clamp(x[0], -50.0, std::log(max_bytes) + 5 * sigma), sigma},
                               max_bytes);
    for (size_t i = 0; i < points.size(); ++i)
      f[static_cast<Eigen::Index>(i)] = sizes.cdf(points[i].bytes) - points[i].cumulative;
    return 0;
  }
};

}  // namespace

LognormalFit fit_lognormal(const EmpiricalCdf& sizes, bool cut, FitAt at) {
  CdfDifference difference;
  difference.max_bytes =
      cut ? sizes.points().back().bytes : std::numeric_limits<double>::infinity();
  // Where the log-normal starts: moments of ln(size) over evenly spaced quantiles.
  constexpr int kPoints = 1000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double u = (i + 0.5) / kPoints;
    const double bytes = std::max(sizes.quantile(u), 1.0);
    if (at == FitAt::kQuantiles) difference.points.push_back({bytes, sizes.cdf(bytes)});
    sum += std::log(bytes);
    squares += std::log(bytes) * std::log(bytes);
  }
  if (at == FitAt::kPoints)
    for (const EmpiricalCdf::Point& point : sizes.points())
      if (point.bytes > 0) difference.points.push_back(point);
  if (difference.points.size() < 2)
    throw Error(
        fmt::format("{}: a log-normal distribution is fitted to at least two sizes", sizes.name()));
  const double mu = sum / kPoints;
  Eigen::VectorXd x(2);
  x << mu, 0.5 * std::log(std::max(squares / kPoints - mu * mu, 1e-4));
  Eigen::NumericalDiff<CdfDifference> numeric(difference);
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<CdfDifference>> solver(numeric);
  const auto status = solver.minimize(x);
  if (status == Eigen::LevenbergMarquardtSpace::ImproperInputParameters || !x.allFinite())
    throw Error(fmt::format("{}: no log-normal distribution fits", sizes.name()));
  const LognormalSizes fitted({x[0], std::exp(x[1])}, difference.max_bytes);
  return {fitted, solver.fvec.norm() / std::sqrt(static_cast<double>(difference.points.size())),
          fitted.mean()};
}

TiltedSampler::TiltedSampler(uint64_t seed, int trial, uint64_t stream,
                             const LognormalSizes& nominal, const LognormalSizes& drawn)
    : seed_(seed), trial_(trial), stream_(stream), nominal_(nominal), drawn_(drawn) {
  if (nominal.max_bytes() != drawn.max_bytes())
    throw Error("sizes are drawn from a distribution with another cut than the nominal one");
}

std::vector<FlowDraw> TiltedSampler::draw(double horizon) {
  std::vector<FlowDraw> flows = PlainSampler(seed_, trial_, stream_).draw(horizon);
  for (FlowDraw& flow : flows) {
    const double bytes = drawn_.quantile(std::max(flow.uniform, 0x1p-53));
    flow.log_weight = nominal_.log_ratio(std::log(bytes), drawn_);
    flow.uniform = std::min(nominal_.cdf(bytes), kLargestUniform);
  }
  return flows;
}

std::vector<double> log_ratios(const std::vector<double>& arrivals,
                               const std::vector<double>& log_weights,
                               const std::vector<double>& finishes) {
  std::vector<double> until(1, 0);
  for (double w : log_weights) until.push_back(until.back() + w);
  std::vector<double> ratios;
  ratios.reserve(finishes.size());
  for (double finish : finishes) {
    const auto arrived = std::upper_bound(arrivals.begin(), arrivals.end(), finish);
    ratios.push_back(until[static_cast<size_t>(arrived - arrivals.begin())]);
  }
  return ratios;
}

double effective_share(const std::vector<double>& log_weights) {
  if (log_weights.empty()) return 1;
  const double largest = *std::max_element(log_weights.begin(), log_weights.end());
  double sum = 0, squares = 0;
  for (double w : log_weights) {
    sum += std::exp(w - largest);
    squares += std::exp(2 * (w - largest));
  }
  return sum * sum / squares / static_cast<double>(log_weights.size());
}

}  // namespace delaycc

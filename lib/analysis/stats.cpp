#include "analysis/stats.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <boost/math/distributions/binomial.hpp>

namespace attnscale {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

/// Level of the interval between the depth-th smallest and the depth-th largest of n samples: the median lies outside
/// when fewer than `depth` samples fall on one side of it, each falling there with probability 1/2.
double level_of_depth(std::size_t n, std::size_t depth) {
  const boost::math::binomial_distribution<double> half(static_cast<double>(n), 0.5);
  return 1 - 2 * boost::math::cdf(half, static_cast<double>(depth) - 1);
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) return kNotANumber;
  const std::vector<double> v = sorted(values);
  const std::size_t middle = v.size() / 2;
  return v.size() % 2 == 1 ? v[middle] : (v[middle - 1] + v[middle]) / 2;
}

double median_absolute_deviation(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - centre));
  return median(deviations);
}

double percentile(std::span<const double> values, double p) {
  assert(p > 0 && p <= 1);
  if (values.empty()) return kNotANumber;
  const double rank = std::ceil(p * static_cast<double>(values.size()));
  return sorted(values)[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::optional<ConfidenceInterval> median_interval(std::span<const double> values, double level) {
  const std::size_t n = values.size();
  if (n == 0) return std::nullopt;
  std::size_t depth = 0;
  while (depth + 1 <= (n + 1) / 2 && level_of_depth(n, depth + 1) >= level) ++depth;
  if (depth == 0) return std::nullopt;
  const std::vector<double> v = sorted(values);
  return ConfidenceInterval{v[depth - 1], v[n - depth], level_of_depth(n, depth)};
}

Ratio ratio_of_rounds(std::span<const double> times, std::span<const double> baseline) {
  assert(times.size() == baseline.size());
  std::vector<double> logs;
  for (std::size_t i = 0; i < times.size(); ++i) logs.push_back(std::log(times[i] / baseline[i]));
  Ratio ratio{std::exp(median(logs)), median_interval(logs), logs.size()};
  if (ratio.ci) {
    ratio.ci->low = std::exp(ratio.ci->low);
    ratio.ci->high = std::exp(ratio.ci->high);
  }
  return ratio;
}

double relative_half_width(const std::vector<double>& values) {
  const std::optional<ConfidenceInterval> interval = median_interval(values);
  if (!interval) return std::numeric_limits<double>::infinity();
  return (interval->high - interval->low) / 2 / std::abs(median(values));
}

}  // namespace attnscale

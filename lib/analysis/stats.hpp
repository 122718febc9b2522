// Order statistics: nothing here assumes a distribution, and no sample is ever dropped. docs/statistics.md says why.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace attnscale {

/// Median (mean of the middle two for an even count); NaN without values.
double median(std::span<const double> values);

/// Median absolute deviation from the median, not scaled to a normal's deviation; NaN without values.
double median_absolute_deviation(std::span<const double> values);

/// The value of rank ceil(p n), from 1: nearest rank, so always one of the values. 0 < p <= 1; NaN without values.
double percentile(std::span<const double> values, double p);

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
  double level = 0;  ///< true probability of covering, at least what was asked for
};

/// Confidence interval of the median between two order statistics of the same depth, as narrow as `level` allows. Its
/// true level is exact for any continuous distribution of independent samples. Nothing when no pair reaches the level:
/// under 6 samples at 95 %.
std::optional<ConfidenceInterval> median_interval(std::span<const double> values, double level = 0.95);

struct Ratio {
  double value = 0;                      ///< exp of the median of the per-round ln ratios; NaN without rounds
  std::optional<ConfidenceInterval> ci;  ///< nothing under 6 rounds
  std::size_t rounds = 0;
};

/// Ratio of two times measured in the same rounds: element i of both belongs to round i. Both must be of one length and
/// positive. Whatever slows a whole round down cancels out.
Ratio ratio_of_rounds(std::span<const double> times, std::span<const double> baseline);

/// Half the width of the median's 95 % interval over the median: the rule that ends sampling. Infinity when there is no
/// interval yet.
double relative_half_width(const std::vector<double>& values);

}  // namespace attnscale

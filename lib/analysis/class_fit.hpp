// Coefficients of one class of growth, and of the free exponent; the parts of fit_growth that solve equations. Private
// to this library.
#pragma once

#include <optional>
#include <span>

#include "analysis/fit.hpp"

namespace attnscale {

/// Weights of the log residuals, with mean 1: the inverse of each size's variance, drawn half-way to the pooled
/// variance, since the spread of a few samples is itself noisy.
std::vector<double> spread_weights(std::span<const SizePoint> points);

/// The best coefficients of a class with or without an intercept, and its AICc. Nothing when a coefficient would have
/// to be negative or is zero (a simpler class then says the same), or when there are too few points for the class.
std::optional<FittedClass> fit_class(const GrowthClass& growth, bool intercept, std::span<const SizePoint> points,
                                     std::span<const double> weights, Quantity quantity);

/// The better of both, or nothing.
std::optional<FittedClass> fit_class(const GrowthClass& growth, std::span<const SizePoint> points, Quantity quantity);

struct PowerLaw {
  double intercept = 0;
  double coefficient = 0;
  double exponent = 0;
  [[nodiscard]] double at(double n) const;
};

/// a + c n^p with a >= 0, weighted log residuals.
PowerLaw fit_power_law(std::span<const SizePoint> points, std::span<const double> weights);

/// a + c n^p with a of any sign, relative residuals: for counts.
PowerLaw fit_exact_power_law(std::span<const SizePoint> points);

/// Slope of a straight line through the logarithms, all sizes alike.
double loglog_slope(std::span<const SizePoint> points);

}  // namespace attnscale

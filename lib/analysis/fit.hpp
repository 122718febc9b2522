// Scaling fits: which class of growth a time or a count has, and with which exponent. docs/statistics.md explains the
// choices and shows what simulations say about them.
//
//   t(n) = a + sum of c_k g_k(n)
//
// Times: all coefficients >= 0, residuals of the logarithm (so that every size counts alike, not the largest alone),
// weighted by the spread of each size. Counts have no noise: the intercept may be negative, residuals are relative, and
// a class that reproduces them is recognised as exact. The class is chosen by AICc; all classes within 4 of the best
// are named, and checked by leaving one size out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/growth.hpp"
#include "analysis/stats.hpp"

namespace attnscale {

/// A value at one size. Points of the same n (seeds, for example) are joined by their medians.
struct SizePoint {
  double n = 0;
  double value = 0;
  double spread = 0;  ///< relative standard error of the value (see relative_spread); 0: unknown
};

/// Relative standard error of the median of samples, from their MAD: what SizePoint::spread takes.
double relative_spread(std::span<const double> samples);

enum class Quantity {
  measured,  ///< has noise: times, resident bytes
  counted,   ///< has none: pairs, flops, counted bytes
};

struct FitOptions {
  Quantity quantity = Quantity::measured;
  int bootstrap_draws = 1000;  ///< for the interval of the exponent; 0: none
  std::uint64_t seed = 0;      ///< of the bootstrap
};

/// One class with its best coefficients.
struct FittedClass {
  const GrowthClass* growth = nullptr;
  double intercept = 0;
  std::vector<double> coefficients;  ///< one per term; with a step: before it, beyond it
  double step_after = 0;             ///< with a step: the last n before it
  double aicc = 0;
  double left_out_error = 0;  ///< root mean square log error of sizes left out; 0 for an exact class
  bool exact = false;         ///< reproduces counts up to rounding

  [[nodiscard]] double at(double n) const;
};

struct LocalExponent {
  double n = 0;  ///< geometric mean of the two sizes
  double exponent = 0;
};

struct GrowthFit {
  std::string refused;  ///< why there is no fit; empty when there is one
  Quantity quantity = Quantity::measured;
  std::vector<FittedClass> classes;               ///< every class that could be fitted, best first
  std::size_t plausible = 0;                      ///< the first so many are the ambiguous set
  double exponent = 0;                            ///< p of a + c n^p
  double exponent_intercept = 0;                  ///< a
  double exponent_coefficient = 0;                ///< c
  std::optional<ConfidenceInterval> exponent_ci;  ///< 95 % bootstrap; nothing for counts
  double loglog_slope = 0;                        ///< plain least squares of ln value over ln n, for comparison
  std::vector<LocalExponent> local;               ///< between neighbouring sizes
  double last_octave_exponent = 0;                ///< between the largest n and the nearest to half of it
  std::vector<SizePoint> points;                  ///< what was fitted, by rising n

  [[nodiscard]] const FittedClass& best() const { return classes.front(); }
  /// Names of the ambiguous set, best first, separated by "; ".
  [[nodiscard]] std::string ambiguous() const;
};

/// Fits all classes. Never throws for bad data: `refused` says what is wrong (under 5 sizes, under a 16x range, values
/// that are not positive).
GrowthFit fit_growth(std::span<const SizePoint> points, const FitOptions& options = {});

/// Compares with theory, an expression such as "O(n w)" (see parse_growth): "agrees", "ambiguous: ...", "differs: ..."
/// or "refused: ..."; empty without a theory. Counts are judged by the local exponent of the last octave too, since a
/// window as wide as the shortest sequence bends the curve below it.
std::string verdict(const GrowthFit& fit, std::string_view theory, const Constants& constants = {});

}  // namespace attnscale

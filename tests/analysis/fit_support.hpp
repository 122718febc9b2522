// Sizes and truths that the tests of fits share.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/fit.hpp"

namespace attnscale::test {

/// from, ..., to with `per_octave` sizes per octave, multiples of 16.
inline std::vector<double> sizes(double from, double to, int per_octave) {
  std::vector<double> n;
  for (int i = 0; from * std::exp2(static_cast<double>(i) / per_octave) <= to * 1.0001; ++i) {
    n.push_back(16 * std::round(from * std::exp2(static_cast<double>(i) / per_octave) / 16));
  }
  return n;
}

template <class Truth>
std::vector<SizePoint> points_of(const std::vector<double>& sizes, Truth truth) {
  std::vector<SizePoint> points;
  for (const double n : sizes) points.push_back({n, truth(n), 0});
  return points;
}

inline GrowthFit fit_counts(const std::vector<SizePoint>& points) {
  FitOptions options;
  options.quantity = Quantity::counted;
  return fit_growth(points, options);
}

inline GrowthFit fit_times(const std::vector<SizePoint>& points, int bootstrap_draws = 0) {
  FitOptions options;
  options.bootstrap_draws = bootstrap_draws;
  return fit_growth(points, options);
}

inline bool names(const GrowthFit& fit, const std::string& name) {
  for (std::size_t i = 0; i < fit.plausible; ++i) {
    if (fit.classes[i].growth->name == name) return true;
  }
  return false;
}

}  // namespace attnscale::test

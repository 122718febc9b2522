// Small nonlinear least squares: Levenberg-Marquardt for a handful of parameters and points.
#pragma once

#include <functional>
#include <vector>

namespace attnscale {

/// Fills residuals (one per point) and their derivatives (points x parameters, row-major) at the parameters given.
using Residuals =
    std::function<void(const std::vector<double>& at, std::vector<double>& residuals, std::vector<double>& jacobian)>;

struct LeastSquares {
  std::vector<double> at;  ///< the parameters found
  double sum = 0;          ///< of squared residuals
};

/// Minimises the sum of squares from `start`. Deterministic; stops when a step no longer changes the sum.
LeastSquares minimise_squares(const Residuals& residuals, std::vector<double> start, std::size_t points);

}  // namespace attnscale

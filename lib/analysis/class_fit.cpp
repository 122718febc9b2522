#include "analysis/class_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "analysis/least_squares.hpp"

namespace attnscale {
namespace {

/// Below this relative residual a count is reproduced exactly: far above rounding, far below any wrong class.
constexpr double kExactResidual = 1e-9;
/// A term that never reaches this share of the value is zero.
constexpr double kNegligibleShare = 1e-6;
/// Smallest jump that counts as a step.
constexpr double kLeastStep = 1.05;
/// A step needs this many sizes on each side.
constexpr std::size_t kSizesBesideStep = 2;

/// Basis functions at all points: points x terms, the intercept first when there is one.
using Basis = Eigen::MatrixXd;

Basis basis_of(const GrowthClass& growth, bool intercept, double step_after, std::span<const SizePoint> points) {
  const std::size_t terms = growth.step ? 2 : growth.terms.size();
  Basis basis(points.size(), terms + (intercept ? 1 : 0));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    Eigen::Index column = 0;
    if (intercept) basis(row, column++) = 1;
    if (growth.step) {
      const double value = growth.leading().at(points[i].n);
      basis(row, column++) = points[i].n <= step_after ? value : 0;
      basis(row, column++) = points[i].n <= step_after ? 0 : value;
    } else {
      for (const Growth& term : growth.terms) basis(row, column++) = term.at(points[i].n);
    }
  }
  return basis;
}

/// Solution of the weighted linear problem in relative residuals: exact for counts, a start for times.
Eigen::VectorXd relative_solution(const Basis& basis, std::span<const SizePoint> points,
                                  std::span<const double> weights) {
  Basis scaled = basis;
  Eigen::VectorXd ones(basis.rows());
  for (Eigen::Index i = 0; i < basis.rows(); ++i) {
    const double root = std::sqrt(weights[static_cast<std::size_t>(i)]);
    scaled.row(i) *= root / points[static_cast<std::size_t>(i)].value;
    ones[i] = root;
  }
  return scaled.colPivHouseholderQr().solve(ones);
}

/// The largest share of a term in the fitted value, over all points.
double share(const Basis& basis, Eigen::Index column, double coefficient, std::span<const SizePoint> points) {
  double largest = 0;
  for (Eigen::Index i = 0; i < basis.rows(); ++i) {
    largest = std::max(largest, std::abs(basis(i, column) * coefficient / points[static_cast<std::size_t>(i)].value));
  }
  return largest;
}

/// Minimises the weighted squared log residuals over positive coefficients exp(theta).
Eigen::VectorXd log_solution(const Basis& basis, std::span<const SizePoint> points, std::span<const double> weights) {
  const auto k = static_cast<std::size_t>(basis.cols());
  const Eigen::VectorXd start = relative_solution(basis, points, weights);
  std::vector<double> theta(k);
  for (std::size_t j = 0; j < k; ++j) {
    const auto column = static_cast<Eigen::Index>(j);
    // A coefficient that starts negative is put where its term makes a hundredth of the value.
    const double unit = share(basis, column, 1, points);
    theta[j] = std::log(start[column] * unit > 0.01 ? start[column] : 0.01 / unit);
  }
  const Residuals residuals = [&](const std::vector<double>& at, std::vector<double>& r,
                                  std::vector<double>& jacobian) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      double value = 0;
      for (std::size_t j = 0; j < k; ++j) value += basis(row, static_cast<Eigen::Index>(j)) * std::exp(at[j]);
      const double root = std::sqrt(weights[i]);
      r[i] = root * std::log(value / points[i].value);
      for (std::size_t j = 0; j < k; ++j) {
        jacobian[i * k + j] = root * basis(row, static_cast<Eigen::Index>(j)) * std::exp(at[j]) / value;
      }
    }
  };
  const LeastSquares found = minimise_squares(residuals, theta, points.size());
  Eigen::VectorXd coefficients(basis.cols());
  for (std::size_t j = 0; j < k; ++j) coefficients[static_cast<Eigen::Index>(j)] = std::exp(found.at[j]);
  return coefficients;
}

double aicc_of(double sum, std::size_t points, std::size_t parameters) {
  const auto m = static_cast<double>(points);
  const auto k = static_cast<double>(parameters);
  return m * std::log(sum / m) + 2 * k + 2 * k * (k + 1) / (m - k - 1);
}

/// Fills AICc and `exact`; the sum of squares has a floor, so that an exact class does not divide by zero.
void judge(FittedClass& fitted, std::span<const SizePoint> points, std::span<const double> weights,
           std::size_t parameters) {
  const auto m = static_cast<double>(points.size());
  double sum = 0;
  double largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double value = fitted.at(points[i].n);
    const double residual = value > 0 ? std::log(value / points[i].value) : HUGE_VAL;
    sum += weights[i] * residual * residual;
    largest = std::max(largest, std::abs(residual));
  }
  fitted.exact = largest < kExactResidual;
  fitted.aicc = aicc_of(std::max(sum, m * kExactResidual * kExactResidual), points.size(), parameters);
}

/// A class with given place of the step (ignored without one).
std::optional<FittedClass> fit_form(const GrowthClass& growth, bool intercept, double step_after,
                                    std::span<const SizePoint> points, std::span<const double> weights,
                                    Quantity quantity) {
  const Basis basis = basis_of(growth, intercept, step_after, points);
  // One more for the variance of the residuals, one for the place of the step.
  const std::size_t parameters = static_cast<std::size_t>(basis.cols()) + (growth.step ? 2 : 1);
  if (basis.cols() == 0 || points.size() < parameters + 2) return std::nullopt;
  const bool counted = quantity == Quantity::counted;
  const Eigen::VectorXd solution =
      counted ? relative_solution(basis, points, weights) : log_solution(basis, points, weights);
  FittedClass fitted;
  fitted.growth = &growth;
  fitted.step_after = growth.step ? step_after : 0;
  for (Eigen::Index j = 0; j < solution.size(); ++j) {
    const bool is_intercept = intercept && j == 0;
    if (share(basis, j, solution[j], points) < kNegligibleShare) return std::nullopt;
    if (solution[j] < 0 && !(is_intercept && counted)) return std::nullopt;
    if (is_intercept) {
      fitted.intercept = solution[j];
    } else {
      fitted.coefficients.push_back(solution[j]);
    }
  }
  if (growth.step && fitted.coefficients[1] < kLeastStep * fitted.coefficients[0]) return std::nullopt;
  judge(fitted, points, weights, parameters);
  return fitted;
}

void keep_better(std::optional<FittedClass>& best, std::optional<FittedClass> other) {
  if (other && (!best || other->aicc < best->aicc)) best = std::move(other);
}

/// Straight line through the logarithms: {intercept, slope}.
Eigen::Vector2d log_line(std::span<const SizePoint> points, std::span<const double> weights) {
  Basis basis(points.size(), 2);
  Eigen::VectorXd logs(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double root = std::sqrt(weights[i]);
    basis.row(row) << root, root * std::log(points[i].n);
    logs[row] = root * std::log(points[i].value);
  }
  return basis.colPivHouseholderQr().solve(logs);
}

double log_sum(const PowerLaw& law, std::span<const SizePoint> points, std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    sum += weights[i] * std::pow(std::log(law.at(points[i].n) / points[i].value), 2);
  return sum;
}

/// Levenberg-Marquardt over (ln a, ln c, p) from a given share of the intercept in the smallest value.
PowerLaw power_law_from(double intercept_share, std::span<const SizePoint> points, std::span<const double> weights) {
  std::vector<SizePoint> rest(points.begin(), points.end());
  const double a = intercept_share * std::min_element(rest.begin(), rest.end(), [](const auto& x, const auto& y) {
                                       return x.value < y.value;
                                     })->value;
  for (SizePoint& point : rest) point.value -= a;
  const Eigen::Vector2d line = log_line(rest, weights);
  const Residuals residuals = [&](const std::vector<double>& at, std::vector<double>& r,
                                  std::vector<double>& jacobian) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double power = std::exp(at[1] + at[2] * std::log(points[i].n));
      const double value = std::exp(at[0]) + power;
      const double root = std::sqrt(weights[i]);
      r[i] = root * std::log(value / points[i].value);
      jacobian[i * 3] = root * std::exp(at[0]) / value;
      jacobian[i * 3 + 1] = root * power / value;
      jacobian[i * 3 + 2] = root * power * std::log(points[i].n) / value;
    }
  };
  const LeastSquares found = minimise_squares(residuals, {std::log(a), line[0], line[1]}, points.size());
  return {std::exp(found.at[0]), std::exp(found.at[1]), found.at[2]};
}

}  // namespace

double FittedClass::at(double n) const {
  double value = intercept;
  if (growth->step) return value + coefficients[n <= step_after ? 0 : 1] * growth->leading().at(n);
  for (std::size_t k = 0; k < coefficients.size(); ++k) value += coefficients[k] * growth->terms[k].at(n);
  return value;
}

double PowerLaw::at(double n) const {
  return intercept + coefficient * std::pow(n, exponent);
}

std::vector<double> spread_weights(std::span<const SizePoint> points) {
  double pooled = 0;
  for (const SizePoint& point : points) pooled += point.spread * point.spread;
  pooled /= static_cast<double>(points.size());
  std::vector<double> weights(points.size(), 1);
  if (pooled <= 0) return weights;
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    weights[i] = 1 / (0.5 * points[i].spread * points[i].spread + 0.5 * pooled);
    sum += weights[i];
  }
  for (double& weight : weights) weight *= static_cast<double>(points.size()) / sum;
  return weights;
}

std::optional<FittedClass> fit_class(const GrowthClass& growth, bool intercept, std::span<const SizePoint> points,
                                     std::span<const double> weights, Quantity quantity) {
  if (!growth.step) return fit_form(growth, intercept, 0, points, weights, quantity);
  std::optional<FittedClass> best;
  for (std::size_t i = kSizesBesideStep; i + kSizesBesideStep <= points.size(); ++i) {
    keep_better(best, fit_form(growth, intercept, points[i - 1].n, points, weights, quantity));
  }
  return best;
}

std::optional<FittedClass> fit_class(const GrowthClass& growth, std::span<const SizePoint> points, Quantity quantity) {
  const std::vector<double> weights = spread_weights(points);
  std::optional<FittedClass> best = fit_class(growth, false, points, weights, quantity);
  keep_better(best, fit_class(growth, true, points, weights, quantity));
  return best;
}

PowerLaw fit_power_law(std::span<const SizePoint> points, std::span<const double> weights) {
  const Eigen::Vector2d line = log_line(points, weights);
  PowerLaw best{0, std::exp(line[0]), line[1]};
  // An intercept can only raise the exponent; without growth there is nothing to tell it from.
  if (line[1] <= 0) return best;
  for (const double share : {0.05, 0.6}) {
    const PowerLaw law = power_law_from(share, points, weights);
    if (log_sum(law, points, weights) < log_sum(best, points, weights)) best = law;
  }
  return best;
}

PowerLaw fit_exact_power_law(std::span<const SizePoint> points) {
  const std::vector<double> weights(points.size(), 1);
  const auto solve = [&](double exponent, PowerLaw& law) {
    const GrowthClass power{"", {{exponent, 0}}};
    const Eigen::VectorXd solution = relative_solution(basis_of(power, true, 0, points), points, weights);
    law = {solution[0], solution[1], exponent};
    double sum = 0;
    for (const SizePoint& point : points) sum += std::pow(law.at(point.n) / point.value - 1, 2);
    return sum;
  };
  // The sum has one minimum over the exponents of interest: a coarse grid brackets it, golden sections close in.
  constexpr double kLargest = 4;
  constexpr double kGrid = 0.05;
  PowerLaw law;
  double best = kGrid;
  double least = HUGE_VAL;
  for (double p = kGrid; p <= kLargest; p += kGrid) {
    const double sum = solve(p, law);
    if (sum < least) {
      least = sum;
      best = p;
    }
  }
  double low = best - kGrid;
  double high = best + kGrid;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 60; ++i) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    if (solve(left, law) < solve(right, law)) {
      high = right;
    } else {
      low = left;
    }
  }
  solve((low + high) / 2, law);
  return law;
}

double loglog_slope(std::span<const SizePoint> points) {
  return log_line(points, std::vector<double>(points.size(), 1))[1];
}

}  // namespace attnscale

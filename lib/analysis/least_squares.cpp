#include "analysis/least_squares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace attnscale {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::isfinite(sum) ? sum : HUGE_VAL;
}

std::vector<double> moved(const std::vector<double>& from, const Eigen::VectorXd& step) {
  std::vector<double> to = from;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += step[static_cast<Eigen::Index>(i)];
  return to;
}

}  // namespace

LeastSquares minimise_squares(const Residuals& residuals, std::vector<double> start, std::size_t points) {
  constexpr int kIterations = 60;
  constexpr double kConverged = 1e-12;
  constexpr double kLargestDamping = 1e12;
  const auto rows = static_cast<Eigen::Index>(points);
  const auto columns = static_cast<Eigen::Index>(start.size());
  std::vector<double> r(points);
  std::vector<double> j(points * start.size());
  LeastSquares best{std::move(start), 0};
  residuals(best.at, r, j);
  best.sum = sum_of_squares(r);
  double damping = 1e-3;
  for (int i = 0; i < kIterations && damping < kLargestDamping; ++i) {
    const Matrix jacobian = Eigen::Map<const Matrix>(j.data(), rows, columns);
    const Eigen::VectorXd gradient = jacobian.transpose() * Eigen::Map<const Eigen::VectorXd>(r.data(), rows);
    Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
    const double floor = 1e-12 * std::max(normal.diagonal().maxCoeff(), 1e-300);
    for (Eigen::Index d = 0; d < columns; ++d) normal(d, d) += damping * std::max(normal(d, d), floor);
    const std::vector<double> next = moved(best.at, normal.ldlt().solve(-gradient));
    residuals(next, r, j);
    const double sum = sum_of_squares(r);
    if (sum < best.sum) {
      const bool converged = best.sum - sum <= kConverged * best.sum;
      best = {next, sum};
      damping = std::max(damping / 10, 1e-12);
      if (converged) break;
    } else {
      residuals(best.at, r, j);
      damping *= 10;
    }
  }
  return best;
}

}  // namespace attnscale

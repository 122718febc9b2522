#include "study/verify/row_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attnscale {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestFloat = std::numeric_limits<float>::max();

double ratio(double error, double tolerance) {
  if (error == 0) return 0;
  return tolerance > 0 ? error / tolerance : kInfinity;
}

// NaN must meet NaN and infinity the same infinity; anything else is the plain difference.
double difference(double computed, double expected) {
  if (std::isnan(expected)) return std::isnan(computed) ? 0 : kInfinity;
  if (std::isinf(expected)) return computed == expected ? 0 : kInfinity;
  return std::isfinite(computed) ? std::abs(computed - expected) : kInfinity;
}

double output_error(std::span<const float> out, const ReferenceRow& own) {
  // A value that is not a number may take its whole row along.
  const bool any_nan = std::any_of(own.out.begin(), own.out.end(), [](double x) { return std::isnan(x); });
  const bool all_nan = std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); });
  if (any_nan && all_nan) return 0;
  double sum = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double d = difference(out[c], own.out[c]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

void implementation_error(const RowCase& row, RowError& error) {
  const ReferenceRow& own = *row.own;
  error.pseudo_keys = own.pseudo_keys;
  error.impl_error = output_error(row.out, own);
  if (row.lse) error.lse_error = difference(*row.lse, own.lse);
  error.impl_ratio = std::max(ratio(error.impl_error, own.out_tolerance), ratio(error.lse_error, own.lse_tolerance));
  error.overflow = std::isfinite(own.lse) && std::abs(own.lse) > kLargestFloat;
}

double squared_distance(std::span<const float> out, const std::vector<double>& target) {
  double sum = 0;
  for (std::size_t c = 0; c < out.size(); ++c) sum += (out[c] - target[c]) * (out[c] - target[c]);
  return sum;
}

double squared_norm(const std::vector<double>& row) {
  double sum = 0;
  for (const double x : row) sum += x * x;
  return sum;
}

void approximation_error(const RowCase& row, RowError& error) {
  const ReferenceRow& exact = row.exact->row;
  double dot = 0;
  double out2 = 0;
  for (std::size_t c = 0; c < row.out.size(); ++c) {
    const double o = row.out[c];
    error.max_abs = std::max(error.max_abs, std::abs(o - exact.out[c]));
    dot += o * exact.out[c];
    out2 += o * o;
  }
  error.error2 = squared_distance(row.out, exact.out);
  error.exact2 = squared_norm(exact.out);
  error.max_abs_v = exact.largest_value > 0 ? error.max_abs / (2 * exact.largest_value) : 0;
  const bool both = out2 > 0 && error.exact2 > 0;
  error.cosine = both ? dot / std::sqrt(out2 * error.exact2) : (out2 > 0 || error.exact2 > 0 ? 0 : kNaN);
}

double share_seen(const std::vector<std::int32_t>& best, std::span<const std::int32_t> groups) {
  if (best.empty()) return 0;
  const auto seen =
      std::count_if(best.begin(), best.end(), [&](std::int32_t j) { return groups[static_cast<std::size_t>(j)] >= 0; });
  return static_cast<double>(seen) / static_cast<double>(best.size());
}

void reference_error(const RowCase& row, RowError& error) {
  const ReferenceRow& reference = row.reference->row;
  error.reference_error2 = squared_distance(row.out, reference.out);
  error.reference2 = squared_norm(reference.out);
  // Both sums run over the same fp64 scores, so the mass passes 1 by rounding only.
  error.mass = std::min(1.0, std::exp(row.own->lse - reference.lse));
  error.top64 = share_seen(row.reference->best, row.groups);
  error.bound = 2 * (1 - error.mass) * reference.largest_value;
  error.bound_held = std::sqrt(error.reference_error2) <= error.bound + row.own->out_tolerance;
}

}  // namespace

RowError row_error(const RowCase& row) {
  RowError error;
  implementation_error(row, error);
  const auto finite = [](const ReferenceRow& r) {
    return std::isfinite(r.lse) && std::all_of(r.out.begin(), r.out.end(), [](double x) { return std::isfinite(x); });
  };
  const bool computed = std::all_of(row.out.begin(), row.out.end(), [](float x) { return std::isfinite(x); });
  error.empty = !finite(row.exact->row) || !finite(row.reference->row) || !computed;
  if (error.empty) return error;
  approximation_error(row, error);
  reference_error(row, error);
  return error;
}

}  // namespace attnscale

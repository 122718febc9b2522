// Row errors to columns. Sums run in row order, so that the figures are the same for any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/stats.hpp"
#include "study/verify/evaluate.hpp"

namespace attnscale {
namespace {

std::optional<double> nearest_rank(const std::vector<double>& values, double share) {
  return values.empty() ? std::nullopt : std::optional<double>(percentile(values, share));
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// sqrt(sum of squared errors / sum of squared targets): 0 for 0/0, empty for x/0.
std::optional<double> relative(double error2, double target2) {
  if (target2 > 0) return std::sqrt(error2 / target2);
  return error2 == 0 ? std::optional<double>(0) : std::nullopt;
}

// One figure of every averaged row that has it (NaN: has not).
template <class Figure>
std::vector<double> collect(std::span<const RowError> errors, Figure figure) {
  std::vector<double> values;
  for (const RowError& error : errors) {
    if (!error.averaged || error.empty) continue;
    if (const double value = figure(error); !std::isnan(value)) values.push_back(value);
  }
  return values;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void summarise_implementation(std::span<const RowError> errors, Record& record) {
  double error = 0, lse = 0, ratio = 0;
  for (const RowError& row : errors) {
    error = std::max(error, row.impl_error);
    lse = std::max(lse, row.lse_error);
    ratio = std::max(ratio, row.impl_ratio);
  }
  record.impl_error = error;
  record.lse_error = lse;
  record.impl_ratio = ratio;
  record.verified_rows = static_cast<std::int64_t>(errors.size());
}

void summarise_approximation(std::span<const RowError> errors, Record& record) {
  double error2 = 0, exact2 = 0, reference_error2 = 0, reference2 = 0, max_abs = 0, max_abs_v = 0;
  std::int64_t averaged = 0, empty = 0;
  for (const RowError& row : errors) {
    empty += row.empty ? 1 : 0;
    if (row.empty) continue;
    max_abs = std::max(max_abs, row.max_abs);
    max_abs_v = std::max(max_abs_v, row.max_abs_v);
    if (!row.averaged) continue;
    ++averaged;
    error2 += row.error2;
    exact2 += row.exact2;
    reference_error2 += row.reference_error2;
    reference2 += row.reference2;
  }
  record.error_rows = averaged;
  record.empty_rows = empty;
  if (averaged == 0) return;
  record.rel_fro = relative(error2, exact2);
  record.rel_fro_reference = relative(reference_error2, reference2);
  record.max_abs = max_abs;
  record.max_abs_v = max_abs_v;
  const std::vector<double> cosines = collect(errors, [](const RowError& e) { return e.cosine; });
  record.cosine_mean = mean(cosines);
  record.cosine_p1 = nearest_rank(cosines, 0.01);
  const std::vector<double> relatives =
      collect(errors, [](const RowError& e) { return relative(e.error2, e.exact2).value_or(kNaN); });
  record.row_rel_p50 = nearest_rank(relatives, 0.50);
  record.row_rel_p95 = nearest_rank(relatives, 0.95);
  record.row_rel_p99 = nearest_rank(relatives, 0.99);
}

// What only a softmax over a subset of the keys has.
void summarise_pruned(std::span<const RowError> errors, Record& record) {
  const std::vector<double> masses = collect(errors, [](const RowError& e) { return e.mass; });
  record.mass_recall_mean = mean(masses);
  record.mass_recall_p5 = nearest_rank(masses, 0.05);
  record.tv_mean = mean(collect(errors, [](const RowError& e) { return 1 - e.mass; }));
  // A row that sees nothing has no weights to compare.
  record.kl_mean = mean(collect(errors, [](const RowError& e) { return e.mass > 0 ? -std::log(e.mass) : kNaN; }));
  bool held = true;
  for (const RowError& row : errors) {
    if (row.empty) continue;
    record.mass_recall_min = std::min(record.mass_recall_min.value_or(1), row.mass);
    record.error_bound = std::max(record.error_bound.value_or(0), row.bound);
    held = held && row.bound_held;
  }
  if (record.error_bound) record.bound_held = held;
}

}  // namespace

void summarise(std::span<const RowError> errors, Contract contract, bool shares_qk, Record& record) {
  record.error_reference = shares_qk ? "exact.shared" : "exact";
  summarise_implementation(errors, record);
  summarise_approximation(errors, record);
  if (contract == Contract::pruned) summarise_pruned(errors, record);
  if (contract == Contract::pruned || contract == Contract::exact) {
    record.top64_recall = mean(collect(errors, [](const RowError& e) { return e.top64; }));
  }
}

}  // namespace attnscale

#include "methods/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attnscale {
namespace {

constexpr double kUnitRoundoff = 0x1p-24;  // of fp32
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Four partial sums, so that one row of a long sequence does not wait for the latency of a single chain.
double dot(const float* a, const float* b, std::int64_t width) {
  double sum[4] = {0, 0, 0, 0};
  std::int64_t i = 0;
  for (; i + 4 <= width; i += 4) {
    for (int lane = 0; lane < 4; ++lane)
      sum[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
  }
  for (; i < width; ++i) sum[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class Head>
std::vector<double> row_norms(const TensorView<const float, Head>& tensor) {
  std::vector<double> norms;
  for (std::int64_t b = 0; b < tensor.extents.batch; ++b) {
    for (std::int64_t h = 0; h < tensor.extents.heads; ++h) {
      const MatrixView<const float> rows = tensor.matrix(BatchIndex{b}, Head{h});
      for (std::int64_t i = 0; i < rows.rows; ++i)
        norms.push_back(std::sqrt(dot(rows.row(i), rows.row(i), rows.width)));
    }
  }
  return norms;
}

// The pseudo-keys of one row, numbered 0, 1, ... whatever their ids are.
struct PseudoKeys {
  std::vector<std::int32_t> of_key;  // -1: hidden
  std::vector<double> count;
  std::vector<double> logit;
};

PseudoKeys number_groups(std::span<const std::int32_t> groups) {
  PseudoKeys keys;
  keys.of_key.assign(groups.begin(), groups.end());
  const std::int32_t largest = groups.empty() ? -1 : *std::max_element(groups.begin(), groups.end());
  std::vector<std::int32_t> number(static_cast<std::size_t>(std::max(largest, -1) + 1), -1);
  for (std::int32_t& group : keys.of_key) {
    if (group < 0) continue;
    std::int32_t& n = number[static_cast<std::size_t>(group)];
    if (n < 0) {
      n = static_cast<std::int32_t>(keys.count.size());
      keys.count.push_back(0);
    }
    keys.count[static_cast<std::size_t>(n)] += 1;
    group = n;
  }
  keys.logit.assign(keys.count.size(), 0.0);
  return keys;
}

double log_sum_exp(const std::vector<double>& logits) {
  double largest = -kInfinity;
  for (const double s : logits) {
    if (std::isnan(s)) return kNaN;
    largest = std::max(largest, s);
  }
  if (logits.empty()) return largest;
  double sum = 0;
  for (const double s : logits) sum += std::exp(s - largest);
  return largest + std::log(sum);
}

// Maxima over the keys that a row sees; NaN, which makes its row NaN anyway, does not count.
double largest_norm(const double* norms, const std::vector<std::int32_t>& of_key) {
  double largest = 0;
  for (std::size_t j = 0; j < of_key.size(); ++j) {
    if (of_key[j] >= 0) largest = std::max(largest, norms[j]);
  }
  return largest;
}

void add_values(const MatrixView<const float>& v, const PseudoKeys& keys, ReferenceRow& result) {
  for (std::int64_t j = 0; j < v.rows; ++j) {
    const std::int32_t group = keys.of_key[static_cast<std::size_t>(j)];
    if (group < 0) continue;
    const auto g = static_cast<std::size_t>(group);
    const double weight = std::exp(keys.logit[g] - result.lse) / keys.count[g];
    const float* value = v.row(j);
    for (std::size_t c = 0; c < result.out.size(); ++c) result.out[c] += weight * static_cast<double>(value[c]);
  }
}

// How far a correct fp32 result may lie from the fp64 one. u = 2^-24 bounds the relative rounding of one operation.
//
// Scores. A dot product of d terms is off by at most d u sum|q_c k_c| <= d u norm(q) norm(k) (Cauchy-Schwarz), in any
// order of summation; the factor scale/temperature is rounded once and multiplied once: two more. So each score is off
// by at most
//   delta = (d + 2) u norm(q) max norm(k) scale/temperature.
// Shared-QK keys q/norm(q) carry the rounding of the norm: d/2 u for the sum of squares under the square root, and two
// for the root and the division: 1.5 d + 4. A mean of c keys is off by c u max norm(k): d + 2 + c.
//
// Softmax. Scores moved by at most delta each move a softmax by at most tanh(delta/2) in total variation, hence the
// output by 2 tanh(delta/2) max norm(v). exp, its argument and the final division cost a constant number of roundings
// (16 is ample). Sums are two-level: a tile of T keys is summed from zero (T u), then added to the total, which is
// rescaled when the maximum moves (n/T u). A mean of c values adds c u. So
//   output: max norm(v) (2 tanh(delta/2) + (16 + T + n/T + c) u);
//   LSE:    delta + (16 + T + n/T) u + 4 u abs(LSE), the last from storing it in fp32 and the change of base.
// Without summaries c = 0; a summary of one key is that key, with no rounding.
struct Rounding {
  double score = 0;  // delta
  double sums = 0;   // (16 + T + n/T) u
  double means = 0;  // c u
};

Rounding rounding_of(const Problem& problem, bool shared_qk, const PseudoKeys& keys, double norms) {
  const auto dim = static_cast<double>(problem.shape.dim);
  const double tile = problem.shape.dim >= 128 || problem.shape.value_dim >= 128 ? 32 : 64;
  double summary = keys.count.empty() ? 0 : *std::max_element(keys.count.begin(), keys.count.end());
  if (summary <= 1) summary = 0;
  const double factor = (shared_qk ? 1.5 * dim + 4 : dim + 2) + summary;
  return {factor * kUnitRoundoff * norms * problem.score_scale(),
          (16 + tile + static_cast<double>(keys.count.size()) / tile) * kUnitRoundoff, summary * kUnitRoundoff};
}

}  // namespace

Reference::Reference(const Problem& problem, const Qkv& inputs, bool shared_qk)
    : problem_(problem),
      inputs_(inputs),
      shared_qk_(shared_qk),
      query_norms_(row_norms(inputs.q)),
      key_norms_(shared_qk ? std::vector<double>{} : row_norms(inputs.k)),
      value_norms_(row_norms(inputs.v)) {}

const double* Reference::norms_of_values(RowRef row) const {
  const Shape& s = problem_.shape;
  return value_norms_.data() + (row.batch.value * s.kv_heads + s.kv_head(row.head).value) * s.keys;
}

const double* Reference::norms_of_queries(RowRef row) const {
  return query_norms_.data() + (row.batch.value * problem_.shape.heads + row.head.value) * problem_.shape.queries;
}

const double* Reference::norms_of_keys(RowRef row) const {
  const Shape& s = problem_.shape;
  return key_norms_.data() + (row.batch.value * s.kv_heads + s.kv_head(row.head).value) * s.keys;
}

double Reference::score(RowRef row, std::int64_t key) const {
  const MatrixView<const float> q = inputs_.q.matrix(row.batch, row.head);
  if (!shared_qk_) {
    const MatrixView<const float> k = inputs_.k.matrix(row.batch, problem_.shape.kv_head(row.head));
    return dot(q.row(row.query), k.row(key), q.width) * problem_.score_scale();
  }
  const double norm = norms_of_queries(row)[key];
  return norm == 0 ? 0.0 : dot(q.row(row.query), q.row(key), q.width) / norm * problem_.score_scale();
}

double Reference::largest_key(RowRef row, const std::vector<std::int32_t>& of_key) const {
  if (!shared_qk_) return largest_norm(norms_of_keys(row), of_key);
  return largest_norm(norms_of_queries(row), of_key) > 0 ? 1.0 : 0.0;
}

ReferenceRow Reference::row(RowRef row, std::span<const std::int32_t> groups) const {
  const Shape& shape = problem_.shape;
  ReferenceRow result;
  result.out.assign(static_cast<std::size_t>(shape.value_dim), 0.0);
  const double* value_norms = norms_of_values(row);
  for (std::int64_t j = 0; j < problem_.allowed(row.query); ++j) {
    result.largest_value = std::max(result.largest_value, value_norms[j]);
  }

  // The score of a mean key is the mean of the scores, and the weight of a mean value spreads evenly over its keys, so
  // that no mean vector is ever needed.
  PseudoKeys keys = number_groups(groups);
  for (std::int64_t j = 0; j < shape.keys; ++j) {
    const std::int32_t g = keys.of_key[static_cast<std::size_t>(j)];
    if (g >= 0) keys.logit[static_cast<std::size_t>(g)] += score(row, j) / keys.count[static_cast<std::size_t>(g)];
  }
  for (std::size_t g = 0; g < keys.count.size(); ++g) keys.logit[g] += std::log(keys.count[g]);
  result.pseudo_keys = static_cast<std::int64_t>(keys.count.size());
  result.lse = log_sum_exp(keys.logit);

  add_values(inputs_.v.matrix(row.batch, shape.kv_head(row.head)), keys, result);
  if (keys.count.empty()) return result;
  const double norms = norms_of_queries(row)[row.query] * largest_key(row, keys.of_key);
  const Rounding rounding = rounding_of(problem_, shared_qk_, keys, norms);
  result.out_tolerance =
      largest_norm(value_norms, keys.of_key) * (2 * std::tanh(rounding.score / 2) + rounding.sums + rounding.means);
  result.lse_tolerance = rounding.score + rounding.sums + 4 * kUnitRoundoff * std::abs(result.lse);
  return result;
}

ReferenceRow Reference::exact_row(RowRef row) const {
  std::vector<std::int32_t> groups(static_cast<std::size_t>(problem_.shape.keys));
  allowed_keys(problem_)(row, groups);
  return this->row(row, groups);
}

std::vector<std::int32_t> Reference::best_keys(RowRef row, std::int64_t count) const {
  const std::int64_t allowed = problem_.allowed(row.query);
  std::vector<double> scores(static_cast<std::size_t>(allowed));
  for (std::int64_t j = 0; j < allowed; ++j) {
    const double s = score(row, j);
    scores[static_cast<std::size_t>(j)] = std::isnan(s) ? -kInfinity : s;  // NaN has no order: last
  }
  std::vector<std::int32_t> best(scores.size());
  std::iota(best.begin(), best.end(), 0);
  const auto end = best.begin() + std::min(count, allowed);
  std::partial_sort(best.begin(), end, best.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = scores[static_cast<std::size_t>(a)];
    const double y = scores[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  best.erase(end, best.end());
  return best;
}

KeyGroups allowed_keys(const Problem& problem) {
  return [problem](RowRef row, std::span<std::int32_t> groups) {
    const std::int64_t allowed = problem.allowed(row.query);
    for (std::size_t j = 0; j < groups.size(); ++j) {
      groups[j] = static_cast<std::int64_t>(j) < allowed ? static_cast<std::int32_t>(j) : -1;
    }
  };
}

}  // namespace attnscale

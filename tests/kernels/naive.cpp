#include "naive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace kernel_test {
namespace kernels = attnscale::kernels;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double norm(const float* row, std::int64_t width) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += double{row[c]} * row[c];
  return std::sqrt(sum);
}

double product(const Case& c, std::int64_t row, std::int64_t key) {
  double sum = 0;
  for (std::int64_t e = 0; e < c.q.view().width; ++e) sum += double{c.q.row(row)[e]} * c.k.row(key)[e];
  return sum * c.scale;
}

}  // namespace

Matrix::Matrix(std::int64_t rows, std::int64_t width, Layout layout)
    : rows_(rows),
      width_(width),
      stride_(width + layout.gap),
      offset_(layout.offset),
      data_(static_cast<std::size_t>(layout.offset + (rows - 1) * (width + layout.gap) + width), kNaN) {}

bool Matrix::padding_is_untouched() const {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(data_.size()); ++i) {
    const bool inside = i >= offset_ && (i - offset_) % stride_ < width_;
    if (!inside && !is_nan(data_[static_cast<std::size_t>(i)])) return false;
  }
  return true;
}

Matrix gaussian(std::int64_t rows, std::int64_t width, unsigned seed, Layout layout, double deviation) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, deviation);
  Matrix matrix(rows, width, layout);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < width; ++c) matrix.row(i)[c] = static_cast<float>(normal(generator));
  }
  return matrix;
}

Case make_case(std::int64_t queries, std::int64_t keys, std::int64_t dim, std::int64_t value_dim, Layout layout,
               double deviation) {
  Case c{gaussian(queries, dim, 1, layout, deviation),
         gaussian(keys, dim, 2, layout, deviation),
         gaussian(keys, value_dim, 3, layout),
         Matrix(queries, value_dim, layout),
         Matrix(queries, 1, layout),
         1 / std::sqrt(static_cast<double>(dim))};
  for (std::int64_t i = 0; i < queries; ++i) {
    std::fill_n(c.out.row(i), value_dim, 7.0f);
    *c.lse.row(i) = 7.0f;
  }
  return c;
}

// Tolerance, with u = 2^-24, T keys per tile, n keys seen, norms of the rows seen. A score is d products, one scaling
// of q and one rounding of the scale off: (d + 2) u |q| |k| scale, and a bias adds one rounding of the sum: delta in
// all. Weights p / sum p then move by at most 2 tanh(delta / 2) in sum. Sums of a tile, of the tiles, exp2 (3.2 u), the
// rescale and the division: (16 + T + n/T) u. A stored state rounds its lse (delta grows by 2 u |lse|) and brings sums
// of its own.
Expected naive_row(const Case& c, std::int64_t row, const std::vector<Seen>& seen, int parts) {
  const std::int64_t dim = c.q.view().width, value_dim = c.v.view().width;
  Expected e{std::vector<double>(static_cast<std::size_t>(value_dim), 0.0), -kInfinity, 0, 0};
  if (seen.empty()) return e;
  double top = -kInfinity, sum = 0, key_norm = 0, value_norm = 0, bias = 0;
  for (const Seen& s : seen) {
    top = std::max(top, product(c, row, s.key) + s.bias);
    key_norm = std::max(key_norm, norm(c.k.row(s.key), dim));
    value_norm = std::max(value_norm, norm(c.v.row(s.key), value_dim));
    bias = std::max(bias, std::abs(s.bias));
  }
  for (const Seen& s : seen) {
    const double p = std::exp(product(c, row, s.key) + s.bias - top);
    sum += p;
    for (std::int64_t i = 0; i < value_dim; ++i) e.out[static_cast<std::size_t>(i)] += p * c.v.row(s.key)[i];
  }
  for (double& x : e.out) x /= sum;
  e.lse = top + std::log(sum);
  const double u = std::ldexp(1.0, -24), tile = static_cast<double>(kernels::tile_keys(dim, value_dim));
  const double largest = norm(c.q.row(row), dim) * key_norm * c.scale;
  double delta = (static_cast<double>(dim) + 2) * u * largest;
  if (bias > 0) delta += u * (largest + bias);
  if (parts > 1) delta += 2 * u * std::abs(e.lse);
  const double sums = (parts * (16 + tile) + static_cast<double>(seen.size()) / tile) * u;
  e.out_tolerance = value_norm * (2 * std::tanh(delta / 2) + sums);
  e.lse_tolerance = delta + sums + 4 * u * std::abs(e.lse);
  return e;
}

void check_row(const Case& c, std::int64_t row, const std::vector<Seen>& seen, int parts) {
  const Expected e = naive_row(c, row, seen, parts);
  double error = 0;
  for (std::size_t i = 0; i < e.out.size(); ++i) error += std::pow(c.out.row(row)[i] - e.out[i], 2);
  error = std::sqrt(error);
  const float lse = *c.lse.row(row);
  INFO("row " << row << " sees " << seen.size() << " keys; error " << error << ", lse " << lse << " for " << e.lse);
  CHECK(error <= e.out_tolerance);
  CHECK((lse == e.lse || std::abs(lse - e.lse) <= e.lse_tolerance));
}

void for_each_target(const std::function<void()>& visit) {
  for (const std::string& name : kernels::available_targets()) {
    kernels::use_target(name);
    INFO("SIMD target " << name);
    visit();
  }
  kernels::use_target(kernels::available_targets().front());
}

Scratch::Scratch(std::int64_t floats)
    : count_(static_cast<std::size_t>(floats)), storage_({1, 1, 1, floats}, attnscale::Padding{}) {
  std::fill_n(storage_.first(), floats, kNaN);
}

kernels::Span span_of(const Case& c, std::int64_t first, std::int64_t count) {
  const auto k = c.k.view(), v = c.v.view();
  kernels::Span span;
  span.k = k.data + first * k.row_stride;
  span.v = v.data + first * v.row_stride;
  span.count = count;
  span.k_stride = k.row_stride;
  span.v_stride = v.row_stride;
  return span;
}

void for_each_strip(Case& c, const std::vector<std::int32_t>& order,
                    const std::function<void(const kernels::Strip&)>& body) {
  std::vector<std::int32_t> rows = order;
  if (rows.empty()) {
    rows.resize(static_cast<std::size_t>(c.q.view().rows));
    std::iota(rows.begin(), rows.end(), 0);
  }
  const auto width = static_cast<std::size_t>(kernels::strip_width());
  for (std::size_t first = 0; first < rows.size(); first += width) {
    const auto count = static_cast<int>(std::min(width, rows.size() - first));
    body({c.q.view(), c.out.view(), c.lse.view(), rows.data() + first, count, false});
  }
}

std::int64_t attend_all(Case& c, const SpanList& spans, bool resume, const std::vector<std::int32_t>& order) {
  Scratch scratch(kernels::attend_scratch(c.q.view().width, c.v.view().width));
  std::int64_t pairs = 0;
  for_each_strip(c, order, [&](kernels::Strip strip) {
    strip.resume = resume;
    pairs += kernels::attend(strip, spans(strip), c.scale, scratch.floats());
  });
  return pairs;
}

bool is_nan(float x) {
  return x != x;
}

}  // namespace kernel_test

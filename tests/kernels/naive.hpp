// What the kernel tests share: matrices with hostile padding, attention by definition in fp64, and a loop over SIMD
// targets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "kernels/strip.hpp"
#include "support/catch.hpp"

namespace kernel_test {

using attnscale::MatrixView;

/// Memory layout of a matrix: NaN lies before, between and (short of the end, where memory really ends) behind the
/// rows.
struct Layout {
  std::int64_t offset = 0;  ///< elements before the first row: 1 misaligns every row
  std::int64_t gap = 0;     ///< elements between rows
};

class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t width, Layout layout = {});
  [[nodiscard]] MatrixView<float> view() { return {data_.data() + offset_, rows_, width_, stride_}; }
  [[nodiscard]] MatrixView<const float> view() const { return {data_.data() + offset_, rows_, width_, stride_}; }
  [[nodiscard]] float* row(std::int64_t i) { return view().row(i); }
  [[nodiscard]] const float* row(std::int64_t i) const { return view().row(i); }
  /// True when everything outside of the rows is still NaN.
  [[nodiscard]] bool padding_is_untouched() const;

 private:
  std::int64_t rows_, width_, stride_, offset_;
  std::vector<float> data_;
};

Matrix gaussian(std::int64_t rows, std::int64_t width, unsigned seed, Layout layout = {}, double deviation = 1);

/// A key that a query sees; bias is natural and is added to its score.
struct Seen {
  std::int64_t key;
  double bias = 0;
};

struct Case {
  Matrix q, k, v, out, lse;
  double scale;
};

/// Gaussian q, k, v of the sizes given; out and lse hold 7, so that an unwritten row shows.
Case make_case(std::int64_t queries, std::int64_t keys, std::int64_t dim, std::int64_t value_dim, Layout layout = {},
               double deviation = 1);

struct Expected {
  std::vector<double> out;
  double lse;
  double out_tolerance;  ///< of the 2-norm of the error
  double lse_tolerance;
};

/// Attention of one row by definition. `parts` is how many times a state was stored and resumed, plus one.
Expected naive_row(const Case& c, std::int64_t row, const std::vector<Seen>& seen, int parts = 1);

/// CHECKs out and lse of one row against naive_row.
void check_row(const Case& c, std::int64_t row, const std::vector<Seen>& seen, int parts = 1);

/// Calls `visit` with every SIMD target of this CPU in use, then goes back to the best.
void for_each_target(const std::function<void()>& visit);

/// Aligned scratch memory of `floats` floats, filled with NaN.
class Scratch {
 public:
  explicit Scratch(std::int64_t floats);
  [[nodiscard]] std::span<float> floats() { return {storage_.first(), count_}; }

 private:
  std::size_t count_;
  attnscale::Storage storage_;
};

/// A span over rows [first, first + count) of k and v.
attnscale::kernels::Span span_of(const Case& c, std::int64_t first, std::int64_t count);

/// Splits the rows of a case into strips, in the order given (all rows, in order, when empty), and calls `body` for
/// each.
void for_each_strip(Case& c, const std::vector<std::int32_t>& order,
                    const std::function<void(const attnscale::kernels::Strip&)>& body);

/// attend() over every strip; `spans` lists the spans of a strip. Returns the visible pairs.
using SpanList = std::function<std::vector<attnscale::kernels::Span>(const attnscale::kernels::Strip&)>;
std::int64_t attend_all(Case& c, const SpanList& spans, bool resume = false,
                        const std::vector<std::int32_t>& order = {});

bool is_nan(float x);

}  // namespace kernel_test

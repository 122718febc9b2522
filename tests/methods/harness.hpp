// Runs methods on small inputs and compares them with the oracle; what all tests of this folder share.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"
#include "methods/reference.hpp"
#include "run/executor.hpp"

namespace attnscale::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows that start at odd addresses, with NaN between and around them: a read outside a row shows.
inline constexpr Padding kHostile{3, 5, kNaN};

struct TestInputs {
  QueryTensor q;
  KeyTensor k;
  KeyTensor v;
  [[nodiscard]] Qkv view() const { return {q.view(), k.view(), v.view()}; }
};

/// Replaces every element, in order of (batch, head, row, column), by `value(old, batch, head, row, column)`.
using Change = std::function<float(float, std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
template <class Head>
void change(Tensor<Head>& tensor, const Change& value) {
  const Extents e = tensor.extents();
  for (std::int64_t b = 0; b < e.batch; ++b) {
    for (std::int64_t h = 0; h < e.heads; ++h) {
      const MatrixView<float> m = tensor.view().matrix(BatchIndex{b}, Head{h});
      for (std::int64_t i = 0; i < e.rows; ++i) {
        for (std::int64_t c = 0; c < e.width; ++c) m.row(i)[c] = value(m.row(i)[c], b, h, i, c);
      }
    }
  }
}

/// Sets every element to `value(batch, head, row, column)`.
using Fill = std::function<float(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
template <class Head>
void fill(Tensor<Head>& tensor, const Fill& value) {
  change(tensor, [&](float, auto... place) { return value(place...); });
}

/// Standard normal values, seeded by problem.seed.
TestInputs gaussian(const Problem& problem, const Padding& padding = {});
/// Multiples of 1/8 between -2 and 2: sums of a few of them are exact in fp32.
TestInputs eighths(const Problem& problem);
/// All zero.
TestInputs zeros(const Problem& problem, const Padding& padding = {});

struct Outcome {
  QueryTensor out;
  QueryTensor lse;
  std::vector<std::int32_t> choices;
  Cost cost;
  WorkCount work;
  [[nodiscard]] const float* row(RowRef r) const { return out.view().matrix(r.batch, r.head).row(r.query); }
  [[nodiscard]] float lse_of(RowRef r) const { return lse.view().matrix(r.batch, r.head).row(r.query)[0]; }
};

/// One run in a workspace full of NaN, into outputs full of NaN.
Outcome run(const MethodSpec& spec, const Problem& problem, const Qkv& in, int threads = 1,
            const Padding& padding = {});

/// True when outputs and LSE are the same bits (padding left out).
bool same_bits(const Outcome& a, const Outcome& b);
bool same_bits(const Outcome& a, RowRef row_a, const Outcome& b, RowRef row_b);

MethodSpec spec_of(const std::string& text);

/// All rows of a problem: batch, head, query.
std::vector<RowRef> rows_of(const Problem& problem);

/// Key groups of one row, from the method's definition.
std::vector<std::int32_t> groups_of(const MethodSpec& spec, const Problem& problem, const Outcome& outcome, RowRef row);

/// Error over tolerance, LSE included; 0/0 = 0. A NaN of the oracle must be NaN; a row with NaN values may be NaN as a
/// whole.
double ratio_of(const ReferenceRow& reference, const Outcome& outcome, RowRef row);

struct Comparison {
  double worst = 0;  ///< largest ratio_of over all rows
  RowRef where;      ///< its row
  std::int64_t visible_pairs = 0;
};
Comparison compare(const MethodSpec& spec, const Problem& problem, const Qkv& in, const Outcome& outcome);

/// "window:w=4 on batch=1,..." for INFO.
std::string describe(const MethodSpec& spec, const Problem& problem);

/// True when the sets and pseudo-keys are the same whatever the groups are called.
bool same_partition(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b);

}  // namespace attnscale::test

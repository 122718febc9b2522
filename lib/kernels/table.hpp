// The kernels of one SIMD target, as a table of functions: targets.cpp compiles them once per target, strip.cpp calls
// through the table in use.
#pragma once

#include <string>
#include <vector>

#include "kernels/strip.hpp"

namespace attnscale::kernels {

struct KernelTable {
  int strip_width;
  std::int64_t (*attend)(const Strip&, std::span<const Span>, double scale, std::span<float> scratch);
  std::int64_t (*attend_block)(std::span<const Strip>, std::span<const Span>, double scale, std::span<float> scratch);
  void (*score)(const Strip&, const Span&, double scale, std::span<float> scores, std::span<float> scratch);
  void (*softmax)(const Strip&, std::int64_t count, std::span<float> scores, std::span<float> sums);
  void (*weigh)(const Strip&, const Span&, std::span<const float> scores, std::span<const float> sums,
                std::span<float> scratch);
  std::int64_t (*select_topk)(const Strip&, const Span&, double scale, std::int64_t k, const TopkResult&,
                              std::span<float> scratch);
  void (*attend_selected)(const Strip&, const MatrixView<const float>& v, std::int64_t k, const TopkResult&);
  std::int64_t (*probe_multiply_add)(std::int64_t steps);
  float (*probe_exp2)(std::span<const float> x);
  float (*probe_read)(std::span<const float> x);
  void (*probe_triad)(std::span<float> a, std::span<const float> b, std::span<const float> c, float factor);
};

struct Target {
  std::string name;
  const KernelTable* table;
};

/// The targets that were compiled and that this CPU can run, best first; never empty.
std::vector<Target> compiled_targets();

/// The table of the target in use.
const KernelTable& table_in_use();

/// Room for the candidates of a lane in select_topk(), a whole number of vectors: twice k, and one tile that may all be
/// better. A cut costs in proportion to the list, but each makes the lane choosier.
[[nodiscard]] constexpr std::int64_t candidate_capacity(std::int64_t k) {
  return (2 * k + 63) / 64 * 64 + 64;
}

}  // namespace attnscale::kernels

#include "methods/shared_keys.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attnscale::methods {

double inverse_norm(const float* query, std::int64_t dim) {
  // Four chains, so that the sum does not wait for the latency of one.
  double sum[4] = {0, 0, 0, 0};
  std::int64_t c = 0;
  for (; c + 4 <= dim; c += 4) {
    for (int i = 0; i < 4; ++i) sum[i] += static_cast<double>(query[c + i]) * static_cast<double>(query[c + i]);
  }
  for (; c < dim; ++c) sum[0] += static_cast<double>(query[c]) * static_cast<double>(query[c]);
  const double square = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  if (square == 0) return 0;
  return std::isinf(square) ? std::numeric_limits<double>::quiet_NaN() : 1 / std::sqrt(square);
}

void scale_to_key(const float* query, std::int64_t dim, double inverse, float* key) {
  for (std::int64_t c = 0; c < dim; ++c) key[c] = static_cast<float>(query[c] * inverse);
}

std::int64_t shared_keys_flops(const Shape& shape) {
  return 3 * shape.dim * shape.rows();
}

std::int64_t shared_keys_bytes(const Shape& shape) {
  const std::int64_t floats =
      shape.rows() * (shape.dim + shape.value_dim + 1) + shape.batch * shape.kv_heads * shape.keys * shape.value_dim;
  return floats * static_cast<std::int64_t>(sizeof(float));
}

std::optional<std::string> needs_equal_lengths(const Problem& problem) {
  if (problem.shape.queries == problem.shape.keys) return std::nullopt;
  return fmt::format("the keys are the normalised queries, so there must be as many queries as keys, not {} and {}",
                     problem.shape.queries, problem.shape.keys);
}

}  // namespace attnscale::methods

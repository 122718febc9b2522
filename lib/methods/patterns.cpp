#include "methods/patterns.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace attnscale::methods {

std::optional<std::string> needs_positions(const Problem& problem) {
  if (problem.causal() || problem.shape.queries == problem.shape.keys) return std::nullopt;
  return fmt::format(
      "queries have no position among the keys when there are {} queries, {} keys and no causal mask: make both equal, "
      "or "
      "use a causal mask",
      problem.shape.queries, problem.shape.keys);
}

std::int64_t compulsory_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  const std::int64_t query_side = s.rows() * (s.dim + s.value_dim + 1);
  const std::int64_t key_side = s.batch * s.kv_heads * s.keys * (s.dim + s.value_dim);
  return (query_side + key_side) * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t head_count(const Problem& problem) {
  return problem.shape.batch * problem.shape.heads;
}

std::int64_t first_seeing_position(const Problem& problem) {
  return std::max<std::int64_t>(problem.position(0), 0);
}

std::int64_t steps_before(std::int64_t m, std::int64_t w, std::int64_t step) {
  if (m <= 0) return 0;
  const std::int64_t full = m / step;  // x / step takes each value below this `step` times, and this one m % step times
  if (full <= w) return step * (full * (full - 1) / 2) + (m % step) * full;
  return step * (w * (w - 1) / 2) + (m - step * w) * w;
}

Cost static_cost(const Problem& problem, std::int64_t pairs) {
  Cost cost;
  cost.visible_pairs = pairs;
  cost.scored_pairs = pairs;
  cost.bytes_moved = compulsory_bytes(problem);
  cost.exact_fallback = pairs == problem.allowed_pairs() * head_count(problem);
  return cost;
}

}  // namespace attnscale::methods

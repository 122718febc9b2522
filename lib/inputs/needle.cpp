// Input family `needle`: models look-up (induction heads, retrieval). The query at position p seeks one key, drawn
// uniformly from the first half [0, (p + 2) / 2) of its past: at least p/2 away, visible under a causal mask. That key
// carries nearly all mass, so windows lose everything and content-based methods lose nothing.
//
// Keys are Gaussian directions of norm sqrt(dim), so no key can outdo the one that is sought; q = strength / sqrt(dim)
// * key + noise, so q.k / sqrt(dim) = strength at the needle. The mass holds to n = 131072 from dim 32 on, and to n =
// 16384 at dim 16; in fewer dimensions some other key comes too close.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "inputs/families.hpp"

namespace attnscale {
namespace {

constexpr double kStrength = 24;
constexpr float kNoise = 0.5F;

}  // namespace

std::int64_t needle_index(const Row& query) {
  const std::int64_t past = std::max<std::int64_t>(query.position, 0);
  return random_index(query.place(Stream::query_choice), (past + 2) / 2);
}

void needle_key(const Row& row, std::span<float> values) {
  add_normal(row.place(Stream::key), 1, values);
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  if (squares == 0) return;
  const auto factor = static_cast<float>(std::sqrt(static_cast<double>(values.size()) / squares));
  for (float& value : values) value *= factor;
}

void needle_query(const Row& row, std::span<float> values) {
  const std::int64_t index = needle_index(row);
  needle_key({row.seed, row.batch, row.kv_head, row.kv_head, index, index}, values);
  const auto factor = static_cast<float>(kStrength / std::sqrt(static_cast<double>(values.size())));
  for (float& value : values) value *= factor;
  add_normal(row.place(Stream::query), kNoise, values);
}

}  // namespace attnscale

// One attention problem: sizes, mask, score scale, and where the inputs come from.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.hpp"

namespace attnscale {

struct Shape {
  std::int64_t batch = 1;
  std::int64_t heads = 1;     ///< query heads
  std::int64_t kv_heads = 1;  ///< divides heads; query head h reads key/value head h / (heads / kv_heads)
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t dim = 64;        ///< of a query and a key
  std::int64_t value_dim = 64;  ///< of a value
  bool operator==(const Shape&) const = default;

  [[nodiscard]] std::int64_t group() const { return heads / kv_heads; }
  [[nodiscard]] KvHeadIndex kv_head(HeadIndex head) const { return KvHeadIndex{head.value / group()}; }
  [[nodiscard]] Extents query_extents() const { return {batch, heads, queries, dim}; }
  [[nodiscard]] Extents key_extents() const { return {batch, kv_heads, keys, dim}; }
  [[nodiscard]] Extents value_extents() const { return {batch, kv_heads, keys, value_dim}; }
  [[nodiscard]] Extents output_extents() const { return {batch, heads, queries, value_dim}; }
  [[nodiscard]] Extents lse_extents() const { return {batch, heads, queries, 1}; }
  /// (batch, head, query) rows in all.
  [[nodiscard]] std::int64_t rows() const { return batch * heads * queries; }
};

enum class Mask { none, causal };

struct Problem {
  Shape shape;
  Mask mask = Mask::none;
  double scale = 0;        ///< of q.k before the temperature; 0 stands for 1/sqrt(dim)
  double temperature = 1;  ///< scores are divided by it
  std::uint64_t seed = 0;
  std::string input = "gaussian";
  std::int64_t first_head = 0;  ///< index of this problem's first query head in the problem it was cut from
  bool operator==(const Problem&) const = default;

  /// Throws InputError when a size is out of range or heads is not a multiple of kv_heads.
  void validate() const;

  /// What a score q.k is multiplied by: scale / temperature.
  [[nodiscard]] double score_scale() const;
  [[nodiscard]] bool causal() const { return mask == Mask::causal; }

  /// Position of query i among the keys: i + keys - queries (bottom-right alignment; may be negative).
  [[nodiscard]] std::int64_t position(std::int64_t query) const { return query + shape.keys - shape.queries; }
  /// Keys [0, allowed) are allowed to query i by the mask alone.
  [[nodiscard]] std::int64_t allowed(std::int64_t query) const;
  /// Sum of allowed(i) over the queries of one head, in closed form.
  [[nodiscard]] std::int64_t allowed_pairs() const;

  /// Index of a key/value head in the problem that this one was cut from: the key of everything random.
  [[nodiscard]] std::int64_t global_kv_head(KvHeadIndex head) const { return first_head / shape.group() + head.value; }

  /// "batch=1,heads=8,...,input=gaussian": canonical, shortest round-trip numbers, `input` last.
  [[nodiscard]] std::string str() const;
  /// The inverse of str(); fields may be left out. Throws InputError.
  static Problem parse(const std::string& text);
};

const char* name_of(Mask mask);
Mask parse_mask(const std::string& text);

}  // namespace attnscale

// The generated input families: each says how one row of queries and one row of keys is made. Values are independent
// standard Gaussians in every family. A row is a pure function of its Row, so that it does not matter which other rows,
// heads or batch items exist; with as many queries as keys, a longer problem begins with the same rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "inputs/inputs.hpp"
#include "inputs/keyed_random.hpp"

namespace attnscale {

/// Where a row stands.
struct Row {
  std::uint64_t seed = 0;
  std::int64_t batch = 0;
  std::int64_t head = 0;     ///< query head (of a query row) or key/value head (of a key row) in the uncut problem
  std::int64_t kv_head = 0;  ///< the key/value head that this row belongs to, in the uncut problem
  std::int64_t index = 0;
  std::int64_t position = 0;  ///< among the keys: index of a key; index + keys - queries of a query (may be negative)

  [[nodiscard]] Place place(Stream stream) const { return {seed, stream, batch, head, index}; }
};

/// Fills a row that holds zeros.
using MakeRow = void (*)(const Row& row, std::span<float> values);

struct Family {
  InputFamily about;
  MakeRow query;
  MakeRow key;
};

std::span<const Family> families();

/// Null when there is no family of this name.
const Family* find_family(const std::string& name);

void gaussian_query(const Row& row, std::span<float> values);
void gaussian_key(const Row& row, std::span<float> values);
void clustered_query(const Row& row, std::span<float> values);
void clustered_key(const Row& row, std::span<float> values);
void local_query(const Row& row, std::span<float> values);
void local_key(const Row& row, std::span<float> values);
void needle_query(const Row& row, std::span<float> values);
void needle_key(const Row& row, std::span<float> values);

/// The key that carries the mass of this query of the needle family.
std::int64_t needle_index(const Row& query);

}  // namespace attnscale

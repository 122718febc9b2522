// What both kinds of LSH attention share: the number of buckets, the random rotations and the stage that hashes.
//
// A vector x is hashed to argmax [xR; -xR], R Gaussian (cross-polytope LSH: Andoni et al. 2015, arXiv:1509.02897, as
// Reformer uses it). B buckets take B/2 columns; above 128 buckets two hashes of about sqrt B each are combined,
// because the work of one hash grows with B.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/params.hpp"
#include "core/problem.hpp"
#include "methods/plan.hpp"

namespace attnscale::methods::lsh_parts {

/// A bucket is number of first hash * second + number of second hash; second = 1: one hash. Both are even, or 1.
struct Buckets {
  std::int64_t first = 1;
  std::int64_t second = 1;
  [[nodiscard]] std::int64_t count() const { return first * second; }
  /// Columns of the rotation: those of the first hash, then those of the second.
  [[nodiscard]] std::int64_t columns() const { return first / 2 + second / 2; }
};

/// About `bucket` keys per bucket; one bucket when it holds them all.
Buckets bucket_counts(std::int64_t keys, std::int64_t bucket);

/// What every stage needs.
struct Setup {
  Problem problem;
  bool shared = false;
  std::int64_t bucket = 0;  ///< keys per bucket or chunk, at most all
  std::int64_t rounds = 0;  ///< 1 when there is one bucket, which every round would repeat
  Buckets buckets;
  /// [kv_heads][rounds][columns][dim]: the columns of R, keyed by (seed, global key/value head, round).
  std::shared_ptr<const std::vector<float>> rotations;
};

Setup make_setup(const Problem& problem, const Params& params);

/// An int32 per round and vector (or bucket) of every (batch, head): [lists][rounds][length].
struct Table {
  SharedBuffer<std::int32_t> buffer;
  std::int64_t rounds = 0;
  std::int64_t length = 0;

  /// Of one head (`list` = batch * heads + head) and round.
  [[nodiscard]] std::span<std::int32_t> of(const TaskContext& context, std::int64_t list, std::int64_t round) const {
    return context.get(buffer).subspan(static_cast<std::size_t>((list * rounds + round) * length),
                                       static_cast<std::size_t>(length));
  }
};

Table declare_table(ScratchLayout& layout, std::int64_t lists, std::int64_t rounds, std::int64_t length);

/// Stages "hash": the bucket of every query, of every key. Reported in `choices` as the tables lie in memory, the keys
/// behind all queries.
Stage hash_queries(ScratchLayout& layout, const Setup& setup, const Table& codes);
Stage hash_keys(ScratchLayout& layout, const Setup& setup, const Table& codes);

/// FLOPs of hashing every query (and key, unless shared) once in every round.
std::int64_t hash_flops(const Setup& setup);

Plan separate_plan(const Setup& setup);
Plan shared_plan(const Setup& setup);

}  // namespace attnscale::methods::lsh_parts

// Which query rows are checked against the fp64 oracle. All of them on small problems; on large ones a seeded sample,
// to which the rows where patterns change are added by force.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale {

/// Up to this many queries per head every row is checked.
inline constexpr std::int64_t kAllRows = 2048;
/// Beyond it: sampled positions per head, and forced ones at most.
inline constexpr std::int64_t kSampledRows = 256;
inline constexpr std::size_t kForcedRows = 32;

struct SampledRow {
  RowRef ref;
  bool averaged = true;  ///< false: forced into the sample, so it enters extremes but neither means nor percentiles
};

/// Rows in (batch, head, query) order. They depend on the problem and the spec alone, not on the other methods of a
/// run.
std::vector<SampledRow> sample_rows(const Problem& problem, const MethodSpec& spec);

/// The forced queries of a head, ascending: first and last, and the edges of globals, windows and blocks that the
/// spec's parameters name.
std::vector<std::int64_t> forced_queries(const Problem& problem, const MethodSpec& spec);

}  // namespace attnscale

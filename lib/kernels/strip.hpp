// The strip kernel: exact online softmax of a strip of query rows over a list of key spans.
//
// Queries lie in the lanes: a strip is strip_width() query rows: two to four vectors, 32 rows on AVX-512, 24 on AVX2,
// 16 on SSE4 and NEON. A method differs from another only in the spans that it lists; one kernel serves all. Online
// softmax: Milakov and Gimelshein 2018 (arXiv:1805.02867); tiling without the n x n matrix: Rabe and Staats 2021
// (arXiv:2112.05682), Dao et al. 2022 (arXiv:2205.14135).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.hpp"

namespace attnscale::kernels {

/// No SIMD target has a wider strip.
inline constexpr int kMaxStrip = 64;

/// Keys per tile. Each tile is summed from zero, then added: the rounding error of such two-level sums grows with
/// tile + n / tile, not with n.
[[nodiscard]] constexpr std::int64_t tile_keys(std::int64_t dim, std::int64_t value_dim) {
  return (dim >= 128 || value_dim >= 128) ? 32 : 64;
}

/// A condition on single (query, key) pairs, for orders in which the keys that a query sees are no interval (LSH).
/// A pair is hidden when any of these holds. Key arrays are indexed by the key within the span (by row, when the span
/// has an order), query arrays by lane.
struct PairMask {
  const std::int32_t* key_position = nullptr;    ///< needed by the two conditions below
  const std::int32_t* query_position = nullptr;  ///< [strip.count]
  bool causal = false;                           ///< hide key_position > query_position
  bool hide_self = false;                        ///< hide key_position == query_position
  /// Pairs met before: hide when, for any code c < codes, key_code[c * key_code_stride + key] equals
  /// query_code[c * kMaxStrip + lane] or query_code_b[c * kMaxStrip + lane] (query_code_b may be null). Rows of
  /// kMaxStrip codes must be readable as a whole, whatever unused lanes hold.
  int codes = 0;
  const std::int32_t* key_code = nullptr;
  std::int64_t key_code_stride = 0;
  const std::int32_t* query_code = nullptr;
  const std::int32_t* query_code_b = nullptr;
};

/// Keys that a strip sees, `stride` elements apart. With lo and hi, lane l sees keys lo[l] <= t < hi[l] of the span
/// only (values outside [0, count] are allowed and clamp; lo >= hi means none): causal masks, windows and blocks are
/// such intervals.
struct Span {
  const float* k = nullptr;
  const float* v = nullptr;
  std::int64_t count = 0;
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  float log2_bias = 0;               ///< added to every score in base 2 (log2 of a summary's count)
  const std::int32_t* lo = nullptr;  ///< [strip.count] or null: from 0
  const std::int32_t* hi = nullptr;  ///< [strip.count] or null: to count
  const PairMask* pairs = nullptr;
  /// Null, or [count]: key t is row order[t] of k and v, rather than row t. attend() alone heeds it.
  const std::int32_t* order = nullptr;
};

/// Some rows of a matrix: consecutive ones, or those that `order` names.
struct Rows {
  const float* first = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;
  const std::int32_t* order = nullptr;

  [[nodiscard]] const float* row(std::int64_t i) const {
    return first + (order == nullptr ? i : std::int64_t{order[i]}) * stride;
  }
  /// `many` rows from row i on.
  [[nodiscard]] Rows part(std::int64_t i, std::int64_t many) const {
    if (order == nullptr) return {first + i * stride, stride, many, width};
    return {first, stride, many, width, order + i};
  }
};

/// Query rows of one strip: lane l is row rows[l] of q, out and lse. 1 <= count <= strip_width(); rows are distinct.
struct Strip {
  MatrixView<const float> q;
  MatrixView<float> out;
  MatrixView<float> lse;  ///< width 1
  const std::int32_t* rows = nullptr;
  int count = 0;
  /// Go on from the state that out and lse hold (a merge by LSE with what an earlier stage attended to).
  bool resume = false;
  std::span<const Rows> ahead = {};  ///< what later strips read: attend() fetches it into the cache while it computes
};

/// Floats that attend() needs as scratch, 64-byte aligned.
[[nodiscard]] std::int64_t attend_scratch(std::int64_t dim, std::int64_t value_dim);

/// out = softmax(scale * q.k + bias) v over the union of the spans, lse = its natural log-sum-exp. A key that two spans
/// list counts twice: callers list disjoint sets. Rows that see nothing get 0 and -inf. NaN in a visible query, key or
/// value makes the row (a value: at least that component) NaN; NaN in a hidden one changes nothing. Returns the number
/// of visible pairs.
std::int64_t attend(const Strip& strip, std::span<const Span> spans, double scale, std::span<float> scratch);

/// Most strips that attend_block() takes.
inline constexpr std::size_t kMostTogether = 8;

/// Floats that attend_block() needs as scratch, 64-byte aligned.
[[nodiscard]] std::int64_t attend_block_scratch(std::int64_t dim, std::int64_t value_dim, std::int64_t strips);

/// attend() for strips of one head, strip i over spans[i], with the same bits. The strips take turns over a few hundred
/// keys, and fetch for each other what comes next.
std::int64_t attend_block(std::span<const Strip> strips, std::span<const Span> spans, double scale,
                          std::span<float> scratch);

/// Scores of a strip against the keys of one span, base 2 (scale * log2(e) * q.k + bias), stored as
/// scores[key][strip_width()], 64-byte aligned; masked pairs are -inf (lo, hi and pairs apply), unused lanes hold
/// anything. Same register tiles as attend(). The pass of exact.materialized, of block selection and of hashing (the
/// latter with scale = ln 2, so that the factor is one).
void score(const Strip& strip, const Span& span, double scale, std::span<float> scores, std::span<float> scratch);

/// In place on scores[count][strip_width()]: p = exp2(s - max), and lse of each row (natural); sums[strip_width()] gets
/// the row sums.
void softmax(const Strip& strip, std::int64_t count, std::span<float> scores, std::span<float> sums);

/// out = (p v) / sum over one span, with the p and sums that softmax() left. Same register tiles as attend().
void weigh(const Strip& strip, const Span& span, std::span<const float> scores, std::span<const float> sums,
           std::span<float> scratch);

/// The k best keys of every query row of a strip, selected in a stream over one span: no buffer grows with span.count.
/// Ties go to the lower key. Afterwards lane l owns found[l] (min(k, visible keys of the lane)) entries at keys[l * k
/// ...] and scores[l * k ...] (base 2), in ascending key order. A visible score of -inf (overflow) is
/// not selected. Returns scored pairs. `scratch` holds topk_scratch() floats, 64-byte aligned.
struct TopkResult {
  std::span<std::int32_t> keys;    ///< [kMaxStrip * k]
  std::span<float> scores;         ///< [kMaxStrip * k]
  std::span<std::int32_t> found;   ///< [kMaxStrip]
  std::span<std::int32_t> poison;  ///< [kMaxStrip]: 1 when any allowed key scored NaN
};
[[nodiscard]] std::int64_t topk_scratch(std::int64_t dim, std::int64_t k);
std::int64_t select_topk(const Strip& strip, const Span& span, double scale, std::int64_t k, const TopkResult& result,
                         std::span<float> scratch);

/// Softmax-weighted sum of selected values: for each lane, over its found keys with the scores in `selected`; writes
/// out and lse. A poisoned lane becomes NaN as a whole.
void attend_selected(const Strip& strip, const MatrixView<const float>& v, std::int64_t k, const TopkResult& selected);

/// Query rows per strip at the SIMD target in use.
[[nodiscard]] int strip_width();

/// SIMD targets that this CPU can run, best first ("avx512", "avx2", "sse4", "neon", "scalar").
[[nodiscard]] std::vector<std::string> available_targets();
/// The target in use: the best, unless use_target chose another.
[[nodiscard]] std::string current_target();
/// Switches all kernels to a target. Throws InputError for one that this CPU or build lacks. Not while kernels run.
void use_target(const std::string& name);

}  // namespace attnscale::kernels

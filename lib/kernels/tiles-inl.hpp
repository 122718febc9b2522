// The two register tiles that all kernels share: scores of a tile of keys (QK), and the weighted sum of its values
// (PV).
//
// Queries lie in lanes, so a key or value element is broadcast and multiplied by kVectors vectors of queries; no sum
// ever runs across lanes. Scores of a tile: s[key][kWidth]. Output: o[column][kWidth]. K and V are read where they lie.
#if defined(ATTNSCALE_KERNELS_TILES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_TILES_INL
#undef ATTNSCALE_KERNELS_TILES_INL
#else
#define ATTNSCALE_KERNELS_TILES_INL
#endif

#include <algorithm>

#include "kernels/ahead-inl.hpp"
#include "kernels/simd-inl.hpp"
#include "kernels/strip.hpp"
#include "kernels/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// Fetches rows [begin, end), as far as there are such, into the cache; they lie scattered, which no prefetcher of the
/// hardware foresees.
HWY_INLINE void prefetch_rows(const Rows& rows, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kLine = 16;  // floats
  for (std::int64_t i = begin; i < std::min(end, rows.count); ++i) {
    for (std::int64_t c = 0; c < rows.width; c += kLine) hwy::Prefetch(rows.row(i) + c);
  }
}

/// Writes factor * Q^T of the strip as packed[dim][kWidth]; unused lanes repeat the last row.
inline void pack_queries(const Strip& strip, double factor, float* HWY_RESTRICT packed) {
  const float* rows[kWidth];
  for (int lane = 0; lane < kWidth; ++lane) rows[lane] = strip.q.row(strip.rows[std::min(lane, strip.count - 1)]);
  columns_from_rows(rows, strip.q.width, static_cast<float>(factor), packed);
}

/// Scores of kKeys keys; raises top[kWidth], the maximum over the tile.
template <int kUsed, int kKeys>
HWY_NOINLINE void score_group(const Rows& k, const float* HWY_RESTRICT packed, float bias, float* HWY_RESTRICT s,
                              float* HWY_RESTRICT top) {
  const FloatTag f;
  Floats sum[kKeys][kUsed];
  const float* key[kKeys];
  ATTNSCALE_UNROLL
  for (int r = 0; r < kKeys; ++r) {
    key[r] = k.row(r);
    ATTNSCALE_UNROLL
    for (int v = 0; v < kUsed; ++v) sum[r][v] = hn::Zero(f);
  }
  const std::int64_t dim = k.width;
  ATTNSCALE_UNROLL_BY_FOUR
  for (std::int64_t c = 0; c < dim; ++c) {
    Floats q[kUsed];
    ATTNSCALE_UNROLL
    for (int v = 0; v < kUsed; ++v) q[v] = hn::Load(f, packed + c * kWidth + v * kLanes);
    ATTNSCALE_UNROLL
    for (int r = 0; r < kKeys; ++r) {
      const Floats element = hn::Set(f, key[r][c]);
      ATTNSCALE_UNROLL
      for (int v = 0; v < kUsed; ++v) sum[r][v] = hn::MulAdd(element, q[v], sum[r][v]);
    }
  }
  const Floats offset = hn::Set(f, bias);
  ATTNSCALE_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    Floats most = hn::Load(f, top + v * kLanes);
    ATTNSCALE_UNROLL
    for (int r = 0; r < kKeys; ++r) {
      const Floats score = hn::Add(sum[r][v], offset);
      hn::Store(score, f, s + r * kWidth + v * kLanes);
      most = hn::Max(most, score);
    }
    hn::Store(most, f, top + v * kLanes);
  }
}

template <int kUsed, int kKeys>
HWY_INLINE void score_keys(const Rows& k, const float* packed, float bias, float* s, float* top) {
  if constexpr (kKeys > 1) {
    if (k.count < kKeys) return score_keys<kUsed, kKeys - 1>(k, packed, bias, s, top);
  }
  score_group<kUsed, kKeys>(k, packed, bias, s, top);
}

/// Scores s[k.count][kWidth] of a tile; top[kWidth] becomes their maximum (it may drop a NaN). The tile is cut into
/// groups of nearly equal size, since a small last group would leave the multiply-add units waiting. Scattered rows are
/// prefetched a group ahead, and so are those of `values`, which are needed next.
/// Tried and lost (Zen 4): prefetching rows that lie in order, too: -3 % on AVX-512 at n <= 4096.
template <int kUsed = kVectors>
inline void score_tile(const Rows& k, const float* packed, float bias, float* s, float* top,
                       const Rows* values = nullptr, FetchAhead* ahead = nullptr) {
  const FloatTag f;
  constexpr int kAtOnce = group_of(kUsed);
  ATTNSCALE_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(infinitely_low(), f, top + v * kLanes);
  for (std::int64_t done = 0, groups = (k.count + kAtOnce - 1) / kAtOnce; groups > 0; --groups) {
    const std::int64_t keys = (k.count - done) / groups;
    if (k.order != nullptr) {
      prefetch_rows(k, done + keys, done + keys + kAtOnce);
      if (values != nullptr) prefetch_rows(*values, done, done + keys);
    }
    if (ahead != nullptr) ahead->some();
    score_keys<kUsed, kAtOnce>(k.part(done, keys), packed, bias, s + done * kWidth, top);
    done += keys;
  }
}

/// o[kColumns][kWidth] = o * decay + sum over the tile of p * v, the sum starting from zero (two-level sums). When
/// careful, p < 0 marks a hidden pair, whose value is not touched, for 0 * NaN is NaN.
template <int kUsed, int kColumns, bool kCareful>
HWY_NOINLINE void weigh_group(const Rows& values, const float* HWY_RESTRICT p, const float* HWY_RESTRICT decay,
                              float* HWY_RESTRICT o) {
  const FloatTag f;
  Floats sum[kColumns][kUsed];
  ATTNSCALE_UNROLL
  for (int r = 0; r < kColumns; ++r) {
    ATTNSCALE_UNROLL
    for (int v = 0; v < kUsed; ++v) sum[r][v] = hn::Zero(f);
  }
  for (std::int64_t j = 0; j < values.count; ++j) {
    const float* value = values.row(j);
    Floats weight[kUsed];
    ATTNSCALE_UNROLL
    for (int v = 0; v < kUsed; ++v) weight[v] = hn::Load(f, p + j * kWidth + v * kLanes);
    ATTNSCALE_UNROLL
    for (int r = 0; r < kColumns; ++r) {
      const Floats element = hn::Set(f, value[r]);
      ATTNSCALE_UNROLL
      for (int v = 0; v < kUsed; ++v) {
        const Floats next = hn::MulAdd(element, weight[v], sum[r][v]);
        sum[r][v] = kCareful ? hn::IfThenElse(hn::Lt(weight[v], hn::Zero(f)), sum[r][v], next) : next;
      }
    }
  }
  ATTNSCALE_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    const Floats factor = hn::Load(f, decay + v * kLanes);
    ATTNSCALE_UNROLL
    for (int r = 0; r < kColumns; ++r) {
      float* at = o + r * kWidth + v * kLanes;
      hn::Store(hn::MulAdd(hn::Load(f, at), factor, sum[r][v]), f, at);
    }
  }
}

template <int kUsed, int kColumns, bool kCareful>
HWY_INLINE void weigh_columns(const Rows& values, std::int64_t columns, const float* p, const float* decay, float* o) {
  if constexpr (kColumns > 1) {
    if (columns < kColumns) return weigh_columns<kUsed, kColumns - 1, kCareful>(values, columns, p, decay, o);
  }
  weigh_group<kUsed, kColumns, kCareful>(values, p, decay, o);
}

/// o[width][kWidth] = o * decay[kWidth] + sum over the tile of p[count][kWidth] * v.
template <bool kCareful, int kUsed = kVectors>
inline void weigh_tile(const Rows& values, const float* p, const float* decay, float* o, FetchAhead* ahead = nullptr) {
  constexpr int kAtOnce = group_of(kUsed);
  for (std::int64_t done = 0, groups = (values.width + kAtOnce - 1) / kAtOnce; groups > 0; --groups) {
    const std::int64_t columns = (values.width - done) / groups;
    const Rows part{values.first + done, values.stride, values.count, values.width, values.order};
    if (ahead != nullptr) ahead->some();
    weigh_columns<kUsed, kAtOnce, kCareful>(part, columns, p, decay, o + done * kWidth);
    done += columns;
  }
}

/// p = exp2(s - shift) in place, sum[kWidth] = sum of p over the tile. When careful, hidden pairs (s = -inf) become -1
/// (and add 0 to the sum).
/// Tried and lost (Zen 4): the polynomials of two or four keys step by step side by side, 0 to -0.4 % of attend() on
/// AVX-512 and -1 to -13 % on AVX2, whose registers they overflow. The pass is 8 % of attend() at d = 64, n = 512 on
/// AVX-512, 14 % at d = 32, 11 % on AVX2 at d = 64.
template <bool kCareful, int kUsed = kVectors>
inline void exponentiate_tile(std::int64_t count, const float* HWY_RESTRICT shift, float* HWY_RESTRICT s,
                              float* HWY_RESTRICT sum) {
  const FloatTag f;
  Floats minus[kUsed], total[kUsed];
  ATTNSCALE_UNROLL
  for (int v = 0; v < kUsed; ++v) {
    minus[v] = hn::Load(f, shift + v * kLanes);
    total[v] = hn::Zero(f);
  }
  for (std::int64_t j = 0; j < count; ++j) {
    ATTNSCALE_UNROLL
    for (int v = 0; v < kUsed; ++v) {
      float* at = s + j * kWidth + v * kLanes;
      const Floats score = hn::Load(f, at);
      const Floats p = exp2(hn::Sub(score, minus[v]));
      total[v] = hn::Add(total[v], p);
      hn::Store(kCareful ? hn::IfThenElse(hn::Eq(score, infinitely_low()), hn::Set(f, -1.0f), p) : p, f, at);
    }
  }
  ATTNSCALE_UNROLL
  for (int v = 0; v < kUsed; ++v) hn::Store(total[v], f, sum + v * kLanes);
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

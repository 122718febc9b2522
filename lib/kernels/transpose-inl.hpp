// Rows of matrices to and from the layout of a strip, [column][kWidth], four columns of a vector of rows at a time.
//
// Blocks of four floats are loaded from (stored to) the rows themselves, so that the shuffles stay inside the 128-bit
// blocks of a vector. Against element by element, on a Zen 5: lsh at n = 16384 35 -> 27 ms, window w = 16 10 % faster.
// Lost: 2 to 4 % of strided at n = 16384, whose rows lie 32 KB apart and share one set of the cache.
#if defined(ATTNSCALE_KERNELS_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_TRANSPOSE_INL
#undef ATTNSCALE_KERNELS_TRANSPOSE_INL
#else
#define ATTNSCALE_KERNELS_TRANSPOSE_INL
#endif

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
inline constexpr std::int64_t kBlock = 0;  // no blocks: element by element
#else
inline constexpr std::int64_t kBlock = 4;

/// Block b of the result: the four floats at rows[4 * b] + c.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* rows, std::int64_t c) {
  constexpr std::size_t kHere = hn::MaxLanes(D());
  if constexpr (kHere <= 4) {
    return hn::LoadU(d, rows[0] + c);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + kHere / 2, c), load_blocks(half, rows, c));
  }
}

/// The inverse, for those of the rows 4 * b that are below `used`.
template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> x, float* const* rows, int used, std::int64_t c) {
  constexpr int kHere = static_cast<int>(hn::MaxLanes(D()));
  if constexpr (kHere <= 4) {
    if (used > 0) hn::StoreU(x, d, rows[0] + c);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, x), rows, used, c);
    store_blocks(half, hn::UpperHalf(half, x), rows + kHere / 2, used - kHere / 2, c);
  }
}

/// Transposes the 4 x 4 matrices that the blocks of four vectors form.
HWY_INLINE void transpose_blocks(Floats (&x)[4]) {
  const FloatTag f;
  const hn::RepartitionToWide<IntTag> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(f, x[0], x[1]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(f, x[0], x[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(f, x[2], x[3]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(f, x[2], x[3]));
  x[0] = hn::BitCast(f, hn::InterleaveLower(pairs, low01, low23));
  x[1] = hn::BitCast(f, hn::InterleaveUpper(pairs, low01, low23));
  x[2] = hn::BitCast(f, hn::InterleaveLower(pairs, high01, high23));
  x[3] = hn::BitCast(f, hn::InterleaveUpper(pairs, high01, high23));
}
#endif

/// columns[width][kWidth] = factor * the rows, transposed. All kWidth rows must be readable.
inline void columns_from_rows(const float* const* rows, std::int64_t width, float factor, float* HWY_RESTRICT columns) {
  std::int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag f;
  for (; c + kBlock <= width; c += kBlock) {
    for (int v = 0; v < kWidth; v += kLanes) {
      Floats x[4];
      ATTNSCALE_UNROLL
      for (int i = 0; i < 4; ++i) x[i] = load_blocks(f, rows + v + i, c);
      transpose_blocks(x);
      ATTNSCALE_UNROLL
      for (int i = 0; i < 4; ++i) {
        hn::Store(hn::Mul(x[i], hn::Set(f, factor)), f, columns + (c + i) * kWidth + v);
      }
    }
  }
#endif
  for (; c < width; ++c) {
    for (int lane = 0; lane < kWidth; ++lane) columns[c * kWidth + lane] = rows[lane][c] * factor;
  }
}

/// The first `used` rows = factor[kWidth] (one per row) * columns[width][kWidth], transposed.
inline void rows_from_columns(const float* HWY_RESTRICT columns, std::int64_t width, const float* factor, int used,
                              float* const* rows) {
  std::int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag f;
  for (; c + kBlock <= width; c += kBlock) {
    for (int v = 0; v < used; v += kLanes) {
      Floats x[4];
      ATTNSCALE_UNROLL
      for (int i = 0; i < 4; ++i) {
        x[i] = hn::Mul(hn::Load(f, columns + (c + i) * kWidth + v), hn::Load(f, factor + v));
      }
      transpose_blocks(x);
      ATTNSCALE_UNROLL
      for (int i = 0; i < 4; ++i) store_blocks(f, x[i], rows + v + i, used - v - i, c);
    }
  }
#endif
  for (; c < width; ++c) {
    for (int lane = 0; lane < used; ++lane) rows[lane][c] = columns[c * kWidth + lane] * factor[lane];
  }
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

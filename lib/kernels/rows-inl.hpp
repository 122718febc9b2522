// attend() row by row, with the components of a head in the lanes: for strips of few rows (one query against all keys,
// global rows) and for windows so small that most of a strip's tile would be masked.
//
// A pair costs (dim + value_dim) / kLanes multiply-adds and about eight more instructions for the sum across lanes, but
// nothing goes to pairs that are not seen; a key of a strip costs (dim + value_dim) * kVectors, however few lanes see
// it. Keys and values of hidden pairs are never read, so no careful variant is needed. Same tiles and two-level sums.
#if defined(ATTNSCALE_KERNELS_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_ROWS_INL
#undef ATTNSCALE_KERNELS_ROWS_INL
#else
#define ATTNSCALE_KERNELS_ROWS_INL
#endif

#include "kernels/state-inl.hpp"
#include "kernels/tiles-inl.hpp"
#include "kernels/visibility-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// True when the rows one by one take fewer instructions than the strip. Depends on the shape of the problem alone.
inline bool rows_are_cheaper(const Strip& strip, std::span<const Span> spans) {
  const std::int64_t width = strip.q.width + strip.out.width;
  const std::int64_t used = strip.count <= kLanes ? 1 : kVectors;
  const std::int64_t pair_cost = width / kLanes + 8, row_cost = 100, interval_cost = 48;
  std::int64_t as_strip = 0, as_rows = strip.count * row_cost;
  for (const Span& span : spans) {
    if (span.pairs != nullptr) return false;
    std::int64_t first = span.count, last = 0;
    for (int lane = 0; lane < strip.count; ++lane) {
      const Interval seen = seen_interval(span, lane);
      if (seen.first >= seen.last) continue;
      first = std::min(first, seen.first);
      last = std::max(last, seen.last);
      as_rows += interval_cost + (seen.last - seen.first) * pair_cost;
    }
    as_strip += std::max<std::int64_t>(0, last - first) * width * used;
  }
  return as_rows < as_strip;
}

#if HWY_TARGET != HWY_SCALAR
/// Adds the blocks of a vector; stores four numbers.
template <class D>
HWY_INLINE void store_folded(D d, hn::Vec<D> x, float* to) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(x, d, to);
  } else {
    const hn::Half<D> half;
    store_folded(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)), to);
  }
}
#endif

/// s[0, 4) = the products of q with four keys.
HWY_INLINE void score_four(const float* const (&key)[4], const float* q, std::int64_t dim, float* s) {
  const FloatTag f;
  Floats x[4] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
  std::int64_t c = 0;
  for (; c + kLanes <= dim; c += kLanes) {
    const Floats part = hn::LoadU(f, q + c);
    ATTNSCALE_UNROLL
    for (int i = 0; i < 4; ++i) x[i] = hn::MulAdd(part, hn::LoadU(f, key[i] + c), x[i]);
  }
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) s[i] = hn::GetLane(x[i]);
#else
  // Transposed, the four sums lie side by side in each block.
  transpose_blocks(x);
  store_folded(f, hn::Add(hn::Add(x[0], x[1]), hn::Add(x[2], x[3])), s);
#endif
  for (; c < dim; ++c) {
    for (int i = 0; i < 4; ++i) s[i] += q[c] * key[i][c];
  }
}

/// out[c ...] = out * decay + sum of p * v over the tile, for kParts vectors of columns; two sums each, or the
/// multiply-adds would wait for one another.
template <int kParts>
HWY_INLINE void weigh_parts(const Rows& v, const float* p, float decay, std::int64_t c, float* out) {
  const FloatTag f;
  Floats even[kParts], odd[kParts];
  ATTNSCALE_UNROLL
  for (int part = 0; part < kParts; ++part) even[part] = odd[part] = hn::Zero(f);
  std::int64_t j = 0;
  for (; j + 2 <= v.count; j += 2) {
    const float *first = v.row(j) + c, *second = v.row(j + 1) + c;
    ATTNSCALE_UNROLL
    for (int part = 0; part < kParts; ++part) {
      even[part] = hn::MulAdd(hn::Set(f, p[j]), hn::LoadU(f, first + part * kLanes), even[part]);
      odd[part] = hn::MulAdd(hn::Set(f, p[j + 1]), hn::LoadU(f, second + part * kLanes), odd[part]);
    }
  }
  ATTNSCALE_UNROLL
  for (int part = 0; part < kParts; ++part) {
    Floats sum = hn::Add(even[part], odd[part]);
    if (j < v.count) sum = hn::MulAdd(hn::Set(f, p[j]), hn::LoadU(f, v.row(j) + c + part * kLanes), sum);
    float* at = out + c + part * kLanes;
    hn::StoreU(hn::MulAdd(hn::LoadU(f, at), hn::Set(f, decay), sum), f, at);
  }
}

inline void weigh_row(const Rows& v, const float* p, float decay, float* out) {
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= v.width; c += 4 * kLanes) weigh_parts<4>(v, p, decay, c, out);
  for (; c + kLanes <= v.width; c += kLanes) weigh_parts<1>(v, p, decay, c, out);
  for (; c < v.width; ++c) {
    float sum = 0;
    for (std::int64_t j = 0; j < v.count; ++j) sum += p[j] * v.row(j)[c];
    out[c] = out[c] * decay + sum;
  }
}

/// Takes the keys of a tile into one row: s has room for them and one more vector.
inline void absorb_row(const Rows& keys, const Rows& values, const float* q, float bias, float* s, float& m, float& l,
                       float* out) {
  const FloatTag f;
  for (std::int64_t j = 0; j < keys.count; j += 4) {
    const float* four[4];
    for (std::int64_t i = 0; i < 4; ++i) four[i] = keys.row(std::min(j + i, keys.count - 1));
    score_four(four, q, keys.width, s + j);
  }
  std::fill_n(s + keys.count, std::max(kLanes, 4), -kInfinity);
  Floats top = hn::Set(f, m);
  for (std::int64_t j = 0; j < keys.count; j += kLanes) {
    const Floats score = hn::Add(hn::Load(f, s + j), hn::Set(f, bias));
    hn::Store(score, f, s + j);
    top = hn::Max(top, score);
  }
  const Floats before = hn::Set(f, m), after = hn::Set(f, hn::GetLane(hn::MaxOfLanes(f, top)));
  Floats sum = hn::Zero(f);
  for (std::int64_t j = 0; j < keys.count; j += kLanes) {
    const Floats p = exp2(hn::Sub(hn::Load(f, s + j), shift_of(after)));
    hn::Store(p, f, s + j);
    sum = hn::Add(sum, p);
  }
  const float decay = hn::GetLane(exp2(hn::Sub(before, shift_of(after))));
  m = hn::GetLane(after);
  l = l * decay + hn::GetLane(hn::SumOfLanes(f, sum));
  weigh_row(values, s, decay, out);
}

/// All rows, a tile of keys after the other, so that the rows find it in the cache. memory.q is [row][dim] and memory.o
/// is [row][value_dim] here.
inline std::int64_t attend_rows(const Strip& strip, std::span<const Span> spans, double factor,
                                const StripMemory& memory) {
  const std::int64_t dim = strip.q.width, value_dim = strip.out.width;
  OnlineState state;
  load_sums(strip, state);
  for (int lane = 0; lane < strip.count; ++lane) {
    const float* q = strip.q.row(strip.rows[lane]);
    for (std::int64_t c = 0; c < dim; ++c) memory.q[lane * dim + c] = q[c] * static_cast<float>(factor);
    std::fill_n(memory.o + lane * value_dim, value_dim, 0.0f);
    if (state.l[lane] != 0) std::copy_n(strip.out.row(strip.rows[lane]), value_dim, memory.o + lane * value_dim);
  }
  std::int64_t pairs = 0;
  for (const Span& span : spans) {
    const Rows keys{span.k, span.k_stride, span.count, dim, span.order};
    const Rows values{span.v, span.v_stride, span.count, value_dim, span.order};
    for (std::int64_t t = 0; t < span.count; t += memory.tile) {
      for (int lane = 0; lane < strip.count; ++lane) {
        const Interval seen = seen_interval(span, lane);
        const std::int64_t first = std::max(seen.first, t), count = std::min(seen.last, t + memory.tile) - first;
        if (count <= 0) continue;
        absorb_row(keys.part(first, count), values.part(first, count), memory.q + lane * dim, span.log2_bias, memory.s,
                   state.m[lane], state.l[lane], memory.o + lane * value_dim);
        pairs += count;
      }
    }
  }
  for (int lane = 0; lane < strip.count; ++lane) {
    const float inverse = state.l[lane] == 0 ? 0.0f : 1.0f / state.l[lane];
    float* row = strip.out.row(strip.rows[lane]);
    for (std::int64_t c = 0; c < value_dim; ++c) row[c] = memory.o[lane * value_dim + c] * inverse;
    *strip.lse.row(strip.rows[lane]) = natural_lse(state.m[lane], state.l[lane]);
  }
  return pairs;
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

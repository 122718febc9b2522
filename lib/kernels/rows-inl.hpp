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

/// Keys that a row takes in at once, of one span or several.
struct KeyList {
  const float* k[64];  ///< no tile has more
  const float* v[64];
  float bias = 0;  ///< of all their scores
  std::int64_t count = 0;
};

/// With so few keys in the spans of a strip the rows take them in one by one, all spans at once.
inline constexpr std::int64_t kKeysOfRow = 1024;

/// True when the rows one by one take fewer instructions than the strip. Depends on the shape of the problem alone.
inline bool rows_are_cheaper(const Strip& strip, std::span<const Span> spans) {
  const std::int64_t width = strip.q.width + strip.out.width;
  const std::int64_t used = strip.count <= kLanes ? 1 : kVectors;
  const std::int64_t pair_cost = width / kLanes + 8, row_cost = 100, interval_cost = 20;
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
/// Adds the blocks of a vector.
template <class D>
HWY_INLINE auto folded(D d, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return x;
  } else {
    const hn::Half<D> half;
    return folded(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
}
#endif

/// The products of q with the listed keys j, j + 1, ... that a vector of D holds, four by four; zeros behind the list.
template <class D>
HWY_INLINE hn::Vec<D> score_keys_of_row(D d, const KeyList& list, std::int64_t j, const float* q, std::int64_t dim) {
  if (j >= list.count) return hn::Zero(d);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 4) {
    // Joined in registers: a vector load of what smaller stores wrote would wait until they have left the pipeline.
    const hn::Half<D> half;
    const std::int64_t middle = j + static_cast<std::int64_t>(hn::MaxLanes(half));
    return hn::Combine(d, score_keys_of_row(half, list, middle, q, dim), score_keys_of_row(half, list, j, q, dim));
  } else
#endif
  {
    constexpr int kFour = kLanes == 1 ? 1 : 4;
    const FloatTag f;
    const float* key[kFour];
    Floats x[kFour];
    ATTNSCALE_UNROLL
    for (int i = 0; i < kFour; ++i) {
      key[i] = list.k[std::min(j + i, list.count - 1)];
      x[i] = hn::Zero(f);
    }
    std::int64_t c = 0;
    for (; c + kLanes <= dim; c += kLanes) {
      const Floats part = hn::LoadU(f, q + c);
      ATTNSCALE_UNROLL
      for (int i = 0; i < kFour; ++i) x[i] = hn::MulAdd(part, hn::LoadU(f, key[i] + c), x[i]);
    }
#if HWY_TARGET == HWY_SCALAR
    return x[0];
#else
    // Transposed, the four sums lie side by side in each block.
    transpose_blocks(x);
    const hn::Vec<D> sums = folded(f, hn::Add(hn::Add(x[0], x[1]), hn::Add(x[2], x[3])));
    if (c == dim) return sums;
    alignas(16) float rest[kFour] = {};
    for (; c < dim; ++c) {
      for (int i = 0; i < kFour; ++i) rest[i] += q[c] * key[i][c];
    }
    return hn::Add(sums, hn::Load(d, rest));
#endif
  }
}

/// out[c ...] = out * decay + sum of p * v over the tile, for kParts vectors of columns; two sums each, or the
/// multiply-adds would wait for one another.
template <int kParts>
HWY_INLINE void weigh_parts(const KeyList& list, const float* p, float decay, std::int64_t c, float* out) {
  const FloatTag f;
  Floats even[kParts], odd[kParts];
  ATTNSCALE_UNROLL
  for (int part = 0; part < kParts; ++part) even[part] = odd[part] = hn::Zero(f);
  std::int64_t j = 0;
  for (; j + 2 <= list.count; j += 2) {
    const float *first = list.v[j] + c, *second = list.v[j + 1] + c;
    ATTNSCALE_UNROLL
    for (int part = 0; part < kParts; ++part) {
      even[part] = hn::MulAdd(hn::Set(f, p[j]), hn::LoadU(f, first + part * kLanes), even[part]);
      odd[part] = hn::MulAdd(hn::Set(f, p[j + 1]), hn::LoadU(f, second + part * kLanes), odd[part]);
    }
  }
  ATTNSCALE_UNROLL
  for (int part = 0; part < kParts; ++part) {
    Floats sum = hn::Add(even[part], odd[part]);
    if (j < list.count) sum = hn::MulAdd(hn::Set(f, p[j]), hn::LoadU(f, list.v[j] + c + part * kLanes), sum);
    float* at = out + c + part * kLanes;
    hn::StoreU(hn::MulAdd(hn::LoadU(f, at), hn::Set(f, decay), sum), f, at);
  }
}

inline void weigh_row(const KeyList& list, const float* p, float decay, std::int64_t width, float* out) {
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= width; c += 4 * kLanes) weigh_parts<4>(list, p, decay, c, out);
  for (; c + kLanes <= width; c += kLanes) weigh_parts<1>(list, p, decay, c, out);
  for (; c < width; ++c) {
    float sum = 0;
    for (std::int64_t j = 0; j < list.count; ++j) sum += p[j] * list.v[j][c];
    out[c] = out[c] * decay + sum;
  }
}

/// One row that takes in keys; s has room for a tile of scores and one more vector.
struct Row {
  const float* q;
  std::int64_t dim;
  std::int64_t value_dim;
  float& m;
  float& l;
  float* out;
};

/// Takes the keys listed into the row, and empties the list.
inline void absorb_list(KeyList& list, const Row& row, float* s) {
  if (list.count == 0) return;
  const FloatTag f;
  const Floats before = hn::Set(f, row.m);
  Floats top = before;
  for (std::int64_t j = 0; j < list.count; j += kLanes) {
    const Floats product = score_keys_of_row(f, list, j, row.q, row.dim);
    const auto used = hn::FirstN(f, static_cast<std::size_t>(list.count - j));
    const Floats score = hn::IfThenElse(used, hn::Add(product, hn::Set(f, list.bias)), infinitely_low());
    hn::Store(score, f, s + j);
    top = hn::Max(top, score);
  }
  const Floats after = hn::Set(f, hn::GetLane(hn::MaxOfLanes(f, top)));
  Floats sum = hn::Zero(f);
  for (std::int64_t j = 0; j < list.count; j += kLanes) {
    const Floats p = exp2(hn::Sub(hn::Load(f, s + j), shift_of(after)));
    hn::Store(p, f, s + j);
    sum = hn::Add(sum, p);
  }
  const float decay = hn::GetLane(exp2(hn::Sub(before, shift_of(after))));
  row.m = hn::GetLane(after);
  row.l = row.l * decay + hn::GetLane(hn::SumOfLanes(f, sum));
  weigh_row(list, s, decay, row.value_dim, row.out);
  list.count = 0;
}

/// Takes keys [first, last) of a span into the row; what fills no tile stays in the list.
inline void take_keys(const Span& span, std::int64_t first, std::int64_t last, std::int64_t tile, const Row& row,
                      KeyList& list, float* s) {
  if (list.bias != span.log2_bias) absorb_list(list, row, s);
  list.bias = span.log2_bias;
  for (std::int64_t t = first; t < last; ++t) {
    const std::int64_t at = span.order == nullptr ? t : span.order[t];
    list.k[list.count] = span.k + at * span.k_stride;
    list.v[list.count] = span.v + at * span.v_stride;
    if (++list.count == tile) absorb_list(list, row, s);
  }
}

/// Takes the spans into all rows; row(lane) names them. Returns the pairs.
template <class RowOf>
inline std::int64_t take_spans(const Strip& strip, std::span<const Span> spans, const StripMemory& memory,
                               const RowOf& row) {
  KeyList list;
  std::int64_t pairs = 0, keys = 0;
  for (const Span& span : spans) keys += span.count;
  if (keys <= kKeysOfRow) {
    for (int lane = 0; lane < strip.count; ++lane) {
      for (const Span& span : spans) {
        const Interval seen = seen_interval(span, lane);
        take_keys(span, seen.first, seen.last, memory.tile, row(lane), list, memory.s);
        pairs += std::max<std::int64_t>(0, seen.last - seen.first);
      }
      absorb_list(list, row(lane), memory.s);
    }
    return pairs;
  }
  for (const Span& span : spans) {  // all rows find a tile of keys in the cache
    for (std::int64_t t = 0; t < span.count; t += memory.tile) {
      for (int lane = 0; lane < strip.count; ++lane) {
        const Interval seen = seen_interval(span, lane);
        const std::int64_t first = std::max(seen.first, t), last = std::min(seen.last, t + memory.tile);
        take_keys(span, first, last, memory.tile, row(lane), list, memory.s);
        absorb_list(list, row(lane), memory.s);
        pairs += std::max<std::int64_t>(0, last - first);
      }
    }
  }
  return pairs;
}

/// attend() with q as [row][dim] and o as [row][value_dim] in the scratch memory.
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
  const std::int64_t pairs = take_spans(strip, spans, memory, [&](int lane) {
    return Row{memory.q + lane * dim, dim, value_dim, state.m[lane], state.l[lane], memory.o + lane * value_dim};
  });
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

// attend(): online softmax of a strip over spans of keys, tile by tile, with one pass over K and V and O(1) memory.
//
// After some tiles a lane holds the maximum m of its scores (base 2), l = sum of 2^(s - m), and o = sum of 2^(s - m) v.
// A tile with a larger maximum m' first shrinks l and o by 2^(m - m').
//
// Not a number: a visible NaN score gives a NaN weight, hence a NaN in l and in all of o, which nothing later removes
// (a maximum may drop a NaN, a sum does not). A hidden score becomes -inf, its weight 0, but 0 * NaN is NaN: so when l
// or o is not finite at the end, the strip is done again by the careful variant, which does not touch the values of
// hidden pairs. Finite inputs pay for one look at the result.
#if defined(ATTNSCALE_KERNELS_ATTEND_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_ATTEND_INL
#undef ATTNSCALE_KERNELS_ATTEND_INL
#else
#define ATTNSCALE_KERNELS_ATTEND_INL
#endif

#include <type_traits>

#include "kernels/ahead-inl.hpp"
#include "kernels/rows-inl.hpp"
#include "kernels/state-inl.hpp"
#include "kernels/tiles-inl.hpp"
#include "kernels/visibility-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// The empty state, or that which out and lse hold: m = lse, l = 1, o = out.
inline void load_state(const Strip& strip, const StripMemory& memory, OnlineState& state) {
  load_sums(strip, state);
  if (!strip.resume) {
    std::fill_n(memory.o, strip.out.width * kWidth, 0.0f);
    return;
  }
  const float* rows[kWidth];
  for (int lane = 0; lane < kWidth; ++lane) rows[lane] = strip.out.row(strip.rows[std::min(lane, strip.count - 1)]);
  columns_from_rows(rows, strip.out.width, 1.0f, memory.o);
  for (int lane = 0; lane < strip.count; ++lane) {
    if (state.l[lane] != 0) continue;  // it saw nothing: whatever the row holds does not count
    for (std::int64_t c = 0; c < strip.out.width; ++c) memory.o[c * kWidth + lane] = 0;
  }
}

/// Takes in a tile whose scores lie in memory.s with maximum top.
template <bool kCareful, int kUsed>
inline void absorb_tile(const Rows& values, const float* top, const StripMemory& memory, OnlineState& state,
                        FetchAhead& ahead) {
  const FloatTag f;
  alignas(64) float shift[kWidth], decay[kWidth], sum[kWidth];
  for (int v = 0; v < kUsed * kLanes; v += kLanes) {
    const Floats before = hn::Load(f, state.m + v);
    const Floats after = hn::Max(before, hn::Load(f, top + v));
    hn::Store(after, f, state.m + v);
    hn::Store(shift_of(after), f, shift + v);
    hn::Store(exp2(hn::Sub(before, shift_of(after))), f, decay + v);
  }
  exponentiate_tile<kCareful, kUsed>(values.count, shift, memory.s, sum);
  for (int v = 0; v < kUsed * kLanes; v += kLanes) {
    const Floats l = hn::MulAdd(hn::Load(f, state.l + v), hn::Load(f, decay + v), hn::Load(f, sum + v));
    hn::Store(l, f, state.l + v);
  }
  weigh_tile<kCareful, kUsed>(values, memory.s, decay, memory.o, &ahead);
}

inline Rows keys_of(const Strip& strip, const Span& span) {
  return {span.k, span.k_stride, span.count, strip.q.width, span.order};
}

inline Rows values_of(const Strip& strip, const Span& span) {
  return {span.v, span.v_stride, span.count, strip.out.width, span.order};
}

/// A way through the tiles of one span, in order: it can stop at any key and go on later.
struct TileWalk {
  Visibility see;
  std::size_t section = 0;
  std::int64_t at;  ///< the next key
  std::int64_t pairs = 0;

  TileWalk(const Strip& strip, const Span& span) : see(visibility(strip, span)), at(see.sections[0].first) {}
};

/// Takes in the tiles that begin before key `end` of the span.
template <bool kCareful, int kUsed>
inline void attend_tiles(const Strip& strip, const Span& span, std::int64_t end, const StripMemory& memory,
                         OnlineState& state, TileWalk& walk, FetchAhead& ahead) {
  const Rows all_keys = keys_of(strip, span), all_values = values_of(strip, span);
  alignas(64) float top[kWidth];
  constexpr std::size_t kSections = std::extent_v<decltype(Visibility::sections)>;
  while (walk.section < kSections) {
    const Section& section = walk.see.sections[walk.section];
    for (std::int64_t& t = walk.at; t < section.last; t += memory.tile) {
      if (t >= end) return;
      const std::int64_t count = std::min(memory.tile, section.last - t);
      const Rows keys = all_keys.part(t, count), values = all_values.part(t, count);
      score_tile<kUsed>(keys, memory.q, span.log2_bias, memory.s, top, &values, &ahead);
      std::int64_t visible = strip.count * count;
      if (section.masked) visible = mask_tile<kUsed>(walk.see, t, count, memory.s, top);
      walk.pairs += visible;
      if (visible > 0) absorb_tile<kCareful, kUsed>(values, top, memory, state, ahead);
    }
    if (++walk.section < kSections) walk.at = walk.see.sections[walk.section].first;
  }
}

/// True when l and o of every used lane are finite.
inline bool all_finite(const Strip& strip, const StripMemory& memory, const OnlineState& state) {
  // x * 0 is 0 for finite x and NaN otherwise; sums of zeros stay 0.
  const FloatTag f;
  alignas(64) float zero[kWidth];
  for (int v = 0; v < kWidth; v += kLanes) {
    Floats sum = hn::Mul(hn::Load(f, state.l + v), hn::Zero(f));
    for (std::int64_t c = 0; c < strip.out.width; ++c) {
      sum = hn::MulAdd(hn::Load(f, memory.o + c * kWidth + v), hn::Zero(f), sum);
    }
    hn::Store(sum, f, zero + v);
  }
  return std::all_of(zero, zero + strip.count, [](float x) { return x == 0; });
}

/// Transposes o / l into the rows of out; a lane with l = 0 saw nothing and gives 0.
inline void write_rows(const Strip& strip, const float* o, const float* l) {
  alignas(64) float inverse[kWidth] = {};
  float* rows[kWidth] = {};
  for (int lane = 0; lane < strip.count; ++lane) {
    inverse[lane] = l[lane] == 0 ? 0.0f : 1.0f / l[lane];
    rows[lane] = strip.out.row(strip.rows[lane]);
  }
  rows_from_columns(o, strip.out.width, inverse, strip.count, rows);
}

template <bool kCareful, int kUsed>
inline std::int64_t attend_spans(const Strip& strip, std::span<const Span> spans, const StripMemory& memory,
                                 OnlineState& state) {
  load_state(strip, memory, state);
  std::int64_t pairs = 0;
  std::int64_t calls = 0;
  for (const Span& span : spans) calls += register_tiles<kUsed>(span.count, memory.tile, strip.out.width);
  FetchAhead ahead(strip.ahead, calls);
  for (const Span& span : spans) {
    TileWalk walk(strip, span);
    attend_tiles<kCareful, kUsed>(strip, span, span.count, memory, state, walk, ahead);
    pairs += walk.pairs;
  }
  return pairs;
}

/// Writes what the state holds to out and lse, after a second, careful run where it is not finite.
template <int kUsed>
inline void finish_strip(const Strip& strip, std::span<const Span> spans, const StripMemory& memory,
                         OnlineState& state) {
  if (!all_finite(strip, memory, state)) attend_spans<true, kUsed>(strip, spans, memory, state);
  write_rows(strip, memory.o, state.l);
  for (int lane = 0; lane < strip.count; ++lane) {
    *strip.lse.row(strip.rows[lane]) = natural_lse(state.m[lane], state.l[lane]);
  }
}

template <int kUsed>
inline std::int64_t attend_used(const Strip& strip, std::span<const Span> spans, double scale,
                                const StripMemory& memory) {
  OnlineState state;
  pack_queries(strip, scale * std::numbers::log2e, memory.q);
  const std::int64_t pairs = attend_spans<false, kUsed>(strip, spans, memory, state);
  finish_strip<kUsed>(strip, spans, memory, state);
  return pairs;
}

inline std::int64_t attend(const Strip& strip, std::span<const Span> spans, double scale, std::span<float> scratch) {
  const StripMemory memory = divide(strip, scratch);
  if (!spans.empty() && spans[0].order != nullptr) {
    prefetch_rows({spans[0].k, spans[0].k_stride, spans[0].count, strip.q.width, spans[0].order}, 0, kGroup);
  }
  if (rows_are_cheaper(strip, spans)) return attend_rows(strip, spans, scale * std::numbers::log2e, memory);
  return strip.count <= kLanes ? attend_used<1>(strip, spans, scale, memory)
                               : attend_used<kVectors>(strip, spans, scale, memory);
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

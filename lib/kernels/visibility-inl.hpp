// Which pairs of a strip and a span are visible: intervals of keys per lane, and conditions on single pairs. The keys
// of a span fall into an interior that every lane sees, whose tiles carry no mask code, and masked edges before and
// behind.
#if defined(ATTNSCALE_KERNELS_VISIBILITY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_VISIBILITY_INL
#undef ATTNSCALE_KERNELS_VISIBILITY_INL
#else
#define ATTNSCALE_KERNELS_VISIBILITY_INL
#endif

#include <algorithm>
#include <cassert>

#include "kernels/simd-inl.hpp"
#include "kernels/strip.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// Keys [first, last) of a span; `masked` says that some lane does not see all of them.
struct Section {
  std::int64_t first;
  std::int64_t last;
  bool masked;
};

struct Visibility {
  alignas(64) std::int32_t lo[kWidth];  ///< lane l sees lo[l] <= t < hi[l]; unused lanes see nothing
  alignas(64) std::int32_t hi[kWidth];
  alignas(64) std::int32_t position[kWidth];  ///< of the queries, for the pair conditions
  const PairMask* pairs;
  const std::int32_t* order;
  Section sections[3];
};

/// Keys [first, last) of a span; none when last <= first.
struct Interval {
  std::int64_t first;
  std::int64_t last;
};

/// What a lane sees of a span, pair conditions aside.
HWY_INLINE Interval seen_interval(const Span& span, int lane) {
  return {span.lo != nullptr ? std::clamp<std::int64_t>(span.lo[lane], 0, span.count) : 0,
          span.hi != nullptr ? std::clamp<std::int64_t>(span.hi[lane], 0, span.count) : span.count};
}

inline constexpr std::int64_t kShortInterior = 32;

inline Visibility visibility(const Strip& strip, const Span& span) {
  Visibility see{};
  see.pairs = span.pairs;
  see.order = span.order;
  // Hull of the lanes' intervals [first, last), and their intersection [inner, outer).
  std::int64_t first = span.count, last = 0, inner = 0, outer = span.count;
  for (int lane = 0; lane < strip.count; ++lane) {
    auto [lo, hi] = seen_interval(span, lane);
    if (lo < hi) {
      first = std::min(first, lo);
      last = std::max(last, hi);
    } else {
      lo = hi = 0;
    }
    inner = std::max(inner, lo);
    outer = std::min(outer, hi);
    see.lo[lane] = static_cast<std::int32_t>(lo);
    see.hi[lane] = static_cast<std::int32_t>(hi);
    if (span.pairs != nullptr && span.pairs->query_position != nullptr) {
      see.position[lane] = span.pairs->query_position[lane];
    }
  }
  // A short interior joins the edges: three small tiles take longer than one masked one.
  if (outer - inner < kShortInterior || span.pairs != nullptr) inner = outer = first;
  see.sections[0] = {first, inner, true};
  see.sections[1] = {inner, outer, false};
  see.sections[2] = {outer, std::max(outer, last), true};
  return see;
}

/// Lanes of vector v for which the pair conditions hide place t of the span.
HWY_INLINE hn::Mask<IntTag> hidden_pairs(const Visibility& see, std::int64_t place, int v) {
  const IntTag i;
  const PairMask& pairs = *see.pairs;
  const std::int64_t t = see.order == nullptr ? place : see.order[place];
  hn::Mask<IntTag> hidden = hn::MaskFromVec(hn::Zero(i));
  if (pairs.causal || pairs.hide_self) {
    const Ints key = hn::Set(i, pairs.key_position[t]);
    const Ints query = hn::Load(i, see.position + v * kLanes);
    if (pairs.causal) hidden = hn::Or(hidden, hn::Lt(query, key));
    if (pairs.hide_self) hidden = hn::Or(hidden, hn::Eq(query, key));
  }
  for (int c = 0; c < pairs.codes; ++c) {
    const Ints code = hn::Set(i, pairs.key_code[c * pairs.key_code_stride + t]);
    const std::int64_t at = std::int64_t{c} * kMaxStrip + v * kLanes;
    hidden = hn::Or(hidden, hn::Eq(code, hn::LoadU(i, pairs.query_code + at)));
    if (pairs.query_code_b != nullptr) hidden = hn::Or(hidden, hn::Eq(code, hn::LoadU(i, pairs.query_code_b + at)));
  }
  return hidden;
}

/// Pairs of the intervals of used lanes with the keys [t, t + count).
template <int kUsed>
HWY_INLINE std::int64_t pairs_in_tile(const Visibility& see, std::int64_t t, std::int64_t count) {
  const IntTag i;
  Ints pairs = hn::Zero(i);
  for (int v = 0; v < kUsed; ++v) {
    const Ints first = hn::Max(hn::Load(i, see.lo + v * kLanes), hn::Set(i, static_cast<std::int32_t>(t)));
    const Ints last = hn::Min(hn::Load(i, see.hi + v * kLanes), hn::Set(i, static_cast<std::int32_t>(t + count)));
    pairs = hn::Add(pairs, hn::Max(hn::Sub(last, first), hn::Zero(i)));
  }
  return hn::GetLane(hn::SumOfLanes(i, pairs));
}

/// Sets the scores s[count][kWidth] of hidden pairs to -inf, for keys t, t + 1, ... of the span; top[kWidth] becomes
/// the maximum of the rest. Returns the number of visible pairs.
template <int kUsed = kVectors>
inline std::int64_t mask_tile(const Visibility& see, std::int64_t t, std::int64_t count, float* s, float* top) {
  const FloatTag f;
  const IntTag i;
  std::int64_t visible = see.pairs == nullptr ? pairs_in_tile<kUsed>(see, t, count) : 0;
  for (int v = 0; v < kUsed; ++v) {
    const Ints lo = hn::Load(i, see.lo + v * kLanes);
    const Ints hi = hn::Load(i, see.hi + v * kLanes);
    Floats most = infinitely_low();
    for (std::int64_t j = 0; j < count; ++j) {
      const Ints key = hn::Set(i, static_cast<std::int32_t>(t + j));
      hn::Mask<IntTag> seen = hn::AndNot(hn::Lt(key, lo), hn::Lt(key, hi));
      if (see.pairs != nullptr) {
        seen = hn::AndNot(hidden_pairs(see, t + j, v), seen);
        visible += static_cast<std::int64_t>(hn::CountTrue(i, seen));
      }
      float* at = s + j * kWidth + v * kLanes;
      const Floats score = hn::IfThenElse(hn::RebindMask(f, seen), hn::Load(f, at), infinitely_low());
      hn::Store(score, f, at);
      most = hn::Max(most, score);
    }
    hn::Store(most, f, top + v * kLanes);
  }
  return visible;
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

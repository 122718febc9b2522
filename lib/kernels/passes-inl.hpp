// Attention as three passes over stored scores, with the register tiles of attend(): score(), softmax(), weigh().
#if defined(ATTNSCALE_KERNELS_PASSES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_PASSES_INL
#undef ATTNSCALE_KERNELS_PASSES_INL
#else
#define ATTNSCALE_KERNELS_PASSES_INL
#endif

#include "kernels/attend-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

inline void score(const Strip& strip, const Span& span, double scale, std::span<float> scores,
                  std::span<float> scratch) {
  const StripMemory memory = divide(strip, scratch);
  assert(static_cast<std::int64_t>(scores.size()) >= span.count * kWidth);
  pack_queries(strip, scale * std::numbers::log2e, memory.q);
  const Visibility see = visibility(strip, span);
  alignas(64) float top[kWidth];
  for (std::int64_t t = 0; t < span.count; t += memory.tile) {
    const std::int64_t count = std::min(memory.tile, span.count - t);
    const Section& inside = see.sections[1];
    float* s = scores.data() + t * kWidth;
    score_tile({span.k + t * span.k_stride, span.k_stride, count, strip.q.width}, memory.q, span.log2_bias, s, top);
    if (t < inside.first || t + count > inside.last) mask_tile(see, t, count, s, top);
  }
}

/// Sums of three levels: 16 keys, 256 keys, all. The error grows with 32 + n/256, within T + n/T for both tile sizes.
inline void softmax_vector(std::int64_t count, float* HWY_RESTRICT s, float* HWY_RESTRICT m, float* HWY_RESTRICT sum) {
  const FloatTag f;
  Floats top = infinitely_low();
  for (std::int64_t j = 0; j < count; ++j) top = hn::Max(top, hn::Load(f, s + j * kWidth));
  const Floats shift = shift_of(top);
  Floats total = hn::Zero(f);
  for (std::int64_t outer = 0; outer < count; outer += 256) {
    Floats middle = hn::Zero(f);
    const std::int64_t outer_end = std::min(count, outer + 256);
    for (std::int64_t begin = outer; begin < outer_end; begin += 16) {
      Floats part = hn::Zero(f);
      for (std::int64_t j = begin; j < std::min(outer_end, begin + 16); ++j) {
        const Floats p = exp2(hn::Sub(hn::Load(f, s + j * kWidth), shift));
        hn::Store(p, f, s + j * kWidth);
        part = hn::Add(part, p);
      }
      middle = hn::Add(middle, part);
    }
    total = hn::Add(total, middle);
  }
  hn::Store(top, f, m);
  hn::Store(total, f, sum);
}

inline void softmax(const Strip& strip, std::int64_t count, std::span<float> scores, std::span<float> sums) {
  assert(static_cast<std::int64_t>(scores.size()) >= count * kWidth && sums.size() >= kWidth);
  alignas(64) float m[kWidth], sum[kWidth];
  for (int v = 0; v < kWidth; v += kLanes) softmax_vector(count, scores.data() + v, m + v, sum + v);
  std::copy_n(sum, kWidth, sums.data());
  for (int lane = 0; lane < strip.count; ++lane) {
    *strip.lse.row(strip.rows[lane]) = natural_lse(m[lane], sum[lane]);
  }
}

template <bool kCareful>
inline void weigh_span(const Strip& strip, const Span& span, const float* p, const StripMemory& memory) {
  const FloatTag f;
  const Visibility see = visibility(strip, span);
  alignas(64) float top[kWidth], keep[kWidth];
  std::fill_n(keep, kWidth, 1.0f);
  std::fill_n(memory.o, strip.out.width * kWidth, 0.0f);
  for (std::int64_t t = 0; t < span.count; t += memory.tile) {
    const std::int64_t count = std::min(memory.tile, span.count - t);
    const Rows values{span.v + t * span.v_stride, span.v_stride, count, strip.out.width};
    const float* weights = p + t * kWidth;
    if constexpr (kCareful) {  // A weight of 0 may be hidden or just small: ask the masks again.
      std::copy_n(weights, count * kWidth, memory.s);
      mask_tile(see, t, count, memory.s, top);
      for (std::int64_t e = 0; e < count * kWidth; e += kLanes) {
        const Floats weight = hn::Load(f, memory.s + e);
        hn::Store(hn::IfThenElse(hn::Eq(weight, infinitely_low()), hn::Set(f, -1.0f), weight), f, memory.s + e);
      }
      weights = memory.s;
    }
    weigh_tile<kCareful>(values, weights, keep, memory.o);
  }
}

inline void weigh(const Strip& strip, const Span& span, std::span<const float> scores, std::span<const float> sums,
                  std::span<float> scratch) {
  const StripMemory memory = divide(strip, scratch);
  OnlineState state;
  std::copy_n(sums.data(), kWidth, state.l);
  weigh_span<false>(strip, span, scores.data(), memory);
  if (!all_finite(strip, memory, state)) weigh_span<true>(strip, span, scores.data(), memory);
  write_rows(strip, memory.o, state.l);
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

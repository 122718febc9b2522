// What a strip knows between tiles: its scratch memory, and m and l of each row.
#if defined(ATTNSCALE_KERNELS_STATE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_STATE_INL
#undef ATTNSCALE_KERNELS_STATE_INL
#else
#define ATTNSCALE_KERNELS_STATE_INL
#endif

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "kernels/simd-inl.hpp"
#include "kernels/strip.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

/// The scratch memory of a strip; every part is a whole number of kWidth-wide rows.
struct StripMemory {
  float* q;  ///< [dim][kWidth]
  float* o;  ///< [value_dim][kWidth]
  float* s;  ///< [tile_keys][kWidth]
  std::int64_t tile;
};

inline StripMemory divide(const Strip& strip, std::span<float> scratch) {
  const std::int64_t dim = strip.q.width, value_dim = strip.out.width;
  assert(static_cast<std::int64_t>(scratch.size()) >= attend_scratch(dim, value_dim));
  assert(reinterpret_cast<std::uintptr_t>(scratch.data()) % 64 == 0);
  float* q = scratch.data();
  float* o = q + dim * kWidth;
  return {q, o, o + value_dim * kWidth, tile_keys(dim, value_dim)};
}

struct OnlineState {
  alignas(64) float m[kWidth];
  alignas(64) float l[kWidth];
};

/// The empty state, or that which lse holds: m = lse, l = 1.
inline void load_sums(const Strip& strip, OnlineState& state) {
  std::fill_n(state.m, kWidth, -kInfinity);
  std::fill_n(state.l, kWidth, 0.0f);
  for (int lane = 0; strip.resume && lane < strip.count; ++lane) {
    const float lse = *strip.lse.row(strip.rows[lane]);
    if (lse == -kInfinity) continue;
    state.m[lane] = static_cast<float>(double{lse} * std::numbers::log2e);
    state.l[lane] = 1;
  }
}

/// Natural log-sum-exp from a maximum in base 2 and the sum relative to it; -inf for an empty row.
inline float natural_lse(float m, float l) {
  if (l == 0) return -kInfinity;
  return static_cast<float>((double{m} + std::log2(double{l})) * std::numbers::ln2);
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

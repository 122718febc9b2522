// Vector types, register tile sizes and exp2 of one SIMD target. Included once per target (see targets.cpp), hence the
// toggled include guard.
#if defined(ATTNSCALE_KERNELS_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_SIMD_INL
#undef ATTNSCALE_KERNELS_SIMD_INL
#else
#define ATTNSCALE_KERNELS_SIMD_INL
#endif

#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

// Placed before a loop of constant length over a register tile: it must be unrolled, or the tile lives in memory and
// the kernel runs at half speed. GCC does so late or not at all without being told.
// _BY_FOUR stands before a long loop over components: with a quarter of the counting and jumps, attend() is 0.5 to 1.5
// % faster on AVX2 at d = 32 to 128, and 0 to 0.8 % on AVX-512 (Zen 4). The scores by eight and the weighted sum by
// four gain up to 2.4 % at d = 64 on AVX2, but lose 1 % at d = 32.
#ifndef ATTNSCALE_UNROLL
#if HWY_COMPILER_CLANG
#define ATTNSCALE_UNROLL _Pragma("clang loop unroll(full)")
#define ATTNSCALE_UNROLL_BY_FOUR _Pragma("clang loop unroll_count(4)")
#else
#define ATTNSCALE_UNROLL _Pragma("GCC unroll 32")
#define ATTNSCALE_UNROLL_BY_FOUR _Pragma("GCC unroll 4")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<std::int32_t>;
using Floats = hn::Vec<FloatTag>;
using Ints = hn::Vec<IntTag>;

// A strip is kVectors vectors of query rows. A register tile holds kGroup x kVectors accumulators: enough of them to
// hide the latency of the multiply-add (4 cycles x 2 units = 8), few enough to leave registers for the operands.
// Measured on a Zen 5 at n = 4096, share of the multiply-add peak at d = 64 and 128: AVX2 3 x 4 86 and 84 %, 2 x 6 81
// and 79 %, 2 x 5 and 2 x 4 78 and 77 %; AVX-512 2 x 8, 2 x 10, 2 x 12, 3 x 8 and 4 x 6 all 82-85 %.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kVectors = 2, kGroup = 8;  // 32 registers
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kVectors = 3, kGroup = 4;  // 16 registers
#elif HWY_ARCH_ARM_A64
inline constexpr int kVectors = 4, kGroup = 6;  // 32 registers
#elif HWY_TARGET == HWY_SCALAR
inline constexpr int kVectors = 4, kGroup = 2;  // one number per register
#else
inline constexpr int kVectors = 4, kGroup = 3;  // 16 registers of 4
#endif
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));
inline constexpr int kWidth = kVectors * kLanes;

/// Keys or columns of a register tile for strips that fill only `used` vectors. A strip of few rows takes one vector:
/// 12 rows on AVX-512 79 -> 123 GFLOP/s, 8 rows on AVX2 37 -> 88 (n_k = 1024, d = 64).
constexpr int group_of(int used) {
  return used == kVectors ? kGroup : 8;
}

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE Floats infinitely_low() {
  return hn::Set(FloatTag(), -kInfinity);
}

/// 2^x to a relative error of 3.2u (u = 2^-24); exactly 0 below -126, exactly 1 at 0; NaN stays NaN.
///
/// x = n + r with n whole and |r| <= 1/2. Adding 1.5 * 2^23 rounds to a whole number, as no digit behind the point is
/// left; adding 127 more leaves the exponent field of 2^n in the low bits. The polynomial is the minimax fit of
/// 2^r with the constant term held at 1 (Lawson's iteration; error of the fit 1.54u, the rest is its evaluation).
HWY_INLINE Floats exp2(Floats x) {
  const FloatTag f;
  const IntTag i;
  const Floats magic = hn::Set(f, 12582912.0f + 127.0f);
  const Floats shifted = hn::Add(x, magic);
  const Floats r = hn::Sub(x, hn::Sub(shifted, magic));
  Floats p = hn::Set(f, 0x1.5bba14p-10f);
  p = hn::MulAdd(p, r, hn::Set(f, 0x1.3cea88p-7f));
  p = hn::MulAdd(p, r, hn::Set(f, 0x1.c6b752p-5f));
  p = hn::MulAdd(p, r, hn::Set(f, 0x1.ebf9bcp-3f));
  p = hn::MulAdd(p, r, hn::Set(f, 0x1.62e42ap-1f));
  p = hn::MulAdd(p, r, hn::Set(f, 1.0f));
  // Multiplying by 2^n, rather than adding n to the exponent, keeps NaN.
  const Floats power = hn::BitCast(f, hn::ShiftLeft<23>(hn::BitCast(i, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(f, -126.0f)), hn::Mul(p, power));
}

/// What is subtracted before exp2: the maximum, or 0 where nothing was seen yet (-inf - -inf would be NaN).
HWY_INLINE Floats shift_of(Floats top) {
  return hn::IfThenZeroElse(hn::Eq(top, infinitely_low()), top);
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// Micro-kernels of one SIMD target: see probe.hpp.
#if defined(ATTNSCALE_KERNELS_PROBE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNSCALE_KERNELS_PROBE_INL
#undef ATTNSCALE_KERNELS_PROBE_INL
#else
#define ATTNSCALE_KERNELS_PROBE_INL
#endif

#include <cassert>
#include <span>

#include "kernels/probe.hpp"
#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

// Chains of dependent multiply-adds: at least latency x units (8; 10 on older Intel cores), and few enough to stay in
// registers with two operands.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kChains = 24;  // 32 registers
#else
inline constexpr int kChains = 12;  // 16 registers
#endif

inline std::int64_t probe_multiply_add(std::int64_t steps) {
  const FloatTag f;
  // Operands that the compiler cannot know. x -> 0.75 x + 0.25 tends to 1: no overflow, nothing denormal.
  volatile float operands[2] = {0.75f, 0.25f};
  const Floats factor = hn::Set(f, operands[0]);
  const Floats addend = hn::Set(f, operands[1]);
  Floats x[kChains];
  ATTNSCALE_UNROLL
  for (int r = 0; r < kChains; ++r) x[r] = hn::Set(f, static_cast<float>(r));
  for (std::int64_t step = 0; step < steps; ++step) {
    ATTNSCALE_UNROLL
    for (int r = 0; r < kChains; ++r) x[r] = hn::MulAdd(x[r], factor, addend);
  }
  Floats sum = hn::Zero(f);
  ATTNSCALE_UNROLL
  for (int r = 0; r < kChains; ++r) sum = hn::Add(sum, x[r]);
  operands[0] = hn::GetLane(sum);  // used: so none of the chains is left out
  return steps * kChains * kLanes * 2;
}

/// Sum of f(x) over whole blocks, in kSums independent sums.
template <int kSums, class F>
HWY_INLINE float sum_of(std::span<const float> x, const F& of) {
  assert(static_cast<std::int64_t>(x.size()) % kProbeBlock == 0);
  static_assert(kProbeBlock % (kSums * kLanes) == 0);
  const FloatTag f;
  Floats sum[kSums];
  ATTNSCALE_UNROLL
  for (int r = 0; r < kSums; ++r) sum[r] = hn::Zero(f);
  for (std::size_t i = 0; i < x.size(); i += kSums * kLanes) {
    ATTNSCALE_UNROLL
    for (int r = 0; r < kSums; ++r) sum[r] = hn::Add(sum[r], of(hn::Load(f, x.data() + i + r * kLanes)));
  }
  ATTNSCALE_UNROLL
  for (int r = 1; r < kSums; ++r) sum[0] = hn::Add(sum[0], sum[r]);
  return hn::GetLane(hn::SumOfLanes(f, sum[0]));
}

inline float probe_exp2(std::span<const float> x) {
  return sum_of<4>(x, [](Floats value) HWY_ATTR { return exp2(value); });
}

inline float probe_read(std::span<const float> x) {
  return sum_of<8>(x, [](Floats value) HWY_ATTR { return value; });
}

inline void probe_triad(std::span<float> a, std::span<const float> b, std::span<const float> c, float factor) {
  assert(static_cast<std::int64_t>(a.size()) % kProbeBlock == 0 && a.size() == b.size() && a.size() == c.size());
  const FloatTag f;
  const Floats by = hn::Set(f, factor);
  constexpr int kVectorsPerStep = 4;
  for (std::size_t i = 0; i < a.size(); i += kVectorsPerStep * kLanes) {
    ATTNSCALE_UNROLL
    for (int r = 0; r < kVectorsPerStep; ++r) {
      const std::size_t at = i + static_cast<std::size_t>(r) * kLanes;
      hn::Store(hn::MulAdd(by, hn::Load(f, c.data() + at), hn::Load(f, b.data() + at)), f, a.data() + at);
    }
  }
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

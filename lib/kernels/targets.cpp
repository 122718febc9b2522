// Compiles the kernels once per SIMD target: foreach_target.h includes this file again for each of them.
//
// Left out to keep the build short: targets better than AVX3 (their additions do not help fp32), SSSE3 (hardly a CPU
// has it without SSE4), and SVE (vectors of unknown size do not go into arrays).
#define HWY_DISABLED_TARGETS ((HWY_AVX3 - 1) | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/targets.cpp"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

#include "kernels/attend-inl.hpp"
#include "kernels/passes-inl.hpp"
#include "kernels/probe-inl.hpp"
#include "kernels/table.hpp"
#include "kernels/topk-inl.hpp"
#include "kernels/turns-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attnscale::kernels::HWY_NAMESPACE {

const KernelTable* kernel_table() {
  static_assert(kWidth <= kMaxStrip);
  static const KernelTable table{
      kWidth,       &attend,          &attend_block,       &score,      &softmax,    &weigh,
      &select_topk, &attend_selected, &probe_multiply_add, &probe_exp2, &probe_read, &probe_triad};
  return &table;
}

}  // namespace attnscale::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscale::kernels {
namespace {

HWY_EXPORT(kernel_table);

std::string name_of(std::int64_t target) {
  const std::string highway = hwy::TargetName(target);
  if (highway.starts_with("NEON")) return "neon";
  if (highway == "AVX3") return "avx512";
  if (highway == "AVX2") return "avx2";
  if (highway == "SSE4") return "sse4";
  return "scalar";  // The baseline of the compiler: plain C++, or SSE2 from Highway 1.0.4 on.
}

}  // namespace

std::vector<Target> compiled_targets() {
  std::vector<Target> targets;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    // Ask Highway to dispatch to each in turn, and keep the addresses.
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const Target found{name_of(target), HWY_DYNAMIC_DISPATCH(kernel_table)()};
    if (targets.empty() || targets.back().name != found.name) targets.push_back(found);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return targets;
}

}  // namespace attnscale::kernels
#endif

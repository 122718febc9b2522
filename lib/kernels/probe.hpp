// Micro-kernels that show what a machine can do at the SIMD target in use: the ceilings that the strip kernel is judged
// by. Each does a known amount of work and nothing else; the caller holds the clock (lib/doctor).
#pragma once

#include <cstdint>
#include <span>

namespace attnscale::kernels {

/// The buffers below are 64-byte aligned, and their sizes are multiples of this many floats.
inline constexpr std::int64_t kProbeBlock = 128;

/// `steps` multiply-adds on each of so many independent registers that the pipelines are full; touches no memory.
/// Returns the work done in FLOP, 2 per multiply-add and lane.
std::int64_t probe_multiply_add(std::int64_t steps);

/// The kernels' own exp2 of every value; returns the sum.
float probe_exp2(std::span<const float> x);

/// Reads every value; returns the sum.
float probe_read(std::span<const float> x);

/// a = b + factor * c, three buffers of one size (the triad of McCalpin's STREAM, 1995).
void probe_triad(std::span<float> a, std::span<const float> b, std::span<const float> c, float factor);

}  // namespace attnscale::kernels

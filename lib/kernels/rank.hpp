// Scores as whole numbers of the same order, so that the k-th largest can be found bit by bit.
#pragma once

#include <bit>
#include <cstdint>

namespace attnscale::kernels {

/// A number that is larger for a larger score (not NaN) and equal for equal ones.
[[nodiscard]] constexpr std::int32_t rank_of(float score) {
  // The bits of positive floats order like integers, those of negative ones the other way round. Adding 0 turns -0 to
  // +0.
  const auto bits = std::bit_cast<std::int32_t>(score + 0.0f);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

[[nodiscard]] constexpr float score_of(std::int32_t rank) {
  return std::bit_cast<float>(rank < 0 ? rank ^ 0x7fffffff : rank);
}

}  // namespace attnscale::kernels

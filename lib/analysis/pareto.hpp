// The choices that no other beats in both cost and error.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attnscale {

struct Tradeoff {
  double cost = 0;
  double error = 0;
};

/// Indices of the choices for which no other is at least as good in both and better in one, by rising cost (ties: by
/// index). Choices with a NaN are left out; equal choices stay together.
std::vector<std::size_t> pareto_front(std::span<const Tradeoff> choices);

}  // namespace attnscale

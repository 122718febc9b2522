#include "measure/schedule.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace attnscale {
namespace {

/// A permutation of [0, count) by Fisher and Yates; std::shuffle would differ between standard libraries.
std::vector<int> permutation(int count, std::mt19937_64& random) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
  return values;
}

}  // namespace

std::vector<int> round_order(int count, int round, std::uint64_t seed) {
  assert(count >= 1 && round >= 0);
  std::mt19937_64 random(seed);
  const std::vector<int> names = permutation(count, random);
  const std::vector<int> shifts = permutation(count, random);
  const int shift = shifts[static_cast<std::size_t>(round % count)];
  // The first row is 0, 1, count-1, 2, count-2, ...: all differences between neighbours occur once, so its cyclic
  // shifts balance successors too. With an odd count that takes the mirrored square as well.
  const bool mirrored = count % 2 == 1 && round / count % 2 == 1;
  std::vector<int> order;
  for (int place = 0; place < count; ++place) {
    const int at = mirrored ? count - 1 - place : place;
    const int first_row = at % 2 == 1 ? (at + 1) / 2 : (count - at / 2) % count;
    order.push_back(names[static_cast<std::size_t>((first_row + shift) % count)]);
  }
  return order;
}

std::int64_t iterations_for(double call_ns, double floor_ns) {
  constexpr double kMargin = 1.2;
  constexpr double kMost = 1e9;
  const double calls = std::ceil(kMargin * floor_ns / std::max(call_ns, 1.0));
  return call_ns >= floor_ns ? 1 : static_cast<std::int64_t>(std::clamp(calls, 1.0, kMost));
}

}  // namespace attnscale

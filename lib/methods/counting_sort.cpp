#include "methods/counting_sort.hpp"

#include <algorithm>

namespace attnscale::methods {

void counting_sort(std::span<const std::int32_t> bucket, std::span<std::int32_t> sorted,
                   std::span<std::int32_t> start) {
  std::fill(start.begin(), start.end(), 0);
  for (const std::int32_t b : bucket) {
    if (b >= 0) ++start[static_cast<std::size_t>(b) + 1];
  }
  for (std::size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    if (bucket[i] < 0) continue;
    const auto place = static_cast<std::size_t>(start[static_cast<std::size_t>(bucket[i])]++);
    sorted[place] = static_cast<std::int32_t>(i);
  }
  // Every start has moved to where the next bucket begins: move them back.
  std::copy_backward(start.begin(), start.end() - 1, start.end());
  start.front() = 0;
}

}  // namespace attnscale::methods

// A (score, key) pair as one unsigned number: a better score, or a lower key at an equal score, is a larger number. So
// the order with its rule for ties is one integer comparison, and the k best are found by std::nth_element.
#pragma once

#include <cstdint>

namespace attnscale::kernels {

/// The score must not be NaN; 0 <= key.
std::uint64_t candidate(float score, std::int32_t key);
float score_of(std::uint64_t candidate);
std::int32_t key_of(std::uint64_t candidate);

/// Keeps the k best of list[0, count), count >= k >= 1, in their order; spare holds `count` numbers. Returns the worst
/// kept.
std::uint64_t keep_best(std::uint64_t* list, std::int64_t count, std::int64_t k, std::uint64_t* spare);

}  // namespace attnscale::kernels

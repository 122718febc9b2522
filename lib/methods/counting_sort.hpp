// Stable sort of places by a small number each (hash bucket, chosen block), O(places + buckets).
#pragma once

#include <cstdint>
#include <span>

namespace attnscale::methods {

/// sorted = the places i with bucket[i] >= 0, by (bucket[i], i); those of bucket b lie from start[b] to start[b + 1].
/// start.size() is the number of buckets plus one; `sorted` is as long as `bucket`, and its end stays as it was when
/// places have no bucket (a negative one).
void counting_sort(std::span<const std::int32_t> bucket, std::span<std::int32_t> sorted, std::span<std::int32_t> start);

}  // namespace attnscale::methods

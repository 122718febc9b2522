// Input family `clustered`: models topics. Keys lie around cluster centres, strewn over all positions; a query lies
// near one centre and attends to that cluster. What finds similar keys (lsh, topk) should do well here, windows should
// not.
//
// A row at position p belongs to one of the ceil(sqrt(p + 1)) clusters that exist by then, so that the clusters grow
// like the root of the length (as words do in text: Heaps' law), a longer problem begins with the same rows, and a
// causal query always seeks a cluster of its past. k = centre + noise, q = gap / sqrt(dim) * centre + noise, with
// centres of unit deviation: q.k / sqrt(dim) is about `gap` inside the cluster and about 0 outside, in any dim.
//
// Mass in the 64 largest (causal, second half, dim 64): 0.86 at n = 4096, 0.59 at 16384, 0.30 at 131072, where a
// cluster holds 362 keys on average (gaussian: 0.14, 0.06, 0.01). Below dim 16 or so centres overlap.
#include <algorithm>
#include <cmath>

#include "core/numbers.hpp"
#include "inputs/families.hpp"

namespace attnscale {
namespace {

constexpr double kGap = 8;       // e^8 = 3000: the own cluster outweighs the sqrt(n) others up to n of a million or so
constexpr float kSpread = 0.5F;  // deviation of the noise around a centre

void add_centre(const Row& row, Stream choice, float weight, std::span<float> values) {
  const std::int64_t clusters = ceil_root(std::max<std::int64_t>(row.position, 0) + 1, 2);
  const std::int64_t cluster = random_index(row.place(choice), clusters);
  add_normal({row.seed, Stream::centre, row.batch, row.kv_head, cluster}, weight, values);
}

}  // namespace

void clustered_query(const Row& row, std::span<float> values) {
  const auto weight = static_cast<float>(kGap / std::sqrt(static_cast<double>(values.size())));
  add_centre(row, Stream::query_choice, weight, values);
  add_normal(row.place(Stream::query), kSpread, values);
}

void clustered_key(const Row& row, std::span<float> values) {
  add_centre(row, Stream::key_choice, 1, values);
  add_normal(row.place(Stream::key), kSpread, values);
}

}  // namespace attnscale

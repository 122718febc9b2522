// Input family `gaussian`: what attention sees before it has learnt anything. q.k / sqrt(dim) has deviation 1, the mass
// is spread over all keys, and no pattern can find it: the hardest case for every shortcut, and the least like real
// text.
#include "inputs/families.hpp"

namespace attnscale {

void gaussian_query(const Row& row, std::span<float> values) {
  add_normal(row.place(Stream::query), 1, values);
}

void gaussian_key(const Row& row, std::span<float> values) {
  add_normal(row.place(Stream::key), 1, values);
}

}  // namespace attnscale

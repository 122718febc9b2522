// Input family `local`: models heads that look at their neighbourhood. Queries and keys are rotary position codes
// (Su et al., "RoFormer", 2021) plus noise. Pair t of columns is (cos, sin) of position * w_t, so that q_i.k_j is
// proportional to the mean over t of cos(w_t (i - j)). With w_t log-uniform between 1/1024 and 1/4 (one in each of
// dim/2 equal strata, own to the head) this falls like the logarithm of the distance: attention falls as its power,
// about distance^-2.5, with the tail that real heads have. Windows should do well here. An odd last column is noise
// alone. Positions are those of the keys: a query stands at index + keys - queries.
//
// Mass within 64 keys (causal, second half): in dim 64 0.99 at n = 16384 and 0.92 at n = 131072, in dim 32 0.94 and
// 0.74; with fewer wavelengths far keys come round again.
#include <algorithm>
#include <cmath>

#include "inputs/families.hpp"

namespace attnscale {
namespace {

constexpr double kPeak = 14;     // q.k / sqrt(dim) at distance 0
constexpr double kShortest = 4;  // 1 / w, in positions
constexpr double kLongest = 1024;
constexpr float kNoise = 0.5F;

void local_row(const Row& row, Stream noise, std::span<float> values) {
  const std::size_t pairs = values.size() / 2;
  // Each pair of (cos, sin) adds amplitude^2 cos(..) to q.k: all pairs together reach kPeak * sqrt(dim).
  const double amplitude =
      std::sqrt(kPeak * std::sqrt(static_cast<double>(values.size())) / std::max<std::size_t>(pairs, 1));
  const Place frequency = {row.seed, Stream::frequency, 0, row.kv_head, 0};  // of the head, for every batch item
  for (std::size_t t = 0; t < pairs; ++t) {
    const double stratum = (static_cast<double>(t) + random_fraction(frequency, static_cast<std::int64_t>(t))) / pairs;
    const double angle = static_cast<double>(row.position) / (kShortest * std::pow(kLongest / kShortest, stratum));
    values[2 * t] = static_cast<float>(amplitude * std::cos(angle));
    values[2 * t + 1] = static_cast<float>(amplitude * std::sin(angle));
  }
  add_normal(row.place(noise), kNoise, values);
}

}  // namespace

void local_query(const Row& row, std::span<float> values) {
  local_row(row, Stream::query, values);
}

void local_key(const Row& row, std::span<float> values) {
  local_row(row, Stream::key, values);
}

}  // namespace attnscale

// Random numbers of the methods (random blocks, hash rotations), keyed by what they are for: the numbers depend on the
// key alone, so they are the same for every batch item, thread count and order, and for a head that runs alone.
// Philox4x32-10: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace attnscale::methods {

/// What the numbers serve; keeps the streams of different uses (and those of lib/inputs) apart.
enum class Purpose : std::uint32_t {
  random_blocks = 0x6d620001,
  rotations = 0x6d620002,
};

struct RandomKey {
  std::uint64_t seed = 0;
  std::int64_t kv_head = 0;  ///< Problem::global_kv_head
  std::int64_t part = 0;     ///< the round or the query block; below 2^32
  Purpose purpose = Purpose::random_blocks;
};

/// The stream of one key, from its start.
class KeyedRandom {
 public:
  explicit KeyedRandom(const RandomKey& key) : key_(key) {}

  /// 32 random bits.
  std::uint32_t bits();
  /// Uniform in [0, bound), without bias; 1 <= bound <= 2^31.
  std::int64_t below(std::int64_t bound);
  /// Standard normal (Box-Muller, in fp64).
  double gaussian();
  /// A standard normal in each element.
  void fill_gaussian(std::span<float> values);

 private:
  RandomKey key_;
  std::uint32_t next_block_ = 0;
  std::size_t used_ = 4;
  std::array<std::uint32_t, 4> block_{};
  bool has_spare_ = false;
  double spare_ = 0;
};

/// Draws chosen.size() different numbers of [0, population) in random order: a partial Fisher-Yates shuffle that
/// remembers only the places it has touched, O(size^2) with a tiny constant and no memory of size `population`.
/// chosen.size() <= population. `moved` is scratch of twice the size of `chosen`.
void draw_distinct(KeyedRandom& random, std::int64_t population, std::span<std::int32_t> chosen,
                   std::span<std::int32_t> moved);

}  // namespace attnscale::methods

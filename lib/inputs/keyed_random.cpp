#include "inputs/keyed_random.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include <Random123/boxmuller.hpp>
#include <Random123/philox.h>
#include <Random123/uniform.hpp>

namespace attnscale {
namespace {

constexpr std::int64_t kWordsPerBlock = 4;

r123::Philox4x32::ctr_type random_block(const Place& place, std::int64_t block) {
  assert(block >= 0 && block < (std::int64_t{1} << 24));
  // The first word holds the stream above the block of four columns.
  const auto first = static_cast<std::uint32_t>(block) | static_cast<std::uint32_t>(place.stream) << 24;
  const r123::Philox4x32::ctr_type counter = {{first, static_cast<std::uint32_t>(place.row),
                                               static_cast<std::uint32_t>(place.head),
                                               static_cast<std::uint32_t>(place.batch)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(place.seed), static_cast<std::uint32_t>(place.seed >> 32)}};
  return r123::Philox4x32()(counter, key);
}

}  // namespace

void add_normal(const Place& place, float deviation, std::span<float> row) {
  const auto width = static_cast<std::int64_t>(row.size());
  for (std::int64_t column = 0; column < width; column += kWordsPerBlock) {
    const auto bits = random_block(place, column / kWordsPerBlock);
    const r123::float2 a = r123::boxmuller(bits[0], bits[1]);
    const r123::float2 b = r123::boxmuller(bits[2], bits[3]);
    const std::array<float, kWordsPerBlock> normal = {a.x, a.y, b.x, b.y};
    const std::int64_t count = std::min(kWordsPerBlock, width - column);
    for (std::int64_t c = 0; c < count; ++c) row[column + c] += deviation * normal[c];
  }
}

std::int64_t random_index(const Place& place, std::int64_t count) {
  assert(count >= 1 && count <= (std::int64_t{1} << 32));
  const std::uint64_t bits = random_block(place, 0)[0];
  return static_cast<std::int64_t>((bits * static_cast<std::uint64_t>(count)) >> 32);
}

double random_fraction(const Place& place, std::int64_t column) {
  return r123::u01<double>(random_block(place, column / kWordsPerBlock)[column % kWordsPerBlock]);
}

}  // namespace attnscale

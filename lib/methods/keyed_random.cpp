#include "methods/keyed_random.hpp"

#include <cassert>
#include <cmath>
#include <numbers>

#include <Random123/philox.h>

namespace attnscale::methods {

std::uint32_t KeyedRandom::bits() {
  if (used_ == block_.size()) {
    const r123::Philox4x32::ctr_type counter = {{next_block_++, static_cast<std::uint32_t>(key_.part),
                                                 static_cast<std::uint32_t>(key_.kv_head),
                                                 static_cast<std::uint32_t>(key_.purpose)}};
    const r123::Philox4x32::key_type key = {
        {static_cast<std::uint32_t>(key_.seed), static_cast<std::uint32_t>(key_.seed >> 32)}};
    const auto words = r123::Philox4x32()(counter, key);
    for (std::size_t i = 0; i < block_.size(); ++i) block_[i] = words[i];
    used_ = 0;
  }
  return block_[used_++];
}

std::int64_t KeyedRandom::below(std::int64_t bound) {
  assert(bound >= 1 && bound <= (std::int64_t{1} << 31));
  // D. Lemire, "Fast random integer generation in an interval", 2019: the low half tells which products are too many.
  const auto range = static_cast<std::uint64_t>(bound);
  const std::uint64_t excess = (std::uint64_t{1} << 32) % range;
  std::uint64_t product = bits() * range;
  while ((product & 0xffffffffU) < excess) product = bits() * range;
  return static_cast<std::int64_t>(product >> 32);
}

double KeyedRandom::gaussian() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log((bits() + 1.0) * 0x1p-32));
  const double angle = 2 * std::numbers::pi * (bits() * 0x1p-32);
  has_spare_ = true;
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void KeyedRandom::fill_gaussian(std::span<float> values) {
  for (float& value : values) value = static_cast<float>(gaussian());
}

void draw_distinct(KeyedRandom& random, std::int64_t population, std::span<std::int32_t> chosen,
                   std::span<std::int32_t> moved) {
  const std::size_t count = chosen.size();
  assert(static_cast<std::int64_t>(count) <= population && moved.size() == 2 * count);
  const std::span<std::int32_t> places = moved.first(count);
  const std::span<std::int32_t> contents = moved.last(count);
  // What stands at a place after the first `draws` swaps.
  const auto at = [&](std::int64_t place, std::size_t draws) {
    for (std::size_t i = draws; i > 0; --i) {
      if (places[i - 1] == place) return contents[i - 1];
    }
    return static_cast<std::int32_t>(place);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto here = static_cast<std::int64_t>(i);
    const std::int64_t place = here + random.below(population - here);
    chosen[i] = at(place, i);
    contents[i] = at(here, i);  // the swap; this place itself is never drawn again
    places[i] = static_cast<std::int32_t>(place);
  }
}

}  // namespace attnscale::methods

#include "kernels/candidate.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace attnscale::kernels {
namespace {
constexpr std::uint32_t kSign = 0x80000000u;
}

std::uint64_t candidate(float score, std::int32_t key) {
  // IEEE numbers of one sign order like integers; negative ones in reverse. Adding 0 turns -0 into +0: they are equal.
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  const std::uint32_t rank = (bits & kSign) != 0 ? ~bits : bits | kSign;
  return std::uint64_t{rank} << 32 | ~static_cast<std::uint32_t>(key);
}

float score_of(std::uint64_t candidate) {
  const auto rank = static_cast<std::uint32_t>(candidate >> 32);
  return std::bit_cast<float>((rank & kSign) != 0 ? rank ^ kSign : ~rank);
}

std::int32_t key_of(std::uint64_t candidate) {
  return static_cast<std::int32_t>(~static_cast<std::uint32_t>(candidate));
}

std::uint64_t keep_best(std::uint64_t* list, std::int64_t count, std::int64_t k, std::uint64_t* spare) {
  std::copy_n(list, count, spare);
  std::nth_element(spare, spare + k - 1, spare + count, std::greater<>());
  const std::uint64_t worst = spare[k - 1];
  std::copy_if(list, list + count, list, [worst](std::uint64_t c) { return c >= worst; });
  return worst;
}

}  // namespace attnscale::kernels

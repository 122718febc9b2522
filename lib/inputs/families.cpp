#include "inputs/families.hpp"

#include <algorithm>
#include <array>

namespace attnscale {
namespace {

constexpr std::array<Family, 4> kFamilies = {{
    {{"gaussian", "independent standard normal q, k and v: scores of deviation 1, mass spread over all keys"},
     gaussian_query,
     gaussian_key},
    {{"clustered", "keys in about sqrt(n) clusters, each query near the centre of one: mass in one cluster, anywhere"},
     clustered_query,
     clustered_key},
    {{"local", "rotary positions of many wavelengths: attention falls as a power of the distance, 0.9 within 64 keys"},
     local_query,
     local_key},
    {{"needle", "each query seeks one key in the first half of its past, which carries nearly all mass"},
     needle_query,
     needle_key},
}};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

const Family* find_family(const std::string& name) {
  const auto* found = std::ranges::find(kFamilies, name, [](const Family& family) { return family.about.name; });
  return found == kFamilies.end() ? nullptr : found;
}

std::span<const InputFamily> input_families() {
  static const auto about = [] {
    std::array<InputFamily, kFamilies.size()> list;
    std::ranges::transform(kFamilies, list.begin(), &Family::about);
    return list;
  }();
  return about;
}

}  // namespace attnscale

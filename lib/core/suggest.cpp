#include "core/suggest.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnscale {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view typed, std::span<const std::string> candidates) {
  const std::string_view head = typed.substr(0, 64);  // a name is short; do not spend time on megabytes of input
  std::string best;
  std::size_t least = static_cast<std::size_t>(-1);
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(head, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view typed, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(typed, candidates);
  const std::string hint =
      nearest.empty() ? "there is none to choose from" : fmt::format("did you mean '{}'?", nearest);
  return fmt::format("unknown {} {}; {}", kind, quoted(std::string(typed)), hint);
}

}  // namespace attnscale

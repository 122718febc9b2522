// The nearest valid name to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscale {

/// The candidate with the least edit distance to `typed` (ties: the first). Empty only when there are no candidates.
std::string nearest_name(std::string_view typed, std::span<const std::string> candidates);

/// "unknown method 'windw'; did you mean 'window'?" - the one sentence for every unknown name.
std::string unknown_name(std::string_view kind, std::string_view typed, std::span<const std::string> candidates);

}  // namespace attnscale

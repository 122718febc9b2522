// The key sets of the static methods, written a second time from the definitions in words, apart from lib/methods: a
// mistake would have to be made twice to pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale::test {

/// The key groups of query `query` (see KeyGroups); empty for methods whose sets depend on the data or on chance.
std::optional<std::vector<std::int32_t>> defined_groups(const MethodSpec& spec, const Problem& problem,
                                                        std::int64_t query);

}  // namespace attnscale::test

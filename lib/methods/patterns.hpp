// What methods with a static pattern share: the predicate form of visible(), reasons, traffic and counting sums.
// Nothing here knows how spans are built.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/problem.hpp"
#include "methods/method.hpp"

namespace attnscale::methods {

/// visible() of a pruned method: the query at position p sees key j when the mask allows it and sees(p, j) holds.
template <class Predicate>
KeyGroups visible_where(const Problem& problem, Predicate sees) {
  return [problem, sees = std::move(sees)](RowRef row, std::span<std::int32_t> groups) {
    const std::int64_t p = problem.position(row.query);
    const std::int64_t allowed = problem.allowed(row.query);
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(groups.size()); ++j) {
      groups[static_cast<std::size_t>(j)] = j < allowed && sees(p, j) ? static_cast<std::int32_t>(j) : -1;
    }
  };
}

/// Why a pattern laid around positions cannot serve n_q != n_k without a causal mask, or nothing.
std::optional<std::string> needs_positions(const Problem& problem);

/// Inputs read once, output and log-sum-exp written once.
std::int64_t compulsory_bytes(const Problem& problem);

/// batch * heads: what per-head counts are multiplied by.
std::int64_t head_count(const Problem& problem);

/// The first position that has a query and can see a key: positions run from here to n_k (n_q under no mask).
std::int64_t first_seeing_position(const Problem& problem);

/// Sum over 0 <= x < m of min(w, floor(x / step)): keys within w steps to the left of positions 0 .. m-1. 0 for m <= 0.
std::int64_t steps_before(std::int64_t m, std::int64_t w, std::int64_t step);

/// The cost of a static pruned (or exact) method: what it sees it scores. `pairs` is over all heads.
Cost static_cost(const Problem& problem, std::int64_t pairs);

}  // namespace attnscale::methods
